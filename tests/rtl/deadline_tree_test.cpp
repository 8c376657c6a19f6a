// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "Vdeadline_tree.h"
#include "rtl/bench.h"

namespace rnic::test {
namespace {

constexpr unsigned kLogN = 10, kN = 1u << kLogN;

struct TreeBench : Bench<Vdeadline_tree> {
  using Bench::Bench;
  ~TreeBench() { Verilated::threadContextp(top->contextp()); }
  void set(unsigned idx, bool valid, uint64_t key) {
    top->set_i = 1, top->set_idx_i = idx, top->set_valid_i = valid, top->set_key_i = key;
    tick();
    top->set_i = 0;
    settle();
  }
};

// A change is in the root after LogN more edges, not before, and busy until then.
TEST(DeadlineTreeTest, RootFollowsAfterLogNEdges) {
  TreeBench b;
  b.top->set_i = 0;
  b.settle();
  EXPECT_FALSE(b.top->busy_o);
  b.set(700, true, 99);
  for (unsigned i = 0; i < kLogN; ++i) {
    EXPECT_TRUE(b.top->busy_o);
    EXPECT_FALSE(b.top->root_valid_o);
    b.tick();
  }
  EXPECT_FALSE(b.top->busy_o);
  ASSERT_TRUE(b.top->root_valid_o);
  EXPECT_EQ(b.top->root_idx_o, 700u);
  EXPECT_EQ(b.top->root_key_o, 99u);
}

// Changes at every edge or now and then: whenever none is under way the root is the smallest key, of equal ones the
// lowest index.
TEST(DeadlineTreeTest, RootIsTheSmallest) {
  const uint64_t seed = test_seed();
  SCOPED_TRACE("RNIC_TEST_SEED=" + std::to_string(seed));
  for (const unsigned range : {3u, 40u, kN}) {
    TreeBench b(seed);
    b.top->set_i = 0;
    std::map<unsigned, uint64_t> key;
    unsigned checks = 0, empties = 0;
    for (int i = 0; i < 20000; ++i) {
      const bool busy_time = i / 200 % 2 == 0;
      if (busy_time ? b.chance(80) : b.chance(4)) {
        const unsigned idx = b.chance(30) && b.top->root_valid_o ? b.top->root_idx_o : b.rng() % range;
        const bool valid = b.chance(i / 400 % 2 == 0 ? 60 : 10);
        const uint64_t k = b.chance(50) ? b.rng() % 5 : b.rng() >> 16;
        if (valid) {
          key[idx] = k;
        } else {
          key.erase(idx);
        }
        b.set(idx, valid, k);
      } else {
        b.tick();
      }
      if (b.top->busy_o) continue;
      ++checks;
      ASSERT_EQ(b.top->root_valid_o, !key.empty());
      empties += key.empty();
      if (key.empty()) continue;
      unsigned best = key.begin()->first;
      for (const auto& [idx, k] : key) {
        if (k < key.at(best)) best = idx;
      }
      ASSERT_EQ(b.top->root_key_o, key.at(best));
      ASSERT_EQ(b.top->root_idx_o, best);
    }
    EXPECT_GT(checks, 2000u);
    EXPECT_GT(empties + range, 3u);
  }
}

}  // namespace
}  // namespace rnic::test
