// SPDX-License-Identifier: Apache-2.0
#include "text.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>

namespace rnic::regress {

std::string duration(double seconds) {
  if (seconds < 60) return trim(seconds, seconds < 1 ? 2 : 1) + " s";
  const auto whole = static_cast<uint64_t>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
}

std::string replaced(std::string s, const std::string& what, const std::string& by) {
  if (what.empty()) return s;
  for (size_t at = 0; (at = s.find(what, at)) != std::string::npos; at += by.size()) s.replace(at, what.size(), by);
  return s;
}

}  // namespace rnic::regress
