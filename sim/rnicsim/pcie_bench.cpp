// SPDX-License-Identifier: Apache-2.0
// rnicsim pcie-bench: bandwidth and latency of DMA over the profile's PCIe links, after pcie-bench.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <csignal>
#include <sstream>

#include "common.h"
#include "rnic/core/error.h"
#include "rnic/core/text.h"
#include "rnic/observe/sections.h"
#include "rnic/pcie/bench.h"
#include "rnic/study/axes.h"
#include "rnic/study/chart.h"
#include "table.h"

namespace rnic::cli {
namespace {

using pcie::BenchOp;
using pcie::BenchResult;
using pcie::BenchSpec;

constexpr size_t kRecorded = 20'000;  ///< TLPs that go into the run directory
constexpr size_t kMaxPoints = 1000;   ///< of one run
constexpr size_t kColumns = 6;        ///< latencies taken apart on stdout

struct PcieBenchCommand {
  Common common;
  std::vector<std::string> ops;
  std::string size = "64:4096:x2", offset = "0", window = "1M", pattern = "seq", mem = "host", cache = "cold", vs,
              topology;
  std::optional<uint64_t> transfers;
  uint64_t outstanding = 512;
};

std::vector<BenchOp> ops_of(const std::vector<std::string>& names) {
  std::vector<BenchOp> out;
  for (std::string name : names) {
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::toupper(c); });
    bool known = false;
    for (const BenchOp op : pcie::kBenchOps) {
      if (name != pcie::bench_name(op) && name != "ALL") continue;
      known = true;
      if (std::find(out.begin(), out.end(), op) == out.end()) out.push_back(op);
    }
    if (!known) {
      std::vector<std::string> all;
      for (const BenchOp op : pcie::kBenchOps) all.emplace_back(pcie::bench_name(op));
      throw InputError(
          "", 0, "pcie-bench",
          fmt::format("there is no measurement '{}'; there are: {}, all", printable(name), fmt::join(all, ", ")));
    }
  }
  if (out.empty()) out.assign(pcie::kBenchOps.begin(), pcie::kBenchOps.end());
  return out;
}

/// Numbers and ranges as `rnicsim sweep` has them: "64:4096:x2,1500".
std::vector<uint64_t> list_of(const std::string& text, const std::string& option, uint64_t min, uint64_t max) {
  std::vector<uint64_t> out;
  for (const auto& v : study::AxisText(study::Axis::Of::kOption, option.substr(2) + "=" + text, option).list().values) {
    const uint64_t n = parse_size(v, option);
    if (n < min || n > max)
      throw InputError("", 0, option, fmt::format("{} is out of range; allowed: {} to {}", n, min, max));
    out.push_back(n);
  }
  return out;
}

std::vector<BenchSpec> specs_of(const PcieBenchCommand& o) {
  const auto sizes = list_of(o.size, "--size", 1, pcie::kBenchMaxBytes);
  const auto offsets = list_of(o.offset, "--offset", 0, 63);
  const auto windows = list_of(o.window, "--window", 64, pcie::kBenchMaxWindow);
  std::vector<BenchSpec> out;
  for (const BenchOp op : ops_of(o.ops)) {
    for (const uint64_t window : windows) {
      for (const uint64_t offset : offsets) {
        for (const uint64_t size : sizes) {
          BenchSpec s;
          s.op = op;
          s.size = static_cast<unsigned>(size);
          s.offset = static_cast<unsigned>(offset);
          s.window = window;
          s.random = o.pattern == "random";
          s.gpu = o.mem == "gpu";
          s.warm = o.cache == "warm";
          s.transfers = o.transfers.value_or(pcie::is_latency(op) ? 1000 : 4000);
          s.outstanding = static_cast<unsigned>(o.outstanding);
          s.seed = o.common.seed;
          pcie::check_bench(s);
          out.push_back(s);
        }
      }
    }
  }
  if (out.size() > kMaxPoints) {
    throw InputError(
        "", 0, "--size",
        fmt::format("{} measurements in one run; allowed: {}. rnicsim sweep runs more", out.size(), kMaxPoints));
  }
  return out;
}

std::string name_of(const BenchSpec& s) {
  std::string name = fmt::format("{} {} B", pcie::bench_name(s.op), s.size);
  if (s.offset != 0) name += fmt::format(" at {}", s.offset);
  return name + fmt::format(" in {}", bytes_text(s.window));
}

std::string gbps(double v) { return std::isfinite(v) ? fmt::format("{:.2f}", v) : "-"; }
nlohmann::json number(double v) { return std::isfinite(v) ? nlohmann::json(v) : nlohmann::json(); }

constexpr std::pair<const char*, double> kPercentiles[] = {
    {"p50_ns", 0.5}, {"p95_ns", 0.95}, {"p99_ns", 0.99}, {"p999_ns", 0.999}};

nlohmann::json to_json(const BenchResult& r) {
  const BenchSpec& s = r.spec;
  nlohmann::json j{{"name", name_of(s)},
                   {"op", pcie::bench_name(s.op)},
                   {"mem", s.gpu ? "gpu" : "host"},
                   {"cache", s.warm ? "warm" : "cold"},
                   {"size_bytes", s.size},
                   {"offset_bytes", s.offset},
                   {"window_bytes", s.window},
                   {"pattern", s.random ? "random" : "seq"},
                   {"transfers", s.transfers}};
  if (pcie::is_latency(s.op)) {
    auto& l = j["latency"];
    for (const auto& [key, q] : kPercentiles) {
      const auto v = percentile(r.latencies_ns, q);
      l[key] = v ? nlohmann::json(*v) : nlohmann::json();
    }
    const auto [min, max] = std::minmax_element(r.latencies_ns.begin(), r.latencies_ns.end());
    l["min_ns"] = *min;
    l["max_ns"] = *max;
    for (const auto& p : r.parts) {
      j["parts"].push_back({{"name", p.name}, {"duration_ns", static_cast<double>(p.ps) / 1000}, {"key", p.key}});
    }
  } else {
    j["outstanding"] = s.outstanding;
    j["gbps"] = r.gbps;
    j["transfers_per_us"] = r.gbps * 1000 / 8 / s.size;
    j["ratio"] = r.ratio();
    j["measured_ns"] = static_cast<double>(r.measured_ps) / 1000;
    j["bound"] = {{"gbps", number(r.bound.gbps())},
                  {"holds", r.bound.holds()},
                  {"link_gbps", number(r.bound.link_gbps())},
                  {"link_up_gbps", number(r.bound.up_gbps)},
                  {"link_down_gbps", number(r.bound.down_gbps)},
                  {"beat_gbps", number(r.bound.beat_gbps())},
                  {"beat_out_gbps", number(r.bound.out_gbps)},
                  {"beat_in_gbps", number(r.bound.in_gbps)},
                  {"in_flight_gbps", number(r.bound.flight_gbps)},
                  {"memory_gbps", number(r.bound.memory_gbps)}};
  }
  return j;
}

/// The measurement of that name in another run's result.
const nlohmann::json* find(const nlohmann::json* other, const BenchSpec& s) {
  if (other == nullptr) return nullptr;
  for (const auto& p : (*other)["pcie_bench"]) {
    if (p["name"] == name_of(s)) return &p;
  }
  return nullptr;
}

Table bandwidth_table(const std::vector<BenchResult>& results, const nlohmann::json* other, const std::string& vs) {
  std::vector<std::string> heads{"<bandwidth, Gb/s", "size",  "offset",   "link",  "beat",
                                 "in flight",        "bound", "measured", "ratio", "M/s",
                                 "<bound that holds"};
  if (other) heads.insert(heads.end(), {vs, "change"});
  Table t(heads);
  const BenchSpec* before = nullptr;
  for (const auto& r : results) {
    if (pcie::is_latency(r.spec.op)) continue;
    if (before && (before->op != r.spec.op || before->window != r.spec.window)) t.rule();
    before = &r.spec;
    const auto& b = r.bound;
    std::vector<std::string> row{pcie::bench_name(r.spec.op),
                                 fmt::to_string(r.spec.size),
                                 fmt::to_string(r.spec.offset),
                                 gbps(b.link_gbps()),
                                 gbps(b.beat_gbps()),
                                 gbps(b.flight_gbps),
                                 gbps(b.gbps()),
                                 gbps(r.gbps),
                                 fmt::format("{:.3f}", r.ratio()),
                                 fmt::format("{:.1f}", r.gbps * 1000 / 8 / r.spec.size),
                                 b.holds()};
    if (other) {
      const auto* p = find(other, r.spec);
      const double v = p ? (*p)["gbps"].get<double>() : 0;
      row.push_back(p ? gbps(v) : "-");
      row.push_back(p && r.gbps != 0 ? fmt::format("{:+.1f} %", 100 * (v / r.gbps - 1)) : "-");
    }
    t.row(row);
  }
  return t;
}

Table latency_table(const std::vector<BenchResult>& results, const nlohmann::json* other, const std::string& vs) {
  std::vector<std::string> heads{"<latency, ns", "size", "offset", "n", "min", "P50", "P95", "P99", "P99.9", "max"};
  if (other) heads.insert(heads.end(), {vs + " P50", "change"});
  Table t(heads);
  const BenchSpec* before = nullptr;
  for (const auto& r : results) {
    if (!pcie::is_latency(r.spec.op)) continue;
    if (before && (before->op != r.spec.op || before->window != r.spec.window)) t.rule();
    before = &r.spec;
    const auto [min, max] = std::minmax_element(r.latencies_ns.begin(), r.latencies_ns.end());
    std::vector<std::string> row{pcie::bench_name(r.spec.op), fmt::to_string(r.spec.size),
                                 fmt::to_string(r.spec.offset), fmt::to_string(r.latencies_ns.size()),
                                 fmt::format("{:.3f}", *min)};
    for (const auto& [key, q] : kPercentiles) row.push_back(percentile_text(r.latencies_ns, q));
    row.push_back(fmt::format("{:.3f}", *max));
    if (other) {
      const auto* p = find(other, r.spec);
      const auto mine = percentile(r.latencies_ns, 0.5);
      const bool both = p && mine && (*p)["latency"]["p50_ns"].is_number();
      const double v = both ? (*p)["latency"]["p50_ns"].get<double>() : 0;
      row.push_back(both ? fmt::format("{:.3f}", v) : "-");
      row.push_back(both ? signed_ns(std::llround((v - *mine) * 1000)) : "-");
    }
    t.row(row);
  }
  return t;
}

/// Where the time of the median transfer goes: a row a part, a column a size. Columns add up.
Table parts_table(const std::vector<BenchResult>& results, BenchOp op, size_t columns) {
  std::vector<const BenchResult*> shown;
  for (const auto& r : results) {
    if (r.spec.op == op && shown.size() < columns) shown.push_back(&r);
  }
  std::vector<std::string> heads{fmt::format("<{}, ns", pcie::bench_name(op))}, names;
  for (const auto* r : shown) {
    heads.push_back(fmt::format("{} B{}", r->spec.size, r->spec.offset == 0 ? "" : fmt::format("+{}", r->spec.offset)));
    size_t at = 0;  // a part that is new stands behind the one that it follows in its own list
    for (const auto& p : r->parts) {
      const auto it = std::find(names.begin(), names.end(), p.name);
      if (it == names.end()) names.insert(names.begin() + static_cast<std::ptrdiff_t>(at), p.name);
      at = static_cast<size_t>(std::find(names.begin(), names.end(), p.name) - names.begin()) + 1;
    }
  }
  heads.emplace_back("<profile key");
  Table t(heads);
  for (const auto& name : names) {
    std::vector<std::string> row{name};
    std::string key;
    for (const auto* r : shown) {
      const auto p = std::find_if(r->parts.begin(), r->parts.end(), [&](const auto& x) { return x.name == name; });
      row.push_back(p == r->parts.end() ? "" : ns(p->ps));
      if (p != r->parts.end()) key = p->key;
    }
    row.push_back(key);
    t.row(row);
  }
  t.rule();
  std::vector<std::string> sums{"all"};
  for (const auto* r : shown) {
    uint64_t sum = 0;
    for (const auto& p : r->parts) sum += p.ps;
    sums.push_back(ns(sum));
  }
  sums.emplace_back();
  t.row(sums);
  return t;
}

/// One chart for each operation, offset and window.
std::string charts(const std::vector<BenchResult>& results) {
  std::string html;
  for (size_t i = 0; i < results.size();) {
    const BenchSpec& s = results[i].spec;
    study::LineChart c;
    c.title = fmt::format("{}, offset {}, window {}, {} memory", pcie::bench_name(s.op), s.offset, bytes_text(s.window),
                          s.gpu ? "GPU" : "host");
    c.x_label = "bytes of a transfer";
    const bool latency = pcie::is_latency(s.op);
    c.y_label = latency ? "ns" : "Gb/s";
    c.series = latency ? std::vector<study::LineChart::Series>{{"P50", {}}, {"P99", {}}}
                       : std::vector<study::LineChart::Series>{
                             {"measured", {}}, {"bound of the link", {}}, {"bound of the beats", {}}};
    size_t k = i;
    for (; k < results.size() && results[k].spec.op == s.op && results[k].spec.offset == s.offset &&
           results[k].spec.window == s.window;
         ++k) {
      const BenchResult& r = results[k];
      const double x = r.spec.size;
      if (latency) {
        const auto p50 = percentile(r.latencies_ns, 0.5), p99 = percentile(r.latencies_ns, 0.99);
        if (p50) c.series[0].points.emplace_back(x, *p50);
        if (p99) c.series[1].points.emplace_back(x, *p99);
      } else {
        c.series[0].points.emplace_back(x, r.gbps);
        c.series[1].points.emplace_back(x, r.bound.link_gbps());
        c.series[2].points.emplace_back(x, r.bound.beat_gbps());
      }
    }
    for (auto& series : c.series) std::sort(series.points.begin(), series.points.end());
    if (k - i > 1) html += "<figure>" + study::svg_of(c) + "</figure>\n";
    i = k;
  }
  return html;
}

/// The share of transfers that are done after a time; of the sizes of one operation and offset together.
std::string distributions(const std::vector<BenchResult>& results) {
  constexpr size_t kLines = 8, kHistograms = 12, kSteps = 200;
  std::string html;
  size_t histograms = 0;
  for (const BenchOp op : pcie::kBenchOps) {
    if (!pcie::is_latency(op)) continue;
    study::LineChart c;
    c.title = fmt::format("{}: share of transfers done", pcie::bench_name(op));
    c.x_label = "ns";
    c.y_label = "%";
    c.legend = "size";
    for (const auto& r : results) {
      if (r.spec.op != op || r.latencies_ns.size() < 2 || c.series.size() == kLines) continue;
      auto v = r.latencies_ns;
      std::sort(v.begin(), v.end());
      study::LineChart::Series line{fmt::format("{} B at {}", r.spec.size, r.spec.offset), {}};
      const size_t steps = std::min(kSteps, v.size());
      for (size_t i = 0; i <= steps; ++i) {
        const size_t at = i * (v.size() - 1) / steps;
        line.points.emplace_back(v[at], 100.0 * static_cast<double>(at + 1) / static_cast<double>(v.size()));
      }
      c.series.push_back(std::move(line));
    }
    if (!c.series.empty()) html += "<figure>" + study::svg_of(c) + "</figure>\n";
  }
  for (const auto& r : results) {
    if (!pcie::is_latency(r.spec.op) || histograms++ >= kHistograms) continue;
    html += log_histogram_html(name_of(r.spec), r.latencies_ns);
  }
  return html;
}

/// Words that make another process measure the same.
std::vector<std::string> child_words(const PcieBenchCommand& o, const std::string& profile) {
  std::vector<std::string> words{"pcie-bench", "--json", "-q", "--profile", profile};
  const auto add = [&](const char* option, const std::string& value) {
    words.emplace_back(option);
    words.push_back(value);
  };
  for (const BenchOp op : ops_of(o.ops)) words.emplace_back(pcie::bench_name(op));
  add("--size", o.size);
  add("--offset", o.offset);
  add("--window", o.window);
  add("--pattern", o.pattern);
  add("--mem", o.mem);
  add("--cache", o.cache);
  if (o.transfers) add("--transfers", fmt::to_string(*o.transfers));
  add("--outstanding", fmt::to_string(o.outstanding));
  add("--seed", fmt::to_string(o.common.seed));
  add("--max-sim-time", o.common.max_sim_time);
  add("--max-wall", fmt::to_string(o.common.max_wall_s));
  return words;
}

/// The result of another process. Nothing when it was interrupted.
std::optional<nlohmann::json> run_other(const std::vector<std::string>& words, const std::string& option,
                                        const std::string& what) {
  int status = 0;
  const std::string text = run_child(words, status);
  if (status == kBadInput)
    throw InputError("", 0, option, fmt::format("{} can't be used (message above)", printable(what)));
  if (status == kInterrupted || status == 128 + SIGTERM) return std::nullopt;
  if (status != kGood) throw SimError(fmt::format("the run with {} ended with status {}", printable(what), status));
  auto j = nlohmann::json::parse(text, nullptr, false);
  if (j.is_discarded()) throw SimError(fmt::format("the run with {} gave no JSON", printable(what)));
  return j;
}

int run_pcie_bench(PcieBenchCommand& o) {
  const Profile profile = load_profile(o.common);
  const std::vector<BenchSpec> specs = specs_of(o);
  Session session(o.common, profile, "none");
  std::optional<nlohmann::json> other;
  if (!o.vs.empty() && !(other = run_other(child_words(o, o.vs), "--vs", fmt::format("the profile '{}'", o.vs))))
    return kInterrupted;

  const SystemOptions limits = session.system_options(1);
  pcie::DmaSystemOptions options;
  static_cast<RunLimits&>(options) = limits;
  options.seed = o.common.seed;
  if (!limits.traces.empty()) options.trace = limits.traces[0];
  pcie::DmaSystem system(profile, options);
  BoundedRecorder rec(kRecorded);
  if (session.has_directory()) system.observers().add(&rec);
  std::vector<BenchResult> results;
  system.spawn("pcie-bench", [&] {
    for (const BenchSpec& s : specs) results.push_back(pcie::run_bench(system, s));
  });
  Exit status = session.run(system);

  // ---- Checks ----
  std::vector<CheckResult> checks;
  for (const auto& r : results) {
    const auto check = [&](const std::string& what, uint64_t got) {
      checks.push_back({name_of(r.spec), what, "0", fmt::to_string(got), got == 0});
    };
    check("bytes that differ", r.wrong_bytes);
    check("bytes changed round the transfers", r.guard_wrong);
    check("reads that failed", r.failed);
  }
  const auto& counts = system.engine().counters();
  const std::pair<const char*, uint64_t> faults[] = {
      {"unexpected completions", counts.unexpected},
      {"malformed completions", counts.malformed},
      {"requests that the hub refused", system.hub().counters().malformed + system.hub().counters().unsupported_read +
                                            system.hub().counters().unsupported_write}};
  for (const auto& [what, n] : faults) checks.push_back({"link", what, "0", fmt::to_string(n), n == 0});
  const bool good = std::all_of(checks.begin(), checks.end(), [](const auto& c) { return c.passed; });
  if (status == kGood && !good) status = kCheckFailed;

  // ---- Results ----
  const auto integer = [&](const char* key) { return profile.integer(key); };
  const std::string head = fmt::format(
      "profile {}: Gen{} x{}, MPS {}, MRRS {}, RCB {}, {}-bit tags ({} reads in flight), {} memory, {} pattern, {} "
      "outstanding, seed {}\n",
      profile.name(), integer("pcie.generation"), integer("pcie.lanes"), integer("pcie.mps"), integer("pcie.mrrs"),
      integer("pcie.rcb"), integer("pcie.tag_bits"), system.engine().tags(), o.mem == "gpu" ? "GPU" : "host", o.pattern,
      o.outstanding, o.common.seed);
  const nlohmann::json* beside = other ? &*other : nullptr;
  const Table bandwidth = bandwidth_table(results, beside, o.vs), latency = latency_table(results, beside, o.vs);

  nlohmann::json result = result_header(rerun_line(), profile, o.common.seed);
  result["subcommand"] = "pcie-bench";
  result["status"] = status == kGood ? "good" : status == kCheckFailed ? "check failed" : "not finished";
  result["checks"] = cli::to_json(checks);
  result["pcie_bench"] = nlohmann::json::array();
  for (const auto& r : results) result["pcie_bench"].push_back(to_json(r));
  result["clocked_cycles"] = system.engine().clocked_cycles();
  if (other) result["vs"] = *other;

  Session::Outputs out;
  out.title = "rnicsim pcie-bench";
  out.recorder = &rec;
  out.wave = WaveOf::kDmaEngine;
  if (!bandwidth.empty()) out.sections.emplace_back("Bandwidth", bandwidth.html());
  if (!latency.empty()) out.sections.emplace_back("Latency", latency.html());
  if (const std::string html = charts(results); !html.empty()) out.sections.emplace_back("By size", html);
  if (!o.common.json) fmt::print("{}", head);
  if (!o.common.json && !bandwidth.empty()) fmt::print("\n{}", bandwidth.text());
  if (!o.common.json && !latency.empty()) fmt::print("\n{}", latency.text());
  for (const BenchOp op : pcie::kBenchOps) {
    if (!pcie::is_latency(op)) continue;
    if (std::none_of(results.begin(), results.end(), [&](const auto& r) { return r.spec.op == op; })) continue;
    if (!o.common.json) fmt::print("\n{}", parts_table(results, op, kColumns).text());
    out.sections.emplace_back(fmt::format("Where the time of {} goes", pcie::bench_name(op)),
                              parts_table(results, op, 2 * kColumns).html());
  }
  if (!latency.empty()) out.sections.emplace_back("How latencies are distributed", distributions(results));
  std::fflush(stdout);
  report_checks(checks);
  session.finish(status, result, out);
  return status;
}

/// The distances of a GPU from the NIC, as NCCL names them: one process each.
int run_topologies(PcieBenchCommand& o) {
  const KeyInfo* key = find_key("pcie.topology");
  if (key == nullptr || key->choices.empty())
    throw InputError("", 0, "--topology", "the profiles of this build have no key pcie.topology");
  std::vector<std::string> names;
  if (o.topology == "all") {
    for (const char* name : {"PIX", "PXB", "PHB", "SYS"}) {
      for (const auto& c : key->choices) {
        std::string upper = c;
        std::transform(upper.begin(), upper.end(), upper.begin(), [](unsigned char x) { return std::toupper(x); });
        if (upper == name) names.push_back(c);
      }
    }
  } else {
    std::istringstream in(o.topology);
    for (std::string name; std::getline(in, name, ',');) names.push_back(name);
  }
  const Profile profile = load_profile(o.common);
  PcieBenchCommand one = o;
  one.mem = "gpu";
  if (one.ops.empty()) one.ops = {"LAT_RD", "LAT_WRRD", "BW_RD", "BW_WR"};
  specs_of(one);
  nlohmann::json runs = nlohmann::json::array();
  for (const auto& name : names) {
    auto words = child_words(one, o.common.profile);
    for (const auto& s : o.common.set) words.insert(words.end(), {"--set", s});
    words.insert(words.end(), {"--set", "pcie.topology=" + name});
    auto j = run_other(words, "--topology", fmt::format("'{}'", name));
    if (!j) return kInterrupted;
    runs.push_back({{"name", name}, {"pcie_bench", (*j)["pcie_bench"]}});
  }

  std::vector<std::string> heads{"<", "size"};
  for (const auto& name : names) heads.push_back(name);
  heads.emplace_back("<");
  Table t(heads);
  for (const auto& p : runs.front()["pcie_bench"]) {
    const bool latency = p.contains("latency");
    std::vector<std::string> row{p["op"].get<std::string>(), fmt::to_string(p["size_bytes"].get<unsigned>())};
    for (const auto& r : runs) {
      for (const auto& q : r["pcie_bench"]) {
        if (q["name"] != p["name"]) continue;
        const auto& v = latency ? q["latency"]["p50_ns"] : q["gbps"];
        row.push_back(!v.is_number() ? "-" : latency ? fmt::format("{:.3f}", v.get<double>()) : gbps(v.get<double>()));
      }
    }
    row.emplace_back(latency ? "ns, P50" : "Gb/s");
    t.row(row);
  }
  // As nvidia-smi topo -m prints it: the NIC against a GPU at each distance.
  std::vector<std::string> matrix_heads{"<", "NIC0"};
  for (size_t g = 0; g < names.size(); ++g) matrix_heads.push_back(fmt::format("GPU{}", g));
  Table matrix(matrix_heads);
  std::vector<std::string> nic{"NIC0", "X"};
  for (const auto& name : names) nic.push_back(name);
  matrix.row(nic);

  nlohmann::json result = result_header(rerun_line(), profile, o.common.seed);
  result["subcommand"] = "pcie-bench";
  result["status"] = "good";
  result["topologies"] = runs;
  if (!o.common.json) {
    fmt::print("GPU memory by the GPU's distance from the NIC, profile {}\n\n{}\n{}", profile.name(), matrix.text(),
               t.text());
    std::fflush(stdout);
  }
  Session session(o.common, profile, "none");
  Recorder none(0);
  Session::Outputs out;
  out.title = "rnicsim pcie-bench --topology";
  out.recorder = &none;
  out.sections = {{"Topology", matrix.html()}, {"Distances", t.html()}};
  session.finish(kGood, result, out);
  return kGood;
}

}  // namespace

void add_pcie_bench(CLI::App& app, int& status) {
  static PcieBenchCommand o;
  auto* sub = app.add_subcommand("pcie-bench", "Bandwidth and latency of DMA over the PCIe links, beside their bounds");
  add_simulation_options(*sub, o.common);
  sub->add_option("measurement", o.ops,
                  "LAT_RD: one read at a time; LAT_WRRD: a write, then a read of the same bytes, which pushes it; "
                  "LAT_FLUSH: a write, then a read of no bytes, which pushes it, too; BW_RD, BW_WR: reads, writes, "
                  "many in flight; BW_RDWR: in turns; all [all]")
      ->type_name("NAME");
  const auto of = [](CLI::Option* option, const char* type) { return option->type_name(type)->group("Transfers"); };
  of(sub->add_option("-s,--size", o.size, "Bytes of a transfer, 1 to 4096: numbers and ranges [64:4096:x2]"), "LIST");
  of(sub->add_option("--offset", o.offset, "Of a transfer in its first cache line, 0 to 63 [0]"), "LIST");
  of(sub->add_option("--window", o.window, "Bytes of memory that they go over, with k, M [1M]"), "LIST");
  of(sub->add_option("--pattern", o.pattern, "Order in the window: seq, random [seq]"), "NAME")
      ->check(quiet_check(CLI::IsMember({"seq", "random"})));
  of(sub->add_option("--mem", o.mem, "Memory: host, gpu [host]"), "NAME")
      ->check(quiet_check(CLI::IsMember({"host", "gpu"})));
  of(sub->add_option("--cache", o.cache,
                     "Host's last-level cache (host.llc_size): cold, warm: the CPU has just used the window [cold]"),
     "NAME")
      ->check(quiet_check(CLI::IsMember({"cold", "warm"})));
  const auto count = [&](const char* name, uint64_t max, const char* text, auto set) {
    of(sub->add_option_function<std::string>(
           name,
           [=](const std::string& n) {
             const uint64_t v = parse_size(n, std::string("--") + (name[1] == '-' ? name + 2 : name + 5));
             if (v < 1 || v > max) {
               throw InputError("", 0, name[1] == '-' ? name : name + 3,
                                fmt::format("{} is out of range; allowed: 1 to {}", v, max));
             }
             set(v);
           },
           text),
       "N");
  };
  count("-n,--transfers", uint64_t{1} << 24, "Transfers of each measurement [LAT: 1000, BW: 4000]",
        [](uint64_t v) { o.transfers = v; });
  count("--outstanding", pcie::kBenchMaxOutstanding, "Transfers in flight at a time, of BW [512]",
        [](uint64_t v) { o.outstanding = v; });
  sub->add_option("--vs", o.vs, "A second profile, shown beside the first")->type_name("NAME|FILE")->group("Profile");
  sub->add_option("--topology", o.topology,
                  "GPU memory at each of these distances from the NIC, as NCCL names them: all, or a list of "
                  "pcie.topology's values")
      ->type_name("LIST")
      ->group("Profile")
      ->excludes("--vs");
  sub->footer(
      "Payload of what was measured, in each direction; every byte is compared, exit status 1 when one is wrong.\n"
      "Bounds: 'link' is the link's rate less header and framing of each TLP, 'beat' 64 bytes a clock with each TLP "
      "on\n"
      "beats of its own, 'in flight' what the transfers, tags and buffers that may be under way carry in a round "
      "trip.\n"
      "MPS, MRRS, RCB, tags, link: keys of the profile. What each measurement counts: docs/pcie-bench.md.\n\n"
      "Examples:\n"
      "  rnicsim pcie-bench                                 all six, 64 B to 4 KiB\n"
      "  rnicsim pcie-bench BW_RD -s 64:4096:64 -o out/rd   the saw teeth of a curve, with plots\n"
      "  rnicsim pcie-bench LAT_RD LAT_WRRD LAT_FLUSH --mem gpu -s 8,64\n"
      "  rnicsim pcie-bench BW_RD --set pcie.tag_bits=5     what 24 tags make of it\n"
      "  rnicsim pcie-bench BW_WR --offset 0,4,32 --set pcie.generation=3 --set pcie.lanes=8 --set pcie.mps=256\n"
      "  rnicsim pcie-bench LAT_RD --vs gen5-measured\n"
      "  rnicsim pcie-bench LAT_RD --set host.llc_size=33554432 --cache warm\n"
      "  rnicsim pcie-bench LAT_RD --set host.numa_nodes=2 --set host.numa_node=1\n"
      "  rnicsim sweep --set pcie.mps=128,256,512 --option size=64,256,4096 -- pcie-bench BW_WR");
  sub->callback([&status] { status = o.topology.empty() ? run_pcie_bench(o) : run_topologies(o); });
}

}  // namespace rnic::cli
