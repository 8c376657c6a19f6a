// SPDX-License-Identifier: Apache-2.0
#include "rnic/study/axes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "rnic/core/error.h"
#include "rnic/core/names.h"
#include "rnic/core/text.h"
#include "rnic/profile/profile.h"

namespace rnic::study {
namespace {

constexpr unsigned kMaxDecimals = 6;
constexpr int64_t kMaxNumber = 1'000'000'000'000;  // times 10^kMaxDecimals fits
constexpr size_t kMaxText = 1 << 20;

/// "-1.25" as -125 and 2 decimals.
struct Decimal {
  int64_t digits = 0;
  unsigned decimals = 0;
};

std::optional<Decimal> decimal_of(const std::string& s) {
  Decimal d;
  size_t i = 0, seen = 0;
  const bool negative = !s.empty() && s[0] == '-';
  if (negative) ++i;
  bool point = false;
  for (; i < s.size(); ++i) {
    if (s[i] == '.' && !point) {
      point = true;
    } else if (s[i] >= '0' && s[i] <= '9' && seen < 18) {
      d.digits = d.digits * 10 + (s[i] - '0');
      d.decimals += point ? 1 : 0;
      ++seen;
    } else {
      return std::nullopt;
    }
  }
  while (d.decimals > 0 && d.digits % 10 == 0) d.digits /= 10, --d.decimals;
  int64_t whole = d.digits;
  for (unsigned k = 0; k < d.decimals; ++k) whole /= 10;
  if (seen == 0 || d.decimals > kMaxDecimals || whole > kMaxNumber) return std::nullopt;
  if (negative) d.digits = -d.digits;
  return d;
}

int64_t scaled(const Decimal& d, unsigned decimals) {
  int64_t v = d.digits;
  for (unsigned k = d.decimals; k < decimals; ++k) v *= 10;
  return v;
}

std::string text_of(int64_t v, unsigned decimals) {
  const bool negative = v < 0;
  std::string s = fmt::format("{:0{}}", negative ? -v : v, decimals + 1);
  if (decimals != 0) {
    s.insert(s.size() - decimals, ".");
    while (s.back() == '0') s.pop_back();
    if (s.back() == '.') s.pop_back();
  }
  return negative ? "-" + s : s;
}

std::optional<double> number_of(const std::string& s) {
  size_t used = 0;
  try {
    const double v = std::stod(s, &used);
    if (used == s.size() && std::isfinite(v)) return v;
  } catch (const std::exception&) {
  }
  return std::nullopt;
}

std::vector<std::string> split(const std::string& s, char at) {
  std::vector<std::string> out{""};
  for (const char c : s) {
    if (c == at)
      out.emplace_back();
    else
      out.back() += c;
  }
  return out;
}

/// What is counted in, of options that every command calls the same.
std::string option_unit(const std::string& name) {
  if (name == "size" || name == "mtu") return "B";
  if (name == "max-wall") return "s";
  return "";
}

}  // namespace

std::string Axis::column() const {
  if (unit == "B") return name + "_bytes";
  if (unit == "Gb/s") return name + "_gbps";
  return unit.empty() ? name : name + "_" + unit;
}

std::string Axis::label() const { return unit.empty() ? name : name + ", " + unit; }

std::vector<std::string> Axis::words(const std::string& value) const {
  if (of == Of::kKey) return {"--set", name + "=" + value};
  if (name.size() == 1) return {"-" + name, value};
  return {"--" + name + "=" + value};
}

AxisText::AxisText(Axis::Of of, const std::string& text, const std::string& option) : option_(option) {
  const bool key = of == Axis::Of::kKey;
  axis_.of = of;
  const size_t eq = text.find('=');
  const std::string example =
      key ? "--set gpu.read_latency=80:120:10 or --set mac.rate=200,400" : "--option size=64,4096";
  if (text.size() > kMaxText) throw InputError("", 0, option, fmt::format("is longer than {} characters", kMaxText));
  if (eq == std::string::npos || eq == 0)
    throw InputError("", 0, option, fmt::format("'{}' is not of the form NAME=VALUES; write {}", text, example));
  axis_.name = text.substr(0, eq);
  if (!key) axis_.name.erase(0, std::min(axis_.name.find_first_not_of('-'), axis_.name.size()));
  if (axis_.name.empty()) throw InputError("", 0, option, fmt::format("'{}' names no option; write {}", text, example));
  if (key) {
    const auto* info = find_key(axis_.name);
    if (info == nullptr) {
      std::vector<std::string> names;
      for (const auto& k : profile_schema()) names.push_back(k.name);
      throw InputError("", 0, axis_.name,
                       fmt::format("is no key of the profile; nearest: {} ('rnicsim profile show' lists all; an option "
                                   "of the command is swept with --option NAME=VALUES)",
                                   fmt::join(nearest(axis_.name, names), ", ")));
    }
    axis_.unit = info->unit == "1" || info->unit == "text" ? "" : info->unit;
  } else {
    axis_.unit = option_unit(axis_.name);
  }
  const auto values = text.substr(eq + 1);
  if (values.empty())
    throw InputError("", 0, axis_.name, fmt::format("has no values: nothing would be run; write {}", example));
  axis_.numeric = true;
  for (const auto& s : split(values, ',')) {
    if (s.empty()) throw InputError("", 0, axis_.name, fmt::format("'{}' has an empty value between commas", values));
    items_.push_back(item(s));
    const auto& i = items_.back();
    if (!i.text.empty() && !number_of(i.text)) {
      axis_.numeric = false;
      if (key) throw InputError("", 0, axis_.name, fmt::format("'{}' is no number and no range LO:HI:STEP", i.text));
    }
    count_ += i.count;
  }
}

AxisText::Item AxisText::item(const std::string& text) const {
  Item out;
  const auto parts = split(text, ':');
  if (parts.size() == 1) {
    out.text = text;
    return out;
  }
  const auto bad = [&](const std::string& what) {
    return InputError(
        "", 0, axis_.name,
        fmt::format("'{}' {}; a range is LO:HI:STEP (100:500:50) or LO:HI:xFACTOR (64:65536:x2)", text, what));
  };
  if (parts.size() != 3) throw bad(parts.size() == 2 ? "has no step" : "has too many colons");
  const bool times = !parts[2].empty() && parts[2][0] == 'x';
  const auto lo = decimal_of(parts[0]), hi = decimal_of(parts[1]), step = decimal_of(parts[2].substr(times ? 1 : 0));
  if (!lo || !hi || !step) {
    throw bad(fmt::format("has '{}', which is no decimal number of up to 12 digits and {} behind the point",
                          !lo   ? parts[0]
                          : !hi ? parts[1]
                                : parts[2],
                          kMaxDecimals));
  }
  if (times) {
    if (step->decimals != 0 || step->digits < 2 || step->digits > 1'000'000)
      throw bad("has a factor that is no whole number from 2");
    if (lo->digits <= 0) throw bad("multiplies, and does not begin above 0");
    out.factor = static_cast<int>(step->digits);
    out.decimals = std::max(lo->decimals, hi->decimals);
    out.lo = scaled(*lo, out.decimals);
    const int64_t last = scaled(*hi, out.decimals);
    if (last < out.lo) throw bad("is empty: it ends before it begins");
    for (int64_t v = out.lo; v <= last / out.factor; v *= out.factor) ++out.count;
    return out;
  }
  out.decimals = std::max({lo->decimals, hi->decimals, step->decimals});
  out.lo = scaled(*lo, out.decimals);
  out.step = scaled(*step, out.decimals);
  const int64_t last = scaled(*hi, out.decimals);
  if (out.step <= 0) throw bad("has a step that is not above 0");
  if (last < out.lo) throw bad("is empty: it ends before it begins");
  out.count = static_cast<uint64_t>((last - out.lo) / out.step) + 1;
  return out;
}

Axis AxisText::list() const {
  if (count_ > kMaxPoints) {
    throw InputError("", 0, axis_.name,
                     fmt::format("has {} values; a sweep has up to {} points: take a larger step", count_, kMaxPoints));
  }
  Axis out = axis_;
  for (const auto& i : items_) {
    if (!i.text.empty()) {
      out.values.push_back(i.text);
      continue;
    }
    int64_t v = i.lo;
    for (uint64_t n = 0; n < i.count; ++n) {
      out.values.push_back(text_of(v, i.decimals));
      v = i.factor != 0 ? (n + 1 < i.count ? v * i.factor : v) : v + i.step;
    }
  }
  std::set<std::string> texts;
  std::set<double> numbers;
  for (const auto& v : out.values) {
    const auto n = out.numeric ? number_of(v) : std::nullopt;
    if (!(n ? numbers.insert(*n).second : texts.insert(v).second))
      throw InputError("", 0, axis_.name, fmt::format("has the value {} twice", v));
  }
  return out;
}

Grid make_grid(const std::vector<AxisText>& texts, bool zip) {
  if (texts.empty()) {
    throw InputError("", 0, "",
                     "nothing to sweep over: give --set KEY=VALUES or --option NAME=VALUES, for example --set "
                     "gpu.read_latency=80:120:10");
  }
  std::set<std::string> names;
  std::vector<std::string> counts;
  unsigned __int128 total = 1;
  constexpr unsigned __int128 kHuge = static_cast<unsigned __int128>(1) << 96;
  for (const auto& t : texts) {
    if (!names.insert(t.name()).second) {
      throw InputError("", 0, t.name(), "is swept twice: give all of its values at once, separated by commas");
    }
    counts.push_back(fmt::format("{} ({})", t.count(), t.name()));
    if (zip && t.count() != texts[0].count()) {
      throw InputError(
          "", 0, t.name(),
          fmt::format("--zip takes the first values of all, then the second ones: {} has {} values, and {} "
                      "has {}",
                      t.name(), t.count(), texts[0].name(), texts[0].count()));
    }
    total = zip ? t.count() : std::min(kHuge, total * t.count());
  }
  if (total > kMaxPoints) {
    const std::string number =
        total >= kHuge ? "more than 10^28" : fmt::format("{}", static_cast<unsigned __int128>(total));
    throw InputError("", 0, "",
                     fmt::format("the {} has {} points: {}; allowed are up to {}: take larger steps or fewer values",
                                 zip ? "list" : "grid", number, fmt::join(counts, zip ? ", " : " x "), kMaxPoints));
  }
  Grid g;
  for (const auto& t : texts) g.axes.push_back(t.list());
  for (uint64_t n = 0; n < static_cast<uint64_t>(total); ++n) {
    Point p(g.axes.size());
    uint64_t rest = n;
    for (size_t a = g.axes.size(); a-- > 0;) {
      const auto& values = g.axes[a].values;
      p[a] = values[zip ? n : rest % values.size()];
      rest /= values.size();
    }
    g.points.push_back(std::move(p));
  }
  return g;
}

std::string name_of(const std::vector<Axis>& axes, const Point& p) {
  std::string out;
  for (size_t a = 0; a < axes.size(); ++a) out += fmt::format("{}{}={}", a == 0 ? "" : " ", axes[a].name, p[a]);
  return out;
}

nlohmann::json to_json(const std::vector<Axis>& axes) {
  auto out = nlohmann::json::array();
  for (const auto& a : axes) {
    std::vector<std::string> values;
    for (const auto& v : a.values) values.push_back(clean(v));
    out.push_back({{"of", a.of == Axis::Of::kKey ? "key" : "option"},
                   {"name", clean(a.name)},
                   {"unit", a.unit},
                   {"values", values},
                   {"numeric", a.numeric}});
  }
  return out;
}

std::vector<Axis> axes_from_json(const nlohmann::json& j) {
  std::vector<Axis> out;
  for (const auto& a : j) {
    out.push_back({a.at("of") == "key" ? Axis::Of::kKey : Axis::Of::kOption, a.at("name"), a.at("unit"),
                   a.at("values").get<std::vector<std::string>>(), a.at("numeric")});
  }
  return out;
}

}  // namespace rnic::study
