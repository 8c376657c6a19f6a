// SPDX-License-Identifier: Apache-2.0
// Reads rules, binds them to a wave and samples it.
#include "rnic/wave/check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>

#include "rnic/core/error.h"
#include "rules.h"

namespace rnic::wave {
namespace {

using detail::KeyType;
using detail::Kind;
using detail::Rule;
using detail::Settings;
using detail::Tick;

constexpr uint64_t kBefore = 5, kAfter = 3;  // samples shown round a failure

/// `*` and `?` stand for anything but a dot, `**` for anything. Captures what each stood for.
bool glob(const char* p, const char* t, std::vector<std::string>& captures) {
  for (; *p != '\0' && *p != '*' && *p != '?'; ++p, ++t) {
    if (*p != *t) return false;
  }
  if (*p == '\0') return *t == '\0';
  const bool deep = p[0] == '*' && p[1] == '*';
  const char* rest = p + (deep ? 2 : 1);
  const size_t depth = captures.size();
  size_t n = *p == '?' ? 1 : 0;
  for (size_t i = 0; i < n; ++i) {
    if (t[i] == '\0' || t[i] == '.') return false;
  }
  for (;; ++n) {
    captures.resize(depth);
    captures.emplace_back(t, n);
    if (glob(rest, t + n, captures)) return true;
    if (*p == '?' || t[n] == '\0' || (!deep && t[n] == '.')) break;
  }
  captures.resize(depth);
  return false;
}
bool is_glob(const std::string& s) { return s.find_first_of("*?") != std::string::npos; }

/// The pattern with its stars replaced; nothing when there are more or fewer of them.
std::optional<std::string> filled(const std::string& pattern, const std::vector<std::string>& captures) {
  std::string out;
  size_t n = 0;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '*' && pattern[i] != '?') {
      out += pattern[i];
      continue;
    }
    if (pattern[i] == '*' && i + 1 < pattern.size() && pattern[i + 1] == '*') ++i;
    if (n == captures.size()) return std::nullopt;
    out += captures[n++];
  }
  if (n != captures.size()) return std::nullopt;
  return out;
}

size_t distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t up = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = up;
    }
  }
  return row[b.size()];
}
std::string last_part(const std::string& s) { return s.substr(s.rfind('.') + 1); }

std::vector<std::string> nearest(const std::string& name, const std::vector<std::string>& all) {
  const std::string tail = last_part(name);
  std::vector<std::pair<size_t, const std::string*>> ranked;
  for (const auto& s : all) {
    const size_t whole = distance(name, s);
    ranked.emplace_back(std::min(whole, 3 * distance(tail, last_part(s)) + whole / 4), &s);
  }
  const size_t n = std::min<size_t>(ranked.size(), 3);
  std::partial_sort(
      ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(n), ranked.end(),
      [](const auto& x, const auto& y) { return std::tie(x.first, *x.second) < std::tie(y.first, *y.second); });
  std::vector<std::string> out;
  for (size_t i = 0; i < n; ++i) out.push_back(*ranked[i].second);
  return out;
}

struct Instance;

/// Current value of a used signal, and the one that this time stamp brings.
struct Slot {
  uint32_t id = 0, width = 0, words = 0;
  std::string name;
  std::unique_ptr<uint64_t[]> now, next;  ///< v, then x
  bool pending = false;
  std::vector<Instance*> users;
  std::vector<std::pair<Instance*, std::string>> watchers;
  std::vector<size_t> domains;  ///< whose clock it is
};

struct Domain {
  uint32_t clock = 0;
  bool rising = true, falling = false;
  std::optional<uint32_t> cycle;
  uint64_t edges = 0;
  uint64_t last_time = 0;
  int64_t label = 0;
  std::vector<Instance*> queue, work;
  std::vector<Instance*> recording;
};

struct Instance {
  size_t domain = 0;
  std::unique_ptr<Expr> reset;
  Settings settings;
  std::unique_ptr<Rule> rule;
  std::vector<Expr*> all;
  std::vector<uint32_t> slots;  ///< in the order of the rule's text
  unsigned settle = 0, linger = 0;
  bool queued = false, changed = true, in_reset = true, vacuous_ok = false, no_x = false;
  const char* trigger = "";
  uint64_t from = 0, to = ~uint64_t{0};
  uint64_t target = 0;  ///< sample to record round
};

class Checker {
 public:
  Checker(const std::string& path, const toml::table& root, Reader& wave) : path_(path), wave_(wave) {
    for (const auto& s : wave.signals()) {
      index_.emplace(s.name, static_cast<uint32_t>(&s - wave.signals().data()));
    }
    slot_of_id_.resize(wave.id_count(), kNone);
    load(root);
  }

  std::vector<std::unique_ptr<Instance>>& instances() { return instances_; }
  bool two_state() const { return !seen_unknown_; }
  uint64_t average_period() const { return average_period_; }
  Tick end_of(const Instance& i) const {
    const Domain& d = domains_[i.domain];
    return {end_, d.label, d.edges == 0 ? 0 : d.edges - 1};
  }

  uint64_t run() {
    for (const auto& i : instances_) queue(*i);
    for (const auto& s : slots_) ids_.push_back(s->id);
    end_ = pass(0, ~uint64_t{0});
    for (const auto& i : instances_) i->rule->finish(end_of(*i));
    average_period_ = 1;
    for (const auto& d : domains_) {
      if (d.edges != 0) average_period_ = std::max(average_period_, d.last_time / d.edges);
    }
    return end_;
  }

  /// Fills Around of the instances whose target is set, as a second pass up to `to`.
  void record(const std::vector<size_t>& which, uint64_t to) {
    recording_ = true;
    for (const size_t n : which) domains_[instances_[n]->domain].recording.push_back(instances_[n].get());
    std::set<uint32_t> needed;
    for (const size_t n : which) {
      const Instance& i = *instances_[n];
      needed.insert(i.slots.begin(), i.slots.end());
      needed.insert(domains_[i.domain].clock);
      if (domains_[i.domain].cycle) needed.insert(*domains_[i.domain].cycle);
    }
    ids_.clear();
    for (const uint32_t n : needed) ids_.push_back(slots_[n]->id);
    pass(0, to);
  }

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};

  // ---- Sampling
  // -------------------------------------------------------------------------------------------------------

  uint64_t pass(uint64_t from, uint64_t to) {
    struct Sink : Visitor {
      explicit Sink(Checker& c) : checker(c) {}
      void on_change(uint32_t id, uint64_t time, const char* bits, uint32_t width) override {
        checker.change(id, time, bits, width);
      }
      Checker& checker;
    } sink(*this);
    const uint64_t end = wave_.read(ids_, from, to, sink);
    flush();
    return end;
  }

  void change(uint32_t id, uint64_t time, const char* bits, uint32_t width) {
    if (time != time_) {
      flush();
      time_ = time;
    }
    const uint32_t n = slot_of_id_[id];
    if (n == kNone) return;
    Slot& s = *slots_[n];
    if (!s.pending) {
      s.pending = true;
      dirty_.push_back(n);
    }
    uint64_t* v = s.next.get();
    uint64_t* x = v + s.words;
    const char* p = bits + width;
    for (uint32_t w = 0; w < s.words; ++w) {
      const uint32_t count = std::min<uint32_t>(64, width - 64 * w);
      uint64_t ones = 0, unknown = 0;
      p -= count;
      for (uint32_t i = 0; i < count; ++i) {
        const auto c = static_cast<unsigned char>(p[i]);
        const bool odd = c != '0' && c != '1';
        ones = ones << 1 | static_cast<uint64_t>(c == '1' || c == 'z');
        unknown = unknown << 1 | static_cast<uint64_t>(odd);
      }
      v[w] = ones;
      x[w] = unknown;
      seen_unknown_ = seen_unknown_ || unknown != 0;
    }
  }

  /// All changes of a time stamp are known: edges sample what was before them, then the values move on.
  void flush() {
    for (const uint32_t n : dirty_) {
      Slot& s = *slots_[n];
      if (s.domains.empty()) continue;
      const unsigned was = bit(s.now.get(), s.words), is = bit(s.next.get(), s.words);
      for (const size_t d : s.domains) {
        if ((was == 0 && is == 1 && domains_[d].rising) || (was == 1 && is == 0 && domains_[d].falling))
          edge(domains_[d]);
      }
    }
    for (const uint32_t n : dirty_) {
      Slot& s = *slots_[n];
      s.pending = false;
      const size_t size = size_t{16} * s.words;
      if (std::memcmp(s.now.get(), s.next.get(), size) == 0) continue;
      const bool event = !s.watchers.empty() && Bits{s.now.get(), s.now.get() + s.words, s.width}.known() &&
                         Bits{s.next.get(), s.next.get() + s.words, s.width}.known();
      std::memcpy(s.now.get(), s.next.get(), size);
      for (Instance* i : s.users) {
        i->changed = true;
        queue(*i);
      }
      if (!event || recording_) continue;
      for (const auto& [i, key] : s.watchers) {
        const Domain& d = domains_[i->domain];
        if (d.edges == 0 || i->in_reset || time_ < i->from || time_ > i->to) continue;
        i->rule->event(key, {time_, d.label, d.edges - 1});
        queue(*i);
      }
    }
    dirty_.clear();
  }

  /// 0, 1 or 2 for unknown.
  static unsigned bit(const uint64_t* p, uint32_t words) { return p[words] & 1 ? 2 : static_cast<unsigned>(p[0] & 1); }

  void queue(Instance& i) {
    if (i.queued || recording_) return;
    i.queued = true;
    domains_[i.domain].queue.push_back(&i);
  }

  void edge(Domain& d) {
    d.label = d.cycle ? static_cast<int64_t>(slots_[*d.cycle]->now[0]) : static_cast<int64_t>(d.edges);
    const Tick t{time_, d.label, d.edges++};
    d.last_time = time_;
    if (recording_) {
      for (Instance* i : d.recording) show(*i, t);
      return;
    }
    d.work.swap(d.queue);
    for (Instance* i : d.work) {
      i->queued = false;
      if (i->changed)
        i->linger = i->settle;
      else if (i->linger != 0)
        --i->linger;
      i->changed = false;
      for (Expr* e : i->all) e->sample();
      i->in_reset = i->reset && truth(i->reset->last()) != Truth::kFalse;
      bool more = false;
      if (t.time >= i->from && t.time <= i->to) more = i->in_reset ? i->rule->reset(t) : i->rule->step(t);
      if (more || i->linger != 0 || t.time < i->from) queue(*i);
    }
    d.work.clear();
  }

  void show(Instance& i, const Tick& t) {
    Around& a = i.rule->verdict().around;
    if (t.sample > i.target + kAfter || t.sample + kBefore + i.settle + 1 < i.target) return;
    for (Expr* e : i.all) e->sample();
    if (t.sample + kBefore < i.target) return;
    if (a.rows.empty()) {
      for (const uint32_t s : i.slots) a.rows.push_back({slots_[s]->name, {}});
      for (const Expr* e : i.all) a.rows.push_back({e->text(), {}});
    }
    if (t.sample == i.target) a.marked = a.cycles.size();
    a.cycles.push_back(t.cycle);
    a.times.push_back(t.time);
    size_t r = 0;
    for (const uint32_t s : i.slots) {
      const Slot& x = *slots_[s];
      a.rows[r++].values.push_back(Bits{x.now.get(), x.now.get() + x.words, x.width}.text());
    }
    for (const Expr* e : i.all) a.rows[r++].values.push_back(e->last().text());
  }

  // ---- Binding
  // --------------------------------------------------------------------------------------------------------

  uint32_t slot(const Signal& s) {
    uint32_t& n = slot_of_id_[s.id];
    if (n == kNone) {
      n = static_cast<uint32_t>(slots_.size());
      auto x = std::make_unique<Slot>();
      x->id = s.id;
      x->width = s.width;
      x->words = (s.width + 63) / 64;
      x->name = s.name;
      for (auto* p : {&x->now, &x->next}) {
        p->reset(new uint64_t[2 * x->words]());
        for (uint32_t w = 0; w < x->words; ++w) {
          (*p)[x->words + w] =
              w + 1 == x->words && s.width % 64 != 0 ? (uint64_t{1} << s.width % 64) - 1 : ~uint64_t{0};
        }
      }
      slots_.push_back(std::move(x));
    }
    return n;
  }

  class Scoped : public Names {
   public:
    Scoped(Checker& c, std::string scope, const std::vector<std::string>& captures)
        : checker_(c), scope_(std::move(scope)), captures_(captures) {}
    const Bound* find(const std::string& pattern) override {
      std::string name = pattern;
      if (is_glob(pattern)) {
        const auto f = filled(pattern, captures_);
        if (!f) return nullptr;
        name = *f;
      }
      if (!name.empty() && name[0] == '.') name = name.substr(1);
      auto it = scope_.empty() ? checker_.index_.end() : checker_.index_.find(scope_ + "." + name);
      if (it == checker_.index_.end()) it = checker_.index_.find(name);
      if (it == checker_.index_.end()) return nullptr;
      const Signal& s = checker_.wave_.signals()[it->second];
      bound_.slot = checker_.slot(s);
      const Slot& x = *checker_.slots_[bound_.slot];
      bound_.bits = {x.now.get(), x.now.get() + x.words, x.width};
      bound_.msb = s.msb;
      bound_.lsb = s.lsb;
      used.push_back(bound_.slot);
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
      checker_.no_signal(scope_.empty() ? shown : scope_ + "." + shown, place, offset);
    }
    std::vector<uint32_t> used;

   private:
    Checker& checker_;
    std::string scope_;
    const std::vector<std::string>& captures_;
    Bound bound_;
  };

  [[noreturn]] void no_signal(const std::string& name, const Place& place, size_t offset) const {
    std::vector<std::string> all;
    for (const auto& s : wave_.signals()) all.push_back(s.name);
    place.fail(offset,
               fmt::format("{} '{}' in {}; nearest: {}", is_glob(name) ? "nothing matches" : "there is no signal", name,
                           wave_.path(), fmt::join(nearest(name, all), ", ")));
  }

  // ---- The file
  // -------------------------------------------------------------------------------------------------------

  static Place place_of(const std::string& file, const std::string& key, const toml::node& n) {
    const auto at = n.source().begin;
    return {file, static_cast<unsigned>(at.line), static_cast<unsigned>(at.column) + (n.is_string() ? 1u : 0u), key};
  }

  void load(const toml::table& root) {
    for (auto&& [key, node] : root) {
      if (key.str() == "rule" || key.str() == "defaults") continue;
      throw InputError(path_, static_cast<unsigned>(key.source().begin.line), std::string(key.str()),
                       "unknown key; allowed: defaults, rule");
      (void)node;
    }
    static const toml::table kNothing;
    const toml::table* defaults = &kNothing;
    if (const auto* n = root.get("defaults")) {
      defaults = n->as_table();
      if (defaults == nullptr) place_of(path_, "defaults", *n).fail(0, "must be a table: [defaults]");
      for (auto&& [key, node] : *defaults) {
        if (std::find(kCommon.begin(), kCommon.end(), key.str()) == kCommon.end() || key.str() == "kind" ||
            key.str() == "name") {
          place_of(path_, "defaults." + std::string(key.str()), node)
              .fail(0, "unknown key; allowed: clock, edge, reset, cycle, scope, severity, vacuous, from_ns, to_ns");
        }
      }
    }
    const auto* rules = root.get("rule") ? root.get("rule")->as_array() : nullptr;
    if (rules == nullptr || rules->empty())
      throw InputError(path_, 0, "rule", "there is no rule; write [[rule]] tables");
    for (auto&& n : *rules) {
      if (!n.is_table()) place_of(path_, "rule", n).fail(0, "must be a table: [[rule]]");
      rule(*n.as_table(), *defaults);
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
    if (!v) place_of(path_, key, *n).fail(0, "must be a text");
    return *v;
  }
  std::string choice(const toml::table& t, const toml::table& defaults, const std::string& key,
                     const std::string& choices, const std::string& otherwise) const {
    const auto v = text(t, defaults, key);
    if (!v) return otherwise;
    if (("|" + choices + "|").find("|" + *v + "|") == std::string::npos || v->find('|') != std::string::npos) {
      place_of(path_, key, *get(t, defaults, key)).fail(0, fmt::format("'{}' is not known; allowed: {}", *v, choices));
    }
    return *v;
  }
  double number(const toml::node& n, const std::string& key) const {
    const auto v = n.is_number() ? n.value<double>() : std::nullopt;
    if (!v || !(*v >= 0) || *v > 1e18) place_of(path_, key, n).fail(0, "must be a number from 0 on");
    return *v;
  }

  void rule(const toml::table& t, const toml::table& defaults) {
    const auto line = static_cast<unsigned>(t.source().begin.line);
    std::vector<std::string> names;
    for (const auto& k : detail::kinds()) names.emplace_back(k.name);
    const auto kind_name = text(t, {}, "kind");
    if (!kind_name)
      throw InputError(path_, line, "kind", fmt::format("is missing; allowed: {}", fmt::join(names, ", ")));
    const auto found = std::find(names.begin(), names.end(), *kind_name);
    if (found == names.end()) {
      place_of(path_, "kind", *t.get("kind"))
          .fail(0, fmt::format("'{}' is not known; allowed: {}", *kind_name, fmt::join(names, ", ")));
    }
    const Kind& kind = detail::kinds()[static_cast<size_t>(found - names.begin())];
    for (auto&& [key, node] : t) {
      const std::string k(key.str());
      if (std::find(kCommon.begin(), kCommon.end(), k) != kCommon.end()) continue;
      if (std::any_of(kind.keys.begin(), kind.keys.end(), [&](const auto& x) { return k == x.name; })) continue;
      std::vector<std::string> allowed;
      for (const auto& x : kind.keys) allowed.emplace_back(x.name);
      for (const auto& x : kCommon) allowed.emplace_back(x);
      throw InputError(path_, static_cast<unsigned>(key.source().begin.line), k,
                       fmt::format("unknown key of '{}'; allowed: {}", kind.name, fmt::join(allowed, ", ")));
      (void)node;
    }
    for (const auto& k : kind.keys) {
      if (k.required && t.get(k.name) == nullptr) {
        throw InputError(path_, line, k.name, fmt::format("is missing in this '{}' rule", kind.name));
      }
    }
    const auto* clock = get(t, defaults, "clock");
    if (clock == nullptr) {
      throw InputError(path_, line, "clock",
                       "is missing: name the clock in the rule or in [defaults]; it is never guessed");
    }

    // Scopes, then what the first glob stands for.
    std::vector<std::string> scopes{""};
    if (const auto scope = text(t, defaults, "scope")) {
      scopes.clear();
      std::set<std::string> all;
      for (const auto& s : wave_.signals()) {
        for (size_t dot = s.name.find('.'); dot != std::string::npos; dot = s.name.find('.', dot + 1)) {
          all.insert(s.name.substr(0, dot));
        }
      }
      std::vector<std::string> captures;
      for (const auto& s : all) {
        captures.clear();
        if (glob(scope->c_str(), s.c_str(), captures)) scopes.push_back(s);
      }
      if (scopes.empty()) {
        place_of(path_, "scope", *get(t, defaults, "scope"))
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
      const Place place = place_of(path_, key, n);
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
        instance(t, defaults, kind, line, scope, {}, labelled ? scope : "");
        continue;
      }
      std::set<std::string> labels;
      for (const bool inside : {true, false}) {
        if (inside && scope.empty()) continue;
        if (!labels.empty()) break;
        const std::string pattern = inside ? scope + "." + first->pattern : first->pattern;
        std::vector<std::string> captures;
        for (const auto& s : wave_.signals()) {
          captures.clear();
          if (!glob(pattern.c_str(), s.name.c_str(), captures) || !labels.insert(s.name).second) continue;
          instance(t, defaults, kind, line, scope, captures, s.name);
        }
      }
      if (labels.empty()) no_signal(first->pattern, first->place, first->offset);
    }
  }

  void instance(const toml::table& t, const toml::table& defaults, const Kind& kind, unsigned line,
                const std::string& scope, const std::vector<std::string>& captures, const std::string& label) {
    auto out = std::make_unique<Instance>();
    Instance& i = *out;
    Scoped names(*this, scope, captures);
    const auto expr = [&](const toml::node& n, const std::string& key) {
      const auto v = n.value_exact<std::string>();
      if (!v) place_of(path_, key, n).fail(0, "must be an expression, as a text");
      const Place place = place_of(path_, key, n);
      auto e = std::make_unique<Expr>(*v, place, names);
      std::string shown = *v;
      auto found = names_in(*v, place);
      std::reverse(found.begin(), found.end());
      for (const auto& [name, offset] : found) {
        const auto f = is_glob(name) ? filled(name, captures) : std::nullopt;
        if (f) shown.replace(offset + (shown[offset] == '`' ? 1 : 0), name.size(), *f);
      }
      e->set_text(std::move(shown));
      return e;
    };
    const auto signal = [&](const toml::node& n, const std::string& key) {
      const auto v = n.value_exact<std::string>();
      if (!v) place_of(path_, key, n).fail(0, "must be the name of a signal");
      const auto* b = names.find(*v);
      if (b == nullptr) names.unknown(*v, place_of(path_, key, n), 0);
      return b->slot;
    };
    Settings& s = i.settings;
    s.tick_ns = wave_.ns(1);
    s.fail = [&](const std::string& key, const std::string& what) {
      const auto* n = key.empty() ? nullptr : t.get(key);
      throw InputError(path_, n ? static_cast<unsigned>(n->source().begin.line) : line, key, what);
    };
    for (const auto& k : kind.keys) {
      const auto* n = t.get(k.name);
      if (n == nullptr) continue;
      switch (k.type) {
        case KeyType::kSignal: {
          const uint32_t slot_number = signal(*n, k.name);
          slots_[slot_number]->watchers.emplace_back(&i, k.name);
          s.exprs[k.name].push_back(expr(*n, k.name));
          break;
        }
        case KeyType::kExpr:
          s.exprs[k.name].push_back(expr(*n, k.name));
          break;
        case KeyType::kExprs: {
          const auto* list = n->as_array();
          if (list == nullptr || list->empty()) place_of(path_, k.name, *n).fail(0, "must be a list of expressions");
          for (auto&& e : *list) s.exprs[k.name].push_back(expr(e, k.name));
          break;
        }
        case KeyType::kInteger: {
          const double v = number(*n, k.name);
          if (v != std::floor(v)) place_of(path_, k.name, *n).fail(0, "must be a whole number");
          s.numbers[k.name] = v;
          break;
        }
        case KeyType::kNumber:
          s.numbers[k.name] = number(*n, k.name);
          break;
        case KeyType::kText:
          s.texts[k.name] = choice(t, {}, k.name, k.choices, "");
          break;
        case KeyType::kFlag: {
          const auto v = n->value_exact<bool>();
          if (!v) place_of(path_, k.name, *n).fail(0, "must be true or false");
          s.flags[k.name] = *v;
          break;
        }
      }
    }
    if (const auto* n = get(t, defaults, "reset");
        n != nullptr && !(n->is_string() && n->value_or(std::string()) == "none")) {
      i.reset = expr(*n, "reset");
    }
    for (auto& [key, list] : s.exprs) {
      (void)key;
      for (auto& e : list) i.all.push_back(e.get());
    }
    if (i.reset) i.all.push_back(i.reset.get());
    std::set<uint32_t> seen;
    for (const uint32_t u : names.used) {
      if (seen.insert(u).second) {
        i.slots.push_back(u);
        slots_[u]->users.push_back(&i);
      }
    }
    for (const Expr* e : i.all) i.settle = std::max(i.settle, e->settle());
    i.domain = domain(t, defaults, signal);
    i.rule = kind.make(s);
    i.trigger = kind.trigger;
    i.no_x = std::string(kind.name) == "no_x";
    i.vacuous_ok = choice(t, defaults, "vacuous", "fail|ok", "fail") == "ok";
    for (const auto& [key, limit] : {std::pair<const char*, uint64_t*>{"from_ns", &i.from}, {"to_ns", &i.to}}) {
      if (const auto* n = get(t, defaults, key))
        *limit = static_cast<uint64_t>(std::llround(number(*n, key) / s.tick_ns));
    }
    Verdict& v = i.rule->verdict();
    v.kind = kind.name;
    v.name = text(t, {}, "name").value_or(fmt::format("{} of line {}", kind.name, line));
    v.instance = label;
    v.file = path_;
    v.line = line;
    v.warning = choice(t, defaults, "severity", "error|warning", "error") == "warning";
    instances_.push_back(std::move(out));
  }

  template <class Find>
  size_t domain(const toml::table& t, const toml::table& defaults, const Find& signal) {
    Domain d;
    const auto* clock = get(t, defaults, "clock");
    d.clock = signal(*clock, "clock");
    if (slots_[d.clock]->width != 1) place_of(path_, "clock", *clock).fail(0, "a clock has one bit");
    const std::string edge = choice(t, defaults, "edge", "rising|falling|both", "");
    if (edge.empty()) {
      throw InputError(
          path_, static_cast<unsigned>(t.source().begin.line), "edge",
          "is missing: name the edge (rising, falling, both) in the rule or in [defaults]; it is never guessed");
    }
    d.rising = edge != "falling";
    d.falling = edge != "rising";
    if (const auto* n = get(t, defaults, "cycle")) d.cycle = signal(*n, "cycle");
    for (size_t n = 0; n < domains_.size(); ++n) {
      const Domain& o = domains_[n];
      if (o.clock == d.clock && o.rising == d.rising && o.falling == d.falling && o.cycle == d.cycle) return n;
    }
    domains_.push_back(std::move(d));
    slots_[domains_.back().clock]->domains.push_back(domains_.size() - 1);
    return domains_.size() - 1;
  }

  static const std::vector<std::string> kCommon;

  const std::string& path_;
  Reader& wave_;
  std::unordered_map<std::string, uint32_t> index_;
  std::vector<uint32_t> slot_of_id_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<Domain> domains_;
  std::vector<std::unique_ptr<Instance>> instances_;
  std::vector<uint32_t> dirty_, ids_;
  uint64_t time_ = 0, end_ = 0, average_period_ = 1;
  bool seen_unknown_ = false, recording_ = false;
};

const std::vector<std::string> Checker::kCommon{"kind",  "name",     "clock",   "edge",    "reset", "cycle",
                                                "scope", "severity", "vacuous", "from_ns", "to_ns"};

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

Report check(const std::string& rules_path, Reader& wave) {
  toml::table root;
  try {
    root = toml::parse_file(rules_path);
  } catch (const toml::parse_error& e) {
    const auto at = e.source().begin;
    Place{rules_path, static_cast<unsigned>(at.line), static_cast<unsigned>(at.column), ""}.fail(
        0, std::string(e.description()));
  }
  Report report;
  report.rules = rules_path;
  report.wave = wave.path();
  report.tick_ns = wave.ns(1);
  uint64_t last_failure = 0;
  std::vector<size_t> failed;
  {
    Checker checker(rules_path, root, wave);
    report.end = checker.run();
    for (auto& i : checker.instances()) {
      Verdict& v = i->rule->verdict();
      if (v.count != 0) {
        v.status = Status::kFailed;
        failed.push_back(report.verdicts.size());
        last_failure = std::max(last_failure, v.first[0].time + (kAfter + 5) * checker.average_period());
      } else if (!v.detail.empty()) {
        v.status = Status::kIncomplete;
      } else if (i->no_x && checker.two_state() && !i->vacuous_ok) {
        v.status = Status::kVacuous;
        v.detail = "no x or z in any signal that the rules use: a two-state dump, on which this rule can never fail";
      } else if (v.triggers == 0 && !i->vacuous_ok) {
        v.status = Status::kVacuous;
        v.detail = std::string(i->trigger) + "; vacuous = \"ok\" allows that";
      }
      report.verdicts.push_back(std::move(v));
    }
  }
  if (failed.empty()) return report;
  // The values round the failures: only now is it known where.
  Checker again(rules_path, root, wave);
  for (const size_t n : failed) again.instances()[n]->target = report.verdicts[n].first[0].sample;
  again.record(failed, last_failure);
  for (const size_t n : failed) report.verdicts[n].around = std::move(again.instances()[n]->rule->verdict().around);
  return report;
}

}  // namespace rnic::wave
