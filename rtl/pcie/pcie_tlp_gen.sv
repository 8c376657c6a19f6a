// SPDX-License-Identifier: Apache-2.0
// TLP generator and completion parser: builds MRd/MWr headers (3 or 4 DW, byte enables, length), obeys credits, puts
// posted and non-posted requests on one stream, and parses completions.
//
// A posted TLP may pass a blocked non-posted one, never the other way round. A TLP's beats are contiguous in order;
// the header travels with the first. One beat a cycle. A TLP starts only when its credits are there, and a read when there
// is room for its completions besides, as many as they may be.
//
// Latency: one cycle from an accepted request to tlp_tx_valid_o, one cycle from tlp_rx_valid_i to cpl_valid_o. When a
// read and a write can both be sent they take turns, but a read never goes before a write that waited before it. A
// write is taken together with its first beat of data; if its later beats come late, tlp_tx_valid_o drops inside the
// TLP and nothing else is sent. A completion whose data disagree with its length ends with the beat at which that
// shows, with DmaMalformed; the rest of it is dropped.
module pcie_tlp_gen (
  input  logic clk_i,
  input  logic rst_ni,                 // of the function: what stands at the pins still goes, the rest of a write does not
  input  logic link_rst_ni,            // of the link: of its credits, too; only with rst_ni
  input  rnic_pkg::pcie_cfg_t cfg_i,
  input  rnic_pkg::pcie_fc_t fc_i,
  // Requests
  input  logic treq_rd_valid_i,
  output logic treq_rd_ready_o,
  input  rnic_pkg::tlp_req_t treq_rd_i,
  input  logic treq_wr_valid_i,
  output logic treq_wr_ready_o,
  input  rnic_pkg::tlp_req_t treq_wr_i,
  input  logic twd_valid_i,
  output logic twd_ready_o,
  input  rnic_pkg::tlp_wdata_t twd_i,
  output logic twr_sent_o,
  // To the link
  output logic tlp_tx_valid_o,
  input  logic tlp_tx_ready_i,
  output rnic_pkg::tlp_beat_t tlp_tx_o,
  // From the link: completions
  input  logic tlp_rx_valid_i,
  output logic tlp_rx_ready_o,
  input  rnic_pkg::tlp_beat_t tlp_rx_i,
  // To dma_master; always taken
  output logic cpl_valid_o,
  output rnic_pkg::cpl_t cpl_o,
  output logic cpl_mid_o,              // the completion of which a beat came last goes on
  input  logic [7:0] back_h_i,         // room for completions that reads had, given back
  input  logic [9:0] back_d_i,         // in 16 B
  output logic stat_unexpected_o,      // wrong requester, or not a completion
  output logic stat_malformed_o,       // length field and data beats disagree
  output logic idle_o
);

  // Header of a memory request, DW0 in [127:96].
  function automatic logic [127:0] request_hdr(input logic write, input logic [63:0] addr, input logic [12:0] len,
                                               input logic [9:0] tag, input logic [2:0] attr,
                                               input logic [15:0] requester_id);
    logic [12:0] lanes;        // bytes from the first DW's lane 0 on, rounded up to DWs
    logic [1:0] last_lane;
    logic [3:0] first_be, last_be;
    logic four_dw, single;
    begin
      lanes = {11'b0, addr[1:0]} + len + 13'd3;
      last_lane = addr[1:0] + len[1:0] - 2'd1;
      first_be = 4'hF << addr[1:0];
      last_be = 4'hF >> (2'd3 - last_lane);
      single = lanes[12:2] == 11'd1;
      if (single) begin
        first_be = first_be & last_be;
        last_be = 4'h0;
      end
      if (len == 13'd0) begin                    // zero-length: one DW, no byte enabled
        lanes = 13'd4;
        first_be = 4'h0;
        last_be = 4'h0;
      end
      four_dw = addr[63:32] != 32'd0;
      request_hdr = {1'b0, write, four_dw, 5'b0, tag[9], 3'b0, tag[8], attr[2], 3'b0, 1'b0, attr[1:0], 2'b0,
                     lanes[11:2], requester_id, tag[7:0], last_be, first_be,
                     four_dw ? {addr[63:2], 2'b0} : {addr[31:2], 2'b0, 32'b0}};
    end
  endfunction

  logic [2:0] attr_allowed;
  assign attr_allowed = {cfg_i.ido_en, cfg_i.ro_en, 1'b1};

  // ---- Requests out -----------------------------------------------------------------------------------------------
  logic tx_valid_q;
  rnic_pkg::tlp_beat_t tx_q;
  logic own_q;                 // what stands at the pins was sent in this life of the function
  logic mid_q;                 // inside a write of more than one beat
  logic last_wr_q;             // the latest TLP was a write
  logic wr_older_q;            // the waiting write came before any read that waits or will come
  logic [10:0] left_q;         // DWs of it still to come

  logic [12:0] wr_lanes, wr_credit_bytes;
  logic ph_ok, pd_ok, nph_ok;
  assign wr_lanes = {11'b0, treq_wr_i.addr[1:0]} + treq_wr_i.len + 13'd3;
  assign wr_credit_bytes = {wr_lanes[12:2], 2'b0} + 13'd15;
  logic tx_open, wr_can, rd_can, wr_first, wr_more, rd_go;
  logic [10:0] wr_left;
  assign tx_open = !tx_valid_q || tlp_tx_ready_i;
  assign wr_can = treq_wr_valid_i && twd_valid_i && ph_ok && pd_ok;
  assign rd_can = treq_rd_valid_i && nph_ok && room_ok && !wr_older_q;
  assign wr_first = tx_open && !mid_q && wr_can && !(rd_can && last_wr_q);
  assign rd_go = tx_open && !mid_q && rd_can && !(wr_can && !last_wr_q);
  assign wr_more = tx_open && mid_q && twd_valid_i;
  assign wr_left = mid_q ? left_q : wr_lanes[12:2];

  credit_counter #(
    .Width(8)
  ) u_posted_header (
    .clk_i, .rst_ni(link_rst_ni), .inf_i(fc_i.p_inf), .limit_i(fc_i.ph), .need_i(8'd1), .ok_o(ph_ok), .take_i(wr_first)
  );
  credit_counter #(
    .Width(12)
  ) u_posted_data (
    .clk_i, .rst_ni(link_rst_ni), .inf_i(fc_i.p_inf), .limit_i(fc_i.pd), .need_i({3'b0, wr_credit_bytes[12:4]}), .ok_o(pd_ok),
    .take_i(wr_first)
  );
  credit_counter #(
    .Width(8)
  ) u_non_posted_header (
    .clk_i, .rst_ni(link_rst_ni), .inf_i(fc_i.np_inf), .limit_i(fc_i.nph), .need_i(8'd1), .ok_o(nph_ok), .take_i(rd_go)
  );

  // Room for the completions of the reads under way. One that alone needs more than there is goes alone.
  // What is left is worked out beside what the read needs: neither waits for the other.
  logic [15:0] rd_room;
  logic [8:0] room_h_q, back_h;        // reserved, and without what comes back
  logic [12:0] room_d_q, back_d;
  logic [9:0] left_h;                  // negative where one went alone
  logic [13:0] left_d;
  logic room_ok;
  assign rd_room = pcie_pkg::cpl_room(treq_rd_i.addr[6:0], treq_rd_i.len, cfg_i.rcb);
  assign left_h = {2'b0, cfg_i.cplh} - {1'b0, room_h_q};
  assign left_d = {2'b0, cfg_i.cpld} - {1'b0, room_d_q};
  assign back_h = room_h_q - {1'b0, back_h_i};
  assign back_d = room_d_q - {3'b0, back_d_i};
  assign room_ok = ((cfg_i.cplh == 8'd0 || (!left_h[9] && {2'b0, rd_room[15:9]} <= left_h[8:0])) &&
                    (cfg_i.cpld == 12'd0 || (!left_d[13] && {4'b0, rd_room[8:0]} <= left_d[12:0]))) ||
                   (room_h_q == 9'd0 && room_d_q == 13'd0);

  always_ff @(posedge clk_i or negedge link_rst_ni) begin
    if (!link_rst_ni) begin
      room_h_q <= '0;
      room_d_q <= '0;
    end else if (rd_go || back_h_i != 8'd0) begin
      room_h_q <= rd_go ? back_h + {2'b0, rd_room[15:9]} : back_h;
      room_d_q <= rd_go ? back_d + {4'b0, rd_room[8:0]} : back_d;
    end
  end

  assign treq_rd_ready_o = rd_go;
  assign treq_wr_ready_o = wr_first;
  assign twd_ready_o = wr_first || wr_more;
  assign tlp_tx_valid_o = tx_valid_q;
  assign tlp_tx_o = tx_q;
  assign twr_sent_o = tx_valid_q && tlp_tx_ready_i && tx_q.eop && tx_q.hdr[126] && own_q;

  always_ff @(posedge clk_i or negedge link_rst_ni) begin
    if (!link_rst_ni) tx_valid_q <= 1'b0;
    else if (tx_open) tx_valid_q <= rd_go || wr_first || wr_more;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      own_q <= 1'b0;
      mid_q <= 1'b0;
      last_wr_q <= 1'b0;
      wr_older_q <= 1'b0;
    end else begin
      wr_older_q <= treq_wr_valid_i && !wr_first && (wr_older_q || !treq_rd_valid_i || rd_go);
      if (rd_go || wr_first || wr_more) own_q <= 1'b1;
      if (wr_first || wr_more) mid_q <= wr_left > 11'd16;
      if (wr_first || rd_go) last_wr_q <= wr_first;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rd_go) begin
      tx_q.sop <= 1'b1;
      tx_q.eop <= 1'b1;
      tx_q.hdr <= request_hdr(1'b0, treq_rd_i.addr, treq_rd_i.len, treq_rd_i.tag, treq_rd_i.attr & attr_allowed,
                             cfg_i.requester_id);
      tx_q.dws <= 5'd0;
      tx_q.op <= treq_rd_i.op;
      tx_q.data <= '0;
    end else if (wr_first || wr_more) begin
      tx_q.sop <= wr_first;
      tx_q.eop <= wr_left <= 11'd16;
      tx_q.dws <= wr_left > 11'd16 ? 5'd16 : wr_left[4:0];
      tx_q.data <= twd_i.data;
      left_q <= wr_left - 11'd16;
      if (wr_first) begin
        tx_q.hdr <= request_hdr(1'b1, treq_wr_i.addr, treq_wr_i.len, treq_wr_i.tag, treq_wr_i.attr & attr_allowed,
                               cfg_i.requester_id);
        tx_q.op <= treq_wr_i.op;
      end
    end
  end

  // ---- Completions in ---------------------------------------------------------------------------------------------
  logic cpl_valid_q, unexpected_q, malformed_q;
  rnic_pkg::cpl_t cpl_q;
  logic rx_act_q;              // inside a completion that is passed on
  logic [10:0] rx_left_q;      // DWs of it still to come, by its length field

  pcie_pkg::tlp_dw0_t rx_dw0;
  pcie_pkg::tlp_cpl_t rx_cpl;
  logic rx_is_cpl, rx_has_data, rx_mine, rx_act, rx_bad;
  logic [10:0] rx_len, rx_left;
  logic [4:0] rx_dws;
  logic [2:0] rx_status;
  assign rx_dw0 = tlp_rx_i.hdr[127:96];
  assign rx_cpl = tlp_rx_i.hdr[95:32];
  assign rx_has_data = rx_dw0.fmt_type == pcie_pkg::CplD;
  assign rx_is_cpl = rx_has_data || rx_dw0.fmt_type == pcie_pkg::Cpl;
  assign rx_mine = rx_is_cpl && rx_cpl.requester_id == cfg_i.requester_id;
  assign rx_len = !rx_has_data ? 11'd0 : {rx_dw0.length == 10'd0, rx_dw0.length};
  assign rx_act = tlp_rx_valid_i && (tlp_rx_i.sop ? rx_mine : rx_act_q);
  assign rx_left = tlp_rx_i.sop ? rx_len : rx_left_q;
  assign rx_dws = rx_left > 11'd16 ? 5'd16 : rx_left[4:0];

  always_comb begin
    unique case (rx_cpl.status)
      pcie_pkg::StatusSc: rx_status = rx_has_data && rx_dw0.ep ? rnic_pkg::DmaPoisoned : rnic_pkg::DmaOk;
      pcie_pkg::StatusCa: rx_status = rnic_pkg::DmaCa;
      default: rx_status = rnic_pkg::DmaUr;
    endcase
  end
  // Beats and length disagree, or success without data.
  assign rx_bad = rx_act && (tlp_rx_i.dws != rx_dws || tlp_rx_i.eop != (rx_left <= 11'd16) ||
                             (tlp_rx_i.sop && !rx_has_data && rx_cpl.status == pcie_pkg::StatusSc));

  assign tlp_rx_ready_o = 1'b1;
  assign cpl_valid_o = cpl_valid_q;
  assign cpl_o = cpl_q;
  assign cpl_mid_o = rx_act_q;
  assign stat_unexpected_o = unexpected_q;
  assign stat_malformed_o = malformed_q;

  always_ff @(posedge clk_i or negedge link_rst_ni) begin
    if (!link_rst_ni) begin
      cpl_valid_q <= 1'b0;
      unexpected_q <= 1'b0;
      malformed_q <= 1'b0;
      rx_act_q <= 1'b0;
    end else begin
      cpl_valid_q <= rx_act;
      unexpected_q <= tlp_rx_valid_i && tlp_rx_i.sop && !rx_mine;
      // A header inside another TLP: the interrupted one never ends.
      malformed_q <= rx_bad || (tlp_rx_valid_i && tlp_rx_i.sop && rx_act_q);
      if (tlp_rx_valid_i) rx_act_q <= rx_act && !tlp_rx_i.eop && !rx_bad;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rx_act) begin
      cpl_q.sop <= tlp_rx_i.sop;
      cpl_q.eop <= tlp_rx_i.eop || rx_bad;
      cpl_q.data <= tlp_rx_i.data;
      rx_left_q <= rx_left - 11'd16;
      if (tlp_rx_i.sop) begin
        cpl_q.tag <= {rx_dw0.tag9, rx_dw0.tag8, rx_cpl.tag};
        cpl_q.byte_count <= {rx_cpl.byte_count == 12'd0, rx_cpl.byte_count};
        cpl_q.lower_addr <= rx_cpl.lower_addr;
        cpl_q.len_dw <= rx_len;
      end
      if (rx_bad) cpl_q.status <= rnic_pkg::DmaMalformed;
      else if (tlp_rx_i.sop) cpl_q.status <= rx_status;
    end
  end

  assign idle_o = !tx_valid_q && !mid_q && !cpl_valid_q && !unexpected_q && !malformed_q && !rx_act_q;

`ifndef SYNTHESIS
  assert property (@(posedge clk_i) disable iff (!rst_ni) tlp_tx_valid_o && !tlp_tx_ready_i |=>
                   tlp_tx_valid_o && $stable(tx_q.hdr) && $stable(tx_q.eop));
  assert property (@(posedge clk_i) disable iff (!rst_ni) twd_valid_i && twd_ready_o |->
                   twd_i.last == (wr_left <= 11'd16));
  assert property (@(posedge clk_i) disable iff (!rst_ni) treq_wr_valid_i |->
                   treq_wr_i.len != 13'd0 && {1'b0, treq_wr_i.addr[11:0]} + treq_wr_i.len <= 13'd4096);
  assert property (@(posedge clk_i) disable iff (!rst_ni) treq_rd_valid_i |->
                   {1'b0, treq_rd_i.addr[11:0]} + treq_rd_i.len <= 13'd4096);
`endif
endmodule
