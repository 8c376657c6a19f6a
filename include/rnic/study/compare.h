// SPDX-License-Identifier: Apache-2.0
// Two results, or two sweeps, side by side.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "rnic/study/figures.h"
#include "rnic/study/stage_changes.h"

namespace rnic::study {

/// How far a figure may be off. Of several that fit, the last absolute and the last relative one count; either is
/// enough.
struct Tolerance {
  std::string glob;
  double value = 0;
  bool percent = false;  ///< of A's value
};
/// "GLOB=0.5", "GLOB=2%", "2%" (all figures). Throws InputError.
Tolerance parse_tolerance(const std::string& text);

struct CompareOptions {
  std::vector<Tolerance> tolerances;
  std::vector<std::string> ignore;  ///< globs of figures that are not looked at
  bool same_configuration = false;  ///< differences in configuration count
};

/// A value that differs. Null: there is none on this side.
struct Difference {
  std::string name;
  nlohmann::json a, b;
  std::optional<double> delta;  ///< of numbers
  std::string allowed;          ///< "exact", "0.5", "2 %"
  bool within = false;          ///< of what is allowed
  std::string moved_with;       ///< the stages whose change explains it
};

/// Two runs.
struct RunComparison {
  std::string name;  ///< of a sweep's point; empty: the only one
  size_t compared = 0;
  std::vector<Difference> figures, configuration, identity;
  StageChanges stages;
  bool same = true;
};

struct Comparison {
  std::string a, b;  ///< the files
  bool sweeps = false;
  std::vector<RunComparison> runs;
  std::vector<std::string> only_a, only_b;     ///< points of one sweep alone
  std::vector<std::string> unused_tolerances;  ///< globs that fit nothing
  bool same() const;
};

RunComparison compare(const Figures& a, const Figures& b, const CompareOptions& options);

/// Each is a run directory, a result.json, a sweep's folder or a sweep.csv. Throws InputError when one is neither, when
/// one is a run and the other a sweep, when sweeps are over other keys, or when schema versions differ.
Comparison compare_paths(const std::string& a, const std::string& b, const CompareOptions& options);

}  // namespace rnic::study
