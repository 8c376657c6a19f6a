// SPDX-License-Identifier: Apache-2.0
// Times of the memories behind PCIe: HBM channels, NUMA nodes, last-level cache.
#include "rnic/mem/timing.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "rnic/core/error.h"

namespace {

using namespace rnic;

constexpr PortConfig kPort{100'000, 20'000, 0, 0};
constexpr uint64_t kMs = 1'000'000'000;

HbmConfig hbm(unsigned channels, double gbps) {
  HbmConfig c;
  c.channels = channels, c.gbps = gbps, c.interleave = 256;
  return c;
}

// An access alone takes the latency and no more, whatever its size and place.
TEST(HbmTimingTest, AloneAsTheFlatMemory) {
  HbmTiming m(kPort, hbm(8, 800));
  FlatTiming flat(kPort);
  uint64_t now = 0;
  for (const uint64_t at : {0u, 1u, 255u, 4000u, 1u << 20}) {
    for (const uint64_t bytes : {1u, 64u, 256u, 512u, 1500u}) {
      now += kMs;
      EXPECT_EQ(m.read(now, at, bytes).done_ps, flat.read(now, at, bytes).done_ps) << at << " " << bytes;
      now += kMs;
      EXPECT_EQ(m.write(now, at, bytes).done_ps, flat.write(now, at, bytes).done_ps) << at << " " << bytes;
    }
  }
  EXPECT_EQ(m.counters().channel_wait_ps, 0u);
}

// Consecutive pieces go round all channels; strides of any power of two use them all, too.
TEST(HbmTimingTest, AddressesSpreadOverTheChannels) {
  for (const unsigned channels : {1u, 5u, 32u, 80u}) {
    const HbmTiming m(kPort, hbm(channels, 800));
    for (unsigned first = 0; first < 3 * channels; first += channels) {
      std::set<unsigned> used;
      for (unsigned i = 0; i < channels; ++i) used.insert(m.channel(uint64_t{first + i} * 256));
      EXPECT_EQ(used.size(), channels);
    }
    EXPECT_EQ(m.channel(0), m.channel(255));
    for (unsigned shift = 8; shift < 26; ++shift) {
      std::vector<unsigned> count(channels);
      for (uint64_t i = 0; i < 64 * channels; ++i) ++count[m.channel(i << shift)];
      EXPECT_LE(*std::max_element(count.begin(), count.end()), 64 * 2u) << channels << " shift " << shift;
    }
  }
}

// One channel after another access of its own waits; another channel does not. Reads and writes share it.
TEST(HbmTimingTest, AChannelServesInTurn) {
  HbmTiming m(kPort, hbm(4, 400));  // 100 Gb/s each: 256 B take 20.48 ns
  uint64_t other = 256;
  while (m.channel(other) == m.channel(0)) other += 256;
  EXPECT_EQ(m.read(1000, 0, 256).done_ps, 1000 + 100'000u);
  EXPECT_EQ(m.read(1000, other, 256).done_ps, 1000 + 100'000u);
  EXPECT_EQ(m.write(1000, 0, 64).done_ps, 1000 + 20'480 + 20'000u);
  EXPECT_EQ(m.read(1000, 0, 64).taken_ps, 1000 + 20'480 + 5'120u);
  EXPECT_EQ(m.counters().channel_wait_ps, 20'480u + 25'600);
}

// What all channels carry together is the bandwidth.
TEST(HbmTimingTest, Bandwidth) {
  for (const unsigned channels : {1u, 16u}) {
    HbmTiming m(kPort, hbm(channels, 320));
    uint64_t last = 0;
    for (uint64_t i = 0; i < 4096; ++i) last = std::max(last, m.read(0, i * 256, 256).taken_ps);
    EXPECT_NEAR(static_cast<double>(last), 4095 * 256 * 8e3 / 320, 256 * 8e3 / 320 * channels);
  }
}

// A kernel's accesses make others wait: as a queue of random arrivals and equal service times says, and at most for
// those that the kernel has waiting.
TEST(HbmTimingTest, AKernelContends) {
  const double service = 64 * 8e3 * 8 / 800;  // ps
  double before = -1;
  for (const double load : {0.0, 0.3, 0.6, 0.9}) {
    HbmConfig c = hbm(8, 800);
    c.load_gbps = load * 800, c.queue = 1024;
    HbmTiming m(kPort, c);
    constexpr unsigned kReads = 20'000;
    for (uint64_t i = 1; i <= kReads; ++i) m.read(i * 1'000'000 + i * 77, i * 256, 1);
    const double mean = static_cast<double>(m.counters().channel_wait_ps) / kReads;
    EXPECT_NEAR(mean, service * load / (2 * (1 - load)), 0.08 * service * load / (1 - load) + 1) << load;
    EXPECT_GT(mean, before);
    before = mean;
  }
  HbmConfig c = hbm(8, 800);
  c.load_gbps = 800, c.queue = 4;
  HbmTiming full(kPort, c);
  uint64_t most = 0;
  for (uint64_t i = 1; i < 5000; ++i) {
    const uint64_t now = i * 1'000'000;
    most = std::max(most, full.read(now, i * 256, 1).taken_ps - now);
  }
  EXPECT_LE(most, 4 * service);
  EXPECT_GT(most, 3 * service);
}

// The load holds from the moment it is set; the same seed gives the same times; too much is refused.
TEST(HbmTimingTest, LoadsComeAndGo) {
  HbmConfig c = hbm(8, 800);
  HbmTiming a(kPort, c), b(kPort, c);
  uint64_t now = 0, waited[3] = {};
  for (unsigned phase = 0; phase < 3; ++phase) {
    for (HbmTiming* m : {&a, &b}) m->set_load(now, phase == 1 ? 700 : 0);
    const uint64_t before = a.counters().channel_wait_ps;
    now += 1'000'000;
    for (unsigned i = 0; i < 500; ++i, now += 100'000) {
      const auto x = a.read(now, i * 4096, 64), y = b.read(now, i * 4096, 64);
      EXPECT_EQ(x.done_ps, y.done_ps);
    }
    waited[phase] = a.counters().channel_wait_ps - before;
  }
  EXPECT_EQ(waited[0], 0u);
  EXPECT_GT(waited[1], 500u * 1000);
  EXPECT_EQ(waited[2], 0u);
  EXPECT_THROW(a.set_load(now, 801), InputError);
  EXPECT_THROW(a.set_load(now, -1), InputError);
  EXPECT_THROW(a.set_load(now, std::nan("")), InputError);
  FlatTiming flat(kPort);
  EXPECT_THROW(flat.set_load(0, 1), InputError);
  EXPECT_NO_THROW(flat.set_load(0, 0));
}

// A queue that a long silence has emptied does not keep anybody waiting, nor take long to find out.
TEST(HbmTimingTest, SilenceCostsNothing) {
  HbmConfig c = hbm(8, 800);
  c.load_gbps = 400;
  HbmTiming m(kPort, c);
  for (uint64_t i = 0; i < 1000; ++i)
    EXPECT_LT(m.read(i * 1000 * kMs, i * 4096, 64).taken_ps - i * 1000 * kMs, 500'000u);
}

HostConfig host(unsigned nodes = 1, uint64_t llc_bytes = 0, unsigned ways = 8, unsigned ddio = 2) {
  HostConfig c;
  c.size = 1 << 30;
  c.nodes = nodes;
  c.hop_ps = 50'000;
  if (llc_bytes != 0) c.llc = LlcConfig{llc_bytes, ways, ddio};
  c.llc_ps = 30'000;
  return c;
}

// One node without a cache is the flat memory, access by access, limited or not.
TEST(HostTimingTest, PlainAsTheFlatMemory) {
  std::mt19937_64 random(5);
  for (const unsigned gbps : {0u, 300u}) {
    const PortConfig port{100'000, 20'000, gbps, gbps};
    HostTiming m(port, host());
    FlatTiming flat(port);
    uint64_t now = 0;
    for (unsigned i = 0; i < 2000; ++i) {
      now += random() % 30'000;
      const uint64_t at = random() % (1 << 30), bytes = 1 + random() % 512;
      const bool write = random() % 2;
      const auto a = write ? m.write(now, at, bytes) : m.read(now, at, bytes);
      const auto b = write ? flat.write(now, at, bytes) : flat.read(now, at, bytes);
      ASSERT_EQ(a.taken_ps, b.taken_ps);
      ASSERT_EQ(a.done_ps, b.done_ps);
    }
  }
}

// Another node's memory is a hop away for a write, two for a read; its link has a rate; every node has its own port.
TEST(HostTimingTest, RemoteNodes) {
  const uint64_t far = 768 << 20;
  HostTiming m(kPort, host(4));
  EXPECT_EQ(m.read(0, (256 << 20) - 1, 1).done_ps, 100'000u);
  EXPECT_EQ(m.read(0, 256 << 20, 64).done_ps, 200'000u);
  EXPECT_EQ(m.write(0, far, 64).done_ps, 70'000u);
  EXPECT_EQ(m.read(0, (1 << 30) - 1, 1).done_ps, 200'000u);
  EXPECT_EQ(m.counters().remote, 3u);
  HostConfig c = host(2);
  c.hop_gbps = 80;  // 100 ps a byte
  HostTiming slow(kPort, c);
  for (unsigned i = 0; i < 5; ++i) {
    EXPECT_EQ(slow.read(0, far, 512).taken_ps, i * 51'200u);
    EXPECT_EQ(slow.write(0, far, 512).taken_ps, i * 51'200u) << "the other way";
    EXPECT_EQ(slow.read(0, 0, 512).taken_ps, 0u);
  }
  HostTiming ports({100'000, 20'000, 80, 80}, host(2));
  EXPECT_EQ(ports.read(0, 0, 512).taken_ps, 0u);
  EXPECT_EQ(ports.read(0, far, 512).taken_ps, 0u);
  EXPECT_EQ(ports.read(0, 0, 512).taken_ps, 51'200u);
}

// However many nodes there are, each begins at a page, and holds what the driver allocates from it.
TEST(HostTimingTest, NodesBeginAtPages) {
  constexpr uint64_t kSize = uint64_t{64} << 30;
  for (unsigned nodes = 1; nodes <= 8; ++nodes) {
    HostConfig c = host(nodes);
    c.size = kSize;
    HostTiming m(kPort, c);
    for (unsigned node = 0; node < nodes; ++node) {
      Profile p = Profile::load("seed-400g");
      p.set(fmt::format("host.numa_nodes={}", nodes));
      p.set(fmt::format("host.numa_node={}", node));
      const uint64_t base = numa_base(p, kSize);
      EXPECT_EQ(base % 4096, 0u);
      EXPECT_LT(base, kSize);
      EXPECT_EQ(m.read(kMs, base, 64).done_ps, kMs + (node == 0 ? 100'000 : 200'000)) << nodes << " " << node;
      if (node != 1) continue;
      EXPECT_EQ(m.read(kMs, base - 1, 1).done_ps, kMs + 100'000) << nodes;
    }
  }
}

/// Share of a window's lines that a second pass of reads finds in the cache.
double hits_after(HostTiming& m, uint64_t window, bool by_dma) {
  if (by_dma) {
    for (uint64_t at = 0; at < window; at += 64) m.write(0, at, 64);
  } else {
    m.touch(0, window);
  }
  unsigned hits = 0;
  for (uint64_t at = 0; at < window; at += 64) hits += m.read(kMs, at, 64).done_ps == kMs + 30'000;
  return static_cast<double>(hits) * 64 / static_cast<double>(window);
}

// DMA writes fill their ways and no more; the CPU's use fills all; DMA reads fill none.
TEST(HostTimingTest, CacheHoldsWhatItsWaysHold) {
  constexpr uint64_t kCache = 256 << 10;  // 8 ways of 32 KiB
  for (const unsigned ddio : {1u, 2u, 8u}) {
    const uint64_t room = kCache / 8 * ddio;
    const auto fresh = [&] { return HostTiming(kPort, host(1, kCache, 8, ddio)); };
    HostTiming a = fresh(), b = fresh(), c = fresh(), d = fresh();
    EXPECT_EQ(hits_after(a, room, true), 1) << ddio;
    EXPECT_EQ(hits_after(b, 2 * room, true), 0.5) << ddio << ": the least recently used goes first";
    EXPECT_EQ(hits_after(c, kCache, false), 1);
    EXPECT_EQ(hits_after(d, 2 * kCache, false), 0.5);
    EXPECT_EQ(b.counters().llc_written_back, room / 64);
    HostTiming e = fresh();
    for (unsigned pass = 0; pass < 2; ++pass) EXPECT_EQ(e.read(0, 0, 64).done_ps, 100'000u);
  }
}

// Of a set's DMA lines the one goes that was used least recently, by reads as well as by writes.
TEST(HostTimingTest, LeastRecentlyUsedGoesFirst) {
  constexpr uint64_t kCache = 256 << 10, kStride = kCache / 8;  // lines of one set
  HostTiming m(kPort, host(1, kCache));
  m.write(0, 0, 64);
  m.write(0, kStride, 64);
  EXPECT_EQ(m.read(0, 0, 64).done_ps, 30'000u);
  m.write(0, 2 * kStride, 64);
  EXPECT_EQ(m.read(kMs, 0, 64).done_ps, kMs + 30'000);
  EXPECT_EQ(m.read(kMs, kStride, 64).done_ps, kMs + 100'000);
  EXPECT_EQ(m.read(kMs, 2 * kStride, 64).done_ps, kMs + 30'000);
}

// A read of several lines is as fast as its slowest; only the lines that are missing ask the memory's port.
TEST(HostTimingTest, PartlyCached) {
  HostTiming m({100'000, 20'000, 80, 0}, host(1, 256 << 10));
  m.touch(64, 64);
  EXPECT_EQ(m.read(0, 64, 64).done_ps, 30'000u);
  EXPECT_EQ(m.read(0, 100, 28).done_ps, 30'000u);
  EXPECT_EQ(m.read(0, 64, 65).done_ps, 100'000u);
  EXPECT_EQ(m.read(0, 1024, 64).taken_ps, 6'400u) << "behind one missing line";
  EXPECT_EQ(m.counters().llc_hits, 3u);
  EXPECT_EQ(m.counters().llc_misses, 2u);
  m.flush();
  EXPECT_EQ(m.read(kMs, 64, 64).done_ps, kMs + 100'000);
}

// With DDIO writes ask the memory only for what they push out, or for the rest of a line; without, they go there and
// the cache forgets the line.
TEST(HostTimingTest, WritesWithAndWithoutDdio) {
  constexpr uint64_t kCache = 64 << 10;  // 8 ways of 8 KiB
  const PortConfig port{100'000, 20'000, 80, 80};
  HostTiming with(port, host(1, kCache)), without(port, host(1, kCache, 8, 0));
  for (unsigned i = 0; i < 256; ++i) EXPECT_EQ(with.write(0, i * 64, 64).taken_ps, 0u) << "two ways take them at once";
  EXPECT_EQ(with.write(0, 256 * 64, 64).taken_ps, 0u) << "the first one to be pushed out";
  EXPECT_EQ(with.write(0, 257 * 64, 64).taken_ps, 6'400u) << "held back by the one before";
  HostTiming partial(port, host(1, kCache));
  partial.write(0, 8, 8);
  EXPECT_EQ(partial.write(0, 64 + 8, 8).taken_ps, 6'400u) << "lines are read for their other bytes";
  without.touch(0, 64);
  EXPECT_EQ(without.read(0, 0, 64).done_ps, 30'000u);
  EXPECT_EQ(without.write(0, 0, 64).taken_ps, 0u);
  EXPECT_EQ(without.write(0, 64, 64).taken_ps, 6'400u);
  EXPECT_EQ(without.read(kMs, 0, 64).done_ps, kMs + 100'000);
}

std::string refusal(std::initializer_list<const char*> sets) {
  Profile p = Profile::load("seed-400g");
  for (const char* s : sets) p.set(s);
  try {
    gpu_timing(p, 1);
    host_timing(p, uint64_t{64} << 30);
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

// Keys that contradict one another are refused by name, with what is allowed.
TEST(MemoryTimingTest, RefusesContradictions) {
  EXPECT_EQ(refusal({}), "");
  EXPECT_EQ(refusal({"gpu.memory=hbm", "gpu.kernel_bandwidth=26800"}), "");
  EXPECT_EQ(refusal({"host.llc_size=33554432", "host.numa_nodes=2", "host.numa_node=1"}), "");
  const std::pair<std::string, std::string> cases[] = {
      {refusal({"gpu.kernel_bandwidth=1"}), "gpu.kernel_bandwidth"},
      {refusal({"gpu.memory=hbm", "gpu.kernel_bandwidth=26801"}), "gpu.kernel_bandwidth"},
      {refusal({"host.numa_node=1"}), "host.numa_node"},
      {refusal({"host.numa_nodes=3", "host.numa_node=3"}), "host.numa_node"},
      {refusal({"host.llc_size=1000"}), "host.llc_size"},
      {refusal({"host.llc_size=1024", "host.llc_ddio_ways=17"}), "host.llc_ddio_ways"}};
  for (const auto& [text, key] : cases) {
    EXPECT_NE(text.find("'" + key + "'"), std::string::npos) << key << ": " << text;
    EXPECT_NE(text.find("allowed"), std::string::npos) << text;
  }
}

}  // namespace
