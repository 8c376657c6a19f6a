// SPDX-License-Identifier: Apache-2.0
// Errors that a user can act on.
#pragma once

#include <stdexcept>
#include <string>

namespace rnic {

/// Bad input from the user: a file, an option, a key. The message names place, key, fault and remedy, in one line.
/// Programs print it and exit with 2.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  /// "file:line: key 'k': what" with the parts that are known; line 0 and empty strings are left out.
  InputError(const std::string& file, unsigned line, const std::string& key, const std::string& what);
};

/// The simulation itself went wrong: a hang, a failed internal check. Programs exit with 3.
class SimError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace rnic
