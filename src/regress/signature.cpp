// SPDX-License-Identifier: Apache-2.0
// What a log says went wrong, and when two logs say the same.
#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <sstream>

#include "rnic/regress/runner.h"
#include "text.h"

namespace rnic::regress {
namespace {

constexpr size_t kLine = 400;  // characters of a line that are looked at
constexpr size_t kAround = 6;  // lines of the excerpt before the message, and twice as many behind it

bool contains(const std::string& line, const char* what) { return line.find(what) != std::string::npos; }

/// Programs' own marks of an error.
bool strong(const std::string& line) {
  // rnicsim and compilers; Verilator; GoogleTest; sanitizers; assert(); C++; Python; CMake
  static constexpr std::array kMarks = {
      ": error: ",        "%Error",         ": Failure",   "ERROR: ",       "runtime error: ", "Assertion ",
      "terminate called", "AssertionError", "CMake Error", "fatal error: ", "SystemC: error",  "Error: "};
  return std::any_of(kMarks.begin(), kMarks.end(), [&](const char* m) { return contains(line, m); });
}

/// CTest's own lines round the output of a test: what the test itself says comes first.
bool of_ctest(const std::string& line) {
  static constexpr std::array kLines = {
      "Test #",         "tests passed", "tests FAILED", "Errors while running CTest", "Output from these tests",
      "--rerun-failed", "(Failed)",     "(Timeout)"};
  return std::any_of(kLines.begin(), kLines.end(), [&](const char* l) { return contains(line, l); });
}

/// A line that speaks of errors, other than to say that there are none.
bool weak(const std::string& line) {
  if (of_ctest(line)) return false;
  std::string s = line;
  std::transform(s.begin(), s.end(), s.begin(), [](unsigned char c) { return std::tolower(c); });
  for (const char* none :
       {"0 error", "no error", "0 fail", "no fail", "errors: 0", "errors=0", "failures: 0", "failed: 0"}) {
    const size_t at = s.find(none);
    if (at != std::string::npos && (at == 0 || !std::isdigit(static_cast<unsigned char>(s[at - 1])))) return false;
  }
  for (const char* word : {"error", "fail", "fatal", "panic", "abort", "exception", "cannot", "segmentation"}) {
    if (s.find(word) != std::string::npos) return true;
  }
  return false;
}

bool blank(const std::string& s) { return s.find_first_not_of(" \t\r") == std::string::npos; }

}  // namespace

Finding find_error(const std::string& log) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < log.size();) {
    const size_t end = std::min(log.find('\n', at), log.size());
    std::string line = log.substr(at, std::min(end - at, kLine));
    // A progress line that overwrote itself: what it ended as.
    while (!line.empty() && line.back() == '\r') line.pop_back();
    if (const size_t back = line.rfind('\r'); back != std::string::npos) line.erase(0, back + 1);
    lines.push_back(clean(line));
    at = end + 1;
  }
  const auto first = [&](bool (*is)(const std::string&)) {
    return static_cast<size_t>(std::find_if(lines.begin(), lines.end(), is) - lines.begin());
  };
  size_t at = first(strong);
  if (at == lines.size()) at = first(weak);
  if (at == lines.size()) at = first([](const std::string& l) { return contains(l, "Test #") && contains(l, "***"); });
  if (at == lines.size()) {
    for (size_t i = lines.size(); i-- > 0;) {
      // Behind a wrong option stands how to get help; what was wrong stands before it.
      if (!blank(lines[i]) && lines[i].compare(0, 15, "Run with --help") != 0) {
        at = i;
        break;
      }
    }
  }
  Finding f;
  if (at == lines.size()) return f;
  const std::string& line = lines[at];
  f.message = line.substr(std::min(line.find_first_not_of(" \t"), line.size()));
  // GoogleTest says where in one line and what in the next.
  if (contains(line, ": Failure") && at + 1 < lines.size() && !blank(lines[at + 1])) f.message += ": " + lines[at + 1];
  const size_t from = at > kAround ? at - kAround : 0, to = std::min(lines.size(), at + 1 + 2 * kAround);
  f.excerpt.assign(lines.begin() + static_cast<std::ptrdiff_t>(from), lines.begin() + static_cast<std::ptrdiff_t>(to));
  return f;
}

std::string normalized(const std::string& message) {
  const auto is = [](char c, int (*kind)(int)) { return kind(static_cast<unsigned char>(c)) != 0; };
  const auto of_path = [&](char c) { return is(c, std::isalnum) || std::strchr("_-./+~{}@", c) != nullptr; };
  // Paths first: only the last part says something on another machine.
  std::string s;
  for (size_t i = 0; i < message.size();) {
    size_t end = i;
    while (end < message.size() && message[end] != '\0' && of_path(message[end])) ++end;
    if (end == i) {
      s += message[i++];
      continue;
    }
    std::string word = message.substr(i, end - i);
    const size_t slash = word.rfind('/');
    // "24/48" is no path
    const bool path = slash != std::string::npos &&
                      std::any_of(word.begin(), word.end(), [&](char c) { return is(c, std::isalpha); });
    s += path ? word.substr(slash + 1) : word;
    i = end;
  }
  // Then numbers; a line number behind a file name stays: it tells failures apart and depends on no seed.
  std::string out;
  for (size_t i = 0; i < s.size();) {
    if (is(s[i], std::isdigit)) {
      const bool line_number = i >= 2 && s[i - 1] == ':' && is(s[i - 2], std::isalpha) &&
                               s.find_last_of(" \t", i) != i - 1 &&
                               s.substr(0, i).find('.', s.find_last_of(" \t", i) + 1) != std::string::npos;
      size_t end = i;
      if (s.compare(i, 2, "0x") == 0) {
        end += 2;
        while (end < s.size() && is(s[end], std::isxdigit)) ++end;
      } else {
        while (end < s.size() && is(s[end], std::isdigit)) ++end;
        while (!line_number && end + 1 < s.size() && s[end] == '.' && is(s[end + 1], std::isdigit)) {
          ++end;
          while (end < s.size() && is(s[end], std::isdigit)) ++end;
        }
        // an address or a digest without 0x
        size_t hex = i;
        while (hex < s.size() && is(s[hex], std::isxdigit)) ++hex;
        if (hex - i >= 8 && (hex == s.size() || !is(s[hex], std::isalnum))) end = std::max(end, hex);
      }
      out += line_number ? s.substr(i, end - i) : "N";
      i = end;
    } else if (is(s[i], std::isalpha)) {
      // a hexadecimal word that begins with a letter, as deadbeef01
      size_t end = i;
      bool hex = true, digit = false;
      while (end < s.size() && is(s[end], std::isalnum)) {
        hex = hex && is(s[end], std::isxdigit);
        digit = digit || is(s[end], std::isdigit);
        ++end;
      }
      if (hex && digit && end - i >= 8) {
        out += 'N';
        i = end;
      } else {
        while (i < end && !is(s[i], std::isdigit)) out += s[i++];
      }
    } else {
      out += s[i] == '\t' ? ' ' : s[i];
      ++i;
    }
  }
  return out.substr(0, 300);
}

}  // namespace rnic::regress
