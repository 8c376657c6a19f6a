// SPDX-License-Identifier: Apache-2.0
// Texts of plans and reports.
#pragma once

#include <string>

#include "rnic/core/file.h"
#include "rnic/core/text.h"

namespace rnic::regress {

/// "12.3 s", "4 min 10 s", "1 h 5 min"
std::string duration(double seconds);
std::string replaced(std::string s, const std::string& what, const std::string& by);

}  // namespace rnic::regress
