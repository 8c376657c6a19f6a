// SPDX-License-Identifier: Apache-2.0
// Traffic of all kinds under random mixtures of everything that can hold the NIC back. Every frame must be the
// reference models' and every completion come once, whatever the mixture; and over the seeds each cause must have held
// it back.
#include "system/frames.h"

namespace rnic::test {
namespace {

using host::QpInit;
using host::QpPath;
using host::QpType;
using host::SendWr;
using host::Space;
using host::WrOpcode;

class BackpressureTest : public MessagesTest, public ::testing::WithParamInterface<unsigned> {
 protected:
  /// One of `values` at random.
  std::string one_of(const std::string& key, std::initializer_list<unsigned> values) {
    return fmt::format("{}={}", key, *(values.begin() + static_cast<long>(rng_() % values.size())));
  }
  std::mt19937_64 rng_{test_seed() * 1000 + GetParam()};
};

// Slow or paused MAC, few credits of each kind, small reads, slow memories and completion queues, many QPs.
TEST_P(BackpressureTest, NothingIsLostOrDoubled) {
  make({one_of("mac.rate", {100, 200, 400}), one_of("mac.tx_buffer", {9280, 32768}),
        one_of("pcie.ph_credits", {1, 2, 64}), one_of("pcie.pd_credits", {32, 64, 1024}),
        one_of("pcie.nph_credits", {1, 3, 64}), one_of("pcie.mrrs", {128, 512, 4096}), one_of("pcie.mps", {128, 512}),
        one_of("pcie.rcb", {64, 128}), one_of("gpu.read_latency", {20, 88, 900}),
        one_of("host.write_latency", {60, 2000}), one_of("devmem.read_latency", {31, 150})});
  unsigned senders = 6;
  const auto end = run([&] {
    const auto mr = buffer(Space::kGpu, 65536);
    for (unsigned i = 0; i < 6; ++i) {
      QpInit init;
      init.type = i % 3 == 0 ? QpType::kRc : QpType::kUc;
      init.where = std::array{host::SqWhere::kDevice, host::SqWhere::kBf, host::SqWhere::kHost}[rng_() % 3];
      init.log_sq_size = 6;
      QpPath path;
      path.mtu = kAllMtus[rng_() % 5];
      path.prio = static_cast<uint8_t>(2 + rng_() % 3);
      path.weight = static_cast<uint8_t>(1 + rng_() % 4);
      if (rng_() % 3 == 0) path.rate_limit_gbps = 5 + static_cast<double>(rng_() % 40);
      std::vector<SendWr> wrs;
      for (unsigned n = 0; n < 24; ++n) {
        SendWr wr = request(mr, kAllOps[rng_() % 4], 0);
        const unsigned pieces = 1 + rng_() % 4;
        for (unsigned p = 0; p < pieces; ++p) {
          const uint64_t length = rng_() % 3 == 0 ? rng_() % 5000 : rng_() % 200;
          wr.sg_list.push_back({mr.addr + rng_() % (mr.length - length), length, mr.lkey});
        }
        wrs.push_back(wr);
      }
      system().spawn("sender", [=, &senders, this_ = this] {
        this_->send(mr, init, path, wrs, 8);
        --senders;
      });
    }
    system().spawn("pauses", [&] {
      while (senders != 0) {
        sc_core::wait(Time(200 + static_cast<double>(rng_() % 3000), sc_core::SC_NS));
        system().node().nic->mac().pause(2 + rng_() % 3, Time(static_cast<double>(rng_() % 2000), sc_core::SC_NS));
      }
    });
  });
  EXPECT_EQ(end, RunEnd::kDone) << to_string(end);
  expect_right_frames();
}
INSTANTIATE_TEST_SUITE_P(Seeds, BackpressureTest, ::testing::Range(1u, 13u));

/// One cause of waiting at a time, seen in what the models count.
class CauseTest : public MessagesTest {
 protected:
  void load(const std::vector<std::string>& sets, const Time& pause = sc_core::SC_ZERO_TIME) {
    make(sets);
    const auto end = run([&] {
      const auto mr = buffer(Space::kGpu, 65536);
      for (unsigned i = 0; i < 4; ++i) {
        std::vector<SendWr> wrs;
        for (unsigned n = 0; n < 32; ++n) wrs.push_back(request(mr, WrOpcode::kRdmaWrite, n % 2 == 0 ? 64 : 4096));
        system().spawn("sender", [=, this_ = this] { this_->send(mr, {}, {}, wrs, 32); });
      }
      if (pause == sc_core::SC_ZERO_TIME) return;
      sc_core::wait(Time(9, sc_core::SC_US));
      system().node().nic->mac().pause(3, pause);
    });
    EXPECT_EQ(end, RunEnd::kDone) << to_string(end);
    expect_right_frames();
  }
  const NicUsage& nic() { return system().node().nic->usage(); }
  pcie::Hub::Usage hub() { return system().node().hub->usage(to_ps(sc_core::sc_time_stamp())); }
};

TEST_F(CauseTest, MacNotReady) {
  load({"mac.rate=100", "mac.tx_buffer=9280"});
  EXPECT_GT(nic().mac_wait, 100u);
}

TEST_F(CauseTest, PriorityPaused) {
  const Time pause(40, sc_core::SC_US);
  load({}, pause);
  EXPECT_EQ(system().node().nic->mac().rx_pause(3), 1u);
  uint64_t longest = 0;
  for (size_t i = 1; i < recorder.frames.size(); ++i) {
    longest = std::max(longest, recorder.frames[i].first_ps - recorder.frames[i - 1].last_ps);
  }
  EXPECT_GE(longest, to_ps(pause) - 100'000);  // but for the frame under way
}

TEST_F(CauseTest, NoCredits) {
  load({"pcie.ph_credits=1", "pcie.pd_credits=4", "pcie.nph_credits=1"});
  EXPECT_GT(hub().nph.none_ps, 0u);
  EXPECT_GT(hub().ph.none_ps, 0u);
  EXPECT_GT(hub().pd.none_ps, 0u);
}

TEST_F(CauseTest, LinkBusy) {
  load({"pcie.generation=1", "pcie.lanes=1", "pcie.mrrs=128"});
  EXPECT_GT(nic().tlp_tx_wait, 100u);
}

// Messages without payload come faster than a slow MAC takes their frames: descriptions fill their queue, and wait.
TEST_F(CauseTest, DescriptionsWait) {
  constexpr unsigned kQps = 32, kEach = 64;
  make({"mac.rate=100", "mac.tx_buffer=9280"});
  std::map<uint32_t, uint32_t> next;
  const auto end = run([&] {
    auto* cq = ctx().create_cq(12);
    std::vector<host::Qp*> qps;
    for (unsigned i = 0; i < kQps; ++i) {
      qps.push_back(ctx().create_qp(cq, {}));
      ctx().modify_qp_rts(qps.back(), {});
      next[qps.back()->qpn] = 0;
      ctx().queue_send(qps.back(), std::vector<SendWr>(kEach));
    }
    for (auto* qp : qps) ctx().ring_doorbell(qp->qpn, qp->pi);
    for (const auto& wc : complete(cq, kQps * kEach)) EXPECT_EQ(wc.status, host::WcStatus::kSuccess);
  });
  EXPECT_EQ(end, RunEnd::kDone) << to_string(end);
  expect_no_refusals(system());
  for (const auto& f : recorder.frames) EXPECT_EQ(f.op.psn, next[f.op.qpn]++) << "QP " << f.op.qpn;
  for (const auto& [qpn, count] : next) EXPECT_EQ(count, kEach) << "QP " << qpn;
  EXPECT_GT(nic().mac_wait, 1000u);
}

}  // namespace
}  // namespace rnic::test
