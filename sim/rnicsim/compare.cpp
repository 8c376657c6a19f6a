// SPDX-License-Identifier: Apache-2.0
// rnicsim compare: two results or two sweeps side by side, and the stage that made the difference.
#include "rnic/study/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <map>

#include "common.h"
#include "rnic/core/page.h"
#include "rnic/core/text.h"
#include "table.h"

namespace rnic::cli {
namespace {

using study::Difference;
using study::RunComparison;

struct Options {
  std::string a, b, junit, html, limit = "20";
  std::vector<std::string> tolerance;
  study::CompareOptions compare;
  bool json = false, all = false;
};

std::string shown(const nlohmann::json& v) {
  if (v.is_null()) return "-";
  const auto s = printable(study::value_text(v));
  // Commands differ at their ends.
  return s.size() > 64 ? clean(s.substr(0, 24)) + "..." + clean(s.substr(s.size() - 36)) : s;
}

std::string change(const Difference& d) {
  if (d.delta) return study::signed_text(*d.delta, study::unit_of(d.name));
  if (d.a.is_null()) return "only in B";
  if (d.b.is_null()) return "only in A";
  return "";
}

std::string verdict(const Difference& d) {
  if (d.within) return "allowed";
  return d.moved_with.empty() ? "DIFFERS" : "DIFFERS, with " + d.moved_with;
}

size_t beyond(const RunComparison& r) {
  return static_cast<size_t>(
      std::count_if(r.figures.begin(), r.figures.end(), [](const auto& d) { return !d.within; }));
}
size_t moved(const RunComparison& r) {
  return static_cast<size_t>(std::count_if(r.figures.begin(), r.figures.end(),
                                           [](const auto& d) { return !d.within && !d.moved_with.empty(); }));
}

std::string count(size_t n, const std::string& what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); }

/// The stages, before any figure: who reads no further has read what happened.
std::string stage_lines(const RunComparison& r, const char* indent) {
  std::string s;
  std::map<std::string, size_t> tables;  // a result may have a table of stages for each of many messages
  for (const auto& c : r.stages.changes) ++tables[c.stage];
  for (const auto& c : r.stages.changes) {
    auto& n = tables[c.stage];
    if (n == 0) continue;
    s += fmt::format("{}{}{}\n", indent, c.text(),
                     n > 1 ? fmt::format(" in {}; {} more tables of the result differ there", c.table, n - 1) : "");
    n = 0;
    for (const auto& p : c.parts) {
      s += fmt::format("{}  {}: {} -> {} ns\n", indent, printable(p.what), study::number_text(p.a_ns),
                       study::number_text(p.b_ns));
    }
  }
  if (!r.stages.note.empty()) s += fmt::format("{}{}\n", indent, r.stages.note);
  return s;
}

/// What a stage's change explains is left out, except for what is looked at first.
bool listed(const Difference& d, bool all) {
  if (all || d.moved_with.empty()) return true;
  return d.name.find("table.doorbell_to_") != std::string::npos;
}

Table figure_table() { return Table({"<figure", "A", "B", "difference", "<allowed", "<"}); }
void add_row(Table& t, const Difference& d) {
  t.row({printable(d.name), shown(d.a), shown(d.b), change(d), d.allowed, verdict(d)});
}

std::string configuration_text(const RunComparison& r, bool counts) {
  if (r.configuration.empty() && r.identity.empty()) return "";
  std::string out;
  const auto list = [&](const char* title, const std::vector<Difference>& all) {
    if (all.empty()) return;
    Table t({std::string("<") + title, "A", "B"});
    for (const auto& d : all) t.row({printable(d.name), shown(d.a), shown(d.b)});
    out += t.text() + "\n";
  };
  list(counts ? "configuration, DIFFERS" : "configuration, no failure by itself", r.configuration);
  list("not a result", r.identity);
  return out;
}

std::string run_text(const RunComparison& r, const Options& o, size_t limit) {
  std::string out = stage_lines(r, "");
  if (!out.empty()) out += "\n";
  auto t = figure_table();
  size_t rows = 0, left = 0;
  for (const auto& d : r.figures) {
    if (!listed(d, o.all)) continue;
    if (limit != 0 && rows == limit)
      ++left;
    else
      add_row(t, d), ++rows;
  }
  if (rows != 0) out += t.text() + "\n";
  if (left != 0) out += fmt::format("{} more; --limit 0 lists all\n", left);
  out += configuration_text(r, o.compare.same_configuration);
  const size_t bad = beyond(r), with = moved(r);
  out += fmt::format("{} compared: ", count(r.compared, "figure"));
  if (r.figures.empty())
    out += "all equal";
  else if (bad == 0)
    out += fmt::format("{} within what is allowed", count(r.figures.size(), "difference"));
  else
    out += fmt::format("{} beyond what is allowed", count(bad, "difference"));
  if (with != 0)
    out += fmt::format(", {} of them explained by the stage{}{}", with, r.stages.changes.size() == 1 ? "" : "s",
                       o.all ? "" : " (--all lists them)");
  return out + "\n";
}

/// What happened at many points, as one line each.
struct Group {
  std::vector<const RunComparison*> runs;
  double least = 0, most = 0;
};
std::string range(double a, double b, const std::string& unit) {
  return a == b ? study::signed_text(a, unit)
                : fmt::format("{} to {}", study::signed_text(a), study::signed_text(b, unit));
}

std::string sweep_text(const study::Comparison& c, const Options& o, size_t limit) {
  std::string out;
  std::map<std::string, Group> stages, figures;
  std::vector<std::string> stage_order, figure_order;
  size_t differing = 0;
  const auto put = [](std::map<std::string, Group>& all, std::vector<std::string>& order, const std::string& name,
                      const RunComparison& r, double delta) {
    auto& g = all[name];
    if (g.runs.empty()) {
      order.push_back(name);
      g.least = g.most = delta;
    }
    g.least = std::min(g.least, delta);
    g.most = std::max(g.most, delta);
    g.runs.push_back(&r);
  };
  for (const auto& r : c.runs) {
    differing += r.same ? 0 : 1;
    for (const auto& s : r.stages.changes) {
      const bool cycles = s.a_cycles && s.b_cycles && *s.a_cycles != *s.b_cycles;
      put(stages, stage_order, s.stage + (cycles ? "\tcycles" : "\tns"), r,
          cycles ? *s.b_cycles - *s.a_cycles : s.delta_ns());
    }
    for (const auto& d : r.figures) {
      if (!d.within && listed(d, o.all)) put(figures, figure_order, d.name, r, d.delta.value_or(0));
    }
  }
  for (const auto& name : stage_order) {
    const auto& g = stages[name];
    const size_t tab = name.find('\t');
    const auto* first = g.runs[0];
    const auto change_of = [&](const RunComparison& r) {
      return *std::find_if(r.stages.changes.begin(), r.stages.changes.end(),
                           [&](const auto& s) { return s.stage == name.substr(0, tab); });
    };
    std::string unit = name.substr(tab + 1);
    if (unit == "cycles" && g.least == g.most && std::abs(g.least) == 1) unit = "cycle";
    out += fmt::format("{} {} at {} of {}; first: {}, at {}\n", name.substr(0, tab), range(g.least, g.most, unit),
                       g.runs.size(), count(c.runs.size(), "point"), change_of(*first).text(), printable(first->name));
  }
  if (!stage_order.empty()) out += "\n";
  Table t({"<figure", "points", "difference", "<first at", "A", "B"});
  size_t left = 0, rows = 0;
  for (const auto& name : figure_order) {
    const auto& g = figures[name];
    if (limit != 0 && rows == limit) {
      ++left;
      continue;
    }
    ++rows;
    const auto& d = *std::find_if(g.runs[0]->figures.begin(), g.runs[0]->figures.end(),
                                  [&](const auto& f) { return f.name == name && !f.within; });
    t.row({printable(name), fmt::to_string(g.runs.size()),
           d.delta ? range(g.least, g.most, study::unit_of(name)) : change(d), printable(g.runs[0]->name), shown(d.a),
           shown(d.b)});
  }
  if (rows != 0) out += t.text() + "\n";
  if (left != 0) out += fmt::format("{} more figures; --limit 0 lists all\n", left);
  for (const auto& [title, list] : {std::pair{"only in A", &c.only_a}, {"only in B", &c.only_b}}) {
    for (size_t i = 0; i < list->size() && (limit == 0 || i < limit); ++i)
      out += fmt::format("{}: {}\n", title, printable((*list)[i]));
    if (limit != 0 && list->size() > limit) out += fmt::format("{}: {} more\n", title, list->size() - limit);
  }
  return out + fmt::format("{} compared: {} differ{}, {} only in A, {} only in B\n", count(c.runs.size(), "point"),
                           differing, differing == 1 ? "s" : "", c.only_a.size(), c.only_b.size());
}

nlohmann::json differences_json(const std::vector<Difference>& list) {
  auto out = nlohmann::json::array();
  for (const auto& d : list) {
    nlohmann::json j{{"name", d.name}, {"a", d.a}, {"b", d.b}};
    if (d.delta) j["difference"] = *d.delta;
    if (!d.allowed.empty()) {
      j["allowed"] = d.allowed;
      j["within"] = d.within;
    }
    if (!d.moved_with.empty()) j["moved_with"] = d.moved_with;
    out.push_back(std::move(j));
  }
  return out;
}

nlohmann::json json_of(const study::Comparison& c) {
  nlohmann::json j{{"schema_version", 1}, {"a", c.a},           {"b", c.b},
                   {"same", c.same()},    {"only_a", c.only_a}, {"only_b", c.only_b}};
  j["runs"] = nlohmann::json::array();
  for (const auto& r : c.runs) {
    auto stages = nlohmann::json::array();
    for (const auto& s : r.stages.changes) {
      nlohmann::json x{{"stage", s.stage}, {"table", s.table}, {"a_ns", s.a_ns}, {"b_ns", s.b_ns}, {"text", s.text()}};
      if (s.a_cycles) x["a_cycles"] = *s.a_cycles;
      if (s.b_cycles) x["b_cycles"] = *s.b_cycles;
      stages.push_back(std::move(x));
    }
    j["runs"].push_back({{"name", r.name},
                         {"same", r.same},
                         {"compared", r.compared},
                         {"stages", stages},
                         {"note", r.stages.note},
                         {"figures", differences_json(r.figures)},
                         {"configuration", differences_json(r.configuration)},
                         {"identity", differences_json(r.identity)}});
  }
  return j;
}

/// One case a stage that changed and a figure that no stage explains; or, of sweeps, a case a point.
std::vector<CheckResult> checks_of(const study::Comparison& c, bool configuration) {
  std::vector<CheckResult> out;
  for (const auto& p : c.only_a) out.push_back({p, "the point is in B", "a result", "none", false});
  for (const auto& p : c.only_b) out.push_back({p, "the point is in A", "a result", "none", false});
  for (const auto& r : c.runs) {
    if (c.sweeps) {
      const auto text = stage_lines(r, "");
      std::string what = text.substr(0, text.find('\n'));
      for (const auto& d : r.figures) {
        if (what.empty() && !d.within) what = fmt::format("{}: {} -> {}", d.name, shown(d.a), shown(d.b));
      }
      out.push_back({r.name, "figures", "as in A", what, r.same});
      continue;
    }
    for (const auto& s : r.stages.changes) {
      const auto name = s.table + ".stages." + s.stage + ".duration_ns";
      // The time on the wire is no stage of the table: it is judged by what it moved.
      const bool listed_stage =
          std::any_of(r.figures.begin(), r.figures.end(), [&](const auto& f) { return f.name == name; });
      const bool within = std::all_of(r.figures.begin(), r.figures.end(), [&](const auto& f) {
        return f.within || (listed_stage ? f.name != name : f.moved_with.find(s.stage) == std::string::npos);
      });
      const auto note = r.stages.note.empty() ? "" : "; " + r.stages.note;
      out.push_back({s.stage, "duration", study::number_text(s.a_ns) + " ns", s.text() + note, within});
    }
    size_t with = 0;
    for (const auto& d : r.figures) {
      if (d.moved_with.empty())
        out.push_back({d.name, "as in A", fmt::format("{} ({})", shown(d.a), d.allowed), shown(d.b), d.within});
      else
        with += d.within ? 0 : 1;
    }
    if (with != 0)
      out.push_back({"figures that a stage's change explains", "as in A", "0 differences",
                     fmt::format("{} differences", with), false});
    if (configuration) {
      for (const auto& d : r.configuration)
        out.push_back({d.name, "configuration as in A", shown(d.a), shown(d.b), false});
    }
    out.push_back(
        {"the rest", "as in A", "equal", fmt::format("{} figures equal", r.compared - r.figures.size()), true});
  }
  return out;
}

std::string html_of(const study::Comparison& c, const Options& o) {
  constexpr size_t kRuns = 200, kFigures = 2000;
  std::string s = page_head("rnicsim compare");
  size_t differing = 0;
  for (const auto& r : c.runs) differing += r.same ? 0 : 1;
  s += fmt::format("<header><h1>rnicsim compare</h1><p class=\"{}\">{}</p>\n", c.same() ? "good" : "bad",
                   c.same()   ? "no difference beyond what is allowed"
                   : c.sweeps ? fmt::format("{} of {} points differ, {} are only in one sweep", differing,
                                            c.runs.size(), c.only_a.size() + c.only_b.size())
                              : fmt::format("{} figures differ beyond what is allowed", beyond(c.runs[0])));
  s += fmt::format(
      "<dl><dt>A</dt><dd><code>{}</code></dd><dt>B</dt><dd><code>{}</code></dd><dt>again</dt><dd><code>{}</code></dd></"
      "dl></header>\n",
      xml(c.a), xml(c.b), xml(rerun_line()));
  const auto table = [&](const char* title, const std::vector<Difference>& list, bool figures) {
    if (list.empty()) return;
    s += fmt::format(
        "<table class=\"list\"><thead><tr><th>{}</th><th class=\"n\">A</th><th "
        "class=\"n\">B</th>{}</tr></thead><tbody>\n",
        title, figures ? "<th class=\"n\">difference</th><th>allowed</th><th></th>" : "");
    for (size_t i = 0; i < std::min(list.size(), kFigures); ++i) {
      const auto& d = list[i];
      s += fmt::format("<tr><td><code>{}</code></td><td class=\"n\">{}</td><td class=\"n\">{}</td>", xml(d.name),
                       xml(shown(d.a)), xml(shown(d.b)));
      if (figures) {
        s += fmt::format(
            "<td class=\"n\">{}</td><td>{}</td><td class=\"where\"><span class=\"chip {}\">{}</span>{}</td>",
            xml(change(d)), d.allowed,
            d.within               ? "good"
            : d.moved_with.empty() ? "bad"
                                   : "warn",
            d.within ? "allowed" : "differs", d.moved_with.empty() ? "" : " with " + xml(d.moved_with));
      }
      s += "</tr>\n";
    }
    s += "</tbody></table>\n";
  };
  for (const auto& [title, list] : {std::pair{"only in A", &c.only_a}, {"only in B", &c.only_b}}) {
    if (list->empty()) continue;
    s += fmt::format("<section><h2>{}</h2>\n", title);
    for (size_t i = 0; i < std::min(list->size(), kRuns); ++i) s += fmt::format("<div>{}</div>\n", xml((*list)[i]));
    if (list->size() > kRuns) s += fmt::format("<div>{} more</div>\n", list->size() - kRuns);
    s += "</section>\n";
  }
  size_t sections = 0;
  for (const auto& r : c.runs) {
    if (c.sweeps && r.same) continue;
    if (++sections > kRuns) continue;
    if (const auto text = stage_lines(r, ""); !text.empty() || c.sweeps) {
      s += fmt::format("<section><h2>{}</h2><pre>{}</pre></section>\n",
                       xml(c.sweeps                       ? r.name
                           : r.stages.changes.size() == 1 ? "The stage"
                                                          : "The stages"),
                       xml(text));
    }
    std::vector<Difference> first, explained;
    for (const auto& d : r.figures) (listed(d, false) ? first : explained).push_back(d);
    table("figure", first, true);
    if (!explained.empty()) {
      s += fmt::format("<details style=\"margin:0 0 16px\"><summary>{} that a stage's change explains</summary>\n",
                       count(explained.size(), "figure"));
      table("figure", explained, true);
      s += "</details>\n";
    }
    table(o.compare.same_configuration ? "configuration" : "configuration, no failure by itself", r.configuration,
          false);
    table("not a result", r.identity, false);
  }
  if (sections > kRuns) s += fmt::format("<p>{} more points differ</p>\n", sections - kRuns);
  return s + "</body></html>\n";
}

int run(Options& o) {
  for (const auto& t : o.tolerance) o.compare.tolerances.push_back(study::parse_tolerance(t));
  const uint64_t limit = parse_u64(o.limit, "--limit");
  const auto c = study::compare_paths(o.a, o.b, o.compare);
  for (const auto& g : c.unused_tolerances) spdlog::warn("--tolerance '{}' fits no figure", printable(g));
  if (o.json) {
    fmt::print("{}\n", json_text(json_of(c)));
  } else {
    fmt::print("A: {}\nB: {}\n\n", printable(c.a), printable(c.b));
    fmt::print("{}", c.sweeps ? sweep_text(c, o, limit) : run_text(c.runs[0], o, limit));
  }
  if (!o.junit.empty()) write_junit(o.junit, "rnicsim compare", checks_of(c, o.compare.same_configuration), "");
  if (!o.html.empty()) write_file(o.html, html_of(c, o));
  return c.same() ? kGood : kCheckFailed;
}

}  // namespace

void add_compare(CLI::App& app, int& status) {
  static Options o;
  auto* sub =
      app.add_subcommand("compare", "Two results or sweeps side by side, and the stage that made the difference");
  sub->add_option("A", o.a, "Run directory, result.json, folder of a sweep, or sweep.csv")
      ->required()
      ->type_name("RESULT");
  sub->add_option("B", o.b, "The other one, of the same kind")->required()->type_name("RESULT");
  sub->add_option(
         "--tolerance", o.tolerance,
         "How far figures may be off, in their unit or in percent of A; may be given many times, of several that "
         "fit the last counts [exact]")
      ->type_name("[GLOB=]N[%]")
      ->allow_extra_args(false)
      ->group("What counts");
  sub->add_option("--ignore", o.compare.ignore, "Figures that are not compared; may be given many times")
      ->type_name("GLOB")
      ->allow_extra_args(false)
      ->group("What counts");
  sub->add_flag("--same-configuration", o.compare.same_configuration, "Differences in options and profile count, too")
      ->group("What counts");
  sub->add_flag("--all", o.all, "List what a stage's change explains, too")->group("Output");
  sub->add_option("--limit", o.limit, "Lines of a list; 0: all [20]")->type_name("N")->group("Output");
  sub->add_flag("--json", o.json, "Print the result as JSON on stdout, and nothing else there")->group("Output");
  sub->add_option("--junit", o.junit, "Write JUnit XML")->type_name("FILE")->group("Output");
  sub->add_option("--html", o.html, "Write a page")->type_name("FILE")->group("Output");
  sub->footer(
      "Names of figures are those of result.json, with a dot at each level: table.stages.packetize.duration_ns. A "
      "glob\n"
      "without a dot fits any part of the name; * stops at a dot, ** does not. Figures that one side lacks are\n"
      "differences. Host, versions, command and wall clock are shown and never fail.\n\n"
      "Exit status: 0 no difference beyond what is allowed; 1 there are; 2 bad usage, or no result of this schema.\n\n"
      "Examples:\n"
      "  rnicsim compare out/main out/branch                       which stage became slower, and by how many cycles\n"
      "  rnicsim compare a/result.json b/result.json --junit compare.xml --html compare.html\n"
      "  rnicsim compare out/main out/branch --tolerance 'latencies=1%' --tolerance '*_gbps=0.5' --ignore counters\n"
      "  rnicsim compare out/sweep-main out/sweep-branch           two sweeps, point by point");
  sub->callback([&status] { status = run(o); });
}

}  // namespace rnic::cli
