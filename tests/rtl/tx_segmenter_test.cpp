// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <vector>

#include "Vtx_segmenter.h"
#include "rnic/golden/segmenter.h"
#include "rtl/bench.h"
#include "support/latency.h"

namespace rnic::test {
namespace {

using golden::Vendor;
using golden::WqeOpcode;
using rtl::mpt_t;
using rtl::pkt_desc_t;
using rtl::rd_req_t;
using rtl::tx_job_t;
using rtl::tx_state_t;

constexpr uint8_t kSynFlushed = 0x05;
constexpr uint8_t kSynLocalProt = 0x04;
constexpr uint32_t kIovaTag = 7;

/// How busy the neighbours are, in percent of the cycles.
struct Pace {
  unsigned job = 100;   // a waiting job is offered
  unsigned desc = 100;  // packetizer ready
  unsigned rd = 100;    // dma_master ready
  unsigned mpt = 100;   // region cache ready, and its answer not late
  unsigned dm = 100;    // device memory ready
  unsigned others = 0;  // the scheduler has another QP waiting
};

struct Turn {
  uint16_t qpn;
  bool more;
  uint64_t cycle;
};

/// The block with its neighbours; records everything that comes out, with the cycle.
class SegmenterBench : public Bench<Vtx_segmenter> {
 public:
  explicit SegmenterBench(Pace p = {}) : Bench(test_seed()), pace(p) {}

  Pace pace;
  std::map<uint32_t, mpt_t> regions;  // table entries
  std::deque<tx_job_t> jobs;
  std::vector<std::pair<pkt_desc_t, uint64_t>> descs;
  std::vector<std::pair<rd_req_t, uint64_t>> reads;
  std::vector<std::pair<rtl::dm_req_t, uint64_t>> writes;
  std::vector<std::tuple<uint16_t, tx_state_t, uint64_t>> states;
  std::vector<std::pair<uint16_t, uint64_t>> errors;
  std::vector<Turn> turns;
  unsigned lookups = 0;
  uint64_t job_taken = 0;
  uint64_t first_read_valid = 0;

  void step() {
    if (!job_offered_ && !jobs.empty() && chance(pace.job)) {
      job_offered_ = true;
      rtl::drive(top->job_i, jobs.front());
    }
    top->job_valid_i = job_offered_;
    top->other_waiting_i = chance(pace.others);
    top->desc_ready_i = chance(pace.desc);
    top->rd_ready_i = chance(pace.rd);
    top->dm_req_ready_i = chance(pace.dm);
    top->mpt_req_ready_i = chance(pace.mpt);
    if (!answer_shown_ && !answers_.empty() && answers_.front().first <= cycle && chance(pace.mpt)) {
      answer_shown_ = true;
      rtl::drive(top->mpt_rsp_i, answers_.front().second);
    }
    top->mpt_rsp_valid_i = answer_shown_;
    settle();
    if (top->job_valid_i && top->job_ready_o) {
      jobs.pop_front();
      job_offered_ = false;
      job_taken = cycle;
    }
    if (top->mpt_rsp_valid_i && top->mpt_rsp_ready_o) {
      answers_.pop_front();
      answer_shown_ = false;
    }
    if (top->mpt_req_valid_o && top->mpt_req_ready_i) {
      answers_.emplace_back(cycle + 2, regions[top->mpt_req_idx_o]);
      ++lookups;
    }
    if (top->rd_valid_o && first_read_valid == 0) first_read_valid = cycle;
    if (top->desc_valid_o && top->desc_ready_i) descs.emplace_back(rtl::sample<pkt_desc_t>(top->desc_o), cycle);
    if (top->rd_valid_o && top->rd_ready_i) reads.emplace_back(rtl::sample<rd_req_t>(top->rd_o), cycle);
    if (top->dm_req_valid_o && top->dm_req_ready_i)
      writes.emplace_back(rtl::sample<rtl::dm_req_t>(top->dm_req_o), cycle);
    if (top->st_we_o) states.emplace_back(top->st_qpn_o, rtl::sample<tx_state_t>(top->st_o), cycle);
    if (top->err_o) errors.emplace_back(top->err_qpn_o, cycle);
    if (top->release_o) turns.push_back({top->release_qpn_o, top->release_more_o != 0, cycle});
    tick();
  }

  /// Until nothing is left anywhere; false when that takes more than `limit` cycles.
  bool drain(uint64_t limit = 20000) {
    const uint64_t end = cycle + limit;
    do {
      if (cycle == end) return false;
      step();
    } while (!jobs.empty() || !answers_.empty() || !top->idle_o);
    return true;
  }

 private:
  bool job_offered_ = false;
  bool answer_shown_ = false;
  std::deque<std::pair<uint64_t, mpt_t>> answers_;
};

/// A context with a different value in every field that reaches the packet.
rtl::qpc_t make_context(std::mt19937_64& rng, golden::Transport transport, unsigned mtu_code) {
  rtl::qpc_t c;
  for (auto* a : {&c.dgid, &c.sgid})
    for (auto& w : *a) w = static_cast<uint32_t>(rng());
  c.ttl = static_cast<uint8_t>(rng());
  c.tos = static_cast<uint8_t>(rng());
  c.pkey = static_cast<uint16_t>(rng());
  c.udp_sport = static_cast<uint16_t>(rng());
  c.dmac = rng() & 0xffffffffffff;
  c.smac = rng() & 0xffffffffffff;
  c.dest_qpn = rng() & 0xffffff;
  c.pd = rng() & 0xffffff;
  c.cqn = rng() & 0xffffff;
  c.mig_req = rng() & 1;
  c.ip_id_fixed = rng() & 1;
  c.prio = rng() & 7;
  c.port = rng() & 7;
  c.mtu = static_cast<uint8_t>(mtu_code);
  c.transport = static_cast<uint8_t>(transport);
  c.state = rtl::rnic_pkg::QpStRts;
  return c;
}

mpt_t to_entry(const golden::Region& r) {
  mpt_t m;
  m.valid = r.valid;
  m.variant = r.variant;
  m.pd = r.pd;
  m.start = r.start;
  m.length = r.length;
  m.iova = r.iova;
  return m;
}

/// The job of a freshly decoded WQE, as wqe_fetch_engine would hand it over.
tx_job_t make_job(uint16_t qpn, const rtl::qpc_t& qpc, const golden::Wqe& w, uint32_t psn, uint16_t ip_id,
                  uint16_t backlog = 0) {
  tx_job_t j;
  j.qpn = qpn;
  j.qpc = qpc;
  j.raddr = w.raddr;
  j.rkey = w.rkey;
  j.st.ci = static_cast<uint16_t>(w.index + 1);
  j.pi = static_cast<uint16_t>(j.st.ci + backlog);
  j.st.psn = psn;
  j.st.ip_id = ip_id;
  j.st.wqe_idx = w.index;
  j.st.opcode = static_cast<uint8_t>(w.opcode);
  j.st.signaled = w.signaled;
  j.st.solicited = w.solicited;
  j.st.imm = w.imm;
  j.st.sge0.lkey = w.lkey;
  j.st.sge0.addr = w.laddr;
  j.st.msg_len = static_cast<uint32_t>(w.length);
  return j;
}

golden::Wqe random_wqe(std::mt19937_64& rng, WqeOpcode op, uint64_t length) {
  golden::Wqe w;
  w.opcode = op;
  w.index = static_cast<uint16_t>(rng());
  w.signaled = rng() & 1;
  w.solicited = rng() & 1;
  w.imm = static_cast<uint32_t>(rng());
  w.raddr = rng();
  w.rkey = static_cast<uint32_t>(rng());
  w.lkey = static_cast<uint32_t>(rng() % 65536 << 8 | rng() % 256);
  w.laddr = rng() >> 1;
  w.length = length;
  return w;
}

void expect_op(const rtl::op_t& op, uint16_t qpn, const golden::Wqe& w, uint32_t psn, bool last) {
  EXPECT_EQ(op.qpn, qpn);
  EXPECT_EQ(op.wqe, w.index);
  EXPECT_EQ(op.psn, psn);
  EXPECT_EQ(op.last, last);
}

void expect_context_copy(const pkt_desc_t& d, const rtl::qpc_t& c) {
  EXPECT_EQ(d.cqn, c.cqn);
  EXPECT_EQ(d.mig_req, c.mig_req);
  EXPECT_EQ(d.prio, c.prio);
  EXPECT_EQ(d.port, c.port);
  EXPECT_EQ(d.dest_qpn, c.dest_qpn);
  EXPECT_EQ(d.pkey, c.pkey);
  EXPECT_EQ(d.udp_sport, c.udp_sport);
  EXPECT_EQ(d.tos, c.tos);
  EXPECT_EQ(d.ttl, c.ttl);
  EXPECT_EQ(d.smac, c.smac);
  EXPECT_EQ(d.dmac, c.dmac);
  EXPECT_EQ(d.sgid, c.sgid);
  EXPECT_EQ(d.dgid, c.dgid);
}

void expect_packet(const pkt_desc_t& d, uint16_t qpn, const rtl::qpc_t& c, const golden::Wqe& w,
                   const golden::Packet& p) {
  expect_op(d.op, qpn, w, p.psn, p.last);
  expect_context_copy(d, c);
  EXPECT_EQ(d.err, 0);
  EXPECT_EQ(d.signaled, w.signaled);
  EXPECT_EQ(d.wqe_opcode, static_cast<uint8_t>(w.opcode));
  EXPECT_EQ(d.msg_len, static_cast<uint32_t>(w.length));
  EXPECT_EQ(d.bth_opcode, p.bth_opcode);
  EXPECT_EQ(d.solicited, p.solicited);
  EXPECT_EQ(d.ack_req, p.ack_req);
  EXPECT_EQ(d.has_reth, p.has_reth);
  EXPECT_EQ(d.has_imm, p.has_imm);
  if (p.has_reth) {
    EXPECT_EQ(d.raddr, p.reth_va);
    EXPECT_EQ(d.rkey, p.reth_rkey);
    EXPECT_EQ(d.msg_len, p.reth_length);
  }
  if (p.has_imm) {
    EXPECT_EQ(d.imm, p.imm);
  }
  EXPECT_EQ(d.payload_len, p.length);
  EXPECT_EQ(d.ip_id, p.ip_id);
}

/// One QP's work: messages in order, each with its region.
struct Flow {
  uint16_t qpn = 0;
  rtl::qpc_t qpc;
  std::vector<golden::Wqe> wqes;
  std::vector<golden::Region> regions;
  uint32_t psn = 0;
  uint16_t ip_id = 0;
  size_t next = 0;     // message to start
  size_t packets = 0;  // packets seen of message `seen`
  size_t seen = 0;
  tx_state_t st;
};

/// Hands out the flows' jobs as scheduler and fetch engine would, and compares whatever comes out with the model.
void run_flows(SegmenterBench& b, std::vector<Flow>& flows, unsigned expected_packets) {
  std::map<uint16_t, Flow*> by_qpn;
  for (Flow& f : flows) by_qpn[f.qpn] = &f;
  auto start = [&b](Flow& f) {
    if (f.next == f.wqes.size()) return;
    const golden::Wqe& w = f.wqes[f.next];
    b.regions[w.lkey >> 8] = to_entry(f.regions[f.next]);
    const uint32_t psn = f.next == 0 ? f.psn : f.st.psn;
    const uint16_t ip_id = f.next == 0 ? f.ip_id : f.st.ip_id;
    b.jobs.push_back(make_job(f.qpn, f.qpc, w, psn, ip_id, f.next + 1 < f.wqes.size() ? 1 : 0));
    ++f.next;
  };
  for (Flow& f : flows) start(f);
  size_t states = 0, turns = 0, descs = 0, reads = 0;
  unsigned seen = 0;
  std::deque<std::pair<rd_req_t, int>> wanted;  // reads that the descriptions ask for
  while (turns < b.turns.size() || !b.jobs.empty() || !b.top->idle_o || seen < expected_packets) {
    ASSERT_LT(b.cycle, 3000000u) << "hang; seed " << test_seed();
    b.step();
    for (; states < b.states.size(); ++states) {
      auto& [qpn, st, cycle] = b.states[states];
      by_qpn[qpn]->st = st;
    }
    for (; descs < b.descs.size(); ++descs, ++seen) {
      const pkt_desc_t& d = b.descs[descs].first;
      ASSERT_TRUE(by_qpn.count(d.op.qpn));
      Flow& f = *by_qpn[d.op.qpn];
      ASSERT_LT(f.seen, f.wqes.size());
      const golden::Wqe& w = f.wqes[f.seen];
      const golden::SegmentQp qp{static_cast<golden::Transport>(f.qpc.transport), f.qpc.mtu, f.psn, f.ip_id,
                                 f.qpc.ip_id_fixed};
      const golden::Packet p = golden::packet_at(qp, w, f.packets);
      expect_packet(d, f.qpn, f.qpc, w, p);
      ASSERT_FALSE(::testing::Test::HasFailure())
          << "op " << int(w.opcode) << " length " << w.length << " packet " << f.packets << " seed " << test_seed();
      if (p.length != 0) {
        rd_req_t r;
        const golden::Region& region = f.regions[f.seen];
        r.addr = region.iova + (w.laddr - region.start) + p.offset;
        r.len = static_cast<uint16_t>(p.length);
        r.op = d.op;
        wanted.emplace_back(r, 0);
      }
      ++f.packets;
      if (p.last) {
        f.psn = (p.psn + 1) & 0xffffff;
        f.ip_id = static_cast<uint16_t>(p.ip_id + !f.qpc.ip_id_fixed);
        f.packets = 0;
        ++f.seen;
      }
    }
    while (reads < b.reads.size() && !wanted.empty()) {
      const rd_req_t& got = b.reads[reads++].first;
      ASSERT_EQ(got.pack(), wanted.front().first.pack()) << "read " << reads;
      wanted.pop_front();
    }
    for (; turns < b.turns.size(); ++turns) {
      Flow& f = *by_qpn[b.turns[turns].qpn];
      const bool rest = f.next < f.wqes.size();
      ASSERT_EQ(b.turns[turns].more, f.st.in_msg || rest);
      if (f.st.in_msg) {
        tx_job_t j = make_job(f.qpn, f.qpc, f.wqes[f.next - 1], 0, 0, rest ? 1 : 0);
        j.st = f.st;
        j.raddr = 0xdead;  // a continued job does not know them
        j.rkey = 0xbeef;
        b.jobs.push_back(j);
      } else {
        start(f);
      }
    }
  }
  EXPECT_EQ(seen, expected_packets);
  EXPECT_EQ(reads, b.reads.size());
  EXPECT_TRUE(wanted.empty());
  EXPECT_TRUE(b.errors.empty());
  EXPECT_TRUE(b.writes.empty());
  for (Flow& f : flows) EXPECT_EQ(f.seen, f.wqes.size());
}

struct Grid {
  std::vector<Flow> flows;
  unsigned packets = 0;
};

/// Operation x length x MTU x transport, spread over QPs: one QP a transport and MTU.
Grid make_grid(std::mt19937_64& rng) {
  Grid g;
  for (unsigned mtu_code = 1; mtu_code <= 5; ++mtu_code) {
    const unsigned mtu = golden::mtu_bytes(mtu_code);
    for (auto transport : {golden::Transport::kRc, golden::Transport::kUc}) {
      Flow f;
      f.qpn = static_cast<uint16_t>(100 * mtu_code + static_cast<unsigned>(transport));
      f.qpc = make_context(rng, transport, mtu_code);
      f.psn = 0xffffff - rng() % 40;  // wraps
      f.ip_id = static_cast<uint16_t>(0xffff - rng() % 40);
      std::vector<uint64_t> lengths = {0, 1, 3, 63, 64, 65, 255, 256, 257, mtu - 1, mtu, mtu + 1, 2 * mtu, 8193};
      if (mtu_code >= 4) lengths.push_back(1 << 20);
      for (uint64_t length : lengths) {
        for (auto op : {WqeOpcode::kWrite, WqeOpcode::kWriteImm, WqeOpcode::kSend, WqeOpcode::kSendImm}) {
          if (length == 1 << 20 && op != WqeOpcode::kWriteImm) continue;
          golden::Wqe w = random_wqe(rng, op, length);
          w.lkey = static_cast<uint32_t>((f.qpn << 8 | (f.wqes.size() & 0x3f) << 18) | (w.lkey & 0xff));
          golden::Region r;
          r.variant = static_cast<uint8_t>(w.lkey);
          r.pd = f.qpc.pd;
          const uint64_t before = rng() % 3 == 0 ? 0 : rng() % 100000;
          r.start = w.laddr - before;
          r.length = before + length + (rng() % 3 == 0 ? 0 : rng() % 5000);
          r.iova = rng() >> 2;
          f.wqes.push_back(w);
          f.regions.push_back(r);
          g.packets += static_cast<unsigned>(golden::packet_count(length, mtu));
        }
      }
      g.flows.push_back(f);
    }
  }
  return g;
}

// Every operation, length, MTU and transport gives the model's packets and reads, whoever is busy and waits.
TEST(TxSegmenterTest, PacketsAndReadsMatchTheModelUnderEveryPace) {
  for (Pace pace : {Pace{}, Pace{100, 100, 100, 100, 100, 100}, Pace{100, 30, 100, 100, 100, 50},
                    Pace{100, 100, 30, 100, 100, 50}, Pace{20, 70, 70, 40, 100, 50}, Pace{60, 50, 50, 50, 50, 0}}) {
    SegmenterBench b(pace);
    Grid g = make_grid(b.rng);
    ASSERT_NO_FATAL_FAILURE(run_flows(b, g.flows, g.packets));
  }
}

// A message that runs alone is cut without pause and with a single look at its region.
TEST(TxSegmenterTest, LoneMessageLeavesOnePacketEveryCycle) {
  SegmenterBench b;
  Flow f;
  f.qpn = 5;
  f.qpc = make_context(b.rng, golden::Transport::kRc, 1);
  f.wqes.push_back(random_wqe(b.rng, WqeOpcode::kWrite, 256 * 200));
  const golden::Wqe& w = f.wqes[0];
  f.regions.push_back({true, static_cast<uint8_t>(w.lkey), f.qpc.pd, w.laddr, w.length, kIovaTag << 20});
  std::vector<Flow> flows{f};
  ASSERT_NO_FATAL_FAILURE(run_flows(b, flows, 200));
  EXPECT_EQ(b.lookups, 1u);
  EXPECT_EQ(b.turns.size(), 1u);
  for (size_t i = 1; i < b.descs.size(); ++i) EXPECT_EQ(b.descs[i].second, b.descs[i - 1].second + 1);
}

// When others wait, a turn is one packet, and the state is written before the QP is released.
TEST(TxSegmenterTest, OthersWaitForAtMostOnePacket) {
  SegmenterBench b(Pace{100, 100, 100, 100, 100, 100});
  Flow f;
  f.qpn = 9;
  f.qpc = make_context(b.rng, golden::Transport::kUc, 2);
  f.wqes.push_back(random_wqe(b.rng, WqeOpcode::kSend, 512 * 20));
  const golden::Wqe& w = f.wqes[0];
  f.regions.push_back({true, static_cast<uint8_t>(w.lkey), f.qpc.pd, w.laddr, w.length, 0});
  std::vector<Flow> flows{f};
  ASSERT_NO_FATAL_FAILURE(run_flows(b, flows, 20));
  ASSERT_EQ(b.turns.size(), 20u);
  ASSERT_EQ(b.states.size(), 20u);
  for (size_t i = 0; i < 20; ++i) EXPECT_GT(b.turns[i].cycle, std::get<2>(b.states[i]));
}

// A job behind the current one ends its turn, too, although the scheduler has nobody waiting.
TEST(TxSegmenterTest, JobBehindEndsTheTurn) {
  SegmenterBench b;
  std::vector<Flow> flows;
  for (uint16_t qpn : {1, 2}) {
    Flow f;
    f.qpn = qpn;
    f.qpc = make_context(b.rng, golden::Transport::kRc, 1);
    f.wqes.push_back(random_wqe(b.rng, WqeOpcode::kWrite, 256 * 50));
    f.wqes[0].lkey = qpn << 8;
    f.regions.push_back({true, 0, f.qpc.pd, f.wqes[0].laddr, f.wqes[0].length, 0});
    flows.push_back(f);
  }
  ASSERT_NO_FATAL_FAILURE(run_flows(b, flows, 100));
  // Released at its first packet each: the other one's job is already there.
  EXPECT_NE(b.descs[0].first.op.qpn, b.descs[1].first.op.qpn);
  EXPECT_GT(b.turns.size(), 10u);
}

// From job to read request: four cycles with a region answer after two.
TEST(TxSegmenterTest, ReadFollowsJobInFourCycles) {
  SegmenterBench b;
  b.step();
  const rtl::qpc_t c = make_context(b.rng, golden::Transport::kUc, 3);
  const golden::Wqe w = random_wqe(b.rng, WqeOpcode::kWrite, 64);
  b.regions[w.lkey >> 8] = to_entry({true, static_cast<uint8_t>(w.lkey), c.pd, w.laddr, w.length, 0});
  b.jobs.push_back(make_job(3, c, w, 0, 0));
  ASSERT_TRUE(b.drain());
  ASSERT_EQ(b.states.size(), 1u);
  ASSERT_EQ(b.turns.size(), 1u);
  const auto since_job = [&](uint64_t cycle) { return static_cast<int64_t>(cycle - b.job_taken); };
  EXPECT_TRUE(takes_cycles({"tx_segmenter", side("fifo")}, {4}, {since_job(b.first_read_valid)}));
  EXPECT_TRUE(takes_cycles({side("tx_segmenter"), side("fifo")}, {4}, {since_job(std::get<2>(b.states[0]))}));
  EXPECT_TRUE(takes_cycles({side("tx_segmenter"), side("fifo")}, {5}, {since_job(b.turns[0].cycle)}));
}

struct Refusal {
  const char* what;
  Vendor vendor;
  void (*spoil)(golden::Region&, golden::Wqe&, rtl::qpc_t&);
};

// Each way to miss the region gives one error report with its vendor syndrome, marks the context, and reads nothing.
TEST(TxSegmenterTest, EachRefusalIsReportedOnce) {
  const Refusal refusals[] = {
      {"invalid", Vendor::kKey, [](golden::Region& r, golden::Wqe&, rtl::qpc_t&) { r.valid = false; }},
      {"variant", Vendor::kKey, [](golden::Region& r, golden::Wqe&, rtl::qpc_t&) { r.variant ^= 0x10; }},
      {"index", Vendor::kKey, [](golden::Region&, golden::Wqe& w, rtl::qpc_t&) { w.lkey |= 1u << 24; }},
      {"pd", Vendor::kPd, [](golden::Region&, golden::Wqe&, rtl::qpc_t& c) { c.pd ^= 0x800000; }},
      {"below", Vendor::kBounds, [](golden::Region& r, golden::Wqe&, rtl::qpc_t&) { ++r.start; }},
      {"beyond", Vendor::kBounds, [](golden::Region& r, golden::Wqe&, rtl::qpc_t&) { --r.length; }},
      {"short", Vendor::kBounds, [](golden::Region& r, golden::Wqe&, rtl::qpc_t&) { r.length = 5; }},
      {"far", Vendor::kBounds, [](golden::Region&, golden::Wqe& w, rtl::qpc_t&) { w.laddr += uint64_t{1} << 63; }},
      {"wrap", Vendor::kBounds,
       [](golden::Region& r, golden::Wqe& w, rtl::qpc_t&) {
         w.laddr = ~uint64_t{0} - 10;
         r.start = w.laddr;
         r.length = ~uint64_t{0};
       }},
  };
  for (const Refusal& refusal : refusals) {
    for (unsigned pct : {100u, 30u}) {
      for (uint16_t backlog : {0, 3}) {
        SCOPED_TRACE(refusal.what);
        SegmenterBench b(Pace{pct, pct, pct, pct, pct, 50});
        rtl::qpc_t c = make_context(b.rng, golden::Transport::kUc, 1);
        golden::Wqe w = random_wqe(b.rng, WqeOpcode::kWriteImm, 1000);
        golden::Region r{true, static_cast<uint8_t>(w.lkey), c.pd, w.laddr, w.length, 0};
        refusal.spoil(r, w, c);
        ASSERT_EQ(golden::check_local_access(r, c.pd, w.lkey, w.laddr, w.length), refusal.vendor);
        b.regions[w.lkey >> 8 & 0xffff] = to_entry(r);
        b.jobs.push_back(make_job(77, c, w, 1234, 55, backlog));
        ASSERT_TRUE(b.drain());
        ASSERT_EQ(b.descs.size(), 1u);
        const pkt_desc_t& d = b.descs[0].first;
        expect_op(d.op, 77, w, 1234, true);
        expect_context_copy(d, c);
        EXPECT_EQ(d.err, kSynLocalProt);
        EXPECT_EQ(d.imm, static_cast<uint32_t>(refusal.vendor));
        EXPECT_EQ(d.payload_len, 0);
        EXPECT_FALSE(d.has_reth || d.has_imm || d.ack_req || d.solicited);
        EXPECT_TRUE(b.reads.empty());
        ASSERT_EQ(b.errors.size(), 1u);
        EXPECT_EQ(b.errors[0].first, 77);
        ASSERT_EQ(b.writes.size(), 1u);
        const rtl::dm_req_t& m = b.writes[0].first;
        EXPECT_TRUE(m.write);
        EXPECT_EQ(m.addr, 77u * 128);
        EXPECT_EQ(m.strb, 1u);
        EXPECT_EQ(m.data[0] & 0xff, 0x16u);  // UC, Err
        EXPECT_LT(b.writes[0].second, b.descs[0].second);
        ASSERT_EQ(b.states.size(), 1u);
        const tx_state_t& st = std::get<1>(b.states[0]);
        EXPECT_EQ(st.ci, static_cast<uint16_t>(w.index + 1));
        EXPECT_EQ(st.psn, 1234u);
        EXPECT_EQ(st.ip_id, 55);
        EXPECT_FALSE(st.in_msg);
        EXPECT_EQ(b.errors[0].second, std::get<2>(b.states[0]));
        ASSERT_EQ(b.turns.size(), 1u);
        EXPECT_EQ(b.turns[0].more, backlog != 0);
      }
    }
  }
}

// Region checks agree with the model on regions and messages that meet at their edges and at the ends of the address
// space.
TEST(TxSegmenterTest, BoundsAgreeWithTheModelAtEveryEdge) {
  SegmenterBench b;
  unsigned good = 0, bad = 0;
  for (int i = 0; i < 3000; ++i) {
    rtl::qpc_t c = make_context(b.rng, golden::Transport::kRc, 5);
    golden::Wqe w = random_wqe(b.rng, WqeOpcode::kSend, 1 + b.rng() % 4096);
    const uint64_t corner[] = {0, ~uint64_t{0} - 8000, uint64_t{1} << 32, uint64_t{1} << 63, b.rng()};
    golden::Region r{true, static_cast<uint8_t>(w.lkey), c.pd, corner[b.rng() % 5] + b.rng() % 5000, 0, b.rng()};
    w.laddr = r.start + b.rng() % 4096 - (b.chance(20) ? 1 + b.rng() % 3 : 0);
    r.length = w.laddr - r.start + w.length + b.rng() % 5 - 2;
    if (b.chance(10)) r.length = b.rng();
    b.regions[w.lkey >> 8] = to_entry(r);
    b.jobs.push_back(make_job(1, c, w, 0, 0));
    b.descs.clear();
    b.reads.clear();
    ASSERT_TRUE(b.drain());
    ASSERT_EQ(b.descs.size(), 1u);
    const auto refused = golden::check_local_access(r, c.pd, w.lkey, w.laddr, w.length);
    ASSERT_EQ(b.descs[0].first.err, refused ? kSynLocalProt : 0) << "case " << i << " seed " << test_seed();
    ASSERT_EQ(b.reads.size(), refused ? 0u : 1u);
    if (!refused) {
      ASSERT_EQ(b.reads[0].first.addr, r.iova + (w.laddr - r.start));
    }
    ++(refused ? bad : good);
  }
  EXPECT_GT(good, 500u);
  EXPECT_GT(bad, 500u);
}

// A message may end where the address space ends, and not a byte later.
TEST(TxSegmenterTest, MessageMayEndWithTheAddressSpace) {
  for (uint64_t over : {0, 1}) {
    SegmenterBench b;
    const rtl::qpc_t c = make_context(b.rng, golden::Transport::kRc, 3);
    golden::Wqe w = random_wqe(b.rng, WqeOpcode::kSend, 1000);
    w.laddr = ~uint64_t{0} - 999 + over;
    const golden::Region r{true, static_cast<uint8_t>(w.lkey), c.pd, w.laddr - 5000, 6000 + over, kIovaTag << 20};
    ASSERT_EQ(golden::check_local_access(r, c.pd, w.lkey, w.laddr, w.length).has_value(), over != 0);
    b.regions[w.lkey >> 8] = to_entry(r);
    b.jobs.push_back(make_job(1, c, w, 0, 0));
    ASSERT_TRUE(b.drain());
    ASSERT_EQ(b.descs.size(), 1u);
    EXPECT_EQ(b.descs[0].first.err, over ? kSynLocalProt : 0);
  }
}

// A QP with WQEs left is given back as one with more to do, also when they lie across the wrap of the indices.
TEST(TxSegmenterTest, ReleaseSaysMoreAcrossTheIndexWrap) {
  for (uint16_t backlog : {0, 3}) {
    SegmenterBench b;
    const rtl::qpc_t c = make_context(b.rng, golden::Transport::kUc, 3);
    golden::Wqe w = random_wqe(b.rng, WqeOpcode::kWrite, 0);
    w.index = 0xfffd;
    b.jobs.push_back(make_job(3, c, w, 7, 8, backlog));
    ASSERT_TRUE(b.drain());
    ASSERT_EQ(b.turns.size(), 1u);
    EXPECT_EQ(b.turns[0].more, backlog != 0);
  }
}

// A message without payload needs no region: nothing is looked up or read, whatever its key.
TEST(TxSegmenterTest, EmptyMessageTouchesNoRegion) {
  SegmenterBench b;
  const rtl::qpc_t c = make_context(b.rng, golden::Transport::kRc, 3);
  golden::Wqe w = random_wqe(b.rng, WqeOpcode::kWriteImm, 0);
  w.lkey = 0xffffffff;
  b.jobs.push_back(make_job(3, c, w, 7, 8));
  ASSERT_TRUE(b.drain());
  EXPECT_EQ(b.lookups, 0u);
  EXPECT_TRUE(b.reads.empty());
  ASSERT_EQ(b.descs.size(), 1u);
  expect_packet(b.descs[0].first, 3, c, w, golden::packet_at({golden::Transport::kRc, 3, 7, 8, c.ip_id_fixed}, w, 0));
}

// An error found while decoding keeps its syndrome and vendor syndrome, and marks the QP.
TEST(TxSegmenterTest, DecodingErrorIsPassedOn) {
  struct Cause {
    uint8_t syndrome, vendor;
  };
  for (const Cause cause : {Cause{1, 4}, Cause{2, 1}, Cause{2, 2}, Cause{2, 3}, Cause{2, 4}, Cause{2, 6}}) {
    SegmenterBench b;
    const rtl::qpc_t c = make_context(b.rng, golden::Transport::kRc, 3);
    const golden::Wqe w = random_wqe(b.rng, WqeOpcode::kWrite, 100);
    tx_job_t j = make_job(1023, c, w, 7, 8);
    j.err = cause.syndrome;
    j.rkey = cause.vendor;
    b.jobs.push_back(j);
    ASSERT_TRUE(b.drain());
    ASSERT_EQ(b.descs.size(), 1u);
    expect_op(b.descs[0].first.op, 1023, w, 7, true);
    EXPECT_EQ(b.descs[0].first.err, cause.syndrome);
    EXPECT_EQ(b.descs[0].first.imm, cause.vendor);
    EXPECT_EQ(b.lookups, 0u);
    EXPECT_EQ(b.errors.size(), 1u);
    ASSERT_EQ(b.writes.size(), 1u);
    EXPECT_EQ(b.writes[0].first.addr, 1023u * 128);
    EXPECT_EQ(b.writes[0].first.data[0] & 0xff, 0x06u);
  }
}

// A flushed WQE is reported with syndrome 05; the QP is in error already and is not marked again.
TEST(TxSegmenterTest, FlushReportsAndEndsTheMessage) {
  SegmenterBench b;
  const rtl::qpc_t c = make_context(b.rng, golden::Transport::kRc, 3);
  const golden::Wqe w = random_wqe(b.rng, WqeOpcode::kWrite, 100000);
  tx_job_t j = make_job(12, c, w, 7, 8, 2);
  j.flush = true;
  j.st.in_msg = true;
  j.st.offset = 2048;
  b.jobs.push_back(j);
  ASSERT_TRUE(b.drain());
  ASSERT_EQ(b.descs.size(), 1u);
  expect_op(b.descs[0].first.op, 12, w, 7, true);
  EXPECT_EQ(b.descs[0].first.err, kSynFlushed);
  EXPECT_EQ(b.descs[0].first.imm, 0u);
  EXPECT_EQ(b.lookups, 0u);
  EXPECT_TRUE(b.reads.empty());
  EXPECT_TRUE(b.errors.empty());
  EXPECT_TRUE(b.writes.empty());
  ASSERT_EQ(b.states.size(), 1u);
  EXPECT_FALSE(std::get<1>(b.states[0]).in_msg);
  ASSERT_EQ(b.turns.size(), 1u);
  EXPECT_TRUE(b.turns[0].more);
}

// A job with nothing to do only releases its QP.
TEST(TxSegmenterTest, NoopOnlyReleases) {
  SegmenterBench b;
  tx_job_t j;
  j.qpn = 500;
  j.noop = true;
  j.pi = 9;
  b.jobs.push_back(j);
  ASSERT_TRUE(b.drain());
  EXPECT_TRUE(b.descs.empty());
  EXPECT_TRUE(b.states.empty());
  ASSERT_EQ(b.turns.size(), 1u);
  EXPECT_EQ(b.turns[0].qpn, 500);
  EXPECT_FALSE(b.turns[0].more);
}

// The last packets of a message of 2 GiB come from the right addresses: no sum loses its upper bits.
TEST(TxSegmenterTest, TwoGibibytesEndWhereTheyShould) {
  for (unsigned mtu_code : {1u, 5u}) {
    SegmenterBench b;
    const unsigned mtu = golden::mtu_bytes(mtu_code);
    const rtl::qpc_t c = make_context(b.rng, golden::Transport::kRc, mtu_code);
    golden::Wqe w = random_wqe(b.rng, WqeOpcode::kWriteImm, golden::kMaxMessageBytes);
    w.laddr = 0x7fff'f000'0123;
    golden::Region r{true, static_cast<uint8_t>(w.lkey), c.pd, w.laddr - 77, w.length + 77, 0xff'8765'4321};
    b.regions[w.lkey >> 8] = to_entry(r);
    const uint64_t count = golden::packet_count(w.length, mtu);
    const uint64_t from = count - 6;
    tx_job_t j = make_job(8, c, w, static_cast<uint32_t>(from % (1u << 24)), static_cast<uint16_t>(from));
    j.st.in_msg = true;
    j.st.offset = static_cast<uint32_t>(from * mtu);
    b.jobs.push_back(j);
    ASSERT_TRUE(b.drain());
    ASSERT_EQ(b.descs.size(), 6u);
    ASSERT_EQ(b.reads.size(), 6u);
    for (unsigned k = 0; k < 6; ++k) {
      golden::SegmentQp qp{golden::Transport::kRc, mtu_code, 0, 0, c.ip_id_fixed};
      qp.ip_id = c.ip_id_fixed ? static_cast<uint16_t>(from) : 0;
      const golden::Packet p = golden::packet_at(qp, w, from + k);
      expect_packet(b.descs[k].first, 8, c, w, p);
      EXPECT_EQ(b.reads[k].first.addr, r.iova + 77 + p.offset);
      EXPECT_EQ(b.reads[k].first.len, mtu);
    }
    EXPECT_FALSE(std::get<1>(b.states.back()).in_msg);
  }
}

// Between the first and the last packet of a 2 GiB message nothing is refused: the first one asks for all of it.
TEST(TxSegmenterTest, TwoGibibytesAreCheckedAsAWhole) {
  SegmenterBench b(Pace{100, 100, 100, 100, 100, 100});
  const rtl::qpc_t c = make_context(b.rng, golden::Transport::kUc, 5);
  golden::Wqe w = random_wqe(b.rng, WqeOpcode::kWrite, golden::kMaxMessageBytes);
  for (bool fits : {true, false}) {
    golden::Region r{true, static_cast<uint8_t>(w.lkey), c.pd, w.laddr, w.length - !fits, 0};
    b.regions[w.lkey >> 8] = to_entry(r);
    b.descs.clear();
    b.jobs.push_back(make_job(8, c, w, 0, 0));
    ASSERT_TRUE(b.drain());
    ASSERT_EQ(b.descs.size(), 1u);
    EXPECT_EQ(b.descs[0].first.err, fits ? 0 : kSynLocalProt);
  }
}

// Good, bad, flushed and empty-handed jobs of many QPs mix freely: each has its own report, mark, state and release, in
// the jobs' order.
TEST(TxSegmenterTest, GoodAndBadJobsMixInOrder) {
  for (Pace pace : {Pace{}, Pace{100, 30, 100, 100, 100, 100}, Pace{100, 100, 100, 100, 20, 0},
                    Pace{100, 100, 30, 100, 100, 0}, Pace{30, 60, 60, 50, 50, 50}}) {
    SegmenterBench b(pace);
    std::vector<tx_job_t> sent;
    std::vector<uint8_t> syndromes;  // of the jobs, 0 for a packet or noop
    for (uint16_t qpn = 0; qpn < 600; ++qpn) {
      const rtl::qpc_t c = make_context(b.rng, static_cast<golden::Transport>(b.rng() & 1), 5);
      golden::Wqe w = random_wqe(b.rng, WqeOpcode::kWrite, b.rng() % 4097);
      w.lkey = qpn << 8;
      golden::Region r{b.chance(80), 0, c.pd, w.laddr, w.length, b.rng()};
      b.regions[qpn] = to_entry(r);
      tx_job_t j = make_job(qpn, c, w, b.rng() & 0xffffff, static_cast<uint16_t>(b.rng()), b.rng() & 1);
      switch (b.rng() % 6) {
        case 0:
          j.noop = true;
          break;
        case 1:
          j.flush = true;
          break;
        case 2:
          j.err = 0x02;
          break;
        default:
          break;
      }
      syndromes.push_back(j.noop                      ? 0
                          : j.flush                   ? kSynFlushed
                          : j.err != 0                ? j.err
                          : w.length != 0 && !r.valid ? kSynLocalProt
                                                      : 0);
      sent.push_back(j);
      b.jobs.push_back(j);
    }
    ASSERT_TRUE(b.drain());
    size_t descs = 0, reads = 0, marks = 0, states = 0;
    ASSERT_EQ(b.turns.size(), sent.size());
    for (size_t i = 0; i < sent.size(); ++i) {
      const tx_job_t& j = sent[i];
      const uint8_t syn = syndromes[i];
      SCOPED_TRACE(i);
      ASSERT_EQ(b.turns[i].qpn, j.qpn);
      ASSERT_EQ(b.turns[i].more, !j.noop && j.pi != j.st.ci);
      if (j.noop) continue;
      ASSERT_LT(descs, b.descs.size());
      const pkt_desc_t& d = b.descs[descs].first;
      const uint64_t left = b.descs[descs++].second;
      ASSERT_EQ(d.op.qpn, j.qpn);
      ASSERT_EQ(d.err, syn);
      ASSERT_LT(states, b.states.size());
      const tx_state_t& st = std::get<1>(b.states[states]);
      ASSERT_EQ(std::get<0>(b.states[states++]), j.qpn);
      ASSERT_EQ(st.psn, (j.st.psn + (syn == 0)) & 0xffffff);
      ASSERT_FALSE(st.in_msg);
      if (syn != 0 && syn != kSynFlushed) {
        ASSERT_LT(marks, b.writes.size());
        ASSERT_LT(marks, b.errors.size());
        ASSERT_EQ(b.errors[marks].first, j.qpn);
        ASSERT_EQ(b.writes[marks].first.addr, j.qpn * 128u);
        ASSERT_LT(b.writes[marks++].second, left);
      }
      if (syn == 0 && j.st.msg_len != 0) {
        ASSERT_LT(reads, b.reads.size());
        ASSERT_EQ(b.reads[reads++].first.op.pack(), d.op.pack());
      }
    }
    EXPECT_EQ(descs, b.descs.size());
    EXPECT_EQ(reads, b.reads.size());
    EXPECT_EQ(states, b.states.size());
    EXPECT_EQ(marks, b.writes.size());
    EXPECT_EQ(marks, b.errors.size());
    EXPECT_GT(marks, 100u);
    EXPECT_GT(reads, 100u);
  }
}

// Without work no register changes: the block says idle and shows nothing.
TEST(TxSegmenterTest, IdleAfterReset) {
  SegmenterBench b;
  for (int i = 0; i < 5; ++i) {
    b.step();
    EXPECT_TRUE(b.top->idle_o);
  }
  EXPECT_TRUE(b.descs.empty() && b.turns.empty() && b.states.empty());
}

}  // namespace
}  // namespace rnic::test
