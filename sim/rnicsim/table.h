// SPDX-License-Identifier: Apache-2.0
// Text tables: columns as wide as their longest cell; numbers stand right.
#pragma once

#include <string>
#include <vector>

namespace rnic::cli {

class Table {
 public:
  /// A heading that begins with '<' makes a left-aligned column; the sign is not printed.
  explicit Table(std::vector<std::string> headings);
  void row(std::vector<std::string> cells);
  /// A line between rows.
  void rule();
  bool empty() const { return rows_.empty(); }
  std::string text() const;
  std::string html() const;  ///< for a section of report.html

 private:
  std::vector<std::string> headings_;
  std::vector<bool> left_;
  std::vector<std::vector<std::string>> rows_;  ///< an empty one is a rule
};

/// Picoseconds as ns with three digits after the point.
std::string ns(uint64_t ps);
std::string signed_ns(int64_t ps);
/// "4 KiB", "1.5 MiB", "300 B".
std::string bytes_text(uint64_t bytes);

/// Text broken at spaces, so that no line is longer than `width` where that can be.
std::string wrapped(const std::string& text, size_t width = 120);

}  // namespace rnic::cli
