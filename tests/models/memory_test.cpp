// SPDX-License-Identifier: Apache-2.0
#include "rnic/mem/memory.h"

#include <gtest/gtest.h>

#include <random>

namespace {

using rnic::Memory;
using rnic::pattern_byte;

std::vector<uint8_t> read(const Memory& m, uint64_t addr, uint64_t len) {
  std::vector<uint8_t> out(len, 0xee);
  EXPECT_TRUE(m.read(addr, out.data(), len));
  return out;
}

// Any mix of writes and reads, crossing pages, agrees with a flat array; with and without a background.
TEST(MemoryTest, AgreesWithAFlatArray) {
  for (const bool background : {false, true}) {
    constexpr uint64_t kSize = 5 * 4096 + 100;
    Memory m(kSize);
    std::vector<uint8_t> flat(kSize, 0);
    if (background) {
      m.set_background(7);
      for (uint64_t i = 0; i < kSize; ++i) flat[i] = pattern_byte(i, 7);
    }
    std::mt19937_64 rng(3);
    for (int n = 0; n < 2000; ++n) {
      const uint64_t addr = rng() % kSize;
      const uint64_t len = rng() % (std::min<uint64_t>(kSize - addr, 9000) + 1);
      if (rng() % 2) {
        std::vector<uint8_t> data(len);
        for (auto& b : data) b = static_cast<uint8_t>(rng());
        ASSERT_TRUE(m.write(addr, data.data(), len));
        std::copy(data.begin(), data.end(), flat.begin() + static_cast<long>(addr));
      } else {
        ASSERT_EQ(read(m, addr, len), std::vector<uint8_t>(flat.begin() + static_cast<long>(addr),
                                                           flat.begin() + static_cast<long>(addr + len)));
      }
    }
  }
}

// An access that leaves the memory, wraps round 2^64 or starts past the end is refused and changes nothing.
TEST(MemoryTest, OutsideIsRefusedAndChangesNothing) {
  Memory m(10000);
  std::vector<uint8_t> ones(20000, 0xff), out(20000, 0x55);
  for (const auto& [addr, len] : std::vector<std::pair<uint64_t, uint64_t>>{{9999, 2},
                                                                            {10000, 1},
                                                                            {10001, 0},
                                                                            {0, 10001},
                                                                            {~uint64_t{0}, 1},
                                                                            {~uint64_t{0}, ~uint64_t{0}},
                                                                            {1, ~uint64_t{0}}}) {
    EXPECT_FALSE(m.write(addr, ones.data(), len)) << addr << " " << len;
    EXPECT_FALSE(m.read(addr, out.data(), len)) << addr << " " << len;
  }
  EXPECT_EQ(out, std::vector<uint8_t>(20000, 0x55));
  EXPECT_EQ(read(m, 0, 10000), std::vector<uint8_t>(10000, 0));
  EXPECT_TRUE(m.write(9999, ones.data(), 1));
  EXPECT_TRUE(m.read(10000, out.data(), 0));
}

// A background of 80 GiB costs nothing, depends on address and seed, and survives a partial write to its page.
TEST(MemoryTest, BackgroundIsAFunctionOfAddressAndSeed) {
  Memory m(uint64_t{80} << 30);
  m.set_background(42);
  const uint64_t addr = (uint64_t{79} << 30) + 4093;
  const uint8_t byte = 0xa5;
  ASSERT_TRUE(m.write(addr, &byte, 1));
  const auto got = read(m, addr - 100, 300);
  unsigned differ = 0;
  for (unsigned i = 0; i < 300; ++i) {
    EXPECT_EQ(got[i], i == 100 ? byte : pattern_byte(addr - 100 + i, 42));
    differ += pattern_byte(addr + i, 42) != pattern_byte(addr + i, 43);
  }
  EXPECT_GT(differ, 270u);
}

}  // namespace
