// SPDX-License-Identifier: Apache-2.0
// Patterns over names of signals, and which names lie near a wrong one.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace rnic::wave::detail {

/// `*` and `?` stand for anything but a dot, `**` for anything. Captures what each stood for.
bool glob(const std::string& pattern, const std::string& text, std::vector<std::string>* captures = nullptr);
bool is_glob(const std::string& s);
/// The pattern with its stars replaced; nothing when there are more or fewer of them.
std::optional<std::string> filled(const std::string& pattern, const std::vector<std::string>& captures);

/// The three of `all` that are most like `name`, the best first.
std::vector<std::string> nearest(const std::string& name, const std::vector<std::string>& all);

}  // namespace rnic::wave::detail
