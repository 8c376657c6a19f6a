// SPDX-License-Identifier: Apache-2.0
// The full cross of operations, lengths up to 1 MiB, MTUs, transports, memories and alignments, and one message of the
// greatest length. CTest label: long.
#include <set>

#include "system/frames.h"

namespace rnic::test {
namespace {

using host::Space;

class FramesLongTest : public MessagesTest, public ::testing::WithParamInterface<Shape> {
 protected:
  void run_all(Space space, uint64_t skew) {
    make();
    const auto end = run([&] {
      const auto mr = buffer(space, kMiB + 4096);
      host::QpInit init;
      init.type = GetParam().type;
      host::QpPath path;
      path.mtu = GetParam().mtu;
      path.sq_psn = 0xfff000;
      std::vector<host::SendWr> wrs;
      auto lengths = edge_lengths(GetParam().mtu);
      lengths.push_back(kMiB);
      for (auto op : kAllOps) {
        for (auto length : lengths) wrs.push_back(request(mr, op, length, skew));
      }
      send(mr, init, path, wrs);
    });
    EXPECT_EQ(end, RunEnd::kDone) << to_string(end);
    expect_right_frames();
  }
};
INSTANTIATE_TEST_SUITE_P(All, FramesLongTest, ::testing::ValuesIn(all_shapes()),
                         [](const auto& info) { return shape_name(info.param); });

// Aligned, from GPU memory.
TEST_P(FramesLongTest, GpuMemory) { run_all(Space::kGpu, 0); }

// From an odd address in GPU memory.
TEST_P(FramesLongTest, GpuMemoryOddAddress) { run_all(Space::kGpu, 61); }

// From an odd address in host memory.
TEST_P(FramesLongTest, HostMemoryOddAddress) { run_all(Space::kHost, 3); }

/// Looks at every frame of a message as it leaves, and at some of them byte by byte.
struct Watcher : Observer {
  golden::SegmentQp qp;
  golden::Wqe wqe;
  golden::FrameFields fields;
  uint64_t offset = 0, background = 0;  ///< of the message in its memory
  std::set<uint64_t> looked_at;         ///< packets compared byte by byte
  uint64_t count = 0, wrong = 0, compared = 0;

  void on_frame(const FrameRecord& f) override {
    const uint64_t k = count++;
    const auto p = golden::packet_at(qp, wqe, k);
    if (f.op.psn != p.psn || f.op.last != p.last) ++wrong;
    if (looked_at.count(k) == 0) return;
    golden::FrameFields expected = fields;
    expected.ip_id = p.ip_id;
    expected.bth_opcode = p.bth_opcode;
    expected.ack_req = p.ack_req;
    expected.psn = p.psn;
    if (p.has_reth) expected.reth = golden::Reth{p.reth_va, p.reth_rkey, p.reth_length};
    golden::Bytes payload(p.length);
    for (uint32_t i = 0; i < p.length; ++i) payload[i] = pattern_byte(offset + p.offset + i, background);
    if (f.bytes != golden::build_frame(expected, payload)) ++wrong;
    ++compared;
  }
};

// A message of 2 GiB: all 524288 packets leave in order, the first, the last and 1000 others byte for byte, and it
// completes with its length.
TEST(TwoGibTest, FirstLastAndRandomPackets) {
  constexpr uint64_t kLength = uint64_t{1} << 31, kPackets = kLength / 4096, kBackground = 5;
  System system(Profile::load("seed-400g"), {});
  auto& ctx = *system.node().ctx;
  system.node().hub->gpu_memory().set_background(kBackground);
  Watcher watcher;
  std::mt19937_64 rng(test_seed());
  watcher.looked_at = {0, kPackets - 1};
  while (watcher.looked_at.size() < 1002) watcher.looked_at.insert(rng() % kPackets);
  uint32_t completed = 0;
  system.spawn("sender", [&] {
    const auto mr = ctx.reg_mr(1, Space::kGpu, ctx.alloc(Space::kGpu, kLength), kLength, 0x7f00'0000'0000);
    auto* cq = ctx.create_cq(4);
    auto* qp = ctx.create_qp(cq, {});
    host::QpPath path;
    path.sq_psn = 0xfe'0000;  // wraps on the way
    ctx.modify_qp_rts(qp, path);
    host::SendWr wr;
    wr.addr = mr.addr, wr.length = kLength, wr.lkey = mr.lkey, wr.remote_addr = 0x1234'5678, wr.rkey = 0x99;
    watcher.qp.transport = golden::Transport::kUc;
    watcher.qp.mtu_code = 5;
    watcher.qp.psn = path.sq_psn;
    watcher.qp.ip_id = path.ip_id;
    watcher.wqe = wqe_of(host::QpType::kUc, wr);
    watcher.offset = mr.offset;
    watcher.background = kBackground;
    auto& f = watcher.fields;
    f.dmac = path.dmac, f.smac = path.smac, f.tos = path.tos, f.ttl = path.ttl, f.sip = path.sip, f.dip = path.dip;
    f.udp_sport = host::default_udp_sport(qp->qpn, path.dest_qpn);
    f.mig_req = path.mig_req, f.pkey = path.pkey, f.dest_qpn = path.dest_qpn;
    system.observers().add(&watcher);
    ctx.post_send(qp, wr);
    const auto wc = ctx.wait_cq(cq, Time(200, sc_core::SC_MS));
    ASSERT_TRUE(wc.has_value());
    EXPECT_EQ(wc->status, host::WcStatus::kSuccess);
    completed = wc->byte_len;
  });
  EXPECT_EQ(system.run(), RunEnd::kDone);
  EXPECT_EQ(completed, kLength);
  EXPECT_EQ(watcher.count, kPackets);
  EXPECT_EQ(watcher.compared, 1002u);
  EXPECT_EQ(watcher.wrong, 0u);
  EXPECT_EQ(system.node().nic->assertion_failures(), 0u);
}

}  // namespace
}  // namespace rnic::test
