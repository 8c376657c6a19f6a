// SPDX-License-Identifier: Apache-2.0
// rnicsim counters: a run's counters as ethtool -S prints them, or how they grow while a scenario runs.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <map>
#include <set>

#include "rnic/observe/diagnose.h"
#include "rnic/regs/regs.h"
#include "run.h"
#include "table.h"

namespace rnic::cli {
namespace {

struct Options {
  RunOptions run;
  std::string where, node, interval = "10us";
  std::vector<std::string> patterns;
  bool watch = false, nonzero = false, all = false, log = false;
};

bool wanted(const Options& o, const std::string& name) {
  return o.patterns.empty() || std::any_of(o.patterns.begin(), o.patterns.end(), [&](const std::string& p) {
           return fnmatch(p.c_str(), name.c_str(), 0) == 0;
         });
}

/// Names in the order of the register map, then the others.
std::vector<std::string> ordered(const diagnose::State& s) {
  std::vector<std::string> names;
  std::set<std::string> known;
  for (const auto& c : regs::kCounters) {
    if (s.has(c.name)) names.push_back(c.name);
    known.insert(c.name);
  }
  for (const auto& [name, value] : s.figures) {
    if (known.count(name) == 0) names.push_back(name);
  }
  return names;
}

std::string value_text(const nlohmann::json& entry, const char* key) {
  const auto it = entry.find(key);
  if (it == entry.end()) return "-";
  return it->is_string() ? printable(it->get<std::string>()) : printable(it->dump(-1, ' ', true));
}

/// Health and error log of a node, as far as the result tells.
std::string log_text(const nlohmann::json& node) {
  std::string out;
  if (const auto h = node.find("health"); h != node.end() && h->is_object()) {
    out += fmt::format("Health: {}, causes {}, {} C\n", value_text(*h, "state"), value_text(*h, "causes"),
                       value_text(*h, "temperature_c"));
    Table t({"at, ns", "<from", "<to", "<causes"});
    if (const auto all = h->find("history"); all != h->end() && all->is_array()) {
      for (const auto& c : *all) {
        if (c.is_object())
          t.row({value_text(c, "ns"), value_text(c, "from"), value_text(c, "to"), value_text(c, "causes")});
      }
    }
    if (!t.empty()) out += t.text() + "\n";
  }
  Table t({"at, ns", "<kind", "QPN or CQN", "WQE", "syndrome", "vendor", "address"});
  if (const auto all = node.find("error_log"); all != node.end() && all->is_array()) {
    for (const auto& e : *all) {
      if (!e.is_object()) continue;
      const auto hex = [&](const char* key) {
        return e.contains(key) && e[key].is_number_unsigned() ? fmt::format("{:#04x}", e[key].get<uint64_t>())
                                                              : value_text(e, key);
      };
      t.row({value_text(e, "ns"), value_text(e, "kind"), value_text(e, "index"), value_text(e, "wqe"), hex("syndrome"),
             hex("vendor"), hex("address")});
    }
  }
  out += fmt::format("Error log: {} entries, of which the latest {} are kept\n", value_text(node, "errors_logged"),
                     +regs::bar2::kErrorLogCount);
  return t.empty() ? out : out + t.text();
}

int show(const Options& o) {
  const auto result = load_result(o.where);
  const auto states = diagnose::read_states(result, o.where);
  nlohmann::json j = nlohmann::json::object();
  std::vector<std::string> names;
  bool shown = false;
  for (size_t i = 0; i < states.size(); ++i) {
    const auto& s = states[i];
    names.push_back(printable(s.node));
    if (!o.node.empty() && s.node != o.node) continue;
    nlohmann::json values = nlohmann::json::object();
    std::string lines;
    for (const auto& name : ordered(s)) {
      const bool pcie = name.compare(0, 5, "pcie.") == 0;
      if ((pcie && !o.all) || !wanted(o, name) || (o.nonzero && s(name) == 0)) continue;
      values[name] = s(name);
      lines += fmt::format("     {}: {}\n", printable(name), s(name));
    }
    const auto& node = result.contains("nodes") ? result["nodes"][i] : result;
    if (o.run.common.json) {
      j[s.node] = {{"counters", values}};
      if (o.log) {
        for (const char* key : {"health", "error_log", "errors_logged"}) {
          if (node.contains(key)) j[s.node][key] = node[key];
        }
      }
    } else {
      fmt::print("{}NIC statistics{}:\n{}", shown ? "\n" : "",
                 states.size() > 1 ? fmt::format(" of {}", printable(s.node)) : "", lines);
      if (o.log) fmt::print("\n{}", log_text(node));
    }
    shown = true;
  }
  if (!shown) {
    throw InputError(o.where, 0, "--node",
                     fmt::format("there is no node '{}'; there are: {}", printable(o.node), fmt::join(names, ", ")));
  }
  if (o.run.common.json) fmt::print("{}\n", json_text({{"schema_version", 1}, {"nodes", j}}));
  return kGood;
}

/// Looks at the counters at the first thing that happens in an interval, before it is counted. Costs no simulated time
/// and changes nothing.
class Watcher : public Observer {
 public:
  Watcher(const Options& o, uint64_t interval_ps) : o_(o), interval_(interval_ps), next_(interval_ps) {}

  void begin(System& system) { system_ = &system; }
  void on_event(const Event& e) override { at(e.ps); }
  void on_frame(const FrameRecord& f) override { at(f.last_ps); }
  void on_tlp(const TlpRecord& t) override { at(t.ps); }
  void on_error(const ErrorRecord& e) override { at(e.ps); }

  /// The rest, after the end.
  void finish(nlohmann::json& result) {
    sample(next_);
    result["samples"] = std::move(samples_);
    result["interval_ns"] = interval_ / 1000;
  }

 private:
  void at(uint64_t ps) {
    if (ps < next_) return;
    sample(next_);
    next_ = ps / interval_ * interval_ + interval_;
  }

  /// What was counted up to the end of an interval.
  void sample(uint64_t end_ps) {
    for (unsigned n = 0; n < system_->size(); ++n) {
      auto& before = before_[n];
      nlohmann::json deltas = nlohmann::json::object();
      for (const auto& [name, value] : system_->node(n).nic->bars().counters()) {
        auto& last = before[name];
        if (value == last || !wanted(o_, name)) continue;
        deltas[name] = value > last ? value - last : 0;  // 0: software has cleared it
        if (!o_.run.common.json) {
          fmt::print("{:>14.3f} us{}  {}: {} (+{})\n", static_cast<double>(end_ps) / 1e6,
                     system_->size() > 1 ? fmt::format("  node {}", n) : "", name, value, deltas[name].get<uint64_t>());
        }
        last = value;
      }
      if (!deltas.empty()) samples_.push_back({{"end_ns", end_ps / 1000}, {"node", n}, {"deltas", std::move(deltas)}});
    }
    std::fflush(stdout);
  }

  const Options& o_;
  const uint64_t interval_;
  uint64_t next_;
  System* system_ = nullptr;
  std::map<unsigned, std::map<std::string, uint64_t>> before_;
  nlohmann::json samples_ = nlohmann::json::array();
};

int watch(Options& o) {
  const uint64_t interval = parse_time(o.interval, "--interval");
  if (interval == 0) throw InputError("", 0, "--interval", "must be more than 0");
  Watcher watcher(o, interval);
  o.run.scenario = o.where;
  o.run.watcher = &watcher;
  o.run.on_built = [&](System& s) { watcher.begin(s); };
  o.run.amend = [&](nlohmann::json& result) { watcher.finish(result); };
  return run_scenario(o.run);
}

}  // namespace

void add_counters(CLI::App& app, int& status) {
  static Options o;
  auto* sub =
      app.add_subcommand("counters", "Counters of a run as ethtool -S prints them, or live while a scenario runs");
  add_simulation_options(*sub, o.run.common);
  sub->add_option("where", o.where, "Run directory or result.json; with --watch a scenario")
      ->type_name("DIR|FILE")
      ->required();
  sub->add_option("patterns", o.patterns, "Only counters of these names; * and ? stand for anything")
      ->type_name("NAME");
  sub->add_option("--node", o.node, "Only this node")->type_name("NAME")->group("Counters");
  sub->add_flag("--nonzero", o.nonzero, "Only those that are not 0")->group("Counters");
  sub->add_flag("--all", o.all, "Also what root complex and GPU refused, reads that failed, use of credits")
      ->group("Counters");
  sub->add_flag("--log", o.log, "Also the health with its changes, and the error log")->group("Counters");
  auto* watching = sub->add_flag("--watch", o.watch, "Run the scenario, and print what has changed in each interval")
                       ->group("Counters");
  sub->add_option("--interval", o.interval, "Of --watch, simulated time [10us]")
      ->type_name("TIME")
      ->needs(watching)
      ->group("Counters");
  sub->footer(
      "With --watch a line is: end of the interval, name, value, and what came on top of it since the line before.\n"
      "Intervals without a change print nothing. The options of a simulation are those of 'rnicsim run'.\n\n"
      "Examples:\n"
      "  rnicsim counters out/run --nonzero\n"
      "  rnicsim counters out/run 'rx_prio*' 'cpl_*' --log\n"
      "  rnicsim counters --watch sim/scenarios/sharing.toml --interval 5us 'tx_*'");
  sub->callback([&status] { status = o.watch ? watch(o) : show(o); });
}

}  // namespace rnic::cli
