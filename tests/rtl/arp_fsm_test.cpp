// SPDX-License-Identifier: Apache-2.0
#include "Varp_fsm.h"
// After Verilator's header.
#include "arp_bench.h"
#include "support/latency.h"

namespace rnic::test {
namespace {

using namespace rtl::arp_pkg;  // NOLINT: constants of the block
using arp::Kind;

constexpr unsigned kLatency = static_cast<unsigned>(AluLatency);

/// Memory behind the write ports: takes requests and data at its pace, and reports writes in order, later.
class FsmBench : public ArpBench<Varp_fsm> {
 public:
  using ArpBench::ArpBench;

  unsigned done_delay = 30;  ///< at most, from the last data to the report
  bool stuck = false;        ///< no write is reported
  std::vector<uint64_t> wr_at;

 protected:
  void drive_memory() override {
    top->wr_ready_i = open_.size() < 4 && chance(pace.wr);
    top->wdata_ready_i = chance(pace.wdata);
    top->wr_done_i = 0;
    if (!stuck && !full_.empty() && full_.front().due <= cycle) {
      top->wr_done_i = 1;
      rtl::drive(top->wr_done_op_i, full_.front().op);
      current_.push_back({full_.front().addr, full_.front().data});
      EXPECT_TRUE(current_.size() < 3 && full_.front().op.qpn < NumSlots);
      if (full_.front().op.last) ended_.push_back(std::exchange(current_, {}));
      full_.pop_front();
    }
  }
  void take_memory() override {
    if (top->wdata_valid_o && top->wdata_ready_i) {
      ASSERT_FALSE(open_.empty()) << "data without a request; cycle " << cycle;
      Write& w = open_.front();
      const size_t n = std::min<size_t>(64, w.len - w.data.size());
      for (size_t i = 0; i < n; ++i) w.data.push_back(static_cast<uint8_t>(top->wdata_o[i / 4] >> (i % 4 * 8)));
      if (w.data.size() == w.len) {
        w.due = cycle + 1 + (done_delay ? rng() % done_delay : 0);
        full_.push_back(std::move(w));
        open_.pop_front();
      }
    }
    if (top->wr_valid_o && top->wr_ready_i) {
      const auto r = rtl::sample<rtl::wr_req_t>(top->wr_o);
      EXPECT_TRUE(r.len >= 1 && r.len <= 4096) << r.len;
      open_.push_back({r.addr, r.len, r.op, {}, 0});
      wr_at.push_back(cycle);
    }
  }
  std::vector<ArpWrite> written(const arp::Result& r) override {
    if (!r.written || ended_.empty()) return {};
    auto w = std::move(ended_.front());
    ended_.pop_front();
    return w;
  }
  bool writes_empty() const override { return open_.empty() && full_.empty() && current_.empty() && ended_.empty(); }

 private:
  struct Write {
    uint64_t addr;
    size_t len;
    rtl::op_t op;
    arp::Bytes data;
    uint64_t due;
  };
  std::deque<Write> open_, full_;
  std::vector<ArpWrite> current_;
  std::deque<std::vector<ArpWrite>> ended_;
};

constexpr ArpPace kPaces[] = {{},
                              {50, 100, 100, 100, 100},
                              {100, 30, 40, 20, 100},
                              {100, 100, 100, 100, 30},
                              {70, 70, 70, 70, 70},
                              {100, 10, 100, 5, 90}};

arp::Group group_of(uint8_t dtype, uint8_t op, unsigned log_frag, unsigned log_slots, uint32_t length,
                    uint64_t members) {
  arp::Group g;
  g.dtype = dtype;
  g.op = op;
  g.log_frag = log_frag;
  g.log_chunk = log_frag + 2;
  g.log_slots = log_slots;
  g.length = length;
  g.members = members;
  g.dst = 0x1'0000'2000;
  return g;
}

/// Several groups beside each other in slots and rows.
struct Layout {
  unsigned slot = 0, row = 0;
  void place(arp::Group& g) {
    const unsigned slots = 1u << g.log_slots;
    g.slot_base = slot;
    g.row_base = row;
    slot += slots;
    row += slots * arp::rows_per_slot(g.dtype, g.log_frag);
    ASSERT_LE(slot, NumSlots);
    ASSERT_LE(row, NumRows);
  }
};

uint32_t whole_elements(uint8_t dtype, uint64_t bytes) {
  const unsigned size = arp::element_size(dtype);
  return static_cast<uint32_t>(std::max<uint64_t>(size, bytes / size * size));
}

// ---- Sums ----

// All types, operations and forms of the result, in fragments of 64 B and of 512 B, two steps each: memory holds what
// the reference says, bit for bit.
TEST(ArpFsmTest, EveryTypeAndOperation) {
  FsmBench b;
  b.auto_ack();
  for (uint8_t dtype = 0; dtype <= TypeBf16Acc32; ++dtype) {
    for (uint8_t op = 0; op <= OpMax; ++op) {
      for (int wide = 0; wide <= (arp::is_acc32(dtype) ? 1 : 0); ++wide) {
        for (unsigned log_frag : {6u, 9u}) {
          auto g =
              group_of(dtype, op, log_frag, 2, whole_elements(dtype, (5u << log_frag) + 26), random_members(b.rng, 3));
          g.wide_out = wide != 0;
          g.slot_base = static_cast<unsigned>(b.rng() % 1000);
          g.row_base = static_cast<unsigned>(b.rng() % 4000);
          b.configure(3, g);
          for (uint16_t step = 7; step < 9; ++step) {
            ASSERT_NO_FATAL_FAILURE(reduce(b, 3, g, step, kOrders[b.rng() % 4]));
          }
        }
      }
    }
  }
  b.finish();
  EXPECT_EQ(b.n.written, (7u * 3 + 6) * 2 * 2 * 6);
}

// Orders of contributions under all paces of both sides, in fragments of one beat to 64, of random types.
TEST(ArpFsmTest, OrdersGapsAndBackpressure) {
  for (const ArpPace& pace : kPaces) {
    FsmBench b(pace);
    b.auto_ack(40);
    for (Order order : kOrders) {
      for (unsigned log_frag : {6u, 7u, 8u, 12u}) {
        const auto dtype = static_cast<uint8_t>(b.rng() % 7);
        auto g =
            group_of(dtype, static_cast<uint8_t>(b.rng() % 3), log_frag, static_cast<unsigned>(b.rng() % 3),
                     whole_elements(dtype, (5u << log_frag) - b.rng() % 60), random_members(b.rng, 2 + b.rng() % 5));
        g.wide_out = arp::is_acc32(dtype) && b.rng() % 2;
        b.configure(static_cast<uint16_t>(b.rng() % 64), g);
        const auto group = static_cast<uint16_t>(b.rng() % 64);
        b.configure(group, g);
        ASSERT_NO_FATAL_FAILURE(reduce(b, group, g, static_cast<uint16_t>(b.rng()), order));
      }
    }
    ASSERT_NO_FATAL_FAILURE(b.finish());
  }
}

// Every fragment size with every kind of last fragment: one element, odd numbers of elements, just a line, all but one.
TEST(ArpFsmTest, ShortLastFragments) {
  FsmBench b;
  b.auto_ack();
  for (unsigned log_frag = 6; log_frag <= 12; ++log_frag) {
    const uint32_t frag = 1u << log_frag;
    for (uint32_t tail : {8u, 24u, 32u, 40u, 56u, 64u, 72u, frag - 8, frag}) {
      if (tail > frag) continue;
      for (uint8_t dtype : {TypeFp16, TypeInt64, TypeFp16Acc32, TypeBf16Acc32}) {
        auto g = group_of(dtype, OpSum, log_frag, 1, frag + tail, 0x8001);
        if (dtype != TypeInt64) g.length -= static_cast<uint32_t>(b.rng() % 4) * 2;
        g.wide_out = arp::is_acc32(dtype) && b.rng() % 2;
        b.configure(0, g);
        ASSERT_NO_FATAL_FAILURE(reduce(b, 0, g, 1, Order::kByRank));
      }
    }
  }
  b.finish();
}

// One member to all 64, any ranks; each order.
TEST(ArpFsmTest, OneToSixtyFourMembers) {
  FsmBench b;
  b.auto_ack();
  for (unsigned count : {1u, 2u, 3u, 7u, 16u, 33u, 63u, 64u}) {
    for (Order order : {Order::kBySlot, Order::kRandom}) {
      auto g = group_of(TypeInt32, OpSum, 7, 3, 8 * 128 - 4, random_members(b.rng, count));
      b.configure(1, g);
      ASSERT_NO_FATAL_FAILURE(reduce(b, 1, g, 1, order));
    }
  }
  b.finish();
}

// Groups of all kinds at work at the same time, fragments mixed, results in the order in which they became full.
TEST(ArpFsmTest, GroupsBesideEachOther) {
  FsmBench b;
  b.auto_ack();
  Layout layout;
  std::vector<arp::Group> groups;
  for (unsigned i = 0; i < 14; ++i) {
    const auto dtype = static_cast<uint8_t>(i % 7);
    auto g = group_of(dtype, static_cast<uint8_t>(i % 3), 6 + i % 7, 2,
                      whole_elements(dtype, (4u << (6 + i % 7)) - i * 2), random_members(b.rng, 3));
    g.wide_out = arp::is_acc32(dtype) && i >= 7;
    g.dst = uint64_t{i} << 40;
    layout.place(g);
    groups.push_back(g);
    b.configure(static_cast<uint16_t>(i * 4), g);
  }
  for (uint16_t step = 1; step < 4; ++step) {
    std::vector<arp::Header> all;
    for (unsigned i = 0; i < groups.size(); ++i)
      for (const auto& [f, r] : contributions(b.rng, groups[i], Order::kByRank, 0, fragments_of(groups[i])))
        all.push_back(fragment_header(static_cast<uint16_t>(i * 4), groups[i], step, f, r));
    std::shuffle(all.begin(), all.end(), b.rng);
    for (const auto& h : all) b.send(h, random_elements(b.rng, h.dtype, h.len));
    ASSERT_TRUE(b.drain());
  }
  b.finish();
  EXPECT_EQ(b.n.written, 14u * 4 * 3);
}

// Results of more than 4096 B are two writes; the slot ends with the second.
TEST(ArpFsmTest, WideResultsAreTwoWrites) {
  FsmBench b;
  b.auto_ack();
  for (uint32_t length : {2048u, 2050u, 2080u, 2082u, 4062u, 4094u, 4096u}) {
    auto g = group_of(TypeBf16Acc32, OpSum, 12, 0, length, 3);
    g.wide_out = true;
    g.dst = 0xffff'ffff'ffff'e000;  // just up to the end of the address space
    b.configure(9, g);
    const size_t before = b.wr_at.size();
    ASSERT_NO_FATAL_FAILURE(reduce(b, 9, g, 1, Order::kByRank));
    EXPECT_EQ(b.wr_at.size() - before, length > 2048 ? 2u : 1u) << length;
  }
  b.finish();
}

// The last bytes of the largest vectors: chunks of 64 B to 4 GiB, offsets and laps with all their bits.
TEST(ArpFsmTest, PlacesInTheLargestVectors) {
  FsmBench b;
  b.auto_ack();
  for (unsigned log_chunk : {6u, 9u, 16u, 17u, 31u, 32u}) {
    for (bool wide : {false, true}) {
      auto g = group_of(wide ? TypeFp16Acc32 : TypeFp16, OpMax, 6, static_cast<unsigned>(b.rng() % 11), 0xffff'fffe, 4);
      g.log_chunk = log_chunk;
      g.wide_out = wide;
      g.dst = b.rng() >> 2;
      b.configure(2, g);
      const uint64_t reach = std::min<uint64_t>(uint64_t{1} << (16 + log_chunk), 0xffff'ffff);
      for (int i = 0; i < 60; ++i) {
        const uint64_t byte = i == 0 ? reach - 1 : i < 20 ? (b.rng() % reach) : (uint64_t{1} << (b.rng() % 32)) % reach;
        auto h = fragment_header(2, g, static_cast<uint16_t>(i), byte >> 6, 2);
        b.send(h, random_elements(b.rng, g.dtype, h.len));
        ASSERT_TRUE(b.drain());
        // its neighbours beyond the chunk and the vector
        h.offset += static_cast<uint32_t>(uint64_t{1} << log_chunk);
        h.step = static_cast<uint16_t>(i + 1);
        b.send(h, random_elements(b.rng, g.dtype, h.len));
        h.offset -= static_cast<uint32_t>(uint64_t{1} << log_chunk);
        h.chunk = static_cast<uint16_t>(h.chunk | 1u << (b.rng() % 16));
        b.send(h, random_elements(b.rng, g.dtype, h.len));
        if (log_chunk > 16) {  // the whole number is too large, its lower half is not
          h.chunk = 0x8000;
          h.offset = 0;
          b.send(h, random_elements(b.rng, g.dtype, 64));
        }
      }
    }
  }
  b.finish();
  EXPECT_GE(b.n.written, 600u);
}

// ---- Rate ----

// From a fragment's last beat to its verdict and to its first beat's issue, from there to the write of a result.
TEST(ArpFsmTest, Latencies) {
  for (unsigned lines : {1u, 4u, 64u}) {
    FsmBench b;
    b.configure(0, group_of(TypeFp16, OpSum, 12, 0, lines * 64, 1));
    ASSERT_TRUE(b.drain());
    const auto h = fragment_header(0, b.model.group(0), 1, 0, 0);
    b.send(h, random_elements(b.rng, TypeFp16, h.len));
    while (b.n.frag == 0) b.step();
    const auto verdict = static_cast<int64_t>(b.cycle - 1);
    ASSERT_NO_FATAL_FAILURE(b.finish());
    ASSERT_EQ(b.wr_at.size(), 1u);
    const auto from = static_cast<int64_t>(b.frag_at.back());
    const auto issued = static_cast<int64_t>(b.beat_at.front()), last = static_cast<int64_t>(b.beat_at.back());
    EXPECT_TRUE(takes_cycles({"arp_fsm"}, {8, 10, kLatency + 10 + lines},
                             {verdict - from, issued - from, static_cast<int64_t>(b.wr_at[0]) - last}));
  }
}

uint64_t span(const std::vector<uint64_t>& at) { return at.back() - at.front() + 1; }

// On distinct addresses a beat goes in and is added each cycle, in fragments of any length and mixed ones, also with
// accumulators of two banks; only a result's read may take a cycle from fragments of one bank, one of 65 at most.
TEST(ArpFsmTest, OneBeatACycleOnDistinctAddresses) {
  struct Case {
    uint8_t dtype;
    unsigned log_frag, log_slots;
    bool one_bank;
  };
  for (const Case& c : {Case{TypeFp16, 6, 9, true}, Case{TypeFp16, 7, 9, false}, Case{TypeFp32, 12, 5, false},
                        Case{TypeFp16Acc32, 6, 9, true}, Case{TypeBf16Acc32, 12, 5, true}}) {
    FsmBench b;
    b.auto_ack();
    auto g = group_of(c.dtype, OpSum, c.log_frag, c.log_slots, 1u << (c.log_frag + c.log_slots), 0xf);
    b.configure(0, g);
    ASSERT_TRUE(b.drain());
    reduce(b, 0, g, 1, Order::kByRank);
    ASSERT_NO_FATAL_FAILURE(b.finish());
    const uint64_t beats = uint64_t{4} << (c.log_frag - 6 + c.log_slots);
    ASSERT_EQ(b.beat_at.size(), beats);
    EXPECT_EQ(span(b.frag_at), beats) << "taken; type " << int{c.dtype} << " log_frag " << c.log_frag;
    EXPECT_EQ(b.stall_hazard, 0u);
    EXPECT_EQ(span(b.beat_at), beats + b.stall_read);
    EXPECT_LE(b.stall_read, c.one_bank ? beats / 64 : 0) << "type " << int{c.dtype} << " log_frag " << c.log_frag;
  }
}

// Rows that have all but one bit of their number in common do not wait for each other.
TEST(ArpFsmTest, RowsFarApartDoNotWait) {
  FsmBench b;
  b.no_auto_ack();
  auto g = group_of(TypeInt32, OpSum, 6, 10, 1024 * 64, 7);
  b.configure(0, g);
  ASSERT_TRUE(b.drain());
  for (unsigned r : {0u, 1u}) {
    for (unsigned i = 0; i < 1024; ++i) {
      unsigned f = 0;  // neighbours in this order differ in the upper bits
      for (unsigned bit = 0; bit < 10; ++bit) f |= (i >> bit & 1) << (9 - bit);
      const auto h = fragment_header(0, g, 1, f, r);
      b.send(h, random_elements(b.rng, g.dtype, h.len));
    }
  }
  b.finish();
  EXPECT_EQ(b.stall_hazard, 0u);
  EXPECT_EQ(span(b.beat_at), 2048u);
}

// Fragments of all lengths in any mixture go in without a pause: short ones behind long ones, and the other way round.
TEST(ArpFsmTest, MixedLengthsGoInWithoutPause) {
  FsmBench b;
  Layout layout;
  std::vector<arp::Group> groups;
  for (unsigned log_frag = 6; log_frag <= 12; ++log_frag) {
    auto g = group_of(TypeInt32, OpSum, log_frag, 5, 32u << log_frag, 7);
    layout.place(g);
    groups.push_back(g);
    b.configure(static_cast<uint16_t>(log_frag), g);
  }
  ASSERT_TRUE(b.drain());
  std::vector<arp::Header> all;
  for (const auto& g : groups)
    for (uint64_t f = 0; f < 32; ++f)
      for (unsigned r = 0; r < 2; ++r) all.push_back(fragment_header(static_cast<uint16_t>(g.log_frag), g, 1, f, r));
  // bursts of one length, each order
  std::stable_sort(all.begin(), all.end(), [](const auto& x, const auto& y) { return x.rank < y.rank; });
  for (size_t i = 0; i + 40 < all.size(); i += 80)
    std::shuffle(all.begin() + static_cast<long>(i), all.begin() + static_cast<long>(i) + 40, b.rng);
  for (const auto& h : all) b.send(h, random_elements(b.rng, h.dtype, h.len));
  b.finish();
  EXPECT_EQ(span(b.frag_at), b.frag_at.size());
  EXPECT_EQ(b.stall_read, 0u);
}

// On the same address a beat follows AluLatency + 1 cycles after the one before: in fragments of n beats each waits for
// AluLatency + 1 - n cycles. Counted, and with the right sums.
TEST(ArpFsmTest, SameAddressWaitsForTheAdderOnly) {
  for (uint8_t dtype : {TypeInt32, TypeFp16Acc32}) {
    for (unsigned beats = 1; beats <= 8; ++beats) {
      FsmBench b;
      b.auto_ack();
      auto g = group_of(dtype, OpSum, 9, 0, 64 * beats, ~uint64_t{0});
      b.configure(0, g);
      ASSERT_NO_FATAL_FAILURE(reduce(b, 0, g, 1, Order::kBySlot));
      ASSERT_NO_FATAL_FAILURE(b.finish());
      const uint64_t wait = beats > kLatency ? 0 : kLatency + 1 - beats;
      EXPECT_EQ(b.stall_hazard, 63 * wait) << beats << " beats";
      EXPECT_EQ(span(b.beat_at), 64 * beats + 63 * wait) << beats << " beats";
      EXPECT_EQ(b.n.written, 1u);
    }
  }
}

// A result whose bank is read in every cycle by fragments of one beat is written all the same, after 64 cycles.
TEST(ArpFsmTest, ResultsAreNotStarved) {
  FsmBench b;
  b.done_delay = 0;
  Layout layout;
  auto one = group_of(TypeFp16, OpSum, 6, 0, 64, 3);
  auto many = group_of(TypeFp16, OpSum, 6, 7, 128 * 64, ~uint64_t{0});
  layout.place(one);
  layout.place(many);
  b.configure(0, one);
  b.configure(1, many);
  ASSERT_TRUE(b.drain());
  auto flood = contributions(b.rng, many, Order::kByRank, 0, 128);
  size_t at = 0;
  for (const auto& [f, r] : flood) {
    if (++at == 1000 || at == 1001) {
      const auto h = fragment_header(0, one, 1, 0, at == 1000 ? 0 : 1);
      b.send(h, random_elements(b.rng, TypeFp16, 64));
    }
    const auto h = fragment_header(1, many, 1, f, r);
    b.send(h, random_elements(b.rng, TypeFp16, 64));
  }
  while (b.n.full == 0) b.step();
  const uint64_t full = b.cycle;
  while (b.end_at.empty()) b.step();
  EXPECT_LE(b.end_at.front() - full, 64u + 40u);
  EXPECT_GE(b.end_at.front() - full, 64u);
  EXPECT_GT(b.frags_left(), 5000u);
  EXPECT_GE(b.stall_read, 1u);
  b.finish();
}

// Results go out a beat a cycle, reading beside writing: 32 results of 4 KiB take little more than their 2048 lines.
TEST(ArpFsmTest, ResultsLeaveABeatACycle) {
  for (uint8_t dtype : {TypeFp16, TypeFp16Acc32}) {
    for (bool wide : {false, true}) {
      if (wide && dtype == TypeFp16) continue;
      FsmBench b;
      b.done_delay = 0;
      auto g = group_of(dtype, OpSum, 12, 5, 32 * 4096, 1);
      g.wide_out = wide;
      b.configure(0, g);
      reduce(b, 0, g, 1, Order::kByRank);
      ASSERT_NO_FATAL_FAILURE(b.finish());
      EXPECT_LE(span(b.end_at), 31u * (wide ? 128 : 64) + 70);
    }
  }
}

// ---- Fragments that do not count ----

/// A bench with a group of two slots of 256 B, half of a reduction done.
struct Started {
  FsmBench b;
  arp::Group g;
  explicit Started(ArpPace pace = {}, uint8_t dtype = TypeFp16)
      : b(pace), g(group_of(dtype, OpSum, 8, 1, 1024 - 40, 0x8000'0000'0000'0013)) {
    g.slot_base = 5;
    g.row_base = 100;
    b.configure(7, g);
    for (unsigned r : {0u, 63u})
      for (uint64_t f = 0; f < 2; ++f) good(f, r);
    EXPECT_TRUE(b.drain());
  }
  arp::Header header(uint64_t f, unsigned r, uint16_t step = 1) const { return fragment_header(7, g, step, f, r); }
  void good(uint64_t f, unsigned r, uint16_t step = 1) {
    const auto h = header(f, r, step);
    b.send(h, random_elements(b.rng, g.dtype, h.len));
  }
  /// The rest of the reduction: it comes out right.
  void end() {
    for (uint64_t f = 0; f < 2; ++f)
      for (unsigned r : {1u, 4u}) good(f, r);
    b.finish();
    EXPECT_EQ(b.n.written, 2u);
  }
};

// Each reason for which a fragment is refused, in the order of the checks; nothing of it is seen in the sums.
TEST(ArpFsmTest, EveryRefusalHasItsReason) {
  Started s;
  auto& b = s.b;
  const auto expect = [&](Kind kind, arp::Header h, bool bad = false) {
    const size_t before = b.verdicts.size();
    b.send(h, random_elements(b.rng, s.g.dtype, h.len), bad);
    ASSERT_TRUE(b.drain());
    ASSERT_EQ(b.verdicts.size(), before + 1);
    EXPECT_EQ(b.verdicts.back(), kind);
    ASSERT_FALSE(b.seen.empty());
    EXPECT_EQ(b.seen.back().kind, kind);
    EXPECT_TRUE(b.seen.back().hdr == h);
  };
  arp::Header h = s.header(0, 1);
  expect(Kind::kDamaged, h, true);
  for (uint16_t group : {6, 8, 64, 71, 0x4007, 0xffff}) {
    h = s.header(0, 1);
    h.group = group;
    h.rank = 77;
    h.dtype = 9;
    expect(Kind::kBadGroup, h);
  }
  for (int i = 0; i < 2; ++i) {
    h = s.header(0, 1);
    (i ? h.op : h.dtype) ^= 1;
    h.rank = 2;
    expect(Kind::kBadType, h);
    (i ? h.op : h.dtype) ^= 0x80 | 1;
    expect(Kind::kBadType, h);
  }
  for (uint8_t rank : {2, 3, 62, 64, 65, 127, 128, 255}) {
    h = s.header(0, rank);
    h.offset = 1;
    expect(Kind::kBadRank, h);
  }
  for (uint32_t offset : {1u, 2u, 64u, 128u, 255u, 257u, 1024u, 1280u, 0x8000'0000u, 0xffff'ff00u}) {
    h = s.header(0, 1);
    h.offset = offset;
    h.len = 64;
    expect(Kind::kBadOffset, h);
  }
  h = s.header(0, 1);
  h.chunk = 1;
  expect(Kind::kBadOffset, h);
  h.chunk = 0x8000;
  expect(Kind::kBadOffset, h);
  for (uint16_t len : {2, 64, 254, 258, 512}) {
    h = s.header(0, 1);
    h.len = len;
    expect(Kind::kBadLength, h);
  }
  h = s.header(3, 1);
  h.len = 256;
  expect(Kind::kBadLength, h);
  expect(Kind::kDuplicate, s.header(0, 0));
  expect(Kind::kDuplicate, s.header(1, 63));
  expect(Kind::kNoSlot, s.header(2, 1));
  expect(Kind::kNoSlot, s.header(0, 1, 2));
  expect(Kind::kLate, s.header(0, 1, 0));
  expect(Kind::kLate, s.header(2, 1, 0));
  s.end();
}

// Only whole frames count: cut off, marked bad, longer or shorter than they say, too long, beats that are not full, and
// beats without begin. What stands around them does.
TEST(ArpFsmTest, OnlyWholeFragmentsCount) {
  for (const ArpPace& pace : {kPaces[0], kPaces[4]}) {
    Started s(pace);
    auto& b = s.b;
    const auto whole = [&] { return to_beats(s.header(0, 1), random_elements(b.rng, TypeFp16, 256)); };
    const auto longer = [&](size_t bytes, uint16_t len) {
      auto h = s.header(0, 1);
      h.len = len;
      return to_beats(h, random_elements(b.rng, TypeFp16, bytes));
    };
    std::vector<std::vector<rtl::arp_beat_t>> frames;
    for (size_t keep = 1; keep < 4; ++keep) {  // cut off by the next one
      auto f = whole();
      f.resize(keep);
      frames.push_back(f);
      frames.push_back(f);
    }
    for (size_t drop = 1; drop < 4; ++drop) {  // begin lost
      auto f = whole();
      f.erase(f.begin(), f.begin() + static_cast<long>(drop));
      frames.push_back(f);
      f.resize(1);
      f[0].eop = false;
      frames.push_back(f);  // no end either
    }
    {
      auto f = whole();
      f[3].bad = true;
      frames.push_back(f);
      f = whole();
      f[1].bad = true;  // counts with the end only
      f[3].bytes = 63;
      frames.push_back(f);
    }
    for (uint8_t bytes : {0, 1, 63, 65, 127}) {
      auto f = whole();
      f[1].bytes = bytes;
      frames.push_back(f);
      f = whole();
      f[3].bytes = bytes;
      frames.push_back(f);
    }
    for (auto [bytes, len] : {std::pair<size_t, uint16_t>{192, 256},
                              {258, 256},
                              {320, 256},
                              {254, 256},
                              {4096, 256},
                              {4160, 4160},
                              {4098, 4098},
                              {64 * 65, 64},
                              {64 * 128, 0},
                              {64 * 129, 64},
                              {64 * 130, 8320},
                              {2, 256},
                              {256, 0}}) {
      frames.push_back(longer(bytes, len));
    }
    {
      auto f = longer(64 * 1024 + 256, 256);  // as many as the header says, modulo 2^16
      frames.push_back(f);
      f = longer(8192 + 256, 256);  // modulo the counter
      frames.push_back(f);
    }
    for (int round = 0; round < 2; ++round) {
      for (const auto& f : frames) {
        b.send(f);
        if (round == 1) s.good(0, 0);  // a duplicate, judged as such
      }
      std::shuffle(frames.begin(), frames.end(), b.rng);
    }
    ASSERT_TRUE(b.drain());
    EXPECT_EQ(b.n.frag, 4u);
    EXPECT_EQ(b.n.beat, 16u);
    EXPECT_GE(b.n.damaged, 38u);
    EXPECT_GE(b.n.bad_length, 24u);
    ASSERT_NO_FATAL_FAILURE(s.end());
  }
}

// A frame that is never finished holds nothing up but what comes behind it on the same stream: the clock may stop,
// contexts and acknowledges are taken.
TEST(ArpFsmTest, UnfinishedFragmentHoldsNothingUp) {
  Started s;
  auto& b = s.b;
  auto f = to_beats(s.header(0, 1), random_elements(b.rng, TypeFp16, 256));
  f.resize(2);
  b.send(f);
  ASSERT_TRUE(b.drain(100));
  auto other = group_of(TypeFp32, OpMin, 6, 0, 64, 1);
  b.configure(1, other);
  b.acknowledge({7, 1, 0, 0});
  ASSERT_TRUE(b.drain(1000));
  EXPECT_EQ(b.n.bad_ack, 1u);
  s.end();
}

// Frames of random headers, one beat each, without a pause between good ones: all are taken in the cycle in which they
// come, all are counted, and the sums are right.
TEST(ArpFsmTest, GarbageAtFullRateHarmsNothing) {
  FsmBench b;
  b.auto_ack();
  auto g = group_of(TypeBf16, OpSum, 7, 2, 16 * 128, 0xff);
  b.configure(11, g);
  ASSERT_TRUE(b.drain());
  for (uint16_t step = 1; step < 5; ++step) {
    for (uint64_t lap = 0; lap < 16; lap += 4) {
      for (const auto& [f, r] : contributions(b.rng, g, Order::kRandom, lap, lap + 4)) {
        for (unsigned k = b.rng() % 12; k > 0; --k) {
          rtl::arp_beat_t x;
          for (auto& w : x.data) w = static_cast<uint32_t>(b.rng());
          x.sop = b.rng() % 8 != 0;
          x.eop = b.rng() % 8 != 0;
          x.bad = b.rng() % 4 == 0;
          x.bytes = static_cast<uint8_t>(b.rng() % 4 ? 64 : b.rng() % 128);
          auto h = fragment_header(11, g, step, f, r);
          if (b.rng() % 2) h.group = static_cast<uint16_t>(b.rng());
          if (b.rng() % 2) h.rank = static_cast<uint8_t>(b.rng());
          if (b.rng() % 2) h.offset = static_cast<uint32_t>(b.rng());
          h.len = static_cast<uint16_t>(b.rng() % 2 ? 64 : b.rng());
          x.hdr = to_rtl(h);
          b.send(std::vector<rtl::arp_beat_t>{x});
        }
        const auto h = fragment_header(11, g, step, f, r);
        b.send(h, random_elements(b.rng, g.dtype, h.len));
      }
      ASSERT_TRUE(b.drain());
    }
  }
  b.finish();
  EXPECT_EQ(b.n.written, 64u);
  EXPECT_EQ(b.n.frag, 64u * 8);
  EXPECT_GE(b.n.damaged + b.n.bad_group + b.n.bad_length + b.n.bad_rank + b.n.bad_offset, 2000u);
}

// Refused fragments of one beat are taken and judged one a cycle.
TEST(ArpFsmTest, RefusedFragmentsTakeACycleEach) {
  FsmBench b;
  b.configure(0, group_of(TypeFp16, OpSum, 6, 0, 64, 1));
  ASSERT_TRUE(b.drain());
  for (unsigned i = 0; i < 600; ++i) {
    arp::Header h;
    h.group = static_cast<uint16_t>(i % 3);
    h.len = 64;
    h.offset = 64;
    b.send(h, arp::Bytes(64), i % 4 == 3);
  }
  b.finish();
  EXPECT_EQ(span(b.frag_at), 600u);
}

// Headers with one to four bits turned over, thousands of them: refused for the reference's reason or counted as it
// says, and every reduction still comes out.
TEST(ArpFsmTest, FuzzedHeaders) {
  FsmBench b;
  b.auto_ack();
  Layout layout;
  std::vector<arp::Group> groups;
  for (unsigned i = 0; i < 8; ++i) {
    const auto dtype = static_cast<uint8_t>(i % 7);
    auto g = group_of(dtype, static_cast<uint8_t>(i % 3), 6 + i % 2, 3, whole_elements(dtype, 700 - 6 * i),
                      random_members(b.rng, 4));
    g.log_chunk = 6 + i % 2 + i % 4;
    layout.place(g);
    groups.push_back(g);
    b.configure(static_cast<uint16_t>(1u << (i % 6)), g);
    if (i > 5) b.configure(static_cast<uint16_t>(i * 7), g);
  }
  ASSERT_TRUE(b.drain());
  for (uint16_t step = 0x7ffe; step < 0x8006; ++step) {
    for (unsigned i = 0; i < 6; ++i) {
      const auto& g = b.model.group(1u << i);
      const uint64_t frags = fragments_of(g), slots = uint64_t{1} << g.log_slots;
      for (uint64_t from = 0; from < frags; from += slots) {
        for (const auto& [f, r] : contributions(b.rng, g, Order::kRandom, from, std::min(frags, from + slots))) {
          const auto h = fragment_header(static_cast<uint16_t>(1u << i), g, step, f, r);
          for (unsigned k = 0; k < 4; ++k) {
            auto words = to_rtl(h).pack();
            for (unsigned n = 1 + b.rng() % 4; n > 0; --n) {
              const unsigned bit = static_cast<unsigned>(b.rng() % rtl::areth_t::kWidth);
              words[bit / 32] ^= 1u << (bit % 32);
            }
            const auto x = from_rtl(rtl::areth_t::unpack_at(words.data(), 0));
            const size_t bytes = b.rng() % 2 && x.len != 0 && x.len <= 256 ? x.len : h.len;
            b.send(x, random_elements(b.rng, h.dtype, bytes), b.rng() % 16 == 0);
          }
          b.send(h, random_elements(b.rng, h.dtype, h.len));
        }
        ASSERT_TRUE(b.drain()) << "seed " << test_seed();
      }
    }
  }
  b.finish();
  EXPECT_GE(b.verdicts.size(), 4000u);
  for (uint64_t c : {b.n.duplicate, b.n.late, b.n.no_slot, b.n.bad_group, b.n.bad_type, b.n.bad_offset, b.n.bad_length,
                     b.n.bad_rank, b.n.damaged}) {
    EXPECT_GT(c, 0u);
  }
}

// ---- Steps, laps and acknowledges ----

// Reductions of many steps, across the wrap of their number, sent without waiting for anything and again when there was
// no slot, with others repeated, late and early between them, while slots are acknowledged at random times: each is
// taken or refused as the reference says in that very cycle.
TEST(ArpFsmTest, AnyOrderOfStepsAndAcknowledges) {
  for (const ArpPace& pace : kPaces) {
    FsmBench b(pace);
    b.auto_ack(60);
    Layout layout;
    std::vector<arp::Group> groups;
    for (unsigned i = 0; i < 3; ++i) {
      auto g = group_of(TypeInt32, OpSum, 6, i, 64 * 9, i == 0 ? 1 : 0x8006);
      layout.place(g);
      groups.push_back(g);
      b.configure(static_cast<uint16_t>(i), g);
    }
    ASSERT_TRUE(b.drain());
    std::deque<arp::Header> todo[3];
    std::deque<std::optional<arp::Header>> sent;  // nothing: it does not matter what becomes of it
    uint16_t step[3] = {0xfff8, 0xfffe, 0x7ffd};
    size_t judged = b.verdicts.size();
    const auto send = [&](arp::Header h, bool needed) {
      sent.push_back(needed ? std::optional(h) : std::nullopt);
      b.send(h, random_elements(b.rng, TypeInt32, h.len));
    };
    for (int left = 4000; left > 0 || !sent.empty();) {
      if (b.frags_left() < 4 && left-- > 0) {
        const auto group = static_cast<uint16_t>(b.rng() % 3);
        const auto& g = groups[group];
        auto& q = todo[group];
        if (q.empty() && left > 600) {
          step[group] = static_cast<uint16_t>(step[group] + (b.rng() % 4 == 0 ? 0x7fff : 1));
          const auto all = contributions(b.rng, g, Order::kSkewed, 0, 9);
          for (const auto& [f, r] : all) q.push_back(fragment_header(group, g, step[group], f, r));
        }
        if (!q.empty()) {
          auto h = q.front();
          q.pop_front();
          send(h, true);
          if (b.rng() % 6 == 0) {
            h.step = static_cast<uint16_t>(h.step + b.rng() % 3 - 1);
            if (h.step == static_cast<uint16_t>(step[group] + 1)) h.step = step[group];  // would take the slot
            send(h, false);
          }
          if (b.rng() % 8 == 0) {
            b.acknowledge({static_cast<uint16_t>(b.rng() % 4), static_cast<uint16_t>(h.step - b.rng() % 2), h.chunk,
                           static_cast<uint32_t>(h.offset ^ (b.rng() % 4 == 0 ? 1u << (b.rng() % 32) : 0))});
          }
        }
      }
      b.step();
      for (; judged < b.verdicts.size(); ++judged, sent.pop_front()) {
        if (sent.front() && b.verdicts[judged] == Kind::kNoSlot) todo[sent.front()->group].push_back(*sent.front());
      }
    }
    ASSERT_NO_FATAL_FAILURE(b.finish());
    EXPECT_GT(b.n.acked, 40u);
    EXPECT_GT(b.n.late, 20u);
    EXPECT_GT(b.n.duplicate, 10u);
    EXPECT_GT(b.n.no_slot, 100u);
  }
}

// A step is newer when it lies 1 to 32767 ahead, also across the wrap; 32768 ahead is late, as is the same lap again.
TEST(ArpFsmTest, StepsAreSerialNumbers) {
  FsmBench b;
  b.auto_ack(0);
  auto g = group_of(TypeFp16, OpSum, 6, 0, 64 * 4, 1);
  b.configure(0, g);
  const auto send = [&](uint16_t step, uint64_t f, Kind want) {
    const auto h = fragment_header(0, g, step, f, 0);
    b.send(h, random_elements(b.rng, TypeFp16, 64));
    ASSERT_TRUE(b.drain());
    EXPECT_EQ(b.verdicts.back(), want) << step << " " << f;
  };
  send(5, 1, Kind::kAccepted);
  send(5, 1, Kind::kLate);
  send(5, 0, Kind::kLate);
  send(5, 2, Kind::kAccepted);
  send(4, 3, Kind::kLate);
  send(5 + 32768, 3, Kind::kLate);
  send(5 + 32767, 0, Kind::kAccepted);
  send(5, 3, Kind::kLate);
  send(4, 3, Kind::kLate);
  send(3, 3, Kind::kAccepted);
  send(65535, 3, Kind::kLate);
  send(3, 3, Kind::kLate);
  b.finish();
}

// Laps count with all 26 bits.
TEST(ArpFsmTest, LapsAreComparedWhole) {
  for (unsigned bit = 0; bit < 26; ++bit) {
    FsmBench b;
    b.auto_ack(0);
    auto g = group_of(TypeFp16, OpSum, 6, 0, 0xffff'ffc0, 1);
    g.log_chunk = 32;
    b.configure(0, g);
    const uint64_t high = uint64_t{1} << bit;
    for (uint64_t f : {high - 1, high, high - 1}) {
      const auto h = fragment_header(0, g, 1, f, 0);
      b.send(h, random_elements(b.rng, TypeFp16, 64));
      ASSERT_TRUE(b.drain());
    }
    b.finish();
    EXPECT_EQ(b.n.written, 2u);
    EXPECT_EQ(b.n.late, 1u);
  }
}

// A slot is freed by the acknowledge of its own result after it was written, once; everything else is refused and
// changes nothing. Then a newer step may have it, and a late one may not.
TEST(ArpFsmTest, OnlyTheRightAcknowledgeFrees) {
  FsmBench b;
  auto g = group_of(TypeFp16, OpSum, 7, 1, 128 * 4, 3);
  auto other = g;
  other.slot_base = 2;
  other.row_base = 2;
  b.configure(0, g);
  b.configure(1, other);
  const auto ack = [&](arp::Ack a, bool good) {
    const uint64_t before = b.n.acked, bad = b.n.bad_ack;
    b.acknowledge(a);
    ASSERT_TRUE(b.drain());
    EXPECT_EQ(b.n.acked - before, good ? 1u : 0u);
    EXPECT_EQ(b.n.bad_ack - bad, good ? 0u : 1u);
  };
  const auto send = [&](uint64_t f, unsigned r, uint16_t step) {
    const auto h = fragment_header(0, g, step, f, r);
    b.send(h, random_elements(b.rng, TypeFp16, h.len));
    ASSERT_TRUE(b.drain());
  };
  ack({0, 0, 0, 0}, false);  // never used
  send(0, 0, 1);
  ack({0, 1, 0, 0}, false);  // open
  b.stuck = true;
  const auto h = fragment_header(0, g, 1, 0, 1);
  b.send(h, random_elements(b.rng, TypeFp16, h.len));
  for (int i = 0; i < 200; ++i) b.step();
  b.acknowledge({0, 1, 0, 0});  // being written
  for (int i = 0; i < 50; ++i) b.step();
  EXPECT_EQ(b.n.bad_ack, 3u);
  b.stuck = false;
  ASSERT_TRUE(b.drain());
  EXPECT_EQ(b.top->slots_done_o, 1u);
  ack({1, 1, 0, 0}, false);   // another group
  ack({63, 1, 0, 0}, false);  // none
  ack({64, 1, 0, 0}, false);
  ack({0x4000, 1, 0, 0}, false);
  ack({0, 2, 0, 0}, false);  // another step
  ack({0, 0, 0, 0}, false);
  ack({0, 1, 0, 128}, false);  // another slot
  ack({0, 1, 0, 256}, false);  // another lap
  ack({0, 1, 0, 64}, false);   // no fragment begins there
  ack({0, 1, 0, 1}, false);
  ack({0, 1, 1, 0}, false);  // beyond the vector
  ack({0, 1, 0x8000, 0}, false);
  ack({0, 1, 0, 512}, false);  // beyond the chunk
  ack({0, 1, 0, 0x8000'0000}, false);
  EXPECT_EQ(b.top->slots_done_o, 1u);
  send(2, 0, 1);
  EXPECT_EQ(b.verdicts.back(), Kind::kNoSlot);
  ack({0, 1, 0, 0}, true);
  EXPECT_EQ(b.top->slots_used_o, 0u);
  ack({0, 1, 0, 0}, false);  // twice
  send(0, 0, 1);
  EXPECT_EQ(b.verdicts.back(), Kind::kLate);
  send(2, 0, 1);
  EXPECT_EQ(b.verdicts.back(), Kind::kAccepted);
  ack({0, 1, 0, 0}, false);  // the earlier tag
  send(2, 1, 1);
  ack({0, 1, 0, 0}, false);
  ack({0, 1, 0, 256}, true);
  send(0, 1, 0);
  EXPECT_EQ(b.verdicts.back(), Kind::kLate);
  // two at once: the first counts
  send(0, 0, 2);
  send(0, 1, 2);
  b.acknowledge({0, 2, 0, 0});
  b.acknowledge({0, 2, 0, 0});
  b.finish();
  EXPECT_EQ(b.n.acked, 3u);
}

// Wrong acknowledges in every cycle hold up neither results nor themselves.
TEST(ArpFsmTest, FloodOfAcknowledges) {
  FsmBench b;
  b.auto_ack();
  auto g = group_of(TypeFp16, OpSum, 6, 4, 64 * 16, 1);
  b.configure(0, g);
  for (int i = 0; i < 400; ++i)
    b.acknowledge({static_cast<uint16_t>(i % 2), 1, 0, static_cast<uint32_t>(b.rng() % 2048)});
  reduce(b, 0, g, 1, Order::kByRank);
  b.finish();
  EXPECT_EQ(b.n.written, 16u);
  EXPECT_LT(b.cycle, 600u);
}

// ---- Parity ----

// A bit turned over in the first, a middle or the last line of a slot, in either bank, by the first contribution or a
// later one, loses that slot: nothing of it is written, it is reported, and free again after its acknowledge. Its
// neighbours' results are right.
TEST(ArpFsmTest, DamagedAccumulatorsLoseTheirSlot) {
  for (uint8_t dtype : {TypeFp16, TypeFp16Acc32}) {
    for (unsigned k = 0; k < 3; ++k) {
      const bool wide_out = k == 1, keep = k == 2;
      if (wide_out && dtype == TypeFp16) continue;
      FsmBench b;
      auto g = group_of(dtype, OpSum, 9, 2, 4 * 512, 7);
      g.wide_out = wide_out;
      g.row_base = 200;
      b.configure(0, g);
      ASSERT_TRUE(b.drain());
      const unsigned rows = arp::rows_per_slot(dtype, 9);
      uint16_t step = 0;
      uint64_t lost = 0;
      for (unsigned row : {0u, rows / 2, rows - 1}) {
        for (unsigned bit : {0u, 300u, 511u, 512u, 777u, 1023u}) {
          ++step;
          const unsigned when = static_cast<unsigned>(b.rng() % 3);  // before which contribution
          for (unsigned r = 0; r < 3; ++r) {
            if (r == when) b.inject(200 + 2 * rows + row, bit);
            for (uint64_t f = 0; f < 4; ++f) {
              const auto h = fragment_header(0, g, step, f, r);
              b.send(h, random_elements(b.rng, dtype, h.len));
            }
            ASSERT_TRUE(b.drain());
          }
          ++lost;
          ASSERT_EQ(b.n.parity, lost) << "row " << row << " bit " << bit << " before " << when;
          EXPECT_EQ(b.top->slots_done_o, 4u);
          for (uint64_t f = 0; f < 4; ++f) b.acknowledge({0, step, 0, static_cast<uint32_t>(f * 512)});
          ASSERT_TRUE(b.drain());
          if (keep) break;
        }
      }
      ASSERT_NO_FATAL_FAILURE(b.finish());
      EXPECT_EQ(b.n.written, 3 * lost);
    }
  }
}

// Several results damaged among others, with slow memory: the order of the ends is kept, and so is the memory's.
TEST(ArpFsmTest, LostResultsKeepTheOrder) {
  FsmBench b(kPaces[3]);
  auto g = group_of(TypeBf16Acc32, OpSum, 12, 3, 8 * 4096, 3);
  g.wide_out = true;
  b.auto_ack();
  b.configure(0, g);
  ASSERT_TRUE(b.drain());
  for (uint16_t step = 1; step < 4; ++step) {
    for (unsigned slot : {0u, 3u, 4u, 7u}) {
      b.inject(slot * 64 + static_cast<unsigned>(b.rng() % 64), static_cast<unsigned>(b.rng() % 1024));
      const auto h = fragment_header(0, g, step, slot, 0);
      b.send(h, random_elements(b.rng, g.dtype, h.len));
      ASSERT_TRUE(b.drain());
    }
    for (uint64_t f = 0; f < 8; ++f) {
      for (unsigned r = 0; r < 2; ++r) {
        if (r == 0 && (f == 0 || f == 3 || f == 4 || f == 7)) continue;
        const auto h = fragment_header(0, g, step, f, r);
        b.send(h, random_elements(b.rng, g.dtype, h.len));
      }
    }
    ASSERT_TRUE(b.drain());
  }
  b.finish();
  EXPECT_EQ(b.n.parity, 12u);
  EXPECT_EQ(b.n.written, 12u);
}

// An injected bit waits for a write of its row and bank, and is used up by it.
TEST(ArpFsmTest, InjectionIsUsedOnce) {
  FsmBench b;
  b.auto_ack();
  auto g = group_of(TypeInt64, OpSum, 6, 2, 64 * 4, 1);
  b.configure(0, g);
  ASSERT_TRUE(b.drain());
  b.inject(2, 600);  // bank 1, which fragments of one beat never use
  ASSERT_NO_FATAL_FAILURE(reduce(b, 0, g, 1, Order::kByRank));
  EXPECT_EQ(b.n.parity, 0u);
  b.inject(2, 5);  // in its place
  for (uint16_t step = 2; step < 5; ++step) ASSERT_NO_FATAL_FAILURE(reduce(b, 0, g, step, Order::kByRank));
  b.finish();
  EXPECT_EQ(b.n.parity, 1u);
  EXPECT_EQ(b.n.written, 15u);
}

// A row that is written by half is damaged in that half only: bits behind the end of the last fragment do not count.
TEST(ArpFsmTest, InjectionBehindTheEnd) {
  for (bool wide : {false, true}) {
    for (uint32_t tail : {2u, 32u, 34u, 64u}) {
      FsmBench b;
      b.auto_ack();
      auto g = group_of(TypeFp16Acc32, OpMin, 8, 0, 64 + tail, 6);
      g.wide_out = wide;
      g.row_base = 7;
      b.configure(0, g);
      ASSERT_TRUE(b.drain());
      b.inject(8, 512 + static_cast<unsigned>(b.rng() % 512));
      ASSERT_NO_FATAL_FAILURE(reduce(b, 0, g, 1, Order::kByRank));
      ASSERT_FALSE(HasFailure());
      EXPECT_EQ(b.n.parity, tail > 32 ? 1u : 0u) << tail;
      // an injection that was not used up is by the next use of its row
      g.length = 128;
      b.configure(0, g);
      ASSERT_NO_FATAL_FAILURE(reduce(b, 0, g, 2, Order::kByRank));
      ASSERT_NO_FATAL_FAILURE(b.finish());
      EXPECT_EQ(b.n.parity, 1u);
    }
  }
}

// ---- Contexts ----

// Each rule that a context may break; the group is unknown then, whatever it was before. Just inside of each limit it
// is taken.
TEST(ArpFsmTest, ContextsAreChecked) {
  FsmBench b;
  const auto base = group_of(TypeFp32, OpSum, 8, 2, 4096, 3);
  const auto expect = [&](arp::Group g, bool good, uint16_t number = 5) {
    if (number < NumGroups) b.configure(number, base);
    const uint64_t before = b.n.bad_context;
    b.configure(number, g);
    ASSERT_TRUE(b.drain());
    EXPECT_EQ(b.n.bad_context - before, good ? 0u : 1u);
    auto h = fragment_header(number, g.log_frag >= 6 && g.log_frag < 13 ? g : base, 1, 0,
                             static_cast<unsigned>(__builtin_ctzll(g.members | 1ull << 63)));
    h.len = std::max<uint16_t>(h.len, 2);
    h.len = std::min<uint16_t>(h.len, 4096);
    b.send(h, random_elements(b.rng, TypeFp16, h.len));
    ASSERT_TRUE(b.drain());
    EXPECT_EQ(b.verdicts.back() == Kind::kBadGroup, !good || !g.valid);
    EXPECT_EQ(b.verdicts.back() == Kind::kAccepted, good && g.valid);
  };
  const auto with = [&](auto change) {
    auto g = base;
    change(g);
    return g;
  };
  expect(base, true);
  for (uint16_t number : {0, 63}) expect(base, true, number);
  for (uint16_t number : {64, 69, 0x4005, 0x8000, 0xffff}) expect(base, false, number);
  for (uint8_t t : {7, 8, 0x80, 0x82, 255}) expect(with([&](auto& g) { g.dtype = t; }), false);
  for (uint8_t o : {3, 4, 0x80, 255}) expect(with([&](auto& g) { g.op = o; }), false);
  expect(with([&](auto& g) { g.wide_out = true; }), false);
  expect(with([&](auto& g) { g.wide_out = true, g.dtype = TypeFp16; }), false);
  expect(with([&](auto& g) { g.wide_out = true, g.dtype = TypeFp16Acc32; }), true);
  expect(with([&](auto& g) { g.wide_out = true, g.dtype = TypeBf16Acc32; }), true);
  for (unsigned n = 0; n < 16; ++n) expect(with([&](auto& g) { g.log_frag = n, g.log_chunk = 15; }), n >= 6 && n <= 12);
  for (unsigned n : {0u, 6u, 7u, 8u, 31u, 32u, 33u, 40u, 63u})
    expect(with([&](auto& g) { g.log_chunk = n; }), n >= 8 && n <= 32);
  for (unsigned n = 0; n < 16; ++n) expect(with([&](auto& g) { g.log_slots = n, g.log_frag = 6; }), n <= 10);
  for (unsigned n : {1019u, 1020u, 1021u, 1023u}) expect(with([&](auto& g) { g.slot_base = n; }), n <= 1020);
  for (unsigned n : {4087u, 4088u, 4089u, 4095u}) expect(with([&](auto& g) { g.row_base = n; }), n <= 4088);
  for (unsigned n : {4080u, 4081u}) expect(with([&](auto& g) { g.row_base = n, g.dtype = TypeFp16Acc32; }), n <= 4080);
  for (unsigned n : {4092u, 4093u}) expect(with([&](auto& g) { g.row_base = n, g.log_frag = 6; }), n <= 4092);
  for (unsigned n : {4092u, 4093u}) expect(with([&](auto& g) { g.row_base = n, g.log_frag = 7; }), n <= 4092);
  expect(with([&](auto& g) { g.log_frag = g.log_chunk = 12, g.log_slots = 7; }), true);
  expect(with([&](auto& g) { g.log_frag = g.log_chunk = 12, g.log_slots = 7, g.row_base = 1; }), false);
  expect(with([&](auto& g) { g.log_frag = g.log_chunk = 12, g.log_slots = 7, g.dtype = TypeBf16Acc32; }), false);
  expect(with([&](auto& g) { g.log_frag = g.log_chunk = 12, g.log_slots = 10; }), false);
  expect(with([&](auto& g) { g.members = 0; }), false);
  expect(with([&](auto& g) { g.members = 1ull << 63; }), true);
  expect(with([&](auto& g) { g.length = 0; }), false);
  for (uint8_t t = 0; t <= TypeBf16Acc32; ++t)
    for (uint32_t n = 1; n <= 16; ++n)
      expect(with([&](auto& g) { g.dtype = t, g.length = n; }), n % arp::element_size(t) == 0);
  for (uint64_t d : {uint64_t{0} - 4096, uint64_t{0} - 4097}) expect(with([&](auto& g) { g.dst = d; }), true);
  expect(with([&](auto& g) { g.dst = uint64_t{0} - 4095; }), false);
  expect(with([&](auto& g) { g.dst = uint64_t{0} - 8192, g.dtype = TypeFp16Acc32, g.wide_out = true; }), true);
  expect(with([&](auto& g) { g.dst = uint64_t{0} - 8191, g.dtype = TypeFp16Acc32, g.wide_out = true; }), false);
  expect(with([&](auto& g) {
           g.length = 0xffff'fffe, g.dtype = TypeFp16Acc32, g.wide_out = true, g.dst = ~uint64_t{0} << 33;
         }),
         true);
  expect(with([&](auto& g) {
           g.length = 0xffff'fffe, g.dtype = TypeFp16Acc32, g.wide_out = true, g.dst = (~uint64_t{0} << 33) + 5;
         }),
         false);
  expect(with([&](auto& g) { g.valid = false; }), true);
  expect(with([&](auto& g) { g.valid = false, g.members = 0, g.log_frag = 0; }), true);
  b.finish();
}

// A context waits until what is in flight is done, and nothing new gets in: no fragment meets half of it.
TEST(ArpFsmTest, ContextWaitsUntilNothingIsInFlight) {
  for (const ArpPace& pace : kPaces) {
    FsmBench b(pace);
    b.auto_ack(5);
    auto g = group_of(TypeFp16, OpSum, 8, 2, 1024, 3);
    b.configure(0, g);
    ASSERT_TRUE(b.drain());
    uint16_t step = 0;
    for (int i = 0; i < 60; ++i) {
      ++step;
      for (const auto& [f, r] : contributions(b.rng, g, kOrders[b.rng() % 4], 0, fragments_of(g))) {
        const auto h = fragment_header(0, g, step, f, r);
        b.send(h, random_elements(b.rng, g.dtype, h.len));
      }
      for (unsigned k = b.rng() % 60; k > 0; --k) b.step();
      // what waits is of the old context; the new one comes in between
      g.dst += 0x10000;
      g.slot_base = static_cast<unsigned>(b.rng() % 8);
      g.row_base = static_cast<unsigned>(b.rng() % 8);
      g.log_frag = 7 + static_cast<unsigned>(b.rng() % 2);
      g.log_chunk = 10 + static_cast<unsigned>(b.rng() % 3);
      b.configure(0, g);
    }
    ASSERT_NO_FATAL_FAILURE(b.finish());
    EXPECT_GT(b.n.frag, 20u);
  }
}

// While results are stuck no context is taken; then it is.
TEST(ArpFsmTest, ContextWaitsForWrites) {
  FsmBench b;
  auto g = group_of(TypeFp16, OpSum, 6, 0, 64, 1);
  b.configure(0, g);
  ASSERT_TRUE(b.drain());
  b.stuck = true;
  const auto h = fragment_header(0, g, 1, 0, 0);
  b.send(h, arp::Bytes(64, 1));
  auto cut = to_beats(h, arp::Bytes(64, 3));
  cut[0].eop = false;
  b.send(cut);
  for (int i = 0; i < 60; ++i) b.step();
  b.configure(1, g);
  b.send(h, arp::Bytes(64, 2));  // cuts off what came before, but not yet
  for (int i = 0; i < 300; ++i) b.step();
  EXPECT_EQ(b.cfg_at.size(), 1u);
  EXPECT_EQ(b.frags_left(), 1u);
  b.stuck = false;
  b.finish();
  EXPECT_EQ(b.cfg_at.size(), 2u);
  EXPECT_EQ(b.n.damaged, 1u);
}

// A new context forgets what its slots were, the old ones' and the new ones': any step may come, and the counts of
// slots are right; other groups' slots stay as they are.
TEST(ArpFsmTest, ContextForgetsItsSlots) {
  FsmBench b;
  auto g = group_of(TypeFp16, OpSum, 6, 3, 64 * 8, 3), other = g;
  other.slot_base = 8;
  other.row_base = 8;
  b.configure(0, g);
  b.configure(1, other);
  const auto send = [&](uint16_t group, const arp::Group& x, uint16_t step, unsigned r, uint64_t to) {
    for (uint64_t f = 0; f < to; ++f) {
      const auto h = fragment_header(group, x, step, f, r);
      b.send(h, random_elements(b.rng, TypeFp16, h.len));
    }
    ASSERT_TRUE(b.drain());
  };
  for (uint16_t group = 0; group < 2; ++group) {
    send(group, group ? other : g, 100, 0, 8);
    send(group, group ? other : g, 100, 1, 4);
  }
  EXPECT_EQ(b.top->slots_used_o, 16u);
  EXPECT_EQ(b.top->slots_done_o, 8u);
  b.configure(0, g);
  ASSERT_TRUE(b.drain());
  EXPECT_EQ(b.top->slots_used_o, 8u);
  EXPECT_EQ(b.top->slots_done_o, 4u);
  send(0, g, 50, 0, 8);
  EXPECT_EQ(b.verdicts.back(), Kind::kAccepted);
  b.acknowledge({0, 100, 0, 0});
  send(1, other, 100, 1, 8);
  EXPECT_EQ(b.verdicts.back(), Kind::kAccepted);
  EXPECT_EQ(b.n.duplicate, 4u);
  g.log_slots = 1;  // fewer slots: the others are forgotten, too
  b.configure(0, g);
  ASSERT_TRUE(b.drain());
  EXPECT_EQ(b.top->slots_used_o, 8u);
  b.configure(2, other);  // over another group's slots
  ASSERT_TRUE(b.drain());
  EXPECT_EQ(b.top->slots_used_o, 0u);
  send(2, other, 3, 0, 8);
  EXPECT_EQ(b.top->slots_used_o, 8u);
  b.configure(2, g);
  g.valid = false;
  b.configure(0, g);
  b.configure(1, g);
  b.finish();
  EXPECT_EQ(b.top->slots_used_o, 0u);
  EXPECT_EQ(b.top->slots_done_o, 0u);
}

// All 1024 slots at once, and all rows.
TEST(ArpFsmTest, AllSlotsAndRows) {
  FsmBench b;
  auto g = group_of(TypeFp32, OpSum, 9, 10, 1024 * 512, 3);
  b.configure(0, g);
  ASSERT_TRUE(b.drain());
  for (const auto& [f, r] : contributions(b.rng, g, Order::kByRank, 0, 1024)) {
    const auto h = fragment_header(0, g, 1, f, r);
    arp::Bytes data(h.len, static_cast<uint8_t>(f));
    data[0] = static_cast<uint8_t>(f >> 8);
    b.send(h, data);
  }
  ASSERT_TRUE(b.drain());
  EXPECT_EQ(b.top->slots_used_o, 1024u);
  EXPECT_EQ(b.top->slots_done_o, 1024u);
  for (uint64_t f = 0; f < 1024; ++f) {
    const auto h = fragment_header(0, g, 1, f, 0);
    b.acknowledge({0, 1, h.chunk, h.offset});
  }
  b.finish();
  EXPECT_EQ(b.n.acked, 1024u);
  EXPECT_EQ(b.top->slots_used_o, 0u);
}

// ---- Events and idle ----

// Sixteen events wait; more are dropped and counted, and nothing else waits for them.
TEST(ArpFsmTest, EventsAreDroppedWhenNobodyTakesThem) {
  FsmBench b;
  auto g = group_of(TypeFp16, OpSum, 6, 4, 64 * 16, 1);
  b.configure(0, g);
  ASSERT_TRUE(b.drain());
  b.pace.evt = 0;
  for (unsigned i = 0; i < 40; ++i) {
    auto h = fragment_header(i % 2 ? 0 : 9, g, 1, i % 16, 0);
    b.send(h, random_elements(b.rng, TypeFp16, h.len));
    if (i % 4 == 0) b.acknowledge({1, 0, 0, 0});
  }
  for (int i = 0; i < 400; ++i) b.step();
  EXPECT_EQ(b.n.written, 8u);
  EXPECT_EQ(b.n.bad_group, 20u);
  EXPECT_EQ(b.n.bad_ack, 10u);
  EXPECT_EQ(b.lost_events, 20u + 12 + 8 + 10 - 16);  // the other 12 are late or without a slot
  EXPECT_FALSE(b.top->idle_o);
  b.pace.evt = 100;
  b.finish();
  EXPECT_EQ(b.seen.size(), 16u);
}

// Of two events in one cycle neither gets lost while there is room, and of two that meet the last place one does.
TEST(ArpFsmTest, EventsOfTwoSourcesInOneCycle) {
  for (unsigned evt : {100u, 60u, 45u}) {
    FsmBench b;
    b.pace.evt = evt;
    b.done_delay = 5;
    b.auto_ack(0);
    auto g = group_of(TypeFp16, OpSum, 6, 4, 64 * 16, 1);
    b.configure(0, g);
    for (uint16_t step = 1; step < 40; ++step) {
      for (uint64_t f = 0; f < 16; ++f) {
        const auto h = fragment_header(0, g, step, f, 0);
        b.send(h, random_elements(b.rng, TypeFp16, h.len));
        auto x = h;
        x.group = 3;
        if (b.rng() % 2) b.send(x, random_elements(b.rng, TypeFp16, h.len));
        if (b.rng() % 4 == 0) b.acknowledge({0, h.step, h.chunk, h.offset});
      }
      if (evt == 100 || step % 8 == 0) {
        ASSERT_TRUE(b.drain());
      }
    }
    ASSERT_NO_FATAL_FAILURE(b.finish());
    EXPECT_EQ(b.lost_events > 0, evt < 100);
    EXPECT_GT(b.n.written, 60u);
  }
}

// Idle after reset and whenever all is done, with slots open or done; not from a fragment's end to its event, nor while
// a context or a write is on its way.
TEST(ArpFsmTest, IdleMeansNothingInFlight) {
  FsmBench b;
  EXPECT_TRUE(b.top->idle_o);
  auto g = group_of(TypeFp16, OpSum, 7, 1, 256, 3);
  b.configure(0, g);
  while (b.cfg_at.empty()) {
    b.step();
    EXPECT_TRUE(!b.top->idle_o || !b.cfg_at.empty());
  }
  ASSERT_TRUE(b.drain(10));
  const auto send = [&](unsigned r, uint16_t group) {
    auto h = fragment_header(0, g, 1, 0, r);
    h.group = group;
    b.send(h, random_elements(b.rng, TypeFp16, 128));
    while (b.frags_left() > 0) b.step();
  };
  send(0, 0);
  const uint64_t beats = b.n.beat;
  for (int i = 0; b.n.beat < beats + 2; ++i) {
    ASSERT_LT(i, 100);
    b.step();
    b.settle();
    EXPECT_FALSE(b.top->idle_o);
  }
  for (unsigned i = 0; i < kLatency; ++i) {  // on the way through the adder
    EXPECT_FALSE(b.top->idle_o);
    b.step();
    b.settle();
  }
  ASSERT_TRUE(b.drain(20));
  EXPECT_EQ(b.top->slots_used_o, 1u);
  send(0, 9);
  b.pace.evt = 0;
  for (int i = 0; i < 50; ++i) {
    b.step();
    b.settle();
    EXPECT_FALSE(b.top->idle_o);
  }
  b.pace.evt = 100;
  ASSERT_TRUE(b.drain(20));
  b.stuck = true;
  send(1, 0);
  for (int i = 0; i < 100; ++i) {
    b.step();
    b.settle();
    EXPECT_FALSE(b.top->idle_o);
  }
  EXPECT_EQ(b.wr_at.size(), 1u);
  b.stuck = false;
  b.finish();
  EXPECT_EQ(b.top->slots_done_o, 1u);
}

// Cycles in which a result waits for the DMA are counted.
TEST(ArpFsmTest, WaitingForTheDmaIsCounted) {
  FsmBench b;
  b.pace.wr = 0;
  auto g = group_of(TypeFp16, OpSum, 12, 0, 4096, 1);
  b.configure(0, g);
  const auto h = fragment_header(0, g, 1, 0, 0);
  b.send(h, random_elements(b.rng, TypeFp16, h.len));
  for (int i = 0; i < 500; ++i) b.step();
  const uint64_t waited = b.stall_drain;
  EXPECT_GT(waited, 200u);
  b.pace.wr = 100;
  b.finish();
  EXPECT_LE(b.stall_drain, waited + 1);
}

// Many short results wait for the DMA: they go out in order, and the ones behind them wait in their slots.
TEST(ArpFsmTest, ManyResultsWaitForTheDma) {
  FsmBench b;
  b.pace.wr = 0;
  b.auto_ack();
  auto g = group_of(TypeFp32, OpMax, 6, 6, 64 * 64, 1);
  b.configure(0, g);
  for (const auto& [f, r] : contributions(b.rng, g, Order::kByRank, 0, 64)) {
    const auto h = fragment_header(0, g, 1, f, r);
    b.send(h, random_elements(b.rng, g.dtype, h.len));
  }
  for (int i = 0; i < 300; ++i) b.step();
  EXPECT_EQ(b.n.full, 64u);
  EXPECT_EQ(b.n.written, 0u);
  b.pace.wr = 100;
  b.finish();
  EXPECT_EQ(b.n.written, 64u);
}

}  // namespace
}  // namespace rnic::test
