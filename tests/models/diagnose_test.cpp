// SPDX-License-Identifier: Apache-2.0
// Signatures and causes: docs/diagnosis.md. The runs that leave them are those of tests/sim/diagnose_test.py.
#include "rnic/observe/diagnose.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "rnic/core/error.h"
#include "rnic/regs/regs.h"

namespace rnic::diagnose {
namespace {

using Figures = std::map<std::string, uint64_t>;

std::set<std::string> ids(const Figures& figures) {
  std::set<std::string> out;
  for (const Finding& f : diagnose({"n0", figures, ""})) out.insert(f.cause->id);
  return out;
}

/// Counters of a run in which everything went well.
Figures busy() {
  Figures f{{"tx_packets_phy", 1000}, {"tx_bytes_phy", 1'000'000},
            {"db_rx", 300},           {"db_coalesced", 20},
            {"wqe_fetch", 1000},      {"qpc_miss", 4},
            {"mpt_miss", 4},          {"cqc_miss", 4},
            {"cqe_ok", 1000},         {"bf_hit", 100},
            {"irq_sent", 50},         {"l2_hit", 12},
            {"mtt_miss", 5}};
  for (const auto& c : regs::kCounters) f.emplace(c.name, 0);
  return f;
}

// A table of signatures: the counters of a run and what they mean, all of it and nothing else.
TEST(DiagnoseTest, SignaturesNameTheirCauses) {
  struct Case {
    Figures figures;
    std::set<std::string> causes;
  };
  const std::string gpu = "pcie.failed_reads.gpu.", host = "pcie.failed_reads.host.";
  const std::string refused = "pcie.refused.", credits = "pcie.credits.";
  const Case cases[] = {
      {{}, {}},
      {{{"surprise_down", 1}, {"mmio_unsupported", 3}, {"mmio_disabled", 3}, {refused + "unsupported_write", 2}},
       {"device_removed"}},
      {{{"cq_overrun", 2}}, {"cq_overrun"}},
      {{{"cq_invalid", 2}}, {"cq_invalid"}},
      {{{"temp_warning_events", 1}, {"temp_critical_events", 1}}, {"overheated"}},
      {{{"temp_warning_events", 2}}, {"warm"}},
      // Reads that were refused: by whom
      {{{"cpl_ur", 4}, {gpu + "ur", 4}, {"req_cqe_error", 4}}, {"read_unsupported"}},
      {{{"cpl_ur", 4}, {gpu + "ur", 4}, {refused + "unpinned_read", 4}}, {"gpu_unpinned"}},
      {{{"cpl_ur", 4}, {gpu + "ur", 4}, {refused + "unsupported_read", 4}}, {"gpu_refuses_reads"}},
      {{{"cpl_ur", 4}, {"pcie.failed_reads.nowhere.ur", 4}, {refused + "unsupported_read", 4}}, {"address_nowhere"}},
      {{{refused + "unsupported_write", 3}}, {"address_nowhere"}},
      {{{refused + "malformed", 3}}, {"tlp_refused"}},
      {{{"cpl_ur", 9}, {gpu + "ur", 5}, {host + "ur", 4}, {refused + "unpinned_read", 3}},
       {"gpu_unpinned", "read_unsupported"}},
      {{{"cpl_ca", 1}}, {"read_aborted"}},
      {{{"cpl_poisoned", 1}}, {"read_poisoned"}},
      // Reads given up
      {{{"cpl_timeout", 1}}, {"read_lost"}},
      {{{"cpl_timeout", 1}, {gpu + "unanswered", 1}}, {"read_lost"}},
      {{{"cpl_timeout", 1}, {"cpl_unexpected", 8}, {"cpl_late", 8}}, {"read_late"}},
      {{{"cpl_timeout", 1}, {"cpl_unexpected", 8}, {"cpl_late", 8}, {gpu + "late", 1}, {gpu + "unanswered", 0}},
       {"read_late"}},
      {{{"cpl_timeout", 1}, {"cpl_unexpected", 1}, {gpu + "misrouted", 1}, {gpu + "unanswered", 0}},
       {"read_misrouted"}},
      {{{"cpl_timeout", 3},
        {"cpl_unexpected", 10},
        {"cpl_late", 8},
        {gpu + "late", 1},
        {host + "misrouted", 1},
        {gpu + "unanswered", 1}},
       {"read_late", "read_misrouted", "read_lost", "completion_unexpected"}},
      {{{"cpl_unexpected", 7},
        {"cpl_late", 6},
        {"cpl_malformed", 1},
        {"dma_too_long_error", 1},
        {gpu + "misrouted", 1},
        {gpu + "unanswered", 0}},
       {"read_misrouted"}},
      // Completions
      {{{"cpl_unexpected", 3}}, {"completion_unexpected"}},
      {{{"cpl_unexpected", 16}, {"cpl_stale", 16}, {"flr", 1}}, {"function_reset"}},
      {{{"cpl_unexpected", 17}, {"cpl_stale", 16}, {"flr", 1}}, {"function_reset", "completion_unexpected"}},
      {{{"cpl_malformed", 1}}, {"completion_byte_count"}},
      {{{"cpl_malformed", 1}, {"dma_too_long_error", 1}, {"req_cqe_error", 1}}, {"completion_too_long"}},
      {{{"cpl_slow", 1}}, {"read_slow"}},
      // Error completions with their reason, and those flushed behind them
      {{{"mr_key_error", 1}, {"req_cqe_error", 8}, {"req_cqe_flush_error", 7}}, {"mr_key"}},
      {{{"mr_bounds_error", 1}, {"mr_pd_error", 1}, {"mr_rights_error", 1}}, {"mr_bounds", "mr_pd", "mr_rights"}},
      {{{"wqe_opcode_error", 1}, {"wqe_size_error", 1}, {"wqe_qpn_error", 1}, {"wqe_length_error", 1}},
       {"wqe_opcode", "wqe_size", "wqe_qpn", "wqe_length"}},
      {{{"sq_bounds_error", 1}}, {"sq_bounds"}},
      {{{"mtt_absent", 1}, {"gdr_window_denied", 1}, {"req_cqe_error", 2}}, {"page_absent", "window_denied"}},
      {{{"dma_no_master_error", 2}}, {"bus_master_off"}},
      {{{"req_cqe_error", 3}, {"req_cqe_flush_error", 2}}, {"cqe_unexplained"}},
      {{{"cmd_qp_error", 1}, {"req_cqe_error", 3}, {"req_cqe_flush_error", 3}}, {"qp_error_by_driver"}},
      // The driver's requests
      {{{"db_invalid", 1}}, {"doorbell_invalid"}},
      {{{"mmio_unsupported", 1}}, {"mmio_refused"}},
      {{{"mmio_unsupported", 2}, {"mmio_disabled", 2}, {"flr", 1}}, {"function_reset"}},
      {{{"mmio_unsupported", 2}, {"mmio_disabled", 2}}, {"memory_space_off"}},
      {{{"mmio_unsupported", 1}, {"cmd_refused", 2}, {"pcie.mmio.unknown_commands", 1}}, {"command_refused"}},
      {{{"mmio_unsupported", 1}, {"cmd_refused", 1}}, {"command_refused", "mmio_refused"}},
      // Time
      {{{"rx_pci_signal_integrity", 1}}, {"link_errors_down"}},
      {{{"tx_pci_signal_integrity", 1}}, {"link_errors_up"}},
      {{{"rx_prio0_pause", 1}, {"rx_pause_ctrl_phy", 1}}, {"paused"}},
      {{{"rx_prio7_pause", 1}}, {"paused"}},
      {{{credits + "nph.limit", 2}, {credits + "nph.busy_ps", 1'000'000}, {credits + "nph.none_ps", 900'000}},
       {"credits_non_posted"}},
      {{{credits + "nph.limit", 64}, {credits + "nph.busy_ps", 1'000'000}, {credits + "nph.none_ps", 900'000}}, {}},
      {{{credits + "nph.limit", 2}, {credits + "nph.busy_ps", 1'000'000}, {credits + "nph.none_ps", 100'000}}, {}},
      {{{credits + "pd.limit", 16}, {credits + "pd.busy_ps", 1'000'000}, {credits + "pd.none_ps", 999'999}},
       {"credits_posted"}},
      {{{credits + "cpl.limit", 9}, {credits + "cpl.busy_ps", 1'000'000}, {credits + "cpl.none_ps", 1'000'000}},
       {"credits_completion"}},
      // AllReduce
      {{{"arp_parity", 1}}, {"arp_parity"}},
      {{{"arp_bad_rank", 1}, {"arp_damaged", 1}}, {"arp_refused"}},
      {{{"arp_duplicate", 1}}, {"arp_repeated"}},
      {{{"arp_evt_lost", 1}}, {"arp_events_lost"}},
  };
  std::set<std::string> seen;
  for (const Case& c : cases) {
    Figures all = busy();
    for (const auto& [name, value] : c.figures) all[name] = value;
    EXPECT_EQ(ids(all), c.causes) << testing::PrintToString(c.figures);
    seen.insert(c.causes.begin(), c.causes.end());
  }
  for (const Cause& c : causes()) {
    EXPECT_EQ(seen.count(c.id), 1u) << c.id << " is not in the table of this test";
  }
}

// Each counter that somebody counts as an error leads to a cause when it alone is not 0.
TEST(DiagnoseTest, EveryErrorCounterHasACause) {
  // What a good run has too, what comes along with another, and what nobody counts yet.
  const std::set<std::string> none{"tx_packets_phy",
                                   "tx_bytes_phy",
                                   "rx_packets_phy",
                                   "rx_bytes_phy",
                                   "db_rx",
                                   "db_coalesced",
                                   "bf_hit",
                                   "bf_fallback",
                                   "wqe_fetch",
                                   "qpc_miss",
                                   "cqc_miss",
                                   "mpt_miss",
                                   "mtt_miss",
                                   "l2_hit",
                                   "l2_miss",
                                   "cqe_ok",
                                   "irq_sent",
                                   "rx_pause_ctrl_phy",
                                   "arp_frag",
                                   "arp_beat",
                                   "arp_first",
                                   "arp_full",
                                   "arp_acked",
                                   "arp_written",
                                   "arp_stall_hazard",
                                   "arp_stall_read",
                                   "arp_stall_drain",
                                   "tx_vport_rdma_unicast_packets",
                                   "tx_vport_rdma_unicast_bytes",
                                   "req_cqe_flush_error",
                                   "cpl_late",
                                   "cpl_stale",
                                   "dma_too_long_error",
                                   "pci_stalled_rd_ns",
                                   "pci_stalled_wr_ns",
                                   "pci_stalled_cpl_ns"};
  unsigned checked = 0;
  for (const auto& c : regs::kCounters) {
    const std::string name = c.name;
    if (c.source == regs::CounterSource::kLater || none.count(name) != 0) continue;
    if (name.size() > 9 && name.compare(name.size() - 9, 9, "_duration") == 0) continue;
    Figures f = busy();
    f[name] = 3;
    EXPECT_FALSE(ids(f).empty()) << name;
    ++checked;
  }
  EXPECT_GT(checked, 40u);
}

// Random figures, also without the counters: no crash, the gravest first, evidence only of what is not 0.
TEST(DiagnoseTest, AnyFiguresAreTaken) {
  std::mt19937_64 rng(3);
  for (unsigned round = 0; round < 2000; ++round) {
    Figures f;
    for (const auto& c : regs::kCounters) {
      if (rng() % 3 == 0) f[c.name] = rng() % 4 == 0 ? rng() : rng() % 3;
    }
    for (const char* place : {"host", "gpu", "nowhere"}) {
      for (const char* kind : {"ur", "ca", "poisoned", "malformed", "unanswered", "misrouted", "late"}) {
        if (rng() % 3 == 0) f[std::string("pcie.failed_reads.") + place + "." + kind] = rng() >> rng() % 64;
      }
    }
    for (const char* pool : {"nph", "ph", "pd", "cpl"}) {
      for (const char* key : {"limit", "busy_ps", "none_ps"})
        f[std::string("pcie.credits.") + pool + "." + key] = rng() >> rng() % 64;
    }
    const auto found = diagnose({"x", f, ""});
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_NE(found[i].count, 0u);
      for (const auto& e : found[i].evidence) EXPECT_NE(e.value, 0u) << e.figure;
      EXPECT_TRUE(i == 0 || found[i - 1].cause->severity >= found[i].cause->severity);
    }
  }
}

// Identifiers are unique, and every column of the table says something.
TEST(DiagnoseTest, TableIsComplete) {
  std::set<std::string> seen;
  for (const Cause& c : causes()) {
    EXPECT_TRUE(seen.insert(c.id).second) << c.id;
    for (const char* text : {c.what, c.signature, c.remedy, c.injection}) {
      EXPECT_GE(std::string(text).size(), 4u) << c.id;
      EXPECT_EQ(std::string(text).find('|'), std::string::npos) << c.id << ": it would break the table";
    }
  }
}

// Both forms of a result: nodes of a scenario, and a command with one node.
TEST(DiagnoseTest, ReadsResults) {
  const auto one = read_states(nlohmann::json::parse(R"({"counters": {"cpl_ur": 2},
      "health": {"state": "degraded"}, "pcie": {"refused": {"unpinned_read": 2}}})"),
                               "f");
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0]("cpl_ur"), 2u);
  EXPECT_EQ(one[0]("pcie.refused.unpinned_read"), 2u);
  EXPECT_EQ(one[0]("no_such"), 0u);
  EXPECT_EQ(one[0].health, "degraded");
  const auto two = read_states(
      nlohmann::json::parse(R"({"counters": {}, "nodes": [{"name": "a", "counters": {"flr": 1}}, {"counters": {}}]})"),
      "f");
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two[0].node, "a");
  EXPECT_EQ(two[0]("flr"), 1u);
  EXPECT_EQ(two[1].node, "n1");
}

// What is no result is refused with file and key.
TEST(DiagnoseTest, RefusesWhatIsNoResult) {
  const std::pair<const char*, const char*> cases[] = {
      {"[]", "JSON object"},
      {"{}", "counters"},
      {R"({"counters": []})", "counters"},
      {R"({"counters": {"a": -1}})", "'a'"},
      {R"({"counters": {"a": 1.5}})", "'a'"},
      {R"({"counters": {"a": "x"}})", "'a'"},
      {R"({"counters": {"a": {"b": 1}}})", "'a'"},
      {R"({"counters": {}, "nodes": 3})", "nodes"},
      {R"({"counters": {}, "nodes": []})", "nodes"},
      {R"({"counters": {}, "nodes": [7]})", "nodes[0]"},
      {R"({"counters": {}, "nodes": [{"name": 4, "counters": {}}]})", "nodes[0].name"},
      {R"({"counters": {}, "health": 4})", "health.state"},
      {R"({"counters": {}, "health": {"state": 4}})", "health.state"},
      {R"({"counters": {}, "pcie": 4})", "pcie"},
      {R"({"counters": {}, "pcie": {"a": {"b": {"c": {"d": 1}}}}})", "pcie.a.b.c"},
      {R"({"counters": {}, "pcie": {"a": null}})", "pcie.a"}};
  for (const auto& [text, part] : cases) {
    try {
      read_states(nlohmann::json::parse(text), "file.json");
      ADD_FAILURE() << text;
    } catch (const InputError& e) {
      EXPECT_NE(std::string(e.what()).find("file.json"), std::string::npos) << e.what();
      EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
    }
  }
}

}  // namespace
}  // namespace rnic::diagnose
