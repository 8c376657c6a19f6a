// SPDX-License-Identifier: Apache-2.0
// Apart from result_json.cpp, because the versions come with the Verilated NIC.
#include "rnic/nic/nic.h"
#include "rnic/observe/run_directory.h"

namespace rnic {
nlohmann::json result_header(const std::string& command, const Profile& p, uint64_t seed) {
  const BuildInfo b = build_info();
  return {{"schema_version", kResultSchemaVersion},
          {"command", command},
          {"seed", seed},
          {"profile", {{"name", p.name()}, {"description", p.description()}}},
          {"versions",
           {{"rnicsim", b.version}, {"verilator", b.verilator}, {"systemc", b.systemc}, {"compiler", b.compiler}}},
          {"build",
           {{"data_width_bits", b.data_width},
            {"read_tags", b.read_tags},
            {"qpc_cache_entries", b.qpc_cache_entries},
            {"mac_ports", b.mac_ports}}},
          {"counters", nlohmann::json::object()}};
}

}  // namespace rnic
