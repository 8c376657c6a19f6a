// SPDX-License-Identifier: Apache-2.0
#include "system/fixture.h"

namespace rnic::test {
namespace {

using TxPathTest = SystemTest;

// One 64 B UC WRITE from GPU memory goes out as one frame with the memory's bytes and completes.
TEST_F(TxPathTest, OneWriteLeavesAndCompletes) {
  SystemOptions o;
  o.traces = {{"/tmp/w.fst"}};
  make(o);
  const auto end = run([&] {
    const auto mr = gpu_buffer(4096);
    auto* cq = ctx().create_cq(4);
    auto* qp = ctx().create_qp(cq, {});
    ctx().modify_qp_rts(qp, {});
    ctx().post_send(qp, write(mr, 64, 42));
    const auto wc = complete(cq, 1);
    ASSERT_EQ(wc.size(), 1u);
    EXPECT_EQ(wc[0].status, host::WcStatus::kSuccess) << host::to_string(wc[0].status);
    EXPECT_EQ(wc[0].wr_id, 42u);
    EXPECT_EQ(wc[0].byte_len, 64u);
  });
  EXPECT_EQ(end, RunEnd::kDone) << to_string(end);
  for (const auto& e : recorder.events) {
    std::printf("%10lu ps  cycle %6lu  %-14s qpn %u wqe %u psn %u\n", e.ps, e.cycle, event_name(e.kind), e.op.qpn, e.op.wqe, e.op.psn);
  }
  for (const auto& t : recorder.tlps) std::printf("%lu %d %s %zu\n", t.ps, t.from_nic, t.tlp.describe().c_str(), t.tlp.data.size());
  ASSERT_EQ(recorder.frames.size(), 1u);
  EXPECT_EQ(recorder.frames[0].bytes.size(), 138u);
}

}  // namespace
}  // namespace rnic::test
