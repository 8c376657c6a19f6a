// SPDX-License-Identifier: Apache-2.0
// Groups and vectors of the AllReduce engine out of files: what is taken, and what is said about the rest.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "rnic/collective/data.h"
#include "rnic/collective/group.h"
#include "rnic/core/error.h"
#include "rnic/pcie/hub.h"

namespace rnic::collective {
namespace {

namespace arp = golden::arp;
namespace fs = std::filesystem;

/// The message of the error that `body` throws; empty: none.
template <class Body>
std::string error_of(Body&& body) {
  try {
    body();
  } catch (const InputError& e) {
    return e.what();
  } catch (const GroupFault& e) {
    return e.key + ": " + e.what();
  }
  return "";
}

#define EXPECT_ERROR(body, ...)                                              \
  do {                                                                       \
    const std::string error = error_of([&] { body; });                       \
    for (const char* part : {__VA_ARGS__}) {                                 \
      EXPECT_NE(error.find(part), std::string::npos) << "'" << error << "'"; \
    }                                                                        \
  } while (false)

class FolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder = ::testing::TempDir() + "arp_files";
    fs::remove_all(folder);
    fs::create_directories(folder);
  }
  void TearDown() override { fs::remove_all(folder); }
  std::string write(const std::string& name, const std::string& bytes) {
    const std::string path = folder + "/" + name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  std::string folder;
};

std::string npy(const std::string& dict, const std::string& data, char major = 1) {
  std::string header = dict + "\n";
  std::string s("\x93NUMPY", 6);
  s += major;
  s += '\0';
  s += static_cast<char>(header.size() & 0xff);
  s += static_cast<char>(header.size() >> 8);
  if (major > 1) s += std::string(2, '\0');
  return s + header + data;
}

// ---- Groups ----

// Keys of a group, and its place: each behind the other.
TEST(GroupFileTest, ReadsGroups) {
  const auto specs = parse_groups(
      "[[group]]\ntype = \"half\"\nacc32 = true\nwide = true\nranks = 3\ncount = 100\nfragment = 128\nslots = 4\n"
      "[[group]]\ngroup = 9\ntype = \"int64\"\nop = \"min\"\nmembers = [0, 63]\ncount = 1000\nchunk = 8192\n",
      "g.toml");
  ASSERT_EQ(specs.size(), 2u);
  EXPECT_EQ(specs[0].type, arp::Type::kFp16Acc32);
  EXPECT_TRUE(specs[0].wide);
  EXPECT_EQ(specs[0].members, 7u);
  EXPECT_EQ(specs[1].group, 9u);
  EXPECT_EQ(specs[1].op, arp::Op::kMin);
  EXPECT_EQ(specs[1].members, uint64_t{1} << 63 | 1);
  GroupTable table;
  const auto first = table.add(specs[0]);
  const auto second = table.add(specs[1]);
  EXPECT_EQ(first.context.slot_base, 0u);
  EXPECT_EQ(second.context.slot_base, 4u);
  EXPECT_EQ(second.context.row_base, 8u);  // 4 slots of 2 rows
  EXPECT_EQ(first.result_bytes(), 400u);
  EXPECT_GE(second.context.dst, first.context.dst + 400 + 4096);
  EXPECT_EQ(second.context.log_chunk, 13u);
}

// What is wrong is named with file, line and key, and what is allowed.
TEST(GroupFileTest, NamesWhatIsWrong) {
  const auto parse = [](const std::string& text) { return parse_groups(text, "g.toml"); };
  EXPECT_ERROR(parse(""), "g.toml", "[[group]]");
  EXPECT_ERROR(parse("[[group]\n"), "g.toml:1", "TOML");
  EXPECT_ERROR(parse("title = 1\n[[group]]\nranks = 1\n"), "g.toml:1", "title");
  EXPECT_ERROR(parse("group = 3\n"), "g.toml", "[[group]]");
  EXPECT_ERROR(parse("[[group]]\ncount = 5\n"), "g.toml:1", "ranks", "members");
  EXPECT_ERROR(parse("[[group]]\nranks = 65\ncount = 5\n"), "g.toml:2", "ranks", "1 to 64");
  EXPECT_ERROR(parse("[[group]]\nranks = 2\nmembers = [1]\ncount = 5\n"), "g.toml:3", "members");
  EXPECT_ERROR(parse("[[group]]\nmembers = [64]\ncount = 5\n"), "g.toml:2", "0 to 63");
  EXPECT_ERROR(parse("[[group]]\nmembers = [1, 1]\ncount = 5\n"), "g.toml:2", "twice");
  EXPECT_ERROR(parse("[[group]]\nmembers = []\ncount = 5\n"), "g.toml:2", "member");
  EXPECT_ERROR(parse("[[group]]\nranks = 2\n"), "g.toml", "count");
  EXPECT_ERROR(parse("[[group]]\nranks = 2\ncount = 5\ntype = \"double\"\n"), "g.toml:4", "type", "half", "int64");
  EXPECT_ERROR(parse("[[group]]\nranks = 2\ncount = 5\nop = \"avg\"\n"), "g.toml:4", "op", "sum, min, max");
  EXPECT_ERROR(parse("[[group]]\nranks = 2\ncount = 5\nwide = true\n"), "g.toml:4", "wide");
  EXPECT_ERROR(parse("[[group]]\nranks = 2\ncount = 5\nacc32 = true\n"), "g.toml", "type", "half and bfloat16");
  EXPECT_ERROR(parse("[[group]]\nranks = 2\ncount = 5\nfragment = 100\n"), "g.toml:4", "fragment", "64, 128");
  EXPECT_ERROR(parse("[[group]]\nranks = 2\ncount = 5\nchunk = 64\n"), "g.toml:4", "chunk", "4 GiB");
  EXPECT_ERROR(parse("[[group]]\nranks = 2\ncount = 5000000\nchunk = 64\nfragment = 64\n"), "g.toml:4", "65536 chunks");
  EXPECT_ERROR(parse("[[group]]\nranks = 2\ncount = 5\nslots = 3\n"), "g.toml:4", "slots", "powers of two");
  EXPECT_ERROR(parse("[[group]]\nranks = 2\ncount = 5\nslots = 1024\n"), "g.toml:4", "slots", "at most 128");
  EXPECT_ERROR(parse("[[group]]\nranks = 2\ncount = 5\nslot_base = 1000\n"), "g.toml:4", "slot_base", "1023");
  EXPECT_ERROR(parse("[[group]]\nranks = 2\ncount = 5\nrow_base = 4096\n"), "g.toml:4", "row_base");
  EXPECT_ERROR(parse("[[group]]\nranks = 2\ncount = 5\ndst = 4096\n"), "g.toml:4", "dst", "GPU memory");
  EXPECT_ERROR(parse("[[group]]\nranks = 2\ncount = 5\n[[group]]\ngroup = 0\nranks = 2\ncount = 5\n"), "g.toml:5",
               "already");
  EXPECT_ERROR(parse("[[group]]\nranks = 2\ncount = 5\nsize = 5\n"), "g.toml:4", "size", "unknown key");
  EXPECT_ERROR(parse("[[group]]\nranks = 2\ncount = -1\n"), "g.toml:3", "count");
  EXPECT_ERROR(parse("[[group]]\nranks = 2\ncount = 9000000000000000000\n"), "g.toml:3", "count");
}

// Groups that want the same slots, rows or destination are refused; what a group leaves is free again.
TEST(GroupTableTest, OverlapsAreRefused) {
  GroupTable table;
  GroupSpec a;
  a.count = 1024;
  a.members = 3;
  a.slots = 4;
  a.slot_base = 10;
  a.row_base = 100;  // to 227
  a.dst = pcie::kGpuBase;
  table.add(a);
  GroupSpec b = a;
  b.group = 1;
  b.dst.reset();
  b.row_base.reset();
  b.slot_base = 13;
  EXPECT_ERROR(table.add(b), "slot_base", "group 0");
  b.slot_base = 7;
  EXPECT_ERROR(table.add(b), "slot_base", "group 0");
  b.slot_base = 14;
  b.row_base = 227;
  EXPECT_ERROR(table.add(b), "row_base", "group 0");
  b.row_base = 228;
  b.dst = pcie::kGpuBase + 4095;
  EXPECT_ERROR(table.add(b), "dst", "group 0");
  b.dst = pcie::kGpuBase + 4096;
  table.add(b);
  EXPECT_ERROR(table.remove(2), "group", "2");
  table.remove(0);
  a.group = 5;
  table.add(a);
  GroupSpec rest;  // slots and rows that are left, wherever they are
  rest.group = 6;
  rest.count = 1;
  rest.members = 1;
  rest.slots = 512;
  rest.fragment = 64;
  EXPECT_EQ(table.add(rest).context.slot_base, 18u);
}

// ---- Vectors ----

// A folder with a file a rank, .npy and raw ones mixed.
TEST_F(FolderTest, ReadsAFolder) {
  write("rank0.npy", npy("{'descr': '<f2', 'fortran_order': False, 'shape': (3,), }", "aabbcc"));
  write("rank1.bin", "ddeeff");
  const auto l = load_contributions(folder, arp::Type::kFp16, 0, 0);
  EXPECT_EQ(l.members, 2u);
  EXPECT_EQ(l.count, 3u);
  EXPECT_EQ(l.data->bytes(0, 0, 2, 4), (arp::Bytes{'b', 'b', 'c', 'c'}));
  EXPECT_EQ(l.data->bytes(1, 7, 0, 6), (arp::Bytes{'d', 'd', 'e', 'e', 'f', 'f'}));
}

// One file with all ranks: an array of two dimensions, or raw with the number of ranks given.
TEST_F(FolderTest, ReadsOneFile) {
  const auto a =
      write("all.npy", npy("{'descr': '<i4', 'fortran_order': False, 'shape': (2, 2)}", "aaaabbbbccccdddd", 2));
  const auto l = load_contributions(a, arp::Type::kInt32, 0, 0);
  EXPECT_EQ(l.members, 2u);
  EXPECT_EQ(l.data->bytes(1, 0, 4, 4), (arp::Bytes{'d', 'd', 'd', 'd'}));
  const auto raw = write("all.bin", "aaaabbbbccccdddd");
  EXPECT_EQ(load_contributions(raw, arp::Type::kFp32, 4, 0).count, 1u);
  EXPECT_EQ(load_contributions(raw, arp::Type::kFp32, 0, 2).members, 2u);
}

// BF16 has no type in NumPy: 16-bit words and 2-byte voids are taken.
TEST_F(FolderTest, TakesBf16AsWords) {
  for (const char* descr : {"<u2", "|V2", "<V2"}) {
    const auto a =
        write("b.npy", npy(std::string("{'descr': '") + descr + "', 'fortran_order': False, 'shape': (1, 2)}", "aabb"));
    EXPECT_EQ(load_contributions(a, arp::Type::kBf16, 0, 0).count, 2u);
  }
}

// What can't be read is named with its file and what would be right.
TEST_F(FolderTest, NamesWhatIsWrong) {
  const auto load = [&](const std::string& path, unsigned members = 0, uint64_t count = 0) {
    load_contributions(path, arp::Type::kFp32, members, count);
  };
  EXPECT_ERROR(load(folder + "/none"), "none", "no such file");
  EXPECT_ERROR(load(folder), "rank0.npy");
  EXPECT_ERROR(load(write("raw.bin", "aaaabbbb")), "raw.bin", "--ranks");
  EXPECT_ERROR(load(write("odd.bin", "aaaabb"), 1), "odd.bin", "6 B", "4 B");
  EXPECT_ERROR(load(write("raw.bin", "aaaabbbbcccc"), 2), "3 elements", "2 ranks");
  EXPECT_ERROR(load(write("empty.bin", ""), 2), "empty.bin", "no elements");
  const std::string good = "'fortran_order': False, 'shape': (1, 2)}";
  EXPECT_ERROR(load(write("t.npy", npy("{'descr': '<f8', " + good, "aaaabbbbccccdddd"))), "t.npy", "<f8", "<f4");
  EXPECT_ERROR(load(write("t.npy", npy("{'descr': '>f4', " + good, "aaaabbbb"))), ">f4");
  EXPECT_ERROR(load(write("t.npy", npy("{'descr': [('x', '<f4')], " + good, "aaaabbbb"))), "records");
  EXPECT_ERROR(load(write("t.npy", npy("{'descr': '<f4', 'fortran_order': True, 'shape': (1, 2)}", "aaaabbbb"))),
               "Fortran");
  EXPECT_ERROR(load(write("t.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3)}", "aaaabbbb"))),
               "12 B", "8");
  EXPECT_ERROR(load(write("t.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 1)}", "aaaabbbb"))),
               "3 dimensions");
  EXPECT_ERROR(load(write("t.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999, 99999999)}", ""))),
               "2 GiB");
  EXPECT_ERROR(load(write("t.npy", npy("{'descr': '<f4'}", "aaaabbbb"))), "fortran_order");
  EXPECT_ERROR(load(write("t.npy", "no numpy")), "t.npy", "NUMPY");
  EXPECT_ERROR(load(write("t.npy", npy("{'descr': '<f4', " + good, "aaaabbbb")), 2), "1 ranks", "--ranks says 2");
  EXPECT_ERROR(load(write("t.npy", npy("{'descr': '<f4', " + good, "aaaabbbb")), 0, 3), "--count says 3");
  write("rank0.bin", "aaaabbbb");
  write("rank1.bin", "aaaa");
  EXPECT_ERROR(load(folder), "rank1.bin", "1 elements, but 2");
  write("rank1.bin", "ccccdddd");
  EXPECT_ERROR(load(folder, 3), "rank2.npy");
}

// Any bytes where an array should be end in an array or in an error.
TEST(NpyTest, HostileBytesAreSafe) {
  std::mt19937 rng(3);
  const std::string good = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }", std::string(16, 'x'));
  unsigned taken = 0, refused = 0;
  for (unsigned n = 0; n < 20000; ++n) {
    std::string s = good;
    for (unsigned i = 0; i <= rng() % 2; ++i) s[rng() % s.size()] = static_cast<char>(rng());
    if (rng() % 4 == 0) s.resize(rng() % s.size());
    try {
      const NpyArray a = parse_npy(s, "f");
      EXPECT_LE(a.data_begin, s.size());
      ++taken;
    } catch (const InputError&) {
      ++refused;
    }
  }
  EXPECT_GT(taken, 1000u);
  EXPECT_GT(refused, 1000u);
}

// Results written as .npy are arrays that are read back.
TEST_F(FolderTest, ResultsAreReadBack) {
  const std::string path = folder + "/r.npy";
  const arp::Bytes bytes = {1, 2, 3, 4, 5, 6, 7, 8};
  write_elements(path, arp::Type::kBf16Acc32, true, bytes);
  std::ifstream in(path, std::ios::binary);
  const std::string file(std::istreambuf_iterator<char>(in), {});
  const NpyArray a = parse_npy(file, path);
  EXPECT_EQ(a.descr, "<f4");
  EXPECT_EQ(a.shape, std::vector<uint64_t>{2});
  EXPECT_EQ(a.data_begin % 64, 0u);
  EXPECT_EQ(file.substr(a.data_begin), std::string(bytes.begin(), bytes.end()));
}

// Generated vectors are the same for a seed, whatever piece of them is asked for, and differ by rank, step and seed.
TEST(GeneratedTest, PiecesFitTogether) {
  for (const auto type : {arp::Type::kFp16, arp::Type::kBf16Acc32, arp::Type::kFp32, arp::Type::kInt64}) {
    const auto g = generated(type, Values::kSpecial, 5);
    const auto all = g->bytes(1, 2, 0, 1600);
    const auto piece = g->bytes(1, 2, 800, 64);
    EXPECT_TRUE(std::equal(piece.begin(), piece.end(), all.begin() + 800));
    EXPECT_NE(all, g->bytes(2, 2, 0, 1600));
    EXPECT_NE(all, g->bytes(1, 3, 0, 1600));
    EXPECT_NE(all, generated(type, Values::kSpecial, 6)->bytes(1, 2, 0, 1600));
  }
}

}  // namespace
}  // namespace rnic::collective
