// SPDX-License-Identifier: Apache-2.0
module dm_arbiter_inner_cover #(
  parameter int unsigned N = 7
) (
  input logic clk_i,
  input logic rst_ni,
  input logic [N-1:0] req_valid_i,
  input logic [N-1:0] sel,
  input logic [N-1:0] pick,
  input logic lock_q,
  input logic room
);
  always_ff @(posedge clk_i) if (rst_ni) begin
    offer_kept_though_another_is_older : cover (lock_q && sel != pick);
    room_gone : cover (!room && req_valid_i != '0);
    write_goes_while_a_read_waits_for_room : cover (!room && sel != '0 && (req_valid_i & ~sel) != '0);
  end
endmodule

bind dm_arbiter dm_arbiter_inner_cover #(.N(N)) u_inner_cover (.*);
