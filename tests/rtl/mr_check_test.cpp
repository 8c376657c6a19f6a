// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <map>

#include "Vmr_check.h"
#include "rnic/golden/region.h"
#include "rtl/bench.h"

namespace rnic::test {
namespace {

using golden::Region;
using golden::Vendor;

struct Access {
  uint32_t key = 0;
  uint32_t pd = 0;
  uint64_t addr = 0;
  uint32_t length = 1;
  unsigned needs = 0;
};

/// The block has no reset; the bench sets one.
struct Top : Vmr_check {
  using Vmr_check::Vmr_check;
  CData rst_ni = 0;
};

class CheckBench : public Bench<Top> {
 public:
  CheckBench() : Bench(test_seed()) {}

  /// The answer to one access.
  uint8_t ask(const Region& r, const Access& a) {
    show(r, a);
    top->en_i = 1;
    tick();
    top->en_i = 0;
    settle();
    return top->ven_o;
  }
  void show(const Region& r, const Access& a) {
    rtl::mpt_t m;
    m.valid = r.valid, m.variant = r.variant, m.pd = r.pd, m.start = r.start, m.length = r.length, m.iova = r.iova;
    m.local_write = r.rights & golden::kLocalWrite, m.remote_read = r.rights & golden::kRemoteRead;
    m.remote_write = r.rights & golden::kRemoteWrite, m.remote_atomic = r.rights & golden::kRemoteAtomic;
    rtl::drive(top->region_i, m);
    top->key_i = a.key, top->pd_i = a.pd, top->addr_i = a.addr, top->len_i = a.length;
    top->need_i = static_cast<uint8_t>(a.needs);
  }
};

uint8_t want(const Region& r, const Access& a) {
  return static_cast<uint8_t>(golden::check_access(r, a.pd, a.key, a.addr, a.length, a.needs).value_or(Vendor::kNone));
}

/// A number at an end of something, or any.
uint64_t corner(std::mt19937_64& rng) {
  switch (rng() % 6) {
    case 0:
      return rng() % 4;
    case 1:
      return -(rng() % 4);
    case 2:
      return (uint64_t{1} << 31) + rng() % 4 - 2;
    case 3:
      return (uint64_t{1} << 63) + rng() % 4 - 2;
    case 4:
      return uint64_t{1} << rng() % 64;
    default:
      return rng();
  }
}

Region any_region(std::mt19937_64& rng) {
  Region r;
  r.valid = rng() % 16 != 0;
  r.variant = static_cast<uint8_t>(rng());
  r.pd = rng() % (1 << 24);
  r.start = corner(rng);
  r.length = rng() % 2 ? rng() % 10000 : corner(rng);
  if (rng() % 4 == 0) r.length = -r.start + rng() % 5 - 2;  // up to 2^64
  r.iova = corner(rng);
  if (rng() % 4 == 0) r.iova = -r.length + rng() % 5 - 2;
  r.rights = rng() % 16;
  return r;
}

/// An access that mostly is right, but for at most a few things.
Access any_access(std::mt19937_64& rng, const Region& r) {
  Access a;
  a.key = static_cast<uint32_t>(rng() % 65536) << 8 | r.variant;
  a.pd = r.pd;
  a.needs = rng() % 2 ? r.rights & rng() % 16 : rng() % 16;
  a.length = static_cast<uint32_t>(rng() % 2 ? 1 + rng() % 8192 : 1 + rng() % (uint64_t{1} << 31));
  if (rng() % 4 == 0 && r.length != 0)
    a.length = static_cast<uint32_t>(std::min<uint64_t>(r.length, uint64_t{1} << 31));
  if (rng() % 3 == 0) a.length = static_cast<uint32_t>(a.length % 16 + 1);
  switch (rng() % 6) {
    case 0:
      a.addr = r.start + rng() % 5 - 2;
      break;
    case 1:
      a.addr = r.start + r.length - a.length + rng() % 5 - 2;
      break;
    case 2:
      a.addr = -uint64_t{a.length} + rng() % 5 - 2;
      break;
    case 3:
      a.addr = corner(rng);
      break;
    case 4:
      a.addr = r.start - r.iova - a.length + rng() % 5 - 2;
      break;
    default:
      a.addr = r.start + (r.length == 0 ? 0 : rng() % r.length);
      break;
  }
  if (rng() % 16 == 0) a.key ^= 1u << rng() % 8;
  if (rng() % 16 == 0) a.key |= 1u << (24 + rng() % 8);
  if (rng() % 16 == 0) a.pd ^= 1u << rng() % 24;
  return a;
}

// 400,000 accesses at the ends of regions, of places and of the address space: each answer is the reference's, and each
// of the five is given thousands of times.
TEST(MrCheckTest, AgreesWithTheReference) {
  SCOPED_TRACE("RNIC_TEST_SEED=" + std::to_string(test_seed()));
  CheckBench b;
  std::map<unsigned, unsigned> seen;
  for (int i = 0; i < 400000; ++i) {
    const Region r = any_region(b.rng);
    const Access a = any_access(b.rng, r);
    const uint8_t w = want(r, a);
    ASSERT_EQ(b.ask(r, a), w) << "access " << i << ": " << a.length << " B at " << a.addr << " of " << r.length
                              << " at " << r.start << ", place " << r.iova;
    ++seen[w];
  }
  EXPECT_EQ(seen.size(), 5u);
  for (const auto& [ven, n] : seen) EXPECT_GT(n, 10000u) << ven;
}

// What the rules say in words, without the reference: of a region of 4096 B at 2^64 - 4096.
TEST(MrCheckTest, RulesOneByOne) {
  CheckBench b;
  const uint64_t top = -uint64_t{4096};
  Region r{true, 0x5a, 7, top, 4096, 0x1000, golden::kRemoteWrite};
  const Access a{0x1235a, 7, top, 4096, golden::kRemoteWrite};
  const auto ask = [&](auto&& change) {
    Region rr = r;
    Access aa = a;
    change(rr, aa);
    return static_cast<Vendor>(b.ask(rr, aa));
  };
  EXPECT_EQ(ask([](auto&, auto&) {}), Vendor::kNone);  // it may end at 2^64
  EXPECT_EQ(ask([](Region& rr, auto&) { rr.valid = false; }), Vendor::kKey);
  EXPECT_EQ(ask([](auto&, Access& aa) { aa.key ^= 0x80; }), Vendor::kKey);
  EXPECT_EQ(ask([](auto&, Access& aa) { aa.key |= 0x1000000; }), Vendor::kKey);
  EXPECT_EQ(ask([](auto&, Access& aa) { aa.pd = 0x800007; }), Vendor::kPd);
  for (unsigned needs : {1u, 2u, 8u, 5u, 12u}) {
    EXPECT_EQ(ask([&](auto&, Access& aa) { aa.needs = needs; }), Vendor::kRights) << needs;
  }
  EXPECT_EQ(ask([](auto&, Access& aa) { --aa.addr; }), Vendor::kBounds);
  EXPECT_EQ(ask([](auto&, Access& aa) { ++aa.addr; }), Vendor::kBounds);  // would wrap
  EXPECT_EQ(ask([](auto&, Access& aa) { aa.addr = 0, aa.length = 1; }), Vendor::kBounds);
  // Zero-based: addresses from 0 on, wherever the bytes are.
  const auto zero = [](Region& rr, Access& aa) { rr.start = 0, rr.iova = -uint64_t{4096}, aa.addr = 0; };
  EXPECT_EQ(ask(zero), Vendor::kNone);
  EXPECT_EQ(ask([&](Region& rr, Access& aa) { zero(rr, aa), ++rr.iova; }), Vendor::kBounds);  // places would wrap
  // A length that reaches over 2^64 grants what lies below.
  EXPECT_EQ(ask([](Region& rr, auto&) { rr.length = ~uint64_t{0}; }), Vendor::kNone);
  // The first fault in the order key, domain, rights, bounds
  EXPECT_EQ(ask([](Region& rr, Access& aa) { rr.valid = false, aa.pd = 0, aa.needs = 15, aa.addr = 0; }), Vendor::kKey);
  EXPECT_EQ(ask([](auto&, Access& aa) { aa.pd = 0, aa.needs = 15, aa.addr = 0; }), Vendor::kPd);
  EXPECT_EQ(ask([](auto&, Access& aa) { aa.needs = 15, aa.addr = 0; }), Vendor::kRights);
}

// The answer stands until the next access is given, whatever the inputs do.
TEST(MrCheckTest, AnswerStaysUntilTheNextAccess) {
  CheckBench b;
  for (int i = 0; i < 1000; ++i) {
    const Region r = any_region(b.rng);
    const Access a = any_access(b.rng, r);
    const uint8_t got = b.ask(r, a);
    const Region other = any_region(b.rng);
    b.show(other, any_access(b.rng, other));
    b.tick();
    b.settle();
    ASSERT_EQ(b.top->ven_o, got);
  }
}

}  // namespace
}  // namespace rnic::test
