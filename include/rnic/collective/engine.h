// SPDX-License-Identifier: Apache-2.0
// The AllReduce engine alone on a PCIe hub: the Verilated arp_engine, the process that clocks it, and its registers in
// BAR2. What a receiver would hand it (fragments, acknowledges) and what a driver would (group contexts) is put at its
// pins here. Rules and packet format: docs/allreduce.md. Time is as for the NIC: docs/time.md.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <systemc>
#include <vector>

#include "rnic/nic/bar.h"
#include "rnic/observe/observer.h"
#include "rnic/observe/trace.h"
#include "rnic/pcie/hub.h"
#include "rnic/profile/profile.h"

namespace rnic::collective {

struct EngineOptions {
  uint64_t phase_ps = 0;  ///< time of edge 0
  bool skip_idle = true;
  TraceOptions trace;
  bool randomize = false;  ///< unreset registers start with values from `seed` instead of zeros
  uint64_t seed = 1;
};

/// What comes out of a frame, on its way to the pins: 64 bytes a beat, one beat a cycle.
struct Fragment {
  rtl::areth_t hdr;
  std::vector<uint8_t> data;  ///< what came, whatever hdr.len says
  bool damaged = false;       ///< wrong ICRC, cut off
  unsigned gap = 0;           ///< cycles without a beat before it
};

/// Cycles and levels since the start.
struct EngineUsage {
  uint64_t first_beat_ps = ~uint64_t{0}, last_beat_ps = 0;  ///< edges that took a fragment's beat
  uint64_t beats = 0;                                       ///< taken at the pins, refused fragments included
  uint64_t wait = 0;                                        ///< cycles in which a beat was offered and not taken
  uint64_t slot_ps = 0;                                     ///< slots in use, times how long
  unsigned slots_most = 0;
};

class Engine : public sc_core::sc_module, public pcie::TlpTarget {
 public:
  Engine(sc_core::sc_module_name name, const Profile& profile, pcie::Hub& hub, Observers& observers,
         const EngineOptions& options);
  ~Engine() override;

  // ---- To the pins, each kind in order; the first edge after now sees the first of a queue ----
  /// No fragment or acknowledge goes to the pins while a context waits there.
  void write_group(uint16_t number, const rtl::arp_group_t& group);
  void send(Fragment fragment);
  void acknowledge(const rtl::arp_ack_t& ack);
  /// Flips one bit of an accumulator row at its next write.
  void inject(uint16_t row, uint16_t bit);
  /// Fragments that have not gone whole.
  size_t queued() const;

  // ---- What it tells, each at its edge; calls to the pins are allowed in there, and go to the next edge ----
  /// First and last beat of a fragment taken.
  std::function<void(const rtl::areth_t& hdr, uint64_t first_ps, uint64_t last_ps)> on_taken;
  /// A context was taken; whether it is in use the counter bad_context says.
  std::function<void(uint16_t number, uint64_t ps)> on_group;
  std::function<void(const rtl::arp_evt_t& event, uint64_t ps)> on_event;
  /// Only for cycles with any pulse.
  std::function<void(const rtl::arp_stat_t& stat, uint64_t ps)> on_stat;

  /// From the hub: requests for the BAR decoder.
  void deliver(pcie::Tlp tlp) override;

  ConfigSpace& config();
  BarDecoder& bars();
  /// Bus address of a BAR.
  uint64_t bar(unsigned n) const;

  unsigned slots_used() const;
  unsigned slots_done() const;
  EngineUsage usage() const;
  uint64_t period_ps() const;
  /// Edges that the clock has really made.
  uint64_t clocked_cycles() const;
  /// True when nothing is queued or in flight in the RTL or at its pins; slots may wait for contributions.
  bool idle() const;
  unsigned assertion_failures() const;
  void close_trace();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rnic::collective
