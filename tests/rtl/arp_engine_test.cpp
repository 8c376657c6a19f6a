// SPDX-License-Identifier: Apache-2.0
#include "Varp_engine.h"
// After Verilator's header.
#include <map>

#include "arp_bench.h"
#include "tlp_beats.h"

namespace rnic::test {
namespace {

using namespace rtl::arp_pkg;  // NOLINT: constants of the block

/// The link and what is behind it: takes TLPs at its pace and as far as its credits go, and keeps memory.
class EngineBench : public ArpBench<Varp_engine> {
 public:
  explicit EngineBench(ArpPace pace = {}, unsigned mps = 1, unsigned credits = 0)
      : ArpBench(pace), mps_(mps), credits_(credits) {
    rtl::pcie_cfg_t cfg;
    cfg.bus_master = true;
    cfg.mps = static_cast<uint8_t>(mps);
    cfg.requester_id = 0x1234;
    rtl::drive(top->pcie_cfg_i, cfg);
    give_credits();
  }
  void bus_master(bool on) {
    rtl::pcie_cfg_t cfg;
    cfg.bus_master = on;
    cfg.mps = static_cast<uint8_t>(mps_);
    rtl::drive(top->pcie_cfg_i, cfg);
  }
  /// All that was written is what the reference writes, and nothing else.
  void expect_memory() {
    for (const auto& r : results) {
      for (size_t i = 0; i < r.data.size(); ++i) wanted_[r.addr + i] = r.data[i];
    }
    EXPECT_EQ(memory_.size(), wanted_.size());
    EXPECT_TRUE(memory_ == wanted_) << "memory; seed " << test_seed();
  }
  uint64_t tlps = 0;
  bool swallow = false;     ///< nothing goes out, and that is right
  bool unexpected = false;  ///< completions that nobody has asked for come in

 protected:
  void drive_memory() override {
    top->tlp_tx_ready_i = chance(pace.wr);
    if (!back_.empty() && back_.front().first <= cycle) {
      ++headers_;
      data_ += back_.front().second;
      back_.pop_front();
      give_credits();
    }
    top->tlp_rx_valid_i = unexpected && chance(30);
    if (top->tlp_rx_valid_i) {
      golden::Tlp t;
      t.fmt_type = golden::kCplD;
      t.length_dw = 8;
      t.byte_count = 32;
      t.requester_id = 0x1234;
      t.tag = static_cast<uint16_t>(rng() % 256);
      t.payload.resize(32);
      rtl::drive(top->tlp_rx_i, test::to_beats(t).front());
    }
  }
  void take_memory() override {
    if (!(top->tlp_tx_valid_o && top->tlp_tx_ready_i)) return;
    const auto t = collector_.push(rtl::sample<rtl::tlp_beat_t>(top->tlp_tx_o));
    EXPECT_EQ(collector_.error(), "");
    if (!t) return;
    ++tlps;
    EXPECT_TRUE(t->is_write());
    EXPECT_LE(t->payload.size(), 128u << mps_);
    EXPECT_EQ(t->requester_id, 0x1234);
    const uint64_t from = t->addr + t->first_offset(), to = t->addr + t->last_offset();
    EXPECT_EQ(from >> 12, to >> 12) << "crosses 4 KiB";
    ArpWrite w{from, {}};
    for (unsigned i = t->first_offset(); i <= t->last_offset(); ++i) {
      w.data.push_back(t->payload[i]);
      memory_[t->addr + i] = t->payload[i];
    }
    EXPECT_LE(++used_headers_ - headers_, credits_ ? credits_ : ~0u);
    writes_.push_back(std::move(w));
    if (credits_) back_.emplace_back(cycle + 1 + rng() % 60, t->data_credits());
  }
  std::vector<ArpWrite> written(const arp::Result& r) override {
    std::vector<ArpWrite> out;
    size_t left = swallow ? 0 : r.data.size();
    while (left > 0 && !writes_.empty()) {
      left -= std::min(left, writes_.front().data.size());
      out.push_back(std::move(writes_.front()));
      writes_.pop_front();
    }
    if (swallow) out.push_back({r.addr, r.data});
    return out;
  }
  bool writes_empty() const override { return writes_.empty() && !collector_.inside(); }

 private:
  void give_credits() {
    rtl::pcie_fc_t fc;
    fc.p_inf = credits_ == 0;
    fc.ph = static_cast<uint8_t>(headers_ + credits_);
    fc.pd = static_cast<uint16_t>((data_ + credits_ * (8u << mps_)) & 0xfff);
    rtl::drive(top->pcie_fc_i, fc);
  }

  unsigned mps_, credits_;                              // credits: TLPs of the longest size at a time; 0: no limit
  unsigned headers_ = 0, data_ = 0, used_headers_ = 0;  // given back; used
  std::deque<std::pair<uint64_t, unsigned>> back_;
  TlpCollector collector_;
  std::deque<ArpWrite> writes_;
  std::map<uint64_t, uint8_t> memory_, wanted_;
};

arp::Group group_of(uint8_t dtype, unsigned log_frag, unsigned log_slots, uint32_t length, uint64_t members) {
  arp::Group g;
  g.dtype = dtype;
  g.log_frag = log_frag;
  g.log_chunk = log_frag + 1;
  g.log_slots = log_slots;
  g.length = length;
  g.members = members;
  g.dst = 0x2'0000'0000;
  return g;
}

// Reductions of all types with every maximum payload, at destinations of any alignment, with few credits and a link
// that waits: the TLPs make up the reference's memory, byte for byte.
TEST(ArpEngineTest, MemoryEqualsTheReference) {
  for (unsigned mps = 0; mps <= 5; ++mps) {
    for (unsigned credits : {0u, 1u, 3u}) {
      EngineBench b(credits == 3 ? ArpPace{70, 70, 70, 60, 100} : ArpPace{}, mps, credits);
      b.auto_ack();
      uint64_t dst = 0x1000'0000 + b.rng() % 4096;
      for (unsigned i = 0; i < 4; ++i) {
        const auto dtype = static_cast<uint8_t>((mps + i * 2 + credits) % 7);
        const unsigned log_frag = i == 0 ? 12 : 6 + static_cast<unsigned>(b.rng() % 7);
        auto g = group_of(dtype, log_frag, 1, (3u << log_frag) - 8 * static_cast<uint32_t>(b.rng() % 8), 0x103);
        g.op = static_cast<uint8_t>(b.rng() % 3);
        g.wide_out = arp::is_acc32(dtype) && i % 2 == 0;
        g.dst = dst;
        dst += 0x8000 + (i == 1 ? uint64_t{5} << 32 : 0) + b.rng() % 64;
        b.configure(static_cast<uint16_t>(i), g);
        ASSERT_NO_FATAL_FAILURE(reduce(b, static_cast<uint16_t>(i), g, 1, Order::kRandom));
      }
      ASSERT_NO_FATAL_FAILURE(b.finish());
      EXPECT_EQ(b.n.written, 4u * 3);
      b.expect_memory();
      ASSERT_FALSE(HasFailure()) << "mps " << mps << " credits " << credits;
    }
  }
}

// A slot is done when its last TLP has left, not before: with no credit nothing ends, and acknowledges are refused.
TEST(ArpEngineTest, SlotEndsWithItsLastTlp) {
  EngineBench b({}, 1);
  b.pace.wr = 0;
  auto g = group_of(TypeFp16, 10, 0, 1024, 1);
  b.configure(0, g);
  const auto h = fragment_header(0, g, 1, 0, 0);
  b.send(h, random_elements(b.rng, TypeFp16, h.len));
  for (int i = 0; i < 200; ++i) b.step();
  b.acknowledge({0, 1, 0, 0});
  for (int i = 0; i < 200; ++i) b.step();
  EXPECT_EQ(b.n.written, 0u);
  EXPECT_EQ(b.n.bad_ack, 1u);
  EXPECT_FALSE(b.top->idle_o);
  b.pace.wr = 100;
  b.finish();
  EXPECT_EQ(b.n.written, 1u);
  EXPECT_EQ(b.tlps, 4u);
  b.expect_memory();
}

// A beat of a result leaves each cycle: 16 results of 4 KiB in little more than their 1024 beats.
TEST(ArpEngineTest, ResultsLeaveABeatACycle) {
  EngineBench b({}, 5);
  auto g = group_of(TypeFp32, 12, 4, 16 * 4096, 1);
  b.configure(0, g);
  ASSERT_NO_FATAL_FAILURE(reduce(b, 0, g, 1, Order::kByRank));
  b.finish();
  EXPECT_LE(b.end_at.back() - b.end_at.front(), 15u * 66);
  b.expect_memory();
}

// Damaged accumulators put nothing into memory, between results that are right.
TEST(ArpEngineTest, LostResultIsNotWritten) {
  EngineBench b({100, 100, 100, 40, 100}, 0, 2);
  b.auto_ack();
  auto g = group_of(TypeBf16, 9, 2, 4 * 512, 3);
  b.configure(5, g);
  ASSERT_TRUE(b.drain());
  b.inject(2 * 4 + 3, 1000);
  ASSERT_NO_FATAL_FAILURE(reduce(b, 5, g, 1, Order::kByRank));
  b.finish();
  EXPECT_EQ(b.n.parity, 1u);
  EXPECT_EQ(b.n.written, 3u);
  b.expect_memory();
}

// Without bus mastering results are swallowed, and slots end all the same.
TEST(ArpEngineTest, NoBusMasterSwallowsResults) {
  EngineBench b;
  b.auto_ack();
  b.bus_master(false);
  b.swallow = true;
  auto g = group_of(TypeInt32, 8, 1, 1024, 3);
  b.configure(0, g);
  ASSERT_NO_FATAL_FAILURE(reduce(b, 0, g, 1, Order::kByRank));
  b.finish();
  EXPECT_EQ(b.n.written, 4u);
  EXPECT_EQ(b.tlps, 0u);
}

// Completions, which nobody has asked for, are dropped.
TEST(ArpEngineTest, CompletionsAreDropped) {
  EngineBench b;
  b.auto_ack();
  b.unexpected = true;
  auto g = group_of(TypeInt64, 8, 1, 1024, 3);
  b.configure(0, g);
  for (int i = 0; i < 100; ++i) b.step();
  for (uint64_t f = 0; f < 2; ++f) {
    for (unsigned r = 0; r < 2; ++r) {
      const auto h = fragment_header(0, g, 1, f, r);
      b.send(h, random_elements(b.rng, g.dtype, h.len));
    }
  }
  for (int i = 0; i < 200; ++i) b.step();
  b.unexpected = false;
  b.finish();
  EXPECT_EQ(b.n.written, 2u);
  b.expect_memory();
}

}  // namespace
}  // namespace rnic::test
