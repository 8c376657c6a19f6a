// SPDX-License-Identifier: Apache-2.0
// On-chip transmit state of every QP (rnic_pkg::tx_state_t), with one valid and one error bit each. One reader (the
// fetch engine) and one writer (the segmenter); the scheduler's one-job-per-QP rule keeps them apart. A second reader
// (ctx_query) looks at any QP at any time.
//
// Read: strobe at edge n, data after edge n, as it was before that edge; it stays until the next read. Clear wins
// over a write or an error of the same QP at the same edge, which belong to the QP's former life.
module tx_qp_state (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic re_i,
  input  logic [9:0] rd_qpn_i,
  output logic rd_valid_o,             // 0: state is to be taken from the context
  output logic rd_err_o,               // QP in error
  output rnic_pkg::tx_state_t rd_state_o,
  input  logic q_re_i,
  input  logic [9:0] q_qpn_i,
  output logic q_valid_o,
  output logic q_err_o,
  output rnic_pkg::tx_state_t q_state_o,
  input  logic we_i,
  input  logic [9:0] wr_qpn_i,
  input  rnic_pkg::tx_state_t wr_state_i,
  // QP to error: from the segmenter, the packetizer and CmdQp2Err
  input  logic err_seg_i,
  input  logic [9:0] err_seg_qpn_i,
  input  logic err_pkt_i,
  input  logic [9:0] err_pkt_qpn_i,
  input  logic err_cmd_i,
  input  logic [9:0] err_cmd_qpn_i,
  // CmdQpModify: state invalid, error bit off
  input  logic clear_i,
  input  logic [9:0] clear_qpn_i
);
  localparam int unsigned StateW = 730;          // rnic_pkg::tx_state_t

  logic [StateW-1:0] state_mem [rnic_pkg::NumQp];
  logic [rnic_pkg::NumQp-1:0] valid_q, err_q;
  logic [StateW-1:0] rd_state_q, q_state_q;
  logic rd_valid_q, rd_err_q, q_valid_q, q_err_q;

  assign rd_state_o = rd_state_q;
  assign rd_valid_o = rd_valid_q;
  assign rd_err_o = rd_err_q;
  assign q_state_o = q_state_q;
  assign q_valid_o = q_valid_q;
  assign q_err_o = q_err_q;

  always_ff @(posedge clk_i) begin
    if (we_i) state_mem[wr_qpn_i] <= wr_state_i;
  end

  always_ff @(posedge clk_i) begin
    if (re_i) rd_state_q <= state_mem[rd_qpn_i];
    if (q_re_i) q_state_q <= state_mem[q_qpn_i];
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      rd_valid_q <= 1'b0;
      rd_err_q <= 1'b0;
      q_valid_q <= 1'b0;
      q_err_q <= 1'b0;
    end else begin
      if (re_i) begin
        rd_valid_q <= valid_q[rd_qpn_i];
        rd_err_q <= err_q[rd_qpn_i];
      end
      if (q_re_i) begin
        q_valid_q <= valid_q[q_qpn_i];
        q_err_q <= err_q[q_qpn_i];
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= '0;
    end else if (we_i || clear_i) begin
      if (we_i) valid_q[wr_qpn_i] <= 1'b1;
      if (clear_i) valid_q[clear_qpn_i] <= 1'b0;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      err_q <= '0;
    end else if (err_seg_i || err_pkt_i || err_cmd_i || clear_i) begin
      if (err_seg_i) err_q[err_seg_qpn_i] <= 1'b1;
      if (err_pkt_i) err_q[err_pkt_qpn_i] <= 1'b1;
      if (err_cmd_i) err_q[err_cmd_qpn_i] <= 1'b1;
      if (clear_i) err_q[clear_qpn_i] <= 1'b0;
    end
  end

`ifndef SYNTHESIS
  OneJobPerQp : assert property (@(posedge clk_i) disable iff (!rst_ni) re_i && we_i |-> rd_qpn_i != wr_qpn_i);
`endif
endmodule
