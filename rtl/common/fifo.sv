// SPDX-License-Identifier: Apache-2.0
// Synchronous FIFO, first word falls through: data written at edge n can be read after edge n. Depth is a power of two.
// Full rate at any fill level. A write that finds it full waits (wr_ready_o low); a read that finds it empty gets nothing.
module fifo #(
  parameter int unsigned Width = 32,
  parameter int unsigned Depth = 16
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic wr_valid_i,
  output logic wr_ready_o,             // room for one more
  input  logic [Width-1:0] wr_data_i,
  output logic rd_valid_o,
  input  logic rd_ready_i,
  output logic [Width-1:0] rd_data_o,
  output logic [$clog2(Depth):0] fill_o
);
  localparam int unsigned PtrW = $clog2(Depth);

  logic [Width-1:0] mem [Depth];
  logic [PtrW:0] wptr_q, rptr_q;

  assign fill_o = wptr_q - rptr_q;
  assign wr_ready_o = !fill_o[PtrW];
  assign rd_valid_o = wptr_q != rptr_q;
  assign rd_data_o = mem[rptr_q[PtrW-1:0]];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      wptr_q <= '0;
      rptr_q <= '0;
    end else begin
      if (wr_valid_i && wr_ready_o) wptr_q <= wptr_q + 1'b1;
      if (rd_valid_o && rd_ready_i) rptr_q <= rptr_q + 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (wr_valid_i && wr_ready_o) mem[wptr_q[PtrW-1:0]] <= wr_data_i;
  end

`ifndef SYNTHESIS
  logic check_idle;
`ifdef FORMAL
  logic [PtrW-1:0] check_ahead, check_slot;
  assign check_slot = rptr_q[PtrW-1:0] + check_ahead;
`endif
  fifo_checker #(
    .Width(Width),
    .Depth(Depth)
  ) u_check (
    .clk_i, .rst_ni, .wr_valid_i, .wr_ready_i(wr_ready_o), .wr_data_i, .rd_valid_i(rd_valid_o), .rd_ready_i,
    .rd_data_i(rd_data_o), .fill_i(fill_o),
`ifdef FORMAL
    .ahead_o(check_ahead), .word_i(mem[check_slot]),
`endif
    .idle_o(check_idle)
  );
`endif
endmodule
