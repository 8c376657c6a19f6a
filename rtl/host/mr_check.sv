// SPDX-License-Identifier: Apache-2.0
// Checks an access to memory against its region's entry of the memory protection table: key, protection domain, rights,
// bounds. The same for every access, the NIC's own and a remote one.
//
// All sums are taken with the bit that they carry, so no range wraps: the bytes lie below 2^64, in the region, and at
// places (iova on) below 2^64. A range may end at 2^64. Of several faults the first in the order above is reported.
//
// Latency: en_i at edge n, ven_o after edge n until the next en_i. One access a cycle.
module mr_check (
  input  logic clk_i,
  input  logic en_i,
  input  rnic_pkg::mpt_t region_i,     // entry key_i[23:8] of the table
  input  logic [31:0] key_i,           // index above the variant; beyond the table's 65536 entries: no such key
  input  logic [23:0] pd_i,
  input  logic [63:0] addr_i,          // virtual
  input  logic [31:0] len_i,           // not 0: an access to nothing asks nobody
  input  logic [3:0] need_i,           // rights: {remote_atomic, remote_write, remote_read, local_write}
  output logic [7:0] ven_o             // VenNone: allowed
);
  logic [31:0] len_m1;
  logic [64:0] end_addr, slack, room;
  logic bad_key_q, bad_pd_q, bad_right_q, outside_q;
  logic [63:0] into_q;                 // first byte's distance from the region's
  logic [63:0] slack_q, room_q;        // it may be this much: for the region's length, for places below 2^64

  assign len_m1 = len_i - 32'd1;
  assign end_addr = {1'b0, addr_i} + {33'b0, len_i};
  assign slack = {1'b0, region_i.length} - {33'b0, len_i};
  assign room = {1'b0, ~region_i.iova} - {33'b0, len_m1};

  always_ff @(posedge clk_i) begin
    if (en_i) begin
      bad_key_q <= key_i[31:24] != 8'd0 || !region_i.valid || region_i.variant != key_i[7:0];
      bad_pd_q <= region_i.pd != pd_i;
      bad_right_q <= (need_i & ~{region_i.remote_atomic, region_i.remote_write, region_i.remote_read,
                                 region_i.local_write}) != 4'd0;
      outside_q <= addr_i < region_i.start || slack[64] || room[64] ||
                   (end_addr[64] && end_addr[63:0] != 64'd0);
      into_q <= addr_i - region_i.start;
      slack_q <= slack[63:0];
      room_q <= room[63:0];
    end
  end

  always_comb begin
    if (bad_key_q) ven_o = rnic_pkg::VenKey;
    else if (bad_pd_q) ven_o = rnic_pkg::VenPd;
    else if (bad_right_q) ven_o = rnic_pkg::VenRights;
    else if (outside_q || into_q > slack_q || into_q > room_q) ven_o = rnic_pkg::VenBounds;
    else ven_o = rnic_pkg::VenNone;
  end
endmodule
