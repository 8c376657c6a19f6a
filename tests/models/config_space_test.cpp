// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
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
      {0x64, {0x00008022, 0}},
      {0x68, {0x2810, 0x79ff}},
      {0x6c, {0x00400105, 0}},
      {0x70, {0x11050000, 0x00cb}},
      {0x84, {0x00030010, 0}},
      {0x88, {0, 0x1010}},
      {0x8c, {0x3e, 0}},
      {0x90, {0x5, 0xf}},
  };
  ConfigSpace config(kGen5x16);
  for (unsigned at = 0; at < 4096; at += 4) {
    const auto it = rows.find(at);
    const Row row = it == rows.end() ? Row{0, 0} : it->second;
    EXPECT_EQ(config.read(at, 4), row.reset) << std::hex << at;
    config.write(at, 4, ~0u);
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
