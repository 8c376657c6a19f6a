// SPDX-License-Identifier: Apache-2.0
// Coverage of all runs, merged by the project's own script.
#pragma once

#include "rnic/regress/summary.h"

namespace rnic::regress {

/// Runs the plan's coverage tool over the folders in which runs of `dir` left counts, into `dir`/coverage, and says in
/// the summary how it went.
void merge_coverage(const std::string& dir, Summary& s);

}  // namespace rnic::regress
