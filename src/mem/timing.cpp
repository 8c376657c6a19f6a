// SPDX-License-Identifier: Apache-2.0
#include "rnic/mem/timing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "rnic/core/error.h"
#include "rnic/core/types.h"

namespace rnic {
namespace {

Serializer line_of(unsigned gbps) { return gbps == 0 ? Serializer(0, 1) : Serializer(8000, gbps); }

/// Spreads pieces whose numbers differ by a power of two.
uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 31)) * 0x7fb5d329728ea185u;
  x = (x ^ (x >> 27)) * 0x81dadef4bc2dd44du;
  return x ^ (x >> 33);
}

[[noreturn]] void refuse(const Profile& p, const char* key, const std::string& what) {
  const auto& e = p.entry(key);
  throw InputError(e.file, e.line, key, what);
}

/// Whole pages; the last node has what is left over, too.
uint64_t node_bytes(uint64_t size, uint64_t nodes) { return std::max<uint64_t>(4096, size / nodes / 4096 * 4096); }

unsigned whole(const Profile& p, const char* key) { return static_cast<unsigned>(p.integer(key)); }

}  // namespace

void MemoryTiming::set_load(uint64_t, double gbps) {
  if (gbps != 0) {
    throw InputError(
        fmt::format("a kernel of {} Gb/s: only HBM with its channels knows other users; set gpu.memory=hbm", gbps));
  }
}

// ---- Flat ----

FlatTiming::FlatTiming(const PortConfig& config)
    : config_(config), read_port_(line_of(config.read_gbps)), write_port_(line_of(config.write_gbps)) {}

MemoryTiming::Access FlatTiming::read(uint64_t now_ps, uint64_t, uint64_t bytes) {
  const uint64_t start = read_port_.send(now_ps, bytes).start_ps;
  return {start, start + config_.read_ps};
}

MemoryTiming::Access FlatTiming::write(uint64_t now_ps, uint64_t, uint64_t bytes) {
  const uint64_t start = write_port_.send(now_ps, bytes).start_ps;
  return {start, start + config_.write_ps};
}

// ---- HBM ----

HbmTiming::HbmTiming(const PortConfig& port, const HbmConfig& config)
    : port_(port), config_(config), front_({0, 0, port.read_gbps, port.write_gbps}), random_(config.seed) {
  const auto mbps = static_cast<uint64_t>(std::llround(config.gbps * 1000));
  const Serializer line(8'000'000 * uint64_t{config.channels}, std::max<uint64_t>(1, mbps));
  look_back_ps_ = Serializer(line).send(0, uint64_t{8} * config.queue * kKernelBytes).end_ps + 1;
  channels_.assign(config.channels, {line, {}, 0});
  set_load(0, config.load_gbps);
}

unsigned HbmTiming::channel(uint64_t offset) const {
  const uint64_t piece = offset / config_.interleave;
  return static_cast<unsigned>((piece + mix(piece / config_.channels)) % config_.channels);
}

/// Between two accesses of a kernel to one channel.
uint64_t HbmTiming::gap() {
  const double u = static_cast<double>(random_() >> 11) * 0x1p-53;  // [0, 1)
  const double mean = kKernelBytes * 8e3 * config_.channels / load_;
  return static_cast<uint64_t>(-std::log1p(-u) * mean);
}

void HbmTiming::set_load(uint64_t now_ps, double gbps) {
  if (!(gbps >= 0 && gbps <= config_.gbps)) {
    throw InputError(
        fmt::format("a kernel of {} Gb/s: gpu.hbm_bandwidth lets 0 to {} Gb/s through", gbps, config_.gbps));
  }
  for (Channel& c : channels_) run_kernel(c, now_ps);
  load_ = gbps;
  if (load_ == 0) return;
  for (Channel& c : channels_) c.next_ps = now_ps + gap();
}

/// What the kernel has sent to the channel by then. An access that finds its queue full is not made: the kernel stalls.
void HbmTiming::run_kernel(Channel& c, uint64_t until_ps) {
  if (load_ == 0) return;
  if (c.next_ps + look_back_ps_ < until_ps) c.next_ps = until_ps - look_back_ps_ + gap();
  for (; c.next_ps <= until_ps; c.next_ps += gap()) {
    while (!c.kernel.empty() && c.kernel.front() <= c.next_ps) c.kernel.pop_front();
    if (c.kernel.size() < config_.queue) c.kernel.push_back(c.line.send(c.next_ps, kKernelBytes).end_ps);
  }
}

/// When the last of the channels begins with its part.
uint64_t HbmTiming::pass(uint64_t start_ps, uint64_t offset, uint64_t bytes) {
  uint64_t last = start_ps;
  while (bytes != 0) {
    const uint64_t n = std::min<uint64_t>(bytes, config_.interleave - offset % config_.interleave);
    Channel& c = channels_[channel(offset)];
    run_kernel(c, start_ps);
    last = std::max(last, c.line.send(start_ps, n).start_ps);
    offset += n, bytes -= n;
  }
  counters_.channel_wait_ps += last - start_ps;
  return last;
}

MemoryTiming::Access HbmTiming::read(uint64_t now_ps, uint64_t offset, uint64_t bytes) {
  const uint64_t start = pass(front_.read(now_ps, offset, bytes).taken_ps, offset, bytes);
  return {start, start + port_.read_ps};
}

MemoryTiming::Access HbmTiming::write(uint64_t now_ps, uint64_t offset, uint64_t bytes) {
  const uint64_t start = pass(front_.write(now_ps, offset, bytes).taken_ps, offset, bytes);
  return {start, start + port_.write_ps};
}

// ---- Host ----

HostTiming::HostTiming(const PortConfig& port, const HostConfig& config)
    : port_(port), config_(config), to_remote_(line_of(config.hop_gbps)), from_remote_(line_of(config.hop_gbps)) {
  for (unsigned n = 0; n < config.nodes; ++n) {
    nodes_.push_back({line_of(port.read_gbps), line_of(port.write_gbps), {}});
    if (config.llc) nodes_.back().llc.emplace(*config.llc);
  }
}

size_t HostTiming::node_of(uint64_t offset) const {
  return std::min<uint64_t>(offset / node_bytes(config_.size, config_.nodes), config_.nodes - 1);
}

MemoryTiming::Access HostTiming::read(uint64_t now_ps, uint64_t offset, uint64_t bytes) {
  const size_t number = node_of(offset);
  Node& node = nodes_[number];
  uint64_t missing = bytes;
  if (node.llc && bytes != 0) {
    missing = 0;
    for (uint64_t line = offset / Llc::kLine; line <= (offset + bytes - 1) / Llc::kLine; ++line) {
      const bool hit = node.llc->find(line);
      ++(hit ? counters_.llc_hits : counters_.llc_misses);
      if (!hit) missing += Llc::kLine;
    }
  }
  const bool cached = node.llc && missing == 0 && bytes != 0;
  uint64_t start = now_ps;
  if (!cached) start = node.read_port.send(start, missing).start_ps;
  uint64_t done = start + (cached ? config_.llc_ps : port_.read_ps);
  if (number != 0) {
    ++counters_.remote;
    const uint64_t wait = from_remote_.send(start, bytes).start_ps - start;
    start += wait;
    done += wait + 2 * config_.hop_ps;
  }
  return {start, done};
}

MemoryTiming::Access HostTiming::write(uint64_t now_ps, uint64_t offset, uint64_t bytes) {
  const size_t number = node_of(offset);
  Node& node = nodes_[number];
  uint64_t start = now_ps;
  if (number != 0) {
    ++counters_.remote;
    start = to_remote_.send(start, bytes).start_ps;
  }
  if (!node.llc || !node.llc->ddio()) start = node.write_port.send(start, bytes).start_ps;
  if (node.llc && bytes != 0) {
    const uint64_t from = start;
    for (uint64_t line = offset / Llc::kLine; line <= (offset + bytes - 1) / Llc::kLine; ++line) {
      const bool hit = node.llc->find(line);
      ++(hit ? counters_.llc_hits : counters_.llc_misses);
      if (!node.llc->ddio()) {
        node.llc->drop(line);
      } else if (hit) {
        node.llc->set_dirty(line);
      } else {
        // A line that is written in part is read first; both ways hold back what comes faster than the memory.
        const bool part = offset > line * Llc::kLine || offset + bytes < (line + 1) * Llc::kLine;
        if (part) start = std::max(start, node.read_port.send(from, Llc::kLine).start_ps);
        if (node.llc->put(line, true, true)) {
          ++counters_.llc_written_back;
          start = std::max(start, node.write_port.send(from, Llc::kLine).start_ps);
        }
      }
    }
  }
  return {start, start + port_.write_ps + (number != 0 ? config_.hop_ps : 0)};
}

void HostTiming::touch(uint64_t offset, uint64_t bytes) {
  Node& node = nodes_[node_of(offset)];
  if (!node.llc || bytes == 0) return;
  for (uint64_t line = offset / Llc::kLine; line <= (offset + bytes - 1) / Llc::kLine; ++line) {
    // The CPU's own traffic is not timed: what has to be written back for it is only counted.
    if (!node.llc->find(line) && node.llc->put(line, false, true)) ++counters_.llc_written_back;
  }
}

void HostTiming::flush() {
  for (Node& node : nodes_) {
    if (node.llc) node.llc->drop_all();
  }
}

// ---- Profile ----

std::unique_ptr<MemoryTiming> gpu_timing(const Profile& p, uint64_t seed) {
  const PortConfig port{to_ps(p.time("gpu.read_latency")), 0, whole(p, "gpu.read_bandwidth"),
                        whole(p, "gpu.write_bandwidth")};
  const double load = p.number("gpu.kernel_bandwidth");
  if (p.text("gpu.memory") != "hbm") {
    if (load != 0) {
      refuse(p, "gpu.kernel_bandwidth",
             "only HBM with its channels knows a kernel's traffic; allowed: 0, or gpu.memory=hbm");
    }
    return std::make_unique<FlatTiming>(port);
  }
  HbmConfig c;
  c.channels = whole(p, "gpu.hbm_channels");
  c.interleave = whole(p, "gpu.hbm_interleave");
  c.gbps = p.number("gpu.hbm_bandwidth");
  c.queue = whole(p, "gpu.hbm_queue");
  c.seed = seed;
  if (load > c.gbps) {
    refuse(p, "gpu.kernel_bandwidth",
           fmt::format("{} Gb/s are more than gpu.hbm_bandwidth; allowed: 0 to {}", load, c.gbps));
  }
  c.load_gbps = load;
  return std::make_unique<HbmTiming>(port, c);
}

std::unique_ptr<MemoryTiming> host_timing(const Profile& p, uint64_t size) {
  const PortConfig port{to_ps(p.time("host.read_latency")), to_ps(p.time("host.write_latency")),
                        whole(p, "host.read_bandwidth"), whole(p, "host.write_bandwidth")};
  HostConfig c;
  c.size = size;
  c.nodes = whole(p, "host.numa_nodes");
  c.hop_ps = to_ps(p.time("host.numa_latency"));
  c.hop_gbps = whole(p, "host.numa_bandwidth");
  if (p.integer("host.numa_node") >= c.nodes) {
    refuse(p, "host.numa_node", fmt::format("there is no such node; allowed: 0 to {} (host.numa_nodes)", c.nodes - 1));
  }
  const auto bytes = static_cast<uint64_t>(p.integer("host.llc_size"));
  if (bytes != 0) {
    const LlcConfig llc{bytes, whole(p, "host.llc_ways"), whole(p, "host.llc_ddio_ways")};
    const uint64_t set = uint64_t{llc.ways} * Llc::kLine;
    if (bytes % set != 0) {
      refuse(p, "host.llc_size",
             fmt::format("{} B are not whole sets of host.llc_ways = {} lines of {} B; allowed: 0 (no cache), or a "
                         "multiple of {} B",
                         bytes, llc.ways, Llc::kLine, set));
    }
    if (llc.ddio_ways > llc.ways) {
      refuse(p, "host.llc_ddio_ways",
             fmt::format("{} ways of a cache that has {}; allowed: 0 to host.llc_ways", llc.ddio_ways, llc.ways));
    }
    c.llc = llc;
    c.llc_ps = to_ps(p.time("host.llc_latency"));
  }
  return std::make_unique<HostTiming>(port, c);
}

uint64_t numa_base(const Profile& p, uint64_t size) {
  return node_bytes(size, p.integer("host.numa_nodes")) * p.integer("host.numa_node");
}

}  // namespace rnic
