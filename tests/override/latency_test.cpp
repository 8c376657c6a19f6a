// SPDX-License-Identifier: Apache-2.0
// What tests of exact cycle numbers say.
#include "support/latency.h"

namespace rnic::test {
namespace {

using Parts = std::vector<int64_t>;
std::string fault(int declared, const Parts& golden, const Parts& got, bool side = false) {
  return cycles_fault({{"tx_packetizer", declared, side}}, golden, got);
}

// Without a declaration every part has to fit, and the message holds the line that would declare the difference.
TEST(LatencyTest, UndeclaredCyclesNameTheDeclaration) {
  EXPECT_EQ(fault(0, {13}, {13}), "");
  EXPECT_EQ(
      fault(0, {13}, {14}),
      "tx_packetizer took 14 cycles, expected 13 (golden) + 0 declared. If that is meant, declare it in the list of "
      "RNICSIM_RTL_OVERRIDE: +latency+tx_packetizer+1");
  EXPECT_NE(fault(0, {3, 2}, {2, 3}), "");
}

// A declaration that does not fit fails as well, with the right one.
TEST(LatencyTest, DeclaredCyclesAreExact) {
  EXPECT_EQ(fault(1, {13}, {14}), "");
  EXPECT_EQ(fault(-2, {3, 2}, {1, 2}), "");
  EXPECT_EQ(fault(1, {3, 2}, {3, 3}), "");
  EXPECT_EQ(fault(1, {3, 2}, {4, 2}), "");
  EXPECT_NE(fault(2, {13}, {14}).find("expected 13 (golden) + 2 declared"), std::string::npos);
  EXPECT_NE(fault(2, {13}, {14}).find("+latency+tx_packetizer+1"), std::string::npos);
  EXPECT_NE(fault(-1, {13}, {13}).find("expected 13 (golden) - 1 declared"), std::string::npos);
  EXPECT_NE(fault(1, {13}, {13}).find("+latency+tx_packetizer+0"), std::string::npos);
}

// On a side way the declared cycles may lie or not, but no others.
TEST(LatencyTest, SideWaysAreBounded) {
  EXPECT_EQ(fault(2, {5}, {5}, true), "");
  EXPECT_EQ(fault(2, {5}, {7}, true), "");
  EXPECT_NE(fault(2, {5}, {8}, true), "");
  EXPECT_NE(fault(2, {5}, {4}, true), "");
  EXPECT_NE(fault(0, {5}, {6}, true), "");
}

// What a block inside the tested one declares counts, and is not asked for again.
TEST(LatencyTest, PartsCountForThemselves) {
  EXPECT_EQ(cycles_fault({{"tx_packetizer", 0, false}, {"icrc", 2, false}}, {13}, {15}), "");
  EXPECT_NE(
      cycles_fault({{"tx_packetizer", 0, false}, {"icrc", 2, false}}, {13}, {16}).find("+latency+tx_packetizer+1"),
      std::string::npos);
}

}  // namespace
}  // namespace rnic::test
