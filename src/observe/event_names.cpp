// SPDX-License-Identifier: Apache-2.0
#include "rnic/observe/observer.h"

namespace rnic {

const char* event_name(EventKind kind) {
  switch (kind) {
    case EventKind::kDbStore:
      return "db_store";
    case EventKind::kDbPins:
      return "db_pins";
    case EventKind::kDb:
      return "db";
    case EventKind::kWqe:
      return "wqe";
    case EventKind::kRdIssue:
      return "rd_issue";
    case EventKind::kRdPins:
      return "rd_pins";
    case EventKind::kMemRdStart:
      return "mem_rd_start";
    case EventKind::kMemRdEnd:
      return "mem_rd_end";
    case EventKind::kCplPins:
      return "cpl_pins";
    case EventKind::kRdDone:
      return "rd_done";
    case EventKind::kDmReq:
      return "dm_req";
    case EventKind::kDmRsp:
      return "dm_rsp";
    case EventKind::kMac:
      return "mac";
    case EventKind::kWireFirst:
      return "wire_first";
    case EventKind::kWireLast:
      return "wire_last";
    case EventKind::kCqeIssue:
      return "cqe_issue";
    case EventKind::kCqeVisible:
      return "cqe_visible";
  }
  return "unknown";
}

}  // namespace rnic
