// SPDX-License-Identifier: Apache-2.0
module doorbell_intake_cover (
  input logic clk_i,
  input logic rst_ni,
  input logic db_valid_i,
  input rnic_pkg::doorbell_t db_i,
  input logic ring_o,
  input logic pi_re_i,
  input logic q_re_i,
  input logic [9:0] q_qpn_i,
  input logic [9:0] pi_qpn_i,
  input logic pi_valid_o,
  input logic bf_re_i,
  input logic [9:0] bf_qpn_i,
  input logic bf_hit_o,
  input logic bf_miss_pushed_o,
  input logic clear_i,
  input logic [9:0] clear_qpn_i,
  input logic idle_o
);
  logic pi_read_q, bf_read_q, last_valid_q;
  logic [9:0] last_qpn_q;
  logic sq, bf;
  logic [7:0] ds;
  assign sq = db_valid_i && db_i.kind == rnic_pkg::DbSq;
  assign bf = db_valid_i && db_i.kind == rnic_pkg::DbBf;
  assign ds = db_i.data[63:56];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      pi_read_q <= 1'b0;
      bf_read_q <= 1'b0;
      last_valid_q <= 1'b0;
    end else begin
      pi_read_q <= pi_re_i;
      bf_read_q <= bf_re_i;
      last_valid_q <= db_valid_i;
    end
  end
  always_ff @(posedge clk_i) if (db_valid_i) last_qpn_q <= db_i.qpn;

  // Size of a pushed WQE in 16 B units; 9: longer than two pieces.
  for (genvar d = 0; d < 10; d++) begin : ds16
    always_ff @(posedge clk_i) if (rst_ni && bf && !db_i.piece) begin
      push : cover (d == 9 ? ds > 8'd8 : ds == 8'(d));
    end
  end

  always_ff @(posedge clk_i) if (rst_ni) begin
    sq_doorbell : cover (sq);
    piece_one : cover (bf && db_i.piece);
    doorbells_back_to_back_of_one_qp : cover (sq && last_valid_q && last_qpn_q == db_i.qpn);
    doorbells_back_to_back_of_two_qps : cover (sq && last_valid_q && last_qpn_q != db_i.qpn);
    producer_index_zero : cover (sq && db_i.value[15:0] == 16'd0);
    producer_index_largest : cover (sq && db_i.value[15:0] == 16'hFFFF);
    ring : cover (ring_o);
    if (pi_read_q) begin
      producer_index_known : cover (pi_valid_o);
      producer_index_unknown : cover (!pi_valid_o);
    end
    query : cover (q_re_i);
    query_at_a_doorbell_of_the_qp : cover (q_re_i && sq && q_qpn_i == db_i.qpn);
    producer_index_read_at_its_doorbell : cover (pi_re_i && sq && pi_qpn_i == db_i.qpn);
    if (bf_read_q) begin
      lookup_hits : cover (bf_hit_o);
      lookup_finds_another_wqe_of_the_qp : cover (bf_miss_pushed_o);
      lookup_finds_nothing : cover (!bf_hit_o && !bf_miss_pushed_o);
    end
    lookup_at_a_piece_of_the_qp : cover (bf_re_i && bf && bf_qpn_i == db_i.qpn);
    if (clear_i) begin
      clear_while_idle : cover (idle_o && !db_valid_i);
      clear_at_a_doorbell_of_the_qp : cover (sq && db_i.qpn == clear_qpn_i);
      clear_at_a_piece_of_the_qp : cover (bf && db_i.qpn == clear_qpn_i);
      clear_at_a_lookup_of_the_qp : cover (bf_re_i && bf_qpn_i == clear_qpn_i);
    end
  end
endmodule

bind doorbell_intake doorbell_intake_cover u_cover (.*);
