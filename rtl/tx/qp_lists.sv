// SPDX-License-Identifier: Apache-2.0
// FIFO lists of QPs over one memory of next pointers. A QP stands in one list at most, so the lists can't overflow.
//
// One put and one take a cycle, of the same list or of different ones. A QP put at edge n can be taken from edge n + 1
// on. Taking from an empty list is not allowed.
module qp_lists #(
  parameter int unsigned Lists = 36,
  parameter int unsigned QpnW = 10
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic put_i,
  input  logic [$clog2(Lists)-1:0] put_list_i,
  input  logic [QpnW-1:0] put_qpn_i,
  input  logic take_i,
  input  logic [$clog2(Lists)-1:0] take_list_i,
  output logic [QpnW-1:0] take_qpn_o,  // first of take_list_i
  output logic [Lists-1:0] filled_o    // lists that are not empty
);
  logic [QpnW-1:0] next_mem [2**QpnW];
  logic [QpnW-1:0] head_mem [Lists];
  logic [QpnW-1:0] tail_mem [Lists];
  logic [Lists-1:0] filled_q;
  logic takes_last, put_first;

  assign filled_o = filled_q;
  assign take_qpn_o = head_mem[take_list_i];
  assign takes_last = take_i && take_qpn_o == tail_mem[take_list_i];
  assign put_first = put_i && (!filled_q[put_list_i] || (takes_last && take_list_i == put_list_i));

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      filled_q <= '0;
    end else if (put_i || takes_last) begin
      if (takes_last) filled_q[take_list_i] <= 1'b0;
      if (put_i) filled_q[put_list_i] <= 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (put_i && !put_first) next_mem[tail_mem[put_list_i]] <= put_qpn_i;
  end

  always_ff @(posedge clk_i) begin
    if (put_i) tail_mem[put_list_i] <= put_qpn_i;
  end

  // Both at once only for different lists, or when the put is not the first of its list.
  always_ff @(posedge clk_i) begin
    if (take_i && !takes_last) head_mem[take_list_i] <= next_mem[take_qpn_o];
    if (put_first) head_mem[put_list_i] <= put_qpn_i;
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && take_i) begin
      TakeOfFilled : assert (filled_q[take_list_i]);
    end
  end
`endif
endmodule
