// SPDX-License-Identifier: Apache-2.0
// From a thread that reads a wave to one that looks at it, a bounded number of batches ahead.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

namespace rnic::wave::detail {

/// Ends the reading of a wave out of its visitor.
struct Stopped {};

template <class Batch>
class Queue {
 public:
  /// Waits for room. Throws Stopped when nobody wants it any more.
  void push(Batch&& b) {
    std::unique_lock<std::mutex> lock(mutex_);
    room_.wait(lock, [&] { return batches_.size() < kMost || closed_; });
    if (closed_) throw Stopped{};
    batches_.push_back(std::move(b));
    news_.notify_one();
  }
  Batch pop() {
    std::unique_lock<std::mutex> lock(mutex_);
    news_.wait(lock, [&] { return !batches_.empty(); });
    Batch b = std::move(batches_.front());
    batches_.pop_front();
    room_.notify_one();
    return b;
  }
  void close() {
    const std::lock_guard<std::mutex> lock(mutex_);
    closed_ = true;
    room_.notify_all();
  }

 private:
  static constexpr size_t kMost = 8;
  std::mutex mutex_;
  std::condition_variable news_, room_;
  std::deque<Batch> batches_;
  bool closed_ = false;
};

}  // namespace rnic::wave::detail
