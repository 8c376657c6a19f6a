// SPDX-License-Identifier: Apache-2.0
#include "rnic/collective/system.h"

namespace rnic::collective {

ArpSystem::ArpSystem(const Profile& profile, const ArpOptions& options) : Simulation(options), profile_(profile) {
  hub_ = std::make_unique<pcie::Hub>("hub0", profile_, observers(), 0);
  EngineOptions eo;
  eo.phase_ps = options.phase_ps;
  eo.skip_idle = options.skip_idle;
  eo.trace = options.trace;
  eo.randomize = options.randomize;
  eo.seed = options.seed;
  engine_ = std::make_unique<Engine>("arp0", profile_, *hub_, observers(), eo);
}

ArpSystem::~ArpSystem() { ArpSystem::close(); }

void ArpSystem::close() { engine_->close_trace(); }
unsigned ArpSystem::assertion_failures() const { return engine_->assertion_failures(); }
bool ArpSystem::idle() const { return engine_->idle() && hub_->idle(); }

}  // namespace rnic::collective
