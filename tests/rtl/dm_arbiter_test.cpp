// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <deque>
#include <vector>

#include "Vdm_arbiter.h"
#include "rtl/bench.h"

namespace rnic::test {
namespace {

// Built with seven requesters and room for eight reads.
constexpr unsigned kN = 7;
constexpr unsigned kDepth = 8;

struct ArbiterBench : Bench<Vdm_arbiter> {
  using Bench::Bench;
  /// A model's destructor uses the thread's context, which may be that of another bench, already gone.
  ~ArbiterBench() { Verilated::threadContextp(top->contextp()); }
  void offer(unsigned i, const rtl::dm_req_t& r) {
    r.pack_at(&top->req_i[0], i * rtl::dm_req_t::kWidth);
    top->req_valid_i |= 1u << i;
  }
  void withdraw(unsigned i) { top->req_valid_i &= ~(1u << i); }
  rtl::dm_req_t request(bool write, bool two) {
    rtl::dm_req_t r;
    r.write = write, r.two = two;
    r.addr = (rng() & 0xFFFFFFF) & ~63u;
    r.strb = rng();
    for (auto& w : r.data) w = static_cast<uint32_t>(rng());
    return r;
  }
  rtl::dm_req_t offered() { return rtl::sample<rtl::dm_req_t>(top->dm_req_o); }
  void answer(bool valid, bool last = true, uint32_t tag = 0) {
    rtl::dm_rsp_t d;
    d.last = last, d.data[0] = tag, d.data[15] = ~tag;
    rtl::drive(top->dm_rsp_i, d);
    top->dm_rsp_valid_i = valid;
  }
};

// Any mixture of reads of one and two beats and writes from all requesters, with a slow memory: every request reaches
// the memory whole and in its requester's order, an offered one stays, each answer goes to the one that asked, at most
// Depth reads are in flight, and nothing is left at the end.
class DmArbiterRandom : public ::testing::TestWithParam<std::tuple<unsigned, unsigned, unsigned, unsigned>> {};

TEST_P(DmArbiterRandom, RequestsAndAnswersFindTheirWay) {
  const auto [req_pct, ready_pct, answer_pct, write_pct] = GetParam();
  const uint64_t seed = test_seed();
  SCOPED_TRACE("RNIC_TEST_SEED=" + std::to_string(seed));
  ArbiterBench b(seed);
  struct Read {
    unsigned from, beats;
  };
  std::vector<rtl::dm_req_t> now(kN);
  std::vector<bool> has(kN);
  std::deque<Read> in_flight;
  unsigned moved = 0, answered = 0, most = 0, reads = 0;
  bool held = false;
  rtl::dm_req_t::Words held_req{};
  const int cycles = 2500;
  auto busy = [&] { return !in_flight.empty() || std::count(has.begin(), has.end(), true) != 0; };
  for (int c = 0; c < cycles || busy(); ++c) {
    ASSERT_LT(c, cycles + 5000);
    for (unsigned i = 0; i < kN; ++i) {
      if (!has[i] && c < cycles && b.chance(req_pct)) {
        now[i] = b.request(b.chance(write_pct), b.chance(50));
        has[i] = true;
        b.offer(i, now[i]);
      }
    }
    b.top->dm_req_ready_i = b.chance(ready_pct);
    const bool answer = !in_flight.empty() && b.chance(answer_pct);
    const uint32_t tag = static_cast<uint32_t>(b.rng());
    b.answer(answer, answer && in_flight.front().beats == 1, tag);
    b.settle();
    ASSERT_EQ(b.top->idle_o, in_flight.empty() && !held);
    ASSERT_EQ(b.top->rsp_valid_o, answer ? 1u << in_flight.front().from : 0u);
    if (answer) {
      const auto d = rtl::sample<rtl::dm_rsp_t>(b.top->rsp_o);
      ASSERT_EQ(d.data[0], tag);
      ASSERT_EQ(d.data[15], ~tag);
      ASSERT_EQ(d.last, in_flight.front().beats == 1);
    }
    bool any = false;
    for (unsigned i = 0; i < kN; ++i) any |= has[i] && (now[i].write || in_flight.size() < kDepth);
    ASSERT_EQ(b.top->dm_req_valid_o, any);
    const auto words = b.offered().pack();
    if (held) {
      ASSERT_EQ(words, held_req);
    }
    held = any && !b.top->dm_req_ready_i;
    held_req = words;
    const unsigned ready = b.top->req_ready_o & b.top->req_valid_i;
    ASSERT_EQ(ready != 0, any && b.top->dm_req_ready_i);
    b.tick();
    if (answer) {
      ++answered;
      if (--in_flight.front().beats == 0) in_flight.pop_front();
    }
    for (unsigned i = 0; i < kN; ++i) {
      if ((ready >> i & 1) == 0) continue;
      ASSERT_EQ(ready, 1u << i);
      ASSERT_EQ(words, now[i].pack());
      ++moved;
      if (!now[i].write) {
        in_flight.push_back({i, now[i].two ? 2u : 1u});
        ++reads;
      }
      has[i] = false;
      b.withdraw(i);
    }
    most = std::max<unsigned>(most, in_flight.size());
    ASSERT_LE(in_flight.size(), kDepth);
  }
  b.answer(false);
  b.settle();
  EXPECT_TRUE(b.top->idle_o);
  EXPECT_FALSE(b.top->dm_req_valid_o);
  EXPECT_GT(moved, 100u);
  EXPECT_GE(answered, reads);
  if (write_pct == 0 && answer_pct == 20 && req_pct == 100) {
    EXPECT_EQ(most, kDepth);
  }
}

INSTANTIATE_TEST_SUITE_P(Grid, DmArbiterRandom,
                         ::testing::Combine(::testing::Values(10u, 50u, 100u), ::testing::Values(30u, 100u),
                                            ::testing::Values(20u, 100u), ::testing::Values(0u, 30u, 90u)));

// With all requesters always wanting, each is served once in any seven grants.
TEST(DmArbiterTest, SaturatedSharesAreEqual) {
  ArbiterBench b(test_seed());
  for (unsigned i = 0; i < kN; ++i) b.offer(i, b.request(true, false));
  std::deque<unsigned> order;
  for (int c = 0; c < 500; ++c) {
    b.top->dm_req_ready_i = b.chance(60);
    b.settle();
    const unsigned ready = b.top->req_ready_o;
    b.tick();
    if (ready == 0) continue;
    for (unsigned o : order) ASSERT_NE(o, ready);
    order.push_back(ready);
    if (order.size() == kN) order.pop_front();
  }
}

// Reads waiting for room share it evenly, however many writes go on meanwhile.
TEST(DmArbiterTest, WritesDoNotStarveBlockedReads) {
  ArbiterBench b(test_seed());
  std::vector<unsigned> served(kN);
  for (unsigned i = 0; i < kN; ++i) b.offer(i, b.request(i >= 3, false));
  unsigned in_flight = 0;
  for (int c = 0; c < 3000; ++c) {
    b.top->dm_req_ready_i = 1;
    const bool answer = in_flight != 0 && c % 4 == 0;
    b.answer(answer);
    b.settle();
    const unsigned ready = b.top->req_ready_o;
    b.tick();
    if (answer) --in_flight;
    for (unsigned i = 0; i < kN; ++i) {
      if (ready >> i & 1) ++served[i], in_flight += i < 3;
    }
  }
  for (unsigned i = 0; i < 3; ++i) EXPECT_NEAR(served[i], 250, 5) << "requester " << i;
  for (unsigned i = 3; i < kN; ++i) EXPECT_GT(served[i], 2000u / (kN - 3)) << "requester " << i;
}

// A request passes in the cycle in which it is offered.
TEST(DmArbiterTest, PassesCombinationally) {
  ArbiterBench b;
  const auto r = b.request(false, true);
  b.offer(3, r);
  b.top->dm_req_ready_i = 1;
  b.settle();
  EXPECT_TRUE(b.top->dm_req_valid_o);
  EXPECT_EQ(b.top->req_ready_o, 1u << 3);
  EXPECT_EQ(b.offered().pack(), r.pack());
}

// Edges while idle change nothing: a bench that gets any number of them makes the same choices as one that gets none.
TEST(DmArbiterTest, IdleEdgesChangeNothing) {
  ArbiterBench a(test_seed()), b(test_seed());
  for (int c = 0; c < 1000; ++c) {
    const unsigned want = a.rng() % (1u << kN);
    const bool ready = a.chance(50);
    const auto r = a.request(true, false);
    for (ArbiterBench* s : {&a, &b}) {
      for (unsigned i = 0; i < kN; ++i) {
        if (want >> i & 1) s->offer(i, r);
      }
      s->top->dm_req_ready_i = ready;
    }
    const uint64_t start = a.cycle;
    do {
      ASSERT_LT(a.cycle, start + 100);
      a.settle(), b.settle();
      ASSERT_EQ(a.top->req_ready_o, b.top->req_ready_o);
      const unsigned taken = a.top->req_ready_o & a.top->req_valid_i;
      a.tick(), b.tick();
      for (ArbiterBench* s : {&a, &b}) s->top->req_valid_i &= ~taken, s->top->dm_req_ready_i = 1;
    } while (a.top->req_valid_i != 0);
    a.settle();
    ASSERT_TRUE(a.top->idle_o);
    for (int e = c % 4; e-- != 0;) a.tick();
  }
}

}  // namespace
}  // namespace rnic::test
