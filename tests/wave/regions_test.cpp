// SPDX-License-Identifier: Apache-2.0
// Accesses through lists of pages and windows, good and bad ones, which no scenario makes: for the rules over
// waveforms.
#include "system/fixture.h"
#include "system/isolation.h"

namespace rnic::test {
namespace {

class RegionsTest : public SystemTest {};

// A few hundred accesses of each kind go as the model says.
TEST_F(RegionsTest, AccessesOfAllKinds) {
  make();
  Isolation isolation(system(), 1);
  EXPECT_EQ(run([&] { isolation.go(400, 8, 100); }), RunEnd::kDone);
  isolation.check();
  for (const char* kind : {"allowed", "absent page", "window"}) EXPECT_GT(isolation.kinds().count(kind), 0u) << kind;
}

}  // namespace
}  // namespace rnic::test
