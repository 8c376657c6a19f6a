// SPDX-License-Identifier: Apache-2.0
// ICRC over a stream of masked 512-bit beats. See docs/blocks/icrc.md.
//
// Input: beats of the frame with the Ethernet header zeroed, the variant fields set to ones, and zeros after the end of
// the covered bytes; the seed is folded into the first four covered bytes here (byte 14 on, or seed_off_i). Output: the
// four bytes as they stand in the frame, Latency cycles after the last beat. One beat a cycle, never stalls.
module icrc (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic valid_i,
  input  logic sop_i,
  input  logic eop_i,
  input  logic [3:0] zero_dws_i,       // with eop: how many 32-bit words after the end are zero fill in this beat (0..15)
  input  logic [511:0] data_i,         // covered bytes end on a multiple of 4 bytes from byte 14: see zero_half
  output logic valid_o,
  output logic [31:0] icrc_o           // [7:0] is first on the wire
);
endmodule
