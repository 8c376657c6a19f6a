// SPDX-License-Identifier: Apache-2.0
// Waves that are cut off or damaged at any place: an error that says so, or a wave; never a crash, a hang, or memory
// without bounds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <random>

#include "rnic/core/error.h"
#include "rnic/wave/reader.h"
#include "wave/formats/random_fst.h"
#include "wave/vcd.h"

namespace rnic::test {
namespace {

using testing::HasSubstr;
using wave::Reader;

std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// What a reader promises, also on a damaged file.
struct Strict : wave::Visitor {
  explicit Strict(const Reader& r) : widths(r.id_count()) {
    for (const auto& s : r.signals()) {
      EXPECT_LT(s.id, r.id_count());
      EXPECT_TRUE(widths.at(s.id) == 0 || widths[s.id] == s.width) << s.name;
      widths[s.id] = s.width;
    }
  }
  void on_change(uint32_t id, uint64_t time, const char* bits, uint32_t width) override {
    ASSERT_LT(id, widths.size());
    ASSERT_EQ(width, widths[id]);
    ASSERT_GE(time, last);
    last = time;
    for (uint32_t i = 0; i < width; ++i) ASSERT_NE(std::strchr("01xz", bits[i]), nullptr) << bits[i];
  }
  std::vector<uint32_t> widths;
  uint64_t last = 0;
};

struct StrictStretches : wave::StretchVisitor {
  bool on_stretch(const wave::Stretch& s, const wave::Mark&) override {
    EXPECT_FALSE(s.times().empty());
    for (const uint64_t time : s.times()) {
      EXPECT_GE(time, last);
      last = time;
    }
    for (const auto& c : s.columns()) {
      uint64_t step = 0;
      for (const uint64_t* p = c.begin(); p != c.end(); p += c.stride()) {
        EXPECT_TRUE(p == c.begin() || *p > step);
        step = *p;
        EXPECT_LT(step, s.times().size());
      }
    }
    return !testing::Test::HasFailure();
  }
  uint64_t last = 0;
};

/// The error of reading all of it; empty without.
std::string read_all(const std::string& path) {
  const auto error_of = [&](const std::function<void(Reader&, const std::vector<uint32_t>&)>& read) -> std::string {
    try {
      const auto r = Reader::open(path);
      std::vector<uint32_t> ids;
      for (const auto& s : r->signals()) ids.push_back(s.id);
      std::sort(ids.begin(), ids.end());
      ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
      read(*r, ids);
    } catch (const InputError& e) {
      EXPECT_THAT(e.what(), HasSubstr(path));
      return e.what();
    }
    return "";
  };
  const std::string error = error_of([](Reader& r, const std::vector<uint32_t>& ids) {
    Strict visitor(r);
    r.read(ids, visitor);
    r.read(ids, visitor.last / 2, visitor.last, *std::make_unique<Strict>(r));
  });
  EXPECT_EQ(error, error_of([](Reader& r, const std::vector<uint32_t>& ids) {
              StrictStretches visitor;
              r.read_stretches(ids, {}, visitor);
            }));
  return error;
}

/// One file after the other under the same name.
class Rewritten {
 public:
  explicit Rewritten(const std::string& name) : file_(name, "") {}
  std::string read(const std::string& text) {
    std::filesystem::remove(file_.path());  // some file systems wait for the disk when a file is overwritten
    std::ofstream(file_.path(), std::ios::binary) << text;
    return read_all(file_.path());
  }

 private:
  TempFile file_;
};

uint64_t peak_memory() {
  rusage u{};
  getrusage(RUSAGE_SELF, &u);
  return static_cast<uint64_t>(u.ru_maxrss) * 1024;
}

/// Damages copies of a file in many ways.
unsigned damage(const std::string& good, const std::string& name, uint64_t seed, unsigned count) {
  Rewritten file(name);
  EXPECT_EQ(file.read(good), "");
  std::mt19937_64 random(seed);
  unsigned errors = 0;
  for (unsigned n = 0; n < count; ++n) {
    std::string bad = good;
    const size_t at = random() % bad.size();
    switch (random() % 6) {
      case 0:
        for (uint64_t i = random() % 4 + 1; i > 0; --i)
          bad[random() % bad.size()] ^= static_cast<char>(1 << random() % 8);
        break;
      case 1:
        bad[at] = static_cast<char>(random());
        break;
      case 2:  // all ones, or all zeros
        for (size_t i = at; i < std::min(at + 1 + random() % 10, bad.size()); ++i)
          bad[i] = static_cast<char>(seed % 2 - 1);
        break;
      case 3:
        bad.erase(at, 1 + random() % 20);
        break;
      case 4:
        bad.insert(at, bad.substr(random() % bad.size(), 1 + random() % 40));
        break;
      case 5: {  // near the beginning, where the lengths are
        const size_t near = random() % std::min<size_t>(bad.size(), 400);
        bad[near] = static_cast<char>(random() % 3 == 0 ? 0xff : random());
        break;
      }
    }
    if (!file.read(bad).empty()) ++errors;
    if (testing::Test::HasFailure()) {
      ADD_FAILURE() << "change " << n << " of seed " << seed;
      return errors;
    }
  }
  return errors;
}

struct FstDamageTest : testing::TestWithParam<int> {
  std::string good() const {
    const TempFile f("a.fst", "");
    write_random_fst(f.path(), GetParam(), 1, 60);
    return contents(f.path());
  }
};

TEST_P(FstDamageTest, CutOffAnywhere) {
  const std::string all = good();
  Rewritten file("a.fst");
  for (size_t n = 0; n < all.size(); n += n < 700 || n + 300 > all.size() ? 1 : 13) {
    const std::string error = file.read(all.substr(0, n));
    ASSERT_NE(error, "") << "cut at " << n << " of " << all.size();
    if (n > 9 && GetParam() != 3) {
      ASSERT_THAT(error, HasSubstr("cut off")) << n;
    }
  }
}

TEST_P(FstDamageTest, RandomDamage) {
  const uint64_t before = peak_memory();
  unsigned errors = 0;
  for (const uint64_t seed : {1, 2, 3}) errors += damage(good(), "a.fst", seed, 120);
  EXPECT_GT(errors, 100u);
  EXPECT_LT(peak_memory() - before, 400u << 20);
}

INSTANTIATE_TEST_SUITE_P(Packings, FstDamageTest, testing::Range(0, kFstPackings),
                         [](const auto& info) { return kFstPackingNames[info.param]; });

// Claims of a header that nothing stands behind.
TEST(FstDamageTest, ImpossibleClaims) {
  const TempFile f("a.fst", "");
  write_random_fst(f.path(), 0, 1, 60);
  const std::string all = contents(f.path());
  Rewritten file("b.fst");
  const uint64_t before = peak_memory();
  const auto with = [&](size_t at, uint64_t value) {
    std::string bad = all;
    for (int i = 0; i < 8; ++i) bad[at + static_cast<size_t>(i)] = static_cast<char>(value >> (56 - 8 * i));
    return file.read(bad);
  };
  // Each block: type, length; then its own numbers.
  for (size_t at = 0; at + 9 < all.size();) {
    uint64_t length = 0;
    for (size_t i = 1; i <= 8; ++i) length = length << 8 | static_cast<unsigned char>(all[at + i]);
    for (const uint64_t value :
         {uint64_t{0}, uint64_t{1} << 20, uint64_t{1} << 30, uint64_t{1} << 32, uint64_t{1} << 62, ~uint64_t{0}}) {
      EXPECT_NE(with(at + 1, value), "") << "length of the block at " << at << " = " << value;
      if (all[at] != 0) with(at + 9, value);
      if (all[at] != 0) with(at + 17, value);
      for (size_t back = 8; back <= 32; back += 8) with(at + 1 + length - back, value);
    }
    at += 1 + length;
  }
  EXPECT_LT(peak_memory() - before, 400u << 20);
}

std::string random_vcd(uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string s =
      "$date now $end\n$timescale 1ns $end\n$scope module top $end\n$var wire 1 ! clk $end\n$var wire 8 \" bus [7:0] "
      "$end\n"
      "$var reg 130 #a wide $end\n$var real 64 $ r $end\n$upscope $end\n$enddefinitions $end\n#0\n$dumpvars\n0!\nbx "
      "\"\nbz #a\nr0.5 $\n$end\n";
  for (int t = 1; t < 60; ++t) {
    s += fmt::format("#{}\n{}!\n", 5 * t, t % 2);
    if (random() % 2 != 0) s += fmt::format("b{:b} \"\n", random() % 256);
    if (random() % 3 == 0) s += fmt::format("b{:b}{:b} #a\n", random(), random());
  }
  return s;
}

TEST(VcdDamageTest, CutOffAnywhere) {
  const std::string all = random_vcd(1);
  const size_t header = all.find("#0");
  Rewritten file("a.vcd");
  for (size_t n = 0; n < all.size(); ++n) {
    const std::string error = file.read(all.substr(0, n));
    // A cut behind a line's end in the body leaves a good file.
    if (n < header - 1 || all[n - 1] != '\n') {
      ASSERT_NE(error, "") << "cut at " << n << ": " << all.substr(n > 30 ? n - 30 : 0, n > 30 ? 30 : n);
    }
  }
}

TEST(VcdDamageTest, RandomDamage) {
  const uint64_t before = peak_memory();
  unsigned errors = 0;
  for (const uint64_t seed : {1, 2, 3}) errors += damage(random_vcd(seed), "a.vcd", seed, 200);
  EXPECT_GT(errors, 200u);
  EXPECT_LT(peak_memory() - before, 200u << 20);
}

// A file without any blank is not taken into memory as a whole.
TEST(VcdDamageTest, EndlessWord) {
  const uint64_t before = peak_memory();
  Rewritten file("a.vcd");
  EXPECT_THAT(file.read("$comment " + std::string(size_t{80} << 20, 'a')), HasSubstr("a word has more than"));
  EXPECT_LT(peak_memory() - before, 400u << 20);
}

TEST(VcdDamageTest, NoWave) {
  Rewritten file("a.vcd");
  EXPECT_THAT(file.read(""), HasSubstr("is empty"));
  EXPECT_THAT(file.read("hello, world\n"), HasSubstr("neither FST nor VCD"));
  EXPECT_THAT(file.read(std::string("\x1f\x8b\x08\x00 and more", 12)), HasSubstr("is compressed with gzip: unpack it"));
  EXPECT_THAT(file.read("BZh91AY"), HasSubstr("is compressed with bzip2"));
  EXPECT_THAT(file.read("\x28\xb5\x2f\xfd etc"), HasSubstr("is compressed with zstd"));
  EXPECT_THAT(file.read(std::string(5000, '\0')), HasSubstr("neither FST nor VCD"));
  EXPECT_THAT(read_all("/dev/null"), HasSubstr("is a pipe or a device"));
  EXPECT_THAT(read_all("/"), HasSubstr("is a directory"));
}

}  // namespace
}  // namespace rnic::test
