// SPDX-License-Identifier: Apache-2.0
// Test plans: tables in Markdown whose last column names tests.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <sstream>

#include "rnic/core/error.h"
#include "rnic/regress/plan.h"
#include "text.h"

namespace rnic::regress {
namespace {

std::string stripped(const std::string& s) {
  const size_t from = s.find_first_not_of(" \t\r");
  if (from == std::string::npos) return "";
  return s.substr(from, s.find_last_not_of(" \t\r") - from + 1);
}

/// The cells of a row; a bar behind a backslash or in code belongs to a cell.
std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> out;
  std::string cell;
  bool code = false;
  for (size_t i = 1; i < line.size(); ++i) {
    if (line[i] == '\\' && i + 1 < line.size()) {
      cell += line[++i];
    } else if (line[i] == '|' && !code) {
      out.push_back(stripped(cell));
      cell.clear();
    } else {
      code = code != (line[i] == '`');
      cell += line[i];
    }
  }
  if (!stripped(cell).empty()) out.push_back(stripped(cell));
  return out;
}

bool is_rule(const std::vector<std::string>& row) {
  return std::all_of(row.begin(), row.end(),
                     [](const auto& c) { return c.find_first_not_of("-: ") == std::string::npos; });
}

}  // namespace

std::vector<Behaviour> read_testplan(const std::string& file) {
  std::vector<Behaviour> out;
  std::istringstream in(read_text(file, 16 << 20));
  const std::string page = std::filesystem::path(file).filename().string();
  std::string line;
  bool in_table = false, wanted = false;
  std::string suite;
  for (unsigned number = 1; std::getline(in, line); ++number) {
    const std::string text = stripped(line);
    if (text.empty() || text[0] != '|') {
      in_table = false;
      continue;
    }
    const auto row = cells(text);
    if (row.empty()) continue;
    if (!in_table) {
      in_table = true;
      std::string head = row.back();
      std::transform(head.begin(), head.end(), head.begin(), [](unsigned char c) { return std::tolower(c); });
      wanted = row.size() >= 2 && head.compare(0, 4, "test") == 0;
      // "Tests (`Suite.`)": the names below are its tests.
      suite.clear();
      const size_t from = row.back().find("(`"), to = row.back().find(".`)");
      if (from != std::string::npos && to != std::string::npos && to > from + 2)
        suite = row.back().substr(from + 2, to - from - 1);
      continue;
    }
    if (!wanted || row.size() < 2 || is_rule(row)) continue;
    Behaviour b;
    b.page = page;
    b.line = number;
    b.text = row[0];
    b.text.erase(std::remove(b.text.begin(), b.text.end(), '`'), b.text.end());
    std::string names = row.back();
    for (char& c : names) {
      if (c == '`' || c == ',' || c == ';') c = ' ';
    }
    std::istringstream words(names);
    for (std::string w; words >> w;) {
      if (std::none_of(w.begin(), w.end(), [](unsigned char c) { return std::isalnum(c); })) continue;
      b.tests.push_back(w.find('.') == std::string::npos ? suite + w : w);
    }
    out.push_back(std::move(b));
  }
  if (out.empty()) {
    throw InputError(file, 0, "", "has no table whose last column is headed \"Tests\": it is no test plan");
  }
  return out;
}

bool names_test(const std::string& named, const std::string& test) {
  if (named.empty()) return false;
  // program.Instance/Suite.Test/3 is named Suite.Test
  for (size_t at = test.find(named); at != std::string::npos; at = test.find(named, at + 1)) {
    const size_t end = at + named.size();
    const bool begins = at == 0 || test[at - 1] == '.' || test[at - 1] == '/';
    if (begins && (end == test.size() || test[end] == '/')) return true;
  }
  return false;
}

}  // namespace rnic::regress
