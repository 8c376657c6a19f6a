// SPDX-License-Identifier: Apache-2.0
// MAC and wire of one port: takes beats from the NIC, sends whole frames with preamble, FCS and inter-frame gap.
//
// Store and forward: a frame's first bit (of the preamble) leaves mac.tx_latency after its last beat was accepted, or
// when the wire is free again (inter-frame gap included), whichever is later. A frame therefore never runs dry on the
// wire, whatever the blocks before it do.
//
// A priority can be paused (PFC): its frames then wait, each priority in a buffer of its own, and the others pass.
//
// Reports wire_first and wire_last at the first bit of the preamble and the last bit of the FCS, and the frame at the
// latter instant.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <systemc>
#include <vector>

#include "rnic/core/delay_queue.h"
#include "rnic/core/serializer.h"
#include "rnic/observe/observer.h"
#include "rnic/profile/profile.h"
#include "rnic/rtl/ports.h"

namespace rnic::net {

inline constexpr unsigned kPreambleBytes = 8;  ///< preamble and start-of-frame delimiter
inline constexpr unsigned kFcsBytes = 4;
inline constexpr unsigned kIfgBytes = 12;
inline constexpr unsigned kMinFrameBytes = 60;    ///< without FCS; shorter frames are padded with zeros
inline constexpr unsigned kMaxFrameBytes = 9216;  ///< without FCS

/// A frame at the far end of the wire. Called at the instant its last bit arrives there.
using FrameSink = std::function<void(const FrameRecord&)>;

class Mac : public sc_core::sc_module {
 public:
  Mac(sc_core::sc_module_name name, const Profile& profile, Observers& observers, unsigned nic_id, unsigned port);

  /// Whether a beat of priority `prio` can be taken at the edge at `edge`; depends only on what happened before it
  /// (buffer of mac.tx_buffer bytes for each priority, freed when a frame's last bit has left;
  /// while the priority is paused mac.pause_headroom bytes more, for what the NIC has under way).
  bool ready(const Time& edge, unsigned prio) const;
  /// A beat accepted at the edge at `edge`: now, or later if nothing else happens in between.
  void accept(const rtl::mac_beat_t& beat, const Time& edge);
  void accept(const rtl::mac_beat_t& beat) { accept(beat, DelayQueue::now()); }
  /// The frame that is being received from the NIC will not be finished: dropped, and not counted.
  void cut_off(const Time& edge);
  /// The same, and what waits in the buffer is lost, too; the frame on the wire ends. Pauses are over.
  void power_off();
  /// A PFC frame has arrived: priority `prio` pauses for `duration` from now on; 0 lets it go on at once. The frame on
  /// the wire ends; what waits in the buffer stays there, and other priorities pass it.
  void pause(unsigned prio, const Time& duration);
  /// Priorities paused at the edge at `edge`, one bit each; as ready(), from what happened before it.
  uint8_t paused(const Time& edge) const;
  /// Called when paused() is about to change while the NIC's clock may be stopped.
  void on_pause_change(std::function<void()> wake) { pause_change_ = std::move(wake); }
  void connect(FrameSink sink) { sink_ = std::move(sink); }
  /// True while a frame is being received from the NIC or is still to be sent.
  bool busy() const;

  /// What the MAC has still to do, for the process that clocks the NIC (see DelayQueue).
  DelayQueue& queue() { return later_; }

  // Port counters, as in ethtool -S
  uint64_t tx_packets() const { return tx_packets_; }
  uint64_t tx_bytes() const { return tx_bytes_; }  ///< FCS included, as tx_bytes_phy
  /// Beats outside a frame, frames cut short by another one's start, over 9216 B, or with a wrong byte count: dropped.
  uint64_t malformed() const { return malformed_; }
  uint64_t rx_pause(unsigned prio) const { return rx_pause_[prio]; }   ///< PFC frames that paused it
  uint64_t rx_pause_ps(unsigned prio) const;                           ///< time in which it was paused, up to now
  uint64_t tx_unicast_packets() const { return tx_unicast_packets_; }  ///< to one receiver
  uint64_t tx_unicast_bytes() const { return tx_unicast_bytes_; }      ///< of those, without FCS

 private:
  enum class State : uint8_t { kIdle, kFrame, kSkip };  // kSkip: the rest of a malformed frame is dropped
  /// A frame that has not begun.
  struct Waiting {
    uint64_t ready_ps;
    unsigned prio;
    size_t held;  ///< bytes of the buffer
    FrameRecord frame;
  };
  struct Buffer {
    mutable size_t used = 0;
    mutable std::deque<std::pair<uint64_t, size_t>> freeing;  ///< (ps of the last bit, bytes) of frames begun, sorted
    void prune() const;
  };
  void malformed_frame(bool eop, uint64_t edge_ps);
  void release_partial(uint64_t edge_ps);
  void queue_frame(const rtl::op_t& op, uint64_t edge_ps);
  void plan();
  void begin(uint64_t plan_id);

  Observers& observers_;
  const unsigned nic_id_, port_;
  const Time tx_latency_, wire_latency_;
  const size_t buffer_bytes_, headroom_;
  Serializer wire_, wire_before_;  ///< with, and without, the planned frame
  DelayQueue later_;
  FrameSink sink_;

  State state_ = State::kIdle;
  std::vector<uint8_t> partial_;
  unsigned prio_ = 0;  ///< of the frame being received
  std::array<Buffer, 8> buffers_;
  std::deque<Waiting> waiting_;  ///< in order of arrival
  bool planned_ = false;
  size_t planned_index_ = 0;
  uint64_t plan_id_ = 0;
  uint64_t recent_ps_ = 0;  ///< the last accepted beat: not yet seen by ready() at that same edge
  unsigned recent_prio_ = 0;
  size_t recent_bytes_ = 0;
  unsigned to_send_ = 0;
  uint64_t tx_packets_ = 0, tx_bytes_ = 0, malformed_ = 0;
  uint64_t tx_unicast_packets_ = 0, tx_unicast_bytes_ = 0;

  struct Pause {
    uint64_t from_ps = 0, until_ps = 0;
  };
  std::array<Pause, 8> pauses_{};
  uint64_t paused_until_ = 0;  ///< the latest of them
  std::array<uint64_t, 8> rx_pause_{};
  std::array<uint64_t, 8> pause_over_ps_{};  ///< of pauses before the one in pauses_
  std::function<void()> pause_change_;
};

}  // namespace rnic::net
