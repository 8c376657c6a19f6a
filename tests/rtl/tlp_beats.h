// SPDX-License-Identifier: Apache-2.0
// Between reference TLPs and the beats of rnic_pkg.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rnic/golden/tlp.h"
#include "rnic/rtl/ports.h"

namespace rnic::test {

using BeatData = std::array<uint32_t, 16>;

/// Bytes [first, first + 64) of `v` as a data beat, zero beyond its end.
inline BeatData beat_data(const std::vector<uint8_t>& v, size_t first) {
  BeatData d{};
  for (size_t i = 0; i < 64 && first + i < v.size(); ++i) d[i / 4] |= uint32_t{v[first + i]} << (8 * (i % 4));
  return d;
}

inline uint8_t beat_byte(const BeatData& d, size_t i) { return static_cast<uint8_t>(d[i / 4] >> (8 * (i % 4))); }

inline std::vector<rtl::tlp_beat_t> to_beats(const golden::Tlp& t) {
  std::vector<rtl::tlp_beat_t> out;
  const auto h = t.header();
  size_t at = 0;
  do {
    rtl::tlp_beat_t b;
    b.sop = at == 0;
    if (b.sop) {
      for (size_t i = 0; i < h.size(); ++i) b.hdr[3 - i] = h[i];
    }
    b.dws = static_cast<uint8_t>(std::min<size_t>(16, (t.payload.size() - at) / 4));
    b.data = beat_data(t.payload, at);
    at += 64;
    b.eop = at >= t.payload.size();
    out.push_back(b);
  } while (at < t.payload.size());
  return out;
}

/// Puts beats together to TLPs and reports beats that break the stream's rules.
class TlpCollector {
 public:
  /// The TLP that ends with this beat.
  std::optional<golden::Tlp> push(const rtl::tlp_beat_t& b) {
    if (b.sop == inside_) error_ = "sop inside a TLP, or data without it";
    if (b.sop) {
      hdr_.clear();
      payload_.clear();
      const unsigned dws = (b.hdr[3] >> 29 & 1) ? 4 : 3;
      for (unsigned i = 0; i < dws; ++i) hdr_.push_back(b.hdr[3 - i]);
      if (dws == 3 && b.hdr[0] != 0) error_ = "fourth DW of a 3-DW header not zero";
      op_ = b.op;
    }
    if (!b.eop && b.dws != 16) error_ = "beat inside a TLP is not full";
    for (unsigned i = 0; i < 64u; ++i) {
      if (i < b.dws * 4u) payload_.push_back(beat_byte(b.data, i));
    }
    inside_ = !b.eop;
    if (!b.eop) return std::nullopt;
    auto t = golden::Tlp::parse(hdr_, payload_);
    if (!t) error_ = "header and data do not make a TLP";
    return t;
  }
  const std::string& error() const { return error_; }
  bool inside() const { return inside_; }
  const rtl::op_t& op() const { return op_; }

 private:
  std::vector<uint32_t> hdr_;
  std::vector<uint8_t> payload_;
  rtl::op_t op_;
  bool inside_ = false;
  std::string error_;
};

}  // namespace rnic::test
