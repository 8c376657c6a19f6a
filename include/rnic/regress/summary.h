// SPDX-License-Identifier: Apache-2.0
// What came of a regression, and everything that is written about it.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "rnic/regress/journal.h"
#include "rnic/regress/plan.h"

namespace rnic::regress {

/// Failures that look the same.
struct Group {
  std::string signature;
  std::vector<size_t> runs;          ///< positions in Summary::runs, the first failure first
  std::optional<size_t> last_count;  ///< how many there were in the last regression; none: no history
};

struct MetricValue {
  std::string test;
  Metric metric;
  size_t count = 0, wanted = 0;  ///< runs that gave a value, and runs there are
  double value = 0;              ///< the worst of them
  double min = 0, max = 0;
  std::optional<double> expected;
  std::string state;            ///< good, worse, better, moved, missing, incomplete, unchecked
  std::optional<size_t> worst;  ///< position in Summary::runs of the run with `value`
  std::string replay;           ///< the line that runs it again; empty when nothing is off
  std::vector<double> trend;    ///< earlier regressions, oldest first
  bool bad() const { return state == "worse" || state == "moved" || state == "missing"; }
  std::string name() const { return test + "." + metric.name; }
  /// "294.16 ns, expected 293.16"
  std::string text() const;
};

struct BehaviourState {
  const Behaviour* behaviour = nullptr;
  size_t ran = 0, passed = 0;
  std::vector<std::string> missing;  ///< tests that were not run
  std::string state;                 ///< passed, failed, partly, not run
};

/// An earlier regression, from its summary.json.
struct Earlier {
  std::string file, started;
  std::map<std::string, std::string> outcomes;  ///< run -> outcome
  std::map<std::string, size_t> signatures;     ///< of failures -> how many
  std::map<std::string, double> metrics;
  std::set<std::string> bad_metrics;
  size_t passed = 0, failed = 0, total = 0;
  double wall_s = 0, started_s = 0;
};

struct Entry {
  Run run;
  const Result* result = nullptr;  ///< null: not run
  std::string replay;              ///< the line that runs it again with a waveform
};

struct Summary {
  const Plan* plan = nullptr;
  Shard shard;
  std::vector<Entry> runs;
  size_t passed = 0, failed = 0, not_run = 0;
  std::vector<Group> groups;
  std::vector<MetricValue> metrics;
  std::vector<BehaviourState> behaviours;
  std::vector<Earlier> history;
  std::vector<std::string> newly_failing, fixed, still_failing;  ///< runs, against the last of the history
  std::vector<std::string> gone;                                 ///< signatures of the last one that are no more
  std::string coverage;                                          ///< how it went; empty: none wanted
  std::string coverage_file;                                     ///< below the directory
  bool coverage_bad = false;
  double wall_s = 0;    ///< sum of the runs' times
  std::string started;  ///< of the first run, UTC
  double started_s = 0;
  std::vector<std::string> hosts;

  size_t bad_metrics() const;
  bool good() const { return failed == 0 && bad_metrics() == 0 && !coverage_bad; }
};

/// Earlier summaries of the same plan in a directory (or one file), oldest first. What is no summary is named in
/// `skipped`.
std::vector<Earlier> read_history(const std::string& path, const std::string& plan, std::vector<std::string>& skipped);

/// `program`: how the replay lines call rnicsim.
Summary summarize(const Plan& plan, const Shard& shard, const Results& results, std::vector<Earlier> history,
                  const std::string& program);

std::string text_of(const Summary& s, const std::string& dir);
std::string junit_of(const Summary& s);
std::string html_of(const Summary& s);
nlohmann::json json_of(const Summary& s);
/// One line a failure.
std::string replay_of(const Summary& s);
/// The metrics' values as a baseline file.
std::string baseline_of(const Summary& s);

}  // namespace rnic::regress
