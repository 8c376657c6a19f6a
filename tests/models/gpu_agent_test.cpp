// SPDX-License-Identifier: Apache-2.0
// The GPU's copy engine and its signal, alone on a hub.
#include "rnic/host/gpu_agent.h"

#include <gtest/gtest.h>

#include "rnic/core/error.h"

namespace {

using namespace rnic;
using namespace rnic::pcie;
using host::CopyJob;
using host::CopyTimes;

constexpr uint64_t kFlag = kHostBase + 0x100, kDoorbell = kGpuBase + 0x1000, kTo = kHostBase + 0x10000;
constexpr uint64_t kFrom = 0x20000;

void run(uint64_t ns) { sc_core::sc_start(Time(static_cast<double>(ns), sc_core::SC_NS)); }

struct Node {
  Profile profile = Profile::load("seed-400g");
  Observers observers;
  std::unique_ptr<Hub> hub;
  std::unique_ptr<host::GpuAgent> gpu;

  explicit Node(const std::vector<std::string>& sets = {}, const char* name = "hub") {
    for (const char* s :
         {"pcie.gpu_link_latency=20", "pcie.hub_host_latency=60", "host.write_latency=60", "host.mmio_latency=90",
          "gpu.mmio_latency=300", "gpu.signal_latency=250", "gpu.copy_start_latency=1000", "gpu.copy_bandwidth=400",
          "gpu.copy_completion_latency=200", "pcie.mps=256"}) {
      profile.set(s);
    }
    for (const auto& s : sets) profile.set(s);
    hub = std::make_unique<Hub>(name, profile, observers, 0);
    hub->gpu_memory().set_background(5);
    gpu = std::make_unique<host::GpuAgent>(*hub, profile, kDoorbell);
  }

  std::vector<uint8_t> host(uint64_t bus, uint64_t n) {
    std::vector<uint8_t> v(n);
    hub->host_memory().read(bus - kHostBase, v.data(), n);
    return v;
  }
  std::vector<uint8_t> gpu_bytes(uint64_t at, uint64_t n) {
    std::vector<uint8_t> v(n);
    hub->gpu_memory().read(at, v.data(), n);
    return v;
  }
};

// Whatever its size and place, a copy brings every byte and touches none beside them; the completion comes last.
TEST(GpuAgentTest, CopiesEveryByteAndNoOther) {
  Node n;
  uint64_t to = kTo;
  for (const uint64_t bytes : {1u, 3u, 64u, 255u, 256u, 257u, 4096u, 5000u, 20001u}) {
    for (const unsigned skew : {0u, 1u, 253u}) {
      SCOPED_TRACE(testing::Message() << bytes << " B, skew " << skew);
      const uint64_t at = to + 64 + skew;
      const uint32_t job = n.gpu->copy({kFrom + 3 * skew, at, bytes, kFlag, 77});
      run(20'000);
      const CopyTimes& t = n.gpu->times(job);
      EXPECT_EQ(n.host(at, bytes), n.gpu_bytes(kFrom + 3 * skew, bytes));
      EXPECT_EQ(n.host(at - 8, 8), std::vector<uint8_t>(8));
      EXPECT_EQ(n.host(at + bytes, 8), std::vector<uint8_t>(8));
      EXPECT_NE(t.flag_visible_ps, 0u);
      EXPECT_LT(t.last_read_ps, t.data_visible_ps);
      EXPECT_LT(t.data_visible_ps, t.flag_visible_ps);
      to += 0x10000;
    }
  }
  EXPECT_TRUE(n.hub->idle()) << n.hub->pending();
}

// Each latency stands where it belongs, to the picosecond.
TEST(GpuAgentTest, EveryLatencyInItsPlace) {
  Node n;
  run(1);
  const uint32_t job = n.gpu->copy({kFrom, kTo, 1024, kFlag, 1});
  run(20'000);
  const CopyTimes& t = n.gpu->times(job);
  EXPECT_EQ(t.store_ps, 1'000u);
  EXPECT_EQ(t.arrived_ps - t.store_ps, 90'000u + 60'000 + 28 * 8125 / 512 + 20'000);
  EXPECT_EQ(t.started_ps - t.arrived_ps, 1'000'000u);
  EXPECT_EQ(t.first_read_ps - t.started_ps, 256u * 20);  // 400 Gb/s: 20 ps a byte
  EXPECT_EQ(t.last_read_ps - t.started_ps, 1024u * 20);
  EXPECT_EQ(t.flag_out_ps - t.last_read_ps, 200'000u);
  EXPECT_EQ(t.flag_visible_ps - t.flag_out_ps, 28 * 8125 / 512 + 20'000u + 60'000 + 60'000);
}

// A copy engine that is faster than its link is held back by it, and nothing is lost.
TEST(GpuAgentTest, LinkHoldsTheCopyEngineBack) {
  Node n({"gpu.copy_bandwidth=0", "pcie.lanes=1"});
  const uint32_t job = n.gpu->copy({kFrom, kTo, 65536, kFlag, 1});
  run(100'000);
  const CopyTimes& t = n.gpu->times(job);
  // 256 TLPs of 256 + 24 B at 16 times the byte time; the last ones may wait in the link's buffer.
  const uint64_t tlp = 280 * 8125 * 16 / 512;
  EXPECT_GE(t.data_visible_ps - t.first_read_ps, 256 * tlp);
  EXPECT_LE(t.data_visible_ps - t.first_read_ps, 260 * tlp + 140'000);
  EXPECT_GE(t.last_read_ps - t.first_read_ps, 250 * tlp);
  EXPECT_EQ(n.host(kTo, 65536), n.gpu_bytes(kFrom, 65536));
}

// What is sent is what GPU memory held when the engine read it: a store before that is in, one behind it is not.
TEST(GpuAgentTest, BytesAreThoseOfTheReadsInstant) {
  Node n;
  const uint32_t first = n.gpu->copy({kFrom, kTo, 64, kFlag, 1});
  run(10'000);
  const CopyTimes& t = n.gpu->times(first);
  const Time read_after = from_ps(t.first_read_ps - t.store_ps);
  const uint8_t early = 0xe1, late = 0x1a;
  const uint32_t second = n.gpu->copy({kFrom, kTo + 0x1000, 64, kFlag, 2});
  sc_core::sc_start(read_after - Time(1, sc_core::SC_PS));
  n.hub->gpu_memory().write(kFrom, &early, 1);
  sc_core::sc_start(Time(2, sc_core::SC_PS));
  n.hub->gpu_memory().write(kFrom + 1, &late, 1);
  const auto before = n.host(kTo, 64);
  run(10'000);
  EXPECT_NE(n.gpu->times(second).flag_visible_ps, 0u);
  const auto got = n.host(kTo + 0x1000, 64);
  EXPECT_EQ(got[0], early);
  EXPECT_EQ(got[1], before[1]);
  EXPECT_NE(late, before[1]);
}

/// What a kernel has stored, to tell what GPU memory held at any time.
struct Stores {
  struct One {
    uint64_t ps, at;
    std::vector<uint8_t> data;
  };
  std::vector<One> all;

  explicit Stores(host::GpuAgent& gpu) {
    gpu.on_store([this](uint64_t, uint64_t at, const std::vector<uint8_t>& data) {
      all.push_back({DelayQueue::now_ps(), at, data});
    });
  }
  /// With `at_once`, those of that very instant included.
  std::vector<uint8_t> held(uint64_t at, uint64_t bytes, uint64_t ps, bool at_once = false) const {
    std::vector<uint8_t> v(bytes);
    std::vector<bool> known(bytes);
    uint64_t left = bytes;
    for (auto s = all.rbegin(); s != all.rend() && left != 0; ++s) {
      if (s->ps > ps || (s->ps == ps && !at_once)) continue;
      for (uint64_t i = 0; i < s->data.size(); ++i) {
        const uint64_t k = s->at + i - at;
        if (s->at + i < at || k >= bytes || known[k]) continue;
        v[k] = s->data[i], known[k] = true, --left;
      }
    }
    for (uint64_t k = 0; k < bytes; ++k) {
      if (!known[k]) v[k] = pattern_byte(at + k, 5);
    }
    return v;
  }
  /// A store at the instant of the read comes before it or behind it.
  bool could_be(const std::vector<uint8_t>& got, uint64_t at, uint64_t ps) const {
    return got == held(at, got.size(), ps) || got == held(at, got.size(), ps, true);
  }
};

/// Records the data of the NIC's reads, and when memory was read for each.
struct Reader : TlpTarget, Observer {
  std::vector<uint8_t> data;
  std::vector<uint64_t> sampled;
  void deliver(Tlp t) override { data.insert(data.end(), t.data.begin(), t.data.end()); }
  void on_event(const Event& e) override {
    if (e.kind == EventKind::kMemRdEnd) sampled.push_back(e.ps);
  }
};

// While a kernel goes over a buffer, the NIC reads it (GPUDirect) and the copy engine copies it (staged). Each read of
// the NIC, and each write TLP of the copy engine, holds the bytes of one instant, none torn; one behind the other hold
// those of their own instants, so that a message of several may be of no single one. What was stored before the first
// read is in all of them.
class GpuKernelTest : public testing::TestWithParam<bool> {};
TEST_P(GpuKernelTest, StoresAreSeenByTheirInstants) {
  constexpr uint64_t kBytes = 4096;
  const bool hbm = GetParam();
  Node n(hbm ? std::vector<std::string>{"gpu.memory=hbm", "gpu.hbm_channels=4", "gpu.hbm_bandwidth=900"}
             : std::vector<std::string>{},
         hbm ? "hbm" : "flat");
  Reader nic;
  n.observers.add(&nic);
  n.hub->attach_nic(&nic);
  n.hub->gpu_pages().pin(kFrom, kBytes, {});
  Stores stores(*n.gpu);
  host::Kernel k;
  k.at = kFrom, k.bytes = kBytes, k.store = 256, k.stores = 40'000, k.gap = from_ps(97), k.seed = 77;
  if (hbm) k.gbps = 500;
  n.gpu->run(k);
  run(500);
  const uint32_t job = n.gpu->copy({kFrom, kTo, kBytes, kFlag, 1});
  for (unsigned i = 0; i < 8; ++i) n.hub->from_nic(make_mem_read(kGpuBase + kFrom + 512 * i, 512, 0x0100, i));
  run(20'000);
  EXPECT_FALSE(n.gpu->kernel_runs());
  ASSERT_EQ(stores.all.size(), 40'000u);
  ASSERT_EQ(nic.sampled.size(), 8u);
  ASSERT_EQ(nic.data.size(), kBytes);
  for (unsigned i = 0; i < 8; ++i) {
    const std::vector<uint8_t> got(nic.data.begin() + 512 * i, nic.data.begin() + 512 * (i + 1));
    EXPECT_TRUE(stores.could_be(got, kFrom + 512 * i, nic.sampled[i])) << "read " << i;
  }
  EXPECT_NE(nic.data, stores.held(kFrom, kBytes, nic.sampled.front()));
  EXPECT_NE(nic.data, stores.held(kFrom, kBytes, nic.sampled.back()));
  const CopyTimes& t = n.gpu->times(job);
  const auto copied = n.host(kTo, kBytes);
  if (!hbm) {  // 400 Gb/s: 256 B take 5.12 ns
    for (unsigned i = 0; i < kBytes / 256; ++i) {
      const std::vector<uint8_t> got(copied.begin() + 256 * i, copied.begin() + 256 * (i + 1));
      EXPECT_TRUE(stores.could_be(got, kFrom + 256 * i, t.first_read_ps + 5120 * uint64_t{i})) << "write " << i;
    }
  }
  EXPECT_NE(copied, stores.held(kFrom, kBytes, t.first_read_ps));
  EXPECT_NE(copied, nic.data);
  // When the kernel's flag is visible all of it is.
  k.stores = 128, k.flag = kFlag, k.value = 9, k.gbps = 0;
  n.gpu->run(k);
  while (n.host(kFlag, 1)[0] != 9) run(1);
  nic.data.clear();
  n.hub->from_nic(make_mem_read(kGpuBase + kFrom, 4096, 0x0100, 9));
  run(5'000);
  EXPECT_EQ(nic.data, stores.held(kFrom, kBytes, ~uint64_t{0}));
}
INSTANTIATE_TEST_SUITE_P(Memories, GpuKernelTest, testing::Values(false, true),
                         [](const auto& p) { return p.param ? "hbm" : "flat"; });

// A kernel that can't be is refused, and so is a second one beside the first.
TEST(GpuAgentTest, RefusesKernelsThatCannotBe) {
  Node n;
  host::Kernel good;
  good.at = kFrom, good.bytes = 64, good.stores = 3, good.gap = from_ps(1000);
  const auto with = [&](auto change) {
    host::Kernel k = good;
    change(k);
    EXPECT_THROW(n.gpu->run(k), InputError);
  };
  with([](auto& k) { k.store = 0; });
  with([](auto& k) { k.store = 24; });
  with([](auto& k) { k.bytes = 0; });
  with([](auto& k) { k.stores = 0; });
  with([](auto& k) { k.gap = {}; });
  with([](auto& k) { k.at = kGpuSize - 32; });
  with([](auto& k) { k.at = ~uint64_t{0} - 31; });
  with([](auto& k) { k.flag = kGpuBase; });
  with([](auto& k) { k.gbps = 1; });  // flat memory knows no contention
  n.gpu->run(good);
  EXPECT_THROW(n.gpu->run(good), InputError);
  run(10);
  EXPECT_FALSE(n.gpu->kernel_runs());
  EXPECT_NO_THROW(n.gpu->run(good));
}

// Jobs run one after the other, in order.
TEST(GpuAgentTest, JobsRunInTurn) {
  Node n;
  const uint32_t a = n.gpu->copy({kFrom, kTo, 4096, kFlag, 1}), b = n.gpu->copy({kFrom, kTo + 0x10000, 64, kFlag, 2});
  const uint32_t c = n.gpu->copy({kFrom, kTo + 0x20000, 0, kFlag, 3});
  run(20'000);
  EXPECT_GE(n.gpu->times(b).started_ps, n.gpu->times(a).flag_out_ps + 1'000'000);
  EXPECT_GE(n.gpu->times(c).started_ps, n.gpu->times(b).flag_out_ps + 1'000'000);
  EXPECT_EQ(n.host(kFlag, 4), (std::vector<uint8_t>{3, 0, 0, 0}));
  for (const uint32_t job : {a, b, c}) EXPECT_NE(n.gpu->times(job).flag_visible_ps, 0u) << job;
}

// The signal: fence, store, link, root complex, memory.
TEST(GpuAgentTest, SignalsTheKernelsEnd) {
  Node n;
  n.gpu->signal(kFlag, 9);
  run(10'000);
  EXPECT_EQ(n.gpu->signal_store_ps(), 250'000u);
  EXPECT_EQ(n.gpu->signal_visible_ps() - 250'000, 300'000u + 28 * 8125 / 512 + 20'000 + 60'000 + 60'000);
  EXPECT_EQ(n.host(kFlag, 4), (std::vector<uint8_t>{9, 0, 0, 0}));
}

// What reaches outside a memory is refused before anything happens; a store that is no job's is passed over.
TEST(GpuAgentTest, RefusesWhatCannotBe) {
  Node n;
  EXPECT_THROW(n.gpu->copy({kGpuSize - 63, kTo, 64, kFlag, 1}), InputError);
  EXPECT_THROW(n.gpu->copy({~uint64_t{0}, kTo, 64, kFlag, 1}), InputError);
  EXPECT_THROW(n.gpu->copy({kFrom, kHostBase + kHostSize - 63, 64, kFlag, 1}), InputError);
  EXPECT_THROW(n.gpu->copy({kFrom, kHostBase - 1, 64, kFlag, 1}), InputError);
  EXPECT_THROW(n.gpu->copy({kFrom, kTo, ~uint64_t{0}, kFlag, 1}), InputError);
  EXPECT_THROW(n.gpu->copy({kFrom, kTo, 64, kFlag + 1, 1}), InputError);
  EXPECT_THROW(n.gpu->copy({kFrom, kTo, 64, kTo + 60, 1}), InputError);
  EXPECT_THROW(n.gpu->signal(kGpuBase, 1), InputError);
  const uint32_t stray = 99;
  n.hub->mmio_write(Initiator::kCpu, kDoorbell, reinterpret_cast<const uint8_t*>(&stray), 4);
  run(10'000);
  EXPECT_TRUE(n.hub->idle());
}

}  // namespace
