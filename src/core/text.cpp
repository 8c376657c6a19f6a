// SPDX-License-Identifier: Apache-2.0
#include "rnic/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace rnic {
namespace {

constexpr const char* kReplacement = "\xef\xbf\xbd";

/// Length of the character of UTF-8 at s[i] that XML 1.0 can hold; 0: none.
size_t character(const std::string& s, size_t i) {
  const auto byte = [&](size_t k) { return k < s.size() ? static_cast<unsigned char>(s[k]) : 0u; };
  const unsigned first = byte(i);
  if (first < 0x80) return (first >= 0x20 && first != 0x7f) || first == '\n' || first == '\t' ? 1 : 0;
  const size_t n = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4) return 0;
  uint32_t c = first & (0xffu >> (n + 1));
  for (size_t k = 1; k < n; ++k) {
    if ((byte(i + k) & 0xc0) != 0x80) return 0;
    c = c << 6 | (byte(i + k) & 0x3f);
  }
  static constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool out = c < kLeast[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) || c == 0xfffe || c == 0xffff;
  return out ? 0 : n;
}

}  // namespace

std::string trim(double v, int digits) {
  std::string s = fmt::format("{:.{}f}", v, digits);
  if (s.find('.') != std::string::npos) {
    while (s.back() == '0') s.pop_back();
    if (s.back() == '.') s.pop_back();
  }
  return s == "-0" ? "0" : s;
}

std::string fnv(const std::string& s) {
  uint64_t h = 0xcbf29ce484222325;
  for (const char c : s) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return fmt::format("{:016x}", h);
}

std::string quoted(const std::string& s) {
  static const std::string kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+@%";
  if (!s.empty() && s.find_first_not_of(kPlain) == std::string::npos) return s;
  std::string out = "'";
  if (std::any_of(s.begin(), s.end(), [](unsigned char c) { return c < 0x20; })) {
    out = "$'";  // one line, whatever the word holds
    for (const char c : s) {
      const bool control = static_cast<unsigned char>(c) < 0x20;
      out += control ? fmt::format("\\x{:02x}", c) : c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    }
    return out + "'";
  }
  for (const char c : s) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string clean(const std::string& s) {
  std::string out;
  for (size_t i = 0; i < s.size();) {
    const size_t n = character(s, i);
    out += n == 0 ? kReplacement : s.substr(i, n);
    i += n == 0 ? 1 : n;
  }
  return out;
}

std::string xml(const std::string& s) {
  std::string out;
  for (const char c : clean(s)) {
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
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace rnic
