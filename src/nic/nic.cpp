// SPDX-License-Identifier: Apache-2.0
// Owns the Verilated rnic_top; Verilator's headers must come before <systemc>.
#include <Vrnic_top.h>
#include "core/verilated_process.h"

#include "rnic/nic/nic.h"

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <variant>

#include <fmt/format.h>

#include "nic/open_reads.h"
#include "nic/record.h"
#include "pcie/tlp_beats.h"
#include "rnic/core/delay_queue.h"
#include "rnic/core/error.h"
#include "rnic/mem/l2.h"
#include "rnic/regs/regs.h"

namespace rnic {
namespace {

constexpr unsigned kResetCycles = 4;
constexpr unsigned kFlrCycles = 8;  ///< that flr_i is held, and then as many until the RTL has gone through it
constexpr unsigned kPorts = 1;

/// Bits of probe_t that are pulses.
rtl::probe_t::Words pulse_mask() {
  rtl::probe_t p;
  p.db = p.wqe = p.rd = p.rd_done = p.mac = p.cqe = true;
  return p.pack();
}

template <size_t N>
bool any(const VlWide<N>& w, const std::array<uint32_t, N>& mask) {
  uint32_t hit = 0;
  for (size_t i = 0; i < N; ++i) hit |= w[i] & mask[i];
  return hit != 0;
}

template <size_t N>
void copy_words(VlWide<N>& port, const std::array<uint32_t, N>& words) {
  for (size_t i = 0; i < N; ++i) port[i] = words[i];
}

/// Something that arrived at a pin: the first edge after ps sees it.
template <class T>
struct Arrival {
  uint64_t ps;
  T item;
};

/// A write to the MSI-X table, on its way to the RTL.
struct MsixWrite {
  unsigned vector, reg;
  uint32_t value;
};

/// A GPUDirect window as it is from now on, on its way to the RTL.
struct WindowWrite {
  unsigned index;
  rtl::window_t window;
};

ThermalLimits thermal_limits(const Profile& p) {
  const ThermalLimits limits{p.number("health.temperature_warning"), p.number("health.temperature_critical"),
                             p.number("health.temperature_hysteresis")};
  if (limits.warning > limits.critical) {
    const auto& e = p.entry("health.temperature_warning");
    throw InputError(e.file, e.line, "health.temperature_warning",
                     fmt::format("{} C is above health.temperature_critical, {} C", limits.warning, limits.critical));
  }
  return limits;
}

}  // namespace

struct Nic::Impl : public VerilatedProcess<Nic::Impl, Vrnic_top>, public BarClient, public Observer {
  Impl(Nic& self, const Profile& profile, pcie::Hub& hub, Observers& observers, const NicOptions& options)
      : VerilatedProcess(self.name(), {options.phase_ps, to_ps(profile.time("clock.core_period")), options.skip_idle,
                                       options.randomize, options.seed, options.trace}),
        hub(hub),
        observers(observers),
        options(options),
        decode_latency(profile.time("bar.decode_latency")),
        config({static_cast<unsigned>(profile.integer("pcie.generation")),
                static_cast<unsigned>(profile.integer("pcie.lanes")), 5,
                static_cast<unsigned>(profile.integer("pcie.cplh_credits")),
                static_cast<unsigned>(profile.integer("pcie.cpld_credits"))}),
        devmem(uint64_t{256} << 20),
        l2(profile, devmem.size()),
        bars(config, devmem, *this),
        later("decode"),
        reads(profile) {
    for (unsigned p = 0; p < kPorts; ++p) {
      macs.push_back(std::make_unique<net::Mac>(fmt::format("mac{}", p).c_str(), profile, observers, options.id, p));
    }
    bars.provide("tx_packets_phy", [this] { return macs[0]->tx_packets(); });
    bars.provide("tx_bytes_phy", [this] { return macs[0]->tx_bytes(); });
    provide_counters();
    bars.set_thermal_limits(thermal_limits(profile));
    bars.set_temperature(profile.number("health.temperature"));
    bars.provide("l2_hit", [this] { return l2.hits(); });
    bars.provide("l2_miss", [this] { return l2.misses(); });
    run_queue(&hub.queue());
    run_queue(&later);
    for (auto& m : macs) {
      run_queue(&m->queue());
      m->on_pause_change([this] { wake(); });
    }
    config.on_change = [this] { apply_config(); };
    config.on_flr = [this] { function_level_reset(); };
    config.before_read = [this] { report_link_errors(); };
    config.transactions_pending = [this] { return reads.pending(now(), timeout_ns()); };
    top->flr_i = 0;
    top->evt_ready_i = 1;
    top->rate_valid_i = 0;  // nobody gives tokens yet
    top->mac_rx_valid_i = 0;
    top->dm_req_ready_i = 1;
    top->tlp_tx_ready_i = 1;
    top->mac_tx_ready_i = (1u << kPorts) - 1;
    apply_config();
    rtl::sched_cfg_t sched;
    sched.strict = static_cast<uint8_t>(profile.integer("sched.strict_priorities"));
    for (unsigned p = 0; p < 8; ++p) sched.weights |= profile.integer(fmt::format("sched.weight_prio{}", p)) << (8 * p);
    rtl::drive(top->sched_cfg_i, sched);
    if (wave) observers.add(this);
    if (!options.record_path.empty()) recorder = std::make_unique<StimulusWriter>(options.record_path);
    if (recorder && !recorder->good()) throw InputError("cannot write the stimulus " + options.record_path);
  }

  // ---- What arrives at the pins ------------------------------------------------------------------------------------

  void doorbell(const rtl::doorbell_t& db) override {
    mmio.push_back({now(), db});
    wake();
  }
  void command(const rtl::cmd_t& cmd) override {
    mmio.push_back({now(), cmd});
    wake();
  }
  void msix_table(unsigned vector, unsigned reg, uint32_t value) override {
    mmio.push_back({now(), MsixWrite{vector, reg, value}});
    wake();
  }
  uint64_t msix_pending() const override { return top->msix_pending_o; }
  void window(unsigned index, const rtl::window_t& window) override {
    mmio.push_back({now(), WindowWrite{index, window}});
    wake();
  }
  bool windows_busy() const override {
    return top->win_busy_o || std::any_of(mmio.begin(), mmio.end(), [](const auto& m) {
             const auto* c = std::get_if<rtl::cmd_t>(&m.item);
             return std::get_if<WindowWrite>(&m.item) || (c && c->op == rtl::rnic_pkg::CmdMkeyModify);
           });
  }

  /// A memory request for the BAR decoder, after its latency. At the picosecond of an edge the edge comes first,
  /// whichever process the kernel runs first: device memory, counters and the link to the hub are shared with the RTL.
  void decode(pcie::Tlp tlp) {
    requests.push_back(std::move(tlp));
    if (sleeping() || next_edge() != now()) serve_requests();
  }

  void serve_requests() {
    while (!requests.empty()) {
      const pcie::Tlp tlp = std::move(requests.front());
      requests.pop_front();
      if (!config.present()) continue;
      memory_wait = 0;
      auto cpl = bars.request(tlp, now() / 1000);
      if (!cpl) continue;
      if (memory_wait == 0) {
        answer(std::move(*cpl));
        continue;
      }
      later.after(
          from_ps(memory_wait),
          [this, life = lives, cpl = std::move(*cpl)]() mutable {
            if (life == lives) answer(std::move(cpl));
          },
          DelayQueue::Kind::kModel);
    }
  }

  void answer(pcie::Tlp cpl) {
    observers.tlp({options.id, true, now(), &cpl});
    hub.from_nic(std::move(cpl));
  }

  /// The driver's accesses go through the L2, too. What a hit takes belongs to the decoder's latency.
  void device_memory_access(uint64_t offset, unsigned bytes, bool write) override {
    const uint64_t ready = l2.access(now(), offset, bytes, write);
    memory_wait = write ? 0 : ready - l2.hit_ps() - now();
  }

  void completion(const pcie::Tlp& tlp) {
    const uint64_t t = now();
    reads.answered(tlp, t, timeout_ns());
    pcie::to_beats(tlp, [&](const rtl::tlp_beat_t::Words& beat) { tlp_rx.push_back({t, beat}); });
    wake();
  }

  // ---- Clock ----

  static uint64_t now() { return DelayQueue::now_ps(); }

  bool pins_quiet() const { return mmio.empty() && tlp_rx.empty() && dm_rsp.empty(); }

  bool may_sleep() const {
    return !flr_from && (top->idle_o || !config.present()) && pins_quiet() && cycle_of(next_edge()) >= awake_until;
  }

  /// The first edge whose now_i is there.
  uint64_t timer_ps() const { return top->timer_valid_o && config.present() ? top->timer_deadline_o * 1000 : kNever; }

  void drive_inputs(uint64_t t) {
    const uint64_t n = cycle_of(t);
    const bool running = config.present() && n >= reset_until;
    top->rst_ni = running;
    if (flr_from) step_flr(t, n);
    top->cycle_i = n;
    top->now_i = t / 1000;

    // Valid goes down after the edge that took the item
    if (!mmio_shown) top->db_valid_i = 0, top->cmd_valid_i = 0, top->msix_we_i = 0, top->win_we_i = 0;
    if (!rx_shown) top->tlp_rx_valid_i = 0;

    // MMIO in order, one at a time
    if (!mmio_shown && running && !flr_from && !mmio.empty() && mmio.front().ps < t) {
      mmio_shown = true;
      if (const auto* db = std::get_if<rtl::doorbell_t>(&mmio.front().item)) {
        copy_words(top->db_i, db->pack());
        top->db_valid_i = 1;
      } else if (const auto* w = std::get_if<MsixWrite>(&mmio.front().item)) {
        top->msix_idx_i = static_cast<uint8_t>(w->vector);
        top->msix_reg_i = static_cast<uint8_t>(w->reg);
        top->msix_wdata_i = w->value;
        top->msix_we_i = 1;
      } else if (const auto* win = std::get_if<WindowWrite>(&mmio.front().item)) {
        top->win_idx_i = static_cast<uint8_t>(win->index);
        rtl::drive(top->win_i, win->window);
        top->win_we_i = 1;
      } else {
        rtl::drive(top->cmd_i, std::get<rtl::cmd_t>(mmio.front().item));
        top->cmd_valid_i = 1;
      }
    }
    if (!rx_shown && running && !tlp_rx.empty() && tlp_rx.front().ps < t) {
      rx_shown = true;
      copy_words(top->tlp_rx_i, tlp_rx.front().item);
      top->tlp_rx_valid_i = 1;
    }
    const bool rsp = !dm_rsp.empty() && dm_rsp.front().ps < t;
    if (rsp) {
      copy_words(top->dm_rsp_i, dm_rsp.front().item);
      dm_rsp.pop_front();
    }
    top->dm_rsp_valid_i = rsp;

    uint32_t pause = 0;
    for (unsigned p = 0; p < kPorts; ++p) pause |= uint32_t{macs[p]->paused(from_ps(t))} << (8 * p);
    top->mac_pause_i = pause;

    // Ready is worked out only where something is offered: the valids are registers, so they are known here.
    const Time at = from_ps(t);
    if (top->tlp_tx_valid_o) top->tlp_tx_ready_i = hub.nic_tx_ready(at);
    const auto fc = hub.nic_credits(at).pack();
    if (fc != fc_shown) {
      fc_shown = fc;
      top->pcie_fc_i = fc[0];
    }
    for (unsigned p = 0; p < kPorts; ++p) {
      const uint32_t bit = 1u << p;
      if ((top->mac_tx_valid_o & bit) == 0) continue;
      if (!offered[p]) offered[p] = rtl::mac_beat_t::unpack_at(&top->mac_tx_o[0], p * rtl::mac_beat_t::kWidth).prio;
      top->mac_tx_ready_i = macs[p]->ready(at, *offered[p]) ? top->mac_tx_ready_i | bit : top->mac_tx_ready_i & ~bit;
    }
  }

  void take_outputs(uint64_t t) {
    if (recorder) visit_inputs(*top, *recorder);
    take_handshakes(t);
    if (!requests.empty()) serve_requests();
  }

  void after_edge(uint64_t) { apply_deferred(); }

  /// Handshakes of the edge at t, from the values before it.
  void take_handshakes(uint64_t t) {
    if (!top->rst_ni) return;
    if (mmio_shown) {
      if (top->db_valid_i ? top->db_ready_o : !top->cmd_valid_i || top->cmd_ready_o) {
        mmio.pop_front();
        mmio_shown = false;
        ++used.doorbells;
      } else {
        ++used.doorbell_wait;
      }
    }
    if (rx_shown && top->tlp_rx_ready_o) {
      ++used.tlp_rx_beats;
      tlp_rx.pop_front();
      rx_shown = false;
    }
    // Probes first: the models below report what follows from the handshake.
    if (any(top->probe_o, probe_mask)) report_probes(t);
    if (top->stat_o != 0) {
      const auto s = rtl::sample<rtl::stat_t>(top->stat_o);
      bars.count(s);
      report_errors(s, t);
    }
    if (top->evt_valid_o) {
      const auto e = rtl::sample<rtl::event_t>(top->evt_o);
      bars.log(e, t / 1000);
      observers.error({options.id, t, e});
    }
    if (top->dm_req_valid_o) device_memory_request(t);
    if (top->tlp_tx_valid_o) {
      ++(top->tlp_tx_ready_i ? used.tlp_tx_beats : used.tlp_tx_wait);
      if (top->tlp_tx_ready_i) tlp_beat(t);
    }
    for (unsigned p = 0; p < kPorts; ++p) {
      if ((top->mac_tx_valid_o >> p & 1) == 0) continue;
      const bool ready = top->mac_tx_ready_i >> p & 1;
      ++(ready ? used.mac_beats : used.mac_wait);
      if (ready) {
        const auto beat = rtl::mac_beat_t::unpack_at(&top->mac_tx_o[0], p * rtl::mac_beat_t::kWidth);
        macs[p]->accept(beat, from_ps(t));
        if (beat.eop) offered[p].reset();
      }
    }
  }

  void device_memory_request(uint64_t t) {
    const auto r = rtl::sample<rtl::dm_req_t>(top->dm_req_o);
    used.dm_blocks += !r.write && r.two ? 2 : 1;
    auto* bytes = reinterpret_cast<const uint8_t*>(r.data.data());
    if (r.write) {
      if (r.strb != 0) l2.access(t, r.addr, r.strb == ~uint64_t{0} ? 64 : 1, true);
      for (unsigned i = 0; i < 64; ++i) {
        if (r.strb >> i & 1) devmem.write(r.addr + i, bytes + i, 1);
      }
      return;
    }
    dm_ready = std::max(dm_ready, l2.access(t, r.addr, r.two ? 128 : 64, false));  // answers stay in order
    observers.event({EventKind::kDmReq, t, 0, {}, options.id, 0, static_cast<uint32_t>(r.addr)});
    observers.event({EventKind::kDmRsp, dm_ready, 0, {}, options.id, 0});
    for (unsigned b = 0; b < (r.two ? 2u : 1u); ++b) {
      rtl::dm_rsp_t rsp;
      rsp.last = b == (r.two ? 1u : 0u);
      devmem.read(r.addr + 64 * b, reinterpret_cast<uint8_t*>(rsp.data.data()), 64);
      dm_rsp.push_back({dm_ready, rsp.pack()});
    }
  }

  void tlp_beat(uint64_t t) {
    const auto b = rtl::sample<rtl::tlp_beat_t>(top->tlp_tx_o);
    if (b.sop && leaving.open()) nullify(t);
    if (!leaving.add(b)) return;
    pcie::Tlp tlp = leaving.take();
    if (tlp.is_mem_read()) {
      reads.asked(tlp, t, timeout_ns());
      observers.event({EventKind::kRdPins, t, 0, tlp.op, options.id, 0});
    }
    observers.tlp({options.id, true, t, &tlp});
    hub.from_nic(std::move(tlp), from_ps(t));
  }

  // ---- Resets ------------------------------------------------------------------------------------------------------

  /// Software has set Initiate FLR; the configuration space is reset already. Completions of the old life still go to
  /// the RTL, which knows their tags; doorbells and commands are lost.
  void function_level_reset() {
    bars.function_level_reset(now() / 1000);
    reads.forsake();
    wake();
    const uint64_t n = cycle_of(next_edge());
    flr_from = n;
    awake_until = std::max(awake_until, n + 2 * kFlrCycles + 1);
  }

  /// The edge of number n, at t.
  void step_flr(uint64_t t, uint64_t n) {
    top->flr_i = n < *flr_from + kFlrCycles;
    // From the next edge on the RTL is in reset, and nothing may be offered to it; what is offered is taken away.
    if (n == *flr_from + 1 || n == *flr_from + kFlrCycles - 1) lose_requests(t);
    if (n == *flr_from + kFlrCycles - 1) drive_config();
    // A beat that stands at the pins still goes; the rest of its TLP does not come. The RTL waits for device memory.
    if (n < *flr_from + 2 * kFlrCycles || top->tlp_tx_valid_o || !dm_rsp.empty()) return;
    flr_from.reset();
    if (leaving.open()) nullify(t);
    bars.up(t / 1000);
    drive_config();
  }

  void lose_requests(uint64_t t) {
    mmio.clear();
    mmio_shown = false;
    for (unsigned p = 0; p < kPorts; ++p) {
      macs[p]->cut_off(from_ps(t));
      offered[p].reset();
    }
  }

  /// A TLP ends without its last beat: it never was, but took credits.
  void nullify(uint64_t t) { hub.nic_cancelled(leaving.take(), from_ps(t)); }

  void remove() {
    if (!config.present()) return;
    old_link = link_counts();
    config.set_present(false);
    hub.take_down_nic();
    bars.power_off(now() / 1000);
    lose_requests(now());
    dm_rsp.clear();
    ++lives;
    tlp_rx.clear();
    rx_shown = false;
    requests.clear();
    leaving.take();
    reads.clear(now());
    for (auto& m : macs) m->power_off();
    reset_again(kNever);
  }

  void insert() {
    if (config.present()) return;
    config.set_present(true);
    hub.bring_up_nic();
    link_errors = {};
    bars.up(now() / 1000);
    reset_again(0);
  }

  /// Reset for some edges from the next one on, or as long as the NIC is away.
  void reset_again(uint64_t at_least) {
    wake();
    const uint64_t until = cycle_of(next_edge()) + kResetCycles;
    flr_from.reset();
    awake_until = until;
    reset_until = std::max(until, at_least);
    top->flr_i = 0;
  }

  // ---- Counters of the models at the pins ----

  uint64_t timeout_ns() const { return config.settings().cpl_timeout; }

  /// A link that comes up again counts from 0.
  struct LinkCounts {
    uint64_t corrupted = 0, sent_again = 0, stalled_rd_ps = 0, stalled_wr_ps = 0;
  };
  LinkCounts link_counts() const {
    if (!config.present()) return old_link;
    const auto received = hub.nic_link(pcie::kUp, now()), sent = hub.nic_link(pcie::kDown, now());
    const auto use = hub.usage(now());
    return {old_link.corrupted + received.bad_lcrc + received.lost_dllps, old_link.sent_again + sent.replayed,
            old_link.stalled_rd_ps + use.nph.none_ps,
            old_link.stalled_wr_ps + std::max(use.ph.none_ps, use.pd.none_ps)};
  }

  void provide_counters() {
    net::Mac& mac = *macs[0];
    bars.provide("tx_vport_rdma_unicast_packets", [&mac] { return mac.tx_unicast_packets(); });
    bars.provide("tx_vport_rdma_unicast_bytes", [&mac] { return mac.tx_unicast_bytes(); });
    bars.provide("rx_pause_ctrl_phy", [&mac] {
      uint64_t n = 0;
      for (unsigned prio = 0; prio < 8; ++prio) n += mac.rx_pause(prio);
      return n;
    });
    for (unsigned prio = 0; prio < 8; ++prio) {
      bars.provide(fmt::format("rx_prio{}_pause", prio), [&mac, prio] { return mac.rx_pause(prio); });
      bars.provide(fmt::format("rx_prio{}_pause_duration", prio),
                   [&mac, prio] { return mac.rx_pause_ps(prio) / 1'000'000; });
    }
    bars.provide("cpl_late", [this] { return reads.late; });
    bars.provide("cpl_stale", [this] { return reads.stale; });
    bars.provide("cpl_slow", [this] { return reads.slow; });
    bars.provide("rx_pci_signal_integrity", [this] { return link_counts().corrupted; });
    bars.provide("tx_pci_signal_integrity", [this] { return link_counts().sent_again; });
    bars.provide("pci_stalled_rd_ns", [this] { return link_counts().stalled_rd_ps / 1000; });
    bars.provide("pci_stalled_wr_ns", [this] { return link_counts().stalled_wr_ps / 1000; });
    bars.provide("pci_stalled_cpl_ns", [this] { return reads.room(now()).none_ps / 1000; });
  }

  // ---- Errors ----

  void report_errors(const rtl::stat_t& s, uint64_t t) {
    const auto tell = [&](PcieError error, const std::array<uint32_t, 4>* header) {
      error == PcieError::kPoisoned ? config.received_poisoned_completion(header) : config.report(error, header);
      log_pcie(error, t);
    };
    if (s.cpl_ur) config.received_abort(false);
    if (s.cpl_ca) config.received_abort(true);
    if (s.cpl_poisoned) tell(PcieError::kPoisoned, &reads.poisoned);
    if (s.cpl_unexpected) tell(PcieError::kUnexpectedCpl, &reads.unexpected);
    if (s.cpl_malformed) tell(PcieError::kMalformed, &reads.malformed);
    if (s.cpl_timeout) tell(PcieError::kCplTimeout, nullptr);
  }

  void log_pcie(PcieError error, uint64_t t) {
    rtl::event_t e;
    e.kind = static_cast<uint8_t>(regs::EventKind::kPcie);
    e.vendor = static_cast<uint8_t>(error);
    bars.log(e, t / 1000);
    observers.error({options.id, t, e});
  }

  /// Errors that the link has corrected since the last look.
  void report_link_errors() {
    const auto received = hub.nic_link(pcie::kUp, now()), sent = hub.nic_link(pcie::kDown, now());
    const std::pair<PcieError, uint64_t> errors[] = {{PcieError::kBadTlp, received.bad_lcrc},
                                                     {PcieError::kBadDllp, received.lost_dllps},
                                                     {PcieError::kReplayTimeout, sent.replay_timeouts},
                                                     {PcieError::kReplayRollover, sent.replay_rollovers}};
    for (size_t i = 0; i < link_errors.size(); ++i) {
      if (errors[i].second > link_errors[i]) {
        config.report(errors[i].first);
        log_pcie(errors[i].first, now());
      }
      link_errors[i] = errors[i].second;
    }
  }

  void report_probes(uint64_t t) {
    if (observers.empty()) return;
    const auto p = rtl::sample<rtl::probe_t>(top->probe_o);
    const auto tell = [&](bool pulse, EventKind kind, const rtl::op_t& op) {
      if (pulse) observers.event({kind, t, 0, op, options.id, 0});
    };
    rtl::op_t db;
    db.qpn = p.db_qpn;
    db.wqe = p.db_pi;
    tell(p.db, EventKind::kDb, db);
    tell(p.wqe, EventKind::kWqe, p.wqe_op);
    tell(p.rd, EventKind::kRdIssue, p.rd_op);
    tell(p.rd_done, EventKind::kRdDone, p.rd_done_op);
    tell(p.mac, EventKind::kMac, p.mac_op);
    tell(p.cqe, EventKind::kCqeIssue, p.cqe_op);
  }

  /// Function-level reset takes the settings back once the RTL is in it.
  void apply_config() {
    if (!flr_from && !config.resetting()) drive_config();
  }

  void drive_config() {
    rtl::drive(top->pcie_cfg_i, config.settings());
    top->msix_en_i = config.msix_enabled();
    top->msix_mask_i = config.msix_masked();
    wake();  // what was pending may go now
  }

  // ---- Waveform ----

  /// Instants of the models become toggles in the same file.
  void on_event(const Event& e) override {
    if (e.nic != options.id || !wave) return;
    switch (e.kind) {
      case EventKind::kDbStore:
        ext.db_store ^= true;
        break;
      case EventKind::kDbPins:
        ext.db_pins ^= true;
        break;
      case EventKind::kMemRdStart:
        ext.mem_rd_start ^= true;
        break;
      case EventKind::kMemRdEnd:
        ext.mem_rd_end ^= true;
        break;
      case EventKind::kWireFirst:
        ext.wire_first ^= true;
        break;
      case EventKind::kWireLast:
        ext.wire_last ^= true;
        break;
      case EventKind::kCqeVisible:
        ext.cqe_visible ^= true;
        break;
      default:
        return;  // an RTL instant: the waveform has it already
    }
    // Models report what happens at one picosecond in any order; the packet shown must not depend on it.
    if (e.ps != ext_ps || e.kind >= ext_kind) ext.op = e.op, ext_kind = e.kind;
    ext_ps = e.ps;
    if (!sleeping() && e.ps == next_edge()) {
      deferred = true;  // this edge is still to come: its inputs lie one picosecond earlier
      return;
    }
    wave->touch(e.ps);
    rtl::drive(top->ext_probe_i, ext);
    top->eval();
  }

  void apply_deferred() {
    if (!deferred) return;
    deferred = false;
    rtl::drive(top->ext_probe_i, ext);
    top->eval();
  }

  pcie::Hub& hub;
  Observers& observers;
  NicOptions options;
  const Time decode_latency;

  std::unique_ptr<StimulusWriter> recorder;
  ConfigSpace config;
  Memory devmem;
  L2 l2;
  BarDecoder bars;
  DelayQueue later;
  std::vector<std::unique_ptr<net::Mac>> macs;

  std::deque<Arrival<std::variant<rtl::doorbell_t, rtl::cmd_t, MsixWrite, WindowWrite>>> mmio;
  std::deque<Arrival<rtl::tlp_beat_t::Words>> tlp_rx;
  std::deque<Arrival<rtl::dm_rsp_t::Words>> dm_rsp;
  std::deque<pcie::Tlp> requests;  ///< decoded at the picosecond of an edge that is still to come
  bool mmio_shown = false, rx_shown = false;
  uint64_t dm_ready = 0;                                ///< of the latest answer of device memory
  uint64_t memory_wait = 0;                             ///< ps that the request being decoded waits for the DDR
  unsigned lives = 0;                                   ///< times that power was taken away
  std::array<std::optional<unsigned>, kPorts> offered;  ///< priority of the frame at the MAC's pins
  rtl::pcie_fc_t::Words fc_shown{};
  const rtl::probe_t::Words probe_mask = pulse_mask();
  pcie::TlpAssembler leaving;
  OpenReads reads;
  std::array<uint64_t, 4> link_errors{};  ///< reported so far
  LinkCounts old_link;                    ///< up to the latest removal

  uint64_t reset_until = kResetCycles, awake_until = kResetCycles;  ///< numbers of edges
  std::optional<uint64_t> flr_from;  ///< the edge from which on flr_i was raised, until it has fallen

  NicUsage used;

  rtl::ext_probe_t ext;
  uint64_t ext_ps = kNever;
  EventKind ext_kind{};
  bool deferred = false;
};

Nic::Nic(sc_core::sc_module_name name, const Profile& profile, pcie::Hub& hub, Observers& observers,
         const NicOptions& options)
    : sc_module(name) {
  observers.add_clock(options.phase_ps, to_ps(profile.time("clock.core_period")));
  impl_ = std::make_unique<Impl>(*this, profile, hub, observers, options);
  hub.attach_nic(this);
  SC_HAS_PROCESS(Nic);
  sc_core::sc_spawn_options method;
  method.spawn_method();
  sc_core::sc_spawn([this] { impl_->clock(); }, "clock", &method);
}

Nic::~Nic() = default;

void Nic::deliver(pcie::Tlp tlp) {
  Impl& i = *impl_;
  if (!i.config.present()) return;  // nobody is there
  const uint64_t t = Impl::now();
  i.observers.tlp({i.options.id, false, t, &tlp});
  if (tlp.is_completion()) {
    i.observers.event({EventKind::kCplPins, t, 0, tlp.op, i.options.id, 0});
    i.completion(tlp);
    return;
  }
  const uint64_t offset = tlp.address() - i.config.bar(0);  // wraps below the base
  const uint64_t reg = offset % regs::bar0::kPageStride;
  const bool bell = reg == regs::bar0::kPageSqDb || reg == regs::bar0::kPageRqDb || reg >= regs::bar0::kPageBf;
  if (tlp.is_mem_write() && offset < ConfigSpace::bar_size(0) && bell) {  // not the queues' consumer indices
    rtl::op_t op = tlp.op;
    op.qpn = static_cast<uint16_t>(offset / regs::bar0::kPageStride);
    i.observers.event({EventKind::kDbPins, t, 0, op, i.options.id, 0});
  }
  if (i.decode_latency == sc_core::SC_ZERO_TIME) return i.decode(std::move(tlp));
  i.later.after(
      i.decode_latency, [&i, tlp = std::move(tlp)]() mutable { i.decode(std::move(tlp)); }, DelayQueue::Kind::kModel);
}

ConfigSpace& Nic::config() { return impl_->config; }
BarDecoder& Nic::bars() { return impl_->bars; }
Memory& Nic::device_memory() { return impl_->devmem; }
void Nic::remove() { impl_->remove(); }
void Nic::insert() { impl_->insert(); }
net::Mac& Nic::mac(unsigned port) { return *impl_->macs.at(port); }
uint64_t Nic::clocked_cycles() const { return impl_->clocked; }
const NicUsage& Nic::usage() const { return impl_->used; }
FailedReads Nic::failed_reads() const { return impl_->reads.failed(impl_->now(), impl_->timeout_ns()); }
CompletionRoom Nic::completion_room() const { return impl_->reads.room(impl_->now()); }
uint64_t Nic::cycle_at(uint64_t ps) const { return ps < impl_->options.phase_ps ? 0 : impl_->cycle_of(ps); }
bool Nic::idle() const {
  const Impl& i = *impl_;
  for (const auto& m : i.macs) {
    if (m->busy()) return false;
  }
  if (!i.later.empty() || !i.requests.empty()) return false;
  if (!i.config.present()) return true;
  return i.pins_quiet() && i.top->idle_o && !i.top->timer_valid_o;
}
std::string Nic::pending() const {
  const Impl& i = *impl_;
  std::vector<std::string> left;
  const auto note = [&](bool is, std::string what) {
    if (is) left.push_back(std::move(what));
  };
  for (unsigned p = 0; p < kPorts; ++p) {
    note(i.macs[p]->busy(), fmt::format("a frame that has not left MAC port {}", p));
  }
  note(!i.later.empty() || !i.requests.empty(), "a request that the BAR decoder has not served");
  if (i.config.present()) {
    note(!i.mmio.empty(), fmt::format("{} doorbells or commands that the RTL has not taken", i.mmio.size()));
    note(!i.tlp_rx.empty(), fmt::format("{} beats of completions that the RTL has not taken", i.tlp_rx.size()));
    note(!i.dm_rsp.empty(), fmt::format("{} blocks of device memory that the RTL has not taken", i.dm_rsp.size()));
    note(i.leaving.open(), "a TLP without its end at the transmit pins");
    note(!i.top->idle_o, "the RTL is not idle");
    note(i.top->timer_valid_o, "a timer of the RTL runs");
    note(i.reads.pending(Impl::now(), i.timeout_ns()),
         fmt::format("tags of {} reads that nobody has answered in full", i.reads.size()));
  }
  return fmt::format("{}", fmt::join(left, "; "));
}
unsigned Nic::assertion_failures() const { return impl_->assertion_failures(); }
void Nic::close_trace() { impl_->close_trace(); }

BuildInfo build_info() {
  return {512,
          static_cast<unsigned>(rtl::rnic_pkg::NumTags),
          256,
          64,
          64,
          kPorts,
          RNICSIM_VERSION,
          Verilated::productVersion(),
          sc_core::sc_release(),
          "g++ " __VERSION__};
}

}  // namespace rnic
