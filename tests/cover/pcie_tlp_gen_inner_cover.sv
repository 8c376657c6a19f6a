// SPDX-License-Identifier: Apache-2.0
// Why a request waits.
module pcie_tlp_gen_inner_cover (
  input logic clk_i,
  input logic rst_ni,
  input logic treq_rd_valid_i,
  input logic treq_wr_valid_i,
  input logic twd_valid_i,
  input logic tlp_tx_ready_i,
  input logic tx_open,
  input logic mid_q,
  input logic ph_ok,
  input logic pd_ok,
  input logic nph_ok,
  input logic wr_can,
  input logic rd_can,
  input logic rd_go,
  input logic wr_first,
  input logic last_wr_q,
  input logic wr_older_q,
  input logic rx_act,
  input logic rx_bad,
  input logic [10:0] rx_left,
  input logic [4:0] rx_dws,
  input rnic_pkg::tlp_beat_t tlp_rx_i,
  input rnic_pkg::pcie_cfg_t cfg_i,
  input logic link_rst_ni,
  input logic tx_valid_q,
  input logic [8:0] room_h_q,
  input logic [12:0] room_d_q,
  input logic [15:0] rd_room,
  input logic room_ok,
  input logic [7:0] back_h_i,
  input logic rx_act_q
);
  // with this read
  logic head_full, data_full;
  logic [8:0] room_h;
  logic [12:0] room_d;
  assign room_h = room_h_q + {2'b0, rd_room[15:9]};
  assign room_d = room_d_q + {4'b0, rd_room[8:0]};
  assign head_full = cfg_i.cplh != 8'd0 && room_h > {1'b0, cfg_i.cplh};
  assign data_full = cfg_i.cpld != 12'd0 && room_d > {1'b0, cfg_i.cpld};

  // The edge before: a reset has taken mid_q back by the time an edge sees it.
  logic mid_was_q;
  always_ff @(posedge clk_i) mid_was_q <= mid_q && rst_ni;
  always_ff @(posedge clk_i) if (link_rst_ni && !rst_ni) begin
    reset_cuts_a_write : cover (mid_was_q);
    reset_with_a_tlp_at_the_pins : cover (tx_valid_q);
    reset_amid_completion : cover (rx_act_q);
    reset_with_room_held : cover (room_h_q != 9'd0);
  end

  always_ff @(posedge clk_i) if (rst_ni) begin
    if (treq_rd_valid_i) begin
      read_waits_for_credit : cover (!nph_ok);
      read_waits_for_room_of_headers : cover (nph_ok && !room_ok && head_full && !data_full);
      read_waits_for_room_of_data : cover (nph_ok && !room_ok && data_full && !head_full);
      read_larger_than_the_room_goes_alone : cover (rd_go && (head_full || data_full));
      room_taken_and_given_back : cover (rd_go && back_h_i != 8'd0);
      read_waits_for_older_write : cover (nph_ok && wr_older_q);
      read_waits_for_its_turn : cover (rd_can && wr_can && !last_wr_q);
      read_waits_for_the_rest_of_a_write : cover (rd_can && mid_q);
      read_waits_for_link : cover (rd_can && !mid_q && !tx_open);
    end
    if (treq_wr_valid_i && twd_valid_i && !mid_q) begin
      write_waits_for_header_credit : cover (!ph_ok && pd_ok);
      write_waits_for_data_credit : cover (ph_ok && !pd_ok);
      write_waits_for_both_credits : cover (!ph_ok && !pd_ok);
      write_waits_for_its_turn : cover (rd_can && wr_can && last_wr_q);
      write_waits_for_link : cover (wr_can && !tx_open);
      write_passes_read_without_credit : cover (wr_first && treq_rd_valid_i && !nph_ok);
    end
    read_goes_while_write_has_no_credit : cover (rd_go && treq_wr_valid_i && !(ph_ok && pd_ok));
    write_data_late : cover (mid_q && !twd_valid_i && tx_open && tlp_tx_ready_i);
    if (rx_act && rx_bad) begin
      ends_too_early : cover (tlp_rx_i.eop && rx_left > 11'd16);
      ends_too_late : cover (!tlp_rx_i.eop && rx_left <= 11'd16);
      dws_of_the_beat_wrong : cover (tlp_rx_i.dws != rx_dws);
      header_malformed_at_once : cover (tlp_rx_i.sop);
      malformed_later : cover (!tlp_rx_i.sop);
    end
  end
endmodule

bind pcie_tlp_gen pcie_tlp_gen_inner_cover u_inner_cover (.*);
