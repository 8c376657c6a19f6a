// SPDX-License-Identifier: Apache-2.0
#include "rnic/golden/float.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

namespace rnic::golden {
namespace {

float number(uint32_t bits) {
  float f;
  std::memcpy(&f, &bits, 4);
  return f;
}
uint32_t bits(float f) {
  uint32_t b;
  std::memcpy(&b, &f, 4);
  return fp32_canonical(b);
}

// Sums of FP32 are the host's, whatever the distance of the exponents, near cancellation and among subnormals.
TEST(FloatTest, Fp32SumIsTheHosts) {
  std::mt19937_64 rng(1);
  for (int i = 0; i < 2000000; ++i) {
    const uint64_t r = rng();
    auto a = static_cast<uint32_t>(r), b = static_cast<uint32_t>(r >> 32);
    if (i % 4 == 1) b = (b & 0x807fffff) | ((a + (((b >> 23 & 63) - 32) << 23)) & 0x7f800000);
    if (i % 4 == 2) b = a ^ 0x80000000 ^ (b & 0x8000003f);
    if (i % 4 == 3) a &= 0x81ffffff, b &= 0x81ffffff;
    ASSERT_EQ(fp32_add(a, b), bits(number(a) + number(b))) << std::hex << a << " + " << b;
  }
}

// A sum of two BF16 or two FP16 numbers is exact in double, and is rounded once.
TEST(FloatTest, SixteenBitSumsAreRoundedOnce) {
  std::mt19937_64 rng(2);
  for (int i = 0; i < 500000; ++i) {
    const auto a = static_cast<uint16_t>(rng()), b = static_cast<uint16_t>(rng());
    const uint16_t s = fp16_add(a, b);
    const double exact = double{number(fp16_to_fp32(a))} + double{number(fp16_to_fp32(b))};
    if (!std::isfinite(exact)) continue;
    const double is = number(fp16_to_fp32(s));
    // No neighbour is nearer.
    for (int d : {-1, 1}) {
      const auto n = static_cast<uint16_t>(s + d);
      const double other = number(fp16_to_fp32(n));
      if (((s ^ n) & 0x8000) == 0 && std::isfinite(other) && std::isfinite(is)) {
        ASSERT_LE(std::abs(is - exact), std::abs(other - exact)) << std::hex << a << " + " << b;
      }
    }
  }
}

// Values from the standards' tables.
TEST(FloatTest, KnownValues) {
  EXPECT_EQ(fp16_to_fp32(0x3c00), bits(1.0f));
  EXPECT_EQ(fp16_to_fp32(0x7bff), bits(65504.0f));
  EXPECT_EQ(fp16_to_fp32(0x0400), bits(0x1p-14f));
  EXPECT_EQ(fp16_to_fp32(0x0001), bits(0x1p-24f));
  EXPECT_EQ(fp16_to_fp32(0x3555), bits(0.333251953125f));
  EXPECT_EQ(bf16_to_fp32(0x3f80), bits(1.0f));
  EXPECT_EQ(fp32_to_fp16(bits(65519.99f)), 0x7bff);
  EXPECT_EQ(fp32_to_fp16(bits(65520.0f)), 0x7c00);
  EXPECT_EQ(fp32_to_fp16(bits(0x1p-25f)), 0x0000);
  EXPECT_EQ(fp32_to_bf16(bits(3.14159265f)), 0x4049);
  EXPECT_EQ(fp16_add(0x3c00, 0x1000), 0x3c00);  // 1 + 2^-11: a tie, to even
  EXPECT_EQ(fp16_add(0x3c01, 0x1000), 0x3c02);
  EXPECT_EQ(fp16_add(0x0001, 0x03ff), 0x0400);
  EXPECT_EQ(bf16_add(0x7f7f, 0x7f7f), 0x7f80);
}

// Every value comes back from FP32 as it was.
TEST(FloatTest, WidenedAndBack) {
  for (uint32_t x = 0; x < 65536; ++x) {
    const auto v = static_cast<uint16_t>(x);
    ASSERT_EQ(fp32_to_fp16(fp16_to_fp32(v)), fp16_canonical(v));
    ASSERT_EQ(fp32_to_bf16(bf16_to_fp32(v)), bf16_canonical(v));
  }
}

// The documented NaN, signs of zeros, order.
TEST(FloatTest, SpecialCases) {
  EXPECT_EQ(fp16_add(0xfe01, 0), kFp16Nan);
  EXPECT_EQ(fp16_add(0x7c00, 0xfc00), kFp16Nan);
  EXPECT_EQ(bf16_add(0xff81, 0x3f80), kBf16Nan);
  EXPECT_EQ(fp32_add(0xff800000, 0x7f800000), kFp32Nan);
  EXPECT_EQ(fp16_add(0x8000, 0x8000), 0x8000);
  EXPECT_EQ(fp16_add(0x8000, 0), 0);
  EXPECT_EQ(fp16_add(0xbc00, 0x3c00), 0);
  EXPECT_EQ(fp16_min(0, 0x8000), 0x8000);
  EXPECT_EQ(fp16_max(0x8000, 0), 0);
  EXPECT_EQ(bf16_max(0x3f80, 0x7f81), kBf16Nan);
  EXPECT_EQ(fp32_min(bits(-2.0f), bits(1.0f)), bits(-2.0f));
  EXPECT_EQ(int32_min(0x80000000, 1), 0x80000000);
  EXPECT_EQ(int64_max(~uint64_t{0}, 1), uint64_t{1});
  EXPECT_EQ(int32_add(0xffffffff, 1), 0u);
}

}  // namespace
}  // namespace rnic::golden
