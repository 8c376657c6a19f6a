// SPDX-License-Identifier: Apache-2.0
// One PCIe link: physical layer (rate, encoding, framing, flight time) and data link layer (sequence numbers, LCRC,
// ACK, NAK, replay, flow-control DLLPs) between two ends. TLPs go in at one end and come out at the other, each once
// and in the order in which they went out on the line; what the line corrupts is sent again.
//
// Wire bytes beside header and payload: STP token or symbols with the sequence number and LCRC, 8 B a TLP; a DLLP takes
// 8 B (Gen1-5: 2 B framing, 6 B DLLP; PCI Express Base Specification 4.0, 3.4, 4.2). Gen6: 256 B flits of 236 B TLPs,
// 6 B DLP, 8 B CRC, 6 B FEC (6.0, 4.2.3.4); DLLPs then travel in the DLP bytes, and a bad flit is replayed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "rnic/core/delay_queue.h"
#include "rnic/pcie/tlp.h"

namespace rnic::pcie {

/// Room that a receiver advertises; 0: infinite. Data in units of 16 B.
struct CreditLimits {
  unsigned ph = 0, pd = 0, nph = 0, npd = 0, cplh = 0, cpld = 0;
};

struct LinkConfig {
  unsigned generation = 5;   ///< 1..6
  unsigned lanes = 16;       ///< 1, 2, 4, 8, 12, 16
  Time latency;              ///< last bit out to TLP at the other end's transaction layer, one way
  CreditLimits credits[2];   ///< of the receiver at end kUp, kDown
  Time ack_latency;          ///< a received TLP is acknowledged at most this later; several share an ACK
  Time fc_latency;           ///< freed credits are announced at most this later, or when a quarter of the limit is free
  Time replay_timeout;       ///< without ACK or NAK for this long everything unacknowledged is sent again; raised to
                             ///< what a link without errors can take
  unsigned largest_pd = 32;  ///< data credits of a largest write (MPS / 16), for CreditUse::none_ps
  unsigned replay_tlps = 256;      ///< TLPs that the replay buffer holds, 1..2048; a full one holds back new TLPs
  double lcrc_error_rate[2] = {};  ///< TLPs received at end kUp, kDown that the line corrupts: 0 to
                                   ///< less than 1, seeded; Gen6: flits in which a TLP ends
  double dllp_error_rate[2] = {};  ///< the same for DLLPs, which are then lost
  uint64_t seed = 1;
};

enum End : unsigned { kUp, kDown };  ///< kUp: the side of the root complex
inline constexpr End other(End e) { return e == kUp ? kDown : kUp; }

class Link {
 public:
  /// What went over one direction since the start: take the difference of two.
  struct Counters {
    uint64_t tlps = 0, tlp_bytes = 0;  ///< first transmissions; bytes on the wire
    uint64_t payload_bytes = 0;
    uint64_t acks = 0, naks = 0, fc_updates = 0, dllp_bytes = 0;
    uint64_t replayed = 0, replay_bytes = 0;
    uint64_t bad_lcrc = 0, lost_dllps = 0, duplicates = 0;  ///< seen by the receiver
    uint64_t replay_timeouts = 0, replay_rollovers = 0;
    uint64_t busy_ps = 0;
    uint64_t waited_for_credits_ps = 0;
  };

  /// `queue` is the one whose events the NIC's clock looks at (Hub::queue()). SimError for settings that no link has.
  /// Keep it until its entries in the queue have run, also after take_down(): they point to it.
  Link(std::string name, const LinkConfig& config, DelayQueue& queue);
  ~Link();

  /// What takes TLPs at an end, at the instant they arrive there.
  void on_receive(End at, std::function<void(Tlp)> fn);

  /// A TLP handed over at `edge` at end `from`: now, or later if nothing else happens in between. A sender for which
  /// `gate` is set (default) has TLPs held back by the link until the other end has room, posted before blocked
  /// non-posted ones as the ordering rules say (2.4.1); one without looks at limits() itself, as the NIC's RTL does.
  /// SimError for a gated TLP that needs more than all the room that the other end has, and for one without gate for
  /// which there are no credits.
  void send(End from, Tlp tlp, const Time& edge);
  void set_gate(End from, bool gate);
  /// Whether end `from` may hand over one more beat at the edge at `edge`: fewer than 1024 B, or fewer than two TLPs,
  /// wait beyond the one on the line. Depends only on what happened before `edge`.
  bool ready(End from, const Time& edge) const;
  /// Flow-control limits that end `from` has received before `edge`, absolute counts since reset.
  rtl::pcie_fc_t limits(End from, const Time& edge) const;
  /// The receiver at `at` has taken a TLP out of its receive buffer: its credits go back. Also for one that took
  /// credits and was broken off before its end: its Length field counts.
  void release(End at, const Tlp& tlp, const Time& when);

  /// Called once for each TLP handed over at `from`, when it is settled that its first bit goes out at `start` (now or
  /// later): a switch then has the room again that the TLP took at the port where it came in.
  void on_start(End from, std::function<void(const Tlp&, const Time& start)> fn);

  /// The other side is gone: everything under way is lost, what is sent from now on vanishes. Ends the replay.
  void take_down();
  bool up() const;

  Counters counters(End from, uint64_t now_ps) const;  ///< of the direction that starts at `from`
  /// Use of the credits that sender `from` draws on. Each counts from the edge at which the request was handed over to
  /// the first edge at which limits() shows it back.
  struct CreditUse {
    unsigned limit = 0;    ///< 0: infinite
    uint64_t held_ps = 0;  ///< each credit taken, times how long it was away
    uint64_t busy_ps = 0;  ///< time in which any was away
    uint64_t none_ps = 0;  ///< time in which a largest request (one header, or `largest` data credits) had none left
    unsigned most = 0;     ///< away at a time
  };
  struct CreditsUsed {
    CreditUse ph, pd, nph;
  };
  CreditsUsed credits_used(End from, uint64_t now_ps) const;
  /// Nothing queued, on the line, unacknowledged, and no credit away that nobody will give back.
  bool idle() const;
  /// What keeps it from being idle, for an error message; empty when idle.
  std::string pending() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rnic::pcie
