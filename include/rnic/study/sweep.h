// SPDX-License-Identifier: Apache-2.0
// A command at every point of a grid: the runs as a plan of the regression's runner, and what came of them as one
// table.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "rnic/regress/journal.h"
#include "rnic/regress/plan.h"
#include "rnic/study/axes.h"
#include "rnic/study/csv.h"
#include "rnic/study/figures.h"

namespace rnic::study {

constexpr int kSweepSchemaVersion = 1;  ///< of sweep.csv

/// One run of this program in a folder of its own.
struct Job {
  std::string name;
  std::vector<std::string> words;  ///< behind the program's name, without -o
};

struct JobOptions {
  std::string what;  ///< as in regress::Plan
  std::string name;
  double timeout_s = 3600;
  bool keep_files = false;  ///< otherwise of a run that passed only its result, resolved profile and log
  nlohmann::json extra;
};

/// The jobs as a plan for regress::execute(). Files that are named among the words are part of its identity.
regress::Plan plan_of(const std::vector<Job>& jobs, const JobOptions& options);

/// What came of one job.
struct Outcome {
  std::string status;  ///< passed, failed, error, crashed, timeout (as in regress::Result), or not_run
  std::string error;   ///< in one line; empty when passed
  std::string dir;     ///< below the directory
  Figures figures;
  bool good() const { return status == "passed"; }
};
/// In the plan's order, those of all shards.
std::vector<Outcome> outcomes_of(const regress::Kept& kept);

/// What is asked of a sweep, beyond the points.
struct SweepView {
  std::vector<std::string> metrics;  ///< globs; empty: the main ones
  std::string x;                     ///< swept name on the x axis; empty: the one with the most values
  std::vector<std::string> plots;    ///< globs; empty: what is looked at first
};

struct Sweep {
  std::vector<Axis> axes;
  std::vector<Point> points;
  bool zip = false;
  std::vector<std::string> command;
  SweepView view;
};

regress::Plan plan_of(const Sweep& s, double timeout_s, bool keep_files);
/// Out of the directory's plan. Throws InputError.
Sweep sweep_of(const regress::Kept& kept);

/// One row a point, in the order of the grid: swept values, status, figures, error, folder, schema.
struct SweepTable {
  Sweep sweep;
  std::vector<Outcome> rows;
  std::vector<std::string> figures;    ///< columns
  std::vector<std::string> unmatched;  ///< globs of the view that fit nothing, each with the nearest names
  size_t bad() const;
};
/// The rows of the directory's shard. `view` overrides what the sweep was begun with. Throws InputError for an x that
/// is not swept.
SweepTable table_of(const regress::Kept& kept, const SweepView* view = nullptr);
std::string csv_of(const SweepTable& t);
std::string page_of(const SweepTable& t);
/// Figures that the charts are of, at most eight.
std::vector<std::string> plotted(const SweepTable& t);

/// A sweep.csv read again.
struct SweptRow {
  std::string name;  ///< "gpu.read_latency_ns=100 size_bytes=64"
  std::string status;
  Figures figures;
};
struct SweptTable {
  std::vector<std::string> swept;
  std::vector<SweptRow> rows;
};
/// Throws InputError for what is no sweep.csv, of another schema version, or has a point twice.
SweptTable read_sweep_csv(const std::string& path);

}  // namespace rnic::study
