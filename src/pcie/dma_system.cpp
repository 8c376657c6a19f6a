// SPDX-License-Identifier: Apache-2.0
#include "rnic/pcie/dma_system.h"

namespace rnic::pcie {

void MemoryTimes::on_event(const Event& e) {
  if (e.kind == EventKind::kMemRdStart && start == 0) start = e.ps;
  if (e.kind == EventKind::kMemRdEnd) end = e.ps;
}

DmaSystem::DmaSystem(const Profile& profile, const DmaSystemOptions& options) : Simulation(options), profile_(profile) {
  observers().add(&memory_times_);
  hub_ = std::make_unique<Hub>("hub0", profile_, observers(), 0);
  DmaEngineOptions eo;
  eo.phase_ps = options.phase_ps;
  eo.skip_idle = options.skip_idle;
  eo.trace = options.trace;
  eo.randomize = options.randomize;
  eo.seed = options.seed;
  engine_ = std::make_unique<DmaEngine>("dma0", profile_, *hub_, observers(), eo);
}

DmaSystem::~DmaSystem() { DmaSystem::close(); }

void DmaSystem::settle() {
  while (!idle()) sc_core::wait(100, sc_core::SC_NS);
}

void DmaSystem::close() { engine_->close_trace(); }
unsigned DmaSystem::assertion_failures() const { return engine_->assertion_failures(); }
bool DmaSystem::idle() const { return engine_->idle() && hub_->idle(); }

}  // namespace rnic::pcie
