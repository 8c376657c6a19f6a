// SPDX-License-Identifier: Apache-2.0
// The driver of one NIC, in the shape of libibverbs. Nothing here is free of simulated time: every call that touches
// the NIC goes over PCIe as TLPs, and must be made from a SystemC thread (System::spawn).
//
// Not copied from verbs: send queues have a place (`device` or `bf`), buffers live in host or GPU memory by name, and
// the CPU or the GPU can be the one who posts.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rnic/core/types.h"
#include "rnic/golden/wqe.h"
#include "rnic/host/regions.h"
#include "rnic/observe/observer.h"
#include "rnic/pcie/hub.h"
#include "rnic/profile/profile.h"
#include "rnic/regs/regs.h"
#include "rnic/rtl/ports.h"

namespace rnic {
class Nic;
}

namespace rnic::host {

enum class QpType : uint8_t { kRc, kUc, kUd };
enum class SqWhere : uint8_t {
  kBf,      ///< pushed by BlueFlame; the ring copy in device memory is written, too
  kDevice,  ///< ring in device memory behind BAR1, doorbell
  kHost,    ///< ring in host memory, doorbell; the NIC fetches WQEs over PCIe
};
enum class WrOpcode : uint8_t {
  kRdmaWrite,
  kRdmaWriteImm,
  kSend,
  kSendImm,
  kSendWithInv,
  kRdmaRead,
  kAtomicCmpAndSwp,
  kAtomicFetchAndAdd,
};
enum class WcStatus : uint8_t {  ///< numbers of ibv_wc_status
  kSuccess = 0,
  kLocLenErr = 1,
  kLocQpOpErr = 2,
  kLocProtErr = 4,
  kWrFlushErr = 5,
  kGeneralErr = 21,
};
const char* to_string(WcStatus s);   ///< as ibv_wc_status_str: "local protection error"
const char* to_string(WrOpcode op);  ///< as ibv_wr_opcode: "RDMA_WRITE", "SEND_WITH_INV"

golden::Transport transport(QpType type);   ///< its code in the QP context
golden::WqeOpcode wqe_opcode(WrOpcode op);  ///< its code in the WQE

struct WorkCompletion {
  uint64_t wr_id;  ///< 0 for a WQE that post_send did not write
  WcStatus status;
  uint8_t vendor_err;
  uint32_t byte_len;
  uint32_t qpn;
  uint16_t wqe_counter;
  uint8_t wqe_opcode;
  uint64_t timestamp_ns;  ///< hardware time stamp; 0 in an error completion
};

struct Cq;

/// Completion events of the CQs that were made with it, oldest first.
struct CompChannel {
  std::deque<Cq*> events;
  sc_core::sc_event arrived;
};

/// Interrupt moderation of a CQ, as ibv_modify_cq's: its vector is raised for `count` CQEs, or `period_us` after the
/// first of them. Count 0 is as 1; period 0: by the count alone.
struct Moderation {
  uint16_t count = 1;
  uint16_t period_us = 0;
};

struct Cq {
  uint32_t cqn;
  unsigned log_size;
  uint64_t ring;                       ///< bus address
  uint32_t ci = 0;                     ///< consumer index
  sc_core::sc_event written;           ///< a write into the ring has become visible, or the device is lost
  std::deque<WorkCompletion> flushed;  ///< made by the driver
  CompChannel* channel = nullptr;
  unsigned vector = 0;  ///< MSI-X, 0..63
  Moderation moderation;
  bool armed = false;     ///< req_notify_cq was called, and no event has come since
  uint32_t armed_ci = 0;  ///< consumer index then
};

struct QpInit {
  QpType type = QpType::kUc;
  SqWhere where = SqWhere::kDevice;
  unsigned log_sq_size = 6;  ///< ring of 2^n 64 B blocks, 0..15
  uint32_t pd = 1;
};

/// IPv6 in place of IPv4.
struct Ipv6Path {
  std::array<uint8_t, 16> sip{}, dip{};
  uint32_t flow_label = 0;  ///< 20 bits
};

/// Everything in a packet's headers that does not come from the work request.
struct QpPath {
  uint32_t dest_qpn = 0x12;
  uint32_t sq_psn = 0;
  unsigned mtu = 4096;  ///< bytes: 256, 512, 1024, 2048, 4096
  std::array<uint8_t, 6> smac{0x02, 0, 0, 0, 0, 0x01}, dmac{0x02, 0, 0, 0, 0, 0x02};
  std::array<uint8_t, 4> sip{10, 0, 0, 1}, dip{10, 0, 0, 2};
  std::optional<Ipv6Path> ipv6;
  uint8_t tos = 0x02;  ///< DSCP << 2 | ECN; ECT(0) as real NICs send
  uint8_t ttl = 64;
  uint16_t pkey = 0xffff;
  std::optional<uint16_t> udp_sport;  ///< default: from the two QPNs, as Linux does
  uint8_t prio = 3;                   ///< traffic class, PFC priority and PCP of the VLAN tag
  std::optional<uint16_t> vlan_id;    ///< 12 bits; tagged with priority `prio` when set
  uint8_t port = 0;
  uint8_t weight = 1;           ///< share among the QPs of its priority
  double rate_limit_gbps = 0;   ///< Gb/s on the wire, Ethernet header to FCS; 0: none
  uint32_t rate_burst = 16384;  ///< bytes that may leave at once behind an idle time; up to 16 MiB in steps of 256
  uint32_t qkey = 0;            ///< UD: for sends whose own Q_Key has bit 31 set
  bool mig_req = true;
  uint16_t ip_id = 0;
  bool ip_id_fixed = false;
};

struct Qp {
  /// What stands in a block of the ring, for the completion that will name it.
  struct Posted {
    uint64_t wr_id = 0;
    uint16_t index = 0;   ///< WQE counter
    uint16_t blocks = 0;  ///< 0: nothing posted yet
  };
  uint32_t qpn;
  QpInit init;
  Cq* cq;
  uint64_t ring;               ///< offset in device memory; bus address of a ring in host memory
  uint64_t db_record = 0;      ///< bus address of the doorbell record of a ring in host memory; 0: there is none
  uint16_t pi = 0;             ///< producer index, in 64 B blocks
  uint16_t ci = 0;             ///< first block that no completion taken from the CQ has covered
  rtl::qpc_t context;          ///< as the NIC has taken it last
  std::vector<Posted> posted;  ///< by index modulo the ring's size
  bool posting = false;        ///< a thread is in post_send
  sc_core::sc_event posting_ended;

  unsigned size() const { return 1u << init.log_sq_size; }  ///< of the ring, in blocks
  /// Blocks posted and not yet known to be done. A completion also covers the unsignaled WQEs before it.
  unsigned outstanding() const { return static_cast<uint16_t>(pi - ci); }
};

struct Sge {
  uint64_t addr = 0;
  uint64_t length = 0;  ///< bytes, 0 .. 2 GiB; empty ones are left out of the WQE
  uint32_t lkey = 0;
};

/// Where a UD send goes.
struct AddressHandle {
  uint32_t remote_qpn = 0;
  uint32_t remote_qkey = 0;  ///< with bit 31 set the QP's own is sent
  std::array<uint8_t, 6> dmac{0x02, 0, 0, 0, 0, 0x02};
  std::array<uint8_t, 16> dgid{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 2};  ///< IPv4: ::ffff:a.b.c.d
  uint8_t tos = 0x02;
  uint8_t ttl = 64;
  uint32_t flow_label = 0;
  uint16_t udp_sport = 0xc000;
};

struct SendWr {
  uint64_t wr_id = 0;
  WrOpcode opcode = WrOpcode::kRdmaWrite;
  bool signaled = true;  ///< READ and atomics complete with their response, which this NIC does not take yet
  bool solicited = false;
  bool send_inline = false;  ///< the bytes are copied into the WQE when it is posted; keys are not looked at
  uint32_t imm = 0;          ///< SEND_WITH_INV: the rkey to invalidate
  uint64_t addr = 0;         ///< the one data segment
  uint64_t length = 0;       ///< bytes, 0 .. 2 GiB
  uint32_t lkey = 0;
  std::vector<Sge> sg_list;  ///< instead of that one: up to 4 segments
  uint64_t remote_addr = 0;
  uint32_t rkey = 0;
  uint64_t compare_add = 0;  ///< atomics: value to compare with, or addend
  uint64_t swap = 0;
  AddressHandle ah;  ///< UD
};

/// States of a QP, numbers of its context.
enum class QpState : uint8_t { kReset = 0, kInit = 1, kRtr = 2, kRts = 3, kErr = 6 };
const char* to_string(QpState s);  ///< "RESET", "INIT", "RTR", "RTS", "ERR"

/// What query_qp finds: the state, and what the chip holds (before the first WQE: what the context says).
struct QpStatus {
  QpState state;
  bool valid;  ///< a turn of the QP has ended since it came to its state: sq_ci, sq_psn, ip_id are the chip's
  uint16_t sq_pi, sq_ci;    ///< producer index of the latest doorbell; next WQE to decode, both in 64 B blocks
  uint32_t sq_psn;          ///< next PSN
  uint16_t ip_id;           ///< next IP identification
  bool in_message;          ///< a message is partly sent:
  uint16_t wqe;             ///< its WQE,
  uint32_t offset, length;  ///< bytes of it handed out, and in all
  uint64_t time_ns;         ///< when the NIC looked
};

struct CqStatus {
  bool valid;       ///< of its context
  uint32_t pi, ci;  ///< index of the next completion; consumer index as last told
  bool overrun;     ///< a completion found no room: none is written any more
  bool armed, solicited_only;
  uint64_t time_ns;
};

/// A memory protection entry, as it stands in device memory.
struct MrStatus {
  bool valid;  ///< and under this key
  uint64_t addr, length;
  uint32_t pd;
  uint32_t access;  ///< ibv_access_flags
  bool paged;
  std::optional<unsigned> window;
};

/// Bytes of inline data that fit a WQE of 256 B, as perftest's -I allows them.
unsigned max_inline_data(QpType type, WrOpcode opcode);

/// UDP source port of a flow between two QPs without flow label, as Linux computes it.
uint16_t default_udp_sport(uint32_t local_qpn, uint32_t remote_qpn);

class Context {
 public:
  Context(Nic& nic, pcie::Hub& hub, const Profile& profile, Observers& observers, unsigned nic_id);

  /// Bus enumeration: finds the device, sizes and places its BARs, sets MPS, MRRS and bus mastering from the profile.
  /// Untimed; done by System before time starts. Throws SimError when the device is not there.
  void enumerate();
  uint64_t bar(unsigned n) const { return bar_[n]; }

  // ---- Function-level reset and removal ----
  /// Resets the function and enters the lost state.
  void flr();
  /// The device is gone, or in reset: what is outstanding, and what is posted from now on, completes with WR_FLUSH_ERR,
  /// made by the driver, behind the completions that are visible already. Commands throw SimError. Entered by flr(),
  /// and when a read finds that nobody answers.
  void device_lost();
  bool lost() const { return lost_; }
  /// Sets the device up again, after a reset or when it has been plugged in again: waits until it has no transactions
  /// pending (5 us at least), enumerates, writes the contexts of completion queues and memory regions. QPs are in
  /// RESET: modify_qp_rts makes them usable. Completions not polled yet stay. SimError when there is no device. Takes
  /// commands.
  void recover();

  // Errors: what a caller got wrong is an InputError, thrown before anything has been changed. A NIC that does not
  // answer is a SimError. CQs and QPs live as long as the Context; there is no destroying them.

  /// Memory for buffers: returns the offset in its space (bump allocator, 4 KiB aligned). Untimed. InputError when it
  /// is used up.
  uint64_t alloc(Space space, uint64_t length);
  /// Pages of 2^log_page B (12..30) for `length` bytes, no two of them neighbours, in no order: their offsets, as
  /// MrInit::pages wants them. Untimed. InputError when the memory is used up.
  std::vector<uint64_t> alloc_scattered(Space space, uint64_t length, unsigned log_page = 12);

  // ---- Memory regions and GPUDirect windows: docs/howto/memory-regions.md. All of them take commands.
  /// Registers memory. GPU memory is pinned (Hub::gpu_pages), and reached through a window of the driver's, as long as
  /// there are free ones, else by a list of pages. InputError for bytes that are not in the memory, or go round the end
  /// of the address space, for rights that need others, lists that are too short or misaligned, and when all 65535 keys
  /// are in use. When the owner of GPU memory takes it back (PinnedPages::revoke), its regions' keys become invalid,
  /// and what is under way ends first; the key is in use until dereg_mr.
  Mr reg_mr(const MrInit& init) { return regions_.reg(init); }
  /// Bytes [offset, offset + length) of a space under virtual address va, with all rights.
  Mr reg_mr(uint32_t pd, Space space, uint64_t offset, uint64_t length, uint64_t va) {
    MrInit init;
    init.pd = pd;
    init.space = space;
    init.offset = offset;
    init.length = length;
    init.va = va;
    return regions_.reg(init);
  }
  /// Takes the key back; WQEs that still use it get a local protection error. When it returns, what was read under the
  /// key has been read, and GPU memory is unpinned. InputError for a key that is not registered. Of a lost device it
  /// only keeps the books.
  void dereg_mr(const Mr& mr) { regions_.dereg(mr); }
  /// Whether the owner of its GPU memory has taken that back.
  bool mr_revoked(const Mr& mr) const { return regions_.revoked(mr); }
  /// Opens a GPUDirect window (0..63), or changes an open one, also while traffic runs: in the documented order, so
  /// that no access meets half a change, and the old memory is not read any more when it returns. What comes to a
  /// window in between is refused. The memory is pinned as long as the window is open, and revoked like a region's.
  /// InputError for a window of no bytes, round the end of the address space, or not in GPU memory, and for one that
  /// the driver uses itself (it takes them from 63 down).
  void set_window(unsigned index, const Window& window) { regions_.set_window(index, window); }
  /// The same for its end: nothing is let through any more, reads under way have ended, the memory is unpinned.
  void close_window(unsigned index) { regions_.close_window(index); }
  bool window_open(unsigned index) const { return regions_.window_open(index); }
  /// A completion queue of 2^log_size entries in host memory, log_size 0..22, at most 1024 of them. Takes a command.
  Cq* create_cq(unsigned log_size) { return create_cq(log_size, nullptr); }
  /// The same with completion events by way of an MSI-X vector (0..63), whose table entry is written and unmasked.
  Cq* create_cq(unsigned log_size, CompChannel* channel, unsigned comp_vector = 0, const Moderation& moderation = {});
  /// Lives as long as the Context.
  CompChannel* create_comp_channel();
  /// Asks for one event when there is a completion that has not been polled yet (solicited_only: a failed one). As with
  /// verbs: arm, poll what came before, then wait. A posted write. InputError for a CQ without channel.
  void req_notify_cq(Cq* cq, bool solicited_only = false);
  /// Waits for the next event: the message has arrived (host.interrupt_latency later its handler runs, and
  /// host.context_switch later the thread); null when `timeout` has passed. There is nothing to acknowledge.
  Cq* get_cq_event(CompChannel* channel, const Time& timeout);
  /// A QP with the lowest free number from 1 on, in RESET; its ring is taken from device or host memory. Untimed.
  /// InputError when numbers or device memory are used up.
  Qp* create_qp(Cq* cq, const QpInit& init);
  /// A QP with a chosen number (0..1023).
  Qp* create_qp(Cq* cq, const QpInit& init, uint32_t qpn);
  /// Any state to RTS in one step, by way of RESET: writes the whole context and has the NIC take it. What was posted
  /// before is forgotten. InputError for a path MTU, a port, a priority or a QP number that can't be. Takes a command.
  void modify_qp_rts(Qp* qp, const QpPath& path);
  /// To error: WQEs not yet sent are flushed. InputError in RESET. Takes a command.
  void modify_qp_err(Qp* qp);
  /// One step, as ibv_modify_qp: RESET to INIT, INIT to INIT or RTR, RTR to RTS, RTS to RTS, any but RESET to ERR, any
  /// to RESET. The NIC refuses others (InputError), and the QP stays what it was. Entering RTS takes sq_psn and ip_id
  /// from the path; RTS to RTS keeps the NIC's, and needs all that was posted to be completed (InputError). To RESET,
  /// what was posted is forgotten. To RESET and ERR the path counts for nothing. Takes a command, to RTS two.
  void modify_qp(Qp* qp, QpState to, const QpPath& path = {});

  // Queries: what the NIC has at the moment at which it looks, while traffic runs, too. Each takes a command and reads
  // (query_mr: a read).
  QpStatus query_qp(const Qp* qp);
  CqStatus query_cq(const Cq* cq);
  MrStatus query_mr(const Mr& mr);

  /// 64 B blocks of the ring that the request takes: 1 to 4.
  static unsigned wqe_blocks(const Qp& qp, const SendWr& wr);
  /// Writes the WQEs and rings one doorbell for all (bf: one push a WQE). Throws InputError, with nothing posted, on a
  /// length over 2 GiB and when the ring has not room for all of them: a WQE's block is free again once poll_cq has
  /// returned its completion or that of a later WQE of the QP. Threads that post to one QP take turns. Takes
  /// host.post_cost and the stores' time.
  ///
  /// A ring in host memory has a doorbell record, as in mlx5: after the WQEs and before the doorbell the producer index
  /// is stored at Qp::db_record, 32 bits, big-endian, the upper 16 zero. It costs a store (host.store_gap). This NIC
  /// does not read it: its doorbell carries the index.
  void post_send(Qp* qp, const std::vector<SendWr>& wrs, pcie::Initiator who = pcie::Initiator::kCpu);
  void post_send(Qp* qp, const SendWr& wr, pcie::Initiator who = pcie::Initiator::kCpu) {
    post_send(qp, std::vector<SendWr>{wr}, who);
  }
  /// The same without the doorbell, which ring_doorbell(qp->qpn, qp->pi) gives later. Not for bf (InputError).
  void queue_send(Qp* qp, const std::vector<SendWr>& wrs, pcie::Initiator who = pcie::Initiator::kCpu);
  /// One raw WQE (64 B, or 128 B for bf) into the ring at the producer index, without any check, that for room
  /// included; no doorbell.
  void write_raw_wqe(Qp* qp, const std::vector<uint8_t>& wqe);
  /// A bare doorbell with any value, for any page.
  void ring_doorbell(uint32_t qpn, uint32_t value, pcie::Initiator who = pcie::Initiator::kCpu);

  /// Takes a completion if one is visible. No time passes; the consumer index goes to the NIC as a posted write.
  std::optional<WorkCompletion> poll_cq(Cq* cq);
  /// Waits for one; nothing when `timeout` has passed. sc_max_time() waits without limit.
  std::optional<WorkCompletion> wait_cq(Cq* cq, const Time& timeout);

  // Registers, over PCIe, at an offset in BAR 0, 1 or 2
  /// A posted write: returns at once.
  void write32(unsigned bar, uint64_t offset, uint32_t value);
  /// A read of 1..8 bytes; waits for the answer. SimError when the NIC refuses.
  uint64_t read(unsigned bar, uint64_t offset, unsigned bytes);

 private:
  friend class Regions;
  bool retire(Qp& qp, WorkCompletion& wc);
  std::optional<WorkCompletion> take(Cq& cq, bool* known = nullptr);
  void flush(Cq& cq);
  void interrupt(unsigned vector);
  void set_up_vector(unsigned vector);
  bool beyond_arm(const Cq& cq) const;
  void check_alive() const;
  void write_cqc(const Cq& cq);
  void write_wqes(Qp* qp, const std::vector<SendWr>& wrs, pcie::Initiator who);
  golden::Wqe build_wqe(const Qp& qp, const SendWr& wr) const;
  void store_block(const Qp& qp, uint16_t index, const uint8_t* block, unsigned bytes, pcie::Initiator who);
  void store_record(const Qp& qp);
  void write64(unsigned bar, uint64_t offset, uint64_t value);
  uint64_t alloc_device(uint64_t bytes);
  void write_block(uint64_t bar1_offset, const uint8_t* bytes, unsigned len);
  void command(unsigned op, uint32_t index);
  regs::CmdResult issue(unsigned op, uint32_t index);
  regs::CmdResult try_command(unsigned op, uint32_t index);
  static void accept(regs::CmdResult result, unsigned op, uint32_t index);
  void set_context(Qp* qp, const rtl::qpc_t& context, unsigned op);
  rtl::query_t query(unsigned op, uint32_t index);
  rtl::qpc_t context_of(const Qp& qp, const QpPath& path, QpState state) const;
  void write_qpc(const Qp& qp, const rtl::qpc_t& context);
  std::vector<uint8_t> read_bytes(unsigned bar, uint64_t offset, unsigned bytes);
  Nic& nic_;
  pcie::Hub& hub_;
  Observers& observers_;
  unsigned nic_id_;
  Time post_cost_, store_gap_, interrupt_latency_;
  unsigned mps_, mrrs_, rcb_, tag_bits_;
  uint64_t cpl_timeout_ns_;
  bool lost_ = false;
  std::array<uint64_t, 3> bar_{};
  uint64_t next_host_ = 1 << 20, next_gpu_ = 1 << 20, next_ring_;
  uint64_t next_record_ = 0;  ///< in host memory; a page is full at its end
  uint32_t next_cqn_ = 0, next_qpn_ = 1;
  Regions regions_;
  bool commanding_ = false;  ///< one command at a time, so that its result is the latest
  sc_core::sc_event command_ended_;
  std::deque<std::unique_ptr<Cq>> cqs_;
  std::deque<std::unique_ptr<CompChannel>> channels_;
  std::map<uint64_t, Cq*> by_ring_;  ///< by the ring's bus address; rings don't overlap
  std::deque<std::unique_ptr<Qp>> qps_;
  std::map<uint32_t, Qp*> by_qpn_;
};

}  // namespace rnic::host
