// SPDX-License-Identifier: Apache-2.0
// What a failure is recognized by, and which tests a test plan means.
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "rnic/core/error.h"
#include "rnic/regress/plan.h"
#include "rnic/regress/runner.h"

namespace rnic::regress {
namespace {

// Numbers, hexadecimal words and folders differ between runs of one failure; source lines do not.
TEST(SignatureTest, WhatDiffersBetweenSeedsIsLeftOut) {
  EXPECT_EQ(normalized("DMA read: expected at most 200 ns, got 213.000 ns"),
            normalized("DMA read: expected at most 200 ns, got 1.5 ns"));
  EXPECT_EQ(normalized("at 0x7fffdeadbeef: bad"), normalized("at 0x10: bad"));
  EXPECT_EQ(normalized("digest 0123456789abcdef differs"), normalized("digest fedcba9876543210 differs"));
  EXPECT_EQ(normalized("/srv/a/build/x_test.cpp:57: Failure"), normalized("/tmp/b/x_test.cpp:57: Failure"));
  EXPECT_EQ(normalized("cannot read {dir}/a/result.json"), normalized("cannot read /tmp/x/result.json"));
  EXPECT_EQ(normalized("qp17 is stuck"), normalized("qp3 is stuck"));
}

// Two failures are not one because their numbers are left out.
TEST(SignatureTest, WhatTellsFailuresApartStays) {
  EXPECT_NE(normalized("x_test.cpp:57: Failure"), normalized("x_test.cpp:58: Failure"));
  EXPECT_NE(normalized("check 'DMA read' failed"), normalized("check 'packetize' failed"));
  EXPECT_EQ(normalized("24/48 done"), "N/N done");
  EXPECT_EQ(normalized("fed a bad cafe"), "fed a bad cafe");
}

// The first line that a program marks as an error, even when a summary behind it speaks of failures, too.
TEST(SignatureTest, FirstErrorIsFound) {
  EXPECT_EQ(find_error("fine\nrnicsim: error: one\nrnicsim: error: two\n").message, "rnicsim: error: one");
  EXPECT_EQ(find_error("0 errors, 0 failed\nall good\nsomething failed here\n").message, "something failed here");
  EXPECT_EQ(find_error("10 errors\nmore\n").message, "10 errors");
  EXPECT_EQ(find_error("a\nb\n\n").message, "b");
  EXPECT_EQ(find_error("").message, "");
  EXPECT_EQ(find_error("will fail later\n%Error: fifo.sv:57: Assertion failed\n").message,
            "%Error: fifo.sv:57: Assertion failed");
  EXPECT_EQ(find_error("x_test.cpp:9: Failure\nExpected equality of these values:\n").message,
            "x_test.cpp:9: Failure: Expected equality of these values:");
}

// Logs hold whatever programs write: long lines, bytes that are no text, progress lines.
TEST(SignatureTest, AnyLogIsRead) {
  EXPECT_LE(find_error(std::string(10 << 20, 'x') + " error").message.size(), 400u);
  EXPECT_EQ(find_error("1 %\r2 %\r: error: torn\n").message, ": error: torn");
  EXPECT_EQ(find_error("error: \xff\x1b[31m\n").message, "error: \xef\xbf\xbd\xef\xbf\xbd[31m");
  for (int c = 0; c < 256; ++c) {
    (void)normalized(std::string(3, static_cast<char>(c)));
    (void)find_error(std::string(3, static_cast<char>(c)));
  }
}

// The window of a waveform lies round the instant that the message names.
TEST(SignatureTest, WindowRoundTheFailure) {
  Result r;
  r.message = "not finished at 1234.5 ns: hang";
  EXPECT_EQ(trace_of("around:100", r), "1134.5:1334.5");
  r.message = "not finished at 50 ns: hang";
  EXPECT_EQ(trace_of("around:100", r), "0:150");
  r.message = "[8196000] %Error: fifo.sv:57: Assertion failed";
  EXPECT_EQ(trace_of("around:4", r), "8192:8200");
  r.message = "no time is named";
  EXPECT_EQ(trace_of("around:100", r), "full");
  EXPECT_EQ(trace_of("last:2000", r), "last:2000");
}

// A test plan names Suite.Test; programs, instances and parameters stand round it in CTest's names.
TEST(TestplanTest, NamesOfTests) {
  EXPECT_TRUE(names_test("TxPathTest.SlowMemory", "tx_path.TxPathTest.SlowMemory"));
  EXPECT_TRUE(
      names_test("ShapesTest.OneMebibyte", "frames.All/ShapesTest.OneMebibyte/UcMtu256  # GetParam() = UcMtu256"));
  EXPECT_TRUE(names_test("smoke", "smoke"));
  EXPECT_FALSE(names_test("TxPathTest.Slow", "tx_path.TxPathTest.SlowMemory"));
  EXPECT_FALSE(names_test("PathTest.SlowMemory", "tx_path.TxPathTest.SlowMemory"));
  EXPECT_FALSE(names_test("smoke", "smoke_long"));
}

// Both ways of naming tests in the last column, bars in cells, other tables, and a page without any.
TEST(TestplanTest, TablesAreRead) {
  const auto file = std::filesystem::temp_directory_path() / ("testplan_" + std::to_string(getpid()) + ".md");
  const auto read = [&](const char* text) {
    std::ofstream(file) << text;
    return read_testplan(file.string());
  };
  auto rows = read(
      "# t\n| What | Checked | Tests (`BadTest.`) |\n|---|:---:|---|\n| a `x|y` | b | One, Two |\n| c | d | |\n"
      "\n| behaviour | tests |\n|---|---|\n| e | `A.B`, `C.D` |\n\n| key | value |\n|---|---|\n| f | g |\n");
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].text, "a x|y");
  EXPECT_EQ(rows[0].tests, (std::vector<std::string>{"BadTest.One", "BadTest.Two"}));
  EXPECT_EQ(rows[0].line, 4u);
  EXPECT_TRUE(rows[1].tests.empty());
  EXPECT_EQ(rows[2].tests, (std::vector<std::string>{"A.B", "C.D"}));
  EXPECT_THROW(read("# nothing\n"), InputError);
  EXPECT_THROW(read_testplan("/dev/zero"), InputError);
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace rnic::regress
