// SPDX-License-Identifier: Apache-2.0
// One record a message, and which are slowest and why.
#include "rnic/observe/messages.h"

#include <gtest/gtest.h>

#include "rnic/observe/sections.h"

namespace rnic {
namespace {

using namespace rtl::rnic_pkg;

struct Feed {
  MessageLog log;
  explicit Feed(std::function<Barred(uint64_t)> barred = {}) : log(std::move(barred)) { log.start(); }

  void event(EventKind kind, uint64_t ps, unsigned qpn, unsigned wqe, bool last = true) {
    Event e{kind, ps, ps / 1000, {}, 0, 0};
    e.op.qpn = static_cast<uint16_t>(qpn);
    e.op.wqe = static_cast<uint16_t>(wqe);
    e.op.last = last;
    log.on_event(e);
  }
  void device_memory(uint64_t ps, uint32_t addr) {
    Event e{EventKind::kDmReq, ps, ps / 1000, {}, 0, 0};
    e.dm_addr = addr;
    log.on_event(e);
  }
  void bell(uint64_t ps, unsigned qpn, unsigned pi) { event(EventKind::kDbPins, ps, qpn, pi, false); }
  /// A message of one packet: WQE at `wqe_ps`, and each stage's duration.
  void message(unsigned qpn, unsigned wqe, uint64_t ps, uint64_t request = 8'000, uint64_t memory = 180'000,
               uint64_t packetize = 15'000, uint64_t wire = 43'000, std::function<void()> in_request = {}) {
    event(EventKind::kWqe, ps, qpn, wqe, false);
    if (in_request) in_request();
    event(EventKind::kRdIssue, ps += request / 2, qpn, wqe);
    event(EventKind::kRdPins, ps += request - request / 2, qpn, wqe);
    event(EventKind::kCplPins, ps + memory - 2'000, qpn, wqe);
    event(EventKind::kRdDone, ps += memory, qpn, wqe);
    event(EventKind::kMac, ps += packetize, qpn, wqe);
    event(EventKind::kWireFirst, ps + wire - 3'000, qpn, wqe);
    event(EventKind::kWireLast, ps += wire, qpn, wqe);
  }
};

/// The record holds the message's own instants, and its stages add up to the whole.
TEST(MessagesTest, StagesAddUp) {
  Feed f;
  f.bell(1'000'000, 3, 1);
  f.message(3, 0, 1'040'000);
  f.event(EventKind::kCqeVisible, 1'500'000, 3, 0);
  ASSERT_EQ(f.log.all().size(), 1u);
  const Message& m = f.log.all()[0];
  EXPECT_EQ(m.pins_ps, 1'000'000u);
  EXPECT_EQ(m.turn_ps, 1'000'000u);
  EXPECT_EQ(m.cqe_ps, 1'500'000u);
  EXPECT_EQ(m.packets, 1u);
  EXPECT_EQ(duration_ps(m, MessageStage::kTurn), 40'000u);
  EXPECT_EQ(duration_ps(m, MessageStage::kRequest), 8'000u);
  EXPECT_EQ(duration_ps(m, MessageStage::kMemory), 180'000u);
  EXPECT_EQ(duration_ps(m, MessageStage::kPacketize), 15'000u);
  EXPECT_EQ(duration_ps(m, MessageStage::kWire), 43'000u);
  uint64_t sum = 0;
  for (const auto s : kMessageStages) sum += duration_ps(m, s);
  EXPECT_EQ(sum, service_ps(m));
  EXPECT_EQ(queued_ps(m), 0u);
}

/// One doorbell for several WQEs: each of them has its time at the pins; behind the first of a queue is time in the
/// queue, and not the message's own.
TEST(MessagesTest, WaitingBehindItsOwnQueue) {
  Feed f;
  f.bell(1'000'000, 3, 2);
  f.message(3, 0, 1'040'000);
  f.message(3, 1, 1'090'000);
  const Message& m = f.log.all().at(1);
  EXPECT_EQ(m.pins_ps, 1'000'000u);
  EXPECT_EQ(m.turn_ps, 1'044'000u);  // the first one's payload read
  EXPECT_EQ(queued_ps(m), 44'000u);
  EXPECT_EQ(duration_ps(m, MessageStage::kTurn), 46'000u);
}

/// WQE counters go round at 65536, and QPs don't mix.
TEST(MessagesTest, CountersGoRound) {
  Feed f;
  f.bell(1'000'000, 3, 1);
  f.bell(1'000'500, 4, 1);
  f.message(3, 65535, 1'040'000);
  f.message(4, 65535, 1'045'000, 8'000, 100'000);
  f.message(3, 0, 1'090'000);
  f.message(4, 0, 1'095'000, 8'000, 100'000);
  ASSERT_EQ(f.log.all().size(), 4u);
  for (const Message& m : f.log.all()) {
    ASSERT_TRUE(m.complete());
    EXPECT_EQ(m.pins_ps, m.qpn == 3 ? 1'000'000u : 1'000'500u);
    EXPECT_EQ(duration_ps(m, MessageStage::kMemory), m.qpn == 3 ? 180'000u : 100'000u);
  }
}

/// A message beyond those that are kept is counted; it does not change an old one that has the same counter.
TEST(MessagesTest, BeyondTheLimit) {
  MessageLog log({}, 1);
  log.start();
  const auto feed = [&](EventKind kind, uint64_t ps) {
    Event e{kind, ps, 0, {}, 0, 0};
    e.op.qpn = 3;
    e.op.last = true;
    log.on_event(e);
  };
  for (const uint64_t at : {0u, 1'000'000u}) {
    feed(EventKind::kWqe, at + 1'000);
    feed(EventKind::kMac, at + 2'000);
    feed(EventKind::kWireLast, at + 3'000);
  }
  ASSERT_EQ(log.all().size(), 1u);
  EXPECT_EQ(log.dropped(), 1u);
  EXPECT_EQ(log.all()[0].last_bit_ps, 3'000u);
  EXPECT_EQ(log.all()[0].packets, 1u);
}

/// Events of messages that nobody has seen the WQE of are ignored, and what was before start() is not kept.
TEST(MessagesTest, UnknownMessages) {
  Feed f;
  f.event(EventKind::kMac, 5, 9, 9);
  f.event(EventKind::kWireLast, 5, 9, 9);
  EXPECT_TRUE(f.log.all().empty());
  MessageLog early;
  Event e{EventKind::kWqe, 5, 0, {}, 0, 0};
  early.on_event(e);
  EXPECT_TRUE(early.all().empty());
}

class SlowestTest : public testing::Test {
 protected:
  /// Ordinary messages of QPs 1 to 4, then what the test adds; the cause of the slowest one.
  std::string cause(Feed& f, uint64_t after = 2'000'000) {
    (void)after;
    const Slowest s = slowest(f.log.all());
    EXPECT_FALSE(s.list.empty());
    return s.list.empty() ? "" : s.list[0].cause;
  }
  static void ordinary(Feed& f) {
    for (unsigned i = 0; i < 20; ++i) {
      const unsigned qpn = 1 + i % 4;
      f.bell(1'000'000 + i * 500'000, qpn, i / 4 + 1);
      f.message(qpn, i / 4, 1'040'000 + i * 500'000);
    }
  }
};

TEST_F(SlowestTest, ContextMissOfTheQp) {
  Feed f;
  ordinary(f);
  f.bell(20'000'000, 7, 1);
  f.device_memory(20'005'000, QpcBase + 7 * 128);
  f.message(7, 0, 20'090'000);
  EXPECT_EQ(cause(f), "turn and WQE fetch +50.0 ns: context miss: QP 7's context read from device memory");
}

/// Another QP's miss is not this one's.
TEST_F(SlowestTest, TurnsOfOtherQps) {
  Feed f;
  ordinary(f);
  f.device_memory(19'000'000, QpcBase + 6 * 128);
  f.bell(20'000'000, 7, 1);
  for (unsigned i = 0; i < 3; ++i) f.message(5, i, 20'010'000 + i * 10'000);
  f.message(7, 0, 20'090'000);
  EXPECT_EQ(cause(f), "turn and WQE fetch +50.0 ns: queued behind 3 turns of QP 5 (the median message: 0)");
}

TEST_F(SlowestTest, NoCreditsAndNoTags) {
  for (const bool credit : {true, false}) {
    Feed f([&](uint64_t ps) {
      const uint64_t barred = ps < 20'040'000 ? 0 : std::min<uint64_t>(ps - 20'040'000, 400'000);
      return credit ? Barred{0, barred, 0, 0} : Barred{barred, 0, 0, 0};
    });
    ordinary(f);
    f.bell(20'000'000, 7, 1);
    f.message(7, 0, 20'040'000, 500'000);
    EXPECT_EQ(cause(f), credit ? "reads leave +492.0 ns: waited for non-posted credits: none left for 400.0 ns"
                               : "reads leave +492.0 ns: waited for a read tag: none left for 400.0 ns");
  }
}

TEST_F(SlowestTest, RegionsEntryMissed) {
  Feed f;
  ordinary(f);
  f.bell(20'000'000, 7, 1);
  f.message(7, 0, 20'040'000, 100'000, 180'000, 15'000, 43'000, [&] { f.device_memory(20'041'000, MptBase + 64); });
  EXPECT_NE(cause(f).find("context miss: a memory region's entry"), std::string::npos) << cause(f);
}

TEST_F(SlowestTest, BehindOthersOnTheWire) {
  Feed f;
  ordinary(f);
  f.bell(20'000'000, 7, 1);
  f.message(6, 0, 20'000'000, 8'000, 180'000, 15'000, 300'000);
  f.message(7, 0, 20'040'000, 8'000, 180'000, 15'000, 290'000);
  const Slowest s = slowest(f.log.all());
  ASSERT_GE(s.list.size(), 2u);
  const Message& m = f.log.all()[s.list[0].index];
  EXPECT_EQ(m.qpn, 7u);
  EXPECT_NE(s.list[0].cause.find("queued behind 1 message of QP 6 in the MAC"), std::string::npos) << s.list[0].cause;
}

TEST_F(SlowestTest, MacNotReady) {
  Feed f([&](uint64_t ps) { return Barred{0, 0, 0, ps > 20'250'000 ? 150'000u : 0}; });
  ordinary(f);
  f.bell(20'000'000, 7, 1);
  f.message(7, 0, 20'040'000, 8'000, 180'000, 200'000);
  EXPECT_EQ(cause(f), "packetize +185.0 ns: waited for the MAC: its buffer was full for 150.0 ns");
}

/// Ten at most, the longest first, and the median beside them; the page shows them all.
TEST_F(SlowestTest, TenAndTheMedian) {
  Feed f;
  ordinary(f);
  const Slowest s = slowest(f.log.all());
  EXPECT_EQ(s.messages, 20u);
  ASSERT_EQ(s.list.size(), 10u);
  EXPECT_EQ(s.list[0].cause, "within 2 % of the median message");
  for (size_t i = 1; i < s.list.size(); ++i) {
    EXPECT_GE(service_ps(f.log.all()[s.list[i - 1].index]), service_ps(f.log.all()[s.list[i].index]));
  }
  const std::string html = slowest_html(f.log.all(), s);
  EXPECT_NE(html.find("median"), std::string::npos);
  EXPECT_TRUE(slowest({}).list.empty());
  EXPECT_NE(slowest_html({}, {}).find("No message"), std::string::npos);
}

}  // namespace
}  // namespace rnic
