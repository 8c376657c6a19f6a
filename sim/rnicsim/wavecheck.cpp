// SPDX-License-Identifier: Apache-2.0
// rnicsim wavecheck: rules over a waveform.
#include <fmt/format.h>

#include "common.h"
#include "rnic/wave/check.h"

namespace rnic::cli {
namespace {

struct Options {
  std::string rules, wave, junit, html;
};

int run(const Options& o) {
  const auto wave = wave::Reader::open(o.wave);
  const auto report = wave::check(o.rules, *wave);
  const std::string again = rerun_line();
  fmt::print("{}", wave::text_of(report, again));
  if (!o.junit.empty()) write_file(o.junit, wave::junit_of(report, again));
  if (!o.html.empty()) write_file(o.html, wave::html_of(report, again));
  return report.good() ? kGood : kCheckFailed;
}

}  // namespace

void add_wavecheck(CLI::App& app, int& status) {
  static Options o;
  auto* sub = app.add_subcommand("wavecheck", "Check the rules of a file over a waveform, without running anything");
  sub->add_option("RULES", o.rules, "Rules (TOML), see docs/wavecheck.md")->required()->type_name("RULES.toml");
  sub->add_option("WAVE", o.wave, "Waveform: FST or VCD, told apart by content")->required()->type_name("WAVE");
  sub->add_option("--junit", o.junit, "Write JUnit XML, one test case a rule instance")->type_name("FILE");
  sub->add_option("--html", o.html, "Write a page with the signals drawn round each failure")->type_name("FILE");
  sub->footer(
      "Exit status: 0 all rules passed; 1 a rule failed, was vacuous or is incomplete; 2 bad rules or wave.\n\n"
      "Examples:\n"
      "  rnicsim stages --trace full -o out/run && rnicsim wavecheck tests/waves/rnic_top.toml out/run/wave.fst\n"
      "  rnicsim wavecheck rules.toml dump.vcd --junit wavecheck.xml --html wavecheck.html");
  sub->callback([&status] { status = run(o); });
}

}  // namespace rnic::cli
