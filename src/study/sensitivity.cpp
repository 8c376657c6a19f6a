// SPDX-License-Identifier: Apache-2.0
#include "rnic/study/sensitivity.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "rnic/core/error.h"
#include "rnic/core/names.h"
#include "rnic/core/page.h"
#include "rnic/core/text.h"
#include "rnic/study/chart.h"
#include "rnic/study/stage_changes.h"

namespace rnic::study {
namespace {

/// The key at about `target`, on the side of the nominal value that it lies on.
VariedKey::Side side_of(const Profile& p, const KeyInfo& k, double nominal, double target) {
  VariedKey::Side s;
  const bool up = target > nominal;
  const auto unit = k.unit == "1" ? "" : " " + k.unit;
  if (nominal == 0) {
    s.note = "0 has no share of itself";
    return s;
  }
  if (nominal == 1 && k.unit == "1" && k.min == 0 && k.max == 1) {
    s.note = "a switch has no share of itself";
    return s;
  }
  double v = target;
  if (!k.choices.empty()) {
    std::optional<double> best;
    for (const auto& c : k.choices) {
      const double x = std::stod(c);
      if ((up ? x > nominal : x < nominal) && (!best || std::abs(x - target) < std::abs(*best - target))) best = x;
    }
    if (!best) {
      s.note = fmt::format("{}{} is the {} allowed", number_text(nominal), unit, up ? "largest" : "smallest");
      return s;
    }
    v = *best;
    if (v != target) s.note = fmt::format("{} instead of {}: the next allowed", number_text(v), number_text(target));
  } else {
    const double limit = up ? k.max : k.min, grain = k.unit == "ns" ? 1000 : 1;
    if (up ? v > limit : v < limit) {
      v = limit;
      s.note = fmt::format("{} instead of {}: the {} allowed", number_text(v), number_text(target),
                           up ? "largest" : "smallest");
    }
    v = std::round(v * grain) / grain;
    if (v == nominal && limit != nominal) {
      v = nominal + (up ? 1 : -1) / grain;
      s.note = fmt::format("{} instead of {}: one step", number_text(v), number_text(target));
    }
    if (v == nominal) {
      s.note = fmt::format("{}{} is the {} allowed", number_text(nominal), unit, up ? "largest" : "smallest");
      return s;
    }
  }
  const auto text = fmt::format("{}", v);
  try {
    Profile(p).set(k.name, text);
    s.value = text;
  } catch (const InputError& e) {
    s.note = e.what();
  }
  return s;
}

/// Union of both sides' stages, in order of the larger of both.
std::vector<std::pair<std::string, std::pair<double, double>>> moved_stages(const VariedKey& k) {
  std::vector<std::pair<std::string, std::pair<double, double>>> out;
  const auto at = [&](const std::string& name) -> std::pair<double, double>& {
    for (auto& [n, v] : out) {
      if (n == name) return v;
    }
    out.push_back({name, {0, 0}});
    return out.back().second;
  };
  for (const auto& [name, d] : k.lo.stages) at(name).first = d;
  for (const auto& [name, d] : k.hi.stages) at(name).second = d;
  const auto size = [](const auto& x) { return std::max(std::abs(x.second.first), std::abs(x.second.second)); };
  std::stable_sort(out.begin(), out.end(), [&](const auto& x, const auto& y) { return size(x) > size(y); });
  return out;
}

std::string side_text(const VariedKey::Side& s) {
  return !s.error.empty() ? "failed" : s.figure ? number_text(*s.figure) : "-";
}

nlohmann::json side_json(const VariedKey::Side& s, double nominal) {
  if (s.value.empty()) return {{"value", nullptr}, {"note", s.note}};
  nlohmann::json j{{"value", std::stod(s.value)}, {"note", s.note}};
  if (!s.error.empty()) j["error"] = clean(s.error);
  if (s.figure) {
    j["figure"] = *s.figure;
    j["difference"] = *s.figure - nominal;
  }
  j["stages"] = nlohmann::json::object();
  for (const auto& [name, d] : s.stages) j["stages"][name + "_ns"] = d;
  return j;
}

}  // namespace

double VariedKey::effect(double nominal_figure) const {
  double out = 0;
  for (const auto* s : {&lo, &hi}) {
    if (s->figure) out = std::max(out, std::abs(*s->figure - nominal_figure));
  }
  return out;
}

std::vector<VariedKey> varied_keys(const Profile& p, double percent) {
  std::vector<VariedKey> out;
  for (const auto& k : profile_schema()) {
    const auto it = p.entries().find(k.name);
    if (k.build_key || it == p.entries().end()) continue;
    const auto* v = std::get_if<double>(&it->second.value);
    if (v == nullptr) continue;
    VariedKey key;
    key.name = k.name;
    key.unit = k.unit == "1" ? "" : k.unit;
    key.nominal = number_text(*v);
    key.lo = side_of(p, k, *v, *v * (1 - percent / 100));
    key.hi = side_of(p, k, *v, *v * (1 + percent / 100));
    out.push_back(std::move(key));
  }
  return out;
}

std::vector<Job> jobs_of(const std::vector<VariedKey>& keys, const std::vector<std::string>& words) {
  std::vector<Job> out;
  for (const auto& k : keys) {
    for (const auto* s : {&k.lo, &k.hi}) {
      if (s->value.empty()) continue;
      Job j{k.name + "=" + s->value, words};
      j.words.insert(j.words.end(), {"--set", k.name + "=" + s->value});
      out.push_back(std::move(j));
    }
  }
  return out;
}

Sensitivity sensitivity_of(std::vector<VariedKey> keys, const std::vector<Outcome>& outcomes, const Figures& nominal,
                           const std::string& figure, double percent) {
  Sensitivity out;
  out.figure = figure;
  out.percent = percent;
  const auto value = nominal.number(figure);
  if (!value) {
    std::vector<std::string> names;
    for (const auto& v : nominal.all()) {
      if (v.kind == Kind::kFigure && v.value.is_number()) names.push_back(v.name);
    }
    throw InputError(
        "", 0, "--sensitivity-of",
        fmt::format("the result has no figure '{}'; nearest: {}", figure, fmt::join(nearest(figure, names), ", ")));
  }
  out.nominal = *value;
  size_t next = 0;
  for (auto& k : keys) {
    for (auto* s : {&k.lo, &k.hi}) {
      if (s->value.empty()) continue;
      if (next == outcomes.size()) throw SimError("sensitivity: there are fewer results than runs");
      const auto& o = outcomes[next++];
      if (!o.good()) {
        s->error = o.status + (o.error.empty() ? "" : ": " + o.error);
        continue;
      }
      s->figure = o.figures.number(figure);
      if (!s->figure) s->error = "the result has no such figure";
      for (const auto& c : stage_changes(nominal, o.figures).changes) {
        if (c.table == "table") s->stages.emplace_back(c.stage, c.delta_ns());
      }
      std::stable_sort(s->stages.begin(), s->stages.end(),
                       [](const auto& a, const auto& b) { return std::abs(a.second) > std::abs(b.second); });
    }
  }
  std::stable_sort(keys.begin(), keys.end(),
                   [&](const auto& a, const auto& b) { return a.effect(out.nominal) > b.effect(out.nominal); });
  out.keys = std::move(keys);
  return out;
}

bool Sensitivity::has_stages() const {
  return std::any_of(keys.begin(), keys.end(),
                     [](const auto& k) { return !k.lo.stages.empty() || !k.hi.stages.empty(); });
}

std::string stages_text(const VariedKey& k) {
  std::string out;
  size_t n = 0;
  for (const auto& [name, d] : moved_stages(k)) {
    if (++n > 3) return out + ", ...";
    out += fmt::format("{}{} {} / {}", out.empty() ? "" : ", ", name, k.lo.figure ? signed_text(d.first) : "-",
                       k.hi.figure ? signed_text(d.second) : "-");
  }
  return out.empty() ? out : out + " ns";
}

std::string notes_text(const VariedKey& k) {
  std::vector<std::string> out;
  for (const auto* s : {&k.lo, &k.hi}) {
    if (!s->note.empty() && std::find(out.begin(), out.end(), s->note) == out.end()) out.push_back(s->note);
    if (!s->error.empty()) out.push_back(s->error);
  }
  return fmt::format("{}", fmt::join(out, "; "));
}

nlohmann::json to_json(const Sensitivity& s) {
  nlohmann::json j{
      {"figure", s.figure}, {"percent", s.percent}, {"nominal", s.nominal}, {"keys", nlohmann::json::array()}};
  for (const auto& k : s.keys) {
    j["keys"].push_back({{"name", k.name},
                         {"unit", k.unit},
                         {"nominal", std::stod(k.nominal)},
                         {"effect", k.effect(s.nominal)},
                         {"lo", side_json(k.lo, s.nominal)},
                         {"hi", side_json(k.hi, s.nominal)}});
  }
  return j;
}

std::string page_of(const Sensitivity& s, const std::string& command) {
  const auto unit = unit_of(s.figure);
  TornadoChart c;
  c.title = fmt::format("{} with each key {} % lower and higher", s.figure, number_text(s.percent));
  c.axis = s.figure + (unit.empty() ? "" : ", " + unit);
  c.nominal = s.nominal;
  std::vector<std::string> without;
  for (const auto& k : s.keys) {
    if (k.effect(s.nominal) == 0) {
      if (k.lo.error.empty() && k.hi.error.empty()) without.push_back(k.name);
      continue;
    }
    TornadoChart::Bar b;
    b.name = fmt::format("{} = {}{}", k.name, k.nominal, k.unit.empty() ? "" : " " + k.unit);
    if (k.lo.figure) b.lo_text = number_text(std::stod(k.lo.value)), b.lo = *k.lo.figure;
    if (k.hi.figure) b.hi_text = number_text(std::stod(k.hi.value)), b.hi = *k.hi.figure;
    c.bars.push_back(std::move(b));
  }
  std::string out = page_head("rnicsim: sensitivity");
  out += fmt::format(
      "<header><h1>Sensitivity</h1><p>{} = {} {}: what each key of the profile does to it</p>\n<dl><dt>command</dt>"
      "<dd><code>{}</code></dd></dl></header>\n",
      xml(s.figure), number_text(s.nominal), unit, xml(command));
  out += c.bars.empty() ? "<section><p>No key changes it.</p></section>\n"
                        : "<section><div class=\"picture\">" + svg_of(c) + "</div></section>\n";
  out +=
      "<table class=\"list\"><thead><tr><th>key</th><th class=\"n\">lower</th><th class=\"n\">nominal</th><th "
      "class=\"n\">higher</th>"
      "<th></th><th class=\"n\">at lower</th><th class=\"n\">at higher</th><th class=\"n\">effect</th>";
  if (s.has_stages()) out += "<th>stages moved, lower / higher</th>";
  out += "<th>note</th></tr></thead><tbody>\n";
  for (const auto& k : s.keys) {
    const auto value = [](const VariedKey::Side& x) { return x.value.empty() ? "-" : number_text(std::stod(x.value)); };
    out += fmt::format(
        "<tr><td class=\"where\"><code>{}</code></td><td class=\"n\">{}</td><td class=\"n\">{}</td><td "
        "class=\"n\">{}</td><td>{}</td>"
        "<td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>{}<td>{}</td></tr>\n",
        xml(k.name), value(k.lo), k.nominal, value(k.hi), k.unit, side_text(k.lo), side_text(k.hi),
        number_text(k.effect(s.nominal)), s.has_stages() ? "<td>" + xml(stages_text(k)) + "</td>" : "",
        xml(notes_text(k)));
  }
  out += "</tbody></table>\n";
  if (!without.empty())
    out += fmt::format("<p>Without effect: {}</p>\n", xml(fmt::format("{}", fmt::join(without, ", "))));
  return out + "</body></html>\n";
}

}  // namespace rnic::study
