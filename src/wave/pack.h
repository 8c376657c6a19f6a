// SPDX-License-Identifier: Apache-2.0
// Values written as characters, packed into words.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace rnic::wave::detail {

constexpr bool kLittleEndian = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;

/// The lowest bits of eight characters, read as a little-endian word; the first one becomes the highest. The product
/// brings them together in its top byte.
constexpr uint64_t eight_bits(uint64_t characters) {
  return ((characters & 0x0101'0101'0101'0101) * 0x8040'2010'0804'0201) >> 56;
}
/// All eight are 0 or 1.
constexpr bool eight_known(uint64_t characters) {
  return (characters & 0xfefe'fefe'fefe'fefe) == 0x3030'3030'3030'3030;
}

/// One character a bit, 0 1 x z, as v and x words.
void pack(const char* bits, uint32_t width, uint64_t* v, uint64_t* x);

/// The same for 0 and 1; false when something else is among them, and then v means nothing.
inline bool pack_known(const char* bits, uint32_t width, uint64_t* v) {
  const char* end = bits + width;
  bool good = true;
  for (uint32_t left = width; left != 0; ++v) {
    const uint32_t count = std::min<uint32_t>(64, left);
    const char* p = end - count;
    uint64_t ones = 0;
    for (; kLittleEndian && end - p >= 8; p += 8) {
      uint64_t eight;
      std::memcpy(&eight, p, 8);
      good &= eight_known(eight);
      ones = ones << 8 | eight_bits(eight);
    }
    for (; p != end; ++p) {
      good &= *p == '0' || *p == '1';
      ones = ones << 1 | static_cast<uint64_t>(*p & 1);
    }
    *v = ones;
    end -= count;
    left -= count;
  }
  return good;
}

}  // namespace rnic::wave::detail
