// SPDX-License-Identifier: Apache-2.0
#include "rnic/pcie/hub.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include "rnic/core/error.h"

namespace rnic::pcie {
namespace {

constexpr unsigned kHubTags = 256;  ///< reads that the CPU, or the GPU, may have in flight towards the NIC
constexpr unsigned kMaxMmio = 64;
constexpr auto kModel = DelayQueue::Kind::kModel;

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

/// A read that never fits into the NIC's room for completions would wait for ever.
void check_completion_room(const Profile& p) {
  const uint64_t mrrs = p.integer("pcie.mrrs"), headers = mrrs / p.integer("pcie.rcb") + 1, data = mrrs / 16 + 1;
  const uint64_t cplh = p.integer("pcie.cplh_credits"), cpld = p.integer("pcie.cpld_credits");
  const auto check = [&](const char* key, uint64_t have, uint64_t need) {
    if (have == 0 || have >= need) return;
    const auto& e = p.entry(key);
    throw InputError(e.file, e.line, key,
                     fmt::format("{} credits are less than a read of pcie.mrrs = {} B can need; allowed: 0 (no limit), "
                                 "or at least {}",
                                 have, mrrs, need));
  };
  check("pcie.cplh_credits", cplh, headers);
  check("pcie.cpld_credits", cpld, data);
}

CompleterConfig memory_config(const Profile& p, const PinnedPages* pinned, unsigned nic_id) {
  const bool gpu = pinned != nullptr;
  CompleterConfig c = completer_config(p, gpu);
  c.pinned = pinned;
  c.id = gpu ? kGpuId : kCpuId;
  c.base = gpu ? kGpuBase : kHostBase;
  c.seed = c.seed * 0x9e3779b97f4a7c15u + 2 * nic_id + gpu;
  c.exact_writes = !gpu;  // the host's driver looks at them
  return c;
}

}  // namespace

struct Hub::Impl {
  enum Side : unsigned { kOfHost, kOfGpu };

  Impl(Hub& hub, const Profile& p, Observers& observers, unsigned nic_id)
      : hub_(hub),
        observers_(observers),
        nic_id_(nic_id),
        later_("later"),
        topology_(hub.name(), p, later_, p.integer("pcie.error_seed") * 0x9e3779b97f4a7c15u + nic_id),
        timing_{host_timing(p, kHostSize), gpu_timing(p, memory_config(p, &hub.gpu_pages_, nic_id).seed)},
        memory_{Completer(fmt::format("{}: host memory", hub.name()), memory_config(p, nullptr, nic_id), hub.host_,
                          *timing_[0], later_),
                Completer(fmt::format("{}: GPU memory", hub.name()), memory_config(p, &hub.gpu_pages_, nic_id),
                          hub.gpu_, *timing_[1], later_)},
        host_mmio_(p.time("host.mmio_latency")),
        gpu_mmio_(p.time("gpu.mmio_latency")),
        mps_(static_cast<unsigned>(p.integer("pcie.mps"))) {
    check_completion_room(p);
    for (auto& c : loads_) {
      for (unsigned tag = 0; tag < kHubTags; ++tag) c.free.push_back(tag);
    }
    topology_.on_check([this](const Tlp& t) { return well_formed(t); });
    topology_.on_unsupported([this](Tlp t) { unsupported(std::move(t)); });
    topology_.on_host([this](Tlp t, const Time& at) { return arrive(kOfHost, std::move(t), at); });
    topology_.on_gpu([this](Tlp t, const Time& at) { return arrive(kOfGpu, std::move(t), at); });
    topology_.on_nic([this](Tlp t) {
      if (!hub_.nic_) throw SimError(std::string(hub_.name()) + ": a TLP for a NIC that is not attached");
      hub_.nic_->deliver(std::move(t));
    });
    for (const Side side : {kOfHost, kOfGpu}) {
      Completer& m = memory_[side];
      m.on_completion([this, side](Tlp t) { completion(side, std::move(t)); });
      m.on_fault([this, side](const Tlp& t) { return fault(side, t); });
      m.on_sample([this](const Tlp& t) {
        if (of_nic(t)) event(EventKind::kMemRdEnd, t.op);
      });
    }
    memory_[kOfHost].on_write([this](uint64_t addr, unsigned len, const rtl::op_t& op) {
      for (auto& fn : hub_.host_write_) fn(addr, len, op);
    });
    memory_[kOfGpu].on_write([this](uint64_t addr, unsigned len, const rtl::op_t&) {
      for (auto& fn : hub_.gpu_write_) fn(addr, len);
    });
  }

  static bool of_nic(const Tlp& t) { return t.requester_id() != kCpuId && t.requester_id() != kGpuId; }

  // ---- At the memories ----
  Time arrive(Side side, Tlp t, const Time& at) {
    Completer& memory = memory_[side];
    if (t.is_completion()) {
      // Completions push writes: who sees the data of a read sees what was written before it.
      const Time when = std::max(at, memory.pushed_by_completion(t));
      later_.at(when, [this, side, t = std::move(t)] { answer(side, t); });
      return at;
    }
    const bool nic = of_nic(t);
    if (t.is_mem_write()) {
      if (side == kOfHost && t.address() - kIrqBase < kIrqSize && t.length_dw() == 1 && t.first_be() == 0xf) {
        // Seen after what was written before it, as by a completion.
        later_.at(std::max(at, memory.pushed_by_completion(t)), [this, t = std::move(t)] {
          uint32_t data = 0;
          for (unsigned b = 0; b < 4; ++b) data |= uint32_t{t.data[b]} << 8 * b;
          for (auto& fn : hub_.message_) fn(t.address(), data);
        });
        return at;
      }
      if (nic && side == kOfHost) ++host_writes_, host_write_bytes_ += t.data.size();
      return memory.write(std::move(t), at).taken;
    }
    const rtl::op_t op = t.op;
    const unsigned bytes = byte_count(t);
    const auto access = memory.read(std::move(t), at);
    if (nic && access.inside) {
      Usage::Reads& used = reads_[side];
      ++used.count;
      used.bytes += bytes;
      used.held_ps += to_ps(access.done) - to_ps(at);
      if (!observers_.empty()) {
        if (at == DelayQueue::now()) {
          event(EventKind::kMemRdStart, op);
        } else {
          later_.at(
              at, [this, op] { event(EventKind::kMemRdStart, op); }, kModel);
        }
      }
    }
    return access.taken;
  }

  /// A completion leaves a memory.
  void completion(Side side, Tlp t) {
    const auto to = Topology::destination(t);
    if (to == (side == kOfHost ? Topology::kHost : Topology::kGpu)) {
      later_.after(sc_core::SC_ZERO_TIME, [this, side, t = std::move(t)] { answer(side, t); });
    } else if (side == kOfHost) {
      topology_.from_host(std::move(t), DelayQueue::now());
    } else {
      topology_.from_gpu(std::move(t));
    }
  }

  FaultPlan fault(Side side, const Tlp& t) {
    if (!of_nic(t)) return {};
    const uint64_t n = arrived_reads_[side]++;
    const auto it = plans_[side].find(n);
    if (it != plans_[side].end()) {
      const FaultPlan plan = it->second;
      plans_[side].erase(it);
      return plan;
    }
    return on_nic_read_ ? on_nic_read_(side == kOfGpu ? Where::kGpu : Where::kHost, t) : FaultPlan{};
  }

  // ---- Refused ----
  bool well_formed(const Tlp& t) {
    const char* what = malformed(t, mps_);
    if (!what) return true;
    // The first few are named; the counter has them all.
    if (counters_.malformed++ < 8) spdlog::warn("{}: malformed TLP dropped: {}: {}", hub_.name(), what, t.describe());
    return false;
  }

  void unsupported(Tlp t) {
    if (t.is_mem_write()) {
      ++counters_.unsupported_write;
      return;
    }
    ++counters_.unsupported_read;
    topology_.from_host(make_completion(t, kCpuId, rtl::pcie_pkg::StatusUr, byte_count(t), 0, {}), DelayQueue::now());
  }

  // ---- Stores and loads of the CPU and the GPU ----
  /// A request leaves its initiator `after` from now.
  void start(Side side, Tlp t, const Time& after) {
    if (side == kOfHost) return topology_.from_host(std::move(t), DelayQueue::now() + after);
    ++starting_;
    later_.after(
        after,
        [this, t = std::move(t)]() mutable {
          --starting_;
          if (Topology::destination(t) == Topology::kGpu) {
            arrive(kOfGpu, std::move(t), DelayQueue::now());  // stays inside the GPU
          } else {
            topology_.from_gpu(std::move(t));
          }
        },
        kModel);
  }

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
    std::set<unsigned> lost;  ///< tags of loads from a NIC that is gone
  };

  void issue(Side side, Load load) {
    Loads& c = loads_[side];
    if (c.free.empty()) {
      c.waiting.push_back(std::move(load));
      return;
    }
    const unsigned tag = c.free.front();
    c.free.pop_front();
    const Tlp t = make_mem_read(load.addr, load.len, side == kOfGpu ? kGpuId : kCpuId, tag);
    c.open.emplace(tag, std::move(load));
    start(side, t, {});
  }

  void answer(Side side, const Tlp& t) {
    Loads& c = loads_[side];
    const auto it = c.open.find(t.tag());
    if (it == c.open.end()) {
      if (c.lost.erase(t.tag()) != 0) {
        c.free.push_back(t.tag());
        return next(side);
      }
      ++counters_.unexpected_cpl;
      return;
    }
    Load& load = it->second;
    const bool ok = ((t.hdr[1] >> 13) & 7) == rtl::pcie_pkg::StatusSc && t.has_data() && !t.poisoned();
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
    next(side);
    finished.done(std::move(finished.got));
  }

  void next(Side side) {
    Loads& c = loads_[side];
    if (c.waiting.empty()) return;
    Load load = std::move(c.waiting.front());
    c.waiting.pop_front();
    issue(side, std::move(load));
  }

  void check_mmio(uint64_t addr, unsigned len) const {
    if (len == 0 || len > kMaxMmio || (addr & 0xfff) + len > 4096) {
      throw SimError(fmt::format("{}: an MMIO access is of 1..{} B within a 4 KiB page, not {} B at {:#x}", hub_.name(),
                                 kMaxMmio, len, addr));
    }
  }

  void event(EventKind kind, const rtl::op_t& op) {
    if (!observers_.empty()) observers_.event(Event{kind, DelayQueue::now_ps(), 0, op, nic_id_, 0});
  }

  // ---- Surprise removal ----
  void take_down() {
    if (!topology_.nic_up()) return;
    topology_.take_down_nic();
    for (Loads& c : loads_) {
      for (auto it = c.open.begin(); it != c.open.end();) {
        Load& load = it->second;
        if (Topology::destination(make_mem_read(load.addr, load.len, 0, 0)) != Topology::kNic) {
          ++it;
          continue;
        }
        later_.after(sc_core::SC_ZERO_TIME, [done = std::move(load.done)] { done({}); });
        c.lost.insert(it->first);
        it = c.open.erase(it);
      }
    }
  }

  void bring_up() {
    topology_.bring_up_nic();
    for (const Side side : {kOfHost, kOfGpu}) {
      Loads& c = loads_[side];
      c.free.insert(c.free.end(), c.lost.begin(), c.lost.end());
      c.lost.clear();
      while (!c.waiting.empty() && !c.free.empty()) next(side);
    }
  }

  bool idle() const {
    return starting_ == 0 && loads_[0].open.empty() && loads_[1].open.empty() && memory_[0].idle() &&
           memory_[1].idle() && topology_.idle();
  }

  std::string pending() const {
    std::string text;
    const auto add = [&](const std::string& s) {
      if (!s.empty()) text += (text.empty() ? "" : "; ") + s;
    };
    if (starting_ != 0) add(fmt::format("{} requests of CPU and GPU not yet out", starting_));
    for (const Side side : {kOfHost, kOfGpu}) {
      const size_t n = loads_[side].open.size() + loads_[side].waiting.size();
      if (n != 0) add(fmt::format("{} loads of the {} not answered", n, side == kOfGpu ? "GPU" : "CPU"));
      add(memory_[side].pending());
    }
    add(topology_.pending());
    return text;
  }

  Hub& hub_;
  Observers& observers_;
  const unsigned nic_id_;
  DelayQueue later_;
  Topology topology_;
  std::array<std::unique_ptr<MemoryTiming>, 2> timing_;  ///< by Side
  std::array<Completer, 2> memory_;
  const Time host_mmio_, gpu_mmio_;
  const unsigned mps_;
  std::array<Usage::Reads, 2> reads_;
  uint64_t host_writes_ = 0, host_write_bytes_ = 0;
  std::array<Loads, 2> loads_;
  uint64_t starting_ = 0;
  std::array<uint64_t, 2> arrived_reads_{};
  std::array<std::map<uint64_t, FaultPlan>, 2> plans_;  ///< by the number of the read
  std::function<FaultPlan(Where, const Tlp&)> on_nic_read_;
  Counters counters_;  ///< without the memories' own
  Counters shown_;     ///< with them
};

Hub::Hub(sc_core::sc_module_name name, const Profile& profile, Observers& observers, unsigned nic_id)
    : sc_module(name), host_(kHostSize), gpu_(kGpuSize), gpu_pages_(kGpuSize) {
  impl_ = std::make_shared<Impl>(*this, profile, observers, nic_id);
}

DelayQueue& Hub::queue() { return impl_->later_; }

void Hub::from_nic(Tlp tlp, const Time& edge) { impl_->topology_.from_nic(std::move(tlp), edge); }
bool Hub::nic_tx_ready(const Time& edge) const { return impl_->topology_.nic_link().ready(kDown, edge); }
rtl::pcie_fc_t Hub::nic_credits(const Time& edge) const { return impl_->topology_.nic_link().limits(kDown, edge); }
void Hub::nic_cancelled(const Tlp& tlp, const Time& edge) { impl_->topology_.cancelled(tlp, edge); }

const Hub::Counters& Hub::counters() const {
  impl_->shown_ = impl_->counters_;
  for (const Completer& m : impl_->memory_) {
    impl_->shown_.unsupported_read += m.counters().unsupported_read;
    impl_->shown_.unsupported_write += m.counters().unsupported_write;
    impl_->shown_.unpinned_read += m.counters().unpinned_read;
    impl_->shown_.unpinned_write += m.counters().unpinned_write;
    impl_->shown_.faults += m.counters().faults;
  }
  return impl_->shown_;
}

Link::Counters Hub::nic_link(End from, uint64_t now_ps) const {
  return impl_->topology_.nic_link().counters(from, now_ps);
}

Hub::Usage Hub::usage(uint64_t now_ps) const {
  const Impl& i = *impl_;
  const auto link = [&](const Link& l, End from) {
    const Link::Counters c = l.counters(from, now_ps);
    return Usage::Link{c.tlps, c.tlp_bytes, c.busy_ps, c.dllp_bytes, c.replayed};
  };
  const Link &nic = i.topology_.nic_link(), &gpu = i.topology_.gpu_link();
  const auto credits = nic.credits_used(kDown, now_ps);
  return {link(nic, kDown),   link(nic, kUp), link(gpu, kDown),        link(gpu, kUp),         credits.ph,
          credits.pd,         credits.nph,    i.reads_[Impl::kOfHost], i.reads_[Impl::kOfGpu], i.host_writes_,
          i.host_write_bytes_};
}

bool Hub::idle() const { return impl_->idle(); }
std::string Hub::pending() const { return impl_->pending(); }
const char* Hub::distance() const { return distance_name(impl_->topology_.distance()); }
std::vector<Hop> Hub::way(Where where) const {
  return impl_->topology_.way(Topology::kNic, where == Where::kGpu ? Topology::kGpu : Topology::kHost);
}
std::vector<Hop> Hub::way(Topology::Port from, Topology::Port to) const { return impl_->topology_.way(from, to); }

void Hub::inject(Where where, uint64_t nth, const FaultPlan& plan) {
  const auto side = where == Where::kGpu ? Impl::kOfGpu : Impl::kOfHost;
  impl_->plans_[side][impl_->arrived_reads_[side] + nth] = plan;
}
void Hub::on_nic_read(std::function<FaultPlan(Where, const Tlp&)> fn) { impl_->on_nic_read_ = std::move(fn); }
void Hub::inject_completion(Tlp completion) { impl_->topology_.from_host(std::move(completion), DelayQueue::now()); }

const MemoryTiming::Counters& Hub::memory_counters(Where where) const {
  return impl_->timing_[where == Where::kGpu ? Impl::kOfGpu : Impl::kOfHost]->counters();
}
void Hub::cpu_touch(uint64_t offset, uint64_t bytes) { impl_->timing_[Impl::kOfHost]->touch(offset, bytes); }
void Hub::cpu_flush() { impl_->timing_[Impl::kOfHost]->flush(); }
void Hub::set_gpu_load(double gbps) { impl_->timing_[Impl::kOfGpu]->set_load(DelayQueue::now_ps(), gbps); }
uint64_t Hub::gpu_access_ps(uint64_t offset, uint64_t bytes, uint64_t from_ps) {
  return impl_->timing_[Impl::kOfGpu]->local(from_ps, offset, bytes);
}

void Hub::take_down_nic() { impl_->take_down(); }
void Hub::bring_up_nic() { impl_->bring_up(); }
bool Hub::nic_up() const { return impl_->topology_.nic_up(); }

void Hub::mmio_write(Initiator who, uint64_t addr, const uint8_t* bytes, unsigned len, const rtl::op_t& op) {
  impl_->check_mmio(addr, len);
  const bool gpu = who == Initiator::kGpu;
  Tlp t = make_mem_write(addr, bytes, len, gpu ? kGpuId : kCpuId);
  t.op = op;
  impl_->start(gpu ? Impl::kOfGpu : Impl::kOfHost, std::move(t), gpu ? impl_->gpu_mmio_ : impl_->host_mmio_);
}

bool Hub::gpu_write(uint64_t addr, const uint8_t* bytes, unsigned len) {
  if (len == 0 || len > impl_->mps_ || (addr & 0xfff) + len > 4096) {
    throw SimError(fmt::format("{}: a write of the GPU is of 1..{} B within a 4 KiB page, not {} B at {:#x}", name(),
                               impl_->mps_, len, addr));
  }
  const Time next = DelayQueue::now() + from_ps(1);  // what was handed over now counts, too
  if (!impl_->topology_.gpu_link().ready(kDown, next)) return false;
  impl_->topology_.from_gpu(make_mem_write(addr, bytes, len, kGpuId));
  return true;
}

void Hub::mmio_read(Initiator who, uint64_t addr, unsigned len, std::function<void(std::vector<uint8_t>)> done) {
  impl_->check_mmio(addr, len);
  const bool gpu = who == Initiator::kGpu;
  ++impl_->starting_;
  impl_->later_.after(
      gpu ? impl_->gpu_mmio_ : impl_->host_mmio_,
      [i = impl_.get(), gpu, load = Impl::Load{addr, len, std::move(done), {}}]() mutable {
        --i->starting_;
        i->issue(gpu ? Impl::kOfGpu : Impl::kOfHost, std::move(load));
      },
      kModel);
}

}  // namespace rnic::pcie
