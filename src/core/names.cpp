// SPDX-License-Identifier: Apache-2.0
#include "rnic/core/names.h"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>

namespace rnic {
namespace {

/// A star or a run of other characters.
struct Piece {
  enum Kind { kText, kOne, kPart, kAll } kind;
  size_t from, length;
};

std::vector<Piece> pieces_of(const std::string& p) {
  std::vector<Piece> out;
  for (size_t i = 0; i < p.size();) {
    if (p[i] == '?') {
      out.push_back({Piece::kOne, i++, 1});
    } else if (p[i] == '*') {
      const size_t n = i + 1 < p.size() && p[i + 1] == '*' ? 2 : 1;
      out.push_back({n == 2 ? Piece::kAll : Piece::kPart, i, n});
      i += n;
    } else {
      const size_t end = std::min(p.find_first_of("*?", i), p.size());
      out.push_back({Piece::kText, i, end - i});
      i = end;
    }
  }
  return out;
}

size_t distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t up = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = up;
    }
  }
  return row[b.size()];
}
std::string last_part(const std::string& s) { return s.substr(s.rfind('.') + 1); }

}  // namespace

bool glob(const std::string& pattern, const std::string& text, std::vector<std::string>* captures) {
  // Most names differ before the first star: told without more ado.
  size_t same = 0;
  while (same < pattern.size() && pattern[same] != '*' && pattern[same] != '?') {
    if (same == text.size() || pattern[same] != text[same]) return false;
    ++same;
  }
  if (same == pattern.size()) return same == text.size();
  const auto pieces = pieces_of(pattern);
  const size_t n = pieces.size(), m = text.size();
  // reach[i][j]: pieces i.. match text j.. ; from the end, so that many stars take no more than time n * m.
  std::vector<std::vector<char>> reach(n + 1, std::vector<char>(m + 1, 0));
  reach[n][m] = 1;
  for (size_t i = n; i-- > 0;) {
    const auto& p = pieces[i];
    for (size_t j = m + 1; j-- > 0;) {
      bool yes = false;
      if (p.kind == Piece::kText) {
        yes = j + p.length <= m && reach[i + 1][j + p.length] &&
              text.compare(j, p.length, pattern, p.from, p.length) == 0;
      } else if (p.kind == Piece::kOne) {
        yes = j < m && text[j] != '.' && reach[i + 1][j + 1];
      } else {
        yes = reach[i + 1][j] || (j < m && (p.kind == Piece::kAll || text[j] != '.') && reach[i][j + 1]);
      }
      reach[i][j] = yes;
    }
  }
  if (!reach[0][0]) return false;
  if (captures == nullptr) return true;
  captures->clear();
  size_t j = 0;
  for (size_t i = 0; i < n; ++i) {  // each star takes as little as it can
    size_t end = j;
    if (pieces[i].kind == Piece::kText) {
      j += pieces[i].length;
      continue;
    }
    if (pieces[i].kind == Piece::kOne)
      ++end;
    else
      while (!reach[i + 1][end]) ++end;
    captures->push_back(text.substr(j, end - j));
    j = end;
  }
  return true;
}

bool fits(const std::string& pattern, const std::string& name) {
  const bool anywhere = pattern.find('.') == std::string::npos;
  size_t from = 0;
  for (;;) {
    const size_t dot = name.find('.', from);
    const size_t end = dot == std::string::npos ? name.size() : dot;
    if (glob(pattern, anywhere ? name.substr(from, end - from) : name.substr(0, end))) return true;
    if (dot == std::string::npos) return false;
    from = dot + 1;
  }
}

bool is_glob(const std::string& s) { return s.find_first_of("*?") != std::string::npos; }

std::optional<std::string> filled(const std::string& pattern, const std::vector<std::string>& captures) {
  std::string out;
  size_t n = 0;
  for (const auto& p : pieces_of(pattern)) {
    if (p.kind == Piece::kText) {
      out += pattern.substr(p.from, p.length);
    } else if (n == captures.size()) {
      return std::nullopt;
    } else {
      out += captures[n++];
    }
  }
  if (n != captures.size()) return std::nullopt;
  return out;
}

std::vector<std::string> nearest(const std::string& name, const std::vector<std::string>& all) {
  const std::string tail = last_part(name);
  std::vector<std::pair<size_t, const std::string*>> ranked;
  for (const auto& s : all) {
    const size_t whole = distance(name, s);
    ranked.emplace_back(std::min(whole, 3 * distance(tail, last_part(s)) + whole / 4), &s);
  }
  const size_t n = std::min<size_t>(ranked.size(), 3);
  std::partial_sort(
      ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(n), ranked.end(),
      [](const auto& x, const auto& y) { return std::tie(x.first, *x.second) < std::tie(y.first, *y.second); });
  std::vector<std::string> out;
  for (size_t i = 0; i < n; ++i) out.push_back(*ranked[i].second);
  return out;
}

}  // namespace rnic
