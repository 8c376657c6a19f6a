// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include "Vstream_checker.h"
#include "rtl/bench.h"

namespace rnic::test {
namespace {

struct StreamBench : Bench<Vstream_checker> {
  using Bench::Bench;
  /// For death tests, which match stderr: Verilator reports on stdout.
  static void report_on_stderr() { dup2(STDERR_FILENO, STDOUT_FILENO); }
  void cycle_with(bool valid, bool ready, unsigned data) {
    top->valid_i = valid, top->ready_i = ready, top->data_i = data;
    tick();
  }
};

// A stream that keeps the rules passes: waits, back to back transfers, payload changing while not valid.
TEST(StreamCheckerTest, LegalTrafficPasses) {
  StreamBench b;
  for (int i = 0; i < 1000; ++i) {
    for (unsigned n = b.rng() % 3; n-- != 0;) b.cycle_with(false, b.chance(50), b.rng() & 0xFF);
    const unsigned data = b.rng() & 0xFF;
    for (unsigned n = b.rng() % 3; n-- != 0;) b.cycle_with(true, false, data);
    b.cycle_with(true, true, data);
  }
}

// Taking valid back before ready is caught.
TEST(StreamCheckerDeathTest, ValidTakenBack) {
  EXPECT_DEATH(
      {
        StreamBench b;
        b.report_on_stderr();
        b.cycle_with(true, false, 1);
        b.cycle_with(false, false, 1);
      },
      "ValidStays");
}

// Changing the payload while it waits is caught, at the first and at a later edge of the wait.
TEST(StreamCheckerDeathTest, PayloadChanged) {
  for (int waits : {1, 3}) {
    EXPECT_DEATH(
        {
          StreamBench b;
          b.report_on_stderr();
          for (int i = 0; i < waits; ++i) b.cycle_with(true, false, 1);
          b.cycle_with(true, true, 2);
        },
        "PayloadStable");
  }
}

// A valid in reset is caught.
TEST(StreamCheckerDeathTest, ValidInReset) {
  EXPECT_DEATH(
      {
        StreamBench b;
        b.report_on_stderr();
        b.top->rst_ni = 0;
        b.cycle_with(false, false, 0);
        b.cycle_with(true, false, 0);
      },
      "NoValidInReset");
}

}  // namespace
}  // namespace rnic::test
