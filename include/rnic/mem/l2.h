// SPDX-License-Identifier: Apache-2.0
// The NIC's L2 cache in front of its DDR: when an access to device memory has its data. Knows addresses and times, not
// contents.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "rnic/core/serializer.h"
#include "rnic/profile/profile.h"

namespace rnic {

/// Set-associative, least recently used goes first; writes are kept and go to DDR when their line has to go. A cache as
/// large as the memory holds all of it from the start; one of size 0 holds nothing.
///
/// Times are in ps. An unloaded hit takes devmem.read_latency, a miss devmem.ddr_latency and the line's time at
/// devmem.ddr_bandwidth more. Accesses must come in order of time. Many may be under way: a line on its way is waited
/// for, and is not read a second time.
class L2 {
 public:
  /// The keys devmem.* of the profile, in front of `memory_bytes`. InputError when l2_size is less than a set.
  L2(const Profile& profile, uint64_t memory_bytes);

  /// When an access at `now_ps` to `bytes` bytes from `addr` on has its data, or has taken them. A write that covers
  /// a whole line does not read it.
  uint64_t access(uint64_t now_ps, uint64_t addr, uint64_t bytes, bool write);

  uint64_t hit_ps() const { return hit_ps_; }
  /// Lines looked up and found, or on their way; lines that were not.
  uint64_t hits() const { return hits_; }
  uint64_t misses() const { return misses_; }
  /// Lines written back to DDR.
  uint64_t written_back() const { return written_back_; }

 private:
  struct Line {
    uint64_t number;    ///< address / line size
    uint64_t ready_ps;  ///< its data has come from DDR
    bool dirty;
  };
  uint64_t line_ready(uint64_t now_ps, uint64_t number, bool write, bool whole);
  uint64_t fetch(uint64_t now_ps);

  uint64_t size_, line_bytes_, ways_, sets_;
  uint64_t hit_ps_, ddr_ps_;
  bool all_inside_;
  Serializer port_, ddr_;
  std::unordered_map<uint64_t, std::vector<Line>> lines_;  ///< by set, the most recently used first
  uint64_t hits_ = 0, misses_ = 0, written_back_ = 0;
};

}  // namespace rnic
