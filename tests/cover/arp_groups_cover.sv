// SPDX-License-Identifier: Apache-2.0
module arp_groups_cover (
  input logic clk_i,
  input logic rst_ni,
  input logic cfg_valid_i,
  input logic cfg_ready_o,
  input logic [15:0] cfg_group_i,
  input arp_pkg::arp_group_t cfg_i,
  input logic quiet_i,
  input logic clear_o,
  input logic refused_o,
  input logic [2:0] cfg_state_o
);
  always_ff @(posedge clk_i) if (rst_ni) begin
    if (cfg_valid_i && cfg_ready_o) begin
      taken : cover (!refused_o && cfg_i.valid);
      refused : cover (refused_o);
      group_taken_out : cover (!cfg_i.valid && !refused_o);
      first_group : cover (cfg_group_i == 16'd0 && !refused_o);
      last_group : cover (cfg_group_i == 16'd63 && !refused_o);
      number_too_large : cover (cfg_group_i > 16'd63);
    end
    waits_until_quiet : cover (cfg_state_o == 3'd1 && !quiet_i);
    clears_old : cover (clear_o && cfg_state_o == 3'd2);
    clears_new : cover (clear_o && cfg_state_o == 3'd3);
  end
endmodule

bind arp_groups arp_groups_cover u_cover (.*);
