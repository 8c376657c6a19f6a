// SPDX-License-Identifier: Apache-2.0
// Utilisation from what the models report, and what is named as the bottleneck.
#include "rnic/observe/resources.h"

#include <gtest/gtest.h>

#include "rnic/observe/sections.h"
#include "support/sample_run.h"

namespace rnic {
namespace {

Profile profile() { return Profile::load("seed-400g"); }

Event event(EventKind kind, uint64_t ps, unsigned qpn = 1, unsigned wqe = 0, bool last = true) {
  Event e{kind, ps, 0, {}, 0, 0};
  e.op.qpn = static_cast<uint16_t>(qpn);
  e.op.wqe = static_cast<uint16_t>(wqe);
  e.op.last = last;
  return e;
}

/// A frame of `bytes` without FCS that ends at `last_ps`.
FrameRecord frame(uint64_t last_ps, size_t bytes, bool last = true) {
  FrameRecord f{0, 0, 0, last_ps, {}, std::vector<uint8_t>(bytes)};
  f.op.last = last;
  return f;
}

/// The level over time, and how long it was how high.
TEST(OccupancyTest, LevelsAreWeightedByTime) {
  Occupancy o;
  o.up(100);
  o.up(200);
  o.down(250);
  const auto t = o.totals(300);
  EXPECT_EQ(t.held_ps, 100u * 1 + 50 * 2 + 50 * 1);
  EXPECT_EQ(t.begun, 2u);
  ASSERT_EQ(t.at_level_ps.size(), 3u);
  EXPECT_EQ(t.at_level_ps[1], 150u);
  EXPECT_EQ(t.at_level_ps[2], 50u);
  EXPECT_EQ(o.held_ps(300), t.held_ps);
  EXPECT_EQ(o.at_least_ps(2, 300), 50u);
  EXPECT_EQ(o.at_least_ps(1, 300), 200u);
}

/// What was never begun can't end.
TEST(OccupancyTest, NeverBelowZero) {
  Occupancy o;
  o.down(10);
  o.up(20);
  EXPECT_EQ(o.level(), 1u);
}

/// The payload's length comes from the IP header, so the padding of a short frame does not count; other frames have
/// none.
TEST(ResourcesTest, PayloadOfFrames) {
  EXPECT_EQ(roce_payload_bytes({}), 0u);
  EXPECT_EQ(roce_payload_bytes(std::vector<uint8_t>(200, 0xff)), 0u);
  const std::vector<std::pair<std::string, uint64_t>> frames{{"rc_write_only_1B_pad3", 1},
                                                             {"rc_write_only_0B", 0},
                                                             {"rc_write_only_imm_64B", 64},
                                                             {"rc_send_only_imm_2B_pad2_se", 2},
                                                             {"uc_write_only_8B", 8}};
  for (const auto& [name, bytes] : frames) EXPECT_EQ(roce_payload_bytes(sample::frame_bytes(name)), bytes) << name;
}

/// Frames without a gap use up the wire; the window lies between the ends of the two frames named.
TEST(ResourcesTest, WireOfTheWindow) {
  ResourceMonitor m(profile(), [](uint64_t) { return ModelUsage{}; });
  m.start(0, 2, 6);
  // 976 B and the 24 B around them take 20 ns at 400 Gb/s. The first ones come slowly.
  uint64_t at = 500'000;
  for (unsigned i = 0; i < 8; ++i) m.on_frame(frame(at += i < 2 ? 100'000 : i < 6 ? 20'000 : 70'000, 976));
  const auto r = m.report();
  EXPECT_EQ(r.frames, 4u);
  EXPECT_EQ(r.from_ps, 700'000u);
  EXPECT_EQ(r.to_ps, 780'000u);
  ASSERT_NE(r.row("wire"), nullptr);
  EXPECT_DOUBLE_EQ(*r.row("wire")->utilisation, 1.0);
  EXPECT_TRUE(r.bottleneck.saturated);
  EXPECT_EQ(r.bottleneck.key, "wire");
}

/// A run that is cut short after its window has begun, or before, still has a window up to what came last.
TEST(ResourcesTest, CutShort) {
  for (const unsigned frames : {1u, 4u}) {
    ResourceMonitor m(profile(), [](uint64_t) { return ModelUsage{}; });
    m.start(1'000'000, 2, 100);
    for (unsigned i = 1; i <= frames; ++i) m.on_frame(frame(1'000'000 + i * 40'000, 976));
    const auto r = m.report();
    EXPECT_EQ(r.frames, frames == 1 ? 1u : 2u);
    EXPECT_EQ(r.to_ps - r.from_ps, r.frames * 40'000);
    EXPECT_DOUBLE_EQ(*r.row("wire")->utilisation, 0.5);
  }
}

/// Counters of the models are differences over the window: what was before it does not count.
TEST(ResourcesTest, ModelsAreDifferences) {
  ResourceMonitor m(profile(), [](uint64_t ps) {
    ModelUsage u;
    u.hub.nic_down.busy_ps = 5'000 + ps * 97 / 100;
    u.hub.nic_down.tlps = u.hub.gpu_up.tlps = ps / 1000;
    u.nic.mac_wait = ps / 10'000;
    return u;
  });
  m.start(0, 1, 3);
  for (unsigned i = 1; i <= 3; ++i) m.on_frame(frame(i * 1'000'000, 976));
  const auto r = m.report();
  EXPECT_NEAR(*r.row("pcie_down")->utilisation, 0.97, 1e-6);
  EXPECT_EQ(r.bottleneck.key, "pcie_down");
  ASSERT_FALSE(r.stalls.empty());
  EXPECT_EQ(r.stalls[0].key, "mac_not_ready");
  EXPECT_EQ(r.stalls[0].cycles, 200u);
  EXPECT_NEAR(r.stalls[0].share, 0.1, 1e-9);
}

/// Reads that stand at their most nearly always, with nothing used up: a round trip is the bound, and it is named.
TEST(ResourcesTest, ReadsInFlightBound) {
  ResourceMonitor m(profile(), [](uint64_t) { return ModelUsage{}; });
  uint64_t ps = 0;
  for (unsigned i = 0; i < 16; ++i) m.on_event(event(EventKind::kRdIssue, ps += 1'000));
  m.start(ps, 0, 0);
  for (unsigned i = 0; i < 100; ++i) {
    m.on_event(event(EventKind::kRdDone, ps += 50'000));
    m.on_event(event(EventKind::kRdIssue, ps + 1'000));
    m.on_frame(frame(ps + 2'000, 134));
  }
  const auto r = m.report();
  EXPECT_DOUBLE_EQ(*r.row("reads")->most, 16);
  EXPECT_GT(*r.row("reads")->at_limit, 0.9);
  EXPECT_FALSE(r.bottleneck.saturated);
  EXPECT_EQ(r.bottleneck.key, "reads");
}

/// One QP that takes the same time from its last read request to its next WQE each time is bound by that loop.
TEST(ResourcesTest, LoopOfOneQpBound) {
  ResourceMonitor m(profile(), [](uint64_t) { return ModelUsage{}; });
  m.start(0, 0, 0);
  uint64_t ps = 0;
  for (unsigned i = 0; i < 50; ++i) {
    m.on_event(event(EventKind::kWqe, ps += 39'000, 1, i, false));
    m.on_event(event(EventKind::kRdIssue, ps += 4'000, 1, i));
    m.on_event(event(EventKind::kRdDone, ps + 100'000, 1, i));
    m.on_frame(frame(ps + 200'000, 134));
  }
  const auto r = m.report();
  EXPECT_EQ(r.bottleneck.key, "qp_loop") << r.bottleneck.text;
  EXPECT_NE(r.bottleneck.text.find("39.0 ns"), std::string::npos) << r.bottleneck.text;
}

/// Contexts read one after the other nearly all the time: that is the bound, and not the QPs' loops. A ring's read is
/// no context's.
TEST(ResourcesTest, ContextMissesBound) {
  for (const uint32_t addr : {uint32_t{rtl::rnic_pkg::QpcBase} + 128, uint32_t{rtl::rnic_pkg::DmFreeBase}}) {
    ResourceMonitor m(profile(), [](uint64_t) { return ModelUsage{}; });
    m.start(0, 0, 0);
    uint64_t ps = 0;
    for (unsigned i = 0; i < 50; ++i) {
      Event e = event(EventKind::kDmReq, ps += 5'000);
      e.dm_addr = addr;
      m.on_event(e);
      m.on_event(event(EventKind::kDmRsp, ps += 31'000));
      m.on_event(event(EventKind::kWqe, ps, 1, i, false));
      m.on_event(event(EventKind::kRdIssue, ps, 1, i));
      m.on_event(event(EventKind::kRdDone, ps, 1, i));
      m.on_frame(frame(ps, 134));
    }
    const auto r = m.report();
    if (addr == rtl::rnic_pkg::DmFreeBase) {
      EXPECT_EQ(r.bottleneck.key, "qp_loop");
      continue;
    }
    EXPECT_NEAR(*r.row("contexts")->utilisation, 31.0 / 36, 0.001);
    EXPECT_EQ(r.bottleneck.key, "contexts") << r.bottleneck.text;
  }
}

/// A tag is taken by a read TLP and free with the completion that carries its last bytes, or with an error.
TEST(ResourcesTest, TagsFromTlps) {
  ResourceMonitor m(profile(), [](uint64_t) { return ModelUsage{}; });
  m.start(0, 0, 0);
  const auto read = pcie::make_mem_read(0x1000'0000'0000, 256, 0x100, 7);
  const auto first = pcie::make_completion(read, 0x200, 0, 256, 0, std::vector<uint8_t>(128));
  const auto second = pcie::make_completion(read, 0x200, 0, 128, 0, std::vector<uint8_t>(128));
  const auto refused = pcie::make_completion(read, 0x200, 1, 256, 0, {});
  m.on_tlp({0, true, 1'000, &read});
  m.on_tlp({0, false, 2'000, &first});  // not yet
  m.on_tlp({0, false, 11'000, &second});
  m.on_tlp({0, true, 20'000, &read});
  m.on_tlp({0, false, 25'000, &refused});
  m.on_frame(frame(100'000, 134));
  const auto r = m.report();
  EXPECT_DOUBLE_EQ(*r.row("read_tags")->mean, (10'000.0 + 5'000.0) / 100'000);
  EXPECT_DOUBLE_EQ(*r.row("read_tags")->most, 1);
}

/// A long run is kept in few steps, and their sum is still the whole.
TEST(ResourcesTest, SeriesStaysSmall) {
  ResourceMonitor m(profile(), [](uint64_t) { return ModelUsage{}; });
  m.start(0, 0, 0);
  for (uint64_t i = 1; i <= 200'000; ++i) m.on_frame(frame(i * 40'000, 976));
  const auto s = m.series();
  ASSERT_EQ(s.lines.size(), 1u);
  EXPECT_LE(s.ns.size(), 514u);
  EXPECT_GE(s.ns.size(), 200u);
  for (const double share : s.lines[0].share) EXPECT_NEAR(share, 0.5, 0.02);
  for (size_t i = 1; i + 1 < s.ns.size(); ++i) EXPECT_NEAR(s.ns[i + 1] - s.ns[i], s.ns[1] - s.ns[0], 100);
}

/// A run in which nothing was sent gives no figures, and no crash.
TEST(ResourcesTest, NothingSent) {
  ResourceMonitor m(profile(), [](uint64_t) { return ModelUsage{}; });
  m.start(5, 0, 0);
  EXPECT_EQ(m.report().frames, 0u);
  EXPECT_NE(resources_html(m.report(), m.series()).find("Nothing"), std::string::npos);
}

/// A row a queue pair, its share of the line at its end; of many only those that have sent most; names are text.
TEST(TrafficTest, SharesOfTheLine) {
  const auto name = [](unsigned, uint32_t qpn) { return qpn == 1 ? "<b>" : "queue " + std::to_string(qpn); };
  std::vector<FrameRecord> frames;
  const auto put = [&](uint32_t qpn, uint64_t first_ps) {  // 1000 B of the wire: 20 ns at 400 Gb/s
    FrameRecord f{0, 0, first_ps, first_ps + 19'760, {}, std::vector<uint8_t>(976)};
    f.op.qpn = static_cast<uint16_t>(qpn);
    frames.push_back(f);
  };
  for (unsigned i = 0; i < 50; ++i) put(1, 1'000'000 + i * 40'000), put(2, 1'020'000 + i * 40'000);
  const std::string two = traffic_html(frames, 400, 1'000'000, name);
  EXPECT_NE(two.find("&lt;b&gt;"), std::string::npos);
  EXPECT_EQ(two.find("<b>"), std::string::npos);
  EXPECT_NE(two.find(">50.0 %<"), std::string::npos) << two;
  EXPECT_EQ(two.find("have sent most"), std::string::npos);
  for (unsigned qpn = 10; qpn < 40; ++qpn) put(qpn, 5'000'000 + qpn * 20'000);
  put(33, 6'000'000);
  const std::string many = traffic_html(frames, 400, 1'000'000, name);
  EXPECT_NE(many.find("The 16 of 32 queue pairs"), std::string::npos);
  EXPECT_NE(many.find(">queue 33<"), std::string::npos);
  EXPECT_NE(traffic_html({}, 400, 0, name).find("Nothing"), std::string::npos);
}

/// Borders grow by equal factors, every value falls between those of its bucket, and none is lost.
TEST(LogBucketsTest, EqualFactors) {
  const std::vector<double> v{300, 310, 600, 601, 4800, 1, 0};
  const LogBuckets b = log_buckets(v, 4);
  size_t n = 0;
  for (const size_t c : b.counts) n += c;
  EXPECT_EQ(n, v.size());
  ASSERT_EQ(b.borders.size(), b.counts.size() + 1);
  for (size_t i = 0; i + 1 < b.borders.size(); ++i) EXPECT_NEAR(b.borders[i + 1] / b.borders[i], std::exp2(0.25), 1e-9);
  EXPECT_LE(b.borders.front(), 1);
  EXPECT_GT(b.borders.back(), 4800);
  EXPECT_TRUE(log_buckets({}, 4).counts.empty());
  EXPECT_EQ(log_buckets({0, 0}, 4).counts.front(), 2u);
}

/// Percentiles that the sample can't support are dashes.
TEST(LogBucketsTest, DashesWhereTheSampleIsTooSmall) {
  EXPECT_NE(log_histogram_html("x", std::vector<double>(99, 5)).find("P99 - &middot; P999 -"), std::string::npos);
  EXPECT_NE(log_histogram_html("x", std::vector<double>(100, 5)).find("P99 5 &middot; P999 -"), std::string::npos);
  EXPECT_NE(log_histogram_html("x", std::vector<double>(1000, 5)).find("P999 5 "), std::string::npos);
  EXPECT_NE(log_histogram_html("<x>", {}).find("&lt;x&gt;"), std::string::npos);
}

}  // namespace
}  // namespace rnic
