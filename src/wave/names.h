// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rnic/core/names.h"

namespace rnic::wave::detail {

using rnic::filled;
using rnic::fits;
using rnic::glob;
using rnic::is_glob;
using rnic::nearest;

}  // namespace rnic::wave::detail
