// SPDX-License-Identifier: Apache-2.0
// Health of the device: a state that follows from causes, and the temperature with its thresholds.
// docs/models/health.md has the transitions. Knows no clock: who calls says when.
#pragma once

#include <cstdint>
#include <vector>

#include "rnic/regs/regs.h"

namespace rnic {

/// Degrees Celsius. `warning` is not above `critical`; `hysteresis` not negative.
struct ThermalLimits {
  double warning = 105, critical = 120, hysteresis = 5;
};

class Health {
 public:
  using State = regs::HealthState;
  /// Bits as in BAR2's health_cause.
  enum Cause : uint8_t { kErrors = 1, kWarm = 2, kLost = 4, kOverheated = 8 };
  enum class Crossing : uint8_t { kCooled = 0, kWarning = 1, kCritical = 2 };  ///< vendor syndrome of a log entry
  struct Change {
    uint64_t ns;
    State from, to;
    uint8_t causes;  ///< afterwards
  };
  static constexpr size_t kKept = 64;  ///< changes remembered: the latest

  /// Throws SimError for limits that contradict each other.
  void set_limits(const ThermalLimits& limits);
  const ThermalLimits& limits() const { return limits_; }

  /// An error was logged; a completion was lost.
  void error(uint64_t ns) { raise(kErrors, ns); }
  void lost(uint64_t ns) { raise(kLost, ns); }
  /// The temperature is this from now on: thresholds that it has crossed, in the order of crossing.
  std::vector<Crossing> temperature(double celsius, uint64_t ns);
  double temperature() const { return celsius_; }

  /// Reset begins, or power is taken away; and is over. Causes that a reset takes back are gone then; it stays
  /// overheated until it has cooled down by the hysteresis below critical.
  void down(uint64_t ns);
  void up(uint64_t ns);

  State state() const { return state_; }
  uint8_t causes() const { return causes_; }
  uint64_t changes() const { return changes_; }
  const std::vector<Change>& history() const { return history_; }

 private:
  void raise(uint8_t cause, uint64_t ns);
  void settle(uint64_t ns);

  ThermalLimits limits_;
  double celsius_ = 0;
  State state_ = State::kHealthy;
  uint8_t causes_ = 0;
  bool down_ = false;
  bool too_hot_ = false;  ///< at critical, and not cooled down since
  uint64_t changes_ = 0;
  std::vector<Change> history_;
};

const char* to_string(Health::State state);  ///< "healthy", "degraded", "fatal", "down"

}  // namespace rnic
