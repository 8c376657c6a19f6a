// SPDX-License-Identifier: Apache-2.0
// AllReduce fragments and acknowledges as RoCEv2 frames, written from docs/allreduce.md: a BTH with an opcode of the
// manufacturers' range, the AllReduce extension header (ARETH), and of a fragment its elements.
#pragma once

#include "rnic/golden/allreduce.h"
#include "rnic/golden/packetizer.h"

namespace rnic::golden::arp {

inline constexpr uint8_t kOpcodeFragment = 0xc0;
inline constexpr uint8_t kOpcodeAck = 0xc1;
inline constexpr size_t kArethBytes = 16;

inline bool opcode_is_allreduce(uint8_t opcode) { return opcode == kOpcodeFragment || opcode == kOpcodeAck; }

inline Bytes areth_bytes(const Header& h) {
  Bytes b;
  for (const auto& [value, size] : {std::pair<uint64_t, unsigned>{h.group, 2},
                                    {h.step, 2},
                                    {h.chunk, 2},
                                    {h.rank, 1},
                                    {0, 1},
                                    {h.offset, 4},
                                    {h.dtype, 1},
                                    {h.op, 1},
                                    {h.len, 2}}) {
    golden::detail::put_be(b, value, size);
  }
  return b;
}

/// A fragment's frame; the opcode is set here, the header stays as it is.
inline Bytes build_fragment(FrameFields fields, const Header& h, const Bytes& data) {
  fields.bth_opcode = kOpcodeFragment;
  Bytes payload = areth_bytes(h);
  payload.insert(payload.end(), data.begin(), data.end());
  return build_frame(fields, payload);
}

/// An acknowledge's frame.
inline Bytes build_ack(FrameFields fields, const Header& h) {
  fields.bth_opcode = kOpcodeAck;
  return build_frame(fields, areth_bytes(h));
}

struct ParsedAllReduce {
  bool allreduce = false;  ///< opcode and ARETH are there; false: another frame, or too short for one
  bool ack = false;
  Header hdr;
  Bytes data;
  FrameFields fields;
  std::vector<std::string> problems;  ///< empty: a good frame
  /// The frame itself is damaged (ICRC, lengths, reserved fields); not: a header that the engine will refuse.
  bool damaged() const { return !problems.empty(); }
};

/// Takes any bytes apart. A frame that is none of ours has `allreduce` false. ARETH fields are given as they are: what
/// they may hold is the engine's to judge. Of a frame that is cut off behind its ARETH `data` is what is there.
inline ParsedAllReduce parse_allreduce(const Bytes& b) {
  ParsedAllReduce r;
  const size_t ip = golden::detail::ip_offset(b);
  const auto be = [&](size_t at, unsigned bytes) { return golden::detail::get_be(b, at, bytes); };  // 0 beyond the end
  const uint64_t ethertype = be(ip - 2, 2);
  const size_t udp = ip + (ethertype == 0x86dd ? 40 : 20);
  const size_t areth = udp + 8 + 12;
  const bool ours = ethertype == 0x86dd ? be(ip, 1) >> 4 == 6 : ethertype == 0x0800 && be(ip, 1) == 0x45;
  const auto opcode = static_cast<uint8_t>(be(udp + 8, 1));
  if (!ours || be(udp + 2, 2) != 4791 || !opcode_is_allreduce(opcode) || b.size() < areth + kArethBytes) return r;
  r.allreduce = true;
  r.ack = opcode == kOpcodeAck;
  r.hdr.group = static_cast<uint16_t>(be(areth, 2));
  r.hdr.step = static_cast<uint16_t>(be(areth + 2, 2));
  r.hdr.chunk = static_cast<uint16_t>(be(areth + 4, 2));
  r.hdr.rank = static_cast<uint8_t>(be(areth + 6, 1));
  r.hdr.offset = static_cast<uint32_t>(be(areth + 8, 4));
  r.hdr.dtype = static_cast<uint8_t>(be(areth + 12, 1));
  r.hdr.op = static_cast<uint8_t>(be(areth + 13, 1));
  r.hdr.len = static_cast<uint16_t>(be(areth + 14, 2));
  ParsedFrame p = parse_frame(b, opcode_is_allreduce);
  r.fields = p.fields;
  r.problems = std::move(p.problems);
  if (be(areth + 7, 1) != 0) r.problems.emplace_back("ARETH reserved byte");
  if (p.payload.size() >= kArethBytes) {
    r.data.assign(p.payload.begin() + kArethBytes, p.payload.end());
  } else {
    r.data.assign(b.begin() + static_cast<std::ptrdiff_t>(areth + kArethBytes), b.end());
    if (r.problems.empty()) r.problems.emplace_back("too short for an ARETH");
  }
  if (r.ack && !r.data.empty()) r.problems.emplace_back("payload behind an acknowledge");
  return r;
}

}  // namespace rnic::golden::arp
