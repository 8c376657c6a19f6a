// SPDX-License-Identifier: Apache-2.0
// Reference model of the 64 B completion queue entry, mlx5 layout (struct mlx5_cqe64 and mlx5_err_cqe), big-endian.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace rnic::golden {

struct Cqe {
  static constexpr uint8_t kReqOk = 0x0;
  static constexpr uint8_t kReqError = 0xd;
  static constexpr uint8_t kInvalid = 0xf;

  uint32_t imm = 0;
  uint32_t byte_cnt = 0;
  uint64_t timestamp = 0;       // ns; success only
  uint8_t vendor_syndrome = 0;  // error only
  uint8_t syndrome = 0;         // error only
  uint8_t wqe_opcode = 0;
  uint32_t qpn = 0;  // 24 bits
  uint16_t wqe_counter = 0;
  uint8_t opcode = kInvalid;
  bool owner = false;

  bool is_error() const { return opcode == kReqError; }
  bool operator==(const Cqe& o) const {
    return imm == o.imm && byte_cnt == o.byte_cnt && timestamp == o.timestamp && vendor_syndrome == o.vendor_syndrome &&
           syndrome == o.syndrome && wqe_opcode == o.wqe_opcode && qpn == o.qpn && wqe_counter == o.wqe_counter &&
           opcode == o.opcode && owner == o.owner;
  }
};

using CqeBytes = std::array<uint8_t, 64>;

inline CqeBytes encode_cqe(const Cqe& c) {
  CqeBytes b{};
  auto put = [&b](size_t at, uint64_t v, unsigned n) {
    for (unsigned i = 0; i < n; ++i) b[at + i] = static_cast<uint8_t>(v >> (8 * (n - 1 - i)));
  };
  put(36, c.imm, 4);
  put(44, c.byte_cnt, 4);
  if (c.is_error()) {
    b[54] = c.vendor_syndrome;
    b[55] = c.syndrome;
  } else {
    put(48, c.timestamp, 8);
  }
  b[56] = c.wqe_opcode;
  put(57, c.qpn, 3);
  put(60, c.wqe_counter, 2);
  b[63] = static_cast<uint8_t>(c.opcode << 4 | c.owner);
  return b;
}

inline Cqe decode_cqe(const CqeBytes& b) {
  auto get = [&b](size_t at, unsigned n) {
    uint64_t v = 0;
    for (unsigned i = 0; i < n; ++i) v = v << 8 | b[at + i];
    return v;
  };
  Cqe c;
  c.imm = static_cast<uint32_t>(get(36, 4));
  c.byte_cnt = static_cast<uint32_t>(get(44, 4));
  c.opcode = b[63] >> 4;
  c.owner = b[63] & 1;
  if (c.is_error()) {
    c.vendor_syndrome = b[54];
    c.syndrome = b[55];
  } else {
    c.timestamp = get(48, 8);
  }
  c.wqe_opcode = b[56];
  c.qpn = static_cast<uint32_t>(get(57, 3));
  c.wqe_counter = static_cast<uint16_t>(get(60, 2));
  return c;
}

/// Whether software may take the entry at consumer index `ci` of a ring of 2^log_size entries.
inline bool cqe_valid(const CqeBytes& b, uint32_t ci, unsigned log_size) {
  return b[63] >> 4 != Cqe::kInvalid && (b[63] & 1) == ((ci >> log_size) & 1);
}

}  // namespace rnic::golden
