// SPDX-License-Identifier: Apache-2.0
// Rules of kind "golden": a small wave against another one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <gtkwave/fstapi.h>
#include <unistd.h>

#include "rnic/core/error.h"
#include "rnic/wave/check.h"
#include "wave/vcd.h"

namespace rnic::test {
namespace {

using testing::HasSubstr;
using wave::Report;
using wave::Status;

constexpr const char* kDefaults =
    "[defaults]\nclock = \"top.clk\"\nedge = \"rising\"\nreset = \"top.rst\"\nscope = \"top\"\n";

Report check(const std::string& wave, const std::string& golden, const std::string& rules,
             const std::string& defaults = kDefaults) {
  const TempFile here("w.vcd", wave), there("g.vcd", golden),
      file("rules.toml", defaults + "[[rule]]\nkind = \"golden\"\n" + rules);
  const auto reader = wave::Reader::open(here.path());
  wave::CheckOptions options;
  options.golden = there.path();
  return wave::check({file.path()}, *reader, options);
}
wave::Verdict one(const SmallWave& wave, const SmallWave& golden, const std::string& rules) {
  const Report r = check(wave.vcd(), golden.vcd(), rules);
  EXPECT_EQ(r.verdicts.size(), 1u);
  return r.verdicts.at(0);
}
std::string error_of(const std::string& wave, const std::string& golden, const std::string& rules,
                     const std::string& defaults = kDefaults) {
  try {
    check(wave, golden, rules, defaults);
  } catch (const InputError& e) {
    return e.what();
  }
  return "no error";
}
std::string replaced(std::string s, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = s.find(from, at)) != std::string::npos; at += to.size()) s.replace(at, from.size(), to);
  return s;
}

#define EXPECT_PASSED(v) \
  EXPECT_EQ((v).status, Status::kPassed) << (v).detail << ((v).first.empty() ? "" : (v).first[0].what)
void expect_failed(const wave::Verdict& v, int64_t cycle, const std::string& what, uint64_t count = 1) {
  ASSERT_EQ(v.status, Status::kFailed) << v.detail;
  EXPECT_EQ(v.first[0].cycle, cycle);
  EXPECT_THAT(v.first[0].what, HasSubstr(what));
  EXPECT_EQ(v.count, count);
}

SmallWave n(const std::vector<uint64_t>& values) { return SmallWave().number("n", 8, values); }

const std::string kRule = "signals = [\"n\"]\n";

TEST(WaveGoldenTest, SameValuesPass) {
  const auto v = one(n({0, 1, 2, 2, 7, 7, 3}), n({0, 1, 2, 2, 7, 7, 3}), kRule);
  EXPECT_PASSED(v);
  EXPECT_EQ(v.triggers, 4u);  // the first value and three changes
}

// The failure says what was expected, what was there, and when the golden file has it; the picture shows both.
TEST(WaveGoldenTest, WrongValueFails) {
  const auto v = one(n({0, 1, 2, 2, 9, 9, 3, 3}), n({0, 1, 2, 2, 7, 7, 3, 3}), kRule);
  expect_failed(v, 4, "n became 9, expected 7 (golden: cycle 4, 45.000 ns)");
  EXPECT_EQ(v.first[0].time, 45u);
  EXPECT_EQ(v.around.rows.back().name, "golden: n");
  EXPECT_EQ(v.around.rows.back().values, (std::vector<std::string>{"0", "1", "2", "2", "7", "7", "3", "3"}));
}

// A change that is missing, one too many, one that is late: each is one failure.
TEST(WaveGoldenTest, MissingExtraAndLateChangesFail) {
  expect_failed(one(n({0, 1, 1, 1, 1, 3}), n({0, 1, 1, 2, 1, 3}), kRule), 3, "n stays 1, expected 2 from cycle 3 on");
  expect_failed(one(n({0, 1, 1, 2, 1, 3}), n({0, 1, 1, 1, 1, 3}), kRule), 3, "n became 2, expected 1");
  expect_failed(one(n({0, 1, 1, 1, 2, 3}), n({0, 1, 1, 2, 2, 3}), kRule), 3, "n stays 1, expected 2 from cycle 3 on");
  expect_failed(one(n({0, 1, 1, 2, 2, 3}), n({0, 1, 1, 1, 2, 3}), kRule), 3, "n became 2, expected 1");
}

// Tolerance moves when a value comes, either way, and never which value.
TEST(WaveGoldenTest, ToleranceMovesInstantsNotValues) {
  const std::string rule = kRule + "tolerance = 1\n";
  EXPECT_PASSED(one(n({0, 1, 1, 1, 2, 2, 3, 3}), n({0, 1, 1, 2, 2, 3, 3, 3}), rule));
  EXPECT_PASSED(one(n({0, 1, 1, 2, 2, 3, 3, 3}), n({0, 1, 1, 1, 2, 2, 3, 3}), rule));
  expect_failed(one(n({0, 1, 1, 1, 1, 2, 2, 2}), n({0, 1, 1, 2, 2, 2, 2, 2}), rule), 4, "expected 2 from cycle 3 on");
  expect_failed(one(n({0, 1, 1, 4, 2, 2, 2, 2}), n({0, 1, 1, 2, 2, 2, 2, 2}), rule), 3, "became 4, expected 2");
  expect_failed(one(n({0, 1, 1, 2, 1, 1, 1, 1}), n({0, 1, 1, 1, 1, 1, 1, 1}), rule), 3, "became 2, expected 1");
  expect_failed(one(n({0, 1, 1, 1, 1, 1, 1, 1}), n({0, 1, 1, 2, 1, 1, 1, 1}), rule), 4, "stays 1, expected 2");
}

// Another tick, another clock period: cycles are compared, not times.
TEST(WaveGoldenTest, TicksMayDiffer) {
  const auto wave = n({0, 1, 2, 2, 7}), golden = n({0, 1, 2, 2, 8});
  const Report r = check(wave.vcd(), replaced(golden.vcd(), "1ns", "10ps"), kRule);
  expect_failed(r.verdicts.at(0), 4, "expected 8 (golden: cycle 4, 0.450 ns)");
}

// An FST, golden for a VCD: cycles of 10 ticks of 1 ps, sampled in their middle.
TEST(WaveGoldenTest, FormatsMayDiffer) {
  const TempFile fst("g.fst", "");
  const auto write = [&](const std::vector<int>& values) {
    void* w = fstWriterCreate(fst.path().c_str(), 1);
    fstWriterSetTimescale(w, -12);
    fstWriterSetScope(w, FST_ST_VCD_MODULE, "top", nullptr);
    const auto var = [&](const char* name, unsigned width) {
      return fstWriterCreateVar(w, FST_VT_VCD_WIRE, FST_VD_IMPLICIT, width, name, 0);
    };
    const auto clk = var("clk", 1), rst = var("rst", 1), n = var("n [7:0]", 8);
    fstWriterSetUpscope(w);
    for (size_t t = 0; t < values.size(); ++t) {
      fstWriterEmitTimeChange(w, 10 * t);
      fstWriterEmitValueChange(w, clk, "0");
      fstWriterEmitValueChange(w, rst, t == 0 ? "1" : "0");
      std::string bits;
      for (int i = 8; i-- > 0;) bits += values[t] >> i & 1 ? '1' : '0';
      fstWriterEmitValueChange(w, n, bits.c_str());
      fstWriterEmitTimeChange(w, 10 * t + 5);
      fstWriterEmitValueChange(w, clk, "1");
    }
    fstWriterClose(w);
  };
  const TempFile here("w.vcd", n({0, 1, 2, 2, 7}).vcd());
  const TempFile rules("rules.toml", std::string(kDefaults) + "[[rule]]\nkind = \"golden\"\n" + kRule);
  wave::CheckOptions options;
  options.golden = fst.path();
  write({0, 1, 2, 2, 7});
  EXPECT_PASSED(wave::check({rules.path()}, *wave::Reader::open(here.path()), options).verdicts.at(0));
  write({0, 1, 2, 2, 8});
  expect_failed(wave::check({rules.path()}, *wave::Reader::open(here.path()), options).verdicts.at(0), 4,
                "became 7, expected 8 (golden: cycle 4, 0.045 ns)");
}

// A golden file that is longer or shorter in what matters is a difference.
TEST(WaveGoldenTest, LengthsMatter) {
  expect_failed(one(n({0, 1, 2, 2}), n({0, 1, 2, 2, 3}), kRule), 3, "n ends as 2", 1);
  expect_failed(one(n({0, 1, 2, 2, 3}), n({0, 1, 2, 2}), kRule), 4, "n became 3, expected 2");
  EXPECT_PASSED(one(n({0, 1, 2, 2}), n({0, 1, 2, 2, 2, 2}), kRule));
  EXPECT_PASSED(one(n({0, 1, 2, 2}), n({0, 1, 2, 2, 3}), kRule + "to_ns = 39\n"));
}

// What the tolerance allows may lie behind the end of the wave; what may still come there is incomplete.
TEST(WaveGoldenTest, ToleranceAtTheEnd) {
  const std::string rule = kRule + "tolerance = 1\n";
  EXPECT_PASSED(one(n({0, 1, 2}), n({0, 1, 1, 2}), rule));
  expect_failed(one(n({0, 1, 2}), n({0, 1, 1, 1, 2}), rule), 2, "n became 2, expected 1");
  const auto v = one(n({0, 1, 2}), n({0, 1, 1}), rule);
  EXPECT_EQ(v.status, Status::kIncomplete);
  EXPECT_THAT(v.detail, HasSubstr("n became 2 at cycle 2: its counterpart may lie behind the end"));
}

// What happens in reset does not count.
TEST(WaveGoldenTest, ResetIsLeftOut) {
  EXPECT_PASSED(one(n({5, 1, 2}), n({6, 1, 2}), kRule));
  expect_failed(one(n({5, 1, 2}), n({6, 3, 2}), kRule), 1, "n is 1, expected 3");
  // A second reset, which the golden file has or has not.
  const auto wave = [](const std::vector<uint64_t>& values) {
    return SmallWave().bit("r", "1001100").number("n", 8, values);
  };
  for (const char* golden_reset : {"", "golden_reset = \"none\"\n"}) {
    const std::string rule = kRule + "reset = \"r\"\n" + golden_reset;
    EXPECT_PASSED(one(wave({0, 1, 2, 9, 8, 3, 4}), wave({0, 1, 2, 5, 6, 3, 4}), rule));
    expect_failed(one(wave({0, 1, 2, 9, 8, 3, 7}), wave({0, 1, 2, 5, 6, 3, 4}), rule), 6, "n became 7, expected 4");
    expect_failed(one(wave({0, 1, 2, 2, 2, 2, 2}), wave({0, 1, 2, 5, 5, 5, 5}), rule), 5, "n is 2, expected 5");
  }
}

// One verdict for all signals of a list, stars included; the earliest failure comes first.
TEST(WaveGoldenTest, ListsAndGlobsAreOneVerdict) {
  const auto wave = [](uint64_t late, const char* early) {
    return SmallWave().number("a.x", 8, {0, 1, 2, 3, late}).bit("b.x", early).bit("c.y", "01010");
  };
  const auto v = one(wave(4, "00110"), wave(5, "00010"), "signals = [\"*.x\", \"c.y && b.x\"]\n");
  expect_failed(v, 2, "b.x became 1, expected 0", 2);
  EXPECT_THAT(v.measured, testing::Contains(std::make_pair(std::string("signals_that_differ"), std::string("2"))));
  EXPECT_THAT(v.measured, testing::Contains(std::make_pair(std::string("signals"), std::string("3"))));
}

// Names there: another prefix, single names, another clock.
TEST(WaveGoldenTest, NamesMayDiffer) {
  const auto here = SmallWave().number("u.n", 8, {0, 1, 2, 3}).bit("v", "0101");
  const auto there = SmallWave().number("core.n", 8, {0, 1, 2, 4}).bit("w", "0101");
  const std::string golden = replaced(there.vcd(), "clk", "clock");
  const std::string rule =
      "signals = [\"u.n\", \"v\"]\ngolden_map = { \"top.u\" = \"top.core\", \"top.v\" = \"top.w\" }\ngolden_clock = "
      "\"top.clock\"\n";
  expect_failed(check(here.vcd(), golden, rule).verdicts.at(0), 3, "u.n became 3, expected 4");
  const std::string tb = replaced(n({0, 1, 2, 4}).vcd(), "module top", "module tb");
  expect_failed(check(n({0, 1, 2, 3}).vcd(), tb, kRule + "golden_prefix = \"tb\"\n").verdicts.at(0), 3,
                "n became 3, expected 4");
}

// The n-th transaction here equals the n-th there, whenever they come.
TEST(WaveGoldenTest, Transactions) {
  const auto wave = [](const char* valid, const std::vector<uint64_t>& data, unsigned wait = 0) {
    SmallWave w;
    w.bit("v", valid).bit("r", "1").number("d", 8, data);
    (void)wait;
    return w;
  };
  const std::string rule = "by = \"transaction\"\nevent = \"v && r\"\nsignals = [\"d\"]\n";
  const auto golden = wave("01110000", {0, 5, 6, 7});
  EXPECT_PASSED(one(wave("00101010", {9, 9, 5, 9, 6, 9, 7}), golden, rule));
  expect_failed(one(wave("00101010", {9, 9, 5, 9, 8, 9, 7}), golden, rule), 4,
                "transaction 1: d is 8, expected 6 (golden: cycle 2, 25.000 ns)");
  expect_failed(one(wave("00101000", {9, 9, 5, 9, 6}), golden, rule), 7,
                "2 transactions up to the end of the wave, expected 3: transaction 2 is the first that is missing "
                "(golden: cycle 3");
  expect_failed(one(wave("00101011", {9, 9, 5, 9, 6, 9, 7}), golden, rule), 7,
                "transaction 3: the golden file has only 3");
  EXPECT_PASSED(one(wave("00111000", {9, 9, 5, 6, 7}), golden, rule + "tolerance = 1\n"));
  expect_failed(one(wave("00101010", {9, 9, 5, 9, 6, 9, 7}), golden, rule + "tolerance = 1\n"), 4,
                "transaction 1 comes 2 cycles late, allowed 1", 2);
  EXPECT_EQ(one(wave("0000", {0}), wave("0000", {0}), rule).status, Status::kVacuous);
}

// Rules that are far apart in the golden file are both compared to the end.
TEST(WaveGoldenTest, TransactionsFarApart) {
  constexpr size_t kMany = 10'000;
  const auto wave = [](bool a_first, uint64_t wrong) {
    std::string a, b;
    std::vector<uint64_t> data;
    for (size_t i = 0; i < 2 * kMany + 1; ++i) {
      const bool first = i != 0 && i <= kMany;
      a += i != 0 && first == a_first ? '1' : '0';
      b += i != 0 && first != a_first ? '1' : '0';
      data.push_back(i % kMany == wrong ? 255 : i % kMany % 200);
    }
    return SmallWave().bit("a", a).bit("b", b).number("d", 8, data);
  };
  const std::string rules =
      "by = \"transaction\"\nevent = \"a\"\nsignals = [\"d\"]\n[[rule]]\nkind = \"golden\"\nby = "
      "\"transaction\"\nevent = "
      "\"b\"\nsignals = [\"d\"]\n";
  const Report same = check(wave(true, 9'000).vcd(), wave(false, 9'000).vcd(), rules);
  EXPECT_PASSED(same.verdicts.at(0));
  EXPECT_PASSED(same.verdicts.at(1));
  EXPECT_EQ(same.verdicts[1].triggers, kMany);
  const Report other = check(wave(true, 9'000).vcd(), wave(false, 9'001).vcd(), rules);
  EXPECT_EQ(other.verdicts.at(0).count, 2u);
  EXPECT_THAT(other.verdicts.at(1).first.at(0).what, HasSubstr("transaction 8999: d is ff, expected "));
}

TEST(WaveGoldenTest, ErrorsSayWhereAndWhatIsNear) {
  const std::string a = n({0, 1, 2}).vcd(), b = SmallWave().number("nn", 8, {0, 1}).vcd();
  EXPECT_THAT(error_of(a, b, kRule),
              HasSubstr("rules.toml:8:13: key 'signals': there is no signal 'top.n' in the golden file"));
  EXPECT_THAT(error_of(a, b, kRule), HasSubstr("nearest: top.nn"));
  EXPECT_THAT(error_of(a, replaced(a, "clk", "ck"), kRule),
              HasSubstr("there is no signal 'top.clk' in the golden file"));
  EXPECT_THAT(error_of(a, SmallWave().number("n", 9, {0}).vcd(), kRule),
              HasSubstr("has 8 bits here and 9 in the golden"));
  EXPECT_THAT(error_of(a, a.substr(0, a.size() - 1) + "1", kRule), HasSubstr("cut off"));
  EXPECT_THAT(error_of(a, a, kRule + "event = \"n\"\n"), HasSubstr("rules.toml:9:10: key 'event': goes with"));
  EXPECT_THAT(error_of(a, a, kRule + "by = \"transaction\"\n"), HasSubstr("key 'event': is missing"));
  EXPECT_THAT(error_of(a, a, kRule + "golden = \"nowhere.vcd\"\n"), HasSubstr("nowhere.vcd: cannot be opened"));
  EXPECT_THAT(error_of(a, a, "signals = [\"z*\"]\n"),
              HasSubstr("rules.toml:8:13: key 'signals': nothing matches 'z*'"));
  EXPECT_THAT(error_of(a, a, "signals = \"n\"\n"), HasSubstr("must be a list of expressions"));
}

}  // namespace
}  // namespace rnic::test
