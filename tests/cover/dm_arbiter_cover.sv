// SPDX-License-Identifier: Apache-2.0
module dm_arbiter_cover #(
  parameter int unsigned N = 7
) (
  input logic clk_i,
  input logic rst_ni,
  input logic [N-1:0] req_valid_i,
  input logic [N-1:0] req_ready_o,
  input logic [N*606-1:0] req_i,
  input logic [N-1:0] rsp_valid_o,
  input logic dm_req_valid_o,
  input logic dm_req_ready_i,
  input rnic_pkg::dm_req_t dm_req_o,
  input logic dm_rsp_valid_i,
  input rnic_pkg::dm_rsp_t dm_rsp_i,
  input logic idle_o
);
  // names(requester): qpc_cache cqc_cache mpt_cache wqe_fetch_engine tx_segmenter dma_translate ctx_query
  // names(loser): qpc_cache cqc_cache mpt_cache wqe_fetch_engine tx_segmenter dma_translate ctx_query
  for (genvar i = 0; i < N; i++) begin : requester
    logic write, two;
    assign write = req_i[i*606 + 605];
    assign two = req_i[i*606 + 604];
    always_ff @(posedge clk_i) if (rst_ni && req_valid_i[i]) begin
      read_granted : cover (req_ready_o[i] && !write);
      read_of_two_beats : cover (req_ready_o[i] && !write && two);
      write_granted : cover (req_ready_o[i] && write);
      waits_for_memory : cover (!req_ready_o[i] && !dm_req_ready_i);
      waits_for_room : cover (!req_ready_o[i] && !write && !dm_req_valid_o);
    end
    always_ff @(posedge clk_i) if (rst_ni && rsp_valid_o[i]) begin
      answered : cover (dm_rsp_i.last);
    end
    for (genvar j = 0; j < N; j++) begin : loser
      if (j != i) begin : pair
        always_ff @(posedge clk_i) if (rst_ni && req_valid_i[i]) begin
          goes_before : cover (req_ready_o[i] && req_valid_i[j] && !req_ready_o[j]);
        end
      end
    end
  end

  always_ff @(posedge clk_i) if (rst_ni) begin
    if (dm_req_valid_o) begin
      one_alone : cover ((req_valid_i & (req_valid_i - 1'b1)) == '0);
      all_at_once : cover (&req_valid_i);
      write_while_reads_are_out : cover (dm_req_ready_i && dm_req_o.write && !idle_o);
    end
    read_and_answer_together : cover (dm_req_valid_o && dm_req_ready_i && !dm_req_o.write && dm_rsp_valid_i && dm_rsp_i.last);
    everyone_waits_for_room : cover (req_valid_i != '0 && !dm_req_valid_o);
  end
endmodule

bind dm_arbiter dm_arbiter_cover #(.N(N)) u_cover (.*);
