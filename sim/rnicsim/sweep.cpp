// SPDX-License-Identifier: Apache-2.0
// rnicsim sweep: a command at every point of a grid, as one table and its pictures.
#include "rnic/study/sweep.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "common.h"
#include "rnic/core/file.h"
#include "rnic/core/names.h"
#include "rnic/core/text.h"
#include "rnic/regress/runner.h"
#include "table.h"

namespace rnic::cli {
namespace fs = std::filesystem;
namespace {

constexpr size_t kPrinted = 40;

struct Options {
  std::vector<std::string> set, option, command, dirs;
  std::string out, shard;
  study::SweepView view;
  unsigned jobs = 0;
  double timeout_s = 3600;
  bool zip = false, resume = false, fresh = false, list = false, keep_files = false, partial = false;
};

const CLI::Option* find_option(const CLI::App& app, const std::string& name) {
  const auto dashed = (name.size() == 1 ? "-" : "--") + name;
  for (const auto* a = &app; a != nullptr; a = a->get_parent()) {
    if (const auto* o = a->get_option_no_throw(dashed)) return o;
  }
  return nullptr;
}

std::string nearest_options(const CLI::App& command, const std::string& name) {
  std::vector<std::string> names;
  for (const auto* o : command.get_options()) {
    for (const auto& l : o->get_lnames()) names.push_back(l);
  }
  return fmt::format("; nearest: {}", fmt::join(nearest(name, names), ", "));
}

/// The subcommand that the words call, when it is one that simulates and leaves a run directory.
const CLI::App& called(const CLI::App& root, const std::vector<std::string>& words) {
  const auto subcommand = [](const CLI::App& of, const std::string& name) -> const CLI::App* {
    for (const auto* s : of.get_subcommands([](const CLI::App*) { return true; })) {
      if (s->get_name() == name) return s;
    }
    return nullptr;
  };
  const auto simulates = [](const CLI::App& a) {
    return a.get_option_no_throw("--set") != nullptr && a.get_option_no_throw("--out") != nullptr &&
           a.get_option_no_throw("--trace") != nullptr;
  };
  const CLI::App* at = &root;
  for (const auto& w : words) {
    if (w.empty() || w[0] == '-') break;
    const auto* next = subcommand(*at, w);
    if (next == nullptr) break;
    at = next;
  }
  const auto inner = at->get_subcommands([](const CLI::App*) { return true; });
  const bool any_inner = std::any_of(inner.begin(), inner.end(), [&](const auto* s) { return simulates(*s); });
  if (at != &root && (simulates(*at) || any_inner)) return *at;
  std::vector<std::string> good;
  for (const auto* s : root.get_subcommands([](const CLI::App*) { return true; })) {
    const auto below = s->get_subcommands([](const CLI::App*) { return true; });
    if (simulates(*s) || std::any_of(below.begin(), below.end(), [&](const auto* b) { return simulates(*b); }))
      good.push_back(s->get_name());
  }
  throw InputError("", 0, "COMMAND",
                   words.empty() ? fmt::format("is missing: write it behind --, for example -- stages --size 4096")
                                 : fmt::format("'{}' leaves no result to sweep over; there are: {}", words[0],
                                               fmt::join(good, ", ")));
}

/// What the command's own words may not say: what is swept, and where the run goes.
void check_command(const Options& o, const CLI::App& command, const std::vector<study::AxisText>& axes) {
  for (size_t i = 0; i < o.command.size(); ++i) {
    const auto& w = o.command[i];
    const auto given = [&](const std::string& name) {  // the option, by any of its names
      const auto* option = find_option(command, name);
      if (option == nullptr || w.size() < 2 || w[0] != '-') return false;
      const auto own = w.substr(0, w.find('='));
      const auto& longs = option->get_lnames();
      if (own.compare(0, 2, "--") == 0) return std::find(longs.begin(), longs.end(), own.substr(2)) != longs.end();
      const auto& shorts = option->get_snames();
      return std::find(shorts.begin(), shorts.end(), own.substr(1, 1)) != shorts.end();
    };
    if (given("out"))
      throw InputError("", 0, w, "is the sweep's own: every point has a folder below the sweep's -o DIR");
    if (w.compare(0, 2, "--") == 0 && find_option(command, w.substr(2, w.find('=') - 2)) == nullptr) {
      throw InputError("", 0, w, fmt::format("is no option of {}{}", command.get_name(), nearest_options(command, w)));
    }
    for (const auto& a : axes) {
      const bool key = find_key(a.name()) != nullptr;
      std::string value;
      if (w == "--set" && i + 1 < o.command.size()) value = o.command[i + 1];
      if (w.compare(0, 6, "--set=") == 0) value = w.substr(6);
      if ((key && value.compare(0, a.name().size() + 1, a.name() + "=") == 0) || (!key && given(a.name())))
        throw InputError("", 0, a.name(), "is swept over, and the command sets it, too");
    }
  }
}

std::vector<study::AxisText> axes_of(const Options& o, const CLI::App& command) {
  // In the order of the command line, whichever option they came by: the last one varies fastest.
  std::vector<study::AxisText> out;
  size_t keys = 0, options = 0;
  for (const auto& w : arguments()) {
    const auto flag = w.substr(0, w.find('='));
    if (w == "--") break;
    if (flag == "--set" && keys < o.set.size()) {
      const auto& text = o.set[keys++];
      const auto name = text.substr(0, text.find('='));
      if (find_key(name) == nullptr && !name.empty() && find_option(command, name) != nullptr) {
        throw InputError("", 0, name,
                         fmt::format("is no key of the profile but an option of the command: write --option {}", text));
      }
      out.emplace_back(study::Axis::Of::kKey, text, "--set");
    } else if (flag == "--option" && options < o.option.size()) {
      auto text = o.option[options++];
      const size_t eq = std::min(text.find('='), text.size()), dashes = text.find_first_not_of('-');
      const auto name = dashes < eq ? text.substr(dashes, eq - dashes) : std::string();
      if (find_key(name) != nullptr)
        throw InputError("", 0, name, fmt::format("is a key of the profile: write --set {}", text));
      const auto* option = find_option(command, name);
      if (option == nullptr && !name.empty()) {
        throw InputError("", 0, name,
                         fmt::format("is no option of {}{}", command.get_name(), nearest_options(command, name)));
      }
      // One name for one thing: -s and --size are the same column.
      if (option != nullptr && !option->get_lnames().empty()) text = option->get_lnames()[0] + text.substr(eq);
      out.emplace_back(study::Axis::Of::kOption, text, "--option");
    }
  }
  return out;
}

/// `ran`: the points were run just now, and a glob that fits nothing is no reason to keep their table back.
int report(const regress::Kept& kept, const study::SweepView& view, bool ran) {
  const auto t = study::table_of(kept, &view);
  for (const auto& u : t.unmatched) {
    if (!ran && !(view.metrics.empty() && view.plots.empty())) throw InputError("", 0, "", u);
    spdlog::warn("{}", printable(u));
  }
  const auto at = [&](const char* name) { return (fs::path(kept.dir) / name).string(); };
  write_whole(at(regress::kSweepCsv), study::csv_of(t));
  write_whole(at(regress::kSweepPage), study::page_of(t));
  const auto columns = study::plotted(t);
  std::vector<std::string> headings;
  for (const auto& a : t.sweep.axes) headings.push_back((a.numeric ? "" : "<") + a.column());
  headings.emplace_back("<status");
  headings.insert(headings.end(), columns.begin(), columns.end());
  headings.emplace_back("<");
  Table table(headings);
  size_t left = 0, good = 0, bad = 0;
  for (size_t r = 0; r < t.rows.size(); ++r) {
    const auto& row = t.rows[r];
    size_t& printed = row.good() || row.status == "not_run" ? good : bad;
    if (++printed > kPrinted) {
      ++left;
      continue;
    }
    std::vector<std::string> cells;
    for (const auto& v : t.sweep.points[r]) cells.push_back(printable(v));
    cells.push_back(row.status);
    for (const auto& c : columns) {
      const auto v = row.figures.number(c);
      cells.push_back(v ? study::number_text(*v) : "-");
    }
    const std::string why = printable(row.error);
    cells.push_back(why.size() > 120 ? clean(why.substr(0, 117)) + "..." : why);
    table.row(cells);
  }
  fmt::print("{}", table.text());
  if (left != 0) fmt::print("{} more points are in the file\n", left);
  fmt::print("table: {}\nplot:  {}\n", at(regress::kSweepCsv), at(regress::kSweepPage));
  if (t.bad() != 0)
    spdlog::error("{} of {} points without a good result: see the column error", t.bad(), t.rows.size());
  return t.bad() == 0 ? kGood : kCheckFailed;
}

int run(Options o, const CLI::App& root) {
  if (o.resume && o.fresh) throw InputError("", 0, "--resume", "excludes --fresh");
  const auto shard = parse_shard(o.shard);
  const auto& command = called(root, o.command);
  const auto axes = axes_of(o, command);
  auto grid = study::make_grid(axes, o.zip);
  check_command(o, command, axes);
  study::Sweep sweep{std::move(grid.axes), std::move(grid.points), o.zip, o.command, o.view};
  if (!o.view.x.empty() &&
      std::none_of(sweep.axes.begin(), sweep.axes.end(), [&](const auto& a) { return a.name == o.view.x; }))
    throw InputError("", 0, "--x", fmt::format("'{}' is not swept over", o.view.x));
  const auto plan = study::plan_of(sweep, o.timeout_s, o.keep_files);
  if (o.out.empty()) o.out = "out/sweep" + (shard.count > 1 ? fmt::format("-{}of{}", shard.index, shard.count) : "");
  if (o.list) {
    for (const auto& r : regress::runs_of(plan, shard)) {
      const auto words = regress::words_of(plan, r, {(fs::path(o.out) / r.dir).string(), "none", arguments()[0]});
      std::string line;
      for (const auto& w : words) line += (line.empty() ? "" : " ") + quoted(w);
      fmt::print("{}\n", line);
    }
    return kGood;
  }
  using Mode = regress::Journal::Mode;
  const auto ro = runner_options(o.jobs, shard);
  regress::End end{};
  {
    regress::Journal journal(o.out, plan, shard, o.resume ? Mode::kResume : o.fresh ? Mode::kFresh : Mode::kNew);
    if (journal.other_program() && !journal.results().empty())
      spdlog::warn(
          "this program is of another build than the one that began; its results are kept. --fresh starts anew");
    const auto runs = regress::runs_of(plan, shard).size();
    if (!journal.results().empty()) spdlog::info("resuming: {} of {} points are done", journal.results().size(), runs);
    spdlog::info("{} points, {} at a time, into {}", runs, ro.jobs, o.out);
    end = regress::execute(plan, ro, journal);
  }
  const int status = report(regress::read_directory(o.out, "sweep"), o.view, true);
  if (end != regress::End::kInterrupted) return status;
  spdlog::warn("interrupted; to go on: {}", resume_line("sweep"));
  return kInterrupted;
}

}  // namespace

void add_sweep(CLI::App& app, int& status) {
  static Options o;
  auto* sub = app.add_subcommand("sweep", "A command at every point of a grid: one table, and pictures of it");
  const auto view = [&](CLI::App* a) {
    a->add_option("--metric", o.view.metrics,
                  "Figures that the table has; may be given many times [times, rates, and each stage's]")
        ->type_name("GLOB")
        ->allow_extra_args(false)
        ->group("Table and plot");
    a->add_option("--plot", o.view.plots, "Figures that are drawn; may be given many times [from end to end]")
        ->type_name("GLOB")
        ->allow_extra_args(false)
        ->group("Table and plot");
    a->add_option("--x", o.view.x, "What the x axis shows [what has the most values]; the rest are lines")
        ->type_name("NAME")
        ->group("Table and plot");
  };
  sub->add_option("COMMAND", o.command, "Behind --: the command and its own options")->type_name("...");
  sub->add_option("--set", o.set, "Sweep over a key of the profile; may be given many times")
      ->type_name("KEY=VALUES")
      ->allow_extra_args(false)
      ->group("Points");
  sub->add_option("--option", o.option, "Sweep over an option of the command, written without dashes; likewise")
      ->type_name("NAME=VALUES")
      ->allow_extra_args(false)
      ->group("Points");
  sub->add_flag("--zip", o.zip, "Not all combinations, but the first values of all, the second ones, and so on")
      ->group("Points");
  sub->add_flag("--list", o.list, "Print each point's command, and run nothing")->group("Points");
  sub->add_option("-o,--out", o.out, "The sweep's folder [out/sweep]")->type_name("DIR")->group("How");
  sub->add_option("-j,--jobs", o.jobs, "Points at a time [one a core]")
      ->type_name("N")
      ->check(quiet_check(CLI::Range(1u, 1024u)))
      ->group("How");
  sub->add_option("--shard", o.shard, "The I-th of N equal parts of the points; merge puts them together")
      ->type_name("I/N")
      ->group("How");
  sub->add_flag("--resume", o.resume, "Go on with what is in the folder: finished points are kept")->group("How");
  sub->add_flag("--fresh", o.fresh, "Start anew, even if what is in the folder is unfinished")->group("How");
  sub->add_option("--timeout", o.timeout_s, "Real time that a point may take, in seconds [3600]")
      ->type_name("S")
      ->check(quiet_check(CLI::Range(0.01, 7 * 24 * 3600.0)))
      ->group("How");
  sub->add_flag("--keep-files", o.keep_files,
                "Keep all that a point leaves (report, packets, TLPs, waveform), not only its result, profile and log")
      ->group("How");
  view(sub);
  sub->footer(
      "VALUES: values and ranges between commas. LO:HI:STEP counts up to HI, LO:HI:xFACTOR multiplies: 64:65536:x4 is\n"
      "64, 256, ... 65536. A key's value is in its unit ('rnicsim profile show'). The last one given varies fastest.\n"
      "Names and globs of figures are those of result.json: table.stages.packetize.duration_ns; a glob without a dot "
      "fits\n"
      "any part of the name, * stops at a dot, ** does not.\n\n"
      "The folder holds sweep.csv (a row a point: swept values, status, figures, error), sweep.html (the plot, one "
      "file),\n"
      "and a folder for each point with its result.json and log. A point that fails is a row with its error.\n\n"
      "Exit status: 0 all points good; 1 some are not; 2 bad usage; 130 interrupted (go on with --resume; after kill "
      "-9,\n"
      "too).\n\n"
      "Examples:\n"
      "  rnicsim sweep --set pcie.nic_link_latency=25:105:20 --option mtu=256,1024,4096 -- stages --size 4096\n"
      "  rnicsim sweep --option size=64:65536:x4 --option mem=gpu,host --plot '*last_bit_ns' -o out/sizes -- stages\n"
      "  rnicsim sweep --zip --set pcie.generation=3,4,5 --set mac.rate=100,200,400 -- stages --size 4096\n"
      "  rnicsim sweep --set pcie.nph_credits=4:64:4 -j 4 -- run sim/scenarios/two_queues.toml\n"
      "  rnicsim sweep --set mac.rate=100,200 --shard 1/2 -o out/s1 -- stages      # and 2/2 elsewhere, then:\n"
      "  rnicsim sweep merge out/s1 out/s2 -o out/all");

  auto* merge = sub->add_subcommand("merge", "Put the folders of all shards together");
  merge->add_option("DIRS", o.dirs, "Folders of shards")->required()->type_name("DIR...");
  merge->add_option("-o,--out", o.out, "Folder of the whole")->required()->type_name("DIR");
  merge->add_flag("--partial", o.partial, "Merge what there is: missing points are rows with the status not_run");
  merge->add_flag("--fresh", o.fresh, "Replace an unfinished sweep in the folder");
  view(merge);
  merge->footer("Example:\n  rnicsim sweep merge out/s1 out/s2 -o out/all");

  auto* again = sub->add_subcommand("report", "Write table and plot of a folder again, running nothing");
  again->add_option("DIR", o.dirs, "Folder of a sweep")->required()->expected(1)->type_name("DIR");
  view(again);
  again->footer("Example:\n  rnicsim sweep report out/sweep --x mtu --plot 'packetize.duration_ns'");

  sub->callback([&status, &app, merge, again] {
    if (merge->parsed()) {
      status = report(regress::merge(o.dirs, o.out, o.partial, o.fresh, "sweep"), o.view, false);
    } else if (again->parsed()) {
      status = report(regress::read_directory(o.dirs[0], "sweep"), o.view, false);
    } else {
      status = run(o, app);
    }
  });
}

}  // namespace rnic::cli
