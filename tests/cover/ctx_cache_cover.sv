// SPDX-License-Identifier: Apache-2.0
module ctx_cache_cover #(
  parameter int unsigned IdxW = 10,
  parameter int unsigned Entries = 256
) (
  input logic clk_i,
  input logic rst_ni,
  input logic req_valid_i,
  input logic req_ready_o,
  input logic [IdxW-1:0] req_idx_i,
  input logic rsp_valid_o,
  input logic rsp_ready_i,
  input logic inval_i,
  input logic [IdxW-1:0] inval_idx_i,
  input logic inval_all_i,
  input logic dm_req_valid_o,
  input logic dm_req_ready_i,
  input logic dm_rsp_valid_i,
  input rnic_pkg::dm_rsp_t dm_rsp_i,
  input logic stat_miss_o,
  input logic idle_o
);
  localparam int unsigned SlotW = $clog2(Entries);
  logic take, same_slot;
  assign take = req_valid_i && req_ready_o;
  assign same_slot = inval_idx_i[SlotW-1:0] == req_idx_i[SlotW-1:0];

  always_ff @(posedge clk_i) if (rst_ni) begin
    if (req_valid_i) begin
      lookup : cover (req_ready_o);
      lookup_waits : cover (!req_ready_o);
    end
    miss : cover (stat_miss_o);
    if (rsp_valid_o) begin
      answer_taken : cover (rsp_ready_i);
      answer_waits : cover (!rsp_ready_i);
      answers_flow : cover (rsp_ready_i && take);
    end
    if (dm_req_valid_o) begin
      read_taken : cover (dm_req_ready_i);
      read_waits : cover (!dm_req_ready_i);
    end
    if (dm_rsp_valid_i) begin
      last_beat : cover (dm_rsp_i.last);
    end
    if (inval_i) begin
      invalidation : cover (1'b1);
      invalidation_while_idle : cover (idle_o);
      invalidation_at_lookup_of_it : cover (take && inval_idx_i == req_idx_i);
      invalidation_at_lookup_of_its_slot : cover (take && same_slot && inval_idx_i != req_idx_i);
      invalidation_at_lookup_of_another_slot : cover (take && !same_slot);
    end
    if (inval_all_i) begin
      invalidation_of_all : cover (1'b1);
      invalidation_of_all_at_lookup : cover (take);
    end
  end
endmodule

bind ctx_cache ctx_cache_cover #(.IdxW(IdxW), .Entries(Entries)) u_cover (.*);
