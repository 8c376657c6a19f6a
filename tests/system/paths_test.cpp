// SPDX-License-Identifier: Apache-2.0
// From data ready in GPU memory to the wire, past host memory and over it (F6, F7).
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "rnic/host/paths.h"
#include "support/isolate.h"
#include "system/fixture.h"

namespace rnic::test {
namespace {

using host::KeyUse;
using host::Path;
using host::PathStep;
using host::PathTable;
using nlohmann::json;

struct Shot {
  Path path;
  uint64_t bytes;
};

struct Arrangement {
  std::vector<std::string> sets;
  std::vector<Shot> shots{{Path::kGdr, 64}, {Path::kStaged, 64}, {Path::kGdr, 4096}, {Path::kStaged, 4096}};
  host::PathOptions options;
  std::string profile = "seed-400g";
  uint64_t write_at_ps = 0;  ///< first shot: after "ready" the kernel stores `written` over the data; 0: it doesn't
  uint8_t written = 0;
  uint64_t kernel_gap_ps = 0;  ///< first shot: from "ready" on a kernel stores 256 B each time, over the data; 0: none
};

class PathsTest : public SystemTest {
 protected:
  struct Result {
    PathTable table;
    host::PathTrace trace;
    std::vector<uint8_t> payload;   ///< of the frames, in order
    uint64_t sampled_ps = 0;        ///< NIC's read has taken its data
    std::vector<uint64_t> samples;  ///< of each of its TLPs, in order
  };

  std::vector<Result> measure(const Arrangement& s) {
    SystemOptions options;
    make(options, s.sets, s.profile);
    Node& n = system().node();
    n.hub->gpu_memory().set_background(7);
    std::vector<Result> out;
    std::unique_ptr<host::PathRunner> runner;
    EXPECT_EQ(run([&] {
                host::PathOptions o = s.options;
                for (const Shot& x : s.shots) o.largest = std::max(o.largest, x.bytes);
                runner = std::make_unique<host::PathRunner>(*n.ctx, *n.hub, *n.nic, system().profile(), o);
                for (const Shot& x : s.shots) {
                  const size_t first = recorder.events.size(), frames = recorder.frames.size();
                  const auto kernel = [&] {
                    if (s.kernel_gap_ps != 0) {
                      host::Kernel k;
                      k.at = runner->gpu_offset(), k.bytes = x.bytes, k.store = 256, k.seed = 77;
                      k.stores = 20'000'000 / s.kernel_gap_ps, k.gap = from_ps(s.kernel_gap_ps);
                      runner->gpu().run(k);
                    }
                    if (s.write_at_ps == 0 || !out.empty()) return;
                    sc_core::sc_spawn([&] {
                      sc_core::wait(from_ps(s.write_at_ps));
                      n.hub->gpu_memory().write(runner->gpu_offset(), &s.written, 1);
                    });
                  };
                  Result r;
                  r.trace = runner->run(x.path, x.bytes, kernel);
                  const std::vector<Event> events(recorder.events.begin() + static_cast<std::ptrdiff_t>(first),
                                                  recorder.events.end());
                  const ClockInfo clock{0, to_ps(system().profile().time("clock.core_period"))};
                  const auto t =
                      make_stage_table(events, 0, r.trace.qpn, r.trace.wqe, clock, model_latencies(system().profile()),
                                       extra_cycles(declared_extra_cycles()));
                  r.table = make_path_table(r.trace, t, events, system().profile(), *n.hub);
                  for (const Event& e : events) {
                    if (e.kind != EventKind::kMemRdEnd || e.op.wqe != r.trace.wqe) continue;
                    r.sampled_ps = e.ps;
                    r.samples.push_back(e.ps);
                  }
                  for (size_t i = frames; i < recorder.frames.size(); ++i) {
                    const auto& f = recorder.frames[i].bytes;
                    const size_t head = 14 + 20 + 8 + 12 + (i == frames ? 16 : 0);
                    r.payload.insert(r.payload.end(), f.begin() + static_cast<std::ptrdiff_t>(head), f.end() - 4);
                  }
                  out.push_back(std::move(r));
                }
              }),
              RunEnd::kDone);
    return out;
  }

  /// Per shot, "name" -> ps, beside the declared uses of keys, for comparisons between runs.
  json isolated_run(const Arrangement& s) {
    const std::string text = isolated([&] {
      json all = json::array();
      for (const Result& r : measure(s)) {
        json j{{"ps", r.table.ps()},
               {"copy_engine", r.table.copy_engine_ps},
               {"nic_read", r.table.nic_read_ps},
               {"payload", r.payload},
               {"sampled", r.sampled_ps - r.trace.ready_ps},
               {"copied", r.trace.copy.first_read_ps - r.trace.ready_ps},
               {"steps", json::array()}};
        for (const PathStep& step : r.table.steps) {
          json keys = json::object();
          for (const KeyUse& k : step.keys) keys[k.key] = {{"times", k.times}, {"bytes", k.bytes}};
          j["steps"].push_back({{"name", step.part + ": " + step.name}, {"ps", step.ps()}, {"keys", keys}});
        }
        all.push_back(std::move(j));
      }
      return all.dump();
    });
    return text.empty() ? json::array() : json::parse(text);
  }
};

// F7 and F6 come out on the default profile at 64 B and 4 KiB; the steps stand gapless and sum to the total.
TEST_F(PathsTest, DefaultProfileMeetsBothPaths) {
  const auto all = measure({});
  ASSERT_EQ(all.size(), 4u);
  for (size_t i = 0; i < all.size(); i += 2) {
    const PathTable &gdr = all[i].table, &staged = all[i + 1].table;
    SCOPED_TRACE(gdr.bytes);
    EXPECT_GE(gdr.ps(), 1'200'000u);
    EXPECT_LE(gdr.ps(), 1'800'000u);
    EXPECT_GE(staged.ps(), 8'000'000u);
    EXPECT_LE(staged.ps(), 12'000'000u);
    EXPECT_GE(saved_ps(gdr, staged), 2'000'000);
    EXPECT_LE(saved_ps(gdr, staged), 3'000'000);
  }
  for (const Result& r : all) {
    uint64_t sum = 0, at = r.table.start_ps;
    for (const PathStep& s : r.table.steps) {
      EXPECT_EQ(s.start_ps, at) << s.name;
      EXPECT_LE(s.lo_ps, s.ps()) << s.name;
      EXPECT_GE(s.hi_ps, s.ps()) << s.name;
      at = s.end_ps;
      sum += s.ps();
    }
    EXPECT_EQ(sum, r.table.ps());
  }
}

// A key that is changed by 13 ns changes the steps that name it by 13 ns for each time that they name it, and no other.
TEST_F(PathsTest, EachKeyMovesItsStepsAlone) {
  // 64 B at 512 Gb/s are 1 ns: no fraction of a ns moves the wait for the clock edge.
  const std::string pace = "gpu.copy_bandwidth=512";
  Profile p = Profile::load("seed-400g");
  p.set(pace);
  Arrangement plain;
  plain.sets = {pace};
  const json base = isolated_run(plain);
  ASSERT_EQ(base.size(), 4u);
  std::set<std::string> keys;
  for (const auto& shot : base) {
    for (const auto& step : shot["steps"]) {
      for (const auto& [key, use] : step["keys"].items()) {
        if (use["times"] != 0) keys.insert(key);
      }
    }
  }
  for (const char* must :
       {"gpu.signal_latency",     "gpu.copy_start_latency", "gpu.copy_bandwidth",    "gpu.copy_completion_latency",
        "host.interrupt_latency", "host.context_switch",    "host.poll_interval",    "host.copy_launch_cost",
        "host.post_cost",         "host.mmio_latency",      "gpu.mmio_latency",      "host.store_gap",
        "gpu.read_latency",       "host.read_latency",      "host.write_latency",    "devmem.read_latency",
        "mac.tx_latency",         "pcie.gpu_link_latency",  "pcie.nic_link_latency", "pcie.hub_host_latency",
        "pcie.hub_peer_latency"}) {
    EXPECT_EQ(keys.count(must), 1u) << must << " is in no step";
  }
  for (const std::string& key : keys) {
    SCOPED_TRACE(key);
    const bool rate = key == "gpu.copy_bandwidth";
    const double was = p.number(key), is = rate ? was / 2 : was + 13;
    Arrangement other;
    other.sets = {pace, fmt::format("{}={}", key, is)};
    const json moved = isolated_run(other);
    ASSERT_EQ(moved.size(), base.size());
    for (size_t i = 0; i < base.size(); ++i) {
      std::map<std::string, int64_t> before, after, expected;
      for (const auto& s : base[i]["steps"]) {
        before[s["name"]] += s["ps"].get<int64_t>();
        if (!s["keys"].contains(key)) continue;
        const auto& use = s["keys"][key];
        expected[s["name"]] += rate ? std::llround(use["bytes"].get<double>() * 8000 * (1 / is - 1 / was))
                                    : 13'000 * use["times"].get<int64_t>();
      }
      for (const auto& s : moved[i]["steps"]) after[s["name"]] += s["ps"].get<int64_t>();
      for (const auto& [name, ps] : after) {
        EXPECT_EQ(ps - before[name], expected[name]) << "shot " << i << ", " << name;
      }
    }
  }
}

// A polling thread needs neither interrupt nor context switch; it sees the flag one poll later.
TEST_F(PathsTest, PollingSparesTheContextSwitches) {
  Arrangement poll;
  poll.shots = {{Path::kStaged, 64}};
  const json blocked = isolated_run(poll);
  poll.sets = {"host.gpu_wait=poll"};
  const json polled = isolated_run(poll);
  ASSERT_EQ(blocked.size(), 1u);
  ASSERT_EQ(polled.size(), 1u);
  const Profile p = Profile::load("seed-400g");
  const double spared =
      2 * (p.number("host.interrupt_latency") + p.number("host.context_switch") - p.number("host.poll_interval"));
  EXPECT_EQ(blocked[0]["ps"].get<double>() - polled[0]["ps"].get<double>(), 1000 * spared);
}

// What leaves the MAC is what GPU memory held when it was read: by the NIC on the one path, by the copy engine on the
// other, whatever a kernel stores behind that.
TEST_F(PathsTest, BytesAreThoseOfTheRead) {
  for (const Path path : {Path::kGdr, Path::kStaged}) {
    SCOPED_TRACE(host::to_string(path));
    Arrangement s;
    s.shots = {{path, 64}};
    const json plain = isolated_run(s);
    ASSERT_EQ(plain.size(), 1u);
    const auto old = plain[0]["payload"].get<std::vector<uint8_t>>();
    ASSERT_EQ(old.size(), 64u);
    s.written = static_cast<uint8_t>(~old[0]);
    const uint64_t read = plain[0][path == Path::kGdr ? "sampled" : "copied"];
    // Right before the read, right behind it, and on the staged path shortly before the NIC reads host memory.
    const std::vector<std::pair<uint64_t, bool>> cases{
        {read - 1, true},
        {read + 1, false},
        {plain[0]["sampled"].get<uint64_t>() + (path == Path::kGdr ? 2 : -1), false}};
    for (const auto& [at, seen] : cases) {
      SCOPED_TRACE(at);
      s.write_at_ps = at;
      const json run = isolated_run(s);
      auto expected = old;
      if (seen) expected[0] = s.written;
      EXPECT_EQ(run[0]["payload"].get<std::vector<uint8_t>>(), expected);
      EXPECT_EQ(run[0]["ps"], plain[0]["ps"]);
    }
  }
}

// A kernel goes over the buffer all the while: every 512 B on the wire (pcie.mrrs) are those that GPU memory held when
// the NIC read them; on the staged path every 256 B (pcie.mps) those of the copy engine's instant.
TEST_F(PathsTest, BytesOfARunningKernel) {
  for (const Path path : {Path::kGdr, Path::kStaged}) {
    SCOPED_TRACE(host::to_string(path));
    const bool gdr = path == Path::kGdr;
    const std::string text = isolated([&] {
      constexpr uint64_t kBytes = 4096, kGap = 331;  // ps
      constexpr unsigned kStore = 256;
      Arrangement s;
      s.sets = {"pcie.mps=256", "pcie.mrrs=512"};
      s.shots = {{path, kBytes}};
      s.kernel_gap_ps = kGap;
      const auto r = measure(s).at(0);
      const auto held = [&](uint64_t offset, uint64_t ps) {
        uint8_t byte = pattern_byte((1 << 20) + offset, 7);
        // Store n is made n + 1 gaps after "ready".
        const uint64_t stores = ps <= r.trace.ready_ps ? 0 : (ps - r.trace.ready_ps - 1) / kGap;
        const uint64_t slots = kBytes / kStore, slot = offset / kStore;
        if (stores > slot) {
          const uint64_t n = slot + (stores - 1 - slot) / slots * slots;
          byte = pattern_byte(n * kStore + offset % kStore, 77);
        }
        return byte;
      };
      const uint64_t piece = gdr ? 512 : 256;
      std::vector<uint64_t> at = r.samples;
      if (!gdr) {
        at.clear();
        const double byte_ps = 8000.0 / system().profile().number("gpu.copy_bandwidth");
        for (uint64_t i = 0; i < kBytes / piece; ++i) {
          at.push_back(r.trace.copy.first_read_ps + static_cast<uint64_t>(byte_ps * 256.0 * static_cast<double>(i)));
        }
      }
      std::string wrong;
      if (at.size() != kBytes / piece) return fmt::format("{} reads", at.size());
      if (r.payload.size() != kBytes) return fmt::format("{} B on the wire", r.payload.size());
      uint64_t of_one_instant = 0, seen = 0;
      for (uint64_t i = 0; i < kBytes; ++i) {
        // A store and a read within a ps of one another: either is right.
        const uint64_t t = at[i / piece];
        const bool ok = r.payload[i] == held(i, t - 1) || r.payload[i] == held(i, t + 2);
        if (!ok && wrong.size() < 200) wrong += fmt::format("byte {} ", i);
        of_one_instant += r.payload[i] == held(i, at[0]);
        seen += r.payload[i] != pattern_byte((1 << 20) + i, 7);
      }
      if (of_one_instant == kBytes) wrong += "the message is of one instant";
      if (seen < kBytes / 2) wrong += "the kernel's stores were not seen";
      return wrong.empty() ? std::string("good") : wrong;
    });
    EXPECT_EQ(text, "good");
  }
}

// All bytes of a message of many packets and odd size arrive over both paths; the steps still sum to the total.
TEST_F(PathsTest, LargeOddMessages) {
  Arrangement s;
  s.shots = {{Path::kGdr, 20001}, {Path::kStaged, 20001}, {Path::kStaged, 1}, {Path::kGdr, 1}};
  s.options.mtu = 1024;
  const auto all = measure(s);
  ASSERT_EQ(all.size(), 4u);
  for (const Result& r : all) {
    SCOPED_TRACE(r.table.bytes);
    std::vector<uint8_t> expected(r.table.bytes), got;
    for (uint64_t i = 0; i < expected.size(); ++i) {
      expected[i] = pattern_byte((1 << 20) + i, 7);
    }
    got = r.payload;
    got.resize(std::min(got.size(), expected.size()));  // pad bytes of the last packet
    EXPECT_EQ(got, expected);
    uint64_t sum = 0;
    for (const PathStep& step : r.table.steps) sum += step.ps();
    EXPECT_EQ(sum, r.table.ps());
  }
}

// A GPU that posts needs no flag in host memory; a queue in host memory and BlueFlame pushes have their own steps.
TEST_F(PathsTest, OtherPosters) {
  Arrangement s;
  s.shots = {{Path::kGdr, 64}};
  const json cpu = isolated_run(s);
  s.options.initiator = pcie::Initiator::kGpu;
  const json gpu = isolated_run(s);
  for (const auto& step : gpu[0]["steps"]) EXPECT_EQ(step["keys"].count("host.poll_interval"), 0u);
  EXPECT_LT(gpu[0]["ps"], cpu[0]["ps"]);
  for (const auto where : {host::SqWhere::kBf, host::SqWhere::kHost}) {
    Arrangement other;
    other.options.sq = where;
    const json all = isolated_run(other);
    ASSERT_EQ(all.size(), 4u);
    for (const auto& shot : all) {
      uint64_t sum = 0;
      for (const auto& step : shot["steps"]) sum += step["ps"].get<uint64_t>();
      EXPECT_EQ(sum, shot["ps"]);
    }
  }
}

// Other profiles and topologies print their own numbers; a longer way costs more on every path.
TEST_F(PathsTest, ProfilesAndTopologies) {
  Arrangement s;
  s.shots = {{Path::kGdr, 64}, {Path::kStaged, 64}};
  s.profile = "gen5-measured";
  const json direct = isolated_run(s);
  s.sets = {"pcie.topology=PXB"};
  const json pxb = isolated_run(s);
  ASSERT_EQ(direct.size(), 2u);
  ASSERT_EQ(pxb.size(), 2u);
  for (size_t i = 0; i < 2; ++i) EXPECT_GT(pxb[i]["ps"], direct[i]["ps"]);
  // NIC to GPU: one switch more than to nothing, two in all.
  bool named = false;
  for (const auto& step : pxb[0]["steps"]) {
    named = named || (step["name"] == "DMA read: PCIe to memory" && step["keys"].contains("pcie.switch_latency") &&
                      step["keys"]["pcie.switch_latency"]["times"] == 2);
  }
  EXPECT_TRUE(named);
}

}  // namespace
}  // namespace rnic::test
