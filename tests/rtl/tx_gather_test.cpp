// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <vector>

#include "Vtx_gather.h"
#include "rtl/bench.h"
#include "support/latency.h"

#ifndef RNIC_GATHER_LINES
#define RNIC_GATHER_LINES 128
#endif

namespace rnic::test {
namespace {

using rtl::payload_t;

constexpr unsigned kLines = RNIC_GATHER_LINES;

/// A read's answer: bytes, or the status of a failed one.
struct Piece {
  std::vector<uint8_t> bytes;
  uint8_t status = 0;
};

/// A packet's payload, in pieces.
struct Payload {
  std::vector<Piece> pieces;
  std::vector<uint8_t> whole() const {
    std::vector<uint8_t> all;
    for (const Piece& p : pieces) all.insert(all.end(), p.bytes.begin(), p.bytes.end());
    return all;
  }
  uint8_t status() const {
    for (const Piece& p : pieces)
      if (p.status != 0) return p.status;
    return 0;
  }
};

/// The beats in which dma_master hands a piece over, or, not `clean`, with anything behind its last byte.
std::vector<payload_t> beats_of(std::mt19937_64& rng, const Piece& piece, bool more, bool clean = true) {
  std::vector<payload_t> beats;
  const size_t size = piece.status == 0 ? piece.bytes.size() : 1;
  for (size_t at = 0; at < size; at += 64) {
    payload_t b;
    for (auto& w : b.data) w = clean ? 0 : static_cast<uint32_t>(rng());
    b.more = more;
    b.bytes = static_cast<uint8_t>(std::min<size_t>(64, size - at));
    b.last = at + b.bytes == size;
    b.status = b.last ? piece.status : 0;
    for (size_t i = 0; i < b.bytes && piece.status == 0; ++i) {
      uint32_t& w = b.data[i / 4];
      w = (w & ~(0xffu << (i % 4 * 8))) | static_cast<uint32_t>(piece.bytes[at + i]) << (i % 4 * 8);
    }
    beats.push_back(b);
  }
  return beats;
}

/// Source and sink. Within a read there are no gaps but those that the block itself makes; between reads there are as
/// many as `in` says.
class GatherBench : public Bench<Vtx_gather> {
 public:
  explicit GatherBench(unsigned in = 100, unsigned out = 100) : Bench(test_seed()), in_(in), out_(out) {}

  /// The next packet.
  void send(const Payload& p) {
    for (size_t i = 0; i < p.pieces.size(); ++i) {
      const bool more = i + 1 < p.pieces.size();
      for (const payload_t& b : beats_of(rng, p.pieces[i], more, clean)) todo_.push_back(b);
    }
  }

  void step() {
    if (!offered_ && !todo_.empty() && (inside_ || chance(in_))) {
      offered_ = true;
      rtl::drive(top->pay_i, todo_.front());
    }
    top->pay_valid_i = offered_;
    top->gather_ready_i = chance(out_);
    settle();
    if (top->pay_valid_i && top->pay_ready_o) {
      inside_ = !todo_.front().last;
      taken.push_back(cycle);
      todo_.pop_front();
      offered_ = false;
    }
    const bool valid = top->gather_valid_o;
    if (mid_) {
      EXPECT_TRUE(valid) << "gap inside of a packet";
    }
    if (valid) {
      const auto beat = rtl::sample<payload_t>(top->gather_o);
      if (held_) {
        EXPECT_EQ(beat.pack(), held_->pack()) << "changed while it waited";
      }
      held_ = beat;
      if (top->gather_ready_i) {
        held_.reset();
        mid_ = !beat.last;
        beats.emplace_back(beat, cycle);
      }
    } else {
      EXPECT_FALSE(held_) << "taken back";
    }
    if (top->idle_o) {
      EXPECT_FALSE(valid && !top->pay_valid_i);
    }
    tick();
  }

  bool drain(uint64_t limit = 200000) {
    const uint64_t end = cycle + limit;
    do {
      if (cycle == end) return false;
      step();
    } while (!todo_.empty() || !top->idle_o);
    return true;
  }

  /// Compares what came out with what was sent.
  void expect_payloads(const std::vector<Payload>& sent) {
    size_t at = 0;
    for (size_t k = 0; k < sent.size(); ++k) {
      std::vector<uint8_t> got;
      uint8_t status = 0;
      size_t count = 0;
      for (bool last = false; !last; ++at, ++count) {
        ASSERT_LT(at, beats.size()) << "packet " << k << " seed " << test_seed();
        const payload_t& b = beats[at].first;
        last = b.last;
        ASSERT_FALSE(b.more);
        ASSERT_TRUE(b.bytes >= 1 && b.bytes <= 64 && (last || b.bytes == 64)) << "packet " << k;
        for (size_t i = 0; i < 64; ++i) {
          const auto byte = static_cast<uint8_t>(b.data[i / 4] >> (i % 4 * 8));
          if (i < b.bytes) {
            got.push_back(byte);
          } else if (clean && b.status == 0) {
            ASSERT_EQ(byte, 0) << "behind the end of packet " << k << " seed " << test_seed();
          }
        }
        if (last) status = b.status;
      }
      ASSERT_EQ(status, sent[k].status()) << "packet " << k << " seed " << test_seed();
      if (status != 0) {
        ASSERT_EQ(count, 1u) << "packet " << k;
        ASSERT_EQ(got.size(), 1u) << "packet " << k;
      } else {
        ASSERT_EQ(got, sent[k].whole()) << "packet " << k << " seed " << test_seed();
      }
    }
    EXPECT_EQ(at, beats.size());
  }

  std::vector<std::pair<payload_t, uint64_t>> beats;
  std::vector<uint64_t> taken;  // cycles of the beats that went in
  bool clean = true;            // zeros behind the end of what goes in

 private:
  unsigned in_, out_;
  std::deque<payload_t> todo_;
  bool offered_ = false;
  bool inside_ = false;
  bool mid_ = false;
  std::optional<payload_t> held_;
};

Piece piece_of(std::mt19937_64& rng, size_t length) {
  Piece p;
  for (size_t i = 0; i < length; ++i) p.bytes.push_back(static_cast<uint8_t>(rng()));
  return p;
}

Payload payload_of(std::mt19937_64& rng, const std::vector<size_t>& lengths) {
  Payload p;
  for (size_t n : lengths) p.pieces.push_back(piece_of(rng, n));
  return p;
}

/// Up to four pieces, 4096 B together at most; short ones and such that end with a line often.
Payload random_payload(std::mt19937_64& rng) {
  std::vector<size_t> lengths;
  size_t left = 4096;
  for (size_t k = 1 + rng() % 4; k > 0 && left > 0; --k) {
    const size_t most[] = {1, 3, 64, 65, 200, left};
    size_t n = 1 + rng() % std::min(left, most[rng() % 6]);
    if (rng() % 4 == 0) n = std::min(left, (n + 63) / 64 * 64);
    if (rng() % 20 == 0) n = left;
    lengths.push_back(n);
    left -= n;
  }
  return payload_of(rng, lengths);
}

struct Pace {
  unsigned in, out;
};
const Pace kPaces[] = {{100, 100}, {100, 30}, {30, 100}, {50, 50}, {100, 95}, {90, 100}};

// Packets of one to four pieces of any lengths, with a failed one here and there, come out byte for byte, in order,
// each without a gap, whoever waits. Zeros behind the pieces stay zeros behind the packet, and nothing there gets in.
TEST(TxGatherTest, PayloadsComeOutWholeAndInOrder) {
  for (const Pace pace : kPaces) {
    for (unsigned bad : {0u, 15u}) {
      GatherBench b(pace.in, pace.out);
      b.clean = bad == 0;
      std::vector<Payload> sent;
      for (int i = 0; i < 600; ++i) {
        Payload p = random_payload(b.rng);
        for (Piece& piece : p.pieces)
          if (b.chance(bad)) piece.status = static_cast<uint8_t>(1 + b.rng() % 6);
        b.send(p);
        sent.push_back(p);
      }
      ASSERT_TRUE(b.drain()) << "hang; seed " << test_seed();
      ASSERT_NO_FATAL_FAILURE(b.expect_payloads(sent));
      ASSERT_FALSE(HasFailure()) << "in " << pace.in << " out " << pace.out << " seed " << test_seed();
    }
  }
}

// Two pieces of every length modulo a line, one to three lines long: every place at which they can meet.
TEST(TxGatherTest, PiecesMeetAtEveryByte) {
  GatherBench b;
  std::vector<Payload> sent;
  for (size_t first = 1; first <= 130; ++first) {
    for (size_t second : {1u, 31u, 63u, 64u, 65u, 128u}) {
      sent.push_back(payload_of(b.rng, {first, second}));
      b.send(sent.back());
    }
  }
  ASSERT_TRUE(b.drain());
  b.expect_payloads(sent);
}

// A packet of one read is there in the cycle in which dma_master offers it, and taken when the packetizer takes it.
TEST(TxGatherTest, SingleReadPassesWithoutLatency) {
  for (unsigned out : {100u, 40u}) {
    GatherBench b(60, out);
    std::vector<Payload> sent;
    for (int i = 0; i < 50; ++i) {
      sent.push_back(payload_of(b.rng, {1 + b.rng() % 4096}));
      b.send(sent.back());
    }
    ASSERT_TRUE(b.drain());
    b.expect_payloads(sent);
    ASSERT_EQ(b.taken.size(), b.beats.size());
    for (size_t i = 0; i < b.beats.size(); ++i) EXPECT_EQ(b.beats[i].second, b.taken[i]);
  }
}

// A packet of several reads is offered two cycles after its last beat.
TEST(TxGatherTest, GatheredPacketIsOfferedTwoCyclesLater) {
  GatherBench b;
  b.send(payload_of(b.rng, {100, 3, 300}));
  ASSERT_TRUE(b.drain());
  ASSERT_EQ(b.taken.size(), 8u);
  ASSERT_EQ(b.beats.size(), 7u);
  EXPECT_TRUE(takes_cycles({"tx_gather"}, {2}, {static_cast<int64_t>(b.beats[0].second - b.taken.back())}));
  for (size_t i = 1; i < b.beats.size(); ++i) EXPECT_EQ(b.beats[i].second, b.beats[i - 1].second + 1);
}

// A beat goes in every cycle, and behind the first packet one comes out every cycle, whatever the mixture; the buffer
// holds two of the packets.
TEST(TxGatherTest, OneBeatACycleInAndOut) {
  GatherBench b;
  std::vector<Payload> sent;
  for (int i = 0; i < 60; ++i) {
    // as many beats as lines: pieces of whole lines, and one of any length at the end
    const size_t bytes = 64 + b.rng() % (kLines / 4 - 1) * 64;
    sent.push_back(i % 3 == 1 ? payload_of(b.rng, {1 + b.rng() % (kLines * 32)})
                              : payload_of(b.rng, {bytes, 64 * (1 + b.rng() % 4), 1 + b.rng() % 320}));
    b.send(sent.back());
  }
  ASSERT_TRUE(b.drain());
  b.expect_payloads(sent);
  for (size_t i = 1; i < b.taken.size(); ++i) ASSERT_EQ(b.taken[i], b.taken[i - 1] + 1);
  ASSERT_EQ(b.beats.size(), b.taken.size());
  EXPECT_LE(b.beats.back().second, b.taken.back() + kLines + 2);
}

// Packets whose pieces are a byte each take no cycle more than they have beats, also back to back.
TEST(TxGatherTest, ShortPiecesGoInWithoutPause) {
  GatherBench b;
  std::vector<Payload> sent;
  for (int i = 0; i < 200; ++i) {
    sent.push_back(payload_of(b.rng, {1 + b.rng() % 64, 1 + b.rng() % 64, 1 + b.rng() % 64, 1 + b.rng() % 64}));
    b.send(sent.back());
  }
  ASSERT_TRUE(b.drain());
  b.expect_payloads(sent);
  for (size_t i = 1; i < b.taken.size(); ++i) ASSERT_EQ(b.taken[i], b.taken[i - 1] + 1);
}

// The longest packets, cut in the worst way, go in one after the other although nobody takes any: the buffer holds at
// least one of them whole, and never takes more than it has room for.
TEST(TxGatherTest, FullBufferHoldsWholePackets) {
  GatherBench b(100, 0);
  std::vector<Payload> sent;
  for (int i = 0; i < 6; ++i) {
    sent.push_back(payload_of(b.rng, {1, 1365, 1365, 1365}));
    b.send(sent.back());
  }
  for (int i = 0; i < 1000; ++i) b.step();
  EXPECT_TRUE(b.top->gather_valid_o);
  EXPECT_GE(b.taken.size(), 67u);
  EXPECT_LE(b.taken.size(), 67u * (kLines / 64) + 1);
  EXPECT_TRUE(b.beats.empty());
  ASSERT_FALSE(b.top->idle_o);
}

// Whichever piece fails, the packet is one beat with the first failed one's status, and those around it are whole.
TEST(TxGatherTest, FailedPieceMakesOneErrorBeat) {
  for (unsigned failed = 1; failed < 16; ++failed) {
    for (const Pace pace : kPaces) {
      GatherBench b(pace.in, pace.out);
      std::vector<Payload> sent;
      sent.push_back(payload_of(b.rng, {200, 200}));
      Payload p = payload_of(b.rng, {70, 128, 1, 1000});
      for (unsigned k = 0; k < 4; ++k)
        if (failed >> k & 1) p.pieces[k].status = static_cast<uint8_t>(1 + (k + failed) % 6);
      sent.push_back(p);
      sent.push_back(payload_of(b.rng, {1000}));
      sent.push_back(payload_of(b.rng, {90, 90}));
      for (const Payload& s : sent) b.send(s);
      ASSERT_TRUE(b.drain());
      ASSERT_NO_FATAL_FAILURE(b.expect_payloads(sent));
    }
  }
}

// A failed packet of one read passes as it came, straight or kept.
TEST(TxGatherTest, FailedSingleReadPasses) {
  for (bool behind : {false, true}) {
    GatherBench b;
    std::vector<Payload> sent;
    if (behind) sent.push_back(payload_of(b.rng, {500, 700}));
    Payload p = payload_of(b.rng, {300});
    p.pieces[0].status = 4;
    sent.push_back(p);
    sent.push_back(payload_of(b.rng, {300}));
    for (const Payload& s : sent) b.send(s);
    ASSERT_TRUE(b.drain());
    b.expect_payloads(sent);
  }
}

// Idle when nothing is kept: after reset, while packets of one read pass, and not while a piece waits for its next.
TEST(TxGatherTest, IdleMeansNothingKept) {
  GatherBench b;
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(b.top->idle_o);
    b.step();
  }
  b.send(payload_of(b.rng, {640}));
  for (int i = 0; i < 12; ++i) {
    EXPECT_TRUE(b.top->idle_o);
    b.step();
  }
  rtl::drive(b.top->pay_i, beats_of(b.rng, piece_of(b.rng, 10), true)[0]);
  b.top->pay_valid_i = 1;
  b.top->gather_ready_i = 1;
  b.tick();
  b.top->pay_valid_i = 0;
  for (int i = 0; i < 5; ++i) {
    b.tick();
    EXPECT_FALSE(b.top->idle_o);
    EXPECT_FALSE(b.top->gather_valid_o);
  }
  rtl::drive(b.top->pay_i, beats_of(b.rng, piece_of(b.rng, 10), false)[0]);
  b.top->pay_valid_i = 1;
  b.tick();
  b.top->pay_valid_i = 0;
  EXPECT_FALSE(b.top->idle_o);
  b.tick();
  EXPECT_TRUE(b.top->gather_valid_o);
  EXPECT_FALSE(b.top->idle_o);
  b.tick();
  b.settle();
  EXPECT_TRUE(b.top->idle_o);
}

}  // namespace
}  // namespace rnic::test
