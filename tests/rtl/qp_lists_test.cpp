// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <vector>

#include "Vqp_lists.h"
#include "rtl/bench.h"

namespace rnic::test {
namespace {

using ListsBench = Bench<Vqp_lists>;
constexpr unsigned kLists = 36, kQps = 1024;

// Random puts and takes, of the same list and of different ones, follow queues; few QPs and all of them.
TEST(QpListsTest, FollowsQueues) {
  const uint64_t seed = test_seed();
  SCOPED_TRACE("RNIC_TEST_SEED=" + std::to_string(seed));
  for (const unsigned qps : {1u, 2u, 5u, 60u, kQps}) {
    for (const unsigned lists : {1u, 2u, kLists}) {
      ListsBench b(seed);
      std::array<std::deque<unsigned>, kLists> model;
      std::vector<unsigned> away(qps);
      for (unsigned q = 0; q < qps; ++q) away[q] = q;
      unsigned takes = 0;
      for (int i = 0; i < 4000; ++i) {
        const unsigned pct = i / 500 % 2 == 0 ? 90 : 40;
        const bool put = !away.empty() && b.chance(pct);
        const unsigned pl = b.rng() % lists;
        unsigned tl = b.chance(50) ? pl : b.rng() % lists;
        for (unsigned k = 0; k < lists && model[tl].empty(); ++k) tl = (tl + 1) % lists;
        const bool take = !model[tl].empty() && b.chance(60);
        b.top->put_i = put;
        unsigned q = 0;
        if (put) {
          const size_t k = b.rng() % away.size();
          q = away[k];
          away.erase(away.begin() + static_cast<long>(k));
        }
        b.top->put_list_i = pl, b.top->put_qpn_i = q;
        b.top->take_i = take, b.top->take_list_i = tl;
        b.settle();
        for (unsigned l = 0; l < kLists; ++l) ASSERT_EQ(b.top->filled_o >> l & 1, !model[l].empty());
        if (take) {
          ASSERT_EQ(b.top->take_qpn_o, model[tl].front());
          away.push_back(model[tl].front());
          model[tl].pop_front();
          ++takes;
        }
        if (put) model[pl].push_back(q);
        b.tick();
      }
      EXPECT_GT(takes, 500u);
    }
  }
}

}  // namespace
}  // namespace rnic::test
