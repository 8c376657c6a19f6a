// SPDX-License-Identifier: Apache-2.0
// Several NICs in one process: none sees the others.
#include "system/traffic.h"

namespace rnic::test {
namespace {

constexpr unsigned kRounds = 20;
const Time kGap(700, sc_core::SC_NS);

class MultiNicTest : public SystemTest {
 protected:
  /// Runs mixed traffic of its own seed on every node, and gives what each node showed, one text a node.
  std::vector<std::string> together(const SystemOptions& options, const std::vector<uint64_t>& seeds) {
    std::vector<std::string> texts(seeds.size());
    const std::string out = isolated([&] {
      auto& s = make(options);
      std::vector<std::string> seen(seeds.size());
      for (unsigned i = 0; i < seeds.size(); ++i) {
        s.spawn("program", [&, i] { seen[i] = mixed_traffic(s, i, seeds[i], kRounds, kGap); });
      }
      EXPECT_EQ(s.run(), RunEnd::kDone);
      std::string all;
      for (unsigned i = 0; i < seeds.size(); ++i) {
        EXPECT_EQ(s.node(i).nic->assertion_failures(), 0u);
        all += seen[i] + digest(recorder, s, i) + '\f';
      }
      return all;
    });
    std::istringstream in(out);
    for (auto& t : texts) std::getline(in, t, '\f');
    return texts;
  }
};

// Two NICs whose clocks differ in phase do together exactly what each does alone: same picoseconds, same cycles.
TEST_F(MultiNicTest, EachDoesWhatItDoesAlone) {
  SystemOptions both, first, second;
  both.nodes = 2;
  both.phases_ps = {0, 333};
  first.phases_ps = {0};
  second.phases_ps = {333};
  const auto pair = together(both, {11, 22});
  expect_same(pair[0], together(first, {11})[0], "NIC 0");
  expect_same(pair[1], together(second, {22})[0], "NIC 1");
  EXPECT_NE(pair[0], pair[1]);
}

// A waveform of either, both or none changes nothing, and each one's file is the file that it writes alone.
TEST_F(MultiNicTest, TracesAreApart) {
  const auto path = [](const char* name) { return ::testing::TempDir() + "multi_nic_" + name + ".fst"; };
  SystemOptions both, plain, second;
  both.nodes = plain.nodes = 2;
  both.phases_ps = plain.phases_ps = {0, 333};
  both.traces = {{path("a")}, {path("b")}};
  second.phases_ps = {333};
  second.traces = {{path("alone")}};
  const auto traced = together(both, {11, 22}), untraced = together(plain, {11, 22});
  expect_same(traced[0], untraced[0], "NIC 0");
  expect_same(traced[1], untraced[1], "NIC 1");
  together(second, {22});
  const auto bytes = [](const std::string& p) {
    std::ifstream in(p, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  const std::string a = bytes(path("a")), b = bytes(path("b")), alone = bytes(path("alone"));
  EXPECT_GT(b.size(), 1000u);
  EXPECT_TRUE(b == alone) << b.size() << " and " << alone.size() << " bytes";
  EXPECT_FALSE(a == b);
}

// Four NICs under equal programs and phases do the same thing at the same time.
TEST_F(MultiNicTest, EqualNodesAreInStep) {
  SystemOptions o;
  o.nodes = 4;
  const auto texts = together(o, {5, 5, 5, 5});
  for (unsigned i = 1; i < 4; ++i) expect_same(texts[0], texts[i], fmt::format("NIC {}", i));
}

}  // namespace
}  // namespace rnic::test
