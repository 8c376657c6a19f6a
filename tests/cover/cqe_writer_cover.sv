// SPDX-License-Identifier: Apache-2.0
module cqe_writer_cover (
  input logic clk_i,
  input logic rst_ni,
  input logic req_valid_i,
  input logic req_ready_o,
  input rnic_pkg::cqe_req_t req_i,
  input logic db_valid_i,
  input rnic_pkg::doorbell_t db_i,
  input logic q_re_i,
  input logic [9:0] q_cqn_i,
  input logic [1023:0] overrun_q,
  input logic clear_i,
  input logic [9:0] clear_cqn_i,
  input logic cqc_req_valid_o,
  input logic cqc_req_ready_i,
  input logic cqc_rsp_valid_i,
  input logic cqc_rsp_ready_o,
  input rnic_pkg::cqc_t cqc_rsp_i,
  input logic wr_valid_o,
  input logic wr_ready_i,
  input logic wdata_valid_o,
  input logic wdata_ready_i,
  input logic [511:0] wdata_o,
  input logic evt_valid_o,
  input logic evt_ready_i,
  input rnic_pkg::event_t evt_o,
  input logic stat_cqe_ok_o,
  input logic stat_cqe_err_o,
  input logic stat_overrun_o
);
  logic req, written;
  assign req = req_valid_i && req_ready_o;
  assign written = wdata_valid_o && wdata_ready_i;

  // names(opcode): WRITE WRITE_IMM SEND SEND_IMM
  for (genvar o = 0; o < 4; o++) begin : opcode
    always_ff @(posedge clk_i) if (rst_ni && req && req_i.wqe_opcode == 8'h08 + 8'(o)) begin
      good : cover (req_i.syndrome == 8'd0);
      flushed : cover (req_i.syndrome == rnic_pkg::SynFlushed);
      failed : cover (req_i.syndrome != 8'd0 && req_i.syndrome != rnic_pkg::SynFlushed);
    end
  end

  // Which check refused, for each vendor syndrome that exists.
  // names(vendor): none Opcode WqeSize WqeQpn Length Key Bounds Pd
  for (genvar v = 1; v < 8; v++) begin : vendor
    always_ff @(posedge clk_i) if (rst_ni && req && req_i.syndrome != 8'd0) begin
      refused : cover (req_i.vendor == 8'(v));
    end
  end
  // names(status): Ok Ur Ca Poisoned Timeout Malformed NoMaster
  for (genvar s = 1; s < 7; s++) begin : status
    always_ff @(posedge clk_i) if (rst_ni && req && req_i.syndrome != 8'd0) begin
      payload_read_failed : cover (req_i.vendor == rnic_pkg::VenDma + 8'(s));
    end
  end
  // names(syndrome): success LocalLength LocalQpOp 3 LocalProt Flushed
  for (genvar y = 0; y < 6; y++) begin : syndrome
    if (y != 3) begin : known
      always_ff @(posedge clk_i) if (rst_ni && req) begin
        asked : cover (req_i.syndrome == 8'(y));
      end
    end
  end

  // Rings: every size that an index of 24 bits knows, and, as 24, larger ones.
  for (genvar l = 0; l < 25; l++) begin : log_size
    always_ff @(posedge clk_i) if (rst_ni && cqc_rsp_valid_i && cqc_rsp_ready_o && cqc_rsp_i.valid) begin
      ring : cover (l == 24 ? cqc_rsp_i.log_size >= 5'd24 : cqc_rsp_i.log_size == 5'(l));
    end
  end

  // names(owner): 0 1
  for (genvar w = 0; w < 2; w++) begin : owner
    always_ff @(posedge clk_i) if (rst_ni && written) begin
      entry : cover (wdata_o[504] == w[0] && wdata_o[511:508] == 4'h0);
      error_entry : cover (wdata_o[504] == w[0] && wdata_o[511:508] == 4'hD);
    end
  end

  // names(kind): 0 DbInvalid WqeError CqOverrun CqInvalid
  for (genvar k = 2; k < 5; k++) begin : kind
    always_ff @(posedge clk_i) if (rst_ni && evt_valid_o && evt_o.kind == 4'(k)) begin
      event_taken : cover (evt_ready_i);
      event_waits : cover (!evt_ready_i);
    end
  end

  always_ff @(posedge clk_i) if (rst_ni) begin
    if (req_valid_i) begin
      waits_for_context_cache : cover (!cqc_req_ready_i);
      waits_for_lookup_queue : cover (!cqc_req_valid_o);
      cq_beyond_table : cover (req && req_i.cqn[23:10] != 14'd0);
    end
    if (cqc_rsp_valid_i) begin
      context_waits : cover (!cqc_rsp_ready_o);
      cq_not_set_up : cover (cqc_rsp_ready_o && !cqc_rsp_i.valid);
    end
    ok : cover (stat_cqe_ok_o);
    error : cover (stat_cqe_err_o);
    query : cover (q_re_i);
    query_of_an_overrun_cq : cover (q_re_i && overrun_q[q_cqn_i]);
    overrun : cover (stat_overrun_o);
    write_waits : cover (wr_valid_o && !wr_ready_i);
    data_waits : cover (wdata_valid_o && !wdata_ready_i);
    write_before_data : cover (wr_valid_o && wr_ready_i && wdata_valid_o && !wdata_ready_i);
    data_before_write : cover (wr_valid_o && !wr_ready_i && wdata_valid_o && wdata_ready_i);
    write_and_data_together : cover (wr_valid_o && wr_ready_i && wdata_valid_o && wdata_ready_i);
    next_entry_as_the_last_one_leaves : cover (wr_valid_o && wr_ready_i && (stat_cqe_ok_o || stat_cqe_err_o));
    consumer_index : cover (db_valid_i && db_i.kind == rnic_pkg::DbCqCi);
    arm : cover (db_valid_i && db_i.kind == rnic_pkg::DbCqArm);
    clear : cover (clear_i);
    clear_with_consumer_index_of_it : cover (clear_i && db_valid_i && db_i.qpn == clear_cqn_i);
  end
endmodule

bind cqe_writer cqe_writer_cover u_cover (.*);
