// SPDX-License-Identifier: Apache-2.0
// Messages of every kind through the whole NIC: what leaves the MAC against the source bytes, the reference models and
// the outside oracles.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "rnic/observe/run_directory.h"
#include "system/traffic.h"

namespace rnic::test {

inline constexpr host::WrOpcode kAllOps[] = {host::WrOpcode::kRdmaWrite, host::WrOpcode::kRdmaWriteImm,
                                             host::WrOpcode::kSend, host::WrOpcode::kSendImm};
inline constexpr unsigned kAllMtus[] = {256, 512, 1024, 2048, 4096};
inline constexpr uint64_t kMiB = 1 << 20;

/// Lengths about every edge of the data path: none, below and above a word, a beat, the smallest MTU, and the MTU.
inline std::vector<uint64_t> edge_lengths(unsigned mtu) {
  return {0, 1, 3, 63, 64, 65, 255, 256, 257, mtu - 1u, mtu, mtu + 1u, 8193};
}

/// One QP's kind and path MTU.
struct Shape {
  host::QpType type;
  unsigned mtu;
};
inline std::vector<Shape> all_shapes() {
  std::vector<Shape> shapes;
  for (auto type : {host::QpType::kUc, host::QpType::kRc}) {
    for (unsigned mtu : kAllMtus) shapes.push_back({type, mtu});
  }
  return shapes;
}
inline std::string shape_name(const Shape& s) {
  return (s.type == host::QpType::kRc ? "RcMtu" : "UcMtu") + std::to_string(s.mtu);
}
inline void PrintTo(const Shape& s, std::ostream* os) { *os << shape_name(s); }

/// What an oracle said. `python3 tests/oracle/check_frames.py` followed by `arguments`.
struct OracleAnswer {
  int status = -1;
  std::string text;
};
inline OracleAnswer ask_oracle(const std::string& arguments) {
  std::fflush(nullptr);
  OracleAnswer a;
  FILE* pipe = popen(("python3 " RNICSIM_TEST_DATA "/oracle/check_frames.py " + arguments + " 2>&1").c_str(), "r");
  if (pipe == nullptr) {
    a.text = "cannot start python3";
    return a;
  }
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) a.text.append(buffer, n);
  const int status = pclose(pipe);
  a.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return a;
}

/// A capture file in the temporary folder, removed at the end.
class Capture {
 public:
  explicit Capture(const Recorder& recorder) : path(fmt::format("{}rnic_{}.pcapng", ::testing::TempDir(), getpid())) {
    write_pcapng(path, recorder, false);
  }
  ~Capture() { std::remove(path.c_str()); }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  const std::string path;
};

/// Nothing was refused, unexpected or malformed anywhere between host, NIC and wire.
inline void expect_no_refusals(System& system) {
  auto& node = system.node();
  for (const char* name : {"cpl_unexpected", "cpl_ur", "cpl_ca", "cpl_poisoned", "cpl_timeout", "cpl_malformed",
                           "mmio_unsupported", "req_cqe_error", "req_cqe_flush_error", "cq_overrun", "db_invalid"}) {
    EXPECT_EQ(node.nic->bars().counter(name), 0u) << name;
  }
  const auto& hub = node.hub->counters();
  EXPECT_EQ(hub.malformed, 0u);
  EXPECT_EQ(hub.unsupported_read, 0u);
  EXPECT_EQ(hub.unsupported_write, 0u);
  EXPECT_EQ(hub.unexpected_cpl, 0u);
  EXPECT_EQ(node.nic->mac().malformed(), 0u);
  EXPECT_EQ(node.nic->assertion_failures(), 0u);
}

/// A system whose run ends soon after it has got stuck.
class LimitedTest : public SystemTest {
 protected:
  System& make(const std::vector<std::string>& sets = {}) {
    SystemOptions options;
    options.max_sim_time = Time(20, sc_core::SC_MS);
    return SystemTest::make(options, sets);
  }
};

class MessagesTest : public LimitedTest {
 protected:
  static constexpr uint64_t kBackground = 7;

  /// A buffer of background bytes in either memory.
  host::Mr buffer(host::Space space, uint64_t length) {
    if (space == host::Space::kGpu) return gpu_buffer(length, kBackground);
    system().node().hub->host_memory().set_background(kBackground);
    return ctx().reg_mr(kPd, space, ctx().alloc(space, length), length, kVa);
  }

  /// A work request with an immediate, remote address and solicited bit of its own.
  host::SendWr request(const host::Mr& mr, host::WrOpcode op, uint64_t length, uint64_t skew = 0) {
    host::SendWr wr = write(mr, length, requests_);
    wr.opcode = op;
    wr.addr += skew;
    wr.imm = 0xa5000000 + static_cast<uint32_t>(requests_);
    wr.remote_addr += requests_ * 0x1001;
    wr.solicited = requests_ % 2 == 1;
    ++requests_;
    return wr;
  }

  /// A new QP, ready to send; keeps what must come of these requests on it.
  host::Qp* sender(const host::Mr& mr, host::Cq* cq, const host::QpInit& init, const host::QpPath& path,
                   const std::vector<host::SendWr>& wrs) {
    auto* qp = ctx().create_qp(cq, init);
    ctx().modify_qp_rts(qp, path);
    ExpectedFrames expected(path, init.type, qp->qpn, kBackground);
    for (const auto& wr : wrs) expected.add(mr, wr);
    expected_[qp->qpn] = {expected.frames, expected.dissections, mr, wrs};
    return qp;
  }

  /// Sends requests on one new QP, at most `batch` behind a doorbell.
  void send(const host::Mr& mr, const host::QpInit& init, const host::QpPath& path,
            const std::vector<host::SendWr>& wrs, unsigned batch = 16) {
    auto* cq = ctx().create_cq(6);
    auto* qp = sender(mr, cq, init, path, wrs);
    for (size_t at = 0; at < wrs.size(); at += batch) {
      const size_t n = std::min<size_t>(batch, wrs.size() - at);
      const std::vector<host::SendWr> part(wrs.begin() + static_cast<long>(at),
                                           wrs.begin() + static_cast<long>(at + n));
      ctx().post_send(qp, part);
      // READ and atomics complete with their response only.
      std::vector<const host::SendWr*> completing;
      for (const auto& wr : part) {
        if (golden::has_payload(host::wqe_opcode(wr.opcode))) completing.push_back(&wr);
      }
      const auto done = complete(cq, static_cast<unsigned>(completing.size()));
      for (size_t i = 0; i < done.size(); ++i) {
        EXPECT_EQ(done[i].status, host::WcStatus::kSuccess) << host::to_string(done[i].status);
        EXPECT_EQ(done[i].wr_id, completing[i]->wr_id);
        EXPECT_EQ(done[i].byte_len, wqe_of(init.type, *completing[i]).length());
      }
    }
  }

  enum class Judge { kIcrc, kTshark };

  /// Nothing was refused or logged, and the frames are right.
  void expect_right_frames(Judge judge = Judge::kIcrc) {
    expect_no_refusals(system());
    EXPECT_TRUE(recorder.errors.empty());
    expect_frames(judge);
  }

  /// Every frame that left is the reference models' frame of its QP, in order, and none is missing; payloads put
  /// together again are the source's bytes; and the ICRC oracle accepts all of them. kTshark: it dissects each as what
  /// was asked for, too.
  void expect_frames(Judge judge = Judge::kIcrc) {
    std::map<uint32_t, std::vector<const FrameRecord*>> sent;
    for (const auto& f : recorder.frames) sent[f.op.qpn].push_back(&f);
    ASSERT_EQ(sent.size(), expected_.size());
    for (const auto& [qpn, e] : expected_) {
      ASSERT_EQ(sent[qpn].size(), e.frames.size()) << "QP " << qpn;
      for (size_t i = 0; i < e.frames.size(); ++i) {
        ASSERT_EQ(sent[qpn][i]->bytes, e.frames[i]) << "QP " << qpn << ", frame " << i;
      }
      expect_source_bytes(sent[qpn], e);
    }
    if (HasFatalFailure()) return;
    const Capture capture(recorder);
    const std::string lines = capture.path + ".expected";
    std::string how = "--icrc-only";
    if (judge == Judge::kTshark) {
      std::map<uint32_t, size_t> next;
      std::ofstream file(lines);
      for (const auto& f : recorder.frames) file << expected_.at(f.op.qpn).dissections.at(next[f.op.qpn]++);
      how = "--expect " + lines;
    }
    const auto answer = ask_oracle(fmt::format("{} --count {} {}", how, recorder.frames.size(), capture.path));
    std::remove(lines.c_str());
    EXPECT_EQ(answer.status, 0) << answer.text;
  }

 private:
  struct Expected {
    std::vector<golden::Bytes> frames;
    std::vector<std::string> dissections;
    host::Mr mr;
    std::vector<host::SendWr> wrs;
  };

  /// Independent of the segmenter's model: packets up to one whose opcode ends a message, put together.
  static void expect_source_bytes(const std::vector<const FrameRecord*>& sent, const Expected& e) {
    golden::Bytes message;
    size_t n = 0;
    for (const auto* f : sent) {
      const auto parsed = golden::parse_frame(f->bytes);
      ASSERT_TRUE(parsed.problems.empty()) << parsed.problems[0];
      message.insert(message.end(), parsed.payload.begin(), parsed.payload.end());
      const unsigned op = parsed.fields.bth_opcode & 0x1f;
      const bool first_or_middle = op == 0 || op == 1 || op == 6 || op == 7;
      if (first_or_middle) continue;
      ASSERT_LT(n, e.wrs.size());
      ASSERT_EQ(message, source_bytes(e.mr, e.wrs[n])) << "message " << n;
      message.clear();
      ++n;
    }
    EXPECT_EQ(n, e.wrs.size());
    EXPECT_TRUE(message.empty());
  }

  /// What the request's segments hold, one behind the other; nothing for a request that asks for data.
  static golden::Bytes source_bytes(const host::Mr& mr, const host::SendWr& wr) {
    golden::Bytes bytes;
    if (!golden::has_payload(host::wqe_opcode(wr.opcode))) return bytes;
    auto list = wr.sg_list;
    if (list.empty()) list.push_back({wr.addr, wr.length, wr.lkey});
    for (const auto& s : list) {
      for (uint64_t i = 0; i < s.length; ++i)
        bytes.push_back(pattern_byte(mr.offset + (s.addr - mr.addr) + i, kBackground));
    }
    return bytes;
  }

  uint64_t requests_ = 0;
  std::map<uint32_t, Expected> expected_;
};

}  // namespace rnic::test
