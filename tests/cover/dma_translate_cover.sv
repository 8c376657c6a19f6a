// SPDX-License-Identifier: Apache-2.0
module dma_translate_cover (
  input logic clk_i,
  input logic rst_ni,
  input logic xl_valid_i,
  input logic xl_ready_o,
  input rnic_pkg::xl_req_t xl_i,
  input logic rd_valid_o,
  input logic rd_ready_i,
  input rnic_pkg::rd_req_t rd_o,
  input logic rd_done_i,
  input logic win_we_i,
  input logic [5:0] win_idx_i,
  input rnic_pkg::window_t win_i,
  input logic win_busy_o,
  input logic inval_i,
  input logic stale_i,
  input logic dm_req_valid_o,
  input logic dm_req_ready_i,
  input logic dm_rsp_valid_i,
  input logic stat_mtt_miss_o,
  input logic stat_mtt_absent_o,
  input logic stat_win_denied_o,
  input logic idle_o
);
  logic in, out;
  assign in = xl_valid_i && xl_ready_o;
  assign out = rd_valid_o && rd_ready_i;

  // names(way): direct window pages pages_and_window
  for (genvar w = 0; w < 4; w++) begin : way
    always_ff @(posedge clk_i) if (rst_ni && in && {xl_i.paged, xl_i.window_en} == 2'(w)) begin
      read_of_one_byte : cover (xl_i.len == 13'd1);
      read_of_4096 : cover (xl_i.len == 13'd4096);
      read_goes_on : cover (xl_i.more);
    end
  end
  // names(page): 12 13 16 21 30 11 31
  for (genvar p = 0; p < 7; p++) begin : page
    always_ff @(posedge clk_i) if (rst_ni && in && xl_i.paged) begin
      page_size : cover (p == 0 ? xl_i.log_page == 5'd12 : p == 1 ? xl_i.log_page == 5'd13 : p == 2 ? xl_i.log_page == 5'd16 :
                         p == 3 ? xl_i.log_page == 5'd21 : p == 4 ? xl_i.log_page == 5'd30 : p == 5 ? xl_i.log_page < 5'd12 :
                                  xl_i.log_page == 5'd31);
    end
  end

  always_ff @(posedge clk_i) if (rst_ni) begin
    read_waits_to_enter : cover (xl_valid_i && !xl_ready_o);
    read_waits_to_leave : cover (rd_valid_o && !rd_ready_i);
    if (out) begin
      granted : cover (!rd_o.denied);
      denied : cover (rd_o.denied);
    end
    if (dm_req_valid_o) begin
      block_asked_for : cover (dm_req_ready_i);
      block_waits : cover (!dm_req_ready_i);
    end
    block_comes : cover (dm_rsp_valid_i);
    page_missed : cover (stat_mtt_miss_o);
    page_absent : cover (stat_mtt_absent_o);
    window_denied : cover (stat_win_denied_o);
    if (win_we_i) begin
      window_granted : cover (win_i.valid && win_i.read);
      window_for_writing_only : cover (win_i.valid && !win_i.read && win_i.write);
      window_taken_away : cover (!win_i.valid);
      window_changes_again_while_busy : cover (win_busy_o);
      window_changes_as_a_read_is_answered : cover (rd_done_i);
      window_changes_while_idle : cover (idle_o && !win_busy_o);
    end
    if (inval_i) begin
      region_changes : cover (1'b1);
      region_changes_with_a_window : cover (win_we_i);
      region_changes_again_while_busy : cover (win_busy_o);
    end
    old_reads_come_still : cover (stale_i && in && win_busy_o);
    busy_with_nothing_here : cover (win_busy_o && idle_o);
  end
endmodule

bind dma_translate dma_translate_cover u_cover (.*);
