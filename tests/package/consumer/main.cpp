// SPDX-License-Identifier: Apache-2.0
// Posts one 64 B RDMA WRITE and prints the length of the frame that leaves the NIC.
#include <cstdio>

#include "rnic/observe/recorder.h"
#include "rnic/system/system.h"

int sc_main(int, char**) {
  rnic::System system(rnic::Profile::load("seed-400g"), {});
  rnic::Recorder recorder;
  system.observers().add(&recorder);
  system.spawn("sender", [&] {
    auto& ctx = *system.node().ctx;
    const auto mr =
        ctx.reg_mr(1, rnic::host::Space::kGpu, ctx.alloc(rnic::host::Space::kGpu, 4096), 4096, 0x7f0000000000);
    auto* cq = ctx.create_cq(4);
    auto* qp = ctx.create_qp(cq, {});
    ctx.modify_qp_rts(qp, {});
    rnic::host::SendWr wr;
    wr.addr = mr.addr;
    wr.length = 64;
    wr.lkey = mr.lkey;
    ctx.post_send(qp, wr);
    ctx.wait_cq(cq, rnic::Time(1, sc_core::SC_MS));
  });
  const auto end = system.run();
  for (const auto& f : recorder.frames) std::printf("frame of %zu bytes\n", f.bytes.size());
  return end == rnic::RunEnd::kDone && recorder.frames.size() == 1 ? 0 : 1;
}
