// SPDX-License-Identifier: Apache-2.0
#include "rnic/pcie/topology.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "rnic/pcie/hub.h"

namespace {

using namespace rnic;
using namespace rnic::pcie;

constexpr uint16_t kNicId = 0x0100;
constexpr uint64_t kBar = 0xfd00'0000;
const std::vector<std::string> kPlaces{"PIX", "PXB", "PHB", "SYS"};

uint64_t now() { return to_ps(sc_core::sc_time_stamp()); }
void run(uint64_t ps) { sc_core::sc_start(from_ps(ps)); }

const std::vector<std::string> kNone;

/// A node in one of the placements, and a NIC that keeps to its credits and its transmit buffer.
struct Node : TlpTarget {
  struct Got {
    uint64_t ps;
    Tlp tlp;
  };
  Profile profile = Profile::load("seed-400g");
  Observers observers;
  std::unique_ptr<Hub> hub;
  std::vector<Got> got;
  uint64_t ph = 0, pd = 0, nph = 0;  ///< taken since the link came up
  bool answer_loads = true;

  explicit Node(const std::string& place, const std::vector<std::string>& sets = kNone, const char* name = "hub") {
    profile.set("pcie.topology=" + place);
    for (const auto& s : sets) profile.set(s);
    hub = std::make_unique<Hub>(name, profile, observers, 0);
    hub->attach_nic(this);
    hub->gpu_pages().pin(0, kGpuSize, {});
  }
  void deliver(Tlp t) override {
    if (t.is_mem_read() && answer_loads) {
      const unsigned n = t.length_dw() * 4;
      hub->from_nic(make_completion(t, kNicId, 0, n, t.address() & 0x7f, std::vector<uint8_t>(n, 0x5a)));
    }
    got.push_back({DelayQueue::now_ps(), std::move(t)});
  }
  bool send(const Tlp& t) {
    if (!hub->nic_tx_ready(sc_core::sc_time_stamp())) return false;
    const auto fc = hub->nic_credits(sc_core::sc_time_stamp());
    const auto room = [](uint64_t limit, uint64_t taken, unsigned need, unsigned mod) {
      return ((limit - taken - need) & (mod - 1)) <= mod / 2;
    };
    if (t.is_mem_write()) {
      const auto data = static_cast<unsigned>((t.data.size() + 15) / 16);
      if (!fc.p_inf && (!room(fc.ph, ph, 1, 256) || !room(fc.pd, pd, data, 4096))) return false;
      ++ph, pd += data;
    } else {
      if (!fc.np_inf && !room(fc.nph, nph, 1, 256)) return false;
      ++nph;
    }
    hub->from_nic(t);
    return true;
  }
  /// Sends all as soon as it may, one try a ns.
  void send_all(const std::vector<Tlp>& all, unsigned most_ns = 1'000'000) {
    size_t next = 0;
    for (unsigned i = 0; i < most_ns && next < all.size(); ++i) {
      next += send(all[next]);
      run(1000);
    }
    ASSERT_EQ(next, all.size()) << "held back for ever: " << hub->pending();
  }
  void settle(uint64_t most_us = 1000) {
    for (uint64_t i = 0; i < most_us && !hub->idle(); ++i) run(1'000'000);
    EXPECT_TRUE(hub->idle());
    EXPECT_EQ(hub->pending(), "");
  }
  void pour(uint8_t value, uint64_t at, unsigned n) {
    for (unsigned i = 0; i < n; ++i) {
      const std::vector<uint8_t> d(256, static_cast<uint8_t>(value + i));
      hub->gpu_memory().write(at + 256 * i, d.data(), d.size());
    }
  }
};

uint64_t round_trip(Node& n, uint64_t addr) {
  const uint64_t t0 = now();
  n.got.clear();
  EXPECT_TRUE(n.send(make_mem_read(addr, 64, kNicId, 1)));
  n.settle();
  EXPECT_EQ(n.got.size(), 1u);
  return n.got.empty() ? 0 : n.got[0].ps - t0;
}

/// Of one TLP over a way, from what the hops say.
uint64_t sum(const std::vector<Hop>& way, unsigned wire_bytes) {
  const uint64_t wire = uint64_t{wire_bytes} * 8125 / 512;
  uint64_t ps = 0;
  for (const Hop& h : way) {
    if (h.link) ps += wire;
    if (h.gbps != 0) ps += wire_bytes * 8000 / h.gbps;
    ps += to_ps(h.latency);
    if (h.cut_through) ps -= std::min(wire, to_ps(h.latency));
  }
  return ps;
}

class PlacementTest : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Places, PlacementTest, testing::Values("direct", "PIX", "PXB", "PHB", "SYS"),
                         [](const auto& p) { return p.param; });

// A read of GPU memory takes the sum of its hops, and longer with every step from PIX to SYS.
TEST(TopologyTest, LatencyGrowsWithDistance) {
  uint64_t before = 0;
  std::map<std::string, std::unique_ptr<Node>> nodes;
  for (const auto& place : kPlaces) nodes[place] = std::make_unique<Node>(place, kNone, place.c_str());
  for (const auto& place : kPlaces) {
    Node& n = *nodes[place];
    EXPECT_EQ(n.hub->distance(), place);
    const uint64_t t = round_trip(n, kGpuBase);
    const auto way = n.hub->way(Hub::Where::kGpu);
    EXPECT_NEAR(static_cast<double>(t),
                static_cast<double>(sum(way, 24) + to_ps(n.profile.time("gpu.read_latency")) + sum(way, 84)), 20.0)
        << place;
    EXPECT_GT(t, before) << place;
    before = t;
  }
}

// The hops of each placement, by name.
TEST(TopologyTest, HopsOfThePlacements) {
  std::string text;
  for (const auto& place : {"direct", "PIX", "PXB", "PHB", "SYS"}) {
    for (const auto* acs : {"0", "1"}) {
      Node n(place, {std::string("pcie.acs_redirect=") + acs}, fmt::format("{}{}", place, acs).c_str());
      text += fmt::format("{} {}:", place, acs);
      for (const Hop& h : n.hub->way(Hub::Where::kGpu)) text += fmt::format(" {};", h.name);
      text += "\n";
      if (*acs == '0') {
        text += fmt::format("{} host:", place);
        for (const Hop& h : n.hub->way(Hub::Where::kHost)) text += fmt::format(" {};", h.name);
        text += "\n";
      }
    }
  }
  const std::string phb =
      "NIC's link; NIC's switch; NIC's uplink; root complex; GPU's uplink; GPU's switch; GPU's link;\n";
  const std::string sys =
      "NIC's link; NIC's switch; NIC's uplink; root complex; between the sockets; GPU's uplink; GPU's switch; GPU's "
      "link;\n";
  EXPECT_EQ(text,
            "direct 0: NIC's link; hub; GPU's link;\n"
            "direct host: NIC's link; root complex;\n"
            "direct 1: NIC's link; hub; GPU's link;\n"
            "PIX 0: NIC's link; switch; GPU's link;\n"
            "PIX host: NIC's link; switch; uplink; root complex;\n"
            "PIX 1: NIC's link; switch; uplink; root complex; uplink; switch; GPU's link;\n"
            "PXB 0: NIC's link; lower switch; link between the switches; upper switch; GPU's link;\n"
            "PXB host: NIC's link; lower switch; link between the switches; upper switch; uplink; root complex;\n"
            "PXB 1: NIC's link; lower switch; link between the switches; upper switch; uplink; root complex; uplink; "
            "upper switch; GPU's link;\n"
            "PHB 0: " +
                phb + "PHB host: NIC's link; NIC's switch; NIC's uplink; root complex;\nPHB 1: " + phb +
                "SYS 0: " + sys + "SYS host: NIC's link; NIC's switch; NIC's uplink; root complex;\nSYS 1: " + sys);
}

// Host memory and the CPU are reached in each placement in the sum of the hops; so is the NIC from CPU and GPU.
TEST_P(PlacementTest, EverybodyReachesEverybody) {
  std::vector<std::unique_ptr<Node>> nodes;
  for (const auto* acs : {"pcie.acs_redirect=0", "pcie.acs_redirect=1"}) {
    nodes.push_back(std::make_unique<Node>(GetParam(), std::vector<std::string>{acs}, acs + 5));
  }
  {
    for (auto& node : nodes) {
      Node& n = *node;
      const auto way = n.hub->way(Hub::Where::kHost);
      EXPECT_NEAR(static_cast<double>(round_trip(n, kHostBase)),
                  static_cast<double>(sum(way, 24) + 90'000 + sum(way, 84)), 20.0);
      n.got.clear();
      const uint8_t b[4] = {1, 2, 3, 4};
      unsigned loads = 0;
      for (const Initiator who : {Initiator::kCpu, Initiator::kGpu}) {
        n.hub->mmio_write(who, kBar, b, 4);
        n.hub->mmio_write(who, kHostBase + 64, b, 4);
        n.hub->mmio_write(who, kGpuBase + 64, b, 4);
        n.settle();
        for (const uint64_t addr : {kBar, kHostBase + 64, kGpuBase + 64}) {
          n.hub->mmio_read(who, addr, 4, [&, addr](std::vector<uint8_t> v) {
            EXPECT_EQ(v, addr == kBar ? std::vector<uint8_t>(4, 0x5a) : std::vector<uint8_t>({1, 2, 3, 4}));
            ++loads;
          });
        }
        n.settle();
      }
      EXPECT_EQ(loads, 6u);
      EXPECT_EQ(n.got.size(), 4u);
      // What nobody has is refused wherever the NIC stands.
      n.got.clear();
      EXPECT_TRUE(n.send(make_mem_read(0x1000, 64, kNicId, 9)));
      n.settle();
      ASSERT_EQ(n.got.size(), 1u);
      EXPECT_EQ((n.got[0].tlp.hdr[1] >> 13) & 7, rtl::pcie_pkg::StatusUr);
      EXPECT_EQ(n.hub->counters().unsupported_read, 1u);
      EXPECT_EQ(n.hub->counters().unexpected_cpl, 0u);
    }
  }
}

// With ACS, peer traffic below a switch goes up to the root complex and back: it takes just those hops longer.
TEST(TopologyTest, AcsRedirectCosts) {
  const std::vector<std::string> on{"pcie.acs_redirect=1"};
  Node pix("PIX", kNone, "pix0"), pix_acs("PIX", on, "pix1"), pxb("PXB", kNone, "pxb0"), pxb_acs("PXB", on, "pxb1"),
      phb("PHB", kNone, "phb0"), phb_acs("PHB", on, "phb1");
  for (auto [without, with] : {std::pair{&pix, &pix_acs}, std::pair{&pxb, &pxb_acs}}) {
    Node &plain = *without, &acs = *with;
    const uint64_t a = round_trip(plain, kGpuBase), b = round_trip(acs, kGpuBase);
    // each way: uplink twice, root complex once, a switch once more; and the root complex takes a TLP whole
    EXPECT_NEAR(static_cast<double>(b - a), 2 * (2 * 25'000.0 + 200'000 + 110'000) + (24 + 84) * 8125 / 512.0, 20.0);
  }
  EXPECT_EQ(round_trip(phb, kGpuBase), round_trip(phb_acs, kGpuBase));
}

/// ps for reads or writes of GPU memory, at most `window` reads in flight.
uint64_t transfer(Node& n, bool write, unsigned count, unsigned window) {
  const uint64_t t0 = now();
  const std::vector<uint8_t> data(512, 7);
  unsigned sent = 0;
  n.got.clear();
  while (sent < count && now() < t0 + 2'000'000'000) {
    if (write || sent - n.got.size() < window) {
      const uint64_t addr = kGpuBase + 512 * sent;
      sent +=
          n.send(write ? make_mem_write(addr, data.data(), 512, kNicId) : make_mem_read(addr, 512, kNicId, sent % 512));
    }
    run(1000);
  }
  uint8_t last = 0;
  while (now() < t0 + 2'000'000'000 && (write ? last != 7 : n.got.size() < count)) {
    run(1000);
    n.hub->gpu_memory().read(512 * uint64_t{count} - 1, &last, 1);
  }
  const uint64_t t = now() - t0;
  EXPECT_EQ(sent, count);
  n.settle();
  return t;
}

// Bandwidth never grows with distance: reads in flight are limited, and the sockets' link is slower.
TEST(TopologyTest, BandwidthFallsWithDistance) {
  std::map<std::string, std::unique_ptr<Node>> nodes;
  for (const auto& place : kPlaces) nodes[place] = std::make_unique<Node>(place, kNone, place.c_str());
  for (const bool write : {false, true}) {
    uint64_t before = 0;
    for (const auto& place : kPlaces) {
      Node& n = *nodes[place];
      const uint64_t t = transfer(n, write, 1000, 64);
      EXPECT_GE(t + 10'000, before) << place;
      before = t;
    }
    // 160 Gb/s between the sockets: 536 B a TLP
    EXPECT_GE(before, 1000 * 536 * 8000 / 160u);
  }
}

// A GPU that takes writes faster than it is read: the link's rate one way, the memory's the other; and a slow one holds
// the NIC back by its credits, through every switch on the way.
TEST_P(PlacementTest, MemoryBandwidthHoldsTheNicBack) {
  {
    const std::string place = GetParam();
    Node n(place, {"gpu.read_bandwidth=100", "gpu.write_bandwidth=150", "pcie.socket_bandwidth=0"});
    const uint64_t reads = transfer(n, false, 500, 256), writes = transfer(n, true, 2000, 0);
    EXPECT_NEAR(static_cast<double>(reads), 500 * 512 * 80.0, 4e6) << place;
    EXPECT_NEAR(static_cast<double>(writes), 2000.0 * 512 * 8000 / 150, 4e6) << place;
    EXPECT_GT(n.hub->usage(now()).pd.none_ps, 1'000'000u) << place << ": the NIC never waited for credits";
  }
}

// Data for the GPU and a completion entry for the host are not ordered with one another: the entry is visible first. A
// zero-length read of the GPU between the two is the cure.
TEST_P(PlacementTest, FlushReadOrdersTwoDestinations) {
  const std::vector<std::string> slow{"gpu.write_bandwidth=10"};
  Node racing(GetParam(), slow, "racing"), flushing(GetParam(), slow, "flushing");
  {
    for (const bool flush : {false, true}) {
      Node& n = flush ? flushing : racing;
      const std::vector<uint8_t> data(512, 7), cqe(64, 1);
      bool seen = false, data_there = false;
      n.hub->on_host_write([&](uint64_t, unsigned) {
        seen = true;
        uint8_t byte = 0;
        n.hub->gpu_memory().read(4 * 512 - 1, &byte, 1);
        data_there = byte == 7;
      });
      for (unsigned i = 0; i < 4; ++i) n.send_all({make_mem_write(kGpuBase + 512 * i, data.data(), 512, kNicId)});
      if (flush) {
        n.send_all({make_mem_read(kGpuBase, 0, kNicId, 0)});
        n.settle();
        ASSERT_EQ(n.got.size(), 1u);
        EXPECT_EQ(n.got[0].tlp.hdr[1] & 0xfff, 1u);
        EXPECT_EQ(n.got[0].tlp.length_dw(), 1u);
      }
      n.send_all({make_mem_write(kHostBase, cqe.data(), 64, kNicId)});
      n.settle();
      EXPECT_TRUE(seen);
      EXPECT_EQ(data_there, flush);
    }
  }
}

// Whatever is lost on the links and however completers behave, all data are right and nothing is left over.
TEST_P(PlacementTest, ErrorsOnTheLinkAndUnrulyCompleters) {
  {
    Node n(GetParam(), {"pcie.lcrc_error_rate_up=100000", "pcie.lcrc_error_rate_down=100000", "completer.reorder=1",
                        "completer.latency_spread=exponential", "completer.latency_width=200", "completer.interleave=4",
                        "completer.cut=rcb", "completer.delay=20", "pcie.error_seed=5"});
    n.hub->gpu_memory().set_background(9);
    std::vector<Tlp> all;
    for (unsigned i = 0; i < 400; ++i) {
      const std::vector<uint8_t> data(256, static_cast<uint8_t>(i));
      all.push_back(make_mem_read(kGpuBase + 512 * i, 512, kNicId, i));
      all.push_back(make_mem_write(kHostBase + 256 * (i % 16), data.data(), 256, kNicId));
    }
    std::vector<uint8_t> last(16, 0);
    n.hub->on_host_write([&](uint64_t addr, unsigned) {
      uint8_t byte = 0;
      n.hub->host_memory().read(addr - kHostBase, &byte, 1);
      const auto slot = static_cast<unsigned>((addr - kHostBase) / 256);
      EXPECT_EQ(byte, static_cast<uint8_t>(last[slot] + (last[slot] == 0 && byte == slot ? slot : 16)));
      last[slot] = byte;
    });
    n.send_all(all);
    n.settle(5000);
    std::vector<unsigned> got(400, 0);
    for (const auto& g : n.got) {
      unsigned& at = got.at(g.tlp.tag());
      for (size_t k = 0; k < g.tlp.data.size(); ++k) {
        ASSERT_EQ(g.tlp.data[k], pattern_byte(512 * g.tlp.tag() + at + k, 9));
      }
      at += static_cast<unsigned>(g.tlp.data.size());
    }
    for (const unsigned bytes : got) ASSERT_EQ(bytes, 512u);
    for (const End from : {kUp, kDown}) EXPECT_GT(n.hub->nic_link(from, now()).replayed, 0u);
  }
}

// Faults hit the read that they name, of the NIC only.
TEST(TopologyTest, FaultsHitTheReadTheyName) {
  Node n("PIX");
  n.hub->inject(Hub::Where::kGpu, 1, {ReadFault::kCa, 0, 0, {}});
  n.hub->inject(Hub::Where::kHost, 0, {ReadFault::kPoisoned, FaultPlan::kLast, 0, {}});
  unsigned loads = 0;
  n.hub->mmio_read(Initiator::kCpu, kGpuBase, 4, [&](std::vector<uint8_t> v) { loads += v.size() == 4; });
  n.settle();
  for (unsigned i = 0; i < 3; ++i) n.send_all({make_mem_read(kGpuBase, 64, kNicId, i)});
  n.send_all({make_mem_read(kHostBase, 64, kNicId, 3)});
  n.settle();
  EXPECT_EQ(loads, 1u);
  ASSERT_EQ(n.got.size(), 4u);
  for (const auto& g : n.got) {
    EXPECT_EQ((g.tlp.hdr[1] >> 13) & 7, g.tlp.tag() == 1 ? unsigned{rtl::pcie_pkg::StatusCa} : 0u);
    EXPECT_EQ(g.tlp.poisoned(), g.tlp.tag() == 3);
  }
  EXPECT_EQ(n.hub->counters().faults, 2u);
  n.got.clear();
  n.hub->inject_completion(make_completion(make_mem_read(0, 4, kNicId, 900), kCpuId, 0, 4, 0, std::vector<uint8_t>(4)));
  n.settle();
  ASSERT_EQ(n.got.size(), 1u);
  EXPECT_EQ(n.got[0].tlp.tag(), 900u);
}

// The NIC is pulled in the middle of reads, writes and loads: nothing hangs, and after it is back everything works.
TEST_P(PlacementTest, SurpriseRemoval) {
  std::map<unsigned, std::unique_ptr<Node>> nodes;
  for (const unsigned after_ns : {1u, 30u, 100u, 300u, 700u}) {
    nodes[after_ns] =
        std::make_unique<Node>(GetParam(), std::vector<std::string>{"pcie.nph_credits=4", "gpu.write_bandwidth=50"},
                               fmt::format("after{}", after_ns).c_str());
  }
  {
    for (auto& [after_ns, node] : nodes) {
      Node& n = *node;
      const std::vector<uint8_t> data(512, 7);
      std::vector<size_t> sizes;
      for (unsigned i = 0; i < 8; ++i) {
        n.hub->mmio_read(i % 2 ? Initiator::kCpu : Initiator::kGpu, kBar, 8,
                         [&](auto v) { sizes.push_back(v.size()); });
      }
      for (unsigned i = 0; i < after_ns; ++i) {
        n.send(i % 2 ? make_mem_write(kGpuBase + 512 * i, data.data(), 512, kNicId)
                     : make_mem_read(kGpuBase, 512, kNicId, i));
        run(1000);
      }
      n.hub->take_down_nic();
      EXPECT_FALSE(n.hub->nic_up());
      n.hub->mmio_write(Initiator::kCpu, kBar, data.data(), 64);
      n.hub->mmio_read(Initiator::kCpu, kBar, 8, [&](auto v) { sizes.push_back(v.size()); });
      run(1000);
      const size_t heard = n.got.size();
      n.settle();
      EXPECT_EQ(n.got.size(), heard) << "a TLP reached a NIC that is gone";
      EXPECT_EQ(sizes.size(), 9u);
      EXPECT_EQ(n.hub->counters().unexpected_cpl, 0u);
      n.hub->bring_up_nic();
      n.ph = n.pd = n.nph = 0;
      sizes.clear();
      n.got.clear();
      for (unsigned i = 0; i < 8; ++i) n.send_all({make_mem_read(kGpuBase, 64, kNicId, i)});
      for (unsigned i = 0; i < 300; ++i) {
        n.hub->mmio_read(Initiator::kCpu, kBar, 8, [&](auto v) { sizes.push_back(v.size()); });
      }
      n.settle();
      EXPECT_EQ(n.got.size(), 308u);
      EXPECT_EQ(sizes, std::vector<size_t>(300, 8));
    }
  }
}

// A TLP broken off before its end gives back the credits that it took.
TEST(TopologyTest, CancelledTlpsGiveTheirCreditsBack) {
  Node n("direct", {"pcie.ph_credits=2", "pcie.pd_credits=64"});
  const std::vector<uint8_t> data(512, 7);
  const Tlp t = make_mem_write(kGpuBase, data.data(), 512, kNicId);
  for (unsigned i = 0; i < 20; ++i) {
    n.ph += 1, n.pd += 32;  // as an RTL that began it
    n.hub->nic_cancelled(t, sc_core::sc_time_stamp());
    run(1'000'000);
    n.send_all({t}, 5000);
    n.settle();
  }
}

// What is under way is named.
TEST(TopologyTest, PendingNamesWhatIsLeft) {
  Node n("PHB");
  n.answer_loads = false;
  EXPECT_EQ(n.hub->pending(), "");
  EXPECT_TRUE(n.send(make_mem_read(kGpuBase, 64, kNicId, 0)));
  EXPECT_FALSE(n.hub->idle());
  EXPECT_NE(n.hub->pending().find("NIC's link"), std::string::npos) << n.hub->pending();
  n.settle();
  n.hub->mmio_read(Initiator::kCpu, kBar, 4, [](auto) {});
  run(100'000'000);
  EXPECT_FALSE(n.hub->idle());
  EXPECT_EQ(n.hub->pending(), "1 loads of the CPU not answered");
}

// A room for completions that a read never fits into is refused by name.
TEST(TopologyTest, TooLittleRoomForCompletions) {
  unsigned number = 0;
  const auto error = [&](const char* set) -> std::string {
    try {
      Node n("direct", {set, "pcie.mrrs=512"}, fmt::format("refused{}", number++).c_str());
    } catch (const InputError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(error("pcie.cplh_credits=8"),
            "--set: key 'pcie.cplh_credits': 8 credits are less than a read of pcie.mrrs = 512 B can need; allowed: 0 "
            "(no limit), or at least 9");
  EXPECT_EQ(error("pcie.cpld_credits=32").substr(0, 55), "--set: key 'pcie.cpld_credits': 32 credits are less tha");
}

}  // namespace
