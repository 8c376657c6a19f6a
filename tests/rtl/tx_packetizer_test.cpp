// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <optional>

#include "Vtx_packetizer.h"
#include "rnic/golden/packetizer.h"
#include "rtl/bench.h"
#include "rtl/roce_frames.h"
#include "support/dissection.h"
#include "support/latency.h"

namespace rnic::test {
namespace {

using golden::Bytes;
using golden::FrameFields;
namespace pkg = rtl::rnic_pkg;

template <size_t N>
uint64_t wire(const std::array<uint8_t, N>& a) {
  uint64_t v = 0;
  for (size_t i = 0; i < N; ++i) v |= uint64_t{a[i]} << (8 * i);
  return v;
}

// A packet to send: what its headers say, what it carries, and what it means to its message.
struct Packet {
  FrameFields fields;
  Bytes payload;
  bool inl = false;  // the payload comes on the inline stream
  uint16_t qpn = 0, wqe = 0;
  bool last = true, signaled = false;
  uint8_t prio = 0, port = 0, err = 0, vendor = 0, wqe_opcode = 0;
  uint32_t cqn = 0, msg_len = 0;
  uint8_t status = 0;     // of its payload
  bool no_frame = false;  // expected
  int syndrome = -1;      // expected report or completion; -1: none
  uint8_t expected_vendor = 0;
};

rtl::pkt_desc_t describe(const Packet& p) {
  rtl::pkt_desc_t d;
  const FrameFields& f = p.fields;
  d.op.qpn = p.qpn;
  d.op.wqe = p.wqe;
  d.op.psn = f.psn;
  d.op.last = p.last;
  d.err = p.err;
  d.signaled = p.signaled;
  d.wqe_opcode = p.wqe_opcode;
  d.cqn = p.cqn;
  d.msg_len = f.reth ? f.reth->dma_len : p.msg_len;
  d.bth_opcode = f.bth_opcode;
  d.solicited = f.solicited;
  d.ack_req = f.ack_req;
  d.has_deth = f.deth.has_value();
  d.has_reth = f.reth.has_value();
  d.has_atomic = f.atomic.has_value();
  d.has_imm = f.imm.has_value() || f.ieth.has_value();
  if (f.deth) d.qkey = f.deth->qkey;
  if (f.reth) d.raddr = f.reth->va, d.rkey = f.reth->rkey;
  if (f.atomic) {
    d.raddr = f.atomic->va;
    d.rkey = f.atomic->rkey;
    d.swap_add = f.atomic->swap_add;
    d.compare = f.atomic->compare;
  }
  if (f.imm) d.imm = *f.imm;
  if (f.ieth) d.imm = *f.ieth;
  if (p.err) d.imm = p.vendor;
  d.payload_len = static_cast<uint16_t>(p.payload.size());
  d.inl = p.inl;
  d.ip_id = f.ip_id;
  d.mig_req = f.mig_req;
  d.prio = p.prio;
  d.port = p.port;
  d.dest_qpn = f.dest_qpn;
  d.pkey = f.pkey;
  d.udp_sport = f.udp_sport;
  d.tos = f.tos;
  d.ttl = f.ttl;
  d.smac = wire(f.smac);
  d.dmac = wire(f.dmac);
  d.vlan_en = f.vlan_tci.has_value();
  if (f.vlan_tci) d.vlan_tci = *f.vlan_tci;
  d.ipv6 = f.ipv6.has_value();
  if (f.ipv6) {
    d.flow_label = f.ipv6->flow_label;
    for (unsigned i = 0; i < 16; ++i) {
      d.sgid[i / 4] |= uint32_t{f.ipv6->src[i]} << (8 * (i % 4));
      d.dgid[i / 4] |= uint32_t{f.ipv6->dst[i]} << (8 * (i % 4));
    }
  } else {
    d.sgid[3] = static_cast<uint32_t>(wire(f.sip));
    d.dgid[3] = static_cast<uint32_t>(wire(f.dip));
  }
  return d;
}

class PacketizerBench : public Bench<Vtx_packetizer> {
 public:
  explicit PacketizerBench(uint64_t seed = 1) : Bench(seed) { top->mac_ready_i = 0; }

  unsigned desc_pct = 100, pay_pct = 100, inl_pct = 100, mac_pct = 100, cqe_pct = 100;
  bool gaps_in_packets = false;  // pay_pct and inl_pct apply between the beats of a packet, too
  bool keep_frames = false;      // in kept

  void add(Packet p) {
    if (p.fields.deth) p.fields.deth->src_qpn = p.qpn;
    descs.push_back(describe(p));
    if (!p.payload.empty() && p.err == 0) {
      auto& to = p.inl ? inl_beats : beats;
      if (p.status != 0) {
        rtl::payload_t b;
        b.last = true;
        b.bytes = 1;
        b.status = p.status;
        for (auto& w : b.data) w = static_cast<uint32_t>(rng());
        to.emplace_back(b, true);
      } else {
        for (size_t at = 0; at < p.payload.size(); at += 64) {
          rtl::payload_t b;
          b.last = at + 64 >= p.payload.size();
          b.bytes = static_cast<uint8_t>(b.last ? p.payload.size() - at : 64);
          for (auto& w : b.data) w = static_cast<uint32_t>(rng());  // what stands behind the end must not matter
          for (unsigned i = 0; i < b.bytes; ++i) {
            b.data[i / 4] = (b.data[i / 4] & ~(0xffu << (8 * (i % 4)))) | uint32_t{p.payload[at + i]} << (8 * (i % 4));
          }
          to.emplace_back(b, at == 0);
        }
      }
    }
    if (!p.no_frame) frames.push_back(p);
    if (p.syndrome >= 0) {
      rtl::cqe_req_t c;
      c.op = descs.back().op;
      c.cqn = p.cqn;
      c.wqe_opcode = p.wqe_opcode;
      c.byte_cnt = p.syndrome == 0 ? descs.back().msg_len : 0;
      c.syndrome = static_cast<uint8_t>(p.syndrome);
      c.vendor = p.expected_vendor;
      cqes.emplace_back(c, frames_added_ + !p.no_frame);
    }
    frames_added_ += !p.no_frame;
  }

  // One cycle with sources and sinks; checks whatever comes out.
  void step() {
    if (!desc_up_) desc_up_ = !descs.empty() && chance(desc_pct);
    top->desc_valid_i = desc_up_;
    if (desc_up_) rtl::drive(top->desc_i, descs.front());
    if (!pay_up_) pay_up_ = !beats.empty() && ((!beats.front().second && !gaps_in_packets) || chance(pay_pct));
    top->pay_valid_i = pay_up_;
    if (pay_up_) {
      rtl::drive(top->pay_i, beats.front().first);
      if (first_pay_cycle < 0) first_pay_cycle = static_cast<int64_t>(cycle);
    }
    if (!inl_up_) inl_up_ = !inl_beats.empty() && ((!inl_beats.front().second && !gaps_in_packets) || chance(inl_pct));
    top->inl_valid_i = inl_up_;
    if (inl_up_) {
      rtl::drive(top->inl_i, inl_beats.front().first);
      if (first_pay_cycle < 0) first_pay_cycle = static_cast<int64_t>(cycle);
    }
    top->mac_ready_i = chance(mac_pct);
    top->cqe_ready_i = chance(cqe_pct);
    settle();
    const bool desc_take = top->desc_valid_i && top->desc_ready_o;
    const bool pay_take = top->pay_valid_i && top->pay_ready_o;
    const bool inl_take = top->inl_valid_i && top->inl_ready_o;
    if (top->err_o) errs.push_back(top->err_qpn_o);
    const auto m = rtl::sample<rtl::mac_beat_t>(top->mac_o);
    // Once offered, a beat and a completion stay as they are until taken.
    const auto c = rtl::sample<rtl::cqe_req_t>(top->cqe_o);
    if (mac_held_) {
      ASSERT_TRUE(top->mac_valid_o);
      ASSERT_EQ(m.pack(), *mac_held_);
    }
    if (cqe_held_) {
      ASSERT_TRUE(top->cqe_valid_o);
      ASSERT_EQ(c.pack(), *cqe_held_);
    }
    mac_held_.reset();
    cqe_held_.reset();
    if (top->mac_valid_o && !top->mac_ready_i) mac_held_ = m.pack();
    if (top->cqe_valid_o && !top->cqe_ready_i) cqe_held_ = c.pack();
    const bool gone = top->mac_valid_o && top->mac_ready_i && m.eop;
    ASSERT_EQ(top->probe_mac_o, gone);
    if (top->mac_valid_o && top->mac_ready_i)
      beat(m);
    else if (mid_frame_ && top->mac_ready_i)
      ++holes;
    if (top->cqe_valid_o && top->cqe_ready_i) completion(c);
    tick();
    if (desc_take) descs.pop_front(), desc_up_ = false;
    if (pay_take) beats.pop_front(), pay_up_ = false;
    if (inl_take) inl_beats.pop_front(), inl_up_ = false;
  }

  void beat(const rtl::mac_beat_t& m) {
    ASSERT_FALSE(frames.empty()) << "beat without a frame";
    const Packet& p = frames.front();
    ASSERT_EQ(m.sop, !mid_frame_);
    if (!mid_frame_) got_.clear();
    ASSERT_GE(m.bytes, 1);
    ASSERT_LE(m.bytes, 64);
    if (!m.eop) {
      ASSERT_EQ(m.bytes, 64);
    }
    ASSERT_EQ(m.prio, p.prio);
    ASSERT_EQ(top->mac_port_o, p.port);
    ASSERT_EQ(m.op.qpn, p.qpn);
    ASSERT_EQ(m.op.wqe, p.wqe);
    ASSERT_EQ(m.op.psn, p.fields.psn);
    ASSERT_EQ(m.op.last, p.last);
    for (unsigned i = 0; i < m.bytes; ++i) got_.push_back(static_cast<uint8_t>(m.data[i / 4] >> (8 * (i % 4))));
    mid_frame_ = !m.eop;
    beat_cycles.push_back(cycle);
    if (m.eop) {
      ASSERT_EQ(got_, golden::build_frame(p.fields, p.payload)) << "payload " << p.payload.size();
      ++frames_seen;
      frames.pop_front();
      last_frame = got_;
      if (keep_frames) kept.push_back(got_);
    }
  }

  void completion(const rtl::cqe_req_t& c) {
    ASSERT_FALSE(cqes.empty()) << "completion without a cause, QP " << c.op.qpn;
    const auto& e = cqes.front().first;
    EXPECT_EQ(c.op.qpn, e.op.qpn);
    EXPECT_EQ(c.op.wqe, e.op.wqe);
    EXPECT_EQ(c.op.psn, e.op.psn);
    EXPECT_EQ(c.op.last, e.op.last);
    EXPECT_EQ(c.cqn, e.cqn);
    EXPECT_EQ(c.wqe_opcode, e.wqe_opcode);
    EXPECT_EQ(c.byte_cnt, e.byte_cnt);
    EXPECT_EQ(c.syndrome, e.syndrome);
    EXPECT_EQ(c.vendor, e.vendor);
    // Never before the frames in front of it, its own included, have gone
    ASSERT_GE(frames_seen, cqes.front().second);
    cqes.pop_front();
    ++cqes_seen;
  }

  // Runs until everything has come out, and some cycles more to see that nothing else comes.
  void drain(unsigned limit = 200000) {
    while ((!frames.empty() || !cqes.empty() || !descs.empty() || !beats.empty() || !inl_beats.empty()) &&
           !testing::Test::HasFatalFailure()) {
      ASSERT_NE(limit--, 0u) << "hangs: " << frames.size() << " frames, " << cqes.size() << " completions, "
                             << descs.size() << " descriptions, " << beats.size() << " payload beats, "
                             << inl_beats.size() << " inline beats left";
      step();
    }
    for (int i = 0; i < 40; ++i) step();
    EXPECT_TRUE(top->idle_o);
    EXPECT_FALSE(top->mac_valid_o);
    EXPECT_FALSE(top->cqe_valid_o);
  }

  std::deque<rtl::pkt_desc_t> descs;
  std::deque<std::pair<rtl::payload_t, bool>> beats, inl_beats;  // and whether it is its packet's first
  std::deque<Packet> frames;
  std::deque<std::pair<rtl::cqe_req_t, uint64_t>> cqes;
  std::vector<unsigned> errs;
  std::vector<uint64_t> beat_cycles;
  Bytes last_frame;
  std::vector<Bytes> kept;
  uint64_t frames_seen = 0, cqes_seen = 0, holes = 0;
  int64_t first_pay_cycle = -1;

 private:
  bool desc_up_ = false, pay_up_ = false, inl_up_ = false, mid_frame_ = false;
  std::optional<rtl::mac_beat_t::Words> mac_held_;
  std::optional<rtl::cqe_req_t::Words> cqe_held_;
  uint64_t frames_added_ = 0;
  Bytes got_;
};

// Gives the packet an opcode and the extension headers that belong to it.
template <class Rng>
void set_opcode(Packet& p, uint8_t opcode, Rng& rng) {
  FrameFields& f = p.fields;
  f.bth_opcode = opcode;
  f.deth.reset();
  f.reth.reset();
  f.atomic.reset();
  f.imm.reset();
  f.ieth.reset();
  if (golden::opcode_has_deth(opcode)) f.deth = golden::Deth{static_cast<uint32_t>(rng()), p.qpn};
  if (golden::opcode_has_reth(opcode)) f.reth = golden::Reth{rng(), static_cast<uint32_t>(rng()), p.msg_len};
  if (golden::opcode_has_atomic(opcode)) {
    f.atomic = golden::AtomicEth{rng(), static_cast<uint32_t>(rng()), rng(), rng()};
  }
  if (golden::opcode_has_imm(opcode)) f.imm = static_cast<uint32_t>(rng());
  if (golden::opcode_has_ieth(opcode)) f.ieth = static_cast<uint32_t>(rng());
  if (!golden::opcode_has_payload(opcode)) p.payload.clear();
}

// Gives the packet a tag or none, and the IP version.
template <class Rng>
void set_network(Packet& p, bool tagged, bool v6, Rng& rng) {
  FrameFields& f = p.fields;
  f.vlan_tci.reset();
  f.ipv6.reset();
  if (tagged) f.vlan_tci = static_cast<uint16_t>(rng());
  if (v6) {
    f.ipv6 = golden::Ipv6{};
    for (auto& x : f.ipv6->src) x = static_cast<uint8_t>(rng());
    for (auto& x : f.ipv6->dst) x = static_cast<uint8_t>(rng());
    f.ipv6->flow_label = rng() & 0xfffff;
    f.ip_id = 0;
    f.sip.fill(0);
    f.dip.fill(0);
  }
}

// All of RC's, UC's and UD's requests
constexpr uint8_t kOpcodes[] = {0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a,
                                0x0b, 0x0c, 0x13, 0x14, 0x16, 0x17, 0x20, 0x21, 0x22, 0x23, 0x24,
                                0x25, 0x26, 0x27, 0x28, 0x29, 0x2a, 0x2b, 0x64, 0x65};

template <class Rng>
Packet random_packet(Rng& rng, size_t len) {
  Packet p;
  FrameFields& f = p.fields;
  for (auto& x : f.dmac) x = static_cast<uint8_t>(rng());
  for (auto& x : f.smac) x = static_cast<uint8_t>(rng());
  for (auto& x : f.sip) x = static_cast<uint8_t>(rng() | (rng() % 4 == 0 ? 0xff : 0));
  for (auto& x : f.dip) x = static_cast<uint8_t>(rng() | (rng() % 4 == 0 ? 0xff : 0));
  f.tos = static_cast<uint8_t>(rng());
  f.ip_id = static_cast<uint16_t>(rng() % 4 == 0 ? 0xffff : rng());
  f.ttl = static_cast<uint8_t>(rng());
  f.udp_sport = static_cast<uint16_t>(rng());
  f.solicited = rng() & 1;
  f.mig_req = rng() & 1;
  f.pkey = static_cast<uint16_t>(rng());
  f.dest_qpn = rng() & 0xffffff;
  f.ack_req = rng() & 1;
  f.psn = rng() & 0xffffff;
  p.msg_len = static_cast<uint32_t>(rng());
  p.payload.resize(len);
  for (auto& x : p.payload) x = static_cast<uint8_t>(rng());
  p.qpn = rng() % 1024;
  set_opcode(p, kOpcodes[rng() % std::size(kOpcodes)], rng);
  set_network(p, rng() & 1, rng() & 1, rng);
  p.inl = p.payload.size() <= 236 && rng() % 2;
  p.wqe = static_cast<uint16_t>(rng());
  p.last = rng() & 1;
  p.signaled = rng() & 1;
  p.prio = rng() % 8;
  p.port = rng() % 8;
  p.wqe_opcode = static_cast<uint8_t>(rng());
  p.cqn = rng() & 0xffffff;
  if (p.last && p.signaled) p.syndrome = 0;
  return p;
}

template <class Rng>
size_t random_length(Rng& rng) {
  switch (rng() % 4) {
    case 0:
      return rng() % 8;
    case 1:
      return rng() % 200;
    case 2:
      return (rng() % 64) * 64 + rng() % 3;
    default:
      return 4096 - rng() % 70 * (rng() % 2);
  }
}

Packet write64(uint16_t qpn) {
  std::mt19937_64 rng(qpn);
  Packet p = random_packet(rng, 64);
  p.payload.resize(64);
  p.qpn = qpn;
  set_opcode(p, 0x2a, rng);
  set_network(p, false, false, rng);
  p.fields.reth = golden::Reth{0x1000, 7, 64};
  p.inl = false;
  p.last = p.signaled = true;
  p.syndrome = 0;
  return p;
}

// A published frame's fields and payload, and its bytes as this NIC sends them. Two of the frames carry a UDP checksum,
// which this NIC never does; the ICRC does not cover it, so all their other bytes have to be the same.
struct Published {
  golden::ParsedFrame parsed;
  Bytes sent;
  bool with_checksum;
};
Published take_apart(const std::string& name, const Bytes& frame) {
  Published p{golden::parse_frame(frame), frame, false};
  p.with_checksum = name == "uc_send_only_18B_pad2" || name == "ipv6_rc_send_only_3B_pad1_udpcsum";
  const std::vector<std::string> known{"UDP checksum is not 0"};
  EXPECT_EQ(p.parsed.problems, p.with_checksum ? known : std::vector<std::string>{}) << name;
  const size_t at = golden::detail::ip_offset(frame) + (p.parsed.fields.ipv6 ? 46 : 26);
  if (p.with_checksum) p.sent[at] = p.sent[at + 1] = 0;
  return p;
}

// Published request frames of all kinds come out byte for byte from their fields, tag included.
TEST(TxPacketizerTest, ReferenceFrames) {
  PacketizerBench b;
  unsigned checked = 0, with_checksum = 0;
  for (const auto& [name, frame] : load_roce_frames()) {
    const Published published = take_apart(name, frame);
    for (bool inl : {false, true}) {
      Packet p;
      p.fields = published.parsed.fields;
      p.payload = published.parsed.payload;
      p.inl = inl;
      if (p.fields.deth) p.qpn = static_cast<uint16_t>(p.fields.deth->src_qpn);
      b.add(p);
      b.drain();
      EXPECT_EQ(b.last_frame, published.sent) << name;
    }
    ++checked;
    with_checksum += published.with_checksum;
  }
  EXPECT_EQ(checked, 21u);
  EXPECT_EQ(with_checksum, 2u);
}

// The reference model rebuilds every published frame, notices a change of any bit that is not a MAC's, and takes apart
// what it has built.
TEST(TxPacketizerTest, GoldenModelIsRight) {
  std::mt19937_64 rng(test_seed());
  for (const auto& [name, frame] : load_roce_frames()) {
    const Published published = take_apart(name, frame);
    EXPECT_TRUE(golden::icrc_ok(frame)) << name;
    EXPECT_EQ(golden::build_frame(published.parsed.fields, published.parsed.payload), published.sent) << name;
    Bytes bad = frame;
    bad[frame.size() - 6] ^= 1;
    EXPECT_FALSE(golden::icrc_ok(bad)) << name;
  }
  for (int i = 0; i < 2000; ++i) {
    const Packet p = random_packet(rng, rng() % 200);
    const Bytes frame = golden::build_frame(p.fields, p.payload);
    const auto parsed = golden::parse_frame(frame);
    ASSERT_TRUE(parsed.problems.empty()) << parsed.problems[0];
    ASSERT_TRUE(parsed.fields == p.fields);
    ASSERT_EQ(parsed.payload, p.payload);
    Bytes bad = frame;
    bad[rng() % bad.size()] ^= static_cast<uint8_t>(1 << rng() % 8);
    const auto other = golden::parse_frame(bad);
    ASSERT_FALSE(other.problems.empty() && other.fields == p.fields && other.payload == p.payload);
    bad.resize(rng() % bad.size());
    ASSERT_FALSE(golden::parse_frame(bad).problems.empty());
  }
}

// Every payload length from 0 to 300 with every header, the MTUs, and the longest ones, from memory and inline.
TEST(TxPacketizerTest, EveryLength) {
  PacketizerBench b(test_seed());
  std::vector<size_t> lengths{512, 1024, 2048};
  for (size_t len = 0; len <= 300; ++len) lengths.push_back(len);
  for (size_t len = 4032; len <= 4096; ++len) lengths.push_back(len);
  size_t sent = 0;
  for (unsigned net = 0; net < 4; ++net) {
    for (uint8_t op : {0x04, 0x05, 0x0a, 0x0b, 0x64, 0x65, 0x0c, 0x13, 0x17}) {
      for (size_t len : lengths) {
        if (len != 0 && !golden::opcode_has_payload(op)) continue;
        Packet p = random_packet(b.rng, len);
        p.payload.resize(len);
        set_opcode(p, op, b.rng);
        set_network(p, net & 1, net & 2, b.rng);
        p.inl = p.inl && len <= 236;
        b.add(p);
        ++sent;
        if (b.frames.size() > 50) b.drain();
        if (HasFatalFailure()) return;
      }
    }
  }
  b.drain();
  EXPECT_EQ(b.frames_seen, sent);
}

// tests/data/icrc.py and tshark agree with the frames of every opcode in every network, and tshark reads from each
// extension header what was put in.
TEST(TxPacketizerTest, OutsideOracles) {
  PacketizerBench b(test_seed());
  b.keep_frames = true;
  const std::string path = testing::TempDir() + "/tx_packetizer_" + std::to_string(getpid());
  std::ofstream expected(path + ".expected");
  for (unsigned net = 0; net < 4; ++net) {
    for (uint8_t op : kOpcodes) {
      for (size_t len : {0, 1, 64, 129}) {
        Packet p = random_packet(b.rng, len);
        p.payload.resize(len);
        // tshark guesses by payload and port: these begin, and belong to, none of what it knows.
        if (len != 0) p.payload[0] = 0xa5;
        p.fields.udp_sport |= 0xc000;
        set_opcode(p, op, b.rng);
        set_network(p, net & 1, net & 2, b.rng);
        b.add(p);
        expected << dissection(p.fields, p.payload.size());
      }
      b.drain();
    }
  }
  expected.close();
  ASSERT_EQ(b.kept.size(), 4 * std::size(kOpcodes) * 4);
  write_pcapng(path + ".pcapng", b.kept);
  const std::string command = std::string("python3 " RNIC_TEST_DATA "/../oracle/check_frames.py --expect ") + path +
                              ".expected " + path + ".pcapng >" + path + ".log 2>&1";
  const int status = std::system(command.c_str());
  std::ifstream log(path + ".log");
  EXPECT_EQ(status, 0) << std::string(std::istreambuf_iterator<char>(log), {});
  for (const char* end : {".expected", ".pcapng", ".log"}) std::remove((path + end).c_str());
}

struct Shape {
  unsigned desc, pay, inl, mac, cqe;
  bool gaps;
};
class TxPacketizerGrid : public testing::TestWithParam<Shape> {};

// Random fields, lengths and header kinds come out right and complete in order, whatever stalls.
TEST_P(TxPacketizerGrid, FramesAndCompletions) {
  const uint64_t seed = test_seed();
  SCOPED_TRACE(testing::Message() << "RNIC_TEST_SEED=" << seed);
  PacketizerBench b(seed);
  b.desc_pct = GetParam().desc;
  b.pay_pct = GetParam().pay;
  b.inl_pct = GetParam().inl;
  b.mac_pct = GetParam().mac;
  b.cqe_pct = GetParam().cqe;
  b.gaps_in_packets = GetParam().gaps;
  for (int i = 0; i < 300; ++i) b.add(random_packet(b.rng, random_length(b.rng)));
  const size_t cqes = b.cqes.size();
  b.drain();
  EXPECT_EQ(b.frames_seen, 300u);
  EXPECT_EQ(b.cqes_seen, cqes);
  if (!GetParam().gaps) {
    EXPECT_EQ(b.holes, 0u);
  }
}
INSTANTIATE_TEST_SUITE_P(Shapes, TxPacketizerGrid,
                         testing::Values(Shape{100, 100, 100, 100, 100, false}, Shape{100, 100, 100, 50, 100, false},
                                         Shape{100, 100, 100, 10, 100, false}, Shape{100, 30, 100, 100, 100, false},
                                         Shape{100, 100, 30, 100, 100, false}, Shape{20, 100, 100, 100, 100, false},
                                         Shape{100, 100, 100, 100, 2, false}, Shape{50, 50, 50, 50, 50, true},
                                         Shape{100, 60, 60, 100, 100, true}, Shape{100, 90, 90, 95, 1, true}));

// Back to back, frames follow each other without an empty cycle: a 64 B WRITE takes three, a zero-length SEND one.
TEST(TxPacketizerTest, OneBeatACycle) {
  for (int kind = 0; kind < 3; ++kind) {
    PacketizerBench b(test_seed());
    size_t beats = 0;
    for (int i = 0; i < 100; ++i) {
      Packet p = kind == 0 ? write64(1) : random_packet(b.rng, kind == 1 ? 0 : 4096);
      if (kind == 1) set_opcode(p, 4, b.rng), set_network(p, false, false, b.rng);
      p.signaled = kind == 0;
      p.syndrome = p.signaled && p.last ? 0 : -1;
      beats += (golden::build_frame(p.fields, p.payload).size() + 63) / 64;
      b.add(p);
    }
    b.drain();
    ASSERT_EQ(b.beat_cycles.size(), beats);
    EXPECT_EQ(b.beat_cycles.back() - b.beat_cycles.front() + 1, beats) << "kind " << kind;
    EXPECT_EQ(b.holes, 0u);
  }
}

// From the cycle in which a 64 B payload is offered to the acceptance of the WRITE's last beat: the pipeline's depth,
// whatever the headers and wherever the payload comes from.
// Inline data come on a stream of their own, so a register that a replacement has before the payload need not delay
// them.
TEST(TxPacketizerTest, LatencyOf64ByteWrite) {
  int64_t payload = 0;
  for (unsigned kind = 0; kind < 8; ++kind) {
    PacketizerBench b;
    Packet p = write64(3);
    set_network(p, kind & 1, kind & 2, b.rng);
    p.inl = kind & 4;
    b.add(p);
    auto beats = std::move(b.beats), inl_beats = std::move(b.inl_beats);
    b.beats.clear();
    b.inl_beats.clear();
    for (int i = 0; i < 100; ++i) b.step();  // the description is there long before the payload
    b.beats = std::move(beats);
    b.inl_beats = std::move(inl_beats);
    b.drain();
    ASSERT_EQ(b.beat_cycles.size(), 3u);
    const auto edges = static_cast<int64_t>(b.beat_cycles.back()) - static_cast<int64_t>(b.first_pay_cycle) + 1;
    if (kind == 0) RecordProperty("edges", static_cast<int>(edges));
    if (kind == 0) std::printf("payload offered to last beat accepted: %d edges\n", static_cast<int>(edges));
    if (p.inl) {
      EXPECT_GE(edges, 13) << "kind " << kind;
      EXPECT_LE(edges, payload) << "kind " << kind;
    } else {
      payload = edges;
      EXPECT_TRUE(takes_cycles({"tx_packetizer", "icrc", "fifo", "stream_register"}, {13}, {edges})) << "kind " << kind;
    }
  }
}

// A payload on the other stream is none of this packet's: it waits, whatever is offered there.
TEST(TxPacketizerTest, EachPacketTakesItsOwnStream) {
  for (bool inl_first : {false, true}) {
    PacketizerBench b(test_seed());
    Packet p = write64(1);
    for (bool inl : {inl_first, !inl_first}) {
      p.inl = inl;
      b.add(p);
    }
    unsigned& first = inl_first ? b.inl_pct : b.pay_pct;
    first = 0;
    for (int i = 0; i < 100; ++i) b.step();
    EXPECT_EQ(b.beat_cycles.size(), 0u);
    first = 100;
    b.drain();
    EXPECT_EQ(b.frames_seen, 2u);
  }
}

// A failed payload makes no frame, is reported once, sets the QP to error, and flushes what follows on that QP only.
TEST(TxPacketizerTest, FailedPayload) {
  for (bool failed_is_last : {true, false}) {
    for (unsigned mac_pct : {100u, 20u}) {
      PacketizerBench b(test_seed());
      b.mac_pct = mac_pct;
      b.add(write64(5));
      Packet bad = write64(5);
      bad.payload.resize(500);
      bad.last = failed_is_last;
      bad.status = static_cast<uint8_t>(pkg::DmaCa);
      bad.no_frame = true;
      bad.syndrome = static_cast<int>(pkg::SynLocalQpOp);
      bad.expected_vendor = static_cast<uint8_t>(pkg::VenDma + pkg::DmaCa);
      b.add(bad);
      if (!failed_is_last) {  // rest of the reported message: swallowed, with and without payload
        Packet rest = write64(5);
        rest.no_frame = true;
        rest.syndrome = -1;
        rest.last = false;
        rest.payload.resize(1000);
        b.add(rest);
        rest.last = true;
        b.add(rest);
      }
      Packet in_wqe = write64(5);  // goes with its QP, all beats of it
      in_wqe.inl = true;
      in_wqe.payload.resize(200);
      in_wqe.no_frame = true;
      in_wqe.syndrome = static_cast<int>(pkg::SynFlushed);
      b.add(in_wqe);
      b.add(write64(6));  // another QP goes on, from memory and inline
      in_wqe = write64(6);
      in_wqe.inl = true;
      in_wqe.payload.resize(200);
      b.add(in_wqe);
      Packet next = write64(5);
      next.no_frame = true;
      next.last = false;
      next.syndrome = -1;
      next.payload.resize(300);
      b.add(next);
      next.payload.clear();
      next.last = true;
      next.signaled = false;
      next.syndrome = static_cast<int>(pkg::SynFlushed);
      b.add(next);
      Packet flush = next;
      flush.err = static_cast<uint8_t>(pkg::SynFlushed);
      flush.vendor = 0x33;
      b.add(flush);
      b.add(write64(6));
      b.drain();
      ASSERT_EQ(b.errs.size(), 1u);
      EXPECT_EQ(b.errs[0], 5u);
      EXPECT_EQ(b.frames_seen, 4u);
      // CmdQpModify gives the QP a new life, and the skip bit with it.
      b.top->clear_i = 1;
      b.top->clear_qpn_i = 5;
      b.step();
      b.top->clear_i = 0;
      b.add(write64(5));
      b.drain();
      EXPECT_EQ(b.frames_seen, 5u);
    }
  }
}

// A message whose first part failed and whose rest arrives as a flush is reported once only.
TEST(TxPacketizerTest, FlushOfReportedMessageIsSwallowed) {
  PacketizerBench b(test_seed());
  Packet bad = write64(9);
  bad.last = false;
  bad.status = static_cast<uint8_t>(pkg::DmaUr);
  bad.no_frame = true;
  bad.syndrome = static_cast<int>(pkg::SynLocalQpOp);
  bad.expected_vendor = static_cast<uint8_t>(pkg::VenDma + pkg::DmaUr);
  b.add(bad);
  Packet flush = write64(9);
  flush.err = static_cast<uint8_t>(pkg::SynFlushed);
  flush.no_frame = true;
  flush.syndrome = -1;
  b.add(flush);
  flush.syndrome = static_cast<int>(pkg::SynFlushed);
  b.add(flush);
  b.drain();
  EXPECT_EQ(b.cqes_seen, 2u);
}

// A description that waits for its payload while its QP is set up anew belongs to the new life: it is sent.
TEST(TxPacketizerTest, ClearReachesTheDescriptionThatWaits) {
  PacketizerBench b(test_seed());
  Packet bad = write64(9);
  bad.status = static_cast<uint8_t>(pkg::DmaUr);
  bad.no_frame = true;
  bad.syndrome = static_cast<int>(pkg::SynLocalQpOp);
  bad.expected_vendor = static_cast<uint8_t>(pkg::VenDma + pkg::DmaUr);
  b.add(bad);
  b.drain();
  b.pay_pct = 0;
  b.add(write64(9));
  for (int i = 0; i < 20; ++i) b.step();
  b.top->clear_i = 1;
  b.top->clear_qpn_i = 9;
  b.step();
  b.top->clear_i = 0;
  b.pay_pct = 100;
  b.drain();
  EXPECT_EQ(b.frames_seen, 1u);
}

// CmdQpModify also drops a pending skip: the next message is sent, and the next failure swallows nothing.
TEST(TxPacketizerTest, ClearForgetsSkip) {
  PacketizerBench b(test_seed());
  Packet bad = write64(9);
  bad.last = false;
  bad.status = static_cast<uint8_t>(pkg::DmaTimeout);
  bad.no_frame = true;
  bad.syndrome = static_cast<int>(pkg::SynLocalQpOp);
  bad.expected_vendor = static_cast<uint8_t>(pkg::VenDma + pkg::DmaTimeout);
  b.add(bad);
  b.drain();
  b.top->clear_i = 1;
  b.top->clear_qpn_i = 9;
  b.step();
  b.top->clear_i = 0;
  b.add(write64(9));
  bad.last = true;
  b.add(bad);
  Packet next = write64(9);  // nothing to skip: reported
  next.no_frame = true;
  next.syndrome = static_cast<int>(pkg::SynFlushed);
  b.add(next);
  b.drain();
  EXPECT_EQ(b.frames_seen, 1u);
  EXPECT_EQ(b.cqes_seen, 4u);
}

// CmdQpModify in any cycle from before a failure to after the next description: from the failure's own edge on it gives
// the QP its new life, but what has been dropped stays dropped.
TEST(TxPacketizerTest, ClearMeetsFailure) {
  int failed = -1, dropped = -1, reported = -1;  // steps, found in a run without a clear
  for (int at = -1; at < 60; ++at) {
    SCOPED_TRACE(at);
    // Another tx_packetizer may drop what it has taken some cycles later.
    if (replaced("tx_packetizer") && at >= dropped && at <= reported && at >= 0) continue;
    const bool sent = at >= 0 && at >= failed && at < dropped;
    PacketizerBench b;
    Packet bad = write64(5);
    bad.status = static_cast<uint8_t>(pkg::DmaUr);
    bad.no_frame = true;
    bad.syndrome = static_cast<int>(pkg::SynLocalQpOp);
    bad.expected_vendor = static_cast<uint8_t>(pkg::VenDma + pkg::DmaUr);
    b.add(bad);
    Packet next = write64(5);
    if (!sent) {
      next.no_frame = true;
      next.syndrome = static_cast<int>(pkg::SynFlushed);
    }
    const size_t bad_beats = b.beats.size();
    b.add(next);
    const decltype(b.beats) later(b.beats.begin() + static_cast<std::ptrdiff_t>(bad_beats), b.beats.end());
    b.beats.resize(bad_beats);
    int failure = -1;
    for (int i = 0; i < 80; ++i) {
      b.top->clear_i = i == at;
      b.top->clear_qpn_i = 5;
      if (failure >= 0 && i == failure + 9) b.beats = later;  // the next payload comes later
      b.step();
      if (failure < 0 && !b.errs.empty()) failure = i;
      if (at < 0 && dropped < 0 && failure >= 0 && i >= failure + 9 && b.beats.empty()) dropped = i;
      if (at < 0 && reported < 0 && b.cqes_seen == 2) reported = i;
    }
    if (at < 0) failed = failure;
    ASSERT_TRUE(failed > 0 && dropped > failed + 8 && dropped < 50) << "failed " << failed << ", dropped " << dropped;
    b.drain();
    EXPECT_EQ(failure, failed);
    EXPECT_EQ(b.errs.size(), 1u);
    EXPECT_EQ(b.frames_seen, sent ? 1u : 0u);
    EXPECT_EQ(b.cqes_seen, 2u);
  }
}

// The IP checksum's carries run round twice where they must: identifications that bring the sum to either side of a
// wrap.
TEST(TxPacketizerTest, ChecksumCarries) {
  PacketizerBench b(test_seed());
  for (int i = 0; i < 40; ++i) {
    Packet p = random_packet(b.rng, 20 + 4 * (b.rng() % 5));
    set_network(p, false, false, b.rng);
    p.fields.ip_id = 0;
    const Bytes f = golden::build_frame(p.fields, p.payload);
    uint32_t sum = 0;
    for (unsigned w = 14; w < 34; w += 2) sum += w == 24 ? 0 : static_cast<uint32_t>(f[w] << 8 | f[w + 1]);
    for (uint32_t low = 0xfff8; low <= 0x10008; ++low) {
      p.fields.ip_id = static_cast<uint16_t>(low - sum);
      b.add(p);
    }
    b.drain();
  }
  EXPECT_EQ(b.frames_seen, 40u * 17);
}

// Errors found before (err set) are reported in their place, among frames, failures and stalls of every kind.
TEST(TxPacketizerTest, ErrorsKeepTheirPlace) {
  for (unsigned mac_pct : {100u, 30u}) {
    for (unsigned cqe_pct : {100u, 5u}) {
      PacketizerBench b(test_seed());
      b.mac_pct = mac_pct;
      b.cqe_pct = cqe_pct;
      b.gaps_in_packets = cqe_pct == 100;
      if (b.gaps_in_packets) b.pay_pct = b.inl_pct = 70;
      std::array<bool, 1024> dead{}, skip{};
      unsigned failures = 0;
      for (int i = 0; i < 1500; ++i) {
        Packet p = random_packet(b.rng, b.rng() % 3 ? b.rng() % 150 : 0);
        p.qpn = b.rng() % 40;
        if (b.chance(30)) {  // a frame of one beat
          p.payload.clear();
          set_opcode(p, 0x04, b.rng);
          set_network(p, false, false, b.rng);
        }
        const unsigned what = b.rng() % 20;
        if (what < 4) {
          p.err = static_cast<uint8_t>(1 + b.rng() % 5);
          p.vendor = static_cast<uint8_t>(b.chance(50) ? b.rng() % 8 : b.rng());
          p.last = true;
        } else if (what == 4 && !p.payload.empty()) {
          p.status = static_cast<uint8_t>(1 + b.rng() % 6);
        }
        p.syndrome = p.last && p.signaled ? 0 : -1;
        if (dead[p.qpn]) {
          p.no_frame = true;
          p.syndrome = p.last && !skip[p.qpn] ? static_cast<int>(pkg::SynFlushed) : -1;
          if (p.last) skip[p.qpn] = false;
        } else if (p.err) {
          p.no_frame = true;
          p.syndrome = p.err;
          p.expected_vendor = p.vendor;
        } else if (p.status) {
          p.no_frame = true;
          p.syndrome = static_cast<int>(pkg::SynLocalQpOp);
          p.expected_vendor = static_cast<uint8_t>(pkg::VenDma + p.status);
          dead[p.qpn] = true;
          skip[p.qpn] = !p.last;
          ++failures;
        }
        b.add(p);
      }
      b.drain();
      EXPECT_GT(failures, 10u);
      EXPECT_EQ(b.errs.size(), failures);
    }
  }
}

// Nothing leaves or is lost while the completion port is stuck; packets behind it wait.
TEST(TxPacketizerTest, StuckCompletionsHoldTheSenders) {
  PacketizerBench b(test_seed());
  b.cqe_pct = 0;
  for (int i = 0; i < 200; ++i) b.add(write64(static_cast<uint16_t>(i)));
  for (int i = 0; i < 2000; ++i) b.step();
  EXPECT_LT(b.frames_seen, 70u);
  EXPECT_GT(b.frames_seen, 50u);
  b.cqe_pct = 100;
  b.drain();
  EXPECT_EQ(b.cqes_seen, 200u);
}

// What a busy and an idle cycle cost to simulate, printed for the record.
TEST(TxPacketizerTest, SimulationCost) {
  PacketizerBench b(test_seed());
  auto& t = *b.top;
  Packet p = random_packet(b.rng, 4096);
  p.payload.resize(4096);
  set_opcode(p, 0x2a, b.rng);
  p.inl = p.last = false;
  rtl::drive(t.desc_i, describe(p));
  rtl::payload_t pay;
  for (auto& w : pay.data) w = static_cast<uint32_t>(b.rng());
  pay.bytes = 64;
  t.mac_ready_i = 1;
  t.cqe_ready_i = 1;
  for (int busy : {1, 0}) {
    t.desc_valid_i = busy;
    t.pay_valid_i = busy;
    unsigned n = 0;
    for (int i = 0; i < 200 && !busy; ++i) b.tick();
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 66000; ++i) {
      if (busy) {
        pay.data[i & 15] += 12345;
        pay.last = n == 63;
        rtl::drive(t.pay_i, pay);
        b.settle();
        if (t.pay_ready_o) n = (n + 1) % 64;
      }
      b.tick();
    }
    const double ns =
        std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / 66000;
    std::printf("tx_packetizer: %.0f ns per %s cycle\n", ns, busy ? "busy" : "idle");
    t.pay_valid_i = 1;
    t.desc_valid_i = 0;
    for (int i = 0; i < 400 && !t.idle_o; ++i) {
      pay.last = n == 63;
      rtl::drive(t.pay_i, pay);
      b.settle();
      if (t.pay_ready_o) n = (n + 1) % 64;
      b.tick();
    }
  }
}

}  // namespace
}  // namespace rnic::test
