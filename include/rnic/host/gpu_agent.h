// SPDX-License-Identifier: Apache-2.0
// What the GPU does by itself: runs a kernel that stores into its memory, signals the end of a kernel, and copies from
// its memory to host memory with its copy engine. What leaves the GPU goes over PCIe as TLPs; costs are the profile's
// keys gpu.signal_latency and gpu.copy_*.
//
//   kernel's last store --signal_latency--> store of the flag (Hub::mmio_write)
//   doorbell in GPU memory --copy_start_latency--> read, write TLP, read, ... --copy_completion_latency--> flag
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <systemc>
#include <vector>

#include "rnic/core/serializer.h"
#include "rnic/core/types.h"
#include "rnic/pcie/hub.h"
#include "rnic/profile/profile.h"

namespace rnic::host {

/// A copy from GPU memory to host memory.
struct CopyJob {
  uint64_t from = 0;  ///< offset in GPU memory
  uint64_t to = 0;    ///< bus address in host memory
  uint64_t bytes = 0;
  uint64_t flag = 0;   ///< bus address of 4 B in host memory, written behind the data
  uint32_t value = 0;  ///< what is written there, little-endian
};

/// Instants of a copy, in ps; 0: not yet.
struct CopyTimes {
  uint64_t store_ps = 0;         ///< CPU's store that rings the copy engine
  uint64_t arrived_ps = 0;       ///< it has reached the GPU
  uint64_t started_ps = 0;       ///< command decoded
  uint64_t first_read_ps = 0;    ///< GPU memory read for the first write TLP; the bytes are those of this instant
  uint64_t last_read_ps = 0;     ///< for the last one, which leaves at once
  uint64_t flag_out_ps = 0;      ///< completion write leaves
  uint64_t data_visible_ps = 0;  ///< last data byte in host memory
  uint64_t flag_visible_ps = 0;  ///< completion in host memory
};

/// A kernel that goes over a buffer of GPU memory again and again, one store after the other. A store is seen whole or
/// not at all, by everybody who reads that memory later; nothing holds others back.
struct Kernel {
  uint64_t at = 0;      ///< offset in GPU memory
  uint64_t bytes = 0;   ///< of the buffer, whole stores
  unsigned store = 32;  ///< bytes of one
  uint64_t stores = 0;  ///< then it ends
  Time gap{};           ///< from its start to the first store, and from each to the next
  double gbps = 0;      ///< of the memory's bandwidth that it uses meanwhile (Hub::set_gpu_load); 0: as before
  uint64_t seed = 0;    ///< of its bytes: pattern_byte(n * store + i, seed) is byte i of store n, from 0
  uint64_t flag = 0;    ///< signalled at its last store; 0: none
  uint32_t value = 0;
};

class GpuAgent {
 public:
  /// `doorbell` is the bus address of 4 KiB of GPU memory that nothing else uses. Lives as long as the simulation.
  GpuAgent(pcie::Hub& hub, const Profile& profile, uint64_t doorbell);
  GpuAgent(const GpuAgent&) = delete;
  GpuAgent& operator=(const GpuAgent&) = delete;

  /// Starts a kernel; one runs at a time. InputError for a buffer outside GPU memory, one that is not whole stores, a
  /// gap of 0, and while another one runs.
  void run(const Kernel& kernel);
  bool kernel_runs() const { return kernel_.has_value(); }
  /// Called after each store of a kernel, at its instant.
  void on_store(std::function<void(uint64_t n, uint64_t at, const std::vector<uint8_t>& data)> fn) {
    on_store_ = std::move(fn);
  }

  /// A kernel's last store is made now: after gpu.signal_latency the flag (bus address of 4 B in host memory) is
  /// stored.
  void signal(uint64_t flag, uint32_t value);
  /// When the last signal()'s flag left the kernel (its store instruction), and became visible in host memory.
  uint64_t signal_store_ps() const { return signal_store_ps_; }
  uint64_t signal_visible_ps() const { return signal_visible_ps_; }

  /// The CPU rings the copy engine for a job now, by a store over PCIe. Jobs run one after the other in the order in
  /// which their doorbells arrive. InputError when a range lies outside its memory. Returns the job's number, from 1.
  uint32_t copy(const CopyJob& job);
  const CopyTimes& times(uint32_t job) const { return times_.at(job); }

  /// Waits, in a SystemC thread, until the flag holds the value. Returns at the instant at which it is visible.
  void wait_flag(uint64_t flag, uint32_t value);

 private:
  struct Job {
    uint32_t number;
    CopyJob job;
  };
  void store();
  void rung();
  void begin();
  void next();
  void send(unsigned bytes);
  void complete();
  void visible(uint64_t addr, unsigned len);

  pcie::Hub& hub_;
  const uint64_t doorbell_;
  const Time signal_, start_, completion_;
  const unsigned mps_;
  Time retry_;  ///< a largest TLP on the link: when the link has room again at the latest
  Serializer reads_;
  std::optional<Kernel> kernel_;
  uint64_t stored_ = 0;  ///< of its stores
  std::function<void(uint64_t, uint64_t, const std::vector<uint8_t>&)> on_store_;
  std::map<uint32_t, CopyJob> submitted_;  ///< by number, doorbell under way
  std::deque<Job> queue_;                  ///< rung; the first one runs
  uint64_t done_bytes_ = 0;                ///< of the first one
  std::map<uint32_t, CopyTimes> times_;
  std::vector<Job> watched_;  ///< something of them is not visible yet
  uint32_t last_number_ = 0;
  uint64_t signal_flag_ = 0, signal_store_ps_ = 0, signal_visible_ps_ = 0;
  sc_core::sc_event written_;
};

}  // namespace rnic::host
