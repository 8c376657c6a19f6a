// SPDX-License-Identifier: Apache-2.0
#include "sampler.h"

#include <algorithm>
#include <set>

namespace rnic::wave::detail {
namespace {

/// The lowest bit: 0, 1, or 2 for unknown.
unsigned bit(const uint64_t* p, uint32_t words) { return p[words] & 1 ? 2 : static_cast<unsigned>(p[0] & 1); }

}  // namespace

void pack(const char* bits, uint32_t width, uint64_t* v, uint64_t* x) {
  constexpr bool kLittle = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
  const char* end = bits + width;
  for (uint32_t w = 0; 64 * w < width; ++w) {
    const uint32_t count = std::min<uint32_t>(64, width - 64 * w);
    uint64_t ones = 0, unknown = 0;
    const char* p = end - count;
    while (p != end) {
      // Eight digits at once where all are 0 or 1: the product brings their lowest bits together in its top byte.
      uint64_t eight = 0;
      if (kLittle && end - p >= 8) std::memcpy(&eight, p, 8);
      if ((eight & 0xfefe'fefe'fefe'fefe) == 0x3030'3030'3030'3030) {
        ones = ones << 8 | ((eight & 0x0101'0101'0101'0101) * 0x8040'2010'0804'0201) >> 56;
        unknown <<= 8;
        p += 8;
      } else {
        const char c = *p++;
        ones = ones << 1 | static_cast<uint64_t>(c == '1' || c == 'z');
        unknown = unknown << 1 | static_cast<uint64_t>(c != '0' && c != '1');
      }
    }
    end -= count;
    v[w] = ones;
    x[w] = unknown;
  }
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
  auto x = std::make_unique<Slot>();
  x->id = s.id;
  x->width = s.width;
  x->words = (s.width + 63) / 64;
  x->name = s.name;
  for (auto* p : {&x->now, &x->next}) {
    p->reset(new uint64_t[2 * x->words]());
    for (uint32_t w = 0; w < x->words; ++w) {
      (*p)[x->words + w] = w + 1 == x->words && s.width % 64 != 0 ? (uint64_t{1} << s.width % 64) - 1 : ~uint64_t{0};
    }
  }
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
  slots_[clock]->domains.push_back(domains_.size() - 1);
  return domains_.size() - 1;
}

Instance& Sampler::add(std::unique_ptr<Instance> owned, const std::vector<uint32_t>& used) {
  Instance& i = *owned;
  std::set<uint32_t> seen;
  for (const uint32_t u : used) {
    if (!seen.insert(u).second) continue;
    i.slots.push_back(u);
    slots_[u]->users.push_back(&i);
  }
  for (const Expr* e : i.all) i.settle = std::max(i.settle, e->settle());
  instances_.push_back(std::move(owned));
  return i;
}

uint64_t Sampler::run() {
  for (const auto& i : instances_) wake(*i);
  for (const auto& s : slots_) ids_.push_back(s->id);
  end_ = pass(~uint64_t{0});
  for (const auto& i : instances_) i->rule->finish(end_of(*i));
  return end_;
}

uint64_t Sampler::average_period() const {
  uint64_t period = 1;
  for (const auto& d : domains_) {
    if (d.edges != 0) period = std::max(period, d.last_time / d.edges);
  }
  return period;
}

Tick Sampler::end_of(const Instance& i) const {
  const Domain& d = domains_[i.domain];
  return {end_, d.label, d.edges == 0 ? 0 : d.edges - 1};
}

void Sampler::record(const std::vector<size_t>& which, uint64_t to) {
  recording_ = true;
  std::set<uint32_t> needed;
  for (const size_t n : which) {
    Instance& i = *instances_[n];
    Domain& d = domains_[i.domain];
    d.recording.push_back(&i);
    needed.insert(i.slots.begin(), i.slots.end());
    needed.insert(d.clock);
    if (d.cycle) needed.insert(*d.cycle);
  }
  ids_.clear();
  for (const uint32_t n : needed) ids_.push_back(slots_[n]->id);
  pass(to);
}

uint64_t Sampler::pass(uint64_t to) {
  struct Sink : Visitor {
    explicit Sink(Sampler& s) : sampler(s) {}
    void on_change(uint32_t id, uint64_t time, const char* bits, uint32_t width) override {
      sampler.change(id, time, bits, width);
    }
    Sampler& sampler;
  } sink(*this);
  const uint64_t end = wave_.read(ids_, 0, to, sink);
  flush();
  return end;
}

void Sampler::change(uint32_t id, uint64_t time, const char* bits, uint32_t width) {
  if (time != time_) {
    flush();
    time_ = time;
  }
  const uint32_t n = slot_of_id_[id];
  if (n == kNone) return;
  Slot& s = *slots_[n];
  if (!s.pending) {
    s.pending = true;
    dirty_.push_back(n);
  }
  uint64_t* v = s.next.get();
  uint64_t* x = v + s.words;
  pack(bits, width, v, x);
  if (!seen_unknown_) {
    for (uint32_t w = 0; w < s.words; ++w) seen_unknown_ = seen_unknown_ || x[w] != 0;
  }
}

/// All changes of a time stamp are known: edges sample what was before them, then the values move on.
void Sampler::flush() {
  for (const uint32_t n : dirty_) {
    Slot& s = *slots_[n];
    if (s.domains.empty()) continue;
    const unsigned was = bit(s.now.get(), s.words), is = bit(s.next.get(), s.words);
    for (const size_t d : s.domains) {
      if ((was == 0 && is == 1 && domains_[d].rising) || (was == 1 && is == 0 && domains_[d].falling))
        edge(domains_[d]);
    }
  }
  for (const uint32_t n : dirty_) {
    Slot& s = *slots_[n];
    s.pending = false;
    const size_t size = size_t{16} * s.words;
    if (s.words == 1 ? s.now[0] == s.next[0] && s.now[1] == s.next[1]
                     : std::memcmp(s.now.get(), s.next.get(), size) == 0) {
      continue;
    }
    const bool event =
        !s.watchers.empty() && s.bits().known() && Bits{s.next.get(), s.next.get() + s.words, s.width}.known();
    if (s.words == 1) {
      s.now[0] = s.next[0];
      s.now[1] = s.next[1];
    } else {
      std::memcpy(s.now.get(), s.next.get(), size);
    }
    for (Instance* i : s.users) {
      i->changed = true;
      wake(*i);
    }
    if (!event || recording_) continue;
    for (const auto& [i, key] : s.watchers) {
      const Domain& d = domains_[i->domain];
      if (d.edges == 0 || i->in_reset || time_ < i->from || time_ > i->to) continue;
      i->rule->event(key, {time_, d.label, d.edges - 1});
      wake(*i);
    }
  }
  dirty_.clear();
}

void Sampler::wake(Instance& i) {
  if (i.queued || recording_) return;
  i.queued = true;
  domains_[i.domain].queue.push_back(&i);
}

void Sampler::edge(Domain& d) {
  d.label = d.cycle ? static_cast<int64_t>(slots_[*d.cycle]->now[0]) : static_cast<int64_t>(d.edges);
  const Tick t{time_, d.label, d.edges++};
  d.last_time = time_;
  if (recording_) {
    for (Instance* i : d.recording) show(*i, t);
    return;
  }
  for (Feed* f : d.feeds) f->advance(t);
  d.work.swap(d.queue);
  for (Instance* i : d.work) {
    i->queued = false;
    if (i->changed)
      i->linger = i->settle;
    else if (i->linger != 0)
      --i->linger;
    i->changed = false;
    for (Expr* e : i->all) e->sample();
    i->in_reset = i->reset && truth(i->reset->last()) != Truth::kFalse;
    bool more = false;
    if (t.time >= i->from && t.time <= i->to) {
      i->sampled = i->sampled || !i->in_reset;
      more = i->in_reset ? i->rule->reset(t) : i->rule->step(t);
    }
    if (more || i->linger != 0 || t.time < i->from) wake(*i);
  }
  d.work.clear();
}

void Sampler::show(Instance& i, const Tick& t) {
  Around& a = i.rule->verdict().around;
  if (t.sample > i.target + kAfter || t.sample + kBefore + i.settle + 1 < i.target) return;
  for (Expr* e : i.all) e->sample();
  if (t.sample + kBefore < i.target) return;
  if (a.rows.empty()) {
    for (const uint32_t s : i.slots) a.rows.push_back({slots_[s]->name, {}, slots_[s]->width});
    for (const Expr* e : i.all) a.rows.push_back({e->text(), {}, e->last().width});
  }
  if (t.sample == i.target) a.marked = a.cycles.size();
  a.cycles.push_back(t.cycle);
  a.times.push_back(t.time);
  size_t r = 0;
  for (const uint32_t s : i.slots) a.rows[r++].values.push_back(slots_[s]->bits().text());
  for (const Expr* e : i.all) a.rows[r++].values.push_back(e->last().text());
}

}  // namespace rnic::wave::detail
