// SPDX-License-Identifier: Apache-2.0
#include "rnic/study/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "rnic/core/error.h"
#include "rnic/core/file.h"
#include "rnic/core/names.h"
#include "rnic/core/text.h"
#include "rnic/observe/run_directory.h"

namespace rnic::study {
namespace {

constexpr size_t kMaxFile = size_t{1} << 30;
constexpr size_t kMaxValues = 5'000'000;
constexpr unsigned kMaxDepth = 32;

bool ends(const std::string& s, const char* end) {
  const size_t n = std::char_traits<char>::length(end);
  return s.size() >= n && s.compare(s.size() - n, n, end) == 0;
}

template <size_t N>
bool any(const std::array<const char*, N>& list, const std::string& s) {
  return std::find(list.begin(), list.end(), s) != list.end();
}

/// What the key says that stands over a value, whatever is below it.
Kind kind_of(const std::string& key, bool top, Kind above) {
  if (above != Kind::kFigure) return above;
  static constexpr std::array kIdentity{"versions",  "command", "host", "hostname", "user", "date",
                                        "timestamp", "wall",    "pid",  "cwd",      "file"};
  static constexpr std::array kConfiguration{"profile",    "seed",     "options", "build", "scenario",
                                             "subcommand", "fit_note", "title",   "sweep", "schema_version"};
  // Declared by a budget or an override, or a place in the input.
  static constexpr std::array kAnywhere{"extra_cycles", "expected", "line", "share"};
  if (any(kIdentity, key) || key.compare(0, 5, "wall_") == 0 || ends(key, "_wall_s") || ends(key, "_per_wall_s"))
    return Kind::kIdentity;
  if ((top && any(kConfiguration, key)) || any(kAnywhere, key) || key.compare(0, 6, "budget") == 0)
    return Kind::kConfiguration;
  return above;
}

class Flattener {
 public:
  Flattener(const std::string& file, Figures& out) : file_(file), out_(out) {}

  void walk(const std::string& name, const nlohmann::json& j, Kind kind, unsigned depth) {
    if (depth > kMaxDepth) throw InputError(file_, 0, clean(name), fmt::format("is nested deeper than {}", kMaxDepth));
    if (out_.all().size() > kMaxValues)
      throw InputError(file_, 0, "", fmt::format("has more than {} values", kMaxValues));
    if (j.is_object()) {
      object(name, j, kind, depth);
    } else if (j.is_array()) {
      list(name, j, kind, depth);
    } else if (j.is_string() && ends(name, ".got")) {
      measured(name, j.get_ref<const std::string&>(), kind);
    } else if (!j.is_null()) {
      out_.add(name, kind, j);
    }
  }

 private:
  static std::string below(const std::string& name, const std::string& key) {
    return name.empty() ? key : name + "." + key;
  }

  void object(const std::string& name, const nlohmann::json& j, Kind kind, unsigned depth) {
    // A key of the profile, wherever it is shown: the same name as in the profile itself.
    const auto key = j.find("key"), value = j.find("value");
    if (key != j.end() && value != j.end() && key->is_string()) {
      const auto whole = "profile.keys." + key->get<std::string>();
      if (out_.find(whole) == nullptr) walk(whole, *value, Kind::kConfiguration, depth + 1);
      return;
    }
    for (auto it = j.begin(); it != j.end(); ++it)
      walk(below(name, it.key()), it.value(), kind_of(it.key(), depth == 0, kind), depth + 1);
    const auto from = j.find("start_cycle"), to = j.find("end_cycle");
    if (from != j.end() && to != j.end() && from->is_number_integer() && to->is_number_integer() &&
        !j.contains("cycles"))
      out_.add(below(name, "cycles"), kind, to->get<int64_t>() - from->get<int64_t>());
  }

  void list(const std::string& name, const nlohmann::json& j, Kind kind, unsigned depth) {
    std::map<std::string, size_t> used;
    for (size_t i = 0; i < j.size(); ++i) {
      std::string own = fmt::format("{}", i);
      if (j[i].is_object()) {
        const auto text = [&](const char* key) {
          const auto it = j[i].find(key);
          return it != j[i].end() && it->is_string() ? it->template get<std::string>() : std::string();
        };
        const auto a = text("name"), b = text("what");
        if (!a.empty() || !b.empty()) own = a.empty() ? b : b.empty() ? a : a + ": " + b;
      }
      if (const size_t n = ++used[own]; n > 1) own += fmt::format(" #{}", n);
      walk(below(name, own), j[i], kind, depth + 1);
    }
  }

  /// What a check has got is a text; where it is a time, it moves with the stages.
  void measured(const std::string& name, const std::string& text, Kind kind) {
    char* end = nullptr;
    const double v = std::strtod(text.c_str(), &end);
    if (end != text.c_str() && std::isfinite(v) && std::string(end) == " ns")
      out_.add(name + "_ns", kind, v);
    else
      out_.add(name, kind, text);
  }

  const std::string& file_;
  Figures& out_;
};

}  // namespace

void Figures::add(std::string name, Kind kind, nlohmann::json value) {
  const auto [it, fresh] = index_.emplace(name, all_.size());
  if (!fresh) {
    all_[it->second].value = std::move(value);
    return;
  }
  all_.push_back({std::move(name), kind, std::move(value)});
}

const Value* Figures::find(const std::string& name) const {
  const auto it = index_.find(name);
  return it == index_.end() ? nullptr : &all_[it->second];
}

std::optional<double> Figures::number(const std::string& name) const {
  const auto* v = find(name);
  if (v == nullptr || !v->value.is_number()) return std::nullopt;
  return v->value.get<double>();
}

Figures flatten(const nlohmann::json& result, const std::string& file) {
  Figures out;
  Flattener(file, out).walk("", result, Kind::kFigure, 0);
  return out;
}

Figures read_result(const std::string& path) {
  nlohmann::json j;
  try {
    j = nlohmann::json::parse(read_text(path, kMaxFile));
  } catch (const nlohmann::json::exception& e) {
    throw InputError(path, 0, "", fmt::format("is cut off or no JSON: {}", clean(e.what())));
  }
  const auto version = j.is_object() ? j.find("schema_version") : j.end();
  if (!j.is_object() || version == j.end() || !version->is_number_integer())
    throw InputError(path, 0, "schema_version", "is missing: this is no result.json of rnicsim");
  if (*version != kResultSchemaVersion) {
    throw InputError(path, 0, "schema_version",
                     fmt::format("is {}, and this program reads version {}: use the rnicsim that wrote it, or make the "
                                 "run again",
                                 version->dump(), kResultSchemaVersion));
  }
  // Summaries of regressions and plans count their own versions.
  if (!j.contains("profile") && !j.contains("subcommand"))
    throw InputError(path, 0, "", "is JSON of rnicsim, but no result.json of a run");
  return flatten(j, path);
}

std::vector<std::string> headlines(const Figures& f) {
  std::vector<std::string> out;
  static constexpr std::array kKnown{"table.doorbell_to_last_bit_ns", "table.doorbell_to_mac_ns",
                                     "rates.bw_average_gbps", "rates.message_rate_mpps"};
  for (const char* name : kKnown) {
    if (f.number(name)) out.emplace_back(name);
  }
  if (!out.empty()) return out;
  for (const char* pattern : {"**gbps", "**_mpps", "**latency_max_ns", "**_avg_ns"}) {
    for (const auto& v : f.all()) {
      if (v.kind == Kind::kFigure && v.value.is_number() && glob(pattern, v.name) &&
          std::find(out.begin(), out.end(), v.name) == out.end())
        out.push_back(v.name);
    }
  }
  return out;
}

bool is_main(const Value& v) {
  if (v.kind != Kind::kFigure || !v.value.is_number()) return false;
  static constexpr std::array kPatterns{"**_ps",       "**_cycle",      "**.start_ns", "**.end_ns", "**.gap_ns",
                                        "**.parts.**", "**counters.**", "checks.**",   "**.count",  "table.nic",
                                        "table.qpn",   "table.wqe",     "slowest.**",  "vs.**",     "sensitivity.**"};
  return std::none_of(kPatterns.begin(), kPatterns.end(), [&](const char* p) { return glob(p, v.name); });
}

std::string unit_of(const std::string& name) {
  static constexpr std::pair<const char*, const char*> kUnits[] = {
      {"_mib_per_s", "MiB/s"}, {"_bytes_per_s", "B/s"}, {"_per_s", "1/s"},     {"_mpps", "M/s"}, {"gbps", "Gb/s"},
      {"_ns", "ns"},           {"_ps", "ps"},           {"_us", "us"},         {"_ms", "ms"},    {"_s", "s"},
      {"_bytes", "B"},         {"_cycles", "cycles"},   {".cycles", "cycles"}, {"_percent", "%"}};
  for (const auto& [end, unit] : kUnits) {
    if (ends(name, end)) return unit;
  }
  return "";
}

std::string number_text(double v) {
  if (v == std::floor(v) && std::abs(v) < 1e15) return fmt::format("{:.0f}", v == 0 ? 0.0 : v);
  if (std::abs(v) >= 1e15 || std::abs(v) < 1e-4) return fmt::format("{:.6g}", v);
  return trim(v, 6);
}

std::string value_text(const nlohmann::json& v) {
  if (v.is_number_float()) return number_text(v.get<double>());
  if (v.is_string()) return clean(v.get<std::string>());
  return v.dump();
}

}  // namespace rnic::study
