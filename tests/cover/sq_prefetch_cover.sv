// SPDX-License-Identifier: Apache-2.0
module sq_prefetch_cover (
  input logic clk_i,
  input logic rst_ni,
  input logic pf_req_valid_i,
  input logic pf_req_ready_o,
  input logic [15:0] pf_req_idx_i,
  input logic [15:0] pf_req_pi_i,
  input logic pf_rsp_valid_o,
  input logic pf_rsp_ready_i,
  input logic pf_rsp_hit_o,
  input logic [2:0] pf_rsp_status_o,
  input logic [2047:0] pf_rsp_data_o,
  input logic ring_valid_o,
  input logic ring_ready_i,
  input logic rd_valid_o,
  input logic rd_ready_i,
  input logic pay_valid_i,
  input logic pay_ready_o,
  input rnic_pkg::payload_t pay_i,
  input logic clear_i
);
  logic answer;
  assign answer = pf_rsp_valid_o && pf_rsp_ready_i;

  always_ff @(posedge clk_i) if (rst_ni) begin
    if (pf_req_valid_i) begin
      lookup : cover (pf_req_ready_o);
      lookup_waits : cover (!pf_req_ready_o);
      index_wraps : cover (pf_req_pi_i < pf_req_idx_i);
    end
    if (answer) begin
      miss : cover (!pf_rsp_hit_o);
      hit : cover (pf_rsp_hit_o && pf_rsp_status_o == rnic_pkg::DmaOk);
      wqe_fails : cover (pf_rsp_hit_o && pf_rsp_status_o != rnic_pkg::DmaOk);
    end
    answer_waits : cover (pf_rsp_valid_o && !pf_rsp_ready_i);
    ring : cover (ring_valid_o && ring_ready_i);
    ring_waits : cover (ring_valid_o && !ring_ready_i);
    read_waits : cover (rd_valid_o && !rd_ready_i);
    data_wait : cover (pay_valid_i && !pay_ready_o);
    read_fails : cover (pay_valid_i && pay_i.last && pay_i.status != rnic_pkg::DmaOk);
    clear : cover (clear_i);
  end

  // names(blocks): 1 2 3 4
  for (genvar n = 1; n <= 4; n++) begin : blocks
    always_ff @(posedge clk_i) if (rst_ni && answer && pf_rsp_hit_o && pf_rsp_status_o == rnic_pkg::DmaOk) begin
      wqe_of : cover (pf_rsp_data_o[63:58] + {5'b0, pf_rsp_data_o[57:56] != 2'd0} == 6'(n));
    end
  end
endmodule

bind sq_prefetch sq_prefetch_cover u_cover (.*);
