// SPDX-License-Identifier: Apache-2.0
// Functional points of every fifo. What stalls on a certain FIFO is covered with the block that holds it.
module fifo_cover #(
  parameter int unsigned Depth = 16
) (
  input logic clk_i,
  input logic rst_ni,
  input logic wr_valid_i,
  input logic wr_ready_o,
  input logic rd_valid_o,
  input logic rd_ready_i,
  input logic [$clog2(Depth):0] fill_o
);
  logic [$clog2(Depth):0] full;
  assign full = ($clog2(Depth) + 1)'(Depth);

  always_ff @(posedge clk_i) if (rst_ni) begin
    if (wr_valid_i) begin
      write_into_empty : cover (!rd_valid_o);
      write_waits_when_full : cover (!wr_ready_o);
      last_place_taken : cover (wr_ready_o && fill_o == full - 1'b1 && !rd_ready_i);
      write_and_read : cover (wr_ready_o && rd_valid_o && rd_ready_i);
    end
    if (rd_valid_o) begin
      read_waits : cover (!rd_ready_i);
      read_from_full : cover (rd_ready_i && fill_o == full);
      last_word_read : cover (rd_ready_i && fill_o == 1 && !wr_valid_i);
    end
    read_of_empty : cover (!rd_valid_o && rd_ready_i);
  end
endmodule

bind fifo fifo_cover #(.Depth(Depth)) u_cover (.*);
