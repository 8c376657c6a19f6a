// SPDX-License-Identifier: Apache-2.0
// Bad input through the driver's paths: refused with the right report, and nobody else notices. Test plan:
// docs/testplans/bad_input.md.
#include <cstring>

#include "rnic/regs/regs.h"
#include "system/traffic.h"

namespace rnic::test {
namespace {

namespace bar2 = regs::bar2;
namespace pkg = rtl::rnic_pkg;
using golden::Vendor;
using host::WcStatus;

constexpr uint64_t kCmd = 0x00F0'0000;
constexpr uint64_t kNowhere = 0x0000'0000'4000'0000;  ///< a bus address that no memory answers
constexpr uint32_t kOtherPd = 9;
constexpr uint64_t kSeed = 7;
const Time kSettle(4, sc_core::SC_US);

struct Report {
  uint16_t wqe;
  WcStatus status;
  unsigned vendor;
  bool operator==(const Report& o) const { return wqe == o.wqe && status == o.status && vendor == o.vendor; }
  friend std::ostream& operator<<(std::ostream& s, const Report& r) {
    return s << "WQE " << r.wqe << " '" << host::to_string(r.status) << "' vendor " << r.vendor;
  }
};

struct LogEntry {
  unsigned kind;
  uint32_t index;
  uint16_t wqe;
  unsigned syndrome, vendor;
  bool operator==(const LogEntry& o) const {
    return kind == o.kind && index == o.index && wqe == o.wqe && syndrome == o.syndrome && vendor == o.vendor;
  }
  friend std::ostream& operator<<(std::ostream& s, const LogEntry& e) {
    return s << "kind " << e.kind << " index " << e.index << " WQE " << e.wqe << " syndrome " << e.syndrome
             << " vendor " << e.vendor;
  }
};

unsigned syndrome_of(WcStatus s) { return static_cast<unsigned>(s); }

class BadInputTest : public SystemTest {
 protected:
  /// A well-behaved flow: posts while others misbehave, and knows what must come of it.
  struct Flow {
    host::Cq* cq;
    host::Qp* qp;
    host::QpPath path;
    std::unique_ptr<ExpectedFrames> expected;
    unsigned completed = 0;
    bool ended = false;
  };

  /// Runs body with two well-behaved flows beside it. Afterwards everything is idle, no assertion of the RTL has
  /// failed, and the flows' frames and completions are all there, byte by byte.
  void scenario(const std::function<void()>& body, bool with_flows = true, const SystemOptions& options = {}) {
    make(options);
    const auto end = run([&] {
      mr = gpu_buffer(1 << 20, kSeed);
      bad_cq = ctx().create_cq(7);
      bad = ctx().create_qp(bad_cq, {}, 100);
      path.dest_qpn = 0xbad;
      path.sq_psn = 0x1000;
      path.mtu = 1024;
      ctx().modify_qp_rts(bad, path);
      if (with_flows) {
        start_flow(5, host::SqWhere::kDevice);
        start_flow(6, host::SqWhere::kBf);
      }
      body();
      stop = true;
    });
    EXPECT_EQ(end, RunEnd::kDone) << to_string(end);
    EXPECT_TRUE(system().node().nic->idle());
    EXPECT_EQ(system().node().nic->assertion_failures(), 0u);
    for (const auto& f : flows) check_flow(*f);
  }

  void start_flow(uint32_t qpn, host::SqWhere where) {
    auto f = std::make_unique<Flow>();
    f->cq = ctx().create_cq(5);
    host::QpInit init;
    init.where = where;
    f->qp = ctx().create_qp(f->cq, init, qpn);
    f->path.mtu = 1024;
    f->path.dest_qpn = 0x700 + qpn;
    f->path.sq_psn = 0xfffff0;
    ctx().modify_qp_rts(f->qp, f->path);
    f->expected = std::make_unique<ExpectedFrames>(f->path, host::QpType::kUc, qpn, kSeed);
    Flow* flow = f.get();
    flows.push_back(std::move(f));
    system().spawn("flow", [this, flow] { keep_sending(*flow); });
  }

  void keep_sending(Flow& f) {
    std::mt19937_64 rng(f.qp->qpn);
    static constexpr uint64_t kLengths[] = {0, 1, 64, 200, 1024, 1025, 3000};
    for (unsigned round = 0; !stop || round < 10; ++round) {
      std::vector<host::SendWr> wrs;
      for (unsigned i = 0, n = 1 + rng() % 3; i < n; ++i) {
        auto wr = write(mr, kLengths[rng() % 7], f.completed + i);
        wr.addr += rng() % 4096;
        wr.opcode = static_cast<host::WrOpcode>(rng() % 4);
        wr.imm = static_cast<uint32_t>(rng());
        f.expected->add(mr, wr);
        wrs.push_back(wr);
      }
      ctx().post_send(f.qp, wrs);
      for (const auto& wr : wrs) {
        const auto wc = ctx().wait_cq(f.cq, Time(1, sc_core::SC_MS));
        ASSERT_TRUE(wc) << "flow " << f.qp->qpn << ": completion " << f.completed << " is missing";
        EXPECT_EQ(wc->status, WcStatus::kSuccess) << "flow " << f.qp->qpn << ", completion " << f.completed;
        EXPECT_EQ(wc->qpn, f.qp->qpn);
        EXPECT_EQ(wc->wr_id, wr.wr_id);
        EXPECT_EQ(wc->byte_len, wr.length);
        ++f.completed;
      }
      sc_core::wait(from_ps(500'000 + rng() % 2'000'000));
    }
    f.ended = true;
  }

  void check_flow(const Flow& f) {
    SCOPED_TRACE(fmt::format("flow {}", f.qp->qpn));
    EXPECT_TRUE(f.ended);
    EXPECT_GE(f.completed, 10u);
    std::vector<golden::Bytes> sent;
    for (const auto& r : recorder.frames) {
      if (r.op.qpn == f.qp->qpn) sent.push_back(r.bytes);
    }
    ASSERT_EQ(sent.size(), f.expected->frames.size());
    for (size_t i = 0; i < sent.size(); ++i) ASSERT_EQ(sent[i], f.expected->frames[i]) << "frame " << i;
  }

  // ---- What a driver sees
  // ---------------------------------------------------------------------------------------------
  uint64_t counter(const std::string& name) {
    for (const auto& c : regs::kCounters) {
      if (name == c.name) return ctx().read(2, c.offset, 8);
    }
    ADD_FAILURE() << "no counter " << name;
    return 0;
  }
  uint64_t log_count() { return ctx().read(2, bar2::kLogCount, 4); }
  /// Entry number n since reset; must be one of the latest 16.
  LogEntry log_entry(uint64_t n) {
    const uint64_t at = n % bar2::kErrorLogCount * bar2::kErrorLogStride;
    const uint64_t wqe = ctx().read(2, bar2::kErrorLogWqe + at, 4);
    return {static_cast<unsigned>(ctx().read(2, bar2::kErrorLogKind + at, 4)),
            static_cast<uint32_t>(ctx().read(2, bar2::kErrorLogIndex + at, 4)),
            static_cast<uint16_t>(bar2::error_log_wqe::kWqe.get(wqe)),
            static_cast<unsigned>(bar2::error_log_wqe::kSyndrome.get(wqe)),
            static_cast<unsigned>(bar2::error_log_wqe::kVendor.get(wqe))};
  }
  void expect_logged(uint64_t from, const std::vector<LogEntry>& want) {
    ASSERT_EQ(log_count(), from + want.size());
    for (size_t i = 0; i < want.size(); ++i) EXPECT_EQ(log_entry(from + i), want[i]);
    EXPECT_EQ(ctx().read(2, bar2::kLogHead, 4), (from + want.size()) % bar2::kErrorLogCount);
  }

  /// The completions of a CQ up to quiet, of which there must be n.
  std::vector<Report> reports(host::Cq* cq, size_t n, uint32_t qpn) {
    std::vector<Report> all;
    while (true) {
      const auto wc = ctx().wait_cq(cq, all.size() < n ? Time(200, sc_core::SC_US) : kSettle);
      if (!wc) return all;
      EXPECT_EQ(wc->qpn, qpn);
      all.push_back({wc->wqe_counter, wc->status, wc->vendor_err});
    }
  }
  size_t frames_of(uint32_t qpn) const {
    return static_cast<size_t>(
        std::count_if(recorder.frames.begin(), recorder.frames.end(), [&](const auto& f) { return f.op.qpn == qpn; }));
  }

  // ---- Bad WQEs
  // ---------------------------------------------------------------------------------------------------------
  golden::Wqe good_wqe(uint64_t length = 64) const {
    golden::Wqe w;
    w.index = bad->pi;
    w.qpn = bad->qpn;
    w.signaled = true;
    w.raddr = kRemoteVa;
    w.rkey = kRemoteKey;
    if (length != 0) w.sges = {{mr.lkey, mr.addr, length}};
    return w;
  }
  void post(const std::vector<uint8_t>& b) { ctx().write_raw_wqe(bad, b); }
  void ring() { ctx().ring_doorbell(bad->qpn, bad->pi); }

  /// After CmdQpModify the QP sends again, from its first PSN.
  void expect_recovers() {
    const size_t before = frames_of(bad->qpn);
    ctx().modify_qp_rts(bad, path);
    const uint16_t index = bad->pi;
    post(golden::encode_wqe(good_wqe()));
    ring();
    EXPECT_EQ(reports(bad->cq, 1, bad->qpn), (std::vector<Report>{{index, WcStatus::kSuccess, 0}}));
    ASSERT_EQ(frames_of(bad->qpn), before + 1);
    const auto last = std::find_if(recorder.frames.rbegin(), recorder.frames.rend(),
                                   [&](const auto& f) { return f.op.qpn == bad->qpn; });
    ExpectedFrames want(path, host::QpType::kUc, bad->qpn, kSeed);
    want.add(mr, write(mr, 64));
    EXPECT_EQ(last->bytes, want.frames.at(0));
  }

  /// The block is refused with this report; so are a good WQE behind it, and one posted later. Log and counters tell,
  /// nothing of it is sent, the context says Err, and CmdQpModify brings the QP back.
  void expect_refused(const std::vector<uint8_t>& block, WcStatus status, Vendor vendor, bool sized = true) {
    const uint64_t logged = log_count(), errors = counter("req_cqe_error"), flushes = counter("req_cqe_flush_error");
    const size_t frames = frames_of(bad->qpn);
    const uint16_t first = bad->pi;
    std::vector<Report> want{{first, status, static_cast<unsigned>(vendor)}};
    post(block);
    post(golden::encode_wqe(good_wqe()));
    if (sized) want.push_back({static_cast<uint16_t>(first + 1), WcStatus::kWrFlushErr, 0});
    ring();
    EXPECT_EQ(reports(bad->cq, want.size(), bad->qpn), want);
    post(golden::encode_wqe(good_wqe()));
    ring();
    const Report later{static_cast<uint16_t>(first + 2), WcStatus::kWrFlushErr, 0};
    EXPECT_EQ(reports(bad->cq, 1, bad->qpn), std::vector<Report>{later});
    want.push_back(later);
    std::vector<LogEntry> log;
    for (const auto& r : want) log.push_back({pkg::EvtWqeError, bad->qpn, r.wqe, syndrome_of(r.status), r.vendor});
    expect_logged(logged, log);
    EXPECT_EQ(counter("req_cqe_error"), errors + want.size());
    EXPECT_EQ(counter("req_cqe_flush_error"), flushes + want.size() - 1);
    EXPECT_EQ(frames_of(bad->qpn), frames);
    EXPECT_EQ(ctx().read(1, uint64_t{bad->qpn} * 128, 4) & 0xf, uint64_t{pkg::QpStErr});
    expect_recovers();
  }

  /// Message of 64 B at addr under key.
  std::vector<uint8_t> local(uint32_t key, uint64_t addr, uint64_t length = 64) const {
    auto w = good_wqe(length);
    w.sges = {{key, addr, length}};
    return golden::encode_wqe(w);
  }

  /// What the reference decoder says of the ring's blocks [ci, pi): one report a WQE, those behind a refused one
  /// flushed.
  std::vector<Report> decoded(uint16_t ci, uint16_t pi) {
    std::vector<Report> all;
    bool error = false;
    const unsigned size = 1u << bad->init.log_sq_size;
    while (ci != pi) {
      std::array<uint8_t, 64 * golden::kMaxWqeBlocks> b;
      for (unsigned i = 0; i < golden::kMaxWqeBlocks; ++i) {
        system().node().nic->device_memory().read(bad->ring + (ci + i) % size * 64, &b[64 * i], 64);
      }
      const uint16_t left = static_cast<uint16_t>(pi - ci);
      const auto d = golden::decode_wqe(b.data(), bad->qpn, ci, left, golden::Transport::kUc);
      if (error) {
        all.push_back({ci, WcStatus::kWrFlushErr, 0});
      } else if (d.syndrome != golden::Syndrome::kNone) {
        all.push_back({ci, static_cast<WcStatus>(d.syndrome), static_cast<unsigned>(d.vendor)});
        error = true;
      } else if (d.wqe.signaled) {
        all.push_back({ci, WcStatus::kSuccess, 0});
      }
      ci = static_cast<uint16_t>(ci + (d.blocks == 0 ? left : d.blocks));
    }
    return all;
  }

  /// Sets bits of the context's first DW and has the NIC take it.
  void patch_context(uint32_t qpn, unsigned dw, uint32_t clear, uint32_t set) {
    const uint64_t at = uint64_t{qpn} * 128 + 4 * dw;
    ctx().write32(1, at, (static_cast<uint32_t>(ctx().read(1, at, 4)) & ~clear) | set);
    ctx().write32(1, kCmd, qpn << 8 | pkg::CmdQpCreate);
  }

  /// A region that no driver would register: [bus, bus + length) under address va, written over the entry of a good
  /// one.
  host::Mr odd_region(uint64_t va, uint64_t bus, uint64_t length) {
    host::Mr odd = ctx().reg_mr(kPd, host::Space::kHost, 0, 4096, 0);
    rtl::mpt_t m;
    m.valid = true;
    m.variant = static_cast<uint8_t>(odd.lkey);
    m.pd = kPd;
    m.start = odd.addr = va;
    m.length = odd.length = length;
    m.iova = bus;
    odd.offset = bus - pcie::kGpuBase;
    const auto words = m.pack();
    for (unsigned i = 0; i < words.size(); ++i) {
      ctx().write32(1, pkg::MptBase + uint64_t{odd.lkey >> 8} * 64 + 4 * i, words[i]);
    }
    ctx().write32(1, kCmd, odd.lkey >> 8 << 8 | pkg::CmdMkeyModify);
    return odd;
  }

  host::Mr mr{};
  host::Cq* bad_cq = nullptr;
  host::Qp* bad = nullptr;
  host::QpPath path;
  std::vector<std::unique_ptr<Flow>> flows;
  bool stop = false;
};

// ---- Doorbells
// ------------------------------------------------------------------------------------------------------------

// A doorbell for a QP that was never set up: an entry in the log, a count, no completion.
TEST_F(BadInputTest, DoorbellOfUnknownQpIsLogged) {
  scenario([&] {
    const uint64_t logged = log_count(), invalid = counter("db_invalid"), errors = counter("req_cqe_error");
    std::vector<LogEntry> want;
    for (uint32_t qpn : {0u, 4u, 261u, 700u, 1023u}) {
      ctx().ring_doorbell(qpn, 1);
      want.push_back({pkg::EvtDbInvalid, qpn, 0, 0, 0});
      sc_core::wait(kSettle);
    }
    expect_logged(logged, want);
    EXPECT_EQ(counter("db_invalid"), invalid + want.size());
    EXPECT_EQ(counter("req_cqe_error"), errors);
    EXPECT_EQ(ctx().read(2, bar2::kHealth, 4), static_cast<uint64_t>(regs::HealthState::kDegraded));
    EXPECT_FALSE(ctx().poll_cq(bad_cq));
  });
}

// A QP in any state but RTS or Err, and one of a transport or ring place that there is not, sends nothing.
TEST_F(BadInputTest, DoorbellOfQpThatCannotSendIsLogged) {
  scenario([&] {
    struct Case {
      uint32_t clear, set;
      unsigned syndrome, vendor;
    };
    std::vector<Case> cases;
    for (uint32_t state = 0; state < 16; ++state) {
      if (state != pkg::QpStRts && state != pkg::QpStErr) cases.push_back({0xf, state, 0, 0});
    }
    cases.push_back({0x30, 3u << 4, pkg::SynLocalQpOp, pkg::VenOpcode});
    cases.push_back({0x3000, 2u << 12, pkg::SynLocalQpOp, pkg::VenOpcode});
    cases.push_back({0x3000, 3u << 12, pkg::SynLocalQpOp, pkg::VenOpcode});
    for (const auto& c : cases) {
      SCOPED_TRACE(fmt::format("context bits {:#x} := {:#x}", c.clear, c.set));
      ctx().modify_qp_rts(bad, path);
      patch_context(bad->qpn, 0, c.clear, c.set);
      const uint64_t logged = log_count();
      const size_t frames = frames_of(bad->qpn);
      post(golden::encode_wqe(good_wqe()));
      ring();
      sc_core::wait(kSettle);
      expect_logged(logged, {{pkg::EvtDbInvalid, bad->qpn, 0, c.syndrome, c.vendor}});
      EXPECT_EQ(frames_of(bad->qpn), frames);
      EXPECT_FALSE(ctx().poll_cq(bad_cq));
    }
    expect_recovers();
  });
}

// After QP2ERR every posted WQE completes as flushed, in order, whatever it asks for.
TEST_F(BadInputTest, QpInErrorFlushesEveryWqe) {
  scenario([&] {
    const uint64_t logged = log_count(), flushes = counter("req_cqe_flush_error");
    const size_t frames = frames_of(bad->qpn);
    ctx().modify_qp_err(bad);
    std::vector<Report> want;
    std::vector<LogEntry> log;
    for (unsigned i = 0; i < 12; ++i) {
      want.push_back({bad->pi, WcStatus::kWrFlushErr, 0});
      log.push_back({pkg::EvtWqeError, bad->qpn, bad->pi, pkg::SynFlushed, 0});
      auto w = good_wqe();
      w.signaled = i & 1;
      if (i % 3 == 0) w.sges[0].lkey ^= 0xff;
      post(golden::encode_wqe(w));
    }
    ring();
    EXPECT_EQ(reports(bad_cq, want.size(), bad->qpn), want);
    expect_logged(logged, log);
    EXPECT_EQ(counter("req_cqe_flush_error"), flushes + want.size());
    EXPECT_EQ(frames_of(bad->qpn), frames);
    expect_recovers();
  });
}

// QP2ERR amid a long message: what was sent stays, the message gets one completion, and those behind it are flushed.
TEST_F(BadInputTest, ErrorAmidAMessageFlushesItOnce) {
  scenario([&] {
    const size_t frames = frames_of(bad->qpn);
    const uint16_t first = bad->pi;
    post(golden::encode_wqe(good_wqe(1 << 20)));
    post(golden::encode_wqe(good_wqe()));
    ring();
    while (frames_of(bad->qpn) < frames + 20) sc_core::wait(Time(100, sc_core::SC_NS));
    ctx().modify_qp_err(bad);
    EXPECT_EQ(reports(bad_cq, 2, bad->qpn),
              (std::vector<Report>{{first, WcStatus::kWrFlushErr, 0},
                                   {static_cast<uint16_t>(first + 1), WcStatus::kWrFlushErr, 0}}));
    EXPECT_LT(frames_of(bad->qpn), frames + 1024);
    expect_recovers();
  });
}

// A producer index farther ahead than the ring is long is one error; within the ring, what stands there is decoded.
TEST_F(BadInputTest, ProducerIndexIsChecked) {
  scenario([&] {
    for (uint32_t ahead : {1u, 5u, 63u, 64u, 65u, 1000u, 32768u, 65535u}) {
      SCOPED_TRACE(fmt::format("{} ahead", ahead));
      const uint16_t ci = bad->pi;
      const uint16_t pi = static_cast<uint16_t>(ci + ahead);
      if (ahead > 64) post(golden::encode_wqe(good_wqe()));  // what must not be taken
      const auto want =
          ahead > 64 ? std::vector<Report>{{ci, WcStatus::kLocQpOpErr, pkg::VenWqeSize}} : decoded(ci, pi);
      const size_t frames = frames_of(bad->qpn);
      ctx().ring_doorbell(bad->qpn, pi);
      EXPECT_EQ(reports(bad_cq, want.size(), bad->qpn), want);
      EXPECT_EQ(frames_of(bad->qpn), frames);
      bad->pi = static_cast<uint16_t>(pi + 3);  // the driver starts anew wherever it likes
      expect_recovers();
    }
    // The doorbell's upper half means nothing; going back to the consumer index is nothing new to send.
    ctx().ring_doorbell(bad->qpn, 0xabcd0000u | bad->pi);
    EXPECT_TRUE(reports(bad_cq, 0, bad->qpn).empty());
  });
}

// A ring that is not in device memory, or not aligned, can't be read: one report, no access outside.
TEST_F(BadInputTest, RingOutsideDeviceMemoryIsRefused) {
  scenario([&] {
    const std::pair<uint32_t, uint32_t> bases[] = {
        // low, high half of sq_base
        {0x1000'0000, 0}, {0xffff'ffc0, 0}, {0, 1}, {0, 0x8000'0000}, {0x0100'0020, 0}, {0x0fff'ffc0, 0}};  // partly
    for (const auto& [low, high] : bases) {
      SCOPED_TRACE(fmt::format("sq_base {:#x}{:08x}", high, low));
      ctx().modify_qp_rts(bad, path);
      patch_context(bad->qpn, 6, ~0u, low);
      patch_context(bad->qpn, 7, ~0u, high);
      const uint16_t first = bad->pi;
      bad->pi = static_cast<uint16_t>(first + 2);
      ring();
      EXPECT_EQ(reports(bad_cq, 1, bad->qpn), (std::vector<Report>{{first, WcStatus::kLocQpOpErr, pkg::VenBounds}}));
    }
    expect_recovers();
  });
}

// ---- WQEs
// -------------------------------------------------------------------------------------------------------------------

// On UC every opcode but WRITE, WRITE_IMM, SEND and SEND_IMM is refused.
TEST_F(BadInputTest, UnknownOpcodesAreRefused) {
  scenario([&] {
    unsigned refused = 0;
    for (unsigned op = 0; op < 256; ++op) {
      if (op >= 0x08 && op <= 0x0b) continue;
      auto b = golden::encode_wqe(good_wqe());
      b[3] = static_cast<uint8_t>(op);
      if (op == 0x00 || op == 0x10 || op == 0x12 || op == 0xff) {  // NOP, READ, atomic
        SCOPED_TRACE(op);
        expect_refused(b, WcStatus::kLocQpOpErr, Vendor::kOpcode);
        continue;
      }
      const uint16_t first = bad->pi;
      post(b);
      ring();
      const auto wc = ctx().wait_cq(bad_cq, Time(100, sc_core::SC_US));
      ASSERT_TRUE(wc) << "opcode " << op;
      EXPECT_EQ((Report{wc->wqe_counter, wc->status, wc->vendor_err}),
                (Report{first, WcStatus::kLocQpOpErr, pkg::VenOpcode}))
          << "opcode " << op;
      EXPECT_EQ(wc->wqe_opcode, op);
      ++refused;
      ctx().modify_qp_rts(bad, path);
    }
    EXPECT_EQ(refused, 248u);
    EXPECT_FALSE(ctx().poll_cq(bad_cq));
  });
}

// Every size field, of a WRITE and of a SEND, alone and with a whole ring's worth of blocks behind it.
TEST_F(BadInputTest, SizeFieldIsChecked) {
  scenario([&] {
    unsigned accepted = 0;
    for (auto op : {golden::WqeOpcode::kWrite, golden::WqeOpcode::kSend}) {
      for (unsigned blocks : {1u, 18u}) {
        for (unsigned ds = 0; ds < 64; ++ds) {
          SCOPED_TRACE(fmt::format("opcode {} size {} blocks {}", static_cast<unsigned>(op), ds, blocks));
          auto w = good_wqe();
          w.opcode = op;
          auto b = golden::encode_wqe(w);
          b[7] = static_cast<uint8_t>(ds);
          const uint16_t first = bad->pi;
          post(b);
          for (unsigned i = 1; i < blocks; ++i) {  // more WQEs, which may be taken as part of the first
            post(golden::encode_wqe(good_wqe()));
          }
          sc_core::wait(Time(1, sc_core::SC_US));  // the ring is read by the back door
          const auto want = decoded(first, bad->pi);
          ring();
          std::vector<Report> got;
          while (got.size() < want.size()) {
            const auto wc = ctx().wait_cq(bad_cq, Time(100, sc_core::SC_US));
            ASSERT_TRUE(wc);
            got.push_back({wc->wqe_counter, wc->status, wc->vendor_err});
          }
          EXPECT_EQ(got, want);
          accepted += want[0].status == WcStatus::kSuccess;
          ctx().modify_qp_rts(bad, path);
        }
      }
    }
    EXPECT_EQ(accepted, 8u);  // with and without data segment
    EXPECT_FALSE(ctx().poll_cq(bad_cq));
    auto b = golden::encode_wqe(good_wqe());
    b[7] = 0;
    expect_refused(b, WcStatus::kLocQpOpErr, Vendor::kWqeSize, false);
    b = golden::encode_wqe(good_wqe());
    b[7] = 1;
    expect_refused(b, WcStatus::kLocQpOpErr, Vendor::kWqeSize);
    b = golden::encode_wqe(good_wqe());
    b[7] = 255;
    expect_refused(b, WcStatus::kLocQpOpErr, Vendor::kWqeSize, false);
  });
}

// A WQE that names another QP or another index is not this one's.
TEST_F(BadInputTest, ForeignWqeIsRefused) {
  scenario([&] {
    for (unsigned bit = 0; bit < 24; bit += 3) {
      SCOPED_TRACE(fmt::format("QPN bit {}", bit));
      auto w = good_wqe();
      w.qpn ^= 1u << bit;
      expect_refused(golden::encode_wqe(w), WcStatus::kLocQpOpErr, Vendor::kWqeQpn);
    }
    for (unsigned bit = 0; bit < 16; bit += 3) {
      SCOPED_TRACE(fmt::format("index bit {}", bit));
      auto w = good_wqe();
      w.index = static_cast<uint16_t>(w.index ^ 1u << bit);
      expect_refused(golden::encode_wqe(w), WcStatus::kLocQpOpErr, Vendor::kWqeQpn);
    }
  });
}

// A byte count with bit 31 is inline data, which must fill its WQE's size; segments are not above 2 GiB together.
TEST_F(BadInputTest, LengthBeyondTheWqeOrTwoGibIsRefused) {
  scenario([&] {
    for (uint32_t count : {0x8000'000du, 0x8000'0010u, 0x8000'00ffu, 0x8000'0101u, 0xffff'ffffu}) {
      SCOPED_TRACE(fmt::format("{:#x}", count));
      auto b = golden::encode_wqe(good_wqe());
      for (unsigned i = 0; i < 4; ++i) b[32 + i] = static_cast<uint8_t>(count >> (24 - 8 * i));
      expect_refused(b, WcStatus::kLocQpOpErr, Vendor::kWqeSize);
    }
    auto w = good_wqe();
    w.sges = {{mr.lkey, mr.addr, golden::kMaxMessageBytes - 1}, {mr.lkey, mr.addr, 2}};
    expect_refused(golden::encode_wqe(w), WcStatus::kLocLenErr, Vendor::kLength);
    // 2 GiB itself, written as 0, is a length; the region is shorter.
    expect_refused(local(mr.lkey, mr.addr, golden::kMaxMessageBytes), WcStatus::kLocProtErr, Vendor::kBounds);
  });
}

// A key of another variant, out of the table, never registered, or no more registered.
TEST_F(BadInputTest, WrongKeyIsRefused) {
  scenario([&] {
    auto gone = ctx().reg_mr(kPd, host::Space::kGpu, mr.offset, 4096, kVa);
    for (unsigned bit = 0; bit < 8; ++bit) {
      SCOPED_TRACE(fmt::format("variant bit {}", bit));
      expect_refused(local(mr.lkey ^ 1u << bit, mr.addr), WcStatus::kLocProtErr, Vendor::kKey);
    }
    for (unsigned bit = 24; bit < 32; ++bit) {
      SCOPED_TRACE(fmt::format("index beyond the table, bit {}", bit));
      expect_refused(local(mr.lkey | 1u << bit, mr.addr), WcStatus::kLocProtErr, Vendor::kKey);
    }
    for (uint32_t key : {0x00777700u, 0x00ffff5au, 0x00000000u, ((mr.lkey >> 8) + 64) << 8 | (mr.lkey & 0xff)}) {
      SCOPED_TRACE(fmt::format("never registered {:#x}", key));
      expect_refused(local(key, mr.addr), WcStatus::kLocProtErr, Vendor::kKey);
    }
    post(local(gone.lkey, gone.addr));
    ring();
    EXPECT_EQ(reports(bad_cq, 1, bad->qpn).at(0).status, WcStatus::kSuccess);
    ctx().dereg_mr(gone);
    expect_refused(local(gone.lkey, gone.addr), WcStatus::kLocProtErr, Vendor::kKey);
  });
}

// Bytes outside the region: before, behind, over an edge, round the end of the address space.
TEST_F(BadInputTest, OutsideTheRegionIsRefused) {
  scenario([&] {
    const uint64_t end = mr.addr + mr.length;
    const std::pair<uint64_t, uint64_t> outside[] = {{mr.addr - 64, 64},
                                                     {mr.addr - 1, 64},
                                                     {mr.addr - 1, 1},
                                                     {end - 63, 64},
                                                     {end, 1},
                                                     {end - 1, 2},
                                                     {end + 4096, 64},
                                                     {mr.addr, (1 << 20) + 1},
                                                     {0, 64},
                                                     {mr.addr | 1ull << 63, 64},
                                                     {~0ull, 1},
                                                     {~0ull - 10, 64},
                                                     {~0ull - (1 << 20), 0x7fff'ffff}};
    for (const auto& [addr, length] : outside) {
      SCOPED_TRACE(fmt::format("{} B at {:#x}", length, addr));
      expect_refused(local(mr.lkey, addr, length), WcStatus::kLocProtErr, Vendor::kBounds);
    }
    // A region at the very top: its last byte can be sent, nothing wraps behind it.
    const auto top = ctx().reg_mr(kPd, host::Space::kGpu, mr.offset, 4096, ~0ull - 4095);
    post(local(top.lkey, ~0ull - 63));
    ring();
    EXPECT_EQ(reports(bad_cq, 1, bad->qpn).at(0).status, WcStatus::kSuccess);
    expect_refused(local(top.lkey, ~0ull - 62), WcStatus::kLocProtErr, Vendor::kBounds);
    expect_refused(local(top.lkey, ~0ull, 4096), WcStatus::kLocProtErr, Vendor::kBounds);
    // One that goes round itself: no message does.
    const uint64_t bus = pcie::kGpuBase + mr.offset;
    const auto round = odd_region(~0ull - 4095, bus, 8192);
    expect_refused(local(round.lkey, ~0ull - 62), WcStatus::kLocProtErr, Vendor::kBounds);
    expect_refused(local(round.lkey, 0), WcStatus::kLocProtErr, Vendor::kBounds);
    const auto all = odd_region(0, bus, ~0ull);
    expect_refused(local(all.lkey, ~0ull - 62), WcStatus::kLocProtErr, Vendor::kBounds);
    const auto none = ctx().reg_mr(kPd, host::Space::kGpu, mr.offset, 0, kVa);
    expect_refused(local(none.lkey, kVa, 1), WcStatus::kLocProtErr, Vendor::kBounds);
  });
}

// A region of another protection domain.
TEST_F(BadInputTest, OtherDomainIsRefused) {
  scenario([&] {
    for (uint32_t pd : {0u, 2u, kOtherPd, 0x800001u, 0x10001u}) {
      SCOPED_TRACE(pd);
      const auto other = ctx().reg_mr(pd, host::Space::kGpu, mr.offset, 4096, kVa);
      expect_refused(local(other.lkey, other.addr), WcStatus::kLocProtErr, Vendor::kPd);
    }
  });
}

// A path MTU code that there is not.
TEST_F(BadInputTest, BadMtuIsRefused) {
  scenario([&] {
    for (uint32_t mtu : {0u, 6u, 7u}) {
      SCOPED_TRACE(mtu);
      ctx().modify_qp_rts(bad, path);
      patch_context(bad->qpn, 0, 0x700, mtu << 8);
      expect_refused(golden::encode_wqe(good_wqe()), WcStatus::kLocQpOpErr, Vendor::kLength);
    }
  });
}

// ---- Failing DMA
// --------------------------------------------------------------------------------------------------------------

// A payload read that ends in UR: error completion with the DMA status, no frame, QP in error, and CmdQpModify heals
// it.
TEST_F(BadInputTest, FailedPayloadReadIsReported) {
  scenario([&] {
    const auto hole = odd_region(kVa, kNowhere, 1 << 20);
    for (uint64_t length : {1u, 64u, 1024u, 1025u, 20'000u}) {
      SCOPED_TRACE(fmt::format("{} B", length));
      const uint64_t logged = log_count(), completions = counter("cpl_ur");
      const size_t frames = frames_of(bad->qpn);
      const uint16_t first = bad->pi;
      post(local(hole.lkey, hole.addr, length));
      post(golden::encode_wqe(good_wqe()));
      ring();
      const Report failed{first, WcStatus::kLocQpOpErr, pkg::VenDma + unsigned{pkg::DmaUr}};
      const Report next{static_cast<uint16_t>(first + 1), WcStatus::kWrFlushErr, 0};
      EXPECT_EQ(reports(bad_cq, 2, bad->qpn), (std::vector<Report>{failed, next}));
      post(golden::encode_wqe(good_wqe()));
      ring();
      const Report later{static_cast<uint16_t>(first + 2), WcStatus::kWrFlushErr, 0};
      EXPECT_EQ(reports(bad_cq, 1, bad->qpn), std::vector<Report>{later});
      std::vector<LogEntry> log;
      for (const auto& r : {failed, next, later}) {
        log.push_back({pkg::EvtWqeError, bad->qpn, r.wqe, syndrome_of(r.status), r.vendor});
      }
      expect_logged(logged, log);
      EXPECT_GT(counter("cpl_ur"), completions);
      EXPECT_EQ(frames_of(bad->qpn), frames);
      expect_recovers();
    }
  });
}

// The same amid a message: its packets up to there have left, none behind it, and it has one completion.
TEST_F(BadInputTest, FailedReadAmidAMessageEndsIt) {
  scenario([&] {
    for (uint64_t good_bytes : {1024u, 3072u, 3584u, 12 * 1024u}) {
      SCOPED_TRACE(fmt::format("{} good bytes", good_bytes));
      system().node().hub->gpu_pages().pin(pcie::kGpuSize - good_bytes, good_bytes, {});
      const auto edge = odd_region(kVa, pcie::kGpuBase + pcie::kGpuSize - good_bytes, 1 << 20);
      ctx().modify_qp_rts(bad, path);
      const size_t frames = frames_of(bad->qpn);
      const uint16_t first = bad->pi;
      post(local(edge.lkey, edge.addr, 40'000));
      post(golden::encode_wqe(good_wqe()));
      ring();
      EXPECT_EQ(reports(bad_cq, 2, bad->qpn),
                (std::vector<Report>{{first, WcStatus::kLocQpOpErr, pkg::VenDma + unsigned{pkg::DmaUr}},
                                     {static_cast<uint16_t>(first + 1), WcStatus::kWrFlushErr, 0}}));
      ExpectedFrames want(path, host::QpType::kUc, bad->qpn, kSeed);
      host::SendWr wr = write(edge, 40'000);
      want.add(edge, wr);
      std::vector<golden::Bytes> sent;
      for (const auto& f : recorder.frames) {
        if (f.op.qpn == bad->qpn) sent.push_back(f.bytes);
      }
      ASSERT_EQ(sent.size(), frames + good_bytes / path.mtu);
      for (size_t i = frames; i < sent.size(); ++i)
        EXPECT_EQ(sent[i], want.frames[i - frames]) << "frame " << i - frames;
      expect_recovers();
    }
  });
}

// ---- Completion queues
// ----------------------------------------------------------------------------------------------------------

// A CQ of two entries that nobody polls: the frames leave, the CQEs are counted as lost, the log has it once.
TEST_F(BadInputTest, OverrunCqLosesOnlyItsOwnCqes) {
  scenario([&] {
    auto* small = ctx().create_cq(1);
    bad->cq = small;
    ctx().modify_qp_rts(bad, path);
    const uint64_t logged = log_count(), overruns = counter("cq_overrun");
    const size_t frames = frames_of(bad->qpn);
    const uint16_t first = bad->pi;
    for (unsigned i = 0; i < 6; ++i) post(golden::encode_wqe(good_wqe()));
    ring();
    sc_core::wait(Time(20, sc_core::SC_US));
    EXPECT_EQ(frames_of(bad->qpn), frames + 6);
    EXPECT_EQ(counter("cq_overrun"), overruns + 4);
    expect_logged(logged, {{pkg::EvtCqOverrun, small->cqn, static_cast<uint16_t>(first + 2), 0, 0}});
    EXPECT_EQ(ctx().read(2, bar2::kHealth, 4), static_cast<uint64_t>(regs::HealthState::kFatal));
    EXPECT_EQ(ctx().read(2, bar2::kFatalIndex, 4), small->cqn);
    EXPECT_EQ(reports(small, 2, bad->qpn),
              (std::vector<Report>{{first, WcStatus::kSuccess, 0},
                                   {static_cast<uint16_t>(first + 1), WcStatus::kSuccess, 0}}));
    // Room alone does not bring it back; CmdCqModify does, from the index in the context.
    post(golden::encode_wqe(good_wqe()));
    ring();
    EXPECT_TRUE(reports(small, 0, bad->qpn).empty());
    EXPECT_EQ(counter("cq_overrun"), overruns + 5);
    ctx().write32(1, pkg::CqcBase + uint64_t{small->cqn} * 64 + 16, small->ci);
    ctx().write32(1, kCmd, small->cqn << 8 | pkg::CmdCqModify);
    expect_recovers();
    bad->cq = bad_cq;
    expect_recovers();
  });
}

// A context that names a CQ never set up, or one beyond the table: the frame leaves, the CQE is lost and logged.
TEST_F(BadInputTest, InvalidCqIsLogged) {
  scenario([&] {
    for (uint32_t cqn : {500u, 1023u, 1024u + bad_cq->cqn, 0x800000u + bad_cq->cqn}) {
      SCOPED_TRACE(cqn);
      ctx().modify_qp_rts(bad, path);
      patch_context(bad->qpn, 1, 0xffffff, cqn);
      const uint64_t logged = log_count();
      const size_t frames = frames_of(bad->qpn);
      const uint16_t first = bad->pi;
      post(golden::encode_wqe(good_wqe()));
      ring();
      EXPECT_TRUE(reports(bad_cq, 0, bad->qpn).empty());
      EXPECT_EQ(frames_of(bad->qpn), frames + 1);
      expect_logged(logged, {{pkg::EvtCqInvalid, cqn, first, 0, 0}});
    }
    expect_recovers();
  });
}

// ---- Log
// ------------------------------------------------------------------------------------------------------------------------

// Completions with errors and doorbells that cannot be served come thick and fast: each has its entry in the log.
TEST_F(BadInputTest, EventsInABurstAreAllLogged) {
  scenario([&] {
    const uint64_t logged = log_count(), invalid = counter("db_invalid"), errors = counter("req_cqe_error");
    auto* cq = ctx().create_cq(10);
    std::vector<host::Qp*> qps;
    for (unsigned i = 0; i < 16; ++i) {
      qps.push_back(ctx().create_qp(cq, {}, 200 + i));
      ctx().modify_qp_rts(qps.back(), path);
      ctx().modify_qp_err(qps.back());
      golden::Wqe w = good_wqe();
      w.qpn = qps.back()->qpn;
      for (w.index = 0; w.index < 60; ++w.index) ctx().write_raw_wqe(qps.back(), golden::encode_wqe(w));
    }
    std::mt19937_64 rng(kSeed);
    uint32_t nobody = 300;  // a QP each: doorbells of one QP may become one
    for (auto* qp : qps) {
      ctx().ring_doorbell(qp->qpn, qp->pi);
      for (unsigned i = 0; i < 8; ++i) {
        ctx().ring_doorbell(nobody++, 1);
        sc_core::wait(from_ps(rng() % 20'000));
      }
    }
    sc_core::wait(Time(100, sc_core::SC_US));
    EXPECT_EQ(counter("req_cqe_error"), errors + 16 * 60);
    EXPECT_EQ(counter("db_invalid"), invalid + 128);
    EXPECT_EQ(log_count(), logged + 16 * 60 + 128);
  });
}

// Both so thick that completions and doorbells report in one and the same cycle, again and again: no entry is lost. The
// contexts are on chip beforehand, or each doorbell would hold up what is behind it.
TEST_F(BadInputTest, EventsInOneCycleAreAllLogged) {
  const auto body = [&] {
    static constexpr unsigned kQps = 16, kEach = 60, kNobody = 100, kRounds = 6;
    auto* cq = ctx().create_cq(10);
    std::vector<host::Qp*> qps;
    for (unsigned i = 0; i < kQps; ++i) {
      qps.push_back(ctx().create_qp(cq, {}, 200 + i));
      ctx().modify_qp_rts(qps.back(), path);
      ctx().modify_qp_err(qps.back());
      golden::Wqe w = good_wqe();
      w.qpn = qps.back()->qpn;
      for (w.index = 0; w.index < kEach; ++w.index) ctx().write_raw_wqe(qps.back(), golden::encode_wqe(w));
    }
    for (unsigned i = 0; i < kNobody; ++i) ctx().ring_doorbell(300 + i, 1);
    sc_core::wait(Time(100, sc_core::SC_US));
    const uint64_t logged = log_count(), invalid = counter("db_invalid"), errors = counter("req_cqe_error");
    std::mt19937_64 rng(kSeed);
    for (unsigned n = 0; n < kRounds * kNobody; ++n) {
      if (n % 20 == 0 && n / 20 < kQps) ctx().ring_doorbell(qps[n / 20]->qpn, qps[n / 20]->pi);
      ctx().ring_doorbell(300 + n % kNobody, 2 + n / kNobody);
      sc_core::wait(from_ps(rng() % 20'000));
    }
    sc_core::wait(Time(100, sc_core::SC_US));
    EXPECT_EQ(counter("req_cqe_error"), errors + kQps * kEach);
    EXPECT_EQ(counter("db_invalid"), invalid + kRounds * kNobody);
    EXPECT_EQ(log_count(), logged + kQps * kEach + kRounds * kNobody);
  };
  scenario(body, false);
}

// A context that names a MAC port that is not built: its frames leave by port 0.
TEST_F(BadInputTest, PortThatIsNotBuiltIsPortZero) {
  scenario([&] {
    for (uint32_t port : {1u, 5u, 7u}) {
      ctx().modify_qp_rts(bad, path);
      patch_context(bad->qpn, 0, 7u << 20, port << 20);
      const size_t frames = frames_of(bad->qpn);
      const uint16_t index = bad->pi;
      post(golden::encode_wqe(good_wqe()));
      ring();
      EXPECT_EQ(reports(bad_cq, 1, bad->qpn), (std::vector<Report>{{index, WcStatus::kSuccess, 0}}));
      EXPECT_EQ(frames_of(bad->qpn), frames + 1);
    }
  });
}

// ---- MMIO
// -----------------------------------------------------------------------------------------------------------------------

/// The table "What is taken" of docs/models/bar_decoder.md, for a write of zeros.
bool write_taken(unsigned bar, uint64_t offset, unsigned len) {
  const bool whole = offset % 4 == 0 && len % 4 == 0;
  if (bar == 0) {
    const uint64_t reg = offset % 0x100;
    if (reg >= 0x80) return whole && reg % 64 == 0 && len == 64;
    return whole && reg < 0x20 && reg % 8 == 0 && (len == 4 || len == 8);
  }
  if (bar == 2) return (offset % 4 + len + 3) / 4 <= 2;
  return offset / 4096 != kCmd / 4096 || (offset == kCmd && len == 4);
}

bool read_taken(unsigned bar, uint64_t offset, unsigned len) { return bar == 1 || (offset % 4 + len + 3) / 4 <= 16; }

// Writes of every size and alignment: the refused ones are counted, one by one, and have no effect.
TEST_F(BadInputTest, WritesOfAnyShapeAreSafe) {
  scenario([&] {
    const std::vector<uint8_t> zeros(64);
    const uint64_t refused = counter("mmio_unsupported");
    uint64_t want = 0;
    const auto go = [&](unsigned bar, uint64_t offset, unsigned len) {
      system().node().hub->mmio_write(pcie::Initiator::kCpu, ctx().bar(bar) + offset, zeros.data(), len);
      want += !write_taken(bar, offset, len);
      sc_core::wait(Time(20, sc_core::SC_NS));
    };
    for (uint64_t reg = 0; reg < 0x100; ++reg) {
      for (unsigned len : {1u, 2u, 3u, 4u, 5u, 8u, 12u, 32u, 63u, 64u}) go(0, 900 * 0x100 + reg, len);
    }
    for (uint64_t at = 0; at < 16; ++at) {
      for (unsigned len = 1; len <= 64; ++len) go(2, 0x1'0000 + at, len);
      for (unsigned len = 1; len <= 64; ++len) go(2, 0x4'0000 + at, len);        // a hole
      for (unsigned len = 1; len <= 64; ++len) go(1, 0x0f00'0000 + at, len);     // memory nobody uses
      for (unsigned len : {1u, 2u, 3u, 5u, 8u, 64u}) go(1, kCmd + 4 + at, len);  // beside the command register
    }
    for (uint64_t value : {uint64_t{0xffffff00}, 0x00040000 | pkg::CmdQpModify, 0x00040000 | pkg::CmdQp2Err,
                           0x00040000 | pkg::CmdCqModify, 0x01000000 | pkg::CmdMkeyModify, 0x00040000 | pkg::CmdQpQuery,
                           0x00040000 | pkg::CmdCqQuery, 0x00040000 | pkg::CmdQpCreate, uint64_t{7}}) {
      ctx().write32(1, kCmd, static_cast<uint32_t>(value));  // index out of range, unknown operation
      ++want;
    }
    EXPECT_EQ(counter("mmio_unsupported") - refused, want);
    EXPECT_GT(want, 1000u);
    expect_recovers();
  });
}

// Reads of 1..64 B everywhere are answered: with data, or with UR and a count.
TEST_F(BadInputTest, ReadsOfAnyShapeAreAnswered) {
  scenario([&] {
    const uint64_t refused = counter("mmio_unsupported");
    unsigned asked = 0, answered = 0, wrong = 0;
    uint64_t want = 0;
    const auto go = [&](uint64_t addr, unsigned len, bool taken) {
      ++asked;
      want += !taken;
      system().node().hub->mmio_read(pcie::Initiator::kCpu, addr, len, [&, len, taken](std::vector<uint8_t> d) {
        ++answered;
        wrong += d.size() != (taken ? len : 0);
      });
      sc_core::wait(Time(20, sc_core::SC_NS));
    };
    const std::array<std::vector<uint64_t>, 3> places = {{{0, 0x80, 0x3'ff00},
                                                          {0, 0x4'0000, 0x40'0000, kCmd, kCmd + 0xf00, 0x0fff'ff00},
                                                          {0, 0x100, 0x1000, 0x8000, 0x8200, 0x1'0000, 0x3f'ff00}}};
    for (unsigned bar = 0; bar < 3; ++bar) {
      for (uint64_t place : places[bar]) {
        for (unsigned len = 1; len <= 64; ++len) {
          for (uint64_t skew = 0; skew < 4; ++skew) {
            go(ctx().bar(bar) + place + skew, len, read_taken(bar, place + skew, len));
          }
        }
      }
    }
    const uint64_t lowest = std::min({ctx().bar(0), ctx().bar(1), ctx().bar(2)});
    for (uint64_t addr : {lowest - 4096, uint64_t{0}, kNowhere, ctx().bar(2) + (4 << 20), ~uint64_t{0} - 4095}) {
      for (unsigned len : {1u, 4u, 33u, 64u}) go(addr, len, false);
    }
    for (unsigned i = 0; i < 100 && answered < asked; ++i) sc_core::wait(Time(1, sc_core::SC_US));
    EXPECT_EQ(answered, asked);
    EXPECT_EQ(wrong, 0u);
    EXPECT_EQ(counter("mmio_unsupported") - refused, want);
  });
}

// Writes to addresses of no BAR are dropped and counted, with the address in the log.
TEST_F(BadInputTest, WritesOutsideTheBarsAreCounted) {
  scenario([&] {
    const std::array<uint8_t, 64> ones{{0xff}};
    const uint64_t refused = counter("mmio_unsupported");
    unsigned n = 0;
    for (uint64_t addr : {ctx().bar(0) - 64, ctx().bar(2) + (4 << 20), kNowhere, uint64_t{0}, ~uint64_t{0} - 63}) {
      for (unsigned len : {4u, 64u}) {
        const uint64_t logged = log_count();
        system().node().hub->mmio_write(pcie::Initiator::kCpu, addr, ones.data(), len);
        sc_core::wait(kSettle);
        ++n;
        expect_logged(logged, {{unsigned(regs::EventKind::kMmio), 0, 0, 0, log_entry(logged).vendor}});
        EXPECT_EQ(ctx().read(2, bar2::kErrorLogAddress + logged % 16 * 32, 8), addr);
      }
    }
    EXPECT_EQ(counter("mmio_unsupported"), refused + n);
  });
}

// BlueFlame in pieces of a wrong size or place is refused, and the WQE is not sent; the ring's copy is, by doorbell.
TEST_F(BadInputTest, BlueFlameOfWrongShapeIsRefused) {
  scenario([&] {
    const uint64_t refused = counter("mmio_unsupported");
    const size_t frames = frames_of(bad->qpn);
    const auto block = golden::encode_wqe(good_wqe());
    const uint16_t first = bad->pi;
    uint64_t n = 0;
    for (unsigned len : {4u, 8u, 16u, 32u, 60u, 63u}) {
      for (uint64_t at : {0x80u, 0xc0u}) {
        system().node().hub->mmio_write(pcie::Initiator::kCpu, ctx().bar(0) + bad->qpn * 0x100 + at, block.data(), len);
        ++n;
      }
    }
    system().node().hub->mmio_write(pcie::Initiator::kCpu, ctx().bar(0) + bad->qpn * 0x100 + 0x84, block.data(), 64),
        ++n;
    system().node().hub->mmio_write(pcie::Initiator::kCpu, ctx().bar(0) + bad->qpn * 0x100 + 0x60, block.data(), 64),
        ++n;
    sc_core::wait(kSettle);
    EXPECT_EQ(counter("mmio_unsupported"), refused + n);
    EXPECT_EQ(frames_of(bad->qpn), frames);
    post(block);
    ring();
    EXPECT_EQ(reports(bad_cq, 1, bad->qpn), (std::vector<Report>{{first, WcStatus::kSuccess, 0}}));
  });
}

// A pushed WQE is checked like a fetched one: size 0 is no push at all, a foreign index moves the producer index there.
TEST_F(BadInputTest, BlueFlamePushIsChecked) {
  scenario([&] {
    const auto push = [&](const std::vector<uint8_t>& b) {
      system().node().hub->mmio_write(pcie::Initiator::kCpu, ctx().bar(0) + bad->qpn * 0x100 + 0x80, b.data(), 64);
    };
    auto b = golden::encode_wqe(good_wqe());
    b[7] = 0;
    push(b);
    EXPECT_TRUE(reports(bad_cq, 0, bad->qpn).empty());
    auto w = good_wqe();
    w.sges[0].lkey ^= 1;
    uint16_t first = bad->pi++;
    push(golden::encode_wqe(w));
    EXPECT_EQ(reports(bad_cq, 1, bad->qpn), (std::vector<Report>{{first, WcStatus::kLocProtErr, pkg::VenKey}}));
    expect_recovers();
    w = good_wqe();
    w.qpn ^= 0x800;
    first = bad->pi++;
    push(golden::encode_wqe(w));
    EXPECT_EQ(reports(bad_cq, 1, bad->qpn), (std::vector<Report>{{first, WcStatus::kLocQpOpErr, pkg::VenWqeQpn}}));
    expect_recovers();
    w = good_wqe();
    w.index = static_cast<uint16_t>(w.index + 500);
    first = bad->pi;
    push(golden::encode_wqe(w));
    EXPECT_EQ(reports(bad_cq, 1, bad->qpn), (std::vector<Report>{{first, WcStatus::kLocQpOpErr, pkg::VenWqeSize}}));
    bad->pi = static_cast<uint16_t>(w.index + 1);
    expect_recovers();
  });
}

// ---- Bus mastering
// ------------------------------------------------------------------------------------------------------------

// With bus mastering off the NIC sends no memory request, hangs nowhere, and works again when it is on.
TEST_F(BadInputTest, WithoutBusMasteringNoRequestLeaves) {
  scenario(
      [&] {
        sc_core::wait(kSettle);
        auto& cfg = system().node().nic->config();
        cfg.write(4, 2, 0x0002);
        const uint64_t off = to_ps(sc_core::sc_time_stamp());
        for (unsigned i = 0; i < 5; ++i) post(golden::encode_wqe(good_wqe(i * 3000)));
        ring();
        sc_core::wait(Time(50, sc_core::SC_US));
        EXPECT_TRUE(system().node().nic->idle());
        for (const auto& t : recorder.tlps) {
          EXPECT_FALSE(t.from_nic && t.ps > off && !t.tlp.is_completion()) << t.tlp.describe();
        }
        EXPECT_EQ(counter("db_rx"), 1u);
        cfg.write(4, 2, 0x0006);
        bad->cq = ctx().create_cq(5);  // the old one's entries were lost
        expect_recovers();
      },
      false);
}

// Switched off amid traffic: everything comes to rest.
TEST_F(BadInputTest, BusMasteringGoesOffAmidTraffic) {
  scenario(
      [&] {
        auto& cfg = system().node().nic->config();
        for (unsigned i = 0; i < 20; ++i) {
          SCOPED_TRACE(i);
          bad->cq = ctx().create_cq(5);
          ctx().modify_qp_rts(bad, path);
          for (unsigned k = 0; k < 4; ++k) post(golden::encode_wqe(good_wqe(20'000)));
          ring();
          sc_core::wait(from_ps(600'000 + i * 37'700));
          cfg.write(4, 2, 0x0002);
          sc_core::wait(Time(50, sc_core::SC_US));
          EXPECT_TRUE(system().node().nic->idle());
          cfg.write(4, 2, 0x0006);
        }
        bad->cq = ctx().create_cq(5);
        expect_recovers();
      },
      false);
}

// ---- Anything
// -------------------------------------------------------------------------------------------------------------------

/// Owns some QPs, CQs and keys, and does to them whatever it can think of.
class Hostile {
 public:
  Hostile(System& system, host::Context& ctx, const host::Mr& target, uint64_t seed)
      : system_(system), ctx_(ctx), target_(target), rng_(seed) {
    // 261 and 262 share the flows' context cache slots, 69 and 70 their BlueFlame entries.
    for (uint32_t qpn : {261u, 262u, 69u, 70u, 101u, 1023u}) {
      cqs_.push_back(ctx.create_cq(static_cast<unsigned>(1 + rng_() % 5)));
      host::QpInit init;
      init.log_sq_size = static_cast<unsigned>(1 + rng_() % 6);
      init.pd = 1;
      qps_.push_back(ctx.create_qp(cqs_.back(), init, qpn));
      ctx.modify_qp_rts(qps_.back(), some_path());
      keys_.push_back(ctx.reg_mr(1, host::Space::kGpu, target.offset, target.length, target.addr));
    }
  }

  static constexpr unsigned kActions = 14;
  std::array<unsigned, kActions> done{};

  void act() {
    const unsigned what = static_cast<unsigned>(rng_() % kActions);
    ++done[what];
    auto* qp = qps_[rng_() % qps_.size()];
    switch (what) {
      case 0:  // a WQE with a fault, in good company
      case 1:
        for (unsigned i = 0, n = 1 + rng_() % 4; i < n; ++i) ctx_.write_raw_wqe(qp, wqe(*qp));
        ctx_.ring_doorbell(qp->qpn, qp->pi);
        break;
      case 2:  // noise for a WQE
        ctx_.write_raw_wqe(qp, noise(64));
        ctx_.ring_doorbell(qp->qpn, qp->pi);
        break;
      case 3:
        ctx_.ring_doorbell(qp->qpn, static_cast<uint32_t>(rng_()));
        break;
      case 4:  // doorbells in a burst
        for (unsigned i = 0; i < 10; ++i)
          ctx_.ring_doorbell(qps_[rng_() % qps_.size()]->qpn, qp->pi + unsigned(rng_() % 3));
        break;
      case 5:  // BlueFlame, good pieces or noise, in any order
        for (unsigned i = 0, n = 1 + rng_() % 3; i < n; ++i) {
          auto b = rng_() % 2 ? wqe(*qp) : noise(64);
          if (rng_() % 2) b[7] = static_cast<uint8_t>(rng_() % 10);
          store(ctx_.bar(0) + qp->qpn * 0x100 + (rng_() % 2 ? 0x80 : 0xc0), b);
        }
        break;
      case 6:  // any store to its own pages
        store(ctx_.bar(0) + qp->qpn * 0x100 + rng_() % 0xc0, noise(1 + rng_() % 64));
        break;
      case 7:  // outside the BARs, or a register of BAR2
        store(rng_() % 2 ? ctx_.bar(2) + 0x1'0000 + rng_() % 0x700 : 0x4000'0000 + rng_() % 0x3'0000 / 64 * 64,
              noise(1 + rng_() % 32));
        break;
      case 8:  // commands, also senseless ones and amid traffic
        switch (rng_() % 8) {
          case 0:
            command(pkg::CmdQpModify, qp->qpn);
            break;
          case 4:
            command(pkg::CmdQpCreate, qp->qpn);
            break;
          case 5:
            command(pkg::CmdQpQuery, qp->qpn);
            break;
          case 6:
            command(pkg::CmdCqQuery, qp->cq->cqn);
            break;
          case 1:
            command(pkg::CmdQp2Err, qp->qpn);
            break;
          case 2:
            command(pkg::CmdCqModify, qp->cq->cqn);
            break;
          case 3:
            command(pkg::CmdMkeyModify, keys_[rng_() % keys_.size()].lkey >> 8);
            break;
          default:
            command(4 + rng_() % 4, static_cast<uint32_t>(rng_() & 0xffffff) | 0x400);
            break;
        }
        break;
      case 9:
        context(*qp);
        break;
      case 10:
        region(keys_[rng_() % keys_.size()]);
        break;
      case 11:
        queue(*qp->cq);
        break;
      case 12:  // back to something sane
        ctx_.modify_qp_rts(qp, some_path());
        restore(keys_[rng_() % keys_.size()]);
        break;
      default:
        for (auto* cq : cqs_) {
          if (ctx_.poll_cq(cq)) ++completions;
        }
        break;
    }
    if (rng_() % 3 == 0) sc_core::wait(from_ps(rng_() % 3'000'000));
  }
  unsigned completions = 0;

  /// Ends what it has begun: a long message may still be on its way.
  void quiesce() {
    for (auto* qp : qps_) command(pkg::CmdQp2Err, qp->qpn);  // refused where its state is Reset
  }

 private:
  std::vector<uint8_t> noise(size_t n) {
    std::vector<uint8_t> b(n);
    for (auto& x : b) x = static_cast<uint8_t>(rng_());
    return b;
  }
  host::QpPath some_path() {
    host::QpPath p;
    p.dest_qpn = 0xbad;
    p.mtu = 256u << rng_() % 5;
    return p;
  }
  std::vector<uint8_t> wqe(const host::Qp& qp) {
    static constexpr uint64_t kLengths[] = {0, 1, 64, 4096, 20'000, 1 << 20, uint64_t{1} << 31};
    golden::Wqe w;
    w.opcode = static_cast<golden::WqeOpcode>(0x08 + rng_() % 4);
    w.index = qp.pi;
    w.qpn = qp.qpn;
    w.signaled = rng_() % 4 != 0;
    const uint64_t length = kLengths[rng_() % 7];
    if (length != 0) {
      w.sges = {{keys_[rng_() % keys_.size()].lkey, target_.addr + rng_() % target_.length, length}};
    }
    auto b = golden::encode_wqe(w);
    if (rng_() % 2) b[rng_() % 48] ^= static_cast<uint8_t>(1u << rng_() % 8);
    return b;
  }
  void store(uint64_t addr, const std::vector<uint8_t>& b) {
    const size_t room = 4096 - addr % 4096;
    system_.node().hub->mmio_write(rng_() % 4 ? pcie::Initiator::kCpu : pcie::Initiator::kGpu, addr, b.data(),
                                   static_cast<unsigned>(std::min(room, b.size())));
  }
  void table(uint64_t offset, const std::vector<uint8_t>& b) {
    for (size_t at = 0; at < b.size(); at += 64) {
      system_.node().hub->mmio_write(pcie::Initiator::kCpu, ctx_.bar(1) + offset + at, b.data() + at,
                                     static_cast<unsigned>(std::min<size_t>(64, b.size() - at)));
    }
  }
  template <class Words>
  static std::vector<uint8_t> raw(const Words& w) {
    const auto* p = reinterpret_cast<const uint8_t*>(w.data());
    return {p, p + w.size() * 4};
  }
  void command(unsigned op, uint32_t index) { ctx_.write32(1, kCmd, index << 8 | op); }

  /// Any context, but with CQs that are its own or nobody's.
  void context(const host::Qp& qp) {
    auto b = noise(128);
    b[0] = static_cast<uint8_t>(rng_() % 3 ? pkg::QpStRts | (rng_() % 4) << 4 : rng_());
    b[1] = static_cast<uint8_t>(rng_() % 8 | (rng_() % 4 ? 0 : rng_() << 4));
    b[3] = static_cast<uint8_t>(rng_() % 4 ? b[3] & 0xcf : b[3]);
    const uint32_t cqn = rng_() % 4 ? cqs_[rng_() % cqs_.size()]->cqn : 512 + static_cast<uint32_t>(rng_() % 0x10000);
    for (unsigned i = 0; i < 3; ++i) b[4 + i] = static_cast<uint8_t>(cqn >> 8 * i);
    if (rng_() % 2) b[8] = 1, b[9] = b[10] = 0;
    const uint64_t base = rng_() % 2 ? qp.ring : rng_() % 2 ? rng_() & 0x0fff'ffc0 : rng_();
    for (unsigned i = 0; i < 8; ++i) b[24 + i] = static_cast<uint8_t>(base >> 8 * i);
    table(uint64_t{qp.qpn} * 128, b);
    command(rng_() % 2 ? pkg::CmdQpCreate : pkg::CmdQpModify, qp.qpn);
  }
  void region(const host::Mr& mr) {
    auto b = noise(64);
    b[0] |= 1;
    if (rng_() % 2) b[1] = static_cast<uint8_t>(mr.lkey);
    if (rng_() % 2) b[4] = 1, b[5] = b[6] = 0;
    if (rng_() % 2) std::memset(&b[8], 0, 8), std::memset(&b[16], 0xff, 8);
    if (rng_() % 2) b[30] = b[31] = 0;
    table(pkg::MptBase + uint64_t{mr.lkey >> 8} * 64, b);
    command(pkg::CmdMkeyModify, mr.lkey >> 8);
  }
  void restore(const host::Mr& mr) {
    rtl::mpt_t m;
    m.valid = true;
    m.variant = static_cast<uint8_t>(mr.lkey);
    m.pd = mr.pd;
    m.start = mr.addr;
    m.length = mr.length;
    m.iova = pcie::kGpuBase + mr.offset;
    table(pkg::MptBase + uint64_t{mr.lkey >> 8} * 64, raw(m.pack()));
    command(pkg::CmdMkeyModify, mr.lkey >> 8);
  }
  /// Any CQ, in host memory of its own (from 32 GiB on) or nowhere.
  void queue(const host::Cq& cq) {
    rtl::cqc_t c;
    c.valid = rng_() % 8 != 0;
    c.log_size = static_cast<uint8_t>(rng_() % 2 ? cq.log_size : rng_() % 32);
    c.base = rng_() % 2   ? cq.ring
             : rng_() % 2 ? pcie::kHostBase + (uint64_t{32} << 30) + rng_() % 100'000
                          : rng_() | 1ull << 63;
    c.ci = static_cast<uint32_t>(rng_() & 0xffffff);
    // A ring in its own memory must not reach into the flows' memory.
    if (c.base == cq.ring) c.log_size = static_cast<uint8_t>(cq.log_size);
    table(pkg::CqcBase + uint64_t{cq.cqn} * 64, raw(c.pack()));
    command(pkg::CmdCqModify, cq.cqn);
  }

  System& system_;
  host::Context& ctx_;
  const host::Mr target_;
  std::mt19937_64 rng_;
  std::vector<host::Qp*> qps_;
  std::vector<host::Cq*> cqs_;
  std::vector<host::Mr> keys_;
};

class HostileTest : public BadInputTest, public ::testing::WithParamInterface<uint64_t> {
 protected:
  void hostile_run(uint64_t seed, const SystemOptions& options) {
    const auto body = [&] {
      Hostile hostile(system(), ctx(), mr, seed);
      for (unsigned i = 0; i < 400; ++i) hostile.act();
      hostile.quiesce();
      sc_core::wait(Time(20, sc_core::SC_US));
      for (unsigned n : hostile.done) EXPECT_GT(n, 5u);
      EXPECT_GT(counter("req_cqe_error"), 10u);
      EXPECT_GT(log_count(), 50u);
      expect_recovers();
    };
    scenario(body, true, options);
  }
};

// Hundreds of hostile actions on QPs, CQs and keys of their own, beside flows that must not notice.
TEST_P(HostileTest, NobodyElseNotices) {
  const uint64_t seed = test_seed(GetParam());
  SCOPED_TRACE(fmt::format("RNIC_TEST_SEED={}", seed));
  hostile_run(seed, {});
}

// What comes of them, to the picosecond, does not depend on what unreset registers held at power-up.
TEST_P(HostileTest, InitialValuesDoNotShow) {
  const uint64_t seed = test_seed(GetParam());
  SCOPED_TRACE(fmt::format("RNIC_TEST_SEED={}", seed));
  const auto outcome = [&](bool randomize) {
    return isolated([&] {
      SystemOptions options;
      options.randomize = randomize;
      options.seed = seed;
      hostile_run(seed, options);
      return digest(recorder, system(), 0);
    });
  };
  expect_same(outcome(false), outcome(true), "random initial values");
}
INSTANTIATE_TEST_SUITE_P(Seeds, HostileTest, ::testing::Values(1, 2, 3, 4));

}  // namespace
}  // namespace rnic::test
