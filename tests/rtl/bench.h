// SPDX-License-Identifier: Apache-2.0
// A bench for one Verilated block: owns context, clock and reset. Inputs set before tick() are seen by that edge;
// outputs that depend on inputs combinationally are read after settle().
#pragma once

#include <verilated.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <random>

#include "core/coverage.h"
#include "rnic/rtl/ports.h"

namespace rnic::test {

template <class Top>
class Bench {
  VerilatedContext context_;  // before the model, which uses it

 public:
  explicit Bench(uint64_t seed = 1) : rng(seed) {
    top = std::make_unique<Top>(&context_);
    top->clk_i = 0;
    top->rst_ni = 0;
    top->eval();
    for (int i = 0; i < 4; ++i) tick();
    top->rst_ni = 1;
    settle();
  }
  ~Bench() {
    // Verilator 5.006's destructors use the thread's current context, which may be another bench's that is gone by now.
    Verilated::threadContextp(&context_);
    top->final();
    save_coverage(context_, top->modelName());
    top.reset();
  }

  /// Lets combinational outputs follow the inputs; no clock edge.
  void settle() { top->eval(); }

  /// One rising edge (and the falling one after it).
  void tick() {
    top->eval();
    context_.timeInc(500);
    top->clk_i = 1;
    top->eval();
    context_.timeInc(500);
    top->clk_i = 0;
    top->eval();
    ++cycle;
  }

  /// True with probability percent/100.
  bool chance(unsigned percent) { return rng() % 100 < percent; }

  std::mt19937_64 rng;
  std::unique_ptr<Top> top;
  uint64_t cycle = 0;
};

/// The seed of randomized tests: RNIC_TEST_SEED, or the default. Print it with every failure.
inline uint64_t test_seed(uint64_t fallback = 1) {
  const char* s = std::getenv("RNIC_TEST_SEED");
  return s ? std::strtoull(s, nullptr, 0) : fallback;
}

}  // namespace rnic::test
