// SPDX-License-Identifier: Apache-2.0
#include "rnic/regress/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <regex>
#include <set>
#include <unordered_set>
#include <utility>

#include "rnic/core/error.h"
#include "text.h"

namespace rnic::regress {
namespace fs = std::filesystem;
namespace {

constexpr size_t kMaxSeeds = 100'000;
constexpr size_t kMaxFile = 16 << 20;
constexpr double kMaxSeconds = 7 * 24 * 3600.0;

unsigned line_of(const toml::node& n) { return static_cast<unsigned>(n.source().begin.line); }

const char* type_name(const toml::node& n) {
  if (n.is_string()) return "a text";
  if (n.is_number()) return "a number";
  if (n.is_boolean()) return "a boolean";
  if (n.is_table()) return "a table";
  if (n.is_array()) return "an array";
  return "a date or time";
}

bool one_line(const std::string& s) {
  return std::none_of(s.begin(), s.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

bool plain_name(const std::string& s) {
  return !s.empty() && s.size() <= 100 && std::isalnum(static_cast<unsigned char>(s[0])) &&
         std::all_of(s.begin(), s.end(),
                     [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '-' || c == '.'; });
}

/// One table of the file: keys are taken out by name, and what is left over at the end is unknown.
class Table {
 public:
  Table(std::string file, std::string where, const toml::table& table)
      : file_(std::move(file)), where_(std::move(where)), table_(table) {}

  const std::string& file() const { return file_; }
  unsigned line() const { return line_of(table_); }
  unsigned line(const std::string& key) const {
    const auto* n = table_.get(key);
    return n ? line_of(*n) : line();
  }

  [[noreturn]] void fail(const std::string& key, const std::string& what) const {
    throw InputError(file_, line(key), where_ + (key.empty() ? "" : "." + key), what);
  }

  const toml::node* find(const std::string& key) {
    known_.push_back(key);
    return table_.get(key);
  }

  bool text(const std::string& key, std::string& out, bool lines = false) {
    const auto* n = find(key);
    if (!n) return false;
    const auto v = n->value_exact<std::string>();
    if (!v) fail(key, fmt::format("must be a text, not {}", type_name(*n)));
    if (!lines && !one_line(*v)) fail(key, "must be one line without control characters");
    out = *v;
    return true;
  }

  /// A name that directories and reports can hold.
  bool name(const std::string& key, std::string& out) {
    if (!text(key, out)) return false;
    if (!plain_name(out)) {
      fail(key,
           fmt::format("'{}' is no name; allowed: up to 100 letters, digits, _ - . with a letter or digit first", out));
    }
    return true;
  }

  void flag(const std::string& key, bool& out) {
    const auto* n = find(key);
    if (!n) return;
    const auto v = n->value_exact<bool>();
    if (!v) fail(key, fmt::format("must be true or false, not {}", type_name(*n)));
    out = *v;
  }

  bool integer(const std::string& key, int64_t& out, int64_t min, int64_t max) {
    const auto* n = find(key);
    if (!n) return false;
    out = whole(key, *n, min, max);
    return true;
  }

  int64_t whole(const std::string& key, const toml::node& n, int64_t min, int64_t max) const {
    const auto v = n.value_exact<int64_t>();
    if (!v) fail(key, fmt::format("must be a whole number from {} to {}, not {}", min, max, type_name(n)));
    if (*v < min || *v > max) fail(key, fmt::format("{} is out of range; allowed: {} to {}", *v, min, max));
    return *v;
  }

  bool number(const std::string& key, double& out, double min, double max) {
    const auto* n = find(key);
    if (!n) return false;
    const auto v = n->is_number() ? n->value<double>() : std::nullopt;
    if (!v) fail(key, fmt::format("must be a number from {} to {}, not {}", min, max, type_name(*n)));
    if (!(*v >= min && *v <= max)) fail(key, fmt::format("{} is out of range; allowed: {} to {}", *v, min, max));
    out = *v;
    return true;
  }

  template <size_t N>
  void choice(const std::string& key, std::string& out, const std::array<const char*, N>& choices) {
    if (!text(key, out)) return;
    if (std::find(choices.begin(), choices.end(), out) == choices.end())
      fail(key, fmt::format("'{}' is not known; allowed: {}", out, fmt::join(choices, ", ")));
  }

  bool texts(const std::string& key, std::vector<std::string>& out, bool lines = false) {
    const auto* n = find(key);
    if (!n) return false;
    const auto* a = n->as_array();
    if (!a) fail(key, fmt::format("must be an array of texts, not {}", type_name(*n)));
    out.clear();
    for (const auto& e : *a) {
      const auto v = e.value_exact<std::string>();
      if (!v) fail(key, fmt::format("must be an array of texts, and element {} is {}", out.size() + 1, type_name(e)));
      if (v->find('\0') != std::string::npos || (!lines && !one_line(*v)))
        fail(key, fmt::format("element {} must not hold control characters", out.size() + 1));
      out.push_back(*v);
    }
    return true;
  }

  const toml::table* table(const std::string& key) {
    const auto* n = find(key);
    if (!n) return nullptr;
    if (!n->is_table()) fail(key, fmt::format("must be a table, not {}", type_name(*n)));
    return n->as_table();
  }

  void done() const {
    for (auto&& [key, node] : table_) {
      (void)node;
      if (std::find(known_.begin(), known_.end(), key.str()) != known_.end()) continue;
      auto names = known_;
      std::sort(names.begin(), names.end());
      throw InputError(file_, static_cast<unsigned>(key.source().begin.line), where_ + "." + std::string(key.str()),
                       fmt::format("unknown key; allowed: {}", fmt::join(names, ", ")));
    }
  }

 private:
  std::string file_, where_;
  const toml::table& table_;
  std::vector<std::string> known_;
};

toml::table parse(const std::string& file) {
  try {
    return toml::parse(read_text(file, kMaxFile), file);
  } catch (const toml::parse_error& e) {
    throw InputError(file, static_cast<unsigned>(e.source().begin.line), "", std::string(e.description()));
  }
}

/// Tables of a `[[key]]`.
std::vector<const toml::table*> entries(const std::string& file, const toml::table& root, const char* key) {
  std::vector<const toml::table*> out;
  const auto* n = root.get(key);
  if (!n) return out;
  const auto* a = n->as_array();
  const auto fail = [&](const toml::node& at) {
    throw InputError(file, line_of(at), key, fmt::format("must be written as [[{}]], not as {}", key, type_name(at)));
  };
  if (!a) fail(*n);
  for (const auto& e : *a) {
    if (!e.is_table()) fail(e);
    out.push_back(e.as_table());
  }
  return out;
}

/// SplitMix64: the same numbers with every compiler, which the distributions of <random> do not promise.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

 private:
  uint64_t state_;
};

/// Seeds of a test. Random ones depend on the plan's seed and the test's name alone, so that other tests can come and
/// go, and all shards draw the same.
std::vector<std::optional<uint64_t>> seeds_of(Table& t, const std::string& name, uint64_t plan_seed) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  const char* const kAllowed = "an array of whole numbers, { from = A, to = B } or { random = N }";
  const auto* n = t.find("seeds");
  if (!n) return {std::nullopt};
  std::vector<std::optional<uint64_t>> out;
  if (const auto* list = n->as_array()) {
    std::unordered_set<int64_t> seen;
    for (const auto& e : *list) {
      const int64_t v = t.whole("seeds", e, 0, kMax);
      if (!seen.insert(v).second) t.fail("seeds", fmt::format("{} is there twice", v));
      out.emplace_back(static_cast<uint64_t>(v));
    }
    if (out.empty()) t.fail("seeds", "is empty; leave the key out for a test without seeds");
  } else if (const auto* table = n->as_table()) {
    Table r(t.file(), "seeds", *table);
    int64_t random = 0, from = 0, to = 0;
    const bool has_random = r.integer("random", random, 1, kMaxSeeds);
    const bool has_from = r.integer("from", from, 0, kMax), has_to = r.integer("to", to, 0, kMax);
    r.done();
    if (has_random == (has_from || has_to) || has_from != has_to) t.fail("seeds", fmt::format("must be {}", kAllowed));
    if (has_random) {
      uint64_t mixed = plan_seed;
      for (const char c : name) mixed = (mixed ^ static_cast<unsigned char>(c)) * 0x100000001b3;
      Random draw(mixed);
      std::unordered_set<uint64_t> seen;
      while (out.size() < static_cast<size_t>(random)) {
        const uint64_t v = draw.next() >> 33;  // 31 bits: fits every program's idea of a seed
        if (seen.insert(v).second) out.emplace_back(v);
      }
    } else {
      if (to < from) t.fail("seeds", fmt::format("from {} to {} is empty", from, to));
      if (static_cast<uint64_t>(to - from) >= kMaxSeeds) t.fail("seeds", fmt::format("more than {} seeds", kMaxSeeds));
      for (int64_t v = from;; ++v) {
        out.emplace_back(static_cast<uint64_t>(v));
        if (v == to) break;
      }
    }
  } else {
    t.fail("seeds", fmt::format("must be {}, not {}", kAllowed, type_name(*n)));
  }
  if (out.size() > kMaxSeeds) t.fail("seeds", fmt::format("more than {} seeds", kMaxSeeds));
  return out;
}

bool has_placeholder(const std::vector<std::string>& words, const std::string& name) {
  return std::any_of(words.begin(), words.end(), [&](const auto& w) {
    const size_t at = w.find("{" + name + "}");
    return at != std::string::npos && (at == 0 || w[at - 1] != '$');
  });
}

void check_wave(const Table& t, const std::string& wave) {
  // What rnicsim takes for --trace; other programs may read their own meaning out of it.
  static const std::regex kAllowed("full|last:[1-9][0-9]{0,17}|around:[1-9][0-9]{0,17}|[0-9.]{1,20}:[0-9.]{1,20}");
  if (wave.size() > 60 || !std::regex_match(wave, kAllowed))
    t.fail("wave", fmt::format("'{}' is not known; allowed: full, last:CYCLES, around:NS, FROM:TO in ns", wave));
}

std::vector<Metric> metrics_of(Table& t, bool with_baseline) {
  std::vector<Metric> out;
  const auto* all = t.table("metrics");
  if (!all) return out;
  for (auto&& [key, node] : *all) {
    const std::string name(key.str());
    const std::string where = "metrics." + name;
    if (!plain_name(name)) t.fail("metrics", fmt::format("'{}' is no name; allowed: letters, digits, _ - .", name));
    if (!node.is_table()) t.fail("metrics", fmt::format("{} must be a table, not {}", where, type_name(node)));
    Table m(t.file(), "test." + where, *node.as_table());
    Metric v;
    v.name = name;
    v.check = with_baseline ? "baseline" : "none";
    if (!m.text("pointer", v.pointer)) m.fail("", "has no pointer; write pointer = \"/path/in/result.json\"");
    try {
      (void)nlohmann::json::json_pointer(v.pointer);
    } catch (const nlohmann::json::exception&) {
      m.fail("pointer",
             fmt::format("'{}' is no JSON pointer; it begins with / and has ~0 for ~ and ~1 for /", v.pointer));
    }
    m.text("file", v.file);
    const fs::path file(v.file);
    if (v.file.empty() || file.is_absolute() ||
        std::any_of(file.begin(), file.end(), [](const auto& part) { return part == ".."; }))
      m.fail("file", "must be a file below the run's directory");
    m.text("unit", v.unit);
    m.choice("better", v.better, std::array{"equal", "lower", "higher"});
    m.choice("check", v.check, std::array{"none", "baseline", "last"});
    if (v.check == "baseline" && !with_baseline) m.fail("check", "the plan has no baseline: add baseline to [plan]");
    const bool absolute = m.number("tolerance", v.tolerance, 0, 1e18);
    v.percent = m.number("tolerance_percent", v.tolerance, 0, 1e6);
    if (absolute && v.percent) m.fail("tolerance", "give tolerance or tolerance_percent, not both");
    m.done();
    out.push_back(v);
  }
  return out;
}

std::vector<std::pair<std::string, std::string>> env_of(Table& t) {
  std::vector<std::pair<std::string, std::string>> out;
  const auto* all = t.table("env");
  if (!all) return out;
  for (auto&& [key, node] : *all) {
    const std::string name(key.str());
    const bool good =
        !name.empty() && !std::isdigit(static_cast<unsigned char>(name[0])) &&
        std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) || c == '_'; });
    if (!good) t.fail("env", fmt::format("'{}' is no name of a variable", clean(name)));
    const auto v = node.value_exact<std::string>();
    if (!v || v->find('\0') != std::string::npos)
      t.fail("env", fmt::format("{} must be a text, not {}", name, type_name(node)));
    out.emplace_back(name, *v);
  }
  return out;
}

std::string directory_name(size_t index, const Test& test, const std::optional<uint64_t>& seed) {
  std::string name;
  for (const char c : test.name.substr(0, 80))
    name += std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.' ? c : '_';
  return fmt::format("runs/{:04}-{}{}", index, name, seed ? fmt::format("-s{}", *seed) : "");
}

std::regex regex_of(const std::string& text, const std::string& file, unsigned line, const std::string& key) {
  try {
    return std::regex(text, std::regex::ECMAScript | std::regex::optimize);
  } catch (const std::regex_error& e) {
    throw InputError(file, line, key, fmt::format("'{}' is no regular expression: {}", text, e.what()));
  }
}

/// A name as a regular expression of CTest that matches nothing else.
std::string ctest_exactly(const std::string& name) {
  std::string out = "^";
  for (const char c : name) {
    if (std::string("\\^$.[]()*+?|").find(c) != std::string::npos) out += '\\';
    out += c;
  }
  return out + "$";
}

std::string relative_to(const std::string& path, const std::string& base) {
  return fs::path(path).lexically_proximate(base).string();
}

std::string resolved(const fs::path& p) {
  std::error_code ec;
  const auto c = fs::weakly_canonical(p, ec);
  return (ec ? fs::absolute(p).lexically_normal() : c).string();
}

std::string kind_of(const std::string& what) {
  return fmt::format("rnicsim {} plan", what == "regression" ? "regress" : what);
}

void read_baseline(Plan& plan) {
  const auto root = parse(plan.baseline);
  std::set<std::string> known;
  for (const auto& t : plan.tests) {
    for (const auto& m : t.metrics) known.insert(t.name + "." + m.name);
  }
  for (auto&& [key, node] : root) {
    const std::string name(key.str());
    const auto line = static_cast<unsigned>(key.source().begin.line);
    const auto v = node.is_number() ? node.value<double>() : std::nullopt;
    if (!v || !std::isfinite(*v)) {
      throw InputError(plan.baseline, line, name,
                       node.is_table() ? fmt::format("write the name in quotes: \"{}.metric\" = value", name)
                                       : fmt::format("must be a number, not {}", type_name(node)));
    }
    if (known.count(name) == 0) {
      throw InputError(plan.baseline, line, name,
                       fmt::format("the plan has no such metric; there are: {}", fmt::join(known, ", ")));
    }
    plan.baseline_values[name] = *v;
  }
}

}  // namespace

Plan load_plan(const std::string& file, const PlanOptions& options) {
  const auto root = parse(file);
  for (auto&& [key, node] : root) {
    const auto k = key.str();
    if (k != "plan" && k != "test" && k != "ctest") {
      throw InputError(file, static_cast<unsigned>(key.source().begin.line), std::string(k),
                       "unknown table; allowed: [plan], [[test]], [[ctest]]");
    }
    if (k == "plan" && !node.is_table()) throw InputError(file, line_of(node), "plan", "must be written as [plan]");
  }
  if (!root.get("plan")) throw InputError(file, 0, "plan", "is missing: begin the file with [plan] and a name");

  Plan plan;
  plan.file = file;
  std::error_code ec;
  const std::string start = resolved(fs::current_path(ec));
  plan.dir = resolved(fs::absolute(file).parent_path());
  const auto beside = [&](const std::string& path) { return resolved(fs::path(plan.dir) / path); };

  Table p(file, "plan", *root.get("plan")->as_table());
  if (!p.name("name", plan.name)) p.fail("", "has no name");
  std::string unused, cwd;
  p.text("description", unused, true);
  int64_t jobs = 0, seed = 1;
  p.integer("jobs", jobs, 1, 1024);
  plan.jobs = static_cast<unsigned>(jobs);
  p.integer("seed", seed, 0, std::numeric_limits<int64_t>::max());
  plan.seed = options.seed.value_or(static_cast<uint64_t>(seed));
  double timeout = 300;
  p.number("timeout_s", timeout, 0.01, kMaxSeconds);
  p.number("grace_s", plan.grace_s, 0, 3600);
  plan.out = "out/regress/" + plan.name;
  if (p.text("out", plan.out) && plan.out.empty()) p.fail("out", "must not be empty");
  plan.cwd = p.text("cwd", cwd) ? beside(cwd) : start;
  if (!fs::is_directory(plan.cwd, ec)) p.fail("cwd", fmt::format("there is no folder {}", plan.cwd));
  p.choice("waves", plan.waves, std::array{"failures", "all", "none"});
  p.flag("coverage", plan.coverage);
  if (p.text("coverage_tool", plan.coverage_tool)) plan.coverage_tool = beside(plan.coverage_tool);
  if (plan.coverage && plan.coverage_tool.empty()) {
    for (fs::path up = plan.dir; plan.coverage_tool.empty(); up = up.parent_path()) {
      if (fs::exists(up / "scripts/coverage", ec)) plan.coverage_tool = (up / "scripts/coverage").string();
      if (up == up.parent_path()) break;
    }
  }
  if (plan.coverage && !fs::is_regular_file(plan.coverage_tool, ec)) {
    p.fail(plan.coverage_tool.empty() ? "coverage" : "coverage_tool",
           plan.coverage_tool.empty()
               ? "no scripts/coverage in the plan's folder or one above; name it with coverage_tool"
               : fmt::format("there is no file {}", plan.coverage_tool));
  }
  const bool with_baseline = p.text("baseline", plan.baseline);
  if (with_baseline) plan.baseline = beside(plan.baseline);
  std::vector<std::string> pages;
  p.texts("testplans", pages);
  const unsigned pages_line = p.line("testplans");
  p.done();

  std::string rule_texts;
  std::set<std::string> names;
  std::vector<std::pair<Test, std::vector<std::optional<uint64_t>>>> list;
  size_t total = 0;
  const auto add = [&](const Table& t, Test test, std::vector<std::optional<uint64_t>> seeds) {
    if (!names.insert(test.name).second) t.fail("name", fmt::format("there are two tests '{}'", test.name));
    total += seeds.size();
    if (total > kMaxRuns) t.fail("", fmt::format("the plan has more than {} runs", kMaxRuns));
    list.emplace_back(std::move(test), std::move(seeds));
  };

  // A rule file is read once, and only to see that it is there: wavecheck says what is wrong in it.
  std::map<std::string, bool> rule_files;
  for (const auto* entry : entries(file, root, "test")) {
    Table t(file, "test", *entry);
    Test test;
    if (!t.name("name", test.name)) t.fail("", "has no name");
    t.text("description", test.description);
    t.texts("labels", test.labels);
    if (!t.texts("command", test.command, true) || test.command.empty())
      t.fail("command", "is missing: an array of words, for example [\"rnicsim\", \"stages\", \"--seed\", \"{seed}\"]");
    if (test.command[0].empty()) t.fail("command", "begins with an empty word");
    test.env = env_of(t);
    test.timeout_s = timeout;
    t.number("timeout_s", test.timeout_s, 0.01, kMaxSeconds);
    int64_t expect = 0;
    t.integer("expect", expect, 0, 255);
    test.expect = static_cast<int>(expect);
    std::vector<std::string> rules;
    t.texts("rules", rules);
    for (const auto& r : rules) {
      const auto path = beside(r);
      if (!fs::is_regular_file(path, ec)) t.fail("rules", fmt::format("there is no file {}", path));
      if (!rule_files[path]) rule_texts += read_text(path, kMaxFile);
      rule_files[path] = true;
      test.rules.push_back(path);
    }
    test.metrics = metrics_of(t, with_baseline);
    std::vector<std::string> values = test.command;
    for (const auto& [k, v] : test.env) values.push_back(v);
    const bool has_trace = has_placeholder(values, "trace");
    if (t.text("wave", test.wave)) {
      check_wave(t, test.wave);
      if (!has_trace) t.fail("wave", "the command has no {trace}: write for example \"--trace\", \"{trace}\" in it");
    } else if (has_trace) {
      test.wave = "last:2000";
    }
    auto seeds = seeds_of(t, test.name, plan.seed);
    if (!seeds[0] && has_placeholder(values, "seed")) t.fail("command", "has {seed}, and the test has no seeds");
    t.done();
    add(t, std::move(test), std::move(seeds));
  }

  for (const auto* entry : entries(file, root, "ctest")) {
    Table t(file, "ctest", *entry);
    std::string prefix, build;
    const bool prefixed = t.name("name", prefix);
    if (!t.text("build", build)) t.fail("build", "is missing: the build directory with the tests");
    build = options.build.empty() ? beside(build) : resolved(options.build);
    std::vector<std::string> labels;
    t.texts("labels", labels);
    struct Filter {
      const char* key;
      bool label, keep;
      std::optional<std::regex> regex;
    };
    std::array<Filter, 4> filters{Filter{"include", false, true, {}}, Filter{"exclude", false, false, {}},
                                  Filter{"include_label", true, true, {}}, Filter{"exclude_label", true, false, {}}};
    for (auto& f : filters) {
      std::string text;
      if (t.text(f.key, text)) f.regex = regex_of(text, file, t.line(f.key), std::string("ctest.") + f.key);
    }
    double own_timeout = 0;
    const bool has_timeout = t.number("timeout_s", own_timeout, 0.01, kMaxSeconds);
    const auto env = env_of(t);
    // Drawn for the entry, not for each test: one set of seeds a night is easier to talk about.
    const auto seeds = seeds_of(t, prefixed ? prefix : "ctest", plan.seed);
    t.done();
    size_t found = 0;
    for (const auto& c : list_ctest(build, file, t.line("build"))) {
      bool keep = true;
      for (const auto& f : filters) {
        if (!f.regex) continue;
        const bool hit = f.label ? std::any_of(c.labels.begin(), c.labels.end(),
                                               [&](const auto& l) { return std::regex_search(l, *f.regex); })
                                 : std::regex_search(c.name, *f.regex);
        keep = keep && hit == f.keep;
      }
      if (!keep) continue;
      ++found;
      Test test;
      test.name = prefixed ? prefix + "/" + c.name : c.name;
      test.labels = labels;
      test.labels.insert(test.labels.end(), c.labels.begin(), c.labels.end());
      test.command = {"ctest",
                      "--test-dir",
                      relative_to(build, plan.cwd),
                      "-R",
                      ctest_exactly(c.name),
                      "--no-tests=error",
                      "--output-on-failure"};
      test.env = env;
      // CTest has a limit of its own for each test and reports it better.
      test.timeout_s = has_timeout ? own_timeout : std::max(timeout, c.timeout_s + 30);
      add(t, std::move(test), seeds);
    }
    if (found == 0) t.fail("build", fmt::format("no test of {} passes the filters", build));
  }
  if (list.empty()) throw InputError(file, 0, "", "the plan has no tests: add [[test]] or [[ctest]]");

  for (auto& [test, seeds] : list) {
    for (const auto& s : seeds) {
      Run run;
      run.index = plan.runs.size();
      run.test = plan.tests.size();
      run.seed = s;
      run.name = s ? fmt::format("{}:{}", test.name, *s) : test.name;
      run.dir = directory_name(run.index, test, s);
      plan.runs.push_back(std::move(run));
    }
    plan.tests.push_back(std::move(test));
  }
  if (with_baseline && !options.writes_baseline) read_baseline(plan);
  if (options.writes_baseline) {
    for (auto& t : plan.tests) {
      for (auto& m : t.metrics) m.check = m.check == "baseline" ? "new" : m.check;
    }
  }

  for (const auto& page : pages) {
    const auto path = beside(page);
    std::vector<std::string> files;
    if (fs::is_directory(path, ec)) {
      for (const auto& e : fs::directory_iterator(path, ec)) {
        if (e.path().extension() == ".md") files.push_back(e.path().string());
      }
      std::sort(files.begin(), files.end());
      if (files.empty()) throw InputError(file, pages_line, "plan.testplans", fmt::format("{} has no .md files", path));
    } else {
      files.push_back(path);
    }
    for (const auto& f : files) {
      auto rows = read_testplan(f);
      plan.behaviours.insert(plan.behaviours.end(), rows.begin(), rows.end());
    }
  }

  plan.has_selection = !options.only.empty() || !options.labels.empty();
  // Selection last: indices and random seeds do not depend on it.
  std::vector<std::regex> only;
  for (const auto& o : options.only) only.push_back(regex_of(o, "", 0, "--only"));
  const auto selected = [&](const Run& r) {
    const auto& labels = plan.test_of(r).labels;
    const bool named = only.empty() || std::any_of(only.begin(), only.end(),
                                                   [&](const auto& re) { return std::regex_search(r.name, re); });
    const bool labelled =
        options.labels.empty() || std::any_of(options.labels.begin(), options.labels.end(), [&](const auto& l) {
          return std::find(labels.begin(), labels.end(), l) != labels.end();
        });
    return named && labelled;
  };
  plan.runs.erase(std::remove_if(plan.runs.begin(), plan.runs.end(), [&](const Run& r) { return !selected(r); }),
                  plan.runs.end());
  if (plan.runs.empty()) {
    std::set<std::string> labels;
    for (const auto& t : plan.tests) labels.insert(t.labels.begin(), t.labels.end());
    throw InputError(file, 0, "",
                     fmt::format("--only and --label leave no run; labels there are: {}",
                                 labels.empty() ? "none" : fmt::format("{}", fmt::join(labels, ", "))));
  }

  std::string identity = read_text(file, kMaxFile) + rule_texts + fmt::format("\n{}\n", plan.seed);
  for (const auto& r : plan.runs) identity += r.name + "\n";
  for (const auto& [k, v] : plan.baseline_values) identity += fmt::format("{}={}\n", k, v);
  for (const auto& b : plan.behaviours) identity += b.text + "\n" + fmt::format("{}\n", fmt::join(b.tests, " "));
  seal(plan, identity);
  return plan;
}

void seal(Plan& plan, const std::string& identity) {
  std::error_code ec;
  plan.hash = fnv(identity);
  const auto exe = fs::read_symlink("/proc/self/exe", ec);
  const auto built = fs::last_write_time(exe, ec).time_since_epoch().count();
  plan.program = fnv(fmt::format("{} {}", fs::file_size(exe, ec), built));
}

void add_single(Plan& plan, Test test) {
  Run run;
  run.index = plan.runs.size();
  run.test = plan.tests.size();
  run.name = test.name;
  run.dir = directory_name(run.index, test, std::nullopt);
  plan.runs.push_back(std::move(run));
  plan.tests.push_back(std::move(test));
}

nlohmann::json to_json(const Plan& plan) {
  nlohmann::json j{{"schema_version", 1},
                   {"kind", kind_of(plan.what)},
                   {"extra", plan.extra},
                   {"keep", plan.keep},
                   {"file", clean(fs::path(plan.file).filename().string())},
                   {"name", plan.name},
                   {"plan_from_cwd", clean(relative_to(plan.dir, plan.cwd))},
                   {"cwd_from_start", clean(relative_to(plan.cwd, resolved(fs::current_path())))},
                   {"seed", plan.seed},
                   {"waves", plan.waves},
                   {"coverage_tool", plan.coverage ? clean(plan.coverage_tool) : ""},
                   {"hash", plan.hash},
                   {"program", plan.program},
                   {"baseline", plan.baseline_values},
                   {"has_baseline", !plan.baseline.empty()}};
  j["tests"] = nlohmann::json::array();
  for (const auto& t : plan.tests) {
    nlohmann::json metrics = nlohmann::json::array();
    for (const auto& m : t.metrics) {
      metrics.push_back({{"name", m.name},
                         {"file", m.file},
                         {"pointer", m.pointer},
                         {"unit", m.unit},
                         {"better", m.better},
                         {"check", m.check},
                         {"tolerance", m.tolerance},
                         {"percent", m.percent}});
    }
    std::vector<std::string> command;
    for (const auto& w : t.command) command.push_back(clean(w));
    std::vector<std::vector<std::string>> env;
    for (const auto& [k, v] : t.env) env.push_back({k, clean(v)});
    std::vector<std::string> rules;
    for (const auto& r : t.rules) rules.push_back(clean(relative_to(r, plan.cwd)));
    j["tests"].push_back({{"name", t.name},
                          {"description", t.description},
                          {"labels", t.labels},
                          {"command", command},
                          {"env", env},
                          {"expect", t.expect},
                          {"wave", t.wave},
                          {"timeout_s", t.timeout_s},
                          {"rules", rules},
                          {"metrics", metrics}});
  }
  j["runs"] = nlohmann::json::array();
  for (const auto& r : plan.runs) {
    nlohmann::json run{{"index", r.index}, {"test", r.test}};
    if (r.seed) run["seed"] = *r.seed;
    j["runs"].push_back(std::move(run));
  }
  j["behaviours"] = nlohmann::json::array();
  for (const auto& b : plan.behaviours)
    j["behaviours"].push_back({{"page", b.page}, {"text", b.text}, {"line", b.line}, {"tests", b.tests}});
  return j;
}

Plan plan_from_json(const nlohmann::json& j, const std::string& file) {
  try {
    Plan plan;
    plan.what.clear();
    for (const char* what : {"regression", "sweep", "sensitivity", "validation"}) {
      if (j.at("kind") == kind_of(what)) plan.what = what;
    }
    if (plan.what.empty() || j.at("schema_version") != 1)
      throw InputError(file, 0, "schema_version", "is not a plan of this version of rnicsim");
    plan.extra = j.value("extra", nlohmann::json());
    plan.keep = j.value("keep", std::vector<std::string>());
    plan.file = j.at("file");
    plan.name = j.at("name");
    plan.dir = j.at("plan_from_cwd");
    plan.cwd = j.at("cwd_from_start");
    plan.seed = j.at("seed");
    plan.waves = j.at("waves");
    plan.coverage_tool = j.at("coverage_tool");
    plan.coverage = !plan.coverage_tool.empty();
    plan.hash = j.at("hash");
    plan.program = j.at("program");
    plan.baseline_values = j.at("baseline").get<std::map<std::string, double>>();
    if (!plain_name(plan.name)) throw InputError(file, 0, "name", "is no name");
    for (const auto& t : j.at("tests")) {
      Test test;
      test.name = t.at("name");
      test.description = t.at("description");
      test.labels = t.at("labels").get<std::vector<std::string>>();
      test.command = t.at("command").get<std::vector<std::string>>();
      for (const auto& e : t.at("env")) test.env.emplace_back(e.at(0), e.at(1));
      test.expect = t.at("expect");
      test.wave = t.at("wave");
      test.timeout_s = t.at("timeout_s");
      test.rules = t.at("rules").get<std::vector<std::string>>();
      for (const auto& m : t.at("metrics")) {
        Metric v;
        v.name = m.at("name");
        v.file = m.at("file");
        v.pointer = m.at("pointer");
        v.unit = m.at("unit");
        v.better = m.at("better");
        v.check = m.at("check");
        v.tolerance = m.at("tolerance");
        v.percent = m.at("percent");
        test.metrics.push_back(v);
      }
      if (test.command.empty()) throw InputError(file, 0, "tests", "a test has no command");
      plan.tests.push_back(std::move(test));
    }
    for (const auto& r : j.at("runs")) {
      Run run;
      run.index = r.at("index");
      run.test = r.at("test");
      if (run.test >= plan.tests.size() || (!plan.runs.empty() && run.index <= plan.runs.back().index) ||
          run.index >= kMaxRuns) {
        throw InputError(file, 0, "runs", fmt::format("run {} is out of order or of no test", run.index));
      }
      if (r.contains("seed")) run.seed = r.at("seed").get<uint64_t>();
      const auto& test = plan.tests[run.test];
      run.name = run.seed ? fmt::format("{}:{}", test.name, *run.seed) : test.name;
      run.dir = directory_name(run.index, test, run.seed);
      plan.runs.push_back(std::move(run));
    }
    for (const auto& b : j.at("behaviours")) {
      Behaviour v;
      v.page = b.at("page");
      v.text = b.at("text");
      v.line = b.at("line");
      v.tests = b.at("tests").get<std::vector<std::string>>();
      plan.behaviours.push_back(std::move(v));
    }
    return plan;
  } catch (const nlohmann::json::exception& e) {
    throw InputError(file, 0, "", fmt::format("is not a plan that rnicsim has written: {}", e.what()));
  }
}

std::vector<std::string> words_of(const Plan& plan, const Run& run, const Places& places) {
  const auto& test = plan.test_of(run);
  const std::pair<const char*, std::string> names[] = {{"{seed}", run.seed ? std::to_string(*run.seed) : ""},
                                                       {"{dir}", places.dir},
                                                       {"{trace}", places.trace},
                                                       {"{plan}", plan.dir},
                                                       {"{rnicsim}", places.program}};
  const auto substituted = [&](const std::string& w) {
    std::string out;
    for (size_t i = 0; i < w.size();) {
      const auto* hit = std::find_if(std::begin(names), std::end(names), [&](const auto& n) {
        return w.compare(i, std::char_traits<char>::length(n.first), n.first) == 0;
      });
      // ${dir} is a shell's own variable.
      if (hit == std::end(names) || (i > 0 && w[i - 1] == '$')) {
        out += w[i++];
      } else {
        out += hit->second;
        i += std::char_traits<char>::length(hit->first);
      }
    }
    return out;
  };
  std::vector<std::string> out;
  for (const auto& [k, v] : test.env) out.push_back(k + "=" + substituted(v));
  for (const auto& w : test.command) out.push_back(substituted(w));
  if (test.command[0] == "rnicsim") out[test.env.size()] = places.program;
  return out;
}

}  // namespace rnic::regress
