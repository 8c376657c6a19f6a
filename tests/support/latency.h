// SPDX-License-Identifier: Apache-2.0
// Tests that hold an exact number of cycles of an RTL block. It follows what an override declares for the block; cycles
// that nobody declared fail with the line that would declare them. For tests whose property is the number; others must
// not depend on one.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "rnic/rtl/latency.h"

namespace rnic::test {

/// A block on the way that is measured, and the cycles beyond ours that it declares.
struct Pass {
  Pass(const char* block_, bool side_ = false) : block(block_), extra(rtl::extra_latency(block_)), side(side_) {}
  Pass(const char* block_, int extra_, bool side_) : block(block_), extra(extra_), side(side_) {}
  const char* block;
  int extra;
  bool side;  ///< the way is not the block's main one: its extra cycles may lie in it or not
};
inline Pass side(const char* block) { return {block, true}; }

/// What is wrong with `got` cycles where ours takes `golden`, part for part of the way; empty when nothing is. With
/// extra cycles declared only the sum counts, since they may lie in any part.
inline std::string cycles_fault(const std::vector<Pass>& way, const std::vector<int64_t>& golden,
                                const std::vector<int64_t>& got) {
  int64_t least = 0, most = 0, declared = 0;
  for (const Pass& p : way) {
    declared += p.extra;
    least += p.side ? std::min(p.extra, 0) : p.extra;
    most += p.side ? std::max(p.extra, 0) : p.extra;
  }
  const auto sum = [](const std::vector<int64_t>& v) { return std::accumulate(v.begin(), v.end(), int64_t{0}); };
  const int64_t extra = sum(got) - sum(golden);
  if (least == 0 && most == 0 ? got == golden : extra >= least && extra <= most) return "";
  return fmt::format(
      "{} took {} cycles, expected {} (golden) {} {} declared. If that is meant, declare it in the list of "
      "RNICSIM_RTL_OVERRIDE: +latency+{}+{}",
      way.front().block, fmt::join(got, " + "), fmt::join(golden, " + "), declared < 0 ? '-' : '+', std::abs(declared),
      way.front().block, extra - declared + way.front().extra);
}

/// Whether this build has another `block` than ours: what a test says of the very edge inside it then does not hold.
inline bool replaced(std::string_view block) {
  return std::any_of(rtl::kReplaced.begin(), rtl::kReplaced.end(), [&](const auto& r) { return r.block == block; });
}

/// EXPECT_TRUE(takes_cycles({"tx_packetizer"}, {13}, {edges})): ours takes 13. The first block of the way is the one
/// that is tested, others lie inside it.
inline ::testing::AssertionResult takes_cycles(const std::vector<Pass>& way, const std::vector<int64_t>& golden,
                                               const std::vector<int64_t>& got) {
  const std::string fault = cycles_fault(way, golden, got);
  if (fault.empty()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << fault;
}

}  // namespace rnic::test
