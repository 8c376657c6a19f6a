// SPDX-License-Identifier: Apache-2.0
#include "rnic/study/sweep.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "rnic/core/error.h"
#include "rnic/core/file.h"
#include "rnic/core/names.h"
#include "rnic/core/page.h"
#include "rnic/core/text.h"
#include "rnic/study/chart.h"

namespace rnic::study {
namespace fs = std::filesystem;
namespace {

constexpr size_t kMaxFile = size_t{1} << 30, kMaxNamed = 16 << 20;
constexpr size_t kMaxLines = 8, kMaxCharts = 6, kMaxPlots = 8, kMaxListed = 500;

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const auto& w : words) out += (out.empty() ? "" : " ") + quoted(w);
  return out;
}

/// About `most` of n numbers, the first and the last among them.
std::vector<size_t> spread(size_t n, size_t most) {
  std::vector<size_t> out;
  if (n <= most) {
    for (size_t i = 0; i < n; ++i) out.push_back(i);
  } else {
    for (size_t i = 0; i < most; ++i) out.push_back(i * (n - 1) / (most - 1));
  }
  return out;
}

std::vector<std::string> cleaned(const std::vector<std::string>& words) {
  std::vector<std::string> out;
  for (const auto& w : words) out.push_back(clean(w));
  return out;
}

nlohmann::json to_json(const Sweep& s) {
  auto points = nlohmann::json::array();
  for (const auto& p : s.points) points.push_back(cleaned(p));
  return {{"axes", to_json(s.axes)},
          {"points", points},
          {"zip", s.zip},
          {"command", cleaned(s.command)},
          {"metrics", cleaned(s.view.metrics)},
          {"x", clean(s.view.x)},
          {"plots", cleaned(s.view.plots)}};
}

/// What a person would call an axis's values in a legend.
std::string legend_of(const std::vector<Axis>& axes, const std::vector<size_t>& which) {
  std::vector<std::string> out;
  for (const size_t a : which) out.push_back(axes[a].label());
  return fmt::format("{}", fmt::join(out, "; "));
}

class Page {
 public:
  explicit Page(const SweepTable& t) : t_(t), axes_(t.sweep.axes) {
    x_ = 0;
    const auto better = [&](size_t a, size_t b) {  // for the x axis
      return std::pair(axes_[a].numeric, axes_[a].values.size()) > std::pair(axes_[b].numeric, axes_[b].values.size());
    };
    for (size_t a = 1; a < axes_.size(); ++a) {
      if (better(a, x_)) x_ = a;
    }
    for (size_t a = 0; a < axes_.size(); ++a) {
      if (!t.sweep.view.x.empty() && axes_[a].name == t.sweep.view.x) x_ = a;
    }
  }

  std::string text() const {
    std::string s = page_head("rnicsim sweep");
    const size_t bad = t_.bad();
    s += fmt::format(
        "<header><h1>rnicsim sweep</h1><p class=\"{}\">{} point{}: "
        "{}</p>\n<dl><dt>command</dt><dd><code>{}</code></dd>\n",
        bad ? "bad" : "good", t_.rows.size(), t_.rows.size() == 1 ? "" : "s",
        bad ? fmt::format("{} without a good result", bad) : std::string("all good"), xml(joined(t_.sweep.command)));
    for (const auto& a : axes_) {
      s += fmt::format("<dt>{}</dt><dd>{}</dd>\n", xml(a.name), xml(values_text(a)));
    }
    s += "<dt>table</dt><dd><a href=\"sweep.csv\">sweep.csv</a></dd></dl></header>\n";
    for (const auto& f : plotted(t_)) s += charts(f);
    return s + failures() + table() + "</body></html>\n";
  }

 private:
  static std::string values_text(const Axis& a) {
    const auto& v = a.values;
    const auto unit = a.unit.empty() ? "" : " " + a.unit;
    if (v.size() <= 16) return fmt::format("{}{}", fmt::join(v, ", "), unit);
    return fmt::format("{}, {}, {}, ... {}{} ({} values)", v[0], v[1], v[2], v.back(), unit, v.size());
  }

  /// Pictures of one figure: one, or one for each value of what neither the x axis nor the lines show.
  std::string charts(const std::string& figure) const {
    std::vector<size_t> lines, pages;
    size_t combinations = 1;
    for (size_t a = 0; a < axes_.size() && !t_.sweep.zip; ++a) {
      if (a == x_ || axes_[a].values.size() < 2) continue;
      lines.push_back(a);
      combinations *= axes_[a].values.size();
    }
    if (combinations > kMaxLines && lines.size() > 1) {
      const auto line = *std::max_element(lines.begin(), lines.end(), [&](size_t a, size_t b) {
        const auto rank = [&](size_t k) {  // the most lines that still can be told apart
          const size_t n = axes_[k].values.size();
          return n <= kMaxLines ? static_cast<long>(n) : -static_cast<long>(n);
        };
        return rank(a) < rank(b);
      });
      for (const size_t a : lines) {
        if (a != line) pages.push_back(a);
      }
      lines = {line};
    }
    // In the order of the grid.
    std::vector<std::string> page_names;
    std::map<std::string, std::vector<size_t>> rows;
    for (size_t r = 0; r < t_.rows.size(); ++r) {
      const auto name = chosen(r, pages, true);
      if (rows[name].empty()) page_names.push_back(name);
      rows[name].push_back(r);
    }
    std::string s = fmt::format("<section><h2>{}</h2>\n", xml(figure));
    const auto shown = spread(page_names.size(), kMaxCharts);
    for (const size_t i : shown) s += chart(figure, page_names[i], rows[page_names[i]], lines);
    if (shown.size() < page_names.size())
      s += fmt::format("<p class=\"what\">{} of {} pictures; all values are in sweep.csv</p>\n", shown.size(),
                       page_names.size());
    return s + "</section>\n";
  }

  std::string chart(const std::string& figure, const std::string& page, const std::vector<size_t>& rows,
                    const std::vector<size_t>& lines) const {
    const auto& x = axes_[x_];
    LineChart c;
    c.title = page;
    c.x_label = x.label();
    const auto unit = unit_of(figure);
    c.y_label = unit.empty() ? figure : figure + ", " + unit;
    c.legend = legend_of(axes_, lines);
    if (!x.numeric) c.categories = x.values;
    std::vector<std::string> names;
    std::map<std::string, std::vector<std::pair<double, double>>> points;
    for (const size_t r : rows) {
      const auto name = chosen(r, lines, false);
      if (points.count(name) == 0) names.push_back(name);
      auto& list = points[name];
      const auto& value = t_.sweep.points[r][x_];
      const double at =
          x.numeric ? std::stod(value)
                    : static_cast<double>(std::find(x.values.begin(), x.values.end(), value) - x.values.begin());
      const auto v = t_.rows[r].figures.number(figure);
      if (v)
        list.emplace_back(at, *v);
      else if (t_.rows[r].status != "not_run")
        c.gaps.emplace_back(
            at, fmt::format("{}: {} {}", name_of(axes_, t_.sweep.points[r]), t_.rows[r].status, t_.rows[r].error));
    }
    // Lines that lie on one another are one, with all their names.
    std::vector<LineChart::Series> series;
    std::vector<std::vector<std::string>> merged;
    for (const auto& name : names) {
      auto& list = points[name];
      if (list.empty()) continue;
      std::sort(list.begin(), list.end());
      const auto twin =
          std::find_if(series.begin(), series.end(), [&](const auto& other) { return other.points == list; });
      if (twin == series.end()) {
        series.push_back({name, std::move(list)});
        merged.push_back({name});
      } else {
        merged[static_cast<size_t>(twin - series.begin())].push_back(name);
      }
    }
    for (size_t i = 0; i < series.size(); ++i) {
      const auto& m = merged[i];
      if (m.size() > 1 && m.size() <= 3) series[i].name = fmt::format("{} (equal)", fmt::join(m, "; "));
      if (m.size() > 3) series[i].name = fmt::format("{} ... {} ({} equal)", m.front(), m.back(), m.size());
    }
    const auto shown = spread(series.size(), kMaxLines);
    for (const size_t i : shown) c.series.push_back(series[i]);
    std::string note;
    if (shown.size() < series.size())
      note = fmt::format("<p class=\"what\">{} of {} lines; all values are in sweep.csv</p>\n", shown.size(),
                         series.size());
    return "<div class=\"picture\" style=\"margin:0 0 12px\">" + svg_of(c) + "</div>\n" + note;
  }

  /// Values of these axes in a row: "4096" of one, "mtu 1024, mem gpu" of several.
  std::string chosen(size_t row, const std::vector<size_t>& which, bool named) const {
    std::string s;
    for (const size_t a : which) {
      s += s.empty() ? "" : ", ";
      if (named || which.size() > 1) s += axes_[a].name + " ";
      s += t_.sweep.points[row][a];
    }
    return s;
  }

  std::string failures() const {
    std::string s;
    size_t n = 0;
    for (size_t r = 0; r < t_.rows.size(); ++r) {
      const auto& row = t_.rows[r];
      if (row.good() || ++n > kMaxListed) continue;
      s += fmt::format(
          "<tr><td><code>{}</code></td><td><span class=\"chip bad\">{}</span></td><td>{}</td><td>{}</td></tr>\n",
          xml(name_of(axes_, t_.sweep.points[r])), row.status, xml(row.error),
          row.status == "not_run" ? "" : fmt::format("<a href=\"{}/log.txt\">log</a>", xml(row.dir)));
    }
    if (s.empty()) return "";
    return "<table class=\"list\"><thead><tr><th>point</th><th>status</th><th>why</th><th></th></tr></thead><tbody>\n" +
           s + "</tbody></table>\n";
  }

  std::string table() const {
    const auto columns = plotted(t_);
    std::string s = "<table class=\"list\"><thead><tr>";
    for (const auto& a : axes_) s += fmt::format("<th class=\"n\">{}</th>", xml(a.column()));
    for (const auto& c : columns) s += fmt::format("<th class=\"n\">{}</th>", xml(c));
    s += "<th>run</th></tr></thead><tbody>\n";
    for (size_t r = 0; r < std::min(t_.rows.size(), kMaxListed); ++r) {
      const auto& row = t_.rows[r];
      s += "<tr>";
      for (const auto& v : t_.sweep.points[r]) s += fmt::format("<td class=\"n\">{}</td>", xml(v));
      for (const auto& c : columns) {
        const auto v = row.figures.number(c);
        s += fmt::format("<td class=\"n\">{}</td>", v ? number_text(*v) : "-");
      }
      s += row.good() ? fmt::format("<td><a href=\"{}/result.json\">result</a></td></tr>\n", xml(row.dir))
                      : fmt::format("<td><span class=\"chip bad\">{}</span></td></tr>\n", row.status);
    }
    s += "</tbody></table>\n";
    if (t_.rows.size() > kMaxListed)
      s += fmt::format("<p>{} of {} points; the rest is in sweep.csv</p>\n", kMaxListed, t_.rows.size());
    return s;
  }

  const SweepTable& t_;
  const std::vector<Axis>& axes_;
  size_t x_;
};

}  // namespace

regress::Plan plan_of(const std::vector<Job>& jobs, const JobOptions& options) {
  regress::Plan plan;
  plan.what = options.what;
  plan.name = options.name;
  std::error_code ec;
  plan.dir = plan.cwd = fs::weakly_canonical(fs::current_path(ec), ec).string();
  plan.waves = options.keep_files ? "all" : "none";
  if (!options.keep_files) plan.keep = {"result.json", "profile.toml", "log.txt"};
  plan.extra = options.extra;
  std::string identity = options.what + "\n";
  std::set<std::string> named;
  for (const auto& job : jobs) {
    regress::Test t;
    t.name = clean(job.name);
    std::replace(t.name.begin(), t.name.end(), '\n', ' ');
    t.timeout_s = options.timeout_s;
    t.command = {"rnicsim"};
    t.command.insert(t.command.end(), job.words.begin(), job.words.end());
    const bool traced =
        std::any_of(job.words.begin(), job.words.end(), [](const auto& w) { return w.compare(0, 7, "--trace") == 0; });
    if (!traced) t.command.insert(t.command.end(), {"--trace", "none"});
    t.command.insert(t.command.end(), {"-o", "{dir}"});
    for (const auto& w : job.words) {
      identity += quoted(w) + " ";
      const auto file = w.substr(w.find('=') == std::string::npos || w[0] != '-' ? 0 : w.find('=') + 1);
      if (named.insert(file).second && fs::is_regular_file(file, ec) && fs::file_size(file, ec) <= kMaxNamed)
        identity += fnv(read_text(file, kMaxNamed)) + " ";
    }
    identity += "\n";
    regress::add_single(plan, std::move(t));
  }
  regress::seal(plan, identity);
  return plan;
}

std::vector<Outcome> outcomes_of(const regress::Kept& kept) {
  std::vector<Outcome> out;
  for (const auto& run : kept.plan.runs) {
    auto& o = out.emplace_back();
    o.dir = run.dir;
    const auto r = kept.results.find(run.index);
    if (r == kept.results.end()) {
      o.status = "not_run";
      continue;
    }
    o.status = r->second.outcome;
    if (!o.good())
      o.error = fmt::format("{}{}{}", r->second.reason, r->second.message.empty() ? "" : ": ", r->second.message);
    const auto path = (fs::path(kept.dir) / run.dir / "result.json").string();
    std::error_code ec;
    if (!fs::exists(path, ec)) {
      if (o.good()) {
        o.status = "error";
        o.error = "the run left no result.json";
      }
      continue;
    }
    try {
      o.figures = read_result(path);
    } catch (const InputError& e) {
      if (!o.good()) continue;  // killed while it wrote: the reason is known already
      o.status = "error";
      o.error = e.what();
    }
  }
  return out;
}

regress::Plan plan_of(const Sweep& s, double timeout_s, bool keep_files) {
  std::vector<Job> jobs;
  for (const auto& p : s.points) {
    Job j{name_of(s.axes, p), s.command};
    for (size_t a = 0; a < p.size(); ++a) {
      const auto words = s.axes[a].words(p[a]);
      j.words.insert(j.words.end(), words.begin(), words.end());
    }
    jobs.push_back(std::move(j));
  }
  JobOptions o;
  o.what = o.name = "sweep";
  o.timeout_s = timeout_s;
  o.keep_files = keep_files;
  o.extra = to_json(s);
  return plan_of(jobs, o);
}

Sweep sweep_of(const regress::Kept& kept) {
  const auto file = (fs::path(kept.dir) / regress::kPlanFile).string();
  Sweep s;
  try {
    const auto& j = kept.plan.extra;
    s.axes = axes_from_json(j.at("axes"));
    s.points = j.at("points").get<std::vector<Point>>();
    s.zip = j.at("zip");
    s.command = j.at("command").get<std::vector<std::string>>();
    s.view = {j.at("metrics").get<std::vector<std::string>>(), j.at("x"),
              j.at("plots").get<std::vector<std::string>>()};
  } catch (const nlohmann::json::exception& e) {
    throw InputError(file, 0, "extra", fmt::format("is not what rnicsim sweep has written: {}", e.what()));
  }
  const bool fits =
      s.points.size() == kept.plan.runs.size() && !s.axes.empty() &&
      std::all_of(s.points.begin(), s.points.end(), [&](const auto& p) { return p.size() == s.axes.size(); });
  if (!fits) throw InputError(file, 0, "extra", "is damaged: points, axes and runs do not fit together");
  return s;
}

size_t SweepTable::bad() const {
  return static_cast<size_t>(std::count_if(rows.begin(), rows.end(), [](const auto& r) { return !r.good(); }));
}

SweepTable table_of(const regress::Kept& kept, const SweepView* view) {
  SweepTable t;
  t.sweep = sweep_of(kept);
  if (view != nullptr) {
    if (!view->metrics.empty()) t.sweep.view.metrics = view->metrics;
    if (!view->x.empty()) t.sweep.view.x = view->x;
    if (!view->plots.empty()) t.sweep.view.plots = view->plots;
  }
  t.rows = outcomes_of(kept);
  if (const auto& part = kept.shard; part.count > 1) {
    std::vector<Point> points;
    std::vector<Outcome> rows;
    for (size_t i = part.index - 1; i < t.rows.size(); i += part.count) {
      points.push_back(std::move(t.sweep.points[i]));
      rows.push_back(std::move(t.rows[i]));
    }
    t.sweep.points = std::move(points);
    t.rows = std::move(rows);
  }
  const auto& x = t.sweep.view.x;
  if (!x.empty() &&
      std::none_of(t.sweep.axes.begin(), t.sweep.axes.end(), [&](const auto& a) { return a.name == x; })) {
    std::vector<std::string> names;
    for (const auto& a : t.sweep.axes) names.push_back(a.name);
    throw InputError("", 0, "--x", fmt::format("'{}' is not swept over; there are: {}", x, fmt::join(names, ", ")));
  }
  const std::vector<std::string>&globs = t.sweep.view.metrics, &plots = t.sweep.view.plots;
  std::set<std::string> seen;
  std::vector<std::string> used;
  for (const auto& r : t.rows) {
    size_t at = 0;  // a figure that this row has first comes behind the one before it
    for (const auto& v : r.figures.all()) {
      const bool wanted =
          globs.empty() ? is_main(v)
                        : v.value.is_number() &&
                              std::any_of(globs.begin(), globs.end(), [&](const auto& g) { return fits(g, v.name); });
      if (!wanted) continue;
      if (seen.insert(v.name).second) {
        t.figures.insert(t.figures.begin() + static_cast<std::ptrdiff_t>(at), v.name);
        ++at;
      } else if (at < t.figures.size() && t.figures[at] == v.name) {
        ++at;
      } else {
        at = static_cast<size_t>(std::find(t.figures.begin(), t.figures.end(), v.name) - t.figures.begin()) + 1;
      }
    }
  }
  // What is looked at first stands first.
  std::vector<std::string> first;
  for (const auto& r : t.rows) {
    for (auto& h : headlines(r.figures)) {
      if (seen.count(h) != 0 && std::find(first.begin(), first.end(), h) == first.end()) first.push_back(h);
    }
  }
  for (const auto& f : t.figures) {
    if (std::find(first.begin(), first.end(), f) == first.end()) first.push_back(f);
  }
  t.figures = std::move(first);
  const bool any = std::any_of(t.rows.begin(), t.rows.end(), [](const auto& r) { return !r.figures.all().empty(); });
  for (const auto* list : {&globs, &plots}) {
    for (const auto& g : *list) {
      const auto fit = [&](const auto& name) { return fits(g, name); };
      if (!any || std::any_of(t.figures.begin(), t.figures.end(), fit)) continue;
      t.unmatched.push_back(fmt::format("{} '{}' fits none of the results' figures; nearest: {}",
                                        list == &globs ? "--metric" : "--plot", g,
                                        fmt::join(nearest(g, t.figures), ", ")));
    }
  }
  return t;
}

std::vector<std::string> plotted(const SweepTable& t) {
  std::vector<std::string> out;
  const auto& globs = t.sweep.view.plots;
  if (!globs.empty()) {
    for (const auto& f : t.figures) {
      if (std::any_of(globs.begin(), globs.end(), [&](const auto& g) { return fits(g, f); })) out.push_back(f);
    }
  } else {
    for (const auto& r : t.rows) {
      for (auto& h : headlines(r.figures)) {
        if (std::find(t.figures.begin(), t.figures.end(), h) != t.figures.end() &&
            std::find(out.begin(), out.end(), h) == out.end())
          out.push_back(std::move(h));
      }
    }
    if (out.empty()) out = t.figures;  // none that we know: the first ones
  }
  out.resize(std::min(out.size(), kMaxPlots));
  return out;
}

std::string csv_of(const SweepTable& t) {
  std::vector<std::string> cells;
  for (const auto& a : t.sweep.axes) cells.push_back(a.column());
  cells.emplace_back("status");
  cells.insert(cells.end(), t.figures.begin(), t.figures.end());
  for (const char* c : {"error", "run", "sweep_schema"}) cells.emplace_back(c);
  std::string out = csv_line(cells);
  for (size_t r = 0; r < t.rows.size(); ++r) {
    const auto& row = t.rows[r];
    cells = t.sweep.points[r];
    cells.push_back(row.status);
    for (const auto& f : t.figures) {
      const auto* v = row.figures.find(f);
      cells.push_back(v == nullptr ? "" : v->value.is_string() ? v->value.get<std::string>() : v->value.dump());
    }
    cells.insert(cells.end(), {row.error, row.dir, fmt::format("{}", kSweepSchemaVersion)});
    out += csv_line(cells);
  }
  return out;
}

std::string page_of(const SweepTable& t) { return Page(t).text(); }

SweptTable read_sweep_csv(const std::string& path) {
  const auto csv = parse_csv(read_text(path, kMaxFile), path);
  const auto& h = csv.header;
  const auto column = [&](const char* name) {
    return static_cast<size_t>(std::find(h.begin(), h.end(), name) - h.begin());
  };
  const size_t status = column("status"), error = column("error"), schema = column("sweep_schema");
  if (schema == h.size() || status == h.size() || error == h.size() || status == 0 || error < status) {
    throw InputError(
        path, 1, "",
        "is no sweep.csv of rnicsim sweep: it needs the columns status, error and sweep_schema behind the swept ones");
  }
  SweptTable out;
  // By name: the order in which they were given makes no other sweep.
  std::map<std::string, size_t> swept;
  for (size_t c = 0; c < status; ++c) swept[h[c]] = c;
  for (const auto& [name, c] : swept) out.swept.push_back(name);
  std::set<std::string> names;
  for (size_t r = 0; r < csv.rows.size(); ++r) {
    const auto& cells = csv.rows[r];
    if (cells[schema] != fmt::format("{}", kSweepSchemaVersion)) {
      throw InputError(
          path, static_cast<unsigned>(r + 2), "sweep_schema",
          fmt::format("is '{}', and this program reads version {}: make the table again with 'rnicsim sweep report'",
                      clean(cells[schema]), kSweepSchemaVersion));
    }
    auto& row = out.rows.emplace_back();
    for (const auto& [name, c] : swept) row.name += fmt::format("{}{}={}", row.name.empty() ? "" : " ", name, cells[c]);
    if (!names.insert(row.name).second)
      throw InputError(path, static_cast<unsigned>(r + 2), "",
                       fmt::format("the point {} is there twice", clean(row.name)));
    row.status = cells[status];
    row.figures.add("status", Kind::kFigure, row.status);
    for (size_t c = status + 1; c < error; ++c) {
      if (cells[c].empty()) continue;
      auto v = nlohmann::json::parse(cells[c], nullptr, false);
      row.figures.add(h[c], Kind::kFigure, v.is_number() ? v : nlohmann::json(cells[c]));
    }
  }
  return out;
}

}  // namespace rnic::study
