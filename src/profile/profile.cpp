// SPDX-License-Identifier: Apache-2.0
#include "rnic/profile/profile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <sstream>

#include "rnic/rtl/ports.h"

namespace rnic {
namespace fs = std::filesystem;
namespace {

const std::vector<std::string> kKinds = {"document", "measured", "datasheet", "assumed", "fitted"};
const std::vector<std::string> kFields = {"value", "unit", "lo", "hi", "kind", "source"};
constexpr const char* kSetFile = "--set";

/// What the RTL in this build was Verilated with, and the parameter of the RTL that says so.
struct Built {
  const char* key;
  uint64_t value;
  const char* parameter;
};
constexpr Built kBuilt[] = {
    {"build.data_width", rtl::rnic_pkg::DataW, "DataW in rtl/pkg/rnic_pkg.sv"},
    {"build.read_tags", rtl::rnic_pkg::NumTags, "NumTags in rtl/pkg/rnic_pkg.sv"},
    {"build.qpc_cache_entries", 256, "QpcEntries of rnic_top"},
    {"mac.ports", 1, "NumPorts of rnic_top"},
};

/// Edits (insert, delete, replace) from a to b.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t up = row[j];
      row[j] = std::min({up + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = up;
    }
  }
  return row[b.size()];
}

std::string nearest(std::string_view word, const std::vector<std::string>& names) {
  if (names.empty()) return {};
  return *std::min_element(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
    return distance(word, a) < distance(word, b);
  });
}

std::vector<std::string> key_names() {
  std::vector<std::string> out;
  for (const auto& k : profile_schema()) out.push_back(k.name);
  return out;
}

std::string unknown_key(std::string_view key) {
  return fmt::format("unknown key; the nearest known one is '{}' ('rnicsim profile show' lists all)",
                     nearest(key, key_names()));
}

/// Shortest text that reads back as the same number.
std::string text_of(double v) { return fmt::format("{}", v); }

std::string allowed(const KeyInfo& k) {
  if (!k.choices.empty()) {
    return fmt::format("{} {}", fmt::join(k.choices, ", "), k.unit == "1" || k.unit == "text" ? "" : k.unit);
  }
  return fmt::format("{} to {}{}{}", text_of(k.min), text_of(k.max), k.unit == "1" ? "" : " ",
                     k.unit == "1" ? "" : k.unit);
}

std::string trim_right(std::string s) {
  while (!s.empty() && s.back() == ' ') s.pop_back();
  return s;
}

/// What is wrong with a number for a key, or empty.
std::string fault(const KeyInfo& k, double v) {
  if (!std::isfinite(v)) return fmt::format("{} is not a number; allowed: {}", v, trim_right(allowed(k)));
  if (k.build_key) {
    for (const Built& b : kBuilt) {
      if (k.name != b.key || v == static_cast<double>(b.value)) continue;
      return fmt::format("{} asked for, but the RTL in this build has {}; allowed: {} (fixed when Verilating: {})",
                         text_of(v), b.value, b.value, b.parameter);
    }
    return {};
  }
  if (!k.choices.empty()) {
    for (const auto& c : k.choices) {
      if (std::stod(c) == v) return {};
    }
    return fmt::format("{} is not allowed; allowed: {}", text_of(v), trim_right(allowed(k)));
  }
  if (v < k.min || v > k.max) {
    return fmt::format("{} is out of range; allowed: {}", text_of(v), trim_right(allowed(k)));
  }
  const double steps = k.unit == "ns" ? v * 1000 : v;
  if (std::abs(steps - std::round(steps)) > 1e-6) {
    const char* what =
        k.unit == "ns" ? "is finer than 1 ps, the resolution of simulated time" : "is not a whole number";
    return fmt::format("{} {}; allowed: {}", text_of(v), what, trim_right(allowed(k)));
  }
  // A write whose data never fits into the credits would wait for ever. The largest one is of 64 B.
  if (k.name == "pcie.pd_credits" && v > 0 && v < 4) {
    return fmt::format("{} credits of 16 B are less than a write of 64 B needs; allowed: 0 (no limit), 4 to {}",
                       text_of(v), text_of(k.max));
  }
  return {};
}

/// The same for a text.
std::string fault(const KeyInfo& k, const std::string& v) {
  if (std::find(k.choices.begin(), k.choices.end(), v) != k.choices.end()) return {};
  return fmt::format("'{}' is not allowed; allowed: {}", v, trim_right(allowed(k)));
}

std::string quoted(const std::string& s) {
  std::string out = "\"";
  for (const char c : s) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\r':
        out += "\\r";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
        } else {
          out += c;
        }
    }
  }
  return out + '"';
}

std::string read_file(const fs::path& path) {
  std::error_code ec;
  if (fs::is_directory(path, ec)) throw InputError(path.string(), 0, "", "is a folder, not a profile");
  std::ifstream in(path, std::ios::binary);
  if (!in) throw InputError(path.string(), 0, "", "cannot be read: " + std::string(std::strerror(errno)));
  std::ostringstream out;
  out << in.rdbuf();
  if (in.bad()) throw InputError(path.string(), 0, "", "cannot be read to its end");
  return out.str();
}

unsigned line_of(const toml::source_region& r) { return static_cast<unsigned>(r.begin.line); }

/// With control characters written as \\x1b: for messages of one line.
std::string shown(std::string_view s) {
  std::string out;
  for (const char c : s) {
    const auto u = static_cast<unsigned char>(c);
    out += u < 0x20 || u == 0x7f ? fmt::format("\\x{:02x}", u) : std::string(1, c);
  }
  return out;
}

const char* type_name(const toml::node& n) {
  if (n.is_string()) return "a text";
  if (n.is_number()) return "a number";
  if (n.is_boolean()) return "a boolean";
  if (n.is_table()) return "a table";
  if (n.is_array()) return "an array";
  return "a date or time";
}

}  // namespace

/// Reads one file and those it extends.
class ProfileReader {
 public:
  static Profile read(const std::string& text, const std::string& file, std::vector<std::string> chain) {
    ProfileReader r(file, std::move(chain));
    r.file_text(text);
    return std::move(r.profile_);
  }

  static Profile load(const std::string& name_or_path, const fs::path& beside, std::vector<std::string> chain,
                      const std::string& from_file, unsigned from_line) {
    const fs::path path = find(name_or_path, beside, from_file, from_line);
    std::error_code ec;
    const std::string id = fs::weakly_canonical(path, ec).string();
    const auto seen = std::find(chain.begin(), chain.end(), id);
    if (seen != chain.end()) {
      std::string ring;
      for (auto it = seen; it != chain.end(); ++it) ring += fs::path(*it).filename().string() + " -> ";
      throw InputError(from_file, from_line, "extends",
                       "profiles extend one another in a ring: " + ring + path.filename().string());
    }
    chain.push_back(id);
    return read(read_file(path), path.string(), std::move(chain));
  }

  static void complete(const Profile& p, const std::string& file) {
    std::vector<std::string> missing;
    for (const auto& k : profile_schema()) {
      if (!p.values_.count(k.name)) missing.push_back(k.name);
    }
    if (missing.empty()) return;
    const KeyInfo& k = *find_key(missing.front());
    std::string what = fmt::format("missing, and no profile that this one extends sets it: {}; unit {}, allowed: {}",
                                   k.help, k.unit, trim_right(allowed(k)));
    if (missing.size() > 1) what += fmt::format("; {} more keys are missing", missing.size() - 1);
    throw InputError(file, 0, k.name, what);
  }

 private:
  ProfileReader(std::string file, std::vector<std::string> chain) : file_(std::move(file)), chain_(std::move(chain)) {}

  [[noreturn]] void fail(unsigned line, const std::string& key, const std::string& what) const {
    throw InputError(file_, line, key, what);
  }

  static fs::path find(const std::string& name, const fs::path& beside, const std::string& from_file, unsigned line) {
    const bool is_path = name.find('/') != std::string::npos || fs::path(name).extension() == ".toml";
    std::error_code ec;
    if (is_path) {
      const fs::path p = fs::path(name).is_absolute() ? fs::path(name) : beside / name;
      if (fs::exists(p, ec)) return p;
      throw InputError(from_file, line, from_file.empty() ? "" : "extends", p.string() + ": no such file");
    }
    if (!beside.empty() && fs::exists(beside / (name + ".toml"), ec)) return beside / (name + ".toml");
    const auto names = Profile::builtin();
    if (std::find(names.begin(), names.end(), name) != names.end()) {
      return fs::path(Profile::folder()) / (name + ".toml");
    }
    throw InputError(
        from_file, line, from_file.empty() ? "" : "extends",
        fmt::format("no profile named '{}'; built in: {}; the nearest is '{}'; a file is given by its path", name,
                    fmt::join(names, ", "), nearest(name, names)));
  }

  void file_text(const std::string& text) {
    toml::table root;
    try {
      root = toml::parse(std::string_view(text), std::string_view(file_));
    } catch (const toml::parse_error& e) {
      fail(line_of(e.source()), "", "not valid TOML: " + std::string(e.description()));
    }
    if (const auto* base = root.get("extends")) {
      const unsigned line = line_of(base->source());
      const auto name = base->value_exact<std::string>();
      if (!name) fail(line, "extends", fmt::format("must be a profile's name or path, not {}", type_name(*base)));
      one_line(line, "extends", *name);
      profile_ = load(*name, fs::path(file_).parent_path(), chain_, file_, line);
      root.erase("extends");
    }
    profile_.name_ = take_text(root, "name");
    profile_.description_ = take_text(root, "description");
    if (root.contains("fitted_to")) profile_.fitted_to_ = take_text(root, "fitted_to");
    take_targets(root);
    for (auto&& [key, node] : root) {
      const auto* table = node.as_table();
      if (key.str() == "keys") {
        if (!table) fail(line_of(node.source()), "keys", fmt::format("must be a table, not {}", type_name(node)));
        section("", *table);
      } else {
        item(std::string(key.str()), node, line_of(key.source()));
      }
    }
  }

  /// Breaks of line and escapes would tear messages, tables and reports apart.
  void one_line(unsigned line, const char* key, const std::string& text) const {
    if (shown(text) != text) fail(line, key, "must not hold control characters; '\\' at a line's end joins lines");
  }

  std::string take_text(toml::table& root, const char* key) {
    const auto* node = root.get(key);
    if (!node) fail(0, key, "missing: every profile has one");
    const auto value = node->value_exact<std::string>();
    const unsigned line = line_of(node->source());
    if (!value) fail(line, key, fmt::format("must be a text, not {}", type_name(*node)));
    if (value->empty()) fail(line, key, "is empty");
    one_line(line, key, *value);
    root.erase(key);
    return *value;
  }

  void take_targets(toml::table& root) {
    const auto* node = root.get("targets");
    if (!node) return;
    profile_.targets_.clear();
    const auto* list = node->as_array();
    if (!list) fail(line_of(node->source()), "targets", "must be an array of texts");
    for (const auto& e : *list) {
      const auto text = e.value_exact<std::string>();
      if (!text) fail(line_of(e.source()), "targets", fmt::format("must hold texts only, not {}", type_name(e)));
      one_line(line_of(e.source()), "targets", *text);
      profile_.targets_.push_back(*text);
    }
    root.erase("targets");
  }

  void section(const std::string& prefix, const toml::table& table) {
    for (auto&& [key, node] : table) item(prefix + std::string(key.str()), node, line_of(key.source()));
  }

  /// A key of the schema, or a table of them.
  void item(const std::string& name, const toml::node& node, unsigned line) {
    const auto* table = node.as_table();
    if (const KeyInfo* k = find_key(name)) {
      if (!table) {
        fail(line, name,
             fmt::format("must be a table {{ value, unit, lo, hi, kind, source }}, not {}", type_name(node)));
      }
      return entry(*k, *table, line);
    }
    const auto& schema = profile_schema();
    const bool prefix = std::any_of(schema.begin(), schema.end(), [&](const KeyInfo& k) {
      return k.name.compare(0, name.size() + 1, name + ".") == 0;
    });
    if (!prefix) fail(line, shown(name), unknown_key(name));
    if (!table) fail(line, name, fmt::format("must be a table of keys ([{}]), not {}", name, type_name(node)));
    section(name + ".", *table);
  }

  void entry(const KeyInfo& k, const toml::table& table, unsigned line) {
    for (auto&& [field, node] : table) {
      (void)node;
      if (std::find(kFields.begin(), kFields.end(), field.str()) == kFields.end()) {
        fail(line_of(field.source()), k.name,
             fmt::format("unknown field '{}'; allowed: {}; the nearest is '{}'", shown(field.str()),
                         fmt::join(kFields, ", "), nearest(field.str(), kFields)));
      }
    }
    const auto previous = profile_.values_.find(k.name);
    if (previous != profile_.values_.end() && previous->second.file == file_) {
      fail(line, k.name, fmt::format("set twice in this file, first on line {}", previous->second.line));
    }

    KeyValue v;
    v.file = file_;
    v.line = line;
    const std::string unit = text_field(table, k, "unit", line);
    if (unit != k.unit) fail(line, k.name, fmt::format("unit is '{}'; allowed: '{}'", unit, k.unit));
    const auto take = [&](auto value) {
      if (const std::string what = fault(k, value); !what.empty()) fail(line, k.name, what);
      v.value = std::move(value);
    };
    if (k.unit == "text") {
      take(text_field(table, k, "value", line));
    } else {
      take(number_field(table, k, "value", line));
    }
    const bool lo = table.contains("lo"), hi = table.contains("hi");
    if ((lo || hi) && k.unit == "text") fail(line, k.name, "a text has no range: 'lo' and 'hi' are for numbers");
    if (lo != hi) fail(line, k.name, fmt::format("'{}' stands without '{}'", lo ? "lo" : "hi", lo ? "hi" : "lo"));
    if (lo) {
      v.lo = number_field(table, k, "lo", line);
      v.hi = number_field(table, k, "hi", line);
      for (const auto& [field, x] : {std::make_pair("lo", v.lo), std::make_pair("hi", v.hi)}) {
        if (!std::isfinite(x)) fail(line, k.name, fmt::format("field '{}' must be a finite number, not {}", field, x));
      }
      if (v.lo > v.hi) fail(line, k.name, fmt::format("lo {} is above hi {}", text_of(v.lo), text_of(v.hi)));
    }
    v.kind = text_field(table, k, "kind", line);
    if (std::find(kKinds.begin(), kKinds.end(), v.kind) == kKinds.end()) {
      fail(line, k.name,
           fmt::format("unknown kind '{}'; allowed: {}; the nearest is '{}'", v.kind, fmt::join(kKinds, ", "),
                       nearest(v.kind, kKinds)));
    }
    v.source = text_field(table, k, "source", line);
    if (v.source.empty()) fail(line, k.name, "source is empty: say where the figure comes from");
    profile_.values_[k.name] = std::move(v);
  }

  std::string text_field(const toml::table& t, const KeyInfo& k, const char* field, unsigned line) const {
    const auto* node = t.get(field);
    if (!node) fail(line, k.name, fmt::format("field '{}' is missing", field));
    const auto value = node->value_exact<std::string>();
    if (!value) fail(line, k.name, fmt::format("field '{}' must be a text, not {}", field, type_name(*node)));
    if (shown(*value) != *value) fail(line, k.name, fmt::format("field '{}' must not hold control characters", field));
    return *value;
  }

  double number_field(const toml::table& t, const KeyInfo& k, const char* field, unsigned line) const {
    const auto* node = t.get(field);
    if (!node) fail(line, k.name, fmt::format("field '{}' is missing; allowed: {}", field, trim_right(allowed(k))));
    // Not value<double>(): it has none for whole numbers that no double is equal to.
    if (const auto* whole = node->as_integer()) return static_cast<double>(whole->get());
    const auto value = node->value_exact<double>();
    if (!value) {
      fail(line, k.name,
           fmt::format("field '{}' must be a number, not {}; allowed: {}", field, type_name(*node),
                       trim_right(allowed(k))));
    }
    return *value;
  }

  std::string file_;
  std::vector<std::string> chain_;
  Profile profile_;
};

std::string Profile::folder() {
  std::error_code ec;
  if (const char* env = std::getenv("RNICSIM_PROFILES")) {
    if (!fs::is_directory(env, ec)) {
      throw InputError("", 0, "",
                       fmt::format("the environment variable RNICSIM_PROFILES names '{}', which is no folder", env));
    }
    return env;
  }
  // An installation may have been moved as a whole: what lies beside the program goes first.
  const fs::path program = fs::read_symlink("/proc/self/exe", ec);
  const fs::path beside = program.parent_path().parent_path() / "share/rnicsim/profiles";
  if (!program.empty() && fs::is_directory(beside, ec)) return beside.string();
  for (const char* dir : {RNICSIM_SOURCE_PROFILES, RNICSIM_INSTALL_PROFILES}) {
    if (fs::is_directory(dir, ec)) return dir;
  }
  throw InputError("", 0, "",
                   fmt::format("the profiles are in neither {} nor {}; set RNICSIM_PROFILES to their folder",
                               RNICSIM_SOURCE_PROFILES, RNICSIM_INSTALL_PROFILES));
}

std::vector<std::string> Profile::builtin() {
  std::vector<std::string> names;
  for (const auto& e : fs::directory_iterator(folder())) {
    if (e.path().extension() == ".toml") names.push_back(e.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

Profile Profile::load(const std::string& name_or_path) {
  Profile p = ProfileReader::load(name_or_path, {}, {}, "", 0);
  const bool is_path = name_or_path.find('/') != std::string::npos || fs::path(name_or_path).extension() == ".toml";
  ProfileReader::complete(p, is_path ? name_or_path : (fs::path(folder()) / (name_or_path + ".toml")).string());
  return p;
}

Profile Profile::parse(const std::string& toml, const std::string& file) {
  Profile p = ProfileReader::read(toml, file, {file});
  ProfileReader::complete(p, file);
  return p;
}

void Profile::set(const std::string& assignment) {
  const size_t eq = assignment.find('=');
  if (eq == std::string::npos || eq == 0) {
    throw InputError(kSetFile, 0, "", fmt::format("'{}' is not of the form key=value", assignment));
  }
  set(assignment.substr(0, eq), assignment.substr(eq + 1));
}

void Profile::set(const std::string& key, const std::string& value) {
  const KeyInfo* k = find_key(key);
  if (!k) throw InputError(kSetFile, 0, key, unknown_key(key));
  KeyValue e;
  const auto take = [&](auto v) {
    if (const std::string what = fault(*k, v); !what.empty()) throw InputError(kSetFile, 0, key, what);
    e.value = std::move(v);
  };
  if (k->unit == "text") {
    take(shown(value));
  } else {
    double v = 0;
    size_t used = 0;
    try {
      v = std::stod(value, &used);
    } catch (const std::exception&) {
      used = 0;
    }
    if (used == 0 || used != value.size()) {
      throw InputError(kSetFile, 0, key,
                       fmt::format("'{}' is not a number; the unit is {} and is not written; allowed: {}", value,
                                   k->unit, trim_right(allowed(*k))));
    }
    take(v);
  }
  e.kind = "assumed";
  e.source = "set on the command line";
  e.file = kSetFile;
  values_[key] = std::move(e);
}

const KeyValue& Profile::entry(std::string_view key) const {
  const auto it = values_.find(std::string(key));
  if (it == values_.end()) {
    throw SimError(fmt::format("profile {}: no key '{}'; the nearest is '{}'", name_, key, nearest(key, key_names())));
  }
  return it->second;
}

double Profile::number(std::string_view key) const {
  const auto* v = std::get_if<double>(&entry(key).value);
  if (!v) throw SimError(fmt::format("profile key '{}' is a text, not a number", key));
  return *v;
}

uint64_t Profile::integer(std::string_view key) const { return static_cast<uint64_t>(std::llround(number(key))); }

const std::string& Profile::text(std::string_view key) const {
  const auto* v = std::get_if<std::string>(&entry(key).value);
  if (!v) throw SimError(fmt::format("profile key '{}' is a number, not a text", key));
  return *v;
}

Time Profile::time(std::string_view key) const {
  const double v = number(key);
  const KeyInfo* k = find_key(key);
  if (k && k->unit == "ns") return from_ps(static_cast<uint64_t>(std::llround(v * 1000)));
  if (k && k->unit == "ps") return from_ps(static_cast<uint64_t>(std::llround(v)));
  throw SimError(fmt::format("profile key '{}' is not a time", key));
}

size_t Profile::count(std::string_view kind) const {
  return static_cast<size_t>(
      std::count_if(values_.begin(), values_.end(), [&](const auto& e) { return e.second.kind == kind; }));
}

std::string Profile::fit_note() const {
  const size_t n = count("fitted");
  if (n == 0) return {};
  return fmt::format("fitted to {}: {} keys, {} targets; agreement is by construction", fitted_to_, n, targets_.size());
}

std::string Profile::to_toml() const {
  std::string out = fmt::format("name = {}\ndescription = {}\n", quoted(name_), quoted(description_));
  out += fmt::format("fitted_to = {}\n", quoted(fitted_to_));
  if (!targets_.empty()) {
    out += "targets = [\n";
    for (const auto& t : targets_) out += "  " + quoted(t) + ",\n";
    out += "]\n";
  }
  out += "\n[keys]\n";
  for (const auto& k : profile_schema()) {
    const auto it = values_.find(k.name);
    if (it == values_.end()) continue;
    const KeyValue& v = it->second;
    out += fmt::format("{} = {{ value = {}, unit = {}, ", quoted(k.name),
                       std::holds_alternative<double>(v.value) ? text_of(std::get<double>(v.value))
                                                               : quoted(std::get<std::string>(v.value)),
                       quoted(k.unit));
    if (v.lo != 0 || v.hi != 0) out += fmt::format("lo = {}, hi = {}, ", text_of(v.lo), text_of(v.hi));
    out += fmt::format("kind = {}, source = {} }}\n", quoted(v.kind), quoted(v.source));
  }
  return out;
}

}  // namespace rnic
