// SPDX-License-Identifier: Apache-2.0
// rnicsim wavecheck: rules over a waveform.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "common.h"
#include "rnic/core/error.h"
#include "rnic/rtl/latency.h"
#include "rnic/wave/check.h"

namespace rnic::cli {
namespace {

struct Options {
  std::vector<std::string> files;
  std::vector<std::string> parameters;
  std::string golden, junit, html, replay, seed;
};

/// Parameters that rules files may declare and that this build knows: extra_<block>, the cycles that a block takes
/// beyond those of the block that comes with rnicsim.
std::map<std::string, double> presets() {
  std::map<std::string, double> out;
  for (const auto& b : rtl::kExtraLatency) out.emplace("extra_" + std::string(b.block), b.extra_cycles);
  return out;
}

std::map<std::string, double> parameters_of(const std::vector<std::string>& given) {
  std::map<std::string, double> out;
  for (const auto& g : given) {
    const size_t equal = g.find('=');
    double value = 0;
    size_t used = 0;
    try {
      if (equal != std::string::npos && equal != 0) value = std::stod(g.substr(equal + 1), &used);
    } catch (const std::exception&) {
    }
    if (used == 0 || equal + 1 + used != g.size() || !(value > -1e18 && value < 1e18)) {
      throw InputError("", 0, "", fmt::format("--param '{}' is not understood; write NAME=NUMBER", g));
    }
    if (!out.emplace(g.substr(0, equal), value).second) {
      throw InputError("", 0, "", fmt::format("--param: '{}' is given twice", g.substr(0, equal)));
    }
  }
  return out;
}

/// What the run directory of the wave says about the run; options go before it.
wave::Commands commands_of(const Options& o, const std::string& wave) {
  wave::Commands c{rerun_line(), o.replay, o.seed};
  if (!c.replay.empty() && !c.seed.empty()) return c;
  std::ifstream in(std::filesystem::path(wave).parent_path() / "result.json");
  const auto j = in ? nlohmann::json::parse(in, nullptr, false) : nlohmann::json();
  if (!j.is_object()) return c;  // some other file of that name
  const auto command = j.find("command"), seed = j.find("seed");
  if (c.replay.empty() && command != j.end() && command->is_string()) c.replay = printable(command->get<std::string>());
  if (c.seed.empty() && seed != j.end() && seed->is_number_integer()) c.seed = seed->dump();
  return c;
}

int run(const Options& o) {
  if (o.files.size() < 2) {
    throw InputError("", 0, "", "only one file is given; write RULES.toml... WAVE: the waveform comes last");
  }
  const std::string wave_path = o.files.back();
  const wave::CheckOptions options{parameters_of(o.parameters), presets(), o.golden};
  const auto wave = wave::Reader::open(wave_path);
  const auto report = wave::check({o.files.begin(), o.files.end() - 1}, *wave, options);
  const auto commands = commands_of(o, wave_path);
  fmt::print("{}", wave::text_of(report, commands));
  if (!o.junit.empty()) write_file(o.junit, wave::junit_of(report, commands));
  if (!o.html.empty()) write_file(o.html, wave::html_of(report, commands));
  return report.good() ? kGood : kCheckFailed;
}

}  // namespace

void add_wavecheck(CLI::App& app, int& status) {
  static Options o;
  auto* sub = app.add_subcommand("wavecheck", "Check the rules of files over a waveform, without running anything");
  sub->add_option("FILES", o.files,
                  "Files of rules (docs/wavecheck.md), then the waveform (FST or VCD, told by content)")
      ->required()
      ->expected(-1)
      ->type_name("RULES.toml... WAVE");
  sub->add_option("--param", o.parameters, "Set a parameter that the rules declare; may be given many times")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  sub->add_option("--golden", o.golden, "Wave that rules of kind 'golden' compare with when they name none")
      ->type_name("WAVE");
  sub->add_option("--junit", o.junit, "Write JUnit XML, one test case a rule instance")->type_name("FILE");
  sub->add_option("--html", o.html, "Write a page with the signals drawn round each failure")->type_name("FILE");
  sub->add_option("--replay", o.replay,
                  "Line that runs the simulation again, for the reports [from result.json beside the wave]")
      ->type_name("TEXT");
  sub->add_option("--seed", o.seed, "Seed of that simulation, for the reports [from result.json beside the wave]")
      ->type_name("N");
  sub->footer(
      "Exit status: 0 all rules passed; 1 a rule failed, was vacuous or is incomplete; 2 bad rules or wave.\n\n"
      "Examples:\n"
      "  rnicsim stages --trace full -o out/run && rnicsim wavecheck tests/waves/rnic_top.toml out/run/wave.fst\n"
      "  rnicsim wavecheck bus.toml timing.toml dump.vcd --junit wavecheck.xml --html wavecheck.html\n"
      "  rnicsim wavecheck timing.toml dump.vcd --param budget=25 --replay 'make sim SEED=7' --seed 7");
  sub->callback([&status] { status = run(o); });
}

}  // namespace rnic::cli
