// SPDX-License-Identifier: Apache-2.0
// A suite of somebody else on the library's fixture: two tests, so each must get a process of its own.
#include "system/fixture.h"

namespace {

using OwnTest = rnic::test::SystemTest;

TEST_F(OwnTest, OneWriteIsOneFrame) {
  make();
  run([&] {
    const auto mr = gpu_buffer(4096);
    auto* cq = ctx().create_cq(4);
    auto* qp = ctx().create_qp(cq, {});
    ctx().modify_qp_rts(qp, {});
    ctx().post_send(qp, write(mr, 64));
    complete(cq, 1);
  });
  EXPECT_EQ(recorder.frames.size(), 1u);
}

TEST_F(OwnTest, NoPostIsNoFrame) {
  make();
  run([&] { ctx().create_cq(4); });
  EXPECT_EQ(recorder.frames.size(), 0u);
}

}  // namespace
