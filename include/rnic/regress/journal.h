// SPDX-License-Identifier: Apache-2.0
// A regression's directory: the plan, a lock, and a line for every finished run.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "rnic/regress/plan.h"

namespace rnic::regress {

struct Shard {
  unsigned index = 1, count = 1;  ///< 1/1: everything
};

/// What a run came to.
struct Result {
  std::string outcome;  ///< passed, failed, rule, metric, crashed, timeout, error
  std::string reason;   ///< "exit 1: a check failed", "timeout after 10 s", "killed by SIGSEGV"; empty when passed
  std::string message;  ///< first error line; the run's directory is written {dir}
  std::string signature;
  std::vector<std::string> excerpt;  ///< lines of the log round the message
  std::map<std::string, double> metrics;
  std::vector<std::string> waves;  ///< files below the run's directory
  std::string wave_note;           ///< why there is none, or that the run with the waveform went another way
  bool wave_done = false;          ///< nothing is left to do for the waveform
  double wall_s = 0, started_s = 0;
  std::string host;

  bool passed() const { return outcome == "passed"; }
};

/// Results in the order of the plan; a run that has not finished has none.
using Results = std::map<size_t, Result>;

/// Names in a regression's directory.
inline constexpr const char* kPlanFile = "plan.json";
inline constexpr const char* kJournalFile = "results.jsonl";
inline constexpr const char* kSweepCsv = "sweep.csv";
inline constexpr const char* kSweepPage = "sweep.html";

class Journal {
 public:
  enum class Mode {
    kNew,     ///< a finished regression there is replaced, an unfinished one refused
    kResume,  ///< goes on with an unfinished one
    kFresh,   ///< whatever is there is replaced
  };
  /// Locks the directory and makes it ready. Throws InputError when it holds another plan, is in use, or is not a
  /// regression's.
  Journal(const std::string& dir, const Plan& plan, const Shard& shard, Mode mode);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  const std::string& dir() const { return dir_; }
  const Results& results() const { return results_; }
  /// What was there before was made by a program of another build.
  bool other_program() const { return other_program_; }
  /// Written through to the disk before it returns. A second record of a run replaces the first.
  void record(const Run& run, const Result& result);
  /// For the child side of a fork: the lock is the parent's alone.
  void close_in_child() const;

 private:
  std::string dir_;
  Results results_;
  bool other_program_ = false;
  int lock_ = -1, file_ = -1;
};

/// A regression's directory, read without locking or changing it.
struct Kept {
  std::string dir;
  Plan plan;
  Shard shard;
  Results results;
};
/// Throws InputError for what is not the directory of a `what` (as in Plan), or damaged elsewhere than in its last
/// line.
Kept read_directory(const std::string& dir, const std::string& what = "regression");

/// The runs of a shard: round robin over the plan's.
std::vector<Run> runs_of(const Plan& plan, const Shard& shard);

/// Puts shards together in `out`, with the runs' directories linked or copied there. Throws InputError when they are
/// not of one plan, not all there (unless `partial`), or there twice.
Kept merge(const std::vector<std::string>& dirs, const std::string& out, bool partial, bool replace,
           const std::string& what = "regression");

}  // namespace rnic::regress
