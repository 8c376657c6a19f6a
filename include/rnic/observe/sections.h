// SPDX-License-Identifier: Apache-2.0
// Parts of report.html about rates: HTML with inline SVG, for ReportInput::sections.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "rnic/observe/messages.h"
#include "rnic/observe/observer.h"
#include "rnic/observe/resources.h"

namespace rnic {

/// Table of the resources with a bar each, what waited, and what is saturated; then their use over time.
std::string resources_html(const ResourceReport& report, const ResourceSeries& series);
/// The slowest messages against the median one: a bar of their stages each, and the cause.
std::string slowest_html(const std::vector<Message>& messages, const Slowest& slow);
/// Each queue pair's share of the line over time, the first `kTrafficRows` that have sent most; `name` is what a row is
/// called. Times count from `start_ps`.
inline constexpr size_t kTrafficRows = 16;
std::string traffic_html(const std::vector<FrameRecord>& frames, double line_gbps, uint64_t start_ps,
                         const std::function<std::string(unsigned nic, uint32_t qpn)>& name);
/// Histogram with buckets of equal factors, and percentiles; a dash for those that the sample can't support.
std::string log_histogram_html(const std::string& name, std::vector<double> ns);

/// Buckets of a histogram whose borders grow by equal factors: `per_octave` of them from x to 2x. Values up to 0 go
/// into the first one.
struct LogBuckets {
  std::vector<double> borders;  ///< one more than counts
  std::vector<size_t> counts;
};
LogBuckets log_buckets(const std::vector<double>& values, unsigned per_octave);

}  // namespace rnic
