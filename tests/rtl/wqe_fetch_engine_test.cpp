// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "Vwqe_fetch_engine.h"
#include "rnic/golden/wqe.h"
#include "rtl/bench.h"
#include "support/latency.h"

namespace rnic::test {
namespace {

using golden::Syndrome;
using golden::Transport;
using golden::Vendor;
using golden::Wqe;
using golden::WqeOpcode;
using rtl::event_t;
using rtl::tx_job_t;
using rtl::tx_state_t;

constexpr uint32_t kMemoryBlocks = 1u << 22;  // 256 MiB of 64 B

using Block = std::array<uint8_t, 64>;
using Bytes = std::vector<uint8_t>;

/// What the neighbours hold for a QP.
struct Qp {
  rtl::qpc_t qpc;
  bool pi_valid = true;
  uint16_t pi = 0;
  bool st_valid = false;
  bool err = false;
  tx_state_t st;
  struct Push {
    bool complete = true;
    uint16_t index = 0;
    Bytes wqe;  // of one or two blocks
  };
  std::optional<Push> push;  // BlueFlame buffer's entry
  /// What sq_prefetch answers, for a ring in host memory.
  enum class Host { kHit, kMiss, kError };
  Host host = Host::kHit;
  uint8_t host_status = 0;

  bool in_host() const { return qpc.sq_where == rtl::rnic_pkg::SqInHost; }
  uint16_t ci() const { return st_valid ? st.ci : qpc.sq_ci; }
};

/// What a grant must lead to.
struct Expected {
  tx_job_t job;
  bool decoded = false;   // a good WQE: probe
  unsigned reads = 0;     // of the ring, as they are counted
  bool lookup = false;    // in sq_prefetch
  bool hit = false;       // WQE from the BlueFlame buffer
  bool fallback = false;  // buffer held something of this QP that was of no use
  std::optional<event_t> event;
  bool message = false;  // the message's fields have a meaning
};

struct Pace {
  unsigned grant = 100;
  unsigned qpc = 100;
  unsigned dm = 100;  // device memory takes a request
  unsigned dm_latency = 26;
  unsigned job = 100;
  unsigned evt = 100;
  unsigned rsp = 100;  // an answer's block comes when it could
  unsigned context_latency = 2;
};

class FetchBench : public Bench<Vwqe_fetch_engine> {
 public:
  explicit FetchBench(Pace p = {}) : Bench(test_seed()), pace(p) {}

  Pace pace;
  std::map<uint16_t, Qp> qps;
  std::map<uint64_t, Block> memory;  // by block number; host memory's beyond 2^40
  std::deque<uint16_t> grants;
  std::vector<std::pair<tx_job_t, uint64_t>> jobs;
  std::vector<event_t> events;
  std::vector<rtl::op_t> probes;
  unsigned hits = 0, fallbacks = 0, reads = 0, invalid = 0;
  size_t most_blocks_open = 0;
  std::vector<std::pair<uint32_t, bool>> asked;  // reads: block, and whether of two
  std::vector<uint64_t> answered;                // cycle of each block
  unsigned lookups = 0;
  uint64_t lookup_shown = 0, host_answered = 0;
  uint64_t grant_taken = 0, read_shown = 0, job_shown = 0;

  void post(uint16_t qpn, const Bytes& wqe) {
    Qp& q = qps[qpn];
    for (size_t at = 0; at < wqe.size(); at += 64) {
      std::copy_n(&wqe[at], 64, memory[block_of(q, q.pi)].data());
      ++q.pi;
    }
  }

  /// The blocks from `index` on, as many as a WQE can have.
  Bytes ring_at(const Qp& q, uint16_t index) {
    Bytes b;
    for (unsigned i = 0; i < golden::kMaxWqeBlocks; ++i) {
      const Block& block = memory[block_of(q, static_cast<uint16_t>(index + i))];
      b.insert(b.end(), block.begin(), block.end());
    }
    return b;
  }

  static uint64_t block_of(const Qp& q, uint16_t index) {
    return q.qpc.sq_base / 64 + index % (1u << q.qpc.log_sq_size) + (q.in_host() ? uint64_t{1} << 60 : 0);
  }

  void step() {
    // The stored answers of the last cycle's strobes stand for one cycle; at all other times there is noise.
    top->pi_i = static_cast<uint16_t>(rng());
    top->pi_valid_i = rng() & 1;
    top->st_valid_i = rng() & 1;
    top->st_err_i = rng() & 1;
    top->bf_hit_i = rng() & 1;
    top->bf_miss_pushed_i = rng() & 1;
    top->st_i[3] = static_cast<uint32_t>(rng());
    for (unsigned i = 0; i < 32; i += 1 + rng() % 8) top->bf_data_i[i] = static_cast<uint32_t>(rng());
    if (asked_state_) {
      const Qp& q = qps[*asked_state_];
      top->pi_i = q.pi;
      top->pi_valid_i = q.pi_valid;
      top->st_valid_i = q.st_valid;
      top->st_err_i = q.err;
      rtl::drive(top->st_i, q.st);
      asked_state_.reset();
    }
    if (asked_push_) {
      Qp& q = qps[asked_push_->first];
      const bool hit = q.push && q.push->complete && q.push->index == asked_push_->second;
      top->bf_hit_i = hit;
      top->bf_miss_pushed_i = q.push && !hit;
      if (q.push) std::memcpy(&top->bf_data_i[0], q.push->wqe.data(), std::min<size_t>(128, q.push->wqe.size()));
      if (hit) q.push.reset();
      asked_push_.reset();
    }
    if (!grant_offered_ && !grants.empty() && chance(pace.grant)) grant_offered_ = true;
    top->grant_valid_i = grant_offered_;
    if (grant_offered_) top->grant_qpn_i = grants.front();
    top->qpc_req_ready_i = chance(pace.qpc);
    if (!context_shown_ && !contexts_.empty() && contexts_.front().first <= cycle && chance(pace.qpc)) {
      context_shown_ = true;
      rtl::drive(top->qpc_rsp_i, qps[contexts_.front().second].qpc);
    }
    top->qpc_rsp_valid_i = context_shown_;
    top->dm_req_ready_i = chance(pace.dm);
    top->dm_rsp_valid_i = !answers_.empty() && answers_.front().due <= cycle && chance(pace.rsp);
    if (top->dm_rsp_valid_i) {
      rtl::dm_rsp_t r;
      r.last = answers_.front().last;
      std::memcpy(r.data.data(), memory[answers_.front().block].data(), 64);
      rtl::drive(top->dm_rsp_i, r);
      answers_.pop_front();
      answered.push_back(cycle);
    }
    top->pf_req_ready_i = chance(pace.dm);
    if (!host_shown_) show_host();
    top->pf_rsp_valid_i = host_shown_;
    top->job_ready_i = chance(pace.job);
    top->evt_ready_i = chance(pace.evt);
    settle();
    if (top->pf_req_valid_o && lookup_shown == 0) lookup_shown = cycle;
    if (top->pf_req_valid_o && top->pf_req_ready_i) {
      const auto qpn = static_cast<uint16_t>(top->pf_req_qpn_o);
      const Qp& q = qps[qpn];
      EXPECT_TRUE(q.in_host());
      EXPECT_EQ(top->pf_req_idx_o, q.ci());
      EXPECT_EQ(top->pf_req_pi_o, q.pi);
      EXPECT_EQ(top->pf_req_base_o, q.qpc.sq_base);
      EXPECT_EQ(top->pf_req_log_size_o, q.qpc.log_sq_size);
      host_.emplace_back(cycle + 1 + rng() % pace.dm_latency, qpn);
      ++lookups;
    }
    if (top->pf_rsp_valid_i && top->pf_rsp_ready_o) {
      host_shown_ = false;
      host_.pop_front();
    }
    if (top->grant_valid_i && top->grant_ready_o) {
      grants.pop_front();
      grant_offered_ = false;
      grant_taken = cycle;
    }
    if (top->qpc_rsp_valid_i && top->qpc_rsp_ready_o) {
      contexts_.pop_front();
      context_shown_ = false;
    }
    if (top->qpc_req_valid_o && top->qpc_req_ready_i)
      contexts_.emplace_back(cycle + pace.context_latency, top->qpc_req_idx_o);
    EXPECT_EQ(top->st_re_o, top->pi_re_o);
    if (top->st_re_o) {
      EXPECT_EQ(top->st_qpn_o, top->pi_qpn_o);
      asked_state_ = top->st_qpn_o;
    }
    if (top->bf_re_o) asked_push_.emplace(top->bf_qpn_o, top->bf_wqe_o);
    if (top->dm_req_valid_o && read_shown == 0) read_shown = cycle;
    if (top->dm_req_valid_o && top->dm_req_ready_i) {
      const auto r = rtl::sample<rtl::dm_req_t>(top->dm_req_o);
      EXPECT_FALSE(r.write);
      EXPECT_EQ(r.addr % 64, 0u);
      EXPECT_LT(r.addr / 64 + r.two, kMemoryBlocks);
      asked.push_back({static_cast<uint32_t>(r.addr / 64), r.two});
      answers_.push_back({cycle + pace.dm_latency, static_cast<uint32_t>(r.addr / 64), !r.two});
      if (r.two) answers_.push_back({cycle + pace.dm_latency, static_cast<uint32_t>(r.addr / 64 + 1), true});
      most_blocks_open = std::max(most_blocks_open, answers_.size());
    }
    if (top->job_valid_o && job_shown == 0) job_shown = cycle;
    const bool taken = top->job_valid_o && top->job_ready_i;
    if (taken) jobs.emplace_back(rtl::sample<tx_job_t>(top->job_o), cycle);
    if (top->probe_wqe_o) {
      EXPECT_TRUE(taken);
      probes.push_back(rtl::sample<rtl::op_t>(top->probe_wqe_op_o));
    }
    if (top->evt_valid_o && top->evt_ready_i) events.push_back(rtl::sample<event_t>(top->evt_o));
    hits += top->stat_bf_hit_o;
    fallbacks += top->stat_bf_fallback_o;
    reads += top->stat_wqe_fetch_o;
    invalid += top->stat_db_invalid_o;
    EXPECT_FALSE(top->idle_o && !(answers_.empty() && host_.empty()));
    tick();
  }

  bool drain(uint64_t limit = 20000) {
    const uint64_t end = cycle + limit;
    do {
      if (cycle == end) return false;
      step();
    } while (!grants.empty() || !answers_.empty() || !host_.empty() || !top->idle_o);
    return true;
  }

  /// What the QP's next turn must be, by the rules of docs/blocks/wqe_fetch_engine.md.
  Expected expect(uint16_t qpn) {
    using namespace rtl::rnic_pkg;
    const Qp& q = qps[qpn];
    const rtl::qpc_t& c = q.qpc;
    Expected e;
    tx_job_t& j = e.job;
    j.qpn = qpn;
    j.qpc = c;
    const uint16_t ci = q.ci();
    const bool up = c.state == QpStRts || c.state == QpStErr;
    const bool supported = c.transport != 3 && (c.sq_where == SqInDevice || q.in_host());
    const bool in_msg = q.st_valid && q.st.in_msg;
    const bool in_err = q.err || c.state == QpStErr;
    if (in_msg) {
      j.st = q.st;
    } else {
      j.st.ci = ci;
      j.st.psn = q.st_valid ? q.st.psn : c.sq_psn;
      j.st.ip_id = q.st_valid ? q.st.ip_id : c.ip_id;
      j.st.wqe_idx = ci;
    }
    j.pi = ci;
    if (!up || !supported) {
      j.noop = true;
      event_t ev;
      ev.kind = EvtDbInvalid;
      ev.index = qpn;
      if (up) ev.syndrome = SynLocalQpOp, ev.vendor = VenOpcode;
      e.event = ev;
      return e;
    }
    if (!in_msg && (!q.pi_valid || q.pi == ci)) {
      j.noop = true;
      return e;
    }
    if (q.pi_valid) j.pi = q.pi;
    auto refuse = [&j, in_err](Syndrome s, Vendor v) {
      if (in_err) return;
      j.err = static_cast<uint8_t>(s);
      j.rkey = static_cast<uint32_t>(v);
    };
    j.flush = in_err;
    const bool mtu_ok = c.mtu >= 1 && c.mtu <= 5;
    if (in_msg) {
      if (!mtu_ok) refuse(Syndrome::kLocalQpOp, Vendor::kLength);
      e.message = j.err == 0 && !j.flush;
      return e;
    }
    const unsigned available = static_cast<uint16_t>(q.pi - ci);
    const uint64_t size = uint64_t{1} << c.log_sq_size;
    if (c.sq_base % 64 != 0 || (!q.in_host() && c.sq_base / 64 + size > kMemoryBlocks)) {
      refuse(Syndrome::kLocalQpOp, Vendor::kBounds);
      j.st.ci = q.pi;
      return e;
    }
    if (available > size) {
      refuse(Syndrome::kLocalQpOp, Vendor::kWqeSize);
      j.st.ci = q.pi;
      return e;
    }
    e.hit = q.push && q.push->complete && q.push->index == ci;
    e.fallback = q.push && !e.hit;
    e.lookup = !e.hit && q.in_host();
    if (e.lookup && q.host == Qp::Host::kMiss) {
      j.noop = true;
      j.flush = false;
      j.pi = ci;
      return e;
    }
    if (e.lookup && q.host == Qp::Host::kError) {
      e.reads = 1;
      refuse(Syndrome::kLocalQpOp, static_cast<Vendor>(VenDma + q.host_status));
      j.st.ci = q.pi;
      return e;
    }
    Bytes bytes = ring_at(q, ci);
    if (e.hit) std::copy(q.push->wqe.begin(), q.push->wqe.end(), bytes.begin());
    const auto d = golden::decode_wqe(bytes.data(), qpn, ci, available, Transport{c.transport}, c.mtu);
    const auto at_end = [&](unsigned i) { return (ci + i) % size == size - 1; };  // block i is the ring's last
    const unsigned late = in_err || d.blocks < 3 || bytes[7] > golden::kMaxWqeDs ? 0 : d.blocks - 2;
    if (e.lookup) {
      e.reads = 1;
    } else if (!e.hit)
      e.reads = 1 + (available > 1 && at_end(0)) + (late > 0) + (late > 1 && at_end(2));
    j.st.ci = d.blocks == 0 ? q.pi : static_cast<uint16_t>(ci + d.blocks);
    j.st.opcode = bytes[3];
    if (d.syndrome != Syndrome::kNone) {
      refuse(d.syndrome, d.vendor);
      return e;
    }
    if (in_err) return e;
    e.decoded = e.message = true;
    const Wqe& w = d.wqe;
    j.st.wqebbs = static_cast<uint8_t>(d.blocks - 1);
    j.st.signaled = w.signaled;
    j.st.solicited = w.solicited;
    j.st.imm = w.imm;
    j.st.msg_len = static_cast<uint32_t>(w.length());
    j.st.num_sge = static_cast<uint8_t>(w.sges.size());
    rtl::sge_t* const sges[] = {&j.st.sge0, &j.st.sge1, &j.st.sge2, &j.st.sge3};
    for (size_t i = 0; i < w.sges.size(); ++i) {
      sges[i]->lkey = w.sges[i].lkey;
      sges[i]->addr = w.sges[i].addr;
      sges[i]->len = static_cast<uint32_t>(w.sges[i].length);
    }
    j.raddr = w.raddr;
    j.rkey = w.rkey;
    j.swap_add = w.swap_add;
    j.compare = w.compare;
    j.inl = !w.inline_bytes.empty();
    std::memcpy(j.inl_data.data(), w.inline_bytes.data(), w.inline_bytes.size());
    if (w.av) {
      const golden::AddressVector& av = *w.av;
      if (av.qkey < 0x80000000) j.qpc.qkey = av.qkey;
      j.qpc.dest_qpn = av.dest_qpn;
      j.qpc.udp_sport = av.udp_sport;
      j.qpc.tos = av.tclass;
      j.qpc.ttl = av.hop_limit;
      j.qpc.flow_label = av.flow_label;
      j.qpc.dmac = 0;
      for (unsigned i = 0; i < 6; ++i) j.qpc.dmac |= uint64_t{av.dmac[i]} << (8 * i);
      std::memcpy(j.qpc.dgid.data(), av.dgid.data(), 16);
    }
    return e;
  }

 private:
  /// The oldest lookup's answer, once it is due: the WQE, and noise behind it.
  void show_host() {
    top->pf_rsp_hit_i = rng() & 1;
    top->pf_rsp_status_i = rng() & 7;
    top->pf_rsp_data_i[1] = static_cast<uint32_t>(rng());
    if (host_.empty() || host_.front().first > cycle || !chance(pace.rsp)) return;
    host_shown_ = true;
    host_answered = cycle;
    const Qp& q = qps[host_.front().second];
    top->pf_rsp_hit_i = q.host != Qp::Host::kMiss;
    top->pf_rsp_status_i = q.host == Qp::Host::kError ? q.host_status : 0;
    Bytes b = ring_at(q, q.ci());
    const size_t blocks = std::min<size_t>((b[7] + 3) / 4, static_cast<uint16_t>(q.pi - q.ci()));
    const size_t there = q.host != Qp::Host::kHit ? 0 : std::max<size_t>(1, blocks);
    for (size_t i = 64 * there; i < b.size(); ++i) b[i] = static_cast<uint8_t>(rng());
    std::memcpy(&top->pf_rsp_data_i[0], b.data(), b.size());
  }

  bool host_shown_ = false;
  std::deque<std::pair<uint64_t, uint16_t>> host_;
  bool grant_offered_ = false;
  bool context_shown_ = false;
  std::optional<uint16_t> asked_state_;
  std::optional<std::pair<uint16_t, uint16_t>> asked_push_;
  std::deque<std::pair<uint64_t, uint16_t>> contexts_;
  struct Answer {
    uint64_t due;
    uint32_t block;
    bool last;
  };
  std::deque<Answer> answers_;
};

/// Compares a job with what was expected: all of it, as far as its kind gives the fields a meaning.
void expect_job(tx_job_t got, const Expected& e) {
  const tx_job_t& want = e.job;
  EXPECT_EQ(got.qpn, want.qpn);
  EXPECT_EQ(got.noop, want.noop);
  EXPECT_EQ(got.pi, want.pi);
  EXPECT_EQ(got.flush, want.flush);
  EXPECT_EQ(got.err, want.err);
  EXPECT_EQ(got.st.ci, want.st.ci);
  EXPECT_EQ(got.st.psn, want.st.psn);
  EXPECT_EQ(got.st.ip_id, want.st.ip_id);
  EXPECT_EQ(got.st.wqe_idx, want.st.wqe_idx);
  EXPECT_EQ(got.st.in_msg, want.st.in_msg);
  EXPECT_EQ(got.st.opcode, want.st.opcode);
  EXPECT_EQ(got.qpc.cqn, want.qpc.cqn);
  EXPECT_EQ(got.qpc.transport, want.qpc.transport);
  if (!e.message) {
    EXPECT_EQ(got.rkey, want.rkey);
    return;
  }
  // What has no meaning for this message
  const auto op = static_cast<WqeOpcode>(got.st.opcode);
  if (!golden::has_remote(op) || got.st.in_msg) got.raddr = got.rkey = 0;
  if (!golden::is_atomic(op) || got.st.in_msg) got.swap_add = got.compare = 0;
  if (!got.st.in_msg) {
    rtl::sge_t* const sges[] = {&got.st.sge0, &got.st.sge1, &got.st.sge2, &got.st.sge3};
    for (unsigned i = got.st.num_sge; i < 4; ++i) sges[i]->lkey = 0, sges[i]->addr = 0;
  }
  const size_t used = got.inl ? got.st.msg_len : 0;
  if (used < sizeof got.inl_data) {
    std::memset(reinterpret_cast<uint8_t*>(got.inl_data.data()) + used, 0, sizeof got.inl_data - used);
  }
  EXPECT_EQ(got.pack(), want.pack());
}

rtl::qpc_t make_context(std::mt19937_64& rng, uint32_t first_block, unsigned log_size) {
  rtl::qpc_t c;
  auto w = c.pack();
  for (auto& x : w) x = static_cast<uint32_t>(rng());
  c = rtl::qpc_t::unpack_at(w.data(), 0);
  c.state = rtl::rnic_pkg::QpStRts;
  c.transport = rng() % 3;
  c.mtu = static_cast<uint8_t>(1 + rng() % 5);
  c.sq_where = rtl::rnic_pkg::SqInDevice;
  c.log_sq_size = static_cast<uint8_t>(log_size);
  c.sq_base = uint64_t{first_block} * 64;
  return c;
}

constexpr WqeOpcode kOpcodes[] = {WqeOpcode::kSendInval, WqeOpcode::kWrite, WqeOpcode::kWriteImm, WqeOpcode::kSend,
                                  WqeOpcode::kSendImm,   WqeOpcode::kRead,  WqeOpcode::kCmpSwap,  WqeOpcode::kFetchAdd};

/// Where a WQE's payload comes from.
enum class Data { kNone, kOne, kTwo, kThree, kFour, kInline };

/// A good WQE.
Wqe random_wqe(std::mt19937_64& rng, const rtl::qpc_t& qpc, uint16_t qpn, uint16_t index, WqeOpcode op, Data data) {
  const auto transport = Transport{qpc.transport};
  Wqe w;
  w.opcode = op;
  w.opmod = static_cast<uint8_t>(rng());
  w.index = index;
  w.qpn = qpn;
  w.signaled = rng() & 1;
  w.solicited = rng() & 1;
  w.fence = rng() & 1;
  w.imm = static_cast<uint32_t>(rng());
  if (golden::has_remote(op)) {
    w.raddr = rng();
    w.rkey = static_cast<uint32_t>(rng());
  }
  if (golden::is_atomic(op)) {
    w.swap_add = rng();
    w.compare = rng();
  }
  if (transport == Transport::kUd) {
    golden::AddressVector av;
    av.qkey = static_cast<uint32_t>(rng());
    av.dest_qpn = rng() & 0xffffff;
    av.udp_sport = static_cast<uint16_t>(rng());
    for (auto& b : av.dmac) b = static_cast<uint8_t>(rng());
    av.tclass = static_cast<uint8_t>(rng());
    av.hop_limit = static_cast<uint8_t>(rng());
    av.flow_label = rng() & 0xfffff;
    for (auto& b : av.dgid) b = static_cast<uint8_t>(rng());
    w.av = av;
  }
  if (golden::is_atomic(op)) {
    w.sges = {{static_cast<uint32_t>(rng()), rng(), golden::kAtomicBytes}};
  } else if (data == Data::kInline && golden::has_payload(op)) {
    const unsigned most = golden::max_inline(transport, op);
    w.is_inline = true;
    w.inline_bytes.resize(rng() % 4 == 0 ? most - rng() % 2 : rng() % (most + 1));
    for (auto& b : w.inline_bytes) b = static_cast<uint8_t>(rng());
  } else if (data != Data::kInline) {
    const auto count = static_cast<uint64_t>(data);
    // Together at most what is allowed: a part of it each, and sometimes all of it.
    const uint64_t most = transport == Transport::kUd ? golden::mtu_bytes(qpc.mtu) : golden::kMaxMessageBytes;
    uint64_t left = rng() % 3 == 0 ? most : count + rng() % (most - count + 1);
    for (uint64_t i = count; i != 0; --i) {
      const uint64_t length = i == 1 ? left : 1 + rng() % (left - i + 1);
      w.sges.push_back({static_cast<uint32_t>(rng()), rng(), length});
      left -= length;
    }
  }
  return w;
}

/// A good WQE of any kind that the QP can send; of at most `most` blocks.
Bytes random_wqe(std::mt19937_64& rng, const rtl::qpc_t& qpc, uint16_t qpn, uint16_t index, unsigned most = 4) {
  while (true) {
    const WqeOpcode op = kOpcodes[rng() % 8];
    if (!golden::allowed(Transport{qpc.transport}, op)) continue;
    const Bytes b = golden::encode_wqe(random_wqe(rng, qpc, qpn, index, op, static_cast<Data>(rng() % 6)));
    if (b.size() <= 64 * most) return b;
    if (most == 1 && qpc.transport == rtl::rnic_pkg::TransUd) {
      return golden::encode_wqe(random_wqe(rng, qpc, qpn, index, WqeOpcode::kSend, Data::kNone));
    }
  }
}

/// One of `blocks` blocks; UD has none of one block with payload.
Bytes wqe_of(std::mt19937_64& rng, const rtl::qpc_t& qpc, uint16_t qpn, uint16_t index, unsigned blocks) {
  while (true) {
    Bytes b = random_wqe(rng, qpc, qpn, index, blocks);
    if (b.size() == 64 * blocks) return b;
  }
}

/// Moves its ring to host memory, anywhere.
void to_host(FetchBench& b, Qp& q) {
  q.qpc.sq_where = rtl::rnic_pkg::SqInHost;
  q.qpc.sq_base = (b.rng() & 0xfffffffff) << 24 | (q.qpc.sq_base & 0xffffff);
}

Qp make_qp(FetchBench& b, uint32_t first_block = 1 << 20, unsigned log_size = 4) {
  Qp q;
  q.qpc = make_context(b.rng, first_block, log_size);
  q.pi = q.qpc.sq_ci;
  // Left over from an earlier life; not valid.
  q.st.in_msg = b.rng() & 1;
  q.st.ci = static_cast<uint16_t>(b.rng());
  q.st.psn = b.rng() & 0xffffff;
  q.st.ip_id = static_cast<uint16_t>(b.rng());
  return q;
}

/// Grants QP `qpn` once and compares the job, the event and the counts.
void turn(FetchBench& b, uint16_t qpn) {
  const Expected e = b.expect(qpn);
  b.jobs.clear();
  b.events.clear();
  b.probes.clear();
  b.asked.clear();
  b.answered.clear();
  b.hits = b.fallbacks = b.reads = b.invalid = b.lookups = 0;
  b.read_shown = b.job_shown = 0;
  b.grants.push_back(qpn);
  ASSERT_TRUE(b.drain());
  ASSERT_EQ(b.jobs.size(), 1u);
  expect_job(b.jobs[0].first, e);
  EXPECT_EQ(b.reads, std::min(e.reads, 1u));  // a WQE of several reads counts once
  EXPECT_EQ(b.asked.size(), e.lookup ? 0 : e.reads);
  EXPECT_EQ(b.lookups, e.lookup);
  EXPECT_EQ(b.hits, e.hit);
  EXPECT_EQ(b.fallbacks, e.fallback);
  EXPECT_EQ(b.invalid, e.event.has_value());
  ASSERT_EQ(b.events.size(), e.event.has_value());
  if (e.event) {
    EXPECT_EQ(b.events[0].pack(), e.event->pack());
  }
  ASSERT_EQ(b.probes.size(), e.decoded);
  if (e.decoded) {
    EXPECT_EQ(b.probes[0].qpn, qpn);
    EXPECT_EQ(b.probes[0].wqe, e.job.st.wqe_idx);
    EXPECT_EQ(b.probes[0].psn, e.job.st.psn);
    EXPECT_FALSE(b.probes[0].last);
  }
}

/// What the segmenter does with a job that was the QP's last packet of a message.
void done(FetchBench& b, uint16_t qpn) {
  b.qps[qpn].st = b.jobs[0].first.st;
  b.qps[qpn].st.in_msg = false;
  b.qps[qpn].st_valid = true;
}

/// A turn whose job must carry this error.
void refused_turn(FetchBench& b, uint16_t qpn, Syndrome s, Vendor v) {
  ASSERT_NO_FATAL_FAILURE(turn(b, qpn));
  EXPECT_EQ(b.jobs[0].first.err, static_cast<uint8_t>(s));
  EXPECT_EQ(b.jobs[0].first.rkey, static_cast<uint32_t>(v));
}

// Every operation of every transport, with every kind of payload, comes out as it was posted.
TEST(WqeFetchEngineTest, DecodesEveryOperation) {
  for (uint8_t transport : {0, 1, 2}) {
    for (auto op : kOpcodes) {
      if (!golden::allowed(Transport{transport}, op)) continue;
      FetchBench b;
      b.qps[17] = make_qp(b);
      b.qps[17].qpc.transport = transport;
      unsigned sizes[5] = {};
      for (int i = 0; i < 72; ++i) {
        Qp& q = b.qps[17];
        q.qpc.mtu = static_cast<uint8_t>(1 + i % 5);
        Wqe w = random_wqe(b.rng, q.qpc, 17, q.pi, op, static_cast<Data>(i % 6));
        if (w.is_inline) w.inline_bytes.resize(golden::max_inline(Transport{transport}, op) * (i / 6) / 11, 0xa5);
        const Bytes wqe = golden::encode_wqe(w);
        ++sizes[wqe.size() / 64];
        b.post(17, wqe);
        ASSERT_NO_FATAL_FAILURE(turn(b, 17));
        const tx_job_t& j = b.jobs[0].first;
        // The model that turn() compares with decodes; this is the other half of it, the encoder's input.
        EXPECT_EQ(j.err, 0);
        EXPECT_EQ(j.st.opcode, static_cast<uint8_t>(op));
        EXPECT_EQ(j.st.msg_len, w.length());
        EXPECT_EQ(j.st.num_sge, w.sges.size());
        EXPECT_EQ(j.inl, !w.inline_bytes.empty());
        EXPECT_EQ(j.st.signaled, w.signaled);
        EXPECT_EQ(j.st.solicited, w.solicited);
        EXPECT_EQ(j.st.imm, w.imm);
        if (!w.sges.empty()) {
          EXPECT_EQ(j.st.sge0.addr, w.sges[0].addr);
          EXPECT_EQ(j.st.sge0.lkey, w.sges[0].lkey);
          EXPECT_EQ(j.st.sge0.len, w.sges[0].length);
        }
        if (w.sges.size() == 4) {
          EXPECT_EQ(j.st.sge3.addr, w.sges[3].addr);
          EXPECT_EQ(j.st.sge3.lkey, w.sges[3].lkey);
          EXPECT_EQ(j.st.sge3.len, w.sges[3].length);
        }
        if (golden::has_remote(op)) {
          EXPECT_EQ(j.raddr, w.raddr);
          EXPECT_EQ(j.rkey, w.rkey);
        }
        if (golden::is_atomic(op)) {
          EXPECT_EQ(j.swap_add, w.swap_add);
          EXPECT_EQ(j.compare, w.compare);
        }
        if (w.av) {
          EXPECT_EQ(j.qpc.dest_qpn, w.av->dest_qpn);
          EXPECT_EQ(j.qpc.udp_sport, w.av->udp_sport);
          EXPECT_EQ(j.qpc.qkey, w.av->qkey < 0x80000000 ? w.av->qkey : q.qpc.qkey);
        }
        EXPECT_EQ(std::memcmp(j.inl_data.data(), w.inline_bytes.data(), w.inline_bytes.size()), 0);
        EXPECT_EQ(j.st.ci, q.pi);
        done(b, 17);
      }
      if (golden::has_payload(op)) {
        EXPECT_GT(sizes[1] + sizes[2], 0u);
        EXPECT_GT(sizes[3], 0u);
        EXPECT_GT(sizes[4], 0u);
      }
    }
  }
}

// A kind of bad WQE.
struct BadWqe {
  const char* what;
  uint8_t transport;
  WqeOpcode op;
  Data data;
  Syndrome syndrome;
  Vendor vendor;
  int advance;  // blocks; -1: to the producer index
  void (*spoil)(Bytes&);
};

void put_count(Bytes& w, unsigned unit, uint32_t count) { golden::detail::put_be(&w[16 * unit], 4, count); }

// Each kind of bad WQE is named by its syndromes, and the consumer index goes past it as far as its size can be
// trusted.
TEST(WqeFetchEngineTest, NamesEachDecodingError) {
  constexpr auto kW = WqeOpcode::kWrite, kS = WqeOpcode::kSend, kSi = WqeOpcode::kSendImm, kR = WqeOpcode::kRead,
                 kC = WqeOpcode::kCmpSwap, kF = WqeOpcode::kFetchAdd;
  constexpr auto kOp = Syndrome::kLocalQpOp, kLen = Syndrome::kLocalLength;
  constexpr auto kSize = Vendor::kWqeSize, kQpn = Vendor::kWqeQpn, kLong = Vendor::kLength, kNot = Vendor::kOpcode;
  const BadWqe cases[] = {
      {"no size", 0, kW, Data::kOne, kOp, kSize, -1, [](Bytes& w) { w[7] = 0; }},
      {"beyond the index", 0, kW, Data::kOne, kOp, kSize, -1, [](Bytes& w) { w[7] = 25; }},
      {"far beyond the index", 0, kW, Data::kOne, kOp, kSize, -1, [](Bytes& w) { w[7] = 255; }},
      {"longer than four blocks", 0, kS, Data::kInline, kOp, kSize, 5, [](Bytes& w) { w[7] = 17, put_count(w, 1, 0x800000fc); }},
      {"of six blocks", 0, kW, Data::kOne, kOp, kSize, 6, [](Bytes& w) { w[7] = 24; }},
      {"five segments", 0, kW, Data::kFour, kOp, kSize, 2, [](Bytes& w) { w[7] = 7, put_count(w, 6, 1); }},
      {"five segments, SEND", 1, kS, Data::kFour, kOp, kSize, 2, [](Bytes& w) { w[7] = 6, put_count(w, 5, 1); }},
      {"five segments, UD", 2, kS, Data::kFour, kOp, kSize, 3, [](Bytes& w) { w[7] = 9; }},
      {"twelve segments", 1, kS, Data::kFour, kOp, kSize, 4, [](Bytes& w) { w[7] = 13; }},
      {"no remote address", 0, kW, Data::kNone, kOp, kSize, 1, [](Bytes& w) { w[7] = 1; }},
      {"no remote address, READ", 0, kR, Data::kNone, kOp, kSize, 1, [](Bytes& w) { w[7] = 1; }},
      {"no operands", 0, kC, Data::kOne, kOp, kSize, 1, [](Bytes& w) { w[7] = 2; }},
      {"no address vector", 2, kS, Data::kNone, kOp, kSize, 1, [](Bytes& w) { w[7] = 1; }},
      {"most of an address vector", 2, kSi, Data::kNone, kOp, kSize, 1, [](Bytes& w) { w[7] = 3; }},
      {"short address vector", 2, kSi, Data::kNone, kOp, kSize, 1, [](Bytes& w) { w[24] &= 0x7f; }},
      {"atomic without a segment", 0, kF, Data::kOne, kOp, kSize, 1, [](Bytes& w) { w[7] = 3; }},
      {"atomic with two segments", 0, kC, Data::kOne, kOp, kSize, 2, [](Bytes& w) { w[7] = 5; }},
      {"atomic inline", 0, kC, Data::kOne, kOp, kSize, 1, [](Bytes& w) { put_count(w, 3, 0x80000008); }},
      {"READ inline", 0, kR, Data::kOne, kOp, kSize, 1, [](Bytes& w) { put_count(w, 2, 0x80000008); }},
      {"inline longer than the size", 0, kW, Data::kOne, kOp, kSize, 1, [](Bytes& w) { put_count(w, 2, 0x8000000d); }},
      {"inline shorter than the size", 0, kW, Data::kTwo, kOp, kSize, 1, [](Bytes& w) { put_count(w, 2, 0x8000000c); }},
      {"inline of 256 B more", 0, kW, Data::kOne, kOp, kSize, 1, [](Bytes& w) { put_count(w, 2, 0x8000010c); }},
      {"inline of 2^30 B more", 0, kW, Data::kOne, kOp, kSize, 1, [](Bytes& w) { put_count(w, 2, 0xc000000c); }},
      {"second segment inline", 0, kS, Data::kTwo, kOp, kSize, 1, [](Bytes& w) { put_count(w, 2, 0x80000004); }},
      {"third segment inline", 1, kS, Data::kThree, kOp, kSize, 1, [](Bytes& w) { put_count(w, 3, 0x80000004); }},
      {"fourth segment inline", 1, kS, Data::kFour, kOp, kSize, 2, [](Bytes& w) { put_count(w, 4, 0x80000000); }},
      {"another QP", 0, kW, Data::kOne, kOp, kQpn, 1, [](Bytes& w) { w[6] ^= 1; }},
      {"a QP beyond 1024", 0, kW, Data::kOne, kOp, kQpn, 1, [](Bytes& w) { w[4] ^= 0x80; }},
      {"next index", 0, kW, Data::kOne, kOp, kQpn, 1, [](Bytes& w) { w[2] ^= 1; }},
      {"far index", 0, kW, Data::kOne, kOp, kQpn, 1, [](Bytes& w) { w[1] ^= 0x80; }},
      {"NOP", 0, kS, Data::kNone, kOp, kNot, 1, [](Bytes& w) { w[3] = 0x00; }},
      {"unknown opcode", 0, kS, Data::kNone, kOp, kNot, 1, [](Bytes& w) { w[3] = 0x0c; }},
      {"opcode 2", 0, kS, Data::kNone, kOp, kNot, 1, [](Bytes& w) { w[3] = 0x02; }},
      {"opcode 0x13", 0, kC, Data::kOne, kOp, kNot, 1, [](Bytes& w) { w[3] = 0x13; }},
      {"opcode 0x88", 0, kW, Data::kOne, kOp, kNot, 1, [](Bytes& w) { w[3] = 0x88; }},
      {"SEND_INVAL on UC", 1, kS, Data::kOne, kOp, kNot, 1, [](Bytes& w) { w[3] = 0x01; }},
      {"READ on UC", 1, kW, Data::kOne, kOp, kNot, 1, [](Bytes& w) { w[3] = 0x10; }},
      {"CMP_SWAP on UC", 1, kW, Data::kTwo, kOp, kNot, 1, [](Bytes& w) { w[3] = 0x11; }},
      {"FETCH_ADD on UC", 1, kW, Data::kTwo, kOp, kNot, 1, [](Bytes& w) { w[3] = 0x12; }},
      {"WRITE on UD", 2, kS, Data::kOne, kOp, kNot, 2, [](Bytes& w) { w[3] = 0x08; }},
      {"WRITE_IMM on UD", 2, kS, Data::kOne, kOp, kNot, 2, [](Bytes& w) { w[3] = 0x09; }},
      {"SEND_INVAL on UD", 2, kS, Data::kOne, kOp, kNot, 2, [](Bytes& w) { w[3] = 0x01; }},
      {"READ on UD", 2, kS, Data::kOne, kOp, kNot, 2, [](Bytes& w) { w[3] = 0x10; }},
      {"two GiB and a byte", 0, kW, Data::kTwo, kLen, kLong, 1, [](Bytes& w) { put_count(w, 2, 0), put_count(w, 3, 1); }},
      {"a byte and two GiB", 1, kS, Data::kFour, kLen, kLong, 2,
       [](Bytes& w) { put_count(w, 1, 1), put_count(w, 2, 1), put_count(w, 3, 1), put_count(w, 4, 0); }},
      {"two GiB twice", 1, kS, Data::kTwo, kLen, kLong, 1, [](Bytes& w) { put_count(w, 1, 0), put_count(w, 2, 0); }},
      {"two GiB four times", 1, kS, Data::kFour, kLen, kLong, 2,
       [](Bytes& w) { for (unsigned u = 1; u < 5; ++u) put_count(w, u, 0); }},
      {"one byte above 2 GiB in two", 1, kS, Data::kTwo, kLen, kLong, 1,
       [](Bytes& w) { put_count(w, 1, 0x7fffffff), put_count(w, 2, 2); }},
      {"4 GiB in two, less two", 0, kR, Data::kTwo, kLen, kLong, 1,
       [](Bytes& w) { put_count(w, 2, 0x7fffffff), put_count(w, 3, 0x7fffffff); }},
      {"4 GiB in three", 0, kR, Data::kThree, kLen, kLong, 2,
       [](Bytes& w) { put_count(w, 2, 0x7fffffff), put_count(w, 3, 0x7fffffff), put_count(w, 4, 2); }},
      {"4 GiB in four, and 8 B", 0, kR, Data::kFour, kLen, kLong, 2,
       [](Bytes& w) { for (unsigned u = 2; u < 6; ++u) put_count(w, u, 0x40000002); }},
      {"8 GiB in four, less four", 0, kR, Data::kFour, kLen, kLong, 2,
       [](Bytes& w) { for (unsigned u = 2; u < 6; ++u) put_count(w, u, 0x7fffffff); }},
      {"atomic of 4 B", 0, kC, Data::kOne, kLen, kLong, 1, [](Bytes& w) { put_count(w, 3, 4); }},
      {"atomic of 9 B", 0, kC, Data::kOne, kLen, kLong, 1, [](Bytes& w) { put_count(w, 3, 9); }},
      {"atomic of 8 B and 2^30", 0, kF, Data::kOne, kLen, kLong, 1, [](Bytes& w) { put_count(w, 3, 0x40000008); }},
      {"atomic of 2 GiB", 0, kF, Data::kOne, kLen, kLong, 1, [](Bytes& w) { put_count(w, 3, 0); }},
      {"UD longer than its MTU", 2, kS, Data::kOne, kLen, kLong, 2, [](Bytes& w) { put_count(w, 4, 1025); }},
      {"UD longer than its MTU in four", 2, kSi, Data::kFour, kLen, kLong, 2,
       [](Bytes& w) { put_count(w, 4, 1), put_count(w, 5, 1), put_count(w, 6, 1), put_count(w, 7, 1022); }},
      {"UD of 2 GiB", 2, kS, Data::kOne, kLen, kLong, 2, [](Bytes& w) { put_count(w, 4, 0); }},
      {"UD of 1024 and 2^30 B", 2, kS, Data::kOne, kLen, kLong, 2, [](Bytes& w) { put_count(w, 4, 0x40000400); }},
  };
  for (const BadWqe& c : cases) {
    for (bool pushed : {false, true}) {
      SCOPED_TRACE(testing::Message() << c.what << (pushed ? ", pushed" : ", in the ring"));
      FetchBench b;
      Qp& q = b.qps[600] = make_qp(b);
      q.qpc.transport = c.transport;
      q.qpc.mtu = 3;
      Wqe w = random_wqe(b.rng, q.qpc, 600, q.pi, c.op, c.data);
      if (w.is_inline) w.inline_bytes.resize(40);
      const Bytes good = golden::encode_wqe(w);
      Bytes bad = good;
      bad.resize(64 * 4);
      c.spoil(bad);
      if (pushed && (bad[7] + 3) / 4 > 2 && bad[7] <= 24) continue;  // not kept by the BlueFlame buffer
      const uint16_t first = q.pi;
      b.post(600, pushed ? good : bad);
      if (pushed) {
        bad.resize(128);
        q.push = Qp::Push{true, first, bad};
      }
      q.pi = static_cast<uint16_t>(first + 6);
      ASSERT_NO_FATAL_FAILURE(refused_turn(b, 600, c.syndrome, c.vendor));
      const uint16_t advance = static_cast<uint16_t>(b.jobs[0].first.st.ci - first);
      EXPECT_EQ(advance, c.advance < 0 ? 6 : c.advance);
    }
  }
}

// The largest and smallest of everything is accepted: what is next to the refusals above.
TEST(WqeFetchEngineTest, TakesWhatIsJustAllowed) {
  FetchBench b;
  const auto accept = [&](uint8_t transport, WqeOpcode op, const std::vector<uint64_t>& lengths,
                          int inline_bytes = -1) {
    Qp& q = b.qps[5] = make_qp(b);
    q.qpc.transport = transport;
    q.qpc.mtu = 1;
    Wqe w = random_wqe(b.rng, q.qpc, 5, q.pi, op, Data::kNone);
    w.sges.clear();
    for (uint64_t n : lengths) w.sges.push_back({static_cast<uint32_t>(b.rng()), b.rng(), n});
    w.is_inline = inline_bytes >= 0;
    if (w.is_inline) w.inline_bytes.assign(inline_bytes, 0x5a);
    b.post(5, golden::encode_wqe(w));
    ASSERT_NO_FATAL_FAILURE(turn(b, 5));
    EXPECT_EQ(b.jobs[0].first.err, 0);
    EXPECT_EQ(b.jobs[0].first.st.msg_len, w.length());
    EXPECT_EQ(b.jobs[0].first.st.num_sge, lengths.size());
    EXPECT_EQ(b.probes.size(), 1u);
  };
  constexpr uint64_t kGib = 1 << 30;
  accept(0, WqeOpcode::kWrite, {2 * kGib});
  accept(0, WqeOpcode::kRead, {2 * kGib});
  accept(1, WqeOpcode::kWrite, {2 * kGib - 1, 1});
  accept(0, WqeOpcode::kSendInval, {kGib, kGib});
  accept(0, WqeOpcode::kSend, {kGib, kGib / 2, kGib / 2 - 1, 1});
  accept(0, WqeOpcode::kRead, {1, 1, 1, 2 * kGib - 3});
  accept(0, WqeOpcode::kRead, {});
  accept(1, WqeOpcode::kSendImm, {1, 1, 1, 1});
  accept(2, WqeOpcode::kSend, {256});
  accept(2, WqeOpcode::kSend, {1, 1, 1, 253});
  accept(2, WqeOpcode::kSendImm, {});
  for (auto [transport, op, most] : {std::tuple<uint8_t, WqeOpcode, int>{0, WqeOpcode::kSend, 236},
                                     {1, WqeOpcode::kWriteImm, 220},
                                     {2, WqeOpcode::kSendImm, 188}}) {
    for (int n : {0, 1, 12, 13, 28, 29, 44, 45, 100, 108, 109, most - 1, most}) accept(transport, op, {}, n);
  }
}

// Bad WQEs of every kind at random: whatever the bits, the model and the block agree, from the ring and pushed.
TEST(WqeFetchEngineTest, RandomlySpoiledWqes) {
  FetchBench b;
  unsigned refused = 0, accepted = 0;
  std::map<uint8_t, unsigned> by;
  for (int i = 0; i < 6000; ++i) {
    Qp& q = b.qps[700] = make_qp(b);
    Bytes w;
    if (i % 4 == 0) {  // noise, with the fields right that would refuse it at once
      w.resize(256);
      for (auto& x : w) x = static_cast<uint8_t>(b.rng());
      golden::detail::put_be(&w[1], 2, q.pi);
      w[3] = static_cast<uint8_t>(kOpcodes[b.rng() % 8]);
      golden::detail::put_be(&w[4], 3, 700);
      w[7] = b.rng() % 18;
      for (unsigned u = 1; u < 8; ++u) {
        if (b.chance(60)) put_count(w, u, static_cast<uint32_t>(b.rng() >> (32 + b.rng() % 31)));
        if (b.chance(5)) put_count(w, u, 0x80000000 | b.rng() % 256);
      }
    } else {
      w = random_wqe(b.rng, q.qpc, 700, q.pi);
      w.resize(256);
      for (unsigned n = b.rng() % 3; n != 0; --n) {
        if (b.chance(40)) w[7] = static_cast<uint8_t>(w[7] + b.rng() % 3 - 1);
        if (b.chance(30)) w[3] = static_cast<uint8_t>(kOpcodes[b.rng() % 8]);
        if (b.chance(30)) put_count(w, 1 + b.rng() % 7, static_cast<uint32_t>(b.rng() >> (32 + b.rng() % 31)));
        if (b.chance(50)) w[b.rng() % 128] ^= static_cast<uint8_t>(1 << b.rng() % 8);
      }
    }
    const uint16_t first = q.pi;
    b.post(700, w);
    if (b.chance(30)) q.pi = static_cast<uint16_t>(first + 1 + b.rng() % 6);
    if (w[7] <= 8 && b.chance(30)) {
      w.resize(128);
      q.push = Qp::Push{true, first, w};
    }
    if (b.chance(3)) q.qpc.mtu = b.rng() % 8;
    q.err = b.chance(10);
    b.pace.rsp = 30 + b.rng() % 71;
    ASSERT_NO_FATAL_FAILURE(turn(b, 700));
    ASSERT_FALSE(testing::Test::HasFailure()) << "WQE " << i << " seed " << test_seed();
    const tx_job_t& j = b.jobs[0].first;
    refused += j.err != 0;
    accepted += b.probes.size();
    if (j.err != 0) ++by[static_cast<uint8_t>(j.rkey)];
  }
  EXPECT_GT(accepted, 500u);
  EXPECT_GT(refused, 1000u);
  for (auto v : {Vendor::kOpcode, Vendor::kWqeSize, Vendor::kWqeQpn, Vendor::kLength}) {
    EXPECT_GT(by[static_cast<uint8_t>(v)], 50u) << "vendor " << int(v);
  }
}

// The producer index cuts a WQE short: an error, and nothing behind the index is used.
TEST(WqeFetchEngineTest, WqeBeyondTheProducerIndexIsRefused) {
  for (unsigned blocks : {2u, 3u, 4u}) {
    for (unsigned posted = 1; posted < blocks; ++posted) {
      FetchBench b;
      Qp& q = b.qps[9] = make_qp(b);
      const uint16_t first = q.pi;
      b.post(9, wqe_of(b.rng, q.qpc, 9, first, blocks));
      q.pi = static_cast<uint16_t>(first + posted);
      ASSERT_NO_FATAL_FAILURE(refused_turn(b, 9, Syndrome::kLocalQpOp, Vendor::kWqeSize));
      EXPECT_EQ(b.jobs[0].first.st.ci, q.pi);
      ASSERT_EQ(b.asked.size(), 1u);
      EXPECT_EQ(b.asked[0].second, posted > 1);
    }
  }
}

// What is read: two blocks when two are posted, the others when the first block says so, one by one round the ring's
// end.
TEST(WqeFetchEngineTest, ReadsRoundTheEndOfTheRing) {
  for (unsigned log : {2u, 3u, 5u}) {
    for (unsigned blocks = 1; blocks <= 4; ++blocks) {
      for (unsigned before = 1; before <= 5; ++before) {  // blocks before the ring's end
        for (unsigned behind : {0u, 1u}) {                // WQEs of one block behind this one
          SCOPED_TRACE(testing::Message()
                       << "2^" << log << ", " << blocks << " blocks, " << before << " before the end");
          const uint32_t base = 1 << 18, size = 1u << log;
          if (blocks + behind > size) continue;
          FetchBench b;
          Qp& q = b.qps[8] = make_qp(b, base, log);
          q.qpc.sq_ci = q.pi = static_cast<uint16_t>(8 * size - before);
          const uint32_t at = (8 * size - before) % size;
          b.post(8, wqe_of(b.rng, q.qpc, 8, q.pi, blocks));
          if (behind) b.post(8, wqe_of(b.rng, q.qpc, 8, q.pi, 1));
          ASSERT_NO_FATAL_FAILURE(turn(b, 8));
          EXPECT_EQ(b.probes.size(), 1u);
          std::vector<std::pair<uint32_t, bool>> want;
          const auto pair_from = [&](unsigned i, bool two) {
            if (two && (at + i) % size == size - 1) {
              want.push_back({base + size - 1, false});
              want.push_back({base, false});
            } else {
              want.push_back({base + (at + i) % size, two});
            }
          };
          pair_from(0, blocks + behind > 1);
          if (blocks > 2) pair_from(2, blocks > 3);
          EXPECT_EQ(b.asked, want);
        }
      }
    }
  }
}

// A ring that is not wholly in device memory, or not on a block's boundary, is refused without a read.
TEST(WqeFetchEngineTest, RefusesARingOutsideDeviceMemory) {
  for (uint64_t base : {uint64_t{1} << 28, uint64_t{1} << 63, uint64_t{0x1000020}, (uint64_t{1} << 28) - 64,
                        (uint64_t{1} << 28) - 15 * 64}) {
    FetchBench b;
    Qp q = make_qp(b);
    q.qpc.sq_base = base;
    q.qpc.sq_ci = 1;
    q.pi = 4;
    b.qps[3] = q;
    ASSERT_NO_FATAL_FAILURE(refused_turn(b, 3, Syndrome::kLocalQpOp, Vendor::kBounds));
    EXPECT_EQ(b.jobs[0].first.st.ci, 4);
    EXPECT_EQ(b.reads, 0u);
  }
}

// In error, what can't be read is flushed as one WQE.
TEST(WqeFetchEngineTest, QpInErrorWithAnUnreadableRingIsFlushedOnce) {
  for (bool by_context : {false, true}) {
    FetchBench b;
    Qp q = make_qp(b);
    q.qpc.sq_base = uint64_t{1} << 30;
    q.err = !by_context;
    if (by_context) q.qpc.state = rtl::rnic_pkg::QpStErr;
    q.pi = static_cast<uint16_t>(q.qpc.sq_ci + 5);
    b.qps[3] = q;
    ASSERT_NO_FATAL_FAILURE(turn(b, 3));
    EXPECT_TRUE(b.jobs[0].first.flush);
    EXPECT_EQ(b.jobs[0].first.st.ci, q.pi);
    EXPECT_EQ(b.reads, 0u);
  }
}

// Rings of every size, with indices that pass the ring's end, and others that pass 65536.
TEST(WqeFetchEngineTest, EveryRingSizeAndIndexWrap) {
  for (unsigned log = 0; log < 16; ++log) {
    for (uint16_t first : {static_cast<uint16_t>((1u << log) - 1), uint16_t{0xfffd}}) {
      SCOPED_TRACE(testing::Message() << "2^" << log << " blocks from " << first);
      FetchBench b;
      b.qps[8] = make_qp(b, 1 << 18, log);
      b.qps[8].qpc.sq_ci = b.qps[8].pi = first;
      for (int i = 0; i < 12; i += 3) {
        const int n = std::min(3, 1 << log);
        Qp& q = b.qps[8];
        for (int k = 0; k < n; ++k) b.post(8, random_wqe(b.rng, q.qpc, 8, q.pi, 1));
        for (int k = 0; k < n; ++k) {
          ASSERT_NO_FATAL_FAILURE(turn(b, 8));
          ASSERT_FALSE(b.jobs[0].first.noop);
          done(b, 8);
        }
      }
    }
  }
}

// The last block of device memory can still hold a WQE.
TEST(WqeFetchEngineTest, TakesTheLastBlockOfDeviceMemory) {
  FetchBench b;
  b.qps[3] = make_qp(b, kMemoryBlocks - 16, 4);
  b.qps[3].qpc.sq_ci = b.qps[3].pi = 0xffff;
  b.post(3, random_wqe(b.rng, b.qps[3].qpc, 3, 0xffff, 1));
  ASSERT_NO_FATAL_FAILURE(turn(b, 3));
  EXPECT_EQ(b.probes.size(), 1u);
  EXPECT_EQ(b.jobs[0].first.st.ci, 0);
  done(b, 3);
  b.qps[3].st.ci = b.qps[3].pi = 0xfffe;  // the last two, read together
  b.post(3, wqe_of(b.rng, b.qps[3].qpc, 3, 0xfffe, 2));
  ASSERT_NO_FATAL_FAILURE(turn(b, 3));
  EXPECT_EQ(b.asked, (std::vector<std::pair<uint32_t, bool>>{{kMemoryBlocks - 2, true}}));
}

// More blocks posted than the ring has can't be true: one report, nothing read.
TEST(WqeFetchEngineTest, RefusesAProducerIndexBeyondTheRing) {
  FetchBench b;
  b.qps[3] = make_qp(b, 1 << 18, 3);
  b.qps[3].pi += 9;
  ASSERT_NO_FATAL_FAILURE(refused_turn(b, 3, Syndrome::kLocalQpOp, Vendor::kWqeSize));
  EXPECT_EQ(b.reads, 0u);
}

// A path MTU code that does not exist is an error of the QP, for a new message and in the middle of one.
TEST(WqeFetchEngineTest, RefusesAnUnknownMtu) {
  for (uint8_t mtu : {0, 6, 7}) {
    for (bool in_msg : {false, true}) {
      FetchBench b;
      Qp q = make_qp(b);
      q.qpc.transport = rtl::rnic_pkg::TransUc;
      q.qpc.mtu = mtu;
      q.st_valid = in_msg;
      q.st.in_msg = in_msg;
      b.qps[3] = q;
      b.qps[3].pi = q.ci();
      b.post(3, random_wqe(b.rng, q.qpc, 3, q.ci()));
      ASSERT_NO_FATAL_FAILURE(refused_turn(b, 3, Syndrome::kLocalQpOp, Vendor::kLength));
    }
  }
}

// A QP that cannot send, or not in the way asked for, is reported to the event log and released with nothing done.
TEST(WqeFetchEngineTest, QpThatCannotSendRaisesAnEvent) {
  using namespace rtl::rnic_pkg;
  const std::vector<void (*)(rtl::qpc_t&)> spoils = {
      [](rtl::qpc_t& c) { c.state = QpStReset; }, [](rtl::qpc_t& c) { c.state = QpStInit; },
      [](rtl::qpc_t& c) { c.state = QpStRtr; },   [](rtl::qpc_t& c) { c.state = 15; },
      [](rtl::qpc_t& c) { c.state = 4; },         [](rtl::qpc_t& c) { c.state = 5; },
      [](rtl::qpc_t& c) { c.state = 7; },         [](rtl::qpc_t& c) { c.state = QpStErr, c.transport = 3; },
      [](rtl::qpc_t& c) { c.transport = 3; },     [](rtl::qpc_t& c) { c.sq_where = 2; },
      [](rtl::qpc_t& c) { c.sq_where = 3; },
  };
  for (auto spoil : spoils) {
    for (bool err : {false, true}) {
      FetchBench b;
      b.qps[1000] = make_qp(b);
      b.qps[1000].err = err;
      spoil(b.qps[1000].qpc);
      b.post(1000, random_wqe(b.rng, make_context(b.rng, 0, 4), 1000, b.qps[1000].pi));
      ASSERT_NO_FATAL_FAILURE(turn(b, 1000));
      EXPECT_TRUE(b.jobs[0].first.noop);
      EXPECT_EQ(b.events.size(), 1u);
      EXPECT_EQ(b.reads, 0u);
    }
  }
}

// Events that nobody takes hold up the QPs behind them; none is lost.
TEST(WqeFetchEngineTest, EventsWaitInOrder) {
  FetchBench b;
  b.pace.evt = 10;
  for (uint16_t qpn = 0; qpn < 20; ++qpn) {
    b.qps[qpn] = make_qp(b);
    b.qps[qpn].qpc.state = rtl::rnic_pkg::QpStInit;
    b.grants.push_back(qpn);
  }
  ASSERT_TRUE(b.drain());
  ASSERT_EQ(b.jobs.size(), 20u);
  ASSERT_EQ(b.events.size(), 20u);
  for (uint16_t qpn = 0; qpn < 20; ++qpn) {
    EXPECT_EQ(b.jobs[qpn].first.qpn, qpn);
    EXPECT_EQ(b.events[qpn].index, qpn);
  }
}

// Nothing new, or no doorbell since the context was set up: the QP is released and nothing is read.
TEST(WqeFetchEngineTest, NothingToSendIsNoop) {
  FetchBench b;
  b.qps[4] = make_qp(b);
  ASSERT_NO_FATAL_FAILURE(turn(b, 4));
  EXPECT_TRUE(b.jobs[0].first.noop);
  b.qps[4].pi += 3;
  b.qps[4].pi_valid = false;
  ASSERT_NO_FATAL_FAILURE(turn(b, 4));
  EXPECT_TRUE(b.jobs[0].first.noop);
  EXPECT_EQ(b.reads, 0u);
}

// In error, every WQE up to the producer index is flushed, once each; afterwards there is nothing to do.
TEST(WqeFetchEngineTest, QpInErrorFlushesEveryWqeOnce) {
  for (bool by_context : {false, true}) {
    for (bool in_msg : {false, true}) {
      FetchBench b;
      Qp q = make_qp(b);
      q.err = !by_context;
      if (by_context) q.qpc.state = rtl::rnic_pkg::QpStErr;
      q.st_valid = in_msg;
      q.st.in_msg = in_msg;
      q.st.ci = static_cast<uint16_t>(q.qpc.sq_ci);
      q.st.wqe_idx = static_cast<uint16_t>(q.st.ci - 1);
      b.qps[40] = q;
      std::vector<uint16_t> want;
      if (in_msg) want.push_back(q.st.wqe_idx);
      for (unsigned blocks : {1, 4, 2, 3, 1}) {
        want.push_back(b.qps[40].pi);
        b.post(40, wqe_of(b.rng, q.qpc, 40, b.qps[40].pi, blocks));
      }
      std::vector<uint16_t> flushed;
      for (int i = 0; i < 10; ++i) {
        ASSERT_NO_FATAL_FAILURE(turn(b, 40));
        const tx_job_t& j = b.jobs[0].first;
        if (j.noop) break;
        EXPECT_TRUE(j.flush);
        flushed.push_back(j.st.wqe_idx);
        done(b, 40);
      }
      EXPECT_EQ(flushed, want);
    }
  }
}

// A pushed WQE of one block or two is used without a read; one that is incomplete or another one is ignored.
TEST(WqeFetchEngineTest, TakesThePushedWqe) {
  for (unsigned job_pct : {100u, 20u}) {
    FetchBench b(Pace{100, 100, 30, 26, job_pct, 100});
    for (unsigned blocks : {1u, 2u, 1u, 2u}) {
      for (int kind = 0; kind < 3; ++kind) {
        Qp& q = b.qps[99] = make_qp(b);
        const uint16_t index = q.pi;
        b.post(99, wqe_of(b.rng, q.qpc, 99, index, blocks));
        Qp::Push push;
        push.index = static_cast<uint16_t>(index + (kind == 1));
        push.complete = kind != 2;
        push.wqe = wqe_of(b.rng, q.qpc, 99, index, blocks);  // another one than the ring's
        q.push = push;
        ASSERT_NO_FATAL_FAILURE(turn(b, 99));
        EXPECT_EQ(b.hits, kind == 0);
        EXPECT_EQ(b.fallbacks, kind != 0);
      }
    }
  }
}

// A ring in host memory: every WQE that is there comes out as from device memory, whatever stands behind it, and is
// looked up once.
TEST(WqeFetchEngineTest, TakesThePrefetchedWqe) {
  for (unsigned pct : {100u, 30u}) {
    FetchBench b(Pace{100, 100, pct, 26, pct, 100, pct});
    unsigned sizes[5] = {}, refused = 0;
    for (int i = 0; i < 600; ++i) {
      Qp& q = b.qps[801] = make_qp(b);
      to_host(b, q);
      Bytes w = random_wqe(b.rng, q.qpc, 801, q.pi);
      ++sizes[w.size() / 64];
      if (b.chance(20)) w[b.rng() % 32] ^= static_cast<uint8_t>(1 << b.rng() % 8);
      b.post(801, w);
      if (b.chance(30)) b.post(801, random_wqe(b.rng, q.qpc, 801, q.pi));
      q.err = b.chance(5);
      ASSERT_NO_FATAL_FAILURE(turn(b, 801));
      ASSERT_FALSE(HasFailure()) << "WQE " << i << " seed " << test_seed();
      EXPECT_EQ(b.lookups, 1u);
      refused += b.jobs[0].first.err != 0;
    }
    for (unsigned n = 1; n <= 4; ++n) EXPECT_GT(sizes[n], 5u);
    EXPECT_GT(refused, 5u);
  }
}

// A WQE that is not there yet ends the turn with nothing done and nothing counted; the next turn finds it.
TEST(WqeFetchEngineTest, MissInHostMemoryEndsTheTurn) {
  for (bool err : {false, true}) {
    FetchBench b;
    Qp& q = b.qps[802] = make_qp(b);
    to_host(b, q);
    q.err = err;
    b.post(802, random_wqe(b.rng, q.qpc, 802, q.pi));
    for (int i = 0; i < 3; ++i) {
      q.host = Qp::Host::kMiss;
      ASSERT_NO_FATAL_FAILURE(turn(b, 802));
      EXPECT_TRUE(b.jobs[0].first.noop);
      EXPECT_EQ(b.jobs[0].first.pi, b.jobs[0].first.st.ci);
      EXPECT_EQ(b.reads, 0u);
    }
    q.host = Qp::Host::kHit;
    ASSERT_NO_FATAL_FAILURE(turn(b, 802));
    EXPECT_EQ(b.jobs[0].first.flush, err);
    EXPECT_EQ(b.reads, 1u);
  }
}

// A WQE that can't be read is an error with the read's status, or a flush; nothing behind it is used.
TEST(WqeFetchEngineTest, UnreadableHostMemoryIsAnError) {
  using namespace rtl::rnic_pkg;
  for (uint64_t status : {DmaUr, DmaCa, DmaPoisoned, DmaMalformed, DmaNoMaster}) {
    for (bool err : {false, true}) {
      FetchBench b;
      Qp& q = b.qps[803] = make_qp(b);
      to_host(b, q);
      q.err = err;
      for (int i = 0; i < 3; ++i) b.post(803, random_wqe(b.rng, q.qpc, 803, q.pi, 1));
      q.host = Qp::Host::kError;
      q.host_status = static_cast<uint8_t>(status);
      ASSERT_NO_FATAL_FAILURE(turn(b, 803));
      EXPECT_EQ(b.jobs[0].first.err, err ? 0 : SynLocalQpOp);
      EXPECT_EQ(b.jobs[0].first.rkey, err ? 0 : VenDma + status);
      EXPECT_EQ(b.jobs[0].first.st.ci, q.pi);
    }
  }
}

// BlueFlame goes first for rings in host memory, too.
TEST(WqeFetchEngineTest, PushedWqeOfARingInHostMemory) {
  FetchBench b;
  Qp& q = b.qps[804] = make_qp(b);
  to_host(b, q);
  const uint16_t index = q.pi;
  b.post(804, wqe_of(b.rng, q.qpc, 804, index, 1));
  q.push = Qp::Push{true, index, wqe_of(b.rng, q.qpc, 804, index, 1)};
  ASSERT_NO_FATAL_FAILURE(turn(b, 804));
  EXPECT_EQ(b.hits, 1u);
  EXPECT_EQ(b.lookups, 0u);
}

// A ring in host memory may lie anywhere, but on a block's boundary.
TEST(WqeFetchEngineTest, RefusesAMisalignedRingInHostMemory) {
  for (uint64_t low : {0, 32, 1}) {
    FetchBench b;
    Qp& q = b.qps[805] = make_qp(b);
    to_host(b, q);
    q.qpc.sq_base = 0xffffffffffff0000 + low;
    b.post(805, random_wqe(b.rng, q.qpc, 805, q.pi));
    ASSERT_NO_FATAL_FAILURE(turn(b, 805));
    EXPECT_EQ(b.lookups, low == 0);
    EXPECT_EQ(b.jobs[0].first.rkey == static_cast<uint32_t>(Vendor::kBounds) && b.jobs[0].first.err != 0, low != 0);
  }
}

// Unloaded: the lookup is asked for three cycles after the grant, and its answer is a job three cycles later.
TEST(WqeFetchEngineTest, LookupFollowsGrantInThreeCyclesAndJobAnswerInThree) {
  for (unsigned blocks : {1u, 4u}) {
    FetchBench b;
    b.step();
    Qp& q = b.qps[1] = make_qp(b);
    to_host(b, q);
    b.post(1, wqe_of(b.rng, q.qpc, 1, q.pi, blocks));
    b.grants.push_back(1);
    ASSERT_TRUE(b.drain());
    const auto to_lookup = static_cast<int64_t>(b.lookup_shown - b.grant_taken);
    const auto from_answer = static_cast<int64_t>(b.job_shown - b.host_answered);
    EXPECT_TRUE(takes_cycles({"wqe_fetch_engine", side("fifo")}, {3, 3}, {to_lookup, from_answer}));
  }
}

// Unloaded: the read is asked for three cycles after the grant, and the answer that makes the WQE complete is a job two
// cycles later; of two blocks that are read together, the first one if the WQE has no more.
TEST(WqeFetchEngineTest, LatencyIsThreeCyclesToTheReadAndTwoFromIt) {
  for (unsigned blocks : {1u, 2u}) {
    for (unsigned posted : {1u, 2u}) {
      if (posted < blocks) continue;
      FetchBench b;
      b.step();
      Qp& q = b.qps[1] = make_qp(b);
      b.post(1, wqe_of(b.rng, q.qpc, 1, q.pi, blocks));
      if (posted > blocks) b.post(1, wqe_of(b.rng, q.qpc, 1, q.pi, 1));
      b.grants.push_back(1);
      ASSERT_TRUE(b.drain());
      ASSERT_EQ(b.answered.size(), posted);
      const auto to_read = static_cast<int64_t>(b.read_shown - b.grant_taken);
      const auto from_read = static_cast<int64_t>(b.job_shown - b.answered[blocks - 1]);
      EXPECT_TRUE(takes_cycles({"wqe_fetch_engine", side("fifo")}, {3, 2}, {to_read, from_read}));
    }
  }
}

// Without a read, a job follows its grant in five cycles: WQE pushed, or nothing to do.
TEST(WqeFetchEngineTest, JobFollowsGrantInFiveCyclesWithoutARead) {
  for (unsigned pushed : {0u, 1u, 2u}) {
    FetchBench b;
    b.step();
    Qp& q = b.qps[1] = make_qp(b);
    if (pushed != 0) {
      const Bytes wqe = wqe_of(b.rng, q.qpc, 1, q.pi, pushed);
      q.push = Qp::Push{true, q.pi, wqe};
      b.post(1, wqe);
    }
    b.grants.push_back(1);
    ASSERT_TRUE(b.drain());
    const auto cycles = static_cast<int64_t>(b.job_shown - b.grant_taken);
    EXPECT_TRUE(takes_cycles({side("wqe_fetch_engine"), side("fifo")}, {5}, {cycles}));
  }
}

// With a slow memory, the reads of Depth WQEs are open at a time, and none is lost when the jobs don't leave.
TEST(WqeFetchEngineTest, ReadsOfThirtyTwoWqesAreOpenAtOnce) {
  for (unsigned blocks : {1u, 2u}) {
    for (unsigned log : {4u, 0u}) {
      if (log == 0 && blocks == 2) log = 1;  // every other read is of one block and another one
      FetchBench b(Pace{100, 100, 100, 300, 100, 100});
      std::vector<Expected> want;
      for (uint16_t qpn = 0; qpn < 100; ++qpn) {
        Qp& q = b.qps[qpn] = make_qp(b, (1 << 18) + 16 * qpn, log);
        b.post(qpn, wqe_of(b.rng, q.qpc, qpn, q.pi, blocks));
        b.grants.push_back(qpn);
        want.push_back(b.expect(qpn));
      }
      b.pace.job = 0;
      for (int i = 0; i < 1000; ++i) b.step();
      EXPECT_TRUE(b.jobs.empty());
      b.pace.job = 100;
      ASSERT_TRUE(b.drain());
      EXPECT_GE(b.most_blocks_open, 32u * blocks);
      ASSERT_EQ(b.jobs.size(), want.size());
      for (size_t i = 0; i < want.size(); ++i) expect_job(b.jobs[i].first, want[i]);
    }
  }
}

// While contexts are read, 32 grants are taken and wait, no more; none is lost. With contexts that take 40 cycles jobs
// come at nearly one a cycle.
TEST(WqeFetchEngineTest, ThirtyTwoGrantsWaitForTheirContexts) {
  for (unsigned latency : {40u, 200u}) {
    FetchBench b(Pace{});
    b.pace.context_latency = latency;
    std::vector<Expected> want;
    for (uint16_t qpn = 0; qpn < 100; ++qpn) {
      Qp& q = b.qps[qpn] = make_qp(b, (1 << 18) + 16 * qpn);
      b.post(qpn, wqe_of(b.rng, q.qpc, qpn, q.pi, 1));
      b.grants.push_back(qpn);
      want.push_back(b.expect(qpn));
    }
    for (unsigned i = 0; i < latency; ++i) b.step();
    EXPECT_EQ(b.grants.size(), 100u - 32);
    EXPECT_TRUE(b.jobs.empty());
    ASSERT_TRUE(b.drain());
    ASSERT_EQ(b.jobs.size(), want.size());
    for (size_t i = 0; i < want.size(); ++i) expect_job(b.jobs[i].first, want[i]);
    if (latency == 40) {
      EXPECT_LE(b.jobs.back().second - b.jobs.front().second, 140u);
    }
  }
}

// Grants of different QPs pass at one a cycle, or as fast as the blocks come.
TEST(WqeFetchEngineTest, OneJobEveryCycle) {
  for (unsigned blocks : {1u, 2u}) {
    FetchBench b(Pace{100, 100, 100, 20, 100, 100});
    for (uint16_t qpn = 0; qpn < 200; ++qpn) {
      Qp& q = b.qps[qpn] = make_qp(b, (1 << 18) + 16 * qpn);
      b.post(qpn, wqe_of(b.rng, q.qpc, qpn, q.pi, blocks));
      b.grants.push_back(qpn);
    }
    ASSERT_TRUE(b.drain());
    ASSERT_EQ(b.jobs.size(), 200u);
    EXPECT_LE(b.jobs.back().second - b.jobs.front().second, 200u * blocks);
  }
}

// Many QPs with good and bad WQEs, pushes, errors and messages in progress: every grant gives the right job, in order.
TEST(WqeFetchEngineTest, EveryMixtureUnderEveryPace) {
  for (Pace pace :
       {Pace{}, Pace{100, 100, 100, 60, 100, 100}, Pace{100, 40, 100, 5, 100, 20}, Pace{100, 100, 20, 30, 100, 100},
        Pace{100, 100, 100, 30, 15, 100}, Pace{20, 60, 60, 3, 60, 60}, Pace{100, 100, 100, 1, 100, 100},
        Pace{100, 100, 100, 30, 100, 100, 30}, Pace{100, 100, 50, 10, 50, 100, 50}}) {
    FetchBench b(pace);
    std::vector<uint16_t> names;
    for (uint16_t i = 0; i < 48; ++i) {
      const auto qpn = static_cast<uint16_t>((i * 131 + 7) % 1024);
      names.push_back(qpn);
      b.qps[qpn] = make_qp(b, (1 << 18) + 64 * i, b.rng() % 6);
      if (i % 3 == 0) to_host(b, b.qps[qpn]);
    }
    std::deque<Expected> open;  // granted, job not seen
    std::map<uint16_t, bool> out;
    unsigned seen = 0, decoded = 0, errors = 0, flushes = 0, hits = 0, continued = 0, events = 0, sizes[5] = {};
    size_t event_at = 0;
    std::deque<event_t> want_events;
    while (seen < 4000) {
      ASSERT_LT(b.cycle, 500000u) << "hang; seed " << test_seed();
      if (b.grants.size() < 3) {
        const uint16_t qpn = names[b.rng() % names.size()];
        Qp& q = b.qps[qpn];
        if (!out[qpn]) {
          // Post something, perhaps.
          while (b.chance(60) && static_cast<uint16_t>(q.pi - q.ci()) < (1u << q.qpc.log_sq_size)) {
            const unsigned room = (1u << q.qpc.log_sq_size) - static_cast<uint16_t>(q.pi - q.ci());
            Bytes wqe = random_wqe(b.rng, q.qpc, qpn, q.pi, std::min(4u, room));
            if (b.chance(30)) {
              Qp::Push push;
              push.complete = b.chance(80) && wqe.size() <= 128;
              push.index = q.pi;
              push.wqe = wqe;
              q.push = push;
            }
            if (b.chance(10)) wqe[b.rng() % 8] ^= static_cast<uint8_t>(1 << b.rng() % 8);
            b.post(qpn, wqe);
          }
          if (b.chance(3)) {
            q.err = true;
          } else if (b.chance(30) && q.err && !(q.st_valid && q.st.in_msg)) {
            // Set up again.
            const bool host = q.in_host();
            q = make_qp(b, (1 << 18) + static_cast<uint32_t>(q.qpc.sq_base / 64 & 0xfff), q.qpc.log_sq_size);
            if (host) to_host(b, q);
            if (b.chance(10)) q.qpc.state = b.rng() % 7;
          }
          q.pi_valid = b.chance(95);
          q.host = b.chance(70) ? Qp::Host::kHit : b.chance(80) ? Qp::Host::kMiss : Qp::Host::kError;
          q.host_status = static_cast<uint8_t>(1 + b.rng() % 6);
          out[qpn] = true;
          open.push_back(b.expect(qpn));
          if (open.back().event) want_events.push_back(*open.back().event);
          b.grants.push_back(qpn);
        }
      }
      b.step();
      for (; seen < b.jobs.size(); ++seen) {
        ASSERT_FALSE(open.empty());
        const Expected e = open.front();
        open.pop_front();
        const tx_job_t& j = b.jobs[seen].first;
        expect_job(j, e);
        ASSERT_FALSE(HasFailure()) << "job " << seen << " seed " << test_seed();
        decoded += e.decoded;
        if (e.decoded) ++sizes[j.st.wqebbs + 1];
        errors += j.err != 0;
        flushes += j.flush;
        hits += e.hit;
        continued += j.st.in_msg && !j.flush;
        events += e.event.has_value();
        // The segmenter's part.
        Qp& q = b.qps[j.qpn];
        out[j.qpn] = false;
        if (j.noop) {
          if (e.event) q.err = true;  // so that it is set up again
          continue;
        }
        q.st_valid = true;
        q.st = j.st;
        q.st.in_msg = false;
        if (j.err != 0) q.err = true;
        if (j.err == 0 && !j.flush) {
          q.st.psn = (j.st.psn + 1) & 0xffffff;
          q.st.in_msg = golden::has_payload(static_cast<WqeOpcode>(j.st.opcode)) && !j.inl &&
                        q.qpc.transport != rtl::rnic_pkg::TransUd && j.st.msg_len > 1 && b.chance(50);
          q.st.offset = q.st.in_msg ? static_cast<uint32_t>(1 + b.rng() % (j.st.msg_len - 1)) : 0;
        }
      }
      for (; event_at < b.events.size(); ++event_at) {
        ASSERT_FALSE(want_events.empty());
        ASSERT_EQ(b.events[event_at].pack(), want_events.front().pack());
        want_events.pop_front();
      }
    }
    EXPECT_EQ(decoded, b.probes.size());
    EXPECT_GT(decoded, 500u);
    EXPECT_GT(errors, 50u);
    EXPECT_GT(flushes, 50u);
    EXPECT_GT(hits, 100u);
    EXPECT_GT(continued, 100u);
    EXPECT_GT(events, 2u);
    for (unsigned n = 1; n <= 4; ++n) EXPECT_GT(sizes[n], 5u) << n << " blocks";
    ASSERT_TRUE(b.drain());
  }
}

// Without work the block says idle.
TEST(WqeFetchEngineTest, IdleAfterReset) {
  FetchBench b;
  for (int i = 0; i < 5; ++i) {
    b.step();
    EXPECT_TRUE(b.top->idle_o);
  }
  EXPECT_TRUE(b.jobs.empty() && b.events.empty());
}

}  // namespace
}  // namespace rnic::test
