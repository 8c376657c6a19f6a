// SPDX-License-Identifier: Apache-2.0
#include "rnic/net/mac.h"

#include <algorithm>
#include <cstring>

#include "rnic/core/error.h"

namespace rnic::net {
namespace {

constexpr unsigned kBeatBytes = 64;
constexpr uint8_t kGroupAddress = 1;  // in the first byte of the destination

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
      headroom_(profile.integer("mac.pause_headroom")),
      wire_(8000, profile.integer("mac.rate")),  // 8 bits at rate Gb/s, in ps
      wire_before_(wire_),
      later_("later") {}

void Mac::Buffer::prune() const {
  while (!freeing.empty() && freeing.front().first < now_ps()) {
    used -= freeing.front().second;
    freeing.pop_front();
  }
}

bool Mac::ready(const Time& edge, unsigned prio) const {
  const Buffer& b = buffers_.at(prio);
  b.prune();
  const uint64_t ps = to_ps(edge);
  size_t used = b.used;
  if (recent_ps_ >= ps && recent_prio_ == prio) used -= recent_bytes_;  // this edge's own beat
  for (const auto& [freed, bytes] : b.freeing) {
    if (freed >= ps) break;
    used -= bytes;
  }
  const bool waits = (paused(edge) >> prio & 1) != 0;
  return used + kBeatBytes <= buffer_bytes_ + (waits ? headroom_ : 0);
}

bool Mac::busy() const { return state_ == State::kFrame || to_send_ != 0; }

/// What has been buffered of a dropped frame is free from the next instant on.
void Mac::release_partial(uint64_t edge_ps) {
  if (!partial_.empty()) buffers_[prio_].freeing.emplace_front(edge_ps, partial_.size());
  partial_.clear();
}

void Mac::malformed_frame(bool eop, uint64_t edge_ps) {
  ++malformed_;
  release_partial(edge_ps);
  state_ = eop ? State::kIdle : State::kSkip;
}

void Mac::cut_off(const Time& edge) {
  release_partial(to_ps(edge));
  state_ = State::kIdle;
}

void Mac::power_off() {
  cut_off(DelayQueue::now());
  if (planned_) {
    wire_ = wire_before_;
    planned_ = false;
    ++plan_id_;  // what was to begin does not
  }
  for (unsigned prio = 0; prio < pauses_.size(); ++prio) pause_over_ps_[prio] = rx_pause_ps(prio);
  for (const Waiting& w : waiting_) buffers_[w.prio].used -= w.held;
  to_send_ -= static_cast<unsigned>(waiting_.size());
  waiting_.clear();
  pauses_ = {};
  paused_until_ = 0;
}

void Mac::accept(const rtl::mac_beat_t& beat, const Time& edge) {
  const uint64_t edge_ps = to_ps(edge);
  if (beat.sop) {
    if (state_ == State::kFrame) malformed_frame(true, edge_ps);
    state_ = State::kFrame;
    prio_ = beat.prio;
  } else if (state_ == State::kSkip) {
    if (beat.eop) state_ = State::kIdle;
    return;
  } else if (state_ == State::kIdle) {
    return malformed_frame(beat.eop, edge_ps);
  }
  const bool bytes_fit = beat.eop ? beat.bytes >= 1 && beat.bytes <= kBeatBytes : beat.bytes == kBeatBytes;
  if (!bytes_fit || partial_.size() + beat.bytes > kMaxFrameBytes) return malformed_frame(beat.eop, edge_ps);

  buffers_[prio_].prune();
  const size_t from = partial_.size();
  partial_.resize(from + beat.bytes);
  std::memcpy(partial_.data() + from, beat.data.data(), beat.bytes);  // byte i in bits [8i +: 8], as on the host
  buffers_[prio_].used += beat.bytes;
  recent_ps_ = edge_ps;
  recent_prio_ = prio_;
  recent_bytes_ = beat.bytes;
  if (beat.eop) queue_frame(beat.op, edge_ps);
}

void Mac::queue_frame(const rtl::op_t& op, uint64_t edge_ps) {
  state_ = State::kIdle;
  const size_t held = partial_.size();
  if (partial_.size() < kMinFrameBytes) partial_.resize(kMinFrameBytes, 0);
  waiting_.push_back({edge_ps + to_ps(tx_latency_), prio_, held, {nic_id_, port_, 0, 0, op, std::move(partial_)}});
  partial_ = {};
  partial_.reserve(waiting_.back().frame.bytes.size() + kBeatBytes);  // the next frame is likely to be as long
  ++to_send_;
  plan();
}

/// Fixes the start of the next frame: the oldest one whose priority is not paused.
void Mac::plan() {
  if (planned_) return;
  const uint64_t now = now_ps();
  const auto next = std::find_if(waiting_.begin(), waiting_.end(), [&](const Waiting& w) {
    const Pause& p = pauses_[w.prio];
    return p.from_ps > now || now >= p.until_ps;
  });
  if (next == waiting_.end()) return;
  planned_ = true;
  planned_index_ = static_cast<size_t>(next - waiting_.begin());
  wire_before_ = wire_;
  const auto slot = wire_.send(std::max(next->ready_ps, now), kPreambleBytes + next->frame.bytes.size() + kFcsBytes);
  wire_.send(slot.end_ps, kIfgBytes);  // the next frame's earliest start
  next->frame.first_ps = slot.start_ps;
  next->frame.last_ps = slot.end_ps;
  later_.at(
      from_ps(slot.start_ps), [this, id = ++plan_id_] { begin(id); }, kModel);
}

void Mac::begin(uint64_t plan_id) {
  if (!planned_ || plan_id != plan_id_) return;  // a pause has come in between
  planned_ = false;
  Waiting w = std::move(waiting_[planned_index_]);
  waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(planned_index_));
  FrameRecord& frame = w.frame;
  buffers_[w.prio].freeing.emplace_back(frame.last_ps, w.held);
  if (!observers_.empty()) {
    observers_.event(Event{EventKind::kWireFirst, frame.first_ps, 0, frame.op, nic_id_, port_});
  }
  later_.at(
      from_ps(frame.last_ps),
      [this, frame = std::move(frame)]() mutable {
        --to_send_;
        ++tx_packets_;
        tx_bytes_ += frame.bytes.size() + kFcsBytes;
        if ((frame.bytes[0] & kGroupAddress) == 0) {
          ++tx_unicast_packets_;
          tx_unicast_bytes_ += frame.bytes.size();
        }
        if (!observers_.empty()) {
          observers_.event(Event{EventKind::kWireLast, frame.last_ps, 0, frame.op, nic_id_, port_});
          observers_.frame(frame);
        }
        if (sink_) later_.after(wire_latency_, [this, frame = std::move(frame)] { sink_(frame); });  // a user's
      },
      kModel);
  plan();
}

void Mac::pause(unsigned prio, const Time& duration) {
  Pause& p = pauses_.at(prio);
  const uint64_t now = now_ps();
  if (p.from_ps >= now || now > p.until_ps) {  // else it goes on
    pause_over_ps_[prio] = rx_pause_ps(prio);
    p.from_ps = now;
  }
  p.until_ps = now + to_ps(duration);
  paused_until_ = std::max(paused_until_, p.until_ps);
  rx_pause_[prio] += duration != sc_core::SC_ZERO_TIME;
  if (planned_ && p.until_ps > now && waiting_[planned_index_].prio == prio &&
      waiting_[planned_index_].frame.first_ps > now) {
    planned_ = false;  // it has not begun: others go first
    wire_ = wire_before_;
  }
  plan();
  if (pause_change_) pause_change_();
  if (p.until_ps == now) return;
  later_.at(
      from_ps(p.until_ps),
      [this] {
        plan();
        if (pause_change_) pause_change_();
      },
      kModel);
}

uint64_t Mac::rx_pause_ps(unsigned prio) const {
  const Pause& p = pauses_.at(prio);
  const uint64_t until = std::min(now_ps(), p.until_ps);
  return pause_over_ps_[prio] + (until > p.from_ps ? until - p.from_ps : 0);
}

uint8_t Mac::paused(const Time& edge) const {
  const uint64_t ps = to_ps(edge);
  if (ps > paused_until_) return 0;
  uint8_t mask = 0;
  for (unsigned i = 0; i < pauses_.size(); ++i) {
    if (pauses_[i].from_ps < ps && ps <= pauses_[i].until_ps) mask |= static_cast<uint8_t>(1u << i);
  }
  return mask;
}

}  // namespace rnic::net
