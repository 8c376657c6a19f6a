// SPDX-License-Identifier: Apache-2.0
#include "rnic/pcie/tlp.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "rnic/golden/tlp.h"

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

std::vector<uint8_t> from_hex(const std::string& text) {
  std::vector<uint8_t> out;
  for (size_t i = 0; i + 1 < text.size(); i += 2) {
    out.push_back(static_cast<uint8_t>(std::stoul(text.substr(i, 2), nullptr, 16)));
  }
  return out;
}

/// A request as the row of tests/data/pcie_vectors.txt has it: bytes and every field.
void check_request(const std::string& row) {
  char kind[8] = {}, bytes[256] = {};
  unsigned len, fbe, lbe, bc, la, dcred, wire;
  ASSERT_EQ(std::sscanf(row.c_str(), "%7s", kind), 1);
  ASSERT_EQ(std::sscanf(row.substr(35).c_str(), "%255s len %u fbe %x lbe %x bc %u la %x dcred %u wire %u", bytes, &len,
                        &fbe, &lbe, &bc, &la, &dcred, &wire),
            8)
      << row;
  const auto t = rnic::golden::Tlp::parse(from_hex(bytes));
  ASSERT_TRUE(t) << row;
  const std::string kinds[] = {"MRd32", "MRd64", "MWr32", "MWr64"};
  EXPECT_EQ(kind, kinds[2 * t->is_write() + t->four_dw()]) << row;
  EXPECT_EQ(t->length_dw, len) << row;
  EXPECT_EQ(t->first_be, fbe) << row;
  EXPECT_EQ(t->last_be, lbe) << row;
  EXPECT_EQ(t->request_bytes(), bc) << row;
  EXPECT_EQ(t->addr & 0x7f, la) << row;  // of the DW: the library leaves the byte in it out
  EXPECT_EQ(t->data_credits(), dcred) << row;
  EXPECT_EQ(t->wire_bytes(), wire) << row;
  // Ours, made from address and length
  const uint64_t addr = t->addr + t->first_offset();
  Tlp ours = t->is_write()
                 ? make_mem_write(addr, t->payload.data() + t->first_offset(), t->request_bytes(), t->requester_id)
                 : make_mem_read(addr, t->zero_length() ? 0 : t->request_bytes(), t->requester_id, t->tag);
  if (t->is_write()) ours.hdr[1] |= (t->tag & 0xffu) << 8;  // ours have none
  ours.hdr[0] |= uint32_t{t->ro} << 13 | uint32_t{t->ns} << 12 | uint32_t{t->ido} << 18;
  EXPECT_EQ(hex(ours), bytes) << row;
  EXPECT_EQ(ours.wire_bytes(), wire) << row;
}

void check_completion(const std::string& bytes) {
  const auto t = rnic::golden::Tlp::parse(from_hex(bytes));
  ASSERT_TRUE(t) << bytes;
  const Tlp ours = make_completion(make_mem_read(0x1000, 4, t->requester_id, t->tag), t->completer_id, t->status,
                                   t->byte_count, t->lower_addr, t->payload);
  EXPECT_EQ(hex(ours), bytes);
  EXPECT_EQ(ours.wire_bytes(), t->wire_bytes());
}

// Every row of the vectors' first block, made by another implementation (cocotbext-pcie); the second block's are
// LinkTest.BandwidthLiesBetweenModelAndBound's and PcieBenchTest.EveryRowOfTheVectorsReachesTheBound's.
TEST(TlpTest, EveryForeignVectorAgrees) {
  std::ifstream file(std::string(RNICSIM_TEST_DATA) + "/data/pcie_vectors.txt");
  ASSERT_TRUE(file) << "tests/data/pcie_vectors.txt is missing";
  unsigned requests = 0, completions = 0, remarks = 0;
  for (std::string line; std::getline(file, line) && !line.empty();) {
    const auto begins = [&](const char* with) { return line.rfind(with, 0) == 0; };
    if (begins("#")) continue;
    if (begins("MRd") || begins("MWr")) {
      check_request(line);
      ++requests;
    } else if (begins("CplD") || begins("Cpl UR")) {
      check_completion(line.substr(line.find_last_of(' ') + 1));
      ++completions;
    } else if (begins("1 B read @0x1005: first_be 2 -> real lower addr 0x05")) {
      const auto read = rnic::golden::make_read(0x1005, 1, 0x0100, 0x5a);
      EXPECT_EQ(read.first_be, 2u);
      EXPECT_EQ(make_mem_read(0x1005, 1, 0x0100, 0x5a).first_be(), 2u);
      rnic::golden::Completer completer;
      completer.read = [](uint64_t, unsigned n) { return std::vector<uint8_t>(n); };
      EXPECT_EQ(completer.complete(read).front().lower_addr, 0x05u);
      ++remarks;
    } else if (begins("Msg pack")) {  // a message is no TLP of a DMA device
      EXPECT_FALSE(rnic::golden::Tlp::parse(from_hex("3000000001005a7f0000000000000000")));
      ++remarks;
    } else {
      ADD_FAILURE() << "a row that nobody judges: " << line;
    }
  }
  EXPECT_EQ(requests, 7u);
  EXPECT_EQ(completions, 2u);
  EXPECT_EQ(remarks, 2u);
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
