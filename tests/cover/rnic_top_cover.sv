// SPDX-License-Identifier: Apache-2.0
module rnic_top_cover #(
  parameter int unsigned NumPorts = 1
) (
  input logic clk_i,
  input logic rst_ni,
  input rnic_pkg::pcie_cfg_t pcie_cfg_i,
  input logic tlp_tx_valid_o,
  input logic tlp_tx_ready_i,
  input logic tlp_rx_valid_i,
  input logic db_valid_i,
  input rnic_pkg::doorbell_t db_i,
  input logic cmd_valid_i,
  input rnic_pkg::cmd_t cmd_i,
  input logic dm_req_valid_o,
  input logic dm_req_ready_i,
  input logic dm_rsp_valid_i,
  input logic [NumPorts-1:0] mac_tx_valid_o,
  input logic [NumPorts-1:0] mac_tx_ready_i,
  input rnic_pkg::probe_t probe_o,
  input rnic_pkg::stat_t stat_o,
  input logic evt_valid_o,
  input logic evt_ready_i,
  input rnic_pkg::event_t evt_o,
  input logic idle_o
);
  // names(command): QpModify CqModify MkeyModify Qp2Err QpQuery CqQuery QpCreate
  for (genvar c = 0; c < 7; c++) begin : command
    always_ff @(posedge clk_i) if (rst_ni && cmd_valid_i && cmd_i.op == 3'(c)) begin
      given : cover (cmd_i.index < (c == 2 ? 24'd65536 : 24'd1024));
      index_beyond_the_table : cover (cmd_i.index >= (c == 2 ? 24'd65536 : 24'd1024));
      given_amid_traffic : cover (!idle_o);
    end
  end

  // names(doorbell): Sq Rq CqCi CqArm Bf
  for (genvar k = 0; k < 5; k++) begin : doorbell
    always_ff @(posedge clk_i) if (rst_ni && db_valid_i) begin
      taken : cover (db_i.kind == 3'(k));
    end
  end

  // names(counter): irq_sent cpl_malformed cpl_timeout cpl_poisoned cpl_ca cpl_ur cpl_unexpected cq_overrun cqe_err cqe_ok mpt_miss cqc_miss qpc_miss wqe_fetch bf_fallback bf_hit db_invalid db_coalesced db_rx
  logic [$bits(rnic_pkg::stat_t)-1:0] counters;
  assign counters = stat_o;
  for (genvar i = 0; i < $bits(rnic_pkg::stat_t); i++) begin : counter
    always_ff @(posedge clk_i) if (rst_ni) begin
      counts : cover (counters[i]);
    end
  end

  // names(event_): 0 DbInvalid WqeError CqOverrun CqInvalid
  for (genvar e = 1; e < 5; e++) begin : event_
    always_ff @(posedge clk_i) if (rst_ni && evt_valid_o && evt_ready_i) begin
      logged : cover (evt_o.kind == 4'(e));
    end
  end

  // names(size): 128 256 512 1024 2048 4096
  for (genvar s = 0; s < 6; s++) begin : size
    always_ff @(posedge clk_i) if (rst_ni && tlp_tx_valid_o) begin
      max_payload : cover (pcie_cfg_i.mps == 3'(s));
      max_read_request : cover (pcie_cfg_i.mrrs == 3'(s));
    end
  end

  always_ff @(posedge clk_i) if (rst_ni) begin
    tlp_waits : cover (tlp_tx_valid_o && !tlp_tx_ready_i);
    tlps_both_ways_at_once : cover (tlp_tx_valid_o && tlp_rx_valid_i);
    frame_waits_for_mac : cover (mac_tx_valid_o != '0 && (mac_tx_valid_o & mac_tx_ready_i) == '0);
    device_memory_waits : cover (dm_req_valid_o && !dm_req_ready_i);
    event_waits : cover (evt_valid_o && !evt_ready_i);
    doorbell_wakes_idle_nic : cover (idle_o && db_valid_i && db_i.kind == rnic_pkg::DbSq);
    bus_mastering_off_amid_traffic : cover (!idle_o && !pcie_cfg_i.bus_master);
    tags_of_five_bits : cover (tlp_tx_valid_o && !pcie_cfg_i.ext_tag && !pcie_cfg_i.tag10);
    tags_of_eight_bits : cover (tlp_tx_valid_o && pcie_cfg_i.ext_tag && !pcie_cfg_i.tag10);
    read_completion_boundary_128 : cover (tlp_rx_valid_i && pcie_cfg_i.rcb);
    probe_doorbell : cover (probe_o.db);
    probe_wqe : cover (probe_o.wqe);
    probe_read : cover (probe_o.rd);
    probe_read_done : cover (probe_o.rd_done);
    probe_mac : cover (probe_o.mac);
    probe_cqe : cover (probe_o.cqe);
    all_stages_busy : cover (probe_o.wqe && probe_o.rd && mac_tx_valid_o != '0);
  end
endmodule

bind rnic_top rnic_top_cover #(.NumPorts(NumPorts)) u_cover (.*);
