// SPDX-License-Identifier: Apache-2.0
// VCD as the many programs write it that write VCD.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "rnic/core/error.h"
#include "rnic/wave/reader.h"
#include "wave/vcd.h"

namespace rnic::test {
namespace {

using testing::HasSubstr;
using wave::Reader;

struct Log : wave::Visitor {
  explicit Log(const Reader& r) : reader(r) {}
  void on_change(uint32_t id, uint64_t time, const char* bits, uint32_t width) override {
    for (const auto& s : reader.signals()) {
      if (s.id != id) continue;
      text += fmt::format("{}@{}={} ", s.name, time, std::string(bits, width));
      return;
    }
  }
  const Reader& reader;
  std::string text;
};

/// "name:width:msb:lsb " of each signal, then "| " and "name@time=bits " of each change.
std::string read(const std::string& vcd) {
  const TempFile f("a.vcd", vcd);
  const auto r = Reader::open(f.path());
  std::string names;
  std::vector<uint32_t> ids;
  for (const auto& s : r->signals()) {
    names += fmt::format("{}:{}:{}:{} ", s.name, s.width, s.msb, s.lsb);
    ids.push_back(s.id);
  }
  Log log(*r);
  r->read(ids, log);
  return names + "| " + log.text;
}

std::string error_of(const std::string& vcd) {
  try {
    return "no error: " + read(vcd);
  } catch (const InputError& e) {
    return e.what();
  }
}

const std::string kOne = "$var wire 1 ! a $end\n$enddefinitions $end\n";
const std::string kEight = "$var wire 8 ! a [7:0] $end\n$enddefinitions $end\n";

// Shorter values are filled at the left: with zeros after 0 and 1, else with what stands there.
TEST(VcdDialectTest, ValuesAreExtended) {
  EXPECT_EQ(read(kEight + "#0\nb1 !\n#1\nb01 !\n#2\nbx !\n#3\nbz !\n#4\nbx1 !\n#5\nbz10 !\n#6\nb10100101 !\n"),
            "a:8:7:0 | a@0=00000001 a@1=00000001 a@2=xxxxxxxx a@3=zzzzzzzz a@4=xxxxxxx1 a@5=zzzzzz10 a@6=10100101 ");
}

// A vector may change by a scalar change, and a scalar by a vector change.
TEST(VcdDialectTest, ScalarAndVectorChangesMix) {
  EXPECT_EQ(read(kEight + "#0\n1!\n#1\nx!\n"), "a:8:7:0 | a@0=00000001 a@1=xxxxxxxx ");
  EXPECT_EQ(read(kOne + "#0\nb1 !\n#1\nb0 !\n"), "a:1:0:0 | a@0=1 a@1=0 ");
}

TEST(VcdDialectTest, ValuesLongerThanTheVariableKeepTheirLowBits) {
  EXPECT_EQ(read("$var wire 4 ! a $end\n$enddefinitions $end\n#0\nb11110101 !\n"), "a:4:3:0 | a@0=0101 ");
}

TEST(VcdDialectTest, UpperCase) {
  EXPECT_EQ(read(kEight + "#0\nB1X0Z !\n#1\nX!\n#2\nZ!\n"), "a:8:7:0 | a@0=00001x0z a@1=xxxxxxxx a@2=zzzzzzzz ");
}

// Scopes of every type, and attributes that extend the format, stand where they may.
TEST(VcdDialectTest, ScopesAndExtensions) {
  const std::string head =
      "$attrbegin misc 02 cpu 1031 $end\n$scope module top $end\n$scope begin blk $end\n$var reg 1 ! a $end\n$upscope "
      "$end\n"
      "$scope fork par $end\n$var reg 1 \" b $end\n$upscope $end\n$scope task t $end\n$var integer 32 # i "
      "$end\n$upscope "
      "$end\n"
      "$scope function f $end $var parameter 4 $ P $end $upscope $end\n$attrend $end\n$scope struct s $end\n$var logic "
      "2 "
      "% f [1:0] $end\n"
      "$upscope $end\n$upscope $end\n$enddefinitions $end\n";
  EXPECT_THAT(read(head), HasSubstr("top.blk.a:1:0:0 top.par.b:1:0:0 top.t.i:32:31:0 top.f.P:4:3:0 top.s.f:2:1:0 |"));
}

// A range stands beside the name or stuck to it; an index makes a bit of a split vector.
TEST(VcdDialectTest, RangesAndSplitVectors) {
  EXPECT_EQ(
      read("$var wire 8 ! a [7:0] $end\n$var wire 8 \" b[7:0] $end\n$var wire 8 # c [0:7] $end\n"
           "$var wire 4 $ d[-1:-4] $end\n$var reg 1 % e [3] $end\n$var reg 1 & e[2] $end\n$var wire 8 ' m[5][7:0] "
           "$end\n$var wire 1 ( f [0:0] $end\n$enddefinitions $end\n"),
      "a:8:7:0 b:8:7:0 c:8:0:7 d:4:-1:-4 e[3]:1:0:0 e[2]:1:0:0 m[5]:8:7:0 f:1:0:0 | ");
}

TEST(VcdDialectTest, EscapedNames) {
  EXPECT_EQ(read("$scope module \\top+1 $end\n$var wire 1 ! \\a.b*c $end\n$var wire 2 \" \\d[1] [1:0] "
                 "$end\n$enddefinitions $end\n"),
            "\\top+1.\\a.b*c:1:0:0 \\top+1.\\d[1]:2:1:0 | ");
}

// Identifiers of any length, also those that differ in the last character only.
TEST(VcdDialectTest, LongIdentifiers) {
  std::string head, body = "#0\n", names, values;
  for (const std::string id : {"!", "!!", "!!!", "!!!!", "<0", "n123456789012345", "n123456789012346", "~~~~"}) {
    const std::string name = fmt::format("s{}", names.size());
    head += fmt::format("$var wire 1 {} {} $end\n", id, name);
    body += (values.size() % 2 != 0 ? "1" : "0") + id + "\n";
    names += name + ":1:0:0 ";
    values += fmt::format("{}@0={} ", name, values.size() % 2 != 0 ? "1" : "0");
  }
  EXPECT_EQ(read(head + "$enddefinitions $end\n" + body), names + "| " + values);
}

TEST(VcdDialectTest, Aliases) {
  const TempFile f("a.vcd",
                   "$var wire 8 ! a $end\n$scope module m $end\n$var reg 8 ! b [7:0] $end\n$upscope $end\n"
                   "$enddefinitions $end\n#0\nb1 !\n");
  const auto r = Reader::open(f.path());
  ASSERT_EQ(r->signals().size(), 2u);
  EXPECT_EQ(r->signals()[0].id, r->signals()[1].id);
  EXPECT_EQ(r->id_count(), 1u);
}

TEST(VcdDialectTest, TimescalesInEveryForm) {
  for (const auto& [text, fs] :
       std::initializer_list<std::pair<const char*, uint64_t>>{{"$timescale 1ns $end", 1'000'000},
                                                               {"$timescale 10 ps $end", 10'000},
                                                               {"$timescale\n\t100\n\tus\n$end", 100'000'000'000},
                                                               {"$timescale 1 fs\n$end", 1},
                                                               {"$timescale 1s $end", 1'000'000'000'000'000},
                                                               {"", 1'000'000}}) {
    const TempFile f("a.vcd", std::string("$comment x $end ") + text + "\n" + kOne + "#0\n0!\n");
    EXPECT_EQ(Reader::open(f.path())->tick_fs(), fs) << text;
  }
  EXPECT_THAT(error_of("$timescale 2ns $end\n" + kOne), HasSubstr("allowed: 1, 10 or 100 of fs, ps, ns, us, ms, s"));
  EXPECT_THAT(error_of("$timescale 1 parsec $end\n" + kOne), HasSubstr("$timescale '1parsec' is not known"));
}

// Real numbers, strings and events are left out, wherever they stand.
TEST(VcdDialectTest, RealsAndStrings) {
  EXPECT_EQ(read("$var real 64 ! r $end\n$var string 1 \" s $end\n$var event 1 # e $end\n$var wire 1 $ a $end\n"
                 "$enddefinitions $end\n#0\nr1.5e-3 !\nsHello\\040there \"\n1#\n1$\nr-inf !\ns \"\n#1\n0$\n"),
            "a:1:0:0 | a@0=1 a@1=0 ");
}

// Dumping that is switched off and on: the values in between are x, as the file says.
TEST(VcdDialectTest, DumpCommands) {
  EXPECT_EQ(read(kOne + "$dumpvars\n0!\n$end\n#5\n$dumpoff\nx!\n$end\n#9\n$dumpon\n1!\n$end\n#11\n$dumpall 1! $end\n"
                        "$comment #3 0! $end\n#12\n0!\n$dumpflush $end\n$vcdclose #12 $end\n"),
            "a:1:0:0 | a@0=0 a@5=x a@9=1 a@11=1 a@12=0 ");
}

// Values before the first time count from 0; several words stand in a line, and blanks are what they like.
TEST(VcdDialectTest, LooseLayout) {
  EXPECT_EQ(
      read("  $var wire 1 ! a $end $var\nwire\n8\n\"\nb\n$end\n\n\n$enddefinitions\n$end\n1! b1\n\"\n\n#7 0!\tb11 "
           "\" #8\r\n1!\r\n"),
      "a:1:0:0 b:8:7:0 | a@0=1 b@0=00000001 a@7=0 b@7=00000011 a@8=1 ");
}

TEST(VcdDialectTest, TimeAlone) {
  EXPECT_EQ(read(kOne + "#0\n"), "a:1:0:0 | ");
  EXPECT_EQ(read(kOne), "a:1:0:0 | ");
  const TempFile f("a.vcd", kOne + "#0\n1!\n#90\n#18446744073709551615\n");
  const auto r = Reader::open(f.path());
  Log log(*r);
  EXPECT_EQ(r->read({0}, log), ~uint64_t{0});
}

TEST(VcdDialectTest, ExtendedVcdIsRefused) {
  EXPECT_THAT(error_of("$scope module t $end\n$var port [7:0] <0 a $end\n$upscope $end\n$enddefinitions $end\n"),
              HasSubstr(":2: this is an extended VCD file"));
  EXPECT_THAT(error_of(kOne + "#0\npD 6 6 !\n"), HasSubstr(":4: this is an extended VCD file"));
}

// Each mistake with its line.
TEST(VcdDialectTest, MistakesAreNamed) {
  EXPECT_THAT(error_of(kOne + "#0\n1!\n0\"\n"), HasSubstr(":5: identifier '\"' is not declared"));
  EXPECT_THAT(error_of(kOne + "#0\n1\n"), HasSubstr(":4: the identifier of a variable is missing"));
  EXPECT_THAT(error_of(kOne + "#5\n#4\n"), HasSubstr(":4: time #4 lies before #5"));
  EXPECT_THAT(error_of(kOne + "#-5\n"), HasSubstr(":3: '-5' is not a number"));
  EXPECT_THAT(error_of(kOne + "#1.5\n"), HasSubstr(":3: '1.5' is not a number"));
  EXPECT_THAT(error_of(kOne + "#18446744073709551616\n"), HasSubstr("too large a number"));
  EXPECT_THAT(error_of(kOne + "#\n"), HasSubstr(":3: a number is missing"));
  EXPECT_THAT(error_of(kEight + "#0\nb10q1 !\n"), HasSubstr(":4: '10q1' is not a binary number"));
  EXPECT_THAT(error_of(kEight + "#0\nb !\n"), HasSubstr(":4: a value has no digits"));
  EXPECT_THAT(error_of(kOne + "#0\nhello\n"), HasSubstr(":4: 'hello' is not a value change"));
  EXPECT_THAT(error_of("$var wire 0 ! a $end\n"),
              HasSubstr(":1: variable 'a' has a width of 0; allowed: 1 to 16777216"));
  EXPECT_THAT(error_of("$var wire 4294967296 ! a $end\n"), HasSubstr("has a width of 4294967296"));
  EXPECT_THAT(error_of("$var wire -1 ! a $end\n"), HasSubstr("'-1' is not a number"));
  EXPECT_THAT(error_of("$var wire 1 $end\n"), HasSubstr("$var has no identifier"));
  EXPECT_THAT(error_of("$var wire 8 ! a $end\n$var wire 4 ! b $end\n"),
              HasSubstr(":2: variable 'b' has 4 bits, but its identifier '!' is that of one with 8"));
  EXPECT_THAT(error_of("$scope module top $end\nhello $end\n"), HasSubstr(":2: 'hello' is not a declaration"));
  EXPECT_THAT(error_of("$date today\n"), HasSubstr("cut off"));
}

}  // namespace
}  // namespace rnic::test
