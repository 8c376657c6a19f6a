// SPDX-License-Identifier: Apache-2.0
// rnicsim run: a scenario, or the collectives of an NCCL log.
#include "run.h"

namespace rnic::cli {

void add_run(CLI::App& app, int& status) {
  static RunOptions o;
  auto* sub =
      app.add_subcommand("run", "A scenario file, or what one rank's NIC sends for the collectives of an NCCL log");
  add_simulation_options(*sub, o.common);
  auto* scenario = sub->add_option("scenario", o.scenario, "Scenario: nodes, queue pairs, operations, faults, checks")
                       ->type_name("FILE.toml");
  sub->add_option("--junit", o.junit, "Write the checks' results as JUnit XML")->type_name("FILE")->group("Run");
  auto* log =
      sub->add_option("--nccl-log", o.nccl_log, "Log of a job run with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,COLL")
          ->type_name("FILE")
          ->group("NCCL log")
          ->excludes(scenario);
  const auto nccl = [&](CLI::Option* option) { option->needs(log)->group("NCCL log"); };
  nccl(sub->add_option("--rank", o.rank,
                       "Rank whose NIC is simulated [the lowest that the log has, of each communicator]")
           ->type_name("R")
           ->check(quiet_check(CLI::Range(0, (1 << 20) - 1))));
  nccl(sub->add_option("--node", o.node, "Only lines of this host")->type_name("HOST"));
  nccl(sub->add_option_function<std::string>(
              "--max-bytes", [](const std::string& n) { o.max_bytes = parse_size(n, "--max-bytes"); },
              "Simulate so many payload bytes in all, with k, M or G for KiB, MiB, GiB; 0: all [64M]")
           ->type_name("N"));
  nccl(sub->add_option("--depth", o.depth, "Work requests in the send queue at a time [64]")
           ->type_name("N")
           ->check(quiet_check(CLI::IsMember({1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}))));
  nccl(sub->add_flag("--skip-unreadable", o.skip_unreadable, "Go on when lines are cut short; they are listed"));
  sub->footer(
      "A ring's step waits for the data of the rank before. Here is one NIC alone, so its messages go back to back: "
      "the\n"
      "times are those of the NIC, a lower bound of the collective's. See docs/cli.md.\n\n"
      "Examples:\n"
      "  rnicsim run sim/scenarios/two_queues.toml --junit result.xml\n"
      "  rnicsim run sim/scenarios/faults.toml -o out/faults --trace last:2000\n"
      "  rnicsim run --nccl-log nccl.log --rank 3 --profile gen4-200g");
  sub->callback([&status] {
    if (o.scenario.empty() && o.nccl_log.empty()) {
      throw InputError("", 0, "", "run needs a scenario file or --nccl-log FILE ('rnicsim run --help')");
    }
    if (!o.nccl_log.empty() && !o.junit.empty())
      throw InputError("", 0, "--junit", "an NCCL log has no checks: give a scenario file");
    status = o.nccl_log.empty() ? run_scenario(o) : run_nccl_log(o);
  });
}

}  // namespace rnic::cli
