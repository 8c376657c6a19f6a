// SPDX-License-Identifier: Apache-2.0
// The two kinds of `rnicsim run`.
#pragma once

#include <string>

#include "common.h"

namespace rnic::cli {

struct RunOptions {
  Common common;
  std::string scenario, junit;
  std::string nccl_log, node;
  int rank = -1;                            ///< -1: the lowest of each communicator that the log has
  uint64_t max_bytes = uint64_t{64} << 20;  ///< of payload simulated; 0: no limit
  unsigned depth = 64;                      ///< of the send queue
  bool skip_unreadable = false;
  Observer* watcher = nullptr;                 ///< told of everything; the tables are not printed then
  std::function<void(System&)> on_built;       ///< before the run
  std::function<void(nlohmann::json&)> amend;  ///< the result, after it
};

int run_scenario(const RunOptions& o);
int run_nccl_log(const RunOptions& o);

}  // namespace rnic::cli
