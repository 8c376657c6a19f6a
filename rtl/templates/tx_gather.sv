// SPDX-License-Identifier: Apache-2.0
// A tx_gather of your own, to start from: `scripts/new_override tx_gather DIR` copies it, with tx_gather_ref, our block
// under another name. Written by scripts/gen_templates.py from rtl/tx/tx_gather.sv and rtl/templates/contract.toml.
//
// What our block does: the head of rtl/tx/tx_gather.sv, and docs/blocks. What holds for every block:
// docs/howto/override.md.
//
// Latency: none for a packet of one read while nothing is kept (TxGatherTest.SingleReadPassesWithoutLatency); 2 cycles
// from the last beat of a packet of several (TxGatherTest.GatheredPacketIsOfferedTwoCyclesLater).
// A version that takes N cycles more declares +latency+tx_gather+N in its list.
//
// Streams that come in: pay. A beat is taken at the edge before which valid and ready are both high; ready may depend
// on valid, valid never on ready; valid and payload stay until then.
//
// Has to drive, whatever is inside:
//   idle_o  low while anything is kept
//
// Has to keep:
//   packets  in order, whole, without gaps inside; one error beat for a packet of which a piece failed
//   room     a packet of 4096 B can always be completed once those before it have left
module tx_gather #(
  parameter int unsigned Lines = 128       // of 64 B; power of two, at least 64
) (
  input  logic clk_i,
  input  logic rst_ni,
  // From dma_master; beats of a read without gaps
  input  logic pay_valid_i,
  output logic pay_ready_o,
  input  rnic_pkg::payload_t pay_i,
  // To tx_packetizer; beats of a packet without gaps, more is 0
  output logic gather_valid_o,
  input  logic gather_ready_i,
  output rnic_pkg::payload_t gather_o,
  output logic idle_o
);
  // ---- Places for registers: 1 puts one into the stream, which costs a cycle --------------------
  localparam bit RegPay = 1'b0;

  logic pay_valid, pay_ready;
  rnic_pkg::payload_t pay;
  if (RegPay) begin : gen_pay_reg
    stream_register #(.Width($bits(pay_i))) u_pay_reg (
      .clk_i, .rst_ni,
      .in_valid_i(pay_valid_i), .in_ready_o(pay_ready_o), .in_data_i(pay_i),
      .out_valid_o(pay_valid), .out_ready_i(pay_ready), .out_data_o(pay)
    );
  end else begin : gen_pay_wire
    assign pay_valid = pay_valid_i;
    assign pay_ready_o = pay_ready;
    assign pay = pay_i;
  end

  // ---- Your logic stands here, instead of ours or around it --------------------------------------
  logic idle;
  tx_gather_ref #(
    .Lines(Lines)
  ) u_ref (
    .clk_i, .rst_ni, .pay_valid_i(pay_valid), .pay_ready_o(pay_ready), .pay_i(pay), .gather_valid_o,
    .gather_ready_i, .gather_o, .idle_o(idle)
  );

  // What stands in a register is work: no edge may be left out while it does.
  assign idle_o = idle && !(RegPay && pay_valid);
endmodule
