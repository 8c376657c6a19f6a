// SPDX-License-Identifier: Apache-2.0
// Tables of comma-separated values (RFC 4180).
#pragma once

#include <string>
#include <vector>

namespace rnic::study {

struct Csv {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;  ///< each as long as the header
};

/// A cell with quotation marks where it needs them; control characters become spaces, so that a row is a line.
std::string csv_cell(const std::string& s);
std::string csv_line(const std::vector<std::string>& cells);
/// Throws InputError with the line: a row of another length, a cell that is not closed, a heading that is there twice.
Csv parse_csv(const std::string& text, const std::string& file);

}  // namespace rnic::study
