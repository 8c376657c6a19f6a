// SPDX-License-Identifier: Apache-2.0
// The driver of one NIC, in the shape of libibverbs. Nothing here is free of simulated time: every call that touches
// the NIC goes over PCIe as TLPs, and must be made from a SystemC thread (System::spawn).
//
// Not copied from verbs: send queues have a place (`device` or `bf`), buffers live in host or GPU memory by name, and the
// CPU or the GPU can be the one who posts.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rnic/core/types.h"
#include "rnic/observe/observer.h"
#include "rnic/pcie/hub.h"
#include "rnic/profile/profile.h"

namespace rnic {
class Nic;
}

namespace rnic::host {

enum class Space : uint8_t { kHost, kGpu };
enum class QpType : uint8_t { kRc, kUc };
enum class SqWhere : uint8_t {
  kBf,      ///< pushed by BlueFlame; the ring copy in device memory is written, too
  kDevice,  ///< ring in device memory behind BAR1, doorbell
};
enum class WrOpcode : uint8_t { kRdmaWrite, kRdmaWriteImm, kSend, kSendImm };
enum class WcStatus : uint8_t {  ///< numbers of ibv_wc_status
  kSuccess = 0, kLocLenErr = 1, kLocQpOpErr = 2, kLocProtErr = 4, kWrFlushErr = 5, kGeneralErr = 21,
};
const char* to_string(WcStatus s);   ///< as ibv_wc_status_str: "local protection error"
const char* to_string(WrOpcode op);  ///< "RDMA_WRITE", "RDMA_WRITE_IMM", "SEND", "SEND_IMM"

/// A registered memory region.
struct Mr {
  uint32_t lkey, rkey;
  uint64_t addr;    ///< virtual address of the first byte
  uint64_t length;  ///< bytes
  Space space;
  uint64_t offset;  ///< of the first byte in its memory
  uint32_t pd;
};

struct Cq {
  uint32_t cqn;
  unsigned log_size;
  uint64_t ring;   ///< bus address
  uint32_t ci = 0; ///< consumer index
};

struct QpInit {
  QpType type = QpType::kUc;
  SqWhere where = SqWhere::kDevice;
  unsigned log_sq_size = 6;  ///< ring of 2^n 64 B blocks, 0..15
  uint32_t pd = 1;
};

/// Everything in a packet's headers that does not come from the work request.
struct QpPath {
  uint32_t dest_qpn = 0x12;
  uint32_t sq_psn = 0;
  unsigned mtu = 4096;  ///< bytes: 256, 512, 1024, 2048, 4096
  std::array<uint8_t, 6> smac{0x02, 0, 0, 0, 0, 0x01}, dmac{0x02, 0, 0, 0, 0, 0x02};
  std::array<uint8_t, 4> sip{10, 0, 0, 1}, dip{10, 0, 0, 2};
  uint8_t tos = 0x02;  ///< DSCP << 2 | ECN; ECT(0) as real NICs send
  uint8_t ttl = 64;
  uint16_t pkey = 0xffff;
  std::optional<uint16_t> udp_sport;  ///< default: from the two QPNs, as Linux does
  uint8_t prio = 3;
  uint8_t port = 0;
  bool mig_req = true;
  uint16_t ip_id = 0;
  bool ip_id_fixed = false;
};

struct Qp {
  uint32_t qpn;
  QpInit init;
  Cq* cq;
  uint64_t ring;     ///< offset in device memory
  uint16_t pi = 0;   ///< producer index, in 64 B blocks
  unsigned bf_buffer = 0;
  std::map<uint16_t, uint64_t> wr_ids;  ///< by WQE counter, until completed
};

struct SendWr {
  uint64_t wr_id = 0;
  WrOpcode opcode = WrOpcode::kRdmaWrite;
  bool signaled = true;
  bool solicited = false;
  uint32_t imm = 0;
  uint64_t addr = 0;     ///< local; one data segment
  uint64_t length = 0;   ///< 0 .. 2 GiB
  uint32_t lkey = 0;
  uint64_t remote_addr = 0;
  uint32_t rkey = 0;
};

struct WorkCompletion {
  uint64_t wr_id;
  WcStatus status;
  uint8_t vendor_err;
  uint32_t byte_len;
  uint32_t qpn;
  uint16_t wqe_counter;
  uint8_t wqe_opcode;
  uint64_t timestamp_ns;  ///< hardware time stamp; 0 in an error completion
};

/// UDP source port of a flow between two QPs without flow label, as Linux computes it.
uint16_t default_udp_sport(uint32_t local_qpn, uint32_t remote_qpn);

class Context {
 public:
  Context(Nic& nic, pcie::Hub& hub, const Profile& profile, Observers& observers, unsigned nic_id);

  /// Bus enumeration: finds the device, sizes and places its BARs, sets MPS, MRRS and bus mastering from the profile.
  /// Untimed; done by System before time starts. Throws SimError when the device is not there.
  void enumerate();
  uint64_t bar(unsigned n) const { return bar_[n]; }

  /// Memory for buffers: returns the offset in its space (bump allocator, 4 KiB aligned).
  uint64_t alloc(Space space, uint64_t length);
  /// Registers [offset, offset+length) of a space under virtual address va.
  Mr reg_mr(uint32_t pd, Space space, uint64_t offset, uint64_t length, uint64_t va);
  void dereg_mr(const Mr& mr);
  Cq* create_cq(unsigned log_size);
  Qp* create_qp(Cq* cq, const QpInit& init);
  /// A QP with a chosen number (0..1023).
  Qp* create_qp(Cq* cq, const QpInit& init, uint32_t qpn);
  /// RESET to RTS in one step: writes the whole context and has the NIC take it.
  void modify_qp_rts(Qp* qp, const QpPath& path);
  /// To error: WQEs not yet sent are flushed.
  void modify_qp_err(Qp* qp);

  /// Writes the WQEs and rings one doorbell for all (bf: one push a WQE). Throws InputError on a length over 2 GiB or a
  /// full ring. Takes host.post_cost and the stores' time.
  void post_send(Qp* qp, const std::vector<SendWr>& wrs, pcie::Initiator who = pcie::Initiator::kCpu);
  void post_send(Qp* qp, const SendWr& wr, pcie::Initiator who = pcie::Initiator::kCpu) {
    post_send(qp, std::vector<SendWr>{wr}, who);
  }
  /// One raw WQE block (64 B, or 128 B for bf) into the ring at the producer index, without any check; no doorbell.
  void write_raw_wqe(Qp* qp, const std::vector<uint8_t>& wqe);
  /// A bare doorbell with any value, for any page.
  void ring_doorbell(uint32_t qpn, uint32_t value, pcie::Initiator who = pcie::Initiator::kCpu);

  /// Takes a completion if one is visible.
  std::optional<WorkCompletion> poll_cq(Cq* cq);
  /// Waits for one; nothing when `timeout` has passed.
  std::optional<WorkCompletion> wait_cq(Cq* cq, const Time& timeout);

  // Registers, over PCIe
  void write32(unsigned bar, uint64_t offset, uint32_t value);
  uint64_t read(unsigned bar, uint64_t offset, unsigned bytes);

 private:
  void write_block(uint64_t bar1_offset, const uint8_t* bytes, unsigned len);
  void command(unsigned op, uint32_t index);
  Nic& nic_;
  pcie::Hub& hub_;
  Observers& observers_;
  unsigned nic_id_;
  Time post_cost_, store_gap_;
  unsigned mps_, mrrs_, rcb_;
  std::array<uint64_t, 3> bar_{};
  uint64_t next_host_ = 1 << 20, next_gpu_ = 1 << 20, next_ring_;
  uint32_t next_mkey_ = 1, next_cqn_ = 0, next_qpn_ = 1;
  uint32_t commands_ = 0;
  std::deque<std::unique_ptr<Cq>> cqs_;
  std::deque<std::unique_ptr<Qp>> qps_;
  std::map<uint32_t, Qp*> by_qpn_;
  sc_core::sc_event host_written_;
};

}  // namespace rnic::host
