// SPDX-License-Identifier: Apache-2.0
// rnicsim wavediff: where two waveforms part.
#include "rnic/wave/diff.h"

#include <fmt/format.h>

#include <cmath>
#include <fstream>

#include "common.h"
#include "rnic/core/error.h"

namespace rnic::cli {
namespace {

struct Options {
  std::string a, b, by = "time", edge = "rising", tolerance = "0", limit = "20", ignore_file, junit, html;
  bool json = false;
  wave::DiffOptions diff;
};

/// Cycles or events, or a time: by time a plain number means ns.
uint64_t tolerance_of(const Options& o) {
  const std::string& t = o.tolerance;
  const size_t digits = std::min(t.find_first_not_of("0123456789."), t.size());
  const std::string unit = t.substr(digits);
  double number = -1;
  size_t used = 0;
  try {
    number = std::stod(t.substr(0, digits), &used);
  } catch (const std::exception&) {
  }
  if (o.diff.by != wave::DiffBy::kTime) {
    if (used == 0 || used != digits || !unit.empty() || number != std::floor(number) || number > 1e15) {
      throw InputError(
          "", 0, "",
          fmt::format("--tolerance '{}' is not understood; by {} it is a whole number of {}s", t, o.by, o.by));
    }
    return static_cast<uint64_t>(number);
  }
  static constexpr std::pair<const char*, double> kUnits[] = {
      {"", 1e6}, {"fs", 1}, {"ps", 1e3}, {"ns", 1e6}, {"us", 1e9}};
  for (const auto& [name, fs] : kUnits) {
    if (used != 0 && used == digits && unit == name && number * fs < 1e18)
      return static_cast<uint64_t>(std::llround(number * fs));
  }
  throw InputError("", 0, "",
                   fmt::format("--tolerance '{}' is not understood; by time it is a time: 2 (ns), 500ps, 1us", t));
}

void read_ignored(const std::string& path, std::vector<std::string>& out) {
  std::ifstream in(path);
  if (!in) throw InputError(path, 0, "", "cannot be opened");
  std::string line;
  while (std::getline(in, line)) {
    line = line.substr(0, line.find('#'));
    const size_t from = line.find_first_not_of(" \t\r");
    if (from == std::string::npos) continue;
    out.push_back(line.substr(from, line.find_last_not_of(" \t\r") + 1 - from));
  }
  if (in.bad()) throw InputError(path, 0, "", "cannot be read");
}

int run(Options& o) {
  o.diff.by = o.by == "cycle" ? wave::DiffBy::kCycle : o.by == "event" ? wave::DiffBy::kEvent : wave::DiffBy::kTime;
  if (!o.diff.event.empty() && o.diff.by != wave::DiffBy::kEvent) {
    throw InputError("", 0, "", "--event goes with --by event");
  }
  o.diff.rising = o.edge != "falling";
  o.diff.falling = o.edge != "rising";
  o.diff.tolerance = tolerance_of(o);
  if (!o.ignore_file.empty()) read_ignored(o.ignore_file, o.diff.ignore);
  const auto a = wave::Reader::open(o.a), b = wave::Reader::open(o.b);
  const uint64_t limit = parse_u64(o.limit, "--limit");
  // rnicsim's own waves number their cycles: shown then, even by time.
  const auto has = [](const wave::Reader& r, const std::string& name) {
    return std::any_of(r.signals().begin(), r.signals().end(),
                       [&](const auto& s) { return s.name == name && s.width <= 64; });
  };
  const std::string kCycle = "TOP.cycle_i";
  if (o.diff.by == wave::DiffBy::kTime && o.diff.cycle.empty() && has(*a, kCycle) && has(*b, kCycle))
    o.diff.cycle = kCycle;
  const auto report = wave::diff(*a, *b, o.diff);
  const wave::Commands commands{rerun_line(), "", ""};
  fmt::print("{}", o.json ? wave::json_of(report) : wave::text_of(report, commands, limit));
  if (!o.junit.empty()) write_file(o.junit, wave::junit_of(report, commands, limit));
  if (!o.html.empty()) write_file(o.html, wave::html_of(report, commands, limit));
  return report.same() ? kGood : kCheckFailed;
}

}  // namespace

void add_wavediff(CLI::App& app, int& status) {
  static Options o;
  auto* sub = app.add_subcommand("wavediff", "Where two waveforms part: the first difference of each signal");
  sub->add_option("A", o.a, "Waveform: FST or VCD, told by content")->required()->type_name("WAVE");
  sub->add_option("B", o.b, "The other one; format and tick may differ")->required()->type_name("WAVE");
  sub->add_option(
         "--by", o.by,
         "time: values at the same time; cycle: values sampled at the clock edges of the same number; event: at "
         "the n-th edge on which --event is true [time]")
      ->type_name("time|cycle|event")
      ->check(quiet_check(CLI::IsMember({"time", "cycle", "event"})))
      ->group("Alignment");
  sub->add_option("--clock", o.diff.clock, "Clock that samples; needed by cycle")
      ->type_name("SIGNAL")
      ->group("Alignment");
  sub->add_option("--edge", o.edge, "Edge of it [rising]")
      ->type_name("rising|falling|both")
      ->check(quiet_check(CLI::IsMember({"rising", "falling", "both"})))
      ->group("Alignment");
  sub->add_option("--cycle", o.diff.cycle, "Signal that numbers the cycles [edges, counted from 0]")
      ->type_name("SIGNAL")
      ->group("Alignment");
  sub->add_option("--event", o.diff.event, "Expression as in wavecheck, such as 'top.valid && top.ready'")
      ->type_name("EXPR")
      ->group("Alignment");
  sub->add_option("--tolerance", o.tolerance,
                  "A change may come so much earlier or later: a time (500ps; without a unit ns), cycles or events [0]")
      ->type_name("N")
      ->group("Alignment");
  sub->add_option("--only", o.diff.only, "Compare these only; may be given many times")
      ->type_name("GLOB")
      ->allow_extra_args(false)
      ->group("Signals");
  sub->add_option("--ignore", o.diff.ignore, "Leave these out; may be given many times")
      ->type_name("GLOB")
      ->allow_extra_args(false)
      ->group("Signals");
  sub->add_option("--ignore-file", o.ignore_file, "The same, one a line; # begins a comment")
      ->type_name("FILE")
      ->group("Signals");
  sub->add_option("--strip-a", o.diff.strip_a, "Compare what is under this scope of A")
      ->type_name("SCOPE")
      ->group("Signals");
  sub->add_option("--strip-b", o.diff.strip_b, "Compare what is under this scope of B")
      ->type_name("SCOPE")
      ->group("Signals");
  sub->add_flag("--common", o.diff.common, "What only one file has (signals, time) is no difference")->group("Signals");
  sub->add_option("--limit", o.limit, "Lines of each list; 0: all [20]")->type_name("N")->group("Output");
  sub->add_flag("--json", o.json, "Print the result as JSON on stdout, and nothing else there")->group("Output");
  sub->add_option("--junit", o.junit, "Write JUnit XML: values, signals, length")->type_name("FILE")->group("Output");
  sub->add_option("--html", o.html, "Write a page")->type_name("FILE")->group("Output");
  sub->footer(
      "A glob fits a signal or a scope above it; * and ? stand for anything but a dot, ** for anything; without a dot "
      "it fits\n"
      "a name at any depth. Names are those without the scope that is stripped.\n\n"
      "Exit status: 0 the same; 1 there are differences; 2 bad options or a bad wave.\n\n"
      "Examples:\n"
      "  rnicsim wavediff before/wave.fst after/wave.fst                  which signal moved first, and by how much\n"
      "  rnicsim wavediff a.fst b.fst --by cycle --clock TOP.clk_i --cycle TOP.cycle_i --tolerance 2\n"
      "  rnicsim wavediff a.vcd b.fst --by event --event 'top.valid && top.ready' --clock top.clk --only 'top.data*'\n"
      "  rnicsim wavediff old.vcd new.vcd --strip-a tb.dut --strip-b TOP --ignore '*_dbg' --junit wavediff.xml\n");
  sub->callback([&status] { status = run(o); });
}

}  // namespace rnic::cli
