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
constexpr unsigned kMisses = 16;  // lines fetched at a time
constexpr unsigned kWords = sizeof(Vctx_cache::rsp_o) / 4;
constexpr unsigned kLineBytes = kWords * 4;
constexpr unsigned kBase = 0x40000;
using Line = std::array<uint32_t, kWords>;

struct CacheBench : Bench<Vctx_cache> {
  std::map<unsigned, unsigned> changes;  // of a line in memory
  unsigned changes_of_all = 0;
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
  void quiet() { top->req_valid_i = top->inval_i = top->inval_all_i = 0; }
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
      reads.push_back({line_of(idx, version(idx)), cycle + latency});
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
      EXPECT_FALSE(top->idle_o);
      step();
    }
    const Line l = rsp();
    EXPECT_EQ(l, line_of(idx, l[0]));
    step();
    EXPECT_TRUE(top->idle_o);
    return l[0];
  }
  unsigned version(unsigned idx) { return changes[idx] + changes_of_all; }
  void invalidate_all() {
    ++changes_of_all;
    top->inval_all_i = 1;
  }
  void invalidate(unsigned idx) {
    ++changes[idx];
    top->inval_i = 1, top->inval_idx_i = idx;
  }
  /// Lookups one after the other, an edge each unless they have to wait; answers on the way are put down.
  void look(const std::vector<unsigned>& indices) {
    for (const unsigned idx : indices) {
      bool taken = false;
      for (int i = 0; !taken; ++i) {
        ASSERT_LT(i, 1000);
        top->req_valid_i = 1, top->req_idx_i = idx;
        settle();
        taken = top->req_ready_o;
        step_and_note();
      }
    }
  }
  /// One edge; an answer that is taken at it is put down.
  void step_and_note() {
    settle();
    if (top->rsp_valid_o && top->rsp_ready_i) answers.push_back(rsp());
    step();
  }
  /// Edges until `n` answers are there.
  void wait(size_t n) {
    top->rsp_ready_i = 1;
    for (int i = 0; answers.size() < n; ++i) {
      ASSERT_LT(i, 1000);
      step_and_note();
    }
  }
  std::vector<Line> answers;
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
  for (unsigned kind = 0; kind < 4; ++kind) {
    const bool warm = kind & 1, all = kind & 2;
    for (int when = 0; when < 20; ++when) {
      CacheBench b;
      if (warm) b.get(9);
      b.top->rsp_ready_i = 1;
      // The invalidation comes at edge `when`, the lookup at edge 0
      bool answered = false;
      for (int e = 0; e < 40; ++e) {
        if (e == 0) b.top->req_valid_i = 1, b.top->req_idx_i = 9;
        if (e == when) all ? b.invalidate_all() : b.invalidate(9);
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
      // and what was read anew is kept
      const unsigned before = b.num_reads;
      b.get(9);
      EXPECT_EQ(b.num_reads, before);
    }
  }
}

// A miss alone asks when a hit would answer, and answers with the edge of its last beat.
TEST(CtxCacheTest, MissTakesTwoCyclesAndTheMemory) {
  CacheBench b;
  b.top->rsp_ready_i = 1;
  b.top->req_valid_i = 1, b.top->req_idx_i = 3;
  int64_t cycles = 0;
  do b.step(), ++cycles;
  while (!b.top->rsp_valid_o && cycles < 100);
  // The memory gives the first beat `latency` edges after the one of the request.
  EXPECT_TRUE(takes_cycles({"ctx_cache"}, {2}, {cycles - 1 - b.latency - (kLineBytes / 64 - 1)}));
}

// As many misses as there are lines are under way at once, asked for at one a cycle; no more. Each gets its own line.
TEST(CtxCacheTest, SixteenMissesAtOnce) {
  CacheBench b;
  b.latency = 200;
  unsigned taken = 0;
  for (unsigned e = 0; e < 60; ++e) {
    b.top->req_valid_i = 1, b.top->req_idx_i = 100 + taken;
    b.settle();
    taken += b.top->req_ready_o;
    b.step();
    if (e < kMisses) {
      ASSERT_EQ(taken, e + 1);
    }
  }
  EXPECT_EQ(b.num_reads, kMisses);
  EXPECT_EQ(b.misses, kMisses);
  EXPECT_LE(taken, kMisses + 4);
  // The one behind them stays offered.
  b.look({100 + taken});
  b.wait(taken + 1);
  for (unsigned i = 0; i <= taken; ++i) ASSERT_EQ(b.answers[i], b.line_of(100 + i, 0)) << i;
  EXPECT_EQ(b.num_reads, taken + 1);
}

// With misses all the way a lookup every few cycles is served, not one per memory latency.
TEST(CtxCacheTest, MissesFlow) {
  CacheBench b;
  b.latency = 40;
  std::vector<unsigned> all;
  for (unsigned i = 0; i < 400; ++i) all.push_back(i);
  const uint64_t begin = b.cycle;
  b.top->rsp_ready_i = 1;
  b.look(all);
  b.wait(all.size());
  for (unsigned i = 0; i < all.size(); ++i) ASSERT_EQ(b.answers[i], b.line_of(i, 0));
  EXPECT_EQ(b.num_reads, all.size());
  // Sixteen in about 45 cycles
  EXPECT_LT(b.cycle - begin, all.size() * 48 / kMisses + 50);
}

// Two or four entries for each slot, looked up in turn: nearly one of them stays there and hits, and none for ever.
TEST(CtxCacheTest, SomeStayOfMoreThanFit) {
  for (unsigned each : {2u, 4u}) {
    CacheBench b;
    b.latency = 40;
    b.top->rsp_ready_i = 1;
    constexpr unsigned kRounds = 100;
    std::vector<unsigned> all;
    for (unsigned r = 0; r < kRounds; ++r) {
      for (unsigned i = 0; i < each * kEntries; ++i) all.push_back(i);
    }
    b.look(all);
    b.wait(all.size());
    for (unsigned i = 0; i < all.size(); ++i) ASSERT_EQ(b.answers[i], b.line_of(all[i], 0));
    const double hits = 1 - static_cast<double>(b.num_reads) / static_cast<double>(all.size());
    EXPECT_GT(hits, 0.7 / each);
    EXPECT_LT(hits, 1.1 / each);
    // Others, from now on: they come to stay as well.
    for (unsigned& idx : all) idx += 512;
    b.answers.clear();
    const unsigned before = b.num_reads;
    b.look(all);
    b.wait(all.size());
    EXPECT_GT(1 - static_cast<double>(b.num_reads - before) / static_cast<double>(all.size()), 0.5 / each);
  }
}

// Hits behind a miss wait for it, then follow at one a cycle; misses behind them have been asked for meanwhile.
TEST(CtxCacheTest, HitsWaitBehindAMiss) {
  CacheBench b;
  for (unsigned i = 0; i < 8; ++i) b.get(i);
  b.top->rsp_ready_i = 1;
  b.latency = 50;
  std::vector<unsigned> all{100, 0, 1, 2, 3, 4, 5, 6, 7, 110, 0, 1};
  const unsigned before = b.num_reads;
  b.look(all);
  for (int i = 0; i < 20; ++i) b.step_and_note();
  EXPECT_TRUE(b.answers.empty());
  EXPECT_EQ(b.num_reads, before + 2);
  b.wait(1);
  const uint64_t first = b.cycle;
  b.wait(9);
  EXPECT_EQ(b.cycle, first + 8);
  b.wait(all.size());
  for (unsigned i = 0; i < all.size(); ++i) ASSERT_EQ(b.answers[i], b.line_of(all[i], 0)) << i;
}

// Lookups of an entry that is on its way share its line: one read, one miss counted.
TEST(CtxCacheTest, SameEntryIsReadOnce) {
  CacheBench b;
  b.latency = 50;
  b.top->rsp_ready_i = 1;
  std::vector<unsigned> all{4, 5, 4, 4, 5, 4 + kEntries, 4, 5, 4 + kEntries};
  b.look(all);
  b.wait(all.size());
  for (unsigned i = 0; i < all.size(); ++i) ASSERT_EQ(b.answers[i], b.line_of(all[i], 0)) << i;
  EXPECT_EQ(b.num_reads, 3u);
  EXPECT_EQ(b.misses, 3u);
}

// A line whose last answer waits can still be shared, though another one has taken its slot; not when it was
// invalidated since.
TEST(CtxCacheTest, LineThatWaitsIsShared) {
  for (bool invalidated : {false, true}) {
    CacheBench b;
    b.top->rsp_ready_i = 0;
    b.look({4, 4 + kEntries, 4 + kEntries});
    for (int i = 0; i < 40; ++i) b.step_and_note();
    if (invalidated) {
      b.invalidate(4);
      b.step_and_note();
    }
    b.look({4 + kEntries, 4});
    b.wait(5);
    EXPECT_EQ(b.answers[2], b.line_of(4 + kEntries, 0));
    EXPECT_EQ(b.answers[3], b.line_of(4 + kEntries, 0));
    EXPECT_EQ(b.answers[4], b.line_of(4, invalidated));
    EXPECT_EQ(b.get(4), invalidated);
  }
}

// An invalidation at any edge while two lines of one slot are on their way: what is looked up behind it is read anew,
// what is kept is the latest.
TEST(CtxCacheTest, TwoLinesOfOneSlotUnderWay) {
  for (unsigned which : {5u, 5 + kEntries, 0u}) {  // 0: all
    for (unsigned when = 0; when < 40; ++when) {
      CacheBench b;
      b.latency = 12;
      b.top->rsp_ready_i = 1;
      const std::vector<unsigned> all{5, 5 + kEntries, 5, 5 + kEntries, 5, 5 + kEntries};
      std::vector<unsigned> at_least;
      size_t next = 0;
      for (unsigned e = 0; e < 40; ++e) {
        // Three at once, and three when the lines come
        if (next < 3 || (next < 6 && e >= 14)) b.top->req_valid_i = 1, b.top->req_idx_i = all[next];
        if (e == when) which == 0 ? b.invalidate_all() : b.invalidate(which);
        b.settle();
        if (b.top->req_valid_i && b.top->req_ready_o) at_least.push_back(b.version(all[next++]));
        b.step_and_note();
      }
      ASSERT_EQ(next, 6u);
      b.wait(6);
      for (unsigned i = 0; i < 6; ++i) {
        EXPECT_EQ(b.answers[i], b.line_of(all[i], b.answers[i][0]));
        EXPECT_GE(b.answers[i][0], at_least[i]) << i << ": invalidated at edge " << when;
      }
      for (unsigned idx : {5u, 5 + kEntries}) EXPECT_EQ(b.get(idx), b.version(idx)) << "invalidated at edge " << when;
    }
  }
}

// Answers are not taken for a long time: the lines that come meanwhile wait, and the lookups behind.
TEST(CtxCacheTest, AnswersWaitForTheirTaker) {
  CacheBench b;
  std::vector<unsigned> all;
  for (unsigned i = 0; i < 12; ++i) all.insert(all.end(), {i * 3, i, i + kEntries});
  b.top->rsp_ready_i = 0;
  size_t next = 0;
  for (int e = 0; e < 400; ++e) {
    if (next < all.size()) b.top->req_valid_i = 1, b.top->req_idx_i = all[next];
    b.settle();
    next += b.top->req_valid_i && b.top->req_ready_o;
    b.step_and_note();
  }
  EXPECT_TRUE(b.answers.empty());
  EXPECT_GE(next, 16u);
  EXPECT_LT(next, all.size());
  b.top->rsp_ready_i = 1;
  b.look({all.begin() + static_cast<std::ptrdiff_t>(next), all.end()});
  b.wait(all.size());
  for (unsigned i = 0; i < all.size(); ++i) ASSERT_EQ(b.answers[i], b.line_of(all[i], 0)) << i;
}

// Answers not taken: more hits, or more lookups of one entry on its way, than can wait. None is lost.
TEST(CtxCacheTest, WaitingLookupsFillTheirQueues) {
  for (bool hits : {false, true}) {
    CacheBench b;
    if (hits) {
      for (unsigned i = 0; i < kEntries; ++i) b.get(i);
    }
    b.top->rsp_ready_i = 0;
    unsigned taken = 0;
    for (int e = 0; e < 100; ++e) {
      b.top->req_valid_i = 1, b.top->req_idx_i = hits ? taken % kEntries : 9;
      b.settle();
      taken += b.top->req_ready_o;
      b.step_and_note();
    }
    EXPECT_GE(taken, kMisses);
    EXPECT_LT(taken, 60u);
    b.top->rsp_ready_i = 1;
    b.look({hits ? taken % kEntries : 9});
    b.wait(taken + 1);
    for (unsigned i = 0; i <= taken; ++i) ASSERT_EQ(b.answers[i], b.line_of(hits ? i % kEntries : 9, 0)) << i;
  }
}

// All entries are forgotten at once, whichever slots they are in, and each is read anew once.
TEST(CtxCacheTest, AllAreForgottenAtOnce) {
  CacheBench b;
  for (unsigned i = 0; i < kEntries; ++i) b.get(i);
  b.invalidate_all();
  b.step();
  for (unsigned round = 0; round < 2; ++round) {
    for (unsigned i = 0; i < kEntries; ++i) EXPECT_EQ(b.get(i), 1u);
    EXPECT_EQ(b.num_reads, 2 * kEntries);
  }
}

// Any mixture of lookups, invalidations, backpressure and slow memory: answers in order, never older than the last
// invalidation before the lookup was taken, one read a miss, and nothing left at the end.
class CtxCacheRandom : public ::testing::TestWithParam<std::tuple<unsigned, unsigned, unsigned, unsigned, unsigned>> {};

TEST_P(CtxCacheRandom, AnswersAreFreshAndInOrder) {
  const auto [req_pct, rsp_pct, inval_pct, indices, latency] = GetParam();
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
    ASSERT_LT(i, 40000);
    b.latency = b.rng() % latency;
    if (!offered && i < 4000 && b.chance(req_pct)) {
      offered = true;
      // From one slot and its neighbour
      idx = b.rng() % indices;
      idx = idx / 2 * kEntries + idx % 2;
    }
    b.top->req_valid_i = offered, b.top->req_idx_i = idx;
    if (b.chance(inval_pct) && b.chance(10)) b.invalidate_all();
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
      want.push_back({idx, b.version(idx)});
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
                                            ::testing::Values(0u, 2u, 30u), ::testing::Values(2u, 8u, 64u),
                                            ::testing::Values(8u, 60u)));

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
