// SPDX-License-Identifier: Apache-2.0
// Accumulators of the AllReduce engine: two banks of 512 bits, each with a port to read and one to write, and a parity bit
// for every 32 bits. A row is the same place in both banks; each bank is addressed on its own.
//
// Read at edge n, data after edge n; a read of what is written at the same edge gives the new data. Whether parity was
// wrong comes an edge later, once for each read. inject_* flips a bit of a row at its next write, behind the parity;
// a later one replaces one that waits.
module arp_sram #(
  parameter int unsigned Rows = arp_pkg::NumRows
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic [1:0] rd_i,                       // by bank
  input  logic [$clog2(Rows)-1:0] rd_row0_i,
  input  logic [$clog2(Rows)-1:0] rd_row1_i,
  output logic [1023:0] rd_data_o,               // bank 0 in the lower half; stays until the bank's next read
  output logic [1:0] rd_bad_o,
  input  logic [1:0] wr_i,
  input  logic [$clog2(Rows)-1:0] wr_row_i,
  input  logic [1023:0] wr_data_i,
  input  logic inject_valid_i,
  input  logic [$clog2(Rows)-1:0] inject_row_i,
  input  logic [9:0] inject_bit_i,               // 512 and above: bank 1
  output logic busy_o
);
  localparam int unsigned RowW = $clog2(Rows);
  localparam int unsigned WordW = 512 + 16;

  function automatic logic [15:0] parity(input logic [511:0] data);
    begin
      for (int unsigned i = 0; i < 16; i++) parity[i] = ^data[32*i +: 32];
    end
  endfunction

  logic inject_q;
  logic [RowW-1:0] inject_row_q;
  logic [9:0] inject_bit_q;
  logic [1:0] flip, read_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      inject_q <= 1'b0;
      read_q <= 2'b00;
    end else begin
      if (inject_valid_i) inject_q <= 1'b1;
      else if (flip != 2'b00) inject_q <= 1'b0;
      read_q <= rd_i;
    end
  end
  always_ff @(posedge clk_i) begin
    if (inject_valid_i) {inject_row_q, inject_bit_q} <= {inject_row_i, inject_bit_i};
  end

  for (genvar b = 0; b < 2; b++) begin : g_bank
    logic [WordW-1:0] mem [Rows];
    logic [WordW-1:0] word_q, new_q, got;        // as it was; as it is written at the same edge; what counts
    logic [RowW-1:0] rd_row;
    logic same, same_q, bad_q;
    assign rd_row = b == 0 ? rd_row0_i : rd_row1_i;
    assign same = wr_i[b] && wr_row_i == rd_row;
    assign got = same_q ? new_q : word_q;
    assign flip[b] = inject_q && wr_i[b] && wr_row_i == inject_row_q && inject_bit_q[9] == (b == 1);

    always_ff @(posedge clk_i) begin
      logic [WordW-1:0] word;
      word = '0;
      if (wr_i[b]) begin
        word = {parity(wr_data_i[512*b +: 512]), wr_data_i[512*b +: 512]};
        if (flip[b]) word = word ^ ({{WordW-1{1'b0}}, 1'b1} << inject_bit_q[8:0]);
        mem[wr_row_i] <= word;
      end
      if (rd_i[b]) begin
        word_q <= mem[rd_row];
        same_q <= same;
        if (same) new_q <= word;
      end
    end

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) bad_q <= 1'b0;
      else if (read_q[b] || bad_q) bad_q <= read_q[b] && parity(got[511:0]) != got[527:512];
    end

    assign rd_data_o[512*b +: 512] = got[511:0];
    assign rd_bad_o[b] = bad_q;
  end

  assign busy_o = read_q != 2'b00 || rd_bad_o != 2'b00;
endmodule
