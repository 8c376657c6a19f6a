// SPDX-License-Identifier: Apache-2.0
module arp_fsm_cover (
  input logic clk_i,
  input logic rst_ni,
  input logic cfg_valid_i,
  input logic cfg_ready_o,
  input arp_pkg::arp_group_t cfg_i,
  input logic frag_valid_i,
  input logic frag_ready_o,
  input arp_pkg::arp_beat_t frag_i,
  input logic ack_valid_i,
  input logic ack_ready_o,
  input logic wr_valid_o,
  input logic wr_ready_i,
  input rnic_pkg::wr_req_t wr_o,
  input logic wdata_valid_o,
  input logic wdata_ready_i,
  input logic wr_done_i,
  input logic evt_valid_o,
  input logic evt_ready_i,
  input arp_pkg::arp_evt_t evt_o,
  input logic inject_valid_i,
  input arp_pkg::arp_stat_t stat_o,
  input logic [10:0] slots_used_o,
  input logic [10:0] slots_done_o,
  input logic idle_o
);
  // names(dtype): FP16 BF16 FP32 INT32 INT64 FP16_ACC32 BF16_ACC32
  for (genvar t = 0; t < 7; t++) begin : dtype
    // names(op): sum minimum maximum
    for (genvar o = 0; o < 3; o++) begin : op
      always_ff @(posedge clk_i) if (rst_ni && frag_valid_i && frag_ready_o && frag_i.sop && frag_i.hdr.dtype == 8'(t) && frag_i.hdr.op == 8'(o)) begin
        fragment_of_type : cover (1'b1);
      end
    end
  end
  // names(kind): written parity duplicate late no_slot bad_group bad_type bad_offset bad_length bad_rank damaged bad_ack bad_context
  for (genvar k = 0; k < 13; k++) begin : kind
    always_ff @(posedge clk_i) if (rst_ni && evt_valid_o && evt_ready_i) begin
      event_of_kind : cover (evt_o.kind == 4'(k));
    end
  end
  // names(size): 64 128 256 512 1024 2048 4096
  for (genvar n = 0; n < 7; n++) begin : size
    always_ff @(posedge clk_i) if (rst_ni && cfg_valid_i && cfg_ready_o) begin
      context_of_fragment_size : cover (cfg_i.log_frag == 4'(n + 6));
    end
  end

  always_ff @(posedge clk_i) if (rst_ni) begin
    if (frag_valid_i && frag_ready_o) begin
      fragment_of_one_beat : cover (frag_i.sop && frag_i.eop);
      short_last_beat : cover (frag_i.eop && frag_i.bytes < 7'd64);
      beat_in_and_beat_added : cover (stat_o.beat);
    end
    fragment_waits : cover (frag_valid_i && !frag_ready_o);
    acknowledge_waits : cover (ack_valid_i && !ack_ready_o);
    context_waits_for_work : cover (cfg_valid_i && !idle_o && slots_used_o != 11'd0);
    if (wr_valid_o && wr_ready_i) begin
      write_of_a_page : cover (wr_o.len == 13'd4096);
      first_of_two_writes : cover (!wr_o.op.last);
      write_of_odd_lines : cover (wr_o.len[5:0] != 6'd0);
    end
    write_waits : cover (wr_valid_o && !wr_ready_i);
    data_wait : cover (wdata_valid_o && !wdata_ready_i);
    event_waits : cover (evt_valid_o && !evt_ready_i);
    event_lost : cover (stat_o.evt_lost);
    beat_waits_for_the_adder : cover (stat_o.stall_hazard);
    beat_gives_way : cover (stat_o.stall_read);
    result_waits : cover (stat_o.stall_drain);
    first_and_last_in_one : cover (stat_o.first && stat_o.full);
    last_of_several : cover (!stat_o.first && stat_o.full);
    verdict_with_acknowledge : cover (stat_o.frag && stat_o.acked);
    verdict_with_result : cover (stat_o.frag && stat_o.written);
    acknowledge_with_result : cover (stat_o.acked && stat_o.written);
    all_slots_used : cover (slots_used_o == 11'd1024);
    all_slots_done : cover (slots_done_o == 11'd1024);
    idle_with_open_slots : cover (idle_o && slots_used_o != slots_done_o);
    write_reported : cover (wr_done_i);
    bit_injected : cover (inject_valid_i);
  end
endmodule

bind arp_fsm arp_fsm_cover u_cover (.*);
