// SPDX-License-Identifier: Apache-2.0
// --sensitivity: for every subcommand that simulates one thing and has a result.
#pragma once

#include <string>

#include "common.h"

namespace rnic::cli {

struct SensitivityOptions {
  bool wanted = false;
  double percent = 20;
  unsigned jobs = 0;
  std::string figure;  ///< name (as in rnic/study/figures.h) of what is looked at
};

/// `figure`: what is looked at unless --sensitivity-of says otherwise.
void add_sensitivity_options(CLI::App& app, SensitivityOptions& o, const std::string& figure);

/// Runs this command line again with each key of the profile a little lower and higher, in processes of their own;
/// prints the table (not with --json), adds it to `result` as "sensitivity", and writes sensitivity.html into the run
/// directory. Call with the finished result, before it is written. kGood, kCheckFailed when a run failed, or
/// kInterrupted.
Exit run_sensitivity(const SensitivityOptions& o, const Common& common, const Profile& profile, nlohmann::json& result);

}  // namespace rnic::cli
