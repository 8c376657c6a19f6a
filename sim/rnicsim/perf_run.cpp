// SPDX-License-Identifier: Apache-2.0
// rnicsim perf: one simulation, from the options to the run directory.
#include <fmt/format.h>

#include <algorithm>

#include "perf.h"
#include "rnic/observe/node_state.h"
#include "rnic/observe/sections.h"
#include "table.h"

namespace rnic::cli {
namespace {

constexpr size_t kRecorded = 20'000;  ///< frames, TLPs and events that go into the run directory
constexpr size_t kLogged = 500'000;   ///< messages whose instants are kept

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

void print_wire(const ResourceReport& r) {
  if (r.frames == 0) return;
  const double allow = r.frames_allow_gbps();
  fmt::print("\nOn the wire, {:.3f} to {:.3f} us ({} frames, {} messages):\n", static_cast<double>(r.from_ps) * 1e-6,
             static_cast<double>(r.to_ps) * 1e-6, r.frames, r.messages);
  fmt::print(
      "  {:.2f} Gb/s of payload, {:.3f} M messages/s: {} of the line rate ({:g} Gb/s), {} of the {:.2f} Gb/s that "
      "such frames allow\n",
      r.payload_gbps(), r.messages_per_s() * 1e-6, percent(r.payload_gbps() / r.line_gbps), r.line_gbps,
      percent(allow == 0 ? 0 : r.payload_gbps() / allow), allow);
}

void print_resources(const ResourceReport& r) {
  if (r.rows.empty()) return;
  Table t({"<resource", "used", "rate", "<", "mean", "most", "limit", "at limit", "<"});
  for (const auto& row : r.rows) {
    const auto number = [](const std::optional<double>& v) { return v ? fmt::format("{:.4g}", *v) : "-"; };
    const bool bytes = row.rate_unit == "B/s";
    t.row({row.name, row.utilisation ? percent(*row.utilisation) : "-",
           row.rate == 0 ? "-" : fmt::format("{:.3f}", row.rate * (bytes ? 8e-9 : 1e-6)),
           row.rate == 0 ? ""
           : bytes       ? "Gb/s"
                         : "M/s",
           number(row.mean), number(row.most), number(row.limit), row.at_limit ? percent(*row.at_limit) : "-",
           row.note});
  }
  fmt::print("\nResources over the same time\n\n{}", t.text());
  Table s({"<waited", "of the time", "cycles", "<"});
  for (const auto& row : r.stalls) {
    if (row.cycles != 0) s.row({row.name, percent(row.share), fmt::to_string(row.cycles), row.note});
  }
  if (!s.empty()) fmt::print("\n{}", s.text());
  fmt::print("\nSaturated: {}\n", r.bottleneck.text);
}

nlohmann::json resources_json(const ResourceReport& r) {
  nlohmann::json j{{"from_ps", r.from_ps},
                   {"to_ps", r.to_ps},
                   {"frames", r.frames},
                   {"messages", r.messages},
                   {"payload_bytes", r.payload_bytes},
                   {"wire_bytes", r.wire_bytes},
                   {"payload_gbps", r.payload_gbps()},
                   {"frames_allow_gbps", r.frames_allow_gbps()},
                   {"line_rate_gbps", r.line_gbps},
                   {"messages_per_s", r.messages_per_s()}};
  const auto optional = [](const std::optional<double>& v) { return v ? nlohmann::json(*v) : nlohmann::json(); };
  j["resources"] = nlohmann::json::array();
  for (const auto& row : r.rows) {
    const bool bytes = row.rate_unit == "B/s";
    j["resources"].push_back({{"key", row.key},
                              {"name", row.name},
                              {"utilisation_ratio", optional(row.utilisation)},
                              {bytes ? "rate_bytes_per_s" : "rate_per_s", row.rate},
                              {"mean_in_flight", optional(row.mean)},
                              {"most_in_flight", optional(row.most)},
                              {"limit", optional(row.limit)},
                              {"at_limit_ratio", optional(row.at_limit)},
                              {"note", row.note}});
  }
  j["stalls"] = nlohmann::json::array();
  for (const auto& row : r.stalls) {
    j["stalls"].push_back(
        {{"key", row.key}, {"name", row.name}, {"time_ratio", row.share}, {"cycles", row.cycles}, {"note", row.note}});
  }
  j["saturated"] = {{"key", r.bottleneck.key}, {"saturated", r.bottleneck.saturated}, {"text", r.bottleneck.text}};
  return j;
}

nlohmann::json distribution_json(const std::vector<double>& ns) {
  nlohmann::json j{{"count", ns.size()}};
  const auto put = [&](const char* key, std::optional<double> v) {
    j[key] = v ? nlohmann::json(*v) : nlohmann::json();
  };
  put("p50_ns", percentile(ns, 0.5));
  put("p99_ns", percentile(ns, 0.99));
  put("p999_ns", percentile(ns, 0.999));
  if (!ns.empty()) {
    put("min_ns", *std::min_element(ns.begin(), ns.end()));
    put("max_ns", *std::max_element(ns.begin(), ns.end()));
  }
  return j;
}

struct Distribution {
  const char *name, *json;
  std::vector<double> ns;
};

std::vector<Distribution> distributions(const std::vector<Message>& messages, const PerfMeasured& m) {
  std::vector<Distribution> out{{"doorbell at the pins to last bit", "doorbell_to_last_bit", {}},
                                {"turn to last bit", "turn_to_last_bit", {}},
                                {"post to completion seen", "post_to_completion", m.post_to_completion_ns}};
  for (const Message& x : messages) {
    if (!x.complete()) continue;
    if (x.pins_ps != 0) out[0].ns.push_back(static_cast<double>(x.last_bit_ps - x.pins_ps) / 1000);
    out[1].ns.push_back(static_cast<double>(service_ps(x)) / 1000);
  }
  return out;
}

void print_distributions(const std::vector<Distribution>& all) {
  Table t({"<latency, ns", "messages", "min", "P50", "P99", "P999", "max"});
  for (const auto& d : all) {
    if (d.ns.empty()) continue;
    t.row({d.name, fmt::to_string(d.ns.size()), fmt::format("{:.3f}", *std::min_element(d.ns.begin(), d.ns.end())),
           percentile_text(d.ns, 0.5), percentile_text(d.ns, 0.99), percentile_text(d.ns, 0.999),
           fmt::format("{:.3f}", *std::max_element(d.ns.begin(), d.ns.end()))});
  }
  if (!t.empty()) fmt::print("\n{}", t.text());
}

void print_slowest(const std::vector<Message>& messages, const Slowest& slow) {
  if (slow.list.empty()) return;
  std::vector<std::string> headings{"<slowest, ns", "all", "queued"};
  for (const auto s : kMessageStages) headings.emplace_back(to_string(s));
  headings.emplace_back("<cause");
  Table t(headings);
  const auto row = [&](const Message& m, const std::string& name, const std::string& cause) {
    std::vector<std::string> cells{name, fmt::format("{:.1f}", static_cast<double>(service_ps(m)) / 1000),
                                   fmt::format("{:.1f}", static_cast<double>(queued_ps(m)) / 1000)};
    for (const auto s : kMessageStages)
      cells.push_back(fmt::format("{:.1f}", static_cast<double>(duration_ps(m, s)) / 1000));
    cells.push_back(cause);
    t.row(cells);
  };
  for (const auto& x : slow.list) {
    row(messages[x.index], fmt::format("QP {} WQE {}", messages[x.index].qpn, messages[x.index].wqe), x.cause);
  }
  t.rule();
  row(messages[slow.median], "median",
      fmt::format("QP {} WQE {}", messages[slow.median].qpn, messages[slow.median].wqe));
  fmt::print("\nSlowest of {} messages, from their turn (first of their queue, doorbell there) to their last bit\n\n{}",
             slow.messages, t.text());
}

nlohmann::json message_json(const Message& m) {
  nlohmann::json j{{"qpn", m.qpn},
                   {"wqe", m.wqe},
                   {"turn_ps", m.turn_ps},
                   {"service_ns", static_cast<double>(service_ps(m)) / 1000},
                   {"queued_ns", static_cast<double>(queued_ps(m)) / 1000}};
  for (const auto s : kMessageStages) {
    j["stages"].push_back({{"name", to_string(s)}, {"duration_ns", static_cast<double>(duration_ps(m, s)) / 1000}});
  }
  return j;
}

nlohmann::json slowest_json(const std::vector<Message>& messages, const Slowest& slow) {
  nlohmann::json j{{"messages", slow.messages}, {"list", nlohmann::json::array()}};
  if (slow.list.empty()) return j;
  j["median"] = message_json(messages[slow.median]);
  for (const auto& x : slow.list) {
    j["list"].push_back(message_json(messages[x.index]));
    j["list"].back()["cause"] = x.cause;
  }
  return j;
}

}  // namespace

int perf_one(PerfOptions o) {
  perf_resolve(o);
  const Profile profile = load_profile(o.common);
  Session session(o.common, profile, "none");
  BoundedRecorder rec(kRecorded);
  System system(profile, session.system_options(1));
  auto& node = system.node();
  node.hub->gpu_memory().set_background(o.common.seed);
  PerfMeasured measured;
  ResourceMonitor monitor(profile, [&](uint64_t ps) {
    ModelUsage u{node.hub->usage(ps), node.nic->usage(), measured.cpu_ps};
    if (measured.cpu_since_ps < ps) u.cpu_ps += ps - measured.cpu_since_ps;
    return u;
  });
  const uint64_t period = to_ps(profile.time("clock.core_period"));
  MessageLog log(
      [&](uint64_t ps) {
        const NicUsage& nic = node.nic->usage();
        return Barred{monitor.no_tag_ps(ps), node.hub->usage(ps).nph.none_ps, nic.tlp_tx_wait * period,
                      nic.mac_wait * period};
      },
      kLogged);
  system.observers().add(&monitor);
  system.observers().add(&log);
  system.spawn("perf", [&] {
    perf_sender(
        system, o, monitor,
        [&] {
          log.start();
          if (session.has_directory()) system.observers().add(&rec);
        },
        measured);
  });
  Exit status = session.run(system);

  const ResourceReport used = monitor.report();
  const Slowest slow = slowest(log.all());
  const auto latencies = distributions(log.all(), measured);
  const uint64_t time = o.duration_ps != 0 ? o.duration_ps : measured.last_completion_ps - measured.first_post_ps;
  const double average = measured.completed == 0 || time == 0
                             ? 0
                             : static_cast<double>(measured.completed) / static_cast<double>(time) * 1e12;
  const double peak = peak_messages_per_s(measured);

  nlohmann::json result = result_header(rerun_line(), profile, o.common.seed);
  result["subcommand"] = "perf " + o.test;
  result["status"] = status == kGood ? "done" : "not finished";
  result["fit_note"] = profile.fit_note();
  result["options"] = perf_options_json(o);
  result.update(node_state(*node.nic, *node.hub));
  const auto bytes = static_cast<double>(o.size);
  result["rates"] = {{"iterations", measured.completed},
                     {"first_post_ps", measured.first_post_ps},
                     {"last_completion_ps", measured.last_completion_ps},
                     {"bw_peak_gbps", peak * bytes * 8e-9},
                     {"bw_average_gbps", average * bytes * 8e-9},
                     {"bw_peak_mib_per_s", peak * bytes / (1 << 20)},
                     {"bw_average_mib_per_s", average * bytes / (1 << 20)},
                     {"message_rate_mpps", average * 1e-6}};
  result["wire"] = resources_json(used);
  for (const auto& d : latencies) result["latencies"][d.json] = distribution_json(d.ns);
  result["slowest"] = slowest_json(log.all(), slow);
  result["messages_not_kept"] = log.dropped();
  if (!o.common.json && measured.completed != 0) {
    perf_print_header(o, profile);
    fmt::print("{}{}", perf_row(o.gbits, o.size, measured.completed, peak, average), kPerfRule);
    print_wire(used);
    print_resources(used);
    print_distributions(latencies);
    print_slowest(log.all(), slow);
    if (log.dropped() != 0) {
      fmt::print("Latencies and slowest messages are those of the first {}; {} more are not kept\n", kLogged,
                 log.dropped());
    }
    std::fflush(stdout);
  }
  Session::Outputs out;
  out.title = fmt::format("rnicsim perf {}: {} B, {} QP{}", o.test, o.size, o.qps, o.qps == 1 ? "" : "s");
  out.recorder = &rec;
  if (session.has_directory()) {
    std::string histograms = "<div class='histograms'>\n";
    for (const auto& d : latencies) histograms += log_histogram_html(d.name, d.ns);
    out.sections = {{"Resources", resources_html(used, monitor.series())},
                    {"Slowest messages", slowest_html(log.all(), slow)},
                    {"Latencies", histograms + "</div>\n"}};
  }
  if (o.sensitivity.wanted && status == kGood) status = run_sensitivity(o.sensitivity, o.common, profile, result);
  session.finish(status, result, out);
  return status;
}

}  // namespace rnic::cli
