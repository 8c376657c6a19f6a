// SPDX-License-Identifier: Apache-2.0
module tx_packetizer_cover (
  input logic clk_i,
  input logic rst_ni,
  input logic desc_valid_i,
  input logic desc_ready_o,
  input rnic_pkg::pkt_desc_t desc_i,
  input logic pay_valid_i,
  input logic pay_ready_o,
  input rnic_pkg::payload_t pay_i,
  input logic mac_valid_o,
  input logic mac_ready_i,
  input rnic_pkg::mac_beat_t mac_o,
  input logic [2:0] mac_port_o,
  input logic cqe_valid_o,
  input logic cqe_ready_i,
  input rnic_pkg::cqe_req_t cqe_o,
  input logic err_o,
  input logic clear_i,
  input logic [9:0] clear_qpn_i,
  input logic idle_o
);
  logic desc, frame, mac;
  logic [12:0] cov_end;                // bytes that the ICRC covers, Ethernet header counted
  logic mid_q, ended_q;                // inside a frame; a frame ended at the edge before
  assign desc = desc_valid_i && desc_ready_o;
  assign frame = desc && desc_i.err == 8'd0;
  assign mac = mac_valid_o && mac_ready_i;
  assign cov_end = 13'd54 + (desc_i.has_reth ? 13'd16 : 13'd0) + (desc_i.has_imm ? 13'd4 : 13'd0) +
                   {desc_i.payload_len[12:2] + {10'd0, |desc_i.payload_len[1:0]}, 2'd0};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      mid_q <= 1'b0;
      ended_q <= 1'b0;
    end else begin
      ended_q <= mac && mac_o.eop;
      if (mac) mid_q <= !mac_o.eop;
    end
  end

  // ---- Header kind x payload ----------------------------------------------------------------------------------------
  // names(header): 54 58 70 74
  // names(payload): 0 1-3 4-63 64 65..MTU-1 256 512 1024 2048 4096
  logic [3:0] pay_class;
  always_comb begin
    case (desc_i.payload_len)
      13'd0: pay_class = 4'd0;
      13'd64: pay_class = 4'd3;
      13'd256: pay_class = 4'd5;
      13'd512: pay_class = 4'd6;
      13'd1024: pay_class = 4'd7;
      13'd2048: pay_class = 4'd8;
      13'd4096: pay_class = 4'd9;
      default: pay_class = desc_i.payload_len < 13'd4 ? 4'd1 : desc_i.payload_len < 13'd64 ? 4'd2 : 4'd4;
    endcase
  end
  for (genvar h = 0; h < 4; h++) begin : header
    for (genvar p = 0; p < 10; p++) begin : payload
      always_ff @(posedge clk_i) if (rst_ni && frame) begin
        packet : cover ({desc_i.has_reth, desc_i.has_imm} == 2'(h) && pay_class == 4'(p));
      end
    end
    for (genvar b = 0; b < 4; b++) begin : pad
      always_ff @(posedge clk_i) if (rst_ni && frame && desc_i.payload_len != 13'd0) begin
        padded : cover ({desc_i.has_reth, desc_i.has_imm} == 2'(h) && 2'd0 - desc_i.payload_len[1:0] == 2'(b));
      end
    end
    // Where the ICRC begins in its beat: 62 splits it over two beats.
    for (genvar z = 0; z < 16; z++) begin : place
      always_ff @(posedge clk_i) if (rst_ni && frame) begin
        icrc : cover ({desc_i.has_reth, desc_i.has_imm} == 2'(h) && cov_end[5:2] == 4'(z));
      end
    end
  end

  // names(bth): SEND_FIRST SEND_MIDDLE SEND_LAST SEND_LAST_IMM SEND_ONLY SEND_ONLY_IMM WRITE_FIRST WRITE_MIDDLE WRITE_LAST WRITE_LAST_IMM WRITE_ONLY WRITE_ONLY_IMM
  // names(transport): RC UC
  for (genvar b = 0; b < 12; b++) begin : bth
    for (genvar t = 0; t < 2; t++) begin : transport
      always_ff @(posedge clk_i) if (rst_ni && frame) begin
        opcode : cover (desc_i.bth_opcode == (t == 1 ? 8'h20 : 8'h00) + 8'(b));
      end
    end
  end

  for (genvar i = 0; i < 8; i++) begin : number
    always_ff @(posedge clk_i) if (rst_ni && mac && mac_o.eop) begin
      frame_priority : cover (mac_o.prio == 3'(i));
      port : cover (mac_port_o == 3'(i));
    end
  end

  // ---- Errors -------------------------------------------------------------------------------------------------------
  // names(vendor): none Opcode WqeSize WqeQpn Length Key Bounds Pd
  for (genvar v = 0; v < 8; v++) begin : vendor
    always_ff @(posedge clk_i) if (rst_ni && desc && desc_i.err != 8'd0) begin
      error_description : cover (desc_i.imm[7:0] == 8'(v));
    end
  end
  // names(status): Ok Ur Ca Poisoned Timeout Malformed NoMaster
  for (genvar s = 1; s < 7; s++) begin : status
    always_ff @(posedge clk_i) if (rst_ni && pay_valid_i && pay_ready_o && pay_i.last) begin
      payload_failed : cover (pay_i.status == 3'(s));
    end
    always_ff @(posedge clk_i) if (rst_ni && cqe_valid_o && cqe_ready_i) begin
      failure_reported : cover (cqe_o.vendor == rnic_pkg::VenDma + 8'(s));
    end
  end
  // names(syndrome): success LocalLength LocalQpOp 3 LocalProt Flushed
  for (genvar y = 0; y < 6; y++) begin : syndrome
    if (y != 3) begin : known
      always_ff @(posedge clk_i) if (rst_ni && cqe_valid_o && cqe_ready_i) begin
        completion : cover (cqe_o.syndrome == 8'(y));
      end
    end
  end

  always_ff @(posedge clk_i) if (rst_ni) begin
    if (frame) begin
      signaled_end : cover (desc_i.op.last && desc_i.signaled);
      unsignaled_end : cover (desc_i.op.last && !desc_i.signaled);
      inside_a_message : cover (!desc_i.op.last);
      padded_to_60_bytes : cover (cov_end == 13'd54);
      psn_largest : cover (desc_i.op.psn == 24'hFFFFFF);
      psn_zero : cover (desc_i.op.psn == 24'd0);
      ip_id_largest : cover (desc_i.ip_id == 16'hFFFF);
      solicited : cover (desc_i.solicited);
      ack_asked_for : cover (desc_i.ack_req);
      migrated : cover (desc_i.mig_req);
    end
    if (mac_valid_o && !mac_ready_i) begin
      mac_stalls_first_beat : cover (mac_o.sop);
      mac_stalls_middle_beat : cover (!mac_o.sop && !mac_o.eop);
      mac_stalls_last_beat : cover (mac_o.eop);
    end
    if (mac) begin
      frame_of_one_beat : cover (mac_o.sop && mac_o.eop);
      icrc_split_over_two_beats : cover (mac_o.eop && mac_o.bytes == 7'd2);
      longest_last_beat : cover (mac_o.eop && mac_o.bytes == 7'd62);
      frames_back_to_back : cover (mac_o.sop && ended_q);
    end
    gap_inside_a_frame : cover (mid_q && !mac_valid_o);
    description_waits : cover (desc_valid_i && !desc_ready_o);
    payload_waits : cover (pay_valid_i && !pay_ready_o);
    completion_waits : cover (cqe_valid_o && !cqe_ready_i);
    to_error : cover (err_o);
    if (clear_i) begin
      clear_while_idle : cover (idle_o);
      clear_while_busy : cover (!idle_o);
      clear_at_failure : cover (err_o);
    end
  end
endmodule

bind tx_packetizer tx_packetizer_cover u_cover (.*);
