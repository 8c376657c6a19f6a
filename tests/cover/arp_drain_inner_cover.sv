// SPDX-License-Identifier: Apache-2.0
module arp_drain_inner_cover (
  input logic clk_i,
  input logic rst_ni,
  input logic job_q,
  input logic job_end,
  input logic p2_q,
  input logic [8:0] space_q,
  input logic resq_room,
  input logic t3_q,
  input logic last3_q,
  input logic bad_now,
  input logic ask_lost_i,
  input logic lostq_valid,
  input logic res_lost,
  input logic [10:0] out_q
);
  always_ff @(posedge clk_i) if (rst_ni) begin
    next_job_at_once : cover (job_end && p2_q);
    buffer_full : cover (job_q && space_q == 9'd0);
    many_results_wait : cover (job_q && !resq_room);
    if (t3_q && last3_q) begin
      lost_here : cover (bad_now && !ask_lost_i);
      lost_before : cover (ask_lost_i);
    end
    lost_waits_for_its_turn : cover (lostq_valid && res_lost && out_q != 11'd0);
  end
endmodule

bind arp_drain arp_drain_inner_cover u_inner_cover (.*);
