// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <optional>
#include <sstream>

#include "rnic/core/error.h"
#include "rnic/observe/run_directory.h"
#include "support/sample_run.h"

namespace rnic {
namespace {

std::string temp(const std::string& name) { return testing::TempDir() + "rnic_" + name; }

/// A capture taken apart, by the format's own rules.
struct Capture {
  struct Interface {
    unsigned link;
    std::string name;
    unsigned resolution = 6;
  };
  struct Packet {
    unsigned interface;
    uint64_t stamp;
    std::string data, comment;
    unsigned flags = 0;
  };
  std::vector<Interface> interfaces;
  std::vector<Packet> packets;
  std::string header_comment;

  static uint32_t number(const std::string& s, size_t at, unsigned bytes) {
    uint32_t v = 0;
    for (unsigned i = 0; i < bytes; ++i) v |= static_cast<uint32_t>(static_cast<uint8_t>(s.at(at + i))) << 8 * i;
    return v;
  }

  template <class Fn>
  static void options(const std::string& s, size_t at, size_t end, Fn fn) {
    while (at < end) {
      const unsigned code = number(s, at, 2), n = number(s, at + 2, 2);
      if (code == 0) {
        EXPECT_EQ(at + 4, end) << "options end before the block does";
        return;
      }
      fn(code, s.substr(at + 4, n));
      at += 4 + (n + 3) / 4 * 4;
    }
    EXPECT_EQ(at, end);
  }

  explicit Capture(const std::string& s) { parse(s); }

  void parse(const std::string& s) {
    size_t at = 0;
    while (at < s.size()) {
      const uint32_t type = number(s, at, 4), n = number(s, at + 4, 4);
      ASSERT_EQ(n % 4, 0u);
      ASSERT_LE(at + n, s.size());
      ASSERT_EQ(number(s, at + n - 4, 4), n);
      const size_t end = at + n - 4;
      if (type == 0x0a0d0d0a) {
        EXPECT_EQ(at, 0u);
        EXPECT_EQ(number(s, at + 8, 4), 0x1a2b3c4du);
        options(s, at + 24, end, [&](unsigned code, const std::string& v) {
          if (code == 1) header_comment = v;
        });
      } else if (type == 1) {
        Interface i{number(s, at + 8, 2), "", 6};
        options(s, at + 16, end, [&](unsigned code, const std::string& v) {
          if (code == 2) i.name = v;
          if (code == 9) i.resolution = static_cast<uint8_t>(v.at(0));
        });
        interfaces.push_back(i);
      } else {
        ASSERT_EQ(type, 6u);
        Packet p;
        p.interface = number(s, at + 8, 4);
        p.stamp = uint64_t{number(s, at + 12, 4)} << 32 | number(s, at + 16, 4);
        const uint32_t len = number(s, at + 20, 4);
        EXPECT_EQ(number(s, at + 24, 4), len);
        p.data = s.substr(at + 28, len);
        options(s, at + 28 + (len + 3) / 4 * 4, end, [&](unsigned code, const std::string& v) {
          if (code == 1) p.comment = v;
          if (code == 2) p.flags = number(v, 0, 4);
        });
        packets.push_back(p);
      }
      at += n;
    }
  }
};

Capture capture(const Recorder& r, bool tlps, const std::string& name) {
  const std::string path = temp(name + ".pcapng");
  write_pcapng(path, r, tlps);
  return Capture(sample::read_file(path));
}

// A frame keeps its bytes, the floor of its first bit's time, and says what it is and when its stages were.
TEST(PcapngTest, Frame) {
  Recorder r;
  sample::Message m;
  m.first_bit = 10'284'999;
  sample::fill(r, m);
  const Capture c = capture(r, false, "frame");
  ASSERT_EQ(c.interfaces.size(), 1u);
  EXPECT_EQ(c.interfaces[0].link, 1u);
  EXPECT_EQ(c.interfaces[0].name, "nic0/port0");
  EXPECT_EQ(c.interfaces[0].resolution, 9u);
  ASSERT_EQ(c.packets.size(), 1u);
  EXPECT_EQ(c.packets[0].stamp, 10'284u);
  EXPECT_EQ(c.packets[0].flags, 2u);
  const auto bytes = sample::frame_bytes("uc_write_only_8B");
  EXPECT_EQ(c.packets[0].data, std::string(bytes.begin(), bytes.end()));
  EXPECT_EQ(c.packets[0].comment.find("QPN 5 WQE 7 PSN 100 last; first bit 10284.999 ns, last bit 10287.079 ns; wqe "
                                      "10035.000 ns (cycle 10035), rd_issue 10039.000 ns"),
            0u)
      << c.packets[0].comment;
}

// TLPs stand on an interface of their own per NIC, between the frames by time, with their direction.
TEST(PcapngTest, Tlps) {
  Recorder r;
  sample::fill(r);
  const Capture c = capture(r, true, "tlps");
  ASSERT_EQ(c.interfaces.size(), 2u);
  EXPECT_EQ(c.interfaces[1].link, 147u);
  EXPECT_EQ(c.interfaces[1].name, "nic0/pcie");
  EXPECT_EQ(c.interfaces[1].resolution, 9u);
  ASSERT_EQ(c.packets.size(), 4u);
  for (size_t i = 1; i < 4; ++i) EXPECT_GE(c.packets[i].stamp, c.packets[i - 1].stamp);
  const unsigned flags[] = {2, 1, 2, 2}, interfaces[] = {1, 1, 1, 0};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(c.packets[i].flags, flags[i]) << i;
    EXPECT_EQ(c.packets[i].interface, interfaces[i]) << i;
  }
  for (size_t i = 0; i < 3; ++i) {
    const auto bytes = r.tlps[i].tlp.bytes();
    EXPECT_EQ(c.packets[i].data, std::string(bytes.begin(), bytes.end()));
    EXPECT_EQ(c.packets[i].comment.find(r.tlps[i].tlp.describe()), 0u);
  }
}

// Every port is an interface; each frame lies on its own.
TEST(PcapngTest, SeveralPorts) {
  Recorder r;
  for (unsigned nic : {1u, 0u}) {
    for (unsigned port : {1u, 0u})
      r.on_frame({nic, port, 1000 * (1 + nic * 2 + port), 9000, {}, std::vector<uint8_t>(60)});
  }
  const Capture c = capture(r, false, "ports");
  ASSERT_EQ(c.interfaces.size(), 4u);
  EXPECT_EQ(c.interfaces[2].name, "nic1/port0");
  for (unsigned i = 0; i < 4; ++i) EXPECT_EQ(c.packets.at(i).interface, i);
}

// Payload of any length is padded to whole words, and the block still parses.
TEST(PcapngTest, AnyLength) {
  Recorder r;
  for (unsigned n = 60; n < 70; ++n) r.on_frame({0, 0, n * 1000ull, n * 1000ull, {}, std::vector<uint8_t>(n, 0xff)});
  const Capture c = capture(r, false, "length");
  ASSERT_EQ(c.packets.size(), 10u);
  for (unsigned i = 0; i < 10; ++i) EXPECT_EQ(c.packets[i].data.size(), 60 + i);
}

// Time stamps beyond 2^32 ns keep their upper half.
TEST(PcapngTest, LateTimeStamp) {
  Recorder r;
  const uint64_t ps = 0x1'2345'6789ull * 1000 + 999;
  r.on_frame({0, 0, ps, ps, {}, std::vector<uint8_t>(60)});
  EXPECT_EQ(capture(r, false, "late").packets.at(0).stamp, 0x1'2345'6789ull);
}

// A packet sent again under the same PSN shows the instants of its own turn only.
TEST(PcapngTest, ResentPacketHasItsOwnInstants) {
  Recorder r;
  sample::Message a, b;
  for (uint64_t* ps : {&b.wqe_ps, &b.issue, &b.rd_pins, &b.mem_start, &b.mem_end, &b.cpl_pins, &b.rd_done, &b.mac,
                       &b.first_bit, &b.last_bit}) {
    *ps += 50'000'000;
  }
  sample::fill(r, a);
  sample::fill(r, b);
  const Capture c = capture(r, false, "resent");
  ASSERT_EQ(c.packets.size(), 2u);
  EXPECT_EQ(c.packets[0].comment.find("mac 60244"), std::string::npos);
  EXPECT_NE(c.packets[1].comment.find("mac 60244"), std::string::npos) << c.packets[1].comment;
  EXPECT_EQ(c.packets[1].comment.find("mac 10244"), std::string::npos);
}

// An empty run is a good file; equal runs give equal bytes; what was dropped is said.
TEST(PcapngTest, EmptyEqualAndDropped) {
  EXPECT_EQ(capture(Recorder(), true, "empty").interfaces.size(), 1u);
  Recorder r(1), again(1);
  for (Recorder* x : {&r, &again}) {
    sample::fill(*x);
    sample::fill(*x);
  }
  const Capture c = capture(r, true, "dropped");
  EXPECT_NE(c.header_comment.find("1 frames and 5 TLPs"), std::string::npos) << c.header_comment;
  write_pcapng(temp("again.pcapng"), again, true);
  EXPECT_EQ(sample::read_file(temp("dropped.pcapng")), sample::read_file(temp("again.pcapng")));
}

// A path that cannot be written is an input error that names it.
TEST(PcapngTest, UnwritablePath) {
  try {
    write_pcapng("/nonexistent/x.pcapng", Recorder(), false);
    FAIL();
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("/nonexistent/x.pcapng"), std::string::npos);
  }
}

// The TLP log has a line a TLP with time, direction, header words and what it served.
TEST(TlpLogTest, Lines) {
  Recorder r;
  sample::fill(r);
  const std::string path = temp("tlp.log");
  write_tlp_log(path, r);
  std::istringstream in(sample::read_file(path));
  std::vector<std::string> lines;
  for (std::string l; std::getline(in, l);) lines.push_back(l);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0][0], '#');
  EXPECT_EQ(lines[1],
            "    10043000 nic0 out | MRd64 len 16 tag 3 from 0100 be f/f addr 0x100000001000 | 20000010 010003ff "
            "00001000 00001000 | 0 | qpn 5 wqe 7 psn 100 last");
  EXPECT_EQ(lines[2].find("    10221123 nic0 in  | CplD len 16 tag 3"), 0u);
  EXPECT_NE(lines[2].find(" | 64 | "), std::string::npos);
}

// Files depend on what each NIC did and when, not on which NIC was simulated first.
TEST(TlpLogTest, OrderOfNicsDoesNotShow) {
  Recorder one;
  sample::fill(one);
  const auto fill = [&one](Recorder& r, bool second_first) {
    for (unsigned i = 0; i < 2; ++i) {
      const unsigned nic = second_first ? 1 - i : i;
      for (Event e : one.events) e.nic = nic, r.events.push_back(e);
      for (FrameRecord f : one.frames) f.nic = nic, r.frames.push_back(f);
      for (RecordedTlp t : one.tlps) t.nic = nic, r.tlps.push_back(t);
    }
  };
  Recorder a, b;
  fill(a, false);
  fill(b, true);
  for (const auto& [name, r] : {std::make_pair("ab", &a), std::make_pair("ba", &b)}) {
    write_tlp_log(temp(std::string(name) + ".log"), *r);
    write_pcapng(temp(std::string(name) + ".pcapng"), *r, true);
  }
  EXPECT_EQ(sample::read_file(temp("ab.log")), sample::read_file(temp("ba.log")));
  EXPECT_EQ(sample::read_file(temp("ab.pcapng")), sample::read_file(temp("ba.pcapng")));
}

/// Output of a command, or nothing when it cannot run.
std::optional<std::string> output(const std::string& command) {
  FILE* p = popen((command + " 2>/dev/null").c_str(), "r");
  if (!p) return std::nullopt;
  std::string s;
  std::array<char, 4096> buffer{};
  for (size_t n; (n = fread(buffer.data(), 1, buffer.size(), p)) > 0;) s.append(buffer.data(), n);
  return pclose(p) == 0 ? std::optional(s) : std::nullopt;
}

// tshark reads the file: RoCEv2 as RoCEv2, comment and time stamp as written.
TEST(TsharkTest, DissectsFrames) {
  ASSERT_TRUE(output("tshark --version")) << "tshark is missing: scripts/setup installs it";
  Recorder r;
  sample::fill(r);
  const std::string path = temp("tshark.pcapng");
  write_pcapng(path, r, false);
  const auto s = output("tshark -r " + path +
                        " -T fields -e frame.time_epoch -e frame.interface_name -e infiniband.bth.opcode "
                        "-e infiniband.bth.psn -e frame.comment");
  ASSERT_TRUE(s);
  EXPECT_EQ(s->find("0.000010284\tnic0/port0\t42\t8\tQPN 5 WQE 7 PSN 100 last; first bit"), 0u) << *s;
}

// The Lua dissector shows each TLP's fields, of a tag all ten bits.
TEST(TsharkTest, DissectsTlps) {
  ASSERT_TRUE(output("tshark --version")) << "tshark is missing: scripts/setup installs it";
  Recorder r;
  sample::fill(r);
  for (const unsigned tag : {0x1feu, 0x2a5u, 0x3ffu}) {
    const pcie::Tlp read = pcie::make_mem_read(0x1'0000'1000, 64, 0x0100, tag);
    const pcie::Tlp completion = pcie::make_completion(read, 0x0200, 0, 64, 0, std::vector<uint8_t>(64));
    r.on_tlp({0, true, 20'000'000 + tag, &read});
    r.on_tlp({0, false, 20'500'000 + tag, &completion});
  }
  const std::string path = temp("tshark_tlps.pcapng");
  write_pcapng(path, r, true);
  const std::string script = std::string(RNICSIM_TEST_DATA) + "/../sim/share/rnic_tlp.lua";
  const auto s = output("tshark -X lua_script:" + script + " -r " + path +
                        " -Y pcietlp -T fields -e pcietlp.type -e pcietlp.tag -e pcietlp.length -e pcietlp.address "
                        "-e pcietlp.cpl.status -e pcietlp.cpl.byte_count -e _ws.col.Info");
  ASSERT_TRUE(s);
  std::istringstream in(*s);
  std::string line;
  std::getline(in, line);
  EXPECT_EQ(line.find("0x20\t3\t16\t0x0000100000001000\t\t\t"), 0u) << line;
  std::getline(in, line);
  EXPECT_EQ(line.find("0x4a\t3\t16\t\t0\t64\t"), 0u) << line;
  std::getline(in, line);
  EXPECT_EQ(line.find("0x60\t0\t16\t0x0000000100002000"), 0u) << line;
  for (const char* kind : {"0x20", "0x4a"}) {
    for (const char* tag : {"510", "677", "1023"}) {
      std::getline(in, line);
      EXPECT_EQ(line.find(std::string(kind) + "\t" + tag + "\t16\t"), 0u) << line;
    }
  }
}

}  // namespace
}  // namespace rnic
