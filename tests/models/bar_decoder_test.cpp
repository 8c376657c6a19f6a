// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <tuple>
#include <vector>

#include "rnic/core/error.h"
#include "rnic/nic/bar.h"
#include "rnic/regs/regs.h"
#include "rnic/rtl/ports.h"

namespace rnic {
namespace {

using pcie::make_mem_read;
using pcie::make_mem_write;
using pcie::Tlp;

namespace bar2 = regs::bar2;

constexpr uint16_t kCpu = 0x0008, kNic = 0x0500;
constexpr uint64_t kBar[3] = {0x38'0000'0000, 0x38'1000'0000, 0x38'0040'0000};

struct Recorder : BarClient {
  void doorbell(const rtl::doorbell_t& db) override { doorbells.push_back(db); }
  void command(const rtl::cmd_t& cmd) override { commands.push_back(cmd); }
  void window(unsigned index, const rtl::window_t& w) override { windows.emplace_back(index, w); }
  bool windows_busy() const override { return busy; }
  std::vector<rtl::doorbell_t> doorbells;
  void device_memory_access(uint64_t offset, unsigned bytes, bool write) override {
    accesses.emplace_back(offset, bytes, write);
  }
  std::vector<rtl::cmd_t> commands;
  std::vector<std::tuple<uint64_t, unsigned, bool>> accesses;
  std::vector<std::pair<unsigned, rtl::window_t>> windows;
  bool busy = false;
};

struct Completion {
  unsigned status, byte_count, lower_addr, completer;
  std::vector<uint8_t> data;
};

class BarDecoderTest : public testing::Test {
 protected:
  BarDecoderTest() {
    config.set_bdf(kNic);
    for (unsigned n = 0; n < 3; ++n) {
      config.write(0x10 + 8 * n, 4, static_cast<uint32_t>(kBar[n]));
      config.write(0x14 + 8 * n, 4, static_cast<uint32_t>(kBar[n] >> 32));
    }
    config.write(0x04, 2, 0x6);
  }

  void write(unsigned bar, uint64_t offset, const std::vector<uint8_t>& bytes) {
    EXPECT_FALSE(decoder.request(make_mem_write(kBar[bar] + offset, bytes.data(), bytes.size(), kCpu), 0));
  }
  void write32(unsigned bar, uint64_t offset, uint32_t v) {
    write(bar, offset, {uint8_t(v), uint8_t(v >> 8), uint8_t(v >> 16), uint8_t(v >> 24)});
  }
  Completion read_tlp(const Tlp& tlp) {
    const auto c = decoder.request(tlp, 0);
    EXPECT_TRUE(c.has_value());
    if (!c) return {};
    EXPECT_EQ(c->requester_id(), tlp.requester_id());
    EXPECT_EQ(c->tag(), tlp.tag());
    EXPECT_EQ(c->has_data(), !c->data.empty());
    return {c->hdr[1] >> 13 & 7, c->hdr[1] & 0xfff, c->hdr[2] & 0x7f, c->hdr[1] >> 16, c->data};
  }
  Completion read(unsigned bar, uint64_t offset, unsigned len) {
    return read_tlp(make_mem_read(kBar[bar] + offset, len, kCpu, 7));
  }
  uint32_t read32(unsigned bar, uint64_t offset) {
    const auto c = read(bar, offset, 4);
    EXPECT_EQ(c.status, 0u);
    uint32_t v = 0;
    if (c.data.size() == 4) std::memcpy(&v, c.data.data(), 4);
    return v;
  }
  uint64_t read64(uint64_t offset) {
    const auto c = read(2, offset, 8);
    uint64_t v = 0;
    if (c.data.size() == 8) std::memcpy(&v, c.data.data(), 8);
    return v;
  }
  static std::vector<uint8_t> bytes64(uint64_t v) {
    std::vector<uint8_t> b(8);
    std::memcpy(b.data(), &v, 8);
    return b;
  }
  uint64_t unsupported() { return decoder.counter("mmio_unsupported"); }

  ConfigSpace config{ConfigSpace::Link{5, 16, 2}};
  Memory memory{regs::bar1::kSize};
  Recorder client;
  BarDecoder decoder{config, memory, client};
};

// ---- BAR0 ----

// Every QP's page rings that QP's doorbells, whether stored with 4 bytes or with 8.
TEST_F(BarDecoderTest, DoorbellsOfAllQpsAreDecoded) {
  const std::pair<unsigned, unsigned> kinds[] = {{0x00, 0}, {0x08, 1}, {0x10, 2}, {0x18, 3}};
  for (unsigned qpn = 0; qpn < 1024; ++qpn) {
    for (const auto& [offset, kind] : kinds) {
      for (unsigned len : {4u, 8u}) {
        std::vector<uint8_t> bytes = {uint8_t(qpn), uint8_t(0xa0 + kind), 0, 0, 0xff, 0xff, 0xff, 0xff};
        bytes.resize(len);
        write(0, qpn * 0x100 + offset, bytes);
        ASSERT_EQ(client.doorbells.size(), 1u);
        const auto& db = client.doorbells[0];
        ASSERT_EQ(db.kind, kind);
        ASSERT_EQ(db.qpn, qpn);
        ASSERT_EQ(db.value, (qpn & 0xff) | (0xa0 + kind) << 8);
        client.doorbells.clear();
      }
    }
  }
  EXPECT_EQ(unsupported(), 0u);
}

// Only the bits that a doorbell has reach the RTL.
TEST_F(BarDecoderTest, DoorbellValuesAreMasked) {
  const std::pair<unsigned, uint32_t> masks[] = {{0x00, 0xffff}, {0x08, 0xffff}, {0x10, 0xffffff}, {0x18, 0x1ffffff}};
  for (const auto& [offset, mask] : masks) {
    write32(0, offset, ~0u);
    EXPECT_EQ(client.doorbells.back().value, mask) << offset;
  }
}

// A BlueFlame push keeps the WQE's bytes in order: byte i in bits [8i +: 8].
TEST_F(BarDecoderTest, BlueFlameCarriesPieceAndBytes) {
  std::vector<uint8_t> wqe(64);
  for (unsigned i = 0; i < 64; ++i) wqe[i] = static_cast<uint8_t>(i * 3 + 1);
  for (unsigned piece : {0u, 1u}) {
    write(0, 1023 * 0x100 + 0x80 + piece * 0x40, wqe);
    ASSERT_EQ(client.doorbells.size(), piece + 1);
    const auto& db = client.doorbells.back();
    EXPECT_EQ(db.kind, rtl::rnic_pkg::DbBf);
    EXPECT_EQ(db.qpn, 1023);
    EXPECT_EQ(db.piece, piece == 1);
    for (unsigned i = 0; i < 64; ++i) EXPECT_EQ(db.data[i / 4] >> i % 4 * 8 & 0xff, wqe[i]) << i;
  }
}

// Writes that are no doorbell ring nothing and are counted and logged one by one.
TEST_F(BarDecoderTest, OtherWritesToBar0AreRefused) {
  struct Bad {
    unsigned offset, len;
  };
  const Bad bad[] = {{0x00, 1},  {0x00, 2},  {0x01, 3},   {0x00, 3},  {0x02, 4},   {0x00, 5},   {0x00, 12},
                     {0x00, 64}, {0x04, 4},  {0x0c, 4},   {0x14, 4},  {0x1c, 4},   {0x20, 4},   {0x7c, 4},
                     {0x04, 8},  {0x80, 4},  {0x80, 8},   {0x80, 32}, {0x80, 60},  {0x80, 128}, {0x84, 64},
                     {0xa0, 64}, {0x81, 64}, {0xc0, 128}, {0x40, 64}, {0x00, 4096}};
  uint64_t n = 0;
  for (const auto& b : bad) {
    write(0, 0x1000 * 5 + b.offset, std::vector<uint8_t>(b.len == 4096 ? 4096 : b.len, 0x55));
    EXPECT_EQ(unsupported(), ++n) << std::hex << b.offset << " " << b.len;
  }
  EXPECT_TRUE(client.doorbells.empty());
  EXPECT_EQ(decoder.errors_logged(), n);
}

// A doorbell needs all its bytes, even those that carry no bits.
TEST_F(BarDecoderTest, DoorbellNeedsAllByteEnables) {
  for (unsigned be = 0; be < 15; ++be) {
    auto tlp = make_mem_write(kBar[0], reinterpret_cast<const uint8_t*>("abcd"), 4, kCpu);
    tlp.hdr[1] = (tlp.hdr[1] & ~0xfu) | be;
    EXPECT_FALSE(decoder.request(tlp, 0));
  }
  EXPECT_TRUE(client.doorbells.empty());
  EXPECT_EQ(unsupported(), 15u);
}

// Doorbells cannot be read back.
TEST_F(BarDecoderTest, Bar0ReadsAsZero) {
  write32(0, 0x300, 0x1234);
  const auto c = read(0, 0x300, 64);
  EXPECT_EQ(c.status, 0u);
  EXPECT_EQ(c.data, std::vector<uint8_t>(64));
}

// ---- BAR1 ----

// Writes of any length and alignment change exactly their bytes of device memory.
TEST_F(BarDecoderTest, DeviceMemoryTakesAnyWrite) {
  std::mt19937_64 rng(1);
  std::vector<uint8_t> mirror(8192), now(8192);
  for (unsigned n = 0; n < 3000; ++n) {
    unsigned len = 1 + rng() % (n % 3 == 0 ? 4096 : 12);
    const unsigned at = rng() % mirror.size();
    len = std::min(len, 4096 - at % 4096);
    std::vector<uint8_t> bytes(len);
    for (auto& b : bytes) b = static_cast<uint8_t>(rng());
    write(1, 0x1000000 + at, bytes);
    std::copy(bytes.begin(), bytes.end(), mirror.begin() + at);
    ASSERT_TRUE(memory.read(0x1000000, now.data(), now.size()));
    ASSERT_EQ(now, mirror) << at << " " << len;
  }
  EXPECT_EQ(unsupported(), 0u);
}

// Reads return the bytes asked for, with the byte count and lower address of the standard.
TEST_F(BarDecoderTest, DeviceMemoryReadsOfEveryShape) {
  std::vector<uint8_t> bytes(4096);
  for (unsigned i = 0; i < 4096; ++i) bytes[i] = static_cast<uint8_t>(i * 7 + i / 256);
  write(1, 0xffff000, bytes);
  for (unsigned at : {0u, 1u, 2u, 3u, 0x3cu, 0x7du, 0xf80u}) {
    for (unsigned len = 1; len <= 128 - at % 4; ++len) {
      if (at + len > 4096) break;
      const auto c = read(1, 0xffff000 + at, len);
      ASSERT_EQ(c.status, 0u) << at << " " << len;
      EXPECT_EQ(c.byte_count, len);
      EXPECT_EQ(c.lower_addr, at & 0x7f);
      EXPECT_EQ(c.completer, kNic);
      ASSERT_EQ(c.data.size(), (at % 4 + len + 3) / 4 * 4);
      EXPECT_EQ(std::memcmp(c.data.data() + at % 4, bytes.data() + at, len), 0);
    }
  }
}

// Byte counts of one-DW reads with any byte enables, by the standard's table.
TEST_F(BarDecoderTest, ByteCountsOfSparseEnables) {
  const unsigned count[16] = {1, 1, 1, 2, 1, 3, 2, 3, 1, 4, 3, 4, 2, 4, 3, 4};
  const unsigned lower[16] = {0, 0, 1, 0, 2, 0, 1, 0, 3, 0, 1, 0, 2, 0, 1, 0};
  for (unsigned be = 0; be < 16; ++be) {
    auto tlp = make_mem_read(kBar[1] + 0x1000054, 4, kCpu, 3);
    tlp.hdr[1] = (tlp.hdr[1] & ~0xfu) | be;
    const auto c = read_tlp(tlp);
    EXPECT_EQ(c.status, 0u);
    EXPECT_EQ(c.byte_count, count[be]) << be;
    EXPECT_EQ(c.lower_addr, 0x54u + lower[be]) << be;
    EXPECT_EQ(c.data.size(), 4u);
  }
}

// Sparse byte enables write just the enabled bytes; none at all writes nothing.
TEST_F(BarDecoderTest, SparseEnablesWriteTheirBytes) {
  for (unsigned be = 0; be < 16; ++be) {
    const uint64_t at = 0x1000000 + 16 * be;
    auto tlp = make_mem_write(kBar[1] + at, reinterpret_cast<const uint8_t*>("\1\2\3\4"), 4, kCpu);
    tlp.hdr[1] = (tlp.hdr[1] & ~0xfu) | be;
    decoder.request(tlp, 0);
    uint8_t out[4];
    ASSERT_TRUE(memory.read(at, out, 4));
    for (unsigned b = 0; b < 4; ++b) EXPECT_EQ(out[b], be >> b & 1 ? b + 1 : 0) << be;
  }
  EXPECT_EQ(unsupported(), 0u);
}

// A context written field by field through BAR1 is the struct that the RTL reads.
TEST_F(BarDecoderTest, ContextsMatchTheRtlsStruct) {
  namespace q = regs::bar1::qpc;
  uint32_t words[32] = {};
  q::kState.put(words, static_cast<uint64_t>(regs::QpState::kRts));
  q::kSqBase.put(words, 0x0123456789abcdef);
  q::kDmac.put(words, 0x665544332211);
  q::kSqPsn.put(words, 0xabcdef);
  std::vector<uint8_t> bytes(128);
  std::memcpy(bytes.data(), words, 128);
  write(1, regs::bar1::kQpc + 77 * regs::bar1::kQpcStride, bytes);
  uint32_t seen[32];
  ASSERT_TRUE(memory.read(77 * 128, reinterpret_cast<uint8_t*>(seen), 128));
  const auto ctx = rtl::qpc_t::unpack_at(seen, 0);
  EXPECT_EQ(ctx.state, rtl::rnic_pkg::QpStRts);
  EXPECT_EQ(ctx.sq_base, 0x0123456789abcdefu);
  EXPECT_EQ(ctx.dmac, 0x665544332211u);
  EXPECT_EQ(ctx.sq_psn, 0xabcdefu);
  EXPECT_EQ(ctx.qkey, 0u);
}

// Commands reach the RTL in order and are counted; unknown ones and indices out of range are refused, and the result
// says why.
TEST_F(BarDecoderTest, CommandsAreCheckedAndCounted) {
  const uint32_t limit[8] = {1024, 1024, 65536, 1024, 1024, 1024, 1024, 0};
  uint32_t accepted = 0, refused = 0;
  for (const uint32_t op : {0u, 1u, 2u, 4u, 5u, 6u, 7u}) {
    for (uint32_t index : {0u, 1023u, 1024u, 65535u, 65536u, 0xffffffu}) {
      write32(1, 0xf00000, op | index << 8);
      uint32_t result = 0;
      if (index < limit[op]) {
        ++accepted;
        ASSERT_EQ(client.commands.size(), accepted);
        EXPECT_EQ(client.commands.back().op, op);
        EXPECT_EQ(client.commands.back().index, index);
      } else {
        ++refused;
        result = op == 7 ? 1 : 2;
      }
      EXPECT_EQ(read32(1, 0xf00008), (accepted + refused) << 16 | op << 8 | result);
    }
  }
  EXPECT_EQ(client.commands.size(), accepted);
  EXPECT_EQ(read32(1, 0xf00004), accepted);
  EXPECT_EQ(unsupported(), refused);
  EXPECT_EQ(decoder.counter("cmd_refused"), refused);
  EXPECT_EQ(read32(1, 0xf00000), 0u) << "the command itself reads as 0";
}

// From every state to every other: QpModify and Qp2Err take the steps of ibv_modify_qp and no others. A refused step
// reaches nobody, and the context has its state back, the rest of it untouched; QpCreate leads everywhere.
TEST_F(BarDecoderTest, StatesChangeAsIbvModifyQpHasThem) {
  enum : uint32_t { kReset = 0, kInit = 1, kRtr = 2, kRts = 3, kErr = 6 };
  const std::set<std::pair<uint32_t, uint32_t>> legal{
      {kReset, kReset}, {kReset, kInit}, {kInit, kReset}, {kInit, kInit}, {kInit, kRtr}, {kInit, kErr},  {kRtr, kReset},
      {kRtr, kRts},     {kRtr, kErr},    {kRts, kReset},  {kRts, kRts},   {kRts, kErr},  {kErr, kReset}, {kErr, kErr}};
  const auto issue = [&](uint32_t op, uint32_t qpn) {
    write32(1, 0xf00000, op | qpn << 8);
    return read32(1, 0xf00008) & 3;
  };
  uint32_t qpn = 0, refused = 0;
  for (const uint32_t from : {kReset, kInit, kRtr, kRts, kErr}) {
    for (uint32_t to = 0; to < 16; ++to, qpn += 3) {
      write32(1, qpn * 0x80, 0xabcde0 | from);
      ASSERT_EQ(issue(6, qpn), 0u);
      write32(1, qpn * 0x80, 0x123450 | to);
      const size_t before = client.commands.size();
      const bool good = legal.count({from, to}) != 0;
      EXPECT_EQ(issue(0, qpn), good ? 0u : 3u) << from << " to " << to;
      EXPECT_EQ(client.commands.size(), before + good);
      EXPECT_EQ(read32(1, qpn * 0x80), 0x123450 | (good ? to : from));
      EXPECT_EQ(decoder.counter("cmd_refused"), refused += !good);
    }
    write32(1, qpn * 0x80, from);
    issue(6, qpn);
    EXPECT_EQ(issue(3, qpn), from == kReset ? 3u : 0u) << from << " to error";
    refused += from == kReset;
    write32(1, qpn * 0x80, kRts);
    EXPECT_EQ(issue(0, qpn), 3u) << "in error, or reset";
    ++refused;
    ++qpn;
  }
  EXPECT_EQ(unsupported(), 0u) << "the request itself is a good one";
}

// A QP that the NIC has put into error itself is in error for the next step, too; after a reset all are in Reset.
TEST_F(BarDecoderTest, ErrorsOfTheNicCountAsState) {
  const auto modify = [&](uint32_t qpn, uint32_t state, uint32_t op = 0) {
    write32(1, qpn * 0x80, state);
    write32(1, 0xf00000, op | qpn << 8);
    return read32(1, 0xf00008) & 3;
  };
  for (const uint32_t qpn : {5u, 6u, 7u}) ASSERT_EQ(modify(qpn, 3, 6), 0u);
  rtl::event_t e;
  e.kind = rtl::rnic_pkg::EvtWqeError;
  e.index = 5;
  decoder.log(e, 1);
  e.kind = rtl::rnic_pkg::EvtDbInvalid;
  e.index = 6;
  decoder.log(e, 1);
  EXPECT_EQ(modify(5, 3), 3u);
  EXPECT_EQ(modify(5, 0), 0u);
  EXPECT_EQ(modify(6, 3), 0u);
  decoder.function_level_reset(2);
  EXPECT_EQ(read32(1, 0xf00008), 0u);
  EXPECT_EQ(read32(1, 7 * 0x80), 0u) << "the context says so, too";
  EXPECT_EQ(modify(7, 3), 3u);
  EXPECT_EQ(modify(7, 1), 0u);
}

// Accesses of device memory are told with the bytes that they touch, and none of registers or refused ones.
TEST_F(BarDecoderTest, DeviceMemoryAccessesAreTold) {
  using A = std::tuple<uint64_t, unsigned, bool>;
  write32(1, 0x1000004, 1);
  read32(1, 0x1000104);
  write32(1, 0xf00000, 7);
  read32(1, 0xf00004);
  read32(2, 0);
  EXPECT_EQ(client.accesses, (std::vector<A>{{0x1000004, 4, true}, {0x1000104, 4, false}}));
}

// The command page is registers: other writes there are refused, and no memory lies below.
TEST_F(BarDecoderTest, CommandPageIsNoMemory) {
  write(1, 0xf00000, {1, 2});
  write(1, 0xf00000, std::vector<uint8_t>(8, 0));
  write32(1, 0xf00004, 5);
  write32(1, 0xf00ffc, 5);
  EXPECT_EQ(unsupported(), 4u);
  EXPECT_TRUE(client.commands.empty());
  EXPECT_EQ(read32(1, 0xf00ffc), 0u);
  write32(1, 0xefffffc, 9);
  write32(1, 0xf01000, 9);
  EXPECT_EQ(unsupported(), 4u);
}

// ---- BAR2 ----

// Every register of the map reads its reset value, keeps its read-only bits and takes its writable ones.
TEST_F(BarDecoderTest, RegistersFollowTheMap) {
  unsigned checked = 0;
  for (const auto& r : regs::kRegisters) {
    if (r.bar != 2) continue;
    for (unsigned i = 0; i < r.count[0]; ++i) {
      for (unsigned j = 0; j < r.count[1]; ++j) {
        for (unsigned dw = 0; dw < r.bits / 32u; ++dw) {
          uint32_t reset = 0, writable = 0;
          for (unsigned f = 0; f < r.num_fields; ++f) {
            const auto& field = r.fields[f];
            if (field.access != regs::Access::kWrite)
              reset |= static_cast<uint32_t>((field.reset << field.lsb) >> 32 * dw);
            if (field.access == regs::Access::kReadWrite) writable |= static_cast<uint32_t>(field.mask() >> 32 * dw);
          }
          const uint64_t at = r.offset + uint64_t{i} * r.stride[0] + uint64_t{j} * r.stride[1] + 4 * dw;
          ASSERT_EQ(read32(2, at), reset) << r.name << " " << i;
          write32(2, at, ~0u);
          ASSERT_EQ(read32(2, at), reset | writable) << r.name << " " << i;
          write32(2, at, 0);
          ASSERT_EQ(read32(2, at), reset & ~writable) << r.name << " " << i;
          ++checked;
        }
      }
    }
  }
  EXPECT_GT(checked, 900u);
  EXPECT_EQ(unsupported(), 0u);
}

// BAR0 and BAR1 of the map read their reset values, too.
TEST_F(BarDecoderTest, DoorbellsAndContextsReadTheirResetValues) {
  for (const auto& r : regs::kRegisters) {
    if (r.bar == 2) continue;
    const uint64_t last = r.offset + uint64_t{r.count[0] - 1} * r.stride[0] + uint64_t{r.count[1] - 1} * r.stride[1];
    for (uint64_t at : {uint64_t{r.offset}, last}) {
      for (unsigned dw = 0; dw < r.bits / 32u; ++dw) ASSERT_EQ(read32(r.bar, at + 4 * dw), 0u) << r.name;
    }
  }
}

// Identity tells the same as the configuration space, and the build keys of the RTL.
TEST_F(BarDecoderTest, IdentityAgreesWithConfigurationSpaceAndBuild) {
  EXPECT_EQ(read32(2, regs::bar2::kId), config.read(0, 4));
  EXPECT_EQ(read32(2, regs::bar2::kBuildQueues), 1024u | 1024u << 16);
  EXPECT_EQ(read32(2, regs::bar2::kBuildPath), rtl::rnic_pkg::DataW | rtl::rnic_pkg::NumTags << 16);
}

// Byte enables hold for registers.
TEST_F(BarDecoderTest, RegisterWritesHonourByteEnables) {
  const uint64_t base = regs::bar2::kWindowBase + 5 * regs::bar2::kWindowStride;
  write(2, base, {1, 2, 3, 4, 5, 6, 7, 8});
  write(2, base + 3, {0xaa, 0xbb});
  EXPECT_EQ(read64(base), 0x080706'bb'aa'030201u);
  write(2, base, std::vector<uint8_t>(12, 0xee));
  EXPECT_EQ(unsupported(), 1u) << "12 B is no register access";
  EXPECT_EQ(read64(base), 0x080706'bb'aa'030201u);
}

// Each pulse of the RTL counts in the counter of its name, in no other, and is read at its offset.
TEST_F(BarDecoderTest, PulsesCountUnderTheirNames) {
  const char* names[] = {"db_rx",         "db_coalesced",     "db_invalid",     "bf_hit",   "bf_fallback",
                         "wqe_fetch",     "qpc_miss",         "cqc_miss",       "mpt_miss", "cqe_ok",
                         "req_cqe_error", "cq_overrun",       "cpl_unexpected", "cpl_ur",   "cpl_ca",
                         "cpl_poisoned",  "cpl_timeout",      "cpl_malformed",  "irq_sent", "mtt_miss",
                         "mtt_absent",    "gdr_window_denied"};
  constexpr unsigned kPulses = rtl::stat_t::kWidth;
  static_assert(sizeof names / sizeof *names == kPulses);
  for (unsigned i = 0; i < kPulses; ++i) {
    const uint32_t word = 1u << (kPulses - 1 - i);  // first field of the struct is its highest bit
    for (unsigned n = 0; n <= i; ++n) decoder.count(rtl::stat_t::unpack_at(&word, 0));
  }
  uint64_t sum = 0;
  for (const auto& [name, value] : decoder.counters()) sum += value;
  EXPECT_EQ(sum, uint64_t{kPulses} * (kPulses + 1) / 2);
  for (unsigned i = 0; i < kPulses; ++i) EXPECT_EQ(decoder.counter(names[i]), i + 1) << names[i];
  for (const auto& c : regs::kCounters) EXPECT_EQ(read64(c.offset), decoder.counter(c.name)) << c.name;
}

// Simultaneous pulses all count.
TEST_F(BarDecoderTest, PulsesOfOneCycleAllCount) {
  rtl::stat_t s;
  s.db_rx = s.cqe_ok = s.cpl_malformed = true;
  decoder.count(s);
  decoder.count({});
  EXPECT_EQ(decoder.counter("db_rx"), 1u);
  EXPECT_EQ(decoder.counter("cqe_ok"), 1u);
  EXPECT_EQ(decoder.counter("cpl_malformed"), 1u);
  EXPECT_EQ(decoder.counter("wqe_fetch"), 0u);
}

// The AllReduce engine's pulses count in counters of their own, each under its name; its levels are registers.
TEST_F(BarDecoderTest, ArpPulsesAndLevels) {
  const char* names[] = {"frag",       "beat",         "first",      "full",       "written",   "acked",
                         "parity",     "duplicate",    "late",       "no_slot",    "bad_group", "bad_type",
                         "bad_offset", "bad_length",   "bad_rank",   "damaged",    "bad_ack",   "bad_context",
                         "evt_lost",   "stall_hazard", "stall_read", "stall_drain"};
  static_assert(rtl::arp_stat_t::kWidth == 22);
  for (unsigned i = 0; i < 22; ++i) {
    const uint32_t word = 1u << (21 - i);  // first field of the struct is its highest bit
    for (unsigned n = 0; n <= i; ++n) decoder.count_arp(rtl::arp_stat_t::unpack_at(&word, 0));
  }
  uint64_t sum = 0;
  for (const auto& [name, value] : decoder.counters()) sum += value;
  EXPECT_EQ(sum, 253u);
  for (unsigned i = 0; i < 22; ++i) EXPECT_EQ(decoder.counter(std::string("arp_") + names[i]), i + 1) << names[i];
  EXPECT_EQ(read64(regs::bar2::kArpStallDrain), 22u);
  EXPECT_EQ(read32(2, regs::bar2::kArpSlots), 0u);
  decoder.set_arp_levels(1024, 1000, true);
  EXPECT_EQ(read32(2, regs::bar2::kArpSlots), 1024u | 1000u << 16);
  EXPECT_EQ(read32(2, regs::bar2::kArpState), 1u);
}

// Counters that live elsewhere are read on demand; clearing starts them from where they are.
TEST_F(BarDecoderTest, ProvidedCountersAndClear) {
  uint64_t frames = 0x1'0000'0005;
  decoder.provide("tx_packets_phy", [&] { return frames; });
  EXPECT_EQ(read64(regs::bar2::kTxPacketsPhy), frames);
  EXPECT_EQ(read32(2, regs::bar2::kTxPacketsPhy + 4), 1u) << "high half";
  rtl::stat_t s;
  s.db_rx = true;
  decoder.count(s);
  write32(2, regs::bar2::kCounterCtrl, 0);
  EXPECT_EQ(decoder.counter("db_rx"), 1u);
  write32(2, regs::bar2::kCounterCtrl, 1);
  EXPECT_EQ(decoder.counter("db_rx"), 0u);
  frames += 3;
  EXPECT_EQ(decoder.counter("tx_packets_phy"), 3u);
}

// A counter that the map does not know is an error with its name.
TEST_F(BarDecoderTest, UnknownCountersAreErrors) {
  EXPECT_THROW(decoder.counter("no_such"), SimError);
  EXPECT_THROW(decoder.provide("no_such", [] { return uint64_t{0}; }), SimError);
}

// The log holds the latest 16 entries; its head tells where the next one goes.
TEST_F(BarDecoderTest, LogKeepsTheLatestSixteen) {
  for (unsigned n = 0; n < 20; ++n) {
    rtl::event_t e;
    e.kind = rtl::rnic_pkg::EvtWqeError;
    e.index = 100 + n;
    e.wqe = static_cast<uint16_t>(n);
    e.syndrome = 0x04;
    e.vendor = 0x06;
    decoder.log(e, 0x1'0000'0000 + n);
  }
  EXPECT_EQ(decoder.errors_logged(), 20u);
  EXPECT_EQ(read32(2, regs::bar2::kLogHead), 4u);
  EXPECT_EQ(read32(2, regs::bar2::kLogCount), 20u);
  for (unsigned slot = 0; slot < 16; ++slot) {
    const unsigned n = slot < 4 ? 16 + slot : slot;
    const uint64_t at = slot * regs::bar2::kErrorLogStride;
    EXPECT_EQ(read32(2, regs::bar2::kErrorLogKind + at), 2u);
    EXPECT_EQ(read32(2, regs::bar2::kErrorLogIndex + at), 100 + n);
    EXPECT_EQ(read32(2, regs::bar2::kErrorLogWqe + at), n | 0x0604'0000u);
    EXPECT_EQ(read64(regs::bar2::kErrorLogTime + at), 0x1'0000'0000u + n);
  }
}

// Errors that a CQE reports leave the device degraded; a lost CQE is fatal, stays so, and is kept apart.
TEST_F(BarDecoderTest, HealthFollowsTheWorstError) {
  EXPECT_EQ(read32(2, regs::bar2::kHealth), 0u);
  rtl::event_t e;
  e.kind = rtl::rnic_pkg::EvtDbInvalid;
  decoder.log(e, 1);
  EXPECT_EQ(read32(2, regs::bar2::kHealth), 1u);
  EXPECT_EQ(read32(2, regs::bar2::kFatal), 0u);
  e.kind = rtl::rnic_pkg::EvtCqOverrun;
  e.index = 9;
  e.syndrome = 5;
  e.vendor = 7;
  decoder.log(e, 0x2'0000'0001);
  e.kind = rtl::rnic_pkg::EvtDbInvalid;
  e.index = 1;
  decoder.log(e, 3);
  EXPECT_EQ(read32(2, regs::bar2::kHealth), 2u);
  EXPECT_EQ(read32(2, regs::bar2::kFatal), 3u | 5u << 8 | 7u << 16);
  EXPECT_EQ(read32(2, regs::bar2::kFatalIndex), 9u);
  EXPECT_EQ(read64(regs::bar2::kFatalTime), 0x2'0000'0001u);
}

// Each reason of an error CQE has a counter of its own, which the log's length does not bound.
TEST_F(BarDecoderTest, ReasonsOfErrorsAreCounted) {
  namespace pkg = rtl::rnic_pkg;
  struct Case {
    unsigned syndrome, vendor;
    const char* counter;
  };
  const Case cases[] = {{pkg::SynLocalQpOp, pkg::VenOpcode, "wqe_opcode_error"},
                        {pkg::SynLocalQpOp, pkg::VenWqeSize, "wqe_size_error"},
                        {pkg::SynLocalQpOp, pkg::VenWqeQpn, "wqe_qpn_error"},
                        {pkg::SynLocalQpOp, pkg::VenLength, "wqe_length_error"},
                        {pkg::SynLocalQpOp, pkg::VenBounds, "sq_bounds_error"},
                        {pkg::SynLocalProt, pkg::VenKey, "mr_key_error"},
                        {pkg::SynLocalProt, pkg::VenBounds, "mr_bounds_error"},
                        {pkg::SynLocalProt, pkg::VenPd, "mr_pd_error"},
                        {pkg::SynLocalProt, pkg::VenRights, "mr_rights_error"},
                        {pkg::SynLocalQpOp, pkg::VenDma + pkg::DmaNoMaster, "dma_no_master_error"},
                        {pkg::SynLocalQpOp, pkg::VenDma + pkg::DmaMalformed, "dma_too_long_error"}};
  uint64_t n = 20;
  for (const Case& c : cases) {
    rtl::event_t e;
    e.kind = pkg::EvtWqeError;
    e.syndrome = static_cast<uint8_t>(c.syndrome);
    e.vendor = static_cast<uint8_t>(c.vendor);
    for (uint64_t i = 0; i < n; ++i) decoder.log(e, i);
    EXPECT_EQ(decoder.counter(c.counter), n) << c.counter;
    e.syndrome = pkg::SynFlushed;  // a flushed one has no reason of its own
    decoder.log(e, n++);
  }
  rtl::event_t e;
  e.kind = pkg::EvtCqInvalid;
  decoder.log(e, 1);
  EXPECT_EQ(decoder.counter("cq_invalid"), 1u);
  uint64_t sum = 0;
  for (const auto& [name, value] : decoder.counters()) sum += value;
  EXPECT_EQ(sum, 11u * 25 + 11 + 1);  // 20..30 of each, one flushed of each
}

// The log reads back as it was written, oldest first, and no more than it holds.
TEST_F(BarDecoderTest, LogIsGivenOldestFirst) {
  EXPECT_TRUE(decoder.error_log().empty());
  for (unsigned n = 0; n < 21; ++n) {
    rtl::event_t e;
    e.kind = rtl::rnic_pkg::EvtWqeError;
    e.index = n;
    e.wqe = static_cast<uint16_t>(3 * n);
    e.syndrome = 4;
    e.vendor = 7;
    decoder.log(e, 0x5'0000'0000 + n);
    const auto log = decoder.error_log();
    ASSERT_EQ(log.size(), std::min(n + 1, 16u));
    EXPECT_EQ(log.front().index, n < 16 ? 0 : n - 15);
    EXPECT_EQ(log.back().index, n);
    EXPECT_EQ(log.back().wqe, 3 * n);
    EXPECT_EQ(log.back().ns, 0x5'0000'0000 + n);
    EXPECT_EQ(log.back().kind, regs::EventKind::kWqeError);
    EXPECT_EQ(unsigned{log.back().syndrome}, 4u);
    EXPECT_EQ(unsigned{log.back().vendor}, 7u);
  }
}

// The registers show state, causes and changes; a reset takes errors back, and the record of the fatal one stays.
TEST_F(BarDecoderTest, ResetLeadsBackToHealthy) {
  rtl::event_t e;
  e.kind = rtl::rnic_pkg::EvtCqOverrun;
  e.index = 9;
  decoder.log(e, 100);
  EXPECT_EQ(read32(2, bar2::kHealthCause), unsigned{Health::kLost});
  EXPECT_EQ(read32(2, bar2::kHealthChanges), 1u);
  decoder.function_level_reset(200);
  EXPECT_EQ(read32(2, bar2::kHealth), 3u);
  decoder.up(300);
  EXPECT_EQ(read32(2, bar2::kHealth), 0u);
  EXPECT_EQ(read32(2, bar2::kHealthCause), 0u);
  EXPECT_EQ(read32(2, bar2::kHealthChanges), 3u);
  EXPECT_EQ(read32(2, bar2::kFatalIndex), 9u);
  EXPECT_EQ(decoder.counter("flr"), 1u);
  decoder.power_off(400);
  decoder.up(500);
  EXPECT_EQ(decoder.counter("surprise_down"), 1u);
  EXPECT_EQ(decoder.counter("flr"), 1u);
  EXPECT_EQ(decoder.health().history().back().ns, 500u);
}

// A threshold that is crossed is counted, logged with the temperature, and makes the state.
TEST_F(BarDecoderTest, ThresholdsAreCountedAndLogged) {
  decoder.set_thermal_limits({-10, 90, 5});
  EXPECT_EQ(read32(2, bar2::kTemperatureLimits), (900u << 16 | 0xff9c));
  decoder.set_temperature(-20, 10);
  EXPECT_EQ(decoder.errors_logged(), 0u);
  decoder.set_temperature(95.5, 20);
  decoder.set_temperature(-15.25, 30);
  const auto log = decoder.error_log();
  ASSERT_EQ(log.size(), 3u);
  for (const auto& entry : log) EXPECT_EQ(entry.kind, regs::EventKind::kThermal);
  EXPECT_EQ(log[0].vendor, 1);
  EXPECT_EQ(log[1].vendor, 2);
  EXPECT_EQ(log[1].index, 955u);
  EXPECT_EQ(log[2].vendor, 0);
  EXPECT_EQ(static_cast<int16_t>(log[2].index), -153);
  EXPECT_EQ(log[2].ns, 30u);
  EXPECT_EQ(decoder.counter("temp_warning_events"), 1u);
  EXPECT_EQ(decoder.counter("temp_critical_events"), 1u);
  EXPECT_EQ(read32(2, bar2::kHealth), 2u) << "overheated until a reset";
}

// What is refused because memory space is off is told apart.
TEST_F(BarDecoderTest, DisabledMemorySpaceIsCountedApart) {
  write32(2, 1, 0);  // not aligned: malformed for other reasons
  config.write(0x04, 2, 0x4);
  write32(2, 0, 0);
  EXPECT_EQ(decoder.counter("mmio_disabled"), 1u);
  EXPECT_GE(unsupported(), 1u);
}

// Flushed CQEs are told apart from other error CQEs.
TEST_F(BarDecoderTest, FlushedCqesHaveTheirCounter) {
  rtl::event_t e;
  e.kind = rtl::rnic_pkg::EvtWqeError;
  e.syndrome = rtl::rnic_pkg::SynLocalProt;
  decoder.log(e, 1);
  e.syndrome = rtl::rnic_pkg::SynFlushed;
  decoder.log(e, 2);
  EXPECT_EQ(decoder.counter("req_cqe_flush_error"), 1u);
}

// Temperature is signed and limited to its register.
TEST_F(BarDecoderTest, TemperatureInTenthsOfADegree) {
  const std::pair<double, int> cases[] = {{45.04, 450}, {-10.5, -105}, {1e9, 32767}, {-1e9, -32768}};
  for (const auto& [celsius, tenths] : cases) {
    decoder.set_temperature(celsius);
    EXPECT_EQ(static_cast<int16_t>(read32(2, regs::bar2::kTemperature)), tenths);
  }
}

// ---- GPUDirect windows ----

// Nothing of a window takes effect before its ctrl is written, and then all of it at once.
TEST_F(BarDecoderTest, WindowsTakeEffectWithTheirCtrl) {
  for (unsigned i = 0; i < bar2::kWindowCount; ++i) {
    const uint64_t at = i * bar2::kWindowStride;
    const uint64_t base = 0x0123'4567'89ab'0000 + i, size = 0xfedc'0000'0000'0001 + i, gpu = ~uint64_t{i};
    write(2, bar2::kWindowGpu + at, bytes64(gpu));
    for (unsigned half : {1u, 0u})
      write32(2, bar2::kWindowBase + at + 4 * half, static_cast<uint32_t>(base >> 32 * half));
    write(2, bar2::kWindowSize + at, bytes64(size));
    EXPECT_TRUE(client.windows.empty()) << i;
    for (unsigned rights = 0; rights < 8; ++rights) {
      write32(2, bar2::kWindowCtrl + at, (rights & 3) | (rights & 4) << 6 | 0xfffffe00);
      ASSERT_EQ(client.windows.size(), 1u) << i;
      const auto& [index, w] = client.windows[0];
      EXPECT_EQ(index, i);
      EXPECT_EQ(w.base, base);
      EXPECT_EQ(w.size, size);
      EXPECT_EQ(w.gpu, gpu);
      EXPECT_EQ(w.read, (rights & 1) != 0);
      EXPECT_EQ(w.write, (rights & 2) != 0);
      EXPECT_EQ(w.valid, (rights & 4) != 0);
      EXPECT_EQ(read32(2, bar2::kWindowCtrl + at), (rights & 3) | (rights & 4) << 6);
      client.windows.clear();
    }
    EXPECT_EQ(read64(bar2::kWindowBase + at), base);
    EXPECT_EQ(read64(bar2::kWindowSize + at), size);
    EXPECT_EQ(read64(bar2::kWindowGpu + at), gpu);
  }
  EXPECT_EQ(unsupported(), 0u);
}

// 50,000 random writes in and around the windows' registers, of any byte enables, against a mirror of their bytes: each
// enabled write of a ctrl commits its window as the mirror has it, and nothing else commits anything.
TEST_F(BarDecoderTest, RandomWindowWritesCommitWhatTheMirrorHas) {
  const char* text = std::getenv("RNIC_TEST_SEED");
  const uint64_t seed = text ? std::strtoull(text, nullptr, 0) : 1;
  SCOPED_TRACE("RNIC_TEST_SEED=" + std::to_string(seed));
  std::mt19937_64 rng(seed);
  constexpr uint32_t kEnd = bar2::kWindowCount * bar2::kWindowStride, kCtrlMask = 0x103;
  std::vector<uint8_t> mirror(kEnd);
  const auto dword = [&](uint32_t at) {
    return mirror[at] | mirror[at + 1] << 8 | mirror[at + 2] << 16 | uint32_t{mirror[at + 3]} << 24;
  };
  const auto qword = [&](uint32_t at) { return dword(at) | uint64_t{dword(at + 4)} << 32; };
  unsigned commits = 0;
  for (unsigned n = 0; n < 50'000; ++n) {
    // One in eight writes of 4 or 8 B lies behind the windows.
    const auto at = static_cast<uint32_t>(n % 8 == 0 ? kEnd + 4 * (rng() % 4) : 4 * (rng() % (kEnd / 4)));
    const unsigned dws = 1 + rng() % 2;
    Tlp tlp = make_mem_write(kBar[2] + bar2::kWindowBase + at, bytes64(rng()).data(), 4 * dws, kCpu);
    const unsigned first = dws == 1 ? rng() % 16 : 1 + rng() % 15, last = dws == 1 ? 0 : 1 + rng() % 15;
    tlp.hdr[1] = (tlp.hdr[1] & ~0xffu) | last << 4 | first;
    for (unsigned dw = 0; dw < dws; ++dw) {
      for (unsigned b = 0; b < 4; ++b) {
        const uint32_t byte = at + 4 * dw + b;
        if (byte >= kEnd || !((dw == 0 ? first : last) >> b & 1)) continue;
        const uint32_t in = byte % bar2::kWindowStride, ctrl = bar2::kWindowCtrl - bar2::kWindowBase;
        const uint32_t mask = in < ctrl ? 0xff : in < ctrl + 4 ? kCtrlMask >> 8 * (in - ctrl) & 0xff : 0;
        mirror[byte] = static_cast<uint8_t>((mirror[byte] & ~mask) | (tlp.data[4 * dw + b] & mask));
      }
    }
    EXPECT_FALSE(decoder.request(tlp, 0));
    std::vector<unsigned> want;
    for (unsigned dw = 0; dw < dws; ++dw) {
      const uint32_t it = at + 4 * dw;
      if (it < kEnd && it % bar2::kWindowStride == 0x18 && (dw == 0 ? first : last) != 0)
        want.push_back(it / bar2::kWindowStride);
    }
    ASSERT_EQ(client.windows.size(), want.size()) << n;
    for (size_t i = 0; i < want.size(); ++i) {
      const auto& [index, w] = client.windows[i];
      const uint32_t window = want[i] * bar2::kWindowStride, ctrl = dword(window + 0x18);
      ASSERT_EQ(index, want[i]) << n;
      ASSERT_EQ(w.base, qword(window)) << n;
      ASSERT_EQ(w.size, qword(window + 0x8)) << n;
      ASSERT_EQ(w.gpu, qword(window + 0x10)) << n;
      ASSERT_EQ(w.read | w.write << 1 | w.valid << 8, ctrl) << n;
      ++commits;
    }
    client.windows.clear();
  }
  EXPECT_GT(commits, 5000u);
  for (uint32_t at = 0; at < kEnd; at += 4) ASSERT_EQ(read32(2, bar2::kWindowBase + at), dword(at)) << at;
}

// Whether old reads are under way is asked for at each read of the state, which nothing can be written to.
TEST_F(BarDecoderTest, WindowStateIsReadLive) {
  for (bool busy : {false, true, false}) {
    client.busy = busy;
    write32(2, bar2::kWindowState, ~0u);
    EXPECT_EQ(read32(2, bar2::kWindowState), busy ? 1u : 0u);
    EXPECT_EQ(read64(bar2::kWindowState), busy ? 1u : 0u);
  }
  EXPECT_TRUE(client.windows.empty());
}

// After a reset the windows read 0, and what is committed next has nothing of their old life.
TEST_F(BarDecoderTest, ResetForgetsWindows) {
  for (uint32_t at = 0; at < bar2::kWindowCount * bar2::kWindowStride; at += 8)
    write(2, bar2::kWindowBase + at, bytes64(~0ull));
  client.windows.clear();
  decoder.function_level_reset(0);
  for (unsigned i = 0; i < bar2::kWindowCount; ++i) {
    for (unsigned at = 0; at < bar2::kWindowStride; at += 8)
      EXPECT_EQ(read64(bar2::kWindowBase + i * bar2::kWindowStride + at), 0u);
    write32(2, bar2::kWindowCtrl + i * bar2::kWindowStride, 0x101);
    ASSERT_EQ(client.windows.size(), i + 1);
    const rtl::window_t& w = client.windows[i].second;
    EXPECT_TRUE(w.base == 0 && w.size == 0 && w.gpu == 0 && w.valid && w.read && !w.write) << i;
  }
}

// ---- Hostile requests ----

// Reads that cannot be served end with Unsupported Request and no data, and are logged with their address.
TEST_F(BarDecoderTest, ReadsThatCannotBeServedEndInUr) {
  const std::pair<uint64_t, unsigned> bad[] = {{kBar[0] - 4, 4},
                                               {kBar[0] + 0x40000, 4},
                                               {kBar[1] - 64, 64},
                                               {kBar[1] + 0x10000000, 4},
                                               {kBar[2] - 4, 4},
                                               {0, 4},
                                               {0xffff'ffff'ffff'fffc, 4},
                                               {kBar[0], 68},
                                               {kBar[1], 132},
                                               {kBar[1], 4096},
                                               {kBar[2], 68},
                                               {0x1000, 4}};
  uint64_t n = 0;
  for (const auto& [addr, len] : bad) {
    const auto c = read_tlp(make_mem_read(addr, len, kCpu, 1));
    EXPECT_EQ(c.status, 1u) << std::hex << addr << " " << len;
    EXPECT_TRUE(c.data.empty());
    EXPECT_EQ(unsupported(), ++n);
    const uint64_t at = (n - 1) % 16 * regs::bar2::kErrorLogStride;
    EXPECT_EQ(read32(2, regs::bar2::kErrorLogKind + at), 15u);
    EXPECT_EQ(read64(regs::bar2::kErrorLogAddress + at), addr);
  }
  EXPECT_EQ(read32(2, regs::bar2::kHealth), 0u) << "a driver's fault is not the device's";
}

// With memory space disabled the device answers nothing but Unsupported Request.
TEST_F(BarDecoderTest, DisabledMemorySpaceServesNothing) {
  config.write(0x04, 2, 0x4);
  EXPECT_EQ(read(2, 0, 4).status, 1u);
  write32(0, 0, 1);
  EXPECT_TRUE(client.doorbells.empty());
  EXPECT_EQ(unsupported(), 2u);
}

// Poisoned data is never used.
TEST_F(BarDecoderTest, PoisonedWritesAreDropped) {
  auto tlp = make_mem_write(kBar[1] + 0x1000000, reinterpret_cast<const uint8_t*>("abcd"), 4, kCpu);
  tlp.hdr[0] |= 1 << 14;
  decoder.request(tlp, 0);
  EXPECT_EQ(read32(1, 0x1000000), 0u);
  EXPECT_EQ(unsupported(), 1u);
}

// A request of a type that a NIC does not serve gets the answer its requester waits for, or none.
TEST_F(BarDecoderTest, OtherTypesGetTheirAnswer) {
  const std::pair<unsigned, bool> types[] = {{0x02, true},  {0x42, true},  {0x04, true},  {0x45, true},  {0x4c, true},
                                             {0x6e, true},  {0x01, true},  {0x0a, false}, {0x4a, false}, {0x30, false},
                                             {0x74, false}, {0x80, false}, {0x5b, true},  {0xff, false}};
  for (const auto& [type, answered] : types) {
    Tlp tlp;
    tlp.hdr[0] = type << 24 | 1;
    tlp.data.resize(tlp.has_data() ? 4 : 0);
    const auto c = decoder.request(tlp, 0);
    EXPECT_EQ(c.has_value(), answered) << std::hex << type;
    if (c) {
      EXPECT_EQ(c->hdr[1] >> 13 & 7, 1u);
    }
  }
  EXPECT_EQ(unsupported(), std::size(types));
}

// 100,000 random requests: every read is answered, no write is, all refusals are counted, and device memory holds
// exactly what well-formed writes to it put there.
TEST_F(BarDecoderTest, RandomRequestsChangeOnlyWhatTheyMay) {
  const char* text = std::getenv("RNIC_TEST_SEED");
  const uint64_t seed = text ? std::strtoull(text, nullptr, 0) : 1;
  SCOPED_TRACE("RNIC_TEST_SEED=" + std::to_string(seed));
  std::mt19937_64 rng(seed);
  const auto chance = [&](unsigned percent) { return rng() % 100 < percent; };
  const uint64_t spots[] = {kBar[0],
                            kBar[0] + 0x3ff80,
                            kBar[0] + 0x40000,
                            kBar[1],
                            kBar[1] + 0xefff80,
                            kBar[1] + 0xf00000,
                            kBar[1] + 0xf01000,
                            kBar[1] + 0xfffff80,
                            kBar[1] + 0x10000000,
                            kBar[2],
                            kBar[2] + 0x1000,
                            kBar[2] + 0x8200,
                            kBar[2] + 0x10000,
                            kBar[2] + 0x20000,
                            kBar[2] + 0x3fff80,
                            0};
  std::map<uint64_t, uint8_t> mirror;  // device memory, by offset
  uint64_t served = 0, mem_reads_served = 0, expected_unsupported = 0;
  const uint32_t id = read32(2, 0);
  for (unsigned n = 0; n < 100000; ++n) {
    Tlp tlp;
    const unsigned kind = rng() % 20;
    const unsigned type = kind < 9 ? 0x40 : kind < 18 ? 0x00 : rng() & 0xff;
    const uint64_t step = rng() % 0x180 & (chance(40) ? ~7u : ~0u);
    const uint64_t addr = chance(2) ? rng() : spots[rng() % std::size(spots)] + step - 0x80 * chance(20);
    const bool wide = kind >= 18 ? type >> 5 & 1 : addr >> 32 != 0;
    const unsigned dws = chance(60) ? 1 + rng() % 2 : chance(70) ? 1 + rng() % 33 : 1 + rng() % 1024;
    tlp.hdr[0] = (kind < 18 ? type | wide << 5 : type) << 24 | (dws & 0x3ff) | (chance(2) ? 1 << 14 : 0);
    unsigned first = chance(70) ? 15 : rng() & 15, last = dws == 1 ? 0 : chance(70) ? 15 : rng() & 15;
    if (chance(3)) last = rng() & 15;
    tlp.hdr[1] = uint32_t{kCpu} << 16 | (rng() & 0xff) << 8 | last << 4 | first;
    tlp.hdr[2] = static_cast<uint32_t>(wide ? addr >> 32 : addr & ~3u);
    tlp.hdr[3] = static_cast<uint32_t>(wide ? addr & ~3u : 0);
    if (tlp.has_data()) {
      tlp.data.resize(4 * (chance(3) ? rng() % 40 : dws));
      for (auto& b : tlp.data) b = static_cast<uint8_t>(rng());
    }
    const uint64_t before = unsupported(), doorbells = client.doorbells.size(), commands = client.commands.size();
    const auto c = decoder.request(tlp, n);
    const bool refused = decoder.errors_logged() != expected_unsupported;
    expected_unsupported += refused;
    served += !refused;
    const uint64_t after = unsupported();
    // Clearing the counters is a legal write to BAR2; otherwise each refusal counts one.
    if (after >= before) {
      ASSERT_EQ(after - before, refused ? 1u : 0u) << tlp.describe();
    }

    if (tlp.is_mem_read()) {
      ASSERT_TRUE(c) << tlp.describe();
      const unsigned status = c->hdr[1] >> 13 & 7;
      ASSERT_EQ(status, refused ? 1u : 0u) << tlp.describe();
      ASSERT_EQ(c->data.size(), refused ? 0 : 4u * dws) << tlp.describe();
      mem_reads_served += !refused;
    } else if (tlp.is_mem_write()) {
      ASSERT_FALSE(c) << tlp.describe();
    } else {
      ASSERT_TRUE(refused) << tlp.describe();
    }
    if (!tlp.is_mem_write()) {
      ASSERT_EQ(client.doorbells.size(), doorbells);
      ASSERT_EQ(client.commands.size(), commands);
      continue;
    }
    // What the standard and the register map say about this write
    const uint64_t base = tlp.address();
    const bool good = !(tlp.hdr[0] >> 14 & 1) && tlp.data.size() == 4 * dws && base % 4096 + 4 * dws <= 4096 &&
                      (dws == 1 ? last == 0 : first != 0 && last != 0);
    const bool in_memory = good && base >= kBar[1] && base < kBar[1] + 0x10000000 && (base - kBar[1]) >> 12 != 0xf00;
    const bool in_uar = good && base >= kBar[0] && base < kBar[0] + 0x40000;
    ASSERT_LE(client.doorbells.size() - doorbells, in_uar && !refused ? 1u : 0u) << tlp.describe();
    if (in_uar) {
      ASSERT_EQ(client.doorbells.size() - doorbells, refused ? 0u : 1u) << tlp.describe();
    }
    if (in_memory) {
      ASSERT_FALSE(refused) << tlp.describe();
      for (unsigned i = 0; i < 4 * dws; ++i) {
        const unsigned be = i < 4 ? first : i >= 4 * dws - 4 ? last : 15;
        if (be >> i % 4 & 1) mirror[base - kBar[1] + i] = tlp.data[i];
      }
    }
  }
  EXPECT_EQ(decoder.errors_logged(), expected_unsupported);
  EXPECT_GT(served, 10000u);
  EXPECT_GT(mem_reads_served, 5000u);
  EXPECT_GT(expected_unsupported, 10000u);
  EXPECT_GT(client.doorbells.size(), 50u);
  EXPECT_GT(mirror.size(), 1000u);
  uint64_t compared = 0;
  for (uint64_t start : {0x0u, 0xefe000u, 0xeff000u, 0xf00000u, 0xf01000u, 0xf02000u, 0xfffe000u, 0xffff000u}) {
    for (uint64_t at = start; at < start + 0x1000; ++at) {
      uint8_t byte = 0;
      ASSERT_TRUE(memory.read(at, &byte, 1));
      const auto it = mirror.find(at);
      ASSERT_EQ(byte, it == mirror.end() ? 0 : it->second) << std::hex << at;
      compared += it != mirror.end();
    }
  }
  EXPECT_EQ(compared, mirror.size()) << "a write went to a page that was not looked at";
  EXPECT_EQ(read32(2, 0), id);
}

}  // namespace
}  // namespace rnic
