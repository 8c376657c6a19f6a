// SPDX-License-Identifier: Apache-2.0
module icrc_cover (
  input logic clk_i,
  input logic rst_ni,
  input logic valid_i,
  input logic sop_i,
  input logic eop_i,
  input logic [3:0] zero_dws_i,
  input logic [511:0] data_i,
  input logic valid_o,
  input logic idle_o
);
  logic open_q, ended_q;               // inside a frame; a frame's last beat at the edge before
  logic [1:0] beats_q;                 // of the frame so far, at most 3
  logic [1:0] kind_q;                  // of the latest frame
  logic tagged_frame;
  logic [1:0] kind;
  assign tagged_frame = data_i[111:96] == 16'h0081;
  assign kind = {tagged_frame ? data_i[151:148] == 4'd6 : data_i[119:116] == 4'd6, tagged_frame};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      open_q <= 1'b0;
      ended_q <= 1'b0;
      beats_q <= 2'd0;
      kind_q <= 2'd0;
    end else begin
      ended_q <= valid_i && eop_i;
      if (valid_i) begin
        open_q <= !eop_i;
        if (sop_i) kind_q <= kind;
        beats_q <= sop_i ? 2'd1 : beats_q == 2'd3 ? 2'd3 : beats_q + 2'd1;
      end
    end
  end

  for (genvar z = 0; z < 16; z++) begin : zero_dws
    always_ff @(posedge clk_i) if (rst_ni && valid_i && eop_i) begin
      fill_taken_back : cover (zero_dws_i == 4'(z));
    end
  end

  // names(network): IPv4 IPv4_tagged IPv6 IPv6_tagged
  for (genvar n = 0; n < 4; n++) begin : network
    always_ff @(posedge clk_i) if (rst_ni && valid_i && sop_i) begin
      first_beat : cover (kind == 2'(n));
      kind_behind_another : cover (kind == 2'(n) && kind != kind_q && ended_q);
    end
  end

  always_ff @(posedge clk_i) if (rst_ni) begin
    if (valid_i) begin
      frame_of_one_beat : cover (sop_i && eop_i);
      frame_of_two_beats : cover (!sop_i && eop_i && beats_q == 2'd1);
      frame_of_more_beats : cover (!sop_i && eop_i && beats_q > 2'd1);
      frames_back_to_back : cover (sop_i && ended_q);
    end
    gap_inside_frame : cover (open_q && !valid_i);
    idle_inside_frame : cover (open_q && idle_o);
    answer_while_busy : cover (valid_o && valid_i);
  end
endmodule

bind icrc icrc_cover u_cover (.*);
