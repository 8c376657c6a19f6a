// SPDX-License-Identifier: Apache-2.0
// Measurements of DMA over a PCIe link, after pcie-bench (Neugebauer et al., "Understanding PCIe performance for end
// host networking", SIGCOMM 2018): latency and bandwidth of reads and writes by size, offset and window of addresses.
// What each counts: docs/pcie-bench.md.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "rnic/pcie/dma_system.h"

namespace rnic::pcie {

enum class BenchOp : uint8_t {
  kLatRd,     ///< one read at a time
  kLatWrrd,   ///< a write, then a read of the same bytes, which pushes it
  kLatFlush,  ///< a write, then a read of length 0, which pushes it
  kBwRd,      ///< reads, as many in flight as allowed
  kBwWr,      ///< writes likewise
  kBwRdwr,    ///< reads and writes in turns
};
inline constexpr std::array kBenchOps{BenchOp::kLatRd, BenchOp::kLatWrrd, BenchOp::kLatFlush,
                                      BenchOp::kBwRd,  BenchOp::kBwWr,    BenchOp::kBwRdwr};
const char* bench_name(BenchOp op);
inline bool is_latency(BenchOp op) {
  return op == BenchOp::kLatRd || op == BenchOp::kLatWrrd || op == BenchOp::kLatFlush;
}

inline constexpr unsigned kBenchMaxBytes = 4096;
inline constexpr unsigned kBenchMaxOutstanding = 4096;
inline constexpr uint64_t kBenchMaxWindow = uint64_t{1} << 30;

struct BenchSpec {
  BenchOp op = BenchOp::kLatRd;
  unsigned size = 64;          ///< bytes of a transfer, 1..kBenchMaxBytes
  unsigned offset = 0;         ///< of a transfer in its first cache line, 0..63
  uint64_t window = 1 << 20;   ///< bytes of memory that the transfers go over; of BW_RDWR one for each kind
  bool random = false;         ///< units of the window in random order instead of one after the other
  bool gpu = false;            ///< GPU memory instead of the host's
  bool warm = false;           ///< the CPU has just used the window, instead of having flushed its caches
  uint64_t transfers = 1000;   ///< BW_RDWR: reads and writes together
  unsigned outstanding = 512;  ///< transfers in flight; a latency has one
  uint64_t seed = 1;
  unsigned attr = 0;  ///< as in tlp_req_t

  /// A transfer has this much of the window to itself: whole cache lines.
  unsigned unit() const { return (offset + size + 63) / 64 * 64; }
};

/// The most payload that each resource lets through, in each direction where there are two.
struct BenchBound {
  double up_gbps = 0, down_gbps = 0;  ///< link: header, framing and payload of TLPs, what else the link has sent
  double out_gbps = 0, in_gbps = 0;   ///< beats of 64 B at the pins, where every TLP starts a new one
  double flight_gbps = 0;             ///< transfers, tags or buffer over the time that one is in flight
  double memory_gbps = 0;             ///< the memory's own limit
  double link_gbps() const { return std::min(up_gbps, down_gbps); }
  double beat_gbps() const { return std::min(out_gbps, in_gbps); }
  double gbps() const { return std::min({link_gbps(), beat_gbps(), flight_gbps, memory_gbps}); }
  /// "link", "beat", "in flight" or "memory".
  const char* holds() const;
};

/// A named part of a latency. Those of one transfer add up to it.
struct BenchPart {
  std::string name;
  uint64_t ps = 0;
  std::string key;  ///< of the profile, where it comes from one
};

struct BenchResult {
  BenchSpec spec;
  // Bandwidth: payload, in each direction where there are two
  double gbps = 0;
  uint64_t measured_ps = 0, measured_transfers = 0;
  BenchBound bound;
  double ratio() const { return bound.gbps() == 0 ? 0 : gbps / bound.gbps(); }
  // Latency
  std::vector<double> latencies_ns;
  std::vector<BenchPart> parts;  ///< of a transfer with the median latency
  // Checks
  uint64_t compared_bytes = 0, wrong_bytes = 0;  ///< read, and in memory afterwards
  uint64_t guard_bytes = 0, guard_wrong = 0;     ///< round the transfers
  uint64_t failed = 0;                           ///< reads with a bad status
  bool good() const { return wrong_bytes == 0 && guard_wrong == 0 && failed == 0; }
};

/// Raw rate of one direction of a link in Gb/s, encoding taken off; Gen6: of the bytes for TLPs in its flits.
double link_raw_gbps(unsigned generation, unsigned lanes);

/// Bounds for transfers to these addresses, one after the other; flight_gbps is infinite. `extra_*`: bytes that the
/// NIC's link sends beside TLPs (DLLPs, repeated TLPs) for each byte of payload. Completions are cut as the profile
/// says.
BenchBound bench_bound(const Profile& profile, BenchOp op, bool gpu, const std::vector<uint64_t>& addresses,
                       unsigned size, double extra_up = 0, double extra_down = 0);

/// Throws InputError naming the command's option for a spec that is out of range.
void check_bench(const BenchSpec& spec);

/// Runs one measurement, in a thread of the simulation. Nothing else may use the engine meanwhile. Throws as
/// check_bench().
BenchResult run_bench(DmaSystem& system, const BenchSpec& spec);

}  // namespace rnic::pcie
