// SPDX-License-Identifier: Apache-2.0
#include "rnic/observe/sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include "rnic/core/text.h"
#include "rnic/net/mac.h"

namespace rnic {
namespace {

constexpr double kWidth = 1150;
constexpr const char* kBlue = "#1f6fb2";
constexpr const char* kRed = "#b3261e";
// One colour a stage, in order; told apart with all kinds of sight.
constexpr std::array<const char*, 5> kStageColours{"#6f5aa8", "#1f6fb2", "#12936f", "#e08e0b", "#8a97a5"};

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }
std::string us(double ns) { return trim(ns / 1000, 3); }

std::string text(double x, double y, const std::string& s, const char* anchor = "start", const char* colour = "#1c2733",
                 double size = 12.5, bool bold = false) {
  return fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='{}' font-size='{}' fill='{}'{}>{}</text>", x, y, anchor,
                     size, colour, bold ? " font-weight='600'" : "", xml(s));
}

std::string rect(double x, double y, double w, double h, const char* colour, const std::string& title = "") {
  return fmt::format("<rect x='{:.2f}' y='{:.2f}' width='{:.2f}' height='{:.2f}' fill='{}'>{}</rect>", x, y, w, h,
                     colour, title.empty() ? "" : "<title>" + xml(title) + "</title>");
}

/// 1, 2 or 5 times a power of ten, about `count` times in `range`.
double step_of(double range, int count) {
  const double power = std::pow(10, std::floor(std::log10(range / count)));
  for (const double m : {1.0, 2.0, 5.0}) {
    if (range / count <= m * power) return m * power;
  }
  return 10 * power;
}

std::string rate_text(const ResourceRow& r) {
  if (r.rate == 0) return "";
  return r.rate_unit == "B/s" ? fmt::format("{:.2f} Gb/s", r.rate * 8e-9) : fmt::format("{:.3f} M/s", r.rate * 1e-6);
}

std::string number(const std::optional<double>& v) { return v ? fmt::format("{:.4g}", *v) : ""; }

/// One strip a line, filled up to its share of the whole. `axis`: what the time counts from.
std::string strips(const ResourceSeries& s, const std::string& axis) {
  if (s.lines.empty() || s.ns.size() < 3) return "";
  constexpr double kLeft = 150, kRight = 70, kRow = 40, kHeight = 30, kTop = 6;
  const double width = kWidth - kLeft - kRight;
  const double end = s.ns.back();
  const double bottom = kTop + kRow * static_cast<double>(s.lines.size());
  std::string out = fmt::format(
      "<p class='soft'>A full strip is the whole; at its right the mean over the time shown, beginning and end "
      "included.</p>\n<figure><svg viewBox='0 0 {} {}' role='img' aria-label='Shares over time'>",
      kWidth, bottom + 40);
  const double step = step_of(end, 10);
  for (int i = 0; i * step <= end * 1.0001; ++i) {
    const double x = kLeft + i * step / end * width;
    out += fmt::format("<line x1='{0:.2f}' x2='{0:.2f}' y1='{1}' y2='{2}' stroke='#e3e8ed'/>", x, kTop, bottom);
    out += text(x, bottom + 16, us(i * step), "middle", "#5b6875", 12);
  }
  out += text(kLeft + width / 2, bottom + 34, "\u00b5s from " + axis, "middle", "#5b6875", 12);
  double y = kTop;
  for (const auto& line : s.lines) {
    const double base = y + kHeight;
    double sum = 0, time = 0;
    std::string path = fmt::format("M{:.2f} {:.2f}", kLeft, base);
    for (size_t i = 0; i < line.share.size(); ++i) {
      const double x0 = kLeft + s.ns[i] / end * width, x1 = kLeft + s.ns[i + 1] / end * width;
      const double top = base - std::clamp(line.share[i], 0.0, 1.0) * kHeight;
      path += fmt::format("L{:.2f} {:.2f}L{:.2f} {:.2f}", x0, top, x1, top);
      sum += line.share[i] * (s.ns[i + 1] - s.ns[i]);
      time += s.ns[i + 1] - s.ns[i];
    }
    path += fmt::format("L{:.2f} {:.2f}Z", kLeft + width, base);
    out += rect(kLeft, y, width, kHeight, "#f6f8fa");
    out += fmt::format("<path d='{}' fill='{}'/>", path, line.key == "mac_not_ready" ? kRed : kBlue);
    out += fmt::format("<line x1='{}' x2='{}' y1='{}' y2='{}' stroke='#5b6875' stroke-width='0.8'/>", kLeft,
                       kLeft + width, base, base);
    out += text(kLeft - 10, y + 20, line.name, "end");
    out += text(kLeft + width + 8, y + 20, time == 0 ? "" : percent(sum / time));
    y += kRow;
  }
  return out + "</svg></figure>\n";
}

}  // namespace

std::string resources_html(const ResourceReport& r, const ResourceSeries& series) {
  if (r.rows.empty()) return "<p class='soft'>Nothing was sent.</p>\n";
  std::string s = fmt::format("<p class='note'><b>Saturated:</b> {}.</p>\n", xml(r.bottleneck.text));
  s += fmt::format(
      "<p class='soft'>From {} to {} \u00b5s of simulated time: {} frames, {} messages. Payload {:.2f} Gb/s, {} of the "
      "line "
      "rate, {} of what such frames allow ({:.2f} Gb/s); {:.3f} M messages/s.</p>\n",
      us(static_cast<double>(r.from_ps) / 1000), us(static_cast<double>(r.to_ps) / 1000), r.frames, r.messages,
      r.payload_gbps(), percent(r.payload_gbps() / r.line_gbps),
      percent(r.frames_allow_gbps() == 0 ? 0 : r.payload_gbps() / r.frames_allow_gbps()), r.frames_allow_gbps(),
      r.messages_per_s() * 1e-6);
  s += "<div class='scroll'><table><thead><tr><th>Resource</th><th style='width:190px'>Used</th><th class='n'></th>"
       "<th class='n'>Rate</th><th class='n'>Mean</th><th class='n'>Most</th><th class='n'>Limit</th>"
       "<th class='n'>At limit</th><th></th></tr></thead><tbody>\n";
  for (const auto& row : r.rows) {
    const bool top = row.key == r.bottleneck.key;
    std::string bar;
    if (row.utilisation) {
      bar = fmt::format("<svg viewBox='0 0 180 14' style='width:180px;height:14px' aria-hidden='true'>{}{}</svg>",
                        rect(0, 2, 180, 10, "#e9eef3"),
                        rect(0, 2, 180 * std::clamp(*row.utilisation, 0.0, 1.0), 10, top ? kRed : kBlue));
    }
    s += fmt::format(
        "<tr><td class='w'>{}</td><td>{}</td><td class='n'>{}</td><td class='n'>{}</td><td class='n'>{}</td>"
        "<td class='n'>{}</td><td class='n'>{}</td><td class='n'>{}</td><td class='k soft'>{}</td></tr>\n",
        top ? "<b>" + xml(row.name) + "</b>" : xml(row.name), bar, row.utilisation ? percent(*row.utilisation) : "",
        rate_text(row), number(row.mean), number(row.most), number(row.limit),
        row.at_limit ? percent(*row.at_limit) : "", xml(row.note));
  }
  s += "</tbody></table></div>\n";
  std::string waits;
  for (const auto& row : r.stalls) {
    if (row.cycles == 0) continue;
    waits += fmt::format(
        "<tr><td class='w'>{}</td><td class='n'>{}</td><td class='n'>{}</td><td class='soft'>{}</td></tr>\n",
        xml(row.name), percent(row.share), row.cycles, xml(row.note));
  }
  if (!waits.empty()) {
    s += "<h3>What waited</h3>\n<table class='list'><thead><tr><th></th><th class='n'>Of the time</th>"
         "<th class='n'>Cycles</th><th></th></tr></thead><tbody>\n" +
         waits + "</tbody></table>\n";
  }
  const std::string use = strips(series, "the first post");
  return use.empty() ? s : s + "<h3>Use over time</h3>\n" + use;
}

std::string traffic_html(const std::vector<FrameRecord>& frames, double line_gbps, uint64_t start_ps,
                         const std::function<std::string(unsigned nic, uint32_t qpn)>& name) {
  constexpr size_t kSteps = 230, kLetters = 20;
  constexpr uint64_t kFraming = net::kPreambleBytes + net::kFcsBytes + net::kIfgBytes;
  uint64_t end_ps = start_ps;
  for (const auto& f : frames) end_ps = std::max(end_ps, f.last_ps);
  if (end_ps == start_ps) return "<p class='soft'>Nothing was sent.</p>\n";
  struct Row {
    uint64_t bytes = 0;
    std::vector<double> ps = std::vector<double>(kSteps);  ///< of wire time in each step
  };
  std::map<std::pair<unsigned, uint32_t>, Row> rows;
  const double step = static_cast<double>(end_ps - start_ps) / kSteps;
  for (const auto& f : frames) {
    if (f.first_ps < start_ps) continue;
    Row& r = rows[{f.nic, f.op.qpn}];
    const uint64_t bytes = f.bytes.size() + kFraming;
    r.bytes += bytes;
    const double from = static_cast<double>(f.first_ps - start_ps);
    const double to = std::min(from + static_cast<double>(bytes) * 8000 / line_gbps, step * kSteps);
    for (auto i = static_cast<size_t>(from / step); i < kSteps && static_cast<double>(i) * step < to; ++i) {
      const double begin = static_cast<double>(i) * step;
      r.ps[i] += std::min(to, begin + step) - std::max(from, begin);
    }
  }
  std::vector<std::pair<std::pair<unsigned, uint32_t>, const Row*>> shown;
  for (const auto& [key, row] : rows) shown.emplace_back(key, &row);
  std::string s;
  if (shown.size() > kTrafficRows) {
    std::nth_element(shown.begin(), shown.begin() + kTrafficRows, shown.end(),
                     [](const auto& a, const auto& b) { return a.second->bytes > b.second->bytes; });
    s = fmt::format("<p class='soft'>The {} of {} queue pairs that have sent most.</p>\n", kTrafficRows, shown.size());
    shown.resize(kTrafficRows);
    std::sort(shown.begin(), shown.end());
  }
  ResourceSeries series;
  for (size_t i = 0; i <= kSteps; ++i) series.ns.push_back(static_cast<double>(i) * step / 1000);
  for (const auto& [key, row] : shown) {
    std::string label = name(key.first, key.second);
    if (label.size() > kLetters) label = label.substr(0, kLetters - 3) + "...";
    series.lines.push_back({"", label, {}});
    for (const double ps : row->ps) series.lines.back().share.push_back(ps / step);
  }
  return s + strips(series, "the start");
}

std::string slowest_html(const std::vector<Message>& messages, const Slowest& slow) {
  if (slow.list.empty()) return "<p class='soft'>No message came to its end.</p>\n";
  std::string s = fmt::format(
      "<p class='soft'>Of {} messages the {} with the longest time from their turn (first of their queue, doorbell "
      "there) to "
      "their last bit; below them the median one.</p>\n<div class='legend'>",
      slow.messages, slow.list.size());
  for (size_t i = 0; i < kMessageStages.size(); ++i) {
    s += fmt::format("<span><i style='background:{}'></i>{}</span>", kStageColours[i], to_string(kMessageStages[i]));
  }
  s += "</div>\n";

  constexpr double kLeft = 150, kRight = 110, kRow = 46, kBar = 18, kTop = 4;
  const double width = kWidth - kLeft - kRight;
  const double longest = std::max<double>(1, static_cast<double>(service_ps(messages[slow.list.front().index])));
  const size_t rows = slow.list.size() + 1;
  s += fmt::format("<figure><svg viewBox='0 0 {} {}' role='img' aria-label='The slowest messages by stage'>", kWidth,
                   kTop + kRow * static_cast<double>(rows) + 4);
  double y = kTop;
  const auto draw = [&](const Message& m, const std::string& name, const std::string& cause, bool bold) {
    s += text(kLeft - 10, y + 14, name, "end", "#1c2733", 12.5, bold);
    double x = kLeft;
    for (size_t i = 0; i < kMessageStages.size(); ++i) {
      const auto ps = static_cast<double>(duration_ps(m, kMessageStages[i]));
      const double w = ps / longest * width;
      if (w <= 0) continue;
      s += rect(x, y, w, kBar, kStageColours[i],
                fmt::format("{}: {} ns", to_string(kMessageStages[i]), trim(ps / 1000)));
      const std::string label = trim(ps / 1000, 1);
      if (w > 8.0 * static_cast<double>(label.size())) s += text(x + w / 2, y + 13.5, label, "middle", "#fff", 11.5);
      x += w;
    }
    s += text(kLeft + width + 10, y + 14, trim(static_cast<double>(service_ps(m)) / 1000, 1) + " ns");
    s += text(kLeft, y + 34, cause, "start", "#5b6875", 12);
    y += kRow;
  };
  for (const auto& x : slow.list) {
    const Message& m = messages[x.index];
    draw(m, fmt::format("QP {} WQE {}", m.qpn, m.wqe), x.cause, false);
  }
  const Message& median = messages[slow.median];
  draw(median, "median", fmt::format("QP {} WQE {}", median.qpn, median.wqe), true);
  return s + "</svg></figure>\n";
}

// ---- Histogram ------------------------------------------------------------------------------------------------------

LogBuckets log_buckets(const std::vector<double>& values, unsigned per_octave) {
  LogBuckets b;
  double least = 0, most = 0;
  for (const double v : values) {
    if (v > 0 && (least == 0 || v < least)) least = v;
    most = std::max(most, v);
  }
  if (values.empty()) return b;
  if (least == 0) least = most = 1;  // nothing above 0
  const double n = per_octave;
  const double first = std::floor(std::log2(least) * n + 1e-9);
  const auto buckets = static_cast<size_t>(std::max(1.0, std::floor(std::log2(most) * n + 1e-9) - first + 1));
  b.counts.assign(buckets, 0);
  for (size_t i = 0; i <= buckets; ++i) b.borders.push_back(std::exp2((first + static_cast<double>(i)) / n));
  for (const double v : values) {
    const double at = v > 0 ? std::floor(std::log2(v) * n + 1e-9) - first : 0;
    ++b.counts[std::min(buckets - 1, static_cast<size_t>(std::max(0.0, at)))];
  }
  return b;
}

std::string log_histogram_html(const std::string& name, std::vector<double> v) {
  std::string s = fmt::format("<figure><h3>{}</h3>\n", xml(name));
  v.erase(std::remove_if(v.begin(), v.end(), [](double x) { return !std::isfinite(x); }), v.end());
  if (v.empty()) return s + "<p class='soft'>No samples.</p></figure>\n";
  std::sort(v.begin(), v.end());
  const auto percentile = [&](double q) -> std::string {
    if (static_cast<double>(v.size()) * (1 - q) < 1 - 1e-9) return "-";
    const auto i = static_cast<size_t>(std::ceil(q * static_cast<double>(v.size()) - 1e-9));
    return trim(v[std::max<size_t>(i, 1) - 1], 1);
  };
  s += fmt::format(
      "<p class='soft'>n {} &middot; min {} &middot; P50 {} &middot; P99 {} &middot; P999 {} &middot; max {} ns</p>\n",
      v.size(), trim(v.front(), 1), percentile(0.5), percentile(0.99), percentile(0.999), trim(v.back(), 1));
  // Finer buckets where the values lie close together.
  unsigned per_octave = 4;
  while (per_octave < 64 && std::log2(std::max(v.back(), 1e-3) / std::max(v.front(), 1e-3)) * per_octave < 24)
    per_octave *= 2;
  const LogBuckets b = log_buckets(v, per_octave);
  constexpr double kW = 560, kH = 210, kLeft = 50, kRight = 14, kTop = 10, kBottom = 44;
  const double w = kW - kLeft - kRight, h = kH - kTop - kBottom;
  const auto most = static_cast<double>(*std::max_element(b.counts.begin(), b.counts.end()));
  s += fmt::format("<svg viewBox='0 0 {} {}' role='img' aria-label='Histogram'>", kW, kH);
  const double ystep = std::max(1.0, step_of(most, 4));
  for (double y = 0; y <= most; y += ystep) {
    const double py = kTop + h - y / most * h;
    s += fmt::format("<line x1='{}' x2='{}' y1='{:.2f}' y2='{:.2f}' stroke='#e3e8ed'/>", kLeft, kW - kRight, py, py);
    s += text(kLeft - 6, py + 4, trim(y, 0), "end", "#5b6875", 11.5);
  }
  const double low = std::log2(b.borders.front()), high = std::log2(b.borders.back());
  const auto x_of = [&](double value) { return kLeft + (std::log2(value) - low) / (high - low) * w; };
  for (size_t i = 0; i < b.counts.size(); ++i) {
    if (b.counts[i] == 0) continue;
    const double x0 = x_of(b.borders[i]), x1 = x_of(b.borders[i + 1]);
    const double shown = std::min(x1 - x0, 60.0);
    const double bh = std::max(1.0, static_cast<double>(b.counts[i]) / most * h);
    s += rect((x0 + x1 - shown) / 2 + 0.5, kTop + h - bh, std::max(0.6, shown - 1), bh, kBlue,
              fmt::format("{} to {} ns: {}", trim(b.borders[i], 1), trim(b.borders[i + 1], 1), b.counts[i]));
  }
  s += fmt::format("<line x1='{}' x2='{}' y1='{}' y2='{}' stroke='#5b6875'/>", kLeft, kW - kRight, kTop + h, kTop + h);
  // Marks at round numbers; 1, 2 and 5 of each power of ten, or equal steps within less than an octave.
  std::vector<double> marks;
  const double from = b.borders.front(), to = b.borders.back();
  if (to / from < 4) {
    const double step = step_of(to - from, 5);
    for (double x = std::ceil(from / step - 1e-9) * step; x <= to * (1 + 1e-9); x += step) marks.push_back(x);
  } else {
    for (double power = std::pow(10, std::floor(std::log10(from))); power <= to; power *= 10) {
      for (const double m : {1.0, 2.0, 5.0}) {
        if (m * power >= from && m * power <= to) marks.push_back(m * power);
      }
    }
  }
  double last = -1e9;
  for (const double m : marks) {
    const double x = x_of(m);
    const std::string label = trim(m, 2);
    const double tw = 6.6 * static_cast<double>(label.size());
    s += fmt::format("<line x1='{0:.2f}' x2='{0:.2f}' y1='{1}' y2='{2}' stroke='#5b6875'/>", x, kTop + h, kTop + h + 4);
    if (x - tw / 2 < last + 8 || x + tw / 2 > kW) continue;
    s += text(x, kTop + h + 17, label, "middle", "#5b6875", 11.5);
    last = x + tw / 2;
  }
  s += text(kLeft + w / 2, kH - 8, "ns, logarithmic", "middle", "#5b6875", 11.5);
  return s + "</svg></figure>\n";
}

}  // namespace rnic
