// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "Vsq_prefetch.h"
#include "rtl/bench.h"
#include "support/latency.h"

namespace rnic::test {
namespace {

namespace pkg = rtl::rnic_pkg;

constexpr unsigned kEntries = 4;  // as built
constexpr unsigned kBlocks = 32;  // of an entry
using Block = std::array<uint32_t, 16>;

/// What software and the fetch engine know of a QP.
struct Queue {
  uint64_t base = 0;
  unsigned log_size = 6;
  uint16_t ci = 0, pi = 0;
  bool up = false;              ///< There was a doorbell since the context was set up.
  bool rung = false;            ///< The scheduler will hand it out again.
  bool busy = false;            ///< A lookup is under way.
  bool forgotten = false;       ///< Cleared during that lookup: its answer counts for nothing.
  std::deque<unsigned> sizes;   ///< Blocks of each WQE from ci on, as the test means them.
  std::deque<unsigned> spoilt;  ///< Of each: one of its blocks can't be read.
};

/// Software that posts, a scheduler and fetch engine that look up, and host memory. Memory at and behind the producer
/// index holds what is never to be seen.
class PrefetchBench : public Bench<Vsq_prefetch> {
 public:
  explicit PrefetchBench(uint64_t seed = test_seed()) : Bench(seed) {
    top->pf_req_valid_i = top->pf_rsp_ready_i = top->ring_ready_i = top->rd_ready_i = top->pay_valid_i = top->clear_i =
        0;
    settle();
  }

  // ---- Settings -----------------------------------------------------------------------------------------------------
  unsigned req_pct = 100, rsp_pct = 100, ring_pct = 100, rd_pct = 100, pay_pct = 100;
  unsigned latency = 100, jitter = 0;
  unsigned ring_delay = 0;  ///< Cycles from a ring to the QP's lookup.
  bool early = false;       ///< Memory always answers with what it held at the request.
  bool keep = false;        ///< Software does not write again what has been consumed.
  unsigned turn = 0;        ///< Cycles from a QP's answer to its next lookup.
  unsigned skip_pct = 0;    ///< WQEs that come by BlueFlame: no lookup.
  unsigned stale_pct = 0;   ///< Lookups with a producer index that is not the newest.
  std::map<uint16_t, Queue> queues;

  // ---- Results ------------------------------------------------------------------------------------------------------
  unsigned lookups = 0, hits = 0, misses = 0, errors = 0, reads = 0, blocks_read = 0, rings = 0, idle_rings = 0;
  std::vector<unsigned> read_sizes;
  std::vector<uint16_t> order;  ///< QPs of the hits
  uint64_t first_read = 0, first_answer = 0, first_ring = 0, last_beat = 0, first_lookup = 0;

  Queue& open(uint16_t qpn, unsigned log_size, uint16_t index) {
    Queue& q = queues[qpn];
    const bool busy = q.busy;
    q = Queue();
    q.busy = busy;
    q.base = (rng() >> 8) & ~uint64_t{0xFFFFF} & ~uint64_t{63};
    q.base += (uint64_t{qpn} << 24) + (rng() % 64) * 64;
    q.log_size = log_size;
    q.ci = q.pi = index;
    for (unsigned i = 0; i < 1u << log_size; ++i) fill(q, static_cast<uint16_t>(index + i));
    return q;
  }

  unsigned free_blocks(const Queue& q) const { return (1u << q.log_size) - static_cast<uint16_t>(q.pi - q.ci); }

  /// Writes a WQE of `blocks` blocks and rings the doorbell.
  void post(uint16_t qpn, unsigned blocks, bool spoil = false, bool ring = true) {
    Queue& q = queues[qpn];
    const unsigned bad = spoil ? static_cast<unsigned>(rng() % blocks) : ~0u;
    for (unsigned i = 0; i < blocks; ++i) {
      const auto index = static_cast<uint16_t>(q.pi + i);
      fill(q, index);
      Block& b = memory_[address(q, index)];
      if (i == 0) b[1] = (b[1] & 0xFFFFFF) | static_cast<uint32_t>(4 * blocks - rng() % 4) << 24;  // ds
      posted_[address(q, index)] = b;
      if (i == bad) spoilt_.insert(address(q, index));
    }
    q.sizes.push_back(blocks);
    q.spoilt.push_back(spoil);
    q.pi = static_cast<uint16_t>(q.pi + blocks);
    if (ring) doorbell(qpn);
  }
  /// The QP's first WQE goes another way.
  void pass_over(uint16_t qpn) { retire(queues[qpn]); }
  /// Software goes back to its last `n` WQEs, of one block each.
  void go_back(uint16_t qpn, unsigned n) {
    Queue& q = queues[qpn];
    q.ci = static_cast<uint16_t>(q.ci - n);
    q.sizes.insert(q.sizes.begin(), n, 1);
    q.spoilt.insert(q.spoilt.begin(), n, 0);
    doorbell(qpn);
  }
  void doorbell(uint16_t qpn) {
    queues[qpn].up = true;
    schedule(qpn, 0);
  }

  /// CmdQpModify, with the same ring or another, unless a lookup of the QP is just offered.
  bool set_up_anew(uint16_t qpn, bool same_ring, unsigned back) {
    if (asked_ && asked_->qpn == qpn) return false;
    top->clear_i = 1;
    top->clear_qpn_i = qpn;
    const Queue old = queues[qpn];
    const bool asked =
        std::any_of(under_way_.begin(), under_way_.end(), [qpn](const Lookup& l) { return l.qpn == qpn; });
    Queue& q = open(qpn, old.log_size, same_ring ? static_cast<uint16_t>(old.ci - back) : static_cast<uint16_t>(rng()));
    q.forgotten = asked;
    if (!same_ring) return true;
    q.base = old.base;
    for (unsigned i = 0; i < 1u << q.log_size; ++i) fill(q, static_cast<uint16_t>(i));
    return true;
  }

  // ---- One cycle ----------------------------------------------------------------------------------------------------
  void step() {
    if (!asked_ && !due_.empty() && due_.begin()->first <= cycle && chance(req_pct)) ask();
    top->pf_req_valid_i = asked_.has_value();
    top->pf_rsp_ready_i = chance(rsp_pct);
    top->ring_ready_i = chance(ring_pct);
    top->rd_ready_i = chance(rd_pct);
    offer_payload();
    settle();
    if (top->pf_req_valid_i && top->pf_req_ready_o) {
      if (first_lookup == 0) first_lookup = cycle;
      under_way_.push_back(*asked_);
      asked_.reset();
      ++lookups;
    }
    if (top->rd_valid_o && first_read == 0) first_read = cycle;
    if (top->rd_valid_o && top->rd_ready_i) take_read();
    if (top->pay_valid_i && top->pay_ready_o) {
      paying_ = false;
      if (payload_.front().last) last_beat = cycle;
      payload_.pop_front();
    }
    if (top->ring_valid_o && first_ring == 0) first_ring = cycle;
    if (top->ring_valid_o && top->ring_ready_i) {
      ++rings;
      const auto qpn = static_cast<uint16_t>(top->ring_qpn_o);
      if (!queues.count(qpn) || !queues[qpn].up || queues[qpn].ci == queues[qpn].pi) {
        ++idle_rings;
      } else {
        schedule(qpn, ring_delay);
      }
    }
    if (top->pf_rsp_valid_o && first_answer == 0) first_answer = cycle;
    if (top->pf_rsp_valid_o && top->pf_rsp_ready_i) answer();
    EXPECT_FALSE(top->idle_o && !(reads_.empty() && payload_.empty()));
    tick();
    top->clear_i = 0;
  }

  bool done() const {
    for (const auto& [qpn, q] : queues) {
      if (q.busy || q.rung || (q.up && q.ci != q.pi)) return false;
    }
    return !asked_;
  }

  void run(unsigned limit = 200000) {
    for (unsigned i = 0; i < limit && !done(); ++i) {
      step();
      if (::testing::Test::HasFailure()) return;
    }
    for (const auto& [qpn, q] : queues) {
      EXPECT_TRUE(!q.up || q.ci == q.pi) << "QP " << qpn << " stands at " << q.ci << " of " << q.pi << ", seed "
                                         << test_seed();
    }
    settle_down();
  }

  /// Until nothing is inside.
  void settle_down(unsigned limit = 50000) {
    for (unsigned i = 0; i < limit && !(top->idle_o && done()); ++i) step();
    EXPECT_TRUE(top->idle_o);
    EXPECT_TRUE(payload_.empty());
    EXPECT_TRUE(under_way_.empty());
  }

 private:
  struct Lookup {
    uint16_t qpn, idx, pi;
  };

  static uint64_t address(const Queue& q, uint16_t index) {
    return q.base + uint64_t{index & ((1u << q.log_size) - 1)} * 64;
  }

  void fill(const Queue& q, uint16_t index) {
    Block& b = memory_[address(q, index)];
    for (auto& w : b) w = static_cast<uint32_t>(rng());
    posted_.erase(address(q, index));
    spoilt_.erase(address(q, index));
  }

  void schedule(uint16_t qpn, unsigned delay) {
    Queue& q = queues[qpn];
    if (q.rung) return;
    q.rung = true;
    if (!q.busy) enqueue(qpn, delay);
  }
  void enqueue(uint16_t qpn, unsigned delay) {
    queues[qpn].rung = false;
    queues[qpn].busy = true;
    due_.emplace(cycle + delay, qpn);
  }
  void release(uint16_t qpn) {
    Queue& q = queues[qpn];
    q.busy = q.forgotten = false;
    if (q.rung) enqueue(qpn, turn);
  }

  /// The turn of the next QP: offers its lookup, or ends the turn when it has nothing to look up.
  void ask() {
    const uint16_t qpn = due_.begin()->second;
    due_.erase(due_.begin());
    Queue& q = queues[qpn];
    while (q.up && q.ci != q.pi && chance(skip_pct)) retire(q);
    if (!q.up || q.ci == q.pi) {
      release(qpn);
      return;
    }
    // An older index counts from some WQE's end.
    uint16_t pi = q.pi;
    if (chance(stale_pct)) {
      pi = q.ci;
      const size_t n = 1 + rng() % q.sizes.size();
      for (size_t i = 0; i < n; ++i) pi = static_cast<uint16_t>(pi + q.sizes[i]);
    }
    q.forgotten = false;
    asked_ = Lookup{qpn, q.ci, pi};
    top->pf_req_qpn_i = qpn;
    top->pf_req_idx_i = q.ci;
    top->pf_req_pi_i = pi;
    top->pf_req_base_i = q.base;
    top->pf_req_log_size_i = static_cast<uint8_t>(q.log_size);
  }

  /// The QP's first WQE has been consumed: software may write its blocks anew.
  void retire(Queue& q) {
    for (unsigned i = 0; i < q.sizes.front() && !keep; ++i) fill(q, static_cast<uint16_t>(q.ci + i));
    q.ci = static_cast<uint16_t>(q.ci + q.sizes.front());
    q.sizes.pop_front();
    q.spoilt.pop_front();
  }

  void answer() {
    ASSERT_FALSE(under_way_.empty());
    const Lookup l = under_way_.front();
    under_way_.pop_front();
    Queue& q = queues[l.qpn];
    if (q.forgotten) {
      release(l.qpn);
      return;
    }
    if (!top->pf_rsp_hit_o) {
      ++misses;
      release(l.qpn);
      return;
    }
    ++hits;
    order.push_back(l.qpn);
    ASSERT_EQ(l.idx, q.ci);
    const bool spoilt = q.spoilt.front();
    ASSERT_EQ(top->pf_rsp_status_o, spoilt ? pkg::DmaUr : pkg::DmaOk)
        << "QP " << l.qpn << " WQE " << l.idx << ", seed " << test_seed();
    errors += spoilt;
    if (!spoilt) {
      for (unsigned i = 0; i < q.sizes.front(); ++i) {
        const auto it = posted_.find(address(q, static_cast<uint16_t>(q.ci + i)));
        ASSERT_NE(it, posted_.end());
        for (unsigned w = 0; w < 16; ++w) {
          ASSERT_EQ(top->pf_rsp_data_o[16 * i + w], it->second[w])
              << "QP " << l.qpn << " block " << l.idx << "+" << i << ", seed " << test_seed();
        }
      }
    }
    retire(q);
    if (q.ci != q.pi) q.rung = true;
    release(l.qpn);
  }

  void take_read() {
    const auto r = rtl::sample<rtl::rd_req_t>(top->rd_o);
    ++reads;
    ASSERT_EQ(r.addr % 64, 0u);
    ASSERT_EQ(r.len % 64, 0u);
    ASSERT_GT(r.len, 0u);
    ASSERT_FALSE(r.more);
    Read read;
    read.due = cycle + latency + (jitter ? rng() % jitter : 0);
    if (!reads_.empty()) read.due = std::max(read.due, reads_.back().due);
    read.addr = r.addr;
    read.blocks = r.len / 64;
    blocks_read += read.blocks;
    read_sizes.push_back(read.blocks);
    // Memory answers at any time between request and data.
    if (early || (rng() & 1)) look(read);
    reads_.push_back(read);
  }

  struct Read {
    uint64_t due = 0, addr = 0;
    unsigned blocks = 0;
    bool looked = false, failed = false;
    std::vector<Block> data;
  };

  void look(Read& r) {
    r.looked = true;
    for (unsigned i = 0; i < r.blocks; ++i) {
      const uint64_t a = r.addr + 64 * i;
      ASSERT_TRUE(memory_.count(a)) << "read outside of every ring";
      ASSERT_TRUE(posted_.count(a) || touched_ok) << "read of what is not posted";
      r.failed |= spoilt_.count(a) != 0;
      r.data.push_back(memory_[a]);
    }
  }

  void offer_payload() {
    while (!reads_.empty() && reads_.front().due <= cycle) {
      Read& r = reads_.front();
      if (!r.looked) look(r);
      const unsigned beats = r.failed ? 1 : r.blocks;
      for (unsigned i = 0; i < beats; ++i) {
        rtl::payload_t p;
        p.last = i + 1 == beats;
        p.bytes = r.failed ? 1 : 64;
        p.status = static_cast<uint8_t>(r.failed ? pkg::DmaUr : pkg::DmaOk);
        if (!r.failed) p.data = r.data[i];
        payload_.push_back(p);
      }
      reads_.pop_front();
    }
    if (!paying_) paying_ = !payload_.empty() && chance(pay_pct);
    top->pay_valid_i = paying_;
    if (paying_) rtl::drive(top->pay_i, payload_.front());
  }

 public:
  /// Reads for lookups whose WQE has been retired meanwhile are no fault (skips, clears).
  bool touched_ok = false;

 private:
  std::map<uint64_t, Block> memory_, posted_;
  std::set<uint64_t> spoilt_;
  std::multimap<uint64_t, uint16_t> due_;
  std::optional<Lookup> asked_;
  std::deque<Lookup> under_way_;
  std::deque<Read> reads_;
  std::deque<rtl::payload_t> payload_;
  bool paying_ = false;
};

// A lone WQE: the first lookup misses and starts the read, its arrival rings, the second lookup hits.
TEST(SqPrefetchTest, MissReadsRingsAndHits) {
  for (unsigned blocks = 1; blocks <= 4; ++blocks) {
    PrefetchBench b;
    b.open(5, 6, 61);
    b.post(5, blocks);
    b.run();
    EXPECT_EQ(b.misses, 1u);
    EXPECT_EQ(b.hits, 1u);
    EXPECT_EQ(b.rings, 1u);
    EXPECT_EQ(b.blocks_read, blocks);
  }
}

// The latencies that the docs state.
TEST(SqPrefetchTest, Latencies) {
  PrefetchBench b;
  b.open(5, 6, 0);
  b.post(5, 1);
  b.run();
  const auto cycles = [](uint64_t from, uint64_t to) { return static_cast<int64_t>(to - from); };
  EXPECT_TRUE(takes_cycles({"sq_prefetch", side("fifo")}, {3, 4, 1},
                           {cycles(b.first_lookup, b.first_answer), cycles(b.first_lookup, b.first_read),
                            cycles(b.last_beat, b.first_ring)}));
}

// A deep queue of one-block WQEs, with turns of a length that one QP has: after the first one no lookup misses, and one
// WQE comes with each. Reads are of whole chunks.
TEST(SqPrefetchTest, DeepQueueHidesTheRoundTrip) {
  PrefetchBench b;
  b.latency = 400;
  b.turn = 20;
  b.open(5, 9, 500);
  for (int i = 0; i < 512; ++i) b.post(5, 1, false, i == 511);
  b.run();
  EXPECT_EQ(b.hits, 512u);
  EXPECT_EQ(b.misses, 1u);
  EXPECT_EQ(b.blocks_read, 512u);
  EXPECT_LE(b.reads, 512u / 8 + 2);  // two more: at the ring's end, and at the producer index
}

// Lookups as fast as they go: the window of 32 blocks a round trip is what bounds one QP.
TEST(SqPrefetchTest, WindowBoundsOneQueue) {
  PrefetchBench b;
  b.latency = 900;
  b.open(5, 10, 0);
  for (int i = 0; i < 1024; ++i) b.post(5, 1, false, i == 1023);
  b.run();
  EXPECT_EQ(b.hits, 1024u);
  EXPECT_EQ(b.blocks_read, 1024u);
  EXPECT_LE(b.cycle, 1024u / kBlocks * (900 + 200));
}

// A queue in each entry, deep enough for its round trip: a hit takes 3 cycles; each read of eight WQEs costs one more
// to start, and one when it arrives.
TEST(SqPrefetchTest, HitsFollowEachOther) {
  PrefetchBench b;
  b.latency = 30;
  for (uint16_t q = 0; q < kEntries; ++q) {
    b.open(q, 8, 0);
    for (int i = 0; i < 256; ++i) b.post(q, 1, false, i == 255);
  }
  b.run();
  EXPECT_EQ(b.hits, 256u * kEntries);
  EXPECT_LE(b.cycle, 256u * kEntries * 325 / 100 + 150);
}

// Each ring size, indices that wrap, WQEs of every size, all paces: every WQE is delivered, as it was posted, and
// nothing that is not posted is ever read.
TEST(SqPrefetchTest, EveryWqeAsItWasPosted) {
  for (unsigned pace : {100u, 60u, 20u}) {
    for (unsigned latency : {0u, 30u, 300u}) {
      PrefetchBench b(test_seed() + pace + latency);
      b.req_pct = b.rd_pct = pace;
      b.pay_pct = pace == 60 ? 100 : pace;
      b.rsp_pct = b.ring_pct = pace == 60 ? 30 : pace;
      b.latency = latency;
      b.jitter = latency;
      for (uint16_t i = 0; i < kEntries; ++i)
        b.open(static_cast<uint16_t>(i + 4 * (b.rng() % 256)), static_cast<unsigned>(b.rng() % 9),
               static_cast<uint16_t>(b.rng() % 3 ? b.rng() : 65530));
      for (int i = 0; i < 6000; ++i) {
        for (auto& [qpn, q] : b.queues) {
          if (b.chance(20)) {
            const unsigned n = 1 + static_cast<unsigned>(b.rng() % 4);
            if (b.free_blocks(q) >= n) b.post(qpn, n, false, b.chance(70));
          }
        }
        b.step();
        if (HasFailure()) return;
      }
      for (auto& [qpn, q] : b.queues) b.doorbell(qpn);
      b.run();
      if (HasFailure()) return;
      EXPECT_GT(b.hits, 20u);
      EXPECT_EQ(b.idle_rings, 0u);
    }
  }
}

// More QPs than entries: each gets its turn, and none waits for ever, not even for one whose WQEs are never fetched.
TEST(SqPrefetchTest, QueuesShareAnEntry) {
  for (unsigned sharers : {2u, 3u, 20u, 256u}) {
    PrefetchBench b(test_seed() + sharers);
    b.latency = 60;
    for (unsigned i = 0; i < sharers; ++i) {
      b.open(static_cast<uint16_t>(1 + 4 * i), 6, static_cast<uint16_t>(b.rng()));
      for (int n = 0; n < 20; ++n)
        b.post(static_cast<uint16_t>(1 + 4 * i), 1 + static_cast<unsigned>(b.rng() % 3), false, n == 19);
    }
    b.run(1000000);
    EXPECT_EQ(b.hits, 20 * sharers);
    // Nobody is served twice over while others have got nothing.
    std::set<uint16_t> seen;
    size_t all = 0;
    while (all < b.order.size() && seen.size() < sharers) seen.insert(b.order[all++]);
    EXPECT_LE(all, sharers * size_t{kBlocks} + kBlocks);
  }
}

// An endless queue does not keep the others of its entry out.
TEST(SqPrefetchTest, EndlessQueueLetsOthersIn) {
  PrefetchBench b;
  b.latency = 100;
  b.open(1, 8, 0);
  b.open(5, 8, 0);
  b.open(9, 8, 0);
  unsigned waits = 0;
  size_t passed = 0;  // WQEs of QP 1 while others wait
  for (int round = 0; round < 20; ++round) {
    b.post(5, 1);
    b.post(9, 2);
    const size_t before = b.order.size();
    for (unsigned i = 0; b.queues[5].ci != b.queues[5].pi || b.queues[9].ci != b.queues[9].pi; ++i) {
      ASSERT_LT(i, 3000u);
      while (b.free_blocks(b.queues[1]) > 0) b.post(1, 1);
      b.step();
      waits = std::max(waits, i);
    }
    passed = std::max(passed, b.order.size() - before - 2);
  }
  EXPECT_LT(waits, 1500u);
  EXPECT_LE(passed, 12u);  // a read of its own and no more
  b.run();
}

// Where turns are so rare that a QP called always comes late, each gets in all the same.
TEST(SqPrefetchTest, LateTurnsGetIn) {
  PrefetchBench b;
  b.latency = 50;
  b.ring_delay = 4000;
  for (uint16_t i = 0; i < 6; ++i) {
    b.open(static_cast<uint16_t>(2 + 4 * i), 6, 0);
    for (int n = 0; n < 8; ++n) b.post(static_cast<uint16_t>(2 + 4 * i), 1, false, n == 7);
  }
  b.run(400000);
  EXPECT_EQ(b.hits, 48u);
}

// A QP that stays away from its WQEs loses its entry to one that wants it, sooner when it has had one of them, and gets
// its WQEs all the same when it does come.
TEST(SqPrefetchTest, UnusedEntryIsTakenOver) {
  for (bool had_one : {true, false}) {
    PrefetchBench b;
    b.latency = 20;
    b.open(1, 6, 0);
    b.open(5, 6, 7);
    for (int i = 0; i < 10; ++i) b.post(1, 1, false, i == 9);
    (had_one ? b.turn : b.ring_delay) = 200000;  // its next turn is far away
    while (had_one ? b.hits == 0 : b.rings == 0) b.step();
    b.ring_delay = 0;
    b.post(5, 1);
    const uint64_t start = b.cycle;
    while (b.queues[5].ci != b.queues[5].pi && b.cycle < start + 200000) b.step();
    EXPECT_LT(b.cycle - start, had_one ? 1000u : 100000u);
    EXPECT_GT(b.cycle - start, had_one ? 100u : 10000u);
    b.turn = 0;
    b.run(400000);
    EXPECT_EQ(b.hits, 11u);
  }
}

// WQEs that come another way (BlueFlame) are passed over, whether they are here, on their way, or beyond the window.
TEST(SqPrefetchTest, SkippedWqes) {
  for (unsigned skip : {10u, 50u, 95u}) {
    PrefetchBench b(test_seed() + skip);
    b.touched_ok = true;
    b.skip_pct = skip;
    b.latency = 80;
    b.jitter = 100;
    for (uint16_t i = 0; i < 6; ++i) b.open(i, 4 + i % 4, static_cast<uint16_t>(b.rng()));
    for (int i = 0; i < 20000; ++i) {
      for (auto& [qpn, q] : b.queues) {
        const unsigned n = 1 + static_cast<unsigned>(b.rng() % 4);
        if (b.chance(10) && b.free_blocks(q) >= n) b.post(qpn, n);
      }
      b.step();
      if (HasFailure()) return;
    }
    b.run();
    if (HasFailure()) return;
    if (skip < 90) {
      EXPECT_GT(b.hits, 100u);
    }
  }
}

// Lookups with producer indices older than an earlier lookup's read no further than those say.
TEST(SqPrefetchTest, OlderProducerIndex) {
  PrefetchBench b;
  b.stale_pct = 60;
  b.latency = 50;
  for (uint16_t i = 0; i < kEntries; ++i) b.open(i, 6, static_cast<uint16_t>(b.rng()));
  for (int i = 0; i < 20000; ++i) {
    for (auto& [qpn, q] : b.queues) {
      const unsigned n = 1 + static_cast<unsigned>(b.rng() % 4);
      if (b.chance(10) && b.free_blocks(q) >= n) b.post(qpn, n);
    }
    b.step();
    if (HasFailure()) return;
  }
  b.run();
  EXPECT_GT(b.hits, 1000u);
}

// Exactly the WQEs that can't be read are answered with the status; those round them are whole.
TEST(SqPrefetchTest, OnlyTheSpoiltWqeFails) {
  for (unsigned queues : {1u, 3u, 12u}) {
    for (unsigned pct : {3u, 30u, 100u}) {
      PrefetchBench b(test_seed() + queues + pct);
      b.latency = 40;
      b.jitter = 30;
      unsigned spoilt = 0;
      for (uint16_t i = 0; i < queues; ++i) b.open(i, 6, static_cast<uint16_t>(b.rng()));
      for (int i = 0; i < 10000; ++i) {
        for (auto& [qpn, q] : b.queues) {
          const unsigned n = 1 + static_cast<unsigned>(b.rng() % 4);
          if (!b.chance(10) || b.free_blocks(q) < n) continue;
          const bool spoil = b.chance(pct);
          spoilt += spoil;
          b.post(qpn, n, spoil, b.chance(50));
        }
        b.step();
        if (HasFailure()) return;
      }
      for (auto& [qpn, q] : b.queues) b.doorbell(qpn);
      b.run(1000000);
      if (HasFailure()) return;
      EXPECT_EQ(b.errors, spoilt);
      EXPECT_GT(spoilt, 5u);
    }
  }
}

// A QP set up anew, at any time and with any ring, never sees a WQE of its earlier life; nobody else is disturbed.
TEST(SqPrefetchTest, ClearForgetsEverything) {
  for (unsigned latency : {5u, 60u, 200u}) {
    PrefetchBench b(test_seed() + latency);
    b.touched_ok = true;
    b.latency = latency;
    b.jitter = latency;
    b.rsp_pct = 70;
    for (uint16_t i = 0; i < 6; ++i) b.open(i, 5, static_cast<uint16_t>(b.rng()));
    unsigned clears = 0;
    for (int i = 0; i < 30000; ++i) {
      for (auto& [qpn, q] : b.queues) {
        const unsigned n = 1 + static_cast<unsigned>(b.rng() % 4);
        if (b.chance(10) && b.free_blocks(q) >= n) b.post(qpn, n, b.chance(2));
      }
      if (b.chance(2)) {
        const auto qpn = static_cast<uint16_t>(b.rng() % 6);
        // Same ring and indices, or others
        if (b.set_up_anew(qpn, b.chance(50), static_cast<unsigned>(b.rng() % 4))) ++clears;
      }
      b.step();
      if (HasFailure()) return;
    }
    b.run();
    EXPECT_GT(clears, 100u);
    EXPECT_GT(b.hits, 200u);
  }
}

// More reads wanted than there are places for: no lookup waits, and everything comes.
TEST(SqPrefetchTest, ReadsRunOut) {
  PrefetchBench b;
  b.latency = 500;
  b.rd_pct = 5;
  for (uint16_t i = 0; i < 8; ++i) {
    b.open(i, 3, 0);
    for (int n = 0; n < 8; ++n) b.post(i, 1);
  }
  for (unsigned i = 0; i < 20000; ++i) {
    for (auto& [qpn, q] : b.queues) {
      if (b.free_blocks(q) > 0) b.post(qpn, 1);
    }
    b.step();
  }
  b.rd_pct = 100;
  b.run();
  EXPECT_GT(b.hits, 100u);
}

// Cleared at any cycle of a lookup, with the same ring and index after it: what stood in memory meanwhile is not kept.
TEST(SqPrefetchTest, ClearDuringALookup) {
  for (unsigned when = 0; when < 10; ++when) {
    PrefetchBench b;
    b.touched_ok = b.early = true;
    b.open(5, 6, 0);
    b.post(5, 1);
    while (b.lookups == 0) b.step();
    for (unsigned i = 0; i < when; ++i) b.step();
    ASSERT_TRUE(b.set_up_anew(5, true, 0));
    for (int i = 0; i < 30; ++i) b.step();
    b.post(5, 2);
    b.run();
    EXPECT_EQ(b.hits, 1u);
  }
}

// An index that goes back, as for a retransmission, to WQEs that were never here: they are read.
TEST(SqPrefetchTest, IndexGoesBack) {
  PrefetchBench b;
  b.keep = true;
  b.open(5, 6, 10);
  for (int i = 0; i < 20; ++i) b.post(5, 1, false, false);
  for (int i = 0; i < 10; ++i) b.pass_over(5);
  b.doorbell(5);
  b.run();
  EXPECT_EQ(b.hits, 10u);
  b.go_back(5, 15);
  b.run();
  EXPECT_EQ(b.hits, 25u);
}

// Edges while idle change nothing: a bench that gets any number of them behaves as one that gets none.
TEST(SqPrefetchTest, IdleEdgesChangeNothing) {
  PrefetchBench a(test_seed()), b(test_seed());
  for (auto* s : {&a, &b}) {
    s->latency = 10;
    for (uint16_t i = 0; i < 6; ++i) s->open(i, 5, 0);
  }
  for (unsigned i = 0; i < 200; ++i) {
    for (auto* s : {&a, &b}) {
      for (unsigned k = 0; k < 1 + i % 4; ++k) {
        const auto qpn = static_cast<uint16_t>((i + k) % 6);
        if (s->free_blocks(s->queues[qpn]) >= 3) s->post(qpn, 1 + i % 3);
      }
      s->run();
    }
    ASSERT_EQ(a.order, b.order);
    ASSERT_EQ(a.lookups, b.lookups);
    ASSERT_EQ(a.read_sizes, b.read_sizes);
    for (unsigned e = i % 4; e-- != 0;) a.tick();
  }
}

}  // namespace
}  // namespace rnic::test
