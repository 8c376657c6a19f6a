// SPDX-License-Identifier: Apache-2.0
// kinds.v under Verilator: 123 cycles of 10 ns, the clock rises at 5 ns. kinds OUT [+bad]
#include <verilated.h>
#if VM_TRACE_FST
#include <verilated_fst_c.h>
using Trace = VerilatedFstC;
#else
#include <verilated_vcd_c.h>
using Trace = VerilatedVcdC;
#endif
#include "Vkinds.h"

int main(int argc, char** argv) {
  VerilatedContext context;
  context.commandArgs(argc, argv);
  context.traceEverOn(true);
  Vkinds top(&context);
  Trace trace;
  top.trace(&trace, 99);
  trace.open(argv[1]);
  for (uint64_t cycle = 0; cycle < 123; ++cycle) {
    for (const int half : {0, 1}) {
      top.clk = half;
      top.eval();
      trace.dump((cycle * 10 + half * 5) * 1000);
    }
  }
  top.final();
  trace.close();
  return 0;
}
