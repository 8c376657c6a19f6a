// SPDX-License-Identifier: Apache-2.0
// Function-level reset and surprise removal in the middle of traffic, and setting up again.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "rnic/core/error.h"
#include "system/fixture.h"

namespace rnic {
namespace {

class FlrTest : public test::SystemTest {
 protected:
  void prepare() {
    mr = gpu_buffer(1 << 20);
    cq = ctx().create_cq(8);
    qp = ctx().create_qp(cq, {});
    ctx().modify_qp_rts(qp, {});
  }

  /// Posts n messages, lets `break_off` happen after `ps`, and expects one completion each, in order: good ones first,
  /// flushed ones behind them. Then sets up again and expects traffic to work.
  void cycle(unsigned n, uint64_t ps, const std::function<void()>& break_off, const std::function<void()>& back) {
    for (unsigned i = 0; i < n; ++i) ctx().post_send(qp, write(mr, 4096, i));
    sc_core::wait(from_ps(ps));
    break_off();
    bool flushed = false;
    for (unsigned i = 0; i < n; ++i) {
      const auto wc = ctx().wait_cq(cq, Time(1, sc_core::SC_US));
      ASSERT_TRUE(wc) << i;
      EXPECT_EQ(wc->wr_id, i);
      flushed |= wc->status != host::WcStatus::kSuccess;
      EXPECT_EQ(wc->status, flushed ? host::WcStatus::kWrFlushErr : host::WcStatus::kSuccess);
    }
    flushes += flushed;
    ctx().post_send(qp, write(mr, 64, 99));
    const auto late = ctx().wait_cq(cq, Time(1, sc_core::SC_US));
    ASSERT_TRUE(late);
    EXPECT_EQ(late->wr_id, 99u);
    EXPECT_EQ(late->status, host::WcStatus::kWrFlushErr);
    EXPECT_THROW(ctx().modify_qp_rts(qp, {}), SimError);
    back();
    ctx().recover();
    ctx().modify_qp_rts(qp, {});
    for (unsigned i = 0; i < 2; ++i) ctx().post_send(qp, write(mr, 4096, 100 + i));
    for (unsigned i = 0; i < 2; ++i) {
      const auto wc = ctx().wait_cq(cq, Time(100, sc_core::SC_US));
      ASSERT_TRUE(wc);
      EXPECT_EQ(wc->wr_id, 100u + i);
      EXPECT_EQ(wc->status, host::WcStatus::kSuccess);
    }
  }

  host::Mr mr;
  host::Cq* cq = nullptr;
  host::Qp* qp = nullptr;
  unsigned flushes = 0;
};

// Reset at 200 random instants of a transfer: nothing is lost or doubled, and the device works after each.
TEST_F(FlrTest, ResetAtRandomInstants) {
  make({}, {"pcie.cpl_timeout=50000"});
  EXPECT_EQ(run([&] {
              prepare();
              std::mt19937_64 random(1);
              for (unsigned i = 0; i < 200 && !HasFatalFailure(); ++i) {
                SCOPED_TRACE(i);
                cycle(
                    8, random() % 800'000, [&] { ctx().flr(); }, [] {});
              }
            }),
            RunEnd::kDone);
  EXPECT_EQ(system().node().nic->bars().counter("flr"), 200u);
  EXPECT_GT(flushes, 100u) << "most resets must come amid the transfer";
}

// The same with the card pulled out and plugged in again.
TEST_F(FlrTest, RemovalAtRandomInstants) {
  make({}, {"pcie.cpl_timeout=50000"});
  EXPECT_EQ(run([&] {
              prepare();
              std::mt19937_64 random(2);
              Nic& nic = *system().node().nic;
              for (unsigned i = 0; i < 200 && !HasFatalFailure(); ++i) {
                SCOPED_TRACE(i);
                cycle(
                    8, random() % 800'000, [&] { nic.remove(), ctx().device_lost(); }, [&] { nic.insert(); });
              }
            }),
            RunEnd::kDone);
  EXPECT_GT(flushes, 100u);
}

// A read of a register of a card that is gone gives ones, and that is how the driver finds out.
TEST_F(FlrTest, ReadsOfARemovedCardGiveOnes) {
  make({}, {"pcie.cpl_timeout=50000"});
  EXPECT_EQ(run([&] {
              prepare();
              system().node().nic->remove();
              EXPECT_FALSE(ctx().lost());
              EXPECT_EQ(ctx().read(2, 0, 4), 0xffffffffu);
              EXPECT_TRUE(ctx().lost());
              EXPECT_THROW(ctx().recover(), SimError) << "nothing is plugged in";
              system().node().nic->insert();
              ctx().recover();
              EXPECT_EQ(ctx().read(2, 0, 4), 0x4000f0ceu);
            }),
            RunEnd::kDone);
}

// Counters live through a reset; settings of the old life do not.
TEST_F(FlrTest, CountersAreKept) {
  make({}, {"pcie.cpl_timeout=50000"});
  EXPECT_EQ(run([&] {
              prepare();
              ctx().post_send(qp, write(mr, 64, 1));
              complete(cq, 1);
              const uint64_t sent = system().node().nic->bars().counter("cqe_ok");
              EXPECT_EQ(sent, 1u);
              ctx().flr();
              EXPECT_EQ(system().node().nic->config().bar(0), 0u);
              EXPECT_FALSE(system().node().nic->config().memory_enabled());
              ctx().recover();
              EXPECT_EQ(system().node().nic->bars().counter("cqe_ok"), 1u);
              EXPECT_EQ(ctx().read(2, 0, 4), 0x4000f0ceu);
            }),
            RunEnd::kDone);
}

}  // namespace
}  // namespace rnic
