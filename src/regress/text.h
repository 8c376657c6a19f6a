// SPDX-License-Identifier: Apache-2.0
// Texts of plans and reports, and whole files.
#pragma once

#include <string>

#include "rnic/core/text.h"

namespace rnic::regress {

/// Without trailing zeros.
std::string trim(double v, int digits = 3);
/// "12.3 s", "4 min 10 s", "1 h 5 min"
std::string duration(double seconds);
/// 64-bit FNV-1a, as 16 hexadecimal digits.
std::string fnv(const std::string& s);
/// Whole file. Throws InputError when it can't be read or is larger than `limit`.
std::string read_text(const std::string& path, size_t limit);
/// Replaces the file in one step, written through to the disk. Throws InputError.
void write_whole(const std::string& path, const std::string& text);
std::string replaced(std::string s, const std::string& what, const std::string& by);

}  // namespace rnic::regress
