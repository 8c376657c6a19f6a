// SPDX-License-Identifier: Apache-2.0
#include "table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <sstream>

#include "rnic/core/text.h"

namespace rnic::cli {

Table::Table(std::vector<std::string> headings) : headings_(std::move(headings)) {
  for (auto& h : headings_) {
    left_.push_back(!h.empty() && h[0] == '<');
    if (left_.back()) h.erase(0, 1);
  }
}

void Table::row(std::vector<std::string> cells) {
  cells.resize(headings_.size());
  rows_.push_back(std::move(cells));
}

void Table::rule() { rows_.emplace_back(); }

std::string Table::text() const {
  std::vector<size_t> width(headings_.size());
  for (size_t c = 0; c < width.size(); ++c) {
    width[c] = headings_[c].size();
    for (const auto& r : rows_) {
      if (!r.empty()) width[c] = std::max(width[c], r[c].size());
    }
  }
  size_t total = 0;
  for (const size_t w : width) total += w + 2;
  const std::string dashes(total - 2, '-');
  std::string out;
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string s;
    for (size_t c = 0; c < width.size(); ++c) {
      if (c != 0) s += "  ";
      s += left_[c] ? fmt::format("{:<{}}", cells[c], width[c]) : fmt::format("{:>{}}", cells[c], width[c]);
    }
    while (!s.empty() && s.back() == ' ') s.pop_back();
    out += s + '\n';
  };
  line(headings_);
  out += dashes + '\n';
  for (const auto& r : rows_) {
    if (r.empty())
      out += dashes + '\n';
    else
      line(r);
  }
  return out;
}

std::string Table::html() const {
  const auto cell = [&](const char* tag, size_t c, const std::string& s) {
    return fmt::format("<{0} class='{1}'>{2}</{0}>", tag, !left_[c] ? "n" : c == 0 ? "w" : "", xml(s));
  };
  std::string out = "<div class='scroll'><table><thead><tr class='wrap'>";
  for (size_t c = 0; c < headings_.size(); ++c) {
    std::string heading = headings_[c];
    if (!heading.empty() && heading[0] >= 'a' && heading[0] <= 'z') heading[0] = static_cast<char>(heading[0] - 32);
    out += cell("th", c, heading);
  }
  out += "</tr></thead><tbody>\n";
  for (const auto& r : rows_) {
    if (r.empty()) continue;
    out += "<tr>";
    for (size_t c = 0; c < r.size(); ++c) out += cell("td", c, r[c]);
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string ns(uint64_t ps) { return fmt::format("{}.{:03}", ps / 1000, ps % 1000); }

std::string signed_ns(int64_t ps) {
  return fmt::format("{}{}", ps < 0 ? "-" : "+", ns(static_cast<uint64_t>(ps < 0 ? -ps : ps)));
}

std::string bytes_text(uint64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  unsigned u = 0;
  double v = static_cast<double>(bytes);
  while (v >= 1024 && u + 1 < std::size(kUnits)) v /= 1024, ++u;
  return u == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.4g} {}", v, kUnits[u]);
}

std::string wrapped(const std::string& text, size_t width) {
  std::string out;
  size_t column = 0;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (column != 0 && column + 1 + word.size() > width) {
      out += '\n';
      column = 0;
    } else if (column != 0) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  return out;
}

}  // namespace rnic::cli
