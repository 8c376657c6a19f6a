// SPDX-License-Identifier: Apache-2.0
// report.html: one file without scripts and without references to anything outside.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <set>
#include <utility>

#include "order.h"
#include "rnic/core/error.h"
#include "rnic/core/text.h"
#include "rnic/observe/run_directory.h"
#include "rnic/regs/regs.h"

namespace rnic {
namespace {

constexpr size_t kListed = 50;     // frames, TLPs, errors
constexpr size_t kTimelines = 25;  // further timelines

const char* const kStyle = R"css(
:root { --ink: #1c2733; --soft: #5b6875; --line: #d9dfe5; --back: #f6f8fa;
  --rtl: #1f6fb2; --align: #a3adb8; --model: #e08e0b; --link: #12936f; }
* { box-sizing: border-box; }
body { margin: 0; background: #fff; color: var(--ink); font: 15px/1.5 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
main { max-width: 1200px; margin: 0 auto; padding: 28px 24px 60px; }
header { border-bottom: 2px solid var(--ink); padding-bottom: 14px; margin-bottom: 8px; }
h1 { font-size: 27px; line-height: 1.2; margin: 0 0 8px; font-weight: 650; }
h2 { font-size: 19px; margin: 36px 0 10px; font-weight: 650; }
h3 { font-size: 15px; margin: 18px 0 6px; font-weight: 650; }
p { margin: 6px 0; max-width: 95ch; }
.soft { color: var(--soft); }
code { font: 13px/1.45 ui-monospace, "DejaVu Sans Mono", monospace; }
pre { margin: 8px 0 0; padding: 8px 12px; background: var(--back); border: 1px solid var(--line); border-radius: 4px;
  white-space: pre-wrap; overflow-wrap: anywhere; font: 13px/1.45 ui-monospace, "DejaVu Sans Mono", monospace; }
.note { border-left: 4px solid var(--model); background: #fdf6ea; padding: 8px 14px; margin: 12px 0; max-width: none; }
.cards { display: grid; grid-template-columns: repeat(4, 1fr); gap: 10px; margin: 14px 0; }
.card { border: 1px solid var(--line); border-radius: 6px; padding: 9px 13px; }
.card b { display: block; font-size: 21px; font-weight: 620; font-variant-numeric: tabular-nums; line-height: 1.25; }
.card span { color: var(--soft); font-size: 13px; }
.legend { display: flex; flex-wrap: wrap; gap: 4px 18px; margin: 8px 0; font-size: 13px; }
.legend i, td i { display: inline-block; width: 12px; height: 12px; border-radius: 2px; margin-right: 7px;
  vertical-align: -1px; }
svg { display: block; width: 100%; height: auto; }
svg text { font-family: system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
.rtl { background: var(--rtl); fill: var(--rtl); } .align { background: var(--align); fill: var(--align); }
.model { background: var(--model); fill: var(--model); } .link { background: var(--link); fill: var(--link); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 13.5px; }
table.list { width: auto; } .list th, .list td { padding-right: 26px; }
th, td { text-align: left; vertical-align: top; padding: 4px 10px 4px 0; border-bottom: 1px solid var(--line); }
th { font-weight: 600; color: var(--soft); border-bottom: 1.5px solid var(--soft); white-space: nowrap; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.w { white-space: nowrap; }
.wrap th { white-space: normal; }
td.k { padding-left: 26px; } td.k span { white-space: nowrap; }
td.c { overflow-wrap: anywhere; font: 12.5px/1.5 ui-monospace, "DejaVu Sans Mono", monospace; }
tr.stage td { background: var(--back); font-weight: 620; border-top: 1.5px solid var(--line); }
tr.part td:first-child { padding-left: 18px; }
.over { color: #b3261e; } .under { color: #0b7a55; }
.histograms p { font-size: 13px; }
.histograms { display: grid; grid-template-columns: repeat(auto-fit, minmax(480px, 1fr)); gap: 18px 28px; }
.counters { columns: 3 260px; column-gap: 36px; font-size: 13.5px; }
.counters div { display: flex; justify-content: space-between; gap: 12px; border-bottom: 1px solid var(--line);
  padding: 2px 0; break-inside: avoid; }
.counters b { font-weight: 500; font-variant-numeric: tabular-nums; }
.zero { color: #98a3ae; }
footer { margin-top: 40px; color: var(--soft); font-size: 13px; }
@media print {
  @page { size: A4 landscape; margin: 12mm; }
  body { font-size: 12px; } main { max-width: none; padding: 0; }
  * { -webkit-print-color-adjust: exact; print-color-adjust: exact; }
  figure, tr, .card { break-inside: avoid; } h2, h3 { break-after: avoid; }
}
figure { margin: 0; }
)css";

std::string esc(const std::string& s) {
  std::string out;
  for (const char c : s) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' ? ' ' : c;
    }
  }
  return out;
}

double ns(uint64_t ps) { return static_cast<double>(ps) / 1000; }
/// Time from T0, which may lie after it.
double rel(uint64_t ps, uint64_t t0) { return ps >= t0 ? ns(ps - t0) : -ns(t0 - ps); }

const char* share_name(Share s) {
  switch (s) {
    case Share::kRtl:
      return "RTL";
    case Share::kAlign:
      return "clock alignment";
    case Share::kModel:
      return "model";
    case Share::kLink:
      return "PCIe link";
  }
  return "";
}
constexpr std::array<Share, 4> kShares{Share::kRtl, Share::kAlign, Share::kModel, Share::kLink};

/// Distance of about `count` marks over `range`: 1, 2 or 5 times a power of ten.
double tick_step(double range, int count) {
  const double rough = range / count;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double m : {1.0, 2.0, 5.0}) {
    if (rough <= m * power) return m * power;
  }
  return 10 * power;
}
int tick_digits(double step) { return std::max(0, -static_cast<int>(std::floor(std::log10(step) + 1e-9))); }

/// A difference with its sign.
std::string signed_text(double v) {
  const std::string s = trim(std::abs(v));
  return s == "0" ? "0" : (v < 0 ? "\u2212" : "+") + s;
}

/// Width of text in a sans-serif face, on the safe side.
double text_width(const std::string& s, double size) {
  double w = 0;
  for (const unsigned char c : s) w += (c & 0xc0) == 0x80 ? 0 : std::strchr(" .,:;il|'", c) ? 0.36 : 0.62;
  return w * size;
}

// ---- Timeline -----------------------------------------------------------------------------------------------------

struct Marker {
  double at_ns;
  std::string text;
  const char* colour;
};

std::vector<Marker> markers_of(const StageTable& t) {
  std::vector<Marker> m{{0, "T0: doorbell at the pins", "#1c2733"}};
  m.push_back({rel(t.first_bit_ps, t.t0_ps), "first bit", "#7a3ea8"});
  m.push_back({rel(t.last_bit_ps, t.t0_ps), "last bit", "#7a3ea8"});
  if (t.cqe_issued_ps) m.push_back({rel(*t.cqe_issued_ps, t.t0_ps), "CQE issued", "#b3261e"});
  if (t.cqe_visible_ps) m.push_back({rel(*t.cqe_visible_ps, t.t0_ps), "CQE visible", "#b3261e"});
  for (size_t i = 1; i < m.size(); ++i) m[i].text += fmt::format(" {} ns", trim(m[i].at_ns));
  std::stable_sort(m.begin(), m.end(), [](const Marker& a, const Marker& b) { return a.at_ns < b.at_ns; });
  return m;
}

/// End of the axis: all of the way to the first bit and the budget; later instants only while they leave that readable.
double end_ns(const StageTable& t) {
  double core = std::max(1.0, rel(t.first_bit_ps, t.t0_ps));
  for (const Stage& s : t.stages) {
    core = std::max(core, s.budget_end_ns);
    if (s.end_ps <= t.first_bit_ps) core = std::max(core, rel(s.end_ps, t.t0_ps));
  }
  double end = core;
  for (const Marker& m : markers_of(t)) {
    if (m.at_ns <= 3 * core) end = std::max(end, m.at_ns);
  }
  return end * 1.01;
}

std::string axis(double x0, double width, double top, double bottom, double end) {
  std::string s;
  const double step = tick_step(end, 10);
  for (int i = 0; i * step <= end * 1.0001; ++i) {
    const double x = x0 + i * step / end * width;
    s += fmt::format("<line x1='{0:.2f}' x2='{0:.2f}' y1='{1}' y2='{2}' stroke='#e3e8ed'/>", x, top, bottom);
    s += fmt::format("<text x='{:.2f}' y='{}' text-anchor='middle' font-size='12' fill='#5b6875'>{:.{}f}</text>", x,
                     bottom + 16, i * step, tick_digits(step));
  }
  return s;
}

/// Bar split by share. What is too short to see is drawn a little wider.
std::string share_bar(const Stage& s, uint64_t t0, double x0, double scale, double end, double y, double h) {
  std::string out;
  for (const StagePart& p : s.parts) {
    const double from = rel(p.start_ps, t0), to = std::min(rel(p.end_ps, t0), end);
    if (from >= end) continue;
    const double x = x0 + from * scale;
    const double w = std::max(0.8, (to - from) * scale);
    out += fmt::format("<rect class='{}' x='{:.2f}' y='{}' width='{:.2f}' height='{}'><title>{}: {} ns</title></rect>",
                       to_string(p.share), x, y, w, h, esc(p.what), trim(ns(p.end_ps - p.start_ps)));
    const std::string label = trim(ns(p.end_ps - p.start_ps), 1);
    if (text_width(label, 11) + 6 < w) {
      out +=
          fmt::format("<text x='{:.2f}' y='{:.1f}' text-anchor='middle' font-size='11' fill='{}'>{}</text>", x + w / 2,
                      y + h / 2 + 4, p.share == Share::kAlign || p.share == Share::kModel ? "#1c2733" : "#fff", label);
    }
  }
  return out;
}

std::string timeline(const StageTable& t) {
  constexpr double kWidth = 1150, kLeft = 104, kRight = 196, kRow = 48, kBar = 21, kLane = 17;
  const double width = kWidth - kLeft - kRight;
  const double end = end_ns(t);
  const double scale = width / end;

  // Marker texts in lanes, each in the first one with room.
  struct Placed {
    const Marker* marker;
    double from;
    size_t lane;
  };
  std::vector<Marker> markers = markers_of(t);
  for (Marker& m : markers) {
    if (m.at_ns > end) m.text += ", beyond the axis";
  }
  std::vector<Placed> placed;
  std::vector<double> lane_end;
  for (const Marker& m : markers) {
    const double w = text_width(m.text, 12);
    const double x = kLeft + std::min(m.at_ns, end) * scale;
    const double from = std::min(x + 5, kWidth - w - 2);
    size_t lane = 0;
    while (lane < lane_end.size() && lane_end[lane] + 10 > from) ++lane;
    if (lane == lane_end.size()) lane_end.push_back(0);
    lane_end[lane] = from + w;
    placed.push_back({&m, from, lane});
  }
  // Later markers stand lower, so that a text never crosses another one's line: the lane of the first is the highest.
  const size_t lanes = lane_end.size();
  const double top = 6 + lanes * kLane;
  const double bottom = top + 8 + t.stages.size() * kRow;

  std::string s =
      fmt::format("<figure><svg viewBox='0 0 {} {}' role='img' aria-label='Timeline of the stages against the budget'>",
                  kWidth, bottom + 40);
  s += axis(kLeft, width, top, bottom, end);
  s += fmt::format("<text x='{}' y='{}' text-anchor='middle' font-size='12' fill='#5b6875'>ns from T0</text>",
                   kLeft + width / 2, bottom + 34);
  for (const Placed& p : placed) {
    if (p.marker->at_ns > end) continue;
    const double x = kLeft + p.marker->at_ns * scale;
    const double y = 6 + p.lane * kLane;
    s += fmt::format(
        "<line x1='{0:.2f}' x2='{0:.2f}' y1='{1}' y2='{2}' stroke='{3}' stroke-width='1.2' "
        "stroke-dasharray='3 3'/>",
        x, y, bottom, p.marker->colour);
  }
  // A text covers the lines behind it.
  for (const Placed& p : placed) {
    const double y = 6 + p.lane * kLane;
    s += fmt::format("<rect x='{:.2f}' y='{}' width='{:.2f}' height='{}' fill='#fff'/>", p.from - 2, y,
                     text_width(p.marker->text, 12) + 3, kLane - 2);
    s += fmt::format("<text x='{:.2f}' y='{}' font-size='12' fill='{}'>{}</text>", p.from, y + 12, p.marker->colour,
                     esc(p.marker->text));
  }

  double y = top + 8;
  for (const Stage& st : t.stages) {
    const double from = std::min(rel(st.start_ps, t.t0_ps), end), to = std::min(rel(st.end_ps, t.t0_ps), end);
    s +=
        fmt::format("<text x='{}' y='{}' text-anchor='end' font-size='13.5' font-weight='600' fill='#1c2733'>{}</text>",
                    kLeft - 10, y + 20, esc(st.name));
    s += share_bar(st, t.t0_ps, kLeft, scale, end, y + 4, kBar);
    if (from < end) {
      s += fmt::format(
          "<rect x='{:.2f}' y='{}' width='{:.2f}' height='{}' fill='none' stroke='#1c2733' stroke-width='0.6'/>",
          kLeft + from * scale, y + 4, std::max(1.5, (to - from) * scale), kBar);
    }
    if (rel(st.end_ps, t.t0_ps) > end) {  // goes on beyond the axis
      s += fmt::format("<path d='M{0:.2f} {1}l9 {2}l-9 {2}z' fill='#1c2733'><title>goes on to {3} ns</title></path>",
                       kLeft + width + 1, y + 4, kBar / 2, trim(rel(st.end_ps, t.t0_ps)));
    }
    if (st.budget_end_ns > 0) {
      const double bx = kLeft + st.budget_start_ns * scale;
      const double bw = (st.budget_end_ns - st.budget_start_ns) * scale;
      s += fmt::format(
          "<rect x='{:.2f}' y='{}' width='{:.2f}' height='9' fill='#dfe5eb' stroke='#7d8a97' "
          "stroke-width='0.8'{}><title>document: {} to {} ns</title></rect>",
          bx, y + 29, bw, st.budget_ns > 0 ? "" : " stroke-dasharray='3 2'", trim(st.budget_start_ns),
          trim(st.budget_end_ns));
    }
    const double tx = kLeft + width + 14;
    s += fmt::format("<text x='{}' y='{}' font-size='13.5' font-weight='600' fill='#1c2733'>{} ns</text>", tx, y + 19,
                     trim(ns(st.duration_ps())));
    std::string budget;
    if (st.budget_ns > 0) {
      const double gap = ns(st.duration_ps()) - st.budget_ns;
      budget = fmt::format("budget {} ({})", trim(st.budget_ns), signed_text(gap));
    } else if (st.budget_end_ns > 0) {
      budget = fmt::format("window {}\u2013{}", trim(st.budget_start_ns), trim(st.budget_end_ns));
    }
    s += fmt::format("<text x='{}' y='{}' font-size='12' fill='#5b6875'>{}</text>", tx, y + 37, budget);
    y += kRow;
  }
  return s + "</svg></figure>\n";
}

/// All stages of a message in one line.
std::string small_timelines(const std::vector<StageTable>& tables, size_t from) {
  constexpr double kWidth = 1150, kLeft = 150, kRight = 196, kRow = 24;
  const double width = kWidth - kLeft - kRight;
  const size_t to = std::min(tables.size(), from + kTimelines);
  double end = 1;
  for (size_t i = from; i < to; ++i) end = std::max(end, 1.02 * rel(tables[i].first_bit_ps, tables[i].t0_ps));
  const double scale = width / end;
  const double bottom = 6 + (to - from) * kRow;
  std::string s =
      fmt::format("<figure><svg viewBox='0 0 {} {}' role='img' aria-label='Further timelines'>", kWidth, bottom + 40);
  s += axis(kLeft, width, 0, bottom, end);
  s += fmt::format("<text x='{}' y='{}' text-anchor='middle' font-size='12' fill='#5b6875'>ns from T0</text>",
                   kLeft + width / 2, bottom + 34);
  double y = 6;
  for (size_t i = from; i < to; ++i) {
    const StageTable& t = tables[i];
    s += fmt::format("<text x='{}' y='{}' text-anchor='end' font-size='12' fill='#1c2733'>NIC {} QP {} WQE {}</text>",
                     kLeft - 10, y + 14, t.nic, t.qpn, t.wqe);
    for (const Stage& st : t.stages) {
      if (st.name == "CQE write") continue;
      s += share_bar(st, t.t0_ps, kLeft, scale, end, y + 2, 15);
      s += fmt::format("<line x1='{0:.2f}' x2='{0:.2f}' y1='{1}' y2='{2}' stroke='#1c2733'/>",
                       kLeft + std::min(rel(st.end_ps, t.t0_ps), end) * scale, y, y + 19);
    }
    s += fmt::format("<text x='{}' y='{}' font-size='12' fill='#1c2733'>first bit {} ns</text>", kLeft + width + 14,
                     y + 14, trim(rel(t.first_bit_ps, t.t0_ps)));
    y += kRow;
  }
  s += "</svg></figure>\n";
  if (to < tables.size()) s += fmt::format("<p class='soft'>{} more are not drawn.</p>\n", tables.size() - to);
  return s;
}

std::string legend() {
  std::string s = "<div class='legend'>";
  const std::array<const char*, 4> help{"whole clock cycles", "wait for the next edge", "latencies of models",
                                        "serialization and flight"};
  for (size_t i = 0; i < kShares.size(); ++i) {
    s += fmt::format("<span><i class='{}'></i>{}: {}</span>", to_string(kShares[i]), share_name(kShares[i]), help[i]);
  }
  return s + "<span><i style='background:#dfe5eb;border:1px solid #7d8a97'></i>the document's budget</span></div>\n";
}

std::string key_text(const std::string& key, const Profile* p) {
  if (!p) return esc(key);
  const auto it = p->entries().find(key);
  if (it == p->entries().end()) return esc(key);
  std::string value;
  if (const auto* d = std::get_if<double>(&it->second.value)) value = trim(*d);
  if (const auto* t = std::get_if<std::string>(&it->second.value)) value = *t;
  std::string unit;
  for (const KeyInfo& k : profile_schema()) {
    if (k.name == key && k.unit != "1" && k.unit != "text") unit = " " + k.unit;
  }
  return fmt::format("<span title='{}'>{} = {}{} <span class='soft'>({})</span></span>", esc(it->second.source),
                     esc(key), esc(value), esc(unit), esc(it->second.kind));
}

std::string cards(const StageTable& t) {
  std::string s = "<div class='cards'>";
  const auto card = [&](const std::string& value, const std::string& text) {
    s += fmt::format("<div class='card'><b>{}</b><span>{}</span></div>", value, text);
  };
  card(trim(rel(t.first_bit_ps, t.t0_ps)) + " ns", "doorbell to first bit (document: 300)");
  card(trim(rel(t.last_bit_ps, t.t0_ps)) + " ns", "doorbell to last bit");
  if (t.cqe_visible_ps) card(trim(rel(*t.cqe_visible_ps, t.t0_ps)) + " ns", "doorbell to CQE visible");
  if (t.store_ps) card(trim(ns(t.t0_ps - *t.store_ps)) + " ns", "store to T0, outside the budget");
  for (const Share x : kShares) {
    uint64_t sum = 0;
    for (const Stage& st : t.stages) {
      if (st.name != "CQE write") sum += st.share_ps(x);
    }
    card(trim(ns(sum)) + " ns", fmt::format("<i class='{}' style='display:inline-block;width:10px;height:10px;"
                                            "border-radius:2px'></i> {} up to the first bit",
                                            to_string(x), share_name(x)));
  }
  return s + "</div>\n";
}

std::string stage_table(const StageTable& t, const Profile* p) {
  std::string s =
      "<div class='scroll'><table><thead><tr><th style='width:29%'>Stage, part</th><th>Share</th><th class='n'>Start "
      "ns</th>"
      "<th class='n'>End ns</th><th class='n'>Duration ns</th><th class='n'>Cycles</th><th class='n'>Budget ns</th>"
      "<th class='n'>Gap ns</th><th style='width:22%'></th></tr></thead><tbody>\n";
  for (const Stage& st : t.stages) {
    std::string budget, gap;
    if (st.budget_ns > 0) {
      const double g = ns(st.duration_ps()) - st.budget_ns;
      budget = trim(st.budget_ns);
      gap = fmt::format("<span class='{}'>{}</span>", g > 0 ? "over" : "under", signed_text(g));
    }
    s += fmt::format(
        "<tr class='stage'><td>{}</td><td></td><td class='n'>{:.3f}</td><td class='n'>{:.3f}</td>"
        "<td class='n'>{:.3f}</td><td class='n'>{}\u2013{}</td><td class='n'>{}</td><td "
        "class='n'>{}</td><td></td></tr>\n",
        esc(st.name), rel(st.start_ps, t.t0_ps), rel(st.end_ps, t.t0_ps), ns(st.duration_ps()), st.start_cycle,
        st.end_cycle, budget, gap);
    for (const StagePart& x : st.parts) {
      std::string keys;
      for (const std::string& k : x.keys) keys += (keys.empty() ? "" : ", ") + key_text(k, p);
      s += fmt::format(
          "<tr class='part'><td>{}</td><td class='w'><i class='{}'></i>{}</td><td class='n'>{:.3f}</td>"
          "<td class='n'>{:.3f}</td><td class='n'>{:.3f}</td><td class='k' colspan='4'>{}</td></tr>\n",
          esc(x.what), to_string(x.share), share_name(x.share), rel(x.start_ps, t.t0_ps), rel(x.end_ps, t.t0_ps),
          ns(x.end_ps - x.start_ps), keys);
    }
  }
  return s + "</tbody></table></div>\n";
}

// ---- Histograms -----------------------------------------------------------------------------------------------------

std::string percentile(const std::vector<double>& sorted, double q) {
  // A sample of n supports a percentile when at least one value lies beyond it.
  if (static_cast<double>(sorted.size()) * (1 - q) < 1 - 1e-9) return "-";
  const auto i = static_cast<size_t>(std::ceil(q * static_cast<double>(sorted.size()) - 1e-9));
  return trim(sorted[std::max<size_t>(i, 1) - 1]);
}

std::string histogram(const std::string& name, std::vector<double> v) {
  constexpr double kWidth = 560, kHeight = 200, kLeft = 46, kRight = 14, kTop = 10, kBottom = 44;
  std::string s = fmt::format("<figure><h3>{}</h3>", esc(name));
  v.erase(std::remove_if(v.begin(), v.end(), [](double x) { return !std::isfinite(x); }), v.end());
  if (v.empty()) return s + "<p class='soft'>No samples.</p></figure>\n";
  std::sort(v.begin(), v.end());
  s += fmt::format(
      "<p class='soft'>n {} &middot; min {} &middot; P50 {} &middot; P99 {} &middot; P999 {} &middot; max {} "
      "ns</p>",
      v.size(), trim(v.front()), percentile(v, 0.5), percentile(v, 0.99), percentile(v, 0.999), trim(v.back()));
  // Freedman and Diaconis' rule, within limits; one value alone gets a bin of 1 ns.
  double low = v.front(), high = v.back();
  size_t bins = 1;
  if (high > low) {
    const double iqr = v[v.size() * 3 / 4] - v[v.size() / 4];
    const double width = 2 * iqr / std::cbrt(static_cast<double>(v.size()));
    bins = width > 0 ? static_cast<size_t>(std::clamp(std::ceil((high - low) / width), 8.0, 48.0)) : 24;
  } else {
    low -= 0.5;
    high += 0.5;
  }
  std::vector<size_t> count(bins, 0);
  for (const double x : v) {
    ++count[std::min(bins - 1, static_cast<size_t>((x - low) / (high - low) * static_cast<double>(bins)))];
  }
  const auto most = static_cast<double>(*std::max_element(count.begin(), count.end()));
  const double w = kWidth - kLeft - kRight, h = kHeight - kTop - kBottom;

  s += fmt::format("<svg viewBox='0 0 {} {}' role='img' aria-label='Histogram'>", kWidth, kHeight);
  const double ystep = std::max(1.0, tick_step(most, 4));
  for (double y = 0; y <= most; y += ystep) {
    const double py = kTop + h - y / most * h;
    s += fmt::format(
        "<line x1='{}' x2='{}' y1='{:.2f}' y2='{:.2f}' stroke='#e3e8ed'/><text x='{}' y='{:.2f}' "
        "text-anchor='end' font-size='11.5' fill='#5b6875'>{}</text>",
        kLeft, kWidth - kRight, py, py, kLeft - 6, py + 4, trim(y, 0));
  }
  for (size_t i = 0; i < bins; ++i) {
    if (count[i] == 0) continue;
    const double bw = w / static_cast<double>(bins);
    const double bh = std::max(1.0, static_cast<double>(count[i]) / most * h);
    const double shown = std::min(bw, bins == 1 ? 60.0 : bw);
    s += fmt::format(
        "<rect x='{:.2f}' y='{:.2f}' width='{:.2f}' height='{:.2f}' fill='#1f6fb2'><title>{} to {} ns: "
        "{}</title></rect>",
        kLeft + static_cast<double>(i) * bw + (bw - shown) / 2 + 0.5, kTop + h - bh, std::max(0.5, shown - 1), bh,
        trim(low + (high - low) * static_cast<double>(i) / bins),
        trim(low + (high - low) * static_cast<double>(i + 1) / bins), count[i]);
  }
  s += fmt::format("<line x1='{}' x2='{}' y1='{}' y2='{}' stroke='#5b6875'/>", kLeft, kWidth - kRight, kTop + h,
                   kTop + h);
  const double step = tick_step(high - low, 5);
  double last_end = -1;
  for (double i = std::ceil(low / step - 1e-9); i * step <= high + step * 1e-6; ++i) {
    const double x = kLeft + (i * step - low) / (high - low) * w;
    const std::string text = fmt::format("{:.{}f}", i * step, tick_digits(step));
    const double tw = text_width(text, 11.5);
    s += fmt::format("<line x1='{0:.2f}' x2='{0:.2f}' y1='{1}' y2='{2}' stroke='#5b6875'/>", x, kTop + h, kTop + h + 4);
    if (x - tw / 2 < last_end + 6 || x + tw / 2 > kWidth) continue;
    s += fmt::format("<text x='{:.2f}' y='{}' text-anchor='middle' font-size='11.5' fill='#5b6875'>{}</text>", x,
                     kTop + h + 17, text);
    last_end = x + tw / 2;
  }
  s += fmt::format("<text x='{}' y='{}' text-anchor='middle' font-size='11.5' fill='#5b6875'>ns</text>", kLeft + w / 2,
                   kHeight - 8);
  return s + "</svg></figure>\n";
}

// ---- Lists
// ------------------------------------------------------------------------------------------------------------

/// Name of the RoCEv2 opcode of a frame, or "".
std::string bth_name(const std::vector<uint8_t>& b) {
  size_t at = 12;
  const auto half = [&](size_t i) { return i + 1 < b.size() ? b[i] << 8 | b[i + 1] : 0; };
  if (half(at) == 0x8100) at += 4;
  const int type = half(at);
  at += 2;
  if (type == 0x0800 && at < b.size())
    at += (b[at] & 15u) * 4;
  else if (type == 0x86dd)
    at += 40;
  else
    return "";
  if (half(at + 2) != 4791) return "";
  at += 8;
  if (at >= b.size()) return "";
  static const char* const kTransport[] = {"RC", "UC", "RD", "UD"};
  static const char* const kOperation[] = {
      "SEND_FIRST",         "SEND_MIDDLE",        "SEND_LAST",    "SEND_LAST_IMM",       "SEND_ONLY",
      "SEND_ONLY_IMM",      "WRITE_FIRST",        "WRITE_MIDDLE", "WRITE_LAST",          "WRITE_LAST_IMM",
      "WRITE_ONLY",         "WRITE_ONLY_IMM",     "READ_REQUEST", "READ_RESPONSE_FIRST", "READ_RESPONSE_MIDDLE",
      "READ_RESPONSE_LAST", "READ_RESPONSE_ONLY", "ACKNOWLEDGE",  "ATOMIC_ACKNOWLEDGE",  "CMP_SWAP",
      "FETCH_ADD"};
  const unsigned transport = b[at] >> 5, operation = b[at] & 31;
  if (b[at] == 0x81) return "CNP";
  if (transport > 3 || operation >= std::size(kOperation)) return fmt::format("opcode {:#04x}", b[at]);
  return fmt::format("{} {}", kTransport[transport], kOperation[operation]);
}

std::string op_cells(const rtl::op_t& op) {
  return fmt::format("<td class='n'>{}</td><td class='n'>{}</td><td class='n'>{}{}</td>", static_cast<unsigned>(op.qpn),
                     static_cast<unsigned>(op.wqe), static_cast<unsigned>(op.psn), op.last ? " &#9632;" : "");
}

std::string more(size_t all, const char* what) {
  return all > kListed ? fmt::format("<p class='soft'>The first {} of {} {}.</p>\n", kListed, all, what) : "";
}

std::string frames(const Recorder& r) {
  std::string s = "<h2>Frames</h2>\n";
  const uint64_t all = r.frames.size() + r.frames_dropped;
  if (all == 0) return s + "<p class='soft'>None.</p>\n";
  s += more(all, "frames; all recorded ones are in capture.pcapng");
  s += "<div class='scroll'><table class='list'><thead><tr><th class='n'>First bit ns</th><th class='n'>Last bit "
       "ns</th><th>Port</th>"
       "<th>Packet</th><th class='n'>Bytes</th><th class='n'>QPN</th><th class='n'>WQE</th>"
       "<th class='n'>PSN (&#9632; last)</th></tr></thead><tbody>\n";
  const auto list = detail::ordered(r.frames);
  for (size_t i = 0; i < std::min(kListed, list.size()); ++i) {
    const FrameRecord& f = *list[i];
    s += fmt::format(
        "<tr><td class='n'>{:.3f}</td><td class='n'>{:.3f}</td><td>nic{}/port{}</td><td>{}</td>"
        "<td class='n'>{}</td>{}</tr>\n",
        ns(f.first_ps), ns(f.last_ps), f.nic, f.port, esc(bth_name(f.bytes)), f.bytes.size(), op_cells(f.op));
  }
  return s + "</tbody></table></div>\n";
}

std::string tlps(const Recorder& r) {
  std::string s = "<h2>TLPs</h2>\n";
  const uint64_t all = r.tlps.size() + r.tlps_dropped;
  if (all == 0) return s + "<p class='soft'>None recorded.</p>\n";
  s += more(all, "TLPs; all recorded ones are in tlp.log");
  s += "<div class='scroll'><table class='list'><thead><tr><th class='n'>Time "
       "ns</th><th>NIC</th><th>Direction</th><th>TLP</th>"
       "<th class='n'>Payload B</th><th class='n'>QPN</th><th class='n'>WQE</th><th "
       "class='n'>PSN</th></tr></thead><tbody>\n";
  const auto list = detail::ordered(r.tlps);
  for (size_t i = 0; i < std::min(kListed, list.size()); ++i) {
    const RecordedTlp& t = *list[i];
    s += fmt::format(
        "<tr><td class='n'>{:.3f}</td><td>nic{}</td><td class='w'>{}</td><td class='c'>{}</td>"
        "<td class='n'>{}</td>{}</tr>\n",
        ns(t.ps), t.nic, t.from_nic ? "&rarr; from NIC" : "&larr; to NIC", esc(t.tlp.describe()), t.tlp.data.size(),
        op_cells(t.tlp.op));
  }
  return s + "</tbody></table></div>\n";
}

const char* error_name(unsigned kind) {
  switch (static_cast<regs::EventKind>(kind)) {
    case regs::EventKind::kDbInvalid:
      return "doorbell for a QP that is not ready to send";
    case regs::EventKind::kWqeError:
      return "error CQE written";
    case regs::EventKind::kCqOverrun:
      return "CQE dropped: the ring is full";
    case regs::EventKind::kCqInvalid:
      return "CQE dropped: no such CQ";
    case regs::EventKind::kThermal:
      return "temperature crossed a threshold; index in 0.1 C";
    case regs::EventKind::kMmio:
      return "MMIO request refused";
    case regs::EventKind::kPcie:
      return "PCIe error; vendor is its bit in AER";
  }
  return "unknown";
}

std::string errors(const Recorder& r) {
  std::string s = "<h2>Error log</h2>\n";
  if (r.errors.empty()) return s + "<p class='soft'>No errors.</p>\n";
  s += more(r.errors.size(), "errors");
  s += "<div class='scroll'><table class='list'><thead><tr><th class='n'>Time ns</th><th>NIC</th><th>What</th>"
       "<th class='n'>QPN or CQN</th><th class='n'>WQE</th><th class='n'>Syndrome</th><th "
       "class='n'>Vendor</th></tr></thead>"
       "<tbody>\n";
  const auto list = detail::ordered(r.errors);
  for (size_t i = 0; i < std::min(kListed, list.size()); ++i) {
    const ErrorRecord& e = *list[i];
    s += fmt::format(
        "<tr><td class='n'>{:.3f}</td><td>nic{}</td><td>{}</td><td class='n'>{}</td><td class='n'>{}</td>"
        "<td class='n'>{:#04x}</td><td class='n'>{:#04x}</td></tr>\n",
        ns(e.ps), e.nic, error_name(e.event.kind), static_cast<unsigned>(e.event.index),
        static_cast<unsigned>(e.event.wqe), static_cast<unsigned>(e.event.syndrome),
        static_cast<unsigned>(e.event.vendor));
  }
  return s + "</tbody></table></div>\n";
}

std::string scalar(const nlohmann::json& j) {
  if (j.is_string()) return j.get<std::string>();
  if (j.is_number_float()) return trim(j.get<double>());
  return j.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string counters(const nlohmann::json& result) {
  if (!result.is_object() || !result.contains("counters") || result["counters"].empty()) return "";
  std::string s = "<h2>Counters</h2>\n<div class='counters'>";
  const nlohmann::json flat = result["counters"].flatten();
  for (const auto& [key, value] : flat.items()) {
    std::string name = key.substr(std::min<size_t>(1, key.size()));
    std::replace(name.begin(), name.end(), '/', '.');
    const std::string text = scalar(value);
    s += fmt::format("<div class='{}'><span>{}</span><b>{}</b></div>", text == "0" ? "zero" : "", esc(name), esc(text));
  }
  return s + "</div>\n";
}

/// result.checks, an array of {name, what, expected, got, passed}.
std::string checks(const nlohmann::json& result) {
  if (!result.is_object() || !result.contains("checks") || !result["checks"].is_array() || result["checks"].empty()) {
    return "";
  }
  std::string s =
      "<h2>Checks</h2>\n<table class='list'><thead><tr><th>Check</th><th>What</th><th>Expected</th>"
      "<th class='n'>Got</th><th></th></tr></thead><tbody>\n";
  for (const auto& c : result["checks"]) {
    if (!c.is_object()) continue;
    const auto cell = [&](const char* key) { return c.contains(key) ? esc(scalar(c[key])) : std::string(); };
    const bool passed = c.contains("passed") && c["passed"] == true;
    s += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td class='n'>{}</td><td class='{}'>{}</td></tr>\n",
                     cell("name"), cell("what"), cell("expected"), cell("got"), passed ? "under" : "over",
                     passed ? "passed" : "FAILED");
  }
  return s + "</tbody></table>\n";
}

/// Single values of the result; what the report shows elsewhere is left out.
std::string summary(const nlohmann::json& result) {
  if (!result.is_object() || result.empty()) return "";
  std::string rows;
  const auto row = [&](const std::string& name, const nlohmann::json& v) {
    rows += fmt::format("<tr><td class='w'>{}</td><td>{}</td></tr>\n", esc(name), esc(scalar(v)));
  };
  static const std::set<std::string> kElsewhere{"counters", "command",   "profile",       "stages", "table",
                                                "tables",   "errors",    "checks",        "vs",     "fit_note",
                                                "health",   "error_log", "errors_logged", "pcie"};
  for (const auto& [key, value] : result.items()) {
    if (kElsewhere.count(key)) continue;
    if (value.is_primitive()) {
      row(key, value);
    } else if (value.is_object()) {
      for (const auto& [inner, v] : value.items()) {
        if (v.is_primitive()) row(key + "." + inner, v);
      }
    }
  }
  if (rows.empty()) return "";
  return "<h2>Result</h2>\n<table class='list'><thead><tr><th>Name</th><th>Value</th></tr></thead><tbody>\n" + rows +
         "</tbody></table>\n";
}

std::string profile_table(const Profile& p, const std::set<std::string>& used) {
  std::string s = "<h2>Profile keys and their sources</h2>\n";
  if (!used.empty()) s += "<p class='soft'>&#9679; named in the first timeline.</p>\n";
  s += "<div class='scroll'><table><thead><tr><th></th><th>Key</th><th class='n'>Value</th><th>Unit</th>"
       "<th class='n'>Range</th><th>Kind</th><th>Source</th></tr></thead><tbody>\n";
  for (const bool shown : {true, false}) {
    for (const auto& [key, v] : p.entries()) {
      if ((used.count(key) != 0) != shown) continue;
      std::string value, unit;
      if (const auto* d = std::get_if<double>(&v.value)) value = trim(*d);
      if (const auto* t = std::get_if<std::string>(&v.value)) value = *t;
      for (const KeyInfo& k : profile_schema()) {
        if (k.name == key) unit = k.unit == "1" || k.unit == "text" ? "" : k.unit;
      }
      const std::string range = v.lo != 0 || v.hi != 0 ? trim(v.lo) + "\u2013" + trim(v.hi) : "";
      s += fmt::format(
          "<tr><td>{}</td><td class='w'>{}</td><td class='n'>{}</td><td>{}</td><td class='n'>{}</td>"
          "<td>{}</td><td>{}</td></tr>\n",
          shown ? "&#9679;" : "", esc(key), esc(value), esc(unit), range, esc(v.kind), esc(v.source));
    }
  }
  return s + "</tbody></table></div>\n";
}

std::string head(const ReportInput& in) {
  std::string s = fmt::format("<header><h1>{}</h1>\n", esc(in.title));
  if (in.profile) {
    s += fmt::format("<p>Profile <b>{}</b>. {}</p>\n", esc(in.profile->name()), esc(in.profile->description()));
  }
  if (!in.command.empty()) s += fmt::format("<pre>{}</pre>\n", esc(in.command));
  s += "</header>\n";
  if (in.profile && !in.profile->fit_note().empty()) {
    std::string note = in.profile->fit_note();
    note[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(note[0])));
    s += fmt::format("<p class='note'>{}.", esc(note));
    if (!in.profile->targets().empty()) {
      s += " Targets: ";
      for (size_t i = 0; i < in.profile->targets().size(); ++i) s += (i ? "; " : "") + esc(in.profile->targets()[i]);
      s += ".";
    }
    s += "</p>\n";
  }
  return s;
}

}  // namespace

void write_report(const std::string& path, const ReportInput& in) {
  std::string s = fmt::format(
      "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'>"
      "<meta name='viewport' content='width=device-width, "
      "initial-scale=1'>\n<title>{}</title>\n<style>{}</style></head>\n"
      "<body><main>\n",
      esc(in.title), kStyle);
  s += head(in);

  for (const auto& [heading, html] : in.sections) s += fmt::format("<h2>{}</h2>\n{}", esc(heading), html);

  std::set<std::string> used;
  if (!in.tables.empty()) {
    const StageTable& t = in.tables.front();
    for (const Stage& st : t.stages) {
      for (const StagePart& p : st.parts) used.insert(p.keys.begin(), p.keys.end());
    }
    s += fmt::format(
        "<h2>Timeline: NIC {}, QP {}, WQE {}</h2>\n<p class='soft'>From the measured handshakes; T0 is "
        "{} ns of simulated time. Beneath each stage the document's budget.</p>\n",
        t.nic, t.qpn, t.wqe, trim(ns(t.t0_ps)));
    s += cards(t) + legend() + timeline(t);
    s += "<h2>Stages</h2>\n" + stage_table(t, in.profile);
    if (in.tables.size() > 1) s += "<h2>Further messages</h2>\n" + small_timelines(in.tables, 1);
  }
  if (!in.latencies_ns.empty()) {
    s += "<h2>Latencies</h2>\n<div class='histograms'>\n";
    for (const auto& [name, values] : in.latencies_ns) s += histogram(name, values);
    s += "</div>\n";
  }
  s += checks(in.result) + summary(in.result) + counters(in.result);
  if (in.recorder) s += errors(*in.recorder) + frames(*in.recorder) + tlps(*in.recorder);
  if (in.profile) s += profile_table(*in.profile, used);
  s += "<footer>Written by rnicsim. Times are simulated.</footer>\n</main></body></html>\n";

  std::ofstream out(path);
  out << s;
  out.close();
  if (!out) throw InputError(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
}

}  // namespace rnic
