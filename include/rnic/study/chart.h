// SPDX-License-Identifier: Apache-2.0
// Pictures of studies, as inline SVG without scripts.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace rnic::study {

struct LineChart {
  struct Series {
    std::string name;
    std::vector<std::pair<double, double>> points;  ///< in order of x
  };
  std::string title, x_label, y_label;
  std::vector<std::string> categories;  ///< x counts these; empty: x is a number
  std::vector<Series> series;
  std::string legend;                                ///< what the names are values of
  std::vector<std::pair<double, std::string>> gaps;  ///< x of points without a value, and why
};
/// One line a series, with a marker at every point. A logarithmic x axis where the values grow by factors.
std::string svg_of(const LineChart& c);

struct TornadoChart {
  struct Bar {
    std::string name;
    std::string lo_text, hi_text;  ///< values that the key was given; empty: there is no such side
    double lo = 0, hi = 0;         ///< what came of them
  };
  std::string title, axis;
  std::string lo_legend = "with the key's lower value", hi_legend = "with its higher value";
  double nominal = 0;
  std::vector<Bar> bars;  ///< the largest first
};
std::string svg_of(const TornadoChart& c);

/// Round numbers from at or below `lo` to at or above `hi`, about `wanted` of them.
std::vector<double> ticks(double lo, double hi, unsigned wanted);

}  // namespace rnic::study
