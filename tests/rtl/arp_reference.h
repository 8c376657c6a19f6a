// SPDX-License-Identifier: Apache-2.0
// What arp_alu makes of a beat, by include/rnic/golden/float.h.
#pragma once

#include "rtl/lanes.h"

namespace rnic::test {

namespace arp = rtl::arp_pkg;

using WideBeat = std::array<uint32_t, 32>;
using Beat512 = std::array<uint32_t, 16>;

template <class F>
uint32_t alu_lane(uint64_t op, bool first, uint32_t acc, uint32_t in) {
  if (first) return F::canonical(in);
  return op == arp::OpSum   ? golden::float_add<F>(acc, in)
         : op == arp::OpMin ? golden::float_min<F>(acc, in)
                            : golden::float_max<F>(acc, in);
}

inline WideBeat alu_reference(uint64_t dtype, uint64_t op, bool first, const WideBeat& acc, const Beat512& in) {
  WideBeat out{};
  if (op > arp::OpMax) return out;
  const auto lanes = [&](auto bits, size_t n, auto fn) {
    for (size_t l = 0; l < n; ++l) set_lane<bits()>(out, l, fn(get_lane<bits()>(acc, l), l));
  };
  using B16 = std::integral_constant<unsigned, 16>;
  using B32 = std::integral_constant<unsigned, 32>;
  using B64 = std::integral_constant<unsigned, 64>;
  switch (dtype) {
    case arp::TypeFp16:
      lanes(B16{}, 32, [&](uint64_t a, size_t l) {
        return alu_lane<golden::Fp16>(op, first, static_cast<uint32_t>(a), static_cast<uint32_t>(get_lane<16>(in, l)));
      });
      break;
    case arp::TypeBf16:
      lanes(B16{}, 32, [&](uint64_t a, size_t l) {
        return alu_lane<golden::Bf16>(op, first, static_cast<uint32_t>(a), static_cast<uint32_t>(get_lane<16>(in, l)));
      });
      break;
    case arp::TypeFp32:
      lanes(B32{}, 16,
            [&](uint64_t a, size_t l) { return alu_lane<golden::Fp32>(op, first, static_cast<uint32_t>(a), in[l]); });
      break;
    case arp::TypeFp16Acc32:
      lanes(B32{}, 32, [&](uint64_t a, size_t l) {
        return alu_lane<golden::Fp32>(op, first, static_cast<uint32_t>(a),
                                      golden::fp16_to_fp32(static_cast<uint16_t>(get_lane<16>(in, l))));
      });
      break;
    case arp::TypeBf16Acc32:
      lanes(B32{}, 32, [&](uint64_t a, size_t l) {
        return alu_lane<golden::Fp32>(op, first, static_cast<uint32_t>(a),
                                      golden::bf16_to_fp32(static_cast<uint16_t>(get_lane<16>(in, l))));
      });
      break;
    case arp::TypeInt32:
      lanes(B32{}, 16, [&](uint64_t x, size_t l) {
        const auto a = static_cast<uint32_t>(x);
        const uint32_t b = in[l];
        return first              ? b
               : op == arp::OpSum ? golden::int32_add(a, b)
               : op == arp::OpMin ? golden::int32_min(a, b)
                                  : golden::int32_max(a, b);
      });
      break;
    case arp::TypeInt64:
      lanes(B64{}, 8, [&](uint64_t a, size_t l) {
        const uint64_t b = get_lane<64>(in, l);
        return first              ? b
               : op == arp::OpSum ? golden::int64_add(a, b)
               : op == arp::OpMin ? golden::int64_min(a, b)
                                  : golden::int64_max(a, b);
      });
      break;
    default:
      break;
  }
  return out;
}

}  // namespace rnic::test
