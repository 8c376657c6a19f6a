// SPDX-License-Identifier: Apache-2.0
// A sq_prefetch of your own, to start from: `scripts/new_override sq_prefetch DIR` copies it, with sq_prefetch_ref, our
// block under another name. Written by scripts/gen_templates.py from rtl/tx/sq_prefetch.sv and
// rtl/templates/contract.toml.
//
// What our block does: the head of rtl/tx/sq_prefetch.sv, and docs/blocks. What holds for every block:
// docs/howto/override.md.
//
// Latency: lookup to answer 3 cycles, to a read 4, last beat of data to ring 1 (SqPrefetchTest.Latencies).
// A version that takes N cycles more declares +latency+sq_prefetch+N in its list.
//
// Streams that come in: pf_req, pay. A beat is taken at the edge before which valid and ready are both high; ready may
// depend on valid, valid never on ready; valid and payload stay until then.
//
// Has to drive, whatever is inside:
//   idle_o  low from the lookup until its answer has been taken, while a read is under way, a ring waits, or a QP is
//           still to be rung
//
// Has to keep:
//   answers    exactly one for every lookup, in order; none waits for memory
//   rings      after a miss the QP is rung when it is worth looking again, unless it is cleared first
//   freshness  nothing at or behind a lookup's producer index is read; a lookup taken after clear_i sees nothing read
//              before it
module sq_prefetch #(
  parameter int unsigned Entries = 32,         // power of two, 2..512
  parameter int unsigned Blocks = 32,          // of an entry: power of two, at least 8
  parameter int unsigned Chunk = 8,            // blocks of a read: power of two, 4..Blocks/2
  parameter int unsigned MaxReads = 32         // reads under way: power of two
) (
  input  logic clk_i,
  input  logic rst_ni,
  // Lookups; answers in order
  input  logic pf_req_valid_i,
  output logic pf_req_ready_o,
  input  logic [9:0] pf_req_qpn_i,
  input  logic [15:0] pf_req_idx_i,    // block index of the WQE
  input  logic [15:0] pf_req_pi_i,     // producer index, not equal to it
  input  logic [63:0] pf_req_base_i,   // of the ring: I/O address, 64 B aligned
  input  logic [3:0] pf_req_log_size_i,
  output logic pf_rsp_valid_o,
  input  logic pf_rsp_ready_i,
  output logic pf_rsp_hit_o,
  output logic [2:0] pf_rsp_status_o,  // with a hit; not DmaOk: the WQE can't be read
  output logic [2047:0] pf_rsp_data_o, // with a hit: four blocks from the index on, valid as far as the WQE reaches
  // QP to be scheduled again
  output logic ring_valid_o,
  input  logic ring_ready_i,
  output logic [9:0] ring_qpn_o,
  // Reads of host memory
  output logic rd_valid_o,
  input  logic rd_ready_i,
  output rnic_pkg::rd_req_t rd_o,
  input  logic pay_valid_i,
  output logic pay_ready_o,
  input  rnic_pkg::payload_t pay_i,
  // CmdQpModify
  input  logic clear_i,
  input  logic [9:0] clear_qpn_i,
  // Observation
  output logic idle_o
);
  // ---- Places for registers: 1 puts one into the stream, which costs a cycle --------------------
  localparam bit RegPfReq = 1'b0;
  localparam bit RegPay = 1'b0;

  logic pf_req_valid, pf_req_ready;
  logic [9:0] pf_req_qpn;
  logic [15:0] pf_req_idx;
  logic [15:0] pf_req_pi;
  logic [63:0] pf_req_base;
  logic [3:0] pf_req_log_size;
  if (RegPfReq) begin : gen_pf_req_reg
    stream_register #(.Width($bits({pf_req_qpn_i, pf_req_idx_i, pf_req_pi_i, pf_req_base_i, pf_req_log_size_i}))) u_pf_req_reg (
      .clk_i, .rst_ni,
      .in_valid_i(pf_req_valid_i), .in_ready_o(pf_req_ready_o), .in_data_i({pf_req_qpn_i, pf_req_idx_i, pf_req_pi_i, pf_req_base_i, pf_req_log_size_i}),
      .out_valid_o(pf_req_valid), .out_ready_i(pf_req_ready), .out_data_o({pf_req_qpn, pf_req_idx, pf_req_pi, pf_req_base, pf_req_log_size})
    );
  end else begin : gen_pf_req_wire
    assign pf_req_valid = pf_req_valid_i;
    assign pf_req_ready_o = pf_req_ready;
    assign pf_req_qpn = pf_req_qpn_i;
    assign pf_req_idx = pf_req_idx_i;
    assign pf_req_pi = pf_req_pi_i;
    assign pf_req_base = pf_req_base_i;
    assign pf_req_log_size = pf_req_log_size_i;
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

  // ---- Your logic stands here, instead of ours or around it --------------------------------------
  logic idle;
  sq_prefetch_ref #(
    .Entries(Entries), .Blocks(Blocks), .Chunk(Chunk), .MaxReads(MaxReads)
  ) u_ref (
    .clk_i, .rst_ni, .pf_req_valid_i(pf_req_valid), .pf_req_ready_o(pf_req_ready),
    .pf_req_qpn_i(pf_req_qpn), .pf_req_idx_i(pf_req_idx), .pf_req_pi_i(pf_req_pi),
    .pf_req_base_i(pf_req_base), .pf_req_log_size_i(pf_req_log_size), .pf_rsp_valid_o,
    .pf_rsp_ready_i, .pf_rsp_hit_o, .pf_rsp_status_o, .pf_rsp_data_o, .ring_valid_o, .ring_ready_i,
    .ring_qpn_o, .rd_valid_o, .rd_ready_i, .rd_o, .pay_valid_i(pay_valid), .pay_ready_o(pay_ready),
    .pay_i(pay), .clear_i, .clear_qpn_i, .idle_o(idle)
  );

  // What stands in a register is work: no edge may be left out while it does.
  assign idle_o = idle && !(RegPfReq && pf_req_valid) && !(RegPay && pay_valid);
endmodule
