// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <optional>
#include <vector>

#include "Vmsix.h"
#include "rtl/bench.h"

namespace rnic::test {
namespace {

struct Message {
  uint64_t addr;
  uint32_t data;
};

// The block between a source of CQEs and a sink that takes requests and data independently of each other. Keeps the
// table, masks and pending bits as the standard has them, and judges every message.
class MsixBench : public Bench<Vmsix> {
 public:
  explicit MsixBench(uint64_t seed = 1) : Bench(seed) { top->msix_en_i = 1; }

  unsigned wr_pct = 100, wdata_pct = 100, done_pct = 100;
  unsigned cqes = 0;  // to offer
  std::vector<Message> messages;
  unsigned cqes_taken = 0, cqes_done = 0, sent = 0;
  std::vector<bool> order;  // of writes: true: a message
  std::array<std::array<uint32_t, 4>, 64> table = fresh();
  uint64_t pending = 0;

  struct Table {
    unsigned vector, reg;
    uint32_t value;
  };
  std::optional<Table> write;
  std::optional<unsigned> irq;

  void step() {
    top->msix_we_i = write.has_value();
    if (write) {
      top->msix_idx_i = static_cast<uint8_t>(write->vector);
      top->msix_reg_i = static_cast<uint8_t>(write->reg);
      top->msix_wdata_i = write->value;
    }
    top->irq_valid_i = irq.has_value();
    if (irq) top->irq_vector_i = static_cast<uint8_t>(*irq);
    if (!cqe_wr_ && !cqe_wdata_ && cqes != 0) {
      --cqes;
      cqe_wr_ = cqe_wdata_ = true;
      ++cqe_number_;
    }
    top->cqe_wr_valid_i = cqe_wr_;
    top->cqe_wdata_valid_i = cqe_wdata_;
    rtl::wr_req_t w;
    w.addr = 0x1000'0000 + 64 * cqe_number_;
    w.len = 64;
    rtl::drive(top->cqe_wr_i, w);
    for (unsigned i = 0; i < 16; ++i) top->cqe_wdata_i[i] = cqe_number_ * 16 + i;
    top->wr_ready_i = chance(wr_pct);
    top->wdata_ready_i = chance(wdata_pct);
    top->wr_done_i = !kinds_.empty() && chance(done_pct);
    settle();
    sent += top->stat_sent_o;
    cqes_done += top->cqe_done_o;
    if (top->wr_done_i) {
      EXPECT_EQ(top->cqe_done_o, !kinds_.front()) << "a write reported as somebody else's";
      kinds_.pop_front();
    } else {
      EXPECT_FALSE(top->cqe_done_o);
    }
    if (top->wr_valid_o && top->wr_ready_i) {
      const auto r = rtl::sample<rtl::wr_req_t>(top->wr_o);
      const bool msg = r.len == 4;
      if (!msg) {
        EXPECT_EQ(r.addr, w.addr);
      }
      EXPECT_EQ(r.attr, 0);
      kinds_.push_back(msg);
      order.push_back(msg);
      addrs_.push_back(r);
    }
    if (top->wdata_valid_o && top->wdata_ready_i) {
      std::array<uint32_t, 16> d;
      for (unsigned i = 0; i < 16; ++i) d[i] = top->wdata_o[i];
      datas_.push_back(d);
    }
    while (!addrs_.empty() && !datas_.empty()) judge();
    const bool wr_taken = top->cqe_wr_ready_o && cqe_wr_, data_taken = top->cqe_wdata_ready_o && cqe_wdata_;
    const uint64_t before = top->msix_pending_o;
    tick();
    if (wr_taken) cqe_wr_ = false;
    if (data_taken) cqe_wdata_ = false;
    // A bit that falls is a message on its way; it must have been free to go.
    const uint64_t fell = before & ~top->msix_pending_o;
    for (unsigned v = 0; v < 64; ++v) {
      if (!(fell >> v & 1)) continue;
      EXPECT_TRUE(allowed(v)) << "vector " << v << " was sent masked";
      going_.push_back({uint64_t{table[v][1]} << 32 | (table[v][0] & ~3u), table[v][2]});
      pending &= ~(uint64_t{1} << v);
    }
    // Set again by the edge that sent it: the bit does not fall then; the message tells.
    if (irq) pending |= uint64_t{1} << *irq;
    EXPECT_EQ(top->msix_pending_o, pending);
    if (write) table[write->vector][write->reg] = write->value;
    write.reset();
    irq.reset();
  }

  bool quiet() const { return top->idle_o && !cqe_wr_ && !cqe_wdata_ && cqes == 0 && kinds_.empty(); }
  void drain() {
    for (unsigned limit = 20000; !quiet(); --limit) {
      ASSERT_NE(limit, 0u) << "hangs";
      step();
    }
    for (int i = 0; i < 10; ++i) step();
    EXPECT_TRUE(going_.empty()) << "a pending bit was cleared without a message";
    EXPECT_TRUE(addrs_.empty() && datas_.empty());
    EXPECT_EQ(top->msix_pending_o, pending);
  }
  void set_vector(unsigned v, uint64_t addr, uint32_t data, bool mask = false) {
    for (unsigned reg = 0; reg < 4; ++reg) {
      const std::array<uint32_t, 4> value{static_cast<uint32_t>(addr), static_cast<uint32_t>(addr >> 32), data, mask};
      put(v, reg, value[reg]);
    }
  }
  void put(unsigned v, unsigned reg, uint32_t value) {
    write = Table{v, reg, value};
    step();
  }
  void raise(unsigned v) {
    irq = v;
    step();
  }

 private:
  static std::array<std::array<uint32_t, 4>, 64> fresh() {
    std::array<std::array<uint32_t, 4>, 64> t{};
    for (auto& e : t) e[3] = 1;
    return t;
  }
  bool allowed(unsigned v) const { return !(table[v][3] & 1) && top->msix_en_i && !top->msix_mask_i; }
  void judge() {
    const auto r = addrs_.front();
    const auto d = datas_.front();
    addrs_.pop_front();
    datas_.pop_front();
    if (r.len == 64) {
      ++cqes_taken;
      for (unsigned i = 0; i < 16; ++i) EXPECT_EQ(d[i], (r.addr - 0x1000'0000) / 64 * 16 + i);
      return;
    }
    EXPECT_EQ(r.len, 4);
    EXPECT_EQ(r.addr % 4, 0u);
    for (unsigned i = 1; i < 16; ++i) EXPECT_EQ(d[i], 0u);
    messages.push_back({r.addr, d[0]});
    if (!going_.empty()) {
      EXPECT_EQ(r.addr, going_.front().addr);
      EXPECT_EQ(d[0], going_.front().data);
      going_.pop_front();
    } else {
      ++untracked;
    }
  }

 public:
  unsigned untracked = 0;  // messages whose pending bit was set again at the edge that sent them

 private:
  bool cqe_wr_ = false, cqe_wdata_ = false;
  uint32_t cqe_number_ = 0;
  std::deque<bool> kinds_;
  std::deque<rtl::wr_req_t> addrs_;
  std::deque<std::array<uint32_t, 16>> datas_;
  std::deque<Message> going_;
};

// A message carries its entry's address and data.
TEST(MsixTest, MessageIsTheTablesEntry) {
  MsixBench b;
  for (unsigned v = 0; v < 64; ++v) b.set_vector(v, 0x1234'0000'fee0'0000 + 16 * v, 0xabc00000 + v);
  for (unsigned v = 0; v < 64; ++v) {
    b.raise(v);
    b.drain();
    ASSERT_EQ(b.messages.size(), v + 1);
    EXPECT_EQ(b.messages[v].addr, 0x1234'0000'fee0'0000 + 16 * v);
    EXPECT_EQ(b.messages[v].data, 0xabc00000 + v);
  }
  EXPECT_EQ(b.sent, 64u);
}

// An address that is not DW aligned counts as the DW that it lies in.
TEST(MsixTest, LowAddressBitsCountAsZero) {
  MsixBench b;
  b.set_vector(5, 0xfee00fff, 1);
  b.raise(5);
  b.drain();
  ASSERT_EQ(b.messages.size(), 1u);
  EXPECT_EQ(b.messages[0].addr, 0xfee00ffcu);
}

// After reset each vector is masked, and each of its registers is 0 until it is written.
TEST(MsixTest, ResetMasksAndForgets) {
  MsixBench b;
  b.set_vector(9, 0xfee00000, 77);
  b.top->rst_ni = 0;
  b.tick();
  b.top->rst_ni = 1;
  b.table[9] = {0, 0, 0, 1};
  b.raise(9);
  b.drain();
  EXPECT_TRUE(b.messages.empty());
  EXPECT_EQ(b.top->msix_pending_o, uint64_t{1} << 9);
  b.put(9, 3, 0);
  b.drain();
  ASSERT_EQ(b.messages.size(), 1u);
  EXPECT_EQ(b.messages[0].addr, 0u);
  EXPECT_EQ(b.messages[0].data, 0u);
}

// Requests of a masked vector are one message, once it is unmasked; likewise of a masked or disabled function.
TEST(MsixTest, UnmaskingSendsOnce) {
  for (unsigned how = 0; how < 3; ++how) {
    MsixBench b;
    b.set_vector(3, 0xfee00000, 3, how == 0);
    if (how == 1) b.top->msix_mask_i = 1;
    if (how == 2) b.top->msix_en_i = 0;
    for (int i = 0; i < 5; ++i) b.raise(3);
    b.drain();
    EXPECT_TRUE(b.messages.empty());
    EXPECT_EQ(b.top->msix_pending_o, 8u);
    if (how == 0) b.put(3, 3, 0);
    b.top->msix_mask_i = 0;
    b.top->msix_en_i = 1;
    b.step();
    b.drain();
    EXPECT_EQ(b.messages.size(), 1u);
    EXPECT_EQ(b.top->msix_pending_o, 0u);
  }
}

// All vectors at once: each is sent once, none twice before the others.
TEST(MsixTest, VectorsTakeTurns) {
  MsixBench b;
  b.top->msix_mask_i = 1;
  for (unsigned v = 0; v < 64; ++v) b.set_vector(v, 0xfee00000, v);
  for (unsigned v = 0; v < 64; ++v) b.raise(v);
  b.top->msix_mask_i = 0;
  std::vector<unsigned> seen(64);
  for (unsigned n = 0; n < 400; ++n) b.raise(0);  // vector 0 asks all the time
  b.drain();
  ASSERT_GE(b.messages.size(), 64u);
  for (unsigned i = 0; i < 64; ++i) ++seen[b.messages[i].data];
  for (unsigned v = 0; v < 64; ++v) EXPECT_EQ(seen[v], 1u) << v;
}

// CQEs and messages that both wait take turns: neither starves.
TEST(MsixTest, CqesAndMessagesTakeTurns) {
  MsixBench b(test_seed());
  for (unsigned v = 0; v < 64; ++v) b.set_vector(v, 0xfee00000, v);
  b.wr_pct = b.wdata_pct = 30;
  b.cqes = 500;
  for (unsigned n = 0; n < 1500; ++n) b.raise(n % 64);
  unsigned run = 0, longest_cqe = 0, longest_msg = 0;
  for (size_t i = 1; i < b.order.size(); ++i) {
    run = b.order[i] == b.order[i - 1] ? run + 1 : 0;
    (b.order[i] ? longest_msg : longest_cqe) = std::max(b.order[i] ? longest_msg : longest_cqe, run);
  }
  EXPECT_LE(longest_cqe, 1u);
  EXPECT_EQ(longest_msg, 0u);
  b.drain();
  EXPECT_EQ(b.cqes_taken, 500u);
  EXPECT_EQ(b.cqes_done, 500u);
}

// A CQE is offered in the cycle in which it comes, and nothing is offered when there is nothing.
TEST(MsixTest, CqePassesWithoutLatency) {
  MsixBench b;
  b.cqes = 1;
  b.step();
  EXPECT_EQ(b.order.size(), 1u);
  EXPECT_EQ(b.cqes_taken, 1u);
  b.drain();
  EXPECT_EQ(b.sent, 0u);
}

// Random requests, table writes, masks and stalls: every message is right and allowed, every request is sent once after
// the last unmask, CQEs keep their data, and the pending bits are those of the model.
TEST(MsixTest, RandomMasksAndRaces) {
  for (unsigned round = 0; round < 20; ++round) {
    SCOPED_TRACE(round);
    MsixBench b(test_seed() + round);
    const unsigned vectors = round % 2 ? 64 : 3;
    for (unsigned v = 0; v < 64; ++v) b.set_vector(v, b.rng(), static_cast<uint32_t>(b.rng()), b.chance(50));
    b.wr_pct = b.wdata_pct = 20 + 20 * (round % 5);
    b.done_pct = 10 + 30 * (round % 4);
    unsigned requests = 0;
    for (unsigned n = 0; n < 4000; ++n) {
      if (b.chance(30)) b.irq = static_cast<unsigned>(b.rng() % vectors), ++requests;
      if (b.chance(20)) b.write = MsixBench::Table{static_cast<unsigned>(b.rng() % vectors), 3, uint32_t(b.rng())};
      if (b.chance(2)) b.top->msix_mask_i = !b.top->msix_mask_i;
      if (b.chance(1)) b.top->msix_en_i = !b.top->msix_en_i;
      if (b.chance(20)) ++b.cqes;
      b.step();
    }
    b.top->msix_en_i = 1;
    b.top->msix_mask_i = 0;
    for (unsigned v = 0; v < 64; ++v) b.put(v, 3, 0);
    b.drain();
    EXPECT_EQ(b.top->msix_pending_o, 0u);
    EXPECT_EQ(b.pending, 0u);
    EXPECT_EQ(b.messages.size(), b.sent);
    EXPECT_LE(b.messages.size(), requests);
    EXPECT_GT(b.messages.size(), 20u);
    EXPECT_EQ(b.cqes_taken, b.cqes_done);
  }
}

}  // namespace
}  // namespace rnic::test
