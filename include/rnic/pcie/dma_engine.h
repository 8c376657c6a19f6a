// SPDX-License-Identifier: Apache-2.0
// A DMA device in the NIC's place on a PCIe hub: the Verilated dma_engine (dma_master and pcie_tlp_gen as rnic_top has
// them), the process that clocks it, and queues of reads and writes in front of its pins. Time is as for the NIC:
// docs/time.md.
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

namespace rnic::pcie {

struct DmaEngineOptions {
  uint64_t phase_ps = 0;  ///< time of edge 0
  bool skip_idle = true;
  TraceOptions trace;
  bool randomize = false;  ///< unreset registers start with values from `seed` instead of zeros
  uint64_t seed = 1;
};

/// Instants of one request, in ps. Those of TLPs are at the engine's pins.
struct DmaTimes {
  uint64_t accepted = 0;   ///< edge at which the RTL took it
  uint64_t first_out = 0;  ///< edge that took the last beat of its first TLP
  uint64_t last_out = 0;   ///< of its last TLP
  uint64_t first_in = 0;   ///< read: last byte of its first completion arrived
  uint64_t last_in = 0;    ///< read: of its last one
  uint64_t done = 0;       ///< read: edge that took the last beat of its data; write: edge of wr_done
};

struct DmaDone {
  uint64_t number = 0;        ///< as read() or write() gave it
  unsigned status = 0;        ///< rtl::rnic_pkg::Dma*; of a write always good: it is posted
  std::vector<uint8_t> data;  ///< of a good read, as long as asked for
  DmaTimes at;
};

class DmaEngine : public sc_core::sc_module, public TlpTarget {
 public:
  using Callback = std::function<void(const DmaDone&)>;

  /// Takes the NIC's place on the hub and is set up as a driver would (MPS, MRRS, RCB, tags from the profile).
  DmaEngine(sc_core::sc_module_name name, const Profile& profile, Hub& hub, Observers& observers,
            const DmaEngineOptions& options);
  ~DmaEngine() override;

  // ---- Requests: each kind in order, one a cycle at most; the first edge after now sees the first of a queue ----
  /// Reads 1..4096 bytes at a bus address (0: a flush, which comes back with no data when earlier writes have arrived).
  /// `attr` as in tlp_req_t. `done` is called in the edge that ends it, and may issue more. Returns the read's number,
  /// counted from 0. SimError for another length.
  uint64_t read(uint64_t addr, unsigned len, Callback done, unsigned attr = 0);
  /// Writes 1..4096 bytes. Done when the last TLP has been accepted at the pins; a read issued from then on stays
  /// behind it. Numbered apart from the reads.
  uint64_t write(uint64_t addr, std::vector<uint8_t> data, Callback done, unsigned attr = 0);
  /// The packet identity that a request's TLPs carry as a sideband (Tlp::op).
  static rtl::op_t op_of(bool write, uint64_t number);

  /// Requests that are not done.
  size_t open() const;

  /// Pulses of the RTL since the start.
  struct Counters {
    uint64_t unexpected = 0, ur = 0, ca = 0, poisoned = 0, timeout = 0, malformed = 0;
    uint64_t refused = 0;  ///< requests of others; the engine has no memory of its own
  };
  const Counters& counters() const;
  /// Cycles with a beat at the PCIe pins, and with one that had to wait there.
  struct Usage {
    uint64_t tx_beats = 0, tx_wait = 0, rx_beats = 0;
  };
  const Usage& usage() const;

  /// From the hub.
  void deliver(Tlp tlp) override;

  ConfigSpace& config();
  /// Reads that may be in flight with the tags that are enabled.
  unsigned tags() const;
  uint64_t period_ps() const;
  /// Edges that the clock has really made.
  uint64_t clocked_cycles() const;
  /// Nothing queued or in flight in the RTL or at its pins.
  bool idle() const;
  unsigned assertion_failures() const;
  void close_trace();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rnic::pcie
