// SPDX-License-Identifier: Apache-2.0
#include "markup.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace rnic::wave::detail {

std::string shortened(const std::string& value) {
  return value.size() <= 16 ? value : value.substr(0, 6) + ".." + value.substr(value.size() - 6);
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
