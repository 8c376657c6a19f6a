// SPDX-License-Identifier: Apache-2.0
module dma_master_inner_cover (
  input logic clk_i,
  input logic rst_ni,
  input logic treq_pay_valid,
  input logic treq_wqe_valid,
  input logic held_q
);
  always_ff @(posedge clk_i) if (rst_ni && treq_pay_valid && treq_wqe_valid) begin
    wqe_request_passes_payload : cover (!held_q);
    payload_request_stays_before_wqe : cover (held_q);
  end
endmodule

bind dma_master dma_master_inner_cover u_inner_cover (.*);
