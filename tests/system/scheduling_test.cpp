// SPDX-License-Identifier: Apache-2.0
// Shares and rates of QPs as a program sees them.
#include <map>

#include "support/isolate.h"
#include "system/fixture.h"

namespace rnic::test {
namespace {

class SchedulingTest : public SystemTest {
 protected:
  struct Load {
    host::QpPath path;
    unsigned messages = 0;
    uint64_t length = 0;
  };
  /// Each load on a QP of its own, all posted at once; completions' time stamps of each, in ns.
  std::vector<std::vector<uint64_t>> completions(const std::vector<Load>& loads, const SystemOptions& options = {}) {
    std::vector<std::vector<uint64_t>> times(loads.size());
    make(options);
    EXPECT_EQ(run([&] {
                const auto mr = gpu_buffer(1 << 20);
                auto* cq = ctx().create_cq(10);
                std::map<uint32_t, size_t> of;
                std::vector<host::Qp*> qps;
                unsigned n = 0;
                for (size_t i = 0; i < loads.size(); ++i) {
                  qps.push_back(ctx().create_qp(cq, {}));
                  ctx().modify_qp_rts(qps.back(), loads[i].path);
                  of[qps.back()->qpn] = i;
                }
                for (size_t i = 0; i < loads.size(); ++i) {
                  std::vector<host::SendWr> wrs(loads[i].messages, write(mr, loads[i].length));
                  ctx().post_send(qps[i], wrs);
                  n += loads[i].messages;
                }
                for (const auto& wc : complete(cq, n)) {
                  EXPECT_EQ(wc.status, host::WcStatus::kSuccess);
                  times[of.at(wc.qpn)].push_back(wc.timestamp_ns);
                }
              }),
              RunEnd::kDone);
    EXPECT_EQ(system().node().nic->assertion_failures(), 0u);
    return times;
  }
};

// Weights 1:2:4 of three QPs that always have work hold on the wire.
TEST_F(SchedulingTest, WeightsHold) {
  std::vector<Load> loads(3);
  for (unsigned i = 0; i < 3; ++i) loads[i].path.weight = 1u << i, loads[i].messages = 40, loads[i].length = 65536;
  const auto t = completions(loads);
  // From the first completion of the one posted last to its last one all have work: 39 messages of its own.
  const uint64_t begin = t[2].front(), end = t[2].back();
  for (unsigned i = 0; i < 3; ++i) {
    const auto n = std::count_if(t[i].begin(), t[i].end(), [&](uint64_t ns) { return ns > begin && ns <= end; });
    EXPECT_NEAR(static_cast<double>(n), 39.0 * (1u << i) / 4, 1.1) << i;
  }
}

// A rate holds to a percent, beside a QP that takes the rest of the link; its burst leaves at once.
TEST_F(SchedulingTest, RateHolds) {
  std::vector<Load> loads(2);
  loads[0].path.rate_limit_gbps = 20, loads[0].messages = 50, loads[0].length = 4096;
  loads[1].messages = 30, loads[1].length = 262144;
  const auto t = completions(loads);
  const double ns = static_cast<double>(t[0].back() - t[0][9]);
  EXPECT_NEAR(ns, 40 * 4170 * 8 / 20.0, 0.01 * 40 * 4170 * 8 / 20.0);
  EXPECT_LT(t[0][2] - t[0][0], 1200u);
}

// A QP with a rate that is alone, too, sends a long message packet by packet at its rate, behind the burst.
TEST_F(SchedulingTest, LongMessageAloneKeepsItsRate) {
  std::vector<Load> loads(1);
  loads[0].path.rate_limit_gbps = 20, loads[0].path.rate_burst = 8192;
  loads[0].messages = 1, loads[0].length = 40 * 4096;
  completions(loads);
  ASSERT_EQ(recorder.frames.size(), 40u);
  constexpr double kPacketPs = 4170 * 8e3 / 20;
  for (size_t i = 6; i < recorder.frames.size(); ++i) {
    const auto gap = static_cast<double>(recorder.frames[i].first_ps - recorder.frames[i - 1].first_ps);
    EXPECT_NEAR(gap, kPacketPs, 0.02 * kPacketPs) << "packet " << i;
  }
}

// A QP held back alone: the clock stands still between its packets, and nothing comes at another time for it.
TEST_F(SchedulingTest, ClockStandsStillBetweenPacketsOfASlowQp) {
  std::string text[2];
  for (const bool skip : {true, false}) {
    text[skip] = isolated([&] {
      SystemOptions options;
      options.skip_idle = skip;
      std::vector<Load> loads(2);
      for (unsigned i = 0; i < 2; ++i) {
        loads[i].path.rate_limit_gbps = 0.7 + 0.4 * i, loads[i].path.rate_burst = 0;
        loads[i].messages = 3, loads[i].length = 6000;
      }
      std::string out;
      for (const auto& times : completions(loads, options)) {
        for (const uint64_t ns : times) out += std::to_string(ns) + " ";
      }
      if (skip) {
        EXPECT_LT(system().node().nic->clocked_cycles(), 40000u);
      }
      return out;
    });
  }
  EXPECT_EQ(text[0], text[1]);
  EXPECT_FALSE(text[0].empty());
}

/// Bytes on the wire of each QP, Ethernet header to FCS, of frames that begin in a span of time.
struct Wire : Observer {
  uint64_t from_ps = 0, to_ps = ~uint64_t{0};
  std::map<uint32_t, uint64_t> bytes;
  void on_frame(const FrameRecord& f) override {
    if (f.first_ps >= from_ps && f.first_ps < to_ps) bytes[f.op.qpn] += f.bytes.size() + 4;
  }
};

class LongMessagesTest : public SystemTest {
 protected:
  /// Runs for a time, whatever is still to send.
  System& make_for(const Time& duration) {
    SystemOptions options;
    options.max_sim_time = duration;
    System& system = make(options);
    system.allow_left_over("the messages are longer than the run");
    return system;
  }
  /// A QP that sends 2 GiB.
  host::Qp* long_sender(host::Cq* cq, const host::Mr& mr, const host::QpPath& path) {
    auto* qp = ctx().create_qp(cq, {});
    ctx().modify_qp_rts(qp, path);
    ctx().post_send(qp, write(mr, uint64_t{1} << 31));
    return qp;
  }
};

// Weights 1:2:4 hold within 2 % over a millisecond, and the link is full.
TEST_F(LongMessagesTest, WeightsHoldOverAMillisecond) {
  make_for(Time(1020, sc_core::SC_US));
  Wire wire;
  wire.from_ps = 15'000'000;
  wire.to_ps = 1'015'000'000;
  system().observers().add(&wire);
  std::vector<uint32_t> qpns;
  run([&] {
    const auto mr = gpu_buffer(uint64_t{1} << 31);
    auto* cq = ctx().create_cq(4);
    for (unsigned weight : {1, 2, 4}) {
      host::QpPath path;
      path.weight = static_cast<uint8_t>(weight);
      qpns.push_back(long_sender(cq, mr, path)->qpn);
    }
  });
  ASSERT_EQ(wire.bytes.size(), 3u);
  double all = 0;
  for (const auto& [qpn, bytes] : wire.bytes) all += static_cast<double>(bytes);
  for (unsigned i = 0; i < 3; ++i) {
    const double share = static_cast<double>(wire.bytes[qpns[i]]) / all;
    EXPECT_NEAR(share, (1u << i) / 7.0, 0.02 * (1u << i) / 7.0) << "weight " << (1u << i);
  }
  // 4170 B of frame take 4190 B of the wire.
  EXPECT_GT(all, 0.99 * 50e6 * 4170 / 4190);
}

// A 64 B message of an idle QP waits for what is under way already and for one packet of each busy QP, not for their
// 2 GiB: at most kBound.
TEST_F(LongMessagesTest, SmallMessagePassesLongOnes) {
  constexpr unsigned kBusy = 8;
  // Read and not begun 64 KiB, the MAC's buffer 32 KiB, a packet of each, all at 20 ps a byte, and an unloaded send.
  constexpr uint64_t kBoundPs = (65536 + 32768 + kBusy * 4190) * 20 + 300'000;
  make_for(Time(400, sc_core::SC_US));
  struct Waits : Observer {
    uint32_t qpn = ~0u;
    uint64_t doorbell = 0;
    std::vector<uint64_t> ps;
    void on_event(const Event& e) override {
      if (e.op.qpn != qpn) return;
      if (e.kind == EventKind::kDbPins) doorbell = e.ps;
      if (e.kind == EventKind::kWireFirst) ps.push_back(e.ps - doorbell);
    }
  } waits;
  system().observers().add(&waits);
  run([&] {
    const auto mr = gpu_buffer(uint64_t{1} << 31);
    auto* cq = ctx().create_cq(4);
    auto* small_cq = ctx().create_cq(4);
    auto* small = ctx().create_qp(small_cq, {});
    ctx().modify_qp_rts(small, {});
    for (unsigned i = 0; i < kBusy; ++i) long_sender(cq, mr, {});
    sc_core::wait(Time(10, sc_core::SC_US));
    waits.qpn = small->qpn;
    for (unsigned i = 0; i < 60; ++i) {
      ctx().post_send(small, write(mr, 64));
      complete(small_cq, 1);
      sc_core::wait(Time(1000 + 137 * (i % 11), sc_core::SC_NS));
    }
  });
  ASSERT_EQ(waits.ps.size(), 60u);
  const uint64_t longest = *std::max_element(waits.ps.begin(), waits.ps.end());
  RecordProperty("longest_wait_ps", std::to_string(longest));
  EXPECT_LE(longest, kBoundPs);
  EXPECT_GT(longest, 300'000u);  // it did wait
}

// A pause stops its priority behind the frame on the wire; the other one takes the whole link; nothing is lost.
TEST_F(LongMessagesTest, PauseStopsItsPriorityAlone) {
  make_for(Time(90, sc_core::SC_US));
  constexpr uint64_t kPause = 30'000'000, kLength = 20'000'000;
  Wire before, during, after;
  before.from_ps = 15'000'000, before.to_ps = kPause;
  during.from_ps = kPause + 1, during.to_ps = kPause + kLength;
  after.from_ps = kPause + kLength + 5'000'000, after.to_ps = kPause + kLength + 25'000'000;
  for (auto* w : {&before, &during, &after}) system().observers().add(w);
  uint32_t paused = 0, other = 0;
  run([&] {
    const auto mr = gpu_buffer(uint64_t{1} << 31);
    auto* cq = ctx().create_cq(4);
    host::QpPath path;
    path.prio = 3;
    paused = long_sender(cq, mr, path)->qpn;
    path.prio = 4;
    other = long_sender(cq, mr, path)->qpn;
    sc_core::wait(from_ps(kPause) - sc_core::sc_time_stamp());
    system().node().nic->mac().pause(3, from_ps(kLength));
  });
  EXPECT_EQ(during.bytes[paused], 0u);
  EXPECT_GT(static_cast<double>(during.bytes[other]), 0.98 * 20e-6 * 50e9 * 4170 / 4190);
  for (auto* w : {&before, &after}) {
    const double share =
        static_cast<double>(w->bytes[paused]) / static_cast<double>(w->bytes[paused] + w->bytes[other]);
    EXPECT_NEAR(share, 0.5, 0.02);
  }
  // PSNs of each go up by one: nothing lost, doubled or turned round.
  std::map<uint32_t, uint32_t> psn;
  for (const auto& f : recorder.frames) {
    const auto it = psn.find(f.op.qpn);
    if (it != psn.end()) {
      ASSERT_EQ(f.op.psn, (it->second + 1) & 0xffffff) << "QP " << f.op.qpn;
    }
    psn[f.op.qpn] = f.op.psn;
  }
}

}  // namespace
}  // namespace rnic::test
