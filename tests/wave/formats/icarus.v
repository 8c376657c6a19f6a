// SPDX-License-Identifier: Apache-2.0
// kinds.v under Icarus: 123 cycles of 10 ns, the clock rises at 5 ns.
`timescale 1ns / 1ps
module TOP;
  reg clk = 0;
  kinds kinds (.clk(clk));
  reg [1023:0] path;
  initial begin
    if (!$value$plusargs("dump=%s", path)) $finish;
    $dumpfile(path);
    if ($test$plusargs("shallow")) $dumpvars(1);
    else $dumpvars(0, TOP);
    #1230 $finish;
  end
  always #5 clk = !clk;
endmodule
