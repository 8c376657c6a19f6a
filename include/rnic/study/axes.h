// SPDX-License-Identifier: Apache-2.0
// What a sweep goes over: keys of the profile and options of a command, each with its values.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace rnic::study {

/// Points of one sweep; each is a process and a folder.
constexpr uint64_t kMaxPoints = 100'000;

struct Axis {
  enum class Of : uint8_t { kKey, kOption };
  Of of = Of::kKey;
  std::string name;                 ///< "gpu.read_latency"; of an option without its dashes: "size"
  std::string unit;                 ///< "ns"; empty: a plain number or a text
  std::vector<std::string> values;  ///< as the command gets them
  bool numeric = false;

  /// Heading of its column: "gpu.read_latency_ns".
  std::string column() const;
  /// "pcie.nic_link_latency, ns"
  std::string label() const;
  /// The words that give the command this value.
  std::vector<std::string> words(const std::string& value) const;
};

/// An axis as it was written, its ranges not yet listed: "100:500:50", "256,1024,4096", "64:65536:x2,100000".
class AxisText {
 public:
  /// `text`: "NAME=VALUES". `option`: "--set" or "--option", for errors. Throws InputError for an unknown key (with the
  /// nearest ones), no values, a range that is empty or has no end.
  AxisText(Axis::Of of, const std::string& text, const std::string& option);

  const std::string& name() const { return axis_.name; }
  uint64_t count() const { return count_; }
  /// Throws InputError for a value that is there twice, or more values than kMaxPoints.
  Axis list() const;

 private:
  /// lo, lo + step, ... or lo, lo * factor, ..., in units of 10^-decimals.
  struct Item {
    std::string text;  ///< a plain value; empty: a range
    int64_t lo = 0, step = 0;
    int factor = 0;
    unsigned decimals = 0;
    uint64_t count = 1;
  };
  Item item(const std::string& text) const;

  Axis axis_;
  std::string option_;
  std::vector<Item> items_;
  uint64_t count_ = 0;
};

/// Values of all axes at one point.
using Point = std::vector<std::string>;

/// All combinations, the last axis fastest; or, with `zip`, the first values of all, then the second ones. Throws
/// InputError for no axes, two of one name, axes of unequal length (zip), and too many points, saying how many.
struct Grid {
  std::vector<Axis> axes;
  std::vector<Point> points;
};
Grid make_grid(const std::vector<AxisText>& texts, bool zip);

/// "gpu.read_latency=100 size=64"
std::string name_of(const std::vector<Axis>& axes, const Point& p);

nlohmann::json to_json(const std::vector<Axis>& axes);
/// Throws nlohmann::json::exception.
std::vector<Axis> axes_from_json(const nlohmann::json& j);

}  // namespace rnic::study
