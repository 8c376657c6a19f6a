// SPDX-License-Identifier: Apache-2.0
module qp_scheduler_cover (
  input logic clk_i,
  input logic rst_ni,
  input logic ring_i,
  input logic [9:0] ring_qpn_i,
  input logic grant_valid_o,
  input logic grant_ready_i,
  input logic [9:0] grant_qpn_o,
  input logic release_i,
  input rnic_pkg::turn_end_t turn_end_i,
  input logic others_o,
  input logic hungry_i,
  input logic clear_i,
  input logic [9:0] clear_qpn_i,
  input logic rate_valid_i,
  input logic stat_coalesced_o,
  input logic timer_valid_o,
  input logic idle_o
);
  logic grant;
  assign grant = grant_valid_o && grant_ready_i;

  // What meets at one edge: bit 0 ring, 1 grant, 2 release.
  // names(events): none ring grant ring+grant release ring+release grant+release ring+grant+release
  for (genvar e = 1; e < 8; e++) begin : events
    always_ff @(posedge clk_i) if (rst_ni) begin
      meet : cover ({release_i, grant, ring_i} == 3'(e));
    end
  end

  always_ff @(posedge clk_i) if (rst_ni) begin
    if (ring_i) begin
      ring_of_idle_scheduler : cover (idle_o);
      ring_coalesced : cover (stat_coalesced_o);
      ring_of_offered_qp : cover (grant_valid_o && !grant_ready_i && grant_qpn_o == ring_qpn_i);
      ring_at_its_grant : cover (grant && grant_qpn_o == ring_qpn_i);
      ring_at_its_release : cover (release_i && !turn_end_i.more && turn_end_i.qpn == ring_qpn_i);
      ring_at_its_release_with_more : cover (release_i && turn_end_i.more && turn_end_i.qpn == ring_qpn_i);
    end
    grant_waits : cover (grant_valid_o && !grant_ready_i);
    nothing_to_grant : cover (!grant_valid_o && grant_ready_i);
    if (release_i) begin
      release_with_more : cover (turn_end_i.more);
      release_without_more : cover (!turn_end_i.more);
      release_of_nothing_sent : cover (turn_end_i.bytes == 14'd0);
      release_of_weight_zero : cover (turn_end_i.weight == 8'd0);
      release_with_rate : cover (turn_end_i.rate_en);
      release_at_its_clear : cover (clear_i && clear_qpn_i == turn_end_i.qpn);
    end
    others_wait_for_the_link : cover (others_o && !grant_valid_o);
    others_but_the_link_is_hungry : cover (!others_o && hungry_i && !idle_o);
    only_throttled_wait : cover (idle_o && timer_valid_o);
    timer_beside_work : cover (!idle_o && timer_valid_o);
    tokens : cover (rate_valid_i);
  end
endmodule

bind qp_scheduler qp_scheduler_cover u_cover (.*);
