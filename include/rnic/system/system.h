// SPDX-License-Identifier: Apache-2.0
// A whole simulation: nodes (NIC, PCIe, memories, driver), on which programs run as threads (Simulation::spawn).
#pragma once

#include <memory>
#include <string>
#include <systemc>
#include <vector>

#include "rnic/host/verbs.h"
#include "rnic/nic/nic.h"
#include "rnic/observe/observer.h"
#include "rnic/pcie/hub.h"
#include "rnic/profile/profile.h"
#include "rnic/system/simulation.h"

namespace rnic {

struct SystemOptions : RunLimits {
  unsigned nodes = 1;
  uint64_t seed = 1;
  bool randomize = false;            ///< random initial register values from the seed
  std::vector<uint64_t> phases_ps;   ///< of each node's core clock; missing ones: 0
  std::vector<TraceOptions> traces;  ///< of each node
  std::string record_path;           ///< stimulus of node 0
};

struct Node {
  std::unique_ptr<pcie::Hub> hub;
  std::unique_ptr<Nic> nic;
  std::unique_ptr<host::Context> ctx;
};

class System : public Simulation {
 public:
  System(const Profile& profile, const SystemOptions& options);
  ~System() override;

  const Profile& profile() const { return profile_; }
  Node& node(unsigned i = 0) { return nodes_.at(i); }
  unsigned size() const { return static_cast<unsigned>(nodes_.size()); }

  void close() override;
  unsigned assertion_failures() const override;

 protected:
  bool idle() const override;
  std::string pending() const override;

 private:
  Profile profile_;
  std::vector<Node> nodes_;
};

}  // namespace rnic
