// SPDX-License-Identifier: Apache-2.0
// The frames that leave the MAC: content, headers, PSNs, against reference models, published frames and outside
// oracles.
#define RNIC_TEST_DATA RNICSIM_TEST_DATA "/data"
#include "system/frames.h"

#include "rtl/roce_frames.h"

namespace rnic::test {
namespace {

using host::QpInit;
using host::QpPath;
using host::QpType;
using host::SendWr;
using host::Space;
using host::WrOpcode;

class ShapesTest : public MessagesTest, public ::testing::WithParamInterface<Shape> {
 protected:
  QpInit init() const {
    QpInit i;
    i.type = GetParam().type;
    return i;
  }
  QpPath path() const {
    QpPath p;
    p.mtu = GetParam().mtu;
    p.sq_psn = 0x123400 + GetParam().mtu;
    return p;
  }
};
INSTANTIATE_TEST_SUITE_P(All, ShapesTest, ::testing::ValuesIn(all_shapes()),
                         [](const auto& info) { return shape_name(info.param); });

// Each operation with each length about an edge leaves as the reference models' frames, holding the source's bytes.
TEST_P(ShapesTest, EveryOperationAndLength) {
  make();
  const auto end = run([&] {
    const auto mr = buffer(Space::kGpu, 16384);
    std::vector<SendWr> wrs;
    for (auto op : kAllOps) {
      for (auto length : edge_lengths(GetParam().mtu)) wrs.push_back(request(mr, op, length));
    }
    send(mr, init(), path(), wrs);
  });
  EXPECT_EQ(end, RunEnd::kDone) << to_string(end);
  expect_right_frames();
}

// Local addresses of any alignment, in GPU and in host memory, give the bytes that lie there.
TEST_P(ShapesTest, AnyAlignmentInBothMemories) {
  make();
  const auto end = run([&] {
    for (auto space : {Space::kGpu, Space::kHost}) {
      const auto mr = buffer(space, 32768);
      std::vector<SendWr> wrs;
      unsigned n = 0;
      for (uint64_t skew : {1, 2, 3, 5, 31, 61, 63, 4095, 4097}) {
        for (uint64_t length : {1u, 65u, 257u, GetParam().mtu + 3}) {
          wrs.push_back(request(mr, kAllOps[n++ % 4], length, skew));
        }
      }
      send(mr, init(), path(), wrs);
    }
  });
  EXPECT_EQ(end, RunEnd::kDone) << to_string(end);
  expect_right_frames();
}

// A message of 1 MiB; which operation depends on the MTU. All of them: frames_long.
TEST_P(ShapesTest, OneMebibyte) {
  make();
  const auto end = run([&] {
    const auto mr = buffer(Space::kGpu, kMiB);
    const auto* at = std::find(std::begin(kAllMtus), std::end(kAllMtus), GetParam().mtu);
    const auto shape = static_cast<size_t>(at - std::begin(kAllMtus)) + (GetParam().type == QpType::kRc ? 2 : 0);
    send(mr, init(), path(), {request(mr, kAllOps[shape % 4], kMiB)});
  });
  EXPECT_EQ(end, RunEnd::kDone) << to_string(end);
  expect_right_frames();
}

/// PSNs in the order of the wire.
std::vector<uint32_t> psns(const Recorder& recorder) {
  std::vector<uint32_t> v;
  for (const auto& f : recorder.frames) v.push_back(golden::parse_frame(f.bytes).fields.psn);
  return v;
}

class FramesTest : public MessagesTest {};

// After PSN 0xffffff comes 0, in the middle of a message; the IP identification wraps at 16 bits just so.
TEST_F(FramesTest, PsnWrapsInsideAMessage) {
  make();
  run([&] {
    const auto mr = buffer(Space::kGpu, 4096);
    QpInit init;
    init.type = QpType::kRc;
    QpPath path;
    path.mtu = 256;
    path.sq_psn = 0xfffffe;
    path.ip_id = 0xfffd;
    send(mr, init, path, {request(mr, WrOpcode::kRdmaWriteImm, 1000), request(mr, WrOpcode::kSend, 300)});
  });
  EXPECT_EQ(psns(recorder), (std::vector<uint32_t>{0xfffffe, 0xffffff, 0, 1, 2, 3}));
  expect_right_frames();
}

// A message that ends with PSN 0xffffff is followed by one with PSN 0, also when it has no payload.
TEST_F(FramesTest, PsnWrapsBetweenMessages) {
  make();
  run([&] {
    const auto mr = buffer(Space::kGpu, 4096);
    QpPath path;
    path.mtu = 256;
    path.sq_psn = 0xfffffd;
    send(mr, {}, path,
         {request(mr, WrOpcode::kSend, 513), request(mr, WrOpcode::kRdmaWrite, 0),
          request(mr, WrOpcode::kRdmaWrite, 8)});
  });
  EXPECT_EQ(psns(recorder), (std::vector<uint32_t>{0xfffffd, 0xfffffe, 0xffffff, 0, 1}));
  expect_right_frames();
}

// From the fields of the published frames the NIC gives these frames, byte for byte.
TEST_F(FramesTest, PublishedFrames) {
  auto reference = load_roce_frames();
  ASSERT_GE(reference.size(), 11u);
  // What each QP is expected to send; an empty name: a frame that is not in the collection.
  std::map<uint32_t, std::vector<std::string>> names;
  make();
  const auto end = run([&] {
    const auto mr = gpu_buffer(4096);
    auto& gpu = system().node().hub->gpu_memory();
    golden::Bytes counting(4096);
    for (size_t i = 0; i < counting.size(); ++i) counting[i] = static_cast<uint8_t>(i);
    counting[2048] = 0xa5;
    const auto vlan = golden::parse_frame(reference["vlan1_rc_send_only_200B"]).payload;
    std::copy(vlan.begin(), vlan.end(), counting.begin() + 3072);
    gpu.write(mr.offset, counting.data(), counting.size());
    auto* cq = ctx().create_cq(6);

    const auto post = [&](QpType type, const QpPath& path, const std::vector<SendWr>& wrs,
                          const std::vector<std::string>& frames) {
      QpInit init;
      init.type = type;
      auto* qp = ctx().create_qp(cq, init);
      ctx().modify_qp_rts(qp, path);
      ctx().post_send(qp, wrs);
      complete(cq, static_cast<unsigned>(wrs.size()));
      names[qp->qpn] = frames;
    };
    const auto wr = [&](WrOpcode op, uint64_t length, uint64_t at = 0, uint32_t imm = 0) {
      SendWr w = write(mr, length);
      w.opcode = op;
      w.addr += at;
      w.remote_addr = 0x7f0012345678;
      w.rkey = 0x00101234;
      w.imm = imm;
      return w;
    };
    QpPath path;  // the collection's own flow
    path.mtu = 256;
    path.dmac = {2, 0, 0, 0, 0, 2};
    path.smac = {2, 0, 0, 0, 0, 1};
    path.sip = {10, 0, 0, 1};
    path.dip = {10, 0, 0, 2};
    path.udp_sport = 0xc123;
    path.dest_qpn = 0x12;
    path.ip_id = 0x1234;
    path.ip_id_fixed = true;

    path.sq_psn = 0xfffffe;
    SendWr nothing = wr(WrOpcode::kRdmaWrite, 0);
    nothing.remote_addr = nothing.rkey = 0;
    SendWr with_imm = wr(WrOpcode::kRdmaWriteImm, 64, 0, 0xdeadbeef);
    with_imm.solicited = true;
    post(QpType::kRc, path, {wr(WrOpcode::kRdmaWrite, 600), wr(WrOpcode::kRdmaWrite, 1, 2048), nothing, with_imm},
         {"rc_write_first_256of600", "rc_write_middle_256", "rc_write_last_88_ackreq_psnwrap", "rc_write_only_1B_pad3",
          "rc_write_only_0B", "rc_write_only_imm_64B"});
    path.sq_psn = 3;
    post(QpType::kRc, path, {wr(WrOpcode::kRdmaWriteImm, 261, 0, 0x01020304)}, {"", "rc_write_last_imm_5B_pad3"});
    path.sq_psn = 0x200;
    SendWr solicited = wr(WrOpcode::kSendImm, 2, 0, 0xcafef00d);
    solicited.solicited = true;
    post(QpType::kRc, path, {wr(WrOpcode::kSend, 512), solicited},
         {"rc_send_first_256", "", "rc_send_only_imm_2B_pad2_se"});
    path.sq_psn = 8;
    post(QpType::kUc, path, {wr(WrOpcode::kRdmaWrite, 8)}, {"uc_write_only_8B"});

    QpPath captured;  // of a real NIC
    captured.mtu = 1024;
    captured.dmac = {0x10, 0xe2, 0xd5, 0, 0, 0};
    captured.smac = {0xb8, 0x59, 0x9f, 0x07, 0x7e, 0x2a};
    captured.sip = {192, 170, 1, 2};
    captured.dip = {192, 170, 1, 50};
    captured.udp_sport = 0xfa4f;
    captured.vlan_id = 1;
    captured.prio = 0;
    captured.dest_qpn = 0xdeaded;
    captured.ip_id = 0x9d4d;
    captured.sq_psn = 0xfedfed;
    post(QpType::kRc, captured, {wr(WrOpcode::kSend, vlan.size(), 3072)}, {"vlan1_rc_send_only_200B"});
  });
  EXPECT_EQ(end, RunEnd::kDone) << to_string(end);

  std::map<uint32_t, size_t> sent;
  unsigned compared = 0;
  for (const auto& f : recorder.frames) {
    const auto& expected = names.at(f.op.qpn);
    const size_t i = sent[f.op.qpn]++;
    ASSERT_LT(i, expected.size()) << "QP " << f.op.qpn;
    if (expected[i].empty()) continue;
    ASSERT_EQ(reference.count(expected[i]), 1u) << expected[i];
    EXPECT_EQ(f.bytes, reference[expected[i]]) << expected[i];
    ++compared;
  }
  EXPECT_EQ(compared, 11u);
}

/// All operations with a sample of lengths, on one QP of every shape.
class OracleTest : public MessagesTest {
 protected:
  void run_sample() {
    make();
    const auto end = run([&] {
      const auto mr = buffer(Space::kGpu, 16384);
      for (const auto& shape : all_shapes()) {
        QpInit init;
        init.type = shape.type;
        QpPath path;
        path.mtu = shape.mtu;
        path.dest_qpn = 0x100000 + shape.mtu;
        path.sq_psn = 0xfffffe;
        std::vector<SendWr> wrs;
        for (auto op : kAllOps) {
          for (uint64_t length : {0u, 1u, 64u, 255u, shape.mtu + 1, 8193u}) wrs.push_back(request(mr, op, length, 1));
        }
        send(mr, init, path, wrs);
      }
    });
    EXPECT_EQ(end, RunEnd::kDone) << to_string(end);
  }

  /// What the reference models say of each frame: opcode, destination QPN, PSN; a line a frame.
  std::string expectation() const {
    std::string text;
    for (const auto& f : recorder.frames) {
      const auto p = golden::parse_frame(f.bytes).fields;
      text += fmt::format("{} {} {}\n", p.bth_opcode, p.dest_qpn, p.psn);
    }
    return text;
  }

  OracleAnswer ask() const {
    const Capture capture(recorder);
    const std::string expected = capture.path + ".expected";
    std::ofstream(expected) << expectation();
    const auto answer = ask_oracle(fmt::format("--expect {} {}", expected, capture.path));
    std::remove(expected.c_str());
    return answer;
  }
};

// tshark dissects every frame as RoCEv2 with the right opcode, QPN and PSN and finds nothing malformed, no wrong
// checksum.
TEST_F(OracleTest, TsharkDissectsEveryFrame) {
  run_sample();
  expect_right_frames();
  ASSERT_GT(recorder.frames.size(), 500u);
  const auto answer = ask();
  EXPECT_EQ(answer.status, 0) << answer.text;
}

// The oracles are not blind: a payload bit, a header field and a cut frame are each refused.
TEST_F(OracleTest, WrongFramesAreRefused) {
  run_sample();
  recorder.frames.resize(40);
  const auto good = recorder.frames;
  ASSERT_EQ(ask().status, 0) << ask().text;

  recorder.frames[17].bytes[60] ^= 0x10;
  auto answer = ask();
  EXPECT_EQ(answer.status, 1);
  EXPECT_NE(answer.text.find("frame 18: ICRC"), std::string::npos) << answer.text;

  recorder.frames = good;
  recorder.frames[5].bytes[24] ^= 0x01;  // IP checksum: not covered by the ICRC
  answer = ask();
  EXPECT_EQ(answer.status, 1);
  EXPECT_NE(answer.text.find("frame 6: IP header checksum"), std::string::npos) << answer.text;

  recorder.frames = good;
  const Capture capture(recorder);
  const std::string expected = capture.path + ".expected";
  recorder.frames[3].bytes[53] ^= 0x01;  // the expectation's PSN
  std::ofstream(expected) << expectation();
  answer = ask_oracle(fmt::format("--expect {} {}", expected, capture.path));
  std::remove(expected.c_str());
  EXPECT_EQ(answer.status, 1);
  EXPECT_NE(answer.text.find("frame 4: PSN"), std::string::npos) << answer.text;

  recorder.frames = good;
  recorder.frames.back().bytes.resize(50);
  answer = ask();
  EXPECT_EQ(answer.status, 1) << answer.text;
}

// Without tshark the check fails and says what to do; it is never passed over.
TEST_F(OracleTest, MissingTsharkFailsWithRemedy) {
  run_sample();
  recorder.frames.resize(2);
  const Capture capture(recorder);
  const std::string expected = capture.path + ".expected";
  std::ofstream(expected) << expectation();
  const auto answer = ask_oracle(fmt::format("--tshark no-such-tshark --expect {} {}", expected, capture.path));
  std::remove(expected.c_str());
  EXPECT_EQ(answer.status, 1);
  EXPECT_NE(answer.text.find("scripts/setup"), std::string::npos) << answer.text;
}

}  // namespace
}  // namespace rnic::test
