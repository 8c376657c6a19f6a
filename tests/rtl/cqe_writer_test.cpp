// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <map>
#include <optional>

#include "Vcqe_writer.h"
#include "rnic/golden/cqe.h"
#include "rtl/bench.h"

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

  void set_cq(uint32_t cqn, uint64_t base, unsigned log_size, uint32_t ci) {
    rtl::cqc_t c;
    c.valid = true;
    c.base = base;
    c.log_size = static_cast<uint8_t>(log_size);
    c.ci = ci;
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
    top->cqc_req_ready_i = lookups_.size() < 4;
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
    if (top->evt_valid_o && top->evt_ready_i) events.push_back(rtl::sample<rtl::event_t>(top->evt_o));
    ok += top->stat_cqe_ok_o;
    err += top->stat_cqe_err_o;
    overrun += top->stat_overrun_o;
    const bool taken = top->req_valid_i && top->req_ready_o;
    const bool asked = top->cqc_req_valid_o && top->cqc_req_ready_i;
    const uint32_t idx = top->cqc_req_idx_o;
    const bool answered = top->cqc_rsp_valid_i && top->cqc_rsp_ready_o;
    EXPECT_EQ(taken, asked);
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
  }

  std::deque<rtl::cqe_req_t> requests;
  std::map<uint32_t, rtl::cqc_t> cqcs;
  std::vector<Write> writes;
  std::vector<rtl::event_t> events;
  unsigned ok = 0, err = 0, overrun = 0;
  int64_t first_req_cycle = -1, first_wr_cycle = -1;

 private:
  bool req_up_ = false, rsp_up_ = false;
  std::optional<rtl::doorbell_t> db_;
  int clear_ = -1;
  std::deque<std::pair<uint32_t, uint64_t>> lookups_;
  std::deque<rtl::wr_req_t> addrs_;
  std::deque<Cqe> cqes_;
};

// One successful CQE: every byte of the entry, its address, and the time stamp; four cycles after its request.
TEST(CqeWriterTest, SuccessEntry) {
  CqeBench b;
  b.set_cq(7, 0x1234567890abc000, 4, 0x35);
  b.requests.push_back(request(7, 0xbeef));
  b.drain();
  ASSERT_EQ(b.writes.size(), 1u);
  EXPECT_EQ(b.writes[0].addr, 0x1234567890abc000u + 5 * 64);
  Cqe e;
  e.byte_cnt = 0x01020304u + 0xbeef;
  e.timestamp = 1000 * static_cast<uint64_t>(b.first_wr_cycle - 1);
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
  EXPECT_EQ(b.first_wr_cycle - b.first_req_cycle, 4);
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

// A consumer doorbell in any cycle around the CQE that needs it opens the ring, if it comes before the entry is built;
// the arm doorbell changes nothing.
TEST(CqeWriterTest, DoorbellMeetsRequest) {
  unsigned written = 0;
  for (int when = 0; when < 8; ++when) {
    CqeBench b;
    b.set_cq(4, 0, 0, 0);
    b.requests.push_back(request(4, 0));
    b.drain();
    b.doorbell(4, 1, pkg::DbCqArm);
    b.step();
    b.requests.push_back(request(4, 1));
    for (int i = 0; i < 8; ++i) {
      if (i == when) b.doorbell(4, 1);
      b.step();
    }
    b.drain();
    EXPECT_EQ(b.writes.size() + b.overrun, 2u);
    EXPECT_EQ(b.writes.size() == 2, when < 3) << when;  // taken, asked, answered: then the entry is built
    written += b.writes.size() == 2;
  }
  EXPECT_EQ(written, 3u);
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
