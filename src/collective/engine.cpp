// SPDX-License-Identifier: Apache-2.0
// Owns the Verilated arp_engine; Verilator's headers must come before <systemc>.
#include <Varp_engine.h>
#include "core/verilated_process.h"

#include "rnic/collective/engine.h"

#include <algorithm>
#include <cstring>
#include <deque>

#include <fmt/format.h>

#include "pcie/tlp_beats.h"
#include "rnic/core/delay_queue.h"
#include "rnic/core/error.h"

namespace rnic::collective {
namespace {

constexpr unsigned kResetCycles = 4;
constexpr size_t kBeatBytes = 64;

/// Something that arrived at a pin: the first edge after ps sees it.
template <class T>
struct Arrival {
  uint64_t ps;
  T item;
};

struct Injection {
  uint16_t row, bit;
};

}  // namespace

struct Engine::Impl : public VerilatedProcess<Engine::Impl, Varp_engine>, public BarClient {
  Impl(Engine& self, const Profile& profile, pcie::Hub& hub, Observers& observers, const EngineOptions& options)
      : VerilatedProcess(self.name(), {options.phase_ps, to_ps(profile.time("clock.core_period")), options.skip_idle,
                                       options.randomize, options.seed, options.trace}),
        self(self),
        hub(hub),
        observers(observers),
        options(options),
        decode_latency(profile.time("bar.decode_latency")),
        config({static_cast<unsigned>(profile.integer("pcie.generation")),
                static_cast<unsigned>(profile.integer("pcie.lanes")), 5}),
        devmem(uint64_t{256} << 20),
        bars(config, devmem, *this),
        later("decode") {
    run_queue(&hub.queue());
    run_queue(&later);
    config.on_change = [this] { rtl::drive(top->pcie_cfg_i, config.settings()); };
    top->cfg_valid_i = 0;
    top->frag_valid_i = 0;
    top->ack_valid_i = 0;
    top->inject_valid_i = 0;
    top->evt_ready_i = 1;
    top->tlp_rx_valid_i = 0;  // it reads nothing, so no completion comes
    top->tlp_tx_ready_i = 1;
    bar_addresses = enumerate(
        config, static_cast<unsigned>(profile.integer("pcie.mps")), static_cast<unsigned>(profile.integer("pcie.mrrs")),
        static_cast<unsigned>(profile.integer("pcie.rcb")), static_cast<unsigned>(profile.integer("pcie.tag_bits")));
  }

  // ---- At the pins ----

  /// Now, or the edge in whose handshakes somebody has called.
  uint64_t arrival() const { return std::max(DelayQueue::now_ps(), edge_ps); }

  template <class T>
  void arrive(std::deque<Arrival<T>>& queue, T item) {
    queue.push_back({arrival(), std::move(item)});
    wake();
  }

  void doorbell(const rtl::doorbell_t&) override {}  // there are no queue pairs
  void command(const rtl::cmd_t&) override {}

  /// A memory request for the BAR decoder; see Nic. An edge at the same time comes first.
  void decode(pcie::Tlp tlp) {
    requests.push_back(std::move(tlp));
    if (sleeping() || next_edge() != DelayQueue::now_ps()) serve_requests();
  }

  void serve_requests() {
    while (!requests.empty()) {
      const pcie::Tlp tlp = std::move(requests.front());
      requests.pop_front();
      const uint64_t now = DelayQueue::now_ps();
      auto cpl = bars.request(tlp, now / 1000);
      if (!cpl) continue;
      observers.tlp({0, true, now, &*cpl});
      hub.from_nic(std::move(*cpl));
    }
  }

  // ---- Clock ----

  bool pins_quiet() const { return groups.empty() && fragments.empty() && acks.empty() && injections.empty(); }
  bool may_sleep() const { return top->idle_o && pins_quiet() && cycle_of(next_edge()) >= kResetCycles; }
  static uint64_t timer_ps() { return kNever; }

  void drive_inputs(uint64_t t) {
    edge_ps = t;
    const bool running = cycle_of(t) >= kResetCycles;
    top->rst_ni = running;
    const auto due = [&](const auto& queue) { return running && !queue.empty() && queue.front().ps < t; };

    if (!group_shown) top->cfg_valid_i = 0;
    if (!group_shown && due(groups) && !beat_shown && beat == 0 && !ack_shown) {
      group_shown = true;
      top->cfg_group_i = groups.front().item.first;
      rtl::drive(top->cfg_i, groups.front().item.second);
      top->cfg_valid_i = 1;
    }
    const bool held = group_shown || due(groups);

    if (!beat_shown) top->frag_valid_i = 0;
    if (!beat_shown && !(held && beat == 0) && due(fragments)) show_beat();

    if (!ack_shown) top->ack_valid_i = 0;
    if (!ack_shown && !held && due(acks)) {
      ack_shown = true;
      rtl::drive(top->ack_i, acks.front().item);
      top->ack_valid_i = 1;
    }

    top->inject_valid_i = due(injections);
    if (top->inject_valid_i) {
      top->inject_row_i = injections.front().item.row;
      top->inject_bit_i = injections.front().item.bit;
      injections.pop_front();
    }

    const Time at = from_ps(t);
    if (top->tlp_tx_valid_o) top->tlp_tx_ready_i = hub.nic_tx_ready(at);
    const auto fc = hub.nic_credits(at).pack();
    if (fc != fc_shown) {
      fc_shown = fc;
      top->pcie_fc_i = fc[0];
    }
  }

  /// The next beat of the first fragment, unless its gap is not over.
  void show_beat() {
    Fragment& f = fragments.front().item;
    if (f.gap != 0) {
      --f.gap;
      return;
    }
    rtl::arp_beat_t b;
    const size_t at = beat * kBeatBytes;
    const size_t n = std::min(kBeatBytes, f.data.size() - at);
    b.sop = beat == 0;
    b.eop = at + n == f.data.size();
    b.bad = b.eop && f.damaged;
    b.bytes = static_cast<uint8_t>(n);
    b.hdr = f.hdr;
    if (n != 0) std::memcpy(b.data.data(), f.data.data() + at, n);
    rtl::drive(top->frag_i, b);
    top->frag_valid_i = 1;
    beat_shown = true;
    eop_shown = b.eop;
  }

  /// Handshakes of the edge at t, from the values before it.
  void take_outputs(uint64_t t) {
    if (top->rst_ni) take_handshakes(t);
    if (!requests.empty()) serve_requests();
  }

  void after_edge(uint64_t t) {
    edge_ps = 0;
    note_levels(t);
  }

  void take_handshakes(uint64_t t) {
    if (group_shown && top->cfg_ready_o) {
      const uint16_t number = groups.front().item.first;
      groups.pop_front();
      group_shown = false;
      if (self.on_group) self.on_group(number, t);
    }
    if (beat_shown) {
      if (top->frag_ready_o) {
        take_beat(t);
      } else {
        ++used.wait;
      }
    }
    if (ack_shown && top->ack_ready_o) {
      acks.pop_front();
      ack_shown = false;
    }
    if (top->stat_o != 0) {
      const auto stat = rtl::sample<rtl::arp_stat_t>(top->stat_o);
      bars.count_arp(stat);
      if (self.on_stat) self.on_stat(stat, t);
    }
    if (top->evt_valid_o && self.on_event) self.on_event(rtl::sample<rtl::arp_evt_t>(top->evt_o), t);
    if (top->tlp_tx_valid_o && top->tlp_tx_ready_i) tlp_beat(t);
  }

  void take_beat(uint64_t t) {
    beat_shown = false;
    used.first_beat_ps = std::min(used.first_beat_ps, t);
    used.last_beat_ps = t;
    ++used.beats;
    if (beat == 0) fragment_ps = t;
    ++beat;
    if (!eop_shown) return;
    beat = 0;
    const rtl::areth_t hdr = fragments.front().item.hdr;
    fragments.pop_front();
    if (self.on_taken) self.on_taken(hdr, fragment_ps, t);
  }

  void tlp_beat(uint64_t t) {
    if (!leaving.add(rtl::sample<rtl::tlp_beat_t>(top->tlp_tx_o))) return;
    pcie::Tlp tlp = leaving.take();
    observers.tlp({0, true, t, &tlp});
    hub.from_nic(std::move(tlp), from_ps(t));
  }

  /// Levels after the edge at t; they hold while the clock stands still.
  void note_levels(uint64_t t) {
    used.slot_ps += slots * (t - levels_ps);
    levels_ps = t;
    const bool busy = !top->idle_o;
    if (top->slots_used_o == slots && top->slots_done_o == done && busy == was_busy) return;
    slots = top->slots_used_o;
    done = top->slots_done_o;
    was_busy = busy;
    used.slots_most = std::max(used.slots_most, slots);
    bars.set_arp_levels(slots, done, busy);
  }

  Engine& self;
  pcie::Hub& hub;
  Observers& observers;
  const EngineOptions options;
  const Time decode_latency;

  ConfigSpace config;
  Memory devmem;
  BarDecoder bars;
  DelayQueue later;
  std::array<uint64_t, 3> bar_addresses{};

  std::deque<Arrival<std::pair<uint16_t, rtl::arp_group_t>>> groups;
  std::deque<Arrival<Fragment>> fragments;
  std::deque<Arrival<rtl::arp_ack_t>> acks;
  std::deque<Arrival<Injection>> injections;
  std::deque<pcie::Tlp> requests;  ///< decoded at the picosecond of an edge that is still to come
  bool group_shown = false, beat_shown = false, eop_shown = false, ack_shown = false;
  size_t beat = 0;           ///< of the first fragment, that goes next
  uint64_t fragment_ps = 0;  ///< when its first one was taken
  rtl::pcie_fc_t::Words fc_shown{};
  pcie::TlpAssembler leaving;

  EngineUsage used;
  unsigned slots = 0, done = 0;
  bool was_busy = false;
  uint64_t edge_ps = 0, levels_ps = 0;
};

Engine::Engine(sc_core::sc_module_name name, const Profile& profile, pcie::Hub& hub, Observers& observers,
               const EngineOptions& options)
    : sc_module(name) {
  observers.add_clock(options.phase_ps, to_ps(profile.time("clock.core_period")));
  impl_ = std::make_unique<Impl>(*this, profile, hub, observers, options);
  hub.attach_nic(this);
  sc_core::sc_spawn_options method;
  method.spawn_method();
  sc_core::sc_spawn([this] { impl_->clock(); }, "clock", &method);
}

Engine::~Engine() = default;

void Engine::write_group(uint16_t number, const rtl::arp_group_t& group) {
  impl_->arrive(impl_->groups, {number, group});
}
void Engine::send(Fragment fragment) { impl_->arrive(impl_->fragments, std::move(fragment)); }
void Engine::acknowledge(const rtl::arp_ack_t& ack) { impl_->arrive(impl_->acks, ack); }
void Engine::inject(uint16_t row, uint16_t bit) { impl_->arrive(impl_->injections, Injection{row, bit}); }
size_t Engine::queued() const { return impl_->fragments.size(); }

void Engine::deliver(pcie::Tlp tlp) {
  Impl& i = *impl_;
  i.observers.tlp({0, false, DelayQueue::now_ps(), &tlp});
  if (tlp.is_completion()) return;  // it reads nothing
  if (i.decode_latency == sc_core::SC_ZERO_TIME) return i.decode(std::move(tlp));
  i.later.after(
      i.decode_latency, [&i, tlp = std::move(tlp)]() mutable { i.decode(std::move(tlp)); }, DelayQueue::Kind::kModel);
}

ConfigSpace& Engine::config() { return impl_->config; }
BarDecoder& Engine::bars() { return impl_->bars; }
uint64_t Engine::bar(unsigned n) const { return impl_->bar_addresses.at(n); }
unsigned Engine::slots_used() const { return impl_->slots; }
unsigned Engine::slots_done() const { return impl_->done; }
EngineUsage Engine::usage() const {
  EngineUsage u = impl_->used;
  u.slot_ps += impl_->slots * (std::max(DelayQueue::now_ps(), impl_->levels_ps) - impl_->levels_ps);
  return u;
}
uint64_t Engine::period_ps() const { return impl_->ClockProcess::period_ps(); }
uint64_t Engine::clocked_cycles() const { return impl_->clocked; }
bool Engine::idle() const {
  return impl_->pins_quiet() && impl_->top->idle_o && impl_->later.empty() && impl_->requests.empty();
}
unsigned Engine::assertion_failures() const { return impl_->assertion_failures(); }
void Engine::close_trace() { impl_->close_trace(); }

}  // namespace rnic::collective
