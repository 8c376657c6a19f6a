// SPDX-License-Identifier: Apache-2.0
// What every owner of a Verilated model has in common: the model and its context, its waveform, and what happens at an
// edge. For .cpp files: the model's header and Verilator's come before this one, which brings in <systemc>.
#pragma once

#include <verilated.h>
#include <verilated_fst_c.h>

#include <cstdint>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "core/clock_process.h"
#include "core/coverage.h"
#include "core/wave_writer.h"

namespace rnic {

struct VerilatedOptions {
  uint64_t phase_ps, period_ps;
  bool skip_idle;
  bool randomize;  ///< unreset registers start with values from `seed` instead of zeros
  uint64_t seed;
  TraceOptions trace;
};

/// `Model` derives from this and gives, beside may_sleep() and timer_ps() of ClockProcess,
///   void drive_inputs(uint64_t t);  before the edge at t ps
///   void take_outputs(uint64_t t);  handshakes of that edge, from the values before it
///   void after_edge(uint64_t t);
template <class Model, class Top>
class VerilatedProcess : public ClockProcess<Model> {
 public:
  void begin_edges() { Verilated::threadContextp(&context); }  // failed assertions are counted in the thread's context

  void edge(uint64_t t) {
    auto& model = static_cast<Model&>(*this);
    context.time(t);  // printed with a failed assertion
    if (wave) wave->touch(t - (t != 0));
    model.drive_inputs(t);
    top->eval();
    model.take_outputs(t);
    if (wave) wave->touch(t);
    top->clk_i = 1;
    top->eval();
    if (wave) {
      wave->rose(t);
    } else {
      top->clk_i = 0;
    }
    model.after_edge(t);
    ++clocked;
    if (context.errorCount() != 0) stop_on_assertion(t);
  }

  unsigned assertion_failures() const { return static_cast<unsigned>(context.errorCount()); }
  void close_trace() { wave.reset(); }

  VerilatedContext context;
  std::unique_ptr<Top> top;
  std::unique_ptr<WaveWriter<Top>> wave;
  uint64_t clocked = 0;  ///< edges

 protected:
  /// `name` for messages.
  VerilatedProcess(std::string name, const VerilatedOptions& o)
      : ClockProcess<Model>(o.phase_ps, o.period_ps, o.skip_idle), name_(std::move(name)) {
    context.threads(1);
    context.fatalOnError(false);
    context.randReset(o.randomize ? 2 : 0);
    context.randSeed(1 + static_cast<int>(o.seed % 0x7fffffff));  // 0 would mean the time of day
    context.traceEverOn(!o.trace.path.empty());
    top = std::make_unique<Top>(&context, "TOP");
    top->clk_i = 0;
    top->rst_ni = 0;
    if (!o.trace.path.empty()) wave = std::make_unique<WaveWriter<Top>>(*top, o.trace, o.period_ps);
  }

  ~VerilatedProcess() {
    close_trace();
    // Verilator 5.006's destructors use the thread's current context, which may be another model's that is gone by now.
    Verilated::threadContextp(&context);
    top->final();
    save_coverage(context, top->modelName());
    top.reset();
  }

 private:
  void stop_on_assertion(uint64_t t) {
    if (stopped_) return;
    stopped_ = true;
    close_trace();
    SC_REPORT_ERROR("rnic", fmt::format("{}: an RTL assertion failed at {} ps (message above)", name_, t).c_str());
  }

  const std::string name_;
  bool stopped_ = false;
};

}  // namespace rnic
