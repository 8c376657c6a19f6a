// SPDX-License-Identifier: Apache-2.0
// Pages of reports.
#pragma once

#include <string>

namespace rnic {

/// The beginning of a page that needs nothing from outside, up to <body>, with the styles of tables, verdicts and
/// pictures.
std::string page_head(const std::string& title);

}  // namespace rnic
