// SPDX-License-Identifier: Apache-2.0
// The full cross of operations, lengths up to 1 MiB, MTUs, transports, memories and alignments. CTest label: long.
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

}  // namespace
}  // namespace rnic::test
