// SPDX-License-Identifier: Apache-2.0
// What a run tells whoever watches: instants, frames, TLPs, errors. Models report, recorders listen.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rnic/pcie/tlp.h"
#include "rnic/rtl/ports.h"

namespace rnic {

enum class EventKind : uint8_t {
  kDbStore,     ///< initiator's store instruction (model)
  kDbPins,      ///< doorbell TLP has arrived at the NIC's pins: T0 (link)
  kDb,          ///< doorbell taken by the RTL (RTL)
  kWqe,         ///< WQE decoded (RTL)
  kRdIssue,     ///< payload read handed to dma_master (RTL)
  kRdPins,      ///< first MRd of the packet accepted at the PCIe pins (RTL)
  kMemRdStart,  ///< MRd has reached the memory (link)
  kMemRdEnd,    ///< memory has the data (model)
  kCplPins,     ///< last CplD of the packet has arrived at the NIC's pins (link)
  kRdDone,      ///< last payload byte in the TX buffer (RTL)
  kMac,         ///< last beat with ICRC accepted by the MAC (RTL)
  kWireFirst,   ///< first bit on the wire (model)
  kWireLast,    ///< last bit of the frame, FCS included, on the wire (link)
  kCqeIssue,    ///< CQE's write TLP accepted at the PCIe pins (RTL)
  kCqeVisible,  ///< CQE in host memory (model)
  kDmReq,       ///< device memory read taken from the RTL (RTL); no op
  kDmRsp,       ///< its data at the RTL's pins (model); no op
};

/// Name as in JSON and reports, e.g. "wire_first".
const char* event_name(EventKind kind);

/// Reported in order of ps within a NIC. The clock may run ahead of the kernel while nothing else happens, so
/// sc_time_stamp() in a callback can lie before ps.
struct Event {
  EventKind kind;
  uint64_t ps;     ///< simulated time
  uint64_t cycle;  ///< core clock cycle of the NIC: number of the last edge at or before ps
  rtl::op_t op;    ///< packet, as far as known (doorbells: qpn, and wqe = producer index)
  unsigned nic;
  unsigned port;
  uint32_t dm_addr = 0;  ///< of kDmReq: address in device memory, which tells what is read
};

struct FrameRecord {
  unsigned nic, port;
  uint64_t first_ps, last_ps;  ///< first bit, last bit (FCS included) on the wire
  rtl::op_t op;
  std::vector<uint8_t> bytes;  ///< Ethernet header to ICRC and minimum-size padding, without FCS
};

struct TlpRecord {
  unsigned nic;
  bool from_nic;
  uint64_t ps;  ///< at the NIC's pins: last beat accepted (from_nic), last byte arrived (to NIC)
  const pcie::Tlp* tlp;
};

struct ErrorRecord {
  unsigned nic;
  uint64_t ps;
  rtl::event_t event;
};

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void on_event(const Event&) {}
  virtual void on_frame(const FrameRecord&) {}
  virtual void on_tlp(const TlpRecord&) {}
  virtual void on_error(const ErrorRecord&) {}
};

/// Fan-out to any number of observers; owned by the System, outlives all models.
class Observers {
 public:
  void add(Observer* o) { list_.push_back(o); }
  /// Tells the core clock of a NIC, so that every event carries its cycle. Call for NICs 0, 1, ... in order.
  void add_clock(uint64_t phase_ps, uint64_t period_ps) { clocks_.push_back({phase_ps, period_ps}); }
  /// Fills in the cycle and passes it on.
  void event(Event e) {
    if (list_.empty()) return;
    if (e.nic < clocks_.size()) {
      const auto& c = clocks_[e.nic];
      e.cycle = e.ps < c.phase_ps ? 0 : (e.ps - c.phase_ps) / c.period_ps;
    }
    for (auto* o : list_) o->on_event(e);
  }
  void frame(const FrameRecord& f) {
    for (auto* o : list_) o->on_frame(f);
  }
  void tlp(const TlpRecord& t) {
    for (auto* o : list_) o->on_tlp(t);
  }
  void error(const ErrorRecord& e) {
    for (auto* o : list_) o->on_error(e);
  }
  bool empty() const { return list_.empty(); }

 private:
  struct Clock {
    uint64_t phase_ps, period_ps;
  };
  std::vector<Observer*> list_;
  std::vector<Clock> clocks_;
};

}  // namespace rnic
