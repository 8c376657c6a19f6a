// SPDX-License-Identifier: Apache-2.0
#include "rnic/core/error.h"

namespace rnic {
namespace {

std::string join(const std::string& file, unsigned line, const std::string& key, const std::string& what) {
  std::string s = file;
  if (line != 0) s += (s.empty() ? "line " : ":") + std::to_string(line);
  if (!s.empty()) s += ": ";
  if (!key.empty()) s += "key '" + key + "': ";
  return s + what;
}

}  // namespace

InputError::InputError(const std::string& file, unsigned line, const std::string& key, const std::string& what)
    : std::runtime_error(join(file, line, key, what)) {}

}  // namespace rnic
