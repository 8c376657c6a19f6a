// SPDX-License-Identifier: Apache-2.0
// AllReduce packets: the format by hand, frames judged by tshark and the ICRC oracle, hostile frames.
#include "rnic/golden/allreduce_frame.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <initializer_list>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "rnic/observe/run_directory.h"

namespace rnic::golden::arp {
namespace {

FrameFields fields() {
  FrameFields f;
  f.sip = {10, 1, 0, 3};
  f.dip = {10, 0, 0, 1};
  f.udp_sport = 0xc003;
  f.dest_qpn = 0x103;
  f.psn = 77;
  return f;
}

Header header(uint16_t len) {
  Header h;
  h.group = 0x0102;
  h.step = 0x0304;
  h.chunk = 0x0506;
  h.rank = 0x07;
  h.offset = 0x08090a0b;
  h.dtype = 5;
  h.op = 2;
  h.len = len;
  return h;
}

std::string output(const std::string& command) {
  std::fflush(nullptr);
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return "cannot start " + command;
  std::string text;
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) text.append(buffer, n);
  pclose(pipe);
  return text;
}

/// Frames in a capture of the temporary folder, without comments: they are expert infos, too.
class Captured {
 public:
  explicit Captured(const std::vector<Bytes>& frames)
      : path(fmt::format("{}rnic_arp_{}.pcap", ::testing::TempDir(), getpid())) {
    std::ofstream out(path, std::ios::binary);
    const auto words = [&out](std::initializer_list<uint32_t> list) {
      for (const uint32_t w : list) out.write(reinterpret_cast<const char*>(&w), 4);
    };
    words({0xa1b2c3d4, 0x00040002, 0, 0, 65535, 1});
    for (const Bytes& f : frames) {
      const auto n = static_cast<uint32_t>(f.size());
      words({0, 0, n, n});
      out.write(reinterpret_cast<const char*>(f.data()), n);
    }
  }
  ~Captured() { std::remove(path.c_str()); }
  std::string dissect(const std::string& how) const {
    return output("tshark -X lua_script:" RNICSIM_TEST_DATA "/../sim/share/rnic_allreduce.lua -r " + path + " " + how +
                  " 2>&1 | grep -v ^Running");
  }
  const std::string path;
};

// Behind the BTH stand the header's fields, big endian, and then the elements as they are in memory.
TEST(AllReduceFrameTest, BytesStandWhereTheFormatSays) {
  const Bytes b = build_fragment(fields(), header(6), {0xe1, 0xe2, 0xe3, 0xe4, 0xe5, 0xe6});
  constexpr size_t kBth = 14 + 20 + 8;
  EXPECT_EQ(b[kBth], 0xc0);
  EXPECT_EQ(b[kBth + 1] >> 4 & 3, 2) << "pad count";
  const Bytes areth = {1, 2, 3, 4, 5, 6, 7, 0, 8, 9, 10, 11, 5, 2, 0, 6};
  EXPECT_EQ(Bytes(b.begin() + kBth + 12, b.begin() + kBth + 28), areth);
  const Bytes payload = {0xe1, 0xe2, 0xe3, 0xe4, 0xe5, 0xe6, 0, 0};
  EXPECT_EQ(Bytes(b.begin() + kBth + 28, b.begin() + kBth + 36), payload);
  EXPECT_EQ(b.size(), kBth + 40);
  const Bytes a = build_ack(fields(), header(6));
  EXPECT_EQ(a[kBth], 0xc1);
  EXPECT_EQ(Bytes(a.begin() + kBth + 12, a.begin() + kBth + 28), areth);
  EXPECT_EQ(a.size(), kBth + 32);
}

// Taken apart again a frame gives what it was built of, over IPv4 and IPv6, tagged or not, of any length.
TEST(AllReduceFrameTest, ParsesWhatItBuilds) {
  for (const unsigned kind : {0, 1, 2, 3}) {
    FrameFields f = fields();
    if (kind & 1) f.vlan_tci = 0x6005;
    if (kind & 2) {
      f.ipv6 = Ipv6{};
      f.sip = f.dip = {};
    }
    for (const uint16_t len : {1, 2, 63, 64, 65, 4096}) {
      Bytes data(len);
      for (size_t i = 0; i < len; ++i) data[i] = static_cast<uint8_t>(i * 7 + 1);
      const auto p = parse_allreduce(build_fragment(f, header(len), data));
      EXPECT_TRUE(p.problems.empty()) << p.problems[0];
      EXPECT_TRUE(p.allreduce && !p.ack);
      EXPECT_TRUE(p.hdr == header(len));
      EXPECT_EQ(p.data, data);
    }
    const auto a = parse_allreduce(build_ack(f, header(512)));
    EXPECT_TRUE(a.allreduce && a.ack && a.problems.empty());
    EXPECT_TRUE(a.hdr == header(512));
  }
}

// Packets of the transport are none of ours.
TEST(AllReduceFrameTest, OtherPacketsAreLeftAlone) {
  FrameFields f = fields();
  f.bth_opcode = 0x2a;
  f.reth = Reth{0x1000, 1, 64};
  EXPECT_FALSE(parse_allreduce(build_frame(f, Bytes(64, 1))).allreduce);
  EXPECT_FALSE(parse_allreduce({}).allreduce);
  EXPECT_FALSE(parse_allreduce(Bytes(60, 0)).allreduce);
  EXPECT_FALSE(parse_allreduce(Bytes(2000, 0x81)).allreduce);  // tags without end
}

// A wrong ICRC, a frame cut off, a payload behind an acknowledge: damaged, at whatever byte.
TEST(AllReduceFrameTest, DamageIsSeen) {
  const Bytes good = build_fragment(fields(), header(64), Bytes(64, 3));
  for (size_t at = 14 + 20 + 8 + 12; at < good.size(); ++at) {
    Bytes bad = good;
    bad[at] ^= 0x40;
    EXPECT_TRUE(parse_allreduce(bad).damaged()) << "byte " << at;
  }
  for (size_t n = 14 + 20 + 8 + 12 + 16; n < good.size(); ++n) {
    const auto p = parse_allreduce(Bytes(good.begin(), good.begin() + static_cast<long>(n)));
    EXPECT_TRUE(p.allreduce && p.damaged()) << n << " bytes";
  }
  FrameFields f = fields();
  f.bth_opcode = kOpcodeAck;
  Bytes areth = areth_bytes(header(64));
  areth.resize(areth.size() + 64);
  EXPECT_TRUE(parse_allreduce(build_frame(f, areth)).damaged());
  Bytes reserved = areth_bytes(header(4));
  reserved[7] = 1;
  reserved.resize(20);
  f.bth_opcode = kOpcodeFragment;
  EXPECT_TRUE(parse_allreduce(build_frame(f, reserved)).damaged());
}

// Bytes of any kind, and good frames with anything changed, are read without harm and never pass for good when changed.
TEST(AllReduceFrameTest, HostileBytesAreSafe) {
  std::mt19937 rng(11);
  const Bytes good = build_fragment(fields(), header(200), Bytes(200, 9));
  unsigned ours = 0;
  for (unsigned n = 0; n < 20000; ++n) {
    Bytes b = good;
    const unsigned changes = 1 + rng() % 4;
    for (unsigned i = 0; i < changes; ++i) b[rng() % b.size()] = static_cast<uint8_t>(rng());
    if (rng() % 3 == 0) b.resize(rng() % (2 * b.size()));
    const auto p = parse_allreduce(b);
    ours += p.allreduce;
    if (!p.damaged() && p.allreduce) {
      EXPECT_TRUE(p.hdr == header(200));
      EXPECT_EQ(p.data.size(), 200u);
    }
  }
  EXPECT_GT(ours, 5000u);
}

// tshark dissects the frames as RoCEv2 without complaint, checksum included, and the ICRC oracle takes them.
TEST(AllReduceFrameTest, OraclesTakeTheFrames) {
  std::vector<Bytes> frames;
  for (const uint16_t len : {2, 64, 250, 4096})
    frames.push_back(build_fragment(fields(), header(len), Bytes(len, 0x5a)));
  FrameFields f = fields();
  f.vlan_tci = 0x2001;
  frames.push_back(build_ack(f, header(64)));
  f.ipv6 = Ipv6{};
  f.ipv6->src[15] = 1;
  f.ipv6->dst[15] = 2;
  frames.push_back(build_fragment(f, header(64), Bytes(64, 1)));
  Recorder rec;
  for (const Bytes& f : frames) rec.frames.push_back({0, 0, 1000 * rec.frames.size(), 1000, {}, f});
  const std::string path = fmt::format("{}rnic_arp_{}.pcapng", ::testing::TempDir(), getpid());
  write_pcapng(path, rec, false);
  const std::string answer =
      output("python3 " RNICSIM_TEST_DATA "/oracle/check_frames.py --icrc-only --count 6 " + path);
  std::remove(path.c_str());
  EXPECT_NE(answer.find("6 frames checked, 0 problems"), std::string::npos) << answer;
  const Captured c(frames);
  const std::string lines = c.dissect(
      "-o ip.check_checksum:TRUE -o udp.ignore_ipv6_zero_checksum:TRUE -T fields -E separator='|' -e frame.protocols "
      "-e infiniband.bth.opcode -e "
      "_ws.expert.message");
  std::istringstream in(lines);
  std::string line;
  unsigned n = 0;
  for (; std::getline(in, line); ++n) {
    EXPECT_NE(line.find("udp:infiniband"), std::string::npos) << line;
    const std::string end = n == 4 ? "|193|" : "|192|";  // and no complaint
    EXPECT_EQ(line.substr(line.size() - std::min(line.size(), end.size())), end) << line;
  }
  EXPECT_EQ(n, 6u) << lines;
}

// The script names every field.
TEST(AllReduceDissectorTest, ShowsEveryField) {
  const Captured c({build_fragment(fields(), header(6), {1, 2, 3, 4, 5, 6}), build_ack(fields(), header(6))});
  EXPECT_EQ(
      c.dissect(
          "-T fields -E separator='|' -e allreduce.opcode -e allreduce.group -e allreduce.step -e allreduce.chunk "
          "-e allreduce.rank -e allreduce.reserved -e allreduce.offset -e allreduce.type -e allreduce.operation "
          "-e allreduce.length -e allreduce.elements -e allreduce.data -e _ws.expert.message"),
      "0xc0|258|772|1286|7|0x00|134810123|5|2|6|3|010203040506|\n"
      "0xc1|258|772|1286|7|0x00|134810123|5|2|6|||\n");
  const std::string tree = c.dissect("-V");
  for (const char* text : {"Opcode: ALLREDUCE FRAGMENT (0xc0)", "Opcode: ALLREDUCE ACKNOWLEDGE (0xc1)",
                           "Type: FP16 in FP32 (5)", "Operation: max (2)"}) {
    EXPECT_NE(tree.find(text), std::string::npos) << text << "\n" << tree;
  }
}

// What breaks the format gets an expert info, each its own.
TEST(AllReduceDissectorTest, ComplainsAboutWrongPackets) {
  const auto frame = [](uint8_t opcode, const Bytes& behind_bth) {
    FrameFields f = fields();
    f.bth_opcode = opcode;
    return build_frame(f, behind_bth);
  };
  const auto fragment = [&](const Header& h, size_t payload) {
    Bytes b = areth_bytes(h);
    b.resize(b.size() + payload);
    return frame(kOpcodeFragment, b);
  };
  Header type = header(64), op = header(64), rank = header(64);
  type.dtype = 99;
  op.op = 3;
  rank.rank = 64;
  Bytes reserved = areth_bytes(header(0));
  reserved[7] = 1;
  Bytes cut = fragment(header(64), 64);
  cut.resize(cut.size() - 20);
  const Captured c({fragment(header(64), 60), fragment(header(5000), 5000), fragment(header(63), 63),
                    fragment(type, 64), fragment(op, 64), fragment(rank, 64), frame(kOpcodeAck, reserved),
                    fragment(header(0), 0), frame(kOpcodeAck, Bytes(32)), frame(kOpcodeFragment, Bytes(8)), cut,
                    fragment(header(64), 64)});
  const char* expected[] = {"Length is 64, payload 60",
                            "Fragment above 4096 bytes",
                            "Length is no whole number of elements",
                            "Unknown type",
                            "Unknown operation",
                            "Rank above 63",
                            "Reserved byte is not 0",
                            "",
                            "Payload behind an acknowledge",
                            "Too short for what it should hold",
                            "Too short for what it should hold",
                            ""};
  const std::string lines = c.dissect("-T fields -E separator='|' -e frame.number -e _ws.expert.message");
  std::istringstream in(lines);
  for (size_t i = 0; i < std::size(expected); ++i) {
    std::string line;
    std::getline(in, line);
    const auto number = fmt::format("{}|", i + 1);
    EXPECT_EQ(line.substr(0, number.size()), number);
    if (i == 10) {  // the IP header complains, too
      EXPECT_NE(line.find(expected[i]), std::string::npos) << line;
    } else {
      EXPECT_EQ(line.substr(number.size()), expected[i]);
    }
  }
}

}  // namespace
}  // namespace rnic::golden::arp
