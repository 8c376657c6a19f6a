// SPDX-License-Identifier: Apache-2.0
#include "rnic/mem/pinned_pages.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <set>

#include "rnic/core/error.h"

namespace {

using rnic::InputError;
using rnic::PinnedPages;

constexpr uint64_t kPage = PinnedPages::kPage;
constexpr uint64_t kSize = 64 * kPage;

// Whole pages round the range, first byte to last.
TEST(PinnedPagesTest, WholePagesRoundTheRange) {
  PinnedPages p(kSize);
  EXPECT_FALSE(p.covers(0, 1));
  p.pin(3 * kPage + 5, 1, {});
  EXPECT_TRUE(p.covers(3 * kPage, kPage));
  EXPECT_FALSE(p.covers(3 * kPage - 1, 2));
  EXPECT_FALSE(p.covers(4 * kPage - 1, 2));
  p.pin(5 * kPage - 1, 2, {});
  EXPECT_TRUE(p.covers(3 * kPage, 3 * kPage));
  EXPECT_EQ(p.pinned_bytes(), 3 * kPage);
  p.pin(0, kSize, {});
  EXPECT_TRUE(p.covers(0, kSize));
  EXPECT_EQ(p.pinned_bytes(), kSize);
}

// No address and length wrap; what lies outside is neither pinned nor covered.
TEST(PinnedPagesTest, NothingWraps) {
  PinnedPages p(kSize);
  p.pin(0, kSize, {});
  constexpr uint64_t kTop = ~uint64_t{0};
  const std::pair<uint64_t, uint64_t> outside[] = {
      {kSize, 1},         {kSize - 1, 2}, {0, kSize + 1}, {kTop, 1},
      {kTop, 2},          {1, kTop},      {kTop, kTop},   {kSize, kTop - kSize + 1},
      {kPage, kTop - 10}, {0, kTop}};
  for (const auto& [at, n] : outside) {
    EXPECT_FALSE(p.covers(at, n)) << at << " " << n;
    EXPECT_THROW(p.pin(at, n, {}), InputError) << at << " " << n;
    EXPECT_THROW(p.revoke(at, n), InputError) << at << " " << n;
  }
  EXPECT_THROW(p.pin(0, 0, {}), InputError);
  EXPECT_TRUE(p.covers(kTop, 0));
  EXPECT_TRUE(p.covers(kSize - 1, 1));
  EXPECT_EQ(p.pins(), 1u);
}

// Against a count for each page, over random pins, unpins and revocations.
TEST(PinnedPagesTest, AgreesWithACountForEachPage) {
  std::mt19937 random(11);
  unsigned agreed = 0;
  for (unsigned round = 0; round < 20; ++round) {
    PinnedPages p(kSize);
    std::map<uint64_t, std::pair<uint64_t, uint64_t>> live;  // handle -> bytes
    std::set<uint64_t> told;
    const auto range = [&] {
      const uint64_t at = random() % kSize, most = random() % 3 ? 4 * kPage : kSize;
      return std::pair{at, 1 + random() % std::min(kSize - at, most)};
    };
    for (unsigned step = 0; step < 400; ++step) {
      const auto [at, n] = range();
      switch (random() % 8) {
        case 0:
        case 1:
        case 2: {
          const auto handle = std::make_shared<uint64_t>();
          *handle = p.pin(at, n, [&told, handle] { told.insert(*handle); });
          live[*handle] = {at, n};
          break;
        }
        case 3:
        case 4:
        case 5:
          if (!live.empty()) {
            const auto it = std::next(live.begin(), static_cast<long>(random() % live.size()));
            p.unpin(it->first);
            p.unpin(it->first);  // a second time is nothing
            live.erase(it);
          }
          break;
        case 6:
          if (random() % 8 == 0) {
            told.clear();
            p.revoke(at, n);
            std::set<uint64_t> expected;
            for (auto it = live.begin(); it != live.end();) {
              const auto [a, m] = it->second;
              const bool hit = a / kPage <= (at + n - 1) / kPage && at / kPage <= (a + m - 1) / kPage;
              if (hit) expected.insert(it->first);
              it = hit ? live.erase(it) : std::next(it);
            }
            ASSERT_EQ(told, expected);
          }
          break;
        default:
          break;
      }
      std::vector<unsigned> count(kSize / kPage);
      for (const auto& [handle, r] : live) {
        for (uint64_t q = r.first / kPage; q <= (r.first + r.second - 1) / kPage; ++q) ++count[q];
      }
      const auto [a, m] = range();
      bool all = true;
      for (uint64_t q = a / kPage; q <= (a + m - 1) / kPage; ++q) all = all && count[q] != 0;
      ASSERT_EQ(p.covers(a, m), all) << "round " << round << " step " << step;
      uint64_t pinned = 0;
      for (const unsigned c : count) pinned += c != 0 ? kPage : 0;
      ASSERT_EQ(p.pinned_bytes(), pinned);
      ASSERT_EQ(p.pins(), live.size());
      agreed += all;
    }
  }
  EXPECT_GT(agreed, 1000u);
}

// While its holder is told, a page is still served, and nobody can pin it anew; afterwards it is gone.
TEST(PinnedPagesTest, RevocationTellsBeforeThePagesGo) {
  PinnedPages p(kSize);
  std::vector<int> order;
  uint64_t second = 0;
  p.pin(0, 2 * kPage, [&] {
    order.push_back(1);
    EXPECT_TRUE(p.covers(0, 3 * kPage));
    EXPECT_THROW(p.pin(kPage, 1, {}), InputError);
    EXPECT_NO_THROW(p.unpin(p.pin(10 * kPage, 1, {})));
    p.unpin(second);         // its callback is not needed any more
    p.revoke(0, 3 * kPage);  // already told: not once more
  });
  second = p.pin(kPage, 2 * kPage, [&] { order.push_back(2); });
  uint64_t third = 0;
  third = p.pin(2 * kPage, kPage, [&] {
    order.push_back(3);
    p.unpin(third);  // itself
  });
  p.pin(4 * kPage, kPage, [&] { order.push_back(4); });
  p.revoke(kPage, 2 * kPage);
  EXPECT_EQ(order, (std::vector<int>{1, 3}));
  EXPECT_FALSE(p.covers(0, 1));
  EXPECT_TRUE(p.covers(4 * kPage, kPage));
  EXPECT_EQ(p.pins(), 1u);
  EXPECT_NO_THROW(p.pin(kPage, 1, {}));
}

// A holder that fails to stop its use is heard of, but the pages go all the same, and others are told.
TEST(PinnedPagesTest, AFailedCallbackKeepsNoPage) {
  PinnedPages p(kSize);
  unsigned told = 0;
  p.pin(0, 1, [] { throw InputError("can't stop"); });
  p.pin(0, 1, [&] { ++told; });
  EXPECT_THROW(p.revoke(0, 1), InputError);
  EXPECT_EQ(told, 1u);
  EXPECT_FALSE(p.covers(0, 1));
  EXPECT_NO_THROW(p.pin(0, 1, {}));
}

TEST(PinnedPagesTest, HandlesThatNeverWere) {
  PinnedPages p(kSize);
  EXPECT_THROW(p.unpin(0), InputError);
  EXPECT_THROW(p.unpin(1), InputError);
  const uint64_t h = p.pin(0, 1, {});
  EXPECT_THROW(p.unpin(h + 1), InputError);
  p.revoke(0, kSize);
  EXPECT_NO_THROW(p.unpin(h));
}

}  // namespace
