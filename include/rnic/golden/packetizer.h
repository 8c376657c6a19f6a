// SPDX-License-Identifier: Apache-2.0
// Reference model of a requester's RoCEv2 frames, written from the InfiniBand Architecture Specification (volume 1,
// chapter 9 and annexes A16 and A17), RFC 791, RFC 8200 and IEEE 802.1Q: header fields and payload to the bytes of a
// frame, and back. ICRC by zlib's CRC-32. Frames are without FCS.
#pragma once

#include <zlib.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rnic::golden {

using Bytes = std::vector<uint8_t>;

struct Reth {
  uint64_t va = 0;
  uint32_t rkey = 0;
  uint32_t dma_len = 0;
  bool operator==(const Reth& o) const { return va == o.va && rkey == o.rkey && dma_len == o.dma_len; }
};

/// Datagram extended header.
struct Deth {
  uint32_t qkey = 0;
  uint32_t src_qpn = 0;  // 24 bits
  bool operator==(const Deth& o) const { return qkey == o.qkey && src_qpn == o.src_qpn; }
};

/// Atomic extended header.
struct AtomicEth {
  uint64_t va = 0;
  uint32_t rkey = 0;
  uint64_t swap_add = 0;
  uint64_t compare = 0;
  bool operator==(const AtomicEth& o) const {
    return va == o.va && rkey == o.rkey && swap_add == o.swap_add && compare == o.compare;
  }
};

struct Ipv6 {
  std::array<uint8_t, 16> src{}, dst{};
  uint32_t flow_label = 0;  // 20 bits
  bool operator==(const Ipv6& o) const { return src == o.src && dst == o.dst && flow_label == o.flow_label; }
};

/// Everything in the headers of a request packet that is not derived from its payload. The extension headers that are
/// present stand in the frame in the order of the members here.
struct FrameFields {
  std::array<uint8_t, 6> dmac{}, smac{};
  std::optional<uint16_t> vlan_tci;
  uint8_t tos = 0;                      // IPv6: traffic class
  uint16_t ip_id = 0;                   // IPv4 only
  uint8_t ttl = 64;                     // IPv6: hop limit
  std::array<uint8_t, 4> sip{}, dip{};  // IPv4 only
  std::optional<Ipv6> ipv6;
  uint16_t udp_sport = 0;
  uint8_t bth_opcode = 0;
  bool solicited = false;
  bool mig_req = false;
  uint16_t pkey = 0xffff;
  uint32_t dest_qpn = 0;  // 24 bits
  bool ack_req = false;
  uint32_t psn = 0;  // 24 bits
  std::optional<Deth> deth;
  std::optional<Reth> reth;
  std::optional<AtomicEth> atomic;
  std::optional<uint32_t> imm;
  std::optional<uint32_t> ieth;  // the key that SEND with invalidate takes back
};

/// A frame taken apart; `problems` names every rule it breaks, and is empty for a good one.
struct ParsedFrame {
  FrameFields fields;
  Bytes payload;
  uint32_t icrc = 0;  // first byte on the wire in the low bits
  std::vector<std::string> problems;
};

namespace detail {

inline void put_be(Bytes& b, uint64_t v, unsigned bytes) {
  for (unsigned i = bytes; i-- > 0;) b.push_back(static_cast<uint8_t>(v >> (8 * i)));
}

inline uint64_t get_be(const Bytes& b, size_t at, unsigned bytes) {
  uint64_t v = 0;
  for (unsigned i = 0; i < bytes; ++i) v = v << 8 | (at + i < b.size() ? b[at + i] : 0);
  return v;
}

/// Sum of 16-bit words with end-around carry (RFC 1071), not complemented.
inline uint16_t ones_sum(const Bytes& b, size_t at, size_t bytes) {
  uint32_t sum = 0;
  for (size_t i = 0; i < bytes; i += 2) sum += static_cast<uint32_t>(get_be(b, at + i, 2));
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(sum);
}

/// Byte offset of the IP header: behind the Ethernet header and its tags.
inline size_t ip_offset(const Bytes& frame) {
  size_t o = 12;
  while (get_be(frame, o, 2) == 0x8100 || get_be(frame, o, 2) == 0x88a8) o += 4;
  return o + 2;
}

}  // namespace detail

/// Which extension headers a request's BTH opcode has; operation in the low five bits, transport in the upper three.
inline bool opcode_has_deth(uint8_t opcode) { return opcode >> 5 == 3; }
inline bool opcode_has_reth(uint8_t opcode) {
  const unsigned op = opcode & 0x1f;
  return op == 0x06 || op == 0x0a || op == 0x0b || op == 0x0c;
}
inline bool opcode_has_atomic(uint8_t opcode) {
  const unsigned op = opcode & 0x1f;
  return op == 0x13 || op == 0x14;
}
inline bool opcode_has_imm(uint8_t opcode) {
  const unsigned op = opcode & 0x1f;
  return op == 0x03 || op == 0x05 || op == 0x09 || op == 0x0b;
}
inline bool opcode_has_ieth(uint8_t opcode) {
  const unsigned op = opcode & 0x1f;
  return op == 0x16 || op == 0x17;
}
/// SEND and WRITE; not READ and atomic, whose data is in their responses.
inline bool opcode_has_payload(uint8_t opcode) {
  const unsigned op = opcode & 0x1f;
  return op <= 0x0b || opcode_has_ieth(opcode);
}
/// Requests of RC (SEND, also with invalidate, WRITE, READ, atomic), UC (SEND, WRITE) and UD (SEND).
inline bool opcode_is_request(uint8_t opcode) {
  const unsigned op = opcode & 0x1f;
  switch (opcode >> 5) {
    case 0:
      return op <= 0x0c || opcode_has_atomic(opcode) || opcode_has_ieth(opcode);
    case 1:
      return op <= 0x0b;
    case 3:
      return op == 0x04 || op == 0x05;
    default:
      return false;
  }
}

/// ICRC over `ip`: IP header to pad, without the four ICRC bytes. First byte on the wire in the low bits.
inline uint32_t icrc(Bytes ip) {
  size_t udp = 20;
  if (ip.at(0) >> 4 == 4) {
    ip.at(1) = ip.at(8) = ip.at(10) = ip.at(11) = 0xff;
  } else {
    ip.at(0) |= 0x0f;
    ip.at(1) = ip.at(2) = ip.at(3) = ip.at(7) = 0xff;
    udp = 40;
  }
  ip.at(udp + 6) = ip.at(udp + 7) = 0xff;
  ip.at(udp + 8 + 4) = 0xff;
  const Bytes lrh(8, 0xff);
  uLong crc = crc32(0, lrh.data(), static_cast<uInt>(lrh.size()));
  crc = crc32(crc, ip.data(), static_cast<uInt>(ip.size()));
  return static_cast<uint32_t>(crc);
}

/// The bytes of one frame, padded to the Ethernet minimum of 60 bytes. IEEE 802.3's minimum of 64 with FCS is the same
/// for a tagged frame; 802.1Q leaves padding to 68 to bridges.
inline Bytes build_frame(const FrameFields& f, const Bytes& payload) {
  const unsigned pad = static_cast<unsigned>(-payload.size() & 3);
  Bytes b(f.dmac.begin(), f.dmac.end());
  b.insert(b.end(), f.smac.begin(), f.smac.end());
  if (f.vlan_tci) {
    detail::put_be(b, 0x8100, 2);
    detail::put_be(b, *f.vlan_tci, 2);
  }
  detail::put_be(b, f.ipv6 ? 0x86dd : 0x0800, 2);
  const size_t ip = b.size();
  const size_t udp_len = 8 + 12 + (f.deth ? 8 : 0) + (f.reth ? 16 : 0) + (f.atomic ? 28 : 0) + (f.imm ? 4 : 0) +
                         (f.ieth ? 4 : 0) + payload.size() + pad + 4;
  if (f.ipv6) {
    detail::put_be(b, uint32_t{6} << 28 | uint32_t{f.tos} << 20 | f.ipv6->flow_label, 4);
    detail::put_be(b, udp_len, 2);
    b.push_back(17);
    b.push_back(f.ttl);
    b.insert(b.end(), f.ipv6->src.begin(), f.ipv6->src.end());
    b.insert(b.end(), f.ipv6->dst.begin(), f.ipv6->dst.end());
  } else {
    b.push_back(0x45);
    b.push_back(f.tos);
    detail::put_be(b, 20 + udp_len, 2);
    detail::put_be(b, f.ip_id, 2);
    detail::put_be(b, 0x4000, 2);
    b.push_back(f.ttl);
    b.push_back(17);
    detail::put_be(b, 0, 2);
    b.insert(b.end(), f.sip.begin(), f.sip.end());
    b.insert(b.end(), f.dip.begin(), f.dip.end());
    const uint16_t sum = static_cast<uint16_t>(~detail::ones_sum(b, ip, 20));
    b[ip + 10] = static_cast<uint8_t>(sum >> 8);
    b[ip + 11] = static_cast<uint8_t>(sum);
  }
  detail::put_be(b, f.udp_sport, 2);
  detail::put_be(b, 4791, 2);
  detail::put_be(b, udp_len, 2);
  detail::put_be(b, 0, 2);
  b.push_back(f.bth_opcode);
  b.push_back(static_cast<uint8_t>(f.solicited << 7 | f.mig_req << 6 | pad << 4));
  detail::put_be(b, f.pkey, 2);
  b.push_back(0);
  detail::put_be(b, f.dest_qpn, 3);
  b.push_back(static_cast<uint8_t>(f.ack_req << 7));
  detail::put_be(b, f.psn, 3);
  if (f.deth) {
    detail::put_be(b, f.deth->qkey, 4);
    detail::put_be(b, f.deth->src_qpn, 4);
  }
  if (f.reth) {
    detail::put_be(b, f.reth->va, 8);
    detail::put_be(b, f.reth->rkey, 4);
    detail::put_be(b, f.reth->dma_len, 4);
  }
  if (f.atomic) {
    detail::put_be(b, f.atomic->va, 8);
    detail::put_be(b, f.atomic->rkey, 4);
    detail::put_be(b, f.atomic->swap_add, 8);
    detail::put_be(b, f.atomic->compare, 8);
  }
  if (f.imm) detail::put_be(b, *f.imm, 4);
  if (f.ieth) detail::put_be(b, *f.ieth, 4);
  b.insert(b.end(), payload.begin(), payload.end());
  b.insert(b.end(), pad, 0);
  const uint32_t crc = icrc(Bytes(b.begin() + static_cast<std::ptrdiff_t>(ip), b.end()));
  for (unsigned i = 0; i < 4; ++i) b.push_back(static_cast<uint8_t>(crc >> (8 * i)));
  if (b.size() < 60) b.resize(60, 0);
  return b;
}

/// Takes a request's frame apart and checks opcode, lengths, checksum, reserved bits, pad and ICRC. Bytes behind the IP
/// packet are Ethernet padding. A UDP checksum other than 0 is a problem, since this NIC sends none. `known`: opcodes
/// that are no problem; what stands behind the BTH of one that is no request's is left in the payload.
inline ParsedFrame parse_frame(const Bytes& b, bool (*known)(uint8_t) = opcode_is_request) {
  ParsedFrame r;
  FrameFields& f = r.fields;
  auto check = [&r](bool good, const char* what) {
    if (!good) r.problems.emplace_back(what);
    return good;
  };
  const size_t ip = b.size() < 18 ? 14 : detail::ip_offset(b);
  if (!check(b.size() >= ip + 20 + 8 + 12 + 4, "frame too short")) return r;
  for (unsigned i = 0; i < 6; ++i) f.dmac[i] = b[i], f.smac[i] = b[6 + i];
  if (ip == 18) f.vlan_tci = static_cast<uint16_t>(detail::get_be(b, 14, 2));
  const bool v6 = detail::get_be(b, ip - 2, 2) == 0x86dd;
  check(v6 || detail::get_be(b, ip - 2, 2) == 0x0800, "Ethertype is neither IPv4 nor IPv6");
  const size_t udp = ip + (v6 ? 40 : 20);
  size_t ip_len = 0;
  if (v6) {
    if (!check(b[ip] >> 4 == 6, "IP version")) return r;
    if (!check(b.size() >= udp + 8 + 12 + 4, "frame too short")) return r;
    f.tos = static_cast<uint8_t>(detail::get_be(b, ip, 4) >> 20);
    f.ipv6 = Ipv6{};
    f.ipv6->flow_label = static_cast<uint32_t>(detail::get_be(b, ip, 4) & 0xfffff);
    ip_len = 40 + detail::get_be(b, ip + 4, 2);
    check(b[ip + 6] == 17, "IPv6 next header is not UDP");
    f.ttl = b[ip + 7];
    for (unsigned i = 0; i < 16; ++i) f.ipv6->src[i] = b[ip + 8 + i], f.ipv6->dst[i] = b[ip + 24 + i];
  } else {
    if (!check(b[ip] == 0x45, "IP version or header length")) return r;
    f.tos = b[ip + 1];
    ip_len = detail::get_be(b, ip + 2, 2);
    f.ip_id = static_cast<uint16_t>(detail::get_be(b, ip + 4, 2));
    check(detail::get_be(b, ip + 6, 2) == 0x4000, "IP flags or fragment offset");
    f.ttl = b[ip + 8];
    check(b[ip + 9] == 17, "IP protocol is not UDP");
    check(detail::ones_sum(b, ip, 20) == 0xffff, "IP header checksum");
    for (unsigned i = 0; i < 4; ++i) f.sip[i] = b[ip + 12 + i], f.dip[i] = b[ip + 16 + i];
  }
  f.udp_sport = static_cast<uint16_t>(detail::get_be(b, udp, 2));
  check(detail::get_be(b, udp + 2, 2) == 4791, "UDP destination port");
  check(detail::get_be(b, udp + 4, 2) + (udp - ip) == ip_len, "UDP length");
  check(detail::get_be(b, udp + 6, 2) == 0, "UDP checksum is not 0");
  if (!check(ip + ip_len <= b.size(), "IP length beyond the frame")) return r;
  const size_t bth = udp + 8;
  f.bth_opcode = b[bth];
  check(known(f.bth_opcode), "BTH opcode is no request's");
  f.solicited = b[bth + 1] >> 7;
  f.mig_req = b[bth + 1] >> 6 & 1;
  const unsigned pad = b[bth + 1] >> 4 & 3;
  check((b[bth + 1] & 15) == 0, "BTH version");
  f.pkey = static_cast<uint16_t>(detail::get_be(b, bth + 2, 2));
  check(b[bth + 4] == 0, "BTH byte 4");
  f.dest_qpn = static_cast<uint32_t>(detail::get_be(b, bth + 5, 3));
  f.ack_req = b[bth + 8] >> 7;
  check((b[bth + 8] & 0x7f) == 0, "BTH byte 8 reserved bits");
  f.psn = static_cast<uint32_t>(detail::get_be(b, bth + 9, 3));
  size_t at = bth + 12;
  const size_t end = ip + ip_len - 4;
  if (opcode_has_deth(f.bth_opcode)) {
    f.deth = Deth{static_cast<uint32_t>(detail::get_be(b, at, 4)), static_cast<uint32_t>(detail::get_be(b, at + 5, 3))};
    check(detail::get_be(b, at + 4, 1) == 0, "DETH reserved byte");
    at += 8;
  }
  if (opcode_has_reth(f.bth_opcode)) {
    f.reth = Reth{detail::get_be(b, at, 8), static_cast<uint32_t>(detail::get_be(b, at + 8, 4)),
                  static_cast<uint32_t>(detail::get_be(b, at + 12, 4))};
    at += 16;
  }
  if (opcode_has_atomic(f.bth_opcode)) {
    f.atomic = AtomicEth{detail::get_be(b, at, 8), static_cast<uint32_t>(detail::get_be(b, at + 8, 4)),
                         detail::get_be(b, at + 12, 8), detail::get_be(b, at + 20, 8)};
    at += 28;
  }
  if (opcode_has_imm(f.bth_opcode)) {
    f.imm = static_cast<uint32_t>(detail::get_be(b, at, 4));
    at += 4;
  }
  if (opcode_has_ieth(f.bth_opcode)) {
    f.ieth = static_cast<uint32_t>(detail::get_be(b, at, 4));
    at += 4;
  }
  if (!check(at + pad <= end, "IP length too short for the opcode")) return r;
  check(opcode_has_payload(f.bth_opcode) || at == end, "payload where the opcode has none");
  check((end - at) % 4 == 0, "payload and pad are no multiple of 4");
  r.payload.assign(b.begin() + static_cast<std::ptrdiff_t>(at), b.begin() + static_cast<std::ptrdiff_t>(end - pad));
  for (size_t i = end - pad; i < end; ++i) check(b[i] == 0, "pad byte is not 0");
  for (unsigned i = 0; i < 4; ++i) r.icrc |= uint32_t{b[end + i]} << (8 * i);
  check(
      icrc(Bytes(b.begin() + static_cast<std::ptrdiff_t>(ip), b.begin() + static_cast<std::ptrdiff_t>(end))) == r.icrc,
      "ICRC");
  for (size_t i = end + 4; i < b.size(); ++i) check(b[i] == 0, "Ethernet padding is not 0");
  check(b.size() == (ip + ip_len < 60 ? 60 : ip + ip_len), "frame length");
  return r;
}

/// Whether the ICRC of a frame (IPv4 or IPv6, tagged or not) is right; found from the IP length.
inline bool icrc_ok(const Bytes& b) {
  const size_t ip = detail::ip_offset(b);
  if (b.size() < ip + 44) return false;
  const bool v4 = b[ip] >> 4 == 4;
  const size_t len = v4 ? detail::get_be(b, ip + 2, 2) : 40 + detail::get_be(b, ip + 4, 2);
  if (len < (v4 ? 44 : 64) || ip + len > b.size()) return false;
  uint32_t sent = 0;
  for (unsigned i = 0; i < 4; ++i) sent |= uint32_t{b[ip + len - 4 + i]} << (8 * i);
  return icrc(Bytes(b.begin() + static_cast<std::ptrdiff_t>(ip),
                    b.begin() + static_cast<std::ptrdiff_t>(ip + len - 4))) == sent;
}

/// Field by field.
inline bool operator==(const FrameFields& a, const FrameFields& b) {
  return a.dmac == b.dmac && a.smac == b.smac && a.vlan_tci == b.vlan_tci && a.tos == b.tos && a.ip_id == b.ip_id &&
         a.ttl == b.ttl && a.sip == b.sip && a.dip == b.dip && a.ipv6 == b.ipv6 && a.udp_sport == b.udp_sport &&
         a.bth_opcode == b.bth_opcode && a.solicited == b.solicited && a.mig_req == b.mig_req && a.pkey == b.pkey &&
         a.dest_qpn == b.dest_qpn && a.ack_req == b.ack_req && a.psn == b.psn && a.deth == b.deth && a.reth == b.reth &&
         a.atomic == b.atomic && a.imm == b.imm && a.ieth == b.ieth;
}

}  // namespace rnic::golden
