// SPDX-License-Identifier: Apache-2.0
#include "rnic/pcie/link.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <fstream>
#include <limits>
#include <memory>
#include <sstream>

#include "rnic/core/error.h"

namespace {

using namespace rnic;
using namespace rnic::pcie;

constexpr uint16_t kNicId = 0x0100, kHostId = 0x0008;
constexpr uint64_t kHigh = 0x1'0000'0000;

uint64_t now() { return to_ps(sc_core::sc_time_stamp()); }
void run(uint64_t ps) { sc_core::sc_start(from_ps(ps)); }

Tlp write_of(unsigned bytes, uint32_t number = 0, uint16_t id = kNicId) {
  std::vector<uint8_t> data(bytes);
  for (unsigned i = 0; i < 4 && i < bytes; ++i) data[i] = static_cast<uint8_t>(number >> (8 * i));
  return make_mem_write(kHigh, data.data(), bytes, id);
}
Tlp read_of(unsigned bytes, unsigned tag = 0) { return make_mem_read(kHigh, bytes, kNicId, tag); }
Tlp answer(const Tlp& read, unsigned bytes) {
  return make_completion(read, kHostId, 0, bytes, 0, std::vector<uint8_t>(bytes));
}

LinkConfig config(unsigned generation = 5, unsigned lanes = 16) {
  LinkConfig c;
  c.generation = generation;
  c.lanes = lanes;
  c.latency = from_ps(20'000);
  c.ack_latency = c.fc_latency = from_ps(50'000);
  c.replay_timeout = from_ps(2'000'000);
  return c;
}

/// A link whose receivers give credits back at once and keep what came.
struct Bench {
  struct Got {
    uint64_t ps;
    Tlp tlp;
  };
  Link link;
  std::array<std::vector<Got>, 2> got;  ///< by the end
  bool giving_back = true;

  Bench(const LinkConfig& c, DelayQueue& q, const std::string& name = "link") : link(name, c, q) {
    for (const End e : {kUp, kDown}) {
      link.on_receive(e, [this, e](Tlp t) {
        if (giving_back) link.release(e, t, DelayQueue::now());
        got[e].push_back({DelayQueue::now_ps(), std::move(t)});
      });
    }
  }
  void send(End from, Tlp t) { link.send(from, std::move(t), sc_core::sc_time_stamp()); }
};

uint32_t number_of(const Tlp& t) {
  return t.data[0] | t.data[1] << 8 | t.data[2] << 16 | static_cast<uint32_t>(t.data[3]) << 24;
}

/// Gb/s after encoding.
double raw_gbps(unsigned generation, unsigned lanes) {
  constexpr double kGtps[] = {0, 2.5, 5, 8, 16, 32, 64};
  const double code = generation <= 2 ? 0.8 : generation <= 5 ? 128.0 / 130 : 1;
  return kGtps[generation] * code * lanes;
}

// A TLP on an idle link arrives after its own bytes and the latency, to the picosecond.
TEST(LinkTest, LoneTlpTakesItsBytesAndTheLatency) {
  DelayQueue q("q");
  Bench b(config(), q);
  run(1000);
  b.send(kDown, write_of(64));
  run(1'000'000);
  ASSERT_EQ(b.got[kUp].size(), 1u);
  // 88 B at 8 * 130 / 128 / 512 ns
  EXPECT_EQ(b.got[kUp][0].ps, 1000 + 88 * 8 * 130'000 / (128 * 512) + 20'000);
  EXPECT_TRUE(b.link.idle()) << b.link.pending();
  EXPECT_EQ(b.link.counters(kUp, now()).acks, 1u);
  EXPECT_EQ(b.link.counters(kUp, now()).dllp_bytes, 8u);
}

// Bytes back to back take exactly what the rate says, whatever the generation and width.
TEST(LinkTest, EveryGenerationAndWidthHasItsRate) {
  DelayQueue q("q");
  for (unsigned gen = 1; gen <= 6; ++gen) {
    for (const unsigned lanes : {1, 2, 4, 8, 12, 16}) {
      Bench b(config(gen, lanes), q);
      const uint64_t t0 = now();
      constexpr unsigned kN = 400;
      for (unsigned i = 0; i < kN; ++i) b.send(kDown, write_of(256));
      run(2'000'000'000);
      ASSERT_EQ(b.got[kUp].size(), kN);
      const double took = double(b.got[kUp].back().ps - t0 - 20'000);
      const double bytes = gen < 6 ? kN * 280.0 : kN * 272.0 * 256 / 236;
      const double expect = bytes * 8000 / raw_gbps(gen, lanes);
      // In flits the last one has to be full, and the first begins on a boundary.
      EXPECT_NEAR(took, expect, gen < 6 ? 1.01 : 2 * 256 * 8000 / raw_gbps(gen, lanes)) << gen << " x" << lanes;
      EXPECT_TRUE(b.link.idle()) << b.link.pending();
    }
  }
}

// ---- Bandwidth ----

struct Pattern {
  unsigned generation, lanes, mps, mrrs, chunk;
  unsigned size;
  bool reads, writes;
};
struct Bandwidth {
  double measured = 1e9, bound = 1e9, less_dllps = 1e9, padding = 1;
};

/// What one direction carried between two instants.
struct Watch {
  uint64_t from_ps = 0, to_ps = 0, payload = 0;
  Link::Counters before, after;
};

Bandwidth measure(const Pattern& p, DelayQueue& q) {
  LinkConfig c = config(p.generation, p.lanes);
  c.ack_latency = c.fc_latency = from_ps(200'000);
  c.replay_tlps = 2048;
  for (auto& l : c.credits) l = {1024, 16384, 1024, 0, 0, 0};
  Link link("link", c, q);
  const unsigned ops = std::max(600u, std::min(3000u, (1u << 19) / p.size));
  std::array<Watch, 2> watch;  // by the end where the payload arrives
  std::array<uint64_t, 2> bytes{};
  const uint64_t all = uint64_t{ops} * p.size;
  const auto payload = [&](End at, uint64_t n) {
    Watch& w = watch[at];
    const uint64_t ps = DelayQueue::now_ps();
    bytes[at] += n;
    if (bytes[at] < all / 5) return;
    if (w.from_ps == 0) {
      w.from_ps = ps;
      w.before = link.counters(other(at), ps);
    } else if (bytes[at] <= all * 4 / 5) {
      w.payload += n;
      w.to_ps = ps;
      w.after = link.counters(other(at), ps);
    }
  };
  // Sizes that are no multiple of 4 take a last DW with byte enables: the payload counts, not the DWs.
  const auto piece_left = [](unsigned left, unsigned most) { return std::min(left, most); };
  link.on_receive(kUp, [&](Tlp t) {
    link.release(kUp, t, DelayQueue::now());
    if (t.is_mem_write()) return payload(kUp, t.op.wqe);
    for (unsigned left = t.op.wqe; left != 0;) {
      const unsigned n = piece_left(left, p.chunk);
      Tlp cpl = answer(t, (n + 3) / 4 * 4);
      cpl.op.wqe = static_cast<uint16_t>(n);
      link.send(kUp, std::move(cpl), DelayQueue::now());
      left -= n;
    }
  });
  link.on_receive(kDown, [&](Tlp t) {
    link.release(kDown, t, DelayQueue::now());
    payload(kDown, t.op.wqe);
  });
  for (unsigned op = 0; op < ops; ++op) {
    for (unsigned left = p.writes ? p.size : 0; left != 0;) {
      const unsigned n = piece_left(left, p.mps);
      Tlp t = write_of(n);
      t.op.wqe = static_cast<uint16_t>(n);
      link.send(kDown, std::move(t), sc_core::sc_time_stamp());
      left -= n;
    }
    for (unsigned left = p.reads ? p.size : 0; left != 0;) {
      const unsigned n = piece_left(left, p.mrrs);
      Tlp t = read_of(n);
      t.op.wqe = static_cast<uint16_t>(n);
      link.send(kDown, std::move(t), sc_core::sc_time_stamp());
      left -= n;
    }
  }
  run(uint64_t{400'000'000} * 16 / p.lanes);
  EXPECT_TRUE(link.idle()) << link.pending();
  EXPECT_EQ(bytes[kUp], p.writes ? all : 0);
  EXPECT_EQ(bytes[kDown], p.reads ? all : 0);
  // Bytes of one operation each way, by arithmetic and not by the link's own counters: 24 B beside a request of 64-bit
  // addresses, 20 B beside a completion (wire_facts 2), payload in whole DWs.
  const auto pieces = [&](unsigned most) { return (p.size + most - 1) / most; };
  const double padded = (p.size + 3) / 4 * 4;
  const auto per_op = [&](double data) {
    std::array<double, 2> n{};  // by the end where they start
    if (p.writes) n[kDown] += data + 24 * pieces(p.mps);
    if (p.reads) n[kDown] += 24 * pieces(p.mrrs);
    if (p.reads) n[kUp] += data + 20 * pieces(p.chunk);
    return n;
  };
  const auto bytes_per_op = per_op(padded), unpadded = per_op(p.size);
  Bandwidth b;
  const double raw = raw_gbps(p.generation, p.lanes);
  for (const End from : {kUp, kDown}) {
    const Watch& w = watch[other(from)];
    if (bytes_per_op[from] == 0) continue;
    double dllps_per_op = double(link.counters(from, now()).dllp_bytes) / ops;
    if (w.payload != 0) {
      b.measured = std::min(b.measured, double(w.payload) * 8000 / double(w.to_ps - w.from_ps));
      dllps_per_op = double(w.after.dllp_bytes - w.before.dllp_bytes) * p.size / double(w.payload);
    }
    b.less_dllps = std::min(b.less_dllps, raw * p.size / (bytes_per_op[from] + dllps_per_op));
    b.bound = std::min(b.bound, raw * p.size / bytes_per_op[from]);
  }
  // How much the DW's padding costs in the direction that limits, which the published model leaves out.
  b.padding = std::max(bytes_per_op[kUp], bytes_per_op[kDown]) / std::max(unpadded[kUp], unpadded[kDown]);
  return b;
}

/// The published model counts a payload of 1 B as 1 B on the wire. A TLP's Length counts DWs, so it takes four; the
/// three of padding are overhead of the TLP. For writes of 1 B they are more than what the model takes off for DLLPs:
/// those rows, and no others, lie below the model, and are compared with the padding taken out.
///
/// Prints the payload bandwidth of every row of tests/data/pcie_vectors.txt.
TEST(LinkTest, BandwidthLiesBetweenModelAndBound) {
  DelayQueue q("q");
  std::ifstream file(std::string(RNICSIM_TEST_DATA) + "/data/pcie_vectors.txt");
  ASSERT_TRUE(file) << "tests/data/pcie_vectors.txt is missing";
  Pattern p{};
  unsigned rcb = 0, rows = 0;
  std::string line, chunks;
  fmt::print("{:>4} {:>5} {:>5} {:>6} {:>5}  {:8} {:>9} {:>9} {:>9} {:>9}\n", "gen", "lanes", "MPS", "pieces", "size",
             "", "model", "measured", "less DLLP", "bound");
  while (std::getline(file, line)) {
    char yes[8] = {};
    if (std::sscanf(line.c_str(), "gen%u x%u MPS %u MRRS %u RCB %u rcb_chunks %7s", &p.generation, &p.lanes, &p.mps,
                    &p.mrrs, &rcb, yes) == 6) {
      p.chunk = std::string(yes) == "True" ? rcb : p.mps;
      continue;
    }
    double model[3];
    if (std::sscanf(line.c_str(), " size %u MWr %lf MRd %lf MRd+MWr %lf", &p.size, &model[0], &model[1], &model[2]) !=
        4) {
      continue;
    }
    for (unsigned k = 0; k < 3; ++k) {
      constexpr const char* kNames[] = {"MWr", "MRd", "MRd+MWr"};
      p.writes = k != 1;
      p.reads = k != 0;
      const Bandwidth b = measure(p, q);
      fmt::print("{:>4} {:>5} {:>5} {:>6} {:>5}  {:8} {:9.3f} {:9.3f} {:9.3f} {:9.3f}\n", p.generation, p.lanes, p.mps,
                 p.chunk, p.size, kNames[k], model[k], b.measured, b.less_dllps, b.bound);
      const bool padded = p.size == 1 && k == 0;
      EXPECT_EQ(b.measured < model[k], padded) << line << " " << kNames[k];
      EXPECT_GE(padded ? b.measured * b.padding : b.measured, model[k]) << line << " " << kNames[k];
      EXPECT_LE(b.measured, b.bound * 1.0001) << line << " " << kNames[k];
      EXPECT_NEAR(b.measured, b.less_dllps, b.less_dllps * 0.005) << line << " " << kNames[k];
      ++rows;
    }
  }
  EXPECT_EQ(rows, 120u);
}

// ---- Credits ----

// One header and just enough data for one TLP: everything gets through, in order.
TEST(LinkTest, SmallestCreditsLetEverythingThrough) {
  DelayQueue q("q");
  LinkConfig c = config();
  for (auto& l : c.credits) l = {1, 16, 1, 1, 1, 16};
  Bench b(c, q);
  for (unsigned i = 0; i < 100; ++i) {
    b.send(kDown, write_of(256, i));
    b.send(kDown, read_of(64, i));
    b.send(kUp, answer(read_of(256, i), 256));
  }
  run(200'000'000);
  EXPECT_EQ(b.got[kUp].size(), 200u);
  EXPECT_EQ(b.got[kDown].size(), 100u);
  unsigned writes = 0, reads = 0;
  for (const auto& g : b.got[kUp]) {
    if (g.tlp.is_mem_write()) {
      EXPECT_EQ(number_of(g.tlp), writes++);
    } else {
      EXPECT_EQ(g.tlp.tag(), reads++);
    }
  }
  EXPECT_TRUE(b.link.idle()) << b.link.pending();
  const auto used = b.link.credits_used(kDown, now());
  EXPECT_EQ(used.ph.most, 1u);
  EXPECT_EQ(used.pd.most, 16u);
  EXPECT_EQ(used.nph.most, 1u);
  EXPECT_GT(b.link.counters(kDown, now()).waited_for_credits_ps, 0u);
}

// A TLP that the receiver has no room for at all is refused, not kept for ever.
TEST(LinkTest, TlpLargerThanAllCreditsIsRefused) {
  DelayQueue q("q");
  LinkConfig c = config();
  c.credits[kUp] = {8, 4, 8, 0, 8, 4};
  Bench b(c, q);
  EXPECT_THROW(b.send(kDown, write_of(68)), SimError);
  EXPECT_THROW(b.send(kDown, answer(read_of(128), 128)), SimError);
  b.send(kDown, write_of(64));
  run(10'000'000);
  EXPECT_EQ(b.got[kUp].size(), 1u);
}

// Settings that no link has are refused with a message.
TEST(LinkTest, ImpossibleSettingsAreRefused) {
  DelayQueue q("q");
  const auto refused = [&](auto change) {
    LinkConfig c = config();
    change(c);
    EXPECT_THROW(Link("link", c, q), SimError);
  };
  refused([](LinkConfig& c) { c.generation = 0; });
  refused([](LinkConfig& c) { c.generation = 7; });
  refused([](LinkConfig& c) { c.lanes = 0; });
  refused([](LinkConfig& c) { c.lanes = 3; });
  refused([](LinkConfig& c) { c.replay_tlps = 0; });
  refused([](LinkConfig& c) { c.replay_tlps = 2049; });
  refused([](LinkConfig& c) { c.lcrc_error_rate[kUp] = 1; });
  refused([](LinkConfig& c) { c.dllp_error_rate[kDown] = -0.1; });
  refused([](LinkConfig& c) { c.lcrc_error_rate[kDown] = std::numeric_limits<double>::quiet_NaN(); });
}

// Posted and completions pass non-posted requests that lack credits; nothing passes posted ones but what RO or IDO let.
TEST(LinkTest, OrderingRulesHoldWhenCreditsLack) {
  DelayQueue q("q");
  LinkConfig c = config();
  c.credits[kUp] = {1, 4, 1, 0, 0, 0};
  Bench b(c, q);
  b.giving_back = false;
  b.send(kDown, read_of(4, 1));  // takes the only non-posted credit
  b.send(kDown, read_of(4, 2));  // blocked
  b.send(kDown, write_of(64, 7));
  Tlp plain = answer(read_of(4, 3), 4), relaxed = answer(read_of(4, 4), 4);
  b.send(kDown, plain);
  run(1'000'000);
  ASSERT_EQ(b.got[kUp].size(), 3u);  // read 1, write, completion
  EXPECT_TRUE(b.got[kUp][1].tlp.is_mem_write());
  EXPECT_EQ(b.got[kUp][2].tlp.tag(), 3u);
  b.send(kDown, write_of(64, 8));  // blocked
  b.send(kDown, plain);            // behind it
  relaxed.hdr[0] |= 1u << 13;
  run(1'000'000);
  EXPECT_EQ(b.got[kUp].size(), 3u);
  Bench ro(c, q, "ro");
  ro.giving_back = false;
  ro.send(kDown, write_of(64, 7));
  ro.send(kDown, write_of(64, 8));  // blocked
  ro.send(kDown, relaxed);
  run(1'000'000);
  ASSERT_EQ(ro.got[kUp].size(), 2u);
  EXPECT_TRUE(ro.got[kUp][1].tlp.is_completion());
  Bench ido(c, q, "ido");
  ido.giving_back = false;
  Tlp other_id = plain, same_id = plain;
  other_id.hdr[0] |= 1u << 18;
  same_id.hdr[0] |= 1u << 18;
  ido.send(kDown, write_of(64, 7));
  ido.send(kDown, write_of(64, 8, kHostId));  // blocked, of the completions' completer
  ido.send(kDown, same_id);
  run(1'000'000);
  EXPECT_EQ(ido.got[kUp].size(), 1u);
  Bench ido2(c, q, "ido2");
  ido2.giving_back = false;
  ido2.send(kDown, write_of(64, 7));
  ido2.send(kDown, write_of(64, 8));  // blocked, of somebody else
  ido2.send(kDown, other_id);
  run(1'000'000);
  EXPECT_EQ(ido2.got[kUp].size(), 2u);
}

// A sender that looks at the limits itself sees them only from after the UpdateFC's arrival on.
TEST(LinkTest, LimitsShowWhatArrivedBefore) {
  DelayQueue q("q");
  LinkConfig c = config();
  c.credits[kUp] = {4, 64, 4, 0, 0, 0};
  Bench b(c, q);
  b.link.set_gate(kDown, false);
  b.send(kDown, write_of(64));
  EXPECT_EQ(b.link.limits(kDown, sc_core::sc_time_stamp()).ph, 4);
  // One of four headers is a quarter: announced at once, 8 B and a flight later.
  const uint64_t arrived = 88 * 8 * 130'000 / (128 * 512) + 20'000;
  const uint64_t back = arrived + 8 * 8 * 130'000 / (128 * 512) + 20'000;
  run(arrived + 1 - now());
  bool looked = false;
  q.at(from_ps(back), [&] {  // after the UpdateFC's own entry
    EXPECT_EQ(b.link.credits_used(kDown, back).ph.held_ps, back);
    EXPECT_EQ(b.link.limits(kDown, from_ps(back)).ph, 4);
    EXPECT_EQ(b.link.limits(kDown, from_ps(back + 1)).ph, 5);
    looked = true;
  });
  run(back + 1 - now());
  EXPECT_TRUE(looked);
  EXPECT_EQ(b.link.limits(kDown, from_ps(back + 1)).ph, 5);
  EXPECT_EQ(b.link.limits(kDown, from_ps(back + 1)).pd, 68);
  run(1'000'000);
  EXPECT_EQ(b.link.credits_used(kDown, now()).ph.held_ps, back);
  EXPECT_EQ(b.link.credits_used(kDown, now()).pd.held_ps, 4 * back);
}

// A sender that looks at the limits itself and goes beyond them is found out, with headers and with data.
TEST(LinkTest, TlpWithoutCreditsIsAnError) {
  DelayQueue q("q");
  LinkConfig c = config();
  c.credits[kUp] = {4, 8, 2, 0, 0, 0};
  Bench b(c, q);
  b.giving_back = false;
  b.link.set_gate(kDown, false);
  for (int i = 0; i < 2; ++i) b.send(kDown, read_of(64));
  EXPECT_THROW(b.send(kDown, read_of(64)), SimError);
  for (int i = 0; i < 2; ++i) b.send(kDown, write_of(64));
  EXPECT_THROW(b.send(kDown, write_of(4)), SimError);
  b.send(kDown, answer(read_of(64), 64));
  run(1'000'000);
  for (const auto& g : b.got[kUp]) b.link.release(kUp, g.tlp, sc_core::sc_time_stamp());
  run(1'000'000);
  Bench headers(c, q, "headers");
  headers.giving_back = false;
  headers.link.set_gate(kDown, false);
  for (int i = 0; i < 4; ++i) headers.send(kDown, write_of(4));
  EXPECT_THROW(headers.send(kDown, write_of(4)), SimError);
  run(1'000'000);
}

// Two TLPs beyond the one on the line, however long, or as many as make 1024 B, as seen from before the edge.
TEST(LinkTest, TransmitBufferHoldsBytesBeyondTheLine) {
  struct Case {
    unsigned bytes, fit;  // of payload; TLPs taken while none leaves
  };
  DelayQueue q("q");
  for (const Case c : {Case{4096, 3}, {1000, 3}, {489, 3}, {488, 3}, {484, 4}, {64, 13}, {4, 38}}) {
    Bench b(config(1, 1), q);
    b.link.set_gate(kDown, false);
    run(1000);
    const uint64_t first = now();
    for (unsigned i = 0; i < c.fit; ++i) {
      EXPECT_TRUE(b.link.ready(kDown, sc_core::sc_time_stamp())) << c.bytes << " B, " << i;
      b.send(kDown, write_of(c.bytes));
      run(100);
    }
    EXPECT_FALSE(b.link.ready(kDown, sc_core::sc_time_stamp())) << c.bytes;
    // The second starts after the first's bytes of 4 ns.
    const uint64_t start = first + ((c.bytes + 3) / 4 * 4 + 24) * 4000;
    EXPECT_FALSE(b.link.ready(kDown, from_ps(start))) << c.bytes;
    run(start + 1 - now());
    EXPECT_TRUE(b.link.ready(kDown, sc_core::sc_time_stamp())) << c.bytes;
    run(100'000'000);
    EXPECT_EQ(b.got[kUp].size(), c.fit);
  }
}

// A TLP and a DLLP of one picosecond: the TLP goes first, whatever the kernel ran first.
TEST(LinkTest, TieOnTheLineDoesNotDependOnTheKernelsOrder) {
  DelayQueue q("q");
  LinkConfig c = config();
  c.credits[kUp] = c.credits[kDown] = {1, 0x40, 1, 0, 0, 0};
  std::array<std::unique_ptr<Bench>, 2> b;
  for (auto& x : b) {
    x = std::make_unique<Bench>(c, q);
    x->giving_back = false;
    x->send(kUp, write_of(64));
  }
  run(100'000);
  for (unsigned first : {0, 1}) {
    const auto credit = [&] { b[first]->link.release(kDown, write_of(64), sc_core::sc_time_stamp()); };
    if (first == 0) credit();
    b[first]->send(kDown, write_of(64));
    if (first == 1) credit();
  }
  b[0]->send(kUp, write_of(64));
  b[1]->send(kUp, write_of(64));
  run(10'000'000);
  ASSERT_EQ(b[0]->got[kUp].size(), 1u);
  ASSERT_EQ(b[1]->got[kUp].size(), 1u);
  EXPECT_EQ(b[0]->got[kUp][0].ps, b[1]->got[kUp][0].ps);
  ASSERT_EQ(b[0]->got[kDown].size(), 2u);  // the credit came
  ASSERT_EQ(b[1]->got[kDown].size(), 2u);
  EXPECT_EQ(b[0]->got[kDown][1].ps, b[1]->got[kDown][1].ps);
}

// ---- Errors ----

/// `n` TLPs each way through a link with these error rates, and small credits; each must come once and in order.
std::vector<uint64_t> noisy(DelayQueue& q, unsigned generation, double rate, uint64_t seed, unsigned n,
                            Link::Counters* up = nullptr) {
  LinkConfig c = config(generation, 8);
  c.seed = seed;
  c.credits[kUp] = c.credits[kDown] = {8, 64, 4, 0, 8, 64};
  for (const End e : {kUp, kDown}) c.lcrc_error_rate[e] = c.dllp_error_rate[e] = rate;
  // Timers that nobody waits for any more stay in the queue.
  static std::vector<std::unique_ptr<Bench>> all;
  all.push_back(std::make_unique<Bench>(c, q));
  Bench& b = *all.back();
  for (unsigned i = 0; i < n; ++i) {
    b.send(kDown, write_of(4 + 4 * (i * 7 % 64), i));
    b.send(kUp, write_of(4 + 4 * (i * 11 % 64), i));
  }
  for (unsigned i = 0; i < 20'000 && !b.link.idle(); ++i) run(1'000'000);
  EXPECT_TRUE(b.link.idle()) << b.link.pending();
  std::vector<uint64_t> times;
  for (const End e : {kUp, kDown}) {
    EXPECT_EQ(b.got[e].size(), n) << "rate " << rate << " seed " << seed;
    for (unsigned i = 0; i < b.got[e].size(); ++i) {
      EXPECT_EQ(number_of(b.got[e][i].tlp), i);
      EXPECT_EQ(b.got[e][i].tlp.data.size(), 4 + 4 * (i * (e == kUp ? 7 : 11) % 64));
      times.push_back(b.got[e][i].ps);
    }
    // What was sent again is what the receiver did not take, and nothing else.
    const Link::Counters s = b.link.counters(other(e), now());
    EXPECT_EQ(s.tlps, n);
    EXPECT_EQ(s.bad_lcrc > 0, rate > 0);
    EXPECT_EQ(s.replayed > 0, rate > 0);
  }
  if (up) *up = b.link.counters(kDown, now());
  return times;
}

// What the line corrupts, TLPs and DLLPs in both directions, is sent again: all comes once and in order.
TEST(LinkTest, ReplayCuresEveryErrorRate) {
  DelayQueue q("q");
  for (const unsigned generation : {3, 5, 6}) {
    for (const double rate : {0.0, 0.02, 0.1, 0.5}) {
      for (uint64_t seed = 1; seed <= 4; ++seed) noisy(q, generation, rate, seed, 300);
    }
  }
}

// Sequence numbers wrap after 4096.
TEST(LinkTest, SequenceNumbersWrap) {
  DelayQueue q("q");
  noisy(q, 5, 0.05, 9, 9000);
}

// A NAK starts the replay at once: the timer is left for a replayed TLP that is bad again.
TEST(LinkTest, NakStartsReplay) {
  DelayQueue q("q");
  LinkConfig c = config();
  c.lcrc_error_rate[kUp] = 0.02;
  Bench b(c, q);
  for (unsigned i = 0; i < 3000; ++i) b.send(kDown, write_of(64, i));
  run(1'000'000'000);
  EXPECT_EQ(b.got[kUp].size(), 3000u);
  EXPECT_GT(b.link.counters(kUp, now()).naks, 10u);
  EXPECT_LT(4 * b.link.counters(kDown, now()).replay_timeouts, b.link.counters(kUp, now()).naks);
}

// Lost ACKs cause duplicates, and never a NAK: also where the numbers wrap inside of what is sent again.
TEST(LinkTest, LostAcksCauseDuplicatesOnly) {
  DelayQueue q("q");
  LinkConfig c = config(5, 8);
  c.ack_latency = from_ps(1'000'000);
  c.dllp_error_rate[kDown] = 0.5;
  Bench b(c, q);
  constexpr unsigned kN = 40'000;
  for (unsigned i = 0; i < kN; ++i) b.send(kDown, write_of(64, i));
  for (unsigned i = 0; i < 5000 && !b.link.idle(); ++i) run(1'000'000);
  EXPECT_TRUE(b.link.idle()) << b.link.pending();
  ASSERT_EQ(b.got[kUp].size(), kN);
  for (unsigned i = 0; i < kN; ++i) ASSERT_EQ(number_of(b.got[kUp][i].tlp), i);
  EXPECT_EQ(b.link.counters(kUp, now()).naks, 0u);
  EXPECT_GT(b.link.counters(kDown, now()).duplicates, 4096u);
  EXPECT_EQ(b.link.counters(kDown, now()).duplicates, b.link.counters(kDown, now()).replayed);
}

// Four replays without progress in between are counted.
TEST(LinkTest, ReplaysWithoutProgressAreCounted) {
  DelayQueue q("q");
  Link::Counters c;
  noisy(q, 5, 0.6, 3, 300, &c);
  EXPECT_GT(c.replay_rollovers, 0u);
  EXPECT_GT(c.replay_timeouts, 0u);
  EXPECT_GT(c.naks, 0u);
  EXPECT_GT(c.lost_dllps, 0u);
  EXPECT_GT(c.duplicates, 0u);
}

// The same seed gives the same instants, another one others.
TEST(LinkTest, SeedDecidesEverything) {
  DelayQueue q("q");
  run(1'000'000);
  const auto differences = [](const std::vector<uint64_t>& v) {
    std::vector<uint64_t> d;
    for (size_t i = 1; i < v.size(); ++i) d.push_back(v[i] - v[i - 1]);
    return d;
  };
  const auto a = differences(noisy(q, 5, 0.1, 5, 300)), b = differences(noisy(q, 5, 0.1, 5, 300));
  const auto c = differences(noisy(q, 5, 0.1, 6, 300));
  EXPECT_EQ(a, b);
  EXPECT_NE(a, c);
}

// A full replay buffer holds new TLPs back until an ACK comes.
TEST(LinkTest, FullReplayBufferHoldsNewTlpsBack) {
  DelayQueue q("q");
  LinkConfig c = config();
  c.replay_tlps = 1;
  Bench b(c, q);
  b.send(kDown, write_of(64));
  b.send(kDown, write_of(64));
  run(10'000'000);
  ASSERT_EQ(b.got[kUp].size(), 2u);
  // The ACK: 50 ns late, 8 B, and its flight; then the second one's own time.
  EXPECT_GT(b.got[kUp][1].ps - b.got[kUp][0].ps, 50'000u + 20'000u + 20'000u);
  EXPECT_TRUE(b.link.idle()) << b.link.pending();
}

// ---- Removal ----

// What is under way when the link goes down is lost, and so is what comes later; nothing is left over.
TEST(LinkTest, TakeDownLosesWhatIsUnderWay) {
  DelayQueue q("q");
  for (const double rate : {0.0, 0.1}) {
    LinkConfig c = config();
    c.credits[kUp] = {4, 64, 4, 0, 0, 0};
    c.lcrc_error_rate[kUp] = rate;
    Bench b(c, q);
    for (unsigned i = 0; i < 200; ++i) b.send(kDown, write_of(256, i));
    run(200'000);
    const size_t before = b.got[kUp].size();
    EXPECT_GT(before, 0u);
    EXPECT_FALSE(b.link.idle());
    b.link.take_down();
    EXPECT_FALSE(b.link.up());
    EXPECT_TRUE(b.link.idle());
    EXPECT_EQ(b.link.pending(), "");
    b.send(kDown, write_of(64));
    b.link.release(kUp, write_of(64), sc_core::sc_time_stamp());
    run(100'000'000);
    EXPECT_EQ(b.got[kUp].size(), before);
    EXPECT_LT(before, 200u);
  }
}

}  // namespace
