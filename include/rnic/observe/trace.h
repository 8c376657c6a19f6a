// SPDX-License-Identifier: Apache-2.0
// Which waveform a clocked model writes.
#pragma once

#include <cstdint>
#include <string>

namespace rnic {

struct TraceOptions {
  std::string path;      ///< FST file; empty: no waveform
  uint64_t from_ps = 0;  ///< first and last instant written
  uint64_t to_ps = ~uint64_t{0};
};

}  // namespace rnic
