// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <vector>

#include "Vtag_allocator.h"
#include "rtl/bench.h"

#ifndef RNIC_NUM_TAGS
#define RNIC_NUM_TAGS 512
#endif

namespace rnic::test {
namespace {

constexpr unsigned kNumTags = RNIC_NUM_TAGS;
/// Tags that may be used with so many bits.
constexpr unsigned limit_of(unsigned bits) { return std::min(kNumTags, bits == 5 ? 32u : bits == 8 ? 256u : 1024u); }

struct TagBench : Bench<Vtag_allocator> {
  explicit TagBench(unsigned bits = 10, bool ext_tag = false) : Bench(test_seed()) {
    top->ext_tag_i = bits == 8 || ext_tag, top->tag10_i = bits == 10, top->want_i = 0, top->take_i = 0, top->free_i = 0,
    top->look_tag_i = top->scan_tag_i = 0, top->drop_i = 0;
    settle();
  }
  /// Takes the reserved tag, if there is one, while a next request waits.
  int take() {
    top->want_i = 1;
    settle();
    top->take_i = top->tag_valid_o;
    const int tag = top->tag_valid_o ? top->tag_o : -1;
    tick();
    top->take_i = 0;
    return tag;
  }
  void give_back(unsigned tag) {
    top->want_i = 0, top->free_i = 1, top->free_tag_i = tag;
    tick();
    top->free_i = 0;
  }
  bool used(unsigned tag) {
    top->look_tag_i = tag;
    settle();
    return top->look_used_o;
  }
};

// Tags come in rising order, one a cycle, and stop at the last one, at 256 with 8-bit tags, or at 32 with 5-bit ones.
// Where 10-bit tags are allowed, ext_tag_i says nothing.
TEST(TagAllocatorTest, LowestFirstUpToTheLimit) {
  for (unsigned bits : {10, 8, 5}) {
    for (bool ext_tag : {false, true}) {
      if (ext_tag && bits != 10) continue;
      TagBench b(bits, ext_tag);
      EXPECT_EQ(b.take(), -1);  // chosen at this edge
      for (unsigned tag = 0; tag < limit_of(bits); ++tag) EXPECT_EQ(b.take(), static_cast<int>(tag));
      for (int i = 0; i < 10; ++i) EXPECT_EQ(b.take(), -1);
    }
  }
}

// Each tag in turn is the only free one, and is found; no other value counts as in use.
TEST(TagAllocatorTest, EachTagIsFoundAlone) {
  TagBench b;
  b.take();
  for (unsigned i = 0; i < kNumTags; ++i) b.take();
  for (unsigned tag = 0; tag < 1024; ++tag) ASSERT_EQ(b.used(tag), tag < kNumTags) << tag;
  for (unsigned tag = 0; tag < kNumTags; ++tag) {
    b.give_back(tag);
    ASSERT_FALSE(b.used(tag));
    EXPECT_EQ(b.take(), -1);
    ASSERT_EQ(b.take(), static_cast<int>(tag));
    ASSERT_TRUE(b.used(tag));
  }
}

// While more bits were allowed tags were used that are not given out once they no longer are.
TEST(TagAllocatorTest, FewerBitsFewerTags) {
  TagBench b;
  for (unsigned bits : {10, 8, 5, 10, 5, 8}) {
    b.top->ext_tag_i = bits == 8, b.top->tag10_i = bits == 10;
    EXPECT_EQ(b.take(), -1);
    for (unsigned tag = 0; tag < limit_of(bits); ++tag) ASSERT_EQ(b.take(), static_cast<int>(tag)) << bits << " bits";
    EXPECT_EQ(b.take(), -1);
    for (unsigned tag = 0; tag < limit_of(bits); ++tag) b.give_back(tag);
  }
}

// A tag counts as in use from its request on, not from its choice on, until it is given back.
TEST(TagAllocatorTest, InUseFromRequestToAnswer) {
  TagBench b;
  b.take();
  EXPECT_FALSE(b.used(0));
  b.take();
  EXPECT_TRUE(b.used(0));
  EXPECT_FALSE(b.used(1));
  b.give_back(0);
  EXPECT_FALSE(b.used(0));
}

// Without a request no tag is chosen; the choice stays until it is taken, whatever is given back meanwhile.
TEST(TagAllocatorTest, ChoiceStays) {
  TagBench b;
  for (int i = 0; i < 4; ++i) b.tick();
  EXPECT_FALSE(b.top->tag_valid_o);
  for (int i = 0; i < 3; ++i) b.take();  // 0 and 1 are in use, 2 is chosen
  b.give_back(0);
  for (int i = 0; i < 4; ++i) b.tick();
  EXPECT_EQ(b.take(), 2);
  EXPECT_EQ(b.take(), 0);
  EXPECT_EQ(b.take(), 3);
}

// A reserved tag that is given back unused is chosen again, and was never in use.
TEST(TagAllocatorTest, ReservedTagIsDropped) {
  TagBench b;
  b.take();
  b.take();  // 0 is in use, 1 is chosen
  for (int i = 0; i < 3; ++i) {
    b.top->want_i = 0, b.top->drop_i = 1;
    b.tick();
    b.top->drop_i = 0;
    EXPECT_FALSE(b.top->tag_valid_o);
    EXPECT_FALSE(b.used(1));
    b.take();  // chooses
    EXPECT_EQ(b.top->tag_o, 1);
  }
  EXPECT_EQ(b.take(), 1);
}

// Random use: never a tag that is in use, and every tag that was given back is found again.
TEST(TagAllocatorTest, RandomUse) {
  TagBench b;
  std::set<unsigned> in_use;
  for (int i = 0; i < 40000; ++i) {
    const bool fill = (i / 2000) % 2 == 0;
    b.top->drop_i = b.chance(5);
    b.top->want_i = !b.top->drop_i && b.chance(fill ? 95 : 30);
    b.settle();
    b.top->take_i = b.top->tag_valid_o && !b.top->drop_i && b.chance(80);
    const unsigned taken = b.top->tag_o;
    b.top->free_i = !in_use.empty() && b.chance(fill ? 20 : 90);
    if (b.top->free_i) {
      auto it = in_use.begin();
      std::advance(it, b.rng() % in_use.size());
      b.top->free_tag_i = *it;
      in_use.erase(it);
    }
    if (b.top->take_i) {
      ASSERT_TRUE(in_use.insert(taken).second) << "tag " << taken << " twice, seed " << test_seed();
      ASSERT_TRUE(!b.top->free_i || b.top->free_tag_i != taken);
    }
    b.tick();
    b.top->free_i = b.top->take_i = b.top->drop_i = 0;
    const unsigned look = b.rng() % 1024;
    ASSERT_EQ(b.used(look), in_use.count(look) != 0) << "tag " << look << ", seed " << test_seed();
  }
  while (!in_use.empty()) {
    b.give_back(*in_use.begin());
    in_use.erase(in_use.begin());
  }
  std::set<int> all;
  for (unsigned i = 0; i < kNumTags + 2; ++i) all.insert(b.take());
  all.erase(-1);
  EXPECT_EQ(all.size(), kNumTags);
}

// What the block may assume of its neighbour is checked in simulation: a tag comes back once.
TEST(TagAllocatorDeathTest, FreedTwice) {
  EXPECT_DEATH(
      {
        TagBench b;
        dup2(STDERR_FILENO, STDOUT_FILENO);
        b.take();
        b.take();
        b.give_back(0);
        b.give_back(0);
      },
      "FreedOnce");
}

}  // namespace
}  // namespace rnic::test
