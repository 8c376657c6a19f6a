// SPDX-License-Identifier: Apache-2.0
#include "rnic/system/simulation.h"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <exception>

#include "rnic/core/error.h"

namespace rnic {
namespace {

std::atomic<bool> stop_requested{false};
bool elaborated = false;
std::string latest_fault;

}  // namespace

struct Simulation::Threads {
  struct Thread {
    std::string name;
    bool ended = false;
  };
  std::vector<std::unique_ptr<Thread>> list;
  std::exception_ptr error;
};

const char* to_string(RunEnd end) {
  switch (end) {
    case RunEnd::kDone:
      return "done";
    case RunEnd::kSimTime:
      return "simulated time limit reached";
    case RunEnd::kWallTime:
      return "wall time limit reached";
    case RunEnd::kHang:
      return "hang: threads wait for something that can't come any more";
    case RunEnd::kStopped:
      return "stopped";
  }
  return "unknown";
}

Simulation::Simulation(const RunLimits& limits) : limits_(limits), threads_(std::make_unique<Threads>()) {
  if (elaborated) {
    throw SimError(
        "a process can hold one rnic::System only, because SystemC elaborates once: run each simulation in a process "
        "of "
        "its own (rnic's test main does that for tests)");
  }
  elaborated = true;
  stop_requested = false;
  if (sc_core::sc_get_time_resolution() != Time(1, sc_core::SC_PS)) {
    throw SimError("the SystemC time resolution must be 1 ps");
  }
}

Simulation::~Simulation() = default;

void Simulation::spawn(const std::string& name, std::function<void()> body) {
  auto& t = *threads_->list.emplace_back(std::make_unique<Threads::Thread>());
  t.name = name;
  sc_core::sc_spawn(
      [this, &t, body = std::move(body)] {
        try {
          body();
        } catch (const sc_core::sc_unwind_exception&) {
          throw;  // the kernel ends its threads that way
        } catch (...) {
          if (!threads_->error) threads_->error = std::current_exception();
          sc_core::sc_stop();
        }
        t.ended = true;
      },
      sc_core::sc_gen_unique_name(name.c_str()));
}

RunEnd Simulation::run() {
  if (ran_) throw SimError("System::run() is callable once: its waveforms are closed");
  ran_ = true;
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const Time slice(10, sc_core::SC_US);  // under a second of wall time, a waveform of everything included
  RunEnd end = RunEnd::kDone;
  auto last_progress = start;
  const auto all_ended = [this] { return unfinished().empty(); };
  while (true) {
    const Time now = sc_core::sc_time_stamp();
    if (now >= limits_.max_sim_time) {
      end = all_ended() ? RunEnd::kDone : RunEnd::kSimTime;
      break;
    }
    // Idle stretches are jumped over in one step; busy ones are cut so that limits and progress are looked at.
    Time step = std::min(slice, limits_.max_sim_time - now);
    if (sc_core::sc_pending_activity()) {
      const Time next = sc_core::sc_time_to_pending_activity();
      if (next > step) step = std::min(next, limits_.max_sim_time - now);
    } else if (now != sc_core::SC_ZERO_TIME) {
      end = all_ended() ? RunEnd::kDone : RunEnd::kHang;
      break;
    }
    try {
      sc_core::sc_start(step);
      if (threads_->error) std::rethrow_exception(threads_->error);
    } catch (...) {  // of a thread, or of a model (the kernel turns those into sc_report)
      close();
      throw;
    }
    if (stop_requested || sc_core::sc_get_status() == sc_core::SC_STOPPED) {
      end = RunEnd::kStopped;
      break;
    }
    const auto wall = Clock::now();
    const bool over = all_ended() && !sc_core::sc_pending_activity();  // then a late finish is still a finish
    if (!over && limits_.max_wall_s > 0 && std::chrono::duration<double>(wall - start).count() > limits_.max_wall_s) {
      end = RunEnd::kWallTime;
      break;
    }
    if (limits_.progress && wall - last_progress > std::chrono::milliseconds(250)) {
      last_progress = wall;
      fmt::print(stderr, "\r{:.3f} ms simulated, {} s", sc_core::sc_time_stamp().to_seconds() * 1e3,
                 std::chrono::duration_cast<std::chrono::seconds>(wall - start).count());
      std::fflush(stderr);
    }
    // Without idle skipping the clock runs for ever: the end is when the threads are done and the models idle.
    if (!limits_.skip_idle && all_ended() && idle()) break;
  }
  if (limits_.progress && last_progress != start) fmt::print(stderr, "\r{:60}\r", "");
  close();
  look_for_left_overs(end);
  return end;
}

void Simulation::look_for_left_overs(RunEnd end) {
  const auto add = [this](const std::string& text) {
    if (!text.empty()) left_over_ += (left_over_.empty() ? "" : "; ") + text;
  };
  if (end != RunEnd::kDone) add(to_string(end));
  if (const auto names = unfinished(); !names.empty()) {
    add(fmt::format("threads that have not ended: {}", fmt::join(names, ", ")));
  }
  add(pending());
  latest_fault = allowed_.empty() ? left_over_ : "";
}

void Simulation::allow_left_over(const std::string& reason) {
  if (reason.empty()) throw SimError("what is left over is allowed for a reason only: give it");
  allowed_ = reason;
  latest_fault.clear();
}

const std::string& Simulation::fault() { return latest_fault; }

void Simulation::request_stop() { stop_requested = true; }

std::vector<std::string> Simulation::unfinished() const {
  std::vector<std::string> names;
  for (const auto& t : threads_->list) {
    if (!t->ended) names.push_back(t->name);
  }
  return names;
}

}  // namespace rnic
