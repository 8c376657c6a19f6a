// SPDX-License-Identifier: Apache-2.0
#include "rnic/system/system.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace rnic {

System::System(const Profile& profile, const SystemOptions& options) : Simulation(options), profile_(profile) {
  for (unsigned i = 0; i < options.nodes; ++i) {
    Node n;
    n.hub = std::make_unique<pcie::Hub>(fmt::format("hub{}", i).c_str(), profile_, observers(), i);
    NicOptions no;
    no.id = i;
    no.phase_ps = i < options.phases_ps.size() ? options.phases_ps[i] : 0;
    no.skip_idle = options.skip_idle;
    no.randomize = options.randomize;
    no.seed = options.seed + i;
    if (i < options.traces.size()) no.trace = options.traces[i];
    if (i == 0) no.record_path = options.record_path;
    n.nic = std::make_unique<Nic>(fmt::format("nic{}", i).c_str(), profile_, *n.hub, observers(), no);
    n.ctx = std::make_unique<host::Context>(*n.nic, *n.hub, profile_, observers(), i);
    n.ctx->enumerate();
    nodes_.push_back(std::move(n));
  }
}

System::~System() { System::close(); }

void System::close() {
  for (auto& n : nodes_) n.nic->close_trace();
}

unsigned System::assertion_failures() const {
  unsigned n = 0;
  for (const auto& node : nodes_) n += node.nic->assertion_failures();
  return n;
}

bool System::idle() const {
  return std::all_of(nodes_.begin(), nodes_.end(), [](const Node& n) { return n.nic->idle() && n.hub->idle(); });
}

std::string System::pending() const {
  std::string text;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    for (const auto& [what, left] : {std::pair<const char*, std::string>{"NIC", nodes_[i].nic->pending()},
                                     std::pair<const char*, std::string>{"PCIe", nodes_[i].hub->pending()}}) {
      if (!left.empty()) text += fmt::format("{}node {}, {}: {}", text.empty() ? "" : "; ", i, what, left);
    }
  }
  return text;
}

}  // namespace rnic
