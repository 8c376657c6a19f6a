// SPDX-License-Identifier: Apache-2.0
// Properties of a FIFO: follows one word from its write to its read. Nothing is lost, doubled, changed or overtaken if
// that holds for every word, and a proof leaves open which word it is; simulation follows one after the other.
module fifo_checker #(
  parameter int unsigned Width = 32,
  parameter int unsigned Depth = 16
) (
  input logic clk_i,
  input logic rst_ni,
  input logic wr_valid_i,
  input logic wr_ready_i,
  input logic [Width-1:0] wr_data_i,
  input logic rd_valid_i,
  input logic rd_ready_i,
  input logic [Width-1:0] rd_data_i,
  input logic [$clog2(Depth):0] fill_i,
`ifdef FORMAL
  output logic [$clog2(Depth)-1:0] ahead_o,      // the followed word's place, counted from the head
  input logic [Width-1:0] word_i,                // what the memory holds there
`endif
  output logic idle_o                            // follows none
);
  localparam int unsigned FillW = $clog2(Depth) + 1;

  logic write, read;
  assign write = wr_valid_i && wr_ready_i;
  assign read = rd_valid_i && rd_ready_i;

  // ---- The followed word ------------------------------------------------------------------------------------------
  logic follow_q;
  logic [FillW-1:0] ahead_q;                     // words before it
  logic [Width-1:0] data_q;
  logic start;
`ifdef FORMAL
  (* anyseq *) logic choose;
  assign start = write && !follow_q && choose;
  assign ahead_o = ahead_q[FillW-2:0];
`else
  assign start = write && !follow_q;
`endif
  assign idle_o = !follow_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) follow_q <= 1'b0;
    else if (start) follow_q <= 1'b1;
    else if (follow_q && read && ahead_q == '0) follow_q <= 1'b0;
  end

  always_ff @(posedge clk_i) begin
    if (start) data_q <= wr_data_i;
    if (start) ahead_q <= read ? fill_i - 1'b1 : fill_i;
    else if (follow_q && read) ahead_q <= ahead_q - 1'b1;
  end

  // ---- Fill, counted here -----------------------------------------------------------------------------------------
  logic [FillW-1:0] count_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) count_q <= '0;
    else if (write != read) count_q <= write ? count_q + 1'b1 : count_q - 1'b1;
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni && (wr_valid_i || rd_valid_i)) begin
      FillExact : assert (fill_i == count_q && count_q <= FillW'(Depth));
      FullFlag : assert (wr_ready_i == (count_q != FillW'(Depth)));
      EmptyFlag : assert (rd_valid_i == (count_q != '0));
      InOrder : assert (!follow_q || ahead_q != '0 || (rd_valid_i && rd_data_i == data_q));
    end
`ifdef FORMAL
    if (rst_ni) begin
      // What holds besides, for the induction
      StoredFill : assert (fill_i == count_q && count_q <= FillW'(Depth));
      StoredPlace : assert (!follow_q || ahead_q < count_q);
      StoredWord : assert (!follow_q || word_i == data_q);
      Full : cover (count_q == FillW'(Depth));
      Arrives : cover (follow_q && read && ahead_q == '0);
      FullRate : cover (write && read && count_q == FillW'(Depth - 1));
    end
`endif
  end
endmodule
