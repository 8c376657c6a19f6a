// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <deque>

#include "Vstream_register.h"
#include "rtl/bench.h"

namespace rnic::test {
namespace {

// Words come out as they went in, one edge later, whatever the mixture; at full rate none waits.
TEST(StreamRegisterTest, KeepsOrderUnderEveryMixture) {
  Bench<Vstream_register> b(test_seed());
  SCOPED_TRACE(test_seed());
  for (unsigned in_pct : {100u, 50u, 10u}) {
    for (unsigned out_pct : {100u, 50u, 10u}) {
      std::deque<uint32_t> model;
      unsigned moved = 0;
      bool shown = false;  // a word that is offered must stay until it is taken
      for (int i = 0; i < 1000; ++i) {
        if (!shown) {
          b.top->in_valid_i = b.chance(in_pct);
          b.top->in_data_i = static_cast<uint32_t>(b.rng());
        }
        b.top->out_ready_i = b.chance(out_pct);
        b.settle();
        ASSERT_EQ(b.top->out_valid_o, !model.empty());
        ASSERT_EQ(b.top->in_ready_o, model.empty() || b.top->out_ready_i);
        if (!model.empty()) {
          ASSERT_EQ(b.top->out_data_o, model.front());
        }
        const bool push = b.top->in_valid_i && b.top->in_ready_o, pop = b.top->out_valid_o && b.top->out_ready_i;
        shown = b.top->in_valid_i && !push;
        const uint32_t word = b.top->in_data_i;
        b.tick();
        if (pop) model.pop_front(), ++moved;
        if (push) model.push_back(word);
      }
      EXPECT_GT(moved, 50u);
      if (in_pct == 100 && out_pct == 100) {
        EXPECT_EQ(moved, 999u);
      }
      b.top->in_valid_i = 0;
      b.top->out_ready_i = 1;
      b.tick();
      b.settle();
      EXPECT_FALSE(b.top->out_valid_o);
    }
  }
}

// Reset drops the word that waits.
TEST(StreamRegisterTest, ResetEmptiesIt) {
  Bench<Vstream_register> b;
  b.top->in_valid_i = 1;
  b.top->out_ready_i = 0;
  b.tick();
  b.top->in_valid_i = 0;
  b.settle();
  EXPECT_TRUE(b.top->out_valid_o);
  b.top->rst_ni = 0;
  b.tick();
  b.top->rst_ni = 1;
  b.settle();
  EXPECT_FALSE(b.top->out_valid_o);
  EXPECT_TRUE(b.top->in_ready_o);
}

}  // namespace
}  // namespace rnic::test
