// SPDX-License-Identifier: Apache-2.0
// Constants of CRC-32 as arithmetic in GF(2)[x] modulo the Ethernet polynomial, for elaboration time only.
//
// A 32-bit word is a polynomial in the reflected order of the CRC register: bit i is the coefficient of x^(31-i).
// Appending n zero bits to a message multiplies the register by x^n; taking them away again multiplies by x^-n.
package crc_pkg;

  // x^n
  function automatic logic [31:0] xpow(input integer n);
    logic [31:0] r;
    integer i;
    r = 32'h8000_0000;
    for (i = 0; i < n; i = i + 1) r = {1'b0, r[31:1]} ^ (r[0] ? 32'hEDB8_8320 : 32'h0);
    xpow = r;
  endfunction

  // x^-n
  function automatic logic [31:0] xinv(input integer n);
    logic [31:0] r;
    logic top;
    integer i;
    r = 32'h8000_0000;
    for (i = 0; i < n; i = i + 1) begin
      top = r[31];
      r = r ^ (top ? 32'hEDB8_8320 : 32'h0);
      r = {r[30:0], top};
    end
    xinv = r;
  endfunction

  // Columns of the matrix that multiplies by c: bits [32*m +: 32] are c * x^(31-m), the answer to bit m alone.
  function automatic logic [1023:0] mulcols(input logic [31:0] c);
    logic [1023:0] v;
    logic [31:0] r;
    integer m;
    r = c;
    v = '0;
    for (m = 0; m < 32; m = m + 1) begin
      v = {v[991:0], r};               // the first one ends as column 31
      r = {1'b0, r[31:1]} ^ (r[0] ? 32'hEDB8_8320 : 32'h0);
    end
    mulcols = v;
  endfunction

  // seed * x^n
  function automatic logic [31:0] advance(input logic [31:0] seed, input integer n);
    logic [31:0] r;
    integer i;
    r = seed;
    for (i = 0; i < n; i = i + 1) r = {1'b0, r[31:1]} ^ (r[0] ? 32'hEDB8_8320 : 32'h0);
    advance = r;
  endfunction

endpackage
