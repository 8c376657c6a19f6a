// SPDX-License-Identifier: Apache-2.0
module tag_allocator_cover #(
  parameter int unsigned NumTags = 512
) (
  input logic clk_i,
  input logic rst_ni,
  input logic ext_tag_i,
  input logic tag10_i,
  input logic want_i,
  input logic tag_valid_o,
  input logic [9:0] tag_o,
  input logic take_i,
  input logic drop_i,
  input logic free_i,
  input logic [9:0] free_tag_i,
  input logic [9:0] look_tag_i,
  input logic look_used_o
);
  logic [9:0] used_q;                  // taken and not given back
  logic [9:0] last_free_q;
  logic [15:0] takes_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      used_q <= '0;
      takes_q <= '0;
    end else begin
      if (take_i != free_i) used_q <= take_i ? used_q + 10'd1 : used_q - 10'd1;
      if (take_i) takes_q <= takes_q + 16'd1;
    end
  end
  always_ff @(posedge clk_i) if (free_i) last_free_q <= free_tag_i;

  for (genvar g = 0; g < 16; g++) begin : group
    always_ff @(posedge clk_i) if (rst_ni && take_i) begin
      tag_of : cover (tag_o[9:5] == 5'(g));
    end
  end

  always_ff @(posedge clk_i) if (rst_ni) begin
    if (take_i) begin
      last_tag_taken : cover (used_q == 10'(NumTags - 1) && !free_i);
      freed_tag_taken_again : cover (takes_q != 16'd0 && tag_o == last_free_q);
      taken_as_another_is_freed : cover (free_i);
      one_every_cycle : cover (want_i);
      five_bit_tag : cover (!ext_tag_i && !tag10_i);
      eight_bit_tag : cover (ext_tag_i && !tag10_i);
      ten_bit_tag : cover (tag10_i && tag_o >= 10'd256);
    end
    if (want_i && !tag_valid_o) begin
      none_left : cover (used_q == 10'(NumTags));
      none_left_of_five_bits : cover (!ext_tag_i && !tag10_i && used_q >= 10'd32);
      none_left_of_eight_bits : cover (ext_tag_i && !tag10_i && used_q >= 10'd256);
      freed_when_none_is_left : cover (free_i && used_q == 10'(NumTags));
    end
    dropped : cover (drop_i && tag_valid_o);
    dropped_as_another_is_freed : cover (drop_i && tag_valid_o && free_i);
    nothing_to_drop : cover (drop_i && !tag_valid_o);
    waits_with_a_tag : cover (want_i && tag_valid_o && !take_i);
    freed_at_once : cover (free_i && used_q == 10'd1);
    looked_up_in_use : cover (look_used_o && used_q != 10'd0);
    looked_up_not_in_use : cover (!look_used_o && used_q != 10'd0);
    looked_up_while_offered : cover (tag_valid_o && look_tag_i == tag_o);
  end
endmodule

bind tag_allocator tag_allocator_cover #(.NumTags(NumTags)) u_cover (.*);
