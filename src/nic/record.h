// SPDX-License-Identifier: Apache-2.0
// A recorded stimulus: the inputs of rnic_top at every edge, for running the bare Verilated model over them again.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <type_traits>
#include <vector>

namespace rnic {

/// Writes one record an edge: a 32-bit length in words, then the values in the order put.
class StimulusWriter {
 public:
  class Edge {
   public:
    template <class Port>
    void put(const Port& p) {
      if constexpr (std::is_integral_v<Port>) {
        words.push_back(static_cast<uint32_t>(p));
        if (sizeof(Port) == 8) words.push_back(static_cast<uint32_t>(static_cast<uint64_t>(p) >> 32));
      } else {
        for (size_t i = 0; i < sizeof(p) / 4; ++i) words.push_back(p[i]);
      }
    }
    std::vector<uint32_t> words;
  };
  explicit StimulusWriter(const std::string& path) : out_(path, std::ios::binary) {}
  void write(const Edge& e) {
    const auto n = static_cast<uint32_t>(e.words.size());
    out_.write(reinterpret_cast<const char*>(&n), 4);
    out_.write(reinterpret_cast<const char*>(e.words.data()), static_cast<std::streamsize>(4 * n));
  }

 private:
  std::ofstream out_;
};

}  // namespace rnic
