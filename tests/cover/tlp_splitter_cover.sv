// SPDX-License-Identifier: Apache-2.0
module tlp_splitter_cover (
  input logic clk_i,
  input logic rst_ni,
  input logic req_valid_i,
  input logic req_ready_o,
  input logic [2:0] req_size_i,
  input logic [63:0] req_addr_i,
  input logic [12:0] req_len_i,
  input logic valid_o,
  input logic ready_i,
  input logic [63:0] addr_o,
  input logic [12:0] len_o,
  input logic last_o
);
  logic load, piece;
  logic first_q;                       // the piece is its request's first
  logic [2:0] size_q;
  logic [12:0] size;
  assign load = req_valid_i && req_ready_o;
  assign piece = valid_o && ready_i;
  assign size = 13'd128 << (size_q > 3'd5 ? 3'd5 : size_q);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) first_q <= 1'b1;
    else if (load) first_q <= 1'b1;
    else if (piece) first_q <= 1'b0;
  end
  always_ff @(posedge clk_i) if (load) size_q <= req_size_i;

  // names(size_): 128 256 512 1024 2048 4096 code6 code7
  for (genvar s = 0; s < 8; s++) begin : size_
    always_ff @(posedge clk_i) if (rst_ni && piece && size_q == 3'(s)) begin
      only : cover (first_q && last_o);
      first : cover (first_q && !last_o);
      last : cover (!first_q && last_o);
      of_full_size : cover (len_o == size);
    end
    if (s < 5) begin : smaller
      always_ff @(posedge clk_i) if (rst_ni && piece && size_q == 3'(s)) begin
        middle : cover (!first_q && !last_o);
      end
    end
  end

  always_ff @(posedge clk_i) if (rst_ni) begin
    if (load) begin
      request_into_empty : cover (!valid_o);
      request_follows_at_once : cover (valid_o);
      largest_request : cover (req_len_i == 13'd4096);
      smallest_request : cover (req_len_i == 13'd1);
      starts_in_last_byte_of_a_page : cover (req_addr_i[11:0] == 12'hFFF);
    end
    request_waits : cover (req_valid_i && !req_ready_o);
    piece_waits : cover (valid_o && !ready_i);
    if (piece) begin
      ends_at_page_end : cover ({1'b0, addr_o[11:0]} + len_o == 13'd4096);
      next_page : cover (!first_q && addr_o[11:0] == 12'd0);
      passes_4_gib : cover (!first_q && addr_o[31:0] == 32'd0);
    end
  end
endmodule

bind tlp_splitter tlp_splitter_cover u_cover (.*);
