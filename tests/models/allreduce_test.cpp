// SPDX-License-Identifier: Apache-2.0
// The AllReduce engine's reference model against cases worked out by hand.
#include "rnic/golden/allreduce.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace rnic::golden::arp {
namespace {

template <class T>
Bytes elements(const std::vector<T>& values) {
  Bytes b(values.size() * sizeof(T));
  std::memcpy(b.data(), values.data(), b.size());
  return b;
}

template <class T>
Bytes filled(size_t bytes, T value) {
  return elements(std::vector<T>(bytes / sizeof(T), value));
}

uint8_t number(Type t) { return static_cast<uint8_t>(t); }
uint8_t number(Op o) { return static_cast<uint8_t>(o); }

/// Ranks 0 and 1, INT32 sums, fragments of 64 B in chunks of 128 B, two slots, a vector of 320 B: five fragments.
Group int_group() {
  Group g;
  g.dtype = number(Type::kInt32);
  g.op = number(Op::kSum);
  g.log_frag = 6;
  g.log_chunk = 7;
  g.log_slots = 1;
  g.slot_base = 4;
  g.row_base = 8;
  g.members = 0b11;
  g.length = 320;
  g.dst = 0x1000;
  return g;
}

Header header(const Group& g, uint16_t step, uint16_t chunk, uint32_t offset, uint8_t rank, uint16_t len = 64) {
  Header h;
  h.group = 3;
  h.step = step;
  h.chunk = chunk;
  h.offset = offset;
  h.rank = rank;
  h.dtype = g.dtype;
  h.op = g.op;
  h.len = len;
  return h;
}

class AllReduceModelTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(model.write_group(3, group), Kind::kAccepted); }
  Kind send(uint16_t step, uint16_t chunk, uint32_t offset, uint8_t rank, uint32_t value = 1) {
    return model.fragment(header(group, step, chunk, offset, rank), filled<uint32_t>(64, value));
  }
  Kind ack(uint16_t step, uint16_t chunk, uint32_t offset) { return model.acknowledge({3, step, chunk, offset}); }

  Group group = int_group();
  AllReduce model;
};

// Two contributions make the result, at the fragment's place in the destination, and the slot is free when
// acknowledged.
TEST_F(AllReduceModelTest, LastContributionGivesTheSum) {
  EXPECT_EQ(send(0, 1, 64, 0, 5), Kind::kAccepted);
  EXPECT_EQ(model.state(4 + 1), State::kOpen);  // fragment 3 of the vector, two slots
  EXPECT_FALSE(model.drain());
  EXPECT_EQ(send(0, 1, 64, 1, 7), Kind::kAccepted);
  EXPECT_EQ(model.state(5), State::kFull);
  const auto r = model.drain();
  ASSERT_TRUE(r);
  EXPECT_TRUE(r->written);
  EXPECT_EQ(r->addr, 0x1000 + 128 + 64);
  EXPECT_EQ(r->data, filled<uint32_t>(64, 12));
  EXPECT_EQ(model.state(5), State::kDone);
  EXPECT_EQ(model.slots_used(), 1u);
  EXPECT_EQ(model.slots_done(), 1u);
  EXPECT_EQ(ack(0, 1, 64), Kind::kAccepted);
  EXPECT_EQ(model.slots_used(), 0u);
  const Counters& c = model.counters();
  EXPECT_EQ(c.frag, 2u);
  EXPECT_EQ(c.beat, 2u);
  EXPECT_EQ(c.first, 1u);
  EXPECT_EQ(c.full, 1u);
  EXPECT_EQ(c.written, 1u);
  EXPECT_EQ(c.acked, 1u);
  ASSERT_EQ(model.events().size(), 1u);
  EXPECT_EQ(model.events()[0].kind, Kind::kWritten);
}

// A rank counts once in a slot, in every state of it.
TEST_F(AllReduceModelTest, SecondContributionOfARankIsDuplicate) {
  send(0, 0, 0, 0, 5);
  EXPECT_EQ(send(0, 0, 0, 0, 100), Kind::kDuplicate);
  send(0, 0, 0, 1, 7);
  EXPECT_EQ(send(0, 0, 0, 1, 100), Kind::kDuplicate);
  EXPECT_EQ(model.drain()->data, filled<uint32_t>(64, 12));
  EXPECT_EQ(send(0, 0, 0, 1, 100), Kind::kDuplicate);
  EXPECT_EQ(model.counters().duplicate, 3u);
}

// After the acknowledge the same fragment, and any older one, is late.
TEST_F(AllReduceModelTest, FragmentsOfTheAcknowledgedPastAreLate) {
  for (unsigned rank = 0; rank < 2; ++rank) send(9, 1, 0, static_cast<uint8_t>(rank));  // fragment 2: slot 0, lap 1
  model.drain();
  ack(9, 1, 0);
  EXPECT_EQ(send(9, 1, 0, 0), Kind::kLate);
  EXPECT_EQ(send(9, 0, 0, 0), Kind::kLate);  // lap 0 of the same step
  EXPECT_EQ(send(8, 2, 0, 0), Kind::kLate);  // lap 2 of an older step
  EXPECT_EQ(send(9, 2, 0, 0), Kind::kAccepted);
}

// An occupied slot turns newer fragments away without touching what it holds, and older ones are late.
TEST_F(AllReduceModelTest, OccupiedSlotRefusesNewerAndOlder) {
  send(9, 1, 0, 0, 5);
  EXPECT_EQ(send(9, 2, 0, 1, 100), Kind::kNoSlot);
  EXPECT_EQ(send(10, 0, 0, 1, 100), Kind::kNoSlot);
  EXPECT_EQ(send(9, 0, 0, 1, 100), Kind::kLate);
  EXPECT_EQ(send(8, 2, 0, 1, 100), Kind::kLate);
  send(9, 1, 0, 1, 7);
  EXPECT_EQ(model.drain()->data, filled<uint32_t>(64, 12));
}

// Steps are serial numbers: 0 follows 65535, and exactly half of the circle away is not newer.
TEST_F(AllReduceModelTest, StepsWrap) {
  EXPECT_TRUE(newer_step(0, 65535));
  EXPECT_FALSE(newer_step(65535, 0));
  EXPECT_TRUE(newer_step(32767, 0));
  EXPECT_FALSE(newer_step(32768, 0));
  EXPECT_FALSE(newer_step(0, 32768));
  EXPECT_FALSE(newer_step(7, 7));
  for (unsigned rank = 0; rank < 2; ++rank) send(65535, 0, 0, static_cast<uint8_t>(rank));
  model.drain();
  ack(65535, 0, 0);
  EXPECT_EQ(send(0, 0, 0, 0), Kind::kAccepted);
}

// The first rule broken names the refusal; none of these touches a slot.
TEST_F(AllReduceModelTest, HostileFragmentsAreRefusedInOrderOfTheRules) {
  const auto refusal = [&](const Header& h, size_t bytes = 64, bool damaged = false) {
    return model.fragment(h, Bytes(bytes, 1), damaged);
  };
  const Header good = header(group, 0, 0, 0, 0);
  Header h = good;
  EXPECT_EQ(refusal(h, 64, true), Kind::kDamaged);
  EXPECT_EQ(refusal(h, 0), Kind::kDamaged);
  EXPECT_EQ(refusal(h, 60), Kind::kBadLength);
  h.group = 4;
  EXPECT_EQ(refusal(h), Kind::kBadGroup);
  h.group = 65535;
  EXPECT_EQ(refusal(h), Kind::kBadGroup);
  h.group = 3, h.dtype = 2, h.rank = 9;
  EXPECT_EQ(refusal(h), Kind::kBadType);
  h.dtype = group.dtype, h.op = 1;
  EXPECT_EQ(refusal(h), Kind::kBadType);
  h.op = group.op, h.offset = 1;
  EXPECT_EQ(refusal(h), Kind::kBadRank);
  h.rank = 64;  // a shift by 64 would be rank 0
  EXPECT_EQ(refusal(h), Kind::kBadRank);
  h.rank = 0;
  EXPECT_EQ(refusal(h), Kind::kBadOffset);
  h.offset = 128;  // the chunk's end
  EXPECT_EQ(refusal(h), Kind::kBadOffset);
  h.chunk = 2, h.offset = 64;  // the vector's end
  EXPECT_EQ(refusal(h), Kind::kBadOffset);
  h.chunk = 65535;
  EXPECT_EQ(refusal(h), Kind::kBadOffset);
  h = good, h.len = 60;
  EXPECT_EQ(refusal(h, 60), Kind::kBadLength);
  EXPECT_EQ(model.slots_used(), 0u);
  const Counters& c = model.counters();
  EXPECT_EQ(c.damaged, 2u);
  EXPECT_EQ(c.bad_length, 2u);
  EXPECT_EQ(c.bad_group, 2u);
  EXPECT_EQ(c.bad_type, 2u);
  EXPECT_EQ(c.bad_rank, 2u);
  EXPECT_EQ(c.bad_offset, 4u);
  EXPECT_EQ(c.frag, 0u);
}

// The vector's last fragment is what is left; a whole one there is refused.
TEST_F(AllReduceModelTest, LastFragmentIsTheRest) {
  group.length = 264;  // four fragments and 8 B
  ASSERT_EQ(model.write_group(3, group), Kind::kAccepted);
  EXPECT_EQ(send(0, 2, 0, 0), Kind::kBadLength);
  for (unsigned rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(model.fragment(header(group, 0, 2, 0, static_cast<uint8_t>(rank), 8), filled<uint32_t>(8, rank + 1)),
              Kind::kAccepted);
  }
  const auto r = model.drain();
  ASSERT_TRUE(r);
  EXPECT_EQ(r->addr, 0x1000u + 256);
  EXPECT_EQ(r->data, filled<uint32_t>(8, 3));
}

// Only the result that is there can be acknowledged.
TEST_F(AllReduceModelTest, WrongAcknowledgesChangeNothing) {
  EXPECT_EQ(ack(0, 0, 0), Kind::kBadAck);
  for (unsigned rank = 0; rank < 2; ++rank) send(5, 0, 0, static_cast<uint8_t>(rank));
  EXPECT_EQ(ack(5, 0, 0), Kind::kBadAck);  // full, not written yet
  model.drain();
  EXPECT_EQ(ack(4, 0, 0), Kind::kBadAck);
  EXPECT_EQ(ack(6, 0, 0), Kind::kBadAck);
  EXPECT_EQ(ack(5, 1, 0), Kind::kBadAck);   // the slot's next lap
  EXPECT_EQ(ack(5, 0, 4), Kind::kBadAck);   // no fragment begins there
  EXPECT_EQ(ack(5, 0, 64), Kind::kBadAck);  // the other slot
  EXPECT_EQ(model.acknowledge({64, 5, 0, 0}), Kind::kBadAck);
  EXPECT_EQ(model.acknowledge({2, 5, 0, 0}), Kind::kBadAck);
  EXPECT_EQ(model.slots_done(), 1u);
  EXPECT_EQ(ack(5, 0, 0), Kind::kAccepted);
  EXPECT_EQ(ack(5, 0, 0), Kind::kBadAck);
  EXPECT_EQ(model.counters().bad_ack, 10u);
}

// Results leave in the order in which their slots became full.
TEST_F(AllReduceModelTest, ResultsLeaveInTheOrderOfTheirLastContributions) {
  send(0, 0, 0, 0);
  send(0, 0, 64, 0);
  send(0, 0, 64, 1);
  send(0, 0, 0, 1);
  EXPECT_EQ(model.drain()->hdr.offset, 64u);
  EXPECT_EQ(model.drain()->hdr.offset, 0u);
  EXPECT_FALSE(model.drain());
}

// A group of one member writes its only contribution.
TEST_F(AllReduceModelTest, OneMemberIsFullAtOnce) {
  group.members = uint64_t{1} << 63;
  ASSERT_EQ(model.write_group(3, group), Kind::kAccepted);
  EXPECT_EQ(send(0, 0, 0, 63, 4), Kind::kAccepted);
  EXPECT_EQ(model.drain()->data, filled<uint32_t>(64, 4));
}

// A flipped bit costs its own slot the result, no other one, and the slot is acknowledged as usual.
TEST_F(AllReduceModelTest, ParityLosesTheSlotOnly) {
  model.inject(9, 3);  // slot 1 of the group: row_base + 1
  for (unsigned rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(send(0, 0, 0, static_cast<uint8_t>(rank)), Kind::kAccepted);
    EXPECT_EQ(send(0, 0, 64, static_cast<uint8_t>(rank)), Kind::kAccepted);
  }
  EXPECT_TRUE(model.drain()->written);
  const auto lost = model.drain();
  ASSERT_TRUE(lost);
  EXPECT_FALSE(lost->written);
  EXPECT_TRUE(lost->data.empty());
  EXPECT_EQ(model.counters().parity, 1u);
  EXPECT_EQ(model.counters().written, 1u);
  EXPECT_EQ(ack(0, 0, 64), Kind::kAccepted);
  EXPECT_EQ(send(1, 0, 64, 0), Kind::kAccepted);
  EXPECT_EQ(send(1, 0, 64, 1), Kind::kAccepted);
  EXPECT_TRUE(model.drain()->written);  // used up
}

// A bit of the bank that no beat of this slot goes to waits for somebody who writes there.
TEST_F(AllReduceModelTest, InjectionIntoTheUnusedBankWaits) {
  model.inject(8, 512);
  for (unsigned rank = 0; rank < 2; ++rank) send(0, 0, 0, static_cast<uint8_t>(rank));
  EXPECT_TRUE(model.drain()->written);
}

// Writing a group's context empties its slots; without `valid` nobody knows it any more.
TEST_F(AllReduceModelTest, ContextClearsItsSlots) {
  send(7, 0, 0, 0);
  ASSERT_EQ(model.write_group(3, group), Kind::kAccepted);
  EXPECT_EQ(model.slots_used(), 0u);
  EXPECT_EQ(send(2, 0, 0, 0), Kind::kAccepted);  // older, but the slot was never used
  Group gone;
  gone.valid = false;
  EXPECT_EQ(model.write_group(3, gone), Kind::kAccepted);
  EXPECT_EQ(send(2, 0, 0, 1), Kind::kBadGroup);
  EXPECT_EQ(model.slots_used(), 0u);
}

// A refused context takes the group out.
TEST_F(AllReduceModelTest, RefusedContextTakesTheGroupOut) {
  Group bad = group;
  bad.members = 0;
  EXPECT_EQ(model.write_group(3, bad), Kind::kBadContext);
  EXPECT_EQ(send(0, 0, 0, 0), Kind::kBadGroup);
  EXPECT_EQ(model.write_group(64, group), Kind::kBadContext);
  EXPECT_EQ(model.counters().bad_context, 2u);
}

struct ContextCase {
  std::string name;
  void (*change)(Group&);
  bool good;
};
class ContextTest : public ::testing::TestWithParam<ContextCase> {};

// Each limit of a context holds at its edge and not beyond.
TEST_P(ContextTest, LimitsHoldAtTheirEdges) {
  Group g = int_group();
  GetParam().change(g);
  EXPECT_EQ(context_fault(0, g) == nullptr, GetParam().good);
}
INSTANTIATE_TEST_SUITE_P(
    Edges, ContextTest,
    ::testing::Values(
        ContextCase{"lasttype", [](Group& g) { g.dtype = 6; }, true},
        ContextCase{"notype", [](Group& g) { g.dtype = 7; }, false},
        ContextCase{"lastop", [](Group& g) { g.op = 2; }, true}, ContextCase{"noop", [](Group& g) { g.op = 3; }, false},
        ContextCase{"widewithoutacc", [](Group& g) { g.wide_out = true; }, false},
        ContextCase{"wide", [](Group& g) { g.wide_out = true, g.dtype = 5; }, true},
        ContextCase{"smallestfragment", [](Group& g) { g.log_frag = 5; }, false},
        ContextCase{"largestfragment", [](Group& g) { g.log_frag = 12, g.log_chunk = 12; }, true},
        ContextCase{"largerfragment", [](Group& g) { g.log_frag = 13, g.log_chunk = 13; }, false},
        ContextCase{"chunkbelowfragment", [](Group& g) { g.log_chunk = 5; }, false},
        ContextCase{"largestchunk", [](Group& g) { g.log_chunk = 32; }, true},
        ContextCase{"largerchunk", [](Group& g) { g.log_chunk = 33; }, false},
        ContextCase{"allslots", [](Group& g) { g.log_slots = 10, g.slot_base = 0; }, true},
        ContextCase{"moreslots", [](Group& g) { g.log_slots = 11, g.slot_base = 0; }, false},
        ContextCase{"lastslot", [](Group& g) { g.slot_base = 1022; }, true},
        ContextCase{"beyondlastslot", [](Group& g) { g.slot_base = 1023; }, false},
        ContextCase{"lastrow", [](Group& g) { g.row_base = 4094; }, true},
        ContextCase{"beyondlastrow", [](Group& g) { g.row_base = 4095; }, false},
        ContextCase{"widerows",  // two slots of 64 rows
                    [](Group& g) { g.dtype = 6, g.log_frag = g.log_chunk = 12, g.row_base = 4096 - 128; }, true},
        ContextCase{"widerowsbeyond",
                    [](Group& g) { g.dtype = 6, g.log_frag = g.log_chunk = 12, g.row_base = 4096 - 127; }, false},
        ContextCase{"nomembers", [](Group& g) { g.members = 0; }, false},
        ContextCase{"nolength", [](Group& g) { g.length = 0; }, false},
        ContextCase{"halfelement", [](Group& g) { g.length = 322; }, false},
        ContextCase{"lastaddress", [](Group& g) { g.dst = ~uint64_t{0} - 319; }, true},
        ContextCase{"wraps", [](Group& g) { g.dst = ~uint64_t{0} - 318; }, false},
        ContextCase{"widewraps", [](Group& g) { g.dtype = 5, g.wide_out = true, g.dst = ~uint64_t{0} - 638; }, false},
        ContextCase{"widelastaddress", [](Group& g) { g.dtype = 5, g.wide_out = true, g.dst = ~uint64_t{0} - 639; },
                    true}),
    [](const auto& info) { return info.param.name; });

// FP32 accumulators keep what FP16 would round away on the way, and round once at the end.
TEST(AllReduceArithmeticTest, WideAccumulatorsRoundOnce) {
  // 2048 + 1 is 2048 in FP16 (ties to even), twice over; in FP32 it is 2050, which FP16 has
  const std::vector<uint16_t> parts = {0x6800, 0x3c00, 0x3c00};
  Bytes narrow, wide;
  for (size_t i = 0; i < parts.size(); ++i) {
    accumulate(number(Type::kFp16), number(Op::kSum), i == 0, narrow, elements<uint16_t>({parts[i]}));
    accumulate(number(Type::kFp16Acc32), number(Op::kSum), i == 0, wide, elements<uint16_t>({parts[i]}));
  }
  EXPECT_EQ(narrow, elements<uint16_t>({0x6800}));
  EXPECT_EQ(wide, elements<float>({2050.0F}));
  EXPECT_EQ(finish(number(Type::kFp16Acc32), false, wide), elements<uint16_t>({0x6801}));
  EXPECT_EQ(finish(number(Type::kFp16Acc32), true, wide), wide);
}

// A wide result lands at twice the fragment's place.
TEST(AllReduceArithmeticTest, WideResultLandsAtTwiceTheOffset) {
  Group g = int_group();
  g.dtype = number(Type::kBf16Acc32);
  g.wide_out = true;
  AllReduce model;
  ASSERT_EQ(model.write_group(3, g), Kind::kAccepted);
  for (unsigned rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(model.fragment(header(g, 0, 1, 64, static_cast<uint8_t>(rank)), filled<uint16_t>(64, 0x3f80)),
              Kind::kAccepted);
  }
  const auto r = model.drain();
  ASSERT_TRUE(r);
  EXPECT_EQ(r->addr, 0x1000u + 2 * 192);
  EXPECT_EQ(r->data, filled<float>(128, 2.0F));
}

// Every type and operation on operands whose result is known, special values among them.
TEST(AllReduceArithmeticTest, KnownSumsAndExtremes) {
  struct Case {
    Type type;
    Op op;
    Bytes a, b, result;
  };
  const auto h = [](uint16_t v) { return elements<uint16_t>({v}); };
  const auto w = [](uint32_t v) { return elements<uint32_t>({v}); };
  const auto d = [](uint64_t v) { return elements<uint64_t>({v}); };
  const std::vector<Case> cases = {
      {Type::kFp16, Op::kSum, h(0x3c00), h(0x3c00), h(0x4000)},  // 1 + 1
      {Type::kFp16, Op::kSum, h(0x7bff), h(0x7bff), h(0x7c00)},  // largest, twice: infinity
      {Type::kFp16, Op::kSum, h(0x0001), h(0x0001), h(0x0002)},  // subnormals stay
      {Type::kFp16, Op::kSum, h(0x7c00), h(0xfc00), h(0x7e00)},  // inf - inf
      {Type::kFp16, Op::kSum, h(0x8000), h(0x8000), h(0x8000)},  // -0 + -0
      {Type::kFp16, Op::kSum, h(0x3c00), h(0xbc00), h(0x0000)},  // x - x = +0
      {Type::kFp16, Op::kMin, h(0x0000), h(0x8000), h(0x8000)},
      {Type::kFp16, Op::kMax, h(0x8000), h(0x0000), h(0x0000)},
      {Type::kFp16, Op::kMax, h(0xfe01), h(0x3c00), h(0x7e00)},  // any NaN becomes the one NaN
      {Type::kBf16, Op::kSum, h(0x3f80), h(0x3b80), h(0x3f80)},  // 1 + 2^-8: tie to even
      {Type::kBf16, Op::kSum, h(0x3f81), h(0x3b80), h(0x3f82)},
      {Type::kBf16, Op::kSum, h(0x7f80), h(0xff80), h(0x7fc0)},
      {Type::kBf16, Op::kMin, h(0xc000), h(0x3f80), h(0xc000)},
      {Type::kFp32, Op::kSum, w(0x3f800000), w(0x33800000), w(0x3f800000)},  // 1 + 2^-24: tie to even
      {Type::kFp32, Op::kSum, w(0x7f800001), w(0x3f800000), w(0x7fc00000)},
      {Type::kFp32, Op::kMin, w(0x7fc00000), w(0x3f800000), w(0x7fc00000)},
      {Type::kInt32, Op::kSum, w(0x7fffffff), w(1), w(0x80000000)},  // wraps
      {Type::kInt32, Op::kMin, w(0x80000000), w(1), w(0x80000000)},
      {Type::kInt32, Op::kMax, w(0xffffffff), w(0), w(0)},
      {Type::kInt64, Op::kSum, d(~uint64_t{0}), d(2), d(1)},
      {Type::kInt64, Op::kMax, d(uint64_t{1} << 63), d(5), d(5)},
      {Type::kFp16Acc32, Op::kSum, h(0x7bff), h(0x7bff), elements<float>({131008.0F})},
      {Type::kBf16Acc32, Op::kMax, h(0x7fff), h(0x3f80), w(0x7fc00000)},
  };
  for (const Case& c : cases) {
    Bytes acc;
    accumulate(number(c.type), number(c.op), true, acc, c.a);
    accumulate(number(c.type), number(c.op), false, acc, c.b);
    EXPECT_EQ(acc, c.result) << "case " << &c - cases.data();
  }
}

// A first contribution is as it came, but for its NaNs.
TEST(AllReduceArithmeticTest, FirstContributionHasCanonicalNaNs) {
  Bytes acc;
  accumulate(number(Type::kFp16), number(Op::kSum), true, acc, elements<uint16_t>({0xfc01, 0x8000, 0x0001}));
  EXPECT_EQ(acc, elements<uint16_t>({0x7e00, 0x8000, 0x0001}));
  accumulate(number(Type::kBf16Acc32), number(Op::kMin), true, acc, elements<uint16_t>({0xffff, 0x8001}));
  EXPECT_EQ(acc, elements<uint32_t>({0x7fc00000, 0x80010000}));
}

}  // namespace
}  // namespace rnic::golden::arp
