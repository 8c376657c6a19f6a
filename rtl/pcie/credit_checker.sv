// SPDX-License-Identifier: Apache-2.0
// Properties of credit_counter: counts what is left without a modulus, from the steps of the limit.
module credit_checker #(
  parameter int unsigned Width = 8
) (
  input logic clk_i,
  input logic rst_ni,
  input logic inf_i,
  input logic [Width-1:0] limit_i,
  input logic [Width-1:0] need_i,
  input logic ok_i,
  input logic take_i,
  input logic [Width-1:0] used_i
);
  localparam logic [Width+1:0] Half = 1 << (Width - 1);

  logic [Width-1:0] limit_q;
  logic [Width+1:0] need, left_q, left;          // credits granted and not used
  assign need = {2'b0, need_i};
  assign left = left_q + {2'b0, limit_i - limit_q};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      limit_q <= '0;
      left_q <= '0;
    end else if (!inf_i && (take_i || limit_i != limit_q)) begin
      limit_q <= limit_i;
      left_q <= left - (take_i ? need : '0);
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni && take_i) begin
      TakenWhenOk : assume (ok_i);
    end
    if (rst_ni && !inf_i && (take_i || limit_i != limit_q)) begin
      LimitNear : assume (left <= Half);
    end
    if (rst_ni && take_i && !inf_i) begin
      NeverBeyond : assert (need <= left);
    end
    if (rst_ni && !ok_i) begin
      NeverBlocked : assert (!inf_i && (need > left || need >= Half));
    end
`ifdef FORMAL
    if (rst_ni) begin
      InfiniteStays : assume (inf_i == infinite);
      NeedSmall : assume (need < Half);
      // What holds besides, for the induction
      Exact : assert (infinite || (left_q <= Half && limit_q - used_i == left_q[Width-1:0]));
      Exhausted : cover (!ok_i && left == '0 && limit_i != '0);
      LimitWraps : cover (take_i && limit_i < used_i);
      UsedWraps : cover (take_i && used_i + need_i < used_i);
      Infinite : cover (take_i && inf_i && limit_i == '0);
    end
`endif
  end
`ifdef FORMAL
  (* anyconst *) logic infinite;
`endif
endmodule
