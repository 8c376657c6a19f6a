// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <deque>
#include <fstream>
#include <map>
#include <sstream>
#include <utility>

#include "Vpcie_tlp_gen.h"
#include "rtl/bench.h"
#include "rtl/tlp_beats.h"
#include "support/latency.h"

namespace rnic::test {
namespace {

using golden::Tlp;

constexpr uint16_t kRequester = 0x0100;

struct Request {
  bool write = false;
  uint64_t addr = 0;
  unsigned len = 0;
  uint16_t tag = 0;
  std::vector<uint8_t> data;  ///< Writes.
  uint16_t id = 0;
  uint8_t attr = 0;  ///< ID-based ordering, relaxed ordering, no snoop.
};

struct Sent {
  Tlp tlp;
  uint16_t id;
  uint64_t cycle;  ///< In which its first beat was valid.
};

/// Feeds requests and completions, collects TLPs and parsed completions.
class GenBench : public Bench<Vpcie_tlp_gen> {
 public:
  explicit GenBench(uint64_t seed = test_seed()) : Bench(seed) {
    top->link_rst_ni = 1;
    cfg.ro_en = cfg.ido_en = true;
    cfg.bus_master = true;
    cfg.ext_tag = true;
    cfg.requester_id = kRequester;
    fc.p_inf = fc.np_inf = true;
  }

  void step() {
    rtl::drive(top->cfg_i, cfg);
    rtl::drive(top->fc_i, fc);
    if (!rd_valid_) rd_valid_ = !reads.empty() && chance(req_pct);
    if (!wr_valid_) wr_valid_ = !writes.empty() && !wr_taken_ && chance(req_pct);
    if (!wd_valid_) wd_valid_ = !writes.empty() && !wd_taken_ && chance(data_pct);
    top->treq_rd_valid_i = rd_valid_;
    top->treq_wr_valid_i = wr_valid_;
    top->twd_valid_i = wd_valid_;
    if (rd_valid_) rtl::drive(top->treq_rd_i, treq(reads.front()));
    if (wr_valid_) rtl::drive(top->treq_wr_i, treq(writes.front()));
    if (wd_valid_) {
      const Request& w = writes.front();
      const auto padded = golden::make_write(w.addr, w.data, 0, 0).payload;
      rtl::tlp_wdata_t d;
      d.last = (beat_ + 1) * 64 >= padded.size();
      d.data = beat_data(padded, beat_ * 64);
      rtl::drive(top->twd_i, d);
    }
    top->tlp_tx_ready_i = chance(ready_pct);
    const bool rx = !rx_beats.empty() && chance(rx_pct);
    top->tlp_rx_valid_i = rx;
    if (rx) rtl::drive(top->tlp_rx_i, rx_beats.front());
    settle();

    if (top->tlp_tx_valid_o && !first_seen_) first_cycle_ = cycle, first_seen_ = true;
    if (top->tlp_tx_valid_o && top->tlp_tx_ready_i) {
      const auto b = rtl::sample<rtl::tlp_beat_t>(top->tlp_tx_o);
      if (b.sop) start_cycle_ = first_cycle_;
      first_seen_ = false;
      heads += b.sop;
      const bool own = !std::exchange(old_, false);
      if (auto t = collector.push(b)) {
        EXPECT_EQ(top->twr_sent_o, t->is_write() && own);
        sent.push_back({*t, collector.op().wqe, start_cycle_});
      } else {
        EXPECT_FALSE(top->twr_sent_o);
      }
    } else {
      EXPECT_FALSE(top->twr_sent_o);
    }
    if (top->cpl_valid_o) completions.push_back(rtl::sample<rtl::cpl_t>(top->cpl_o));
    unexpected += top->stat_unexpected_o;
    malformed += top->stat_malformed_o;
    if (rx) {
      EXPECT_TRUE(top->tlp_rx_ready_o);
      rx_beats.pop_front();
    }
    if (rd_valid_ && top->treq_rd_ready_o) reads.pop_front(), rd_valid_ = false;
    if (wr_valid_ && top->treq_wr_ready_o) wr_valid_ = false, wr_taken_ = true;
    if (wd_valid_ && top->twd_ready_o) {
      wd_valid_ = false;
      wd_taken_ = ++beat_ * 64 >= golden::make_write(writes.front().addr, writes.front().data, 0, 0).payload.size();
    }
    if (wr_taken_ && wd_taken_) {
      writes.pop_front();
      beat_ = 0;
      wr_taken_ = wd_taken_ = false;
    }
    tick();
    ASSERT_EQ(collector.error(), "");
  }

  void run(unsigned n) {
    for (unsigned i = 0; i < n && !::testing::Test::HasFatalFailure(); ++i) step();
  }

  /// Function-level reset for n cycles. What stands at the pins still goes; a write it belongs to never ends.
  void function_reset(unsigned n) {
    reads.clear(), writes.clear();
    rd_valid_ = wr_valid_ = wd_valid_ = wr_taken_ = wd_taken_ = false;
    beat_ = 0;
    top->rst_ni = 0;
    settle();
    old_ = top->tlp_tx_valid_o;
    run(n);
    top->rst_ni = 1;
    while (old_) step();
    collector = TlpCollector();
  }

  void send(const Tlp& t) {
    for (const auto& b : to_beats(t)) rx_beats.push_back(b);
  }

  bool quiet() {
    settle();
    return top->idle_o && !top->tlp_tx_valid_o && !top->cpl_valid_o && !collector.inside();
  }

  rtl::pcie_cfg_t cfg;
  rtl::pcie_fc_t fc;
  unsigned req_pct = 100, data_pct = 100, ready_pct = 100, rx_pct = 100;
  std::deque<Request> reads, writes;
  std::deque<rtl::tlp_beat_t> rx_beats;
  std::vector<Sent> sent;
  std::vector<rtl::cpl_t> completions;
  unsigned unexpected = 0, malformed = 0, heads = 0;
  TlpCollector collector;

 private:
  static rtl::tlp_req_t treq(const Request& r) {
    rtl::tlp_req_t t;
    t.write = r.write;
    t.addr = r.addr;
    t.len = static_cast<uint16_t>(r.len);
    t.tag = r.tag;
    t.attr = r.attr;
    t.op.wqe = r.id;
    return t;
  }
  bool old_ = false, rd_valid_ = false, wr_valid_ = false, wd_valid_ = false, wr_taken_ = false, wd_taken_ = false,
       first_seen_ = false;
  size_t beat_ = 0;
  uint64_t first_cycle_ = 0, start_cycle_ = 0;
};

Request read_of(uint64_t addr, unsigned len, uint16_t tag = 0, uint16_t id = 0) {
  return {false, addr, len, tag, {}, id, 0};
}
Request with_attr(Request r, uint8_t attr) {
  r.attr = attr;
  return r;
}

Request write_of(uint64_t addr, const std::vector<uint8_t>& data, uint16_t tag = 0, uint16_t id = 0) {
  return {true, addr, static_cast<unsigned>(data.size()), tag, data, id};
}

std::vector<uint8_t> random_bytes(std::mt19937_64& rng, unsigned n) {
  std::vector<uint8_t> v(n);
  for (auto& b : v) b = static_cast<uint8_t>(rng());
  return v;
}

/// Offset within a page and a length that stays in it, with the ends of both ranges drawn often.
std::pair<uint64_t, unsigned> random_span(std::mt19937_64& rng) {
  static const uint64_t pages[] = {0x0, 0x1000, 0xFFFFF000, 0x100000000, 0x123456789000, 0xFFFFFFFFFFFFF000};
  const uint64_t page = pages[rng() % 6];
  const unsigned off = static_cast<unsigned>(rng() % 2 ? rng() % 4096 : 4095 - rng() % 70);
  const unsigned room = 4096 - off;
  const unsigned want = static_cast<unsigned>(rng() % 3 == 0 ? 1 + rng() % 9 : 1 + rng() % 4096);
  return {page + off, std::min(room, want)};
}

std::string hex(const std::vector<uint8_t>& v) {
  static const char* digits = "0123456789abcdef";
  std::string s;
  for (uint8_t b : v) s += digits[b >> 4], s += digits[b & 15];
  return s;
}

// Requests equal, byte for byte, the reference rows that another implementation made.
TEST(PcieTlpGenTest, RequestBytesEqualReferenceVectors) {
  std::ifstream in(RNIC_TEST_DATA "/pcie_vectors.txt");
  ASSERT_TRUE(in);
  std::map<std::string, std::string> rows;
  for (std::string line; std::getline(in, line);) {
    if (line.size() < 36) continue;
    std::string name = line.substr(0, 35);
    name.erase(name.find_last_not_of(' ') + 1);
    std::istringstream rest(line.substr(35));
    std::string bytes;
    rest >> bytes;
    rows[name] = bytes;
  }
  const std::vector<std::pair<std::string, Request>> cases = {
      {"MRd32 0x1000 64B", read_of(0x1000, 64, 0x5A)},
      {"MRd64 0x1_2345_6781 5B", read_of(0x123456781, 5, 0x5A)},
      {"MRd64 zero-length 0x1_0000_0000", read_of(0x100000000, 0, 0x5A)},
      {"MRd32 4096B @0x2000", read_of(0x2000, 4096, 0x5A)},
      {"MRd64 tag 0x3ff RO|NS|IDO", with_attr(read_of(0x200000000, 128, 0x3FF), 7)},
      {"MWr32 0x1003 2B", write_of(0x1003, {0xAA, 0xBB}, 0x5A)},
      {"MWr64 0x1_0000_0010 8B", write_of(0x100000010, {0, 1, 2, 3, 4, 5, 6, 7}, 0x5A)},
  };
  unsigned agreed = 0;
  for (const auto& [name, request] : cases) {
    ASSERT_EQ(rows.count(name), 1u) << name;
    GenBench b;
    (request.write ? b.writes : b.reads).push_back(request);
    b.run(20);
    ASSERT_EQ(b.sent.size(), 1u) << name;
    EXPECT_EQ(hex(b.sent[0].tlp.bytes()), rows[name]) << name;
    ++agreed;
  }
  EXPECT_EQ(agreed, 7u);  // all request rows of the file
}

// Length and byte enables of the cases that are easily got wrong.
TEST(PcieTlpGenTest, ByteEnables) {
  struct Case {
    uint64_t addr;
    unsigned len, dws, first, last;
  };
  for (const Case& c : {Case{0x1001, 3, 1, 0xE, 0x0}, Case{0x1003, 7, 3, 0x8, 0x3}, Case{0x1002, 4, 2, 0xC, 0x3},
                        Case{0x1FFF, 1, 1, 0x8, 0x0}, Case{0x1FFC, 4, 1, 0xF, 0x0}, Case{0x2000, 4096, 1024, 0xF, 0xF},
                        Case{0x2000, 4095, 1024, 0xF, 0x7}}) {
    GenBench b;
    b.reads.push_back(read_of(c.addr, c.len, 0x3FF));
    b.run(20);
    ASSERT_EQ(b.sent.size(), 1u);
    const Tlp& t = b.sent[0].tlp;
    EXPECT_EQ(t.addr, c.addr & ~uint64_t{3});
    EXPECT_EQ(t.length_dw, c.dws) << std::hex << c.addr;
    EXPECT_EQ(t.first_be, c.first) << std::hex << c.addr;
    EXPECT_EQ(t.last_be, c.last) << std::hex << c.addr;
    EXPECT_EQ(t.tag, 0x3FF);
  }
}

// The largest requests, of 1024 DWs, which the length field writes as 0, with addresses of 32 and of 64 bits.
TEST(PcieTlpGenTest, LargestRequests) {
  for (uint64_t addr : {uint64_t{0x2000}, uint64_t{0x500002000}}) {
    GenBench b;
    const auto data = random_bytes(b.rng, 4096);
    b.reads.push_back(read_of(addr, 4096, 9));
    b.writes.push_back(write_of(addr, data));
    b.run(200);
    ASSERT_EQ(b.sent.size(), 2u);
    for (const Sent& s : b.sent) {
      const Tlp want = s.tlp.is_write() ? golden::make_write(addr, data, kRequester, 0)
                                        : golden::make_read(addr, 4096, kRequester, 9);
      EXPECT_EQ(hex(s.tlp.bytes()), hex(want.bytes()));
    }
    EXPECT_NE(b.sent[0].tlp.is_write(), b.sent[1].tlp.is_write());
  }
}

// Any mixture of reads and writes comes out whole, each channel in its order, under every pace of source and sink.
TEST(PcieTlpGenTest, EveryRequestOnceAndInOrder) {
  for (unsigned req : {100u, 40u}) {
    for (unsigned data : {100u, 50u}) {
      for (unsigned ready : {100u, 60u, 20u}) {
        GenBench b;
        b.req_pct = req;
        b.data_pct = data;
        b.ready_pct = ready;
        std::deque<Request> want[2];
        for (uint16_t i = 0; i < 120; ++i) {
          const auto [addr, len] = random_span(b.rng);
          const uint16_t tag = static_cast<uint16_t>(b.rng() % 1024);
          const Request r = b.rng() % 2 ? write_of(addr, random_bytes(b.rng, std::min(len, 600u)), tag, i)
                                        : read_of(addr, len, tag, i);
          want[r.write].push_back(r);
          (r.write ? b.writes : b.reads).push_back(r);
        }
        b.run(12000);
        ASSERT_EQ(b.sent.size(), 120u);
        for (const Sent& s : b.sent) {
          auto& q = want[s.tlp.is_write()];
          ASSERT_FALSE(q.empty());
          const Request& r = q.front();
          const Tlp t = r.write ? golden::make_write(r.addr, r.data, kRequester, r.tag)
                                : golden::make_read(r.addr, r.len, kRequester, r.tag);
          ASSERT_EQ(hex(s.tlp.bytes()), hex(t.bytes()));
          ASSERT_EQ(s.id, r.id);
          q.pop_front();
        }
        EXPECT_TRUE(b.quiet());
      }
    }
  }
}

Tlp completion(uint16_t tag, unsigned dws, uint8_t status = golden::kCplSc) {
  Tlp t;
  t.fmt_type = dws ? golden::kCplD : golden::kCpl;
  t.length_dw = dws;
  t.requester_id = kRequester;
  t.completer_id = 0x0200;
  t.tag = tag;
  t.status = status;
  t.byte_count = dws ? dws * 4 : 4;
  t.lower_addr = 0x24;
  t.payload.resize(dws * 4);
  for (size_t i = 0; i < t.payload.size(); ++i) t.payload[i] = static_cast<uint8_t>(i * 7 + tag);
  return t;
}

// A request is on the pins one cycle after it was given, and a completion inside one cycle after the pins.
TEST(PcieTlpGenTest, OneCycleEachWay) {
  GenBench b;
  b.reads.push_back(read_of(0x1000, 64));
  uint64_t start = b.cycle;
  b.run(20);
  ASSERT_EQ(b.sent.size(), 1u);
  const auto out = static_cast<int64_t>(b.sent[0].cycle - start);
  b.send(completion(0x2A5, 1));
  start = b.cycle;
  while (b.completions.empty() && b.cycle < start + 100) b.step();
  const auto in = static_cast<int64_t>(b.cycle - 1 - start);
  EXPECT_TRUE(takes_cycles({"pcie_tlp_gen"}, {1, 1}, {out, in}));
}

// A stream of one-beat requests keeps the pins busy, reads and writes in turn.
TEST(PcieTlpGenTest, FullRate) {
  GenBench c;
  for (int i = 0; i < 50; ++i) {
    c.reads.push_back(read_of(0x1000, 64));
    c.writes.push_back(write_of(0x2000, std::vector<uint8_t>(64, 7)));
  }
  c.run(150);
  ASSERT_EQ(c.sent.size(), 100u);
  EXPECT_EQ(c.sent.back().cycle - c.sent.front().cycle, 99u);
  for (size_t i = 1; i < c.sent.size(); ++i) EXPECT_NE(c.sent[i].tlp.is_write(), c.sent[i - 1].tlp.is_write());
}

// No TLP goes beyond a limit, each goes out as soon as the limit allows it, and the counts survive their wrap.
TEST(PcieTlpGenTest, CreditsBindAndWrap) {
  GenBench b;
  b.fc = {};
  unsigned ph = 0, pd = 0, nph = 0;  // limits, not wrapped
  unsigned used_ph = 0, used_pd = 0, used_nph = 0;
  size_t seen = 0;
  unsigned exact = 0;
  for (int round = 0; round < 3000; ++round) {
    if (b.writes.size() < 2) {
      b.writes.push_back(write_of(0x1000 + b.rng() % 64, random_bytes(b.rng, 1 + b.rng() % 256)));
    }
    if (b.reads.size() < 2) b.reads.push_back(read_of(0x3000, 64));
    // Grants come one at a time, and only while the outstanding ones stay within half of the range.
    switch (b.rng() % 3) {
      case 0:
        ph += ph - used_ph < 100;
        break;
      case 1:
        pd += pd - used_pd < 1500 ? static_cast<unsigned>(b.rng() % 20) : 0;
        break;
      default:
        nph += nph - used_nph < 100;
        break;
    }
    b.fc.ph = ph & 0xFF;
    b.fc.pd = pd & 0xFFF;
    b.fc.nph = nph & 0xFF;
    b.run(6);
    for (; seen < b.sent.size(); ++seen) {
      const Tlp& t = b.sent[seen].tlp;
      if (t.is_write())
        ++used_ph, used_pd += t.data_credits();
      else
        ++used_nph;
    }
    ASSERT_LE(used_ph, ph);
    ASSERT_LE(used_pd, pd);
    ASSERT_LE(used_nph, nph);
    exact += used_ph == ph || used_nph == nph;
  }
  EXPECT_GT(used_ph, 600u);
  EXPECT_GT(used_pd, 5000u);
  EXPECT_GT(used_nph, 600u);
  EXPECT_GT(exact, 100u);
}

// With one header credit and exactly the data credits of the TLP a write goes out; with one data credit less it does
// not.
TEST(PcieTlpGenTest, MinimumCredits) {
  for (unsigned len : {1u, 13u, 16u, 17u, 64u, 1024u, 4096u}) {
    const unsigned need = (len + 15) / 16;
    for (unsigned short_by : {1u, 0u}) {
      GenBench b;
      b.fc = {};
      b.fc.ph = 1;
      b.fc.pd = static_cast<uint16_t>(need - short_by);
      b.writes.push_back(write_of(0x4000, std::vector<uint8_t>(len, 1)));
      b.run(80);
      EXPECT_EQ(b.sent.size(), 1u - short_by) << len;
    }
  }
  GenBench b;
  b.fc = {};
  b.fc.pd = 100;
  b.writes.push_back(write_of(0x4000, {1}));
  b.run(20);
  EXPECT_TRUE(b.sent.empty());
}

// The largest limits that a receiver may advertise let requests go at once.
TEST(PcieTlpGenTest, LargestCredits) {
  GenBench b;
  b.fc = {};
  b.fc.ph = b.fc.nph = 127;
  b.fc.pd = 2047;
  b.writes.push_back(write_of(0x4000, std::vector<uint8_t>(64, 1)));
  b.reads.push_back(read_of(0x1000, 64));
  b.run(20);
  EXPECT_EQ(b.sent.size(), 2u);
}

// Relaxed and ID-based ordering are asked for only where configuration software allows them.
TEST(PcieTlpGenTest, AttributesNeedTheirEnable) {
  for (unsigned enabled = 0; enabled < 4; ++enabled) {
    GenBench b;
    b.cfg.ro_en = enabled & 1;
    b.cfg.ido_en = enabled & 2;
    for (uint8_t attr = 0; attr < 8; ++attr) {
      b.reads.push_back(with_attr(read_of(0x1000, 64, attr), attr));
      b.run(4);
      ASSERT_EQ(b.sent.size(), attr + 1u);
      EXPECT_EQ(b.sent.back().tlp.ro, (attr & 2) && b.cfg.ro_en);
      EXPECT_EQ(b.sent.back().tlp.ido, (attr & 4) && b.cfg.ido_en);
      EXPECT_EQ(b.sent.back().tlp.ns, attr & 1);
    }
  }
}

// Reads never ask for more completions than there is room for, cut as they may be; one that alone needs more goes
// alone. All go in the end, whatever the room, and writes never wait for it.
TEST(PcieTlpGenTest, RoomForCompletions) {
  for (auto [cplh, cpld] : {std::pair<unsigned, unsigned>{1, 1}, {4, 0}, {0, 16}, {12, 40}, {200, 3000}}) {
    for (bool rcb : {false, true}) {
      GenBench b;
      b.cfg.rcb = rcb;
      b.cfg.cplh = static_cast<uint8_t>(cplh);
      b.cfg.cpld = static_cast<uint16_t>(cpld);
      golden::Completer worst;
      worst.rcb = rcb ? 128 : 64;
      worst.mps = 4096;
      worst.cut = [] { return true; };
      worst.read = [](uint64_t, unsigned n) { return std::vector<uint8_t>(n); };
      std::deque<std::pair<unsigned, unsigned>> open;
      unsigned headers = 0, data = 0, most = 0;
      for (int i = 0; i < 200; ++i) {
        const uint64_t addr = b.rng() >> 20;
        const auto room = static_cast<unsigned>(4096 - addr % 4096);
        b.reads.push_back(read_of(addr, static_cast<unsigned>(i % 10 ? 1 + b.rng() % std::min(room, 600u) : 0), 1));
      }
      for (int i = 0; i < 20000 && (!b.reads.empty() || !open.empty()); ++i) {
        const bool back = !open.empty() && b.chance(10);
        b.top->back_h_i = back ? open.front().first : 0;
        b.top->back_d_i = back ? open.front().second : 0;
        const size_t before = b.sent.size();
        b.step();
        if (back) {
          headers -= open.front().first, data -= open.front().second;
          open.pop_front();
        }
        for (size_t k = before; k < b.sent.size(); ++k) {
          unsigned h = 0, d = 0;
          for (const Tlp& c : worst.complete(b.sent[k].tlp)) h += 1, d += c.data_credits();
          open.push_back({h, d});
          headers += h, data += d;
          // A read shows a cycle after it was let go: room given back since is not in the sum any more.
          ASSERT_TRUE(open.size() == 1 || ((!cplh || headers <= cplh) && (!cpld || data <= cpld)))
              << headers << " " << data;
          most = std::max(most, static_cast<unsigned>(open.size()));
        }
      }
      EXPECT_TRUE(b.reads.empty() && open.empty());
      if (cplh > 1) {
        EXPECT_GT(most, 1u);
      }
      b.top->back_h_i = b.top->back_d_i = 0;
      b.reads.push_back(read_of(0x1000, 4096, 1));
      b.reads.push_back(read_of(0x1000, 4096, 2));
      b.writes.push_back(write_of(0x2000, std::vector<uint8_t>(64), 3));
      b.run(30);
      EXPECT_TRUE(b.writes.empty());
    }
  }
}

// Function-level reset anywhere: what stands at the pins goes unreported, a write is cut off there without an end, and
// every TLP that began has used its credits, no other.
TEST(PcieTlpGenTest, FunctionResetKeepsTheLink) {
  for (unsigned at = 1; at < 40; ++at) {
    for (unsigned n : {1u, 3u}) {
      GenBench b;
      b.ready_pct = at % 2 ? 100 : 40;
      b.fc.p_inf = b.fc.np_inf = false;
      b.fc.ph = b.fc.nph = 60;
      b.fc.pd = 2000;
      const auto add = [&b] {
        for (int i = 0; i < 10; ++i) {
          b.reads.push_back(read_of(0x1000, 64, 1));
          b.writes.push_back(write_of(0x2000, std::vector<uint8_t>(300), 2));
        }
      };
      add();
      golden::Completer completer;
      completer.mps = 4096;
      completer.read = [](uint64_t, unsigned k) { return std::vector<uint8_t>(k); };
      b.send(completer.complete(golden::make_read(0x1000, 4096, b.cfg.requester_id, 5))[0]);
      b.run(at);
      b.function_reset(n);
      const size_t before = b.sent.size();
      add();
      b.run(400);
      ASSERT_EQ(b.sent.size(), before + 20);
      EXPECT_TRUE(b.quiet());
      // Exactly the credits are left that nobody used.
      for (int i = 0; i < 100; ++i) b.reads.push_back(read_of(0x1000, 64, 1));
      b.run(400);
      for (int i = 0; i < 100; ++i) b.writes.push_back(write_of(0x2000, std::vector<uint8_t>(4), 2));
      b.run(400);
      EXPECT_EQ(b.heads, 120u);
      // A completion goes through it whole.
      ASSERT_EQ(b.completions.size(), 64u);
      EXPECT_TRUE(b.completions[63].eop);
      EXPECT_EQ(b.completions[63].status, rtl::rnic_pkg::DmaOk);
    }
  }
}

// A write passes a read that has no credit.
TEST(PcieTlpGenTest, PostedPassesNonPosted) {
  GenBench b;
  b.fc = {};
  b.fc.p_inf = true;
  b.reads.push_back(read_of(0x1000, 64));
  b.run(5);
  for (int i = 0; i < 3; ++i) b.writes.push_back(write_of(0x2000, std::vector<uint8_t>(100, 2)));
  b.run(20);
  ASSERT_EQ(b.sent.size(), 3u);
  b.fc.nph = 1;
  b.run(20);
  ASSERT_EQ(b.sent.size(), 4u);
  EXPECT_TRUE(b.sent[3].tlp.is_read());
}

// A read does not pass a write that waited before it, credits or not.
TEST(PcieTlpGenTest, ReadNeverPassesOlderWrite) {
  GenBench c;
  c.fc = {};
  c.fc.np_inf = true;
  c.writes.push_back(write_of(0x2000, std::vector<uint8_t>(100, 2)));
  c.run(5);
  c.reads.push_back(read_of(0x1000, 64));
  c.run(20);
  EXPECT_TRUE(c.sent.empty());
  c.fc.ph = 1;
  c.fc.pd = 7;
  c.run(20);
  ASSERT_EQ(c.sent.size(), 2u);
  EXPECT_TRUE(c.sent[0].tlp.is_write());
}

// A write whose later beats are late keeps the block busy.
TEST(PcieTlpGenTest, BusyInsideAWrite) {
  GenBench b;
  b.writes.push_back(write_of(0x1000, random_bytes(b.rng, 128)));
  b.step();
  b.data_pct = 0;
  b.run(20);
  EXPECT_TRUE(b.sent.empty());
  EXPECT_FALSE(b.top->idle_o);
  b.data_pct = 100;
  b.run(20);
  EXPECT_EQ(b.sent.size(), 1u);
  EXPECT_TRUE(b.quiet());
}

// Every field of a completion arrives, one cycle later, with its data, for every length and status.
TEST(PcieTlpGenTest, CompletionFields) {
  struct Case {
    unsigned dws;
    uint8_t status;
    bool ep;
    uint64_t want;
  };
  for (const Case& c :
       {Case{1, golden::kCplSc, false, rtl::rnic_pkg::DmaOk}, Case{16, golden::kCplSc, false, rtl::rnic_pkg::DmaOk},
        Case{17, golden::kCplSc, false, rtl::rnic_pkg::DmaOk}, Case{1024, golden::kCplSc, false, rtl::rnic_pkg::DmaOk},
        Case{20, golden::kCplSc, true, rtl::rnic_pkg::DmaPoisoned},
        Case{4, golden::kCplUr, false, rtl::rnic_pkg::DmaUr}, Case{4, golden::kCplCa, false, rtl::rnic_pkg::DmaCa},
        Case{4, golden::kCplCrs, false, rtl::rnic_pkg::DmaUr}, Case{0, golden::kCplUr, false, rtl::rnic_pkg::DmaUr},
        Case{0, golden::kCplCa, false, rtl::rnic_pkg::DmaCa}, Case{0, golden::kCplCrs, false, rtl::rnic_pkg::DmaUr},
        Case{0, 7, false, rtl::rnic_pkg::DmaUr}, Case{0, golden::kCplSc, false, rtl::rnic_pkg::DmaMalformed}}) {
    for (unsigned rx_pct : {100u, 40u}) {
      GenBench b;
      b.rx_pct = rx_pct;
      Tlp t = completion(0x2A5, c.dws, c.status);
      t.ep = c.ep;
      b.send(t);
      b.run(300);
      ASSERT_EQ(b.completions.size(), std::max(1u, (c.dws + 15) / 16));
      for (size_t i = 0; i < b.completions.size(); ++i) {
        const rtl::cpl_t& g = b.completions[i];
        EXPECT_EQ(g.sop, i == 0);
        EXPECT_EQ(g.eop, i + 1 == b.completions.size());
        EXPECT_EQ(g.tag, 0x2A5);
        EXPECT_EQ(g.status, c.want);
        EXPECT_EQ(g.byte_count, t.byte_count);
        EXPECT_EQ(g.lower_addr, t.lower_addr);
        EXPECT_EQ(g.len_dw, c.dws);
        EXPECT_EQ(g.data, beat_data(t.payload, i * 64));
      }
      EXPECT_EQ(b.unexpected, 0u);
      EXPECT_EQ(b.malformed, c.want == rtl::rnic_pkg::DmaMalformed ? 1u : 0u);
      EXPECT_TRUE(b.quiet());
    }
  }
}

// Another requester's completion and anything that is no completion are dropped whole and counted.
TEST(PcieTlpGenTest, UnexpectedDropped) {
  GenBench b;
  Tlp other = completion(1, 40);
  other.requester_id = kRequester + 1;
  b.send(other);
  b.send(golden::make_read(0x1000, 64, 7, 7));
  b.send(golden::make_write(0x1000, std::vector<uint8_t>(200, 9), 7, 7));
  Tlp locked = completion(1, 4);
  locked.fmt_type = 0x4B;
  b.send(locked);
  b.send(completion(2, 20));
  b.run(40);
  EXPECT_EQ(b.unexpected, 4u);
  EXPECT_EQ(b.malformed, 0u);
  ASSERT_EQ(b.completions.size(), 2u);
  EXPECT_EQ(b.completions[0].tag, 2);
}

// A completion with fewer or more beats than its length says ends malformed, and the next one is not touched.
TEST(PcieTlpGenTest, LengthMismatchEndsMalformed) {
  for (unsigned claimed : {1u, 16u, 17u, 40u}) {
    for (unsigned real : {1u, 16u, 17u, 33u, 40u, 50u}) {
      if (claimed == real) continue;
      GenBench b;
      auto beats = to_beats(completion(3, real));
      beats[0].hdr[3] = (beats[0].hdr[3] & ~0x3FFu) | claimed;
      for (const auto& x : beats) b.rx_beats.push_back(x);
      b.send(completion(4, 2));
      b.run(20);
      ASSERT_GE(b.completions.size(), 2u);
      EXPECT_EQ(b.malformed, 1u);
      const size_t n = b.completions.size();
      EXPECT_LE(n - 1, (claimed + 15) / 16);
      EXPECT_EQ(b.completions[n - 2].status, rtl::rnic_pkg::DmaMalformed) << claimed << " " << real;
      EXPECT_TRUE(b.completions[n - 2].eop);
      EXPECT_EQ(b.completions[n - 1].tag, 4);
      EXPECT_EQ(b.completions[n - 1].status, rtl::rnic_pkg::DmaOk);
      EXPECT_TRUE(b.quiet());
    }
  }
}

// A header inside another completion is counted; the interrupted one never ends, the new one is whole.
TEST(PcieTlpGenTest, HeaderInsideACompletion) {
  GenBench b;
  const auto beats = to_beats(completion(3, 40));
  for (size_t i = 0; i + 1 < beats.size(); ++i) b.rx_beats.push_back(beats[i]);
  b.send(completion(4, 20));
  b.run(20);
  EXPECT_EQ(b.malformed, 1u);
  EXPECT_EQ(b.unexpected, 0u);
  ASSERT_EQ(b.completions.size(), beats.size() - 1 + 2);
  for (size_t i = 0; i + 1 < beats.size(); ++i) EXPECT_FALSE(b.completions[i].eop);
  const auto& last = b.completions.back();
  EXPECT_EQ(last.tag, 4);
  EXPECT_TRUE(last.eop);
  EXPECT_EQ(last.status, rtl::rnic_pkg::DmaOk);
  EXPECT_TRUE(b.quiet());
}

// The reference itself: vectors that the standard's examples fix, and parse as the inverse of bytes.
TEST(GoldenTlpTest, CompleterCutsAndRoundTrip) {
  golden::Completer c;
  c.read = [](uint64_t, unsigned n) { return std::vector<uint8_t>(n, 0xCC); };
  c.rcb = 64;
  c.cut = [] { return true; };
  auto shape = [](const std::vector<Tlp>& v) {
    std::vector<std::array<unsigned, 3>> s;
    for (const Tlp& t : v) s.push_back({t.length_dw, t.byte_count, t.lower_addr});
    return s;
  };
  using Rows = std::vector<std::array<unsigned, 3>>;
  EXPECT_EQ(shape(c.complete(golden::make_read(0x103C, 256, 0, 0))),
            (Rows{{1, 256, 0x3C}, {16, 252, 0x40}, {16, 188, 0x00}, {16, 124, 0x40}, {15, 60, 0x00}}));
  c.cut = nullptr;
  c.mps = 256;
  EXPECT_EQ(shape(c.complete(golden::make_read(0x1010, 512, 0, 0))),
            (Rows{{60, 512, 0x10}, {64, 272, 0x00}, {4, 16, 0x00}}));
  EXPECT_EQ(golden::split_request(0x1FFC, 8, 512), (std::vector<golden::Piece>{{0x1FFC, 4}, {0x2000, 4}}));
  EXPECT_EQ(golden::split_request(0x1000, 4096, 4096).size(), 1u);
  std::mt19937_64 rng(test_seed());
  for (int i = 0; i < 200; ++i) {
    const auto [addr, len] = random_span(rng);
    for (const Tlp& t : {golden::make_read(addr, len, 5, 0x3A5), golden::make_write(addr, random_bytes(rng, len), 5, 0),
                         completion(77, 1 + len / 4 % 1024)}) {
      const auto p = Tlp::parse(t.bytes());
      ASSERT_TRUE(p);
      ASSERT_EQ(p->bytes(), t.bytes());
    }
    ASSERT_EQ(golden::make_read(addr, len, 0, 0).request_bytes(), len);
  }
}

}  // namespace
}  // namespace rnic::test
