// SPDX-License-Identifier: Apache-2.0
// What dma_master's points do not see: shifting and the bookkeeping of what was sent.
module dma_write_inner_cover (
  input logic clk_i,
  input logic rst_ni,
  input logic wr_valid_i,
  input logic sp_valid,
  input logic drop_q,
  input logic drop_take,
  input logic drop_done,
  input logic sf_ready,
  input logic sf_valid,
  input logic first_q,
  input logic push,
  input logic need_in,
  input logic tlp_end,
  input logic tlp_last,
  input logic treq_valid_q,
  input logic twd_valid_q,
  input logic treq_wr_ready_i,
  input logic twd_ready_i,
  input logic twr_sent_i,
  input logic wdata_valid_i,
  input logic [6:0] pos_q
);
  always_ff @(posedge clk_i) if (rst_ni) begin
    if (push) begin
      beat_from_input_alone : cover (pos_q == 7'd64 && need_in);
      beat_shifted : cover (pos_q != 7'd64 && need_in);
      beat_from_what_was_kept : cover (!need_in);
      last_beat_of_a_write : cover (tlp_end && tlp_last);
      last_beat_of_a_tlp : cover (tlp_end && !tlp_last);
      tlp_of_one_beat : cover (first_q && tlp_end);
    end
    if (sp_valid && first_q) begin
      waits_for_sent_list : cover (!sf_ready);
      waits_for_request_port : cover (sf_ready && treq_valid_q && !treq_wr_ready_i);
    end
    waits_for_data_port : cover (sp_valid && twd_valid_q && !twd_ready_i);
    if (drop_q) begin
      swallows_a_beat : cover (drop_take);
      swallowing_waits_for_data : cover (!drop_take && !wdata_valid_i && !drop_done);
      swallowed_reported_after_what_was_sent : cover (!drop_done && sf_valid);
    end
    sent_while_another_is_built : cover (twr_sent_i && sp_valid);
    next_write_waits : cover (wr_valid_i && sp_valid);
  end
endmodule

bind dma_write dma_write_inner_cover u_inner_cover (.*);
