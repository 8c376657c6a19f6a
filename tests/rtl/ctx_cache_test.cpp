// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <vector>

#include "Vctx_cache.h"
#include "rtl/bench.h"
#include "support/latency.h"

namespace rnic::test {
namespace {

// Built with 16 entries; with lines of 128 and of 64 B.
constexpr unsigned kEntries = 16;
constexpr unsigned kWords = sizeof(Vctx_cache::rsp_o) / 4;
constexpr unsigned kLineBytes = kWords * 4;
constexpr unsigned kBase = 0x40000;
using Line = std::array<uint32_t, kWords>;

struct CacheBench : Bench<Vctx_cache> {
  std::map<unsigned, unsigned> version;  // of a line in memory
  struct Read {
    Line line;
    uint64_t due;
    unsigned beat = 0;
  };
  std::deque<Read> reads;
  unsigned num_reads = 0, misses = 0;
  unsigned ready_pct = 100, beat_pct = 100, latency = 5;

  using Bench::Bench;
  /// A model's destructor uses the thread's context, which may be that of another bench, already gone.
  ~CacheBench() { Verilated::threadContextp(top->contextp()); }
  void quiet() { top->req_valid_i = top->inval_i = 0; }
  Line line_of(unsigned idx, unsigned v) {
    Line l;
    for (unsigned i = 0; i < kWords; ++i) l[i] = idx << 16 | i;
    l[0] = v;
    l[kWords - 1] = ~v;
    return l;
  }
  Line rsp() {
    Line l;
    for (unsigned i = 0; i < kWords; ++i) l[i] = top->rsp_o[i];
    return l;
  }
  /// One edge, with the memory's side played.
  void step() {
    top->dm_req_ready_i = chance(ready_pct);
    top->dm_rsp_valid_i = 0;
    bool done = false;
    if (!reads.empty() && reads.front().due <= cycle && chance(beat_pct)) {
      Read& r = reads.front();
      rtl::dm_rsp_t d;
      for (unsigned i = 0; i < 16; ++i) d.data[i] = r.line[16 * r.beat + i];
      d.last = ++r.beat == kWords / 16;
      rtl::drive(top->dm_rsp_i, d);
      top->dm_rsp_valid_i = 1;
      done = d.last;
    }
    settle();
    misses += top->stat_miss_o;
    if (top->dm_req_valid_o && top->dm_req_ready_i) {
      const auto q = rtl::sample<rtl::dm_req_t>(top->dm_req_o);
      EXPECT_FALSE(q.write);
      EXPECT_EQ(q.two, kLineBytes == 128);
      EXPECT_EQ((q.addr - kBase) % kLineBytes, 0u);
      const unsigned idx = (q.addr - kBase) / kLineBytes;
      reads.push_back({line_of(idx, version[idx]), cycle + latency});
      ++num_reads;
    }
    tick();
    if (done) reads.pop_front();
    quiet();
    settle();
  }
  /// One lookup alone; returns the version got.
  unsigned get(unsigned idx) {
    top->rsp_ready_i = 1;
    top->req_valid_i = 1, top->req_idx_i = idx;
    settle();
    EXPECT_TRUE(top->req_ready_o);
    step();
    for (int i = 0; !top->rsp_valid_o; ++i) {
      EXPECT_LT(i, 1000);
      if (i == 1000) return ~0u;
      step();
    }
    const Line l = rsp();
    EXPECT_EQ(l, line_of(idx, l[0]));
    step();
    EXPECT_TRUE(top->idle_o);
    return l[0];
  }
  void invalidate(unsigned idx) {
    ++version[idx];
    top->inval_i = 1, top->inval_idx_i = idx;
  }
};

// The first lookup reads memory once, later ones of that index never, and the counter says so.
TEST(CtxCacheTest, SecondLookupHits) {
  CacheBench b;
  for (unsigned idx : {0u, 7u, 1023u}) {
    const unsigned before = b.num_reads;
    for (int i = 0; i < 3; ++i) EXPECT_EQ(b.get(idx), 0u);
    EXPECT_EQ(b.num_reads, before + 1);
  }
  EXPECT_EQ(b.misses, b.num_reads);
}

// Two indices of one slot replace each other, and each lookup gets its own line.
TEST(CtxCacheTest, SameSlotReplaces) {
  CacheBench b;
  for (int i = 0; i < 3; ++i) {
    b.get(5);
    b.get(5 + kEntries);
  }
  EXPECT_EQ(b.num_reads, 6u);
}

// A hit taken at edge n is offered after edge n+1.
TEST(CtxCacheTest, HitTakesTwoCycles) {
  CacheBench b;
  b.get(3);
  b.top->req_valid_i = 1, b.top->req_idx_i = 3;
  int64_t cycles = 0;
  do b.step(), ++cycles;
  while (!b.top->rsp_valid_o && cycles < 100);
  EXPECT_TRUE(takes_cycles({"ctx_cache"}, {2}, {cycles}));
}

// Hits flow at one a cycle.
TEST(CtxCacheTest, HitsFlowAtOneACycle) {
  CacheBench b;
  for (unsigned i = 0; i < kEntries; ++i) b.get(i);
  unsigned got = 0, gaps = 0;
  b.top->rsp_ready_i = 1;
  for (unsigned i = 0; i < 100; ++i) {
    b.top->req_valid_i = 1, b.top->req_idx_i = i % kEntries;
    b.settle();
    ASSERT_TRUE(b.top->req_ready_o);
    if (b.top->rsp_valid_o) {
      ASSERT_EQ(b.rsp(), b.line_of(got++ % kEntries, 0));
    } else {
      gaps += got != 0;
    }
    b.step();
  }
  EXPECT_EQ(gaps, 0u);
  EXPECT_GT(got, 50u);
  EXPECT_EQ(b.num_reads, kEntries);
}

// An invalidation at any edge before, at or after a lookup: lookups taken at that edge or later see the new memory.
TEST(CtxCacheTest, LookupAfterInvalidationReadsAnew) {
  for (bool warm : {false, true}) {
    for (int when = 0; when < 20; ++when) {
      CacheBench b;
      if (warm) b.get(9);
      b.top->rsp_ready_i = 1;
      // The invalidation comes at edge `when`, the lookup at edge 0
      bool answered = false;
      for (int e = 0; e < 40; ++e) {
        if (e == 0) b.top->req_valid_i = 1, b.top->req_idx_i = 9;
        if (e == when) b.invalidate(9);
        b.settle();
        if (b.top->rsp_valid_o) {
          answered = true;
          if (when == 0) {
            EXPECT_EQ(b.rsp()[0], 1u);
          }
        }
        b.step();
      }
      EXPECT_TRUE(answered);
      EXPECT_EQ(b.get(9), 1u) << "invalidated at edge " << when;
    }
  }
}

// Any mixture of lookups, invalidations, backpressure and slow memory: answers in order, never older than the last
// invalidation before the lookup was taken, one read a miss, and nothing left at the end.
class CtxCacheRandom : public ::testing::TestWithParam<std::tuple<unsigned, unsigned, unsigned, unsigned>> {};

TEST_P(CtxCacheRandom, AnswersAreFreshAndInOrder) {
  const auto [req_pct, rsp_pct, inval_pct, indices] = GetParam();
  const uint64_t seed = test_seed();
  SCOPED_TRACE("RNIC_TEST_SEED=" + std::to_string(seed));
  CacheBench b(seed);
  b.ready_pct = 60, b.beat_pct = 60;
  struct Want {
    unsigned idx, at_least;
  };
  std::deque<Want> want;
  unsigned answers = 0, idx = 0;
  bool offered = false;
  for (int i = 0; i < 4000 || offered || !want.empty(); ++i) {
    ASSERT_LT(i, 20000);
    b.latency = b.rng() % 8;
    if (!offered && i < 4000 && b.chance(req_pct)) {
      offered = true;
      // From one slot and its neighbour
      idx = b.rng() % indices;
      idx = idx / 2 * kEntries + idx % 2;
    }
    b.top->req_valid_i = offered, b.top->req_idx_i = idx;
    if (b.chance(inval_pct)) b.invalidate((b.rng() % indices / 2) * kEntries + b.rng() % 2);
    b.top->rsp_ready_i = b.chance(rsp_pct);
    b.settle();
    if (b.top->rsp_valid_o && b.top->rsp_ready_i) {
      ASSERT_FALSE(want.empty());
      const Line l = b.rsp();
      ASSERT_EQ(l, b.line_of(want.front().idx, l[0]));
      ASSERT_GE(l[0], want.front().at_least);
      want.pop_front();
      ++answers;
    }
    if (offered && b.top->req_ready_o) {
      want.push_back({idx, b.version[idx]});
      offered = false;
    }
    b.step();
  }
  EXPECT_GT(answers, 50u);
  EXPECT_EQ(b.misses, b.num_reads);
  b.step();
  EXPECT_TRUE(b.top->idle_o);
  EXPECT_FALSE(b.top->rsp_valid_o);
}

INSTANTIATE_TEST_SUITE_P(Grid, CtxCacheRandom,
                         ::testing::Combine(::testing::Values(10u, 60u, 100u), ::testing::Values(20u, 100u),
                                            ::testing::Values(0u, 2u, 30u), ::testing::Values(2u, 8u)));

// An answer that waits is work: the cache is idle only when it has been taken.
TEST(CtxCacheTest, WaitingAnswerIsNotIdle) {
  CacheBench b;
  b.get(3);
  b.top->rsp_ready_i = 0;
  b.top->req_valid_i = 1, b.top->req_idx_i = 3;
  for (int i = 0; i < 20; ++i) {
    b.step();
    EXPECT_FALSE(b.top->idle_o);
  }
  EXPECT_TRUE(b.top->rsp_valid_o);
  b.top->rsp_ready_i = 1;
  b.step();
  EXPECT_TRUE(b.top->idle_o);
}

// Edges while idle change nothing: a bench that gets any number of them behaves as one that gets none.
TEST(CtxCacheTest, IdleEdgesChangeNothing) {
  CacheBench a(test_seed()), b(test_seed());
  for (int i = 0; i < 300; ++i) {
    const unsigned idx = i * 7 % 40;
    for (CacheBench* s : {&a, &b}) {
      if (i % 5 == 0) {
        s->invalidate(idx);
        s->step();
      }
    }
    ASSERT_EQ(a.get(idx), b.get(idx));
    ASSERT_EQ(a.num_reads, b.num_reads);
    for (int e = i % 4; e-- != 0;) a.tick();
  }
}

}  // namespace
}  // namespace rnic::test
