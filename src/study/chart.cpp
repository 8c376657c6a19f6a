// SPDX-License-Identifier: Apache-2.0
#include "rnic/study/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "rnic/core/text.h"
#include "rnic/study/figures.h"

namespace rnic::study {
namespace {

constexpr const char* kFont = "system-ui,'Segoe UI','DejaVu Sans',sans-serif";
/// Told apart in print and by people who don't see colours alike (Okabe and Ito's set, without yellow).
constexpr std::array kColors{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#7a5195", "#8c6d31", "#444444"};

std::string text(double x, double y, const std::string& s, const char* anchor = "start", const char* style = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y, anchor, style, xml(s));
}

std::string line(double x1, double y1, double x2, double y2, const char* stroke, const char* more = "") {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"{}/>\n", x1, y1, x2,
                     y2, stroke, more);
}

/// Another shape for every series, so that a print without colours can be read.
std::string marker(size_t series, double x, double y, const std::string& title) {
  const char* color = kColors[series % kColors.size()];
  std::string shape;
  switch (series % 4) {
    case 0:
      shape = fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\"", x, y);
      break;
    case 1:
      shape = fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"7.4\" height=\"7.4\"", x - 3.7, y - 3.7);
      break;
    case 2:
      shape = fmt::format("<path d=\"M{:.1f} {:.1f}l4.8 8.4h-9.6z\"", x, y - 5.2);
      break;
    default:
      shape = fmt::format("<path d=\"M{:.1f} {:.1f}l5 5l-5 5l-5 -5z\"", x, y - 5);
  }
  return fmt::format("{} fill=\"{}\" stroke=\"#fff\"><title>{}</title></{}>\n", shape, color, xml(title),
                     shape.substr(1, shape.find(' ') - 1));
}

double width_of(const std::string& s, double size) {
  size_t characters = 0;
  for (const char c : s) characters += (static_cast<unsigned char>(c) & 0xc0) != 0x80 ? 1 : 0;
  return static_cast<double>(characters) * size * 0.56;
}

std::string shortened(const std::string& s, size_t most) {
  return s.size() <= most ? s : clean(s.substr(0, most - 3)) + "...";
}

bool grows_by_factors(const std::vector<double>& x) {
  if (x.size() < 3 || x.front() <= 0 || x.back() / x.front() < 8) return false;
  double least = x[1] / x[0], most = least;
  for (size_t i = 1; i < x.size(); ++i) {
    least = std::min(least, x[i] / x[i - 1]);
    most = std::max(most, x[i] / x[i - 1]);
  }
  // Even steps look like falling factors: 2, 1.5, 1.33 ...
  return least >= 1.5 && most <= 4 * least;
}

}  // namespace

std::vector<double> ticks(double lo, double hi, unsigned wanted) {
  if (!(hi > lo)) {
    const double pad = lo == 0 ? 1 : std::abs(lo) * 0.05;
    lo -= pad;
    hi += pad;
  }
  const double raw = (hi - lo) / std::max(1u, wanted), power = std::pow(10, std::floor(std::log10(raw)));
  double step = power * 10;
  for (const double m : {1.0, 2.0, 2.5, 5.0}) {
    if (m * power >= raw * 0.999) {
      step = m * power;
      break;
    }
  }
  std::vector<double> out;
  const double first = std::floor(lo / step + 1e-9), last = std::ceil(hi / step - 1e-9);
  for (double k = first; k <= last && out.size() < 100; ++k) out.push_back(k * step);
  return out;
}

std::string svg_of(const LineChart& c) {
  constexpr double kWidth = 1080, kPlot = 380, kBottom = 64;
  const double top = c.title.empty() ? 38 : 62;
  std::set<double> at;
  double low = INFINITY, high = -INFINITY;
  for (const auto& s : c.series) {
    for (const auto& [x, y] : s.points) {
      at.insert(x);
      low = std::min(low, y);
      high = std::max(high, y);
    }
  }
  for (const auto& g : c.gaps) at.insert(g.first);
  if (at.empty()) return "";
  if (low > high) low = 0, high = 1;
  if (low > 0 && low < 0.35 * high) low = 0;
  const auto y_ticks = ticks(low, high, 7);
  const std::vector<double> xs(at.begin(), at.end());
  const bool category = !c.categories.empty(), logarithmic = !category && grows_by_factors(xs);

  double left = 0;
  for (const double t : y_ticks) left = std::max(left, width_of(number_text(t), 13));
  left += 46;
  double legend = width_of(c.legend, 14.5);  // bold
  for (const auto& s : c.series) legend = std::max(legend, 30 + width_of(shortened(s.name, 40), 13));
  const bool with_legend = c.series.size() > 1 || !c.legend.empty();
  const double right = with_legend ? legend + 34 : 30;
  const double plot = kWidth - left - right;
  const double rows = with_legend ? static_cast<double>(c.series.size()) * 21 + 30 : 0;
  const double height = std::max(top + kPlot + kBottom, top + rows + 10);

  const auto place = [&](double v) { return logarithmic ? std::log(v) : v; };
  double from = place(xs.front()), to = place(xs.back());
  if (category) from = -0.5, to = static_cast<double>(c.categories.size()) - 0.5;
  if (to <= from) from -= 1, to += 1;
  const double pad = category ? 0 : (to - from) * 0.03;
  const auto px = [&](double v) { return left + (place(v) - from + pad) / (to - from + 2 * pad) * plot; };
  const auto py = [&](double v) {
    return top + kPlot - (v - y_ticks.front()) / (y_ticks.back() - y_ticks.front()) * kPlot;
  };

  std::string s = fmt::format(
      "<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\" style=\"font:13px "
      "{};width:100%;height:auto\">\n",
      kWidth, height, xml(c.title.empty() ? c.y_label : c.title), kFont);
  if (!c.title.empty()) s += text(left, 24, c.title, "start", " font-size=\"16\" font-weight=\"600\"");
  s += text(left, top - 14, c.y_label + (y_ticks.front() > 0 ? "  (the axis does not begin at 0)" : ""), "start",
            " class=\"soft\"");
  for (const double t : y_ticks) {
    s += line(left, py(t), left + plot, py(t), "#e3e8ed");
    s += text(left - 9, py(t) + 4.5, number_text(t), "end");
  }
  // Where the values are, as long as their texts have room; otherwise round numbers.
  std::vector<std::pair<double, std::string>> marks;
  if (category) {
    for (size_t i = 0; i < c.categories.size(); ++i)
      marks.emplace_back(static_cast<double>(i), shortened(c.categories[i], 24));
  } else {
    for (const double x : xs) marks.emplace_back(x, number_text(x));
    const auto crowded = [&] {
      for (size_t i = 1; i < marks.size(); ++i) {
        if (px(marks[i].first) - px(marks[i - 1].first) <
            (width_of(marks[i].second, 13) + width_of(marks[i - 1].second, 13)) / 2 + 12)
          return true;
      }
      return false;
    };
    if (crowded() && !logarithmic) {
      marks.clear();
      for (const double t : ticks(xs.front(), xs.back(), 10)) {
        if (t >= xs.front() - 1e-9 && t <= xs.back() + 1e-9) marks.emplace_back(t, number_text(t));
      }
    }
    while (crowded() && marks.size() > 2) {
      for (size_t i = 1; i < marks.size(); ++i) marks.erase(marks.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  for (const auto& [x, label] : marks) {
    s += line(px(x), top + kPlot, px(x), top + kPlot + 5, "#5d6b7a");
    if (!category) s += line(px(x), top, px(x), top + kPlot, "#f0f3f6");
    s += text(px(x), top + kPlot + 21, label, "middle");
  }
  s += line(left, top + kPlot, left + plot, top + kPlot, "#5d6b7a");
  s += line(left, top, left, top + kPlot, "#5d6b7a");
  s += text(left + plot / 2, top + kPlot + 46, c.x_label + (logarithmic ? "  (logarithmic)" : ""), "middle",
            " font-weight=\"600\"");

  for (size_t n = 0; n < c.series.size(); ++n) {
    const auto& list = c.series[n].points;
    const char* color = kColors[n % kColors.size()];
    // Between categories there is nothing that a line could stand for.
    if (list.size() > 1 && !category) {
      std::string points;
      for (const auto& [x, y] : list) points += fmt::format("{:.1f},{:.1f} ", px(x), py(y));
      s += fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"{}/>\n", points, color,
                       n >= kColors.size() ? " stroke-dasharray=\"6 4\"" : "");
    }
    for (const auto& [x, y] : list) {
      const std::string where = category ? c.categories[static_cast<size_t>(x)] : number_text(x);
      s += marker(
          n, px(x), py(y),
          fmt::format("{}{}: {}", c.series[n].name.empty() ? "" : c.series[n].name + ", ", where, number_text(y)));
    }
  }
  for (const auto& [x, why] : c.gaps) {
    const double y = top + kPlot - 9;
    s += fmt::format("<g stroke=\"#c02a2a\" stroke-width=\"2.4\"><title>{}</title>", xml(why));
    s += fmt::format("<path d=\"M{0:.1f} {1:.1f}l10 10m0 -10l-10 10\" fill=\"none\"/></g>\n", px(x) - 5, y - 5);
  }
  if (with_legend) {
    const double x = left + plot + 20;
    if (!c.legend.empty()) s += text(x, top + 12, c.legend, "start", " font-weight=\"600\"");
    for (size_t n = 0; n < c.series.size(); ++n) {
      const double y = top + 34 + static_cast<double>(n) * 21;
      s += line(x, y - 4.5, x + 22, y - 4.5, kColors[n % kColors.size()],
                n >= kColors.size() ? " stroke-width=\"2\" stroke-dasharray=\"6 4\"" : " stroke-width=\"2\"");
      s += marker(n, x + 11, y - 4.5, c.series[n].name);
      s += text(x + 30, y, shortened(c.series[n].name, 40));
    }
  }
  if (!c.gaps.empty())
    s += text(left + plot, top - 14, "\xc3\x97 no value: the run failed", "end",
              " fill=\"#c02a2a\" style=\"fill:#c02a2a\"");
  return s + "</svg>\n";
}

std::string svg_of(const TornadoChart& c) {
  constexpr double kWidth = 1080, kTop = 70, kRow = 30, kBar = 18;
  constexpr const char *kLower = "#0072b2", *kHigher = "#d55e00";
  double low = c.nominal, high = c.nominal, names = 0, lo_texts = 0, hi_texts = 0;
  for (const auto& b : c.bars) {
    for (const auto& [label, v] : {std::pair{&b.lo_text, b.lo}, {&b.hi_text, b.hi}}) {
      if (label->empty()) continue;
      low = std::min(low, v);
      high = std::max(high, v);
      (v < c.nominal ? lo_texts : hi_texts) = std::max(v < c.nominal ? lo_texts : hi_texts, width_of(*label, 12));
    }
    names = std::max(names, width_of(b.name, 13));
  }
  const auto marks = ticks(low, high, 8);
  const double left = names + 30 + lo_texts, right = hi_texts + 34, plot = kWidth - left - right;
  const double bottom = kTop + kRow * static_cast<double>(c.bars.size());
  const auto px = [&](double v) { return left + (v - marks.front()) / (marks.back() - marks.front()) * plot; };
  std::string s = fmt::format(
      "<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\" style=\"font:13px "
      "{};width:100%;height:auto\">\n",
      kWidth, bottom + 56, xml(c.title), kFont);
  s += text(12, 26, c.title, "start", " font-size=\"16\" font-weight=\"600\"");
  double x = 12;
  for (const auto& [color, label] : {std::pair{kLower, c.lo_legend}, {kHigher, c.hi_legend}}) {
    s += fmt::format("<rect x=\"{:.1f}\" y=\"39\" width=\"14\" height=\"12\" fill=\"{}\"/>\n", x, color);
    s += text(x + 20, 50, label, "start", " class=\"soft\"");
    x += 40 + width_of(label, 13);
  }
  for (const double t : marks) {
    s += line(px(t), kTop - 4, px(t), bottom + 4, "#e3e8ed");
    s += text(px(t), bottom + 22, number_text(t), "middle");
  }
  for (size_t n = 0; n < c.bars.size(); ++n) {
    const auto& b = c.bars[n];
    const double y = kTop + kRow * static_cast<double>(n) + (kRow - kBar) / 2;
    s += text(names + 10, y + kBar - 4.5, b.name, "end");
    for (const auto& [label, v, color, other] :
         {std::tuple{&b.lo_text, b.lo, kLower, b.hi_text.empty() ? c.nominal : b.hi},
          std::tuple{&b.hi_text, b.hi, kHigher, b.lo_text.empty() ? c.nominal : b.lo}}) {
      if (label->empty()) continue;
      const double x0 = std::min(px(v), px(c.nominal)), wide = std::abs(px(v) - px(c.nominal));
      // Both on one side of the nominal one: the shorter bar lies on the longer.
      const bool under =
          (v - c.nominal) * (other - c.nominal) > 0 && std::abs(v - c.nominal) < std::abs(other - c.nominal);
      if (wide > 0) {
        s += fmt::format(
            "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"><title>{} = {}: "
            "{}</title></rect>\n",
            x0, under ? y + 4 : y, std::max(wide, 1.0), under ? kBar - 8 : kBar, color, xml(b.name), xml(*label),
            number_text(v));
      }
      if (under || wide == 0) continue;
      const bool to_left = v < c.nominal;
      s += text(to_left ? px(v) - 5 : px(v) + 5, y + kBar - 5, *label, to_left ? "end" : "start",
                " font-size=\"12\" class=\"soft\"");
    }
  }
  s += line(px(c.nominal), kTop - 8, px(c.nominal), bottom + 4, "#1d2733", " stroke-width=\"1.5\"");
  s += text(px(c.nominal), kTop - 12, number_text(c.nominal), "middle", " font-weight=\"600\"");
  s += text(left + plot / 2, bottom + 46, c.axis, "middle", " font-weight=\"600\"");
  return s + "</svg>\n";
}

}  // namespace rnic::study
