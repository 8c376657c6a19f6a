// SPDX-License-Identifier: Apache-2.0
#include "sampler.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <set>

namespace rnic::wave::detail {
namespace {

constexpr size_t kMostCheckpoints = 64, kCheckpointWords = size_t{1} << 17;

/// The lowest bit: 0, 1, or 2 for unknown.
unsigned bit(uint64_t v, uint64_t x) { return x & 1 ? 2 : static_cast<unsigned>(v & 1); }

void set_unknown(uint64_t* value, uint32_t width) {
  const uint32_t words = (width + 63) / 64;
  std::fill_n(value, words, 0);
  std::fill_n(value + words, words, ~uint64_t{0});
  if (width % 64 != 0) value[2 * words - 1] = (uint64_t{1} << width % 64) - 1;
}

const Stretch::Column kNoChange;

}  // namespace

Bits Instance::input(uint32_t slot, uint32_t width) {
  for (const Input& in : inputs) {
    if (in.slot == slot) return in.bits(width);
  }
  Input in;
  in.slot = slot;
  in.words = (width + 63) / 64;
  in.now.reset(new uint64_t[size_t{2} * in.words]);
  set_unknown(in.now.get(), width);
  inputs.push_back(std::move(in));
  return inputs.back().bits(width);
}

void Instance::watch(uint32_t slot, const std::string& key) {
  for (Input& in : inputs) {
    if (in.slot == slot) in.watch.push_back(key);
  }
  watches = true;
}

Sampler::Sampler(Reader& wave) : wave_(wave) {
  const auto& all = wave.signals();
  for (size_t n = 0; n < all.size(); ++n) index_.emplace(all[n].name, static_cast<uint32_t>(n));
  slot_of_id_.resize(wave.id_count(), kNone);
}

const Signal* Sampler::signal(const std::string& name) const {
  const auto it = index_.find(name);
  return it == index_.end() ? nullptr : &wave_.signals()[it->second];
}

std::vector<std::string> Sampler::names() const {
  std::vector<std::string> all;
  for (const auto& s : wave_.signals()) all.push_back(s.name);
  return all;
}

uint32_t Sampler::slot(const Signal& s) {
  uint32_t& n = slot_of_id_[s.id];
  if (n != kNone) return n;
  n = static_cast<uint32_t>(slots_.size());
  Slot x;
  x.id = s.id;
  x.width = s.width;
  x.words = (s.width + 63) / 64;
  x.name = s.name;
  x.now.resize(size_t{2} * x.words);
  set_unknown(x.now.data(), s.width);
  slots_.push_back(std::move(x));
  return n;
}

size_t Sampler::domain(uint32_t clock, bool rising, bool falling, std::optional<uint32_t> cycle) {
  for (size_t n = 0; n < domains_.size(); ++n) {
    const Domain& o = domains_[n];
    if (o.clock == clock && o.rising == rising && o.falling == falling && o.cycle == cycle) return n;
  }
  Domain d;
  d.clock = clock;
  d.rising = rising;
  d.falling = falling;
  d.cycle = cycle;
  domains_.push_back(std::move(d));
  return domains_.size() - 1;
}

void Sampler::add(std::unique_ptr<Instance> i) {
  for (Expr* e : i->all) {
    i->settle = std::max(i->settle, e->settle());
    if (e->computed()) i->computed.push_back(e);
  }
  i->leaps = i->rule->leaps() && i->settle == 0 && !i->watches;
  instances_.push_back(std::move(i));
}

uint64_t Sampler::run() {
  std::vector<uint32_t> all(slots_.size());
  std::iota(all.begin(), all.end(), 0);
  checkpoints_.push_back({{}, std::vector<uint64_t>(domains_.size()), {}});
  end_ = read(all, {});
  for (const auto& i : instances_) i->rule->finish(end_of(*i));
  return end_;
}

Tick Sampler::end_of(const Instance& i) const {
  const Tick& last = domains_[i.domain].last;
  return {end_, last.cycle, last.sample};
}

void Sampler::record(const std::vector<size_t>& which, const std::vector<Checkpoint>& from) {
  std::map<size_t, std::vector<Instance*>> groups;  // by checkpoint
  for (const size_t n : which) {
    Instance& i = *instances_[n];
    size_t best = 0;
    while (best + 1 < from.size() && from[best + 1].edges[i.domain] <= i.first_shown()) ++best;
    groups[best].push_back(&i);
  }
  for (const auto& [best, group] : groups) {
    const Checkpoint& c = from[best];
    for (size_t n = 0; n < domains_.size(); ++n) domains_[n].edges = c.edges[n];
    const uint64_t* value = c.values.data();
    for (Slot& s : slots_) {
      if (c.values.empty()) {
        set_unknown(s.now.data(), s.width);
      } else {
        std::copy_n(value, s.now.size(), s.now.begin());
        value += s.now.size();
      }
    }
    std::set<uint32_t> needed;
    for (Instance* i : group) {
      for (Input& in : i->inputs) {
        needed.insert(in.slot);
        std::copy(slots_[in.slot].now.begin(), slots_[in.slot].now.end(), in.now.get());
      }
      const Domain& d = domains_[i->domain];
      needed.insert(d.clock);
      if (d.cycle) needed.insert(*d.cycle);
    }
    recording_ = group;
    read({needed.begin(), needed.end()}, c.mark);
  }
}

uint64_t Sampler::read(std::vector<uint32_t> slots, const Mark& from) {
  read_ = std::move(slots);
  for (Slot& s : slots_) s.column = &kNoChange;
  std::vector<uint32_t> ids;
  for (const uint32_t n : read_) ids.push_back(slots_[n].id);
  return wave_.read_stretches(ids, from, *this);
}

bool Sampler::on_stretch(const Stretch& stretch, const Mark& next) {
  for (size_t n = 0; n < read_.size(); ++n) slots_[read_[n]].column = &stretch.columns()[n];
  seen_unknown_ = seen_unknown_ || stretch.unknown();
  for (Domain& d : domains_) find_edges(d, stretch);
  bool more = recording_.empty();
  if (more) {
    for (Domain& d : domains_) {
      for (Feed* f : d.feeds) {
        for (const Tick& t : d.ticks) f->advance(t);
      }
    }
    for (const auto& i : instances_) evaluate(*i, stretch);
    for (Domain& d : domains_) {
      for (Feed* f : d.feeds) f->done();
    }
  } else {
    for (Instance* i : recording_) more = record(*i) || more;
  }
  for (const uint32_t n : read_) {
    Slot& s = slots_[n];
    if (s.column->begin() != s.column->end()) std::copy_n(s.column->end() - s.now.size(), s.now.size(), s.now.begin());
  }
  for (Domain& d : domains_) {
    if (!d.ticks.empty()) d.last = d.ticks.back();
  }
  if (recording_.empty()) keep(next);
  return more;
}

/// Where the clock has an edge, and which edge is the first to see what a step changes: one behind the step.
void Sampler::find_edges(Domain& d, const Stretch& stretch) {
  d.ticks.clear();
  d.steps.clear();
  const Slot& clock = slots_[d.clock];
  unsigned was = bit(clock.now[0], clock.now[1]);
  const Slot* cycle = d.cycle ? &slots_[*d.cycle] : nullptr;
  uint64_t label = cycle != nullptr ? cycle->now[0] : 0;
  const uint64_t* relabel = cycle != nullptr ? cycle->column->begin() : nullptr;
  for (const uint64_t* p = clock.column->begin(); p != clock.column->end(); p += 3) {
    const unsigned is = bit(p[1], p[2]);
    if ((was == 0 && is == 1 && d.rising) || (was == 1 && is == 0 && d.falling)) {
      if (cycle != nullptr) {
        for (; relabel != cycle->column->end() && *relabel < *p; relabel += 3) label = relabel[1];
      } else {
        label = d.edges;
      }
      d.ticks.push_back({stretch.times()[*p], static_cast<int64_t>(label), d.edges++});
      d.steps.push_back(*p);
    }
    was = is;
  }
  d.seen_by.resize(stretch.times().size());
  uint32_t n = 0;
  for (uint64_t step = 0; step < d.seen_by.size(); ++step) {
    if (n < d.steps.size() && d.steps[n] == step) ++n;
    d.seen_by[step] = n;
  }
}

/// Of the inputs that change in this stretch, their changes.
void Sampler::coming(Instance& i) {
  coming_.clear();
  for (Input& in : i.inputs) {
    const Stretch::Column& c = *slots_[in.slot].column;
    if (c.begin() != c.end()) coming_.push_back({c.begin(), in.now.get(), &in, nullptr});
  }
}

/// The change at hand of an input. Says whether the value is another one.
inline bool Sampler::take(Coming& c) {
  const uint64_t* v = c.at + 1;
  if (c.input->words == 1) {
    const bool other = ((c.now[0] ^ v[0]) | (c.now[1] ^ v[1])) != 0;
    c.now[0] = v[0];
    c.now[1] = v[1];
    c.at += 3;
    return other;
  }
  const size_t words = size_t{2} * c.input->words;
  const bool other = std::memcmp(c.now, v, 8 * words) != 0;
  std::memcpy(c.now, v, 8 * words);
  c.at += 1 + words;
  return other;
}

/// All changes at steps before this one.
inline void Sampler::take(Instance& i, uint64_t before) {
  bool changed = i.changed;
  for (Coming& c : coming_) {
    while (*c.at < before) changed |= take(c);
  }
  i.changed = changed;
  i.queued = i.queued || changed;
}

/// The same in order, with the events that changes are.
void Sampler::take_events(Instance& i, uint64_t before, const Stretch& stretch) {
  const Domain& d = domains_[i.domain];
  for (;;) {
    uint64_t step = before;
    for (const Coming& c : coming_) step = std::min(step, *c.at);
    if (step == before) return;
    const uint64_t time = stretch.times()[step];
    const size_t n = d.seen_by[step];
    const Tick& last = n == 0 ? d.last : d.ticks[n - 1];  // at this very time, or before it
    const bool counts = d.edges != d.ticks.size() - n && !i.in_reset && time >= i.from && time <= i.to;
    for (Coming& c : coming_) {
      if (*c.at != step) continue;
      const Bits value = c.input->bits(slots_[c.input->slot].width);
      const bool was_known = value.known();
      if (!take(c)) continue;
      i.changed = i.queued = true;
      if (!counts || !was_known || !value.known()) continue;
      for (const auto& key : c.input->watch) i.rule->event(key, {time, last.cycle, last.sample});
    }
  }
}

inline void Sampler::sample(Instance& i, const Tick& t) {
  if (i.changed)
    i.linger = i.settle;
  else if (i.linger != 0)
    --i.linger;
  i.changed = false;
  for (Expr* e : i.computed) e->sample();
  i.in_reset = i.reset && truth(i.reset->last()) != Truth::kFalse;
  bool more = false;
  if (t.time >= i.from && t.time <= i.to) {
    i.sampled = i.sampled || !i.in_reset;
    more = i.in_reset ? i.rule->reset(t) : i.rule->step(t);
  }
  i.queued = more || i.linger != 0 || t.time < i.from;
}

/// The samples of a stretch from one on, as rows of bits.
class Sampler::Run : public Samples {
 public:
  Run(const Domain& d, std::vector<Coming>& coming, size_t first)
      : domain_(d), coming_(coming), first_(first), count_(d.ticks.size() - first) {}
  size_t count() const override { return count_; }
  bool values(const Expr& signal, Row& out) override {
    const Bits& now = signal.last();
    const uint64_t before = now.v[0] & 1;
    uint64_t value = before, unknown = now.x[0];
    out.assign((count_ + 63) / 64, 0);
    each(signal, [&](size_t n, const uint64_t* v) {
      out[n / 64] ^= (v[0] ^ value) << n % 64;  // where it changes
      value = v[0];
      unknown |= v[1];
    });
    uint64_t fill = uint64_t{0} - before;
    for (uint64_t& w : out) {
      for (unsigned shift = 1; shift < 64; shift *= 2) w ^= w << shift;
      w ^= fill;
      fill = uint64_t{0} - (w >> 63);
    }
    return unknown == 0;
  }
  void changes(const Expr& signal, Row& out) override {
    each(signal, [&](size_t n, const uint64_t*) { out[n / 64] |= uint64_t{1} << n % 64; });
  }

 private:
  /// Calls fn(number of the first sample that sees it, value) for each change.
  template <class Fn>
  void each(const Expr& signal, const Fn& fn) {
    for (Coming& c : coming_) {
      if (c.now != signal.last().v) continue;
      const uint64_t last = domain_.steps.back();
      const size_t stride = 1 + size_t{2} * c.input->words;
      const uint64_t* p = c.at;
      for (; *p < last; p += stride) fn(domain_.seen_by[*p] - first_, p + 1);
      c.landed = p;
    }
  }

  const Domain& domain_;
  std::vector<Coming>& coming_;
  size_t first_, count_;
};

/// All samples of the stretch from one on at once, if the rule can do that. All before have been seen.
bool Sampler::leap(Instance& i, size_t first) {
  const Domain& d = domains_[i.domain];
  if (d.ticks[first].time < i.from || d.ticks.back().time > i.to) return false;
  if (std::any_of(coming_.begin(), coming_.end(),
                  [](const Coming& c) { return c.input->of_reset && *c.at != Stretch::kNever; }))
    return false;
  for (Coming& c : coming_) c.landed = c.at;
  Run run(d, coming_, first);
  if (!i.rule->leap(run)) return false;
  for (Coming& c : coming_) {
    const size_t words = size_t{2} * c.input->words;
    if (c.landed != c.at) std::copy_n(c.landed - words, words, c.now);
    c.at = c.landed;
  }
  i.sampled = true;
  i.queued = i.rule->landed();
  return true;
}

/// All steps of a rule at the edges of a stretch: those for which a signal has changed, and those that it waits for.
void Sampler::evaluate(Instance& i, const Stretch& stretch) {
  const Domain& d = domains_[i.domain];
  coming(i);
  if (coming_.empty() && !i.queued && i.news.empty()) return;
  const size_t edges = d.ticks.size();
  const Tick* const ticks = d.ticks.data();
  const uint64_t* const steps = d.steps.data();
  const uint32_t* const seen_by = d.seen_by.data();
  size_t told = 0;
  bool may_leap = i.leaps && i.news.empty();
  for (size_t n = 0;; ++n) {
    if (may_leap && !i.changed && !i.in_reset && n < edges) {
      may_leap = false;
      if (leap(i, n)) break;
    }
    if (!i.queued) {
      uint64_t step = Stretch::kNever;
      for (const Coming& c : coming_) step = std::min(step, *c.at);
      n = step != Stretch::kNever ? seen_by[step] : edges;
      if (told != i.news.size()) n = std::min<size_t>(n, i.news[told] - ticks[0].sample);
    }
    if (n >= edges) break;
    const Tick& t = ticks[n];
    i.watches ? take_events(i, steps[n], stretch) : take(i, steps[n]);
    if (told != i.news.size() && i.news[told] == t.sample) {
      ++told;
      i.rule->news(t);
      i.queued = true;
    }
    if (i.queued) sample(i, t);
  }
  i.watches ? take_events(i, Stretch::kNever, stretch) : take(i, Stretch::kNever);
  i.news.clear();
}

/// What a stretch has of the samples to be shown. True when more of them are to come.
bool Sampler::record(Instance& i) {
  const Domain& d = domains_[i.domain];
  coming(i);
  for (size_t n = 0; n < d.ticks.size(); ++n) {
    const Tick& t = d.ticks[n];
    if (t.sample > i.target + kAfter) return false;
    if (t.sample < i.first_shown()) continue;
    take(i, d.steps[n]);
    show(i, t);
  }
  take(i, Stretch::kNever);
  return true;
}

void Sampler::show(Instance& i, const Tick& t) {
  for (Expr* e : i.all) e->sample();
  if (t.sample + kBefore < i.target) return;
  Around& a = i.rule->verdict().around;
  if (a.rows.empty()) {
    for (const Input& in : i.inputs) a.rows.push_back({slots_[in.slot].name, {}, slots_[in.slot].width});
    for (const Expr* e : i.all) a.rows.push_back({e->text(), {}, e->last().width});
  }
  if (t.sample == i.target) a.marked = a.cycles.size();
  a.cycles.push_back(t.cycle);
  a.times.push_back(t.time);
  size_t r = 0;
  for (const Input& in : i.inputs) a.rows[r++].values.push_back(in.bits(slots_[in.slot].width).text());
  for (const Expr* e : i.all) a.rows[r++].values.push_back(e->last().text());
}

/// Checkpoints in distances that double when there are too many.
void Sampler::keep(const Mark& mark) {
  if (++stretches_ % distance_ != 0) return;
  Checkpoint c{mark, {}, {}};
  for (const Domain& d : domains_) c.edges.push_back(d.edges);
  for (const Slot& s : slots_) c.values.insert(c.values.end(), s.now.begin(), s.now.end());
  const size_t most = std::clamp<size_t>(kCheckpointWords / (c.values.size() + 1), 4, kMostCheckpoints);
  checkpoints_.push_back(std::move(c));
  if (checkpoints_.size() <= most) return;
  for (size_t n = 0; 2 * n < checkpoints_.size(); ++n) {
    if (n != 0) checkpoints_[n] = std::move(checkpoints_[2 * n]);
  }
  checkpoints_.resize((checkpoints_.size() + 1) / 2);
  distance_ *= 2;
}

}  // namespace rnic::wave::detail
