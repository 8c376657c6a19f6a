// SPDX-License-Identifier: Apache-2.0
// Streams between the blocks: each has flowed and each has waited.
module rnic_top_inner_cover (
  input logic clk_i,
  input logic rst_ni,
  input logic grant_valid,
  input logic grant_ready,
  input logic job_valid,
  input logic job_ready,
  input logic desc_valid,
  input logic desc_ready,
  input logic descq_valid,
  input logic descq_ready,
  input logic rd_valid,
  input logic rd_ready,
  input logic pay_valid,
  input logic pay_ready,
  input logic wr_valid,
  input logic wr_ready,
  input logic wdata_valid,
  input logic wdata_ready,
  input logic treq_rd_valid,
  input logic treq_rd_ready,
  input logic treq_wr_valid,
  input logic treq_wr_ready,
  input logic twd_valid,
  input logic twd_ready,
  input logic cqe_valid,
  input logic cqe_ready,
  input logic mac_valid,
  input logic mac_ready,
  input logic qpc_req_valid,
  input logic qpc_req_ready,
  input logic qpc_rsp_valid,
  input logic qpc_rsp_ready,
  input logic mpt_req_valid,
  input logic mpt_req_ready,
  input logic mpt_rsp_valid,
  input logic mpt_rsp_ready,
  input logic cqc_req_valid,
  input logic cqc_req_ready,
  input logic cqc_rsp_valid,
  input logic cqc_rsp_ready,
  input logic evt_fetch_valid,
  input logic evt_fetch_ready,
  input logic evt_cqe_valid
);
  logic [18:0] valid, ready;
  assign valid = {cqc_rsp_valid, cqc_req_valid, mpt_rsp_valid, mpt_req_valid, qpc_rsp_valid, qpc_req_valid, mac_valid,
                  cqe_valid, twd_valid, treq_wr_valid, treq_rd_valid, wdata_valid, wr_valid, pay_valid, descq_valid,
                  desc_valid, grant_valid, rd_valid, job_valid};
  assign ready = {cqc_rsp_ready, cqc_req_ready, mpt_rsp_ready, mpt_req_ready, qpc_rsp_ready, qpc_req_ready, mac_ready,
                  cqe_ready, twd_ready, treq_wr_ready, treq_rd_ready, wdata_ready, wr_ready, pay_ready, descq_ready,
                  desc_ready, grant_ready, rd_ready, job_ready};
  // names(stream): job rd grant desc descq pay wr wdata treq_rd treq_wr twd cqe mac qpc_req qpc_rsp mpt_req mpt_rsp cqc_req cqc_rsp
  for (genvar s = 0; s < 19; s++) begin : stream
    always_ff @(posedge clk_i) if (rst_ni && valid[s]) begin
      flows : cover (ready[s]);
      waits : cover (!ready[s]);
    end
  end

  always_ff @(posedge clk_i) if (rst_ni) begin
    both_error_logs_at_once : cover (evt_fetch_valid && evt_cqe_valid);
    doorbell_event_waits_for_completion_event : cover (evt_fetch_valid && !evt_fetch_ready && evt_cqe_valid);
  end
endmodule

bind rnic_top rnic_top_inner_cover u_inner_cover (.*);
