// SPDX-License-Identifier: Apache-2.0
// Plan of a regression: which commands run with which seeds, what is read from them and what is expected.
// docs/regress.md has the file's format. Sweeps and sensitivities are plans, too, made without a file: pool of
// processes, journal, resuming, shards and merging are the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rnic::regress {

/// A number that every run of a test leaves in a JSON file.
struct Metric {
  std::string name;
  std::string file = "result.json";  ///< below the run's directory
  std::string pointer;               ///< JSON pointer (RFC 6901)
  std::string unit;
  std::string better = "equal";  ///< lower, higher, equal: which way is no failure
  std::string check = "none";  ///< baseline, last, none: what the value is compared with; new: a baseline is made of it
  double tolerance = 0;
  bool percent = false;  ///< the tolerance is in percent of what it is compared with
};

struct Test {
  std::string name, description;
  std::vector<std::string> labels;
  std::vector<std::string> command;  ///< with placeholders
  std::vector<std::pair<std::string, std::string>> env;
  double timeout_s = 0;
  int expect = 0;                  ///< exit status
  std::vector<std::string> rules;  ///< rule files for wavecheck: absolute, or from cwd in a kept plan
  std::vector<Metric> metrics;
  std::string wave;  ///< what {trace} is when a failed run is made again; empty: the command has no {trace}
};

struct Run {
  size_t index = 0;  ///< in the whole plan; directories are named after it, so that they are equal on all shards
  size_t test = 0;
  std::optional<uint64_t> seed;
  std::string name;  ///< "test" or "test:seed"
  std::string dir;   ///< "runs/0017-test-s5", below the regression's directory
};

/// One row of a test plan: a behaviour and the tests that show it.
struct Behaviour {
  std::string page, text;
  unsigned line = 0;
  std::vector<std::string> tests;
};

struct Plan {
  std::string what =
      "regression";      ///< or "sweep", "sensitivity", "validation": their directories are not taken for one another
  nlohmann::json extra;  ///< what the plan's maker wants to find again in the directory
  std::vector<std::string> keep;  ///< files that a run which passed leaves; empty: all
  std::string file;               ///< as given; its name alone in a kept plan
  std::string name;
  std::string dir;  ///< of the file: absolute, or from cwd in a kept plan
  std::string cwd;  ///< of the commands: absolute, or from where it was started in a kept plan
  unsigned jobs = 0;
  double grace_s = 5;  ///< between SIGTERM and SIGKILL
  uint64_t seed = 1;
  std::string out;
  std::string waves = "failures";  ///< failures, all, none
  bool coverage = false;
  std::string coverage_tool;
  std::string baseline;                           ///< file; empty: none
  std::map<std::string, double> baseline_values;  ///< "test.metric" -> expected
  std::vector<Behaviour> behaviours;
  std::vector<Test> tests;
  std::vector<Run> runs;
  std::string program;         ///< tells the program of one build from that of another
  bool has_selection = false;  ///< --only or --label has left runs out
  std::string hash;            ///< of everything that decides what the runs are

  const Test& test_of(const Run& r) const { return tests[r.test]; }
};

struct PlanOptions {
  std::optional<uint64_t> seed;     ///< instead of the plan's
  std::string build;                ///< instead of each [[ctest]] build
  std::vector<std::string> only;    ///< regular expressions over names of runs; empty: all
  std::vector<std::string> labels;  ///< any of them; empty: all
  bool writes_baseline = false;     ///< the baseline is not read
};

/// Fills in the hash of `identity` (everything that decides what the runs are) and the program's.
void seal(Plan& plan, const std::string& identity);
/// Adds a test with one run.
void add_single(Plan& plan, Test test);
constexpr size_t kMaxRuns = 200'000;

/// Reads a plan and lists its runs. Throws InputError for what is wrong in it, in its rules, baseline or test plans.
Plan load_plan(const std::string& file, const PlanOptions& options);

/// As a regression's directory keeps it: enough to make the report without the plan's files.
nlohmann::json to_json(const Plan& plan);
/// Throws InputError naming `file` when `j` is not what to_json() makes.
Plan plan_from_json(const nlohmann::json& j, const std::string& file);

/// What placeholders become.
struct Places {
  std::string dir, trace, program;
};
/// The command's words. {seed} {dir} {trace} {plan} {rnicsim}; a first word `rnicsim` is the program, too.
std::vector<std::string> words_of(const Plan& plan, const Run& run, const Places& places);

/// Tests of a CTest build directory. Throws InputError.
struct CtestTest {
  std::string name;
  std::vector<std::string> labels;
  double timeout_s = 0;  ///< 0: none given
};
std::vector<CtestTest> list_ctest(const std::string& build, const std::string& place_file, unsigned place_line);

/// Rows of the tables of Markdown pages whose last column names tests.
std::vector<Behaviour> read_testplan(const std::string& file);
/// Whether a run's test is the one that a test plan names: the same name, or its Suite.Test, of whatever instance.
bool names_test(const std::string& named, const std::string& test);

}  // namespace rnic::regress
