// SPDX-License-Identifier: Apache-2.0
module dma_translate_inner_cover (
  input logic clk_i,
  input logic rst_ni,
  input logic cut_valid_q,
  input logic cut_go,
  input logic cut_spans_q,
  input rnic_pkg::xl_req_t cut_q,
  input logic [12:0] cut_room,
  input logic s1_valid_q,
  input logic s2_valid_q,
  input logic s2_free,
  input logic s2_look_q,
  input logic s1_beyond,
  input logic [51:0] s1_n_q,
  input logic [29:0] s1_block,
  input rnic_pkg::xl_req_t s1_q,
  input logic wait_valid,
  input logic wait_pop,
  input logic wait_room,
  input logic look_ready,
  input logic page_valid,
  input logic pages_idle,
  input logic p_paged,
  input logic p_look,
  input rnic_pkg::mtt_t p_page,
  input logic xl_valid_i,
  input rnic_pkg::xl_req_t xl_i,
  input logic x_valid_q,
  input logic x_go,
  input logic x_load,
  input logic x_absent_q,
  input logic x_window_en_q,
  input logic [63:0] x_addr_q,
  input logic [12:0] x_len_q,
  input logic w_we,
  input logic w_valid_q,
  input logic w_read,
  input logic w_ok,
  input logic [63:0] w_base,
  input logic [64:0] w_end,
  input logic [64:0] w_shift,
  input logic rd_free,
  input logic settling_q,
  input logic stale_i,
  input logic [6:0] older_q,
  input logic [10:0] old_q
);
  logic opens;
  logic [63:0] w_into, w_size, w_gpu;
  logic [64:0] w_slack, w_slack_image;       // how far in the read may begin: by the size, by its image's end
  assign w_size = w_end[63:0] - w_base;
  assign w_gpu = w_shift[63:0] + w_base;
  assign w_into = x_addr_q - w_base;
  assign w_slack = {1'b0, w_size} - {52'b0, x_len_q};
  assign w_slack_image = {1'b0, ~w_gpu} - {52'b0, x_len_q - 13'd1};
  assign opens = x_go && x_window_en_q && !x_absent_q && w_valid_q && w_read && x_addr_q >= w_base;

  always_ff @(posedge clk_i) if (rst_ni) begin
    if (cut_go && cut_q.paged) begin
      read_within_a_page : cover (!cut_spans_q && cut_q.len < cut_room);
      read_ends_with_its_page : cover (!cut_spans_q && cut_q.len == cut_room);
      read_spans_pages : cover (cut_spans_q);
      read_over_4096_within_a_page : cover (!cut_spans_q && cut_q.len > cut_room);
      last_byte_on_the_next_page : cover (cut_spans_q && cut_q.len == cut_room + 13'd1);
    end
    if (cut_valid_q) begin
      direct_read_behind_pages : cover (cut_go && !cut_q.paged);
      cut_waits : cover (!cut_go);
    end
    if (s1_valid_q && s2_free && s1_q.paged) begin
      page_looked_up : cover (!s1_beyond);
      last_page_of_the_list : cover (s1_n_q + 52'd1 == {20'b0, s1_q.pages});
      first_page_beyond_the_list : cover (s1_n_q == {20'b0, s1_q.pages});
      list_beyond_device_memory : cover (s1_n_q < {20'b0, s1_q.pages} && s1_beyond);
      last_block_of_device_memory : cover (!s1_beyond && s1_block == 30'h3F_FFFF);
    end
    if (s2_valid_q) begin
      waits_for_the_cache : cover (s2_look_q && wait_room && !look_ready);
      waits_for_room : cover (!wait_room);
    end
    if (wait_valid) begin
      page_present : cover (wait_pop && p_look && p_page.present);
      page_not_present : cover (wait_pop && p_look && !p_page.present);
      waits_for_its_page : cover (p_look && !page_valid);
      needs_no_page : cover (wait_pop && !p_paged);
    end
    short_way : cover (x_load && pages_idle);
    direct_read_waits_for_pages : cover (xl_valid_i && !xl_i.paged && !pages_idle);
    if (x_valid_q) begin
      waits_for_output : cover (!rd_free);
      window_changes_as_it_waits : cover (w_we && !x_load && x_window_en_q);
      window_changes_as_it_is_read : cover (w_we && x_load);
    end
    if (opens) begin
      first_byte_of_a_window : cover (w_ok && w_into == 64'd0);
      last_byte_of_a_window : cover (w_ok && {1'b0, w_into} == w_slack);
      one_byte_beyond_a_window : cover (!w_slack[64] && {1'b0, w_into} == w_slack + 65'd1);
      read_longer_than_its_window : cover (w_slack[64]);
      image_ends_at_2_64 : cover (w_ok && {1'b0, w_into} == w_slack_image);
      image_one_byte_beyond_2_64 : cover (!w_slack[64] && w_into <= w_slack[63:0] && !w_slack_image[64] &&
                                          {1'b0, w_into} == w_slack_image + 65'd1);
      image_of_nothing : cover (w_slack_image[64] && !w_slack[64]);
    end
    if (x_go && x_window_en_q && !x_absent_q) begin
      window_not_valid : cover (!w_valid_q);
      window_without_right : cover (w_valid_q && !w_read);
      below_a_window : cover (w_valid_q && w_read && x_addr_q < w_base);
      ends_inside_a_window : cover (x_addr_q < w_base && x_addr_q + {51'b0, x_len_q} > w_base && w_size != 64'd0);
    end
    absent_before_the_window : cover (x_go && x_window_en_q && x_absent_q);
    if (settling_q) begin
      old_reads_are_here : cover (!stale_i && older_q != '0);
      old_reads_are_still_to_come : cover (stale_i);
    end
    old_reads_have_left : cover (!settling_q && old_q != '0);
  end
endmodule

bind dma_translate dma_translate_inner_cover u_inner_cover (.*);
