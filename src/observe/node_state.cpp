// SPDX-License-Identifier: Apache-2.0
#include "rnic/observe/node_state.h"

#include <utility>

#include "rnic/core/delay_queue.h"
#include "rnic/nic/nic.h"
#include "rnic/pcie/hub.h"

namespace rnic {
namespace {

const char* kind_name(regs::EventKind kind) {
  switch (kind) {
    case regs::EventKind::kDbInvalid:
      return "DbInvalid";
    case regs::EventKind::kWqeError:
      return "WqeError";
    case regs::EventKind::kCqOverrun:
      return "CqOverrun";
    case regs::EventKind::kCqInvalid:
      return "CqInvalid";
    case regs::EventKind::kThermal:
      return "Thermal";
    case regs::EventKind::kPcie:
      return "Pcie";
    case regs::EventKind::kMmio:
      return "Mmio";
  }
  return "unknown";
}

nlohmann::json causes_json(unsigned causes) {
  static constexpr std::pair<unsigned, const char*> kNames[] = {{Health::kErrors, "errors"},
                                                                {Health::kWarm, "warm"},
                                                                {Health::kLost, "lost"},
                                                                {Health::kOverheated, "overheated"}};
  nlohmann::json j = nlohmann::json::array();
  for (const auto& [bit, name] : kNames) {
    if (causes & bit) j.push_back(name);
  }
  return j;
}

nlohmann::json health_json(const Health& h) {
  nlohmann::json j{{"state", to_string(h.state())},     {"causes", causes_json(h.causes())},
                   {"temperature_c", h.temperature()},  {"warning_c", h.limits().warning},
                   {"critical_c", h.limits().critical}, {"changes", h.changes()},
                   {"history", nlohmann::json::array()}};
  for (const auto& c : h.history()) {
    j["history"].push_back(
        {{"ns", c.ns}, {"from", to_string(c.from)}, {"to", to_string(c.to)}, {"causes", causes_json(c.causes)}});
  }
  return j;
}

nlohmann::json reads_json(const FailedReads::Place& p) {
  return {{"ur", p.ur},
          {"ca", p.ca},
          {"poisoned", p.poisoned},
          {"malformed", p.malformed},
          {"unanswered", p.unanswered},
          {"misrouted", p.misrouted},
          {"late", p.late}};
}

nlohmann::json credits_json(uint64_t limit, uint64_t busy_ps, uint64_t none_ps) {
  return {{"limit", limit}, {"busy_ps", busy_ps}, {"none_ps", none_ps}};
}

}  // namespace

nlohmann::json nic_state(const BarDecoder& bars) {
  nlohmann::json j{{"counters", nlohmann::json::object()},
                   {"health", health_json(bars.health())},
                   {"errors_logged", bars.errors_logged()},
                   {"error_log", nlohmann::json::array()}};
  for (const auto& [name, value] : bars.counters()) j["counters"][name] = value;
  for (const auto& e : bars.error_log()) {
    j["error_log"].push_back({{"ns", e.ns},
                              {"kind", kind_name(e.kind)},
                              {"index", e.index},
                              {"wqe", e.wqe},
                              {"syndrome", e.syndrome},
                              {"vendor", e.vendor},
                              {"address", e.address}});
  }
  return j;
}

nlohmann::json node_state(Nic& nic, const pcie::Hub& hub) {
  nlohmann::json j = nic_state(nic.bars());
  const FailedReads reads = nic.failed_reads();
  const auto& refused = hub.counters();
  const auto use = hub.usage(DelayQueue::now_ps());
  const CompletionRoom room = nic.completion_room();
  j["pcie"] = {
      {"mmio", {{"unknown_commands", nic.bars().unknown_commands()}}},

      {"failed_reads",
       {{"host", reads_json(reads.host)}, {"gpu", reads_json(reads.gpu)}, {"nowhere", reads_json(reads.nowhere)}}},
      {"refused",
       {{"malformed", refused.malformed},
        {"unsupported_read", refused.unsupported_read},
        {"unsupported_write", refused.unsupported_write},
        {"unpinned_read", refused.unpinned_read},
        {"unpinned_write", refused.unpinned_write},
        {"unexpected_cpl", refused.unexpected_cpl}}},
      {"credits",
       {{"nph", credits_json(use.nph.limit, use.nph.busy_ps, use.nph.none_ps)},
        {"ph", credits_json(use.ph.limit, use.ph.busy_ps, use.ph.none_ps)},
        {"pd", credits_json(use.pd.limit, use.pd.busy_ps, use.pd.none_ps)},
        {"cpl", credits_json(room.limit, room.busy_ps, room.none_ps)}}}};
  return j;
}

}  // namespace rnic
