// SPDX-License-Identifier: Apache-2.0
#include <Vrnic_top_sc.h>

#include <systemc>
#include <utility>

#include "nic/record.h"
#include "replay.h"
#include "rnic/rtl/ports.h"

namespace rnic::bench {
namespace {

template <class Port>
using Value = std::decay_t<decltype(std::declval<Port>().read())>;

/// Sets sc_signals from the words of a stimulus.
struct SignalReader {
  StimulusReader& in;
  template <class T>
  bool operator()(sc_core::sc_signal<T>& s) {
    if constexpr (std::is_integral_v<T>) {
      uint64_t v = in.take();
      if (sizeof(T) == 8) v |= uint64_t{in.take()} << 32;
      s.write(static_cast<T>(v));
      return v != 0;
    } else {
      T v;
      for (int i = 0; i < v.size(); ++i) v.set_word(i, in.take());
      s.write(v);
      return true;
    }
  }
};

// clang-format off
#define RNIC_PORTS(X)                                                                                              \
  X(rst_ni)                                                                                                        \
  X(cycle_i)                                                                                                       \
  X(now_i) X(timer_valid_o) X(timer_deadline_o) X(idle_o) X(pcie_cfg_i) X(pcie_fc_i) X(tlp_tx_valid_o)             \
      X(tlp_tx_ready_i) X(tlp_tx_o) X(tlp_rx_valid_i) X(tlp_rx_ready_o) X(tlp_rx_i) X(db_valid_i) X(db_ready_o)    \
          X(db_i) X(cmd_valid_i) X(cmd_ready_o) X(cmd_i) X(dm_req_valid_o) X(dm_req_ready_i) X(dm_req_o)           \
              X(dm_rsp_valid_i) X(dm_rsp_i) X(mac_tx_valid_o) X(mac_tx_ready_i) X(mac_tx_o) X(mac_rx_valid_i)      \
                  X(mac_rx_ready_o) X(mac_rx_i) X(mac_pause_i) X(sched_cfg_i) X(rate_valid_i) X(rate_i) X(place_ooo_i) X(probe_o) \
                      X(stat_o) X(evt_valid_o) X(evt_ready_i) X(evt_o) X(ext_probe_i) X(flr_i)                           \
                          X(msix_we_i) X(msix_idx_i) X(msix_reg_i) X(msix_wdata_i) X(msix_en_i) X(msix_mask_i) X(win_we_i) X(win_idx_i) X(win_i) X(win_busy_o) \
                              X(msix_pending_o)
// clang-format on

struct Bench : sc_core::sc_module {
#define X(name) sc_core::sc_signal<Value<decltype(Vrnic_top_sc::name)>> name{#name};
  RNIC_PORTS(X)
#undef X
  sc_core::sc_clock clk{"clk", sc_core::sc_time(1, sc_core::SC_NS)};
  Vrnic_top_sc top{"top"};
  StimulusReader in;
  Replay result;

  Bench(sc_core::sc_module_name name, const std::string& stimulus) : sc_module(name), in(stimulus) {
    top.clk_i(clk);
#define X(name) top.name(name);
    RNIC_PORTS(X)
#undef X
    SC_HAS_PROCESS(Bench);
    SC_METHOD(drive);
    sensitive << clk.negedge_event();
    dont_initialize();
    SC_METHOD(watch);
    sensitive << clk.posedge_event();
    dont_initialize();
  }
  void drive() {
    if (in.at_end()) {
      sc_core::sc_stop();
      return;
    }
    SignalReader reader{in};
    visit_inputs(*this, reader);
    ++result.cycles;
  }
  void watch() {
    if (!mac_tx_valid_o.read() || !mac_tx_ready_i.read()) return;
    constexpr int kEop = rtl::mac_beat_t::kWidth - 2;
    result.frames += mac_tx_o.read().get_bit(kEop);
  }
};

}  // namespace

Replay run_stock_sc(const std::string& stimulus) {
  Bench bench("bench", stimulus);
  const double start = cpu_seconds();
  sc_core::sc_start();
  bench.result.seconds = cpu_seconds() - start;
  return bench.result;
}

}  // namespace rnic::bench
