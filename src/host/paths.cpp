// SPDX-License-Identifier: Apache-2.0
#include "rnic/host/paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "rnic/core/error.h"

namespace rnic::host {
namespace {

using pcie::Topology;
using Keys = std::vector<KeyUse>;

/// Bytes of a step per Gb/s, in ps.
double at_rate(uint64_t bytes, double gbps) { return gbps <= 0 ? 0 : static_cast<double>(bytes) * 8000 / gbps; }

class Builder {
 public:
  Builder(const PathTrace& trace, const Profile& profile, const pcie::Hub& hub)
      : trace_(trace), profile_(profile), hub_(hub), at_(trace.ready_ps) {}

  /// The next step, up to `end`. One that takes no time is left out.
  void step(std::string part, std::string name, uint64_t end, Keys keys) {
    if (end < at_) {
      throw SimError(fmt::format("path {}: '{}' ends at {} ps, before it begins at {} ps", to_string(trace_.path), name,
                                 end, at_));
    }
    if (end == at_) return;
    double lo = static_cast<double>(end - at_), hi = lo;
    for (const KeyUse& k : keys) {
      const KeyValue& v = profile_.entry(k.key);
      const double* value = std::get_if<double>(&v.value);
      if (!value || (v.lo == 0 && v.hi == 0)) continue;
      if (k.bytes != 0) {
        lo += at_rate(k.bytes, v.hi) - at_rate(k.bytes, *value);
        hi += at_rate(k.bytes, v.lo) - at_rate(k.bytes, *value);
      } else {
        lo += 1000.0 * k.times * (v.lo - *value);
        hi += 1000.0 * k.times * (v.hi - *value);
      }
    }
    const auto whole = [](double ps) { return static_cast<uint64_t>(std::llround(std::max(0.0, ps))); };
    steps_.push_back({std::move(part), std::move(name), at_, end, whole(lo), whole(hi), std::move(keys)});
    at_ = end;
  }

  /// A TLP's way, behind the latency that it leaves its initiator with.
  Keys way(Topology::Port from, Topology::Port to, const char* first = nullptr) const {
    Keys keys;
    if (first) keys.push_back({first});
    for (const pcie::Hop& h : hub_.way(from, to)) {
      const auto it = std::find_if(keys.begin(), keys.end(), [&](const KeyUse& k) { return k.key == h.key; });
      if (it == keys.end()) {
        keys.push_back({h.key});
      } else {
        ++it->times;
      }
    }
    keys.push_back({"pcie.generation", 0});
    keys.push_back({"pcie.lanes", 0});
    return keys;
  }

  /// A write of the GPU to host memory.
  void to_host(const char* part, const std::string& what, const char* first, uint64_t visible_ps) {
    const uint64_t write = to_ps(profile_.time("host.write_latency"));
    const uint64_t arrived = std::max(at_, visible_ps > write ? visible_ps - write : 0);
    step(part, what + " to host memory", arrived, way(Topology::kGpu, Topology::kHost, first));
    step(part, what + " visible", visible_ps, {{"host.write_latency"}});
  }

  void cpu_wakes(const std::string& why, uint64_t handler_ps, uint64_t seen_ps) {
    if (handler_ps == 0) {
      step("CPU", "poll sees " + why, seen_ps, {{"host.poll_interval"}});
      return;
    }
    step("CPU", "interrupt: " + why, handler_ps, {{"host.interrupt_latency"}});
    step("CPU", "context switch", seen_ps, {{"host.context_switch"}});
  }

  const PathTrace& trace_;
  const Profile& profile_;
  const pcie::Hub& hub_;
  uint64_t at_;
  std::vector<PathStep> steps_;
};

bool known(const std::string& key) { return find_key(key) != nullptr; }

}  // namespace

const char* to_string(Path p) { return p == Path::kGdr ? "gdr" : "staged"; }

int64_t saved_ps(const PathTable& gdr, const PathTable& staged) {
  return static_cast<int64_t>(staged.copy_engine_ps + staged.nic_read_ps) - static_cast<int64_t>(gdr.nic_read_ps);
}

PathTable make_path_table(const PathTrace& t, const StageTable& nic, const std::vector<Event>& events,
                          const Profile& profile, const pcie::Hub& hub) {
  if (!nic.store_ps) throw SimError("path: the doorbell's store was not reported");
  const bool staged = t.path == Path::kStaged, gpu_posts = t.initiator == pcie::Initiator::kGpu;
  PathTable out{t.path, t.bytes, t.ready_ps, nic.last_bit_ps, {}, 0, 0};
  Builder b(t, profile, hub);

  b.step("signal", "kernel ends", t.signal_store_ps, {{"gpu.signal_latency"}});
  if (!gpu_posts) {
    b.to_host("signal", "flag", "gpu.mmio_latency", t.signal_visible_ps);
    b.cpu_wakes("the kernel's end", t.handler_ps, t.seen_ps);
  }
  if (staged) {
    const CopyTimes& c = t.copy;
    b.step("CPU", "copy launched", c.store_ps, {{"host.copy_launch_cost"}});
    b.step("CPU", "store to the copy engine", c.arrived_ps,
           b.way(Topology::kHost, Topology::kGpu, "host.mmio_latency"));
    b.step("copy engine", "command decoded", c.started_ps, {{"gpu.copy_start_latency"}});
    b.step("copy engine", "GPU memory read and sent", c.last_read_ps, {{"gpu.copy_bandwidth", 1, t.bytes}});
    b.step("copy engine", "completion made", c.flag_out_ps, {{"gpu.copy_completion_latency"}});
    b.to_host("copy engine", "data and completion", nullptr, c.flag_visible_ps);
    b.cpu_wakes("the copy's end", t.copy_handler_ps, t.copy_seen_ps);
    out.copy_engine_ps = c.flag_visible_ps - c.arrived_ps;
  }
  b.step("post", "WQE built and stored", *nic.store_ps, {{"host.post_cost"}, {"host.store_gap", t.stores}});
  b.step("doorbell", "store to the NIC's pins", nic.t0_ps,
         gpu_posts ? b.way(Topology::kGpu, Topology::kNic, "gpu.mmio_latency")
                   : b.way(Topology::kHost, Topology::kNic, "host.mmio_latency"));
  const auto memory = staged ? Topology::kHost : Topology::kGpu;
  uint64_t fetched = nic.t0_ps;
  for (const Stage& s : nic.stages) {
    if (s.start_ps >= nic.first_bit_ps || s.end_ps > nic.first_bit_ps) break;  // the CQE's write
    const bool fetch = s.name == "WQE fetch";
    if (fetch) fetched = s.end_ps;
    for (const StagePart& p : s.parts) {
      Keys keys;
      const auto where = fetch ? Topology::kHost : memory;
      if (p.what == "PCIe to memory") {
        keys = b.way(Topology::kNic, where);
      } else if (p.what == "PCIe from memory") {
        keys = b.way(where, Topology::kNic);
      } else if (p.what == "payload read in memory") {
        keys = {{staged ? "host.read_latency" : "gpu.read_latency"}};
        if (staged && profile.integer("host.llc_size") != 0 && profile.integer("host.llc_ddio_ways") != 0) {
          keys = {{"host.llc_latency"}};  // the copy engine has just written it
        }
        if (staged && profile.integer("host.numa_node") != 0) keys.push_back({"host.numa_latency", 2});
      } else {
        for (const std::string& k : p.keys) {
          if (known(k)) keys.push_back({k, k == "mac.rate" ? 0u : 1u});
        }
      }
      b.step(s.name, p.what, p.end_ps, std::move(keys));
    }
  }
  b.step("MAC TX", "first bit to last bit", nic.last_bit_ps, {{"mac.rate", 0}});
  out.steps = std::move(b.steps_);

  uint64_t at = out.start_ps;
  for (const PathStep& s : out.steps) {
    if (s.start_ps != at) throw SimError(fmt::format("path {}: a gap before '{}'", to_string(t.path), s.name));
    at = s.end_ps;
  }
  if (at != out.end_ps) throw SimError(fmt::format("path {}: the steps end before the last bit", to_string(t.path)));

  uint64_t first = 0, last = 0;
  for (const Event& e : events) {
    if (e.op.qpn != t.qpn || e.op.wqe != t.wqe || e.ps < fetched || e.ps > nic.last_bit_ps) continue;
    if (e.kind == EventKind::kRdPins && (first == 0 || e.ps < first)) first = e.ps;
    if (e.kind == EventKind::kCplPins) last = std::max(last, e.ps);
  }
  if (first != 0 && last > first) out.nic_read_ps = last - first;
  return out;
}

}  // namespace rnic::host
