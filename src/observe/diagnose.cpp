// SPDX-License-Identifier: Apache-2.0
#include "rnic/observe/diagnose.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "rnic/core/error.h"

namespace rnic::diagnose {
namespace {

constexpr uint64_t kTightPercent = 50;       // of the time in which the resource was in use at all
constexpr uint64_t kTightestCredits = 16;    // more than that is a matter of load
constexpr uint64_t kShortestStall = 50'000;  // ps; a single request that takes the last credit waits for nobody

uint64_t less(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

/// What a rule has found.
struct Match {
  uint64_t count = 0;
  std::vector<std::string> evidence;  ///< figures; those that are 0 are left out
  std::string where;
};
using Rule = std::function<Match(const State&)>;

struct Entry {
  Cause cause;
  Rule rule;
};

/// The sum of some counters.
Rule sum(std::vector<std::string> names) {
  return [names = std::move(names)](const State& s) {
    Match m;
    for (const auto& n : names) m.count += s(n);
    m.evidence = names;
    return m;
  };
}

constexpr const char* kPlaces[] = {"host", "gpu", "nowhere"};

std::string place_name(const std::string& place) {
  return place == "host" ? "host memory" : place == "gpu" ? "GPU memory" : "an address that nobody decodes";
}

/// Which memories the failed reads of a kind were of.
void locate(const State& s, const std::string& kind, Match& m) {
  for (const std::string place : kPlaces) {
    const std::string name = fmt::format("pcie.failed_reads.{}.{}", place, kind);
    if (s(name) == 0) continue;
    m.evidence.push_back(name);
    m.where += (m.where.empty() ? "" : ", ") + place_name(place);
  }
}

uint64_t reads(const State& s, const std::string& kind) {
  uint64_t n = 0;
  for (const std::string place : kPlaces) n += s(fmt::format("pcie.failed_reads.{}.{}", place, kind));
  return n;
}

// ---- Reads answered with UR: who has refused them ----

/// The CPU's stores to a device that was pulled out are among them.
uint64_t writes_nowhere(const State& s) { return s("surprise_down") == 0 ? s("pcie.refused.unsupported_write") : 0; }
uint64_t ur_nowhere(const State& s) { return s("pcie.failed_reads.nowhere.ur"); }
uint64_t ur_unpinned(const State& s) {
  return std::min(s("pcie.failed_reads.gpu.ur"), s("pcie.refused.unpinned_read"));
}
/// Refused by the GPU as a whole, or beyond its memory.
uint64_t ur_gpu(const State& s) {
  return std::min(less(s("pcie.failed_reads.gpu.ur"), ur_unpinned(s)),
                  less(s("pcie.refused.unsupported_read"), ur_nowhere(s)));
}
uint64_t ur_other(const State& s) { return less(s("cpl_ur"), ur_nowhere(s) + ur_unpinned(s) + ur_gpu(s)); }

// ---- Reads given up, and completions without a read ----

uint64_t strays(const State& s) { return less(s("cpl_unexpected"), s("cpl_late") + s("cpl_stale")); }
bool knows_reads(const State& s) { return s.has("pcie.failed_reads.gpu.unanswered"); }
uint64_t late_reads(const State& s) {
  return knows_reads(s) ? std::min(s("cpl_timeout"), reads(s, "late")) : s("cpl_late") != 0 ? s("cpl_timeout") : 0;
}
uint64_t misrouted_reads(const State& s) {
  const uint64_t given_up = less(s("cpl_timeout"), late_reads(s));
  return knows_reads(s) ? std::min(given_up, reads(s, "misrouted")) : std::min(given_up, strays(s));
}
/// The rest of a read whose one piece came under a wrong tag does not fit it.
uint64_t misrouted_malformed(const State& s) {
  return std::min(s("cpl_malformed"), less(reads(s, "misrouted"), misrouted_reads(s)));
}
uint64_t too_long(const State& s) {
  return std::min(less(s("cpl_malformed"), misrouted_malformed(s)),
                  less(s("dma_too_long_error"), misrouted_malformed(s)));
}
uint64_t lost_reads(const State& s) { return less(s("cpl_timeout"), late_reads(s) + misrouted_reads(s)); }

Match of_reads(const State& s, uint64_t count, const char* kind, std::vector<std::string> evidence) {
  Match m;
  m.count = count;
  m.evidence = std::move(evidence);
  locate(s, kind, m);
  return m;
}

/// Credits of which so few are given that they were gone for most of the time in which any was in use.
Rule tight(std::vector<std::string> pools, const std::string& counter) {
  return [pools = std::move(pools), counter](const State& s) {
    Match m;
    for (const auto& pool : pools) {
      const std::string at = "pcie.credits." + pool;
      const uint64_t limit = s(at + ".limit"), busy = s(at + ".busy_ps"), none = s(at + ".none_ps");
      const uint64_t few =
          pool == "pd" ? kTightestCredits * 32 : kTightestCredits;  // data in 16 B, a write up to 512 B
      if (limit == 0 || limit > few || busy == 0 || none < kShortestStall) continue;
      const uint64_t percent =
          none >= busy ? 100 : static_cast<uint64_t>(100 * (static_cast<double>(none) / static_cast<double>(busy)));
      if (percent < kTightPercent) continue;
      m.count = std::max(m.count, percent);
      m.evidence.insert(m.evidence.end(), {at + ".limit", at + ".busy_ps", at + ".none_ps"});
    }
    m.evidence.push_back(counter);
    return m;
  };
}

Rule pauses() {
  return [](const State& s) {
    Match m;
    for (unsigned prio = 0; prio < 8; ++prio) {
      const std::string name = fmt::format("rx_prio{}_pause", prio);
      if (s(name) == 0) continue;
      m.count += s(name);
      m.evidence.insert(m.evidence.end(), {name, name + "_duration"});
      m.where += fmt::format("{}priority {}", m.where.empty() ? "" : ", ", prio);
    }
    return m;
  };
}

const std::vector<std::string>& reasons_of_cqes() {
  static const std::vector<std::string> names{
      "wqe_opcode_error",   "wqe_size_error",  "wqe_qpn_error",    "wqe_length_error", "sq_bounds_error",
      "mr_key_error",       "mr_bounds_error", "mr_pd_error",      "mr_rights_error",  "dma_no_master_error",
      "dma_too_long_error", "cpl_ur",          "cpl_ca",           "cpl_poisoned",     "cpl_timeout",
      "cpl_malformed",      "mtt_absent",      "gdr_window_denied"};
  return names;
}

const std::vector<Entry>& table() {
  static const std::vector<Entry> entries{
      // ---- Completions or the device were lost ----
      {{"device_removed", Severity::kFatal, "the device lost power or was pulled out", "`surprise_down`",
        "seat the card and check its power; the driver sets it up again (`Context::recover`)",
        "`[[fault]] kind = \"removal\"`, `Nic::remove`"},
       sum({"surprise_down"})},
      {{"cq_overrun", Severity::kFatal, "a completion queue was full: completions were lost",
        "`cq_overrun`; the health is Fatal, and BAR2's `fatal_index` names the queue",
        "make the queue as long as the work requests outstanding on it, or poll it more often; reset the function",
        "`[[fault]] kind = \"cq_overrun\"`"},
       sum({"cq_overrun"})},
      {{"cq_invalid", Severity::kFatal, "completions for a queue that does not exist were lost",
        "`cq_invalid`; the health is Fatal",
        "a QP's context names a completion queue that was not created: correct `cqn`, then QpModify, and reset the "
        "function",
        "`[[fault]] kind = \"mmio\"` into a CQ context, and CqModify"},
       sum({"cq_invalid"})},
      {{"overheated", Severity::kFatal, "the chip reached its critical temperature",
        "`temp_critical_events`; the health is Fatal", "restore the airflow, let it cool down, then reset the function",
        "`[[fault]] kind = \"temperature\"`, `health.temperature`"},
       sum({"temp_critical_events"})},
      {{"arp_parity", Severity::kFatal, "an accumulator of the AllReduce engine lost a bit: a result was not written",
        "`arp_parity`", "repeat the step; replace the card when it happens again", "`rnicsim arp --flip`"},
       sum({"arp_parity"})},

      // ---- Reads over PCIe ----
      {{"gpu_unpinned", Severity::kError, "GPU memory was accessed that is not pinned",
        "`cpl_ur` for reads, and the GPU's `refused.unpinned_read`, `refused.unpinned_write`",
        "register the buffer before use (the peer-memory call pins it), and keep it until its last completion has come",
        "`[[fault]] kind = \"unpin\"`, `PinnedPages::unpin`"},
       [](const State& s) {
         Match m;
         m.count = ur_unpinned(s) + s("pcie.refused.unpinned_write");
         m.evidence = {"cpl_ur", "pcie.refused.unpinned_read", "pcie.refused.unpinned_write"};
         return m;
       }},
      {{"gpu_refuses_reads", Severity::kError, "the GPU's BAR refuses reads",
        "`cpl_ur`, all of GPU memory, and as many `refused.unsupported_read`",
        "use a GPU whose BAR can be read by peers (`gpu.bar_reads`), or stage through host memory",
        "`gpu.bar_reads=0`"},
       [](const State& s) {
         Match m;
         m.count = ur_gpu(s);
         m.evidence = {"cpl_ur", "pcie.failed_reads.gpu.ur", "pcie.refused.unsupported_read"};
         return m;
       }},
      {{"address_nowhere", Severity::kError, "an address that nobody on the bus decodes was accessed",
        "`cpl_ur`, of addresses that are no memory's; for writes `refused.unsupported_write`",
        "a region, a page list, a window or a queue has a wrong bus address: register it again",
        "`[[fault]] kind = \"mmio\"` into a memory protection entry"},
       [](const State& s) {
         Match m;
         m.count = ur_nowhere(s) + writes_nowhere(s);
         m.evidence = {"cpl_ur", "pcie.failed_reads.nowhere.ur", "pcie.refused.unsupported_write"};
         return m;
       }},
      {{"read_unsupported", Severity::kError, "a memory answered reads with Unsupported Request",
        "`cpl_ur`, beyond those that root complex and GPU say they refused",
        "look at the completer's error log; the completer or a switch before it is at fault",
        "`[[fault]] kind = \"read\"`, `answer = \"ur\"`"},
       [](const State& s) { return of_reads(s, ur_other(s), "ur", {"cpl_ur"}); }},
      {{"read_aborted", Severity::kError, "a memory answered reads with Completer Abort", "`cpl_ca`",
        "look at the completer's error log", "`[[fault]] kind = \"read\"`, `answer = \"ca\"`"},
       [](const State& s) { return of_reads(s, s("cpl_ca"), "ca", {"cpl_ca"}); }},
      {{"read_poisoned", Severity::kError, "data of reads came poisoned", "`cpl_poisoned`",
        "a memory has uncorrectable errors: look at its ECC counters, and take the page out of use",
        "`[[fault]] kind = \"read\"`, `answer = \"poisoned\"`"},
       [](const State& s) { return of_reads(s, s("cpl_poisoned"), "poisoned", {"cpl_poisoned"}); }},
      {{"read_lost", Severity::kError, "reads were never answered",
        "`cpl_timeout` without completions under other tags", "the completer or a switch loses requests or completions",
        "`[[fault]] kind = \"read\"`, `answer = \"dropped\"`"},
       [](const State& s) { return of_reads(s, lost_reads(s), "unanswered", {"cpl_timeout"}); }},
      {{"read_late", Severity::kError, "reads were answered after their timeout", "`cpl_timeout` and `cpl_late`",
        "raise the completion timeout (`pcie.cpl_timeout`), or find what holds the completer up",
        "`[[fault]] kind = \"read\"`, `answer = \"late\"`, `delay_ns` beyond `pcie.cpl_timeout`"},
       [](const State& s) {
         return of_reads(s, late_reads(s), "late", {"cpl_timeout", "cpl_late", "cpl_unexpected"});
       }},
      {{"read_misrouted", Severity::kError, "reads were answered under a wrong tag",
        "`cpl_unexpected` while a read waited for just that; then `cpl_timeout`, or `cpl_malformed` by the rest of its "
        "answer",
        "the completer, or a bridge that replaces tags, is at fault",
        "`[[fault]] kind = \"read\"`, `answer = \"wrong_tag\"`"},
       [](const State& s) {
         return of_reads(s, misrouted_reads(s) + misrouted_malformed(s), "misrouted",
                         {"cpl_timeout", "cpl_unexpected", "cpl_malformed"});
       }},
      {{"completion_too_long", Severity::kError, "completions brought more data than was asked for",
        "`cpl_malformed` and `dma_too_long_error`", "the completer is at fault",
        "`[[fault]] kind = \"read\"`, `answer = \"too_long\"`"},
       [](const State& s) {
         return of_reads(s, too_long(s), "malformed", {"cpl_malformed", "dma_too_long_error"});
       }},
      {{"completion_byte_count", Severity::kError, "completions lied about how many bytes were to come",
        "`cpl_malformed` without `dma_too_long_error`", "the completer is at fault",
        "`[[fault]] kind = \"read\"`, `answer = \"byte_count\"`"},
       [](const State& s) {
         return of_reads(s, less(s("cpl_malformed"), too_long(s) + misrouted_malformed(s)), "malformed",
                         {"cpl_malformed"});
       }},
      {{"completion_unexpected", Severity::kError, "completions came that no read waited for",
        "`cpl_unexpected` beyond `cpl_late` and `cpl_stale`",
        "a completer answers twice, or with a wrong tag, or answers somebody else's read",
        "`[[fault]] kind = \"stray_completion\"`; `kind = \"read\"`, `answer = \"stray\"` or `\"duplicate\"`"},
       [](const State& s) {
         Match m;
         m.count = less(strays(s), misrouted_reads(s) + misrouted_malformed(s));
         m.evidence = {"cpl_unexpected", "cpl_late", "cpl_stale"};
         return m;
       }},
      {{"bus_master_off", Severity::kError, "bus mastering was switched off", "`dma_no_master_error`",
        "set Bus Master Enable in the Command register; whatever was to be written is lost",
        "`[[fault]] kind = \"bus_master_off\"`"},
       sum({"dma_no_master_error"})},
      {{"tlp_refused", Severity::kError, "the root complex found TLPs malformed", "`refused.malformed`",
        "payload size (MPS) of NIC and root complex do not agree, or the NIC is at fault",
        "none: only a changed RTL does it"},
       sum({"pcie.refused.malformed"})},

      // ---- Translation and protection ----
      {{"mr_key", Severity::kError, "a memory key was wrong: unknown, stale or forged", "`mr_key_error`",
        "use the key that registering gave, and no longer than the region is registered",
        "`[[op]] lkey`, `Context::dereg_mr`"},
       sum({"mr_key_error"})},
      {{"mr_bounds", Severity::kError, "accesses went outside their memory region", "`mr_bounds_error`",
        "address and length must lie in the region", "`[[op]] offset` beyond the region"},
       sum({"mr_bounds_error"})},
      {{"mr_pd", Severity::kError, "memory region and queue pair are of different protection domains", "`mr_pd_error`",
        "register the memory in the queue pair's protection domain", "`[[region]] pd`, `[[qp]] pd`"},
       sum({"mr_pd_error"})},
      {{"mr_rights", Severity::kError, "the memory region does not allow the access", "`mr_rights_error`",
        "register it with the access flags that the operation needs (READ and atomics: local write)",
        "`[[region]] access`, `reg_mr` without the flag"},
       sum({"mr_rights_error"})},
      {{"page_absent", Severity::kError, "a page was accessed that its list does not have", "`mtt_absent`",
        "the list has a hole or is too short: pin all pages before registering", "a page list with a hole"},
       sum({"mtt_absent"})},
      {{"window_denied", Severity::kError, "an access was outside its GPUDirect window, or against its rights",
        "`gdr_window_denied`",
        "set the window by the documented order (clear valid, wait for `window_state`, write, set valid); check base, "
        "size and rights",
        "`[[fault]] kind = \"mmio\"` into a window"},
       sum({"gdr_window_denied"})},

      // ---- The driver ----
      {{"wqe_opcode", Severity::kError, "a WQE had an opcode that the transport does not have", "`wqe_opcode_error`",
        "the driver writes a wrong WQE, or a stale doorbell made the NIC read an unwritten one",
        "`[[fault]] kind = \"raw_wqe\"`"},
       sum({"wqe_opcode_error"})},
      {{"wqe_size", Severity::kError, "a WQE's size was wrong, or the producer index beyond the ring",
        "`wqe_size_error`", "the driver counts blocks of 64 B wrongly",
        "`[[fault]] kind = \"raw_wqe\"`, or `\"doorbell\"` with a value too far ahead"},
       sum({"wqe_size_error"})},
      {{"wqe_qpn", Severity::kError, "a WQE named another queue pair or index", "`wqe_qpn_error`",
        "the ring holds an old WQE: the doorbell came before the WQE was written", "`[[fault]] kind = \"raw_wqe\"`"},
       sum({"wqe_qpn_error"})},
      {{"wqe_length", Severity::kError, "a message was too long", "`wqe_length_error`",
        "at most 2 GiB; UD: the path MTU", "`[[fault]] kind = \"raw_wqe\"`"},
       sum({"wqe_length_error"})},
      {{"sq_bounds", Severity::kError, "a send queue's ring is not in device memory", "`sq_bounds_error`",
        "correct `sq_base` in the QP's context, then QpModify",
        "`[[fault]] kind = \"mmio\"` into a QP context, and QpModify"},
       sum({"sq_bounds_error"})},
      {{"doorbell_invalid", Severity::kError, "doorbells came for a queue pair that cannot send", "`db_invalid`",
        "bring the queue pair to RTS first; a QP number beyond those created is a stray store",
        "`[[fault]] kind = \"doorbell\"`"},
       sum({"db_invalid"})},
      {{"command_refused", Severity::kError, "commands were refused", "`cmd_refused`",
        "operation, index or transition of the queue pair's state is wrong; `cmd_result` says which",
        "`[[fault]] kind = \"mmio\"` to BAR1's command register"},
       sum({"cmd_refused"})},
      {{"mmio_refused", Severity::kError, "requests to the BARs were refused",
        "`mmio_unsupported` beyond `mmio_disabled`; the error log has their addresses (kind Mmio)",
        "size, alignment or offset is none that docs/models/bar_decoder.md allows",
        "`[[fault]] kind = \"mmio\"` to a place that is not served"},
       [](const State& s) {
         Match m;
         m.count = less(s("mmio_unsupported"), s("mmio_disabled") + s("pcie.mmio.unknown_commands"));
         m.evidence = {"mmio_unsupported", "mmio_disabled"};
         return m;
       }},
      {{"memory_space_off", Severity::kError, "requests came while memory space was disabled",
        "`mmio_disabled` without `flr` and `surprise_down`",
        "set Memory Space Enable in the Command register; leave D3hot",
        "the Command register in the configuration space"},
       [](const State& s) {
         Match m;
         if (s("flr") + s("surprise_down") == 0) m.count = s("mmio_disabled");
         m.evidence = {"mmio_disabled"};
         return m;
       }},
      {{"arp_refused", Severity::kError, "the AllReduce engine refused fragments or acknowledges",
        "`arp_bad_*`, `arp_damaged`",
        "group, type, rank, offset or length of the sender is wrong, or frames are damaged",
        "`rnicsim arp --hostile`, `--corrupt`"},
       sum({"arp_bad_group", "arp_bad_type", "arp_bad_offset", "arp_bad_length", "arp_bad_rank", "arp_damaged",
            "arp_bad_ack", "arp_bad_context"})},
      {{"cqe_unexplained", Severity::kError, "error completions without a reason known here",
        "`req_cqe_error` beyond `req_cqe_flush_error`, and no counter of a reason",
        "read the error log: `rnicsim counters --log`", "none"},
       [](const State& s) {
         Match m;
         uint64_t known = 0;
         for (const auto& n : reasons_of_cqes()) known += s(n);
         if (known == 0) m.count = less(s("req_cqe_error"), s("req_cqe_flush_error"));
         m.evidence = {"req_cqe_error", "req_cqe_flush_error"};
         return m;
       }},

      // ---- Time was lost ----
      {{"link_errors_down", Severity::kWarning, "the link corrupts TLPs towards the NIC", "`rx_pci_signal_integrity`",
        "reseat the card, or try another slot, riser or cable", "`pcie.lcrc_error_rate_down`"},
       sum({"rx_pci_signal_integrity"})},
      {{"link_errors_up", Severity::kWarning, "the link corrupts TLPs from the NIC", "`tx_pci_signal_integrity`",
        "reseat the card, or try another slot, riser or cable", "`pcie.lcrc_error_rate_up`"},
       sum({"tx_pci_signal_integrity"})},
      {{"credits_non_posted", Severity::kWarning, "reads waited for non-posted credits",
        "few credits given, and `pci_stalled_rd_ns` most of the time in which any was in use",
        "give the root port more non-posted credits (`pcie.nph_credits`), or read in larger pieces (`pcie.mrrs`)",
        "`pcie.nph_credits=1`"},
       tight({"nph"}, "pci_stalled_rd_ns")},
      {{"credits_posted", Severity::kWarning, "writes waited for posted credits",
        "few credits given, and `pci_stalled_wr_ns` most of the time in which any was in use",
        "give the root port more posted credits (`pcie.ph_credits`, `pcie.pd_credits`)", "`pcie.ph_credits=1`"},
       tight({"ph", "pd"}, "pci_stalled_wr_ns")},
      {{"credits_completion", Severity::kWarning, "reads waited for room for their completions",
        "little room, and `pci_stalled_cpl_ns` most of the time in which a read was under way",
        "give the receive buffer more room (`pcie.cplh_credits`, `pcie.cpld_credits`; 0: for all reads)",
        "`pcie.cplh_credits=9`"},
       tight({"cpl"}, "pci_stalled_cpl_ns")},
      {{"read_slow", Severity::kWarning, "reads were answered, but very late", "`cpl_slow`",
        "find what holds the completer up; `health.slow_read` says from when on a read counts as slow",
        "`[[fault]] kind = \"read\"`, `answer = \"late\"`, `delay_ns` from `health.slow_read` to `pcie.cpl_timeout`"},
       sum({"cpl_slow"})},
      {{"warm", Severity::kWarning, "the chip reached its warning temperature",
        "`temp_warning_events` without `temp_critical_events`", "look at fans and airflow",
        "`[[fault]] kind = \"temperature\"`, `health.temperature`"},
       [](const State& s) {
         Match m;
         if (s("temp_critical_events") == 0) m.count = s("temp_warning_events");
         m.evidence = {"temp_warning_events"};
         return m;
       }},
      {{"paused", Severity::kWarning, "the neighbour paused priorities (PFC)",
        "`rx_prioN_pause`, `rx_prioN_pause_duration`", "the receiver or the network behind it is congested: look there",
        "`[[fault]] kind = \"pause\"`, `Mac::pause`"},
       pauses()},
      {{"arp_repeated", Severity::kWarning, "the AllReduce engine got fragments twice, too late or too early",
        "`arp_duplicate`, `arp_late`, `arp_no_slot`",
        "senders repeat without need, or run a step ahead: more slots help",
        "`rnicsim arp --duplicate`, `--late`, `--early`"},
       sum({"arp_duplicate", "arp_late", "arp_no_slot"})},
      {{"arp_events_lost", Severity::kWarning, "events of the AllReduce engine were dropped", "`arp_evt_lost`",
        "take events faster", "none: only a slow driver does it"},
       sum({"arp_evt_lost"})},

      // ---- Wanted ----
      {{"qp_error_by_driver", Severity::kNotice, "the driver moved queue pairs to error", "`cmd_qp_error`",
        "none, if it was meant; what was posted is flushed (`req_cqe_flush_error`)", "`[[fault]] kind = \"qp_error\"`"},
       sum({"cmd_qp_error"})},
      {{"function_reset", Severity::kNotice, "the function was reset",
        "`flr`; answers of reads from before are in `cpl_stale`", "none, if it was meant",
        "`[[fault]] kind = \"flr\"`"},
       sum({"flr"})},
  };
  return entries;
}

// ---- result.json ----

[[noreturn]] void fail(const std::string& file, const std::string& key, const std::string& what) {
  throw InputError(file, 0, key, what);
}

/// Every whole number up to so many levels below `j`, by its path.
void collect(const nlohmann::json& j, const std::string& path, unsigned levels, const std::string& file, State& s) {
  for (const auto& [key, value] : j.items()) {
    const std::string name = path.empty() ? key : path + "." + key;
    if (value.is_object() && levels > 1) {
      collect(value, name, levels - 1, file, s);
    } else if (value.is_number_unsigned()) {
      s.figures[name] = value.get<uint64_t>();
    } else {
      fail(file, name, "must be a whole number from 0");
    }
  }
}

State read_state(const nlohmann::json& j, const std::string& node, const std::string& at, const std::string& file) {
  State s;
  s.node = node;
  const auto counters = j.find("counters");
  if (counters == j.end() || !counters->is_object())
    fail(file, at + "counters", "missing, or not a table: this is no result of a run");
  collect(*counters, "", 1, file, s);
  if (const auto pcie = j.find("pcie"); pcie != j.end()) {
    if (!pcie->is_object()) fail(file, at + "pcie", "must be a table");
    collect(*pcie, "pcie", 3, file, s);
  }
  if (const auto health = j.find("health"); health != j.end()) {
    if (!health->is_object() || !health->contains("state") || !(*health)["state"].is_string())
      fail(file, at + "health.state", "must be a text");
    s.health = (*health)["state"].get<std::string>();
  }
  return s;
}

}  // namespace

const char* to_string(Severity s) {
  switch (s) {
    case Severity::kNotice:
      return "notice";
    case Severity::kWarning:
      return "warning";
    case Severity::kError:
      return "error";
    case Severity::kFatal:
      return "fatal";
  }
  return "unknown";
}

const std::vector<Cause>& causes() {
  static const std::vector<Cause> all = [] {
    std::vector<Cause> out;
    for (const Entry& e : table()) out.push_back(e.cause);
    return out;
  }();
  return all;
}

uint64_t State::operator()(const std::string& name) const {
  const auto it = figures.find(name);
  return it == figures.end() ? 0 : it->second;
}

std::vector<State> read_states(const nlohmann::json& result, const std::string& file) {
  if (!result.is_object()) fail(file, "", "is no result of a run: not a JSON object");
  const auto nodes = result.find("nodes");
  if (nodes == result.end()) return {read_state(result, "n0", "", file)};
  if (!nodes->is_array() || nodes->empty()) fail(file, "nodes", "must be a list of nodes");
  std::vector<State> states;
  for (size_t i = 0; i < nodes->size(); ++i) {
    const auto& n = (*nodes)[i];
    const std::string at = fmt::format("nodes[{}].", i);
    if (!n.is_object()) fail(file, fmt::format("nodes[{}]", i), "must be a table");
    const auto name = n.find("name");
    if (name != n.end() && !name->is_string()) fail(file, at + "name", "must be a text");
    states.push_back(read_state(n, name == n.end() ? fmt::format("n{}", i) : name->get<std::string>(), at, file));
  }
  return states;
}

std::vector<Finding> diagnose(const State& state) {
  std::vector<Finding> found;
  for (size_t i = 0; i < table().size(); ++i) {
    const Match m = table()[i].rule(state);
    if (m.count == 0) continue;
    Finding f{&causes()[i], state.node, m.count, {}, m.where};
    for (const auto& name : m.evidence) {
      if (state(name) != 0) f.evidence.push_back({name, state(name)});
    }
    found.push_back(std::move(f));
  }
  std::stable_sort(found.begin(), found.end(), [](const Finding& a, const Finding& b) {
    if (a.cause->severity != b.cause->severity) return a.cause->severity > b.cause->severity;
    return a.count > b.count;
  });
  return found;
}

nlohmann::json to_json(const std::vector<Finding>& findings) {
  nlohmann::json all = nlohmann::json::array();
  for (const Finding& f : findings) {
    nlohmann::json evidence = nlohmann::json::object();
    for (const Evidence& e : f.evidence) evidence[e.figure] = e.value;
    all.push_back({{"cause", f.cause->id},
                   {"severity", to_string(f.cause->severity)},
                   {"what", f.cause->what},
                   {"node", f.node},
                   {"count", f.count},
                   {"where", f.where},
                   {"evidence", evidence},
                   {"remedy", f.cause->remedy}});
  }
  return all;
}

}  // namespace rnic::diagnose
