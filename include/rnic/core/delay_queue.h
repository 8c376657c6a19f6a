// SPDX-License-Identifier: Apache-2.0
// Things that happen later: calls a function at a given time, in order of time and then of scheduling.
#pragma once

#include <functional>
#include <queue>
#include <systemc>
#include <vector>

#include "rnic/core/types.h"

namespace rnic {

/// One pending wake at a time, whatever the number of entries. Entries of the same instant run in the order given.
///
/// A clock process may hold the queues of its node and run their entries itself, ahead of the kernel, as long as
/// nothing else in the simulation happens before them: that spares the kernel a wake for each. Such an entry sees its
/// own time in now(), which is where models take their time from. Entries that reach outside the models (threads,
/// users' callbacks) are kExact and always run at their kernel time.
class DelayQueue : public sc_core::sc_module {
 public:
  enum class Kind : uint8_t { kModel, kExact };

  explicit DelayQueue(sc_core::sc_module_name name);
  /// Calls fn at absolute time `at` (not before now()).
  void at(const Time& at, std::function<void()> fn, Kind kind = Kind::kExact);
  void after(const Time& delay, std::function<void()> fn, Kind kind = Kind::kExact) {
    at(now() + delay, std::move(fn), kind);
  }
  bool empty() const { return heap_.empty(); }

  /// Time of the entry that is running, of whichever queue; the kernel's outside of entries.
  static Time now() { return from_ps(now_ps()); }
  static uint64_t now_ps() { return current_ps_ != kNone ? current_ps_ : to_ps(sc_core::sc_time_stamp()); }

  /// Between hold() and resume() the kernel does not wake this queue.
  void hold();
  void resume();
  /// Time of the first entry; ~0 when there is none.
  uint64_t next_ps() const { return heap_.empty() ? kNone : heap_.top().ps; }
  bool next_is_exact() const { return heap_.top().kind == Kind::kExact; }
  /// Runs the first entry at its own time, whatever the kernel's.
  void run_next();

 private:
  static constexpr uint64_t kNone = ~uint64_t{0};
  /// What the heap moves about: small and plain. The functions stay where they are.
  struct Key {
    uint64_t ps;
    uint64_t order;
    uint32_t slot;
    Kind kind;
    bool operator<(const Key& o) const { return ps > o.ps || (ps == o.ps && order > o.order); }
  };
  void run();
  static inline thread_local uint64_t current_ps_ = kNone;
  std::priority_queue<Key> heap_;
  std::vector<std::function<void()>> slots_;
  std::vector<uint32_t> free_;
  uint64_t next_order_ = 0;
  bool running_ = false, held_ = false;
  sc_core::sc_event wake_;
};

}  // namespace rnic
