// SPDX-License-Identifier: Apache-2.0
// Types and sizes shared by all blocks of the NIC.
//
// Byte order: byte i of a data beat or of a context stands in bits [8*i +: 8], so byte 0 is the first one on the wire
// and the lowest address in memory. Byte arrays that go to the wire unchanged (MAC addresses, GIDs) keep that order;
// multi-byte numbers (PSN, VA, keys) are plain numbers and are swapped where a header is assembled.
//
// Every packed struct here is also a C++ struct: scripts/gen_ports.py writes include/rnic/rtl/ports.h from this file.
package rnic_pkg;

  // ---- Build keys ---------------------------------------------------------------------------------------------------
  localparam int unsigned NumQp = 1024;
  localparam int unsigned QpnW = 10;
  localparam int unsigned NumCq = 1024;
  localparam int unsigned CqnW = 10;
  localparam int unsigned MptIdxW = 16;          // 65536 memory protection entries
  localparam int unsigned DataW = 512;
  localparam int unsigned DataBytes = 64;
  localparam int unsigned NumTags = 512;         // outstanding PCIe reads
  localparam int unsigned TagW = 10;             // width of the TLP's tag field
  localparam int unsigned DmAddrW = 28;          // device memory behind BAR1: 256 MiB
  localparam int unsigned MaxPayload = 4096;     // largest path MTU, and largest request given to dma_master

  // ---- Identity of a packet, for probes and sidebands; never on the wire ---------------------------------------------
  typedef struct packed {
    logic [9:0] qpn;
    logic [15:0] wqe;      // WQE counter: index of the WQE's first 64 B block, modulo 65536
    logic [23:0] psn;
    logic last;            // last packet of its message
  } op_t;

  // ---- PCIe side ----------------------------------------------------------------------------------------------------
  // Settings from the configuration space; change only while idle.
  typedef struct packed {
    logic bus_master;          // memory requests allowed
    logic ext_tag;             // 8-bit tags allowed (else 5 bits)
    logic tag10;               // 10-bit tags allowed, whatever ext_tag says
    logic [2:0] mps;           // 0: 128 B .. 5: 4096 B
    logic [2:0] mrrs;          // 0: 128 B .. 5: 4096 B
    logic rcb;                 // 0: 64 B, 1: 128 B
    logic ro_en;               // relaxed ordering may be asked for
    logic ido_en;              // ID-based ordering may be asked for
    logic [7:0] cplh;          // completions that the link's receive buffer holds; 0: no limit
    logic [11:0] cpld;         // their data, in 16 B; 0: no limit
    logic [31:0] cpl_timeout;  // ns that a read may stay unanswered; 0: for ever
    logic [15:0] requester_id;
  } pcie_cfg_t;

  // Flow-control limits as in PCIe: absolute counts modulo 2^8 (headers) and 2^12 (16 B data credits) since reset.
  // An "infinite" bit switches the check of its type off.
  typedef struct packed {
    logic p_inf;
    logic [7:0] ph;
    logic [11:0] pd;
    logic np_inf;
    logic [7:0] nph;
  } pcie_fc_t;

  // One beat of a TLP. The header is a sideband, valid with sop; data starts at lane 0 of the first beat.
  typedef struct packed {
    logic sop;
    logic eop;
    logic [127:0] hdr;         // DW0 in [127:96]; a 3-DW header leaves [31:0] zero
    logic [4:0] dws;           // data DWs in this beat, 0..16
    op_t op;                   // sideband: which packet this TLP serves
    logic [511:0] data;
  } tlp_beat_t;

  // ---- MMIO, decoded ------------------------------------------------------------------------------------------------
  localparam logic [2:0] DbSq = 3'd0;       // value[15:0] = SQ producer index, in 64 B blocks
  localparam logic [2:0] DbRq = 3'd1;       // value[15:0] = RQ producer index
  localparam logic [2:0] DbCqCi = 3'd2;     // value[23:0] = CQ consumer index (the page's QP number names the CQ)
  localparam logic [2:0] DbCqArm = 3'd3;
  localparam logic [2:0] DbBf = 3'd4;       // data = 64 B of a WQE, piece 0 or 1

  typedef struct packed {
    logic [2:0] kind;
    logic [9:0] qpn;
    logic [31:0] value;
    logic piece;               // DbBf: which 64 B piece
    logic [511:0] data;        // DbBf
  } doorbell_t;

  // Commands of the driver, issued through BAR1's command register.
  localparam logic [2:0] CmdQpModify = 3'd0;    // the context of QP index changed: forget every cached copy, state restarts from it
  localparam logic [2:0] CmdCqModify = 3'd1;
  localparam logic [2:0] CmdMkeyModify = 3'd2;
  localparam logic [2:0] CmdQp2Err = 3'd3;      // QP to error: WQEs posted from here on are flushed
  localparam logic [2:0] CmdQpQuery = 3'd4;     // what the chip holds of QP index, as a query_t at QueryBase
  localparam logic [2:0] CmdCqQuery = 3'd5;     // the same of CQ index
  localparam logic [2:0] CmdQpCreate = 3'd6;    // as CmdQpModify, from whichever state by way of Reset

  typedef struct packed {
    logic [2:0] op;
    logic [23:0] index;
  } cmd_t;

  // ---- Device memory (behind BAR1) ------------------------------------------------------------------------------------
  // Reads of 1 or 2 beats, 64 B aligned; writes of one beat with byte strobes. Read data comes back in request order.
  typedef struct packed {
    logic write;
    logic two;                 // read of 128 B
    logic [27:0] addr;
    logic [63:0] strb;
    logic [511:0] data;
  } dm_req_t;

  typedef struct packed {
    logic last;
    logic [511:0] data;
  } dm_rsp_t;

  // ---- Contexts in BAR1 (register k of a context is bits [32k +: 32]) ------------------------------------------------
  localparam logic [27:0] QpcBase = 28'h000_0000;   // 1024 x 128 B
  localparam logic [27:0] CqcBase = 28'h004_0000;   // 1024 x 64 B
  localparam logic [27:0] MptBase = 28'h040_0000;   // 65536 x 64 B
  localparam logic [27:0] QueryBase = 28'h0E0_0000;  // one query_t: the answer to the latest query
  localparam logic [27:0] DmFreeBase = 28'h100_0000; // from here on: rings, by the driver's choice

  localparam logic [3:0] QpStReset = 4'd0;
  localparam logic [3:0] QpStInit = 4'd1;
  localparam logic [3:0] QpStRtr = 4'd2;
  localparam logic [3:0] QpStRts = 4'd3;
  localparam logic [3:0] QpStErr = 4'd6;

  localparam logic [1:0] TransRc = 2'd0;
  localparam logic [1:0] TransUc = 2'd1;
  localparam logic [1:0] TransUd = 2'd2;

  localparam logic [1:0] SqInDevice = 2'd0;
  localparam logic [1:0] SqInHost = 2'd1;

  typedef struct packed {
    logic [159:0] rsvd6;
    logic [15:0] rate_burst;   // DW26: 256 B units that may leave at once behind an idle time
    logic [6:0] rsvd8b;
    logic rate_en;             //       [8] rate limiter on
    logic [7:0] weight;        //       [7:0] share among the QPs of its priority; 0 counts as 1
    logic [31:0] rate_gap;     // DW25: rate limiter: time a byte takes, in 2^-16 ns
    logic [31:0] rsvd8a;       // DW24
    logic [127:0] dgid;        // DW20-23; IPv4: ::ffff:a.b.c.d, the address in bytes 12-15
    logic [127:0] sgid;        // DW16-19
    logic [31:0] qkey;         // DW15
    logic [11:0] rsvd5;
    logic [19:0] flow_label;   // DW14
    logic [15:0] rsvd4;
    logic [7:0] ttl;           // DW13: TTL or hop limit
    logic [7:0] tos;           //       DSCP[7:2] ECN[1:0]
    logic [15:0] ip_id;        // DW12: first IP identification
    logic [15:0] pkey;
    logic [15:0] udp_sport;    // DW11
    logic [47:0] dmac;         // DW10-11, wire order
    logic [15:0] vlan_tci;     // DW9
    logic [47:0] smac;         // DW8-9, wire order
    logic [63:0] sq_base;      // DW6-7: offset in device memory, or I/O address
    logic [15:0] rsvd3;
    logic [15:0] sq_ci;        // DW5: first WQE to send
    logic [7:0] rsvd2;
    logic [23:0] sq_psn;       // DW4: first PSN
    logic [7:0] rsvd1;
    logic [23:0] dest_qpn;     // DW3
    logic [7:0] rsvd0;
    logic [23:0] pd;           // DW2
    logic [7:0] rsvd00;
    logic [23:0] cqn;          // DW1: completion queue of the send queue
    logic mig_req;             // DW0 [31]
    logic ip_id_fixed;         //     [30] 1: IP identification stays, 0: counts up
    logic vlan_en;             //     [29]
    logic ipv6;                //     [28]
    logic rsvdb;
    logic [2:0] prio;          //     [26:24]
    logic rsvda;
    logic [2:0] port;          //     [22:20]
    logic [3:0] log_sq_size;   //     [19:16] ring of 2^n 64 B blocks
    logic [1:0] rsvd9;
    logic [1:0] sq_where;      //     [13:12]
    logic rsvd8;
    logic [2:0] mtu;           //     [10:8] 1: 256 .. 5: 4096
    logic [1:0] rsvd7;
    logic [1:0] transport;     //     [5:4]
    logic [3:0] state;         //     [3:0]
  } qpc_t;

  typedef struct packed {
    logic [319:0] rsvd3;
    logic [15:0] irq_period;   // DW5: moderation: us that a CQE may wait for company; 0: none
    logic [15:0] irq_count;    //      CQEs that raise the vector at once; 0 counts as 1
    logic [7:0] rsvd2;
    logic [23:0] ci;           // DW4: first consumer index
    logic [63:0] base;         // DW2-3: I/O address of the ring, 64 B aligned
    logic irq_en;              // DW1 [31] an armed CQ raises its vector
    logic [8:0] rsvd1;
    logic [5:0] irq_vector;    //     [21:16] MSI-X vector
    logic [15:0] rsvd1b;
    logic [18:0] rsvd0;
    logic [4:0] log_size;      // DW0 [12:8] ring of 2^n CQEs
    logic [6:0] rsvdz;
    logic valid;               // DW0 [0]
  } cqc_t;

  typedef struct packed {
    logic [159:0] rsvd5;
    logic [31:0] pages;        // DW10: pages in the list
    logic [9:0] rsvd4;
    logic [21:0] mtt;          // DW9: where the list begins in device memory, in 64 B
    logic [10:0] rsvd3;
    logic [4:0] log_page;      // DW8 [20:16]: pages of 2^n B, 12..30; others count as 12
    logic [1:0] rsvd2b;
    logic [5:0] window;        //     [13:8]
    logic [5:0] rsvd2;
    logic window_en;           //     [1] addresses go through that GPUDirect window
    logic paged;               //     [0] iova is the first byte's place in a list of pages
    logic [63:0] iova;         // DW6-7: bus address of the region's first byte
    logic [63:0] length;       // DW4-5, bytes
    logic [63:0] start;        // DW2-3: virtual address of the first byte
    logic [7:0] rsvd1;
    logic [23:0] pd;           // DW1
    logic [15:0] rsvd0;
    logic [7:0] variant;       // DW0 [15:8]: low byte of the key
    logic rsvdz;
    logic id_based;            //     [6] ID-based ordering
    logic relaxed;             //     [5] relaxed ordering
    logic remote_atomic;       //     [4]
    logic remote_write;        //     [3]
    logic remote_read;         //     [2]
    logic local_write;         //     [1]
    logic valid;               //     [0]
  } mpt_t;

  // Answer to a query: what the chip holds, and the context does not.
  typedef struct packed {
    logic [63:0] time_ns;      // DW14-15: when it was looked at
    logic [191:0] rsvd6;
    logic [31:0] msg_len;      // DW7: QP in the middle of a message: bytes of it
    logic [31:0] offset;       // DW6: bytes of it handed out
    logic [15:0] wqe;          // DW5: its WQE
    logic [15:0] ip_id;        //      QP: next IP identification
    logic [7:0] rsvd4;
    logic [23:0] psn;          // DW4: QP: next PSN
    logic [7:0] rsvd3;
    logic [23:0] ci;           // DW3: QP: next WQE to decode; CQ: consumer index
    logic [7:0] rsvd2;
    logic [23:0] pi;           // DW2: producer index: QP: of the doorbell; CQ: of the next CQE
    logic [7:0] rsvd1;
    logic [23:0] index;        // DW1: QPN or CQN
    logic [8:0] rsvd0;
    logic solicited_only;      // DW0 [22] CQ: armed for solicited CQEs only
    logic armed;               //     [21] CQ
    logic in_msg;              //     [20] QP: in the middle of a message
    logic error;               //     [19] QP: in error; CQ: overrun
    logic ci_valid;            //     [18] 0: ci (QP: psn and ip_id, too) is still the context's
    logic pi_valid;            //     [17] 0: no doorbell, no CQE yet: pi is still the context's
    logic cq;                  //     [16] answer to CmdCqQuery
    logic [15:0] seq;          //     [15:0] counts answers since reset, 1 .. 65535, then 1 again
  } query_t;

  // ---- TX path --------------------------------------------------------------------------------------------------------
  // One data segment of a message.
  typedef struct packed {
    logic [63:0] addr;         // virtual address
    logic [31:0] lkey;
    logic [31:0] len;          // bytes, 1 .. 2^31
  } sge_t;

  // Transmit state of a QP, on chip; starts from the context after CmdQpModify.
  typedef struct packed {
    logic [15:0] ci;           // next WQE to complete decoding (block index)
    logic [23:0] psn;          // next PSN
    logic [15:0] ip_id;        // next IP identification
    logic in_msg;              // a message is partly sent; the fields below describe it
    logic [31:0] offset;       // bytes of it already handed out (never 2^32: the message is at most 2^31)
    logic [15:0] wqe_idx;
    logic [7:0] opcode;        // WQE opcode
    logic signaled;
    logic solicited;
    logic [31:0] imm;          // immediate data, or the rkey that SEND with invalidate takes back
    logic [31:0] msg_len;      // of all segments together, 0 .. 2^31
    logic [1:0] wqebbs;        // blocks of the WQE less one
    logic [2:0] num_sge;       // 0..4; 0 also for inline data
    logic [1:0] sge_idx;       // segment of the next byte
    logic [31:0] sge_off;      // its offset in that segment
    sge_t sge3;
    sge_t sge2;
    sge_t sge1;
    sge_t sge0;
  } tx_state_t;

  // Job: one QP's turn, from wqe_fetch_engine to tx_segmenter. At most one job a QP is in flight.
  typedef struct packed {
    logic [9:0] qpn;
    logic noop;                // nothing to send (doorbell without new WQE, QP not ready): only release the QP
    logic [15:0] pi;           // producer index as read at dispatch
    logic flush;               // QP in error: complete this WQE with syndrome 05, send nothing
    logic [7:0] err;           // not 0: CQE error syndrome found while decoding
    tx_state_t st;             // with the message's fields filled in, whether just decoded or continued
    logic [63:0] raddr;        // first packet of a WRITE; READ; atomic
    logic [31:0] rkey;
    logic [63:0] swap_add;     // atomic: swap value or addend
    logic [63:0] compare;      // CMP_SWAP
    logic inl;                 // payload is inl_data[8*msg_len-1:0]; one packet always
    logic [1887:0] inl_data;   // up to 236 B
    qpc_t qpc;                 // UD: path fields (dest_qpn, qkey, dgid, dmac, tos, ttl, flow_label, udp_sport) as in the WQE
  } tx_job_t;

  // One packet (or an error report that must keep its place), from tx_segmenter to tx_packetizer.
  typedef struct packed {
    op_t op;
    logic [7:0] err;           // not 0: no packet; report this syndrome (vendor syndrome in imm[7:0])
    logic signaled;            // completion wanted; never set for READ and atomic, which complete with their response
    logic [7:0] wqe_opcode;
    logic [23:0] cqn;
    logic [31:0] msg_len;
    logic [7:0] bth_opcode;
    logic solicited;
    logic ack_req;
    // Extension headers behind the BTH, in this order; at most one of reth, atomic and deth
    logic has_deth;            // 8 B: qkey, op.qpn
    logic has_reth;            // 16 B: raddr, rkey, msg_len
    logic has_atomic;          // 28 B: raddr, rkey, swap_add, compare
    logic has_imm;             // 4 B: imm (ImmDt, or IETH: the same place and size)
    logic [63:0] raddr;
    logic [31:0] rkey;
    logic [63:0] swap_add;
    logic [63:0] compare;
    logic [31:0] qkey;
    logic [31:0] imm;
    logic [12:0] payload_len;
    logic inl;                 // payload comes on the inline stream, not from dma_master
    logic [15:0] ip_id;
    // Copied from the context:
    logic mig_req;
    logic [2:0] prio;
    logic [2:0] port;
    logic [23:0] dest_qpn;
    logic [15:0] pkey;
    logic [15:0] udp_sport;
    logic [7:0] tos;
    logic [7:0] ttl;
    logic [19:0] flow_label;
    logic ipv6;
    logic vlan_en;
    logic [15:0] vlan_tci;
    logic [47:0] smac;
    logic [47:0] dmac;
    logic [127:0] sgid;        // wire order; IPv4: bytes 12-15
    logic [127:0] dgid;
  } pkt_desc_t;

  // End of a QP's turn, from tx_segmenter to qp_scheduler, with what the scheduler has to know of the QP's context.
  typedef struct packed {
    logic [9:0] qpn;
    logic more;                // it knows of further work
    logic [13:0] bytes;        // of this turn's frames, Ethernet header to FCS; the last packet's when the turn had more
    logic [2:0] prio;
    logic [7:0] weight;
    logic rate_en;
    logic [31:0] rate_gap;     // 2^-16 ns a byte
    logic [15:0] rate_burst;   // 256 B
  } turn_end_t;

  // Scheduling between priorities; changes only while idle.
  typedef struct packed {
    logic [7:0] strict;        // one bit a priority: goes before all that are not strict, higher ones first
    logic [63:0] weights;      // 8 bits a priority: share among those that are not strict; 0 counts as 1
  } sched_cfg_t;

  // ---- DMA ------------------------------------------------------------------------------------------------------------
  localparam logic [2:0] DmaOk = 3'd0;
  localparam logic [2:0] DmaUr = 3'd1;
  localparam logic [2:0] DmaCa = 3'd2;
  localparam logic [2:0] DmaPoisoned = 3'd3;
  localparam logic [2:0] DmaTimeout = 3'd4;
  localparam logic [2:0] DmaMalformed = 3'd5;
  localparam logic [2:0] DmaNoMaster = 3'd6;     // bus mastering is off
  localparam logic [2:0] DmaDenied = 3'd7;       // no page, no window, or against its rights: nothing was read

  // A read as tx_segmenter asks for it, to dma_translate.
  typedef struct packed {
    logic paged;               // addr is a place in the list of pages, else an address
    logic [4:0] log_page;      // of mpt_t, as the next four
    logic [21:0] mtt;
    logic [31:0] pages;
    logic window_en;
    logic [5:0] window;
    logic [63:0] addr;
    logic [12:0] len;          // 1..4096
    logic more;                // as in rd_req_t
    logic [2:0] attr;          // as in tlp_req_t
    op_t op;
  } xl_req_t;

  // Entry of a list of pages in device memory; eight to a block of 64 B.
  typedef struct packed {
    logic [51:0] page;         // bus address [63:12]; bits below the page's size count as 0
    logic [10:0] rsvd;
    logic present;
  } mtt_t;

  // GPUDirect window: [base, base + size) of a region's addresses stands for [gpu, gpu + size) on the bus.
  typedef struct packed {
    logic valid;
    logic write;               // rights of the NIC
    logic read;
    logic [63:0] gpu;
    logic [63:0] size;         // bytes
    logic [63:0] base;
  } window_t;

  typedef struct packed {
    logic denied;              // not to be read: answered with DmaDenied
    logic [63:0] addr;         // bus address
    logic [12:0] len;          // 0..4096 bytes; 0: a flush, which comes back when earlier writes have arrived
    logic more;                // the packet's payload goes on with the next read
    logic [2:0] attr;          // as in tlp_req_t
    op_t op;
  } rd_req_t;

  // Payload, in request order, first byte in lane 0.
  typedef struct packed {
    logic last;
    logic more;                // the packet's payload goes on with the next read; the same in all beats of a read
    logic [6:0] bytes;         // valid bytes in this beat, 1..64; 64 unless last
    logic [2:0] status;        // valid with last
    logic [511:0] data;
  } payload_t;

  typedef struct packed {
    logic [63:0] addr;
    logic [12:0] len;          // 1..4096
    logic [2:0] attr;          // as in tlp_req_t
    op_t op;
  } wr_req_t;

  // Between dma_master and pcie_tlp_gen.
  typedef struct packed {
    logic write;
    logic [63:0] addr;         // byte address
    logic [12:0] len;          // bytes; never crosses 4 KiB, never above MPS or MRRS; 0: zero-length read (a flush)
    logic [9:0] tag;           // reads
    logic [2:0] attr;          // ID-based ordering, relaxed ordering, no snoop
    op_t op;
  } tlp_req_t;

  typedef struct packed {
    logic last;
    logic [511:0] data;        // first DW of the request in lane 0
  } tlp_wdata_t;

  typedef struct packed {
    logic sop;
    logic eop;
    logic [9:0] tag;
    logic [2:0] status;        // Dma*
    logic [12:0] byte_count;   // 1..4096, as the completer said
    logic [6:0] lower_addr;
    logic [10:0] len_dw;       // 0..1024
    logic [511:0] data;
  } cpl_t;

  // ---- Completion -----------------------------------------------------------------------------------------------------
  typedef struct packed {
    op_t op;
    logic [23:0] cqn;
    logic [7:0] wqe_opcode;
    logic [31:0] byte_cnt;
    logic [7:0] syndrome;      // 0: success
    logic [7:0] vendor;        // finer reason, see docs
  } cqe_req_t;

  // A CQE that has been handed over, for cq_arm.
  typedef struct packed {
    logic [9:0] cqn;
    logic [23:0] index;        // of the CQE
    logic solicited;           // or an error
    logic irq_en;              // of its context
    logic [5:0] irq_vector;
    logic [15:0] period;
    logic [15:0] count;
  } cq_note_t;

  // CQE error syndromes (mlx5 values)
  localparam logic [7:0] SynLocalLength = 8'h01;
  localparam logic [7:0] SynLocalQpOp = 8'h02;
  localparam logic [7:0] SynLocalProt = 8'h04;
  localparam logic [7:0] SynFlushed = 8'h05;

  // Vendor syndromes: which check refused
  localparam logic [7:0] VenNone = 8'h00;
  localparam logic [7:0] VenOpcode = 8'h01;      // unknown or unsupported opcode
  localparam logic [7:0] VenWqeSize = 8'h02;     // size field wrong for the opcode, or beyond the producer index
  localparam logic [7:0] VenWqeQpn = 8'h03;      // the WQE names another QP or index
  localparam logic [7:0] VenLength = 8'h04;      // longer than 2 GiB
  localparam logic [7:0] VenKey = 8'h05;         // lkey unknown, invalid or of another variant
  localparam logic [7:0] VenBounds = 8'h06;      // outside the region
  localparam logic [7:0] VenPd = 8'h07;          // region of another protection domain
  localparam logic [7:0] VenRights = 8'h08;      // region without the right that the access needs
  localparam logic [7:0] VenDma = 8'h10;         // + Dma* status of the failed read

  // ---- MAC ------------------------------------------------------------------------------------------------------------
  typedef struct packed {
    logic sop;
    logic eop;
    logic [6:0] bytes;         // valid bytes, 1..64; 64 unless eop
    logic [2:0] prio;
    op_t op;                   // sideband for transmit time stamps
    logic [511:0] data;
  } mac_beat_t;
  localparam int unsigned MacBeatW = 575;        // width of mac_beat_t, for the flattened port array

  // ---- Rate limiting (hook for congestion control) --------------------------------------------------------------------
  typedef struct packed {
    logic [9:0] qpn;
    logic [15:0] tokens;       // 64 B units granted
  } rate_token_t;

  // ---- Observation ----------------------------------------------------------------------------------------------------
  // Instants of the TX path. Each is a one-cycle pulse at the edge at which the thing has happened.
  typedef struct packed {
    logic db;                  // doorbell taken from the port
    logic [9:0] db_qpn;
    logic [15:0] db_pi;
    logic wqe;                 // WQE decoded
    op_t wqe_op;
    logic rd;                  // payload read handed to dma_master
    op_t rd_op;
    logic rd_done;             // last payload byte in the TX buffer
    op_t rd_done_op;
    logic mac;                 // last beat of a frame, ICRC included, accepted by the MAC
    op_t mac_op;
    logic cqe;                 // CQE's write TLP accepted at the PCIe pins
    op_t cqe_op;
  } probe_t;

  // Instants of the models, fed back so that one waveform holds everything. A bit toggles at each event; no logic reads it.
  typedef struct packed {
    logic db_store;            // initiator's store
    logic db_pins;             // doorbell TLP has arrived at the NIC's pins (T0)
    logic mem_rd_start;        // first payload read reached the memory
    logic mem_rd_end;          // memory answered
    logic wire_first;          // first bit of a frame on the wire
    logic wire_last;           // last bit
    logic cqe_visible;         // CQE in host memory
    op_t op;                   // of the latest event with a packet
  } ext_probe_t;

  // One-cycle pulses that BAR2's counters count.
  typedef struct packed {
    logic db_rx;               // SQ doorbells and BlueFlame pushes taken
    logic db_coalesced;        // a doorbell for a QP that was already waiting
    logic db_invalid;          // a doorbell for a QP that cannot send
    logic bf_hit;              // WQE taken from the BlueFlame buffer
    logic bf_fallback;         // pushed WQE not usable, fetched from the ring
    logic wqe_fetch;           // WQE read from a ring
    logic qpc_miss;
    logic cqc_miss;
    logic mpt_miss;
    logic cqe_ok;
    logic cqe_err;
    logic cq_overrun;
    logic cpl_unexpected;      // for a tag that is not in use, or of a read already given up
    logic cpl_ur;              // unsupported request
    logic cpl_ca;              // completer abort
    logic cpl_poisoned;
    logic cpl_timeout;         // a read that nobody answered in time
    logic cpl_malformed;       // lies about its length, or does not fit its read
    logic irq_sent;            // MSI-X message written
    logic mtt_miss;
    logic mtt_absent;          // access to a page that is not there, or beyond its list
    logic win_denied;          // access outside a GPUDirect window, to an invalid one, or against its rights
  } stat_t;

  // Error log entries.
  localparam logic [3:0] EvtDbInvalid = 4'd1;    // doorbell for a QP that is not ready to send
  localparam logic [3:0] EvtWqeError = 4'd2;     // error CQE written; syndrome and vendor tell why
  localparam logic [3:0] EvtCqOverrun = 4'd3;    // CQE dropped: the ring is full
  localparam logic [3:0] EvtCqInvalid = 4'd4;    // CQE dropped: no such CQ

  typedef struct packed {
    logic [3:0] kind;
    logic [23:0] index;        // QPN or CQN
    logic [15:0] wqe;
    logic [7:0] syndrome;
    logic [7:0] vendor;
  } event_t;

endpackage
