// SPDX-License-Identifier: Apache-2.0
// Reference for PCIe transaction layer packets, written from the PCI Express Base Specification: a TLP and its bytes,
// the legal way to split a DMA request, and a completer that cuts its answers by MPS and the read completion boundary.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <vector>

namespace rnic::golden {

/// {Fmt, Type} of the TLPs that a DMA device sends and gets.
enum : uint8_t { kMRd32 = 0x00, kMRd64 = 0x20, kMWr32 = 0x40, kMWr64 = 0x60, kCpl = 0x0A, kCplD = 0x4A };

/// Completion status.
enum : uint8_t { kCplSc = 0, kCplUr = 1, kCplCrs = 2, kCplCa = 4 };

/// One TLP. Fields that its kind lacks are ignored.
struct Tlp {
  uint8_t fmt_type = kMRd32;
  uint8_t tc = 0;
  bool ido = false, th = false, td = false, ep = false, ro = false, ns = false;
  uint8_t at = 0;
  unsigned length_dw = 0;  ///< Length field as a count: 1..1024; 0 for a completion without data.
  uint16_t requester_id = 0;
  uint16_t tag = 0;  ///< 10 bits.
  // Requests
  uint8_t first_be = 0, last_be = 0;
  uint64_t addr = 0;  ///< DW-aligned.
  // Completions
  uint16_t completer_id = 0;
  uint8_t status = kCplSc;
  bool bcm = false;
  unsigned byte_count = 0;       ///< 1..4096.
  uint8_t lower_addr = 0;        ///< 7 bits.
  std::vector<uint8_t> payload;  ///< Whole DWs, in memory order.

  bool has_data() const { return (fmt_type & 0x40) != 0; }
  bool four_dw() const { return (fmt_type & 0x20) != 0; }
  bool is_completion() const { return (fmt_type & 0x1F) == 0x0A; }
  bool is_memory() const { return (fmt_type & 0x9F) == 0; }
  bool is_read() const { return is_memory() && !has_data(); }
  bool is_write() const { return is_memory() && has_data(); }
  unsigned header_dws() const { return four_dw() ? 4 : 3; }
  /// Data credits of 16 B that it uses.
  unsigned data_credits() const { return has_data() ? (length_dw + 3) / 4 : 0; }
  /// Bytes on the link: framing and sequence number 4, header, data, digest, LCRC 4.
  unsigned wire_bytes() const { return 4 + header_dws() * 4 + (has_data() ? length_dw * 4 : 0) + (td ? 4 : 0) + 4; }

  /// Offset of the first and of the last enabled byte from addr. A zero-length read counts as one byte.
  unsigned first_offset() const {
    if (first_be == 0) return 0;
    unsigned n = 0;
    while (!(first_be >> n & 1)) ++n;
    return n;
  }
  unsigned last_offset() const {
    const uint8_t be = length_dw == 1 ? first_be : last_be;
    unsigned n = 3;
    if (be == 0) return 0;
    while (!(be >> n & 1)) --n;
    return (length_dw - 1) * 4 + n;
  }
  /// Bytes that a read asks for, as its completions count them.
  unsigned request_bytes() const { return last_offset() - first_offset() + 1; }
  bool zero_length() const { return length_dw == 1 && first_be == 0; }

  std::vector<uint32_t> header() const {
    std::vector<uint32_t> w(header_dws());
    w[0] = uint32_t{fmt_type} << 24 | (tag >> 9 & 1u) << 23 | (tc & 7u) << 20 | (tag >> 8 & 1u) << 19 |
           uint32_t{ido} << 18 | uint32_t{th} << 16 | uint32_t{td} << 15 | uint32_t{ep} << 14 | uint32_t{ro} << 13 |
           uint32_t{ns} << 12 | (at & 3u) << 10 | (length_dw & 0x3FFu);
    if (is_completion()) {
      w[1] = uint32_t{completer_id} << 16 | (status & 7u) << 13 | uint32_t{bcm} << 12 | (byte_count & 0xFFFu);
      w[2] = uint32_t{requester_id} << 16 | (tag & 0xFFu) << 8 | (lower_addr & 0x7Fu);
    } else {
      w[1] = uint32_t{requester_id} << 16 | (tag & 0xFFu) << 8 | (last_be & 0xFu) << 4 | (first_be & 0xFu);
      if (four_dw()) {
        w[2] = static_cast<uint32_t>(addr >> 32);
        w[3] = static_cast<uint32_t>(addr) & ~3u;
      } else {
        w[2] = static_cast<uint32_t>(addr) & ~3u;
      }
    }
    return w;
  }

  /// Header (big-endian DWs) and payload, as on the wire.
  std::vector<uint8_t> bytes() const {
    std::vector<uint8_t> out;
    for (uint32_t w : header()) {
      for (int s = 24; s >= 0; s -= 8) out.push_back(static_cast<uint8_t>(w >> s));
    }
    out.insert(out.end(), payload.begin(), payload.end());
    return out;
  }

  /// The TLP of these header DWs and payload; nothing when it is neither a memory request nor a completion, or when
  /// payload and length disagree.
  static std::optional<Tlp> parse(const std::vector<uint32_t>& w, std::vector<uint8_t> data) {
    if (w.size() < 3) return std::nullopt;
    Tlp t;
    t.fmt_type = static_cast<uint8_t>(w[0] >> 24);
    if (!t.is_memory() && !t.is_completion()) return std::nullopt;
    if (w.size() < t.header_dws()) return std::nullopt;
    t.tc = w[0] >> 20 & 7;
    t.ido = w[0] >> 18 & 1;
    t.th = w[0] >> 16 & 1;
    t.td = w[0] >> 15 & 1;
    t.ep = w[0] >> 14 & 1;
    t.ro = w[0] >> 13 & 1;
    t.ns = w[0] >> 12 & 1;
    t.at = w[0] >> 10 & 3;
    t.length_dw = w[0] & 0x3FF;
    if (t.length_dw == 0 && t.fmt_type != kCpl) t.length_dw = 1024;
    t.tag = static_cast<uint16_t>((w[0] >> 23 & 1) << 9 | (w[0] >> 19 & 1) << 8);
    if (t.is_completion()) {
      t.completer_id = static_cast<uint16_t>(w[1] >> 16);
      t.status = w[1] >> 13 & 7;
      t.bcm = w[1] >> 12 & 1;
      t.byte_count = w[1] & 0xFFF ? w[1] & 0xFFF : 4096;
      t.requester_id = static_cast<uint16_t>(w[2] >> 16);
      t.tag |= w[2] >> 8 & 0xFF;
      t.lower_addr = w[2] & 0x7F;
    } else {
      t.requester_id = static_cast<uint16_t>(w[1] >> 16);
      t.tag |= w[1] >> 8 & 0xFF;
      t.last_be = w[1] >> 4 & 0xF;
      t.first_be = w[1] & 0xF;
      t.addr = t.four_dw() ? uint64_t{w[2]} << 32 | (w[3] & ~3u) : w[2] & ~3u;
    }
    if (data.size() != (t.has_data() ? t.length_dw * 4u : 0u)) return std::nullopt;
    t.payload = std::move(data);
    return t;
  }

  /// The same from the bytes on the wire.
  static std::optional<Tlp> parse(const std::vector<uint8_t>& b) {
    const size_t dws = !b.empty() && (b[0] & 0x20) ? 4 : 3;
    if (b.size() < dws * 4) return std::nullopt;
    std::vector<uint32_t> w(dws);
    for (size_t i = 0; i < dws * 4; ++i) w[i / 4] = w[i / 4] << 8 | b[i];
    return parse(w, std::vector<uint8_t>(b.begin() + static_cast<std::ptrdiff_t>(dws * 4), b.end()));
  }
};

/// Request for `len` bytes (1..4096, within one 4 KiB page) at byte address `addr`: length and byte enables. A `len` of
/// 0 makes the zero-length read.
inline Tlp make_request(bool write, uint64_t addr, unsigned len, uint16_t requester_id, uint16_t tag) {
  if (len > 4096 || (addr & 0xFFF) + len > 4096) throw std::invalid_argument("a request must not cross 4 KiB");
  Tlp t;
  const bool four = addr >> 32 != 0;
  t.fmt_type = write ? (four ? kMWr64 : kMWr32) : (four ? kMRd64 : kMRd32);
  t.requester_id = requester_id;
  t.tag = tag;
  t.addr = addr & ~uint64_t{3};
  const unsigned off = static_cast<unsigned>(addr & 3);
  t.length_dw = len == 0 ? 1 : (off + len + 3) / 4;
  for (unsigned dw = 0; dw < t.length_dw; ++dw) {
    uint8_t be = 0;
    for (unsigned b = 0; b < 4; ++b) {
      const unsigned i = dw * 4 + b;
      if (i >= off && i < off + len) be |= static_cast<uint8_t>(1u << b);
    }
    if (dw == 0)
      t.first_be = be;
    else if (dw == t.length_dw - 1)
      t.last_be = be;
  }
  return t;
}

inline Tlp make_read(uint64_t addr, unsigned len, uint16_t requester_id, uint16_t tag) {
  return make_request(false, addr, len, requester_id, tag);
}

/// A write of `data`; disabled bytes of its DWs are zero.
inline Tlp make_write(uint64_t addr, const std::vector<uint8_t>& data, uint16_t requester_id, uint16_t tag) {
  Tlp t = make_request(true, addr, static_cast<unsigned>(data.size()), requester_id, tag);
  t.payload.assign(t.length_dw * 4, 0);
  std::copy(data.begin(), data.end(), t.payload.begin() + static_cast<std::ptrdiff_t>(addr & 3));
  return t;
}

struct Piece {
  uint64_t addr;
  unsigned len;
  bool operator==(const Piece& o) const { return addr == o.addr && len == o.len; }
};

/// Pieces of a DMA of `len` bytes at `addr`: none longer than `limit` (MRRS or MPS, a power of two), none across 4 KiB.
/// The first one runs to the next multiple of `limit`.
inline std::vector<Piece> split_request(uint64_t addr, unsigned len, unsigned limit) {
  std::vector<Piece> out;
  while (len != 0) {
    const unsigned n = std::min<unsigned>(len, limit - static_cast<unsigned>(addr % limit));
    out.push_back({addr, n});
    addr += n;
    len -= n;
  }
  return out;
}

/// Answers reads. `read(addr, n)` returns n bytes of memory.
struct Completer {
  uint16_t id = 0;
  unsigned mps = 256;
  unsigned rcb = 64;
  /// At an RCB boundary inside the payload limit: true cuts there. Without it pieces are as large as allowed.
  std::function<bool()> cut;
  std::function<std::vector<uint8_t>(uint64_t addr, unsigned n)> read;

  /// The successful completions of `req`, in address order.
  std::vector<Tlp> complete(const Tlp& req) const {
    std::vector<Tlp> out;
    const uint64_t end = req.addr + req.length_dw * 4;
    unsigned left = req.request_bytes();
    for (uint64_t a = req.addr; a < end;) {
      uint64_t next = end;
      if (end - a > mps) next = (a + mps) / rcb * rcb;
      if (cut) {
        for (uint64_t b = (a / rcb + 1) * rcb; b < next; b += rcb) {
          if (cut()) {
            next = b;
            break;
          }
        }
      }
      const unsigned skip = out.empty() ? req.first_offset() : 0;
      const unsigned n = static_cast<unsigned>(next - a);
      Tlp t = response(req, kCplD, kCplSc);
      t.length_dw = n / 4;
      t.byte_count = left;
      t.lower_addr = static_cast<uint8_t>((a + skip) & 0x7F);
      t.payload = read(a, n);
      left -= std::min(left, n - skip);
      out.push_back(std::move(t));
      a = next;
    }
    return out;
  }

  /// A completion without data: UR, CRS or CA.
  Tlp fail(const Tlp& req, uint8_t status) const {
    Tlp t = response(req, kCpl, status);
    t.byte_count = req.request_bytes();
    t.lower_addr = static_cast<uint8_t>((req.addr + req.first_offset()) & 0x7F);
    return t;
  }

 private:
  Tlp response(const Tlp& req, uint8_t fmt_type, uint8_t status) const {
    Tlp t;
    t.fmt_type = fmt_type;
    t.tc = req.tc;
    t.ro = req.ro;
    t.ns = req.ns;
    t.requester_id = req.requester_id;
    t.tag = req.tag;
    t.completer_id = id;
    t.status = status;
    return t;
  }
};

}  // namespace rnic::golden
