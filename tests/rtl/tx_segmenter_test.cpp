// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <numeric>
#include <vector>

#include "Vtx_segmenter.h"
#include "rnic/golden/segmenter.h"
#include "rtl/bench.h"
#include "support/latency.h"

namespace rnic::test {
namespace {

using golden::Transport;
using golden::Vendor;
using golden::WqeOpcode;
using rtl::mpt_t;
using rtl::payload_t;
using rtl::pkt_desc_t;
using rtl::tx_job_t;
using rtl::tx_state_t;
using rtl::xl_req_t;

constexpr uint8_t kSynFlushed = 0x05;
constexpr uint8_t kSynLocalProt = 0x04;
constexpr uint32_t kIovaTag = 7;
constexpr std::array kAllOps = {WqeOpcode::kWrite,     WqeOpcode::kWriteImm, WqeOpcode::kSend,    WqeOpcode::kSendImm,
                                WqeOpcode::kSendInval, WqeOpcode::kRead,     WqeOpcode::kCmpSwap, WqeOpcode::kFetchAdd};

/// How busy the neighbours are, in percent of the cycles.
struct Pace {
  unsigned job = 100;    // a waiting job is offered
  unsigned desc = 100;   // packetizer ready
  unsigned rd = 100;     // dma_master ready
  unsigned mpt = 100;    // region cache ready, and its answer not late
  unsigned dm = 100;     // device memory ready
  unsigned others = 0;   // the scheduler has another QP waiting
  unsigned inl = 100;    // inline FIFO ready
  unsigned recheck = 0;  // a region changes
};

struct Turn {
  rtl::turn_end_t end;
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
  std::vector<std::pair<xl_req_t, uint64_t>> reads;
  std::vector<std::pair<payload_t, uint64_t>> inls;
  std::vector<std::pair<rtl::dm_req_t, uint64_t>> writes;
  std::vector<std::tuple<uint16_t, tx_state_t, uint64_t>> states;
  std::vector<std::pair<uint16_t, uint64_t>> errors;
  std::vector<Turn> turns;
  std::vector<std::pair<uint16_t, uint64_t>> lookups;
  uint64_t job_taken = 0;
  uint64_t first_read_valid = 0;
  bool recheck = false;  // at the next edge

  void step() {
    if (!job_offered_ && !jobs.empty() && chance(pace.job)) {
      job_offered_ = true;
      rtl::drive(top->job_i, jobs.front());
    }
    top->job_valid_i = job_offered_;
    top->other_waiting_i = chance(pace.others);
    top->recheck_i = recheck || chance(pace.recheck);
    recheck = false;
    top->desc_ready_i = chance(pace.desc);
    top->rd_ready_i = chance(pace.rd);
    top->inl_ready_i = chance(pace.inl);
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
      lookups.emplace_back(top->mpt_req_idx_o, cycle);
    }
    if (top->rd_valid_o && first_read_valid == 0) first_read_valid = cycle;
    if (top->desc_valid_o && top->desc_ready_i) descs.emplace_back(rtl::sample<pkt_desc_t>(top->desc_o), cycle);
    if (top->rd_valid_o && top->rd_ready_i) reads.emplace_back(rtl::sample<xl_req_t>(top->rd_o), cycle);
    if (top->inl_valid_o && top->inl_ready_i) inls.emplace_back(rtl::sample<payload_t>(top->inl_o), cycle);
    if (top->dm_req_valid_o && top->dm_req_ready_i)
      writes.emplace_back(rtl::sample<rtl::dm_req_t>(top->dm_req_o), cycle);
    if (top->st_we_o) states.emplace_back(top->st_qpn_o, rtl::sample<tx_state_t>(top->st_o), cycle);
    if (top->err_o) errors.emplace_back(top->err_qpn_o, cycle);
    if (top->release_o) turns.push_back({rtl::sample<rtl::turn_end_t>(top->turn_end_o), cycle});
    if (top->idle_o && !top->job_valid_i) {
      EXPECT_FALSE(top->desc_valid_o || top->rd_valid_o || top->inl_valid_o || top->dm_req_valid_o || top->st_we_o ||
                   top->err_o || top->release_o || !answers_.empty());
    }
    tick();
  }

  /// Until nothing is left anywhere; false when that takes more than `limit` cycles.
  bool drain(uint64_t limit = 20000) {
    const uint64_t end = cycle + limit;
    do {
      if (cycle == end) return false;
      step();
    } while (!jobs.empty() || !top->idle_o);
    return true;
  }

  void forget() {
    descs.clear(), reads.clear(), inls.clear(), writes.clear(), states.clear(), errors.clear(), turns.clear();
    lookups.clear();
  }

 private:
  bool job_offered_ = false;
  bool answer_shown_ = false;
  std::deque<std::pair<uint64_t, mpt_t>> answers_;
};

/// A context with a different value in every field that reaches the packet or the scheduler.
rtl::qpc_t make_context(std::mt19937_64& rng, Transport transport, unsigned mtu_code) {
  rtl::qpc_t c;
  for (auto* a : {&c.dgid, &c.sgid})
    for (auto& w : *a) w = static_cast<uint32_t>(rng());
  c.ttl = static_cast<uint8_t>(rng());
  c.tos = static_cast<uint8_t>(rng());
  c.pkey = static_cast<uint16_t>(rng());
  c.udp_sport = static_cast<uint16_t>(rng());
  c.flow_label = rng() & 0xfffff;
  c.ipv6 = rng() & 1;
  c.vlan_en = rng() & 1;
  c.vlan_tci = static_cast<uint16_t>(rng());
  c.qkey = static_cast<uint32_t>(rng());
  c.dmac = rng() & 0xffffffffffff;
  c.smac = rng() & 0xffffffffffff;
  c.dest_qpn = rng() & 0xffffff;
  c.pd = rng() & 0xffffff;
  c.cqn = rng() & 0xffffff;
  c.mig_req = rng() & 1;
  c.ip_id_fixed = rng() & 1;
  c.prio = rng() & 7;
  c.weight = static_cast<uint8_t>(rng());
  c.rate_en = rng() & 1;
  c.rate_gap = static_cast<uint32_t>(rng());
  c.rate_burst = static_cast<uint16_t>(rng());
  c.port = rng() & 7;
  c.mtu = static_cast<uint8_t>(mtu_code);
  c.transport = static_cast<uint8_t>(transport);
  c.state = rtl::rnic_pkg::QpStRts;
  return c;
}

/// Ordering of a region: any of the four, told by its address.
bool relaxed(const golden::Region& r) { return r.iova >> 20 & 1; }
bool id_based(const golden::Region& r) { return r.iova >> 21 & 1; }

mpt_t to_entry(const golden::Region& r) {
  mpt_t m;
  m.valid = r.valid;
  m.variant = r.variant;
  m.pd = r.pd;
  m.start = r.start;
  m.length = r.length;
  m.iova = r.iova;
  m.relaxed = relaxed(r);
  m.id_based = id_based(r);
  m.local_write = r.rights & golden::kLocalWrite;
  m.remote_read = r.rights & golden::kRemoteRead;
  m.remote_write = r.rights & golden::kRemoteWrite;
  m.remote_atomic = r.rights & golden::kRemoteAtomic;
  m.paged = r.paged;
  m.log_page = static_cast<uint8_t>(r.log_page);
  m.mtt = r.mtt;
  m.pages = r.pages;
  m.window_en = r.window_en;
  m.window = static_cast<uint8_t>(r.window);
  return m;
}

std::array<rtl::sge_t*, 4> sges_of(tx_state_t& st) { return {&st.sge0, &st.sge1, &st.sge2, &st.sge3}; }

/// The job of a freshly decoded WQE, as wqe_fetch_engine would hand it over.
tx_job_t make_job(uint16_t qpn, const rtl::qpc_t& qpc, const golden::Wqe& w, uint32_t psn, uint16_t ip_id,
                  uint16_t backlog = 0) {
  tx_job_t j;
  j.qpn = qpn;
  j.qpc = qpc;
  j.raddr = w.raddr;
  j.rkey = w.rkey;
  j.swap_add = w.swap_add;
  j.compare = w.compare;
  j.st.ci = static_cast<uint16_t>(w.index + 1);
  j.pi = static_cast<uint16_t>(j.st.ci + backlog);
  j.st.psn = psn;
  j.st.ip_id = ip_id;
  j.st.wqe_idx = w.index;
  j.st.opcode = static_cast<uint8_t>(w.opcode);
  j.st.signaled = w.signaled;
  j.st.solicited = w.solicited;
  j.st.imm = w.imm;
  j.st.msg_len = static_cast<uint32_t>(w.length());
  j.st.num_sge = static_cast<uint8_t>(w.sges.size());
  for (size_t i = 0; i < w.sges.size(); ++i) {
    rtl::sge_t& s = *sges_of(j.st)[i];
    s.addr = w.sges[i].addr;
    s.lkey = w.sges[i].lkey;
    s.len = static_cast<uint32_t>(w.sges[i].length);
  }
  j.inl = w.is_inline;
  j.inl_data.fill(0xa5a5a5a5);  // what stands behind is not part of it
  for (size_t i = 0; i < w.inline_bytes.size(); ++i) {
    j.inl_data[i / 4] ^= static_cast<uint32_t>(0xa5 ^ w.inline_bytes[i]) << (i % 4 * 8);
  }
  return j;
}

/// Puts a job `offset` bytes into its message, as a turn that ended there would have left it.
void advance_to(tx_job_t& j, const golden::Wqe& w, uint64_t offset) {
  j.st.in_msg = true;
  j.st.offset = static_cast<uint32_t>(offset);
  uint64_t left = offset;
  size_t i = 0;
  while (left >= w.sges[i].length) left -= w.sges[i++].length;
  j.st.sge_idx = static_cast<uint8_t>(i);
  j.st.sge_off = static_cast<uint32_t>(left);
}

/// A message of `lengths` in as many segments (or of nothing).
golden::Wqe random_wqe(std::mt19937_64& rng, WqeOpcode op, const std::vector<uint64_t>& lengths) {
  golden::Wqe w;
  w.opcode = op;
  w.index = static_cast<uint16_t>(rng());
  w.signaled = rng() & 1;
  w.solicited = rng() & 1;
  w.imm = static_cast<uint32_t>(rng());
  w.raddr = rng();
  w.rkey = static_cast<uint32_t>(rng());
  w.swap_add = rng();
  w.compare = rng();
  uint32_t index = rng() % 65536;  // of the key; no two alike
  for (uint64_t length : lengths) {
    if (length == 0) continue;
    w.sges.push_back({index << 8 | static_cast<uint32_t>(rng() % 256), rng() >> 1, length});
    index = (index + 1 + rng() % 1000) % 65536;
  }
  return w;
}

golden::Wqe random_wqe(std::mt19937_64& rng, WqeOpcode op, uint64_t length) {
  return random_wqe(rng, op, std::vector<uint64_t>{length});
}

golden::Wqe inline_wqe(std::mt19937_64& rng, WqeOpcode op, size_t length) {
  golden::Wqe w = random_wqe(rng, op, 0);
  w.is_inline = true;
  for (size_t i = 0; i < length; ++i) w.inline_bytes.push_back(static_cast<uint8_t>(rng()));
  return w;
}

/// `length` bytes in `count` segments of any lengths, short ones often; fewer when there are not enough bytes.
std::vector<uint64_t> random_cut(std::mt19937_64& rng, uint64_t length, unsigned count) {
  std::vector<uint64_t> cut;
  for (; count > 1 && length > 1; --count) {
    const uint64_t most = length - 1;
    const uint64_t n = rng() % 2 == 0 ? 1 + rng() % std::min<uint64_t>(most, 70) : 1 + rng() % most;
    cut.push_back(n);
    length -= n;
  }
  if (length != 0) cut.push_back(length);
  std::shuffle(cut.begin(), cut.end(), rng);
  return cut;
}

/// A region that holds the segment, exactly or with room on both sides.
golden::Region region_for(std::mt19937_64& rng, const golden::Sge& s, uint32_t pd) {
  golden::Region r;
  r.variant = static_cast<uint8_t>(s.lkey);
  r.pd = pd;
  const uint64_t before = rng() % 3 == 0 ? 0 : rng() % 100000;
  r.start = s.addr - before;
  r.length = before + s.length + (rng() % 3 == 0 ? 0 : rng() % 5000);
  r.iova = rng() >> 2;
  r.rights = rng() % 16 | golden::kLocalWrite;
  r.paged = rng() & 1, r.log_page = rng() % 32, r.mtt = rng() % (1 << 22), r.pages = static_cast<uint32_t>(rng());
  r.window_en = rng() & 1, r.window = rng() % 64;
  return r;
}

/// Good regions for all of the message's segments, in the table, too.
std::vector<golden::Region> register_all(SegmenterBench& b, const golden::Wqe& w, uint32_t pd) {
  std::vector<golden::Region> regions;
  for (const golden::Sge& s : w.sges) {
    regions.push_back(region_for(b.rng, s, pd));
    b.regions[s.lkey >> 8] = to_entry(regions.back());
  }
  return regions;
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
  EXPECT_EQ(d.flow_label, c.flow_label);
  EXPECT_EQ(d.ipv6, c.ipv6);
  EXPECT_EQ(d.vlan_en, c.vlan_en);
  EXPECT_EQ(d.vlan_tci, c.vlan_tci);
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
  EXPECT_EQ(d.signaled, w.signaled && golden::has_payload(w.opcode));  // others complete with their response
  EXPECT_EQ(d.wqe_opcode, static_cast<uint8_t>(w.opcode));
  EXPECT_EQ(d.msg_len, static_cast<uint32_t>(w.length()));
  EXPECT_EQ(d.bth_opcode, p.bth_opcode);
  EXPECT_EQ(d.solicited, p.solicited);
  EXPECT_EQ(d.ack_req, p.ack_req);
  EXPECT_EQ(d.has_deth, p.has_deth);
  EXPECT_EQ(d.has_reth, p.has_reth);
  EXPECT_EQ(d.has_atomic, p.has_atomic);
  EXPECT_EQ(d.has_imm, p.has_imm);
  if (p.has_deth) {
    EXPECT_EQ(d.qkey, p.deth_qkey);
  }
  if (p.has_reth) {
    EXPECT_EQ(d.raddr, p.reth_va);
    EXPECT_EQ(d.rkey, p.reth_rkey);
    EXPECT_EQ(d.msg_len, p.reth_length);
  }
  if (p.has_atomic) {
    EXPECT_EQ(d.raddr, p.atomic_va);
    EXPECT_EQ(d.rkey, p.atomic_rkey);
    EXPECT_EQ(d.swap_add, p.swap_add);
    EXPECT_EQ(d.compare, p.compare);
  }
  if (p.has_imm) {
    EXPECT_EQ(d.imm, p.imm);
  }
  EXPECT_EQ(d.payload_len, p.length);
  EXPECT_EQ(d.inl, w.is_inline && p.length != 0);
  EXPECT_EQ(d.ip_id, p.ip_id);
}

/// What a packet's payload is read with.
std::vector<xl_req_t> reads_of(const golden::Wqe& w, const golden::Packet& p,
                               const std::vector<golden::Region>& regions, const rtl::op_t& op) {
  std::vector<xl_req_t> reads;
  for (const golden::Piece& piece : golden::pieces(w, p)) {
    xl_req_t r;
    r.addr = regions[piece.sge].iova + (w.sges[piece.sge].addr - regions[piece.sge].start) + piece.offset;
    r.len = static_cast<uint16_t>(piece.length);
    r.more = true;
    r.attr = static_cast<uint8_t>(id_based(regions[piece.sge]) << 2 | relaxed(regions[piece.sge]) << 1);
    r.op = op;
    const mpt_t m = to_entry(regions[piece.sge]);
    r.paged = m.paged, r.log_page = m.log_page, r.mtt = m.mtt, r.pages = m.pages;
    r.window_en = m.window_en, r.window = m.window;
    reads.push_back(r);
  }
  if (!reads.empty()) reads.back().more = false;
  return reads;
}

golden::SegmentQp segment_qp(const rtl::qpc_t& c, uint32_t psn, uint16_t ip_id) {
  return {static_cast<Transport>(c.transport), c.mtu, psn, ip_id, c.ip_id_fixed, c.qkey};
}

void expect_turn_context(const rtl::turn_end_t& t, const rtl::qpc_t& c) {
  EXPECT_EQ(t.prio, c.prio);
  EXPECT_EQ(t.weight, c.weight);
  EXPECT_EQ(t.rate_en, c.rate_en);
  EXPECT_EQ(t.rate_gap, c.rate_gap);
  EXPECT_EQ(t.rate_burst, c.rate_burst);
}

/// One QP's work: messages in order, each with the regions of its segments.
struct Flow {
  uint16_t qpn = 0;
  rtl::qpc_t qpc;
  std::vector<golden::Wqe> wqes;
  std::vector<std::vector<golden::Region>> regions;
  uint32_t psn = 0;
  uint16_t ip_id = 0;
  size_t next = 0;     // message to start
  size_t packets = 0;  // packets seen of message `seen`
  size_t seen = 0;
  tx_state_t st;

  /// A message with good regions under keys of its own.
  void add(std::mt19937_64& rng, golden::Wqe w) {
    std::vector<golden::Region> r;
    for (golden::Sge& s : w.sges) {
      s.lkey = qpn % 64 << 8 | static_cast<uint32_t>(((wqes.size() & 0x3f) * 4 + r.size()) << 14) | (s.lkey & 0xff);
      r.push_back(region_for(rng, s, qpc.pd));
    }
    wqes.push_back(std::move(w));
    regions.push_back(std::move(r));
  }
  uint64_t packet_count() const {
    return std::accumulate(wqes.begin(), wqes.end(), uint64_t{0}, [this](uint64_t n, const golden::Wqe& w) {
      return n + golden::packet_count(w, golden::mtu_bytes(qpc.mtu));
    });
  }
};

/// The end of a turn against what the flow has sent by then.
void expect_turn(const Turn& turn, const Flow& f) {
  const golden::Wqe& w = f.wqes[f.next - 1];
  const unsigned mtu = golden::mtu_bytes(f.qpc.mtu);
  expect_turn_context(turn.end, f.qpc);
  EXPECT_EQ(turn.end.more, f.st.in_msg || f.next < f.wqes.size());
  const uint64_t k = f.st.in_msg ? f.st.offset / mtu - 1 : golden::packet_count(w, mtu) - 1;
  const golden::Packet p = golden::packet_at(segment_qp(f.qpc, 0, 0), w, k);
  EXPECT_EQ(turn.end.bytes, golden::frame_bytes(p, f.qpc.ipv6, f.qpc.vlan_en));
  if (!f.st.in_msg) return;
  tx_job_t want;
  advance_to(want, w, f.st.offset);
  EXPECT_EQ(f.st.offset % mtu, 0u);
  EXPECT_EQ(f.st.sge_idx, want.st.sge_idx);
  EXPECT_EQ(f.st.sge_off, want.st.sge_off);
}

/// Hands out the flows' jobs as scheduler and fetch engine would, and compares whatever comes out with the model.
void run_flows(SegmenterBench& b, std::vector<Flow>& flows) {
  std::map<uint16_t, Flow*> by_qpn;
  for (Flow& f : flows) by_qpn[f.qpn] = &f;
  uint64_t expected_packets = 0;
  for (const Flow& f : flows) expected_packets += f.packet_count();
  auto start = [&b](Flow& f) {
    if (f.next == f.wqes.size()) return;
    const golden::Wqe& w = f.wqes[f.next];
    for (size_t i = 0; i < w.sges.size(); ++i) b.regions[w.sges[i].lkey >> 8] = to_entry(f.regions[f.next][i]);
    const uint32_t psn = f.next == 0 ? f.psn : f.st.psn;
    const uint16_t ip_id = f.next == 0 ? f.ip_id : f.st.ip_id;
    b.jobs.push_back(make_job(f.qpn, f.qpc, w, psn, ip_id, f.next + 1 < f.wqes.size() ? 1 : 0));
    ++f.next;
  };
  for (Flow& f : flows) start(f);
  size_t states = 0, turns = 0, descs = 0, reads = 0, inls = 0;
  uint64_t seen = 0;
  std::deque<xl_req_t> wanted;       // reads that the descriptions ask for
  std::deque<payload_t> wanted_inl;  // inline beats, too
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
      const golden::Packet p = golden::packet_at(segment_qp(f.qpc, f.psn, f.ip_id), w, f.packets);
      expect_packet(d, f.qpn, f.qpc, w, p);
      ASSERT_FALSE(::testing::Test::HasFailure())
          << "op " << int(w.opcode) << " length " << w.length() << " packet " << f.packets << " seed " << test_seed();
      for (const xl_req_t& r : reads_of(w, p, f.regions[f.seen], d.op)) wanted.push_back(r);
      if (w.is_inline) {
        for (size_t at = 0; at < w.inline_bytes.size(); at += 64) {
          payload_t beat;
          beat.bytes = static_cast<uint8_t>(std::min<size_t>(64, w.inline_bytes.size() - at));
          beat.last = at + beat.bytes == w.inline_bytes.size();
          for (size_t i = 0; i < beat.bytes; ++i) {
            beat.data[i / 4] |= static_cast<uint32_t>(w.inline_bytes[at + i]) << (i % 4 * 8);
          }
          wanted_inl.push_back(beat);
        }
      }
      ++f.packets;
      if (p.last) {
        f.psn = (f.psn + static_cast<uint32_t>(golden::psn_count(w, golden::mtu_bytes(f.qpc.mtu)))) & 0xffffff;
        f.ip_id = static_cast<uint16_t>(p.ip_id + !f.qpc.ip_id_fixed);
        f.packets = 0;
        ++f.seen;
      }
    }
    for (; reads < b.reads.size() && !wanted.empty(); ++reads) {
      ASSERT_EQ(b.reads[reads].first.pack(), wanted.front().pack()) << "read " << reads << " seed " << test_seed();
      wanted.pop_front();
    }
    for (; inls < b.inls.size() && !wanted_inl.empty(); ++inls) {
      ASSERT_EQ(b.inls[inls].first.pack(), wanted_inl.front().pack()) << "beat " << inls << " seed " << test_seed();
      wanted_inl.pop_front();
    }
    for (; turns < b.turns.size(); ++turns) {
      ASSERT_TRUE(by_qpn.count(b.turns[turns].end.qpn));
      Flow& f = *by_qpn[b.turns[turns].end.qpn];
      expect_turn(b.turns[turns], f);
      ASSERT_FALSE(::testing::Test::HasFailure()) << "turn " << turns << " seed " << test_seed();
      if (f.st.in_msg) {
        const golden::Wqe& w = f.wqes[f.next - 1];
        tx_job_t j = make_job(f.qpn, f.qpc, w, 0, 0, f.next < f.wqes.size() ? 1 : 0);
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
  EXPECT_EQ(inls, b.inls.size());
  EXPECT_TRUE(wanted.empty());
  EXPECT_TRUE(wanted_inl.empty());
  EXPECT_TRUE(b.errors.empty());
  EXPECT_TRUE(b.writes.empty());
  for (Flow& f : flows) {
    EXPECT_EQ(f.seen, f.wqes.size());
    EXPECT_EQ(f.st.psn, f.psn);
    EXPECT_EQ(f.st.ip_id, f.ip_id);
  }
}

const std::vector<Pace>& all_paces() {
  static const std::vector<Pace> paces = {Pace{},
                                          Pace{100, 100, 100, 100, 100, 100},
                                          Pace{100, 30, 100, 100, 100, 50},
                                          Pace{100, 100, 30, 100, 100, 50, 30},
                                          Pace{20, 70, 70, 40, 100, 50, 70},
                                          Pace{60, 50, 50, 50, 50, 0, 50},
                                          Pace{80, 90, 90, 90, 100, 0, 100, 10}};
  return paces;
}

/// A QP whose PSN and IP identification wrap soon.
Flow make_flow(std::mt19937_64& rng, uint16_t qpn, Transport transport, unsigned mtu_code) {
  Flow f;
  f.qpn = qpn;
  f.qpc = make_context(rng, transport, mtu_code);
  f.psn = 0xffffff - rng() % 40;
  f.ip_id = static_cast<uint16_t>(0xffff - rng() % 40);
  return f;
}

/// Operation x length x MTU x transport, spread over QPs: one QP a transport and MTU.
std::vector<Flow> make_grid(std::mt19937_64& rng) {
  std::vector<Flow> flows;
  for (unsigned mtu_code = 1; mtu_code <= 5; ++mtu_code) {
    const unsigned mtu = golden::mtu_bytes(mtu_code);
    for (auto transport : {Transport::kRc, Transport::kUc, Transport::kUd}) {
      Flow f =
          make_flow(rng, static_cast<uint16_t>(3 * mtu_code + static_cast<unsigned>(transport)), transport, mtu_code);
      std::vector<uint64_t> lengths = {0, 1, 3, 63, 64, 65, 255, 256, 257, mtu - 1, mtu, mtu + 1, 2 * mtu, 8193};
      if (mtu_code >= 4) lengths.push_back(1 << 20);
      for (uint64_t length : lengths) {
        for (auto op : kAllOps) {
          if (!golden::allowed(transport, op)) continue;
          if (transport == Transport::kUd && length > mtu) continue;
          if (golden::is_atomic(op) && length != 64) continue;
          if (length == 1 << 20 && op != WqeOpcode::kWriteImm && op != WqeOpcode::kRead) continue;
          f.add(rng, random_wqe(rng, op, golden::is_atomic(op) ? 8 : length));
        }
      }
      if (transport == Transport::kRc) f.add(rng, random_wqe(rng, WqeOpcode::kRead, golden::kMaxMessageBytes));
      flows.push_back(f);
    }
  }
  return flows;
}

// Every operation, length, MTU and transport gives the model's packets and reads, whoever is busy and waits.
TEST(TxSegmenterTest, PacketsAndReadsMatchTheModelUnderEveryPace) {
  for (const Pace& pace : all_paces()) {
    SegmenterBench b(pace);
    std::vector<Flow> flows = make_grid(b.rng);
    ASSERT_NO_FATAL_FAILURE(run_flows(b, flows));
  }
}

// Messages of one to four segments of any lengths and alignments are cut as the model says, packet for packet and piece
// for piece, wherever turns end.
TEST(TxSegmenterTest, GatheredMessagesMatchTheModel) {
  for (const Pace& pace : all_paces()) {
    SegmenterBench b(pace);
    std::vector<Flow> flows;
    for (uint16_t qpn = 0; qpn < 24; ++qpn) {
      const auto transport = static_cast<Transport>(qpn % 3);
      const unsigned mtu_code = 1 + qpn % 5;
      const unsigned mtu = golden::mtu_bytes(mtu_code);
      Flow f = make_flow(b.rng, qpn, transport, mtu_code);
      for (int i = 0; i < 12; ++i) {
        const uint64_t edges[] = {2, 4, 64, mtu - 1, mtu, mtu + 1, 2 * mtu, 3 * mtu, 1 + b.rng() % (4 * mtu)};
        uint64_t length = edges[b.rng() % std::size(edges)];
        if (transport == Transport::kUd) length = std::min<uint64_t>(length, mtu);
        WqeOpcode op = kAllOps[b.rng() % 5];
        if (!golden::allowed(transport, op)) op = WqeOpcode::kSend;
        std::vector<uint64_t> cut = random_cut(b.rng, length, 1 + b.rng() % 4);
        if (b.chance(20) && transport != Transport::kUd) cut = {mtu, mtu, mtu};  // segments end with their packets
        f.add(b.rng, random_wqe(b.rng, op, cut));
      }
      flows.push_back(f);
    }
    ASSERT_NO_FATAL_FAILURE(run_flows(b, flows));
  }
}

// Inline payloads of every length leave on their own stream, 64 B a beat, in the descriptions' order, among others from
// memory.
TEST(TxSegmenterTest, InlinePayloadLeavesInBeats) {
  for (const Pace& pace : all_paces()) {
    SegmenterBench b(pace);
    std::vector<Flow> flows;
    for (uint16_t qpn = 0; qpn < 3; ++qpn) {
      const auto transport = static_cast<Transport>(qpn);
      Flow f = make_flow(b.rng, qpn, transport, 1);
      for (size_t length = 0; length <= golden::max_inline(transport, WqeOpcode::kSend); ++length) {
        WqeOpcode op = kAllOps[b.rng() % 5];
        if (!golden::allowed(transport, op)) op = WqeOpcode::kSendImm;
        f.add(b.rng, inline_wqe(b.rng, op, length));
        if (b.chance(10)) f.add(b.rng, random_wqe(b.rng, WqeOpcode::kSend, random_cut(b.rng, 200, 3)));
      }
      flows.push_back(f);
    }
    ASSERT_NO_FATAL_FAILURE(run_flows(b, flows));
  }
}

// An inline packet's beats leave in cycles that follow each other, and its description with the first.
TEST(TxSegmenterTest, InlineBeatsHaveNoGaps) {
  SegmenterBench b;
  const rtl::qpc_t c = make_context(b.rng, Transport::kUc, 3);
  for (size_t length : {236, 64, 65, 1})
    b.jobs.push_back(make_job(3, c, inline_wqe(b.rng, WqeOpcode::kSend, length), 0, 0));
  ASSERT_TRUE(b.drain());
  ASSERT_EQ(b.inls.size(), 4u + 1 + 2 + 1);
  ASSERT_EQ(b.descs.size(), 4u);
  for (size_t i = 1; i < b.inls.size(); ++i) EXPECT_EQ(b.inls[i].second, b.inls[i - 1].second + 1);
  EXPECT_EQ(b.descs[0].second, b.inls[0].second);
  EXPECT_EQ(b.descs[1].second, b.inls[4].second);
}

// A QP with a rate has one packet a turn, though nobody else waits.
TEST(TxSegmenterTest, RateMeansOnePacketATurn) {
  SegmenterBench b;
  Flow f = make_flow(b.rng, 5, Transport::kUc, 1);
  f.qpc.rate_en = true;
  f.add(b.rng, random_wqe(b.rng, WqeOpcode::kWrite, 256 * 20));
  std::vector<Flow> flows{f};
  ASSERT_NO_FATAL_FAILURE(run_flows(b, flows));
  EXPECT_EQ(b.turns.size(), 20u);
  EXPECT_EQ(b.descs.size(), 20u);
}

// A message that runs alone is cut without pause and with a single look at its region.
TEST(TxSegmenterTest, LoneMessageLeavesOnePacketEveryCycle) {
  SegmenterBench b;
  Flow f = make_flow(b.rng, 5, Transport::kRc, 1);
  f.qpc.rate_en = false;
  f.add(b.rng, random_wqe(b.rng, WqeOpcode::kWrite, 256 * 200));
  std::vector<Flow> flows{f};
  ASSERT_NO_FATAL_FAILURE(run_flows(b, flows));
  EXPECT_EQ(b.lookups.size(), 1u);
  EXPECT_EQ(b.turns.size(), 1u);
  ASSERT_EQ(b.descs.size(), 200u);
  for (size_t i = 1; i < b.descs.size(); ++i) EXPECT_EQ(b.descs[i].second, b.descs[i - 1].second + 1);
}

// Messages of one packet and one segment leave at one a cycle, whatever QPs they are of.
TEST(TxSegmenterTest, ShortMessagesLeaveOneEveryCycle) {
  SegmenterBench b;
  for (uint16_t qpn = 0; qpn < 100; ++qpn) {
    const rtl::qpc_t c = make_context(b.rng, Transport::kUc, 3);
    golden::Wqe w = random_wqe(b.rng, WqeOpcode::kWrite, 64);
    w.sges[0].lkey = qpn << 8;
    register_all(b, w, c.pd);
    b.jobs.push_back(make_job(qpn, c, w, 0, 0));
  }
  ASSERT_TRUE(b.drain());
  ASSERT_EQ(b.descs.size(), 100u);
  for (size_t i = 1; i < b.descs.size(); ++i) EXPECT_EQ(b.descs[i].second, b.descs[i - 1].second + 1);
}

// Four segments are looked up in four cycles, and their pieces leave in four more; the description with the first one.
TEST(TxSegmenterTest, SegmentsAndPiecesTakeACycleEach) {
  SegmenterBench b;
  b.step();
  const rtl::qpc_t c = make_context(b.rng, Transport::kUc, 3);
  const golden::Wqe w = random_wqe(b.rng, WqeOpcode::kWrite, {7, 1, 500, 64});
  register_all(b, w, c.pd);
  b.jobs.push_back(make_job(3, c, w, 0, 0));
  ASSERT_TRUE(b.drain());
  ASSERT_EQ(b.lookups.size(), 4u);
  ASSERT_EQ(b.reads.size(), 4u);
  ASSERT_EQ(b.descs.size(), 1u);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(b.lookups[i].first, w.sges[i].lkey >> 8);
    if (i == 0) continue;
    EXPECT_EQ(b.lookups[i].second, b.lookups[i - 1].second + 1);
    EXPECT_EQ(b.reads[i].second, b.reads[i - 1].second + 1);
  }
  EXPECT_EQ(b.descs[0].second, b.reads[0].second);
  const auto since_job = [&](uint64_t cycle) { return static_cast<int64_t>(cycle - b.job_taken); };
  EXPECT_TRUE(takes_cycles({"tx_segmenter", side("fifo")}, {7}, {since_job(b.first_read_valid)}));
}

// When others wait, a turn is one packet, and the state is written before the QP is released.
TEST(TxSegmenterTest, OthersWaitForAtMostOnePacket) {
  for (const std::vector<uint64_t>& cut : {std::vector<uint64_t>{512 * 20}, {512 * 5 + 1, 513, 512 * 14 - 2}}) {
    SegmenterBench b(Pace{100, 100, 100, 100, 100, 100});
    Flow f = make_flow(b.rng, 9, Transport::kUc, 2);
    f.qpc.rate_en = false;
    f.add(b.rng, random_wqe(b.rng, WqeOpcode::kSend, cut));
    std::vector<Flow> flows{f};
    ASSERT_NO_FATAL_FAILURE(run_flows(b, flows));
    ASSERT_EQ(b.turns.size(), 20u);
    ASSERT_EQ(b.states.size(), 20u);
    for (size_t i = 0; i < 20; ++i) EXPECT_GT(b.turns[i].cycle, std::get<2>(b.states[i]));
  }
}

// A job behind the current one ends its turn, too, although the scheduler has nobody waiting.
TEST(TxSegmenterTest, JobBehindEndsTheTurn) {
  SegmenterBench b;
  std::vector<Flow> flows;
  for (uint16_t qpn : {1, 2}) {
    Flow f = make_flow(b.rng, qpn, Transport::kRc, 1);
    f.qpc.rate_en = false;
    f.add(b.rng, random_wqe(b.rng, WqeOpcode::kWrite, 256 * 50));
    flows.push_back(f);
  }
  ASSERT_NO_FATAL_FAILURE(run_flows(b, flows));
  // Released at its first packet each: the other one's job is already there.
  EXPECT_NE(b.descs[0].first.op.qpn, b.descs[1].first.op.qpn);
  EXPECT_GT(b.turns.size(), 10u);
}

// From job to read request: four cycles with a region answer after two.
TEST(TxSegmenterTest, ReadFollowsJobInFourCycles) {
  SegmenterBench b;
  b.step();
  const rtl::qpc_t c = make_context(b.rng, Transport::kUc, 3);
  const golden::Wqe w = random_wqe(b.rng, WqeOpcode::kWrite, 64);
  register_all(b, w, c.pd);
  b.jobs.push_back(make_job(3, c, w, 0, 0));
  ASSERT_TRUE(b.drain());
  ASSERT_EQ(b.states.size(), 1u);
  ASSERT_EQ(b.turns.size(), 1u);
  const auto since_job = [&](uint64_t cycle) { return static_cast<int64_t>(cycle - b.job_taken); };
  EXPECT_TRUE(takes_cycles({"tx_segmenter", side("fifo")}, {4}, {since_job(b.first_read_valid)}));
  EXPECT_TRUE(takes_cycles({side("tx_segmenter"), side("fifo")}, {4}, {since_job(std::get<2>(b.states[0]))}));
  EXPECT_TRUE(takes_cycles({side("tx_segmenter"), side("fifo")}, {5}, {since_job(b.turns[0].cycle)}));
}

/// One error report and nothing else, for a refused job of `w` with PSN 1234 and IP identification 55.
void expect_refused(SegmenterBench& b, uint16_t qpn, const rtl::qpc_t& c, const golden::Wqe& w, Vendor vendor,
                    bool more) {
  ASSERT_EQ(b.descs.size(), 1u);
  const pkt_desc_t& d = b.descs[0].first;
  expect_op(d.op, qpn, w, 1234, true);
  expect_context_copy(d, c);
  EXPECT_EQ(d.err, kSynLocalProt);
  EXPECT_EQ(d.imm, static_cast<uint32_t>(vendor));
  EXPECT_EQ(d.payload_len, 0);
  EXPECT_FALSE(d.has_reth || d.has_imm || d.has_deth || d.has_atomic || d.ack_req || d.solicited || d.inl);
  EXPECT_TRUE(b.reads.empty());
  EXPECT_TRUE(b.inls.empty());
  ASSERT_EQ(b.errors.size(), 1u);
  EXPECT_EQ(b.errors[0].first, qpn);
  ASSERT_EQ(b.writes.size(), 1u);
  const rtl::dm_req_t& m = b.writes[0].first;
  EXPECT_TRUE(m.write);
  EXPECT_EQ(m.addr, qpn * 128u);
  EXPECT_EQ(m.strb, 1u);
  EXPECT_EQ(m.data[0] & 0xff, 0x06u | unsigned{c.transport} << 4);  // Err
  EXPECT_LT(b.writes[0].second, b.descs[0].second);
  ASSERT_EQ(b.states.size(), 1u);
  const tx_state_t& st = std::get<1>(b.states[0]);
  EXPECT_EQ(st.ci, static_cast<uint16_t>(w.index + 1));
  EXPECT_EQ(st.psn, 1234u);
  EXPECT_EQ(st.ip_id, 55);
  EXPECT_FALSE(st.in_msg);
  EXPECT_EQ(b.errors[0].second, std::get<2>(b.states[0]));
  ASSERT_EQ(b.turns.size(), 1u);
  EXPECT_EQ(b.turns[0].end.qpn, qpn);
  EXPECT_EQ(b.turns[0].end.more, more);
  EXPECT_EQ(b.turns[0].end.bytes, 0);
  expect_turn_context(b.turns[0].end, c);
}

/// Rights that the segments of an operation need.
unsigned needs_of(WqeOpcode op) { return golden::has_payload(op) ? 0u : golden::kLocalWrite; }

struct Refusal {
  const char* what;
  Vendor vendor;
  void (*spoil)(golden::Region&, golden::Sge&);
  WqeOpcode op = WqeOpcode::kWriteImm;
};

const Refusal kRefusals[] = {
    {"invalid", Vendor::kKey, [](golden::Region& r, golden::Sge&) { r.valid = false; }},
    {"variant", Vendor::kKey, [](golden::Region& r, golden::Sge&) { r.variant ^= 0x10; }},
    {"index", Vendor::kKey, [](golden::Region&, golden::Sge& s) { s.lkey |= 1u << 24; }},
    {"pd", Vendor::kPd, [](golden::Region& r, golden::Sge&) { r.pd ^= 0x800000; }},
    {"below", Vendor::kBounds, [](golden::Region& r, golden::Sge&) { ++r.start; }},
    {"beyond", Vendor::kBounds, [](golden::Region& r, golden::Sge&) { --r.length; }},
    {"short", Vendor::kBounds, [](golden::Region& r, golden::Sge&) { r.length = 5; }},
    {"far", Vendor::kBounds, [](golden::Region&, golden::Sge& s) { s.addr += uint64_t{1} << 63; }},
    {"wrap", Vendor::kBounds,
     [](golden::Region& r, golden::Sge& s) {
       s.addr = ~uint64_t{0} - 10;
       r.start = s.addr;
       r.length = ~uint64_t{0};
     }},
    {"place beyond 2^64", Vendor::kBounds, [](golden::Region& r, golden::Sge& s) { r.iova = -s.length + 1; }},
    {"right", Vendor::kRights, [](golden::Region& r, golden::Sge&) { r.rights = 0; }, WqeOpcode::kRead},
};

// Each way to miss the region, in each segment of a message of one to four, gives one error report with its vendor
// syndrome, marks the context, and reads nothing, not even of the segments before it.
TEST(TxSegmenterTest, EachRefusalIsReportedOnce) {
  for (const Refusal& refusal : kRefusals) {
    for (size_t count = 1; count <= 4; ++count) {
      for (size_t bad = 0; bad < count; ++bad) {
        for (unsigned pct : {100u, 30u}) {
          const uint16_t backlog = (count + bad) % 2 == 0 ? 0 : 3;
          SCOPED_TRACE(std::string(refusal.what) + ", segment " + std::to_string(bad) + " of " + std::to_string(count));
          SegmenterBench b(Pace{pct, pct, pct, pct, pct, 50});
          const rtl::qpc_t c = make_context(b.rng, Transport::kUc, 1);
          golden::Wqe w = random_wqe(b.rng, refusal.op, std::vector<uint64_t>(count, 1000));
          for (size_t i = 0; i < count; ++i) w.sges[i].lkey = static_cast<uint32_t>(0x1000 * (i + 1) | 0x55);
          for (size_t i = 0; i < count; ++i) {
            golden::Sge& s = w.sges[i];
            golden::Region r{true, static_cast<uint8_t>(s.lkey), c.pd, s.addr, s.length, 0, golden::kLocalWrite};
            if (i == bad) refusal.spoil(r, s);
            const auto refused = golden::check_access(r, c.pd, s.lkey, s.addr, s.length, needs_of(w.opcode));
            if (i == bad) {
              ASSERT_EQ(refused, refusal.vendor);
            } else {
              ASSERT_FALSE(refused);
            }
            b.regions[s.lkey >> 8 & 0xffff] = to_entry(r);
          }
          b.jobs.push_back(make_job(77, c, w, 1234, 55, backlog));
          ASSERT_TRUE(b.drain());
          ASSERT_NO_FATAL_FAILURE(expect_refused(b, 77, c, w, refusal.vendor, backlog != 0));
        }
      }
    }
  }
}

// Of several refused segments the first one's reason is reported.
TEST(TxSegmenterTest, FirstBadSegmentIsReported) {
  SegmenterBench b;
  for (int i = 0; i < 500; ++i) {
    b.forget();
    const rtl::qpc_t c = make_context(b.rng, Transport::kRc, 1);
    golden::Wqe w = random_wqe(b.rng, WqeOpcode::kRead, std::vector<uint64_t>(4, 300));
    std::optional<Vendor> first;
    for (size_t k = 0; k < 4; ++k) {
      golden::Sge& s = w.sges[k];
      s.lkey = static_cast<uint32_t>(0x1000 * (k + 1) | 0x55);
      golden::Region r{true, static_cast<uint8_t>(s.lkey), c.pd, s.addr, s.length, 0, golden::kLocalWrite};
      if (b.chance(50) || (k == 3 && !first)) {
        const Refusal& refusal = kRefusals[b.rng() % std::size(kRefusals)];
        refusal.spoil(r, s);
        if (!first) first = refusal.vendor;
      }
      b.regions[s.lkey >> 8 & 0xffff] = to_entry(r);
    }
    b.jobs.push_back(make_job(77, c, w, 1234, 55));
    ASSERT_TRUE(b.drain());
    ASSERT_NO_FATAL_FAILURE(expect_refused(b, 77, c, w, *first, false)) << "case " << i << " seed " << test_seed();
  }
}

// A continued message is checked from the segment of its next byte on: one that is used up does not matter any more.
TEST(TxSegmenterTest, ContinuedMessageChecksWhatIsLeft) {
  for (uint64_t offset : {256, 512, 768}) {
    for (size_t bad = 0; bad < 4; ++bad) {
      SegmenterBench b(Pace{100, 100, 100, 100, 100, 100});
      const rtl::qpc_t c = make_context(b.rng, Transport::kUc, 1);
      const golden::Wqe w = random_wqe(b.rng, WqeOpcode::kSend, {256, 300, 212, 400});
      const auto regions = register_all(b, w, c.pd);
      b.regions[w.sges[bad].lkey >> 8].valid = false;
      tx_job_t j = make_job(8, c, w, 1234, 55);
      advance_to(j, w, offset);
      b.jobs.push_back(j);
      ASSERT_TRUE(b.drain());
      EXPECT_EQ(b.lookups.size(), 4u - j.st.sge_idx);
      if (bad >= j.st.sge_idx) {
        ASSERT_NO_FATAL_FAILURE(expect_refused(b, 8, c, w, Vendor::kKey, false));
      } else {
        ASSERT_EQ(b.descs.size(), 1u);
        const golden::Packet p = golden::packet_at(segment_qp(c, 1234, 55), w, offset / 256);
        const auto reads = reads_of(w, p, regions, b.descs[0].first.op);
        ASSERT_EQ(b.reads.size(), reads.size());
        for (size_t i = 0; i < reads.size(); ++i) EXPECT_EQ(b.reads[i].first.pack(), reads[i].pack());
      }
    }
  }
}

// Region checks agree with the model on regions and messages that meet at their edges and at the ends of the address
// space, in every segment.
TEST(TxSegmenterTest, BoundsAgreeWithTheModelAtEveryEdge) {
  SegmenterBench b;
  unsigned good = 0, bad = 0;
  for (int i = 0; i < 6000; ++i) {
    const rtl::qpc_t c = make_context(b.rng, Transport::kRc, 5);
    std::vector<uint64_t> cut;
    const size_t count = 1 + b.rng() % 4;
    for (size_t k = 0; k < count; ++k) cut.push_back(1 + b.rng() % 1024);
    golden::Wqe w = random_wqe(b.rng, b.chance(70) ? WqeOpcode::kSend : WqeOpcode::kRead, cut);
    const size_t odd = b.rng() % count;  // the others are right
    std::vector<golden::Region> regions;
    std::optional<Vendor> refused;
    for (size_t k = 0; k < count; ++k) {
      golden::Sge& s = w.sges[k];
      s.lkey = static_cast<uint32_t>((k + 1) << 8);
      golden::Region r = region_for(b.rng, s, c.pd);
      if (k == odd) {
        const uint64_t corner[] = {0, ~uint64_t{0} - 8000, uint64_t{1} << 32, uint64_t{1} << 63, b.rng()};
        r.start = corner[b.rng() % 5] + b.rng() % 8000;
        s.addr = r.start + b.rng() % 4096 - (b.chance(20) ? 1 + b.rng() % 3 : 0);
        r.length = s.addr - r.start + s.length + b.rng() % 5 - 2;
        if (b.chance(10)) r.length = b.rng();
        if (b.chance(50)) r.iova = s.length + (s.addr - r.start) + b.rng() % 5 - 2, r.iova = -r.iova;
        if (b.chance(10)) r.rights = b.rng() % 16;
      }
      b.regions[s.lkey >> 8] = to_entry(r);
      regions.push_back(r);
      if (!refused) refused = golden::check_access(r, c.pd, s.lkey, s.addr, s.length, needs_of(w.opcode));
    }
    b.jobs.push_back(make_job(1, c, w, 0, 0));
    b.forget();
    ASSERT_TRUE(b.drain());
    ASSERT_EQ(b.descs.size(), 1u);
    ASSERT_EQ(b.descs[0].first.err, refused ? kSynLocalProt : 0) << "case " << i << " seed " << test_seed();
    if (refused) {
      ASSERT_EQ(b.descs[0].first.imm, static_cast<uint32_t>(*refused));
    }
    ASSERT_EQ(b.reads.size(), refused || !golden::has_payload(w.opcode) ? 0u : count);
    for (size_t k = 0; k < b.reads.size(); ++k) {
      ASSERT_EQ(b.reads[k].first.addr, regions[k].iova + (w.sges[k].addr - regions[k].start));
    }
    ++(refused ? bad : good);
  }
  EXPECT_GT(good, 1000u);
  EXPECT_GT(bad, 1000u);
}

// A segment may end where the address space ends, and not a byte later.
TEST(TxSegmenterTest, MessageMayEndWithTheAddressSpace) {
  for (uint64_t over : {0, 1}) {
    for (size_t at = 0; at < 4; ++at) {
      SegmenterBench b;
      const rtl::qpc_t c = make_context(b.rng, Transport::kRc, 3);
      golden::Wqe w = random_wqe(b.rng, WqeOpcode::kSend, std::vector<uint64_t>(4, 200));
      register_all(b, w, c.pd);
      golden::Sge& s = w.sges[at];
      s.addr = ~uint64_t{0} - 199 + over;
      const golden::Region r{true, static_cast<uint8_t>(s.lkey), c.pd, s.addr - 5000, 5200 + over, kIovaTag << 20};
      ASSERT_EQ(golden::check_access(r, c.pd, s.lkey, s.addr, s.length).has_value(), over != 0);
      b.regions[s.lkey >> 8] = to_entry(r);
      b.jobs.push_back(make_job(1, c, w, 0, 0));
      ASSERT_TRUE(b.drain());
      ASSERT_EQ(b.descs.size(), 1u);
      EXPECT_EQ(b.descs[0].first.err, over ? kSynLocalProt : 0);
    }
  }
}

// The end of a turn counts the frame's bytes, whatever its headers are; a turn that sends nothing counts none.
TEST(TxSegmenterTest, TurnCountsTheFrame) {
  for (unsigned links = 0; links < 4; ++links) {
    SegmenterBench b;
    std::vector<Flow> flows;
    for (auto transport : {Transport::kRc, Transport::kUc, Transport::kUd}) {
      Flow f = make_flow(b.rng, static_cast<uint16_t>(transport), transport, 5);
      f.qpc.ipv6 = links & 1;
      f.qpc.vlan_en = links >> 1;
      for (auto op : kAllOps) {
        if (!golden::allowed(transport, op)) continue;
        for (uint64_t length : {0, 1, 2, 3, 4, 5, 8, 61, 4093, 4096}) {
          if (golden::is_atomic(op) && length != 8) continue;
          f.add(b.rng, random_wqe(b.rng, op, length));
          if (golden::has_payload(op) && length < 100) f.add(b.rng, inline_wqe(b.rng, op, length));
        }
      }
      flows.push_back(f);
    }
    ASSERT_NO_FATAL_FAILURE(run_flows(b, flows));
  }
}

// A QP with WQEs left is given back as one with more to do, also when they lie across the wrap of the indices.
TEST(TxSegmenterTest, ReleaseSaysMoreAcrossTheIndexWrap) {
  for (uint16_t backlog : {0, 3}) {
    SegmenterBench b;
    const rtl::qpc_t c = make_context(b.rng, Transport::kUc, 3);
    golden::Wqe w = random_wqe(b.rng, WqeOpcode::kWrite, 0);
    w.index = 0xfffd;
    b.jobs.push_back(make_job(3, c, w, 7, 8, backlog));
    ASSERT_TRUE(b.drain());
    ASSERT_EQ(b.turns.size(), 1u);
    EXPECT_EQ(b.turns[0].end.more, backlog != 0);
  }
}

// A message without payload needs no region: nothing is looked up or read.
TEST(TxSegmenterTest, EmptyMessageTouchesNoRegion) {
  SegmenterBench b;
  const rtl::qpc_t c = make_context(b.rng, Transport::kRc, 3);
  const golden::Wqe w = random_wqe(b.rng, WqeOpcode::kWriteImm, 0);
  b.jobs.push_back(make_job(3, c, w, 7, 8));
  ASSERT_TRUE(b.drain());
  EXPECT_TRUE(b.lookups.empty());
  EXPECT_TRUE(b.reads.empty());
  ASSERT_EQ(b.descs.size(), 1u);
  expect_packet(b.descs[0].first, 3, c, w, golden::packet_at(segment_qp(c, 7, 8), w, 0));
}

// READ and atomics read nothing here; each segment for the response is looked up once. A READ uses the PSNs of its
// response, an atomic one.
TEST(TxSegmenterTest, ReadsAndAtomicsReadNoLocalMemory) {
  for (WqeOpcode op : {WqeOpcode::kRead, WqeOpcode::kCmpSwap, WqeOpcode::kFetchAdd}) {
    for (unsigned mtu_code = 1; mtu_code <= 5; ++mtu_code) {
      const uint64_t mtu = golden::mtu_bytes(mtu_code);
      for (uint64_t length :
           {uint64_t{0}, uint64_t{8}, mtu, mtu + 1, 3 * mtu - 1, (uint64_t{1} << 31) - 1, uint64_t{1} << 31}) {
        if (golden::is_atomic(op) && length != 8) continue;
        SegmenterBench b;
        const rtl::qpc_t c = make_context(b.rng, Transport::kRc, mtu_code);
        const golden::Wqe w = random_wqe(b.rng, op, random_cut(b.rng, length, golden::is_atomic(op) ? 1 : 4));
        register_all(b, w, c.pd);
        b.jobs.push_back(make_job(3, c, w, 0xfffff0, 8));
        ASSERT_TRUE(b.drain());
        EXPECT_EQ(b.lookups.size(), w.sges.size());
        EXPECT_TRUE(b.reads.empty());
        ASSERT_EQ(b.descs.size(), 1u);
        expect_packet(b.descs[0].first, 3, c, w, golden::packet_at(segment_qp(c, 0xfffff0, 8), w, 0));
        EXPECT_EQ(b.descs[0].first.payload_len, 0);
        ASSERT_EQ(b.states.size(), 1u);
        EXPECT_EQ(std::get<1>(b.states[0]).psn, (0xfffff0 + golden::psn_count(w, mtu)) & 0xffffff);
        EXPECT_EQ(std::get<1>(b.states[0]).ip_id, 8 + !c.ip_id_fixed);
        EXPECT_FALSE(std::get<1>(b.states[0]).in_msg);
      }
    }
  }
}

// A region that changes while a lone QP's long message is under way: the turn ends with its next packet, and the next
// turn looks up anew; so nothing is read by the old entry for longer. Without a change the turn goes on.
TEST(TxSegmenterTest, ChangeOfARegionEndsTheTurn) {
  for (unsigned when : {0u, 1u, 2u, 3u, 4u, 5u, 9u, 20u}) {
    SegmenterBench b;
    const rtl::qpc_t c = [&] {
      auto q = make_context(b.rng, Transport::kUc, 1);
      q.rate_en = false;
      return q;
    }();
    const golden::Wqe w = random_wqe(b.rng, WqeOpcode::kSend, 256 * 100);
    register_all(b, w, c.pd);
    b.jobs.push_back(make_job(8, c, w, 1234, 55));
    for (unsigned i = 0; i < when; ++i) b.step();
    b.recheck = true;
    b.step();
    const bool before = when != 0;  // the job was here
    EXPECT_EQ(b.top->stale_o, before);
    const size_t so_far = b.descs.size();
    ASSERT_TRUE(b.drain());
    EXPECT_FALSE(b.top->stale_o);
    ASSERT_EQ(b.turns.size(), 1u);
    EXPECT_EQ(b.turns[0].end.more, before);
    if (before) {
      EXPECT_LE(b.descs.size(), so_far + 3) << when;
      EXPECT_GE(b.descs.size(), 1u);
    } else {
      EXPECT_EQ(b.descs.size(), 100u);
    }
  }
}

// Jobs that had looked up before the change give a packet each; those behind them are not held up. stale_o lasts until
// the last read of theirs has been taken.
TEST(TxSegmenterTest, JobsOfBeforeAChangeAreStale) {
  SegmenterBench b(Pace{100, 100, 0, 100, 100, 0});
  std::vector<golden::Wqe> all;
  for (uint16_t q = 0; q < 8; ++q) {
    rtl::qpc_t c = make_context(b.rng, Transport::kUc, 1);
    c.rate_en = false;
    golden::Wqe w = random_wqe(b.rng, WqeOpcode::kSend, 256 * 4);
    w.sges[0].lkey = q << 8;
    register_all(b, w, c.pd);
    b.jobs.push_back(make_job(q, c, w, 0, 0));
  }
  for (int i = 0; i < 30; ++i) b.step();
  const size_t here = 8 - b.jobs.size();
  ASSERT_GE(here, 3u);
  ASSERT_LT(here, 8u);
  b.recheck = true;
  b.step();
  b.pace.rd = 100;
  size_t stale_reads = 0;
  while (b.top->stale_o) {
    ASSERT_LT(b.cycle, 1000u);
    b.step();
    stale_reads = b.reads.size();
  }
  // Each of those here has had its packet, and no more than one of another QP has left.
  EXPECT_GE(stale_reads, here);
  EXPECT_LE(stale_reads, here + 2);
  ASSERT_TRUE(b.drain());
  std::map<unsigned, unsigned> packets;
  for (const auto& [r, cycle] : b.reads) ++packets[r.op.qpn];
  for (uint16_t q = 0; q < here; ++q) EXPECT_EQ(packets[q], 1u) << q;
  EXPECT_EQ(packets[7], 4u);
}

// The last read of a turn that is over still is one of before, until it has been taken.
TEST(TxSegmenterTest, WaitingReadIsStale) {
  SegmenterBench b(Pace{100, 100, 0, 100, 100, 0});
  const rtl::qpc_t c = make_context(b.rng, Transport::kUc, 3);
  const golden::Wqe w = random_wqe(b.rng, WqeOpcode::kSend, 64);
  register_all(b, w, c.pd);
  b.jobs.push_back(make_job(3, c, w, 0, 0));
  for (int i = 0; i < 20; ++i) b.step();
  ASSERT_TRUE(b.top->rd_valid_o);
  b.recheck = true;
  for (int i = 0; i < 10; ++i) {
    b.step();
    EXPECT_TRUE(b.top->stale_o);
  }
  b.pace.rd = 100;
  b.step();
  EXPECT_EQ(b.reads.size(), 1u);
  EXPECT_FALSE(b.top->stale_o);
}

// An error found while decoding keeps its syndrome and vendor syndrome, and marks the QP.
TEST(TxSegmenterTest, DecodingErrorIsPassedOn) {
  struct Cause {
    uint8_t syndrome, vendor;
  };
  for (const Cause cause : {Cause{1, 4}, Cause{2, 1}, Cause{2, 2}, Cause{2, 3}, Cause{2, 4}, Cause{2, 6}}) {
    SegmenterBench b;
    const rtl::qpc_t c = make_context(b.rng, Transport::kRc, 3);
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
    EXPECT_TRUE(b.lookups.empty());
    EXPECT_EQ(b.errors.size(), 1u);
    ASSERT_EQ(b.writes.size(), 1u);
    EXPECT_EQ(b.writes[0].first.addr, 1023u * 128);
    EXPECT_EQ(b.writes[0].first.data[0] & 0xff, 0x06u);
  }
}

// A flushed WQE is reported with syndrome 05; the QP is in error already and is not marked again.
TEST(TxSegmenterTest, FlushReportsAndEndsTheMessage) {
  SegmenterBench b;
  const rtl::qpc_t c = make_context(b.rng, Transport::kRc, 3);
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
  EXPECT_TRUE(b.lookups.empty());
  EXPECT_TRUE(b.reads.empty());
  EXPECT_TRUE(b.errors.empty());
  EXPECT_TRUE(b.writes.empty());
  ASSERT_EQ(b.states.size(), 1u);
  EXPECT_FALSE(std::get<1>(b.states[0]).in_msg);
  ASSERT_EQ(b.turns.size(), 1u);
  EXPECT_TRUE(b.turns[0].end.more);
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
  EXPECT_EQ(b.turns[0].end.qpn, 500);
  EXPECT_FALSE(b.turns[0].end.more);
}

// The last packets of a message of 2 GiB come from the right addresses, however it is cut: no sum loses its upper bits.
TEST(TxSegmenterTest, TwoGibibytesEndWhereTheyShould) {
  constexpr uint64_t k2G = golden::kMaxMessageBytes;
  const std::vector<uint64_t> cuts[] = {
      {k2G}, {k2G - 1, 1}, {1, k2G - 1}, {k2G / 2, k2G / 4, k2G / 4}, {k2G - 300, 100, 199, 1}, {k2G - 3, 1, 1, 1}};
  for (unsigned mtu_code : {1u, 5u}) {
    for (const auto& cut : cuts) {
      SegmenterBench b;
      const unsigned mtu = golden::mtu_bytes(mtu_code);
      rtl::qpc_t c = make_context(b.rng, Transport::kRc, mtu_code);
      c.rate_en = false;  // a single turn
      const golden::Wqe w = random_wqe(b.rng, WqeOpcode::kWriteImm, cut);
      const auto regions = register_all(b, w, c.pd);
      const uint64_t count = golden::packet_count(w, mtu);
      const uint64_t from = count - 6;
      tx_job_t j = make_job(8, c, w, static_cast<uint32_t>(from % (1u << 24)), static_cast<uint16_t>(from));
      advance_to(j, w, from * mtu);
      b.jobs.push_back(j);
      ASSERT_TRUE(b.drain());
      ASSERT_EQ(b.descs.size(), 6u);
      std::vector<xl_req_t> reads;
      for (unsigned k = 0; k < 6; ++k) {
        golden::SegmentQp qp = segment_qp(c, 0, 0);
        qp.ip_id = c.ip_id_fixed ? static_cast<uint16_t>(from) : 0;
        const golden::Packet p = golden::packet_at(qp, w, from + k);
        expect_packet(b.descs[k].first, 8, c, w, p);
        for (const xl_req_t& r : reads_of(w, p, regions, b.descs[k].first.op)) reads.push_back(r);
      }
      ASSERT_EQ(b.reads.size(), reads.size());
      for (size_t i = 0; i < reads.size(); ++i) EXPECT_EQ(b.reads[i].first.pack(), reads[i].pack());
      EXPECT_FALSE(std::get<1>(b.states.back()).in_msg);
    }
  }
}

// Between the first and the last packet of a 2 GiB message nothing is refused: the first one asks for all of it.
TEST(TxSegmenterTest, TwoGibibytesAreCheckedAsAWhole) {
  SegmenterBench b(Pace{100, 100, 100, 100, 100, 100});
  const rtl::qpc_t c = make_context(b.rng, Transport::kUc, 5);
  const golden::Wqe w = random_wqe(b.rng, WqeOpcode::kWrite, golden::kMaxMessageBytes);
  const golden::Sge& s = w.sges[0];
  for (bool fits : {true, false}) {
    golden::Region r{true, static_cast<uint8_t>(s.lkey), c.pd, s.addr, s.length - !fits, 0};
    b.regions[s.lkey >> 8] = to_entry(r);
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
                    Pace{100, 100, 30, 100, 100, 0}, Pace{30, 60, 60, 50, 50, 50, 40}}) {
    SegmenterBench b(pace);
    std::vector<tx_job_t> sent;
    std::vector<uint8_t> syndromes;  // of the jobs, 0 for a packet or noop
    for (uint16_t qpn = 0; qpn < 600; ++qpn) {
      const rtl::qpc_t c = make_context(b.rng, static_cast<Transport>(b.rng() & 1), 5);
      golden::Wqe w = random_wqe(b.rng, WqeOpcode::kWrite, random_cut(b.rng, b.rng() % 4097, 1 + b.rng() % 4));
      if (b.chance(20)) w = inline_wqe(b.rng, WqeOpcode::kWrite, b.rng() % 220);
      bool valid = true;
      for (size_t k = 0; k < w.sges.size(); ++k) {
        w.sges[k].lkey = static_cast<uint32_t>((qpn * 4 + k) << 8);
        golden::Region r = region_for(b.rng, w.sges[k], c.pd);
        r.valid = b.chance(90);
        valid = valid && r.valid;
        b.regions[qpn * 4 + k] = to_entry(r);
      }
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
      syndromes.push_back(j.noop ? 0 : j.flush ? kSynFlushed : j.err != 0 ? j.err : valid ? 0 : kSynLocalProt);
      sent.push_back(j);
      b.jobs.push_back(j);
    }
    ASSERT_TRUE(b.drain());
    size_t descs = 0, reads = 0, inls = 0, marks = 0, states = 0;
    ASSERT_EQ(b.turns.size(), sent.size());
    for (size_t i = 0; i < sent.size(); ++i) {
      const tx_job_t& j = sent[i];
      const uint8_t syn = syndromes[i];
      SCOPED_TRACE(i);
      ASSERT_EQ(b.turns[i].end.qpn, j.qpn);
      ASSERT_EQ(b.turns[i].end.more, !j.noop && j.pi != j.st.ci);
      ASSERT_EQ(b.turns[i].end.bytes != 0, !j.noop && syn == 0);
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
      if (syn != 0 || j.st.msg_len == 0) continue;
      if (j.inl) {
        uint32_t bytes = 0;
        do {
          ASSERT_LT(inls, b.inls.size());
          bytes += b.inls[inls].first.bytes;
        } while (!b.inls[inls++].first.last);
        ASSERT_EQ(bytes, j.st.msg_len);
      } else {
        do {
          ASSERT_LT(reads, b.reads.size());
          ASSERT_EQ(b.reads[reads].first.op.pack(), d.op.pack());
        } while (b.reads[reads++].first.more);
      }
    }
    EXPECT_EQ(descs, b.descs.size());
    EXPECT_EQ(reads, b.reads.size());
    EXPECT_EQ(inls, b.inls.size());
    EXPECT_EQ(states, b.states.size());
    EXPECT_EQ(marks, b.writes.size());
    EXPECT_EQ(marks, b.errors.size());
    EXPECT_GT(marks, 100u);
    EXPECT_GT(reads, 100u);
    EXPECT_GT(inls, 50u);
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
