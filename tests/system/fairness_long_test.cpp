// SPDX-License-Identifier: Apache-2.0
#include "system/fairness.h"

namespace rnic::test {
namespace {

TEST_F(FairnessTest, AllQps) { no_qp_is_more_than_two_packets_from_its_share(1024, 30000); }

}  // namespace
}  // namespace rnic::test
