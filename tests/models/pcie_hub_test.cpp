// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <numeric>

#include "rnic/pcie/hub.h"

namespace {

using namespace rnic;
using namespace rnic::pcie;

constexpr uint16_t kNicId = 0x0100;
constexpr uint64_t kBar = 0xfd00'0000;
// Gen5 x16: 8 bits x 130/128 at 512 GT/s, in ps
constexpr uint64_t kNum = 8125, kDen = 512;

uint64_t now() { return to_ps(sc_core::sc_time_stamp()); }
void run(uint64_t ps) { sc_core::sc_start(from_ps(ps)); }
uint64_t wire(uint64_t bytes) { return bytes * kNum / kDen; }

struct Recorder : Observer {
  std::vector<Event> events;
  void on_event(const Event& e) override { events.push_back(e); }
};

/// A node with round latencies and a NIC that records what it gets.
struct Node : TlpTarget {
  struct Got {
    uint64_t ps;
    Tlp tlp;
  };
  Profile profile = Profile::load("seed-400g");
  Observers observers;
  Recorder recorder;
  std::unique_ptr<Hub> hub;
  std::vector<Got> got;
  bool answer_reads = false;

  explicit Node(const std::vector<std::string>& sets = {}, const char* name = "hub", unsigned nic_id = 0) {
    for (const char* s :
         {"pcie.nic_link_latency=25", "pcie.gpu_link_latency=20", "pcie.hub_peer_latency=5", "pcie.hub_host_latency=60",
          "gpu.read_latency=75", "gpu.mmio_latency=300", "host.read_latency=90", "host.write_latency=61",
          "host.mmio_latency=91", "pcie.mps=256", "pcie.rcb=64"}) {
      profile.set(s);
    }
    for (const auto& s : sets) profile.set(s);
    observers.add(&recorder);
    hub = std::make_unique<Hub>(name, profile, observers, nic_id);
    hub->attach_nic(this);
    hub->gpu_pages().pin(0, kGpuSize, {});
  }

  void deliver(Tlp t) override {
    if (answer_reads && t.is_mem_read()) {
      const unsigned n = t.length_dw() * 4;
      std::vector<uint8_t> data(n);
      for (unsigned i = 0; i < n; ++i) data[i] = static_cast<uint8_t>(t.address() + i);
      const unsigned skip = static_cast<unsigned>(__builtin_ctz(t.first_be()));
      hub->from_nic(make_completion(t, kNicId, 0, n - skip, (t.address() + skip) & 0x7f, data));
    }
    got.push_back({now(), std::move(t)});
  }
};

std::vector<uint8_t> count_up(size_t n, uint8_t first = 0) {
  std::vector<uint8_t> v(n);
  std::iota(v.begin(), v.end(), first);
  return v;
}

std::vector<uint8_t> peek(const Memory& m, uint64_t addr, size_t n) {
  std::vector<uint8_t> v(n);
  EXPECT_TRUE(m.read(addr, v.data(), n));
  return v;
}

// A read of GPU memory: every link, forwarding and memory latency, to the picosecond; events at the memory's pins.
TEST(PcieHubTest, GpuReadRoundTrip) {
  Node n({}, "hub", 5);
  const auto data = count_up(64);
  n.hub->gpu_memory().write(0x1000, data.data(), 64);
  run(1234);
  Tlp read = make_mem_read(kGpuBase + 0x1000, 64, kNicId, 7);
  read.op.qpn = 9;
  n.hub->from_nic(read);
  run(1'000'000);
  const uint64_t at_memory = 1234 + wire(24) + 25000 + 5000 + wire(24) + 20000;
  const uint64_t ready = at_memory + 75000;
  ASSERT_EQ(n.recorder.events.size(), 2u);
  EXPECT_EQ(n.recorder.events[0].kind, EventKind::kMemRdStart);
  EXPECT_EQ(n.recorder.events[0].ps, at_memory);
  EXPECT_EQ(n.recorder.events[0].op.qpn, 9);
  EXPECT_EQ(n.recorder.events[0].nic, 5u);
  EXPECT_EQ(n.recorder.events[1].kind, EventKind::kMemRdEnd);
  EXPECT_EQ(n.recorder.events[1].ps, ready);
  ASSERT_EQ(n.got.size(), 1u);
  EXPECT_EQ(n.got[0].ps, ready + wire(84) + 20000 + 5000 + wire(84) + 25000);
  const Tlp& c = n.got[0].tlp;
  EXPECT_EQ(c.data, data);
  EXPECT_EQ(c.tag(), 7u);
  EXPECT_EQ(c.requester_id(), kNicId);
  EXPECT_EQ(c.hdr[1] >> 16, kGpuId);
  EXPECT_EQ(c.op.qpn, 9);
}

// A read of host memory: one link, the root complex, the memory.
TEST(PcieHubTest, HostReadRoundTrip) {
  Node n;
  const auto data = count_up(64, 100);
  n.hub->host_memory().write(0x40, data.data(), 64);
  n.hub->from_nic(make_mem_read(kHostBase + 0x40, 64, kNicId, 1));
  run(1'000'000);
  ASSERT_EQ(n.got.size(), 1u);
  EXPECT_EQ(n.got[0].ps, wire(24) + 25000 + 60000 + 90000 + 60000 + wire(84) + 25000);
  EXPECT_EQ(n.got[0].tlp.data, data);
}

// A latency that grows by 13 ns moves the round trip by exactly 13 ns.
TEST(PcieHubTest, MemoryLatencyMovesTheRoundTripByItself) {
  Node a({}, "a"), b({"gpu.read_latency=88"}, "b");
  for (Node* n : {&a, &b}) n->hub->from_nic(make_mem_read(kGpuBase, 64, kNicId, 0));
  run(1'000'000);
  ASSERT_TRUE(a.got.size() == 1 && b.got.size() == 1);
  EXPECT_EQ(b.got[0].ps - a.got[0].ps, 13000u);
}

// Completions are the largest pieces of at most MPS that end on RCB boundaries, follow one another on the link without
// a gap, and byte count and lower address describe what is still to come.
TEST(PcieHubTest, CompletionsAreCutAtReadCompletionBoundaries) {
  Node n;
  const auto data = count_up(512);
  n.hub->gpu_memory().write(0x1010, data.data(), 512);
  n.hub->from_nic(make_mem_read(kGpuBase + 0x1010, 512, kNicId, 3));
  run(1'000'000);
  struct Piece {
    unsigned dws, byte_count, lower;
  };
  const std::vector<Piece> expected = {{60, 512, 0x10}, {64, 272, 0x00}, {4, 16, 0x00}};
  ASSERT_EQ(n.got.size(), expected.size());
  std::vector<uint8_t> joined;
  for (size_t i = 0; i < expected.size(); ++i) {
    const Tlp& c = n.got[i].tlp;
    EXPECT_EQ(c.length_dw(), expected[i].dws);
    EXPECT_EQ(c.hdr[1] & 0xfff, expected[i].byte_count);
    EXPECT_EQ(c.hdr[2] & 0x7f, expected[i].lower);
    joined.insert(joined.end(), c.data.begin(), c.data.end());
  }
  EXPECT_EQ(joined, data);
  // The second piece waited for the first on the GPU's link only: its own time on the NIC's link begins as it arrives.
  EXPECT_EQ(n.got[1].ps - n.got[0].ps, (260u + 276u) * kNum / kDen + wire(276) - (wire(260) + wire(260)));
}

// Whatever address and length: whole DWs come back, pieces add up to the bytes asked for, no piece exceeds MPS or
// crosses an RCB boundary except at its ends' multiples.
TEST(PcieHubTest, EveryReadComesBackWhole) {
  struct Setting {
    unsigned mps, rcb;
    Node node;
    Setting(unsigned m, unsigned r, const char* name)
        : mps(m),
          rcb(r),
          node({fmt::format("pcie.mps={}", m), fmt::format("pcie.rcb={}", r), "pcie.nph_credits=0"}, name) {}
  };
  Setting settings[] = {{128, 64, "a"}, {128, 128, "b"}, {512, 64, "c"}, {512, 128, "d"}};
  for (Setting& s : settings) {
    s.node.hub->gpu_memory().set_background(1);
    struct Ask {
      uint64_t addr;
      unsigned len;
    };
    std::vector<Ask> asked;
    for (unsigned i = 0; i < 250; ++i) {
      const uint64_t addr = (i * 977) % 4096;
      const unsigned len = std::min<unsigned>(1 + (i * i * 31) % 1200, static_cast<unsigned>(4096 - addr));
      asked.push_back({addr, len});
      s.node.hub->from_nic(make_mem_read(kGpuBase + addr, len, kNicId, i));
    }
    run(100'000'000);
    size_t next = 0;
    for (unsigned i = 0; i < asked.size(); ++i) {
      unsigned left = asked[i].len;
      uint64_t at = asked[i].addr;
      while (left != 0) {
        ASSERT_LT(next, s.node.got.size());
        const Tlp& c = s.node.got[next++].tlp;
        ASSERT_EQ(c.tag(), i);
        ASSERT_EQ(c.hdr[1] & 0xfff, left & 0xfff);
        ASSERT_EQ(c.hdr[2] & 0x7f, at & 0x7f);
        ASSERT_LE(c.data.size(), s.mps);
        const unsigned lead = at & 3;
        const unsigned bytes = std::min<unsigned>(left, static_cast<unsigned>(c.data.size()) - lead);
        for (unsigned k = 0; k < bytes; ++k) ASSERT_EQ(c.data[lead + k], pattern_byte(at + k, 1));
        left -= bytes, at += bytes;
        ASSERT_TRUE(left == 0 || at % s.rcb == 0);
      }
    }
    EXPECT_EQ(next, s.node.got.size());
  }
}

// A zero-length read comes back as one DW with byte count 1.
TEST(PcieHubTest, ZeroLengthRead) {
  Node n;
  n.hub->from_nic(make_mem_read(kHostBase, 0, kNicId, 4));
  run(1'000'000);
  ASSERT_EQ(n.got.size(), 1u);
  EXPECT_EQ(n.got[0].tlp.length_dw(), 1u);
  EXPECT_EQ(n.got[0].tlp.hdr[1] & 0xfff, 1u);
}

// Writes touch enabled bytes only, also where the enables have holes.
TEST(PcieHubTest, WritesHonourByteEnables) {
  Node n;
  const auto ones = std::vector<uint8_t>(64, 0xff);
  for (const uint64_t base : {kHostBase, kGpuBase}) {
    n.hub->from_nic(make_mem_write(base + 0x103, ones.data(), 7, kNicId));
    Tlp holes = make_mem_write(base + 0x200, ones.data(), 12, kNicId);
    holes.hdr[1] = (holes.hdr[1] & ~0xffu) | 0x5a;  // last 0101, first 1010
    n.hub->from_nic(holes);
    Tlp none = make_mem_write(base + 0x300, ones.data(), 4, kNicId);
    none.hdr[1] &= ~0xffu;
    n.hub->from_nic(none);
  }
  run(1'000'000);
  for (const Memory* m : {&n.hub->host_memory(), &n.hub->gpu_memory()}) {
    std::vector<uint8_t> expected(16, 0);
    std::fill(expected.begin() + 3, expected.begin() + 10, uint8_t{0xff});
    EXPECT_EQ(peek(*m, 0x100, 16), expected);
    EXPECT_EQ(peek(*m, 0x200, 12), (std::vector<uint8_t>{0, 255, 0, 255, 255, 255, 255, 255, 255, 0, 255, 0}));
    EXPECT_EQ(peek(*m, 0x300, 4), std::vector<uint8_t>(4, 0));
  }
}

// A write to host memory is visible after the link, the root complex and host.write_latency, reported once, in order.
TEST(PcieHubTest, HostWritesBecomeVisibleInOrder) {
  Node n;
  struct Seen {
    uint64_t ps, addr;
    unsigned len;
    uint32_t psn;
    bool operator==(const Seen& o) const { return ps == o.ps && addr == o.addr && len == o.len && psn == o.psn; }
  };
  std::vector<Seen> seen;
  n.hub->on_host_write_op([&](uint64_t addr, unsigned len, const rtl::op_t& op) {
    seen.push_back({now(), addr, len, op.psn});
    EXPECT_EQ(peek(n.hub->host_memory(), addr - kHostBase, 1)[0], op.psn);
  });
  unsigned plain = 0;
  n.hub->on_host_write([&](uint64_t, unsigned) { ++plain; });
  std::vector<Seen> expected;
  for (unsigned i = 1; i <= 20; ++i) {
    const std::vector<uint8_t> data(64, static_cast<uint8_t>(i));
    Tlp w = make_mem_write(kHostBase + 0x80, data.data(), 64, kNicId);
    w.op.psn = i;
    n.hub->from_nic(w);
    expected.push_back({wire(i * 88) + 25000 + 60000 + 61000, kHostBase + 0x80, 64, i});
  }
  run(1'000'000);
  EXPECT_EQ(seen, expected);
  EXPECT_EQ(plain, 20u);
}

// A read that follows a write on the same way sees it, even where the memory reads faster than it writes.
TEST(PcieHubTest, ReadPushesWrite) {
  Node n({"host.read_latency=1", "host.write_latency=500"});
  for (const uint64_t base : {kHostBase, kGpuBase}) {
    const uint8_t data[4] = {1, 2, 3, 4};
    n.hub->from_nic(make_mem_write(base, data, 4, kNicId));
    n.hub->from_nic(make_mem_read(base, 4, kNicId, 0));
  }
  run(2'000'000);
  ASSERT_EQ(n.got.size(), 2u);
  for (const auto& g : n.got) EXPECT_EQ(g.tlp.data, (std::vector<uint8_t>{1, 2, 3, 4}));
}

// Memory is sampled when the memory has the data, not when the request arrives.
TEST(PcieHubTest, ReadSamplesAtTheEndOfTheAccess) {
  Node n;
  n.hub->from_nic(make_mem_read(kGpuBase, 4, kNicId, 0));
  const uint64_t end = 2 * wire(24) + 50000 + 75000;
  run(end - 1);
  const uint8_t data[4] = {9, 9, 9, 9};
  n.hub->gpu_memory().write(0, data, 4);
  run(1'000'000);
  ASSERT_EQ(n.got.size(), 1u);
  EXPECT_EQ(n.got[0].tlp.data, std::vector<uint8_t>(4, 9));
}

// GPU memory is there for others only where it is pinned: the NIC and the CPU, first and last byte, requests across
// the edge of a page. The GPU itself and the back door always get through.
TEST(PcieHubTest, GpuBarServesPinnedPages) {
  Node n;
  PinnedPages& pages = n.hub->gpu_pages();
  pages.revoke(0, kGpuSize);
  constexpr uint64_t kPage = PinnedPages::kPage, kAt = 7 * kPage;
  const uint64_t pin = pages.pin(kAt + 100, kPage, {});  // two pages
  const auto before = count_up(4 * kPage);
  n.hub->gpu_memory().write(kAt - kPage, before.data(), before.size());
  const std::array<uint64_t, 6> served{kAt,         kAt + 4092,          kAt + kPage - 64,
                                       kAt + kPage, kAt + 2 * kPage - 4, kAt + 0x8000};
  const std::array<uint64_t, 4> refused{kAt - 4, kAt - kPage, kAt + 2 * kPage, 0};
  const auto all = [&](unsigned unpinned) {
    const auto c = n.hub->counters();
    n.got.clear();
    unsigned tag = 0;
    for (const uint64_t at : served) n.hub->from_nic(make_mem_read(kGpuBase + at, 4, kNicId, tag++));
    for (const uint64_t at : refused) n.hub->from_nic(make_mem_read(kGpuBase + at, 4, kNicId, tag++));
    run(2'000'000);
    ASSERT_EQ(n.got.size(), served.size() + refused.size());
    for (const auto& g : n.got) {
      const bool good = unpinned == refused.size() && g.tlp.tag() < served.size();
      EXPECT_EQ((g.tlp.hdr[1] >> 13) & 7, good ? rtl::pcie_pkg::StatusSc : rtl::pcie_pkg::StatusUr) << g.tlp.tag();
      EXPECT_EQ(g.tlp.data.size(), good ? 4u : 0u);
      if (!good) continue;
      EXPECT_EQ(g.tlp.data, peek(n.hub->gpu_memory(), served[g.tlp.tag()], 4));
    }
    EXPECT_EQ(n.hub->counters().unpinned_read - c.unpinned_read, unpinned);
    EXPECT_EQ(n.hub->counters().unsupported_read, 0u);
  };
  all(refused.size());
  const std::array<uint8_t, 4> mark{0xaa, 0xbb, 0xcc, 0xdd};
  for (const uint64_t at : refused) {
    n.hub->from_nic(make_mem_write(kGpuBase + at, mark.data(), 4, kNicId));
    n.hub->mmio_write(Initiator::kCpu, kGpuBase + at, mark.data(), 4);
  }
  unsigned loads = 0;
  n.hub->mmio_read(Initiator::kCpu, kGpuBase + refused[0], 4, [&](const std::vector<uint8_t>& d) {
    ++loads;
    EXPECT_TRUE(d.empty());
  });
  run(2'000'000);
  EXPECT_EQ(loads, 1u);
  EXPECT_EQ(n.hub->counters().unpinned_write, 2 * refused.size());
  EXPECT_EQ(peek(n.hub->gpu_memory(), kAt - kPage, before.size()), before);
  n.hub->mmio_write(Initiator::kGpu, kGpuBase + refused[0], mark.data(), 4);
  n.hub->from_nic(make_mem_write(kGpuBase + kAt, mark.data(), 4, kNicId));
  run(2'000'000);
  EXPECT_EQ(n.hub->counters().unpinned_write, 2 * refused.size());
  EXPECT_EQ(peek(n.hub->gpu_memory(), refused[0], 8),
            (std::vector<uint8_t>{0xaa, 0xbb, 0xcc, 0xdd, 0xaa, 0xbb, 0xcc, 0xdd}));
  pages.unpin(pin);
  all(served.size() + refused.size());
}

// A pin that goes while a read is under way: what the read's data are taken from decides.
TEST(PcieHubTest, UnpinnedBetweenArrivalAndSample) {
  const uint64_t sample = 2 * wire(24) + 50000 + 75000;
  Node before, after({}, "after");
  unsigned revoked = 0;
  for (Node* n : {&before, &after}) {
    n->hub->gpu_pages().revoke(0, kGpuSize);
    n->hub->gpu_pages().pin(0x100, 64, [&] { ++revoked; });
    n->hub->from_nic(make_mem_read(kGpuBase + 0x100, 64, kNicId, 0));
  }
  run(sample - 1);
  before.hub->gpu_pages().revoke(0, 1);
  run(2);
  after.hub->gpu_pages().revoke(0, 1);
  run(1'000'000);
  EXPECT_EQ(revoked, 2u);
  ASSERT_EQ(before.got.size(), 1u);
  ASSERT_EQ(after.got.size(), 1u);
  EXPECT_EQ((before.got[0].tlp.hdr[1] >> 13) & 7, rtl::pcie_pkg::StatusUr);
  EXPECT_EQ((after.got[0].tlp.hdr[1] >> 13) & 7, rtl::pcie_pkg::StatusSc);
  EXPECT_EQ(before.hub->counters().unpinned_read, 1u);
  EXPECT_EQ(after.hub->counters().unpinned_read, 0u);
}

// Reads of addresses that nobody has, or that leave a memory, are answered with UR; writes are dropped; all are
// counted.
TEST(PcieHubTest, UnsupportedRequests) {
  Node n;
  const uint8_t data[8] = {};
  unsigned tag = 0;
  for (const uint64_t addr : {uint64_t{0}, uint64_t{0xfd000000}, kHostBase - 64, kHostBase + kHostSize, kGpuBase - 4096,
                              kGpuBase + kGpuSize, ~uint64_t{0} - 4095}) {
    n.hub->from_nic(make_mem_read(addr, 64, kNicId, tag++));
    n.hub->from_nic(make_mem_write(addr, data, 8, kNicId));
  }
  run(1'000'000);
  EXPECT_EQ(n.hub->counters().unsupported_read, 7u);
  EXPECT_EQ(n.hub->counters().unsupported_write, 7u);
  EXPECT_EQ(n.hub->counters().malformed, 0u);
  ASSERT_EQ(n.got.size(), 7u);
  for (unsigned i = 0; i < 7; ++i) {
    const Tlp& c = n.got[i].tlp;
    EXPECT_EQ(c.tag(), i);
    EXPECT_FALSE(c.has_data());
    EXPECT_EQ((c.hdr[1] >> 13) & 7, rtl::pcie_pkg::StatusUr);
    EXPECT_EQ(c.hdr[1] & 0xfff, 64u);
    EXPECT_EQ(c.requester_id(), kNicId);
  }
  EXPECT_TRUE(n.recorder.events.empty());
}

// TLPs that contradict themselves are dropped and counted; the ones after them are served.
TEST(PcieHubTest, MalformedTlpsAreDropped) {
  Node n;
  const auto data = count_up(512);
  Tlp t = make_mem_write(kHostBase, data.data(), 64, kNicId);
  t.data.resize(60);
  n.hub->from_nic(t);
  t = make_mem_read(kHostBase, 64, kNicId, 0);
  t.data.resize(64);
  n.hub->from_nic(t);
  t = make_mem_read(kHostBase + 0xfc0, 64, kNicId, 0);
  t.hdr[0] += 1;  // 68 B from 0xfc0
  n.hub->from_nic(t);
  n.hub->from_nic(make_mem_write(kHostBase, data.data(), 260, kNicId));  // above MPS
  t = make_mem_read(kHostBase, 64, kNicId, 0);
  t.hdr[1] &= ~0xf0u;  // LastBE 0 with more than one DW
  n.hub->from_nic(t);
  t = make_mem_read(kHostBase, 4, kNicId, 0);
  t.hdr[1] |= 0xf0;  // LastBE with one DW
  n.hub->from_nic(t);
  t.hdr[0] = 0x30000000;  // a message
  n.hub->from_nic(t);
  n.hub->from_nic(make_mem_read(kHostBase, 4, kNicId, 77));
  run(1'000'000);
  EXPECT_EQ(n.hub->counters().malformed, 7u);
  ASSERT_EQ(n.got.size(), 1u);
  EXPECT_EQ(n.got[0].tlp.tag(), 77u);
  EXPECT_EQ(peek(n.hub->host_memory(), 0, 64), std::vector<uint8_t>(64, 0));
}

// Stores reach the NIC's pins after the initiator's latency, the way through the hub and the link; in order.
TEST(PcieHubTest, StoresToTheNic) {
  Node n;
  const auto data = count_up(64);
  rtl::op_t op;
  op.qpn = 3;
  for (unsigned i = 0; i < 5; ++i) n.hub->mmio_write(Initiator::kCpu, kBar + 64 * i, data.data(), 64, op);
  run(1'000'000);
  ASSERT_EQ(n.got.size(), 5u);
  for (unsigned i = 0; i < 5; ++i) {
    EXPECT_EQ(n.got[i].ps, 91000 + 60000 + wire(84 * (i + 1)) + 25000);  // 3-DW header
    EXPECT_EQ(n.got[i].tlp.address(), kBar + 64 * i);
    EXPECT_EQ(n.got[i].tlp.requester_id(), kCpuId);
    EXPECT_EQ(n.got[i].tlp.data, data);
    EXPECT_EQ(n.got[i].tlp.op.qpn, 3);
  }
  n.got.clear();
  const uint64_t t0 = now();
  n.hub->mmio_write(Initiator::kGpu, kBar, data.data(), 4);
  run(1'000'000);
  ASSERT_EQ(n.got.size(), 1u);
  EXPECT_EQ(n.got[0].ps, t0 + 300000 + wire(24) + 20000 + 5000 + wire(24) + 25000);
  EXPECT_EQ(n.got[0].tlp.requester_id(), kGpuId);
}

// Completions and stores share the way to the NIC: a store that leaves the hub behind a completion waits for it.
TEST(PcieHubTest, StoresAndCompletionsShareTheLink) {
  Node n({"host.mmio_latency=0"});
  n.hub->from_nic(make_mem_read(kHostBase, 256, kNicId, 0));
  const uint64_t leaves = wire(24) + 25000 + 60000 + 90000 + 60000;
  run(leaves - 60000 + 1000);
  const uint8_t b[4] = {};
  n.hub->mmio_write(Initiator::kCpu, kBar, b, 4);
  run(1'000'000);
  ASSERT_EQ(n.got.size(), 2u);
  EXPECT_EQ(n.got[0].ps, leaves + wire(276) + 25000);
  EXPECT_EQ(n.got[1].ps, leaves + wire(276 + 24) + 25000);
}

// Loads of the CPU and the GPU from the NIC bring the bytes asked for; more than the hub has tags for wait their turn.
TEST(PcieHubTest, LoadsFromTheNic) {
  Node n;
  n.answer_reads = true;
  unsigned done = 0;
  for (unsigned i = 0; i < 600; ++i) {
    const Initiator who = i % 3 ? Initiator::kCpu : Initiator::kGpu;
    const unsigned len = 1 + i % 64;
    const uint64_t addr = kBar + (i * 37) % 4000;
    n.hub->mmio_read(who, addr, len, [&done, addr, len](std::vector<uint8_t> v) {
      ASSERT_EQ(v.size(), len);
      for (unsigned k = 0; k < len; ++k) EXPECT_EQ(v[k], static_cast<uint8_t>(addr + k));
      ++done;
    });
  }
  run(100'000'000);
  EXPECT_EQ(done, 600u);
  EXPECT_EQ(n.got.size(), 600u);
  EXPECT_EQ(n.hub->counters().unexpected_cpl, 0u);
}

// A load answered with UR calls back with nothing; a completion that nobody waits for is counted.
TEST(PcieHubTest, FailedLoads) {
  Node n;
  std::vector<size_t> sizes;
  n.hub->mmio_read(Initiator::kCpu, kBar, 4, [&](std::vector<uint8_t> v) { sizes.push_back(v.size()); });
  run(1'000'000);
  ASSERT_EQ(n.got.size(), 1u);
  n.hub->from_nic(make_completion(n.got[0].tlp, kNicId, 1, 4, 0, {}));
  n.hub->from_nic(make_completion(n.got[0].tlp, kNicId, 1, 4, 0, {}));
  run(1'000'000);
  EXPECT_EQ(sizes, std::vector<size_t>{0});
  EXPECT_EQ(n.hub->counters().unexpected_cpl, 1u);
}

// The CPU reaches GPU memory, and the GPU host memory, over the same links.
TEST(PcieHubTest, InitiatorsReachTheOtherMemory) {
  Node n;
  const auto data = count_up(8, 50);
  n.hub->mmio_write(Initiator::kCpu, kGpuBase + 4, data.data(), 8);
  n.hub->mmio_write(Initiator::kGpu, kHostBase + 4, data.data(), 8);
  n.hub->mmio_write(Initiator::kGpu, kGpuBase + 20, data.data(), 8);
  run(2'000'000);
  EXPECT_EQ(peek(n.hub->gpu_memory(), 4, 8), data);
  EXPECT_EQ(peek(n.hub->host_memory(), 4, 8), data);
  EXPECT_EQ(peek(n.hub->gpu_memory(), 20, 8), data);
  unsigned done = 0;
  for (const Initiator who : {Initiator::kCpu, Initiator::kGpu}) {
    for (const uint64_t base : {kHostBase, kGpuBase}) {
      n.hub->mmio_read(who, base + 5, 6, [&](std::vector<uint8_t> v) {
        EXPECT_EQ(v, std::vector<uint8_t>(data.begin() + 1, data.begin() + 7));
        ++done;
      });
    }
  }
  run(5'000'000);
  EXPECT_EQ(done, 4u);
  EXPECT_TRUE(n.got.empty());
}

// Credits start at the profile's figures and come back when the TLP has arrived at the hub, for the first edge after.
TEST(PcieHubTest, CreditsComeBackOnArrival) {
  Node n({"pcie.ph_credits=8", "pcie.pd_credits=100", "pcie.nph_credits=4"});
  const auto data = count_up(72);
  const auto at = [&](uint64_t ps) { return n.hub->nic_credits(from_ps(ps)); };
  EXPECT_EQ(at(0).ph, 8);
  EXPECT_EQ(at(0).pd, 100);
  EXPECT_EQ(at(0).nph, 4);
  EXPECT_FALSE(at(0).p_inf || at(0).np_inf);
  n.hub->from_nic(make_mem_write(kHostBase, data.data(), 72, kNicId));  // 4.5 data credits: 5
  n.hub->from_nic(make_mem_read(kHostBase, 64, kNicId, 0));
  const uint64_t first = wire(96) + 25000, second = wire(96 + 24) + 25000;
  run(first);
  EXPECT_EQ(at(first).ph, 8) << "an edge saw what happened at it";
  const auto back = [&](auto seen) {
    while (now() < first + 1'000'000 && !seen()) run(1);
    return now();
  };
  const uint64_t delay = to_ps(n.profile.time("pcie.fc_latency")) + 25'000 + wire(8);
  const uint64_t ph = back([&] { return at(now()).ph == 9; });
  EXPECT_GT(ph, first);
  EXPECT_LE(ph, first + delay + 1000);
  EXPECT_EQ(at(now()).pd, 105);
  const uint64_t nph = back([&] { return at(now()).nph == 5; });
  EXPECT_GT(nph, second);
  EXPECT_LE(nph, second + delay + 1000);
  run(1'000'000);
  // Counts wrap at 2^8 and 2^12.
  for (unsigned i = 0; i < 1000; ++i) {
    n.hub->from_nic(make_mem_write(kHostBase, data.data(), 72, kNicId));
    if (i % 8 == 7) run(1'000'000);
  }
  run(10'000'000);
  EXPECT_EQ(at(now()).ph, (8 + 1001) & 0xff);
  EXPECT_EQ(at(now()).pd, (100 + 1001 * 5) & 0xfff);
}

// Credits of 0 in the profile mean no limit.
TEST(PcieHubTest, NoCreditLimit) {
  Node n({"pcie.ph_credits=0", "pcie.nph_credits=0"});
  EXPECT_TRUE(n.hub->nic_credits(from_ps(0)).p_inf);
  EXPECT_TRUE(n.hub->nic_credits(from_ps(0)).np_inf);
}

// A KiB may wait behind the TLP on the link; an edge does not see what is handed over at it.
TEST(PcieHubTest, TransmitBufferHoldsAKiBBeyondTheOneOnTheLink) {
  Node n;
  const auto data = count_up(256);
  const auto send = [&] { n.hub->from_nic(make_mem_write(kHostBase, data.data(), 256, kNicId)); };
  const auto ready = [&] { return n.hub->nic_tx_ready(sc_core::sc_time_stamp()); };
  const uint64_t one = wire(280);  // 4443 ps
  for (unsigned i = 0; i < 5; ++i) {
    EXPECT_TRUE(ready());
    send();
    EXPECT_TRUE(ready()) << "an edge saw its own TLP";
    run(600);
  }
  EXPECT_EQ(now(), 3000u);
  EXPECT_FALSE(ready());  // four wait, 1120 B
  EXPECT_FALSE(n.hub->nic_tx_ready(from_ps(one)));
  EXPECT_TRUE(n.hub->nic_tx_ready(from_ps(one + 1)));  // the second has started
  run(one - 3000);
  EXPECT_FALSE(ready());
  run(1);
  EXPECT_TRUE(ready());
}

// A saturated link carries exactly its rate: n TLPs end at floor(n * bytes * 8125 / 512).
TEST(PcieHubTest, SaturatedLinkIsExact) {
  Node n;
  std::vector<uint64_t> visible;
  n.hub->on_host_write([&](uint64_t, unsigned) { visible.push_back(now()); });
  const auto data = count_up(256);
  unsigned sent = 0;
  while (sent < 3000) {
    if (n.hub->nic_tx_ready(sc_core::sc_time_stamp())) {
      n.hub->from_nic(make_mem_write(kHostBase, data.data(), 256, kNicId));
      ++sent;
    }
    run(1000);
  }
  run(1'000'000);
  ASSERT_EQ(visible.size(), 3000u);
  for (uint64_t i = 0; i < 3000; ++i) ASSERT_EQ(visible[i], wire((i + 1) * 280) + 25000 + 60000 + 61000) << i;
}

// Two hubs in one process have their own memories, links, tags and NIC numbers.
TEST(PcieHubTest, TwoHubsAreIndependent) {
  Node a({}, "a", 0), b({}, "b", 1);
  const auto data = count_up(64);
  a.hub->gpu_memory().write(0, data.data(), 64);
  for (Node* n : {&a, &b}) n->hub->from_nic(make_mem_read(kGpuBase, 64, kNicId, 0));
  run(1'000'000);
  ASSERT_TRUE(a.got.size() == 1 && b.got.size() == 1);
  EXPECT_EQ(a.got[0].ps, b.got[0].ps);  // neither waited for the other
  EXPECT_EQ(a.got[0].tlp.data, data);
  EXPECT_EQ(b.got[0].tlp.data, std::vector<uint8_t>(64, 0));
  EXPECT_EQ(b.recorder.events.at(0).nic, 1u);
}

// Usage is bytes, busy time and credits of what went over.
TEST(PcieHubTest, UsageIsWhatWentOver) {
  Node n;
  run(1000);
  for (unsigned i = 0; i < 4; ++i) n.hub->from_nic(make_mem_read(kGpuBase + 64 * i, 64, kNicId, i));
  const auto sending = n.hub->usage(1000 + wire(24));
  EXPECT_LE(sending.nic_up.tlps, 4u);  // what stands behind is not settled yet
  EXPECT_EQ(sending.nic_up.bytes, sending.nic_up.tlps * 24);
  EXPECT_EQ(sending.nic_up.busy_ps, wire(24));  // the others are still to come
  run(1'000'000);
  const auto u = n.hub->usage(now());
  EXPECT_EQ(u.nic_up.tlps, 4u);
  EXPECT_EQ(u.nic_up.bytes, 4 * 24u);
  EXPECT_GT(u.nic_up.dllp_bytes, 0u);  // completions are acknowledged
  EXPECT_NEAR(static_cast<double>(u.nic_up.busy_ps), static_cast<double>(wire(96 + u.nic_up.dllp_bytes)), 2.0);
  EXPECT_EQ(u.gpu_down.bytes, 4 * 24u);
  EXPECT_EQ(u.gpu_up.bytes, 4 * 84u);
  EXPECT_EQ(u.nic_down.bytes, 4 * 84u);
  EXPECT_EQ(u.gpu.count, 4u);
  EXPECT_EQ(u.gpu.bytes, 256u);
  EXPECT_EQ(u.gpu.held_ps, 4 * 75'000u);
  EXPECT_EQ(u.host.count, 0u);
  EXPECT_EQ(u.nph.most, 4u);
  EXPECT_EQ(u.nph.limit, 64u);
  EXPECT_EQ(u.ph.most, 0u);
}

// Time without credits: from the request that took the last one to the arrival that gives it back.
TEST(PcieHubTest, UsageTellsTimeWithoutCredits) {
  Node n({"pcie.nph_credits=2"});
  run(1000);
  n.hub->from_nic(make_mem_read(kGpuBase, 64, kNicId, 0));
  EXPECT_EQ(n.hub->usage(now()).nph.none_ps, 0u);
  run(500);
  n.hub->from_nic(make_mem_read(kGpuBase, 64, kNicId, 1));
  run(100);
  EXPECT_EQ(n.hub->usage(now()).nph.none_ps, 100u);
  run(1'000'000);
  const uint64_t first_back = 1000 + wire(24) + 25'000;
  EXPECT_GE(n.hub->usage(now()).nph.none_ps, first_back - 1500);
  EXPECT_LE(n.hub->usage(now()).nph.none_ps, first_back - 1500 + 200'000);
  EXPECT_EQ(n.hub->usage(now()).nph.most, 2u);
}

// Credits that are back by an edge are not away at it.
TEST(PcieHubTest, UsageFollowsTheEdges) {
  Node n({"pcie.nph_credits=1"});
  run(1000);
  for (unsigned i = 0; i < 3; ++i) {
    n.hub->from_nic(make_mem_read(kGpuBase, 64, kNicId, i));
    run(400'000);
  }
  const auto u = n.hub->usage(now()).nph;
  EXPECT_EQ(u.most, 1u);
  EXPECT_EQ(u.none_ps, u.held_ps);
  EXPECT_GE(u.none_ps, 3 * (wire(24) + 25'000));
}

// An MMIO access that no single TLP can carry is refused by name.
TEST(PcieHubTest, OversizedMmioIsRefused) {
  Node n;
  uint8_t b[80] = {};
  EXPECT_THROW(n.hub->mmio_write(Initiator::kCpu, kBar, b, 65), SimError);
  EXPECT_THROW(n.hub->mmio_write(Initiator::kCpu, kBar, b, 0), SimError);
  EXPECT_THROW(n.hub->mmio_write(Initiator::kCpu, kBar + 0xffc, b, 8), SimError);
  EXPECT_THROW(n.hub->mmio_read(Initiator::kGpu, kBar + 0xffc, 8, [](auto) {}), SimError);
}

}  // namespace
