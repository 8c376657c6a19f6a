// SPDX-License-Identifier: Apache-2.0
// rnicsim stages: doorbell to MAC of single messages, stage by stage, out of measured instants.
#include "rnic/observe/stages.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <csignal>
#include <random>

#include "common.h"
#include "rnic/observe/node_state.h"
#include "sensitivity.h"
#include "stages_paths.h"
#include "table.h"

namespace rnic::cli {
namespace {

using host::WrOpcode;

struct Options {
  Common common;
  WrOpcode op = WrOpcode::kRdmaWrite;
  host::QpType transport = host::QpType::kUc;
  uint64_t size = 64;
  unsigned mtu = 4096;
  host::SqWhere sq = host::SqWhere::kDevice;
  host::Space mem = host::Space::kGpu;
  pcie::Initiator initiator = pcie::Initiator::kCpu;
  unsigned repeat = 1;
  std::string phase;  ///< empty: as it comes
  std::string vs;
  std::string path;  ///< empty: doorbell to MAC alone
  bool check = false;
  SensitivityOptions sensitivity;
};

const std::map<std::string, WrOpcode> kOps{{"write", WrOpcode::kRdmaWrite},
                                           {"write_imm", WrOpcode::kRdmaWriteImm},
                                           {"send", WrOpcode::kSend},
                                           {"send_imm", WrOpcode::kSendImm}};
const std::map<std::string, host::QpType> kTransports{{"uc", host::QpType::kUc}, {"rc", host::QpType::kRc}};
const std::map<std::string, host::SqWhere> kPlaces{
    {"device", host::SqWhere::kDevice}, {"bf", host::SqWhere::kBf}, {"host", host::SqWhere::kHost}};
const std::map<std::string, host::Space> kSpaces{{"gpu", host::Space::kGpu}, {"host", host::Space::kHost}};
const std::map<std::string, pcie::Initiator> kInitiators{{"cpu", pcie::Initiator::kCpu},
                                                         {"gpu", pcie::Initiator::kGpu}};

template <class T>
const std::string& name_of(const std::map<std::string, T>& names, T value) {
  return std::find_if(names.begin(), names.end(), [&](const auto& n) { return n.second == value; })->first;
}

std::string describe(const Options& o) {
  return fmt::format("{} B {} {}, MTU {}, {} memory, send queue {}, posted by {}", o.size,
                     name_of(kTransports, o.transport) == "uc" ? "UC" : "RC", host::to_string(o.op), o.mtu,
                     o.mem == host::Space::kGpu ? "GPU" : "host",
                     o.sq == host::SqWhere::kBf     ? "pushed by BlueFlame"
                     : o.sq == host::SqWhere::kHost ? "in host memory"
                                                    : "in device memory",
                     o.initiator == pcie::Initiator::kCpu ? "CPU" : "GPU");
}

/// What the document's figures are about.
bool reference(const Options& o) {
  return o.size == 64 && o.op == WrOpcode::kRdmaWrite && o.transport == host::QpType::kUc &&
         o.sq == host::SqWhere::kDevice && o.mem == host::Space::kGpu;
}

struct Message {
  uint16_t wqe;
  size_t first_event, end_event;
};

/// What the thread in the simulated world needs, and what it brings back.
struct Measured {
  uint32_t qpn = 0;
  std::vector<Message> messages;
};

void wait_idle(Nic& nic) {
  // Consumer-index doorbells may still be on their way: they belong to the message before.
  do sc_core::wait(Time(2, sc_core::SC_US));
  while (!nic.idle());
}

[[noreturn]] void too_many() {
  throw InputError("", 0, "--size", "the run has more events than are kept: use a smaller --size or --repeat");
}

void measure(System& system, const Options& o, BoundedRecorder& rec, Measured& out) {
  auto& node = system.node();
  auto& ctx = *node.ctx;
  const uint64_t length = std::max<uint64_t>(o.size, 4096);
  const uint64_t offset = ctx.alloc(o.mem, length);
  if (o.mem == host::Space::kHost) {
    const uint64_t filled = std::min<uint64_t>(length, 1 << 20);
    std::vector<uint8_t> bytes(filled);
    for (uint64_t i = 0; i < filled; ++i) bytes[i] = pattern_byte(offset + i, o.common.seed);
    node.hub->host_memory().write(offset, bytes.data(), filled);
  }
  host::QpInit init;
  init.type = o.transport;
  init.where = o.sq;
  const host::Mr mr = ctx.reg_mr(init.pd, o.mem, offset, length, 0x7f00'0000'0000);
  host::Cq* cq = ctx.create_cq(8);
  host::Qp* qp = ctx.create_qp(cq, init);
  host::QpPath path;
  path.mtu = o.mtu;
  ctx.modify_qp_rts(qp, path);
  out.qpn = qp->qpn;

  host::SendWr wr;
  wr.opcode = o.op;
  wr.imm = 0x1234;
  wr.addr = mr.addr;
  wr.length = o.size;
  wr.lkey = mr.lkey;
  wr.remote_addr = 0x1000'0000;
  wr.rkey = 0x1234;

  const uint64_t period = to_ps(system.profile().time("clock.core_period"));
  std::mt19937_64 random(o.common.seed);
  for (unsigned i = 0; i <= o.repeat; ++i) {  // the first one warms the contexts up
    wait_idle(*node.nic);
    if (!o.phase.empty()) {
      const uint64_t want = o.phase == "random" ? random() % period : std::stoull(o.phase) % period;
      const uint64_t is = to_ps(sc_core::sc_time_stamp()) % period;
      sc_core::wait(from_ps((want + period - is) % period));
    }
    const Message m{qp->pi, rec.events.size(), 0};
    wr.wr_id = i;
    ctx.post_send(qp, wr, o.initiator);
    // Slow links take long for 2 GiB: --max-sim-time is the limit.
    std::optional<host::WorkCompletion> wc;
    while (!(wc = ctx.wait_cq(cq, Time(1, sc_core::SC_MS)))) {
      if (rec.events_dropped != 0) too_many();
    }
    if (wc->status != host::WcStatus::kSuccess) {
      throw SimError(fmt::format("message {} completed with '{}' (vendor syndrome {:#x})", i,
                                 host::to_string(wc->status), wc->vendor_err));
    }
    wait_idle(*node.nic);
    if (rec.events_dropped != 0) too_many();
    if (i == 0) continue;
    out.messages.push_back(m);
    out.messages.back().end_event = rec.events.size();
  }
}

std::string opt_ns(const std::optional<uint64_t>& ps, uint64_t t0) { return ps ? ns(*ps - t0) : "-"; }

std::string key_text(const Profile& p, const std::string& key) {
  const auto it = p.entries().find(key);
  if (it == p.entries().end()) return key;
  const auto* k = find_key(key);
  const auto* v = std::get_if<double>(&it->second.value);
  return fmt::format("{} = {}{}", key, v ? fmt::to_string(*v) : std::get<std::string>(it->second.value),
                     !k || k->unit == "1" ? "" : " " + k->unit);
}

void print_header(const Profile& p, const Options& o) {
  fmt::print("{}\n", wrapped(fmt::format("profile {}: {}", p.name(), p.description())));
  if (!p.fit_note().empty()) fmt::print("{}\n", p.fit_note());
  fmt::print("\n{}; contexts warm\n", describe(o));
  if (!reference(o))
    fmt::print("Budgets are the document's, for a 64 B UC WRITE out of GPU memory with its queue in device memory\n");
}

void print_table(const StageTable& t, const Profile& p, const Options& o) {
  const double cycle_ns = static_cast<double>(to_ps(p.time("clock.core_period"))) / 1000;
  fmt::print("Times in ns from T0, the doorbell's TLP at the NIC's PCIe pins ({} ns of simulated time)\n\n",
             ns(t.t0_ps));
  Table stages({"<stage", "start", "end", "cycles", "duration", "budget", "gap", "RTL", "align", "model", "link"});
  for (const Stage& s : t.stages) {
    const bool budget = s.budget_ns > 0;
    const double extra_ns = s.extra_cycles * cycle_ns;
    const auto budget_ps = static_cast<int64_t>(s.budget_ns * 1000);
    stages.row({s.name, ns(s.start_ps - t.t0_ps), ns(s.end_ps - t.t0_ps), fmt::to_string(s.end_cycle - s.start_cycle),
                ns(s.duration_ps()),
                !budget ? "-"
                : extra_ns == 0
                    ? fmt::format("{}", s.budget_ns)
                    : fmt::format("{:g} {} {:g}", s.budget_ns - extra_ns, extra_ns < 0 ? '-' : '+', std::abs(extra_ns)),
                budget ? signed_ns(static_cast<int64_t>(s.duration_ps()) - budget_ps) : "-",
                ns(s.share_ps(Share::kRtl)), ns(s.share_ps(Share::kAlign)), ns(s.share_ps(Share::kModel)),
                ns(s.share_ps(Share::kLink))});
  }
  fmt::print("{}\n", stages.text());
  std::vector<std::string> extra;
  for (const auto& [block, cycles] : declared_extra_cycles()) extra.push_back(fmt::format("{} {:+}", block, cycles));
  if (!extra.empty())
    fmt::print("Budgets hold the extra cycles that the RTL override declares: {}\n\n", fmt::join(extra, ", "));

  Table instants({"<instant", "ns from T0", "<"});
  instants.row(
      {"initiator's store", t.store_ps ? "-" + ns(t.t0_ps - *t.store_ps) : "-", "outside the budget: store to T0"});
  instants.row({"first bit on the wire", ns(t.first_bit_ps - t.t0_ps),
                reference(o) ? "doorbell to MAC; the document says about 300" : "doorbell to MAC"});
  instants.row({"last bit on the wire", ns(t.last_bit_ps - t.t0_ps), "FCS included"});
  instants.row({"CQE issued", opt_ns(t.cqe_issued_ps, t.t0_ps),
                reference(o) ? "its write TLP at the pins; the document says 260-300" : "its write TLP at the pins"});
  instants.row({"CQE visible", opt_ns(t.cqe_visible_ps, t.t0_ps), "in host memory"});
  fmt::print("{}", instants.text());
  fmt::print(
      "{}\n\n",
      o.transport == host::QpType::kUc
          ? "UC: a send completes when its last byte has gone to the MAC (the rule for UC)."
          : "RC: the completion would wait for the ACK: not modelled yet. The CQE here follows the rule for UC.");

  fmt::print("Where each nanosecond comes from\n\n");
  Table parts({"<stage", "<part", "<share", "ns", "<profile keys"});
  std::vector<std::string> used;
  for (const Stage& s : t.stages) {
    const char* name = s.name.c_str();
    for (const StagePart& part : s.parts) {
      std::vector<std::string> keys;
      for (const auto& k : part.keys) {
        keys.push_back(key_text(p, k));
        if (std::find(used.begin(), used.end(), k) == used.end()) used.push_back(k);
      }
      parts.row({name, part.what, to_string(part.share), ns(part.end_ps - part.start_ps),
                 fmt::format("{}", fmt::join(keys, ", "))});
      name = "";
    }
  }
  fmt::print("{}\n", parts.text());
  Table sources({"<key", "value", "<unit", "<kind", "<source"});
  for (const auto& k : used) {
    const auto it = p.entries().find(k);
    if (it == p.entries().end()) continue;
    const auto* info = find_key(k);
    const auto* v = std::get_if<double>(&it->second.value);
    sources.row({k, v ? fmt::to_string(*v) : std::get<std::string>(it->second.value),
                 info && info->unit != "1" ? info->unit : "", it->second.kind, it->second.source});
  }
  fmt::print("{}", sources.text());
}

struct Series {
  const char* name;
  const char* json;
  std::vector<double> ns;
};

std::vector<Series> series(const std::vector<StageTable>& tables) {
  std::vector<Series> out{{"doorbell to first bit", "doorbell_to_first_bit", {}},
                          {"doorbell to last bit", "doorbell_to_last_bit", {}},
                          {"store to first bit", "store_to_first_bit", {}},
                          {"doorbell to CQE visible", "doorbell_to_cqe_visible", {}}};
  for (const auto& t : tables) {
    const auto since = [](uint64_t from, uint64_t to) { return static_cast<double>(to - from) / 1000; };
    out[0].ns.push_back(since(t.t0_ps, t.first_bit_ps));
    out[1].ns.push_back(since(t.t0_ps, t.last_bit_ps));
    if (t.store_ps) out[2].ns.push_back(since(*t.store_ps, t.first_bit_ps));
    if (t.cqe_visible_ps) out[3].ns.push_back(since(t.t0_ps, *t.cqe_visible_ps));
  }
  return out;
}

nlohmann::json series_json(const Series& s) {
  nlohmann::json j{{"count", s.ns.size()}};
  const auto put = [&](const char* key, std::optional<double> v) {
    j[key] = v ? nlohmann::json(*v) : nlohmann::json();
  };
  put("p50_ns", percentile(s.ns, 0.5));
  put("p99_ns", percentile(s.ns, 0.99));
  put("p999_ns", percentile(s.ns, 0.999));
  if (!s.ns.empty()) {
    put("min_ns", *std::min_element(s.ns.begin(), s.ns.end()));
    put("max_ns", *std::max_element(s.ns.begin(), s.ns.end()));
  }
  return j;
}

void print_series(const std::vector<Series>& all) {
  Table t({"<latency, ns", "messages", "min", "P50", "P99", "P999", "max"});
  for (const auto& s : all) {
    if (s.ns.empty()) continue;
    t.row({s.name, fmt::to_string(s.ns.size()), fmt::format("{:.3f}", *std::min_element(s.ns.begin(), s.ns.end())),
           percentile_text(s.ns, 0.5), percentile_text(s.ns, 0.99), percentile_text(s.ns, 0.999),
           fmt::format("{:.3f}", *std::max_element(s.ns.begin(), s.ns.end()))});
  }
  fmt::print("\n{}", t.text());
}

/// The document's budgets (durations) and windows (instants), of the worst of all messages.
std::vector<CheckResult> budget_checks(const std::vector<StageTable>& tables) {
  std::vector<CheckResult> out;
  const auto at_most = [&](const std::string& name, const std::string& what, double limit_ns, uint64_t worst_ps) {
    out.push_back({name, what, fmt::format("at most {:.7g} ns", limit_ns), ns(worst_ps) + " ns",
                   worst_ps <= static_cast<uint64_t>(limit_ns * 1000 + 0.5)});
  };
  for (size_t i = 0; i < tables.front().stages.size(); ++i) {
    const Stage& first = tables.front().stages[i];
    uint64_t duration = 0, end = 0;
    for (const auto& t : tables) {
      if (i >= t.stages.size()) continue;
      duration = std::max(duration, t.stages[i].duration_ps());
      end = std::max(end, t.stages[i].end_ps - t.t0_ps);
    }
    if (first.budget_ns <= 0) continue;
    at_most(first.name, "duration against its budget", first.budget_ns, duration);
    at_most(first.name, "end against F5's window", first.budget_end_ns, end);
  }
  uint64_t cqe = 0;
  for (const auto& t : tables) {
    if (t.cqe_issued_ps) cqe = std::max(cqe, *t.cqe_issued_ps - t.t0_ps);
  }
  const Stage& write = tables.front().stages.back();
  if (cqe != 0) at_most(write.name, "issued against F5's window", write.budget_end_ns, cqe);
  return out;
}

/// The same run with another profile, in a process of its own.
/// Nothing when it was interrupted.
std::optional<nlohmann::json> run_other(const Options& o) {
  std::vector<std::string> args{"stages", "--json", "-q", "--profile", o.vs};
  const auto add = [&](const char* option, const std::string& value) {
    args.emplace_back(option);
    args.push_back(value);
  };
  add("--op", name_of(kOps, o.op));
  add("--transport", name_of(kTransports, o.transport));
  add("--size", fmt::to_string(o.size));
  add("--mtu", fmt::to_string(o.mtu));
  add("--sq", name_of(kPlaces, o.sq));
  add("--mem", name_of(kSpaces, o.mem));
  add("--initiator", name_of(kInitiators, o.initiator));
  add("--repeat", fmt::to_string(o.repeat));
  if (!o.phase.empty()) add("--phase", o.phase);
  add("--seed", fmt::to_string(o.common.seed));
  add("--max-sim-time", o.common.max_sim_time);
  add("--max-wall", fmt::to_string(o.common.max_wall_s));
  int status = 0;
  const std::string text = run_child(args, status);
  if (status == kBadInput)
    throw InputError("", 0, "--vs", fmt::format("the profile '{}' can't be used (message above)", o.vs));
  if (status == kInterrupted || status == 128 + SIGTERM) return std::nullopt;
  if (status != kGood) throw SimError(fmt::format("the run with profile '{}' ended with status {}", o.vs, status));
  const auto j = nlohmann::json::parse(text, nullptr, false);
  if (j.is_discarded()) throw SimError(fmt::format("the run with profile '{}' gave no JSON", o.vs));
  return j;
}

void print_side_by_side(const nlohmann::json& a, const nlohmann::json& b) {
  const std::string na = a["profile"]["name"], nb = b["profile"]["name"];
  fmt::print("\n{}\n\n",
             wrapped(fmt::format("{} beside {}: {}", nb, na, b["profile"]["description"].get<std::string>())));
  Table t({"<ns", na, nb, "difference"});
  const auto row = [&](const std::string& name, const nlohmann::json& x, const nlohmann::json& y) {
    const auto text = [](const nlohmann::json& v) {
      return v.is_number() ? fmt::format("{:.3f}", v.get<double>()) : "-";
    };
    t.row({name, text(x), text(y),
           x.is_number() && y.is_number() ? fmt::format("{:+.3f}", y.get<double>() - x.get<double>()) : "-"});
  };
  const auto &ta = a["table"], &tb = b["table"];
  for (const auto& s : ta["stages"]) {
    nlohmann::json other;
    for (const auto& x : tb["stages"]) {
      if (x["name"] == s["name"]) other = x;
    }
    row(s["name"], s["duration_ns"], other.is_null() ? other : other["duration_ns"]);
    for (const char* share : {"rtl_ns", "align_ns", "model_ns", "link_ns"}) {
      const std::string label(share);
      const nlohmann::json y = other.is_null() ? other : other[share];
      if (s[share] == 0 && (y.is_null() || y == 0)) continue;
      row("  " + label.substr(0, label.size() - 3), s[share], y);
    }
  }
  t.rule();
  row("store to T0", a["store_to_t0_ns"], b["store_to_t0_ns"]);
  row("doorbell to first bit", ta["doorbell_to_mac_ns"], tb["doorbell_to_mac_ns"]);
  row("doorbell to last bit", ta["doorbell_to_last_bit_ns"], tb["doorbell_to_last_bit_ns"]);
  const auto& sa = a["latencies"]["doorbell_to_first_bit"];
  const auto& sb = b["latencies"]["doorbell_to_first_bit"];
  if (sa["count"] > 1) {
    for (const char* p : {"min_ns", "p50_ns", "p99_ns", "p999_ns", "max_ns"}) {
      const std::string label(p);
      row("doorbell to first bit, " + label.substr(0, label.size() - 3), sa[p], sb[p]);
    }
  }
  fmt::print("{}", t.text());
}

/// Which options a path goes with.
int run_path(const Options& o, const CLI::App& sub) {
  for (const char* option : {"--mem", "--repeat", "--phase", "--vs", "--sensitivity"}) {
    if (sub.count(option) == 0) continue;
    throw InputError("", 0, option, "does not go with --path: leave one of the two out");
  }
  StagesPaths p;
  p.path = o.path;
  if (sub.count("--size") != 0) p.size = o.size;
  p.message.op = o.op;
  p.message.transport = o.transport;
  p.message.sq = o.sq;
  p.message.mtu = o.mtu;
  p.message.initiator = o.initiator;
  p.op = name_of(kOps, o.op);
  p.transport = name_of(kTransports, o.transport);
  p.sq = name_of(kPlaces, o.sq);
  p.check = o.check;
  return run_stages_paths(o.common, p);
}

int run(const Options& o) {
  if (!o.phase.empty() && o.phase != "random" && o.phase.find_first_not_of("0123456789") != std::string::npos) {
    throw InputError("", 0, "--phase",
                     fmt::format("'{}' is not known; allowed: random, or ps after a clock edge", o.phase));
  }
  if (o.phase.size() > 12) throw InputError("", 0, "--phase", "is too large");
  const Profile profile = load_profile(o.common);
  std::optional<nlohmann::json> other;
  if (!o.vs.empty() && !(other = run_other(o))) {
    spdlog::warn("interrupted in the run of the second profile");
    return kInterrupted;
  }

  Session session(o.common, profile, "full");
  BoundedRecorder rec(2'000'000);
  SystemOptions so = session.system_options(1);
  System system(profile, so);
  system.observers().add(&rec);
  system.node().hub->gpu_memory().set_background(o.common.seed);
  Measured measured;
  system.spawn("stages", [&] { measure(system, o, rec, measured); });
  Exit status = session.run(system);

  const ClockInfo clock{so.phases_ps.empty() ? 0 : so.phases_ps[0], to_ps(profile.time("clock.core_period"))};
  const auto payload = o.mem == host::Space::kGpu ? ModelLatencies::Payload::kGpu : ModelLatencies::Payload::kHost;
  std::vector<StageTable> tables;
  for (const Message& m : measured.messages) {
    const std::vector<Event> events(rec.events.begin() + static_cast<std::ptrdiff_t>(m.first_event),
                                    rec.events.begin() + static_cast<std::ptrdiff_t>(m.end_event));
    tables.push_back(make_stage_table(events, 0, measured.qpn, m.wqe, clock,
                                      model_latencies(profile, payload, *system.node().hub),
                                      extra_cycles(declared_extra_cycles())));
  }

  nlohmann::json result = result_header(rerun_line(), profile, o.common.seed);
  result["subcommand"] = "stages";
  result["status"] = status == kGood ? "done" : "not finished";
  result["fit_note"] = profile.fit_note();
  result["options"] = {{"op", name_of(kOps, o.op)},
                       {"transport", name_of(kTransports, o.transport)},
                       {"size_bytes", o.size},
                       {"mtu_bytes", o.mtu},
                       {"sq", name_of(kPlaces, o.sq)},
                       {"mem", name_of(kSpaces, o.mem)},
                       {"initiator", name_of(kInitiators, o.initiator)},
                       {"repeat", o.repeat},
                       {"phase", o.phase}};
  result.update(node_state(*system.node().nic, *system.node().hub));
  Session::Outputs out;
  out.title = "rnicsim stages: " + describe(o);
  out.recorder = &rec;
  std::vector<CheckResult> checks;
  if (!tables.empty()) {
    const StageTable& t = tables.front();
    const auto all = series(tables);
    result["table"] = to_json(t, profile);
    result["store_to_t0_ns"] =
        t.store_ps ? nlohmann::json(static_cast<double>(t.t0_ps - *t.store_ps) / 1000) : nlohmann::json();
    for (const auto& s : all) result["latencies"][s.json] = series_json(s);
    if (o.check) checks = budget_checks(tables);
    result["checks"] = to_json(checks);
    if (other) result["vs"] = *other;
    for (const auto& s : all) {
      if (tables.size() > 1 && !s.ns.empty()) out.latencies_ns.emplace_back(s.name, s.ns);
    }
    out.tables.assign(tables.begin(), tables.begin() + static_cast<std::ptrdiff_t>(std::min<size_t>(tables.size(), 8)));
    if (!o.common.json) {
      print_header(profile, o);
      if (tables.size() > 1) fmt::print("First of {} messages:\n", tables.size());
      print_table(t, profile, o);
      if (tables.size() > 1) print_series(all);
      if (other) print_side_by_side(result, *other);
      if (o.check) {
        Table c({"<check", "<what", "<expected", "got", "<"});
        for (const auto& x : checks) c.row({x.name, x.what, x.expected, x.got, x.passed ? "ok" : "FAILED"});
        fmt::print("\n{}", c.text());
      }
      std::fflush(stdout);
    }
  }
  if (o.sensitivity.wanted && status == kGood) status = run_sensitivity(o.sensitivity, o.common, profile, result);
  if (!report_checks(checks) && status == kGood) status = kCheckFailed;
  session.finish(status, result, out);
  return status;
}

}  // namespace

void add_stages(CLI::App& app, int& status) {
  static Options o;
  auto* sub = app.add_subcommand("stages", "Doorbell to MAC, stage by stage, and where each nanosecond comes from");
  add_simulation_options(*sub, o.common);
  const auto message = "Message";
  const auto choice = [&](const char* name, auto& value, const auto& names, const char* help, const char* shown) {
    std::remove_reference_t<decltype(names)> const* list = &names;
    sub->add_option_function<std::string>(
           name, [&value, list](const std::string& s) { value = list->at(s); }, help)
        ->check(quiet_check(CLI::IsMember(names)))
        ->type_name(shown)
        ->group(message);
  };
  choice("--op", o.op, kOps, "Operation [write]", "write|write_imm|send|send_imm");
  choice("--transport", o.transport, kTransports, "Transport service [uc]", "uc|rc");
  sub->add_option("--size", o.size, "Bytes of a message [64]")
      ->check(quiet_check(CLI::Range(uint64_t{0}, uint64_t{1} << 31)))
      ->type_name("0..2^31")
      ->group(message);
  sub->add_option("--mtu", o.mtu, "Path MTU [4096]")
      ->check(quiet_check(CLI::IsMember({256, 512, 1024, 2048, 4096})))
      ->type_name("256|512|1024|2048|4096")
      ->group(message);
  choice("--sq", o.sq, kPlaces,
         "Where the send queue is: ring in device or host memory, or WQEs pushed by BlueFlame [device]",
         "bf|device|host");
  choice("--mem", o.mem, kSpaces, "Where the payload is [gpu]", "gpu|host");
  choice("--initiator", o.initiator, kInitiators, "Who posts [cpu]", "cpu|gpu");
  sub->add_option("--repeat", o.repeat,
                  "Messages measured, one after the other, after one that warms the contexts up [1]")
      ->check(quiet_check(CLI::Range(1u, 1000000u)))
      ->type_name("N")
      ->group(message);
  sub->add_option("--phase", o.phase, "Post so many ps after a clock edge, or at random within the clock's period")
      ->type_name("PS|random")
      ->group(message);
  sub->add_option("--path", o.path,
                  "From data ready in GPU memory to the wire instead: straight from GPU memory (gdr), copied to host "
                  "memory first (staged), or both side by side; sums at 64 B, 4 KiB and --size")
      ->check(quiet_check(CLI::IsMember({"gdr", "staged", "both"})))
      ->type_name("gdr|staged|both")
      ->group(message);
  sub->add_option("--vs", o.vs, "A second profile, shown beside the first")->type_name("NAME|FILE")->group("Profile");
  add_sensitivity_options(*sub, o.sensitivity, "table.doorbell_to_last_bit_ns");
  sub->add_flag("--check", o.check,
                "Exit with 1 when a stage breaks its budget or F5's window; with --path, when F6 or F7 do not hold")
      ->group("Run");
  sub->footer(
      "T0 is the instant at which the doorbell's TLP has arrived at the NIC's PCIe pins. Shares: RTL = whole clock "
      "cycles;\n"
      "align = waiting for the clock edge that sees an arrival; model = a latency of the profile; link = PCIe, "
      "serialization\n"
      "and flight. A percentile that the number of messages can't support is '-' (P99 needs 100, P999 1000).\n\n"
      "Examples:\n"
      "  rnicsim stages --check\n"
      "  rnicsim stages --sq bf --initiator gpu\n"
      "  rnicsim stages --mem host --size 4096 --set host.read_latency=120\n"
      "  rnicsim stages --repeat 1000 --phase random --seed 7\n"
      "  rnicsim stages --vs gen5-measured\n"
      "  rnicsim stages --size 4096 --sensitivity -o out/sensitivity\n"
      "  rnicsim stages --path both --check\n"
      "  rnicsim stages --path staged --size 65536 --set host.gpu_wait=poll\n"
      "  rnicsim stages -o out/run --trace 0:3000");
  sub->callback([&status, sub] { status = o.path.empty() ? run(o) : run_path(o, *sub); });
}

}  // namespace rnic::cli
