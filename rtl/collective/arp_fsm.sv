// SPDX-License-Identifier: Apache-2.0
// AllReduce pipeline state machine: fragments come in, are checked as a whole, and are added up in on-chip memory; when a
// slot has the contributions of all members of its group, the sum is written to memory. docs/allreduce.md has the rules.
//
//   frag -> arp_intake -> arp_check -> arp_slots -> commands -> accumulation: arp_sram -> arp_alu -> arp_sram
//                                                    full slots -> arp_drain: arp_sram -> arp_narrow -> DMA
//
// Accumulation takes a beat a cycle. A beat whose accumulators are between their read and their write waits (stall_hazard):
// it may be read in the cycle in which they are written, AluLatency + 1 cycles after the beat before, so it waits for
// AluLatency cycles at most. A slot's first beats replace what is there and wait for nothing. A beat also gives way to a
// result that has waited for its read port for 64 cycles (stall_read).
//
// A group's context is taken when nothing is in flight; fragments and acknowledges wait meanwhile, also a fragment that has
// come in part.
module arp_fsm (
  input  logic clk_i,
  input  logic rst_ni,
  // Group contexts
  input  logic cfg_valid_i,
  output logic cfg_ready_o,
  input  logic [15:0] cfg_group_i,
  input  arp_pkg::arp_group_t cfg_i,
  // Fragments
  input  logic frag_valid_i,
  output logic frag_ready_o,
  input  arp_pkg::arp_beat_t frag_i,
  // Acknowledges
  input  logic ack_valid_i,
  output logic ack_ready_o,
  input  arp_pkg::arp_ack_t ack_i,
  // Writes to memory: request, then ceil(len/64) beats of data
  output logic wr_valid_o,
  input  logic wr_ready_i,
  output rnic_pkg::wr_req_t wr_o,
  output logic wdata_valid_o,
  input  logic wdata_ready_i,
  output logic [511:0] wdata_o,
  input  logic wr_done_i,
  input  rnic_pkg::op_t wr_done_op_i,
  // Events; dropped when nobody takes them
  output logic evt_valid_o,
  input  logic evt_ready_i,
  output arp_pkg::arp_evt_t evt_o,
  // For tests: a bit of an accumulator row is wrong after its next write
  input  logic inject_valid_i,
  input  logic [11:0] inject_row_i,
  input  logic [9:0] inject_bit_i,
  // Observation
  output arp_pkg::arp_stat_t stat_o,
  output logic [10:0] slots_used_o,              // not free
  output logic [10:0] slots_done_o,              // wait for their acknowledge
  output logic idle_o                            // nothing in flight; slots may be open or done
);
  localparam int unsigned AluLatency = arp_pkg::AluLatency;
  localparam int unsigned Commands = 32;
  localparam int unsigned CmdW = 1 + 7 + 12 + 1 + 1 + 1 + 1 + 10 + 8 + 8;

  logic hold, quiet, clear, cfg_refused;
  logic [9:0] clear_slot;
  logic [2:0] cfg_state;

  // ---- Fragments: whole, checked, judged -----------------------------------------------------------------------------------
  logic head_valid, head_ready, head_good, line_take, skip;
  logic [3:0] head_kind;
  arp_pkg::areth_t head;
  logic [6:0] head_lines, cur_left_q;
  logic [511:0] line;
  arp_intake u_intake (
    .clk_i, .rst_ni, .hold_i(hold),
    .frag_valid_i, .frag_ready_o, .frag_i,
    .head_valid_o(head_valid), .head_ready_i(head_ready), .head_good_o(head_good), .head_kind_o(head_kind), .head_o(head),
    .head_lines_o(head_lines),
    .line_take_i(line_take), .line_o(line), .skip_i(skip), .skip_lines_i(cur_left_q)
  );

  logic frag_en, frag_known, ack_en, ack_known, res_ctx_en, frag_room, ack_stop, check_idle;
  logic [15:0] frag_group, ack_group;
  logic [5:0] res_group;
  arp_pkg::arp_group_t frag_ctx, ack_ctx, res_ctx;
  arp_groups u_groups (
    .clk_i, .rst_ni, .cfg_valid_i, .cfg_ready_o, .cfg_group_i, .cfg_i,
    .hold_o(hold), .quiet_i(quiet), .clear_o(clear), .clear_slot_o(clear_slot), .refused_o(cfg_refused),
    .frag_en_i(frag_en), .frag_group_i(frag_group), .frag_known_o(frag_known), .frag_ctx_o(frag_ctx),
    .ack_en_i(ack_en), .ack_group_i(ack_group), .ack_known_o(ack_known), .ack_ctx_o(ack_ctx),
    .res_en_i(res_ctx_en), .res_group_i(res_group), .res_ctx_o(res_ctx),
    .cfg_state_o(cfg_state)
  );

  logic chk_valid, chk_good, chk_wide, ackc_valid, ackc_bad;
  logic [3:0] chk_kind;
  arp_pkg::areth_t chk_hdr;
  logic [6:0] chk_lines;
  logic [9:0] chk_slot, ackc_slot;
  logic [25:0] chk_lap, ackc_lap;
  logic [31:0] chk_pos;
  logic [11:0] chk_row;
  logic [63:0] chk_members;
  arp_pkg::arp_ack_t ackc;
  arp_check u_check (
    .clk_i, .rst_ni,
    .head_valid_i(head_valid), .head_ready_o(head_ready), .head_good_i(head_good), .head_kind_i(head_kind), .head_i(head),
    .head_lines_i(head_lines), .frag_room_i(frag_room),
    .frag_en_o(frag_en), .frag_group_o(frag_group), .frag_known_i(frag_known), .frag_ctx_i(frag_ctx),
    .chk_valid_o(chk_valid), .chk_good_o(chk_good), .chk_kind_o(chk_kind), .chk_hdr_o(chk_hdr), .chk_lines_o(chk_lines),
    .chk_slot_o(chk_slot), .chk_lap_o(chk_lap), .chk_pos_o(chk_pos), .chk_row_o(chk_row), .chk_wide_o(chk_wide),
    .chk_members_o(chk_members),
    .ack_hold_i(hold), .ack_valid_i, .ack_ready_o, .ack_i,
    .ack_en_o(ack_en), .ack_group_o(ack_group), .ack_known_i(ack_known), .ack_ctx_i(ack_ctx), .ack_stop_i(ack_stop),
    .ackc_valid_o(ackc_valid), .ackc_bad_o(ackc_bad), .ackc_o(ackc), .ackc_slot_o(ackc_slot), .ackc_lap_o(ackc_lap),
    .idle_o(check_idle)
  );

  logic verdict, verdict_good, verdict_first, verdict_full, verdict_wide, ack_done, ack_new, ack_good, slots_idle;
  logic [3:0] verdict_kind;
  arp_pkg::areth_t verdict_hdr, res_hdr, end_hdr;
  logic [6:0] verdict_lines;
  logic [9:0] verdict_slot, res_slot, end_slot, ask_slot, lose_slot;
  logic [11:0] verdict_row, res_row;
  arp_pkg::arp_ack_t ack_hdr;
  logic res_en, slot_end, end_lost, lose, ask_lost;
  logic [31:0] res_pos;
  logic [2:0] slot_state;
  arp_slots u_slots (
    .clk_i, .rst_ni,
    .chk_valid_i(chk_valid), .chk_good_i(chk_good), .chk_kind_i(chk_kind), .chk_hdr_i(chk_hdr), .chk_lines_i(chk_lines),
    .chk_slot_i(chk_slot), .chk_lap_i(chk_lap), .chk_pos_i(chk_pos), .chk_row_i(chk_row), .chk_wide_i(chk_wide),
    .chk_members_i(chk_members),
    .verdict_o(verdict), .verdict_good_o(verdict_good), .verdict_kind_o(verdict_kind), .verdict_hdr_o(verdict_hdr),
    .verdict_lines_o(verdict_lines), .verdict_first_o(verdict_first), .verdict_full_o(verdict_full),
    .verdict_slot_o(verdict_slot), .verdict_row_o(verdict_row), .verdict_wide_o(verdict_wide),
    .ackc_valid_i(ackc_valid), .ackc_bad_i(ackc_bad), .ackc_i(ackc), .ackc_slot_i(ackc_slot), .ackc_lap_i(ackc_lap),
    .ack_stop_i(ack_stop), .ack_done_o(ack_done), .ack_new_o(ack_new), .ack_good_o(ack_good), .ack_hdr_o(ack_hdr),
    .res_en_i(res_en), .res_slot_i(res_slot), .res_hdr_o(res_hdr), .res_pos_o(res_pos), .res_row_o(res_row),
    .drain_i(res_en), .drain_slot_i(res_slot), .end_i(slot_end), .end_slot_i(end_slot), .end_hdr_o(end_hdr),
    .lose_i(lose), .lose_slot_i(lose_slot), .ask_slot_i(ask_slot), .ask_lost_o(ask_lost),
    .clear_i(clear), .clear_slot_i(clear_slot),
    .slot_state_o(slot_state), .slots_used_o, .slots_done_o, .idle_o(slots_idle)
  );

  // ---- Commands: what is to be done with the lines that wait -----------------------------------------------------------------
  logic cmd_valid, cmd_ready, cmd_room, cmd_drop, cmd_wide, cmd_first, cmd_full, cmd_half;
  logic [6:0] cmd_lines;
  logic [11:0] cmd_row;
  logic [9:0] cmd_slot;
  logic [7:0] cmd_dtype, cmd_op;
  logic [$clog2(Commands):0] cmd_fill;
  fifo #(
    .Width(CmdW), .Depth(Commands)
  ) u_commands (
    .clk_i, .rst_ni,
    .wr_valid_i(verdict && verdict_lines != 7'd0), .wr_ready_o(cmd_room),
    .wr_data_i({!verdict_good, verdict_lines, verdict_row, verdict_wide, verdict_first, verdict_full,
                verdict_hdr.len[5:0] != 6'd0 && verdict_hdr.len[5:0] <= 6'd32, verdict_slot, verdict_hdr.dtype, verdict_hdr.op}),
    .rd_valid_o(cmd_valid), .rd_ready_i(cmd_ready),
    .rd_data_o({cmd_drop, cmd_lines, cmd_row, cmd_wide, cmd_first, cmd_full, cmd_half, cmd_slot, cmd_dtype, cmd_op}),
    .fill_o(cmd_fill)
  );
  // Up to 8 fragments are between the heads and here, and what waits here lasts until the next ones come.
  assign frag_room = cmd_fill < 6'd20;

  // ---- Issue: a beat a cycle, unless its accumulators are in the adder -------------------------------------------------------
  logic cur_q, cur_drop_q, cur_wide_q, cur_first_q, cur_full_q, cur_half_q, cur_last_q;
  logic [11:0] cur_row_q;
  logic [1:0] cur_banks_q, cur_reads_q;          // of the next beat: written, read
  logic [9:0] cur_slot_q;
  logic [7:0] cur_dtype_q, cur_op_q;
  logic last, work, hazard, gives_way, issue, cur_end;
  logic [1:0] banks, next_banks, acc_rd, drain_rd;
  logic [11:0] drain_row;
  logic drain_urgent, drain_ready;

  // The pipeline: stage 0 has the operands, AluLatency the result.
  logic [AluLatency:0] pipe_q, pipe_full_q;
  logic [2*AluLatency+1:0] pipe_banks_q;
  logic [12*AluLatency+11:0] pipe_row_q;

  assign last = cur_last_q;
  assign work = cur_q && !cur_drop_q;
  assign banks = cur_banks_q;
  assign next_banks = !cur_wide_q ? ~cur_banks_q : cur_half_q && cur_left_q == 7'd2 ? 2'b01 : 2'b11;
  always_comb begin
    hazard = 1'b0;
    for (int unsigned i = 0; i < AluLatency; i++) begin
      if (pipe_q[i] && pipe_row_q[12*i +: 12] == cur_row_q && (pipe_banks_q[2*i +: 2] & cur_reads_q) != 2'b00) hazard = 1'b1;
    end
  end
  assign gives_way = drain_urgent && (cur_reads_q & drain_rd) != 2'b00;
  assign issue = work && !hazard && !gives_way;
  assign cur_end = issue ? last : cur_q && cur_drop_q;
  assign cmd_ready = !cur_q || cur_end;
  assign line_take = issue;
  assign skip = cur_q && cur_drop_q;
  assign acc_rd = issue ? cur_reads_q : 2'b00;
  assign drain_ready = (acc_rd & drain_rd) == 2'b00;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      cur_q <= 1'b0;
      pipe_q <= '0;
    end else begin
      if (cmd_ready) cur_q <= cmd_valid;
      pipe_q <= {pipe_q[AluLatency-1:0], issue};
    end
  end

  always_ff @(posedge clk_i) begin
    if (cmd_ready && cmd_valid) begin
      {cur_drop_q, cur_left_q, cur_row_q, cur_wide_q} <= {cmd_drop, cmd_lines, cmd_row, cmd_wide};
      {cur_first_q, cur_full_q, cur_half_q, cur_slot_q, cur_dtype_q, cur_op_q} <=
        {cmd_first, cmd_full, cmd_half, cmd_slot, cmd_dtype, cmd_op};
      cur_last_q <= cmd_lines == 7'd1;
      cur_banks_q <= !cmd_wide || (cmd_half && cmd_lines == 7'd1) ? 2'b01 : 2'b11;
      cur_reads_q <= cmd_first ? 2'b00 : !cmd_wide || (cmd_half && cmd_lines == 7'd1) ? 2'b01 : 2'b11;
    end else if (issue) begin
      cur_left_q <= cur_left_q - 7'd1;
      cur_last_q <= cur_left_q == 7'd2;
      cur_banks_q <= next_banks;
      cur_reads_q <= cur_first_q ? 2'b00 : next_banks;
      if (cur_wide_q || cur_banks_q[1]) cur_row_q <= cur_row_q + 12'd1;
    end
    if (issue || pipe_q != '0) begin
      pipe_full_q <= {pipe_full_q[AluLatency-1:0], cur_full_q && last};
      pipe_banks_q <= {pipe_banks_q[2*AluLatency-1:0], banks};
      pipe_row_q <= {pipe_row_q[12*AluLatency-1:0], cur_row_q};
    end
  end

  // ---- Accumulators and adder ------------------------------------------------------------------------------------------------
  logic op_first_q, op_wide_q, op_bank_q, alu_valid, sram_busy;
  logic [7:0] op_dtype_q, op_op_q;
  logic [AluLatency:0] pipe_wide_q;
  logic [1023:0] rd_data, acc, res;
  logic [1:0] rd_bad, op_read_q, bad_read_q;
  logic [9:0] op_slot_q, bad_slot_q;

  always_ff @(posedge clk_i) begin
    if (issue) begin
      {op_first_q, op_wide_q, op_bank_q, op_dtype_q, op_op_q} <= {cur_first_q, cur_wide_q, cur_banks_q[1], cur_dtype_q, cur_op_q};
      {op_read_q, op_slot_q} <= {acc_rd, cur_slot_q};
    end
    if (pipe_q[0]) {bad_read_q, bad_slot_q} <= {op_read_q, op_slot_q};
    if (issue || pipe_q != '0) pipe_wide_q <= {pipe_wide_q[AluLatency-1:0], cur_wide_q};
  end
  assign lose = pipe_q[1] && (rd_bad & bad_read_q) != 2'b00;
  assign lose_slot = bad_slot_q;
  assign acc = {op_wide_q ? rd_data[1023:512] : 512'd0, !op_wide_q && op_bank_q ? rd_data[1023:512] : rd_data[511:0]};

  arp_alu u_alu (
    .clk_i, .rst_ni, .valid_i(pipe_q[0]), .dtype_i(op_dtype_q), .op_i(op_op_q), .first_i(op_first_q), .acc_i(acc), .in_i(line),
    .valid_o(alu_valid), .res_o(res)
  );

  arp_sram u_sram (
    .clk_i, .rst_ni,
    .rd_i(acc_rd | (drain_ready ? drain_rd : 2'b00)),
    .rd_row0_i(acc_rd[0] ? cur_row_q : drain_row), .rd_row1_i(acc_rd[1] ? cur_row_q : drain_row),
    .rd_data_o(rd_data), .rd_bad_o(rd_bad),
    .wr_i(pipe_q[AluLatency] ? pipe_banks_q[2*AluLatency +: 2] : 2'b00), .wr_row_i(pipe_row_q[12*AluLatency +: 12]),
    .wr_data_i({pipe_wide_q[AluLatency] ? res[1023:512] : res[511:0], res[511:0]}),
    .inject_valid_i, .inject_row_i, .inject_bit_i, .busy_o(sram_busy)
  );

  // ---- Results ---------------------------------------------------------------------------------------------------------------
  logic drain_stall, drain_idle;
  arp_drain u_drain (
    .clk_i, .rst_ni,
    .full_i(verdict && verdict_full), .full_slot_i(verdict_slot), .ready_i(pipe_q[AluLatency] && pipe_full_q[AluLatency]),
    .res_en_o(res_en), .res_slot_o(res_slot), .res_hdr_i(res_hdr), .res_pos_i(res_pos), .res_row_i(res_row),
    .ask_slot_o(ask_slot), .ask_lost_i(ask_lost), .end_o(slot_end), .end_slot_o(end_slot), .end_lost_o(end_lost),
    .ctx_en_o(res_ctx_en), .ctx_group_o(res_group), .ctx_i(res_ctx),
    .rd_o(drain_rd), .rd_row_o(drain_row), .rd_urgent_o(drain_urgent), .rd_ready_i(drain_ready), .rd_data_i(rd_data),
    .rd_bad_i(rd_bad),
    .wr_valid_o, .wr_ready_i, .wr_o, .wdata_valid_o, .wdata_ready_i, .wdata_o, .wr_done_i, .wr_done_op_i,
    .stall_o(drain_stall), .idle_o(drain_idle)
  );

  // ---- Events: of fragments, and of results, contexts and acknowledges, of which the last wait -------------------------------
  logic ended_q, ended_lost_q, evt_lost, evt_idle, bad_ack;
  arp_pkg::arp_evt_t evt_frag, evt_other;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) ended_q <= 1'b0;
    else ended_q <= slot_end;
  end
  always_ff @(posedge clk_i) begin
    if (slot_end) ended_lost_q <= end_lost;
  end
  assign bad_ack = ack_done && !ack_good;
  assign ack_stop = bad_ack && ended_q;

  always_comb begin
    evt_frag.kind = verdict_kind;
    evt_frag.hdr = verdict_hdr;
    evt_other = '0;
    if (ended_q) begin
      evt_other.kind = ended_lost_q ? arp_pkg::ArpParity : arp_pkg::ArpWritten;
      evt_other.hdr = end_hdr;
    end else if (cfg_refused) begin
      evt_other.kind = arp_pkg::ArpBadContext;
      evt_other.hdr.group = cfg_group_i;
    end else begin
      evt_other.kind = arp_pkg::ArpBadAck;
      {evt_other.hdr.group, evt_other.hdr.step, evt_other.hdr.chunk, evt_other.hdr.offset} = ack_hdr;
    end
  end

  arp_events u_events (
    .clk_i, .rst_ni,
    .a_valid_i(verdict && !verdict_good), .a_i(evt_frag), .b_valid_i(ended_q || cfg_refused || bad_ack), .b_i(evt_other),
    .evt_valid_o, .evt_ready_i, .evt_o, .lost_o(evt_lost), .idle_o(evt_idle)
  );

  // ---- Observation -----------------------------------------------------------------------------------------------------------
  logic refused;
  assign refused = verdict && !verdict_good;
  always_comb begin
    stat_o.frag = verdict && verdict_good;
    stat_o.beat = issue;
    stat_o.first = verdict && verdict_good && verdict_first;
    stat_o.full = verdict && verdict_full;
    stat_o.written = ended_q && !ended_lost_q;
    stat_o.acked = ack_new && ack_good;
    stat_o.parity = ended_q && ended_lost_q;
    stat_o.duplicate = refused && verdict_kind == arp_pkg::ArpDuplicate;
    stat_o.late = refused && verdict_kind == arp_pkg::ArpLate;
    stat_o.no_slot = refused && verdict_kind == arp_pkg::ArpNoSlot;
    stat_o.bad_group = refused && verdict_kind == arp_pkg::ArpBadGroup;
    stat_o.bad_type = refused && verdict_kind == arp_pkg::ArpBadType;
    stat_o.bad_offset = refused && verdict_kind == arp_pkg::ArpBadOffset;
    stat_o.bad_length = refused && verdict_kind == arp_pkg::ArpBadLength;
    stat_o.bad_rank = refused && verdict_kind == arp_pkg::ArpBadRank;
    stat_o.damaged = refused && verdict_kind == arp_pkg::ArpDamaged;
    stat_o.bad_ack = ack_new && !ack_good;
    stat_o.bad_context = cfg_refused;
    stat_o.evt_lost = evt_lost;
    stat_o.stall_hazard = work && hazard;
    stat_o.stall_read = work && !hazard && gives_way;
    stat_o.stall_drain = drain_stall;
  end

  assign quiet = !head_valid && check_idle && slots_idle && !cmd_valid && !cur_q && pipe_q == '0 && !sram_busy && drain_idle &&
                 !ended_q;
  assign idle_o = quiet && !hold && evt_idle;

`ifndef SYNTHESIS
  stream_checker #(.Width(80), .Input(1)) u_ack_check (
    .clk_i, .rst_ni, .valid_i(ack_valid_i), .ready_i(ack_ready_o), .data_i(ack_i)
  );
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      CommandFits : assert (!verdict || cmd_room);
      AdderInTime : assert (alu_valid == pipe_q[AluLatency]);
    end
  end
`endif
endmodule
