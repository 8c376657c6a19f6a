// SPDX-License-Identifier: Apache-2.0
// Reads Ethernet frames out of capture files: pcap (either byte order, us or ns) and pcapng.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rnic {

struct CapturedFrame {
  std::vector<uint8_t> bytes;
  bool cut_off = false;  ///< the capture holds less than was on the wire
};

struct Capture {
  std::vector<CapturedFrame> frames;
  uint64_t other_packets = 0;  ///< of interfaces that are not Ethernet (pcapng only)
  bool ends_early = false;     ///< the file ends inside of a packet, which is left out
};

/// Throws InputError: not such a file, a length that can't be, no Ethernet, larger than 2 GiB.
Capture read_capture(const std::string& path);
Capture parse_capture(const std::string& bytes, const std::string& file);

}  // namespace rnic
