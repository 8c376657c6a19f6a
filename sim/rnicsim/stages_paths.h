// SPDX-License-Identifier: Apache-2.0
// rnicsim stages --path: from data ready in GPU memory to the wire, over host memory and past it (F6, F7).
#pragma once

#include <optional>
#include <string>

#include "common.h"
#include "rnic/host/paths.h"

namespace rnic::cli {

struct StagesPaths {
  std::string path;  ///< gdr, staged, both
  std::optional<uint64_t> size;
  host::PathOptions message;
  std::string op, transport, sq;  ///< names, for the result
  bool check = false;
};

Exit run_stages_paths(const Common& common, const StagesPaths& o);

}  // namespace rnic::cli
