// SPDX-License-Identifier: Apache-2.0
// Properties of tlp_splitter: the pieces cover the request exactly, in order; none is empty, none crosses a multiple of
// the size (or of 4 KiB), and all but the last end at one.
module splitter_checker (
  input logic clk_i,
  input logic rst_ni,
  input logic req_valid_i,
  input logic req_ready_i,
  input logic [2:0] req_size_i,
  input logic [63:0] req_addr_i,
  input logic [12:0] req_len_i,
  input logic valid_i,
  input logic ready_i,
  input logic [63:0] addr_i,
  input logic [12:0] len_i,
  input logic last_i,
  input logic [12:0] next_len_i,
  input logic [12:0] rem_i,
  input logic [4:0] mask_i
);
  logic load, take;
  logic active_q;                      // a request is not finished
  logic [63:0] addr_q;                 // where its next piece starts
  logic [12:0] left_q;                 // bytes of it from there on
  logic [12:0] size_q;
  logic moved_q;                       // a piece has moved in at the edge before
  logic [12:0] next_q;
  logic [12:0] offset;                 // of the piece inside its multiple of the size
  assign load = req_valid_i && req_ready_i;
  assign take = valid_i && ready_i;
  assign offset = {1'b0, addr_i[11:0] & (size_q[11:0] - 12'd1)};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      active_q <= 1'b0;
      moved_q <= 1'b0;
    end else begin
      if (load) active_q <= 1'b1;
      else if (take && left_q == len_i) active_q <= 1'b0;
      if (load || take || moved_q) moved_q <= load || (take && left_q != len_i);
    end
  end

  always_ff @(posedge clk_i) begin
    if (load) begin
      addr_q <= req_addr_i;
      left_q <= req_len_i;
      size_q <= 13'd128 << (req_size_i > 3'd5 ? 3'd5 : req_size_i);
    end else if (take) begin
      addr_q <= addr_q + {51'b0, len_i};
      left_q <= left_q - len_i;
    end
    if (load || take) next_q <= next_len_i;
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni && req_valid_i) begin
      RequestLength : assume (req_len_i != 13'd0 && req_len_i <= 13'd4096);
    end
    if (rst_ni && (valid_i || active_q || req_valid_i)) begin
      Flows : assert (req_ready_i == (!active_q || (ready_i && left_q == len_i)));
      Covers : assert (valid_i == active_q);
    end
    if (rst_ni && active_q) begin
      InPlace : assert (addr_i == addr_q);
      NotEmpty : assert (len_i != 13'd0);
      NotBeyond : assert (len_i <= left_q);
      Last : assert (last_i == (len_i == left_q));
      NoCrossing : assert (offset + len_i <= size_q);
      No4KCrossing : assert ({1'b0, addr_i[11:0]} + len_i <= 13'd4096);
      CutsOnlyThere : assert (last_i || offset + len_i == size_q);
      Foretold : assert (!moved_q || len_i == next_q);
`ifdef FORMAL
      // What holds besides, for the induction
      Rest : assert (rem_i == left_q);
      Size : assert (size_q == {{mask_i, 1'b1} & ~{1'b0, mask_i}, 7'b0} && (mask_i & (mask_i + 5'd1)) == 5'd0);
      ThreePieces : cover (take && last_i && addr_q[12:0] == 13'h1100 && size_q == 13'd128);
      Whole : cover (take && last_i && len_i == 13'd4096);
      Wraps : cover (take && last_i && addr_i == 64'd0 && moved_q);
`endif
    end
  end
endmodule
