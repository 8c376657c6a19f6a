// SPDX-License-Identifier: Apache-2.0
// rnicsim load-bench: latency of loads between CPU, GPU and their memories.
#include "rnic/pcie/load_bench.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "common.h"
#include "rnic/core/error.h"
#include "rnic/observe/sections.h"
#include "table.h"

namespace rnic::cli {
namespace {

using pcie::LoadOp;
using pcie::LoadResult;
using pcie::LoadSpec;

struct LoadBenchCommand {
  Common common;
  std::vector<std::string> ops;
  std::string size = "64";
  uint64_t transfers = 100;
};

std::vector<LoadOp> ops_of(const std::vector<std::string>& names) {
  std::vector<LoadOp> out;
  for (std::string name : names) {
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::toupper(c); });
    bool known = false;
    for (const LoadOp op : pcie::kLoadOps) {
      if (name != pcie::load_name(op) && name != "ALL") continue;
      known = true;
      if (std::find(out.begin(), out.end(), op) == out.end()) out.push_back(op);
    }
    if (known) continue;
    std::vector<std::string> all;
    for (const LoadOp op : pcie::kLoadOps) all.emplace_back(pcie::load_name(op));
    throw InputError(
        "", 0, "load-bench",
        fmt::format("there is no measurement '{}'; there are: {}, all", printable(name), fmt::join(all, ", ")));
  }
  if (out.empty()) out.assign(pcie::kLoadOps.begin(), pcie::kLoadOps.end());
  return out;
}

std::string name_of(const LoadSpec& s) { return fmt::format("{} {} B", pcie::load_name(s.op), s.size); }

constexpr std::pair<const char*, double> kPercentiles[] = {{"p50_ns", 0.5}, {"p99_ns", 0.99}};

nlohmann::json to_json(const LoadResult& r) {
  nlohmann::json j{{"name", name_of(r.spec)},
                   {"op", pcie::load_name(r.spec.op)},
                   {"size_bytes", r.spec.size},
                   {"transfers", r.spec.transfers}};
  auto& l = j["latency"];
  for (const auto& [key, q] : kPercentiles) {
    const auto v = percentile(r.latencies_ns, q);
    l[key] = v ? nlohmann::json(*v) : nlohmann::json();
  }
  l["min_ns"] = *std::min_element(r.latencies_ns.begin(), r.latencies_ns.end());
  l["max_ns"] = *std::max_element(r.latencies_ns.begin(), r.latencies_ns.end());
  for (const auto& p : r.parts)
    j["parts"].push_back({{"name", p.name}, {"duration_ns", static_cast<double>(p.ps) / 1000}, {"key", p.key}});
  return j;
}

Table parts_table(const LoadResult& r) {
  Table t({fmt::format("<{}", name_of(r.spec)), "ns", "<profile key"});
  uint64_t sum = 0;
  for (const auto& p : r.parts) {
    t.row({p.name, ns(p.ps), p.key});
    sum += p.ps;
  }
  t.rule();
  t.row({"all", ns(sum), ""});
  return t;
}

int run(const LoadBenchCommand& o) {
  if (!o.common.trace.empty() && o.common.trace != "none")
    throw InputError("", 0, "--trace", "there is no RTL in this measurement, and so no waveform; allowed: none");
  const Profile profile = load_profile(o.common);
  Session session(o.common, profile, "none");
  std::vector<LoadSpec> specs;
  for (const LoadOp op : ops_of(o.ops)) {
    LoadSpec s;
    s.op = op;
    const uint64_t size = parse_size(o.size, "--size");
    if (size < 1 || size > pcie::kLoadMaxBytes) {
      throw InputError("", 0, "--size", fmt::format("{} is out of range; allowed: 1 to {}", size, pcie::kLoadMaxBytes));
    }
    s.size = op == LoadOp::kPingPong ? pcie::kFlagBytes : static_cast<unsigned>(size);
    s.transfers = o.transfers;
    s.seed = o.common.seed;
    specs.push_back(s);
  }
  // A GPU whose BAR refuses reads is left out, unless it is asked for.
  if (o.ops.empty() && profile.integer("gpu.bar_reads") == 0) specs.erase(specs.begin());

  const SystemOptions limits = session.system_options(1);
  pcie::HubSystem system(profile, limits);
  BoundedRecorder rec(20'000);
  if (session.has_directory()) system.observers().add(&rec);
  std::vector<LoadResult> results;
  system.spawn("load-bench", [&] {
    for (const LoadSpec& s : specs) results.push_back(pcie::run_loads(system, s));
  });
  Exit status = session.run(system);

  std::vector<CheckResult> checks;
  for (const auto& r : results) {
    checks.push_back({name_of(r.spec), "bytes that differ", "0", fmt::to_string(r.wrong_bytes), r.wrong_bytes == 0});
    checks.push_back({name_of(r.spec), "loads without data", "0", fmt::to_string(r.failed), r.failed == 0});
  }
  if (status == kGood && std::any_of(checks.begin(), checks.end(), [](const auto& c) { return !c.passed; }))
    status = kCheckFailed;

  Table t({"<latency, ns", "size", "n", "min", "P50", "P99", "max"});
  for (const auto& r : results) {
    const auto [min, max] = std::minmax_element(r.latencies_ns.begin(), r.latencies_ns.end());
    t.row({pcie::load_name(r.spec.op), fmt::to_string(r.spec.size), fmt::to_string(r.latencies_ns.size()),
           fmt::format("{:.3f}", *min), percentile_text(r.latencies_ns, 0.5), percentile_text(r.latencies_ns, 0.99),
           fmt::format("{:.3f}", *max)});
  }
  nlohmann::json result = result_header(rerun_line(), profile, o.common.seed);
  result["subcommand"] = "load-bench";
  result["status"] = status == kGood ? "good" : status == kCheckFailed ? "check failed" : "not finished";
  result["checks"] = cli::to_json(checks);
  result["load_bench"] = nlohmann::json::array();
  for (const auto& r : results) result["load_bench"].push_back(to_json(r));

  Session::Outputs out;
  out.title = "rnicsim load-bench";
  out.recorder = &rec;
  out.sections.emplace_back("Latency", t.html());
  if (!o.common.json) {
    fmt::print("profile {}: GPU at distance {}, Gen{} x{}\n\n{}", profile.name(), system.hub().distance(),
               profile.integer("pcie.generation"), profile.integer("pcie.lanes"), t.text());
  }
  for (const auto& r : results) {
    if (r.parts.empty()) continue;
    if (!o.common.json) fmt::print("\n{}", parts_table(r).text());
    out.sections.emplace_back(fmt::format("Where the time of {} goes", name_of(r.spec)), parts_table(r).html());
  }
  std::fflush(stdout);
  report_checks(checks);
  session.finish(status, result, out);
  return status;
}

}  // namespace

void add_load_bench(CLI::App& app, int& status) {
  static LoadBenchCommand o;
  auto* sub = app.add_subcommand("load-bench", "Latency of loads between CPU, GPU and their memories, part by part");
  add_simulation_options(*sub, o.common);
  sub->add_option("measurement", o.ops,
                  "LD_CPU_GPU: the CPU loads from GPU memory; LD_GPU_HOST: the GPU loads from host memory; PINGPONG: "
                  "the CPU stores a flag in GPU memory, the GPU answers with one in host memory; all [all]")
      ->type_name("NAME");
  sub->add_option("-s,--size", o.size, "Bytes of a load [64]")->type_name("1..64")->group("Loads");
  sub->add_option_function<std::string>(
         "-n,--transfers",
         [](const std::string& n) {
           o.transfers = parse_size(n, "--transfers");
           if (o.transfers < 1 || o.transfers > uint64_t{1} << 24) {
             throw InputError("", 0, "--transfers",
                              fmt::format("{} is out of range; allowed: 1 to {}", o.transfers, uint64_t{1} << 24));
           }
         },
         "Loads, one after the other, each on a cache line of its own [100]")
      ->type_name("N")
      ->group("Loads");
  sub->footer(
      "From the load or store instruction to its data, or to the flag seen: what gdrcopy_copylat, nvbandwidth's\n"
      "host_device_latency_sm and gdrcopy_pplat measure on machines. The NIC has no part in it. What each counts:\n"
      "docs/load-bench.md.\n\n"
      "Examples:\n"
      "  rnicsim load-bench --profile gen5-measured\n"
      "  rnicsim load-bench LD_GPU_HOST --set pcie.topology=SYS       memory of the other socket\n"
      "  rnicsim sweep --set pcie.switch_latency=85:145:20 -- load-bench LD_CPU_GPU");
  sub->callback([&status] { status = run(o); });
}

}  // namespace rnic::cli
