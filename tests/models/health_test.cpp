// SPDX-License-Identifier: Apache-2.0
// States and transitions of docs/models/health.md.
#include "rnic/nic/health.h"

#include <gtest/gtest.h>

#include <random>

#include "rnic/core/error.h"

namespace rnic {
namespace {

using State = Health::State;
using Crossing = Health::Crossing;

Health with(double warning, double critical, double hysteresis) {
  Health h;
  h.set_limits({warning, critical, hysteresis});
  return h;
}

// Errors degrade, a lost completion is fatal, and neither takes the other back.
TEST(HealthTest, WorstCauseCounts) {
  Health h;
  EXPECT_EQ(h.state(), State::kHealthy);
  h.error(1);
  EXPECT_EQ(h.state(), State::kDegraded);
  h.lost(2);
  EXPECT_EQ(h.state(), State::kFatal);
  h.error(3);
  EXPECT_EQ(h.state(), State::kFatal);
  EXPECT_EQ(h.changes(), 2u);
}

// Warm only while it is: back at the threshold less the hysteresis, not before.
TEST(HealthTest, WarmthGoesWithHysteresis) {
  Health h = with(100, 120, 5);
  EXPECT_TRUE(h.temperature(99.9, 1).empty());
  EXPECT_EQ(h.temperature(100, 2), std::vector<Crossing>{Crossing::kWarning});
  EXPECT_EQ(h.state(), State::kDegraded);
  EXPECT_TRUE(h.temperature(95, 3).empty());
  EXPECT_EQ(h.state(), State::kDegraded);
  EXPECT_TRUE(h.temperature(101, 4).empty()) << "still the same warmth";
  EXPECT_EQ(h.temperature(94.9, 5), std::vector<Crossing>{Crossing::kCooled});
  EXPECT_EQ(h.state(), State::kHealthy);
}

// Overheated stays fatal when it cools down; a reset helps only once it has.
TEST(HealthTest, OverheatedNeedsCoolingAndReset) {
  Health h = with(100, 120, 5);
  EXPECT_EQ(h.temperature(125, 1), (std::vector<Crossing>{Crossing::kWarning, Crossing::kCritical}));
  EXPECT_EQ(h.state(), State::kFatal);
  h.temperature(117, 2);
  h.down(3);
  EXPECT_EQ(h.state(), State::kDown);
  h.up(4);
  EXPECT_EQ(h.state(), State::kFatal) << "not below 115 yet";
  EXPECT_EQ(h.temperature(50, 5), std::vector<Crossing>{Crossing::kCooled});
  EXPECT_EQ(h.state(), State::kFatal) << "until a reset";
  h.down(6);
  h.up(7);
  EXPECT_EQ(h.state(), State::kHealthy);
}

// A reset takes errors and losses back, and what is logged while it lasts; warmth stays.
TEST(HealthTest, ResetTakesBackAllButWarmth) {
  Health h = with(100, 120, 5);
  h.temperature(110, 1);
  h.error(2);
  h.lost(3);
  h.down(4);
  h.error(5);
  EXPECT_EQ(h.state(), State::kDown);
  h.up(6);
  EXPECT_EQ(h.state(), State::kDegraded);
  EXPECT_EQ(h.causes(), unsigned{Health::kWarm});
  h.up(7);  // it is up already
  ASSERT_EQ(h.history().size(), 4u);
  EXPECT_EQ(h.history()[2].to, State::kDown);
  EXPECT_EQ(h.history()[3].ns, 6u);
}

// Random inputs: the state is always that of the causes, changes are counted, and the history is bounded.
TEST(HealthTest, StateFollowsFromCauses) {
  std::mt19937 rng(7);
  Health h = with(60, 90, 10);
  bool down = false;
  unsigned seen = 0;
  for (uint64_t ns = 1; ns < 20'000; ++ns) {
    switch (rng() % 6) {
      case 0:
        h.error(ns);
        break;
      case 1:
        if (rng() % 8 == 0) h.lost(ns);
        break;
      case 2:
        h.down(ns);
        down = true;
        break;
      case 3:
        h.up(ns);
        down = false;
        break;
      default:
        h.temperature(rng() % 100, ns);
    }
    const State want = down                                                   ? State::kDown
                       : (h.causes() & (Health::kLost | Health::kOverheated)) ? State::kFatal
                       : h.causes()                                           ? State::kDegraded
                                                                              : State::kHealthy;
    ASSERT_EQ(h.state(), want) << ns;
    if (h.temperature() >= 60 || h.temperature() < 50) {
      ASSERT_EQ((h.causes() & Health::kWarm) != 0, h.temperature() >= 60) << ns;
    }
    seen |= 1u << static_cast<unsigned>(h.state());
  }
  EXPECT_EQ(seen, 15u);
  EXPECT_EQ(h.history().size(), Health::kKept);
  EXPECT_GT(h.changes(), Health::kKept);
}

// Limits that contradict each other are refused.
TEST(HealthTest, LimitsMustMakeSense) {
  Health h;
  EXPECT_THROW(h.set_limits({120, 100, 5}), SimError);
  EXPECT_THROW(h.set_limits({100, 120, -1}), SimError);
  h.set_limits({100, 100, 0});
}

}  // namespace
}  // namespace rnic
