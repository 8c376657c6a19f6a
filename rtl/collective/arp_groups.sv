// SPDX-License-Identifier: Apache-2.0
// Contexts of the AllReduce groups: checks a new one, waits until nothing is in flight, has the states of the group's old
// and new slots cleared, one a cycle, and puts it in place; only then is it taken (cfg_ready_o). A context that is
// refused, or not valid, leaves the group unknown.
//
// Three readers: the context of a group number comes after the edge; known_*_o says whether it means anything.
module arp_groups (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic cfg_valid_i,
  output logic cfg_ready_o,
  input  logic [15:0] cfg_group_i,
  input  arp_pkg::arp_group_t cfg_i,
  output logic hold_o,                           // a context waits: no new fragments and acknowledges
  input  logic quiet_i,                          // none of them is in flight, nor a result
  output logic clear_o,                          // forget this slot
  output logic [9:0] clear_slot_o,
  output logic refused_o,                        // with cfg_ready_o
  // Readers: fragments, acknowledges, results
  input  logic frag_en_i,
  input  logic [15:0] frag_group_i,
  output logic frag_known_o,
  output arp_pkg::arp_group_t frag_ctx_o,
  input  logic ack_en_i,
  input  logic [15:0] ack_group_i,
  output logic ack_known_o,
  output arp_pkg::arp_group_t ack_ctx_o,
  input  logic res_en_i,
  input  logic [5:0] res_group_i,
  output arp_pkg::arp_group_t res_ctx_o,
  output logic [2:0] cfg_state_o                 // for waveforms
);
  localparam int unsigned NumGroups = arp_pkg::NumGroups;
  localparam int unsigned GroupW = arp_pkg::GroupW;
  localparam int unsigned CtxW = 214;            // arp_group_t

  typedef enum logic [2:0] {CfgIdle, CfgWait, CfgOld, CfgNew, CfgDone} cfg_state_e;
  cfg_state_e state_q;

  logic [NumGroups-1:0] valid_q;
  logic [CtxW-1:0] mem [NumGroups];

  // ---- Checks -------------------------------------------------------------------------------------------------------------
  logic acc32, in_table, bad_kind, bad_size, bad_room, bad_vector, bad_q, in_table_q, live_q;
  logic [3:0] log_lines;
  logic [2:0] log_rows;
  logic [10:0] slots;
  logic [11:0] slot_end;
  logic [17:0] rows;
  logic [18:0] row_end;
  logic [32:0] bytes;
  logic [64:0] last;
  assign in_table = cfg_group_i[15:GroupW] == '0;
  assign acc32 = cfg_i.dtype == arp_pkg::TypeFp16Acc32 || cfg_i.dtype == arp_pkg::TypeBf16Acc32;
  assign bad_kind = cfg_i.dtype > arp_pkg::TypeBf16Acc32 || cfg_i.op > arp_pkg::OpMax || (cfg_i.wide_out && !acc32) ||
                    cfg_i.members == 64'd0;
  assign bad_size = cfg_i.log_frag < 4'd6 || cfg_i.log_frag > 4'd12 || cfg_i.log_chunk < {2'b0, cfg_i.log_frag} ||
                    cfg_i.log_chunk > 6'd32 || cfg_i.log_slots > 4'd10;
  assign slots = 11'd1 << cfg_i.log_slots;
  assign slot_end = {2'b0, cfg_i.slot_base} + {1'b0, slots};
  assign log_lines = cfg_i.log_frag - 4'd6;
  assign log_rows = acc32 || log_lines == 4'd0 ? log_lines[2:0] : log_lines[2:0] - 3'd1;
  assign rows = {7'b0, slots} << log_rows;
  assign row_end = {7'b0, cfg_i.row_base} + {1'b0, rows};
  assign bad_room = slot_end > 12'd1024 || row_end > 19'd4096;
  assign bytes = cfg_i.wide_out ? {cfg_i.length, 1'b0} : {1'b0, cfg_i.length};
  assign last = {1'b0, cfg_i.dst} + {32'b0, bytes - 33'd1};
  assign bad_vector = cfg_i.length == 32'd0 || cfg_i.length[0] || last[64] ||
                      ((cfg_i.dtype == arp_pkg::TypeFp32 || cfg_i.dtype == arp_pkg::TypeInt32) && cfg_i.length[1]) ||
                      (cfg_i.dtype == arp_pkg::TypeInt64 && cfg_i.length[2:1] != 2'd0);

  // ---- Steps ----------------------------------------------------------------------------------------------------------------
  logic [9:0] at_q;                              // slot to be cleared
  logic [10:0] left_q;
  arp_pkg::arp_group_t old_q;
  logic old_valid_q;
  assign hold_o = cfg_valid_i || state_q != CfgIdle;
  assign cfg_ready_o = state_q == CfgDone;
  assign refused_o = cfg_ready_o && bad_q;
  assign clear_o = (state_q == CfgOld || state_q == CfgNew) && left_q != 11'd0;
  assign clear_slot_o = at_q;
  assign cfg_state_o = state_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= CfgIdle;
      valid_q <= '0;
    end else begin
      unique case (state_q)
        CfgIdle: if (cfg_valid_i) state_q <= CfgWait;
        CfgWait: if (quiet_i) state_q <= CfgOld;
        CfgOld: if (left_q == 11'd0) state_q <= CfgNew;
        CfgNew: if (left_q == 11'd0) state_q <= CfgDone;
        CfgDone: begin
          state_q <= CfgIdle;
          if (in_table_q) valid_q[cfg_group_i[5:0]] <= live_q;
        end
        default: state_q <= CfgIdle;
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (state_q == CfgIdle && cfg_valid_i) begin
      old_q <= mem[cfg_group_i[5:0]];
      old_valid_q <= in_table && valid_q[cfg_group_i[5:0]];
      in_table_q <= in_table;
      bad_q <= !in_table || (cfg_i.valid && (bad_kind || bad_size || bad_room || bad_vector));
      live_q <= in_table && cfg_i.valid && !(bad_kind || bad_size || bad_room || bad_vector);
    end
    if (state_q == CfgWait) begin
      at_q <= old_q.slot_base;
      left_q <= old_valid_q ? 11'd1 << old_q.log_slots : 11'd0;
    end else if (clear_o) begin
      at_q <= at_q + 10'd1;
      left_q <= left_q - 11'd1;
    end else if (state_q == CfgOld) begin
      at_q <= cfg_i.slot_base;
      left_q <= live_q ? slots : 11'd0;
    end
    if (state_q == CfgDone && live_q) mem[cfg_group_i[5:0]] <= cfg_i;
  end

  // ---- Readers ---------------------------------------------------------------------------------------------------------------
  always_ff @(posedge clk_i) begin
    if (frag_en_i) begin
      frag_ctx_o <= mem[frag_group_i[5:0]];
      frag_known_o <= frag_group_i[15:GroupW] == '0 && valid_q[frag_group_i[5:0]];
    end
    if (ack_en_i) begin
      ack_ctx_o <= mem[ack_group_i[5:0]];
      ack_known_o <= ack_group_i[15:GroupW] == '0 && valid_q[ack_group_i[5:0]];
    end
    if (res_en_i) res_ctx_o <= mem[res_group_i];
  end

`ifndef SYNTHESIS
  stream_checker #(.Width(16 + CtxW), .Input(1)) u_cfg_check (
    .clk_i, .rst_ni, .valid_i(cfg_valid_i), .ready_i(cfg_ready_o), .data_i({cfg_group_i, cfg_i})
  );
`endif
endmodule
