// SPDX-License-Identifier: Apache-2.0
// Mixed traffic of one node, and all that a run shows of it as text, so that runs can be compared.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "rnic/golden/packetizer.h"
#include "rnic/golden/segmenter.h"
#include "rnic/golden/wqe.h"
#include "support/dissection.h"
#include "support/isolate.h"
#include "system/fixture.h"

namespace rnic::test {

/// Seed of randomized tests; RNIC_TEST_SEED overrides it.
inline uint64_t test_seed(uint64_t fallback = 1) {
  const char* s = std::getenv("RNIC_TEST_SEED");
  return s ? std::strtoull(s, nullptr, 0) : fallback;
}

/// The WQE of a request, as the standard's terms have it.
inline golden::Wqe wqe_of(host::QpType type, const host::SendWr& wr) {
  golden::Wqe w;
  w.opcode = host::wqe_opcode(wr.opcode);
  w.solicited = wr.solicited;
  w.imm = wr.imm;
  w.raddr = wr.remote_addr;
  w.rkey = wr.rkey;
  const bool compares = wr.opcode == host::WrOpcode::kAtomicCmpAndSwp;
  w.swap_add = compares ? wr.swap : wr.compare_add;
  w.compare = compares ? wr.compare_add : 0;
  for (const auto& s : wr.sg_list) {
    if (s.length != 0) w.sges.push_back({s.lkey, s.addr, s.length});
  }
  if (wr.sg_list.empty() && wr.length != 0) w.sges.push_back({wr.lkey, wr.addr, wr.length});
  if (type == host::QpType::kUd) {
    w.av = golden::AddressVector{wr.ah.remote_qkey, wr.ah.remote_qpn, wr.ah.udp_sport,  wr.ah.dmac,
                                 wr.ah.tos,         wr.ah.ttl,        wr.ah.flow_label, wr.ah.dgid};
  }
  return w;
}

/// The frames that messages become, from the reference models. PSN and IP identification go on from message to message.
class ExpectedFrames {
 public:
  ExpectedFrames(const host::QpPath& path, host::QpType type, uint32_t qpn, uint64_t background)
      : path_(path), type_(type), qpn_(qpn), background_(background), psn_(path.sq_psn), ip_id_(path.ip_id) {
    fields_.dmac = path.dmac;
    fields_.smac = path.smac;
    if (path.vlan_id) fields_.vlan_tci = static_cast<uint16_t>(path.prio << 13 | *path.vlan_id);
    fields_.tos = path.tos;
    fields_.ttl = path.ttl;
    fields_.sip = path.sip;
    fields_.dip = path.dip;
    if (path.ipv6) {
      fields_.ipv6 = golden::Ipv6{path.ipv6->sip, path.ipv6->dip, path.ipv6->flow_label};
      fields_.sip = fields_.dip = {};
    }
    fields_.udp_sport = path.udp_sport.value_or(host::default_udp_sport(qpn, path.dest_qpn));
    fields_.mig_req = path.mig_req;
    fields_.pkey = path.pkey;
    fields_.dest_qpn = path.dest_qpn;
  }

  /// A message whose local buffer is in background memory.
  void add(const host::Mr& mr, const host::SendWr& wr) {
    add(wqe_of(type_, wr), [&](const golden::Wqe& w, const golden::Packet& p, golden::Bytes& payload) {
      for (const auto& piece : golden::pieces(w, p)) {
        const uint64_t at = mr.offset + (w.sges[piece.sge].addr - mr.addr) + piece.offset;
        for (uint32_t i = 0; i < piece.length; ++i) payload.push_back(pattern_byte(at + i, background_));
      }
      return true;
    });
  }

  /// Payload of a packet of a message; false: neither it nor what is behind it leaves.
  using Payload = std::function<bool(const golden::Wqe&, const golden::Packet&, golden::Bytes&)>;
  void add(const golden::Wqe& w, const Payload& payload_of) {
    golden::SegmentQp q;
    q.transport = host::transport(type_);
    while (golden::mtu_bytes(q.mtu_code) != path_.mtu) q.mtu_code = q.mtu_code % 5 + 1;
    q.psn = psn_;
    q.ip_id = ip_id_;
    q.ip_id_fixed = path_.ip_id_fixed;
    q.qkey = path_.qkey;
    for (const auto& p : golden::segment(q, w)) {
      golden::FrameFields f = fields_;
      if (w.av) to_address(*w.av, f);
      f.ip_id = path_.ipv6 ? 0 : p.ip_id;
      f.bth_opcode = p.bth_opcode;
      f.solicited = p.solicited;
      f.ack_req = p.ack_req;
      f.psn = p.psn;
      if (p.has_deth) f.deth = golden::Deth{p.deth_qkey, qpn_};
      if (p.has_reth) f.reth = golden::Reth{p.reth_va, p.reth_rkey, p.reth_length};
      if (p.has_atomic) f.atomic = golden::AtomicEth{p.atomic_va, p.atomic_rkey, p.swap_add, p.compare};
      if (p.has_imm) (w.opcode == golden::WqeOpcode::kSendInval ? f.ieth : f.imm) = p.imm;
      golden::Bytes payload;
      if (!payload_of(w, p, payload)) return;
      frames.push_back(golden::build_frame(f, payload));
      dissections.push_back(dissection(f, payload.size()));
      if (!path_.ip_id_fixed) ++ip_id_;
    }
    psn_ = (psn_ + static_cast<uint32_t>(golden::psn_count(w, path_.mtu))) & 0xffffff;
  }

  std::vector<golden::Bytes> frames;
  std::vector<std::string> dissections;  ///< what tshark has to read from each

 private:
  void to_address(const golden::AddressVector& av, golden::FrameFields& f) const {
    f.dest_qpn = av.dest_qpn;
    f.udp_sport = av.udp_sport;
    f.dmac = av.dmac;
    f.tos = av.tclass;
    f.ttl = av.hop_limit;
    if (f.ipv6) {
      f.ipv6->dst = av.dgid;
      f.ipv6->flow_label = av.flow_label;
    } else {
      std::copy(av.dgid.begin() + 12, av.dgid.end(), f.dip.begin());
    }
  }

  host::QpPath path_;
  host::QpType type_;
  uint32_t qpn_;
  uint64_t background_;
  uint32_t psn_;
  uint16_t ip_id_;
  golden::FrameFields fields_;
};

/// Mixed traffic of node `node` for a thread of the simulated world: rings in either memory and BlueFlame, both
/// transports, messages of none to many packets, refused WQEs among them. `rounds` rounds with about `gap` between
/// them. Gives what the program saw, a line a completion.
inline std::string mixed_traffic(System& system, unsigned node, uint64_t seed, unsigned rounds, const Time& gap) {
  std::mt19937_64 rng(seed);
  auto& n = system.node(node);
  auto& ctx = *n.ctx;
  n.hub->gpu_memory().set_background(seed);
  const uint64_t offset = ctx.alloc(host::Space::kGpu, 1 << 20);
  const auto mr = ctx.reg_mr(1, host::Space::kGpu, offset, 1 << 20, 0x7f00'0000'0000);
  auto* cq = ctx.create_cq(6);
  std::vector<host::Qp*> qps;
  std::vector<host::QpPath> paths;
  for (unsigned i = 0; i < 4; ++i) {
    host::QpInit init;
    init.type = i & 1 ? host::QpType::kRc : host::QpType::kUc;
    init.where = i & 2 ? host::SqWhere::kBf : i == 1 ? host::SqWhere::kHost : host::SqWhere::kDevice;
    host::QpPath path;
    path.mtu = 256u << (i % 3);
    path.dest_qpn = 0x100 + i;
    path.sq_psn = static_cast<uint32_t>(rng() & 0xffffff);
    qps.push_back(ctx.create_qp(cq, init));
    paths.push_back(path);
    ctx.modify_qp_rts(qps.back(), path);
  }
  std::string seen;
  for (unsigned r = 0; r < rounds; ++r) {
    unsigned posted = 0;
    for (unsigned i = 0; i < qps.size(); ++i) {
      if (r % 7 == 6 && i == 3) {  // a key that does not match, and back to life
        host::SendWr bad;
        bad.addr = mr.addr;
        bad.length = 64;
        bad.lkey = mr.lkey ^ 1;
        ctx.post_send(qps[i], bad);
        ++posted;
        continue;
      }
      host::SendWr wr;
      wr.wr_id = r * 16 + i;
      wr.opcode = static_cast<host::WrOpcode>(rng() % 4);
      wr.imm = static_cast<uint32_t>(rng());
      wr.solicited = rng() & 1;
      static constexpr uint64_t kLengths[] = {0, 1, 64, 65, 256, 1000, 2049, 4096};
      wr.length = kLengths[rng() % 8];
      wr.addr = mr.addr + rng() % 65536;
      wr.lkey = mr.lkey;
      wr.remote_addr = 0x7e00'0000'0000 + rng() % 65536;
      wr.rkey = 0x1234;
      ctx.post_send(qps[i], wr);
      ++posted;
    }
    for (; posted != 0; --posted) {
      const auto wc = ctx.wait_cq(cq, Time(1, sc_core::SC_MS));
      if (!wc) {
        ADD_FAILURE() << "node " << node << ": a completion is missing in round " << r;
        return seen;
      }
      seen += fmt::format("wc {} {} {} {} {} {}\n", wc->wr_id, wc->qpn, host::to_string(wc->status), wc->vendor_err,
                          wc->byte_len, wc->timestamp_ns);
    }
    if (r % 7 == 6) ctx.modify_qp_rts(qps[3], paths[3]);
    sc_core::wait(gap + from_ps(rng() % 5000));
  }
  return seen;
}

/// All that was recorded of a NIC, a line an item, sorted by time; and its counters.
inline std::string digest(const Recorder& rec, System& system, unsigned nic) {
  std::vector<std::pair<uint64_t, std::string>> lines;
  for (const auto& e : rec.events) {
    if (e.nic != nic) continue;
    lines.emplace_back(e.ps, fmt::format("{} {} cycle {} qpn {} wqe {} psn {} last {}", e.ps, event_name(e.kind),
                                         e.cycle, e.op.qpn, e.op.wqe, e.op.psn, e.op.last));
  }
  for (const auto& f : rec.frames) {
    if (f.nic != nic) continue;
    lines.emplace_back(f.first_ps, fmt::format("{} frame to {} {:02x}", f.first_ps, f.last_ps, fmt::join(f.bytes, "")));
  }
  for (const auto& t : rec.tlps) {
    if (t.nic != nic) continue;
    lines.emplace_back(t.ps, fmt::format("{} tlp {} {:02x}", t.ps, t.from_nic, fmt::join(t.tlp.bytes(), "")));
  }
  for (const auto& e : rec.errors) {
    if (e.nic != nic) continue;
    lines.emplace_back(e.ps, fmt::format("{} error {} {} {} {} {}", e.ps, e.event.kind, e.event.index, e.event.wqe,
                                         e.event.syndrome, e.event.vendor));
  }
  std::sort(lines.begin(), lines.end());
  std::string out;
  for (const auto& l : lines) out += l.second + "\n";
  for (const auto& c : system.node(nic).nic->bars().counters()) out += fmt::format("{} = {}\n", c.first, c.second);
  return out;
}

/// Equal, or the first line that differs.
inline void expect_same(const std::string& a, const std::string& b, const std::string& what) {
  EXPECT_GT(std::count(a.begin(), a.end(), '\n'), 10) << what << ": nothing to compare";
  if (a == b) return;
  std::istringstream x(a), y(b);
  std::string l, m;
  for (unsigned n = 1;; ++n) {
    const bool more_x = static_cast<bool>(std::getline(x, l)), more_y = static_cast<bool>(std::getline(y, m));
    if (more_x && more_y && l == m) continue;
    ADD_FAILURE() << what << ": line " << n << "\n  " << (more_x ? l.substr(0, 300) : "(end)") << "\n  "
                  << (more_y ? m.substr(0, 300) : "(end)");
    return;
  }
}

}  // namespace rnic::test
