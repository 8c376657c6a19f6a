// SPDX-License-Identifier: Apache-2.0
// Events of the AllReduce engine: a FIFO with two inputs, which never wait. An event that finds no place is dropped, and
// lost_o pulses once for each; of two that meet the last place, b's gets it. Written at edge n, offered after edge n.
module arp_events #(
  parameter int unsigned Depth = 16              // power of two
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic a_valid_i,                        // fragments
  input  arp_pkg::arp_evt_t a_i,
  input  logic b_valid_i,                        // everything else
  input  arp_pkg::arp_evt_t b_i,
  output logic evt_valid_o,
  input  logic evt_ready_i,
  output arp_pkg::arp_evt_t evt_o,
  output logic lost_o,
  output logic idle_o
);
  localparam int unsigned PtrW = $clog2(Depth);
  localparam int unsigned EvtW = 124;            // arp_evt_t

  logic [EvtW-1:0] mem [Depth];
  logic [PtrW:0] wptr_q, rptr_q, fill;
  logic [15:0] lost_q;                           // not yet told: two may be dropped in a cycle
  logic a_in, b_in;
  logic [PtrW-1:0] b_ptr;
  logic [1:0] drops;

  assign fill = wptr_q - rptr_q;
  assign b_in = b_valid_i && !fill[PtrW];
  assign a_in = a_valid_i && !fill[PtrW] && !(b_valid_i && &fill[PtrW-1:0]);
  assign b_ptr = wptr_q[PtrW-1:0] + {{PtrW-1{1'b0}}, a_in};
  assign drops = {1'b0, a_valid_i && !a_in} + {1'b0, b_valid_i && !b_in};
  assign evt_valid_o = fill != '0;
  assign evt_o = mem[rptr_q[PtrW-1:0]];
  assign lost_o = lost_q != 16'd0;
  assign idle_o = !evt_valid_o && !lost_o;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      wptr_q <= '0;
      rptr_q <= '0;
      lost_q <= 16'd0;
    end else begin
      wptr_q <= wptr_q + {{PtrW{1'b0}}, a_in} + {{PtrW{1'b0}}, b_in};
      if (evt_valid_o && evt_ready_i) rptr_q <= rptr_q + 1'b1;
      if (drops != 2'd0 || lost_o) lost_q <= &lost_q[15:1] ? lost_q - 16'd1 : lost_q + {14'b0, drops} - {15'b0, lost_o};
    end
  end

  always_ff @(posedge clk_i) begin
    if (a_in) mem[wptr_q[PtrW-1:0]] <= a_i;
    if (b_in) mem[b_ptr] <= b_i;
  end

`ifndef SYNTHESIS
  stream_checker #(.Width(EvtW)) u_evt_check (
    .clk_i, .rst_ni, .valid_i(evt_valid_o), .ready_i(evt_ready_i), .data_i(evt_o)
  );
`endif
endmodule
