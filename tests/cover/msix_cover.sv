// SPDX-License-Identifier: Apache-2.0
module msix_cover (
  input logic clk_i,
  input logic rst_ni,
  input logic msix_we_i,
  input logic [5:0] msix_idx_i,
  input logic [1:0] msix_reg_i,
  input logic msix_en_i,
  input logic msix_mask_i,
  input logic [63:0] msix_pending_o,
  input logic irq_valid_i,
  input logic [5:0] irq_vector_i,
  input logic load,
  input logic [5:0] pick_q,
  input logic pick_valid_q,
  input logic [63:0] able,
  input logic [63:0] mask_q,
  input logic msg,
  input logic msg_busy,
  input logic cqe_any,
  input logic hold_q,
  input logic ends,
  input logic wr_valid_o,
  input logic wr_ready_i,
  input logic wdata_valid_o,
  input logic wdata_ready_i,
  input logic kinds_ready
);
  // names(entry): AddrLo AddrHi Data Ctrl
  for (genvar r = 0; r < 4; r++) begin : entry
    always_ff @(posedge clk_i) if (rst_ni && msix_we_i && msix_reg_i == 2'(r)) begin
      table_written : cover (1'b1);
    end
  end
  always_ff @(posedge clk_i) if (rst_ni) begin
    sent : cover (msg && ends);
    request_of_a_masked_vector : cover (irq_valid_i && mask_q[irq_vector_i]);
    request_of_a_masked_function : cover (irq_valid_i && msix_mask_i);
    request_while_disabled : cover (irq_valid_i && !msix_en_i);
    request_pending_already : cover (irq_valid_i && msix_pending_o[irq_vector_i]);
    request_as_the_last_one_leaves : cover (irq_valid_i && load && irq_vector_i == pick_q);
    masked_after_it_was_picked : cover (pick_valid_q && !able[pick_q]);
    masked_as_it_leaves : cover (load && msix_we_i && msix_reg_i == 2'd3 && msix_idx_i == pick_q);
    both_wait : cover (!hold_q && msg_busy && cqe_any);
    write_before_data : cover (wr_valid_o && wr_ready_i && wdata_valid_o && !wdata_ready_i);
    data_before_write : cover (wr_valid_o && !wr_ready_i && wdata_valid_o && wdata_ready_i);
    reports_behind : cover (!kinds_ready);
  end
endmodule

bind msix msix_cover u_cover (.*);
