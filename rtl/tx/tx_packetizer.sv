// SPDX-License-Identifier: Apache-2.0
// TX packetizer: headers (Ethernet, 802.1Q tag, IPv4 or IPv6, UDP, BTH, and DETH, RETH, AtomicETH, ImmDt or IETH),
// payload, pad and ICRC of one packet, as 512-bit beats to the MAC. A payload comes from memory (pay) or out of the WQE
// (inl), as the description says. A packet starts when the first beat of its payload is offered; both sources offer a
// packet's payload only when it is complete, so a frame never has gaps of its own making; one beat a cycle, back to
// back. The pipeline itself never stalls: a packet enters only when the output FIFO has room for all of its beats.
//
// A description with err set, or whose payload came back with an error, makes no frame: it is reported to cqe_writer in
// its place, and after a failed payload the QP's later descriptions are flushed. A message gets one report at most.
//
// Four header stages (hidden behind the payload read), then per beat: merge, fill, five of the ICRC, insert, FIFO. From
// the first cycle with pay_valid_i to the acceptance of the last beat at mac_ready_i = 1: 13 edges for the three beats
// of a 64 B WRITE, and one more for each further beat.
module tx_packetizer (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic desc_valid_i,
  output logic desc_ready_o,
  input  rnic_pkg::pkt_desc_t desc_i,
  input  logic pay_valid_i,
  output logic pay_ready_o,
  input  rnic_pkg::payload_t pay_i,
  input  logic inl_valid_i,
  output logic inl_ready_o,
  input  rnic_pkg::payload_t inl_i,
  output logic mac_valid_o,
  input  logic mac_ready_i,
  output rnic_pkg::mac_beat_t mac_o,
  output logic [2:0] mac_port_o,       // port of the frame
  // Completions, in order: after the last beat of a signaled message's last packet has been accepted by the MAC
  output logic cqe_valid_o,
  input  logic cqe_ready_i,
  output rnic_pkg::cqe_req_t cqe_o,
  // QP to error after a failed payload read
  output logic err_o,
  output logic [9:0] err_qpn_o,
  // CmdQpModify: the QP's error memory is cleared
  input  logic clear_i,
  input  logic [9:0] clear_qpn_i,
  output logic probe_mac_o,
  output rnic_pkg::op_t probe_mac_op_o,
  output logic idle_o
);
  localparam int unsigned EthIpUdpBth =
      roce_pkg::EthBytes + roce_pkg::Ipv4Bytes + roce_pkg::UdpBytes + roce_pkg::BthBytes;  // 54
  localparam int unsigned Ipv6More = roce_pkg::Ipv6Bytes - roce_pkg::Ipv4Bytes;
  localparam int unsigned FifoDepth = 128;       // beats; more than the 66 of the longest packet and the pipeline's 9
  localparam int unsigned OrderDepth = 64;       // frames and reports under way
  localparam int unsigned CqeW = 131;            // width of cqe_req_t
  localparam int unsigned OutW = 3 + rnic_pkg::MacBeatW;

  // ==== Header pipeline: h1 lengths and partial sums, h2 and h3 checksum, h4 bytes of the header ===================
  logic h1_valid_q, h2_valid_q, h3_valid_q, h4_valid_q;
  logic h1_ready, h2_ready, h3_ready, h4_ready;
  logic h4_pop;
  rnic_pkg::pkt_desc_t h1_q, h2_q, h3_q;

  assign h4_ready = !h4_valid_q || h4_pop;
  assign h3_ready = !h3_valid_q || h4_ready;
  assign h2_ready = !h2_valid_q || h3_ready;
  assign h1_ready = !h1_valid_q || h2_ready;
  assign desc_ready_o = h1_ready;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      h1_valid_q <= 1'b0;
      h2_valid_q <= 1'b0;
      h3_valid_q <= 1'b0;
      h4_valid_q <= 1'b0;
    end else begin
      if (h1_ready) h1_valid_q <= desc_valid_i;
      if (h2_ready) h2_valid_q <= h1_valid_q;
      if (h3_ready) h3_valid_q <= h2_valid_q;
      if (h4_ready) h4_valid_q <= h3_valid_q;
    end
  end

  // h1: header length, 54..106 and 2 modulo 4; 16-bit sums over what is known. Bytes of an address in wire order make two
  // big-endian words.
  logic [6:0] h1_hdr_bytes_q;
  logic [16:0] h1_sum_a_q, h1_sum_b_q, h1_sum_c_q;

  always_ff @(posedge clk_i) begin
    if (desc_valid_i && h1_ready) begin
      h1_q <= desc_i;
      h1_hdr_bytes_q <= 7'(EthIpUdpBth) + {4'd0, desc_i.vlan_en, 2'd0} + (desc_i.ipv6 ? 7'(Ipv6More) : 7'd0) +
                        {2'd0, desc_i.has_reth || desc_i.has_atomic, desc_i.has_deth || desc_i.has_atomic,
                         desc_i.has_atomic, 2'd0} + {4'd0, desc_i.has_imm, 2'd0};
      h1_sum_a_q <= {1'b0, desc_i.ip_id} + {1'b0, desc_i.ttl, 8'd17};
      h1_sum_b_q <= {1'b0, desc_i.sgid[103:96], desc_i.sgid[111:104]} + {1'b0, desc_i.sgid[119:112], desc_i.sgid[127:120]};
      h1_sum_c_q <= {1'b0, desc_i.dgid[103:96], desc_i.dgid[111:104]} + {1'b0, desc_i.dgid[119:112], desc_i.dgid[127:120]};
    end
  end

  // h2: where the payload ends, and where what the ICRC covers ends (a multiple of 4 behind byte 14)
  logic [6:0] h2_hdr_bytes_q;
  logic [12:0] h2_data_end_q, h2_cov_end_q;
  logic [17:0] h2_sum_a_q;
  logic [17:0] h2_sum_b_q;

  always_ff @(posedge clk_i) begin
    if (h1_valid_q && h2_ready) begin
      h2_q <= h1_q;
      h2_hdr_bytes_q <= h1_hdr_bytes_q;
      h2_data_end_q <= {6'd0, h1_hdr_bytes_q} + h1_q.payload_len;
      h2_cov_end_q <= {6'd0, h1_hdr_bytes_q} + {h1_q.payload_len[12:2] + {10'd0, |h1_q.payload_len[1:0]}, 2'd0};
      h2_sum_a_q <= {1'b0, h1_sum_a_q} + {1'b0, h1_sum_b_q};
      h2_sum_b_q <= {1'b0, h1_sum_c_q} + {2'd0, 8'h45, h1_q.tos};
    end
  end

  // h3: UDP length = covered end - what is before the UDP header + 4; IPv4's total length; sum of everything but it
  // (0x4000: don't fragment)
  logic [6:0] h3_hdr_bytes_q;
  logic [12:0] h3_data_end_q, h3_cov_end_q, h3_udp_len_q, h3_ip_len_q;
  logic [18:0] h3_sum_q;

  always_ff @(posedge clk_i) begin
    if (h2_valid_q && h3_ready) begin
      h3_q <= h2_q;
      h3_hdr_bytes_q <= h2_hdr_bytes_q;
      h3_data_end_q <= h2_data_end_q;
      h3_cov_end_q <= h2_cov_end_q;
      h3_udp_len_q <= h2_cov_end_q - (h2_q.ipv6 ? (h2_q.vlan_en ? 13'd54 : 13'd50) : (h2_q.vlan_en ? 13'd34 : 13'd30));
      h3_ip_len_q <= h2_cov_end_q - (h2_q.vlan_en ? 13'd14 : 13'd10);
      h3_sum_q <= {1'b0, h2_sum_a_q} + {1'b0, h2_sum_b_q} + {1'b0, 18'h04000};
    end
  end

  // h4: the header. The checksum's carries are folded in the same step: 19 + 13 bits, then the carry's 3 bits again.
  logic [18:0] ip_sum;
  logic [16:0] ip_fold;
  logic [15:0] ip_csum;
  assign ip_sum = h3_sum_q + {6'd0, h3_ip_len_q};
  assign ip_fold = {1'b0, ip_sum[15:0]} + {14'd0, ip_sum[18:16]};
  assign ip_csum = ~(ip_fold[15:0] + {15'd0, ip_fold[16]});

  logic [1:0] pad_cnt;
  assign pad_cnt = 2'd0 - h3_q.payload_len[1:0];

  function automatic logic [15:0] be16(input logic [15:0] v);
    be16 = {v[7:0], v[15:8]};
  endfunction
  function automatic logic [23:0] be24(input logic [23:0] v);
    be24 = {v[7:0], v[15:8], v[23:16]};
  endfunction
  function automatic logic [31:0] be32(input logic [31:0] v);
    be32 = {be16(v[15:0]), be16(v[31:16])};
  endfunction
  function automatic logic [63:0] be64(input logic [63:0] v);
    be64 = {be32(v[31:0]), be32(v[63:32])};
  endfunction
  // Behind the MAC addresses: tag, Ethertype, IP header, and what follows it
  function automatic logic [751:0] network(input logic tag, input logic [15:0] tci, input logic v6,
                                           input logic [159:0] ip4, input logic [319:0] ip6, input logic [383:0] rest);
    logic [719:0] net;
    net = v6 ? {rest, ip6, 16'hDD86} : {160'd0, rest, ip4, 16'h0008};
    network = tag ? {net, be16(tci), 16'h0081} : {32'd0, net};
  endfunction

  // Extension headers, as bytes behind the BTH; from the end of the header on they are payload's place.
  logic [223:0] ext;
  always_comb begin
    ext = {192'd0, be32(h3_q.imm)};
    if (h3_q.has_deth) ext = {128'd0, be32(h3_q.imm), be24({14'd0, h3_q.op.qpn}), 8'd0, be32(h3_q.qkey)};
    if (h3_q.has_reth) ext = {64'd0, be32(h3_q.imm), be32(h3_q.msg_len), be32(h3_q.rkey), be64(h3_q.raddr)};
    if (h3_q.has_atomic) ext = {be64(h3_q.compare), be64(h3_q.swap_add), be32(h3_q.rkey), be64(h3_q.raddr)};
  end

  logic [847:0] h4_hdr_q;
  logic h4_long_q;                     // the header is longer than a beat
  logic [3:0] h4_shift_q;              // words by which the payload moves up in its beat, besides 2 bytes
  logic h4_inl_q;
  logic h4_frame_q;                    // not an error report
  logic h4_has_pay_q;
  logic [6:0] h4_pay_beats_q;          // beats of the payload, 0..64
  logic [12:0] h4_data_end_q;
  logic [6:0] h4_cov_beats_q;          // beats that the ICRC covers, 1..66
  logic [5:0] h4_cov_tail_q;           // covered bytes in the last of them, 2..62, 2 modulo 4
  logic h4_straddle_q;                 // the ICRC's second half takes a beat of its own
  logic [6:0] h4_beats_q;
  logic h4_short_q;                    // pad to 60 bytes
  rnic_pkg::op_t h4_op_q;
  logic [7:0] h4_err_q, h4_vendor_q, h4_wqe_opcode_q;
  logic h4_signaled_q;
  logic [23:0] h4_cqn_q;
  logic [31:0] h4_msg_len_q;
  logic [2:0] h4_prio_q, h4_port_q;

  logic h3_frame;
  assign h3_frame = h3_q.err == 8'd0;

  always_ff @(posedge clk_i) begin
    if (h3_valid_q && h4_ready) begin
      h4_hdr_q <= {
        network(h3_q.vlan_en, h3_q.vlan_tci, h3_q.ipv6,
          {h3_q.dgid[127:96], h3_q.sgid[127:96], be16(ip_csum), 8'd17, h3_q.ttl, 16'h0040, be16(h3_q.ip_id),
           be16({3'd0, h3_ip_len_q}), h3_q.tos, 8'h45},
          {h3_q.dgid, h3_q.sgid, h3_q.ttl, 8'd17, be16({3'd0, h3_udp_len_q}),
           be32({4'd6, h3_q.tos, h3_q.flow_label})},
          {ext,
           // BTH
           be24(h3_q.op.psn), h3_q.ack_req, 7'd0, be24(h3_q.dest_qpn), 8'd0, be16(h3_q.pkey),
           h3_q.solicited, h3_q.mig_req, pad_cnt, 4'd0, h3_q.bth_opcode,
           // UDP
           16'd0, be16({3'd0, h3_udp_len_q}), be16(roce_pkg::UdpPort), be16(h3_q.udp_sport)}),
        h3_q.smac, h3_q.dmac};
      h4_long_q <= h3_hdr_bytes_q[6];
      h4_shift_q <= h3_hdr_bytes_q[5:2];
      h4_inl_q <= h3_q.inl;
      h4_frame_q <= h3_frame;
      h4_has_pay_q <= h3_frame && h3_q.payload_len != 13'd0;
      h4_pay_beats_q <= h3_q.payload_len[12:6] + {6'd0, |h3_q.payload_len[5:0]};
      h4_data_end_q <= h3_data_end_q;
      h4_cov_beats_q <= h3_cov_end_q[12:6] + 7'd1;    // the tail is never 0
      h4_cov_tail_q <= h3_cov_end_q[5:0];
      h4_straddle_q <= h3_cov_end_q[5:0] == 6'd62;
      h4_beats_q <= h3_cov_end_q[12:6] + (h3_cov_end_q[5:0] == 6'd62 ? 7'd2 : 7'd1);
      h4_short_q <= h3_cov_end_q == 13'(EthIpUdpBth);
      h4_op_q <= h3_q.op;
      h4_err_q <= h3_q.err;
      h4_vendor_q <= h3_q.imm[7:0];
      h4_wqe_opcode_q <= h3_q.wqe_opcode;
      h4_signaled_q <= h3_q.signaled;
      h4_cqn_q <= h3_q.cqn;
      h4_msg_len_q <= h3_q.msg_len;
      h4_prio_q <= h3_q.prio;
      h4_port_q <= h3_q.port;
    end
  end

  // ==== Error memory ===============================================================================================
  // dead: a payload of the QP failed. skip: and the rest of that message is still to come, already reported.
  // Both are looked up when the description enters h4, and follow what the one before it does on the same edge.
  logic [1023:0] dead_q, skip_q;
  logic h4_dead_q, h4_skip_q;
  logic dead_set, skip_set, skip_clr;
  logic h3_same;
  assign h3_same = h3_q.op.qpn == h4_op_q.qpn;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      dead_q <= '0;
      skip_q <= '0;
      h4_dead_q <= 1'b0;
      h4_skip_q <= 1'b0;
    end else begin
      if (dead_set) dead_q[h4_op_q.qpn] <= 1'b1;
      if (skip_set) skip_q[h4_op_q.qpn] <= 1'b1;
      if (skip_clr) skip_q[h4_op_q.qpn] <= 1'b0;
      if (h3_valid_q && h4_ready) begin
        h4_dead_q <= dead_q[h3_q.op.qpn] || (dead_set && h3_same);
        h4_skip_q <= (skip_q[h3_q.op.qpn] || (skip_set && h3_same)) && !(skip_clr && h3_same);
        if (clear_i && clear_qpn_i == h3_q.op.qpn) begin
          h4_dead_q <= 1'b0;
          h4_skip_q <= 1'b0;
        end
      end else if (clear_i && clear_qpn_i == h4_op_q.qpn) begin
        h4_dead_q <= 1'b0;
        h4_skip_q <= 1'b0;
      end
      if (clear_i) begin
        dead_q[clear_qpn_i] <= 1'b0;
        skip_q[clear_qpn_i] <= 1'b0;
      end
    end
  end

  // ==== Decision on the description in h4 ==========================================================================
  logic busy_q;                        // inside a frame, after its first beat
  logic disc_q;                        // throwing away a payload, after its first beat
  logic [7:0] credit_q;                // free places in the output FIFO, less those of beats under way
  logic order_room;
  logic decide, pay_here, pay_bad;
  logic start, drop;                   // start: first beat of a frame; drop: description leaves without frame
  logic fire, last_beat, take_pay, src_ready;
  logic disc_inl_q;                    // it comes on the inline stream

  // The source whose payload is being taken
  logic src_inl, src_valid, src_last;
  assign src_inl = disc_q ? disc_inl_q : h4_inl_q;
  assign src_valid = src_inl ? inl_valid_i : pay_valid_i;
  assign src_last = src_inl ? inl_i.last : pay_i.last;
  assign pay_ready_o = src_ready && !src_inl;
  assign inl_ready_o = src_ready && src_inl;

  logic [2:0] h4_status;
  assign h4_status = h4_inl_q ? inl_i.status : pay_i.status;

  assign pay_here = !h4_has_pay_q || src_valid;
  assign pay_bad = h4_has_pay_q && src_last && h4_status != rnic_pkg::DmaOk;
  assign decide = h4_valid_q && !busy_q && !disc_q && pay_here && order_room;
  assign start = decide && h4_frame_q && !h4_dead_q && !pay_bad && credit_q >= {1'b0, h4_beats_q};
  assign drop = decide && (!h4_frame_q || h4_dead_q || pay_bad);

  assign dead_set = drop && h4_frame_q && !h4_dead_q;              // pay_bad
  assign skip_set = dead_set && !h4_op_q.last;
  assign skip_clr = drop && h4_dead_q && h4_op_q.last;
  assign err_o = dead_set;
  assign err_qpn_o = h4_op_q.qpn;

  // What follows: a frame with or without completion, or a report at once.
  logic order_push, order_frame, order_cqe;
  rnic_pkg::cqe_req_t order_req;
  assign order_frame = start;
  assign order_push = start || (drop && order_cqe);
  always_comb begin
    order_req.op = h4_op_q;
    order_req.cqn = h4_cqn_q;
    order_req.wqe_opcode = h4_wqe_opcode_q;
    order_req.byte_cnt = 32'd0;
    order_req.syndrome = 8'd0;
    order_req.vendor = 8'd0;
    if (start) begin
      order_cqe = h4_op_q.last && h4_signaled_q;
      order_req.byte_cnt = h4_msg_len_q;
    end else if (h4_dead_q) begin
      order_cqe = h4_op_q.last && !h4_skip_q;
      order_req.syndrome = rnic_pkg::SynFlushed;
    end else if (!h4_frame_q) begin
      order_cqe = 1'b1;
      order_req.syndrome = h4_err_q;
      order_req.vendor = h4_vendor_q;
    end else begin
      order_cqe = 1'b1;
      order_req.syndrome = rnic_pkg::SynLocalQpOp;
      order_req.vendor = rnic_pkg::VenDma + {5'd0, h4_status};
    end
  end

  // ==== 1: merge ===================================================================================================
  // A header of up to 62 bytes shares the first beat with payload; a longer one fills the first beat and shares the
  // second. Either way the payload is rotated up by the header's length modulo 64: what wraps round is the next beat's.
  logic [6:0] left_q;                  // beats to come
  logic [6:0] cov_left_q;              // covered beats to come
  logic [6:0] pay_left_q;              // payload beats to come
  logic [12:0] data_left_q;            // bytes to come up to the payload's end
  logic [511:0] carry_q;               // low bytes of the next beat

  logic body;
  assign body = busy_q && (pay_left_q == 7'd0 || src_valid);
  assign fire = start || body;
  assign last_beat = start ? h4_beats_q == 7'd1 : left_q == 7'd1;
  assign take_pay = start ? h4_has_pay_q && !h4_long_q : body && pay_left_q != 7'd0;
  assign src_ready = take_pay || (drop && h4_has_pay_q) || disc_q;
  assign h4_pop = drop || (fire && last_beat);

  logic [12:0] data_now;
  assign data_now = start ? h4_data_end_q : data_left_q;

  logic m_valid_q, m_sop_q, m_eop_q, m_cov_q, m_cov_last_q, m_tail_q;
  logic [6:0] m_fill_q;                // bytes up to the payload's end, 0..64
  logic [5:0] m_pos_q;                 // where the ICRC goes
  logic [6:0] m_bytes_q;
  logic [2:0] m_prio_q, m_port_q;
  rnic_pkg::op_t m_op_q;
  logic [511:0] m_data_q;

  logic [6:0] cov_now;
  assign cov_now = start ? h4_cov_beats_q : cov_left_q;

  always_ff @(posedge clk_i) begin
    if (fire) begin
      m_sop_q <= start;
      m_eop_q <= last_beat;
      m_cov_q <= cov_now != 7'd0;
      m_cov_last_q <= cov_now == 7'd1;
      m_tail_q <= cov_now == 7'd0;     // second half of the ICRC only
      m_fill_q <= data_now >= 13'd64 ? 7'd64 : data_now[6:0];
      m_pos_q <= h4_cov_tail_q;
      m_bytes_q <= 7'd64;
      if (last_beat) m_bytes_q <= h4_straddle_q ? 7'd2 : h4_short_q ? 7'd60 : {1'b0, h4_cov_tail_q} + 7'd4;
      m_prio_q <= h4_prio_q;
      m_port_q <= h4_port_q;
      m_op_q <= h4_op_q;
      left_q <= (start ? h4_beats_q : left_q) - 7'd1;
      cov_left_q <= cov_now == 7'd0 ? 7'd0 : cov_now - 7'd1;
      pay_left_q <= (start ? h4_pay_beats_q : pay_left_q) - {6'd0, take_pay};
      data_left_q <= data_now >= 13'd64 ? data_now - 13'd64 : 13'd0;
    end
  end

  // Bytes beyond the payload's end are whatever comes along; the next stage clears them.
  // In: the payload, the low bytes (header or carried over), how far to rotate, whether the low bytes are a whole beat,
  // and what the second beat then starts with. Out: {carry, beat}.
  function automatic logic [1023:0] merge(input logic [511:0] data, input logic [511:0] low, input logic [3:0] shift,
                                          input logic whole, input logic [335:0] rest);
    logic [511:0] r, above;
    r = {data[495:0], data[511:496]};
    r = shift[0] ? {r[479:0], r[511:480]} : r;
    r = shift[1] ? {r[447:0], r[511:448]} : r;
    r = shift[2] ? {r[383:0], r[511:384]} : r;
    r = shift[3] ? {r[255:0], r[511:256]} : r;
    above = {512{1'b1}} << {shift, 5'd16};
    merge = {whole ? {176'd0, rest} : r, whole ? low : (low & ~above) | (r & above)};
  endfunction

  always_ff @(posedge clk_i) begin
    if (fire) begin
      {carry_q, m_data_q} <= merge(h4_inl_q ? inl_i.data : pay_i.data, start ? h4_hdr_q[511:0] : carry_q, h4_shift_q,
                                   start && h4_long_q, h4_hdr_q[847:512]);
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      busy_q <= 1'b0;
      disc_q <= 1'b0;
      m_valid_q <= 1'b0;
    end else begin
      m_valid_q <= fire;
      if (fire) busy_q <= !last_beat;
      if (drop && h4_has_pay_q) disc_q <= !src_last;
      else if (disc_q && src_valid && src_last) disc_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (drop) disc_inl_q <= h4_inl_q;
  end

  // ==== 2: zeros behind the payload ================================================================================
  logic d_valid_q, d_sop_q, d_eop_q, d_cov_q, d_cov_last_q, d_tail_q;
  logic [5:0] d_pos_q;
  logic [6:0] d_bytes_q;
  logic [2:0] d_prio_q, d_port_q;
  rnic_pkg::op_t d_op_q;
  logic [511:0] d_data_q;

  always_ff @(posedge clk_i) begin
    if (m_valid_q) begin
      d_sop_q <= m_sop_q;
      d_eop_q <= m_eop_q;
      d_cov_q <= m_cov_q;
      d_cov_last_q <= m_cov_last_q;
      d_tail_q <= m_tail_q;
      d_pos_q <= m_pos_q;
      d_bytes_q <= m_bytes_q;
      d_prio_q <= m_prio_q;
      d_port_q <= m_port_q;
      d_op_q <= m_op_q;
      if (m_fill_q[6]) d_data_q <= m_data_q;
      else d_data_q <= m_data_q & ~({512{1'b1}} << {m_fill_q[5:0], 3'd0});
    end
  end

  // ==== 3-7: ICRC, while the beats wait in a small memory ==========================================================
  logic icrc_valid, icrc_idle;
  logic [31:0] icrc;
  icrc u_icrc (
    .clk_i,
    .rst_ni,
    .valid_i(d_valid_q && d_cov_q),
    .sop_i(d_sop_q),
    .eop_i(d_cov_last_q),
    .zero_dws_i(4'd15 - d_pos_q[5:2]),
    .data_i(d_data_q),
    .valid_o(icrc_valid),
    .icrc_o(icrc),
    .idle_o(icrc_idle)
  );

  logic [OutW-1:0] wait_mem [8];
  logic [7:0] wait_ctl_mem [8];
  logic [2:0] wait_wr_q, wait_rd_q;
  logic [4:0] wait_valid_q;            // one bit for each cycle of the ICRC's latency
  logic wait_cov_last, wait_tail;
  logic [5:0] wait_pos;

  always_ff @(posedge clk_i) begin
    if (d_valid_q) begin
      wait_mem[wait_wr_q] <= {d_port_q, d_sop_q, d_eop_q, d_bytes_q, d_prio_q, d_op_q, d_data_q};
      wait_ctl_mem[wait_wr_q] <= {d_cov_last_q, d_tail_q, d_pos_q};
    end
  end
  assign {wait_cov_last, wait_tail, wait_pos} = wait_ctl_mem[wait_rd_q];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      d_valid_q <= 1'b0;
      wait_valid_q <= '0;
      wait_wr_q <= '0;
      wait_rd_q <= '0;
    end else begin
      d_valid_q <= m_valid_q;
      wait_valid_q <= {wait_valid_q[3:0], d_valid_q};
      if (d_valid_q) wait_wr_q <= wait_wr_q + 3'd1;
      if (wait_valid_q[4]) wait_rd_q <= wait_rd_q + 3'd1;
    end
  end

  // ==== 8: ICRC into its place =====================================================================================
  // It starts at 2 modulo 4, so all places together are one repeated pattern.
  logic [511:0] icrc_all;
  assign icrc_all = {icrc[15:0], {15{icrc}}, icrc[31:16]};

  logic o_valid_q;
  logic [OutW-1:0] o_word_q;

  always_ff @(posedge clk_i) begin
    if (wait_valid_q[4]) begin
      if (wait_cov_last) begin         // behind the last covered byte; zeros stand there
        o_word_q <= wait_mem[wait_rd_q] |
            {{(OutW - 512){1'b0}}, icrc_all & ({480'd0, 32'hFFFF_FFFF} << {wait_pos, 3'd0})};
      end else if (wait_tail) begin
        o_word_q <= wait_mem[wait_rd_q] | {{(OutW - 16){1'b0}}, icrc[31:16]};
      end else begin
        o_word_q <= wait_mem[wait_rd_q];
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) o_valid_q <= 1'b0;
    else o_valid_q <= wait_valid_q[4];
  end

  // ==== 9: output FIFO =============================================================================================
  logic out_wr_ready;
  logic fifo_valid, fifo_ready;
  logic [OutW-1:0] fifo_word, out_word;
  logic [$clog2(FifoDepth):0] out_fill;
  fifo #(
    .Width(OutW),
    .Depth(FifoDepth)
  ) u_out (
    .clk_i,
    .rst_ni,
    .wr_valid_i(o_valid_q),
    .wr_ready_o(out_wr_ready),
    .wr_data_i(o_word_q),
    .rd_valid_o(fifo_valid),
    .rd_ready_i(fifo_ready),
    .rd_data_o(fifo_word),
    .fill_o(out_fill)
  );

  // ==== 10: output register, so that the MAC's pins do not hang on the FIFO's memory ==================================
  stream_register #(
    .Width(OutW)
  ) u_out_reg (
    .clk_i,
    .rst_ni,
    .in_valid_i(fifo_valid),
    .in_ready_o(fifo_ready),
    .in_data_i(fifo_word),
    .out_valid_o(mac_valid_o),
    .out_ready_i(mac_ready_i),
    .out_data_o(out_word)
  );
  assign mac_port_o = out_word[OutW-1 -: 3];
  assign mac_o = out_word[rnic_pkg::MacBeatW-1:0];

  logic mac_take, frame_gone;
  assign mac_take = mac_valid_o && mac_ready_i;
  assign frame_gone = mac_take && mac_o.eop;
  assign probe_mac_o = frame_gone;
  assign probe_mac_op_o = mac_o.op;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) credit_q <= 8'(FifoDepth);
    else if (start || mac_take) credit_q <= credit_q - (start ? {1'b0, h4_beats_q} : 8'd0) + {7'd0, mac_take};
  end

  // ==== Order of completions =======================================================================================
  // One entry for each frame and each report, in three parts: [rd, done) may be read (entries without CQE are skipped),
  // [done, wr) wait: a frame for its last beat, a report for its turn.
  localparam int unsigned OrdW = $clog2(OrderDepth);
  logic [CqeW-1:0] ord_mem [OrderDepth];
  logic [OrderDepth-1:0] ord_frame_q, ord_cqe_q;
  logic [OrdW:0] ord_wr_q, ord_done_q, ord_rd_q;
  logic [OrdW:0] gone_q;               // frames gone whose entries done has not yet passed
  logic [OrdW:0] ord_fill;
  logic ord_wait, done_frame, done_step, rd_any, rd_step;

  assign ord_fill = ord_wr_q - ord_rd_q;
  assign order_room = !ord_fill[OrdW];
  assign ord_wait = ord_done_q != ord_wr_q;
  assign done_frame = ord_wait && ord_frame_q[ord_done_q[OrdW-1:0]] && (gone_q != '0 || frame_gone);
  assign done_step = done_frame || (ord_wait && !ord_frame_q[ord_done_q[OrdW-1:0]]);
  assign rd_any = ord_rd_q != ord_done_q;
  assign cqe_valid_o = rd_any && ord_cqe_q[ord_rd_q[OrdW-1:0]];
  assign cqe_o = ord_mem[ord_rd_q[OrdW-1:0]];
  assign rd_step = rd_any && (!ord_cqe_q[ord_rd_q[OrdW-1:0]] || cqe_ready_i);

  always_ff @(posedge clk_i) begin
    if (order_push) ord_mem[ord_wr_q[OrdW-1:0]] <= order_req;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      ord_wr_q <= '0;
      ord_done_q <= '0;
      ord_rd_q <= '0;
      gone_q <= '0;
      ord_frame_q <= '0;
      ord_cqe_q <= '0;
    end else begin
      if (order_push) begin
        ord_wr_q <= ord_wr_q + 1'b1;
        ord_frame_q[ord_wr_q[OrdW-1:0]] <= order_frame;
        ord_cqe_q[ord_wr_q[OrdW-1:0]] <= order_cqe;
      end
      if (done_step) ord_done_q <= ord_done_q + 1'b1;
      if (rd_step) ord_rd_q <= ord_rd_q + 1'b1;
      if (frame_gone != done_frame) gone_q <= frame_gone ? gone_q + 1'b1 : gone_q - 1'b1;
    end
  end

  // Every frame has an entry until after its last beat has left, so the beats need no term of their own.
  assign idle_o = !(h1_valid_q || h2_valid_q || h3_valid_q || h4_valid_q || disc_q) && ord_fill == '0;

`ifndef SYNTHESIS
  assert property (@(posedge clk_i) disable iff (!rst_ni) o_valid_q |-> out_wr_ready);
  // The answer comes just when the last covered beat leaves the waiting memory.
  assert property (@(posedge clk_i) disable iff (!rst_ni) icrc_valid == (wait_valid_q[4] && wait_cov_last));
  // The payload's own end agrees with the description's length.
  assert property (@(posedge clk_i) disable iff (!rst_ni)
                   body && pay_left_q != 7'd0 |-> src_last == (pay_left_q == 7'd1));
`endif
endmodule
