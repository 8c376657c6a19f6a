// SPDX-License-Identifier: Apache-2.0
// The driver's interface: what it refuses, what it returns, how it counts.
#include "rnic/host/verbs.h"

#include <gmock/gmock.h>

#include <set>

#include "rnic/core/error.h"
#include "rnic/golden/packetizer.h"
#include "rnic/golden/wqe.h"
#include "system/fixture.h"

namespace rnic::test {
namespace {

using host::SqWhere;
using host::WcStatus;
using ::testing::HasSubstr;

/// The message of the InputError that body throws.
template <class Body>
std::string refusal(Body body) {
  try {
    body();
  } catch (const InputError& e) {
    return e.what();
  }
  return "nothing was thrown";
}

class VerbsTest : public SystemTest {
 protected:
  static constexpr uint64_t kBuffer = 65536;

  /// A UC QP in RTS over the buffer.
  host::Qp* ready_qp(host::Cq* cq, unsigned log_sq_size = 6, SqWhere where = SqWhere::kDevice, unsigned node = 0,
                     uint16_t first_index = 0) {
    host::QpInit init;
    init.where = where;
    init.log_sq_size = log_sq_size;
    auto* qp = ctx(node).create_qp(cq, init);
    qp->pi = first_index;
    ctx(node).modify_qp_rts(qp, {});
    return qp;
  }

  static host::SendWr silent(const host::Mr& mr, uint64_t length, uint64_t wr_id) {
    host::SendWr wr = write(mr, length, wr_id);
    wr.signaled = false;
    return wr;
  }

  void expect_done(std::function<void()> body) { EXPECT_EQ(run(std::move(body)), RunEnd::kDone); }
};

// A message above 2 GiB is refused, and nothing of its list is posted.
TEST_F(VerbsTest, TooLongMessageLeavesTheListUnposted) {
  make();
  expect_done([&] {
    const auto mr = gpu_buffer(kBuffer);
    auto* cq = ctx().create_cq(4);
    auto* qp = ready_qp(cq);
    const std::vector<host::SendWr> wrs{write(mr, 64, 1), write(mr, golden::kMaxMessageBytes + 1, 2)};
    EXPECT_THAT(refusal([&] { ctx().post_send(qp, wrs); }), HasSubstr("longer than 2 GiB"));
    EXPECT_EQ(qp->pi, 0);
    EXPECT_EQ(qp->outstanding(), 0u);
    ctx().post_send(qp, write(mr, 64, 3));
    const auto wcs = complete(cq, 1);
    EXPECT_EQ(wcs.at(0).wr_id, 3u);
    EXPECT_EQ(wcs.at(0).wqe_counter, 0);
  });
  EXPECT_EQ(recorder.frames.size(), 1u);
}

/// What stands in the doorbell records of host rings when a doorbell is stored, and when it is at the NIC's pins.
struct RecordWatch : Observer {
  const Memory* memory = nullptr;
  std::map<uint32_t, uint64_t> records;  ///< offset in host memory, by QP
  unsigned stored = 0, arrived = 0, wrong = 0;

  void on_event(const Event& e) override {
    if (e.kind != EventKind::kDbStore && e.kind != EventKind::kDbPins) return;
    ++(e.kind == EventKind::kDbStore ? stored : arrived);
    std::array<uint8_t, 4> bytes{};
    memory->read(records.at(e.op.qpn), bytes.data(), bytes.size());
    const uint32_t index = uint32_t{bytes[0]} << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3];
    // Later WQEs may have been posted while the doorbell was on its way.
    if (e.kind == EventKind::kDbStore ? index != e.op.wqe : static_cast<uint16_t>(index - e.op.wqe) > 64) ++wrong;
  }
};

// Beside a ring in host memory the producer index stands in a record of the QP's own, big-endian, before the doorbell
// is stored; also where the index wraps, and for WQEs whose doorbell comes later.
TEST_F(VerbsTest, DoorbellRecordBeforeTheDoorbell) {
  make();
  RecordWatch watch;
  watch.memory = &system().node().hub->host_memory();
  unsigned doorbells = 0;
  expect_done([&] {
    const auto mr = gpu_buffer(kBuffer);
    auto* cq = ctx().create_cq(8);
    std::vector<host::Qp*> qps;
    for (unsigned i = 0; i < 70; ++i) {  // more than fit a page
      qps.push_back(ready_qp(cq, 5, SqWhere::kHost, 0, static_cast<uint16_t>(65536 - i)));
      EXPECT_EQ(qps.back()->db_record % 8, 4u);
      watch.records[qps.back()->qpn] = qps.back()->db_record - pcie::kHostBase;
    }
    std::set<uint64_t> lines;
    for (const auto& [qpn, at] : watch.records) lines.insert(at / 64);
    EXPECT_EQ(lines.size(), qps.size());
    EXPECT_EQ(ready_qp(cq)->db_record, 0u);
    EXPECT_EQ(ready_qp(cq, 6, SqWhere::kBf)->db_record, 0u);
    system().observers().add(&watch);
    for (auto* qp : qps) {
      ctx().post_send(qp, write(mr, 64, 1));
      ctx().post_send(qp, std::vector<host::SendWr>(3, write(mr, 64, 2)));
      ctx().queue_send(qp, {write(mr, 64, 3), write(mr, 64, 4)});
      ctx().ring_doorbell(qp->qpn, qp->pi);
      doorbells += 3;
      complete(cq, 6);
    }
  });
  EXPECT_EQ(watch.stored, doorbells);
  EXPECT_EQ(watch.arrived, doorbells);
  EXPECT_EQ(watch.wrong, 0u);
  EXPECT_EQ(recorder.frames.size(), 2 * doorbells);
}

// The record is one store of the driver's more; a ring in device memory has none.
TEST_F(VerbsTest, DoorbellRecordCostsAStore) {
  make({}, {"host.post_cost=100", "host.store_gap=7"});
  expect_done([&] {
    const auto mr = gpu_buffer(kBuffer);
    auto* cq = ctx().create_cq(4);
    for (const auto where : {SqWhere::kDevice, SqWhere::kHost}) {
      auto* qp = ready_qp(cq, 6, where);
      const uint64_t begin = to_ps(sc_core::sc_time_stamp());
      ctx().post_send(qp, {write(mr, 64, 1), write(mr, 64, 2)});
      EXPECT_EQ(to_ps(sc_core::sc_time_stamp()) - begin, 2 * (100'000 + 7'000) + (where == SqWhere::kHost ? 7'000 : 0));
      complete(cq, 2);
    }
  });
}

// The NIC goes by the index in the doorbell: what becomes of the record does not matter to it.
TEST_F(VerbsTest, DoorbellRecordIsNotReadByTheNic) {
  make();
  expect_done([&] {
    const auto mr = gpu_buffer(kBuffer);
    auto* cq = ctx().create_cq(4);
    auto* qp = ready_qp(cq, 4, SqWhere::kHost);
    for (unsigned i = 0; i < 40; ++i) {
      ctx().post_send(qp, write(mr, 64, i));
      const std::array<uint8_t, 4> garbage{0xff, 0xff, 0xff, static_cast<uint8_t>(i)};
      system().node().hub->host_memory().write(qp->db_record - pcie::kHostBase, garbage.data(), garbage.size());
      EXPECT_EQ(complete(cq, 1).at(0).wr_id, i);
    }
  });
  EXPECT_EQ(recorder.frames.size(), 40u);
  EXPECT_TRUE(recorder.errors.empty());
}

class RingTest : public VerbsTest, public ::testing::WithParamInterface<SqWhere> {};
INSTANTIATE_TEST_SUITE_P(All, RingTest, ::testing::Values(SqWhere::kDevice, SqWhere::kBf, SqWhere::kHost),
                         [](const auto& info) {
                           return info.param == SqWhere::kBf     ? "BlueFlame"
                                  : info.param == SqWhere::kHost ? "Host"
                                                                 : "Device";
                         });

// A full ring takes nothing more until a completion has been taken from the CQ, though the NIC may be done long before.
TEST_P(RingTest, FullIsRefusedUntilPolled) {
  make();
  expect_done([&] {
    const auto mr = gpu_buffer(kBuffer);
    auto* cq = ctx().create_cq(4);
    auto* qp = ready_qp(cq, 2, GetParam());
    for (uint64_t id = 0; id < 4; ++id) ctx().post_send(qp, write(mr, 64, id));
    EXPECT_EQ(qp->outstanding(), 4u);
    sc_core::wait(Time(20, sc_core::SC_US));
    EXPECT_THAT(refusal([&] { ctx().post_send(qp, write(mr, 64, 4)); }), HasSubstr("the send queue of 4 is full"));
    EXPECT_EQ(complete(cq, 1).at(0).wr_id, 0u);
    EXPECT_EQ(qp->outstanding(), 3u);
    EXPECT_THAT(refusal([&] {
                  ctx().post_send(qp, {write(mr, 64, 4), write(mr, 64, 5)});
                }),
                HasSubstr("no room for 2"));
    ctx().post_send(qp, write(mr, 64, 4));
    for (uint64_t id = 1; id <= 4; ++id) EXPECT_EQ(complete(cq, 1).at(0).wr_id, id);
    EXPECT_EQ(qp->outstanding(), 0u);
  });
  EXPECT_EQ(recorder.frames.size(), 5u);
}

// The completion of a signaled request covers the unsignaled ones before it, across the wrap of ring and index.
TEST_P(RingTest, UnsignaledAreDoneWithALaterOne) {
  make();
  expect_done([&] {
    const auto mr = gpu_buffer(kBuffer);
    auto* cq = ctx().create_cq(4);
    auto* qp = ready_qp(cq, 3, GetParam(), 0, 65500);
    for (uint64_t id = 0; id < 80; id += 5) {  // 5 and 8 have no common divisor
      std::vector<host::SendWr> wrs;
      for (uint64_t i = 0; i < 4; ++i) wrs.push_back(silent(mr, 64, id + i));
      wrs.push_back(write(mr, 64, id + 4));
      ctx().post_send(qp, wrs);
      EXPECT_EQ(qp->outstanding(), 5u);
      const auto wcs = complete(cq, 1);
      EXPECT_EQ(wcs.at(0).wr_id, id + 4);
      EXPECT_EQ(wcs.at(0).wqe_counter, static_cast<uint16_t>(65500 + id + 4));
      EXPECT_EQ(qp->outstanding(), 0u);
    }
    EXPECT_EQ(qp->posted.size(), 8u);
  });
  EXPECT_EQ(recorder.frames.size(), 80u);
}

// A ring full of unsignaled requests stays full: nothing ever tells that they are done.
TEST_F(VerbsTest, UnsignaledAloneFillTheRing) {
  make();
  expect_done([&] {
    const auto mr = gpu_buffer(kBuffer);
    auto* cq = ctx().create_cq(4);
    auto* qp = ready_qp(cq, 1);
    ctx().post_send(qp, {silent(mr, 64, 0), silent(mr, 64, 1)});
    sc_core::wait(Time(20, sc_core::SC_US));
    EXPECT_FALSE(ctx().poll_cq(cq));
    EXPECT_THAT(refusal([&] { ctx().post_send(qp, write(mr, 64, 2)); }), HasSubstr("full"));
    ctx().modify_qp_rts(qp, {});  // by way of RESET: what was posted is forgotten
    EXPECT_EQ(qp->outstanding(), 0u);
    ctx().post_send(qp, write(mr, 64, 3));
    EXPECT_EQ(complete(cq, 1).at(0).wr_id, 3u);
  });
  EXPECT_EQ(recorder.frames.size(), 3u);
}

// More requests in one call than the ring has blocks never fit.
TEST_F(VerbsTest, MoreThanTheRingHolds) {
  make();
  expect_done([&] {
    const auto mr = gpu_buffer(kBuffer);
    auto* qp = ready_qp(ctx().create_cq(4), 2);
    EXPECT_THAT(refusal([&] { ctx().post_send(qp, std::vector<host::SendWr>(5, write(mr, 64))); }),
                HasSubstr("5 work requests do not fit in a send queue of 4"));
    ctx().post_send(qp, std::vector<host::SendWr>{});  // nothing to post: no doorbell
  });
  EXPECT_TRUE(recorder.frames.empty());
  for (const auto& e : recorder.events) EXPECT_NE(e.kind, EventKind::kDbStore);
}

// Threads that post to one QP at the same time take turns: each list stays together, no WQE is lost or doubled.
TEST_F(VerbsTest, ThreadsShareAQp) {
  make();
  constexpr unsigned kThreads = 4, kEach = 8, kRounds = 3;
  host::Mr mr{};
  host::Cq* cq = nullptr;
  host::Qp* qp = nullptr;
  std::multiset<uint64_t> ids;
  sc_core::sc_event start;
  for (unsigned t = 0; t < kThreads; ++t) {
    system().spawn("poster", [&, t] {
      sc_core::wait(start);
      for (unsigned r = 0; r < kRounds; ++r) {
        std::vector<host::SendWr> wrs;
        for (unsigned i = 0; i < kEach; ++i) wrs.push_back(write(mr, 64, t * 100 + r * kEach + i));
        ctx().post_send(qp, wrs);
      }
    });
  }
  expect_done([&] {
    mr = gpu_buffer(kBuffer);
    cq = ctx().create_cq(8);
    qp = ready_qp(cq, 7);
    start.notify();
    for (unsigned i = 0; i < kThreads * kRounds; ++i) {
      const auto wcs = complete(cq, kEach);
      for (unsigned k = 0; k < wcs.size(); ++k) {
        EXPECT_EQ(wcs[k].status, WcStatus::kSuccess);
        EXPECT_EQ(wcs[k].wqe_counter, i * kEach + k);
        EXPECT_EQ(wcs[k].wr_id, wcs[0].wr_id + k) << "a list was torn apart";
        ids.insert(wcs[k].wr_id);
      }
    }
  });
  EXPECT_EQ(ids.size(), kThreads * kRounds * kEach);
  EXPECT_EQ(std::set<uint64_t>(ids.begin(), ids.end()).size(), ids.size());
  EXPECT_EQ(recorder.frames.size(), ids.size());
}

// Numbers of QPs: given once, below 1024, and the message says when none is left.
TEST_F(VerbsTest, QpNumbers) {
  make();
  expect_done([&] {
    auto* cq = ctx().create_cq(0);
    host::QpInit init;
    init.log_sq_size = 0;
    EXPECT_EQ(ctx().create_qp(cq, init, 7)->qpn, 7u);
    EXPECT_THAT(refusal([&] { ctx().create_qp(cq, init, 7); }), HasSubstr("QP 7 exists already"));
    EXPECT_THAT(refusal([&] { ctx().create_qp(cq, init, 1024); }), HasSubstr("1024 is not below 1024"));
    EXPECT_THAT(refusal([&] { ctx().create_qp(nullptr, init); }), HasSubstr("no completion queue"));
    std::set<uint32_t> given{7};
    for (unsigned i = 0; i < 1022; ++i) EXPECT_TRUE(given.insert(ctx().create_qp(cq, init)->qpn).second);
    EXPECT_EQ(*given.begin(), 1u);
    EXPECT_THAT(refusal([&] { ctx().create_qp(cq, init); }), HasSubstr("all 1023 QP numbers"));
    EXPECT_EQ(ctx().create_qp(cq, init, 0)->qpn, 0u);
  });
}

// Rings that do not fit in device memory are refused and take nothing: a smaller one still fits.
TEST_F(VerbsTest, DeviceMemoryRunsOut) {
  make();
  expect_done([&] {
    const auto mr = gpu_buffer(kBuffer);
    auto* cq = ctx().create_cq(4);
    host::QpInit large, small;
    large.log_sq_size = 15;
    small.log_sq_size = 4;
    (void)ctx().create_qp(cq, small);
    uint64_t end = 0;
    std::string why;
    for (unsigned i = 0; i < 200 && why.empty(); ++i) {
      why = refusal([&] { end = ctx().create_qp(cq, large)->ring + (uint64_t{64} << 15); });
      if (why == "nothing was thrown") why.clear();
    }
    EXPECT_THAT(why, HasSubstr("device memory is full"));
    EXPECT_LE(end, system().node().nic->device_memory().size());
    large.log_sq_size = 16;
    EXPECT_THAT(refusal([&] { ctx().create_qp(cq, large); }), HasSubstr("at most 2^15"));
    auto* qp = ctx().create_qp(cq, small);
    EXPECT_EQ(qp->ring, end);
    ctx().modify_qp_rts(qp, {});
    ctx().post_send(qp, write(mr, 64, 1));
    EXPECT_EQ(complete(cq, 1).at(0).status, WcStatus::kSuccess);
  });
}

// Sizes of completion queues: one entry works, 2^23 are refused, the 1025th queue is refused.
TEST_F(VerbsTest, CqSizesAndNumber) {
  make();
  expect_done([&] {
    const auto mr = gpu_buffer(kBuffer);
    EXPECT_THAT(refusal([&] { ctx().create_cq(23); }), HasSubstr("at most 2^22"));
    auto* cq = ctx().create_cq(0);
    auto* qp = ready_qp(cq);
    for (uint64_t id = 0; id < 10; ++id) {
      ctx().post_send(qp, write(mr, 64, id));
      const auto wcs = complete(cq, 1);
      EXPECT_EQ(wcs.at(0).wr_id, id);
      EXPECT_EQ(wcs.at(0).status, WcStatus::kSuccess);
    }
    for (unsigned i = 1; i < 1024; ++i) EXPECT_EQ(ctx().create_cq(0)->cqn, i);
    EXPECT_THAT(refusal([&] { ctx().create_cq(0); }), HasSubstr("all 1024"));
  });
}

// A region taken back can't be used any more, nor taken back again; nor can one that never was.
TEST_F(VerbsTest, RegionTakenBack) {
  make();
  expect_done([&] {
    const auto mr = gpu_buffer(kBuffer);
    auto* cq = ctx().create_cq(4);
    auto* qp = ready_qp(cq);
    ctx().post_send(qp, write(mr, 64, 1));
    EXPECT_EQ(complete(cq, 1).at(0).status, WcStatus::kSuccess);
    host::Mr other = mr;
    other.lkey ^= 1;
    EXPECT_THAT(refusal([&] { ctx().dereg_mr(other); }), HasSubstr("no memory region has the key"));
    other.lkey = 0xffffff00;
    EXPECT_THAT(refusal([&] { ctx().dereg_mr(other); }), HasSubstr("no memory region has the key"));
    ctx().dereg_mr(mr);
    EXPECT_THAT(refusal([&] { ctx().dereg_mr(mr); }), HasSubstr("taken back already"));
    ctx().post_send(qp, write(mr, 64, 2));
    const auto wcs = complete(cq, 1);
    EXPECT_EQ(wcs.at(0).status, WcStatus::kLocProtErr);
    EXPECT_EQ(wcs.at(0).wr_id, 2u);
    EXPECT_EQ(qp->outstanding(), 0u);
  });
  EXPECT_EQ(recorder.frames.size(), 1u);
}

// All 65535 keys can be had; then only those that were taken back, under another key than before.
TEST_F(VerbsTest, KeysRunOutAndComeBack) {
  SystemOptions o;
  o.max_sim_time = Time(10, sc_core::SC_SEC);
  make(o);
  recorder.events.reserve(16);
  expect_done([&] {
    const auto mr = gpu_buffer(kBuffer);
    auto* cq = ctx().create_cq(4);
    auto* qp = ready_qp(cq);
    host::Mr last{};
    for (unsigned i = 1; i < 65535; ++i) last = ctx().reg_mr(kPd, mr.space, mr.offset, kBuffer, kVa);
    const auto more = [&] { return ctx().reg_mr(kPd, mr.space, mr.offset, kBuffer, kVa); };
    EXPECT_EQ(last.lkey >> 8, 65535u);
    EXPECT_THAT(refusal(more), HasSubstr("all 65535 memory keys are in use"));
    EXPECT_THAT(refusal(more), HasSubstr("all 65535 memory keys are in use"));
    ctx().dereg_mr(last);
    const auto again = more();
    EXPECT_EQ(again.lkey >> 8, 65535u);
    EXPECT_NE(again.lkey, last.lkey);
    EXPECT_THAT(refusal(more), HasSubstr("in use"));
    ctx().post_send(qp, write(again, 64, 1));
    EXPECT_EQ(complete(cq, 1).at(0).status, WcStatus::kSuccess);
    ctx().post_send(qp, write(last, 64, 2));
    EXPECT_EQ(complete(cq, 1).at(0).status, WcStatus::kLocProtErr);
  });
}

// An empty CQ gives nothing and takes no time; a wait ends at its time to the picosecond.
TEST_F(VerbsTest, EmptyCq) {
  make();
  expect_done([&] {
    auto* cq = ctx().create_cq(4);
    const Time start = sc_core::sc_time_stamp();
    EXPECT_FALSE(ctx().poll_cq(cq));
    EXPECT_FALSE(ctx().wait_cq(cq, sc_core::SC_ZERO_TIME));
    EXPECT_EQ(sc_core::sc_time_stamp(), start);
    EXPECT_FALSE(ctx().wait_cq(cq, from_ps(1'234'567)));
    EXPECT_EQ(sc_core::sc_time_stamp(), start + from_ps(1'234'567));
    EXPECT_EQ(cq->ci, 0u);
  });
}

// A wait without limit gets a late completion.
TEST_F(VerbsTest, WaitWithoutLimit) {
  make();
  expect_done([&] {
    const auto mr = gpu_buffer(kBuffer);
    auto* cq = ctx().create_cq(4);
    auto* qp = ready_qp(cq);
    system().spawn("late", [&, mr, qp] {
      sc_core::wait(Time(5, sc_core::SC_US));
      ctx().post_send(qp, write(mr, 64, 9));
    });
    const auto wc = ctx().wait_cq(cq, sc_core::sc_max_time());
    ASSERT_TRUE(wc);
    EXPECT_EQ(wc->wr_id, 9u);
  });
}

// A wait without limit for what never comes is a hang.
TEST_F(VerbsTest, WaitForNothingHangs) {
  make().allow_left_over("the hang is the test");
  EXPECT_EQ(run([&] { ctx().wait_cq(ctx().create_cq(4), sc_core::sc_max_time()); }), RunEnd::kHang);
  EXPECT_LT(to_ps(sc_core::sc_time_stamp()), 1'000'000'000u);
}

// Two nodes: equal numbers, keys and indices, and each gets its own completions.
TEST_F(VerbsTest, TwoContexts) {
  SystemOptions o;
  o.nodes = 2;
  make(o);
  for (unsigned n = 0; n < 2; ++n) {
    system().spawn("node", [&, n] {
      const auto mr = gpu_buffer(kBuffer, 7 + n, n);
      auto* cq = ctx(n).create_cq(4);
      auto* qp = ready_qp(cq, 4, SqWhere::kDevice, n);
      EXPECT_EQ(qp->qpn, 1u);
      for (uint64_t i = 0; i < 20; ++i) {
        ctx(n).post_send(qp, write(mr, 64 + n, 100 * n + i));
        const auto wcs = complete(cq, 1, n);
        EXPECT_EQ(wcs.at(0).wr_id, 100 * n + i);
        EXPECT_EQ(wcs.at(0).wqe_counter, i);
      }
    });
  }
  EXPECT_EQ(system().run(), RunEnd::kDone);
  unsigned frames[2] = {};
  for (const auto& f : recorder.frames) ++frames[f.nic];
  EXPECT_EQ(frames[0], 20u);
  EXPECT_EQ(frames[1], 20u);
}

// A path that can't be is refused before the NIC hears of it.
TEST_F(VerbsTest, PathIsChecked) {
  make();
  expect_done([&] {
    auto* qp = ctx().create_qp(ctx().create_cq(4), {});
    const Time start = sc_core::sc_time_stamp();
    const auto with = [&](auto change) {
      host::QpPath path;
      change(path);
      return refusal([&] { ctx().modify_qp_rts(qp, path); });
    };
    EXPECT_THAT(with([](auto& p) { p.mtu = 1500; }), HasSubstr("1500"));
    EXPECT_THAT(with([](auto& p) { p.port = 1; }), HasSubstr("port 1 is not below 1"));
    EXPECT_THAT(with([](auto& p) { p.prio = 8; }), HasSubstr("priority 8"));
    EXPECT_THAT(with([](auto& p) { p.dest_qpn = 1 << 24; }), HasSubstr("destination QP number"));
    EXPECT_EQ(sc_core::sc_time_stamp(), start);
  });
}

// Register reads are of 1 to 8 bytes.
TEST_F(VerbsTest, RegisterReadSizes) {
  make();
  expect_done([&] {
    EXPECT_THAT(refusal([&] { ctx().read(2, 0, 0); }), HasSubstr("1 to 8 bytes"));
    EXPECT_THAT(refusal([&] { ctx().read(2, 0, 9); }), HasSubstr("1 to 8 bytes"));
    const uint64_t both = ctx().read(2, 0, 8);
    EXPECT_EQ(ctx().read(2, 0, 4), both & 0xffffffff);
    EXPECT_EQ(ctx().read(2, 4, 4), both >> 32);
    EXPECT_EQ(ctx().read(2, 1, 1), both >> 8 & 0xff);
  });
}

// Memory for buffers ends where the memory does.
TEST_F(VerbsTest, AllocEnds) {
  make();
  auto& c = ctx();
  const uint64_t first = c.alloc(host::Space::kGpu, 1);
  EXPECT_EQ(c.alloc(host::Space::kGpu, 4097), first + 4096);
  EXPECT_EQ(c.alloc(host::Space::kGpu, 0), first + 3 * 4096);
  EXPECT_THAT(refusal([&] { c.alloc(host::Space::kGpu, ~uint64_t{0}); }), HasSubstr("out of GPU memory"));
  const uint64_t rest = pcie::kGpuSize - (first + 3 * 4096);
  EXPECT_THAT(refusal([&] { c.alloc(host::Space::kGpu, rest + 1); }), HasSubstr("out of GPU memory"));
  EXPECT_EQ(c.alloc(host::Space::kGpu, rest), first + 3 * 4096);
  EXPECT_THAT(refusal([&] { c.alloc(host::Space::kGpu, 1); }), HasSubstr("out of GPU memory"));
  EXPECT_THAT(refusal([&] { c.alloc(host::Space::kHost, pcie::kHostSize); }), HasSubstr("out of host memory"));
}

}  // namespace
}  // namespace rnic::test
