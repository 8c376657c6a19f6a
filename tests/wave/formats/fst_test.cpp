// SPDX-License-Identifier: Apache-2.0
// Our reader of FST against the one that comes with Verilator, on random waves in every packing.
#include <gtest/gtest.h>
#include <gtkwave/fstapi.h>
#include <unistd.h>

#include <map>

#include "rnic/core/error.h"
#include "rnic/wave/reader.h"
#include "wave/formats/random_fst.h"
#include "wave/vcd.h"

namespace rnic::test {
namespace {

using wave::Reader;

/// Values of each signal by time; of several at one time the last. What does not change is left out, and so are unknown
/// values that nothing has been before: there the two readers may differ.
using History = std::map<uint32_t, std::map<uint64_t, std::string>>;
void add(History& h, uint32_t id, uint64_t time, std::string bits) { h[id][time] = std::move(bits); }
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

History by_ours(const std::string& path, uint64_t from, uint64_t to) {
  struct Take : wave::Visitor {
    void on_change(uint32_t id, uint64_t time, const char* bits, uint32_t width) override {
      EXPECT_GE(time, last);
      last = time;
      add(history, id, time, std::string(bits, width));
    }
    History history;
    uint64_t last = 0;
  } take;
  const auto r = Reader::open(path);
  std::vector<uint32_t> ids;
  for (const auto& s : r->signals()) ids.push_back(s.id);
  r->read(ids, from, to, take);
  tidy(take.history);
  return take.history;
}

History by_fstapi(const std::string& path, uint64_t from, uint64_t to) {
  void* c = fstReaderOpen(path.c_str());
  std::map<uint32_t, bool> vectors;
  while (const fstHier* h = fstReaderIterateHier(c)) {
    if (h->htyp != FST_HT_VAR) continue;
    vectors[h->u.var.handle] = h->u.var.typ != FST_VT_VCD_REAL && h->u.var.typ != FST_VT_GEN_STRING;
  }
  for (const auto& [id, vector] : vectors) {
    if (vector) fstReaderSetFacProcessMask(c, id);
  }
  History history;
  fstReaderIterBlocks(
      c,
      [](void* user, uint64_t time, fstHandle id, const unsigned char* value) {
        add(*static_cast<History*>(user), id, time, reinterpret_cast<const char*>(value));
      },
      &history, nullptr);
  fstReaderClose(c);
  // The range is cut here: fstapi's is one of whole blocks.
  for (auto& [id, changes] : history) {
    std::map<uint64_t, std::string> cut;
    for (const auto& [time, bits] : changes) {
      if (time <= to) cut[std::max(time, from)] = bits;
    }
    changes = cut;
  }
  tidy(history);
  return history;
}

struct FstFormatTest : testing::TestWithParam<int> {};

TEST_P(FstFormatTest, AgreesWithFstapi) {
  for (const uint64_t seed : {1, 2, 3}) {
    const TempFile f("a.fst", "");
    const uint64_t end = write_random_fst(f.path(), GetParam(), seed);
    for (const auto& [from, to] : std::initializer_list<std::pair<uint64_t, uint64_t>>{
             {0, ~uint64_t{0}}, {0, end / 2}, {end / 3, end / 2}, {end / 2, ~uint64_t{0}}, {end, end}}) {
      const History ours = by_ours(f.path(), from, to), theirs = by_fstapi(f.path(), from, to);
      EXPECT_GT(ours.size(), 20u);
      EXPECT_EQ(ours, theirs) << "seed " << seed << ", from " << from << " to " << to;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Packings, FstFormatTest, testing::Range(0, kFstPackings),
                         [](const auto& info) { return kFstPackingNames[info.param]; });

// Some signals are read as they are among all.
TEST(FstFormatTest, PartOfTheSignals) {
  const TempFile f("a.fst", "");
  write_random_fst(f.path(), 0, 4);
  const History all = by_ours(f.path(), 0, ~uint64_t{0});
  const auto r = Reader::open(f.path());
  for (const auto& s : r->signals()) {
    struct Take : wave::Visitor {
      void on_change(uint32_t id, uint64_t time, const char* bits, uint32_t width) override {
        add(history, id, time, std::string(bits, width));
      }
      History history;
    } take;
    r->read({s.id}, take);
    tidy(take.history);
    const auto it = all.find(s.id);
    EXPECT_EQ(take.history[s.id], it == all.end() ? History::mapped_type{} : it->second) << s.name;
    EXPECT_EQ(take.history.size(), 1u);
  }
}

// A signal that changes more than once at one time goes on changing, and its last value holds.
TEST(FstFormatTest, TwiceAtOneTime) {
  const TempFile f("a.fst", "");
  void* w = fstWriterCreate(f.path().c_str(), 1);
  const auto bit = fstWriterCreateVar(w, FST_VT_VCD_WIRE, FST_VD_IMPLICIT, 1, "bit", 0);
  const auto bus = fstWriterCreateVar(w, FST_VT_VCD_WIRE, FST_VD_IMPLICIT, 4, "bus", 0);
  for (uint64_t t = 0; t < 10; ++t) {
    fstWriterEmitTimeChange(w, 5 * t);
    for (const char* v : {"1", "0", t % 2 != 0 ? "1" : "0"}) fstWriterEmitValueChange(w, bit, v);
    for (const char* v : {"1010", t % 2 != 0 ? "0001" : "0110"}) fstWriterEmitValueChange(w, bus, v);
  }
  fstWriterClose(w);
  const History h = by_ours(f.path(), 0, ~uint64_t{0});
  EXPECT_EQ(h, by_fstapi(f.path(), 0, ~uint64_t{0}));
  EXPECT_EQ(h.at(bit).size(), 10u);
  EXPECT_EQ(h.at(bus).at(45), "0001");
}

// A process that was killed leaves blocks and a file with the names; without that file its wave is cut off.
TEST(FstFormatTest, KilledWriter) {
  const TempFile open("a.fst", ""), killed("b.fst", "");
  void* w = fstWriterCreate(open.path().c_str(), 0);
  const auto clk = fstWriterCreateVar(w, FST_VT_VCD_WIRE, FST_VD_IMPLICIT, 1, "clk", 0);
  const auto bus = fstWriterCreateVar(w, FST_VT_VCD_WIRE, FST_VD_IMPLICIT, 12, "bus", 0);
  for (uint64_t t = 0; t < 40; ++t) {
    fstWriterEmitTimeChange(w, t);
    fstWriterEmitValueChange(w, clk, t % 2 != 0 ? "1" : "0");
    if (t == 9) fstWriterEmitValueChange(w, bus, "00000000101x");
    if (t == 20) fstWriterFlushContext(w);
  }
  namespace fs = std::filesystem;
  fs::copy_file(open.path(), killed.path(), fs::copy_options::overwrite_existing);
  EXPECT_THROW(Reader::open(killed.path()), InputError);
  fs::copy_file(open.path() + ".hier", killed.path() + ".hier");
  const History h = by_ours(killed.path(), 0, ~uint64_t{0});
  EXPECT_EQ(h.at(bus), (History::mapped_type{{9, "00000000101x"}}));
  EXPECT_GE(h.at(clk).size(), 20u);
  fstWriterClose(w);
}

}  // namespace
}  // namespace rnic::test
