// SPDX-License-Identifier: Apache-2.0
#include "rnic/observe/stages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "rnic/core/error.h"
#include "rnic/observe/run_directory.h"
#include "rnic/pcie/hub.h"
#include "rnic/rtl/latency.h"
#include "support/sample_run.h"

namespace rnic {
namespace {

using sample::kClock;
using sample::kQpn;
using sample::Message;

StageTable table(const Message& m, const ModelLatencies& known = {}) {
  return make_stage_table(m.events(), 0, kQpn, static_cast<uint16_t>(m.wqe), kClock, known);
}

const Stage& stage(const StageTable& t, const std::string& name) {
  for (const Stage& s : t.stages) {
    if (s.name == name) return s;
  }
  throw std::runtime_error("no stage " + name);
}

bool has(const StageTable& t, const std::string& name) {
  return std::any_of(t.stages.begin(), t.stages.end(), [&](const Stage& s) { return s.name == name; });
}

/// Every stage is covered by its parts without gap or overlap, and RTL parts are whole cycles.
void check(const StageTable& t, uint64_t period = kClock.period_ps) {
  for (const Stage& s : t.stages) {
    uint64_t at = s.start_ps;
    for (const StagePart& p : s.parts) {
      EXPECT_EQ(p.start_ps, at) << s.name << ": " << p.what;
      EXPECT_GT(p.end_ps, p.start_ps) << s.name << ": " << p.what;
      if (p.share == Share::kRtl) {
        EXPECT_EQ((p.end_ps - p.start_ps) % period, 0u) << s.name << ": " << p.what;
      } else if (p.share == Share::kAlign) {
        EXPECT_LE(p.end_ps - p.start_ps, period) << s.name << ": " << p.what;
      } else {
        EXPECT_FALSE(p.keys.empty()) << s.name << ": " << p.what;
      }
      at = p.end_ps;
    }
    EXPECT_EQ(at, s.end_ps) << s.name;
    EXPECT_EQ(
        s.share_ps(Share::kRtl) + s.share_ps(Share::kAlign) + s.share_ps(Share::kModel) + s.share_ps(Share::kLink),
        s.duration_ps());
  }
}

// The stages of one message lie where its instants are.
TEST(StagesTest, OneMessage) {
  const Message m;
  const StageTable t = table(m);
  check(t);
  EXPECT_EQ(t.t0_ps, m.pins);
  EXPECT_EQ(t.store_ps, m.store);
  EXPECT_EQ(t.first_bit_ps, m.first_bit);
  EXPECT_EQ(t.last_bit_ps, m.last_bit);
  EXPECT_EQ(t.cqe_issued_ps, m.cqe_issue);
  EXPECT_EQ(t.cqe_visible_ps, m.cqe_visible);
  ASSERT_EQ(t.stages.size(), 5u);
  const struct {
    const char* name;
    uint64_t start, end;
    double budget;
  } want[] = {{"WQE fetch", m.pins, m.wqe_ps, 40},
              {"DMA read", m.wqe_ps, m.rd_done, 200},
              {"packetize", m.rd_done, m.mac, 20},
              {"MAC TX", m.mac, m.first_bit, 40},
              {"CQE write", m.mac, m.cqe_visible, 0}};
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(t.stages[i].name, want[i].name);
    EXPECT_EQ(t.stages[i].start_ps, want[i].start) << want[i].name;
    EXPECT_EQ(t.stages[i].end_ps, want[i].end) << want[i].name;
    EXPECT_EQ(t.stages[i].start_cycle, want[i].start / 1000) << want[i].name;
    EXPECT_EQ(t.stages[i].end_cycle, want[i].end / 1000) << want[i].name;
    EXPECT_EQ(t.stages[i].budget_ns, want[i].budget) << want[i].name;
  }
}

// Each stage's time goes to those who spent it.
TEST(StagesTest, Shares) {
  const StageTable t = table({});
  const Stage& fetch = stage(t, "WQE fetch");
  EXPECT_EQ(fetch.share_ps(Share::kModel), 26'000u);
  EXPECT_EQ(fetch.share_ps(Share::kAlign), 700u + 1000u);  // T0 to its edge; data on an edge is seen by the next one
  EXPECT_EQ(fetch.share_ps(Share::kRtl), 3'000u + 4'000u);
  const Stage& read = stage(t, "DMA read");
  EXPECT_EQ(read.share_ps(Share::kModel), 75'000u);
  EXPECT_EQ(read.share_ps(Share::kLink), 51'381u + 51'742u);
  EXPECT_EQ(read.share_ps(Share::kAlign), 877u);
  EXPECT_EQ(read.share_ps(Share::kRtl), 8'000u + 4'000u);
  EXPECT_EQ(stage(t, "packetize").share_ps(Share::kRtl), 18'000u);
  EXPECT_EQ(stage(t, "MAC TX").share_ps(Share::kModel), 40'000u);
  EXPECT_EQ(stage(t, "CQE write").share_ps(Share::kRtl), 9'000u);
  EXPECT_EQ(stage(t, "CQE write").share_ps(Share::kLink), 148'444u);
}

// A memory that is 13 ns slower moves the model's share of its row by exactly 13 ns and no other.
TEST(StagesTest, SlowerMemoryMovesItsRow) {
  Message slow;
  for (uint64_t* ps : {&slow.mem_end, &slow.cpl_pins, &slow.rd_done, &slow.mac, &slow.first_bit, &slow.last_bit,
                       &slow.cqe_issue, &slow.cqe_visible}) {
    *ps += 13'000;
  }
  const StageTable a = table({}), b = table(slow);
  for (size_t i = 0; i < a.stages.size(); ++i) {
    for (const Share s : {Share::kRtl, Share::kAlign, Share::kModel, Share::kLink}) {
      const uint64_t more = a.stages[i].name == "DMA read" && s == Share::kModel ? 13'000 : 0;
      EXPECT_EQ(b.stages[i].share_ps(s), a.stages[i].share_ps(s) + more) << a.stages[i].name << " " << to_string(s);
    }
  }
}

// With a slower clock and another phase, RTL parts are multiples of that clock.
TEST(StagesTest, OtherClock) {
  Message m;
  const ClockInfo clock{250, 2000};
  const auto edge = [](uint64_t ps) { return ps / 2000 * 2000 + 250; };
  m.pins = 10'000'300;
  m.db = 10'002'250;
  for (uint64_t* ps : {&m.dm_req, &m.wqe_ps, &m.issue, &m.rd_pins, &m.rd_done, &m.mac, &m.cqe_issue}) {
    *ps = edge(*ps);
  }
  const StageTable t = make_stage_table(m.events(), 0, kQpn, 7, clock);
  check(t, 2000);
  EXPECT_EQ(stage(t, "WQE fetch").parts.front().share, Share::kAlign);
}

// Extra cycles of a stage widen its budget by that many clock periods and move its window's end and all later windows.
TEST(StagesTest, ExtraCyclesWidenTheBudget) {
  const Message m;
  const ClockInfo slow{kClock.phase_ps, 2 * kClock.period_ps};
  const StageTable base = make_stage_table(m.events(), 0, kQpn, static_cast<uint16_t>(m.wqe), slow);
  const StageTable t =
      make_stage_table(m.events(), 0, kQpn, static_cast<uint16_t>(m.wqe), slow, {}, ExtraCycles{1, 0, 3, -2});
  const double period_ns = static_cast<double>(slow.period_ps) / 1000;
  const int own[] = {1, 0, 3, 0, -2}, up_to[] = {1, 1, 4, 4, 2}, before[] = {0, 1, 1, 4, 4};
  ASSERT_EQ(t.stages.size(), 5u);
  for (size_t i = 0; i < 5; ++i) {
    const Stage &s = t.stages[i], &b = base.stages[i];
    EXPECT_EQ(s.extra_cycles, own[i]) << s.name;
    EXPECT_EQ(s.budget_ns, b.budget_ns == 0 ? 0 : b.budget_ns + own[i] * period_ns) << s.name;
    EXPECT_EQ(s.budget_start_ns, b.budget_start_ns + before[i] * period_ns) << s.name;
    EXPECT_EQ(s.budget_end_ns, b.budget_end_ns + up_to[i] * period_ns) << s.name;
    EXPECT_EQ(s.duration_ps(), b.duration_ps()) << s.name;
  }
  EXPECT_EQ(to_json(t, Profile::load("seed-400g"))["stages"][2]["extra_cycles"], 3);
}

// However many cycles fewer are declared, a budget never becomes none at all.
TEST(StagesTest, BudgetStaysAboveNothing) {
  const Message m;
  const StageTable t =
      make_stage_table(m.events(), 0, kQpn, static_cast<uint16_t>(m.wqe), kClock, {}, ExtraCycles{0, 0, -1000, 0});
  EXPECT_EQ(stage(t, "packetize").budget_ns, 1);
}

// A block's cycles go to the stages that it lies in, and every block of this build lies in one, but for those that a
// lone message passes by, and those of the AllReduce engine.
TEST(StagesTest, BlocksLieInTheirStages) {
  const ExtraCycles e = extra_cycles({{"tx_packetizer", 1}, {"icrc", 2}, {"dma_master", 10}, {"wqe_fetch_engine", -1}});
  EXPECT_EQ(e.wqe_fetch, -1);
  EXPECT_EQ(e.dma_read, 10);
  EXPECT_EQ(e.packetize, 3);
  EXPECT_EQ(e.cqe_write, 10);
  for (const auto& b : rtl::kExtraLatency) {
    const ExtraCycles one = extra_cycles({{std::string(b.block), 1}});
    const std::set<std::string> passed_by{"cq_arm",   "ctx_query",    "dma_engine",   "event_mux",
                                          "qp_lists", "rate_limiter", "deadline_tree"};
    EXPECT_EQ(
        one.wqe_fetch + one.dma_read + one.packetize + one.cqe_write > 0,
        passed_by.count(std::string(b.block)) == 0 && b.block.substr(0, 4) != "arp_" && b.block.substr(0, 3) != "fp_")
        << b.block;
  }
  EXPECT_THROW(extra_cycles({{"tx_packetiser", 1}}), SimError);
}

// BAR decoding of whole cycles is found without knowing its latency.
TEST(StagesTest, DecodeLatencyInWholeCycles) {
  Message m;
  m.db += 2000;
  m.dm_req += 2000;
  m.dm_rsp += 2000;
  const StageTable t = table(m);
  check(t);
  const Stage& s = stage(t, "WQE fetch");
  EXPECT_EQ(s.parts[0].keys, std::vector<std::string>{"bar.decode_latency"});
  EXPECT_EQ(s.parts[0].end_ps - s.parts[0].start_ps, 2000u);
  EXPECT_EQ(s.parts[1].share, Share::kAlign);
  EXPECT_EQ(s.parts[1].end_ps - s.parts[1].start_ps, 700u);
}

// A known decode latency of broken cycles leaves the right wait, and what is beyond is the doorbell's own waiting.
TEST(StagesTest, DecodeLatencyKnown) {
  Message m;
  m.db = 10'003'000;
  const StageTable t = table(m, {1'200, std::nullopt, std::nullopt});
  check(t);
  const Stage& s = stage(t, "WQE fetch");
  EXPECT_EQ(s.parts[0].end_ps, m.pins + 1'200);
  EXPECT_EQ(s.parts[1].end_ps, 10'002'000u);
  EXPECT_EQ(s.parts[2].share, Share::kRtl);
  EXPECT_EQ(s.parts[2].end_ps, 10'003'000u);
}

// With known latencies the wait for the wire and the memory write are parts of their own.
TEST(StagesTest, KnownLatenciesSplitParts) {
  Message m;
  m.first_bit += 5'500;
  m.last_bit += 5'500;
  const StageTable t = table(m, {0, 40'000, 60'000});
  check(t);
  const Stage& mac = stage(t, "MAC TX");
  ASSERT_EQ(mac.parts.size(), 2u);
  EXPECT_EQ(mac.parts[0].end_ps - mac.parts[0].start_ps, 40'000u);
  EXPECT_EQ(mac.parts[1].end_ps - mac.parts[1].start_ps, 5'500u);
  const Stage& cqe = stage(t, "CQE write");
  EXPECT_EQ(cqe.share_ps(Share::kModel), 60'000u);
  EXPECT_EQ(cqe.share_ps(Share::kLink), 88'444u);
}

// Reads of device memory that overlap count once.
TEST(StagesTest, OverlappingDeviceReads) {
  Message m;
  auto events = m.events();
  events.push_back(sample::event(EventKind::kDmReq, 10'006'000));
  events.push_back(sample::event(EventKind::kDmRsp, 10'032'000));
  const StageTable t = make_stage_table(events, 0, kQpn, 7, kClock);
  check(t);
  const Stage& s = stage(t, "WQE fetch");
  EXPECT_EQ(s.share_ps(Share::kModel), 28'000u);
  EXPECT_EQ(s.share_ps(Share::kRtl), 3'000u + 2'000u);
  EXPECT_EQ(s.share_ps(Share::kAlign), 700u + 1'000u);
}

// A WQE fetched from host memory shows the round trip inside the fetch, not in the payload's read.
TEST(StagesTest, SendQueueInHostMemory) {
  Message m;
  m.dm_req = m.dm_rsp = 0;
  for (uint64_t* ps : {&m.wqe_ps, &m.issue, &m.rd_pins, &m.mem_start, &m.mem_end, &m.cpl_pins, &m.rd_done, &m.mac,
                       &m.first_bit, &m.last_bit, &m.cqe_issue, &m.cqe_visible}) {
    *ps += 300'000;
  }
  auto events = m.events();
  const rtl::op_t o = sample::op(m.wqe, m.psn, false);
  events.push_back(sample::event(EventKind::kRdPins, 10'010'000, o));
  events.push_back(sample::event(EventKind::kMemRdStart, 10'100'500, o));
  events.push_back(sample::event(EventKind::kMemRdEnd, 10'190'500, o));
  events.push_back(sample::event(EventKind::kCplPins, 10'280'200, o));
  const StageTable t = make_stage_table(events, 0, kQpn, 7, kClock);
  check(t);
  const Stage& fetch = stage(t, "WQE fetch");
  EXPECT_EQ(fetch.share_ps(Share::kModel), 90'000u);
  EXPECT_EQ(fetch.share_ps(Share::kLink), 90'500u + 89'700u);
  EXPECT_EQ(fetch.share_ps(Share::kAlign), 700u + 800u);
  EXPECT_EQ(stage(t, "DMA read").share_ps(Share::kModel), 75'000u);
}

// A message without payload goes from the WQE straight to the packetizer.
TEST(StagesTest, NoPayload) {
  Message m;
  m.issue = m.rd_pins = m.mem_start = m.mem_end = m.cpl_pins = m.rd_done = 0;
  const StageTable t = table(m);
  check(t);
  EXPECT_FALSE(has(t, "DMA read"));
  EXPECT_EQ(stage(t, "packetize").start_ps, m.wqe_ps);
}

// A WQE that asks for no completion has no CQE stage.
TEST(StagesTest, Unsignaled) {
  Message m;
  m.cqe_issue = m.cqe_visible = 0;
  const StageTable t = table(m);
  EXPECT_FALSE(has(t, "CQE write"));
  EXPECT_FALSE(t.cqe_issued_ps || t.cqe_visible_ps);
}

// A message of several packets shows the first packet's stages and the last packet's last bit and CQE.
TEST(StagesTest, SeveralPackets) {
  Message m;
  auto events = m.events();
  for (Event& e : events) {
    if (e.kind != EventKind::kCqeIssue && e.kind != EventKind::kCqeVisible) e.op.last = false;
  }
  const rtl::op_t o = sample::op(m.wqe, m.psn + 1, true);
  for (const auto& [kind, ps] : {std::pair{EventKind::kRdIssue, 10'040'000},
                                 {EventKind::kRdPins, 10'044'000},
                                 {EventKind::kMemRdStart, 10'095'400},
                                 {EventKind::kMemRdEnd, 10'170'400},
                                 {EventKind::kCplPins, 10'225'123},
                                 {EventKind::kRdDone, 10'230'000},
                                 {EventKind::kMac, 10'248'000},
                                 {EventKind::kWireFirst, 10'380'000},
                                 {EventKind::kWireLast, 10'470'000}}) {
    events.push_back(sample::event(kind, static_cast<uint64_t>(ps), o));
  }
  for (Event& e : events) {
    if (e.kind == EventKind::kCqeIssue || e.kind == EventKind::kCqeVisible) e.op = o;
  }
  const StageTable t = make_stage_table(events, 0, kQpn, 7, kClock);
  check(t);
  EXPECT_EQ(stage(t, "DMA read").end_ps, m.rd_done);
  EXPECT_EQ(t.first_bit_ps, m.first_bit);
  EXPECT_EQ(t.last_bit_ps, 10'470'000u);
  EXPECT_EQ(stage(t, "CQE write").start_ps, 10'248'000u);
}

// A packet read by several TLPs spans from the first request to the last completion.
TEST(StagesTest, SeveralTlps) {
  Message m;
  auto events = m.events();
  const rtl::op_t o = sample::op(m.wqe, m.psn, true);
  events.push_back(sample::event(EventKind::kRdPins, m.rd_pins + 1000, o));
  events.push_back(sample::event(EventKind::kMemRdStart, m.mem_start + 1000, o));
  events.push_back(sample::event(EventKind::kMemRdEnd, m.mem_end + 1000, o));
  events.push_back(sample::event(EventKind::kCplPins, m.cpl_pins + 1000, o));
  const StageTable t = make_stage_table(events, 0, kQpn, 7, kClock);
  check(t);
  EXPECT_EQ(stage(t, "DMA read").share_ps(Share::kModel), 76'000u);
  EXPECT_EQ(stage(t, "DMA read").share_ps(Share::kRtl), 8'000u + 3'000u);
}

// One doorbell for several WQEs is the T0 of each of them; a later doorbell and other QPs are not.
TEST(StagesTest, DoorbellThatCoversTheWqe) {
  Message m;
  auto events = m.events();
  for (Event& e : events) {
    if (e.kind <= EventKind::kDb) e.op.wqe = 9;  // WQEs 7 and 8
  }
  for (const EventKind k : {EventKind::kDbPins, EventKind::kDb}) {
    Event later = sample::event(k, k == EventKind::kDbPins ? 10'002'300 : 10'003'000, sample::op(10, 0, false));
    events.push_back(later);
    later.op.qpn = 6;
    later.ps -= 1'500;
    events.push_back(later);
    later.op = sample::op(7, 0, false);  // covers WQE 6 only
    later.ps = k == EventKind::kDbPins ? 9'990'300 : 9'991'000;
    events.push_back(later);
  }
  EXPECT_EQ(make_stage_table(events, 0, kQpn, 7, kClock).t0_ps, m.pins);
}

// Indices count modulo 65536.
TEST(StagesTest, ProducerIndexWraps) {
  Message m;
  m.wqe = 65535;  // its doorbell says 0
  EXPECT_EQ(table(m).t0_ps, m.pins);
}

// The order in which events were reported does not matter.
TEST(StagesTest, AnyOrder) {
  auto events = Message{}.events();
  const Profile p = Profile::load("seed-400g");
  const auto want = to_json(make_stage_table(events, 0, kQpn, 7, kClock), p);
  std::reverse(events.begin(), events.end());
  EXPECT_EQ(to_json(make_stage_table(events, 0, kQpn, 7, kClock), p), want);
}

// Events of another NIC are not mixed in.
TEST(StagesTest, OtherNic) {
  auto events = Message{}.events();
  for (Event e : Message{}.events()) {
    e.nic = 1;
    e.ps -= 3'000;
    events.push_back(e);
  }
  const StageTable t = make_stage_table(events, 0, kQpn, 7, kClock);
  EXPECT_EQ(t.t0_ps, Message{}.pins);
  EXPECT_EQ(stage(t, "WQE fetch").share_ps(Share::kModel), 26'000u);
}

// What is missing is named, with the message that it was wanted for.
TEST(StagesTest, MissingInstantIsNamed) {
  const std::pair<uint64_t Message::*, const char*> needed[] = {
      {&Message::pins, "db_pins"},         {&Message::db, "db"},
      {&Message::wqe_ps, "wqe"},           {&Message::mem_end, "mem_rd_end"},
      {&Message::rd_done, "rd_done"},      {&Message::mac, "mac"},
      {&Message::first_bit, "wire_first"}, {&Message::last_bit, "wire_last"}};
  for (const auto& [member, name] : needed) {
    Message m;
    m.*member = 0;
    try {
      table(m);
      ADD_FAILURE() << name << " is missing and no error";
    } catch (const SimError& e) {
      const std::string text = e.what();
      EXPECT_NE(text.find(std::string("'") + name + "'"), std::string::npos) << text;
      EXPECT_NE(text.find("QP 5, WQE 7"), std::string::npos) << text;
    }
  }
}

// A read of device memory that took longer than a hit of the L2 names the DDR's keys; one that did not does not.
TEST(StagesTest, SlowDeviceMemoryReadNamesTheDdr) {
  const auto keys_of = [](const StageTable& t, const std::string& what) {
    for (const StagePart& part : t.stages.at(0).parts) {
      if (part.what == what) return part.keys;
    }
    return std::vector<std::string>{};
  };
  ModelLatencies known;
  known.devmem_ps = 1'000'000'000;
  EXPECT_EQ(keys_of(table({}, known), "device memory read"), std::vector<std::string>{"devmem.read_latency"});
  known.devmem_ps = 1;
  const auto ddr = keys_of(table({}, known), "device memory read, by way of the DDR");
  EXPECT_NE(std::find(ddr.begin(), ddr.end(), "devmem.ddr_latency"), ddr.end());
}

// JSON carries times with units, shares that add up, and the keys with value and source.
TEST(StagesTest, Json) {
  const Profile p = Profile::load("seed-400g");
  const auto j = to_json(table({}), p);
  EXPECT_EQ(j["t0_ps"], 10'000'300);
  EXPECT_NEAR(j["doorbell_to_mac_ns"].get<double>(), 283.7, 1e-9);
  ASSERT_EQ(j["stages"].size(), 5u);
  for (const auto& s : j["stages"]) {
    EXPECT_NEAR(s["rtl_ns"].get<double>() + s["align_ns"].get<double>() + s["model_ns"].get<double>() +
                    s["link_ns"].get<double>(),
                s["duration_ns"].get<double>(), 1e-9);
  }
  EXPECT_NEAR(j["stages"][0]["gap_ns"].get<double>(), 34.7 - 40, 1e-9);
  EXPECT_TRUE(j["stages"][4]["budget_ns"].is_null());
  bool seen = false;
  for (const auto& part : j["stages"][0]["parts"]) {
    for (const auto& k : part["keys"]) {
      if (k["key"] != "devmem.read_latency") continue;
      seen = true;
      EXPECT_EQ(k["unit"], "ns");
      EXPECT_EQ(k["value"].get<double>(), p.number("devmem.read_latency"));
      EXPECT_EQ(k["source"], p.entry("devmem.read_latency").source);
    }
  }
  EXPECT_TRUE(seen);
}

// Every key that a part names is in the profile.
TEST(StagesTest, KeysExist) {
  const Profile p = Profile::load("seed-400g");
  for (const auto& t : {table({}), table({}, model_latencies(p))}) {
    for (const Stage& s : t.stages) {
      for (const StagePart& part : s.parts) {
        for (const std::string& k : part.keys) EXPECT_EQ(p.entries().count(k), 1u) << k;
      }
    }
  }
}

// Parts name the keys of the hops that the placement has, and of no others.
TEST(StagesTest, KeysAreThoseOfThePlacement) {
  Profile p = Profile::load("seed-400g");
  p.set("pcie.topology=SYS");
  Observers observers;
  const pcie::Hub hub("hub", p, observers, 0);
  const auto keys_of = [](const StageTable& t, const std::string& what) {
    for (const Stage& s : t.stages) {
      for (const StagePart& part : s.parts) {
        if (part.what == what) return part.keys;
      }
    }
    return std::vector<std::string>{};
  };
  using Keys = std::vector<std::string>;
  const Keys host{"pcie.nic_link_latency", "pcie.switch_latency", "pcie.uplink_latency",
                  "pcie.hub_host_latency", "pcie.generation",     "pcie.lanes"};
  const StageTable of_gpu = table({}, model_latencies(p, ModelLatencies::Payload::kGpu, hub));
  EXPECT_EQ(
      keys_of(of_gpu, "PCIe to memory"),
      (Keys{"pcie.nic_link_latency", "pcie.switch_latency", "pcie.uplink_latency", "pcie.root_latency",
            "pcie.socket_latency", "pcie.socket_bandwidth", "pcie.gpu_link_latency", "pcie.generation", "pcie.lanes"}));
  EXPECT_EQ(keys_of(of_gpu, "PCIe to host memory"), host);
  EXPECT_EQ(keys_of(table({}, model_latencies(p, ModelLatencies::Payload::kHost, hub)), "PCIe from memory"), host);
  EXPECT_EQ(keys_of(table({}, model_latencies(p, ModelLatencies::Payload::kGpu)), "PCIe to memory"),
            (Keys{"pcie.nic_link_latency", "pcie.hub_peer_latency", "pcie.gpu_link_latency", "pcie.generation",
                  "pcie.lanes"}));
}

}  // namespace
}  // namespace rnic
