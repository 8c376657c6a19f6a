// SPDX-License-Identifier: Apache-2.0
// FST and VCD files: hierarchy, changes, ranges, damage.
#include "rnic/wave/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <gtkwave/fstapi.h>
#include <unistd.h>

#include "rnic/core/error.h"
#include "wave/vcd.h"

namespace rnic::test {
namespace {

using testing::HasSubstr;
using wave::Reader;

/// "name@time=bits " of each change.
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

std::string changes(Reader& r, uint64_t from = 0, uint64_t to = ~uint64_t{0}) {
  std::vector<uint32_t> ids;
  for (const auto& s : r.signals()) ids.push_back(s.id);
  Log log(r);
  r.read(ids, from, to, log);
  return log.text;
}

std::string error_of(const std::string& path) {
  try {
    const auto r = Reader::open(path);
    changes(*r);
  } catch (const InputError& e) {
    return e.what();
  }
  return "no error";
}

constexpr const char* kVcd =
    "$date today $end\r\n$version by $hand $end\r\n$comment x $end\r\n$timescale\r\n  10ps\r\n$end\r\n"
    "$scope module top $end\r\n$var wire 1 ! clk $end\r\n$var reg 8 \" bus [7:0] $end\r\n$var reg 8 \" alias[7:0] "
    "$end\r\n"
    "$var real 64 # volts $end\r\n$scope begin gen[0] $end\r\n$var wire 4 $ up [0:3] $end\r\n$upscope $end\r\n"
    "$var wire 1 % bit [3] $end\r\n$upscope $end\r\n$enddefinitions $end\r\n"
    "#0\r\n$dumpvars\r\nx!\r\nbx \"\r\nr1.5 #\r\nb0 $\r\nz%\r\n$end\r\n"
    "#10\r\n1!\r\nb101 \"\r\n$comment b1 \" $end\r\n#20\r\n0!\r\nbz01 \"\r\nBX1 $\r\n1%\r\n#30\r\n1!\r\n";

TEST(VcdTest, DialectsOfSimulators) {
  const TempFile f("a.vcd", kVcd);
  const auto r = Reader::open(f.path());
  EXPECT_STREQ(r->format(), "VCD");
  EXPECT_EQ(r->tick_fs(), 10'000u);
  std::string names;
  for (const auto& s : r->signals()) names += fmt::format("{}:{}:{}:{} ", s.name, s.width, s.msb, s.lsb);
  EXPECT_EQ(names, "top.clk:1:0:0 top.bus:8:7:0 top.alias:8:7:0 top.gen[0].up:4:0:3 top.bit[3]:1:0:0 ");
  EXPECT_EQ(r->signals()[1].id, r->signals()[2].id);
  EXPECT_EQ(changes(*r),
            "top.clk@0=x top.bus@0=xxxxxxxx top.gen[0].up@0=0000 top.bit[3]@0=z "
            "top.clk@10=1 top.bus@10=00000101 "
            "top.clk@20=0 top.bus@20=zzzzzz01 top.gen[0].up@20=xxx1 top.bit[3]@20=1 top.clk@30=1 ");
}

// A range begins with the values that hold there.
TEST(VcdTest, Range) {
  const TempFile f("a.vcd", kVcd);
  const auto r = Reader::open(f.path());
  EXPECT_EQ(changes(*r, 15, 20),
            "top.clk@15=1 top.bus@15=00000101 top.gen[0].up@15=0000 top.bit[3]@15=z "
            "top.clk@20=0 top.bus@20=zzzzzz01 top.gen[0].up@20=xxx1 top.bit[3]@20=1 ");
}

TEST(VcdTest, DamageIsNamed) {
  const std::string all = kVcd;
  EXPECT_THAT(error_of(TempFile("a.vcd", all.substr(0, 200)).path()), HasSubstr("cut off"));
  EXPECT_THAT(error_of(TempFile("a.vcd", all.substr(0, all.find("b101") + 3)).path()), HasSubstr("cut off"));
  EXPECT_THAT(error_of(TempFile("a.vcd", all + "1?\n").path()), HasSubstr("'?' is not declared"));
  EXPECT_THAT(error_of(TempFile("a.vcd", all + "#5\n").path()), HasSubstr("lies before #30"));
  EXPECT_THAT(error_of(TempFile("a.vcd", "").path()), HasSubstr("is empty"));
  EXPECT_THAT(error_of(TempFile("a.vcd", "hello\n").path()), HasSubstr("is no waveform: neither FST nor VCD"));
  EXPECT_THAT(error_of("/nonexistent/a.vcd"), HasSubstr("cannot be opened"));
}

class FstTest : public testing::Test {
 protected:
  FstTest() : file_("a.fst", "") {
    void* w = fstWriterCreate(file_.path().c_str(), 1);
    fstWriterSetTimescale(w, -12);
    fstWriterSetScope(w, FST_ST_VCD_MODULE, "top", nullptr);
    const auto clk = fstWriterCreateVar(w, FST_VT_VCD_WIRE, FST_VD_IMPLICIT, 1, "clk", 0);
    const auto bus = fstWriterCreateVar(w, FST_VT_VCD_WIRE, FST_VD_IMPLICIT, 70, "bus [69:0]", 0);
    fstWriterCreateVar(w, FST_VT_VCD_WIRE, FST_VD_IMPLICIT, 70, "alias [69:0]", bus);
    fstWriterSetUpscope(w);
    for (uint64_t t = 0; t < 4; ++t) {
      fstWriterEmitTimeChange(w, 10 * t);
      fstWriterEmitValueChange(w, clk, t % 2 != 0 ? "1" : "0");
      if (t == 2) fstWriterEmitValueChange(w, bus, (std::string(69, '0') + "x").c_str());
    }
    fstWriterClose(w);
  }
  std::string contents() const {
    std::ifstream in(file_.path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  TempFile file_;
};

TEST_F(FstTest, SignalsAndChanges) {
  const auto r = Reader::open(file_.path());
  EXPECT_STREQ(r->format(), "FST");
  EXPECT_EQ(r->tick_fs(), 1000u);
  ASSERT_EQ(r->signals().size(), 3u);
  EXPECT_EQ(r->signals()[1].name, "top.bus");
  EXPECT_EQ(r->signals()[1].width, 70u);
  EXPECT_EQ(r->signals()[1].id, r->signals()[2].id);
  EXPECT_THAT(changes(*r),
              HasSubstr("top.clk@10=1 top.clk@20=0 top.bus@20=" + std::string(69, '0') + "x top.clk@30=1 "));
  EXPECT_EQ(changes(*r, 25, 30), "top.bus@25=" + std::string(69, '0') + "x top.clk@25=0 top.clk@30=1 ");
}

TEST_F(FstTest, CutOffAnywhereIsAnError) {
  const std::string all = contents();
  for (const size_t n : {all.size() - 1, all.size() / 2, size_t{400}, size_t{100}}) {
    EXPECT_THAT(error_of(TempFile("b.fst", all.substr(0, n)).path()), HasSubstr("cut off")) << n;
  }
}

}  // namespace
}  // namespace rnic::test
