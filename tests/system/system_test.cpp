// SPDX-License-Identifier: Apache-2.0
// System and the process that clocks a NIC: order at one picosecond, failed assertions, exceptions.
// Verilator's headers must come before <systemc>.
#include <verilated.h>

#include "rnic/system/system.h"

#include <fmt/format.h>

#include <sstream>

#include "rnic/core/error.h"
#include "rnic/golden/packetizer.h"
#include "rnic/golden/wqe.h"
#include "support/fst.h"
#include "support/isolate.h"
#include "system/fixture.h"

namespace rnic::test {
namespace {

class SystemRunTest : public SystemTest {
 protected:
  /// SystemC errors throw, as they do outside of tests, instead of failing the test.
  static void expect_systemc_errors() {
    sc_core::sc_report_handler::set_handler(&sc_core::sc_report_handler::default_handler);
  }

  /// A message from node n, with its completion.
  void one_message(unsigned n = 0) {
    const auto mr = gpu_buffer(4096, 7, n);
    auto* cq = ctx(n).create_cq(4);
    auto* qp = ctx(n).create_qp(cq, {});
    ctx(n).modify_qp_rts(qp, {});
    ctx(n).post_send(qp, write(mr, 64));
    complete(cq, 1, n);
  }

  static std::string trace_path(const char* name) { return ::testing::TempDir() + "system_run_" + name + ".fst"; }
};

/// What came of a store to the WQE that the NIC is about to fetch.
struct Race {
  uint64_t arrival, fetch;  ///< of the store at the pins; edge at which the RTL asks for the WQE
  uint64_t raddr;           ///< that was sent
};

class EdgeOrderTest : public SystemRunTest, public ::testing::WithParamInterface<bool> {
 protected:
  static constexpr uint64_t kOld = 0x1111, kNew = 0x2222;

  /// The store is shift_ps later than 200 ns after the doorbell's. A thread that does nothing wakes at wake_ps: the
  /// clock does not run ahead over that.
  Race race(int64_t shift_ps, uint64_t wake_ps = 0) {
    const std::string text = isolated([&] {
      SystemOptions o;
      o.skip_idle = GetParam();
      auto& s = make(o);
      const Time base(100, sc_core::SC_US);
      uint64_t at = 0;
      std::vector<uint8_t> over;
      EXPECT_EQ(run([&] {
                  const auto mr = gpu_buffer(4096);
                  auto* cq = ctx().create_cq(4);
                  auto* qp = ctx().create_qp(cq, {});
                  ctx().modify_qp_rts(qp, {});
                  ctx().post_send(qp, write(mr, 64));
                  complete(cq, 1);
                  const auto wqe = [&](uint64_t raddr) {
                    golden::Wqe w;
                    w.index = qp->pi;
                    w.qpn = qp->qpn;
                    w.signaled = true;
                    w.raddr = raddr;
                    w.sges = {{mr.lkey, mr.addr, 64}};
                    return golden::encode_wqe(w);
                  };
                  at = ctx().bar(1) + qp->ring + uint64_t{qp->pi} * 64;
                  over = wqe(kNew);
                  ctx().write_raw_wqe(qp, wqe(kOld));
                  s.spawn("late", [&, base] {
                    const Time when =
                        from_ps(static_cast<uint64_t>(static_cast<int64_t>(to_ps(base)) + 200'000 + shift_ps));
                    sc_core::wait(when - sc_core::sc_time_stamp());
                    s.node().hub->mmio_write(pcie::Initiator::kCpu, at, over.data(), 64);
                  });
                  if (wake_ps != 0) {
                    s.spawn("idler", [wake_ps] { sc_core::wait(from_ps(wake_ps) - sc_core::sc_time_stamp()); });
                  }
                  sc_core::wait(base - sc_core::sc_time_stamp());
                  ctx().ring_doorbell(qp->qpn, qp->pi);
                  complete(cq, 1);
                }),
                RunEnd::kDone);
      Race r{0, 0, 0};
      uint64_t t0 = 0;
      for (const auto& e : recorder.events) {
        if (e.kind == EventKind::kDbPins && e.ps > to_ps(base)) t0 = e.ps;
        if (e.kind == EventKind::kDmReq && t0 != 0 && r.fetch == 0) r.fetch = e.ps;
      }
      for (const auto& t : recorder.tlps) {
        if (!t.from_nic && t.tlp.is_mem_write() && t.tlp.address() == at) r.arrival = t.ps;
      }
      const auto frame = golden::parse_frame(recorder.frames.back().bytes);
      if (frame.fields.reth) r.raddr = frame.fields.reth->va;
      return fmt::format("{} {} {}", r.arrival, r.fetch, r.raddr);
    });
    Race r{};
    std::istringstream(text) >> r.arrival >> r.fetch >> r.raddr;
    return r;
  }
};
INSTANTIATE_TEST_SUITE_P(All, EdgeOrderTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Skipping" : "Running"; });

// A store to device memory that is decoded exactly at an edge is not seen by a read of that edge; one picosecond
// earlier it is.
TEST_P(EdgeOrderTest, StoreAtTheEdgeComesAfterIt) {
  const Race far = race(0);
  ASSERT_GT(far.arrival, far.fetch);
  ASSERT_EQ(far.raddr, kOld);
  const auto back = static_cast<int64_t>(far.fetch) - static_cast<int64_t>(far.arrival);
  for (const uint64_t wake : {uint64_t{0}, far.fetch - 300, far.fetch - 1, far.fetch}) {
    const Race same = race(back, wake);
    EXPECT_EQ(same.arrival, far.fetch);
    EXPECT_EQ(same.fetch, far.fetch);
    EXPECT_EQ(same.raddr, kOld) << "wake at " << wake;
    const Race before = race(back - 1, wake);
    EXPECT_EQ(before.arrival, far.fetch - 1);
    EXPECT_EQ(before.fetch, far.fetch);
    EXPECT_EQ(before.raddr, kNew) << "wake at " << wake;
  }
}

// A doorbell at the pins is one that was rung: the consumer index of a CQ with the QP's number is none.
TEST_F(SystemRunTest, ConsumerIndexIsNoDoorbell) {
  make();
  EXPECT_EQ(run([&] {
              const auto mr = gpu_buffer(4096);
              (void)ctx().create_cq(4);
              auto* cq = ctx().create_cq(4);
              auto* qp = ctx().create_qp(cq, {});
              EXPECT_EQ(qp->qpn, cq->cqn);
              ctx().modify_qp_rts(qp, {});
              for (unsigned i = 0; i < 3; ++i) {
                ctx().post_send(qp, write(mr, 64));
                complete(cq, 1);
              }
            }),
            RunEnd::kDone);
  std::vector<uint16_t> bells;
  for (const auto& e : recorder.events) {
    if (e.kind == EventKind::kDbPins) bells.push_back(e.op.wqe);
  }
  EXPECT_EQ(bells, (std::vector<uint16_t>{1, 2, 3}));
}

/// Does what Verilator's runtime does when an assertion fails, at the first frame that NIC `nic` hands to its MAC.
struct FailingAssertion : Observer {
  explicit FailingAssertion(unsigned nic) : nic(nic) {}
  void on_event(const Event& e) override {
    if (e.nic != nic || e.kind != EventKind::kMac || done) return;
    done = true;
    Verilated::threadContextp()->errorCountInc();
  }
  unsigned nic;
  bool done = false;
};

// A failed assertion is the failure of the NIC in which it happened, and ends the run there, though another NIC was
// made after it and sleeps.
TEST_F(SystemRunTest, AssertionBelongsToItsNic) {
  for (unsigned nic = 0; nic < 2; ++nic) {
    const std::string text = isolated([&] {
      expect_systemc_errors();
      SystemOptions o;
      o.nodes = 2;
      auto& s = make(o);
      FailingAssertion fails(nic);
      s.observers().add(&fails);
      std::string what = "no error";
      try {
        run([&] { one_message(nic); });
      } catch (const sc_core::sc_report& e) {
        what = e.get_msg();
      }
      EXPECT_TRUE(fails.done);
      return fmt::format("{}|{}|{}", what, s.node(0).nic->assertion_failures(), s.node(1).nic->assertion_failures());
    });
    EXPECT_NE(text.find(fmt::format("nic{}: an RTL assertion failed", nic)), std::string::npos) << text;
    EXPECT_NE(text.find(nic == 0 ? "|1|0" : "|0|1"), std::string::npos) << text;
  }
}

// An exception of a thread ends the run and comes out as it is; the waveform is closed and can be read.
TEST_F(SystemRunTest, ExceptionOfAThreadClosesTheWaveform) {
  SystemOptions o;
  o.traces = {{trace_path("thread")}};
  make(o);
  EXPECT_THROW(run([&] {
                 one_message();
                 throw InputError("wrong");
               }),
               InputError);
  FstFile wave(o.traces[0].path);
  EXPECT_FALSE(wave.read({"TOP.clk_i"})["TOP.clk_i"].empty());
}

struct Thrower : Observer {
  void on_frame(const FrameRecord&) override { throw SimError("an observer gave up"); }
};

// An exception out of a model or an observer ends the run, too, and closes the waveform before it leaves run().
TEST_F(SystemRunTest, ExceptionOfAModelClosesTheWaveform) {
  expect_systemc_errors();
  SystemOptions o;
  o.traces = {{trace_path("model")}};
  auto& s = make(o);
  Thrower thrower;
  s.observers().add(&thrower);
  std::string what;
  try {
    run([&] { one_message(); });
  } catch (const std::exception& e) {
    what = e.what();
  }
  EXPECT_NE(what.find("an observer gave up"), std::string::npos) << what;
  FstFile wave(o.traces[0].path);
  EXPECT_FALSE(wave.read({"TOP.clk_i"})["TOP.clk_i"].empty());
}

/// Wakes a thread at every event.
struct Waker : Observer {
  Waker(Nic& nic, sc_core::sc_event& event) : nic(nic), event(event) {}
  void on_event(const Event& e) override {
    if (e.kind == EventKind::kDbStore) return;
    clocked = nic.clocked_cycles();
    event.notify(sc_core::SC_ZERO_TIME);
  }
  Nic& nic;
  sc_core::sc_event& event;
  uint64_t clocked = 0;
};

// Whom an observer wakes finds the NIC where it was at the event: the clock does not run on ahead.
TEST_F(SystemRunTest, ClockWaitsForWhomAnObserverWakes) {
  auto& s = make();
  sc_core::sc_event event;
  auto& nic = *s.node().nic;
  Waker waker(nic, event);
  s.observers().add(&waker);
  unsigned seen = 0;
  bool ended = false;
  s.spawn("woken", [&] {
    while (!ended) {
      sc_core::wait(Time(5, sc_core::SC_US), event);
      if (waker.clocked == 0) continue;
      EXPECT_LE(nic.clocked_cycles(), waker.clocked + 1);
      waker.clocked = 0;
      ++seen;
    }
  });
  EXPECT_EQ(run([&] {
              one_message();
              ended = true;
            }),
            RunEnd::kDone);
  EXPECT_GT(seen, 10u);
}

// A run can't be taken up again.
TEST_F(SystemRunTest, RunsOnce) {
  auto& s = make();
  EXPECT_EQ(run([&] { one_message(); }), RunEnd::kDone);
  EXPECT_THROW(s.run(), SimError);
}

// Without idle skipping nothing that is still on its way is cut off at the end.
TEST_F(SystemRunTest, NothingIsCutOffWithoutIdleSkipping) {
  const auto events = [&](bool skip) {
    return isolated([&] {
      SystemOptions o;
      o.skip_idle = skip;
      make(o);
      EXPECT_EQ(run([&] {
                  const auto mr = gpu_buffer(4096);
                  auto* qp = ctx().create_qp(ctx().create_cq(4), {});
                  ctx().modify_qp_rts(qp, {});
                  // The completion is on the way to host memory when the run is looked at, every 10 us.
                  sc_core::wait(Time(30, sc_core::SC_US) - from_ps(700'000) - sc_core::sc_time_stamp());
                  ctx().post_send(qp, write(mr, 64));
                }),
                RunEnd::kDone);
      std::string text;
      for (const auto& e : recorder.events) text += fmt::format("{} {}\n", event_name(e.kind), e.ps);
      return text;
    });
  };
  const std::string with = events(true);
  EXPECT_NE(with.find("cqe_visible"), std::string::npos);
  EXPECT_EQ(events(false), with);
}

}  // namespace
}  // namespace rnic::test
