// SPDX-License-Identifier: Apache-2.0
// A simulation with the AllReduce engine on a PCIe hub, and GPU memory behind that.
#pragma once

#include <memory>

#include "rnic/collective/engine.h"
#include "rnic/pcie/hub.h"
#include "rnic/profile/profile.h"
#include "rnic/system/simulation.h"

namespace rnic::collective {

struct ArpOptions : RunLimits {
  uint64_t seed = 1;
  uint64_t phase_ps = 0;
  bool randomize = false;
  TraceOptions trace;
};

class ArpSystem : public Simulation {
 public:
  ArpSystem(const Profile& profile, const ArpOptions& options);
  ~ArpSystem() override;

  const Profile& profile() const { return profile_; }
  pcie::Hub& hub() { return *hub_; }
  Engine& engine() { return *engine_; }

  void close() override;
  unsigned assertion_failures() const override;

 protected:
  bool idle() const override;

 private:
  Profile profile_;
  std::unique_ptr<pcie::Hub> hub_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace rnic::collective
