// SPDX-License-Identifier: Apache-2.0
// Built once for each format: RNIC_FORMAT is golden::Fp16, Bf16 or Fp32, with lanes for 512 bits.
#include <gtest/gtest.h>

#include "Vfp_minmax.h"
#include "rtl/lanes.h"

namespace rnic::test {
namespace {

using F = golden::RNIC_FORMAT;
constexpr unsigned kBits = 1 + F::kExp + F::kMan, kLanes = 512 / kBits;

enum Op { kMin, kMax, kPass };

class FpMinmaxBench : public PipeBench<Vfp_minmax, 16> {
 public:
  FpMinmaxBench() : PipeBench(test_seed(), 1) {}

  void pair(Op op, uint32_t a, uint32_t b, uint32_t res) {
    if (op != op_) finish_beat();
    op_ = op;
    set_lane<kBits>(a_, fill_, a);
    set_lane<kBits>(b_, fill_, b);
    set_lane<kBits>(res_, fill_, res);
    if (++fill_ == kLanes) send();
  }
  void pair(Op op, uint32_t a, uint32_t b) {
    pair(op, a, b, op == kMin ? golden::float_min<F>(a, b) : op == kMax ? golden::float_max<F>(a, b) : F::canonical(b));
  }
  void finish_beat() {
    while (fill_ != 0) pair(op_, 0, 0, 0);
  }
  void gap(unsigned cycles = 1) {
    for (unsigned i = 0; i < cycles; ++i) step(nullptr, top->res_o);
  }
  void finish() {
    finish_beat();
    gap(4);
    EXPECT_TRUE(empty());
    EXPECT_GT(beats, 0u);
  }
  unsigned idle_percent = 0;

 private:
  void send() {
    while (idle_percent != 0 && chance(idle_percent)) gap();
    for (unsigned w = 0; w < 16; ++w) top->a_i[w] = a_[w], top->b_i[w] = b_[w];
    top->max_i = op_ == kMax;
    top->pass_i = op_ == kPass;
    if (op_ == kPass) top->max_i = static_cast<uint8_t>(rng() % 2);
    step(&res_, top->res_o);
    fill_ = 0;
  }
  Beat a_{}, b_{}, res_{};
  unsigned fill_ = 0;
  Op op_ = kMin;
};

// Special values crossed, in minimum, maximum and handing on.
TEST(FpMinmaxTest, SpecialValuesCrossed) {
  FpMinmaxBench b;
  const auto values = special_values<F>();
  for (Op op : {kMin, kMax, kPass}) {
    for (uint32_t x : values) {
      for (uint32_t y : values) b.pair(op, x, y);
    }
  }
  b.finish();
}

// Every pair of exponents with all signs, operands equal and a last place apart.
TEST(FpMinmaxTest, EveryPairOfExponents) {
  FpMinmaxBench b;
  for (Op op : {kMin, kMax}) {
    for (uint32_t ea = 0; ea < 1u << F::kExp; ++ea) {
      for (uint32_t eb = 0; eb < 1u << F::kExp; ++eb) {
        for (uint32_t signs = 0; signs < 4; ++signs) {
          const uint32_t fa = static_cast<uint32_t>(b.rng()) % (1u << F::kMan);
          for (uint32_t fb : {fa, fa ^ 1, static_cast<uint32_t>(b.rng()) % (1u << F::kMan)}) {
            b.pair(op, ea << F::kMan | fa | (signs & 1 ? F::kSign : 0),
                   eb << F::kMan | fb | (signs & 2 ? F::kSign : 0));
          }
        }
      }
    }
  }
  b.finish();
}

// A NaN operand on either side gives the one NaN, in minimum and in maximum; handed on it becomes that NaN.
TEST(FpMinmaxTest, NanWins) {
  FpMinmaxBench b;
  for (Op op : {kMin, kMax}) {
    for (uint32_t payload = 1; payload < 1u << F::kMan; payload = 2 * payload + 1) {
      for (uint32_t sign : {0u, F::kSign}) {
        for (uint32_t y : special_values<F>()) {
          b.pair(op, F::kInf | payload | sign, y, F::kNan);
          b.pair(op, y, F::kInf | payload | sign, F::kNan);
        }
      }
    }
  }
  for (uint32_t x : special_values<F>()) b.pair(kPass, F::kNan, x, F::is_nan(x) ? F::kNan : x);
  b.finish();
}

// -0 is below +0, on either side.
TEST(FpMinmaxTest, MinusZeroIsBelowPlusZero) {
  FpMinmaxBench b;
  b.pair(kMin, 0, F::kSign, F::kSign), b.pair(kMin, F::kSign, 0, F::kSign);
  b.finish_beat();
  b.pair(kMax, 0, F::kSign, 0), b.pair(kMax, F::kSign, 0, 0);
  b.finish_beat();
  b.pair(kPass, 0, F::kSign, F::kSign), b.pair(kPass, F::kSign, 0, 0);
  b.finish();
}

// Random pairs with gaps of every kind, an edge after the operands.
TEST(FpMinmaxTest, GapsChangeNothing) {
  for (unsigned idle : {0u, 50u, 90u}) {
    FpMinmaxBench b;
    b.idle_percent = idle;
    for (int i = 0; i < 30000; ++i) {
      b.pair(static_cast<Op>(i / 100 % 3), static_cast<uint32_t>(b.rng()) & (F::kSign * 2u - 1u),
             static_cast<uint32_t>(b.rng()) & (F::kSign * 2u - 1u));
    }
    b.finish();
  }
}

// Reset takes back what is under way.
TEST(FpMinmaxTest, ResetEmptiesIt) {
  FpMinmaxBench b;
  b.top->valid_i = 1;
  b.tick();
  EXPECT_TRUE(b.top->valid_o);
  b.top->rst_ni = 0;
  b.settle();
  EXPECT_FALSE(b.top->valid_o);
}

}  // namespace
}  // namespace rnic::test
