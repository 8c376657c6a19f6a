// SPDX-License-Identifier: Apache-2.0
#include "rnic/pcie/tlp.h"

#include <gtest/gtest.h>

#include <numeric>

namespace {

using namespace rnic::pcie;

std::string hex(const Tlp& t) {
  std::string out;
  char buf[3];
  for (const uint8_t b : t.bytes()) {
    std::snprintf(buf, sizeof buf, "%02x", b);
    out += buf;
  }
  return out;
}

std::vector<uint8_t> count_up(unsigned n) {
  std::vector<uint8_t> v(n);
  std::iota(v.begin(), v.end(), uint8_t{0});
  return v;
}

// Bytes, lengths on the wire and fields against vectors made by another implementation (cocotbext-pcie).
TEST(TlpTest, BytesAgreeWithForeignVectors) {
  const Tlp read32 = make_mem_read(0x1000, 64, 0x0100, 0x5a);
  EXPECT_EQ(hex(read32), "0000001001005aff00001000");
  EXPECT_EQ(read32.wire_bytes(), 20u);
  const Tlp read64 = make_mem_read(0x1'2345'6781, 5, 0x0100, 0x5a);
  EXPECT_EQ(hex(read64), "2000000201005a3e0000000123456780");
  EXPECT_EQ(read64.wire_bytes(), 24u);
  EXPECT_EQ(hex(make_mem_read(0x1'0000'0000, 0, 0x0100, 0x5a)), "2000000101005a000000000100000000");
  EXPECT_EQ(hex(make_mem_read(0x2000, 4096, 0x0100, 0x5a)), "0000000001005aff00002000");
  const uint8_t two[] = {0xaa, 0xbb};
  Tlp write32 = make_mem_write(0x1003, two, 2, 0x0100);
  write32.hdr[1] |= 0x5a << 8;  // the vector's writes carry a tag
  EXPECT_EQ(hex(write32), "4000000201005a1800001000000000aabb000000");
  EXPECT_EQ(write32.wire_bytes(), 28u);
  const auto eight = count_up(8);
  Tlp write64 = make_mem_write(0x1'0000'0010, eight.data(), 8, 0x0100);
  write64.hdr[1] |= 0x5a << 8;
  EXPECT_EQ(hex(write64), "6000000201005aff00000001000000100001020304050607");
  EXPECT_EQ(write64.wire_bytes(), 32u);
  EXPECT_EQ(hex(make_completion(read64, 0x0200, 0, 6, 5, std::vector<uint8_t>(8, 0))).substr(0, 24),
            "4a0000020200000601005a05");
  EXPECT_EQ(hex(make_completion(read64, 0x0000, 1, 4, 0, {})), "0a0000000000200401005a00");
}

// Byte enables of short and unaligned requests.
TEST(TlpTest, ByteEnables) {
  struct Row {
    uint64_t addr;
    unsigned len, dws, first, last;
  };
  for (const Row& r : {Row{0x1001, 3, 1, 0xe, 0}, Row{0x1003, 7, 3, 0x8, 0x3}, Row{0x1002, 4, 2, 0xc, 0x3},
                       Row{0x1fff, 1, 1, 0x8, 0}, Row{0x1001, 2, 1, 0x6, 0}, Row{0x1000, 4096, 1024, 0xf, 0xf},
                       Row{0x1000, 1, 1, 0x1, 0}, Row{0x1000, 5, 2, 0xf, 0x1}}) {
    const Tlp t = make_mem_read(r.addr, r.len, 0, 0);
    EXPECT_EQ(t.length_dw(), r.dws) << r.addr << " " << r.len;
    EXPECT_EQ(t.first_be(), r.first) << r.addr << " " << r.len;
    EXPECT_EQ(t.last_be(), r.last) << r.addr << " " << r.len;
    EXPECT_EQ(t.address(), r.addr & ~3u);
  }
}

// A request that crosses 4 KiB is refused.
TEST(TlpTest, CrossingAPageIsRefused) {
  EXPECT_THROW(make_mem_read(0x1ffc, 8, 0, 0), std::invalid_argument);
  EXPECT_THROW(make_mem_read(0x1001, 4096, 0, 0), std::invalid_argument);
  EXPECT_THROW(make_mem_read(0x1000, 4097, 0, 0), std::invalid_argument);
}

// Ten-bit tags survive in requests and their completions.
TEST(TlpTest, TenBitTags) {
  for (const unsigned tag : {0u, 0xffu, 0x100u, 0x200u, 0x3ffu, 0x155u}) {
    const Tlp t = make_mem_read(0x1'0000'0000, 64, 0xabcd, tag);
    EXPECT_EQ(t.tag(), tag);
    EXPECT_EQ(t.length_dw(), 16u);
    const Tlp c = make_completion(t, 0x0200, 0, 64, 0, std::vector<uint8_t>(64));
    EXPECT_EQ(c.tag(), tag);
    EXPECT_EQ(c.requester_id(), 0xabcd);
    EXPECT_TRUE(c.is_completion() && c.has_data() && !c.is_mem_read() && !c.is_mem_write());
  }
}

// One line for logs names kind, length, tag, byte enables, address or status, and what is seldom not 0.
TEST(TlpTest, DescribesItself) {
  Tlp t = make_mem_read(0x1'2345'6781, 5, 0x0100, 3);
  EXPECT_EQ(t.describe(), "MRd64 len 2 tag 3 from 0100 be e/3 addr 0x123456780");
  EXPECT_EQ(make_completion(t, 0, 1, 5, 0, {}).describe(), "Cpl len 0 tag 3 from 0000 to 0100 UR bc 5 la 0x00");
  t.hdr[0] |= 5u << 20 | 1u << 18 | 1u << 13 | 1u << 12 | 1u << 14;
  EXPECT_EQ(t.describe(), "MRd64 len 2 tag 3 from 0100 be e/3 addr 0x123456780 tc 5 ido ro ns ep");
}

}  // namespace
