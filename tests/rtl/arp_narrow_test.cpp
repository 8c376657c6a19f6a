// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "Varp_narrow.h"
#include "rtl/arp_reference.h"

namespace rnic::test {
namespace {

class ArpNarrowBench : public PipeBench<Varp_narrow, 16> {
 public:
  ArpNarrowBench() : PipeBench(test_seed(), arp::NarrowLatency) {}

  void value(uint64_t dtype, uint32_t x, uint16_t expected) {
    if (dtype != dtype_) finish_beat();
    dtype_ = dtype;
    in_[fill_] = x;
    set_lane<16>(out_, fill_, expected);
    if (++fill_ == 32) send();
  }
  void value(uint64_t dtype, uint32_t x) {
    value(dtype, x, dtype == arp::TypeFp16Acc32 ? golden::fp32_to_fp16(x) : golden::fp32_to_bf16(x));
  }
  /// With both signs.
  void both(uint64_t dtype, uint32_t x, uint16_t expected) {
    value(dtype, x, expected);
    value(dtype, x | 0x80000000, static_cast<uint16_t>(expected | 0x8000));
  }
  void gap(unsigned cycles = 1) {
    for (unsigned i = 0; i < cycles; ++i) {
      top->dtype_i = static_cast<uint8_t>(rng() % 8);
      step(nullptr, top->out_o);
    }
  }
  void finish_beat() {
    while (fill_ != 0) value(dtype_, 0);
  }
  void finish() {
    finish_beat();
    gap(6);
    EXPECT_TRUE(empty());
    EXPECT_GT(beats, 0u);
  }
  void send() {
    while (idle_percent != 0 && chance(idle_percent)) gap();
    top->dtype_i = static_cast<uint8_t>(dtype_);
    for (unsigned w = 0; w < 32; ++w) top->in_i[w] = in_[w];
    step(&out_, top->out_o);
    fill_ = 0;
  }
  unsigned idle_percent = 0;

 private:
  uint64_t dtype_ = arp::TypeFp16Acc32;
  WideBeat in_{};
  Beat out_{};
  unsigned fill_ = 0;
};

// Every upper half with lower halves round each place where a format cuts.
TEST(ArpNarrowTest, EveryUpperHalf) {
  ArpNarrowBench b;
  for (uint64_t dtype : {arp::TypeFp16Acc32, arp::TypeBf16Acc32}) {
    for (uint32_t high = 0; high < 65536; ++high) {
      for (uint32_t low : {0x0000u, 0x0001u, 0x0fffu, 0x1000u, 0x1001u, 0x1fffu, 0x2000u, 0x3000u, 0x7fffu, 0x8000u,
                           0x8001u, 0xffffu}) {
        b.value(dtype, high << 16 | low);
      }
      b.value(dtype, high << 16 | (static_cast<uint32_t>(b.rng()) & 0xffff));
    }
  }
  b.finish();
}

// The same kind of number in all lanes at once.
TEST(ArpNarrowTest, KindsInEveryLane) {
  ArpNarrowBench b;
  for (uint64_t dtype : {arp::TypeFp16Acc32, arp::TypeBf16Acc32}) {
    for (uint32_t x : {0u, 1u, 0x00400000u, 0x33800000u, 0x3f800000u, 0x7f7fffffu, 0x7f800000u, 0x7fc00000u}) {
      for (uint32_t l = 0; l < 32; ++l) b.value(dtype, x);
    }
  }
  b.finish();
}

// Half a last place goes to even, less and more to the nearest.
TEST(ArpNarrowTest, RoundsToNearestTiesToEven) {
  ArpNarrowBench b;
  b.both(arp::TypeFp16Acc32, 0x3f801000, 0x3c00), b.both(arp::TypeFp16Acc32, 0x3f803000, 0x3c02);
  b.both(arp::TypeFp16Acc32, 0x3f801001, 0x3c01), b.both(arp::TypeFp16Acc32, 0x3f800fff, 0x3c00);
  b.both(arp::TypeFp16Acc32, 0x3f802fff, 0x3c01), b.both(arp::TypeFp16Acc32, 0x3ffff000, 0x4000);
  b.both(arp::TypeBf16Acc32, 0x3f808000, 0x3f80), b.both(arp::TypeBf16Acc32, 0x3f818000, 0x3f82);
  b.both(arp::TypeBf16Acc32, 0x3f808001, 0x3f81), b.both(arp::TypeBf16Acc32, 0x3f807fff, 0x3f80);
  b.both(arp::TypeBf16Acc32, 0x3f817fff, 0x3f81), b.both(arp::TypeBf16Acc32, 0x3fff8000, 0x4000);
  b.finish();
}

// Subnormal results are rounded at their own last place, not flushed.
TEST(ArpNarrowTest, SubnormalResults) {
  ArpNarrowBench b;
  b.both(arp::TypeFp16Acc32, 0x33800000, 0x0001);  // 2^-24, the least one
  b.both(arp::TypeFp16Acc32, 0x33000000, 0x0000);  // half of it: to even
  b.both(arp::TypeFp16Acc32, 0x33000001, 0x0001);
  b.both(arp::TypeFp16Acc32, 0x33c00000, 0x0002);  // one and a half: to even
  b.both(arp::TypeFp16Acc32, 0x387fc000, 0x03ff);  // the greatest
  b.both(arp::TypeFp16Acc32, 0x387fe000, 0x0400);  // becomes normal
  b.both(arp::TypeFp16Acc32, 0x38800000, 0x0400);
  b.both(arp::TypeFp16Acc32, 0x00000001, 0x0000);
  b.both(arp::TypeBf16Acc32, 0x00010000, 0x0001), b.both(arp::TypeBf16Acc32, 0x00008000, 0x0000);
  b.both(arp::TypeBf16Acc32, 0x00008001, 0x0001), b.both(arp::TypeBf16Acc32, 0x007f8000, 0x0080);
  b.finish();
}

// What is too large becomes an infinity, what rounds down to the greatest number does not.
TEST(ArpNarrowTest, OverflowGivesInfinity) {
  ArpNarrowBench b;
  b.both(arp::TypeFp16Acc32, 0x477fe000, 0x7bff), b.both(arp::TypeFp16Acc32, 0x477fefff, 0x7bff);
  b.both(arp::TypeFp16Acc32, 0x477ff000, 0x7c00), b.both(arp::TypeFp16Acc32, 0x47800000, 0x7c00);
  b.both(arp::TypeFp16Acc32, 0x47812345, 0x7c00);
  b.both(arp::TypeFp16Acc32, 0x48123456, 0x7c00), b.both(arp::TypeFp16Acc32, 0x7f7fffff, 0x7c00);
  b.both(arp::TypeFp16Acc32, 0x7f800000, 0x7c00);
  b.both(arp::TypeBf16Acc32, 0x7f7f7fff, 0x7f7f), b.both(arp::TypeBf16Acc32, 0x7f7f8000, 0x7f80);
  b.both(arp::TypeBf16Acc32, 0x7f800000, 0x7f80);
  b.finish();
}

// Any NaN becomes the type's one NaN, also when all its payload lies in the bits that go.
TEST(ArpNarrowTest, OneNan) {
  ArpNarrowBench b;
  for (uint32_t x : {0x7f800001u, 0xff800001u, 0x7fc00000u, 0xffffffffu, 0x7fffffffu, 0x7f801000u}) {
    b.value(arp::TypeFp16Acc32, x, golden::kFp16Nan);
  }
  for (uint32_t x : {0x7f800001u, 0xff800001u, 0x7fc00000u, 0xffffffffu, 0x7fffffffu, 0x7f801000u}) {
    b.value(arp::TypeBf16Acc32, x, golden::kBf16Nan);
  }
  b.finish();
}

// Each lane comes out at its place; types mixed back to back, with gaps of every kind, two edges after the
// accumulators.
TEST(ArpNarrowTest, TypesMixedWithGaps) {
  for (unsigned idle : {0u, 50u, 90u}) {
    ArpNarrowBench b;
    b.idle_percent = idle;
    for (int i = 0; i < 5000; ++i) {
      const uint64_t dtype = b.rng() % 2 != 0 ? arp::TypeFp16Acc32 : arp::TypeBf16Acc32;
      for (int l = 0; l < 32; ++l)
        b.value(dtype, static_cast<uint32_t>(b.rng()) & (l % 2 != 0 ? 0xffffffff : 0xbfffffff));
    }
    b.finish();
  }
}

// Other types give zeros.
TEST(ArpNarrowTest, OtherTypesGiveZeros) {
  ArpNarrowBench b;
  for (unsigned dtype = 0; dtype < 256; ++dtype) {
    const bool known = dtype == arp::TypeFp16Acc32 || dtype == arp::TypeBf16Acc32;
    for (int l = 0; l < 32; ++l) {
      const auto x = static_cast<uint32_t>(b.rng());
      if (known) {
        b.value(dtype, x);
      } else {
        b.value(dtype, x, 0);
      }
    }
  }
  b.finish();
}

// Reset takes back what is under way.
TEST(ArpNarrowTest, ResetEmptiesIt) {
  for (unsigned after = 1; after <= arp::NarrowLatency; ++after) {
    ArpNarrowBench b;
    b.top->valid_i = 1;
    b.tick();
    b.top->valid_i = 0;
    for (unsigned i = 1; i < after; ++i) b.tick();
    b.top->rst_ni = 0;
    b.settle();
    EXPECT_FALSE(b.top->valid_o);
    b.top->rst_ni = 1;
    for (int i = 0; i < 4; ++i) {
      b.tick();
      EXPECT_FALSE(b.top->valid_o);
    }
  }
}

}  // namespace
}  // namespace rnic::test
