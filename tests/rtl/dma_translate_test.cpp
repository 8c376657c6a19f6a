// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <map>
#include <vector>

#include "Vdma_translate.h"
#include "rnic/golden/region.h"
#include "rtl/bench.h"
#include "support/latency.h"

namespace rnic::test {
namespace {

using golden::BusPiece;
using golden::Denial;
using golden::Region;
using golden::Window;
using rtl::rd_req_t;
using rtl::xl_req_t;

constexpr unsigned kWindows = 64;
constexpr unsigned kOpen = 520;                         // reads that dma_master takes before it answers one
constexpr uint64_t kPageSpace = uint64_t{0x123} << 40;  // pages stand here

/// A read as it is asked for.
struct Ask {
  Region region;
  uint64_t place = 0;
  uint32_t length = 1;
};

/// How busy the neighbours are, in percent of the cycles.
struct Pace {
  unsigned ask = 100;
  unsigned rd = 100;    // dma_master ready
  unsigned done = 100;  // it answers the oldest read
  unsigned dm = 100;    // device memory takes a request, or answers
  unsigned inval = 0;
  unsigned change = 0;  // a window changes
};

/// Eight bytes of device memory: most pages are there.
uint64_t any_word(uint64_t offset) {
  uint64_t h = offset * 0x9e3779b97f4a7c15u;
  h ^= h >> 29;
  const bool present = h % 8 != 0;
  return kPageSpace | (h & 0xfffffff000) | (h & 0xffe) | present;
}

/// The block with its neighbours. Everything that comes out is compared with the reference at once.
class TranslateBench : public Bench<Vdma_translate> {
 public:
  explicit TranslateBench(Pace p = {}) : Bench(test_seed()), pace(p), windows(kWindows) {}

  Pace pace;
  golden::DeviceWords memory = any_word;
  std::vector<Window> windows;  // as of now
  std::deque<Ask> asks;
  std::vector<rd_req_t> reads;  // that have left
  std::vector<uint64_t> left;   // and when
  uint64_t taken = 0;           // cycle of the latest request
  unsigned dm_latency = 7, dm_reads = 0, misses = 0, absent = 0, denied = 0, want_absent = 0, want_denied = 0;
  unsigned busy_cycles = 0;
  bool hold_done = false;
  bool check_addresses = true;
  std::function<Window(TranslateBench&, unsigned)> any_window;

  void set(unsigned index, const Window& w) {
    rtl::window_t v;
    v.valid = w.valid, v.read = w.read, v.write = w.write, v.base = w.base, v.size = w.size, v.gpu = w.gpu;
    rtl::drive(top->win_i, v);
    top->win_idx_i = static_cast<uint8_t>(index);
    top->win_we_i = 1;
    change_ = {index, w};
  }
  /// A window set, at an edge of its own.
  void set_now(unsigned index, const Window& w) {
    set(index, w);
    step();
  }
  void step() {
    if (!offered_ && !asks.empty() && chance(pace.ask)) {
      offered_ = true;
      const Ask& a = asks.front();
      xl_req_t x;
      x.paged = a.region.paged, x.log_page = static_cast<uint8_t>(a.region.log_page), x.mtt = a.region.mtt;
      x.pages = a.region.pages, x.window_en = a.region.window_en, x.window = static_cast<uint8_t>(a.region.window);
      x.addr = a.place, x.len = static_cast<uint16_t>(a.length);
      x.more = rng() & 1, x.attr = rng() % 8;
      x.op.qpn = rng() % 1024, x.op.wqe = static_cast<uint16_t>(rng()), x.op.psn = rng() % (1 << 24);
      asked_ = x;
      rtl::drive(top->xl_i, x);
    }
    top->xl_valid_i = offered_;
    top->rd_ready_i = answers_ < kOpen && chance(pace.rd);
    top->rd_done_i = answers_ != 0 && !hold_done && chance(pace.done);
    top->inval_i = chance(pace.inval) || inval_next;
    inval_next = false;
    top->stale_i = stale != 0;
    if (stale != 0) --stale;
    if (top->inval_i && pace.inval != 0) stale = rng() % 20;
    if (!top->win_we_i && chance(pace.change)) {
      const unsigned index = rng() % 8;
      set(index, any_window(*this, index));
    }
    top->dm_req_ready_i = chance(pace.dm);
    top->dm_rsp_valid_i = 0;
    if (!dm_.empty() && dm_.front().first <= cycle && chance(pace.dm)) {
      rtl::dm_rsp_t r;
      r.last = true;
      for (unsigned i = 0; i < 8; ++i) {
        const uint64_t w = dm_.front().second[i];
        r.data[2 * i] = static_cast<uint32_t>(w), r.data[2 * i + 1] = static_cast<uint32_t>(w >> 32);
      }
      rtl::drive(top->dm_rsp_i, r);
      top->dm_rsp_valid_i = 1;
      dm_.pop_front();
    }
    settle();
    if (top->xl_valid_i && top->xl_ready_o) {
      expect(asks.front());
      asks.pop_front();
      offered_ = false;
      taken = cycle;
    }
    if (top->dm_req_valid_o && top->dm_req_ready_i) {
      const auto q = rtl::sample<rtl::dm_req_t>(top->dm_req_o);
      EXPECT_FALSE(q.write || q.two);
      EXPECT_EQ(q.addr % 64, 0u);
      std::array<uint64_t, 8> words;
      for (unsigned i = 0; i < 8; ++i) words[i] = memory(q.addr + 8 * i);
      dm_.emplace_back(cycle + dm_latency, words);
      ++dm_reads;
    }
    misses += top->stat_mtt_miss_o, absent += top->stat_mtt_absent_o, denied += top->stat_win_denied_o;
    const bool leaves = top->rd_valid_o && top->rd_ready_i;
    if (leaves) {
      reads.push_back(rtl::sample<rd_req_t>(top->rd_o));
      left.push_back(cycle);
    }
    if (top->idle_o && !top->xl_valid_i) {
      EXPECT_FALSE(top->rd_valid_o || top->dm_req_valid_o || !wanted_.empty());
    }
    const bool inval = top->inval_i, stale_now = top->stale_i;
    const bool change = top->win_we_i, done = top->rd_done_i, shown_before = top->rd_valid_o && !leaves;
    tick();
    top->win_we_i = 0;
    settle();
    // A read that shows now has got into the output register at this edge.
    const bool in = top->rd_valid_o && !shown_before;
    if (in) judge();
    answers_ += leaves;
    answers_ -= done;
    open_ += in;
    open_ -= done;
    if (change) {
      old_ = open_;
      windows[change_.first] = change_.second;
    } else if (done && old_ != 0) {
      --old_;
    }
    // Reads that were asked for with a region from before an invalidation
    answered_ += done;
    entered_ += in;
    if (inval || (settling_ && stale_now)) {
      settling_ = true;
      old_pieces_ = pieces_;
    } else if (settling_ && entered_ >= old_pieces_) {
      settling_ = false;
      settled_ = cycle;
    }
    if (cycle <= settled_ + 3) settled_pieces_ = entered_;
    const bool must = old_ != 0 || answered_ < old_pieces_;
    const bool may = must || settling_ || cycle <= settled_ + 3 || answered_ < settled_pieces_;
    ASSERT_LE(must, top->win_busy_o) << "cycle " << cycle;
    ASSERT_LE(top->win_busy_o, may) << "cycle " << cycle;
    busy_cycles += top->win_busy_o;
  }
  /// Until nothing is left; false when that takes more than `limit` cycles.
  bool drain(uint64_t limit = 1000000) {
    const uint64_t end = cycle + limit;
    do {
      if (cycle == end) return false;
      step();
      if (::testing::Test::HasFatalFailure()) return false;
    } while (!asks.empty() || !top->idle_o || (!hold_done && answers_ != 0));
    return wanted_.empty();
  }
  bool inval_next = false;
  unsigned stale = 0;  // cycles for which tx_segmenter says that it has reads of before

 private:
  struct Want {
    BusPiece piece;  // without the window
    Region region;
    rd_req_t rest;
  };
  void expect(const Ask& a) {
    Region r = a.region;
    r.window_en = false;
    auto pieces = golden::translate(r, a.place, a.length, windows, memory);
    pieces_ += pieces.size();
    for (size_t i = 0; i < pieces.size(); ++i) {
      rd_req_t q;
      q.more = asked_.more || i + 1 < pieces.size();
      q.attr = asked_.attr, q.op = asked_.op, q.len = static_cast<uint16_t>(pieces[i].length);
      wanted_.push_back({pieces[i], a.region, q});
    }
  }
  void judge() {
    ASSERT_FALSE(wanted_.empty());
    Want w = wanted_.front();
    wanted_.pop_front();
    if (w.piece.denied == Denial::kNone && w.region.window_en) {
      const auto bus = golden::through(windows[w.region.window], w.piece.addr, w.piece.length, false);
      if (bus)
        w.piece.addr = *bus;
      else
        w.piece.denied = Denial::kWindow;
    }
    want_absent += w.piece.denied == Denial::kAbsent;
    want_denied += w.piece.denied == Denial::kWindow;
    const auto got = rtl::sample<rd_req_t>(top->rd_o);
    ASSERT_EQ(got.denied, w.piece.denied != Denial::kNone) << "read " << reads.size();
    if (!got.denied && check_addresses) {
      ASSERT_EQ(got.addr, w.piece.addr) << "read " << reads.size();
    }
    ASSERT_EQ(got.len, w.rest.len);
    ASSERT_EQ(got.more, w.rest.more);
    ASSERT_EQ(got.attr, w.rest.attr);
    ASSERT_EQ(got.op.qpn, w.rest.op.qpn);
    ASSERT_EQ(got.op.wqe, w.rest.op.wqe);
    ASSERT_EQ(got.op.psn, w.rest.op.psn);
  }

  bool offered_ = false;
  xl_req_t asked_;
  std::deque<Want> wanted_;
  std::deque<std::pair<uint64_t, std::array<uint64_t, 8>>> dm_;
  std::pair<unsigned, Window> change_;
  unsigned answers_ = 0, open_ = 0, old_ = 0;
  bool settling_ = false;
  uint64_t pieces_ = 0, entered_ = 0, answered_ = 0, old_pieces_ = 0, settled_ = 0, settled_pieces_ = 0;
};

/// A list of pages of 2^log_page B, all of which any_word knows.
Region list(uint32_t mtt, uint32_t pages, unsigned log_page = 12) {
  Region r;
  r.paged = true;
  r.mtt = mtt, r.pages = pages, r.log_page = log_page;
  return r;
}

Region windowed(unsigned window) {
  Region r;
  r.window_en = true, r.window = window;
  return r;
}

/// Any read of any region, often one at an end of something.
Ask any_ask(TranslateBench& b) {
  auto& rng = b.rng;
  const auto around = [&](uint64_t at) { return at + rng() % 8200 - 4100; };
  Ask a;
  a.length = static_cast<uint32_t>(rng() % 3 == 0 ? 4096 : rng() % 3 == 0 ? 1 : 1 + rng() % 4096);
  a.region.window_en = rng() % 2, a.region.window = rng() % 9;
  const Window& w = b.windows[a.region.window];
  if (rng() % 2) {
    constexpr std::array<unsigned, 8> kLog{12, 12, 13, 16, 21, 30, 31, 3};
    a.region = list(static_cast<uint32_t>(rng() % 3 ? rng() % 64 : (1 << 22) - 2), static_cast<uint32_t>(rng() % 40),
                    kLog[rng() % kLog.size()]);
    if (rng() % 8 == 0) a.region.pages = 0xffffffff;
    a.region.window_en = rng() % 4 == 0, a.region.window = 8;
    const unsigned log_page = a.region.log_page < 12 || a.region.log_page > 30 ? 12 : a.region.log_page;
    a.place = around((rng() % 42) << log_page);
    if (rng() % 16 == 0) a.place = around(uint64_t{0xfffffff0 + rng() % 32} << log_page);
    if (rng() % 16 == 0) a.place = rng();
  } else if (a.region.window_en) {
    a.place = around(rng() % 2 ? w.base : w.base + w.size);
    if (rng() % 8 == 0) a.place = around(w.base - w.gpu);
  } else {
    a.place = rng();
  }
  // What does not wrap, as tx_segmenter sees to.
  if (a.place > -uint64_t{a.length}) a.place = -uint64_t{a.length};
  return a;
}

Window any_window(TranslateBench& b, unsigned index) {
  auto& rng = b.rng;
  const auto number = [&]() -> uint64_t {
    switch (rng() % 4) {
      case 0:
        return rng() % 9000;
      case 1:
        return -(rng() % 9000);
      case 2:
        return uint64_t{1} << (12 + rng() % 52);
      default:
        return rng();
    }
  };
  Window w{rng() % 8 != 0, rng() % 8 != 0, rng() % 2 != 0, number(), number(), number()};
  if (index == 8) w = {true, true, false, kPageSpace + 0x1000000800, 0x7000000000, number()};
  return w;
}

class TranslateRandom : public ::testing::TestWithParam<Pace> {};

// Any mixture of lists, pages at their ends, windows that change, copies that are forgotten: each piece is where the
// reference says, or denied; in order; counted; `busy` holds exactly as long as a read from before the last change.
TEST_P(TranslateRandom, EachPieceIsWhereTheReferenceSays) {
  SCOPED_TRACE("RNIC_TEST_SEED=" + std::to_string(test_seed()));
  TranslateBench b(GetParam());
  b.any_window = any_window;
  for (unsigned i = 0; i < 9; ++i) b.set_now(i, any_window(b, i));
  constexpr unsigned kAsks = 12000;
  for (unsigned i = 0; i < kAsks; ++i) {
    b.asks.push_back(any_ask(b));
    while (b.asks.size() > 3) {
      b.step();
      if (HasFatalFailure()) return;
    }
  }
  ASSERT_TRUE(b.drain());
  EXPECT_EQ(b.absent, b.want_absent);
  EXPECT_EQ(b.denied, b.want_denied);
  EXPECT_EQ(b.misses, b.dm_reads);
  EXPECT_GT(b.reads.size(), kAsks + kAsks / 50);
  EXPECT_GT(b.absent, kAsks / 20);
  EXPECT_GT(b.denied, kAsks / 20);
  EXPECT_LT(b.absent + b.denied, b.reads.size() * 9 / 10);
}

INSTANTIATE_TEST_SUITE_P(Grid, TranslateRandom,
                         ::testing::Values(Pace{}, Pace{100, 100, 100, 100, 2, 5}, Pace{50, 100, 100, 30, 1, 1},
                                           Pace{100, 30, 20, 100, 0, 10}, Pace{100, 50, 50, 50, 10, 50},
                                           Pace{20, 100, 5, 100, 1, 3}, Pace{100, 95, 100, 10, 0, 0}),
                         [](const auto& info) { return "Pace" + std::to_string(info.index); });

/// Cycles from a read's acceptance to its first showing.
int64_t latency_of(TranslateBench& b, const Ask& a) {
  b.asks.push_back(a);
  EXPECT_TRUE(b.drain());
  return static_cast<int64_t>(b.left.back() - b.taken);
}

// A read of a region without a list takes two cycles, through a window or not; one of a list seven, when its page's
// copy is there.
TEST(DmaTranslateTest, CyclesOfEachWay) {
  TranslateBench b;
  b.memory = [](uint64_t) { return kPageSpace | 1; };
  b.set_now(3, {true, true, false, 0, 1 << 20, 0x5000});
  const int64_t direct = latency_of(b, {Region{}, 0x1000, 64});
  const int64_t window = latency_of(b, {windowed(3), 0x1000, 64});
  latency_of(b, {list(9, 8), 0x3000, 64});
  const int64_t paged = latency_of(b, {list(9, 8), 0x3000, 64});
  EXPECT_TRUE(takes_cycles({"dma_translate"}, {2, 2}, {direct, window}));
  EXPECT_TRUE(takes_cycles({"dma_translate", side("ctx_cache"), side("fifo")}, {7}, {paged}));
  EXPECT_EQ(b.dm_reads, 1u);
}

// One piece a cycle, on every way; a read over two pages is two pieces.
TEST(DmaTranslateTest, OnePieceACycle) {
  for (bool paged : {false, true}) {
    TranslateBench b;
    b.memory = [](uint64_t offset) { return (kPageSpace + offset * 512) | 1; };
    for (int round = 0; round < 2; ++round) {
      for (unsigned i = 0; i < 64; ++i) {
        b.asks.push_back({paged ? list(0, 512) : Region{}, 2048 + i * 4096, 4096});
      }
      b.reads.clear(), b.left.clear();
      ASSERT_TRUE(b.drain());
    }
    ASSERT_EQ(b.left.size(), paged ? 128u : 64u);
    EXPECT_EQ(b.left.back() - b.left.front(), b.left.size() - 1);
  }
}

// Misses are under way together: sixteen lists cost about one access of device memory, not sixteen.
TEST(DmaTranslateTest, MissesAreUnderWayTogether) {
  TranslateBench b;
  b.dm_latency = 100;
  for (unsigned i = 0; i < 16; ++i) b.asks.push_back({list(i, 8), 0, 64});
  const uint64_t begin = b.cycle;
  ASSERT_TRUE(b.drain());
  EXPECT_EQ(b.dm_reads, 16u);
  EXPECT_LT(b.cycle - begin, 150u);
}

// A read behind one whose page is being fetched waits for it: the order is kept, on both ways.
TEST(DmaTranslateTest, NothingOvertakesAMiss) {
  TranslateBench b;
  b.dm_latency = 200;
  b.memory = [](uint64_t) { return kPageSpace | 1; };
  b.asks = {{list(1, 8), 0, 64}, {Region{}, 0x777, 64}, {list(1, 8), 64, 64}};
  for (int i = 0; i < 150; ++i) b.step();
  EXPECT_TRUE(b.reads.empty());
  ASSERT_TRUE(b.drain());
  ASSERT_EQ(b.reads.size(), 3u);
  EXPECT_EQ(b.reads[0].addr, kPageSpace);
  EXPECT_EQ(b.reads[1].addr, 0x777u);
  EXPECT_EQ(b.reads[2].addr, kPageSpace + 64);
}

// A list changes, then its copies are forgotten, at any edge round a read: reads taken at that edge or later get the
// new page, also when the old one was on its way.
TEST(DmaTranslateTest, NoOldPageAfterInvalidation) {
  for (bool warm : {false, true}) {
    for (unsigned when = 0; when < 24; ++when) {
      TranslateBench b;
      uint64_t now = 1;
      b.memory = [&](uint64_t) { return now << 20 | 1; };
      b.check_addresses = false;  // of reads from before, which may be either
      if (warm) latency_of(b, {list(5, 8), 0, 64});
      for (int i = 0; i < 3; ++i) b.asks.push_back({list(5, 8), 0, 64});
      for (unsigned e = 0; e < when; ++e) b.step();
      now = 2;
      b.inval_next = true;
      size_t old = 3 - b.asks.size();  // taken before that edge
      old += warm;
      ASSERT_TRUE(b.drain());
      latency_of(b, {list(5, 8), 0, 64});
      for (size_t i = old; i < b.reads.size(); ++i) EXPECT_EQ(b.reads[i].addr, uint64_t{2} << 20) << when << " " << i;
    }
  }
}

// Rights, validity and ends of a window, one by one.
TEST(DmaTranslateTest, WindowGrantsNoMoreThanItSays) {
  const Window good{true, true, false, 0x10000, 0x2000, 0xa0000};
  struct Case {
    const char* what;
    Window window;
    uint64_t place;
    uint32_t length;
    bool granted;
  };
  Window w = good;
  std::vector<Case> cases{{"whole", good, 0x10000, 4096, true},  {"its end", good, 0x11000, 4096, true},
                          {"below", good, 0xffff, 2, false},     {"beyond", good, 0x11001, 4096, false},
                          {"last byte", good, 0x11fff, 1, true}, {"behind", good, 0x12000, 1, false},
                          {"far below", good, 0, 1, false},      {"far beyond", good, ~uint64_t{0}, 1, false}};
  w.valid = false;
  cases.push_back({"invalid", w, 0x10000, 1, false});
  w = good, w.read = false, w.write = true;
  cases.push_back({"for writing", w, 0x10000, 1, false});
  w = good, w.size = 0;
  cases.push_back({"empty", w, 0x10000, 1, false});
  cases.push_back({"all", {true, true, false, 0, ~uint64_t{0}, 0}, 0x123456, 4096, true});
  cases.push_back({"up to 2^64", {true, true, false, -uint64_t{0x1000}, 0x1000, 0}, -uint64_t{0x1000}, 4096, true});
  cases.push_back({"size beyond 2^64", {true, true, false, -uint64_t{0x1000}, ~uint64_t{0}, 0}, 0, 1, false});
  cases.push_back({"image up to 2^64", {true, true, false, 0, 0x9000, -uint64_t{0x1000}}, 0, 4096, true});
  cases.push_back({"image beyond 2^64", {true, true, false, 0, 0x9000, -uint64_t{0x1000}}, 1, 4096, false});
  for (const Case& c : cases) {
    TranslateBench b;
    b.set_now(63, c.window);
    latency_of(b, {windowed(63), c.place, c.length});
    EXPECT_EQ(!b.reads.back().denied, c.granted) << c.what;
    EXPECT_EQ(b.denied, c.granted ? 0u : 1u) << c.what;
    EXPECT_EQ(b.absent, 0u);
  }
}

// Before the driver has set one, no window grants anything; nor after a reset.
TEST(DmaTranslateTest, WindowsAreInvalidAfterReset) {
  TranslateBench b;
  for (bool again : {false, true}) {
    for (unsigned i = 0; i < kWindows; ++i) {
      latency_of(b, {windowed(i), 0, 1});
      EXPECT_TRUE(b.reads.back().denied) << i << (again ? ", after the second reset" : "");
    }
    for (unsigned i = 0; i < kWindows; ++i) b.set_now(i, {true, true, true, 0, ~uint64_t{0}, 0});
    b.top->rst_ni = 0;
    b.tick();
    b.top->rst_ni = 1;
    b.settle();
    for (Window& w : b.windows) w = {};
  }
}

// Through a list of pages and a window: the window's end inside a page, in its first 4096 B and behind.
TEST(DmaTranslateTest, WindowEndsInsideALargePage) {
  constexpr uint64_t kPage = uint64_t{1} << 40;
  for (unsigned log_page : {12u, 13u, 16u, 30u}) {
    for (uint64_t end :
         {uint64_t{100}, uint64_t{4000}, uint64_t{4096}, uint64_t{5000}, uint64_t{8192}, uint64_t{60000}}) {
      if (end > uint64_t{1} << log_page) continue;
      for (uint32_t length : {1u, 64u, 3000u}) {
        if (length > end) continue;
        for (bool over : {false, true}) {
          if (over && end - length + 1 + length > uint64_t{1} << log_page) continue;
          TranslateBench b;
          b.memory = [](uint64_t) { return kPage | 1; };
          b.set_now(5, {true, true, false, kPage, end, 0x5000});
          Region r = list(3, 1, log_page);
          r.window_en = true, r.window = 5;
          latency_of(b, {r, end - length + over, length});
          EXPECT_EQ(b.reads.back().denied, over) << log_page << " " << end << " " << length;
        }
      }
    }
  }
}

// The order by which a driver changes a window: after `valid` is taken away nothing more gets through, and `busy` lasts
// until the last read from before has been answered, also when others have followed it.
TEST(DmaTranslateTest, BusyLastsUntilTheOldReadsAreAnswered) {
  TranslateBench b;
  b.hold_done = true;
  const Window w{true, true, false, 0, 1 << 20, 1 << 20};
  b.set_now(1, w);
  for (unsigned i = 0; i < 10; ++i) b.asks.push_back({windowed(1), i * 4096, 4096});
  ASSERT_TRUE(b.drain());
  EXPECT_FALSE(b.top->win_busy_o);
  Window off = w;
  off.valid = false;
  b.set_now(1, off);
  EXPECT_TRUE(b.top->win_busy_o);
  for (unsigned i = 0; i < 5; ++i) b.asks.push_back({windowed(1), 0, 4096});
  ASSERT_TRUE(b.drain());
  EXPECT_EQ(b.denied, 5u);
  for (unsigned i = 0; i < 50; ++i) b.step();
  EXPECT_TRUE(b.top->win_busy_o);
  b.hold_done = false;
  for (unsigned i = 0; i < 9; ++i) b.step();
  EXPECT_TRUE(b.top->win_busy_o);
  b.step();
  EXPECT_FALSE(b.top->win_busy_o);
  ASSERT_TRUE(b.drain());
}

// The order by which a driver takes a region back: after its copies are forgotten `busy` lasts until the reads that
// were here, those that wait for a page and those that tx_segmenter still sends have been answered; not longer.
TEST(DmaTranslateTest, BusyLastsUntilTheReadsOfTheOldRegionAreAnswered) {
  for (unsigned later : {0u, 30u}) {
    TranslateBench b;
    b.dm_latency = 50;
    b.hold_done = true;
    for (unsigned i = 0; i < 4; ++i) b.asks.push_back({list(i, 8), 2048, 4096});
    while (b.asks.size() > 1) b.step();
    b.inval_next = true;
    b.stale = later + 1;
    b.step();
    if (later != 0) b.asks.push_back({Region{}, 0, 64});
    for (unsigned i = 0; i < later; ++i) b.step();
    if (later == 0) b.asks.push_back({Region{}, 0, 64});
    const size_t old = later == 0 ? 8 : 9;  // pieces
    for (unsigned i = 0; i < 300; ++i) b.step();
    EXPECT_EQ(b.reads.size(), 9u);
    EXPECT_TRUE(b.top->win_busy_o);
    b.hold_done = false;
    for (unsigned i = 1; i < old - 1; ++i) b.step();
    EXPECT_TRUE(b.top->win_busy_o);
    b.step(), b.step();
    EXPECT_FALSE(b.top->win_busy_o);
    ASSERT_TRUE(b.drain());
  }
}

// It is not idle while it waits for reads that tx_segmenter still has, since edges change something then.
TEST(DmaTranslateTest, NotIdleWhileOldReadsMayCome) {
  TranslateBench b;
  b.inval_next = true;
  b.stale = 11;
  b.step();
  for (unsigned i = 0; i < 10; ++i) {
    EXPECT_FALSE(b.top->idle_o);
    EXPECT_TRUE(b.top->win_busy_o);
    b.step();
  }
  ASSERT_TRUE(b.drain());
  EXPECT_FALSE(b.top->win_busy_o);
}

}  // namespace
}  // namespace rnic::test
