// SPDX-License-Identifier: Apache-2.0
// References for arith_sweep, a row of 65536 results at a time, so that the RTL is what takes the time. Exact integer
// arithmetic in loops without branches, which the compiler turns into vector code; and the CPU's own instructions.
#pragma once

#include <cstdint>

#include "rnic/golden/float.h"

namespace rnic::bench {

/// out[b] = a + b, minimum or maximum of both, for all b; F is golden::Fp16 or Bf16. Exact integers.
template <class F>
void row_add(uint32_t a, uint16_t* out);
template <class F>
void row_minmax(uint32_t a, bool max, uint16_t* out);
/// out[i] = FP32 with the bits high | i, rounded to F. Exact integers.
template <class F>
void row_narrow(uint32_t high, uint16_t* out);

/// The CPU converts between FP16 and FP32 (F16C).
bool host_f16c();
/// The same by F16C: sums in FP32, rounded to FP16. 24 bits are enough for the two roundings to be one.
void row_add_f16c(uint32_t a, uint16_t* out);
void row_narrow_f16c(uint32_t high, uint16_t* out);
void row_widen_f16c(uint32_t* out);

/// The host's float; NaNs as golden::kFp32Nan.
void host_fp32_add(const uint32_t* a, const uint32_t* b, uint32_t* out, unsigned n);

}  // namespace rnic::bench
