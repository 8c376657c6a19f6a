// SPDX-License-Identifier: Apache-2.0
// RoCEv2 wire formats and WQE conventions; names as in the InfiniBand Architecture Specification and in mlx5.
package roce_pkg;

  // BTH opcode = transport bits | operation
  localparam logic [7:0] BthRc = 8'h00;
  localparam logic [7:0] BthUc = 8'h20;
  localparam logic [7:0] BthUd = 8'h60;
  localparam logic [7:0] SendFirst = 8'h00;
  localparam logic [7:0] SendMiddle = 8'h01;
  localparam logic [7:0] SendLast = 8'h02;
  localparam logic [7:0] SendLastImm = 8'h03;
  localparam logic [7:0] SendOnly = 8'h04;
  localparam logic [7:0] SendOnlyImm = 8'h05;
  localparam logic [7:0] WriteFirst = 8'h06;
  localparam logic [7:0] WriteMiddle = 8'h07;
  localparam logic [7:0] WriteLast = 8'h08;
  localparam logic [7:0] WriteLastImm = 8'h09;
  localparam logic [7:0] WriteOnly = 8'h0A;
  localparam logic [7:0] WriteOnlyImm = 8'h0B;
  localparam logic [7:0] ReadRequest = 8'h0C;
  localparam logic [7:0] CmpSwap = 8'h13;
  localparam logic [7:0] FetchAdd = 8'h14;
  localparam logic [7:0] SendLastInval = 8'h16;
  localparam logic [7:0] SendOnlyInval = 8'h17;

  localparam logic [15:0] UdpPort = 16'd4791;
  localparam int unsigned EthBytes = 14;
  localparam int unsigned VlanBytes = 4;
  localparam int unsigned Ipv4Bytes = 20;
  localparam int unsigned Ipv6Bytes = 40;
  localparam int unsigned UdpBytes = 8;
  localparam int unsigned BthBytes = 12;
  localparam int unsigned DethBytes = 8;
  localparam int unsigned RethBytes = 16;
  localparam int unsigned AtomicEthBytes = 28;
  localparam int unsigned ImmBytes = 4;
  localparam int unsigned IcrcBytes = 4;
  localparam int unsigned MinFrameBytes = 60;    // without FCS

  // Raw CRC register after the eight bytes of ones that stand for the LRH.
  localparam logic [31:0] IcrcSeed = 32'hDEBB20E3;
  localparam logic [31:0] CrcPoly = 32'hEDB88320;  // reflected

  // WQE opcodes (mlx5)
  localparam logic [7:0] WqeNop = 8'h00;
  localparam logic [7:0] WqeSendInval = 8'h01;
  localparam logic [7:0] WqeRdmaWrite = 8'h08;
  localparam logic [7:0] WqeRdmaWriteImm = 8'h09;
  localparam logic [7:0] WqeSend = 8'h0A;
  localparam logic [7:0] WqeSendImm = 8'h0B;
  localparam logic [7:0] WqeRdmaRead = 8'h10;
  localparam logic [7:0] WqeAtomicCs = 8'h11;
  localparam logic [7:0] WqeAtomicFa = 8'h12;

endpackage
