// SPDX-License-Identifier: Apache-2.0
// rnicsim version: every tool and library in use.
#include <fmt/format.h>
#include <spdlog/version.h>
#include <toml++/toml.h>
#include <zlib.h>

#include "common.h"
#include "rnic/rtl/latency.h"
#include "table.h"

namespace rnic::cli {

void add_version(CLI::App& app, int& status) {
  auto* sub =
      app.add_subcommand("version", "Versions of all tools and libraries in use, and what the RTL was built for");
  static bool json = false;
  sub->add_flag("--json", json, "As JSON");
  sub->callback([&status] {
    const BuildInfo b = build_info();
    const std::vector<std::pair<std::string, std::string>> versions{
        {"rnicsim", b.version},
        {"Verilator", b.verilator},
        {"SystemC", b.systemc},
        {"compiler", b.compiler},
        {"fmt", fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)},
        {"spdlog", fmt::format("{}.{}.{}", SPDLOG_VER_MAJOR, SPDLOG_VER_MINOR, SPDLOG_VER_PATCH)},
        {"CLI11", CLI11_VERSION},
        {"nlohmann_json", fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR,
                                      NLOHMANN_JSON_VERSION_PATCH)},
        {"toml++", fmt::format("{}.{}.{}", TOML_LIB_MAJOR, TOML_LIB_MINOR, TOML_LIB_PATCH)},
        {"zlib", zlibVersion()},
    };
    const std::vector<std::pair<std::string, unsigned>> build{{"data width, bits", b.data_width},
                                                              {"PCIe reads in flight", b.read_tags},
                                                              {"QP contexts cached", b.qpc_cache_entries},
                                                              {"MAC ports", b.mac_ports}};
    std::vector<std::pair<std::string, int>> extra;  // declared without being replaced: a part of a replaced block
    for (const auto& b : rtl::kExtraLatency) {
      if (b.extra_cycles != 0) extra.emplace_back(b.block, b.extra_cycles);
    }
    status = kGood;
    if (json) {
      nlohmann::json j{{"schema_version", 1}};
      for (const auto& [name, version] : versions) j["versions"][name] = version;
      j["build"] = {{"data_width_bits", b.data_width},
                    {"read_tags", b.read_tags},
                    {"qpc_cache_entries", b.qpc_cache_entries},
                    {"mac_ports", b.mac_ports}};
      j["override"] = {{"modules", nlohmann::json::object()}, {"extra_cycles", nlohmann::json::object()}};
      for (const auto& r : rtl::kReplaced) j["override"]["modules"][std::string(r.block)] = std::string(r.file);
      for (const auto& [block, cycles] : extra) j["override"]["extra_cycles"][block] = cycles;
      fmt::print("{}\n", json_text(j));
      return;
    }
    Table t({"<tool or library", "<version"});
    for (const auto& [name, version] : versions) t.row({name, version});
    Table k({"<RTL built for", "value"});
    for (const auto& [name, value] : build) k.row({name, fmt::to_string(value)});
    fmt::print("{}\n{}", t.text(), k.text());
    if (!rtl::kReplaced.empty()) {
      Table r({"<RTL replaced", "<file"});
      for (const auto& m : rtl::kReplaced) r.row({std::string(m.block), std::string(m.file)});
      fmt::print("\n{}", r.text());
    }
    if (!extra.empty()) {
      Table e({"<cycles beyond ours, declared", "extra"});
      for (const auto& [block, cycles] : extra) e.row({block, fmt::format("{:+}", cycles)});
      fmt::print("\n{}", e.text());
    }
  });
}

}  // namespace rnic::cli
