// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <vector>

#include "Vcq_arm.h"
#include "rtl/bench.h"

namespace rnic::test {
namespace {

namespace pkg = rtl::rnic_pkg;

rtl::cq_note_t cqe(uint16_t cqn, uint32_t index, unsigned count = 1, unsigned period = 0, bool error = false) {
  rtl::cq_note_t n;
  n.cqn = cqn;
  n.index = index & 0xffffff;
  n.solicited = error;
  n.irq_en = true;
  n.irq_vector = static_cast<uint8_t>(cqn * 7 % 64);
  n.count = static_cast<uint16_t>(count);
  n.period = static_cast<uint16_t>(period);
  return n;
}

// now_i is 10 ns a cycle.
class ArmBench : public Bench<Vcq_arm> {
 public:
  explicit ArmBench(uint64_t seed = 1) : Bench(seed) {}
  struct Fired {
    unsigned vector;
    uint64_t ns;
  };
  std::vector<Fired> fired;
  std::optional<rtl::cq_note_t> note;
  std::optional<uint16_t> clear;
  struct Arm {
    uint16_t cqn;
    uint32_t ci;
    bool only;
  };
  std::optional<Arm> arm;  // both stay until they are taken

  uint64_t now() const { return 10 * cycle; }
  void step() {
    top->now_i = now();
    top->note_valid_i = note.has_value();
    if (note) rtl::drive(top->note_i, *note);
    top->clear_valid_i = clear.has_value();
    if (clear) top->clear_cqn_i = *clear;
    top->arm_valid_i = arm.has_value();
    rtl::doorbell_t d;
    d.kind = pkg::DbCqArm;
    if (arm) {
      d.qpn = arm->cqn;
      d.value = arm->ci | (arm->only ? 1u << 24 : 0);
      rtl::drive(top->arm_i, d);
    }
    settle();
    const bool cleared = clear && top->clear_ready_o, armed = arm && top->arm_ready_o;
    tick();
    note.reset();
    if (cleared) clear.reset();
    if (armed) arm.reset();
    if (top->irq_valid_o) fired.push_back({top->irq_vector_o, now()});
  }
  void wait(unsigned cycles) {
    for (unsigned i = 0; i < cycles; ++i) step();
  }
  void write(const rtl::cq_note_t& n) {
    note = n;
    wait(3);
  }
  void arm_cq(uint16_t cqn, uint32_t ci, bool only = false) {
    arm = Arm{cqn, ci, only};
    while (arm) step();
    wait(2);
  }
};

// Armed once, a CQ fires once.
TEST(CqArmTest, ArmedOnceFiresOnce) {
  ArmBench b;
  b.write(cqe(5, 0));
  EXPECT_TRUE(b.fired.empty()) << "not armed";
  b.arm_cq(5, 1);
  EXPECT_TRUE(b.fired.empty()) << "nothing new";
  b.write(cqe(5, 1));
  b.write(cqe(5, 2));
  ASSERT_EQ(b.fired.size(), 1u);
  EXPECT_EQ(b.fired[0].vector, 35u);
}

// A CQE that is newer than the arm's index and has been written already fires at once; indices wrap.
TEST(CqArmTest, WrittenBeforeTheArmFiresAtOnce) {
  for (uint32_t ci : {0u, 100u, 0xffffffu}) {
    ArmBench b;
    b.write(cqe(1023, ci, 100, 60000));
    b.arm_cq(1023, (ci + 1) & 0xffffff);
    EXPECT_TRUE(b.fired.empty());
    b.arm_cq(1023, ci);
    EXPECT_EQ(b.fired.size(), 1u);
    b.arm_cq(1023, (ci - 7) & 0xffffff);
    EXPECT_EQ(b.fired.size(), 2u);
  }
}

// Solicited only: an error wakes, before the arm or after it; another CQE does not.
TEST(CqArmTest, SolicitedOnlyWaitsForAnError) {
  ArmBench b;
  b.write(cqe(2, 0));
  b.arm_cq(2, 0, true);
  b.write(cqe(2, 1));
  EXPECT_TRUE(b.fired.empty());
  b.write(cqe(2, 2, 1, 0, true));
  EXPECT_EQ(b.fired.size(), 1u);
  b.arm_cq(2, 2, true);
  EXPECT_EQ(b.fired.size(), 2u) << "the error was there";
  b.arm_cq(2, 3, true);
  EXPECT_EQ(b.fired.size(), 2u);
  b.arm_cq(2, 3, false);
  b.arm_cq(2, 3, true);  // does not weaken
  b.write(cqe(2, 3));
  EXPECT_EQ(b.fired.size(), 3u);
}

// Queries see armed, for solicited ones only, fired, and cleared.
TEST(CqArmTest, QueriesReadTheArms) {
  ArmBench b;
  const auto ask = [&](uint16_t cqn) {
    b.top->q_re_i = 1, b.top->q_cqn_i = cqn;
    b.step();
    b.top->q_re_i = 0, b.top->q_cqn_i = cqn + 1;
    b.step();
    return std::pair<bool, bool>(b.top->q_armed_o, b.top->q_armed_o && b.top->q_only_o);
  };
  using P = std::pair<bool, bool>;
  EXPECT_EQ(ask(7), P(false, false));
  b.arm_cq(7, 0, true);
  EXPECT_EQ(ask(7), P(true, true));
  EXPECT_EQ(ask(6), P(false, false));
  b.arm_cq(7, 0);
  EXPECT_EQ(ask(7), P(true, false));
  b.write(cqe(7, 0));
  EXPECT_EQ(ask(7), P(false, false));
  b.arm_cq(7, 1);
  EXPECT_EQ(ask(7), P(true, false));
  b.clear = 7;
  b.wait(4);
  EXPECT_EQ(ask(7), P(false, false));
}

// The count decides; 0 is as 1.
TEST(CqArmTest, CountRaisesTheVector) {
  for (unsigned count : {0u, 1u, 2u, 5u, 300u}) {
    ArmBench b;
    b.arm_cq(3, 0);
    const unsigned most = std::max(1u, count);
    for (unsigned i = 0; i < most; ++i) {
      EXPECT_TRUE(b.fired.empty()) << i;
      b.write(cqe(3, i, count));
    }
    EXPECT_EQ(b.fired.size(), 1u) << count;
  }
}

// The time counts from the first CQE; the count may come before it, and then no second message comes.
TEST(CqArmTest, PeriodCountsFromTheFirst) {
  for (unsigned us : {1u, 7u, 33u}) {
    ArmBench b;
    b.arm_cq(4, 0);
    b.wait(50);
    const uint64_t start = b.now();
    b.write(cqe(4, 0, 3, us));
    b.wait(20);
    EXPECT_TRUE(b.top->timer_valid_o);
    EXPECT_TRUE(b.top->idle_o);
    EXPECT_EQ(b.top->timer_deadline_o, start + 10 + 1000 * us);
    b.write(cqe(4, 1, 3, us));
    b.wait(100 * us + 50);
    ASSERT_EQ(b.fired.size(), 1u);
    EXPECT_GE(b.fired[0].ns, start + 1000 * us);
    EXPECT_LE(b.fired[0].ns, start + 1000 * us + 40);
    EXPECT_FALSE(b.top->timer_valid_o);

    b.arm_cq(4, 2);
    for (unsigned i = 2; i < 5; ++i) b.write(cqe(4, i, 3, us));
    EXPECT_EQ(b.fired.size(), 2u);
    b.wait(100 * us + 50);
    EXPECT_EQ(b.fired.size(), 2u);
    EXPECT_FALSE(b.top->timer_valid_o);
  }
}

// Setting a CQ up again disarms it, stops its time and forgets its CQEs.
TEST(CqArmTest, ClearForgets) {
  ArmBench b;
  b.arm_cq(6, 0);
  b.write(cqe(6, 0, 2, 5));
  b.clear = 6;
  b.wait(20);
  EXPECT_FALSE(b.top->timer_valid_o);
  b.arm_cq(6, 0);
  EXPECT_TRUE(b.fired.empty());
  b.write(cqe(6, 0));
  EXPECT_EQ(b.fired.size(), 1u);
}

// A CQ whose context has no interrupt stays silent.
TEST(CqArmTest, DisabledStaysSilent) {
  ArmBench b;
  auto n = cqe(8, 0);
  n.irq_en = false;
  b.arm_cq(8, 0);
  b.write(n);
  b.arm_cq(8, 0);
  b.wait(20);
  EXPECT_TRUE(b.fired.empty());
}

// One operation a cycle: a CQE goes before a clear, that before an arm, and that before a time that has ended.
TEST(CqArmTest, OperationsWaitForEachOther) {
  ArmBench b;
  b.note = cqe(10, 0);
  b.step();
  b.clear = 10;
  b.arm = ArmBench::Arm{10, 0, false};
  b.step();
  EXPECT_TRUE(b.clear && b.arm);
  b.step();
  EXPECT_TRUE(!b.clear && b.arm);
  b.step();
  EXPECT_FALSE(b.arm);
  b.wait(3);
  EXPECT_TRUE(b.fired.empty()) << "the clear came before the arm";

  b.arm_cq(4, 0);
  b.write(cqe(4, 0, 3, 1));
  b.wait(20);
  ASSERT_TRUE(b.top->timer_valid_o);
  while (b.now() < b.top->timer_deadline_o) b.step();
  b.arm = ArmBench::Arm{9, 0, false};
  b.step();
  EXPECT_TRUE(b.fired.empty());
  b.step();
  EXPECT_EQ(b.fired.size(), 1u);
}

// Random CQEs, arms and clears of a few CQs, at the same cycle, too, against a model: what fires is what the rules say.
TEST(CqArmTest, RandomRaces) {
  for (unsigned round = 0; round < 10; ++round) {
    SCOPED_TRACE(round);
    ArmBench b(test_seed() + round);
    struct Model {
      uint32_t pi = 0, sol = 0, ci = 0;
      bool armed = false, only = false, wrote = false, error = false;
      unsigned counted = 0;
      std::optional<uint64_t> deadline;
    };
    std::map<uint16_t, Model> cqs;
    const std::vector<uint16_t> names{0, 1, 2, 512, 1023};
    std::vector<unsigned> expected;
    const auto ahead = [](uint32_t a, uint32_t c) { return ((a - c) & 0xffffff) != 0 && !((a - c) & 0x800000); };
    size_t timed_out = 0;
    for (unsigned n = 0; n < 20000; ++n) {
      // One thing at a time for the model; the block gets them in adjacent cycles.
      const uint16_t cqn = names[b.rng() % names.size()];
      Model& m = cqs[cqn];
      const unsigned vector = cqn * 7 % 64;
      const bool timed = cqn == 2 || cqn == 512;
      const unsigned count = timed ? 40 : cqn % 4, period = timed ? 1 : 0;
      const uint64_t before = b.now();
      // Times that end around this operation may come before or after it: let them pass first.
      bool close = false;
      for (auto& [c, other] : cqs) close |= other.deadline && *other.deadline < before + 400;
      if (close) {
        b.wait(100);
        for (auto& [c, other] : cqs) {
          if (!other.deadline || *other.deadline > b.now()) continue;
          other.deadline.reset();
          other.armed = false;
          ++timed_out;
          expected.push_back(c * 7u % 64);
        }
        ASSERT_EQ(b.fired.size(), expected.size());
        continue;
      }
      if (b.chance(2)) b.wait(30);
      switch (b.rng() % 8) {
        case 0:
          b.clear = cqn;
          while (b.clear) b.step();
          m = Model{};
          break;
        case 1:
        case 2: {
          const bool only = b.chance(30);
          const auto ci = static_cast<uint32_t>((m.pi - b.rng() % 3) & 0xffffff);
          b.arm = ArmBench::Arm{cqn, ci, only};
          while (b.arm) b.step();
          m.only = only && !(m.armed && !m.only);
          m.armed = true;
          m.counted = 0;
          m.deadline.reset();
          if (m.only ? m.error && ahead(m.sol, ci) : m.wrote && ahead(m.pi, ci)) {
            m.armed = false;
            expected.push_back(vector);
          }
          break;
        }
        default: {
          const bool error = b.chance(20);
          b.note = cqe(cqn, m.pi, count, period, error);
          b.step();
          m.pi = (m.pi + 1) & 0xffffff;
          m.wrote = true;
          if (error) m.error = true, m.sol = m.pi;
          if (m.armed && (!m.only || error)) {
            if (++m.counted >= count) {
              m.armed = false;
              m.deadline.reset();
              expected.push_back(vector);
            } else if (m.counted == 1 && period != 0) {
              m.deadline = b.now() + 1000 * period;
            }
          }
          b.step();  // CQEs come every other cycle
          break;
        }
      }
    }
    b.wait(600);
    for (auto& [c, m] : cqs) {
      if (m.deadline) expected.push_back(c * 7u % 64), ++timed_out;
    }
    ASSERT_EQ(b.fired.size(), expected.size());
    EXPECT_GT(timed_out, 5u);
    std::map<unsigned, unsigned> want, got;
    for (unsigned v : expected) ++want[v];
    for (const auto& f : b.fired) ++got[f.vector];
    EXPECT_EQ(got, want);
    EXPECT_GT(expected.size(), 1000u);
  }
}

}  // namespace
}  // namespace rnic::test
