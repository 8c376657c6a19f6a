// SPDX-License-Identifier: Apache-2.0
// The timeline of F5 and what moves it.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "support/fst.h"
#include "support/isolate.h"
#include "system/fixture.h"

namespace rnic::test {
namespace {

using host::SqWhere;
using nlohmann::json;

/// One warm 64 B UC WRITE; its stage table as JSON in ps from T0.
struct Measurement {
  std::vector<std::string> sets;
  SqWhere where = SqWhere::kDevice;
  SystemOptions options;
  uint64_t delay_ps = 0;  ///< before the measured post
  uint64_t length = 64;
};

class StagesTest : public SystemTest {
 protected:
  StageTable measure(const Measurement& r) {
    make(r.options, r.sets);
    uint32_t qpn = 0;
    run([&] {
      const auto mr = gpu_buffer(1 << 20);
      auto* cq = ctx().create_cq(6);
      host::QpInit init;
      init.where = r.where;
      auto* qp = ctx().create_qp(cq, init);
      qpn = qp->qpn;
      ctx().modify_qp_rts(qp, {});
      ctx().post_send(qp, write(mr, r.length));
      complete(cq, 1);
      sc_core::wait(Time(2, sc_core::SC_US) + from_ps(r.delay_ps));
      ctx().post_send(qp, write(mr, r.length));
      complete(cq, 1);
    });
    const ClockInfo clock{r.options.phases_ps.empty() ? 0 : r.options.phases_ps[0],
                          to_ps(system().profile().time("clock.core_period"))};
    return make_stage_table(recorder.events, 0, qpn, 1, clock, model_latencies(system().profile()),
                            extra_cycles(declared_extra_cycles()));
  }

  static json summary(const StageTable& t) {
    json j;
    for (const auto& s : t.stages) {
      j[s.name] = {{"start", s.start_ps - t.t0_ps},      {"end", s.end_ps - t.t0_ps},
                   {"rtl", s.share_ps(Share::kRtl)},     {"align", s.share_ps(Share::kAlign)},
                   {"model", s.share_ps(Share::kModel)}, {"link", s.share_ps(Share::kLink)}};
    }
    j["first_bit"] = t.first_bit_ps - t.t0_ps;
    j["last_bit"] = t.last_bit_ps - t.t0_ps;
    j["cqe_issued"] = t.cqe_issued_ps.value_or(0) - t.t0_ps;
    return j;
  }

  json isolated_run(const Measurement& r) {
    const std::string out = isolated([&] { return summary(measure(r)).dump(); });
    return out.empty() ? json::object() : json::parse(out);
  }
};

/// Windows move with the cycles that an override of the RTL declares, and only then.
void expect_f5(const json& j) {
  const ExtraCycles e = extra_cycles(declared_extra_cycles());
  const int64_t fetched = 1000 * e.wqe_fetch, read = fetched + 1000 * e.dma_read, sent = read + 1000 * e.packetize;
  EXPECT_LE(j["WQE fetch"]["end"], 40'000 + fetched);
  EXPECT_LE(j["DMA read"]["end"], 240'000 + read);
  EXPECT_LE(j["packetize"]["end"], 260'000 + sent);
  EXPECT_GE(j["first_bit"], 290'000 + std::min<int64_t>(sent, 0));
  EXPECT_LE(j["first_bit"], 310'000 + sent);
  EXPECT_GE(j["cqe_issued"], 260'000 + std::min<int64_t>(sent, 0));
  EXPECT_LE(j["cqe_issued"], 300'000 + sent + 1000 * e.cqe_write);
  const std::pair<const char*, int64_t> budgets[] = {{"WQE fetch", 40'000 + 1000 * e.wqe_fetch},
                                                     {"DMA read", 200'000 + 1000 * e.dma_read},
                                                     {"packetize", 20'000 + 1000 * e.packetize},
                                                     {"MAC TX", 40'000}};
  for (const auto& [name, budget] : budgets) {
    EXPECT_LE(j[name]["end"].get<int64_t>() - j[name]["start"].get<int64_t>(), budget) << name;
    EXPECT_GT(j[name]["end"].get<uint64_t>(), j[name]["start"].get<uint64_t>()) << name;
  }
}

// F5 comes out on the default profile, each stage within its own budget.
TEST_F(StagesTest, DefaultProfileMeetsTheTimeline) {
  const json j = summary(measure({}));
  SCOPED_TRACE(j.dump(1));
  expect_f5(j);
  EXPECT_GT(j["packetize"]["rtl"], 0);
}

// A BlueFlame push is not slower than a fetched WQE, and saves the ring read.
TEST_F(StagesTest, BlueFlameIsNotSlower) {
  Measurement bf;
  bf.where = SqWhere::kBf;
  const json a = isolated_run({}), b = isolated_run(bf);
  EXPECT_LE(b["first_bit"], a["first_bit"]);
  EXPECT_LT(b["WQE fetch"]["end"], a["WQE fetch"]["end"]);
  EXPECT_EQ(b["WQE fetch"]["model"], 0);
}

// A ring in host memory costs the WQE fetch its way over PCIe, and nothing else: the other rows stay as they are, and
// 13 ns more of host memory latency are 13 ns more there.
TEST_F(StagesTest, RingInHostMemoryCostsItsReadAlone) {
  const double base = Profile::load("seed-400g").number("host.read_latency");
  Measurement host, slower;
  host.where = slower.where = SqWhere::kHost;
  slower.sets = {fmt::format("host.read_latency={}", base + 13)};
  const json a = isolated_run({}), b = isolated_run(host), c = isolated_run(slower);
  const auto length = [](const json& j, const char* stage) {
    return j[stage]["end"].get<int64_t>() - j[stage]["start"].get<int64_t>();
  };
  for (const char* stage : {"DMA read", "packetize", "MAC TX", "CQE write"}) {
    EXPECT_EQ(length(b, stage), length(a, stage)) << stage;
    EXPECT_EQ(length(c, stage), length(a, stage)) << stage;
  }
  EXPECT_EQ(b["WQE fetch"]["model"].get<double>(), 1000 * base);
  EXPECT_GT(b["WQE fetch"]["link"], 0);
  EXPECT_EQ(length(c, "WQE fetch") - length(b, "WQE fetch"), 13'000);
  const auto& f = b["WQE fetch"];
  EXPECT_EQ(length(b, "WQE fetch"),
            f["rtl"].get<int64_t>() + f["align"].get<int64_t>() + f["model"].get<int64_t>() + f["link"].get<int64_t>());
}

// 13 ns more of GPU memory latency move the DMA row by exactly 13 ns, and no other row.
TEST_F(StagesTest, GpuLatencyMovesTheDmaRowAlone) {
  const double base = Profile::load("seed-400g").number("gpu.read_latency");
  Measurement slower;
  slower.sets = {fmt::format("gpu.read_latency={}", base + 13)};
  const json a = isolated_run({}), b = isolated_run(slower);
  for (const char* stage : {"WQE fetch", "DMA read", "packetize", "MAC TX", "CQE write"}) {
    const auto length = [&](const json& j) {
      return j[stage]["end"].get<int64_t>() - j[stage]["start"].get<int64_t>();
    };
    EXPECT_EQ(length(b) - length(a), std::string(stage) == "DMA read" ? 13'000 : 0) << stage;
  }
  EXPECT_EQ(b["first_bit"].get<int64_t>() - a["first_bit"].get<int64_t>(), 13'000);
}

// Twice the clock period doubles exactly the RTL's share of every stage.
TEST_F(StagesTest, ClockPeriodDoublesTheRtlShare) {
  Measurement half;
  half.sets = {"clock.core_period=2000"};
  const json a = isolated_run({}), b = isolated_run(half);
  for (const char* stage : {"WQE fetch", "DMA read", "packetize", "MAC TX", "CQE write"}) {
    EXPECT_EQ(b[stage]["rtl"].get<uint64_t>(), 2 * a[stage]["rtl"].get<uint64_t>()) << stage;
    EXPECT_EQ(b[stage]["model"], a[stage]["model"]) << stage;
    EXPECT_EQ(b[stage]["link"], a[stage]["link"]) << stage;
  }
  EXPECT_GT(a["packetize"]["rtl"], 0);
}

// Wherever in a clock cycle the doorbell arrives, the spread of doorbell to first bit stays below one cycle plus the
// second edge (where the completion arrives) that it may shift.
TEST_F(StagesTest, DoorbellPhaseSpreadsLessThanACycle) {
  std::vector<uint64_t> latency;
  std::mt19937_64 rng(1);
  const std::string out = isolated([&] {
    make();
    std::string line;
    run([&] {
      const auto mr = gpu_buffer(1 << 20);
      auto* cq = ctx().create_cq(6);
      auto* qp = ctx().create_qp(cq, {});
      ctx().modify_qp_rts(qp, {});
      for (int i = 0; i < 201; ++i) {
        ctx().post_send(qp, write(mr, 64));
        complete(cq, 1);
        sc_core::wait(Time(2, sc_core::SC_US) + from_ps(rng() % 1000));
      }
    });
    uint64_t t0 = 0;
    unsigned n = 0;
    for (const auto& e : recorder.events) {
      if (e.kind == EventKind::kDbPins && e.op.wqe != 0) t0 = e.ps;
      if (e.kind == EventKind::kWireFirst && n++ > 0) line += std::to_string(e.ps - t0) + " ";
    }
    return line;
  });
  std::istringstream in(out);
  for (uint64_t v; in >> v;) latency.push_back(v);
  ASSERT_EQ(latency.size(), 200u);
  std::sort(latency.begin(), latency.end());
  const uint64_t p50 = latency[99], p99 = latency[197], spread = latency.back() - latency.front();
  EXPECT_LT(p50, p99);
  EXPECT_LT(spread, 1'000u) << latency.front() << " .. " << latency.back();
  EXPECT_GT(spread, 500u);
}

// Every instant that C++ reports stands in the waveform at the same picosecond, and the waveform holds no others.
TEST_F(StagesTest, WaveformShowsTheSameInstants) {
  const std::string path = ::testing::TempDir() + "stages_wave.fst";
  Measurement r;
  r.options.traces = {{path}};
  r.options.phases_ps = {137};
  const StageTable table = measure(r);
  (void)table;
  FstFile fst(path);
  const std::map<EventKind, std::string> pulses = {{EventKind::kDb, "db"},      {EventKind::kWqe, "wqe"},
                                                   {EventKind::kRdIssue, "rd"}, {EventKind::kRdDone, "rd_done"},
                                                   {EventKind::kMac, "mac"},    {EventKind::kCqeIssue, "cqe"}};
  const std::map<EventKind, std::string> toggles = {
      {EventKind::kDbStore, "db_store"},        {EventKind::kDbPins, "db_pins"},
      {EventKind::kMemRdStart, "mem_rd_start"}, {EventKind::kMemRdEnd, "mem_rd_end"},
      {EventKind::kWireFirst, "wire_first"},    {EventKind::kWireLast, "wire_last"},
      {EventKind::kCqeVisible, "cqe_visible"}};
  std::vector<std::string> names = {"TOP.clk_i", "TOP.cycle_i"};
  for (const auto& p : pulses) names.push_back("TOP.probe_o." + p.second);
  for (const auto& t : toggles) names.push_back("TOP.ext_probe_i." + t.second);
  const auto wave = fst.read(names);

  std::map<EventKind, std::vector<uint64_t>> reported;
  for (const auto& e : recorder.events) reported[e.kind].push_back(e.ps);

  // Pulses: sampled before each rising edge.
  std::map<EventKind, std::vector<uint64_t>> seen;
  for (const auto& c : wave.at("TOP.clk_i")) {
    if (c.number() == 0) continue;
    for (const auto& [kind, name] : pulses) {
      const auto* v = before(wave.at("TOP.probe_o." + name), c.ps);
      if (v != nullptr && v->number() == 1) seen[kind].push_back(c.ps);
    }
  }
  for (const auto& [kind, name] : pulses) {
    EXPECT_EQ(seen[kind], reported[kind]) << name;
    EXPECT_GE(reported[kind].size(), 2u) << name;
  }
  for (const auto& [kind, name] : toggles) {
    std::vector<uint64_t> at;
    for (const auto& c : wave.at("TOP.ext_probe_i." + name)) {
      if (&c != &wave.at("TOP.ext_probe_i." + name).front()) at.push_back(c.ps);  // the first one is the initial value
    }
    EXPECT_EQ(at, reported[kind]) << name;
    EXPECT_GE(reported[kind].size(), 2u) << name;
  }
  // The cycle counter in the waveform is the number that events carry.
  for (const auto& e : recorder.events) {
    if (e.kind != EventKind::kMac) continue;
    const auto* v = before(wave.at("TOP.cycle_i"), e.ps);
    ASSERT_NE(v, nullptr);
    EXPECT_EQ(v->number(), e.cycle);
  }
}

}  // namespace
}  // namespace rnic::test
