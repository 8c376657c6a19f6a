// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "rnic/observe/run_directory.h"
#include "support/sample_run.h"

namespace rnic {
namespace {

}  // namespace
}  // namespace rnic
