// SPDX-License-Identifier: Apache-2.0
#include "rnic/pcie/load_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "rnic/core/error.h"

namespace rnic::pcie {
namespace {

constexpr uint64_t kWindow = 1 << 20, kLine = 64, kMaxTransfers = 1 << 24;
constexpr uint64_t kGpuFlag = kGpuBase, kHostFlag = kHostBase;

uint64_t now() { return to_ps(sc_core::sc_time_stamp()); }

void check(const LoadSpec& s, const Profile& p) {
  if (s.op != LoadOp::kPingPong && (s.size == 0 || s.size > kLoadMaxBytes))
    throw InputError("", 0, "--size", fmt::format("{} is out of range; allowed: 1 to {}", s.size, kLoadMaxBytes));
  if (s.transfers == 0 || s.transfers > kMaxTransfers) {
    throw InputError("", 0, "--transfers",
                     fmt::format("{} is out of range; allowed: 1 to {}", s.transfers, kMaxTransfers));
  }
  if (s.op == LoadOp::kCpuGpu && p.integer("gpu.bar_reads") == 0) {
    throw InputError("", 0, "gpu.bar_reads",
                     "0: this GPU's BAR refuses reads, so the CPU can't load from it; measure LD_GPU_HOST or PINGPONG");
  }
}

std::array<uint8_t, kFlagBytes> word(uint64_t v) {
  return {static_cast<uint8_t>(v), static_cast<uint8_t>(v >> 8), static_cast<uint8_t>(v >> 16),
          static_cast<uint8_t>(v >> 24)};
}

bool holds(const Memory& m, uint64_t offset, const std::array<uint8_t, kFlagBytes>& v) {
  std::array<uint8_t, kFlagBytes> got{};
  m.read(offset, got.data(), got.size());
  return got == v;
}

uint64_t load(HubSystem& system, const LoadSpec& s, uint64_t offset, LoadResult& result) {
  const bool cpu = s.op == LoadOp::kCpuGpu;
  Memory& memory = cpu ? system.hub().gpu_memory() : system.hub().host_memory();
  sc_core::sc_event done;
  std::vector<uint8_t> got;
  const uint64_t start = now();
  system.hub().mmio_read(cpu ? Initiator::kCpu : Initiator::kGpu, (cpu ? kGpuBase : kHostBase) + offset, s.size,
                         [&](std::vector<uint8_t> data) {
                           got = std::move(data);
                           done.notify();
                         });
  sc_core::wait(done);
  const uint64_t took = now() - start;
  std::vector<uint8_t> expected(s.size);
  memory.read(offset, expected.data(), s.size);
  if (got.size() != s.size) {
    ++result.failed;
  } else {
    for (unsigned i = 0; i < s.size; ++i) result.wrong_bytes += got[i] != expected[i];
  }
  return took;
}

/// The GPU sees its flag at the instant at which it is visible; the CPU, which polls, one interval later.
uint64_t ping(HubSystem& system, uint32_t turn) {
  const auto value = word(turn);
  sc_core::sc_event back;
  Hub& hub = system.hub();
  system.on_gpu_write = [&](uint64_t addr, unsigned) {
    if (addr == kGpuFlag && holds(hub.gpu_memory(), kGpuFlag - kGpuBase, value))
      hub.mmio_write(Initiator::kGpu, kHostFlag, value.data(), kFlagBytes);
  };
  system.on_host_write = [&](uint64_t addr, unsigned) {
    if (addr == kHostFlag && holds(hub.host_memory(), kHostFlag - kHostBase, value)) back.notify(sc_core::SC_ZERO_TIME);
  };
  const uint64_t start = now();
  hub.mmio_write(Initiator::kCpu, kGpuFlag, value.data(), kFlagBytes);
  sc_core::wait(back);
  sc_core::wait(system.profile().time("host.poll_interval"));
  system.on_gpu_write = system.on_host_write = {};
  return now() - start;
}

std::vector<BenchPart> parts_of(HubSystem& system, const LoadSpec& s, uint64_t median_ps) {
  std::vector<BenchPart> out;
  uint64_t sum = 0;
  const auto add = [&](std::string name, uint64_t ps, const std::string& key) {
    if (ps == 0) return;
    sum += ps;
    out.push_back({std::move(name), ps, key});
  };
  const auto key = [&](const char* name, const char* k) { add(name, to_ps(system.profile().time(k)), k); };
  const auto hops = [&](const char* what, Topology::Port from, Topology::Port to) {
    for (const Hop& h : system.hub().way(from, to)) add(fmt::format("{}: {}", what, h.name), to_ps(h.latency), h.key);
  };
  switch (s.op) {
    case LoadOp::kCpuGpu:
      key("out of the CPU", "host.mmio_latency");
      hops("request", Topology::kHost, Topology::kGpu);
      key("GPU memory", "gpu.read_latency");
      hops("completion", Topology::kGpu, Topology::kHost);
      break;
    case LoadOp::kGpuHost:
      key("out of the GPU", "gpu.mmio_latency");
      hops("request", Topology::kGpu, Topology::kHost);
      key("host memory", "host.read_latency");
      hops("completion", Topology::kHost, Topology::kGpu);
      break;
    case LoadOp::kPingPong:
      key("out of the CPU", "host.mmio_latency");
      hops("CPU's flag", Topology::kHost, Topology::kGpu);
      key("out of the GPU", "gpu.mmio_latency");
      hops("GPU's flag", Topology::kGpu, Topology::kHost);
      key("visible in host memory", "host.write_latency");
      key("CPU polls", "host.poll_interval");
      break;
  }
  // Against the keys a memory may have been faster (a cache), never the other way round by more than it waited.
  if (median_ps > sum) out.push_back({"on the lines, waiting", median_ps - sum, "pcie.generation, pcie.lanes"});
  if (median_ps < sum) out.clear();
  return out;
}

}  // namespace

const char* load_name(LoadOp op) {
  switch (op) {
    case LoadOp::kCpuGpu:
      return "LD_CPU_GPU";
    case LoadOp::kGpuHost:
      return "LD_GPU_HOST";
    case LoadOp::kPingPong:
      return "PINGPONG";
  }
  return "unknown";
}

HubSystem::HubSystem(const Profile& profile, const RunLimits& limits) : Simulation(limits), profile_(profile) {
  hub_ = std::make_unique<Hub>("hub0", profile_, observers(), 0);
  hub_->on_host_write([this](uint64_t addr, unsigned len) {
    if (on_host_write) on_host_write(addr, len);
  });
  hub_->on_gpu_write([this](uint64_t addr, unsigned len) {
    if (on_gpu_write) on_gpu_write(addr, len);
  });
}

HubSystem::~HubSystem() = default;

LoadResult run_loads(HubSystem& system, const LoadSpec& spec) {
  check(spec, system.profile());
  LoadResult result;
  result.spec = spec;
  Hub& hub = system.hub();
  const uint64_t pinned = hub.gpu_pages().pin(0, kWindow, {});
  std::mt19937_64 random(spec.seed);
  std::vector<uint8_t> bytes(kWindow);
  for (auto& b : bytes) b = static_cast<uint8_t>(random());
  hub.gpu_memory().write(0, bytes.data(), bytes.size());
  hub.host_memory().write(0, bytes.data(), bytes.size());
  std::vector<uint64_t> took;
  for (uint64_t i = 0; i < spec.transfers; ++i) {
    took.push_back(spec.op == LoadOp::kPingPong ? ping(system, static_cast<uint32_t>(i + 1))
                                                : load(system, spec, i * kLine % kWindow, result));
    while (!hub.idle()) sc_core::wait(100, sc_core::SC_NS);
  }
  hub.gpu_pages().unpin(pinned);
  for (const uint64_t ps : took) result.latencies_ns.push_back(static_cast<double>(ps) / 1000);
  auto sorted = took;
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>((sorted.size() - 1) / 2), sorted.end());
  result.parts = parts_of(system, spec, sorted[(sorted.size() - 1) / 2]);
  return result;
}

}  // namespace rnic::pcie
