// SPDX-License-Identifier: Apache-2.0
// Which stage of the stage table took another time, and which figures only moved with it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rnic/study/figures.h"

namespace rnic::study {

struct PartChange {
  std::string what;  ///< "RTL: payload to last beat with ICRC at the MAC"
  double a_ns, b_ns;
};

/// A stage whose duration differs.
struct StageChange {
  std::string table;  ///< "table"
  std::string stage;  ///< "packetize"
  double a_ns, b_ns;
  std::optional<double> a_cycles, b_cycles;
  std::vector<PartChange> parts;
  double delta_ns() const { return b_ns - a_ns; }
  /// "packetize +1 cycle (15 -> 16), +1 ns"
  std::string text() const;
};

struct StageChanges {
  std::vector<StageChange> changes;  ///< in order of the stages
  /// Figures that differ by just what these changes make of them: figure -> the stages' names.
  std::map<std::string, std::string> moved;
  /// "all later stages moved by 1 ns with it: MAC TX, CQE write"; empty when there is nothing to say.
  std::string note;
};

/// Of two runs; works with whatever figures of a stage table both have.
StageChanges stage_changes(const Figures& a, const Figures& b);

/// "+1.5 ns"
std::string signed_text(double v, const std::string& unit = "");

}  // namespace rnic::study
