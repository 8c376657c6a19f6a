// SPDX-License-Identifier: Apache-2.0
#include "rnic/pcie/hub.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <utility>

#include "rnic/core/error.h"

namespace rnic::pcie {
namespace {

constexpr unsigned kHubTags = 256;  ///< reads that the CPU, or the GPU, may have in flight towards the NIC
constexpr unsigned kMaxMmio = 64;

/// Bytes [first, end) of a request's DWs between its first and last enabled byte. Empty when none is enabled.
struct Span {
  unsigned first, end;
};

Span enabled(const Tlp& t) {
  const unsigned n = t.length_dw();
  const unsigned tail = n == 1 ? t.first_be() : t.last_be();
  if (t.first_be() == 0 || tail == 0) return {0, 0};
  unsigned first = 0;
  while (!(t.first_be() >> first & 1)) ++first;
  unsigned last = 3;
  while (!(tail >> last & 1)) --last;
  return {first, (n - 1) * 4 + last + 1};
}

bool byte_enabled(const Tlp& t, unsigned i) {
  const unsigned dw = i / 4;
  unsigned be = 0xf;
  if (dw == 0) {
    be = t.first_be();
  } else if (dw + 1 == t.length_dw()) {
    be = t.last_be();
  }
  return be >> (i & 3) & 1;
}

/// What is wrong with a TLP's form, or nullptr.
const char* malformed(const Tlp& t, unsigned mps) {
  if (t.is_completion()) {
    if (t.data.size() != (t.has_data() ? t.length_dw() * 4 : 0)) return "payload and Length field disagree";
    return nullptr;
  }
  if (!t.is_mem_read() && !t.is_mem_write()) return "neither a memory request nor a completion";
  if (t.data.size() != (t.is_mem_write() ? t.length_dw() * 4 : 0)) return "payload and Length field disagree";
  if (t.data.size() > mps) return "payload above pcie.mps";
  if ((t.address() & 0xfff) + t.length_dw() * 4 > 4096) return "crosses a 4 KiB boundary";
  if (t.length_dw() == 1 ? t.last_be() != 0 : t.first_be() == 0 || t.last_be() == 0) {
    return "byte enables don't fit the length";
  }
  return nullptr;
}

}  // namespace

Serializer link_serializer(unsigned generation, unsigned lanes) {
  static constexpr uint64_t kMtps[] = {0, 2500, 5000, 8000, 16000, 32000};
  if (generation < 1 || generation > 5 || lanes == 0) {
    throw SimError("no PCIe link of generation " + std::to_string(generation) + " with " + std::to_string(lanes) +
                   " lanes");
  }
  const bool wide_code = generation >= 3;
  const uint64_t sent = wide_code ? 130 : 10, kept = wide_code ? 128 : 8;
  // 8 bits x sent/kept symbols, at MT/s x lanes, in ps.
  return Serializer(8 * sent * 1'000'000, kept * kMtps[generation] * lanes);
}

struct Hub::Impl {
  enum Port : unsigned { kNic, kHost, kGpu };  // kHost: CPU and host memory

  /// One direction of a link, with what went over it.
  struct Link {
    Serializer line;
    uint64_t tlps = 0, bytes = 0;
    Serializer::Slot send(uint64_t now_ps, uint64_t n) {
      ++tlps;
      bytes += n;
      return line.send(now_ps, n);
    }
    Usage::Link usage(uint64_t now_ps) const { return {tlps, bytes, line.busy_for_ps(now_ps)}; }
  };

  /// Credits of one type that are away. What a request takes is known to come back at its arrival.
  struct Pool {
    unsigned limit;    ///< 0: infinite
    unsigned largest;  ///< that one request can need
    unsigned away = 0, most = 0;
    uint64_t held_ps = 0, none_ps = 0, none_since_ps = 0;
    std::deque<std::pair<uint64_t, unsigned>> coming;  ///< back at, how many
    bool none() const { return limit != 0 && away + largest > limit; }
    void take(unsigned n, uint64_t from_ps, uint64_t to_ps) {
      if (n == 0) return;
      settle(from_ps);
      const bool before = none();
      away += n;
      most = std::max(most, away);
      held_ps += n * (to_ps - from_ps);
      coming.emplace_back(to_ps, n);
      if (!before && none()) none_since_ps = from_ps;
    }
    /// What came back before `ps`: the clock may be ahead of the kernel, so its time is given.
    void settle(uint64_t ps) {
      while (!coming.empty() && coming.front().first < ps) {
        const bool before = none();
        away -= coming.front().second;
        if (before && !none()) none_ps += coming.front().first - none_since_ps;
        coming.pop_front();
      }
    }
    Usage::Credits usage(uint64_t now_ps) {
      settle(now_ps);
      return {limit, held_ps, none_ps + (none() && now_ps > none_since_ps ? now_ps - none_since_ps : 0), most};
    }
  };

  Impl(Hub& hub, const Profile& p, Observers& observers, unsigned nic_id)
      : hub_(hub),
        observers_(observers),
        nic_id_(nic_id),
        later_("later"),
        nic_up_{link_serializer(p.integer("pcie.generation"), p.integer("pcie.lanes"))},
        nic_down_(nic_up_),
        gpu_up_(nic_up_),
        gpu_down_(nic_up_),
        nic_link_(p.time("pcie.nic_link_latency")),
        gpu_link_(p.time("pcie.gpu_link_latency")),
        peer_(p.time("pcie.hub_peer_latency")),
        root_(p.time("pcie.hub_host_latency")),
        host_read_(p.time("host.read_latency")),
        host_write_(p.time("host.write_latency")),
        host_mmio_(p.time("host.mmio_latency")),
        gpu_read_(p.time("gpu.read_latency")),
        gpu_mmio_(p.time("gpu.mmio_latency")),
        mps_(p.integer("pcie.mps")),
        rcb_(p.integer("pcie.rcb")),
        ph_(p.integer("pcie.ph_credits")),
        pd_(p.integer("pcie.pd_credits")),
        nph_(p.integer("pcie.nph_credits")),
        ph_pool_{pd_ == 0 ? 0 : ph_, 1},
        pd_pool_{ph_ == 0 ? 0 : pd_, static_cast<unsigned>(mps_ / 16)},
        nph_pool_{nph_, 1} {
    for (auto& c : cpu_) {
      for (unsigned tag = 0; tag < kHubTags; ++tag) c.free.push_back(tag);
    }
  }

  static uint64_t now_ps() { return DelayQueue::now_ps(); }
  static constexpr auto kModel = DelayQueue::Kind::kModel;

  // ---- Links ----
  /// Sends over a link that starts at the end of `latency` from now; fn runs when the last byte has arrived.
  template <class Fn>
  void cross(Link& link, const Time& flight, uint64_t bytes, Fn fn) {
    const auto slot = link.send(now_ps(), bytes);
    later_.at(from_ps(slot.end_ps) + flight, std::move(fn), kModel);
  }

  /// A request of the CPU or the GPU sets out for the hub.
  void start(Port src, Tlp t) {
    if (src == kHost) {
      enter(kHost, std::move(t), DelayQueue::now());
    } else if (destination(t) == kGpu) {
      arrive(kGpu, kGpu, std::move(t));  // stays inside the GPU
    } else {
      const uint64_t bytes = t.wire_bytes();
      const auto slot = gpu_up_.send(now_ps(), bytes);
      enter(kGpu, std::move(t), from_ps(slot.end_ps) + gpu_link_);
    }
  }

  static bool in_host(uint64_t a) { return a >= kHostBase && a - kHostBase < kHostSize; }
  static bool in_gpu(uint64_t a) { return a >= kGpuBase && a - kGpuBase < kGpuSize; }

  /// Port that a request's address, or a completion's requester, lies behind. An address that is no memory's belongs to
  /// the NIC's BARs; when the NIC itself asks, to nobody.
  static Port destination(const Tlp& t) {
    if (t.is_completion()) return t.requester_id() == kGpuId ? kGpu : kHost;  // the NIC's; memories answer by port
    return in_host(t.address()) ? kHost : in_gpu(t.address()) ? kGpu : kNic;
  }

  /// A TLP of which the last byte reaches the hub at `at`. It leaves the hub's latency later; nothing else happens in
  /// between, so the two are one event.
  void enter(Port src, Tlp t, const Time& at) {
    if (!well_formed(t)) return;
    const Port dst = destination(t);
    if (src == kNic && dst == kNic) {
      later_.at(
          at, [this, t = std::move(t)]() mutable { unsupported(kNic, kCpuId, std::move(t)); }, kModel);
      return;
    }
    later_.at(
        at + latency(src, dst), [this, src, dst, t = std::move(t)]() mutable { leave(src, dst, std::move(t)); },
        kModel);
  }

  void forward(Port src, Port dst, Tlp t) {
    later_.after(
        latency(src, dst), [this, src, dst, t = std::move(t)]() mutable { leave(src, dst, std::move(t)); }, kModel);
  }

  /// Of the hub between two ports.
  const Time& latency(Port src, Port dst) const { return src == kHost || dst == kHost ? root_ : peer_; }

  /// A TLP leaves the hub at dst.
  void leave(Port src, Port dst, Tlp t) {
    const uint64_t bytes = t.wire_bytes();
    if (dst == kHost) {
      arrive(src, dst, std::move(t));
    } else if (dst == kGpu) {
      cross(gpu_down_, gpu_link_, bytes, [this, src, t = std::move(t)]() mutable { arrive(src, kGpu, std::move(t)); });
    } else {
      cross(nic_down_, nic_link_, bytes, [this, t = std::move(t)]() mutable {
        if (!hub_.nic_) throw SimError(std::string(hub_.name()) + ": a TLP for a NIC that is not attached");
        hub_.nic_->deliver(std::move(t));
      });
    }
  }

  /// A TLP has arrived at the host or the GPU.
  void arrive(Port src, Port dst, Tlp t) {
    if (t.is_completion()) {
      if (dst == kHost) {
        // Completions push writes: who sees the data of a read sees what was written before it.
        const Time when = std::max(DelayQueue::now(), host_visible_);
        later_.at(when, [this, t = std::move(t)] { answer(cpu_[0], t); });
      } else {
        later_.after(sc_core::SC_ZERO_TIME, [this, t = std::move(t)] { answer(cpu_[1], t); });
      }
    } else if (t.is_mem_write()) {
      if (dst == kHost) {
        if (src == kNic) ++host_writes_, host_write_bytes_ += t.data.size();
        host_visible_ = DelayQueue::now() + host_write_;
        later_.at(host_visible_, [this, t = std::move(t)] { write(hub_.host_, kHostBase, t, true); });
      } else {
        write(hub_.gpu_, kGpuBase, t, false);
      }
    } else {
      read(src, dst, std::move(t));
    }
  }

  // ---- Memories ----
  void write(Memory& memory, uint64_t base, const Tlp& t, bool host) {
    const uint64_t at = t.address() - base;
    if (at + t.data.size() > memory.size()) {
      ++counters_.unsupported_write;
      return;
    }
    const Span span = enabled(t);
    // Runs of enabled bytes; mostly one.
    for (unsigned i = span.first; i < span.end;) {
      unsigned end = i;
      while (end < span.end && byte_enabled(t, end)) ++end;
      memory.write(at + i, t.data.data() + i, end - i);
      for (i = end; i < span.end && !byte_enabled(t, i); ++i) {
      }
    }
    if (host && span.end > span.first) {
      for (auto& fn : hub_.host_write_) fn(t.address() + span.first, span.end - span.first, t.op);
    }
  }

  void read(Port src, Port dst, Tlp t) {
    const bool host = dst == kHost;
    Memory& memory = host ? hub_.host_ : hub_.gpu_;
    const uint64_t base = host ? kHostBase : kGpuBase;
    const bool inside = t.address() - base + t.length_dw() * 4 <= memory.size();
    const bool observed = src == kNic && inside;
    if (observed) event(EventKind::kMemRdStart, t.op);
    Time done = DelayQueue::now() + (host ? host_read_ : gpu_read_);
    if (host) done = std::max(done, host_visible_);  // a read pushes the writes before it
    if (observed) {
      Usage::Reads& used = host ? host_reads_ : gpu_reads_;
      ++used.count;
      used.bytes += byte_count(t);
      used.held_ps += to_ps(done) - now_ps();
    }
    later_.at(
        done,
        [this, src, dst, base, inside, observed, &memory, t = std::move(t)] {
          const uint16_t completer = dst == kHost ? kCpuId : kGpuId;
          if (!inside) {
            ++counters_.unsupported_read;
            return respond(dst, src, make_completion(t, completer, rtl::pcie_pkg::StatusUr, byte_count(t), 0, {}));
          }
          if (observed) event(EventKind::kMemRdEnd, t.op);
          complete(src, dst, memory, base, completer, t);
        },
        kModel);
  }

  static unsigned byte_count(const Tlp& t) {
    const Span s = enabled(t);
    return s.end > s.first ? s.end - s.first : 1;  // a zero-length read counts one byte
  }

  /// Cuts the answer into the largest pieces of at most MPS that end on an RCB boundary.
  void complete(Port src, Port dst, Memory& memory, uint64_t base, uint16_t completer, const Tlp& t) {
    const uint64_t first_dw = t.address();
    uint64_t at = first_dw + enabled(t).first;
    unsigned left = byte_count(t);
    while (left != 0) {
      const uint64_t start = at & ~uint64_t{3};
      uint64_t end = (start + mps_) / rcb_ * rcb_;
      if (end >= at + left) end = at + left;
      const uint64_t stop = (end + 3) & ~uint64_t{3};
      std::vector<uint8_t> data(stop - start);
      memory.read(start - base, data.data(), data.size());
      respond(dst, src, make_completion(t, completer, rtl::pcie_pkg::StatusSc, left, at & 0x7f, std::move(data)));
      left -= static_cast<unsigned>(end - at);
      at = end;
    }
  }

  /// A completion from a memory back to the port that asked.
  void respond(Port from, Port to, Tlp t) {
    if (from == to) {
      later_.after(sc_core::SC_ZERO_TIME, [this, to, t = std::move(t)] { answer(cpu_[to == kGpu], t); });
    } else if (from == kGpu) {
      const uint64_t bytes = t.wire_bytes();  // before t is moved
      // Nothing is decided on arrival at the hub: straight on to where it leaves.
      cross(gpu_up_, gpu_link_ + latency(kGpu, to), bytes,
            [this, to, t = std::move(t)]() mutable { leave(kGpu, to, std::move(t)); });
    } else {
      forward(from, to, std::move(t));
    }
  }

  // ---- Refused ----
  bool well_formed(const Tlp& t) {
    const char* what = malformed(t, mps_);
    if (!what) return true;
    // The first few are named; the counter has them all.
    if (counters_.malformed++ < 8) spdlog::warn("{}: malformed TLP dropped: {}: {}", hub_.name(), what, t.describe());
    return false;
  }

  void unsupported(Port to, uint16_t completer, Tlp t) {
    if (t.is_mem_write()) {
      ++counters_.unsupported_write;
      return;
    }
    ++counters_.unsupported_read;
    forward(kHost, to, make_completion(t, completer, rtl::pcie_pkg::StatusUr, byte_count(t), 0, {}));
  }

  // ---- Reads by the CPU or GPU ----
  struct Load {
    uint64_t addr;
    unsigned len;
    std::function<void(std::vector<uint8_t>)> done;
    std::vector<uint8_t> got;
  };
  struct Loads {
    std::deque<unsigned> free;
    std::map<unsigned, Load> open;
    std::deque<Load> waiting;
  };

  void issue(Initiator who, Load load) {
    Loads& c = cpu_[who == Initiator::kGpu];
    if (c.free.empty()) {
      c.waiting.push_back(std::move(load));
      return;
    }
    const unsigned tag = c.free.front();
    c.free.pop_front();
    const Tlp t = make_mem_read(load.addr, load.len, who == Initiator::kGpu ? kGpuId : kCpuId, tag);
    c.open.emplace(tag, std::move(load));
    start(who == Initiator::kGpu ? kGpu : kHost, t);
  }

  void answer(Loads& c, const Tlp& t) {
    const auto it = c.open.find(t.tag());
    if (it == c.open.end()) {
      ++counters_.unexpected_cpl;
      return;
    }
    Load& load = it->second;
    const bool ok = ((t.hdr[1] >> 13) & 7) == rtl::pcie_pkg::StatusSc && t.has_data();
    if (ok) {
      const unsigned skip = t.hdr[2] & 3;
      const unsigned room = load.len - static_cast<unsigned>(load.got.size());
      const unsigned n = std::min<unsigned>(room, static_cast<unsigned>(t.data.size()) - skip);
      load.got.insert(load.got.end(), t.data.begin() + skip, t.data.begin() + skip + n);
      if (load.got.size() < load.len) return;
    } else {
      load.got.clear();
    }
    Load finished = std::move(load);
    c.free.push_back(it->first);
    c.open.erase(it);
    if (!c.waiting.empty()) {
      Load next = std::move(c.waiting.front());
      c.waiting.pop_front();
      issue(&c == &cpu_[1] ? Initiator::kGpu : Initiator::kCpu, std::move(next));
    }
    finished.done(std::move(finished.got));
  }

  void check_mmio(uint64_t addr, unsigned len) const {
    if (len == 0 || len > kMaxMmio || (addr & 0xfff) + len > 4096) {
      throw SimError(fmt::format("{}: an MMIO access is of 1..{} B within a 4 KiB page, not {} B at {:#x}", hub_.name(),
                                 kMaxMmio, len, addr));
    }
  }

  void event(EventKind kind, const rtl::op_t& op) {
    if (!observers_.empty()) observers_.event(Event{kind, now_ps(), 0, op, nic_id_, 0});
  }

  // ---- The NIC's transmit side ----
  struct Sent {
    uint64_t handed_ps, start_ps, arrive_ps;
    unsigned ph, pd, nph;
  };

  void from_nic(Tlp t, uint64_t edge_ps) {
    // The link's slot is taken here already, so that ready and credits know what comes.
    const auto slot = nic_up_.send(edge_ps, t.wire_bytes());
    const Time arrive = from_ps(slot.end_ps) + nic_link_;
    const bool posted = t.is_mem_write();
    prune();
    sent_.push_back({edge_ps, slot.start_ps, to_ps(arrive), posted,
                     posted ? static_cast<unsigned>((t.data.size() + 15) / 16) : 0, t.is_mem_read()});
    const Sent& s = sent_.back();
    if (posted) {
      ph_pool_.take(s.ph, edge_ps, s.arrive_ps);
      pd_pool_.take(s.pd, edge_ps, s.arrive_ps);
    } else {
      nph_pool_.take(s.nph, edge_ps, s.arrive_ps);
    }
    enter(kNic, std::move(t), arrive);
  }

  /// Credits of what arrived before now are in the sums; what is younger stays listed, so that an edge asks exactly.
  void prune() const {
    while (!sent_.empty() && sent_.front().arrive_ps < now_ps()) {
      const Sent& s = sent_.front();
      back_ph_ += s.ph, back_pd_ += s.pd, back_nph_ += s.nph;
      sent_.pop_front();
      fc_known_ = false;
    }
  }

  bool nic_tx_ready(uint64_t edge) const {
    prune();
    unsigned waiting = 0;
    for (const Sent& s : sent_) waiting += s.handed_ps < edge && s.start_ps >= edge;
    return waiting < 2;
  }

  rtl::pcie_fc_t nic_credits(uint64_t edge) const {
    if (fc_known_ && (sent_.empty() || sent_.front().arrive_ps >= edge)) return fc_;  // nothing has come back since
    prune();
    fc_known_ = sent_.empty() || sent_.front().arrive_ps >= edge;
    unsigned ph = ph_ + back_ph_, pd = pd_ + back_pd_, nph = nph_ + back_nph_;
    for (const Sent& s : sent_) {
      if (s.arrive_ps >= edge) break;
      ph += s.ph, pd += s.pd, nph += s.nph;
    }
    rtl::pcie_fc_t& fc = fc_;
    fc.p_inf = ph_ == 0 || pd_ == 0;
    fc.ph = static_cast<uint8_t>(ph);
    fc.pd = static_cast<uint16_t>(pd & 0xfff);
    fc.np_inf = nph_ == 0;
    fc.nph = static_cast<uint8_t>(nph);
    return fc;
  }

  Hub& hub_;
  Observers& observers_;
  const unsigned nic_id_;
  DelayQueue later_;
  Link nic_up_, nic_down_, gpu_up_, gpu_down_;
  const Time nic_link_, gpu_link_, peer_, root_, host_read_, host_write_, host_mmio_, gpu_read_, gpu_mmio_;
  const uint64_t mps_, rcb_;
  const unsigned ph_, pd_, nph_;
  mutable Pool ph_pool_, pd_pool_, nph_pool_;
  Usage::Reads host_reads_, gpu_reads_;
  uint64_t host_writes_ = 0, host_write_bytes_ = 0;
  Time host_visible_;         ///< when the latest write to host memory so far is visible
  std::array<Loads, 2> cpu_;  ///< of the CPU, of the GPU
  Counters counters_;
  mutable std::deque<Sent> sent_;
  mutable rtl::pcie_fc_t fc_;  ///< as last computed; right as long as fc_known_
  mutable bool fc_known_ = false;
  mutable unsigned back_ph_ = 0, back_pd_ = 0, back_nph_ = 0;  ///< credits returned, modulo 2^32
};

Hub::Hub(sc_core::sc_module_name name, const Profile& profile, Observers& observers, unsigned nic_id)
    : sc_module(name),
      impl_(std::make_shared<Impl>(*this, profile, observers, nic_id)),
      host_(kHostSize),
      gpu_(kGpuSize) {}

DelayQueue& Hub::queue() { return impl_->later_; }

void Hub::from_nic(Tlp tlp, const Time& edge) { impl_->from_nic(std::move(tlp), to_ps(edge)); }
bool Hub::nic_tx_ready(const Time& edge) const { return impl_->nic_tx_ready(to_ps(edge)); }
rtl::pcie_fc_t Hub::nic_credits(const Time& edge) const { return impl_->nic_credits(to_ps(edge)); }
const Hub::Counters& Hub::counters() const { return impl_->counters_; }
Hub::Usage Hub::usage(uint64_t now_ps) const {
  const Impl& i = *impl_;
  return {i.nic_up_.usage(now_ps),
          i.nic_down_.usage(now_ps),
          i.gpu_up_.usage(now_ps),
          i.gpu_down_.usage(now_ps),
          i.ph_pool_.usage(now_ps),
          i.pd_pool_.usage(now_ps),
          i.nph_pool_.usage(now_ps),
          i.host_reads_,
          i.gpu_reads_,
          i.host_writes_,
          i.host_write_bytes_};
}
bool Hub::idle() const { return impl_->later_.empty(); }

void Hub::mmio_write(Initiator who, uint64_t addr, const uint8_t* bytes, unsigned len, const rtl::op_t& op) {
  impl_->check_mmio(addr, len);
  const bool gpu = who == Initiator::kGpu;
  Tlp t = make_mem_write(addr, bytes, len, gpu ? kGpuId : kCpuId);
  t.op = op;
  if (!gpu) return impl_->enter(Impl::kHost, std::move(t), DelayQueue::now() + impl_->host_mmio_);
  impl_->later_.after(
      impl_->gpu_mmio_, [i = impl_.get(), t = std::move(t)]() mutable { i->start(Impl::kGpu, std::move(t)); },
      Impl::kModel);
}

void Hub::mmio_read(Initiator who, uint64_t addr, unsigned len, std::function<void(std::vector<uint8_t>)> done) {
  impl_->check_mmio(addr, len);
  const bool gpu = who == Initiator::kGpu;
  impl_->later_.after(
      gpu ? impl_->gpu_mmio_ : impl_->host_mmio_,
      [i = impl_.get(), who, load = Impl::Load{addr, len, std::move(done), {}}]() mutable {
        i->issue(who, std::move(load));
      },
      Impl::kModel);
}

}  // namespace rnic::pcie
