// SPDX-License-Identifier: Apache-2.0
// The AllReduce engine on its PCIe hub: results in GPU memory, BAR2 over the bus, idle skipping, determinism.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "rnic/collective/ports.h"
#include "rnic/collective/traffic.h"
#include "rnic/observe/recorder.h"
#include "rnic/regs/regs.h"
#include "support/isolate.h"

namespace rnic::collective {
namespace {

namespace arp = golden::arp;

Profile profile() { return Profile::load("seed-400g"); }

GroupSpec group(arp::Type type, arp::Op op, uint64_t count, unsigned ranks, uint64_t fragment = 256,
                bool wide = false) {
  GroupSpec s;
  s.type = type;
  s.op = op;
  s.count = count;
  s.members = ranks == 64 ? ~uint64_t{0} : (uint64_t{1} << ranks) - 1;
  s.fragment = fragment;
  s.wide = wide;
  s.slots = 4;
  return s;
}

/// A system with its driver; runs `body` as a thread, and expects that nothing differs from the reference.
struct Bench {
  explicit Bench(const ArpOptions& options = {}, const DriverOptions& driver_options = {}, const Profile& p = profile())
      : system(p, options), driver(system, driver_options) {}

  void run(const std::function<void()>& body) {
    system.spawn("sender", body);
    ASSERT_EQ(system.run(), RunEnd::kDone);
    EXPECT_EQ(system.assertion_failures(), 0u);
    EXPECT_TRUE(driver.differences().empty()) << fmt::format("{}", driver.differences().front());
    for (const auto& c : driver.counters()) EXPECT_EQ(c.engine, c.model) << c.name;
    for (const auto& [number, g] : driver.table().groups()) {
      const auto m = driver.check_memory(g);
      EXPECT_EQ(m.compared, g.result_bytes());
      EXPECT_EQ(m.wrong, 0u) << "group " << number << ", first at " << m.first_wrong;
      EXPECT_EQ(m.guard_wrong, 0u) << "group " << number;
    }
    const auto& hub = system.hub().counters();
    EXPECT_EQ(hub.malformed + hub.unsupported_write + hub.unsupported_read, 0u);
  }

  void run_vectors(Values values, const TrafficOptions& traffic) {
    std::vector<std::unique_ptr<Contributions>> owned;
    std::map<unsigned, const Contributions*> data;
    for (const auto& [number, g] : driver.table().groups()) {
      owned.push_back(generated(g.spec.type, values, 1 + number));
      data[number] = owned.back().get();
    }
    run([&] { send_vectors(driver, data, traffic); });
  }

  uint64_t counter(const char* name) { return system.engine().bars().counter(std::string("arp_") + name); }

  ArpSystem system;
  Driver driver;
};

// Results do not depend on the model alone: small whole numbers, whose sum every type holds exactly.
TEST(AllReduceSystemTest, SumsAreTheSumsInGpuMemory) {
  Bench b;
  b.driver.define(group(arp::Type::kFp16, arp::Op::kSum, 1000, 3));
  b.run_vectors(Values::kIndex, {});
  const auto& g = b.driver.table().groups().at(0);
  std::vector<uint8_t> bytes(g.result_bytes());
  ASSERT_TRUE(b.system.hub().gpu_memory().read(g.context.dst - pcie::kGpuBase, bytes.data(), bytes.size()));
  for (unsigned i = 0; i < 1000; ++i) {
    const double want = i % 100 + (i + 1) % 100 + (i + 2) % 100;
    ASSERT_EQ(element_value(arp::Type::kFp16, false, &bytes[2 * i]), want) << "element " << i;
  }
  EXPECT_EQ(b.counter("written"), 8u);  // 2000 B in fragments of 256 B
}

using GridCase = std::tuple<arp::Type, arp::Op, Order, bool>;
class AllReduceGridTest : public ::testing::TestWithParam<GridCase> {};

// Every type, operation and order, with a last fragment that is no whole one: memory, counters and guard bytes as the
// reference says.
TEST_P(AllReduceGridTest, MemoryIsTheReferences) {
  const auto& [type, op, order, wide] = GetParam();
  Bench b;
  b.driver.define(group(type, op, 1237, 5, 512, wide));
  TrafficOptions t;
  t.order = order;
  t.steps = 2;
  b.run_vectors(Values::kSpecial, t);
  EXPECT_EQ(b.counter("frag"), b.driver.table().groups().at(0).fragments() * 5 * 2);
}
INSTANTIATE_TEST_SUITE_P(All, AllReduceGridTest,
                         ::testing::Values(GridCase{arp::Type::kFp16, arp::Op::kSum, Order::kRank, false},
                                           GridCase{arp::Type::kBf16, arp::Op::kMin, Order::kBurst, false},
                                           GridCase{arp::Type::kFp32, arp::Op::kSum, Order::kRandom, false},
                                           GridCase{arp::Type::kInt32, arp::Op::kMax, Order::kBurst, false},
                                           GridCase{arp::Type::kInt64, arp::Op::kSum, Order::kRandom, false},
                                           GridCase{arp::Type::kFp16Acc32, arp::Op::kSum, Order::kBurst, false},
                                           GridCase{arp::Type::kBf16Acc32, arp::Op::kSum, Order::kRank, true},
                                           GridCase{arp::Type::kFp16Acc32, arp::Op::kMax, Order::kRandom, true}),
                         [](const auto& info) { return fmt::format("case{}", info.index); });

// Groups side by side, one of 64 ranks, do not disturb one another.
TEST(AllReduceSystemTest, GroupsRunSideBySide) {
  Bench b;
  b.driver.define(group(arp::Type::kFp32, arp::Op::kSum, 500, 64, 128));
  GroupSpec other = group(arp::Type::kBf16Acc32, arp::Op::kSum, 3000, 2, 4096, true);
  other.group = 63;
  other.members = uint64_t{1} << 63 | 1;
  b.driver.define(other);
  TrafficOptions t;
  t.order = Order::kRandom;
  b.run_vectors(Values::kNormal, t);
}

// Faulty fragments between the good ones: refused, counted, and the results are right all the same.
TEST(AllReduceSystemTest, FaultsLeaveTheResultsAlone) {
  Bench b;
  b.driver.define(group(arp::Type::kFp32, arp::Op::kSum, 4000, 4));
  TrafficOptions t;
  t.order = Order::kRandom;
  t.faults = {0.2, 0.2, 0.2, 0.2, 0.4, 0};
  b.run_vectors(Values::kNormal, t);
  for (const char* name :
       {"duplicate", "late", "no_slot", "damaged", "bad_group", "bad_type", "bad_rank", "bad_offset", "bad_length"}) {
    EXPECT_GT(b.counter(name), 0u) << name;
  }
  EXPECT_EQ(b.counter("written"), 63u);
}

// A flipped bit loses its own slot's result: nothing is written there, everything else is right.
TEST(AllReduceSystemTest, ParityErrorsLoseTheirSlotOnly) {
  Bench b;
  b.driver.define(group(arp::Type::kBf16, arp::Op::kSum, 8000, 3));
  TrafficOptions t;
  t.order = Order::kBurst;
  t.faults.flip = 0.3;
  b.run_vectors(Values::kNormal, t);
  EXPECT_GT(b.counter("parity"), 3u);
  EXPECT_GT(b.counter("written"), 3u);
  EXPECT_EQ(b.counter("parity") + b.counter("written"), 63u);
}

// What a driver reads over the bus is what the events said, and a busy engine shows its slots.
TEST(AllReduceSystemTest, BarTwoCountsOverTheBus) {
  Bench b;
  const auto& g = b.driver.define(group(arp::Type::kInt32, arp::Op::kSum, 1024, 2));
  const auto data = generated(g.spec.type, Values::kNormal, 5);
  unsigned written_events = 0;
  b.system.engine().on_event = [&](const rtl::arp_evt_t& e, uint64_t) {
    written_events += e.kind == rtl::arp_pkg::ArpWritten;
  };
  std::vector<uint64_t> counters;
  uint64_t slots_half = 0, slots_end = 0, busy_end = 1;
  b.system.spawn("sender", [&] {
    const auto read = [&](uint64_t offset, unsigned bytes) {
      uint64_t value = 0;
      sc_core::sc_event back;
      bool done = false;
      b.system.hub().mmio_read(pcie::Initiator::kCpu, b.system.engine().bar(2) + offset, bytes,
                               [&](const std::vector<uint8_t>& v) {
                                 for (size_t i = v.size(); i-- > 0;) value = value << 8 | v[i];
                                 done = true;
                                 back.notify(sc_core::SC_ZERO_TIME);
                               });
      while (!done) sc_core::wait(back);
      return value;
    };
    for (unsigned rank = 0; rank < 2; ++rank) {
      for (uint64_t f = 0; f < 4; ++f) {
        const auto h = g.header(f, static_cast<uint8_t>(rank));
        b.driver.send(h, data->bytes(rank, 0, f * 256, 256));
      }
      b.driver.settle();
      if (rank == 0) slots_half = read(regs::bar2::kArpSlots, 4);
    }
    slots_end = read(regs::bar2::kArpSlots, 4);
    busy_end = read(regs::bar2::kArpState, 4);
    for (uint64_t at = regs::bar2::kArpFrag; at <= regs::bar2::kArpStallDrain; at += 8) counters.push_back(read(at, 8));
  });
  ASSERT_EQ(b.system.run(), RunEnd::kDone);
  EXPECT_EQ(slots_half, 4u);  // used, none done
  EXPECT_EQ(slots_end, 0u);
  EXPECT_EQ(busy_end, 0u);
  const size_t fields = counters.size();
  ASSERT_EQ(fields, rtl::arp_stat_t::kWidth);
  const std::vector<uint64_t> want = {8, 32, 4, 4, 4, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  for (size_t i = 0; i < want.size(); ++i) EXPECT_EQ(counters[i], want[i]) << "counter " << i;
  EXPECT_EQ(written_events, 4u);
}

// Steps follow one another; an acknowledge given twice, or of the wrong step, is refused and changes nothing.
TEST(AllReduceSystemTest, AcknowledgesGivenByHand) {
  DriverOptions given;
  given.acks = Acks::kGiven;
  Bench b({}, given);
  const auto& g = b.driver.define(group(arp::Type::kFp32, arp::Op::kSum, 64, 2));
  const auto data = generated(g.spec.type, Values::kNormal, 5);
  b.run([&] {
    for (unsigned rank = 0; rank < 2; ++rank) {
      b.driver.send(g.header(0, static_cast<uint8_t>(rank)), data->bytes(rank, 0, 0, 256));
    }
    auto next = g.header(0, 0);
    next.step = 1;
    EXPECT_EQ(b.driver.send(next, data->bytes(0, 1, 0, 256)), arp::Kind::kNoSlot);
    EXPECT_EQ(b.driver.acknowledge({0, 1, 0, 0}), arp::Kind::kBadAck);
    EXPECT_EQ(b.driver.acknowledge({0, 0, 0, 0}), arp::Kind::kAccepted);
    EXPECT_EQ(b.driver.acknowledge({0, 0, 0, 0}), arp::Kind::kBadAck);
    EXPECT_EQ(b.driver.send(g.header(0, 0), data->bytes(0, 0, 0, 256)), arp::Kind::kLate);
    EXPECT_EQ(b.driver.send(next, data->bytes(0, 1, 0, 256)), arp::Kind::kAccepted);
    b.driver.settle();
  });
}

// A group that was taken out is unknown, and its slots and rows are free for another one.
TEST(AllReduceSystemTest, RemovedGroupIsUnknown) {
  Bench b;
  GroupSpec all = group(arp::Type::kFp32, arp::Op::kSum, 64, 1);
  all.slots = 1024;
  all.slot_base = 0;
  const auto h = b.driver.define(all).header(0, 0);
  b.run([&] {
    EXPECT_EQ(b.driver.send(h, arp::Bytes(256, 1)), arp::Kind::kAccepted);
    b.driver.remove(0);
    EXPECT_EQ(b.driver.send(h, arp::Bytes(256, 1)), arp::Kind::kBadGroup);
    b.driver.settle();
    all.group = 7;
    b.driver.define(all);
    auto other = h;
    other.group = 7;
    EXPECT_EQ(b.driver.send(other, arp::Bytes(256, 1)), arp::Kind::kAccepted);
    b.driver.settle();
  });
}

struct Outcome {
  std::string text;
  uint64_t clocked = 0;
};

/// Bursts of fragments with pauses between them; everything seen as a text.
Outcome sparse(const ArpOptions& options) {
  const std::string out = test::isolated([&] {
    DriverOptions d;
    d.frames = true;
    Bench b(options, d);
    Recorder seen;
    b.system.observers().add(&seen);
    const auto& g = b.driver.define(group(arp::Type::kFp32, arp::Op::kSum, 4096, 2));
    const auto data = generated(g.spec.type, Values::kNormal, 5);
    b.run([&] {
      for (uint64_t f = 0; f < g.fragments(); ++f) {
        for (unsigned rank = 0; rank < 2; ++rank) {
          b.driver.send(g.header(f, static_cast<uint8_t>(rank)), data->bytes(rank, 0, f * 256, 256));
        }
        if (f % 8 == 0) sc_core::wait(Time(10'137, sc_core::SC_NS));
      }
      b.driver.settle();
    });
    std::string text = fmt::format("{}\n", b.system.engine().clocked_cycles());
    for (const auto& t : seen.tlps) text += fmt::format("{} {}\n", t.ps, t.tlp.describe());
    for (const auto& f : seen.frames) text += fmt::format("{} {} {}\n", f.first_ps, f.last_ps, f.bytes.size());
    for (const double l : b.driver.latencies_ns()) text += fmt::format("{}\n", l);
    return text;
  });
  Outcome o;
  std::istringstream in(out);
  in >> o.clocked;
  o.text = out.substr(std::min(out.size(), out.find('\n') + 1));
  return o;
}

class ArrivalTest : public ::testing::TestWithParam<bool> {};

// What comes at the picosecond of an edge is seen by the next one, what comes just before it by that edge; whether the
// clock stands still or runs.
TEST_P(ArrivalTest, FirstEdgeAfterItSeesIt) {
  ArpOptions options;
  options.skip_idle = GetParam();
  options.phase_ps = 130;
  Bench b(options);
  const auto& g = b.driver.define(group(arp::Type::kFp32, arp::Op::kSum, 16, 3));
  std::vector<uint64_t> taken;
  b.system.engine().on_taken = [&](const rtl::areth_t&, uint64_t first_ps, uint64_t) { taken.push_back(first_ps); };
  b.system.spawn("sender", [&] {
    const uint64_t times[] = {5'000'130, 6'000'129, 7'000'131};
    for (unsigned rank = 0; rank < 3; ++rank) {
      sc_core::wait(from_ps(times[rank]) - sc_core::sc_time_stamp());
      b.system.engine().send({to_rtl(g.header(0, static_cast<uint8_t>(rank))), std::vector<uint8_t>(64), false, 0});
    }
  });
  ASSERT_EQ(b.system.run(), RunEnd::kDone);
  EXPECT_EQ(taken, (std::vector<uint64_t>{5'001'130, 6'000'130, 7'001'130}));
}
INSTANTIATE_TEST_SUITE_P(Clock, ArrivalTest, ::testing::Bool(),
                         [](const auto& info) { return std::string(info.param ? "stands" : "runs"); });

// The clock stands still between the bursts, and nothing shows it.
TEST(AllReduceIdleTest, SkippingIsUnseen) {
  ArpOptions on, off;
  off.skip_idle = false;
  const auto skipped = sparse(on), clocked = sparse(off);
  EXPECT_GT(skipped.text.size(), 1000u);
  EXPECT_TRUE(skipped.text == clocked.text);
  EXPECT_LT(skipped.clocked * 4, clocked.clocked);
}

// No result depends on what registers hold before reset.
TEST(AllReduceIdleTest, ResetValuesDoNotMatter) {
  ArpOptions random;
  random.randomize = true;
  random.seed = 77;
  EXPECT_TRUE(sparse(random).text == sparse({}).text);
}

// Equal runs give equal waveform files, whatever the day, and writing one changes nothing.
TEST(AllReduceIdleTest, EqualRunsGiveEqualFiles) {
  ArpOptions a, b;
  a.trace.path = ::testing::TempDir() + "arp_a.fst";
  b.trace.path = ::testing::TempDir() + "arp_b.fst";
  const auto first = sparse(a);
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // the date in an FST file counts seconds
  const auto second = sparse(b);
  EXPECT_TRUE(first.text == second.text);
  EXPECT_TRUE(first.text == sparse({}).text);
  const auto file = [](const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  const std::string x = file(a.trace.path), y = file(b.trace.path);
  EXPECT_GT(x.size(), 10'000u);
  EXPECT_TRUE(x == y);
}

// Slow PCIe holds results back, never fragments of other slots forever, and loses nothing.
TEST(AllReduceSystemTest, SlowPcieLosesNothing) {
  Profile p = profile();
  p.set("pcie.lanes=1");
  p.set("pcie.ph_credits=1");
  Bench b({}, {}, p);
  b.driver.define(group(arp::Type::kFp16Acc32, arp::Op::kSum, 8192, 2, 4096, true));
  TrafficOptions t;
  t.order = Order::kBurst;
  b.run_vectors(Values::kNormal, t);
  EXPECT_GT(b.counter("stall_drain"), 1000u);
}

}  // namespace
}  // namespace rnic::collective
