// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <set>
#include <vector>

#include "Vdoorbell_intake.h"
#include "rtl/bench.h"

namespace rnic::test {
namespace {

using rtl::doorbell_t;
using Piece = std::array<uint32_t, 16>;

/// 64 bytes of a WQE; a piece 0 starts with the control segment.
Piece piece0(unsigned index, unsigned qpn, unsigned ds, uint32_t salt) {
  Piece p;
  for (unsigned i = 0; i < 16; ++i) p[i] = salt * 0x9E3779B9u + i;
  const uint32_t dw0 = 0x0A | (index & 0xFFFF) << 8, dw1 = qpn << 8 | ds;
  p[0] = __builtin_bswap32(dw0);
  p[1] = __builtin_bswap32(dw1);
  return p;
}
Piece piece1(uint32_t salt) {
  Piece p;
  for (unsigned i = 0; i < 16; ++i) p[i] = salt * 0x85EBCA6Bu + 100 + i;
  return p;
}

struct IntakeBench : Bench<Vdoorbell_intake> {
  std::vector<std::pair<unsigned, unsigned>> counted;  // {qpn, pi} of the probe, which comes with the count
  std::vector<unsigned> rings;

  using Bench::Bench;
  /// A model's destructor uses the thread's context, which may be that of another bench, already gone.
  ~IntakeBench() { Verilated::threadContextp(top->contextp()); }
  void quiet() { top->db_valid_i = top->pi_re_i = top->bf_re_i = top->clear_i = top->q_re_i = 0; }
  void set_sq(unsigned qpn, uint32_t value) {
    doorbell_t d;
    d.kind = rtl::rnic_pkg::DbSq, d.qpn = qpn, d.value = value;
    rtl::drive(top->db_i, d);
    top->db_valid_i = 1;
  }
  void set_piece(unsigned qpn, unsigned n, const Piece& data) {
    doorbell_t d;
    d.kind = rtl::rnic_pkg::DbBf, d.qpn = qpn, d.piece = n, d.data = data;
    rtl::drive(top->db_i, d);
    top->db_valid_i = 1;
  }
  void set_lookup(unsigned qpn, unsigned wqe) { top->bf_re_i = 1, top->bf_qpn_i = qpn, top->bf_wqe_i = wqe; }
  void set_clear(unsigned qpn) { top->clear_i = 1, top->clear_qpn_i = qpn; }
  /// One edge, all rings and probes noted.
  void step() {
    settle();
    EXPECT_TRUE(top->db_ready_o);
    EXPECT_EQ(top->stat_db_rx_o, top->probe_db_o);
    const bool now = top->probe_db_o;
    const unsigned qpn = top->probe_qpn_o;
    if (now) counted.emplace_back(qpn, top->probe_pi_o);
    tick();
    EXPECT_EQ(top->ring_o, now);
    if (now) {
      EXPECT_EQ(top->ring_qpn_o, qpn);
      rings.push_back(qpn);
    }
    quiet();
    settle();
  }
  void sq(unsigned qpn, uint32_t value) { set_sq(qpn, value), step(); }
  void piece(unsigned qpn, unsigned n, const Piece& data) { set_piece(qpn, n, data), step(); }
  /// -1: no doorbell
  int pi(unsigned qpn) {
    top->pi_re_i = 1, top->pi_qpn_i = qpn;
    step();
    return top->pi_valid_o ? top->pi_o : -1;
  }
  enum Answer { kNothing, kHit, kMissPushed };
  Answer answer() {
    EXPECT_FALSE(top->bf_hit_o && top->bf_miss_pushed_o);
    return top->bf_hit_o ? kHit : top->bf_miss_pushed_o ? kMissPushed : kNothing;
  }
  Answer lookup(unsigned qpn, unsigned wqe) {
    set_lookup(qpn, wqe);
    step();
    return answer();
  }
  Piece data(unsigned n) {
    Piece p;
    for (unsigned i = 0; i < 16; ++i) p[i] = top->bf_data_o[16 * n + i];
    return p;
  }
};

using Counted = std::vector<std::pair<unsigned, unsigned>>;

// A send-queue doorbell sets the QP's producer index, whatever it was, rings one edge later and is counted once.
TEST(DoorbellIntakeTest, SqDoorbellSetsIndexAndRings) {
  IntakeBench b;
  EXPECT_EQ(b.pi(77), -1);
  for (uint32_t v : {5u, 0xFFFFu, 3u, 0x12345678u}) {
    b.rings.clear(), b.counted.clear();
    b.sq(77, v);
    EXPECT_EQ(b.rings, std::vector<unsigned>{77});
    EXPECT_EQ(b.counted, (Counted{{77, v & 0xFFFF}}));
    EXPECT_EQ(b.pi(77), static_cast<int>(v & 0xFFFF));
    EXPECT_EQ(b.pi(78), -1);
    b.step();
    EXPECT_TRUE(b.top->idle_o);
  }
}

// A push of every size counts as a doorbell when its last piece comes, in either order, and is found byte for byte.
TEST(DoorbellIntakeTest, PushOfEverySizeIsFound) {
  for (unsigned ds = 1; ds <= 8; ++ds) {
    for (bool second_first : {false, true}) {
      if (second_first && ds <= 4) continue;
      IntakeBench b;
      const unsigned qpn = 1000, index = 0xFFFF;
      const Piece p0 = piece0(index, qpn, ds, ds), p1 = piece1(ds);
      if (ds <= 4) {
        b.piece(qpn, 0, p0);
      } else {
        b.piece(qpn, second_first, second_first ? p1 : p0);
        EXPECT_TRUE(b.rings.empty());
        b.piece(qpn, !second_first, second_first ? p0 : p1);
      }
      const unsigned pi = (index + (ds + 3) / 4) & 0xFFFF;
      EXPECT_EQ(b.counted, (Counted{{qpn, pi}}));
      EXPECT_EQ(b.pi(qpn), static_cast<int>(pi));
      EXPECT_EQ(b.lookup(qpn, index), IntakeBench::kHit);
      EXPECT_EQ(b.data(0), p0);
      if (ds > 4) {
        EXPECT_EQ(b.data(1), p1);
      }
      EXPECT_EQ(b.lookup(qpn, index), IntakeBench::kNothing);
    }
  }
}

// A push without a size is dropped.
TEST(DoorbellIntakeTest, PushOfSizeZeroIsDropped) {
  IntakeBench b;
  b.piece(4, 0, piece0(9, 4, 0, 1));
  b.step();
  EXPECT_TRUE(b.rings.empty());
  EXPECT_EQ(b.pi(4), -1);
  EXPECT_EQ(b.lookup(4, 9), IntakeBench::kNothing);
}

// A push longer than the buffer counts as one doorbell and is fetched from the ring; the next push works.
TEST(DoorbellIntakeTest, TooLongPushFallsBack) {
  for (unsigned ds : {9u, 12u, 13u, 63u, 255u}) {
    for (bool second_first : {false, true}) {
      IntakeBench b;
      if (second_first) b.piece(4, 1, piece1(1));
      b.piece(4, 0, piece0(100, 4, ds, 1));
      if (!second_first) b.piece(4, 1, piece1(1));
      b.step();
      EXPECT_EQ(b.counted, (Counted{{4, 100 + (ds + 3) / 4}}));
      EXPECT_EQ(b.pi(4), static_cast<int>(100 + (ds + 3) / 4));
      EXPECT_EQ(b.lookup(4, 100), IntakeBench::kMissPushed);
      const Piece p0 = piece0(200, 4, 7, 2), p1 = piece1(2);
      b.piece(4, 1, p1);
      b.piece(4, 0, p0);
      EXPECT_EQ(b.lookup(4, 200), IntakeBench::kHit);
      EXPECT_EQ(b.data(0), p0);
      EXPECT_EQ(b.data(1), p1);
    }
  }
}

// A lookup of another index of the QP, or of an incomplete WQE, is told apart from one that was never pushed.
TEST(DoorbellIntakeTest, MissTellsWhetherTheQpPushed) {
  IntakeBench b;
  b.piece(64, 0, piece0(10, 64, 4, 1));
  EXPECT_EQ(b.lookup(64, 9), IntakeBench::kMissPushed);
  EXPECT_EQ(b.lookup(0, 10), IntakeBench::kNothing);
  EXPECT_EQ(b.lookup(64, 10), IntakeBench::kHit);
  b.piece(64, 0, piece0(11, 64, 5, 1));
  EXPECT_EQ(b.lookup(64, 11), IntakeBench::kMissPushed);
}

// A WQE that was looked for while incomplete is never found later: its index may by then mean another WQE.
TEST(DoorbellIntakeTest, WqeMissedWhileIncompleteStaysMissed) {
  for (bool second_first : {false, true}) {
    for (bool same_edge : {false, true}) {
      IntakeBench b;
      const Piece p0 = piece0(10, 64, 5, 1), p1 = piece1(1);
      b.piece(64, second_first, second_first ? p1 : p0);
      b.set_lookup(64, 10);
      if (!same_edge) {
        b.step();
        EXPECT_EQ(b.answer(), IntakeBench::kMissPushed);
      }
      b.piece(64, !second_first, second_first ? p0 : p1);
      EXPECT_EQ(b.answer(), IntakeBench::kMissPushed);
      EXPECT_EQ(b.lookup(64, 10), IntakeBench::kMissPushed);
      if (second_first) {
        EXPECT_EQ(b.rings, std::vector<unsigned>{64});
      }
    }
  }
}

// A piece 0 of another index starts the entry anew, and so its piece 1 is the one that counts.
TEST(DoorbellIntakeTest, NewPieceZeroRestartsTheEntry) {
  IntakeBench b;
  b.piece(2, 0, piece0(20, 2, 8, 1));
  b.piece(2, 0, piece0(22, 2, 8, 2));
  EXPECT_TRUE(b.rings.empty());
  b.piece(2, 1, piece1(2));
  EXPECT_EQ(b.counted, (Counted{{2, 24}}));
  EXPECT_EQ(b.lookup(2, 20), IntakeBench::kMissPushed);
  EXPECT_EQ(b.lookup(2, 22), IntakeBench::kHit);
  EXPECT_EQ(b.data(1), piece1(2));
}

// A WQE whose entry another QP takes between its pieces rings all the same, and its late piece 1 never gets into the
// QP's next WQE.
TEST(DoorbellIntakeTest, EntryTakenBetweenPiecesStillRings) {
  IntakeBench b;
  b.piece(0, 0, piece0(5, 0, 8, 1));
  b.piece(64, 0, piece0(7, 64, 4, 2));
  b.step();
  EXPECT_EQ(b.counted, (Counted{{64, 8}, {0, 7}}));
  EXPECT_EQ(b.pi(0), 7);
  b.piece(0, 1, piece1(1));
  EXPECT_EQ(b.lookup(64, 7), IntakeBench::kHit);
  EXPECT_EQ(b.lookup(0, 5), IntakeBench::kNothing);
  b.piece(0, 0, piece0(7, 0, 8, 3));
  EXPECT_EQ(b.counted.size(), 2u);
  b.piece(0, 1, piece1(3));
  EXPECT_EQ(b.counted.back(), (std::pair<unsigned, unsigned>{0, 9}));
  EXPECT_EQ(b.lookup(0, 7), IntakeBench::kHit);
  EXPECT_EQ(b.data(1), piece1(3));
}

// The same with the pieces the other way round: piece 1 is lost, so piece 0 rings at once and is not found.
TEST(DoorbellIntakeTest, EntryTakenAfterPieceOneStillRings) {
  IntakeBench b;
  b.piece(0, 1, piece1(1));
  b.piece(64, 0, piece0(7, 64, 4, 2));
  b.piece(0, 0, piece0(5, 0, 8, 1));
  EXPECT_EQ(b.counted, (Counted{{64, 8}, {0, 7}}));
  EXPECT_EQ(b.lookup(0, 5), IntakeBench::kMissPushed);
}

// Every slot's incomplete WQE is overtaken back to back: no ring of the late ones is lost.
TEST(DoorbellIntakeTest, BurstOfTakenEntriesRingsAll) {
  IntakeBench b;
  for (unsigned q = 0; q < 64; ++q) b.piece(q, 0, piece0(q, q, 8, q));
  for (unsigned q = 0; q < 64; ++q) b.piece(64 + q, 0, piece0(q, 64 + q, 1, q));
  EXPECT_EQ(b.rings.size(), 64u);
  EXPECT_FALSE(b.top->idle_o);
  for (int i = 0; i < 64; ++i) b.step();
  EXPECT_EQ(b.rings.size(), 128u);
  EXPECT_EQ(std::set<unsigned>(b.rings.begin(), b.rings.end()).size(), 128u);
  b.step();
  EXPECT_TRUE(b.top->idle_o);
}

// A clear forgets the producer index and the pushed WQE of its QP and of no other.
TEST(DoorbellIntakeTest, ClearForgetsOneQp) {
  IntakeBench b;
  b.piece(3, 0, piece0(1, 3, 2, 1));
  b.piece(4, 0, piece0(1, 4, 2, 1));
  b.set_clear(3), b.step();
  b.set_clear(68), b.step();  // of the same slot as QP 4
  EXPECT_EQ(b.pi(3), -1);
  EXPECT_EQ(b.pi(4), 2);
  EXPECT_EQ(b.lookup(3, 1), IntakeBench::kNothing);
  EXPECT_EQ(b.lookup(4, 1), IntakeBench::kHit);
}

// A doorbell, or a push, at the edge of the clear counts as after it.
TEST(DoorbellIntakeTest, DoorbellAtClearSurvives) {
  IntakeBench b;
  b.piece(3, 0, piece0(1, 3, 2, 1));
  b.set_clear(3), b.piece(3, 0, piece0(8, 3, 2, 2));
  EXPECT_EQ(b.pi(3), 9);
  EXPECT_EQ(b.lookup(3, 8), IntakeBench::kHit);
  b.set_clear(3), b.sq(3, 11);
  EXPECT_EQ(b.pi(3), 11);
}

// A lookup at the edge of its QP's clear comes after it: it finds nothing. One of another QP is not touched.
TEST(DoorbellIntakeTest, LookupAtClearFindsNothing) {
  IntakeBench b;
  b.piece(3, 0, piece0(1, 3, 2, 1));
  b.piece(4, 0, piece0(1, 4, 2, 1));
  b.set_clear(3);
  EXPECT_EQ(b.lookup(3, 1), IntakeBench::kNothing);
  b.set_clear(3);
  EXPECT_EQ(b.lookup(4, 1), IntakeBench::kHit);
}

// A lookup and a new push of one entry at one edge: the lookup gets the old WQE, the entry holds the new one.
TEST(DoorbellIntakeTest, LookupAndPushAtOneEdge) {
  IntakeBench b;
  const Piece p = piece0(1, 3, 2, 1), n = piece0(2, 3, 2, 2);
  b.piece(3, 0, p);
  b.set_lookup(3, 1), b.piece(3, 0, n);
  EXPECT_EQ(b.answer(), IntakeBench::kHit);
  EXPECT_EQ(b.data(0), p);
  EXPECT_EQ(b.lookup(3, 2), IntakeBench::kHit);
  EXPECT_EQ(b.data(0), n);
}

// The second reader of producer indices sees what the edges before it left, whatever meets it; the first one goes on.
TEST(DoorbellIntakeTest, QueriesReadTheIndices) {
  const uint64_t seed = test_seed();
  SCOPED_TRACE("RNIC_TEST_SEED=" + std::to_string(seed));
  IntakeBench b(seed);
  std::map<unsigned, unsigned> model;
  unsigned known = 0, unknown = 0;
  for (int c = 0; c < 20000; ++c) {
    const auto qpn = [&] { return unsigned(b.rng() % 4 + (b.rng() % 2 ? 1020 : 0)); };
    const unsigned db = qpn(), clear = qpn(), read = qpn(), query = qpn(), value = b.rng() & 0xffff;
    const bool rings = b.chance(40), clears = b.chance(20), reads = b.chance(50), asks = b.chance(50);
    if (rings) b.set_sq(db, value);
    if (clears) b.set_clear(clear);
    b.top->pi_re_i = reads, b.top->pi_qpn_i = read;
    b.top->q_re_i = asks, b.top->q_qpn_i = query;
    const auto want_q = model.find(query), want_r = model.find(read);
    const int q = want_q == model.end() ? -1 : int(want_q->second),
              r = want_r == model.end() ? -1 : int(want_r->second);
    b.step();
    if (asks) {
      ASSERT_EQ(b.top->q_pi_valid_o ? b.top->q_pi_o : -1, q);
      ++(q < 0 ? unknown : known);
    }
    if (reads) {
      ASSERT_EQ(b.top->pi_valid_o ? b.top->pi_o : -1, r);
    }
    if (clears) model.erase(clear);
    if (rings) model[db] = value;
  }
  EXPECT_GT(known, 1000u);
  EXPECT_GT(unknown, 1000u);
}

// Whatever many QPs in few slots push and ring, in any interleaving with a fetcher: the fetcher gets to the end of
// every queue by the rings alone, and each WQE found in the buffer is the right one.
class DoorbellIntakeRandom : public ::testing::TestWithParam<std::tuple<unsigned, unsigned, unsigned>> {};

TEST_P(DoorbellIntakeRandom, NothingIsLostOrMixedUp) {
  const auto [qps, db_pct, fetch_pct] = GetParam();
  const uint64_t seed = test_seed();
  SCOPED_TRACE("RNIC_TEST_SEED=" + std::to_string(seed));
  IntakeBench b(seed);
  struct Wqe {
    unsigned blocks;
    Piece p0, p1;
    bool two;
  };
  struct Qp {
    unsigned next = 0, ci = 0;
    int want_pi = -1;
    std::deque<std::pair<unsigned, Piece>> todo;  // pieces of the current push still to write
    std::map<unsigned, Wqe> wqes;                 // by index
  };
  std::vector<Qp> qp(qps);
  auto qpn_of = [&](unsigned i) { return i % 2 * 3 + i / 2 * 64; };  // two slots
  for (auto& q : qp) q.next = q.ci = b.rng() % 2 ? 65500 : b.rng() & 0xFFFF;
  std::set<unsigned> rung;
  std::map<unsigned, unsigned> back;
  for (unsigned i = 0; i < qps; ++i) back[qpn_of(i)] = i;
  unsigned salt = 0, hits = 0, fallbacks = 0, pushes = 0;
  enum { kIdle, kPi, kLook } phase = kIdle;
  unsigned f = 0, f_pi = 0, f_ci = 0;
  bool started = false;
  const int cycles = 8000;
  size_t rings_seen = 0;
  for (int c = 0; c < cycles + 60000; ++c) {
    // Driver: the pieces of a push without anything of the same QP between
    bool more_pieces = false;
    for (auto& q : qp) more_pieces |= !q.todo.empty();
    if ((c < cycles || more_pieces) && b.chance(db_pct)) {
      const unsigned i = b.rng() % qps;
      Qp& q = qp[i];
      const unsigned outstanding = (q.next - q.ci) & 0xFFFF;
      if (q.todo.empty() && c < cycles && outstanding < 6) {
        const unsigned ds = 1 + b.rng() % (b.chance(10) ? 12 : 8);
        const unsigned blocks = (ds + 3) / 4;
        Wqe w{blocks, piece0(q.next, qpn_of(i), ds, ++salt), piece1(salt), ds > 4};
        q.wqes[q.next] = w;
        q.next = (q.next + blocks) & 0xFFFF;
        if (b.chance(70)) {
          ++pushes;
          q.todo.emplace_back(0, w.p0);
          if (ds > 4) q.todo.insert(b.chance(50) ? q.todo.begin() : q.todo.end(), {1, w.p1});
        } else {
          b.set_sq(qpn_of(i), q.next);
          q.want_pi = q.next;
        }
      }
      if (!q.todo.empty()) {
        b.set_piece(qpn_of(i), q.todo.front().first, q.todo.front().second);
        q.todo.pop_front();
      }
    }
    // Fetcher: takes rung QPs in turn, reads the index, and looks every WQE up
    started = b.chance(fetch_pct);
    if (started) {
      if (phase == kIdle && !rung.empty()) {
        auto it = rung.begin();
        std::advance(it, b.rng() % rung.size());
        f = *it;
        rung.erase(it);
        b.top->pi_re_i = 1, b.top->pi_qpn_i = qpn_of(f);
        phase = kPi;
      } else if (phase == kLook) {
        f_ci = qp[f].ci;
        b.set_lookup(qpn_of(f), f_ci);
      }
    }
    const bool read_pi = b.top->pi_re_i, looked = b.top->bf_re_i;
    b.step();
    for (; rings_seen < b.rings.size(); ++rings_seen) rung.insert(back.at(b.rings[rings_seen]));
    if (read_pi) {
      ASSERT_TRUE(b.top->pi_valid_o);
      f_pi = b.top->pi_o;
      phase = f_pi == qp[f].ci ? kIdle : kLook;
    } else if (looked) {
      const Wqe& w = qp[f].wqes.at(f_ci);
      const auto ans = b.answer();
      if (ans == IntakeBench::kHit) {
        ++hits;
        ASSERT_EQ(b.data(0), w.p0);
        if (w.two) {
          ASSERT_EQ(b.data(1), w.p1);
        }
      }
      fallbacks += ans == IntakeBench::kMissPushed;
      qp[f].ci = (f_ci + w.blocks) & 0xFFFF;
      qp[f].wqes.erase(f_ci);
      if (qp[f].ci == f_pi) phase = kIdle;
    }
    if (c > cycles && !more_pieces && phase == kIdle && rung.empty() && b.top->idle_o) break;
  }
  for (unsigned i = 0; i < qps; ++i) EXPECT_EQ(qp[i].ci, qp[i].next) << "QP " << qpn_of(i);
  EXPECT_TRUE(b.top->idle_o);
  EXPECT_GT(pushes, 50u);
  if (qps <= 3) {
    EXPECT_GT(hits, 5u);  // more QPs push each other out of the two slots
  }
  if (qps > 2) {
    EXPECT_GT(fallbacks, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Grid, DoorbellIntakeRandom,
                         ::testing::Combine(::testing::Values(1u, 3u, 8u, 24u), ::testing::Values(10u, 50u, 100u),
                                            ::testing::Values(20u, 60u, 100u)));

// Edges while idle change nothing: a bench that gets any number of them behaves as one that gets none.
TEST(DoorbellIntakeTest, IdleEdgesChangeNothing) {
  const uint64_t seed = test_seed();
  SCOPED_TRACE("RNIC_TEST_SEED=" + std::to_string(seed));
  IntakeBench a(seed), b(seed);
  unsigned skipped = 0;
  for (int i = 0; i < 4000; ++i) {
    const unsigned what = a.rng() % 6, q = a.rng() % 4 * 64, n = a.rng() % 8, ds = 1 + a.rng() % 8;
    for (IntakeBench* s : {&a, &b}) {
      if (what == 0) s->set_sq(q, n);
      if (what == 1) s->set_piece(q, 0, piece0(n, q, ds, i));
      if (what == 2) s->set_piece(q, 1, piece1(i));
      if (what == 3 || what == 1) s->set_lookup(q, n);
      if (what == 3) s->top->pi_re_i = 1, s->top->pi_qpn_i = q;
      if (what == 4 && n == 0) s->set_clear(q);
      s->step();
    }
    ASSERT_EQ(a.rings, b.rings);
    ASSERT_EQ(a.counted, b.counted);
    ASSERT_EQ(a.answer(), b.answer());
    ASSERT_EQ(a.top->pi_valid_o, b.top->pi_valid_o);
    if (a.top->pi_valid_o) {
      ASSERT_EQ(a.top->pi_o, b.top->pi_o);
    }
    if (a.answer() == IntakeBench::kHit) {
      ASSERT_EQ(a.data(0), b.data(0));
    }
    if (a.top->idle_o) {
      for (unsigned e = a.rng() % 4; e-- != 0; ++skipped) a.tick();
    }
  }
  EXPECT_GT(skipped, 500u);
}

}  // namespace
}  // namespace rnic::test
