// SPDX-License-Identifier: Apache-2.0
#include "rnic/net/mac.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace {

using namespace rnic;
using net::Mac;

uint64_t now() { return to_ps(sc_core::sc_time_stamp()); }

struct Recorder : Observer {
  std::vector<Event> events;
  std::vector<FrameRecord> frames;
  void on_event(const Event& e) override { events.push_back(e); }
  void on_frame(const FrameRecord& f) override { frames.push_back(f); }
};

/// A MAC with round figures and a source of beats: 1 ns clock, 40 ns transmit latency, 10 ns of wire.
struct Bench {
  Profile profile;
  Observers observers;
  Recorder recorder;
  std::unique_ptr<Mac> mac;
  struct Arrival {
    uint64_t ps;
    FrameRecord frame;
  };
  std::vector<Arrival> arrived;

  explicit Bench(unsigned rate = 400, unsigned buffer = 32768) : profile(Profile::load("seed-400g")) {
    for (const auto& kv :
         {std::string("mac.tx_latency=40"), std::string("wire.latency=10"), fmt::format("mac.rate={}", rate),
          fmt::format("mac.tx_buffer={}", buffer), std::string("mac.pause_headroom=6400")}) {
      profile.set(kv);
    }
    observers.add(&recorder);
    mac = std::make_unique<Mac>("mac", profile, observers, 3, 1);
    mac->connect([this](const FrameRecord& f) { arrived.push_back({now(), f}); });
  }

  static std::vector<uint8_t> frame(unsigned n, uint64_t seed) {
    std::mt19937_64 rng(seed);
    std::vector<uint8_t> f(n);
    for (auto& b : f) b = static_cast<uint8_t>(rng());
    return f;
  }

  static rtl::mac_beat_t beat(const std::vector<uint8_t>& f, size_t from, uint32_t psn) {
    rtl::mac_beat_t b;
    const size_t n = std::min<size_t>(64, f.size() - from);
    b.sop = from == 0;
    b.eop = from + n == f.size();
    b.bytes = static_cast<uint8_t>(n);
    b.op.psn = psn;
    for (size_t i = 0; i < n; ++i) b.data[i / 4] |= uint32_t{f[from + i]} << (8 * (i % 4));
    return b;
  }

  /// Sends a frame, one beat a cycle as soon as the MAC takes it; returns the time of the last beat.
  uint64_t send(const std::vector<uint8_t>& f, uint32_t psn) {
    uint64_t last = 0;
    for (size_t from = 0; from < f.size(); from += 64) {
      for (unsigned waited = 0; !mac->ready(sc_core::sc_time_stamp(), 0); ++waited) {
        if (waited == 10000) throw std::runtime_error("the MAC stays not ready");
        sc_core::sc_start(from_ps(1000));
      }
      mac->accept(beat(f, from, psn));
      last = now();
      sc_core::sc_start(from_ps(1000));
    }
    return last;
  }
};

// First bit tx_latency after the last beat, last bit preamble + frame + FCS later, arrival one wire latency after that,
// at every rate and size.
TEST(MacTest, TimesToThePicosecond) {
  Bench b;
  for (const unsigned size : {60u, 64u, 65u, 128u, 142u, 1086u, 4158u, 9216u}) {
    const auto f = b.frame(size, size);
    const uint64_t accepted = b.send(f, size);
    sc_core::sc_start(from_ps(1'000'000));
    ASSERT_EQ(b.recorder.frames.size(), 1u);
    const auto& r = b.recorder.frames[0];
    EXPECT_EQ(r.first_ps, accepted + 40000) << size;
    EXPECT_EQ(r.last_ps, r.first_ps + (8 + size + 4) * 20) << size;  // 400 Gb/s: 20 ps a byte
    EXPECT_EQ(r.bytes, f);
    EXPECT_EQ(r.op.psn, size);
    EXPECT_EQ(r.nic, 3u);
    EXPECT_EQ(r.port, 1u);
    ASSERT_EQ(b.recorder.events.size(), 2u);
    EXPECT_EQ(b.recorder.events[0].kind, EventKind::kWireFirst);
    EXPECT_EQ(b.recorder.events[0].ps, r.first_ps);
    EXPECT_EQ(b.recorder.events[1].kind, EventKind::kWireLast);
    EXPECT_EQ(b.recorder.events[1].ps, r.last_ps);
    ASSERT_EQ(b.arrived.size(), 1u);
    EXPECT_EQ(b.arrived[0].ps, r.last_ps + 10000);
    EXPECT_EQ(b.arrived[0].frame.bytes, f);
    b.recorder.frames.clear(), b.recorder.events.clear(), b.arrived.clear();
  }
  EXPECT_EQ(b.mac->tx_packets(), 8u);
  EXPECT_EQ(b.mac->tx_bytes(), 60u + 64 + 65 + 128 + 142 + 1086 + 4158 + 9216 + 8 * 4);
}

// Frames waiting for the wire follow one another with exactly preamble, FCS and 12 B of gap, at every rate.
void back_to_back(unsigned rate) {
  Bench b(rate);
  const unsigned sizes[] = {60, 142, 1086, 64, 4158, 61};
  constexpr unsigned kFrames = 60;
  for (unsigned i = 0; i < kFrames; ++i) b.send(b.frame(sizes[i % 6], i), i);
  sc_core::sc_start(from_ps(20'000'000));
  ASSERT_EQ(b.recorder.frames.size(), kFrames);
  // From the first frame that had to wait on, starts follow from the byte count alone.
  unsigned waited = 0;
  for (unsigned i = 1; i < kFrames; ++i) {
    const auto &p = b.recorder.frames[i - 1], &f = b.recorder.frames[i];
    EXPECT_GE(f.first_ps, p.last_ps + 12 * 8000 / rate);
    EXPECT_EQ(f.bytes, b.frame(sizes[i % 6], i));
    waited += f.first_ps == p.last_ps + 12 * 8000 / rate;
  }
  EXPECT_GT(waited, kFrames / 2);
  EXPECT_EQ(b.arrived.size(), kFrames);
}
TEST(MacTest, BackToBackAt100G) { back_to_back(100); }
TEST(MacTest, BackToBackAt200G) { back_to_back(200); }
TEST(MacTest, BackToBackAt400G) { back_to_back(400); }

// A saturated port carries exactly its line rate: n frames of 84 B on the wire take n * 84 * 20 ps.
TEST(MacTest, SaturatedPortCarriesExactlyTheLineRate) {
  Bench b(400);
  for (unsigned i = 0; i < 2000; ++i) b.send(b.frame(60, 1), i);
  sc_core::sc_start(from_ps(10'000'000));
  ASSERT_EQ(b.recorder.frames.size(), 2000u);
  EXPECT_EQ(b.recorder.frames[1999].first_ps - b.recorder.frames[0].first_ps, 1999u * 84 * 20);
}

// ready() falls when a further beat might not fit, whatever the state, and returns after the last bit of a frame; what
// happens at an edge is not seen by that edge.
TEST(MacTest, BufferGivesBackpressure) {
  Bench b(100, 9280);
  const auto f = b.frame(4096, 1);
  b.send(f, 0);
  b.send(f, 1);
  // 8192 B held: 17 more beats fit.
  const auto g = b.frame(9000, 2);
  size_t beats = 0;
  for (; b.mac->ready(sc_core::sc_time_stamp(), 0); ++beats) {
    ASSERT_LT(beats, 100u);
    b.mac->accept(b.beat(g, beats * 64, 2));
    EXPECT_TRUE(b.mac->ready(sc_core::sc_time_stamp(), 0)) << "an edge saw its own beat";
    sc_core::sc_start(from_ps(1000));
  }
  EXPECT_EQ(beats, 17u);
  // The first frame's last beat was accepted at 63 ns; its last bit leaves 40 ns + 4108 B x 80 ps later.
  const uint64_t last = 63000 + 40000 + 4108 * 80;
  sc_core::sc_start(from_ps(last - now() - 1));
  EXPECT_FALSE(b.mac->ready(from_ps(last), 0));
  EXPECT_TRUE(b.mac->ready(from_ps(last + 1), 0));
  sc_core::sc_start(from_ps(1));
  EXPECT_FALSE(b.mac->ready(from_ps(last), 0)) << "an edge saw the last bit that leaves at it";
  sc_core::sc_start(from_ps(1));
  ASSERT_EQ(b.recorder.frames.size(), 1u);
  EXPECT_EQ(b.recorder.frames[0].last_ps, last);
  EXPECT_TRUE(b.mac->ready(from_ps(last + 1), 0));
  EXPECT_TRUE(b.mac->busy());
}

/// Frames of 1000 B of two priorities in turn, all in the MAC at 1 us.
void fill_two_priorities(Bench& b, unsigned frames) {
  for (unsigned i = 0; i < frames; ++i) {
    const auto f = b.frame(1000, i);
    for (size_t from = 0; from < f.size(); from += 64) {
      auto beat = b.beat(f, from, i);
      beat.prio = i % 2 == 0 ? 3 : 4;
      b.mac->accept(beat);
      sc_core::sc_start(from_ps(1000));
    }
  }
  sc_core::sc_start(from_ps(1'000'000 - now()));
}

// A paused priority stops behind the frame on the wire, for exactly the time given; the other one passes it at line
// rate; each stays in order and nothing is lost.
TEST(MacTest, PauseStopsItsPriorityAlone) {
  Bench b(100);
  fill_two_priorities(b, 40);
  const uint64_t from = now();
  b.mac->pause(3, from_ps(2'000'000));
  EXPECT_EQ(b.mac->paused(from_ps(from)), 0) << "an edge saw what happened at it";
  EXPECT_EQ(b.mac->paused(from_ps(from + 1)), 1 << 3);
  EXPECT_EQ(b.mac->paused(from_ps(from + 2'000'000)), 1 << 3);
  EXPECT_EQ(b.mac->paused(from_ps(from + 2'000'001)), 0);
  sc_core::sc_start(from_ps(10'000'000));
  ASSERT_EQ(b.recorder.frames.size(), 40u);
  std::map<unsigned, std::vector<uint32_t>> order;
  unsigned passed = 0;
  uint64_t first_again = 0;
  const uint64_t gap = 12 * 80;
  for (size_t i = 0; i < 40; ++i) {
    const auto& f = b.recorder.frames[i];
    order[f.op.psn % 2].push_back(f.op.psn);
    EXPECT_EQ(f.bytes, b.frame(1000, f.op.psn));
    if (f.op.psn % 2 == 0 && f.first_ps > from) {
      EXPECT_GE(f.first_ps, from + 2'000'000);
      if (first_again == 0) first_again = f.first_ps;
    }
    passed += f.op.psn % 2 == 1 && f.first_ps > from && f.first_ps < from + 2'000'000;
    if (i != 0 && f.first_ps < from + 1'500'000) EXPECT_EQ(f.first_ps, b.recorder.frames[i - 1].last_ps + gap) << i;
  }
  EXPECT_EQ(passed, 14u);  // all that were left: six had gone before
  EXPECT_LE(first_again, from + 2'000'000 + 1024 * 80);
  for (auto& [parity, psns] : order) EXPECT_TRUE(std::is_sorted(psns.begin(), psns.end())) << parity;
  EXPECT_EQ(b.mac->rx_pause(3), 1u);
  EXPECT_EQ(b.mac->rx_pause(4), 0u);
}

// The time in which a priority was paused: up to now while it lasts, whole pauses once each, until power is gone.
TEST(MacTest, PauseDurationIsCounted) {
  Bench b(100);
  const auto run = [](uint64_t ps) { sc_core::sc_start(from_ps(ps)); };
  run(1'000'000);
  b.mac->pause(3, from_ps(5'000'000));
  run(2'000'000);
  EXPECT_EQ(b.mac->rx_pause_ps(3), 2'000'000u);
  b.mac->pause(3, from_ps(5'000'000));  // prolonged by 2 us
  run(8'000'000);
  EXPECT_EQ(b.mac->rx_pause_ps(3), 7'000'000u);
  b.mac->pause(3, from_ps(4'000'000));
  run(1'000'000);
  b.mac->pause(3, sc_core::SC_ZERO_TIME);
  run(4'000'000);
  EXPECT_EQ(b.mac->rx_pause_ps(3), 8'000'000u);
  b.mac->pause(3, from_ps(4'000'000));
  run(500'000);
  b.mac->power_off();
  run(4'000'000);
  EXPECT_EQ(b.mac->rx_pause_ps(3), 8'500'000u);
  EXPECT_EQ(b.mac->rx_pause_ps(0), 0u);
  EXPECT_EQ(b.mac->rx_pause(3), 4u);
}

// Frames to one receiver are counted apart from those to a group.
TEST(MacTest, UnicastFramesAreCounted) {
  Bench b(100);
  for (unsigned i = 0; i < 6; ++i) {
    auto frame = b.frame(100 + i, i);
    frame[0] = i % 3 == 0 ? 0x01 : 0x02;
    b.send(frame, i);
  }
  sc_core::sc_start(from_ps(10'000'000));
  EXPECT_EQ(b.mac->tx_packets(), 6u);
  EXPECT_EQ(b.mac->tx_unicast_packets(), 4u);
  EXPECT_EQ(b.mac->tx_unicast_bytes(), 101u + 102 + 104 + 105);
}

// A pause of 0 lets it go on at once; a further one while paused counts from its own arrival.
TEST(MacTest, PauseEndsEarlyOrIsProlonged) {
  Bench b(100);
  fill_two_priorities(b, 2);
  sc_core::sc_start(from_ps(1'000'000));
  b.recorder.frames.clear();
  b.mac->pause(0, from_ps(5'000'000));
  sc_core::sc_start(from_ps(1'000'000));
  b.mac->pause(0, from_ps(500'000));
  b.send(b.frame(64, 7), 7);
  const uint64_t until = 2'000'000 + 1'000'000 + 500'000;
  EXPECT_EQ(b.mac->paused(from_ps(until)), 1);
  sc_core::sc_start(from_ps(1'000'000));
  ASSERT_EQ(b.recorder.frames.size(), 1u);
  EXPECT_EQ(b.recorder.frames[0].first_ps, until);
  b.mac->pause(0, from_ps(5'000'000));
  b.send(b.frame(64, 8), 8);
  sc_core::sc_start(from_ps(300'000));
  EXPECT_EQ(b.recorder.frames.size(), 1u);
  const uint64_t resumed = now();
  b.mac->pause(0, sc_core::SC_ZERO_TIME);
  sc_core::sc_start(from_ps(100'000));
  ASSERT_EQ(b.recorder.frames.size(), 2u);
  EXPECT_EQ(b.recorder.frames[1].first_ps, resumed);
  EXPECT_FALSE(b.mac->busy());
}

// Each priority has a buffer of its own: a paused one fills up without holding up another.
TEST(MacTest, PausedPriorityFillsItsOwnBuffer) {
  Bench b(100, 9280);
  b.mac->pause(0, from_ps(50'000'000));
  sc_core::sc_start(from_ps(1000));
  unsigned n = 0;
  while (b.mac->ready(sc_core::sc_time_stamp(), 0)) {
    ASSERT_LT(n, 300u);
    b.mac->accept(b.beat(b.frame(64, n), 0, n));
    ++n;
    sc_core::sc_start(from_ps(1000));
  }
  EXPECT_EQ(n, 245u);  // the buffer and the headroom of a paused priority
  EXPECT_TRUE(b.mac->ready(sc_core::sc_time_stamp(), 1));
  sc_core::sc_start(from_ps(60'000'000));
  EXPECT_EQ(b.recorder.frames.size(), n);
  EXPECT_TRUE(b.mac->ready(sc_core::sc_time_stamp(), 0));
}

// A frame shorter than Ethernet's minimum is padded with zeros.
TEST(MacTest, ShortFramesArePadded) {
  Bench b;
  auto f = b.frame(58, 9);
  b.send(f, 0);
  EXPECT_TRUE(b.mac->busy());
  sc_core::sc_start(from_ps(1'000'000));
  EXPECT_FALSE(b.mac->busy());
  f.resize(60, 0);
  ASSERT_EQ(b.recorder.frames.size(), 1u);
  EXPECT_EQ(b.recorder.frames[0].bytes, f);
  EXPECT_EQ(b.mac->tx_bytes(), 64u);
}

// Beats outside a frame, frames cut short, too long or with wrong byte counts are dropped, counted once each, give
// their buffer back, and the next good frame goes out.
TEST(MacTest, MalformedFramesAreDroppedAndCounted) {
  Bench b(400, 9280);
  const auto clock = [] { sc_core::sc_start(from_ps(1000)); };
  const auto f = b.frame(200, 1);
  const auto put = [&](rtl::mac_beat_t beat) {
    b.mac->accept(beat);
    clock();
  };
  put(b.beat(f, 64, 0));  // no frame open
  put(b.beat(f, 128, 0));
  put(b.beat(f, 192, 0));
  EXPECT_EQ(b.mac->malformed(), 1u);
  put(b.beat(f, 0, 0));
  b.send(f, 1);  // cuts the one before short
  EXPECT_EQ(b.mac->malformed(), 2u);
  auto wrong = b.beat(f, 0, 0);
  wrong.bytes = 63;  // not the last beat
  put(wrong);
  put(b.beat(f, 192, 0));
  wrong = b.beat(f, 192, 0);
  wrong.sop = true;
  wrong.bytes = 0;
  put(wrong);
  wrong.bytes = 65;
  put(wrong);
  EXPECT_EQ(b.mac->malformed(), 5u);
  b.send(b.frame(9217, 1), 2);
  EXPECT_EQ(b.mac->malformed(), 6u);
  for (unsigned i = 0; i < 5; ++i) b.send(b.frame(9216, i), 3 + i);  // each needs the whole buffer
  sc_core::sc_start(from_ps(10'000'000));
  EXPECT_EQ(b.mac->malformed(), 6u);
  ASSERT_EQ(b.arrived.size(), 6u);
  EXPECT_EQ(b.arrived[0].frame.bytes, f);
  EXPECT_EQ(b.arrived[5].frame.bytes, b.frame(9216, 4));
  EXPECT_FALSE(b.mac->busy());
}

}  // namespace
