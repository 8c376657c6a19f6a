// SPDX-License-Identifier: Apache-2.0
#include "rnic/pcie/completer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <numeric>

#include "rnic/pcie/topology.h"

namespace {

using namespace rnic;
using namespace rnic::pcie;

constexpr uint16_t kNicId = 0x0100, kOtherId = 0x0300;
constexpr uint64_t kSize = 1 << 20;

uint64_t now() { return to_ps(sc_core::sc_time_stamp()); }
void run(uint64_t ps) { sc_core::sc_start(from_ps(ps)); }
constexpr uint64_t kLatency = 100'000;

struct Box {
  struct Got {
    uint64_t ps;
    Tlp tlp;
  };
  Memory memory{kSize};
  FlatTiming timing;
  DelayQueue queue;
  Completer completer;
  std::vector<Got> got;

  static CompleterConfig config() {
    CompleterConfig c;
    c.id = kGpuId;
    c.base = kGpuBase;
    c.line = link_serializer(5, 16);
    return c;
  }
  explicit Box(const CompleterConfig& c = config(), const char* name = "box",
               const PortConfig& port = {kLatency, 0, 0, 0})
      : timing(port), queue(name), completer("memory", c, memory, timing, queue) {
    memory.set_background(3);
    completer.on_completion([this](Tlp t) { got.push_back({DelayQueue::now_ps(), std::move(t)}); });
  }
  Completer::Access read(uint64_t addr, unsigned len, unsigned tag, uint32_t attr = 0, uint16_t id = kNicId) {
    Tlp t = make_mem_read(kGpuBase + addr, len, id, tag);
    t.hdr[0] |= attr;
    return completer.read(t, DelayQueue::now());
  }
  Completer::Access write(uint64_t addr, const std::vector<uint8_t>& d, uint16_t id = kNicId) {
    return completer.write(make_mem_write(kGpuBase + addr, d.data(), static_cast<unsigned>(d.size()), id),
                           DelayQueue::now());
  }
  std::vector<unsigned> tags() const {
    std::vector<unsigned> out;
    for (const auto& g : got) out.push_back(g.tlp.tag());
    return out;
  }
};

unsigned status(const Tlp& t) { return (t.hdr[1] >> 13) & 7; }
unsigned said_bytes(const Tlp& t) { return t.hdr[1] & 0xfff; }

using Piece = std::array<unsigned, 3>;
std::vector<Piece> pieces(const Box& b) {
  std::vector<Piece> out;
  for (const auto& g : b.got) out.push_back({g.tlp.length_dw(), said_bytes(g.tlp), g.tlp.hdr[2] & 0x7f});
  return out;
}

// The largest pieces, or one for every read completion boundary: length, byte count and lower address of each.
TEST(CompleterTest, CutsAsConfigured) {
  CompleterConfig c = Box::config();
  Box largest(c, "a");
  c.cut_at_rcb = true;
  Box every(c, "b");
  largest.read(0x1010, 512, 0);
  every.read(0x103c, 256, 0);
  run(1'000'000);
  EXPECT_EQ(pieces(largest), (std::vector<Piece>{{60, 512, 0x10}, {64, 272, 0}, {4, 16, 0}}));
  EXPECT_EQ(pieces(every),
            (std::vector<Piece>{{1, 256, 0x3c}, {16, 252, 0x40}, {16, 188, 0}, {16, 124, 0x40}, {15, 60, 0}}));
}

// Whatever a completer does at random: of each read all bytes come once, right, in address order, cut at boundaries.
TEST(CompleterTest, EveryReadComesBackWhole) {
  std::mt19937 random(7);
  struct Case {
    CompleterConfig c;
    std::unique_ptr<Box> box;
  };
  std::vector<Case> cases;
  for (const unsigned mps : {128u, 256u, 512u}) {
    for (const unsigned rcb : {64u, 128u}) {
      for (const unsigned kind : {0u, 1u, 2u, 3u}) {
        CompleterConfig c = Box::config();
        c.mps = mps, c.rcb = rcb;
        c.cut_at_rcb = random() % 2;
        c.interleave = kind & 1 ? 1 + random() % 9 : 1;
        c.delay = from_ps(kind & 1 ? random() % 20'000 : 0);
        c.reorder = kind & 2;
        c.spread = kind & 2 ? Spread::kExponential : Spread::kUniform;
        c.width = from_ps(50'000);
        c.seed = random();
        cases.push_back({c, std::make_unique<Box>(c, fmt::format("box{}", cases.size()).c_str())});
      }
    }
  }
  for (auto& [c, box] : cases) {
    Box& b = *box;
    struct Left {
      uint64_t at;
      unsigned bytes;
    };
    std::vector<Left> left;
    for (unsigned tag = 0; tag < 300; ++tag) {
      const uint64_t addr = random() % (kSize - 4096);
      const unsigned len = 1 + random() % std::min<unsigned>(4096, 4096 - addr % 4096);
      left.push_back({addr, len});
      b.read(addr, len, tag);
      if (tag % 16 == 0) run(random() % 100'000);
    }
    run(200'000'000);
    for (const auto& g : b.got) {
      Left& l = left.at(g.tlp.tag());
      ASSERT_EQ(said_bytes(g.tlp), l.bytes & 0xfff);
      ASSERT_EQ(g.tlp.hdr[2] & 0x7f, l.at & 0x7f);
      ASSERT_LE(g.tlp.data.size(), c.mps);
      const unsigned lead = l.at & 3;
      const unsigned n = std::min<unsigned>(l.bytes, static_cast<unsigned>(g.tlp.data.size()) - lead);
      for (unsigned k = 0; k < n; ++k) ASSERT_EQ(g.tlp.data[lead + k], pattern_byte(l.at + k, 3));
      l.at += n, l.bytes -= n;
      ASSERT_TRUE(l.bytes == 0 || l.at % c.rcb == 0);
      if (c.cut_at_rcb) ASSERT_LE(n, c.rcb);
    }
    for (const Left& l : left) ASSERT_EQ(l.bytes, 0u);
    EXPECT_TRUE(b.completer.idle()) << b.completer.pending();
  }
}

// Reads that are ready together take turns, as many as the configuration says.
TEST(CompleterTest, CompletionsTakeTurns) {
  CompleterConfig c = Box::config();
  c.mps = 128;
  std::map<unsigned, std::unique_ptr<Box>> boxes;
  for (const unsigned n : {1u, 2u, 3u}) {
    c.interleave = n;
    boxes[n] = std::make_unique<Box>(c, fmt::format("turns{}", n).c_str());
  }
  for (auto& [n, b] : boxes) {
    for (unsigned tag = 0; tag < 3; ++tag) b->read(0, 384, tag);
  }
  run(1'000'000);
  std::map<unsigned, std::vector<unsigned>> order;
  for (auto& [n, b] : boxes) order[n] = b->tags();
  EXPECT_EQ(order[1], (std::vector<unsigned>{0, 0, 0, 1, 1, 1, 2, 2, 2}));
  // The first piece leaves as its read is ready.
  EXPECT_EQ(order[2], (std::vector<unsigned>{0, 1, 0, 1, 0, 1, 2, 2, 2}));
  EXPECT_EQ(order[3], (std::vector<unsigned>{0, 1, 2, 0, 1, 2, 0, 1, 2}));
}

// The same seed gives the same completions at the same instants, another one others.
TEST(CompleterTest, SeedDecides) {
  CompleterConfig c = Box::config();
  c.interleave = 4, c.delay = from_ps(30'000), c.reorder = true, c.spread = Spread::kUniform, c.width = from_ps(80'000);
  const auto box = [&](uint64_t seed, const char* name) {
    c.seed = seed;
    return std::make_unique<Box>(c, name);
  };
  const std::array boxes{box(1, "a"), box(1, "again"), box(2, "other")};
  std::vector<std::vector<std::pair<uint64_t, unsigned>>> all;
  for (const auto& b : boxes) {
    for (unsigned tag = 0; tag < 64; ++tag) b->read(tag * 512, 512, tag);
  }
  run(20'000'000);
  for (const auto& b : boxes) {
    all.emplace_back();
    for (const auto& g : b->got) all.back().emplace_back(g.ps, g.tlp.tag());
  }
  const auto &a = all[0], &again = all[1], &other = all[2];
  EXPECT_EQ(a.size(), 128u);
  EXPECT_EQ(a, again);
  EXPECT_NE(a, other);
}

// Reads pass one another only where reordering is on.
TEST(CompleterTest, ReadsPassOnlyWhereAllowed) {
  CompleterConfig c = Box::config();
  c.spread = Spread::kUniform, c.width = from_ps(100'000);
  Box kept(c, "kept");
  c.reorder = true;
  Box free(c, "free");
  for (Box* b : {&kept, &free}) {
    for (unsigned tag = 0; tag < 64; ++tag) b->read(tag * 64, 64, tag);
  }
  run(2'000'000);
  for (const Box* b : {&kept, &free}) {
    const auto tags = b->tags();
    ASSERT_EQ(tags.size(), 64u);
    EXPECT_EQ(std::is_sorted(tags.begin(), tags.end()), b == &kept);
  }
}

// Latencies follow their distribution: fixed; even between two bounds; with a long tail that ends.
TEST(CompleterTest, LatencySpread) {
  const auto box = [](Spread spread, const char* name) {
    CompleterConfig c = Box::config();
    c.reorder = true, c.spread = spread, c.width = from_ps(40'000);
    return std::make_unique<Box>(c, name);
  };
  const auto a = box(Spread::kFixed, "fixed"), b = box(Spread::kUniform, "even"), e = box(Spread::kExponential, "tail");
  const auto sample = [](Box& b) {
    const uint64_t t0 = now();
    std::vector<double> extra;
    for (unsigned i = 0; i < 4000; ++i) b.read(0, 4, i % 1024);
    run(10'000'000);
    for (const auto& g : b.got) extra.push_back(static_cast<double>(g.ps - t0 - kLatency));
    std::sort(extra.begin(), extra.end());
    return extra;
  };
  const auto mean = [](const std::vector<double>& v) {
    return std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
  };
  const auto fixed = sample(*a), even = sample(*b), tail = sample(*e);
  EXPECT_EQ(fixed.back(), 0);
  EXPECT_GE(even.front(), 0);
  EXPECT_LE(even.back(), 40'000);
  EXPECT_GT(even.back(), 39'000);
  EXPECT_NEAR(mean(even), 20'000, 1'000);
  EXPECT_NEAR(mean(tail), 40'000, 2'500);
  EXPECT_NEAR(tail[2000], 27'726, 2'500);  // ln 2 of the mean
  EXPECT_GT(tail.back(), 200'000);
  EXPECT_LE(tail.back(), 800'000);
}

// A memory's bandwidth holds back what comes too fast, tells when it takes a request, and costs a lone one nothing.
TEST(CompleterTest, Bandwidth) {
  Box b(Box::config(), "box", {kLatency, 10'000, 100, 200});
  const std::vector<uint8_t> data(256, 1);
  for (unsigned i = 0; i < 10; ++i) {
    const auto r = b.read(i * 1024, 1024, i);
    EXPECT_EQ(to_ps(r.taken), i * 81'920u);
    EXPECT_EQ(to_ps(r.done), i * 81'920u + kLatency);
    const auto w = b.write(0x8000 + i * 256, data);
    EXPECT_EQ(to_ps(w.taken), i * 10'240u);
    EXPECT_EQ(to_ps(w.done), i * 10'240u + 10'000);
  }
  run(10'000'000);
  ASSERT_EQ(b.got.size(), 40u);
  // The first one waits for the writes before it only: those taken when it came.
  EXPECT_EQ(b.got.front().ps, kLatency);
}

// A BAR that takes writes and refuses reads.
TEST(CompleterTest, BarRefusesReads) {
  CompleterConfig c = Box::config();
  c.reads = false;
  Box b(c);
  b.write(0x40, {1, 2, 3, 4});
  b.read(0x40, 4, 5);
  b.read(0x40, 0, 6);
  run(1'000'000);
  ASSERT_EQ(b.got.size(), 2u);
  for (const auto& g : b.got) {
    EXPECT_EQ(status(g.tlp), rtl::pcie_pkg::StatusUr);
    EXPECT_FALSE(g.tlp.has_data());
  }
  EXPECT_EQ(b.completer.counters().unsupported_read, 2u);
  uint8_t byte = 0;
  b.memory.read(0x42, &byte, 1);
  EXPECT_EQ(byte, 3);
}

// A zero-length read brings one DW of byte count 1, after the writes before it.
TEST(CompleterTest, FlushReadWaitsForWrites) {
  Box b(Box::config(), "box", {kLatency, 700'000, 0, 0});
  b.write(0x100, std::vector<uint8_t>(64, 9));
  const auto a = b.read(0x100, 0, 3);
  EXPECT_EQ(to_ps(a.done), 700'000u);
  run(1'000'000);
  EXPECT_EQ(pieces(b), (std::vector<Piece>{{1, 1, 0}}));
  EXPECT_EQ(b.got[0].tlp.data[0], 9);
}

// ID-based ordering pushes the writes of one's own only; a completion with relaxed ordering pushes none.
TEST(CompleterTest, RelaxedAndIdBasedOrdering) {
  Box b(Box::config(), "box", {kLatency, 500'000, 0, 0});
  b.write(0, std::vector<uint8_t>(4, 1), kOtherId);
  EXPECT_EQ(to_ps(b.read(0, 4, 0, 1u << 18).done), kLatency);
  b.write(64, std::vector<uint8_t>(4, 1), kNicId);
  run(1000);
  EXPECT_EQ(to_ps(b.read(0, 4, 1, 1u << 18).done), 500'000u);
  EXPECT_EQ(to_ps(b.read(0, 4, 2, 1u << 13).done), 500'000u) << "relaxed ordering lets no read pass a write";
  const Tlp load = make_mem_read(0xfd00'0000, 4, kCpuId, 0);
  Tlp cpl = make_completion(load, kNicId, 0, 4, 0, std::vector<uint8_t>(4));
  EXPECT_EQ(to_ps(b.completer.pushed_by_completion(cpl)), 500'000u);
  cpl.hdr[0] |= 1u << 13;
  EXPECT_EQ(to_ps(b.completer.pushed_by_completion(cpl)), 0u);
  cpl.hdr[0] ^= 1u << 13 | 1u << 18;
  EXPECT_EQ(to_ps(b.completer.pushed_by_completion(cpl)), 500'000u);
  cpl.hdr[1] = (cpl.hdr[1] & 0xffff) | uint32_t{0x0400} << 16;
  EXPECT_EQ(to_ps(b.completer.pushed_by_completion(cpl)), 0u);
  run(1'000'000);
}

/// A completer whose reads come in pieces of 128 B, and the answer to one of 512 B with a fault.
struct FaultyBox : Box {
  static CompleterConfig config(unsigned interleave) {
    CompleterConfig c = Box::config();
    c.mps = 128;
    c.interleave = interleave;
    return c;
  }
  explicit FaultyBox(unsigned interleave) : Box(config(interleave), "faulty") {
    completer.on_fault([this](const Tlp& t) { return t.tag() == 1 ? plan : FaultPlan{}; });
  }
  std::vector<Got> answer(const FaultPlan& p) {
    plan = p;
    got.clear();
    const auto before = completer.counters().faults;
    read(0, 512, 1);
    read(0, 64, 2);
    run(10'000'000);
    EXPECT_TRUE(completer.idle()) << completer.pending();
    EXPECT_EQ(completer.counters().faults, before + 1);
    std::vector<Got> of_one;
    unsigned others = 0;
    for (const auto& g : got) {
      if (g.tlp.tag() == 2) {
        ++others;
      } else {
        of_one.push_back(g);
      }
    }
    EXPECT_EQ(others, 1u) << "the read behind was not answered";
    return of_one;
  }
  FaultPlan plan;
};

// Each fault, at the first, a middle and the last completion, with completions that take turns and without.
class CompleterFaultTest : public testing::TestWithParam<unsigned> {};
TEST_P(CompleterFaultTest, EveryKindAtEveryPlace) {
  FaultyBox b(GetParam());
  for (const unsigned k : {0u, 2u, FaultPlan::kLast}) {
    const unsigned at = std::min(k, 3u);
    for (const auto kind : {ReadFault::kUr, ReadFault::kCa}) {
      const auto g = b.answer({kind, k, 0, {}});
      ASSERT_EQ(g.size(), at + 1);
      EXPECT_EQ(status(g[at].tlp),
                kind == ReadFault::kUr ? unsigned{rtl::pcie_pkg::StatusUr} : unsigned{rtl::pcie_pkg::StatusCa});
      EXPECT_EQ(said_bytes(g[at].tlp), 512 - 128 * at);
      EXPECT_FALSE(g[at].tlp.has_data());
    }
    auto g = b.answer({ReadFault::kPoisoned, k, 0, {}});
    ASSERT_EQ(g.size(), 4u);
    for (unsigned i = 0; i < 4; ++i) EXPECT_EQ(g[i].tlp.poisoned(), i == at);
    EXPECT_EQ(b.answer({ReadFault::kDropped, k, 0, {}}).size(), at);
    g = b.answer({ReadFault::kByteCount, k, 77, {}});
    ASSERT_EQ(g.size(), 4u);
    for (unsigned i = 0; i < 4; ++i) EXPECT_EQ(said_bytes(g[i].tlp), i == at ? 77 : 512 - 128 * i);
    g = b.answer({ReadFault::kWrongTag, k, 0x3a5, {}});
    ASSERT_EQ(g.size(), 4u);
    for (unsigned i = 0; i < 4; ++i) EXPECT_EQ(g[i].tlp.tag(), i == at ? 0x3a5u : 1u);
    g = b.answer({ReadFault::kStray, k, 0x3a5, {}});
    ASSERT_EQ(g.size(), 5u);
    for (unsigned i = 0; i < 5; ++i) EXPECT_EQ(g[i].tlp.tag(), i == at ? 0x3a5u : 1u);
    g = b.answer({ReadFault::kDuplicate, k, 0, from_ps(3'000'000)});
    ASSERT_EQ(g.size(), 5u);
    EXPECT_EQ(g[4].tlp.hdr, g[at].tlp.hdr);
    EXPECT_GE(g[4].ps, g[3].ps + 3'000'000);
    g = b.answer({ReadFault::kTooLong, k, 61, {}});
    ASSERT_EQ(g.size(), 4u);
    for (unsigned i = 0; i < 4; ++i) {
      EXPECT_EQ(g[i].tlp.data.size(), i == at ? 192u : 128u);
      EXPECT_EQ(g[i].tlp.length_dw() * 4, g[i].tlp.data.size());
    }
    g = b.answer({ReadFault::kLate, k, 0, from_ps(2'000'000)});
    ASSERT_EQ(g.size(), 4u);
    for (unsigned i = 0; i < 4; ++i) EXPECT_EQ(g[i].ps - g[0].ps >= 1'990'000, at > 0 && i >= at);
  }
}
INSTANTIATE_TEST_SUITE_P(Turns, CompleterFaultTest, testing::Values(1u, 2u));

// What is not answered yet is told.
TEST(CompleterTest, PendingNamesWhatIsLeft) {
  Box b(Box::config(), "box", {kLatency, 1000, 0, 0});
  EXPECT_EQ(b.completer.pending(), "");
  b.read(0, 64, 0);
  b.write(0, {1});
  EXPECT_EQ(b.completer.pending(), "memory: 1 reads not answered, 1 writes not visible");
  run(1'000'000);
  EXPECT_EQ(b.completer.pending(), "");
}

}  // namespace
