// SPDX-License-Identifier: Apache-2.0
module tx_gather_cover (
  input logic clk_i,
  input logic rst_ni,
  input logic pay_valid_i,
  input logic pay_ready_o,
  input rnic_pkg::payload_t pay_i,
  input logic gather_valid_o,
  input logic gather_ready_i,
  input rnic_pkg::payload_t gather_o,
  input logic idle_o
);
  logic in, out;
  assign in = pay_valid_i && pay_ready_o;
  assign out = gather_valid_o && gather_ready_i;

  // names(pieces): 0 1 2 3 4
  logic [2:0] pieces_q;                // of this packet that have come in
  logic inside_q;                      // of a read
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      pieces_q <= 3'd0;
      inside_q <= 1'b0;
    end else if (in) begin
      inside_q <= !pay_i.last;
      if (pay_i.last) pieces_q <= pay_i.more ? pieces_q + 3'd1 : 3'd0;
    end
  end
  for (genvar n = 1; n < 5; n++) begin : pieces
    always_ff @(posedge clk_i) if (rst_ni && in && pay_i.last) begin
      packet_of_pieces : cover (!pay_i.more && pieces_q == 3'(n - 1));
      failed_piece : cover (pay_i.status != rnic_pkg::DmaOk && pieces_q == 3'(n - 1));
    end
  end

  always_ff @(posedge clk_i) if (rst_ni) begin
    if (in) begin
      one_byte : cover (pay_i.bytes == 7'd1);
      piece_of_one_beat : cover (pay_i.last && !inside_q);
      piece_of_many_beats : cover (pay_i.last && inside_q);
      in_and_out : cover (out);
    end
    if (out) begin
      last_beat_full : cover (gather_o.last && gather_o.bytes == 7'd64);
      last_beat_of_one_byte : cover (gather_o.last && gather_o.bytes == 7'd1 && gather_o.status == rnic_pkg::DmaOk);
      error_beat : cover (gather_o.last && gather_o.status != rnic_pkg::DmaOk);
    end
    input_waits : cover (pay_valid_i && !pay_ready_o);
    output_waits : cover (gather_valid_o && !gather_ready_i);
    nothing_offered_while_kept : cover (!gather_valid_o && !idle_o);
  end
endmodule

bind tx_gather tx_gather_cover u_cover (.*);
