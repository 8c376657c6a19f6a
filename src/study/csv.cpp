// SPDX-License-Identifier: Apache-2.0
#include "rnic/study/csv.h"

#include <fmt/format.h>

#include <set>

#include "rnic/core/error.h"
#include "rnic/core/text.h"

namespace rnic::study {

std::string csv_cell(const std::string& s) {
  std::string plain = clean(s);
  for (char& c : plain) {
    if (c == '\n' || c == '\t') c = ' ';
  }
  if (plain.find_first_of(",\"") == std::string::npos) return plain;
  std::string out = "\"";
  for (const char c : plain) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::string csv_line(const std::vector<std::string>& cells) {
  std::string out;
  for (size_t i = 0; i < cells.size(); ++i) out += (i == 0 ? "" : ",") + csv_cell(cells[i]);
  return out + "\n";
}

Csv parse_csv(const std::string& text, const std::string& file) {
  std::vector<std::string> row{""};
  Csv out;
  unsigned line = 1, row_line = 1;
  bool quoted = false, was_quoted = false;
  const auto end_row = [&] {
    for (auto& cell : row) cell = clean(cell);
    if (out.header.empty()) {
      out.header = row;
      std::set<std::string> seen;
      for (const auto& h : row) {
        if (!seen.insert(h).second)
          throw InputError(file, row_line, "", fmt::format("the heading '{}' is there twice", clean(h)));
      }
    } else {
      if (row.size() != out.header.size()) {
        throw InputError(file, row_line, "",
                         fmt::format("has {} cells, and the heading has {}: it is cut off or no row of this table",
                                     row.size(), out.header.size()));
      }
      out.rows.push_back(row);
    }
    row.assign(1, "");
    was_quoted = false;
  };
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') ++line;
    if (quoted) {
      if (c != '"') {
        row.back() += c;
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        row.back() += '"';
        ++i;
      } else {
        quoted = false;
      }
    } else if (c == '"' && row.back().empty() && !was_quoted) {
      quoted = was_quoted = true;
    } else if (c == ',') {
      row.emplace_back();
      was_quoted = false;
    } else if (c == '\n') {
      end_row();
      row_line = line;
    } else if (c == '\r' && i + 1 < text.size() && text[i + 1] == '\n') {
    } else {
      if (was_quoted) throw InputError(file, line, "", "has text behind a closed quotation mark");
      row.back() += c;
    }
  }
  if (quoted) throw InputError(file, row_line, "", "a quotation mark is not closed: the file is cut off");
  if (row.size() > 1 || !row[0].empty()) end_row();
  if (out.header.empty()) throw InputError(file, 0, "", "is empty");
  return out;
}

}  // namespace rnic::study
