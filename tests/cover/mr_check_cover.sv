// SPDX-License-Identifier: Apache-2.0
module mr_check_cover (
  input logic clk_i,
  input logic en_i,
  input rnic_pkg::mpt_t region_i,
  input logic [31:0] key_i,
  input logic [63:0] addr_i,
  input logic [31:0] len_i,
  input logic [3:0] need_i,
  input logic [7:0] ven_o
);
  logic answers_q;
  always_ff @(posedge clk_i) answers_q <= en_i;

  // names(answer): allowed 1 2 3 4 key bounds pd rights
  for (genvar v = 0; v < 9; v++) begin : answer
    if (v == 0 || v > 4) begin : known
      always_ff @(posedge clk_i) if (answers_q) begin
        answered : cover (ven_o == 8'(v));
      end
    end
  end
  // names(right): local_write remote_read remote_write remote_atomic
  for (genvar r = 0; r < 4; r++) begin : right
    always_ff @(posedge clk_i) if (en_i) begin
      right_granted : cover (need_i[r] && region_i[r+1]);
      right_missing : cover (need_i[r] && !region_i[r+1]);
    end
  end
  always_ff @(posedge clk_i) if (en_i) begin
    nothing_needed : cover (need_i == 4'd0);
    region_not_valid : cover (!region_i.valid);
    key_of_another_variant : cover (region_i.valid && region_i.variant != key_i[7:0]);
    key_index_beyond_the_table : cover (key_i[31:24] != 8'd0);
    region_before_address : cover (addr_i < region_i.start);
    region_shorter_than_access : cover ({32'b0, len_i} > region_i.length);
    zero_based : cover (region_i.valid && region_i.start == 64'd0);
    access_wraps : cover ({1'b0, addr_i} + {33'b0, len_i} > {1'b1, 64'b0});
    access_ends_at_2_64 : cover ({1'b0, addr_i} + {33'b0, len_i} == {1'b1, 64'b0});
    region_reaches_beyond_2_64 : cover ({1'b0, region_i.start} + {1'b0, region_i.length} > {1'b1, 64'b0});
    two_gib : cover (len_i == 32'h8000_0000);
  end
endmodule

bind mr_check mr_check_cover u_cover (.*);
