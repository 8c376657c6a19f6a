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
  struct Entry {
    Time at;
    uint64_t order;
    std::function<void()> fn;
    bool operator<(const Entry& o) const { return at > o.at || (at == o.at && order > o.order); }
  };
  void run();
  std::priority_queue<Entry> heap_;
  uint64_t next_order_ = 0;
  bool running_ = false;
  sc_core::sc_event wake_;
};

}  // namespace rnic
