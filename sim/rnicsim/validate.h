// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common.h"

namespace rnic::cli {

/// rnicsim profile validate, below `profile`.
void add_validate(CLI::App& profile, int& status);

}  // namespace rnic::cli
