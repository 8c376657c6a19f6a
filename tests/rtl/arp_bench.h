// SPDX-License-Identifier: Apache-2.0
// Bench of the AllReduce engine, for arp_fsm and arp_engine: drives fragments, acknowledges and contexts, and has the
// reference model judge each of them in the cycle in which the RTL does, so that every outcome, event, counter and byte
// in memory has to be equal whatever the timing is.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "bench.h"
#include "rnic/collective/ports.h"
#include "rnic/golden/allreduce.h"

namespace rnic::test {

namespace arp = golden::arp;

using collective::from_rtl;
using collective::to_rtl;

/// The beats of a fragment; lanes behind the end hold `fill`.
inline std::vector<rtl::arp_beat_t> to_beats(const arp::Header& h, const arp::Bytes& data, bool bad = false,
                                             uint8_t fill = 0xa5) {
  std::vector<rtl::arp_beat_t> out;
  for (size_t at = 0; at < data.size(); at += 64) {
    rtl::arp_beat_t b;
    b.sop = at == 0;
    b.eop = at + 64 >= data.size();
    b.bad = b.eop && bad;
    b.bytes = static_cast<uint8_t>(std::min<size_t>(64, data.size() - at));
    if (b.sop) b.hdr = to_rtl(h);
    for (size_t i = 0; i < 64; ++i) {
      const uint8_t byte = at + i < data.size() ? data[at + i] : fill;
      b.data[i / 4] |= uint32_t{byte} << (i % 4 * 8);
    }
    out.push_back(b);
  }
  return out;
}

/// What the reference model gets for the beats that go in: one item for each frame.
class FrameSplitter {
 public:
  struct Item {
    arp::Header hdr;
    arp::Bytes data;
    bool damaged;
  };
  /// A beat is offered: a begin cuts off what has not ended.
  void offer(const rtl::arp_beat_t& b) {
    if (b.sop && inside_) {
      items.push_back({hdr_, {}, true});
      inside_ = false;
    }
  }
  void take(const rtl::arp_beat_t& b) {
    if (b.sop) {
      inside_ = true;
      stray_ = ragged_ = false;
      hdr_ = from_rtl(b.hdr);
      data_.clear();
    } else if (!inside_) {
      if (!stray_) items.push_back({{}, {}, true});
      stray_ = !b.eop;
      return;
    }
    ragged_ = ragged_ || (b.eop ? b.bytes == 0 || b.bytes > 64 : b.bytes != 64);
    for (unsigned i = 0; i < std::min<unsigned>(64, b.eop ? b.bytes : 64) && data_.size() < 70000; ++i) {
      data_.push_back(static_cast<uint8_t>(b.data[i / 4] >> (i % 4 * 8)));
    }
    if (b.eop) {
      items.push_back({hdr_, data_, b.bad || ragged_});
      inside_ = false;
    }
  }
  std::deque<Item> items;

 private:
  bool inside_ = false, stray_ = false, ragged_ = false;
  arp::Header hdr_;
  arp::Bytes data_;
};

/// Percentages of cycles in which an offer is made or taken.
struct ArpPace {
  unsigned frag = 100, ack = 100, evt = 100, wr = 100, wdata = 100;
};

struct ArpWrite {
  uint64_t addr;
  arp::Bytes data;
};

template <class Top>
class ArpBench : public Bench<Top> {
  using Base = Bench<Top>;

 public:
  using Base::chance;
  using Base::cycle;
  using Base::rng;
  using Base::settle;
  using Base::tick;
  using Base::top;

  explicit ArpBench(ArpPace pace = {}) : Base(test_seed()), pace(pace) {}
  virtual ~ArpBench() = default;

  // ---- What goes in ----
  void send(const arp::Header& h, const arp::Bytes& data, bool bad = false) {
    send(to_beats(h, data, bad, static_cast<uint8_t>(rng())));
  }
  void send(const std::vector<rtl::arp_beat_t>& beats) { frags_.insert(frags_.end(), beats.begin(), beats.end()); }
  void acknowledge(const arp::Ack& a) { acks_.push_back(a); }
  void configure(uint16_t group, const arp::Group& g) { cfgs_.emplace_back(group, g); }
  /// Flips a bit at the row's next write. Only while nothing is in flight: the model counts whole fragments.
  void inject(unsigned row, unsigned bit) {
    ASSERT_TRUE(top->idle_o);
    model.inject(row, bit);
    top->inject_row_i = static_cast<uint16_t>(row);
    top->inject_bit_i = static_cast<uint16_t>(bit);
    top->inject_valid_i = 1;
    step();
    top->inject_valid_i = 0;
  }

  // ---- Cycles ----
  void step() {
    // the NIC's clock stops when it is idle
    if (top->idle_o && !(splitter_.items.empty() && acks_taken_.empty() && !model.has_full() && !top->evt_valid_o)) {
      fail("idle with work inside");
    }
    drive_frag();
    drive_ack();
    drive_cfg();
    if (frag_offered_ && !cfg_offered_) splitter_.offer(frags_.front());
    top->evt_ready_i = chance(pace.evt);
    drive_memory();
    settle();
    const auto stat = rtl::sample<rtl::arp_stat_t>(top->stat_o);
    judge(stat);
    take_event();
    if (top->frag_valid_i && top->frag_ready_o) {
      splitter_.take(frags_.front());
      frag_at.push_back(cycle);
      frags_.pop_front();
      frag_offered_ = false;
    }
    if (top->ack_valid_i && top->ack_ready_o) {
      acks_taken_.push_back(acks_.front());
      acks_.pop_front();
      ack_offered_ = false;
    }
    if (top->cfg_valid_i && top->cfg_ready_o) {
      EXPECT_TRUE(splitter_.items.empty()) << "a context taken with fragments in flight";
      EXPECT_TRUE(acks_taken_.empty());
      EXPECT_FALSE(model.has_full());
      model.write_group(cfgs_.front().first, cfgs_.front().second);
      cfg_at.push_back(cycle);
      cfgs_.pop_front();
      cfg_offered_ = false;
    }
    take_memory();
    collect(model.events());
    tick();
  }
  /// Until all that was given is done; false: it hangs.
  bool drain(uint64_t limit = 400000) {
    const uint64_t end = cycle + limit;
    while (!frags_.empty() || !acks_.empty() || !cfgs_.empty() || !later_.empty() || !top->idle_o) {
      if (cycle == end || ::testing::Test::HasFatalFailure() || failures_ > 20) return false;
      step();
    }
    for (int i = 0; i < 3; ++i) step();
    return top->idle_o;
  }
  /// Runs dry, and compares all that is compared at the end.
  void finish() {
    ASSERT_TRUE(drain()) << "hang; seed " << test_seed() << " at " << cycle;
    check_end();
    ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << test_seed();
  }
  void check_end() {
    const auto& c = model.counters();
    const std::pair<uint64_t, uint64_t> pairs[] = {{n.frag, c.frag},
                                                   {n.beat, c.beat},
                                                   {n.first, c.first},
                                                   {n.full, c.full},
                                                   {n.written, c.written},
                                                   {n.acked, c.acked},
                                                   {n.parity, c.parity},
                                                   {n.duplicate, c.duplicate},
                                                   {n.late, c.late},
                                                   {n.no_slot, c.no_slot},
                                                   {n.bad_group, c.bad_group},
                                                   {n.bad_type, c.bad_type},
                                                   {n.bad_offset, c.bad_offset},
                                                   {n.bad_length, c.bad_length},
                                                   {n.bad_rank, c.bad_rank},
                                                   {n.damaged, c.damaged},
                                                   {n.bad_ack, c.bad_ack},
                                                   {n.bad_context, c.bad_context}};
    for (size_t i = 0; i < std::size(pairs); ++i) EXPECT_EQ(pairs[i].first, pairs[i].second) << "counter " << i;
    EXPECT_EQ(top->slots_used_o, model.slots_used());
    EXPECT_EQ(top->slots_done_o, model.slots_done());
    size_t missing = 0;
    for (const auto& q : expected_) missing += q.size();
    EXPECT_EQ(skipped_ + missing, lost_events) << "events";
    EXPECT_TRUE(writes_empty()) << "writes that nobody has asked for";
  }

  /// Acknowledges each slot's end after up to `most` cycles.
  void auto_ack(unsigned most = 20) { auto_ack_ = most; }
  void no_auto_ack() { auto_ack_ = -1; }
  size_t frags_left() const { return frags_.size(); }

  ArpPace pace;
  arp::AllReduce model;
  arp::Counters n;  ///< pulses seen
  uint64_t stall_hazard = 0, stall_read = 0, stall_drain = 0, lost_events = 0;
  std::vector<uint64_t> frag_at;  ///< cycles of beats taken
  std::vector<uint64_t> beat_at;  ///< cycles of beats accumulated
  std::vector<uint64_t> cfg_at, end_at;
  std::vector<arp::Result> results;  ///< ends of slots
  std::vector<arp::Event> seen;      ///< events
  std::vector<arp::Kind> verdicts;   ///< on frames, in order
  bool keep_results = true;

 protected:
  // ---- The side of memory: where writes go, and come from ----
  virtual void drive_memory() = 0;
  virtual void take_memory() = 0;
  /// Everything that was written for the slot whose end is told now.
  virtual std::vector<ArpWrite> written(const arp::Result& r) = 0;
  virtual bool writes_empty() const = 0;

 private:
  void drive_frag() {
    if (!frag_offered_ && !frags_.empty() && chance(pace.frag)) {
      frag_offered_ = true;
      rtl::drive(top->frag_i, frags_.front());
    }
    top->frag_valid_i = frag_offered_;
  }
  void drive_ack() {
    while (!later_.empty() && later_.begin()->first <= cycle) {
      acks_.push_back(later_.begin()->second);
      later_.erase(later_.begin());
    }
    if (!ack_offered_ && !acks_.empty() && chance(pace.ack)) {
      ack_offered_ = true;
      rtl::arp_ack_t a;
      a.group = acks_.front().group;
      a.step = acks_.front().step;
      a.chunk = acks_.front().chunk;
      a.offset = acks_.front().offset;
      rtl::drive(top->ack_i, a);
    }
    top->ack_valid_i = ack_offered_;
  }
  void drive_cfg() {
    if (!cfg_offered_ && !cfgs_.empty()) {
      cfg_offered_ = true;
      top->cfg_group_i = cfgs_.front().first;
      rtl::drive(top->cfg_i, to_rtl(cfgs_.front().second));
    }
    top->cfg_valid_i = cfg_offered_;
  }

  void judge(const rtl::arp_stat_t& s) {
    n.frag += s.frag;
    n.beat += s.beat;
    n.first += s.first;
    n.full += s.full;
    n.written += s.written;
    n.acked += s.acked;
    n.parity += s.parity;
    n.duplicate += s.duplicate;
    n.late += s.late;
    n.no_slot += s.no_slot;
    n.bad_group += s.bad_group;
    n.bad_type += s.bad_type;
    n.bad_offset += s.bad_offset;
    n.bad_length += s.bad_length;
    n.bad_rank += s.bad_rank;
    n.damaged += s.damaged;
    n.bad_ack += s.bad_ack;
    n.bad_context += s.bad_context;
    stall_hazard += s.stall_hazard;
    stall_read += s.stall_read;
    stall_drain += s.stall_drain;
    lost_events += s.evt_lost;
    if (s.beat) beat_at.push_back(cycle);

    using K = arp::Kind;
    const std::pair<bool, K> kinds[] = {
        {s.frag, K::kAccepted},        {s.duplicate, K::kDuplicate},  {s.late, K::kLate},
        {s.no_slot, K::kNoSlot},       {s.bad_group, K::kBadGroup},   {s.bad_type, K::kBadType},
        {s.bad_offset, K::kBadOffset}, {s.bad_length, K::kBadLength}, {s.bad_rank, K::kBadRank},
        {s.damaged, K::kDamaged}};
    std::optional<K> verdict;
    for (const auto& [pulse, kind] : kinds) {
      if (!pulse) continue;
      if (verdict) fail("two verdicts in a cycle");
      verdict = kind;
    }
    if (verdict) {
      if (splitter_.items.empty()) return fail("verdict on a fragment that did not come");
      const auto& f = splitter_.items.front();
      const auto before = model.counters();
      const K want = model.fragment(f.hdr, f.data, f.damaged);
      if (want != *verdict) {
        fail("fragment: reference " + std::to_string(static_cast<int>(want)) + ", here " +
             std::to_string(static_cast<int>(*verdict)) + ", group " + std::to_string(f.hdr.group) + " offset " +
             std::to_string(f.hdr.offset) + " len " + std::to_string(f.hdr.len));
      }
      if (s.first != (model.counters().first != before.first)) fail("first contribution");
      if (s.full != (model.counters().full != before.full)) fail("last contribution");
      verdicts.push_back(*verdict);
      splitter_.items.pop_front();
    } else if (s.first || s.full) {
      fail("pulse without a fragment");
    }
    if (s.acked || s.bad_ack) {
      if (acks_taken_.empty()) return fail("verdict on an acknowledge that did not come");
      if ((model.acknowledge(acks_taken_.front()) == K::kAccepted) != s.acked) fail("acknowledge");
      acks_taken_.pop_front();
    }
    if (s.written || s.parity) end_of_slot(s.parity);
  }

  void end_of_slot(bool lost) {
    auto r = model.drain();
    if (!r) return fail("end of a slot that is not full");
    if (r->written == lost) fail(lost ? "result lost" : "damaged result written");
    const auto w = written(*r);
    if (!lost) {
      uint64_t at = r->addr;
      size_t done = 0;
      for (const ArpWrite& x : w) {
        if (x.addr != at) fail("address of a result");
        if (done + x.data.size() > r->data.size() ||
            !std::equal(x.data.begin(), x.data.end(), r->data.begin() + static_cast<std::ptrdiff_t>(done))) {
          const auto& g = model.group(r->hdr.group);
          fail("bytes of a result: group " + std::to_string(r->hdr.group) + " type " + std::to_string(g.dtype) +
               " op " + std::to_string(g.op) + " step " + std::to_string(r->hdr.step) + " offset " +
               std::to_string(r->hdr.offset));
        }
        at += x.data.size();
        done += x.data.size();
      }
      if (done != r->data.size()) fail("length of a result");
    } else if (!w.empty()) {
      fail("damaged result in memory");
    }
    end_at.push_back(cycle);
    if (auto_ack_ >= 0) {
      later_.emplace(cycle + rng() % (static_cast<unsigned>(auto_ack_) + 1),
                     arp::Ack{r->hdr.group, r->hdr.step, r->hdr.chunk, r->hdr.offset});
    }
    if (keep_results) results.push_back(std::move(*r));
  }

  static size_t source(arp::Kind k) {
    switch (k) {
      case arp::Kind::kWritten:
      case arp::Kind::kParity:
        return 0;
      case arp::Kind::kBadAck:
        return 1;
      case arp::Kind::kBadContext:
        return 2;
      default:
        return 3;
    }
  }
  void collect(std::vector<arp::Event>& events) {
    for (const arp::Event& e : events) expected_[source(e.kind)].push_back(e);
    events.clear();
  }
  /// Events of one source keep their order; one that is missing was lost.
  void take_event() {
    collect(model.events());
    if (!(top->evt_valid_o && top->evt_ready_i)) return;
    const auto e = rtl::sample<rtl::arp_evt_t>(top->evt_o);
    const arp::Event got{static_cast<arp::Kind>(e.kind), from_rtl(e.hdr)};
    auto& q = expected_[source(got.kind)];
    while (!q.empty() && !(q.front() == got)) {
      q.pop_front();
      ++skipped_;
    }
    if (q.empty()) return fail("event " + std::to_string(e.kind) + " that the reference does not have");
    q.pop_front();
    seen.push_back(got);
  }

  void fail(const std::string& what) {
    if (++failures_ <= 20) ADD_FAILURE() << what << "; cycle " << cycle << ", seed " << test_seed();
  }

  std::deque<rtl::arp_beat_t> frags_;
  std::deque<arp::Ack> acks_, acks_taken_;
  std::multimap<uint64_t, arp::Ack> later_;
  std::deque<std::pair<uint16_t, arp::Group>> cfgs_;
  FrameSplitter splitter_;
  bool frag_offered_ = false, ack_offered_ = false, cfg_offered_ = false;
  int auto_ack_ = -1;
  std::deque<arp::Event> expected_[4];
  uint64_t skipped_ = 0;
  unsigned failures_ = 0;
};

// ---- Traffic ----

/// Elements that make sums worth looking at: of similar size mostly, anything now and then.
inline arp::Bytes random_elements(std::mt19937_64& rng, uint8_t dtype, size_t bytes) {
  arp::Bytes out(bytes);
  const unsigned size = arp::element_size(dtype);
  for (size_t at = 0; at < bytes; at += size) {
    uint64_t v = rng();
    if (rng() % 16 != 0) {
      switch (static_cast<arp::Type>(dtype)) {
        case arp::Type::kFp16:
        case arp::Type::kFp16Acc32:
          v = (v & 0x83ff) | (12 + rng() % 6) << 10;
          break;
        case arp::Type::kBf16:
        case arp::Type::kBf16Acc32:
          v = (v & 0x807f) | (124 + rng() % 6) << 7;
          break;
        case arp::Type::kFp32:
          v = (v & 0x807fffff) | (120 + rng() % 12) << 23;
          break;
        default:
          break;
      }
    }
    for (unsigned i = 0; i < size && at + i < bytes; ++i) out[at + i] = static_cast<uint8_t>(v >> (8 * i));
  }
  return out;
}

inline uint64_t fragments_of(const arp::Group& g) { return ((uint64_t{g.length} - 1) >> g.log_frag) + 1; }

/// Header of fragment f of the vector.
inline arp::Header fragment_header(uint16_t group, const arp::Group& g, uint16_t step, uint64_t f, unsigned rank) {
  const uint64_t byte = f << g.log_frag;
  arp::Header h;
  h.group = group;
  h.step = step;
  h.chunk = static_cast<uint16_t>(byte >> g.log_chunk);
  h.offset = static_cast<uint32_t>(byte & ((uint64_t{1} << g.log_chunk) - 1));
  h.rank = static_cast<uint8_t>(rank);
  h.dtype = g.dtype;
  h.op = g.op;
  h.len = static_cast<uint16_t>(std::min<uint64_t>(uint64_t{1} << g.log_frag, g.length - byte));
  return h;
}

inline std::vector<unsigned> ranks_of(uint64_t members) {
  std::vector<unsigned> out;
  for (unsigned r = 0; r < 64; ++r)
    if (members >> r & 1) out.push_back(r);
  return out;
}

/// `count` different ranks.
inline uint64_t random_members(std::mt19937_64& rng, unsigned count) {
  uint64_t m = 0;
  while (static_cast<unsigned>(__builtin_popcountll(m)) < count) m |= uint64_t{1} << (rng() % 64);
  return m;
}

enum class Order { kByRank, kRandom, kBySlot, kSkewed };
inline constexpr Order kOrders[] = {Order::kByRank, Order::kRandom, Order::kBySlot, Order::kSkewed};

/// Contributions of all ranks to fragments [from, to): (fragment, rank).
inline std::vector<std::pair<uint64_t, unsigned>> contributions(std::mt19937_64& rng, const arp::Group& g, Order order,
                                                                uint64_t from, uint64_t to) {
  std::vector<std::pair<uint64_t, unsigned>> out;
  const auto ranks = ranks_of(g.members);
  const uint64_t count = to - from;
  switch (order) {
    case Order::kByRank:  // one rank after the other
    case Order::kRandom:
      for (unsigned r : ranks)
        for (uint64_t f = from; f < to; ++f) out.emplace_back(f, r);
      if (order == Order::kRandom) std::shuffle(out.begin(), out.end(), rng);
      break;
    case Order::kBySlot:  // all ranks back to back on the same accumulators
      for (uint64_t f = from; f < to; ++f)
        for (unsigned r : ranks) out.emplace_back(f, r);
      break;
    case Order::kSkewed:  // rank k begins at fragment k
      for (uint64_t f = from; f < to; ++f)
        for (size_t k = 0; k < ranks.size(); ++k) out.emplace_back(from + (f - from + k) % count, ranks[k]);
      break;
  }
  return out;
}

/// One whole reduction: lap after lap of the group's slots, each when the one before has been acknowledged.
template <class B>
void reduce(B& b, uint16_t group, const arp::Group& g, uint16_t step, Order order) {
  const uint64_t slots = uint64_t{1} << g.log_slots, frags = fragments_of(g);
  for (uint64_t from = 0; from < frags; from += slots) {
    for (const auto& [f, r] : contributions(b.rng, g, order, from, std::min(frags, from + slots))) {
      const auto h = fragment_header(group, g, step, f, r);
      b.send(h, random_elements(b.rng, g.dtype, h.len));
    }
    ASSERT_TRUE(b.drain()) << "hang at " << b.cycle << "; seed " << test_seed();
  }
}

}  // namespace rnic::test
