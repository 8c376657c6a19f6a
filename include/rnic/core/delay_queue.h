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
class DelayQueue : public sc_core::sc_module {
 public:
  explicit DelayQueue(sc_core::sc_module_name name);
  /// Calls fn at absolute time `at`; a time that is past is a SimError. fn may call at() itself.
  void at(const Time& at, std::function<void()> fn);
  void after(const Time& delay, std::function<void()> fn) { at(sc_core::sc_time_stamp() + delay, std::move(fn)); }
  bool empty() const { return heap_.empty(); }

 private:
  /// What the heap moves about: small and plain. The functions stay where they are.
  struct Key {
    uint64_t ps;
    uint64_t order;
    uint32_t slot;
    bool operator<(const Key& o) const { return ps > o.ps || (ps == o.ps && order > o.order); }
  };
  void run();
  std::priority_queue<Key> heap_;
  std::vector<std::function<void()>> slots_;
  std::vector<uint32_t> free_;
  uint64_t next_order_ = 0;
  bool running_ = false;
  sc_core::sc_event wake_;
};

}  // namespace rnic
