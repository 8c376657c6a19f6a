// SPDX-License-Identifier: Apache-2.0
// isolation_test.cpp's random accesses, 100,000 of them.
#include "system/isolation.h"

namespace rnic::test {
namespace {

// As RandomAccessesGoByTheModel, by 64 QPs, over 50 states of the tables.
TEST(IsolationLongTest, HundredThousandAccessesGoByTheModel) {
  const uint64_t seed = test_seed();
  SCOPED_TRACE(fmt::format("RNIC_TEST_SEED={}", seed));
  SystemOptions options;
  options.max_sim_time = Time(10, sc_core::SC_SEC);
  System system(Profile::load("seed-400g"), options);
  Isolation isolation(system, seed);
  system.spawn("test", [&] { isolation.go(100'000, 64, 2'000); });
  EXPECT_EQ(system.run(), RunEnd::kDone);
  isolation.check();
  EXPECT_EQ(isolation.accesses(), 100'000u);
  for (const char* kind :
       {"allowed", "key", "domain", "rights", "bounds", "absent page", "window", "unpinned", "nowhere"}) {
    const auto it = isolation.kinds().find(kind);
    EXPECT_GE(it == isolation.kinds().end() ? 0 : it->second, 500u) << kind;
  }
  for (const auto& [kind, n] : isolation.kinds()) RecordProperty(kind, std::to_string(n));
}

}  // namespace
}  // namespace rnic::test
