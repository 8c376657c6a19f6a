// SPDX-License-Identifier: Apache-2.0
// Nobody reads what is not his: random accesses against the reference model, windows that change under traffic,
// regions and memory that go away while they are in use.
#include "system/isolation.h"

#include <gmock/gmock.h>

#include "rnic/core/error.h"

namespace rnic::test {
namespace {

using host::MrInit;
using host::Space;
using host::WcStatus;
using ::testing::HasSubstr;

// 4,000 accesses by 32 QPs while regions, lists of pages, windows and pins change every 250 of them: what the model
// allows arrives byte for byte on the wire, everything else has the right completion, and no read of it reaches the
// pins; memory stays as it is. isolation_long has 100,000.
TEST(IsolationTest, RandomAccessesGoByTheModel) {
  const uint64_t seed = test_seed();
  SCOPED_TRACE(fmt::format("RNIC_TEST_SEED={}", seed));
  System system(Profile::load("seed-400g"), {});
  Isolation isolation(system, seed);
  system.spawn("test", [&] { isolation.go(4000, 32, 250); });
  EXPECT_EQ(system.run(), RunEnd::kDone);
  isolation.check();
  EXPECT_EQ(isolation.accesses(), 4000u);
  for (const char* kind : {"allowed", "key", "domain", "bounds", "absent page", "window", "unpinned", "nowhere"}) {
    const auto it = isolation.kinds().find(kind);
    EXPECT_GE(it == isolation.kinds().end() ? 0 : it->second, 20u) << kind;
  }
}

/// The message of the InputError that body throws.
template <class Body>
std::string refusal(Body body) {
  try {
    body();
  } catch (const InputError& e) {
    return e.what();
  }
  return "nothing was thrown";
}

class RegionsTest : public SystemTest {
 protected:
  static constexpr uint64_t kSeed = 11;
  static constexpr unsigned kDenied = rtl::rnic_pkg::VenDma + unsigned{rtl::rnic_pkg::DmaDenied};

  /// Reads by the NIC of the forbidden bytes of GPU or host memory are faults.
  struct Forbidden {
    Space space;
    uint64_t offset, length;
  };

  System& start(const std::vector<std::string>& sets = {}) {
    auto& system = make({}, sets);
    auto& hub = *system.node().hub;
    hub.gpu_memory().set_background(kSeed);
    hub.host_memory().set_background(kSeed);
    hub.on_nic_read([this](pcie::Hub::Where where, const pcie::Tlp& read) {
      const bool gpu = where == pcie::Hub::Where::kGpu;
      const auto span = pcie::enabled(read);
      const uint64_t at = read.address() + span.first - (gpu ? pcie::kGpuBase : pcie::kHostBase);
      for (const auto& f : forbidden) {
        if ((f.space == Space::kGpu) == gpu && at < f.offset + f.length && f.offset < at + (span.end - span.first)) {
          ADD_FAILURE() << "a read of memory that is not the NIC's any more: " << read.describe();
        }
      }
      return pcie::FaultPlan{};
    });
    return system;
  }
  void go(const std::function<void()>& body) {
    EXPECT_EQ(run(body), RunEnd::kDone);
    EXPECT_EQ(system().node().hub->counters().unpinned_read, 0u);
  }

  host::Qp* ready(host::QpType type = host::QpType::kUc, unsigned mtu = 4096) {
    host::QpInit init;
    init.type = type;
    auto* qp = ctx().create_qp(ctx().create_cq(6), init);
    path.mtu = mtu;
    ctx().modify_qp_rts(qp, path);
    return qp;
  }

  struct Sent {
    WcStatus status;
    unsigned vendor;
    std::vector<uint8_t> bytes;  ///< payload of its frames
  };
  /// Posts, waits, sets the QP up again after an error, and gives what came of it.
  Sent send(host::Qp* qp, const host::SendWr& wr) {
    const size_t before = recorder.frames.size();
    ctx().post_send(qp, wr);
    const auto wc = ctx().wait_cq(qp->cq, Time(1, sc_core::SC_MS));
    if (!wc) {
      ADD_FAILURE() << "no completion";
      return {};
    }
    EXPECT_EQ(wc->wr_id, wr.wr_id);
    sc_core::wait(Time(3, sc_core::SC_US));  // the last bit is on the wire, a failed message's rest is through
    Sent s{wc->status, wc->vendor_err, {}};
    for (size_t i = before; i < recorder.frames.size(); ++i) {
      if (recorder.frames[i].op.qpn != qp->qpn) continue;
      const auto frame = golden::parse_frame(recorder.frames[i].bytes);
      EXPECT_TRUE(frame.problems.empty());
      s.bytes.insert(s.bytes.end(), frame.payload.begin(), frame.payload.end());
    }
    if (wc->status != WcStatus::kSuccess) ctx().modify_qp_rts(qp, path);
    return s;
  }
  Sent send(host::Qp* qp, const host::Mr& mr, uint64_t from, uint64_t length) {
    host::SendWr wr = write(mr, length, ++number_);
    wr.addr += from;
    return send(qp, wr);
  }

  static std::vector<uint8_t> background(uint64_t offset, uint64_t length) {
    std::vector<uint8_t> bytes(length);
    for (uint64_t i = 0; i < length; ++i) bytes[i] = pattern_byte(offset + i, kSeed);
    return bytes;
  }
  /// Of a region over a list of pages.
  static std::vector<uint8_t> background(const MrInit& init, uint64_t from, uint64_t length) {
    std::vector<uint8_t> bytes(length);
    for (uint64_t i = 0; i < length; ++i) {
      const uint64_t place = init.offset + from + i, page = uint64_t{1} << init.log_page;
      bytes[i] = pattern_byte(init.pages.at(place / page) + place % page, kSeed);
    }
    return bytes;
  }
  void expect_sends(host::Qp* qp, const host::Mr& mr, uint64_t from, const std::vector<uint8_t>& bytes) {
    const Sent s = send(qp, mr, from, bytes.size());
    EXPECT_EQ(s.status, WcStatus::kSuccess) << "vendor syndrome " << s.vendor;
    EXPECT_TRUE(s.bytes == bytes) << "other bytes on the wire";
  }
  void expect_refused(host::Qp* qp, const host::Mr& mr, uint64_t from, uint64_t length, unsigned vendor) {
    const Sent s = send(qp, mr, from, length);
    EXPECT_EQ(s.vendor, vendor);
    EXPECT_EQ(s.status, vendor >= rtl::rnic_pkg::VenDma ? WcStatus::kLocQpOpErr : WcStatus::kLocProtErr);
  }

  MrInit plain(Space space, uint64_t length) {
    MrInit init;
    init.space = space;
    init.length = length;
    init.va = kVa;
    init.offset = ctx().alloc(space, length);
    return init;
  }
  MrInit scattered(Space space, uint64_t offset, uint64_t length, unsigned log_page = 12) {
    MrInit init;
    init.space = space;
    init.length = length;
    init.va = kVa + offset;
    init.offset = offset;
    init.log_page = log_page;
    init.pages = ctx().alloc_scattered(space, offset + length, log_page);
    return init;
  }
  golden::Region entry(const host::Mr& mr) {
    namespace mpt = regs::bar1::mpt;
    std::array<uint32_t, 16> w{};
    system().node().nic->device_memory().read(rtl::rnic_pkg::MptBase + uint64_t{mr.lkey >> 8} * 64,
                                              reinterpret_cast<uint8_t*>(w.data()), 64);
    golden::Region r;
    r.valid = mpt::kValid.get(w.data()) != 0;
    r.paged = mpt::kPaged.get(w.data()) != 0;
    r.window_en = mpt::kWindowEn.get(w.data()) != 0;
    r.window = static_cast<unsigned>(mpt::kWindow.get(w.data()));
    r.rights = static_cast<unsigned>(w[0] >> 1 & 0xf);
    return r;
  }

  host::QpPath path;
  std::vector<Forbidden> forbidden;

 private:
  uint64_t number_ = 0;
};

// Scattered pages of any size, in either memory, are one range to whoever sends from it, inline data included.
TEST_F(RegionsTest, ScatteredPagesAreOneRange) {
  start();
  go([&] {
    auto* qp = ready();
    for (const Space space : {Space::kHost, Space::kGpu}) {
      for (unsigned log_page = 12; log_page <= 17; ++log_page) {
        SCOPED_TRACE(fmt::format("{}, pages of 2^{} B", space == Space::kGpu ? "GPU" : "host", log_page));
        const uint64_t page = uint64_t{1} << log_page;
        const MrInit init = scattered(space, 100, 3 * page + 500, log_page);
        const auto mr = ctx().reg_mr(init);
        for (const auto& [from, length] : {std::pair<uint64_t, uint64_t>{0, 1},
                                           {0, 3 * 4096},
                                           {page - 101, 2},
                                           {page - 100, 64},
                                           {2 * page - 150, 4096},
                                           {3 * page + 499, 1},
                                           {page - 3000, 2 * 4096 + 77}}) {
          expect_sends(qp, mr, from, background(init, from, length));
        }
        host::SendWr wr = write(mr, 60, 7);
        wr.addr += 2 * page - 130;
        wr.send_inline = true;
        EXPECT_TRUE(send(qp, wr).bytes == background(init, 2 * page - 130, 60));
        ctx().dereg_mr(mr);
      }
    }
  });
}

// What lies in a hole is refused, what lies beside it is sent; packets before it have left.
TEST_F(RegionsTest, HolesAreRefused) {
  start();
  go([&] {
    auto* qp = ready(host::QpType::kUc, 1024);
    for (const Space space : {Space::kHost, Space::kGpu}) {
      MrInit init = scattered(space, 0, 8 * 4096);
      init.pages[2] = host::kNoPage;
      const auto mr = ctx().reg_mr(init);
      expect_sends(qp, mr, 0, background(init, 0, 2 * 4096));
      expect_sends(qp, mr, 3 * 4096, background(init, 3 * 4096, 5 * 4096));
      for (uint64_t from : {2 * 4096u - 1, 2 * 4096u, 3 * 4096u - 1}) expect_refused(qp, mr, from, 2, kDenied);
      const Sent s = send(qp, mr, 4096 + 100, 6000);
      EXPECT_EQ(s.vendor, kDenied);
      EXPECT_TRUE(s.bytes == background(init, 4096 + 100, 3 * 1024)) << s.bytes.size() << " B left";
      host::SendWr wr = write(mr, 8);
      wr.addr += 2 * 4096;
      wr.send_inline = true;
      EXPECT_THAT(refusal([&] { ctx().post_send(qp, wr); }), HasSubstr("hole"));
    }
    EXPECT_GT(ctx().read(2, regs::bar2::kMttAbsent, 8), 0u);
  });
}

// Zero-based regions begin at 0, and a region may end where the address space does.
TEST_F(RegionsTest, EndsOfTheAddressSpace) {
  start();
  go([&] {
    auto* qp = ready();
    for (const Space space : {Space::kHost, Space::kGpu}) {
      for (bool list : {false, true}) {
        MrInit init = list ? scattered(space, 0, 8192) : plain(space, 8192);
        const auto bytes = list ? background(init, 0, 8192) : background(init.offset, 8192);
        init.access |= host::kZeroBased;
        const auto zero = ctx().reg_mr(init);
        EXPECT_EQ(zero.addr, 0u);
        expect_sends(qp, zero, 0, bytes);
        expect_refused(qp, zero, 8192, 1, rtl::rnic_pkg::VenBounds);
        expect_refused(qp, zero, -1, 1, rtl::rnic_pkg::VenBounds);
        init.access = 0;
        init.va = -uint64_t{8192};
        const auto top = ctx().reg_mr(init);
        expect_sends(qp, top, 0, bytes);
        expect_sends(qp, top, 8191, {bytes.back()});
        expect_refused(qp, top, 8191, 2, rtl::rnic_pkg::VenBounds);
        expect_refused(qp, top, 8192, 1, rtl::rnic_pkg::VenBounds);
        init.va += 1;
        EXPECT_THAT(refusal([&] { ctx().reg_mr(init); }), HasSubstr("beyond the end of the address space"));
      }
    }
  });
}

// Access flags become rights; a READ needs local write access for its response, sending needs none.
TEST_F(RegionsTest, AccessFlagsBecomeRights) {
  start();
  go([&] {
    auto* qp = ready(host::QpType::kRc);
    for (uint32_t access = 0; access < 16; ++access) {
      MrInit init = plain(Space::kHost, 4096);
      init.access = access;
      if ((access & (host::kRemoteWrite | host::kRemoteAtomic)) != 0 && (access & host::kLocalWrite) == 0) {
        EXPECT_THAT(refusal([&] { ctx().reg_mr(init); }), HasSubstr("needs local write access"));
        continue;
      }
      const auto mr = ctx().reg_mr(init);
      unsigned rights = 0;
      if (access & host::kLocalWrite) rights |= golden::kLocalWrite;
      if (access & host::kRemoteRead) rights |= golden::kRemoteRead;
      if (access & host::kRemoteWrite) rights |= golden::kRemoteWrite;
      if (access & host::kRemoteAtomic) rights |= golden::kRemoteAtomic;
      EXPECT_EQ(entry(mr).rights, rights) << access;
      expect_sends(qp, mr, 5, background(init.offset + 5, 100));
      if (access & host::kLocalWrite) continue;
      host::SendWr wr = write(mr, 64, 1000 + access);
      wr.opcode = host::WrOpcode::kRdmaRead;
      EXPECT_EQ(send(qp, wr).vendor, unsigned{rtl::rnic_pkg::VenRights});
    }
  });
}

// GPU regions take windows from 63 down, then lists of pages; what is taken back is used again. All of them send.
TEST_F(RegionsTest, GpuRegionsUseWindowsThenLists) {
  start();
  go([&] {
    auto* qp = ready();
    std::vector<std::pair<host::Mr, MrInit>> all;
    ctx().set_window(5, {0x1000, 4096, ctx().alloc(Space::kGpu, 4096)});
    for (unsigned i = 0; i < 66; ++i) {
      MrInit init = plain(Space::kGpu, 70'000);
      init.offset += i;
      init.length -= i;
      all.emplace_back(ctx().reg_mr(init), init);
      const auto e = entry(all.back().first);
      EXPECT_EQ(e.window_en, i < 63) << i;
      EXPECT_EQ(e.paged, i >= 63) << i;
      EXPECT_EQ(e.window, i >= 63 ? 0 : 63 - i - (63 - i <= 5)) << i;
    }
    for (const auto& [mr, init] : all) {
      expect_sends(qp, mr, 65'500, background(init.offset + 65'500, 300));
      expect_refused(qp, mr, init.length - 10, 11, rtl::rnic_pkg::VenBounds);
    }
    EXPECT_THAT(refusal([&] { ctx().set_window(63, {0, 1, 0}); }), HasSubstr("choose a lower one"));
    EXPECT_THAT(refusal([&] { ctx().close_window(40); }), HasSubstr("not yours"));
    ctx().dereg_mr(all[10].first);
    EXPECT_EQ(ctx().read(2, regs::bar2::kWindowCtrl + 53 * regs::bar2::kWindowStride, 4), 0u) << "it stays open";
    const auto again = ctx().reg_mr(all[64].second);
    EXPECT_EQ(entry(again).window, 53u);
    expect_sends(qp, again, 0, background(all[64].second.offset, 5000));
    EXPECT_GT(system().node().hub->gpu_pages().pins(), 60u);
    for (unsigned i = 0; i < all.size(); ++i) {
      if (i != 10) ctx().dereg_mr(all[i].first);
    }
    ctx().dereg_mr(again);
    ctx().close_window(5);
    EXPECT_EQ(system().node().hub->gpu_pages().pins(), 0u);
    EXPECT_EQ(ctx().read(2, regs::bar2::kWindowCtrl + 5 * regs::bar2::kWindowStride, 4), 0u);
  });
}

// A message of 1 MiB is under way when its region is taken back, or the owner of its memory takes that back: nothing of
// it is read afterwards, the message fails, the next one finds an invalid key, and others send on.
TEST_F(RegionsTest, MemoryGoesAwayUnderTraffic) {
  start();
  enum Kind { kHostPlain, kHostList, kGpuWindow, kGpuScattered, kGpuList, kKinds };
  go([&] {
    auto* qp = ready();
    auto* other = ready();
    const MrInit good_init = plain(Space::kGpu, 1 << 16);
    const auto good = ctx().reg_mr(good_init);
    auto& pages = system().node().hub->gpu_pages();
    constexpr uint64_t kLength = 1 << 20;
    for (unsigned kind = 0; kind < kKinds; ++kind) {
      if (kind == kGpuList) {
        for (unsigned i = 0; i < 62; ++i) ctx().reg_mr(good_init);
        ctx().set_window(0, {0, 65536, good_init.offset});
      }
      for (bool revoke : {false, true}) {
        const Space space = kind <= kHostList ? Space::kHost : Space::kGpu;
        if (revoke && space == Space::kHost) continue;
        for (unsigned delay : {500u, 2'000u, 7'000u}) {
          SCOPED_TRACE(fmt::format("kind {}, {}, after {} ns", kind, revoke ? "revoked" : "taken back", delay));
          const bool list = kind == kHostList || kind == kGpuScattered;
          const MrInit init = list ? scattered(space, 0, kLength) : plain(space, kLength);
          const auto mr = ctx().reg_mr(init);
          ctx().post_send(qp, write(mr, kLength, 1));
          ctx().post_send(other, write(good, 65536, 2));
          sc_core::wait(Time(delay, sc_core::SC_NS));
          if (revoke) {
            pages.revoke(list ? init.pages[7] : init.offset + 300'000, 1);
          } else {
            ctx().dereg_mr(mr);
          }
          for (const uint64_t page : init.pages) forbidden.push_back({space, page, 4096});
          if (!list) forbidden.push_back({space, init.offset, kLength});
          const auto wc = complete(qp->cq, 1).at(0);
          EXPECT_EQ(wc.status, wc.vendor_err == kDenied ? WcStatus::kLocQpOpErr : WcStatus::kLocProtErr);
          EXPECT_TRUE(wc.vendor_err == kDenied || wc.vendor_err == rtl::rnic_pkg::VenKey) << unsigned{wc.vendor_err};
          EXPECT_EQ(complete(other->cq, 1).at(0).status, WcStatus::kSuccess);
          sc_core::wait(Time(3, sc_core::SC_US));
          ctx().modify_qp_rts(qp, path);
          expect_refused(qp, mr, 0, 64, rtl::rnic_pkg::VenKey);
          if (revoke) {
            EXPECT_TRUE(ctx().mr_revoked(mr));
            host::SendWr wr = write(mr, 8);
            wr.send_inline = true;
            EXPECT_THAT(refusal([&] { ctx().post_send(qp, wr); }), HasSubstr("has been freed"));
            ctx().dereg_mr(mr);
          }
          EXPECT_THAT(refusal([&] { ctx().dereg_mr(mr); }), HasSubstr("taken back already"));
          EXPECT_EQ(pages.covers(init.pages.empty() ? init.offset + 65536 : init.pages[7], 1), false);
        }
      }
    }
  });
}

// Reads of slow memories that had been let through have ended when dereg_mr and close_window return: what is written
// there afterwards is not on the wire.
TEST_F(RegionsTest, SlowReadsEndBeforeTheMemoryIsUsedAgain) {
  start({"gpu.read_latency=20000", "host.read_latency=20000"});
  constexpr uint64_t kLength = 16 * 1024;  // its reads are all under way
  go([&] {
    auto* qp = ready();
    for (unsigned kind = 0; kind < 5; ++kind) {
      SCOPED_TRACE(kind);
      const Space space = kind < 2 ? Space::kHost : Space::kGpu;
      const MrInit init = kind % 2 ? scattered(space, 0, kLength) : plain(space, kLength);
      MrInit asked = init;
      if (kind == 4) {
        ctx().set_window(7, {0, kLength, init.offset});
        asked.window = 7;
        asked.offset = 0;
      }
      const auto mr = ctx().reg_mr(asked);
      const auto want = kind % 2 ? background(init, 0, kLength) : background(init.offset, kLength);
      const size_t before = recorder.frames.size();
      ctx().post_send(qp, write(mr, kLength, 1));
      sc_core::wait(Time(4, sc_core::SC_US));
      kind == 4 ? ctx().close_window(7) : ctx().dereg_mr(mr);
      auto& hub = *system().node().hub;
      Memory& memory = space == Space::kHost ? hub.host_memory() : hub.gpu_memory();
      const std::vector<uint8_t> other(kLength, 0xee);
      for (const uint64_t page : init.pages) memory.write(page, other.data(), 4096);
      if (init.pages.empty()) memory.write(init.offset, other.data(), kLength);
      EXPECT_EQ(complete(qp->cq, 1).at(0).status, WcStatus::kSuccess);
      sc_core::wait(Time(50, sc_core::SC_US));
      std::vector<uint8_t> sent;
      for (size_t i = before; i < recorder.frames.size(); ++i) {
        const auto payload = golden::parse_frame(recorder.frames[i].bytes).payload;
        sent.insert(sent.end(), payload.begin(), payload.end());
      }
      EXPECT_TRUE(sent == want) << "bytes written later were sent";
    }
  });
}

// A window swings between two memories, in the documented order, while four QPs send through it and one beside it: each
// message comes whole from one memory or is refused, and what the window does not lead to any more is not read.
TEST_F(RegionsTest, WindowChangesUnderTraffic) {
  start();
  const uint64_t seed = test_seed();
  SCOPED_TRACE(fmt::format("RNIC_TEST_SEED={}", seed));
  std::mt19937_64 rng(seed);
  constexpr uint64_t kSize = 1 << 18, kBase = 0x5500'0000'1234;
  unsigned from[2] = {0, 0}, denied = 0;
  go([&] {
    const uint64_t memory[2] = {ctx().alloc(Space::kGpu, kSize + 65536), ctx().alloc(Space::kGpu, kSize + 65536)};
    ctx().set_window(3, {kBase, kSize, memory[0]});
    MrInit init;
    init.space = Space::kGpu;
    init.offset = kBase;
    init.length = kSize;
    init.va = kVa;
    init.window = 3;
    const auto mr = ctx().reg_mr(init);
    const MrInit beside_init = plain(Space::kGpu, kSize);
    const auto beside = ctx().reg_mr(beside_init);
    std::vector<host::Qp*> qps;
    for (unsigned i = 0; i < 5; ++i) qps.push_back(ready());
    bool stop = false;
    unsigned running = 5;
    for (unsigned i = 0; i < 5; ++i) {
      system().spawn("sender", [&, i] {
        while (!stop) {
          const uint64_t length = 1 + rng() % 4096, at = rng() % (kSize - length);
          const Sent s = send(qps[i], i == 4 ? beside : mr, at, length);
          if (i == 4) {
            EXPECT_TRUE(s.status == WcStatus::kSuccess && s.bytes == background(beside_init.offset + at, length));
          } else if (s.status == WcStatus::kSuccess) {
            const bool second = s.bytes == background(memory[1] + at, length);
            EXPECT_TRUE(second || s.bytes == background(memory[0] + at, length)) << "bytes of neither memory";
            ++from[second];
          } else {
            EXPECT_EQ(s.vendor, kDenied);
            ++denied;
          }
        }
        --running;
      });
    }
    for (unsigned n = 1; n <= 80; ++n) {
      sc_core::wait(Time(static_cast<double>(rng() % 20'000), sc_core::SC_NS));
      forbidden.clear();
      if (n % 10 == 0) {
        ctx().close_window(3);
        forbidden = {{Space::kGpu, memory[0], kSize}, {Space::kGpu, memory[1], kSize}};
        sc_core::wait(Time(5, sc_core::SC_US));
        forbidden.clear();
      }
      ctx().set_window(3, {kBase, kSize, memory[n % 2]});
      forbidden = {{Space::kGpu, memory[(n + 1) % 2], kSize}};
    }
    stop = true;
    while (running != 0) sc_core::wait(Time(1, sc_core::SC_US));
  });
  EXPECT_GT(from[0], 50u);
  EXPECT_GT(from[1], 50u);
  EXPECT_GT(denied, 5u);
}

// Rights and bounds of a window hold whatever the region says, and it sends again after another ctrl.
TEST_F(RegionsTest, WindowRightsAndBounds) {
  start();
  go([&] {
    auto* qp = ready();
    const uint64_t memory = ctx().alloc(Space::kGpu, 65536);
    MrInit init;
    init.space = Space::kGpu;
    init.length = 16384;
    init.va = kVa;
    init.window = 9;
    EXPECT_THAT(refusal([&] { ctx().reg_mr(init); }), HasSubstr("window 9 is not open"));
    ctx().set_window(9, {4096, 8192, memory});
    const auto mr = ctx().reg_mr(init);
    expect_sends(qp, mr, 4096, background(memory, 8192));
    expect_refused(qp, mr, 4095, 1, kDenied);
    expect_refused(qp, mr, 4095, 2, kDenied);
    expect_refused(qp, mr, 12'287, 2, kDenied);
    expect_refused(qp, mr, 12'288, 1, kDenied);
    ctx().set_window(9, {4096, 8192, memory, false, true});
    expect_refused(qp, mr, 4096, 64, kDenied);
    // A list of pages of the window's addresses.
    ctx().set_window(9, {0, 65536, memory});
    init.pages = {8192, host::kNoPage, 0, 4096};
    const auto list = ctx().reg_mr(init);
    expect_sends(qp, list, 0, background(memory + 8192, 4096));
    expect_sends(qp, list, 8192, background(memory, 8192));
    expect_refused(qp, list, 4096, 1, kDenied);
    ctx().close_window(9);
    expect_refused(qp, list, 0, 1, kDenied);
    EXPECT_THAT(refusal([&] { ctx().close_window(9); }), HasSubstr("not open"));
    EXPECT_GE(ctx().read(2, regs::bar2::kGdrWindowDenied, 8), 6u);
  });
}

// The owner's memory behind an open window goes: the window is closed.
TEST_F(RegionsTest, RevokedMemoryClosesItsWindow) {
  start();
  go([&] {
    auto* qp = ready();
    const uint64_t memory = ctx().alloc(Space::kGpu, 1 << 20);
    ctx().set_window(2, {0, 1 << 20, memory});
    MrInit init;
    init.space = Space::kGpu;
    init.length = 1 << 20;
    init.va = kVa;
    init.window = 2;
    const auto mr = ctx().reg_mr(init);
    ctx().post_send(qp, write(mr, 1 << 20, 1));
    sc_core::wait(Time(2, sc_core::SC_US));
    system().node().hub->gpu_pages().revoke(memory + 70'000, 5);
    forbidden = {{Space::kGpu, memory, 1 << 20}};
    EXPECT_EQ(complete(qp->cq, 1).at(0).vendor_err, kDenied);
    EXPECT_FALSE(ctx().window_open(2));
    EXPECT_EQ(system().node().hub->gpu_pages().pins(), 0u);
    sc_core::wait(Time(3, sc_core::SC_US));
    forbidden.clear();
    ctx().set_window(2, {0, 1 << 20, memory});
    ctx().modify_qp_rts(qp, path);
    expect_sends(qp, mr, 99, background(memory + 99, 4000));
  });
}

// After a function-level reset regions of all kinds and windows are there again, those taken back meanwhile are not.
TEST_F(RegionsTest, ResetKeepsRegions) {
  start();
  go([&] {
    auto* qp = ready();
    const MrInit host_init = plain(Space::kHost, 8192), gpu_init = plain(Space::kGpu, 8192);
    const MrInit list_init = scattered(Space::kGpu, 50, 3 * 4096);
    const auto host_mr = ctx().reg_mr(host_init), gpu_mr = ctx().reg_mr(gpu_init), list_mr = ctx().reg_mr(list_init);
    const auto gone = ctx().reg_mr(host_init), freed = ctx().reg_mr(plain(Space::kGpu, 4 * PinnedPages::kPage));
    const uint64_t memory = ctx().alloc(Space::kGpu, 65536);
    ctx().set_window(1, {77, 4096, memory});
    MrInit through;
    through.space = Space::kGpu;
    through.window = 1;
    through.length = 5000;
    through.va = kVa;
    const auto window_mr = ctx().reg_mr(through);
    for (unsigned i = 0; i < 2; ++i) {
      SCOPED_TRACE(i);
      ctx().flr();
      if (i == 0) {
        ctx().dereg_mr(gone);
        system().node().hub->gpu_pages().revoke(freed.offset + 2 * PinnedPages::kPage, 1);  // no page of others
      }
      EXPECT_THROW(ctx().reg_mr(host_init), SimError);
      EXPECT_THROW(ctx().set_window(8, {0, 1, memory}), SimError);
      ctx().recover();
      ctx().modify_qp_rts(qp, path);
      expect_sends(qp, host_mr, 3, background(host_init.offset + 3, 5000));
      expect_sends(qp, gpu_mr, 3, background(gpu_init.offset + 3, 5000));
      expect_sends(qp, list_mr, 0, background(list_init, 0, 3 * 4096));
      expect_sends(qp, window_mr, 77, background(memory, 4096));
      expect_refused(qp, window_mr, 76, 1, kDenied);
      expect_refused(qp, gone, 0, 1, rtl::rnic_pkg::VenKey);
      expect_refused(qp, freed, 0, 1, rtl::rnic_pkg::VenKey);
    }
  });
}

// What cannot be registered is refused in words, and leaves nothing behind.
TEST_F(RegionsTest, BadRequestsAreRefused) {
  start();
  go([&] {
    const auto bad = [&](const char* why, const std::function<void(MrInit&)>& spoil, Space space = Space::kGpu) {
      MrInit init;
      init.space = space;
      init.length = 8192;
      init.va = kVa;
      spoil(init);
      EXPECT_THAT(refusal([&] { ctx().reg_mr(init); }), HasSubstr(why));
    };
    bad("not below 2^24", [](MrInit& i) { i.pd = 1 << 24; });
    bad("are not known", [](MrInit& i) { i.access = 1 << 6; });
    bad("beyond the end of the address space", [](MrInit& i) { i.va = -8191; });
    bad("beyond the end of the address space", [](MrInit& i) { i.length = -kVa + 1; });
    bad("not in GPU memory", [](MrInit& i) { i.offset = pcie::kGpuSize - 8191; });
    bad("not in GPU memory", [](MrInit& i) { i.offset = -4096; });
    bad("not in GPU memory", [](MrInit& i) { i.length = ~uint64_t{0}, i.va = 0; });
    bad(
        "not in host memory", [](MrInit& i) { i.offset = pcie::kHostSize; }, Space::kHost);
    bad(
        "does not lead to host memory", [](MrInit& i) { i.window = 0; }, Space::kHost);
    bad("window 64 is not open", [](MrInit& i) { i.window = 64; });
    bad("pages of 2^11 B", [](MrInit& i) { i.pages = {0, 4096}, i.log_page = 11; });
    bad("pages of 2^31 B", [](MrInit& i) { i.pages = {0, 4096}, i.log_page = 31; });
    bad("no multiple", [](MrInit& i) { i.pages = {0, 4097}; });
    bad("is not in GPU memory", [](MrInit& i) { i.pages = {0, pcie::kGpuSize}; });
    bad("hold no", [](MrInit& i) { i.pages = {0}; });
    bad("hold no", [](MrInit& i) { i.pages = {0, 4096}, i.offset = 1; });
    bad("not in the first page", [](MrInit& i) { i.pages = {0, 4096, 8192}, i.offset = 4096; });
    EXPECT_THAT(refusal([&] { ctx().alloc_scattered(Space::kHost, pcie::kHostSize); }),
                HasSubstr("out of host memory"));
    EXPECT_THAT(refusal([&] { ctx().alloc_scattered(Space::kHost, 1, 31); }), HasSubstr("2^31"));
    EXPECT_THAT(refusal([&] { ctx().set_window(64, {0, 1, 0}); }), HasSubstr("there are 64"));
    EXPECT_THAT(refusal([&] { ctx().set_window(0, {0, 0, 0}); }), HasSubstr("no bytes"));
    EXPECT_THAT(refusal([&] { ctx().set_window(0, {~uint64_t{0}, 2, 0}); }), HasSubstr("beyond the end"));
    EXPECT_THAT(refusal([&] { ctx().set_window(0, {0, 2, pcie::kGpuSize - 1}); }), HasSubstr("outside GPU memory"));
    EXPECT_THAT(refusal([&] { ctx().close_window(64); }), HasSubstr("not yours"));
    auto& pages = system().node().hub->gpu_pages();
    EXPECT_EQ(pages.pins(), 0u);
    // Memory that its owner is just freeing: of a list with such a page nothing stays pinned.
    pages.pin(1 << 20, 1, [&] {
      bad("are being freed", [](MrInit& i) { i.pages = {0, 1 << 20}; });
      bad("are being freed", [](MrInit& i) { i.offset = 1 << 20; });
      EXPECT_THAT(refusal([&] { ctx().set_window(0, {0, 8, 1 << 20}); }), HasSubstr("are being freed"));
    });
    pages.revoke(1 << 20, 1);
    EXPECT_EQ(pages.pins(), 0u);
    EXPECT_FALSE(ctx().window_open(0));
    const auto mr = ctx().reg_mr(plain(Space::kGpu, 4096));
    EXPECT_EQ(mr.lkey >> 8, 1u) << "no key was lost";
  });
}

}  // namespace
}  // namespace rnic::test
