// SPDX-License-Identifier: Apache-2.0
#include "rnic/nic/health.h"

#include "rnic/core/error.h"

namespace rnic {

const char* to_string(Health::State state) {
  switch (state) {
    case Health::State::kHealthy:
      return "healthy";
    case Health::State::kDegraded:
      return "degraded";
    case Health::State::kFatal:
      return "fatal";
    case Health::State::kDown:
      return "down";
  }
  return "unknown";
}

void Health::set_limits(const ThermalLimits& limits) {
  if (!(limits.warning <= limits.critical) || !(limits.hysteresis >= 0)) {
    throw SimError("the warning temperature must not be above the critical one, and the hysteresis not below 0");
  }
  limits_ = limits;
}

std::vector<Health::Crossing> Health::temperature(double celsius, uint64_t ns) {
  std::vector<Crossing> crossed;
  celsius_ = celsius;
  const bool was_warm = causes_ & kWarm, was_hot = too_hot_;
  if (celsius >= limits_.warning) {
    causes_ |= kWarm;
  } else if (celsius < limits_.warning - limits_.hysteresis) {
    causes_ &= static_cast<uint8_t>(~kWarm);
  }
  if (celsius >= limits_.critical) {
    too_hot_ = true;
    causes_ |= kOverheated;
  } else if (celsius < limits_.critical - limits_.hysteresis) {
    too_hot_ = false;
  }
  if (!was_warm && (causes_ & kWarm)) crossed.push_back(Crossing::kWarning);
  if (!was_hot && too_hot_) crossed.push_back(Crossing::kCritical);
  if (was_warm && !(causes_ & kWarm)) crossed.push_back(Crossing::kCooled);
  settle(ns);
  return crossed;
}

void Health::down(uint64_t ns) {
  down_ = true;
  settle(ns);
}

void Health::up(uint64_t ns) {
  if (!down_) return;
  down_ = false;
  causes_ &= kWarm;
  if (too_hot_) causes_ |= kOverheated;
  settle(ns);
}

void Health::raise(uint8_t cause, uint64_t ns) {
  causes_ |= cause;
  settle(ns);
}

void Health::settle(uint64_t ns) {
  const State to = down_                               ? State::kDown
                   : (causes_ & (kLost | kOverheated)) ? State::kFatal
                   : causes_ != 0                      ? State::kDegraded
                                                       : State::kHealthy;
  if (to == state_) return;
  if (history_.size() == kKept) history_.erase(history_.begin());
  history_.push_back({ns, state_, to, causes_});
  state_ = to;
  ++changes_;
}

}  // namespace rnic
