// SPDX-License-Identifier: Apache-2.0
// What a message becomes on the wire: its packets with every field of their transport headers, from the InfiniBand
// Architecture Specification (chapter 9: packet opcodes, PSN, path MTU) and Annex A17 (RoCEv2).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "rnic/golden/region.h"
#include "rnic/golden/wqe.h"

namespace rnic::golden {

/// The QP's part in a message's headers.
struct SegmentQp {
  Transport transport = Transport::kRc;
  unsigned mtu_code = 3;
  uint32_t psn = 0;    ///< of the message's first packet
  uint16_t ip_id = 0;  ///< of the message's first packet
  bool ip_id_fixed = false;
  uint32_t qkey = 0;  ///< the QP's own, for UD messages that ask for it
};

struct Packet {
  uint8_t bth_opcode = 0;
  uint32_t psn = 0;
  bool first = false;
  bool last = false;
  bool ack_req = false;
  bool solicited = false;
  bool has_deth = false;
  uint32_t deth_qkey = 0;
  bool has_reth = false;
  uint64_t reth_va = 0;
  uint32_t reth_rkey = 0;
  uint32_t reth_length = 0;
  bool has_atomic = false;
  uint64_t atomic_va = 0;
  uint32_t atomic_rkey = 0;
  uint64_t swap_add = 0;
  uint64_t compare = 0;
  bool has_imm = false;  ///< ImmDt; with SEND with invalidate IETH, which has the same place and size
  uint32_t imm = 0;
  uint64_t offset = 0;  ///< of the payload in the message
  uint32_t length = 0;  ///< of the payload, without pad
  uint16_t ip_id = 0;
};

/// Packets that carry `length` bytes; a message without payload is one packet.
inline uint64_t packet_count(uint64_t length, unsigned mtu) { return std::max<uint64_t>(1, (length + mtu - 1) / mtu); }

/// Packets that `wqe` sends: a READ or an atomic is one request.
inline uint64_t packet_count(const Wqe& wqe, unsigned mtu) {
  return has_payload(wqe.opcode) ? packet_count(wqe.length(), mtu) : 1;
}

/// PSNs that `wqe` uses: a READ as many as its response has packets.
inline uint64_t psn_count(const Wqe& wqe, unsigned mtu) {
  return is_atomic(wqe.opcode) ? 1 : packet_count(wqe.length(), mtu);
}

namespace detail {

/// Base of the transport's operation codes.
inline uint8_t bth_transport(Transport t) {
  switch (t) {
    case Transport::kRc:
      return 0x00;
    case Transport::kUc:
      return 0x20;
    case Transport::kUd:
      break;
  }
  return 0x60;
}

/// Operation code of a packet without its transport (reliable connection's; the others have those that they know at
/// the same places).
inline uint8_t bth_operation(WqeOpcode op, bool first, bool last) {
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
    kWriteOnlyImm,
    kReadRequest,
    kCmpSwap = 0x13,
    kFetchAdd = 0x14,
    kSendLastInval = 0x16,
    kSendOnlyInval = 0x17
  };
  if (op == WqeOpcode::kRead) return kReadRequest;
  if (op == WqeOpcode::kCmpSwap) return kCmpSwap;
  if (op == WqeOpcode::kFetchAdd) return kFetchAdd;
  const bool imm = has_immediate(op);
  if (is_write(op)) {
    if (first) return last ? (imm ? kWriteOnlyImm : kWriteOnly) : kWriteFirst;
    return last ? (imm ? kWriteLastImm : kWriteLast) : kWriteMiddle;
  }
  const bool inval = op == WqeOpcode::kSendInval;
  if (first) return last ? (inval ? kSendOnlyInval : imm ? kSendOnlyImm : kSendOnly) : kSendFirst;
  return last ? (inval ? kSendLastInval : imm ? kSendLastImm : kSendLast) : kSendMiddle;
}

}  // namespace detail

/// The k-th packet (k < packet_count) of the message that `wqe` asks for.
inline Packet packet_at(const SegmentQp& qp, const Wqe& wqe, uint64_t k) {
  const unsigned mtu = mtu_bytes(qp.mtu_code);
  const uint64_t count = packet_count(wqe, mtu);
  Packet p;
  p.first = k == 0;
  p.last = k + 1 == count;
  if (has_payload(wqe.opcode)) {
    p.offset = k * mtu;
    p.length = static_cast<uint32_t>(std::min<uint64_t>(mtu, wqe.length() - p.offset));
  }
  p.psn = static_cast<uint32_t>((qp.psn + k) % (1u << 24));
  p.ip_id = qp.ip_id_fixed ? qp.ip_id : static_cast<uint16_t>(qp.ip_id + k);
  p.bth_opcode =
      static_cast<uint8_t>(detail::bth_transport(qp.transport) | detail::bth_operation(wqe.opcode, p.first, p.last));

  p.has_deth = qp.transport == Transport::kUd;
  if (p.has_deth) p.deth_qkey = wqe.av && (wqe.av->qkey & 0x80000000) == 0 ? wqe.av->qkey : qp.qkey;
  p.has_reth = p.first && (is_write(wqe.opcode) || is_read(wqe.opcode));
  p.reth_va = wqe.raddr;
  p.reth_rkey = wqe.rkey;
  p.reth_length = static_cast<uint32_t>(wqe.length());
  p.has_atomic = is_atomic(wqe.opcode);
  p.atomic_va = wqe.raddr;
  p.atomic_rkey = wqe.rkey;
  p.swap_add = wqe.swap_add;
  p.compare = wqe.compare;
  p.has_imm = p.last && (has_immediate(wqe.opcode) || wqe.opcode == WqeOpcode::kSendInval);
  p.imm = wqe.imm;
  // Only a packet that consumes a receive WQE can solicit an event.
  p.solicited = p.last && wqe.solicited && (is_send(wqe.opcode) || has_immediate(wqe.opcode));
  // Reliable: the last packet, and one PSN in 64 inside a message, so that a long one is acknowledged on its way.
  p.ack_req = qp.transport == Transport::kRc && (p.last || p.psn % 64 == 31);
  return p;
}

/// All packets of a message.
inline std::vector<Packet> segment(const SegmentQp& qp, const Wqe& wqe) {
  std::vector<Packet> packets;
  const uint64_t count = packet_count(wqe, mtu_bytes(qp.mtu_code));
  packets.reserve(count);
  for (uint64_t k = 0; k < count; ++k) packets.push_back(packet_at(qp, wqe, k));
  return packets;
}

/// The part of a packet's payload that lies in one data segment.
struct Piece {
  size_t sge = 0;
  uint64_t offset = 0;  ///< in the segment
  uint32_t length = 0;
};

/// Where the payload of a packet lies, in order. Inline payload lies in no segment.
inline std::vector<Piece> pieces(const Wqe& wqe, const Packet& p) {
  std::vector<Piece> found;
  uint64_t begin = 0;  // of the segment in the message
  for (size_t i = 0; i < wqe.sges.size() && p.length != 0; ++i) {
    const uint64_t end = begin + wqe.sges[i].length;
    const uint64_t from = std::max(begin, p.offset);
    const uint64_t to = std::min(end, p.offset + p.length);
    if (from < to) found.push_back({i, from - begin, static_cast<uint32_t>(to - from)});
    begin = end;
  }
  return found;
}

/// Bytes of a packet's frame from the destination MAC to the FCS.
inline unsigned frame_bytes(const Packet& p, bool ipv6, bool vlan) {
  const unsigned link = 14 + (vlan ? 4 : 0) + 4;  // with FCS
  const unsigned network = (ipv6 ? 40 : 20) + 8;  // and UDP
  const unsigned transport =
      12 + (p.has_deth ? 8 : 0) + (p.has_reth ? 16 : 0) + (p.has_atomic ? 28 : 0) + (p.has_imm ? 4 : 0) + 4;
  return std::max(64u, link + network + transport + (p.length + 3) / 4 * 4);
}

}  // namespace rnic::golden
