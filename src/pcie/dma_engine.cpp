// SPDX-License-Identifier: Apache-2.0
// Owns the Verilated dma_engine; Verilator's headers must come before <systemc>.
#include <Vdma_engine.h>
#include "core/verilated_process.h"

#include "rnic/pcie/dma_engine.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <utility>

#include <fmt/format.h>

#include "pcie/tlp_beats.h"
#include "rnic/core/delay_queue.h"
#include "rnic/core/error.h"

namespace rnic::pcie {
namespace {

constexpr unsigned kResetCycles = 4;
constexpr size_t kBeatBytes = 64;
constexpr unsigned kMaxBytes = 4096;
// As dma_engine.sv and dma_master.sv share them out.
constexpr unsigned kTags10 = 448, kTags8 = 256 - 32, kTags5 = 32 - 8;

struct Request {
  uint64_t posted_ps;  ///< the first edge after it sees it
  uint64_t addr;
  unsigned len, attr;
  std::vector<uint8_t> data;
  DmaEngine::Callback done;
  DmaTimes at;
};

/// Requests of one kind from the first that is not done.
struct Queue {
  std::deque<Request> all;
  uint64_t first = 0;  ///< number of the first one
  size_t taken = 0;    ///< by the RTL, of those here
  bool shown = false;  ///< the next one is offered
  bool due(uint64_t t) const { return taken < all.size() && all[taken].posted_ps < t; }
  Request* find(uint64_t low24) {
    const uint64_t i = (low24 - first) & 0xffffff;
    return i < all.size() ? &all[i] : nullptr;
  }
};

}  // namespace

struct DmaEngine::Impl : public VerilatedProcess<DmaEngine::Impl, Vdma_engine> {
  Impl(DmaEngine& self, const Profile& profile, Hub& hub, Observers& observers, const DmaEngineOptions& options)
      : VerilatedProcess(self.name(), {options.phase_ps, to_ps(profile.time("clock.core_period")), options.skip_idle,
                                       options.randomize, options.seed, options.trace}),
        self(self),
        hub(hub),
        observers(observers),
        config({static_cast<unsigned>(profile.integer("pcie.generation")),
                static_cast<unsigned>(profile.integer("pcie.lanes")), 5}) {
    run_queue(&hub.queue());
    config.on_change = [this] { rtl::drive(top->pcie_cfg_i, config.settings()); };
    top->rd_valid_i = 0;
    top->wr_valid_i = 0;
    top->wdata_valid_i = 0;
    top->tlp_rx_valid_i = 0;
    top->tlp_tx_ready_i = 1;
    top->pay_ready_i = 1;
    enumerate(config, static_cast<unsigned>(profile.integer("pcie.mps")),
              static_cast<unsigned>(profile.integer("pcie.mrrs")), static_cast<unsigned>(profile.integer("pcie.rcb")),
              static_cast<unsigned>(profile.integer("pcie.tag_bits")));
  }

  /// Now, or the edge in whose handshakes somebody has called.
  uint64_t arrival() const { return std::max(DelayQueue::now_ps(), edge_ps); }

  uint64_t post(Queue& q, Request r) {
    r.posted_ps = arrival();
    q.all.push_back(std::move(r));
    wake();
    return q.first + q.all.size() - 1;
  }

  void completion(const Tlp& tlp) {
    const uint64_t t = DelayQueue::now_ps();
    if (Request* r = tlp.op.qpn == 0 ? reads.find(tlp.op.psn) : nullptr) {
      if (r->at.first_in == 0) r->at.first_in = t;
      r->at.last_in = t;
    }
    to_beats(tlp, [&](const rtl::tlp_beat_t::Words& beat) { rx.push_back({t, beat}); });
    wake();
  }

  // ---- Clock ----

  bool pins_quiet() const { return reads.all.empty() && writes.all.empty() && rx.empty(); }
  bool may_sleep() const { return top->idle_o && pins_quiet() && cycle_of(next_edge()) >= kResetCycles; }
  static uint64_t timer_ps() { return kNever; }

  void drive_inputs(uint64_t t) {
    edge_ps = t;
    const bool running = cycle_of(t) >= kResetCycles;
    // In its first cycle dma_master takes over which tags there are; a read offered then would wait for it.
    const bool open = cycle_of(t) > kResetCycles;
    top->rst_ni = running;
    top->now_i = t / 1000;

    // Valid goes down after the edge that took the item.
    if (!reads.shown) {
      top->rd_valid_i = open && reads.due(t);
      if (top->rd_valid_i) {
        const Request& r = reads.all[reads.taken];
        rtl::rd_req_t q;
        q.addr = r.addr;
        q.len = static_cast<uint16_t>(r.len);
        q.attr = static_cast<uint8_t>(r.attr);
        q.op = op_of(false, reads.first + reads.taken);
        rtl::drive(top->rd_i, q);
        reads.shown = true;
      }
    }
    if (!writes.shown) {
      top->wr_valid_i = open && writes.due(t);
      if (top->wr_valid_i) {
        const Request& r = writes.all[writes.taken];
        rtl::wr_req_t q;
        q.addr = r.addr;
        q.len = static_cast<uint16_t>(r.len);
        q.attr = static_cast<uint8_t>(r.attr);
        q.op = op_of(true, writes.first + writes.taken);
        rtl::drive(top->wr_i, q);
        writes.shown = true;
      }
    }
    if (!data_shown) {
      const size_t i = data_number - writes.first;
      top->wdata_valid_i = running && i < writes.all.size() && writes.all[i].posted_ps < t;
      if (top->wdata_valid_i) {
        const auto& data = writes.all[i].data;
        std::array<uint32_t, kBeatBytes / 4> words{};
        std::memcpy(words.data(), data.data() + data_at, std::min(kBeatBytes, data.size() - data_at));
        std::copy(words.begin(), words.end(), &top->wdata_i[0]);
        data_shown = true;
      }
    }
    if (!rx_shown) {
      top->tlp_rx_valid_i = running && !rx.empty() && rx.front().first < t;
      if (top->tlp_rx_valid_i) {
        std::copy(rx.front().second.begin(), rx.front().second.end(), &top->tlp_rx_i[0]);
        rx_shown = true;
      }
    }

    const Time at = from_ps(t);
    if (top->tlp_tx_valid_o) top->tlp_tx_ready_i = hub.nic_tx_ready(at);
    const auto fc = hub.nic_credits(at).pack();
    if (fc != fc_shown) {
      fc_shown = fc;
      top->pcie_fc_i = fc[0];
    }
  }

  /// Handshakes of the edge at t, from the values before it. What the link takes goes first: callbacks issue more.
  void take_outputs(uint64_t t) {
    if (!top->rst_ni) return;
    if (rx_shown && top->tlp_rx_ready_o) {
      ++used.rx_beats;
      rx.pop_front();
      rx_shown = false;
    }
    if (top->tlp_tx_valid_o) {
      ++(top->tlp_tx_ready_i ? used.tx_beats : used.tx_wait);
      if (top->tlp_tx_ready_i) tlp_beat(t);
    }
    if (reads.shown && top->rd_ready_o) take(reads, t);
    if (writes.shown && top->wr_ready_o) take(writes, t);
    if (data_shown && top->wdata_ready_o) {
      data_shown = false;
      data_at += kBeatBytes;
      if (data_at >= writes.all[data_number - writes.first].data.size()) ++data_number, data_at = 0;
    }
    if (any(top->stat_o)) count(rtl::sample<rtl::stat_t>(top->stat_o));
    if (top->wr_done_o) end_write(t);
    if (top->pay_valid_o) payload_beat(t);
  }

  void after_edge(uint64_t) { edge_ps = 0; }

  static bool any(uint32_t v) { return v != 0; }

  static void take(Queue& q, uint64_t t) {
    q.all[q.taken++].at.accepted = t;
    q.shown = false;
  }

  void count(const rtl::stat_t& s) {
    counts.unexpected += s.cpl_unexpected;
    counts.ur += s.cpl_ur;
    counts.ca += s.cpl_ca;
    counts.poisoned += s.cpl_poisoned;
    counts.timeout += s.cpl_timeout;
    counts.malformed += s.cpl_malformed;
  }

  void end_write(uint64_t t) {
    const auto op = rtl::sample<rtl::op_t>(top->wr_done_op_o);
    if (writes.taken == 0 || op.psn != (writes.first & 0xffffff))
      throw SimError(fmt::format("{}: a write is done that is not the oldest", self.name()));
    finish(writes, t, rtl::rnic_pkg::DmaOk, {});
  }

  void payload_beat(uint64_t t) {
    const auto b = rtl::sample<rtl::payload_t>(top->pay_o);
    if (reads.taken == 0) throw SimError(fmt::format("{}: read data that nobody has asked for", self.name()));
    const auto* bytes = reinterpret_cast<const uint8_t*>(b.data.data());
    const bool bad = b.last && b.status != rtl::rnic_pkg::DmaOk;
    const bool flush = reads.all.front().len == 0;
    if (!bad && !flush) got.insert(got.end(), bytes, bytes + std::min<size_t>(b.bytes, kBeatBytes));
    if (!b.last) return;
    if (bad) got.clear();
    if (!bad && got.size() != reads.all.front().len) {
      throw SimError(fmt::format("{}: a read of {} bytes gave {}", self.name(), reads.all.front().len, got.size()));
    }
    finish(reads, t, b.status, std::exchange(got, {}));
  }

  void finish(Queue& q, uint64_t t, unsigned status, std::vector<uint8_t> data) {
    Request r = std::move(q.all.front());
    r.at.done = t;
    DmaDone d{q.first, status, std::move(data), r.at};
    q.all.pop_front();
    ++q.first;
    --q.taken;
    if (r.done) r.done(d);
  }

  void tlp_beat(uint64_t t) {
    if (!leaving.add(rtl::sample<rtl::tlp_beat_t>(top->tlp_tx_o))) return;
    Tlp tlp = leaving.take();
    Queue& q = tlp.is_mem_write() ? writes : reads;
    if (Request* r = q.find(tlp.op.psn)) {
      if (r->at.first_out == 0) r->at.first_out = t;
      r->at.last_out = t;
    }
    observers.tlp({0, true, t, &tlp});
    hub.from_nic(std::move(tlp), from_ps(t));
  }

  DmaEngine& self;
  Hub& hub;
  Observers& observers;

  ConfigSpace config;

  Queue reads, writes;
  uint64_t data_number = 0;  ///< write whose data go next
  size_t data_at = 0;        ///< its next byte
  bool data_shown = false;
  std::vector<uint8_t> got;  ///< of the oldest read
  std::deque<std::pair<uint64_t, rtl::tlp_beat_t::Words>> rx;
  bool rx_shown = false;
  rtl::pcie_fc_t::Words fc_shown{};
  TlpAssembler leaving;

  Counters counts;
  Usage used;
  uint64_t edge_ps = 0;
};

DmaEngine::DmaEngine(sc_core::sc_module_name name, const Profile& profile, Hub& hub, Observers& observers,
                     const DmaEngineOptions& options)
    : sc_module(name) {
  observers.add_clock(options.phase_ps, to_ps(profile.time("clock.core_period")));
  impl_ = std::make_unique<Impl>(*this, profile, hub, observers, options);
  hub.attach_nic(this);
  SC_HAS_PROCESS(DmaEngine);
  sc_core::sc_spawn_options method;
  method.spawn_method();
  sc_core::sc_spawn([this] { impl_->clock(); }, "clock", &method);
}

DmaEngine::~DmaEngine() = default;

rtl::op_t DmaEngine::op_of(bool write, uint64_t number) {
  rtl::op_t op;
  op.qpn = write ? 1 : 0;
  op.wqe = static_cast<uint16_t>(number >> 24);
  op.psn = static_cast<uint32_t>(number & 0xffffff);
  op.last = true;
  return op;
}

uint64_t DmaEngine::read(uint64_t addr, unsigned len, Callback done, unsigned attr) {
  if (len > kMaxBytes) throw SimError(fmt::format("{}: a read of {} bytes; allowed: 0 to {}", name(), len, kMaxBytes));
  return impl_->post(impl_->reads, {0, addr, len, attr, {}, std::move(done), {}});
}

uint64_t DmaEngine::write(uint64_t addr, std::vector<uint8_t> data, Callback done, unsigned attr) {
  if (data.empty() || data.size() > kMaxBytes) {
    throw SimError(fmt::format("{}: a write of {} bytes; allowed: 1 to {}", name(), data.size(), kMaxBytes));
  }
  const auto len = static_cast<unsigned>(data.size());
  return impl_->post(impl_->writes, {0, addr, len, attr, std::move(data), std::move(done), {}});
}

size_t DmaEngine::open() const { return impl_->reads.all.size() + impl_->writes.all.size(); }
const DmaEngine::Counters& DmaEngine::counters() const { return impl_->counts; }
const DmaEngine::Usage& DmaEngine::usage() const { return impl_->used; }

void DmaEngine::deliver(Tlp tlp) {
  Impl& i = *impl_;
  i.observers.tlp({0, false, DelayQueue::now_ps(), &tlp});
  if (tlp.is_completion()) return i.completion(tlp);
  ++i.counts.refused;
  if (!tlp.is_mem_read()) return;
  Tlp answer = make_completion(tlp, i.config.settings().requester_id, rtl::pcie_pkg::StatusUr, 4, 0, {});
  i.observers.tlp({0, true, DelayQueue::now_ps(), &answer});
  i.hub.from_nic(std::move(answer));
}

ConfigSpace& DmaEngine::config() { return impl_->config; }
unsigned DmaEngine::tags() const {
  const auto s = impl_->config.settings();
  return s.tag10 ? kTags10 : s.ext_tag ? kTags8 : kTags5;
}
uint64_t DmaEngine::period_ps() const { return impl_->ClockProcess::period_ps(); }
uint64_t DmaEngine::clocked_cycles() const { return impl_->clocked; }
bool DmaEngine::idle() const { return impl_->pins_quiet() && impl_->top->idle_o; }
unsigned DmaEngine::assertion_failures() const { return impl_->assertion_failures(); }
void DmaEngine::close_trace() { impl_->close_trace(); }

}  // namespace rnic::pcie
