// SPDX-License-Identifier: Apache-2.0
// rnicsim profile validate: a profile beside published measurements.
#include "validate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "rnic/core/file.h"
#include "rnic/core/names.h"
#include "rnic/core/text.h"
#include "rnic/observe/sections.h"
#include "rnic/regress/runner.h"
#include "rnic/study/validation.h"
#include "table.h"

namespace rnic::cli {
namespace fs = std::filesystem;
namespace {

constexpr double kFitTolerance = 1;  ///< percent

struct Options {
  Common common;
  std::string figures;
  std::vector<std::string> only;
  unsigned jobs = 0;
  bool check = false, list = false;
};

/// Only the figures whose names fit, and the runs that they need.
void select(study::Validation& v, const std::vector<std::string>& globs) {
  if (globs.empty()) return;
  std::vector<study::PublishedFigure> kept;
  for (const auto& f : v.figures) {
    if (std::any_of(globs.begin(), globs.end(), [&](const auto& g) { return glob(g, f.name); })) kept.push_back(f);
  }
  if (kept.empty()) {
    std::vector<std::string> names;
    for (const auto& f : v.figures) names.push_back(f.name);
    throw InputError("", 0, "--only",
                     fmt::format("no figure's name fits; nearest: {}", fmt::join(nearest(globs[0], names), ", ")));
  }
  std::vector<study::ValidationRun> runs;
  for (auto& f : kept) {
    for (auto& t : f.ours) {
      const auto& wanted = v.runs[t.run];
      auto it = std::find_if(runs.begin(), runs.end(), [&](const auto& r) { return r.name == wanted.name; });
      if (it == runs.end()) it = runs.insert(runs.end(), wanted);
      t.run = static_cast<unsigned>(it - runs.begin());
    }
  }
  v.figures = std::move(kept);
  v.runs = std::move(runs);
}

std::string key_text(const Profile& p, const std::string& key) {
  const KeyValue& e = p.entry(key);
  const KeyInfo* info = find_key(key);
  const auto* number = std::get_if<double>(&e.value);
  return fmt::format("{} = {}{}", key, number ? fmt::to_string(*number) : std::get<std::string>(e.value),
                     info->unit == "1" || info->unit == "text" ? "" : " " + info->unit);
}

void print(const study::ValidationResult& r, const Profile& p) {
  const study::Validation& v = *r.of;
  fmt::print("{}\n\n", wrapped(fmt::format("{}: {}", p.name(), p.description())));
  Table t({"<figure", "<use", "published", "<range", "ours", "<unit", "error", "<source"});
  bool before = true;
  std::vector<const study::ValidatedFigure*> order;
  for (const bool fitted : {true, false}) {
    for (const auto& f : r.figures) {
      if ((f.published->fitted && !r.as_held_out) == fitted) order.push_back(&f);
    }
  }
  for (const auto* f : order) {
    const auto& q = *f->published;
    const bool fitted = q.fitted && !r.as_held_out;
    if (before && !fitted && !t.empty()) t.rule();
    before = fitted;
    t.row({q.name, fitted ? "fitted" : "held out", study::figure_text(q.value),
           q.lo == 0 ? "" : fmt::format("{} to {}", study::figure_text(q.lo), study::figure_text(q.hi)),
           f->ours ? study::figure_text(*f->ours) : "-", q.unit,
           f->ours ? fmt::format("{:+.1f} %", f->error_percent()) : "-", v.sources[q.source].name});
  }
  fmt::print("{}\n", t.text());
  Table sums({"<", "figures", "mean error", "worst", "<of"});
  const auto sum = [&](const char* name, const study::ErrorSummary& s) {
    if (s.count == 0) return;
    sums.row({name, fmt::to_string(s.count), fmt::format("{:.1f} %", s.mean_percent),
              fmt::format("{:.1f} %", s.worst_percent), s.worst});
  };
  sum("fitted", r.fitted);
  sum("held out", r.held_out);
  fmt::print("{}", sums.text());
  if (r.as_held_out)
    fmt::print("No figure counts as fitted: the fits of this file are those of the profile {}.\n", v.profile);

  Table fits({"<fitted key", "<to the figure"});
  for (const auto& f : r.figures) {
    if (r.as_held_out) break;
    for (const auto& k : f.published->keys) fits.row({key_text(p, k), f.published->name});
  }
  if (!fits.empty()) fmt::print("\n{}", fits.text());
  Table missing({"<published, not measured here", "<value", "<source", "<why"});
  for (const auto& u : v.unmatched) missing.row({u.name, u.value, v.sources[u.source].name, u.why});
  if (!missing.empty()) fmt::print("\n{}", missing.text());
  Table sources({"<source", "<title", "<hardware", "<checked"});
  for (const auto& s : v.sources) sources.row({s.name, s.title, s.hardware, s.checked});
  if (!sources.empty()) fmt::print("\n{}", sources.text());
}

int run(const Options& o) {
  const Profile named = Profile::load(o.common.profile);
  study::Validation v = study::read_validation(o.figures.empty() ? study::validation_file(named.name()) : o.figures);
  // What is fitted is a matter of the profile as it is, not of keys that are tried out.
  const bool own = named.name() == v.profile;
  if (own) study::check_fits(v, named);
  const Profile profile = load_profile(o.common);
  select(v, o.only);

  const TemporaryFolder temporary;
  const fs::path dir = o.common.out.empty() ? fs::path(temporary.path()) / "runs" : fs::path(o.common.out);
  std::vector<std::string> words{"--profile", o.common.profile};
  for (const auto& s : o.common.set) words.insert(words.end(), {"--set", s});
  const auto jobs = study::jobs_of(v, words);
  if (o.list) {
    for (const auto& j : jobs) {
      std::string line = "rnicsim";
      for (const auto& w : j.words) line += " " + quoted(w);
      fmt::print("{}\n", line);
    }
    return kGood;
  }
  study::JobOptions jo;
  jo.what = jo.name = "validation";
  const auto plan = study::plan_of(jobs, jo);
  regress::End end{};
  {
    regress::Journal journal(dir.string(), plan, {}, regress::Journal::Mode::kFresh);
    end = regress::execute(plan, runner_options(o.jobs, {}), journal);
  }
  if (end == regress::End::kInterrupted) {
    spdlog::warn("interrupted: nothing is compared");
    return kInterrupted;
  }
  const auto outcomes = study::outcomes_of(regress::read_directory(dir.string(), "validation"));
  const auto r = study::validate(v, outcomes, !own);

  std::vector<CheckResult> checks;
  for (const auto& f : r.figures) {
    const auto& q = *f.published;
    if (!f.ours) {
      spdlog::error("{}: {}", q.name, printable(f.error));
      continue;
    }
    if (!o.check || !q.fitted || r.as_held_out) continue;
    checks.push_back({q.name, "fitted figure against the published one",
                      fmt::format("{} {}, +-{} %", study::figure_text(q.value), q.unit, kFitTolerance),
                      fmt::format("{} {}", study::figure_text(*f.ours), q.unit),
                      std::abs(f.error_percent()) <= kFitTolerance});
  }
  nlohmann::json result = result_header(rerun_line(), profile, o.common.seed);
  result["subcommand"] = "profile validate";
  result["validation"] = study::to_json(r);
  result["checks"] = cli::to_json(checks);
  const bool good = report_checks(checks) && r.failed() == 0;
  result["status"] = good ? "good" : "check failed";
  if (!o.common.out.empty()) {
    write_whole((dir / "validation.json").string(), json_text(result) + "\n");
    write_whole((dir / "validation.html").string(), study::page_of(r, profile, rerun_line()));
  }
  if (o.common.json) {
    fmt::print("{}\n", json_text(result));
  } else {
    print(r, profile);
    if (!o.common.out.empty()) fmt::print("\nplot: {}\n", (dir / "validation.html").string());
  }
  std::fflush(stdout);
  return good ? kGood : kCheckFailed;
}

}  // namespace

void add_validate(CLI::App& profile, int& status) {
  static Options o;
  o.common.profile = "gen5-measured";
  auto* sub = profile.add_subcommand("validate", "A profile beside published measurements, with the error of each");
  sub->add_option("name", o.common.profile, "Profile [gen5-measured]")->type_name("NAME|FILE");
  sub->add_option("--set", o.common.set, "Set a key first, to see what it does; may be given many times")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  sub->add_option("--figures", o.figures, "Published figures [those kept for the profile of this name]")
      ->type_name("FILE.toml");
  sub->add_option("--only", o.only, "Only figures whose names fit; may be given many times")
      ->type_name("GLOB")
      ->allow_extra_args(false);
  sub->add_flag("--list", o.list, "Print the commands of ours, and run nothing");
  sub->add_flag("--check", o.check,
                fmt::format("Exit with 1 when a fitted figure is off by more than {} %", kFitTolerance));
  sub->add_option("-o,--out", o.common.out, "Folder for validation.html (plot), validation.json and all runs")
      ->type_name("DIR");
  sub->add_flag("--json", o.common.json, "As JSON, on stdout");
  sub->add_option("-j,--jobs", o.jobs, "Runs at a time [one a core]")
      ->type_name("N")
      ->check(quiet_check(CLI::Range(1u, 1024u)));
  sub->footer(
      "Fitted: a key of the profile was chosen so that this figure comes out, so it agrees by construction. Held out: "
      "no\n"
      "key was; the error is how well the profile predicts. Errors of figures that are held out are no failure: they "
      "are\n"
      "what comes out. What each figure was measured on, and what differs here: docs/calibration.md, or --json.\n\n"
      "Exit status: 0 all figures compared; 1 a run failed, or with --check a fit is off; 2 bad usage or input.\n\n"
      "Examples:\n"
      "  rnicsim profile validate\n"
      "  rnicsim profile validate gen5-measured -o out/validation\n"
      "  rnicsim profile validate --only 'BW_RD*' --set pcie.tag_bits=8\n"
      "  rnicsim profile validate mine.toml --figures mine-figures.toml --json");
  sub->callback([&status] { status = run(o); });
}

}  // namespace rnic::cli
