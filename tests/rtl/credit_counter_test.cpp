// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include "Vcredit_counter.h"
#include "rtl/bench.h"

namespace rnic::test {
namespace {

struct CreditBench : Bench<Vcredit_counter> {
  explicit CreditBench(bool infinite = false) : Bench(test_seed()) {
    top->inf_i = infinite, top->limit_i = 0, top->need_i = 1, top->take_i = 0;
  }
  bool ok(unsigned need) {
    top->need_i = need;
    settle();
    return top->ok_o;
  }
  void take(unsigned need) {
    top->need_i = need, top->take_i = 1;
    tick();
    top->take_i = 0;
  }
};

// What is granted may go, and not a credit more: at every fill up to half the range, over many turns of the counters.
TEST(CreditCounterTest, ExactOverManyTurns) {
  CreditBench b;
  uint64_t limit = 0, used = 0;
  for (int i = 0; i < 50000; ++i) {
    if (b.chance(50)) limit += b.rng() % (used + 128 - limit + 1);
    b.top->limit_i = limit & 0xFF;
    const unsigned need = b.chance(20) ? unsigned(limit - used) + b.rng() % 2 : b.rng() % 128;
    if (need >= 128) continue;
    ASSERT_EQ(b.ok(need), need <= limit - used)
        << "need " << need << " left " << limit - used << " seed " << test_seed();
    if (b.top->ok_o && b.chance(70)) {
      b.take(need);
      used += need;
    } else {
      b.tick();
    }
  }
  EXPECT_GT(used, 256u * 100);
}

// Half the range ahead is the most that a limit can be, and counts as granted.
TEST(CreditCounterTest, HalfTheRangeAhead) {
  CreditBench b;
  b.top->limit_i = 128;
  EXPECT_TRUE(b.ok(1));
  EXPECT_TRUE(b.ok(127));
  b.take(127);
  EXPECT_TRUE(b.ok(1));
  EXPECT_FALSE(b.ok(2));
}

// Infinite credits never stop a request, whatever the limit says.
TEST(CreditCounterTest, Infinite) {
  CreditBench b(true);
  for (int i = 0; i < 1000; ++i) {
    b.top->limit_i = b.rng() & 0xFF;
    ASSERT_TRUE(b.ok(b.rng() % 128));
    b.take(b.rng() % 128);
  }
}

// Reset forgets what was used: both sides count from zero again.
TEST(CreditCounterTest, ResetForgetsWhatWasUsed) {
  CreditBench b;
  b.top->limit_i = 100;
  ASSERT_TRUE(b.ok(100));
  b.take(100);
  b.top->rst_ni = 0;
  b.top->limit_i = 0;
  b.tick();
  b.top->rst_ni = 1;
  EXPECT_FALSE(b.ok(1));
  b.top->limit_i = 1;
  EXPECT_TRUE(b.ok(1));
}

// What the block may assume of its neighbour is checked in simulation: nothing goes without credit.
TEST(CreditCounterDeathTest, TakenWithoutCredit) {
  EXPECT_DEATH(
      {
        CreditBench b;
        dup2(STDERR_FILENO, STDOUT_FILENO);
        b.take(1);
      },
      "TakenWhenOk");
}

}  // namespace
}  // namespace rnic::test
