// SPDX-License-Identifier: Apache-2.0
#include "rnic/study/validation.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "rnic/core/error.h"
#include "rnic/core/names.h"

namespace {

using namespace rnic;
using namespace rnic::study;

constexpr const char* kHead = R"(profile = "mine"
[[source]]
name = "s"
title = "t"
where = "w"
hardware = "h"
method = "m"
checked = "primary"
[[machine]]
name = "gen3"
set = ["pcie.generation=3"]
[[run]]
name = "r"
machine = "gen3"
command = ["pcie-bench", "LAT_RD"]
set = ["pcie.lanes=8"]
)";

constexpr const char* kFigure = R"([[figure]]
name = "f"
source = "s"
what = "a read"
unit = "ns"
value = 100
lo = 90
hi = 120
quote = "100 ns"
use = "fitted"
keys = ["pcie.hub_host_latency"]
ours = [{ run = "r", figure = "a.ns", times = 2 }, { run = "r", figure = "b.ns", times = -1 }]
)";

Validation good(const std::string& more = "") {
  return parse_validation(std::string(kHead) + kFigure + more, "f.toml");
}

std::string error_of(const std::string& text) {
  try {
    parse_validation(text, "f.toml");
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

/// kHead and kFigure with one line replaced.
std::string with(const std::string& line, const std::string& instead) {
  std::string s = std::string(kHead) + kFigure;
  const size_t at = s.find(line);
  EXPECT_NE(at, std::string::npos) << line;
  return s.replace(at, line.size(), instead);
}

Outcome outcome(double a, double b) {
  Outcome o;
  o.status = "passed";
  o.figures.add("a.ns", Kind::kFigure, a);
  o.figures.add("b.ns", Kind::kFigure, b);
  return o;
}

// The conditions of a machine and those of the run come behind the command, in that order.
TEST(ValidationTest, RunsCarryTheirMachine) {
  const Validation v = good();
  ASSERT_EQ(v.runs.size(), 1u);
  EXPECT_EQ(v.runs[0].words,
            (std::vector<std::string>{"pcie-bench", "LAT_RD", "--set", "pcie.generation=3", "--set", "pcie.lanes=8"}));
  const auto jobs = jobs_of(v, {"--profile", "x"});
  EXPECT_EQ(jobs[0].words.back(), "x");
}

// Ours is the sum of the terms; errors are relative to the published value, and kept apart by use.
TEST(ValidationTest, ErrorsAreSummedByUse) {
  std::string held = kFigure;
  held.replace(held.find("name = \"f\""), 10, "name = \"g\"");
  held.replace(held.find("use = \"fitted\""), 14, "use = \"held out\"");
  held.erase(held.find("keys = "), held.find("ours = ") - held.find("keys = "));
  const Validation v = good(held);
  const auto r = validate(v, {outcome(60, 10)}, false);
  ASSERT_EQ(r.figures.size(), 2u);
  EXPECT_DOUBLE_EQ(*r.figures[0].ours, 110);
  EXPECT_NEAR(r.figures[0].error_percent(), 10, 1e-9);
  EXPECT_EQ(r.figures[0].inside(), std::optional<bool>(true));
  EXPECT_EQ(r.fitted.count, 1u);
  EXPECT_EQ(r.held_out.count, 1u);
  EXPECT_NEAR(r.held_out.mean_percent, 10, 1e-9);
  EXPECT_EQ(validate(v, {outcome(60, 10)}, true).fitted.count, 0u);
  EXPECT_EQ(validate(v, {outcome(60, 10)}, true).held_out.count, 2u);
  EXPECT_NEAR(validate(v, {outcome(60, 10)}, true).held_out.mean_percent, 10, 1e-9);
  EXPECT_EQ(validate(v, {outcome(200, 10)}, false).figures[0].inside(), std::optional<bool>(false));
  const auto j = to_json(r);
  EXPECT_EQ(j["figures"][0]["use"], "fitted");
  EXPECT_EQ(j["figures"][1]["use"], "held out");
  EXPECT_EQ(j["fitted"]["count"], 1);
  const auto page = page_of(r, Profile::load("seed-400g"), "rnicsim");
  EXPECT_NE(page.find("+10.0 %"), std::string::npos);
  EXPECT_NE(page.find("held out"), std::string::npos);
}

// A run that failed, or has no such figure, is named, and counts in no error.
TEST(ValidationTest, MissingResultsAreNamed) {
  const Validation v = good();
  Outcome bad;
  bad.status = "failed";
  bad.error = "exit 1: a check failed";
  auto r = validate(v, {bad}, false);
  EXPECT_EQ(r.failed(), 1u);
  EXPECT_NE(r.figures[0].error.find("exit 1"), std::string::npos);
  Outcome other;
  other.status = "passed";
  other.figures.add("a.nt", Kind::kFigure, 1.0);
  r = validate(v, {other}, false);
  EXPECT_EQ(r.fitted.count, 0u);
  EXPECT_NE(r.figures[0].error.find("'a.ns'; nearest: a.nt"), std::string::npos) << r.figures[0].error;
}

// Everything that can be wrong in a file is named with its line, its key, and what is allowed.
TEST(ValidationTest, FaultsOfTheFile) {
  const std::tuple<std::string, std::string, const char*> kFaults[] = {
      {"profile = \"mine\"", "", "profile"},
      {"profile = \"mine\"", "profil = \"mine\"", "profile"},
      {"checked = \"primary\"", "checked = \"hearsay\"", "primary, second hand"},
      {"title = \"t\"", "", "title"},
      {"title = \"t\"", "titel = \"t\"", "title"},
      {"set = [\"pcie.generation=3\"]", "set = [\"pcie.generation\"]", "key=value"},
      {"set = [\"pcie.generation=3\"]", "set = [\"pcie.generatoin=3\"]", "pcie.generation"},
      {"set = [\"pcie.generation=3\"]", "set = 3", "array"},
      {"machine = \"gen3\"", "machine = \"gen9\"", "gen3"},
      {"\"pcie-bench\"", "\"profile\"", "pcie-bench"},
      {"\"LAT_RD\"", "\"-oout\"", "validation"},
      {"\"LAT_RD\"", "\"--profile=x\"", "validation"},
      {"\"LAT_RD\"", "\"--set\"", "'set'"},
      {"\"LAT_RD\"", "7", "texts only"},
      {"source = \"s\"", "source = \"q\"", "there are: s"},
      {"unit = \"ns\"", "unit = \"us\"", "ns, Gb/s, M/s"},
      {"unit = \"ns\"", "", "unit"},
      {"value = 100", "value = \"100\"", "number"},
      {"value = 100", "value = 0", "above 0"},
      {"value = 100", "value = -5", "above 0"},
      {"value = 100", "value = nan", "out of range"},
      {"value = 100", "value = inf", "out of range"},
      {"value = 100", "value = 1e13", "out of range"},
      {"value = 100", "value = 130", "no range round"},
      {"lo = 90\n", "", "stand together"},
      {"use = \"fitted\"", "use = \"guessed\"", "fitted, held out"},
      {"use = \"fitted\"", "", "use"},
      {"use = \"fitted\"", "use = \"held out\"", "held out"},
      {"keys = [\"pcie.hub_host_latency\"]\n", "", "keys"},
      {"keys = [\"pcie.hub_host_latency\"]", "keys = [\"pcie.hub\"]", "no key"},
      {"run = \"r\", figure = \"a.ns\"", "run = \"q\", figure = \"a.ns\"", "there are: r"},
      {"figure = \"a.ns\", ", "", "figure"},
      {"times = 2", "times = 0", "times"},
      {"times = 2", "tines = 2", "times"},
      {"quote = \"100 ns\"", "", "quote"},
      {"quote = \"100 ns\"", "quote = \"a\\nb\"", "one line"},
      {"[[figure]]", "[figure]", "[[figure]]"},
      {"name = \"f\"", "name = \"f", "not valid TOML"},
  };
  for (const auto& [line, instead, word] : kFaults) {
    SCOPED_TRACE(line + " -> " + instead);
    const std::string what = error_of(with(line, instead));
    EXPECT_EQ(what.compare(0, 7, "f.toml:"), 0) << what;
    EXPECT_NE(what.find(word), std::string::npos) << what;
    EXPECT_EQ(what.find('\n'), std::string::npos) << what;
  }
  EXPECT_NE(error_of(kHead).find("figure"), std::string::npos);
  EXPECT_NE(error_of(std::string(kHead) + kFigure + kFigure).find("there twice"), std::string::npos);
  EXPECT_NE(error_of(""), "");
}

// A file cut off anywhere is an error of that file or a shorter list, never anything worse.
TEST(ValidationTest, CutOffFiles) {
  const std::string whole = std::string(kHead) + kFigure;
  size_t refused = 0;
  for (size_t n = 0; n < whole.size(); ++n) refused += !error_of(whole.substr(0, n)).empty();
  EXPECT_GT(refused, whole.size() * 9 / 10);
}

// What the profile calls fitted and what the file says was fitted are the same keys.
TEST(ValidationTest, FitsAgreeWithTheProfile) {
  const std::string base = "name = \"mine\"\ndescription = \"d\"\nextends = \"gen5-measured\"\n[keys]\n";
  const auto key = [](const std::string& name, const std::string& unit, const char* kind) {
    return fmt::format("\"{}\" = {{ value = 70, unit = \"{}\", kind = \"{}\", source = \"s\" }}\n", name, unit, kind);
  };
  std::string others;
  const Profile ours = Profile::load("gen5-measured");
  for (const auto& [name, e] : ours.entries()) {
    if (e.kind == "fitted" && name != "pcie.hub_host_latency") others += key(name, find_key(name)->unit, "assumed");
  }
  const Validation v = good();
  EXPECT_NO_THROW(check_fits(v, Profile::parse(base + others, "p.toml")));
  EXPECT_THROW(check_fits(v, Profile::parse(base + others + key("pcie.hub_host_latency", "ns", "assumed"), "p.toml")),
               InputError);
  EXPECT_THROW(check_fits(v, Profile::parse(base + others + key("mac.tx_latency", "ns", "fitted"), "p.toml")),
               InputError);
}

// The published figures that come with the project: sources complete, fits as the profile has them, more figures held
// out than fitted, and each fitted key fitted once.
TEST(ValidationTest, OursIsComplete) {
  const Validation v = read_validation(validation_file("gen5-measured"));
  EXPECT_EQ(v.profile, "gen5-measured");
  EXPECT_NO_THROW(check_fits(v, Profile::load("gen5-measured")));
  size_t fitted = 0, held_out = 0;
  std::set<std::string> keys;
  for (const auto& f : v.figures) {
    (f.fitted ? fitted : held_out) += 1;
    for (const auto& k : f.keys) EXPECT_TRUE(keys.insert(k).second) << k;
  }
  EXPECT_GE(held_out, 3 * fitted);
  EXPECT_EQ(keys.size(), Profile::load("gen5-measured").count("fitted"));
  std::set<std::string> targets;
  const Profile ours = Profile::load("gen5-measured");
  targets.insert(ours.targets().begin(), ours.targets().end());
  for (const auto& f : v.figures) EXPECT_EQ(targets.count(f.name), f.fitted ? 1u : 0u) << f.name;
  EXPECT_THROW(validation_file("seed-4000g"), InputError);
  EXPECT_THROW(validation_file("../figures/gen5-measured"), InputError);
}

}  // namespace
