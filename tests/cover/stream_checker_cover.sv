// SPDX-License-Identifier: Apache-2.0
// What the streams that have a checker have shown it.
module stream_checker_cover (
  input logic clk_i,
  input logic rst_ni,
  input logic valid_i,
  input logic ready_i
);
  logic waited_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) waited_q <= 1'b0;
    else waited_q <= valid_i && !ready_i;
  end

  always_ff @(posedge clk_i) if (rst_ni) begin
    taken_at_once : cover (valid_i && ready_i && !waited_q);
    taken_after_wait : cover (valid_i && ready_i && waited_q);
    waits_again : cover (valid_i && !ready_i && waited_q);
    ready_without_valid : cover (!valid_i && ready_i);
  end
endmodule

bind stream_checker stream_checker_cover u_cover (.*);
