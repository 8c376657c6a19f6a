// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <regex>
#include <sstream>

#include "rnic/core/error.h"
#include "rnic/observe/run_directory.h"
#include "support/sample_run.h"

namespace rnic {
namespace {

using sample::kClock;
using sample::kQpn;
using sample::Message;

StageTable table(const Message& m) {
  return make_stage_table(m.events(), 0, kQpn, static_cast<uint16_t>(m.wqe), kClock);
}

/// A run with everything in it.
struct Sample {
  Sample() {
    sample::fill(recorder);
    rtl::event_t e;
    e.kind = 2;
    e.index = kQpn;
    e.wqe = 9;
    e.syndrome = 4;
    e.vendor = 6;
    recorder.on_error({0, 12'000'000, e});
    in.title = "Doorbell to MAC, 64 B UC WRITE";
    in.command = "rnicsim stages --size 64 --profile seed-400g --seed 1";
    in.profile = &profile;
    in.recorder = &recorder;
    in.tables.push_back(table({}));
    for (unsigned i = 1; i < 5; ++i) {
      Message m;
      m.wqe += i;
      m.first_bit += 3000 * i;
      m.last_bit += 3000 * i;
      in.tables.push_back(table(m));
    }
    std::vector<double> v;
    for (unsigned i = 0; i < 1000; ++i) v.push_back(283.7 + 40 * std::sin(i) * std::sin(i * 0.37) + i % 7);
    in.latencies_ns.push_back({"doorbell to first bit", v});
    in.latencies_ns.push_back({"always the same", std::vector<double>(12, 283.7)});
    in.result = {
        {"schema_version", 1},
        {"checks",
         {{{"name", "WQE fetch"},
           {"what", "duration"},
           {"expected", "at most 40 ns"},
           {"got", "34.7 ns"},
           {"passed", true}},
          {{"name", "MAC TX"}, {"what", "end"}, {"expected", "at most 300 ns"}, {"got", "301 ns"}, {"passed", false}}}},
        {"seed", 1},
        {"versions", {{"rnicsim", "0.1.0"}, {"verilator", "Verilator 5.006"}}},
        {"counters", {{"nic0", {{"tx_packets_phy", 5}, {"tx_bytes_phy", 640}, {"out_of_buffer", 0}}}}}};
  }
  std::string html(const std::string& name) const {
    const std::string path = testing::TempDir() + "rnic_" + name + ".html";
    write_report(path, in);
    return sample::read_file(path);
  }
  Profile profile = Profile::load("seed-400g");
  Recorder recorder;
  ReportInput in;
};

size_t count(const std::string& s, const std::string& what) {
  size_t n = 0;
  for (size_t at = s.find(what); at != std::string::npos; at = s.find(what, at + what.size())) ++n;
  return n;
}

/// Texts of the first picture with the boxes that they take.
struct Text {
  double left, right, top, bottom;
  std::string text;
};

std::vector<Text> texts(const std::string& html, size_t& from) {
  const size_t begin = html.find("<svg", from), end = html.find("</svg>", begin);
  from = end;
  const std::string svg = html.substr(begin, end - begin);
  static const std::regex pattern(
      "<text x='([-0-9.]+)' y='([-0-9.]+)'(?: text-anchor='(\\w+)')? font-size='([0-9.]+)'[^>]*>([^<]*)</text>");
  std::vector<Text> all;
  for (std::sregex_iterator i(svg.begin(), svg.end(), pattern), none; i != none; ++i) {
    const double x = std::stod((*i)[1]), y = std::stod((*i)[2]), size = std::stod((*i)[4]);
    const double w = 0.53 * size * static_cast<double>((*i)[5].length());  // mean of a sans-serif face
    const std::string anchor = (*i)[3];
    const double left = anchor == "middle" ? x - w / 2 : anchor == "end" ? x - w : x;
    all.push_back({left, left + w, y - 0.75 * size, y + 0.2 * size, (*i)[5]});
  }
  EXPECT_EQ(all.size(), count(svg, "<text")) << "a text that this test does not see";
  return all;
}

void expect_no_overlap(const std::string& html) {
  size_t at = 0;
  while (html.find("<svg", at) != std::string::npos) {
    const auto all = texts(html, at);
    for (size_t i = 0; i < all.size(); ++i) {
      EXPECT_GE(all[i].left, 0) << all[i].text;
      EXPECT_LE(all[i].right, 1150) << all[i].text;
      for (size_t j = 0; j < i; ++j) {
        const bool apart = all[i].right <= all[j].left || all[j].right <= all[i].left || all[i].bottom <= all[j].top ||
                           all[j].bottom <= all[i].top;
        EXPECT_TRUE(apart) << "'" << all[i].text << "' over '" << all[j].text << "'";
      }
    }
  }
}

// A whole report: every section is there, nothing refers to the outside, and no label lies over another.
TEST(ReportTest, Whole) {
  const std::string s = Sample().html("whole");
  for (const char* part :
       {"<h1>Doorbell to MAC, 64 B UC WRITE</h1>", "rnicsim stages --size 64", "<h2>Timeline", "<h2>Stages</h2>",
        "<h2>Further messages</h2>", "<h2>Latencies</h2>", "<h2>Counters</h2>", "<h2>Checks</h2>", ">FAILED</td>",
        "<h2>Error log</h2>", "error CQE written", "<h2>Frames</h2>", "UC WRITE_ONLY", "<h2>TLPs</h2>", "CplD len 16",
        "<h2>Profile keys", "by construction", "283.7 ns"}) {
    EXPECT_NE(s.find(part), std::string::npos) << part;
  }
  for (const char* outside : {"http:", "https:", "<script", "<link", "src=", "@import", "url("}) {
    EXPECT_EQ(s.find(outside), std::string::npos) << outside;
  }
  EXPECT_EQ(count(s, "<svg"), 4u);
  expect_no_overlap(s);
}

// Each part of each stage is a bar in its share's colour, and a row of the table with its keys.
TEST(ReportTest, BarsAndRowsForEveryPart) {
  Sample run;
  run.in.tables.resize(1);
  const std::string s = run.html("parts");
  size_t parts = 0;
  for (const Stage& st : run.in.tables[0].stages) parts += st.parts.size();
  EXPECT_EQ(count(s, "<tr class='part'>"), parts);
  EXPECT_EQ(count(s, "<rect class='"), parts);
  EXPECT_NE(s.find(fmt::format("devmem.read_latency = {} ns", run.profile.number("devmem.read_latency"))),
            std::string::npos);
}

// Labels stay apart for stages of 1 ns and of 3000 ns alike.
TEST(ReportTest, NoOverlapAtExtremes) {
  Message quick;
  quick.pins = 10'000'300;
  quick.db = 10'001'000;
  quick.dm_req = quick.dm_rsp = 0;
  uint64_t at = 10'002'000;
  for (uint64_t* ps :
       {&quick.wqe_ps, &quick.issue, &quick.rd_pins, &quick.mem_start, &quick.mem_end, &quick.cpl_pins, &quick.rd_done,
        &quick.mac, &quick.first_bit, &quick.last_bit, &quick.cqe_issue, &quick.cqe_visible}) {
    *ps = at;
    at += 1'000;
  }
  quick.cpl_pins -= 500;
  Message slow;
  for (uint64_t* ps : {&slow.mem_end, &slow.cpl_pins, &slow.rd_done, &slow.mac, &slow.first_bit, &slow.last_bit,
                       &slow.cqe_issue, &slow.cqe_visible}) {
    *ps += 3'000'000;
  }
  Message close;  // CQE, first and last bit within a ns
  close.cqe_issue = close.first_bit;
  close.last_bit = close.first_bit + 300;
  close.cqe_visible = close.first_bit + 600;
  Message late;
  late.cqe_visible += 500'000'000;
  Message large;  // the last bit and the CQE are far away
  for (uint64_t* ps : {&large.last_bit, &large.cqe_issue, &large.cqe_visible}) *ps += 20'000'000;
  unsigned n = 0;
  for (const Message& m : {quick, slow, close, late, large}) {
    Sample run;
    run.in.tables = {table(m), table({})};
    const std::string s = run.html(fmt::format("extreme{}", n++));
    expect_no_overlap(s);
    EXPECT_EQ(s.find("width='-"), std::string::npos);
    EXPECT_EQ(s.find("nan"), std::string::npos);
  }
}

// What comes from outside is escaped wherever it stands.
TEST(ReportTest, Escapes) {
  Sample run;
  const std::string evil = "<img src=x onerror='a()'>&\"";
  run.in.title = run.in.command = evil;
  run.in.latencies_ns[0].first = evil;
  run.in.result["text"] = evil;
  run.in.result[evil] = evil;
  run.in.result["counters"][evil] = evil;
  run.in.result["checks"][0]["name"] = evil;
  run.in.tables[0].stages[0].name = evil;
  run.in.tables[0].stages[0].parts[0].what = evil;
  run.in.tables[0].stages[0].parts[0].keys = {evil};
  const std::string s = run.html("escape");
  EXPECT_EQ(s.find("<img"), std::string::npos);
  EXPECT_EQ(s.find("onerror='"), std::string::npos);
  EXPECT_GE(count(s, "&lt;img src=x onerror=&#39;a()&#39;&gt;&amp;&quot;"), 10u);
}

// A report on nothing is a good page; equal inputs give equal bytes.
TEST(ReportTest, EmptyAndEqual) {
  ReportInput in{};
  in.title = "nothing";
  const std::string path = testing::TempDir() + "rnic_empty.html";
  write_report(path, in);
  EXPECT_NE(sample::read_file(path).find("</html>"), std::string::npos);
  EXPECT_EQ(Sample().html("a"), Sample().html("b"));
}

// Long lists are cut, and the report says of how many.
TEST(ReportTest, LongLists) {
  Sample run;
  for (unsigned i = 0; i < 200; ++i) sample::fill(run.recorder);
  const std::string s = run.html("long");
  EXPECT_NE(s.find("first 50 of 201 frames"), std::string::npos);
  EXPECT_NE(s.find("first 50 of 603 TLPs"), std::string::npos);
  EXPECT_LT(s.size(), 200'000u);
}

// Percentiles that the sample cannot support are dashes.
TEST(ReportTest, Percentiles) {
  Sample run;
  run.in.latencies_ns = {{"few", std::vector<double>(99, 5.0)}, {"hundred", std::vector<double>(100, 5.0)}};
  const std::string s = run.html("percentiles");
  EXPECT_NE(s.find("n 99 &middot; min 5 &middot; P50 5 &middot; P99 - &middot; P999 -"), std::string::npos);
  EXPECT_NE(s.find("n 100 &middot; min 5 &middot; P50 5 &middot; P99 5 &middot; P999 -"), std::string::npos);
}

// A path that cannot be written is an input error that names it.
TEST(ReportTest, UnwritablePath) { EXPECT_THROW(write_report("/nonexistent/report.html", Sample().in), InputError); }

// The viewer files stand beside the waveform, name it without a folder, and hold the same signals.
TEST(ViewersTest, Files) {
  const std::string folder = testing::TempDir() + "rnic_viewers";
  std::filesystem::create_directories(folder);
  write_viewer_files(folder + "/wave.fst");
  const std::string gtkw = sample::read_file(folder + "/wave.gtkw"), sucl = sample::read_file(folder + "/wave.sucl");
  EXPECT_NE(gtkw.find("[dumpfile] \"wave.fst\""), std::string::npos);
  EXPECT_EQ(sucl.find("load_file wave.fst\n"), 0u);
  std::istringstream in(gtkw);
  size_t signals = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.find("TOP.rnic_top.") != 0) continue;
    ++signals;
    EXPECT_NE(sucl.find("variable_add " + line.substr(0, line.find('[')) + "\n"), std::string::npos) << line;
  }
  EXPECT_GT(signals, 40u);
  EXPECT_EQ(count(sucl, "variable_add "), signals);
  EXPECT_EQ(count(gtkw, "@800200"), count(gtkw, "@1000200"));
}

}  // namespace
}  // namespace rnic
