// SPDX-License-Identifier: Apache-2.0
// Runs a plan: processes in groups of their own, time limits, interruption, waveforms of failures.
#pragma once

#include <string>

#include "rnic/regress/journal.h"
#include "rnic/regress/plan.h"

namespace rnic::regress {

struct RunnerOptions {
  unsigned jobs = 1;
  size_t max_failures = 0;  ///< 0: no limit
  Shard shard;
  std::string program;    ///< how {rnicsim} is called
  bool terminal = false;  ///< a progress line on stderr that overwrites itself
  bool quiet = false;     ///< no progress
};

enum class End { kComplete, kMaxFailures, kInterrupted };

/// Makes every run that the journal has no result for, and the waveforms of failures that are missing. SIGINT and
/// SIGTERM end it early, with all children gone; a second one ends the process at once.
End execute(const Plan& plan, const RunnerOptions& options, Journal& journal);

/// What {trace} is when a failed run is made again: "around:N" becomes a window round the instant that its message
/// speaks of, or "full".
std::string trace_of(const std::string& wave, const Result& result);

/// "first line of an error" out of a log, its surroundings, and what it is when numbers, paths and seeds don't matter.
struct Finding {
  std::string message;
  std::vector<std::string> excerpt;
};
Finding find_error(const std::string& log);
std::string normalized(const std::string& message);

}  // namespace rnic::regress
