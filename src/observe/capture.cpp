// SPDX-License-Identifier: Apache-2.0
// Formats: draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng. Files may be cut off or hostile: every length is checked
// against what is there.
#include "rnic/observe/capture.h"

#include <fmt/format.h>

#include <algorithm>

#include "rnic/core/error.h"
#include "rnic/core/file.h"

namespace rnic {
namespace {

constexpr size_t kMostFile = size_t{2} << 30;
constexpr uint32_t kMostFrame = 1 << 18;  // as libpcap
constexpr uint16_t kEthernet = 1;

class Reader {
 public:
  Reader(const std::string& bytes, const std::string& file) : b_(bytes), file_(file) {}

  Capture read() {
    if (b_.size() < 4) fail(0, "not a capture: too short for pcap or pcapng");
    const uint32_t magic = u32(0);
    if (magic == 0x0a0d0d0a) {
      pcapng();
      return std::move(out_);
    }
    for (const bool swap : {false, true}) {
      swap_ = swap;
      if (u32(0) == 0xa1b2c3d4 || u32(0) == 0xa1b23c4d) {
        pcap();
        return std::move(out_);
      }
    }
    fail(0, "not a capture: neither pcap nor pcapng");
  }

 private:
  [[noreturn]] void fail(size_t at, const std::string& what) const {
    throw InputError(file_, 0, "", at == 0 ? what : fmt::format("at byte {}: {}", at, what));
  }

  uint16_t u16(size_t at) const {
    const auto x = static_cast<uint8_t>(b_[at]), y = static_cast<uint8_t>(b_[at + 1]);
    return static_cast<uint16_t>(swap_ ? x << 8 | y : y << 8 | x);
  }
  uint32_t u32(size_t at) const {
    const uint32_t x = u16(at), y = u16(at + 2);
    return swap_ ? x << 16 | y : y << 16 | x;
  }

  void frame(size_t at, uint32_t captured, uint32_t on_wire) {
    const auto* p = reinterpret_cast<const uint8_t*>(b_.data()) + at;
    out_.frames.push_back({std::vector<uint8_t>(p, p + captured), captured < on_wire});
  }

  void pcap() {
    if (b_.size() < 24) fail(0, "not a capture: cut off in its header");
    const uint32_t link = u32(20) & 0x0fffffff;
    if (link != kEthernet) fail(20, fmt::format("link type {}; only Ethernet, 1, is read", link));
    for (size_t at = 24; at < b_.size();) {
      if (b_.size() - at < 16) {
        out_.ends_early = true;
        return;
      }
      const uint32_t captured = u32(at + 8);
      if (captured > kMostFrame) fail(at, fmt::format("a packet of {} B; at most {} are taken", captured, kMostFrame));
      if (captured > b_.size() - at - 16) {
        out_.ends_early = true;
        return;
      }
      frame(at + 16, captured, u32(at + 12));
      at += 16 + captured;
    }
  }

  void pcapng() {
    std::vector<uint16_t> links;
    bool ethernet = false;
    for (size_t at = 0; at < b_.size();) {
      if (b_.size() - at < 12) {
        out_.ends_early = true;
        return;
      }
      const uint32_t type = u32(at);
      if (type == 0x0a0d0d0a) {  // the same in either byte order, which each section has of its own
        swap_ = false;
        if (u32(at + 8) != 0x1a2b3c4d) swap_ = true;
        if (u32(at + 8) != 0x1a2b3c4d) fail(at, "a section without byte-order magic");
        links.clear();
      }
      const uint32_t size = u32(at + 4);
      if (size < 12 || size % 4 != 0) fail(at, fmt::format("a block of {} B; blocks are multiples of 4 from 12", size));
      if (size > b_.size() - at) {
        out_.ends_early = true;
        return;
      }
      const size_t body = at + 8, room = size - 12;
      if (type == 1) {
        if (room < 8) fail(at, "an interface description that is too short");
        links.push_back(u16(body));
        ethernet = ethernet || links.back() == kEthernet;
      } else if (type == 6) {
        if (room < 20) fail(at, "a packet block that is too short");
        const uint32_t interface = u32(body), captured = u32(body + 12);
        if (interface >= links.size())
          fail(at, fmt::format("a packet of interface {}, which is not described", interface));
        if (captured > room - 20) fail(at, fmt::format("a packet of {} B in a block of {}", captured, size));
        if (links[interface] == kEthernet) {
          frame(body + 20, captured, u32(body + 16));
        } else {
          ++out_.other_packets;
        }
      } else if (type == 3) {
        if (room < 4) fail(at, "a packet block that is too short");
        if (links.empty()) fail(at, "a packet before any interface description");
        const uint32_t on_wire = u32(body);
        if (links[0] == kEthernet) {
          frame(body + 4, static_cast<uint32_t>(std::min<size_t>(on_wire, room - 4)), on_wire);
        } else {
          ++out_.other_packets;
        }
      }
      at += size;
    }
    if (!ethernet) fail(0, "holds no Ethernet interface");
  }

  const std::string& b_;
  const std::string& file_;
  bool swap_ = false;
  Capture out_;
};

}  // namespace

Capture parse_capture(const std::string& bytes, const std::string& file) { return Reader(bytes, file).read(); }

Capture read_capture(const std::string& path) { return parse_capture(read_text(path, kMostFile), path); }

}  // namespace rnic
