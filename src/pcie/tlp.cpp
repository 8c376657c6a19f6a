// SPDX-License-Identifier: Apache-2.0
#include "rnic/pcie/tlp.h"

#include <fmt/format.h>

#include <stdexcept>

namespace rnic::pcie {
namespace {

/// Fields of a memory request that follow from a byte range.
struct Range {
  unsigned dws, first_be, last_be;
};

Range range_of(uint64_t addr, unsigned len) {
  if (len > 4096 || (addr & 0xfff) + len > 4096) {
    throw std::invalid_argument(fmt::format("a memory request of {} B at {:#x} crosses a 4 KiB boundary", len, addr));
  }
  if (len == 0) return {1, 0, 0};  // zero-length: one DW, no byte enabled
  const unsigned lead = addr & 3;
  const unsigned dws = (lead + len + 3) / 4;
  const unsigned tail = dws * 4 - lead - len;  // bytes of the last DW left out
  unsigned first = (0xfu << lead) & 0xf;
  unsigned last = 0xfu >> tail;
  if (dws == 1) {
    first &= last;
    last = 0;
  }
  return {dws, first, last};
}

Tlp make_request(bool write, uint64_t addr, unsigned len, uint16_t requester, unsigned tag) {
  const Range r = range_of(addr, len);
  const bool wide = addr >> 32 != 0;
  Tlp t;
  t.hdr[0] = static_cast<uint32_t>(write) << 30 | static_cast<uint32_t>(wide) << 29 | ((tag >> 9) & 1) << 23 |
             ((tag >> 8) & 1) << 19 | (r.dws & 0x3ff);
  t.hdr[1] = static_cast<uint32_t>(requester) << 16 | (tag & 0xff) << 8 | r.last_be << 4 | r.first_be;
  const auto low = static_cast<uint32_t>(addr & ~uint64_t{3});
  if (wide) {
    t.hdr[2] = static_cast<uint32_t>(addr >> 32);
    t.hdr[3] = low;
  } else {
    t.hdr[2] = low;
  }
  return t;
}

/// What is not 0 of the fields that most TLPs leave 0, each with a space before it.
std::string rare_fields(uint32_t dw0) {
  std::string text;
  const auto number = [&](const char* name, unsigned value) {
    if (value != 0) text += fmt::format(" {} {}", name, value);
  };
  const auto flag = [&](const char* name, unsigned bit) {
    if (dw0 >> bit & 1) text += fmt::format(" {}", name);
  };
  number("tc", dw0 >> 20 & 7);
  number("at", dw0 >> 10 & 3);
  flag("ido", 18);
  flag("ro", 13);
  flag("ns", 12);
  flag("th", 16);
  flag("td", 15);
  flag("ep", 14);
  return text;
}

}  // namespace

std::vector<uint8_t> Tlp::bytes() const {
  std::vector<uint8_t> out;
  out.reserve(16 + data.size());
  for (unsigned i = 0; i < (four_dw() ? 4u : 3u); ++i) {
    for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<uint8_t>(hdr[i] >> shift));
  }
  out.insert(out.end(), data.begin(), data.end());
  return out;
}

std::string Tlp::describe() const {
  if (is_completion()) {
    const unsigned status = (hdr[1] >> 13) & 7;
    const unsigned bc = hdr[1] & 0xfff;
    const char* text = status == 0 ? "SC" : status == 1 ? "UR" : status == 2 ? "CRS" : status == 4 ? "CA" : "?";
    return fmt::format("{} len {} tag {} from {:04x} to {:04x} {} bc {} la {:#04x}{}{}", has_data() ? "CplD" : "Cpl",
                       has_data() ? length_dw() : 0, tag(), hdr[1] >> 16, requester_id(), text, bc ? bc : 4096,
                       hdr[2] & 0x7f, hdr[1] >> 12 & 1 ? " bcm" : "", rare_fields(hdr[0]));
  }
  if (is_mem_read() || is_mem_write()) {
    return fmt::format("{}{} len {} tag {} from {:04x} be {:x}/{:x} addr {:#x}{}", is_mem_read() ? "MRd" : "MWr",
                       four_dw() ? 64 : 32, length_dw(), tag(), requester_id(), first_be(), last_be(), address(),
                       rare_fields(hdr[0]));
  }
  return fmt::format("TLP fmt/type {:#04x} len {}", fmt_type(), length_dw());
}

Tlp make_mem_read(uint64_t addr, unsigned len, uint16_t requester, unsigned tag) {
  return make_request(false, addr, len, requester, tag);
}

Tlp make_mem_write(uint64_t addr, const uint8_t* bytes, unsigned len, uint16_t requester) {
  Tlp t = make_request(true, addr, len, requester, 0);
  t.data.assign(t.length_dw() * 4, 0);
  std::copy(bytes, bytes + len, t.data.begin() + (addr & 3));
  return t;
}

Tlp make_completion(const Tlp& request, uint16_t completer, unsigned status, unsigned byte_count, unsigned lower_addr,
                    std::vector<uint8_t> data) {
  if (data.size() % 4 != 0) {
    throw std::invalid_argument(fmt::format("a completion's payload is whole DWs, not {} B", data.size()));
  }
  constexpr uint32_t kTags = 1u << 23 | 1u << 19;
  constexpr uint32_t kTcAttr = 7u << 20 | 1u << 18 | 3u << 12;  // a completion keeps its request's TC and attributes
  Tlp t;
  t.hdr[0] = (data.empty() ? 0x0au : 0x4au) << 24 | (request.hdr[0] & (kTags | kTcAttr)) |
             static_cast<uint32_t>((data.size() / 4) & 0x3ff);
  t.hdr[1] = static_cast<uint32_t>(completer) << 16 | (status & 7) << 13 | (byte_count & 0xfff);
  t.hdr[2] = static_cast<uint32_t>(request.requester_id()) << 16 | (request.tag() & 0xff) << 8 | (lower_addr & 0x7f);
  t.data = std::move(data);
  t.op = request.op;
  return t;
}

}  // namespace rnic::pcie
