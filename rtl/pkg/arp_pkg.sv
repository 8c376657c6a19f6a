// SPDX-License-Identifier: Apache-2.0
// Types and sizes of the AllReduce engine: fragments of a vector come in, are added up in on-chip memory, and the sum is
// written to GPU memory. docs/allreduce.md has the protocol and the rules.
package arp_pkg;

  // ---- Build keys ---------------------------------------------------------------------------------------------------
  localparam int unsigned NumGroups = 64;
  localparam int unsigned GroupW = 6;
  localparam int unsigned NumSlots = 1024;       // of all groups together
  localparam int unsigned SlotW = 10;
  localparam int unsigned NumRows = 4096;        // accumulators: rows of two banks of 512 bits, 512 KiB
  localparam int unsigned RowW = 12;
  localparam int unsigned MaxRanks = 64;         // contributors of a group
  localparam int unsigned AluLatency = 6;        // edges from operands to result
  localparam int unsigned NarrowLatency = 2;     // edges from accumulator to rounded result

  // ---- Element types and operations ---------------------------------------------------------------------------------
  localparam logic [7:0] TypeFp16 = 8'd0;
  localparam logic [7:0] TypeBf16 = 8'd1;
  localparam logic [7:0] TypeFp32 = 8'd2;
  localparam logic [7:0] TypeInt32 = 8'd3;
  localparam logic [7:0] TypeInt64 = 8'd4;
  localparam logic [7:0] TypeFp16Acc32 = 8'd5;   // FP16 on the wire, FP32 accumulators
  localparam logic [7:0] TypeBf16Acc32 = 8'd6;

  localparam logic [7:0] OpSum = 8'd0;
  localparam logic [7:0] OpMin = 8'd1;
  localparam logic [7:0] OpMax = 8'd2;

  // ---- Fragments ----------------------------------------------------------------------------------------------------
  // AllReduce extension header, behind the BTH; fields as numbers.
  typedef struct packed {
    logic [15:0] group;
    logic [15:0] step;         // number of the operation in the group's life, modulo 2^16
    logic [15:0] chunk;
    logic [7:0] rank;          // contributor, 0..63
    logic [31:0] offset;       // bytes from the chunk's begin; a multiple of the group's fragment size
    logic [7:0] dtype;         // Type*
    logic [7:0] op;            // Op*
    logic [15:0] len;          // payload bytes, without pad
  } areth_t;

  typedef struct packed {
    logic sop;
    logic eop;
    logic bad;                 // with eop: the frame is damaged (ICRC, cut off); nothing of it counts
    logic [6:0] bytes;         // valid bytes in this beat, 1..64; 64 unless eop
    areth_t hdr;               // with sop
    logic [511:0] data;        // first byte in lane 0; elements are little endian as in memory
  } arp_beat_t;

  // Result acknowledged by everybody who needs it: the slot is free again.
  typedef struct packed {
    logic [15:0] group;
    logic [15:0] step;
    logic [15:0] chunk;
    logic [31:0] offset;
  } arp_ack_t;

  // ---- Group context ------------------------------------------------------------------------------------------------
  typedef struct packed {
    logic valid;
    logic [7:0] dtype;
    logic [7:0] op;
    logic wide_out;            // Type*Acc32: the result leaves as FP32 instead of rounded to the wire's type
    logic [3:0] log_frag;      // fragment: 2^n bytes, 6..12
    logic [5:0] log_chunk;     // chunk: 2^n bytes, log_frag..32
    logic [3:0] log_slots;     // slots of the group: 2^n, 0..10
    logic [9:0] slot_base;     // its first slot
    logic [11:0] row_base;     // its first row
    logic [63:0] members;      // ranks that contribute
    logic [31:0] length;       // vector, bytes on the wire: a multiple of the element's size, not 0
    logic [63:0] dst;          // bus address of the result; byte b of the vector lands at dst + b (twice b with wide_out)
  } arp_group_t;

  // ---- What became of it --------------------------------------------------------------------------------------------
  localparam logic [3:0] ArpWritten = 4'd0;      // result handed to PCIe
  localparam logic [3:0] ArpParity = 4'd1;       // accumulator damaged: no result is written
  localparam logic [3:0] ArpDuplicate = 4'd2;    // rank has contributed to this slot before
  localparam logic [3:0] ArpLate = 4'd3;         // slot's result is acknowledged already, or of an older step
  localparam logic [3:0] ArpNoSlot = 4'd4;       // slot still holds an earlier result: send again
  localparam logic [3:0] ArpBadGroup = 4'd5;     // unknown group
  localparam logic [3:0] ArpBadType = 4'd6;      // type or operation is not the group's
  localparam logic [3:0] ArpBadOffset = 4'd7;    // not aligned, beyond the chunk or the vector
  localparam logic [3:0] ArpBadLength = 4'd8;    // not what is left at this offset, or other than the data
  localparam logic [3:0] ArpBadRank = 4'd9;      // not a member
  localparam logic [3:0] ArpDamaged = 4'd10;     // bad frame, or beats without begin
  localparam logic [3:0] ArpBadAck = 4'd11;      // acknowledges what is not there
  localparam logic [3:0] ArpBadContext = 4'd12;  // group context refused

  // For everything but an accepted fragment.
  typedef struct packed {
    logic [3:0] kind;          // Arp*
    areth_t hdr;               // the fragment's; of results and acknowledges: group, step, chunk, offset, len
  } arp_evt_t;

  // One-cycle pulses that BAR2 counts, and levels.
  typedef struct packed {
    logic frag;                // fragment accepted
    logic beat;                // 64 B accumulated or initialised
    logic first;               // fragment initialised its slot
    logic full;                // last contribution of a slot
    logic written;
    logic acked;
    logic parity;              // slots lost
    logic duplicate;
    logic late;
    logic no_slot;
    logic bad_group;
    logic bad_type;
    logic bad_offset;
    logic bad_length;
    logic bad_rank;
    logic damaged;
    logic bad_ack;
    logic bad_context;
    logic evt_lost;            // an event found its queue full
    logic stall_hazard;        // cycles: a beat waits for its address in the adder
    logic stall_read;          // cycles: a beat waits for the accumulator's read port
    logic stall_drain;         // cycles: a result waits for the DMA
  } arp_stat_t;

  // States of a slot.
  localparam logic [2:0] SlotFree = 3'd0;
  localparam logic [2:0] SlotOpen = 3'd1;        // has contributions
  localparam logic [2:0] SlotFull = 3'd2;        // has all of them; waits for its turn
  localparam logic [2:0] SlotDrain = 3'd3;       // being written to memory
  localparam logic [2:0] SlotDone = 3'd4;        // written; waits for the acknowledge

endpackage
