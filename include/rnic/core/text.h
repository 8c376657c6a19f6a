// SPDX-License-Identifier: Apache-2.0
// Text for shells, XML and HTML.
#pragma once

#include <string>

namespace rnic {

/// A word as a POSIX shell (with $'' of bash where it holds control characters) reads it back, on one line.
std::string quoted(const std::string& s);
/// UTF-8 that XML 1.0 can hold: everything else becomes U+FFFD.
std::string clean(const std::string& s);
/// The same, with & < > " ' escaped: for text and attributes of XML and HTML.
std::string xml(const std::string& s);

}  // namespace rnic
