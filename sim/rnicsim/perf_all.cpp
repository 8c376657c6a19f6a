// SPDX-License-Identifier: Apache-2.0
// rnicsim perf -a: a simulation in a process of its own for each size, so that a line is exactly what the same command
// with -s prints, whatever was sent before it (and SystemC elaborates once a process).
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <csignal>
#include <filesystem>

#include "perf.h"
#include "rnic/core/error.h"
#include "rnic/study/chart.h"
#include "table.h"

namespace rnic::cli {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kFirst = 1, kLast = 23;  ///< 2^1 .. 2^23 bytes, as perftest's -a

std::string curves_html(const nlohmann::json& rows) {
  study::LineChart bandwidth, messages;
  bandwidth.title = "Bandwidth by message size";
  bandwidth.x_label = messages.x_label = "bytes of a message";
  bandwidth.y_label = "Gb/s of payload";
  bandwidth.series = {{"average", {}}, {"what such frames allow", {}}};
  messages.title = "Message rate by message size";
  messages.y_label = "million messages a second";
  messages.series = {{"average", {}}};
  for (const auto& r : rows) {
    const double x = r["size_bytes"];
    bandwidth.series[0].points.emplace_back(x, r["bw_average_gbps"]);
    bandwidth.series[1].points.emplace_back(x, r["frames_allow_gbps"]);
    messages.series[0].points.emplace_back(x, r["message_rate_mpps"]);
  }
  std::string s =
      "<figure>" + study::svg_of(bandwidth) + "</figure>\n<figure>" + study::svg_of(messages) + "</figure>\n";
  s += "<div class='scroll'><table class='list'><thead><tr><th class='n'>Bytes</th><th class='n'>Messages</th>"
       "<th class='n'>Peak Gb/s</th><th class='n'>Average Gb/s</th><th class='n'>M messages/s</th>"
       "<th class='n'>Wire Gb/s</th><th class='n'>Of what frames allow</th><th>Saturated</th></tr></thead><tbody>\n";
  for (const auto& r : rows) {
    s += fmt::format(
        "<tr><td class='n'>{}</td><td class='n'>{}</td><td class='n'>{:.2f}</td><td class='n'>{:.2f}</td>"
        "<td class='n'>{:.3f}</td><td class='n'>{:.2f}</td><td class='n'>{:.1f} %</td><td>{}</td></tr>\n",
        r["size_bytes"].get<uint64_t>(), r["iterations"].get<uint64_t>(), r["bw_peak_gbps"].get<double>(),
        r["bw_average_gbps"].get<double>(), r["message_rate_mpps"].get<double>(), r["wire_payload_gbps"].get<double>(),
        100 * r["of_what_frames_allow_ratio"].get<double>(), r["saturated"].get<std::string>());
  }
  return s + "</tbody></table></div>\n";
}

}  // namespace

int perf_all(const PerfOptions& o) {
  for (unsigned log = kFirst; log <= kLast; ++log) {  // what is wrong with the options shows before the first run
    PerfOptions check = o;
    check.size = uint64_t{1} << log;
    perf_resolve(check);
  }
  const Profile profile = load_profile(o.common);
  const bool directory = !o.common.out.empty();
  if (!directory && !o.common.trace.empty() && o.common.trace != "none") {
    throw InputError("", 0, "--trace", "the waveforms go into the run directories: give one with -o DIR");
  }
  if (directory) {
    std::error_code ec;
    fs::create_directories(o.common.out, ec);
    if (ec || !fs::is_directory(o.common.out)) {
      throw InputError("", 0, "-o", fmt::format("cannot make the directory {}: {}", o.common.out, ec.message()));
    }
  }
  if (directory) {  // of a run of one size: they would pass for this one's
    for (const char* name : {"capture.pcapng", "tlp.log", "sensitivity.html", "wave.fst", "wave.gtkw", "wave.sucl"}) {
      std::error_code ec;
      fs::remove(fs::path(o.common.out) / name, ec);
    }
  }
  if (!o.common.json) perf_print_header(o, profile);
  nlohmann::json rows = nlohmann::json::array();
  Table wire({"#bytes", "wire Gb/s", "M msg/s", "of line rate", "of what frames allow", "<saturated"});
  int status = kGood;
  for (unsigned log = kFirst; log <= kLast && status == kGood; ++log) {
    const uint64_t size = uint64_t{1} << log;
    auto args = perf_arguments(o, size);
    if (directory) {
      args.insert(args.end(), {"--out", (fs::path(o.common.out) / fmt::format("size_{}", size)).string()});
      if (!o.common.trace.empty()) args.insert(args.end(), {"--trace", o.common.trace});
    }
    const std::string text = run_child(args, status);
    if (status == 128 + SIGTERM) status = kInterrupted;
    if (status != kGood) {
      spdlog::error("the run of {} B ended with status {} (message above); the sizes after it were left out", size,
                    status);
      break;
    }
    const auto j = nlohmann::json::parse(text, nullptr, false);
    if (j.is_discarded()) throw SimError(fmt::format("the run of {} B gave no JSON", size));
    const auto &r = j["rates"], &w = j["wire"];
    const double allow = w["frames_allow_gbps"], payload = w["payload_gbps"], line = w["line_rate_gbps"];
    rows.push_back(r);
    auto& row = rows.back();
    row["name"] = fmt::format("{} B", size);
    row["size_bytes"] = size;
    row["wire_payload_gbps"] = payload;
    row["wire_messages_per_s"] = w["messages_per_s"];
    row["frames_allow_gbps"] = allow;
    row["of_what_frames_allow_ratio"] = allow == 0 ? 0 : payload / allow;
    row["saturated"] = w["saturated"]["text"];
    if (o.common.json) continue;
    const double bytes = static_cast<double>(size);
    fmt::print("{}", perf_row(o.gbits, size, r["iterations"], r["bw_peak_gbps"].get<double>() * 1e9 / 8 / bytes,
                              r["bw_average_gbps"].get<double>() * 1e9 / 8 / bytes));
    std::fflush(stdout);
    wire.row(
        {fmt::to_string(size), fmt::format("{:.2f}", payload),
         fmt::format("{:.3f}", w["messages_per_s"].get<double>() * 1e-6), fmt::format("{:.1f} %", 100 * payload / line),
         fmt::format("{:.1f} %", allow == 0 ? 0 : 100 * payload / allow), w["saturated"]["text"].get<std::string>()});
  }
  if (!o.common.json) {
    fmt::print("{}\nOn the wire, each size in its own window\n\n{}", kPerfRule, wire.text());
    std::fflush(stdout);
  }
  nlohmann::json result = result_header(rerun_line(), profile, o.common.seed);
  result["subcommand"] = "perf " + o.test;
  result["status"] = status == kGood ? "done" : "not finished";
  result["fit_note"] = profile.fit_note();
  result["options"] = perf_options_json(o);
  result["options"]["all"] = true;
  result["options"].erase("size_bytes");
  result["sizes"] = rows;
  if (directory) {
    const fs::path dir(o.common.out);
    write_file((dir / "result.json").string(), json_text(result) + "\n");
    write_file((dir / "profile.toml").string(), profile.to_toml());
    ReportInput in;
    in.title = fmt::format("rnicsim perf {}: 2 B to 8 MiB, {} QP{}", o.test, o.qps, o.qps == 1 ? "" : "s");
    in.command = rerun_line();
    in.profile = &profile;
    in.recorder = nullptr;
    if (!rows.empty()) in.sections = {{"Rates by message size", curves_html(rows)}};
    in.result = result;
    in.result.erase("sizes");
    write_report((dir / "report.html").string(), in);
    spdlog::info("run directory: {}; that of each size in size_*", o.common.out);
  }
  if (o.common.json) fmt::print("{}\n", json_text(result));
  if (status != kGood) spdlog::error("to run it again: {}", rerun_line());
  return status;
}

}  // namespace rnic::cli
