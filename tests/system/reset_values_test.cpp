// SPDX-License-Identifier: Apache-2.0
// No result depends on what an unreset register or memory holds at power-up.
#include "system/traffic.h"

namespace rnic::test {
namespace {

class ResetValuesTest : public SystemTest {
 protected:
  std::string outcome(const SystemOptions& options) {
    return isolated([&] {
      auto& s = make(options);
      std::string seen;
      s.spawn("program", [&] { seen = mixed_traffic(s, 0, 17, 30, Time(300, sc_core::SC_NS)); });
      EXPECT_EQ(s.run(), RunEnd::kDone);
      EXPECT_EQ(s.node().nic->assertion_failures(), 0u);
      return seen + digest(recorder, s, 0);
    });
  }
};

// Random initial values give the events, frames and TLPs that zeros give.
TEST_F(ResetValuesTest, NothingDependsOnInitialValues) {
  const std::string zeros = outcome({});
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    SystemOptions o;
    o.randomize = true;
    o.seed = seed;
    expect_same(zeros, outcome(o), fmt::format("seed {}", seed));
  }
}

// The option really changes what registers hold before reset: two waveforms of it differ, two of zeros do not.
TEST_F(ResetValuesTest, SeedsShowInTheWaveform) {
  const auto wave = [&](bool randomize, uint64_t seed) {
    SystemOptions o;
    o.randomize = randomize;
    o.seed = seed;
    o.traces = {{::testing::TempDir() + fmt::format("reset_values_{}_{}.fst", randomize, seed), 0, 3'000}};
    isolated([&] {
      auto& s = make(o);
      s.spawn("nothing", [] { sc_core::wait(Time(20, sc_core::SC_NS)); });
      s.run();
      return std::string();
    });
    std::ifstream in(o.traces[0].path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  const std::string zeros = wave(false, 1), a = wave(true, 1), b = wave(true, 2);
  EXPECT_GT(zeros.size(), 1'000u);
  EXPECT_TRUE(zeros == wave(false, 2));
  EXPECT_FALSE(a == zeros);
  EXPECT_FALSE(a == b);
}

}  // namespace
}  // namespace rnic::test
