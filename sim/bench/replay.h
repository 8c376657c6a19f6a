// SPDX-License-Identifier: Apache-2.0
// Running a recorded stimulus through the Verilated NIC alone.
#pragma once

#include <cstdint>
#include <string>

namespace rnic::bench {

struct Replay {
  uint64_t cycles = 0;
  double seconds = 0;
  uint64_t frames = 0;  ///< last beats accepted by the MAC: the work done must be that of the recorded run
};

/// The --cc model in a plain loop of two evals a cycle.
Replay run_bare_cc(const std::string& stimulus);
/// The stock --sc model: every port an sc_signal, the clock an sc_clock. Elaborates SystemC.
Replay run_stock_sc(const std::string& stimulus);

}  // namespace rnic::bench
