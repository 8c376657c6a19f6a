// SPDX-License-Identifier: Apache-2.0
// A transaction layer packet in the models.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "rnic/rtl/ports.h"

namespace rnic::pcie {

struct Tlp {
  std::array<uint32_t, 4> hdr{};  ///< DW0..3 as numbers; a 3-DW header leaves the last one 0
  std::vector<uint8_t> data;      ///< payload in memory byte order, a multiple of 4 bytes
  rtl::op_t op{};                 ///< which packet it serves; sideband, not on the wire

  uint8_t fmt_type() const { return static_cast<uint8_t>(hdr[0] >> 24); }
  bool four_dw() const { return (hdr[0] >> 29) & 1; }
  bool has_data() const { return (hdr[0] >> 30) & 1; }
  bool is_mem_read() const { return (fmt_type() & 0xdf) == 0x00; }
  bool is_mem_write() const { return (fmt_type() & 0xdf) == 0x40; }
  bool is_completion() const { return (fmt_type() & 0xbf) == 0x0a; }
  unsigned length_dw() const { return (hdr[0] & 0x3ff) ? hdr[0] & 0x3ff : 1024; }
  uint16_t requester_id() const { return static_cast<uint16_t>(is_completion() ? hdr[2] >> 16 : hdr[1] >> 16); }
  unsigned tag() const {
    const uint32_t low = is_completion() ? (hdr[2] >> 8) & 0xff : (hdr[1] >> 8) & 0xff;
    return low | ((hdr[0] >> 19) & 1) << 8 | ((hdr[0] >> 23) & 1) << 9;
  }
  unsigned first_be() const { return hdr[1] & 15; }
  unsigned last_be() const { return (hdr[1] >> 4) & 15; }
  bool relaxed() const { return (hdr[0] >> 13) & 1; }   ///< relaxed ordering
  bool id_based() const { return (hdr[0] >> 18) & 1; }  ///< ID-based ordering
  bool poisoned() const { return (hdr[0] >> 14) & 1; }
  /// DW-aligned address of a memory request.
  uint64_t address() const { return four_dw() ? uint64_t{hdr[2]} << 32 | (hdr[3] & ~3u) : uint64_t{hdr[2] & ~3u}; }
  /// Bytes on the link with framing and data-link layer: header + payload + 4 (STP) + 4 (LCRC).
  size_t wire_bytes() const { return (four_dw() ? 16 : 12) + data.size() + 8; }
  /// Header and payload as on the link, DW by DW big-endian header, then payload.
  std::vector<uint8_t> bytes() const;
  /// One line for logs: "MRd64 len 16 tag 3 be f/f addr 0x...".
  std::string describe() const;
};

/// Memory read of [addr, addr+len), len 1..4096, not crossing 4 KiB; 3-DW form below 4 GiB.
Tlp make_mem_read(uint64_t addr, unsigned len, uint16_t requester, unsigned tag);
/// Memory write of the bytes, same limits.
Tlp make_mem_write(uint64_t addr, const uint8_t* bytes, unsigned len, uint16_t requester);
/// Completion with data (status 0) or without (data empty).
Tlp make_completion(const Tlp& request, uint16_t completer, unsigned status, unsigned byte_count, unsigned lower_addr,
                    std::vector<uint8_t> data);

/// Takes TLPs at the instant their last byte arrives (sc_time_stamp()).
class TlpTarget {
 public:
  virtual ~TlpTarget() = default;
  virtual void deliver(Tlp tlp) = 0;
};

}  // namespace rnic::pcie
