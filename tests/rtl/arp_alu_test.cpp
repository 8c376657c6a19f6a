// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "Varp_alu.h"
#include "rtl/arp_reference.h"

namespace rnic::test {
namespace {

constexpr uint64_t kTypes[] = {arp::TypeFp16,  arp::TypeBf16,      arp::TypeFp32,     arp::TypeInt32,
                               arp::TypeInt64, arp::TypeFp16Acc32, arp::TypeBf16Acc32};
constexpr uint64_t kOps[] = {arp::OpSum, arp::OpMin, arp::OpMax};

bool wide(uint64_t dtype) { return dtype == arp::TypeFp16Acc32 || dtype == arp::TypeBf16Acc32; }

class ArpAluBench : public PipeBench<Varp_alu, 32> {
 public:
  ArpAluBench() : PipeBench(test_seed(), arp::AluLatency) {}

  void beat(uint64_t dtype, uint64_t op, bool first, const WideBeat& acc, const Beat512& in, const WideBeat& expected) {
    while (idle_percent != 0 && chance(idle_percent)) gap();
    top->dtype_i = static_cast<uint8_t>(dtype);
    top->op_i = static_cast<uint8_t>(op);
    top->first_i = first;
    for (unsigned w = 0; w < 32; ++w) top->acc_i[w] = acc[w];
    for (unsigned w = 0; w < 16; ++w) top->in_i[w] = in[w];
    step(&expected, top->res_o);
  }
  void beat(uint64_t dtype, uint64_t op, bool first, const WideBeat& acc, const Beat512& in) {
    beat(dtype, op, first, acc, in, alu_reference(dtype, op, first, acc, in));
  }
  void gap(unsigned cycles = 1) {
    for (unsigned i = 0; i < cycles; ++i) {
      for (auto& w : top->in_i.m_storage) w = static_cast<uint32_t>(rng());
      top->dtype_i = static_cast<uint8_t>(rng() % 8);
      step(nullptr, top->res_o);
    }
  }
  void finish() {
    gap(arp::AluLatency + 2);
    EXPECT_TRUE(empty());
    EXPECT_GT(beats, 0u);
  }
  template <class Beat>
  Beat random() {
    Beat b;
    for (auto& w : b) w = static_cast<uint32_t>(rng());
    return b;
  }
  unsigned idle_percent = 0;
};

/// Operands worth trying: a lane of the accumulators' type and one of the contributions'.
template <unsigned AccBits, unsigned InBits>
void cross(ArpAluBench& b, uint64_t dtype, const std::vector<uint64_t>& accs, const std::vector<uint64_t>& ins) {
  const size_t lanes = 512 / InBits;
  for (uint64_t op : kOps) {
    for (bool first : {false, true}) {
      WideBeat acc = b.random<WideBeat>();
      Beat512 in{};
      size_t fill = 0;
      for (uint64_t x : accs) {
        for (uint64_t y : ins) {
          set_lane<AccBits>(acc, fill, x);
          set_lane<InBits>(in, fill, y);
          if (++fill == lanes) b.beat(dtype, op, first, acc, in), fill = 0;
        }
      }
      b.beat(dtype, op, first, acc, in);
    }
  }
}
template <class F>
std::vector<uint64_t> specials() {
  const auto v = special_values<F>();
  return {v.begin(), v.end()};
}
std::vector<uint64_t> integers(unsigned bits) {
  std::vector<uint64_t> v;
  const uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  for (unsigned k = 0; k < bits; ++k) {
    for (int d : {-1, 0, 1}) v.push_back(((uint64_t{1} << k) + static_cast<uint64_t>(static_cast<int64_t>(d))) & mask);
  }
  const size_t n = v.size();
  for (size_t i = 0; i < n; ++i) v.push_back(~v[i] & mask);
  return v;
}

// Special values of each type crossed, in every operation, first contributions included.
TEST(ArpAluTest, SpecialValuesOfEveryType) {
  ArpAluBench b;
  using golden::Bf16, golden::Fp16, golden::Fp32;
  cross<16, 16>(b, arp::TypeFp16, specials<Fp16>(), specials<Fp16>());
  cross<16, 16>(b, arp::TypeBf16, specials<Bf16>(), specials<Bf16>());
  cross<32, 32>(b, arp::TypeFp32, specials<Fp32>(), specials<Fp32>());
  cross<32, 16>(b, arp::TypeFp16Acc32, specials<Fp32>(), specials<Fp16>());
  cross<32, 16>(b, arp::TypeBf16Acc32, specials<Fp32>(), specials<Bf16>());
  cross<32, 32>(b, arp::TypeInt32, integers(32), integers(32));
  cross<64, 64>(b, arp::TypeInt64, integers(64), integers(64));
  b.finish();
}

// Random beats, types and operations mixed back to back and with gaps of every kind: each result is its own beat's.
TEST(ArpAluTest, TypesMixedBackToBack) {
  for (unsigned idle : {0u, 10u, 50u, 90u}) {
    ArpAluBench b;
    b.idle_percent = idle;
    for (int i = 0; i < 20000; ++i) {
      const uint64_t dtype = kTypes[b.rng() % std::size(kTypes)], op = kOps[b.rng() % std::size(kOps)];
      b.beat(dtype, op, b.chance(20), b.random<WideBeat>(), b.random<Beat512>());
    }
    b.finish();
  }
}

// Two beats of every pair of types and operations behind each other.
TEST(ArpAluTest, EveryTypeBehindEveryOther) {
  ArpAluBench b;
  for (uint64_t t1 : kTypes) {
    for (uint64_t t2 : kTypes) {
      for (uint64_t op1 : kOps) {
        for (uint64_t op2 : kOps) {
          for (unsigned firsts = 0; firsts < 4; ++firsts) {
            b.beat(t1, op1, firsts & 1, b.random<WideBeat>(), b.random<Beat512>());
            b.beat(t2, op2, firsts & 2, b.random<WideBeat>(), b.random<Beat512>());
            b.gap(firsts * 2);
          }
        }
      }
    }
  }
  b.finish();
}

// Every value of 16 bits is widened exactly; NaNs become the one NaN.
TEST(ArpAluTest, EveryInputIsWidened) {
  for (uint64_t dtype : {arp::TypeFp16Acc32, arp::TypeBf16Acc32}) {
    ArpAluBench b;
    for (uint32_t x = 0; x < 65536; x += 32) {
      Beat512 in{};
      for (uint32_t l = 0; l < 32; ++l) set_lane<16>(in, l, x + l);
      b.beat(dtype, arp::OpSum, true, b.random<WideBeat>(), in);
      b.beat(dtype, arp::OpSum, false, b.random<WideBeat>(), in);
    }
    b.finish();
  }
}

// A first contribution of any value is the result, NaNs as in a sum; what the accumulator held does not count.
TEST(ArpAluTest, FirstContributionIsTaken) {
  for (uint64_t op : kOps) {
    ArpAluBench b;
    WideBeat nans;
    nans.fill(0xffffffff);
    for (uint64_t dtype : {arp::TypeFp16, arp::TypeBf16}) {
      for (uint32_t x = 0; x < 65536; x += 32) {
        Beat512 in{};
        WideBeat out{};
        for (uint32_t l = 0; l < 32; ++l) {
          set_lane<16>(in, l, x + l);
          const auto v = static_cast<uint16_t>(x + l);
          set_lane<16>(out, l, dtype == arp::TypeFp16 ? golden::fp16_canonical(v) : golden::bf16_canonical(v));
        }
        b.beat(dtype, op, true, nans, in, out);
      }
    }
    b.finish();
  }
}

// 1 + 2^-11 is lost in FP16, and kept with FP32 accumulators.
TEST(ArpAluTest, Acc32KeepsWhatFp16Loses) {
  ArpAluBench b;
  WideBeat acc{}, sum{};
  Beat512 in{};
  in.fill(0x10001000);  // 2^-11
  for (unsigned w = 0; w < 16; ++w) acc[w] = sum[w] = 0x3c003c00;
  b.beat(arp::TypeFp16, arp::OpSum, false, acc, in, sum);
  acc.fill(0x3f800000);
  sum.fill(0x3f801000);
  b.beat(arp::TypeFp16Acc32, arp::OpSum, false, acc, in, sum);
  b.finish();
}

// A sum of 64 bits carries into its upper half; sums of 32 bits do not reach into each other.
TEST(ArpAluTest, CarriesStayInTheirElement) {
  ArpAluBench b;
  WideBeat acc{}, sum32{}, sum64{};
  Beat512 in{};
  for (unsigned w = 0; w < 16; w += 2) acc[w] = 0xffffffff, in[w] = 1, sum64[w + 1] = 1;
  b.beat(arp::TypeInt32, arp::OpSum, false, acc, in, sum32);
  b.beat(arp::TypeInt64, arp::OpSum, false, acc, in, sum64);
  b.finish();
}

// Minimum and maximum of integers are signed, and look at both halves of 64 bits.
TEST(ArpAluTest, IntegerOrderIsSigned) {
  ArpAluBench b;
  struct Case {
    uint64_t less, more;
  };
  for (const Case& c : {Case{0x1'7fffffff, 0x2'00000000},
                        Case{~uint64_t{0}, 0},
                        {uint64_t{1} << 63, 1},
                        {0x1'0000'0000, 0x1'0000'0001},
                        {0xffffffff, 0x1'0000'0000},
                        {0xffffffff'00000000, 0xffffffff'00000001},
                        {0x80000000'ffffffff, 0x80000001'00000000}}) {
    WideBeat less{}, more{};
    Beat512 in_less{}, in_more{};
    for (unsigned l = 0; l < 8; ++l) {
      set_lane<64>(less, l, c.less), set_lane<64>(more, l, c.more);
      set_lane<64>(in_less, l, c.less), set_lane<64>(in_more, l, c.more);
    }
    b.beat(arp::TypeInt64, arp::OpMin, false, more, in_less, less);
    b.beat(arp::TypeInt64, arp::OpMin, false, less, in_more, less);
    b.beat(arp::TypeInt64, arp::OpMax, false, more, in_less, more);
    b.beat(arp::TypeInt64, arp::OpMax, false, less, in_more, more);
  }
  WideBeat minus{}, plus{};
  Beat512 in{};
  for (unsigned l = 0; l < 16; ++l) minus[l] = 0x80000000, plus[l] = in[l] = 0x7fffffff;
  b.beat(arp::TypeInt32, arp::OpMin, false, minus, in, minus);
  b.beat(arp::TypeInt32, arp::OpMax, false, minus, in, plus);
  b.finish();
}

// Each lane of each type comes out at its place, alone among zeros.
TEST(ArpAluTest, LanesAreApart) {
  ArpAluBench b;
  for (uint64_t dtype : kTypes) {
    const unsigned in_bits = dtype == arp::TypeInt64 ? 64 : dtype == arp::TypeFp32 || dtype == arp::TypeInt32 ? 32 : 16;
    for (uint64_t op : {arp::OpSum, arp::OpMax}) {
      for (bool first : {false, true}) {
        for (unsigned lane = 0; lane < 512 / in_bits; ++lane) {
          Beat512 in{};
          const uint64_t value = 0x0101 + 0x0101 * uint64_t{lane};
          if (in_bits == 16) set_lane<16>(in, lane, value);
          if (in_bits == 32) set_lane<32>(in, lane, value << 12);
          if (in_bits == 64) set_lane<64>(in, lane, value << 28);
          b.beat(dtype, op, first, WideBeat{}, in);
        }
      }
    }
  }
  b.finish();
}

// The upper half is zeros for types with narrow accumulators, whatever comes in there.
TEST(ArpAluTest, UpperHalfIsZero) {
  ArpAluBench b;
  for (uint64_t dtype : kTypes) {
    if (wide(dtype)) continue;
    for (uint64_t op : kOps) {
      b.beat(arp::TypeBf16Acc32, op, false, b.random<WideBeat>(), b.random<Beat512>());  // leaves something behind
      b.beat(dtype, op, false, b.random<WideBeat>(), b.random<Beat512>());
      b.gap(arp::AluLatency);
      for (unsigned w = 16; w < 32; ++w) EXPECT_EQ(b.top->res_o[w], 0u);
    }
  }
  b.finish();
}

// An unknown type or operation gives zeros, and harms no neighbour.
TEST(ArpAluTest, UnknownGivesZeros) {
  ArpAluBench b;
  for (unsigned x = 0; x < 256; ++x) {
    for (bool first : {false, true}) {
      if (x > arp::TypeBf16Acc32) b.beat(x, arp::OpSum, first, b.random<WideBeat>(), b.random<Beat512>(), WideBeat{});
      if (x > arp::OpMax)
        b.beat(kTypes[x % std::size(kTypes)], x, first, b.random<WideBeat>(), b.random<Beat512>(), WideBeat{});
      b.beat(kTypes[x % std::size(kTypes)], x % 3, first, b.random<WideBeat>(), b.random<Beat512>());
    }
  }
  b.finish();
}

// Without valid the result stays as it is, whatever the inputs do.
TEST(ArpAluTest, ResultStaysWithoutValid) {
  ArpAluBench b;
  b.beat(arp::TypeFp16, arp::OpSum, false, b.random<WideBeat>(), b.random<Beat512>());
  b.gap(arp::AluLatency);
  WideBeat before;
  for (unsigned w = 0; w < 32; ++w) before[w] = b.top->res_o[w];
  b.gap(3 * arp::AluLatency);
  for (unsigned w = 0; w < 32; ++w) EXPECT_EQ(b.top->res_o[w], before[w]);
}

// Reset takes back what is under way.
TEST(ArpAluTest, ResetEmptiesIt) {
  for (unsigned after = 1; after <= arp::AluLatency; ++after) {
    ArpAluBench b;
    b.top->dtype_i = 0, b.top->op_i = 0, b.top->first_i = 0;
    b.top->valid_i = 1;
    b.tick();
    b.top->valid_i = 0;
    for (unsigned i = 1; i < after; ++i) b.tick();
    b.top->rst_ni = 0;
    b.settle();
    EXPECT_FALSE(b.top->valid_o);
    b.top->rst_ni = 1;
    for (unsigned i = 0; i < 2 * arp::AluLatency; ++i) {
      b.tick();
      EXPECT_FALSE(b.top->valid_o);
    }
  }
}

}  // namespace
}  // namespace rnic::test
