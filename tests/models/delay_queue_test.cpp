// SPDX-License-Identifier: Apache-2.0
#include "rnic/core/delay_queue.h"

#include <gtest/gtest.h>

#include <random>

#include "rnic/core/error.h"
#include "rnic/core/serializer.h"
#include "rnic/pcie/hub.h"
#include "rnic/profile/profile.h"

namespace {

using rnic::DelayQueue;
using rnic::from_ps;
using rnic::Serializer;
using rnic::to_ps;

uint64_t now() { return to_ps(sc_core::sc_time_stamp()); }

// Entries run at exactly their time, in order of time and then of scheduling, whatever the order they were given in.
TEST(DelayQueueTest, RunsInOrderOfTimeThenOfScheduling) {
  DelayQueue q("q");
  std::mt19937 rng(1);
  std::vector<std::pair<uint64_t, int>> ran, expected;
  for (int i = 0; i < 500; ++i) {
    const uint64_t at = rng() % 50;
    expected.emplace_back(at, i);
    q.at(from_ps(at), [&ran, at, i] {
      EXPECT_EQ(now(), at);
      ran.emplace_back(at, i);
    });
  }
  std::stable_sort(expected.begin(), expected.end(), [](auto& a, auto& b) { return a.first < b.first; });
  sc_core::sc_start(from_ps(1000));
  EXPECT_EQ(ran, expected);
  EXPECT_TRUE(q.empty());
}

// An entry may schedule others, for the same instant, for earlier than what is queued, and for later.
TEST(DelayQueueTest, EntriesScheduleEntries) {
  DelayQueue q("q");
  std::vector<std::pair<uint64_t, int>> ran;
  const auto note = [&](int i) { ran.emplace_back(now(), i); };
  q.at(from_ps(100), [&] { note(3); });
  q.at(from_ps(10), [&] {
    note(0);
    q.after(from_ps(0), [&] { note(1); });
    q.after(from_ps(5), [&] { note(2); });
  });
  sc_core::sc_start(from_ps(50));
  q.after(from_ps(0), [&] { note(4); });  // between runs, for now
  sc_core::sc_start(from_ps(100));
  const std::vector<std::pair<uint64_t, int>> expected = {{10, 0}, {10, 1}, {15, 2}, {50, 4}, {100, 3}};
  EXPECT_EQ(ran, expected);
}

// A time that is past is refused by name.
TEST(DelayQueueTest, PastIsAnError) {
  DelayQueue q("q");
  q.at(from_ps(10), [] {});
  sc_core::sc_start(from_ps(20));
  try {
    q.at(from_ps(19), [] {});
    FAIL() << "accepted";
  } catch (const rnic::SimError& e) {
    EXPECT_EQ(std::string(e.what()), "q: asked at 20 ps to do something at 19 ps, which is past");
  }
}

// Back-to-back transfers end at floor(n * num / den) after the start, at every size, for every link rate.
TEST(SerializerTest, BackToBackBytesCarryTheirFraction) {
  struct Rate {
    uint64_t num, den;
  };
  for (const Rate r : {Rate{8125, 512}, Rate{20, 1}, Rate{40, 1}, Rate{80, 1}, Rate{10, 1}, Rate{1, 3}, Rate{7, 5}}) {
    Serializer s(r.num, r.den);
    const uint64_t begin = 123;
    uint64_t bytes = 0, end = begin;
    for (unsigned i = 1; i < 2000; ++i) {
      const uint64_t n = i * 7919 % 301 + 1;
      const auto slot = s.send(begin, n);
      EXPECT_EQ(slot.start_ps, end);
      bytes += n;
      end = begin + bytes * r.num / r.den;
      ASSERT_EQ(slot.end_ps, end) << r.num << "/" << r.den << " after " << bytes;
    }
  }
}

// After a gap the fraction is gone: the transfer starts on the given picosecond.
TEST(SerializerTest, GapDropsTheFraction) {
  Serializer s(8125, 512);
  EXPECT_EQ(s.send(0, 24).end_ps, 380u);
  EXPECT_EQ(s.send(1000, 24).end_ps, 1380u);
  EXPECT_EQ(s.send(1000, 24).end_ps, 1761u);  // 48 B take 761.7 ps
}

// A byte's time on each PCIe generation, encoding included; Gen5 x16 takes 15.869 ps a byte.
TEST(SerializerTest, LinkRates) {
  struct Row {
    unsigned gen, lanes;
    uint64_t ps_per_megabyte;  // 10^6 B
  };
  const Row rows[] = {
      {1, 1, 4'000'000'000},  // 2.5 GT/s, 8b/10b: 250 MB/s
      {2, 1, 2'000'000'000},  // 500 MB/s
      {3, 1, 1'015'625'000},  // 8 GT/s x 128/130
      {3, 8, 126'953'125},    //
      {4, 16, 31'738'281},    // .25
      {5, 16, 15'869'140},    // .625
      {5, 1, 253'906'250},
  };
  for (const Row& r : rows) {
    EXPECT_EQ(rnic::pcie::link_serializer(r.gen, r.lanes).send(0, 1'000'000).end_ps, r.ps_per_megabyte)
        << "gen " << r.gen << " x" << r.lanes;
  }
  EXPECT_THROW(rnic::pcie::link_serializer(7, 16), rnic::SimError);
}

}  // namespace
