// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <map>
#include <optional>

#include "Vcqe_writer.h"
#include "rnic/golden/cqe.h"
#include "rtl/bench.h"
#include "support/latency.h"

namespace rnic::test {
namespace {

using golden::Cqe;
namespace pkg = rtl::rnic_pkg;

struct Write {
  uint64_t addr;
  Cqe cqe;
  rtl::op_t op;
};

rtl::cqe_req_t request(uint32_t cqn, uint16_t wqe, uint8_t syndrome = 0, uint8_t vendor = 0) {
  rtl::cqe_req_t r;
  r.op.qpn = static_cast<uint16_t>(0x155 ^ wqe) & 0x3ff;
  r.op.wqe = wqe;
  r.op.psn = 0xabcdef ^ wqe;
  r.op.last = true;
  r.cqn = cqn;
  r.wqe_opcode = 0x0a;
  r.byte_cnt = syndrome ? 0 : 0x01020304u + wqe;
  r.syndrome = syndrome;
  r.vendor = vendor;
  return r;
}

// The block between a context cache model and collecting sinks. now_i is 1000 * cycle.
class CqeBench : public Bench<Vcqe_writer> {
 public:
  explicit CqeBench(uint64_t seed = 1) : Bench(seed) {}

  unsigned req_pct = 100, hit_pct = 100, wr_pct = 100, wdata_pct = 100, evt_pct = 100;
  size_t most_lookups = 4;  // that the context cache takes at a time

  void set_cq(uint32_t cqn, uint64_t base, unsigned log_size, uint32_t ci) {
    rtl::cqc_t c;
    c.valid = true;
    c.base = base;
    c.log_size = static_cast<uint8_t>(log_size);
    c.ci = ci;
    c.irq_en = cqn & 1;
    c.irq_vector = static_cast<uint8_t>(cqn % 64);
    c.irq_count = static_cast<uint16_t>(cqn * 77);
    c.irq_period = static_cast<uint16_t>(cqn * 99);
    cqcs[cqn] = c;
  }

  void doorbell(uint16_t cqn, uint32_t ci, uint64_t kind = pkg::DbCqCi) {
    rtl::doorbell_t d;
    d.kind = static_cast<uint8_t>(kind);
    d.qpn = cqn;
    d.value = ci;
    db_ = d;
  }
  void clear(uint16_t cqn) { clear_ = cqn; }
  struct Indices {
    int64_t pi, ci;  ///< -1: not known
    bool overrun;
    bool operator==(const Indices& o) const { return pi == o.pi && ci == o.ci && overrun == o.overrun; }
  };
  Indices query(uint16_t cqn) {
    top->q_re_i = 1, top->q_cqn_i = cqn;
    step();
    top->q_re_i = 0, top->q_cqn_i = static_cast<uint16_t>(cqn ^ 1);
    step();
    return {top->q_pi_valid_o ? int64_t{top->q_pi_o} : -1, top->q_ci_valid_o ? int64_t{top->q_ci_o} : -1,
            static_cast<bool>(top->q_overrun_o)};
  }

  void step() {
    if (!req_up_) req_up_ = !requests.empty() && chance(req_pct);
    top->req_valid_i = req_up_;
    if (req_up_) rtl::drive(top->req_i, requests.front());
    top->db_valid_i = db_.has_value();
    if (db_) rtl::drive(top->db_i, *db_);
    top->clear_i = clear_ >= 0;
    if (clear_ >= 0) top->clear_cqn_i = static_cast<uint16_t>(clear_);
    db_.reset();
    clear_ = -1;
    top->cqc_req_ready_i = lookups_.size() < most_lookups;
    if (!rsp_up_) rsp_up_ = !lookups_.empty() && lookups_.front().second <= cycle && chance(hit_pct);
    top->cqc_rsp_valid_i = rsp_up_;
    if (rsp_up_) rtl::drive(top->cqc_rsp_i, cqcs[lookups_.front().first]);
    top->wr_ready_i = chance(wr_pct);
    top->wdata_ready_i = chance(wdata_pct);
    top->evt_ready_i = chance(evt_pct);
    top->now_i = 1000 * cycle;
    settle();
    if (top->wr_valid_o && first_wr_cycle < 0) first_wr_cycle = static_cast<int64_t>(cycle);
    if (top->wr_valid_o && top->wr_ready_i) {
      const auto w = rtl::sample<rtl::wr_req_t>(top->wr_o);
      EXPECT_EQ(w.len, 64);
      addrs_.push_back(w);
    }
    if (top->wdata_valid_o && top->wdata_ready_i) {
      golden::CqeBytes b;
      for (unsigned i = 0; i < 64; ++i) b[i] = static_cast<uint8_t>(top->wdata_o[i / 4] >> (8 * (i % 4)));
      const Cqe c = golden::decode_cqe(b);
      EXPECT_EQ(golden::encode_cqe(c), b) << "bytes set that mean nothing";
      cqes_.push_back(c);
    }
    if (!addrs_.empty() && !cqes_.empty()) {
      writes.push_back({addrs_.front().addr, cqes_.front(), addrs_.front().op});
      addrs_.pop_front();
      cqes_.pop_front();
    }
    if (top->note_valid_o) {
      ++notes;
      // At the edge that takes the later of write and data: nothing of this entry is left, nothing of the next one
      // gone.
      EXPECT_TRUE(addrs_.empty() && cqes_.empty());
      const auto n = rtl::sample<rtl::cq_note_t>(top->note_o);
      const auto c = cqcs[n.cqn];
      EXPECT_EQ(writes.back().addr,
                c.base + 64 * (n.index & ((uint64_t{1} << std::min<unsigned>(c.log_size, 24)) - 1)));
      EXPECT_EQ(n.solicited, writes.back().cqe.is_error());
      EXPECT_EQ(n.irq_en, c.irq_en);
      EXPECT_EQ(n.irq_vector, c.irq_vector);
      EXPECT_EQ(n.count, c.irq_count);
      EXPECT_EQ(n.period, c.irq_period);
    }
    if (top->evt_valid_o && top->evt_ready_i) events.push_back(rtl::sample<rtl::event_t>(top->evt_o));
    ok += top->stat_cqe_ok_o;
    err += top->stat_cqe_err_o;
    overrun += top->stat_overrun_o;
    const bool taken = top->req_valid_i && top->req_ready_o;
    const bool asked = top->cqc_req_valid_o && top->cqc_req_ready_i;
    const uint32_t idx = top->cqc_req_idx_o;
    const bool answered = top->cqc_rsp_valid_i && top->cqc_rsp_ready_o;
    if (taken && first_req_cycle < 0) first_req_cycle = static_cast<int64_t>(cycle);
    tick();
    if (taken) requests.pop_front(), req_up_ = false;
    if (answered) lookups_.pop_front(), rsp_up_ = false;
    if (asked) lookups_.emplace_back(idx, cycle + 1);
  }

  void drain() {
    unsigned limit = 100000;
    while (!requests.empty() || !top->idle_o) {
      ASSERT_NE(limit--, 0u) << "hangs";
      step();
    }
    for (int i = 0; i < 10; ++i) step();
    EXPECT_TRUE(top->idle_o);
    EXPECT_TRUE(addrs_.empty());
    EXPECT_TRUE(cqes_.empty());
    EXPECT_EQ(notes, ok + err) << "entries written and notes for cq_arm";
  }

  std::deque<rtl::cqe_req_t> requests;
  std::map<uint32_t, rtl::cqc_t> cqcs;
  std::vector<Write> writes;
  std::vector<rtl::event_t> events;
  unsigned ok = 0, err = 0, overrun = 0, notes = 0;
  int64_t first_req_cycle = -1, first_wr_cycle = -1;

 private:
  bool req_up_ = false, rsp_up_ = false;
  std::optional<rtl::doorbell_t> db_;
  int clear_ = -1;
  std::deque<std::pair<uint32_t, uint64_t>> lookups_;
  std::deque<rtl::wr_req_t> addrs_;
  std::deque<Cqe> cqes_;
};

// One successful CQE: every byte of the entry, its address, and a time stamp between request and write.
TEST(CqeWriterTest, SuccessEntry) {
  CqeBench b;
  b.set_cq(7, 0x1234567890abc000, 4, 0x35);
  b.requests.push_back(request(7, 0xbeef));
  b.drain();
  ASSERT_EQ(b.writes.size(), 1u);
  EXPECT_EQ(b.writes[0].addr, 0x1234567890abc000u + 5 * 64);
  Cqe e;
  e.byte_cnt = 0x01020304u + 0xbeef;
  e.timestamp = b.writes[0].cqe.timestamp;
  EXPECT_GE(e.timestamp, 1000 * static_cast<uint64_t>(b.first_req_cycle));
  EXPECT_LT(e.timestamp, 1000 * static_cast<uint64_t>(b.first_wr_cycle));
  e.wqe_opcode = 0x0a;
  e.qpn = (0x155 ^ 0xbeef) & 0x3ff;
  e.wqe_counter = 0xbeef;
  e.opcode = Cqe::kReqOk;
  e.owner = true;  // index 0x35 of a ring of 16: odd round
  EXPECT_EQ(golden::encode_cqe(b.writes[0].cqe), golden::encode_cqe(e));
  EXPECT_EQ(b.writes[0].op.wqe, 0xbeef);
  EXPECT_EQ(b.writes[0].op.psn, 0xabcdefu ^ 0xbeef);
  EXPECT_EQ(b.writes[0].op.qpn, e.qpn);
  EXPECT_TRUE(b.events.empty());
  EXPECT_EQ(b.ok, 1u);
  EXPECT_EQ(b.err, 0u);
}

// An entry's write is offered four cycles after its request, and its time is that of the cycle before.
TEST(CqeWriterTest, WriteFollowsRequestInFourCycles) {
  CqeBench b;
  b.set_cq(7, 0x1234567890abc000, 4, 0x35);
  b.requests.push_back(request(7, 0xbeef));
  b.drain();
  ASSERT_EQ(b.writes.size(), 1u);
  const auto stamp = static_cast<int64_t>(b.writes[0].cqe.timestamp) / 1000;
  EXPECT_TRUE(takes_cycles({"cqe_writer", side("fifo")}, {4}, {b.first_wr_cycle - b.first_req_cycle}));
  EXPECT_TRUE(takes_cycles({side("cqe_writer"), side("fifo")}, {1}, {int64_t{b.first_wr_cycle} - stamp}));
}

// An error CQE carries syndrome and vendor syndrome instead of the time stamp, and leaves an event.
TEST(CqeWriterTest, ErrorEntry) {
  CqeBench b;
  b.set_cq(1023, 0x10000, 0, 0);
  b.requests.push_back(request(1023, 3, static_cast<uint8_t>(pkg::SynLocalProt), static_cast<uint8_t>(pkg::VenBounds)));
  b.drain();
  ASSERT_EQ(b.writes.size(), 1u);
  const Cqe& c = b.writes[0].cqe;
  EXPECT_EQ(c.opcode, Cqe::kReqError);
  EXPECT_EQ(c.syndrome, pkg::SynLocalProt);
  EXPECT_EQ(c.vendor_syndrome, pkg::VenBounds);
  EXPECT_EQ(c.wqe_counter, 3);
  EXPECT_FALSE(c.owner);
  ASSERT_EQ(b.events.size(), 1u);
  EXPECT_EQ(b.events[0].kind, pkg::EvtWqeError);
  EXPECT_EQ(b.events[0].index, (0x155u ^ 3) & 0x3ff);
  EXPECT_EQ(b.events[0].wqe, 3);
  EXPECT_EQ(b.events[0].syndrome, pkg::SynLocalProt);
  EXPECT_EQ(b.events[0].vendor, pkg::VenBounds);
  EXPECT_EQ(b.err, 1u);
  EXPECT_EQ(b.ok, 0u);
}

// Every operation with every syndrome and vendor syndrome that exists: entry, event and counts.
TEST(CqeWriterTest, EveryKindOfEntry) {
  struct Cause {
    uint64_t syndrome, vendor;
  };
  std::vector<Cause> causes = {{0, 0},
                               {pkg::SynFlushed, pkg::VenNone},
                               {pkg::SynLocalLength, pkg::VenLength},
                               {pkg::SynLocalQpOp, pkg::VenOpcode},
                               {pkg::SynLocalQpOp, pkg::VenWqeSize},
                               {pkg::SynLocalQpOp, pkg::VenWqeQpn},
                               {pkg::SynLocalQpOp, pkg::VenLength},
                               {pkg::SynLocalQpOp, pkg::VenBounds},
                               {pkg::SynLocalProt, pkg::VenKey},
                               {pkg::SynLocalProt, pkg::VenBounds},
                               {pkg::SynLocalProt, pkg::VenPd}};
  for (uint64_t status = pkg::DmaUr; status <= pkg::DmaNoMaster; ++status)
    causes.push_back({pkg::SynLocalQpOp, pkg::VenDma + status});
  CqeBench b;
  b.set_cq(3, 0x40000, 8, 0);
  std::vector<rtl::cqe_req_t> sent;
  for (unsigned opcode = 0x08; opcode <= 0x0b; ++opcode) {
    for (const Cause& c : causes) {
      auto r = request(3, static_cast<uint16_t>(sent.size()), static_cast<uint8_t>(c.syndrome),
                       static_cast<uint8_t>(c.vendor));
      r.wqe_opcode = static_cast<uint8_t>(opcode);
      b.requests.push_back(r);
      sent.push_back(r);
    }
  }
  b.drain();
  ASSERT_EQ(b.writes.size(), sent.size());
  size_t event = 0;
  for (size_t i = 0; i < sent.size(); ++i) {
    SCOPED_TRACE(i);
    const Cqe& c = b.writes[i].cqe;
    EXPECT_EQ(c.is_error(), sent[i].syndrome != 0);
    EXPECT_EQ(c.wqe_opcode, sent[i].wqe_opcode);
    EXPECT_EQ(c.byte_cnt, sent[i].byte_cnt);
    if (!c.is_error()) continue;
    EXPECT_EQ(c.syndrome, sent[i].syndrome);
    EXPECT_EQ(c.vendor_syndrome, sent[i].vendor);
    ASSERT_LT(event, b.events.size());
    EXPECT_EQ(b.events[event].kind, pkg::EvtWqeError);
    EXPECT_EQ(b.events[event].wqe, sent[i].op.wqe);
    EXPECT_EQ(b.events[event].syndrome, sent[i].syndrome);
    EXPECT_EQ(b.events[event].vendor, sent[i].vendor);
    ++event;
  }
  EXPECT_EQ(event, b.events.size());
  EXPECT_EQ(b.ok, 4u);
  EXPECT_EQ(b.err, sent.size() - 4);
}

// Rings of every size that the index knows: place, owner bit and the number that fits. What is larger than that has no
// round and is never full.
TEST(CqeWriterTest, EveryRingSize) {
  for (unsigned log = 0; log <= 31; ++log) {
    SCOPED_TRACE(log);
    const uint64_t size = log < 24 ? uint64_t{1} << log : uint64_t{1} << 24;
    const auto first = static_cast<uint32_t>((3 * size - 1) & 0xffffff);  // the last place of a ring, then the first
    CqeBench b;
    b.set_cq(9, 0x5000000000, log, first);
    b.requests.push_back(request(9, 0));
    b.requests.push_back(request(9, 1));
    b.drain();
    ASSERT_EQ(b.writes.size(), size == 1 ? 1u : 2u);
    EXPECT_EQ(b.overrun, size == 1 ? 1u : 0u);
    for (uint32_t i = 0; i < b.writes.size(); ++i) {
      const uint32_t index = (first + i) & 0xffffff;
      EXPECT_EQ(b.writes[i].addr, 0x5000000000 + 64 * (index % size));
      EXPECT_EQ(b.writes[i].cqe.owner, log < 24 ? index >> log & 1 : 0u);
    }
  }
}

// Software that follows the owner bit alone finds every CQE once and in order, over many rounds and a wrapping index.
TEST(CqeWriterTest, OwnerBitLeadsTheConsumer) {
  for (unsigned log_size : {0u, 1u, 3u}) {
    CqeBench b(test_seed());
    uint32_t ci = 0xffffe0;
    b.set_cq(9, 0x40000, log_size, ci);
    std::map<uint64_t, golden::CqeBytes> ring;
    for (uint32_t i = 0; i < (1u << log_size); ++i) {  // as the driver leaves it
      Cqe c;
      c.owner = !((ci >> log_size) & 1);
      ring[0x40000 + 64 * i] = golden::encode_cqe(c);
    }
    for (uint16_t i = 0; i < 200; ++i) {
      b.requests.push_back(request(9, i));
      b.drain();
      ASSERT_EQ(b.writes.size(), 1u);
      ring[b.writes[0].addr] = golden::encode_cqe(b.writes[0].cqe);
      b.writes.clear();
      const auto& entry = ring.at(0x40000 + 64 * (ci & ((1u << log_size) - 1)));
      ASSERT_TRUE(golden::cqe_valid(entry, ci, log_size));
      ASSERT_EQ(golden::decode_cqe(entry).wqe_counter, i);
      ci = (ci + 1) & 0xffffff;
      ASSERT_FALSE(golden::cqe_valid(ring.at(0x40000 + 64 * (ci & ((1u << log_size) - 1))), ci, log_size));
      b.doorbell(9, ci);
    }
    EXPECT_EQ(ring.size(), size_t{1} << log_size);
    EXPECT_EQ(b.overrun, 0u);
  }
}

// A ring takes exactly its size; the next CQE is dropped, counted and logged once, and the CQ stays closed, even with
// room again, until it is set up anew.
TEST(CqeWriterTest, Overrun) {
  CqeBench b;
  b.set_cq(2, 0x1000, 2, 100);
  b.set_cq(3, 0x8000, 2, 0);
  for (uint16_t i = 0; i < 6; ++i) b.requests.push_back(request(2, i));
  b.requests.push_back(request(3, 77));  // another CQ is not concerned
  b.drain();
  EXPECT_EQ(b.writes.size(), 5u);
  EXPECT_EQ(b.overrun, 2u);
  ASSERT_EQ(b.events.size(), 1u);
  EXPECT_EQ(b.events[0].kind, pkg::EvtCqOverrun);
  EXPECT_EQ(b.events[0].index, 2u);
  EXPECT_EQ(b.events[0].wqe, 4);
  b.doorbell(2, 104);
  b.requests.push_back(request(2, 8));
  b.drain();
  EXPECT_EQ(b.writes.size(), 5u);
  EXPECT_EQ(b.overrun, 3u);
  b.set_cq(2, 0x2000, 3, 0);
  b.clear(2);
  b.step();
  b.requests.push_back(request(2, 9));
  b.drain();
  ASSERT_EQ(b.writes.size(), 6u);
  EXPECT_EQ(b.writes[5].addr, 0x2000u);
}

// Queries see indices, what is not known yet, overrun, and a CQ set up anew.
TEST(CqeWriterTest, QueriesReadTheIndices) {
  CqeBench b;
  using I = CqeBench::Indices;
  b.set_cq(2, 0x1000, 2, 100);
  EXPECT_EQ(b.query(2), (I{-1, -1, false}));
  for (uint16_t i = 0; i < 4; ++i) b.requests.push_back(request(2, i));
  b.drain();
  EXPECT_EQ(b.query(2), (I{104, -1, false}));
  b.doorbell(2, 103);
  b.step();
  EXPECT_EQ(b.query(2), (I{104, 103, false}));
  for (uint16_t i = 0; i < 4; ++i) b.requests.push_back(request(2, i));
  b.drain();
  EXPECT_EQ(b.query(2), (I{107, 103, true}));
  EXPECT_EQ(b.query(3), (I{-1, -1, false}));
  b.clear(2);
  b.step();
  EXPECT_EQ(b.query(2), (I{-1, -1, false}));
}

// A consumer doorbell in any cycle around the CQE that needs it opens the ring, if it comes before the entry is built;
// the arm doorbell changes nothing.
TEST(CqeWriterTest, DoorbellMeetsRequest) {
  unsigned written = 0;
  bool open = true;  // still early enough
  for (int when = 0; when < 24; ++when) {
    CqeBench b;
    b.set_cq(4, 0, 0, 0);
    b.requests.push_back(request(4, 0));
    b.drain();
    b.doorbell(4, 1, pkg::DbCqArm);
    b.step();
    b.requests.push_back(request(4, 1));
    for (int i = 0; i < 24; ++i) {
      if (i == when) b.doorbell(4, 1);
      b.step();
    }
    b.drain();
    EXPECT_EQ(b.writes.size() + b.overrun, 2u);
    EXPECT_TRUE(open || b.writes.size() == 1) << when;
    open = b.writes.size() == 2;
    written += open;
  }
  EXPECT_FALSE(open);
  if (!replaced("cqe_writer")) {
    EXPECT_EQ(written, 3u);  // taken, asked, answered: then the entry is built
  }
}

// An entry that waits for the event port still sees a consumer doorbell that comes meanwhile.
TEST(CqeWriterTest, DoorbellReachesAWaitingEntry) {
  for (bool doorbell : {true, false}) {
    CqeBench b;
    b.evt_pct = 0;
    b.set_cq(4, 0, 0, 0);
    b.requests.push_back(request(4, 0, 5));
    b.requests.push_back(request(4, 1, 5));
    for (int i = 0; i < 20; ++i) b.step();
    EXPECT_EQ(b.writes.size(), 1u);
    if (doorbell) b.doorbell(4, 1);
    b.step();
    b.evt_pct = 100;
    b.drain();
    EXPECT_EQ(b.writes.size(), doorbell ? 2u : 1u);
    EXPECT_EQ(b.overrun, doorbell ? 0u : 1u);
    EXPECT_EQ(b.events.size(), 2u);
  }
}

// A CQ that does not exist drops the CQE and logs it: invalid context, or a number beyond the table.
TEST(CqeWriterTest, InvalidCq) {
  CqeBench b;
  b.set_cq(5, 0x1000, 4, 3);
  b.requests.push_back(request(6, 1));
  b.requests.push_back(request(1024 + 5, 2));
  b.requests.push_back(request(5, 3));
  b.drain();
  ASSERT_EQ(b.writes.size(), 1u);
  EXPECT_EQ(b.writes[0].cqe.wqe_counter, 3);
  EXPECT_EQ(b.writes[0].addr, 0x1000u + 3 * 64);  // the dropped ones moved no index
  ASSERT_EQ(b.events.size(), 2u);
  EXPECT_EQ(b.events[0].kind, pkg::EvtCqInvalid);
  EXPECT_EQ(b.events[0].index, 6u);
  EXPECT_EQ(b.events[1].index, 1024u + 5);
  EXPECT_EQ(b.overrun, 0u);
}

// Reports of dropped entries wait for the event port, too; none is lost, and nothing passes them.
TEST(CqeWriterTest, ReportsWaitForTheEventPort) {
  CqeBench b;
  b.evt_pct = 0;
  b.set_cq(5, 0x1000, 0, 0);
  for (uint16_t i = 0; i < 3; ++i) b.requests.push_back(request(6, i));  // no such CQ
  b.requests.push_back(request(5, 3));
  b.requests.push_back(request(5, 4));  // full
  b.requests.push_back(request(7, 5));
  for (int i = 0; i < 50; ++i) b.step();
  EXPECT_TRUE(b.writes.empty());
  for (int n = 0; n < 5; ++n) {
    b.evt_pct = 100;
    b.step();
    b.evt_pct = 0;
    for (int i = 0; i < 20; ++i) b.step();
  }
  EXPECT_EQ(b.writes.size(), 1u);
  std::vector<unsigned> kinds;
  for (const auto& e : b.events) kinds.push_back(e.kind);
  EXPECT_EQ(kinds, (std::vector<unsigned>{pkg::EvtCqInvalid, pkg::EvtCqInvalid, pkg::EvtCqInvalid, pkg::EvtCqOverrun,
                                          pkg::EvtCqInvalid}));
  b.evt_pct = 100;
  b.drain();
}

// A slow context cache that takes many lookups fills the queue behind them; the requests then wait, in order.
TEST(CqeWriterTest, LookupQueueFills) {
  CqeBench b;
  b.most_lookups = 100;
  b.hit_pct = 0;
  b.set_cq(5, 0x1000, 6, 0);
  for (uint16_t i = 0; i < 30; ++i) b.requests.push_back(request(5, i));
  for (int i = 0; i < 40; ++i) b.step();
  EXPECT_GT(b.requests.size(), 0u);
  if (!replaced("cqe_writer")) {
    EXPECT_EQ(b.requests.size(), 22u);
  }
  b.hit_pct = 100;
  b.drain();
  ASSERT_EQ(b.writes.size(), 30u);
  for (uint16_t i = 0; i < 30; ++i) EXPECT_EQ(b.writes[i].cqe.wqe_counter, i);
}

// CmdCqModify in any cycle around an entry's own: the indices restart from the context when it comes with the entry or
// later. A consumer index at the same edge belongs to the CQ's former life.
TEST(CqeWriterTest, ClearMeetsEntry) {
  for (int at = 0; at < 10; ++at) {
    SCOPED_TRACE(at);
    CqeBench b;
    b.set_cq(5, 0x1000, 6, 10);
    b.requests.push_back(request(5, 0));
    int done = -1;
    for (int i = 0; i < 12; ++i) {
      if (i == at) b.clear(5);
      b.step();
      if (done < 0 && b.ok != 0) done = i;
    }
    ASSERT_GE(done, 1);
    ASSERT_LT(done, 9) << "the entry is not among the cycles tried";
    b.requests.push_back(request(5, 1));
    b.drain();
    ASSERT_EQ(b.writes.size(), 2u);
    EXPECT_EQ(b.writes[1].addr, 0x1000u + 64 * (at >= done ? 10 : 11));
  }
  CqeBench b;
  b.set_cq(5, 0x1000, 0, 10);
  b.requests.push_back(request(5, 0));
  b.drain();
  b.doorbell(5, 11);
  b.clear(5);
  b.step();
  b.requests.push_back(request(5, 1));
  b.drain();
  EXPECT_EQ(b.writes.size(), 2u);
  EXPECT_EQ(b.overrun, 0u);
}

struct Shape {
  unsigned req, hit, wr, wdata, evt;
};
class CqeWriterGrid : public testing::TestWithParam<Shape> {};

// Random requests to several CQs, with driver doorbells, come out complete and in order, whatever stalls.
TEST_P(CqeWriterGrid, KeepsOrderAndCount) {
  const uint64_t seed = test_seed();
  SCOPED_TRACE(testing::Message() << "RNIC_TEST_SEED=" << seed);
  CqeBench b(seed);
  b.req_pct = GetParam().req;
  b.hit_pct = GetParam().hit;
  b.wr_pct = GetParam().wr;
  b.wdata_pct = GetParam().wdata;
  b.evt_pct = GetParam().evt;
  struct Model {
    uint64_t base;
    unsigned log;
    uint32_t pi;
  };
  std::vector<Model> cq;
  for (uint32_t n = 0; n < 6; ++n) {
    cq.push_back({b.rng() & ~uint64_t{0xffffff}, 11, static_cast<uint32_t>(b.rng() & 0xffffff)});
    b.set_cq(n * 200, cq[n].base, cq[n].log, cq[n].pi);
  }
  std::deque<Write> expected;
  unsigned errors = 0;
  for (uint16_t i = 0; i < 2000; ++i) {
    const uint32_t n = b.rng() % 6;
    const bool bad = b.rng() % 5 == 0;
    const auto r = request(n * 200, i, bad ? 5 : 0, bad ? 9 : 0);
    b.requests.push_back(r);
    Write w;
    w.addr = cq[n].base + 64 * (cq[n].pi & 2047);
    w.cqe.byte_cnt = r.byte_cnt;
    w.cqe.syndrome = r.syndrome;
    w.cqe.vendor_syndrome = r.vendor;
    w.cqe.opcode = bad ? Cqe::kReqError : Cqe::kReqOk;
    w.cqe.wqe_opcode = r.wqe_opcode;
    w.cqe.qpn = r.op.qpn;
    w.cqe.wqe_counter = i;
    w.cqe.owner = cq[n].pi >> 11 & 1;
    w.op = r.op;
    expected.push_back(w);
    cq[n].pi = (cq[n].pi + 1) & 0xffffff;
    errors += bad;
  }
  b.drain();
  ASSERT_EQ(b.writes.size(), 2000u);
  uint64_t time = 0;
  for (auto& w : b.writes) {
    const Write& e = expected.front();
    ASSERT_EQ(w.addr, e.addr);
    ASSERT_EQ(w.op.wqe, e.op.wqe);
    if (!w.cqe.is_error()) {
      ASSERT_GT(w.cqe.timestamp, time);
      time = w.cqe.timestamp;
      w.cqe.timestamp = 0;
    }
    ASSERT_EQ(golden::encode_cqe(w.cqe), golden::encode_cqe(e.cqe));
    expected.pop_front();
  }
  EXPECT_EQ(b.events.size(), errors);
  EXPECT_EQ(b.err, errors);
  EXPECT_EQ(b.ok, 2000u - errors);
}
INSTANTIATE_TEST_SUITE_P(Shapes, CqeWriterGrid,
                         testing::Values(Shape{100, 100, 100, 100, 100}, Shape{30, 100, 100, 100, 100},
                                         Shape{100, 20, 100, 100, 100}, Shape{100, 100, 20, 100, 100},
                                         Shape{100, 100, 100, 20, 100}, Shape{100, 100, 100, 100, 5},
                                         Shape{50, 50, 50, 50, 50}));

// A ring in use across the wrap of its indices takes as many CQEs as it has places, no fewer and no more.
TEST(CqeWriterTest, RingFillsAcrossTheIndexWrap) {
  CqeBench b;
  b.set_cq(4, 0x40000, 3, 0xfffffd);
  for (uint16_t i = 0; i < 9; ++i) b.requests.push_back(request(4, i));
  b.drain();
  EXPECT_EQ(b.writes.size(), 8u);
  EXPECT_EQ(b.overrun, 1u);
}

// One CQE every two cycles when nothing stalls.
TEST(CqeWriterTest, Throughput) {
  CqeBench b;
  b.set_cq(0, 0, 12, 0);
  for (uint16_t i = 0; i < 1000; ++i) b.requests.push_back(request(0, i));
  b.drain();
  ASSERT_EQ(b.writes.size(), 1000u);
  EXPECT_EQ(b.writes[999].cqe.timestamp - b.writes[0].cqe.timestamp, 999u * 2 * 1000);
}

// What an idle cycle costs to simulate, printed for the record.
TEST(CqeWriterTest, SimulationCost) {
  CqeBench b;
  b.step();
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 100000; ++i) b.tick();
  const double ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / 100000;
  std::printf("cqe_writer: %.0f ns per idle cycle\n", ns);
}

}  // namespace
}  // namespace rnic::test
