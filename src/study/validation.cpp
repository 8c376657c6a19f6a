// SPDX-License-Identifier: Apache-2.0
#include "rnic/study/validation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <functional>

#include "core/toml_table.h"
#include "rnic/core/error.h"
#include "rnic/core/file.h"
#include "rnic/core/names.h"
#include "rnic/core/page.h"
#include "rnic/core/text.h"
#include "rnic/study/chart.h"

namespace rnic::study {
namespace fs = std::filesystem;
namespace {

using Table = detail::TomlTable;

constexpr size_t kMaxFile = 4 << 20, kMaxEntries = 1000, kMaxWords = 64;
constexpr double kMaxValue = 1e12;

/// The elements of an array of tables.
void each(const toml::table& root, const std::string& file, const char* name, const std::function<void(Table&)>& fn) {
  const auto* n = root.get(name);
  if (!n) return;
  const auto* list = n->as_array();
  if (!list || !list->is_array_of_tables())
    throw InputError(file, detail::line_of(*n), name, fmt::format("must be tables, each under [[{}]]", name));
  if (list->size() > kMaxEntries) {
    throw InputError(file, detail::line_of(*n), name,
                     fmt::format("{} entries; allowed: {}", list->size(), kMaxEntries));
  }
  size_t i = 0;
  for (const auto& e : *list) {
    Table t(file, fmt::format("{}[{}]", name, i++), *e.as_table(), nullptr);
    fn(t);
    t.done();
  }
}

std::string required(Table& t, const char* key) {
  std::string v;
  t.word(key, v);
  if (v.empty()) t.fail(key, "is missing or empty");
  return v;
}

std::vector<std::string> words(Table& t, const char* key) {
  std::vector<std::string> out;
  const auto* n = t.raw(key);
  if (!n) return out;
  const auto* list = n->as_array();
  if (!list || list->size() > kMaxWords) t.fail(key, fmt::format("must be an array of at most {} texts", kMaxWords));
  for (const auto& e : *list) {
    const auto w = e.value_exact<std::string>();
    if (!w) t.fail(key, fmt::format("must hold texts only, not {}", detail::type_name(e)));
    if (std::any_of(w->begin(), w->end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }))
      t.fail(key, "must not hold control characters");
    out.push_back(*w);
  }
  return out;
}

/// A finite number of any sign; nothing when it isn't there.
std::optional<double> number(Table& t, const char* key) {
  const auto* n = t.raw(key);
  if (!n) return std::nullopt;
  const auto v = n->is_number() ? n->value<double>() : std::nullopt;
  if (!v) t.fail(key, fmt::format("must be a number, not {}", detail::type_name(*n)));
  if (!std::isfinite(*v) || std::abs(*v) > kMaxValue)
    t.fail(key, fmt::format("{} is out of range; allowed: {:g} to {:g}", *v, -kMaxValue, kMaxValue));
  return v;
}

template <class List>
void fresh(Table& t, const std::string& name, const List& list) {
  if (std::any_of(list.begin(), list.end(), [&](const auto& e) { return e.name == name; }))
    t.fail("name", fmt::format("'{}' is there twice", name));
}

/// What a run's command may not say: validation decides which profile is run, and where its result goes.
void check_command(Table& t, const std::vector<std::string>& command) {
  static constexpr std::array kCommands{"stages", "perf", "pcie-bench", "load-bench", "run"};
  if (command.empty()) t.fail("command", "is missing or empty");
  if (std::find(kCommands.begin(), kCommands.end(), command[0]) == kCommands.end()) {
    t.fail("command", fmt::format("'{}' leaves no result; there are: {}", command[0], fmt::join(kCommands, ", ")));
  }
  static constexpr std::array kOwn{"-o", "--out", "--profile", "--json", "--trace", "--set"};
  for (const auto& w : command) {
    const auto own = std::find_if(kOwn.begin(), kOwn.end(), [&](const std::string& o) {
      return w.substr(0, w.find('=')) == o || (o.size() == 2 && w.compare(0, 2, o) == 0);
    });
    if (own == kOwn.end()) continue;
    t.fail("command", *own == std::string("--set") ? "keys of the profile stand under 'set'"
                                                   : fmt::format("{} is set by the validation", *own));
  }
}

struct Machine {
  std::string name;
  std::vector<std::string> set;
};

std::vector<std::string> assignments(Table& t, const char* key) {
  auto out = words(t, key);
  for (const auto& s : out) {
    const auto name = s.substr(0, s.find('='));
    if (name.size() == s.size() || name.empty()) t.fail(key, fmt::format("'{}' is not of the form key=value", s));
    if (find_key(name) == nullptr) {
      std::vector<std::string> all;
      for (const auto& k : profile_schema()) all.push_back(k.name);
      t.fail(key, fmt::format("'{}' is no key of a profile; nearest: {}", name, fmt::join(nearest(name, all), ", ")));
    }
  }
  return out;
}

void read_terms(Table& t, const std::string& file, const std::string& where, const std::vector<ValidationRun>& runs,
                std::vector<PublishedFigure::Term>& out) {
  const auto* n = t.raw("ours");
  if (!n) t.fail("ours", "is missing: say which run, and which figure of its result, measures the same");
  const auto* list = n->as_array();
  if (!list || list->empty() || list->size() > kMaxWords)
    t.fail("ours", fmt::format("must be an array of 1 to {} tables {{ run, figure, times }}", kMaxWords));
  size_t i = 0;
  for (const auto& e : *list) {
    if (!e.is_table())
      t.fail("ours", fmt::format("must hold tables {{ run, figure, times }}, not {}", detail::type_name(e)));
    Table term(file, fmt::format("{}.ours[{}]", where, i++), *e.as_table(), nullptr);
    PublishedFigure::Term& to = out.emplace_back();
    if (!term.reference("run", runs, "run", to.run)) term.fail("run", "is missing");
    to.figure = required(term, "figure");
    to.times = number(term, "times").value_or(1);
    if (to.times == 0) term.fail("times", "0 leaves nothing of it");
    term.done();
  }
}

}  // namespace

std::optional<bool> ValidatedFigure::inside() const {
  if (published->lo == 0 && published->hi == 0) return std::nullopt;
  return *ours >= published->lo && *ours <= published->hi;
}

size_t ValidationResult::failed() const {
  return static_cast<size_t>(std::count_if(figures.begin(), figures.end(), [](const auto& f) { return !f.ours; }));
}

Validation parse_validation(const std::string& toml_text, const std::string& file) {
  const toml::table root = detail::parse_toml(toml_text, file);
  Validation v;
  v.file = file;
  {
    Table top(file, "", root, nullptr);
    v.profile = required(top, "profile");
    for (const char* list : {"source", "machine", "run", "figure", "unmatched"}) top.has(list);
    top.done();
  }
  each(root, file, "source", [&](Table& t) {
    PublishedSource s;
    s.name = required(t, "name");
    fresh(t, s.name, v.sources);
    s.title = required(t, "title");
    s.where = required(t, "where");
    s.hardware = required(t, "hardware");
    s.method = required(t, "method");
    s.checked = required(t, "checked");
    if (s.checked != "primary" && s.checked != "second hand")
      t.fail("checked", fmt::format("'{}' is not known; allowed: primary, second hand", s.checked));
    v.sources.push_back(std::move(s));
  });
  std::vector<Machine> machines;
  each(root, file, "machine", [&](Table& t) {
    Machine m;
    m.name = required(t, "name");
    fresh(t, m.name, machines);
    m.set = assignments(t, "set");
    machines.push_back(std::move(m));
  });
  each(root, file, "run", [&](Table& t) {
    ValidationRun r;
    r.name = required(t, "name");
    fresh(t, r.name, v.runs);
    r.words = words(t, "command");
    check_command(t, r.words);
    std::vector<std::string> set;
    unsigned machine = 0;
    if (t.reference("machine", machines, "machine", machine)) set = machines[machine].set;
    for (auto& s : assignments(t, "set")) set.push_back(std::move(s));
    for (const auto& s : set) r.words.insert(r.words.end(), {"--set", s});
    v.runs.push_back(std::move(r));
  });
  size_t n = 0;
  each(root, file, "figure", [&](Table& t) {
    PublishedFigure f;
    f.line = t.line();
    f.name = required(t, "name");
    fresh(t, f.name, v.figures);
    if (!t.reference("source", v.sources, "source", f.source)) t.fail("source", "is missing: say who measured it");
    f.what = required(t, "what");
    f.quote = required(t, "quote");
    t.word("differs", f.differs);
    static constexpr std::array<std::pair<const char*, const char*>, 3> kUnits{
        {{"ns", "ns"}, {"Gb/s", "Gb/s"}, {"M/s", "M/s"}}};
    const char* unit = nullptr;
    t.choice("unit", unit, kUnits);
    if (!unit) t.fail("unit", "is missing; allowed: ns, Gb/s, M/s");
    f.unit = unit;
    const auto value = number(t, "value"), lo = number(t, "lo"), hi = number(t, "hi");
    if (!value) t.fail("value", "is missing");
    if (*value <= 0) t.fail("value", fmt::format("{} is out of range; allowed: above 0 to {:g}", *value, kMaxValue));
    f.value = *value;
    if (lo.has_value() != hi.has_value()) t.fail(lo ? "lo" : "hi", "'lo' and 'hi' stand together");
    if (lo) {
      f.lo = *lo;
      f.hi = *hi;
      if (!(f.lo > 0 && f.lo <= f.value && f.value <= f.hi))
        t.fail("lo", fmt::format("{} to {} is no range round {}", f.lo, f.hi, f.value));
    }
    static constexpr std::array<std::pair<const char*, int>, 2> kUses{{{"fitted", 1}, {"held out", 0}}};
    int use = -1;
    t.choice("use", use, kUses);
    if (use < 0) t.fail("use", "is missing; allowed: fitted, held out");
    f.fitted = use == 1;
    f.keys = words(t, "keys");
    if (f.fitted && f.keys.empty()) t.fail("keys", "is missing: say which keys of the profile were fitted to it");
    if (!f.fitted && !f.keys.empty()) t.fail("keys", "no key is fitted to a figure that is held out");
    for (const auto& k : f.keys) {
      if (find_key(k) == nullptr) t.fail("keys", fmt::format("'{}' is no key of a profile", k));
    }
    read_terms(t, file, fmt::format("figure[{}]", n++), v.runs, f.ours);
    v.figures.push_back(std::move(f));
  });
  if (v.figures.empty()) throw InputError(file, 0, "figure", "there is none");
  each(root, file, "unmatched", [&](Table& t) {
    UnmatchedFigure u;
    u.name = required(t, "name");
    fresh(t, u.name, v.unmatched);
    if (!t.reference("source", v.sources, "source", u.source)) t.fail("source", "is missing: say who measured it");
    u.value = required(t, "value");
    u.why = required(t, "why");
    v.unmatched.push_back(std::move(u));
  });
  return v;
}

Validation read_validation(const std::string& file) { return parse_validation(read_text(file, kMaxFile), file); }

std::string validation_file(const std::string& profile_name) {
  const fs::path folder = fs::path(Profile::folder()) / "figures";
  std::error_code ec;
  const fs::path path = folder / (profile_name + ".toml");
  if (profile_name.find('/') == std::string::npos && fs::is_regular_file(path, ec)) return path.string();
  std::vector<std::string> names;
  for (const auto& e : fs::directory_iterator(folder, ec)) {
    if (e.path().extension() == ".toml") names.push_back(e.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  throw InputError(
      "", 0, "profile",
      fmt::format("there are no published figures for the profile '{}'; there are for: {}. --figures names "
                  "another file",
                  clean(profile_name), names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
}

void check_fits(const Validation& v, const Profile& profile) {
  std::vector<std::string> named;
  for (const auto& f : v.figures) {
    for (const auto& k : f.keys) {
      if (profile.entry(k).kind != "fitted") {
        throw InputError(v.file, f.line, "keys",
                         fmt::format("'{}' is said to be fitted to '{}', but the profile {} has it as '{}'", k, f.name,
                                     profile.name(), profile.entry(k).kind));
      }
      named.push_back(k);
    }
  }
  for (const auto& [key, e] : profile.entries()) {
    if (e.kind != "fitted" || std::find(named.begin(), named.end(), key) != named.end()) continue;
    throw InputError(e.file, e.line, key,
                     fmt::format("is fitted, but no figure of {} says to what", fs::path(v.file).filename().string()));
  }
}

std::vector<Job> jobs_of(const Validation& v, const std::vector<std::string>& more) {
  std::vector<Job> out;
  for (const auto& r : v.runs) {
    Job j{r.name, r.words};
    j.words.insert(j.words.end(), more.begin(), more.end());
    out.push_back(std::move(j));
  }
  return out;
}

ValidationResult validate(const Validation& v, const std::vector<Outcome>& outcomes, bool as_held_out) {
  ValidationResult r;
  r.of = &v;
  r.as_held_out = as_held_out;
  for (const auto& p : v.figures) {
    ValidatedFigure f;
    f.published = &p;
    double sum = 0;
    for (const auto& t : p.ours) {
      const Outcome& o = outcomes.at(t.run);
      if (!o.good()) {
        f.error = fmt::format("run '{}': {}", v.runs[t.run].name, o.error.empty() ? o.status : o.error);
        break;
      }
      const auto x = o.figures.number(t.figure);
      if (!x) {
        std::vector<std::string> all;
        for (const auto& value : o.figures.all()) all.push_back(value.name);
        f.error = fmt::format("run '{}' has no figure '{}'; nearest: {}", v.runs[t.run].name, t.figure,
                              fmt::join(nearest(t.figure, all), ", "));
        break;
      }
      sum += t.times * *x;
    }
    if (f.error.empty()) {
      f.ours = sum;
      ErrorSummary& s = p.fitted && !as_held_out ? r.fitted : r.held_out;
      const double e = std::abs(f.error_percent());
      s.mean_percent += e;
      if (s.count++ == 0 || e > s.worst_percent) {
        s.worst_percent = e;
        s.worst = p.name;
      }
    }
    r.figures.push_back(std::move(f));
  }
  for (ErrorSummary* s : {&r.fitted, &r.held_out}) {
    if (s->count != 0) s->mean_percent /= static_cast<double>(s->count);
  }
  return r;
}

std::string figure_text(double v) { return trim(v, std::abs(v) >= 100 ? 1 : 2); }

namespace {

const char* use_text(const ValidationResult& r, const PublishedFigure& f) {
  return f.fitted && !r.as_held_out ? "fitted" : "held out";
}

nlohmann::json to_json(const ErrorSummary& s) {
  if (s.count == 0) return {{"count", 0}};
  return {{"count", s.count},
          {"mean_error_percent", s.mean_percent},
          {"worst_error_percent", s.worst_percent},
          {"worst", s.worst}};
}

std::string command_of(const ValidationRun& r) {
  std::string s = "rnicsim";
  for (const auto& w : r.words) s += " " + quoted(w);
  return s;
}

}  // namespace

nlohmann::json to_json(const ValidationResult& r) {
  const Validation& v = *r.of;
  nlohmann::json j{{"figures_file", fs::path(v.file).filename().string()},
                   {"fitted", to_json(r.fitted)},
                   {"held_out", to_json(r.held_out)},
                   {"figures", nlohmann::json::array()},
                   {"unmatched", nlohmann::json::array()},
                   {"sources", nlohmann::json::array()}};
  for (const auto& f : r.figures) {
    const PublishedFigure& p = *f.published;
    nlohmann::json one{{"name", p.name},        {"source", v.sources[p.source].name},
                       {"what", p.what},        {"quote", p.quote},
                       {"unit", p.unit},        {"published", p.value},
                       {"use", use_text(r, p)}, {"keys", p.keys},
                       {"ours", nullptr},       {"error_percent", nullptr}};
    if (p.lo != 0) one["published_lo"] = p.lo, one["published_hi"] = p.hi;
    if (!p.differs.empty()) one["differs"] = p.differs;
    if (f.ours) {
      one["ours"] = *f.ours;
      one["error_percent"] = f.error_percent();
      if (const auto in = f.inside()) one["inside_published_range"] = *in;
    } else {
      one["error"] = f.error;
    }
    auto& commands = one["commands"] = nlohmann::json::array();
    for (const auto& t : p.ours) {
      const auto c = command_of(v.runs[t.run]);
      if (std::find(commands.begin(), commands.end(), c) == commands.end()) commands.push_back(c);
    }
    j["figures"].push_back(std::move(one));
  }
  for (const auto& u : v.unmatched) {
    j["unmatched"].push_back(
        {{"name", u.name}, {"source", v.sources[u.source].name}, {"value", u.value}, {"why", u.why}});
  }
  for (const auto& s : v.sources) {
    j["sources"].push_back({{"name", s.name},
                            {"title", s.title},
                            {"where", s.where},
                            {"hardware", s.hardware},
                            {"method", s.method},
                            {"checked", s.checked}});
  }
  return j;
}

std::string page_of(const ValidationResult& r, const Profile& profile, const std::string& command) {
  const Validation& v = *r.of;
  TornadoChart c;
  c.title = fmt::format("{}: how far each figure is from the published one", profile.name());
  c.axis = "error, %";
  c.lo_legend = "fitted";
  c.hi_legend = "held out";
  for (const auto& f : r.figures) {
    if (!f.ours) continue;
    TornadoChart::Bar b;
    b.name = f.published->name;
    const auto label = fmt::format("{:+.1f} %", f.error_percent());
    (f.published->fitted && !r.as_held_out ? b.lo_text : b.hi_text) = label;
    b.lo = b.hi = f.error_percent();
    c.bars.push_back(std::move(b));
  }
  const auto sum = [](const ErrorSummary& s) {
    return s.count == 0 ? std::string("none")
                        : fmt::format("{} figures, {:.1f} % off on average, {:.1f} % at most ({})", s.count,
                                      s.mean_percent, s.worst_percent, s.worst);
  };
  std::string out = page_head("rnicsim: profile and published figures");
  out += fmt::format(
      "<header><h1>{}</h1><p>{}</p>\n<dl><dt>fitted</dt><dd>{}</dd><dt>held out</dt><dd>{}</dd>"
      "<dt>command</dt><dd><code>{}</code></dd></dl></header>\n",
      xml(profile.name()), xml(profile.description()), xml(sum(r.fitted)), xml(sum(r.held_out)), xml(command));
  if (!c.bars.empty()) out += "<section><div class=\"picture\">" + svg_of(c) + "</div></section>\n";
  out +=
      "<section><h2>Figures</h2><table class=\"list\"><thead><tr><th>figure</th><th>use</th><th "
      "class=\"n\">published</th><th class=\"n\">ours</th><th></th><th class=\"n\">error</th><th>source</th><th>as it "
      "was published</th><th>what differs</th></tr></thead><tbody>\n";
  for (const auto& f : r.figures) {
    const PublishedFigure& p = *f.published;
    const auto range = p.lo == 0 ? "" : fmt::format(" ({} to {})", figure_text(p.lo), figure_text(p.hi));
    out += fmt::format(
        "<tr><td>{}</td><td>{}</td><td class=\"n\">{}{}</td><td class=\"n\">{}</td><td>{}</td><td "
        "class=\"n\">{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
        xml(p.name), use_text(r, p), figure_text(p.value), range, f.ours ? figure_text(*f.ours) : "-", xml(p.unit),
        f.ours ? fmt::format("{:+.1f} %", f.error_percent()) : xml(f.error), xml(v.sources[p.source].name),
        xml(p.quote), xml(p.differs));
  }
  out +=
      "</tbody></table></section>\n<section><h2>Sources</h2><table class=\"list\"><thead><tr><th>name</th><th>"
      "title</th><th>where</th><th>hardware</th><th>method</th><th>checked</th></tr></thead><tbody>\n";
  for (const auto& s : v.sources) {
    out += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n", xml(s.name),
                       xml(s.title), xml(s.where), xml(s.hardware), xml(s.method), xml(s.checked));
  }
  out += "</tbody></table></section>\n";
  if (!v.unmatched.empty()) {
    out +=
        "<section><h2>Published, and nothing of ours measures it</h2><table class=\"list\"><thead><tr><th>figure"
        "</th><th>published</th><th>source</th><th>why</th></tr></thead><tbody>\n";
    for (const auto& u : v.unmatched) {
      out += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n", xml(u.name), xml(u.value),
                         xml(v.sources[u.source].name), xml(u.why));
    }
    out += "</tbody></table></section>\n";
  }
  return out + "</body></html>\n";
}

}  // namespace rnic::study
