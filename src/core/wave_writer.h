// SPDX-License-Identifier: Apache-2.0
// The waveform of a Verilated model, on the simulation's time. For the .cpp files that own such a model: Verilator's
// headers come before this one.
#pragma once

#include <verilated_fst_c.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>

#include "rnic/core/error.h"
#include "rnic/observe/trace.h"

namespace rnic {

/// A dump is written when the next instant comes, so that everything of one picosecond lands in it. Times only grow.
template <class Top>
class WaveWriter {
 public:
  WaveWriter(Top& top, const TraceOptions& options, uint64_t period_ps)
      : top_(top), options_(options), half_period_(period_ps / 2) {
    top_.trace(&file_, 99);
    file_.open(options_.path.c_str());
    if (!file_.isOpen()) throw InputError("cannot write the waveform " + options_.path);
  }
  ~WaveWriter() {
    if (pending_ != kNever) write();
    file_.close();
    overwrite_date();
  }
  WaveWriter(const WaveWriter&) = delete;
  WaveWriter& operator=(const WaveWriter&) = delete;

  /// Moves the waveform on to t: what the model shows now holds up to then.
  void touch(uint64_t t) {
    const uint64_t fall = high_since_ + half_period_;
    if (high_since_ != kNever && t >= fall) {
      if (pending_ != kNever && fall > pending_) write();
      pending_ = fall;
      high_since_ = kNever;
      top_.clk_i = 0;
      top_.eval();
    }
    if (pending_ != kNever && t > pending_) write();
    if (pending_ == kNever || t > pending_) pending_ = t;
  }
  /// The clock has gone up at t; it goes down by itself.
  void rose(uint64_t t) { high_since_ = t; }

 private:
  static constexpr uint64_t kNever = ~uint64_t{0};

  void write() {
    if (pending_ >= options_.from_ps && pending_ <= options_.to_ps) file_.dump(pending_);
  }

  /// FST carries the wall-clock date; equal runs must give equal files.
  void overwrite_date() const {
    constexpr long kDateOffset = 1 + 8 * 9 + 1 + 128;
    constexpr size_t kDateSize = 119;
    std::fstream f(options_.path, std::ios::in | std::ios::out | std::ios::binary);
    if (!f) return;
    std::array<char, kDateSize> date{};
    std::snprintf(date.data(), date.size(), "Thu Jan  1 00:00:00 1970\n");
    f.seekp(kDateOffset);
    f.write(date.data(), date.size());
  }

  Top& top_;
  const TraceOptions options_;
  const uint64_t half_period_;
  VerilatedFstC file_;
  uint64_t pending_ = kNever, high_since_ = kNever;
};

}  // namespace rnic
