// SPDX-License-Identifier: Apache-2.0
// Runs a simulated world: the threads of the programs in it, limits of time, orderly ends. What is in the world, a
// derived class says. SystemC allows one elaboration a process: a second Simulation throws SimError that says so.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <systemc>
#include <vector>

#include "rnic/core/types.h"
#include "rnic/observe/observer.h"

namespace rnic {

struct RunLimits {
  bool skip_idle = true;
  Time max_sim_time = sc_core::sc_time(1, sc_core::SC_SEC);
  double max_wall_s = 0;  ///< 0: no limit
  bool progress = false;  ///< progress line on stderr
};

enum class RunEnd {
  kDone,      ///< all threads have ended and the models are idle
  kSimTime,   ///< max_sim_time reached before that
  kWallTime,  ///< max_wall_s reached
  kHang,      ///< threads wait for something that can't come any more
  kStopped,   ///< request_stop(), or a signal
};
const char* to_string(RunEnd end);

class Simulation {
 public:
  explicit Simulation(const RunLimits& limits);
  virtual ~Simulation();

  Observers& observers() { return observers_; }

  /// A thread of the simulated world. Exceptions end the run and come out of run().
  void spawn(const std::string& name, std::function<void()> body);
  /// Runs until all threads have ended and everything is idle, or a limit. Callable once (SimError). Exceptions of
  /// threads come out as they are; those of models and failed assertions of the RTL as sc_report. Waveforms are closed
  /// at the end, whatever it is.
  RunEnd run();
  /// Asks run() to end: it looks every 10 us of simulated time. Safe in a signal handler.
  static void request_stop();
  /// Closes all waveforms.
  virtual void close() = 0;
  /// Failed assertions of the RTL so far.
  virtual unsigned assertion_failures() const = 0;
  /// Names of the threads that have not ended.
  std::vector<std::string> unfinished() const;
  /// What is left over at the end of run(): why it was no finish, threads that have not ended, TLPs that nobody
  /// consumed, credits and tags that were not returned. Empty when nothing is.
  const std::string& left_over() const { return left_over_; }
  /// For a run that is cut off on purpose: what is left over is no fault, and why.
  void allow_left_over(const std::string& reason);
  /// left_over() of the latest run in this process that did not allow it: what the tests' main fails a test with.
  static const std::string& fault();

 protected:
  /// Nothing in flight in any model.
  virtual bool idle() const = 0;
  /// What keeps the models from being idle, or was not given back; empty when nothing.
  virtual std::string pending() const { return idle() ? "" : "the models are not idle"; }

 private:
  void look_for_left_overs(RunEnd end);
  struct Threads;
  RunLimits limits_;
  Observers observers_;
  std::unique_ptr<Threads> threads_;
  bool ran_ = false;
  std::string left_over_, allowed_;
};

}  // namespace rnic
