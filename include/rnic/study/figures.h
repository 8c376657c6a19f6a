// SPDX-License-Identifier: Apache-2.0
// What a run has left, as named values: result.json flattened.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace rnic::study {

enum class Kind : uint8_t {
  kFigure,         ///< came out of the run
  kConfiguration,  ///< was asked for
  kIdentity,       ///< who made it, where and when: never a difference
};

struct Value {
  std::string name;  ///< "table.stages.DMA read.duration_ns"
  Kind kind;
  nlohmann::json value;  ///< number, text or boolean
};

/// In the order of the file. Elements of lists go by their "name" (or "what", or "key"), otherwise by their number.
class Figures {
 public:
  void add(std::string name, Kind kind, nlohmann::json value);
  const std::vector<Value>& all() const { return all_; }
  const Value* find(const std::string& name) const;
  /// Of a number.
  std::optional<double> number(const std::string& name) const;

 private:
  std::vector<Value> all_;
  std::map<std::string, size_t> index_;
};

/// Flattens a result. Empty values (null) are left out: a percentile that the sample can't support is none. Cycles
/// between start_cycle and end_cycle are added. Throws InputError naming `file`.
Figures flatten(const nlohmann::json& result, const std::string& file);
/// Reads result.json. Throws InputError for what is none, or of another schema version.
Figures read_result(const std::string& path);

/// What a person looks at first: times and rates from end to end, in order. Empty when the result has none that we
/// know.
std::vector<std::string> headlines(const Figures& f);
/// Whether a table of many runs shows the figure unless asked otherwise: no instants, cycle numbers, budgets, parts and
/// counters.
bool is_main(const Value& v);

/// "ns" of "duration_ns"; empty: a plain number. Rates are "Gb/s".
std::string unit_of(const std::string& name);
/// A number as JSON has it, without noise behind the sixth digit after the point.
std::string number_text(double v);
std::string value_text(const nlohmann::json& v);

}  // namespace rnic::study
