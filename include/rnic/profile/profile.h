// SPDX-License-Identifier: Apache-2.0
// Profiles: every latency, width and limit of the models, with where the figure comes from.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "rnic/core/error.h"
#include "rnic/core/types.h"

namespace rnic {

/// One key of the schema: what it means and what is allowed. The schema is the list of all keys there are.
struct KeyInfo {
  std::string name;                  ///< "gpu.read_latency"
  std::string unit;                  ///< "ns", "ps", "Gb/s", "B", "1" (a count or a switch), "text"
  double min, max;                   ///< allowed values (numbers)
  std::vector<std::string> choices;  ///< allowed values (text, or numbers when only some between min and max are)
  bool build_key;  ///< fixed when Verilating; asking for another value is an error that says how to build it
  std::string help;
};

const std::vector<KeyInfo>& profile_schema();
/// The key's entry in the schema, or nullptr.
const KeyInfo* find_key(std::string_view name);

struct KeyValue {
  std::variant<double, std::string> value;
  double lo = 0, hi = 0;  ///< plausible range given by the source; both 0: none given
  std::string kind;       ///< document | measured | datasheet | assumed | fitted
  std::string source;     ///< where the figure comes from
  std::string file;       ///< where it was read ("--set" for the command line)
  unsigned line = 0;
};

class Profile {
 public:
  /// A built-in profile by name ("seed-400g"), or a TOML file by path. `extends` is followed (a cycle is an error).
  /// Throws InputError with file, line and key.
  static Profile load(const std::string& name_or_path);
  /// The same from text; `file` stands for the file's name in errors and for its folder in `extends`.
  static Profile parse(const std::string& toml, const std::string& file);
  /// Names of the built-in profiles, sorted.
  static std::vector<std::string> builtin();
  /// Path of the folder the built-in profiles were found in.
  static std::string folder();

  const std::string& name() const { return name_; }
  const std::string& description() const { return description_; }
  /// What the fitted keys were fitted to, one line each ("F5 DMA read 200 ns").
  const std::vector<std::string>& targets() const { return targets_; }
  /// Keys of a kind ("fitted").
  size_t count(std::string_view kind) const;
  /// Whose figures the targets are.
  const std::string& fitted_to() const { return fitted_to_; }
  /// "fitted to the document: N keys, M targets; agreement is by construction", or empty when no key is fitted.
  std::string fit_note() const;

  /// "key=value" from the command line; value in the key's unit. Throws InputError.
  void set(const std::string& assignment);
  /// The same with the value given apart.
  void set(const std::string& key, const std::string& value);

  /// Value of a key whose unit is a time. Throws SimError on a key outside the schema.
  Time time(std::string_view key) const;
  double number(std::string_view key) const;
  uint64_t integer(std::string_view key) const;
  const std::string& text(std::string_view key) const;
  const KeyValue& entry(std::string_view key) const;
  const std::map<std::string, KeyValue>& entries() const { return values_; }

  /// The resolved profile as TOML that load() takes again and gives equal values.
  std::string to_toml() const;

 private:
  friend class ProfileReader;
  std::string name_, description_, fitted_to_ = "the document";
  std::vector<std::string> targets_;
  std::map<std::string, KeyValue> values_;
};

}  // namespace rnic
