// SPDX-License-Identifier: Apache-2.0
// Values of a sweep, its table, what a difference between two results is, and how far keys are varied.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "rnic/core/error.h"
#include "rnic/core/file.h"
#include "rnic/profile/profile.h"
#include "rnic/study/axes.h"
#include "rnic/study/chart.h"
#include "rnic/study/compare.h"
#include "rnic/study/csv.h"
#include "rnic/study/sensitivity.h"

namespace rnic::study {
namespace {

using Values = std::vector<std::string>;

Axis axis(const std::string& text, Axis::Of of = Axis::Of::kKey) { return AxisText(of, text, "--set").list(); }

template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const InputError& e) {
    return e.what();
  }
  return "no error";
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string grid_error(const Values& texts, bool zip = false) {
  return error_of([&] {
    std::vector<AxisText> axes;
    for (const auto& t : texts) axes.emplace_back(Axis::Of::kKey, t, "--set");
    (void)make_grid(axes, zip);
  });
}

// Ranges count in decimals: what is written is what is run, and the end belongs to it when a step meets it.
TEST(AxisTest, RangesAreExact) {
  EXPECT_EQ(axis("gpu.read_latency=0:1:0.1").values,
            (Values{"0", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "1"}));
  EXPECT_EQ(axis("gpu.read_latency=100:500:150").values, (Values{"100", "250", "400"}));
  EXPECT_EQ(axis("gpu.read_latency=5:5:1").values, (Values{"5"}));
  EXPECT_EQ(axis("size=64:1000:x4", Axis::Of::kOption).values, (Values{"64", "256"}));
  EXPECT_EQ(axis("size=64:1024:x4,5000,7", Axis::Of::kOption).values, (Values{"64", "256", "1024", "5000", "7"}));
  EXPECT_EQ(axis("x=-1:1:0.5", Axis::Of::kOption).values, (Values{"-1", "-0.5", "0", "0.5", "1"}));
}

// A column says its unit; texts are values, too, of options.
TEST(AxisTest, UnitsAndKinds) {
  EXPECT_EQ(axis("gpu.read_latency=1").column(), "gpu.read_latency_ns");
  EXPECT_EQ(axis("mac.rate=100").column(), "mac.rate_gbps");
  EXPECT_EQ(axis("pcie.mps=128").column(), "pcie.mps_bytes");
  EXPECT_EQ(axis("pcie.lanes=1").column(), "pcie.lanes");
  EXPECT_EQ(axis("size=1", Axis::Of::kOption).column(), "size_bytes");
  EXPECT_FALSE(axis("mem=gpu,host", Axis::Of::kOption).numeric);
  EXPECT_EQ(axis("--mem=gpu,host", Axis::Of::kOption).words("host"), (Values{"--mem=host"}));
  EXPECT_EQ(axis("s=1", Axis::Of::kOption).words("1"), (Values{"-s", "1"}));
  EXPECT_EQ(axis("mac.rate=100").words("100"), (Values{"--set", "mac.rate=100"}));
}

// Every fault names the key and what would be right.
TEST(AxisTest, BadValuesAreErrors) {
  for (const auto& [text, part] : std::vector<std::pair<std::string, std::string>>{
           {"gpu.read_latency", "NAME=VALUES"},
           {"=1", "NAME=VALUES"},
           {"gpu.read_latency=", "has no values"},
           {"gpu.read_latency=1,,2", "empty value"},
           {"gpu.read_latency=1,", "empty value"},
           {"gpu.read_latency=1:2", "has no step"},
           {"gpu.read_latency=1:2:3:4", "too many colons"},
           {"gpu.read_latency=2:1:1", "is empty"},
           {"gpu.read_latency=2:1:x2", "is empty"},
           {"gpu.read_latency=1:2:0", "step that is not above 0"},
           {"gpu.read_latency=1:2:-1", "step that is not above 0"},
           {"gpu.read_latency=0:8:x2", "does not begin above 0"},
           {"gpu.read_latency=1:8:x1", "factor"},
           {"gpu.read_latency=1:8:x1.5", "factor"},
           {"gpu.read_latency=1:8:x", "no decimal number"},
           {"gpu.read_latency=1:nan:1", "'nan'"},
           {"gpu.read_latency=1:1e3:1", "'1e3'"},
           {"gpu.read_latency=0:99999999999999999999:1", "'99999999999999999999'"},
           {"gpu.read_latency=fast", "'fast' is no number"},
           {"gpu.read_latency=nan", "'nan' is no number"},
           {"gpu.read_latency=1,2,1.0", "1.0 twice"},
           {"gpu.read_latency=1,0:2:1", "1 twice"},
       }) {
    const auto what = grid_error({text});
    EXPECT_TRUE(has(what, part)) << text << ": " << what;
  }
}

// An unknown key comes with those that it may have been.
TEST(AxisTest, UnknownKeyNamesTheNearest) {
  const auto what = grid_error({"gpu.raed_latency=1"});
  EXPECT_TRUE(has(what, "'gpu.raed_latency'") && has(what, "gpu.read_latency") && has(what, "gpu.mmio_latency"))
      << what;
}

// The last axis is the fastest; zipped axes go side by side.
TEST(GridTest, Order) {
  const std::vector<AxisText> axes{{Axis::Of::kKey, "gpu.read_latency=1,2", "--set"},
                                   {Axis::Of::kKey, "mac.rate=100,200", "--set"}};
  EXPECT_EQ(make_grid(axes, false).points,
            (std::vector<Point>{{"1", "100"}, {"1", "200"}, {"2", "100"}, {"2", "200"}}));
  EXPECT_EQ(make_grid(axes, true).points, (std::vector<Point>{{"1", "100"}, {"2", "200"}}));
  EXPECT_EQ(name_of(make_grid(axes, true).axes, {"1", "100"}), "gpu.read_latency=1 mac.rate=100");
}

// Too many points are counted, not made.
TEST(GridTest, TooManyPointsAreCounted) {
  const auto big = grid_error({"gpu.read_latency=1:1000:1", "host.read_latency=1:1000:1", "mac.tx_latency=1:1000:1"});
  EXPECT_TRUE(has(big, "1000000000 points") && has(big, "100000")) << big;
  EXPECT_TRUE(has(grid_error({"gpu.read_latency=1:1000000000:1"}), "1000000000 points"));
  const Values most{"gpu.read_latency=0:1000000:0.000001", "host.read_latency=0:1000000:0.000001",
                    "mac.tx_latency=0:1000000:0.000001", "wire.latency=0:1000000:0.000001"};
  EXPECT_TRUE(has(grid_error(most), "more than 10^28")) << grid_error(most);
}

// What can't be one sweep is refused.
TEST(GridTest, BadGridsAreErrors) {
  EXPECT_TRUE(has(grid_error({}), "nothing to sweep over"));
  EXPECT_TRUE(has(grid_error({"mac.rate=100", "mac.rate=200"}), "swept twice"));
  EXPECT_TRUE(has(grid_error({"mac.rate=100,200", "gpu.read_latency=1"}, true), "has 1 values"));
}

// A table reads back as it was written, whatever the cells hold.
TEST(CsvTest, RoundTrip) {
  const Values cells{"a,b", "say \"x\"", "", "plain", "two\nlines"};
  const auto csv = parse_csv("one,two,three,four,five\n" + csv_line(cells), "t.csv");
  ASSERT_EQ(csv.rows.size(), 1u);
  EXPECT_EQ(csv.rows[0], (Values{"a,b", "say \"x\"", "", "plain", "two lines"}));
  EXPECT_EQ(parse_csv("a,b\r\n1,2\r\n", "t.csv").rows[0], (Values{"1", "2"}));
}

// Cut or broken tables are errors with their line.
TEST(CsvTest, BadTablesAreErrors) {
  for (const auto& [text, part] :
       std::vector<std::pair<std::string, std::string>>{{"", "is empty"},
                                                        {"a,b\n1,2\n3", "t.csv:3"},
                                                        {"a,b\n1,2,3\n", "t.csv:2"},
                                                        {"a,b\n1,\"2\n", "not closed"},
                                                        {"a,b\n\"1\"x,2\n", "behind a closed"},
                                                        {"a,a\n1,2\n", "'a' is there twice"}}) {
    const auto what = error_of([&] { (void)parse_csv(text, "t.csv"); });
    EXPECT_TRUE(has(what, part)) << text << ": " << what;
  }
}

nlohmann::json recorded(const char* which) {
  return nlohmann::json::parse(
      read_text(std::string(RNICSIM_TEST_DATA "/data/packetize_one_cycle/") + which + ".json", 1 << 20));
}

RunComparison compared(const nlohmann::json& a, const nlohmann::json& b, const CompareOptions& o = {}) {
  return compare(flatten(a, "a"), flatten(b, "b"), o);
}

/// The recorded result with stage `n` `ps` longer (a whole number of cycles), as if its block had been changed.
nlohmann::json longer(nlohmann::json j, size_t n, int64_t ps) {
  auto& t = j["table"];
  const int64_t end = t["stages"][n]["end_ps"];
  const auto shift = [&](nlohmann::json& o, const char* key, int64_t by) {
    if (o[key].is_number_integer())
      o[key] = o[key].get<int64_t>() + by;
    else
      o[key] = o[key].get<double>() + static_cast<double>(by) / 1000;
  };
  auto& changed = t["stages"][n];
  shift(changed, "end_ps", ps);
  shift(changed, "end_ns", ps);
  shift(changed, "end_cycle", ps / 1000);
  shift(changed, "duration_ns", ps);
  shift(changed, "rtl_ns", ps);
  shift(changed["parts"].back(), "end_ps", ps);
  shift(changed["parts"].back(), "duration_ns", ps);
  for (size_t k = 0; k < t["stages"].size(); ++k) {
    auto& s = t["stages"][k];
    if (k == n || s["start_ps"].get<int64_t>() < end) continue;
    for (const char* key : {"start_ps", "end_ps", "start_ns", "end_ns"}) shift(s, key, ps);
    for (const char* key : {"start_cycle", "end_cycle"}) shift(s, key, ps / 1000);
    for (auto& p : s["parts"]) shift(p, "start_ps", ps), shift(p, "end_ps", ps);
  }
  for (const char* key : {"first_bit_ps", "last_bit_ps", "doorbell_to_mac_ns", "doorbell_to_last_bit_ns"}) {
    if (n <= 3) shift(t, key, ps);
  }
  for (const char* key : {"cqe_issued_ps", "cqe_visible_ps"}) {
    if (n <= 2 || n == 4) shift(t, key, ps);
  }
  return j;
}

// Two commits, one register more in tx_packetizer: the stage is named, and all else is what it did.
TEST(CompareTest, RecordedCycleNamesItsStage) {
  const auto c = compared(recorded("before"), recorded("after"));
  EXPECT_FALSE(c.same);
  ASSERT_EQ(c.stages.changes.size(), 1u);
  EXPECT_EQ(c.stages.changes[0].text(), "packetize +1 cycle (15 -> 16), +1 ns");
  EXPECT_EQ(c.stages.note, "all later stages moved by +1 ns with it: MAC TX, CQE write");
  EXPECT_GT(c.figures.size(), 50u);
  for (const auto& d : c.figures) EXPECT_NE(d.moved_with, "") << d.name << " is left unexplained";
}

// Whichever stage it is, and by whatever number of cycles.
TEST(CompareTest, AnyStageIsNamed) {
  const auto before = recorded("before");
  for (size_t n = 0; n < before["table"]["stages"].size(); ++n) {
    for (const int64_t cycles : {-1, 1, 3}) {
      const auto c = compared(before, longer(before, n, 1000 * cycles));
      ASSERT_EQ(c.stages.changes.size(), 1u);
      EXPECT_EQ(c.stages.changes[0].stage, before["table"]["stages"][n]["name"]);
      EXPECT_EQ(*c.stages.changes[0].b_cycles - *c.stages.changes[0].a_cycles, cycles);
      ASSERT_EQ(c.stages.changes[0].parts.size(), 1u);
      for (const auto& d : c.figures) EXPECT_NE(d.moved_with, "") << d.name;
    }
  }
}

// Of two changes each is named; one that undoes the other is not hidden.
TEST(CompareTest, TwoStagesAreBothNamed) {
  const auto before = recorded("before");
  const auto c = compared(before, longer(longer(before, 1, 2000), 2, -2000));
  ASSERT_EQ(c.stages.changes.size(), 2u);
  EXPECT_EQ(c.stages.changes[0].text(), "DMA read +2 cycles (200 -> 202), +2 ns");
  EXPECT_EQ(c.stages.changes[1].text(), "packetize -2 cycles (15 -> 13), -2 ns");
  EXPECT_FALSE(c.same);
}

// A figure that no stage's change makes is a difference of its own beside it.
TEST(CompareTest, UnexplainedFigureStandsAlone) {
  const auto before = recorded("before");
  auto after = longer(before, 2, 1000);
  after["table"]["last_bit_ps"] = after["table"]["last_bit_ps"].get<int64_t>() + 320;
  after["counters"]["tx_packets_phy"] = 99;
  const auto c = compared(before, after);
  std::vector<std::string> alone;
  for (const auto& d : c.figures) {
    if (d.moved_with.empty()) alone.push_back(d.name);
  }
  EXPECT_EQ(alone, (Values{"counters.tx_packets_phy", "table.last_bit_ps"}));
}

// Who made it and where is shown and never fails; what was asked for only when wished.
TEST(CompareTest, IdentityAndConfiguration) {
  const auto before = recorded("before");
  auto after = before;
  after["command"] = "elsewhere";
  after["versions"]["compiler"] = "g++ 99";
  after["host"] = "other";
  after["wall_s"] = 12;
  auto c = compared(before, after);
  EXPECT_TRUE(c.same);
  EXPECT_EQ(c.identity.size(), 4u);
  after["options"]["mtu_bytes"] = 256;
  c = compared(before, after);
  EXPECT_TRUE(c.same);
  ASSERT_EQ(c.configuration.size(), 1u);
  EXPECT_EQ(c.configuration[0].name, "options.mtu_bytes");
  CompareOptions strict;
  strict.same_configuration = true;
  EXPECT_FALSE(compared(before, after, strict).same);
}

// Nothing is forgiven unless asked; a tolerance is for what its glob fits, in units or percent; the last one counts.
TEST(CompareTest, Tolerances) {
  const auto before = recorded("before");
  auto after = before;
  after["store_to_t0_ns"] = before["store_to_t0_ns"].get<double>() + 1;
  const auto same = [&](const Values& texts) {
    CompareOptions o;
    for (const auto& t : texts) o.tolerances.push_back(parse_tolerance(t));
    return compared(before, after, o).same;
  };
  EXPECT_FALSE(same({}));
  EXPECT_TRUE(same({"store_to_t0_ns=1"}));
  EXPECT_FALSE(same({"store_to_t0_ns=0.999"}));
  EXPECT_TRUE(same({"*_ns=1%"}));
  EXPECT_FALSE(same({"*_ns=0.5%"}));
  EXPECT_TRUE(same({"1%"}));
  EXPECT_FALSE(same({"latencies=100%"}));
  EXPECT_FALSE(same({"1%", "store*=0%"}));
  EXPECT_TRUE(same({"store*=0%", "store*=2"}));
  CompareOptions o;
  o.ignore = {"store_to_t0_ns"};
  EXPECT_TRUE(compared(before, after, o).same);
  for (const char* bad : {"", "x", "a=b", "=1", "a=-1", "a=nan", "a=inf", "a=1ns", "%"})
    EXPECT_TRUE(has(error_of([&] { (void)parse_tolerance(bad); }), "--tolerance")) << bad;
}

// What one side lacks is a difference, whichever side, and so are texts, booleans, and a figure that became a text.
TEST(CompareTest, MissingAndExtraFigures) {
  const auto before = recorded("before");
  for (const auto& [pointer, value] :
       std::vector<std::pair<const char*, nlohmann::json>>{{"/counters/db_rx", nullptr},
                                                           {"/counters/db_rx", "many"},
                                                           {"/counters/new_one", 1},
                                                           {"/status", "not finished"},
                                                           {"/table/stages/2/duration_ns", nullptr},
                                                           {"/finished", true}}) {
    auto after = before;
    after[nlohmann::json::json_pointer(pointer)] = value;
    EXPECT_FALSE(compared(before, after).same) << pointer;
    EXPECT_FALSE(compared(after, before).same) << pointer;
    CompareOptions o;
    o.tolerances.push_back(parse_tolerance("1000%"));
    EXPECT_FALSE(compared(before, after, o).same)
        << pointer << ": no tolerance makes up for a figure that is not there";
  }
}

// A whole result is compared, and equal to itself.
TEST(CompareTest, ResultEqualsItself) {
  const auto c = compared(recorded("before"), recorded("before"));
  EXPECT_TRUE(c.same);
  EXPECT_GT(c.compared, 100u);
  EXPECT_TRUE(c.figures.empty() && c.configuration.empty() && c.identity.empty() && c.stages.changes.empty());
}

// A result that is nested without end is an error, not a crash.
TEST(CompareTest, DeepResultIsAnError) {
  nlohmann::json j = 1;
  for (int k = 0; k < 1000; ++k) j = nlohmann::json{{"a", j}};
  EXPECT_TRUE(has(error_of([&] { (void)flatten(j, "deep.json"); }), "nested deeper"));
}

const VariedKey& key(const std::vector<VariedKey>& keys, const std::string& name) {
  for (const auto& k : keys) {
    if (k.name == name) return k;
  }
  throw std::runtime_error("no key " + name);
}

// By the percentage where that is allowed, otherwise what is next to it, and it is said.
TEST(SensitivityTest, ValuesStayWithinWhatIsAllowed) {
  auto p = Profile::load("seed-400g");
  p.set("pcie.ph_credits=127");
  p.set("pcie.nph_credits=2");
  p.set("pcie.pd_credits=4");
  p.set("wire.latency=0.001");
  const auto keys = varied_keys(p, 20);
  EXPECT_EQ(key(keys, "gpu.read_latency").lo.value, "68.8");
  EXPECT_EQ(key(keys, "gpu.read_latency").hi.value, "103.2");
  EXPECT_EQ(key(keys, "gpu.read_latency").lo.note, "");
  EXPECT_EQ(key(keys, "clock.core_period").lo.value, "800");
  EXPECT_EQ(key(keys, "pcie.lanes").lo.value, "12");
  EXPECT_EQ(key(keys, "pcie.lanes").lo.note, "12 instead of 12.8: the next allowed");
  EXPECT_EQ(key(keys, "pcie.lanes").hi.value, "");
  EXPECT_EQ(key(keys, "pcie.lanes").hi.note, "16 is the largest allowed");
  EXPECT_EQ(key(keys, "bar.decode_latency").lo.value, "");
  EXPECT_EQ(key(keys, "pcie.ph_credits").hi.note, "127 is the largest allowed");
  EXPECT_EQ(key(keys, "pcie.nph_credits").lo.value, "1");
  EXPECT_EQ(key(keys, "pcie.nph_credits").lo.note, "1 instead of 1.6: one step");
  EXPECT_EQ(key(keys, "wire.latency").hi.value, "0.002");
  EXPECT_TRUE(has(key(keys, "pcie.pd_credits").lo.note, "allowed: 0 (no limit), 4 to"))
      << key(keys, "pcie.pd_credits").lo.note;
  for (const auto& k : keys) {
    EXPECT_NE(k.name.substr(0, 6), "build.");
    for (const auto* s : {&k.lo, &k.hi}) {
      if (s->value.empty()) continue;
      EXPECT_NO_THROW(Profile(p).set(k.name, s->value)) << k.name;
    }
  }
}

// The largest effect comes first, and a key's stages are those whose durations moved.
TEST(SensitivityTest, LargestEffectFirst) {
  const auto nominal = recorded("before");
  std::vector<VariedKey> keys(2);
  keys[0].name = "small";
  keys[0].lo.value = "1";
  keys[1].name = "large";
  keys[1].hi.value = "2";
  std::vector<Outcome> outcomes(2);
  outcomes[0].status = outcomes[1].status = "passed";
  outcomes[0].figures = flatten(longer(nominal, 2, -1000), "lo");
  outcomes[1].figures = flatten(longer(nominal, 1, 5000), "hi");
  const auto s = sensitivity_of(keys, outcomes, flatten(nominal, "nominal"), "table.doorbell_to_last_bit_ns", 20);
  EXPECT_EQ(s.keys[0].name, "large");
  EXPECT_NEAR(s.keys[0].effect(s.nominal), 5, 1e-9);
  EXPECT_EQ(stages_text(s.keys[0]), "DMA read - / +5 ns");
  EXPECT_EQ(stages_text(s.keys[1]), "packetize -1 / - ns");
  EXPECT_TRUE(has(error_of([&] { (void)sensitivity_of({}, {}, flatten(nominal, "n"), "table.doorbell_to_mac", 20); }),
                  "table.doorbell_to_mac_ns"));
}

// Ticks are round, and hold the range.
TEST(ChartTest, TicksAreRound) {
  for (const auto& [lo, hi] :
       std::vector<std::pair<double, double>>{{0, 1}, {437.16, 601.5}, {-3, 9e9}, {5, 5}, {0, 0}, {1e-9, 2e-9}}) {
    const auto t = ticks(lo, hi, 7);
    ASSERT_GE(t.size(), 2u);
    EXPECT_LE(t.front(), lo);
    EXPECT_GE(t.back(), hi);
    EXPECT_LE(t.size(), 16u);
  }
  EXPECT_EQ(ticks(0, 100, 5), (std::vector<double>{0, 20, 40, 60, 80, 100}));
}

// Whatever a name holds, the picture stays one picture.
TEST(ChartTest, NamesAreEscaped) {
  LineChart c;
  c.title = "<script>";
  c.x_label = "a&b";
  c.series = {{"\"><x", {{1, 2}, {2, 3}}}, {"other", {{1, 4}}}};
  const auto s = svg_of(c);
  EXPECT_FALSE(has(s, "<script>") || has(s, "\"><x") || has(s, "a&b"));
  EXPECT_TRUE(has(s, "<polyline"));
}

}  // namespace
}  // namespace rnic::study
