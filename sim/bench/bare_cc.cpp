// SPDX-License-Identifier: Apache-2.0
#include <Vrnic_top.h>
#include <verilated.h>

#include "nic/record.h"
#include "replay.h"
#include "rnic/rtl/ports.h"

namespace rnic::bench {

Replay run_bare_cc(const std::string& stimulus) {
  StimulusReader in(stimulus);
  VerilatedContext context;
  Vrnic_top top(&context, "TOP");
  constexpr unsigned kEop = rtl::mac_beat_t::kWidth - 2;  // sop is the top bit, eop the next
  Replay r;
  top.clk_i = 0;
  const double start = cpu_seconds();
  while (!in.at_end()) {
    visit_inputs(top, in);
    top.eval();
    r.frames += top.mac_tx_valid_o & top.mac_tx_ready_i & (top.mac_tx_o[kEop / 32] >> (kEop % 32)) & 1;
    top.clk_i = 1;
    top.eval();
    top.clk_i = 0;
    ++r.cycles;
  }
  r.seconds = cpu_seconds() - start;
  top.final();
  return r;
}

}  // namespace rnic::bench
