// SPDX-License-Identifier: Apache-2.0
module deadline_tree_cover #(
  parameter int unsigned LogN = 10,
  parameter int unsigned KeyW = 48
) (
  input logic clk_i,
  input logic rst_ni,
  input logic set_i,
  input logic [LogN-1:0] set_idx_i,
  input logic set_valid_i,
  input logic [KeyW-1:0] set_key_i,
  input logic root_valid_o,
  input logic [LogN-1:0] root_idx_o,
  input logic [KeyW-1:0] root_key_o,
  input logic busy_o
);
  always_ff @(posedge clk_i) if (rst_ni) begin
    if (set_i) begin
      key_set : cover (set_valid_i);
      key_taken_away : cover (!set_valid_i);
      set_behind_another : cover (busy_o);
      first_one : cover (!root_valid_o && set_valid_i);
      root_taken_away : cover (root_valid_o && root_idx_o == set_idx_i && !set_valid_i);
      root_changed : cover (root_valid_o && root_idx_o == set_idx_i && set_valid_i);
      smaller : cover (root_valid_o && set_valid_i && set_key_i < root_key_o);
      equal : cover (root_valid_o && set_valid_i && set_key_i == root_key_o && set_idx_i != root_idx_o);
    end
    empty : cover (!root_valid_o && !busy_o);
  end
endmodule

bind deadline_tree deadline_tree_cover #(.LogN(LogN), .KeyW(KeyW)) u_cover (.*);
