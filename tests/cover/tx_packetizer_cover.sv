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
  input logic inl_valid_i,
  input logic inl_ready_o,
  input rnic_pkg::payload_t inl_i,
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
  logic [6:0] header_bytes;            // Ethernet header to the last extension header, 54 .. 106
  logic [12:0] cov_end;                // bytes that the ICRC covers, Ethernet header counted
  logic mid_q, ended_q;                // inside a frame; a frame ended at the edge before
  assign desc = desc_valid_i && desc_ready_o;
  assign frame = desc && desc_i.err == 8'd0;
  assign mac = mac_valid_o && mac_ready_i;
  assign header_bytes = 7'd54 + (desc_i.vlan_en ? 7'd4 : 7'd0) + (desc_i.ipv6 ? 7'd20 : 7'd0) +
                        (desc_i.has_deth ? 7'd8 : 7'd0) + (desc_i.has_reth ? 7'd16 : 7'd0) +
                        (desc_i.has_atomic ? 7'd28 : 7'd0) + (desc_i.has_imm ? 7'd4 : 7'd0);
  assign cov_end = {6'd0, header_bytes} + {desc_i.payload_len[12:2] + {10'd0, |desc_i.payload_len[1:0]}, 2'd0};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      mid_q <= 1'b0;
      ended_q <= 1'b0;
    end else begin
      ended_q <= mac && mac_o.eop;
      if (mac) mid_q <= !mac_o.eop;
    end
  end

  // ---- Header length x payload --------------------------------------------------------------------------------------
  // names(header): 54 58 62 66 70 74 78 82 86 90 94 98 102 106
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
  for (genvar h = 0; h < 14; h++) begin : header
    for (genvar p = 0; p < 10; p++) begin : payload
      if (h < 12 || p == 0) begin : possible   // the two longest headers are those of atomics
        always_ff @(posedge clk_i) if (rst_ni && frame) begin
          packet : cover (header_bytes == 7'(54 + 4 * h) && pay_class == 4'(p));
        end
      end
    end
    if (h < 12) begin : with_payload
      for (genvar b = 0; b < 4; b++) begin : pad
        always_ff @(posedge clk_i) if (rst_ni && frame && desc_i.payload_len != 13'd0) begin
          padded : cover (header_bytes == 7'(54 + 4 * h) && 2'd0 - desc_i.payload_len[1:0] == 2'(b));
        end
      end
      // Where the ICRC begins in its beat: 62 splits it over two beats.
      for (genvar z = 0; z < 16; z++) begin : place
        always_ff @(posedge clk_i) if (rst_ni && frame) begin
          icrc : cover (header_bytes == 7'(54 + 4 * h) && cov_end[5:2] == 4'(z));
        end
      end
    end
  end

  // names(network): IPv4 IPv4_tagged IPv6 IPv6_tagged
  // names(extension): none 4B DETH DETH_4B RETH RETH_4B AtomicETH
  // names(source): memory inline none
  logic [3:0] ext_kind;
  logic [1:0] pay_source;
  assign ext_kind = desc_i.has_atomic ? 4'd6 :
                     {1'b0, desc_i.has_reth ? 2'd2 : desc_i.has_deth ? 2'd1 : 2'd0, desc_i.has_imm};
  assign pay_source = desc_i.payload_len == 13'd0 ? 2'd2 : {1'b0, desc_i.inl};
  for (genvar n = 0; n < 4; n++) begin : network
    for (genvar e = 0; e < 7; e++) begin : extension
      for (genvar s = 0; s < 3; s++) begin : source
        if (e != 6 || s == 2) begin : possible
          always_ff @(posedge clk_i) if (rst_ni && frame) begin
            headers : cover ({desc_i.ipv6, desc_i.vlan_en} == 2'(n) && ext_kind == 4'(e) && pay_source == 2'(s));
          end
        end
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
  always_ff @(posedge clk_i) if (rst_ni && frame) begin
    read_request : cover (desc_i.bth_opcode == 8'h0C);
    cmp_swap : cover (desc_i.bth_opcode == 8'h13);
    fetch_add : cover (desc_i.bth_opcode == 8'h14);
    send_last_inval : cover (desc_i.bth_opcode == 8'h16);
    send_only_inval : cover (desc_i.bth_opcode == 8'h17);
    ud_send : cover (desc_i.bth_opcode == 8'h64);
    ud_send_imm : cover (desc_i.bth_opcode == 8'h65);
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
    inline_waits : cover (inl_valid_i && !inl_ready_o);
    both_streams_offered : cover (pay_valid_i && inl_valid_i);
    inline_of_several_beats : cover (inl_valid_i && inl_ready_o && !inl_i.last);
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
