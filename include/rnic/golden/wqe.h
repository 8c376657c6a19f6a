// SPDX-License-Identifier: Apache-2.0
// Send work queue entries in the layout of the mlx5 family: 16-byte segments, big-endian, in 64-byte basic blocks.
// Built and decoded here from that layout alone; the driver posts what encode_wqe() returns.
//
//   control | address vector (UD, 48 B) | remote address (WRITE, READ, atomic) | atomic operands | data
//
// where data is up to four data segments, or one inline segment, or nothing.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace rnic::golden {

inline constexpr size_t kWqeBlockBytes = 64;
inline constexpr unsigned kMaxWqeBlocks = 4;
inline constexpr unsigned kMaxWqeDs = 16;  ///< in 16 B units, control segment included
inline constexpr unsigned kMaxSges = 4;
inline constexpr uint64_t kMaxMessageBytes = uint64_t{1} << 31;
inline constexpr uint64_t kAtomicBytes = 8;

/// Codes of the QP context.
enum class Transport : uint8_t { kRc = 0, kUc = 1, kUd = 2 };

/// Bytes of a path MTU code (1: 256 .. 5: 4096).
inline unsigned mtu_bytes(unsigned code) { return 128u << code; }

/// mlx5 opcodes that the NIC knows.
enum class WqeOpcode : uint8_t {
  kNop = 0x00,
  kSendInval = 0x01,
  kWrite = 0x08,
  kWriteImm = 0x09,
  kSend = 0x0a,
  kSendImm = 0x0b,
  kRead = 0x10,
  kCmpSwap = 0x11,
  kFetchAdd = 0x12
};

inline bool is_write(WqeOpcode op) { return op == WqeOpcode::kWrite || op == WqeOpcode::kWriteImm; }
inline bool is_send(WqeOpcode op) {
  return op == WqeOpcode::kSend || op == WqeOpcode::kSendImm || op == WqeOpcode::kSendInval;
}
inline bool is_read(WqeOpcode op) { return op == WqeOpcode::kRead; }
inline bool is_atomic(WqeOpcode op) { return op == WqeOpcode::kCmpSwap || op == WqeOpcode::kFetchAdd; }
inline bool has_immediate(WqeOpcode op) { return op == WqeOpcode::kWriteImm || op == WqeOpcode::kSendImm; }
/// It has a remote address segment.
inline bool has_remote(WqeOpcode op) { return is_write(op) || is_read(op) || is_atomic(op); }
/// It sends what its data segments hold: READ and atomics only name where the answer goes.
inline bool has_payload(WqeOpcode op) { return is_write(op) || is_send(op); }

/// Whether a QP of this transport can do it.
inline bool allowed(Transport t, WqeOpcode op) {
  switch (t) {
    case Transport::kRc:
      return has_payload(op) || is_read(op) || is_atomic(op);
    case Transport::kUc:
      return has_payload(op) && op != WqeOpcode::kSendInval;
    case Transport::kUd:
      return op == WqeOpcode::kSend || op == WqeOpcode::kSendImm;
  }
  return false;
}

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
  kPd = 0x07,
  kRights = 0x08
};

/// A data segment: a piece of local memory.
struct Sge {
  uint32_t lkey = 0;
  uint64_t addr = 0;
  uint64_t length = 0;  ///< bytes, 1 .. 2^31
};

/// Where a UD message goes.
struct AddressVector {
  uint32_t qkey = 0;  ///< bit 31 set: the QP's own is taken
  uint32_t dest_qpn = 0;
  uint16_t udp_sport = 0;
  std::array<uint8_t, 6> dmac{};
  uint8_t tclass = 0;
  uint8_t hop_limit = 0;
  uint32_t flow_label = 0;  ///< 20 bits
  std::array<uint8_t, 16> dgid{};
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
  uint32_t imm = 0;       ///< SEND_INVAL: the rkey that it takes back
  uint64_t raddr = 0;     ///< WRITE, READ, atomic
  uint32_t rkey = 0;      ///< WRITE, READ, atomic
  uint64_t swap_add = 0;  ///< atomic: swap value or addend
  uint64_t compare = 0;   ///< CMP_SWAP
  std::vector<Sge> sges;
  bool is_inline = false;  ///< payload stands in the WQE: inline_bytes instead of sges
  std::vector<uint8_t> inline_bytes;
  std::optional<AddressVector> av;  ///< UD

  /// Bytes of the message.
  uint64_t length() const {
    if (is_inline) return inline_bytes.size();
    uint64_t sum = 0;
    for (const Sge& s : sges) sum += s.length;
    return sum;
  }
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

/// 16 B units of an inline segment of `bytes` bytes.
inline uint64_t inline_units(uint64_t bytes) { return (4 + bytes + 15) / 16; }

}  // namespace detail

/// Size in 16 B units, control segment included.
inline unsigned wqe_ds(const Wqe& wqe) {
  const auto data = wqe.is_inline ? detail::inline_units(wqe.inline_bytes.size()) : wqe.sges.size();
  return static_cast<unsigned>(1 + (wqe.av ? 3 : 0) + has_remote(wqe.opcode) + is_atomic(wqe.opcode) + data);
}

/// 64 B blocks that a WQE of `ds` 16 B units takes.
inline unsigned wqe_blocks(unsigned ds) { return (ds + 3) / 4; }

/// The most inline bytes that a WQE of this operation can hold.
inline unsigned max_inline(Transport t, WqeOpcode op) {
  return 16 * (kMaxWqeDs - 1 - (t == Transport::kUd ? 3 : 0) - has_remote(op)) - 4;
}

/// The WQE as it stands in the ring: whole blocks. What is too long for one (kMaxWqeDs) is encoded all the same, as
/// far as the size field holds its size.
inline std::vector<uint8_t> encode_wqe(const Wqe& wqe) {
  const unsigned ds = wqe_ds(wqe);
  std::vector<uint8_t> b(kWqeBlockBytes * wqe_blocks(ds));
  b[0] = wqe.opmod;
  detail::put_be(&b[1], 2, wqe.index);
  b[3] = static_cast<uint8_t>(wqe.opcode);
  detail::put_be(&b[4], 3, wqe.qpn);
  b[7] = static_cast<uint8_t>(ds);
  b[11] = static_cast<uint8_t>((wqe.fence ? 0x80 : 0) | (wqe.signaled ? 0x08 : 0) | (wqe.solicited ? 0x02 : 0));
  detail::put_be(&b[12], 4, wqe.imm);
  size_t at = 16;
  if (wqe.av) {
    const AddressVector& av = *wqe.av;
    detail::put_be(&b[at], 4, av.qkey);
    detail::put_be(&b[at + 8], 4, 0x80000000 | av.dest_qpn);  // bit 31: the long form, which this is
    detail::put_be(&b[at + 14], 2, av.udp_sport);
    std::copy(av.dmac.begin(), av.dmac.end(), &b[at + 20]);
    b[at + 26] = av.tclass;
    b[at + 27] = av.hop_limit;
    detail::put_be(&b[at + 28], 4, 0x40000000 | av.flow_label);  // bit 30: with GRH, as always with RoCE
    std::copy(av.dgid.begin(), av.dgid.end(), &b[at + 32]);
    at += 48;
  }
  if (has_remote(wqe.opcode)) {
    detail::put_be(&b[at], 8, wqe.raddr);
    detail::put_be(&b[at + 8], 4, wqe.rkey);
    at += 16;
  }
  if (is_atomic(wqe.opcode)) {
    detail::put_be(&b[at], 8, wqe.swap_add);
    detail::put_be(&b[at + 8], 8, wqe.compare);
    at += 16;
  }
  if (wqe.is_inline) {
    detail::put_be(&b[at], 4, 0x80000000 | wqe.inline_bytes.size());
    std::copy(wqe.inline_bytes.begin(), wqe.inline_bytes.end(), b.begin() + static_cast<ptrdiff_t>(at + 4));
    return b;
  }
  for (const Sge& s : wqe.sges) {
    detail::put_be(&b[at], 4, s.length & 0x7fffffff);  // 2^31 is written as 0
    detail::put_be(&b[at + 4], 4, s.lkey);
    detail::put_be(&b[at + 8], 8, s.addr);
    at += 16;
  }
  return b;
}

struct DecodedWqe {
  Wqe wqe;
  unsigned blocks = 0;  ///< 0: size can't be trusted, everything up to the producer index is lost
  Syndrome syndrome = Syndrome::kNone;
  Vendor vendor = Vendor::kNone;
};

/// Decodes the WQE at index `index` of QP `qpn`'s ring when `available` blocks are posted; `bytes` holds as many of
/// them as its size field says, at most 4, one behind the other. Checks in this order: size against what is posted, QPN
/// and index, opcode against the transport, size and segments against the opcode, lengths of the segments, path MTU
/// code, length against the path MTU (UD). The fields of a WQE with an error are meaningful as far as they precede the
/// refused one.
inline DecodedWqe decode_wqe(const uint8_t* bytes, uint32_t qpn, uint16_t index, unsigned available,
                             Transport transport = Transport::kRc, unsigned mtu_code = 5) {
  DecodedWqe d;
  Wqe& w = d.wqe;
  const uint8_t* p = bytes;
  w.opmod = p[0];
  w.index = static_cast<uint16_t>(detail::get_be(p + 1, 2));
  w.opcode = static_cast<WqeOpcode>(p[3]);
  w.qpn = static_cast<uint32_t>(detail::get_be(p + 4, 3));
  w.fence = (p[11] & 0x80) != 0;
  w.signaled = (p[11] & 0x08) != 0;
  w.solicited = (p[11] & 0x02) != 0;
  w.imm = static_cast<uint32_t>(detail::get_be(p + 12, 4));
  auto refuse = [&d](Syndrome s, Vendor v) {
    d.syndrome = s;
    d.vendor = v;
    return d;
  };
  const unsigned ds = p[7];
  if (ds == 0 || wqe_blocks(ds) > available) return refuse(Syndrome::kLocalQpOp, Vendor::kWqeSize);
  d.blocks = wqe_blocks(ds);
  if (w.qpn != qpn || w.index != index) return refuse(Syndrome::kLocalQpOp, Vendor::kWqeQpn);
  if (!allowed(transport, w.opcode)) return refuse(Syndrome::kLocalQpOp, Vendor::kOpcode);
  const unsigned av_units = transport == Transport::kUd ? 3 : 0;
  const unsigned bare = 1 + av_units + has_remote(w.opcode) + is_atomic(w.opcode);
  if (ds > kMaxWqeDs || ds < bare) return refuse(Syndrome::kLocalQpOp, Vendor::kWqeSize);
  p += 16;
  if (av_units != 0) {
    AddressVector av;
    av.qkey = static_cast<uint32_t>(detail::get_be(p, 4));
    av.dest_qpn = static_cast<uint32_t>(detail::get_be(p + 9, 3));
    av.udp_sport = static_cast<uint16_t>(detail::get_be(p + 14, 2));
    std::copy(p + 20, p + 26, av.dmac.begin());
    av.tclass = p[26];
    av.hop_limit = p[27];
    av.flow_label = static_cast<uint32_t>(detail::get_be(p + 28, 4) & 0xfffff);
    std::copy(p + 32, p + 48, av.dgid.begin());
    w.av = av;
    if ((p[8] & 0x80) == 0) return refuse(Syndrome::kLocalQpOp, Vendor::kWqeSize);  // the short form
    p += 48;
  }
  if (has_remote(w.opcode)) {
    w.raddr = detail::get_be(p, 8);
    w.rkey = static_cast<uint32_t>(detail::get_be(p + 8, 4));
    p += 16;
  }
  if (is_atomic(w.opcode)) {
    w.swap_add = detail::get_be(p, 8);
    w.compare = detail::get_be(p + 8, 8);
    p += 16;
  }
  const unsigned units = ds - bare;
  if (units != 0 && (p[0] & 0x80) != 0) {
    const uint64_t count = detail::get_be(p, 4) & 0x7fffffff;
    if (!has_payload(w.opcode) || detail::inline_units(count) != units) {
      return refuse(Syndrome::kLocalQpOp, Vendor::kWqeSize);
    }
    w.is_inline = true;
    w.inline_bytes.assign(p + 4, p + 4 + count);
  } else {
    if (units > kMaxSges || (is_atomic(w.opcode) && units != 1)) return refuse(Syndrome::kLocalQpOp, Vendor::kWqeSize);
    for (unsigned i = 0; i < units; ++i, p += 16) {
      const uint64_t count = detail::get_be(p, 4);
      if ((count & 0x80000000) != 0) return refuse(Syndrome::kLocalQpOp, Vendor::kWqeSize);  // inline among others
      w.sges.push_back({static_cast<uint32_t>(detail::get_be(p + 4, 4)), detail::get_be(p + 8, 8),
                        count == 0 ? kMaxMessageBytes : count});
    }
  }
  if (w.length() > kMaxMessageBytes || (is_atomic(w.opcode) && w.length() != kAtomicBytes)) {
    return refuse(Syndrome::kLocalLength, Vendor::kLength);
  }
  if (mtu_code < 1 || mtu_code > 5) return refuse(Syndrome::kLocalQpOp, Vendor::kLength);
  if (transport == Transport::kUd && w.length() > mtu_bytes(mtu_code)) {
    return refuse(Syndrome::kLocalLength, Vendor::kLength);
  }
  return d;
}

}  // namespace rnic::golden
