// SPDX-License-Identifier: Apache-2.0
// Signals for every kind of rule. All of them are functions of the cycle's number, so that each fault, made with +bad, has
// a cycle that everybody can work out. Read by Verilator and by Icarus: Verilog-2005.
module kinds (input clk);
  reg [15:0] cycle = 0;
  reg bad = 0;
  initial if ($test$plusargs("bad")) bad = 1;
  always @(posedge clk) cycle <= cycle + 1;

  wire rst = cycle < 3;
  wire nothing = cycle == 16'hffff;

  wire nv = bad && cycle == 50;                                               // never
  wire al = !(bad && cycle == 51);                                            // always
  wire [3:0] oh = bad && cycle == 52 ? 4'b0110 : 4'b0001 << cycle[1:0];       // onehot
  wire [3:0] nx = cycle < 2 ? 4'bxxxx : bad && cycle == 53 ? 4'b1xz0 : cycle[3:0];  // no_x
  wire [7:0] rg = bad && cycle == 54 ? 8'd26 : 8'd10 + {4'd0, cycle[3:0]};    // range: 10 to 25
  wire st_when = cycle[3:0] >= 4 && cycle[3:0] < 12;                          // stable
  wire [79:0] st = bad && cycle >= 56 ? {80{1'b1}} : {72'd0, 4'd0, cycle[7:4]};
  wire co_when = cycle[3:0] == 8;                                             // change_only_when
  wire [7:0] co = (bad && cycle >= 60 ? 8'h80 : 8'h00) | ((cycle[7:0] + 8'd7) >> 4);
  wire [7:0] mo = bad && cycle == 62 ? 8'd3 : cycle[9:2];                     // monotonic
  wire ce = cycle[1:0] == 2;                                                  // counter
  wire [7:0] cc = ((cycle[7:0] + 8'd1) >> 2) - 8'd1 + (bad && cycle >= 65 ? 8'd1 : 8'd0);
  wire hv = !rst && cycle < 120 && cycle[2:0] >= 2 && cycle[2:0] <= 5;                       // handshake
  wire hr = cycle[2:0] == 5;
  wire [63:0] hp = {51'd0, cycle[15:3]} ^ (bad && cycle == 68 ? 64'h8000_0000_0000_0000 : 64'd0);
  wire ra = cycle[3:0] == 4;                                                  // response
  wire rb = cycle[3:0] == 9 && !(bad && cycle == 73);
  wire la = cycle[3:0] == 4;                                                  // latency
  wire lb = bad && cycle[15:4] == 4 ? cycle == 75 : cycle[3:0] == 9;
  wire mq = cycle[3:0] == 3;                                                  // match
  wire mp = cycle[3:0] == 7 || (bad && cycle == 76);
  wire ci = cycle[2:0] == 3;                                                  // conservation
  wire cq = cycle[2:0] == 6 || (bad && cycle == 79);
  wire op = cycle[2:0] == 3 || (bad && cycle == 84);                          // occupancy
  wire oq = cycle[2:0] == 6;
  wire pe = cycle[2:0] == 0 && !(bad && cycle == 88);                         // progress
  wire te = cycle[0] == 0 || (bad && cycle == 89);                             // throughput
endmodule
