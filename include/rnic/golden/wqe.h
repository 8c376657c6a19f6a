// SPDX-License-Identifier: Apache-2.0
// Send work queue entries in the layout of the mlx5 family: 16-byte segments, big-endian, in 64-byte basic blocks.
// Built and decoded here from that layout alone; the driver posts what encode_wqe() returns.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace rnic::golden {

inline constexpr size_t kWqeBlockBytes = 64;
inline constexpr uint64_t kMaxMessageBytes = uint64_t{1} << 31;

using WqeBlock = std::array<uint8_t, kWqeBlockBytes>;

/// mlx5 opcodes that the NIC sends.
enum class WqeOpcode : uint8_t { kNop = 0x00, kWrite = 0x08, kWriteImm = 0x09, kSend = 0x0a, kSendImm = 0x0b };

inline bool is_write(WqeOpcode op) { return op == WqeOpcode::kWrite || op == WqeOpcode::kWriteImm; }
inline bool is_send(WqeOpcode op) { return op == WqeOpcode::kSend || op == WqeOpcode::kSendImm; }
inline bool has_immediate(WqeOpcode op) { return op == WqeOpcode::kWriteImm || op == WqeOpcode::kSendImm; }

/// CQE error syndromes and the vendor syndromes that say which check refused.
enum class Syndrome : uint8_t {
  kNone = 0x00,
  kLocalLength = 0x01,
  kLocalQpOp = 0x02,
  kLocalProt = 0x04,
  kFlushed = 0x05
};
enum class Vendor : uint8_t {
  kNone = 0x00,
  kOpcode = 0x01,
  kWqeSize = 0x02,
  kWqeQpn = 0x03,
  kLength = 0x04,
  kKey = 0x05,
  kBounds = 0x06,
  kPd = 0x07
};

/// A work request as posted. A message of length 0 has no data segment.
struct Wqe {
  WqeOpcode opcode = WqeOpcode::kWrite;
  uint8_t opmod = 0;
  uint16_t index = 0;     ///< WQE counter: index of its first 64 B block, modulo 65536
  uint32_t qpn = 0;       ///< 24 bits
  bool signaled = false;  ///< CQE wanted also on success
  bool solicited = false;
  bool fence = false;
  uint32_t imm = 0;
  uint64_t raddr = 0;  ///< WRITE only
  uint32_t rkey = 0;   ///< WRITE only
  uint32_t lkey = 0;
  uint64_t laddr = 0;
  uint64_t length = 0;  ///< bytes, at most 2^31
};

namespace detail {

inline void put_be(uint8_t* p, unsigned bytes, uint64_t value) {
  for (unsigned i = 0; i < bytes; ++i) p[i] = static_cast<uint8_t>(value >> (8 * (bytes - 1 - i)));
}

inline uint64_t get_be(const uint8_t* p, unsigned bytes) {
  uint64_t value = 0;
  for (unsigned i = 0; i < bytes; ++i) value = value << 8 | p[i];
  return value;
}

}  // namespace detail

/// Size in 16 B units, control segment included.
inline unsigned wqe_ds(const Wqe& wqe) { return 1u + is_write(wqe.opcode) + (wqe.length != 0); }

/// 64 B blocks that a WQE of `ds` 16 B units takes.
inline unsigned wqe_blocks(unsigned ds) { return (ds + 3) / 4; }

/// The WQE as it stands in the ring: always one block.
inline WqeBlock encode_wqe(const Wqe& wqe) {
  WqeBlock b{};
  b[0] = wqe.opmod;
  detail::put_be(&b[1], 2, wqe.index);
  b[3] = static_cast<uint8_t>(wqe.opcode);
  detail::put_be(&b[4], 3, wqe.qpn);
  b[7] = static_cast<uint8_t>(wqe_ds(wqe));
  b[11] = static_cast<uint8_t>((wqe.fence ? 0x80 : 0) | (wqe.signaled ? 0x08 : 0) | (wqe.solicited ? 0x02 : 0));
  detail::put_be(&b[12], 4, wqe.imm);
  size_t at = 16;
  if (is_write(wqe.opcode)) {
    detail::put_be(&b[at], 8, wqe.raddr);
    detail::put_be(&b[at + 8], 4, wqe.rkey);
    at += 16;
  }
  if (wqe.length != 0) {
    detail::put_be(&b[at], 4, wqe.length & 0x7fffffff);  // 2^31 is written as 0
    detail::put_be(&b[at + 4], 4, wqe.lkey);
    detail::put_be(&b[at + 8], 8, wqe.laddr);
  }
  return b;
}

struct DecodedWqe {
  Wqe wqe;
  unsigned blocks = 0;  ///< 0: size can't be trusted, everything up to the producer index is lost
  Syndrome syndrome = Syndrome::kNone;
  Vendor vendor = Vendor::kNone;
};

/// Decodes the block at index `index` of QP `qpn`'s ring when `available` blocks are posted. Checks in this order:
/// size against what is posted, QPN and index, opcode, size against the opcode, length. The fields of a WQE with an
/// error are meaningful as far as they precede the refused one.
inline DecodedWqe decode_wqe(const WqeBlock& b, uint32_t qpn, uint16_t index, unsigned available) {
  DecodedWqe d;
  Wqe& w = d.wqe;
  w.opmod = b[0];
  w.index = static_cast<uint16_t>(detail::get_be(&b[1], 2));
  w.opcode = static_cast<WqeOpcode>(b[3]);
  w.qpn = static_cast<uint32_t>(detail::get_be(&b[4], 3));
  w.fence = (b[11] & 0x80) != 0;
  w.signaled = (b[11] & 0x08) != 0;
  w.solicited = (b[11] & 0x02) != 0;
  w.imm = static_cast<uint32_t>(detail::get_be(&b[12], 4));
  auto refuse = [&d](Syndrome s, Vendor v) {
    d.syndrome = s;
    d.vendor = v;
    return d;
  };
  const unsigned ds = b[7];
  if (ds == 0 || wqe_blocks(ds) > available) return refuse(Syndrome::kLocalQpOp, Vendor::kWqeSize);
  d.blocks = wqe_blocks(ds);
  if (w.qpn != qpn || w.index != index) return refuse(Syndrome::kLocalQpOp, Vendor::kWqeQpn);
  if (!is_write(w.opcode) && !is_send(w.opcode)) return refuse(Syndrome::kLocalQpOp, Vendor::kOpcode);
  const unsigned bare = is_write(w.opcode) ? 2 : 1;
  if (ds != bare && ds != bare + 1) return refuse(Syndrome::kLocalQpOp, Vendor::kWqeSize);
  if (is_write(w.opcode)) {
    w.raddr = detail::get_be(&b[16], 8);
    w.rkey = static_cast<uint32_t>(detail::get_be(&b[24], 4));
  }
  if (ds == bare + 1) {
    const uint8_t* seg = &b[16 * bare];
    const uint64_t count = detail::get_be(seg, 4);
    w.length = count == 0 ? kMaxMessageBytes : count;
    w.lkey = static_cast<uint32_t>(detail::get_be(seg + 4, 4));
    w.laddr = detail::get_be(seg + 8, 8);
    if (count & 0x80000000) return refuse(Syndrome::kLocalLength, Vendor::kLength);
  }
  return d;
}

}  // namespace rnic::golden
