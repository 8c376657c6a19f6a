// SPDX-License-Identifier: Apache-2.0
// rnicsim profile list|show|diff|validate
#include <fmt/format.h>

#include "common.h"
#include "table.h"
#include "validate.h"

namespace rnic::cli {
namespace {

std::string value_text(const KeyValue& v) {
  if (const auto* d = std::get_if<double>(&v.value)) return fmt::format("{}", *d);
  return std::get<std::string>(v.value);
}

std::string range_text(const KeyValue& v) { return v.lo == 0 && v.hi == 0 ? "" : fmt::format("{} .. {}", v.lo, v.hi); }

std::string unit_text(const KeyInfo& k) { return k.unit == "1" || k.unit == "text" ? "" : k.unit; }

nlohmann::json value_json(const KeyValue& v) {
  if (const auto* d = std::get_if<double>(&v.value)) return *d;
  return std::get<std::string>(v.value);
}

void list(bool json) {
  nlohmann::json j = nlohmann::json::array();
  Table t({"<name", "keys fitted", "<description"});
  for (const auto& name : Profile::builtin()) {
    const Profile p = Profile::load(name);
    t.row({name, fmt::to_string(p.count("fitted")), p.description()});
    j.push_back({{"name", name}, {"fitted_keys", p.count("fitted")}, {"description", p.description()}});
  }
  if (json)
    fmt::print("{}\n", json_text({{"schema_version", 1}, {"folder", Profile::folder()}, {"profiles", j}}));
  else
    fmt::print("{}", t.text());
}

void show(const Profile& p, bool json, bool toml) {
  if (toml) {
    fmt::print("{}", p.to_toml());
    return;
  }
  nlohmann::json j = nlohmann::json::object();
  Table t({"<key", "value", "<unit", "<range of the source", "<kind", "<source"});
  for (const auto& k : profile_schema()) {
    const auto it = p.entries().find(k.name);
    if (it == p.entries().end()) continue;
    const KeyValue& v = it->second;
    t.row({k.name, value_text(v), unit_text(k), range_text(v), v.kind, v.source});
    j[k.name] = {{"value", value_json(v)}, {"unit", k.unit}, {"kind", v.kind}, {"source", v.source}, {"help", k.help}};
    if (v.lo != 0 || v.hi != 0) j[k.name]["lo"] = v.lo, j[k.name]["hi"] = v.hi;
  }
  if (json) {
    fmt::print("{}\n", json_text({{"schema_version", 1},
                                  {"name", p.name()},
                                  {"description", p.description()},
                                  {"fit_note", p.fit_note()},
                                  {"targets", p.targets()},
                                  {"keys", j}}));
    return;
  }
  fmt::print("{}\n", wrapped(fmt::format("{}: {}", p.name(), p.description())));
  if (!p.fit_note().empty()) fmt::print("{}\n", p.fit_note());
  for (const auto& target : p.targets()) fmt::print("  {}\n", target);
  fmt::print("\n{}", t.text());
}

void diff(const Profile& a, const Profile& b, bool json) {
  nlohmann::json j = nlohmann::json::array();
  Table t({"<key", "<unit", a.name(), b.name(), "<" + a.name() + " from", "<" + b.name() + " from"});
  for (const auto& k : profile_schema()) {
    const auto ia = a.entries().find(k.name), ib = b.entries().find(k.name);
    const bool in_a = ia != a.entries().end(), in_b = ib != b.entries().end();
    if (in_a && in_b && ia->second.value == ib->second.value) continue;
    if (!in_a && !in_b) continue;
    const auto value = [](bool in, const auto& i) { return in ? value_text(i->second) : std::string("-"); };
    const auto kind = [](bool in, const auto& i) { return in ? i->second.kind : std::string("-"); };
    t.row({k.name, unit_text(k), value(in_a, ia), value(in_b, ib), kind(in_a, ia), kind(in_b, ib)});
    j.push_back({{"key", k.name},
                 {"unit", k.unit},
                 {"a", in_a ? value_json(ia->second) : nlohmann::json()},
                 {"b", in_b ? value_json(ib->second) : nlohmann::json()}});
  }
  if (json) {
    fmt::print("{}\n", json_text({{"schema_version", 1}, {"a", a.name()}, {"b", b.name()}, {"differences", j}}));
  } else if (t.empty()) {
    fmt::print("{} and {} have equal values\n", a.name(), b.name());
  } else {
    fmt::print("{}", t.text());
  }
}

}  // namespace

void add_profile(CLI::App& app, int& status) {
  static bool json = false, toml = false;
  static Common common;
  static std::string a, b;
  auto* sub = app.add_subcommand("profile", "Latencies, widths and limits of the models, with where each comes from");
  sub->require_subcommand(1);
  sub->footer(
      "A profile is a TOML file; each key is a table { value, unit, lo, hi, kind, source }, and 'extends' starts from\n"
      "another one. Built-in profiles are found by name, others by their path.\n\n"
      "Examples:\n  rnicsim profile list\n  rnicsim profile show seed-400g\n  rnicsim profile diff seed-400g "
      "gen4-200g\n"
      "  rnicsim profile show seed-400g --set gpu.read_latency=120 --toml > mine.toml");
  auto* l = sub->add_subcommand("list", "Built-in profiles");
  l->add_flag("--json", json, "As JSON");
  l->callback([&status] {
    list(json);
    status = kGood;
  });
  auto* s = sub->add_subcommand("show", "All keys of a profile with values and sources");
  s->add_option("name", common.profile, "Profile [seed-400g]")->type_name("NAME|FILE");
  s->add_option("--set", common.set, "Set a key first; may be given many times")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  auto* as_json = s->add_flag("--json", json, "As JSON");
  s->add_flag("--toml", toml, "As a profile file that can be read again")->excludes(as_json);
  s->callback([&status] {
    show(load_profile(common), json, toml);
    status = kGood;
  });
  auto* d = sub->add_subcommand("diff", "Keys whose values differ");
  d->add_option("a", a, "First profile")->required()->type_name("NAME|FILE");
  d->add_option("b", b, "Second profile")->required()->type_name("NAME|FILE");
  d->add_flag("--json", json, "As JSON");
  d->callback([&status] {
    diff(Profile::load(a), Profile::load(b), json);
    status = kGood;
  });
  add_validate(*sub, status);
}

}  // namespace rnic::cli
