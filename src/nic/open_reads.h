// SPDX-License-Identifier: Apache-2.0
// The reads that a NIC has under way, as seen at its PCIe pins: for whoever has to say which one went wrong.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <unordered_map>

#include "rnic/nic/nic.h"
#include "rnic/pcie/completer.h"
#include "rnic/pcie/topology.h"
#include "rnic/profile/profile.h"

namespace rnic {

class OpenReads {
 public:
  explicit OpenReads(const Profile& p)
      : slow_ps_(to_ps(p.time("health.slow_read"))),
        rcb_(static_cast<unsigned>(p.integer("pcie.rcb"))),
        headers_(p.integer("pcie.cplh_credits")),
        data_(p.integer("pcie.cpld_credits")),
        largest_(static_cast<unsigned>(p.integer("pcie.mrrs"))) {}

  void asked(const pcie::Tlp& read, uint64_t ps, uint64_t timeout_ns) {
    const auto it = open_.find(read.tag());
    if (it != open_.end()) close(it, ps, timeout_ns);
    Open o;
    o.address = read.address();
    o.left = pcie::byte_count(read);
    o.end = read.address() + pcie::enabled(read).first + o.left;
    o.ps = ps;
    count_room(ps);
    reserve(o);
    open_.emplace(read.tag(), o);
  }

  /// A completion has arrived. Remembers the header of a bad one, for whoever detects it.
  void answered(const pcie::Tlp& cpl, uint64_t ps, uint64_t timeout_ns) {
    const unsigned count = (cpl.hdr[1] & 0xfff) == 0 ? 4096 : cpl.hdr[1] & 0xfff;
    const unsigned status = cpl.hdr[1] >> 13 & 7;
    const auto it = open_.find(cpl.tag());
    if (cpl.poisoned()) poisoned = cpl.hdr;
    if (it == open_.end()) {
      unexpected = cpl.hdr;
      for (auto& [tag, o] : open_) {  // the answer to another read, under a wrong tag?
        if (o.left == count && ((o.end - o.left) & 0x7f) == (cpl.hdr[2] & 0x7f)) o.elsewhere = true;
      }
      return;
    }
    Open& o = it->second;
    const unsigned skip = cpl.hdr[2] & 3;
    const auto bytes = static_cast<unsigned>(cpl.data.size());
    const unsigned got = bytes > skip ? bytes - skip : 0;
    const bool given_up = o.forsaken || o.failed || over(o, ps, timeout_ns);
    const bool too_long = bytes > o.left + skip + 3;
    const bool astray = bytes != 0 && ((cpl.hdr[2] ^ (o.end - o.left)) & 0x7c) != 0;  // data of another place
    const bool lie = count != o.left || too_long || astray;
    if (lie) malformed = cpl.hdr;
    FailedReads::Place& place = place_of(o.address);
    if (o.forsaken) {
      ++stale;
      unexpected = cpl.hdr;
    } else if (given_up) {
      ++late;
      if (!o.late && !o.failed) ++place.late;
      o.late = true;
      unexpected = cpl.hdr;
    } else if (status != rtl::pcie_pkg::StatusSc) {
      ++(status == rtl::pcie_pkg::StatusCa ? place.ca : place.ur);
    } else if (cpl.poisoned()) {
      ++place.poisoned;
    } else if (lie) {
      ++(astray && o.elsewhere ? place.misrouted : place.malformed);
    }
    // What comes of a read that has failed ends when the completer says so.
    o.failed |= status == rtl::pcie_pkg::StatusSc && (too_long || astray);
    const bool last = o.failed ? got >= count : got >= o.left;
    o.left -= std::min(o.left, got);
    if (last && !given_up && ps - o.ps > slow_ps_) ++slow;
    if (last || status != rtl::pcie_pkg::StatusSc) close(it, ps, timeout_ns, true);
  }

  /// Function-level reset: what still comes is late.
  void forsake() {
    for (auto& [tag, o] : open_) o.forsaken = true;
  }
  /// The device is gone: nothing comes any more.
  void clear(uint64_t ps) {
    count_room(ps);
    open_.clear();
    held_headers_ = held_data_ = 0;
  }

  /// Whether a read waits that has not been given up, with a timeout of so many ns (0: never).
  bool pending(uint64_t ps, uint64_t timeout_ns) const {
    return std::any_of(open_.begin(), open_.end(), [&](const auto& o) { return !over(o.second, ps, timeout_ns); });
  }
  size_t size() const { return open_.size(); }

  FailedReads failed(uint64_t ps, uint64_t timeout_ns) const {
    OpenReads copy = *this;
    for (const auto& [tag, o] : open_) {
      if (over(o, ps, timeout_ns)) copy.count_unanswered(o);
    }
    return copy.failed_;
  }
  CompletionRoom room(uint64_t ps) const {
    OpenReads copy = *this;
    copy.count_room(ps);
    const uint64_t by_data = data_ == 0 ? 0 : std::max<uint64_t>(1, data_ * 16 / rcb_);
    copy.room_.limit = headers_ == 0 ? by_data : by_data == 0 ? headers_ : std::min(headers_, by_data);
    return copy.room_;
  }

  std::array<uint32_t, 4> poisoned{}, unexpected{}, malformed{};  ///< header of the latest such completion
  uint64_t late = 0;   ///< completions of reads that had timed out, or failed
  uint64_t stale = 0;  ///< completions of reads from before a reset
  uint64_t slow = 0;   ///< reads answered in full, but later than health.slow_read

 private:
  struct Open {
    uint64_t address = 0, end = 0;
    unsigned left = 0, headers = 0, data = 0;
    uint64_t ps = 0;
    bool forsaken = false;   ///< from before a reset
    bool failed = false;     ///< data came that were not those asked for: the RTL has given it up
    bool late = false;       ///< some of it has come after that, or after the timeout
    bool elsewhere = false;  ///< a completion that would have fitted had another tag
  };
  using Iterator = std::unordered_map<unsigned, Open>::iterator;

  static bool over(const Open& o, uint64_t ps, uint64_t timeout_ns) {
    return timeout_ns != 0 && ps >= o.ps + timeout_ns * 1000;
  }
  FailedReads::Place& place_of(uint64_t address) {
    if (address - pcie::kHostBase < pcie::kHostSize) return failed_.host;
    return address - pcie::kGpuBase < pcie::kGpuSize ? failed_.gpu : failed_.nowhere;
  }
  void count_unanswered(const Open& o) {
    if (o.forsaken || o.late || o.failed) return;
    FailedReads::Place& place = place_of(o.address);
    ++(o.elsewhere ? place.misrouted : place.unanswered);
  }
  void close(Iterator it, uint64_t ps, uint64_t timeout_ns, bool answered = false) {
    const Open& o = it->second;
    if (!answered && over(o, ps, timeout_ns)) count_unanswered(o);
    count_room(ps);
    held_headers_ -= o.headers;
    held_data_ -= o.data;
    open_.erase(it);
  }

  // As the RTL reserves it: completions that end at every boundary.
  void reserve(Open& o) {
    const uint64_t last = o.address + o.left - 1;
    o.headers = static_cast<unsigned>(last / rcb_ - o.address / rcb_ + 1);
    o.data = static_cast<unsigned>(last / 16 - o.address / 16 + 1);
    held_headers_ += o.headers;
    held_data_ += o.data;
  }
  void count_room(uint64_t ps) {
    const uint64_t time = ps - std::min(ps, since_ps_);
    const bool none = (headers_ != 0 && held_headers_ + largest_ / rcb_ > headers_) ||
                      (data_ != 0 && held_data_ + largest_ / 16 > data_);
    if (held_headers_ != 0) room_.busy_ps += time;
    if (held_headers_ != 0 && none) room_.none_ps += time;
    since_ps_ = ps;
  }

  uint64_t slow_ps_;
  unsigned rcb_;
  uint64_t headers_, data_;  ///< room; 0: no limit
  unsigned largest_;
  uint64_t held_headers_ = 0, held_data_ = 0, since_ps_ = 0;
  CompletionRoom room_;
  FailedReads failed_;
  std::unordered_map<unsigned, Open> open_;  ///< by tag
};

}  // namespace rnic
