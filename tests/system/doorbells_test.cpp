// SPDX-License-Identifier: Apache-2.0
// Doorbells and BlueFlame pushes in every order and number: each WQE is sent exactly once, in its QP's order.
#include "system/frames.h"

namespace rnic::test {
namespace {

using host::SqWhere;

class DoorbellsTest : public LimitedTest {
 protected:
  /// A QP whose WQEs carry its number and their own count as remote address.
  struct Sender {
    host::Qp* qp;
    host::Cq* cq;
    host::Mr mr;
    uint32_t posted = 0, completed = 0;
  };

  host::Mr memory() { return gpu_buffer(65536); }

  Sender& sender(const host::Mr& mr, host::Cq* cq, SqWhere where, std::optional<uint32_t> qpn = {},
                 unsigned log_sq_size = 6) {
    host::QpInit init;
    init.where = where;
    init.log_sq_size = log_sq_size;
    auto* qp = qpn ? ctx().create_qp(cq, init, *qpn) : ctx().create_qp(cq, init);
    host::QpPath path;
    path.mtu = 1024;
    path.dest_qpn = 0x200000 + qp->qpn;
    ctx().modify_qp_rts(qp, path);
    return senders_[qp->qpn] = Sender{qp, cq, mr};
  }

  static host::SendWr next(Sender& s, uint64_t length, bool signaled = true) {
    host::SendWr wr = write(s.mr, length, s.posted);
    wr.remote_addr = uint64_t{s.qp->qpn} << 32 | s.posted++;
    wr.signaled = signaled;
    return wr;
  }

  static std::vector<host::SendWr> several(Sender& s, unsigned n, uint64_t length) {
    std::vector<host::SendWr> wrs;
    for (unsigned i = 0; i < n; ++i) wrs.push_back(next(s, length));
    return wrs;
  }

  /// Waits until all that s posted has completed (its last WQE is signaled, and nobody else uses its CQ).
  void drain(Sender& s) {
    while (s.completed < s.posted) {
      const auto wc = ctx().wait_cq(s.cq, Time(10, sc_core::SC_MS));
      if (!wc) {
        ADD_FAILURE() << "QP " << s.qp->qpn << ": " << s.completed << " of " << s.posted << " WQEs completed";
        return;
      }
      EXPECT_EQ(wc->qpn, s.qp->qpn);
      EXPECT_EQ(wc->status, host::WcStatus::kSuccess) << host::to_string(wc->status);
      // Everything up to the WQE of this completion is done: wr_id is its number in the queue.
      EXPECT_GE(wc->wr_id, s.completed);
      EXPECT_EQ(wc->wr_id & 0xffff, wc->wqe_counter);
      s.completed = static_cast<uint32_t>(wc->wr_id) + 1;
    }
  }

  /// Lets whatever is still under way leave.
  static void settle() { sc_core::wait(Time(50, sc_core::SC_US)); }

  /// On the wire: of each QP every WQE once, in order, to the right destination.
  void expect_each_once() {
    std::map<uint32_t, uint32_t> sent;
    for (const auto& f : recorder.frames) {
      const auto parsed = golden::parse_frame(f.bytes);
      ASSERT_TRUE(parsed.problems.empty()) << parsed.problems[0];
      if (!parsed.fields.reth) continue;
      const auto qpn = static_cast<uint32_t>(parsed.fields.reth->va >> 32);
      const auto number = static_cast<uint32_t>(parsed.fields.reth->va);
      ASSERT_EQ(senders_.count(qpn), 1u) << "a frame of QP " << qpn;
      ASSERT_EQ(parsed.fields.dest_qpn, 0x200000 + qpn);
      ASSERT_EQ(f.op.qpn, qpn);
      ASSERT_EQ(number, sent[qpn]++) << "QP " << qpn << ": WQE out of order, missing or sent twice";
    }
    for (const auto& [qpn, s] : senders_) EXPECT_EQ(sent[qpn], s.posted) << "QP " << qpn;
    EXPECT_GT(recorder.frames.size(), 0u);
    EXPECT_TRUE(recorder.errors.empty());
    expect_no_refusals(system());
  }

  uint64_t counter(const std::string& name) { return system().node().nic->bars().counter(name); }

  /// Threads that all begin at the same simulated instant.
  void at_once(unsigned n, const std::function<void(unsigned)>& body) {
    const Time start(200, sc_core::SC_US);
    for (unsigned i = 0; i < n; ++i) {
      system().spawn("poster", [=] {
        sc_core::wait(start - sc_core::sc_time_stamp());
        body(i);
      });
    }
  }

  std::map<uint32_t, Sender> senders_;
};

class QueuePlaceTest : public DoorbellsTest, public ::testing::WithParamInterface<SqWhere> {};
INSTANTIATE_TEST_SUITE_P(All, QueuePlaceTest, ::testing::Values(SqWhere::kDevice, SqWhere::kBf, SqWhere::kHost),
                         [](const auto& info) {
                           return info.param == SqWhere::kBf     ? "BlueFlame"
                                  : info.param == SqWhere::kHost ? "Host"
                                                                 : "Device";
                         });

// All WQEs behind one doorbell (BlueFlame: pushed in one go) are sent, up to a full ring.
TEST_P(QueuePlaceTest, ManyWqesPostedTogether) {
  make();
  const auto end = run([&] {
    auto& s = sender(memory(), ctx().create_cq(7), GetParam());
    for (unsigned n : {1, 2, 63, 64, 7}) {
      ctx().post_send(s.qp, several(s, n, 64));
      drain(s);
    }
    settle();
  });
  EXPECT_EQ(end, RunEnd::kDone) << to_string(end);
  if (GetParam() != SqWhere::kBf) {
    EXPECT_EQ(counter("db_rx"), 5u);
  }
  expect_each_once();
}

// A doorbell for each WQE, faster than they are worked on, loses none: doorbells of one QP coalesce.
TEST_P(QueuePlaceTest, OneDoorbellEach) {
  make({"host.post_cost=0", "host.store_gap=0"});
  const auto end = run([&] {
    auto& s = sender(memory(), ctx().create_cq(9), GetParam(), {}, 8);
    for (unsigned i = 0; i < 200; ++i) ctx().post_send(s.qp, next(s, i % 3 == 0 ? 300 : 8));
    drain(s);
    settle();
  });
  EXPECT_EQ(end, RunEnd::kDone) << to_string(end);
  expect_each_once();
}

// A doorbell with a value that has been rung already sends nothing, during the work and after it.
TEST_F(DoorbellsTest, RepeatedValueSendsNothing) {
  make();
  const auto end = run([&] {
    auto& s = sender(memory(), ctx().create_cq(6), SqWhere::kDevice);
    for (unsigned round = 0; round < 5; ++round) {
      ctx().post_send(s.qp, several(s, 3, 64));
      for (int i = 0; i < 3; ++i) ctx().ring_doorbell(s.qp->qpn, s.qp->pi);
      drain(s);
      for (int i = 0; i < 2; ++i) ctx().ring_doorbell(s.qp->qpn, s.qp->pi);
      settle();
    }
  });
  EXPECT_EQ(end, RunEnd::kDone) << to_string(end);
  expect_each_once();
}

// Doorbells of rings in device memory, while the prefetch buffer calls QPs whose WQEs have come from host memory: where
// both fall into one cycle, neither is lost. They come earlier and later from round to round. Each WQE is counted once.
TEST_F(DoorbellsTest, DoorbellsWhilePrefetchCalls) {
  static constexpr unsigned kEach = 96, kRounds = 16;
  make();
  const auto end = run([&] {
    std::mt19937_64 rng(test_seed());
    const auto mr = memory();
    auto* cq = ctx().create_cq(8);
    for (unsigned i = 0; i < kEach; ++i) {
      sender(mr, cq, SqWhere::kHost, 100 + i, 2);
      sender(mr, cq, SqWhere::kDevice, 300 + i, 2);
    }
    std::map<uint32_t, unsigned> done;
    for (unsigned round = 0; round < kRounds; ++round) {
      for (auto& [qpn, s] : senders_) ctx().queue_send(s.qp, {next(s, 8)});
      settle();
      for (unsigned i = 0; i < kEach; ++i) ctx().ring_doorbell(100 + i, senders_[100 + i].qp->pi);
      sc_core::wait(Time(100 * round, sc_core::SC_NS));
      for (unsigned i = 0; i < kEach; ++i) {
        ctx().ring_doorbell(300 + i, senders_[300 + i].qp->pi);
        sc_core::wait(from_ps(rng() % 12'000));
      }
      for (const auto& wc : complete(cq, 2 * kEach)) EXPECT_EQ(wc.wr_id, done[wc.qpn]++);
      if (HasFailure()) break;
    }
    settle();
  });
  EXPECT_EQ(end, RunEnd::kDone) << to_string(end);
  EXPECT_EQ(counter("wqe_fetch"), uint64_t{2} * kEach * kRounds);
  expect_each_once();
}

// Every QP number from 0 to 1023 works, rung in rounds over all of them.
TEST_F(DoorbellsTest, AllQueuePairs) {
  static constexpr unsigned kQps = 1024, kRounds = 2;
  make();
  const auto end = run([&] {
    const auto mr = memory();
    auto* cq = ctx().create_cq(12);
    for (unsigned qpn = 0; qpn < kQps; ++qpn) sender(mr, cq, qpn % 3 == 0 ? SqWhere::kBf : SqWhere::kDevice, qpn, 2);
    for (unsigned r = 0; r < kRounds; ++r) {
      for (unsigned i = 0; i < kQps; ++i) {
        auto& s = senders_[(i * 389 + r) % kQps];
        ctx().post_send(s.qp, next(s, 8));
      }
    }
    std::map<uint32_t, unsigned> done;
    for (const auto& wc : complete(cq, kQps * kRounds)) {
      EXPECT_EQ(wc.status, host::WcStatus::kSuccess) << host::to_string(wc.status);
      EXPECT_EQ(wc.wr_id, done[wc.qpn]++);
    }
    EXPECT_EQ(done.size(), kQps);
    settle();
  });
  EXPECT_EQ(end, RunEnd::kDone) << to_string(end);
  expect_each_once();
}

// Doorbells that CPU and GPU store for many QPs at the same instant are all heard.
TEST_F(DoorbellsTest, SameInstantOnManyQueuePairs) {
  static constexpr unsigned kQps = 32;
  make();
  const auto end = run([&] {
    const auto mr = memory();
    for (unsigned i = 0; i < kQps; ++i) sender(mr, ctx().create_cq(6), SqWhere::kDevice, 100 + i);
    at_once(kQps, [this](unsigned i) {
      auto& s = senders_[100 + i];
      for (unsigned r = 0; r < 4; ++r) {
        ctx().post_send(s.qp, several(s, 1 + i % 3, 64), i % 2 ? pcie::Initiator::kGpu : pcie::Initiator::kCpu);
        drain(s);
      }
      settle();
    });
  });
  EXPECT_EQ(end, RunEnd::kDone) << to_string(end);
  std::map<uint64_t, unsigned> stores;
  for (const auto& e : recorder.events) stores[e.ps] += e.kind == EventKind::kDbStore;
  unsigned most = 0;
  for (const auto& s : stores) most = std::max(most, s.second);
  EXPECT_GE(most, kQps / 4) << "the doorbells were not rung at the same instant";
  expect_each_once();
}

// The producer index counts modulo 65536: more WQEs than that on one QP, without payload and with 8 bytes, all are sent
// once. One in 64 is signaled.
TEST_P(QueuePlaceTest, ProducerIndexWraps) {
  make();
  const auto end = run([&] {
    auto& s = sender(memory(), ctx().create_cq(6), GetParam(), {}, 8);
    while (s.posted < 70'000) {
      std::vector<host::SendWr> wrs;
      for (unsigned i = 0; i < 64; ++i) wrs.push_back(next(s, i % 4 == 0 ? 8 : 0, i == 63));
      ctx().post_send(s.qp, wrs);
      if (s.posted % 256 == 0) drain(s);
      if (HasFailure()) return;
    }
    drain(s);
    settle();
  });
  EXPECT_EQ(end, RunEnd::kDone) << to_string(end);
  EXPECT_GT(recorder.frames.size(), 70'000u - 1);
  expect_each_once();
}

// Pushes that others overwrite before they are used are fetched from the ring: QPs that share one BlueFlame entry lose
// no WQE, and each WQE came either from the buffer or from the ring.
TEST_F(DoorbellsTest, OverwrittenBlueFlameEntriesFallBack) {
  static constexpr unsigned kQps = 16, kEach = 24, kEntries = 64;
  make({"host.post_cost=0", "host.store_gap=0"});
  const auto end = run([&] {
    const auto mr = memory();
    for (unsigned i = 0; i < kQps; ++i) sender(mr, ctx().create_cq(6), SqWhere::kBf, 5 + i * kEntries);
    at_once(kQps, [this](unsigned i) {
      auto& s = senders_[5 + i * kEntries];
      ctx().post_send(s.qp, several(s, kEach, 1500));
      drain(s);
      settle();
    });
  });
  EXPECT_EQ(end, RunEnd::kDone) << to_string(end);
  const uint64_t hit = counter("bf_hit"), fallback = counter("bf_fallback");
  EXPECT_GT(hit, 0u);
  EXPECT_GT(fallback, 0u);
  // An entry that holds another QP's WQE is no fallback to the counter: the NIC can't know of the push.
  EXPECT_LE(hit + fallback, kQps * kEach);
  EXPECT_LT(hit, kQps * kEach);
  expect_each_once();
}

// One QP at a time, slowly: every push is used from the buffer, none from the ring.
TEST_F(DoorbellsTest, SlowPushesAreAllUsed) {
  make();
  const auto end = run([&] {
    auto& s = sender(memory(), ctx().create_cq(6), SqWhere::kBf);
    for (unsigned i = 0; i < 50; ++i) {
      ctx().post_send(s.qp, next(s, 64));
      drain(s);
    }
  });
  EXPECT_EQ(end, RunEnd::kDone) << to_string(end);
  EXPECT_EQ(counter("bf_hit"), 50u);
  EXPECT_EQ(counter("bf_fallback"), 0u);
  expect_each_once();
}

class RandomMixtureTest : public DoorbellsTest, public ::testing::WithParamInterface<uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, RandomMixtureTest, ::testing::Range<uint64_t>(1, 7));

// Any mixture of places, batches, lengths, signals, repeated doorbells, initiators and pauses on many QPs at once.
TEST_P(RandomMixtureTest, EachWqeOnce) {
  static constexpr unsigned kQps = 24;
  const uint64_t seed = test_seed(GetParam());
  SCOPED_TRACE(fmt::format("RNIC_TEST_SEED={}", seed));
  std::mt19937_64 setup(seed);
  std::vector<std::string> sets;
  if (setup() % 2) sets = {"host.post_cost=0", "host.store_gap=0"};
  make(sets);
  const auto end = run([&] {
    const auto mr = memory();
    std::vector<uint32_t> qpns;
    for (unsigned i = 0; i < kQps; ++i) {
      const auto where = setup() % 2 ? SqWhere::kBf : SqWhere::kDevice;
      uint32_t qpn;
      do qpn = static_cast<uint32_t>(setup() % 1024) & (setup() % 2 ? 0x3c3u : 0x3ffu);
      while (senders_.count(qpn));
      sender(mr, ctx().create_cq(6), where, qpn, 4 + static_cast<unsigned>(setup() % 3));
      qpns.push_back(qpn);
    }
    at_once(kQps, [this, qpns, seed](unsigned i) {
      std::mt19937_64 rng(seed * 1000 + i);
      auto& s = senders_[qpns[i]];
      const unsigned ring = 1u << s.qp->init.log_sq_size;
      auto who = pcie::Initiator::kCpu;
      for (unsigned r = 0; r < 30; ++r) {
        const unsigned n = 1 + static_cast<unsigned>(rng() % (rng() % 4 ? 4 : ring));
        if (s.posted - s.completed + n > ring) drain(s);
        if (rng() % 8 == 0) {
          // Stores of CPU and GPU may pass each other, as on real machines: a queue changes hands only when empty.
          drain(s);
          who = rng() % 2 ? pcie::Initiator::kGpu : pcie::Initiator::kCpu;
        }
        static constexpr uint64_t kLengths[] = {0, 8, 64, 100, 1025, 3000};
        std::vector<host::SendWr> wrs;
        for (unsigned k = 0; k < n; ++k) wrs.push_back(next(s, kLengths[rng() % 6], k + 1 == n || rng() % 2));
        ctx().post_send(s.qp, wrs, who);
        if (rng() % 4 == 0) ctx().ring_doorbell(s.qp->qpn, s.qp->pi, who);
        if (rng() % 4 == 0) sc_core::wait(from_ps(rng() % 2'000'000));
        if (HasFailure()) return;
      }
      drain(s);
      settle();
    });
  });
  EXPECT_EQ(end, RunEnd::kDone) << to_string(end);
  expect_each_once();
}

}  // namespace
}  // namespace rnic::test
