// SPDX-License-Identifier: Apache-2.0
// Data that a kernel has left in GPU memory on their way to the wire, step by step (F6, F7; docs/adr/0003-spans.md):
//
//   GPUDirect: kernel's signal, post, doorbell, NIC reads GPU memory, wire
//   staged:    kernel's signal, CPU wakes, copy engine to host memory, CPU wakes, post, doorbell, NIC reads host memory
//
// The steps stand gapless between instants of the run; a step names the profile's keys that it is made of.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rnic/host/gpu_agent.h"
#include "rnic/host/verbs.h"
#include "rnic/observe/stages.h"
#include "rnic/pcie/hub.h"
#include "rnic/profile/profile.h"

namespace rnic::host {

enum class Path : uint8_t { kGdr, kStaged };
const char* to_string(Path p);  ///< "gdr", "staged"

/// Instants of one message before its doorbell's store, in ps; what a path does not have is 0.
struct PathTrace {
  Path path = Path::kGdr;
  pcie::Initiator initiator = pcie::Initiator::kCpu;
  uint64_t bytes = 0;
  uint64_t ready_ps = 0;           ///< data ready in GPU memory
  uint64_t signal_store_ps = 0;    ///< the kernel's flag is stored
  uint64_t signal_visible_ps = 0;  ///< and visible to the CPU
  uint64_t handler_ps = 0;         ///< staged, interrupt: its handler runs
  uint64_t seen_ps = 0;            ///< the thread knows
  CopyTimes copy;                  ///< staged
  uint64_t copy_handler_ps = 0, copy_seen_ps = 0;
  uint32_t qpn = 0;
  uint16_t wqe = 0;
  unsigned stores = 0;  ///< of 64 B, that post_send makes before the doorbell
};

/// A key that a step depends on.
struct KeyUse {
  std::string key;
  unsigned times = 1;  ///< a time: how often it is in the step; 0: how much of it is left open (link width, line rate)
  uint64_t bytes = 0;  ///< a rate in Gb/s: what goes at it
};

struct PathStep {
  std::string part;  ///< "signal", "CPU", "copy engine", "post", "doorbell", or the stage's name
  std::string name;
  uint64_t start_ps, end_ps;
  /// The same with all its keys at the ends of their ranges; a key without a range stays as it is.
  uint64_t lo_ps, hi_ps;
  std::vector<KeyUse> keys;
  uint64_t ps() const { return end_ps - start_ps; }
};

/// From "data ready" to the last bit on the wire.
struct PathTable {
  Path path;
  uint64_t bytes;
  uint64_t start_ps, end_ps;
  std::vector<PathStep> steps;  ///< the first begins at start_ps, each where the one before it ends, the last at end_ps
  uint64_t copy_engine_ps = 0;  ///< staged: doorbell at the GPU to completion visible in host memory
  uint64_t nic_read_ps = 0;     ///< first MRd at the NIC's pins to last completion there
  uint64_t ps() const { return end_ps - start_ps; }
};

/// F6: (copy engine + the NIC's host read) - the NIC's GPU read, in ps.
int64_t saved_ps(const PathTable& gdr, const PathTable& staged);

/// `nic` is the stage table of the message, `events` those of the run. SimError when the steps leave a gap.
PathTable make_path_table(const PathTrace& trace, const StageTable& nic, const std::vector<Event>& events,
                          const Profile& profile, const pcie::Hub& hub);

struct PathOptions {
  WrOpcode op = WrOpcode::kRdmaWrite;
  QpType transport = QpType::kUc;
  SqWhere sq = SqWhere::kDevice;
  unsigned mtu = 4096;
  uint64_t largest = 4096;                            ///< message, B
  pcie::Initiator initiator = pcie::Initiator::kCpu;  ///< of GPUDirect; the staged path is the CPU's
};

/// Buffers, QP and GPU for both paths. All in a SystemC thread; messages one after the other.
class PathRunner {
 public:
  PathRunner(Context& ctx, pcie::Hub& hub, Nic& nic, const Profile& profile, const PathOptions& options);

  /// One message, contexts warm; returns when all is idle again. `at_ready` is called when the data are ready. SimError
  /// when it does not complete with success.
  PathTrace run(Path path, uint64_t bytes, const std::function<void()>& at_ready = {});

  GpuAgent& gpu() { return *agent_; }
  uint64_t gpu_offset() const { return gpu_.offset; }    ///< of the data in GPU memory
  uint64_t host_offset() const { return host_.offset; }  ///< of the staging buffer in host memory

 private:
  void wait_idle();
  void send(const Mr& from, uint64_t bytes, pcie::Initiator who);
  void complete();
  void wait_gpu(uint64_t flag, uint32_t value, uint64_t& handler_ps, uint64_t& seen_ps);

  Context& ctx_;
  pcie::Hub& hub_;
  Nic& nic_;
  const PathOptions options_;
  const Time signal_, poll_, interrupt_, switch_, launch_;
  const bool blocked_;  ///< the staged path's thread waits for interrupts
  Mr gpu_, host_;
  uint64_t flags_ = 0;  ///< bus address: kernel's flag, copy's flag
  std::unique_ptr<GpuAgent> agent_;
  Cq* cq_ = nullptr;
  Qp* qp_ = nullptr;
  uint32_t turn_ = 0;
};

}  // namespace rnic::host
