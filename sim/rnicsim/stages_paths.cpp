// SPDX-License-Identifier: Apache-2.0
#include "stages_paths.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "rnic/core/text.h"
#include "rnic/observe/node_state.h"
#include "rnic/study/chart.h"
#include "table.h"

namespace rnic::cli {
namespace {

using host::KeyUse;
using host::Path;
using host::PathStep;
using host::PathTable;
using host::PathTrace;

constexpr uint64_t kSizes[] = {64, 4096};  // F7's

struct Measured {
  PathTrace trace;
  size_t first_event, end_event;
};

/// Both paths of one size.
struct Pair {
  std::optional<PathTable> gdr, staged;
};

double in_ns(uint64_t ps) { return static_cast<double>(ps) / 1000; }

std::string key_text(const Profile& p, const KeyUse& k) {
  const KeyValue& v = p.entry(k.key);
  const KeyInfo* info = find_key(k.key);
  const auto* number = std::get_if<double>(&v.value);
  std::string s = fmt::format("{} = {}", k.key, number ? fmt::to_string(*number) : std::get<std::string>(v.value));
  if (info && info->unit != "1" && info->unit != "text") s += " " + info->unit;
  if (k.times > 1) s = fmt::format("{} x {}", k.times, s);
  return s;
}

std::string keys_text(const Profile& p, const PathStep& s) {
  std::vector<std::string> all;
  for (const KeyUse& k : s.keys) all.push_back(key_text(p, k));
  return fmt::format("{}", fmt::join(all, ", "));
}

/// Parts of a path in order, steps of the same part that follow each other taken together.
struct Part {
  std::string name;
  uint64_t start_ps, end_ps, lo_ps, hi_ps;
};

std::vector<Part> parts_of(const PathTable& t) {
  std::vector<Part> out;
  for (const PathStep& s : t.steps) {
    if (out.empty() || out.back().name != s.part) {
      out.push_back({s.part, s.start_ps, s.end_ps, s.lo_ps, s.hi_ps});
    } else {
      Part& p = out.back();
      p.end_ps = s.end_ps;
      p.lo_ps += s.lo_ps;
      p.hi_ps += s.hi_ps;
    }
  }
  return out;
}

uint64_t sum(const PathTable& t, uint64_t PathStep::*member) {
  uint64_t all = 0;
  for (const PathStep& s : t.steps) all += s.*member;
  return all;
}

nlohmann::json to_json(const PathTable& t, const Profile& p) {
  nlohmann::json j{{"path", host::to_string(t.path)},
                   {"size_bytes", t.bytes},
                   {"start_ps", t.start_ps},
                   {"ready_to_wire_ps", t.ps()},
                   {"ready_to_wire_ns", in_ns(t.ps())},
                   {"lo_ns", in_ns(sum(t, &PathStep::lo_ps))},
                   {"hi_ns", in_ns(sum(t, &PathStep::hi_ps))},
                   {"nic_read_ns", in_ns(t.nic_read_ps)},
                   {"steps", nlohmann::json::array()}};
  if (t.path == Path::kStaged) j["copy_engine_ns"] = in_ns(t.copy_engine_ps);
  for (const PathStep& s : t.steps) {
    nlohmann::json keys = nlohmann::json::array();
    for (const KeyUse& k : s.keys) {
      const KeyValue& v = p.entry(k.key);
      nlohmann::json one{{"key", k.key}, {"times", k.times}, {"kind", v.kind}, {"source", v.source}};
      std::visit([&](const auto& x) { one["value"] = x; }, v.value);
      if (const KeyInfo* info = find_key(k.key)) one["unit"] = info->unit;
      if (k.bytes != 0) one["bytes"] = k.bytes;
      keys.push_back(std::move(one));
    }
    j["steps"].push_back({{"part", s.part},
                          {"name", s.name},
                          {"start_ps", s.start_ps - t.start_ps},
                          {"end_ps", s.end_ps - t.start_ps},
                          {"nominal_ps", s.ps()},
                          {"nominal_ns", in_ns(s.ps())},
                          {"lo_ns", in_ns(s.lo_ps)},
                          {"hi_ns", in_ns(s.hi_ps)},
                          {"keys", std::move(keys)}});
  }
  return j;
}

Table side_by_side(const Pair& pair) {
  struct Row {
    std::string name;
    const Part *gdr = nullptr, *staged = nullptr;
  };
  static const std::vector<Part> kNone;
  std::vector<Part> a = pair.gdr ? parts_of(*pair.gdr) : kNone, b = pair.staged ? parts_of(*pair.staged) : kNone;
  std::vector<Row> rows;
  size_t i = 0;
  // The longer list leads; a part of the shorter one stands beside the next part of the same name.
  const bool staged_leads = b.size() >= a.size();
  const auto& lead = staged_leads ? b : a;
  const auto& other = staged_leads ? a : b;
  for (size_t k = 0; k < lead.size(); ++k) {
    const Part* beside = nullptr;
    // Not beside an earlier one when the same name comes again later: the last fits (the CPU that posts).
    const bool again = std::any_of(lead.begin() + static_cast<std::ptrdiff_t>(k) + 1, lead.end(),
                                   [&](const Part& p) { return p.name == lead[k].name; });
    if (i < other.size() && other[i].name == lead[k].name && !again) beside = &other[i++];
    rows.push_back(staged_leads ? Row{lead[k].name, beside, &lead[k]} : Row{lead[k].name, &lead[k], beside});
  }
  Table t({"<part", "GPUDirect: start", "end", "lo", "nominal", "hi", "staged: start", "end", "lo", "nominal", "hi"});
  const auto cells = [](std::vector<std::string>& to, const Part* p, const std::optional<PathTable>& of) {
    if (!p) return to.insert(to.end(), 5, "-"), void();
    to.push_back(ns(p->start_ps - of->start_ps));
    to.push_back(ns(p->end_ps - of->start_ps));
    to.push_back(ns(p->lo_ps));
    to.push_back(ns(p->end_ps - p->start_ps));
    to.push_back(ns(p->hi_ps));
  };
  for (const Row& r : rows) {
    std::vector<std::string> line{r.name};
    cells(line, r.gdr, pair.gdr);
    cells(line, r.staged, pair.staged);
    t.row(std::move(line));
  }
  t.rule();
  std::vector<std::string> line{"ready to wire"};
  for (const auto* of : {&pair.gdr, &pair.staged}) {
    if (!*of) {
      line.insert(line.end(), 5, "-");
      continue;
    }
    line.push_back(ns(0));
    line.push_back(ns((*of)->ps()));
    line.push_back(ns(sum(**of, &PathStep::lo_ps)));
    line.push_back(ns((*of)->ps()));
    line.push_back(ns(sum(**of, &PathStep::hi_ps)));
  }
  t.row(std::move(line));
  return t;
}

Table steps_table(const PathTable& t, const Profile& p) {
  Table out({"<part", "<step", "start", "end", "lo", "nominal", "hi", "<profile keys"});
  std::string before;
  for (const PathStep& s : t.steps) {
    out.row({s.part == before ? "" : s.part, s.name, ns(s.start_ps - t.start_ps), ns(s.end_ps - t.start_ps),
             ns(s.lo_ps), ns(s.ps()), ns(s.hi_ps), keys_text(p, s)});
    before = s.part;
  }
  out.rule();
  out.row({"sum", "", ns(0), ns(t.ps()), ns(sum(t, &PathStep::lo_ps)), ns(t.ps()), ns(sum(t, &PathStep::hi_ps)), ""});
  return out;
}

Table sums_table(const std::map<uint64_t, Pair>& all) {
  Table t({"<ns", "GPUDirect", "staged", "copy engine", "NIC reads host", "NIC reads GPU", "saved (F6)"});
  const auto opt = [](const std::optional<PathTable>& p, uint64_t PathTable::*m) { return p ? ns((*p).*m) : "-"; };
  for (const auto& [size, pair] : all) {
    t.row({fmt::format("{}, ready to wire (F7)", bytes_text(size)), pair.gdr ? ns(pair.gdr->ps()) : "-",
           pair.staged ? ns(pair.staged->ps()) : "-", opt(pair.staged, &PathTable::copy_engine_ps),
           opt(pair.staged, &PathTable::nic_read_ps), opt(pair.gdr, &PathTable::nic_read_ps),
           pair.gdr && pair.staged ? signed_ns(host::saved_ps(*pair.gdr, *pair.staged)) : "-"});
  }
  return t;
}

Table sources_table(const Pair& pair, const Profile& p) {
  Table t({"<key", "value", "<unit", "lo", "hi", "<kind", "<source"});
  std::vector<std::string> seen;
  for (const auto* of : {&pair.staged, &pair.gdr}) {
    if (!*of) continue;
    for (const PathStep& s : (*of)->steps) {
      for (const KeyUse& k : s.keys) {
        if (std::find(seen.begin(), seen.end(), k.key) != seen.end()) continue;
        seen.push_back(k.key);
        const KeyValue& v = p.entry(k.key);
        const KeyInfo* info = find_key(k.key);
        const auto* number = std::get_if<double>(&v.value);
        const bool range = v.lo != 0 || v.hi != 0;
        t.row({k.key, number ? fmt::to_string(*number) : std::get<std::string>(v.value),
               info && info->unit != "1" && info->unit != "text" ? info->unit : "", range ? fmt::to_string(v.lo) : "-",
               range ? fmt::to_string(v.hi) : "-", v.kind, v.source});
      }
    }
  }
  return t;
}

const char* colour(const std::string& part) {
  static const std::map<std::string, const char*> kColours{
      {"signal", "#7a3ea8"},   {"CPU", "#b3261e"},       {"copy engine", "#e08e0b"},
      {"post", "#5b6875"},     {"doorbell", "#12936f"},  {"WQE fetch", "#1f6fb2"},
      {"DMA read", "#3f9bd8"}, {"packetize", "#0b4f86"}, {"MAC TX", "#1c2733"}};
  const auto it = kColours.find(part);
  return it == kColours.end() ? "#a3adb8" : it->second;
}

/// Both paths of each size as bars over one axis.
std::string picture(const std::map<uint64_t, Pair>& all) {
  constexpr double kWidth = 1150, kLeft = 150, kRight = 110, kRow = 40, kBar = 26, kTop = 8;
  std::vector<std::pair<std::string, const PathTable*>> rows;
  uint64_t longest = 1;
  for (const auto& [size, pair] : all) {
    for (const auto* of : {&pair.gdr, &pair.staged}) {
      if (!*of) continue;
      const char* name = (*of)->path == Path::kGdr ? "GPUDirect" : "staged";
      rows.emplace_back(fmt::format("{}, {}", name, bytes_text(size)), &**of);
      longest = std::max(longest, (*of)->ps());
    }
  }
  const double end = in_ns(longest) * 1.01, scale = (kWidth - kLeft - kRight) / end;
  const double bottom = kTop + kRow * static_cast<double>(rows.size());
  std::string s =
      fmt::format("<figure><svg viewBox='0 0 {} {}' role='img' aria-label='Both paths from data ready to the wire'>",
                  kWidth, bottom + 40);
  for (const double t : study::ticks(0, end, 10)) {
    if (t > end) continue;
    const double x = kLeft + t * scale;
    s += fmt::format("<line x1='{0:.2f}' x2='{0:.2f}' y1='{1}' y2='{2}' stroke='#e3e8ed'/>", x, kTop, bottom);
    s += fmt::format("<text x='{:.2f}' y='{}' text-anchor='middle' font-size='12' fill='#5b6875'>{}</text>", x,
                     bottom + 16, trim(t));
  }
  s += fmt::format(
      "<text x='{}' y='{}' text-anchor='middle' font-size='12' fill='#5b6875'>ns from data ready in GPU memory</text>",
      kLeft + (kWidth - kLeft - kRight) / 2, bottom + 34);
  double y = kTop;
  std::vector<std::string> parts;
  for (const auto& [name, table] : rows) {
    s += fmt::format("<text x='{}' y='{}' text-anchor='end' font-size='13.5' fill='#1c2733'>{}</text>", kLeft - 10,
                     y + 23, xml(name));
    for (const PathStep& step : table->steps) {
      if (std::find(parts.begin(), parts.end(), step.part) == parts.end()) parts.push_back(step.part);
      const double x = kLeft + in_ns(step.start_ps - table->start_ps) * scale, w = in_ns(step.ps()) * scale;
      s += fmt::format(
          "<rect x='{:.2f}' y='{}' width='{:.2f}' height='{}' fill='{}' stroke='#fff' stroke-width='0.4'>"
          "<title>{}: {}, {} ns</title></rect>",
          x, y + 5, std::max(0.5, w), kBar, colour(step.part), xml(step.part), xml(step.name), ns(step.ps()));
    }
    s += fmt::format("<text x='{:.2f}' y='{}' font-size='13' font-weight='600' fill='#1c2733'>{} ns</text>",
                     kLeft + in_ns(table->ps()) * scale + 8, y + 23, trim(in_ns(table->ps())));
    y += kRow;
  }
  s += "</svg></figure>\n<div class='legend'>";
  for (const std::string& p : parts) {
    s += fmt::format("<span><i style='background:{}'></i>{}</span>", colour(p), xml(p));
  }
  return s + "</div>\n";
}

std::vector<CheckResult> checks_of(const std::map<uint64_t, Pair>& all) {
  std::vector<CheckResult> out;
  const auto between = [&](const std::string& name, const char* what, double lo, double hi, int64_t ps) {
    const double us = static_cast<double>(ps) / 1e6;
    out.push_back(
        {name, what, fmt::format("{:g} to {:g} us", lo, hi), fmt::format("{:.6f} us", us), us >= lo && us <= hi});
  };
  for (const uint64_t size : kSizes) {
    const auto it = all.find(size);
    if (it == all.end()) continue;
    const Pair& p = it->second;
    if (p.gdr) between(fmt::format("GPUDirect, {} B", size), "ready to wire (F7)", 1.2, 1.8, p.gdr->ps());
    if (p.staged) between(fmt::format("staged, {} B", size), "ready to wire (F7)", 8, 12, p.staged->ps());
    if (p.gdr && p.staged)
      between(fmt::format("saved, {} B", size), "copy engine and host read against GPU read (F6)", 2, 3,
              host::saved_ps(*p.gdr, *p.staged));
  }
  return out;
}

void check_options(const Profile& p, const StagesPaths& o) {
  const bool gdr = o.path != "staged";
  if (o.size && *o.size == 0) throw InputError("", 0, "--size", "there is no path without data: give 1 or more");
  if (gdr && p.integer("gpu.bar_reads") == 0) {
    throw InputError("", 0, "gpu.bar_reads",
                     "0: this GPU's BAR refuses reads, so there is no GPUDirect send; use --path staged");
  }
  if (!gdr && o.message.initiator == pcie::Initiator::kGpu) {
    throw InputError("", 0, "--initiator", "the staged path is posted by the CPU; gpu goes with --path gdr or both");
  }
}

}  // namespace

Exit run_stages_paths(const Common& common, const StagesPaths& o) {
  const Profile profile = load_profile(common);
  check_options(profile, o);
  std::vector<uint64_t> sizes(std::begin(kSizes), std::end(kSizes));
  const uint64_t shown = o.size.value_or(kSizes[0]);
  if (std::find(sizes.begin(), sizes.end(), shown) == sizes.end()) sizes.push_back(shown);

  Session session(common, profile, "full");
  BoundedRecorder rec(2'000'000);
  SystemOptions so = session.system_options(1);
  System system(profile, so);
  system.observers().add(&rec);
  Node& node = system.node();
  node.hub->gpu_memory().set_background(common.seed);
  std::vector<Measured> measured;
  std::unique_ptr<host::PathRunner> runner;  // its agent stays as long as the models
  system.spawn("paths", [&] {
    host::PathOptions message = o.message;
    message.largest = *std::max_element(sizes.begin(), sizes.end());
    runner = std::make_unique<host::PathRunner>(*node.ctx, *node.hub, *node.nic, system.profile(), message);
    for (const uint64_t size : sizes) {
      for (const Path path : {Path::kGdr, Path::kStaged}) {
        if (o.path != "both" && o.path != host::to_string(path)) continue;
        const size_t first = rec.events.size();
        const PathTrace trace = runner->run(path, size);
        if (rec.events_dropped != 0)
          throw InputError("", 0, "--size", "the run has more events than are kept: use a smaller --size");
        measured.push_back({trace, first, rec.events.size()});
      }
    }
  });
  Exit status = session.run(system);

  const ClockInfo clock{so.phases_ps.empty() ? 0 : so.phases_ps[0], to_ps(profile.time("clock.core_period"))};
  std::map<uint64_t, Pair> all;
  for (const Measured& m : measured) {
    const std::vector<Event> events(rec.events.begin() + static_cast<std::ptrdiff_t>(m.first_event),
                                    rec.events.begin() + static_cast<std::ptrdiff_t>(m.end_event));
    const bool staged = m.trace.path == Path::kStaged;
    const auto payload = staged ? ModelLatencies::Payload::kHost : ModelLatencies::Payload::kGpu;
    const StageTable t =
        make_stage_table(events, 0, m.trace.qpn, m.trace.wqe, clock, model_latencies(profile, payload, *node.hub),
                         extra_cycles(declared_extra_cycles()));
    (staged ? all[m.trace.bytes].staged : all[m.trace.bytes].gdr) =
        host::make_path_table(m.trace, t, events, profile, *node.hub);
  }

  nlohmann::json result = result_header(rerun_line(), profile, common.seed);
  result["subcommand"] = "stages";
  result["status"] = status == kGood ? "done" : "not finished";
  result["fit_note"] = profile.fit_note();
  result["options"] = {{"path", o.path},
                       {"op", o.op},
                       {"transport", o.transport},
                       {"size_bytes", shown},
                       {"mtu_bytes", o.message.mtu},
                       {"sq", o.sq},
                       {"initiator", o.message.initiator == pcie::Initiator::kGpu ? "gpu" : "cpu"}};
  result.update(node_state(*node.nic, *node.hub));
  result["paths"] = nlohmann::json::array();
  for (const auto& [size, pair] : all) {
    nlohmann::json j{{"size_bytes", size}};
    if (pair.gdr) j["gdr"] = to_json(*pair.gdr, profile);
    if (pair.staged) j["staged"] = to_json(*pair.staged, profile);
    if (pair.gdr && pair.staged) j["saved_ns"] = static_cast<double>(host::saved_ps(*pair.gdr, *pair.staged)) / 1000;
    result["paths"].push_back(std::move(j));
  }
  const std::vector<CheckResult> checks = o.check ? checks_of(all) : std::vector<CheckResult>{};
  result["checks"] = to_json(checks);

  Session::Outputs out;
  out.title = "rnicsim stages --path " + o.path;
  out.recorder = &rec;
  if (const auto it = all.find(shown); it != all.end()) {
    const Pair& pair = it->second;
    out.sections.emplace_back("Paths", picture(all) + sums_table(all).html());
    out.sections.emplace_back(fmt::format("Side by side, {}, ns", bytes_text(shown)), side_by_side(pair).html());
    if (pair.gdr) out.sections.emplace_back("Steps of GPUDirect, ns", steps_table(*pair.gdr, profile).html());
    if (pair.staged)
      out.sections.emplace_back("Steps of the staged path, ns", steps_table(*pair.staged, profile).html());
    if (!common.json) {
      fmt::print("{}\n", wrapped(fmt::format("profile {}: {}", profile.name(), profile.description())));
      if (!profile.fit_note().empty()) fmt::print("{}\n", profile.fit_note());
      fmt::print(
          "\n{} B {} {}, contexts warm. Times in ns from \"data ready in GPU memory\" to the last bit on the wire\n",
          shown, o.transport == "uc" ? "UC" : "RC", host::to_string(o.message.op));
      fmt::print("lo, hi: the same with all its keys at the ends of their ranges\n\n{}", side_by_side(pair).text());
      if (pair.gdr)
        fmt::print("\nGPUDirect, posted by the {}\n\n{}", o.message.initiator == pcie::Initiator::kGpu ? "GPU" : "CPU",
                   steps_table(*pair.gdr, profile).text());
      if (pair.staged) fmt::print("\nStaged\n\n{}", steps_table(*pair.staged, profile).text());
      fmt::print("\n{}", sums_table(all).text());
      fmt::print(
          "Saved: (copy engine + the NIC's host read) - the NIC's GPU read, CPU steps left out. The copy engine's time "
          "is\n"
          "from its doorbell at the GPU to its completion visible in host memory.\n\n");
      fmt::print("{}", sources_table(pair, profile).text());
      if (o.check) {
        Table c({"<check", "<what", "<expected", "got", "<"});
        for (const auto& x : checks) c.row({x.name, x.what, x.expected, x.got, x.passed ? "ok" : "FAILED"});
        fmt::print("\n{}", c.text());
      }
      std::fflush(stdout);
    }
  }
  if (!report_checks(checks) && status == kGood) status = kCheckFailed;
  session.finish(status, result, out);
  return status;
}

}  // namespace rnic::cli
