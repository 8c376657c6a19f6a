// SPDX-License-Identifier: Apache-2.0
// A profile beside published measurements: what was measured and by whom, whether a key was fitted to it or it was held
// out, the runs of ours that measure the same, and the error. The files are sim/profiles/figures/*.toml; their format:
// docs/calibration.md.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "rnic/profile/profile.h"
#include "rnic/study/sweep.h"

namespace rnic::study {

struct PublishedSource {
  std::string name, title, where;
  std::string hardware, method;
  std::string checked;  ///< "primary": the figure was read in the authors' own text or data; "second hand": cited
};

/// A command of ours, under the conditions of the machine that was measured.
struct ValidationRun {
  std::string name;
  std::vector<std::string> words;  ///< behind the program's name
};

struct PublishedFigure {
  struct Term {
    unsigned run = 0;
    std::string figure;  ///< name as in rnic/study/figures.h
    double times = 1;
  };
  std::string name, what, quote, differs;
  unsigned source = 0;
  std::string unit;
  double value = 0, lo = 0, hi = 0;  ///< lo and hi 0: no range published
  bool fitted = false;
  std::vector<std::string> keys;  ///< of the profile, that were fitted to it
  std::vector<Term> ours;         ///< their sum measures the same, in `unit`
  unsigned line = 0;
};

/// Published, with nothing of ours that measures the same yet.
struct UnmatchedFigure {
  std::string name, value, why;
  unsigned source = 0;
};

struct Validation {
  std::string file, profile;
  std::vector<PublishedSource> sources;
  std::vector<ValidationRun> runs;
  std::vector<PublishedFigure> figures;
  std::vector<UnmatchedFigure> unmatched;
};

/// Throws InputError with file, line and key.
Validation read_validation(const std::string& file);
/// The same from text; `file` stands for the file's name.
Validation parse_validation(const std::string& toml, const std::string& file);
/// The file that belongs to a profile of this name, beside the built-in profiles. Throws InputError naming those there
/// are.
std::string validation_file(const std::string& profile_name);

/// What is fitted in the profile must be what the figures say: each key that a figure names has the kind "fitted", and
/// each key of that kind is named. Throws InputError.
void check_fits(const Validation& v, const Profile& profile);

/// One job a run, each with these words behind its own.
std::vector<Job> jobs_of(const Validation& v, const std::vector<std::string>& words);

struct ValidatedFigure {
  const PublishedFigure* published = nullptr;
  std::optional<double> ours;
  std::string error;  ///< why there is none
  double error_percent() const { return (*ours / published->value - 1) * 100; }
  /// Inside the published range; nothing where there is none.
  std::optional<bool> inside() const;
};

struct ErrorSummary {
  size_t count = 0;
  double mean_percent = 0, worst_percent = 0;  ///< of the errors' absolute values
  std::string worst;
};

struct ValidationResult {
  const Validation* of = nullptr;
  bool as_held_out = false;  ///< the profile is not the one that the fits belong to
  std::vector<ValidatedFigure> figures;
  ErrorSummary fitted, held_out;
  size_t failed() const;
};
/// `outcomes` are those of jobs_of(), in its order. `as_held_out`: the
/// profile is another one, so that no figure was fitted.
ValidationResult validate(const Validation& v, const std::vector<Outcome>& outcomes, bool as_held_out);

/// Published figures as they are printed: three digits behind the point at most.
std::string figure_text(double v);
nlohmann::json to_json(const ValidationResult& r);
/// A page with the chart of errors and all that the file says.
std::string page_of(const ValidationResult& r, const Profile& profile, const std::string& command);

}  // namespace rnic::study
