// SPDX-License-Identifier: Apache-2.0
// Numbers that a file of rules names, and arithmetic with them.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "rnic/wave/expr.h"

namespace rnic::wave::detail {

using ParameterValues = std::map<std::string, double>;

/// Value of "20 + extra * 2": numbers, parameters, + - * / %, parentheses, min(a, b), max(a, b). Throws InputError.
double evaluate(const std::string& text, const Place& place, const ParameterValues& parameters);

}  // namespace rnic::wave::detail
