// SPDX-License-Identifier: Apache-2.0
// What wavediff prints and writes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "markup.h"
#include "rnic/wave/diff.h"

namespace rnic::wave {
namespace {

using detail::shortened;

double ns(uint64_t fs) { return static_cast<double>(fs) / 1e6; }

/// "B 2 cycles later"; empty when it is not known.
std::string shift_of(const DiffReport& r, const Difference& d) {
  if (!d.shift) return "";
  const int64_t n = *d.shift;
  const auto size = static_cast<double>(std::abs(n));
  const std::string length =
      r.by == DiffBy::kTime
          ? fmt::format("{:.3f} ns", size / 1e6)
          : fmt::format("{:.0f} {}{}", size, r.by == DiffBy::kCycle ? "cycle" : "event", size == 1 ? "" : "s");
  return fmt::format("B {} {}", length, n > 0 ? "later" : "earlier");
}
std::string instant_of(const Difference& d) {
  std::string s = fmt::format("{:.3f} ns", ns(d.time_fs));
  if (d.cycle) s += fmt::format(", cycle {}", *d.cycle);
  if (d.event) s += fmt::format(", event {}", *d.event);
  return d.in_b ? s + " of B" : s;
}

std::string list_of(const char* title, const std::vector<std::string>& names, size_t limit) {
  if (names.empty()) return "";
  std::string s = fmt::format("{} ({}):\n", title, names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    if (limit != 0 && i == limit) return s + fmt::format("  ... {} more (--limit)\n", names.size() - limit);
    s += "  " + names[i] + "\n";
  }
  return s;
}

const char* aligned(DiffBy by) {
  return by == DiffBy::kTime ? "by time" : by == DiffBy::kCycle ? "cycle by cycle" : "event by event";
}
std::string summary(const DiffReport& r) {
  if (r.same())
    return fmt::format("no difference in {} signal{}, {}", r.compared, r.compared == 1 ? "" : "s", aligned(r.by));
  return fmt::format("{} of {} signals differ, {}", r.differences.size(), r.compared, aligned(r.by));
}

std::string rest_of(const DiffReport& r, size_t limit) {
  std::string s = list_of("only in A", r.only_a, limit) + list_of("only in B", r.only_b, limit) +
                  list_of("other width", r.widths, limit);
  if (!r.length.empty()) s += fmt::format("length: {}\n", r.length);
  for (const auto& n : r.notes) s += fmt::format("note: {}\n", n);
  return s;
}

std::string commands_text(const DiffReport& r, const Commands& commands) {
  std::string s = fmt::format("again: {}\n", commands.check);
  if (r.differences.empty()) return s;
  constexpr uint64_t kRound = 25'000'000;  // 25 ns to the left and to the right
  const uint64_t at = r.differences[0].time_fs, left = at - std::min(at, kRound), right = at + kRound;
  for (const auto& [wave, tick] : {std::make_pair(r.a, r.tick_a_fs), {r.b, r.tick_b_fs}}) {
    s += fmt::format("viewer: {}\n", detail::viewer(wave, at / tick, left / tick, right / tick));
  }
  return s;
}

}  // namespace

std::string text_of(const DiffReport& r, const Commands& commands, size_t limit) {
  const size_t shown = limit == 0 ? r.differences.size() : std::min(limit, r.differences.size());
  std::vector<std::string> lines[4];
  size_t width[4] = {0, 0, 0, 0};
  for (size_t i = 0; i < shown; ++i) {
    const auto& d = r.differences[i];
    const std::string cells[4] = {d.name, instant_of(d), "A " + shortened(d.a), "B " + shortened(d.b)};
    for (int c = 0; c < 4; ++c) {
      width[c] = std::max(width[c], cells[c].size());
      lines[c].push_back(cells[c]);
    }
  }
  std::string out;
  for (size_t i = 0; i < shown; ++i) {
    std::string line;
    for (int c = 0; c < 4; ++c) line += fmt::format("{}{:<{}}", c == 0 ? "" : "  ", lines[c][i], width[c]);
    const auto& d = r.differences[i];
    if (const auto shift = shift_of(r, d); !shift.empty()) line += "  " + shift;
    if (!d.aliases.empty()) line += fmt::format("  (also {})", fmt::join(d.aliases, ", "));
    line.resize(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  if (shown < r.differences.size()) out += fmt::format("... {} more (--limit)\n", r.differences.size() - shown);
  out += rest_of(r, limit);
  out += summary(r) + fmt::format("; A {}, B {}\n", r.a, r.b);
  if (!r.same()) out += commands_text(r, commands);
  return out;
}

std::string json_of(const DiffReport& r) {
  nlohmann::ordered_json j;
  j["schema_version"] = 1;
  j["a"] = r.a;
  j["b"] = r.b;
  j["by"] = r.by == DiffBy::kTime ? "time" : r.by == DiffBy::kCycle ? "cycle" : "event";
  j["same"] = r.same();
  j["signals_compared"] = r.compared;
  auto& list = j["differences"] = nlohmann::ordered_json::array();
  for (const auto& d : r.differences) {
    nlohmann::ordered_json e;
    e["signal"] = d.name;
    e["aliases"] = d.aliases;
    e["changes_in"] = d.in_b ? "b" : "a";
    e["time_ns"] = ns(d.time_fs);
    e["cycle"] = d.cycle ? nlohmann::ordered_json(*d.cycle) : nlohmann::ordered_json();
    e["event"] = d.event ? nlohmann::ordered_json(*d.event) : nlohmann::ordered_json();
    e["a"] = d.a;
    e["b"] = d.b;
    const char* key = r.by == DiffBy::kTime    ? "b_later_ns"
                      : r.by == DiffBy::kCycle ? "b_later_cycles"
                                               : "b_later_events";
    if (!d.shift)
      e[key] = nullptr;
    else if (r.by == DiffBy::kTime)
      e[key] = static_cast<double>(*d.shift) / 1e6;
    else
      e[key] = *d.shift;
    list.push_back(std::move(e));
  }
  j["only_a"] = r.only_a;
  j["only_b"] = r.only_b;
  j["other_width"] = r.widths;
  j["length"] = r.length.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(r.length);
  j["notes"] = r.notes;
  // Names may hold any bytes.
  return j.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string junit_of(const DiffReport& r, const Commands& commands, size_t limit) {
  struct Case {
    const char* name;
    bool failed;
    std::string message, text;
  };
  const std::string all = text_of(r, commands, limit);
  const auto lists = r.only_a.size() + r.only_b.size() + r.widths.size();
  std::vector<Case> cases;
  cases.push_back({"values", !r.differences.empty(), "", all});
  if (!r.differences.empty()) {
    const auto& d = r.differences.front();
    cases.back().message = fmt::format("{} of {} signals differ, first {} at {}: A {}, B {}", r.differences.size(),
                                       r.compared, d.name, instant_of(d), d.a, d.b);
  }
  cases.push_back(
      {"signals", lists != 0 && !r.common,
       fmt::format("{} only in A, {} only in B, {} of other width", r.only_a.size(), r.only_b.size(), r.widths.size()),
       rest_of(r, limit) + commands_text(r, commands)});
  cases.push_back({"length", !r.length.empty() && !r.common, r.length, commands_text(r, commands)});
  const auto failures = std::count_if(cases.begin(), cases.end(), [](const auto& c) { return c.failed; });
  std::string s = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"wavediff {} {}\" tests=\"{}\" "
      "failures=\"{}\" "
      "errors=\"0\">\n",
      xml(r.a), xml(r.b), cases.size(), failures);
  for (const auto& c : cases) {
    s += fmt::format("<testcase classname=\"wavediff\" name=\"{}\">", c.name);
    if (c.failed) s += fmt::format("<failure message=\"{}\">{}</failure>", xml(c.message), xml(c.text));
    s += "</testcase>\n";
  }
  return s + "</testsuite>\n</testsuites>\n";
}

std::string html_of(const DiffReport& r, const Commands& commands, size_t limit) {
  std::string s = page_head("wavediff");
  s += fmt::format(
      "<header><h1>wavediff</h1><p class=\"{}\">{}</p>\n<dl><dt>A</dt><dd>{}</dd><dt>B</dt><dd>{}</dd>"
      "<dt>again</dt><dd><code>{}</code></dd></dl></header>\n",
      r.same() ? "good" : "bad", summary(r), xml(r.a), xml(r.b), xml(commands.check));
  if (!r.differences.empty()) {
    const size_t shown = limit == 0 ? r.differences.size() : std::min(limit, r.differences.size());
    s += "<table class=\"list\"><thead><tr><th>signal, the first that differs on top</th><th class=\"n\">ns</th>"
         "<th class=\"n\">cycle</th><th>A</th><th>B</th><th></th></tr></thead><tbody>\n";
    for (size_t i = 0; i < shown; ++i) {
      const auto& d = r.differences[i];
      const std::string also = d.aliases.empty() ? ""
                                                 : fmt::format("<div class=\"where\">also {}</div>",
                                                               xml(fmt::format("{}", fmt::join(d.aliases, ", "))));
      s += fmt::format(
          "<tr><td><code>{}</code>{}</td><td class=\"n\">{:.3f}{}</td><td class=\"n\">{}</td><td><code>{}</code></td>"
          "<td><code>{}</code></td><td class=\"where\">{}</td></tr>\n",
          xml(d.name), also, ns(d.time_fs), d.in_b ? " of B" : "",
          d.event   ? fmt::format("event {}", *d.event)
          : d.cycle ? fmt::format("{}", *d.cycle)
                    : "",
          xml(shortened(d.a)), xml(shortened(d.b)), shift_of(r, d));
    }
    s += "</tbody></table>\n";
    if (shown < r.differences.size()) s += fmt::format("<p>{} more</p>\n", r.differences.size() - shown);
  }
  const std::string rest = rest_of(r, limit);
  if (!rest.empty()) s += fmt::format("<section><h2>Besides</h2><pre>{}</pre></section>\n", xml(rest));
  s += fmt::format("<section><h2>Commands</h2><pre>{}</pre></section>\n", xml(commands_text(r, commands)));
  return s + "</body></html>\n";
}

}  // namespace rnic::wave
