// SPDX-License-Identifier: Apache-2.0
// rnicsim: the command.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "common.h"

namespace rnic::cli {
namespace {

constexpr const char* kFooter = R"(Examples:
  rnicsim stages                                  doorbell to MAC of a 64 B UC WRITE out of GPU memory, stage by stage
  rnicsim stages --size 4096 -o out/run           the same for 4 KiB, with waveform, packets, TLPs and a report
  rnicsim stages --vs gen5-measured               two profiles side by side
  rnicsim run sim/scenarios/two_queues.toml       a scenario with its checks
  rnicsim run --nccl-log nccl.log                 what a rank's NIC sends for each collective of a log
  rnicsim perf write_bw -s 64 -q 16 --prepost     message rate, use of each resource, what bounds it
  rnicsim profile diff seed-400g gen4-200g        keys that differ
  rnicsim regress sim/plans/ci.toml --list        what a regression would run
  rnicsim sweep --set gpu.read_latency=80:120:10 --option size=64,4096 -- stages
                                                  a table and a plot over a grid
  rnicsim compare out/before out/after            what differs, and which stage did it
  rnicsim counters out/run --nonzero              a run's counters, as ethtool -S prints them
  rnicsim diagnose out/run                        what was wrong in a run, from its counters
  rnicsim regs --bar 2 'tx_*'                     registers by name
  rnicsim pcie-bench BW_RD -s 64:4096:x2          bandwidth of DMA reads by size, beside the bounds of link and beats
  rnicsim load-bench --profile gen5-measured      latency of loads between CPU, GPU and their memories
  rnicsim profile validate gen5-measured          a profile beside published measurements, with the error of each
  rnicsim ctx-bench --qps 16:1024:x2              latency where QP contexts no longer fit on chip
  rnicsim arp --ranks 8 --count 1M --type bf16    the AllReduce engine alone: sums, stalls, latency

Exit status: 0 good, 1 a check failed, 2 bad usage or input, 3 hang or internal error, 130 interrupted.
Tables go to stdout, diagnostics to stderr.)";

/// CLI11's, with one empty line between groups.
class Formatter : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    std::string text = CLI::Formatter::make_help(app, std::move(name), mode);
    for (size_t at; (at = text.find("\n\n\n")) != std::string::npos;) text.erase(at, 1);
    return text;
  }
};

/// SystemC writes its messages on stdout, where tables and JSON go: its informations (a simulation was stopped) are
/// ours to say, its warnings go to stderr.
void report_handler(const sc_core::sc_report& report, const sc_core::sc_actions& actions) {
  const auto text = fmt::format("SystemC: {}: {}", report.get_msg_type(), report.get_msg());
  if (report.get_severity() == sc_core::SC_INFO)
    spdlog::debug("{}", text);
  else if (report.get_severity() == sc_core::SC_WARNING)
    spdlog::warn("{}", text);
  else
    sc_core::sc_report_handler::default_handler(report, actions);
}

/// Named here, since CLI11 would only say that a subcommand is missing. Options before one are flags.
void check_subcommands(const CLI::App& app, int argc, char** argv) {
  const CLI::App* at = &app;
  const auto names = [&at] {
    std::vector<std::string> out;
    for (const auto* sub : at->get_subcommands([](const CLI::App*) { return true; })) out.push_back(sub->get_name());
    return fmt::format("{}", fmt::join(out, ", "));
  };
  for (int i = 1; i < argc && at->get_require_subcommand_min() > 0; ++i) {
    const std::string word = argv[i];
    if (word.empty() || word[0] == '-') {
      if (word == "-h" || word.compare(0, 6, "--help") == 0 || word == "--version") return;
      continue;
    }
    const auto named = at->get_subcommands([&](const CLI::App* sub) { return sub->get_name() == word; });
    if (named.empty()) {
      throw InputError("", 0, "",
                       fmt::format("there is no subcommand '{}'{}; there are: {}", word,
                                   at == &app ? "" : " of " + at->get_name(), names()));
    }
    at = named.front();
  }
  if (at->get_require_subcommand_min() > 0)
    throw InputError("", 0, "", fmt::format("'{}' needs a subcommand; there are: {}", at->get_name(), names()));
}

int run(int argc, char** argv) {
  sc_core::sc_report_handler::set_handler(report_handler);
  set_command_line(argc, argv);
  auto log = std::make_shared<spdlog::logger>("rnicsim", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
  log->set_pattern("rnicsim: %^%l%$: %v");
  spdlog::set_default_logger(log);
  std::setvbuf(stdout, nullptr, _IOFBF, 1 << 16);

  CLI::App app("Cycle-accurate simulator of an RDMA NIC: RTL in the middle, PCIe, memories and wire around it.",
               "rnicsim");
  app.footer(kFooter);
  app.formatter(std::make_shared<Formatter>());
  app.require_subcommand(1);
  app.set_help_all_flag("--help-all", "Help of all subcommands");
  app.fallthrough();
  bool verbose = false, quiet = false;
  app.add_flag("-v,--verbose", verbose, "More diagnostics on stderr");
  app.add_flag("-q,--quiet", quiet, "Errors only on stderr, and no progress");
  app.parse_complete_callback([&] {
    spdlog::set_level(quiet ? spdlog::level::err : verbose ? spdlog::level::debug : spdlog::level::info);
  });
  int status = kGood;
  add_stages(app, status);
  add_perf(app, status);
  add_run(app, status);
  add_profile(app, status);
  add_regs(app, status);
  add_version(app, status);
  add_wavecheck(app, status);
  add_wavediff(app, status);
  add_regress(app, status);
  add_sweep(app, status);
  add_compare(app, status);
  add_arp(app, status);
  add_pcie_bench(app, status);
  add_ctx_bench(app, status);
  add_counters(app, status);
  add_diagnose(app, status);
  add_load_bench(app, status);
  app.set_version_flag("--version", build_info().version);
  try {
    check_subcommands(app, argc, argv);
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    status = app.exit(e) == 0 ? kGood : kBadInput;
  } catch (const InputError& e) {
    spdlog::error("{}", printable(e.what()));
    status = kBadInput;
  } catch (const std::exception& e) {  // SimError, and whatever SystemC throws
    spdlog::error("{}", e.what());
    spdlog::error("to run it again: {}", rerun_line());
    status = kInternal;
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout)) {  // a full disk
    spdlog::error("standard output cannot be written: {}", std::strerror(errno));
    if (status == kGood || status == kCheckFailed) status = kInternal;
  }
  return status;
}

}  // namespace
}  // namespace rnic::cli

int sc_main(int argc, char** argv) { return rnic::cli::run(argc, argv); }

/// Ahead of the library's own main(): SystemC's copyright lines don't belong into the output ('rnicsim version' names
/// it).
int main(int argc, char** argv) {
  setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 0);
  return sc_core::sc_elab_and_sim(argc, argv);
}
