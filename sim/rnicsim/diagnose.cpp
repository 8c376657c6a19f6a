// SPDX-License-Identifier: Apache-2.0
// rnicsim diagnose: what was wrong in a run, from its counters.
#include "rnic/observe/diagnose.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "common.h"
#include "table.h"

namespace rnic::cli {
namespace {

using diagnose::Finding;

struct Options {
  std::string run, node;
  bool json = false, check = false, rules = false;
};

std::string evidence_text(const Finding& f) {
  std::vector<std::string> parts;
  for (const auto& e : f.evidence) parts.push_back(fmt::format("{} = {}", printable(e.figure), e.value));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string text(const std::vector<Finding>& found, bool nodes) {
  std::string out;
  for (size_t i = 0; i < found.size(); ++i) {
    const Finding& f = found[i];
    const auto line = [&](const char* name, const std::string& value) {
      if (!value.empty()) out += fmt::format("   {:<9} {}\n", name, value);
    };
    out += fmt::format("{}{}. {} [{}, {}]\n", i == 0 ? "" : "\n", i + 1, f.cause->what, f.cause->id,
                       to_string(f.cause->severity));
    if (nodes) line("node", printable(f.node));
    line("where", f.where);
    line("evidence", evidence_text(f));
    line("remedy", f.cause->remedy);
  }
  return out;
}

/// The table of docs/diagnosis.md.
void print_rules(bool json) {
  if (json) {
    nlohmann::json all = nlohmann::json::array();
    for (const auto& c : diagnose::causes()) {
      all.push_back({{"cause", c.id},
                     {"severity", to_string(c.severity)},
                     {"what", c.what},
                     {"signature", c.signature},
                     {"remedy", c.remedy},
                     {"injection", c.injection}});
    }
    fmt::print("{}\n", json_text({{"schema_version", 1}, {"causes", all}}));
    return;
  }
  fmt::print("| cause | severity | what | signature | injected by | remedy |\n|---|---|---|---|---|---|\n");
  for (const auto& c : diagnose::causes()) {
    fmt::print("| `{}` | {} | {} | {} | {} | {} |\n", c.id, to_string(c.severity), c.what, c.signature, c.injection,
               c.remedy);
  }
}

int run(const Options& o) {
  if (o.rules) {
    print_rules(o.json);
    return kGood;
  }
  if (o.run.empty())
    throw InputError("", 0, "", "diagnose needs a run directory or a result.json ('rnicsim diagnose --help')");
  const auto states = diagnose::read_states(load_result(o.run), o.run);
  std::vector<Finding> found;
  std::vector<std::string> names;
  bool known = o.node.empty();
  for (const auto& s : states) {
    names.push_back(printable(s.node));
    if (!o.node.empty() && s.node != o.node) continue;
    known = true;
    for (auto& f : diagnose::diagnose(s)) found.push_back(std::move(f));
  }
  if (!known)
    throw InputError(o.run, 0, "--node",
                     fmt::format("there is no node '{}'; there are: {}", printable(o.node), fmt::join(names, ", ")));
  std::stable_sort(found.begin(), found.end(),
                   [](const Finding& a, const Finding& b) { return a.cause->severity > b.cause->severity; });
  if (o.json) {
    fmt::print(
        "{}\n",
        json_text(
            {{"schema_version", 1}, {"run", o.run}, {"clean", found.empty()}, {"causes", diagnose::to_json(found)}}));
  } else if (found.empty()) {
    size_t figures = 0;
    for (const auto& s : states) figures += o.node.empty() || s.node == o.node ? s.figures.size() : 0;
    fmt::print("clean: none of {} causes has left its signature in {} figures\n", diagnose::causes().size(), figures);
  } else {
    fmt::print("{}", text(found, states.size() > 1));
  }
  return o.check && !found.empty() ? kCheckFailed : kGood;
}

}  // namespace

nlohmann::json load_result(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ec;
  const std::string file = fs::is_directory(path, ec) ? (fs::path(path) / "result.json").string() : path;
  std::ifstream in(file, std::ios::binary);
  if (!in)
    throw InputError(file, 0, "",
                     fmt::format("cannot be read: {}; give a run directory (-o DIR of a run) or its result.json",
                                 std::strerror(errno)));
  try {
    return nlohmann::json::parse(in);
  } catch (const nlohmann::json::exception& e) {
    throw InputError(file, 0, "", fmt::format("is no JSON: {}", e.what()));
  }
}

void add_diagnose(CLI::App& app, int& status) {
  static Options o;
  auto* sub = app.add_subcommand("diagnose", "What was wrong in a run, from its counters");
  sub->add_option("run", o.run, "Run directory, or a result.json")->type_name("DIR");
  sub->add_option("--node", o.node, "Only this node of the scenario")->type_name("NAME");
  sub->add_flag("--check", o.check, "End with 1 when there is a cause to name");
  sub->add_flag("--rules", o.rules, "The table of causes and their signatures instead, as Markdown");
  sub->add_flag("--json", o.json, "As JSON on stdout");
  sub->footer(
      "Causes come with the counters that show them and a remedy, the gravest first. What follows from a cause, such "
      "as\n"
      "work requests flushed behind a failed one, is not named again. Nothing found: the run was clean.\n"
      "docs/diagnosis.md holds the table.\n\n"
      "Examples:\n"
      "  rnicsim run sim/scenarios/pcie_faults.toml -o out/faults && rnicsim diagnose out/faults\n"
      "  rnicsim diagnose out/faults --json\n"
      "  rnicsim diagnose out/run --check              in continuous integration: a clean run ends with 0");
  sub->callback([&status] { status = run(o); });
}

}  // namespace rnic::cli
