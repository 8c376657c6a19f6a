// SPDX-License-Identifier: Apache-2.0
// report.html: one file without scripts and without references to anything but the runs' logs and waveforms.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "rnic/regress/summary.h"
#include "text.h"

namespace rnic::regress {
namespace {

constexpr size_t kGroups = 50;      // kinds of failures shown in full
constexpr size_t kOfGroup = 100;    // runs listed of each
constexpr size_t kAllRuns = 20000;  // in the list of all runs

const char* const kStyle = R"css(
:root { --ink: #1c2733; --soft: #5b6875; --line: #d9dfe5; --back: #f6f8fa; --bad: #b3261e; --bad-back: #fdf1f0;
  --good: #0b7a55; --good-back: #eef8f3; --some: #b26a00; --some-back: #fdf6ea; --plot: #1f6fb2; }
* { box-sizing: border-box; }
body { margin: 0; background: #fff; color: var(--ink); font: 15px/1.5 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
main { max-width: 1200px; margin: 0 auto; padding: 26px 24px 60px; }
h1 { font-size: 26px; line-height: 1.25; margin: 0; font-weight: 650; }
h2 { font-size: 19px; margin: 34px 0 10px; font-weight: 650; }
p { margin: 6px 0; }
a { color: #1a5d99; }
.soft { color: var(--soft); }
.verdict { border-left: 8px solid var(--good); background: var(--good-back); padding: 14px 20px; border-radius: 4px; }
.verdict.failed { border-color: var(--bad); background: var(--bad-back); }
.verdict.partly { border-color: var(--some); background: var(--some-back); }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(170px, 1fr)); gap: 10px; margin: 14px 0; }
.card { border: 1px solid var(--line); border-radius: 6px; padding: 9px 13px; }
.card b { display: block; font-size: 21px; font-weight: 620; font-variant-numeric: tabular-nums; line-height: 1.25; }
.card span { color: var(--soft); font-size: 13px; }
.bad { color: var(--bad); } .good { color: var(--good); } .some { color: var(--some); } .none { color: #98a3ae; }
.group { border: 1px solid #e5b9b5; border-radius: 6px; margin: 12px 0; overflow: hidden; }
.group > .head { display: flex; gap: 12px; align-items: baseline; background: var(--bad-back); padding: 9px 14px; }
.head .times { font-size: 19px; font-weight: 650; color: var(--bad); white-space: nowrap; }
.head .what { font-weight: 600; overflow-wrap: anywhere; flex: 1; }
.tag { font-size: 12px; border: 1px solid currentColor; border-radius: 9px; padding: 0 8px; white-space: nowrap; }
.group > .body { padding: 8px 14px 12px; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 3px 16px; margin: 4px 0; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
code { font: 13px/1.45 ui-monospace, "DejaVu Sans Mono", monospace; }
pre { margin: 6px 0; padding: 8px 12px; background: var(--back); border: 1px solid var(--line); border-radius: 4px;
  white-space: pre-wrap; overflow-wrap: anywhere; font: 13px/1.45 ui-monospace, "DejaVu Sans Mono", monospace; }
pre.run { background: #10202f; color: #eaf2f8; border: 0; user-select: all; }
pre b { background: #f7d7d4; font-weight: inherit; }
details { margin: 6px 0; } summary { cursor: pointer; color: #1a5d99; }
table { border-collapse: collapse; width: 100%; font-size: 13.5px; }
th, td { text-align: left; vertical-align: top; padding: 4px 12px 4px 0; border-bottom: 1px solid var(--line); }
th { font-weight: 600; color: var(--soft); border-bottom: 1.5px solid var(--soft); white-space: nowrap; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.w { white-space: nowrap; } td.any { overflow-wrap: anywhere; }
.bar { display: inline-flex; width: 130px; height: 10px; border-radius: 3px; overflow: hidden; background: #e6eaee; }
.bar i { display: block; height: 100%; } .bar .p { background: #3c9d79; } .bar .f { background: var(--bad); }
.plots { display: grid; grid-template-columns: repeat(auto-fill, minmax(275px, 1fr)); gap: 12px; }
.plot { border: 1px solid var(--line); border-radius: 6px; padding: 9px 13px; }
.plot .name { font-size: 13px; overflow-wrap: anywhere; } .plot .value { font-size: 18px; font-weight: 620; }
.plot.off { border-color: #e5b9b5; background: var(--bad-back); }
svg { display: block; width: 100%; height: auto; }
svg text { font: 10px system-ui, "Segoe UI", "DejaVu Sans", sans-serif; fill: var(--soft); }
footer { margin-top: 36px; padding-top: 10px; border-top: 1px solid var(--line); color: var(--soft); font-size: 13px; }
@media print { .group, .plot, tr { break-inside: avoid; } * { print-color-adjust: exact; } }
)css";

/// What depends on when and where it ran, marked so that two reports can be compared without it.
std::string wall(const std::string& s) { return "<!--wall-->" + s + "<!--/wall-->"; }

std::string link(const std::string& path, const std::string& text) {
  std::string url;
  for (const char c : path) {
    const auto u = static_cast<unsigned char>(c);
    const bool plain = std::isalnum(u) || c == '/' || c == '.' || c == '_' || c == '-';
    url += plain ? std::string(1, c) : fmt::format("%{:02X}", u);
  }
  return fmt::format("<a href=\"{}\">{}</a>", url, xml(text));
}

std::string card(const std::string& value, const std::string& what, const char* color = "") {
  return fmt::format("<div class=\"card\"><b class=\"{}\">{}</b><span>{}</span></div>\n", color, value, what);
}

/// Values over earlier regressions; the last is this one.
std::string trend(const std::vector<double>& values, const std::optional<double>& expected, bool bad) {
  constexpr double kWidth = 250, kHeight = 58, kLeft = 4, kRight = 8, kTop = 8, kBottom = 8;
  double low = *std::min_element(values.begin(), values.end()), high = *std::max_element(values.begin(), values.end());
  if (expected) low = std::min(low, *expected), high = std::max(high, *expected);
  const double span = high - low;
  const auto y = [&](double v) {
    return span > 0 ? kTop + (high - v) / span * (kHeight - kTop - kBottom) : kHeight / 2;
  };
  const auto x = [&](size_t i) {
    return values.size() < 2
               ? kWidth - kRight
               : kLeft + static_cast<double>(i) / static_cast<double>(values.size() - 1) * (kWidth - kLeft - kRight);
  };
  std::string s = fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\">", kWidth, kHeight);
  if (expected) {
    s += fmt::format(
        "<line x1=\"0\" x2=\"{0}\" y1=\"{1:.1f}\" y2=\"{1:.1f}\" stroke=\"#3c9d79\" stroke-dasharray=\"4 3\"/>", kWidth,
        y(*expected));
  }
  std::string points;
  for (size_t i = 0; i < values.size(); ++i) points += fmt::format("{:.1f},{:.1f} ", x(i), y(values[i]));
  s += fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"#1f6fb2\" stroke-width=\"1.6\"/>", points);
  for (size_t i = 0; i < values.size(); ++i) {
    const bool last = i + 1 == values.size();
    s += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" fill=\"{}\"><title>{}</title></circle>", x(i),
                     y(values[i]), last ? 4 : 2, last && bad ? "#b3261e" : "#1f6fb2", trim(values[i], 6));
  }
  return s + "</svg>";
}

/// Passed and failed runs of earlier regressions, as columns.
std::string history_bars(const Summary& s) {
  std::vector<std::pair<double, double>> columns;
  std::vector<std::string> titles;
  for (const auto& h : s.history) {
    columns.emplace_back(h.passed, h.failed);
    titles.push_back(fmt::format("{}: {} passed, {} failed", h.started, h.passed, h.failed));
  }
  columns.emplace_back(s.passed, s.failed);
  titles.push_back(fmt::format("this one: {} passed, {} failed", s.passed, s.failed));
  double most = 1;
  for (const auto& [p, f] : columns) most = std::max(most, p + f);
  constexpr double kWidth = 1100, kHeight = 90;
  const double step = std::min(60.0, kWidth / static_cast<double>(columns.size()));
  std::string out = fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\">", kWidth, kHeight + 14);
  for (size_t i = 0; i < columns.size(); ++i) {
    const auto& [p, f] = columns[i];
    const double left = step * static_cast<double>(i), wide = step * 0.8;
    // A single failure among thousands must still be seen.
    const double failed = f == 0 ? 0 : std::max(4.0, f / most * kHeight),
                 passed = std::min(p / most * kHeight, kHeight - failed);
    out += fmt::format(
        "<g><title>{}</title><rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
        "fill=\"#3c9d79\"/><rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
        "fill=\"#b3261e\"/></g>",
        xml(titles[i]), left, kHeight - passed, wide, passed, left, kHeight - passed - failed, wide, failed);
    if (f != 0 && step >= 14) out += fmt::format("<text x=\"{:.1f}\" y=\"{}\">{}</text>", left, kHeight + 11, f);
  }
  return out + "</svg>";
}

std::string seeds_of(const std::vector<std::string>& names) {
  constexpr size_t kNamed = 40;
  std::string out;
  for (size_t i = 0; i < std::min(names.size(), kNamed); ++i)
    out += fmt::format("{}<code>{}</code>", i == 0 ? "" : ", ", xml(names[i]));
  if (names.size() > kNamed) out += fmt::format(" and {} more", names.size() - kNamed);
  return out;
}

std::string files_of(const Entry& e) {
  std::string out = link(e.run.dir + "/log.txt", "log");
  if (e.result->outcome == "rule" && !e.result->waves.empty()) {
    out += " &middot; " + link(e.run.dir + "/wavecheck.html", "wavecheck with the signals drawn") + " &middot; " +
           link(e.run.dir + "/wavecheck.txt", "as text");
  }
  for (const auto& w : e.result->waves) out += " &middot; " + link(e.run.dir + "/" + w, w);
  return out;
}

std::string verdict(const Summary& s) {
  std::string what, kind = "passed";
  const auto runs = [](size_t n) { return fmt::format("{} run{}", n, n == 1 ? "" : "s"); };
  if (s.failed != 0) {
    what = fmt::format("{} of {} failed", s.failed, runs(s.runs.size()));
    if (s.groups.size() > 1) what += fmt::format(", in {} ways", s.groups.size());
    kind = "failed";
  }
  if (s.bad_metrics() != 0) {
    what += fmt::format("{}{} metric{} off the mark", what.empty() ? "" : "; ", s.bad_metrics(),
                        s.bad_metrics() == 1 ? "" : "s");
    kind = "failed";
  }
  if (s.coverage_bad) {
    what += fmt::format("{}coverage could not be merged", what.empty() ? "" : "; ");
    kind = "failed";
  }
  if (s.not_run != 0) {
    what += fmt::format("{}{} not run", what.empty() ? "" : "; ", runs(s.not_run));
    if (kind == "passed") kind = "partly";
  }
  if (what.empty()) what = fmt::format("{} passed", s.runs.size() == 1 ? "the one run" : "all " + runs(s.runs.size()));
  return fmt::format(
      "<div class=\"verdict {}\"><h1>{}{}: {}</h1>\n<p class=\"soft\">{}, seed {}; {}</p></div>\n", kind,
      xml(s.plan->name), s.shard.count > 1 ? fmt::format(", shard {}/{}", s.shard.index, s.shard.count) : "", what,
      xml(s.plan->file), s.plan->seed,
      wall(fmt::format("started {} on {}", s.started, xml(fmt::format("{}", fmt::join(s.hosts, ", "))))));
}

std::string cards(const Summary& s) {
  std::string out = "<div class=\"cards\">\n";
  out += card(fmt::format("{} / {}", s.passed, s.runs.size()), "runs passed", s.failed ? "" : "good");
  out += card(fmt::format("{}", s.failed),
              fmt::format("failed, {} kind{}", s.groups.size(), s.groups.size() == 1 ? "" : "s"),
              s.failed ? "bad" : "none");
  const auto checked =
      std::count_if(s.metrics.begin(), s.metrics.end(), [](const auto& m) { return m.metric.check != "none"; });
  if (!s.metrics.empty()) {
    out += card(fmt::format("{}", s.bad_metrics()), fmt::format("metrics off, of {} checked", checked),
                s.bad_metrics() ? "bad" : "none");
  }
  if (!s.behaviours.empty()) {
    const auto shown =
        std::count_if(s.behaviours.begin(), s.behaviours.end(), [](const auto& b) { return b.state == "passed"; });
    out += card(fmt::format("{} / {}", shown, s.behaviours.size()), "behaviours of the test plan shown");
  }
  if (!s.history.empty()) {
    out += card(fmt::format("{} / {} / {}", s.newly_failing.size(), s.fixed.size(), s.still_failing.size()),
                "newly failing / fixed / still failing", s.newly_failing.empty() ? "" : "bad");
  }
  out += wall(card(duration(s.wall_s), "sum of the runs' times"));
  return out + "</div>\n";
}

/// Metrics that are off, as failures of their own.
std::string off_metrics(const Summary& s) {
  std::string out;
  for (const auto& m : s.metrics) {
    if (!m.bad()) continue;
    const auto& e = s.runs[*m.worst];
    out += fmt::format(
        "<div class=\"group\"><div class=\"head\"><span class=\"times\">metric</span><span class=\"what\">{}: "
        "{}</span></div><div "
        "class=\"body\"><dl><dt>worst</dt><dd><code>{}</code></dd><dt>files</dt><dd>{}</dd></dl>run it "
        "again:<pre class=\"run\">{}</pre></div></div>\n",
        xml(m.name()), xml(m.text()), xml(e.run.name), files_of(e), xml(m.replay));
  }
  return out;
}

std::string failures(const Summary& s) {
  if (s.groups.empty() && s.bad_metrics() == 0) return "";
  std::string out = "<h2>What failed</h2>\n";
  for (size_t n = 0; n < std::min(s.groups.size(), kGroups); ++n) {
    const auto& g = s.groups[n];
    const auto& e = s.runs[g.runs[0]];
    const auto& r = *e.result;
    std::string tag;
    if (g.last_count) {
      tag = *g.last_count == 0 ? "<span class=\"tag bad\">new</span>"
                               : fmt::format("<span class=\"tag soft\">last time {}&times;</span>", *g.last_count);
    }
    out += fmt::format(
        "<div class=\"group\" id=\"g{}\"><div class=\"head\"><span class=\"times\">{}&times;</span><span "
        "class=\"what\">{}</span>{}</div><div class=\"body\">\n",
        n + 1, g.runs.size(), xml(g.signature), tag);
    out += "<dl>";
    const auto& test = s.plan->test_of(e.run);
    out += fmt::format("<dt>first</dt><dd><code>{}</code>{}</dd>", xml(test.name),
                       e.run.seed ? fmt::format(", seed <b>{}</b>", *e.run.seed) : "");
    out += fmt::format("<dt>ended</dt><dd>{}{}</dd>", xml(r.reason), wall(" after " + duration(r.wall_s)));
    if (!r.message.empty()) out += fmt::format("<dt>message</dt><dd>{}</dd>", xml(r.message));
    out += fmt::format("<dt>files</dt><dd>{}</dd>", files_of(e));
    if (!r.wave_note.empty()) out += fmt::format("<dt>waveform</dt><dd class=\"some\">{}</dd>", xml(r.wave_note));
    out += fmt::format("</dl>\nrun it again:<pre class=\"run\">{}</pre>\n", xml(e.replay));
    if (!r.excerpt.empty()) {
      out += "<pre>";
      for (const auto& l : r.excerpt) {
        const bool marked = !r.message.empty() && !l.empty() && l.find(r.message.substr(0, 60)) != std::string::npos;
        out += marked ? fmt::format("<b>{}</b>\n", xml(l)) : xml(l) + "\n";
      }
      out += "</pre>\n";
    }
    if (g.runs.size() > 1) {
      std::string seeds;
      for (size_t i = 0; i < std::min<size_t>(g.runs.size(), 12); ++i) {
        const auto& x = s.runs[g.runs[i]].run;
        seeds += (i == 0 ? "" : ", ") + (x.seed && x.test == e.run.test ? std::to_string(*x.seed) : x.name);
      }
      out += fmt::format(
          "<details><summary>all {} runs: {}{}</summary><table><tr><th>run</th><th>files</th><th>again</th></tr>\n",
          g.runs.size(), xml(seeds), g.runs.size() > 12 ? ", ..." : "");
      for (size_t i = 0; i < std::min(g.runs.size(), kOfGroup); ++i) {
        const auto& x = s.runs[g.runs[i]];
        out += fmt::format(
            "<tr><td class=\"w\"><code>{}</code></td><td class=\"w\">{}</td><td class=\"any\"><code>{}</code>"
            "</td></tr>\n",
            xml(x.run.name), files_of(x), xml(x.replay));
      }
      out += "</table>";
      if (g.runs.size() > kOfGroup) out += fmt::format("<p>{} more are in summary.json</p>", g.runs.size() - kOfGroup);
      out += "</details>\n";
    }
    out += "</div></div>\n";
  }
  if (s.groups.size() > kGroups)
    out += fmt::format("<p>{} more kinds are in summary.json</p>\n", s.groups.size() - kGroups);
  return out + off_metrics(s);
}

std::string metrics(const Summary& s) {
  if (s.metrics.empty()) return "";
  std::string out = "<h2>Metrics</h2>\n<div class=\"plots\">\n";
  auto sorted = s.metrics;
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.bad() > b.bad(); });
  for (const auto& m : sorted) {
    std::string note;
    if (m.state == "missing") {
      note = "no value in the baseline";
    } else if (m.state == "incomplete") {
      note = fmt::format("{} of {} runs gave a value", m.count, m.wanted);
    } else if (m.expected) {
      note = fmt::format("expected {}{}", trim(*m.expected, 6),
                         m.metric.tolerance == 0 ? ""
                                                 : fmt::format(" &plusmn; {}{}", trim(m.metric.tolerance, 6),
                                                               m.metric.percent ? " %" : ""));
      if (m.state == "better") note += ": better, write a new baseline";
    }
    if (m.count > 1 && m.min != m.max)
      note += fmt::format("{}{} runs, {} to {}", note.empty() ? "" : "; ", m.count, trim(m.min, 6), trim(m.max, 6));
    auto values = m.trend;
    if (m.count != 0) values.push_back(m.value);
    out += fmt::format(
        "<div class=\"plot{}\"><div class=\"name\"><code>{}</code></div><div class=\"value {}\">{} {}</div>"
        "<div class=\"soft name\">{}</div>{}</div>\n",
        m.bad() ? " off" : "", xml(m.name()),
        m.bad()               ? "bad"
        : m.state == "better" ? "good"
                              : "",
        m.count == 0 ? "-" : trim(m.value, 6), xml(m.metric.unit), note.empty() ? "&nbsp;" : note,
        values.empty() ? "" : trend(values, m.expected, m.bad()));
  }
  return out + "</div>\n";
}

std::string testplan(const Summary& s) {
  if (s.behaviours.empty()) return "";
  std::map<std::string, size_t> counts;
  for (const auto& b : s.behaviours) ++counts[b.state];
  std::string out = "<h2>Test plan</h2>\n<p>";
  for (const auto& [state, n] : counts)
    out += fmt::format("{}{} {}", &state == &counts.begin()->first ? "" : ", ", n, state);
  out += "</p>\n";
  std::vector<std::string> pages;
  for (const auto& b : s.behaviours) {
    if (pages.empty() || pages.back() != b.behaviour->page) pages.push_back(b.behaviour->page);
  }
  for (const auto& page : pages) {
    size_t rows = 0, good = 0;
    bool failed = false;
    std::string body;
    for (const auto& b : s.behaviours) {
      if (b.behaviour->page != page) continue;
      ++rows;
      good += b.state == "passed" ? 1 : 0;
      failed = failed || b.state == "failed";
      const char* color = b.state == "passed"   ? "good"
                          : b.state == "failed" ? "bad"
                          : b.state == "partly" ? "some"
                                                : "none";
      std::string names;
      for (const auto& t : b.behaviour->tests) {
        const bool missing = std::find(b.missing.begin(), b.missing.end(), t) != b.missing.end();
        names +=
            fmt::format("{}<code{}>{}</code>", names.empty() ? "" : ", ", missing ? " class=\"none\"" : "", xml(t));
      }
      body += fmt::format("<tr><td class=\"w {}\">{}</td><td>{}</td><td class=\"any\">{}</td></tr>\n", color, b.state,
                          xml(b.behaviour->text), names);
    }
    out += fmt::format(
        "<details{}><summary>{}: {} of {} behaviours shown</summary><table><tr><th>state</th><th>behaviour"
        "</th><th>tests</th></tr>\n{}</table></details>\n",
        failed ? " open" : "", xml(page), good, rows, body);
  }
  return out;
}

std::string history(const Summary& s) {
  if (s.history.empty()) return "";
  std::string out = fmt::format(
      "<h2>History</h2>\n<p>this one and {} before it, oldest left; below a column how many failed"
      "</p>\n",
      s.history.size());
  out += wall(history_bars(s));
  out += "<dl>";
  const auto row = [&](const char* what, const std::vector<std::string>& names) {
    if (!names.empty()) out += fmt::format("<dt>{}</dt><dd>{}</dd>", what, seeds_of(names));
  };
  row("newly failing", s.newly_failing);
  row("still failing", s.still_failing);
  row("fixed", s.fixed);
  row("failures that are gone", s.gone);
  out += "</dl>\n";
  std::vector<double> seconds;
  for (const auto& h : s.history) seconds.push_back(h.wall_s);
  seconds.push_back(s.wall_s);
  out +=
      wall(fmt::format("<div class=\"plots\"><div class=\"plot\"><div class=\"name\">sum of the runs' times</div><div "
                       "class=\"value\">{}</div>{}</div></div>",
                       duration(s.wall_s), trend(seconds, std::nullopt, false)));
  return out + "\n";
}

std::string tests(const Summary& s) {
  struct Counts {
    size_t runs = 0, passed = 0, failed = 0;
    double seconds = 0, longest = 0;
  };
  std::vector<Counts> of(s.plan->tests.size());
  for (const auto& e : s.runs) {
    auto& c = of[e.run.test];
    ++c.runs;
    if (!e.result) continue;
    ++(e.result->passed() ? c.passed : c.failed);
    c.seconds += e.result->wall_s;
    c.longest = std::max(c.longest, e.result->wall_s);
  }
  std::string out =
      "<h2>Tests</h2>\n<table><tr><th>test</th><th>labels</th><th class=\"n\">runs</th><th class=\"n\">passed</th><th "
      "class=\"n\">failed</th><th></th><th class=\"n\">time</th><th class=\"n\">longest</th></tr>\n";
  for (size_t t = 0; t < of.size(); ++t) {
    const auto& c = of[t];
    if (c.runs == 0) continue;
    const auto& test = s.plan->tests[t];
    const auto percent = [&](size_t n) { return 100.0 * static_cast<double>(n) / static_cast<double>(c.runs); };
    out += fmt::format(
        "<tr><td class=\"any\"><code>{}</code>{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td "
        "class=\"n "
        "{}\">{}</td><td><span class=\"bar\"><i class=\"p\" style=\"width:{:.1f}%\"></i><i class=\"f\" "
        "style=\"width:{:.1f}%\"></i></span></td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
        xml(test.name), test.description.empty() ? "" : "<br><span class=\"soft\">" + xml(test.description) + "</span>",
        xml(fmt::format("{}", fmt::join(test.labels, ", "))), c.runs, c.passed, c.failed ? "bad" : "none", c.failed,
        percent(c.passed), c.failed ? std::max(3.0, percent(c.failed)) : 0.0, wall(duration(c.seconds)),
        wall(duration(c.longest)));
  }
  return out + "</table>\n";
}

std::string all_runs(const Summary& s) {
  std::string out =
      "<details><summary>all runs</summary><table><tr><th>run</th><th>result</th><th class=\"n\">time</th><th>"
      "files</th></tr>\n";
  for (size_t i = 0; i < std::min(s.runs.size(), kAllRuns); ++i) {
    const auto& e = s.runs[i];
    const char* color = !e.result ? "none" : e.result->passed() ? "good" : "bad";
    out += fmt::format(
        "<tr><td class=\"any\"><code>{}</code></td><td class=\"w {}\">{}</td><td class=\"n\">{}</td><td "
        "class=\"w\">{}</td></tr>\n",
        xml(e.run.name), color, !e.result ? "not run" : xml(e.result->passed() ? "passed" : e.result->reason),
        e.result ? wall(duration(e.result->wall_s)) : "", e.result ? files_of(e) : "");
  }
  return out + "</table></details>\n";
}

}  // namespace

std::string html_of(const Summary& s) {
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width\"><title>{}: {}</title>\n<style>{}</style></head><body><main>\n",
      xml(s.plan->name),
      s.failed   ? fmt::format("{} failed", s.failed)
      : s.good() ? "passed"
                 : "failed",
      kStyle);
  out += verdict(s) + cards(s) + failures(s) + metrics(s) + history(s) + testplan(s);
  if (!s.coverage.empty()) {
    out += fmt::format("<h2>Coverage</h2>\n<p{}>{}{}</p>\n", s.coverage_bad ? " class=\"bad\"" : "", xml(s.coverage),
                       s.coverage_file.empty() ? "" : ": " + link(s.coverage_file, s.coverage_file));
  }
  out += tests(s) + all_runs(s);
  out += fmt::format(
      "<footer>rnicsim regress; plan {}, hash {}. Lines that run every failure again: {}. The same for "
      "programs: {}, {}.</footer>\n",
      xml(s.plan->file), xml(s.plan->hash), link("replay.txt", "replay.txt"), link("summary.json", "summary.json"),
      link("junit.xml", "junit.xml"));
  return out + "</main></body></html>\n";
}

}  // namespace rnic::regress
