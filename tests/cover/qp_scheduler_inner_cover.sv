// SPDX-License-Identifier: Apache-2.0
module qp_scheduler_inner_cover (
  input logic clk_i,
  input logic rst_ni,
  input logic ring_i,
  input logic [9:0] ring_qpn_i,
  input logic ring_new,
  input logic ring_busy,
  input logic ring_released,
  input logic release_i,
  input logic [9:0] release_qpn_i,
  input logic release_more_i,
  input logic back,
  input logic done,
  input logic grant,
  input logic [1023:0] again_q,
  input logic [1023:0] out_q,
  input logic load,
  input logic pass,
  input logic queued,
  input logic put_a,
  input logic put_b,
  input logic a_bank,
  input logic b_bank,
  input logic [10:0] wptr_q,
  input logic [10:0] rptr_q,
  input logic [10:0] num_busy_q
);
  logic [10:0] waiting;
  assign waiting = wptr_q - rptr_q;

  // Where a QP goes that comes: bit 0 a new one, bit 1 a returning one, into the queue.
  // names(puts): none new returning both
  for (genvar p = 0; p < 4; p++) begin : puts
    for (genvar b = 0; b < 2; b++) begin : bank
      always_ff @(posedge clk_i) if (rst_ni && (ring_new || back)) begin
        queue_up : cover ({put_b, put_a} == 2'(p) && a_bank == b[0]);
      end
    end
  end

  always_ff @(posedge clk_i) if (rst_ni) begin
    if (ring_busy) begin
      rung_while_waiting : cover (!out_q[ring_qpn_i]);
      rung_while_handed_out : cover (out_q[ring_qpn_i] && !again_q[ring_qpn_i]);
      rung_again_while_handed_out : cover (out_q[ring_qpn_i] && again_q[ring_qpn_i]);
    end
    if (release_i) begin
      done_for_now : cover (done);
      back_for_more : cover (release_more_i && !again_q[release_qpn_i] && !ring_released);
      back_for_remembered_ring : cover (!release_more_i && again_q[release_qpn_i] && !ring_released);
      back_for_ring_at_this_edge : cover (!release_more_i && !again_q[release_qpn_i] && ring_released);
    end
    new_one_passes_into_the_register : cover (pass && ring_new);
    returning_one_passes_into_the_register : cover (pass && back && !ring_new);
    taken_from_the_queue : cover (load && queued);
    queue_pointer_wraps : cover (load && queued && rptr_q == 11'd2047);
    many_wait : cover (waiting >= 11'd512);
    all_wait : cover (waiting >= 11'd1022);
    all_busy : cover (num_busy_q == 11'd1024);
    new_and_done_together : cover (ring_new && done);
  end
endmodule

bind qp_scheduler qp_scheduler_inner_cover u_inner_cover (.*);
