// SPDX-License-Identifier: Apache-2.0
// A tx_packetizer of your own, to start from: `scripts/new_override tx_packetizer DIR` copies it, with
// tx_packetizer_ref, our block under another name. Written by scripts/gen_templates.py from rtl/tx/tx_packetizer.sv and
// rtl/templates/contract.toml.
//
// What our block does: the head of rtl/tx/tx_packetizer.sv, and docs/blocks. What holds for every block:
// docs/howto/override.md.
//
// Latency: payload offered to last beat of a 64 B WRITE accepted: 13 edges (TxPacketizerTest.LatencyOf64ByteWrite).
// A version that takes N cycles more declares +latency+tx_packetizer+N in its list.
//
// Streams that come in: desc, pay, inl. A beat is taken at the edge before which valid and ready are both high; ready
// may depend on valid, valid never on ready; valid and payload stay until then.
//
// Has to drive, whatever is inside:
//   probe_mac_o     in the cycle in which the MAC takes the last beat of a frame (mac_valid_o && mac_ready_i &&
//                   mac_o.eop)
//   probe_mac_op_o  with probe_mac_o: the frame's op
//   idle_o          low while a description, payload, frame, report or discard is inside
//
// Has to keep:
//   frames       in the order of the descriptions; no gap inside a frame
//   payloads     from the stream that the description names, none from the other, also those that are thrown away
//   completions  offered in order, a frame's after the MAC has taken its last beat
//   mac_o        op, prio and port stand with every beat of a frame
module tx_packetizer (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic desc_valid_i,
  output logic desc_ready_o,
  input  rnic_pkg::pkt_desc_t desc_i,
  input  logic pay_valid_i,
  output logic pay_ready_o,
  input  rnic_pkg::payload_t pay_i,
  input  logic inl_valid_i,
  output logic inl_ready_o,
  input  rnic_pkg::payload_t inl_i,
  output logic mac_valid_o,
  input  logic mac_ready_i,
  output rnic_pkg::mac_beat_t mac_o,
  output logic [2:0] mac_port_o,       // port of the frame
  // Completions, in order: after the last beat of a signaled message's last packet has been accepted by the MAC
  output logic cqe_valid_o,
  input  logic cqe_ready_i,
  output rnic_pkg::cqe_req_t cqe_o,
  // QP to error after a failed payload read
  output logic err_o,
  output logic [9:0] err_qpn_o,
  // CmdQpModify: the QP's error memory is cleared
  input  logic clear_i,
  input  logic [9:0] clear_qpn_i,
  output logic probe_mac_o,
  output rnic_pkg::op_t probe_mac_op_o,
  output logic idle_o
);
  // ---- Places for registers: 1 puts one into the stream, which costs a cycle --------------------
  localparam bit RegDesc = 1'b0;
  localparam bit RegPay = 1'b0;
  localparam bit RegInl = 1'b0;

  logic desc_valid, desc_ready;
  rnic_pkg::pkt_desc_t desc;
  if (RegDesc) begin : gen_desc_reg
    stream_register #(.Width($bits(desc_i))) u_desc_reg (
      .clk_i, .rst_ni,
      .in_valid_i(desc_valid_i), .in_ready_o(desc_ready_o), .in_data_i(desc_i),
      .out_valid_o(desc_valid), .out_ready_i(desc_ready), .out_data_o(desc)
    );
  end else begin : gen_desc_wire
    assign desc_valid = desc_valid_i;
    assign desc_ready_o = desc_ready;
    assign desc = desc_i;
  end

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

  logic inl_valid, inl_ready;
  rnic_pkg::payload_t inl;
  if (RegInl) begin : gen_inl_reg
    stream_register #(.Width($bits(inl_i))) u_inl_reg (
      .clk_i, .rst_ni,
      .in_valid_i(inl_valid_i), .in_ready_o(inl_ready_o), .in_data_i(inl_i),
      .out_valid_o(inl_valid), .out_ready_i(inl_ready), .out_data_o(inl)
    );
  end else begin : gen_inl_wire
    assign inl_valid = inl_valid_i;
    assign inl_ready_o = inl_ready;
    assign inl = inl_i;
  end

  // ---- Your logic stands here, instead of ours or around it --------------------------------------
  logic idle;
  tx_packetizer_ref u_ref (
    .clk_i, .rst_ni, .desc_valid_i(desc_valid), .desc_ready_o(desc_ready), .desc_i(desc),
    .pay_valid_i(pay_valid), .pay_ready_o(pay_ready), .pay_i(pay), .inl_valid_i(inl_valid),
    .inl_ready_o(inl_ready), .inl_i(inl), .mac_valid_o, .mac_ready_i, .mac_o, .mac_port_o,
    .cqe_valid_o, .cqe_ready_i, .cqe_o, .err_o, .err_qpn_o, .clear_i, .clear_qpn_i, .probe_mac_o,
    .probe_mac_op_o, .idle_o(idle)
  );

  // What stands in a register is work: no edge may be left out while it does.
  assign idle_o = idle && !(RegDesc && desc_valid) && !(RegPay && pay_valid) && !(RegInl && inl_valid);
endmodule
