// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "rnic/core/error.h"
#include "rnic/nic/bar.h"

namespace rnic {
namespace {

constexpr ConfigSpace::Link kGen5x16{5, 16, 2};

/// What a driver's bus code does, with nothing but reads and writes.
class Enumerator {
 public:
  explicit Enumerator(ConfigSpace& config) : config_(config) {}

  /// Capability ID -> offset; empty if the list is broken.
  std::map<unsigned, unsigned> capabilities() const {
    std::map<unsigned, unsigned> found;
    if (!(config_.read(0x06, 2) & 0x10)) return found;
    unsigned at = config_.read(0x34, 1) & 0xfc;
    while (at != 0) {
      if (at < 0x40 || found.size() > 48) return {};
      const unsigned id = config_.read(at, 1);
      if (found.count(id)) return {};
      found[id] = at;
      at = config_.read(at + 1, 1) & 0xfc;
    }
    return found;
  }

  uint64_t size_bar(unsigned reg) {
    const unsigned at = 0x10 + 4 * reg;
    const uint32_t low = config_.read(at, 4), high = config_.read(at + 4, 4);
    config_.write(at, 4, ~0u);
    config_.write(at + 4, 4, ~0u);
    const uint64_t mask = uint64_t{config_.read(at + 4, 4)} << 32 | (config_.read(at, 4) & ~0xfu);
    config_.write(at, 4, low);
    config_.write(at + 4, 4, high);
    return ~mask + 1;
  }

  void assign(unsigned reg, uint64_t base) {
    config_.write(0x10 + 4 * reg, 4, static_cast<uint32_t>(base));
    config_.write(0x14 + 4 * reg, 4, static_cast<uint32_t>(base >> 32));
  }

 private:
  ConfigSpace& config_;
};

// A driver finds the device by its identity and class.
TEST(ConfigSpaceTest, IdentityIsAnEthernetController) {
  ConfigSpace config(kGen5x16);
  EXPECT_EQ(config.read(0x00, 4), 0x4000f0ceu);
  EXPECT_EQ(config.read(0x08, 4) >> 8, 0x020000u);
  EXPECT_EQ(config.read(0x0e, 1), 0u) << "type 0 header";
}

// The capability list leads to power management, MSI-X and PCI Express and ends.
TEST(ConfigSpaceTest, CapabilityListIsComplete) {
  ConfigSpace config(kGen5x16);
  const auto caps = Enumerator(config).capabilities();
  ASSERT_EQ(caps.size(), 3u);
  EXPECT_TRUE(caps.count(0x01) && caps.count(0x10) && caps.count(0x11));
}

// Writing all ones to a BAR and reading back gives its size and kind, and nothing is lost by it.
TEST(ConfigSpaceTest, BarsTellTheirSizes) {
  ConfigSpace config(kGen5x16);
  Enumerator e(config);
  EXPECT_EQ(e.size_bar(0), uint64_t{256} << 10);
  EXPECT_EQ(e.size_bar(2), uint64_t{256} << 20);
  EXPECT_EQ(e.size_bar(4), uint64_t{4} << 20);
  EXPECT_EQ(config.read(0x10, 4), 0x4u);
  EXPECT_EQ(config.read(0x18, 4), 0xcu) << "only BAR1 is prefetchable";
  EXPECT_EQ(config.read(0x20, 4), 0x4u);
  for (unsigned n = 0; n < 3; ++n) EXPECT_EQ(config.bar_size(n), e.size_bar(2 * n));
}

// Bring-up as an operating system does it ends with the settings it asked for.
TEST(ConfigSpaceTest, EnumerationBringsTheDeviceUp) {
  ConfigSpace config(kGen5x16);
  unsigned changes = 0;
  config.on_change = [&] { ++changes; };
  Enumerator e(config);
  config.set_bdf(0x0500);
  e.assign(0, 0x38'0000'0000);
  e.assign(2, 0x38'1000'0000);
  e.assign(4, 0x38'0040'0000);
  EXPECT_EQ(config.bar(0), 0x38'0000'0000u);
  EXPECT_EQ(config.bar(1), 0x38'1000'0000u);
  EXPECT_EQ(config.bar(2), 0x38'0040'0000u);
  EXPECT_FALSE(config.memory_enabled());
  const unsigned pcie = e.capabilities().at(0x10);
  const uint32_t cap = config.read(pcie + 4, 4);
  EXPECT_EQ(cap & 7, 2u) << "512 B";
  EXPECT_TRUE(cap >> 5 & 1) << "8-bit tags";
  const uint32_t cap2 = config.read(pcie + 0x24, 4);
  EXPECT_TRUE(cap2 >> 16 & 1) << "10-bit tags as completer";
  EXPECT_TRUE(cap2 >> 17 & 1) << "10-bit tags as requester";
  EXPECT_EQ(config.read(pcie + 0x12, 2) & 0xf, 5u) << "Gen5";
  EXPECT_EQ(config.read(pcie + 0x12, 2) >> 4 & 0x3f, 16u) << "x16";
  config.write(pcie + 8, 2, 5 << 12 | 1 << 8 | (cap & 7) << 5 | 1 << 4);
  config.write(pcie + 0x10, 2, 1 << 3);
  config.write(pcie + 0x28, 2, 1 << 12);
  config.write(0x04, 2, 0x6);
  const auto s = config.settings();
  EXPECT_TRUE(config.memory_enabled());
  EXPECT_TRUE(s.bus_master);
  EXPECT_TRUE(s.ext_tag);
  EXPECT_TRUE(s.tag10);
  EXPECT_TRUE(s.rcb);
  EXPECT_EQ(s.mps, 2);
  EXPECT_EQ(s.mrrs, 5);
  EXPECT_EQ(s.requester_id, 0x0500);
  EXPECT_EQ(changes, 5u) << "once for each of bus number, device control, link control, device control 2, command";
}

// Without a driver the device masters nothing, decodes nothing and has the standard's default sizes.
TEST(ConfigSpaceTest, ResetSettingsAreTheStandards) {
  ConfigSpace config(kGen5x16);
  const auto s = config.settings();
  EXPECT_FALSE(s.bus_master);
  EXPECT_FALSE(s.ext_tag);
  EXPECT_FALSE(s.tag10);
  EXPECT_FALSE(s.rcb);
  EXPECT_EQ(s.mps, 0) << "128 B";
  EXPECT_EQ(s.mrrs, 2) << "512 B";
  EXPECT_FALSE(config.memory_enabled());
}

// Every DW of the 4 KiB: reset value, writable bits and nothing else, against a table taken from the standard.
TEST(ConfigSpaceTest, OnlyTheStandardsBitsAreWritable) {
  struct Row {
    uint32_t reset, writable;
  };
  const std::map<unsigned, Row> rows = {
      {0x00, {0x4000f0ce, 0}},
      {0x04, {0x00100000, 0x0546}},
      {0x08, {0x02000001, 0}},
      {0x0c, {0, 0xff}},
      {0x10, {0x4, 0xfffc0000}},
      {0x14, {0, 0xffffffff}},
      {0x18, {0xc, 0xf0000000}},
      {0x1c, {0, 0xffffffff}},
      {0x20, {0x4, 0xffc00000}},
      {0x24, {0, 0xffffffff}},
      {0x2c, {0x0001f0ce, 0}},
      {0x34, {0x40, 0}},
      {0x3c, {0, 0xff}},
      {0x40, {0x00035001, 0}},
      {0x44, {0x8, 0x3}},
      {0x50, {0x003f6011, 0xc0000000}},
      {0x54, {0x00020004, 0}},
      {0x58, {0x00030004, 0}},
      {0x60, {0x00020010, 0}},
      {0x64, {0x10008022, 0}},
      {0x68, {0x2810, 0x79ff}},
      {0x6c, {0x00400105, 0}},
      {0x70, {0x11050000, 0x00cb}},
      {0x84, {0x00030017, 0}},
      {0x88, {0, 0x111f}},
      {0x8c, {0x3e, 0}},
      {0x90, {0x5, 0xf}},
      {0x100, {0x00020001, 0}},
      {0x108, {0, 0x0015d010}},
      {0x10c, {0x00040010, 0x0015d010}},
      {0x114, {0x2000, 0x31c0}},
  };
  ConfigSpace config(kGen5x16);
  for (unsigned at = 0; at < 4096; at += 4) {
    const auto it = rows.find(at);
    const Row row = it == rows.end() ? Row{0, 0} : it->second;
    EXPECT_EQ(config.read(at, 4), row.reset) << std::hex << at;
    config.write(at, 4, at == 0x68 ? ~0x8000u : ~0u);  // without the function-level reset
    EXPECT_EQ(config.read(at, 4), row.reset | row.writable) << std::hex << at;
    config.write(at, 4, 0);
    EXPECT_EQ(config.read(at, 4), row.reset & ~row.writable) << std::hex << at;
    config.write(at, 4, row.reset);
  }
}

// A write of one or two bytes changes only those.
TEST(ConfigSpaceTest, NarrowWritesLeaveTheirNeighbours) {
  ConfigSpace config(kGen5x16);
  config.write(0x14, 4, 0x11223344);
  config.write(0x15, 1, 0xaa);
  EXPECT_EQ(config.read(0x14, 4), 0x1122aa44u);
  config.write(0x16, 2, 0xbbcc);
  EXPECT_EQ(config.read(0x14, 4), 0xbbccaa44u);
  EXPECT_EQ(config.read(0x17, 1), 0xbbu);
}

// Odd sizes, unaligned and outside accesses read as ones and write nothing.
TEST(ConfigSpaceTest, IllegalAccessesChangeNothing) {
  ConfigSpace config(kGen5x16);
  config.write(0x14, 4, 0x11223344);
  const std::pair<unsigned, unsigned> bad[] = {{0x14, 0}, {0x14, 3}, {0x14, 8}, {0x15, 2}, {0x15, 4}, {0x16, 4},
                                               {4096, 4}, {4096, 1}, {~0u, 1},  {~3u, 4},  {4095, 2}, {4094, 4}};
  for (const auto& [at, bytes] : bad) {
    EXPECT_EQ(config.read(at, bytes), ~0u) << at << " " << bytes;
    config.write(at, bytes, 0);
  }
  EXPECT_EQ(config.read(0x14, 4), 0x11223344u);
}

// A size beyond what the device supports counts as its largest, though it reads back as written.
TEST(ConfigSpaceTest, TooLargeSizesAreLimited) {
  for (unsigned code = 0; code < 8; ++code) {
    ConfigSpace config(kGen5x16);
    config.write(0x68, 2, code << 5 | code << 12);
    EXPECT_EQ(config.settings().mps, std::min(code, 2u));
    EXPECT_EQ(config.settings().mrrs, std::min(code, 5u));
    EXPECT_EQ(config.read(0x68, 2), code << 5 | code << 12);
  }
}

// In D3hot the device neither decodes memory nor masters; D1 and D2 do not exist.
TEST(ConfigSpaceTest, PowerStatesSwitchMemoryAndMastering) {
  ConfigSpace config(kGen5x16);
  config.write(0x04, 2, 0x6);
  config.write(0x44, 2, 3);
  EXPECT_FALSE(config.memory_enabled());
  EXPECT_FALSE(config.settings().bus_master);
  config.write(0x44, 2, 1);
  EXPECT_EQ(config.read(0x44, 2) & 3, 3u);
  config.write(0x44, 2, 0);
  EXPECT_TRUE(config.memory_enabled());
  EXPECT_TRUE(config.settings().bus_master);
}

// The callback comes only when a setting of the RTL has changed.
TEST(ConfigSpaceTest, CallbackFollowsSettingsOnly) {
  ConfigSpace config(kGen5x16);
  unsigned changes = 0;
  config.on_change = [&] { ++changes; };
  config.write(0x04, 2, 0x2);
  config.write(0x10, 4, ~0u);
  config.write(0x3c, 1, 5);
  config.set_bdf(0);
  EXPECT_EQ(changes, 0u);
  config.write(0x04, 2, 0x6);
  config.write(0x04, 2, 0x6);
  EXPECT_EQ(changes, 1u);
}

using Header = std::array<uint32_t, 4>;
constexpr Header kHeader{0x4a000001, 0x01000004, 0x02000700, 0};
constexpr unsigned kStatusReg = 0x06, kDevSta = 0x6a, kAer = 0x100;
constexpr uint32_t kAnfe = 1 << 13;

uint32_t bit(PcieError e) { return 1u << (static_cast<unsigned>(e) & 0x1f); }

/// As enumerate() leaves it.
class ErrorsTest : public ::testing::Test {
 protected:
  ErrorsTest() { enumerate(config, 512, 512, 64, 10); }
  uint32_t uncorrectable() const { return config.read(kAer + 4, 4); }
  uint32_t correctable() const { return config.read(kAer + 0x10, 4); }
  uint32_t pointer() const { return config.read(kAer + 0x18, 4); }
  Header header_log() const {
    Header h;
    for (unsigned i = 0; i < 4; ++i) h[i] = config.read(kAer + 0x1c + 4 * i, 4);
    return h;
  }
  ConfigSpace config{kGen5x16};
};

// Each error sets its own bit, in the register it belongs to, and the bits of Device Status and Status that go with it.
TEST_F(ErrorsTest, EachErrorHasItsBits) {
  struct Row {
    PcieError error;
    bool non_posted;
    uint32_t correctable, device, status;
  };
  using E = PcieError;
  const Row rows[] = {
      {E::kDataLink, false, 0, 0x4, 0},
      {E::kPoisoned, false, kAnfe, 0x1, 0x8000},
      {E::kCplTimeout, false, 0, 0x2, 0},
      {E::kCompleterAbort, false, 0, 0x2, 0x0800},
      {E::kCompleterAbort, true, kAnfe, 0x1, 0x0800},
      {E::kUnexpectedCpl, false, kAnfe, 0x1, 0},
      {E::kMalformed, false, 0, 0x4, 0},
      {E::kUnsupported, false, 0, 0xa, 0},
      {E::kUnsupported, true, kAnfe, 0x9, 0},
  };
  for (const Row& r : rows) {
    config.set_present(false);
    config.set_present(true);
    enumerate(config, 512, 512, 64, 10);
    SCOPED_TRACE(static_cast<unsigned>(r.error));
    config.report(r.error, &kHeader, r.non_posted);
    EXPECT_EQ(uncorrectable(), bit(r.error));
    EXPECT_EQ(correctable(), r.correctable);
    EXPECT_EQ(config.read(kDevSta, 2), r.device);
    EXPECT_EQ(config.read(kStatusReg, 2), r.status | 0x10);
    EXPECT_EQ(pointer(), static_cast<uint32_t>(r.error));
    EXPECT_EQ(header_log(), kHeader);
  }
  for (const auto e : {E::kBadTlp, E::kBadDllp, E::kReplayRollover, E::kReplayTimeout}) {
    config.set_present(false);
    config.set_present(true);
    config.report(e);
    EXPECT_EQ(uncorrectable(), 0u);
    EXPECT_EQ(correctable(), bit(e));
    EXPECT_EQ(config.read(kDevSta, 2), 0x1u);
  }
}

// Ones written clear the status bits that they name; the registers beside them keep theirs.
TEST_F(ErrorsTest, OnesClearStatusBits) {
  config.report(PcieError::kCplTimeout);
  config.report(PcieError::kMalformed, &kHeader);
  config.received_abort(false);
  config.received_abort(true);
  EXPECT_EQ(config.read(kStatusReg, 2), 0x3010u);
  config.write(kStatusReg, 2, 0x1000);
  EXPECT_EQ(config.read(kStatusReg, 2), 0x2010u);
  config.write(0x04, 4, config.read(0x04, 4));  // as a driver that reads, changes and writes four bytes
  EXPECT_EQ(config.read(kStatusReg, 2), 0x0010u);
  EXPECT_EQ(config.read(0x04, 2), 0x46u);
  config.write(kDevSta, 2, 0x4);
  EXPECT_EQ(config.read(kDevSta, 2), 0x2u);
  config.write(kAer + 4, 4, bit(PcieError::kMalformed));
  EXPECT_EQ(uncorrectable(), bit(PcieError::kCplTimeout));
  config.write(kAer + 4, 4, 0);
  EXPECT_EQ(uncorrectable(), bit(PcieError::kCplTimeout));
}

// The first error keeps pointer and header until its bit is cleared; later ones only set theirs.
TEST_F(ErrorsTest, FirstErrorKeepsItsHeader) {
  const Header other{0x40000001, 1, 2, 3};
  config.report(PcieError::kUnsupported, &kHeader);
  config.report(PcieError::kMalformed, &other);
  EXPECT_EQ(pointer(), 20u);
  EXPECT_EQ(header_log(), kHeader);
  config.write(kAer + 4, 4, bit(PcieError::kMalformed));
  config.report(PcieError::kMalformed, &other);
  EXPECT_EQ(pointer(), 20u);
  config.write(kAer + 4, 4, bit(PcieError::kUnsupported));
  config.report(PcieError::kPoisoned, &other);
  EXPECT_EQ(pointer(), 12u);
  EXPECT_EQ(header_log(), other);
  config.write(kAer + 4, 4, ~0u);
  config.report(PcieError::kCplTimeout);
  EXPECT_EQ(pointer(), 14u);
  EXPECT_EQ(header_log(), Header{}) << "no TLP is to blame for a timeout";
}

// A masked error sets its bit and nothing else of AER; a masked advisory one not even that.
TEST_F(ErrorsTest, MaskedErrorsLogNothing) {
  config.write(kAer + 8, 4, bit(PcieError::kMalformed));
  config.report(PcieError::kMalformed, &kHeader);
  EXPECT_EQ(uncorrectable(), bit(PcieError::kMalformed));
  EXPECT_EQ(pointer(), 0u);
  EXPECT_EQ(header_log(), Header{});
  config.write(kAer + 0x14, 4, kAnfe);
  config.report(PcieError::kUnexpectedCpl, &kHeader);
  EXPECT_EQ(uncorrectable(), bit(PcieError::kMalformed));
  EXPECT_EQ(correctable(), kAnfe);
}

// Severity decides whether an error is fatal; a fatal one is never advisory. SERR# tells the system.
TEST_F(ErrorsTest, SeverityDecides) {
  config.write(kAer + 0xc, 4, bit(PcieError::kUnexpectedCpl));
  config.report(PcieError::kUnexpectedCpl, &kHeader);
  EXPECT_EQ(config.read(kDevSta, 2), 0x4u);
  EXPECT_EQ(correctable(), 0u);
  EXPECT_EQ(config.read(kStatusReg, 2), 0x0010u);
  config.report(PcieError::kMalformed, &kHeader);
  EXPECT_EQ(config.read(kDevSta, 2), 0x6u);
  config.write(0x04, 2, 0x0146);
  config.report(PcieError::kCplTimeout);
  EXPECT_EQ(config.read(kStatusReg, 2), 0x4010u);
}

// Poisoned data that comes back to a requester which answers for parity is a master data parity error.
TEST_F(ErrorsTest, PoisonedCompletionIsAMasterDataParityError) {
  config.received_poisoned_completion(&kHeader);
  EXPECT_EQ(config.read(kStatusReg, 2), 0x8110u);
  config.write(kStatusReg, 2, 0xffff);
  config.write(0x04, 2, 0x0006);
  config.received_poisoned_completion(&kHeader);
  EXPECT_EQ(config.read(kStatusReg, 2), 0x8010u);
}

// Transactions Pending shows what is asked for at the read, at any width of the access.
TEST_F(ErrorsTest, TransactionsPendingIsLive) {
  bool pending = true;
  config.transactions_pending = [&] { return pending; };
  EXPECT_EQ(config.read(kDevSta, 2), 0x20u);
  EXPECT_EQ(config.read(kDevSta, 1), 0x20u);
  EXPECT_EQ(config.read(kDevSta + 1, 1), 0u);
  EXPECT_EQ(config.read(0x68, 4) >> 16, 0x20u);
  pending = false;
  EXPECT_EQ(config.read(kDevSta, 2), 0u);
}

// Whoever has errors to report is asked before a register is read.
TEST_F(ErrorsTest, PendingReportsComeBeforeTheRead) {
  config.before_read = [&] { config.report(PcieError::kBadTlp); };
  EXPECT_EQ(correctable(), bit(PcieError::kBadTlp));
}

// A function-level reset takes everything back but what the standard keeps, tells the model, and reads back as 0.
TEST_F(ErrorsTest, FunctionLevelReset) {
  unsigned flrs = 0, changes = 0;
  config.on_flr = [&] { ++flrs; };
  config.on_change = [&] { ++changes; };
  config.write(0x70, 2, 0x00cb);
  config.write(0x50, 4, 0x80000000);
  config.write(0x90, 2, 0x3);
  config.report(PcieError::kMalformed, &kHeader);
  changes = 0;
  for (const bool bytewise : {false, true}) {
    if (bytewise) {
      config.write(0x69, 1, 0x80);
    } else {
      initiate_flr(config);
    }
    EXPECT_EQ(flrs, bytewise ? 2u : 1u);
    EXPECT_EQ(config.read(0x04, 2), 0u);
    for (unsigned n = 0; n < 3; ++n) EXPECT_EQ(config.bar(n), 0u);
    EXPECT_EQ(config.read(0x68, 2), 0x2850u) << "MPS stays";
    EXPECT_EQ(config.read(kDevSta, 2), 0u);
    EXPECT_EQ(config.read(0x70, 2), 0x00c3u) << "RCB goes";
    EXPECT_EQ(config.read(0x88, 2), 0u);
    EXPECT_EQ(config.read(0x90, 2), 0x3u);
    EXPECT_EQ(config.read(0x50, 4), 0x003f6011u);
    EXPECT_EQ(uncorrectable(), bit(PcieError::kMalformed)) << "sticky";
    EXPECT_EQ(header_log(), kHeader);
    EXPECT_EQ(config.settings().requester_id, 0x0100) << "the bus number is kept";
    EXPECT_FALSE(config.settings().bus_master);
  }
  EXPECT_EQ(changes, 1u) << "the second reset changed nothing";
  EXPECT_NO_THROW(enumerate(config, 512, 512, 64, 10));
}

// A function that is not there answers ones and takes nothing; plugged in it has its reset values.
TEST_F(ErrorsTest, RemovedFunctionIsNotThere) {
  config.report(PcieError::kMalformed, &kHeader);
  config.set_present(false);
  EXPECT_EQ(config.read(0x00, 4), ~0u);
  EXPECT_EQ(config.read(kDevSta, 2), ~0u);
  EXPECT_THROW(enumerate(config, 512, 512, 64, 10), SimError);
  EXPECT_THROW(initiate_flr(config), SimError);
  config.report(PcieError::kMalformed, &kHeader);
  config.received_abort(true);
  EXPECT_FALSE(config.memory_enabled());
  EXPECT_FALSE(config.settings().bus_master);
  config.set_present(true);
  EXPECT_EQ(config.read(0x00, 4), 0x4000f0ceu);
  EXPECT_EQ(uncorrectable(), 0u);
  EXPECT_EQ(config.settings().requester_id, 0u);
}

// Every value of the timeout's field is a time inside its range; reserved ones are as the default.
TEST(ConfigSpaceTest, CompletionTimeoutsLieInTheirRanges) {
  struct Range {
    unsigned code;
    double lo_us, hi_us;
  };
  const Range ranges[] = {{0, 50, 50'000},      {1, 50, 100},          {2, 1'000, 10'000},        {5, 16'000, 55'000},
                          {6, 65'000, 210'000}, {9, 260'000, 900'000}, {10, 1'000'000, 3'500'000}};
  ConfigSpace config(kGen5x16);
  const uint32_t usual = ConfigSpace::cpl_timeout_ns(0);
  for (unsigned code = 0; code < 16; ++code) {
    config.write(0x88, 2, code);
    const double us = config.settings().cpl_timeout / 1e3;
    const auto* r = std::find_if(std::begin(ranges), std::end(ranges), [&](const Range& x) { return x.code == code; });
    if (r == std::end(ranges)) {
      EXPECT_EQ(config.settings().cpl_timeout, usual) << code;
    } else {
      EXPECT_GE(us, r->lo_us) << code;
      EXPECT_LE(us, r->hi_us) << code;
    }
    config.write(0x88, 2, code | 1 << 4);
    EXPECT_EQ(config.settings().cpl_timeout, 0u);
  }
}

// The enumerator takes the shortest timeout that is long enough, and the longest there is for anything above.
TEST(ConfigSpaceTest, EnumeratorChoosesTheTimeout) {
  const std::pair<uint64_t, uint32_t> rows[] = {{0, 0},
                                                {1, 75'000},
                                                {75'000, 75'000},
                                                {75'001, 1'000'000},
                                                {1'000'000, 1'000'000},
                                                {1'000'001, 5'000'000},
                                                {5'000'001, 30'000'000},
                                                {600'000'000, 2'000'000'000},
                                                {~uint64_t{0}, 2'000'000'000}};
  for (const auto& [wanted, set] : rows) {
    ConfigSpace config(kGen5x16);
    enumerate(config, 512, 512, 64, 10, wanted);
    EXPECT_EQ(config.settings().cpl_timeout, set) << wanted;
    EXPECT_TRUE(config.settings().ro_en);
    EXPECT_TRUE(config.settings().ido_en);
  }
}

// Room for completions is a property of the device.
TEST(ConfigSpaceTest, CompletionRoomIsGiven) {
  ConfigSpace config({5, 16, 2, 200, 4000});
  EXPECT_EQ(config.settings().cplh, 200u);
  EXPECT_EQ(config.settings().cpld, 4000u);
}

// pciutils' lspci is the outside judge of the space: it finds every capability, and the settings as they were made.
TEST(ConfigSpaceTest, LspciReadsTheSpace) {
  if (std::system("lspci --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "lspci (Debian: pciutils) is not installed";
  ConfigSpace config(kGen5x16);
  enumerate(config, 512, 4096, 128, 10, 5'000'000);
  config.report(PcieError::kUnexpectedCpl, &kHeader);
  config.report(PcieError::kCplTimeout);
  config.report(PcieError::kBadTlp);
  config.received_abort(false);
  const std::string path = fmt::format("{}rnic_lspci_{}", ::testing::TempDir(), getpid());
  {
    std::ofstream out(path);
    out << "01:00.0 Ethernet controller\n";
    for (unsigned at = 0; at < 4096; ++at) {
      out << (at % 16 == 0 ? fmt::format("{:02x}:", at) : "") << fmt::format(" {:02x}", config.read(at, 1))
          << (at % 16 == 15 ? "\n" : "");
    }
  }
  std::string text;
  FILE* pipe = popen(("lspci -vvv -F " + path + " 2>&1").c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  char buffer[4096];
  while (const size_t n = std::fread(buffer, 1, sizeof buffer, pipe)) text.append(buffer, n);
  EXPECT_EQ(pclose(pipe), 0) << text;
  std::remove(path.c_str());
  for (const char* line : {"Ethernet controller",
                           "f0ce:4000",
                           "Mem+ BusMaster+",
                           "ParErr+",
                           "<MAbort+",
                           "Memory at 200000000000 (64-bit, non-prefetchable)",
                           "Memory at 200010000000 (64-bit, prefetchable)",
                           "Capabilities: [40] Power Management version 3",
                           "Capabilities: [50] MSI-X: Enable- Count=64 Masked-",
                           "Vector table: BAR=4 offset=00020000",
                           "PBA: BAR=4 offset=00030000",
                           "Capabilities: [60] Express (v2) Endpoint",
                           "MaxPayload 512 bytes",
                           "FLReset+",
                           "MaxPayload 512 bytes, MaxReadReq 4096 bytes",
                           "RlxdOrd+ ExtTag+",
                           "CorrErr+ NonFatalErr+ FatalErr-",
                           "Speed 32GT/s, Width x16",
                           "RCB 128 bytes",
                           "Completion Timeout: Range ABC, TimeoutDis+",
                           "10BitTagComp+ 10BitTagReq+",
                           "Completion Timeout: 1ms to 10ms, TimeoutDis-",
                           "Capabilities: [100 v2] Advanced Error Reporting",
                           "UESta:\tDLP- SDES- TLP- FCP- CmpltTO+ CmpltAbrt- UnxCmplt+ RxOF- MalfTLP-",
                           "UESvrt:\tDLP+ SDES- TLP- FCP- CmpltTO- CmpltAbrt- UnxCmplt- RxOF- MalfTLP+",
                           "CESta:\tRxErr- BadTLP+ BadDLLP- Rollover- Timeout- AdvNonFatalErr+",
                           "AERCap:\tFirst Error Pointer: 10, ECRCGenCap- ECRCGenEn- ECRCChkCap- ECRCChkEn-",
                           "HeaderLog: 4a000001 01000004 02000700 00000000"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "\nin\n" << text;
  }
  for (const char* bad : {"<chain", "unknown", "Unknown", "!!!", "broken", "invalid", "??"}) {
    EXPECT_EQ(text.find(bad), std::string::npos) << bad << "\nin\n" << text;
  }
}

// There is no fourth BAR.
TEST(ConfigSpaceTest, UnknownBarIsAnError) {
  ConfigSpace config(kGen5x16);
  EXPECT_THROW(config.bar(3), SimError);
  EXPECT_THROW(ConfigSpace::bar_size(3), SimError);
}

// Speed and width of the link are what the model was given.
TEST(ConfigSpaceTest, LinkStatusFollowsTheLink) {
  ConfigSpace config({4, 8, 1});
  EXPECT_EQ(config.read(0x72, 2) & 0x3ff, 4u | 8u << 4);
  EXPECT_EQ(config.read(0x6c, 4) & 0x3ff, 4u | 8u << 4);
  EXPECT_EQ(config.read(0x8c, 4), 0x1eu);
  EXPECT_EQ(config.read(0x64, 4) & 7, 1u);
}

}  // namespace
}  // namespace rnic
