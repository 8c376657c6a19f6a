// SPDX-License-Identifier: Apache-2.0
// What a message becomes on the wire: its packets with every field of their transport headers, from the InfiniBand
// Architecture Specification (chapter 9: packet opcodes, PSN, path MTU) and Annex A17 (RoCEv2).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "rnic/golden/wqe.h"

namespace rnic::golden {

enum class Transport : uint8_t { kRc = 0, kUc = 1 };

/// Bytes of a path MTU code (1: 256 .. 5: 4096).
inline unsigned mtu_bytes(unsigned code) { return 128u << code; }

/// The QP's part in a message's headers.
struct SegmentQp {
  Transport transport = Transport::kRc;
  unsigned mtu_code = 3;
  uint32_t psn = 0;    ///< of the message's first packet
  uint16_t ip_id = 0;  ///< of the message's first packet
  bool ip_id_fixed = false;
};

struct Packet {
  uint8_t bth_opcode = 0;
  uint32_t psn = 0;
  bool first = false;
  bool last = false;
  bool ack_req = false;
  bool solicited = false;
  bool has_reth = false;
  uint64_t reth_va = 0;
  uint32_t reth_rkey = 0;
  uint32_t reth_length = 0;
  bool has_imm = false;
  uint32_t imm = 0;
  uint64_t offset = 0;  ///< of the payload in the message
  uint32_t length = 0;  ///< of the payload, without pad
  uint16_t ip_id = 0;
};

/// Packets of a message of `length` bytes; a message without payload is one packet.
inline uint64_t packet_count(uint64_t length, unsigned mtu) { return std::max<uint64_t>(1, (length + mtu - 1) / mtu); }

/// The k-th packet (k < packet_count) of the message that `wqe` asks for.
inline Packet packet_at(const SegmentQp& qp, const Wqe& wqe, uint64_t k) {
  const unsigned mtu = mtu_bytes(qp.mtu_code);
  const uint64_t count = packet_count(wqe.length, mtu);
  Packet p;
  p.first = k == 0;
  p.last = k + 1 == count;
  p.offset = k * mtu;
  p.length = static_cast<uint32_t>(std::min<uint64_t>(mtu, wqe.length - p.offset));
  p.psn = static_cast<uint32_t>((qp.psn + k) % (1u << 24));
  p.ip_id = qp.ip_id_fixed ? qp.ip_id : static_cast<uint16_t>(qp.ip_id + k);

  // Opcodes of reliable connection; unreliable connection has the same ones from 0x20 on.
  enum : uint8_t {
    kSendFirst,
    kSendMiddle,
    kSendLast,
    kSendLastImm,
    kSendOnly,
    kSendOnlyImm,
    kWriteFirst,
    kWriteMiddle,
    kWriteLast,
    kWriteLastImm,
    kWriteOnly,
    kWriteOnlyImm
  };
  const bool imm = has_immediate(wqe.opcode);
  uint8_t op = 0;
  if (is_send(wqe.opcode)) {
    op = p.first && p.last ? (imm ? kSendOnlyImm : kSendOnly)
         : p.first         ? kSendFirst
         : p.last          ? (imm ? kSendLastImm : kSendLast)
                           : kSendMiddle;
  } else {
    op = p.first && p.last ? (imm ? kWriteOnlyImm : kWriteOnly)
         : p.first         ? kWriteFirst
         : p.last          ? (imm ? kWriteLastImm : kWriteLast)
                           : kWriteMiddle;
  }
  p.bth_opcode = static_cast<uint8_t>(op | (qp.transport == Transport::kUc ? 0x20 : 0x00));

  p.has_reth = p.first && is_write(wqe.opcode);
  p.reth_va = wqe.raddr;
  p.reth_rkey = wqe.rkey;
  p.reth_length = static_cast<uint32_t>(wqe.length);
  p.has_imm = p.last && imm;
  p.imm = wqe.imm;
  // Only a packet that consumes a receive WQE can solicit an event.
  p.solicited = p.last && wqe.solicited && (is_send(wqe.opcode) || imm);
  // Reliable: the last packet, and one PSN in 64 inside a message, so that a long one is acknowledged on its way.
  p.ack_req = qp.transport == Transport::kRc && (p.last || p.psn % 64 == 31);
  return p;
}

/// All packets of a message.
inline std::vector<Packet> segment(const SegmentQp& qp, const Wqe& wqe) {
  std::vector<Packet> packets;
  const uint64_t count = packet_count(wqe.length, mtu_bytes(qp.mtu_code));
  packets.reserve(count);
  for (uint64_t k = 0; k < count; ++k) packets.push_back(packet_at(qp, wqe, k));
  return packets;
}

/// A region of registered memory, as in the memory protection table.
struct Region {
  bool valid = true;
  uint8_t variant = 0;  ///< low byte of the key
  uint32_t pd = 0;
  uint64_t start = 0;  ///< virtual address
  uint64_t length = 0;
  uint64_t iova = 0;  ///< bus address of the first byte
};

/// Checks a local access to `length` > 0 bytes at `addr` under key `lkey`; `region` is the table's entry lkey >> 8.
/// Nothing on success.
inline std::optional<Vendor> check_local_access(const Region& region, uint32_t pd, uint32_t lkey, uint64_t addr,
                                                uint64_t length) {
  if ((lkey >> 8) >= 65536 || !region.valid || region.variant != (lkey & 0xff)) return Vendor::kKey;
  if (region.pd != pd) return Vendor::kPd;
  if (addr < region.start || length - 1 > UINT64_MAX - addr) return Vendor::kBounds;
  const uint64_t into = addr - region.start;
  if (into > region.length || length > region.length - into) return Vendor::kBounds;
  return std::nullopt;
}

}  // namespace rnic::golden
