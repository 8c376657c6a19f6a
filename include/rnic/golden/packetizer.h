// SPDX-License-Identifier: Apache-2.0
// Reference model of RoCEv2 framing, written from the InfiniBand Architecture Specification (volume 1, annexes A16 and
// A17) and RFC 791: header fields and payload to the bytes of a frame, and back. ICRC by zlib's CRC-32. Frames are
// without FCS.
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

/// Everything in the headers of a SEND or WRITE packet over IPv4 that is not derived from its payload.
struct FrameFields {
  std::array<uint8_t, 6> dmac{}, smac{};
  std::optional<uint16_t> vlan_tci;
  uint8_t tos = 0;
  uint16_t ip_id = 0;
  uint8_t ttl = 64;
  std::array<uint8_t, 4> sip{}, dip{};
  uint16_t udp_sport = 0;
  uint8_t bth_opcode = 0;
  bool solicited = false;
  bool mig_req = false;
  uint16_t pkey = 0xffff;
  uint32_t dest_qpn = 0;  // 24 bits
  bool ack_req = false;
  uint32_t psn = 0;  // 24 bits
  std::optional<Reth> reth;
  std::optional<uint32_t> imm;
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

/// Whether a BTH opcode (SEND and WRITE, any transport) carries RETH or ImmDt.
inline bool opcode_has_reth(uint8_t opcode) {
  const unsigned op = opcode & 0x1f;
  return op == 0x06 || op == 0x0a || op == 0x0b;
}
inline bool opcode_has_imm(uint8_t opcode) {
  const unsigned op = opcode & 0x1f;
  return op == 0x03 || op == 0x05 || op == 0x09 || op == 0x0b;
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

/// The bytes of one frame, padded to the Ethernet minimum of 60 bytes.
inline Bytes build_frame(const FrameFields& f, const Bytes& payload) {
  const unsigned pad = static_cast<unsigned>(-payload.size() & 3);
  Bytes b(f.dmac.begin(), f.dmac.end());
  b.insert(b.end(), f.smac.begin(), f.smac.end());
  if (f.vlan_tci) {
    detail::put_be(b, 0x8100, 2);
    detail::put_be(b, *f.vlan_tci, 2);
  }
  detail::put_be(b, 0x0800, 2);
  const size_t ip = b.size();
  const size_t udp_len = 8 + 12 + (f.reth ? 16 : 0) + (f.imm ? 4 : 0) + payload.size() + pad + 4;
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
  if (f.reth) {
    detail::put_be(b, f.reth->va, 8);
    detail::put_be(b, f.reth->rkey, 4);
    detail::put_be(b, f.reth->dma_len, 4);
  }
  if (f.imm) detail::put_be(b, *f.imm, 4);
  b.insert(b.end(), payload.begin(), payload.end());
  b.insert(b.end(), pad, 0);
  const uint32_t crc = icrc(Bytes(b.begin() + static_cast<std::ptrdiff_t>(ip), b.end()));
  for (unsigned i = 0; i < 4; ++i) b.push_back(static_cast<uint8_t>(crc >> (8 * i)));
  if (b.size() < 60) b.resize(60, 0);
  return b;
}

/// Takes a SEND or WRITE frame over IPv4 apart and checks lengths, checksum, reserved bits, pad and ICRC. Bytes behind
/// the IP packet are Ethernet padding.
inline ParsedFrame parse_frame(const Bytes& b) {
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
  check(detail::get_be(b, ip - 2, 2) == 0x0800, "Ethertype is not IPv4");
  if (!check(b[ip] == 0x45, "IP version or header length")) return r;
  f.tos = b[ip + 1];
  const size_t ip_len = detail::get_be(b, ip + 2, 2);
  f.ip_id = static_cast<uint16_t>(detail::get_be(b, ip + 4, 2));
  check(detail::get_be(b, ip + 6, 2) == 0x4000, "IP flags or fragment offset");
  f.ttl = b[ip + 8];
  check(b[ip + 9] == 17, "IP protocol is not UDP");
  check(detail::ones_sum(b, ip, 20) == 0xffff, "IP header checksum");
  for (unsigned i = 0; i < 4; ++i) f.sip[i] = b[ip + 12 + i], f.dip[i] = b[ip + 16 + i];
  const size_t udp = ip + 20;
  f.udp_sport = static_cast<uint16_t>(detail::get_be(b, udp, 2));
  check(detail::get_be(b, udp + 2, 2) == 4791, "UDP destination port");
  check(detail::get_be(b, udp + 4, 2) + 20 == ip_len, "UDP length");
  check(detail::get_be(b, udp + 6, 2) == 0, "UDP checksum is not 0");
  if (!check(ip + ip_len <= b.size(), "IP length beyond the frame")) return r;
  const size_t bth = udp + 8;
  f.bth_opcode = b[bth];
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
  if (opcode_has_reth(f.bth_opcode)) {
    f.reth = Reth{detail::get_be(b, at, 8), static_cast<uint32_t>(detail::get_be(b, at + 8, 4)),
                  static_cast<uint32_t>(detail::get_be(b, at + 12, 4))};
    at += 16;
  }
  if (opcode_has_imm(f.bth_opcode)) {
    f.imm = static_cast<uint32_t>(detail::get_be(b, at, 4));
    at += 4;
  }
  if (!check(at + pad <= end, "IP length too short for the opcode")) return r;
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
  const size_t len = b[ip] >> 4 == 4 ? detail::get_be(b, ip + 2, 2) : 40 + detail::get_be(b, ip + 4, 2);
  if (len < 44 || ip + len > b.size()) return false;
  uint32_t sent = 0;
  for (unsigned i = 0; i < 4; ++i) sent |= uint32_t{b[ip + len - 4 + i]} << (8 * i);
  return icrc(Bytes(b.begin() + static_cast<std::ptrdiff_t>(ip),
                    b.begin() + static_cast<std::ptrdiff_t>(ip + len - 4))) == sent;
}

/// Field by field.
inline bool operator==(const FrameFields& a, const FrameFields& b) {
  return a.dmac == b.dmac && a.smac == b.smac && a.vlan_tci == b.vlan_tci && a.tos == b.tos && a.ip_id == b.ip_id &&
         a.ttl == b.ttl && a.sip == b.sip && a.dip == b.dip && a.udp_sport == b.udp_sport &&
         a.bth_opcode == b.bth_opcode && a.solicited == b.solicited && a.mig_req == b.mig_req && a.pkey == b.pkey &&
         a.dest_qpn == b.dest_qpn && a.ack_req == b.ack_req && a.psn == b.psn && a.reth == b.reth && a.imm == b.imm;
}

}  // namespace rnic::golden
