// SPDX-License-Identifier: Apache-2.0
// What a node's counters, registers and PCIe neighbours say at the end of a run, as JSON: the input of diagnose.h.
#pragma once

#include <nlohmann/json.hpp>

namespace rnic {

class BarDecoder;
class Nic;
namespace pcie {
class Hub;
}

/// Counters by name, health with its changes, error log (oldest first). docs/outputs.md lists the keys.
nlohmann::json nic_state(const BarDecoder& bars);
/// The same and `pcie`: reads that failed, by memory; what root complex and GPU refused; use of the credits.
nlohmann::json node_state(Nic& nic, const pcie::Hub& hub);

}  // namespace rnic
