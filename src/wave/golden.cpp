// SPDX-License-Identifier: Apache-2.0
#include "golden.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <deque>
#include <exception>
#include <limits>
#include <thread>

#include "queue.h"
#include "rnic/core/error.h"
#include "rnic/core/names.h"

namespace rnic::wave::detail {
namespace {

constexpr int64_t kEver = std::numeric_limits<int64_t>::max();
// Transactions of a rule that wait while another rule of the same golden file is still behind.
constexpr size_t kMaxWaiting = 4096;

/// Name there of what is called `full` here.
std::string translated(const GoldenSpec& spec, const std::string& full) {
  const std::pair<const std::string, std::string>* best = nullptr;
  for (const auto& entry : spec.map) {
    const auto& from = entry.first;
    const bool fits = full == from || (full.size() > from.size() && full.compare(0, from.size(), from) == 0 &&
                                       (full[from.size()] == '.' || full[from.size()] == '['));
    if (fits && (best == nullptr || from.size() > best->first.size())) best = &entry;
  }
  if (best != nullptr) return best->second + full.substr(best->first.size());
  if (!spec.prefix) return full;
  const std::string join = spec.prefix->empty() ? "" : ".";
  if (spec.scope.empty()) return *spec.prefix + join + full;
  const std::string inside = spec.scope + ".";
  return full.compare(0, inside.size(), inside) == 0 ? *spec.prefix + join + full.substr(inside.size()) : full;
}

/// The same for a name as the rule writes it.
std::string name_there(const GoldenSpec& spec, const Sampler& here, const Written& w) {
  std::string name = is_glob(w.text) ? filled(w.text, spec.captures).value_or(w.text) : w.text;
  if (!name.empty() && name[0] == '.') name = name.substr(1);
  if (w.as_written) return name;
  const std::string inside = spec.scope + "." + name;
  return translated(spec, !spec.scope.empty() && here.signal(inside) != nullptr ? inside : name);
}

/// Names of the rule, looked up in the golden file.
class GoldenNames : public Names {
 public:
  GoldenNames(const GoldenSpec& spec, const Sampler& here, Sampler& there, Instance& i)
      : spec_(spec), here_(here), there_(there), instance_(i) {}
  std::optional<uint64_t> constant(const std::string& name, const Place&, size_t) override {
    const auto it = spec_.parameters->find(name);
    if (it == spec_.parameters->end()) return std::nullopt;
    return static_cast<uint64_t>(it->second);  // checked when the rule was bound to the wave itself
  }
  const Signal* signal(const std::string& pattern) const { return there_.signal(name_there(pattern)); }
  const Bound* find(const std::string& pattern) override {
    const Signal* s = signal(pattern);
    if (s == nullptr) return nullptr;
    bound_ = {instance_.input(there_.slot(*s), s->width), s->msb, s->lsb};
    return &bound_;
  }
  [[noreturn]] void unknown(const std::string& pattern, const Place& place, size_t offset) override {
    const std::string name = name_there(pattern);
    place.fail(offset,
               fmt::format("there is no signal '{}' in the golden file {}; nearest: {}; golden_prefix, golden_map "
                           "and golden_clock say how signals are called there",
                           name, spec_.file, fmt::join(nearest(name, there_.names()), ", ")));
  }
  bool as_written = false;

 private:
  std::string name_there(const std::string& pattern) const {
    return detail::name_there(spec_, here_, {pattern, {}, as_written});
  }

  const GoldenSpec& spec_;
  const Sampler& here_;
  Sampler& there_;
  Instance& instance_;
  Bound bound_;
};

/// An instance on the golden side, whose rule is still missing. `signals`: its expressions.
std::unique_ptr<Instance> bind(const GoldenSpec& spec, const Sampler& here, Sampler& there,
                               std::vector<std::unique_ptr<Expr>>& signals, Expr** event) {
  auto i = std::make_unique<Instance>();
  GoldenNames names(spec, here, there, *i);
  const auto make = [&](const Written& w) {
    names.as_written = w.as_written;
    return std::make_unique<Expr>(w.text, w.place, names);
  };
  const auto slot = [&](const Written& w) {
    names.as_written = w.as_written;
    const Signal* s = names.signal(w.text);
    if (s == nullptr) names.unknown(w.text, w.place, 0);
    return there.slot(*s);
  };
  const uint32_t clock = slot(spec.clock);
  if (there.slot(clock).width != 1) {
    spec.clock.place.fail(0, fmt::format("'{}' has {} bits in the golden file {}; a clock has one",
                                         there.slot(clock).name, there.slot(clock).width, spec.file));
  }
  std::optional<uint32_t> cycle;
  if (spec.cycle) cycle = slot(*spec.cycle);
  i->domain = there.domain(clock, spec.rising, spec.falling, cycle);
  for (const auto& w : spec.signals) {
    signals.push_back(make(w));
    i->all.push_back(signals.back().get());
  }
  if (spec.event) {
    signals.push_back(make(*spec.event));
    *event = signals.back().get();
    i->all.push_back(*event);
  }
  if (spec.reset) {
    i->reset = make(*spec.reset);
    i->all.push_back(i->reset.get());
  }
  const double tick_ns = there.wave().ns(1);
  if (spec.from_ns) i->from = static_cast<uint64_t>(*spec.from_ns / tick_ns + 0.5);
  if (spec.to_ns) i->to = static_cast<uint64_t>(std::min(*spec.to_ns / tick_ns + 0.5, 1.8e19));
  return i;
}

/// What the golden file says: the values of all signals of a lane (a rule) at an instant.
struct Event {
  uint32_t lane;
  Tick tick;
  size_t words;  ///< index into Batch::words: v and x of each signal in turn
};
struct Batch {
  std::vector<Event> events;
  std::vector<uint64_t> words;
  int64_t complete_below = std::numeric_limits<int64_t>::min();  ///< all events of cycles below this have come
  bool last = false;
  std::exception_ptr error;
};

/// Makes a batch of the events of each stretch, in the thread that reads the golden file.
class Writer : public Feed {
 public:
  explicit Writer(Queue<Batch>& queue) : queue_(queue) {}
  void advance(const Tick& t) override { batch_.complete_below = std::max(batch_.complete_below, t.cycle); }
  /// The lanes have made their steps one after the other: their events come into the order of time.
  void done() override {
    if (batch_.complete_below == sent_below_ && batch_.events.empty()) return;
    std::sort(batch_.events.begin(), batch_.events.end(), [](const Event& a, const Event& b) {
      return a.tick.time != b.tick.time ? a.tick.time < b.tick.time : a.lane < b.lane;
    });
    Batch next;
    sent_below_ = next.complete_below = batch_.complete_below;
    queue_.push(std::move(batch_));
    batch_ = std::move(next);
  }
  void event(uint32_t lane, const Tick& t) { batch_.events.push_back({lane, t, batch_.words.size()}); }
  void value(const Bits& b) {
    batch_.words.insert(batch_.words.end(), b.v, b.v + b.words());
    batch_.words.insert(batch_.words.end(), b.x, b.x + b.words());
  }
  void finish(std::exception_ptr error) {
    batch_.last = true;
    batch_.complete_below = kEver;
    batch_.error = std::move(error);
    try {
      queue_.push(std::move(batch_));
    } catch (const Stopped&) {
    }
  }

 private:
  Queue<Batch>& queue_;
  Batch batch_;
  int64_t sent_below_ = std::numeric_limits<int64_t>::min();
};

/// The rule of a lane on the golden side: sends what it sees.
class Tap : public Rule {
 public:
  Tap(Writer& writer, uint32_t lane, std::vector<std::unique_ptr<Expr>> exprs, Expr* event, std::string file)
      : writer_(writer), lane_(lane), exprs_(std::move(exprs)), event_(event), file_(std::move(file)) {
    count_ = exprs_.size() - (event_ != nullptr ? 1 : 0);
  }
  bool step(const Tick& t) override {
    if (event_ != nullptr ? !is(event_) : seen_ && last_.same(exprs_[0]->last())) return false;
    if (any_ && t.cycle < latest_) {
      throw InputError(
          file_, 0, "",
          fmt::format("the cycle number falls from {} to {} at {} ticks; golden_cycle must name one that rises",
                      latest_, t.cycle, t.time));
    }
    any_ = true;
    latest_ = t.cycle;
    writer_.event(lane_, t);
    for (size_t n = 0; n < count_; ++n) writer_.value(exprs_[n]->last());
    if (event_ != nullptr) return true;
    seen_ = true;
    last_.keep(exprs_[0]->last());
    return false;
  }
  bool reset(const Tick&) override { return seen_ = false; }

 private:
  Writer& writer_;
  uint32_t lane_;
  std::vector<std::unique_ptr<Expr>> exprs_;
  Expr* event_;
  std::string file_;
  size_t count_;
  bool seen_ = false, any_ = false;
  int64_t latest_ = 0;
  Kept last_;
};

}  // namespace

/// A golden file with the rules that look at it, read by a thread.
class GoldenStream {
 public:
  GoldenStream(const std::string& file, const Sampler& here)
      : file_(file), here_(here), wave_(Reader::open(file)), sampler_(*wave_), writer_(queue_) {}
  ~GoldenStream() {
    queue_.close();
    if (thread_.joinable()) thread_.join();
  }
  GoldenStream(const GoldenStream&) = delete;

  /// Number of the lane. The widths of its signals are to be those of `mine`.
  uint32_t add(const GoldenSpec& spec, const std::vector<Bits>& mine) {
    std::vector<std::unique_ptr<Expr>> exprs;
    Expr* event = nullptr;
    auto i = bind(spec, here_, sampler_, exprs, &event);
    for (size_t n = 0; n < mine.size(); ++n) {
      const uint32_t there = exprs[n]->last().width;
      if (there != mine[n].width) {
        spec.signals[n].place.fail(0, fmt::format("'{}' has {} bits here and {} in the golden file {}",
                                                  spec.signals[n].text, mine[n].width, there, file_));
      }
    }
    const auto lane = lanes_++;
    auto& feeds = sampler_.domain(i->domain).feeds;
    if (feeds.empty()) feeds.push_back(&writer_);
    i->rule = std::make_unique<Tap>(writer_, lane, std::move(exprs), event, file_);
    sampler_.add(std::move(i));
    return lane;
  }
  void start() {
    thread_ = std::thread([this] {
      std::exception_ptr error;
      try {
        sampler_.run();
      } catch (const Stopped&) {
        return;
      } catch (...) {
        error = std::current_exception();
      }
      writer_.finish(error);
    });
  }

  /// The next event with a cycle up to `cycle`; nullptr when there is none (yet). Valid until the next call.
  const Event* next(int64_t cycle) {
    for (;;) {
      if (at_ < batch_.events.size()) {
        return batch_.events[at_].tick.cycle <= cycle ? &batch_.events[at_++] : nullptr;
      }
      if (batch_.last || batch_.complete_below > cycle) return nullptr;
      batch_ = queue_.pop();
      at_ = 0;
      if (batch_.error) std::rethrow_exception(batch_.error);
    }
  }
  const uint64_t* words(const Event& e) const { return batch_.words.data() + e.words; }
  double ns(uint64_t ticks) const { return wave_->ns(ticks); }

 private:
  std::string file_;
  const Sampler& here_;
  std::unique_ptr<Reader> wave_;
  Queue<Batch> queue_;
  Sampler sampler_;
  Writer writer_;
  std::thread thread_;
  uint32_t lanes_ = 0;
  Batch batch_;
  size_t at_ = 0;
};

namespace {

std::string cycles(int64_t n) { return fmt::format("{} cycle{}", n, n == 1 ? "" : "s"); }

/// by = "cycle": the values of one signal, change for change.
class ByCycle : public GoldenRule {
 public:
  explicit ByCycle(const Settings& s)
      : e_(s.exprs.at("signals")[0].get()), tolerance_(static_cast<int64_t>(s.number("tolerance").value_or(0))) {
    verdict_.expected =
        fmt::format("{} as in the golden file{}", e_->text(),
                    tolerance_ == 0 ? ", cycle for cycle" : fmt::format(", within {}", cycles(tolerance_)));
  }
  Bits value() const { return e_->last(); }
  void join(CycleFeed& feed, GoldenStream& stream) {
    feed_ = &feed;
    stream_ = &stream;
  }

  /// What expect() is to be told at a sample that is still to come.
  void announce(uint64_t sample, const Tick& theirs, const Bits& b) {
    Announced a;
    a.sample = sample;
    a.tick = theirs;
    a.value.keep(b);
    announced_.push(a);
  }
  void news(const Tick& now) override {
    while (!announced_.empty() && announced_.front().sample == now.sample) {
      expect(now, announced_.front().tick, announced_.front().value.bits());
      announced_.pop();
    }
  }

  /// The golden file has a new value from `theirs` on. `now`: the edge at hand here, whose step is still to come.
  void expect(const Tick& now, const Tick& theirs, const Bits& b) {
    if (have_theirs_ && theirs_.same(b)) return;
    if (finished_ && theirs.cycle > now.cycle + tolerance_) {
      if (sync_) overdue(now, theirs.cycle);
      if (sync_) {
        fail(now, [&] {
          return fmt::format("{} ends as {} (last cycle of the wave: {}), expected {} from cycle {} on{}", e_->text(),
                             mine_.bits().text(), now.cycle, b.text(), theirs.cycle, golden_at(theirs));
        });
        lose();
      }
      return;
    }
    if (sync_) overdue(now, theirs.cycle);
    theirs_.keep(b);
    theirs_tick_ = theirs;
    have_theirs_ = true;
    if (sync_) change(false, now, theirs, b);
  }

  bool step(const Tick& t) override {
    if (any_ && t.cycle < latest_) {
      throw InputError(verdict_.file, verdict_.line, "cycle",
                       fmt::format("falls from {} to {} at {} ticks; by = \"cycle\" needs one that rises", latest_,
                                   t.cycle, t.time));
    }
    any_ = true;
    latest_ = t.cycle;
    const bool fresh = in_reset_ || !have_mine_;
    const bool moved = fresh || !mine_.same(e_->last());
    if (moved) {
      mine_.keep(e_->last());
      mine_tick_ = t;
      have_mine_ = true;
    }
    if (fresh) {
      in_reset_ = sync_ = told_ = false;
      open_.clear();
      deadline_ = t.cycle + tolerance_;
    } else if (moved && sync_) {
      overdue(t, t.cycle);
      if (sync_) change(true, t, t, mine_.bits());
    }
    if (sync_) overdue(t, t.cycle + 1);
    if (!sync_ && have_theirs_) {
      if (mine_.same(theirs_.bits())) {
        sync_ = true;
        told_ = false;
        trigger();
      } else if (!told_ && t.cycle >= deadline_) {
        fail(t, [&] {
          return fmt::format("{} is {}, expected {}{}", e_->text(), mine_.bits().text(), theirs_.bits().text(),
                             golden_at(theirs_tick_, "since "));
        });
        lose();
      }
    }
    return !open_.empty() || (!sync_ && !told_);
  }
  bool reset(const Tick&) override {
    in_reset_ = true;
    sync_ = false;
    open_.clear();
    return false;
  }
  void finish(const Tick& t) override;

 private:
  struct Change {
    bool mine = false;
    Tick tick;
    Kept value;
  };
  struct Announced {
    uint64_t sample = 0;
    Tick tick;
    Kept value;
  };

  std::string golden_at(const Tick& t, const char* since = "") const {
    return fmt::format(" (golden: {}cycle {}, {:.3f} ns)", since, t.cycle, stream_->ns(t.time));
  }
  void lose() {
    sync_ = false;
    told_ = true;
    open_.clear();
  }
  void change(bool mine, const Tick& now, const Tick& tick, const Bits& b) {
    if (open_.empty() || open_.front().mine == mine) {
      Change c;
      c.mine = mine;
      c.tick = tick;
      c.value.keep(b);
      open_.push(c);
      return;
    }
    const Change& other = open_.front();
    const Tick& there = mine ? other.tick : tick;
    if (other.value.same(b)) {  // and near enough: what is not was overdue
      trigger();
      open_.pop();
      return;
    }
    fail(mine ? now : other.tick, [&] {
      const Bits got = mine ? b : other.value.bits(), want = mine ? other.value.bits() : b;
      return fmt::format("{} became {}, expected {}{}", e_->text(), got.text(), want.text(), golden_at(there));
    });
    lose();
  }
  /// What can have no counterpart any more when all before `cycle` has come.
  void overdue(const Tick& now, int64_t cycle) {
    if (open_.empty() || open_.front().tick.cycle + tolerance_ >= cycle) return;
    const Change c = open_.front();
    if (c.mine) {
      // The value there was one of before the change: the latest, unless that came later still.
      fail(c.tick, [&] {
        return fmt::format("{} became {}, expected {}{}", e_->text(), c.value.bits().text(), theirs_.bits().text(),
                           golden_at(theirs_tick_, "since "));
      });
    } else {
      fail(now, [&] {
        return fmt::format("{} stays {}, expected {} from cycle {} on{}", e_->text(), mine_.bits().text(),
                           c.value.bits().text(), c.tick.cycle, golden_at(c.tick));
      });
    }
    lose();
  }

  Expr* e_;
  int64_t tolerance_, deadline_ = 0, latest_ = 0;
  CycleFeed* feed_ = nullptr;
  GoldenStream* stream_ = nullptr;
  Kept mine_, theirs_;
  Tick mine_tick_, theirs_tick_;
  // sync: the values are the same, but for the changes in open_. told: they are not, and that is reported.
  bool have_mine_ = false, have_theirs_ = false, in_reset_ = true, sync_ = false, told_ = false, finished_ = false;
  bool any_ = false;
  Ring<Change> open_;  ///< all of one side
  Ring<Announced> announced_;
};

}  // namespace

/// The rules by cycle of one clock here on one golden file.
class CycleFeed : public Feed {
 public:
  CycleFeed(const std::string& file, const Sampler& here) : stream_(file, here) {}

  void attach(Instance& i, ByCycle& rule, const GoldenSpec& spec) {
    stream_.add(spec, {rule.value()});
    lanes_.push_back({&i, &rule, rule.value().width});
    rule.join(*this, stream_);
  }
  void start() { stream_.start(); }
  void advance(const Tick& t) override {
    each(t.cycle, [&](const Lane& lane, const Tick& theirs, const Bits& b) {
      lane.rule->announce(t.sample, theirs, b);
      auto& news = lane.instance->news;
      if (news.empty() || news.back() != t.sample) news.push_back(t.sample);
    });
  }
  /// The rest, when the wave here has come to its end.
  void drain(const Tick& last) {
    each(kEver, [&](const Lane& lane, const Tick& theirs, const Bits& b) { lane.rule->expect(last, theirs, b); });
  }

 private:
  struct Lane {
    Instance* instance;
    ByCycle* rule;
    uint32_t width;
  };
  template <class Fn>
  void each(int64_t cycle, const Fn& fn) {
    while (const Event* e = stream_.next(cycle)) {
      const Lane& lane = lanes_[e->lane];
      const uint64_t* w = stream_.words(*e);
      fn(lane, e->tick, Bits{w, w + (lane.width + 63) / 64, lane.width});
    }
  }

  GoldenStream stream_;
  std::vector<Lane> lanes_;
};

void ByCycle::finish(const Tick& t) {
  finished_ = true;
  Tick last = t;
  last.cycle = std::max(t.cycle, latest_);
  feed_->drain(last);
  if (!have_mine_) return;  // vacuous
  if (!have_theirs_) {
    incomplete("the golden file has no sample of it outside of reset");
  } else if (!open_.empty()) {
    incomplete(fmt::format("{} became {} at cycle {}: its counterpart may lie behind the end of the wave", e_->text(),
                           open_.front().value.bits().text(), open_.front().tick.cycle));
  }
}

/// The rules by transaction on one golden file.
class TransactionFeed {
 public:
  struct Transaction {
    Tick tick;
    std::vector<uint64_t> words;
  };

  TransactionFeed(std::string file, const Sampler& here) : file_(std::move(file)), here_(here), stream_(file_, here) {}
  uint32_t attach(const GoldenSpec& spec, const std::vector<Bits>& mine) {
    lanes_.emplace_back();
    Lane& l = lanes_.back();
    l.spec = &spec;
    l.mine = mine;
    for (const auto& b : mine) l.words += size_t{2} * b.words();
    return stream_.add(spec, mine);
  }
  void start() { stream_.start(); }
  double ns(uint64_t ticks) const { return stream_.ns(ticks); }

  /// The next transaction of a lane.
  bool next(uint32_t n, Transaction& out) {
    Lane& l = lanes_[n];
    while (l.waiting.empty() && !l.detached) {
      const Event* e = stream_.next(kEver);
      if (e == nullptr) return false;
      Lane& to = lanes_[e->lane];
      if (to.detached) continue;
      if (to.waiting.size() == kMaxWaiting) {
        to.detached = true;  // those that wait are still good
        continue;
      }
      const uint64_t* w = stream_.words(*e);
      to.waiting.push({e->tick, {w, w + to.words}});
    }
    if (!l.waiting.empty()) {
      out = l.waiting.front();
      l.waiting.pop();
      ++l.taken;
      return true;
    }
    // The rules are too far apart: this one reads the file for itself.
    if (!l.own) {
      l.own = std::make_unique<GoldenStream>(file_, here_);
      l.own->add(*l.spec, l.mine);
      l.own->start();
      for (uint64_t k = 0; k < l.taken; ++k) l.own->next(kEver);
    }
    const Event* e = l.own->next(kEver);
    if (e == nullptr) return false;
    const uint64_t* w = l.own->words(*e);
    out.tick = e->tick;
    out.words.assign(w, w + l.words);
    ++l.taken;
    return true;
  }

 private:
  struct Lane {
    const GoldenSpec* spec = nullptr;
    std::vector<Bits> mine;
    size_t words = 0;
    Ring<Transaction> waiting;
    uint64_t taken = 0;
    bool detached = false;
    std::unique_ptr<GoldenStream> own;
  };
  std::string file_;
  const Sampler& here_;
  GoldenStream stream_;
  std::deque<Lane> lanes_;
};

namespace {

/// by = "transaction": the n-th here is the n-th there.
class ByTransaction : public GoldenRule {
 public:
  explicit ByTransaction(const Settings& s) : event_(s.expr("event")) {
    for (const auto& e : s.exprs.at("signals")) signals_.push_back(e.get());
    if (const auto t = s.number("tolerance")) tolerance_ = static_cast<int64_t>(*t);
    std::vector<std::string> names;
    for (const auto* e : signals_) names.push_back(e->text());
    verdict_.expected =
        fmt::format("each {} has {} of the same one in the golden file{}", event_->text(), fmt::join(names, ", "),
                    tolerance_ ? fmt::format(", within {}", cycles(*tolerance_)) : "");
  }
  std::vector<Bits> values() const {
    std::vector<Bits> v;
    for (const auto* e : signals_) v.push_back(e->last());
    return v;
  }
  void join(TransactionFeed& feed, uint32_t lane) {
    feed_ = &feed;
    lane_ = lane;
  }

  bool step(const Tick& t) override {
    if (!is(event_)) return false;
    trigger();
    const uint64_t n = count_++;
    if (!feed_->next(lane_, golden_)) {
      fail(t, [&] { return fmt::format("transaction {}: the golden file has only {}", n, theirs_); });
      return true;
    }
    ++theirs_;
    const auto where = [&] {
      return fmt::format(" (golden: cycle {}, {:.3f} ns)", golden_.tick.cycle, feed_->ns(golden_.tick.time));
    };
    const uint64_t* w = golden_.words.data();
    for (const auto* e : signals_) {
      const Bits got = e->last(), want{w, w + got.words(), got.width};
      w += size_t{2} * got.words();
      if (got.same(want)) continue;
      fail(t, [&] {
        return fmt::format("transaction {}: {} is {}, expected {}{}", n, e->text(), got.text(), want.text(), where());
      });
    }
    const int64_t apart = t.cycle - golden_.tick.cycle;
    if (tolerance_ && (apart > *tolerance_ || -apart > *tolerance_)) {
      fail(t, [&] {
        return fmt::format("transaction {} comes {} {}, allowed {}{}", n, cycles(apart > 0 ? apart : -apart),
                           apart > 0 ? "late" : "early", *tolerance_, where());
      });
    }
    return true;
  }
  void finish(const Tick& t) override {
    verdict_.measured.emplace_back("transactions", fmt::format("{}", count_));
    TransactionFeed::Transaction more;
    uint64_t missing = 0;
    std::string first;
    while (feed_->next(lane_, more)) {
      if (missing++ != 0) continue;
      first = fmt::format(" (golden: cycle {}, {:.3f} ns)", more.tick.cycle, feed_->ns(more.tick.time));
    }
    if (missing == 0) return;
    fail(t, [&] {
      return fmt::format(
          "{} transaction{} up to the end of the wave, expected {}: transaction {} is the first that is "
          "missing{}",
          count_, count_ == 1 ? "" : "s", theirs_ + missing, count_, first);
    });
  }

 private:
  Expr* event_;
  std::vector<Expr*> signals_;
  std::optional<int64_t> tolerance_;
  TransactionFeed* feed_ = nullptr;
  uint32_t lane_ = 0;
  uint64_t count_ = 0, theirs_ = 0;
  TransactionFeed::Transaction golden_;
};

}  // namespace

std::unique_ptr<Rule> make_golden(const Settings& s) {
  const bool transactions = s.text("by", "cycle") == "transaction";
  if (transactions && s.expr("event") == nullptr) s.fail("event", "is missing: by = \"transaction\" needs it");
  if (!transactions && s.expr("event") != nullptr) s.fail("event", "goes with by = \"transaction\" only");
  if (transactions) return std::make_unique<ByTransaction>(s);
  return std::make_unique<ByCycle>(s);
}

GoldenPool::GoldenPool(Sampler& sampler) : sampler_(sampler) {}
GoldenPool::~GoldenPool() = default;

void GoldenPool::attach(Instance& i, GoldenSpec given) {
  specs_.push_back(std::make_unique<GoldenSpec>(std::move(given)));
  const GoldenSpec& spec = *specs_.back();
  auto& rule = static_cast<GoldenRule&>(*i.rule);
  if (auto* r = dynamic_cast<ByTransaction*>(&rule)) {
    auto& feed = by_transaction_[spec.file];
    if (!feed) feed = std::make_shared<TransactionFeed>(spec.file, sampler_);
    r->join(*feed, feed->attach(spec, r->values()));
    return;
  }
  const std::string key =
      fmt::format("{}\n{}\n{}\n{}\n{} {}", i.domain, spec.file, name_there(spec, sampler_, spec.clock),
                  spec.cycle ? name_there(spec, sampler_, *spec.cycle) : "", spec.rising, spec.falling);
  auto& feed = by_cycle_[key];
  if (!feed) {
    feed = std::make_shared<CycleFeed>(spec.file, sampler_);
    sampler_.domain(i.domain).feeds.push_back(feed.get());
  }
  feed->attach(i, static_cast<ByCycle&>(rule), spec);
}

void GoldenPool::start() {
  for (auto& [key, feed] : by_cycle_) feed->start();
  for (auto& [key, feed] : by_transaction_) feed->start();
}

namespace {

/// What a signal is at given cycles.
class Snapshot : public Rule, public Feed {
 public:
  Snapshot(std::vector<std::unique_ptr<Expr>> exprs, const std::vector<int64_t>& cycles)
      : exprs_(std::move(exprs)), cycles_(cycles) {}
  void advance(const Tick& t) override { seen_ = t.cycle; }
  void done() override {
    until(seen_);
    if (values.size() == cycles_.size()) throw Stopped{};
  }
  bool step(const Tick& t) override {
    until(t.cycle);
    now_.keep(exprs_[0]->last());
    return false;
  }
  bool reset(const Tick& t) override { return step(t); }
  void finish(const Tick&) override { until(kEver); }
  std::vector<std::string> values;

 private:
  void until(int64_t cycle) {
    while (values.size() < cycles_.size() && cycles_[values.size()] < cycle) values.push_back(now_.bits().text());
  }
  std::vector<std::unique_ptr<Expr>> exprs_;
  const std::vector<int64_t>& cycles_;
  int64_t seen_ = std::numeric_limits<int64_t>::min();
  Kept now_;
};

}  // namespace

void GoldenPool::add_row(const Sampler& here, const GoldenSpec& spec, Around& around) {
  const auto wave = Reader::open(spec.file);
  Sampler there(*wave);
  std::vector<std::unique_ptr<Expr>> exprs;
  Expr* event = nullptr;
  auto i = bind(spec, here, there, exprs, &event);
  const std::string name = exprs[0]->text();
  const uint32_t width = exprs[0]->last().width;
  auto rule = std::make_unique<Snapshot>(std::move(exprs), around.cycles);
  Snapshot& snapshot = *rule;
  there.domain(i->domain).feeds.push_back(&snapshot);
  i->rule = std::move(rule);
  there.add(std::move(i));
  try {
    there.run();
  } catch (const Stopped&) {
  }
  around.rows.push_back({"golden: " + name, snapshot.values, width});
}

}  // namespace rnic::wave::detail
