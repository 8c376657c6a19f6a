// SPDX-License-Identifier: Apache-2.0
// What a work request is to the NIC, and to a reader.
#include "rnic/core/error.h"
#include "rnic/host/verbs.h"

namespace rnic::host {

const char* to_string(QpState s) {
  switch (s) {
    case QpState::kReset:
      return "RESET";
    case QpState::kInit:
      return "INIT";
    case QpState::kRtr:
      return "RTR";
    case QpState::kRts:
      return "RTS";
    case QpState::kErr:
      return "ERR";
  }
  return "unknown";
}

const char* to_string(WcStatus s) {
  switch (s) {
    case WcStatus::kSuccess:
      return "success";
    case WcStatus::kLocLenErr:
      return "local length error";
    case WcStatus::kLocQpOpErr:
      return "local QP operation error";
    case WcStatus::kLocProtErr:
      return "local protection error";
    case WcStatus::kWrFlushErr:
      return "Work Request Flushed Error";
    case WcStatus::kGeneralErr:
      return "general error";
  }
  return "unknown";
}

const char* to_string(WrOpcode op) {
  switch (op) {
    case WrOpcode::kRdmaWrite:
      return "RDMA_WRITE";
    case WrOpcode::kRdmaWriteImm:
      return "RDMA_WRITE_IMM";
    case WrOpcode::kSend:
      return "SEND";
    case WrOpcode::kSendImm:
      return "SEND_IMM";
    case WrOpcode::kSendWithInv:
      return "SEND_WITH_INV";
    case WrOpcode::kRdmaRead:
      return "RDMA_READ";
    case WrOpcode::kAtomicCmpAndSwp:
      return "ATOMIC_CMP_AND_SWP";
    case WrOpcode::kAtomicFetchAndAdd:
      return "ATOMIC_FETCH_AND_ADD";
  }
  return "unknown";
}

golden::Transport transport(QpType type) {
  switch (type) {
    case QpType::kRc:
      return golden::Transport::kRc;
    case QpType::kUc:
      return golden::Transport::kUc;
    case QpType::kUd:
      return golden::Transport::kUd;
  }
  throw SimError("unknown QP type");
}

golden::WqeOpcode wqe_opcode(WrOpcode op) {
  switch (op) {
    case WrOpcode::kRdmaWrite:
      return golden::WqeOpcode::kWrite;
    case WrOpcode::kRdmaWriteImm:
      return golden::WqeOpcode::kWriteImm;
    case WrOpcode::kSend:
      return golden::WqeOpcode::kSend;
    case WrOpcode::kSendImm:
      return golden::WqeOpcode::kSendImm;
    case WrOpcode::kSendWithInv:
      return golden::WqeOpcode::kSendInval;
    case WrOpcode::kRdmaRead:
      return golden::WqeOpcode::kRead;
    case WrOpcode::kAtomicCmpAndSwp:
      return golden::WqeOpcode::kCmpSwap;
    case WrOpcode::kAtomicFetchAndAdd:
      return golden::WqeOpcode::kFetchAdd;
  }
  throw SimError("unknown work request opcode");
}

unsigned max_inline_data(QpType type, WrOpcode opcode) {
  if (opcode == WrOpcode::kRdmaRead || opcode == WrOpcode::kAtomicCmpAndSwp || opcode == WrOpcode::kAtomicFetchAndAdd) {
    return 0;
  }
  return golden::max_inline(transport(type), wqe_opcode(opcode));
}

uint16_t default_udp_sport(uint32_t local_qpn, uint32_t remote_qpn) {
  uint64_t v = uint64_t{local_qpn} * remote_qpn;
  v ^= v >> 20;
  v ^= v >> 40;
  const uint32_t fl = v & 0xfffff;
  return static_cast<uint16_t>(((fl & 0x3fff) ^ ((fl & 0xfc000) >> 14)) | 0xc000);
}

}  // namespace rnic::host
