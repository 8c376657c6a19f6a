// SPDX-License-Identifier: Apache-2.0
// Whole files.
#pragma once

#include <cstddef>
#include <string>

namespace rnic {

/// Throws InputError when it can't be read or is larger than `limit`.
std::string read_text(const std::string& path, size_t limit);
/// Replaces the file in one step, written through to the disk. Throws InputError.
void write_whole(const std::string& path, const std::string& text);

}  // namespace rnic
