// SPDX-License-Identifier: Apache-2.0
// Write half of dma_master: splits a write into memory write requests of at most MPS and shifts its data so that each
// TLP's first DW stands in lane 0, the first byte at lane addr mod 4. Bytes outside the write are zero.
//
// Cuts at every multiple of MPS, which includes every 4 KiB boundary. One write at a time; the next request is taken
// with the last beat of the one before. A TLP's request becomes valid together with its first beat.
// Without bus mastering a write is swallowed with its data, and reported done.
//
// Latency: wr_valid_i (with data waiting) to treq_wr_valid_o 2 cycles. One beat a cycle.
module dma_write (
  input  logic clk_i,
  input  logic rst_ni,
  input  rnic_pkg::pcie_cfg_t cfg_i,
  // Writes: request, then ceil(len/64) beats of data
  input  logic wr_valid_i,
  output logic wr_ready_o,
  input  rnic_pkg::wr_req_t wr_i,
  input  logic wdata_valid_i,
  output logic wdata_ready_o,
  input  logic [511:0] wdata_i,
  output logic wr_done_o,
  output rnic_pkg::op_t wr_done_op_o,
  // To pcie_tlp_gen
  output logic treq_wr_valid_o,
  input  logic treq_wr_ready_i,
  output rnic_pkg::tlp_req_t treq_wr_o,
  output logic twd_valid_o,
  input  logic twd_ready_i,
  output rnic_pkg::tlp_wdata_t twd_o,
  input  logic twr_sent_i,
  output logic idle_o
);
  localparam int unsigned OpW = 51;            // width of op_t

  logic drop_q;                                // swallowing a write
  logic [12:0] drop_left_q;                    // bytes of it still to come
  logic [12:0] tleft_q;                        // lanes of the current TLP, from this beat on
  logic first_q;                               // this beat is the first of its TLP
  logic [1:0] lead_q;                          // lanes before the first byte in this beat
  logic [6:0] pos_q;                           // where this beat starts: 0..63 in prev_q, 64: at the next input beat
  logic [511:0] prev_q;                        // input beat taken last
  rnic_pkg::op_t op_q;
  logic [2:0] attr_q;

  logic treq_valid_q, twd_valid_q;
  rnic_pkg::tlp_req_t treq_q;
  rnic_pkg::tlp_wdata_t twd_q;

  // The current TLP
  logic sp_valid, sp_open, tlp_last;
  logic [63:0] sp_addr;
  logic [12:0] sp_len, sp_next_len;

  // TLPs handed over and not yet reported as sent
  logic sf_ready, sf_valid, sf_last;
  rnic_pkg::op_t sf_op;
  logic [2:0] sf_fill;
  logic tlp_end, need_in, space, push, drop_take, drop_done, accept;
  logic [6:0] lanes;

  assign accept = wr_valid_i && wr_ready_o;
  assign wr_ready_o = (!sp_valid || (push && tlp_end && tlp_last)) && !drop_q;
  assign lanes = tleft_q > 13'd64 ? 7'd64 : tleft_q[6:0];
  assign tlp_end = tleft_q <= 13'd64;
  assign need_in = {1'b0, pos_q} + {1'b0, lanes} > 8'd64;
  assign space = (!twd_valid_q || twd_ready_i) && (!first_q || ((!treq_valid_q || treq_wr_ready_i) && sf_ready));
  assign push = sp_valid && space && (!need_in || wdata_valid_i);
  assign drop_take = drop_q && drop_left_q != 13'd0 && wdata_valid_i;
  assign drop_done = drop_q && drop_left_q == 13'd0 && !sf_valid;
  assign wdata_ready_o = drop_q ? drop_left_q != 13'd0 : sp_valid && space && need_in;

  assign treq_wr_valid_o = treq_valid_q;
  assign treq_wr_o = treq_q;
  assign twd_valid_o = twd_valid_q;
  assign twd_o = twd_q;
  assign wr_done_o = (twr_sent_i && sf_valid && sf_last) || drop_done;
  assign wr_done_op_o = drop_done ? op_q : sf_op;

  tlp_splitter u_split (
    .clk_i,
    .rst_ni,
    .req_valid_i(accept && cfg_i.bus_master),
    .req_ready_o(sp_open),
    .req_size_i(cfg_i.mps),
    .req_addr_i(wr_i.addr),
    .req_len_i(wr_i.len),
    .valid_o(sp_valid),
    .ready_i(push && tlp_end),
    .addr_o(sp_addr),
    .len_o(sp_len),
    .last_o(tlp_last),
    .next_len_o(sp_next_len)
  );

  fifo #(
    .Width(OpW + 1),
    .Depth(4)
  ) u_sent (
    .clk_i,
    .rst_ni,
    .wr_valid_i(push && first_q),
    .wr_ready_o(sf_ready),
    .wr_data_i({tlp_last, op_q}),
    .rd_valid_o(sf_valid),
    .rd_ready_i(twr_sent_i),
    .rd_data_o({sf_last, sf_op}),
    .fill_o(sf_fill)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      drop_q <= 1'b0;
      treq_valid_q <= 1'b0;
      twd_valid_q <= 1'b0;
    end else begin
      if (accept) drop_q <= !cfg_i.bus_master;
      else if (drop_done) drop_q <= 1'b0;
      if (push && first_q) treq_valid_q <= 1'b1;
      else if (treq_wr_ready_i) treq_valid_q <= 1'b0;
      if (push) twd_valid_q <= 1'b1;
      else if (twd_ready_i) twd_valid_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (accept) begin
      if (!cfg_i.bus_master) drop_left_q <= wr_i.len;
      tleft_q <= {11'b0, wr_i.addr[1:0]} + sp_next_len;
      first_q <= 1'b1;
      lead_q <= wr_i.addr[1:0];
      pos_q <= 7'd64 - {5'b0, wr_i.addr[1:0]};
      op_q <= wr_i.op;
      attr_q <= wr_i.attr;
    end else if (drop_take) begin
      drop_left_q <= drop_left_q > 13'd64 ? drop_left_q - 13'd64 : 13'd0;
    end else if (push) begin
      lead_q <= 2'd0;
      pos_q <= pos_q + lanes - {need_in, 6'b0};
      first_q <= tlp_end;
      tleft_q <= tlp_end ? sp_next_len : tleft_q - 13'd64;
    end

    if (push) begin : shift
      logic [1023:0] two;
      two = {wdata_i, prev_q} >> {pos_q, 3'b0};
      twd_q.last <= tlp_end;
      twd_q.data <= two[511:0] & ({512{1'b1}} << {lead_q, 3'b0}) & ({512{1'b1}} >> {7'd64 - lanes, 3'b0});
      if (need_in) prev_q <= wdata_i;
    end
    if (push && first_q) begin
      treq_q.write <= 1'b1;
      treq_q.addr <= sp_addr;
      treq_q.len <= sp_len;
      treq_q.tag <= 10'd0;
      treq_q.attr <= attr_q;
      treq_q.op <= op_q;
    end
  end

  assign idle_o = !sp_valid && !drop_q && !treq_valid_q && !twd_valid_q && !sf_valid;

`ifndef SYNTHESIS
  assert property (@(posedge clk_i) disable iff (!rst_ni) wr_valid_i |-> wr_i.len != 13'd0 && wr_i.len <= 13'd4096);
  assert property (@(posedge clk_i) disable iff (!rst_ni) treq_wr_valid_o && !treq_wr_ready_i |=>
                   treq_wr_valid_o && $stable(treq_q));
  assert property (@(posedge clk_i) disable iff (!rst_ni) twd_valid_o && !twd_ready_i |=>
                   twd_valid_o && $stable(twd_q.last));
  assert property (@(posedge clk_i) disable iff (!rst_ni) twr_sent_i |-> sf_valid);
`endif
endmodule
