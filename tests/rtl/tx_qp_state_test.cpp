// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "Vtx_qp_state.h"
#include "rtl/bench.h"

namespace rnic::test {
namespace {

struct StateBench : Bench<Vtx_qp_state> {
  using Bench::Bench;
  void quiet() {
    top->re_i = top->we_i = top->clear_i = top->q_re_i = 0;
    top->err_seg_i = top->err_pkt_i = top->err_cmd_i = 0;
  }
};

rtl::tx_state_t random_state(std::mt19937_64& rng) {
  rtl::tx_state_t s;
  std::array<uint32_t, (rtl::tx_state_t::kWidth + 31) / 32> w;
  for (auto& x : w) x = static_cast<uint32_t>(rng());
  return rtl::tx_state_t::unpack_at(w.data(), 0);
}

// Any mixture of reads of both readers, writes, errors from three sides and clears: a read gives what the former edges
// left, and the clear wins at its own edge. The second reader may meet a write.
TEST(TxQpStateTest, FollowsTheModel) {
  const uint64_t seed = test_seed();
  SCOPED_TRACE("RNIC_TEST_SEED=" + std::to_string(seed));
  StateBench b(seed);
  struct Qp {
    bool valid = false, err = false;
    rtl::tx_state_t st;
  };
  std::vector<Qp> model(1024);
  unsigned valid_reads = 0, err_reads = 0, queries = 0;
  for (int c = 0; c < 40000; ++c) {
    auto qpn = [&] { return static_cast<unsigned>(b.chance(50) ? b.rng() % 4 : 1020 + b.rng() % 4); };
    b.quiet();
    const unsigned rq = qpn(), wq = qpn(), sq = qpn(), pq = qpn(), cq = qpn(), xq = qpn();
    const auto st = random_state(b.rng);
    b.top->we_i = b.chance(40), b.top->wr_qpn_i = wq;
    rtl::drive(b.top->wr_state_i, st);
    b.top->re_i = b.chance(60) && !(b.top->we_i && wq == rq), b.top->rd_qpn_i = rq;
    b.top->err_seg_i = b.chance(5), b.top->err_seg_qpn_i = sq;
    b.top->err_pkt_i = b.chance(5), b.top->err_pkt_qpn_i = pq;
    b.top->err_cmd_i = b.chance(5), b.top->err_cmd_qpn_i = cq;
    b.top->clear_i = b.chance(10), b.top->clear_qpn_i = xq;
    const unsigned qq = qpn();
    b.top->q_re_i = b.chance(60), b.top->q_qpn_i = qq;
    const Qp want = model[rq], seen = model[qq];
    b.tick();
    if (b.top->q_re_i) {
      ASSERT_EQ(b.top->q_valid_o, seen.valid);
      ASSERT_EQ(b.top->q_err_o, seen.err);
      if (seen.valid) {
        ASSERT_EQ(rtl::sample<rtl::tx_state_t>(b.top->q_state_o).pack(), seen.st.pack());
      }
      queries += seen.valid;
    }
    if (b.top->re_i) {
      ASSERT_EQ(b.top->rd_valid_o, want.valid);
      ASSERT_EQ(b.top->rd_err_o, want.err);
      if (want.valid) {
        ASSERT_EQ(rtl::sample<rtl::tx_state_t>(b.top->rd_state_o).pack(), want.st.pack());
      }
      valid_reads += want.valid, err_reads += want.err;
    }
    if (b.top->we_i) model[wq].valid = true, model[wq].st = st;
    if (b.top->err_seg_i) model[sq].err = true;
    if (b.top->err_pkt_i) model[pq].err = true;
    if (b.top->err_cmd_i) model[cq].err = true;
    if (b.top->clear_i) model[xq].valid = model[xq].err = false;
  }
  EXPECT_GT(valid_reads, 1000u);
  EXPECT_GT(err_reads, 1000u);
  EXPECT_GT(queries, 1000u);
}

// What was read stays until the next read.
TEST(TxQpStateTest, ReadDataStays) {
  StateBench b;
  b.quiet();
  const auto st = random_state(b.rng);
  b.top->we_i = 1, b.top->wr_qpn_i = 5;
  rtl::drive(b.top->wr_state_i, st);
  b.tick();
  b.quiet();
  b.top->re_i = 1, b.top->rd_qpn_i = 5;
  b.top->q_re_i = 1, b.top->q_qpn_i = 5;
  b.tick();
  b.quiet();
  b.top->q_qpn_i = 6;
  b.top->rd_qpn_i = 6, b.top->we_i = 1, b.top->clear_i = 1, b.top->clear_qpn_i = 5;
  for (int i = 0; i < 3; ++i) {
    b.tick();
    EXPECT_TRUE(b.top->rd_valid_o);
    EXPECT_EQ(rtl::sample<rtl::tx_state_t>(b.top->rd_state_o).pack(), st.pack());
    EXPECT_TRUE(b.top->q_valid_o);
    EXPECT_EQ(rtl::sample<rtl::tx_state_t>(b.top->q_state_o).pack(), st.pack());
  }
}

}  // namespace
}  // namespace rnic::test
