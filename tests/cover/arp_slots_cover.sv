// SPDX-License-Identifier: Apache-2.0
module arp_slots_cover (
  input logic clk_i,
  input logic rst_ni,
  input logic verdict_o,
  input logic verdict_good_o,
  input logic [3:0] verdict_kind_o,
  input logic ack_done_o,
  input logic ack_new_o,
  input logic ack_good_o,
  input logic lose_i,
  input logic end_i,
  input logic clear_i,
  input logic [2:0] slot_state_o
);
  // names(state): free open full drain done
  for (genvar s = 0; s < 5; s++) begin : state
    logic in_q;                        // the fragment whose verdict comes now met this state
    always_ff @(posedge clk_i) in_q <= slot_state_o == 3'(s);
    always_ff @(posedge clk_i) if (rst_ni && verdict_o && in_q) begin
      late : cover (!verdict_good_o && verdict_kind_o == arp_pkg::ArpLate);
    end
    if (s < 2) begin : room
      always_ff @(posedge clk_i) if (rst_ni && verdict_o && in_q) begin
        counts : cover (verdict_good_o);
      end
    end
    if (s > 0) begin : taken
      always_ff @(posedge clk_i) if (rst_ni && verdict_o && in_q) begin
        duplicate : cover (!verdict_good_o && verdict_kind_o == arp_pkg::ArpDuplicate);
        no_slot : cover (!verdict_good_o && verdict_kind_o == arp_pkg::ArpNoSlot);
      end
    end
  end
  always_ff @(posedge clk_i) if (rst_ni) begin
    freed : cover (ack_new_o && ack_good_o);
    acknowledge_refused : cover (ack_new_o && !ack_good_o);
    refusal_waits : cover (ack_done_o && !ack_new_o);
    lost : cover (lose_i);
    ended : cover (end_i);
    cleared : cover (clear_i);
  end
endmodule

bind arp_slots arp_slots_cover u_cover (.*);
