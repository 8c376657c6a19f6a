// SPDX-License-Identifier: Apache-2.0
// Capture files: formats as their specifications say, and whatever else a file may hold.
#include "rnic/observe/capture.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "rnic/core/error.h"

namespace rnic {
namespace {

class Writer {
 public:
  explicit Writer(bool big) : big_(big) {}
  Writer& u16(uint16_t v) { return put(v, 2); }
  Writer& u32(uint32_t v) { return put(v, 4); }
  Writer& bytes(const std::string& s) {
    text += s;
    return *this;
  }
  /// A block of pcapng round a body.
  Writer& block(uint32_t type, const std::string& body) {
    const auto size = static_cast<uint32_t>(12 + (body.size() + 3) / 4 * 4);
    u32(type).u32(size).bytes(body).bytes(std::string((4 - body.size() % 4) % 4, '\0'));
    return u32(size);
  }
  std::string text;

 private:
  Writer& put(uint32_t v, unsigned n) {
    for (unsigned i = 0; i < n; ++i) text += static_cast<char>(v >> 8 * (big_ ? n - 1 - i : i));
    return *this;
  }
  bool big_;
};

std::string pcap(bool big, uint32_t magic = 0xa1b2c3d4, uint32_t link = 1) {
  Writer w(big);
  w.u32(magic).u16(2).u16(4).u32(0).u32(0).u32(65535).u32(link);
  w.u32(1).u32(2).u32(5).u32(5).bytes("abcde");
  w.u32(1).u32(3).u32(3).u32(9).bytes("xyz");
  return w.text;
}

std::string pcapng(bool big) {
  Writer w(big), header(big), ethernet(big), other(big), packet(big), foreign(big), simple(big);
  header.u32(0x1a2b3c4d).u16(1).u16(0).u32(~0u).u32(~0u);
  ethernet.u16(1).u16(0).u32(0);
  other.u16(147).u16(0).u32(0);
  packet.u32(0).u32(0).u32(0).u32(5).u32(5).bytes("abcde");
  foreign.u32(1).u32(0).u32(0).u32(2).u32(2).bytes("no");
  simple.u32(3).bytes("xyz");
  w.block(0x0a0d0d0a, header.text).block(1, ethernet.text).block(1, other.text);
  w.block(6, packet.text).block(6, foreign.text).block(0x0bad, "whatever").block(3, simple.text);
  return w.text;
}

std::string text(const CapturedFrame& f) { return std::string(f.bytes.begin(), f.bytes.end()); }

// pcap in either byte order, with us and ns.
TEST(CaptureTest, ReadsPcap) {
  for (const bool big : {false, true}) {
    for (const uint32_t magic : {0xa1b2c3d4u, 0xa1b23c4du}) {
      const Capture c = parse_capture(pcap(big, magic), "f");
      ASSERT_EQ(c.frames.size(), 2u);
      EXPECT_EQ(text(c.frames[0]), "abcde");
      EXPECT_FALSE(c.frames[0].cut_off);
      EXPECT_EQ(text(c.frames[1]), "xyz");
      EXPECT_TRUE(c.frames[1].cut_off);
      EXPECT_FALSE(c.ends_early);
    }
  }
}

// pcapng in either byte order: packets of Ethernet interfaces, blocks of other kinds left out.
TEST(CaptureTest, ReadsPcapng) {
  for (const bool big : {false, true}) {
    const Capture c = parse_capture(pcapng(big), "f");
    ASSERT_EQ(c.frames.size(), 2u);
    EXPECT_EQ(text(c.frames[0]), "abcde");
    EXPECT_EQ(text(c.frames[1]), "xyz");
    EXPECT_EQ(c.other_packets, 1u);
  }
}

// A file that ends in the middle gives what is whole.
TEST(CaptureTest, CutOffFilesGiveWhatIsWhole) {
  for (const std::string& whole : {pcap(false), pcapng(true)}) {
    const Capture c = parse_capture(whole.substr(0, whole.size() - 2), "f");
    EXPECT_EQ(c.frames.size(), 1u);
    EXPECT_TRUE(c.ends_early);
  }
}

// Whatever is no capture, or says lengths that can't be, is an error that names the file.
TEST(CaptureTest, RefusesWhatItCannotRead) {
  Writer huge(false);
  huge.text = pcap(false).substr(0, 24);
  huge.u32(0).u32(0).u32(0x7fffffff).u32(0x7fffffff);
  std::string block = pcapng(false);
  block[4] = 13;
  Writer no_interface(false);
  no_interface.text = pcapng(false).substr(0, 28);
  Writer packet(false);
  packet.u32(0).u32(0).u32(0).u32(0).u32(0);
  no_interface.block(6, packet.text);
  for (const std::string& bad :
       {std::string(), std::string("abc"), std::string("not a capture at all"), huge.text, block, no_interface.text,
        pcap(false, 0xa1b2c3d4, 113), std::string("\xd4\xc3\xb2\xa1", 4)}) {
    try {
      parse_capture(bad, "some.pcap");
      ADD_FAILURE() << "was taken: " << bad.size() << " bytes";
    } catch (const InputError& e) {
      EXPECT_NE(std::string(e.what()).find("some.pcap"), std::string::npos) << e.what();
    }
  }
}

// Any change of any byte ends in frames or in an InputError.
TEST(CaptureTest, HostileFilesAreSafe) {
  std::mt19937 rng(5);
  unsigned read = 0, refused = 0;
  for (unsigned n = 0; n < 20000; ++n) {
    std::string s = n % 2 != 0 ? pcap(n % 4 == 1) : pcapng(n % 4 == 0);
    for (unsigned i = 0; i <= rng() % 3; ++i) s[rng() % s.size()] = static_cast<char>(rng());
    if (rng() % 4 == 0) s.resize(rng() % s.size());
    try {
      for (const auto& f : parse_capture(s, "f").frames) EXPECT_LE(f.bytes.size(), s.size());
      ++read;
    } catch (const InputError&) {
      ++refused;
    }
  }
  EXPECT_GT(read, 1000u);
  EXPECT_GT(refused, 1000u);
}

}  // namespace
}  // namespace rnic
