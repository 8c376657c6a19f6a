// SPDX-License-Identifier: Apache-2.0
// The process that clocks a Verilated model: edge n at phase + n * period, no edges while the model is idle and nothing
// waits at its pins. See docs/time.md.
#pragma once

#include <algorithm>
#include <cstdint>
#include <systemc>
#include <vector>

#include "rnic/core/delay_queue.h"

namespace rnic {

/// `Model` derives from this and gives
///   void begin_edges();       before a run of edges
///   void edge(uint64_t t);    one edge at t ps
///   bool may_sleep();         nothing to do until somebody calls wake()
///   uint64_t timer_ps();      edges at or after this time are wanted in any case; kNever: none
template <class Model>
class ClockProcess {
 public:
  static constexpr uint64_t kNever = ~uint64_t{0};

  /// Something has arrived at a pin.
  void wake() {
    if (!sleeping_) return;
    sleeping_ = false;
    // The last edge may lie ahead of the kernel; the edge that the RTL's timer asks for comes in any case.
    next_edge_ = std::min(timer_edge_, std::max(next_edge_ + period_, edge_after(DelayQueue::now_ps())));
    wake_event_.notify(from_ps(next_edge_) - sc_core::sc_time_stamp());
  }

  /// Body of an SC_METHOD. Clocks the model at the edge that is due now, and at those after it as long as nothing else
  /// in the simulation happens up to them. What the models of this node do in between is run here, too, each at its own
  /// time, so that the kernel is left alone. One edge at least, kMaxAhead more at most.
  void clock() {
    auto& model = static_cast<Model&>(*this);
    const uint64_t kernel_now = to_ps(sc_core::sc_time_stamp());
    if (sleeping_) {  // the RTL's timer ends
      sleeping_ = false;
      next_edge_ = kernel_now;
    }
    if (kernel_now != next_edge_) {  // first activation, before edge 0
      sc_core::next_trigger(from_ps(next_edge_ - kernel_now));
      return;
    }
    model.begin_edges();
    for (DelayQueue* q : queues_) q->hold();
    const uint64_t others = to_ps(sc_core::sc_time_to_pending_activity());
    const uint64_t end = kernel_now + std::min(others, kMaxAhead * period_ + 1);
    do {
      model.edge(next_edge_);
      if (skip_idle_ && model.may_sleep()) {
        sleeping_ = true;
        break;
      }
      next_edge_ += period_;
    } while (!woken() && run_models(std::min(next_edge_, end)) && next_edge_ < end);
    for (DelayQueue* q : queues_) q->resume();
    if (sleeping_) {
      timer_edge_ = kNever;
      const uint64_t timer = model.timer_ps();
      if (timer != kNever) {
        timer_edge_ = std::max(next_edge_ + period_, edge_after(timer - 1));
        wake_event_.notify(from_ps(timer_edge_) - sc_core::sc_time_stamp());
      }
      sc_core::next_trigger(wake_event_);
    } else {
      sc_core::next_trigger(from_ps(next_edge_ - kernel_now));
    }
  }

  /// Number of the last edge at or before t, which is not before edge 0.
  uint64_t cycle_of(uint64_t t) const { return (t - phase_) / period_; }
  uint64_t period_ps() const { return period_; }

 protected:
  ClockProcess(uint64_t phase_ps, uint64_t period_ps, bool skip_idle)
      : phase_(phase_ps), period_(period_ps), skip_idle_(skip_idle), next_edge_(phase_ps) {}

  bool sleeping() const { return sleeping_; }
  /// The edge that comes next, or of a sleeping clock the last one.
  uint64_t next_edge() const { return next_edge_; }
  /// Queues of this node's models.
  void run_queue(DelayQueue* q) { queues_.push_back(q); }

 private:
  static constexpr uint64_t kMaxAhead = 32;  ///< edges in one wake

  /// First edge strictly after t.
  uint64_t edge_after(uint64_t t) const {
    return t < phase_ ? phase_ : phase_ + ((t - phase_) / period_ + 1) * period_;
  }

  /// Whether somebody, an observer say, has made a process runnable: it must not find the model further ahead than
  /// needed.
  static bool woken() { return sc_core::sc_pending_activity_at_current_time(); }

  /// Runs this node's models up to, but without, ps; stops and returns false at an entry that needs the kernel's time.
  bool run_models(uint64_t ps) {
    while (true) {
      DelayQueue* first = queues_.front();
      for (DelayQueue* q : queues_) {
        if (q->next_ps() < first->next_ps()) first = q;
      }
      if (first->next_ps() >= ps) return true;
      if (first->next_is_exact()) return false;
      first->run_next();
      if (woken()) return false;
    }
  }

  const uint64_t phase_, period_;
  const bool skip_idle_;
  sc_core::sc_event wake_event_;
  std::vector<DelayQueue*> queues_;
  bool sleeping_ = false;
  uint64_t timer_edge_ = kNever;  ///< while sleeping: the edge that ends it by itself
  uint64_t next_edge_;
};

}  // namespace rnic
