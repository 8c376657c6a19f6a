// SPDX-License-Identifier: Apache-2.0
// rnic_top for cocotb: packed structs become plain vectors, which cocotb reads and writes whole (structs.py knows their
// fields), and ports that no test here uses are tied off.
module interop_top (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic [63:0] cycle_i,
  input  logic [63:0] now_i,
  output logic timer_valid_o,
  output logic [63:0] timer_deadline_o,
  output logic idle_o,

  input  logic flr_i,
  input  logic [$bits(rnic_pkg::pcie_cfg_t)-1:0] pcie_cfg_i,
  input  logic [$bits(rnic_pkg::pcie_fc_t)-1:0] pcie_fc_i,
  output logic tlp_tx_valid_o,
  input  logic tlp_tx_ready_i,
  output logic [$bits(rnic_pkg::tlp_beat_t)-1:0] tlp_tx_o,
  input  logic tlp_rx_valid_i,
  output logic tlp_rx_ready_o,
  input  logic [$bits(rnic_pkg::tlp_beat_t)-1:0] tlp_rx_i,

  input  logic db_valid_i,
  output logic db_ready_o,
  input  logic [$bits(rnic_pkg::doorbell_t)-1:0] db_i,
  input  logic cmd_valid_i,
  output logic cmd_ready_o,
  input  logic [$bits(rnic_pkg::cmd_t)-1:0] cmd_i,

  input  logic msix_we_i,
  input  logic [5:0] msix_idx_i,
  input  logic [1:0] msix_reg_i,
  input  logic [31:0] msix_wdata_i,
  input  logic msix_en_i,
  input  logic msix_mask_i,
  output logic [63:0] msix_pending_o,

  input  logic win_we_i,
  input  logic [5:0] win_idx_i,
  input  logic [$bits(rnic_pkg::window_t)-1:0] win_i,
  output logic win_busy_o,

  output logic dm_req_valid_o,
  output logic [$bits(rnic_pkg::dm_req_t)-1:0] dm_req_o,
  input  logic dm_rsp_valid_i,
  input  logic [$bits(rnic_pkg::dm_rsp_t)-1:0] dm_rsp_i,

  output logic mac_tx_valid_o,
  input  logic mac_tx_ready_i,
  output logic [rnic_pkg::MacBeatW-1:0] mac_tx_o,

  output logic [$bits(rnic_pkg::stat_t)-1:0] stat_o,
  output logic evt_valid_o,
  output logic [$bits(rnic_pkg::event_t)-1:0] evt_o
);

  rnic_top u_rnic_top (
    .clk_i, .rst_ni, .cycle_i, .now_i, .timer_valid_o, .timer_deadline_o, .idle_o,
    .flr_i, .pcie_cfg_i, .pcie_fc_i,
    .tlp_tx_valid_o, .tlp_tx_ready_i, .tlp_tx_o, .tlp_rx_valid_i, .tlp_rx_ready_o, .tlp_rx_i,
    .db_valid_i, .db_ready_o, .db_i, .cmd_valid_i, .cmd_ready_o, .cmd_i,
    .msix_we_i, .msix_idx_i, .msix_reg_i, .msix_wdata_i, .msix_en_i, .msix_mask_i, .msix_pending_o,
    .win_we_i, .win_idx_i, .win_i, .win_busy_o,
    .dm_req_valid_o, .dm_req_ready_i(1'b1), .dm_req_o, .dm_rsp_valid_i, .dm_rsp_i,
    .mac_tx_valid_o, .mac_tx_ready_i, .mac_tx_o,
    .mac_rx_valid_i(1'b0), .mac_rx_ready_o(), .mac_rx_i('0), .mac_pause_i(8'd0),
    .sched_cfg_i('0), .rate_valid_i(1'b0), .rate_i('0), .place_ooo_i(1'b0),
    .probe_o(), .stat_o, .evt_valid_o, .evt_ready_i(1'b1), .evt_o, .ext_probe_i('0)
  );

endmodule
