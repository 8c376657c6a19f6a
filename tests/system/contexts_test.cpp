// SPDX-License-Identifier: Apache-2.0
// Contexts as a driver sees them: states and their steps, queries, and the memory that they lie in.
#include <gmock/gmock.h>

#include "rnic/core/error.h"
#include "rnic/host/verbs.h"
#include "system/fixture.h"

namespace rnic::test {
namespace {

using host::QpState;
using host::WcStatus;
using ::testing::HasSubstr;

constexpr uint64_t kBuffer = 65536;

class ContextsTest : public SystemTest {
 protected:
  void expect_done(std::function<void()> body) { EXPECT_EQ(run(std::move(body)), RunEnd::kDone); }

  template <class Body>
  static std::string refusal(Body body) {
    try {
      body();
    } catch (const InputError& e) {
      return e.what();
    }
    return "nothing was thrown";
  }

  host::Qp* qp_in(QpState state, host::Cq* cq, const host::QpPath& path = {}) {
    auto* qp = ctx().create_qp(cq, {});
    for (const auto s : {QpState::kInit, QpState::kRtr, QpState::kRts, QpState::kErr}) {
      if (state == QpState::kReset) break;
      ctx().modify_qp(qp, s, path);
      if (s == state) break;
    }
    return qp;
  }
};

// Step by step to RTS, as ibv_modify_qp: the QP sends then and not before, from the PSN of the last step.
TEST_F(ContextsTest, StepsLeadToRts) {
  make();
  expect_done([&] {
    const auto mr = gpu_buffer(kBuffer);
    auto* cq = ctx().create_cq(4);
    auto* qp = ctx().create_qp(cq, {});
    EXPECT_EQ(ctx().query_qp(qp).state, QpState::kReset);
    host::QpPath path;
    path.sq_psn = 0x123456;
    for (const auto state : {QpState::kInit, QpState::kInit, QpState::kRtr}) {
      ctx().modify_qp(qp, state, path);
      EXPECT_EQ(ctx().query_qp(qp).state, state);
    }
    ctx().ring_doorbell(qp->qpn, 1);
    sc_core::wait(Time(2, sc_core::SC_US));
    EXPECT_EQ(system().node().nic->bars().counter("db_invalid"), 1u);
    ctx().modify_qp(qp, QpState::kRts, path);
    ctx().post_send(qp, write(mr, 64, 7));
    EXPECT_EQ(complete(cq, 1).at(0).wr_id, 7u);
    EXPECT_EQ(ctx().query_qp(qp).state, QpState::kRts);
  });
  ASSERT_EQ(recorder.frames.size(), 1u);
  EXPECT_EQ(recorder.frames[0].op.psn, 0x123456u);
}

// What is no step is refused, with a message; the QP stays what it was and goes on.
TEST_F(ContextsTest, OtherStepsAreRefused) {
  make();
  expect_done([&] {
    const auto mr = gpu_buffer(kBuffer);
    auto* cq = ctx().create_cq(6);
    const std::pair<QpState, QpState> steps[] = {
        {QpState::kReset, QpState::kRtr}, {QpState::kReset, QpState::kRts}, {QpState::kReset, QpState::kErr},
        {QpState::kInit, QpState::kRts},  {QpState::kRtr, QpState::kInit},  {QpState::kRtr, QpState::kRtr},
        {QpState::kRts, QpState::kInit},  {QpState::kRts, QpState::kRtr},   {QpState::kErr, QpState::kInit},
        {QpState::kErr, QpState::kRtr},   {QpState::kErr, QpState::kRts}};
    for (const auto& [from, to] : steps) {
      auto* qp = qp_in(from, cq);
      EXPECT_THAT(refusal([&] { ctx().modify_qp(qp, to); }), HasSubstr("refuses the new state"))
          << host::to_string(from) << " to " << host::to_string(to);
      EXPECT_EQ(ctx().query_qp(qp).state, from);
      if (from == QpState::kRts) {
        ctx().post_send(qp, write(mr, 64));
        EXPECT_EQ(complete(cq, 1).at(0).status, WcStatus::kSuccess);
      }
      ctx().modify_qp(qp, QpState::kReset);
      EXPECT_EQ(ctx().query_qp(qp).state, QpState::kReset);
    }
    EXPECT_EQ(system().node().nic->bars().counter("cmd_refused"), std::size(steps));
    EXPECT_EQ(system().node().nic->bars().counter("mmio_unsupported"), 0u);
  });
}

// RTS to RTS changes the path; PSN and IP identification go on as if nothing had happened.
TEST_F(ContextsTest, RtsToRtsKeepsThePsn) {
  make();
  expect_done([&] {
    const auto mr = gpu_buffer(kBuffer);
    auto* cq = ctx().create_cq(4);
    host::QpPath path;
    path.sq_psn = 0xfffffe;
    path.ip_id = 77;
    auto* qp = qp_in(QpState::kRts, cq, path);
    for (int n = 0; n < 3; ++n) {
      ctx().post_send(qp, write(mr, 64));
      EXPECT_THAT(refusal([&] { ctx().modify_qp(qp, QpState::kRts, path); }), HasSubstr("wait for a completion"));
      complete(cq, 1);
    }
    path.ttl = 9;
    ctx().modify_qp(qp, QpState::kRts, path);
    ctx().post_send(qp, write(mr, 64));
    complete(cq, 1);
    const auto s = ctx().query_qp(qp);
    EXPECT_EQ(s.sq_psn, 2u);
    EXPECT_EQ(s.ip_id, 81);
  });
  ASSERT_EQ(recorder.frames.size(), 4u);
  for (uint32_t n = 0; n < 4; ++n) {
    EXPECT_EQ(recorder.frames[n].op.psn, (0xfffffeu + n) & 0xffffff);
    EXPECT_EQ(recorder.frames[n].bytes.at(14 + 8), n == 3 ? 9 : 64);  // TTL of IPv4
    EXPECT_EQ(recorder.frames[n].bytes.at(14 + 5), 77 + n);           // identification
  }
}

// A query before, amid and behind a message: indices, PSN, and how far it is.
TEST_F(ContextsTest, QueryFollowsAMessage) {
  make();
  expect_done([&] {
    const uint64_t length = 1 << 20;
    const auto mr = gpu_buffer(length);
    auto* cq = ctx().create_cq(4);
    host::QpPath path;
    path.mtu = 1024;
    path.sq_psn = 500;
    path.ip_id = 9;
    auto* qp = ctx().create_qp(cq, {});
    ctx().modify_qp_rts(qp, path);
    auto s = ctx().query_qp(qp);
    EXPECT_EQ(s.state, QpState::kRts);
    EXPECT_FALSE(s.valid);
    EXPECT_EQ(s.sq_psn, 500u);
    EXPECT_EQ(s.ip_id, 9);
    EXPECT_EQ(s.sq_pi, 0);
    auto* other = ctx().create_qp(cq, {});
    ctx().modify_qp_rts(other, path);
    ctx().post_send(qp, write(mr, length));
    ctx().post_send(other, write(mr, length));  // a QP that is alone keeps its turn, and the chip its former state
    unsigned amid = 0;
    uint32_t offset = 0;
    uint64_t ns = s.time_ns;
    for (int i = 0; i < 8; ++i) {
      s = ctx().query_qp(qp);
      EXPECT_GT(s.time_ns, ns);
      ns = s.time_ns;
      EXPECT_EQ(s.sq_pi, 1);
      if (!s.in_message) continue;
      ++amid;
      EXPECT_EQ(s.wqe, 0);
      EXPECT_EQ(s.length, length);
      EXPECT_GE(s.offset, offset);
      EXPECT_EQ(s.offset % 1024, 0u);
      EXPECT_EQ(s.sq_psn, 500 + s.offset / 1024);
      offset = s.offset;
    }
    EXPECT_GT(amid, 2u);
    EXPECT_GT(offset, 0u);
    complete(cq, 2);
    s = ctx().query_qp(qp);
    EXPECT_FALSE(s.in_message);
    EXPECT_TRUE(s.valid);
    EXPECT_EQ(s.sq_ci, 1);
    EXPECT_EQ(s.sq_psn, 500 + length / 1024);
    EXPECT_EQ(s.ip_id, 9 + length / 1024);
  });
}

// A failed WQE shows as state ERR, without a command; the QP leads on by way of RESET.
TEST_F(ContextsTest, QueryShowsErrors) {
  make();
  expect_done([&] {
    const auto mr = gpu_buffer(kBuffer);
    auto* cq = ctx().create_cq(4);
    auto* qp = qp_in(QpState::kRts, cq);
    auto wr = write(mr, 64);
    wr.lkey ^= 1;
    ctx().post_send(qp, wr);
    EXPECT_EQ(complete(cq, 1).at(0).status, WcStatus::kLocProtErr);
    EXPECT_EQ(ctx().query_qp(qp).state, QpState::kErr);
    EXPECT_THAT(refusal([&] { ctx().modify_qp(qp, QpState::kRts); }), HasSubstr("refuses"));
    for (const auto state : {QpState::kReset, QpState::kInit, QpState::kRtr, QpState::kRts}) ctx().modify_qp(qp, state);
    ctx().post_send(qp, write(mr, 64));
    EXPECT_EQ(complete(cq, 1).at(0).status, WcStatus::kSuccess);
  });
}

// Indices, arm state and overrun of a CQ.
TEST_F(ContextsTest, QueryOfACq) {
  make();
  expect_done([&] {
    const auto mr = gpu_buffer(kBuffer);
    auto* channel = ctx().create_comp_channel();
    auto* cq = ctx().create_cq(2, channel);
    host::QpInit init;
    init.log_sq_size = 4;
    auto* qp = ctx().create_qp(cq, init);
    ctx().modify_qp_rts(qp, {});
    auto s = ctx().query_cq(cq);
    EXPECT_TRUE(s.valid);
    EXPECT_EQ(s.pi, 0u);
    EXPECT_EQ(s.ci, 0u);
    EXPECT_FALSE(s.armed);
    ctx().req_notify_cq(cq, true);
    s = ctx().query_cq(cq);
    EXPECT_TRUE(s.armed);
    EXPECT_TRUE(s.solicited_only);
    for (int i = 0; i < 3; ++i) ctx().post_send(qp, write(mr, 64));
    sc_core::wait(Time(5, sc_core::SC_US));
    s = ctx().query_cq(cq);
    EXPECT_EQ(s.pi, 3u);
    EXPECT_EQ(s.ci, 0u);
    ctx().poll_cq(cq);
    ctx().req_notify_cq(cq);
    s = ctx().query_cq(cq);
    EXPECT_EQ(s.ci, 1u);
    EXPECT_FALSE(s.armed) << "there were completions: it fired";
    EXPECT_FALSE(s.overrun);
    for (int i = 0; i < 3; ++i) ctx().post_send(qp, write(mr, 64));
    sc_core::wait(Time(5, sc_core::SC_US));
    s = ctx().query_cq(cq);
    EXPECT_TRUE(s.overrun);
    EXPECT_EQ(s.pi, 5u);
    while (ctx().poll_cq(cq)) {
    }
  });
}

// Queries right behind each other, with other commands and doorbells between them, are all answered, in order: the
// record is the last one's, and counts them.
TEST_F(ContextsTest, QueriesBehindEachOtherAreAllAnswered) {
  make();
  expect_done([&] {
    namespace bar1 = regs::bar1;
    namespace pkg = rtl::rnic_pkg;
    auto* cq = ctx().create_cq(4);
    auto* qp = qp_in(QpState::kRts, cq);
    const auto command = [&](unsigned op, uint32_t index) { ctx().write32(1, bar1::kCmd, index << 8 | op); };
    const auto before = ctx().read(1, bar1::kQuery, 2);
    for (uint32_t i = 0; i < 40; ++i) {
      command(i % 3 == 2 ? pkg::CmdCqQuery : pkg::CmdQpQuery, i % 3 == 2 ? cq->cqn : 500 + i);
      if (i % 5 == 0) command(pkg::CmdMkeyModify, 77);
      if (i % 7 == 0) ctx().ring_doorbell(900, 0);
    }
    command(pkg::CmdQpQuery, qp->qpn);
    sc_core::wait(Time(3, sc_core::SC_US));
    EXPECT_EQ(ctx().read(1, bar1::kQuery, 2), before + 41);
    EXPECT_EQ(ctx().read(1, bar1::kQuery + 4, 3), qp->qpn);
  });
}

// A region's entry under its key, under another one, and after it was taken back.
TEST_F(ContextsTest, QueryOfARegion) {
  make();
  expect_done([&] {
    const uint64_t offset = ctx().alloc(host::Space::kHost, 8192);
    const auto mr = ctx().reg_mr(5, host::Space::kHost, offset, 8000, 0x1234'5678'9000);
    auto s = ctx().query_mr(mr);
    EXPECT_TRUE(s.valid);
    EXPECT_EQ(s.addr, 0x1234'5678'9000u);
    EXPECT_EQ(s.length, 8000u);
    EXPECT_EQ(s.pd, 5u);
    EXPECT_EQ(s.access, host::kAllRights);
    auto other = mr;
    other.lkey ^= 3;
    EXPECT_FALSE(ctx().query_mr(other).valid);
    ctx().dereg_mr(mr);
    EXPECT_FALSE(ctx().query_mr(mr).valid);
  });
}

// Threads that ask and change at the same time each get their own answer.
TEST_F(ContextsTest, CommandsTakeTurns) {
  make();
  unsigned done = 0;
  for (unsigned t = 0; t < 4; ++t) {
    system().spawn("asker", [&, t] {
      auto* cq = ctx().create_cq(4);
      host::QpPath path;
      path.sq_psn = 1000 * (t + 1);
      auto* qp = ctx().create_qp(cq, {});
      ctx().modify_qp_rts(qp, path);
      for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(ctx().query_qp(qp).sq_psn, 1000 * (t + 1));
        EXPECT_EQ(ctx().query_cq(cq).pi, 0u);
        EXPECT_THAT(refusal([&] { ctx().modify_qp(qp, QpState::kInit); }), HasSubstr("refuses"));
      }
      ++done;
    });
  }
  EXPECT_EQ(system().run(), RunEnd::kDone);
  EXPECT_EQ(done, 4u);
}

// After a function-level reset every QP is in RESET, and queries start anew.
TEST_F(ContextsTest, ResetForgets) {
  make();
  expect_done([&] {
    auto* cq = ctx().create_cq(4);
    host::QpPath path;
    path.sq_psn = 3;
    auto* qp = qp_in(QpState::kRts, cq, path);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(ctx().query_qp(qp).sq_psn, 3u);
    ctx().flr();
    EXPECT_THROW(ctx().query_qp(qp), SimError);
    ctx().recover();
    EXPECT_EQ(ctx().query_qp(qp).state, QpState::kReset);
    EXPECT_THAT(refusal([&] { ctx().modify_qp(qp, QpState::kRts, path); }), HasSubstr("refuses"));
    for (const auto state : {QpState::kInit, QpState::kRtr, QpState::kRts}) ctx().modify_qp(qp, state, path);
    EXPECT_EQ(ctx().query_qp(qp).state, QpState::kRts);
  });
}

// With contexts and ring in the DDR a doorbell takes one DDR access longer for each read that goes there, and reads
// through BAR1 wait for it, too. The second time all of it is in the L2.
TEST_F(ContextsTest, DdrShowsInLatencyAndCounters) {
  make({}, {"devmem.l2_size=65536", "devmem.ddr_latency=500", "devmem.ddr_bandwidth=0"});
  std::vector<Time> reads;
  uint64_t misses = 0;
  expect_done([&] {
    const uint64_t at = regs::bar1::kFree + (32 << 20);
    const auto timed = [&] {
      const Time t = sc_core::sc_time_stamp();
      ctx().read(1, at, 8);
      reads.push_back(sc_core::sc_time_stamp() - t);
    };
    const uint64_t before = system().node().nic->bars().counter("l2_miss");
    timed();
    misses = system().node().nic->bars().counter("l2_miss") - before;
    timed();
    ctx().write32(1, at + 4096, 5);
    EXPECT_EQ(ctx().read(1, at + 4096, 4), 5u);
  });
  ASSERT_EQ(reads.size(), 2u);
  EXPECT_EQ(misses, 1u);
  EXPECT_EQ(reads[0] - reads[1], Time(500, sc_core::SC_NS));
}

}  // namespace
}  // namespace rnic::test
