// SPDX-License-Identifier: Apache-2.0
// Reference models of what qp_scheduler does, written from the algorithms' definitions: deficit round robin over bytes
// (Shreedhar and Varghese, in the form where a turn may overdraw) and the generic cell rate algorithm (ITU-T I.371).
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>

namespace rnic::golden {

/// One priority's QPs. Rounds are numbered; a QP that waits is in the queue of the round in which it goes next.
class Drr {
 public:
  static constexpr int64_t kQuantum = 1056;  // a round, times the weight
  static constexpr unsigned kAhead = 3;      // rounds that are served while an older one has QPs handed out
  static constexpr unsigned kMaxQuanta = 4;

  /// A QP gets work. passes: nothing else waits, so it is handed out at once.
  void come(unsigned qpn, bool passes) {
    Qp& q = qps_[qpn];
    if (passes) return hand_out(q, round_, false);
    waiting_[q.place >= round_ ? q.place : round_].push_back(qpn);
    end_rounds();
  }

  bool none_waits() const {
    return std::all_of(waiting_.begin(), waiting_.end(), [](const auto& w) { return w.second.empty(); });
  }

  /// The next one to serve, if there is one.
  std::optional<unsigned> choose() {
    for (uint64_t r = round_; r <= round_ + kAhead; ++r) {
      auto& list = waiting_[r];
      if (list.empty()) continue;
      const unsigned qpn = list.front();
      list.pop_front();
      hand_out(qps_[qpn], r, true);
      return qpn;
    }
    return std::nullopt;
  }

  /// Its turn is over; it sent bytes and has more, or not. passes: no other QP has work, so it is handed out again.
  void turn(unsigned qpn, int64_t bytes, bool more, unsigned weight, bool passes) {
    Qp& q = qps_[qpn];
    if (q.counted) --out_[q.round];
    const int64_t quantum = kQuantum * std::max(weight, 1u);
    q.deficit = q.deficit.value_or(quantum) - bytes;
    q.place = std::max(q.round, round_);
    for (unsigned k = 0; k < kMaxQuanta && *q.deficit <= 0; ++k) *q.deficit += quantum, ++q.place;
    if (more && passes) {
      hand_out(q, round_, false);
    } else if (more) {
      waiting_[q.place].push_back(qpn);
    }
    end_rounds();
  }

 private:
  struct Qp {
    std::optional<int64_t> deficit;
    uint64_t round = 0;  // of its latest turn
    uint64_t place = 0;  // of its next one
    bool counted = false;
  };
  void hand_out(Qp& q, uint64_t round, bool counted) {
    q.round = round, q.counted = counted;
    if (counted) ++out_[round];
  }
  void end_rounds() {
    while (waiting_[round_].empty() && out_[round_] == 0 &&
           (!none_waits() ||
            std::any_of(out_.begin(), out_.end(), [&](auto& o) { return o.first > round_ && o.second; }))) {
      ++round_;
    }
  }
  uint64_t round_ = 0;
  std::map<unsigned, Qp> qps_;
  std::map<uint64_t, std::deque<unsigned>> waiting_;
  std::map<uint64_t, unsigned> out_;
};

/// A rate: gap in 2^-16 ns a byte, burst in 256 B.
class Gcra {
 public:
  /// bytes were sent at time ns; the first ns at which the next may be.
  uint64_t charge(uint64_t ns, uint64_t bytes, uint64_t gap, uint64_t burst) {
    if (bytes != 0) tat_ = std::max(tat_, static_cast<unsigned __int128>(ns) << 16) + bytes * gap;
    return next(gap, burst);
  }
  uint64_t next(uint64_t gap, uint64_t burst) const {
    const unsigned __int128 allowed = static_cast<unsigned __int128>(burst) * 256 * gap;
    if (tat_ <= allowed) return 0;
    return static_cast<uint64_t>((tat_ - allowed + 0xffff) >> 16);
  }

 private:
  unsigned __int128 tat_ = 0;
};

}  // namespace rnic::golden
