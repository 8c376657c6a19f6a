// SPDX-License-Identifier: Apache-2.0
// MSI-X: table of 64 vectors, masks, pending bits, and the messages, each a posted write of 4 B on dma_master's write
// channel, which CQEs share.
//
// A request sets its vector's pending bit. A vector that is pending, not masked, with the function enabled and not
// masked, is sent, in turn with others of the kind; the bit is cleared when the message is put into the output register,
// from where it goes even if it is masked after that. Requests of one vector before that are one message. The table's
// registers come as writes of 32 bits (msix_reg_i: 0 address low, 1 address high, 2 data, 3 vector control); before the
// first of them each is 0, and masked. The low two address bits count as 0.
//
// A write in progress stays until its request and its data have been taken, in whatever order. Of a CQE and a message
// that both wait, the one goes that did not go last. A CQE passes in the cycle in which it is offered. A message: from irq_valid_i
// to wr_valid_o 3 edges.
module msix (
  input  logic clk_i,
  input  logic rst_ni,
  // Table, function control
  input  logic msix_we_i,
  input  logic [5:0] msix_idx_i,
  input  logic [1:0] msix_reg_i,
  input  logic [31:0] msix_wdata_i,
  input  logic msix_en_i,
  input  logic msix_mask_i,
  output logic [63:0] msix_pending_o,
  // Requests; always taken
  input  logic irq_valid_i,
  input  logic [5:0] irq_vector_i,
  // CQEs, of one beat each
  input  logic cqe_wr_valid_i,
  output logic cqe_wr_ready_o,
  input  rnic_pkg::wr_req_t cqe_wr_i,
  input  logic cqe_wdata_valid_i,
  output logic cqe_wdata_ready_o,
  input  logic [511:0] cqe_wdata_i,
  output logic cqe_done_o,                     // wr_done_i is a CQE's
  // To dma_master
  output logic wr_valid_o,
  input  logic wr_ready_i,
  output rnic_pkg::wr_req_t wr_o,
  output logic wdata_valid_o,
  input  logic wdata_ready_i,
  output logic [511:0] wdata_o,
  input  logic wr_done_i,
  output logic stat_sent_o,                    // a message has been handed over
  output logic idle_o                          // nothing that could be sent
);
  // ==== Table ======================================================================================================
  logic [31:0] lo_mem [64];
  logic [31:0] hi_mem [64];
  logic [31:0] data_mem [64];
  logic [63:0] lo_valid_q, hi_valid_q, data_valid_q, mask_q, pending_q;
  logic load;
  logic [5:0] pick_q;

  always_ff @(posedge clk_i) begin
    if (msix_we_i && msix_reg_i == 2'd0) lo_mem[msix_idx_i] <= msix_wdata_i;
    if (msix_we_i && msix_reg_i == 2'd1) hi_mem[msix_idx_i] <= msix_wdata_i;
    if (msix_we_i && msix_reg_i == 2'd2) data_mem[msix_idx_i] <= msix_wdata_i;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      lo_valid_q <= '0;
      hi_valid_q <= '0;
      data_valid_q <= '0;
      mask_q <= '1;
      pending_q <= '0;
    end else begin
      if (msix_we_i) begin
        unique case (msix_reg_i)
          2'd0: lo_valid_q[msix_idx_i] <= 1'b1;
          2'd1: hi_valid_q[msix_idx_i] <= 1'b1;
          2'd2: data_valid_q[msix_idx_i] <= 1'b1;
          default: mask_q[msix_idx_i] <= msix_wdata_i[0];
        endcase
      end
      if (load) pending_q[pick_q] <= 1'b0;
      if (irq_valid_i) pending_q[irq_vector_i] <= 1'b1;      // also while the one before it leaves
    end
  end

  // ==== Which vector: the next one behind the last =================================================================
  // The lowest bit set, in two levels.
  logic [63:0] able, behind, from;
  logic [7:0] group;                           // groups of 8 with a bit set
  logic [23:0] lowest;                         // first bit in each group
  logic [2:0] top;
  logic pick_valid_q, able_any;

  assign able = pending_q & ~mask_q & {64{msix_en_i && !msix_mask_i}};
  assign able_any = able != 64'd0;
  assign from = behind != 64'd0 ? behind : able;

  assign behind[0] = 1'b0;
  for (genvar v = 1; v < 64; v++) begin : gen_behind
    assign behind[v] = able[v] && pick_q < v;
  end

  for (genvar g = 0; g < 8; g++) begin : gen_group
    logic [7:0] f;
    assign f = from[8*g +: 8];
    assign group[g] = f != 8'd0;
    assign lowest[3*g +: 3] = f[0] ? 3'd0 : f[1] ? 3'd1 : f[2] ? 3'd2 : f[3] ? 3'd3 :
                              f[4] ? 3'd4 : f[5] ? 3'd5 : f[6] ? 3'd6 : 3'd7;
  end
  assign top = group[0] ? 3'd0 : group[1] ? 3'd1 : group[2] ? 3'd2 : group[3] ? 3'd3 :
               group[4] ? 3'd4 : group[5] ? 3'd5 : group[6] ? 3'd6 : 3'd7;

  logic msg_busy;                              // a message stands in the output register
  assign load = pick_valid_q && able[pick_q] && !msg_busy;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      pick_valid_q <= 1'b0;
      pick_q <= 6'd63;
    end else if (pick_valid_q) begin
      if (load || !able[pick_q]) pick_valid_q <= 1'b0;
    end else if (able_any) begin
      pick_valid_q <= 1'b1;
      pick_q <= {top, lowest[3*top +: 3]};
    end
  end

  // ==== Message ====================================================================================================
  logic msg_wr_q, msg_wdata_q, msg_wr_ready, msg_wdata_ready;
  logic [63:2] addr_q;
  logic [31:0] data_q;

  assign msg_busy = msg_wr_q || msg_wdata_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      msg_wr_q <= 1'b0;
      msg_wdata_q <= 1'b0;
    end else if (load) begin
      msg_wr_q <= 1'b1;
      msg_wdata_q <= 1'b1;
    end else begin
      if (msg_wr_ready) msg_wr_q <= 1'b0;
      if (msg_wdata_ready) msg_wdata_q <= 1'b0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (load) begin
      addr_q[31:2] <= lo_valid_q[pick_q] ? lo_mem[pick_q][31:2] : 30'd0;
      addr_q[63:32] <= hi_valid_q[pick_q] ? hi_mem[pick_q] : 32'd0;
      data_q <= data_valid_q[pick_q] ? data_mem[pick_q] : 32'd0;
    end
  end

  // ==== Turns on the write channel =================================================================================
  // A write keeps the channel from its first offer to the cycle in which the rest of it is taken. Messages go first; the
  // register is empty between two of them, and a CQE that waits gets the channel then.
  logic hold_q, held_msg_q, msg, cqe_any, busy, ends, kinds_ready, kinds_valid, done_msg;
  logic [3:0] kinds_fill;

  assign cqe_any = cqe_wr_valid_i || cqe_wdata_valid_i;
  assign msg = hold_q ? held_msg_q : msg_busy;
  assign busy = msg ? msg_busy : cqe_any;
  assign ends = busy && (!wr_valid_o || wr_ready_i) && (!wdata_valid_o || wdata_ready_i) &&
                !((msg ? msg_wr_q : cqe_wr_valid_i) && !kinds_ready);

  assign wr_valid_o = (msg ? msg_wr_q : cqe_wr_valid_i) && kinds_ready;
  assign wdata_valid_o = msg ? msg_wdata_q : cqe_wdata_valid_i;
  assign cqe_wr_ready_o = !msg && wr_ready_i && kinds_ready;
  assign cqe_wdata_ready_o = !msg && wdata_ready_i;
  assign msg_wr_ready = msg && wr_ready_i && kinds_ready;
  assign msg_wdata_ready = msg && wdata_ready_i;
  assign stat_sent_o = msg && ends;

  always_comb begin
    wr_o = cqe_wr_i;
    if (msg) begin
      wr_o = '0;
      wr_o.addr = {addr_q, 2'd0};
      wr_o.len = 13'd4;
    end
  end
  assign wdata_o = msg ? {480'd0, data_q} : cqe_wdata_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      hold_q <= 1'b0;
      held_msg_q <= 1'b0;
    end else if (busy) begin
      hold_q <= !ends;
      held_msg_q <= msg;
    end
  end

  // Whose the writes are that dma_master has taken and not reported: it takes five at most.
  fifo #(
    .Width(1),
    .Depth(8)
  ) u_kinds (
    .clk_i,
    .rst_ni,
    .wr_valid_i(wr_valid_o && wr_ready_i),
    .wr_ready_o(kinds_ready),
    .wr_data_i(msg),
    .rd_valid_o(kinds_valid),
    .rd_ready_i(wr_done_i),
    .rd_data_o(done_msg),
    .fill_o(kinds_fill)
  );
  assign cqe_done_o = wr_done_i && kinds_valid && !done_msg;

  assign msix_pending_o = pending_q;
  assign idle_o = !(able_any || pick_valid_q || msg_busy || kinds_valid);

`ifndef SYNTHESIS
  assert property (@(posedge clk_i) disable iff (!rst_ni) wr_valid_o && !wr_ready_i |=> wr_valid_o);
  assert property (@(posedge clk_i) disable iff (!rst_ni) wdata_valid_o && !wdata_ready_i |=> wdata_valid_o);
  assert property (@(posedge clk_i) disable iff (!rst_ni) wr_done_i |-> kinds_valid);
`endif
endmodule
