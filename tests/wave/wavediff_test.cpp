// SPDX-License-Identifier: Apache-2.0
// Two small waves laid beside each other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "rnic/core/error.h"
#include "rnic/wave/diff.h"
#include "wave/vcd.h"

namespace rnic::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
using wave::DiffBy;
using wave::DiffOptions;
using wave::DiffReport;

DiffReport diff(const std::string& a, const std::string& b, const DiffOptions& o = {}) {
  const TempFile fa("a.vcd", a), fb("b.vcd", b);
  const auto ra = wave::Reader::open(fa.path()), rb = wave::Reader::open(fb.path());
  return wave::diff(*ra, *rb, o);
}
DiffReport diff(const SmallWave& a, const SmallWave& b, const DiffOptions& o = {}) { return diff(a.vcd(), b.vcd(), o); }

DiffOptions by_cycle(uint64_t tolerance = 0) {
  DiffOptions o;
  o.by = DiffBy::kCycle;
  o.clock = "top.clk";
  o.tolerance = tolerance;
  return o;
}
std::string error_of(const std::string& a, const std::string& b, const DiffOptions& o) {
  try {
    diff(a, b, o);
  } catch (const InputError& e) {
    return e.what();
  }
  return "no error";
}
std::vector<std::string> names(const DiffReport& r) {
  std::vector<std::string> out;
  for (const auto& d : r.differences) out.push_back(d.name);
  return out;
}
std::string replaced(std::string s, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = s.find(from, at)) != std::string::npos; at += to.size()) s.replace(at, from.size(), to);
  return s;
}

SmallWave n(const std::vector<uint64_t>& values) { return SmallWave().number("n", 8, values); }

TEST(WaveDiffTest, SameFileIsTheSame) {
  const auto r = diff(n({1, 2, 3}), n({1, 2, 3}));
  EXPECT_TRUE(r.same());
  EXPECT_EQ(r.compared, 3u);  // with clk and rst
}

// Equal values in another file, written in another order and with values repeated, are no difference.
TEST(WaveDiffTest, RepeatedValuesAreTheSame) {
  const std::string a = n({1, 2, 2, 3}).vcd();
  EXPECT_TRUE(diff(a, replaced(a, "#20\n0!\n", "#20\nb00000010 a\n0!\n")).same());
}

// The signal that moved first is in the first line, with both values, time, and how far it moved.
TEST(WaveDiffTest, FirstDifferenceComesFirst) {
  const auto a = SmallWave().number("late", 8, {0, 0, 0, 0, 7, 7}).number("u.early", 8, {0, 0, 5, 5, 5, 5});
  const auto b = SmallWave().number("late", 8, {0, 0, 0, 0, 0, 7}).number("u.early", 8, {0, 0, 0, 5, 5, 5});
  const auto r = diff(a, b);
  EXPECT_THAT(names(r), ElementsAre("top.u.early", "top.late"));
  EXPECT_EQ(r.differences[0].time_fs, 20'000'000u);
  EXPECT_EQ(r.differences[0].a, "5");
  EXPECT_EQ(r.differences[0].b, "0");
  EXPECT_FALSE(r.differences[0].in_b);
  EXPECT_EQ(r.differences[0].shift, 10'000'000);
  EXPECT_THAT(text_of(r, {}, 20), StartsWith("top.u.early  20.000 ns  A 5  B 0  B 10.000 ns later\n"));
  EXPECT_EQ(diff(b, a).differences[0].shift, -10'000'000);
  EXPECT_TRUE(diff(b, a).differences[0].in_b);
}

// At one instant: what lies deeper comes first, registers before the rest, counters and clocks last.
TEST(WaveDiffTest, DeepestFirstCountersAndClocksLast) {
  const auto wave = [](uint64_t v, uint64_t counter, const char* clock) {
    return SmallWave()
        .number("count", 8, {3, 3, counter})
        .bit("gated_clk", clock)
        .number("shallow", 8, {0, 0, v})
        .number("u.core.x_i", 8, {0, 0, v})
        .number("u.core.x_q", 8, {0, 0, v})
        .number("u.y", 8, {0, 0, v});
  };
  const auto r = diff(wave(0, 3, "000"), wave(9, 4, "001"));
  EXPECT_THAT(names(r),
              ElementsAre("top.u.core.x_q", "top.u.core.x_i", "top.u.y", "top.shallow", "top.count", "top.gated_clk"));
}

// By cycle, values are those before the edges; another clock period is no difference then, and the clock no signal.
TEST(WaveDiffTest, ByCycle) {
  const std::string a = n({0, 1, 2, 2, 7}).vcd();
  EXPECT_TRUE(diff(a, replaced(a, "1ns", "10ns"), by_cycle()).same());
  EXPECT_FALSE(diff(a, replaced(a, "1ns", "10ns")).same());
  const auto r = diff(a, n({0, 1, 1, 2, 7}).vcd(), by_cycle());
  ASSERT_THAT(names(r), ElementsAre("top.n"));
  EXPECT_EQ(r.differences[0].cycle, 2);
  EXPECT_EQ(r.differences[0].shift, 1);
  EXPECT_EQ(r.differences[0].time_fs, 25'000'000u);
}

// Cycles have the numbers that a signal gives them: two waves that begin at different cycles; what one alone covers at
// the beginning is not compared.
TEST(WaveDiffTest, CycleNumbersFromASignal) {
  DiffOptions o = by_cycle();
  o.cycle = "top.c";
  const auto wave = [](uint64_t from, const std::vector<uint64_t>& values) {
    std::vector<uint64_t> c;
    for (uint64_t i = 0; i < values.size(); ++i) c.push_back(from + i);
    return SmallWave().number("c", 16, c).number("n", 8, values);
  };
  const auto r = diff(wave(10, {0, 0, 1, 1, 2}), wave(11, {0, 1, 1, 3, 3}), o);
  ASSERT_GE(r.differences.size(), 1u);
  const auto found =
      std::find_if(r.differences.begin(), r.differences.end(), [](const auto& d) { return d.name == "top.n"; });
  ASSERT_NE(found, r.differences.end());
  EXPECT_EQ(found->cycle, 14);
  EXPECT_EQ(found->a + found->b, "23");
  EXPECT_THAT(error_of(wave(10, {0, 0}).vcd(), SmallWave().number("c", 16, {5, 4, 3}).number("n", 8, {0, 0}).vcd(), o),
              HasSubstr("'top.c' falls from 5 to 4"));
}

// By event, the n-th beats are compared, whenever they come; the counts must agree.
TEST(WaveDiffTest, ByEvent) {
  DiffOptions o = by_cycle();
  o.by = DiffBy::kEvent;
  o.event = "top.v && top.r";
  o.only = {"d"};
  const auto wave = [](const char* v, const std::vector<uint64_t>& d) {
    return SmallWave().bit("v", v).bit("r", "1").number("d", 8, d);
  };
  const auto a = wave("01110000", {0, 5, 6, 7});
  EXPECT_TRUE(diff(a, wave("00101010", {9, 9, 5, 9, 6, 9, 7}), o).same());
  const auto r = diff(a, wave("00101010", {9, 9, 5, 9, 8, 9, 7}), o);
  ASSERT_THAT(names(r), ElementsAre("top.d"));
  EXPECT_EQ(r.differences[0].event, 1u);
  EXPECT_EQ(r.differences[0].cycle, 2);
  EXPECT_EQ(diff(a, wave("00111010", {9, 9, 5, 6, 7, 7, 7}), o).length, "A has 3 events, B has 4");
}

// Without a clock, an event is each time that the expression becomes true, with the values of that instant.
TEST(WaveDiffTest, ByEventWithoutClock) {
  DiffOptions o;
  o.by = DiffBy::kEvent;
  o.event = "top.v";
  o.only = {"d"};
  const auto wave = [](const char* v, const std::vector<uint64_t>& d) {
    return SmallWave().bit("v", v).number("d", 8, d);
  };
  const auto a = wave("01101010", {0, 5, 9, 9, 6, 9, 7, 9});
  EXPECT_TRUE(diff(a, wave("00101101", {9, 9, 5, 9, 6, 8, 9, 7}), o).same());
  const auto r = diff(a, wave("00101101", {9, 9, 5, 9, 6, 8, 9, 4}), o);
  ASSERT_THAT(names(r), ElementsAre("top.d"));
  EXPECT_EQ(r.differences[0].event, 2u);
  EXPECT_EQ(r.differences[0].a + r.differences[0].b, "74");
  EXPECT_FALSE(r.differences[0].cycle);
}

// Tolerance moves when a value comes, and never which value.
TEST(WaveDiffTest, Tolerance) {
  const auto a = n({0, 1, 1, 2, 2, 3, 3, 3});
  EXPECT_TRUE(diff(a, n({0, 1, 1, 1, 2, 2, 3, 3}), by_cycle(1)).same());
  EXPECT_TRUE(diff(n({0, 1, 1, 1, 2, 2, 3, 3}), a, by_cycle(1)).same());
  const auto late = diff(a, n({0, 1, 1, 1, 1, 2, 3, 3}), by_cycle(1));
  ASSERT_THAT(names(late), ElementsAre("top.n"));
  EXPECT_EQ(late.differences[0].cycle, 3);
  EXPECT_EQ(late.differences[0].a + late.differences[0].b, "21");
  EXPECT_EQ(late.differences[0].shift, 2);
  const auto wrong = diff(a, n({0, 1, 1, 4, 2, 3, 3, 3}), by_cycle(1));
  ASSERT_THAT(names(wrong), ElementsAre("top.n"));
  EXPECT_EQ(wrong.differences[0].a + wrong.differences[0].b, "24");
  EXPECT_FALSE(diff(n({0, 1, 1, 3, 3, 3, 3}), n({0, 1, 1, 3, 4, 3, 3}), by_cycle(2)).same());
  DiffOptions time;
  time.ignore = {"clk"};
  time.tolerance = 10'000'000;
  EXPECT_TRUE(diff(a, n({0, 1, 1, 1, 2, 2, 3, 3}), time).same());
  time.tolerance = 9'000'000;
  EXPECT_FALSE(diff(a, n({0, 1, 1, 1, 2, 2, 3, 3}), time).same());
}

// Behind the end of one file, what the tolerance allows may still come: that is no difference.
TEST(WaveDiffTest, ToleranceAtTheEnd) {
  EXPECT_TRUE(diff(n({0, 1, 2}), n({0, 1, 1}), by_cycle(1)).same());
  EXPECT_TRUE(diff(n({0, 1, 2}), n({0, 1, 1, 2}), by_cycle(1)).same());
  EXPECT_THAT(names(diff(n({0, 2, 2, 2}), n({0, 1, 1, 2}), by_cycle(1))), ElementsAre("top.n"));
  EXPECT_THAT(names(diff(n({0, 1, 2, 2}), n({0, 1, 1, 1}), by_cycle(1))), ElementsAre("top.n"));
  DiffOptions o = by_cycle(2);
  EXPECT_FALSE(diff(n({0, 1, 1, 2, 3, 4, 5, 6, 7}), n({0, 1, 1}), o).same());
  o.common = true;
  EXPECT_TRUE(diff(n({0, 1, 1, 2, 3, 4, 5, 6, 7}), n({0, 1, 1}), o).same());
  EXPECT_TRUE(diff(n({0, 1, 1}), n({0, 1, 1, 2, 3, 4, 5, 6, 7}), o).same());
}

// Ticks of different length: instants are compared, not numbers.
TEST(WaveDiffTest, TicksMayDiffer) {
  const std::string a = n({0, 1, 2}).vcd();
  std::string b;  // the same in units of 100 ps
  for (size_t at = 0; at < a.size();) {
    const size_t end = a.find('\n', at) + 1;
    const std::string line = a.substr(at, end - at);
    b += line[0] == '#' && line != "#0\n" ? line.substr(0, line.size() - 1) + "0\n" : line;
    at = end;
  }
  EXPECT_TRUE(diff(a, replaced(b, "1ns", "100ps")).same());
}

// What is in one file only is listed, and is a difference, unless only common things count.
TEST(WaveDiffTest, OnlyInOneFile) {
  const auto a = SmallWave().bit("x", "0101").bit("old", "0101").number("w", 4, {0}),
             b = SmallWave().bit("x", "0101").bit("new", "0101").number("w", 5, {0});
  DiffOptions o;
  const auto r = diff(a, b, o);
  EXPECT_FALSE(r.same());
  EXPECT_THAT(r.only_a, ElementsAre("top.old"));
  EXPECT_THAT(r.only_b, ElementsAre("top.new"));
  EXPECT_THAT(r.widths, ElementsAre("top.w: 4 bits in A, 5 in B"));
  o.common = true;
  EXPECT_TRUE(diff(a, b, o).same());
  o.only = {"old"};
  EXPECT_THAT(error_of(a.vcd(), b.vcd(), o), HasSubstr("there is no signal to compare"));
}

// One that goes on longer differs.
TEST(WaveDiffTest, Length) {
  DiffOptions o;
  const auto r = diff(n({0, 1, 2}), n({0, 1, 2, 3}), o);
  EXPECT_THAT(names(r), ElementsAre());
  EXPECT_THAT(r.length, HasSubstr("B goes on after the end of A (25.000 ns)"));
  EXPECT_FALSE(r.same());
  o.common = true;
  EXPECT_TRUE(diff(n({0, 1, 2}), n({0, 1, 2, 3}), o).same());
}

TEST(WaveDiffTest, OnlyAndIgnore) {
  const auto a = SmallWave().number("u.x", 4, {0, 1}).number("u.y", 4, {0, 1}).number("v.x", 4, {0, 1}),
             b = SmallWave().number("u.x", 4, {0, 2}).number("u.y", 4, {0, 2}).number("v.x", 4, {0, 2});
  const auto with = [&](std::vector<std::string> only, std::vector<std::string> ignore) {
    DiffOptions o;
    o.only = std::move(only);
    o.ignore = std::move(ignore);
    return names(diff(a, b, o));
  };
  EXPECT_THAT(with({}, {}), ElementsAre("top.u.x", "top.u.y", "top.v.x"));
  EXPECT_THAT(with({"top.u"}, {}), ElementsAre("top.u.x", "top.u.y"));
  EXPECT_THAT(with({"x"}, {}), ElementsAre("top.u.x", "top.v.x"));
  EXPECT_THAT(with({"top.*.x"}, {"v"}), ElementsAre("top.u.x"));
  EXPECT_THAT(with({}, {"**.x"}), ElementsAre("top.u.y"));
  DiffOptions none;
  none.only = {"top.w*"};
  EXPECT_THAT(error_of(a.vcd(), b.vcd(), none), HasSubstr("nothing matches 'top.w*'; nearest: top."));
}

// The same block under different scopes.
TEST(WaveDiffTest, Strip) {
  DiffOptions o = by_cycle();
  o.strip_a = "top.u";
  o.strip_b = "tb.dut";
  const auto a = SmallWave().number("u.x", 4, {0, 1, 2}), b = SmallWave().number("dut.x", 4, {0, 1, 3});
  const std::string there = replaced(b.vcd(), "module top", "module tb");
  o.clock = "x";
  EXPECT_THAT(error_of(a.vcd(), there, o), HasSubstr("'top.u.x' has 4 bits; a clock has one"));
  o.by = DiffBy::kTime;
  o.clock.clear();
  EXPECT_THAT(names(diff(a.vcd(), there, o)), ElementsAre("x"));
  o.strip_a = "top.uu";
  EXPECT_THAT(error_of(a.vcd(), there, o), HasSubstr("there is no scope 'top.uu' to strip; nearest: top.u"));
}

// Aliases are one signal: reported once, under the deepest name, with the others.
TEST(WaveDiffTest, AliasesAreReportedOnce) {
  const auto with_alias = [](const SmallWave& w) {
    return replaced(
        w.vcd(), "$upscope $end\n$enddefinitions",
        "$scope module u $end\n$var wire 8 a inner [7:0] $end\n$upscope $end\n$upscope $end\n$enddefinitions");
  };
  const auto r = diff(with_alias(n({0, 1})), with_alias(n({0, 2})));
  ASSERT_EQ(r.differences.size(), 1u);
  EXPECT_EQ(r.differences[0].name, "top.u.inner");
  EXPECT_THAT(r.differences[0].aliases, ElementsAre("top.n"));
}

TEST(WaveDiffTest, Errors) {
  const std::string a = n({0, 1}).vcd(), b = n({0, 2}).vcd();
  DiffOptions o = by_cycle();
  o.clock = "top.ck";
  EXPECT_THAT(error_of(a, b, o), HasSubstr("there is no signal 'top.ck'; nearest: top.clk"));
  o.clock = "top.rst";
  EXPECT_THAT(error_of(a, b, o), HasSubstr("'top.rst' has no edge to sample at"));
  o.clock = "";
  EXPECT_THAT(error_of(a, b, o), HasSubstr("--clock"));
  o = by_cycle();
  o.by = DiffBy::kEvent;
  o.event = "top.n && )";
  EXPECT_THAT(error_of(a, b, o), HasSubstr("')' was not expected"));
  EXPECT_THAT(error_of(a, b.substr(0, b.size() - 1) + "1", {}), HasSubstr("cut off"));
}

// What is different from the beginning: at once, or when the tolerance is over.
TEST(WaveDiffTest, DifferentFromTheBeginning) {
  EXPECT_EQ(diff(n({5, 5, 5, 7}), n({6, 6, 6, 7})).differences.at(0).time_fs, 0u);
  EXPECT_FALSE(diff(n({5, 5, 5, 7}), n({6, 6, 6, 7}), by_cycle(1)).same());
  EXPECT_TRUE(diff(n({5, 6, 6, 7}), n({6, 6, 6, 7}), by_cycle(1)).same());
  EXPECT_TRUE(diff(n({6, 6, 6, 7}), n({5, 6, 6, 7}), by_cycle(1)).same());
}

// Many changes of one side alone, then of the other: nothing waits for ever, in either order.
TEST(WaveDiffTest, LongWavesWithOneSideSilent) {
  std::vector<uint64_t> busy, quiet;
  for (uint64_t i = 0; i < 50'000; ++i) {
    busy.push_back(i % 250 + 1);
    quiet.push_back(1);
  }
  EXPECT_EQ(diff(n(busy), n(quiet)).differences.size(), 1u);
  EXPECT_EQ(diff(n(quiet), n(busy)).differences.size(), 1u);
  EXPECT_TRUE(diff(n(busy).vcd(), n(busy).vcd() + "\n", by_cycle(3)).same());
}

TEST(WaveDiffTest, Reports) {
  const auto r = diff(n({0, 1}), n({0, 2}), by_cycle());
  const auto j = nlohmann::json::parse(json_of(r));
  EXPECT_EQ(j["same"], false);
  EXPECT_EQ(j["differences"][0]["signal"], "top.n");
  EXPECT_EQ(j["differences"][0]["cycle"], 1);
  EXPECT_THAT(junit_of(r, {"again", "", ""}, 20), HasSubstr("tests=\"3\" failures=\"1\""));
  EXPECT_THAT(junit_of(r, {"again", "", ""}, 20), HasSubstr("first top.n at 15.000 ns, cycle 1: A 1, B 2"));
  EXPECT_THAT(html_of(r, {}, 20), HasSubstr("<code>top.n</code>"));
}

}  // namespace
}  // namespace rnic::test
