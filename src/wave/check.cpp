// SPDX-License-Identifier: Apache-2.0
// Reads rules and binds them to a wave.
#include "rnic/wave/check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "golden.h"
#include "parameters.h"
#include "rnic/core/error.h"
#include "rnic/core/names.h"
#include "sampler.h"

namespace rnic::wave {
namespace {

using detail::Instance;
using detail::KeyType;
using detail::Kind;
using detail::Sampler;
using detail::Settings;

constexpr double kLargestWhole = 9007199254740992.0;  // 2^53: up to it a double is exact

/// A file of rules, parsed.
struct RulesFile {
  std::string path;
  toml::table root;
  detail::ParameterValues parameters;
};

Place place_of(const std::string& file, const std::string& key, const toml::node& n) {
  const auto at = n.source().begin;
  // In front of a text stands its quote; of a text of several lines, where the characters are is not known.
  return {file, static_cast<unsigned>(at.line), static_cast<unsigned>(at.column) + (n.is_string() ? 1u : 0u), key};
}

/// Binds the rules of one file to a wave.
class Loader {
 public:
  /// `pool` is null when nothing will be checked. `default_golden`: file for the golden rules that name none.
  Loader(const RulesFile& file, Sampler& sampler, detail::GoldenPool* pool, const std::string& default_golden)
      : path_(file.path), file_(file), sampler_(sampler), pool_(pool), default_golden_(default_golden) {
    load(file.root);
  }
  /// Of the golden rules by cycle, by number of the instance.
  std::map<size_t, detail::GoldenSpec> specs;

 private:
  /// Names as the rule at hand sees them: stars replaced, in its scope or from the top, parameters.
  class Scoped : public Names {
   public:
    Scoped(const Loader& l, Instance& i, std::string scope, const std::vector<std::string>& captures)
        : loader_(l), instance_(i), scope_(std::move(scope)), captures_(captures) {}
    std::optional<uint64_t> constant(const std::string& name, const Place& place, size_t offset) override {
      const auto it = loader_.file_.parameters.find(name);
      if (it == loader_.file_.parameters.end()) return std::nullopt;
      const double v = it->second;
      if (v < 0 || v != std::floor(v) || v > kLargestWhole) {
        place.fail(offset,
                   fmt::format("parameter '{}' is {}; in an expression it must be a whole number from 0 on", name, v));
      }
      return static_cast<uint64_t>(v);
    }
    const Signal* signal(const std::string& pattern) const {
      std::string name = pattern;
      if (is_glob(pattern)) {
        const auto f = filled(pattern, captures_);
        if (!f) return nullptr;
        name = *f;
      }
      if (!name.empty() && name[0] == '.') name = name.substr(1);
      const Sampler& sampler = loader_.sampler_;
      const Signal* s = scope_.empty() ? nullptr : sampler.signal(scope_ + "." + name);
      return s != nullptr ? s : sampler.signal(name);
    }
    const Bound* find(const std::string& pattern) override {
      const Signal* s = signal(pattern);
      if (s == nullptr) return nullptr;
      used.push_back(loader_.sampler_.slot(*s));
      bound_ = {instance_.input(used.back(), s->width), s->msb, s->lsb};
      return &bound_;
    }
    [[noreturn]] void unknown(const std::string& name, const Place& place, size_t offset) override {
      std::string shown = name;
      if (is_glob(name)) {
        const auto f = filled(name, captures_);
        if (!f) {
          place.fail(offset, fmt::format("'{}' has another number of stars than the first glob of the rule", name));
        }
        shown = *f;
      }
      loader_.no_signal(scope_.empty() ? shown : scope_ + "." + shown, place, offset);
    }
    std::vector<uint32_t> used;  ///< slots

   private:
    const Loader& loader_;
    Instance& instance_;
    std::string scope_;
    const std::vector<std::string>& captures_;
    Bound bound_;
  };

  [[noreturn]] void no_signal(const std::string& name, const Place& place, size_t offset) const {
    auto all = sampler_.names();
    for (const auto& [n, v] : file_.parameters) {
      all.push_back(n);
      (void)v;
    }
    place.fail(offset,
               fmt::format("{} '{}' in {}; nearest: {}", is_glob(name) ? "nothing matches" : "there is no signal", name,
                           sampler_.wave().path(), fmt::join(nearest(name, all), ", ")));
  }

  // ---- The file
  // -------------------------------------------------------------------------------------------------------

  Place at(const std::string& key, const toml::node& n) const { return place_of(path_, key, n); }
  Place at(const toml::key& key) const {
    const auto p = key.source().begin;
    return {path_, static_cast<unsigned>(p.line), static_cast<unsigned>(p.column), std::string(key.str())};
  }

  void load(const toml::table& root) {
    for (auto&& [key, node] : root) {
      (void)node;
      if (key.str() == "rule" || key.str() == "defaults" || key.str() == "parameters") continue;
      at(key).fail(0, "unknown key; allowed: defaults, parameters, rule");
    }
    static const toml::table kNothing;
    const toml::table* defaults = &kNothing;
    if (const auto* n = root.get("defaults")) {
      defaults = n->as_table();
      if (defaults == nullptr) at("defaults", *n).fail(0, "must be a table: [defaults]");
      for (auto&& [key, node] : *defaults) {
        (void)node;
        if (std::find(kCommon.begin() + 2, kCommon.end(), key.str()) == kCommon.end()) {
          at(key).fail(0, fmt::format("unknown key of [defaults]; allowed: {}",
                                      fmt::join(kCommon.begin() + 2, kCommon.end(), ", ")));
        }
      }
    }
    const auto* n = root.get("rule");
    if (n == nullptr) throw InputError(path_, 0, "rule", "there is no rule; write [[rule]] tables");
    const auto* rules = n->as_array();
    if (rules == nullptr || rules->empty()) at("rule", *n).fail(0, "must be tables: [[rule]]");
    for (auto&& r : *rules) {
      if (!r.is_table()) at("rule", r).fail(0, "must be a table: [[rule]]");
      rule(*r.as_table(), *defaults);
    }
  }

  const toml::node* get(const toml::table& t, const toml::table& defaults, const std::string& key) const {
    if (const auto* n = t.get(key)) return n;
    return std::find(kCommon.begin(), kCommon.end(), key) != kCommon.end() ? defaults.get(key) : nullptr;
  }
  std::optional<std::string> text(const toml::table& t, const toml::table& defaults, const std::string& key) const {
    const auto* n = get(t, defaults, key);
    if (n == nullptr) return std::nullopt;
    const auto v = n->value_exact<std::string>();
    if (!v) at(key, *n).fail(0, "must be a text");
    return *v;
  }
  std::string choice(const toml::table& t, const toml::table& defaults, const std::string& key,
                     const std::string& choices, const std::string& otherwise) const {
    const auto v = text(t, defaults, key);
    if (!v) return otherwise;
    if (("|" + choices + "|").find("|" + *v + "|") == std::string::npos || v->find('|') != std::string::npos) {
      std::string allowed = choices;
      for (size_t bar; (bar = allowed.find('|')) != std::string::npos;) allowed.replace(bar, 1, ", ");
      at(key, *get(t, defaults, key)).fail(0, fmt::format("'{}' is not known; allowed: {}", *v, allowed));
    }
    return *v;
  }
  double number(const toml::node& n, const std::string& key) const {
    double v = 0;
    if (const auto s = n.value_exact<std::string>()) {
      v = detail::evaluate(*s, at(key, n), file_.parameters);
      if (!(v >= 0) || v > 1e18) at(key, n).fail(0, fmt::format("'{}' is {}; it must be a number from 0 on", *s, v));
    } else {
      const auto x = n.is_number() ? n.value<double>() : std::nullopt;
      if (!x || !(*x >= 0) || *x > 1e18) {
        at(key, n).fail(0, "must be a number from 0 on, or a text with arithmetic on [parameters]");
      }
      v = *x;
    }
    return v;
  }

  void rule(const toml::table& t, const toml::table& defaults) {
    const auto start = t.source().begin;
    const auto line = static_cast<unsigned>(start.line);
    const auto missing = [&](const std::string& key) {
      return Place{path_, line, static_cast<unsigned>(start.column), key};
    };
    std::vector<std::string> names;
    for (const auto& k : detail::kinds()) names.emplace_back(k.name);
    const auto kind_name = text(t, {}, "kind");
    if (!kind_name) missing("kind").fail(0, fmt::format("is missing; allowed: {}", fmt::join(names, ", ")));
    const auto found = std::find(names.begin(), names.end(), *kind_name);
    if (found == names.end()) {
      at("kind", *t.get("kind"))
          .fail(0, fmt::format("'{}' is not known; allowed: {}", *kind_name, fmt::join(names, ", ")));
    }
    const Kind& kind = detail::kinds()[static_cast<size_t>(found - names.begin())];
    for (auto&& [key, node] : t) {
      (void)node;
      const std::string k(key.str());
      if (std::find(kCommon.begin(), kCommon.end(), k) != kCommon.end()) continue;
      if (std::any_of(kind.keys.begin(), kind.keys.end(), [&](const auto& x) { return k == x.name; })) continue;
      std::vector<std::string> allowed;
      for (const auto& x : kind.keys) allowed.emplace_back(x.name);
      for (const auto& x : kCommon) allowed.emplace_back(x);
      at(key).fail(0, fmt::format("unknown key of '{}'; allowed: {}", kind.name, fmt::join(allowed, ", ")));
    }
    for (const auto& k : kind.keys) {
      if (k.required && t.get(k.name) == nullptr) {
        missing(k.name).fail(0, fmt::format("is missing in this '{}' rule", kind.name));
      }
    }
    if (get(t, defaults, "clock") == nullptr) {
      missing("clock").fail(0, "is missing: name the clock in the rule or in [defaults]; it is never guessed");
    }

    // Scopes, then what the first glob stands for.
    std::vector<std::string> scopes{""};
    if (const auto scope = text(t, defaults, "scope")) {
      scopes.clear();
      std::set<std::string> all;
      for (const auto& s : sampler_.wave().signals()) {
        for (size_t dot = s.name.find('.'); dot != std::string::npos; dot = s.name.find('.', dot + 1)) {
          all.insert(s.name.substr(0, dot));
        }
      }
      for (const auto& s : all) {
        if (glob(*scope, s)) scopes.push_back(s);
      }
      if (scopes.empty()) {
        at("scope", *get(t, defaults, "scope"))
            .fail(0, fmt::format("no scope matches '{}'; nearest: {}", *scope,
                                 fmt::join(nearest(*scope, {all.begin(), all.end()}), ", ")));
      }
    }
    struct First {
      std::string pattern;
      Place place;
      size_t offset;
    };
    std::optional<First> first;
    const auto look = [&](const toml::node& n, const std::string& key) {
      const auto v = n.value_exact<std::string>();
      if (!v || first) return;
      const Place place = at(key, n);
      for (const auto& [name, offset] : names_in(*v, place)) {
        if (!first && is_glob(name)) first = First{name, place, offset};
      }
    };
    for (const auto& k : kind.keys) {
      const auto* n = t.get(k.name);
      if (n == nullptr) continue;
      if (k.type == KeyType::kExpr || k.type == KeyType::kSignal) look(*n, k.name);
      if (k.type == KeyType::kExprs && n->is_array()) {
        for (auto&& e : *n->as_array()) look(e, k.name);
      }
    }
    const bool labelled = text(t, defaults, "scope") && is_glob(*text(t, defaults, "scope"));
    for (const auto& scope : scopes) {
      if (!first) {
        instances(t, defaults, kind, line, scope, {}, labelled ? scope : "");
        continue;
      }
      std::set<std::string> labels;
      for (const bool inside : {true, false}) {
        if (inside && scope.empty()) continue;
        if (!labels.empty()) break;
        const std::string pattern = inside ? scope + "." + first->pattern : first->pattern;
        std::vector<std::string> captures;
        for (const auto& s : sampler_.wave().signals()) {
          if (!glob(pattern, s.name, &captures) || !labels.insert(s.name).second) continue;
          instances(t, defaults, kind, line, scope, captures, s.name);
        }
      }
      if (labels.empty()) no_signal(first->pattern, first->place, first->offset);
    }
  }

  /// The stars of a text replaced. Names that need it get backquotes.
  static std::string without_stars(std::string text, const Place& place, const std::vector<std::string>& captures,
                                   bool quote) {
    auto found = names_in(text, place);
    std::reverse(found.begin(), found.end());
    for (const auto& [name, offset] : found) {
      auto f = is_glob(name) ? filled(name, captures) : std::nullopt;
      if (!f) continue;
      const bool quoted = text[offset] == '`';
      const bool plain = std::all_of(
          f->begin(), f->end(), [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '$' || c == '.'; });
      if (quote && !quoted && !plain) f = "`" + *f + "`";
      text.replace(offset + (quoted ? 1 : 0), name.size(), *f);
    }
    return text;
  }
  std::unique_ptr<Expr> expr(const std::string& text, const Place& place, Scoped& names,
                             const std::vector<std::string>& captures) const {
    auto e = std::make_unique<Expr>(text, place, names);
    e->set_text(without_stars(text, place, captures, false));
    return e;
  }
  std::unique_ptr<Expr> expr(const toml::node& n, const std::string& key, Scoped& names,
                             const std::vector<std::string>& captures) const {
    const auto v = n.value_exact<std::string>();
    if (!v) at(key, n).fail(0, "must be an expression, as a text");
    return expr(*v, at(key, n), names, captures);
  }
  uint32_t signal(const toml::node& n, const std::string& key, Scoped& names) const {
    const auto v = n.value_exact<std::string>();
    if (!v) at(key, n).fail(0, "must be the name of a signal");
    const Signal* s = names.signal(*v);
    if (s == nullptr) names.unknown(*v, at(key, n), 0);
    return sampler_.slot(*s);
  }

  /// What a list of golden signals stands for.
  std::vector<detail::Written> listed(const toml::node& n, const std::string& key, const std::string& scope,
                                      const std::vector<std::string>& captures) const {
    const auto* list = n.as_array();
    if (list == nullptr || list->empty()) at(key, n).fail(0, "must be a list of expressions");
    std::vector<detail::Written> out;
    for (auto&& e : *list) {
      const auto v = e.value_exact<std::string>();
      const Place place = at(key, e);
      if (!v) place.fail(0, "must be an expression, as a text");
      const auto names = names_in(*v, place);
      const auto star = std::find_if(names.begin(), names.end(), [](const auto& x) { return is_glob(x.first); });
      if (star == names.end() || !captures.empty()) {
        out.push_back({*v, place});
        continue;
      }
      const size_t before = out.size();
      for (const bool inside : {true, false}) {
        if (inside ? scope.empty() : out.size() != before) continue;
        const std::string pattern = inside ? scope + "." + star->first : star->first;
        std::set<std::string> seen;
        std::vector<std::string> own;
        for (const auto& s : sampler_.wave().signals()) {
          if (!glob(pattern, s.name, &own) || !seen.insert(s.name).second) continue;
          out.push_back({without_stars(*v, place, own, true), place});
        }
      }
      if (out.size() == before) no_signal(star->first, place, star->second);
    }
    return out;
  }

  /// One instance of a rule; of a golden rule by cycle, one for each signal, which are one verdict.
  void instances(const toml::table& t, const toml::table& defaults, const Kind& kind, unsigned line,
                 const std::string& scope, const std::vector<std::string>& captures, const std::string& label) {
    const auto list =
        std::find_if(kind.keys.begin(), kind.keys.end(), [](const auto& k) { return k.type == KeyType::kList; });
    if (list == kind.keys.end()) {
      instance(t, defaults, kind, line, scope, captures, label, {});
      return;
    }
    const auto all = listed(*t.get(list->name), list->name, scope, captures);
    if (choice(t, {}, "by", "cycle|transaction", "cycle") == "transaction") {
      instance(t, defaults, kind, line, scope, captures, label, all);
      return;
    }
    const size_t group = sampler_.instances().size();
    for (const auto& one : all) {
      instance(t, defaults, kind, line, scope, captures, label, {one});
      sampler_.instances().back()->group = group;
    }
  }

  detail::GoldenSpec golden_spec(const toml::table& t, const toml::table& defaults, unsigned line,
                                 const std::string& scope, const std::vector<std::string>& captures,
                                 const std::vector<detail::Written>& signals) const {
    detail::GoldenSpec spec;
    const auto file = text(t, {}, "golden");
    if (file) {
      spec.file = (std::filesystem::path(path_).parent_path() / *file).string();
    } else if (!default_golden_.empty()) {
      spec.file = default_golden_;
    } else {
      Place{path_, line, static_cast<unsigned>(t.source().begin.column), "golden"}.fail(
          0, "is missing: name the golden wave here, or with --golden");
    }
    const auto written = [&](const char* own, const char* common) -> std::optional<detail::Written> {
      const bool given = t.get(own) != nullptr;
      const auto* n = given ? t.get(own) : get(t, defaults, common);
      const auto v = given ? text(t, {}, own) : text(t, defaults, common);
      if (!v || *v == "none") return std::nullopt;
      return detail::Written{*v, at(given ? own : common, *n), given};
    };
    const auto clock = written("golden_clock", "clock");
    if (!clock) at("golden_clock", *t.get("golden_clock")).fail(0, "must be the name of a signal");
    spec.clock = *clock;
    const std::string edge =
        choice(t, {}, "golden_edge", "rising|falling|both", choice(t, defaults, "edge", "rising|falling|both", ""));
    spec.rising = edge != "falling";
    spec.falling = edge != "rising";
    spec.cycle = written("golden_cycle", "cycle");
    spec.reset = written("golden_reset", "reset");
    spec.event = written("event", "event");
    if (spec.event) spec.event->as_written = false;
    spec.signals = signals;
    spec.scope = scope;
    spec.captures = captures;
    spec.prefix = text(t, {}, "golden_prefix");
    if (const auto* n = t.get("golden_map")) {
      const auto* table = n->as_table();
      if (table == nullptr) at("golden_map", *n).fail(0, "must be a table: { \"name here\" = \"name there\" }");
      for (auto&& [key, node] : *table) {
        const auto v = node.value_exact<std::string>();
        if (!v) at("golden_map", node).fail(0, "must be a name, as a text");
        spec.map[std::string(key.str())] = *v;
      }
    }
    spec.parameters = &file_.parameters;
    if (const auto* n = get(t, defaults, "from_ns")) spec.from_ns = number(*n, "from_ns");
    if (const auto* n = get(t, defaults, "to_ns")) spec.to_ns = number(*n, "to_ns");
    return spec;
  }

  void instance(const toml::table& t, const toml::table& defaults, const Kind& kind, unsigned line,
                const std::string& scope, const std::vector<std::string>& captures, const std::string& label,
                const std::vector<detail::Written>& listed) {
    auto out = std::make_unique<Instance>();
    Instance& i = *out;
    Scoped names(*this, i, scope, captures);
    Settings& s = i.settings;
    s.tick_ns = sampler_.wave().ns(1);
    s.fail = [&](const std::string& key, const std::string& what) {
      const auto* n = key.empty() ? nullptr : t.get(key);
      (n != nullptr ? at(key, *n) : Place{path_, line, static_cast<unsigned>(t.source().begin.column), key})
          .fail(0, what);
    };
    for (const auto& k : kind.keys) {
      const auto* n = t.get(k.name);
      if (n == nullptr) continue;
      switch (k.type) {
        case KeyType::kSignal:
          s.exprs[k.name].push_back(expr(*n, k.name, names, captures));
          i.watch(signal(*n, k.name, names), k.name);
          break;
        case KeyType::kExpr:
          s.exprs[k.name].push_back(expr(*n, k.name, names, captures));
          break;
        case KeyType::kExprs: {
          const auto* list = n->as_array();
          if (list == nullptr || list->empty()) at(k.name, *n).fail(0, "must be a list of expressions");
          for (auto&& e : *list) s.exprs[k.name].push_back(expr(e, k.name, names, captures));
          break;
        }
        case KeyType::kInteger: {
          const double v = number(*n, k.name);
          if (v != std::floor(v)) at(k.name, *n).fail(0, fmt::format("must be a whole number, and is {}", v));
          s.numbers[k.name] = v;
          break;
        }
        case KeyType::kNumber:
          s.numbers[k.name] = number(*n, k.name);
          break;
        case KeyType::kList:
          for (const auto& w : listed) s.exprs[k.name].push_back(expr(w.text, w.place, names, captures));
          break;
        case KeyType::kString:
          s.texts[k.name] = *text(t, {}, k.name);
          break;
        case KeyType::kMap:
          break;  // golden_spec reads it
        case KeyType::kText:
          s.texts[k.name] = choice(t, {}, k.name, k.choices, "");
          break;
        case KeyType::kFlag: {
          const auto v = n->value_exact<bool>();
          if (!v) at(k.name, *n).fail(0, "must be true or false");
          s.flags[k.name] = *v;
          break;
        }
      }
    }
    if (const auto* n = get(t, defaults, "reset");
        n != nullptr && !(n->is_string() && n->value_or(std::string()) == "none")) {
      names.used.clear();
      i.reset = expr(*n, "reset", names, captures);
      for (auto& in : i.inputs) {
        in.of_reset = std::find(names.used.begin(), names.used.end(), in.slot) != names.used.end();
      }
    }
    for (auto& [key, list] : s.exprs) {
      (void)key;
      for (auto& e : list) i.all.push_back(e.get());
    }
    if (i.reset) i.all.push_back(i.reset.get());
    i.domain = domain(t, defaults, names);
    i.rule = kind.make(s);
    i.trigger = kind.trigger;
    i.no_x = std::string(kind.name) == "no_x";
    i.vacuous_ok = choice(t, defaults, "vacuous", "fail|ok", "fail") == "ok";
    for (const auto& [key, limit] : {std::pair<const char*, uint64_t*>{"from_ns", &i.from}, {"to_ns", &i.to}}) {
      if (const auto* n = get(t, defaults, key)) {
        const double ticks = number(*n, key) / s.tick_ns;
        *limit = ticks >= 1.8e19 ? ~uint64_t{0} : static_cast<uint64_t>(ticks + 0.5);
      }
    }
    if (i.from > i.to) s.fail("from_ns", "lies behind to_ns");
    detail::Rule& r = *i.rule;
    Verdict& v = r.verdict();
    v.kind = kind.name;
    v.name = text(t, {}, "name").value_or(fmt::format("{} of line {}", kind.name, line));
    v.instance = label;
    v.file = path_;
    v.line = line;
    v.warning = choice(t, defaults, "severity", "error|warning", "error") == "warning";
    s.fail = nullptr;  // what it looks at ends here
    sampler_.add(std::move(out));
    if (dynamic_cast<detail::GoldenRule*>(&r) == nullptr) return;
    auto spec = golden_spec(t, defaults, line, scope, captures, listed);
    specs.emplace(sampler_.instances().size() - 1, spec);
    if (pool_ != nullptr) pool_->attach(i, std::move(spec));
  }

  size_t domain(const toml::table& t, const toml::table& defaults, Scoped& names) {
    const auto* clock = get(t, defaults, "clock");
    const uint32_t slot = signal(*clock, "clock", names);
    if (sampler_.slot(slot).width != 1) {
      at("clock", *clock).fail(0, fmt::format("a clock has one bit, and this has {}", sampler_.slot(slot).width));
    }
    const std::string edge = choice(t, defaults, "edge", "rising|falling|both", "");
    if (edge.empty()) {
      const auto start = t.source().begin;
      Place{path_, static_cast<unsigned>(start.line), static_cast<unsigned>(start.column), "edge"}.fail(
          0, "is missing: name the edge (rising, falling, both) in the rule or in [defaults]; it is never guessed");
    }
    std::optional<uint32_t> cycle;
    if (const auto* n = get(t, defaults, "cycle")) {
      cycle = signal(*n, "cycle", names);
      if (sampler_.slot(*cycle).width > 64) at("cycle", *n).fail(0, "a cycle number has at most 64 bits");
    }
    return sampler_.domain(slot, edge != "falling", edge != "rising", cycle);
  }

  static const std::vector<std::string> kCommon;

  const std::string& path_;
  const RulesFile& file_;
  Sampler& sampler_;
  detail::GoldenPool* pool_;
  const std::string& default_golden_;
};

// The first two are not for [defaults].
const std::vector<std::string> Loader::kCommon{"kind",  "name",     "clock",   "edge",    "reset", "cycle",
                                               "scope", "severity", "vacuous", "from_ns", "to_ns"};

RulesFile parsed(const std::string& path) {
  RulesFile f;
  f.path = path;
  std::error_code ec;
  if (std::filesystem::is_directory(path, ec)) throw InputError(path, 0, "", "is a directory; give a file of rules");
  try {
    f.root = toml::parse_file(path);
  } catch (const toml::parse_error& e) {
    const auto p = e.source().begin;
    Place{path, static_cast<unsigned>(p.line), static_cast<unsigned>(p.column), ""}.fail(0,
                                                                                         std::string(e.description()));
  }
  const auto* n = f.root.get("parameters");
  if (n == nullptr) return f;
  const auto* table = n->as_table();
  if (table == nullptr) place_of(path, "parameters", *n).fail(0, "must be a table: [parameters] with NAME = number");
  for (auto&& [key, node] : *table) {
    const std::string name(key.str());
    const auto p = key.source().begin;
    const Place place{path, static_cast<unsigned>(p.line), static_cast<unsigned>(p.column), "parameters." + name};
    static const std::string kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    if (name.find_first_not_of(kLetters + "0123456789") != std::string::npos || name.empty() ||
        kLetters.find(name[0]) == std::string::npos) {
      place.fail(0, "the name of a parameter has letters, digits and _, and does not begin with a digit");
    }
    for (const char* word : {"and", "or", "not", "min", "max"}) {
      if (name == word) place.fail(0, "is a word of the expressions; take another name");
    }
    const auto v = node.is_number() ? node.value<double>() : std::nullopt;
    if (!v || !std::isfinite(*v) || std::abs(*v) > 1e18) {
      place_of(path, "parameters." + name, node).fail(0, "must be a number");
    }
    f.parameters[name] = *v;
  }
  return f;
}

/// Parameters take presets first, then what was given; the latter must be declared somewhere.
void set_parameters(std::vector<RulesFile>& files, const CheckOptions& options, Report& report) {
  std::vector<std::string> all;
  for (auto& f : files) {
    for (auto& [name, value] : f.parameters) {
      all.push_back(name);
      std::string from = "default";
      if (const auto it = options.presets.find(name); it != options.presets.end() && it->second != value) {
        value = it->second;
        from = "preset";
      }
      if (const auto it = options.parameters.find(name); it != options.parameters.end()) {
        value = it->second;
        from = "--param";
      }
      report.parameters.push_back({name, value, f.path, from});
    }
  }
  for (const auto& [name, value] : options.parameters) {
    (void)value;
    if (std::find(all.begin(), all.end(), name) != all.end()) continue;
    throw InputError("", 0, "",
                     all.empty() ? fmt::format("parameter '{}': no rules file has a table [parameters]", name)
                                 : fmt::format("parameter '{}' is declared in no [parameters]; nearest: {}", name,
                                               fmt::join(nearest(name, all), ", ")));
  }
}

/// No signal of the wave is ever x or z.
bool two_state(Reader& wave) {
  struct Found {};
  struct Sink : Visitor {
    void on_change(uint32_t, uint64_t, const char* bits, uint32_t width) override {
      for (uint32_t i = 0; i < width; ++i) {
        if (bits[i] != '0' && bits[i] != '1') throw Found{};
      }
    }
  } sink;
  std::vector<uint32_t> ids;
  for (const auto& s : wave.signals()) ids.push_back(s.id);
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  try {
    wave.read(ids, sink);
  } catch (const Found&) {
    return false;
  }
  return true;
}

/// Adds what another instance of the same rule found.
void merge(Verdict& v, const Verdict& w) {
  v.triggers += w.triggers;
  v.count += w.count;
  if (v.detail.empty()) v.detail = w.detail;
  v.first.insert(v.first.end(), w.first.begin(), w.first.end());
  std::stable_sort(v.first.begin(), v.first.end(), [](const auto& a, const auto& b) { return a.time < b.time; });
  if (v.first.size() > 5) v.first.resize(5);
}

}  // namespace

const char* to_string(Status s) {
  switch (s) {
    case Status::kPassed:
      return "passed";
    case Status::kFailed:
      return "FAILED";
    case Status::kVacuous:
      return "VACUOUS";
    case Status::kIncomplete:
      return "INCOMPLETE";
  }
  return "?";
}

bool Report::good() const {
  return std::none_of(verdicts.begin(), verdicts.end(), [](const auto& v) { return v.bad(); });
}
size_t Report::count(Status s) const {
  return static_cast<size_t>(
      std::count_if(verdicts.begin(), verdicts.end(), [&](const auto& v) { return v.status == s; }));
}

Report check(const std::vector<std::string>& rules_paths, Reader& wave, const CheckOptions& options) {
  Report report;
  report.rules = rules_paths;
  report.wave = wave.path();
  report.tick_ns = wave.ns(1);
  std::vector<RulesFile> files;
  for (const auto& p : rules_paths) files.push_back(parsed(p));
  set_parameters(files, options, report);
  std::vector<size_t> failed;        // verdicts
  std::vector<size_t> first_failed;  // the instance of each that failed first
  std::vector<detail::Checkpoint> checkpoints;
  {
    Sampler sampler(wave);
    detail::GoldenPool pool(sampler);
    for (const auto& f : files) Loader(f, sampler, &pool, options.golden);
    pool.start();
    report.end = sampler.run();
    const auto& all = sampler.instances();
    for (size_t n = 0; n < all.size();) {
      const Instance& i = *all[n];
      Verdict& v = i.rule->verdict();
      size_t worst = n, next = n + 1;
      uint64_t failing = v.count != 0;
      for (; next < all.size() && all[next]->group == i.group && i.group != ~size_t{0}; ++next) {
        const Verdict& w = all[next]->rule->verdict();
        failing += w.count != 0;
        if (w.count != 0 && (v.count == 0 || w.first[0].time < v.first[0].time)) worst = next;
        merge(v, w);
      }
      if (next - n > 1) {
        v.expected += fmt::format("; the same for {} more signal{}", next - n - 1, next - n == 2 ? "" : "s");
        v.measured.emplace_back("signals", fmt::format("{}", next - n));
        v.measured.emplace_back("signals_that_differ", fmt::format("{}", failing));
      }
      if (v.count != 0) {
        v.status = Status::kFailed;
        failed.push_back(report.verdicts.size());
        first_failed.push_back(worst);
      } else if (!i.sampled && !i.vacuous_ok) {
        v.status = Status::kVacuous;
        v.detail = sampler.domain(i.domain).edges == 0
                       ? fmt::format("{} has no edge to sample at", sampler.slot(sampler.domain(i.domain).clock).name)
                       : "no sample lies outside of reset and inside of the window";
      } else if (i.no_x && sampler.two_state() && two_state(wave)) {
        v.status = Status::kVacuous;
        v.detail = "no x or z in the whole wave: a two-state dump, on which this rule can never fail";
      } else if (!v.detail.empty()) {
        v.status = Status::kIncomplete;
      } else if (v.triggers == 0 && !i.vacuous_ok) {
        v.status = Status::kVacuous;
        v.detail = std::string(i.trigger) + "; vacuous = \"ok\" allows that";
      }
      report.verdicts.push_back(std::move(v));
      n = next;
    }
    checkpoints = sampler.checkpoints();
  }
  if (failed.empty()) return report;
  // The values round the failures: only now is it known where.
  Sampler again(wave);
  std::map<size_t, detail::GoldenSpec> specs;
  for (const auto& f : files) {
    const Loader loader(f, again, nullptr, options.golden);
    specs.insert(loader.specs.begin(), loader.specs.end());
  }
  for (size_t k = 0; k < failed.size(); ++k) {
    again.instances()[first_failed[k]]->target = report.verdicts[failed[k]].first[0].sample;
  }
  again.record(first_failed, checkpoints);
  for (size_t k = 0; k < failed.size(); ++k) {
    Around& around = report.verdicts[failed[k]].around;
    around = std::move(again.instances()[first_failed[k]]->rule->verdict().around);
    const auto spec = specs.find(first_failed[k]);
    if (spec != specs.end() && !spec->second.event) detail::GoldenPool::add_row(again, spec->second, around);
  }
  return report;
}

}  // namespace rnic::wave
