// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "Vdma_master.h"
#include "rtl/bench.h"
#include "rtl/tlp_beats.h"
#include "support/latency.h"

#ifndef RNIC_NUM_TAGS
#define RNIC_NUM_TAGS 448
#endif

namespace rnic::test {
namespace {

using golden::Tlp;
namespace pkg = rtl::rnic_pkg;

constexpr unsigned kNumTags = RNIC_NUM_TAGS;  // of payload
constexpr unsigned kTagBits[] = {10, 8, 5};
/// With so many bits: tags for payload and where they start, and the same of WQEs. The two never meet.
constexpr unsigned wqe_tags(unsigned bits) { return bits == 10 ? 64 : bits == 8 ? 32 : 8; }
constexpr unsigned first_wqe_tag(unsigned bits) { return (1u << bits) - wqe_tags(bits); }
constexpr unsigned first_tag(unsigned bits) { return bits == 10 ? 256 : 0; }
constexpr unsigned tags(unsigned bits) { return std::min(kNumTags, first_wqe_tag(bits) - first_tag(bits)); }
enum Client { kPayload, kWqe };

/// Memory without storage: each address has its byte.
uint8_t memory(uint64_t addr) {
  uint64_t x = addr * 0x9E3779B97F4A7C15ull;
  return static_cast<uint8_t>(x >> 56 ^ x >> 32);
}

std::vector<uint8_t> memory(uint64_t addr, unsigned n) {
  std::vector<uint8_t> v(n);
  for (unsigned i = 0; i < n; ++i) v[i] = memory(addr + i);
  return v;
}

std::vector<rtl::cpl_t> cpl_beats(const Tlp& t, uint64_t status) {
  std::vector<rtl::cpl_t> out;
  size_t at = 0;
  do {
    rtl::cpl_t c;
    c.sop = at == 0;
    c.tag = t.tag;
    c.status = static_cast<uint8_t>(status);
    c.byte_count = static_cast<uint16_t>(t.byte_count);
    c.lower_addr = t.lower_addr;
    c.len_dw = static_cast<uint16_t>(t.length_dw);
    c.data = beat_data(t.payload, at);
    at += 64;
    c.eop = at >= t.payload.size();
    out.push_back(c);
  } while (at < t.payload.size());
  return out;
}

/// One completion TLP on its way.
struct Answer {
  uint64_t due;
  std::vector<rtl::cpl_t> beats;
};

/// Source of reads and writes, completer with random latency and order, and sinks that check everything.
class DmaBench : public Bench<Vdma_master> {
 public:
  explicit DmaBench(uint64_t seed = test_seed()) : Bench(seed) {
    top->link_rst_ni = 1;
    cfg.bus_master = true;
    set_tag_bits(10);
    cfg.mrrs = 2;
    cfg.mps = 1;
    cfg.requester_id = 0x0100;
    completer.read = [](uint64_t a, unsigned n) { return memory(a, n); };
    make_answers = [this](const Tlp& t, unsigned) { return good(t); };
  }

  // ---- Settings -----------------------------------------------------------------------------------------------------
  rtl::pcie_cfg_t cfg;
  unsigned tag_bits = 0;
  void set_tag_bits(unsigned bits) {
    tag_bits = bits;
    cfg.tag10 = bits == 10;
    cfg.ext_tag = bits == 8 || (bits == 10 && (rng() & 1));  // no matter beside tag10
  }
  golden::Completer completer;
  unsigned rd_pct = 100, pay_pct = 100, wqe_pay_pct = 100, treq_pct = 100, cpl_pct = 100, wr_pct = 100, wdata_pct = 100,
           twd_pct = 100;
  unsigned latency = 20, jitter = 0, sent_delay = 1;
  bool reorder = false;  ///< Take any tag that is due, not the oldest.
  /// Completions of a request that belongs to read number `index` of its client.
  std::function<std::vector<std::vector<rtl::cpl_t>>(const Tlp&, unsigned index)> make_answers;

  std::vector<std::vector<rtl::cpl_t>> good(const Tlp& t) {
    std::vector<std::vector<rtl::cpl_t>> v;
    for (const Tlp& c : completer.complete(t)) v.push_back(cpl_beats(c, pkg::DmaOk));
    return v;
  }

  // ---- Stimulus -----------------------------------------------------------------------------------------------------
  void add_read(uint64_t addr, unsigned len, uint64_t status = pkg::DmaOk, Client c = kPayload) {
    rtl::rd_req_t r;
    r.addr = addr;
    r.len = static_cast<uint16_t>(len);
    r.op.wqe = static_cast<uint16_t>(total_reads_[c]);
    r.op.qpn = c == kWqe ? 6 : 5;
    r.more = rng() & 1;
    r.attr = rng() & 7;
    reads_[c].push_back(r);
    want_pay_[c].push_back({r, status});
    if (len == 0) {
      want_treq_[c].push_back({{addr & ~uint64_t{3}, 0}, total_reads_[c], r.op, r.attr});
    } else if (status != pkg::DmaNoMaster) {
      for (const auto& p : golden::split_request(addr, len, 128u << cfg.mrrs))
        want_treq_[c].push_back({p, total_reads_[c], r.op, r.attr});
    }
    ++total_reads_[c];
  }

  void add_write(uint64_t addr, unsigned len) {
    Write w;
    w.req.addr = addr;
    w.req.len = static_cast<uint16_t>(len);
    w.req.op.psn = total_writes_++;
    w.data.resize(len);
    for (auto& b : w.data) b = static_cast<uint8_t>(rng());
    if (cfg.bus_master) {
      const auto pieces = golden::split_request(addr, len, 128u << cfg.mps);
      for (size_t i = 0; i < pieces.size(); ++i) {
        const auto first = w.data.begin() + static_cast<std::ptrdiff_t>(pieces[i].addr - addr);
        want_twr_.push_back({pieces[i], {first, first + pieces[i].len}, w.req.op, i + 1 == pieces.size()});
      }
    }
    want_done_.push_back(w.req.op);
    writes_.push_back(std::move(w));
  }

  void inject(const std::vector<rtl::cpl_t>& beats, uint64_t delay) { injected_.push_back({cycle + delay, beats}); }

  // ---- One cycle ----------------------------------------------------------------------------------------------------
  void step() {
    rtl::drive(top->cfg_i, cfg);
    top->now_i = now();
    for (Client c : {kPayload, kWqe}) {
      if (!rd_valid_[c]) rd_valid_[c] = !reads_[c].empty() && chance(rd_pct);
    }
    top->rd_valid_i = rd_valid_[kPayload];
    top->rd2_valid_i = rd_valid_[kWqe];
    if (rd_valid_[kPayload]) rtl::drive(top->rd_i, reads_[kPayload].front());
    if (rd_valid_[kWqe]) rtl::drive(top->rd2_i, reads_[kWqe].front());
    top->pay_ready_i = chance(pay_pct);
    top->pay2_ready_i = chance(wqe_pay_pct);
    top->treq_rd_ready_i = chance(treq_pct);
    if (!wr_valid_) wr_valid_ = !writes_.empty() && !wr_taken_ && chance(wr_pct);
    top->wr_valid_i = wr_valid_;
    if (wr_valid_) rtl::drive(top->wr_i, writes_.front().req);
    if (!wd_valid_) wd_valid_ = !writes_.empty() && !wd_taken_ && chance(wdata_pct);
    top->wdata_valid_i = wd_valid_;
    if (wd_valid_) {
      const BeatData d = beat_data(writes_.front().data, wbeat_ * 64);
      for (unsigned i = 0; i < 16; ++i) top->wdata_i[i] = d[i];
    }
    // The write channels are taken as pcie_tlp_gen does: a request together with its first beat.
    const bool twd_go = chance(twd_pct);
    settle();
    top->treq_wr_ready_i = twd_go && !twr_mid_ && top->treq_wr_valid_o && top->twd_valid_o;
    top->twd_ready_i = twr_mid_ ? twd_go : top->treq_wr_ready_i;
    top->twr_sent_i = !sent_due_.empty() && sent_due_.front() <= cycle;
    if (top->twr_sent_i) sent_due_.pop_front();
    drive_completion();
    settle();
    observe();
    tick();
  }

  void run(unsigned limit = 200000) {
    for (unsigned i = 0; i < limit && !finished(); ++i) {
      step();
      if (::testing::Test::HasFailure()) return;
    }
    EXPECT_TRUE(finished()) << want_pay_[kPayload].size() << " reads, " << want_pay_[kWqe].size() << " of WQEs, and "
                            << want_done_.size() << " writes open, seed " << test_seed();
    for (int i = 0; i < 5; ++i) step();
    EXPECT_TRUE(top->idle_o);
    EXPECT_EQ(tags_used.size(), lost.size());
    EXPECT_EQ(probe_rd, total_reads_[kPayload]);
    EXPECT_EQ(room_headers, 0u);
    EXPECT_EQ(room_data, 0u);
  }

  /// ns; it wraps in the middle of a test.
  uint64_t now() const { return 0xFFFFF000u + cycle * 2; }

  /// Function-level reset for n cycles: what was asked for is forgotten, what was sent is still answered.
  void function_reset(unsigned n) {
    for (Client c : {kPayload, kWqe}) {
      reads_[c].clear(), want_pay_[c].clear(), want_treq_[c].clear();
      rd_valid_[c] = false;
      pay_at_[c] = 0;
    }
    writes_.clear(), want_twr_.clear(), want_done_.clear(), sent_due_.clear(), sent_last_.clear(), done_ops_.clear();
    wr_valid_ = wd_valid_ = wr_taken_ = wd_taken_ = twr_mid_ = false;
    wbeat_ = twr_at_ = 0;
    total_reads_[kPayload] = total_reads_[kWqe] = probe_rd = 0;
    top->rst_ni = 0;
    for (unsigned i = 0; i < n; ++i) step();
    top->rst_ni = 1;
  }

  /// Steps until the block is idle, which orphans prevent.
  void lost_are_free_after(unsigned cycles) {
    for (unsigned i = 0; i < cycles && !(top->idle_o && finished()); ++i) step();
    EXPECT_TRUE(top->idle_o);
  }

  bool finished() const {
    for (Client c : {kPayload, kWqe}) {
      if (!want_pay_[c].empty() || !want_treq_[c].empty()) return false;
    }
    return want_done_.empty() && want_twr_.empty() && injected_.empty() && answers_.empty();
  }

  // ---- Results ------------------------------------------------------------------------------------------------------
  std::map<uint16_t, std::deque<Answer>> answers_;
  std::set<uint16_t> tags_used;  ///< With an answer outstanding.
  size_t max_tags = 0, max_wqe_tags = 0;
  uint16_t max_tag = 0;
  std::map<uint16_t, uint64_t> lost;         ///< Tags that nobody answers, and when they left, in ns.
  unsigned room_headers = 0, room_data = 0;  ///< Held for completions.
  unsigned unexpected = 0, errors = 0, poisoned = 0, timeouts = 0, malformed = 0, probe_rd = 0, probe_done = 0,
           bytes_checked = 0;
  uint64_t last_cpl_cycle = 0, probe_cycle = 0, first_pay_cycle = 0, first_treq_cycle = 0, first_twr_cycle = 0;
  std::vector<uint64_t> pay_cycles, wqe_pay_cycles, treq_cycles;
  std::vector<Client> treq_order;
  unsigned total_reads_[2] = {}, total_writes_ = 0;

 private:
  struct Write {
    rtl::wr_req_t req;
    std::vector<uint8_t> data;
  };
  struct WantPay {
    rtl::rd_req_t req;
    uint64_t status;
  };
  struct WantTreq {
    golden::Piece piece;
    unsigned index;
    rtl::op_t op;
    uint8_t attr;
  };
  struct WantTwr {
    golden::Piece piece;
    std::vector<uint8_t> data;
    rtl::op_t op;
    bool last;
  };

  void drive_completion() {
    top->cpl_valid_i = 0;
    top->cpl_mid_i = cpl_mid_;
    if (current_.empty()) {
      std::vector<uint16_t> due;
      uint64_t oldest = ~0ull;
      uint16_t oldest_tag = 0;
      for (const auto& [tag, q] : answers_) {
        if (q.front().due > cycle) continue;
        due.push_back(tag);
        if (q.front().due < oldest) oldest = q.front().due, oldest_tag = tag;
      }
      if (!injected_.empty() && injected_.front().due <= cycle) {
        current_.assign(injected_.front().beats.begin(), injected_.front().beats.end());
        injected_.pop_front();
        current_tag_ = 0xFFFF;
      } else if (!due.empty()) {
        current_tag_ = reorder ? due[rng() % due.size()] : oldest_tag;
        auto& q = answers_[current_tag_];
        current_.assign(q.front().beats.begin(), q.front().beats.end());
        q.pop_front();
      }
    }
    if (current_.empty() || !chance(cpl_pct)) return;
    top->cpl_valid_i = 1;
    rtl::drive(top->cpl_i, current_.front());
    cpl_mid_ = !current_.front().eop;
    current_.pop_front();
    last_cpl_cycle = cycle;
    if (current_.empty() && current_tag_ != 0xFFFF && answers_[current_tag_].empty()) {
      answers_.erase(current_tag_);
      tags_used.erase(current_tag_);
    }
  }

  void observe() {
    unexpected += top->stat_unexpected_o;
    errors += top->stat_ur_o + top->stat_ca_o + top->stat_poisoned_o;
    poisoned += top->stat_poisoned_o;
    timeouts += top->stat_timeout_o;
    malformed += top->stat_malformed_o;
    room_headers -= top->back_h_o;
    room_data -= top->back_d_o;
    if (top->probe_rd_o) {
      const auto op = rtl::sample<rtl::op_t>(top->probe_rd_op_o);
      EXPECT_EQ(op.wqe, probe_rd & 0xFFFF);
      ++probe_rd;
    }
    if (top->probe_done_o) {
      ++probe_done;
      probe_cycle = cycle;
      const auto op = rtl::sample<rtl::op_t>(top->probe_done_op_o);
      EXPECT_TRUE(done_ops_.insert(op.wqe).second) << "second probe_done of " << op.wqe;
      EXPECT_EQ(op.qpn, 5);
    }
    if (rd_valid_[kPayload] && top->rd_ready_o) reads_[kPayload].pop_front(), rd_valid_[kPayload] = false;
    if (rd_valid_[kWqe] && top->rd2_ready_o) reads_[kWqe].pop_front(), rd_valid_[kWqe] = false;
    observe_treq();
    if (top->pay_valid_o && first_pay_cycle == 0) first_pay_cycle = cycle;
    if (top->pay_valid_o && top->pay_ready_i) {
      pay_cycles.push_back(cycle);
      observe_payload(kPayload, rtl::sample<rtl::payload_t>(top->pay_o));
    }
    if (top->pay2_valid_o && top->pay2_ready_i) {
      wqe_pay_cycles.push_back(cycle);
      observe_payload(kWqe, rtl::sample<rtl::payload_t>(top->pay2_o));
    }
    observe_writes();
  }

  void observe_treq() {
    if (top->treq_rd_valid_o && first_treq_cycle == 0) first_treq_cycle = cycle;
    if (!top->treq_rd_valid_o || !top->treq_rd_ready_i) return;
    const auto t = rtl::sample<rtl::tlp_req_t>(top->treq_rd_o);
    treq_cycles.push_back(cycle);
    const Client c = t.op.qpn == 6 ? kWqe : kPayload;
    treq_order.push_back(c);
    ASSERT_FALSE(want_treq_[c].empty());
    const WantTreq w = want_treq_[c].front();
    want_treq_[c].pop_front();
    ASSERT_EQ(t.addr, w.piece.addr);
    ASSERT_EQ(t.len, w.piece.len);
    ASSERT_FALSE(t.write);
    ASSERT_EQ(t.op.wqe, w.op.wqe);
    ASSERT_EQ(t.attr, w.attr);
    if (auto l = lost.find(t.tag); l != lost.end()) {
      // Not before its read was given up, and as long again.
      ASSERT_GE(now() - l->second, 2ull * cfg.cpl_timeout) << "tag " << t.tag;
      lost.erase(l);
      tags_used.erase(t.tag);
    }
    ASSERT_TRUE(tags_used.insert(t.tag).second) << "tag " << t.tag << " still in use";
    const auto first_wqe = tags_used.lower_bound(static_cast<uint16_t>(first_wqe_tag(tag_bits)));
    const auto of_wqes = static_cast<size_t>(std::distance(first_wqe, tags_used.end()));
    if (c == kWqe) {
      ASSERT_GE(t.tag, first_wqe_tag(tag_bits));
      ASSERT_LT(t.tag, 1u << tag_bits);
      max_wqe_tags = std::max(max_wqe_tags, of_wqes);
    } else {
      ASSERT_GE(t.tag, first_tag(tag_bits));
      ASSERT_LT(t.tag, first_tag(tag_bits) + tags(tag_bits));
      max_tags = std::max(max_tags, tags_used.size() - of_wqes);
      max_tag = std::max(max_tag, t.tag);
    }
    const Tlp req = golden::make_read(t.addr, t.len, cfg.requester_id, t.tag);
    golden::Completer worst = completer;  // cuts at every RCB
    worst.rcb = cfg.rcb ? 128 : 64;
    worst.cut = [] { return true; };
    for (const Tlp& c : worst.complete(req)) room_headers += 1, room_data += c.data_credits();
    uint64_t due = cycle + latency;
    auto all = make_answers(req, w.index);
    if (all.empty()) {
      lost[t.tag] = now();
      return;
    }
    auto& q = answers_[t.tag];
    for (auto& beats : all) {
      if (jitter) due += rng() % jitter;
      q.push_back({due, std::move(beats)});
    }
  }

  void observe_payload(Client c, const rtl::payload_t& p) {
    ASSERT_FALSE(want_pay_[c].empty());
    const WantPay& w = want_pay_[c].front();
    ASSERT_EQ(p.more, w.req.more) << "read " << w.req.op.wqe;
    if (w.status != pkg::DmaOk) {
      ASSERT_TRUE(p.last);
      ASSERT_EQ(p.status, w.status);
      if (c == kPayload) {
        ASSERT_EQ(done_ops_.count(w.req.op.wqe), 0u) << "probe_done of a failed read";
      }
      want_pay_[c].pop_front();
      return;
    }
    ASSERT_EQ(p.status, pkg::DmaOk) << "read " << w.req.op.wqe;
    const unsigned left = w.req.len - pay_at_[c];
    ASSERT_EQ(p.last, left <= 64);
    ASSERT_EQ(p.bytes, std::min(64u, left));
    for (unsigned i = 0; i < 64; ++i) {
      ASSERT_EQ(beat_byte(p.data, i), i < left ? memory(w.req.addr + pay_at_[c] + i) : 0)
          << std::hex << w.req.addr << " +" << pay_at_[c] + i;
    }
    bytes_checked += p.bytes;
    pay_at_[c] += 64;
    if (p.last) {
      if (c == kPayload) {
        ASSERT_EQ(done_ops_.count(w.req.op.wqe), 1u);
      }
      pay_at_[c] = 0;
      want_pay_[c].pop_front();
    }
  }

  void observe_writes() {
    if (wr_valid_ && top->wr_ready_o) wr_valid_ = false, wr_taken_ = true;
    if (wd_valid_ && top->wdata_ready_o) {
      wd_valid_ = false;
      wd_taken_ = ++wbeat_ * 64 >= writes_.front().data.size();
    }
    if (wr_taken_ && wd_taken_) {
      writes_.pop_front();
      wbeat_ = 0;
      wr_taken_ = wd_taken_ = false;
    }
    if (top->treq_wr_valid_o && first_twr_cycle == 0) {
      first_twr_cycle = cycle;
      EXPECT_TRUE(top->twd_valid_o);
    }
    if (top->treq_wr_valid_o && top->treq_wr_ready_i) {
      const auto t = rtl::sample<rtl::tlp_req_t>(top->treq_wr_o);
      ASSERT_FALSE(want_twr_.empty());
      const WantTwr& w = want_twr_.front();
      ASSERT_TRUE(t.write);
      ASSERT_EQ(t.addr, w.piece.addr);
      ASSERT_EQ(t.len, w.piece.len);
      ASSERT_EQ(t.op.psn, w.op.psn);
      twr_mid_ = true;
      twr_at_ = 0;
    }
    if (top->twd_valid_o && top->twd_ready_i) {
      ASSERT_TRUE(twr_mid_);
      const auto d = rtl::sample<rtl::tlp_wdata_t>(top->twd_o);
      const WantTwr& w = want_twr_.front();
      const auto want = golden::make_write(w.piece.addr, w.data, 0, 0).payload;
      ASSERT_EQ(d.data, beat_data(want, twr_at_)) << std::hex << w.piece.addr << " " << w.piece.len << " +" << twr_at_;
      twr_at_ += 64;
      ASSERT_EQ(d.last, twr_at_ >= want.size());
      if (d.last) {
        twr_mid_ = false;
        sent_due_.push_back(cycle + sent_delay);
        sent_last_.push_back(w.last);
        want_twr_.pop_front();
      }
    }
    if (top->twr_sent_i) {
      ASSERT_FALSE(sent_last_.empty());
      ASSERT_EQ(top->wr_done_o, sent_last_.front());
      sent_last_.pop_front();
    }
    if (top->wr_done_o) {
      ASSERT_FALSE(want_done_.empty());
      ASSERT_EQ(rtl::sample<rtl::op_t>(top->wr_done_op_o).psn, want_done_.front().psn);
      want_done_.pop_front();
    }
  }

  std::deque<rtl::rd_req_t> reads_[2];
  std::deque<WantPay> want_pay_[2];
  std::deque<WantTreq> want_treq_[2];
  std::deque<Write> writes_;
  std::deque<WantTwr> want_twr_;
  std::deque<rtl::op_t> want_done_;
  std::deque<Answer> injected_;
  std::deque<rtl::cpl_t> current_;
  std::deque<uint64_t> sent_due_;
  std::deque<bool> sent_last_;
  std::set<uint16_t> done_ops_;
  uint16_t current_tag_ = 0xFFFF;
  bool cpl_mid_ = false, rd_valid_[2] = {}, wr_valid_ = false, wd_valid_ = false, wr_taken_ = false, wd_taken_ = false,
       twr_mid_ = false;
  size_t wbeat_ = 0, twr_at_ = 0;
  unsigned pay_at_[2] = {};
};

unsigned random_len(std::mt19937_64& rng) {
  switch (rng() % 4) {
    case 0:
      return static_cast<unsigned>(1 + rng() % 8);
    case 1:
      return static_cast<unsigned>(1 + rng() % 200);
    case 2:
      return static_cast<unsigned>(64 * (1 + rng() % 64));
    default:
      return static_cast<unsigned>(1 + rng() % 4096);
  }
}

// Every read is cut as the reference cuts it, and all bytes come back in order, whatever MRRS, completion cuts, order
// of tags, and pace of every side.
TEST(DmaMasterTest, ReadsComeBackInOrder) {
  for (unsigned mrrs : {0u, 2u, 5u}) {
    for (unsigned rcb : {64u, 128u}) {
      for (unsigned pace : {100u, 60u, 25u}) {
        for (bool reorder : {false, true}) {
          DmaBench b;
          b.cfg.mrrs = static_cast<uint8_t>(mrrs);
          b.completer.rcb = rcb;
          b.completer.cut = [&b] { return b.chance(30); };
          b.rd_pct = b.treq_pct = b.cpl_pct = pace;
          b.pay_pct = pace == 60 ? 100 : pace;
          b.reorder = reorder;
          b.jitter = reorder ? 40 : 0;
          for (int i = 0; i < 60; ++i) b.add_read(b.rng() >> 16, random_len(b.rng));
          b.run();
          if (HasFailure()) return;
          EXPECT_EQ(b.probe_done, 60u);
          EXPECT_EQ(b.unexpected + b.errors + b.malformed, 0u);
        }
      }
    }
  }
}

// Around every alignment and page end, for every MRRS, cuts and bytes are right.
TEST(DmaMasterTest, ReadAlignmentSweep) {
  for (unsigned mrrs = 0; mrrs <= 5; ++mrrs) {
    DmaBench b;
    b.cfg.mrrs = static_cast<uint8_t>(mrrs);
    b.completer.cut = [] { return true; };
    for (unsigned off : {0u, 1u, 2u, 3u, 4u, 31u, 60u, 63u, 64u, 127u, 0xFFCu, 0xFFFu}) {
      for (unsigned len : {1u, 2u, 3u, 4u, 5u, 8u, 63u, 64u, 65u, 127u, 128u, 129u, 512u, 4095u, 4096u}) {
        b.add_read(0x123450000 + off, len);
      }
    }
    b.run();
    if (HasFailure()) return;
    EXPECT_EQ(b.malformed, 0u);
  }
}

// 4096 B at a page's start with MRRS 4096 is one request; 8 B across a page end are two.
TEST(DmaMasterTest, SplitExamples) {
  DmaBench b;
  b.cfg.mrrs = 5;
  b.add_read(0x1000, 4096);
  b.run();
  EXPECT_EQ(b.treq_cycles.size(), 1u);
  b.add_read(0x1FFC, 8);
  b.run();
  EXPECT_EQ(b.treq_cycles.size(), 3u);
}

// The standard's completion examples: 256 B at 0x103c cut at every RCB, 512 B at 0x1010 in the largest pieces; and 4
// KiB in one.
TEST(DmaMasterTest, CompletionExamples) {
  DmaBench b;
  b.cfg.mrrs = 5;
  b.completer.cut = [] { return true; };
  b.add_read(0x103C, 256);
  b.run();
  b.completer.cut = nullptr;
  b.completer.mps = 256;
  b.add_read(0x1010, 512);
  b.run();
  b.completer.mps = 4096;
  b.add_read(0x3000, 4096);
  b.run();
  EXPECT_EQ(b.probe_done, 3u);
  EXPECT_EQ(b.malformed, 0u);
  EXPECT_EQ(b.bytes_checked, 768u + 4096);
}

// Hundreds of reads wrap ring, slots and tags; never more tags are out than there are, and all of them get used.
TEST(DmaMasterTest, TagsBoundReadsInFlight) {
  for (unsigned bits : kTagBits) {
    DmaBench b;
    b.set_tag_bits(bits);
    b.cfg.mrrs = 0;
    b.latency = kNumTags >= 32 ? 1200 : 60;
    b.jitter = 100;
    b.reorder = true;
    const bool many = tags(bits) > 448;  // the buffer has no room for so many large ones: two short ones a read
    for (int i = 0; i < (kNumTags >= 32 ? 600 : 300); ++i) {
      const uint64_t addr = b.rng() >> 20;
      b.add_read(many ? addr | 0x7F : addr, static_cast<unsigned>(many ? 8 : 1 + b.rng() % 600));
    }
    b.run();
    if (HasFailure()) return;
    EXPECT_EQ(b.max_tags, tags(bits));
    EXPECT_EQ(b.max_tag, first_tag(bits) + tags(bits) - 1);
  }
}

// Tags that more bits allowed are not used again once those are switched off.
TEST(DmaMasterTest, TagBitsOffAndOn) {
  DmaBench b;
  b.cfg.mrrs = 0;
  b.latency = 300;
  for (unsigned bits : {10, 5, 8, 5, 10, 8}) {
    b.set_tag_bits(bits);
    for (int i = 0; i < 20; ++i) b.add_read(0x10000, 2048);
    b.run();
    if (HasFailure()) return;
  }
}

// A read that fails returns one beat with its first error after all its tags are answered; its neighbours are whole.
TEST(DmaMasterTest, FailedReadsReportOnce) {
  for (uint64_t status : {pkg::DmaUr, pkg::DmaCa, pkg::DmaPoisoned, pkg::DmaMalformed}) {
    for (bool reorder : {false, true}) {
      DmaBench b;
      b.cfg.mrrs = 1;
      b.reorder = reorder;
      b.jitter = reorder ? 30 : 0;
      b.completer.cut = [&b] { return b.chance(30); };
      unsigned failed = 0;
      b.make_answers = [&](const Tlp& t, unsigned index) {
        auto v = b.good(t);
        if (index % 3 != 1 || (t.addr & 0x100)) return v;
        if (status == pkg::DmaPoisoned) {  // the rest comes all the same
          for (auto& beat : v[b.rng() % v.size()]) beat.status = pkg::DmaPoisoned;
          ++failed;
          return v;
        }
        // Every second request of such a read fails at once, or after its first completion.
        if (v.size() > 1 && b.chance(50))
          v.resize(1 + b.rng() % (v.size() - 1));
        else
          v.clear();
        Tlp f = b.completer.fail(t, golden::kCplUr);
        if (status == pkg::DmaMalformed) {
          f.length_dw = 1 + static_cast<unsigned>(b.rng() % 40);
          f.payload.assign(f.length_dw * 4, 0xEE);
        }
        v.push_back(cpl_beats(f, status));
        ++failed;
        return v;
      };
      for (unsigned i = 0; i < 90; ++i) {
        const uint64_t addr = 0x40000 + (b.rng() & 0xFF);
        b.add_read(addr, static_cast<unsigned>(300 + b.rng() % 1500), i % 3 == 1 ? status : pkg::DmaOk);
      }
      b.run();
      if (HasFailure()) return;
      EXPECT_GT(failed, 30u);
      EXPECT_EQ(b.errors, status == pkg::DmaMalformed ? 0u : failed);
      EXPECT_EQ(b.probe_done, 60u);
      EXPECT_EQ(b.unexpected, 0u);
    }
  }
}

// A flush returns one beat without bytes, in its place, and asks for none; also when it fails.
TEST(DmaMasterTest, FlushReadsReturnInTheirPlace) {
  for (bool fails : {false, true}) {
    DmaBench b;
    b.reorder = true;
    b.jitter = 60;
    b.make_answers = [&](const Tlp& t, unsigned index) {
      if (!fails || index % 3 != 1) return b.good(t);
      return std::vector<std::vector<rtl::cpl_t>>{cpl_beats(b.completer.fail(t, golden::kCplCa), pkg::DmaCa)};
    };
    for (unsigned i = 0; i < 90; ++i) {
      const uint64_t addr = 0x7000 + b.rng() % 0x2000;
      b.add_read(addr, i % 3 == 1 ? 0 : random_len(b.rng), fails && i % 3 == 1 ? pkg::DmaCa : pkg::DmaOk);
    }
    b.run();
    if (HasFailure()) return;
    EXPECT_EQ(b.unexpected + b.malformed, 0u);
    EXPECT_EQ(b.errors, fails ? 30u : 0u);
  }
}

// A read that nobody answers fails after the timeout, its neighbours are whole, and its tag rests as long again. Four
// in a row, and then a good one.
TEST(DmaMasterTest, UnansweredReadsTimeOut) {
  for (Client c : {kPayload, kWqe}) {
    for (unsigned pace : {100u, 30u}) {
      DmaBench b;
      b.cfg.cpl_timeout = 3000;
      b.cpl_pct = pace;
      b.completer.cut = [&b] { return b.chance(30); };
      b.make_answers = [&](const Tlp& t, unsigned index) {
        return index < 4 ? std::vector<std::vector<rtl::cpl_t>>{} : b.good(t);
      };
      for (unsigned i = 0; i < 4; ++i) b.add_read(0x1000 * i, 512, pkg::DmaTimeout, c);
      for (unsigned i = 0; i < 40; ++i) b.add_read(0x10000 + 0x1000 * i, 512, pkg::DmaOk, c);
      const uint64_t start = b.now();
      while (b.timeouts == 0 && b.cycle < 10000) b.step();
      EXPECT_GE(b.now() - start, 3000u);
      EXPECT_LE(b.now() - start, 3000u + 2 * (kNumTags + 100));
      b.lost_are_free_after(20000);
      b.run();
      if (HasFailure()) return;
      EXPECT_EQ(b.timeouts, 4u);
      EXPECT_EQ(b.unexpected + b.errors + b.malformed, 0u);
    }
  }
}

// Reads that are too old together are given up one behind the other, none a round of all tags later.
TEST(DmaMasterTest, TooOldReadsGoInOneRound) {
  DmaBench b;
  b.cfg.cpl_timeout = 20000;
  b.make_answers = [&](const Tlp&, unsigned) { return std::vector<std::vector<rtl::cpl_t>>{}; };
  const unsigned n = std::min(kNumTags, 8u);
  for (unsigned i = 0; i < n; ++i) b.add_read(0x1000 * i, 64, pkg::DmaTimeout);
  for (unsigned i = 0; i < 300; ++i) b.step();
  b.cfg.cpl_timeout = 200;
  for (unsigned i = 0; i < 2000 && b.timeouts == 0; ++i) b.step();
  for (unsigned i = 0; i < 4 * n; ++i) b.step();
  EXPECT_EQ(b.timeouts, n);
  b.lost_are_free_after(5000);
}

// What comes for a read already given up is counted and dropped, and never lands in a new one; the tag is free when it
// was all. The same of a completion that carries too much, where the tag rests.
TEST(DmaMasterTest, LateCompletionsAreDropped) {
  for (const std::string what : {"late", "surplus"}) {
    DmaBench b;
    b.cfg.cpl_timeout = 2000;
    b.cfg.mrrs = 1;
    b.latency = what == "late" ? 1850 : 30;  // cycles of 2 ns: given up, and not yet free
    unsigned late = 0;
    const unsigned few = std::min(kNumTags, 16u);
    b.make_answers = [&](const Tlp& t, unsigned index) {
      auto v = b.good(t);
      if (index + 1 >= few) b.latency = 20;
      if (index >= few) return v;
      if (what == "late") {
        late += static_cast<unsigned>(v.size());
      } else {
        Tlp c = b.completer.complete(t)[0];
        c.length_dw += 8;
        c.payload.resize(c.length_dw * 4, 0xEE);
        v.insert(v.begin(), cpl_beats(c, pkg::DmaOk));
        late += static_cast<unsigned>(v.size()) - 1;
      }
      return v;
    };
    for (unsigned i = 0; i < few; ++i) {
      b.add_read(0x3000 + 256 * i, 256, what == "late" ? pkg::DmaTimeout : pkg::DmaMalformed);
    }
    for (unsigned i = 0; i < 300; ++i) b.add_read(0x20000 + 256 * i, 200);
    b.run();
    if (HasFailure()) return;
    EXPECT_EQ(b.unexpected, late);
    EXPECT_EQ(b.timeouts, what == "late" ? few : 0u);
    EXPECT_EQ(b.malformed, what == "late" ? 0u : few);
  }
}

// Reset in the middle of reads and writes: a new life starts at once with the tags that are left, the answers to the
// old one are dropped and counted, its tags come back, and so does the room.
TEST(DmaMasterTest, FunctionResetLeavesNothingBehind) {
  for (unsigned bits : kTagBits) {
    for (unsigned at : {3u, 20u, 41u, 60u, 150u, 400u}) {
      for (unsigned n : {1u, 2u, 30u}) {
        DmaBench b;
        b.set_tag_bits(bits);
        b.cfg.cpl_timeout = 100000;
        b.cfg.mrrs = 0;
        b.cpl_pct = at % 2 ? 100 : 50;
        b.jitter = 100;
        b.reorder = true;
        b.completer.cut = [&b] { return b.chance(30); };
        for (int life = 0; life < 3; ++life) {
          for (int i = 0; i < 20; ++i) {
            b.add_read(b.rng() >> 12, random_len(b.rng));
            b.add_read(b.rng() >> 12 & ~uint64_t{63}, 256, pkg::DmaOk, kWqe);
            b.add_write(b.rng() >> 12, random_len(b.rng));
          }
          if (life == 2) break;
          for (unsigned i = 0; i < at; ++i) b.step();
          b.function_reset(n);
        }
        b.run();
        if (HasFailure()) return;
        if (at >= 20 && at < 100) {
          EXPECT_GT(b.unexpected, 0u);
        }
        EXPECT_EQ(b.errors + b.malformed + b.timeouts, 0u);
      }
    }
  }
}

// A reset takes away the tag bits as well, and the driver gives others: what was asked for with the old ones still
// finds its tag, nothing is asked for with new ones that could be mistaken for it, and all tags and all room come back.
TEST(DmaMasterTest, FunctionResetChangesTagBits) {
  for (unsigned i = 0; i < 240; ++i) {
    DmaBench b(test_seed() + i);
    unsigned bits = kTagBits[i % 3];
    b.set_tag_bits(bits);
    b.cfg.cpl_timeout = 100000;
    b.cfg.mrrs = i / 3 % 3;
    b.cpl_pct = i % 2 ? 100 : 50;
    b.treq_pct = i % 5 ? 100 : 60;
    b.jitter = 100;
    b.reorder = true;
    b.completer.cut = [&b] { return b.chance(30); };
    for (int life = 0; life < 4; ++life) {
      for (int n = 0; n < 20; ++n) {
        b.add_read(b.rng() >> 12, random_len(b.rng));
        b.add_read(b.rng() >> 12 & ~uint64_t{63}, 256, pkg::DmaOk, kWqe);
      }
      if (life == 3) break;
      for (auto n = 1 + b.rng() % 120; n > 0; --n) b.step();
      b.set_tag_bits(5);
      b.function_reset(static_cast<unsigned>(1 + b.rng() % 12));
      for (auto n = b.rng() % 3 * (b.rng() % 60); n > 0; --n) b.step();
      bits = kTagBits[b.rng() % 3];
      b.set_tag_bits(bits);
    }
    b.run();
    if (HasFailure()) {
      ADD_FAILURE() << "case " << i;
      return;
    }
    EXPECT_EQ(b.errors + b.malformed + b.timeouts, 0u);
  }
}

// Also without a reset: a request that is offered leaves with its tag, the next one with one of the new bits.
TEST(DmaMasterTest, OfferedReadKeepsItsTag) {
  for (Client c : {kPayload, kWqe}) {
    DmaBench b;
    b.treq_pct = 0;
    b.add_read(0x1000, 64, pkg::DmaOk, c);
    for (int i = 0; i < 5; ++i) b.step();
    b.cfg.tag10 = false;
    b.cfg.ext_tag = true;
    for (int i = 0; i < 5; ++i) b.step();
    EXPECT_EQ(rtl::sample<rtl::tlp_req_t>(b.top->treq_rd_o).tag, c == kWqe ? first_wqe_tag(10) : first_tag(10));
    b.treq_pct = 100;
    b.run();
    b.set_tag_bits(8);
    for (int i = 0; i < 40; ++i) b.add_read(0x1000 * i, 64, pkg::DmaOk, c);
    b.run();
    EXPECT_EQ(b.unexpected, 0u);
  }
}

// Tags of an old life that nobody answers are free after the timeout.
TEST(DmaMasterTest, OrphansTimeOut) {
  DmaBench b;
  b.cfg.cpl_timeout = 2000;
  b.make_answers = [&](const Tlp&, unsigned) { return std::vector<std::vector<rtl::cpl_t>>{}; };
  for (unsigned i = 0; i < 500; ++i) b.add_read(0x1000 * i, 512);
  for (unsigned i = 0; i < 700; ++i) b.step();
  b.function_reset(1);
  b.lost_are_free_after(4000);
  b.lost.clear(), b.tags_used.clear();
  EXPECT_TRUE(b.top->idle_o);
  b.make_answers = [&](const Tlp& t, unsigned) { return b.good(t); };
  for (unsigned i = 0; i < 500; ++i) b.add_read(0x1000 * i, 512);
  b.run();
  EXPECT_EQ(b.timeouts + b.unexpected, 0u);
}

// Every kind of bad answer at the first, a middle and the last completion of the first, a middle and the last request
// of a read. Four such reads in a row fail each in its way, or, where only the header lies, do not; good ones follow,
// and in the end every tag can be had again.
TEST(DmaMasterTest, EveryErrorAtEveryPlace) {
  struct Kind {
    std::string name;
    uint64_t status;
  };
  const std::vector<Kind> kinds = {{"UR", pkg::DmaUr},
                                   {"CA", pkg::DmaCa},
                                   {"poisoned", pkg::DmaPoisoned},
                                   {"timeout", pkg::DmaTimeout},
                                   {"malformed", pkg::DmaMalformed},
                                   {"too long", pkg::DmaMalformed},
                                   {"byte count", pkg::DmaOk},
                                   {"byte of the address", pkg::DmaOk},
                                   {"DW of the address", pkg::DmaMalformed}};
  const auto spoil = [](DmaBench& b, const Tlp& t, const std::string& kind, unsigned place) {
    auto tlps = b.completer.complete(t);
    const size_t at = place == 0 ? 0 : place == 1 ? tlps.size() / 2 : tlps.size() - 1;
    std::vector<std::vector<rtl::cpl_t>> v;
    for (size_t i = 0; i < tlps.size(); ++i) {
      uint64_t status = pkg::DmaOk;
      if (i == at) {
        if (kind == "UR" || kind == "CA") {
          v.push_back(cpl_beats(b.completer.fail(t, golden::kCplUr), kind == "UR" ? pkg::DmaUr : pkg::DmaCa));
          return v;
        }
        if (kind == "timeout") return v;
        if (kind == "poisoned") status = pkg::DmaPoisoned;
        if (kind == "malformed") status = pkg::DmaMalformed;
        if (kind == "byte count") tlps[i].byte_count ^= 1u << b.rng() % 12;
        if (kind == "byte of the address") tlps[i].lower_addr ^= static_cast<uint8_t>(1u << b.rng() % 2);
        if (kind == "DW of the address") tlps[i].lower_addr ^= static_cast<uint8_t>(4u << b.rng() % 5);
        if (kind == "too long") {
          tlps[i].length_dw += 8;
          tlps[i].payload.resize(tlps[i].length_dw * 4, 0xEE);
        }
      }
      v.push_back(cpl_beats(tlps[i], status));
    }
    return v;
  };
  for (const Kind& kind : kinds) {
    for (Client c : {kPayload, kWqe}) {
      for (unsigned place = 0; place < 9; ++place) {
        SCOPED_TRACE(kind.name + (c == kWqe ? " of a WQE" : "") + " at " + std::to_string(place));
        DmaBench b(test_seed() + place);
        b.set_tag_bits(kTagBits[place % 3]);
        b.cfg.cpl_timeout = 3000;
        b.reorder = place & 1;
        b.jitter = place & 1 ? 30 : 0;
        b.completer.cut = [&b] { return b.chance(80); };
        unsigned spoiled = 0;
        b.make_answers = [&](const Tlp& t, unsigned index) {
          const unsigned piece = (t.addr & 0xFFF) / 512;
          if (index >= 4 || piece != place / 3) return b.good(t);
          ++spoiled;
          return spoil(b, t, kind.name, place % 3);
        };
        for (unsigned i = 0; i < 4; ++i) b.add_read(0x10000 + 0x1000 * i + i, 1536 - 5 * i, kind.status, c);
        for (unsigned i = 0; i < 20; ++i) b.add_read(0x20000 + 0x1000 * i, random_len(b.rng), pkg::DmaOk, c);
        b.lost_are_free_after(100000);
        b.lost.clear(), b.tags_used.clear();
        b.run();
        if (HasFailure()) return;
        EXPECT_EQ(spoiled, 4u);
        EXPECT_EQ(b.timeouts, kind.name == "timeout" ? 4u : 0u);
        EXPECT_EQ(b.poisoned, kind.name == "poisoned" ? 4u : 0u);
        EXPECT_EQ(b.errors, kind.status == pkg::DmaOk || kind.status >= pkg::DmaTimeout ? 0u : 4u);
        if (kind.status == pkg::DmaOk) {
          EXPECT_EQ(b.malformed, 4u);
        }
        b.latency = 2000;
        b.cfg.cpl_timeout = 20000;
        const unsigned all = c == kWqe ? wqe_tags(b.tag_bits) : tags(b.tag_bits);
        b.max_tags = b.max_wqe_tags = 0;
        // Two requests each
        for (unsigned i = 0; i < (all + 1) / 2; ++i) b.add_read(0x41E0 + 512 * i, 64, pkg::DmaOk, c);
        b.run();
        if (HasFailure()) return;
        if (c == kPayload) {
          EXPECT_EQ(b.max_tags, all);
        }
      }
    }
  }
}

// Reads and writes of the edges and of any address and length, for every MRRS, MPS, RCB, way to cut completions, and
// order of the tags: requests as the reference splits them, bytes in their places, and none beside them.
TEST(DmaMasterTest, SweepAgainstTheReference) {
  for (unsigned mrrs = 0; mrrs <= 5; ++mrrs) {
    for (unsigned mps = 0; mps <= 5; ++mps) {
      for (unsigned variant = 0; variant < 12; ++variant) {
        DmaBench b(test_seed() + (mrrs * 6 + mps) * 12 + variant);
        b.cfg.mrrs = static_cast<uint8_t>(mrrs);
        b.cfg.mps = static_cast<uint8_t>(mps);
        b.cfg.rcb = variant & 1;
        b.completer.rcb = b.cfg.rcb ? 128 : 64;
        b.completer.mps = 128u << mps;
        const unsigned cut_pct[] = {0, 30, 100};
        b.completer.cut = [&b, pct = cut_pct[variant / 4]] { return b.chance(pct); };
        b.reorder = variant & 2;
        b.jitter = b.reorder ? 200 : 0;
        for (unsigned i = 0; i < 10; ++i) {
          const uint64_t base = b.rng() >> (b.rng() & 1 ? 16 : 34) << 12;
          const uint64_t edge = (b.rng() % 33 * 128 + b.rng() % 5 - 2) & 0xFFF;
          const uint64_t addr = base + (i & 1 ? edge : b.rng() % 4096);
          const auto len = static_cast<unsigned>(
              i & 2 ? std::clamp<uint64_t>((128u << b.rng() % 6) + b.rng() % 5 - 2, 1, 4096) : random_len(b.rng));
          b.add_read(addr, len, pkg::DmaOk, i % 5 == 4 ? kWqe : kPayload);
          b.add_write(addr, len);
        }
        b.run();
        ASSERT_FALSE(HasFailure()) << "MRRS " << mrrs << ", MPS " << mps << ", variant " << variant;
        EXPECT_EQ(b.unexpected + b.errors + b.malformed, 0u);
      }
    }
  }
}

// The first error wins: UR and then CA on another tag of the same read is UR.
TEST(DmaMasterTest, FirstErrorWins) {
  DmaBench b;
  b.cfg.mrrs = 1;
  b.make_answers = [&](const Tlp& t, unsigned) {
    const bool first = (t.addr & 0x100) == 0;
    return std::vector<std::vector<rtl::cpl_t>>{
        cpl_beats(b.completer.fail(t, golden::kCplUr), first ? pkg::DmaUr : pkg::DmaCa)};
  };
  b.add_read(0x1000, 512, pkg::DmaUr);
  b.run();
  EXPECT_EQ(b.errors, 2u);
}

// A completion that carries more than was asked for fails its read, and writes nothing beyond it.
TEST(DmaMasterTest, SurplusIsDropped) {
  for (unsigned surplus : {1u, 16u, 40u}) {
    for (unsigned len : {3u, 4u, 61u, 64u, 100u, 125u, 200u}) {
      DmaBench b;
      b.cfg.mrrs = 5;
      b.make_answers = [&](const Tlp& t, unsigned index) {
        b.latency = index == 0 ? 200 : 20;  // of the next one
        auto v = b.good(t);
        if (index != 1) return v;
        Tlp c = b.completer.complete(t)[0];
        c.length_dw += surplus;
        c.payload.resize(c.length_dw * 4, 0xEE);
        return std::vector<std::vector<rtl::cpl_t>>{cpl_beats(c, pkg::DmaOk)};
      };
      // The neighbours' data are in the buffer before the surplus comes.
      b.add_read(0x2000, 64);
      b.add_read(0x3000, len, pkg::DmaMalformed);
      b.add_read(0x4000, 64);
      b.run();
      if (HasFailure()) return;
      EXPECT_EQ(b.malformed, 1u);
      EXPECT_EQ(b.probe_done, 2u);
    }
  }
}

// The own count decides: a wrong byte count or lower address is counted, and the data are good all the same.
TEST(DmaMasterTest, ByteCountIsCheckedNotTrusted) {
  for (int what = 0; what < 2; ++what) {
    DmaBench b;
    b.completer.cut = [] { return true; };
    unsigned spoiled = 0;
    b.make_answers = [&](const Tlp& t, unsigned) {
      auto v = b.good(t);
      for (auto& c : v) {
        if (!b.chance(30)) continue;
        for (auto& beat : c) {
          if (what == 0)
            beat.byte_count ^= 4;
          else
            beat.lower_addr ^= 1;
        }
        ++spoiled;
      }
      return v;
    };
    for (int i = 0; i < 40; ++i) b.add_read(0x5000 + (b.rng() & 0xFFF), random_len(b.rng));
    b.run();
    if (HasFailure()) return;
    EXPECT_GT(spoiled, 10u);
    EXPECT_EQ(b.malformed, spoiled);
  }
}

// Completions for tags that are not in use, never were, or just retired are counted and change nothing.
TEST(DmaMasterTest, UnexpectedTagsAreDropped) {
  for (unsigned bits : kTagBits) {
    DmaBench b;
    b.set_tag_bits(bits);
    b.cfg.mrrs = 5;
    Tlp stray;
    stray.fmt_type = golden::kCplD;
    stray.length_dw = 24;
    stray.byte_count = 96;
    stray.payload.assign(96, 0xEE);
    unsigned injected = 0;
    for (uint16_t tag = 0; tag < 1024; ++tag) {
      stray.tag = tag;
      b.inject(cpl_beats(stray, pkg::DmaOk), 1), ++injected;
    }
    b.run();
    EXPECT_EQ(b.unexpected, injected);
    EXPECT_TRUE(b.top->idle_o);
    // The last completion comes twice, back to back.
    b.make_answers = [&](const Tlp& t, unsigned) {
      auto v = b.good(t);
      v.push_back(v.back());
      ++injected;
      return v;
    };
    for (unsigned len : {4u, 64u, 100u}) {
      b.add_read(0x7000, len);
      b.run();
    }
    EXPECT_EQ(b.unexpected, injected);
    EXPECT_EQ(b.malformed + b.errors, 0u);
  }
}

// While one payload read and one of a WQE are open, a completion with any other tag is no answer to either: all bits
// count, also those that the tags in use do not have. A completer without 10-bit tags loses the upper two.
TEST(DmaMasterTest, AllTagBitsCount) {
  for (unsigned bits : kTagBits) {
    DmaBench b;
    b.set_tag_bits(bits);
    b.latency = 4000;
    b.add_read(0x7000, 96);
    Tlp stray;
    stray.fmt_type = golden::kCplD;
    stray.length_dw = 24;
    stray.byte_count = 96;
    stray.payload.assign(96, 0xEE);
    b.add_read(0x8000, 96, pkg::DmaOk, kWqe);
    for (uint16_t tag = 0; tag < 1024; ++tag) {
      if (tag == first_tag(bits) || tag == first_wqe_tag(bits)) continue;
      stray.tag = tag;
      b.inject(cpl_beats(stray, pkg::DmaOk), 20);
    }
    b.run();
    EXPECT_EQ(b.unexpected, 1022u);
  }
}

// What a read held of the buffer comes back whole, also at the edge at which the next one is accepted: after more reads
// than there are lines they pass as fast as at first.
TEST(DmaMasterTest, BufferComesBackWhole) {
  DmaBench b;
  const auto cycles_of = [&b](unsigned reads) {
    const uint64_t start = b.cycle;
    for (unsigned i = 0; i < reads; ++i) b.add_read(0x100020 + i * 256, 200);
    b.run();
    return b.cycle - start;
  };
  b.step();  // takes the tag bits over
  const uint64_t first = cycles_of(200);
  b.rd_pct = 20;  // acceptance falls on any cycle of the output
  cycles_of(4000);
  b.rd_pct = 100;
  EXPECT_EQ(cycles_of(200), first);
}

// A read, also of a WQE, keeps the block busy until its last byte has been taken, a write until its last TLP has been
// reported.
TEST(DmaMasterTest, BusyUntilAllIsDone) {
  for (const std::string what : {"read", "WQE", "write"}) {
    DmaBench b;
    b.latency = b.sent_delay = 50;
    if (what == "write") {
      b.add_write(0x1000, 200);
    } else {
      b.add_read(0x1000, 256, pkg::DmaOk, what == "WQE" ? kWqe : kPayload);
    }
    b.step();
    for (int i = 0; i < 1000 && !b.finished(); ++i) {
      EXPECT_FALSE(b.top->idle_o) << what << ", cycle " << i;
      b.step();
    }
    b.run();
  }
}

// Without bus mastering nothing is sent: a read says so in its place, a write is swallowed and reported.
TEST(DmaMasterTest, NoBusMaster) {
  DmaBench b;
  b.cfg.bus_master = false;
  for (unsigned len : {1u, 64u, 100u, 4096u}) {
    b.add_read(0x1001, len, pkg::DmaNoMaster);
    b.add_write(0x1001, len);
  }
  b.run();
  EXPECT_TRUE(b.treq_cycles.empty());
  EXPECT_EQ(b.probe_done, 0u);
  b.cfg.bus_master = true;
  b.add_read(0x1001, 300);
  b.add_write(0x1001, 300);
  b.run();
}

// Switched off behind a write that is still to be reported: the next write is swallowed, however slowly its data come,
// and reported after it.
TEST(DmaMasterTest, SwallowedWriteIsReportedInItsPlace) {
  for (unsigned pace : {100u, 20u}) {
    DmaBench b;
    b.sent_delay = 100;
    b.add_write(0x1001, 200);
    for (int i = 0; i < 30; ++i) b.step();
    b.cfg.bus_master = false;
    b.wdata_pct = pace;
    b.add_write(0x1001, 1000);
    b.run();
  }
}

// Every write is cut as the reference cuts it, its bytes stand at their lanes, and it is done with its last TLP.
TEST(DmaMasterTest, WritesAreCutAndShifted) {
  for (unsigned mps : {0u, 1u, 2u, 3u, 4u, 5u}) {
    for (unsigned pace : {100u, 50u}) {
      for (unsigned delay : {1u, 30u}) {
        DmaBench b;
        b.cfg.mps = static_cast<uint8_t>(mps);
        b.wr_pct = b.twd_pct = pace;
        b.wdata_pct = pace == 50 ? 70 : 100;
        b.sent_delay = delay;
        for (unsigned off : {0u, 1u, 2u, 3u, 4u, 61u, 63u, 64u, 126u, 0xFFCu, 0xFFFu}) {
          for (unsigned len : {1u, 2u, 4u, 5u, 63u, 64u, 65u, 128u, 129u, 300u, 4096u}) b.add_write(0x70000 + off, len);
        }
        for (int i = 0; i < 60; ++i) b.add_write(b.rng() >> 8, random_len(b.rng));
        b.run();
        if (HasFailure()) return;
      }
    }
  }
}

// Reads and writes at once do not disturb each other.
TEST(DmaMasterTest, ReadsAndWritesTogether) {
  DmaBench b;
  b.rd_pct = b.wr_pct = 50;
  b.pay_pct = b.twd_pct = 70;
  b.reorder = true;
  b.jitter = 50;
  b.completer.cut = [&b] { return b.chance(20); };
  for (int i = 0; i < 200; ++i) {
    b.add_read(b.rng() >> 12, random_len(b.rng));
    b.add_write(b.rng() >> 12, random_len(b.rng));
  }
  b.run();
}

// Reads of WQEs have tags and data of their own: both clients' come back whole and in order, whatever the order of the
// answers, also in short tags, and neither waits for the other's output.
TEST(DmaMasterTest, WqeReadsStandBesidePayload) {
  for (unsigned bits : kTagBits) {
    for (unsigned pace : {100u, 40u}) {
      DmaBench b;
      b.set_tag_bits(bits);
      b.cfg.mrrs = 0;
      b.rd_pct = b.treq_pct = b.cpl_pct = pace;
      b.reorder = true;
      b.latency = 150;
      b.jitter = 60;
      b.completer.cut = [&b] { return b.chance(20); };
      const unsigned reads = kNumTags >= 32 ? 150 : 40;
      for (unsigned i = 0; i < reads; ++i) {
        b.add_read(b.rng() >> 12, random_len(b.rng));
        b.add_read((b.rng() >> 12) & ~uint64_t{63}, static_cast<unsigned>(64 * (1 + b.rng() % 16)), pkg::DmaOk, kWqe);
        if (i % 3 == 0) b.add_write(b.rng() >> 12, random_len(b.rng));
      }
      b.run(400000);
      if (HasFailure()) return;
      EXPECT_EQ(b.max_wqe_tags, wqe_tags(bits));
      EXPECT_EQ(b.probe_done, reads);
      EXPECT_EQ(b.unexpected + b.errors + b.malformed, 0u);
    }
  }
  for (bool wqe_stalls : {false, true}) {
    DmaBench b;
    (wqe_stalls ? b.wqe_pay_pct : b.pay_pct) = 0;
    for (int i = 0; i < 40; ++i) {
      b.add_read(0x10000, 4096);
      b.add_read(0x20000, 4096, pkg::DmaOk, kWqe);
    }
    for (int i = 0; i < 12000; ++i) b.step();  // with a single tag a read takes longest
    EXPECT_EQ((wqe_stalls ? b.pay_cycles : b.wqe_pay_cycles).size(), 40 * 64u);
    b.pay_pct = b.wqe_pay_pct = 100;
    b.run();
  }
}

// With the output stalled as many reads are accepted as have places, and all of them come back.
TEST(DmaMasterTest, StalledOutputFillsEveryPlace) {
  DmaBench b;
  b.pay_pct = b.wqe_pay_pct = 0;
  for (unsigned i = 0; i < 600; ++i) b.add_read(0x10000 + 8 * i, 4);
  for (unsigned i = 0; i < 100; ++i) b.add_read(0x20000 + 64 * i, 64, pkg::DmaOk, kWqe);
  for (int i = 0; i < 20000; ++i) b.step();
  EXPECT_GE(b.probe_rd, 512u);
  EXPECT_LT(b.probe_rd, 520u);  // and those that have left the buffer
  b.pay_pct = b.wqe_pay_pct = 100;
  b.run();
}

// A WQE's request goes before payload's, except before one that is offered already.
TEST(DmaMasterTest, WqeRequestsGoFirst) {
  DmaBench b;
  b.treq_pct = 0;
  b.cfg.mrrs = 0;
  b.add_read(0x1000, 512);
  for (int i = 0; i < 10; ++i) b.step();
  b.add_read(0x2000, 512, pkg::DmaOk, kWqe);
  for (int i = 0; i < 10; ++i) b.step();
  b.treq_pct = 100;
  b.run();
  EXPECT_EQ(b.treq_order, (std::vector<Client>{kPayload, kWqe, kWqe, kWqe, kWqe, kPayload, kPayload, kPayload}));
}

// A WQE's read fails alone, with its status, and its completions count as payload's do.
TEST(DmaMasterTest, WqeReadFails) {
  DmaBench b;
  b.make_answers = [&](const Tlp& t, unsigned index) {
    if (t.tag < first_wqe_tag(10) || index % 2 == 0) return b.good(t);
    return std::vector<std::vector<rtl::cpl_t>>{cpl_beats(b.completer.fail(t, golden::kCplUr), pkg::DmaUr)};
  };
  for (unsigned i = 0; i < 30; ++i) {
    b.add_read(0x3000, 200);
    b.add_read(0x4000, 512, i % 2 ? pkg::DmaUr : pkg::DmaOk, kWqe);
  }
  b.run();
  EXPECT_EQ(b.errors, 15u);
  b.cfg.bus_master = false;
  b.add_read(0x4000, 512, pkg::DmaNoMaster, kWqe);
  b.run();
}

// A read that nobody can send does not hold up a write.
TEST(DmaMasterTest, BlockedReadLeavesWritesFree) {
  DmaBench b;
  b.treq_pct = 0;
  b.add_read(0x1000, 64);
  b.add_write(0x2000, 64);
  for (int i = 0; i < 20; ++i) b.step();
  EXPECT_NE(b.first_twr_cycle, 0u);
  b.treq_pct = 100;
  b.run();
}

// The latencies that the docs state.
TEST(DmaMasterTest, Latencies) {
  for (unsigned off : {0u, 1u, 36u, 63u}) {
    DmaBench r;
    r.step();
    const uint64_t read = r.cycle;
    r.add_read(0x1000 + off, 64);
    r.run();
    const auto cycles = [](uint64_t from, uint64_t to) { return static_cast<int64_t>(to - from); };
    EXPECT_TRUE(takes_cycles({"dma_read", side("dma_master"), side("fifo")}, {1, 1, 3},
                             {cycles(read, r.first_treq_cycle), cycles(r.last_cpl_cycle, r.probe_cycle),
                              cycles(r.probe_cycle, r.first_pay_cycle)}))
        << "offset " << off;
  }
  DmaBench b;
  b.step();
  const uint64_t write = b.cycle;
  b.add_write(0x2000, 64);
  b.run();
  const auto cycles = [](uint64_t from, uint64_t to) { return static_cast<int64_t>(to - from); };
  EXPECT_TRUE(takes_cycles({"dma_write", side("dma_master"), side("fifo")}, {2}, {cycles(write, b.first_twr_cycle)}));
}

#if RNIC_NUM_TAGS >= 128  // fewer tags can't cover the round trip
// A read of any size at any offset takes as many output cycles as its completions have beats, and none more.
TEST(DmaMasterTest, OffsetsCostNoOutputCycle) {
  for (unsigned off : {0u, 1u, 4u, 30u, 32u, 33u, 60u, 63u}) {
    for (unsigned len : {31u, 61u, 63u, 64u, 65u, 100u, 128u, 250u, 512u}) {
      DmaBench b;
      b.cfg.mrrs = 5;
      b.completer.mps = 4096;
      b.step();  // takes the tag bits over
      const unsigned n = 60, beats = (off % 4 + len + 63) / 64;
      for (unsigned i = 0; i < n; ++i) b.add_read(0x100000 + i * 0x1000 + off, len);
      b.run();
      if (HasFailure()) return;
      EXPECT_LE(b.pay_cycles.back() - b.pay_cycles.front() + 1, n * beats) << len << " B at " << off;
    }
  }
}

// With a round trip of 900 cycles, 512 B reads of MRRS 512 fill the output, aligned or not.
TEST(DmaMasterTest, FullRateAtLongRoundTrip) {
  for (unsigned off : {0u, 4u, 60u}) {
    DmaBench b;
    b.latency = 900;
    b.completer.mps = 512;
    const unsigned n = 500;
    for (unsigned i = 0; i < n; ++i) b.add_read(0x100000 + i * 0x1000 + off, 512);
    b.run();
    if (HasFailure()) return;
    // An MRRS boundary in a read makes two requests of it, and a beat more of completions.
    EXPECT_LE(b.pay_cycles.back() - b.pay_cycles.front() + 1, n * (off ? 9u : 8u) + 20);
  }
  DmaBench b;
  b.latency = 200;
  for (unsigned i = 0; i < 1000; ++i) b.add_read(0x100000 + i * 64, 64);
  b.run();
  EXPECT_LE(b.pay_cycles.back() - b.pay_cycles.front(), 1000 * (200u + 20u) / 128);
  // Small ones over a long round trip: the tags are what bounds them, or the places.
  for (unsigned bits : kTagBits) {
    DmaBench s;
    s.set_tag_bits(bits);
    s.latency = 900;
    for (unsigned i = 0; i < 5000; ++i) s.add_read(0x100000 + i * 64, 64);
    s.run();
    const unsigned most = std::min(tags(bits), 512u);
    EXPECT_GE(s.max_tags, most);
    EXPECT_LE(s.pay_cycles.back() - s.pay_cycles.front(), 5000u * 910 / most);
  }
  // The pieces of one read leave one a cycle.
  b.treq_cycles.clear();
  b.add_read(0x200000, 4096);
  b.run();
  EXPECT_EQ(b.treq_cycles.back() - b.treq_cycles.front(), 7u);
}
#endif

}  // namespace
}  // namespace rnic::test
