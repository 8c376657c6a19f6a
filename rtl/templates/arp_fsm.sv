// SPDX-License-Identifier: Apache-2.0
// A arp_fsm of your own, to start from: `scripts/new_override arp_fsm DIR` copies it, with arp_fsm_ref, our block under
// another name. Written by scripts/gen_templates.py from rtl/collective/arp_fsm.sv and rtl/templates/contract.toml.
//
// What our block does: the head of rtl/collective/arp_fsm.sv, and docs/blocks. What holds for every block:
// docs/howto/override.md.
//
// Latency: a fragment's last beat to its verdict 8 cycles, to its first beat added 10 (ArpFsmTest.Latencies); a beat a
// cycle on distinct addresses, AluLatency + 1 cycles apart on the same (ArpFsmTest.SameAddressWaitsForTheAdderOnly).
// A version that takes N cycles more declares +latency+arp_fsm+N in its list.
//
// Streams that come in: cfg, frag, ack. A beat is taken at the edge before which valid and ready are both high; ready
// may depend on valid, valid never on ready; valid and payload stay until then.
//
// Has to drive, whatever is inside:
//   idle_o  low while a whole fragment, an acknowledge, a context, a result or an event is on its way; high with a
//           fragment that has come in part
//
// Has to keep:
//   fragments  count whole and right, or not at all; refused ones change nothing but counters and events
//   sums       in the order of the contributions, never from a stale accumulator
//   results    written in the order in which slots became full; not at all when parity was wrong; wr_o.op.qpn names the
//              slot, op.last its last write
//   slots      free by the acknowledge of their own tag only, after the last wr_done_i
//   contexts   taken when nothing is in flight
//   stat_o     one pulse for each thing that BAR2 counts, verdicts in the order of the fragments; slots_used_o and
//              slots_done_o follow in the same cycle
module arp_fsm (
  input  logic clk_i,
  input  logic rst_ni,
  // Group contexts
  input  logic cfg_valid_i,
  output logic cfg_ready_o,
  input  logic [15:0] cfg_group_i,
  input  arp_pkg::arp_group_t cfg_i,
  // Fragments
  input  logic frag_valid_i,
  output logic frag_ready_o,
  input  arp_pkg::arp_beat_t frag_i,
  // Acknowledges
  input  logic ack_valid_i,
  output logic ack_ready_o,
  input  arp_pkg::arp_ack_t ack_i,
  // Writes to memory: request, then ceil(len/64) beats of data
  output logic wr_valid_o,
  input  logic wr_ready_i,
  output rnic_pkg::wr_req_t wr_o,
  output logic wdata_valid_o,
  input  logic wdata_ready_i,
  output logic [511:0] wdata_o,
  input  logic wr_done_i,
  input  rnic_pkg::op_t wr_done_op_i,
  // Events; dropped when nobody takes them
  output logic evt_valid_o,
  input  logic evt_ready_i,
  output arp_pkg::arp_evt_t evt_o,
  // For tests: a bit of an accumulator row is wrong after its next write
  input  logic inject_valid_i,
  input  logic [11:0] inject_row_i,
  input  logic [9:0] inject_bit_i,
  // Observation
  output arp_pkg::arp_stat_t stat_o,
  output logic [10:0] slots_used_o,              // not free
  output logic [10:0] slots_done_o,              // wait for their acknowledge
  output logic idle_o                            // nothing in flight; slots may be open or done
);
  // ---- Places for registers: 1 puts one into the stream, which costs a cycle --------------------
  localparam bit RegCfg = 1'b0;
  localparam bit RegFrag = 1'b0;
  localparam bit RegAck = 1'b0;

  logic cfg_valid, cfg_ready;
  logic [15:0] cfg_group;
  arp_pkg::arp_group_t cfg;
  if (RegCfg) begin : gen_cfg_reg
    stream_register #(.Width($bits({cfg_group_i, cfg_i}))) u_cfg_reg (
      .clk_i, .rst_ni,
      .in_valid_i(cfg_valid_i), .in_ready_o(cfg_ready_o), .in_data_i({cfg_group_i, cfg_i}),
      .out_valid_o(cfg_valid), .out_ready_i(cfg_ready), .out_data_o({cfg_group, cfg})
    );
  end else begin : gen_cfg_wire
    assign cfg_valid = cfg_valid_i;
    assign cfg_ready_o = cfg_ready;
    assign cfg_group = cfg_group_i;
    assign cfg = cfg_i;
  end

  logic frag_valid, frag_ready;
  arp_pkg::arp_beat_t frag;
  if (RegFrag) begin : gen_frag_reg
    stream_register #(.Width($bits(frag_i))) u_frag_reg (
      .clk_i, .rst_ni,
      .in_valid_i(frag_valid_i), .in_ready_o(frag_ready_o), .in_data_i(frag_i),
      .out_valid_o(frag_valid), .out_ready_i(frag_ready), .out_data_o(frag)
    );
  end else begin : gen_frag_wire
    assign frag_valid = frag_valid_i;
    assign frag_ready_o = frag_ready;
    assign frag = frag_i;
  end

  logic ack_valid, ack_ready;
  arp_pkg::arp_ack_t ack;
  if (RegAck) begin : gen_ack_reg
    stream_register #(.Width($bits(ack_i))) u_ack_reg (
      .clk_i, .rst_ni,
      .in_valid_i(ack_valid_i), .in_ready_o(ack_ready_o), .in_data_i(ack_i),
      .out_valid_o(ack_valid), .out_ready_i(ack_ready), .out_data_o(ack)
    );
  end else begin : gen_ack_wire
    assign ack_valid = ack_valid_i;
    assign ack_ready_o = ack_ready;
    assign ack = ack_i;
  end

  // ---- Your logic stands here, instead of ours or around it --------------------------------------
  logic idle;
  arp_fsm_ref u_ref (
    .clk_i, .rst_ni, .cfg_valid_i(cfg_valid), .cfg_ready_o(cfg_ready), .cfg_group_i(cfg_group),
    .cfg_i(cfg), .frag_valid_i(frag_valid), .frag_ready_o(frag_ready), .frag_i(frag),
    .ack_valid_i(ack_valid), .ack_ready_o(ack_ready), .ack_i(ack), .wr_valid_o, .wr_ready_i, .wr_o,
    .wdata_valid_o, .wdata_ready_i, .wdata_o, .wr_done_i, .wr_done_op_i, .evt_valid_o, .evt_ready_i,
    .evt_o, .inject_valid_i, .inject_row_i, .inject_bit_i, .stat_o, .slots_used_o, .slots_done_o,
    .idle_o(idle)
  );

  // What stands in a register is work: no edge may be left out while it does.
  assign idle_o = idle && !(RegCfg && cfg_valid) && !(RegFrag && frag_valid) && !(RegAck && ack_valid);
endmodule
