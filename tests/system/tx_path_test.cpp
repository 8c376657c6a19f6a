// SPDX-License-Identifier: Apache-2.0
// The transmit path under the simplest load, and under limits from the wire and from PCIe.
#include "system/frames.h"

namespace rnic::test {
namespace {

using host::QpInit;
using host::QpPath;
using host::QpType;
using host::SendWr;
using host::Space;
using host::SqWhere;

class TxPathTest : public MessagesTest {
 protected:
  /// 8 QPs of all kinds at the same time, each with the edge lengths and some long messages; `first` comes before.
  void run_load(const std::vector<std::string>& sets, const std::function<void()>& first = {}) {
    make(sets);
    const auto end = run([&] {
      if (first) first();
      const auto mr = buffer(Space::kGpu, 65536);
      for (unsigned i = 0; i < 8; ++i) {
        QpInit init;
        init.type = i % 2 ? QpType::kRc : QpType::kUc;
        init.where = i % 4 / 2 ? SqWhere::kBf : SqWhere::kDevice;
        QpPath path;
        path.mtu = kAllMtus[i % 5];
        path.dest_qpn = 0x300 + i;
        std::vector<SendWr> wrs;
        auto lengths = edge_lengths(path.mtu);
        lengths.insert(lengths.end(), {20000, 4096, 40000, 0, 64});
        for (size_t n = 0; n < lengths.size(); ++n) wrs.push_back(request(mr, kAllOps[(n + i) % 4], lengths[n], i));
        system().spawn("load", [=, this_ = this] { this_->send(mr, init, path, wrs, 6); });
      }
    });
    EXPECT_EQ(end, RunEnd::kDone) << to_string(end);
    expect_right_frames();
  }

  /// A credit comes back when its TLP has arrived at the other end of the link: of the NIC's reads (writes), that many
  /// at most are under way at any instant.
  void expect_at_most_under_way(bool reads, size_t credits) {
    const uint64_t flight = to_ps(system().profile().time("pcie.nic_link_latency"));
    std::vector<uint64_t> sent;
    for (const auto& t : recorder.tlps) {
      if (t.from_nic && (reads ? t.tlp.is_mem_read() : t.tlp.is_mem_write())) sent.push_back(t.ps);
    }
    ASSERT_GT(sent.size(), 50u);
    for (size_t i = credits; i < sent.size(); ++i) ASSERT_GT(sent[i] - sent[i - credits], flight) << "TLP " << i;
  }

  /// Frames of one port never overlap on the wire; 12 bytes of gap and 8 of preamble lie between them.
  void expect_wire_in_order(double gbps) const {
    const auto gap_ps = static_cast<uint64_t>(12 * 8000 / gbps);
    for (size_t i = 1; i < recorder.frames.size(); ++i) {
      ASSERT_GE(recorder.frames[i].first_ps, recorder.frames[i - 1].last_ps + gap_ps) << "frame " << i;
    }
  }
};

// One 64 B UC WRITE from GPU memory goes out as one frame with the memory's bytes and completes.
TEST_F(TxPathTest, OneWriteLeavesAndCompletes) {
  make();
  const auto end = run([&] {
    const auto mr = buffer(Space::kGpu, 4096);
    send(mr, {}, {}, {request(mr, host::WrOpcode::kRdmaWrite, 64)});
  });
  EXPECT_EQ(end, RunEnd::kDone) << to_string(end);
  ASSERT_EQ(recorder.frames.size(), 1u);
  EXPECT_EQ(recorder.frames[0].bytes.size(), 14u + 20 + 8 + 12 + 16 + 64 + 4);
  expect_right_frames();
}

// Many QPs at full speed: nothing is lost, doubled or out of its QP's order.
TEST_F(TxPathTest, ManyQueuePairsAtOnce) {
  run_load({});
  expect_wire_in_order(400);
}

// The MAC takes 100 Gb/s where the NIC could give 400: the wire stays full, and nothing is lost or doubled.
TEST_F(TxPathTest, SlowMacHoldsBack) {
  make({"mac.rate=100"});
  const auto end = run([&] {
    const auto mr = buffer(Space::kGpu, 65536);
    for (unsigned i = 0; i < 4; ++i) {
      std::vector<SendWr> wrs;
      for (unsigned n = 0; n < 48; ++n) wrs.push_back(request(mr, kAllOps[(n + i) % 4], 4096 + n % 3 * 4000));
      system().spawn("load", [=, this_ = this] { this_->send(mr, {}, {}, wrs, 24); });
    }
  });
  EXPECT_EQ(end, RunEnd::kDone) << to_string(end);
  expect_right_frames();
  expect_wire_in_order(100);
  // Of the middle half, between the pauses at the ends: bytes on the wire, with preamble, FCS and gap, per time.
  const auto& f = recorder.frames;
  const size_t from = f.size() / 8, to = f.size() / 8 * 3;
  uint64_t bytes = 0;
  for (size_t i = from; i < to; ++i) bytes += f[i].bytes.size() + 24;
  const double gbps = static_cast<double>(bytes) * 8000 / static_cast<double>(f[to].first_ps - f[from].first_ps);
  EXPECT_GT(gbps, 99.0);
  EXPECT_LE(gbps, 100.01);
}

// The same with the smallest MAC buffer.
TEST_F(TxPathTest, SlowMacWithSmallBuffer) { run_load({"mac.rate=100", "mac.tx_buffer=9280"}); }

// One header credit of each kind and data credits for one CQE: slow, but nothing hangs or is lost.
TEST_F(TxPathTest, FewestCredits) {
  run_load({"pcie.ph_credits=1", "pcie.pd_credits=4", "pcie.nph_credits=1"});
  expect_at_most_under_way(true, 1);
  expect_at_most_under_way(false, 1);
}

// The same with a slow MAC, the smallest reads, payloads and completion cuts.
TEST_F(TxPathTest, EverythingScarce) {
  run_load({"pcie.ph_credits=1", "pcie.pd_credits=4", "pcie.nph_credits=2", "mac.rate=100", "mac.tx_buffer=9280",
            "pcie.mps=128", "pcie.mrrs=128", "pcie.rcb=64"});
  expect_at_most_under_way(true, 2);
  expect_at_most_under_way(false, 1);
}

// The largest reads and payloads.
TEST_F(TxPathTest, LargestTlps) { run_load({"pcie.mps=4096", "pcie.mrrs=4096", "pcie.rcb=128"}); }

// A slow GPU memory and few reads at a time: completions come late and many messages wait.
TEST_F(TxPathTest, SlowMemory) { run_load({"gpu.read_latency=2000", "pcie.nph_credits=4"}); }

class TagBitsTest : public TxPathTest, public ::testing::WithParamInterface<unsigned> {};

// The driver enables tags of so many bits: each read of payload has one of those, and a slow memory gets all of them;
// the others of the same width are for WQEs.
TEST_P(TagBitsTest, TagsOfEachWidth) {
  const unsigned bits = GetParam();
  run_load({"gpu.read_latency=4000", "pcie.tag_bits=" + std::to_string(bits), "pcie.mrrs=128"});
  unsigned lowest = ~0u, highest = 0;
  for (const auto& t : recorder.tlps) {
    if (!t.from_nic || !t.tlp.is_mem_read()) continue;
    lowest = std::min(lowest, t.tlp.tag());
    highest = std::max(highest, t.tlp.tag());
  }
  EXPECT_EQ(lowest, bits == 10 ? 256u : 0u);
  EXPECT_EQ(highest, bits == 10 ? 703u : bits == 8 ? 223u : 23u);
}
INSTANTIATE_TEST_SUITE_P(Bits, TagBitsTest, ::testing::Values(5, 8, 10));

class TlpSizeTest : public TxPathTest, public ::testing::WithParamInterface<unsigned> {};

// Each size of read requests and payloads that configuration software may set.
TEST_P(TlpSizeTest, NothingIsLost) {
  run_load({"pcie.mps=" + std::to_string(GetParam()), "pcie.mrrs=" + std::to_string(GetParam())});
}
INSTANTIATE_TEST_SUITE_P(Sizes, TlpSizeTest, ::testing::Values(128, 256, 512, 1024, 2048, 4096));

}  // namespace
}  // namespace rnic::test
