// SPDX-License-Identifier: Apache-2.0
// rnicsim regress: runs a plan of tests with their seeds, and reports.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <thread>

#include "common.h"
#include "rnic/core/error.h"
#include "rnic/regress/coverage.h"
#include "rnic/regress/journal.h"
#include "rnic/regress/plan.h"
#include "rnic/regress/runner.h"
#include "rnic/regress/summary.h"
#include "table.h"

namespace rnic::cli {
namespace fs = std::filesystem;
namespace {

struct Options {
  std::string plan, out, shard, history, seed, build;
  std::vector<std::string> only, labels, dirs;
  unsigned jobs = 0;
  size_t max_failures = 0;
  bool resume = false, fresh = false, list = false, dry_run = false, fail_fast = false, partial = false;
  bool write_baseline = false, no_record = false;
};

/// Adds this regression's summary to those that later ones are compared with.
void record(const Options& o, const regress::Summary& s, const std::string& json) {
  if (o.history.empty() || o.no_record || s.not_run != 0 || s.shard.count != 1) return;
  std::error_code ec;
  fs::create_directories(o.history, ec);
  if (!fs::is_directory(o.history, ec)) {
    throw InputError(o.history, 0, "--history",
                     "is no folder: a summary can be read from a file, but is added to a folder; "
                     "give --no-record as well");
  }
  std::string stamp;
  for (const char c : s.started.substr(0, 19)) stamp += c == ' ' ? 'T' : c == ':' ? '-' : c;
  stamp += fmt::format(".{:03}", static_cast<unsigned>(std::fmod(s.started_s, 1) * 1000));
  // The same regression, reported again, stays one entry.
  write_file((fs::path(o.history) / fmt::format("{}-{}-{}.json", s.plan->name, stamp, s.plan->hash)).string(), json);
}

/// Reads what the directory holds, and writes everything that is written about it.
int report(const Options& o, const regress::Kept& kept) {
  std::vector<regress::Earlier> history;
  if (!o.history.empty()) {
    std::vector<std::string> skipped;
    history = regress::read_history(o.history, kept.plan.name, skipped);
    for (const auto& s : skipped) spdlog::warn("history: left out {}", printable(s));
    // This one may be there already, from a report before.
    double started = 0;
    for (const auto& [i, r] : kept.results) started = started == 0 ? r.started_s : std::min(started, r.started_s);
    history.erase(std::remove_if(history.begin(), history.end(), [&](const auto& h) { return h.started_s >= started; }),
                  history.end());
  }
  auto s = regress::summarize(kept.plan, kept.shard, kept.results, std::move(history), arguments()[0]);
  if (s.not_run == 0) regress::merge_coverage(kept.dir, s);
  const auto at = [&](const char* name) { return (fs::path(kept.dir) / name).string(); };
  const auto json = json_text(regress::json_of(s)) + "\n";
  write_file(at("report.html"), regress::html_of(s));
  write_file(at("junit.xml"), regress::junit_of(s));
  write_file(at("summary.json"), json);
  write_file(at("replay.txt"), regress::replay_of(s));
  fmt::print("{}", regress::text_of(s, kept.dir));
  fmt::print("report: {}\n", at("report.html"));
  record(o, s, json);
  return s.good() && s.not_run == 0 ? kGood : kCheckFailed;
}

void print_list(const regress::Plan& plan, const regress::Shard& shard, const Options& o) {
  const auto runs = regress::runs_of(plan, shard);
  if (o.dry_run) {
    for (const auto& r : runs) {
      const auto words = regress::words_of(plan, r, {(fs::path(o.out) / r.dir).string(), "none", arguments()[0]});
      fmt::print("{}:", r.name);
      for (const auto& w : words) fmt::print(" {}", printable(w));
      fmt::print("\n");
    }
  } else {
    Table t({"<run", "timeout", "<labels"});
    for (const auto& r : runs) {
      const auto& test = plan.test_of(r);
      t.row(
          {printable(r.name), fmt::format("{:g} s", test.timeout_s), fmt::format("{}", fmt::join(test.labels, ", "))});
    }
    fmt::print("{}", t.text());
  }
  fmt::print("{} runs{}\n", runs.size(),
             shard.count > 1 ? fmt::format(" of {}, shard {}/{}", plan.runs.size(), shard.index, shard.count) : "");
}

int run(Options o) {
  const auto shard = parse_shard(o.shard);
  if (o.resume && o.fresh) throw InputError("", 0, "--resume", "excludes --fresh");
  regress::PlanOptions po;
  if (!o.seed.empty()) po.seed = parse_u64(o.seed, "--seed");
  po.build = o.build;
  po.only = o.only;
  po.labels = o.labels;
  po.writes_baseline = o.write_baseline;
  const auto plan = regress::load_plan(o.plan, po);
  if (o.write_baseline && plan.baseline.empty())
    throw InputError(o.plan, 0, "plan.baseline", "names no file, and --write-baseline needs one to write");
  if (o.write_baseline && (plan.has_selection || shard.count > 1))
    throw InputError("", 0, "--write-baseline", "excludes --only, --label and --shard: the file holds all metrics");
  if (o.out.empty()) {
    o.out = plan.out;
    if (shard.count > 1) o.out += fmt::format("-{}of{}", shard.index, shard.count);
  }
  if (o.list || o.dry_run) {
    print_list(plan, shard, o);
    return kGood;
  }
  using Mode = regress::Journal::Mode;
  auto ro = runner_options(o.jobs != 0 ? o.jobs : plan.jobs, shard);
  ro.max_failures = o.fail_fast ? 1 : o.max_failures;
  regress::Journal journal(o.out, plan, shard, o.resume ? Mode::kResume : o.fresh ? Mode::kFresh : Mode::kNew);
  const auto runs = regress::runs_of(plan, shard).size();
  if (journal.other_program() && !journal.results().empty())
    spdlog::warn("this program is of another build than the one that began; its results are kept. --fresh starts anew");
  if (!journal.results().empty()) spdlog::info("resuming: {} of {} runs are done", journal.results().size(), runs);
  spdlog::info("{} runs, {} at a time, into {}", runs, ro.jobs, o.out);
  const auto end = regress::execute(plan, ro, journal);
  const auto kept = regress::read_directory(o.out);
  int status = report(o, kept);
  if (end == regress::End::kComplete) {
    if (o.write_baseline) {
      const auto s = regress::summarize(kept.plan, shard, kept.results, {}, arguments()[0]);
      if (s.failed != 0) throw InputError("", 0, "--write-baseline", "runs have failed: nothing is written");
      write_file(plan.baseline, regress::baseline_of(s));
      fmt::print("baseline: {}\n", plan.baseline);
      status = kGood;
    }
    return status;
  }
  spdlog::warn("{}; to go on: {}",
               end == regress::End::kInterrupted ? "interrupted" : "stopped after the failures allowed",
               resume_line("regress"));
  return end == regress::End::kInterrupted ? kInterrupted : kCheckFailed;
}

}  // namespace

void add_regress(CLI::App& app, int& status) {
  static Options o;
  auto* sub = app.add_subcommand("regress", "Run a plan of tests with their seeds, and report what failed");
  sub->add_option("PLAN", o.plan, "Plan (TOML), see docs/regress.md")->type_name("PLAN.toml");
  const auto common = [&](CLI::App* a) {
    a->add_option("--history", o.history,
                  "Folder of earlier summaries: compare with the last one, draw trends, add this one")
        ->type_name("DIR");
    a->add_flag("--no-record", o.no_record, "Do not add this one to the history");
  };
  sub->add_option("-o,--out", o.out, "The regression's folder [out of the plan, or out/regress/NAME]")
      ->type_name("DIR");
  sub->add_option("-j,--jobs", o.jobs, "Runs at a time [jobs of the plan, or one a core]")
      ->type_name("N")
      ->check(quiet_check(CLI::Range(1u, 1024u)));
  sub->add_option("--only", o.only, "Runs whose name (test or test:seed) matches; may be given many times")
      ->type_name("REGEX")
      ->allow_extra_args(false)
      ->group("Which runs");
  sub->add_option("--label", o.labels, "Tests with this label; may be given many times")
      ->type_name("LABEL")
      ->allow_extra_args(false)
      ->group("Which runs");
  sub->add_option("--seed", o.seed, "What random seeds are drawn from [seed of the plan, or 1]")
      ->type_name("N")
      ->group("Which runs");
  sub->add_option("--shard", o.shard, "The I-th of N equal parts of the runs, for machines of a matrix or cluster")
      ->type_name("I/N")
      ->group("Which runs");
  sub->add_option("--build", o.build, "Build directory of the CTest tests, instead of the plan's")
      ->type_name("DIR")
      ->group("Which runs");
  sub->add_flag("--list", o.list, "Say which runs there are, and run nothing")->group("Which runs");
  sub->add_flag("--dry-run", o.dry_run, "Print each run's command, and run nothing")->group("Which runs");
  sub->add_flag("--resume", o.resume, "Go on with what is in the folder: finished runs are kept")->group("How");
  sub->add_flag("--fresh", o.fresh, "Start anew, even if what is in the folder is unfinished")->group("How");
  sub->add_flag("--fail-fast", o.fail_fast, "Start no more runs after the first failure")->group("How");
  sub->add_option("--max-failures", o.max_failures, "Start no more runs after N failures")
      ->type_name("N")
      ->check(quiet_check(CLI::Range(size_t{1}, size_t{1} << 31)))
      ->group("How");
  sub->add_flag("--write-baseline", o.write_baseline, "Write the metrics of this regression as the plan's baseline")
      ->group("How");
  common(sub);
  sub->footer(
      "The folder holds report.html, junit.xml, summary.json, replay.txt (a line that runs each failure again), and a\n"
      "folder for each run with its log and, of failures, waveforms.\n\n"
      "Exit status: 0 all runs and metrics good; 1 something failed; 2 bad usage or plan; 130 interrupted (go on with\n"
      "--resume; after kill -9, too).\n\n"
      "Examples:\n"
      "  rnicsim regress sim/plans/ci.toml --list                       what would run\n"
      "  rnicsim regress sim/plans/ci.toml -j 2 --history out/history   run it, compare with the last one\n"
      "  rnicsim regress sim/plans/ci.toml --only '^reference$'       one run of it\n"
      "  rnicsim regress sim/plans/ci.toml --shard 1/2 -o out/s1        half of it; 2/2 elsewhere, then:\n"
      "  rnicsim regress merge out/s1 out/s2 -o out/all                 one report of both\n"
      "  rnicsim regress report out/s1                                  what an interrupted one has come to");

  auto* merge = sub->add_subcommand("merge", "Put the folders of all shards together, and report");
  merge->add_option("DIRS", o.dirs, "Folders of shards")->required()->type_name("DIR...");
  merge->add_option("-o,--out", o.out, "Folder of the whole")->required()->type_name("DIR");
  merge->add_flag("--partial", o.partial, "Merge what there is: missing and unfinished shards are reported as not run");
  merge->add_flag("--fresh", o.fresh, "Replace an unfinished regression in the folder");
  common(merge);
  merge->footer("Example:\n  rnicsim regress merge out/s1 out/s2 -o out/all --history out/history");

  auto* again = sub->add_subcommand("report", "Write the report of a folder again, running nothing");
  again->add_option("DIR", o.dirs, "Folder of a regression")->required()->expected(1)->type_name("DIR");
  common(again);
  again->footer("Example:\n  rnicsim regress report out/regress/ci --history out/history");

  sub->callback([&status, sub, merge, again] {
    if (merge->parsed()) {
      if (!o.plan.empty()) throw InputError("", 0, "merge", "takes no plan: it is in the folders");
      status = report(o, regress::merge(o.dirs, o.out, o.partial, o.fresh));
    } else if (again->parsed()) {
      status = report(o, regress::read_directory(o.dirs[0]));
    } else {
      if (o.plan.empty())
        throw InputError("", 0, "PLAN", "is missing: give a plan's file, merge or report (see --help)");
      status = run(o);
    }
  });
}

}  // namespace rnic::cli
