// SPDX-License-Identifier: Apache-2.0
// Each kind of rule on a small wave made for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>

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

Report check(const SmallWave& w, const std::string& rules, const std::string& defaults = kDefaults) {
  const TempFile wave("w.vcd", w.vcd()), file("rules.toml", defaults + "[[rule]]\n" + rules);  // the rule is in line 6
  const auto reader = wave::Reader::open(wave.path());
  return wave::check({file.path()}, *reader);
}

/// The only verdict.
wave::Verdict one(const SmallWave& w, const std::string& rules) {
  const Report r = check(w, rules);
  EXPECT_EQ(r.verdicts.size(), 1u);
  return r.verdicts.at(0);
}

std::string error_of(const SmallWave& w, const std::string& rules, const std::string& defaults = kDefaults) {
  try {
    check(w, rules, defaults);
  } catch (const InputError& e) {
    return e.what();
  }
  return "no error";
}

#define EXPECT_PASSED(v) \
  EXPECT_EQ((v).status, Status::kPassed) << (v).detail << ((v).first.empty() ? "" : (v).first[0].what)
void expect_failed(const wave::Verdict& v, int64_t cycle, const std::string& what, uint64_t count = 1) {
  ASSERT_EQ(v.status, Status::kFailed) << v.detail;
  EXPECT_EQ(v.first[0].cycle, cycle);
  EXPECT_THAT(v.first[0].what, HasSubstr(what));
  EXPECT_EQ(v.count, count);
}

// A failure names its first cycle and time, is counted, and brings the values round it.
TEST(WaveRulesTest, NeverFailsWithTableAndCount) {
  const auto v = one(SmallWave().bit("a", "0001110000"), "kind = \"never\"\nname = \"n\"\nexpr = \"a\"");
  expect_failed(v, 3, "a = 1", 3);
  EXPECT_EQ(v.first[0].time, 35u);
  EXPECT_EQ(v.line, 6u);
  ASSERT_EQ(v.around.cycles.size(), 7u);
  EXPECT_EQ(v.around.cycles[v.around.marked], 3);
  EXPECT_EQ(v.around.rows[0].name, "top.a");
  EXPECT_EQ(v.around.rows[0].values, (std::vector<std::string>{"0", "0", "0", "1", "1", "1", "0"}));
}

// What happens in reset does not count, nor what does not happen.
TEST(WaveRulesTest, NeverPasses) {
  EXPECT_PASSED(one(SmallWave().bit("a", "1000"), "kind = \"never\"\nexpr = \"a\""));
  EXPECT_PASSED(one(SmallWave().bit("a", "10x0"), "kind = \"never\"\nexpr = \"a\""));
}

// A condition that never came true makes the rule vacuous, unless that is allowed.
TEST(WaveRulesTest, VacuousIsAnErrorUnlessAllowed) {
  const SmallWave w = SmallWave().bit("a", "0000").bit("c", "0000");
  const Report r = check(w, "kind = \"always\"\nexpr = \"a\"\nwhen = \"c\"");
  EXPECT_EQ(r.verdicts[0].status, Status::kVacuous);
  EXPECT_FALSE(r.good());
  EXPECT_TRUE(check(w, "kind = \"always\"\nexpr = \"a\"\nwhen = \"c\"\nvacuous = \"ok\"").good());
}

// An unknown value is not true.
TEST(WaveRulesTest, AlwaysTakesUnknownForAFailure) {
  EXPECT_PASSED(one(SmallWave().bit("a", "0111"), "kind = \"always\"\nexpr = \"a\""));
  expect_failed(one(SmallWave().bit("a", "011x11"), "kind = \"always\"\nexpr = \"a\""), 3, "a = x");
}

TEST(WaveRulesTest, Onehot) {
  const std::string rule = "kind = \"onehot\"\nexpr = \"g\"";
  EXPECT_PASSED(one(SmallWave().number("g", 4, {0, 1, 8, 4}), rule));
  expect_failed(one(SmallWave().number("g", 4, {0, 1, 0, 4}), rule), 2, "g = 0");
  EXPECT_PASSED(one(SmallWave().number("g", 4, {0, 1, 0, 4}), rule + "\nallow_zero = true"));
  expect_failed(one(SmallWave().number("g", 4, {0, 1, 3, 4}), rule + "\nallow_zero = true"), 2, "g = 3");
}

// On a dump without any x or z the rule could never fire: that is no pass.
TEST(WaveRulesTest, NoXNeedsAFourStateDump) {
  const std::string rule = "kind = \"no_x\"\nexpr = \"a\"";
  EXPECT_PASSED(one(SmallWave().bit("a", "x101"), rule));
  expect_failed(one(SmallWave().bit("a", "11z1"), rule), 2, "a = z");
  const auto v = one(SmallWave().bit("a", "1101"), rule + "\nvacuous = \"ok\"");
  EXPECT_EQ(v.status, Status::kVacuous);
  EXPECT_THAT(v.detail, HasSubstr("two-state"));
  EXPECT_PASSED(one(SmallWave().bit("a", "1101").bit("unused", "x000"), rule));
}

TEST(WaveRulesTest, Range) {
  const std::string rule = "kind = \"range\"\nexpr = \"n\"\nmin = 2\nmax = 5";
  EXPECT_PASSED(one(SmallWave().number("n", 8, {0, 2, 5, 3}), rule));
  expect_failed(one(SmallWave().number("n", 8, {0, 2, 6, 1, 3}), rule), 2, "n = 6", 2);
}

TEST(WaveRulesTest, Stable) {
  const std::string rule = "kind = \"stable\"\nexpr = \"n\"\nwhen = \"hold\"";
  EXPECT_PASSED(one(SmallWave().number("n", 8, {1, 2, 2, 3}).bit("hold", "0110"), rule));
  expect_failed(one(SmallWave().number("n", 8, {1, 2, 3, 3}).bit("hold", "0110"), rule), 2, "from 2 to 3");
}

TEST(WaveRulesTest, ChangeOnlyWhen) {
  const std::string rule = "kind = \"change_only_when\"\nexpr = \"n\"\nwhen = \"en\"";
  EXPECT_PASSED(one(SmallWave().number("n", 8, {1, 1, 2, 2}).bit("en", "0100"), rule));
  expect_failed(one(SmallWave().number("n", 8, {1, 1, 2, 3}).bit("en", "0100"), rule), 3, "from 2 to 3");
}

TEST(WaveRulesTest, Monotonic) {
  const std::string rule = "kind = \"monotonic\"\nexpr = \"n\"";
  EXPECT_PASSED(one(SmallWave().number("n", 4, {9, 1, 1, 3}), rule));
  expect_failed(one(SmallWave().number("n", 4, {0, 15, 0, 3}), rule), 2, "from f to 0");
  EXPECT_PASSED(one(SmallWave().number("n", 4, {0, 15, 0, 3}), rule + "\nwrap = true"));
  expect_failed(one(SmallWave().number("n", 4, {0, 1, 1, 3}), rule + "\nstrict = true"), 2, "from 1 to 1");
}

// The value is the count of the events before; one wrong count is one failure.
TEST(WaveRulesTest, Counter) {
  const std::string rule = "kind = \"counter\"\nexpr = \"n\"\nevent = \"e\"\nstart = 0";
  EXPECT_PASSED(one(SmallWave().number("n", 2, {0, 0, 1, 2, 2, 3, 0}).bit("e", "0110110"), rule));
  expect_failed(one(SmallWave().number("n", 2, {0, 0, 1, 1, 1, 2, 3}).bit("e", "0110110"), rule), 3, "expected 2");
}

TEST(WaveRulesTest, Handshake) {
  const std::string rule = "kind = \"handshake\"\nvalid = \"v\"\nready = \"r\"\npayload = [\"d\"]";
  const auto wave = [](const char* v, const char* r, std::vector<uint64_t> d) {
    return SmallWave().bit("v", v).bit("r", r).number("d", 8, d);
  };
  EXPECT_PASSED(one(wave("0111110", "0001010", {0, 7, 7, 7, 8, 8}), rule));
  expect_failed(one(wave("0110000", "0000000", {0, 7}), rule), 3, "v fell after 2 samples");
  expect_failed(one(wave("0111000", "0001000", {0, 7, 6, 6}), rule), 2, "d changed from 7 to 6");
  expect_failed(one(wave("1100000", "0100000", {0}), rule), 0, "in reset");
  expect_failed(one(wave("0111110", "0000010", {0}), rule + "\nmax_stall = 2"), 3, "more than 2");
  EXPECT_EQ(one(wave("0111", "0000", {0}), rule).status, Status::kIncomplete);
  EXPECT_EQ(one(wave("0000", "0101", {0}), rule).status, Status::kVacuous);
}

TEST(WaveRulesTest, ResponseInOrder) {
  const std::string rule = "kind = \"response\"\na = \"a\"\nb = \"b\"\nlo = 1\nhi = 3";
  const auto wave = [](const char* a, const char* b) { return SmallWave().bit("a", a).bit("b", b); };
  EXPECT_PASSED(one(wave("01100000", "00011000"), rule));
  expect_failed(one(wave("01000000", "00000100"), rule), 5, "no b within 3 cycles of a at 15.000 ns, cycle 1");
  expect_failed(one(wave("01000000", "01000000"), rule), 1, "b without a", 2);  // and the a stays without
  expect_failed(one(wave("01000000", "00100100"), rule), 5, "b without a");
  EXPECT_PASSED(one(wave("01000000", "00100100"), rule + "\nunmatched_b = \"ok\""));
  EXPECT_EQ(one(wave("00000010", "00000000"), rule).status, Status::kIncomplete);
  EXPECT_EQ(one(wave("00000000", "00000000"), rule).status, Status::kVacuous);
  EXPECT_PASSED(one(wave("01000000100", "00000010010"), "kind = \"response\"\na = \"a\"\nb = \"b\"\nhi = 3\nskip = 1"));
}

// Rules of which skip leaves nothing are not passed.
TEST(WaveRulesTest, SkippingEverythingIsIncomplete) {
  const SmallWave w = SmallWave().bit("a", "01000000").bit("b", "00100000");
  for (const char* rule : {"kind = \"response\"\na = \"a\"\nb = \"b\"\nhi = 3\nskip = 1",
                           "kind = \"latency\"\na = \"a\"\nb = \"b\"\nmax = 3\nskip = 1"}) {
    const auto v = one(w, rule);
    EXPECT_EQ(v.status, Status::kIncomplete);
    EXPECT_THAT(v.detail, HasSubstr("nothing was checked"));
  }
}

// A rule that never looked at anything says why.
TEST(WaveRulesTest, NothingSampledSaysWhy) {
  const SmallWave w = SmallWave().bit("a", "0000").bit("still", "0000").bit("one", "1111");
  EXPECT_THAT(one(w, "kind = \"never\"\nexpr = \"a\"\nclock = \"still\"").detail, HasSubstr("top.still has no edge"));
  EXPECT_THAT(one(w, "kind = \"never\"\nexpr = \"a\"\nreset = \"one\"").detail,
              HasSubstr("no sample lies outside of reset"));
  EXPECT_THAT(one(w, "kind = \"never\"\nexpr = \"a\"\nfrom_ns = 900").detail, HasSubstr("inside of the window"));
}

// Times in ns are those of the edges.
TEST(WaveRulesTest, ResponseInNs) {
  const SmallWave w = SmallWave().bit("a", "01000000").bit("b", "00010000");
  EXPECT_PASSED(one(w, "kind = \"response\"\na = \"a\"\nb = \"b\"\nlo = 20\nhi = 20\nunit = \"ns\""));
  expect_failed(one(w, "kind = \"response\"\na = \"a\"\nb = \"b\"\nlo = 21\nhi = 30\nunit = \"ns\""), 3,
                "20.000 ns after a, too early");
}

// A change is an event at its own time, not at the next edge: t changes at 20 and 40 ns, b is sampled at 45 ns.
TEST(WaveRulesTest, ResponseFromAChange) {
  const SmallWave w = SmallWave().bit("t", "00110000").bit("b", "00001000");
  const std::string rule =
      "kind = \"response\"\na_change = \"t\"\nunit = \"ns\"\nmatch = \"nearest\"\nunmatched_a = \"ok\"\n";
  EXPECT_PASSED(one(w, rule + "b = \"b\"\nlo = 5\nhi = 5"));
  expect_failed(one(w, rule + "b = \"b\"\nlo = 6\nhi = 9"), 4, "came 5.000 ns after t changing, too early");
  EXPECT_PASSED(one(w, "kind = \"response\"\na_change = \"t\"\nb_change = \"b\"\nlo = 10\nhi = 20\nunit = \"ns\""));
}

TEST(WaveRulesTest, ResponseByTag) {
  const std::string rule = "kind = \"response\"\na = \"a\"\nb = \"b\"\ntag_a = \"ta\"\ntag_b = \"tb\"\nhi = 4";
  EXPECT_PASSED(
      one(SmallWave().bit("a", "011000").bit("b", "000110").number("ta", 4, {0, 5, 6}).number("tb", 4, {0, 0, 0, 6, 5}),
          rule));
  expect_failed(one(SmallWave()
                        .bit("a", "011000")
                        .bit("b", "000111")
                        .number("ta", 4, {0, 5, 6})
                        .number("tb", 4, {0, 0, 0, 6, 7, 5}),
                    rule),
                4, "tag 7, which is not open");
  expect_failed(one(SmallWave().bit("a", "010000").bit("b", "000100").bit("ta", "x").bit("tb", "0"), rule), 1,
                "a with an unknown tag, ta = x", 2);
  EXPECT_THAT(error_of(SmallWave().bit("a", "0").bit("b", "0").number("ta", 65, {0}).number("tb", 65, {0}), rule),
              HasSubstr("key 'tag_a': has 65 bits; a tag has at most 64"));
}

TEST(WaveRulesTest, MatchAndOutstanding) {
  const std::string rule = "kind = \"match\"\nrequest = \"a\"\nresponse = \"b\"\nmax_outstanding = 2";
  EXPECT_PASSED(one(SmallWave().bit("a", "011000").bit("b", "000110"), rule));
  expect_failed(one(SmallWave().bit("a", "011100").bit("b", "000011"), rule), 3, "3 are open");
  EXPECT_EQ(one(SmallWave().bit("a", "011000").bit("b", "000100"), rule).status, Status::kIncomplete);
  expect_failed(one(SmallWave().bit("a", "011000").bit("b", "000100"), rule + "\npending_at_end = \"fail\""), 2,
                "at the end of the wave: 1");
}

TEST(WaveRulesTest, Conservation) {
  const std::string rule = "kind = \"conservation\"\nin = \"a\"\nout = \"b\"";
  EXPECT_PASSED(one(SmallWave().bit("a", "011000").bit("b", "000110"), rule));
  expect_failed(one(SmallWave().bit("a", "011000").bit("b", "000100"), rule), 3, "2 in, 1 out");
  expect_failed(one(SmallWave().bit("a", "001100").bit("b", "010100"), rule), 1, "0 in, 1 out");
}

TEST(WaveRulesTest, Occupancy) {
  const std::string rule = "kind = \"occupancy\"\npush = \"a\"\npop = \"b\"\nmax = 2";
  EXPECT_PASSED(one(SmallWave().bit("a", "0111000").bit("b", "0001110"), rule));
  expect_failed(one(SmallWave().bit("a", "0111000").bit("b", "0000110"), rule), 3, "3 are inside");
}

TEST(WaveRulesTest, Progress) {
  const std::string rule = "kind = \"progress\"\nevent = \"e\"\nbusy = \"u\"\nmax = 3";
  EXPECT_PASSED(one(SmallWave().bit("e", "0001001000").bit("u", "0111111000"), rule));
  expect_failed(one(SmallWave().bit("e", "0001000010").bit("u", "0111111110"), rule), 7, "since cycle 3");
}

TEST(WaveRulesTest, Throughput) {
  const std::string rule = "kind = \"throughput\"\nevent = \"e\"\nwindow = 4\n";
  EXPECT_PASSED(one(SmallWave().bit("e", "01010101010"), rule + "at_least = 0.5\nat_most = 0.5"));
  expect_failed(one(SmallWave().bit("e", "01010111010"), rule + "at_most = 0.5"), 6, "0.75", 3);
  expect_failed(one(SmallWave().bit("e", "01010001010"), rule + "at_least = 0.5"), 5, "0.25", 4);
  EXPECT_EQ(one(SmallWave().bit("e", "010"), rule + "at_least = 0.5").status, Status::kIncomplete);
}

TEST(WaveRulesTest, Latency) {
  const std::string rule = "kind = \"latency\"\na = \"a\"\nb = \"b\"\n";
  const SmallWave w = SmallWave().bit("a", "0100010000").bit("b", "0001000001");
  const auto v = one(w, rule + "max = 4");
  EXPECT_PASSED(v);
  EXPECT_THAT(v.measured, testing::Contains(std::make_pair(std::string("max_cycles"), std::string("4"))));
  expect_failed(one(w, rule + "max = 3"), 9, "the maximum is 4.000 cycles, allowed 3");
  const auto few = one(w, rule + "p99_max = 100");
  EXPECT_EQ(few.status, Status::kIncomplete);
  EXPECT_THAT(few.detail, HasSubstr("too few samples for P99: 2, and 100 are needed"));
}

// One instance a match; stars of the other names stand for the same.
TEST(WaveRulesTest, GlobsMakeInstances) {
  SmallWave w;
  for (int i = 0; i < 3; ++i)
    w.bit(fmt::format("lane{}.valid", i), i == 2 ? "01100" : "01110").bit(fmt::format("lane{}.ready", i), "00010");
  const Report r = check(w, "kind = \"handshake\"\nname = \"lanes\"\nvalid = \"lane*.valid\"\nready = \"lane*.ready\"");
  ASSERT_EQ(r.verdicts.size(), 3u);
  EXPECT_PASSED(r.verdicts[1]);
  expect_failed(r.verdicts[2], 3, "fell");
  EXPECT_EQ(r.verdicts[2].title(), "lanes [top.lane2.valid]");
  EXPECT_THAT(r.verdicts[2].first.at(0).what, HasSubstr("lane2.valid fell"));
  const Report s = check(w, "kind = \"handshake\"\nscope = \"top.lane*\"\nvalid = \"valid\"\nready = \"ready\"");
  ASSERT_EQ(s.verdicts.size(), 3u);
  EXPECT_EQ(s.verdicts[2].instance, "top.lane2");
}

TEST(WaveRulesTest, SeverityWarningDoesNotFail) {
  const Report r = check(SmallWave().bit("a", "0010"), "kind = \"never\"\nexpr = \"a\"\nseverity = \"warning\"");
  EXPECT_EQ(r.verdicts[0].status, Status::kFailed);
  EXPECT_TRUE(r.good());
}

// Errors name file, line, column, and what is allowed or near.
TEST(WaveRulesTest, ErrorsSayWhereAndWhatIsAllowed) {
  const SmallWave w = SmallWave().bit("lane0.valid", "0110").bit("count", "0110");
  EXPECT_THAT(error_of(w, "kind = \"never\"\nexpr = \"lane0.valdi && count\""),
              HasSubstr("rules.toml:8:9: key 'expr': there is no signal 'top.lane0.valdi'"));
  EXPECT_THAT(error_of(w, "kind = \"never\"\nexpr = \"lane0.valdi\""), HasSubstr("nearest: top.lane0.valid"));
  EXPECT_THAT(error_of(w, "kind = \"never\"\nexpr = \"laen*.valid\""), HasSubstr("nothing matches 'laen*.valid'"));
  EXPECT_THAT(error_of(w, "kind = \"never\"\nexpr = \"count && )\""),
              HasSubstr("rules.toml:8:18: key 'expr': ')' was not expected"));
  EXPECT_THAT(error_of(w, "kind = \"nevr\"\nexpr = \"count\""),
              HasSubstr("rules.toml:7:9: key 'kind': 'nevr' is not known; allowed: never, always"));
  EXPECT_THAT(error_of(w, "kind = \"never\"\nexpr = \"count\"\nhi = 3"),
              HasSubstr("rules.toml:9:1: key 'hi': unknown key of 'never'; allowed: expr, when"));
  EXPECT_THAT(error_of(w, "kind = \"never\""), HasSubstr("key 'expr': is missing"));
  EXPECT_THAT(error_of(w, "kind = \"never\"\nexpr = \"count\nname"), HasSubstr("rules.toml:8:"));
  EXPECT_THAT(error_of(w, "kind = \"never\"\nexpr = \"top.count\"", ""), HasSubstr("never guessed"));
  EXPECT_THAT(error_of(w, "kind = \"never\"\nexpr = \"top.count\"\nclock = \"top.clk\"", ""), HasSubstr("key 'edge'"));
}

Report check_files(const SmallWave& w, const std::vector<std::string>& rules, const wave::CheckOptions& options = {}) {
  const TempFile wave("w.vcd", w.vcd());
  std::vector<std::unique_ptr<TempFile>> files;
  std::vector<std::string> paths;
  for (const auto& r : rules) {
    files.push_back(std::make_unique<TempFile>("rules.toml", r));
    paths.push_back(files.back()->path());
  }
  const auto reader = wave::Reader::open(wave.path());
  return wave::check(paths, *reader, options);
}
std::string error_of_files(const SmallWave& w, const std::vector<std::string>& rules,
                           const wave::CheckOptions& options = {}) {
  try {
    check_files(w, rules, options);
  } catch (const InputError& e) {
    return e.what();
  }
  return "no error";
}

// Several files are one pass and one report; each keeps its own defaults and its own suite.
TEST(WaveRulesTest, SeveralFiles) {
  const SmallWave w = SmallWave().bit("a", "0010").number("n", 8, {0, 1, 2, 3});
  const std::string first = std::string(kDefaults) + "[[rule]]\nkind = \"never\"\nexpr = \"a\"\n";
  const std::string second =
      "[defaults]\nclock = \"top.clk\"\nedge = \"falling\"\n[[rule]]\nkind = \"range\"\nexpr = \"top.n\"\nmax = 9\n";
  const Report r = check_files(w, {first, second});
  ASSERT_EQ(r.verdicts.size(), 2u);
  expect_failed(r.verdicts[0], 2, "a = 1");
  EXPECT_PASSED(r.verdicts[1]);
  EXPECT_EQ(r.verdicts[1].file, r.rules[1]);
  const std::string xml = junit_of(r, {});
  EXPECT_THAT(xml, HasSubstr("tests=\"1\" failures=\"1\" errors=\"0\""));
  EXPECT_THAT(xml, HasSubstr("tests=\"1\" failures=\"0\" errors=\"0\""));
  EXPECT_THAT(error_of_files(w, {first, "[[rule]]\nkind = 1\n"}),
              HasSubstr("rules.toml:2:8: key 'kind': must be a text"));
}

// Parameters: arithmetic where a number stands, constants in expressions; what is given goes before presets.
TEST(WaveRulesTest, Parameters) {
  const SmallWave w = SmallWave().bit("a", "01000000").bit("b", "00001000").number("n", 8, {0, 1, 2, 3, 4, 5, 6, 7});
  const std::string rules = "[parameters]\nextra = 0\nlimit = 7\n" + std::string(kDefaults) +
                            "[[rule]]\nkind = \"response\"\na = \"a\"\nb = \"b\"\nhi = \"(1 + extra) * 1\"\n"
                            "[[rule]]\nkind = \"never\"\nexpr = \"n > limit\"\n";
  const auto counts = [&](const std::map<std::string, double>& given, const std::map<std::string, double>& presets) {
    wave::CheckOptions o;
    o.parameters = given;
    o.presets = presets;
    const Report r = check_files(w, {rules}, o);
    return std::make_pair(r.verdicts.at(0).count, r.verdicts.at(1).count);
  };
  using Pair = std::pair<uint64_t, uint64_t>;
  EXPECT_EQ(counts({}, {}), Pair(1, 0));
  EXPECT_EQ(counts({{"extra", 2}}, {}), Pair(0, 0));
  EXPECT_EQ(counts({}, {{"extra", 2}, {"unheard_of", 1}}), Pair(0, 0));
  EXPECT_EQ(counts({{"extra", 1}}, {{"extra", 2}}), Pair(1, 0));
  EXPECT_EQ(counts({{"limit", 5}}, {}), Pair(1, 2));
}

TEST(WaveRulesTest, ParameterErrors) {
  const SmallWave w = SmallWave().bit("a", "01000000");
  const auto with = [&](const std::string& table, const std::string& hi,
                        const std::map<std::string, double>& given = {}) {
    wave::CheckOptions o;
    o.parameters = given;
    return error_of_files(
        w, {table + kDefaults + "[[rule]]\nkind = \"response\"\na = \"a\"\nb = \"a\"\nhi = " + hi + "\n"}, o);
  };
  const std::string table = "[parameters]\nextra = 1\n";
  EXPECT_THAT(with(table, "3", {{"extar", 1}}), HasSubstr("'extar' is declared in no [parameters]; nearest: extra"));
  EXPECT_THAT(with("", "3", {{"extra", 1}}), HasSubstr("no rules file has a table [parameters]"));
  EXPECT_THAT(with(table, "\"1 + extar\""),
              HasSubstr("rules.toml:12:11: key 'hi': there is no parameter 'extar'; nearest: extra"));
  EXPECT_THAT(with(table, "\"1 +\""), HasSubstr("rules.toml:12:10: key 'hi': the text ends here"));
  EXPECT_THAT(with(table, "\"1 / (extra - 1)\""), HasSubstr("division by zero"));
  EXPECT_THAT(with(table, "\"extra - 2\""), HasSubstr("'extra - 2' is -1; it must be a number from 0 on"));
  EXPECT_THAT(with("[parameters]\nextra = \"1\"\n", "3"),
              HasSubstr("rules.toml:2:10: key 'parameters.extra': must be a number"));
  EXPECT_THAT(with("parameters = 3\n", "3"), HasSubstr("must be a table"));
  EXPECT_THAT(with("[parameters]\n2x = 1\n", "3"), HasSubstr("letters, digits and _"));
}

// Wrong types, unknown keys, broken TOML: file, line, column, and what is allowed.
TEST(WaveRulesTest, ErrorsOfTheFile) {
  const SmallWave w = SmallWave().bit("a", "01000000");
  const auto with = [&](const std::string& text) { return error_of_files(w, {text}); };
  EXPECT_THAT(with("[[rules]]\nkind = \"never\"\n"),
              HasSubstr("rules.toml:1:3: key 'rules': unknown key; allowed: defaults, parameters, rule"));
  EXPECT_THAT(with("[defaults]\nclok = \"top.clk\"\n"),
              HasSubstr("rules.toml:2:1: key 'clok': unknown key of [defaults]; allowed: clock, edge"));
  EXPECT_THAT(with("rule = 3\n"), HasSubstr("rules.toml:1:8: key 'rule': must be tables: [[rule]]"));
  EXPECT_THAT(with("[defaults]\nclock = \"top.clk\nedge = 1\n"), HasSubstr("rules.toml:2:"));
  EXPECT_THAT(with(""), HasSubstr("there is no rule"));
  const std::string rule = std::string(kDefaults) + "[[rule]]\nkind = \"handshake\"\nvalid = \"a\"\n";
  EXPECT_THAT(with(rule), HasSubstr("rules.toml:6:1: key 'ready': is missing in this 'handshake' rule"));
  EXPECT_THAT(with(rule + "ready = true\n"),
              HasSubstr("rules.toml:9:9: key 'ready': must be an expression, as a text"));
  EXPECT_THAT(with(rule + "ready = \"a\"\nmax_stall = 1.5\n"), HasSubstr("key 'max_stall': must be a whole number"));
  EXPECT_THAT(with(rule + "ready = \"a\"\nmax_stall = -1\n"), HasSubstr("must be a number from 0 on"));
  EXPECT_THAT(with(rule + "ready = \"a\"\nseverity = \"bad\"\n"),
              HasSubstr("'bad' is not known; allowed: error, warning"));
  EXPECT_THAT(with(rule + "ready = \"a\"\npayload = \"a\"\n"), HasSubstr("must be a list of expressions"));
}

// The report for people, for CI, and as a page.
TEST(WaveRulesTest, Reports) {
  const Report r = check(SmallWave().bit("a", "00010"), "kind = \"never\"\nname = \"no <a>\"\nexpr = \"a\"");
  const std::string text = text_of(r, {"rnicsim wavecheck x y", "rnicsim stages --seed 7", "7"});
  EXPECT_THAT(text, HasSubstr("first at 35.000 ns, cycle 3: a = 1"));
  EXPECT_THAT(text, HasSubstr("again:  rnicsim wavecheck x y"));
  EXPECT_THAT(text, HasSubstr("[3]"));
  const std::string xml = junit_of(r, {"rnicsim wavecheck x y", "rnicsim stages --seed 7", "7"});
  EXPECT_THAT(xml, HasSubstr("tests=\"1\" failures=\"1\" errors=\"0\""));
  EXPECT_THAT(xml, HasSubstr("name=\"no &lt;a&gt;\""));
  EXPECT_THAT(xml, HasSubstr("again:  rnicsim wavecheck x y"));
  EXPECT_THAT(xml, HasSubstr("run:    rnicsim stages --seed 7"));
  EXPECT_THAT(xml, HasSubstr("seed:   7"));
  EXPECT_THAT(html_of(r, {}), HasSubstr("<svg"));
}

}  // namespace
}  // namespace rnic::test
