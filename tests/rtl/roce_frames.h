// SPDX-License-Identifier: Apache-2.0
// Published RoCEv2 frames with their ICRC, from tests/data/roce_frames.txt.
#pragma once

#include <cstdint>
#include <fstream>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

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

/// A capture of frames, for tests/oracle/check_frames.py.
inline void write_pcapng(const std::string& path, const std::vector<golden::Bytes>& frames) {
  std::ofstream out(path, std::ios::binary);
  const auto put = [&out](std::initializer_list<uint32_t> words) {
    for (uint32_t w : words) {
      for (unsigned i = 0; i < 4; ++i) out.put(static_cast<char>(w >> (8 * i)));
    }
  };
  put({0x0a0d0d0a, 28, 0x1a2b3c4d, 1, 0xffffffff, 0xffffffff, 28});
  put({1, 20, 1, 0, 20});  // Ethernet
  for (const auto& f : frames) {
    const auto bytes = static_cast<uint32_t>(f.size()), size = 32 + (bytes + 3) / 4 * 4;
    put({6, size, 0, 0, 0, bytes, bytes});
    out.write(reinterpret_cast<const char*>(f.data()), static_cast<std::streamsize>(bytes));
    for (uint32_t i = bytes; i % 4 != 0; ++i) out.put(0);
    put({size});
  }
}

}  // namespace rnic::test
