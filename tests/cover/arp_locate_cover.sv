// SPDX-License-Identifier: Apache-2.0
module arp_locate_cover (
  input logic clk_i,
  input logic en_i,
  input logic bad_o,
  input logic [31:0] pos_o,
  input logic [12:0] len_o,
  input logic [25:0] lap_o,
  input logic wide_o
);
  always_ff @(posedge clk_i) if (en_i) begin
    no_place : cover (bad_o);
    if (!bad_o) begin
      first_of_the_vector : cover (pos_o == 32'd0);
      upper_half_of_4_gib : cover (pos_o[31]);
      short_fragment : cover (len_o[5:0] != 6'd0);
      longest_fragment : cover (len_o == 13'd4096);
      high_lap : cover (lap_o[25]);
      wide : cover (wide_o);
    end
  end
endmodule

bind arp_locate arp_locate_cover u_cover (.*);
