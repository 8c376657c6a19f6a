// SPDX-License-Identifier: Apache-2.0
// A tx_segmenter of your own, to start from: `scripts/new_override tx_segmenter DIR` copies it, with tx_segmenter_ref,
// our block under another name. Written by scripts/gen_templates.py from rtl/tx/tx_segmenter.sv and
// rtl/templates/contract.toml.
//
// What our block does: the head of rtl/tx/tx_segmenter.sv, and docs/blocks. What holds for every block:
// docs/howto/override.md.
//
// Latency: job to read request 4 cycles with a region's answer after 2 (TxSegmenterTest.ReadFollowsJobInFourCycles),
// one more for each further segment (TxSegmenterTest.SegmentsAndPiecesTakeACycleEach).
// A version that takes N cycles more declares +latency+tx_segmenter+N in its list.
//
// Streams that come in: job, mpt_rsp. A beat is taken at the edge before which valid and ready are both high; ready may
// depend on valid, valid never on ready; valid and payload stay until then.
//
// Has to drive, whatever is inside:
//   idle_o  low from the job until its QP has been released and everything offered has been taken
//
// Has to keep:
//   regions  after recheck_i no turn that has looked up before goes on beyond its next packet; stale_o is high from the
//            next cycle on until the last read of such a turn has been taken
//   order    descriptions, reads and inline beats in the same order; none of any for a noop
//   pieces   more is set on all reads of a packet but the last; a packet's inline beats follow each other while they
//            are taken
//   release  exactly one for every job, after the state has been written, with the bytes of the turn's last frame
module tx_segmenter (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic job_valid_i,
  output logic job_ready_o,
  input  rnic_pkg::tx_job_t job_i,
  input  logic other_waiting_i,        // scheduler's grant_valid
  input  logic recheck_i,              // the region cache has forgotten an entry
  output logic stale_o,
  // Memory protection table cache
  output logic mpt_req_valid_o,
  input  logic mpt_req_ready_i,
  output logic [15:0] mpt_req_idx_o,
  input  logic mpt_rsp_valid_i,
  output logic mpt_rsp_ready_o,
  input  rnic_pkg::mpt_t mpt_rsp_i,
  // Packet descriptions, in order
  output logic desc_valid_o,
  input  logic desc_ready_i,
  output rnic_pkg::pkt_desc_t desc_o,
  // Payload reads, in the same order; none for packets without payload from memory
  output logic rd_valid_o,
  input  logic rd_ready_i,
  output rnic_pkg::xl_req_t rd_o,
  // Inline payload, in the same order; beats of a packet follow each other unless inl_ready_i is low
  output logic inl_valid_o,
  input  logic inl_ready_i,
  output rnic_pkg::payload_t inl_o,
  // Transmit state, written at the end of a turn
  output logic st_we_o,
  output logic [9:0] st_qpn_o,
  output rnic_pkg::tx_state_t st_o,
  output logic err_o,                  // QP to error
  output logic [9:0] err_qpn_o,
  // End of the turn; bytes 0 when it sent no packet
  output logic release_o,
  output rnic_pkg::turn_end_t turn_end_o,
  // QP state in the BAR1 context set to error
  output logic dm_req_valid_o,
  input  logic dm_req_ready_i,
  output rnic_pkg::dm_req_t dm_req_o,
  output logic idle_o
);
  // ---- Places for registers: 1 puts one into the stream, which costs a cycle --------------------
  localparam bit RegJob = 1'b0;
  localparam bit RegMptRsp = 1'b0;

  logic job_valid, job_ready;
  rnic_pkg::tx_job_t job;
  if (RegJob) begin : gen_job_reg
    stream_register #(.Width($bits(job_i))) u_job_reg (
      .clk_i, .rst_ni,
      .in_valid_i(job_valid_i), .in_ready_o(job_ready_o), .in_data_i(job_i),
      .out_valid_o(job_valid), .out_ready_i(job_ready), .out_data_o(job)
    );
  end else begin : gen_job_wire
    assign job_valid = job_valid_i;
    assign job_ready_o = job_ready;
    assign job = job_i;
  end

  logic mpt_rsp_valid, mpt_rsp_ready;
  rnic_pkg::mpt_t mpt_rsp;
  if (RegMptRsp) begin : gen_mpt_rsp_reg
    stream_register #(.Width($bits(mpt_rsp_i))) u_mpt_rsp_reg (
      .clk_i, .rst_ni,
      .in_valid_i(mpt_rsp_valid_i), .in_ready_o(mpt_rsp_ready_o), .in_data_i(mpt_rsp_i),
      .out_valid_o(mpt_rsp_valid), .out_ready_i(mpt_rsp_ready), .out_data_o(mpt_rsp)
    );
  end else begin : gen_mpt_rsp_wire
    assign mpt_rsp_valid = mpt_rsp_valid_i;
    assign mpt_rsp_ready_o = mpt_rsp_ready;
    assign mpt_rsp = mpt_rsp_i;
  end

  // ---- Your logic stands here, instead of ours or around it --------------------------------------
  logic idle;
  tx_segmenter_ref u_ref (
    .clk_i, .rst_ni, .job_valid_i(job_valid), .job_ready_o(job_ready), .job_i(job),
    .other_waiting_i, .recheck_i, .stale_o, .mpt_req_valid_o, .mpt_req_ready_i, .mpt_req_idx_o,
    .mpt_rsp_valid_i(mpt_rsp_valid), .mpt_rsp_ready_o(mpt_rsp_ready), .mpt_rsp_i(mpt_rsp),
    .desc_valid_o, .desc_ready_i, .desc_o, .rd_valid_o, .rd_ready_i, .rd_o, .inl_valid_o,
    .inl_ready_i, .inl_o, .st_we_o, .st_qpn_o, .st_o, .err_o, .err_qpn_o, .release_o, .turn_end_o,
    .dm_req_valid_o, .dm_req_ready_i, .dm_req_o, .idle_o(idle)
  );

  // What stands in a register is work: no edge may be left out while it does.
  assign idle_o = idle && !(RegJob && job_valid) && !(RegMptRsp && mpt_rsp_valid);
endmodule
