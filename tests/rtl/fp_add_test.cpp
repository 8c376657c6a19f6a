// SPDX-License-Identifier: Apache-2.0
// Built once for each format: RNIC_FORMAT is golden::Fp16, Bf16 or Fp32, with lanes for 512 bits.
#include <gtest/gtest.h>

#include "Vfp_add.h"
#include "rtl/lanes.h"

namespace rnic::test {
namespace {

using F = golden::RNIC_FORMAT;
constexpr unsigned kBits = 1 + F::kExp + F::kMan, kLanes = 512 / kBits;
constexpr uint32_t kOne = static_cast<uint32_t>(F::kBias) << F::kMan, kMin = 1u << F::kMan;

/// Pairs fill the lanes of a beat; a full one is sent. What is expected is the reference's sum unless it is given.
class FpAddBench : public PipeBench<Vfp_add, 16> {
 public:
  FpAddBench() : PipeBench(test_seed(), 4) {}

  void pair(uint32_t a, uint32_t b, uint32_t sum) {
    set_lane<kBits>(a_, fill_, a);
    set_lane<kBits>(b_, fill_, b);
    set_lane<kBits>(sum_, fill_, sum);
    if (++fill_ == kLanes) send();
  }
  void pair(uint32_t a, uint32_t b) { pair(a, b, golden::float_add<F>(a, b)); }
  /// Both orders of the operands, and both with the other sign.
  void all_ways(uint32_t a, uint32_t b, uint32_t sum) {
    pair(a, b, sum), pair(b, a, sum);
    const uint32_t negative = F::is_nan(sum) || (sum == 0 && a != 0) ? sum : sum ^ F::kSign;
    pair(a ^ F::kSign, b ^ F::kSign, negative), pair(b ^ F::kSign, a ^ F::kSign, negative);
  }
  void gap(unsigned cycles = 1) {
    for (unsigned i = 0; i < cycles; ++i) {
      for (auto& w : top->a_i.m_storage) w = static_cast<uint32_t>(rng());
      step(nullptr, top->sum_o);
    }
  }
  void finish() {
    while (fill_ != 0) pair(kOne, kOne);
    gap(8);
    EXPECT_TRUE(empty());
    EXPECT_GT(beats, 0u);
  }
  unsigned idle_percent = 0;

 private:
  void send() {
    while (idle_percent != 0 && chance(idle_percent)) gap();
    for (unsigned w = 0; w < 16; ++w) top->a_i[w] = a_[w], top->b_i[w] = b_[w];
    step(&sum_, top->sum_o);
    fill_ = 0;
  }
  Beat a_{}, b_{}, sum_{};
  unsigned fill_ = 0;
};

uint32_t any(FpAddBench& b) { return static_cast<uint32_t>(b.rng()) & (F::kSign * 2u - 1u); }

// Every pair of exponents, with all signs and fractions at the ends and in the middle, gives the reference's sum.
TEST(FpAddTest, EveryPairOfExponents) {
  FpAddBench b;
  const uint32_t fractions[] = {0, 1, kMin / 2 - 1, kMin / 2, kMin - 1, static_cast<uint32_t>(b.rng()) % kMin};
  for (uint32_t ea = 0; ea < 1u << F::kExp; ++ea) {
    for (uint32_t eb = 0; eb < 1u << F::kExp; ++eb) {
      for (uint32_t fa : fractions) {
        for (uint32_t fb : fractions) {
          const uint32_t x = ea << F::kMan | fa, y = eb << F::kMan | fb;
          b.pair(x, y), b.pair(x | F::kSign, y), b.pair(x, y | F::kSign), b.pair(x | F::kSign, y | F::kSign);
        }
      }
    }
  }
  b.finish();
}

// Special values crossed with each other and with random ones; one of each kind in all lanes at once.
TEST(FpAddTest, SpecialValuesCrossed) {
  FpAddBench b;
  const auto values = special_values<F>();
  for (uint32_t x : {0u, kMin / 2, kOne, F::kInf, F::kNan}) {
    for (uint32_t y : {0u, kMin / 2, kOne, F::kInf, F::kNan}) {
      for (unsigned l = 0; l < kLanes; ++l) b.pair(x, y);
      for (unsigned l = 0; l < kLanes; ++l) b.pair(x | F::kSign, y);
    }
  }
  for (uint32_t x : values) {
    for (uint32_t y : values) b.pair(x, y);
    for (int i = 0; i < 64; ++i) {
      const uint32_t y = any(b);
      b.pair(x, y), b.pair(y, x);
    }
  }
  b.finish();
}

// Random pairs: bits, near exponents, near cancellation, subnormals.
TEST(FpAddTest, RandomPairs) {
  FpAddBench b;
  for (int i = 0; i < 1000000; ++i) {
    const uint32_t x = any(b), y = any(b);
    switch (i % 4) {
      case 0:
        b.pair(x, y);
        break;
      case 1:
        b.pair(x, (y & ~F::kInf) | (((x & F::kInf) + (b.rng() % 8 << F::kMan)) & F::kInf));
        break;
      case 2:
        b.pair(x, x ^ F::kSign ^ (y & 7) ^ (b.rng() % 2 << F::kMan));
        break;
      default:
        b.pair(x & (F::kSign | (4 * kMin - 1)), y & (F::kSign | (2 * kMin - 1)));
        break;
    }
  }
  b.finish();
}

// Half a last place is rounded to even, less than half and more than half to the nearest, whatever the lost bits are.
TEST(FpAddTest, RoundsToNearestTiesToEven) {
  FpAddBench b;
  const uint32_t half = kOne - ((F::kMan + 1) << F::kMan);  // half a last place of 1
  for (uint32_t x : {kOne, kOne + 1, kOne + 2, kOne + 3, kOne + kMin / 2, kOne + kMin / 2 + 1, kOne + kMin - 2}) {
    b.all_ways(x, half, x + (x & 1));
    b.all_ways(x, half - 1, x);             // a little less
    b.all_ways(x, half - kMin, x);          // a quarter
    b.all_ways(x, half + 1, x + 1);         // a little more
    b.all_ways(x, half + kMin / 2, x + 1);  // three quarters
  }
  b.all_ways(kOne + kMin - 1, half, kOne + kMin);  // all ones, up: the next power of two
  b.finish();
}

// A tie that the subtraction makes: 2 - half a last place of what lies below.
TEST(FpAddTest, RoundsDifferences) {
  FpAddBench b;
  for (uint32_t k = 0; k < 2 * F::kMan + 6; ++k) {
    for (uint32_t x : {kOne, kOne + 1, kOne + kMin - 1, kOne + kMin}) {
      const uint32_t y = (kOne - (k << F::kMan)) | F::kSign;
      if (k >= static_cast<uint32_t>(F::kBias)) continue;
      for (uint32_t f : {0u, 1u, kMin / 2, kMin - 1}) b.all_ways(x, y + f, golden::float_add<F>(x, y + f));
    }
  }
  b.finish();
}

// A bit far below the last place decides a tie: it is not lost however far the operands are apart.
TEST(FpAddTest, FarBitDecidesTies) {
  FpAddBench b;
  for (uint32_t low = 1; low < kMin; low *= 2) {
    const uint32_t half = kOne - ((F::kMan + 1) << F::kMan);
    b.all_ways(kOne, half + low, kOne + 1);  // above the tie by a bit only
    b.all_ways(kOne, half, kOne);
  }
  // Below 1 the last place is half as large: 1 minus a quarter of it is the tie, anything more is nearer below.
  const uint32_t quarter = kOne - ((F::kMan + 2) << F::kMan);
  b.all_ways(kOne, quarter | F::kSign, kOne);
  b.all_ways(kOne, (quarter + 1) | F::kSign, kOne - 1);
  b.all_ways(kOne, (quarter - 1) | F::kSign, kOne);
  b.finish();
}

// Subnormals are not flushed: neither as operands nor as sums, nor on the way to the normals and back.
TEST(FpAddTest, SubnormalsAreNumbers) {
  FpAddBench b;
  for (uint32_t x = 1; x < kMin; x = 2 * x + 1) {
    b.all_ways(0, x, x);
    b.all_ways(x, x, 2 * x);                   // the last one is normal
    b.all_ways(kMin, x, kMin + x);             // the least normal and a subnormal
    b.all_ways(kMin + x, kMin | F::kSign, x);  // back among the subnormals
    b.all_ways(2 * kMin, x, 2 * kMin + (x / 2) + ((x & 1) != 0 && (x / 2 & 1) != 0 ? 1 : 0));
    b.all_ways(kMin, x | F::kSign, kMin - x);
  }
  b.all_ways(kMin - 1, 1, kMin);
  b.all_ways(kMin, 1 | F::kSign, kMin - 1);
  b.finish();
}

// x - x is +0 for every kind of x; -0 - 0 is -0; +0 with -0 is +0; 0 leaves the other operand as it is.
TEST(FpAddTest, SignsOfZero) {
  FpAddBench b;
  for (uint32_t x : special_values<F>()) {
    if (F::is_nan(x) || F::is_inf(x)) continue;
    b.pair(x, x ^ F::kSign, 0);
    if ((x & ~F::kSign) == 0) continue;
    b.pair(x, 0, x), b.pair(0, x, x), b.pair(x, F::kSign, x), b.pair(F::kSign, x, x);
  }
  b.pair(F::kSign, F::kSign, F::kSign), b.pair(0, 0, 0), b.pair(F::kSign, 0, 0), b.pair(0, F::kSign, 0);
  b.finish();
}

// Any NaN, and inf - inf, gives the one NaN: positive, quiet, without payload.
TEST(FpAddTest, OneNan) {
  FpAddBench b;
  for (uint32_t payload = 1; payload < kMin; payload = payload * 2 + 1) {
    for (uint32_t sign : {0u, F::kSign}) {
      for (uint32_t y : special_values<F>())
        b.pair(F::kInf | payload | sign, y, F::kNan), b.pair(y, F::kInf | payload | sign, F::kNan);
    }
  }
  b.pair(F::kInf, F::kInf | F::kSign, F::kNan), b.pair(F::kInf | F::kSign, F::kInf, F::kNan);
  b.finish();
}

// Infinities stay; sums that are too large become infinities, and those just below do not.
TEST(FpAddTest, OverflowGivesInfinity) {
  FpAddBench b;
  const uint32_t most = F::kInf - 1;
  for (uint32_t x : special_values<F>()) {
    if (F::is_nan(x) || x == (F::kInf | F::kSign)) continue;
    b.pair(F::kInf, x, F::kInf), b.pair(x ^ F::kSign, F::kInf | F::kSign, F::kInf | F::kSign);
  }
  const uint32_t last = F::kInf - ((F::kMan + 1) << F::kMan);  // last place of the greatest number
  b.all_ways(most, most, F::kInf);
  b.all_ways(most, last, F::kInf);
  b.all_ways(most, last - kMin, F::kInf);  // half of it: the tie goes up
  b.all_ways(most, last - kMin - 1, most);
  b.all_ways(most - 1, last, most);
  b.all_ways(F::kInf - kMin, F::kInf - kMin, F::kInf);
  b.all_ways(F::kInf - 2 * kMin, F::kInf - 2 * kMin, F::kInf - kMin);
  b.finish();
}

// A sum comes out of every lane at its place: each lane on its own among zeros.
TEST(FpAddTest, LanesAreApart) {
  FpAddBench b;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    for (unsigned l = 0; l < kLanes; ++l) {
      if (l == lane) {
        b.pair(kOne + l, kOne);
      } else {
        b.pair(0, 0, 0);
      }
    }
  }
  b.finish();
}

// Streams with gaps of every kind give what those without give, four edges after the operands.
TEST(FpAddTest, GapsChangeNothing) {
  for (unsigned idle : {0u, 10u, 50u, 90u}) {
    FpAddBench b;
    b.idle_percent = idle;
    for (int i = 0; i < 20000; ++i) b.pair(any(b), any(b));
    b.finish();
  }
}

// Without valid the sum stays as it is.
TEST(FpAddTest, SumStaysWithoutValid) {
  FpAddBench b;
  for (unsigned l = 0; l < kLanes; ++l) b.pair(kOne + l, kOne);
  b.gap(6);
  const uint32_t word = b.top->sum_o[3];
  b.gap(20);
  EXPECT_EQ(b.top->sum_o[3], word);
}

// Reset takes back what is under way.
TEST(FpAddTest, ResetEmptiesIt) {
  FpAddBench b;
  b.top->valid_i = 1;
  for (int i = 0; i < 6; ++i) b.tick();
  EXPECT_TRUE(b.top->valid_o);
  b.top->rst_ni = 0;
  b.top->valid_i = 0;
  b.settle();
  EXPECT_FALSE(b.top->valid_o);
  b.top->rst_ni = 1;
  for (int i = 0; i < 8; ++i) {
    b.tick();
    EXPECT_FALSE(b.top->valid_o);
  }
}

}  // namespace
}  // namespace rnic::test
