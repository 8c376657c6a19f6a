// SPDX-License-Identifier: Apache-2.0
// Accesses by valid, stale, foreign and forged keys and windows, judged by the reference model of the rules
// (golden/region.h): what must be read, sent and reported of each, and what really was. The model looks at the tables
// as they stand in device memory, whoever has written them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "rnic/golden/region.h"
#include "rnic/regs/regs.h"
#include "system/traffic.h"

namespace rnic::test {

/// What an access must come to.
struct Verdict {
  host::WcStatus status = host::WcStatus::kSuccess;
  unsigned vendor = 0;
  std::string kind;  ///< "allowed", or what refuses it
  struct Span {
    uint64_t addr;
    uint32_t length;
  };
  std::vector<Span> reads;  ///< all that it may read, on the bus
  uint64_t sent_bytes = 0;  ///< payload of the packets that must leave
};

class Isolation : public Observer {
 public:
  static constexpr unsigned kWindows = regs::bar2::kWindowCount;
  static constexpr uint32_t kRawKeys = 96, kFirstRawKey = 20'000;
  static constexpr unsigned kRawWindows = 40;  ///< written register by register; those above are the driver's
  static constexpr uint64_t kArea = 4 << 20;
  static constexpr unsigned kLists = 24, kListEntries = 64;
  static constexpr uint64_t kListsAt = (uint64_t{256} << 20) - kLists * kListEntries * 8;  ///< the end of device memory
  static constexpr uint64_t kNowhere = 0x0000'0000'4000'0000;

  Isolation(System& system, uint64_t seed)
      : system_(system),
        node_(system.node()),
        ctx_(*node_.ctx),
        hub_(*node_.hub),
        seed_(seed),
        rng_(seed),
        windows_(kWindows) {
    hub_.host_memory().set_background(seed + 1);
    hub_.gpu_memory().set_background(seed + 2);
    system.observers().add(this);
    hub_.on_nic_read([this](pcie::Hub::Where where, const pcie::Tlp& read) {
      reached(where, read);
      return pcie::FaultPlan{};
    });
    hub_.on_host_write([this](uint64_t addr, unsigned length) {
      for (const auto* cq : cqs_) {
        const uint64_t into = addr - cq->ring;
        if (into < uint64_t{64} << cq->log_size && into + length <= uint64_t{64} << cq->log_size) return;
      }
      fault(fmt::format("a write of {} B to host memory at {:#x}", length, addr));
    });
    hub_.on_gpu_write([this](uint64_t addr, unsigned length) {
      fault(fmt::format("a write of {} B to GPU memory at {:#x}", length, addr));
    });
  }

  /// From a thread of the simulated world: `accesses` of them, by `qps` QPs at a time, over tables that change every
  /// `every` accesses.
  void go(unsigned accesses, unsigned qps, unsigned every) {
    host_ = ctx_.alloc(host::Space::kHost, 2 * kArea);  // twice: what begins in it may go beyond
    gpu_ = (ctx_.alloc(host::Space::kGpu, 4 * kArea) + PinnedPages::kPage - 1) & ~(PinnedPages::kPage - 1);
    hub_.gpu_pages().pin(gpu_, kArea, {});
    unpinned_ = gpu_ + kArea + 16 * PinnedPages::kPage;
    for (unsigned i = 0; i < qps; ++i) make_qp(i);
    for (unsigned w = 0; w < kRawWindows; ++w) raw_window(w);
    for (unsigned l = 0; l < kLists; ++l) raw_list(l);
    for (uint32_t k = 0; k < kRawKeys; ++k) raw_key(k);
    for (unsigned i = 0; i < 12; ++i) register_some();
    for (auto& qp : qps_) {
      system_.spawn("qp", [this, q = qp.get()] { serve(*q); });
    }
    for (unsigned done = 0; done < accesses && faults_ == 0; done += every) {
      if (done != 0) change();
      look_at_tables();
      left_ = std::min(every, accesses - done);
      running_ = qps;
      ++round_;
      begin_.notify(sc_core::SC_ZERO_TIME);
      while (running_ != 0) sc_core::wait(ended_);
      settle();
    }
    over_ = true;
    ++round_;
    begin_.notify(sc_core::SC_ZERO_TIME);
    for (const auto& [what, n] : kinds_) accesses_ += n;
  }

  /// After the run: nothing is missing, nobody wrote anything.
  void check() {
    EXPECT_EQ(faults_, 0u);
    for (const auto& q : qps_) EXPECT_TRUE(q->frames.empty()) << q->frames.size() << " frames are missing";
    const auto& bars = node_.nic->bars();
    EXPECT_EQ(bars.counter("req_cqe_error"), errors_);
    EXPECT_GE(bars.counter("mtt_absent"), kinds_["absent page"]);
    EXPECT_GE(bars.counter("gdr_window_denied"), kinds_["window"]);
    EXPECT_GE(hub_.counters().unpinned_read, kinds_["unpinned"]);
    expect_background(hub_.host_memory(), host_, 2 * kArea, seed_ + 1);
    expect_background(hub_.gpu_memory(), gpu_, 3 * kArea, seed_ + 2);
  }

  const std::map<std::string, uint64_t>& kinds() const { return kinds_; }
  uint64_t accesses() const { return accesses_; }
  uint64_t reads() const { return reads_; }

  // ---- Observer -----------------------------------------------------------------------------------------------------
  /// At the NIC's pins: a payload read lies wholly in what its access may read.
  void on_tlp(const TlpRecord& t) override {
    if (!t.from_nic || !t.tlp->is_mem_read()) return;
    if (!may_read(*t.tlp)) fault(fmt::format("at the pins, not allowed: {}", t.tlp->describe()));
  }
  void on_frame(const FrameRecord& f) override {
    for (auto& q : qps_) {
      if (q->qp->qpn != f.op.qpn) continue;
      if (q->frames.empty()) return fault(fmt::format("QP {}: a frame that nothing stands for", f.op.qpn));
      if (q->frames.front() != f.bytes) fault(fmt::format("QP {}: a frame with other bytes", f.op.qpn));
      q->frames.pop_front();
      return;
    }
    fault(fmt::format("a frame of QP {}, which has nothing to send", f.op.qpn));
  }

 private:
  struct Sender {
    host::Qp* qp;
    host::Cq* cq;
    host::QpPath path;
    rtl::qpc_t context;
    std::unique_ptr<ExpectedFrames> expected;
    std::deque<golden::Bytes> frames;  ///< that must come
    std::vector<Verdict::Span> allowed;
    uint64_t read_bytes = 0;
    uint64_t number = 0;
    std::string what;
  };

  void fault(const std::string& text) {
    if (faults_++ < 5) ADD_FAILURE() << text;
  }

  // ---- Tables -------------------------------------------------------------------------------------------------------
  uint64_t roll(uint64_t n) { return rng_() % n; }
  bool one_in(unsigned n) { return roll(n) == 0; }

  void write_block(unsigned bar, uint64_t offset, const uint8_t* bytes, unsigned length) {
    hub_.mmio_write(pcie::Initiator::kCpu, ctx_.bar(bar) + offset, bytes, length);
  }
  void write64(unsigned bar, uint64_t offset, uint64_t v) {
    std::array<uint8_t, 8> b;
    for (unsigned i = 0; i < 8; ++i) b[i] = static_cast<uint8_t>(v >> 8 * i);
    write_block(bar, offset, b.data(), 8);
  }
  void command(unsigned op, uint32_t index) { ctx_.write32(1, regs::bar1::kCmd, index << 8 | op); }

  /// Somewhere on the bus: in the memories that can be read most of the time.
  uint64_t some_bus(uint64_t align = 1) {
    const uint64_t at = roll(kArea - 65536) / align * align;
    switch (roll(12)) {
      case 0:
        return pcie::kGpuBase + unpinned_ + at;
      case 1:
        return (kNowhere + at) / align * align;
      case 2:
        return ~uint64_t{0} / align * align - roll(4) * align;
      case 3:
        return pcie::kGpuBase + gpu_ + kArea - roll(2) * 4096;  // where the pinned pages end
      case 4:
      case 5:
      case 6:
      case 7:
        return pcie::kHostBase + host_ / align * align + at;
      default:
        return pcie::kGpuBase + gpu_ + at;
    }
  }
  uint64_t some_size() {
    switch (roll(8)) {
      case 0:
        return 0;
      case 1:
        return ~uint64_t{0} - roll(2);
      case 2:
        return rng_();
      case 3:
        return 1 + roll(64);
      default:
        return 1 + roll(65536);
    }
  }
  uint64_t some_start() {
    switch (roll(6)) {
      case 0:
        return 0;
      case 1:
        return ~uint64_t{0} - roll(65536);
      case 2:
        return rng_();
      default:
        return 0x7f00'0000'0000 + roll(1 << 20);
    }
  }

  void raw_window(unsigned index) {
    golden::Window w;
    w.valid = !one_in(6);
    w.read = !one_in(6);
    w.write = one_in(2);
    w.base = some_start();
    w.size = one_in(2) ? 65536 : some_size();
    w.gpu = some_bus();
    const uint64_t at = uint64_t{index} * regs::bar2::kWindowStride;
    write64(2, regs::bar2::kWindowBase + at, w.base);
    write64(2, regs::bar2::kWindowSize + at, w.size);
    write64(2, regs::bar2::kWindowGpu + at, w.gpu);
    ctx_.write32(2, static_cast<uint32_t>(regs::bar2::kWindowCtrl + at), w.read | w.write << 1 | w.valid << 8);
    windows_[index] = w;
  }

  void raw_list(unsigned list) {
    for (unsigned i = 0; i < kListEntries; ++i) {
      const uint64_t bus = some_bus(4096) & ~uint64_t{4095};
      write64(1, kListsAt + (list * kListEntries + i) * 8, bus | (rng_() & 0xffe) | !one_in(8));
    }
  }

  void raw_key(uint32_t k) {
    namespace mpt = regs::bar1::mpt;
    std::array<uint32_t, 16> words{};
    const uint32_t index = k == 0 ? 65535 : kFirstRawKey + k;
    mpt::kValid.put(words.data(), !one_in(10));
    mpt::kLocalWrite.put(words.data(), one_in(2));
    mpt::kRemoteRead.put(words.data(), one_in(2));
    mpt::kRemoteWrite.put(words.data(), one_in(2));
    mpt::kRemoteAtomic.put(words.data(), one_in(2));
    mpt::kRelaxed.put(words.data(), one_in(4));
    mpt::kVariant.put(words.data(), rng_() & 0xff);
    mpt::kPd.put(words.data(), one_in(8) ? rng_() & 0xffffff : 1 + roll(2));
    const uint64_t start = some_start();
    uint64_t length = one_in(3) ? some_size() : 4096 + roll(60000), iova = some_bus();
    if (one_in(8)) length = -start;  // up to the end of the address space
    const bool paged = one_in(2), through = one_in(3);
    const auto window = static_cast<unsigned>(roll(kRawWindows));
    if (through) iova = windows_[window].base + (one_in(3) ? roll(4096) - 2048 : roll(8192));
    if (paged) {
      iova = one_in(4) ? roll(1 << 18) : roll(8192);
      mpt::kPaged.put(words.data(), 1);
      mpt::kLogPage.put(words.data(), one_in(3) ? roll(32) : 12 + roll(4));
      mpt::kMtt.put(words.data(), kListsAt / 64 + roll(kLists * kListEntries / 8) - (one_in(8) ? 3 : 0));
      mpt::kPages.put(words.data(), one_in(8) ? rng_() : one_in(4) ? roll(4) : 8 + roll(kListEntries));
    }
    mpt::kWindowEn.put(words.data(), through);
    mpt::kWindow.put(words.data(), window);
    mpt::kStart.put(words.data(), start);
    mpt::kLength.put(words.data(), length);
    mpt::kIova.put(words.data(), iova);
    write_block(1, rtl::rnic_pkg::MptBase + uint64_t{index} * 64, reinterpret_cast<const uint8_t*>(words.data()), 64);
    command(rtl::rnic_pkg::CmdMkeyModify, index);
  }

  /// One region by the driver, of any kind it knows.
  void register_some() {
    host::MrInit init;
    init.pd = 1 + static_cast<uint32_t>(roll(2));
    init.space = one_in(2) ? host::Space::kGpu : host::Space::kHost;
    init.length = 1 + roll(40'000);
    init.va = one_in(4) ? -init.length : 0x7e00'0000'0000 + roll(1 << 24);
    init.access = one_in(3) ? 0 : host::kAllRights;
    if (one_in(4)) init.access |= host::kZeroBased;
    if (one_in(4)) init.access |= host::kRelaxedOrdering;
    if (one_in(2)) {
      init.log_page = 12 + static_cast<unsigned>(roll(3));
      init.offset = roll(4096);
      init.pages = ctx_.alloc_scattered(init.space, init.offset + init.length, init.log_page);
      if (one_in(3)) init.pages[roll(init.pages.size())] = host::kNoPage;
    } else {
      init.offset = ctx_.alloc(init.space, init.length + 4096) + roll(4096);
    }
    mine_.push_back({ctx_.reg_mr(init), init});
  }

  /// Between stretches of traffic: regions come, go, and lose their memory; entries, lists and windows change.
  void change() {
    for (unsigned i = 0; i < 3; ++i) register_some();
    for (unsigned i = 0; i < 2 && mine_.size() > 24; ++i) {
      const auto it = mine_.begin() + static_cast<std::ptrdiff_t>(roll(mine_.size()));
      stale_.push_back(it->first);
      ctx_.dereg_mr(it->first);
      mine_.erase(it);
    }
    const auto& [mr, init] = mine_[roll(mine_.size())];
    if (init.space == host::Space::kGpu) {
      hub_.gpu_pages().revoke(init.pages.empty() || init.pages[0] == host::kNoPage ? init.offset : init.pages[0], 1);
    }
    for (unsigned i = 0; i < 6; ++i) raw_window(static_cast<unsigned>(roll(kRawWindows)));
    for (unsigned i = 0; i < 3; ++i) raw_list(static_cast<unsigned>(roll(kLists)));
    for (unsigned i = 0; i < 8; ++i) raw_key(static_cast<uint32_t>(roll(kRawKeys)));
    while (ctx_.read(2, regs::bar2::kWindowState, 4) != 0) continue;
  }

  /// The tables as they are now in device memory and in the registers of the driver's windows.
  void look_at_tables() {
    for (unsigned w = kRawWindows; w < kWindows; ++w) {
      const uint64_t at = uint64_t{w} * regs::bar2::kWindowStride;
      const uint64_t ctrl = ctx_.read(2, regs::bar2::kWindowCtrl + at, 4);
      windows_[w] = {(ctrl >> 8 & 1) != 0,
                     (ctrl & 1) != 0,
                     (ctrl >> 1 & 1) != 0,
                     ctx_.read(2, regs::bar2::kWindowBase + at, 8),
                     ctx_.read(2, regs::bar2::kWindowSize + at, 8),
                     ctx_.read(2, regs::bar2::kWindowGpu + at, 8)};
    }
    raw_keys_.clear();
    for (uint32_t k = 0; k < kRawKeys; ++k) {
      const uint32_t index = k == 0 ? 65535 : kFirstRawKey + k;
      raw_keys_.push_back(index << 8 | region(index).variant);
    }
  }

  golden::Region region(uint32_t index) const {
    namespace mpt = regs::bar1::mpt;
    std::array<uint32_t, 16> words{};
    node_.nic->device_memory().read(rtl::rnic_pkg::MptBase + uint64_t{index & 0xffff} * 64,
                                    reinterpret_cast<uint8_t*>(words.data()), 64);
    const auto get = [&](const regs::Field& f) { return f.get(words.data()); };
    golden::Region r;
    r.valid = get(mpt::kValid) != 0;
    r.variant = static_cast<uint8_t>(get(mpt::kVariant));
    r.pd = static_cast<uint32_t>(get(mpt::kPd));
    r.start = get(mpt::kStart);
    r.length = get(mpt::kLength);
    r.iova = get(mpt::kIova);
    r.rights = (get(mpt::kLocalWrite) ? golden::kLocalWrite : 0u) | (get(mpt::kRemoteRead) ? golden::kRemoteRead : 0u) |
               (get(mpt::kRemoteWrite) ? golden::kRemoteWrite : 0u) |
               (get(mpt::kRemoteAtomic) ? golden::kRemoteAtomic : 0u);
    r.paged = get(mpt::kPaged) != 0;
    r.log_page = static_cast<unsigned>(get(mpt::kLogPage));
    r.mtt = static_cast<uint32_t>(get(mpt::kMtt));
    r.pages = static_cast<uint32_t>(get(mpt::kPages));
    r.window_en = get(mpt::kWindowEn) != 0;
    r.window = static_cast<unsigned>(get(mpt::kWindow));
    return r;
  }

  uint64_t device_word(uint64_t offset) const {
    std::array<uint8_t, 8> b{};
    node_.nic->device_memory().read(offset, b.data(), 8);
    uint64_t v = 0;
    for (unsigned i = 0; i < 8; ++i) v |= uint64_t{b[i]} << 8 * i;
    return v;
  }

  // ---- Accesses -----------------------------------------------------------------------------------------------------
  /// A data segment, by whatever key.
  host::Sge some_segment(uint32_t pd) {
    uint32_t key = 0;
    for (unsigned i = 0; i < 4 && (i == 0 || region(key >> 8).pd != pd || !region(key >> 8).valid); ++i) {
      key = one_in(2) ? mine_[roll(mine_.size())].first.lkey : raw_keys_[roll(raw_keys_.size())];
    }
    if (one_in(20)) key ^= 1u << roll(8);         // another variant
    if (one_in(40)) key ^= 1u << (24 + roll(8));  // beyond the table
    if (one_in(40)) key = static_cast<uint32_t>(rng_());
    if (!stale_.empty() && one_in(16)) key = stale_[roll(stale_.size())].lkey;
    const golden::Region r = region(key >> 8);
    host::Sge s;
    s.lkey = key;
    s.length = one_in(4) ? 1 + roll(12'000) : one_in(3) ? 1 + roll(4096) : 1 + roll(300);
    const uint64_t page = uint64_t{1} << (r.log_page < 12 || r.log_page > 30 ? 12 : r.log_page);
    switch (roll(24)) {
      case 0:
        s.addr = r.start - 1 - roll(100);
        break;
      case 1:
        s.addr = r.start + r.length - s.length + roll(3) - 1;  // up to the end, or one byte beyond
        break;
      case 2:
        s.addr = rng_();
        break;
      case 3:
        s.addr = ~uint64_t{0} - roll(2 * s.length);  // round the end of the address space
        break;
      case 4:
        s.addr = r.start + r.length + roll(100);
        break;
      case 5:
        s.addr = r.start - r.iova + page * (1 + roll(6)) - roll(64);  // over the edge of a page
        break;
      case 6:
        if (r.window_en) {  // round the edges of the window
          const golden::Window& w = windows_[r.window];
          s.addr = r.start - r.iova + w.base + (one_in(2) ? roll(3) - 1 : w.size - s.length + roll(3) - 1);
          break;
        }
        [[fallthrough]];
      default:
        s.length = std::max<uint64_t>(1, std::min(s.length, r.length));
        s.addr = r.start + (r.length > s.length ? roll(std::min<uint64_t>(r.length - s.length, 1 << 17) + 1) : 0);
    }
    return s;
  }

  bool served(uint64_t bus, uint32_t length) const {
    if (bus >= pcie::kHostBase && bus - pcie::kHostBase < pcie::kHostSize)
      return length <= pcie::kHostSize - (bus - pcie::kHostBase);
    if (bus >= pcie::kGpuBase && bus - pcie::kGpuBase < pcie::kGpuSize)
      return hub_.gpu_pages().covers(bus - pcie::kGpuBase, length);
    return false;
  }

  /// What must come of the request, by the reference model; puts the frames that must leave into q.frames.
  Verdict judge(Sender& q, const golden::Wqe& w) {
    Verdict v;
    v.kind = "allowed";
    const unsigned needs = golden::has_payload(w.opcode) ? 0u : unsigned{golden::kLocalWrite};
    for (const auto& s : w.sges) {
      const auto refused = golden::check_access(region(s.lkey >> 8), q.qp->init.pd, s.lkey, s.addr, s.length, needs);
      if (!refused) continue;
      static const std::map<golden::Vendor, const char*> kNames{{golden::Vendor::kKey, "key"},
                                                                {golden::Vendor::kPd, "domain"},
                                                                {golden::Vendor::kRights, "rights"},
                                                                {golden::Vendor::kBounds, "bounds"}};
      v.status = host::WcStatus::kLocProtErr;
      v.vendor = static_cast<unsigned>(*refused);
      v.kind = kNames.at(*refused);
      return v;
    }
    // Packets behind one that fails may have been asked for already.
    const unsigned mtu = q.path.mtu;
    for (uint64_t at = 0; golden::has_payload(w.opcode) && at < w.length(); at += mtu) {
      golden::Packet p;
      p.offset = at;
      p.length = static_cast<uint32_t>(std::min<uint64_t>(mtu, w.length() - at));
      for (const auto& b : pieces_of(w, p)) {
        if (b.denied == golden::Denial::kNone) v.reads.push_back({b.addr, b.length});
      }
    }
    const size_t before = q.expected->frames.size();
    q.expected->add(w, [&](const golden::Wqe&, const golden::Packet& p, golden::Bytes& payload) {
      for (const auto& b : pieces_of(w, p)) {
        if (!payload_of(b, payload, v)) return false;
      }
      v.sent_bytes += payload.size();
      return true;
    });
    for (size_t i = before; i < q.expected->frames.size(); ++i) q.frames.push_back(q.expected->frames[i]);
    return v;
  }

  std::vector<golden::BusPiece> pieces_of(const golden::Wqe& w, const golden::Packet& p) const {
    std::vector<golden::BusPiece> all;
    if (!golden::has_payload(w.opcode)) return all;
    for (const auto& piece : golden::pieces(w, p)) {
      const auto& s = w.sges[piece.sge];
      const golden::Region r = region(s.lkey >> 8);
      const auto some = golden::translate(r, golden::place_of(r, s.addr) + piece.offset, piece.length, windows_,
                                          [this](uint64_t at) { return device_word(at); });
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }

  /// Adds the bytes of a piece; false, and the verdict says why, when it cannot be read.
  bool payload_of(const golden::BusPiece& b, golden::Bytes& payload, Verdict& v) const {
    const bool gpu = b.addr >= pcie::kGpuBase && b.addr - pcie::kGpuBase < pcie::kGpuSize;
    const bool denied = b.denied != golden::Denial::kNone;
    if (!denied && served(b.addr, b.length)) {
      const size_t at = payload.size();
      payload.resize(at + b.length);
      (gpu ? hub_.gpu_memory() : hub_.host_memory())
          .read(b.addr - (gpu ? pcie::kGpuBase : pcie::kHostBase), &payload[at], b.length);
      return true;
    }
    v.status = host::WcStatus::kLocQpOpErr;
    v.vendor = unsigned{rtl::rnic_pkg::VenDma} + (denied ? rtl::rnic_pkg::DmaDenied : rtl::rnic_pkg::DmaUr);
    v.kind = b.denied == golden::Denial::kAbsent   ? "absent page"
             : b.denied == golden::Denial::kWindow ? "window"
             : gpu                                 ? "unpinned"
                                                   : "nowhere";
    return false;
  }

  void make_qp(unsigned i) {
    auto q = std::make_unique<Sender>();
    q->cq = ctx_.create_cq(5);
    cqs_.push_back(q->cq);
    host::QpInit init;
    init.type = i % 3 == 0 ? host::QpType::kRc : host::QpType::kUc;
    init.where = i % 4 == 1 ? host::SqWhere::kBf : host::SqWhere::kDevice;
    init.pd = 1 + i % 2;
    q->qp = ctx_.create_qp(q->cq, init);
    q->path.mtu = 256u << i % 5;
    q->path.dest_qpn = 0x500 + i;
    ctx_.modify_qp_rts(q->qp, q->path);
    std::array<uint32_t, 32> words{};
    node_.nic->device_memory().read(rtl::rnic_pkg::QpcBase + uint64_t{q->qp->qpn} * 128,
                                    reinterpret_cast<uint8_t*>(words.data()), 128);
    q->context = rtl::qpc_t::unpack_at(words.data(), 0);
    q->expected = std::make_unique<ExpectedFrames>(q->path, init.type, q->qp->qpn, 0);
    qps_.push_back(std::move(q));
  }

  /// As modify_qp_rts, but posted: nobody waits for it.
  void restart(Sender& q) {
    q.qp->ci = q.context.sq_ci = q.qp->pi;
    const auto words = q.context.pack();
    const auto* bytes = reinterpret_cast<const uint8_t*>(words.data());
    for (unsigned at = 0; at < 128; at += 64) {
      write_block(1, rtl::rnic_pkg::QpcBase + uint64_t{q.qp->qpn} * 128 + at, bytes + at, 64);
    }
    command(rtl::rnic_pkg::CmdQpCreate, q.qp->qpn);
    q.expected = std::make_unique<ExpectedFrames>(q.path, q.qp->init.type, q.qp->qpn, 0);
  }

  void serve(Sender& q) {
    for (unsigned round = 1;; ++round) {
      while (round_ < round) sc_core::wait(begin_);
      if (over_) return;
      while (left_ != 0 && faults_ == 0) {
        --left_;
        access(q);
      }
      --running_;
      ended_.notify(sc_core::SC_ZERO_TIME);
    }
  }

  void access(Sender& q) {
    host::SendWr wr;
    const bool rc = q.qp->init.type == host::QpType::kRc;
    const bool response = rc && one_in(8);  // READ: it has a completion only when it is refused
    wr.opcode = response ? host::WrOpcode::kRdmaRead : static_cast<host::WrOpcode>(roll(4));
    wr.wr_id = ++q.number;
    wr.remote_addr = rng_();
    wr.rkey = static_cast<uint32_t>(rng_());
    wr.imm = static_cast<uint32_t>(rng_());
    for (unsigned i = 0, n = one_in(3) ? 2 + static_cast<unsigned>(roll(3)) : 1; i < n; ++i) {
      wr.sg_list.push_back(some_segment(q.qp->init.pd));
    }
    const golden::Wqe w = wqe_of(q.qp->init.type, wr);
    q.read_bytes = 0;
    const Verdict v = judge(q, w);
    q.allowed = v.reads;
    q.what = fmt::format("QP {} access {}: {} with {} segments, first key {:#x} addr {:#x} {} B: {}", q.qp->qpn,
                         wr.wr_id, host::to_string(wr.opcode), wr.sg_list.size(), wr.sg_list[0].lkey,
                         wr.sg_list[0].addr, wr.sg_list[0].length, v.kind);
    ++kinds_[v.kind];
    ctx_.post_send(q.qp, wr);
    if (response && v.vendor == 0) return;
    const auto wc = ctx_.wait_cq(q.cq, Time(1, sc_core::SC_MS));
    if (!wc) return fault(q.what + ": no completion");
    if (wc->wr_id != wr.wr_id || wc->status != v.status || wc->vendor_err != v.vendor) {
      return fault(fmt::format("{}: completion of {}: {} vendor {:#x}, expected {} vendor {:#x}", q.what, wc->wr_id,
                               host::to_string(wc->status), wc->vendor_err, host::to_string(v.status), v.vendor));
    }
    if (v.vendor == 0) {
      if (q.read_bytes != v.sent_bytes) fault(fmt::format("{}: read {} B", q.what, q.read_bytes));
      return;
    }
    ++errors_;
    if (v.status == host::WcStatus::kLocProtErr && q.read_bytes != 0) fault(q.what + ": something was read");
    // Packets behind the refused one may still be on their way through the NIC.
    if (w.length() > q.path.mtu) sc_core::wait(Time(4, sc_core::SC_US));
    restart(q);
  }

  bool may_read(const pcie::Tlp& read) const {
    const auto q = std::find_if(qps_.begin(), qps_.end(), [&](const auto& s) { return s->qp->qpn == read.op.qpn; });
    if (q == qps_.end()) return false;
    const auto span = pcie::enabled(read);
    const uint64_t at = read.address() + span.first;
    return std::any_of((*q)->allowed.begin(), (*q)->allowed.end(), [&](const auto& a) {
      return at >= a.addr && at - a.addr < a.length && span.end - span.first <= a.length - (at - a.addr);
    });
  }

  /// A read by the NIC has come to a memory.
  void reached(pcie::Hub::Where where, const pcie::Tlp& read) {
    ++reads_;
    if (!may_read(read)) {
      return fault(fmt::format("reached {} memory, not allowed: {}", where == pcie::Hub::Where::kGpu ? "GPU" : "host",
                               read.describe()));
    }
    for (auto& q : qps_) {
      if (q->qp->qpn == read.op.qpn) q->read_bytes += pcie::byte_count(read);
    }
  }

  void settle() {
    sc_core::wait(Time(6, sc_core::SC_US));
    for (const auto& q : qps_) {
      if (!q->frames.empty()) return fault(fmt::format("{}: {} frames have not come", q->what, q->frames.size()));
    }
  }

  static void expect_background(const Memory& memory, uint64_t offset, uint64_t length, uint64_t seed) {
    std::vector<uint8_t> bytes(length);
    memory.read(offset, bytes.data(), length);
    for (uint64_t i = 0; i < length; ++i) {
      ASSERT_EQ(bytes[i], pattern_byte(offset + i, seed)) << "memory was written at " << std::hex << offset + i;
    }
  }

  System& system_;
  Node& node_;
  host::Context& ctx_;
  pcie::Hub& hub_;
  const uint64_t seed_;
  std::mt19937_64 rng_;
  std::vector<golden::Window> windows_;
  std::vector<std::unique_ptr<Sender>> qps_;
  std::vector<host::Cq*> cqs_;
  std::vector<std::pair<host::Mr, host::MrInit>> mine_;
  std::vector<host::Mr> stale_;
  std::vector<uint32_t> raw_keys_;  ///< in the tables now
  uint64_t host_ = 0, gpu_ = 0, unpinned_ = 0;
  std::map<std::string, uint64_t> kinds_;
  uint64_t errors_ = 0, reads_ = 0, accesses_ = 0;
  unsigned faults_ = 0;
  unsigned left_ = 0, running_ = 0, round_ = 0;  ///< accesses of this round, QPs at work, rounds begun
  bool over_ = false;
  sc_core::sc_event begin_, ended_;
};

}  // namespace rnic::test
