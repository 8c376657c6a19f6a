// SPDX-License-Identifier: Apache-2.0
// Traffic of all kinds under random mixtures of everything that can hold the NIC back. Every frame must be the
// reference models' and every completion come once, whatever the mixture; and over the seeds each cause must have held
// it back.
#include <deque>
#include <set>

#include "rnic/regs/regs.h"
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

/// Completion queues of 2 to 16 entries, each shared by one to three QPs, whose program polls late and in part.
class CompletionsTest : public MessagesTest, public ::testing::WithParamInterface<unsigned> {
 protected:
  struct Queue {
    host::Qp* qp = nullptr;
    std::vector<SendWr> wrs;
    size_t posted = 0;
    std::deque<const SendWr*> owed;  ///< signaled, not seen yet
  };
  struct Program {
    host::Cq* cq = nullptr;
    bool careless = false;  ///< goes on posting whatever the CQ holds
    bool overrun = false;
    unsigned early = 0;  ///< polls of a careless one before its CQ is overrun
    std::vector<Queue> queues;
    unsigned seen = 0, full = 0;  ///< completions; how often as many were there as there are entries

    unsigned entries() const { return 1u << cq->log_size; }
    size_t owed() const {
      size_t n = 0;
      for (const auto& q : queues) n += q.owed.size();
      return n;
    }
  };

  Program program(const host::Mr& mr, bool careless) {
    Program p;
    p.careless = careless;
    p.early = rng_() % 3;
    p.cq = ctx().create_cq(1 + rng_() % (careless ? 3 : 4));
    p.queues.resize(1 + rng_() % 3);
    for (auto& q : p.queues) {
      QpInit init;
      init.type = rng_() % 2 == 0 ? QpType::kRc : QpType::kUc;
      init.where = std::array{host::SqWhere::kDevice, host::SqWhere::kBf, host::SqWhere::kHost}[rng_() % 3];
      init.log_sq_size = 7;
      QpPath path;
      path.mtu = kAllMtus[rng_() % 5];
      path.prio = static_cast<uint8_t>(2 + rng_() % 3);
      for (unsigned n = 0; n < 48; ++n) {
        q.wrs.push_back(request(mr, kAllOps[rng_() % 4], rng_() % 4 == 0 ? rng_() % 3000 : rng_() % 100));
        q.wrs.back().signaled = n % 4 == 3 || rng_() % 2 == 0;
      }
      q.qp = sender(mr, p.cq, init, path, q.wrs);
    }
    return p;
  }

  /// Takes at most `most` of the completions that are there: each QP's in order, none that is not owed.
  void poll(Program& p, unsigned most) {
    unsigned n = 0;
    while (n < most) {
      const auto wc = ctx().poll_cq(p.cq);
      if (!wc) break;
      ++n;
      EXPECT_EQ(wc->status, host::WcStatus::kSuccess) << host::to_string(wc->status);
      const auto q =
          std::find_if(p.queues.begin(), p.queues.end(), [&](const Queue& x) { return x.qp->qpn == wc->qpn; });
      if (q == p.queues.end() || q->owed.empty()) {
        ADD_FAILURE() << "CQ " << p.cq->cqn << ": a completion of QP " << wc->qpn << " that nothing was posted for";
        break;
      }
      EXPECT_EQ(wc->wr_id, q->owed.front()->wr_id) << "QP " << wc->qpn;
      EXPECT_EQ(wc->byte_len, q->owed.front()->length);
      q->owed.pop_front();
    }
    p.seen += n;
    p.full += n == p.entries();
  }

  /// Posts one or more of a queue's requests. A careful program never has more completions to come than entries.
  void post(Program& p, Queue& q) {
    std::vector<SendWr> list;
    unsigned blocks = 0;
    size_t owed = p.owed();
    for (unsigned n = 1 + rng_() % 6; n != 0 && q.posted < q.wrs.size(); --n) {
      const SendWr& wr = q.wrs[q.posted];
      if (wr.signaled && owed == p.entries() && !p.careless) break;
      blocks += host::Context::wqe_blocks(*q.qp, wr);
      if (blocks > q.qp->size() - q.qp->outstanding()) break;
      list.push_back(wr);
      if (wr.signaled) q.owed.push_back(&wr), ++owed;
      ++q.posted;
    }
    if (!list.empty()) ctx().post_send(q.qp, list);
  }

  void run_program(Program& p) {
    const auto left = [&] {
      return std::any_of(p.queues.begin(), p.queues.end(), [](const Queue& q) { return q.posted < q.wrs.size(); });
    };
    while (left()) {
      for (auto& q : p.queues) post(p, q);
      if (rng_() % 3 == 0) sc_core::wait(Time(static_cast<double>(rng_() % 8000), sc_core::SC_NS));
      if (p.careless && !p.overrun && p.owed() > p.entries()) {
        sc_core::wait(Time(100, sc_core::SC_US));
        p.overrun = true;
      }
      if (p.careless && !p.overrun && (rng_() % 3 != 0 || p.early == 0)) continue;
      if (!p.overrun && p.early != 0) --p.early;
      poll(p, rng_() % 3 == 0 ? p.entries() : rng_() % p.entries());
    }
    sc_core::wait(Time(100, sc_core::SC_US));
    poll(p, ~0u);
    EXPECT_FALSE(ctx().poll_cq(p.cq).has_value());
  }

  /// Programs side by side, of which the first `careless` are so, until all have ended.
  std::deque<Program> run_programs(unsigned careless) {
    const auto one_of = [&](const char* key, std::initializer_list<unsigned> values) {
      return fmt::format("{}={}", key, *(values.begin() + static_cast<long>(rng_() % values.size())));
    };
    make({one_of("host.write_latency", {60, 3000}), one_of("pcie.ph_credits", {1, 2, 64}),
          one_of("pcie.pd_credits", {4, 64, 1024}), one_of("mac.rate", {100, 400}),
          one_of("devmem.read_latency", {31, 150})});
    std::deque<Program> programs;
    const auto end = run([&] {
      const auto mr = buffer(Space::kGpu, 65536);
      for (unsigned i = 0; i < 5; ++i) programs.push_back(program(mr, i < careless));
      unsigned running = 5;
      for (auto& p : programs) {
        system().spawn("program", [&] {
          run_program(p);
          --running;
        });
      }
      while (running != 0) sc_core::wait(Time(1, sc_core::SC_US));
      health_ = static_cast<regs::HealthState>(ctx().read(2, regs::bar2::kHealth, 4));
      fatal_index_ = static_cast<uint32_t>(ctx().read(2, regs::bar2::kFatalIndex, 4));
    });
    EXPECT_EQ(end, RunEnd::kDone) << to_string(end);
    return programs;
  }

  std::mt19937_64 rng_{test_seed() * 1000 + GetParam()};
  regs::HealthState health_{};
  uint32_t fatal_index_ = 0;
};

// A CQ that is full again and again, but never asked to hold more than it can: every completion once, each QP's in
// order, and the next message posted at once fits behind the consumer index.
TEST_P(CompletionsTest, FullQueueLosesNothing) {
  const auto programs = run_programs(0);
  unsigned full = 0;
  for (const auto& p : programs) {
    EXPECT_EQ(p.owed(), 0u) << "CQ " << p.cq->cqn;
    full += p.full;
  }
  EXPECT_GT(full, 0u);
  EXPECT_EQ(health_, regs::HealthState::kHealthy);
  expect_right_frames();
}

// A CQ asked to hold more drops what does not fit, and all after it: each dropped one is counted, the first one of the
// CQ logged, the health fatal; what was written before is there. Messages and other CQs are as if nothing had been.
TEST_P(CompletionsTest, OverrunLosesItsOwnCompletionsOnly) {
  const unsigned careless = 1 + GetParam() % 3;
  const auto programs = run_programs(careless);
  std::set<uint32_t> overrun;
  uint64_t lost = 0;
  for (const auto& p : programs) {
    if (p.careless) {
      EXPECT_GE(p.seen, p.entries());
      if (p.owed() != 0) overrun.insert(p.cq->cqn);
      lost += p.owed();
    } else {
      EXPECT_EQ(p.owed(), 0u) << "CQ " << p.cq->cqn;
    }
  }
  EXPECT_EQ(overrun.size(), careless);
  EXPECT_EQ(system().node().nic->bars().counter("cq_overrun"), lost);
  std::multiset<uint32_t> logged;
  for (const auto& e : recorder.errors) {
    EXPECT_EQ(e.event.kind, rtl::rnic_pkg::EvtCqOverrun);
    logged.insert(e.event.index);
  }
  EXPECT_EQ(logged, std::multiset<uint32_t>(overrun.begin(), overrun.end()));
  EXPECT_EQ(health_, regs::HealthState::kFatal);
  EXPECT_EQ(overrun.count(fatal_index_), 1u);
  EXPECT_EQ(system().node().nic->assertion_failures(), 0u);
  expect_frames();
}
INSTANTIATE_TEST_SUITE_P(Seeds, CompletionsTest, ::testing::Range(1u, 7u));

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
