// SPDX-License-Identifier: Apache-2.0
module ctx_cache_inner_cover (
  input logic clk_i,
  input logic rst_ni,
  input logic [1:0] state_q,           // Lookup, Ask, Fill
  input logic s1_valid_q,
  input logic s1_hit,
  input logic s1_miss,
  input logic s1_answer,
  input logic fill_last,
  input logic inval_i,
  input logic inval_s1,
  input logic killed_q,
  input logic rsp_valid_q,
  input logic dm_req_ready_i
);
  logic [1:0] was_q;
  logic known_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      was_q <= 2'd0;
      known_q <= 1'b0;
    end else begin
      was_q <= state_q;
      known_q <= 1'b1;
    end
  end

  // names(state): Lookup Ask Fill
  for (genvar s = 0; s < 3; s++) begin : state
    always_ff @(posedge clk_i) if (rst_ni) begin
      stays : cover (known_q && was_q == 2'(s) && state_q == 2'(s));
      goes_on : cover (was_q == 2'(s) && state_q == 2'((s + 1) % 3));
      invalidated_slot_in_use : cover (state_q == 2'(s) && s1_valid_q && inval_i && inval_s1);
      invalidated_another_slot : cover (state_q == 2'(s) && s1_valid_q && inval_i && !inval_s1);
    end
  end

  always_ff @(posedge clk_i) if (rst_ni) begin
    hit : cover (s1_answer);
    hit_waits_for_answer_register : cover (state_q == 2'd0 && s1_valid_q && s1_hit && !s1_answer);
    miss_waits_for_answer_register : cover (state_q == 2'd1 && rsp_valid_q);
    miss_waits_for_memory : cover (state_q == 2'd1 && !rsp_valid_q && !dm_req_ready_i);
    fill_kept : cover (fill_last && !killed_q && !(inval_i && inval_s1));
    fill_dropped : cover (fill_last && killed_q);
    fill_invalidated_as_it_comes : cover (fill_last && !killed_q && inval_i && inval_s1);
    invalidated_as_it_misses : cover (s1_miss && inval_i && inval_s1);
  end
endmodule

bind ctx_cache ctx_cache_inner_cover u_inner_cover (.*);
