// SPDX-License-Identifier: Apache-2.0
// The stage table: where each nanosecond between doorbell and wire went, from measured instants only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rnic/observe/observer.h"
#include "rnic/profile/profile.h"

namespace rnic {

namespace pcie {
class Hub;
}

/// Who spends the time of a part.
enum class Share : uint8_t {
  kRtl,    ///< whole clock cycles of the RTL
  kAlign,  ///< waiting for the clock edge that sees an arrival
  kModel,  ///< a model's latency (memories, MAC, BAR decoding, CPU)
  kLink,   ///< PCIe link: serialization and flight
};
const char* to_string(Share s);

struct StagePart {
  std::string what;  ///< "RTL: doorbell to device memory read"
  Share share;
  uint64_t start_ps, end_ps;
  std::vector<std::string> keys;  ///< profile keys whose values make up this part
};

struct Stage {
  std::string name;  ///< "WQE fetch", "DMA read", "packetize", "MAC TX", "CQE write"
  uint64_t start_ps, end_ps;
  uint64_t start_cycle, end_cycle;
  double budget_ns;              ///< F5's duration, and extra_cycles; 0: none
  std::vector<StagePart> parts;  ///< gapless from start to end
  double budget_start_ns = 0;    ///< F5's window, ns from T0; both 0: none
  double budget_end_ns = 0;
  int extra_cycles = 0;  ///< that the RTL declares beyond ours: the budget holds them, the window all up to here
  uint64_t duration_ps() const { return end_ps - start_ps; }
  uint64_t share_ps(Share s) const;
};

/// Of one message. A message of several packets: WQE fetch and the first packet's stages; last bit of the last packet.
struct StageTable {
  unsigned nic, qpn;
  uint16_t wqe;
  std::optional<uint64_t> store_ps;  ///< initiator's store
  uint64_t t0_ps;                    ///< doorbell at the pins
  std::vector<Stage> stages;
  uint64_t first_bit_ps, last_bit_ps;
  std::optional<uint64_t> cqe_issued_ps, cqe_visible_ps;
};

/// Clock of a NIC.
struct ClockInfo {
  uint64_t phase_ps, period_ps;
};

/// Latencies of models, where known. With them a latency and the wait beside it are parts of their own; without them
/// they are one part, or for BAR decoding taken as a whole number of cycles.
struct ModelLatencies {
  std::optional<uint64_t> bar_decode_ps, mac_tx_ps, host_write_ps;
  std::optional<uint64_t> devmem_ps{};  ///< of a hit in the L2; what takes longer went to the DDR
  /// Where the payload lies: decides which keys the read's parts name. Unknown: those of both memories.
  enum class Payload : uint8_t { kUnknown, kGpu, kHost } payload = Payload::kUnknown;
  /// Keys of what lies between the NIC and each memory, in order. Empty: those of the direct placement.
  std::vector<std::string> gpu_way{}, host_way{};
};
/// With the ways of this hub.
ModelLatencies model_latencies(const Profile& p, ModelLatencies::Payload payload, const pcie::Hub& hub);
/// With those of the direct placement.
ModelLatencies model_latencies(const Profile& p, ModelLatencies::Payload payload = ModelLatencies::Payload::kUnknown);

/// Cycles of each stage beyond those of our RTL.
struct ExtraCycles {
  int wqe_fetch = 0, dma_read = 0, packetize = 0, cqe_write = 0;
};
/// Each block's extra cycles go to the stages that its way lies in, as often as it lies in it. Throws SimError for a
/// block that has no place.
ExtraCycles extra_cycles(const std::map<std::string, int>& of_blocks);
/// What an RTL override of this build declares (rnic/rtl/latency.h); by block, those that are not 0.
std::map<std::string, int> declared_extra_cycles();

/// Builds the table of WQE `wqe` of `qpn` from events (in order of report; need not be sorted). Throws SimError that
/// names the instant that is missing. A message without payload has no DMA read stage, one without CQE no CQE write.
/// Of WQEs with equal index (it counts modulo 65536) the first one is shown. Device memory reads carry no packet: those
/// that overlap with the message's way to its first MRd are taken as its own, which holds for a single message in
/// flight.
StageTable make_stage_table(const std::vector<Event>& events, unsigned nic, unsigned qpn, uint16_t wqe,
                            const ClockInfo& clock, const ModelLatencies& known = {}, const ExtraCycles& extra = {});

}  // namespace rnic
