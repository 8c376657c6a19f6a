// SPDX-License-Identifier: Apache-2.0
#include "rnic/net/mac.h"

#include <algorithm>
#include <cstring>

#include "rnic/core/error.h"

namespace rnic::net {
namespace {

constexpr unsigned kBeatBytes = 64;

uint64_t now_ps() { return DelayQueue::now_ps(); }
constexpr auto kModel = DelayQueue::Kind::kModel;

}  // namespace

Mac::Mac(sc_core::sc_module_name name, const Profile& profile, Observers& observers, unsigned nic_id, unsigned port)
    : sc_module(name),
      observers_(observers),
      nic_id_(nic_id),
      port_(port),
      tx_latency_(profile.time("mac.tx_latency")),
      wire_latency_(profile.time("wire.latency")),
      buffer_bytes_(profile.integer("mac.tx_buffer")),
      wire_(8000, profile.integer("mac.rate")),  // 8 bits at rate Gb/s, in ps
      later_("later") {}

void Mac::prune() const {
  while (!held_.empty() && held_.front().first < now_ps()) {
    held_bytes_ -= held_.front().second;
    held_.pop_front();
  }
}

bool Mac::ready(const Time& edge) const {
  prune();
  const uint64_t ps = to_ps(edge);
  size_t used = held_bytes_ + partial_held_;
  if (recent_ps_ >= ps) used -= recent_bytes_;  // this edge's own beat
  for (const auto& [freed, bytes] : held_) {
    if (freed >= ps) break;
    used -= bytes;
  }
  return used + kBeatBytes <= buffer_bytes_;
}

bool Mac::busy() const { return state_ == State::kFrame || to_send_ != 0; }

/// What has been buffered of a dropped frame is free from the next instant on.
void Mac::release_partial(uint64_t edge_ps) {
  if (partial_held_ != 0) held_.emplace_front(edge_ps, partial_held_);
  held_bytes_ += partial_held_;
  partial_held_ = 0;
  partial_.clear();
}

void Mac::malformed_frame(bool eop, uint64_t edge_ps) {
  ++malformed_;
  release_partial(edge_ps);
  state_ = eop ? State::kIdle : State::kSkip;
}

void Mac::accept(const rtl::mac_beat_t& beat, const Time& edge) {
  const uint64_t edge_ps = to_ps(edge);
  prune();
  if (beat.sop) {
    if (state_ == State::kFrame) malformed_frame(true, edge_ps);
    state_ = State::kFrame;
  } else if (state_ == State::kSkip) {
    if (beat.eop) state_ = State::kIdle;
    return;
  } else if (state_ == State::kIdle) {
    return malformed_frame(beat.eop, edge_ps);
  }
  const bool bytes_fit = beat.eop ? beat.bytes >= 1 && beat.bytes <= kBeatBytes : beat.bytes == kBeatBytes;
  if (!bytes_fit || partial_.size() + beat.bytes > kMaxFrameBytes) return malformed_frame(beat.eop, edge_ps);

  const size_t from = partial_.size();
  partial_.resize(from + beat.bytes);
  std::memcpy(partial_.data() + from, beat.data.data(), beat.bytes);  // byte i in bits [8i +: 8], as on the host
  partial_held_ += beat.bytes;
  recent_ps_ = edge_ps;
  recent_bytes_ = beat.bytes;
  if (beat.eop) send_frame(beat.op, edge_ps);
}

void Mac::send_frame(const rtl::op_t& op, uint64_t edge_ps) {
  state_ = State::kIdle;
  if (partial_.size() < kMinFrameBytes) partial_.resize(kMinFrameBytes, 0);
  const uint64_t earliest = edge_ps + to_ps(tx_latency_);
  const auto slot = wire_.send(earliest, kPreambleBytes + partial_.size() + kFcsBytes);
  wire_.send(slot.end_ps, kIfgBytes);  // the next frame's earliest start

  held_.emplace_back(slot.end_ps, partial_held_);
  held_bytes_ += partial_held_;
  partial_held_ = 0;
  ++to_send_;

  if (!observers_.empty()) {
    later_.at(
        from_ps(slot.start_ps),
        [this, op] {
          observers_.event(Event{EventKind::kWireFirst, now_ps(), 0, op, nic_id_, port_});
        },
        kModel);
  }
  FrameRecord frame{nic_id_, port_, slot.start_ps, slot.end_ps, op, std::move(partial_)};
  partial_ = {};
  partial_.reserve(frame.bytes.size() + kBeatBytes);  // the next frame is likely to be as long
  later_.at(
      from_ps(slot.end_ps),
      [this, frame = std::move(frame)]() mutable {
        --to_send_;
        ++tx_packets_;
        tx_bytes_ += frame.bytes.size() + kFcsBytes;
        if (!observers_.empty()) {
          observers_.event(Event{EventKind::kWireLast, frame.last_ps, 0, frame.op, nic_id_, port_});
          observers_.frame(frame);
        }
        if (sink_) later_.after(wire_latency_, [this, frame = std::move(frame)] { sink_(frame); });  // a user's
      },
      kModel);
}

}  // namespace rnic::net
