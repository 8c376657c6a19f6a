// SPDX-License-Identifier: Apache-2.0
// rnicsim run SCENARIO.toml
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cctype>
#include <deque>
#include <map>
#include <set>

#include "rnic/golden/wqe.h"
#include "rnic/observe/diagnose.h"
#include "rnic/observe/node_state.h"
#include "rnic/observe/sections.h"
#include "rnic/workload/scenario.h"
#include "run.h"
#include "table.h"

namespace rnic::cli {
namespace {

using namespace workload;

/// What came of one operation.
struct OpResult {
  uint64_t posted = 0, sent = 0;  ///< sent: last bit on the wire
  uint64_t cqes = 0, errors = 0;
  std::map<std::string, uint64_t> statuses;
  std::optional<uint64_t> first_t0_ps, last_bit_ps;
  std::vector<double> latencies_ns;  ///< the first million
  double max_latency_ns = 0;
  bool stuck = false;
};

struct NodeResult {
  uint64_t frames = 0, frame_bytes = 0, cqes = 0, cqe_errors = 0;
  std::map<std::string, uint64_t> statuses;
};

/// Follows every message from its doorbell to its last bit.
class Tally : public Observer {
 public:
  Tally(std::vector<OpResult>& ops, std::vector<NodeResult>& nodes) : ops_(ops), nodes_(nodes) {}

  void posted(unsigned node, uint32_t qpn, uint16_t wqe, unsigned op) {
    open_[{node, qpn}].push_back({wqe, op, std::nullopt});
    ++ops_[op].posted;
  }
  /// Messages up to this one have completed: what has not been sent by now never will be.
  void completed(unsigned node, uint32_t qpn, uint16_t wqe) {
    auto& list = open_[{node, qpn}];
    while (!list.empty() && before(list.front().wqe, static_cast<uint16_t>(wqe + 1)) && list.front().gone)
      list.pop_front();
  }

  void on_event(const Event& e) override {
    const auto it = open_.find({e.nic, e.op.qpn});
    if (it == open_.end()) return;
    if (e.kind == EventKind::kDbPins) {
      for (Open& m : it->second) {
        if (!m.t0 && before(m.wqe, e.op.wqe)) m.t0 = e.ps;
      }
    } else if (e.kind == EventKind::kWireLast && e.op.last) {
      for (Open& m : it->second) {
        if (m.wqe != e.op.wqe || m.gone) continue;
        sent(m, e.ps);
        break;
      }
      while (!it->second.empty() && it->second.front().gone) it->second.pop_front();
    }
  }
  void on_frame(const FrameRecord& f) override {
    ++nodes_[f.nic].frames;
    nodes_[f.nic].frame_bytes += f.bytes.size();
  }

 private:
  struct Open {
    uint16_t wqe;
    unsigned op;
    std::optional<uint64_t> t0;
    bool gone = false;
  };
  static bool before(uint16_t a, uint16_t b) { return static_cast<int16_t>(static_cast<uint16_t>(b - a)) > 0; }

  void sent(Open& m, uint64_t ps) {
    constexpr size_t kKept = 1'000'000;
    OpResult& r = ops_[m.op];
    m.gone = true;
    ++r.sent;
    r.last_bit_ps = ps;
    if (!m.t0) return;
    if (!r.first_t0_ps) r.first_t0_ps = m.t0;
    const double latency = static_cast<double>(ps - *m.t0) / 1000;
    r.max_latency_ns = std::max(r.max_latency_ns, latency);
    if (r.latencies_ns.size() < kKept) r.latencies_ns.push_back(latency);
  }

  std::vector<OpResult>& ops_;
  std::vector<NodeResult>& nodes_;
  std::map<std::pair<unsigned, uint32_t>, std::deque<Open>> open_;
};

/// A name that SystemC takes for a thread.
std::string thread_name(std::string name) {
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return name;
}

class Runner {
 public:
  Runner(System& system, const Scenario& s, Tally& tally, std::vector<OpResult>& ops, std::vector<NodeResult>& nodes)
      : system_(system), s_(s), tally_(tally), ops_(ops), nodes_(nodes), queues_(s.qps.size()) {}

  void spawn() {
    system_.spawn("setup", [this] { setup(); });
    for (unsigned q = 0; q < s_.qps.size(); ++q) {
      system_.spawn(thread_name(s_.qps[q].name), [this, q] { queue_thread(q); });
    }
    for (const auto& f : s_.faults) {
      if (!f.qp) system_.spawn(thread_name(f.name), [this, &f] { fault_thread(f); });
    }
  }

  uint64_t start_ps() const { return start_ps_; }

  /// A queue pair's name in the scenario, with its node's when there are several.
  std::string name_of(unsigned node, uint32_t qpn) const {
    std::string name = fmt::format("QP {}", qpn);
    for (size_t q = 0; q < queues_.size(); ++q) {
      if (queues_[q].qp != nullptr && s_.qps[q].node == node && queues_[q].qp->qpn == qpn) name = s_.qps[q].name;
    }
    return s_.nodes.size() == 1 ? name : s_.nodes[node].name + " " + name;
  }

 private:
  struct Queue {
    host::Cq* cq = nullptr;
    host::Qp* qp = nullptr;
    uint16_t head = 0;        ///< oldest WQE without completion
    uint64_t owed = 0;        ///< completions that are still to come
    unsigned unsignaled = 0;  ///< WQEs since the last signaled one
  };
  struct Item {
    double at_ns;
    const ScenarioOp* op;
    const ScenarioFault* fault;
  };

  static constexpr uint64_t kPatienceUs = 1000;  ///< of simulated time for a completion

  host::Context& ctx(unsigned node) { return *system_.node(node).ctx; }

  /// What the driver refuses, with the place of the scenario that asked for it.
  template <class Fn>
  void placed(unsigned line, const char* list, const std::string& name, Fn fn) {
    try {
      fn();
    } catch (const InputError& e) {
      throw InputError(s_.file, line, fmt::format("{} {}", list, name), e.what());
    }
  }

  void setup() {
    for (const auto& r : s_.regions) {
      placed(r.line, "region", r.name, [&] {
        host::MrInit init;
        init.pd = r.pd;
        init.space = r.space;
        init.length = r.size;
        init.access = r.access;
        // Far apart, so that an address names its region.
        const uint64_t va = 0x7f00'0000'0000 + (regions_.size() << 36);
        init.va = va;
        if (r.scattered) {
          init.log_page = r.log_page;
          init.pages = ctx(r.node).alloc_scattered(r.space, r.size, r.log_page);
          for (const uint64_t hole : r.holes) init.pages.at(hole) = host::kNoPage;
        } else {
          init.offset = ctx(r.node).alloc(r.space, r.size);
        }
        regions_.push_back(ctx(r.node).reg_mr(init));
      });
    }
    for (const bool numbered : {true, false}) {  // a number that the scenario gives is not free for others
      for (unsigned q = 0; q < s_.qps.size(); ++q) {
        const auto& d = s_.qps[q];
        if (d.qpn.has_value() != numbered) continue;
        placed(d.line, "qp", d.name, [&] {
          queues_[q].cq = ctx(d.node).create_cq(d.log_cq_size);
          queues_[q].qp = d.qpn ? ctx(d.node).create_qp(queues_[q].cq, d.init, *d.qpn)
                                : ctx(d.node).create_qp(queues_[q].cq, d.init);
          ctx(d.node).modify_qp_rts(queues_[q].qp, d.path);
        });
      }
    }
    start_ps_ = to_ps(sc_core::sc_time_stamp());
    ready_ = true;
    ready_event_.notify(sc_core::SC_ZERO_TIME);
  }

  void wait_ready() {
    while (!ready_) sc_core::wait(ready_event_);
  }

  void wait_until(double at_ns) {
    wait_ready();
    const uint64_t at = start_ps_ + static_cast<uint64_t>(at_ns * 1000 + 0.5);
    const uint64_t now = to_ps(sc_core::sc_time_stamp());
    if (at > now) sc_core::wait(from_ps(at - now));
  }

  void fault_thread(const ScenarioFault& f) {
    wait_until(f.at_ns);
    if (f.kind == FaultKind::kPause)
      system_.node(f.node).nic->mac().pause(f.prio, Time(f.for_ns, sc_core::SC_NS));
    else if (f.kind == FaultKind::kMmio)
      ctx(f.node).write32(f.bar, f.offset, f.value);
    else if (f.kind == FaultKind::kRead || f.kind == FaultKind::kStray)
      pcie_fault(f);
    else if (f.kind == FaultKind::kFlr || f.kind == FaultKind::kRemoval)
      reset(f);
    else if (f.kind == FaultKind::kTemperature)
      system_.node(f.node).nic->bars().set_temperature(f.celsius, to_ps(sc_core::sc_time_stamp()) / 1000);
    else if (f.kind == FaultKind::kBusMasterOff)
      bus_master_off(f);
    else if (f.kind == FaultKind::kUnpin)
      unpin(f);
    else
      ctx(f.node).ring_doorbell(f.qpn, f.value, f.initiator);
  }

  void pcie_fault(const ScenarioFault& f) {
    Node& node = system_.node(f.node);
    if (f.kind == FaultKind::kRead) {
      node.hub->inject(f.memory == host::Space::kHost ? pcie::Hub::Where::kHost : pcie::Hub::Where::kGpu, f.nth,
                       f.plan);
      return;
    }
    const uint16_t nic = node.nic->config().settings().requester_id;
    const pcie::Tlp read = pcie::make_mem_read(pcie::kHostBase, 64, nic, f.value);
    node.hub->inject_completion(pcie::make_completion(read, pcie::kCpuId, 0, 64, 0, std::vector<uint8_t>(64)));
  }

  void bus_master_off(const ScenarioFault& f) {
    constexpr unsigned kCommand = 0x04;
    constexpr uint32_t kBusMaster = 1 << 2;
    ConfigSpace& config = system_.node(f.node).nic->config();
    config.write(kCommand, 2, config.read(kCommand, 2) & ~kBusMaster);
    sc_core::wait(Time(f.for_ns, sc_core::SC_NS));
    config.write(kCommand, 2, config.read(kCommand, 2) | kBusMaster);
  }

  /// All pins of the node's GPU memory, whoever has them: their handles count from 1.
  void unpin(const ScenarioFault& f) {
    PinnedPages& pages = system_.node(f.node).hub->gpu_pages();
    for (uint64_t handle = 1; pages.pins() != 0; ++handle) pages.unpin(handle);
  }

  /// Messages without payload, each signaled: more than the completion queue has room for.
  bool overrun(unsigned q, const ScenarioFault& f) {
    Queue& queue = queues_[q];
    if (!make_room(q, f.value)) return false;
    for (uint32_t i = 0; i < f.value; ++i) {
      golden::Wqe wqe;
      wqe.index = queue.qp->pi;
      wqe.qpn = queue.qp->qpn;
      wqe.signaled = true;
      ctx(s_.qps[q].node).write_raw_wqe(queue.qp, golden::encode_wqe(wqe));
    }
    ctx(s_.qps[q].node).ring_doorbell(queue.qp->qpn, queue.qp->pi);
    return true;
  }

  /// The node's queue pairs wait while it is down, and then start over.
  void reset(const ScenarioFault& f) {
    down_.insert(f.node);
    if (f.kind == FaultKind::kFlr) {
      ctx(f.node).flr();
    } else {
      system_.node(f.node).nic->remove();
      ctx(f.node).device_lost();
      sc_core::wait(Time(f.for_ns, sc_core::SC_NS));
      system_.node(f.node).nic->insert();
    }
    ctx(f.node).recover();
    for (unsigned q = 0; q < s_.qps.size(); ++q) {
      if (s_.qps[q].node == f.node) ctx(f.node).modify_qp_rts(queues_[q].qp, s_.qps[q].path);
    }
    down_.erase(down_.find(f.node));
    ready_event_.notify(sc_core::SC_ZERO_TIME);
  }

  void wait_up(unsigned node) {
    while (down_.count(node) != 0) sc_core::wait(ready_event_);
  }

  void queue_thread(unsigned q) {
    wait_ready();
    std::vector<Item> items;
    for (const auto& o : s_.ops) {
      if (o.qp == q) items.push_back({o.at_ns, &o, nullptr});
    }
    for (const auto& f : s_.faults) {
      if (f.qp == q) items.push_back({f.at_ns, nullptr, &f});
    }
    std::stable_sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.at_ns < b.at_ns; });
    for (const Item& i : items) {
      wait_until(i.at_ns);
      if (i.op ? !run_op(q, *i.op) : !run_fault(q, *i.fault)) break;
    }
    // What is owed, and then whatever else still comes: error completions of faults.
    const unsigned node = s_.qps[q].node;
    while (queues_[q].owed != 0 && reap(q, Time(kPatienceUs, sc_core::SC_US))) {
    }
    while (reap(q, Time(20, sc_core::SC_US))) {
    }
    if (queues_[q].owed != 0) {
      for (const Item& i : items) {
        if (i.op && !i.op->signaled) continue;
        if (i.op) ops_[index_of(*i.op)].stuck = ops_[index_of(*i.op)].cqes < ops_[index_of(*i.op)].posted;
      }
      spdlog::error("queue pair '{}' on node '{}': {} completion(s) did not come within {} us", s_.qps[q].name,
                    s_.nodes[node].name, queues_[q].owed, kPatienceUs);
    }
  }

  unsigned index_of(const ScenarioOp& o) const { return static_cast<unsigned>(&o - s_.ops.data()); }

  /// Takes one completion; false when none came in time.
  bool reap(unsigned q, const Time& patience) {
    Queue& queue = queues_[q];
    const unsigned node = s_.qps[q].node;
    const auto wc = ctx(node).wait_cq(queue.cq, patience);
    if (!wc) return false;
    const bool bad = wc->status != host::WcStatus::kSuccess;
    const std::string status = host::to_string(wc->status);
    ++nodes_[node].cqes;
    nodes_[node].cqe_errors += bad;
    ++nodes_[node].statuses[status];
    if (wc->wr_id != 0 && wc->wr_id <= ops_.size()) {
      OpResult& r = ops_[wc->wr_id - 1];
      ++r.cqes;
      r.errors += bad;
      ++r.statuses[status];
    }
    if (queue.owed != 0) --queue.owed;
    queue.head = static_cast<uint16_t>(wc->wqe_counter + 1);
    tally_.completed(node, queue.qp->qpn, wc->wqe_counter);
    return true;
  }

  /// Room for n blocks in the ring, and for their completions: on errors each block has one. False when completions
  /// stay away.
  bool make_room(unsigned q, unsigned n) {
    Queue& queue = queues_[q];
    const unsigned size = std::max(n, 1u << std::min(queue.qp->init.log_sq_size, s_.qps[q].log_cq_size));
    while (size - static_cast<uint16_t>(queue.qp->pi - queue.head) < n) {
      if (!reap(q, Time(kPatienceUs, sc_core::SC_US))) return false;
    }
    return true;
  }

  bool run_op(unsigned q, const ScenarioOp& o) {
    Queue& queue = queues_[q];
    const unsigned node = s_.qps[q].node;
    const unsigned size = 1u << std::min(queue.qp->init.log_sq_size, s_.qps[q].log_cq_size);
    const host::Mr& mr = regions_[o.region];
    host::SendWr wr;
    wr.wr_id = index_of(o) + 1;
    wr.opcode = o.opcode;
    wr.imm = o.imm;
    wr.solicited = o.solicited;
    wr.send_inline = o.send_inline;
    wr.addr = mr.addr + o.offset;
    wr.length = o.size;
    wr.lkey = o.lkey.value_or(mr.lkey);
    for (const auto& g : o.segments) wr.sg_list.push_back({mr.addr + g.offset, g.size, wr.lkey});
    wr.compare_add = o.compare_add;
    wr.swap = o.swap;
    wr.ah = o.ah;
    wr.remote_addr = o.remote_addr;
    wr.rkey = o.rkey;
    const unsigned blocks = host::Context::wqe_blocks(*queue.qp, wr);
    const bool completes = golden::has_payload(host::wqe_opcode(o.opcode));
    for (uint64_t left = o.count; left != 0;) {
      const auto n = static_cast<unsigned>(std::min<uint64_t>(left, std::max(1u, std::min(o.batch, size / blocks))));
      if (!make_room(q, n * blocks)) {
        ops_[index_of(o)].stuck = true;
        return false;
      }
      wait_up(node);
      std::vector<host::SendWr> batch;
      for (unsigned i = 0; i < n; ++i) {
        // A ring without any completion could never be used again: one in half a ring is asked for.
        queue.unsignaled += blocks;
        wr.signaled = completes && (o.signaled || queue.unsignaled >= std::max(1u, size / 2));
        if (wr.signaled) queue.unsignaled = 0, ++queue.owed;
        tally_.posted(node, queue.qp->qpn, static_cast<uint16_t>(queue.qp->pi + i * blocks), index_of(o));
        batch.push_back(wr);
      }
      placed(o.line, "op", o.name, [&] { ctx(node).post_send(queue.qp, batch, o.initiator); });
      left -= n;
    }
    return true;
  }

  bool run_fault(unsigned q, const ScenarioFault& f) {
    Queue& queue = queues_[q];
    const unsigned node = s_.qps[q].node;
    wait_up(node);
    switch (f.kind) {
      case FaultKind::kRawWqe:
        if (!make_room(q, static_cast<unsigned>(f.bytes.size() / 64))) return false;
        placed(f.line, "fault", f.name, [&] { ctx(node).write_raw_wqe(queue.qp, f.bytes); });
        ctx(node).ring_doorbell(queue.qp->qpn, queue.qp->pi);
        break;
      case FaultKind::kDoorbell:
        ctx(node).ring_doorbell(queue.qp->qpn, f.value, f.initiator);
        break;
      case FaultKind::kMmio:
        ctx(node).write32(f.bar, f.offset, f.value);
        break;
      case FaultKind::kPause:
        system_.node(node).nic->mac().pause(f.prio, Time(f.for_ns, sc_core::SC_NS));
        break;
      case FaultKind::kQpError:
        ctx(node).modify_qp_err(queue.qp);
        break;
      case FaultKind::kRead:
      case FaultKind::kStray:
        pcie_fault(f);
        break;
      case FaultKind::kCqOverrun:
        return overrun(q, f);
      case FaultKind::kFlr:
      case FaultKind::kRemoval:
      case FaultKind::kTemperature:
      case FaultKind::kBusMasterOff:
      case FaultKind::kUnpin:
        break;  // of a node
    }
    return true;
  }

  System& system_;
  const Scenario& s_;
  Tally& tally_;
  std::vector<OpResult>& ops_;
  std::vector<NodeResult>& nodes_;
  std::vector<host::Mr> regions_;
  std::vector<Queue> queues_;
  sc_core::sc_event ready_event_;
  bool ready_ = false;
  std::multiset<unsigned> down_;  ///< nodes in reset or removed, once for each fault
  uint64_t start_ps_ = 0;
};

std::string statuses_text(const std::map<std::string, uint64_t>& statuses) {
  std::string out;
  for (const auto& [status, n] : statuses) out += fmt::format("{}{} x {}", out.empty() ? "" : ", ", n, status);
  return out.empty() ? "none" : out;
}

std::vector<CheckResult> evaluate(const Scenario& s, System& system, const std::vector<OpResult>& ops,
                                  const std::vector<NodeResult>& nodes, const std::vector<diagnose::State>& states) {
  std::vector<CheckResult> out;
  for (const auto& c : s.checks) {
    const NodeResult& node = nodes[c.node];
    const OpResult* op = c.op ? &ops[*c.op] : nullptr;
    const std::string of = op                   ? fmt::format(" of operation '{}'", s.ops[*c.op].name)
                           : s.nodes.size() > 1 ? fmt::format(" of node '{}'", s.nodes[c.node].name)
                                                : "";
    const auto equal = [&](const std::string& what, const std::optional<uint64_t>& want, uint64_t got) {
      if (want) out.push_back({c.name, what + of, fmt::to_string(*want), fmt::to_string(got), *want == got});
    };
    const auto& bars = system.node(c.node).nic->bars();
    equal("frames", c.frames, node.frames);
    equal("frame_bytes", c.frame_bytes, node.frame_bytes);
    equal("cqes", c.cqes, op ? op->cqes : node.cqes);
    equal("cqe_errors", c.cqe_errors, op ? op->errors : node.cqe_errors);
    equal("errors_logged", c.errors_logged, bars.errors_logged());
    if (c.status) {
      const auto& seen = op ? op->statuses : node.statuses;
      out.push_back({c.name, "status of every completion" + of, *c.status, statuses_text(seen),
                     seen.size() == 1 && seen.begin()->first == *c.status});
    }
    if (c.max_latency_ns) {
      double worst = 0;
      uint64_t sent = 0;
      for (size_t i = 0; i < ops.size(); ++i) {
        if (c.op ? *c.op != i : s.qps[s.ops[i].qp].node != c.node) continue;
        worst = std::max(worst, ops[i].max_latency_ns);
        sent += ops[i].sent;
      }
      out.push_back({c.name, "max_latency_ns" + of, fmt::format("at most {}", *c.max_latency_ns),
                     sent == 0 ? "nothing sent" : fmt::format("{:.3f}", worst),
                     sent != 0 && worst <= *c.max_latency_ns});
    }
    for (const auto& [counter, want] : c.counters) equal("counter " + counter, want, bars.counter(counter));
    if (c.diagnosis) {
      std::set<std::string> want(c.diagnosis->begin(), c.diagnosis->end()), got;
      for (const auto& f : diagnose::diagnose(states.at(c.node))) got.insert(f.cause->id);
      const auto text = [](const std::set<std::string>& ids) {
        return ids.empty() ? std::string("clean") : fmt::format("{}", fmt::join(ids, ", "));
      };
      out.push_back({c.name, "diagnosis" + of, text(want), text(got), want == got});
    }
  }
  return out;
}

/// The scenario's profile and its settings, then those of the command line. Errors of the scenario name its lines.
Profile scenario_profile(const Scenario& s, const Common& common) {
  const auto placed = [&s](unsigned line, const char* key, const auto& fn) {
    try {
      return fn();
    } catch (const InputError& e) {
      throw InputError(s.file, line, fmt::format("scenario.{}", key), e.what());
    }
  };
  Profile p = s.profile && !common.profile_given
                  ? placed(s.profile_line, "profile", [&] { return Profile::load(common.profile); })
                  : Profile::load(common.profile);
  for (const auto& a : s.set) {
    placed(s.set_line, "set", [&] {
      p.set(a);
      return 0;
    });
  }
  for (const auto& a : common.set) p.set(a);
  return p;
}

}  // namespace

int run_scenario(const RunOptions& o) {
  const Scenario s = load_scenario(o.scenario);
  Common common = o.common;
  if (s.profile && !common.profile_given) common.profile = *s.profile;
  if (s.seed && !common.seed_given) common.seed = *s.seed;
  const Profile profile = scenario_profile(s, common);
  Session session(common, profile, "none");
  SystemOptions so = session.system_options(static_cast<unsigned>(s.nodes.size()));
  for (const auto& n : s.nodes) so.phases_ps.push_back(n.phase_ps);
  BoundedRecorder rec(1'000'000);
  System system(profile, so);
  std::vector<OpResult> ops(s.ops.size());
  std::vector<NodeResult> nodes(s.nodes.size());
  Tally tally(ops, nodes);
  if (session.has_directory()) system.observers().add(&rec);
  system.observers().add(&tally);
  if (o.watcher) system.observers().add(o.watcher);
  if (o.on_built) o.on_built(system);
  for (unsigned n = 0; n < s.nodes.size(); ++n) system.node(n).hub->gpu_memory().set_background(common.seed + n);
  Runner runner(system, s, tally, ops, nodes);
  runner.spawn();
  Exit status = session.run(system);
  if (status == kGood && std::any_of(ops.begin(), ops.end(), [](const OpResult& r) { return r.stuck; }))
    status = kInternal;

  nlohmann::json result = result_header(rerun_line(), profile, common.seed);
  result["subcommand"] = "run";
  result["scenario"] = {{"file", s.file}, {"title", s.title}};
  result["status"] = status == kGood ? "done" : "not finished";
  result["start_ps"] = runner.start_ps();
  result["end_ps"] = to_ps(sc_core::sc_time_stamp());
  result["operations"] = nlohmann::json::array();
  Table table({"<operation", "<node", "<queue pair", "<opcode", "size", "posted", "sent", "CQEs", "errors",
               "first doorbell, ns", "last bit, ns", "Gb/s", "latency min, ns", "P50", "P99", "max", "<completions"});
  Session::Outputs out;
  out.title = "rnicsim run: " + (s.title.empty() ? s.file : s.title);
  out.recorder = &rec;
  for (size_t i = 0; i < ops.size(); ++i) {
    const auto& d = s.ops[i];
    const auto& q = s.qps[d.qp];
    const OpResult& r = ops[i];
    const bool timed = r.first_t0_ps && r.last_bit_ps && *r.last_bit_ps > *r.first_t0_ps;
    const uint64_t ps = timed ? *r.last_bit_ps - *r.first_t0_ps : 0;
    const double rate = timed ? static_cast<double>(r.sent * d.size) * 8000 / static_cast<double>(ps) : 0;
    const auto since = [&](const std::optional<uint64_t>& t) {
      return t ? ns(*t - runner.start_ps()) : std::string("-");
    };
    const auto least = r.latencies_ns.empty() ? 0 : *std::min_element(r.latencies_ns.begin(), r.latencies_ns.end());
    table.row({d.name, s.nodes[q.node].name, q.name, host::to_string(d.opcode), fmt::to_string(d.size),
               fmt::to_string(r.posted), fmt::to_string(r.sent), fmt::to_string(r.cqes), fmt::to_string(r.errors),
               since(r.first_t0_ps), since(r.last_bit_ps), timed ? fmt::format("{:.2f}", rate) : "-",
               r.latencies_ns.empty() ? "-" : fmt::format("{:.3f}", least), percentile_text(r.latencies_ns, 0.5),
               percentile_text(r.latencies_ns, 0.99),
               r.latencies_ns.empty() ? "-" : fmt::format("{:.3f}", r.max_latency_ns), statuses_text(r.statuses)});
    nlohmann::json j{{"name", d.name},
                     {"line", d.line},
                     {"node", s.nodes[q.node].name},
                     {"qp", q.name},
                     {"opcode", host::to_string(d.opcode)},
                     {"size_bytes", d.size},
                     {"posted", r.posted},
                     {"sent", r.sent},
                     {"cqes", r.cqes},
                     {"cqe_errors", r.errors},
                     {"statuses", r.statuses},
                     {"gbps", rate},
                     {"finished", !r.stuck}};
    j["first_doorbell_ps"] = r.first_t0_ps ? nlohmann::json(*r.first_t0_ps) : nlohmann::json();
    j["last_bit_ps"] = r.last_bit_ps ? nlohmann::json(*r.last_bit_ps) : nlohmann::json();
    if (!r.latencies_ns.empty()) j["latency_max_ns"] = r.max_latency_ns, j["latency_min_ns"] = least;
    if (const auto p = percentile(r.latencies_ns, 0.5)) j["latency_p50_ns"] = *p;
    if (const auto p = percentile(r.latencies_ns, 0.99)) j["latency_p99_ns"] = *p;
    result["operations"].push_back(j);
    if (!r.latencies_ns.empty()) out.latencies_ns.emplace_back(d.name, r.latencies_ns);
  }
  result["nodes"] = nlohmann::json::array();
  for (unsigned n = 0; n < s.nodes.size(); ++n) {
    nlohmann::json node = node_state(*system.node(n).nic, *system.node(n).hub);
    if (n == 0) result["counters"] = node["counters"];
    node.update({{"name", s.nodes[n].name},
                 {"frames", nodes[n].frames},
                 {"frame_bytes", nodes[n].frame_bytes},
                 {"cqes", nodes[n].cqes},
                 {"cqe_errors", nodes[n].cqe_errors}});
    result["nodes"].push_back(std::move(node));
  }
  const auto checks = evaluate(s, system, ops, nodes, diagnose::read_states(result, s.file));
  result["checks"] = to_json(checks);
  if (o.amend) o.amend(result);
  if (!o.common.json && !o.watcher) {
    fmt::print("{}\nprofile {}; times in ns from the instant at which all queue pairs are ready to send\n",
               s.title.empty() ? s.file : s.title, profile.name());
    if (!profile.fit_note().empty()) fmt::print("{}\n", profile.fit_note());
    fmt::print("\n{}\n", table.text());
    Table per_node({"<node", "frames", "frame bytes", "CQEs", "error CQEs", "errors logged"});
    for (unsigned n = 0; n < s.nodes.size(); ++n) {
      per_node.row({s.nodes[n].name, fmt::to_string(nodes[n].frames), fmt::to_string(nodes[n].frame_bytes),
                    fmt::to_string(nodes[n].cqes), fmt::to_string(nodes[n].cqe_errors),
                    fmt::to_string(system.node(n).nic->bars().errors_logged())});
    }
    fmt::print("{}", per_node.text());
    if (!checks.empty()) {
      Table t({"<check", "<what", "<expected", "<got", "<"});
      for (const auto& c : checks) t.row({c.name, c.what, c.expected, c.got, c.passed ? "ok" : "FAILED"});
      fmt::print("\n{}", t.text());
    }
    std::fflush(stdout);
  }
  if (session.has_directory()) {
    out.sections = {
        {"Operations", table.html()},
        {"Shares of the line", traffic_html(rec.frames, profile.number("mac.rate"), runner.start_ps(),
                                            [&](unsigned nic, uint32_t qpn) { return runner.name_of(nic, qpn); })}};
  }
  if (!report_checks(checks) && status == kGood) status = kCheckFailed;
  session.finish(status, result, out);
  if (!o.junit.empty()) {
    write_junit(o.junit, s.title.empty() ? s.file : s.title, checks,
                status == kGood || status == kCheckFailed ? ""
                : status == kInterrupted                  ? "interrupted"
                                                          : "a hang, a limit of time, or an internal error");
  }
  return status;
}

}  // namespace rnic::cli
