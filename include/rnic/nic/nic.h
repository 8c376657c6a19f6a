// SPDX-License-Identifier: Apache-2.0
// One NIC: the Verilated rnic_top, the only process that clocks it, and the models that stand directly at its pins (BAR
// decoder, device memory, MAC ports).
//
// Time. Edge n of the core clock lies at phase + n * period. Whatever arrives at a pin at time t is seen by the first
// edge strictly after t. A handshake happens at the edge before which valid and ready were both high, and carries that
// edge's time. While the RTL is idle and nothing waits at its pins the clock is stopped; edge numbers go on as if it
// had run. See docs/time.md.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <systemc>

#include "rnic/mem/memory.h"
#include "rnic/net/mac.h"
#include "rnic/nic/bar.h"
#include "rnic/observe/observer.h"
#include "rnic/observe/trace.h"
#include "rnic/pcie/hub.h"
#include "rnic/profile/profile.h"

namespace rnic {

struct NicOptions {
  unsigned id = 0;
  uint64_t phase_ps = 0;  ///< time of edge 0
  bool skip_idle = true;
  TraceOptions trace;
  bool randomize = false;  ///< unreset registers start with values from `seed` instead of zeros
  uint64_t seed = 1;
  std::string
      record_path;  ///< if not empty: every input of every edge is written there, for the benchmark's bare model
};

/// What has gone over the NIC's pins, in clock cycles, since the start: take the difference of two. `_wait`: something
/// was offered, and the other side was not ready.
struct NicUsage {
  uint64_t mac_beats = 0, mac_wait = 0;
  uint64_t tlp_tx_beats = 0, tlp_tx_wait = 0;
  uint64_t tlp_rx_beats = 0;
  uint64_t dm_blocks = 0;                     ///< 64 B of device memory; its port gives or takes one a cycle
  uint64_t doorbells = 0, doorbell_wait = 0;  ///< commands included
};

/// Reads that were answered with an error, or not in time, by what was asked.
struct FailedReads {
  struct Place {
    uint64_t ur = 0, ca = 0, poisoned = 0, malformed = 0;  ///< completions
    uint64_t unanswered = 0;                               ///< reads without an answer, or not in full
    uint64_t misrouted = 0;                                ///< the same, but the answer came under another tag
    uint64_t late = 0;                                     ///< reads answered after their timeout
  };
  Place host, gpu, nowhere;
};

/// Room for completions: what finite pcie.cplh_credits and pcie.cpld_credits hold back.
struct CompletionRoom {
  uint64_t limit = 0;    ///< completions, or as many as fit by their data; 0: any number
  uint64_t busy_ps = 0;  ///< a read was under way
  uint64_t none_ps = 0;  ///< a read of MRRS bytes would have had no room
};

class Nic : public sc_core::sc_module, public pcie::TlpTarget {
 public:
  Nic(sc_core::sc_module_name name, const Profile& profile, pcie::Hub& hub, Observers& observers,
      const NicOptions& options);
  ~Nic() override;

  /// From the hub: completions for the RTL, memory requests for the BAR decoder.
  void deliver(pcie::Tlp tlp) override;

  /// Pulled out in the middle of whatever it does: power is gone, what was queued in it is lost, configuration reads
  /// give all ones. Counters and error log stay, as a stock-taking for the run.
  void remove();
  /// Plugged in again, reset, not enumerated.
  void insert();

  ConfigSpace& config();
  BarDecoder& bars();
  Memory& device_memory();
  net::Mac& mac(unsigned port = 0);

  /// Edges that the clock has really made, and the number of the last edge at or before a time.
  uint64_t clocked_cycles() const;
  uint64_t cycle_at(uint64_t ps) const;
  const NicUsage& usage() const;
  FailedReads failed_reads() const;
  CompletionRoom completion_room() const;
  /// True when nothing is queued or in flight in the RTL or at its pins.
  bool idle() const;
  /// What is left over, for an error message; empty when nothing is queued, under way or unanswered.
  std::string pending() const;
  /// Failed assertions of the RTL so far.
  unsigned assertion_failures() const;
  /// Closes the waveform; safe to call twice, and from a signal handler's clean-up.
  void close_trace();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Build keys of the Verilated model, and the versions of the tools that made it.
struct BuildInfo {
  unsigned data_width, read_tags, qpc_cache_entries, cqc_cache_entries, mpt_cache_entries, mac_ports;
  std::string version, verilator, systemc, compiler;
};
BuildInfo build_info();

}  // namespace rnic
