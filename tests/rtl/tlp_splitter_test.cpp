// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <vector>

#include "Vtlp_splitter.h"
#include "rtl/bench.h"

namespace rnic::test {
namespace {

struct Piece {
  uint64_t addr;
  unsigned len;
  bool last;
  bool operator==(const Piece& o) const { return addr == o.addr && len == o.len && last == o.last; }
};

struct Request {
  uint64_t addr;
  unsigned len;
  unsigned size;  // code of MRRS or MPS
};

/// What the rules ask for, byte by byte: a new piece begins at every multiple of the size.
std::vector<Piece> expected(const Request& r) {
  const uint64_t size = 128ULL << std::min(r.size, 5u);
  std::vector<Piece> pieces;
  for (unsigned i = 0; i < r.len; ++i) {
    const uint64_t a = r.addr + i;
    if (i == 0 || a % size == 0) pieces.push_back({a, 0, false});
    ++pieces.back().len;
  }
  pieces.back().last = true;
  return pieces;
}

struct SplitterBench : Bench<Vtlp_splitter> {
  SplitterBench() : Bench(test_seed()) { top->req_valid_i = top->ready_i = 0; }

  /// Runs the requests through and compares every piece; percentages of cycles with a request offered, a piece taken.
  void run(const std::vector<Request>& requests, unsigned offer, unsigned take) {
    std::deque<Piece> want;
    size_t next = 0;
    for (int cycle = 0; next < requests.size() || !want.empty(); ++cycle) {
      ASSERT_LT(cycle, 200000) << "stuck, seed " << test_seed();
      if (!top->req_valid_i && next < requests.size() && chance(offer)) {
        top->req_valid_i = 1;
        top->req_addr_i = requests[next].addr, top->req_len_i = requests[next].len;
        top->req_size_i = requests[next].size;
      }
      top->ready_i = chance(take);
      settle();
      if (top->valid_o && top->ready_i) {
        ASSERT_FALSE(want.empty());
        const Piece got{top->addr_o, top->len_o, bool(top->last_o)};
        ASSERT_EQ(got, want.front()) << std::hex << got.addr << " +" << got.len << " last " << got.last << ", wanted "
                                     << want.front().addr << " +" << want.front().len << " seed " << std::dec
                                     << test_seed();
        want.pop_front();
      }
      const bool accepted = top->req_valid_i && top->req_ready_o;
      tick();
      if (accepted) {
        for (const Piece& p : expected(requests[next])) want.push_back(p);
        ++next;
        top->req_valid_i = 0;
      }
    }
    settle();
    EXPECT_FALSE(top->valid_o);
  }
};

// Every size, with addresses and lengths round the corners: page ends, one byte, whole 4 KiB, the top of the addresses.
TEST(TlpSplitterTest, Corners) {
  SplitterBench b;
  std::vector<Request> requests;
  for (unsigned size = 0; size < 8; ++size) {
    const unsigned bytes = 128u << std::min(size, 5u);
    for (uint64_t base : {0x0ULL, 0x1000ULL, 0xFFFF'F000ULL, 0xFFFF'FFFF'FFFF'E000ULL}) {
      for (unsigned off : {0u, 1u, 3u, bytes - 1, 4095u}) {
        for (unsigned len : {1u, 2u, bytes - 1, bytes, bytes + 1, 4095u, 4096u}) {
          if (len <= 4096) requests.push_back({base + off, len, size});
        }
      }
    }
  }
  b.run(requests, 100, 100);
}

// Random requests with gaps and backpressure; the size changes from request to request.
TEST(TlpSplitterTest, RandomRequests) {
  for (unsigned offer : {100u, 40u}) {
    for (unsigned take : {100u, 40u}) {
      SplitterBench b;
      std::vector<Request> requests;
      for (int i = 0; i < 1000; ++i) {
        requests.push_back({b.rng() >> (b.rng() % 40), unsigned(1 + b.rng() % 4096), unsigned(b.rng() % 6)});
      }
      b.run(requests, offer, take);
    }
  }
}

// A piece a cycle, also from the last piece of a request to the first of the next.
TEST(TlpSplitterTest, OnePieceACycle) {
  SplitterBench b;
  b.top->ready_i = 1, b.top->req_valid_i = 1;
  b.top->req_addr_i = 0x1000, b.top->req_len_i = 512, b.top->req_size_i = 1;
  b.tick();
  for (int i = 0; i < 20; ++i) {
    b.settle();
    EXPECT_TRUE(b.top->valid_o);
    EXPECT_EQ(b.top->last_o, i % 2);
    EXPECT_EQ(b.top->req_ready_o, i % 2);
    b.tick();
  }
}

}  // namespace
}  // namespace rnic::test
