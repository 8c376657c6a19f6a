// SPDX-License-Identifier: Apache-2.0
#include "rnic/mem/l2.h"

#include <algorithm>

#include <fmt/format.h>

#include "rnic/core/error.h"
#include "rnic/core/types.h"

namespace rnic {
namespace {

/// Bits at so many Gb/s; 0: in no time.
Serializer bus(const Profile& p, const char* key) {
  const auto gbps = static_cast<uint64_t>(p.integer(key));
  return gbps == 0 ? Serializer(0, 1) : Serializer(8000, gbps);
}

}  // namespace

L2::L2(const Profile& p, uint64_t memory_bytes)
    : size_(static_cast<uint64_t>(p.integer("devmem.l2_size"))),
      line_bytes_(static_cast<uint64_t>(p.integer("devmem.l2_line"))),
      ways_(static_cast<uint64_t>(p.integer("devmem.l2_ways"))),
      sets_(size_ / (ways_ * line_bytes_)),
      hit_ps_(to_ps(p.time("devmem.read_latency"))),
      ddr_ps_(to_ps(p.time("devmem.ddr_latency"))),
      all_inside_(size_ >= memory_bytes),
      port_(bus(p, "devmem.l2_bandwidth")),
      ddr_(bus(p, "devmem.ddr_bandwidth")) {
  if (!all_inside_ && size_ % (ways_ * line_bytes_) != 0) {
    throw InputError(
        fmt::format("devmem.l2_size: {} B are not whole sets of devmem.l2_ways = {} lines of devmem.l2_line = {} B; "
                    "take at least {} B, or 0 for no cache",
                    size_, ways_, line_bytes_, ways_ * line_bytes_));
  }
}

uint64_t L2::access(uint64_t now_ps, uint64_t addr, uint64_t bytes, bool write) {
  if (bytes == 0) return now_ps + hit_ps_;
  const uint64_t from = port_.send(now_ps, bytes).end_ps;
  uint64_t ready = from;
  for (uint64_t n = addr / line_bytes_; n <= (addr + bytes - 1) / line_bytes_; ++n) {
    const bool whole = addr <= n * line_bytes_ && addr + bytes >= (n + 1) * line_bytes_;
    ready = std::max(ready, line_ready(from, n, write, whole));
  }
  return ready + hit_ps_;
}

uint64_t L2::fetch(uint64_t now_ps) { return ddr_.send(now_ps, line_bytes_).end_ps + ddr_ps_; }

uint64_t L2::line_ready(uint64_t now_ps, uint64_t number, bool write, bool whole) {
  if (all_inside_) {
    ++hits_;
    return now_ps;
  }
  if (sets_ == 0) {
    ++misses_;
    if (!write) return fetch(now_ps);
    ++written_back_;
    ddr_.send(now_ps, line_bytes_);
    return now_ps;
  }
  auto& set = lines_[number % sets_];
  const auto it = std::find_if(set.begin(), set.end(), [&](const Line& l) { return l.number == number; });
  if (it != set.end()) {
    ++hits_;
    it->dirty |= write;
    std::rotate(set.begin(), it, it + 1);
    return write ? now_ps : std::max(now_ps, set.front().ready_ps);
  }
  ++misses_;
  const uint64_t ready = write && whole ? now_ps : fetch(now_ps);
  if (set.size() == ways_) {
    if (set.back().dirty) {
      ++written_back_;
      ddr_.send(now_ps, line_bytes_);
    }
    set.pop_back();
  }
  set.insert(set.begin(), Line{number, ready, write});
  return write ? now_ps : ready;
}

}  // namespace rnic
