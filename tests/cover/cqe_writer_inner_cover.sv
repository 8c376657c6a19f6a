// SPDX-License-Identifier: Apache-2.0
module cqe_writer_inner_cover (
  input logic clk_i,
  input logic rst_ni,
  input logic s1_take,
  input logic s1_valid_q,
  input logic s1_done,
  input logic [9:0] look_cqn,
  input logic [9:0] s1_cqn,
  input logic [23:0] s1_pi_q,
  input logic s1_overrun_q,
  input logic ci_we,
  input rnic_pkg::doorbell_t db_i,
  input logic bad_cq,
  input logic full,
  input logic write,
  input logic error,
  input logic report,
  input logic out_free,
  input logic evt_free,
  input logic clear_i,
  input logic [9:0] clear_cqn_i
);
  always_ff @(posedge clk_i) if (rst_ni) begin
    if (ci_we) begin
      consumer_index_as_the_entry_is_looked_up : cover (s1_take && db_i.qpn == look_cqn);
      consumer_index_as_the_entry_is_checked : cover (s1_valid_q && db_i.qpn == s1_cqn);
    end
    if (s1_valid_q) begin
      waits_for_dma_master : cover (write && !out_free);
      waits_for_error_log : cover (report && !evt_free);
    end
    if (s1_done) begin
      ring_full_first : cover (!bad_cq && full && !s1_overrun_q);
      dropped_after_overrun : cover (!bad_cq && s1_overrun_q);
      dropped_after_overrun_with_room_again : cover (!bad_cq && s1_overrun_q && !full);
      error_entry_dropped : cover (!write && error);
      producer_index_wraps : cover (write && s1_pi_q == 24'hFFFFFF);
      cleared_as_it_is_written : cover (write && clear_i && clear_cqn_i == s1_cqn);
    end
  end
endmodule

bind cqe_writer cqe_writer_inner_cover u_inner_cover (.*);
