// SPDX-License-Identifier: Apache-2.0
module tx_gather_inner_cover (
  input logic clk_i,
  input logic rst_ni,
  input logic pay_valid_i,
  input rnic_pkg::payload_t pay_i,
  input logic gather_ready_i,
  input logic straight,
  input logic mid_q,
  input logic rest_q,
  input logic single_q,
  input logic [2:0] status_q,
  input logic [6:0] fill_q,
  input logic [7:0] total,
  input logic empty,
  input logic room,
  input logic take,
  input logic ends,
  input logic spills,
  input logic lost,
  input logic put
);
  // names(state): first inside
  // names(sum): below at above
  for (genvar m = 0; m < 2; m++) begin : state
    for (genvar t = 0; t < 3; t++) begin : sum
      if (m == 1 || t < 2) begin : possible
        always_ff @(posedge clk_i) if (rst_ni && take) begin
          beat_and_line : cover (mid_q == (m == 1) && (t == 0 ? total < 8'd64 : t == 1 ? total == 8'd64 : total > 8'd64));
        end
      end
    end
  end

  always_ff @(posedge clk_i) if (rst_ni) begin
    if (pay_valid_i) begin
      single_read_passes : cover (straight && gather_ready_i);
      single_read_waits_outside : cover (straight && !gather_ready_i);
      single_read_kept : cover (take && !pay_i.more && !mid_q);
    end
    if (take) begin
      line_full_before_the_beat : cover (mid_q && fill_q == 7'd64);
      packet_of_one_beat_kept : cover (ends && !mid_q);
      last_beat_spills : cover (ends && spills);
      next_packet_with_the_rest : cover (rest_q);
      piece_of_a_lost_packet : cover (mid_q && lost);
    end
    if (rest_q) begin
      rest_alone : cover (!take && room);
      rest_waits_for_room : cover (!room);
      rest_of_a_lost_packet : cover (put && lost);
      rest_of_a_single_read : cover (put && single_q);
      rest_of_a_failed_single_read : cover (put && single_q && status_q != rnic_pkg::DmaOk);
    end
    line_of_a_single_read_shown_early : cover (put && !rest_q && single_q);
    full : cover (!room);
    emptied_while_a_packet_comes : cover (empty && mid_q);
  end
endmodule

bind tx_gather tx_gather_inner_cover u_inner_cover (.*);
