// SPDX-License-Identifier: Apache-2.0
// Exact serialization on a link: bytes take a rational number of picoseconds each, fractions are carried.
#pragma once

#include <cstdint>
#include <numeric>

namespace rnic {

/// One direction of a link. Times in ps; the fraction of a ps that a transfer ends in is kept until the next one that
/// follows without a gap, so n back-to-back bytes end at exactly floor(n * num / den) after the start.
class Serializer {
 public:
  /// A byte takes num/den ps.
  Serializer(uint64_t num, uint64_t den) : num_(num / std::gcd(num, den)), den_(den / std::gcd(num, den)) {}

  struct Slot {
    uint64_t start_ps, end_ps;
  };

  /// Sends `bytes` no earlier than now_ps and after everything given before. End is rounded down to whole ps.
  Slot send(uint64_t now_ps, uint64_t bytes) {
    if (now_ps > busy_ps_ || (now_ps == busy_ps_ && frac_ == 0)) {
      busy_ps_ = now_ps;
      frac_ = 0;
    }
    const uint64_t start = busy_ps_;
    const unsigned __int128 total = static_cast<unsigned __int128>(bytes) * num_ + frac_;
    busy_ps_ += static_cast<uint64_t>(total / den_);
    frac_ = static_cast<uint64_t>(total % den_);
    sent_ps_ += busy_ps_ - start;
    return {start, busy_ps_};
  }

  /// Time spent sending up to now_ps: exact as long as nothing was given for later than the time at which it was given.
  uint64_t busy_for_ps(uint64_t now_ps) const {
    const uint64_t ahead = busy_ps_ > now_ps ? busy_ps_ - now_ps : 0;
    return sent_ps_ > ahead ? sent_ps_ - ahead : 0;
  }

  /// When the last transfer so far ends (whole ps).
  uint64_t busy_until_ps() const { return busy_ps_; }

 private:
  uint64_t num_, den_;
  uint64_t busy_ps_ = 0;
  uint64_t sent_ps_ = 0;
  uint64_t frac_ = 0;  ///< numerator over den_ of the part of a ps beyond busy_ps_
};

}  // namespace rnic
