// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <deque>
#include <set>
#include <vector>

#include "Vqp_scheduler.h"
#include "rtl/bench.h"

namespace rnic::test {
namespace {

struct SchedBench : Bench<Vqp_scheduler> {
  using Bench::Bench;
  /// A model's destructor uses the thread's context, which may be that of another bench, already gone.
  ~SchedBench() { Verilated::threadContextp(top->contextp()); }
  void quiet() { top->ring_i = top->release_i = top->release_more_i = top->grant_ready_i = 0; }
  void set_ring(unsigned q) { top->ring_i = 1, top->ring_qpn_i = q; }
  void set_release(unsigned q, bool more = false) {
    top->release_i = 1, top->release_qpn_i = q, top->release_more_i = more;
  }
  /// One edge with what was set; everything quiet afterwards.
  void step() {
    tick();
    quiet();
    settle();
  }
  void ring(unsigned q) { set_ring(q), step(); }
  void release(unsigned q, bool more = false) { set_release(q, more), step(); }
  /// Takes the offered grant; -1 if there is none.
  int take() {
    const int q = top->grant_valid_o ? top->grant_qpn_o : -1;
    top->grant_ready_i = 1;
    step();
    return q;
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
  EXPECT_TRUE(b.top->idle_o);
  EXPECT_EQ(b.take(), -1);
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
  EXPECT_EQ(b.take(), -1);
  EXPECT_TRUE(b.top->idle_o);
}

// A release that knows of more work queues the QP again.
TEST(QpSchedulerTest, ReleaseWithMoreQueuesAgain) {
  SchedBench b;
  b.ring(0);
  EXPECT_EQ(b.take(), 0);
  b.release(0, true);
  EXPECT_EQ(b.take(), 0);
  b.release(0);
  EXPECT_TRUE(b.top->idle_o);
}

// Grant, release and ring of three different QPs at one edge all take effect, the new one before the returning one.
TEST(QpSchedulerTest, ThreeEventsAtOneEdge) {
  SchedBench b;
  b.ring(1);
  b.ring(2);
  EXPECT_EQ(b.take(), 1);
  b.set_ring(3);
  b.set_release(1, true);
  EXPECT_EQ(b.take(), 2);
  EXPECT_EQ(b.take(), 3);
  EXPECT_EQ(b.take(), 1);
  EXPECT_EQ(b.take(), -1);
  for (unsigned q : {1, 2, 3}) b.release(q);
  EXPECT_TRUE(b.top->idle_o);
}

// With all QPs always having work, each is granted once in any NumQp grants in a row.
TEST(QpSchedulerTest, SaturatedRoundRobinIsFair) {
  SchedBench b;
  constexpr unsigned kQps = rtl::rnic_pkg::NumQp;
  for (unsigned q = 0; q < kQps; ++q) b.ring(q);
  std::deque<int> order;
  int out = -1;
  for (unsigned i = 0; i < 3 * kQps; ++i) {
    if (out >= 0) b.set_release(out, true);
    out = b.top->grant_qpn_o;
    ASSERT_TRUE(b.top->grant_valid_o);
    ASSERT_EQ(b.take(), out);
    if (order.size() >= kQps - 1) {
      ASSERT_EQ(std::set<int>(order.begin(), order.end()).count(out), i < kQps ? 0u : order.size() == kQps);
    }
    order.push_back(out);
    if (order.size() > kQps) order.pop_front();
    if (order.size() == kQps) {
      ASSERT_EQ(std::set<int>(order.begin(), order.end()).size(), kQps);
    }
  }
}

// The rules of the header, event by event, over few and many QPs and all rates: every ring is followed by a grant after
// it, no QP is granted twice without a release between, grants come in arrival order, and nothing is left at the end.
class QpSchedulerRandom : public ::testing::TestWithParam<std::tuple<unsigned, unsigned, unsigned, unsigned>> {};

TEST_P(QpSchedulerRandom, FollowsTheModel) {
  const auto [qps, ring_pct, ready_pct, release_pct] = GetParam();
  const uint64_t seed = test_seed();
  SCOPED_TRACE("RNIC_TEST_SEED=" + std::to_string(seed));
  SchedBench b(seed);
  b.quiet();
  enum { kFree, kWaiting, kOut };
  struct Qp {
    int state = kFree;
    bool again = false;
    bool owed = false;  // a ring without a grant after it
    uint64_t grants_then = 0;
  };
  std::vector<Qp> qp(qps);
  std::deque<unsigned> queue;
  std::vector<unsigned> out;
  uint64_t rings = 0, grants = 0, coalesced = 0;
  const int cycles = 6000;
  for (int i = 0; i < cycles || !queue.empty() || !out.empty(); ++i) {
    ASSERT_LT(i, cycles + 50000);
    const bool drain = i >= cycles;
    auto pick = [&] { return static_cast<unsigned>(b.rng() % qps); };
    const bool ring = !drain && b.chance(ring_pct);
    const unsigned rq = !out.empty() && b.chance(30)     ? out[b.rng() % out.size()]
                        : !queue.empty() && b.chance(30) ? queue.front()
                                                         : pick();
    const bool rel = !out.empty() && (drain || b.chance(release_pct));
    const size_t ri = rel ? b.rng() % out.size() : 0;
    const unsigned lq = rel ? (ring && b.chance(50) && qp[rq].state == kOut ? rq : out[ri]) : 0;
    const bool more = !drain && b.chance(30);
    b.top->ring_i = ring;
    b.top->ring_qpn_i = rq;
    b.top->release_i = rel;
    b.top->release_qpn_i = lq;
    b.top->release_more_i = more;
    b.top->grant_ready_i = b.chance(ready_pct);
    b.settle();
    ASSERT_EQ(b.top->grant_valid_o, !queue.empty());
    if (!queue.empty()) {
      ASSERT_EQ(b.top->grant_qpn_o, queue.front());
    }
    ASSERT_EQ(b.top->idle_o, queue.empty() && out.empty());
    const bool grant = !queue.empty() && b.top->grant_ready_i;
    const unsigned gq = grant ? queue.front() : 0;
    // What one edge does, from the rules
    bool expect_coalesced = false;
    if (ring) {
      const bool granted_now = grant && gq == rq;
      if (qp[rq].state == kWaiting) expect_coalesced = !granted_now;
      if (qp[rq].state == kOut) expect_coalesced = qp[rq].again || (rel && lq == rq && more);
    }
    ASSERT_EQ(b.top->stat_coalesced_o, expect_coalesced);
    coalesced += expect_coalesced;
    if (grant) {
      ASSERT_EQ(qp[gq].state, kWaiting);
      ASSERT_LT(grants - qp[gq].grants_then, qps);
      qp[gq].state = kOut, qp[gq].again = false, qp[gq].owed = false;
      queue.pop_front();
      ++grants;
    }
    if (ring) {
      ++rings;
      qp[rq].owed = true;
      if (qp[rq].state == kFree) {
        qp[rq].state = kWaiting, qp[rq].grants_then = grants;
        queue.push_back(rq);
      } else {
        qp[rq].again = true;
      }
    }
    if (rel) {
      out.erase(std::find(out.begin(), out.end(), lq));
      if (more || qp[lq].again) {
        qp[lq].state = kWaiting, qp[lq].grants_then = grants;
        queue.push_back(lq);
      } else {
        qp[lq].state = kFree;
      }
    }
    if (grant) out.push_back(gq);
    b.tick();
  }
  b.quiet();
  b.settle();
  for (const Qp& q : qp) ASSERT_FALSE(q.owed);
  EXPECT_TRUE(b.top->idle_o);
  EXPECT_FALSE(b.top->grant_valid_o);
  EXPECT_GT(grants, 50u);
  EXPECT_GT(rings, 50u);
}

INSTANTIATE_TEST_SUITE_P(Grid, QpSchedulerRandom,
                         ::testing::Combine(::testing::Values(1u, 2u, 5u, 64u, 1024u), ::testing::Values(5u, 50u, 100u),
                                            ::testing::Values(10u, 60u, 100u), ::testing::Values(10u, 60u, 100u)));

// Edges while idle change nothing: a bench that gets any number of them behaves as one that gets none.
TEST(QpSchedulerTest, IdleEdgesChangeNothing) {
  const uint64_t seed = test_seed();
  SCOPED_TRACE("RNIC_TEST_SEED=" + std::to_string(seed));
  SchedBench a(seed), b(seed);
  a.quiet(), b.quiet();
  std::deque<unsigned> out;
  unsigned skipped = 0;
  for (int i = 0; i < 3000; ++i) {
    const bool ring = a.chance(20), rel = !out.empty() && a.chance(50), ready = a.chance(60);
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
