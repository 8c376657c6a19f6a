// SPDX-License-Identifier: Apache-2.0
// Completion events: arm, message, moderation, masks, over PCIe.
#include <gtest/gtest.h>

#include <random>

#include "rnic/core/error.h"
#include "rnic/regs/regs.h"
#include "system/fixture.h"
#include "system/traffic.h"

namespace rnic::test {
namespace {

namespace bar2 = regs::bar2;

class MsixTest : public SystemTest {
 protected:
  static constexpr unsigned kVector = 5;

  /// A buffer, and a QP ready to send whose CQ has completion events.
  struct Queue {
    host::Mr mr;
    host::CompChannel* channel;
    host::Cq* cq;
    host::Qp* qp;
  };
  Queue ready(const host::Moderation& moderation = {}) {
    Queue q{gpu_buffer(4096), ctx().create_comp_channel(), nullptr, nullptr};
    q.cq = ctx().create_cq(6, q.channel, kVector, moderation);
    q.qp = ctx().create_qp(q.cq, {});
    ctx().modify_qp_rts(q.qp, {});
    return q;
  }
  uint64_t sent() { return nic().bars().counter("irq_sent"); }
  Nic& nic() { return *system().node(0).nic; }
  pcie::Hub& hub() { return *system().node(0).hub; }
  static Time us(double n) { return Time(n, sc_core::SC_US); }
  void expect_done(std::function<void()> body) { EXPECT_EQ(run(std::move(body)), RunEnd::kDone); }
};

// The message arrives after the CQE is visible, and wakes whoever waits.
TEST_F(MsixTest, CqeIsVisibleBeforeTheMessage) {
  make();
  expect_done([&] {
    const Queue q = ready();
    unsigned messages = 0, early = 0;
    hub().on_message([&](uint64_t addr, uint32_t data) {
      ++messages;
      EXPECT_EQ(addr, pcie::kIrqBase);
      EXPECT_EQ(data, kVector);
      early += !ctx().poll_cq(q.cq).has_value();
    });
    for (unsigned i = 0; i < 20; ++i) {
      ctx().req_notify_cq(q.cq);
      ctx().post_send(q.qp, write(q.mr, 64, i));
      EXPECT_EQ(ctx().get_cq_event(q.channel, us(50)), q.cq);
    }
    EXPECT_EQ(messages, 20u);
    EXPECT_EQ(early, 0u);
    EXPECT_EQ(sent(), 20u);
    EXPECT_EQ(ctx().get_cq_event(q.channel, us(5)), nullptr);
  });
}

// No wake-up is lost, however arm and CQE fall together.
TEST_F(MsixTest, NoWakeUpIsLost) {
  make();
  expect_done([&] {
    const Queue q = ready();
    std::mt19937_64 rng(test_seed());
    for (unsigned i = 0; i < 1000; ++i) {
      ctx().post_send(q.qp, write(q.mr, 64, i));
      sc_core::wait(Time(static_cast<double>(rng() % 1200), sc_core::SC_NS));
      ctx().req_notify_cq(q.cq);
      ASSERT_EQ(ctx().get_cq_event(q.channel, us(50)), q.cq) << "race " << i;
      ASSERT_TRUE(ctx().poll_cq(q.cq).has_value());
    }
    EXPECT_EQ(sent(), 1000u);
  });
}

// Moderation: by the count, or by the time after the first CQE.
TEST_F(MsixTest, ModerationByCountAndTime) {
  make();
  expect_done([&] {
    const Queue q = ready({4, 20});
    std::vector<double> at;
    hub().on_message([&](uint64_t, uint32_t) { at.push_back(sc_core::sc_time_stamp().to_seconds() * 1e6); });
    const auto polled = [&](unsigned n) {
      for (unsigned i = 0; i < n; ++i) ASSERT_TRUE(ctx().wait_cq(q.cq, us(50)).has_value());
    };
    ctx().req_notify_cq(q.cq);
    for (unsigned i = 0; i < 4; ++i) ctx().post_send(q.qp, write(q.mr, 64, i));
    polled(4);
    EXPECT_EQ(ctx().get_cq_event(q.channel, us(50)), q.cq);
    EXPECT_EQ(at.size(), 1u);
    ctx().req_notify_cq(q.cq);
    sc_core::wait(us(2));
    const double start = sc_core::sc_time_stamp().to_seconds() * 1e6;
    for (unsigned i = 0; i < 3; ++i) ctx().post_send(q.qp, write(q.mr, 64, i));
    EXPECT_EQ(ctx().get_cq_event(q.channel, us(50)), q.cq);
    ASSERT_EQ(at.size(), 2u);
    EXPECT_GT(at[1] - start, 20.0);
    EXPECT_LT(at[1] - start, 22.0);
    EXPECT_EQ(sent(), 2u);
  });
}

// Solicited only: failures wake, successes don't.
TEST_F(MsixTest, SolicitedOnlyWaitsForAFailure) {
  make();
  expect_done([&] {
    const Queue q = ready();
    ctx().req_notify_cq(q.cq, true);
    ctx().post_send(q.qp, write(q.mr, 64, 1));
    EXPECT_EQ(ctx().get_cq_event(q.channel, us(20)), nullptr);
    auto bad = write(q.mr, 64, 2);
    bad.lkey ^= 0xff;
    ctx().post_send(q.qp, bad);
    EXPECT_EQ(ctx().get_cq_event(q.channel, us(20)), q.cq);
  });
}

// A masked vector, or function, keeps its message: the pending bit shows it, unmasking sends it once.
TEST_F(MsixTest, MaskKeepsTheMessagePending) {
  make();
  expect_done([&] {
    const Queue q = ready();
    ConfigSpace& config = nic().config();
    const unsigned control = find_capability(config, 0x11) + 2;
    const uint64_t ctrl = bar2::kMsixCtrl + kVector * bar2::kMsixStride;
    for (bool function : {false, true}) {
      const uint64_t before = sent();
      if (function)
        config.write(control, 2, config.read(control, 2) | 0x4000);
      else
        ctx().write32(2, ctrl, 1);
      for (unsigned i = 0; i < 3; ++i) {
        ctx().req_notify_cq(q.cq);
        ctx().post_send(q.qp, write(q.mr, 64, i));
        ASSERT_TRUE(ctx().wait_cq(q.cq, us(50)).has_value());
      }
      EXPECT_EQ(ctx().get_cq_event(q.channel, us(5)), nullptr);
      EXPECT_EQ(ctx().read(2, bar2::kMsixPba, 8), uint64_t{1} << kVector);
      EXPECT_EQ(sent(), before);
      if (function)
        config.write(control, 2, config.read(control, 2) & ~0x4000u);
      else
        ctx().write32(2, ctrl, 0);
      EXPECT_EQ(ctx().get_cq_event(q.channel, us(20)), q.cq);
      EXPECT_EQ(sent(), before + 1);
      EXPECT_EQ(ctx().read(2, bar2::kMsixPba, 8), 0u);
    }
  });
}

// Arms of CQs that are not there, and a vector with a garbage address, change nothing else.
TEST_F(MsixTest, GarbageIsHarmless) {
  make();
  expect_done([&] {
    const Queue q = ready();
    for (unsigned cqn = 900; cqn < 1024; ++cqn) ctx().write32(0, cqn * 0x100 + 0x18, 0xffffffff);
    ctx().write32(2, bar2::kMsixAddrLo + 4 + kVector * bar2::kMsixStride, 0x7fffffff);
    ctx().write32(2, bar2::kMsixAddrLo + kVector * bar2::kMsixStride, 0xffffffff);
    ctx().req_notify_cq(q.cq);
    ctx().post_send(q.qp, write(q.mr, 64, 1));
    EXPECT_EQ(ctx().get_cq_event(q.channel, us(20)), nullptr);
    EXPECT_TRUE(ctx().poll_cq(q.cq).has_value());
    EXPECT_EQ(hub().counters().unsupported_write, 1u);
  });
}

}  // namespace
}  // namespace rnic::test
