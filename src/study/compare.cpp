// SPDX-License-Identifier: Apache-2.0
#include "rnic/study/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "rnic/core/error.h"
#include "rnic/core/file.h"
#include "rnic/core/names.h"
#include "rnic/core/text.h"
#include "rnic/regress/journal.h"
#include "rnic/study/sweep.h"

namespace rnic::study {
namespace fs = std::filesystem;
namespace {

constexpr size_t kMaxProfile = 16 << 20;

/// What is allowed to a figure, and whether a difference is within.
struct Allowed {
  std::optional<double> absolute, percent;
  std::string text() const {
    std::vector<std::string> out;
    if (absolute) out.push_back(number_text(*absolute));
    if (percent) out.push_back(number_text(*percent) + " %");
    return out.empty() ? "exact" : fmt::format("{}", fmt::join(out, " or "));
  }
  bool holds(double a, double b) const {
    if (a == b) return true;
    const double d = std::abs(b - a);
    // A last digit's rounding is no difference of its own.
    const double noise = 1e-12 * std::max(std::abs(a), std::abs(b));
    return (absolute && d <= *absolute + noise) || (percent && d <= *percent / 100 * std::abs(a) + noise);
  }
};

Allowed allowed_for(const std::string& name, const CompareOptions& o) {
  Allowed out;
  for (const auto& t : o.tolerances) {
    if (!t.glob.empty() && !fits(t.glob, name)) continue;
    (t.percent ? out.percent : out.absolute) = t.value;
  }
  return out;
}

/// The resolved profile of a run directory: read as what it is, TOML, since keys may have come and gone since.
void add_profile(const fs::path& file, Figures& out) {
  std::error_code ec;
  if (!fs::is_regular_file(file, ec)) return;
  toml::table root;
  try {
    root = toml::parse(read_text(file.string(), kMaxProfile), file.string());
  } catch (const toml::parse_error& e) {
    throw InputError(file.string(), static_cast<unsigned>(e.source().begin.line), "",
                     "not valid TOML: " + std::string(e.description()));
  }
  const auto* keys = root["keys"].as_table();
  if (keys == nullptr) return;
  for (auto&& [key, node] : *keys) {
    const auto* t = node.as_table();
    if (t == nullptr) continue;
    const auto name = "profile.keys." + clean(std::string(key.str()));
    if (const auto v = (*t)["value"].value<double>())
      out.add(name, Kind::kConfiguration, *v);
    else if (const auto s = (*t)["value"].value<std::string>())
      out.add(name, Kind::kConfiguration, clean(*s));
  }
}

struct Input {
  std::string file;
  bool sweep = false;
};

Input find_input(const std::string& path) {
  std::error_code ec;
  if (!fs::exists(path, ec)) throw InputError(path, 0, "", "there is no such file or folder");
  if (!fs::is_directory(path, ec)) return {path, fs::path(path).extension() == ".csv"};
  const auto in = [&](const char* name) { return (fs::path(path) / name).string(); };
  if (fs::exists(in("result.json"), ec)) return {in("result.json"), false};
  if (fs::exists(in(regress::kSweepCsv), ec)) return {in(regress::kSweepCsv), true};
  if (fs::exists(in(regress::kPlanFile), ec)) {
    if (fs::exists(in("summary.json"), ec)) {
      throw InputError(
          path, 0, "",
          "is a regression's folder; 'rnicsim regress --history' compares those, and this command the runs in runs/");
    }
    throw InputError(
        path, 0, "",
        fmt::format("is a sweep without {}: 'rnicsim sweep report {}' writes it", regress::kSweepCsv, path));
  }
  throw InputError(path, 0, "", fmt::format("holds no result.json and no {}", regress::kSweepCsv));
}

}  // namespace

Tolerance parse_tolerance(const std::string& text) {
  Tolerance t;
  const size_t eq = text.rfind('=');
  auto value = text.substr(eq == std::string::npos ? 0 : eq + 1);
  if (eq != std::string::npos) t.glob = text.substr(0, eq);
  if (!value.empty() && value.back() == '%') {
    t.percent = true;
    value.pop_back();
  }
  size_t used = 0;
  try {
    t.value = std::stod(value, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  if (used == 0 || used != value.size() || !std::isfinite(t.value) || t.value < 0 || eq == 0) {
    throw InputError(
        "", 0, "--tolerance",
        fmt::format("'{}' is not understood; write GLOB=0.5 (in the figure's unit), GLOB=2%, or 2% for all "
                    "figures",
                    clean(text)));
  }
  return t;
}

bool Comparison::same() const {
  return only_a.empty() && only_b.empty() &&
         std::all_of(runs.begin(), runs.end(), [](const auto& r) { return r.same; });
}

RunComparison compare(const Figures& a, const Figures& b, const CompareOptions& options) {
  RunComparison out;
  out.stages = stage_changes(a, b);
  const auto add = [&](const Value& v, const Value* x, const Value* y) {
    const auto ignored = [&](const std::string& g) { return fits(g, v.name); };
    if (v.kind == Kind::kFigure && std::any_of(options.ignore.begin(), options.ignore.end(), ignored)) return;
    if (v.kind == Kind::kFigure) ++out.compared;
    if (x != nullptr && y != nullptr && x->value == y->value) return;
    Difference d;
    d.name = v.name;
    if (x != nullptr) d.a = x->value;
    if (y != nullptr) d.b = y->value;
    const bool numbers = d.a.is_number() && d.b.is_number();
    if (numbers) d.delta = d.b.get<double>() - d.a.get<double>();
    if (v.kind != Kind::kFigure) {
      if (v.kind == Kind::kConfiguration && options.same_configuration) out.same = false;
      (v.kind == Kind::kIdentity ? out.identity : out.configuration).push_back(std::move(d));
      return;
    }
    const auto allowed = allowed_for(v.name, options);
    d.allowed = allowed.text();
    d.within = numbers && allowed.holds(d.a.get<double>(), d.b.get<double>());
    if (const auto moved = out.stages.moved.find(v.name); moved != out.stages.moved.end()) d.moved_with = moved->second;
    out.same = out.same && d.within;
    out.figures.push_back(std::move(d));
  };
  for (const auto& v : a.all()) add(v, &v, b.find(v.name));
  for (const auto& v : b.all()) {
    if (a.find(v.name) == nullptr) add(v, nullptr, &v);
  }
  return out;
}

Comparison compare_paths(const std::string& a, const std::string& b, const CompareOptions& options) {
  const Input x = find_input(a), y = find_input(b);
  if (x.sweep != y.sweep) {
    throw InputError("", 0, "",
                     fmt::format("{} is a {}, and {} a {}: two of a kind can be compared", x.file,
                                 x.sweep ? "sweep" : "run", y.file, y.sweep ? "sweep" : "run"));
  }
  Comparison out;
  out.a = x.file;
  out.b = y.file;
  out.sweeps = x.sweep;
  std::set<std::string> names;
  const auto note = [&](const Figures& f) {
    for (const auto& v : f.all()) {
      if (v.kind == Kind::kFigure) names.insert(v.name);
    }
  };
  if (!x.sweep) {
    Figures fx = read_result(x.file), fy = read_result(y.file);
    add_profile(fs::path(x.file).parent_path() / "profile.toml", fx);
    add_profile(fs::path(y.file).parent_path() / "profile.toml", fy);
    note(fx);
    note(fy);
    out.runs.push_back(compare(fx, fy, options));
  } else {
    const auto tx = read_sweep_csv(x.file), ty = read_sweep_csv(y.file);
    if (tx.swept != ty.swept) {
      throw InputError("", 0, "",
                       fmt::format("{} is swept over {}, and {} over {}: their points can't be matched", x.file,
                                   fmt::join(tx.swept, ", "), y.file, fmt::join(ty.swept, ", ")));
    }
    std::map<std::string, const SweptRow*> rows;
    for (const auto& r : ty.rows) rows[r.name] = &r;
    for (const auto& r : tx.rows) {
      note(r.figures);
      const auto other = rows.find(r.name);
      if (other == rows.end()) {
        out.only_a.push_back(r.name);
        continue;
      }
      auto c = compare(r.figures, other->second->figures, options);
      c.name = r.name;
      out.runs.push_back(std::move(c));
      rows.erase(other);
    }
    for (const auto& r : ty.rows) {
      note(r.figures);
      if (rows.count(r.name) != 0) out.only_b.push_back(r.name);
    }
  }
  for (const auto& t : options.tolerances) {
    if (!t.glob.empty() && std::none_of(names.begin(), names.end(), [&](const auto& n) { return fits(t.glob, n); }))
      out.unused_tolerances.push_back(t.glob);
  }
  return out;
}

}  // namespace rnic::study
