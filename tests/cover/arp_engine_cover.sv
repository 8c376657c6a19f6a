// SPDX-License-Identifier: Apache-2.0
module arp_engine_cover (
  input logic clk_i,
  input logic rst_ni,
  input rnic_pkg::pcie_cfg_t pcie_cfg_i,
  input logic tlp_tx_valid_o,
  input logic tlp_tx_ready_i,
  input rnic_pkg::tlp_beat_t tlp_tx_o,
  input logic tlp_rx_valid_i,
  input arp_pkg::arp_stat_t stat_o,
  input logic idle_o
);
  // names(mps): 128 256 512 1024 2048 4096
  for (genvar m = 0; m < 6; m++) begin : mps
    always_ff @(posedge clk_i) if (rst_ni && tlp_tx_valid_o && tlp_tx_ready_i) begin
      tlp_of_max_payload : cover (pcie_cfg_i.mps == 3'(m) && tlp_tx_o.eop);
    end
  end
  always_ff @(posedge clk_i) if (rst_ni) begin
    tlp_waits : cover (tlp_tx_valid_o && !tlp_tx_ready_i);
    four_dw_header : cover (tlp_tx_valid_o && tlp_tx_o.sop && tlp_tx_o.hdr[125]);
    three_dw_header : cover (tlp_tx_valid_o && tlp_tx_o.sop && !tlp_tx_o.hdr[125]);
    completion_comes : cover (tlp_rx_valid_i);
    written_without_bus_master : cover (!pcie_cfg_i.bus_master && stat_o.written);
    idle : cover (idle_o);
  end
endmodule

bind arp_engine arp_engine_cover u_cover (.*);
