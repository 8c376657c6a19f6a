// SPDX-License-Identifier: Apache-2.0
module tx_qp_state_cover (
  input logic clk_i,
  input logic rst_ni,
  input logic re_i,
  input logic [9:0] rd_qpn_i,
  input logic rd_valid_o,
  input logic rd_err_o,
  input logic we_i,
  input logic [9:0] wr_qpn_i,
  input logic err_seg_i,
  input logic [9:0] err_seg_qpn_i,
  input logic err_pkt_i,
  input logic [9:0] err_pkt_qpn_i,
  input logic err_cmd_i,
  input logic [9:0] err_cmd_qpn_i,
  input logic q_re_i,
  input logic [9:0] q_qpn_i,
  input logic clear_i,
  input logic [9:0] clear_qpn_i
);
  logic read_q;                        // the answer is on its port
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) read_q <= 1'b0;
    else read_q <= re_i;
  end

  // names(err): good error
  // names(valid): unknown known
  for (genvar v = 0; v < 2; v++) begin : valid
    for (genvar e = 0; e < 2; e++) begin : err
      always_ff @(posedge clk_i) if (rst_ni && read_q) begin
        read : cover (rd_valid_o == v[0] && rd_err_o == e[0]);
      end
    end
  end

  always_ff @(posedge clk_i) if (rst_ni) begin
    if (re_i) begin
      reads_back_to_back : cover (read_q);
      read_with_write : cover (we_i);
      read_with_error_of_it : cover ((err_seg_i && err_seg_qpn_i == rd_qpn_i) || (err_pkt_i && err_pkt_qpn_i == rd_qpn_i));
      read_with_clear_of_it : cover (clear_i && clear_qpn_i == rd_qpn_i);
    end
    query : cover (q_re_i);
    query_with_write_of_it : cover (q_re_i && we_i && q_qpn_i == wr_qpn_i);
    error_from_segmenter : cover (err_seg_i);
    error_from_packetizer : cover (err_pkt_i);
    error_by_command : cover (err_cmd_i);
    errors_of_two_sides : cover (err_seg_i && err_pkt_i);
    write_with_error_of_it : cover (we_i && err_seg_i && err_seg_qpn_i == wr_qpn_i);
    if (clear_i) begin
      clear : cover (1'b1);
      clear_beats_write : cover (we_i && wr_qpn_i == clear_qpn_i);
      clear_beats_segmenter : cover (err_seg_i && err_seg_qpn_i == clear_qpn_i);
      clear_beats_packetizer : cover (err_pkt_i && err_pkt_qpn_i == clear_qpn_i);
    end
  end
endmodule

bind tx_qp_state tx_qp_state_cover u_cover (.*);
