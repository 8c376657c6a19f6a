// SPDX-License-Identifier: Apache-2.0
module arp_sram_cover (
  input logic clk_i,
  input logic rst_ni,
  input logic [1:0] rd_i,
  input logic [11:0] rd_row0_i,
  input logic [11:0] rd_row1_i,
  input logic [1:0] rd_bad_o,
  input logic [1:0] wr_i,
  input logic [11:0] wr_row_i
);
  // names(bank): 0 1
  for (genvar b = 0; b < 2; b++) begin : bank
    always_ff @(posedge clk_i) if (rst_ni) begin
      read_of_what_is_written : cover (rd_i[b] && wr_i[b] && wr_row_i == (b == 0 ? rd_row0_i : rd_row1_i));
      read_beside_write : cover (rd_i[b] && wr_i[b] && wr_row_i != (b == 0 ? rd_row0_i : rd_row1_i));
      wrong_parity : cover (rd_bad_o[b]);
      last_row : cover (wr_i[b] && wr_row_i == 12'hFFF);
    end
  end
  always_ff @(posedge clk_i) if (rst_ni) begin
    rows_differ : cover (rd_i == 2'b11 && rd_row0_i != rd_row1_i);
    both_banks : cover (rd_i == 2'b11 && rd_row0_i == rd_row1_i && wr_i == 2'b11);
  end
endmodule

bind arp_sram arp_sram_cover u_cover (.*);
