// SPDX-License-Identifier: Apache-2.0
// No result depends on what an unreset register or memory holds at power-up.
#include "system/traffic.h"

namespace rnic::test {
namespace {

class ResetValuesTest : public SystemTest {
 protected:
  std::string outcome(const SystemOptions& options, const std::function<std::string()>& program) {
    return isolated([&] {
      auto& s = make(options);
      std::string seen;
      s.spawn("program", [&] { seen = program(); });
      EXPECT_EQ(s.run(), RunEnd::kDone);
      EXPECT_EQ(s.node().nic->assertion_failures(), 0u);
      return seen + digest(recorder, s, 0);
    });
  }

  void expect_no_dependence(const std::function<std::string()>& program) {
    const std::string zeros = outcome({}, program);
    for (uint64_t seed = 1; seed <= 8; ++seed) {
      SystemOptions o;
      o.randomize = true;
      o.seed = seed;
      expect_same(zeros, outcome(o, program), fmt::format("seed {}", seed));
    }
  }
};

// Random initial values give the events, frames and TLPs that zeros give.
TEST_F(ResetValuesTest, NothingDependsOnInitialValues) {
  expect_no_dependence([&] { return mixed_traffic(system(), 0, 17, 30, Time(300, sc_core::SC_NS)); });
}

// The same with what no command has set up: QPs that ring without a context, CQs and keys that nobody has made.
TEST_F(ResetValuesTest, NothingIsThereBeforeItIsSetUp) {
  expect_no_dependence([&] {
    const auto mr = gpu_buffer(4096);
    auto* cq = ctx().create_cq(3);
    auto* qp = ctx().create_qp(cq, {}, 1000);
    for (uint32_t qpn = 0; qpn < 512; ++qpn) {
      ctx().ring_doorbell(qpn, 1);
      sc_core::wait(Time(50, sc_core::SC_NS));
    }
    ctx().modify_qp_rts(qp, {});
    auto wr = write(mr, 64);
    for (uint32_t index = 100; index < 130; ++index) {
      wr.lkey = index << 8 | 0x5a;
      ctx().post_send(qp, wr);
      complete(cq, 1);
      ctx().modify_qp_rts(qp, {});
    }
    wr.lkey = mr.lkey;
    for (uint32_t cqn = 100; cqn < 130; ++cqn) {
      ctx().write32(1, uint64_t{qp->qpn} * 128 + 4, cqn);
      ctx().write32(1, 0x00F0'0000, qp->qpn << 8 | rtl::rnic_pkg::CmdQpModify);
      ctx().post_send(qp, wr);
      sc_core::wait(Time(2, sc_core::SC_US));
      ctx().modify_qp_rts(qp, {});
    }
    return std::string();
  });
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
