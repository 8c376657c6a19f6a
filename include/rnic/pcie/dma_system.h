// SPDX-License-Identifier: Apache-2.0
// A simulation with a DMA engine on a PCIe hub, and host and GPU memory behind that.
#pragma once

#include <memory>

#include "rnic/pcie/dma_engine.h"
#include "rnic/pcie/hub.h"
#include "rnic/profile/profile.h"
#include "rnic/system/simulation.h"

namespace rnic::pcie {

struct DmaSystemOptions : RunLimits {
  uint64_t seed = 1;
  uint64_t phase_ps = 0;
  bool randomize = false;
  TraceOptions trace;
};

/// Instants of the latest read in its memory, in ps: when its first TLP arrived, and when the data of the last one were
/// ready. 0: not yet.
struct MemoryTimes : Observer {
  void on_event(const Event& e) override;
  void start_over() { start = end = 0; }
  uint64_t start = 0, end = 0;
};

class DmaSystem : public Simulation {
 public:
  DmaSystem(const Profile& profile, const DmaSystemOptions& options);
  ~DmaSystem() override;

  const Profile& profile() const { return profile_; }
  Hub& hub() { return *hub_; }
  DmaEngine& engine() { return *engine_; }
  MemoryTimes& memory_times() { return memory_times_; }
  /// Waits, in a thread of the simulation, until nothing is under way any more.
  void settle();

  void close() override;
  unsigned assertion_failures() const override;

 protected:
  bool idle() const override;

 private:
  Profile profile_;
  MemoryTimes memory_times_;
  std::unique_ptr<Hub> hub_;
  std::unique_ptr<DmaEngine> engine_;
};

}  // namespace rnic::pcie
