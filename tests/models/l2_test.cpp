// SPDX-License-Identifier: Apache-2.0
#include "rnic/mem/l2.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <list>
#include <random>

#include "rnic/core/error.h"

namespace {

using namespace rnic;

constexpr uint64_t kMemory = uint64_t{256} << 20;

Profile with(const std::vector<std::pair<std::string, std::string>>& keys) {
  Profile p = Profile::load("seed-400g");
  for (const auto& [k, v] : keys) p.set(k, v);
  return p;
}

/// 64 KiB in 4 ways, 20 ns a hit, 100 ns more a miss, and 64 B in 4 ns.
Profile small(const std::string& bytes = "65536") {
  return with({{"devmem.l2_size", bytes},
               {"devmem.l2_ways", "4"},
               {"devmem.l2_line", "64"},
               {"devmem.read_latency", "20"},
               {"devmem.ddr_latency", "100"},
               {"devmem.ddr_bandwidth", "128"}});
}

// As large as the memory it holds all of it: every access takes the hit's time, the first one, too.
TEST(L2Test, AsLargeAsTheMemoryNeverMisses) {
  L2 l2(with({{"devmem.read_latency", "31"}}), kMemory);
  for (uint64_t addr = 0; addr < kMemory; addr += 12'345'664) {
    EXPECT_EQ(l2.access(1000, addr, 128, false), 32'000u);
    EXPECT_EQ(l2.access(1000, addr, 64, true), 32'000u);
  }
  EXPECT_EQ(l2.misses(), 0u);
  EXPECT_GT(l2.hits(), 0u);
}

// An unloaded miss takes the DDR's latency and the line's transfer more than a hit; the next access hits.
TEST(L2Test, MissTakesDdrAndTransferMore) {
  L2 l2(small(), kMemory);
  EXPECT_EQ(l2.access(1'000'000, 0x1000, 64, false), 1'000'000u + 20'000 + 100'000 + 4'000);
  EXPECT_EQ(l2.access(2'000'000, 0x1000, 64, false), 2'000'000u + 20'000);
  EXPECT_EQ(l2.access(3'000'000, 0x2000, 128, false), 3'000'000u + 20'000 + 100'000 + 8'000);  // two lines in turn
  EXPECT_EQ(l2.hits(), 1u);
  EXPECT_EQ(l2.misses(), 3u);
}

// A line on its way is waited for, and not read again.
TEST(L2Test, LineOnItsWayIsShared) {
  L2 l2(small(), kMemory);
  const uint64_t first = l2.access(0, 64, 64, false);
  EXPECT_EQ(l2.access(50'000, 64, 64, false), first);
  EXPECT_EQ(l2.access(first, 64, 64, false), first + 20'000);
  EXPECT_EQ(l2.misses(), 1u);
}

// Misses in a row come as fast as the DDR carries lines; hits wait for nobody.
TEST(L2Test, BandwidthBoundsMisses) {
  L2 l2(small(), kMemory);
  l2.access(0, 1 << 20, 64, false);
  uint64_t last = 0;
  for (uint64_t i = 0; i < 100; ++i) last = l2.access(1'000'000, i * 64, 64, false);
  EXPECT_EQ(last, 1'000'000u + 100 * 4'000 + 100'000 + 20'000);
  EXPECT_EQ(l2.access(1'000'000, 1 << 20, 64, false), 1'020'000u);
}

// Hits and misses are those of a cache of lists, for any mixture of reads and writes.
TEST(L2Test, AgreesWithListsOfLines) {
  for (const unsigned ways : {1u, 4u, 16u}) {
    Profile p = small();
    p.set("devmem.l2_ways", fmt::to_string(ways));
    L2 l2(p, kMemory);
    const uint64_t sets = 65536 / 64 / ways;
    std::vector<std::list<uint64_t>> model(sets);
    std::mt19937_64 rng(ways);
    uint64_t hits = 0, misses = 0, now = 0;
    for (int n = 0; n < 100'000; ++n) {
      const uint64_t addr = (rng() % 4 != 0 ? rng() % 60'000 : rng() % (1 << 20)), bytes = 1 + rng() % 128;
      now += rng() % 5'000;
      const uint64_t ready = l2.access(now, addr, bytes, rng() % 3 == 0);
      ASSERT_GE(ready, now + l2.hit_ps());
      for (uint64_t line = addr / 64; line <= (addr + bytes - 1) / 64; ++line) {
        auto& set = model[line % sets];
        const auto it = std::find(set.begin(), set.end(), line);
        it != set.end() ? ++hits : ++misses;
        if (it != set.end()) set.erase(it);
        set.push_front(line);
        if (set.size() > ways) set.pop_back();
      }
    }
    EXPECT_EQ(l2.hits(), hits) << ways << " ways";
    EXPECT_EQ(l2.misses(), misses) << ways << " ways";
    EXPECT_GT(hits, 1000u);
    EXPECT_GT(misses, 1000u);
  }
}

// A whole line written is not read; a part of one is. Both go back to DDR when they have to go, once each, and take its
// bandwidth.
TEST(L2Test, WrittenLinesGoBack) {
  Profile p = small("4096");
  p.set("devmem.l2_ways", "64");  // one set
  L2 l2(p, kMemory);
  for (uint64_t i = 0; i < 64; ++i) EXPECT_EQ(l2.access(0, i * 64, 64, true), 20'000u);  // nothing was read
  EXPECT_EQ(l2.written_back(), 0u);
  // Read, then written back: 8 ns of the DDR each, so the last read starts 63 x 8 ns after the first.
  uint64_t last = 0;
  for (uint64_t i = 64; i < 128; ++i) last = l2.access(1'000'000, i * 64, 64, false);
  EXPECT_EQ(l2.written_back(), 64u);
  EXPECT_EQ(last, 1'000'000u + 63 * 8'000 + 4'000 + 100'000 + 20'000);
  for (uint64_t i = 128; i < 192; ++i) l2.access(2'000'000, i * 64, 64, false);
  EXPECT_EQ(l2.written_back(), 64u);
  L2 whole(p, kMemory);
  whole.access(0, 0, 64, true);
  EXPECT_EQ(whole.access(0, 64, 64, false), 124'000u) << "the DDR was busy with a line that is overwritten";
  L2 parts(p, kMemory);
  EXPECT_EQ(parts.access(0, 10, 4, true), 20'000u);  // the writer does not wait for the rest of the line
  EXPECT_EQ(parts.access(0, 10, 4, false), 124'000u);
}

// Without a cache every access goes to the DDR.
TEST(L2Test, NoCacheAlwaysGoesToDdr) {
  L2 l2(small("0"), kMemory);
  for (unsigned n = 0; n < 3; ++n) {
    const uint64_t now = n * 1'000'000;
    EXPECT_EQ(l2.access(now, 0, 64, false), now + 124'000);
  }
  EXPECT_EQ(l2.access(9'000'000, 0, 64, true), 9'020'000u);
  EXPECT_EQ(l2.hits(), 0u);
  EXPECT_EQ(l2.misses(), 4u);
}

// The cache's own port, where it is limited.
TEST(L2Test, PortBoundsHits) {
  Profile p = small();
  p.set("devmem.l2_bandwidth", "256");
  L2 l2(p, kMemory);
  l2.access(0, 0, 64, true);
  for (uint64_t i = 1; i <= 10; ++i) EXPECT_EQ(l2.access(1'000'000, 0, 64, false), 1'000'000u + i * 2'000 + 20'000);
}

// A size below one set says which one is not.
TEST(L2Test, SizeIsWholeSets) {
  Profile p = small("4096");
  p.set("devmem.l2_ways", "64");
  p.set("devmem.l2_line", "256");
  try {
    L2 l2(p, kMemory);
    FAIL() << "taken";
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("at least 16384 B"), std::string::npos) << e.what();
  }
}

}  // namespace
