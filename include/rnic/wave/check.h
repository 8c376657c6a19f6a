// SPDX-License-Identifier: Apache-2.0
// Rules over a waveform, checked without running anything. docs/wavecheck.md has the rules.
#pragma once

#include <cstdint>
#include <map>
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
    uint32_t width = 0;
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

/// A parameter of a rules file as it was used.
struct ParameterUse {
  std::string name;
  double value = 0;
  std::string file;  ///< of rules
  std::string from;  ///< "default", "preset" or "--param"
};

struct Report {
  std::vector<std::string> rules;  ///< files
  std::string wave;
  std::vector<ParameterUse> parameters;
  double tick_ns = 1;
  uint64_t end = 0;  ///< ticks
  std::vector<Verdict> verdicts;

  bool good() const;
  size_t count(Status s) const;
};

struct CheckOptions {
  /// Values for what the files declare under [parameters]. One that no file declares is an InputError.
  std::map<std::string, double> parameters;
  /// The same, but weaker, and those that no file declares are left aside.
  std::map<std::string, double> presets;
  /// The wave for golden rules that name none.
  std::string golden;
};

/// Checks the rules of TOML files over a wave, in one pass. Throws InputError for what is wrong in either.
Report check(const std::vector<std::string>& rules_paths, Reader& wave, const CheckOptions& options = {});

/// Command lines that a report names.
struct Commands {
  std::string check;   ///< runs the check again
  std::string replay;  ///< runs the simulation again that wrote the wave; empty: unknown
  std::string seed;    ///< of that simulation; empty: unknown
};

/// How a person reads it: one line a rule, and for the bad ones what there is to know.
std::string text_of(const Report& r, const Commands& commands);
/// One test suite a file of rules, one test case a rule instance.
std::string junit_of(const Report& r, const Commands& commands);
/// Self-contained page with the signals drawn round the first failure of each rule.
std::string html_of(const Report& r, const Commands& commands);

}  // namespace rnic::wave
