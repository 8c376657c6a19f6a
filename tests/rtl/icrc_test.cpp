// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>
#include <deque>

#include "Vicrc.h"
#include "rnic/golden/packetizer.h"
#include "rtl/bench.h"
#include "rtl/roce_frames.h"
#include "support/latency.h"

namespace rnic::test {
namespace {

using golden::Bytes;

class IcrcBench : public Bench<Vicrc> {
 public:
  using Bench::Bench;

  void send(const Bytes& frame, unsigned idle_pct) {
    const Bytes& b = frame;
    expected.push_back(golden::icrc(
        Bytes(frame.begin() + static_cast<std::ptrdiff_t>(golden::detail::ip_offset(frame)), frame.end())));
    for (size_t at = 0; at < b.size(); at += 64) {
      while (chance(idle_pct)) step(false);
      for (unsigned w = 0; w < 16; ++w) {
        uint32_t v = 0;
        for (unsigned i = 0; i < 4; ++i) v |= at + 4 * w + i < b.size() ? uint32_t{b[at + 4 * w + i]} << (8 * i) : 0;
        top->data_i[w] = v;
      }
      top->sop_i = at == 0;
      top->eop_i = at + 64 >= b.size();
      top->zero_dws_i = top->eop_i ? (at + 62 - b.size()) / 4 : rng() % 16;
      step(true);
    }
  }

  void step(bool valid) {
    top->valid_i = valid;
    tick();
    if (valid && top->eop_i) taken.push_back(cycle);
    if (top->valid_o) {
      ASSERT_FALSE(taken.empty());
      ASSERT_EQ(top->icrc_o, expected.front());
      edges = static_cast<int64_t>(cycle - taken.front()) + 1;
      expected.pop_front();
      taken.pop_front();
      ++checked;
    }
  }

  void drain() {
    for (unsigned i = 0; i < 32; ++i) step(false);
    EXPECT_TRUE(expected.empty());
    EXPECT_TRUE(top->idle_o);
  }

  std::deque<uint32_t> expected;
  std::deque<uint64_t> taken;  // cycles of last beats without answer
  int64_t edges = 0;           // of the latest answer, from the one that takes the last beat, that one counted
  unsigned checked = 0;
};

struct Kind {
  bool v6, tagged;
  size_t ip() const { return tagged ? 18 : 14; }
  size_t shortest() const { return ip() + (v6 ? 60 : 40); }
};
constexpr Kind kKinds[] = {{false, false}, {false, true}, {true, false}, {true, true}};

Bytes random_frame(std::mt19937_64& rng, size_t bytes, Kind kind = kKinds[0]) {
  Bytes b(bytes);
  for (auto& x : b) x = static_cast<uint8_t>(rng());
  if (kind.tagged) b[12] = 0x81, b[13] = 0;
  b[kind.ip() - 2] = kind.v6 ? 0x86 : 0x08;
  b[kind.ip() - 1] = kind.v6 ? 0xdd : 0x00;
  b[kind.ip()] = static_cast<uint8_t>(kind.v6 ? 0x60 | rng() % 16 : 0x45);
  return b;
}

// The answer comes with the fifth edge from the one that takes the last beat, that one counted.
TEST(IcrcTest, AnswerComesWithTheFifthEdge) {
  for (size_t bytes : {54u, 250u}) {
    IcrcBench b(test_seed());
    b.send(random_frame(b.rng, bytes), 0);
    b.drain();
    EXPECT_TRUE(takes_cycles({"icrc"}, {5}, {b.edges}));
  }
}

// The block is not idle before the answer to its last beat has come.
TEST(IcrcTest, NotIdleBeforeTheAnswer) {
  IcrcBench b(test_seed());
  b.send(random_frame(b.rng, 54), 0);
  for (int i = 0; i < 100 && b.checked == 0; ++i) {
    EXPECT_FALSE(b.top->idle_o);
    b.step(false);
  }
  EXPECT_EQ(b.checked, 1u);
  b.drain();
}

// Every length of the covered bytes from the shortest to three beats gives zlib's CRC, with and without tag, over IPv4
// and IPv6, back to back and with gaps, the kinds mixed.
TEST(IcrcTest, EveryLengthAgreesWithZlib) {
  for (unsigned idle : {0u, 50u}) {
    IcrcBench b(test_seed());
    unsigned sent = 0;
    for (size_t more = 0; more <= 196; more += 4) {
      for (const Kind& k : kKinds) b.send(random_frame(b.rng, k.shortest() + more, k), idle), ++sent;
    }
    for (size_t less = 0; less <= 64; less += 4) {
      for (const Kind& k : kKinds) b.send(random_frame(b.rng, k.shortest() + 4128 - less, k), idle), ++sent;
    }
    b.drain();
    EXPECT_EQ(b.checked, sent);
  }
}

// Each single bit of a frame reaches the answer through its own column, or is masked: all positions of three beats one
// by one, those of the tag included.
TEST(IcrcTest, EveryBitCounts) {
  for (const Kind& kind : kKinds) {
    IcrcBench b(test_seed());
    const Bytes base = random_frame(b.rng, 190, kind);
    unsigned sent = 0;
    for (size_t byte = 0; byte < base.size(); ++byte) {
      const bool tci = kind.tagged && (byte == 14 || byte == 15);
      if (byte >= 12 && byte <= kind.ip() && !tci) continue;  // these say what kind of frame it is
      for (unsigned bit = 0; bit < 8; ++bit, ++sent) {
        Bytes f = base;
        f[byte] ^= static_cast<uint8_t>(1 << bit);
        b.send(f, 0);
      }
    }
    b.drain();
    EXPECT_EQ(b.checked, sent);
  }
}

// The ICRC of published frames comes out as it stands in them.
TEST(IcrcTest, ReferenceFrames) {
  unsigned frames = 0;
  IcrcBench b(test_seed());
  for (const auto& [name, f] : load_roce_frames()) {
    uint32_t sent = 0;
    for (unsigned i = 0; i < 4; ++i) sent |= uint32_t{f[f.size() - 4 + i]} << (8 * i);
    b.send(Bytes(f.begin(), f.end() - 4), 0);
    EXPECT_EQ(b.expected.back(), sent) << name;
    ++frames;
  }
  b.drain();
  EXPECT_EQ(frames, 21u);
}

// What a busy cycle costs to simulate, printed for the record.
TEST(IcrcTest, SimulationCost) {
  IcrcBench b(test_seed());
  auto& t = *b.top;
  for (unsigned w = 0; w < 16; ++w) t.data_i[w] = static_cast<uint32_t>(b.rng());
  t.sop_i = 0, t.eop_i = 0;
  for (int busy : {1, 0}) {
    t.valid_i = busy;
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 200000; ++i) {
      t.data_i[i & 15] += 12345;
      b.tick();
    }
    const double ns =
        std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / 200000;
    std::printf("icrc: %.0f ns per %s cycle\n", ns, busy ? "busy" : "idle");
  }
}

}  // namespace
}  // namespace rnic::test
