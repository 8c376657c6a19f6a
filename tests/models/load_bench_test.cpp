// SPDX-License-Identifier: Apache-2.0
#include "rnic/pcie/load_bench.h"

#include <gtest/gtest.h>

#include "rnic/core/error.h"

namespace {

using namespace rnic;
using namespace rnic::pcie;

struct Bench {
  explicit Bench(const std::vector<std::string>& sets = {}) {
    for (const auto& s : sets) profile.set(s);
    system = std::make_unique<HubSystem>(profile, RunLimits{});
  }
  LoadResult measure(const LoadSpec& spec) {
    LoadResult r;
    system->spawn("bench", [&] { r = run_loads(*system, spec); });
    EXPECT_EQ(system->run(), RunEnd::kDone) << system->left_over();
    return r;
  }
  Profile profile = Profile::load("seed-400g");
  std::unique_ptr<HubSystem> system;
};

LoadSpec spec(LoadOp op, unsigned size = 64, uint64_t n = 20) { return {op, size, n, 7}; }

double key(const Profile& p, const char* name) { return p.number(name); }

void sums(const LoadResult& r) {
  auto sorted = r.latencies_ns;
  std::sort(sorted.begin(), sorted.end());
  uint64_t sum = 0;
  for (const auto& p : r.parts) sum += p.ps;
  EXPECT_EQ(static_cast<double>(sum) / 1000, sorted[(sorted.size() - 1) / 2]);
}

// A load of the CPU costs its way out, the way to the GPU and back, the GPU's memory, and what the lines take.
TEST(LoadBenchTest, CpuLoadsFromGpu) {
  Bench b({"pcie.topology=PIX"});
  const LoadResult r = b.measure(spec(LoadOp::kCpuGpu));
  ASSERT_EQ(r.latencies_ns.size(), 20u);
  EXPECT_TRUE(r.good());
  const Profile& p = b.profile;
  const double hops = key(p, "pcie.gpu_link_latency") + key(p, "pcie.switch_latency") + key(p, "pcie.uplink_latency") +
                      key(p, "pcie.hub_host_latency");
  const double model = key(p, "host.mmio_latency") + 2 * hops + key(p, "gpu.read_latency");
  EXPECT_GT(r.latencies_ns[0], model);
  EXPECT_LT(r.latencies_ns[0], model + 5);  // 64 B and two headers at 63 GB/s, twice at most
  sums(r);
}

// Bytes that are not those of the memory are counted: here, memory that changes behind the sample.
TEST(LoadBenchTest, WrongBytesAreCounted) {
  Bench b;
  b.system->spawn("other", [&] {
    for (unsigned i = 0; i < 100; ++i) {
      const std::vector<uint8_t> bytes(64, static_cast<uint8_t>(i));
      b.system->hub().gpu_memory().write(0, bytes.data(), bytes.size());
      sc_core::wait(20, sc_core::SC_NS);
    }
  });
  const LoadResult r = b.measure(spec(LoadOp::kCpuGpu, 64, 3));
  EXPECT_EQ(r.wrong_bytes, 64u);
  EXPECT_FALSE(r.good());
}

// A memory's latency is a part of the loads from it, and of no others.
TEST(LoadBenchTest, MemoryLatencyMovesItsOwnLoadsOnly) {
  Bench b({"host.read_latency=103", "gpu.read_latency=217"});
  LoadResult cpu, gpu;
  b.system->spawn("bench", [&] {
    cpu = run_loads(*b.system, spec(LoadOp::kCpuGpu));
    gpu = run_loads(*b.system, spec(LoadOp::kGpuHost));
  });
  ASSERT_EQ(b.system->run(), RunEnd::kDone);
  const auto of = [](const LoadResult& r, const char* key) {
    uint64_t ps = 0;
    for (const auto& p : r.parts) ps += p.key == key ? p.ps : 0;
    return ps;
  };
  EXPECT_EQ(of(cpu, "gpu.read_latency"), 217'000u);
  EXPECT_EQ(of(cpu, "host.read_latency"), 0u);
  EXPECT_EQ(of(gpu, "host.read_latency"), 103'000u);
  EXPECT_EQ(of(gpu, "gpu.read_latency"), 0u);
  EXPECT_LT(of(cpu, "pcie.generation, pcie.lanes"), 5'000u);
  EXPECT_LT(of(gpu, "pcie.generation, pcie.lanes"), 5'000u);
}

// The link between the sockets is crossed twice, and costs what its key says.
TEST(LoadBenchTest, OtherSocketCostsItsLinkTwice) {
  Bench b({"pcie.topology=SYS", "pcie.socket_latency=70"});
  const LoadResult r = b.measure(spec(LoadOp::kGpuHost));
  uint64_t between = 0;
  for (const auto& p : r.parts) {
    if (p.key == "pcie.socket_latency") between += p.ps;
  }
  EXPECT_EQ(between, 140'000u);
  sums(r);
}

// A flag to and fro is both ways out, both ways, visibility and one poll.
TEST(LoadBenchTest, PingPong) {
  Bench b;
  const LoadResult r = b.measure(spec(LoadOp::kPingPong, 64, 50));
  ASSERT_EQ(r.latencies_ns.size(), 50u);
  const Profile& p = b.profile;
  const double way = key(p, "pcie.gpu_link_latency") + key(p, "pcie.hub_host_latency");
  const double model = key(p, "host.mmio_latency") + key(p, "gpu.mmio_latency") + 2 * way +
                       key(p, "host.write_latency") + key(p, "host.poll_interval");
  EXPECT_GE(r.latencies_ns[0], model);
  EXPECT_LT(r.latencies_ns[0], model + 5);
  sums(r);
}

// A size or number that can't be is refused, and so are loads from a GPU that refuses them.
TEST(LoadBenchTest, OutOfRangeIsRefused) {
  Bench b({"gpu.bar_reads=0"});
  std::vector<std::string> refused;
  b.system->spawn("bench", [&] {
    for (const LoadSpec& s : {spec(LoadOp::kGpuHost, 0), spec(LoadOp::kGpuHost, 65), spec(LoadOp::kGpuHost, 64, 0),
                              spec(LoadOp::kCpuGpu)}) {
      try {
        run_loads(*b.system, s);
      } catch (const InputError& e) {
        refused.emplace_back(e.what());
      }
    }
    EXPECT_TRUE(run_loads(*b.system, spec(LoadOp::kGpuHost)).good());
  });
  EXPECT_EQ(b.system->run(), RunEnd::kDone);
  ASSERT_EQ(refused.size(), 4u);
  EXPECT_NE(refused[0].find("--size"), std::string::npos);
  EXPECT_NE(refused[2].find("--transfers"), std::string::npos);
  EXPECT_NE(refused[3].find("gpu.bar_reads"), std::string::npos);
}

}  // namespace
