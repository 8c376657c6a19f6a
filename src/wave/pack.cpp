// SPDX-License-Identifier: Apache-2.0
#include "pack.h"

namespace rnic::wave::detail {

void pack(const char* bits, uint32_t width, uint64_t* v, uint64_t* x) {
  const char* end = bits + width;
  for (uint32_t w = 0; 64 * w < width; ++w) {
    const uint32_t count = std::min<uint32_t>(64, width - 64 * w);
    uint64_t ones = 0, unknown = 0;
    const char* p = end - count;
    while (p != end) {
      uint64_t eight = 0;
      if (kLittleEndian && end - p >= 8) std::memcpy(&eight, p, 8);
      if (eight_known(eight)) {
        ones = ones << 8 | eight_bits(eight);
        unknown <<= 8;
        p += 8;
      } else {
        const char c = *p++;
        ones = ones << 1 | static_cast<uint64_t>(c == '1' || c == 'z');
        unknown = unknown << 1 | static_cast<uint64_t>(c != '0' && c != '1');
      }
    }
    end -= count;
    v[w] = ones;
    x[w] = unknown;
  }
}

}  // namespace rnic::wave::detail
