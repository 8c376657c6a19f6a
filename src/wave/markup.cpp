// SPDX-License-Identifier: Apache-2.0
#include "markup.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace rnic::wave::detail {

std::string shortened(const std::string& value) {
  return value.size() <= 16 ? value : value.substr(0, 6) + ".." + value.substr(value.size() - 6);
}

std::string page_head(const std::string& title) {
  static constexpr const char* kStyle = R"(
:root{--ink:#1d2733;--soft:#5d6b7a;--line:#dfe5eb;--paper:#fff;--back:#f4f6f8;--good:#1a7f4b;--bad:#c02a2a;--warn:#a86500;--wave:#0b6e4f;--bus:#2a5db0}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1180px;padding:28px 32px 60px;font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;color:var(--ink);background:var(--back)}
header,section,table.list{background:var(--paper);border:1px solid var(--line);border-radius:10px;margin:0 0 20px}
header{padding:20px 24px}section{padding:16px 24px 20px}
h1{margin:0;font-size:24px}h2{margin:0 0 6px;font-size:17px;font-weight:600}
header p{margin:4px 0 12px;font-size:17px;font-weight:600}
p.good{color:var(--good)}p.bad{color:var(--bad)}p.what{margin:2px 0 12px;overflow-wrap:anywhere}
dl{display:grid;grid-template-columns:max-content 1fr;gap:3px 16px;margin:0}dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}
code,pre,svg{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
code{font-size:13px}
pre{margin:14px 0 0;padding:12px 14px;font-size:12.5px;line-height:1.45;background:var(--back);border:1px solid var(--line);border-radius:6px;overflow-x:auto}
table.list{width:100%;border-collapse:separate;border-spacing:0;overflow:hidden}
th,td{padding:7px 12px;text-align:left;vertical-align:top;border-bottom:1px solid var(--line)}
tr:last-child td{border-bottom:0}th{color:var(--soft);font-size:13px;font-weight:600;background:#fafbfc}
tbody tr:hover{background:#f8fafc}.n{text-align:right;font-variant-numeric:tabular-nums}
.where{color:var(--soft);font-size:13px;white-space:nowrap}
td code{overflow-wrap:anywhere}a{color:var(--bus)}
.chip{display:inline-block;padding:1px 9px;border-radius:99px;font-size:12px;font-weight:600;letter-spacing:.02em}
.chip.good{color:var(--good);background:#e3f4eb}.chip.bad{color:var(--bad);background:#fbe6e6}.chip.warn{color:var(--warn);background:#fbf0dc}
.picture{overflow-x:auto;border:1px solid var(--line);border-radius:6px}
svg{display:block;font-size:12px;fill:var(--ink)}
svg .soft{fill:var(--soft)}svg .grid{stroke:#edf0f3}svg .mark{fill:#fdeaea}svg .marked{fill:var(--bad);font-weight:700}
svg .golden{fill:#f6f1e4}
svg .bit{fill:none;stroke:var(--wave);stroke-width:1.6}svg .high{fill:#d9efe5}
svg .bus{fill:#eef3fb;stroke:var(--bus);stroke-width:1.2}svg .odd{fill:#fbe6e6;stroke:var(--bad);stroke-width:1.2}
@media print{body{background:#fff;padding:0}section{break-inside:avoid}}
)";
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta "
      "charset=\"utf-8\"><title>{}</title>\n<style>{}</style></head><body>\n",
      xml(title), kStyle);
}

std::string drawing(const Around& a, double tick_ns) {
  constexpr int kStep = 84, kRow = 28, kHead = 46;
  const auto n = static_cast<int>(a.cycles.size());
  std::vector<const Around::Row*> rows;
  size_t longest = 5;
  for (const auto& r : a.rows) {
    if (rows.size() == 24 || std::any_of(rows.begin(), rows.end(), [&](const auto* x) { return x->name == r.name; }))
      continue;
    rows.push_back(&r);
    longest = std::max(longest, std::min<size_t>(r.name.size(), 44));
  }
  const int left = static_cast<int>(longest) * 15 / 2 + 28;  // a character is 7.2 wide
  const int height = kHead + kRow * static_cast<int>(rows.size()) + 8, width = left + kStep * n + 14;
  const auto x = [&](int i) { return left + kStep * i; };
  std::string s =
      fmt::format("<div class=\"picture\"><svg width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\">\n", width, height);
  s += fmt::format("<rect class=\"mark\" x=\"{}\" y=\"0\" width=\"{}\" height=\"{}\"/>\n",
                   x(static_cast<int>(a.marked)), kStep, height);
  s += fmt::format(
      "<text class=\"soft\" x=\"{0}\" y=\"19\" text-anchor=\"end\">cycle</text><text class=\"soft\" x=\"{0}\" y=\"36\" "
      "text-anchor=\"end\">ns</text>\n",
      left - 14);
  for (int i = 0; i <= n; ++i) {
    s += fmt::format("<line class=\"grid\" x1=\"{0}\" x2=\"{0}\" y1=\"{1}\" y2=\"{2}\"/>\n", x(i), kHead - 4, height);
    if (i == n) break;
    const auto k = static_cast<size_t>(i);
    s += fmt::format("<text{} x=\"{}\" y=\"19\">{}</text><text class=\"soft\" x=\"{}\" y=\"36\">{:.3f}</text>\n",
                     k == a.marked ? " class=\"marked\"" : "", x(i) + 6, a.cycles[k], x(i) + 6,
                     static_cast<double>(a.times[k]) * tick_ns);
  }
  int y = kHead;
  for (const auto* r : rows) {
    const std::string name = r->name.size() <= 44 ? r->name : ".." + r->name.substr(r->name.size() - 42);
    s += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\"><title>{}</title>{}</text>\n", left - 14, y + 19,
                     xml(r->name), xml(name));
    const auto columns = std::min(n, static_cast<int>(r->values.size()));
    const auto value = [&](int i) -> const std::string& { return r->values[static_cast<size_t>(i)]; };
    const bool bit = r->width == 1 && std::all_of(r->values.begin(), r->values.end(),
                                                  [](const auto& v) { return v == "0" || v == "1"; });
    std::string path;
    for (int i = 0; i < columns;) {
      int j = i + 1;
      while (j < columns && value(j) == value(i)) ++j;
      if (bit) {
        const int level = y + (value(i) == "1" ? 6 : 22);
        if (value(i) == "1") {
          s += fmt::format("<rect class=\"high\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"16\"/>\n", x(i), y + 6,
                           kStep * (j - i));
        }
        path += i == 0 ? fmt::format("M{},{}H{}", x(0), level, x(j)) : fmt::format("V{}H{}", level, x(j));
      } else {
        const bool odd = value(i).find_first_of("xz") != std::string::npos && value(i).find('\'') != 0;
        const std::string v = shortened(value(i));
        const auto room = static_cast<size_t>((kStep * (j - i) - 14) / 7);
        s += fmt::format(
            "<path class=\"{}\" d=\"M{},{}L{},{}H{}L{},{}L{},{}H{}Z\"/><text x=\"{}\" "
            "y=\"{}\"{}><title>{}</title>{}</text>\n",
            odd ? "odd" : "bus", x(i) + 1, y + 14, x(i) + 5, y + 5, x(j) - 5, x(j) - 1, y + 14, x(j) - 5, y + 23,
            x(i) + 5, x(i) + 8, y + 18, v.size() > room ? " font-size=\"8.5\"" : "", xml(value(i)), xml(v));
      }
      i = j;
    }
    if (bit) s += fmt::format("<path class=\"bit\" d=\"{}\"/>\n", path);
    y += kRow;
  }
  return s + "</svg></div>\n";
}

std::string viewer(const std::string& wave, uint64_t marker, uint64_t left, uint64_t right) {
  // GTKWave takes times from a save file alone: its first lines are scale with marker, and the left end.
  int zoom = 0;
  while (zoom < 62 && (uint64_t{1} << zoom) * 100 < right - left) ++zoom;
  return fmt::format("printf '*-{}.0 {}\\n[timestart] {}\\n' > at.gtkw && gtkwave {} at.gtkw", zoom, marker, left,
                     quoted(wave));
}

}  // namespace rnic::wave::detail
