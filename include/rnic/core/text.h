// SPDX-License-Identifier: Apache-2.0
// Text for people, shells, XML and HTML.
#pragma once

#include <string>

namespace rnic {

/// A number without trailing zeros.
std::string trim(double v, int digits = 3);
/// 64-bit FNV-1a, as 16 hexadecimal digits.
std::string fnv(const std::string& s);
/// A word as a POSIX shell (with $'' of bash where it holds control characters) reads it back, on one line.
std::string quoted(const std::string& s);
/// UTF-8 that XML 1.0 can hold: everything else becomes U+FFFD.
std::string clean(const std::string& s);
/// The same, with & < > " ' escaped: for text and attributes of XML and HTML.
std::string xml(const std::string& s);

}  // namespace rnic
