// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <deque>

#include "Vfifo.h"
#include "rtl/bench.h"

namespace rnic::test {
namespace {

// Whatever the mixture of writes and reads, words come out as they went in, and the flags follow the fill level.
TEST(FifoTest, KeepsOrderUnderEveryMixture) {
  Bench<Vfifo> b(test_seed());
  for (unsigned write_pct : {100u, 50u, 10u}) {
    for (unsigned read_pct : {100u, 50u, 10u}) {
      std::deque<uint32_t> model;
      unsigned moved = 0;
      for (int i = 0; i < 2000; ++i) {
        b.top->wr_valid_i = b.chance(write_pct);
        b.top->wr_data_i = static_cast<uint32_t>(b.rng());
        b.top->rd_ready_i = b.chance(read_pct);
        b.settle();
        ASSERT_EQ(b.top->rd_valid_o, !model.empty());
        ASSERT_EQ(b.top->wr_ready_o, model.size() < 16);
        ASSERT_EQ(b.top->fill_o, model.size());
        if (!model.empty()) {
          ASSERT_EQ(b.top->rd_data_o, model.front());
        }
        const bool pop = b.top->rd_valid_o && b.top->rd_ready_i;
        const bool push = b.top->wr_valid_i && b.top->wr_ready_o;
        const uint32_t word = b.top->wr_data_i;
        b.tick();
        if (pop) model.pop_front(), ++moved;
        if (push) model.push_back(word);
      }
      EXPECT_GT(moved, 100u);
      b.top->wr_valid_i = 0;
      b.top->rd_ready_i = 1;
      while (!model.empty()) {
        b.settle();
        ASSERT_EQ(b.top->rd_data_o, model.front());
        model.pop_front();
        b.tick();
      }
      b.settle();
      EXPECT_FALSE(b.top->rd_valid_o);
    }
  }
}

// Reset empties it, however full it is, wherever its pointers stand.
TEST(FifoTest, ResetEmptiesIt) {
  Bench<Vfifo> b;
  for (unsigned reads = 0; reads <= 16; ++reads) {
    b.top->rd_ready_i = 0;
    b.top->wr_valid_i = 1;
    for (int i = 0; i < 16; ++i) b.tick();
    b.top->wr_valid_i = 0;
    b.top->rd_ready_i = 1;
    for (unsigned i = 0; i < reads; ++i) b.tick();
    b.top->rd_ready_i = 0;
    b.top->rst_ni = 0;
    b.tick();
    b.top->rst_ni = 1;
    b.settle();
    EXPECT_FALSE(b.top->rd_valid_o);
    EXPECT_TRUE(b.top->wr_ready_o);
    EXPECT_EQ(b.top->fill_o, 0);
  }
}

}  // namespace
}  // namespace rnic::test
