// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <optional>
#include <vector>

#include "Vtx_egress.h"
#include "rtl/bench.h"

namespace rnic::test {
namespace {

#ifndef RNIC_EGRESS_DEPTH
#define RNIC_EGRESS_DEPTH 1024
#endif
constexpr unsigned kDepth = RNIC_EGRESS_DEPTH, kLongest = 66;

using Beat = rtl::mac_beat_t;

struct Frame {
  unsigned prio = 0, port = 0, beats = 1, id = 0;
  uint64_t came = 0;  // edge of its first beat
};

Beat beat_of(const Frame& f, unsigned i) {
  Beat b;
  b.sop = i == 0, b.eop = i + 1 == f.beats;
  b.bytes = b.eop ? 1 + f.id % 64 : 64;
  b.prio = f.prio;
  b.op.qpn = f.id & 1023, b.op.psn = f.id & 0xffffff, b.op.last = f.id & 1;
  for (unsigned k = 0; k < b.data.size(); ++k) b.data[k] = (f.id * 131 + i * 17 + k) * 0x9e3779b1u;
  return b;
}

/// The packetizer before it: frames one after the other, a beat every cycle inside a frame. And what leaves is
/// compared.
struct EgressBench : Bench<Vtx_egress> {
  using Bench::Bench;
  ~EgressBench() { Verilated::threadContextp(top->contextp()); }

  std::deque<Frame> coming;  // not yet begun
  std::optional<Frame> in;   // coming in
  unsigned in_beat = 0;
  std::array<std::deque<Frame>, 8> inside;  // complete or not, not yet wholly left
  std::optional<Frame> out;                 // leaving
  unsigned out_beat = 0;
  std::vector<Frame> left;
  std::array<int, 8> held{}, turns{};  // reserved
  unsigned gap_pct = 0, ready_pct = 100;
  std::array<uint64_t, 8> free_since{};  // not paused
  bool check_rank = true;
  uint64_t still = 0;  // edges with something to send and nothing at the pins
  uint32_t strict = 0;

  void begin() {
    top->open_i = top->close_i = top->desc_i = top->drop_i = top->in_valid_i = 0;
    top->pause_i = 0, top->out_ready_i = 0;
    settle();
  }
  void pause(unsigned bits) {
    for (unsigned p = 0; p < 8; ++p) {
      if (bits >> p & 1) {
        free_since[p] = ~uint64_t{0};
      } else if (free_since[p] == ~uint64_t{0}) {
        free_since[p] = cycle;
      }
    }
    top->pause_i = bits;
  }
  bool is_strict(unsigned p) const { return strict >> p & 1; }
  /// Frames that have been there and free to go long enough for the choice to see them.
  bool ranks_before(unsigned r, const Frame& f) const {
    if (r == f.prio || inside[r].empty() || free_since[r] == ~uint64_t{0}) return false;
    const Frame& o = inside[r].front();
    if (cycle < std::max(o.came, free_since[r]) + 4) return false;
    if (is_strict(r) != is_strict(f.prio)) return is_strict(r);
    return is_strict(r) ? r > f.prio : o.came < f.came;
  }
  void describe(const Frame& f) {
    top->desc_i = 1, top->desc_prio_i = f.prio, top->desc_beats_i = f.beats;
    held[f.prio] += static_cast<int>(f.beats);
  }
  /// One edge.
  void step() {
    if (!in && !coming.empty() && !chance(gap_pct)) {
      in = coming.front();
      coming.pop_front();
      in_beat = 0;
    }
    top->in_valid_i = in.has_value();
    if (in) {
      if (in_beat == 0) in->came = cycle, inside[in->prio].push_back(*in);
      rtl::drive(top->in_i, beat_of(*in, in_beat));
      top->in_port_i = in->port;
      if (++in_beat == in->beats) in.reset();
    }
    top->out_ready_i = chance(ready_pct);
    settle();
    const bool load = !top->out_valid_o || top->out_ready_i;
    const uint8_t pause_bits = top->pause_i;
    tick();
    top->open_i = top->close_i = top->desc_i = top->drop_i = top->in_valid_i = 0;
    settle();
    if (load) loaded(pause_bits);
  }
  /// What is in the output register now was put there at the latest edge.
  void loaded(uint8_t pause_bits) {
    if (!top->out_valid_o) {
      bool any = false;
      for (unsigned p = 0; p < 8; ++p) any |= !inside[p].empty() && (pause_bits >> p & 1) == 0;
      ASSERT_FALSE(out) << "a gap in a frame";
      still = any ? still + 1 : 0;
      ASSERT_LT(still, 4u);
      return;
    }
    still = 0;
    const auto b = rtl::sample<Beat>(top->out_o);
    if (!out) {
      ASSERT_TRUE(b.sop);
      ASSERT_FALSE(inside[b.prio].empty());
      ASSERT_EQ(pause_bits >> b.prio & 1, 0) << "a frame begins while paused";
      out = inside[b.prio].front();
      inside[b.prio].pop_front();
      out_beat = 0;
      for (unsigned r = 0; check_rank && r < 8; ++r)
        ASSERT_FALSE(ranks_before(r, *out)) << r << " before " << out->prio;
    }
    ASSERT_EQ(b.pack(), beat_of(*out, out_beat).pack());
    ASSERT_EQ(top->out_port_o, out->port);
    --held[out->prio];
    if (++out_beat == out->beats) {
      left.push_back(*out);
      out.reset();
    }
  }
  bool empty() const {
    for (const auto& q : inside) {
      if (!q.empty()) return false;
    }
    return coming.empty() && !in && !out;
  }
};

// Into an empty egress: each beat is at the pins after its own edge.
TEST(TxEgressTest, BeatsPassAfterOneEdge) {
  EgressBench b;
  b.begin();
  EXPECT_TRUE(b.top->idle_o);
  Frame f{3, 0, 3, 5};
  b.describe(f);
  b.step();
  b.coming.push_back(f);
  for (int i = 0; i < 3; ++i) {
    b.step();
    EXPECT_TRUE(b.top->out_valid_o);
    EXPECT_FALSE(b.top->idle_o);
  }
  b.step();
  EXPECT_EQ(b.left.size(), 1u);
  EXPECT_FALSE(b.top->out_valid_o);
  EXPECT_TRUE(b.top->idle_o);
}

// Pause at each beat of a frame, before it and behind it: the frame under way ends, the next one of its priority waits,
// one of another priority passes, and after the pause the first one goes on.
TEST(TxEgressTest, PauseTakesEffectAtPacketBoundaries) {
  for (const unsigned beats : {1u, 2u, 3u, 7u, 66u}) {
    for (unsigned at = 0; at <= beats + 2; ++at) {
      EgressBench b;
      b.begin();
      const std::vector<Frame> frames = {Frame{2, 0, beats, 1}, Frame{2, 0, beats, 2}, Frame{5, 0, 2, 3}};
      for (const Frame& f : frames) {
        b.describe(f);
        b.step();
      }
      b.coming.assign(frames.begin(), frames.end());
      for (unsigned i = 0; i < 4 * beats + 20; ++i) {
        if (i == at) b.pause(4);
        b.step();
      }
      if (::testing::Test::HasFatalFailure()) return;
      const size_t first = at == 0 ? 0 : at <= beats ? 1 : 2;
      ASSERT_EQ(b.left.size(), first + 1) << beats << " " << at;
      ASSERT_EQ(b.left.back().id, 3u);
      b.pause(0);
      for (unsigned i = 0; i < 3 * beats + 20; ++i) b.step();
      ASSERT_EQ(b.left.size(), 3u);
      ASSERT_TRUE(b.empty());
      EXPECT_TRUE(b.top->idle_o);
    }
  }
}

// Random frames, pauses, gaps, backpressure, strict priorities and ports: every frame leaves whole, in its priority's
// order and in its turn, and what is reserved is what is inside.
class TxEgressRandom : public ::testing::TestWithParam<std::tuple<unsigned, unsigned, unsigned, bool>> {};

TEST_P(TxEgressRandom, FramesLeaveInTheirTurn) {
  const auto [ready, gap, pauses, small] = GetParam();
  const uint64_t seed = test_seed();
  SCOPED_TRACE("RNIC_TEST_SEED=" + std::to_string(seed));
  EgressBench b(seed);
  b.begin();
  b.ready_pct = ready, b.gap_pct = gap;
  b.strict = pauses == 0 ? 0 : b.rng() & b.rng() & 0xff;
  b.top->strict_i = b.strict;
  unsigned id = 0, refused = 0, dropped = 0;
  std::deque<Frame> described;
  unsigned pause = 0;
  uint64_t next_pause = 0;
  for (int i = 0; i < 20000 || !b.empty() || !described.empty(); ++i) {
    ASSERT_LT(i, 200000);
    const bool drain = i >= 20000;
    if (drain) pause = 0;
    if (!drain && b.cycle >= next_pause) {
      pause = b.chance(pauses) ? b.rng() & 0xff : 0;
      next_pause = b.cycle + 1 + b.rng() % 700;
    }
    b.pause(pause);
    // What is shown of the room is what the model says; described a little late, so three more may have come.
    for (unsigned p = 0; p < 8; ++p) {
      ASSERT_EQ(b.top->prio_ready_o >> p & 1,
                b.held[p] + static_cast<int>(kLongest) * (b.turns[p] + 1) <= static_cast<int>(kDepth));
      ASSERT_EQ(b.top->room_o >> p & 1, b.held[p] + 4 * static_cast<int>(kLongest) <= static_cast<int>(kDepth));
    }
    if (!drain && b.chance(60)) {
      Frame f;
      f.prio = small && b.chance(70) ? 1 : b.rng() % 8;
      f.port = b.rng() % 8;
      f.beats = small ? 1 + b.rng() % 3 : b.chance(20) ? 66 : 1 + b.rng() % 20;
      f.id = ++id;
      if ((b.top->room_o >> f.prio & 1) == 0) {
        ++refused;
      } else {
        b.describe(f);
        f.came = b.cycle;
        described.push_back(f);
      }
    }
    if (b.chance(30)) {  // turns under way
      const unsigned p = b.rng() % 9;
      if (p == 8 || b.top->prio_ready_o >> p & 1) {
        b.top->open_i = 1, b.top->open_prio_i = p;
        if (p < 8) ++b.turns[p];
      }
    }
    if (b.chance(40)) {
      const unsigned p = b.rng() % 9;
      if (p == 8 || b.turns[p] > 0) {
        b.top->close_i = 1, b.top->close_prio_i = p;
        if (p < 8) --b.turns[p];
      }
    }
    if (!described.empty() && described.front().came + 2 < b.cycle && b.chance(60)) {
      const Frame f = described.front();
      if (b.chance(5)) {  // its payload has failed
        b.top->drop_i = 1, b.top->drop_prio_i = f.prio, b.top->drop_beats_i = f.beats;
        b.held[f.prio] -= static_cast<int>(f.beats);
        described.pop_front();
        ++dropped;
      } else if (b.coming.size() < 2) {
        b.coming.push_back(f);
        described.pop_front();
      }
    }
    b.step();
    if (::testing::Test::HasFatalFailure()) return;
  }
  b.ready_pct = 100;
  for (int i = 0; i < 5; ++i) b.step();
  EXPECT_TRUE(b.top->idle_o);
  EXPECT_FALSE(b.top->out_valid_o);
  for (unsigned p = 0; p < 8; ++p) EXPECT_EQ(b.held[p], 0);
  EXPECT_GT(b.left.size(), 300u);
  EXPECT_GT(dropped, 5u);
}

INSTANTIATE_TEST_SUITE_P(Grid, TxEgressRandom,
                         ::testing::Combine(::testing::Values(15u, 60u, 100u), ::testing::Values(0u, 50u),
                                            ::testing::Values(0u, 40u, 80u), ::testing::Bool()));

// A paused priority fills up and is refused; the others go on at full rate.
TEST(TxEgressTest, PausedPriorityHoldsUpNoOther) {
  EgressBench b;
  b.begin();
  b.pause(1);
  unsigned id = 0, refused = 0;
  std::deque<Frame> described;
  for (int i = 0; i < 8000; ++i) {
    Frame f{i % 40 == 0 ? 0u : 4u, 0, 20, ++id};
    if (i % 20 == 0) {
      if (b.top->room_o >> f.prio & 1) {
        b.describe(f);
        described.push_back(f);
      } else {
        ASSERT_EQ(f.prio, 0u);
        ++refused;
        f.prio = 6;
        b.describe(f);
        described.push_back(f);
      }
    } else if (i % 20 == 10 && !described.empty()) {
      b.coming.push_back(described.front());
      described.pop_front();
    }
    b.step();
    if (::testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(refused, 100u);
  EXPECT_GT(b.left.size(), 300u);
  for (const Frame& f : b.left) EXPECT_NE(f.prio, 0u);
  b.pause(0);
  for (int i = 0; i < 4000 && !b.empty(); ++i) b.step();
  EXPECT_TRUE(b.empty());
}

}  // namespace
}  // namespace rnic::test
