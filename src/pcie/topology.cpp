// SPDX-License-Identifier: Apache-2.0
#include "rnic/pcie/topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "rnic/core/error.h"

namespace rnic::pcie {
namespace {

constexpr auto kModel = DelayQueue::Kind::kModel;
/// TLPs that a node keeps for a link beyond its latency before those behind them hold on to their credits.
constexpr unsigned kEgress = 8;
constexpr std::array kNames{"direct", "PIX", "PXB", "PHB", "SYS"};

LinkConfig link_config(const Profile& p) {
  LinkConfig c;
  c.generation = static_cast<unsigned>(p.integer("pcie.generation"));
  c.lanes = static_cast<unsigned>(p.integer("pcie.lanes"));
  CreditLimits room;
  room.ph = static_cast<unsigned>(p.integer("pcie.ph_credits"));
  room.pd = static_cast<unsigned>(p.integer("pcie.pd_credits"));
  room.nph = static_cast<unsigned>(p.integer("pcie.nph_credits"));
  c.credits[kUp] = c.credits[kDown] = room;
  c.largest_pd = static_cast<unsigned>(p.integer("pcie.mps") / 16);
  c.ack_latency = p.time("pcie.ack_latency");
  c.fc_latency = p.time("pcie.fc_latency");
  c.replay_timeout = p.time("pcie.replay_timeout");
  return c;
}

Serializer line_of(unsigned gbps) { return gbps == 0 ? Serializer(0, 1) : Serializer(8000, gbps); }

End outer(bool up) { return up ? kDown : kUp; }

}  // namespace

const char* distance_name(Distance d) { return kNames[static_cast<size_t>(d)]; }

Distance distance_of(const std::string& name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (name == kNames[i]) return static_cast<Distance>(i);
  }
  throw SimError("no PCIe topology is called '" + name + "'");
}

Topology::Topology(std::string name, const Profile& p, DelayQueue& queue, uint64_t seed)
    : name_(std::move(name)),
      queue_(queue),
      distance_(distance_of(p.text("pcie.topology"))),
      acs_(p.integer("pcie.acs_redirect") != 0),
      switch_(p.time("pcie.switch_latency")),
      root_host_(p.time("pcie.hub_host_latency")),
      root_peer_(p.time(distance_ == Distance::kDirect ? "pcie.hub_peer_latency" : "pcie.root_latency")),
      socket_latency_(p.time("pcie.socket_latency")),
      host_limited_(p.integer("host.read_bandwidth") != 0 || p.integer("host.write_bandwidth") != 0 ||
                    p.integer("host.numa_bandwidth") != 0),
      gpu_limited_(p.integer("gpu.read_bandwidth") != 0 || p.integer("gpu.write_bandwidth") != 0 ||
                   p.text("gpu.memory") == "hbm"),
      root_gbps_(static_cast<unsigned>(p.integer("pcie.root_bandwidth"))),
      socket_gbps_(static_cast<unsigned>(p.integer("pcie.socket_bandwidth"))),
      link_config_(link_config(p)),
      link_byte_(link_serializer(link_config_.generation, link_config_.lanes)),
      socket_line_{line_of(socket_gbps_), line_of(socket_gbps_)},
      root_line_{line_of(root_gbps_), line_of(root_gbps_)} {
  link_config_.seed = seed;
  Node& r0 = add_node("root complex", true);
  roots_[0] = &r0;
  Node *nic_node = &r0, *gpu_node = &r0;
  switch (distance_) {
    case Distance::kDirect:
      break;
    case Distance::kPix:
      nic_node = gpu_node = &add_node("switch", false);
      add_wire("uplink", "pcie.uplink_latency", r0, nic_node, kNic);
      break;
    case Distance::kPxb:
      gpu_node = &add_node("upper switch", false);
      nic_node = &add_node("lower switch", false);
      add_wire("uplink", "pcie.uplink_latency", r0, gpu_node, kNic);
      add_wire("link between the switches", "pcie.uplink_latency", *gpu_node, nic_node, kNic);
      break;
    case Distance::kPhb:
    case Distance::kSys: {
      Node* far = &r0;
      if (distance_ == Distance::kSys) roots_[1] = far = &add_node("far root complex", true, 1);
      nic_node = &add_node("NIC's switch", false);
      gpu_node = &add_node("GPU's switch", false);
      add_wire("NIC's uplink", "pcie.uplink_latency", r0, nic_node, kNic);
      add_wire("GPU's uplink", "pcie.uplink_latency", *far, gpu_node, kGpu);
      break;
    }
  }
  nic_link_ = &add_wire("NIC's link", "pcie.nic_link_latency", *nic_node, nullptr, kNic);
  gpu_link_ = &add_wire("GPU's link", "pcie.gpu_link_latency", *gpu_node, nullptr, kGpu);
  for (Wire& w : wires_) {
    w.config = link_config_;
    w.config.latency = p.time(w.key);
    w.config.seed = seed + 0x9e3779b97f4a7c15u * static_cast<uint64_t>(&w - &wires_.front() + 1);
  }
  // The NIC's requests are held back by its own RTL; what comes to an end point is taken at once.
  LinkConfig& nic = nic_link_->config;
  nic.credits[kDown] = {};
  nic.lcrc_error_rate[kUp] = p.number("pcie.lcrc_error_rate_up") / 1e6;
  nic.lcrc_error_rate[kDown] = p.number("pcie.lcrc_error_rate_down") / 1e6;
  for (Wire& w : wires_) connect(w);
}

Topology::~Topology() = default;

Topology::Node& Topology::add_node(std::string name, bool root, unsigned socket) {
  nodes_.push_back({std::move(name), root, socket, nullptr, {}});
  return nodes_.back();
}

Topology::Wire& Topology::add_wire(std::string name, const char* key, Node& upper, Node* lower, Port end_point) {
  wires_.emplace_back();
  Wire& w = wires_.back();
  w.name = std::move(name);
  w.key = key;
  w.upper = &upper;
  w.lower = lower;
  w.end_point = end_point;
  if (lower) {
    lower->up = &w;
    return w;
  }
  // What is below an end point's node is below all nodes above that.
  upper.below[end_point] = &w;
  for (Node* n = &upper; n->up; n = n->up->upper) n->up->upper->below[end_point] = n->up;
  return w;
}

void Topology::connect(Wire& w) {
  w.link = std::make_unique<Link>(fmt::format("{}: {}", name_, w.name), w.config, queue_);
  for (const End e : {kUp, kDown}) {
    w.link->on_receive(e, [this, &w, e](Tlp t) { arrived(w, e, std::move(t)); });
    const bool from_end_point = e == kDown && !w.lower;
    if (from_end_point) continue;
    w.link->on_start(e, [this, &w, e](const Tlp&, const Time& start) { started(w, e, start); });
  }
  if (&w == nic_link_) w.link->set_gate(kDown, false);
}

Serializer link_serializer(unsigned generation, unsigned lanes) {
  static constexpr uint64_t kMtps[] = {0, 2500, 5000, 8000, 16000, 32000, 64000};
  if (generation < 1 || generation > 6 || lanes == 0) {
    throw SimError(fmt::format("no PCIe link of generation {} with {} lanes", generation, lanes));
  }
  const bool wide_code = generation >= 3, flits = generation == 6;
  const uint64_t sent = flits ? 256 : wide_code ? 130 : 10, kept = flits ? 236 : wide_code ? 128 : 8;
  // 8 bits x sent/kept symbols, at MT/s x lanes, in ps.
  return Serializer(8 * sent * 1'000'000, kept * kMtps[generation] * lanes);
}

// ---- Routing ----

Topology::Port Topology::destination(const Tlp& t) {
  if (t.is_completion()) {
    const uint16_t id = t.requester_id();
    return id == kCpuId ? kHost : id == kGpuId ? kGpu : kNic;
  }
  const uint64_t a = t.address();
  if ((a >= kHostBase && a - kHostBase < kHostSize) || a - kIrqBase < kIrqSize) return kHost;
  return a >= kGpuBase && a - kGpuBase < kGpuSize ? kGpu : kNic;
}

void Topology::arrived(Wire& w, End at, Tlp t) {
  const Time now = DelayQueue::now();
  if (at == kUp) {
    if (&w == nic_link_ && !check_(t)) return w.link->release(at, t, now);
    if (w.upper->root) return at_root(*w.upper, w, std::move(t));
    return at_switch(*w.upper, w, at, std::move(t));
  }
  if (w.lower) return at_switch(*w.lower, w, at, std::move(t));
  if (w.end_point == kNic) {
    w.link->release(at, t, now);
    return nic_(std::move(t));
  }
  if (!gpu_limited_) {
    w.link->release(at, t, now);
    gpu_(std::move(t), now);
    return;
  }
  const Tlp taken = t;
  release(w, at, taken, gpu_(std::move(t), now));
}

void Topology::at_switch(Node& n, Wire& in, End at, Tlp t) {
  Wire* below = n.below[destination(t)];
  const bool up = at == kUp && (!below || below == &in || acs_);
  if (!up && !below) return in.link->release(at, t, DelayQueue::now());  // nobody's: can't come from above
  // Cut-through: the latency counts from first bit to first bit.
  Serializer s = link_byte_;
  const Time length = from_ps(s.send(0, t.wire_bytes()).end_ps);
  const Time latency = switch_ > length ? switch_ - length : Time{};
  pass(in, at, up ? *n.up : *below, outer(up), latency, std::move(t));
}

void Topology::at_root(Node& n, Wire& in, Tlp t) {
  const Port dst = destination(t);
  const Time now = DelayQueue::now();
  // From the GPU by way of the root complex (ACS), or from the NIC to where nobody is.
  const bool gpus = t.is_completion() ? t.hdr[1] >> 16 == kGpuId : t.requester_id() == kGpuId;
  const bool nobody = dst == kNic && n.below[kNic] == &in && !gpus;
  if (nobody && !t.is_completion()) {
    in.link->release(kUp, t, now);
    return unsupported_(std::move(t));
  }
  if (dst == kHost || nobody) {
    if (n.socket == 0) return to_host(&in, std::move(t), now + root_host_);
    return cross_socket(1, {}, &in, std::move(t));
  }
  const auto slot = root_line_[dst == kGpu].send(to_ps(now), t.wire_bytes());
  const Time latency = from_ps(slot.end_ps) - now + root_peer_;
  if (Wire* below = n.below[dst]) return pass(in, kUp, *below, kUp, latency, std::move(t));
  cross_socket(n.socket, latency, &in, std::move(t));
}

void Topology::to_host(Wire* in, Tlp t, const Time& arrival) {
  if (!in) {
    host_(std::move(t), arrival);
  } else if (!host_limited_) {
    in->link->release(kUp, t, DelayQueue::now());
    host_(std::move(t), arrival);
  } else {
    const Tlp taken = t;
    release(*in, kUp, taken, host_(std::move(t), arrival));
  }
}

void Topology::cross_socket(unsigned from, const Time& pass, Wire* in, Tlp t) {
  // The line is taken in order of arrival; the pass of the root complex comes before it and is the same for all. What
  // waits for the line stays in the root port's buffer.
  const auto slot = socket_line_[from].send(DelayQueue::now_ps(), t.wire_bytes());
  Wire* next = roots_[1 - from]->below[destination(t)];
  if (in && next && (next->waiting[kUp] > kEgress || !next->held[kUp].empty())) {
    next->held[kUp].push_back({in, kUp, t});
    trim(*next, kUp);
  } else if (in) {
    release(*in, kUp, t, from_ps(slot.start_ps));
  }
  ++passing_;
  queue_.at(
      from_ps(slot.end_ps) + pass + socket_latency_,
      [this, from, t = std::move(t)]() mutable {
        --passing_;
        Node& n = *roots_[1 - from];
        const Port dst = destination(t);
        if (dst == kHost && n.socket == 0) return to_host(nullptr, std::move(t), DelayQueue::now() + root_host_);
        if (n.below[dst]) go(*n.below[dst], kUp, std::move(t));
      },
      kModel);
}

/// From one link to the next one.
void Topology::pass(Wire& in, End at, Wire& next, End end, const Time& latency, Tlp t) {
  if (next.waiting[end] <= kEgress && next.held[end].empty()) {
    in.link->release(at, t, DelayQueue::now());
  } else {
    next.held[end].push_back({&in, at, t});
    trim(next, end);
  }
  ++passing_;
  queue_.after(
      latency,
      [this, &next, end, t = std::move(t)]() mutable {
        --passing_;
        go(next, end, std::move(t));
      },
      kModel);
}

void Topology::go(Wire& w, End from, Tlp t) {
  if (!w.link->up()) {
    if (!t.is_completion()) unsupported_(std::move(t));
    return;
  }
  ++w.waiting[from];
  w.link->send(from, std::move(t), DelayQueue::now());
}

void Topology::started(Wire& w, End from, const Time& start) {
  const auto free = [&w, link = w.link.get(), from] {
    if (w.link.get() != link || w.waiting[from] == 0) return;
    --w.waiting[from];
    trim(w, from);
  };
  // Most find the line free: no event for those.
  if (start <= DelayQueue::now()) return free();
  queue_.at(start, free, kModel);
}

/// Of the TLPs that wait for a link those beyond kEgress hold on to the credits of where they came in.
void Topology::trim(Wire& w, End from) {
  auto& held = w.held[from];
  const size_t most = w.waiting[from] > kEgress ? w.waiting[from] - kEgress : 0;
  while (held.size() > most) {
    const Credit c = std::move(held.front());
    held.pop_front();
    c.wire->link->release(c.at, c.tlp, DelayQueue::now());
  }
}

void Topology::release(Wire& w, End at, const Tlp& t, const Time& when) {
  if (when <= DelayQueue::now()) return w.link->release(at, t, DelayQueue::now());
  queue_.at(
      when,
      [&w, link = w.link.get(), at, t, when] {
        if (w.link.get() == link) link->release(at, t, when);
      },
      kModel);
}

// ---- In ----

void Topology::from_nic(Tlp t, const Time& edge) { nic_link_->link->send(kDown, std::move(t), edge); }

void Topology::from_gpu(Tlp t) { gpu_link_->link->send(kDown, std::move(t), DelayQueue::now()); }

void Topology::from_host(Tlp t, const Time& at) {
  const Port dst = destination(t);
  ++passing_;
  if (dst == kHost) {
    queue_.at(
        at,
        [this, t = std::move(t)]() mutable {
          --passing_;
          to_host(nullptr, std::move(t), DelayQueue::now() + root_host_);
        },
        kModel);
    return;
  }
  queue_.at(
      at + root_host_,
      [this, dst, t = std::move(t)]() mutable {
        --passing_;
        if (Wire* w = roots_[0]->below[dst]) return go(*w, kUp, std::move(t));
        cross_socket(0, {}, nullptr, std::move(t));
      },
      kModel);
}

void Topology::cancelled(const Tlp& t, const Time& edge) { nic_link_->link->release(kUp, t, edge); }

// ---- Surprise removal ----

void Topology::take_down_nic() {
  Wire& w = *nic_link_;
  w.link->take_down();
  // Whoever waited for it has nothing to wait for.
  w.waiting[kUp] = w.waiting[kDown] = 0;
  for (Credit& c : std::exchange(w.held[kUp], {})) c.wire->link->release(c.at, c.tlp, DelayQueue::now());
}

void Topology::bring_up_nic() {
  Wire& w = *nic_link_;
  if (w.link->up()) return;
  for (Wire& other : wires_) {
    for (auto& held : other.held) {
      held.erase(std::remove_if(held.begin(), held.end(), [&](const Credit& c) { return c.wire == &w; }), held.end());
    }
  }
  gone_.push_back(std::move(w.link));
  w.config.seed += 1;
  connect(w);
}

// ---- State ----

bool Topology::idle() const {
  if (passing_ != 0) return false;
  return std::all_of(wires_.begin(), wires_.end(),
                     [](const Wire& w) { return w.link->idle() && w.held[kUp].empty() && w.held[kDown].empty(); });
}

std::string Topology::pending() const {
  std::string text;
  const auto add = [&](const std::string& s) {
    if (!s.empty()) text += (text.empty() ? "" : "; ") + s;
  };
  if (passing_ != 0) add(fmt::format("{} TLPs in switches and root complexes", passing_));
  for (const Wire& w : wires_) {
    add(w.link->pending());
    const size_t held = w.held[kUp].size() + w.held[kDown].size();
    if (held != 0) add(fmt::format("{}: {} TLPs wait for it in a node", w.name, held));
  }
  return text;
}

// ---- Table ----

std::vector<const Topology::Node*> Topology::nodes_up(Port from) const {
  std::vector<const Node*> out;
  const Node* n = from == kHost ? roots_[0] : (from == kNic ? nic_link_ : gpu_link_)->upper;
  for (;; n = n->up->upper) {
    out.push_back(n);
    if (!n->up) return out;
  }
}

std::vector<Hop> Topology::way(Port from, Port to) const {
  const auto up = nodes_up(from), down = nodes_up(to);
  // The first node that both have; with ACS the root complex, and across the sockets none.
  const Node* top = nullptr;
  for (const Node* n : up) {
    if (std::find(down.begin(), down.end(), n) != down.end() && (!acs_ || n->root)) {
      top = n;
      break;
    }
  }
  std::vector<Hop> out;
  const auto link = [&](const Wire& w) { out.push_back({w.name, w.config.latency, w.key, true, false, 0}); };
  const auto pass = [&](const Node& n) {
    if (!n.root) {
      out.push_back({n.name, switch_, "pcie.switch_latency", false, true, 0});
    } else if (from == kHost || to == kHost) {
      if (n.socket == 0) out.push_back({n.name, root_host_, "pcie.hub_host_latency", false, false, 0});
    } else if (&n == up.back()) {
      const bool direct = distance_ == Distance::kDirect;
      out.push_back({direct ? "hub" : n.name, root_peer_, direct ? "pcie.hub_peer_latency" : "pcie.root_latency", false,
                     false, root_gbps_});
    }
  };
  if (from != kHost) link(from == kNic ? *nic_link_ : *gpu_link_);
  for (const Node* n : up) {
    pass(*n);
    if (n == top) break;
    if (n->up) link(*n->up);
  }
  if (!top) out.push_back({"between the sockets", socket_latency_, "pcie.socket_latency", false, false, socket_gbps_});
  bool below = !top;
  for (auto it = down.rbegin(); it != down.rend(); ++it) {
    if (below) {
      if ((*it)->up) link(*(*it)->up);
      pass(**it);
    }
    if (*it == top) below = true;
  }
  if (to != kHost) link(to == kNic ? *nic_link_ : *gpu_link_);
  return out;
}

}  // namespace rnic::pcie
