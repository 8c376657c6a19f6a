// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "Vqp_scheduler.h"
#include "rnic/golden/scheduler.h"
#include "rtl/bench.h"

namespace rnic::test {
namespace {

constexpr unsigned kQps = rtl::rnic_pkg::NumQp;
constexpr int kSettle = 16;  // edges after which what came back has found its list, and the register is filled

struct SchedBench : Bench<Vqp_scheduler> {
  explicit SchedBench(uint64_t seed = 1) : Bench(seed) { quiet(), top->prio_ready_i = 0xff, settle(); }
  /// A model's destructor uses the thread's context, which may be that of another bench, already gone.
  ~SchedBench() { Verilated::threadContextp(top->contextp()); }
  void quiet() { top->ring_i = top->release_i = top->grant_ready_i = top->clear_i = top->rate_valid_i = 0; }
  void set_ring(unsigned q) { top->ring_i = 1, top->ring_qpn_i = q; }
  void set_turn(const rtl::turn_end_t& t) {
    top->release_i = 1;
    const auto words = t.pack();
    for (size_t i = 0; i < words.size(); ++i) top->turn_end_i[i] = words[i];
  }
  void set_release(unsigned q, bool more = false, unsigned bytes = 100) {
    rtl::turn_end_t t;
    t.qpn = q, t.more = more, t.bytes = bytes;
    set_turn(t);
  }
  void configure(uint8_t strict, const std::array<uint8_t, 8>& weights) {
    rtl::sched_cfg_t c;
    c.strict = strict;
    for (unsigned i = 0; i < 8; ++i) c.weights |= uint64_t{weights[i]} << (8 * i);
    const auto words = c.pack();
    for (size_t i = 0; i < words.size(); ++i) top->cfg_i[i] = words[i];
  }
  /// One edge with what was set; everything quiet afterwards.
  void step() {
    tick();
    quiet();
    settle();
  }
  void ring(unsigned q) { set_ring(q), step(); }
  void release(unsigned q, bool more = false, unsigned bytes = 100) { set_release(q, more, bytes), step(); }
  void turn(const rtl::turn_end_t& t) { set_turn(t), step(); }
  void rest(int n = kSettle) {
    while (n-- != 0) step();
  }
  /// Takes the offered grant; -1 if there is none.
  int take() {
    const int q = top->grant_valid_o ? top->grant_qpn_o : -1;
    top->grant_ready_i = 1;
    step();
    return q;
  }
  /// Takes the next grant within n edges.
  int take_within(int n) {
    for (; n > 0 && !top->grant_valid_o; --n) step();
    return take();
  }
};

// A ring is offered as a grant right after its edge, and the scheduler is idle before it and after the release.
TEST(QpSchedulerTest, RingIsGrantedAfterOneEdge) {
  SchedBench b;
  EXPECT_TRUE(b.top->idle_o);
  b.ring(5);
  EXPECT_FALSE(b.top->idle_o);
  EXPECT_EQ(b.take(), 5);
  EXPECT_FALSE(b.top->idle_o);
  EXPECT_EQ(b.take(), -1);
  b.release(5);
  b.rest(3);
  EXPECT_TRUE(b.top->idle_o);
  EXPECT_EQ(b.take(), -1);
}

// So is a ring while others are handed out or come back for good.
TEST(QpSchedulerTest, RingPassesOthersThatDoNotWait) {
  SchedBench b;
  for (unsigned q = 10; q < 20; ++q) {
    b.ring(q);
    EXPECT_EQ(b.take(), static_cast<int>(q));
  }
  for (unsigned q = 10; q < 19; ++q) {
    b.set_release(q);
    b.ring(100 + q);
    ASSERT_EQ(b.take(), static_cast<int>(100 + q));
  }
}

// Rings of a waiting QP make no further grant and are counted as coalesced.
TEST(QpSchedulerTest, RingsOfWaitingQpCoalesce) {
  SchedBench b;
  b.ring(7);
  for (int i = 0; i < 3; ++i) {
    b.set_ring(7);
    b.settle();
    EXPECT_TRUE(b.top->stat_coalesced_o);
    b.step();
  }
  EXPECT_EQ(b.take(), 7);
  EXPECT_EQ(b.take(), -1);
  b.release(7);
  b.rest();
  EXPECT_EQ(b.take(), -1);
  EXPECT_TRUE(b.top->idle_o);
}

// A ring at the very edge of the grant causes another grant after the release.
TEST(QpSchedulerTest, RingAtGrantIsRemembered) {
  SchedBench b;
  b.ring(9);
  b.set_ring(9);
  b.settle();
  b.top->grant_ready_i = 1;
  b.settle();
  EXPECT_FALSE(b.top->stat_coalesced_o);
  EXPECT_EQ(b.take(), 9);
  EXPECT_EQ(b.take(), -1);
  b.release(9);
  EXPECT_EQ(b.take(), 9);
  b.release(9);
  b.rest();
  EXPECT_TRUE(b.top->idle_o);
}

// A ring while the QP is handed out causes another grant, but not before the release.
TEST(QpSchedulerTest, RingWhileHandedOutIsRemembered) {
  SchedBench b;
  b.ring(3);
  EXPECT_EQ(b.take(), 3);
  b.ring(3);
  EXPECT_EQ(b.take(), -1);
  b.release(3);
  EXPECT_EQ(b.take(), 3);
  b.release(3);
  b.rest();
  EXPECT_TRUE(b.top->idle_o);
}

// A ring at the very edge of the release queues the QP again, and exactly once more.
TEST(QpSchedulerTest, RingAtReleaseQueuesAgain) {
  SchedBench b;
  b.ring(1023);
  EXPECT_EQ(b.take(), 1023);
  b.set_ring(1023);
  b.release(1023);
  EXPECT_EQ(b.take(), 1023);
  b.release(1023);
  b.rest();
  EXPECT_EQ(b.take(), -1);
  EXPECT_TRUE(b.top->idle_o);
}

// A lone QP with more work is granted again right after its release, whether or not its quantum is used up.
TEST(QpSchedulerTest, ReleaseOfLoneQpWithMoreIsGrantedAfterOneEdge) {
  SchedBench b;
  b.ring(0);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(b.take(), 0);
    b.release(0, true, 4158);
  }
  EXPECT_EQ(b.take(), 0);
  b.release(0);
  b.rest(3);
  EXPECT_TRUE(b.top->idle_o);
}

// With other QPs handed out, a release with more work finds its list first.
TEST(QpSchedulerTest, ReleaseWithMoreQueuesAgain) {
  SchedBench b;
  b.ring(0);
  EXPECT_EQ(b.take(), 0);
  b.ring(1);
  EXPECT_EQ(b.take(), 1);
  b.release(0, true);
  int edges = 0;
  for (; !b.top->grant_valid_o && edges < 20; ++edges) b.step();
  EXPECT_EQ(b.take(), 0);
  EXPECT_EQ(edges, 5);  // one for the priority's first share
  b.release(0, true);
  for (edges = 0; !b.top->grant_valid_o && edges < 20; ++edges) b.step();
  EXPECT_EQ(b.take(), 0);
  EXPECT_EQ(edges, 2);
}

// While no QP waits, one that comes back goes past the lists, unless its round is too far ahead or its priority has
// used its share; when one waits it does not overtake.
TEST(QpSchedulerTest, WhatComesBackGoesPastEmptyLists) {
  for (bool limited : {false, true}) {
    SchedBench b;
    auto back = [&](unsigned q, unsigned bytes) {  // edges from its release to its grant
      b.set_release(q, true, bytes);
      b.step();
      int edges = 1;
      for (; !b.top->grant_valid_o && edges < 20; ++edges) b.step();
      EXPECT_EQ(b.take(), static_cast<int>(q));
      return edges;
    };
    for (unsigned q : {0u, 1u}) {
      b.ring(q);
      EXPECT_EQ(b.take(), static_cast<int>(q));
    }
    EXPECT_GT(back(0, 100), 5);  // the priority's first share
    for (int i = 0; i < 20; ++i) EXPECT_EQ(back(i % 2, 100), 3) << i;
    // Four rounds ahead it waits for those that are handed out.
    b.release(0, true, 4198);
    b.rest();
    EXPECT_FALSE(b.top->grant_valid_o);
    b.release(1, true, 100);
    EXPECT_EQ(b.take_within(kSettle), 1);
    b.rest();
    EXPECT_FALSE(b.top->grant_valid_o);
    b.top->starving_i = 1;  // but not at the link's cost
    EXPECT_EQ(b.take_within(kSettle), 0);
    b.top->starving_i = 0;
    // Both come back at successive edges while the register is full: in their order, by the lists.
    b.ring(2);
    b.rest();
    b.release(0, true);
    b.release(1, true);
    b.rest();
    for (int q : {2, 0, 1}) EXPECT_EQ(b.take_within(kSettle), q);
    // A priority that may not send does not pass this way either.
    b.top->prio_ready_i = 0xfe;
    b.release(1, true);
    b.rest();
    EXPECT_FALSE(b.top->grant_valid_o);
    b.top->prio_ready_i = 0xff;
    EXPECT_EQ(b.take_within(kSettle), 1);
    if (!limited) continue;
    // Nor does one whose rate holds it back.
    rtl::turn_end_t t;
    t.qpn = 0, t.more = true, t.bytes = 1000, t.rate_en = true, t.rate_gap = 100 << 16;
    b.turn(t);
    b.rest(40);
    EXPECT_FALSE(b.top->grant_valid_o);
    EXPECT_TRUE(b.top->timer_valid_o);
  }
}

// Grant, release and ring of three different QPs at one edge all take effect.
TEST(QpSchedulerTest, ThreeEventsAtOneEdge) {
  SchedBench b;
  b.ring(1);
  b.ring(2);
  EXPECT_EQ(b.take(), 1);
  b.rest();
  b.set_ring(3);
  b.set_release(1, true);
  EXPECT_EQ(b.take(), 2);
  std::set<int> rest;
  for (int i = 0; i < 2; ++i) rest.insert(b.take_within(kSettle));
  EXPECT_EQ(rest, (std::set<int>{1, 3}));
  b.rest();
  EXPECT_EQ(b.take(), -1);
  for (unsigned q : {1, 2, 3}) b.release(q);
  b.rest();
  EXPECT_TRUE(b.top->idle_o);
}

// The rules of the header, event by event, over few and many QPs and all rates: every ring is followed by a grant after
// it, no QP is granted twice without a release between, a ring is granted at once when nothing waits, and nothing is
// left at the end. Priorities, weights, rates, clears, tokens and backpressure of priorities are all mixed in.
class QpSchedulerRandom : public ::testing::TestWithParam<std::tuple<unsigned, unsigned, unsigned, unsigned>> {};

TEST_P(QpSchedulerRandom, FollowsTheModel) {
  const auto [qps, ring_pct, ready_pct, release_pct] = GetParam();
  const uint64_t seed = test_seed();
  SCOPED_TRACE("RNIC_TEST_SEED=" + std::to_string(seed));
  SchedBench b(seed);
  b.configure(0x80, {1, 2, 4, 0, 1, 1, 9, 0});
  enum { kFree, kWaiting, kOut };
  struct Qp {
    int state = kFree;
    bool again = false;
    bool owed = false;     // a ring without a grant after it
    bool limited = false;  // may be held back
  };
  std::vector<Qp> qp(qps);
  std::vector<unsigned> waiting, out;
  uint64_t rings = 0, grants = 0, at_once = 0;
  const int cycles = 6000;
  for (int i = 0; i < cycles || !waiting.empty() || !out.empty(); ++i) {
    ASSERT_LT(i, cycles + 200000);
    const bool drain = i >= cycles;
    auto pick = [&] { return static_cast<unsigned>(b.rng() % qps); };
    const bool ring = !drain && b.chance(ring_pct);
    const unsigned rq = !out.empty() && b.chance(30)       ? out[b.rng() % out.size()]
                        : !waiting.empty() && b.chance(30) ? waiting[b.rng() % waiting.size()]
                                                           : pick();
    const bool rel = !out.empty() && (drain || b.chance(release_pct));
    const size_t ri = rel ? b.rng() % out.size() : 0;
    rtl::turn_end_t t;
    if (rel) {
      t.qpn = ring && b.chance(50) && qp[rq].state == kOut ? rq : out[ri];
      t.more = !drain && b.chance(30);
      t.bytes = b.chance(20) ? 0 : 64 + b.rng() % 4135;
      t.prio = (t.qpn ^ (b.chance(5) ? 1 : 0)) & 7;
      t.weight = b.rng() % 4;
      t.rate_en = t.qpn % 3 == 0 && b.chance(70);
      t.rate_gap = b.rng() % 20000;
      t.rate_burst = b.rng() % 8;
      b.set_turn(t);
    }
    if (ring) b.set_ring(rq);
    b.top->grant_ready_i = b.chance(ready_pct);
    b.top->prio_ready_i = drain || i % 1000 < 500 ? 0xff : b.rng() & 0xff;
    b.top->hungry_i = b.chance(50), b.top->starving_i = b.chance(20);
    if (b.chance(3)) b.top->clear_i = 1, b.top->clear_qpn_i = pick();
    if (b.chance(10)) b.top->rate_valid_i = 1, b.top->rate_i = (pick() << 16) | b.rng() % 100;
    b.top->now_i = b.cycle;
    b.settle();
    const bool valid = b.top->grant_valid_o;
    const unsigned gq = b.top->grant_qpn_o;
    if (valid) {
      ASSERT_EQ(qp.at(gq).state, kWaiting);
    }
    if (!waiting.empty() || !out.empty()) {
      ASSERT_TRUE(!b.top->idle_o || (out.empty() && std::all_of(waiting.begin(), waiting.end(),
                                                                [&](unsigned q) { return qp[q].limited; })));
    }
    const bool grant = valid && b.top->grant_ready_i;
    const bool passes = ring && waiting.size() == (grant ? 1u : 0u) && qp[rq].state == kFree && !qp[rq].limited &&
                        b.top->prio_ready_i == 0xff;
    // What one edge does, from the rules
    bool expect_coalesced = false;
    if (ring) {
      const bool granted_now = grant && gq == rq;
      if (qp[rq].state == kWaiting) expect_coalesced = !granted_now;
      if (qp[rq].state == kOut) expect_coalesced = qp[rq].again || (rel && t.qpn == rq && t.more);
    }
    ASSERT_EQ(b.top->stat_coalesced_o, expect_coalesced);
    auto drop = [](std::vector<unsigned>& v, unsigned q) { v.erase(std::find(v.begin(), v.end(), q)); };
    if (grant) {
      qp[gq].state = kOut, qp[gq].again = false, qp[gq].owed = false;
      drop(waiting, gq);
      ++grants;
    }
    if (ring) {
      ++rings;
      qp[rq].owed = true;
      if (qp[rq].state == kFree) {
        qp[rq].state = kWaiting;
        waiting.push_back(rq);
      } else {
        qp[rq].again = true;
      }
    }
    if (rel) {
      drop(out, t.qpn);
      if (t.more || qp[t.qpn].again) {
        qp[t.qpn].state = kWaiting;
        waiting.push_back(t.qpn);
      } else {
        qp[t.qpn].state = kFree;
      }
      if (t.rate_en) qp[t.qpn].limited = true;  // and stays so for this model
    }
    if (grant) out.push_back(gq);
    b.tick();
    b.quiet();
    b.settle();
    if (passes) {
      ASSERT_TRUE(b.top->grant_valid_o);
      ASSERT_EQ(b.top->grant_qpn_o, rq);
      ++at_once;
    }
  }
  for (int i = 0; i < 20000 && !b.top->idle_o; ++i) b.step();  // charges under way
  for (const Qp& q : qp) ASSERT_FALSE(q.owed);
  EXPECT_TRUE(b.top->idle_o);
  EXPECT_FALSE(b.top->grant_valid_o);
  EXPECT_FALSE(b.top->timer_valid_o);
  EXPECT_GT(grants, 50u);
  EXPECT_GT(rings, 50u);
}

INSTANTIATE_TEST_SUITE_P(Grid, QpSchedulerRandom,
                         ::testing::Combine(::testing::Values(1u, 2u, 5u, 64u, 1024u), ::testing::Values(5u, 50u, 100u),
                                            ::testing::Values(10u, 60u, 100u), ::testing::Values(10u, 60u, 100u)));

// Turn for turn the order of deficit round robin, for random frames, weights, idle times and numbers of QPs.
class QpSchedulerDrr : public ::testing::TestWithParam<unsigned> {};

TEST_P(QpSchedulerDrr, ServesInTheOrderOfTheDefinition) {
  const unsigned qps = GetParam();
  const uint64_t seed = test_seed();
  SCOPED_TRACE("RNIC_TEST_SEED=" + std::to_string(seed));
  SchedBench b(seed);
  golden::Drr drr;
  std::vector<unsigned> weight(qps), size(qps);
  std::deque<unsigned> out;
  // A first turn each, so that weight and priority are known.
  for (unsigned q = 0; q < qps; ++q) {
    weight[q] = b.rng() % 4, size[q] = b.chance(30) ? 4198 : b.chance(50) ? 64 + b.rng() % 4135 : 142;
    b.ring(q);
    ASSERT_EQ(b.take(), static_cast<int>(q));
    rtl::turn_end_t t;
    t.qpn = q, t.bytes = 64, t.prio = 3, t.weight = weight[q];
    b.turn(t);
    drr.come(q, true);
    drr.turn(q, 64, false, weight[q], false);
    b.rest();
  }
  std::vector<bool> busy(qps);
  std::optional<unsigned> next;  // what stands in the register
  auto refill = [&] {
    b.rest();
    if (!next) next = drr.choose();
    ASSERT_EQ(b.top->grant_valid_o, next.has_value());
    if (next) {
      ASSERT_EQ(b.top->grant_qpn_o, *next);
    }
  };
  unsigned turns = 0, grants_of_first = 0, close_turns = 0;
  for (int i = 0; i < 12000; ++i) {
    const unsigned what = b.rng() % 8;
    if (next && std::count(busy.begin(), busy.end(), true) == 1 && b.chance(30)) {
      // A lone QP's turns, one as close upon the other as can be
      for (unsigned k = 0; k < 6; ++k) {
        ASSERT_EQ(b.take(), static_cast<int>(*next));
        rtl::turn_end_t t;
        t.qpn = *next, t.more = true, t.prio = 3, t.weight = weight[*next], t.bytes = 64 + b.rng() % 1000;
        drr.turn(*next, t.bytes, true, t.weight, true);
        b.turn(t);
        ++close_turns;
      }
    } else if (what < 2) {
      const unsigned q = b.rng() % qps;
      if (!busy[q]) {
        busy[q] = true;
        const bool passes = !next && drr.none_waits();
        drr.come(q, passes);
        if (passes) next = q;
        b.ring(q);
      }
    } else if (what < 5) {
      if (next) {
        ASSERT_EQ(b.take(), static_cast<int>(*next));
        grants_of_first += *next == 0;
        out.push_back(*next);
        next.reset();
      }
    } else if (!out.empty() && (what < 7 || out.size() > 3)) {
      const size_t k = b.rng() % out.size();
      const unsigned q = out[k];
      out.erase(out.begin() + k);
      rtl::turn_end_t t;
      t.qpn = q, t.more = b.chance(95), t.prio = 3, t.weight = weight[q];
      t.bytes = b.chance(80) ? size[q] : 64 + b.rng() % 4135;
      const bool passes = t.more && std::count(busy.begin(), busy.end(), true) == 1;
      busy[q] = t.more;
      drr.turn(q, t.bytes, t.more, t.weight, passes);
      if (passes) next = q;
      b.turn(t);
      ++turns;
    }
    refill();
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(turns, 1000u);
  EXPECT_GT(grants_of_first, 0u);
  EXPECT_TRUE(close_turns > 0 || qps > 7);
}

INSTANTIATE_TEST_SUITE_P(Qps, QpSchedulerDrr, ::testing::Values(1u, 2u, 3u, 7u, 40u, 300u));

// ---- A link behind the scheduler -----------------------------------------------------------------------------------

/// Pipeline of the NIC between grant and link: turns take a latency, wait for their packet's place in a queue of 128
/// and 60 KiB, and the link takes its packets at 50 B a cycle.
struct Link {
  struct Flow {
    unsigned qpn = 0;
    unsigned prio = 0, weight = 1;
    std::function<unsigned()> frame;  // bytes of its next frame
    bool bulk = false;                // its turn goes on while no other QP waits
    uint64_t bytes = 0;               // sent, as the scheduler was told
    uint64_t grants = 0;
  };
  SchedBench b;
  std::vector<Flow> flows;
  unsigned latency = 45, pipe = 44, depth = 128;
  double rate = 50;
  std::deque<std::pair<uint64_t, unsigned>> turns;  // due, QPN
  std::deque<double> queue;                         // bytes left of each frame
  uint64_t sent = 0, idle_cycles = 0;
  std::function<void()> after_turn = [] {};
  std::map<unsigned, unsigned> of;  // QPN -> flow

  explicit Link(uint64_t seed) : b(seed) {}

  void start() {
    for (unsigned i = 0; i < flows.size(); ++i) of[flows[i].qpn] = i;
    for (const Flow& f : flows) {
      b.set_ring(f.qpn);
      cycle();
    }
  }
  void cycle() {
    b.top->now_i = b.cycle;
    double backlog = 0;
    for (const double bytes : queue) backlog += bytes;
    b.top->hungry_i = queue.size() < 16 && backlog < 16384, b.top->starving_i = queue.size() < 4 && backlog < 8192;
    if (!turns.empty() && turns.front().first <= b.cycle && queue.size() < depth && backlog < 61440) {
      Flow& f = flows[of.at(turns.front().second)];
      for (int n = 0; f.bulk && !b.top->others_o && n < 4; ++n) queue.push_back(f.frame() + 20);
      turns.pop_front();
      rtl::turn_end_t t;
      t.qpn = f.qpn, t.more = true, t.prio = f.prio, t.weight = f.weight, t.bytes = f.frame();
      f.bytes += t.bytes;
      queue.push_back(t.bytes + 20);
      b.set_turn(t);
      after_turn();
    }
    b.top->grant_ready_i = turns.size() < pipe;
    b.settle();
    if (b.top->grant_valid_o && b.top->grant_ready_i) {
      turns.emplace_back(b.cycle + latency, b.top->grant_qpn_o);
      ++flows[of.at(b.top->grant_qpn_o)].grants;
    }
    double left = rate;
    while (!queue.empty() && left >= queue.front()) left -= queue.front(), queue.pop_front();
    if (queue.empty()) {
      ++idle_cycles;
    } else {
      queue.front() -= left;
    }
    b.tick();
    b.quiet();
  }
  void run(uint64_t cycles) {
    while (cycles-- != 0) cycle();
  }
};

/// Frames of messages of the given sizes, one after the other, at an MTU: 58 B around the payload, 16 more in the
/// first.
std::function<unsigned()> messages(std::vector<uint64_t> sizes, unsigned mtu = 4096) {
  return [=, left = uint64_t{0}, first = false, n = size_t{0}]() mutable {
    if (left == 0) left = sizes[n++ % sizes.size()], first = true;
    const uint64_t now = std::min<uint64_t>(left, mtu);
    left -= now;
    const unsigned frame = static_cast<unsigned>(now) + 58 + (first ? 16 : 0);
    first = false;
    return frame;
  };
}

constexpr double kMtuFrame = 4096 + 58;

// 1024 QPs always ready, any mixture of message sizes, equal weights: none is ever more than two MTU packets from its
// equal share, and the link does not idle.
class QpSchedulerFair : public ::testing::TestWithParam<unsigned> {};

TEST_P(QpSchedulerFair, NoQpIsMoreThanTwoPacketsFromItsShare) {
  const uint64_t seed = test_seed() + GetParam();
  SCOPED_TRACE("RNIC_TEST_SEED=" + std::to_string(seed - GetParam()));
  Link link(seed);
  const std::vector<uint64_t> sizes = {64, 4096, uint64_t{1} << 31, 1024, 5000, 12288, 100};
  for (unsigned q = 0; q < kQps; ++q) {
    Link::Flow f;
    f.qpn = q, f.prio = 2;
    switch (GetParam()) {
      case 0:
        f.frame = messages({sizes[q % 3]});
        break;
      case 1:
        f.frame = messages({q == 77 ? uint64_t{64} : uint64_t{1} << 31});
        break;
      case 2:
        f.frame = messages({q == 77 ? uint64_t{1} << 31 : uint64_t{64}});
        break;
      case 3:
        f.frame = messages({sizes[link.b.rng() % 7], sizes[link.b.rng() % 7], sizes[link.b.rng() % 7]});
        break;
      case 4:
        f.frame = messages({sizes[link.b.rng() % 3]}, 256u << (q % 5));
        break;
      default:
        f.frame = [&link] { return static_cast<unsigned>(64 + link.b.rng() % 4135); };
    }
    link.flows.push_back(f);
  }
  link.start();
  double total = 0, worst = 0;
  uint64_t counted = 0;
  link.after_turn = [&] {
    total = 0;
    if (++counted % 97 != 0) return;  // a turn changes one QP only
    for (const auto& f : link.flows) total += static_cast<double>(f.bytes);
    for (const auto& f : link.flows) worst = std::max(worst, std::abs(static_cast<double>(f.bytes) - total / kQps));
  };
  link.run(5000);
  const uint64_t idle = link.idle_cycles;
  link.run(400000);
  std::printf("furthest from the equal share: %.2f MTU packets; link idle for %llu of 400000 cycles\n",
              worst / kMtuFrame, static_cast<unsigned long long>(link.idle_cycles - idle));
  EXPECT_LE(worst, 2 * kMtuFrame);
  EXPECT_GT(worst, 0.25 * kMtuFrame);
  EXPECT_LE(link.idle_cycles - idle, 4000u);
}

INSTANTIATE_TEST_SUITE_P(Mixtures, QpSchedulerFair, ::testing::Range(0u, 6u));

// Weights 1:2:4 hold within 2 % over 1 ms (1 GHz), for few QPs and many, from the second round on; the link stays busy.
class QpSchedulerWeights : public ::testing::TestWithParam<std::tuple<unsigned, unsigned>> {};

TEST_P(QpSchedulerWeights, HoldWithinTwoPercent) {
  const auto [qps, kind] = GetParam();
  const uint64_t seed = test_seed();
  SCOPED_TRACE("RNIC_TEST_SEED=" + std::to_string(seed));
  Link link(seed);
  for (unsigned q = 0; q < qps; ++q) {
    Link::Flow f;
    f.qpn = q, f.weight = 1u << (q % 3);
    f.frame = messages({kind == 0 ? uint64_t{1} << 31 : kind == 1 ? uint64_t{65536} : uint64_t{4096}});
    link.flows.push_back(f);
  }
  link.start();
  link.run(1000);
  double before[3] = {}, after[3] = {};
  for (const auto& f : link.flows) before[f.qpn % 3] += static_cast<double>(f.bytes);
  const uint64_t idle = link.idle_cycles;
  link.run(1000000);
  for (const auto& f : link.flows) after[f.qpn % 3] += static_cast<double>(f.bytes);
  double total = 0, weights = 0;
  for (unsigned k = 0; k < 3; ++k) {
    after[k] -= before[k];
    total += after[k];
    weights += (1u << k) * ((qps + 2 - k) / 3);
  }
  for (unsigned k = 0; k < 3; ++k) {
    const double share = total * (1u << k) * ((qps + 2 - k) / 3) / weights;
    EXPECT_NEAR(after[k], share, 0.02 * share) << "weight " << (1u << k);
  }
  EXPECT_LE(link.idle_cycles - idle, 10000u);
}

INSTANTIATE_TEST_SUITE_P(Grid, QpSchedulerWeights,
                         ::testing::Combine(::testing::Values(3u, 6u, 48u, 192u), ::testing::Values(0u, 1u, 2u)));

// Small packets of one QP do not make the link wait for its turns, when there are few QPs.
TEST(QpSchedulerTest, LinkDoesNotWaitForSmallPackets) {
  Link link(test_seed());
  link.flows.resize(2);
  link.flows[0].qpn = 5, link.flows[0].frame = messages({64});
  link.flows[1].qpn = 9, link.flows[1].frame = messages({uint64_t{1} << 31}), link.flows[1].bulk = true;
  link.start();
  link.run(200000);
  EXPECT_LE(link.idle_cycles, 12000u);  // 6 %
  EXPECT_GT(link.flows[0].grants, 1000u);
}

// Priorities that are not strict share by weight; the strict ones go first, higher before lower; nobody starves but
// below a strict priority.
TEST(QpSchedulerTest, PrioritiesShareByWeightAndStrictOnesGoFirst) {
  for (const bool strict : {false, true}) {
    Link link(test_seed());
    link.b.configure(strict ? 0x0a : 0, {1, 9, 3, 9, 6, 0, 0, 0});
    for (unsigned q = 0; q < 40; ++q) {
      Link::Flow f;
      f.qpn = q, f.prio = (q % 3) * 2, f.frame = messages({q % 2 != 0 ? uint64_t{1} << 20 : 1000});
      if (strict && q < 2) f.prio = q == 0 ? 3 : 1;
      link.flows.push_back(f);
    }
    link.start();
    link.run(3000);
    std::map<unsigned, double> before, after;
    for (const auto& f : link.flows) before[f.prio] += static_cast<double>(f.bytes);
    link.run(500000);
    for (const auto& f : link.flows) after[f.prio] += static_cast<double>(f.bytes);
    for (auto& [p, v] : after) v -= before[p];
    double shared = after[0] + after[2] + after[4];
    EXPECT_NEAR(after[0] / shared, 0.1, 0.003);
    EXPECT_NEAR(after[2] / shared, 0.3, 0.006);
    EXPECT_NEAR(after[4] / shared, 0.6, 0.012);
    if (strict) {
      // As often as the turns before them in the pipeline let them
      for (unsigned q = 2; q < 40; ++q) {
        EXPECT_GT(link.flows[0].grants, link.flows[q].grants);
        EXPECT_GT(link.flows[1].grants, link.flows[q].grants);
      }
    }
    for (const auto& f : link.flows) EXPECT_GT(f.grants, 20u) << f.qpn;
  }
}

// One QP in each of two priorities, mostly handed out: their weights hold nevertheless.
TEST(QpSchedulerTest, LoneQpsOfTwoPrioritiesShareByWeight) {
  Link link(test_seed());
  link.b.configure(0, {1, 3, 0, 0, 0, 0, 0, 0});
  link.flows.resize(2);
  for (unsigned q = 0; q < 2; ++q)
    link.flows[q].qpn = q, link.flows[q].prio = q, link.flows[q].frame = messages({1 << 30});
  link.start();
  link.run(500000);
  EXPECT_NEAR(static_cast<double>(link.flows[1].bytes) / static_cast<double>(link.flows[0].bytes), 3, 0.06);
}

// A strict priority that always has work leaves nothing to the others.
TEST(QpSchedulerTest, StrictPriorityGoesBeforeTheOthers) {
  for (const unsigned strict : {0x20u, 0xa0u}) {  // 5; 5 and 7, of which 7 goes first
    SchedBench b;
    b.configure(strict, {});
    auto teach = [&](unsigned q, unsigned prio, bool more) {
      rtl::turn_end_t t;
      t.qpn = q, t.prio = prio, t.bytes = 4000, t.more = more;
      b.turn(t);
    };
    for (unsigned q = 0; q < 6; ++q) b.ring(q);
    for (unsigned q = 0; q < 6; ++q) {
      ASSERT_EQ(b.take_within(kSettle), static_cast<int>(q));
      teach(q, q < 3 ? 5 : 7, true);
    }
    // The register was filled with what came first.
    for (int i = 0; i < 60; ++i) {
      b.rest();
      const int q = b.take();
      ASSERT_GE(q, 0);
      if (i > 0) {
        ASSERT_EQ(q < 3, strict == 0x20);
      }
      teach(q, q < 3 ? 5 : 7, true);
    }
  }
}

// A priority is granted only while it is ready; a QP whose priority is not known yet always is.
TEST(QpSchedulerTest, PriorityWithoutRoomIsNotGranted) {
  SchedBench b;
  for (unsigned q = 0; q < 16; ++q) b.ring(q);
  b.top->prio_ready_i = 0;
  b.top->starving_i = 1;
  for (unsigned q = 0; q < 16; ++q) {
    ASSERT_EQ(b.take_within(kSettle), static_cast<int>(q));
    rtl::turn_end_t t;
    t.qpn = q, t.prio = q % 8, t.bytes = 4224, t.more = true;
    b.turn(t);
  }
  b.rest();
  EXPECT_FALSE(b.top->grant_valid_o);
  EXPECT_FALSE(b.top->idle_o);
  for (unsigned p : {3u, 7u, 0u}) {
    b.top->prio_ready_i = 1u << p;
    EXPECT_EQ(b.take_within(kSettle), static_cast<int>(p));
    EXPECT_EQ(b.take_within(kSettle), static_cast<int>(p + 8));
    EXPECT_EQ(b.take_within(kSettle), -1);
  }
  // Neither does one pass on the short way.
  for (unsigned q : {3u, 11u}) {
    rtl::turn_end_t t;
    t.qpn = q, t.prio = 3, t.bytes = 4224;
    b.turn(t);
  }
  for (unsigned q : {7u, 15u, 0u, 8u}) b.release(q);
  b.top->prio_ready_i = 0;
  b.rest();
  b.ring(3);
  b.rest();
  EXPECT_FALSE(b.top->grant_valid_o);
  b.top->prio_ready_i = 8;
  EXPECT_EQ(b.take_within(kSettle), 3);
}

// With all QPs always having work and grants always taken, there is a grant every cycle.
TEST(QpSchedulerTest, OneGrantACycle) {
  SchedBench b;
  for (unsigned q = 0; q < kQps; ++q) b.ring(q);
  std::deque<int> out;
  unsigned grants = 0;
  for (unsigned i = 0; i < 5000; ++i) {
    if (out.size() > 10) {
      rtl::turn_end_t t;
      t.qpn = out.front(), t.more = true, t.bytes = 142, t.prio = out.front() % 2;
      out.pop_front();
      b.set_turn(t);
    }
    if (b.top->grant_valid_o) ++grants, out.push_back(b.top->grant_qpn_o);
    b.take();
  }
  EXPECT_GT(grants, 4900u);
}

// New rings find their way between QPs that come back at every edge.
TEST(QpSchedulerTest, RingsAreNotHeldUpByReturningQps) {
  SchedBench b;
  b.configure(1, {});
  for (unsigned q = 0; q < 100; ++q) b.ring(q);
  std::deque<int> out;
  int rung = -1, waited = 0;
  for (int i = 0; i < 3000; ++i) {
    if (out.size() > 3) {
      rtl::turn_end_t t;  // a long round and a strict priority: a grant and a release at every edge
      t.qpn = out.front(), t.more = true, t.bytes = 64, t.weight = 255;
      out.pop_front();
      b.set_turn(t);
    }
    if (i == 500) b.set_ring(1000), rung = i;
    if (b.top->grant_valid_o) {
      out.push_back(b.top->grant_qpn_o);
      if (b.top->grant_qpn_o == 1000 && waited == 0) waited = i - rung;
    }
    b.take();
  }
  EXPECT_GT(waited, 0);
  EXPECT_LT(waited, 250);
}

// A QP that idles and comes back at once, again and again, gets no more than those that always have work.
TEST(QpSchedulerTest, IdlingGainsNothing) {
  SchedBench b;
  std::map<int, double> bytes;
  for (unsigned q = 0; q < 4; ++q) b.ring(q);
  for (int i = 0; i < 4000; ++i) {
    const int q = b.take_within(kSettle);
    ASSERT_GE(q, 0);
    bytes[q] += 4000;
    rtl::turn_end_t t;
    t.qpn = q, t.more = q > 1, t.bytes = 4000;
    b.turn(t);
    if (!t.more) b.ring(q);
    b.rest();
  }
  for (unsigned q = 0; q < 4; ++q) EXPECT_NEAR(bytes[q], 4000.0 * 1000, 4000.0 * 100) << q;
}

// What is remembered of a QP goes with a clear: its priority is unknown, and it passes when none is ready.
TEST(QpSchedulerTest, ClearForgets) {
  SchedBench b;
  rtl::turn_end_t t;
  t.qpn = 6, t.prio = 4, t.bytes = 100, t.rate_en = true, t.rate_gap = 1u << 20;
  b.ring(6);
  EXPECT_EQ(b.take(), 6);
  b.turn(t);
  b.rest(20);
  b.top->prio_ready_i = 0;
  b.top->clear_i = 1, b.top->clear_qpn_i = 6;
  b.step();
  b.ring(6);
  EXPECT_EQ(b.take(), 6);
  // A turn that ends at the very edge teaches nothing.
  b.top->clear_i = 1, b.top->clear_qpn_i = 6;
  b.turn(t);
  b.rest(20);
  b.ring(6);
  EXPECT_EQ(b.take(), 6);
}

// ---- Rate limiter
// ----------------------------------------------------------------------------------------------------

rtl::turn_end_t limited_turn(unsigned qpn, unsigned bytes, uint32_t gap, uint16_t burst, bool more = true) {
  rtl::turn_end_t t;
  t.qpn = qpn, t.bytes = bytes, t.rate_en = true, t.rate_gap = gap, t.rate_burst = burst, t.more = more;
  return t;
}

// Random turns of QPs with random rates: each is granted not before the time of GCRA's definition, and soon after it.
class QpSchedulerRate : public ::testing::TestWithParam<unsigned> {};

TEST_P(QpSchedulerRate, HoldsBackUntilTheTimeOfTheDefinition) {
  const unsigned qps = GetParam();
  const uint64_t seed = test_seed();
  SCOPED_TRACE("RNIC_TEST_SEED=" + std::to_string(seed));
  SchedBench b(seed);
  struct Qp {
    golden::Gcra gcra;
    uint32_t gap = 0;
    uint16_t burst = 0;
    uint64_t may = 0;       // first ns
    uint64_t released = 0;  // edge
    bool busy = false;
  };
  std::vector<Qp> qp(qps);
  std::deque<unsigned> out;
  for (Qp& q : qp) q.gap = b.rng() % (3000 * qps), q.burst = b.chance(50) ? 0 : b.rng() % 64;
  uint64_t now = uint64_t{1} << 33, held = 0, latest = 0, grants = 0;
  for (int i = 0; i < 60000; ++i, ++now) {
    b.top->now_i = now;
    const unsigned r = b.rng() % qps;
    if (b.chance(20) && !qp[r].busy) b.set_ring(r), qp[r].busy = true, qp[r].released = now;
    if (!out.empty() && b.chance(30)) {
      const unsigned q = out.front();
      out.pop_front();
      const unsigned bytes = b.chance(10) ? 4198 : 64 + b.rng() % 300;
      const bool more = b.chance(70);
      qp[q].may = qp[q].gcra.charge(now, bytes, qp[q].gap, qp[q].burst);
      qp[q].released = now, qp[q].busy = more;
      b.set_turn(limited_turn(q, bytes, qp[q].gap, qp[q].burst, more));
    }
    b.top->grant_ready_i = 1;
    b.settle();
    if (b.top->grant_valid_o) {
      const unsigned q = b.top->grant_qpn_o;
      ASSERT_GE(now, qp[q].may);
      const uint64_t since = std::max(qp[q].may, qp[q].released);
      held += qp[q].may > qp[q].released + 50;
      latest = std::max(latest, now - since);
      ++grants;
      out.push_back(q);
    }
    b.step();
  }
  EXPECT_GT(held, 50u);
  EXPECT_GT(grants, 1000u);
  EXPECT_LT(latest, 40u + 14 * qps);  // all of them may be due at once
}

INSTANTIATE_TEST_SUITE_P(Qps, QpSchedulerRate, ::testing::Values(1u, 4u, 60u));

// A throttled QP's rate is exact to the packet over a long time, and its burst leaves at once behind an idle time.
TEST(QpSchedulerTest, RateAndBurstAreExact) {
  SchedBench b;
  uint64_t now = 1000;
  auto run = [&](unsigned burst, unsigned turns, uint64_t& first_burst) {
    first_burst = 0;
    uint64_t last = 0, begin = now;
    unsigned n = 0;
    bool turn_due = false;
    b.ring(2);
    while (n < turns) {
      b.top->now_i = now++;
      if (turn_due) b.set_turn(limited_turn(2, 1000, 32768, burst)), turn_due = false;  // 0.5 ns a byte
      b.top->grant_ready_i = 1;
      b.settle();
      if (b.top->grant_valid_o) {
        if (n == 0) begin = now;
        if (now - begin < 300) ++first_burst;
        ++n, last = now, turn_due = true;
      }
      b.step();
    }
    b.top->now_i = now;
    b.turn(limited_turn(2, 1000, 32768, burst, false));
    b.rest(30);
    now += 100000;
    return last - begin;
  };
  uint64_t at_once = 0;
  // Without burst the way through the scheduler is lost each time.
  EXPECT_NEAR(static_cast<double>(run(0, 101, at_once)), 100 * 512, 100 * 12);
  EXPECT_EQ(at_once, 1u);
  // 16 * 256 B: while no more than 4096 B are owed it goes on, so five packets leave at once.
  EXPECT_NEAR(static_cast<double>(run(16, 105, at_once)), 100 * 500, 100);
  EXPECT_EQ(at_once, 5u);
}

// While only throttled QPs wait the scheduler is idle and tells the time; edges until then change nothing, and one at
// that time lets the QP go. A bench whose clock stands still meanwhile behaves as one whose clock runs.
TEST(QpSchedulerTest, ClockMayStandStillUntilTheTimersEnd) {
  const uint64_t seed = test_seed();
  SCOPED_TRACE("RNIC_TEST_SEED=" + std::to_string(seed));
  SchedBench runs(seed), stands(seed);
  uint64_t now = 5000, skipped = 0, timers = 0;
  std::deque<std::pair<uint64_t, unsigned>> out;
  uint64_t next_ring = now;
  unsigned grants = 0;
  for (int i = 0; i < 60000; ++i, ++now) {
    const bool ring = now == next_ring;
    const unsigned rq = runs.rng() % 12;
    if (ring) next_ring = now + 1 + runs.rng() % 3000;
    const bool rel = !out.empty() && out.front().first <= now;
    rtl::turn_end_t t = limited_turn(rel ? out.front().second : 0, 64 + runs.rng() % 1000, 1u << (10 + runs.rng() % 10),
                                     runs.rng() % 3, runs.chance(80));
    t.rate_en = runs.chance(80);
    if (rel) out.pop_front();
    const bool clear = runs.chance(1) && runs.chance(20);
    const bool idle = runs.top->idle_o, ready = runs.chance(90);
    const bool due = runs.top->timer_valid_o && runs.top->timer_deadline_o <= now;
    for (SchedBench* s : {&runs, &stands}) {
      if (s == &stands && idle && !ring && !rel && !clear && !due) {
        ++skipped;
        continue;
      }
      s->top->now_i = now;
      if (ring) s->set_ring(rq);
      if (rel) s->set_turn(t);
      if (clear) s->top->clear_i = 1, s->top->clear_qpn_i = rq;
      s->top->grant_ready_i = ready;
      s->settle();
      if (s == &stands && s->top->grant_valid_o && ready) out.emplace_back(now + 10, s->top->grant_qpn_o), ++grants;
      s->step();
    }
    ASSERT_EQ(runs.top->idle_o, stands.top->idle_o) << now;
    ASSERT_EQ(runs.top->grant_valid_o, stands.top->grant_valid_o);
    if (runs.top->grant_valid_o) {
      ASSERT_EQ(runs.top->grant_qpn_o, stands.top->grant_qpn_o);
    }
    if (runs.top->idle_o) {
      ASSERT_EQ(runs.top->timer_valid_o, stands.top->timer_valid_o);
      if (runs.top->timer_valid_o) {
        ASSERT_EQ(runs.top->timer_deadline_o, stands.top->timer_deadline_o);
        ++timers;
      }
    }
  }
  EXPECT_GT(skipped, 8000u);
  EXPECT_GT(timers, 8000u);
  EXPECT_GT(grants, 100u);
}

// The timer tells the earliest of the throttled QPs to the ns, whatever came and went.
TEST(QpSchedulerTest, TimerTellsTheEarliest) {
  const uint64_t seed = test_seed();
  SCOPED_TRACE("RNIC_TEST_SEED=" + std::to_string(seed));
  SchedBench b(seed);
  b.top->now_i = 10;
  std::map<unsigned, uint64_t> waits;
  for (unsigned n = 0; n < 300; ++n) {
    const unsigned q = b.rng() % kQps;
    if (waits.count(q) != 0) continue;
    const unsigned bytes = 64 + b.rng() % 4000;
    const uint32_t gap = (1u << 24) + b.rng() % (1u << 27);
    b.ring(q);
    ASSERT_EQ(b.take_within(kSettle), static_cast<int>(q));
    b.turn(limited_turn(q, bytes, gap, 0));
    waits[q] = golden::Gcra().charge(10, bytes, gap, 0);
    b.rest(30);
    const uint64_t first =
        std::min_element(waits.begin(), waits.end(), [](auto& a, auto& c) { return a.second < c.second; })->second;
    ASSERT_TRUE(b.top->idle_o);
    ASSERT_TRUE(b.top->timer_valid_o);
    ASSERT_EQ(b.top->timer_deadline_o, first);
  }
  while (!waits.empty()) {
    const auto first =
        std::min_element(waits.begin(), waits.end(), [](auto& a, auto& c) { return a.second < c.second; });
    ASSERT_EQ(b.top->timer_deadline_o, first->second);
    b.top->now_i = first->second - 1;
    b.rest(3);
    ASSERT_TRUE(b.top->idle_o);
    b.top->now_i = first->second;
    b.settle();
    ASSERT_FALSE(b.top->idle_o);
    const int q = b.take_within(20);
    ASSERT_EQ(waits.at(q), first->second);
    waits.erase(q);
    b.release(q);
    b.rest(30);
  }
  EXPECT_FALSE(b.top->timer_valid_o);
}

// Tokens pay before the bucket, 64 B each, and only as many as a frame needs.
TEST(QpSchedulerTest, TokensPayFirst) {
  SchedBench b;
  b.top->now_i = 100;
  auto serve = [&](unsigned bytes) {
    b.rest(30);
    const bool granted = b.top->grant_valid_o;
    if (granted) {
      EXPECT_EQ(b.take(), 3);
      b.turn(limited_turn(3, bytes, 1u << 26, 0));
    }
    return granted;
  };
  b.top->rate_valid_i = 1, b.top->rate_i = (3u << 16) | 7;
  b.step();
  b.ring(3);
  EXPECT_TRUE(serve(129));  // three tokens; four are left
  EXPECT_TRUE(serve(128));  // two
  b.top->rate_valid_i = 1, b.top->rate_i = (3u << 16) | 1;
  b.step();
  EXPECT_TRUE(serve(192 + 10));  // three, and 10 B on the bucket
  b.rest(30);
  EXPECT_FALSE(b.top->grant_valid_o);
  EXPECT_EQ(b.top->timer_deadline_o, 100u + 10 * 1024);
  // A clear lets it go and takes the tokens it got meanwhile.
  b.top->rate_valid_i = 1, b.top->rate_i = (3u << 16) | 100;
  b.step();
  b.top->clear_i = 1, b.top->clear_qpn_i = 3;
  b.step();
  EXPECT_TRUE(serve(64));
  b.rest(30);
  EXPECT_FALSE(b.top->grant_valid_o);
  EXPECT_EQ(b.top->timer_deadline_o, 100u + 64 * 1024);
}

// Edges while idle change nothing: a bench that gets any number of them behaves as one that gets none.
TEST(QpSchedulerTest, IdleEdgesChangeNothing) {
  const uint64_t seed = test_seed();
  SCOPED_TRACE("RNIC_TEST_SEED=" + std::to_string(seed));
  SchedBench a(seed), b(seed);
  std::deque<unsigned> out;
  unsigned skipped = 0;
  for (int i = 0; i < 3000; ++i) {
    const bool ring = a.chance(5), rel = !out.empty() && a.chance(50), ready = a.chance(60);
    const unsigned rq = a.rng() % 4, lq = rel ? out.front() : 0;
    for (SchedBench* s : {&a, &b}) {
      s->quiet();
      if (ring) s->set_ring(rq);
      if (rel) s->set_release(lq);
      s->top->grant_ready_i = ready;
      s->settle();
    }
    ASSERT_EQ(a.top->idle_o, b.top->idle_o);
    ASSERT_EQ(a.top->grant_valid_o, b.top->grant_valid_o);
    if (a.top->grant_valid_o) {
      ASSERT_EQ(a.top->grant_qpn_o, b.top->grant_qpn_o);
    }
    if (rel) out.pop_front();
    if (a.top->grant_valid_o && ready) out.push_back(a.top->grant_qpn_o);
    a.tick(), b.tick();
    a.quiet(), a.settle();
    if (a.top->idle_o) {
      for (unsigned n = a.rng() % 4; n-- != 0; ++skipped) a.tick();
    }
  }
  EXPECT_GT(skipped, 100u);
}

}  // namespace
}  // namespace rnic::test
