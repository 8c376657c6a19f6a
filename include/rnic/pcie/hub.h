// SPDX-License-Identifier: Apache-2.0
// The PCIe world of one node: links, switches and root complexes (topology.h), host memory and GPU memory behind them
// (completer.h), and the initiators (CPU, GPU) that store to the NIC's BARs. The facade that everybody uses.
//
// A read, and a completion on its way to the CPU, push earlier writes to the same memory before them; host and GPU
// memory are not ordered with one another.
//
// Addresses are bus addresses throughout, except in the memories' own back doors (offsets from kHostBase or kGpuBase).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <systemc>

#include "rnic/core/delay_queue.h"
#include "rnic/mem/memory.h"
#include "rnic/mem/pinned_pages.h"
#include "rnic/observe/observer.h"
#include "rnic/pcie/completer.h"
#include "rnic/pcie/link.h"
#include "rnic/pcie/tlp.h"
#include "rnic/pcie/topology.h"
#include "rnic/profile/profile.h"

namespace rnic::pcie {

enum class Initiator : uint8_t { kCpu, kGpu };

class Hub : public sc_core::sc_module {
 public:
  /// TLPs that the hub or its memories refused, and why.
  struct Counters {
    uint64_t malformed = 0;          ///< length against data, byte enables, 4 KiB, payload above MPS: dropped
    uint64_t unsupported_read = 0;   ///< no such address: answered with UR
    uint64_t unsupported_write = 0;  ///< no such address: dropped
    uint64_t unpinned_read = 0;      ///< of GPU memory that nobody has pinned: answered with UR
    uint64_t unpinned_write = 0;     ///< the same: dropped
    uint64_t unexpected_cpl = 0;     ///< completion that no read of the CPU or GPU waits for: dropped
    uint64_t faults = 0;             ///< reads answered wrongly on purpose
  };

  /// What has been used since the start, for utilisation over any stretch of time: take the difference of two.
  struct Usage {
    struct Link {                    ///< one direction
      uint64_t tlps = 0, bytes = 0;  ///< on the link: header, payload, framing
      uint64_t busy_ps = 0;          ///< with DLLPs and what is sent again
      uint64_t dllp_bytes = 0, replayed = 0;
    };
    Link nic_up, nic_down, gpu_up, gpu_down;  ///< up: towards the hub
    using Credits = pcie::Link::CreditUse;    ///< of the NIC's requests
    Credits ph, pd, nph;
    struct Reads {  ///< by the NIC
      uint64_t count = 0, bytes = 0;
      uint64_t held_ps = 0;  ///< each read's time in the memory
    };
    Reads host, gpu;
    uint64_t host_writes = 0, host_write_bytes = 0;  ///< by the NIC
  };

  Hub(sc_core::sc_module_name name, const Profile& profile, Observers& observers, unsigned nic_id);

  /// The NIC's receive side. Call once before the simulation starts.
  void attach_nic(TlpTarget* nic) { nic_ = nic; }

  // ---- NIC to hub ----
  /// A TLP whose last beat the NIC has handed over now (at DelayQueue::now()).
  void from_nic(Tlp tlp) { from_nic(std::move(tlp), DelayQueue::now()); }
  /// The same for an edge at `edge`: now, or later if nothing else happens in between.
  void from_nic(Tlp tlp, const Time& edge);
  /// Whether the NIC may hand over one more beat at the edge at `edge` (transmit buffer: two TLPs beyond the one on the
  /// link). Depends only on what happened before `edge`.
  bool nic_tx_ready(const Time& edge) const;
  /// Flow-control limits as the NIC sees them just before `edge` (profile keys pcie.ph/pd/nph_credits; 0 = infinite).
  rtl::pcie_fc_t nic_credits(const Time& edge) const;
  /// A TLP that the NIC has taken credits for and broken off before its last beat, at `edge`: they go back.
  void nic_cancelled(const Tlp& tlp, const Time& edge);

  // ---- Initiators to NIC ----
  /// Posted write to a bus address (one TLP; len 1..64, not crossing 4 KiB, within the NIC's BARs or memory). Stores at
  /// sc_time_stamp(); leaves the initiator after host.mmio_latency or gpu.mmio_latency. Posted writes of one initiator
  /// stay in order.
  void mmio_write(Initiator who, uint64_t addr, const uint8_t* bytes, unsigned len, const rtl::op_t& op = {});
  /// Read of 1..64 bytes; the callback gets the data (empty: no completion with data) when it has come back.
  void mmio_read(Initiator who, uint64_t addr, unsigned len, std::function<void(std::vector<uint8_t>)> done);
  /// The GPU's copy engine: a posted write of 1..MPS bytes, not crossing 4 KiB, leaves the GPU now, without the cost of
  /// a store. False, with nothing sent, when the transmit buffer of the GPU's link is full (two TLPs beyond the one on
  /// it).
  bool gpu_write(uint64_t addr, const uint8_t* bytes, unsigned len);
  /// A configuration access is not timed: bus enumeration lies before the measured time (see ConfigSpace).

  /// What the hub has still to do, for the process that clocks the NIC (see DelayQueue).
  DelayQueue& queue();

  // ---- Memories, back door ----
  Memory& host_memory() { return host_; }
  Memory& gpu_memory() { return gpu_; }

  /// Peer-memory calls: what the GPU's BAR serves. A read of another page gets UR, a write is dropped; both are looked
  /// at when the data are taken. The back door and the GPU's own stores and loads don't care. Offsets from kGpuBase.
  PinnedPages& gpu_pages() { return gpu_pages_; }

  // ---- Memories, their own processors ----
  /// The CPU has used bytes of host memory (offset from kHostBase): they are in its last-level cache, if host.llc_size
  /// gives it one. Untimed.
  void cpu_touch(uint64_t offset, uint64_t bytes);
  /// The CPU has flushed its caches.
  void cpu_flush();
  /// From now on kernels use so much of the GPU memory's bandwidth (at the start gpu.kernel_bandwidth). InputError
  /// above gpu.hbm_bandwidth, and without gpu.memory = hbm.
  void set_gpu_load(double gbps);
  /// When the GPU's own read of its memory (offset from kGpuBase), which could start at from_ps, has its turn there.
  uint64_t gpu_access_ps(uint64_t offset, uint64_t bytes, uint64_t from_ps);

  /// Called when a write to host memory has become visible: bus address of the first byte written, and length up to the
  /// last one written.
  void on_host_write(std::function<void(uint64_t addr, unsigned len)> fn) {
    host_write_.push_back([f = std::move(fn)](uint64_t addr, unsigned len, const rtl::op_t&) { f(addr, len); });
  }
  /// The same with the packet that the write's TLP served.
  void on_host_write_op(std::function<void(uint64_t addr, unsigned len, const rtl::op_t& op)> fn) {
    host_write_.push_back(std::move(fn));
  }

  /// The same for a write to GPU memory; the clock may run ahead of the kernel then (DelayQueue::now()).
  void on_gpu_write(std::function<void(uint64_t addr, unsigned len)> fn) { gpu_write_.push_back(std::move(fn)); }

  /// Called when a message has reached the interrupt controller (kIrqBase), behind the writes before it.
  void on_message(std::function<void(uint64_t addr, uint32_t data)> fn) { message_.push_back(std::move(fn)); }

  // ---- Faults ----
  enum class Where : uint8_t { kHost, kGpu };
  /// The answer to the nth read by the NIC that arrives at this memory from now on (0: the next one).
  void inject(Where where, uint64_t nth, const FaultPlan& plan);
  /// Asked for every read by the NIC that inject() says nothing about.
  void on_nic_read(std::function<FaultPlan(Where where, const Tlp& read)> fn);
  /// A completion that nobody asked for, from the root complex to the NIC: leaves now.
  void inject_completion(Tlp completion);

  const MemoryTiming::Counters& memory_counters(Where where) const;

  // ---- Surprise removal ----
  /// The NIC's link goes down: what is under way on it is lost, loads from the NIC end without data, later ones too.
  void take_down_nic();
  /// The link comes up again as after a reset: full credits, nothing under way.
  void bring_up_nic();
  bool nic_up() const;

  // ---- Topology ----
  /// "direct", "PIX", "PXB", "PHB", "SYS".
  const char* distance() const;
  /// Hops of the NIC's requests to a memory, in order.
  std::vector<Hop> way(Where where) const;
  /// Of any TLP's way.
  std::vector<Hop> way(Topology::Port from, Topology::Port to) const;
  /// Of the NIC's link, the direction that starts at `from`.
  Link::Counters nic_link(End from, uint64_t now_ps) const;

  const Counters& counters() const;
  /// At `now_ps`, which is not in the past.
  Usage usage(uint64_t now_ps) const;
  /// True when no TLP is on its way, no read is unanswered and no credit is away.
  bool idle() const;
  /// What keeps it from being idle, for an error message; empty when idle.
  std::string pending() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
  TlpTarget* nic_ = nullptr;
  Memory host_, gpu_;
  PinnedPages gpu_pages_;
  std::vector<std::function<void(uint64_t, unsigned, const rtl::op_t&)>> host_write_;
  std::vector<std::function<void(uint64_t, unsigned)>> gpu_write_;
  std::vector<std::function<void(uint64_t, uint32_t)>> message_;
};

}  // namespace rnic::pcie
