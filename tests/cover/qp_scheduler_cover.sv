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
  input logic [9:0] release_qpn_i,
  input logic release_more_i,
  input logic stat_coalesced_o,
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
      ring_at_its_release : cover (release_i && !release_more_i && release_qpn_i == ring_qpn_i);
      ring_at_its_release_with_more : cover (release_i && release_more_i && release_qpn_i == ring_qpn_i);
    end
    grant_waits : cover (grant_valid_o && !grant_ready_i);
    nothing_to_grant : cover (!grant_valid_o && grant_ready_i);
    release_with_more : cover (release_i && release_more_i);
    release_without_more : cover (release_i && !release_more_i);
  end
endmodule

bind qp_scheduler qp_scheduler_cover u_cover (.*);
