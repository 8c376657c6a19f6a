// SPDX-License-Identifier: Apache-2.0
// Published RoCEv2 frames with their ICRC, from tests/data/roce_frames.txt.
#pragma once

#include <fstream>
#include <map>
#include <string>

#include "rnic/golden/packetizer.h"

namespace rnic::test {

/// Name -> bytes. RNIC_TEST_DATA is the folder of the file.
inline std::map<std::string, golden::Bytes> load_roce_frames() {
  std::map<std::string, golden::Bytes> frames;
  std::ifstream in(RNIC_TEST_DATA "/roce_frames.txt");
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t bar = line.find('|');
    const std::string name = line.substr(bar + 2, line.find(" |", bar + 2) - bar - 2);
    const std::string hex = line.substr(line.rfind(' ') + 1);
    golden::Bytes& f = frames[name];
    for (size_t i = 0; i + 1 < hex.size(); i += 2) {
      f.push_back(static_cast<uint8_t>(std::stoul(hex.substr(i, 2), nullptr, 16)));
    }
  }
  return frames;
}

/// The frame without its 802.1Q tag.
inline golden::Bytes untagged(const golden::Bytes& f) {
  if (f.size() < 16 || f[12] != 0x81) return f;
  golden::Bytes r(f.begin(), f.begin() + 12);
  r.insert(r.end(), f.begin() + 16, f.end());
  return r;
}

}  // namespace rnic::test
