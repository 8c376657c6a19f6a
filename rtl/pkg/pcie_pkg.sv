// SPDX-License-Identifier: Apache-2.0
// TLP formats, names as in the PCI Express Base Specification.
package pcie_pkg;

  // {Fmt, Type}: first byte of a TLP.
  localparam logic [7:0] MRd32 = 8'h00;
  localparam logic [7:0] MRd64 = 8'h20;
  localparam logic [7:0] MWr32 = 8'h40;
  localparam logic [7:0] MWr64 = 8'h60;
  localparam logic [7:0] Cpl = 8'h0A;
  localparam logic [7:0] CplD = 8'h4A;

  // Completion status
  localparam logic [2:0] StatusSc = 3'd0;
  localparam logic [2:0] StatusUr = 3'd1;
  localparam logic [2:0] StatusCrs = 3'd2;
  localparam logic [2:0] StatusCa = 3'd4;

  // DW0 of every TLP
  typedef struct packed {
    logic [7:0] fmt_type;
    logic tag9;
    logic [2:0] tc;
    logic tag8;
    logic ido;
    logic rsvd;
    logic th;
    logic td;
    logic ep;
    logic ro;
    logic ns;
    logic [1:0] at;
    logic [9:0] length;        // DWs, 0 = 1024
  } tlp_dw0_t;

  // DW1 of a memory request; followed by the address in one or two DWs
  typedef struct packed {
    logic [15:0] requester_id;
    logic [7:0] tag;
    logic [3:0] last_be;
    logic [3:0] first_be;
  } tlp_req_dw1_t;

  // DW1-2 of a completion
  typedef struct packed {
    logic [15:0] completer_id;
    logic [2:0] status;
    logic bcm;
    logic [11:0] byte_count;   // 0 = 4096
    logic [15:0] requester_id;
    logic [7:0] tag;
    logic rsvd;
    logic [6:0] lower_addr;
  } tlp_cpl_t;

  // Room that the completions of a read may take at worst: headers [15:9], data [8:0] in 16 B. Of the address the lowest
  // seven bits count. A completer may cut at every RCB.
  function automatic logic [15:0] cpl_room(input logic [6:0] addr, input logic [12:0] len, input logic rcb);
    logic [12:0] bytes, reach, alone, several;
    logic one;                 // completion: counts from its first DW on, several from the first one's 16 B on
    begin
      bytes = {len[12:1], len[0] || len == 13'd0};
      reach = {6'b0, rcb & addr[6], addr[5:0]} + bytes + {6'b0, rcb, 6'd63};
      alone = {11'b0, addr[1:0]} + bytes + 13'd15;
      several = {9'b0, addr[3:0]} + bytes + 13'd15;
      one = rcb ? reach[12:7] == 6'd1 : reach[12:6] == 7'd1;
      cpl_room = {rcb ? {1'b0, reach[12:7]} : reach[12:6], one ? alone[12:4] : several[12:4]};
    end
  endfunction

endpackage
