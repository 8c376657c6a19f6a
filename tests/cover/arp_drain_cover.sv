// SPDX-License-Identifier: Apache-2.0
module arp_drain_cover (
  input logic clk_i,
  input logic rst_ni,
  input logic full_i,
  input logic end_o,
  input logic end_lost_o,
  input logic [1:0] rd_o,
  input logic rd_urgent_o,
  input logic rd_ready_i,
  input logic wr_valid_o,
  input logic wr_ready_i,
  input logic wdata_valid_o,
  input logic wr_done_i,
  input rnic_pkg::op_t wr_done_op_i
);
  // names(banks): none lower upper both
  for (genvar k = 1; k < 4; k++) begin : banks
    always_ff @(posedge clk_i) if (rst_ni) begin
      read : cover (rd_o == 2'(k) && rd_ready_i);
      read_waits : cover (rd_o == 2'(k) && !rd_ready_i);
    end
  end
  always_ff @(posedge clk_i) if (rst_ni) begin
    urgent : cover (rd_urgent_o);
    ends_written : cover (end_o && !end_lost_o);
    ends_lost : cover (end_o && end_lost_o);
    first_of_two_reported : cover (wr_done_i && !wr_done_op_i.last);
    request_beside_data : cover (wr_valid_o && wr_ready_i && wdata_valid_o);
    full_while_writing : cover (full_i && wdata_valid_o);
  end
endmodule

bind arp_drain arp_drain_cover u_cover (.*);
