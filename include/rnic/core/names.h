// SPDX-License-Identifier: Apache-2.0
// Patterns over names with dots in them (signals, figures), and which names lie near a wrong one.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace rnic {

/// `*` and `?` stand for anything but a dot, `**` for anything. Captures what each stood for.
bool glob(const std::string& pattern, const std::string& text, std::vector<std::string>* captures = nullptr);
/// Whether the pattern fits the name or a scope above it; without a dot, a part of the name at any depth.
bool fits(const std::string& pattern, const std::string& name);
bool is_glob(const std::string& s);
/// The pattern with its stars replaced; nothing when there are more or fewer of them.
std::optional<std::string> filled(const std::string& pattern, const std::vector<std::string>& captures);

/// The three of `all` that are most like `name`, the best first.
std::vector<std::string> nearest(const std::string& name, const std::vector<std::string>& all);

}  // namespace rnic
