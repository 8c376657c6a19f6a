// SPDX-License-Identifier: Apache-2.0
// Reads the tables of a TOML file key by key; what is wrong is named with file, line and key.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rnic/core/error.h"

namespace rnic::detail {

inline unsigned line_of(const toml::node& n) { return static_cast<unsigned>(n.source().begin.line); }

inline const char* type_name(const toml::node& n) {
  if (n.is_string()) return "a text";
  if (n.is_number()) return "a number";
  if (n.is_boolean()) return "a boolean";
  if (n.is_table()) return "a table";
  if (n.is_array()) return "an array";
  return "a date or time";
}

/// One table of the file: keys are taken out by name, and what is left over at the end is unknown. Keys that the table
/// lacks are looked for in its defaults.
class TomlTable {
 public:
  TomlTable(const std::string& file, const std::string& where, const toml::table& table, const toml::table* defaults)
      : file_(file), where_(where), table_(table), defaults_(defaults) {}

  unsigned line() const { return static_cast<unsigned>(table_.source().begin.line); }

  [[noreturn]] void fail(const std::string& key, const std::string& what) const {
    const toml::node* n = find(key);
    throw InputError(file_, n ? line_of(*n) : line(), where_ + (key.empty() ? "" : "." + key), what);
  }

  bool has(const std::string& key) {
    known_.push_back(key);
    return find(key) != nullptr;
  }

  void text(const std::string& key, std::string& out) {
    if (!has(key)) return;
    const auto v = find(key)->value_exact<std::string>();
    if (!v) fail(key, fmt::format("must be a text, not {}", type_name(*find(key))));
    // They would break lines of messages and tables; a break of line is for `bytes`.
    if (std::any_of(v->begin(), v->end(),
                    [](unsigned char c) { return (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f; }))
      fail(key, "must not hold control characters");
    out = *v;
  }

  /// A text of one line.
  void word(const std::string& key, std::string& out) {
    text(key, out);
    if (out.find_first_of("\n\t") != std::string::npos) fail(key, "must be one line without tabs");
  }

  void boolean(const std::string& key, bool& out) {
    if (!has(key)) return;
    const auto v = find(key)->value_exact<bool>();
    if (!v) fail(key, fmt::format("must be true or false, not {}", type_name(*find(key))));
    out = *v;
  }

  template <class T>
  void integer(const std::string& key, T& out, uint64_t min, uint64_t max) {
    if (!has(key)) return;
    const auto v = find(key)->value_exact<int64_t>();
    if (!v) fail(key, fmt::format("must be a whole number from {} to {}, not {}", min, max, type_name(*find(key))));
    if (*v < 0 || static_cast<uint64_t>(*v) < min || static_cast<uint64_t>(*v) > max) {
      fail(key, fmt::format("{} is out of range; allowed: {} to {}", *v, min, max));
    }
    out = static_cast<T>(*v);
  }
  template <class T>
  void integer(const std::string& key, std::optional<T>& out, uint64_t min, uint64_t max) {
    if (!has(key)) return;
    T v{};
    integer(key, v, min, max);
    out = v;
  }

  void number(const std::string& key, double& out, double max) {
    if (!has(key)) return;
    const auto* n = find(key);
    const auto v = n->is_number() ? n->value<double>() : std::nullopt;
    if (!v) fail(key, fmt::format("must be a number from 0 to {}, not {}", max, type_name(*n)));
    if (!(*v >= 0 && *v <= max)) fail(key, fmt::format("{} is out of range; allowed: 0 to {}", *v, max));
    out = *v;
  }

  void decimal(const std::string& key, double& out, double min, double max) {
    if (!has(key)) return;
    const auto* n = find(key);
    const auto v = n->is_number() ? n->value<double>() : std::nullopt;
    if (!v) fail(key, fmt::format("must be a number from {} to {}, not {}", min, max, type_name(*n)));
    if (!(*v >= min && *v <= max)) fail(key, fmt::format("{} is out of range; allowed: {} to {}", *v, min, max));
    out = *v;
  }

  template <class T, size_t N>
  void choice(const std::string& key, T& out, const std::array<std::pair<const char*, T>, N>& choices) {
    if (!has(key)) return;
    std::string given;
    word(key, given);
    std::vector<std::string> names;
    for (const auto& [name, value] : choices) {
      if (given == name) {
        out = value;
        return;
      }
      names.push_back(name);
    }
    fail(key, fmt::format("'{}' is not known; allowed: {}", given, fmt::join(names, ", ")));
  }

  /// Index of the element of `list` that the key names.
  template <class List>
  bool reference(const std::string& key, const List& list, const char* what, unsigned& out) {
    if (!has(key)) return false;
    std::string given;
    word(key, given);
    constexpr size_t kShown = 20;
    std::vector<std::string> names;
    for (unsigned i = 0; i < list.size(); ++i) {
      if (list[i].name == given) {
        out = i;
        return true;
      }
      if (names.size() < kShown) names.push_back(list[i].name);
    }
    if (names.empty()) fail(key, fmt::format("there is no {} '{}', and none at all before this one", what, given));
    fail(key, fmt::format("there is no {} '{}'; there are: {}{}", what, given, fmt::join(names, ", "),
                          list.size() > kShown ? ", ..." : ""));
  }

  const toml::node* raw(const std::string& key) { return has(key) ? find(key) : nullptr; }

  void done() const {
    for (auto&& [key, node] : table_) {
      (void)node;
      if (std::find(known_.begin(), known_.end(), key.str()) != known_.end()) continue;
      auto names = known_;
      std::sort(names.begin(), names.end());
      throw InputError(file_, static_cast<unsigned>(key.source().begin.line), where_ + "." + std::string(key.str()),
                       fmt::format("unknown key; allowed: {}", fmt::join(names, ", ")));
    }
    if (!defaults_) return;
    for (auto&& [key, node] : *defaults_) {
      (void)node;
      if (std::find(known_.begin(), known_.end(), key.str()) == known_.end()) {
        throw InputError(file_, static_cast<unsigned>(key.source().begin.line),
                         fmt::format("defaults.{}.{}", where_.substr(0, where_.find('[')), key.str()),
                         fmt::format("unknown key; allowed: {}", fmt::join(known_, ", ")));
      }
    }
  }

 private:
  const toml::node* find(const std::string& key) const {
    if (const auto* n = table_.get(key)) return n;
    return defaults_ ? defaults_->get(key) : nullptr;
  }

  const std::string& file_;
  std::string where_;
  const toml::table& table_;
  const toml::table* defaults_;
  std::vector<std::string> known_;
};

/// The file's root table. Throws InputError for what is no TOML.
inline toml::table parse_toml(const std::string& text, const std::string& file) {
  try {
    return toml::parse(std::string_view(text), std::string_view(file));
  } catch (const toml::parse_error& e) {
    throw InputError(file, static_cast<unsigned>(e.source().begin.line), "",
                     "not valid TOML: " + std::string(e.description()));
  }
}

}  // namespace rnic::detail
