// SPDX-License-Identifier: Apache-2.0
// A whole simulation: nodes (NIC, PCIe, memories, driver), and the threads of the programs that run on them.
// SystemC allows one elaboration a process: a second System throws SimError that says so.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <systemc>
#include <vector>

#include "rnic/host/verbs.h"
#include "rnic/nic/nic.h"
#include "rnic/observe/observer.h"
#include "rnic/pcie/hub.h"
#include "rnic/profile/profile.h"

namespace rnic {

struct SystemOptions {
  unsigned nodes = 1;
  uint64_t seed = 1;
  bool skip_idle = true;
  bool randomize = false;            ///< random initial register values from the seed
  std::vector<uint64_t> phases_ps;   ///< of each node's core clock; missing ones: 0
  std::vector<TraceOptions> traces;  ///< of each node
  std::string record_path;           ///< stimulus of node 0
  Time max_sim_time = sc_core::sc_time(1, sc_core::SC_SEC);
  double max_wall_s = 0;  ///< 0: no limit
  bool progress = false;  ///< progress line on stderr
};

struct Node {
  std::unique_ptr<pcie::Hub> hub;
  std::unique_ptr<Nic> nic;
  std::unique_ptr<host::Context> ctx;
};

enum class RunEnd {
  kDone,      ///< all threads have ended and the NICs are idle
  kSimTime,   ///< max_sim_time reached before that
  kWallTime,  ///< max_wall_s reached
  kHang,      ///< threads wait for something that can't come any more
  kStopped,   ///< request_stop(), or a signal
};
const char* to_string(RunEnd end);

class System {
 public:
  System(const Profile& profile, const SystemOptions& options);
  ~System();

  const Profile& profile() const { return profile_; }
  Node& node(unsigned i = 0) { return nodes_.at(i); }
  unsigned size() const { return static_cast<unsigned>(nodes_.size()); }
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
  void close();
  /// Names of the threads that have not ended.
  std::vector<std::string> unfinished() const;

 private:
  struct Threads;
  Profile profile_;
  SystemOptions options_;
  Observers observers_;
  std::vector<Node> nodes_;
  std::unique_ptr<Threads> threads_;
  bool ran_ = false;
};

}  // namespace rnic
