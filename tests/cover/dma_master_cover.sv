// SPDX-License-Identifier: Apache-2.0
module dma_master_cover (
  input logic clk_i,
  input logic rst_ni,
  input rnic_pkg::pcie_cfg_t cfg_i,
  input logic rd_valid_i,
  input logic rd_ready_o,
  input rnic_pkg::rd_req_t rd_i,
  input logic pay_valid_o,
  input logic pay_ready_i,
  input rnic_pkg::payload_t pay_o,
  input logic rd2_valid_i,
  input logic rd2_ready_o,
  input logic pay2_valid_o,
  input logic pay2_ready_i,
  input rnic_pkg::payload_t pay2_o,
  input logic wr_valid_i,
  input logic wr_ready_o,
  input rnic_pkg::wr_req_t wr_i,
  input logic wdata_valid_i,
  input logic wdata_ready_o,
  input logic wr_done_o,
  input logic treq_rd_valid_o,
  input logic treq_rd_ready_i,
  input rnic_pkg::tlp_req_t treq_rd_o,
  input logic treq_wr_valid_o,
  input logic treq_wr_ready_i,
  input rnic_pkg::tlp_req_t treq_wr_o,
  input logic twd_valid_o,
  input logic twd_ready_i,
  input rnic_pkg::tlp_wdata_t twd_o,
  input logic cpl_valid_i,
  input rnic_pkg::cpl_t cpl_i,
  input logic stat_unexpected_o,
  input logic stat_ur_o,
  input logic stat_ca_o,
  input logic stat_poisoned_o,
  input logic stat_malformed_o,
  input logic probe_done_o,
  input logic idle_o
);
  logic rd, wr, treq_rd, treq_wr, pay, cpl;
  assign rd = rd_valid_i && rd_ready_o;
  assign wr = wr_valid_i && wr_ready_o;
  assign treq_rd = treq_rd_valid_o && treq_rd_ready_i;
  assign treq_wr = treq_wr_valid_o && treq_wr_ready_i;
  assign pay = pay_valid_o && pay_ready_i;
  assign cpl = cpl_valid_i && cpl_i.sop;

  // ---- Requests: size limit x cut x alignment ------------------------------------------------------------------------
  logic [12:0] mrrs, mps, rd_off, wr_off;
  logic [1:0] rd_cut, wr_cut;          // one TLP, two, more
  assign mrrs = 13'd128 << (cfg_i.mrrs > 3'd5 ? 3'd5 : cfg_i.mrrs);
  assign mps = 13'd128 << (cfg_i.mps > 3'd5 ? 3'd5 : cfg_i.mps);
  assign rd_off = {1'b0, rd_i.addr[11:0]} & (mrrs - 13'd1);
  assign wr_off = {1'b0, wr_i.addr[11:0]} & (mps - 13'd1);
  assign rd_cut = {1'b0, rd_off} + {1'b0, rd_i.len} <= {1'b0, mrrs} ? 2'd0 : {1'b0, rd_off} + {1'b0, rd_i.len} <= {mrrs, 1'b0} ? 2'd1 : 2'd2;
  assign wr_cut = {1'b0, wr_off} + {1'b0, wr_i.len} <= {1'b0, mps} ? 2'd0 : {1'b0, wr_off} + {1'b0, wr_i.len} <= {mps, 1'b0} ? 2'd1 : 2'd2;

  // names(limit): 128 256 512 1024 2048 4096
  // names(tlps): one two more
  for (genvar m = 0; m < 6; m++) begin : limit
    for (genvar c = 0; c < 3; c++) begin : tlps
      if (m < 5 || c < 2) begin : possible
        always_ff @(posedge clk_i) if (rst_ni && rd && cfg_i.bus_master) begin
          read_by_max_read_request : cover (cfg_i.mrrs == 3'(m) && rd_cut == 2'(c));
        end
        always_ff @(posedge clk_i) if (rst_ni && wr && cfg_i.bus_master) begin
          write_by_max_payload : cover (cfg_i.mps == 3'(m) && wr_cut == 2'(c));
        end
      end
    end
    always_ff @(posedge clk_i) if (rst_ni && treq_rd && cfg_i.mrrs == 3'(m)) begin
      largest_read_tlp : cover (treq_rd_o.len == mrrs);
    end
    always_ff @(posedge clk_i) if (rst_ni && treq_wr && cfg_i.mps == 3'(m)) begin
      largest_write_tlp : cover (treq_wr_o.len == mps);
    end
  end

  // names(length): 1-3 4-63 64 65-4095 4096
  logic [2:0] rd_class, wr_class;
  assign rd_class = rd_i.len < 13'd4 ? 3'd0 : rd_i.len < 13'd64 ? 3'd1 : rd_i.len == 13'd64 ? 3'd2 : rd_i.len < 13'd4096 ? 3'd3 : 3'd4;
  assign wr_class = wr_i.len < 13'd4 ? 3'd0 : wr_i.len < 13'd64 ? 3'd1 : wr_i.len == 13'd64 ? 3'd2 : wr_i.len < 13'd4096 ? 3'd3 : 3'd4;
  // names(start): line DW byte
  for (genvar l = 0; l < 5; l++) begin : length
    for (genvar a = 0; a < 3; a++) begin : start
      always_ff @(posedge clk_i) if (rst_ni && rd && rd_class == 3'(l)) begin
        read_shape : cover (a == 0 ? rd_i.addr[5:0] == 6'd0 : a == 1 ? rd_i.addr[5:2] != 4'd0 && rd_i.addr[1:0] == 2'd0 : rd_i.addr[1:0] != 2'd0);
      end
      always_ff @(posedge clk_i) if (rst_ni && wr && wr_class == 3'(l)) begin
        write_shape : cover (a == 0 ? wr_i.addr[5:0] == 6'd0 : a == 1 ? wr_i.addr[5:2] != 4'd0 && wr_i.addr[1:0] == 2'd0 : wr_i.addr[1:0] != 2'd0);
      end
    end
  end

  // ---- Completions ---------------------------------------------------------------------------------------------------
  // In which order requests left, and whether a tag's request has been answered in part.
  logic [15:0] sent_q, latest_q;
  logic [15:0] number_q [1024];
  logic [1023:0] begun_q;
  always_ff @(posedge clk_i) begin
    if (treq_rd) number_q[treq_rd_o.tag] <= sent_q;
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      sent_q <= '0;
      latest_q <= '0;
      begun_q <= '0;
    end else begin
      if (treq_rd) begin
        sent_q <= sent_q + 16'd1;
        begun_q[treq_rd_o.tag] <= 1'b0;
      end
      if (cpl) begin
        latest_q <= number_q[cpl_i.tag];
        begun_q[cpl_i.tag] <= 1'b1;
      end
    end
  end

  // names(status): Ok Ur Ca Poisoned Timeout Malformed NoMaster
  for (genvar s = 0; s < 7; s++) begin : status
    always_ff @(posedge clk_i) if (rst_ni && pay && pay_o.last) begin
      read_ends : cover (pay_o.status == 3'(s));
    end
    if (s != 4 && s != 6) begin : from_link
      always_ff @(posedge clk_i) if (rst_ni && cpl_valid_i && cpl_i.eop) begin
        completion : cover (cpl_i.status == 3'(s));
      end
    end
  end

  // ---- WQEs --------------------------------------------------------------------------------------------------------
  logic req_wqe, cpl_wqe, latest_wqe_q;
  logic [9:0] first_wqe;
  assign first_wqe = cfg_i.tag10 ? 10'd960 : cfg_i.ext_tag ? 10'd224 : 10'd24;
  assign req_wqe = treq_rd_o.tag >= first_wqe;
  assign cpl_wqe = cpl_i.tag >= first_wqe && cpl_i.tag <= (cfg_i.tag10 ? 10'd1023 : cfg_i.ext_tag ? 10'd255 : 10'd31);
  always_ff @(posedge clk_i) if (cpl) latest_wqe_q <= cpl_wqe;
  always_ff @(posedge clk_i) if (rst_ni) begin
    wqe_read : cover (rd2_valid_i && rd2_ready_o);
    wqe_read_waits : cover (rd2_valid_i && !rd2_ready_o);
    wqe_data_wait : cover (pay2_valid_o && !pay2_ready_i);
    wqe_read_fails : cover (pay2_valid_o && pay2_ready_i && pay2_o.status != rnic_pkg::DmaOk);
    wqe_request : cover (treq_rd && req_wqe);
    if (cpl) begin
      wqe_completion : cover (cpl_wqe);
      completions_of_both_in_turn : cover (cpl_wqe != latest_wqe_q);
    end
  end

  always_ff @(posedge clk_i) if (rst_ni) begin
    if (rd) begin
      read_ends_at_page_end : cover ({1'b0, rd_i.addr[11:0]} + rd_i.len == 13'd4096);
      read_crosses_page : cover ({1'b0, rd_i.addr[11:0]} + rd_i.len > 13'd4096);
      read_above_4_gib : cover (rd_i.addr[63:32] != 32'd0);
      read_below_4_gib : cover (rd_i.addr[63:32] == 32'd0);
      read_without_bus_mastering : cover (!cfg_i.bus_master);
      read_of_idle_master : cover (idle_o);
    end
    if (wr) begin
      write_ends_at_page_end : cover ({1'b0, wr_i.addr[11:0]} + wr_i.len == 13'd4096);
      write_crosses_page : cover ({1'b0, wr_i.addr[11:0]} + wr_i.len > 13'd4096);
      write_without_bus_mastering : cover (!cfg_i.bus_master);
    end
    if (cpl) begin
      completion_of_one_beat : cover (cpl_i.eop);
      completion_of_more_beats : cover (!cpl_i.eop);
      completion_out_of_order : cover (number_q[cpl_i.tag] < latest_q && !begun_q[cpl_i.tag]);
      completions_of_one_request : cover (begun_q[cpl_i.tag]);
      completions_of_two_requests_mixed : cover (begun_q[cpl_i.tag] && number_q[cpl_i.tag] != latest_q);
      largest_completion : cover (cpl_i.len_dw == 11'd1024);
      completion_of_one_dw : cover (cpl_i.len_dw == 11'd1);
      tag_of_more_bits : cover (!cfg_i.tag10 && cpl_i.tag[9:8] != 2'd0);
      tag_without_its_upper_bits : cover (cfg_i.tag10 && cpl_i.tag[9:8] == 2'd0);
    end
    unexpected : cover (stat_unexpected_o);
    completion_error : cover (stat_ur_o || stat_ca_o || stat_poisoned_o);
    malformed : cover (stat_malformed_o);
    read_done : cover (probe_done_o);
    read_waits : cover (rd_valid_i && !rd_ready_o);
    payload_waits : cover (pay_valid_o && !pay_ready_i);
    payload_flows : cover (pay && !pay_o.last);
    last_beat_full : cover (pay && pay_o.last && pay_o.bytes == 7'd64);
    last_beat_partial : cover (pay && pay_o.last && pay_o.bytes < 7'd64);
    read_tlp_waits : cover (treq_rd_valid_o && !treq_rd_ready_i);
    write_waits : cover (wr_valid_i && !wr_ready_o);
    write_waits_for_data : cover (wdata_ready_o && !wdata_valid_i);
    data_waits : cover (wdata_valid_i && !wdata_ready_o);
    write_tlp_waits : cover (treq_wr_valid_o && !treq_wr_ready_i);
    write_data_waits : cover (twd_valid_o && !twd_ready_i);
    write_tlp_of_more_beats : cover (twd_valid_o && !twd_o.last);
    write_done : cover (wr_done_o);
    write_done_while_the_next_is_on : cover (wr_done_o && wdata_valid_i);
    read_and_write_tlp_together : cover (treq_rd_valid_o && treq_wr_valid_o);
  end
endmodule

bind dma_master dma_master_cover u_cover (.*);
