// SPDX-License-Identifier: Apache-2.0
#include "rnic/core/delay_queue.h"

#include "rnic/core/error.h"

namespace rnic {

DelayQueue::DelayQueue(sc_core::sc_module_name name) : sc_module(name) {
  SC_HAS_PROCESS(DelayQueue);
  SC_METHOD(run);
  sensitive << wake_;
  dont_initialize();
}

void DelayQueue::at(const Time& at, std::function<void()> fn) {
  const Time now = sc_core::sc_time_stamp();
  if (at < now) {
    throw SimError(std::string(name()) + ": asked at " + now.to_string() + " to do something at " + at.to_string() +
                   ", which is past");
  }
  heap_.push(Entry{at, next_order_++, std::move(fn)});
  // An earlier notification replaces a later one; the running method notifies for itself.
  if (!running_ && heap_.top().order == next_order_ - 1) wake_.notify(at - now);
}

void DelayQueue::run() {
  struct Guard {
    bool& flag;
    explicit Guard(bool& f) : flag(f) { flag = true; }
    ~Guard() { flag = false; }
  };
  const Time now = sc_core::sc_time_stamp();
  {
    Guard guard(running_);
    while (!heap_.empty() && heap_.top().at <= now) {
      // Moved out, not copied: the order of the heap does not depend on fn.
      std::function<void()> fn = std::move(const_cast<Entry&>(heap_.top()).fn);
      heap_.pop();
      fn();
    }
  }
  if (!heap_.empty()) wake_.notify(heap_.top().at - now);
}

}  // namespace rnic
