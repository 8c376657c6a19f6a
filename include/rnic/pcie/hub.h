// SPDX-License-Identifier: Apache-2.0
// The PCIe world of one node, at TLP granularity: links with exact serialization, a hub (root complex or switch), host
// memory and GPU memory behind it, and the initiators (CPU, GPU) that store to the NIC's BARs.
//
//   NIC --nic_link-- hub --+-- host memory, CPU
//                          +-- gpu_link -- GPU memory behind its BAR
//
// Every link direction is a Serializer; latencies are keys of the profile (pcie.*, host.*, gpu.*). A TLP is forwarded
// whole. Order within a direction is kept; completions of different reads may pass each other only where the memories'
// latencies differ. A read, and a completion on its way to the CPU, push earlier writes to the same memory before them.
//
// Addresses are bus addresses throughout, except in the memories' own back doors (offsets from kHostBase or kGpuBase).
#pragma once

#include <functional>
#include <memory>
#include <random>
#include <systemc>

#include "rnic/core/delay_queue.h"
#include "rnic/core/serializer.h"
#include "rnic/mem/memory.h"
#include "rnic/observe/observer.h"
#include "rnic/pcie/tlp.h"
#include "rnic/profile/profile.h"

namespace rnic::pcie {

enum class Initiator : uint8_t { kCpu, kGpu };

/// Bus addresses of a node. Fixed here; an enumerator sets the NIC's BARs to whatever it likes.
inline constexpr uint64_t kHostBase = 0x0000'0001'0000'0000;  ///< host memory
inline constexpr uint64_t kHostSize = uint64_t{64} << 30;
inline constexpr uint64_t kGpuBase = 0x0000'1000'0000'0000;  ///< GPU memory's BAR
inline constexpr uint64_t kGpuSize = uint64_t{80} << 30;

inline constexpr uint16_t kCpuId = 0x0000;  ///< requester ID of the CPU's stores and loads, completer ID of the host
inline constexpr uint16_t kGpuId = 0x0200;  ///< requester and completer ID of the GPU

/// One direction of a link of generation 1..5 and 1..16 lanes, encoding included (8b/10b or 128b/130b).
Serializer link_serializer(unsigned generation, unsigned lanes);

class Hub : public sc_core::sc_module {
 public:
  /// TLPs that the hub or its memories refused, and why.
  struct Counters {
    uint64_t malformed = 0;          ///< length against data, byte enables, 4 KiB, payload above MPS: dropped
    uint64_t unsupported_read = 0;   ///< no such address: answered with UR
    uint64_t unsupported_write = 0;  ///< no such address: dropped
    uint64_t unexpected_cpl = 0;     ///< completion that no read of the CPU or GPU waits for: dropped
  };

  /// What has been used since the start, for utilisation over any stretch of time: take the difference of two.
  struct Usage {
    struct Link {                    ///< one direction
      uint64_t tlps = 0, bytes = 0;  ///< on the link: header, payload, framing
      uint64_t busy_ps = 0;
    };
    Link nic_up, nic_down, gpu_up, gpu_down;  ///< up: towards the hub
    struct Credits {                          ///< of the NIC's requests
      unsigned limit = 0;                     ///< 0: infinite
      uint64_t held_ps = 0;                   ///< each credit taken, times how long it was away
      uint64_t none_ps = 0;                   ///< time in which a largest request (one header, or MPS) had none left
      unsigned most = 0;                      ///< away at a time
    };
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

  // ---- Initiators to NIC ----
  /// Posted write to a bus address (one TLP; len 1..64, not crossing 4 KiB, within the NIC's BARs or memory). Stores at
  /// sc_time_stamp(); leaves the initiator after host.mmio_latency or gpu.mmio_latency. Posted writes of one initiator
  /// stay in order.
  void mmio_write(Initiator who, uint64_t addr, const uint8_t* bytes, unsigned len, const rtl::op_t& op = {});
  /// Read of 1..64 bytes; the callback gets the data (empty: no completion with data) when it has come back.
  void mmio_read(Initiator who, uint64_t addr, unsigned len, std::function<void(std::vector<uint8_t>)> done);
  /// A configuration access is not timed: bus enumeration lies before the measured time (see ConfigSpace).

  /// What the hub has still to do, for the process that clocks the NIC (see DelayQueue).
  DelayQueue& queue();

  // ---- Memories, back door ----
  Memory& host_memory() { return host_; }
  Memory& gpu_memory() { return gpu_; }

  /// Called when a write to host memory has become visible: bus address of the first byte written, and length up to the
  /// last one written.
  void on_host_write(std::function<void(uint64_t addr, unsigned len)> fn) {
    host_write_.push_back([f = std::move(fn)](uint64_t addr, unsigned len, const rtl::op_t&) { f(addr, len); });
  }
  /// The same with the packet that the write's TLP served.
  void on_host_write_op(std::function<void(uint64_t addr, unsigned len, const rtl::op_t& op)> fn) {
    host_write_.push_back(std::move(fn));
  }

  const Counters& counters() const;
  /// At `now_ps`, which is not in the past.
  Usage usage(uint64_t now_ps) const;
  /// True when no TLP is on its way.
  bool idle() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
  TlpTarget* nic_ = nullptr;
  Memory host_, gpu_;
  std::vector<std::function<void(uint64_t, unsigned, const rtl::op_t&)>> host_write_;
};

}  // namespace rnic::pcie
