// SPDX-License-Identifier: Apache-2.0
// A arp_engine of your own, to start from: `scripts/new_override arp_engine DIR` copies it, with arp_engine_ref, our
// block under another name. Written by scripts/gen_templates.py from rtl/collective/arp_engine.sv and
// rtl/templates/contract.toml.
//
// What our block does: the head of rtl/collective/arp_engine.sv, and docs/blocks. What holds for every block:
// docs/howto/override.md.
//
// Latency: those of arp_fsm, dma_master and pcie_tlp_gen.
// A version that takes N cycles more declares +latency+arp_engine+N in its list.
//
// Streams that come in: cfg, frag, ack, tlp_rx. A beat is taken at the edge before which valid and ready are both high;
// ready may depend on valid, valid never on ready; valid and payload stay until then.
//
// Has to drive, whatever is inside:
//   idle_o  low while anything is on its way, in the engine or to the pins
//
// Has to keep:
//   slots  done when the last beat of their last TLP has been accepted at the pins
module arp_engine (
  input  logic clk_i,
  input  logic rst_ni,
  input  rnic_pkg::pcie_cfg_t pcie_cfg_i,
  input  rnic_pkg::pcie_fc_t pcie_fc_i,
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
  // PCIe
  output logic tlp_tx_valid_o,
  input  logic tlp_tx_ready_i,
  output rnic_pkg::tlp_beat_t tlp_tx_o,
  input  logic tlp_rx_valid_i,
  output logic tlp_rx_ready_o,
  input  rnic_pkg::tlp_beat_t tlp_rx_i,
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
  output logic [10:0] slots_used_o,
  output logic [10:0] slots_done_o,
  output logic idle_o
);
  // ---- Places for registers: 1 puts one into the stream, which costs a cycle --------------------
  localparam bit RegCfg = 1'b0;
  localparam bit RegFrag = 1'b0;
  localparam bit RegAck = 1'b0;
  localparam bit RegTlpRx = 1'b0;

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

  logic tlp_rx_valid, tlp_rx_ready;
  rnic_pkg::tlp_beat_t tlp_rx;
  if (RegTlpRx) begin : gen_tlp_rx_reg
    stream_register #(.Width($bits(tlp_rx_i))) u_tlp_rx_reg (
      .clk_i, .rst_ni,
      .in_valid_i(tlp_rx_valid_i), .in_ready_o(tlp_rx_ready_o), .in_data_i(tlp_rx_i),
      .out_valid_o(tlp_rx_valid), .out_ready_i(tlp_rx_ready), .out_data_o(tlp_rx)
    );
  end else begin : gen_tlp_rx_wire
    assign tlp_rx_valid = tlp_rx_valid_i;
    assign tlp_rx_ready_o = tlp_rx_ready;
    assign tlp_rx = tlp_rx_i;
  end

  // ---- Your logic stands here, instead of ours or around it --------------------------------------
  logic idle;
  arp_engine_ref u_ref (
    .clk_i, .rst_ni, .pcie_cfg_i, .pcie_fc_i, .cfg_valid_i(cfg_valid), .cfg_ready_o(cfg_ready),
    .cfg_group_i(cfg_group), .cfg_i(cfg), .frag_valid_i(frag_valid), .frag_ready_o(frag_ready),
    .frag_i(frag), .ack_valid_i(ack_valid), .ack_ready_o(ack_ready), .ack_i(ack), .tlp_tx_valid_o,
    .tlp_tx_ready_i, .tlp_tx_o, .tlp_rx_valid_i(tlp_rx_valid), .tlp_rx_ready_o(tlp_rx_ready),
    .tlp_rx_i(tlp_rx), .evt_valid_o, .evt_ready_i, .evt_o, .inject_valid_i, .inject_row_i,
    .inject_bit_i, .stat_o, .slots_used_o, .slots_done_o, .idle_o(idle)
  );

  // What stands in a register is work: no edge may be left out while it does.
  assign idle_o = idle && !(RegCfg && cfg_valid) && !(RegFrag && frag_valid) && !(RegAck && ack_valid) && !(RegTlpRx && tlp_rx_valid);
endmodule
