// SPDX-License-Identifier: Apache-2.0
#include "rnic/regress/summary.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <set>

#include "rnic/core/error.h"
#include "rnic/regress/runner.h"
#include "text.h"

namespace rnic::regress {
namespace fs = std::filesystem;
namespace {

constexpr size_t kTrend = 60;  // earlier regressions that are looked at
constexpr const char* kKind = "rnicsim regress summary";

/// How rnicsim is called from the folder of the commands.
std::string program_from(const std::string& cwd, const std::string& program) {
  if (cwd == "." || fs::path(program).is_absolute() || program.find('/') == std::string::npos) return program;
  const auto p = fs::path(program).lexically_normal().lexically_relative(fs::path(cwd).lexically_normal());
  return p.empty() ? fs::absolute(program).lexically_normal().string() : p.string();
}

std::string replay_line(const Plan& plan, const Run& run, const Result& r, const std::string& given_program) {
  const auto& test = plan.test_of(run);
  const auto program = program_from(plan.cwd, given_program);
  const std::string dir = "replay/" + fs::path(run.dir).filename().string();
  // A window at the end is written when a check fails, not after a crash and not when all is good.
  const bool whole = !test.rules.empty() || r.passed() || r.outcome == "metric" || r.outcome == "crashed";
  const std::string trace = test.wave.empty() ? "none" : whole ? "full" : trace_of(test.wave, r);
  std::string line = plan.cwd == "." ? "" : fmt::format("cd {} && ", quoted(plan.cwd));
  const auto words = words_of(plan, run, {dir, trace, program});
  const bool makes_dir = test.command[0] == "rnicsim";  // others may count on it
  if (!makes_dir &&
      std::any_of(words.begin(), words.end(), [&](const auto& w) { return w.find(dir) != std::string::npos; }))
    line += fmt::format("mkdir -p {} && ", quoted(dir));
  if (run.seed) line += fmt::format("RNIC_TEST_SEED={} ", *run.seed);
  for (size_t i = 0; i < words.size(); ++i) {
    if (i < test.env.size()) {
      const size_t eq = words[i].find('=');
      line += words[i].substr(0, eq + 1) + quoted(words[i].substr(eq + 1)) + " ";
    } else {
      line += (i > test.env.size() ? " " : "") + quoted(words[i]);
    }
  }
  // The rules come after the run, whatever it ended with.
  if (r.outcome == "rule" && !r.waves.empty()) {
    line += fmt::format("; {} wavecheck", quoted(program));
    for (const auto& rules : test.rules) line += " " + quoted(rules);
    line += " " + quoted(dir + "/" + r.waves[0]);
  }
  return clean(line);
}

void judge(MetricValue& v, double expected) {
  const auto& m = v.metric;
  const double tolerance =
      (m.percent ? std::abs(expected) * m.tolerance / 100 : m.tolerance) + 1e-9 * std::max(1.0, std::abs(expected));
  v.expected = expected;
  const double off = v.value - expected;
  const double worse = m.better == "higher" ? -off : off;
  if (m.better == "equal" ? std::abs(off) > tolerance : worse > tolerance) {
    v.state = m.better == "equal" ? "moved" : "worse";
  } else if (v.count < v.wanted) {
    v.state = "incomplete";
  } else {
    v.state = m.better != "equal" && -worse > tolerance ? "better" : "good";
  }
}

std::optional<double> expected_of(const Summary& s, const MetricValue& v) {
  if (v.metric.check == "baseline") {
    const auto b = s.plan->baseline_values.find(v.name());
    if (b != s.plan->baseline_values.end()) return b->second;
  } else if (v.metric.check == "last") {
    // A value that was refused is no measure for the next one.
    const auto last = std::find_if(s.history.rbegin(), s.history.rend(), [&](const auto& h) {
      return h.metrics.count(v.name()) != 0 && h.bad_metrics.count(v.name()) == 0;
    });
    if (last != s.history.rend()) return last->metrics.at(v.name());
  }
  return std::nullopt;
}

std::vector<MetricValue> metrics_of(const Summary& s, const std::string& program) {
  std::vector<MetricValue> out;
  std::vector<std::vector<size_t>> of_test(s.plan->tests.size());
  for (size_t i = 0; i < s.runs.size(); ++i) of_test[s.runs[i].run.test].push_back(i);
  // A shard has not all runs of a test; then nothing is complete there.
  std::vector<size_t> wanted(s.plan->tests.size());
  for (const auto& r : s.plan->runs) ++wanted[r.test];
  for (size_t t = 0; t < of_test.size(); ++t) {
    if (of_test[t].empty()) continue;
    for (const auto& m : s.plan->tests[t].metrics) {
      MetricValue v;
      v.test = s.plan->tests[t].name;
      v.metric = m;
      v.wanted = wanted[t];
      for (const auto& h : s.history) {
        const auto earlier = h.metrics.find(v.name());
        if (earlier != h.metrics.end()) v.trend.push_back(earlier->second);
      }
      const auto expected = expected_of(s, v);
      for (const size_t i : of_test[t]) {
        const auto* r = s.runs[i].result;
        const auto found = r ? r->metrics.find(m.name) : std::map<std::string, double>::const_iterator();
        if (!r || found == r->metrics.end()) continue;
        const double value = found->second;
        v.min = v.count == 0 ? value : std::min(v.min, value);
        v.max = v.count == 0 ? value : std::max(v.max, value);
        const bool worse = m.better == "higher" ? value < v.value
                           : m.better == "lower" || !expected
                               ? value > v.value
                               : std::abs(value - *expected) > std::abs(v.value - *expected);
        if (v.count++ == 0 || worse) {
          v.value = value;
          v.worst = i;
        }
      }
      if (v.count == 0) {
        v.state = "incomplete";
      } else if (expected) {
        judge(v, *expected);
      } else {
        v.state = m.check == "baseline" ? "missing" : "unchecked";
      }
      if (v.bad()) v.replay = replay_line(*s.plan, s.runs[*v.worst].run, *s.runs[*v.worst].result, program);
      out.push_back(std::move(v));
    }
  }
  return out;
}

std::vector<BehaviourState> behaviours_of(const Summary& s) {
  const auto& plan = *s.plan;
  enum { kNotRun, kPassed, kFailed };
  std::vector<int> state(plan.tests.size(), kNotRun);
  std::vector<bool> whole(plan.tests.size(), true);
  for (const auto& e : s.runs) {
    if (!e.result) {
      whole[e.run.test] = false;
    } else if (state[e.run.test] != kFailed) {
      state[e.run.test] = e.result->passed() ? kPassed : kFailed;
    }
  }
  std::vector<BehaviourState> out;
  for (const auto& b : plan.behaviours) {
    BehaviourState v;
    v.behaviour = &b;
    bool failed = false;
    for (const auto& named : b.tests) {
      bool ran = false, good = true;
      for (size_t t = 0; t < plan.tests.size(); ++t) {
        if (state[t] == kNotRun || !names_test(named, plan.tests[t].name)) continue;
        ran = true;
        good = good && state[t] == kPassed && whole[t];
        failed = failed || state[t] == kFailed;
      }
      v.ran += ran ? 1 : 0;
      v.passed += ran && good ? 1 : 0;
      if (!ran) v.missing.push_back(named);
    }
    v.state = failed                       ? "failed"
              : b.tests.empty()            ? "no test"
              : v.ran == 0                 ? "not run"
              : v.passed == b.tests.size() ? "passed"
                                           : "partly";
    out.push_back(std::move(v));
  }
  return out;
}

void compare_with_last(Summary& s) {
  if (s.history.empty()) return;
  const auto& last = s.history.back();
  std::set<std::string> present;
  for (auto& g : s.groups) {
    present.insert(g.signature);
    const auto before = last.signatures.find(g.signature);
    g.last_count = before == last.signatures.end() ? 0 : before->second;
  }
  for (const auto& [signature, count] : last.signatures) {
    (void)count;
    if (present.count(signature) == 0) s.gone.push_back(signature);
  }
  for (const auto& e : s.runs) {
    if (!e.result) continue;
    const auto before = last.outcomes.find(e.run.name);
    if (before == last.outcomes.end()) continue;
    const bool was_good = before->second == "passed", is_good = e.result->passed();
    if (was_good && !is_good) s.newly_failing.push_back(e.run.name);
    if (!was_good && is_good) s.fixed.push_back(e.run.name);
    if (!was_good && !is_good) s.still_failing.push_back(e.run.name);
  }
}

}  // namespace

size_t Summary::bad_metrics() const {
  return static_cast<size_t>(std::count_if(metrics.begin(), metrics.end(), [](const auto& m) { return m.bad(); }));
}

std::string MetricValue::text() const {
  const auto unit = metric.unit.empty() ? "" : " " + metric.unit;
  if (state == "missing") return trim(value, 6) + unit + ", and the baseline has no value; --write-baseline writes one";
  if (!expected) return trim(value, 6) + unit;
  return fmt::format(
      "{}{}, expected {}{}", trim(value, 6), unit, trim(*expected, 6),
      metric.tolerance == 0 ? "" : fmt::format(" within {}{}", trim(metric.tolerance, 6), metric.percent ? " %" : ""));
}

std::vector<Earlier> read_history(const std::string& path, const std::string& plan, std::vector<std::string>& skipped) {
  std::vector<std::string> files;
  std::error_code ec;
  if (fs::is_directory(path, ec)) {
    for (const auto& e : fs::directory_iterator(path, ec)) {
      if (e.path().extension() == ".json") files.push_back(e.path().string());
    }
    std::sort(files.begin(), files.end());
  } else if (fs::exists(path, ec)) {
    files.push_back(path);
  }
  std::vector<Earlier> out;
  for (const auto& f : files) {
    try {
      const auto j = nlohmann::json::parse(read_text(f, 256 << 20));
      if (j.at("kind") != kKind || j.at("schema_version") != 1)
        throw std::runtime_error("is no summary of rnicsim regress");
      if (j.at("plan").at("name") != plan) continue;
      const auto& totals = j.at("totals");
      // A shard, or half a regression, is nothing to compare a whole one with.
      if (j.at("shard").at("count") != 1 || totals.at("not_run") != 0) continue;
      Earlier e;
      e.file = f;
      e.passed = totals.at("passed");
      e.failed = totals.at("failed");
      e.total = totals.at("runs");
      e.started = j.at("wall").at("started");
      e.started_s = j.at("wall").at("started_s");
      e.wall_s = j.at("wall").at("run_seconds");
      for (const auto& r : j.at("runs")) e.outcomes[r.at("run")] = r.at("outcome");
      for (const auto& g : j.at("groups")) e.signatures[g.at("signature")] = g.at("count");
      for (const auto& m : j.at("metrics")) {
        if (m.at("value").is_number()) e.metrics[m.at("name")] = m.at("value");
        const std::string state = m.at("state");
        if (state == "worse" || state == "moved") e.bad_metrics.insert(m.at("name").get<std::string>());
      }
      out.push_back(std::move(e));
    } catch (const std::exception& e) {
      skipped.push_back(fmt::format("{}: {}", f, e.what()));
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.started_s < b.started_s; });
  if (out.size() > kTrend) out.erase(out.begin(), out.end() - kTrend);
  return out;
}

Summary summarize(const Plan& plan, const Shard& shard, const Results& results, std::vector<Earlier> history,
                  const std::string& program) {
  Summary s;
  s.plan = &plan;
  s.shard = shard;
  s.history = std::move(history);
  std::set<std::string> hosts;
  for (const auto& run : runs_of(plan, shard)) {
    Entry e;
    e.run = run;
    const auto r = results.find(run.index);
    if (r == results.end()) {
      ++s.not_run;
    } else {
      e.result = &r->second;
      ++(e.result->passed() ? s.passed : s.failed);
      s.wall_s += e.result->wall_s;
      hosts.insert(e.result->host);
      if (s.started_s == 0 || e.result->started_s < s.started_s) s.started_s = e.result->started_s;
      if (!e.result->passed()) e.replay = replay_line(plan, run, *e.result, program);
    }
    s.runs.push_back(std::move(e));
  }
  s.hosts.assign(hosts.begin(), hosts.end());
  const double seconds = std::isfinite(s.started_s) && s.started_s > 0 && s.started_s < 4e9 ? s.started_s : 0;
  s.started = fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(static_cast<std::time_t>(seconds)));

  std::map<std::string, size_t> known;
  for (size_t i = 0; i < s.runs.size(); ++i) {
    const auto* r = s.runs[i].result;
    if (!r || r->passed()) continue;
    const auto [at, is_new] = known.emplace(r->signature, s.groups.size());
    if (is_new) s.groups.push_back({r->signature, {}, {}});
    s.groups[at->second].runs.push_back(i);
  }
  std::stable_sort(s.groups.begin(), s.groups.end(),
                   [](const auto& a, const auto& b) { return a.runs.size() > b.runs.size(); });
  s.metrics = metrics_of(s, program);
  s.behaviours = behaviours_of(s);
  compare_with_last(s);
  return s;
}

nlohmann::json json_of(const Summary& s) {
  const auto& plan = *s.plan;
  nlohmann::json j{{"schema_version", 1},
                   {"kind", kKind},
                   {"plan", {{"name", plan.name}, {"file", plan.file}, {"hash", plan.hash}, {"seed", plan.seed}}},
                   {"shard", {{"index", s.shard.index}, {"count", s.shard.count}}},
                   {"good", s.good() && s.not_run == 0},
                   {"totals",
                    {{"runs", s.runs.size()},
                     {"passed", s.passed},
                     {"failed", s.failed},
                     {"not_run", s.not_run},
                     {"metrics_failed", s.bad_metrics()}}}};
  j["groups"] = nlohmann::json::array();
  for (const auto& g : s.groups) {
    std::vector<std::string> names;
    for (const size_t i : g.runs) names.push_back(s.runs[i].run.name);
    nlohmann::json group{{"signature", g.signature}, {"count", g.runs.size()}, {"runs", names}};
    if (g.last_count) group["count_last"] = *g.last_count;
    j["groups"].push_back(std::move(group));
  }
  j["runs"] = nlohmann::json::array();
  j["failures"] = nlohmann::json::array();
  nlohmann::json seconds = nlohmann::json::array();
  for (const auto& e : s.runs) {
    j["runs"].push_back({{"run", e.run.name}, {"outcome", e.result ? e.result->outcome : "not run"}});
    seconds.push_back(e.result ? nlohmann::json(e.result->wall_s) : nlohmann::json());
    if (!e.result || e.result->passed()) continue;
    const auto& r = *e.result;
    std::vector<std::string> waves;
    for (const auto& w : r.waves) waves.push_back(e.run.dir + "/" + w);
    nlohmann::json f{{"run", e.run.name},    {"test", plan.test_of(e.run).name},
                     {"outcome", r.outcome}, {"reason", r.reason},
                     {"message", r.message}, {"signature", r.signature},
                     {"replay", e.replay},   {"log", e.run.dir + "/log.txt"},
                     {"waves", waves},       {"wave_note", r.wave_note}};
    f["seed"] = e.run.seed ? nlohmann::json(*e.run.seed) : nlohmann::json();
    j["failures"].push_back(std::move(f));
  }
  j["metrics"] = nlohmann::json::array();
  for (const auto& m : s.metrics) {
    nlohmann::json v{{"name", m.name()},
                     {"unit", m.metric.unit},
                     {"better", m.metric.better},
                     {"check", m.metric.check},
                     {"tolerance", m.metric.tolerance},
                     {"tolerance_in_percent", m.metric.percent},
                     {"runs", m.count},
                     {"replay", m.replay},
                     {"runs_wanted", m.wanted},
                     {"state", m.state}};
    for (const char* key : {"value", "min", "max", "expected"}) v[key] = nullptr;
    if (m.count != 0) v["value"] = m.value, v["min"] = m.min, v["max"] = m.max;
    if (m.expected) v["expected"] = *m.expected;
    j["metrics"].push_back(std::move(v));
  }
  j["testplans"] = nlohmann::json::array();
  for (const auto& b : s.behaviours) {
    j["testplans"].push_back({{"page", b.behaviour->page},
                              {"line", b.behaviour->line},
                              {"behaviour", b.behaviour->text},
                              {"tests", b.behaviour->tests},
                              {"not_run", b.missing},
                              {"state", b.state}});
  }
  j["history"] = {{"regressions", s.history.size()},
                  {"newly_failing", s.newly_failing},
                  {"still_failing", s.still_failing},
                  {"fixed", s.fixed},
                  {"signatures_gone", s.gone}};
  j["coverage"] = s.coverage.empty() ? nlohmann::json() : nlohmann::json(s.coverage);
  j["wall"] = {{"started", s.started},
               {"started_s", s.started_s},
               {"run_seconds", s.wall_s},
               {"hosts", s.hosts},
               {"seconds", seconds}};
  return j;
}

std::string text_of(const Summary& s, const std::string& dir) {
  std::string out;
  constexpr size_t kShown = 20;
  for (size_t i = 0; i < std::min(s.groups.size(), kShown); ++i) {
    const auto& g = s.groups[i];
    const auto& e = s.runs[g.runs[0]];
    const auto at = [&](const std::string& file) { return (fs::path(dir) / e.run.dir / file).string(); };
    out += fmt::format("{} x {}\n", g.runs.size(), g.signature);
    out += fmt::format("  first  {}{}\n", e.run.name,
                       g.last_count ? (*g.last_count == 0 ? "   (new)" : "   (as last time)") : "");
    out += fmt::format("  what   {}\n", e.result->message.empty() ? e.result->reason : e.result->message);
    out += fmt::format("  log    {}\n", at("log.txt"));
    if (!e.result->waves.empty()) out += fmt::format("  wave   {}\n", at(e.result->waves[0]));
    if (!e.result->wave_note.empty()) out += fmt::format("  note   {}\n", e.result->wave_note);
    out += fmt::format("  again  {}\n", e.replay);
  }
  if (s.groups.size() > kShown) out += fmt::format("... and {} more kinds of failures\n", s.groups.size() - kShown);
  for (const auto& m : s.metrics) {
    if (m.bad()) {
      out += fmt::format("metric {}: {}: {}\n  worst  {}\n  again  {}\n", m.name(), m.text(), m.state,
                         s.runs[*m.worst].run.name, m.replay);
    } else if (m.state == "better") {
      out += fmt::format("metric {} is {} {}, better than {}: write a new baseline\n", m.name(), trim(m.value, 6),
                         m.metric.unit, trim(*m.expected, 6));
    }
  }
  if (!s.coverage.empty()) out += fmt::format("coverage: {}\n", s.coverage);
  out += fmt::format("{}{}: {} of {} runs passed", s.plan->name,
                     s.shard.count > 1 ? fmt::format(" (shard {}/{})", s.shard.index, s.shard.count) : "", s.passed,
                     s.runs.size());
  if (s.failed) out += fmt::format(", {} failed", s.failed);
  if (s.not_run) out += fmt::format(", {} not run", s.not_run);
  if (s.bad_metrics()) out += fmt::format(", {} metric{} off", s.bad_metrics(), s.bad_metrics() == 1 ? "" : "s");
  if (!s.history.empty()) {
    out += fmt::format("; against the last one {} newly failing, {} fixed, {} still failing", s.newly_failing.size(),
                       s.fixed.size(), s.still_failing.size());
  }
  return out + "\n";
}

std::string replay_of(const Summary& s) {
  std::string out;
  for (const auto& e : s.runs) {
    // A new line in a word would make it two lines: quoting keeps it one word, and it stays runnable.
    if (e.result && !e.result->passed()) out += e.replay + "\n";
  }
  for (const auto& m : s.metrics) {
    if (m.bad() && out.find(m.replay + "\n") == std::string::npos) out += m.replay + "\n";
  }
  return out;
}

std::string baseline_of(const Summary& s) {
  std::string out = fmt::format(
      "# SPDX-License-Identifier: Apache-2.0\n# Expected values of the metrics of plan {}; rnicsim regress PLAN "
      "--write-baseline writes them.\n",
      s.plan->name);
  for (const auto& m : s.metrics) {
    if (m.metric.check != "new" || m.count == 0) continue;
    // The shortest number that reads back as the same.
    out += fmt::format("\"{}\" = {}{}\n", m.name(), m.value, m.metric.unit.empty() ? "" : "  # " + m.metric.unit);
  }
  return out;
}

std::string junit_of(const Summary& s) {
  const auto& plan = *s.plan;
  struct Counts {
    size_t tests = 0, failures = 0, errors = 0, skipped = 0;
    double seconds = 0;
  };
  const auto attributes = [](const Counts& c) {
    return fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3f}\"", c.tests, c.failures,
                       c.errors, c.skipped, c.seconds);
  };
  const auto is_error = [](const Result& r) {
    return r.outcome == "error" || r.outcome == "crashed" || r.outcome == "timeout";
  };
  std::string body;
  Counts all;
  const auto suite = [&](const std::string& name, const std::string& cases, const Counts& c) {
    body += fmt::format("<testsuite name=\"{}\" {} timestamp=\"{}\" hostname=\"{}\">\n{}</testsuite>\n", xml(name),
                        attributes(c), replaced(s.started.substr(0, 19), " ", "T"),
                        xml(fmt::format("{}", fmt::join(s.hosts, ","))), cases);
    all.tests += c.tests;
    all.failures += c.failures;
    all.errors += c.errors;
    all.skipped += c.skipped;
    all.seconds += c.seconds;
  };
  for (size_t i = 0; i < s.runs.size();) {
    const size_t test = s.runs[i].run.test;
    const auto& name = plan.tests[test].name;
    std::string cases;
    Counts c;
    for (; i < s.runs.size() && s.runs[i].run.test == test; ++i) {
      const auto& e = s.runs[i];
      ++c.tests;
      c.seconds += e.result ? e.result->wall_s : 0;
      cases += fmt::format("<testcase classname=\"{}.{}\" name=\"{}\" time=\"{:.3f}\"", xml(plan.name), xml(name),
                           xml(e.run.seed ? fmt::format("{} seed {}", name, *e.run.seed) : name),
                           e.result ? e.result->wall_s : 0.0);
      if (!e.result) {
        ++c.skipped;
        cases += "><skipped message=\"not run\"/></testcase>\n";
        continue;
      }
      const auto& r = *e.result;
      if (r.passed()) {
        cases += "/>\n";
        continue;
      }
      ++(is_error(r) ? c.errors : c.failures);
      const char* tag = is_error(r) ? "error" : "failure";
      std::string text = r.reason + "\n" + r.message + "\n";
      text += e.run.seed ? fmt::format("seed: {}\n", *e.run.seed) : "";
      text += fmt::format("run it again: {}\nlog: {}/log.txt\n", e.replay, e.run.dir);
      for (const auto& w : r.waves) text += fmt::format("wave: {}/{}\n", e.run.dir, w);
      if (!r.wave_note.empty()) text += fmt::format("note: {}\n", r.wave_note);
      cases += fmt::format("><{0} type=\"{1}\" message=\"{2}\">{3}</{0}></testcase>\n", tag, xml(r.outcome),
                           xml(r.reason + (r.message.empty() ? "" : ": " + r.message)), xml(text));
    }
    suite(plan.name + "." + name, cases, c);
  }
  std::string cases;
  Counts c;
  for (const auto& m : s.metrics) {
    if (m.metric.check == "none") continue;
    ++c.tests;
    cases +=
        fmt::format("<testcase classname=\"{}.metrics\" name=\"{}\" time=\"0.000\"", xml(plan.name), xml(m.name()));
    if (m.bad()) {
      ++c.failures;
      const auto& run = s.runs[*m.worst].run;
      cases += fmt::format(
          "><failure type=\"metric\" message=\"{0}\">{0}\n{1}worst of its runs: {2}\nrun it again: {3}\nlog: "
          "{4}/log.txt\n</failure></testcase>\n",
          xml(m.text()), run.seed ? fmt::format("seed: {}\n", *run.seed) : "", xml(run.name), xml(m.replay), run.dir);
    } else if (m.state == "incomplete" || m.state == "unchecked") {
      ++c.skipped;
      cases += fmt::format("><skipped message=\"{}\"/></testcase>\n",
                           m.state == "incomplete" ? "runs are missing" : "nothing to compare with");
    } else {
      cases += "/>\n";
    }
  }
  if (c.tests != 0) suite(plan.name + ".metrics", cases, c);
  if (!s.coverage.empty()) {
    Counts one;
    one.tests = 1;
    one.errors = s.coverage_bad ? 1 : 0;
    suite(plan.name + ".coverage",
          s.coverage_bad
              ? fmt::format("<testcase classname=\"{0}.coverage\" name=\"merged\" time=\"0.000\"><error "
                            "type=\"coverage\" message=\"{1}\">{1}</error></testcase>\n",
                            xml(plan.name), xml(s.coverage))
              : fmt::format("<testcase classname=\"{}.coverage\" name=\"merged\" time=\"0.000\"/>\n", xml(plan.name)),
          one);
  }
  return fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"{}\" {}>\n{}</testsuites>\n",
                     xml(plan.name), attributes(all), body);
}

}  // namespace rnic::regress
