// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "Vctx_query.h"
#include "rtl/bench.h"

namespace rnic::test {
namespace {

namespace pkg = rtl::rnic_pkg;

/// What the blocks hold; each read gives other values, with the strobe's edge, and noise before and after it.
struct Chip {
  bool sq_pi_valid, st_valid, st_err, cq_pi_valid, cq_ci_valid, cq_overrun, cq_armed, cq_only;
  uint16_t sq_pi;
  uint32_t cq_pi, cq_ci;
  rtl::tx_state_t st;
};

struct QueryBench : Bench<Vctx_query> {
  using Bench::Bench;
  struct Answer {
    rtl::query_t q;
    uint64_t addr;
    uint64_t cycle;
  };
  std::vector<Answer> answers;
  std::vector<uint64_t> taken, reads;
  unsigned ready = 100;  ///< percent
  Chip chip{};           ///< on the ports
  std::optional<Chip> looked_at;

  Chip random_chip() {
    Chip c{};
    const auto bit = [&] { return chance(50); };
    c.sq_pi_valid = bit(), c.st_valid = bit(), c.st_err = bit(), c.cq_pi_valid = bit(), c.cq_ci_valid = bit();
    c.cq_overrun = bit(), c.cq_armed = bit(), c.cq_only = bit();
    c.sq_pi = static_cast<uint16_t>(rng());
    c.cq_pi = rng() & 0xffffff, c.cq_ci = rng() & 0xffffff;
    std::array<uint32_t, (rtl::tx_state_t::kWidth + 31) / 32> w;
    for (auto& x : w) x = static_cast<uint32_t>(rng());
    c.st = rtl::tx_state_t::unpack_at(w.data(), 0);
    return c;
  }
  void show(const Chip& c) {
    chip = c;
    top->sq_pi_valid_i = c.sq_pi_valid, top->sq_pi_i = c.sq_pi;
    top->st_valid_i = c.st_valid, top->st_err_i = c.st_err;
    rtl::drive(top->st_i, c.st);
    top->cq_pi_valid_i = c.cq_pi_valid, top->cq_pi_i = c.cq_pi;
    top->cq_ci_valid_i = c.cq_ci_valid, top->cq_ci_i = c.cq_ci;
    top->cq_overrun_i = c.cq_overrun, top->cq_armed_i = c.cq_armed, top->cq_only_i = c.cq_only;
  }
  void step() {
    top->dm_req_ready_i = chance(ready);
    top->now_i = 7 * cycle;
    settle();
    const bool read = top->read_o;
    if (top->cmd_valid_i && top->cmd_ready_o) taken.push_back(cycle);
    if (read) reads.push_back(cycle);
    if (top->dm_req_valid_o && top->dm_req_ready_i) {
      const auto r = rtl::sample<rtl::dm_req_t>(top->dm_req_o);
      EXPECT_TRUE(r.write);
      EXPECT_EQ(r.strb, ~uint64_t{0});
      answers.push_back({rtl::query_t::unpack_at(r.data.data(), 0), r.addr, cycle});
    }
    tick();
    const Chip c = random_chip();
    if (read) looked_at = c;
    show(c);
  }
  /// Issues it and waits for its answer.
  Answer ask(unsigned op, unsigned index) {
    rtl::cmd_t c;
    c.op = static_cast<uint8_t>(op);
    c.index = index;
    rtl::drive(top->cmd_i, c);
    top->cmd_valid_i = 1;
    const size_t n = answers.size(), t = taken.size();
    while (taken.size() == t) step();
    top->cmd_valid_i = 0;
    for (int i = 0; i < 1000 && answers.size() == n; ++i) step();
    if (answers.size() == n) throw std::runtime_error("no answer");
    return answers.back();
  }
};

rtl::query_t expected(unsigned op, unsigned index, uint16_t seq, const Chip& c, uint64_t ns) {
  rtl::query_t q;
  q.seq = seq;
  q.index = index;
  q.time_ns = ns;
  q.cq = op == pkg::CmdCqQuery;
  if (q.cq) {
    q.pi_valid = c.cq_pi_valid, q.ci_valid = c.cq_ci_valid, q.error = c.cq_overrun;
    q.armed = c.cq_armed, q.solicited_only = c.cq_armed && c.cq_only;
    q.pi = c.cq_pi_valid ? c.cq_pi : 0;
    q.ci = c.cq_ci_valid ? c.cq_ci : 0;
    return q;
  }
  q.pi_valid = c.sq_pi_valid, q.ci_valid = c.st_valid, q.error = c.st_err;
  q.pi = c.sq_pi_valid ? c.sq_pi : 0;
  if (!c.st_valid) return q;
  q.ci = c.st.ci, q.psn = c.st.psn, q.ip_id = c.st.ip_id, q.in_msg = c.st.in_msg;
  if (c.st.in_msg) q.wqe = c.st.wqe_idx, q.offset = c.st.offset, q.msg_len = c.st.msg_len;
  return q;
}

// Every answer holds what the blocks gave behind the strobe, whatever stood on their ports before and after; both
// kinds, any backpressure of device memory.
TEST(CtxQueryTest, AnswersHoldWhatTheChipHolds) {
  const uint64_t seed = test_seed();
  SCOPED_TRACE("RNIC_TEST_SEED=" + std::to_string(seed));
  for (const unsigned ready : {100u, 30u}) {
    QueryBench b(seed);
    b.ready = ready;
    for (unsigned n = 1; n <= 3000; ++n) {
      const unsigned op = b.chance(50) ? pkg::CmdQpQuery : pkg::CmdCqQuery, index = b.rng() % 1024;
      for (unsigned i = b.chance(50) ? 0 : b.rng() % 4; i != 0; --i) b.step();
      const auto a = b.ask(op, index);
      ASSERT_EQ(b.reads.size(), n);
      const auto want = expected(op, index, static_cast<uint16_t>(n), *b.looked_at, 7 * (b.reads.back() + 1));
      ASSERT_EQ(a.q.pack(), want.pack()) << "answer " << n;
      ASSERT_EQ(a.addr, pkg::QueryBase);
    }
    EXPECT_TRUE(b.top->idle_o);
    EXPECT_EQ(b.answers.size(), 3000u);
  }
}

// Strobe one edge after the command, look two, request three; the port is free again behind the request.
TEST(CtxQueryTest, AnswerFollowsInThreeCycles) {
  QueryBench b;
  const auto a = b.ask(pkg::CmdQpQuery, 9);
  EXPECT_EQ(b.reads.back() - b.taken.back(), 1u);
  EXPECT_EQ(a.cycle - b.taken.back(), 3u);
  b.ask(pkg::CmdCqQuery, 9);
  EXPECT_EQ(b.taken[1] - b.taken[0], 4u) << "a query that waits is taken then";
}

// The sequence number is never 0: 65535 is followed by 1.
TEST(CtxQueryTest, SequenceNumberIsNeverZero) {
  QueryBench b;
  for (unsigned n = 1; n <= 65'535; ++n) ASSERT_EQ(b.ask(pkg::CmdQpQuery, n % 1024).q.seq, n);
  EXPECT_EQ(b.ask(pkg::CmdQpQuery, 0).q.seq, 1u);
}

// While device memory does not take the answer, the next query waits, and nothing changes.
TEST(CtxQueryTest, WaitsForDeviceMemory) {
  QueryBench b;
  b.ready = 0;
  rtl::cmd_t c;
  c.op = pkg::CmdQpQuery;
  rtl::drive(b.top->cmd_i, c);
  b.top->cmd_valid_i = 1;
  for (int i = 0; i < 20; ++i) b.step();
  EXPECT_EQ(b.taken.size(), 1u);
  EXPECT_EQ(b.reads.size(), 1u);
  EXPECT_FALSE(b.top->idle_o);
  b.ready = 100;
  for (int i = 0; i < 3; ++i) b.step();
  EXPECT_EQ(b.taken.size(), 2u);
}

}  // namespace
}  // namespace rnic::test
