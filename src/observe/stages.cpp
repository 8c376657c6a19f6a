// SPDX-License-Identifier: Apache-2.0
#include "rnic/observe/stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "rnic/core/error.h"
#include "rnic/core/types.h"
#include "rnic/pcie/hub.h"
#include "rnic/rtl/latency.h"

namespace rnic {
namespace {

const std::vector<std::string> kBarKeys{"bar.decode_latency"};
const std::vector<std::string> kDevmemKeys{"devmem.read_latency"};
const std::vector<std::string> kDdrKeys{"devmem.read_latency", "devmem.ddr_latency", "devmem.ddr_bandwidth",
                                        "devmem.l2_size"};
const std::vector<std::string> kDirectToGpu{"pcie.nic_link_latency", "pcie.hub_peer_latency", "pcie.gpu_link_latency"};
const std::vector<std::string> kDirectToHost{"pcie.nic_link_latency", "pcie.hub_host_latency"};
/// Of reads: what they travel over, and the memory.
struct ReadKeys {
  ReadKeys(const std::vector<std::vector<std::string>>& ways, std::vector<std::string> of_memory)
      : memory(std::move(of_memory)) {
    for (const auto& way : ways) {
      for (const auto& k : way) {
        if (std::find(link.begin(), link.end(), k) == link.end()) link.push_back(k);
      }
    }
    link.insert(link.end(), {"pcie.generation", "pcie.lanes"});
  }
  std::vector<std::string> link, memory;
};
const std::vector<std::string> kMacKeys{"mac.tx_latency"};
const std::vector<std::string> kCqeWriteKeys{"host.write_latency"};

/// Where the way of a message leads through a block, and how often. ctx_cache, dm_arbiter and the common parts stand in
/// several stages; a block inside another one counts for itself.
struct Way {
  const char* block;
  ExtraCycles passes;
};
// clang-format off
constexpr Way kWays[] = {
    {"doorbell_intake", {1, 0, 0, 0}},
    {"qp_scheduler", {1, 0, 0, 0}},
    {"qp_lists", {0, 0, 0, 0}},  // a lone doorbell passes these three by
    {"rate_limiter", {0, 0, 0, 0}},
    {"deadline_tree", {0, 0, 0, 0}},
    {"tx_qp_state", {1, 0, 0, 0}},
    {"wqe_fetch_engine", {1, 0, 0, 0}},
    {"sq_prefetch", {1, 0, 0, 0}},
    {"tx_segmenter", {0, 1, 0, 0}},
    {"mr_check", {0, 1, 0, 0}},
    {"dma_translate", {0, 1, 0, 0}},
    {"dma_master", {0, 1, 0, 1}},
    {"dma_read", {0, 1, 0, 0}},
    {"dma_write", {0, 0, 0, 1}},
    {"tlp_splitter", {0, 1, 0, 1}},
    {"tag_allocator", {0, 1, 0, 0}},
    {"pcie_tlp_gen", {0, 1, 0, 1}},
    {"credit_counter", {0, 1, 0, 1}},
    {"dma_engine", {0, 0, 0, 0}},  // the same two alone: not on the way of a message
    {"tx_gather", {0, 0, 1, 0}},
    {"tx_packetizer", {0, 0, 1, 0}},
    {"icrc", {0, 0, 1, 0}},
    {"arp_alu", {0, 0, 0, 0}},  // of the AllReduce engine: not on the way of a message
    {"arp_check", {0, 0, 0, 0}},
    {"arp_drain", {0, 0, 0, 0}},
    {"arp_engine", {0, 0, 0, 0}},
    {"arp_events", {0, 0, 0, 0}},
    {"arp_fsm", {0, 0, 0, 0}},
    {"arp_groups", {0, 0, 0, 0}},
    {"arp_intake", {0, 0, 0, 0}},
    {"arp_locate", {0, 0, 0, 0}},
    {"arp_slots", {0, 0, 0, 0}},
    {"arp_sram", {0, 0, 0, 0}},
    {"arp_narrow", {0, 0, 0, 0}},
    {"fp_add", {0, 0, 0, 0}},
    {"fp_minmax", {0, 0, 0, 0}},
    {"cqe_writer", {0, 0, 0, 1}},
    {"cq_arm", {0, 0, 0, 0}},  // behind the CQE
    {"ctx_query", {0, 0, 0, 0}},  // of a driver's command
    {"msix", {0, 0, 0, 1}},
    {"ctx_cache", {1, 1, 0, 1}},  // contexts of QP, memory region, CQ
    {"dm_arbiter", {1, 0, 0, 0}},
    {"event_mux", {0, 0, 0, 0}},
    {"fifo", {2, 1, 1, 2}},
    {"stream_register", {0, 0, 1, 0}},
};
// clang-format on

/// Whether a doorbell with producer index `pi` lets the NIC send WQE `wqe`.
bool covers(uint16_t pi, uint16_t wqe) { return static_cast<int16_t>(static_cast<uint16_t>(pi - wqe)) > 0; }

class Builder {
 public:
  Builder(const std::vector<Event>& all, unsigned nic, unsigned qpn, uint16_t wqe, const ClockInfo& clock,
          const ModelLatencies& known, const ExtraCycles& extra)
      : nic_(nic),
        qpn_(qpn),
        wqe_(wqe),
        clock_(clock),
        known_(known),
        extra_(extra),
        gpu_keys_({known.gpu_way.empty() ? kDirectToGpu : known.gpu_way}, {"gpu.read_latency"}),
        host_keys_({known.host_way.empty() ? kDirectToHost : known.host_way}, {"host.read_latency"}),
        // An event does not tell which memory a read went to.
        either_keys_({known.gpu_way.empty() ? kDirectToGpu : known.gpu_way,
                      known.host_way.empty() ? kDirectToHost : known.host_way},
                     {"gpu.read_latency", "host.read_latency"}) {
    if (clock.period_ps == 0) throw SimError("stage table: the clock period is 0");
    for (const Event& e : all) {
      if (e.nic == nic) events_.push_back(&e);
    }
    std::stable_sort(events_.begin(), events_.end(), [](const Event* a, const Event* b) { return a->ps < b->ps; });
  }

  StageTable build() {
    StageTable t;
    t.nic = nic_;
    t.qpn = qpn_;
    t.wqe = wqe_;

    const Event& wqe = need(EventKind::kWqe, first(EventKind::kWqe, mine()));
    const uint64_t wqe_ps = wqe.ps;
    const Event& db = need(EventKind::kDb, first(EventKind::kDb, [&](const Event& e) {
                             return e.op.qpn == qpn_ && covers(e.op.wqe, wqe_) && e.ps <= wqe_ps;
                           }));
    // The doorbell that was taken at kDb: the latest one at the pins before it that carries the same producer index.
    const auto same_pi = [&](const Event& e) { return e.op.qpn == qpn_ && e.op.wqe == db.op.wqe && e.ps < db.ps; };
    const Event& pins = need(EventKind::kDbPins, last(EventKind::kDbPins, same_pi));
    t.t0_ps = pins.ps;
    if (const Event* store = last(EventKind::kDbStore, [&](const Event& e) { return same_pi(e) && e.ps <= pins.ps; })) {
      t.store_ps = store->ps;
    }

    // Of the message: instants from its WQE on, up to the next WQE with the same index.
    until_ = ~uint64_t{0};
    if (const Event* again = first(EventKind::kWqe, [&](const Event& e) { return mine()(e) && e.ps > wqe_ps; })) {
      until_ = again->ps;
    }
    const auto own = [&](const Event& e) { return mine()(e) && e.ps >= wqe_ps && e.ps < until_; };
    const Event& mac = need(EventKind::kMac, first(EventKind::kMac, own));
    const auto packet = [&](const Event& e) { return own(e) && e.op.psn == mac.op.psn; };
    const Event& mac_last = need(
        EventKind::kMac, first(EventKind::kMac, [&](const Event& e) { return own(e) && e.op.last; }), "last packet");
    const auto last_packet = [&](const Event& e) { return own(e) && e.op.psn == mac_last.op.psn; };
    const Event& wire_first = need(EventKind::kWireFirst, first(EventKind::kWireFirst, packet));
    const Event& wire_last = need(EventKind::kWireLast, first(EventKind::kWireLast, last_packet), "last packet");
    t.first_bit_ps = wire_first.ps;
    t.last_bit_ps = wire_last.ps;

    t.stages.push_back(wqe_fetch(pins.ps, db.ps, wqe_ps));
    uint64_t payload_ps = wqe_ps;
    if (const Event* done = first(EventKind::kRdDone, packet)) {
      payload_ps = done->ps;
      t.stages.push_back(dma_read(wqe_ps, payload_ps, packet));
    } else if (const Event* read = first(EventKind::kRdIssue, packet)) {
      (void)read;
      need(EventKind::kRdDone, nullptr);  // there is payload, and it never came
    }
    t.stages.push_back(packetize(payload_ps, mac.ps));
    t.stages.push_back(mac_tx(mac.ps, wire_first.ps));

    if (const Event* cqe = first(EventKind::kCqeIssue, own)) {
      t.cqe_issued_ps = cqe->ps;
      const Event* visible = first(EventKind::kCqeVisible, [&](const Event& e) { return own(e) && e.ps >= cqe->ps; });
      if (visible) t.cqe_visible_ps = visible->ps;
      t.stages.push_back(cqe_write(std::min(mac_last.ps, cqe->ps), cqe->ps, t.cqe_visible_ps));
    }
    return t;
  }

 private:
  using Filter = std::function<bool(const Event&)>;

  Filter mine() const {
    return [this](const Event& e) { return e.op.qpn == qpn_ && e.op.wqe == wqe_; };
  }
  const Event* first(EventKind kind, const Filter& f) const {
    for (const Event* e : events_) {
      if (e->kind == kind && f(*e)) return e;
    }
    return nullptr;
  }
  const Event* last(EventKind kind, const Filter& f) const {
    const Event* found = nullptr;
    for (const Event* e : events_) {
      if (e->kind == kind && f(*e)) found = e;
    }
    return found;
  }
  const Event& need(EventKind kind, const Event* e, const char* of = nullptr) const {
    if (!e) {
      throw SimError(fmt::format("stage table of NIC {}, QP {}, WQE {}: the instant '{}'{} was not reported", nic_,
                                 qpn_, wqe_, event_name(kind), of ? fmt::format(" of the {}", of) : ""));
    }
    return *e;
  }

  uint64_t edge_after(uint64_t ps) const {
    return ps < clock_.phase_ps ? clock_.phase_ps
                                : clock_.phase_ps + ((ps - clock_.phase_ps) / clock_.period_ps + 1) * clock_.period_ps;
  }
  uint64_t cycle(uint64_t ps) const { return ps < clock_.phase_ps ? 0 : (ps - clock_.phase_ps) / clock_.period_ps; }

  static void add(Stage& s, std::string what, Share share, uint64_t start, uint64_t end,
                  std::vector<std::string> keys = {}) {
    if (end > start) s.parts.push_back({std::move(what), share, start, end, std::move(keys)});
  }

  /// `extra`: cycles beyond our RTL's, `before`: those of the stages before it.
  Stage stage(const char* name, uint64_t start, uint64_t end, double from_ns, double to_ns, int extra, int before,
              bool budget = true) const {
    const double cycle_ns = static_cast<double>(clock_.period_ps) / 1000;
    Stage s;
    s.name = name;
    s.start_ps = start;
    s.end_ps = end;
    s.start_cycle = cycle(start);
    s.end_cycle = cycle(end);
    s.extra_cycles = extra;
    s.budget_ns = budget ? std::max(to_ns - from_ns + extra * cycle_ns, cycle_ns) : 0;
    s.budget_start_ns = from_ns + before * cycle_ns;
    s.budget_end_ns = to_ns + (before + extra) * cycle_ns;
    return s;
  }

  /// Adds [from, to], both clock edges: reads in between are shares of their own, what is left is RTL. `begin` and
  /// `end` name the instants at both ends.
  void add_with_reads(Stage& s, uint64_t from, uint64_t to, const std::string& begin, const std::string& end,
                      bool with_bus_reads) const {
    struct Span {
      uint64_t start, end;
      Share share;
      const char* what;
      const std::vector<std::string>* keys;
    };
    std::vector<Span> spans;  // an earlier one hides the later ones
    std::vector<uint64_t> requests, responses, requested, started, ended, arrived;
    for (const Event* e : events_) {
      if (e->kind == EventKind::kDmReq) requests.push_back(e->ps);
      if (e->kind == EventKind::kDmRsp) responses.push_back(e->ps);
      if (!with_bus_reads || !mine()(*e) || e->ps < from || e->ps > to) continue;
      if (e->kind == EventKind::kRdPins) requested.push_back(e->ps);
      if (e->kind == EventKind::kMemRdStart) started.push_back(e->ps);
      if (e->kind == EventKind::kMemRdEnd) ended.push_back(e->ps);
      if (e->kind == EventKind::kCplPins) arrived.push_back(e->ps);
    }
    static const std::vector<std::string> kNone;
    const size_t reads = std::min(requests.size(), responses.size());
    for (size_t i = 0; i < reads; ++i) {
      const bool ddr = known_.devmem_ps && responses[i] - requests[i] > *known_.devmem_ps;
      spans.push_back({requests[i], responses[i], Share::kModel,
                       ddr ? "device memory read, by way of the DDR" : "device memory read",
                       ddr ? &kDdrKeys : &kDevmemKeys});
    }
    if (!requested.empty() && !started.empty() && !ended.empty() && !arrived.empty()) {
      spans.push_back({requested.front(), started.front(), Share::kLink, "PCIe to memory", &host_keys_.link});
      spans.push_back({started.front(), ended.back(), Share::kModel, "host memory read", &host_keys_.memory});
      spans.push_back({ended.back(), arrived.back(), Share::kLink, "PCIe from memory", &host_keys_.link});
      spans.push_back({arrived.back(), edge_after(arrived.back()), Share::kAlign, "wait for the clock edge", &kNone});
    }
    for (size_t i = 0; i < reads; ++i) {
      spans.push_back({responses[i], edge_after(responses[i]), Share::kAlign, "wait for the clock edge", &kNone});
    }

    std::vector<uint64_t> cuts{from, to};
    for (const Span& x : spans) {
      for (uint64_t ps : {x.start, x.end}) {
        if (ps > from && ps < to) cuts.push_back(ps);
      }
    }
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());

    std::vector<StagePart> parts;
    for (size_t i = 0; i + 1 < cuts.size(); ++i) {
      StagePart p{"", Share::kRtl, cuts[i], cuts[i + 1], {}};
      for (const Span& x : spans) {
        if (x.start <= p.start_ps && x.end >= p.end_ps) {
          p.what = x.what;
          p.share = x.share;
          p.keys = *x.keys;
          break;
        }
      }
      if (!parts.empty() && parts.back().share == p.share && parts.back().what == p.what) {
        parts.back().end_ps = p.end_ps;
      } else {
        parts.push_back(std::move(p));
      }
    }
    std::string before = begin;
    for (size_t i = 0; i < parts.size(); ++i) {
      if (parts[i].share == Share::kRtl) {
        parts[i].what = fmt::format("RTL: {} to {}", before, i + 1 < parts.size() ? parts[i + 1].what : end);
      } else if (parts[i].share != Share::kAlign) {
        before = parts[i].what;
      }
      s.parts.push_back(std::move(parts[i]));
    }
  }

  Stage wqe_fetch(uint64_t pins, uint64_t db, uint64_t wqe) const {
    Stage s = stage("WQE fetch", pins, wqe, 0, 40, extra_.wqe_fetch, 0);
    uint64_t decoded;
    if (known_.bar_decode_ps) {
      decoded = std::min(pins + *known_.bar_decode_ps, db);
    } else {
      // Whole cycles before the edge that took it, so that the rest is the wait that T0 has to its own edge.
      const uint64_t wait = std::min(edge_after(pins), db) - pins;
      decoded = db - wait;
    }
    const uint64_t seen = std::min(edge_after(decoded), db);
    add(s, "BAR decoding", Share::kModel, pins, decoded, kBarKeys);
    add(s, "wait for the clock edge", Share::kAlign, decoded, seen);
    add(s, "RTL: doorbell waits at the port", Share::kRtl, seen, db);
    add_with_reads(s, db, wqe, "doorbell taken", "WQE decoded", true);
    return s;
  }

  Stage dma_read(uint64_t wqe, uint64_t done, const Filter& packet) const {
    Stage s = stage("DMA read", wqe, done, 40, 240, extra_.dma_read, extra_.wqe_fetch);
    const auto in_time = [&](const Event& e) { return packet(e) && e.ps <= done; };
    const uint64_t pins = need(EventKind::kRdPins, first(EventKind::kRdPins, in_time)).ps;
    const uint64_t start = need(EventKind::kMemRdStart, first(EventKind::kMemRdStart, in_time)).ps;
    const uint64_t end = need(EventKind::kMemRdEnd, last(EventKind::kMemRdEnd, in_time)).ps;
    const uint64_t back = need(EventKind::kCplPins, last(EventKind::kCplPins, in_time)).ps;
    using Payload = ModelLatencies::Payload;
    const ReadKeys& keys = known_.payload == Payload::kGpu    ? gpu_keys_
                           : known_.payload == Payload::kHost ? host_keys_
                                                              : either_keys_;
    uint64_t from = wqe;
    std::string begin = "WQE decoded";
    if (const Event* issue = first(EventKind::kRdIssue, in_time)) {
      if (issue->ps <= pins) {
        add_with_reads(s, wqe, issue->ps, begin, "read issued", false);
        from = issue->ps;
        begin = "read issued";
      }
    }
    add_with_reads(s, from, pins, begin, "MRd at the pins", false);
    add(s, "PCIe to memory", Share::kLink, pins, start, keys.link);
    add(s, "payload read in memory", Share::kModel, start, end, keys.memory);
    add(s, "PCIe from memory", Share::kLink, end, back, keys.link);
    const uint64_t seen = std::min(edge_after(back), done);
    add(s, "wait for the clock edge", Share::kAlign, back, seen);
    add(s, "RTL: completion to payload in the TX buffer", Share::kRtl, seen, done);
    return s;
  }

  Stage packetize(uint64_t from, uint64_t mac) const {
    Stage s = stage("packetize", from, mac, 240, 260, extra_.packetize, extra_.wqe_fetch + extra_.dma_read);
    add(s, "RTL: payload to last beat with ICRC at the MAC", Share::kRtl, from, mac);
    return s;
  }

  Stage mac_tx(uint64_t mac, uint64_t wire) const {
    Stage s = stage("MAC TX", mac, wire, 260, 300, 0, up_to_mac());
    const uint64_t ready = known_.mac_tx_ps ? std::min(mac + *known_.mac_tx_ps, wire) : wire;
    add(s, "MAC and PCS", Share::kModel, mac, ready, kMacKeys);
    add(s, "wait for the wire: frames before", Share::kModel, ready, wire, {"mac.rate"});
    return s;
  }

  Stage cqe_write(uint64_t mac, uint64_t issued, std::optional<uint64_t> visible) const {
    Stage s = stage("CQE write", mac, visible.value_or(issued), 260, 300, extra_.cqe_write, up_to_mac(), false);
    add(s, "RTL: last packet at the MAC to CQE at the pins", Share::kRtl, mac, issued);
    if (!visible) return s;
    if (known_.host_write_ps && *known_.host_write_ps <= *visible - issued) {
      const uint64_t arrived = *visible - *known_.host_write_ps;
      add(s, "PCIe to host memory", Share::kLink, issued, arrived, host_keys_.link);
      add(s, "host memory write", Share::kModel, arrived, *visible, kCqeWriteKeys);
    } else {
      auto keys = host_keys_.link;
      keys.insert(keys.end(), kCqeWriteKeys.begin(), kCqeWriteKeys.end());
      add(s, "PCIe and host memory write", Share::kLink, issued, *visible, keys);
    }
    return s;
  }

  int up_to_mac() const { return extra_.wqe_fetch + extra_.dma_read + extra_.packetize; }

  std::vector<const Event*> events_;
  const unsigned nic_, qpn_;
  const uint16_t wqe_;
  const ClockInfo clock_;
  const ModelLatencies known_;
  const ExtraCycles extra_;
  const ReadKeys gpu_keys_, host_keys_, either_keys_;
  uint64_t until_ = 0;
};

}  // namespace

const char* to_string(Share s) {
  switch (s) {
    case Share::kRtl:
      return "rtl";
    case Share::kAlign:
      return "align";
    case Share::kModel:
      return "model";
    case Share::kLink:
      return "link";
  }
  return "unknown";
}

uint64_t Stage::share_ps(Share s) const {
  uint64_t sum = 0;
  for (const StagePart& p : parts) {
    if (p.share == s) sum += p.end_ps - p.start_ps;
  }
  return sum;
}

ModelLatencies model_latencies(const Profile& p, ModelLatencies::Payload payload) {
  return {to_ps(p.time("bar.decode_latency")), to_ps(p.time("mac.tx_latency")), to_ps(p.time("host.write_latency")),
          to_ps(p.time("devmem.read_latency")), payload};
}

ModelLatencies model_latencies(const Profile& p, ModelLatencies::Payload payload, const pcie::Hub& hub) {
  ModelLatencies m = model_latencies(p, payload);
  const auto keys = [](const std::vector<pcie::Hop>& way) {
    std::vector<std::string> out;
    for (const pcie::Hop& h : way) {
      out.push_back(h.key);
      if (h.gbps != 0)
        out.emplace_back(h.key == "pcie.socket_latency" ? "pcie.socket_bandwidth" : "pcie.root_bandwidth");
    }
    return out;
  };
  m.gpu_way = keys(hub.way(pcie::Hub::Where::kGpu));
  m.host_way = keys(hub.way(pcie::Hub::Where::kHost));
  return m;
}

ExtraCycles extra_cycles(const std::map<std::string, int>& of_blocks) {
  ExtraCycles sum;
  for (const auto& [block, cycles] : of_blocks) {
    const auto way =
        std::find_if(std::begin(kWays), std::end(kWays), [&name = block](const Way& w) { return name == w.block; });
    if (way == std::end(kWays)) throw SimError(fmt::format("the block '{}' lies in no stage", block));
    sum.wqe_fetch += cycles * way->passes.wqe_fetch;
    sum.dma_read += cycles * way->passes.dma_read;
    sum.packetize += cycles * way->passes.packetize;
    sum.cqe_write += cycles * way->passes.cqe_write;
  }
  return sum;
}

std::map<std::string, int> declared_extra_cycles() {
  std::map<std::string, int> out;
  for (const auto& b : rtl::kExtraLatency) {
    if (b.extra_cycles != 0) out.emplace(b.block, b.extra_cycles);
  }
  return out;
}

StageTable make_stage_table(const std::vector<Event>& events, unsigned nic, unsigned qpn, uint16_t wqe,
                            const ClockInfo& clock, const ModelLatencies& known, const ExtraCycles& extra) {
  return Builder(events, nic, qpn, wqe, clock, known, extra).build();
}

}  // namespace rnic
