// SPDX-License-Identifier: Apache-2.0
// Rules over a waveform, checked without running anything. docs/wavecheck.md has the rules.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "rnic/wave/reader.h"

namespace rnic::wave {

enum class Status {
  kPassed,
  kFailed,
  kVacuous,     ///< nothing happened that the rule speaks of
  kIncomplete,  ///< obligations are open at the end of the wave, or there are too few samples
};
const char* to_string(Status s);

struct Failure {
  uint64_t time = 0;  ///< ticks
  int64_t cycle = 0;
  uint64_t sample = 0;  ///< number of the edge in the wave
  std::string what;
};

/// What the signals of a rule were round an instant, as sampled.
struct Around {
  struct Row {
    std::string name;
    std::vector<std::string> values;
  };
  std::vector<int64_t> cycles;
  std::vector<uint64_t> times;
  std::vector<Row> rows;
  size_t marked = 0;  ///< the column of the failure
};

/// One rule on one match of its globs.
struct Verdict {
  std::string kind, name;
  std::string instance;  ///< what the globs matched; empty without
  std::string file;
  unsigned line = 0;
  bool warning = false;  ///< severity = "warning": shown, but it does not fail
  Status status = Status::kPassed;
  std::string expected;
  std::string detail;  ///< why it is vacuous or incomplete
  uint64_t triggers = 0;
  uint64_t count = 0;          ///< failures
  std::vector<Failure> first;  ///< of them, at most five
  std::vector<std::pair<std::string, std::string>> measured;
  Around around;

  bool bad() const { return status != Status::kPassed && !warning; }
  std::string title() const { return instance.empty() ? name : name + " [" + instance + "]"; }
};

struct Report {
  std::string rules, wave;
  double tick_ns = 1;
  uint64_t end = 0;  ///< ticks
  std::vector<Verdict> verdicts;

  bool good() const;
  size_t count(Status s) const;
};

/// Checks the rules of a TOML file over a wave. Throws InputError for what is wrong in either.
Report check(const std::string& rules_path, Reader& wave);

/// How a person reads it: one line a rule, and for the bad ones what there is to know. `again` is the command that runs
/// the check again.
std::string text_of(const Report& r, const std::string& again);
/// One test case a rule instance.
std::string junit_of(const Report& r, const std::string& again);
/// Self-contained page with the signals drawn round the first failure of each rule.
std::string html_of(const Report& r, const std::string& again);

}  // namespace rnic::wave
