// SPDX-License-Identifier: Apache-2.0
// Bit fields in arrays of 32-bit words, and the transfer between structs and Verilated ports.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace rnic::rtl {

/// Writes the low `width` (1..64) bits of `value` at bit `pos` of `w`.
inline void put_bits(uint32_t* w, unsigned pos, unsigned width, uint64_t value) {
  while (width != 0) {
    const unsigned off = pos & 31;
    const unsigned n = width < 32 - off ? width : 32 - off;
    const uint32_t mask = (n == 32 ? ~0u : ((1u << n) - 1)) << off;
    w[pos >> 5] = (w[pos >> 5] & ~mask) | ((static_cast<uint32_t>(value) << off) & mask);
    value >>= n;
    pos += n;
    width -= n;
  }
}

template <size_t N>
void put_bits(uint32_t* w, unsigned pos, unsigned width, const std::array<uint32_t, N>& value) {
  if ((pos & 31) == 0 && (width & 31) == 0) {
    std::memcpy(w + (pos >> 5), value.data(), width / 8);
    return;
  }
  for (unsigned i = 0; width != 0; ++i) {
    const unsigned n = width < 32 ? width : 32;
    put_bits(w, pos, n, uint64_t{value[i]});
    pos += n;
    width -= n;
  }
}

/// Reads `width` (1..64) bits at bit `pos`.
inline uint64_t peek_bits(const uint32_t* w, unsigned pos, unsigned width) {
  uint64_t value = 0;
  unsigned got = 0;
  while (got != width) {
    const unsigned off = pos & 31;
    const unsigned n = width - got < 32 - off ? width - got : 32 - off;
    const uint64_t mask = n == 32 ? ~0u : ((1u << n) - 1);
    value |= ((w[pos >> 5] >> off) & mask) << got;
    got += n;
    pos += n;
  }
  return value;
}

template <class T>
void get_bits(const uint32_t* w, unsigned pos, unsigned width, T& value) {
  if constexpr (std::is_integral_v<T>) {
    value = static_cast<T>(peek_bits(w, pos, width));
  } else {
    if ((pos & 31) == 0 && (width & 31) == 0) {
      std::memcpy(value.data(), w + (pos >> 5), width / 8);
      return;
    }
    for (unsigned i = 0; width != 0; ++i) {
      const unsigned n = width < 32 ? width : 32;
      value[i] = static_cast<uint32_t>(peek_bits(w, pos, n));
      pos += n;
      width -= n;
    }
  }
}

/// Drives a Verilated input port (an integer, or words) from a struct of ports.h.
template <class Port, class S>
void drive(Port& port, const S& s) {
  const auto w = s.pack();
  if constexpr (std::is_integral_v<Port>) {
    uint64_t v = w[0];
    if constexpr (S::kWidth > 32) v |= uint64_t{w[1]} << 32;
    port = static_cast<Port>(v);
  } else {
    for (size_t i = 0; i < w.size(); ++i) port[i] = w[i];
  }
}

/// Reads a Verilated port into a struct of ports.h.
template <class S, class Port>
S sample(const Port& port) {
  if constexpr (std::is_integral_v<Port>) {
    const uint32_t w[2] = {static_cast<uint32_t>(port), static_cast<uint32_t>(uint64_t{port} >> 32)};
    return S::unpack_at(w, 0);
  } else {
    return S::unpack_at(&port[0], 0);
  }
}

}  // namespace rnic::rtl
