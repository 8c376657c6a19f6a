// SPDX-License-Identifier: Apache-2.0
// TLPs as the RTL's PCIe pins carry them: tlp_beat_t, 64 B of payload a beat, header with the first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "rnic/pcie/tlp.h"
#include "rnic/rtl/ports.h"

namespace rnic::pcie {

/// Calls put(rtl::tlp_beat_t::Words) for each beat; one without data has none.
template <class Put>
void to_beats(const Tlp& tlp, Put&& put) {
  constexpr size_t kBytes = 64;
  const size_t beats = std::max<size_t>(1, (tlp.data.size() + kBytes - 1) / kBytes);
  rtl::tlp_beat_t b;
  b.hdr = {tlp.hdr[3], tlp.hdr[2], tlp.hdr[1], tlp.hdr[0]};
  b.op = tlp.op;
  rtl::tlp_beat_t::Words words{};
  for (size_t i = 0; i < beats; ++i) {
    const size_t n = std::min(kBytes, tlp.data.size() - i * kBytes);
    if (i < 2 || i + 1 == beats) {  // the beats in the middle differ in their data only
      b.sop = i == 0;
      b.eop = i + 1 == beats;
      b.dws = static_cast<uint8_t>(n / 4);
      words = b.pack();
    }
    if (n != 0) std::memcpy(words.data(), tlp.data.data() + i * kBytes, n);  // data is the lowest field
    put(words);
  }
}

/// Puts the beats that leave together again.
class TlpAssembler {
 public:
  /// The next beat; true with the last one of a TLP, which take() then gives. A first beat amid a TLP begins anew:
  /// look at open() before.
  bool add(const rtl::tlp_beat_t& b) {
    if (b.sop) {
      tlp_ = {};
      tlp_.hdr = {b.hdr[3], b.hdr[2], b.hdr[1], b.hdr[0]};
      tlp_.op = b.op;
    }
    const auto* bytes = reinterpret_cast<const uint8_t*>(b.data.data());
    tlp_.data.insert(tlp_.data.end(), bytes, bytes + 4 * std::min<size_t>(b.dws, b.data.size()));
    open_ = !b.eop;
    return b.eop;
  }
  bool open() const { return open_; }  ///< the last beat is still to come
  /// What there is.
  Tlp take() {
    open_ = false;
    return std::exchange(tlp_, {});
  }

 private:
  Tlp tlp_;
  bool open_ = false;
};

}  // namespace rnic::pcie
