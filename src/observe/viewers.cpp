// SPDX-License-Identifier: Apache-2.0
// Save files that open a waveform with the signals that matter, in groups.
//
// Verilator's FST holds the ports of the top under its name and everything inside under the name twice; fields
// of structs are scopes of their own (--trace-structs).
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "rnic/core/error.h"
#include "rnic/observe/run_directory.h"

namespace rnic {
namespace {

struct Signal {
  const char* name;  ///< below the top module
  unsigned width;
  char base;  ///< 'b' bit, 'h' hexadecimal, 'd' decimal
};

struct Group {
  const char* name;
  std::vector<Signal> signals;
};

const std::vector<Group>& arp_groups() {
  static const std::vector<Group> all{
      {"Time", {{"clk_i", 1, 'b'}, {"rst_ni", 1, 'b'}, {"idle_o", 1, 'b'}}},
      {"Group contexts", {{"cfg_valid_i", 1, 'b'}, {"cfg_ready_o", 1, 'b'}, {"cfg_group_i", 16, 'd'}}},
      {"Fragments",
       {{"frag_valid_i", 1, 'b'},
        {"frag_ready_o", 1, 'b'},
        {"frag_i.sop", 1, 'b'},
        {"frag_i.eop", 1, 'b'},
        {"frag_i.bad", 1, 'b'},
        {"frag_i.hdr.group", 16, 'd'},
        {"frag_i.hdr.step", 16, 'd'},
        {"frag_i.hdr.chunk", 16, 'd'},
        {"frag_i.hdr.offset", 32, 'd'},
        {"frag_i.hdr.rank", 8, 'd'},
        {"frag_i.hdr.len", 16, 'd'}}},
      {"Slots", {{"slots_used_o", 11, 'd'}, {"slots_done_o", 11, 'd'}}},
      {"Stalls", {{"stat_o.stall_hazard", 1, 'b'}, {"stat_o.stall_read", 1, 'b'}, {"stat_o.stall_drain", 1, 'b'}}},
      {"Results",
       {{"stat_o.full", 1, 'b'},
        {"stat_o.written", 1, 'b'},
        {"stat_o.parity", 1, 'b'},
        {"ack_valid_i", 1, 'b'},
        {"ack_ready_o", 1, 'b'},
        {"tlp_tx_valid_o", 1, 'b'},
        {"tlp_tx_ready_i", 1, 'b'},
        {"tlp_tx_o.sop", 1, 'b'},
        {"tlp_tx_o.eop", 1, 'b'}}},
      {"Events",
       {{"evt_valid_o", 1, 'b'}, {"evt_o.kind", 4, 'd'}, {"evt_o.hdr.group", 16, 'd'}, {"evt_o.hdr.rank", 8, 'd'}}},
  };
  return all;
}

const std::vector<Group>& nic_groups() {
  static const std::vector<Group> all{
      {"Time", {{"clk_i", 1, 'b'}, {"rst_ni", 1, 'b'}, {"cycle_i", 64, 'd'}, {"now_i", 64, 'd'}, {"idle_o", 1, 'b'}}},
      {"Instants of the models (toggles)",
       {{"ext_probe_i.db_store", 1, 'b'},
        {"ext_probe_i.db_pins", 1, 'b'},
        {"ext_probe_i.mem_rd_start", 1, 'b'},
        {"ext_probe_i.mem_rd_end", 1, 'b'},
        {"ext_probe_i.wire_first", 1, 'b'},
        {"ext_probe_i.wire_last", 1, 'b'},
        {"ext_probe_i.cqe_visible", 1, 'b'},
        {"ext_probe_i.op.qpn", 10, 'd'},
        {"ext_probe_i.op.wqe", 16, 'd'},
        {"ext_probe_i.op.psn", 24, 'd'}}},
      {"WQE fetch",
       {{"db_valid_i", 1, 'b'},
        {"db_ready_o", 1, 'b'},
        {"db_i.kind", 3, 'd'},
        {"db_i.qpn", 10, 'd'},
        {"db_i.value", 32, 'd'},
        {"probe_o.db", 1, 'b'},
        {"grant_valid", 1, 'b'},
        {"grant_ready", 1, 'b'},
        {"grant_qpn", 10, 'd'},
        {"dm_req_valid_o", 1, 'b'},
        {"dm_req_o.addr", 28, 'h'},
        {"dm_rsp_valid_i", 1, 'b'},
        {"probe_o.wqe", 1, 'b'},
        {"probe_o.wqe_op.qpn", 10, 'd'},
        {"probe_o.wqe_op.wqe", 16, 'd'},
        {"job_valid", 1, 'b'},
        {"job_ready", 1, 'b'}}},
      {"DMA read",
       {{"probe_o.rd", 1, 'b'},
        {"rd_valid", 1, 'b'},
        {"rd_ready", 1, 'b'},
        {"tlp_tx_valid_o", 1, 'b'},
        {"tlp_tx_ready_i", 1, 'b'},
        {"tlp_tx_o.sop", 1, 'b'},
        {"tlp_tx_o.eop", 1, 'b'},
        {"tlp_tx_o.hdr", 128, 'h'},
        {"tlp_rx_valid_i", 1, 'b'},
        {"tlp_rx_ready_o", 1, 'b'},
        {"tlp_rx_i.sop", 1, 'b'},
        {"tlp_rx_i.eop", 1, 'b'},
        {"tlp_rx_i.hdr", 128, 'h'},
        {"pay_valid", 1, 'b'},
        {"pay_ready", 1, 'b'},
        {"probe_o.rd_done", 1, 'b'}}},
      {"packetize", {{"desc_valid", 1, 'b'}, {"desc_ready", 1, 'b'}, {"descq_valid", 1, 'b'}, {"descq_ready", 1, 'b'}}},
      {"MAC TX",
       {{"mac_valid", 1, 'b'},
        {"mac_ready", 1, 'b'},
        {"probe_o.mac", 1, 'b'},
        {"probe_o.mac_op.qpn", 10, 'd'},
        {"probe_o.mac_op.psn", 24, 'd'},
        {"probe_o.mac_op.last", 1, 'b'}}},
      {"CQE write",
       {{"cqe_valid", 1, 'b'},
        {"cqe_ready", 1, 'b'},
        {"wr_valid", 1, 'b'},
        {"wr_ready", 1, 'b'},
        {"probe_o.cqe", 1, 'b'},
        {"evt_valid_o", 1, 'b'},
        {"evt_o.kind", 4, 'd'}}},
  };
  return all;
}

const std::vector<Group>& dma_groups() {
  static const std::vector<Group> all{
      {"Time", {{"clk_i", 1, 'b'}, {"rst_ni", 1, 'b'}, {"idle_o", 1, 'b'}}},
      {"Reads",
       {{"rd_valid_i", 1, 'b'},
        {"rd_ready_o", 1, 'b'},
        {"rd_i.addr", 64, 'h'},
        {"rd_i.len", 13, 'd'},
        {"rd_i.op.psn", 24, 'd'},
        {"rd_done_o", 1, 'b'},
        {"pay_valid_o", 1, 'b'},
        {"pay_o.last", 1, 'b'},
        {"pay_o.bytes", 7, 'd'},
        {"pay_o.status", 3, 'd'}}},
      {"Writes",
       {{"wr_valid_i", 1, 'b'},
        {"wr_ready_o", 1, 'b'},
        {"wr_i.addr", 64, 'h'},
        {"wr_i.len", 13, 'd'},
        {"wdata_valid_i", 1, 'b'},
        {"wdata_ready_o", 1, 'b'},
        {"wr_done_o", 1, 'b'}}},
      {"PCIe out",
       {{"tlp_tx_valid_o", 1, 'b'},
        {"tlp_tx_ready_i", 1, 'b'},
        {"tlp_tx_o.sop", 1, 'b'},
        {"tlp_tx_o.eop", 1, 'b'},
        {"tlp_tx_o.hdr", 128, 'h'},
        {"pcie_fc_i.ph", 8, 'd'},
        {"pcie_fc_i.pd", 12, 'd'},
        {"pcie_fc_i.nph", 8, 'd'}}},
      {"PCIe in",
       {{"tlp_rx_valid_i", 1, 'b'},
        {"tlp_rx_ready_o", 1, 'b'},
        {"tlp_rx_i.sop", 1, 'b'},
        {"tlp_rx_i.eop", 1, 'b'},
        {"tlp_rx_i.hdr", 128, 'h'}}},
  };
  return all;
}

struct Model {
  const char* title;
  const char* top;
  const std::vector<Group>& groups;
};

Model model_of(WaveOf model) {
  if (model == WaveOf::kArpEngine) return {"AllReduce engine", "TOP.arp_engine.", arp_groups()};
  if (model == WaveOf::kDmaEngine) return {"DMA engine", "TOP.dma_engine.", dma_groups()};
  return {"TX path of the NIC by stage", "TOP.rnic_top.", nic_groups()};
}

void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream out(path);
  out << text;
  out.close();
  if (!out) throw InputError(fmt::format("cannot write {}: {}", path.string(), std::strerror(errno)));
}

std::string gtkwave(const std::string& wave, const Model& model) {
  std::string s = fmt::format("[*] {}\n", model.title);
  s += fmt::format("[dumpfile] \"{}\"\n", wave);
  s += fmt::format(
      "[timestart] 0\n[size] 1600 1000\n[pos] -1 -1\n[treeopen] TOP.\n[treeopen] {}\n[sst_expanded] 0\n"
      "[signals_width] 300\n",
      model.top);
  for (const Group& g : model.groups) {
    s += fmt::format("@800200\n-{}\n", g.name);
    for (const Signal& x : g.signals) {
      s += x.base == 'b' ? "@28\n" : x.base == 'h' ? "@22\n" : "@24\n";
      s += fmt::format("{}{}{}\n", model.top, x.name, x.width > 1 ? fmt::format("[{}:0]", x.width - 1) : "");
    }
    s += fmt::format("@1000200\n-{}\n", g.name);
  }
  return s;
}

std::string surfer(const std::string& wave, const Model& model) {
  std::string s = fmt::format("load_file {}\n", wave);
  for (const Group& g : model.groups) {
    s += fmt::format("divider_add {}\n", g.name);
    for (const Signal& x : g.signals) s += fmt::format("variable_add {}{}\n", model.top, x.name);
  }
  return s + "zoom_fit\n";
}

}  // namespace

void write_viewer_files(const std::string& wave_path, WaveOf model) {
  std::filesystem::path base(wave_path);
  const std::string wave = base.filename().string();
  write(std::filesystem::path(base).replace_extension(".gtkw"), gtkwave(wave, model_of(model)));
  write(std::filesystem::path(base).replace_extension(".sucl"), surfer(wave, model_of(model)));
}

}  // namespace rnic
