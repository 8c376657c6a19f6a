// SPDX-License-Identifier: Apache-2.0
module mr_check_inner_cover (
  input logic clk_i,
  input logic en_i,
  input logic bad_key_q,
  input logic bad_pd_q,
  input logic bad_right_q,
  input logic outside_q,
  input logic [63:0] into_q,
  input logic [63:0] slack_q,
  input logic [63:0] room_q,
  input logic [7:0] ven_o
);
  logic answers_q, known;
  always_ff @(posedge clk_i) answers_q <= en_i;
  assign known = !bad_key_q && !bad_pd_q && !bad_right_q && !outside_q;

  always_ff @(posedge clk_i) if (answers_q) begin
    fits_exactly : cover (ven_o == 8'd0 && into_q == 64'd0 && slack_q == 64'd0);
    ends_with_the_region : cover (ven_o == 8'd0 && into_q == slack_q && into_q != 64'd0);
    one_byte_too_far : cover (known && into_q == slack_q + 64'd1 && slack_q != '1);
    place_ends_at_2_64 : cover (ven_o == 8'd0 && into_q == room_q);
    place_one_byte_beyond_2_64 : cover (known && into_q == room_q + 64'd1 && room_q != '1 && into_q <= slack_q);
    other_domain : cover (!bad_key_q && bad_pd_q);
    only_a_right_missing : cover (!bad_key_q && !bad_pd_q && bad_right_q && !outside_q);
  end
endmodule

bind mr_check mr_check_inner_cover u_inner_cover (.*);
