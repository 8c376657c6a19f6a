// SPDX-License-Identifier: Apache-2.0
// Where two waveforms part: the first difference of each signal. docs/wavediff.md has the words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rnic/wave/check.h"
#include "rnic/wave/reader.h"

namespace rnic::wave {

/// What is laid beside what.
enum class DiffBy {
  kTime,   ///< values at the same time
  kCycle,  ///< values sampled before the clock edges of the same number
  kEvent,  ///< values sampled at the n-th edge on which an expression is true
};

struct DiffOptions {
  DiffBy by = DiffBy::kTime;
  std::string clock;  ///< needed by cycle; by event without one, an event is that the expression becomes true
  bool rising = true, falling = false;
  std::string cycle;  ///< signal that numbers the edges; by time it is only shown
  std::string event;
  /// A change may come so much earlier or later: femtoseconds by time, else cycles or events.
  uint64_t tolerance = 0;
  /// Globs over names, without what is stripped. One fits a signal or a scope above it; without a dot, a signal's or
  /// scope's own name at any depth.
  std::vector<std::string> only, ignore;
  std::string strip_a, strip_b;  ///< scopes; signals outside of them are left out
  bool common = false;           ///< what only one of the files has is no difference
};

/// The first difference of a signal.
struct Difference {
  std::string name;
  std::vector<std::string> aliases;  ///< further names of the same signal
  bool in_b = false;                 ///< whose time and cycle these are: B's when only B changes there
  uint64_t time_fs = 0;
  std::optional<int64_t> cycle;
  std::optional<uint64_t> event;
  std::string a, b;  ///< values
  /// B takes the value that A took so much later, or A the one that B took so much earlier (negative). Femtoseconds,
  /// cycles or events.
  std::optional<int64_t> shift;
};

struct DiffReport {
  std::string a, b;  ///< files
  DiffBy by = DiffBy::kTime;
  uint64_t compared = 0;  ///< signals, aliases counted once
  std::vector<Difference> differences;
  std::vector<std::string> only_a, only_b;
  std::vector<std::string> widths;  ///< "name: 8 bits in A, 16 in B"
  std::string length;               ///< how one goes on after the other's end; empty: it does not
  std::vector<std::string> notes;
  uint64_t end_a_fs = 0, end_b_fs = 0;
  uint64_t tick_a_fs = 1, tick_b_fs = 1;
  bool common = false;

  bool same() const {
    return differences.empty() && (common || (only_a.empty() && only_b.empty() && widths.empty() && length.empty()));
  }
};

/// Throws InputError for names that are not there, and for damaged files.
DiffReport diff(Reader& a, Reader& b, const DiffOptions& options);

/// The signals in the order in which they part, one a line, then the rest. `limit` lines of each kind; 0: all.
std::string text_of(const DiffReport& r, const Commands& commands, size_t limit);
std::string json_of(const DiffReport& r);
std::string junit_of(const DiffReport& r, const Commands& commands, size_t limit);
std::string html_of(const DiffReport& r, const Commands& commands, size_t limit);

}  // namespace rnic::wave
