// SPDX-License-Identifier: Apache-2.0
// A scenario: nodes, memory regions, queue pairs, operations, faults and checks, read from a TOML file. This is the
// parsed form only; who runs it decides how. Times are ns from the instant at which all queue pairs are ready to send.
#pragma once

#include <cstdint>
#include <istream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rnic/core/error.h"
#include "rnic/host/verbs.h"

namespace rnic::workload {

struct ScenarioNode {
  std::string name;
  uint64_t phase_ps = 0;  ///< of the core clock
};

struct ScenarioRegion {
  std::string name;
  unsigned line = 0;
  unsigned node = 0;
  host::Space space = host::Space::kGpu;
  uint64_t size = 4096;
  uint32_t pd = 1;
  uint32_t access = host::kAllRights;  ///< host::Access flags
  bool scattered = false;              ///< pages that do not follow one another
  unsigned log_page = 12;              ///< of those: 2^n B
  std::vector<uint64_t> holes;         ///< numbers of pages that the list lacks
};

struct ScenarioQp {
  std::string name;
  unsigned line = 0;
  unsigned node = 0;
  std::optional<uint32_t> qpn;
  host::QpInit init;
  host::QpPath path;
  unsigned log_cq_size = 8;  ///< without the key, at least log_sq_size
};

/// `count` equal messages of one queue pair.
struct ScenarioOp {
  std::string name;
  unsigned line = 0;
  unsigned qp = 0;
  host::WrOpcode opcode = host::WrOpcode::kRdmaWrite;
  unsigned region = 0;
  uint64_t offset = 0;  ///< in the region
  uint64_t size = 64;   ///< bytes of each message
  uint64_t count = 1;
  unsigned batch = 1;  ///< work requests posted with one doorbell
  double at_ns = 0;    ///< not before
  bool signaled = true;
  bool solicited = false;
  bool send_inline = false;
  uint32_t imm = 0;                    ///< send_inv: the rkey to invalidate
  uint64_t compare_add = 0, swap = 0;  ///< atomics
  struct Segment {
    uint64_t offset = 0;  ///< in the region
    uint64_t size = 0;
  };
  std::vector<Segment> segments;  ///< instead of offset and size
  host::AddressHandle ah;         ///< of a UD queue pair
  std::optional<uint32_t> lkey;   ///< another one than the region's: a fault
  uint32_t rkey = 0x1234;
  uint64_t remote_addr = 0x10000000;
  pcie::Initiator initiator = pcie::Initiator::kCpu;
};

enum class FaultKind : uint8_t {
  kDoorbell,      ///< a bare doorbell with any value, for any QP number
  kRawWqe,        ///< a WQE's bytes written into a ring as they are, and rung
  kMmio,          ///< a 4 B write to any offset of a BAR
  kQpError,       ///< the queue pair is moved to the error state
  kPause,         ///< a PFC frame pauses a priority of port 0
  kRead,          ///< a read by the NIC is answered wrongly
  kStray,         ///< a completion that nobody asked for
  kFlr,           ///< function-level reset; the driver sets the device up again
  kRemoval,       ///< the NIC is pulled out, and plugged in and set up again after `for_ns`
  kTemperature,   ///< the chip's temperature is `celsius` from now on
  kCqOverrun,     ///< `value` signaled messages without payload, whether their completions have room or not
  kBusMasterOff,  ///< Bus Master Enable is cleared for `for_ns`
  kUnpin,         ///< the pins of all GPU memory are taken back; the driver does not know
};

struct ScenarioFault {
  std::string name;
  unsigned line = 0;
  FaultKind kind = FaultKind::kDoorbell;
  unsigned node = 0;
  std::optional<unsigned> qp;
  uint32_t qpn = 0;
  uint32_t value = 0;
  unsigned bar = 0;
  uint64_t offset = 0;
  std::vector<uint8_t> bytes;
  unsigned prio = 3;
  double for_ns = 0;
  double celsius = 0;
  double at_ns = 0;
  pcie::Initiator initiator = pcie::Initiator::kCpu;
  host::Space memory = host::Space::kGpu;  ///< kRead: which one is asked
  uint64_t nth = 0;                        ///< kRead: of the reads that arrive there from at_ns on
  pcie::FaultPlan plan;                    ///< kRead
};

/// What must be true after the run; every member given is one check.
struct ScenarioCheck {
  std::string name;
  unsigned line = 0;
  unsigned node = 0;
  std::optional<unsigned> op;           ///< restricts latencies and completions to one operation
  std::optional<uint64_t> frames;       ///< on the wire
  std::optional<uint64_t> frame_bytes;  ///< without FCS
  std::optional<uint64_t> cqes, cqe_errors;
  std::optional<std::string> status;         ///< of every completion, as ibv_wc_status_str
  std::optional<double> max_latency_ns;      ///< doorbell at the pins to last bit on the wire, of every message
  std::optional<uint64_t> errors_logged;     ///< entries of BAR2's error log
  std::map<std::string, uint64_t> counters;  ///< by the names of ethtool -S and hw_counters
  /// Causes that `rnicsim diagnose` names for the node, no more and no fewer, in any order.
  std::optional<std::vector<std::string>> diagnosis;
};

struct Scenario {
  std::string file, title;
  std::optional<std::string> profile;  ///< a path is made relative to the scenario's folder
  unsigned profile_line = 0;
  std::vector<std::string> set;  ///< "key=value", as --set
  unsigned set_line = 0;
  std::optional<uint64_t> seed;
  std::vector<ScenarioNode> nodes;
  std::vector<ScenarioRegion> regions;
  std::vector<ScenarioQp> qps;
  std::vector<ScenarioOp> ops;
  std::vector<ScenarioFault> faults;
  std::vector<ScenarioCheck> checks;
};

/// Throws InputError with file, line and key: unknown keys and names, wrong types, values out of range, each with what
/// is allowed.
Scenario parse_scenario(const std::string& toml, const std::string& file);
Scenario load_scenario(const std::string& path);

}  // namespace rnic::workload
