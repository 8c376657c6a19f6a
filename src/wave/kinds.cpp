// SPDX-License-Identifier: Apache-2.0
// The kinds of rules.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "rules.h"

namespace rnic::wave::detail {
namespace {

std::string shown(const Expr* e) { return fmt::format("{} = {}", e->text(), e->last().text()); }

/// never, always, onehot, no_x, range: each sample stands for itself.
class Sample : public Rule {
 public:
  explicit Sample(const Settings& s) : e_(s.expr("expr")), when_(s.expr("when")) {}
  bool step(const Tick& t) override {
    if (!allowed(when_)) return false;
    trigger();
    if (good()) return false;
    fail(t, [&] { return shown(e_); });
    return true;
  }

 protected:
  virtual bool good() = 0;
  Expr *e_, *when_;
};

struct Never : Sample {
  explicit Never(const Settings& s) : Sample(s) { verdict_.expected = fmt::format("never {}", e_->text()); }
  bool good() override { return truth(e_->last()) != Truth::kTrue; }
};
struct Always : Sample {
  explicit Always(const Settings& s) : Sample(s) { verdict_.expected = fmt::format("always {}", e_->text()); }
  bool good() override { return truth(e_->last()) == Truth::kTrue; }
};
struct Onehot : Sample {
  explicit Onehot(const Settings& s) : Sample(s), zero(s.flag("allow_zero", false)) {
    verdict_.expected = fmt::format("{} one bit of {} is 1", zero ? "at most" : "exactly", e_->text());
  }
  bool good() override {
    const Bits b = e_->last();
    if (!b.known()) return false;
    int n = 0;
    for (uint32_t i = 0; i < b.words(); ++i) n += __builtin_popcountll(b.v[i]);
    return n == 1 || (n == 0 && zero);
  }
  bool zero;
};
struct NoX : Sample {
  explicit NoX(const Settings& s) : Sample(s) { verdict_.expected = fmt::format("no x or z in {}", e_->text()); }
  bool good() override { return e_->last().known(); }
};
struct Range : Sample {
  explicit Range(const Settings& s)
      : Sample(s), low(static_cast<uint64_t>(s.number("min").value_or(0))), high(s.number("max")) {
    if (e_->last().width > 64) s.fail("expr", fmt::format("has {} bits; a range takes at most 64", e_->last().width));
    verdict_.expected = fmt::format("{} <= {}{}", low, e_->text(), high ? fmt::format(" <= {:.0f}", *high) : "");
  }
  bool good() override {
    const Bits b = e_->last();
    return b.known() && b.low() >= low && (!high || b.low() <= static_cast<uint64_t>(*high));
  }
  uint64_t low;
  std::optional<double> high;
};

/// stable: while `when` stays true, the value does.
class Stable : public Rule {
 public:
  explicit Stable(const Settings& s) : e_(s.expr("expr")), when_(s.expr("when")) {
    verdict_.expected = fmt::format("{} does not change{}", e_->text(), when_ ? " while " + when_->text() : "");
  }
  bool step(const Tick& t) override {
    const bool now = allowed(when_);
    if (now) trigger();
    if (now && held_ && !before_.same(e_->last())) {
      fail(t, [&] {
        return fmt::format("{} changed from {} to {}", e_->text(), before_.bits().text(), e_->last().text());
      });
    }
    held_ = now;
    if (now) before_.keep(e_->last());
    return false;
  }
  bool reset(const Tick&) override { return held_ = false; }

 private:
  Expr *e_, *when_;
  Kept before_;
  bool held_ = false;
};

/// change_only_when: a change needs `when` in the sample before it (the edge between made the change).
class ChangeOnlyWhen : public Rule {
 public:
  explicit ChangeOnlyWhen(const Settings& s) : e_(s.expr("expr")), when_(s.expr("when")) {
    verdict_.expected = fmt::format("{} changes only after a sample with {}", e_->text(), when_->text());
  }
  bool step(const Tick& t) override {
    if (seen_ && !before_.same(e_->last())) {
      trigger();
      if (!when_before_) {
        fail(t, [&] {
          return fmt::format("{} changed from {} to {}", e_->text(), before_.bits().text(), e_->last().text());
        });
      }
    }
    seen_ = true;
    when_before_ = is(when_);
    before_.keep(e_->last());
    return false;
  }
  bool reset(const Tick&) override { return seen_ = false; }

 private:
  Expr *e_, *when_;
  Kept before_;
  bool seen_ = false, when_before_ = false;
};

class Monotonic : public Rule {
 public:
  explicit Monotonic(const Settings& s)
      : e_(s.expr("expr")),
        when_(s.expr("when")),
        down_(s.text("direction", "up") == "down"),
        strict_(s.flag("strict", false)),
        wrap_(s.flag("wrap", false)) {
    if (e_->last().width > 64) s.fail("expr", fmt::format("has {} bits; monotonic takes at most 64", e_->last().width));
    verdict_.expected = fmt::format("{} {}{}{}", e_->text(), strict_ ? "strictly " : "", down_ ? "falls" : "rises",
                                    wrap_ ? ", wrapping round" : "");
  }
  bool step(const Tick& t) override {
    if (!allowed(when_)) return false;
    const Bits b = e_->last();
    const uint64_t now = b.low();
    if (!b.known()) {
      fail(t, [&] { return shown(e_); });
      return true;
    }
    if (seen_) {
      if (now != before_ || strict_) trigger();
      const uint64_t mask = b.width == 64 ? ~uint64_t{0} : (uint64_t{1} << b.width) - 1;
      const uint64_t ahead = (down_ ? before_ - now : now - before_) & mask;
      const bool good = now == before_ ? !strict_ : wrap_ ? ahead <= mask / 2 : (now > before_) != down_;
      if (!good) fail(t, [&] { return fmt::format("{} went from {:x} to {:x}", e_->text(), before_, now); });
    }
    seen_ = true;
    before_ = now;
    return strict_;
  }
  bool reset(const Tick&) override { return seen_ = false; }

 private:
  Expr *e_, *when_;
  bool down_, strict_, wrap_, seen_ = false;
  uint64_t before_ = 0;
};

/// counter: the value is its start plus the events of all samples before.
class Counter : public Rule {
 public:
  explicit Counter(const Settings& s)
      : e_(s.expr("expr")), event_(s.expr("event")), by_(s.expr("by")), start_(s.number("start")) {
    if (e_->last().width > 64) s.fail("expr", fmt::format("has {} bits; a counter takes at most 64", e_->last().width));
    verdict_.expected =
        fmt::format("{} counts {}{}", e_->text(), by_ ? by_->text() + " for each " : "", event_->text());
  }
  bool step(const Tick& t) override {
    const Bits b = e_->last();
    const uint64_t mask = b.width == 64 ? ~uint64_t{0} : (uint64_t{1} << b.width) - 1;
    if (!seen_) want_ = start_ ? static_cast<uint64_t>(*start_) : b.low();
    seen_ = true;
    if (!b.known() || b.low() != (want_ & mask)) {
      fail(t, [&] { return fmt::format("{} is {}, expected {:x}", e_->text(), b.text(), want_ & mask); });
      if (b.known()) want_ = b.low();  // one failure a fault
    }
    if (!is(event_)) return false;
    trigger();
    want_ += by_ ? by_->last().low() : 1;
    return true;
  }
  bool reset(const Tick&) override { return seen_ = false; }

 private:
  Expr *e_, *event_, *by_;
  std::optional<double> start_;
  bool seen_ = false;
  uint64_t want_ = 0;
};

class Handshake : public Rule {
 public:
  explicit Handshake(const Settings& s)
      : valid_(s.expr("valid")),
        ready_(s.expr("ready")),
        max_stall_(s.number("max_stall")),
        quiet_in_reset_(s.flag("quiet_in_reset", true)) {
    if (const auto it = s.exprs.find("payload"); it != s.exprs.end()) {
      for (const auto& e : it->second) payload_.push_back(e.get());
    }
    kept_.resize(payload_.size());
    verdict_.expected = fmt::format("{} stays until {}{}{}{}", valid_->text(), ready_->text(),
                                    payload_.empty() ? "" : ", payload stable meanwhile",
                                    max_stall_ ? fmt::format(", for at most {:.0f} samples", *max_stall_) : "",
                                    quiet_in_reset_ ? ", not valid in reset" : "");
  }
  bool step(const Tick& t) override {
    const bool valid = is(valid_), ready = is(ready_);
    if (waiting_ && !valid) {
      fail(t,
           [&] { return fmt::format("{} fell after {} samples without {}", valid_->text(), stall_, ready_->text()); });
    }
    if (waiting_ && valid) {
      for (size_t i = 0; i < payload_.size(); ++i) {
        if (kept_[i].same(payload_[i]->last())) continue;
        fail(t, [&] {
          return fmt::format("{} changed from {} to {} before {}", payload_[i]->text(), kept_[i].bits().text(),
                             payload_[i]->last().text(), ready_->text());
        });
        kept_[i].keep(payload_[i]->last());
      }
    }
    const bool begins = valid && !waiting_;
    if (!waiting_) stall_ = 0;
    verdict_.triggers += begins;
    waiting_ = valid && !ready;
    if (!waiting_) return valid;
    ++stall_;
    longest_ = std::max(longest_, stall_);
    if (max_stall_ && stall_ == static_cast<uint64_t>(*max_stall_) + 1) {
      fail(t, [&] {
        return fmt::format("{} waits for {} for more than {:.0f} samples", valid_->text(), ready_->text(), *max_stall_);
      });
    }
    if (begins) {
      for (size_t i = 0; i < payload_.size(); ++i) kept_[i].keep(payload_[i]->last());
    }
    return true;
  }
  bool leaps() const override {
    const auto bit = [](const Expr* e) { return e->is_signal() && e->last().width == 1; };
    return bit(valid_) && bit(ready_) &&
           std::all_of(payload_.begin(), payload_.end(), [](const Expr* e) { return e->is_signal(); });
  }
  bool leap(Samples& s) override {
    if (!s.values(*valid_, valids_) || !s.values(*ready_, readies_)) return false;
    changes_.assign(valids_.size(), 0);
    for (const Expr* e : payload_) s.changes(*e, changes_);
    bool waiting = waiting_;
    uint64_t stall = waiting_ ? stall_ : 0, longest = longest_, begun = 0;
    for (size_t n = 0; n < valids_.size(); ++n) {
      const auto size = static_cast<unsigned>(std::min<size_t>(64, s.count() - 64 * n));
      const uint64_t inside = ~uint64_t{0} >> (64 - size);
      const uint64_t valid = valids_[n] & inside, waits = valid & ~readies_[n], waited = waits << 1 | waiting;
      if ((waited & inside & (~valid | changes_[n])) != 0) return false;
      begun += static_cast<uint64_t>(__builtin_popcountll(valid & ~waited));
      waiting = waits >> (size - 1) != 0;
      for (unsigned at = 0; at < size;) {  // from one wait to the next
        const uint64_t rest = waits >> at;
        if ((rest & 1) == 0) {
          stall = 0;
          at = rest == 0 ? size : at + static_cast<unsigned>(__builtin_ctzll(rest));
          continue;
        }
        const unsigned length = ~rest == 0 ? size : std::min(size - at, static_cast<unsigned>(__builtin_ctzll(~rest)));
        stall += length;
        at += length;
        longest = std::max(longest, stall);
      }
    }
    if (max_stall_ && static_cast<double>(longest) > *max_stall_) return false;
    waiting_ = waiting;
    stall_ = stall;
    longest_ = longest;
    verdict_.triggers += begun;
    return true;
  }
  bool landed() override {
    for (size_t i = 0; waiting_ && i < payload_.size(); ++i) kept_[i].keep(payload_[i]->last());
    return is(valid_);
  }
  bool reset(const Tick& t) override {
    waiting_ = false;
    if (!quiet_in_reset_ || !is(valid_)) return false;
    fail(t, [&] { return fmt::format("{} is high in reset", valid_->text()); });
    return true;
  }
  void finish(const Tick&) override {
    verdict_.measured.emplace_back("longest_stall", fmt::format("{}", longest_));
    if (waiting_)
      incomplete(fmt::format("{} still waits for {} at the end of the wave", valid_->text(), ready_->text()));
  }

 private:
  Expr *valid_, *ready_;
  std::vector<Expr*> payload_;
  std::vector<Kept> kept_;
  std::optional<double> max_stall_;
  bool quiet_in_reset_, waiting_ = false;
  uint64_t stall_ = 0, longest_ = 0;
  Samples::Row valids_, readies_, changes_;
};

/// response, latency and match: Bs belong to As.
class Pairing : public Rule {
 public:
  enum Mode { kResponse, kLatency, kMatch };

  Pairing(const Settings& s, Mode mode, const char* a, const char* b)
      : mode_(mode),
        a_(s.expr(a)),
        b_(s.expr(b)),
        tag_a_(s.expr(std::string("tag_") + a)),
        tag_b_(s.expr(std::string("tag_") + b)),
        a_change_(s.expr("a_change")),
        b_change_(s.expr("b_change")),
        lo_(s.number("lo").value_or(0)),
        hi_(s.number("hi")),
        ns_(s.text("unit", "cycles") == "ns"),
        nearest_(s.text("match", "in_order") == "nearest"),
        stray_a_ok_(s.text("unmatched_a", "fail") == "ok"),
        stray_b_(s.text("unmatched_b", "fail") == "fail"),
        pending_fails_(s.text("pending_at_end", "incomplete") == "fail"),
        pending_ok_(s.text("pending_at_end", "incomplete") == "ok"),
        skip_(static_cast<uint64_t>(s.number("skip").value_or(0))),
        most_(s.number("max_outstanding")),
        p50_(s.number("p50_max")),
        p99_(s.number("p99_max")),
        max_(s.number("max")),
        min_samples_(static_cast<uint64_t>(s.number("min_samples").value_or(1))),
        tick_ns_(s.tick_ns) {
    if (mode != kMatch) {
      if ((a_ == nullptr) == (a_change_ == nullptr)) s.fail("a", "give exactly one of a and a_change");
      if ((b_ == nullptr) == (b_change_ == nullptr)) s.fail("b", "give exactly one of b and b_change");
    }
    if ((tag_a_ == nullptr) != (tag_b_ == nullptr)) s.fail(std::string("tag_") + a, "both tags are needed, or none");
    if (tag_a_ != nullptr && (a_change_ != nullptr || b_change_ != nullptr)) {
      s.fail(std::string("tag_") + a, "tags go with sampled events, not with a_change and b_change");
    }
    for (const auto* tag : {tag_a_, tag_b_}) {
      if (tag != nullptr && tag->last().width > 64) {
        s.fail(std::string("tag_") + (tag == tag_a_ ? a : b),
               fmt::format("has {} bits; a tag has at most 64", tag->last().width));
      }
    }
    if (stray_a_ok_ && !nearest_) s.fail("unmatched_a", "goes with match = \"nearest\" only");
    if (nearest_ && tag_a_ != nullptr) s.fail("match", "'nearest' and tags exclude each other");
    if (hi_ && *hi_ < lo_) s.fail("hi", fmt::format("{} is below lo, {}", *hi_, lo_));
    if (mode == kLatency && !p50_ && !p99_ && !max_) s.fail("", "give at least one of p50_max, p99_max, max");
    name_a_ = (a_ != nullptr ? a_ : a_change_)->text() + (a_ != nullptr ? "" : " changing");
    name_b_ = (b_ != nullptr ? b_ : b_change_)->text() + (b_ != nullptr ? "" : " changing");
    const char* unit = ns_ ? "ns" : "cycles";
    if (mode == kMatch) {
      verdict_.expected = fmt::format("each {} has its {}{}", name_a_, name_b_,
                                      most_ ? fmt::format(", at most {:.0f} open", *most_) : "");
    } else if (mode == kLatency) {
      verdict_.expected = fmt::format("from {} to {}:", name_a_, name_b_);
      if (p50_) verdict_.expected += fmt::format(" P50 <= {}", *p50_);
      if (p99_) verdict_.expected += fmt::format(" P99 <= {}", *p99_);
      if (max_) verdict_.expected += fmt::format(" max <= {}", *max_);
      verdict_.expected += fmt::format(" {}", unit);
    } else {
      verdict_.expected = fmt::format("{} after {} within [{}, {}] {}", name_b_, name_a_, lo_,
                                      hi_ ? fmt::format("{}", *hi_) : "any", unit);
    }
  }

  bool step(const Tick& t) override {
    overdue(t);
    const bool a = a_ != nullptr && is(a_), b = b_ != nullptr && is(b_);
    if (b && lo_ > 0) on_b(t);
    if (a) on_a(t);
    if (b && lo_ <= 0) on_b(t);
    return a || b || (hi_ && !stray_a_ok_ && !open_.empty());
  }
  bool reset(const Tick&) override {
    open_.clear();
    return false;
  }
  void event(const std::string& key, const Tick& t) override {
    overdue(t);
    key == "a_change" ? on_a(t) : on_b(t);
  }
  void finish(const Tick& t) override {
    overdue(t);
    uint64_t pending = 0;
    for (size_t i = 0; i < open_.size() && !stray_a_ok_; ++i) pending += !open_[i].failed;
    if (pending != 0 && pending_fails_) {
      fail(open_.front().tick,
           [&] { return fmt::format("{} without {} at the end of the wave: {}", name_a_, name_b_, pending); });
    } else if (pending != 0 && !pending_ok_) {
      incomplete(fmt::format("{} of {} have no {} yet at the end of the wave, the first from {:.3f} ns", pending,
                             name_a_, name_b_, static_cast<double>(open_.front().tick.time) * tick_ns_));
    }
    if (mode_ != kMatch && samples_ == 0 && pairs_ != 0) {
      incomplete(fmt::format("all {} pairs were left out by skip = {}: nothing was checked", pairs_, skip_));
    }
    if (mode_ == kMatch) verdict_.measured.emplace_back("most_outstanding", fmt::format("{}", seen_most_));
    if (mode_ == kMatch || samples_ == 0) return;
    const char* unit = ns_ ? "ns" : "cycles";
    const auto report = [&](const char* what, double v) {
      verdict_.measured.emplace_back(fmt::format("{}_{}", what, unit),
                                     ns_ ? fmt::format("{:.3f}", v) : fmt::format("{:.0f}", v));
    };
    verdict_.measured.emplace_back("count", fmt::format("{}", samples_));
    report("min", histogram_.begin()->first * scale());
    report("max", histogram_.rbegin()->first * scale());
    if (samples_ >= 2) report("p50", at(0.5));
    if (samples_ >= 100) report("p99", at(0.99));
    if (mode_ != kLatency) return;
    const auto bound = [&](const char* what, const std::optional<double>& limit, uint64_t need, double value) {
      if (!limit) return;
      if (samples_ < std::max(need, min_samples_)) {
        incomplete(
            fmt::format("too few samples for {}: {}, and {} are needed", what, samples_, std::max(need, min_samples_)));
      } else if (value > *limit) {
        fail(worst_, [&] { return fmt::format("{} is {:.3f} {}, allowed {}", what, value, unit, *limit); });
      }
    };
    bound("P50", p50_, 2, at(0.5));
    bound("P99", p99_, 100, at(0.99));
    bound("the maximum", max_, 1, histogram_.rbegin()->first * scale());
  }

 private:
  struct Open {
    Tick tick;
    uint64_t tag;
    bool failed;
  };

  double scale() const { return ns_ ? tick_ns_ : 1; }
  uint64_t raw(const Tick& a, const Tick& b) const {
    return ns_ ? b.time - a.time : static_cast<uint64_t>(b.cycle - a.cycle);
  }
  double elapsed(const Tick& a, const Tick& b) const { return static_cast<double>(raw(a, b)) * scale(); }
  std::string length(double v) const { return ns_ ? fmt::format("{:.3f} ns", v) : fmt::format("{:.0f} cycles", v); }
  double at(double q) const {
    const auto rank = static_cast<uint64_t>(std::ceil(q * static_cast<double>(samples_)));
    uint64_t n = 0;
    for (const auto& [value, count] : histogram_) {
      n += count;
      if (n >= rank) return static_cast<double>(value) * scale();
    }
    return 0;
  }

  void overdue(const Tick& t) {
    if (!hi_ || stray_a_ok_) return;
    // In order, the first that is young enough ends it; failed ones keep their place, so that their B finds them.
    for (size_t i = 0; i < open_.size(); ++i) {
      Open& o = open_[i];
      if (elapsed(o.tick, t) <= *hi_ + 1e-9) break;
      if (o.failed) continue;
      o.failed = true;
      if (pairs_ + i >= skip_) {
        fail(t, [&] {
          return fmt::format("no {} within {} of {} at {:.3f} ns, cycle {}", name_b_, length(*hi_), name_a_,
                             static_cast<double>(o.tick.time) * tick_ns_, o.tick.cycle);
        });
      }
    }
  }
  void on_a(const Tick& t) {
    trigger();
    const uint64_t tag = tag_a_ != nullptr ? tag_a_->last().low() : 0;
    if (tag_a_ != nullptr && !tag_a_->last().known()) {
      fail(t, [&] { return fmt::format("{} with an unknown tag, {}", name_a_, shown(tag_a_)); });
      return;
    }
    if (tag_a_ != nullptr) {
      for (size_t i = 0; i < open_.size(); ++i) {
        if (open_[i].tag != tag) continue;
        fail(t, [&] {
          return fmt::format("{} with tag {:x}, which is still open from cycle {}", name_a_, tag, open_[i].tick.cycle);
        });
        open_.erase(i);
        break;
      }
    }
    if (stray_a_ok_) open_.clear();  // only the latest counts
    open_.push({t, tag, false});
    seen_most_ = std::max(seen_most_, open_.size());
    if (most_ && static_cast<double>(open_.size()) > *most_) {
      fail(t, [&] { return fmt::format("{} are open", open_.size()); });
    }
  }
  void on_b(const Tick& t) {
    size_t i = 0;
    if (tag_b_ != nullptr) {
      const uint64_t tag = tag_b_->last().low();
      if (!tag_b_->last().known()) {
        fail(t, [&] { return fmt::format("{} with an unknown tag, {}", name_b_, shown(tag_b_)); });
        return;
      }
      while (i < open_.size() && open_[i].tag != tag) ++i;
      if (i == open_.size()) {
        if (stray_b_) fail(t, [&] { return fmt::format("{} with tag {:x}, which is not open", name_b_, tag); });
        return;
      }
    } else if (open_.empty()) {
      if (stray_b_) fail(t, [&] { return fmt::format("{} without {}", name_b_, name_a_); });
      return;
    } else if (nearest_) {
      while (open_.size() > 1) {
        if (!open_.front().failed && !stray_a_ok_) {
          fail(open_.front().tick, [&] { return fmt::format("{} without {} before the next one", name_a_, name_b_); });
        }
        open_.pop();
      }
    }
    const Open o = open_[i];
    open_.erase(i);
    if (pairs_++ < skip_) return;
    const double took = elapsed(o.tick, t);
    ++samples_;
    const uint64_t value = raw(o.tick, t);
    if (histogram_.empty() || value > histogram_.rbegin()->first) worst_ = t;
    ++histogram_[value];
    if (o.failed) return;  // too late, and reported
    if (took + 1e-9 < lo_) {
      fail(t, [&] { return fmt::format("{} came {} after {}, too early", name_b_, length(took), name_a_); });
    } else if (hi_ && took > *hi_ + 1e-9) {
      fail(t, [&] { return fmt::format("{} came {} after {}, too late", name_b_, length(took), name_a_); });
    }
  }

  Mode mode_;
  Expr *a_, *b_, *tag_a_, *tag_b_, *a_change_, *b_change_;
  double lo_;
  std::optional<double> hi_;
  bool ns_, nearest_, stray_a_ok_, stray_b_, pending_fails_, pending_ok_;
  uint64_t skip_;
  std::optional<double> most_, p50_, p99_, max_;
  uint64_t min_samples_;
  double tick_ns_;
  std::string name_a_, name_b_;
  Ring<Open> open_;
  size_t seen_most_ = 0;
  uint64_t pairs_ = 0, samples_ = 0;
  std::map<uint64_t, uint64_t> histogram_;
  Tick worst_;
};

/// conservation and occupancy: what has come in and not gone out.
class Balance : public Rule {
 public:
  Balance(const Settings& s, const char* in, const char* out, bool at_end)
      : in_(s.expr(in)),
        out_(s.expr(out)),
        in_by_(s.expr(std::string(in) + "_amount")),
        out_by_(s.expr(std::string(out) + "_amount")),
        max_(s.number("max")),
        min_(s.number("min").value_or(0)),
        at_end_(at_end),
        level_(s.expr("level")) {
    verdict_.expected =
        at_end ? fmt::format("as many {} as {} at the end, and never more before", out_->text(), in_->text())
               : fmt::format("{} <= entries ({} minus {}){}", min_, in_->text(), out_->text(),
                             max_ ? fmt::format(" <= {}", *max_) : "");
    if (level_) verdict_.expected += fmt::format(", and {} says so", level_->text());
  }
  bool step(const Tick& t) override {
    bool again = false;
    if (level_ && (!level_->last().known() || level_->last().low() != static_cast<uint64_t>(inside_))) {
      fail(t, [&] {
        return fmt::format("{} is {}, and {:x} are inside", level_->text(), level_->last().text(), inside_);
      });
      if (level_->last().known()) inside_ = static_cast<int64_t>(level_->last().low());
    }
    if (is(in_)) {
      trigger();
      const auto n = in_by_ ? static_cast<int64_t>(in_by_->last().low()) : 1;
      inside_ += n;
      total_in_ += static_cast<uint64_t>(n);
      again = true;
    }
    if (is(out_)) {
      const auto n = out_by_ ? static_cast<int64_t>(out_by_->last().low()) : 1;
      inside_ -= n;
      total_out_ += static_cast<uint64_t>(n);
      again = true;
    }
    if (!again) return false;
    most_ = std::max(most_, inside_);
    if (static_cast<double>(inside_) < min_) {
      fail(t, [&] { return fmt::format("{} in, {} out: {} inside", total_in_, total_out_, inside_); });
    } else if (max_ && static_cast<double>(inside_) > *max_) {
      fail(t, [&] { return fmt::format("{} are inside", inside_); });
    }
    last_ = t;
    return true;
  }
  bool reset(const Tick&) override {
    inside_ = 0;
    total_in_ = total_out_ = 0;
    return false;
  }
  void finish(const Tick&) override {
    verdict_.measured.emplace_back("most_inside", fmt::format("{}", most_));
    if (at_end_ && inside_ > 0) {
      fail(last_, [&] { return fmt::format("{} in, {} out at the end of the wave", total_in_, total_out_); });
    }
  }

 private:
  Expr *in_, *out_, *in_by_, *out_by_;
  std::optional<double> max_;
  double min_;
  bool at_end_;
  Expr* level_;
  int64_t inside_ = 0, most_ = 0;
  uint64_t total_in_ = 0, total_out_ = 0;
  Tick last_;
};

class Progress : public Rule {
 public:
  explicit Progress(const Settings& s)
      : event_(s.expr("event")), busy_(s.expr("busy")), max_(static_cast<int64_t>(*s.number("max"))) {
    verdict_.expected =
        fmt::format("{} at least every {} cycles{}", event_->text(), max_, busy_ ? " while " + busy_->text() : "");
  }
  bool step(const Tick& t) override {
    const bool busy = allowed(busy_);
    if (!busy || !was_busy_ || is(event_)) {
      since_ = t;
      told_ = false;
    }
    was_busy_ = busy;
    if (!busy) return false;
    trigger();
    if (!told_ && t.cycle - since_.cycle > max_) {
      told_ = true;
      fail(t, [&] { return fmt::format("no {} since cycle {}", event_->text(), since_.cycle); });
    }
    return true;
  }
  bool reset(const Tick&) override { return was_busy_ = false; }

 private:
  Expr *event_, *busy_;
  int64_t max_;
  bool was_busy_ = false, told_ = false;
  Tick since_;
};

class Throughput : public Rule {
 public:
  explicit Throughput(const Settings& s)
      : event_(s.expr("event")),
        amount_(s.expr("amount")),
        busy_(s.expr("busy")),
        window_(*s.number("window")),
        ns_(s.text("unit", "cycles") == "ns"),
        at_least_(s.number("at_least")),
        at_most_(s.number("at_most")),
        tick_ns_(s.tick_ns) {
    if (!at_least_ && !at_most_) s.fail("", "give at_least, at_most, or both");
    if (window_ <= 0) s.fail("window", "must be above 0");
    const char* unit = ns_ ? "ns" : "cycle";
    verdict_.expected =
        fmt::format("{} per {} over {} {}{}:", amount_ ? amount_->text() + " of " + event_->text() : event_->text(),
                    unit, window_, ns_ ? "ns" : "cycles", busy_ ? " of " + busy_->text() : "");
    if (at_least_) verdict_.expected += fmt::format(" at least {}", *at_least_);
    if (at_most_) verdict_.expected += fmt::format(" at most {}", *at_most_);
  }
  bool step(const Tick& t) override {
    const double now = ns_ ? static_cast<double>(t.time) * tick_ns_ : static_cast<double>(t.cycle);
    const bool busy = allowed(busy_);
    if (!busy) {
      was_busy_ = false;
      if (at_least_ && !at_most_) {
        events_.clear();
        sum_ = 0;
      }
    } else if (!was_busy_) {
      was_busy_ = true;
      since_ = now;
    }
    while (!events_.empty() && events_.front().at <= now - window_) {
      sum_ -= events_.front().n;
      events_.pop();
    }
    const bool event = is(event_);
    if (event) {
      trigger();
      const uint64_t n = amount_ ? amount_->last().low() : 1;
      events_.push({now, n});
      sum_ += n;
    }
    const double rate = static_cast<double>(sum_) / window_;
    if (event && at_most_ && rate > *at_most_ + 1e-12) {
      fail(t, [&] { return fmt::format("{:.6g} in the window that ends here", rate); });
    }
    if (busy && at_least_ && now - since_ + (ns_ ? 0 : 1) >= window_) {
      lowest_ = measured_ ? std::min(lowest_, rate) : rate;
      measured_ = true;
      if (rate < *at_least_ - 1e-12) fail(t, [&] { return fmt::format("{:.6g} in the window that ends here", rate); });
    }
    highest_ = std::max(highest_, rate);
    return event || (busy && at_least_);
  }
  bool reset(const Tick&) override {
    events_.clear();
    sum_ = 0;
    return was_busy_ = false;
  }
  void finish(const Tick&) override {
    verdict_.measured.emplace_back("highest", fmt::format("{:.6g}", highest_));
    if (measured_) verdict_.measured.emplace_back("lowest", fmt::format("{:.6g}", lowest_));
    if (at_least_ && !measured_) incomplete("no window of that length lies in the wave");
  }

 private:
  struct Event {
    double at;
    uint64_t n;
  };
  Expr *event_, *amount_, *busy_;
  double window_;
  bool ns_;
  std::optional<double> at_least_, at_most_;
  double tick_ns_;
  Ring<Event> events_;
  uint64_t sum_ = 0;
  bool was_busy_ = false, measured_ = false;
  double since_ = 0, lowest_ = 0, highest_ = 0;
};

template <class T>
std::unique_ptr<Rule> make(const Settings& s) {
  return std::make_unique<T>(s);
}

}  // namespace

const std::vector<Kind>& kinds() {
  using T = KeyType;
  static const std::vector<Key> sample{{"expr", T::kExpr, true}, {"when", T::kExpr}};
  const auto with = [](std::vector<Key> keys, std::initializer_list<Key> more) {
    keys.insert(keys.end(), more);
    return keys;
  };
  static const std::vector<Key> pair{{"a", T::kExpr},
                                     {"b", T::kExpr},
                                     {"a_change", T::kSignal},
                                     {"b_change", T::kSignal},
                                     {"tag_a", T::kExpr},
                                     {"tag_b", T::kExpr},
                                     {"match", T::kText, false, "in_order|nearest"},
                                     {"unit", T::kText, false, "cycles|ns"},
                                     {"unmatched_a", T::kText, false, "fail|ok"},
                                     {"unmatched_b", T::kText, false, "fail|ok"},
                                     {"skip", T::kInteger}};
  static const std::vector<Kind> all{
      {"never", sample, make<Never>, "`when` was never true outside of reset"},
      {"always", sample, make<Always>, "`when` was never true outside of reset"},
      {"onehot", with(sample, {{"allow_zero", T::kFlag}}), make<Onehot>, "`when` was never true outside of reset"},
      {"no_x", sample, make<NoX>, "`when` was never true outside of reset"},
      {"range", with(sample, {{"min", T::kInteger}, {"max", T::kInteger}}), make<Range>,
       "`when` was never true outside of reset"},
      {"stable", sample, make<Stable>, "`when` was never true outside of reset"},
      {"change_only_when",
       {{"expr", T::kExpr, true}, {"when", T::kExpr, true}},
       make<ChangeOnlyWhen>,
       "the value never changed"},
      {"monotonic", with(sample, {{"direction", T::kText, false, "up|down"}, {"strict", T::kFlag}, {"wrap", T::kFlag}}),
       make<Monotonic>, "the value never changed"},
      {"counter",
       {{"expr", T::kExpr, true}, {"event", T::kExpr, true}, {"by", T::kExpr}, {"start", T::kInteger}},
       make<Counter>,
       "the event never happened"},
      {"handshake",
       {{"valid", T::kExpr, true},
        {"ready", T::kExpr, true},
        {"payload", T::kExprs},
        {"max_stall", T::kInteger},
        {"quiet_in_reset", T::kFlag}},
       make<Handshake>,
       "`valid` was never true outside of reset"},
      {"response",
       with(pair, {{"lo", T::kNumber}, {"hi", T::kNumber}, {"pending_at_end", T::kText, false, "incomplete|fail|ok"}}),
       [](const Settings& s) -> std::unique_ptr<Rule> {
         return std::make_unique<Pairing>(s, Pairing::kResponse, "a", "b");
       },
       "`a` never happened"},
      {"latency",
       with(pair,
            {{"p50_max", T::kNumber}, {"p99_max", T::kNumber}, {"max", T::kNumber}, {"min_samples", T::kInteger}}),
       [](const Settings& s) -> std::unique_ptr<Rule> {
         return std::make_unique<Pairing>(s, Pairing::kLatency, "a", "b");
       },
       "`a` never happened"},
      {"match",
       {{"request", T::kExpr, true},
        {"response", T::kExpr, true},
        {"tag_request", T::kExpr},
        {"tag_response", T::kExpr},
        {"max_outstanding", T::kInteger},
        {"pending_at_end", T::kText, false, "incomplete|fail|ok"}},
       [](const Settings& s) -> std::unique_ptr<Rule> {
         return std::make_unique<Pairing>(s, Pairing::kMatch, "request", "response");
       },
       "`request` never happened"},
      {"conservation",
       {{"in", T::kExpr, true}, {"out", T::kExpr, true}, {"in_amount", T::kExpr}, {"out_amount", T::kExpr}},
       [](const Settings& s) -> std::unique_ptr<Rule> { return std::make_unique<Balance>(s, "in", "out", true); },
       "nothing came in"},
      {"occupancy",
       {{"push", T::kExpr, true},
        {"pop", T::kExpr, true},
        {"push_amount", T::kExpr},
        {"pop_amount", T::kExpr},
        {"level", T::kExpr},
        {"min", T::kInteger},
        {"max", T::kInteger}},
       [](const Settings& s) -> std::unique_ptr<Rule> { return std::make_unique<Balance>(s, "push", "pop", false); },
       "nothing was pushed"},
      {"progress",
       {{"event", T::kExpr, true}, {"busy", T::kExpr}, {"max", T::kInteger, true}},
       make<Progress>,
       "`busy` was never true outside of reset"},
      {"throughput",
       {{"event", T::kExpr, true},
        {"amount", T::kExpr},
        {"busy", T::kExpr},
        {"window", T::kNumber, true},
        {"unit", T::kText, false, "cycles|ns"},
        {"at_least", T::kNumber},
        {"at_most", T::kNumber}},
       make<Throughput>,
       "the event never happened"},
      {"golden",
       {{"signals", T::kList, true},
        {"golden", T::kString},
        {"by", T::kText, false, "cycle|transaction"},
        {"event", T::kExpr},
        {"tolerance", T::kInteger},
        {"golden_prefix", T::kString},
        {"golden_map", T::kMap},
        {"golden_clock", T::kString},
        {"golden_edge", T::kText, false, "rising|falling|both"},
        {"golden_reset", T::kString},
        {"golden_cycle", T::kString}},
       make_golden,
       "no sample of it lies outside of reset"},
  };
  return all;
}

}  // namespace rnic::wave::detail
