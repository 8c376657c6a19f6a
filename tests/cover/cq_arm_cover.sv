// SPDX-License-Identifier: Apache-2.0
module cq_arm_cover (
  input logic clk_i,
  input logic rst_ni,
  input logic note_valid_i,
  input rnic_pkg::cq_note_t note_i,
  input logic arm_valid_i,
  input logic arm_ready_o,
  input rnic_pkg::doorbell_t arm_i,
  input logic clear_valid_i,
  input logic clear_ready_o,
  input logic fire_note,
  input logic fire_arm,
  input logic fire_time,
  input logic timed,
  input logic do_arm,
  input logic do_clear,
  input logic do_note,
  input logic expired,
  input logic arm_only,
  input logic q_re_i,
  input logic [9:0] q_cqn_i,
  input logic [1023:0] armed_q
);
  always_ff @(posedge clk_i) if (rst_ni) begin
    cqe_fires : cover (fire_note);
    cqe_fires_before_its_time : cover (fire_note && timed);
    arm_fires : cover (fire_arm);
    arm_fires_solicited : cover (fire_arm && arm_only);
    time_fires : cover (fire_time);
    arm_stops_the_time : cover (do_arm && timed);
    clear_stops_the_time : cover (do_clear && timed);
    arm_waits : cover (arm_valid_i && !arm_ready_o);
    clear_waits : cover (clear_valid_i && !clear_ready_o);
    time_waits_for_an_operation : cover (expired && (do_note || do_clear || do_arm));
    query_of_an_armed_cq : cover (q_re_i && armed_q[q_cqn_i]);
    error_cqe : cover (note_valid_i && note_i.solicited);
    solicited_does_not_weaken : cover (do_arm && arm_i.value[24] && !arm_only);
  end
endmodule

bind cq_arm cq_arm_cover u_cover (.*);
