// SPDX-License-Identifier: Apache-2.0
#include "sensitivity.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "rnic/regress/runner.h"
#include "rnic/study/sensitivity.h"
#include "rnic/study/stage_changes.h"
#include "table.h"

namespace rnic::cli {
namespace fs = std::filesystem;
namespace {

/// What a run of its own must not have: these options, and what this run alone does.
std::vector<std::string> child_words() {
  static constexpr std::array kFlags{"--sensitivity", "--json", "--check"};
  static constexpr std::array kValued{
      "--sensitivity-percent", "--sensitivity-of", "--jobs", "-j", "-o", "--out", "--trace", "--vs", "--junit"};
  std::vector<std::string> out;
  const auto& all = arguments();
  for (size_t i = 1; i < all.size(); ++i) {
    const auto& w = all[i];
    const auto is = [&](const char* o) { return w.substr(0, w.find('=')) == o; };
    if (std::any_of(kFlags.begin(), kFlags.end(), is)) continue;
    const auto valued = std::find_if(kValued.begin(), kValued.end(), [&](const std::string& o) {
      return is(o.c_str()) || (o.size() == 2 && w.compare(0, 2, o) == 0);  // -oDIR
    });
    if (valued == kValued.end())
      out.push_back(w);
    else if (w == *valued)
      ++i;
  }
  return out;
}

void print(const study::Sensitivity& s) {
  const auto unit = study::unit_of(s.figure);
  fmt::print("\nSensitivity of {} = {}{}: each key of the profile {} % lower and higher\n\n", s.figure,
             study::number_text(s.nominal), unit.empty() ? "" : " " + unit, study::number_text(s.percent));
  std::vector<std::string> headings{"<key", "lower", "nominal", "higher", "<unit", "at lower", "at higher", "effect"};
  if (s.has_stages()) headings.emplace_back("<stages moved, lower / higher");
  headings.emplace_back("<note");
  Table t(headings);
  std::vector<std::string> without;
  for (const auto& k : s.keys) {
    const bool failed = !k.lo.error.empty() || !k.hi.error.empty();
    if (k.effect(s.nominal) == 0 && !failed) {
      without.push_back(k.name + (k.lo.value.empty() && k.hi.value.empty() ? " (not varied: " + k.lo.note + ")" : ""));
      continue;
    }
    const auto value = [](const study::VariedKey::Side& x) {
      return x.value.empty() ? "-" : study::number_text(std::stod(x.value));
    };
    const auto result = [&](const study::VariedKey::Side& x) {
      return !x.error.empty() ? "failed" : x.figure ? study::signed_text(*x.figure - s.nominal) : "-";
    };
    std::vector<std::string> cells{k.name, value(k.lo),  k.nominal,    value(k.hi),
                                   k.unit, result(k.lo), result(k.hi), study::number_text(k.effect(s.nominal))};
    if (s.has_stages()) cells.push_back(study::stages_text(k));
    cells.push_back(printable(study::notes_text(k)));
    t.row(cells);
  }
  if (!t.empty()) fmt::print("{}", t.text());
  if (!without.empty()) fmt::print("{}\n", wrapped(fmt::format("without effect: {}", fmt::join(without, ", "))));
}

}  // namespace

void add_sensitivity_options(CLI::App& app, SensitivityOptions& o, const std::string& figure) {
  o.figure = figure;
  const auto* group = "Sensitivity";
  app.add_flag("--sensitivity", o.wanted,
               "Run again with each key of the profile lower and higher: which key matters how much")
      ->group(group);
  app.add_option("--sensitivity-percent", o.percent, "By how much [20]")
      ->type_name("PERCENT")
      ->check(quiet_check(CLI::Range(0.001, 99.0)))
      ->group(group);
  app.add_option("--sensitivity-of", o.figure, "Which figure, by its name in result.json [" + figure + "]")
      ->type_name("NAME")
      ->group(group);
  app.add_option("-j,--jobs", o.jobs, "Of these runs so many at a time [one a core]")
      ->type_name("N")
      ->check(quiet_check(CLI::Range(1u, 1024u)))
      ->group(group);
}

Exit run_sensitivity(const SensitivityOptions& o, const Common& common, const Profile& profile,
                     nlohmann::json& result) {
  const auto nominal = study::flatten(result, "result.json");
  auto keys = study::varied_keys(profile, o.percent);
  if (!nominal.number(o.figure))
    (void)study::sensitivity_of({}, {}, nominal, o.figure, o.percent);  // says so before anything runs
  const TemporaryFolder folder;
  study::JobOptions jo;
  jo.what = jo.name = "sensitivity";
  const auto plan = study::plan_of(study::jobs_of(keys, child_words()), jo);
  regress::End end{};
  {
    regress::Journal journal(folder.path(), plan, {}, regress::Journal::Mode::kFresh);
    end = regress::execute(plan, runner_options(o.jobs, {}), journal);
  }
  if (end == regress::End::kInterrupted) {
    spdlog::warn("interrupted: the sensitivity is left out");
    return kInterrupted;
  }
  const auto outcomes = study::outcomes_of(regress::read_directory(folder.path(), "sensitivity"));
  const auto s = study::sensitivity_of(std::move(keys), outcomes, nominal, o.figure, o.percent);
  result["sensitivity"] = study::to_json(s);
  if (!common.json) print(s);
  if (!common.out.empty()) {
    const auto page = (fs::path(common.out) / "sensitivity.html").string();
    write_file(page, study::page_of(s, rerun_line()));
    if (!common.json) fmt::print("plot: {}\n", page);
  }
  std::fflush(stdout);
  const bool failed = std::any_of(outcomes.begin(), outcomes.end(), [](const auto& x) { return !x.good(); });
  return failed ? kCheckFailed : kGood;
}

}  // namespace rnic::cli
