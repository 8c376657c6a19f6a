// SPDX-License-Identifier: Apache-2.0
// What the reports of wavecheck and wavediff are written with.
#pragma once

#include <string>

#include "rnic/core/page.h"
#include "rnic/core/text.h"
#include "rnic/wave/check.h"

namespace rnic::wave::detail {

/// Long values without their middle.
std::string shortened(const std::string& value);
/// The signals round a failure: one bit as a line, more as boxes with their values.
std::string drawing(const Around& a, double tick_ns);
/// The command that opens GTKWave at a time (ticks), `left` being at the left end.
std::string viewer(const std::string& wave, uint64_t marker, uint64_t left, uint64_t right);

}  // namespace rnic::wave::detail
