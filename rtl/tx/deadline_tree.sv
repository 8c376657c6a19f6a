// SPDX-License-Identifier: Apache-2.0
// Smallest of 2^LogN keys, each of which can be set or taken away at any time: a tournament tree with a memory for each
// level. A change enters at its leaf and climbs one level a cycle, meeting its neighbour's winner on each; changes
// follow each other at one a cycle, and a later one sees all that the earlier ones left.
//
// A change at edge n is in the root after edge n + LogN. busy_o is high until then. Of equal keys the lower index wins.
module deadline_tree #(
  parameter int unsigned LogN = 10,
  parameter int unsigned KeyW = 48
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic set_i,
  input  logic [LogN-1:0] set_idx_i,
  input  logic set_valid_i,            // 0: no key any more
  input  logic [KeyW-1:0] set_key_i,
  output logic root_valid_o,
  output logic [LogN-1:0] root_idx_o,
  output logic [KeyW-1:0] root_key_o,
  output logic busy_o
);
  localparam int unsigned NodeW = LogN + KeyW;

  // Entry k is a node of level k, with 2^k nodes, on its way up; entry 0 stays as the root.
  logic [LogN:1] move_q;
  logic [LogN:0] valid_q;
  logic [(LogN+1)*LogN-1:0] pos_q;     // which node of its level
  logic [(LogN+1)*NodeW-1:0] node_q;   // index of the leaf, key

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      move_q <= '0;
    end else if (set_i || move_q != '0) begin
      move_q <= {set_i, move_q[LogN:2]};
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q[LogN] <= 1'b0;
    else if (set_i) valid_q[LogN] <= set_valid_i;
  end

  always_ff @(posedge clk_i) begin
    if (set_i) begin
      pos_q[LogN*LogN +: LogN] <= set_idx_i;
      node_q[LogN*NodeW +: NodeW] <= {set_idx_i, set_key_i};
    end
  end

  for (genvar k = 1; k <= LogN; k++) begin : gen_level
    logic [NodeW-1:0] mem [2**k];
    logic [2**k-1:0] mem_valid_q;
    logic [k-1:0] pos, other;
    logic other_valid, wins;
    logic [NodeW-1:0] node, other_node;

    assign pos = pos_q[k*LogN +: k];
    assign other = pos ^ {{(k-1){1'b0}}, 1'b1};
    assign node = node_q[k*NodeW +: NodeW];
    assign other_node = mem[other];
    assign other_valid = mem_valid_q[other];
    // Of two keys the left one wins when they are equal.
    assign wins = valid_q[k] && (!other_valid ||
                  (pos[0] ? node[KeyW-1:0] < other_node[KeyW-1:0] : node[KeyW-1:0] <= other_node[KeyW-1:0]));

    always_ff @(posedge clk_i) begin
      if (move_q[k]) mem[pos] <= node;
    end

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) mem_valid_q <= '0;
      else if (move_q[k]) mem_valid_q[pos] <= valid_q[k];
    end

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) valid_q[k-1] <= 1'b0;
      else if (move_q[k]) valid_q[k-1] <= valid_q[k] || other_valid;
    end

    always_ff @(posedge clk_i) begin
      if (move_q[k]) begin
        pos_q[(k-1)*LogN +: LogN] <= pos_q[k*LogN +: LogN] >> 1;
        node_q[(k-1)*NodeW +: NodeW] <= wins ? node : other_node;
      end
    end
  end

  assign root_valid_o = valid_q[0];
  assign {root_idx_o, root_key_o} = node_q[NodeW-1:0];
  assign busy_o = move_q != '0;
endmodule
