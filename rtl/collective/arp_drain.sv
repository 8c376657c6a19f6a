// SPDX-License-Identifier: Apache-2.0
// Brings the results of full slots to memory, in the order in which the slots became full.
//
// A result is read from the accumulators as a whole before anything of it is written, because one wrong parity bit makes
// it lost: then its lines are left out, and the slot's end is told at once. It takes the read cycles that accumulation
// leaves; a read that has waited for Wait cycles becomes urgent. Results are read, rounded and written at the same time,
// one line of 64 B a cycle each; the buffer holds two of the longest.
//
// More than 4096 B (wide_out) are two writes. The op of a write names the slot (qpn), and whether it is the slot's last
// write (last): its wr_done_i ends the slot. Data of a write follow its request.
module arp_drain #(
  parameter int unsigned Wait = 64
) (
  input  logic clk_i,
  input  logic rst_ni,
  // Slots that become full
  input  logic full_i,
  input  logic [9:0] full_slot_i,
  input  logic ready_i,                          // the oldest one not yet ready: its last beat is in memory
  // arp_slots
  output logic res_en_o,
  output logic [9:0] res_slot_o,
  input  arp_pkg::areth_t res_hdr_i,
  input  logic [31:0] res_pos_i,
  input  logic [11:0] res_row_i,
  output logic [9:0] ask_slot_o,
  input  logic ask_lost_i,
  output logic end_o,
  output logic [9:0] end_slot_o,
  output logic end_lost_o,
  // arp_groups
  output logic ctx_en_o,
  output logic [5:0] ctx_group_o,
  input  arp_pkg::arp_group_t ctx_i,
  // Accumulators
  output logic [1:0] rd_o,                       // wants these banks
  output logic [11:0] rd_row_o,
  output logic rd_urgent_o,
  input  logic rd_ready_i,
  input  logic [1023:0] rd_data_i,               // after the edge
  input  logic [1:0] rd_bad_i,                   // an edge later
  // DMA
  output logic wr_valid_o,
  input  logic wr_ready_i,
  output rnic_pkg::wr_req_t wr_o,
  output logic wdata_valid_o,
  input  logic wdata_ready_i,
  output logic [511:0] wdata_o,
  input  logic wr_done_i,
  input  rnic_pkg::op_t wr_done_op_i,
  // Observation
  output logic stall_o,                          // a result waits for the DMA
  output logic idle_o                            // no slot is full or being written
);
  localparam int unsigned Lines = 256;           // two results of 8 KiB
  localparam int unsigned LineW = 8;
  localparam int unsigned Results = 16;          // read and not yet written
  localparam int unsigned WaitW = $clog2(Wait + 1);

  if (arp_pkg::NarrowLatency != 2) $error("arp_narrow must take two edges");

  // ---- Slots that are full, and how many of them are ready ---------------------------------------------------------------
  logic fullq_valid, fullq_ready, fullq_room, pop;
  logic [9:0] fullq_slot;
  logic [10:0] fullq_fill, ready_q, open_q;
  fifo #(
    .Width(10), .Depth(arp_pkg::NumSlots)
  ) u_full (
    .clk_i, .rst_ni,
    .wr_valid_i(full_i), .wr_ready_o(fullq_room), .wr_data_i(full_slot_i),
    .rd_valid_o(fullq_valid), .rd_ready_i(fullq_ready), .rd_data_o(fullq_slot),
    .fill_o(fullq_fill)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      ready_q <= 11'd0;
      open_q <= 11'd0;
    end else begin
      if (ready_i != pop) ready_q <= ready_i ? ready_q + 11'd1 : ready_q - 11'd1;
      if (full_i != end_o) open_q <= full_i ? open_q + 11'd1 : open_q - 11'd1;
    end
  end
  assign idle_o = open_q == 11'd0;

  // ---- What is to be done: slot, then its context, then addresses ----------------------------------------------------------
  logic p1_q, p2_q, job_q, move, job_end;
  logic [9:0] slot1_q, slot2_q, job_slot_q;
  logic [12:0] len2_q;
  logic [31:0] pos2_q;
  logic [11:0] row2_q, job_row_q;
  logic [7:0] job_lines_q;                       // of 64 B
  logic [63:0] job_addr_q;
  logic [13:0] job_bytes_q;
  logic [7:0] job_dtype_q;
  logic job_wide_q, job_round_q, job_half_q;     // FP32 leaves; rounded; nothing in bank 1 of the last row
  logic acc32;
  logic [13:0] twice, bytes;
  logic [14:0] bytes_up, twice_up;
  assign move = !job_q || job_end;
  assign pop = fullq_valid && ready_q != 11'd0 && move;
  assign fullq_ready = ready_q != 11'd0 && move;
  assign res_en_o = pop;
  assign res_slot_o = fullq_slot;
  assign ctx_en_o = p1_q && move;
  assign ctx_group_o = res_hdr_i.group[5:0];
  assign acc32 = ctx_i.dtype == arp_pkg::TypeFp16Acc32 || ctx_i.dtype == arp_pkg::TypeBf16Acc32;
  assign twice = {len2_q, 1'b0};
  assign bytes = ctx_i.wide_out ? twice : {1'b0, len2_q};
  assign bytes_up = {1'b0, bytes} + 15'd63;
  assign twice_up = {1'b0, twice} + 15'd63;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) {p1_q, p2_q, job_q} <= 3'd0;
    else if (move) {p1_q, p2_q, job_q} <= {pop, p1_q, p2_q};
  end
  always_ff @(posedge clk_i) begin
    if (pop) slot1_q <= fullq_slot;
    if (p1_q && move) {slot2_q, len2_q, pos2_q, row2_q} <= {slot1_q, res_hdr_i.len[12:0], res_pos_i, res_row_i};
    if (p2_q && move) begin
      {job_slot_q, job_row_q, job_dtype_q, job_bytes_q} <= {slot2_q, row2_q, ctx_i.dtype, bytes};
      job_addr_q <= ctx_i.dst + (ctx_i.wide_out ? {31'b0, pos2_q, 1'b0} : {32'b0, pos2_q});
      job_lines_q <= bytes_up[13:6];
      job_wide_q <= ctx_i.wide_out;
      job_round_q <= acc32 && !ctx_i.wide_out;
      job_half_q <= twice_up[6];                 // an odd number of half rows
    end
  end

  // ---- Reading: a line a cycle -----------------------------------------------------------------------------------------------
  logic [7:0] line_q;                            // of the job
  logic [LineW:0] space_q;                       // lines free
  logic [WaitW-1:0] wait_q;
  logic resq_room, may, ask, go, last;
  logic [1:0] banks;
  logic [11:0] row;
  logic ask_q, last0_q, round0_q, upper0_q, keep0_q, kept0_q;
  logic [1:0] banks0_q;
  logic [11:0] row0_q;
  logic [7:0] dtype0_q;
  logic [9:0] slot_of0_q;
  assign may = job_q && space_q != '0 && (line_q != 8'd0 || resq_room);
  assign last = line_q + 8'd1 == job_lines_q;
  always_comb begin
    if (job_round_q) banks = last && job_half_q ? 2'b01 : 2'b11;
    else if (job_wide_q) banks = line_q[0] ? 2'b00 : last ? 2'b01 : 2'b11;     // a row is two lines
    else banks = line_q[0] ? 2'b10 : 2'b01;
  end
  assign row = job_row_q + (job_round_q ? {4'b0, line_q} : {5'b0, line_q[7:1]});
  assign ask = may && (!ask_q || go);
  assign job_end = ask && last;

  // One read waits for its turn: what it asks for comes from registers.
  assign rd_o = ask_q ? banks0_q : 2'b00;
  assign rd_row_o = row0_q;
  assign rd_urgent_o = {{32-WaitW{1'b0}}, wait_q} == Wait;
  assign go = ask_q && rd_ready_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      line_q <= 8'd0;
      ask_q <= 1'b0;
      wait_q <= '0;
    end else begin
      if (ask) line_q <= last ? 8'd0 : line_q + 8'd1;
      if (ask) ask_q <= 1'b1;
      else if (go) ask_q <= 1'b0;
      if (go) wait_q <= '0;
      else if (ask_q && !rd_urgent_o) wait_q <= wait_q + 1'b1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (ask) begin
      {last0_q, round0_q, banks0_q, row0_q, dtype0_q, slot_of0_q} <= {last, job_round_q, banks, row, job_dtype_q, job_slot_q};
      upper0_q <= !job_wide_q && line_q[0];
      keep0_q <= job_wide_q && !line_q[0];
      kept0_q <= job_wide_q && line_q[0];
    end
  end

  // ---- Read data: 1 as they come, 2 with their parity, 3 rounded --------------------------------------------------------------
  logic t1_q, t2_q, t3_q, last1_q, last2_q, last3_q, round1_q, round2_q, round3_q, upper1_q, keep1_q, kept1_q;
  logic [1:0] banks1_q, banks2_q;
  logic [7:0] dtype1_q;
  logic [9:0] slot_of1_q, slot_of2_q, slot_of3_q;
  logic bad3_q, bad_q, bad_now, narrow_valid;    // bad_q: a line before of the same result
  logic [511:0] kept_q, data2_q, data3_q, narrow;
  assign bad_now = bad3_q || bad_q;
  assign ask_slot_o = slot_of3_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      {t1_q, t2_q, t3_q} <= 3'd0;
      bad_q <= 1'b0;
    end else begin
      {t1_q, t2_q, t3_q} <= {go, t1_q, t2_q};
      if (t3_q) bad_q <= bad_now && !last3_q;
    end
  end
  always_ff @(posedge clk_i) begin
    if (go) begin
      {last1_q, round1_q, banks1_q, dtype1_q, slot_of1_q} <= {last0_q, round0_q, banks0_q, dtype0_q, slot_of0_q};
      {upper1_q, keep1_q, kept1_q} <= {upper0_q, keep0_q, kept0_q};
    end
    if (t1_q) begin
      {last2_q, round2_q, banks2_q, slot_of2_q} <= {last1_q, round1_q, banks1_q, slot_of1_q};
      if (keep1_q) kept_q <= rd_data_i[1023:512];
      if (!round1_q) data2_q <= kept1_q ? kept_q : upper1_q ? rd_data_i[1023:512] : rd_data_i[511:0];
    end
    if (t2_q) begin
      {last3_q, round3_q, slot_of3_q} <= {last2_q, round2_q, slot_of2_q};
      bad3_q <= (rd_bad_i & banks2_q) != 2'b00;
      if (!round2_q) data3_q <= data2_q;
    end
  end

  arp_narrow u_narrow (
    .clk_i, .rst_ni, .valid_i(t1_q && round1_q), .dtype_i(dtype1_q), .in_i(rd_data_i),
    .valid_o(narrow_valid), .out_o(narrow)
  );

  // ---- Lines of results, and what results they are -----------------------------------------------------------------------------
  logic [511:0] mem [Lines];
  logic [LineW-1:0] wptr_q, rptr_q;
  logic resq_valid, resq_pop, lostq_valid, lostq_room, res_lost;
  logic [9:0] res_slot;
  logic [63:0] res_addr;
  logic [13:0] res_bytes;
  logic [7:0] res_lines;
  logic [$clog2(Results):0] resq_fill, lostq_fill;

  fifo #(
    .Width(10 + 64 + 14 + 8), .Depth(Results)
  ) u_results (
    .clk_i, .rst_ni,
    .wr_valid_i(ask && line_q == 8'd0), .wr_ready_o(resq_room),
    .wr_data_i({job_slot_q, job_addr_q, job_bytes_q, job_lines_q}),
    .rd_valid_o(resq_valid), .rd_ready_i(resq_pop), .rd_data_o({res_slot, res_addr, res_bytes, res_lines}),
    .fill_o(resq_fill)
  );
  fifo #(
    .Width(1), .Depth(Results)
  ) u_lost (
    .clk_i, .rst_ni,
    .wr_valid_i(t3_q && last3_q), .wr_ready_o(lostq_room), .wr_data_i(bad_now || ask_lost_i),
    .rd_valid_o(lostq_valid), .rd_ready_i(resq_pop), .rd_data_o(res_lost),
    .fill_o(lostq_fill)
  );

  // ---- Writing -----------------------------------------------------------------------------------------------------------------
  logic wr_valid_q, wdata_valid_q, second_q;     // second: of two writes
  rnic_pkg::wr_req_t wr_q;
  logic [LineW:0] owed_q;                        // lines of accepted requests
  logic [10:0] out_q;                            // results whose last write is not yet reported
  logic wr_load, split, wr_take, take_line, leave_out, done_end;
  logic [12:0] wr_len_up;
  assign split = res_bytes > 14'd4096 && !second_q;
  assign wr_load = lostq_valid && !res_lost && (!wr_valid_q || wr_ready_i);
  assign wr_take = wr_valid_q && wr_ready_i;
  assign wr_len_up = wr_q.len + 13'd63;
  assign take_line = owed_q != '0 && (!wdata_valid_q || wdata_ready_i);
  assign done_end = wr_done_i && wr_done_op_i.last;
  assign leave_out = lostq_valid && res_lost && out_q == 11'd0;       // in its turn
  assign resq_pop = (wr_load && !split) || leave_out;
  assign end_o = done_end || leave_out;
  assign end_slot_o = done_end ? wr_done_op_i.qpn : res_slot;
  assign end_lost_o = !done_end;
  assign stall_o = (wr_valid_q && !wr_ready_i) || (wdata_valid_q && !wdata_ready_i);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      wr_valid_q <= 1'b0;
      wdata_valid_q <= 1'b0;
      second_q <= 1'b0;
      owed_q <= '0;
      out_q <= 11'd0;
      space_q <= {1'b1, {LineW{1'b0}}};
      wptr_q <= '0;
      rptr_q <= '0;
    end else begin
      if (wr_load) wr_valid_q <= 1'b1;
      else if (wr_ready_i) wr_valid_q <= 1'b0;
      if (wr_load) second_q <= split;
      if ((wr_load && !split) != done_end) out_q <= done_end ? out_q - 11'd1 : out_q + 11'd1;
      if (wr_take || take_line) owed_q <= owed_q + (wr_take ? {2'b0, wr_len_up[12:6]} : 9'd0) - {8'd0, take_line};
      if (take_line) wdata_valid_q <= 1'b1;
      else if (wdata_ready_i) wdata_valid_q <= 1'b0;
      if (ask || take_line || leave_out) begin
        space_q <= space_q - {8'd0, ask} + {8'd0, take_line} + (leave_out ? {1'b0, res_lines} : 9'd0);
      end
      if (t3_q) wptr_q <= wptr_q + 1'b1;
      if (take_line) rptr_q <= rptr_q + 1'b1;
      else if (leave_out) rptr_q <= rptr_q + res_lines;
    end
  end

  always_ff @(posedge clk_i) begin
    if (t3_q) mem[wptr_q] <= round3_q ? narrow : data3_q;
    if (take_line) wdata_o <= mem[rptr_q];
    if (wr_load) begin
      wr_q <= '0;
      wr_q.addr <= second_q ? {wr_q.addr[63:12] + 52'd1, wr_q.addr[11:0]} : res_addr;   // behind the first
      wr_q.len <= split ? 13'd4096 : second_q ? {1'b0, res_bytes[11:0]} | {res_bytes[13], 12'b0} : res_bytes[12:0];
      wr_q.op.qpn <= res_slot;
      wr_q.op.last <= !split;
      wr_q.attr <= 3'b000;
    end
  end
  assign wr_valid_o = wr_valid_q;
  assign wr_o = wr_q;
  assign wdata_valid_o = wdata_valid_q;

`ifndef SYNTHESIS
  stream_checker #(.Width(131)) u_wr_check (
    .clk_i, .rst_ni, .valid_i(wr_valid_o), .ready_i(wr_ready_i), .data_i(wr_o)
  );
  stream_checker #(.Width(512)) u_wdata_check (
    .clk_i, .rst_ni, .valid_i(wdata_valid_o), .ready_i(wdata_ready_i), .data_i(wdata_o)
  );
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      FullFits : assert (!full_i || fullq_room);
      ReadyIsFull : assert (ready_q <= fullq_fill);
      VerdictFits : assert (!(t3_q && last3_q) || lostq_room);
      RoundedInTime : assert (!t3_q || narrow_valid == round3_q);
    end
  end
`endif
endmodule
