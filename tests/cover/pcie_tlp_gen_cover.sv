// SPDX-License-Identifier: Apache-2.0
module pcie_tlp_gen_cover (
  input logic clk_i,
  input logic rst_ni,
  input rnic_pkg::pcie_cfg_t cfg_i,
  input rnic_pkg::pcie_fc_t fc_i,
  input logic treq_rd_valid_i,
  input logic treq_rd_ready_o,
  input rnic_pkg::tlp_req_t treq_rd_i,
  input logic treq_wr_valid_i,
  input logic treq_wr_ready_o,
  input rnic_pkg::tlp_req_t treq_wr_i,
  input logic twd_valid_i,
  input logic twd_ready_o,
  input logic twr_sent_o,
  input logic tlp_tx_valid_o,
  input logic tlp_tx_ready_i,
  input rnic_pkg::tlp_beat_t tlp_tx_o,
  input logic tlp_rx_valid_i,
  input rnic_pkg::tlp_beat_t tlp_rx_i,
  input logic cpl_valid_o,
  input rnic_pkg::cpl_t cpl_o,
  input logic stat_unexpected_o,
  input logic stat_malformed_o,
  input logic idle_o
);
  logic tx, head;
  logic [7:0] fmt_type;
  logic [3:0] first_be, last_be;
  logic mid_q;
  assign tx = tlp_tx_valid_o && tlp_tx_ready_i;
  assign head = tx && tlp_tx_o.sop;
  assign fmt_type = tlp_tx_o.hdr[127:120];
  assign last_be = tlp_tx_o.hdr[71:68];
  assign first_be = tlp_tx_o.hdr[67:64];
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) mid_q <= 1'b0;
    else if (tx) mid_q <= !tlp_tx_o.eop;
  end

  // ---- Requests ------------------------------------------------------------------------------------------------------
  // names(kind): MRd32 MRd64 MWr32 MWr64
  for (genvar k = 0; k < 4; k++) begin : kind
    logic this_kind;
    assign this_kind = head && fmt_type == {1'b0, k >= 2, k % 2 == 1, 5'b0};
    always_ff @(posedge clk_i) if (rst_ni && this_kind) begin
      request : cover (1'b1);
      one_dw : cover (tlp_tx_o.hdr[105:96] == 10'd1);
      largest : cover (tlp_tx_o.hdr[105:96] == 10'd0);
    end
    // Byte enables of requests longer than a DW
    for (genvar b = 0; b < 4; b++) begin : bytes
      always_ff @(posedge clk_i) if (rst_ni && this_kind && last_be != 4'd0) begin
        first_bytes_left_out : cover (first_be == (4'hF << b));
        last_bytes_left_out : cover (last_be == (4'hF >> b));
      end
    end
  end
  // Byte enables within one DW: from byte f to byte t
  for (genvar f = 0; f < 4; f++) begin : from
    for (genvar t = f; t < 4; t++) begin : to
      always_ff @(posedge clk_i) if (rst_ni && head && last_be == 4'd0) begin
        bytes_of_one_dw : cover (first_be == ((4'hF << f) & (4'hF >> (3 - t))));
      end
    end
  end

  // ---- Completions ---------------------------------------------------------------------------------------------------
  pcie_pkg::tlp_dw0_t rx_dw0;
  pcie_pkg::tlp_cpl_t rx_cpl;
  logic rx_head, rx_mine, rx_mid_q, rx_ended_q;
  assign rx_dw0 = tlp_rx_i.hdr[127:96];
  assign rx_cpl = tlp_rx_i.hdr[95:32];
  assign rx_head = tlp_rx_valid_i && tlp_rx_i.sop;
  assign rx_mine = rx_head && (rx_dw0.fmt_type == pcie_pkg::Cpl || rx_dw0.fmt_type == pcie_pkg::CplD) &&
                   rx_cpl.requester_id == cfg_i.requester_id;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      rx_mid_q <= 1'b0;
      rx_ended_q <= 1'b0;
    end else begin
      rx_ended_q <= tlp_rx_valid_i && tlp_rx_i.eop;
      if (tlp_rx_valid_i) rx_mid_q <= !tlp_rx_i.eop;
    end
  end

  // names(answer): Sc Ur Crs 3 Ca
  // names(data): without with
  for (genvar s = 0; s < 5; s++) begin : answer
    if (s != 3) begin : known
      for (genvar d = 0; d < 2; d++) begin : data
        always_ff @(posedge clk_i) if (rst_ni && rx_mine) begin
          completion : cover (rx_cpl.status == 3'(s) && rx_dw0.fmt_type[6] == d[0]);
        end
      end
    end
  end
  // names(status): Ok Ur Ca Poisoned Timeout Malformed
  for (genvar s = 0; s < 6; s++) begin : status
    if (s != 4) begin : from_link
      always_ff @(posedge clk_i) if (rst_ni && cpl_valid_o && cpl_o.eop) begin
        passed_on : cover (cpl_o.status == 3'(s));
      end
    end
  end

  always_ff @(posedge clk_i) if (rst_ni) begin
    if (head) begin
      zero_length_read : cover (!tlp_tx_o.hdr[126] && first_be == 4'd0);
      tag_of_nine_bits : cover (!tlp_tx_o.hdr[126] && tlp_tx_o.hdr[115]);
      tag_of_ten_bits : cover (!tlp_tx_o.hdr[126] && tlp_tx_o.hdr[119]);
      relaxed_ordering : cover (tlp_tx_o.hdr[109]);
      no_snoop : cover (tlp_tx_o.hdr[108]);
      id_based_ordering : cover (tlp_tx_o.hdr[114]);
    end
    if (tx) begin
      last_beat_of_one_dw : cover (tlp_tx_o.eop && tlp_tx_o.hdr[126] && tlp_tx_o.dws == 5'd1);
      last_beat_full : cover (tlp_tx_o.eop && tlp_tx_o.hdr[126] && tlp_tx_o.dws == 5'd16);
    end
    if (tlp_tx_valid_o && !tlp_tx_ready_i) begin
      link_stalls_first_beat : cover (tlp_tx_o.sop);
      link_stalls_later_beat : cover (!tlp_tx_o.sop);
    end
    gap_inside_a_write : cover (mid_q && !tlp_tx_valid_o);
    write_sent : cover (twr_sent_o);
    if (treq_rd_valid_i && treq_wr_valid_i) begin
      read_goes_first : cover (treq_rd_ready_o);
      write_goes_first : cover (treq_wr_ready_o);
    end
    read_waits : cover (treq_rd_valid_i && !treq_rd_ready_o);
    write_waits : cover (treq_wr_valid_i && !treq_wr_ready_o);
    write_waits_for_data : cover (treq_wr_valid_i && !twd_valid_i);
    write_data_waits : cover (twd_valid_i && !twd_ready_o);
    unlimited_posted : cover (fc_i.p_inf && treq_wr_ready_o);
    unlimited_non_posted : cover (fc_i.np_inf && treq_rd_ready_o);
    if (rx_mine) begin
      completion_of_one_beat : cover (tlp_rx_i.eop);
      completion_of_more_beats : cover (!tlp_rx_i.eop);
      completions_back_to_back : cover (rx_ended_q);
      completion_of_4096_bytes : cover (rx_cpl.byte_count == 12'd0);
      completion_of_1024_dws : cover (rx_dw0.length == 10'd0);
      poisoned : cover (rx_dw0.ep);
      success_without_data : cover (rx_cpl.status == 3'd0 && rx_dw0.fmt_type == pcie_pkg::Cpl);
      header_inside_another_completion : cover (rx_mid_q);
    end
    if (rx_head) begin
      completion_of_another_requester : cover (!rx_mine && (rx_dw0.fmt_type == pcie_pkg::Cpl || rx_dw0.fmt_type == pcie_pkg::CplD));
      no_completion : cover (rx_dw0.fmt_type != pcie_pkg::Cpl && rx_dw0.fmt_type != pcie_pkg::CplD);
    end
    gap_inside_a_completion : cover (rx_mid_q && !tlp_rx_valid_i);
    unexpected : cover (stat_unexpected_o);
    malformed : cover (stat_malformed_o);
    idle_between : cover (idle_o && tlp_rx_valid_i);
  end
endmodule

bind pcie_tlp_gen pcie_tlp_gen_cover u_cover (.*);
