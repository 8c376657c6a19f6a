// SPDX-License-Identifier: Apache-2.0
// Latency of single loads between CPU, GPU and their memories over PCIe, and of a flag that goes to and fro: what
// gdrcopy_copylat, nvbandwidth's host_device_latency_sm and gdrcopy_pplat measure on machines. The NIC has no part in
// it. What each counts: docs/load-bench.md.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <systemc>
#include <vector>

#include "rnic/pcie/bench.h"
#include "rnic/pcie/hub.h"
#include "rnic/profile/profile.h"
#include "rnic/system/simulation.h"

namespace rnic::pcie {

enum class LoadOp : uint8_t {
  kCpuGpu,    ///< the CPU loads from GPU memory
  kGpuHost,   ///< the GPU loads from host memory
  kPingPong,  ///< the CPU stores a flag in GPU memory, the GPU answers with one in host memory
};
inline constexpr std::array kLoadOps{LoadOp::kCpuGpu, LoadOp::kGpuHost, LoadOp::kPingPong};
const char* load_name(LoadOp op);  ///< "LD_CPU_GPU", "LD_GPU_HOST", "PINGPONG"

inline constexpr unsigned kLoadMaxBytes = 64;
inline constexpr unsigned kFlagBytes = 4;  ///< of kPingPong

struct LoadSpec {
  LoadOp op = LoadOp::kCpuGpu;
  unsigned size = 64;        ///< bytes of a load, 1..kLoadMaxBytes; kPingPong: kFlagBytes
  uint64_t transfers = 100;  ///< one after the other, each on a cache line of its own
  uint64_t seed = 1;         ///< of the memories' content
};

struct LoadResult {
  LoadSpec spec;
  std::vector<double> latencies_ns;
  std::vector<BenchPart> parts;  ///< of a transfer with the median latency; they add up to it
  uint64_t wrong_bytes = 0;      ///< loaded, and other than the memory's
  uint64_t failed = 0;           ///< loads that ended without data
  bool good() const { return wrong_bytes == 0 && failed == 0; }
};

/// A node without a NIC.
class HubSystem : public Simulation {
 public:
  HubSystem(const Profile& profile, const RunLimits& limits);
  ~HubSystem() override;

  const Profile& profile() const { return profile_; }
  Hub& hub() { return *hub_; }
  /// Called at the instant at which a write to that memory has become visible.
  std::function<void(uint64_t addr, unsigned len)> on_host_write, on_gpu_write;

  void close() override {}
  unsigned assertion_failures() const override { return 0; }

 protected:
  bool idle() const override { return hub_->idle(); }
  std::string pending() const override { return hub_->pending(); }

 private:
  Profile profile_;
  std::unique_ptr<Hub> hub_;
};

/// Runs one measurement, in a thread of the simulation. Throws InputError naming the command's option for a spec that
/// is out of range.
LoadResult run_loads(HubSystem& system, const LoadSpec& spec);

}  // namespace rnic::pcie
