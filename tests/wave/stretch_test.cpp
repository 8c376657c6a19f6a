// SPDX-License-Identifier: Apache-2.0
// Stretches of a wave against its changes in the order of time, from the beginning and from every mark; and what the
// checker makes of them: tables round failures far into a wave, and handshakes looked at many samples at once.
#include <gtest/gtest.h>
#include <gtkwave/fstapi.h>
#include <unistd.h>

#include <map>
#include <random>

#include "rnic/wave/check.h"
#include "rnic/wave/expr.h"
#include "rnic/wave/reader.h"
#include "wave/formats/random_fst.h"
#include "wave/vcd.h"

namespace rnic::test {
namespace {

using wave::Mark;
using wave::Reader;

/// Values by signal and time; those that change nothing are left out.
using History = std::map<uint32_t, std::map<uint64_t, std::string>>;
void tidy(History& h) {
  for (auto& [id, changes] : h) {
    std::string now;
    for (auto it = changes.begin(); it != changes.end();) {
      const bool nothing = now.empty() && it->second.find_first_not_of('x') == std::string::npos;
      if (nothing || it->second == now) {
        it = changes.erase(it);
      } else {
        now = it++->second;
      }
    }
  }
}

std::vector<uint32_t> ids_of(const Reader& r) {
  std::vector<uint32_t> ids;
  for (const auto& s : r.signals()) ids.push_back(s.id);
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

History by_time(Reader& r) {
  struct Take : wave::Visitor {
    void on_change(uint32_t id, uint64_t time, const char* bits, uint32_t width) override {
      history[id][time].assign(bits, width);
    }
    History history;
  } take;
  r.read(ids_of(r), take);
  tidy(take.history);
  return take.history;
}

struct Take : wave::StretchVisitor {
  bool on_stretch(const wave::Stretch& s, const Mark& next) override {
    for (size_t n = 1; n < s.times().size(); ++n) EXPECT_LT(s.times()[n - 1], s.times()[n]);
    if (marks.empty() || s.times().size() > 1) {
      EXPECT_TRUE(last < s.times()[0] || last == 0) << "the steps of a time are torn apart";
    }
    last = s.times().back();
    words = std::max(words, s.size());
    for (size_t n = 0; n < ids.size(); ++n) {
      const auto& c = s.columns()[n];
      for (const uint64_t* p = c.begin(); p != c.end(); p += c.stride()) {
        std::string& bits = history[ids[n]][s.times()[*p]];
        bits.clear();
        for (uint32_t i = widths[n]; i-- > 0;) {
          const uint64_t v = p[1 + i / 64] >> i % 64 & 1, x = p[1 + c.words() + i / 64] >> i % 64 & 1;
          bits += x == 0 ? static_cast<char>('0' + v) : v == 0 ? 'x' : 'z';
        }
      }
      EXPECT_EQ(*c.end(), wave::Stretch::kNever);
    }
    marks.push_back(next);
    return marks.size() != most;
  }
  std::vector<uint32_t> ids, widths;
  size_t most = 0;
  History history;
  std::vector<Mark> marks;
  uint64_t last = 0;
  size_t words = 0;  ///< of the largest
};

Take by_stretch(Reader& r, const Mark& from, size_t most = 0) {
  Take take;
  take.ids = ids_of(r);
  take.most = most;
  std::map<uint32_t, uint32_t> widths;
  for (const auto& s : r.signals()) widths[s.id] = s.width;
  for (const uint32_t id : take.ids) take.widths.push_back(widths[id]);
  r.read_stretches(take.ids, from, take);
  return take;
}

/// The changes from a time on.
History since(const History& h, uint64_t time) {
  History out;
  for (const auto& [id, changes] : h) {
    for (auto it = changes.lower_bound(time); it != changes.end(); ++it) out[id].insert(*it);
  }
  return out;
}

void expect_agreement(const std::string& path) {
  const auto r = Reader::open(path);
  const History all = by_time(*r);
  Take whole = by_stretch(*r, {});
  EXPECT_GT(whole.marks.size(), 3u);
  tidy(whole.history);
  EXPECT_EQ(whole.history, all);
  whole.marks.pop_back();  // the end
  for (const Mark& mark : whole.marks) {
    History rest = by_stretch(*r, mark).history;
    // What may come once more are values of before.
    for (auto& [id, changes] : rest) {
      for (auto it = changes.begin(); it != changes.end() && it->first < mark.time; it = changes.erase(it)) {
        const auto before = all.find(id);
        if (before == all.end()) continue;
        auto held = before->second.lower_bound(mark.time);
        if (held != before->second.begin()) EXPECT_EQ(it->second, (--held)->second) << id;
      }
    }
    rest = since(rest, mark.time);
    History want = since(all, mark.time);
    for (auto* h : {&rest, &want}) {
      for (auto it = h->begin(); it != h->end();) it = it->second.empty() ? h->erase(it) : std::next(it);
    }
    // A value that is repeated is none of the changes.
    for (auto& [id, changes] : rest) {
      for (auto it = changes.begin(); it != changes.end();) {
        it = want[id].count(it->first) == 0 ? changes.erase(it) : std::next(it);
      }
    }
    EXPECT_EQ(rest, want) << "from " << mark.time;
  }
  EXPECT_EQ(by_stretch(*r, {}, 2).marks.size(), 2u) << "it does not stop when told";
}

struct StretchTest : testing::TestWithParam<int> {};

TEST_P(StretchTest, FstAgrees) {
  const TempFile f("a.fst", "");
  write_random_fst(f.path(), GetParam(), 7, 12'000);
  expect_agreement(f.path());
}

INSTANTIATE_TEST_SUITE_P(Packings, StretchTest, testing::Range(0, kFstPackings),
                         [](const auto& info) { return kFstPackingNames[info.param]; });

// A stretch that is laid out for few changes meets many.
TEST(StretchTest, BurstInTheWave) {
  const TempFile f("a.fst", "");
  void* w = fstWriterCreate(f.path().c_str(), 1);
  const auto clk = fstWriterCreateVar(w, FST_VT_VCD_WIRE, FST_VD_IMPLICIT, 1, "clk", 0);
  std::vector<fstHandle> buses;
  for (int n = 0; n < 60; ++n) {
    buses.push_back(fstWriterCreateVar(w, FST_VT_VCD_WIRE, FST_VD_IMPLICIT, 64, fmt::format("bus{}", n).c_str(), 0));
  }
  std::mt19937_64 random(1);
  for (uint64_t t = 0; t < 60'000; ++t) {
    fstWriterEmitTimeChange(w, 2 * t);
    fstWriterEmitValueChange(w, clk, t % 2 != 0 ? "1" : "0");
    for (const auto bus : buses) {
      if (t / 3'000 == 15) fstWriterEmitValueChange64(w, bus, 64, random());
    }
  }
  fstWriterClose(w);
  const auto r = Reader::open(f.path());
  const History all = by_time(*r);
  Take whole = by_stretch(*r, {});
  tidy(whole.history);
  EXPECT_TRUE(whole.history == all);
  EXPECT_LT(whole.words, 6 * wave::Stretch::kWords);
}

TEST(StretchTest, VcdAgrees) {
  std::mt19937_64 random(5);
  std::string s = "$timescale 1ns $end\n$scope module top $end\n";
  const std::vector<uint32_t> widths{1, 1, 2, 8, 63, 64, 65, 130};
  for (size_t n = 0; n < widths.size(); ++n) s += fmt::format("$var wire {} {} s{} $end\n", widths[n], n, n);
  s += "$upscope $end\n$enddefinitions $end\n";
  for (unsigned t = 0; t < 24'000; ++t) {
    s += fmt::format("#{}\n", t * 3 + (t > 4000 ? 1'000'000 : 0));
    if (t % 50 == 0) s += fmt::format("#{}\n", t * 3 + (t > 4000 ? 1'000'000 : 0));
    for (size_t n = 0; n < widths.size(); ++n) {
      for (unsigned again = static_cast<unsigned>(random() % 8); again < 2; ++again) {  // twice at one time, some
        const unsigned states = random() % 5 == 0 ? 4 : 2;
        std::string v(random() % 4 == 0 ? 1 + random() % widths[n] : widths[n], '0');
        for (char& c : v) c = "01xz"[random() % states];
        s += widths[n] == 1 ? fmt::format("{}{}\n", v, n) : fmt::format("b{} {}\n", v, n);
      }
    }
  }
  const TempFile f("a.vcd", s);
  expect_agreement(f.path());
}

// ---- The checker

/// A clock, values of cycle n from 10 n on and the edge at 10 n + 5; as VCD or as FST.
std::string write_wave(const std::string& path, const std::vector<std::vector<std::pair<uint32_t, uint64_t>>>& cycles,
                       bool fst) {
  static constexpr const char* kNames[] = {"clk", "a", "b"};
  const auto digits = [](uint32_t width, uint64_t v) {
    std::string d;
    for (uint32_t i = width; i-- > 0;) d += static_cast<char>('0' + (v >> i & 1));
    return d;
  };
  std::string s = "$scope module top $end\n";
  void* w = fst ? fstWriterCreate(path.c_str(), 1) : nullptr;
  std::vector<fstHandle> handles;
  if (fst) fstWriterSetScope(w, FST_ST_VCD_MODULE, "top", nullptr);
  for (size_t n = 0; n < 3; ++n) {
    const uint32_t width = n == 0 ? 1 : cycles[0][n - 1].first;
    s += fmt::format("$var wire {} {} {} $end\n", width, n, kNames[n]);
    if (fst) handles.push_back(fstWriterCreateVar(w, FST_VT_VCD_WIRE, FST_VD_IMPLICIT, width, kNames[n], 0));
  }
  s += "$upscope $end\n$enddefinitions $end\n";
  const auto time = [&](uint64_t t) { fst ? fstWriterEmitTimeChange(w, t) : (void)(s += fmt::format("#{}\n", t)); };
  const auto set = [&](size_t n, uint32_t width, uint64_t v) {
    const std::string d = digits(width, v);
    fst ? fstWriterEmitValueChange(w, handles[n], d.c_str())
        : (void)(s += width == 1 ? fmt::format("{}{}\n", d, n) : fmt::format("b{} {}\n", d, n));
  };
  for (size_t c = 0; c < cycles.size(); ++c) {
    time(10 * c);
    set(0, 1, 0);
    for (size_t n = 0; n < 2; ++n) {
      if (c == 0 || cycles[c][n] != cycles[c - 1][n]) set(n + 1, cycles[c][n].first, cycles[c][n].second);
    }
    time(10 * c + 5);
    set(0, 1, 1);
    if (fst && c % 9000 == 8999) fstWriterFlushContext(w);
  }
  if (fst) fstWriterClose(w);
  return s;
}

// Values round failures anywhere in a long wave are those that were written, histories included.
TEST(StretchTest, TablesFarIntoTheWave) {
  std::mt19937_64 random(3);
  std::vector<std::vector<std::pair<uint32_t, uint64_t>>> cycles;
  const std::vector<uint64_t> failures{2, 100, 8'999, 9'000, 23'456, 39'996, 39'999};
  for (uint64_t c = 0; c < 40'000; ++c) {
    uint64_t a = random() % 200, b = c != 0 && c % 3 != 0 ? cycles.back()[1].second : random();
    for (size_t n = 0; n < failures.size(); ++n) a = c == failures[n] ? 200 + n : a;
    cycles.push_back({{8, a}, {64, b}});
  }
  std::string rules = "[defaults]\nclock = \"top.clk\"\nedge = \"rising\"\n";
  for (size_t n = 0; n < failures.size(); ++n) {
    rules += fmt::format("[[rule]]\nkind = \"never\"\nname = \"{}\"\nexpr = \"top.a == {} || past(top.b, 9) == 0\"\n",
                         n, 200 + n);
  }
  for (const bool fst : {false, true}) {
    const TempFile f(fst ? "a.fst" : "a.vcd", ""), toml("rules.toml", rules);
    const std::string text = write_wave(f.path(), cycles, fst);
    const TempFile vcd("b.vcd", fst ? "" : text);
    const auto r = Reader::open(fst ? f.path() : vcd.path());
    const auto report = wave::check({toml.path()}, *r);
    ASSERT_EQ(report.verdicts.size(), failures.size());
    for (size_t n = 0; n < failures.size(); ++n) {
      const auto& v = report.verdicts[n];
      ASSERT_EQ(v.count, 1u) << n;
      EXPECT_EQ(v.first[0].cycle, static_cast<int64_t>(failures[n]));
      const auto& around = v.around;
      const uint64_t begin = failures[n] - std::min<uint64_t>(5, failures[n]);
      ASSERT_EQ(around.cycles.size(), std::min<uint64_t>(failures[n] + 4, cycles.size()) - begin) << n;
      ASSERT_EQ(around.rows.size(), 3u);
      EXPECT_EQ(around.marked, failures[n] - begin);
      for (size_t k = 0; k < around.cycles.size(); ++k) {
        const uint64_t c = begin + k;
        EXPECT_EQ(around.cycles[k], static_cast<int64_t>(c)) << n;
        EXPECT_EQ(around.times[k], 10 * c + 5);
        EXPECT_EQ(around.rows[0].values[k], fmt::format("{:x}", cycles[c][0].second)) << n << " at " << c;
        EXPECT_EQ(around.rows[1].values[k], fmt::format("{:x}", cycles[c][1].second)) << n << " at " << c;
        const bool known = c >= 9;
        EXPECT_EQ(around.rows[2].values[k], c == failures[n] ? "1" : known ? "0" : "x") << n << " at " << c;
      }
    }
  }
}

// Handshakes of plain names are looked at many samples at once, those of expressions one by one.
TEST(StretchTest, HandshakesAtOnceAndOneByOne) {
  unsigned failed = 0, passed = 0, incomplete = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    const auto chance = [&](unsigned percent) { return random() % 100 < percent; };
    const bool several = seed == 7 || seed == 14 || seed == 28 || seed == 35;  // stretches
    const size_t cycles = several ? 30'000 : 1 + random() % 400;
    // One kind of fault alone, or none.
    const bool falls = seed % 5 == 1, moves = seed % 5 == 2, unknown = seed % 5 == 3;
    const bool streams = seed % 9 == 4;
    const unsigned rare = seed % 8 == 0 ? 2 : 50;
    std::string reset, valid, ready;
    std::vector<uint64_t> data;
    bool v = false, r = false, rst = true;
    uint64_t d = 0;
    for (size_t c = 0; c < cycles; ++c) {
      const bool waits = v && !r && !rst;
      rst = c < 3 || (rst ? chance(60) : seed % 4 == 0 && random() % 150 == 0);
      if (!waits || rst) v = !rst && chance(streams ? 98 : rare);
      if (!waits) d = random();
      r = chance(streams ? 100 : seed % 7 == 0 ? 3 : 60);
      if (falls && random() % 200 == 0) v = !v;
      if (moves && random() % 200 == 0) d ^= 1;
      reset += rst ? '1' : '0';
      valid += v ? '1' : '0';
      ready += unknown && random() % 200 == 0 ? 'x' : r ? '1' : '0';
      data.push_back(d);
    }
    const SmallWave w = SmallWave().bit("reset", reset).bit("v", valid).bit("r", ready).number("d", 40, data);
    std::string rules = "[defaults]\nclock = \"top.clk\"\nedge = \"rising\"\nscope = \"top\"\n";
    for (const char* how : {"", " & 1"}) {
      rules += fmt::format(
          "[[rule]]\nkind = \"handshake\"\nreset = \"top.reset\"\nvalid = \"v{0}\"\nready = \"r{0}\"\npayload = "
          "[\"d\"]\n",
          how);
      if (seed % 3 == 0) rules += fmt::format("max_stall = {}\n", seed % 6 == 0 ? 1 : 70);
      if (seed % 11 == 0) rules += fmt::format("from_ns = {}\nto_ns = {}\n", cycles, 8 * cycles);
    }
    const TempFile file("w.vcd", w.vcd()), toml("rules.toml", rules);
    const auto reader = Reader::open(file.path());
    const auto report = wave::check({toml.path()}, *reader);
    ASSERT_EQ(report.verdicts.size(), 2u);
    const auto &a = report.verdicts[0], &b = report.verdicts[1];
    EXPECT_EQ(a.status, b.status) << seed;
    EXPECT_EQ(a.triggers, b.triggers) << seed;
    EXPECT_EQ(a.count, b.count) << seed;
    EXPECT_EQ(a.measured, b.measured) << seed;
    ASSERT_EQ(a.first.size(), b.first.size()) << seed;
    for (size_t n = 0; n < a.first.size(); ++n) EXPECT_EQ(a.first[n].sample, b.first[n].sample) << seed;
    failed += a.status == wave::Status::kFailed;
    passed += a.status == wave::Status::kPassed;
    incomplete += a.status == wave::Status::kIncomplete;
  }
  EXPECT_GT(failed, 60u);
  EXPECT_GT(passed, 60u);
  EXPECT_GT(incomplete, 5u);
}

// A fault is found wherever the seam of two stretches lies.
TEST(StretchTest, FaultsAtTheSeam) {
  std::string rules =
      "[defaults]\nclock = \"top.clk\"\nedge = \"rising\"\nscope = \"top\"\nreset = \"top.reset\"\n[[rule]]\nkind = "
      "\"handshake\"\nvalid = \"v\"\nready = \"r\"\npayload = [\"d\"]\n";
  const TempFile toml("rules.toml", rules);
  // The clock alone makes six words a cycle.
  const auto seam = static_cast<uint64_t>(wave::Stretch::kWords / 6);
  for (uint64_t at = seam - 12; at < seam + 12; ++at) {
    for (const char what : {'d', 'v', 'r'}) {
      std::string s = "$scope module top $end\n";
      for (const char* name : {"clk", "v", "r", "reset"}) s += fmt::format("$var wire 1 {0} {0} $end\n", name);
      s += "$var wire 8 d d $end\n$upscope $end\n$enddefinitions $end\n";
      for (uint64_t c = 0; c < seam + 40; ++c) {
        s += fmt::format("#{}\n0clk\n", 10 * c);
        if (c == 0) s += "0v\n0r\n1reset\nb1 d\n";
        if (c == 3) s += "0reset\n";
        if (c == 6) s += "1v\nb11 d\n";
        if (c == at) s += what == 'd' ? "b10 d\n" : what == 'v' ? "0v\n" : "1reset\n";
        s += fmt::format("#{}\n1clk\n", 10 * c + 5);
      }
      const TempFile file("w.vcd", s);
      const auto reader = Reader::open(file.path());
      const auto v = wave::check({toml.path()}, *reader).verdicts.at(0);
      ASSERT_EQ(v.status, wave::Status::kFailed) << what << " at " << at;
      EXPECT_EQ(v.first[0].cycle, static_cast<int64_t>(at)) << what;
      EXPECT_EQ(v.triggers, 1u);
    }
  }
}

}  // namespace
}  // namespace rnic::test
