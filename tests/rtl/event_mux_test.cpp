// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <deque>

#include "Vevent_mux.h"
#include "rtl/bench.h"

namespace rnic::test {
namespace {

// Every entry of both streams comes out once and in its stream's order; an offered one stays whatever comes meanwhile;
// of two that come together a's goes first.
TEST(EventMuxTest, NothingIsLostWhateverComesTogether) {
  Bench<Vevent_mux> b(test_seed());
  SCOPED_TRACE(test_seed());
  for (unsigned in_pct : {100u, 50u, 5u}) {
    for (unsigned out_pct : {100u, 50u, 10u}) {
      std::deque<uint64_t> a, c;  // offered: entry, by stream
      int offered = -1;           // stream whose entry is shown and waits
      uint64_t taken = 0, together = 0, overtaken = 0, next = 1;
      auto entry = [&] { return next++ << 8 | (b.rng() & 0xff); };
      for (int i = 0; i < 2000 || !a.empty() || !c.empty(); ++i) {
        if (i < 2000 && a.empty() && b.chance(in_pct)) a.push_back(entry());
        if (i < 2000 && c.empty() && b.chance(in_pct)) c.push_back(entry());
        b.top->a_valid_i = !a.empty(), b.top->b_valid_i = !c.empty();
        if (!a.empty()) b.top->a_i = a.front();
        if (!c.empty()) b.top->b_i = c.front();
        b.top->evt_ready_i = b.chance(out_pct);
        b.settle();
        const bool valid = !a.empty() || !c.empty();
        ASSERT_EQ(b.top->evt_valid_o, valid);
        if (valid) {
          const int from = offered >= 0 ? offered : a.empty();
          together += offered < 0 && !a.empty() && !c.empty();
          overtaken += offered == 1 && !a.empty();
          ASSERT_EQ(b.top->evt_o, from ? c.front() : a.front());
          ASSERT_EQ(b.top->a_ready_o && b.top->a_valid_i, !from && b.top->evt_ready_i);
          ASSERT_EQ(b.top->b_ready_o && b.top->b_valid_i, from && b.top->evt_ready_i);
          offered = b.top->evt_ready_i ? -1 : from;
          if (b.top->evt_ready_i) ++taken, (from ? c : a).pop_front();
        }
        b.tick();
      }
      EXPECT_GT(taken, 50u);
      EXPECT_GT(together, 0u);
      EXPECT_TRUE(overtaken > 0 || out_pct == 100 || in_pct == 100) << in_pct << " " << out_pct;
    }
  }
}

}  // namespace
}  // namespace rnic::test
