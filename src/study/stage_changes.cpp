// SPDX-License-Identifier: Apache-2.0
#include "rnic/study/stage_changes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace rnic::study {
namespace {

constexpr double kSame = 5e-7;     // ns; instants are whole ps
constexpr size_t kMaxSubsets = 8;  // changed stages whose sums are tried

bool same(double a, double b) { return std::abs(a - b) < kSame; }

bool ends(const std::string& s, const char* end) {
  const size_t n = std::char_traits<char>::length(end);
  return s.size() >= n && s.compare(s.size() - n, n, end) == 0;
}

bool begins(const std::string& s, const std::string& begin) { return s.compare(0, begin.size(), begin) == 0; }

struct StageFigures {
  std::string name;
  double a = 0, b = 0;  // durations
  std::optional<double> start_a, start_b, end_a, cycles_a, cycles_b;
  bool on_the_wire = false;  // no stage of the table, but a time of its own: the frames' serialization
};

/// One stage table: everything below `name`.
class TableChanges {
 public:
  TableChanges(std::string name, const Figures& a, const Figures& b) : name_(std::move(name)), a_(a), b_(b) {
    const std::string prefix = name_ + ".stages.";
    for (const auto& v : a.all()) {
      if (!begins(v.name, prefix) || !ends(v.name, ".duration_ns")) continue;
      const auto stage = v.name.substr(prefix.size(), v.name.size() - prefix.size() - 12);
      if (stage.find(".parts.") != std::string::npos) continue;
      const auto x = a.number(v.name), y = b.number(v.name);
      if (!x || !y) continue;
      const auto of = [&](const char* what) { return prefix + stage + what; };
      stages_.push_back({stage, *x, *y, a.number(of(".start_ns")), b.number(of(".start_ns")), a.number(of(".end_ns")),
                         a.number(of(".cycles")), b.number(of(".cycles")), false});
    }
    const auto first_a = a.number(name_ + ".doorbell_to_mac_ns"), first_b = b.number(name_ + ".doorbell_to_mac_ns");
    const auto last_a = a.number(name_ + ".doorbell_to_last_bit_ns"),
               last_b = b.number(name_ + ".doorbell_to_last_bit_ns");
    if (first_a && first_b && last_a && last_b)
      stages_.push_back(
          {"first to last bit", *last_a - *first_a, *last_b - *first_b, first_a, first_b, last_a, {}, {}, true});
    for (const auto& s : stages_) {
      if (!same(s.a, s.b)) changed_.push_back(&s);
    }
  }

  void tell(StageChanges& out) const {
    for (const auto* s : changed_) {
      StageChange c{name_, s->name, s->a, s->b, s->cycles_a, s->cycles_b, {}};
      const std::string prefix = stage(*s) + "parts.";
      for (const auto& v : a_.all()) {
        if (!begins(v.name, prefix) || !ends(v.name, ".duration_ns")) continue;
        const auto x = a_.number(v.name), y = b_.number(v.name);
        if (x && y && !same(*x, *y))
          c.parts.push_back({v.name.substr(prefix.size(), v.name.size() - prefix.size() - 12), *x, *y});
      }
      out.changes.push_back(std::move(c));
    }
    if (changed_.empty() && t0_shift() == 0) return;
    for (const auto& v : a_.all()) {
      const auto x = a_.number(v.name), y = b_.number(v.name);
      if (!x || !y || *x == *y || v.kind != Kind::kFigure) continue;
      if (const auto why = cause(v.name, *y - *x); !why.empty()) out.moved[v.name] = why;
    }
    note(out);
  }

 private:
  std::string stage(const StageFigures& s) const { return name_ + ".stages." + s.name + "."; }

  /// T0 lies elsewhere when what came before it, such as the message that warms up, took another time.
  double t0_shift() const {
    const auto x = a_.number(name_ + ".t0_ps"), y = b_.number(name_ + ".t0_ps");
    return x && y ? (*y - *x) / 1000 : 0;
  }

  double period() const {
    for (const auto& s : stages_) {
      if (s.cycles_a && *s.cycles_a > 0 && same(s.a, std::round(s.a))) return s.a / *s.cycles_a;
    }
    return 0;
  }

  /// The stages whose changes together are `delta`; nothing when there are none such.
  std::string sum_of(double delta, double shift) const {
    if (!same(shift, 0) && same(delta, shift)) return "T0";
    const size_t n = std::min(changed_.size(), kMaxSubsets);
    for (unsigned size = 1; size <= n; ++size) {
      for (unsigned set = 1; set < 1u << n; ++set) {
        if (static_cast<unsigned>(__builtin_popcount(set)) != size) continue;
        double sum = 0;
        std::vector<std::string> names;
        for (size_t k = 0; k < n; ++k) {
          if ((set >> k & 1) == 0) continue;
          sum += changed_[k]->b - changed_[k]->a;
          names.push_back(changed_[k]->name);
        }
        if (same(delta, sum + shift) || same(delta, sum)) return fmt::format("{}", fmt::join(names, " and "));
      }
    }
    return "";
  }

  std::string cause(const std::string& name, double delta) const {
    const std::string root = ends(name_, ".table") ? name_.substr(0, name_.size() - 5) : "";
    if (begins(name, name_ + ".stages.")) {
      // A changed stage's own figures say nothing more than that it changed.
      for (const auto* s : changed_) {
        if (!begins(name, stage(*s))) continue;
        const auto what = name.substr(stage(*s).size());
        static constexpr std::array kOwn{"duration_ns", "cycles",  "rtl_ns", "align_ns",
                                         "model_ns",    "link_ns", "gap_ns"};
        if (std::find(kOwn.begin(), kOwn.end(), what) != kOwn.end() ||
            (begins(what, "parts.") && ends(what, ".duration_ns")))
          return s->name;
      }
      if (ends(name, ".start_cycle") || ends(name, ".end_cycle")) {
        const double p = period();
        return p > 0 ? sum_of(delta * p, std::round(t0_shift() / p) * p) : "";
      }
      if (ends(name, ".start_ns") || ends(name, ".end_ns")) return sum_of(delta, 0);
      if (ends(name, ".start_ps") || ends(name, ".end_ps")) return sum_of(delta / 1000, t0_shift());
      return "";
    }
    if (begins(name, name_ + ".")) {
      if (ends(name, "_ps")) return sum_of(delta / 1000, t0_shift());
      if (ends(name, "_ns")) return sum_of(delta, 0);
      return "";
    }
    const auto below = name.substr(std::min(root.size(), name.size()));
    if (begins(name, root) &&
        ((begins(below, "latencies.") && ends(name, "_ns")) || (begins(below, "checks.") && ends(name, ".got_ns"))))
      return sum_of(delta, 0);
    return "";
  }

  void note(StageChanges& out) const {
    if (changed_.empty() || !out.note.empty()) return;
    std::vector<std::string> later;
    std::optional<double> by;
    bool all = true;
    for (const auto& s : stages_) {
      if (s.on_the_wire || !s.start_a || !s.start_b || !changed_[0]->end_a || *s.start_a < *changed_[0]->end_a - kSame)
        continue;
      const double shift = *s.start_b - *s.start_a;
      all = all && same(s.a, s.b) && (!by || same(*by, shift));
      by = shift;
      later.push_back(s.name);
    }
    if (later.empty() || !by) return;
    if (all && changed_.size() == 1 && same(*by, changed_[0]->b - changed_[0]->a)) {
      out.note =
          fmt::format("all later stages moved by {} with it: {}", signed_text(*by, "ns"), fmt::join(later, ", "));
      return;
    }
    std::vector<std::string> moved;
    for (const auto& s : stages_) {
      if (!s.on_the_wire && s.start_a && s.start_b && same(s.a, s.b) && !same(*s.start_a, *s.start_b))
        moved.push_back(fmt::format("{} by {}", s.name, signed_text(*s.start_b - *s.start_a, "ns")));
    }
    if (!moved.empty()) out.note = fmt::format("as long as before, but moved: {}", fmt::join(moved, ", "));
  }

  std::string name_;
  const Figures &a_, &b_;
  std::vector<StageFigures> stages_;
  std::vector<const StageFigures*> changed_;
};

}  // namespace

std::string signed_text(double v, const std::string& unit) {
  return fmt::format("{}{}{}{}", v >= 0 ? "+" : "", number_text(v), unit.empty() ? "" : " ", unit);
}

std::string StageChange::text() const {
  if (a_cycles && b_cycles && *a_cycles != *b_cycles) {
    const double d = *b_cycles - *a_cycles;
    return fmt::format("{} {} cycle{} ({} -> {}), {}", stage, signed_text(d), std::abs(d) == 1 ? "" : "s",
                       number_text(*a_cycles), number_text(*b_cycles), signed_text(delta_ns(), "ns"));
  }
  return fmt::format("{} {} ({} -> {} ns)", stage, signed_text(delta_ns(), "ns"), number_text(a_ns), number_text(b_ns));
}

StageChanges stage_changes(const Figures& a, const Figures& b) {
  StageChanges out;
  std::vector<std::string> tables;
  for (const auto& v : a.all()) {
    const size_t at = v.name.find(".stages.");
    if (at == std::string::npos || !ends(v.name, ".duration_ns")) continue;
    auto name = v.name.substr(0, at);
    if (std::find(tables.begin(), tables.end(), name) == tables.end()) tables.push_back(std::move(name));
  }
  for (const auto& t : tables) TableChanges(t, a, b).tell(out);
  return out;
}

}  // namespace rnic::study
