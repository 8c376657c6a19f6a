// SPDX-License-Identifier: Apache-2.0
// The clock stands still while the NIC is idle, and nothing can tell. Same inputs, same outputs.
#include <thread>

#include "support/fst.h"
#include "system/traffic.h"

namespace rnic::test {
namespace {

struct Outcome {
  std::string text;
  uint64_t clocked = 0, end_ps = 0;
};

class IdleSkipTest : public SystemTest {
 protected:
  /// Sparse mixed traffic: `rounds` rounds with `gap` between them, in a process of its own.
  Outcome sparse(const SystemOptions& options, const std::vector<std::string>& sets, unsigned rounds, const Time& gap) {
    const std::string out = isolated([&] {
      auto& s = make(options, sets);
      std::string seen;
      uint64_t end_ps = 0;
      s.spawn("program", [&] {
        seen = mixed_traffic(s, 0, test_seed(3), rounds, gap);
        end_ps = to_ps(sc_core::sc_time_stamp());
      });
      EXPECT_EQ(s.run(), RunEnd::kDone);
      EXPECT_EQ(s.node().nic->assertion_failures(), 0u);
      return fmt::format("{} {}\n", s.node().nic->clocked_cycles(), end_ps) + seen + digest(recorder, s, 0);
    });
    Outcome o;
    std::istringstream in(out);
    in >> o.clocked >> o.end_ps;
    o.text = out.substr(std::min(out.size(), out.find('\n') + 1));
    return o;
  }

  void expect_skipping_unseen(uint64_t phase_ps, uint64_t period_ps) {
    SystemOptions on, off;
    on.phases_ps = off.phases_ps = {phase_ps};
    off.skip_idle = false;
    const std::vector<std::string> sets = {fmt::format("clock.core_period={}", period_ps)};
    const Time gap(12, sc_core::SC_US);
    const auto skipped = sparse(on, sets, 9, gap), clocked = sparse(off, sets, 9, gap);
    EXPECT_GT(skipped.end_ps, 100'000'000u);
    EXPECT_EQ(skipped.end_ps, clocked.end_ps);
    expect_same(skipped.text, clocked.text, fmt::format("phase {} period {}", phase_ps, period_ps));
    EXPECT_GE(clocked.clocked, clocked.end_ps / period_ps);
    EXPECT_LT(skipped.clocked * 4, clocked.clocked) << "the clock was not stopped";
  }
};

// With and without idle skipping over more than 100 us: every event, frame and TLP at the same picosecond.
TEST_F(IdleSkipTest, NothingShows) { expect_skipping_unseen(0, 1000); }

// The same with a clock that does not start at 0.
TEST_F(IdleSkipTest, NothingShowsWithAPhase) { expect_skipping_unseen(431, 1000); }

// The same with a period that divides nothing.
TEST_F(IdleSkipTest, NothingShowsWithAnOddPeriod) { expect_skipping_unseen(0, 937); }
TEST_F(IdleSkipTest, NothingShowsWithAnOddPeriodAndPhase) { expect_skipping_unseen(936, 937); }

// Several arrivals within one cycle are all taken, though the NIC is idle again after the first: a consumer index,
// which starts nothing, and a doorbell right behind it.
TEST_F(IdleSkipTest, ArrivalsOfOneCycleAreAllTaken) {
  auto& s = make();
  EXPECT_EQ(run([&] {
              std::mt19937_64 rng(test_seed());
              const auto mr = gpu_buffer(4096);
              auto* cq = ctx().create_cq(4);
              auto* qp = ctx().create_qp(cq, {});
              ctx().modify_qp_rts(qp, {});
              for (unsigned i = 0; i < 100; ++i) {
                golden::Wqe w;
                w.index = qp->pi;
                w.qpn = qp->qpn;
                w.signaled = true;
                w.sges = {{mr.lkey, mr.addr, 64}};
                ctx().write_raw_wqe(qp, golden::encode_wqe(w));
                sc_core::wait(Time(3, sc_core::SC_US) + from_ps(rng() % 1000));
                const uint8_t ci[4] = {static_cast<uint8_t>(cq->ci)};
                for (unsigned k = 0; k <= i % 3; ++k) {
                  s.node().hub->mmio_write(pcie::Initiator::kCpu, ctx().bar(0) + cq->cqn * 0x100 + 0x10, ci, 4);
                }
                ctx().ring_doorbell(qp->qpn, qp->pi);
                ASSERT_TRUE(ctx().wait_cq(cq, Time(10, sc_core::SC_US))) << "round " << i;
              }
            }),
            RunEnd::kDone);
  EXPECT_EQ(recorder.frames.size(), 100u);
}

// A second of nothing between two messages costs no cycles, and the edges go on in step behind it.
TEST_F(IdleSkipTest, ASecondOfIdleCostsNothing) {
  SystemOptions o;
  o.max_sim_time = Time(2, sc_core::SC_SEC);
  auto& s = make(o);
  uint64_t before = 0, after = 0, t0 = 0;
  double wall = 0;
  EXPECT_EQ(run([&] {
              const auto mr = gpu_buffer(4096);
              auto* cq = ctx().create_cq(4);
              auto* qp = ctx().create_qp(cq, {});
              ctx().modify_qp_rts(qp, {});
              ctx().post_send(qp, write(mr, 64));
              complete(cq, 1);
              sc_core::wait(Time(10, sc_core::SC_US));
              before = s.node().nic->clocked_cycles();
              t0 = to_ps(sc_core::sc_time_stamp());
              const auto start = std::chrono::steady_clock::now();
              sc_core::wait(Time(1, sc_core::SC_SEC));
              wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
              after = s.node().nic->clocked_cycles();
              ctx().post_send(qp, write(mr, 64));
              complete(cq, 1);
            }),
            RunEnd::kDone);
  EXPECT_EQ(after, before);
  RecordProperty("wall_us", static_cast<int>(wall * 1e6));
  std::printf("1 s of idle took %.3f ms of wall time\n", wall * 1e3);
  EXPECT_LT(s.node().nic->clocked_cycles(), 10'000u);
  // The second message takes as long as the first, up to the phase of its doorbell within a cycle.
  std::vector<uint64_t> latency;
  uint64_t db = 0;
  for (const auto& e : recorder.events) {
    if (e.kind == EventKind::kDb) db = e.ps;
    if (e.kind == EventKind::kMac) latency.push_back(e.ps - db);
    EXPECT_EQ(e.cycle, e.ps / 1000);
  }
  ASSERT_EQ(latency.size(), 2u);
  EXPECT_LE(latency[1], latency[0]);  // the first one had cold caches
  EXPECT_GT(recorder.events.back().ps, t0 + 1'000'000'000'000u);
}

class DeterminismTest : public IdleSkipTest {
 protected:
  static std::string file(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }
};

// Same inputs give the same events and the same waveform file, whatever the day.
TEST_F(DeterminismTest, EqualRunsGiveEqualFiles) {
  const Time gap(500, sc_core::SC_NS);
  SystemOptions a, b;
  a.traces = {{::testing::TempDir() + "determinism_a.fst"}};
  b.traces = {{::testing::TempDir() + "determinism_b.fst"}};
  const auto first = sparse(a, {}, 10, gap);
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // the date in an FST file counts seconds
  const auto second = sparse(b, {}, 10, gap);
  expect_same(first.text, second.text, "events");
  EXPECT_EQ(first.clocked, second.clocked);
  const std::string x = file(a.traces[0].path), y = file(b.traces[0].path);
  EXPECT_GT(x.size(), 10'000u);
  ASSERT_EQ(x.size(), y.size());
  EXPECT_TRUE(x == y) << "first difference at byte " << std::mismatch(x.begin(), x.end(), y.begin()).first - x.begin();
  void* reader = fstReaderOpen(a.traces[0].path.c_str());
  ASSERT_NE(reader, nullptr);
  EXPECT_STREQ(fstReaderGetDateString(reader), "Thu Jan  1 00:00:00 1970\n");
  EXPECT_NE(fstReaderGetVersionString(reader)[0], 0) << "the date was written over the version";
  fstReaderClose(reader);
}

// Writing a waveform changes nothing in the run.
TEST_F(DeterminismTest, TracingDoesNotChangeTheRun) {
  const Time gap(500, sc_core::SC_NS);
  SystemOptions traced, plain;
  traced.traces = {{::testing::TempDir() + "determinism_c.fst"}};
  expect_same(sparse(traced, {}, 10, gap).text, sparse(plain, {}, 10, gap).text, "events");
}

}  // namespace
}  // namespace rnic::test
