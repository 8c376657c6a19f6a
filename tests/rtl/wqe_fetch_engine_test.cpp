// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "Vwqe_fetch_engine.h"
#include "rnic/golden/wqe.h"
#include "rtl/bench.h"
#include "support/latency.h"

namespace rnic::test {
namespace {

using golden::Syndrome;
using golden::Vendor;
using golden::Wqe;
using golden::WqeBlock;
using golden::WqeOpcode;
using rtl::event_t;
using rtl::tx_job_t;
using rtl::tx_state_t;

constexpr uint32_t kMemoryBlocks = 1u << 22;  // 256 MiB of 64 B

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
    WqeBlock block{};
  };
  std::optional<Push> push;  // BlueFlame buffer's entry

  uint16_t ci() const { return st_valid ? st.ci : qpc.sq_ci; }
};

/// What a grant must lead to.
struct Expected {
  tx_job_t job;
  bool decoded = false;   // a good WQE: probe
  bool reads = false;     // WQE read from the ring
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
};

class FetchBench : public Bench<Vwqe_fetch_engine> {
 public:
  explicit FetchBench(Pace p = {}) : Bench(test_seed()), pace(p) {}

  Pace pace;
  std::map<uint16_t, Qp> qps;
  std::map<uint32_t, WqeBlock> memory;  // by block number
  std::deque<uint16_t> grants;
  std::vector<std::pair<tx_job_t, uint64_t>> jobs;
  std::vector<event_t> events;
  std::vector<rtl::op_t> probes;
  unsigned hits = 0, fallbacks = 0, reads = 0, invalid = 0;
  size_t most_reads_open = 0;
  uint64_t grant_taken = 0, read_shown = 0, answered = 0, job_shown = 0;

  void post(uint16_t qpn, const WqeBlock& block) {
    Qp& q = qps[qpn];
    memory[block_of(q, q.pi)] = block;
    ++q.pi;
  }

  static uint32_t block_of(const Qp& q, uint16_t index) {
    return static_cast<uint32_t>(q.qpc.sq_base / 64 + index % (1u << q.qpc.log_sq_size));
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
    top->bf_data_i[1] = static_cast<uint32_t>(rng());
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
      if (q.push) std::memcpy(&top->bf_data_i[0], q.push->block.data(), 64);
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
    top->dm_rsp_valid_i = !answers_.empty() && answers_.front().first <= cycle;
    if (top->dm_rsp_valid_i) {
      rtl::dm_rsp_t r;
      r.last = true;
      std::memcpy(r.data.data(), memory[answers_.front().second].data(), 64);
      rtl::drive(top->dm_rsp_i, r);
      answers_.pop_front();
      answered = cycle;
    }
    top->job_ready_i = chance(pace.job);
    top->evt_ready_i = chance(pace.evt);
    settle();
    if (top->grant_valid_i && top->grant_ready_o) {
      grants.pop_front();
      grant_offered_ = false;
      grant_taken = cycle;
    }
    if (top->qpc_rsp_valid_i && top->qpc_rsp_ready_o) {
      contexts_.pop_front();
      context_shown_ = false;
    }
    if (top->qpc_req_valid_o && top->qpc_req_ready_i) contexts_.emplace_back(cycle + 2, top->qpc_req_idx_o);
    EXPECT_EQ(top->st_re_o, top->pi_re_o);
    if (top->st_re_o) {
      EXPECT_EQ(top->st_qpn_o, top->pi_qpn_o);
      asked_state_ = top->st_qpn_o;
    }
    if (top->bf_re_o) asked_push_.emplace(top->bf_qpn_o, top->bf_wqe_o);
    if (top->dm_req_valid_o && read_shown == 0) read_shown = cycle;
    if (top->dm_req_valid_o && top->dm_req_ready_i) {
      const auto r = rtl::sample<rtl::dm_req_t>(top->dm_req_o);
      EXPECT_FALSE(r.write || r.two);
      EXPECT_EQ(r.addr % 64, 0u);
      answers_.emplace_back(cycle + pace.dm_latency, r.addr / 64);
      most_reads_open = std::max(most_reads_open, answers_.size());
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
    tick();
  }

  bool drain(uint64_t limit = 20000) {
    const uint64_t end = cycle + limit;
    do {
      if (cycle == end) return false;
      step();
    } while (!grants.empty() || !answers_.empty() || !top->idle_o);
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
    const bool supported =
        (c.transport == TransRc || c.transport == TransUc) && !c.ipv6 && !c.vlan_en && c.sq_where == SqInDevice;
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
    if (c.sq_base % 64 != 0 || c.sq_base / 64 + ci % size >= kMemoryBlocks) {
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
    e.reads = !e.hit;
    const auto d = golden::decode_wqe(e.hit ? q.push->block : memory[block_of(q, ci)], qpn, ci, available);
    j.st.ci = d.blocks == 0 ? q.pi : static_cast<uint16_t>(ci + d.blocks);
    j.st.opcode = static_cast<uint8_t>(d.wqe.opcode);
    if (d.syndrome != Syndrome::kNone) {
      refuse(d.syndrome, d.vendor);
      return e;
    }
    if (!mtu_ok) {
      refuse(Syndrome::kLocalQpOp, Vendor::kLength);
      return e;
    }
    if (in_err) return e;
    e.decoded = e.message = true;
    j.st.signaled = d.wqe.signaled;
    j.st.solicited = d.wqe.solicited;
    j.st.imm = d.wqe.imm;
    j.st.msg_len = static_cast<uint32_t>(d.wqe.length);
    j.st.sge0.lkey = d.wqe.lkey;
    j.st.sge0.addr = d.wqe.laddr;
    j.raddr = d.wqe.raddr;
    j.rkey = d.wqe.rkey;
    return e;
  }

 private:
  bool grant_offered_ = false;
  bool context_shown_ = false;
  std::optional<uint16_t> asked_state_;
  std::optional<std::pair<uint16_t, uint16_t>> asked_push_;
  std::deque<std::pair<uint64_t, uint16_t>> contexts_;
  std::deque<std::pair<uint64_t, uint32_t>> answers_;
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
  EXPECT_EQ(got.qpc.pack(), want.qpc.pack());
  if (!e.message) {
    EXPECT_EQ(got.rkey, want.rkey);
    return;
  }
  if (!golden::is_write(static_cast<WqeOpcode>(got.st.opcode)) || got.st.in_msg) got.raddr = got.rkey = 0;
  if (got.st.msg_len == 0) got.st.sge0.lkey = 0, got.st.sge0.addr = 0;
  EXPECT_EQ(got.pack(), want.pack());
}

rtl::qpc_t make_context(std::mt19937_64& rng, uint32_t first_block, unsigned log_size) {
  rtl::qpc_t c;
  auto w = c.pack();
  for (auto& x : w) x = static_cast<uint32_t>(rng());
  c = rtl::qpc_t::unpack_at(w.data(), 0);
  c.state = rtl::rnic_pkg::QpStRts;
  c.transport = rng() & 1;
  c.mtu = static_cast<uint8_t>(1 + rng() % 5);
  c.ipv6 = c.vlan_en = false;
  c.sq_where = rtl::rnic_pkg::SqInDevice;
  c.log_sq_size = static_cast<uint8_t>(log_size);
  c.sq_base = uint64_t{first_block} * 64;
  return c;
}

Wqe random_wqe(std::mt19937_64& rng, uint16_t qpn, uint16_t index) {
  constexpr WqeOpcode kOps[] = {WqeOpcode::kWrite, WqeOpcode::kWriteImm, WqeOpcode::kSend, WqeOpcode::kSendImm};
  Wqe w;
  w.opcode = kOps[rng() % 4];
  w.index = index;
  w.qpn = qpn;
  w.signaled = rng() & 1;
  w.solicited = rng() & 1;
  w.fence = rng() & 1;
  w.imm = static_cast<uint32_t>(rng());
  w.raddr = rng();
  w.rkey = static_cast<uint32_t>(rng());
  w.lkey = static_cast<uint32_t>(rng());
  w.laddr = rng();
  w.length = rng() % 4 == 0 ? 0 : rng() % 5 == 0 ? golden::kMaxMessageBytes : 1 + rng() % 0x7fffffff;
  return w;
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
  b.hits = b.fallbacks = b.reads = b.invalid = 0;
  b.grants.push_back(qpn);
  ASSERT_TRUE(b.drain());
  ASSERT_EQ(b.jobs.size(), 1u);
  expect_job(b.jobs[0].first, e);
  EXPECT_EQ(b.reads, e.reads);
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

/// A turn whose job must carry this error.
void refused_turn(FetchBench& b, uint16_t qpn, Syndrome s, Vendor v) {
  ASSERT_NO_FATAL_FAILURE(turn(b, qpn));
  EXPECT_EQ(b.jobs[0].first.err, static_cast<uint8_t>(s));
  EXPECT_EQ(b.jobs[0].first.rkey, static_cast<uint32_t>(v));
}

// Every operation, with and without payload, comes out as it was posted.
TEST(WqeFetchEngineTest, DecodesEveryOperation) {
  FetchBench b;
  b.qps[17] = make_qp(b);
  for (auto op : {WqeOpcode::kWrite, WqeOpcode::kWriteImm, WqeOpcode::kSend, WqeOpcode::kSendImm}) {
    for (uint64_t length : {uint64_t{0}, uint64_t{1}, uint64_t{0x7fffffff}, golden::kMaxMessageBytes}) {
      for (int i = 0; i < 8; ++i) {
        Qp& q = b.qps[17];
        Wqe w = random_wqe(b.rng, 17, q.pi);
        w.opcode = op;
        w.length = length;
        b.post(17, golden::encode_wqe(w));
        ASSERT_NO_FATAL_FAILURE(turn(b, 17));
        const tx_job_t& j = b.jobs[0].first;
        EXPECT_EQ(j.st.opcode, static_cast<uint8_t>(op));
        EXPECT_EQ(j.st.msg_len, length);
        EXPECT_EQ(j.st.signaled, w.signaled);
        EXPECT_EQ(j.st.solicited, w.solicited);
        EXPECT_EQ(j.st.imm, w.imm);
        EXPECT_EQ(j.st.ci, q.pi);
        q.st = j.st;
        q.st_valid = true;
      }
    }
  }
}

// Each kind of bad WQE is named by its syndromes, and the consumer index goes past it as far as its size can be
// trusted.
TEST(WqeFetchEngineTest, NamesEachDecodingError) {
  struct Case {
    Syndrome syndrome;
    Vendor vendor;
    int advance;  // blocks; -1: to the producer index
    void (*spoil)(WqeBlock&);
  };
  const Case cases[] = {
      {Syndrome::kLocalQpOp, Vendor::kWqeSize, -1, [](WqeBlock& w) { w[7] = 0; }},
      {Syndrome::kLocalQpOp, Vendor::kWqeSize, -1, [](WqeBlock& w) { w[7] = 13; }},
      {Syndrome::kLocalQpOp, Vendor::kWqeSize, -1, [](WqeBlock& w) { w[7] = 255; }},
      {Syndrome::kLocalQpOp, Vendor::kWqeSize, 3, [](WqeBlock& w) { w[7] = 12; }},
      {Syndrome::kLocalQpOp, Vendor::kWqeSize, 2, [](WqeBlock& w) { w[7] = 5; }},
      {Syndrome::kLocalQpOp, Vendor::kWqeSize, 1, [](WqeBlock& w) { w[7] = 4; }},
      {Syndrome::kLocalQpOp, Vendor::kWqeSize, 1, [](WqeBlock& w) { w[7] = 1; }},
      {Syndrome::kLocalQpOp, Vendor::kWqeSize, 1, [](WqeBlock& w) { w[3] = 0x0a; }},
      {Syndrome::kLocalQpOp, Vendor::kWqeQpn, 1, [](WqeBlock& w) { w[6] ^= 1; }},
      {Syndrome::kLocalQpOp, Vendor::kWqeQpn, 1, [](WqeBlock& w) { w[4] ^= 0x80; }},
      {Syndrome::kLocalQpOp, Vendor::kWqeQpn, 1, [](WqeBlock& w) { w[2] ^= 1; }},
      {Syndrome::kLocalQpOp, Vendor::kWqeQpn, 1, [](WqeBlock& w) { w[1] ^= 0x80; }},
      {Syndrome::kLocalQpOp, Vendor::kOpcode, 1, [](WqeBlock& w) { w[3] = 0x00; }},
      {Syndrome::kLocalQpOp, Vendor::kOpcode, 1, [](WqeBlock& w) { w[3] = 0x10; }},
      {Syndrome::kLocalLength, Vendor::kLength, 1, [](WqeBlock& w) { w[32] = 0x80; }},
  };
  for (const Case& c : cases) {
    for (bool pushed : {false, true}) {
      SCOPED_TRACE(testing::Message() << &c - cases << (pushed ? " pushed" : " in the ring"));
      FetchBench b;
      b.qps[600] = make_qp(b);
      Wqe w = random_wqe(b.rng, 600, b.qps[600].pi);
      w.opcode = WqeOpcode::kWrite;
      w.length = 1000;
      const WqeBlock good = golden::encode_wqe(w);
      WqeBlock block = good;
      c.spoil(block);
      if (pushed) b.qps[600].push = Qp::Push{true, b.qps[600].pi, block};
      b.post(600, pushed ? good : block);
      b.qps[600].pi += 2;
      ASSERT_NO_FATAL_FAILURE(refused_turn(b, 600, c.syndrome, c.vendor));
      const uint16_t advance = static_cast<uint16_t>(b.jobs[0].first.st.ci - b.qps[600].qpc.sq_ci);
      EXPECT_EQ(advance, c.advance < 0 ? 3 : c.advance);
    }
  }
}

// A ring that is not wholly in device memory, or not on a block's boundary, is refused without a read.
TEST(WqeFetchEngineTest, RefusesARingOutsideDeviceMemory) {
  for (uint64_t base : {uint64_t{1} << 28, uint64_t{1} << 63, uint64_t{0x1000020}, (uint64_t{1} << 28) - 64}) {
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
        for (int k = 0; k < n; ++k) b.post(8, golden::encode_wqe(random_wqe(b.rng, 8, b.qps[8].pi)));
        for (int k = 0; k < n; ++k) {
          ASSERT_NO_FATAL_FAILURE(turn(b, 8));
          ASSERT_FALSE(b.jobs[0].first.noop);
          b.qps[8].st = b.jobs[0].first.st;
          b.qps[8].st_valid = true;
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
  b.post(3, golden::encode_wqe(random_wqe(b.rng, 3, 0xffff)));
  ASSERT_NO_FATAL_FAILURE(turn(b, 3));
  EXPECT_EQ(b.probes.size(), 1u);
  EXPECT_EQ(b.jobs[0].first.st.ci, 0);
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
      q.qpc.mtu = mtu;
      q.st_valid = in_msg;
      q.st.in_msg = in_msg;
      b.qps[3] = q;
      b.qps[3].pi = q.ci();
      b.post(3, golden::encode_wqe(random_wqe(b.rng, 3, q.ci())));
      ASSERT_NO_FATAL_FAILURE(refused_turn(b, 3, Syndrome::kLocalQpOp, Vendor::kLength));
    }
  }
}

// A QP that cannot send, or not in the way asked for, is reported to the event log and released with nothing done.
TEST(WqeFetchEngineTest, QpThatCannotSendRaisesAnEvent) {
  using namespace rtl::rnic_pkg;
  const std::vector<void (*)(rtl::qpc_t&)> spoils = {
      [](rtl::qpc_t& c) { c.state = QpStReset; },   [](rtl::qpc_t& c) { c.state = QpStInit; },
      [](rtl::qpc_t& c) { c.state = QpStRtr; },     [](rtl::qpc_t& c) { c.state = 15; },
      [](rtl::qpc_t& c) { c.state = 4; },           [](rtl::qpc_t& c) { c.state = 5; },
      [](rtl::qpc_t& c) { c.state = 7; },           [](rtl::qpc_t& c) { c.state = QpStErr, c.ipv6 = true; },
      [](rtl::qpc_t& c) { c.transport = TransUd; }, [](rtl::qpc_t& c) { c.transport = 3; },
      [](rtl::qpc_t& c) { c.ipv6 = true; },         [](rtl::qpc_t& c) { c.vlan_en = true; },
      [](rtl::qpc_t& c) { c.sq_where = SqInHost; },
  };
  for (auto spoil : spoils) {
    for (bool err : {false, true}) {
      FetchBench b;
      b.qps[1000] = make_qp(b);
      b.qps[1000].err = err;
      spoil(b.qps[1000].qpc);
      b.post(1000, golden::encode_wqe(random_wqe(b.rng, 1000, b.qps[1000].pi)));
      ASSERT_NO_FATAL_FAILURE(turn(b, 1000));
      EXPECT_TRUE(b.jobs[0].first.noop);
      EXPECT_EQ(b.events.size(), 1u);
      EXPECT_EQ(b.reads, 0u);
    }
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
      for (int i = 0; i < 5; ++i) b.post(40, golden::encode_wqe(random_wqe(b.rng, 40, b.qps[40].pi)));
      std::vector<uint16_t> flushed;
      for (int i = 0; i < 10; ++i) {
        ASSERT_NO_FATAL_FAILURE(turn(b, 40));
        const tx_job_t& j = b.jobs[0].first;
        if (j.noop) break;
        EXPECT_TRUE(j.flush);
        flushed.push_back(j.st.wqe_idx);
        b.qps[40].st_valid = true;
        b.qps[40].st = j.st;
        b.qps[40].st.in_msg = false;
      }
      std::vector<uint16_t> want;
      for (int i = in_msg ? -1 : 0; i < 5; ++i) want.push_back(static_cast<uint16_t>(q.qpc.sq_ci + i));
      EXPECT_EQ(flushed, want);
    }
  }
}

// A pushed WQE is used without a read; one that is incomplete or another one is ignored.
TEST(WqeFetchEngineTest, TakesThePushedWqe) {
  for (unsigned job_pct : {100u, 20u}) {
    FetchBench b(Pace{100, 100, 30, 26, job_pct, 100});
    for (int kind = 0; kind < 3; ++kind) {
      b.qps[99] = make_qp(b);
      const uint16_t index = b.qps[99].pi;
      b.post(99, golden::encode_wqe(random_wqe(b.rng, 99, index)));
      Qp::Push push;
      push.index = static_cast<uint16_t>(index + (kind == 1));
      push.complete = kind != 2;
      push.block = golden::encode_wqe(random_wqe(b.rng, 99, index));  // another one than the ring's
      b.qps[99].push = push;
      ASSERT_NO_FATAL_FAILURE(turn(b, 99));
      EXPECT_EQ(b.hits, kind == 0);
      EXPECT_EQ(b.fallbacks, kind != 0);
    }
  }
}

// Unloaded: the read is asked for three cycles after the grant, and its answer is a job two cycles later.
TEST(WqeFetchEngineTest, LatencyIsThreeCyclesToTheReadAndTwoFromIt) {
  FetchBench b;
  b.step();
  b.qps[1] = make_qp(b);
  b.post(1, golden::encode_wqe(random_wqe(b.rng, 1, b.qps[1].pi)));
  b.grants.push_back(1);
  ASSERT_TRUE(b.drain());
  const auto to_read = static_cast<int64_t>(b.read_shown - b.grant_taken);
  const auto from_read = static_cast<int64_t>(b.job_shown - b.answered);
  EXPECT_TRUE(takes_cycles({"wqe_fetch_engine", side("fifo")}, {3, 2}, {to_read, from_read}));
}

// Without a read, a job follows its grant in five cycles: WQE pushed, or nothing to do.
TEST(WqeFetchEngineTest, JobFollowsGrantInFiveCyclesWithoutARead) {
  for (bool pushed : {true, false}) {
    FetchBench b;
    b.step();
    b.qps[1] = make_qp(b);
    if (pushed) {
      const WqeBlock block = golden::encode_wqe(random_wqe(b.rng, 1, b.qps[1].pi));
      b.qps[1].push = Qp::Push{true, b.qps[1].pi, block};
      b.post(1, block);
    }
    b.grants.push_back(1);
    ASSERT_TRUE(b.drain());
    const auto cycles = static_cast<int64_t>(b.job_shown - b.grant_taken);
    EXPECT_TRUE(takes_cycles({side("wqe_fetch_engine"), side("fifo")}, {5}, {cycles}));
  }
}

// With a slow memory, Depth reads are open at a time, and none is lost when the jobs don't leave.
TEST(WqeFetchEngineTest, ThirtyTwoReadsAreOpenAtOnce) {
  FetchBench b(Pace{100, 100, 100, 300, 100, 100});
  std::vector<Expected> want;
  for (uint16_t qpn = 0; qpn < 100; ++qpn) {
    b.qps[qpn] = make_qp(b, (1 << 18) + 16 * qpn);
    b.post(qpn, golden::encode_wqe(random_wqe(b.rng, qpn, b.qps[qpn].pi)));
    b.grants.push_back(qpn);
    want.push_back(b.expect(qpn));
  }
  b.pace.job = 0;
  for (int i = 0; i < 1000; ++i) b.step();
  EXPECT_TRUE(b.jobs.empty());
  b.pace.job = 100;
  ASSERT_TRUE(b.drain());
  EXPECT_GE(b.most_reads_open, 32u);
  ASSERT_EQ(b.jobs.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) expect_job(b.jobs[i].first, want[i]);
}

// Grants of different QPs pass at one a cycle.
TEST(WqeFetchEngineTest, OneJobEveryCycle) {
  FetchBench b(Pace{100, 100, 100, 20, 100, 100});
  for (uint16_t qpn = 0; qpn < 200; ++qpn) {
    b.qps[qpn] = make_qp(b, (1 << 18) + 16 * qpn);
    b.post(qpn, golden::encode_wqe(random_wqe(b.rng, qpn, b.qps[qpn].pi)));
    b.grants.push_back(qpn);
  }
  ASSERT_TRUE(b.drain());
  ASSERT_EQ(b.jobs.size(), 200u);
  EXPECT_LE(b.jobs.back().second - b.jobs.front().second, 200u);
}

// Many QPs with good and bad WQEs, pushes, errors and messages in progress: every grant gives the right job, in order.
TEST(WqeFetchEngineTest, EveryMixtureUnderEveryPace) {
  for (Pace pace : {Pace{}, Pace{100, 100, 100, 60, 100, 100}, Pace{100, 40, 100, 5, 100, 20},
                    Pace{100, 100, 20, 30, 100, 100}, Pace{100, 100, 100, 30, 15, 100}, Pace{20, 60, 60, 3, 60, 60}}) {
    FetchBench b(pace);
    std::vector<uint16_t> names;
    for (uint16_t i = 0; i < 48; ++i) {
      const auto qpn = static_cast<uint16_t>((i * 131 + 7) % 1024);
      names.push_back(qpn);
      b.qps[qpn] = make_qp(b, (1 << 18) + 64 * i, b.rng() % 6);
    }
    std::deque<Expected> open;  // granted, job not seen
    std::map<uint16_t, bool> out;
    unsigned seen = 0, decoded = 0, errors = 0, flushes = 0, hits = 0, continued = 0, events = 0;
    size_t event_at = 0;
    std::deque<event_t> want_events;
    while (seen < 3000) {
      ASSERT_LT(b.cycle, 500000u) << "hang; seed " << test_seed();
      if (b.grants.size() < 3) {
        const uint16_t qpn = names[b.rng() % names.size()];
        Qp& q = b.qps[qpn];
        if (!out[qpn]) {
          // Post something, perhaps.
          while (b.chance(60) && static_cast<uint16_t>(q.pi - q.ci()) < (1u << q.qpc.log_sq_size)) {
            WqeBlock block = golden::encode_wqe(random_wqe(b.rng, qpn, q.pi));
            if (b.chance(30)) {
              Qp::Push push;
              push.complete = b.chance(80);
              push.index = q.pi;
              push.block = block;
              q.push = push;
            }
            if (b.chance(10)) block[b.rng() % 8] ^= static_cast<uint8_t>(1 << b.rng() % 8);
            b.post(qpn, block);
          }
          if (b.chance(3)) {
            q.err = true;
          } else if (b.chance(30) && q.err && !(q.st_valid && q.st.in_msg)) {
            // Set up again.
            q = make_qp(b, static_cast<uint32_t>(q.qpc.sq_base / 64), q.qpc.log_sq_size);
            if (b.chance(10)) q.qpc.state = b.rng() % 7;
          }
          q.pi_valid = b.chance(95);
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
          q.st.in_msg = j.st.msg_len > 1 && b.chance(50);
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
