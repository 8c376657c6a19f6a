// SPDX-License-Identifier: Apache-2.0
// Equal shares on the wire, samples of what fairness_long_test.cpp does with all QPs.
#include "system/fairness.h"

namespace rnic::test {
namespace {

// All contexts fit their caches.
TEST_F(FairnessTest, SixtyFourQps) { no_qp_is_more_than_two_packets_from_its_share(64, 40000); }

// More than fit: contexts are read again and again.
TEST_F(FairnessTest, ThreeHundredQps) { no_qp_is_more_than_two_packets_from_its_share(300, 14000); }

}  // namespace
}  // namespace rnic::test
