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

void DelayQueue::at(const Time& at, std::function<void()> fn, Kind kind) {
  if (to_ps(at) < now_ps()) {
    throw SimError(std::string(name()) + ": asked at " + now().to_string() + " to do something at " + at.to_string() +
                   ", which is past");
  }
  uint32_t slot;
  if (free_.empty()) {
    slot = static_cast<uint32_t>(slots_.size());
    slots_.push_back(std::move(fn));
  } else {
    slot = free_.back();
    free_.pop_back();
    slots_[slot] = std::move(fn);
  }
  heap_.push(Key{to_ps(at), next_order_++, slot, kind});
  // An earlier notification replaces a later one; the running method notifies for itself.
  if (!running_ && !held_ && heap_.top().order == next_order_ - 1) wake_.notify(at - sc_core::sc_time_stamp());
}

void DelayQueue::run_next() {
  struct Guard {  // entries can throw, and may run others' entries
    uint64_t before = current_ps_;
    ~Guard() { current_ps_ = before; }
  } guard;
  const Key key = heap_.top();
  heap_.pop();
  const std::function<void()> fn = std::move(slots_[key.slot]);
  free_.push_back(key.slot);
  current_ps_ = key.ps;
  fn();
}

void DelayQueue::hold() {
  held_ = true;
  wake_.cancel();
}

void DelayQueue::resume() {
  held_ = false;
  if (!heap_.empty()) wake_.notify(from_ps(heap_.top().ps) - sc_core::sc_time_stamp());
}

void DelayQueue::run() {
  struct Guard {
    bool& flag;
    explicit Guard(bool& f) : flag(f) { flag = true; }
    ~Guard() { flag = false; }
  };
  const uint64_t now = to_ps(sc_core::sc_time_stamp());
  {
    Guard guard(running_);
    while (!heap_.empty() && heap_.top().ps <= now) run_next();
  }
  if (!heap_.empty()) wake_.notify(from_ps(heap_.top().ps - now));
}

}  // namespace rnic
