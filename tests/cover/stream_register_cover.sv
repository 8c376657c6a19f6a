// SPDX-License-Identifier: Apache-2.0
module stream_register_cover (
  input logic clk_i,
  input logic rst_ni,
  input logic in_valid_i,
  input logic in_ready_o,
  input logic out_valid_o,
  input logic out_ready_i
);
  always_ff @(posedge clk_i) if (rst_ni) begin
    into_empty : cover (in_valid_i && !out_valid_o);
    full_rate : cover (in_valid_i && out_valid_o && out_ready_i);
    input_waits : cover (in_valid_i && !in_ready_o);
    output_waits : cover (out_valid_o && !out_ready_i);
    emptied : cover (!in_valid_i && out_valid_o && out_ready_i);
    ready_while_empty : cover (!out_valid_o && out_ready_i);
  end
endmodule

bind stream_register stream_register_cover u_cover (.*);
