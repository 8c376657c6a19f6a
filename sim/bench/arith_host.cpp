// SPDX-License-Identifier: Apache-2.0
#include "arith_host.h"

#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

// Versions for wider vectors, chosen when the program starts.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define RNIC_VECTOR_CLONES __attribute__((target_clones("default", "avx2", "arch=skylake-avx512")))
#else
#define RNIC_VECTOR_CLONES
#endif

namespace rnic::bench {
namespace {

using golden::Bf16, golden::Fp16;

/// Zeros above the leading bit are counted by halves: n grows, and x moves up.
[[gnu::always_inline]] inline void skip_zeros(uint32_t step, uint32_t& x, uint32_t& n) {
  const uint32_t zeros = x >> (32 - step) == 0 ? step : 0;
  n += zeros;
  x <<= zeros;
}
/// The number of zeros above the leading bit of x; 32 for 0.
[[gnu::always_inline]] inline uint32_t leading_zeros(uint32_t x) {
  uint32_t n = 0;
  skip_zeros(16, x, n);
  skip_zeros(8, x, n);
  skip_zeros(4, x, n);
  skip_zeros(2, x, n);
  skip_zeros(1, x, n);
  return n + (x >> 31 == 0 ? 1 : 0);
}

/// The sum in 32 bits: significands of at most 11 bits, 14 bits finer.
template <class F>
[[gnu::always_inline]] inline uint32_t add(uint32_t a, uint32_t b) {
  constexpr uint32_t kMan = F::kMan, kScale = 14, kMax = (1u << F::kExp) - 1;
  const uint32_t fa = (a & F::kInf) >> kMan, fb = (b & F::kInf) >> kMan;
  const uint32_t ea = fa == 0 ? 1 : fa, eb = fb == 0 ? 1 : fb;
  const uint32_t ma = (a & ((1u << kMan) - 1)) | (fa == 0 ? 0 : 1u << kMan),
                 mb = (b & ((1u << kMan) - 1)) | (fb == 0 ? 0 : 1u << kMan);
  const bool a_above = ea >= eb;
  const uint32_t e = a_above ? ea : eb, apart = a_above ? ea - eb : eb - ea, shift = apart < 31 ? apart : 31;
  const uint32_t high = (a_above ? ma : mb) << kScale, fine = (a_above ? mb : ma) << kScale;
  const uint32_t low = fine >> shift | (fine >> shift << shift != fine ? 1 : 0);
  const uint32_t sh = (a_above ? a : b) & F::kSign, sl = (a_above ? b : a) & F::kSign;
  const auto sum = static_cast<int32_t>(sh == 0 ? high : 0 - high) + static_cast<int32_t>(sl == 0 ? low : 0 - low);
  const uint32_t magnitude = static_cast<uint32_t>(sum < 0 ? -sum : sum);
  // The leading bit to bit 31, unless the exponent ends before: bit 31 has the exponent e + 17 - man.
  const uint32_t zeros = leading_zeros(magnitude), room = e + 31 - kMan - kScale - 1;
  const uint32_t up = zeros < room ? zeros : room, field = room - up;
  const uint32_t s = up < 32 ? magnitude << up : 0;
  const uint32_t kept = s >> (31 - kMan), rest = s << (kMan + 1), half = 0x80000000;
  const uint32_t rounded = (field << kMan) + kept + (rest > half || (rest == half && (kept & 1) != 0) ? 1 : 0);
  const uint32_t sign = magnitude == 0 ? a & b & F::kSign : sum < 0 ? F::kSign : 0;
  const uint32_t finite = sign | (magnitude == 0 ? 0 : rounded < F::kInf ? rounded : F::kInf);
  const bool a_inf = (a & ~F::kSign) == F::kInf, b_inf = (b & ~F::kSign) == F::kInf;
  const bool nan = F::is_nan(a) | F::is_nan(b) | (a_inf & b_inf & (a != b));
  return nan ? F::kNan : fa == kMax ? a : fb == kMax ? b : finite;
}

/// A number's place in the order of all, -0 just below +0.
template <class F>
[[gnu::always_inline]] inline int32_t place(uint32_t x) {
  const auto magnitude = static_cast<int32_t>(x & ~F::kSign);
  return (x & F::kSign) != 0 ? -1 - magnitude : magnitude;
}

[[gnu::always_inline]] inline uint32_t narrow_bf16(uint32_t x) {
  const uint32_t kept = x >> 16, rest = x & 0xffff;
  const bool nan = (x & 0x7fffffff) > 0x7f800000;
  return nan ? uint32_t{golden::kBf16Nan} : kept + (rest > 0x8000 || (rest == 0x8000 && (kept & 1) != 0) ? 1 : 0);
}

[[gnu::always_inline]] inline uint32_t narrow_fp16(uint32_t x) {
  const uint32_t sign = x >> 16 & 0x8000, e = x >> 23 & 0xff, significand = (x & 0x7fffff) | (e == 0 ? 0 : 0x800000);
  // 2^-14 and above: 13 bits go. Below, one more for each power of two.
  const uint32_t more = e < 113 ? 113 - e : 0, drop = 13 + more < 25 ? 13 + more : 25;
  const uint32_t kept = significand >> drop, rest = significand - (kept << drop), half = 1u << (drop - 1);
  const uint32_t field = e < 113 ? 0 : e - 113;
  const uint32_t r = (field << 10) + kept + (rest > half || (rest == half && (kept & 1) != 0) ? 1 : 0);
  const bool nan = (x & 0x7fffffff) > 0x7f800000;
  return nan ? uint32_t{golden::kFp16Nan} : sign | (r < 0x7c00 ? r : 0x7c00);
}

RNIC_VECTOR_CLONES void add_fp16(uint32_t a, uint16_t* out) {
  for (uint32_t b = 0; b < 65536; ++b) out[b] = static_cast<uint16_t>(add<Fp16>(a, b));
}
RNIC_VECTOR_CLONES void add_bf16(uint32_t a, uint16_t* out) {
  for (uint32_t b = 0; b < 65536; ++b) out[b] = static_cast<uint16_t>(add<Bf16>(a, b));
}
template <class F>
[[gnu::always_inline]] inline void minmax(uint32_t a, bool max, uint16_t* out) {
  const int32_t pa = place<F>(a), flip = max ? -1 : 0;
  const bool nan = F::is_nan(a);
  for (uint32_t b = 0; b < 65536; ++b) {
    const uint32_t r = ((place<F>(b) ^ flip) < (pa ^ flip)) ? b : a;
    out[b] = static_cast<uint16_t>(nan || F::is_nan(b) ? F::kNan : r);
  }
}
RNIC_VECTOR_CLONES void minmax_fp16(uint32_t a, bool max, uint16_t* out) { minmax<Fp16>(a, max, out); }
RNIC_VECTOR_CLONES void minmax_bf16(uint32_t a, bool max, uint16_t* out) { minmax<Bf16>(a, max, out); }
RNIC_VECTOR_CLONES void narrow_all_fp16(uint32_t high, uint16_t* out) {
  for (uint32_t i = 0; i < 65536; ++i) out[i] = static_cast<uint16_t>(narrow_fp16(high | i));
}
RNIC_VECTOR_CLONES void narrow_all_bf16(uint32_t high, uint16_t* out) {
  for (uint32_t i = 0; i < 65536; ++i) out[i] = static_cast<uint16_t>(narrow_bf16(high | i));
}

}  // namespace

template <>
void row_add<Fp16>(uint32_t a, uint16_t* out) {
  add_fp16(a, out);
}
template <>
void row_add<Bf16>(uint32_t a, uint16_t* out) {
  add_bf16(a, out);
}
template <>
void row_minmax<Fp16>(uint32_t a, bool max, uint16_t* out) {
  minmax_fp16(a, max, out);
}
template <>
void row_minmax<Bf16>(uint32_t a, bool max, uint16_t* out) {
  minmax_bf16(a, max, out);
}
template <>
void row_narrow<Fp16>(uint32_t high, uint16_t* out) {
  narrow_all_fp16(high, out);
}
template <>
void row_narrow<Bf16>(uint32_t high, uint16_t* out) {
  narrow_all_bf16(high, out);
}

void host_fp32_add(const uint32_t* a, const uint32_t* b, uint32_t* out, unsigned n) {
  for (unsigned i = 0; i < n; ++i) {
    float x, y;
    std::memcpy(&x, &a[i], 4);
    std::memcpy(&y, &b[i], 4);
    const float s = x + y;
    std::memcpy(&out[i], &s, 4);
    out[i] = golden::fp32_canonical(out[i]);
  }
}

#if defined(__x86_64__)
bool host_f16c() { return __builtin_cpu_supports("f16c") && __builtin_cpu_supports("avx2"); }

namespace {
constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
/// Eight halves with every NaN as the one.
[[gnu::target("avx2,f16c")]] inline __m128i canonical(__m128i h) {
  const __m128i magnitude = _mm_and_si128(h, _mm_set1_epi16(0x7fff));
  return _mm_blendv_epi8(h, _mm_set1_epi16(golden::kFp16Nan), _mm_cmpgt_epi16(magnitude, _mm_set1_epi16(0x7c00)));
}
}  // namespace

[[gnu::target("avx2,f16c")]] void row_add_f16c(uint32_t a, uint16_t* out) {
  const __m256 x = _mm256_cvtph_ps(_mm_set1_epi16(static_cast<int16_t>(a)));
  __m128i b = _mm_set_epi16(7, 6, 5, 4, 3, 2, 1, 0);
  for (uint32_t i = 0; i < 65536; i += 8) {
    const __m256 sum = _mm256_add_ps(x, _mm256_cvtph_ps(b));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), canonical(_mm256_cvtps_ph(sum, kNearest)));
    b = _mm_add_epi16(b, _mm_set1_epi16(8));
  }
}

[[gnu::target("avx2,f16c")]] void row_narrow_f16c(uint32_t high, uint16_t* out) {
  __m256i x = _mm256_add_epi32(_mm256_set1_epi32(static_cast<int32_t>(high)), _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0));
  for (uint32_t i = 0; i < 65536; i += 8) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), canonical(_mm256_cvtps_ph(_mm256_castsi256_ps(x), kNearest)));
    x = _mm256_add_epi32(x, _mm256_set1_epi32(8));
  }
}

[[gnu::target("avx2,f16c")]] void row_widen_f16c(uint32_t* out) {
  for (uint32_t i = 0; i < 65536; ++i) {
    const float f = _cvtsh_ss(static_cast<uint16_t>(i));
    std::memcpy(&out[i], &f, 4);
    out[i] = golden::fp32_canonical(out[i]);
  }
}
#else
bool host_f16c() { return false; }
void row_add_f16c(uint32_t, uint16_t*) {}
void row_narrow_f16c(uint32_t, uint16_t*) {}
void row_widen_f16c(uint32_t*) {}
#endif

}  // namespace rnic::bench
