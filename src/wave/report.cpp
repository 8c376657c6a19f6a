// SPDX-License-Identifier: Apache-2.0
// What wavecheck prints and writes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "rnic/wave/check.h"

namespace rnic::wave {
namespace {

std::string xml(const std::string& s) {
  std::string out;
  for (const char c : s) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\n':
      case '\t':
        out += c;
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
    }
  }
  return out;
}

std::string quoted(const std::string& s) {
  static const std::string kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+@%";
  if (!s.empty() && s.find_first_not_of(kPlain) == std::string::npos) return s;
  std::string out = "'";
  for (const char c : s) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string shortened(const std::string& value) {
  return value.size() <= 16 ? value : value.substr(0, 6) + ".." + value.substr(value.size() - 6);
}

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
std::string details(const Report& r, const Verdict& v, const std::string& again) {
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
    if (!v.around.cycles.empty()) out += "  values sampled before the edge:\n" + table_of(v.around, r.tick_ns);
  } else {
    out += fmt::format("  {}\n  expected: {}\n", v.detail, v.expected);
  }
  for (const auto& [name, value] : v.measured) out += fmt::format("  {} = {}\n", name, value);
  out += fmt::format("  again:  {}\n", again);
  if (v.status == Status::kFailed && !v.around.times.empty()) {
    // GTKWave takes times from a save file alone: its first lines are scale with marker, and the left end.
    const uint64_t left = v.around.times.front(), right = v.around.times.back();
    int zoom = 0;
    while (zoom < 62 && (uint64_t{1} << zoom) * 100 < right - left) ++zoom;
    out += fmt::format("  viewer: printf '*-{}.0 {}\\n[timestart] {}\\n' > at.gtkw && gtkwave {} at.gtkw\n", zoom,
                       v.first[0].time, left, quoted(r.wave));
  }
  return out;
}

/// The signals round a failure: one bit as a line, more as boxes with their values.
std::string drawing(const Around& a, double tick_ns) {
  constexpr int kName = 300, kStep = 84, kRow = 26;
  const auto n = static_cast<int>(a.cycles.size());
  std::vector<const Around::Row*> rows;
  for (const auto& r : a.rows) {
    if (rows.size() < 24 && std::none_of(rows.begin(), rows.end(), [&](const auto* x) { return x->name == r.name; })) {
      rows.push_back(&r);
    }
  }
  const int height = kRow * (static_cast<int>(rows.size()) + 2);
  std::string s = fmt::format("<svg width=\"{}\" height=\"{}\" font-family=\"monospace\" font-size=\"12\">\n",
                              kName + kStep * n + 10, height);
  s += fmt::format("<rect x=\"{}\" y=\"0\" width=\"{}\" height=\"{}\" fill=\"#fdd\"/>\n",
                   kName + kStep * static_cast<int>(a.marked), kStep, height);
  for (int i = 0; i < n; ++i) {
    s += fmt::format("<text x=\"{}\" y=\"16\">{}</text><text x=\"{}\" y=\"36\" fill=\"#666\">{:.3f}</text>\n",
                     kName + kStep * i + 4, a.cycles[static_cast<size_t>(i)], kName + kStep * i + 4,
                     static_cast<double>(a.times[static_cast<size_t>(i)]) * tick_ns);
  }
  int y = 2 * kRow;
  for (const auto* r : rows) {
    const std::string name = r->name.size() <= 40 ? r->name : ".." + r->name.substr(r->name.size() - 38);
    s += fmt::format("<text x=\"4\" y=\"{}\">{}</text>\n", y + 17, xml(name));
    const bool bit =
        std::all_of(r->values.begin(), r->values.end(), [](const auto& v) { return v == "0" || v == "1"; });
    if (bit) {
      std::string path;
      for (int i = 0; i < n; ++i) {
        const int at = y + (r->values[static_cast<size_t>(i)] == "1" ? 4 : 22);
        path += fmt::format("{}{},{} L{},{} ", i == 0 ? "M" : "L", kName + kStep * i, at, kName + kStep * (i + 1), at);
      }
      s += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"#063\"/>\n", path);
    } else {
      for (int i = 0; i < n;) {
        int j = i + 1;
        while (j < n && r->values[static_cast<size_t>(j)] == r->values[static_cast<size_t>(i)]) ++j;
        const std::string v = shortened(r->values[static_cast<size_t>(i)]);
        s += fmt::format(
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"18\" fill=\"none\" stroke=\"{}\"/><text x=\"{}\" y=\"{}\" "
            "font-size=\"{}\">{}</text>\n",
            kName + kStep * i + 1, y + 4, kStep * (j - i) - 2,
            v.find_first_of("xz") != std::string::npos ? "#c00" : "#036", kName + kStep * i + 4, y + 17,
            v.size() > 10 && j - i == 1 ? 8 : 12, xml(v));
        i = j;
      }
    }
    y += kRow;
  }
  return s + "</svg>\n";
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

std::string text_of(const Report& r, const std::string& again) {
  std::string out;
  for (const auto& v : r.verdicts) {
    out += fmt::format("{:<10} {:<12} {}  ({}:{}){}\n", to_string(v.status), v.kind, v.title(), v.file, v.line,
                       v.warning && v.status != Status::kPassed ? "  warning only" : "");
    if (v.status != Status::kPassed) out += details(r, v, again);
  }
  return out + fmt::format("{}; {} up to {:.3f} ns\n", summary(r), r.wave, static_cast<double>(r.end) * r.tick_ns);
}

std::string junit_of(const Report& r, const std::string& again) {
  const auto bad = [&](bool failed) {
    return std::count_if(r.verdicts.begin(), r.verdicts.end(),
                         [&](const auto& v) { return v.bad() && (v.status == Status::kFailed) == failed; });
  };
  std::string s = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"wavecheck {}\" tests=\"{}\" "
      "failures=\"{}\" errors=\"{}\">\n",
      xml(r.rules), r.verdicts.size(), bad(true), bad(false));
  for (const auto& v : r.verdicts) {
    s += fmt::format("<testcase classname=\"wavecheck.{}\" name=\"{}\" file=\"{}\" line=\"{}\">", v.kind,
                     xml(v.title()), xml(v.file), v.line);
    if (!v.measured.empty()) {
      s += "<properties>";
      for (const auto& [name, value] : v.measured) {
        s += fmt::format("<property name=\"{}\" value=\"{}\"/>", xml(name), xml(value));
      }
      s += "</properties>";
    }
    const std::string text =
        v.status == Status::kPassed ? "" : fmt::format("{}:{}\n{}", v.file, v.line, details(r, v, again));
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
  return s + "</testsuite>\n</testsuites>\n";
}

std::string html_of(const Report& r, const std::string& again) {
  std::string s = fmt::format(
      "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>wavecheck: {0}</title>\n<style>body{{font-family:"
      "sans-serif;margin:2em}}table{{border-collapse:collapse}}td,th{{padding:.2em "
      ".8em;text-align:left;border-bottom:1px "
      "solid "
      "#ddd}}.bad{{color:#b00;font-weight:bold}}pre{{background:#f6f6f6;padding:.6em;overflow-x:auto}}svg{{background:"
      "#fff;border:1px solid #ddd}}</style></head><body>\n<h1>{0}</h1>\n<p>{1}; wave {2}, up to {3:.3f} ns</p>\n"
      "<table><tr><th>result</th><th>kind</th><th>rule</th><th>where</th><th>triggers</th><th>failures</th><th>measured"
      "</th></tr>\n",
      xml(r.rules), summary(r), xml(r.wave), static_cast<double>(r.end) * r.tick_ns);
  for (size_t i = 0; i < r.verdicts.size(); ++i) {
    const auto& v = r.verdicts[i];
    std::string measured;
    for (const auto& [name, value] : v.measured) measured += (measured.empty() ? "" : ", ") + name + " = " + value;
    const std::string title =
        v.status == Status::kPassed ? xml(v.title()) : fmt::format("<a href=\"#r{}\">{}</a>", i, xml(v.title()));
    s += fmt::format("<tr><td{}>{}</td><td>{}</td><td>{}</td><td>{}:{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                     v.bad() ? " class=\"bad\"" : "", to_string(v.status), v.kind, title, xml(v.file), v.line,
                     v.triggers, v.count, xml(measured));
  }
  s += "</table>\n";
  for (size_t i = 0; i < r.verdicts.size(); ++i) {
    const auto& v = r.verdicts[i];
    if (v.status == Status::kPassed) continue;
    s += fmt::format("<h2 id=\"r{}\">{}: {}</h2>\n", i, to_string(v.status), xml(v.title()));
    if (!v.around.cycles.empty()) s += drawing(v.around, r.tick_ns);
    s += fmt::format("<pre>{}</pre>\n", xml(details(r, v, again)));
  }
  return s + "</body></html>\n";
}

}  // namespace rnic::wave
