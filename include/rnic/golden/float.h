// SPDX-License-Identifier: Apache-2.0
// Reference arithmetic of the AllReduce engine, on bit patterns, by exact integer arithmetic: the same on every host,
// whatever its floating point unit, rounding mode or compiler flags do. Written from IEEE 754-2019.
//
// FP16 (binary16), BF16 (the upper half of binary32) and FP32 (binary32). Sums are rounded to nearest, ties to even.
// Subnormals are numbers as others, as operands and as results. A result that is no number is always the positive quiet
// NaN with an empty payload: kFp16Nan, kBf16Nan, kFp32Nan, whatever the operands' signs and payloads. inf - inf is that
// NaN, x - x is +0, -0 + -0 is -0. Minimum and maximum are IEEE 754-2019's minimum and maximum: a NaN operand gives the
// NaN, and -0 < +0.
#pragma once

#include <cstdint>

namespace rnic::golden {

/// The NaN that every operation gives.
constexpr uint16_t kFp16Nan = 0x7e00, kBf16Nan = 0x7fc0;
constexpr uint32_t kFp32Nan = 0x7fc00000;

/// A binary format: sign, `kExp` exponent bits, `kMan` fraction bits.
template <unsigned Exp, unsigned Man>
struct FloatFormat {
  static constexpr unsigned kExp = Exp, kMan = Man;
  static constexpr uint32_t kSign = 1u << (Exp + Man);
  static constexpr uint32_t kInf = ((1u << Exp) - 1) << Man;
  static constexpr uint32_t kNan = kInf | 1u << (Man - 1);
  static constexpr int kBias = (1 << (Exp - 1)) - 1;

  static constexpr bool is_nan(uint32_t x) { return (x & ~kSign) > kInf; }
  static constexpr bool is_inf(uint32_t x) { return (x & ~kSign) == kInf; }
  /// A finite number is significand(x) * 2^exponent(x), with its sign.
  static constexpr uint32_t significand(uint32_t x) {
    const uint32_t man = x & ((1u << Man) - 1);
    return (x & kInf) != 0 ? man | 1u << Man : man;
  }
  static constexpr int exponent(uint32_t x) {
    const int field = static_cast<int>((x & kInf) >> Man);
    return (field != 0 ? field : 1) - kBias - static_cast<int>(Man);
  }
  /// The NaN in place of any NaN; other values as they are.
  static constexpr uint32_t canonical(uint32_t x) { return is_nan(x) ? kNan : x; }
};
using Fp16 = FloatFormat<5, 10>;
using Bf16 = FloatFormat<8, 7>;
using Fp32 = FloatFormat<8, 23>;

/// magnitude * 2^exponent (magnitude below 2^63) as the nearest number of the format, ties to even.
template <class F>
constexpr uint32_t float_round(bool negative, uint64_t magnitude, int exponent) {
  const uint32_t sign = negative ? F::kSign : 0;
  if (magnitude == 0) return sign;
  int top = 63;
  while (!(magnitude >> top & 1)) --top;
  // The last place that the result keeps: Man below the leading one, but none below the subnormals'.
  constexpr int kLeast = 1 - F::kBias - static_cast<int>(F::kMan);
  const int last =
      exponent + top - static_cast<int>(F::kMan) > kLeast ? exponent + top - static_cast<int>(F::kMan) : kLeast;
  const int drop = last - exponent;
  uint64_t kept = 0;
  if (drop <= 0) {
    kept = magnitude << -drop;
  } else if (drop < 64) {
    kept = magnitude >> drop;
    const uint64_t rest = magnitude - (kept << drop), half = uint64_t{1} << (drop - 1);
    if (rest > half || (rest == half && (kept & 1) != 0)) ++kept;
  }  // else less than half of the least subnormal, as the magnitude is below 2^63
  // kept * 2^last; one more than all fraction bits reaches into the exponent by itself.
  const int field = last - kLeast;  // 0 for subnormals and the lowest normals
  const uint64_t bits = (static_cast<uint64_t>(field) << F::kMan) + kept;
  return sign | static_cast<uint32_t>(bits < F::kInf ? bits : F::kInf);
}

template <class F>
constexpr uint32_t float_add(uint32_t a, uint32_t b) {
  if (F::is_nan(a) || F::is_nan(b)) return F::kNan;
  if (F::is_inf(a) && F::is_inf(b)) return a == b ? a : F::kNan;
  if (F::is_inf(a)) return a;
  if (F::is_inf(b)) return b;
  if (F::exponent(a) < F::exponent(b)) {
    const uint32_t t = a;
    a = b;
    b = t;
  }
  // Both on a scale 2^kScale finer than a's. What b has below that counts as one unit: it is neither nothing nor a half
  // of anything that remains, because a is then normal and far greater.
  constexpr int kScale = 36;
  const int shift = F::exponent(a) - F::exponent(b);
  const uint64_t fine = uint64_t{F::significand(b)} << kScale;
  const uint64_t whole = shift < 64 ? fine >> shift : 0;
  const bool rest = shift < 64 ? whole << shift != fine : fine != 0;
  const auto x = static_cast<int64_t>(uint64_t{F::significand(a)} << kScale), y = static_cast<int64_t>(whole | rest);
  const int64_t sum = ((a & F::kSign) != 0 ? -x : x) + ((b & F::kSign) != 0 ? -y : y);
  if (sum == 0) return a & b & F::kSign;
  return float_round<F>(sum < 0, static_cast<uint64_t>(sum < 0 ? -sum : sum), F::exponent(a) - kScale);
}

/// Below 0 and the like: order of the numbers, with -0 below +0.
template <class F>
constexpr bool float_less(uint32_t a, uint32_t b) {
  const bool na = (a & F::kSign) != 0, nb = (b & F::kSign) != 0;
  if (na != nb) return na;
  return na ? a > b : a < b;
}
template <class F>
constexpr uint32_t float_min(uint32_t a, uint32_t b) {
  return F::is_nan(a) || F::is_nan(b) ? F::kNan : float_less<F>(b, a) ? b : a;
}
template <class F>
constexpr uint32_t float_max(uint32_t a, uint32_t b) {
  return F::is_nan(a) || F::is_nan(b) ? F::kNan : float_less<F>(a, b) ? b : a;
}

/// From one format to another; exact where the other one has it, else rounded to nearest, ties to even.
template <class From, class To>
constexpr uint32_t float_convert(uint32_t x) {
  const bool negative = (x & From::kSign) != 0;
  if (From::is_nan(x)) return To::kNan;
  if (From::is_inf(x)) return To::kInf | (negative ? To::kSign : 0);
  return float_round<To>(negative, From::significand(x), From::exponent(x));
}

// ---- By name
// ---------------------------------------------------------------------------------------------------------
constexpr uint16_t fp16_add(uint16_t a, uint16_t b) { return static_cast<uint16_t>(float_add<Fp16>(a, b)); }
constexpr uint16_t fp16_min(uint16_t a, uint16_t b) { return static_cast<uint16_t>(float_min<Fp16>(a, b)); }
constexpr uint16_t fp16_max(uint16_t a, uint16_t b) { return static_cast<uint16_t>(float_max<Fp16>(a, b)); }
constexpr uint16_t bf16_add(uint16_t a, uint16_t b) { return static_cast<uint16_t>(float_add<Bf16>(a, b)); }
constexpr uint16_t bf16_min(uint16_t a, uint16_t b) { return static_cast<uint16_t>(float_min<Bf16>(a, b)); }
constexpr uint16_t bf16_max(uint16_t a, uint16_t b) { return static_cast<uint16_t>(float_max<Bf16>(a, b)); }
constexpr uint32_t fp32_add(uint32_t a, uint32_t b) { return float_add<Fp32>(a, b); }
constexpr uint32_t fp32_min(uint32_t a, uint32_t b) { return float_min<Fp32>(a, b); }
constexpr uint32_t fp32_max(uint32_t a, uint32_t b) { return float_max<Fp32>(a, b); }

/// The NaN in place of any NaN, as in a sum; what a first contribution gives.
constexpr uint16_t fp16_canonical(uint16_t x) { return static_cast<uint16_t>(Fp16::canonical(x)); }
constexpr uint16_t bf16_canonical(uint16_t x) { return static_cast<uint16_t>(Bf16::canonical(x)); }
constexpr uint32_t fp32_canonical(uint32_t x) { return Fp32::canonical(x); }

/// Exact.
constexpr uint32_t fp16_to_fp32(uint16_t x) { return float_convert<Fp16, Fp32>(x); }
constexpr uint32_t bf16_to_fp32(uint16_t x) { return float_convert<Bf16, Fp32>(x); }
/// One rounding to nearest, ties to even; too large ones become infinities.
constexpr uint16_t fp32_to_fp16(uint32_t x) { return static_cast<uint16_t>(float_convert<Fp32, Fp16>(x)); }
constexpr uint16_t fp32_to_bf16(uint32_t x) { return static_cast<uint16_t>(float_convert<Fp32, Bf16>(x)); }

/// Two's complement: sums wrap, minimum and maximum are signed.
constexpr uint32_t int32_add(uint32_t a, uint32_t b) { return a + b; }
constexpr uint32_t int32_min(uint32_t a, uint32_t b) {
  return static_cast<int32_t>(a) < static_cast<int32_t>(b) ? a : b;
}
constexpr uint32_t int32_max(uint32_t a, uint32_t b) {
  return static_cast<int32_t>(a) < static_cast<int32_t>(b) ? b : a;
}
constexpr uint64_t int64_add(uint64_t a, uint64_t b) { return a + b; }
constexpr uint64_t int64_min(uint64_t a, uint64_t b) {
  return static_cast<int64_t>(a) < static_cast<int64_t>(b) ? a : b;
}
constexpr uint64_t int64_max(uint64_t a, uint64_t b) {
  return static_cast<int64_t>(a) < static_cast<int64_t>(b) ? b : a;
}

}  // namespace rnic::golden
