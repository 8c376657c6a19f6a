// SPDX-License-Identifier: Apache-2.0
// Running a recorded stimulus through the Verilated NIC alone.
#pragma once

#include <cstdint>
#include <ctime>
#include <string>

namespace rnic::bench {

/// CPU time of this process: what a run costs, whatever else the machine does meanwhile.
inline double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

struct Replay {
  uint64_t cycles = 0;
  double seconds = 0;   ///< CPU time
  uint64_t frames = 0;  ///< last beats accepted by the MAC: the work done must be that of the recorded run
};

/// The --cc model in a plain loop of two evals a cycle.
Replay run_bare_cc(const std::string& stimulus);
/// The stock --sc model: every port an sc_signal, the clock an sc_clock. Elaborates SystemC.
Replay run_stock_sc(const std::string& stimulus);

}  // namespace rnic::bench
