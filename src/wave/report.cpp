// SPDX-License-Identifier: Apache-2.0
// What wavecheck prints and writes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "markup.h"
#include "rnic/wave/check.h"

namespace rnic::wave {
namespace {

using detail::shortened;

std::string table_of(const Around& a, double tick_ns) {
  if (a.cycles.empty()) return "";
  std::vector<std::vector<std::string>> lines;
  std::vector<std::string> cycles{"cycle"}, times{"ns"};
  for (size_t i = 0; i < a.cycles.size(); ++i) {
    cycles.push_back(i == a.marked ? fmt::format("[{}]", a.cycles[i]) : fmt::format("{}", a.cycles[i]));
    times.push_back(fmt::format("{:.3f}", static_cast<double>(a.times[i]) * tick_ns));
  }
  lines.push_back(cycles);
  lines.push_back(times);
  for (const auto& r : a.rows) {
    std::vector<std::string> line{r.name};
    for (const auto& v : r.values) line.push_back(shortened(v));
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
    if (lines.size() > 26) break;
  }
  std::vector<size_t> width(lines[0].size());
  for (const auto& l : lines) {
    for (size_t i = 0; i < l.size(); ++i) width[i] = std::max(width[i], l[i].size());
  }
  std::string out;
  for (const auto& l : lines) {
    out += fmt::format("    {:<{}}", l[0], width[0]);
    for (size_t i = 1; i < l.size(); ++i) out += fmt::format("  {:>{}}", l[i], width[i]);
    out += '\n';
  }
  return out;
}

/// Everything about a bad verdict, without its first line.
std::string details(const Report& r, const Verdict& v, const Commands& commands, bool with_values = true) {
  std::string out;
  const auto instant = [&](const Failure& f) {
    return fmt::format("{:.3f} ns, cycle {}", static_cast<double>(f.time) * r.tick_ns, f.cycle);
  };
  if (v.status == Status::kFailed) {
    out += fmt::format("  first at {}: {}\n", instant(v.first[0]), v.first[0].what);
    out += fmt::format("  expected: {}\n", v.expected);
    out += fmt::format("  {} time{}{}\n", v.count, v.count == 1 ? "" : "s",
                       v.count > v.first.size() ? fmt::format(", the first {}:", v.first.size())
                       : v.count > 1            ? ":"
                                                : "");
    if (v.count > 1) {
      for (const auto& f : v.first) out += fmt::format("    {}: {}\n", instant(f), f.what);
    }
    if (with_values && !v.around.cycles.empty())
      out += "  values sampled before the edge:\n" + table_of(v.around, r.tick_ns);
  } else {
    out += fmt::format("  {}\n  expected: {}\n", v.detail, v.expected);
  }
  for (const auto& [name, value] : v.measured) out += fmt::format("  {} = {}\n", name, value);
  out += fmt::format("  again:  {}\n", commands.check);
  if (!commands.replay.empty()) out += fmt::format("  run:    {}\n", commands.replay);
  if (!commands.seed.empty()) out += fmt::format("  seed:   {}\n", commands.seed);
  if (v.status == Status::kFailed && !v.around.times.empty()) {
    out += fmt::format("  viewer: {}\n",
                       detail::viewer(r.wave, v.first[0].time, v.around.times.front(), v.around.times.back()));
  }
  return out;
}

std::string parameters(const Report& r) {
  std::string s;
  for (const auto& p : r.parameters) {
    if (p.from != "default") s += fmt::format("{}{} = {} ({})", s.empty() ? "" : ", ", p.name, p.value, p.from);
  }
  return s;
}

std::string summary(const Report& r) {
  std::string s = fmt::format("{} rule instance{}: {} passed", r.verdicts.size(), r.verdicts.size() == 1 ? "" : "s",
                              r.count(Status::kPassed));
  for (const auto& [status, word] : {std::pair<Status, const char*>{Status::kFailed, "failed"},
                                     {Status::kVacuous, "vacuous"},
                                     {Status::kIncomplete, "incomplete"}}) {
    if (r.count(status) != 0) s += fmt::format(", {} {}", r.count(status), word);
  }
  return s;
}

}  // namespace

std::string text_of(const Report& r, const Commands& commands) {
  std::string out;
  for (const auto& v : r.verdicts) {
    out += fmt::format("{:<10} {:<12} {}  ({}:{}){}\n", to_string(v.status), v.kind, v.title(), v.file, v.line,
                       v.warning && v.status != Status::kPassed ? "  warning only" : "");
    if (v.status != Status::kPassed) out += details(r, v, commands);
  }
  if (const auto p = parameters(r); !p.empty()) out += fmt::format("parameters: {}\n", p);
  return out + fmt::format("{}; {} up to {:.3f} ns\n", summary(r), r.wave, static_cast<double>(r.end) * r.tick_ns);
}

std::string junit_of(const Report& r, const Commands& commands) {
  std::string s = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";
  std::vector<std::string> done;
  for (const auto& file : r.rules) {
    if (std::find(done.begin(), done.end(), file) != done.end()) continue;  // given twice
    done.push_back(file);
    std::vector<const Verdict*> all;
    for (const auto& v : r.verdicts) {
      if (v.file == file) all.push_back(&v);
    }
    const auto bad = [&](bool failed) {
      return std::count_if(all.begin(), all.end(),
                           [&](const auto* v) { return v->bad() && (v->status == Status::kFailed) == failed; });
    };
    s += fmt::format("<testsuite name=\"wavecheck {}\" tests=\"{}\" failures=\"{}\" errors=\"{}\">\n<properties>",
                     xml(file), all.size(), bad(true), bad(false));
    const auto property = [&](const std::string& name, const std::string& value) {
      s += fmt::format("<property name=\"{}\" value=\"{}\"/>", xml(name), xml(value));
    };
    property("wave", r.wave);
    property("again", commands.check);
    if (!commands.replay.empty()) property("run", commands.replay);
    if (!commands.seed.empty()) property("seed", commands.seed);
    for (const auto& p : r.parameters) {
      if (p.file == file) property("parameter." + p.name, fmt::format("{}", p.value));
    }
    s += "</properties>\n";
    for (const auto* verdict : all) {
      const auto& v = *verdict;
      s += fmt::format("<testcase classname=\"wavecheck.{}\" name=\"{}\" file=\"{}\" line=\"{}\">", v.kind,
                       xml(v.title()), xml(v.file), v.line);
      s += "<properties>";
      property("triggers", fmt::format("{}", v.triggers));
      for (const auto& [name, value] : v.measured) property(name, value);
      s += "</properties>";
      const std::string text =
          v.status == Status::kPassed ? "" : fmt::format("{}:{}\n{}", v.file, v.line, details(r, v, commands));
      if (v.bad()) {
        const char* tag = v.status == Status::kFailed ? "failure" : "error";
        const std::string what =
            v.status == Status::kFailed ? v.first[0].what : fmt::format("{}: {}", to_string(v.status), v.detail);
        s += fmt::format("<{} message=\"{}\">{}</{}>", tag, xml(what), xml(text), tag);
      } else if (!text.empty()) {
        s += fmt::format("<system-out>warning: {}</system-out>", xml(text));
      }
      s += "</testcase>\n";
    }
    s += "</testsuite>\n";
  }
  return s + "</testsuites>\n";
}

std::string html_of(const Report& r, const Commands& commands) {
  const auto chip = [](const Verdict& v) {
    const char* look = v.status == Status::kPassed ? "good" : v.warning ? "warn" : "bad";
    return fmt::format("<span class=\"chip {}\">{}</span>", look, to_string(v.status));
  };
  std::string s = page_head(fmt::format("wavecheck: {}", fmt::join(r.rules, ", ")));
  s += fmt::format(
      "<header><h1>wavecheck</h1><p class=\"{}\">{}</p>\n<dl><dt>rules</dt><dd>{}</dd><dt>wave</dt><dd>{}, up "
      "to {:.3f} ns</dd>",
      r.good() ? "good" : "bad", summary(r), xml(fmt::format("{}", fmt::join(r.rules, ", "))), xml(r.wave),
      static_cast<double>(r.end) * r.tick_ns);
  if (const auto p = parameters(r); !p.empty()) s += fmt::format("<dt>parameters</dt><dd>{}</dd>", xml(p));
  s += fmt::format("<dt>again</dt><dd><code>{}</code></dd>", xml(commands.check));
  if (!commands.replay.empty()) s += fmt::format("<dt>simulation</dt><dd><code>{}</code></dd>", xml(commands.replay));
  if (!commands.seed.empty()) s += fmt::format("<dt>seed</dt><dd>{}</dd>", xml(commands.seed));
  s += "</dl></header>\n";
  const auto table = [&](bool passed) {
    if (r.count(Status::kPassed) == (passed ? 0 : r.verdicts.size())) return;
    s += "<table class=\"list\"><thead><tr><th>result</th><th>kind</th><th>rule</th><th>where</th>"
         "<th class=\"n\">triggers</th><th class=\"n\">failures</th><th>measured</th></tr></thead><tbody>\n";
    for (size_t i = 0; i < r.verdicts.size(); ++i) {
      const auto& v = r.verdicts[i];
      if ((v.status == Status::kPassed) != passed) continue;
      std::string measured;
      for (const auto& [name, value] : v.measured) measured += fmt::format("<div>{} = {}</div>", xml(name), xml(value));
      const std::string title = passed ? xml(v.title()) : fmt::format("<a href=\"#r{}\">{}</a>", i, xml(v.title()));
      s += fmt::format(
          "<tr><td>{}</td><td>{}</td><td>{}</td><td class=\"where\" title=\"{}\">{}:{}</td><td class=\"n\">{}</td>"
          "<td class=\"n\">{}</td><td class=\"where\">{}</td></tr>\n",
          chip(v), v.kind, title, xml(v.file), xml(v.file.substr(v.file.rfind('/') + 1)), v.line, v.triggers, v.count,
          measured);
    }
    s += "</tbody></table>\n";
  };
  table(false);  // what is to be read comes first
  for (size_t i = 0; i < r.verdicts.size(); ++i) {
    const auto& v = r.verdicts[i];
    if (v.status == Status::kPassed) continue;
    s += fmt::format("<section id=\"r{}\"><h2>{} {}</h2>\n", i, chip(v), xml(v.title()));
    if (v.status == Status::kFailed) s += fmt::format("<p class=\"what\">{}</p>\n", xml(v.first[0].what));
    if (!v.around.cycles.empty()) s += detail::drawing(v.around, r.tick_ns);
    s += fmt::format("<pre>{}</pre></section>\n", xml(details(r, v, commands, false)));
  }
  table(true);
  return s + "</body></html>\n";
}

}  // namespace rnic::wave
