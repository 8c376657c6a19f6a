// SPDX-License-Identifier: Apache-2.0
// Every format that a requester can send, through the whole NIC: published frames from their own fields, and random
// mixtures of operations, segments, inline data, transports, IP versions and tags against the reference models.
#define RNIC_TEST_DATA RNICSIM_TEST_DATA "/data"
#include <gmock/gmock.h>

#include "rtl/roce_frames.h"
#include "system/frames.h"

namespace rnic::test {
namespace {

using host::QpInit;
using host::QpPath;
using host::QpType;
using host::SendWr;
using host::Sge;
using host::Space;
using host::WrOpcode;

/// The request behind a frame that is a message of its own; nothing for parts of messages and for responses.
std::optional<std::pair<QpType, WrOpcode>> request_of(uint8_t bth_opcode) {
  const QpType type = bth_opcode >> 5 == 0 ? QpType::kRc : bth_opcode >> 5 == 1 ? QpType::kUc : QpType::kUd;
  switch (bth_opcode & 0x1f) {
    case 0x04:
      return {{type, WrOpcode::kSend}};
    case 0x05:
      return {{type, WrOpcode::kSendImm}};
    case 0x0a:
      return {{type, WrOpcode::kRdmaWrite}};
    case 0x0b:
      return {{type, WrOpcode::kRdmaWriteImm}};
    case 0x0c:
      return {{type, WrOpcode::kRdmaRead}};
    case 0x13:
      return {{type, WrOpcode::kAtomicCmpAndSwp}};
    case 0x14:
      return {{type, WrOpcode::kAtomicFetchAndAdd}};
    case 0x17:
      return {{type, WrOpcode::kSendWithInv}};
    default:
      return std::nullopt;
  }
}

/// A path with everything that stands in a frame's headers.
QpPath path_of(const golden::FrameFields& f) {
  QpPath path;
  path.dmac = f.dmac;
  path.smac = f.smac;
  if (f.vlan_tci) {
    path.prio = static_cast<uint8_t>(*f.vlan_tci >> 13);
    path.vlan_id = *f.vlan_tci & 0xfff;
  }
  path.sip = f.sip;
  path.dip = f.dip;
  if (f.ipv6) path.ipv6 = host::Ipv6Path{f.ipv6->src, f.ipv6->dst, f.ipv6->flow_label};
  path.tos = f.tos;
  path.ttl = f.ttl;
  path.ip_id = f.ip_id;
  path.udp_sport = f.udp_sport;
  path.mig_req = f.mig_req;
  path.pkey = f.pkey;
  path.dest_qpn = f.dest_qpn;
  path.sq_psn = f.psn;
  return path;
}

class FormatsTest : public MessagesTest {
 protected:
  /// Bytes cut into one to four pieces at random places of the region, at any alignment.
  std::vector<Sge> cut(const host::Mr& mr, uint64_t length, unsigned pieces) {
    std::vector<uint64_t> cuts{0, length};
    while (cuts.size() < pieces + 1) cuts.push_back(rng_() % (length + 1));
    std::sort(cuts.begin(), cuts.end());
    std::vector<Sge> list;
    for (size_t i = 0; i + 1 < cuts.size(); ++i) {
      const uint64_t n = cuts[i + 1] - cuts[i];
      list.push_back({mr.addr + rng_() % (mr.length - n), n, mr.lkey});
    }
    return list;
  }

  std::mt19937_64 rng_{test_seed()};
};

// Every published request that is a message of its own: from its fields the NIC gives these bytes. A frame's payload
// lies in up to four pieces, or inline when it fits.
TEST_F(FormatsTest, PublishedRequests) {
  const auto reference = load_roce_frames();
  std::map<uint32_t, std::string> names;
  make();
  const auto end = run([&] {
    const auto mr = gpu_buffer(uint64_t{1} << 20);
    auto& gpu = system().node().hub->gpu_memory();
    auto* cq = ctx().create_cq(6);
    uint64_t used = 0;
    uint32_t next_qpn = 512;
    for (const auto& [name, bytes] : reference) {
      const auto frame = golden::parse_frame(bytes);
      const auto& f = frame.fields;
      const auto request = request_of(f.bth_opcode);
      if (!request) continue;
      for (const bool send_inline : {false, true}) {
        QpInit init;
        init.type = request->first;
        // A datagram names its sender, which has to be one of the NIC's.
        uint32_t qpn = next_qpn++;
        if (f.deth) {
          if (f.deth->src_qpn >= 1024 || send_inline) continue;
          qpn = f.deth->src_qpn;
        }
        SendWr wr;
        wr.opcode = request->second;
        wr.solicited = f.solicited;
        wr.imm = f.imm.value_or(f.ieth.value_or(0));
        if (f.reth) wr.remote_addr = f.reth->va, wr.rkey = f.reth->rkey;
        if (f.atomic) {
          wr.remote_addr = f.atomic->va, wr.rkey = f.atomic->rkey;
          const bool compares = wr.opcode == WrOpcode::kAtomicCmpAndSwp;
          wr.compare_add = compares ? f.atomic->compare : f.atomic->swap_add;
          wr.swap = f.atomic->swap_add;
        }
        const bool asks = !golden::has_payload(host::wqe_opcode(wr.opcode));
        const uint64_t length = f.atomic ? 8 : asks ? f.reth->dma_len : frame.payload.size();
        if (asks) {
          if (send_inline) continue;
          wr.addr = mr.addr, wr.length = length, wr.lkey = mr.lkey;
        } else if (length != 0) {
          wr.send_inline = send_inline;
          if (send_inline && length > host::max_inline_data(init.type, wr.opcode)) continue;
          uint64_t at = 0;
          for (const uint64_t n : {length / 3, length / 5, length - length / 3 - length / 5}) {
            if (n == 0) continue;
            used += 1 + rng_() % 200;
            gpu.write(mr.offset + used, frame.payload.data() + at, n);
            wr.sg_list.push_back({mr.addr + used, n, mr.lkey});
            used += n;
            at += n;
          }
        }
        if (f.deth) {
          wr.ah.remote_qpn = f.dest_qpn;
          wr.ah.remote_qkey = f.deth->qkey;
          wr.ah.dmac = f.dmac;
          std::copy(f.dip.begin(), f.dip.end(), wr.ah.dgid.begin() + 12);
          if (f.ipv6) wr.ah.dgid = f.ipv6->dst, wr.ah.flow_label = f.ipv6->flow_label;
          wr.ah.tos = f.tos;
          wr.ah.ttl = f.ttl;
          wr.ah.udp_sport = f.udp_sport;
        }
        QpPath path = path_of(f);
        if (f.deth) path.qkey = f.deth->qkey;  // taken when the frame's own has bit 31 set
        auto* qp = ctx().create_qp(cq, init, qpn);
        ctx().modify_qp_rts(qp, path);
        names[qpn] = name;
        ctx().post_send(qp, wr);
        if (!asks) complete(cq, 1);
      }
    }
    sc_core::wait(Time(5, sc_core::SC_US));
  });
  EXPECT_EQ(end, RunEnd::kDone) << to_string(end);
  expect_no_refusals(system());
  std::map<std::string, unsigned> compared;
  for (const auto& f : recorder.frames) {
    const auto& name = names.at(f.op.qpn);
    golden::Bytes expected = reference.at(name);
    const bool v6 = name == "ipv6_rc_send_only_3B_pad1_udpcsum";
    if (v6 || name == "uc_send_only_18B_pad2") {
      // Its UDP checksum, which the ICRC leaves out; this sender's is 0, as that of real NICs.
      const size_t at = golden::detail::ip_offset(expected) + (v6 ? 40 : 20) + 6;
      expected[at] = expected[at + 1] = 0;
    }
    EXPECT_EQ(f.bytes, expected) << name;
    ++compared[name];
  }
  EXPECT_EQ(recorder.frames.size(), names.size());
  for (const auto& [qpn, name] : names) EXPECT_GT(compared[name], 0u) << name;
  EXPECT_GE(compared.size(), 15u);
}

struct Mixture {
  QpType type;
  bool ipv6, vlan;
};
std::string mixture_name(const Mixture& m) {
  return std::string(m.type == QpType::kRc   ? "Rc"
                     : m.type == QpType::kUc ? "Uc"
                                             : "Ud") +
         (m.ipv6 ? "Ipv6" : "Ipv4") + (m.vlan ? "Vlan" : "");
}
void PrintTo(const Mixture& m, std::ostream* os) { *os << mixture_name(m); }
std::vector<Mixture> all_mixtures() {
  std::vector<Mixture> all;
  for (auto type : {QpType::kRc, QpType::kUc, QpType::kUd}) {
    for (bool ipv6 : {false, true}) {
      for (bool vlan : {false, true}) all.push_back({type, ipv6, vlan});
    }
  }
  return all;
}

class MixtureTest : public FormatsTest, public ::testing::WithParamInterface<Mixture> {
 protected:
  /// One random request of the transport's.
  SendWr random_request(const host::Mr& mr, unsigned mtu) {
    constexpr WrOpcode kOps[] = {
        WrOpcode::kSend,        WrOpcode::kSendImm,  WrOpcode::kRdmaWrite,       WrOpcode::kRdmaWriteImm,
        WrOpcode::kSendWithInv, WrOpcode::kRdmaRead, WrOpcode::kAtomicCmpAndSwp, WrOpcode::kAtomicFetchAndAdd};
    const auto type = GetParam().type;
    WrOpcode op;
    do op = kOps[rng_() % std::size(kOps)];
    while (!golden::allowed(host::transport(type), host::wqe_opcode(op)));
    SendWr wr = request(mr, op, 0);
    wr.compare_add = rng_();
    wr.swap = rng_();
    wr.ah.remote_qpn = static_cast<uint32_t>(rng_() & 0xffffff);
    wr.ah.remote_qkey = static_cast<uint32_t>(rng_());
    for (auto& x : wr.ah.dmac) x = static_cast<uint8_t>(rng_());
    if (GetParam().ipv6) {
      for (auto& x : wr.ah.dgid) x = static_cast<uint8_t>(rng_());
    }
    wr.ah.tos = static_cast<uint8_t>(rng_());
    wr.ah.ttl = static_cast<uint8_t>(rng_());
    wr.ah.flow_label = rng_() & 0xfffff;
    wr.ah.udp_sport = static_cast<uint16_t>(0xc000 | rng_());  // one that tshark takes for no other protocol's
    uint64_t length = 0;
    switch (rng_() % 4) {
      case 0:
        length = rng_() % 130;
        break;
      case 1:
        length = mtu - 2 + rng_() % 5;
        break;
      case 2:
        length = rng_() % (3 * mtu);
        break;
      default:
        length = edge_lengths(mtu)[rng_() % edge_lengths(mtu).size()];
    }
    if (type == QpType::kUd) length = std::min<uint64_t>(length, mtu);
    if (golden::is_atomic(host::wqe_opcode(op))) length = 8;
    wr.sg_list = cut(mr, length, golden::is_atomic(host::wqe_opcode(op)) ? 1 : 1 + rng_() % 4);
    wr.send_inline = length <= host::max_inline_data(type, op) && rng_() % 2 == 0;
    return wr;
  }
};

// Randomly gathered messages over every MTU: each frame is the reference models', the payload the source's bytes, the
// oracle accepts the ICRC, and tshark reads from each header what was asked for, and finds nothing malformed.
TEST_P(MixtureTest, RandomRequests) {
  make();
  const auto end = run([&] {
    const auto mr = buffer(Space::kGpu, 65536);
    ctx().create_qp(ctx().create_cq(0), {}, 1);  // to tshark, 0 and 1 speak management
    for (unsigned mtu : kAllMtus) {
      QpInit init;
      init.type = GetParam().type;
      init.where = rng_() % 2 == 0 ? host::SqWhere::kDevice : host::SqWhere::kBf;
      init.log_sq_size = 7;
      QpPath path;
      path.mtu = mtu;
      path.sq_psn = static_cast<uint32_t>(rng_() & 0xffffff);
      path.ip_id = static_cast<uint16_t>(rng_());
      path.prio = static_cast<uint8_t>(rng_() % 8);
      path.dest_qpn = static_cast<uint32_t>(rng_() & 0xffffff);
      path.tos = static_cast<uint8_t>(rng_());
      path.ttl = static_cast<uint8_t>(rng_());
      path.qkey = static_cast<uint32_t>(rng_());
      if (GetParam().vlan) path.vlan_id = rng_() & 0xfff;
      if (GetParam().ipv6) {
        host::Ipv6Path six;
        for (auto* address : {&six.sip, &six.dip}) {
          for (auto& x : *address) x = static_cast<uint8_t>(rng_());
        }
        six.flow_label = rng_() & 0xfffff;
        path.ipv6 = six;
      }
      std::vector<SendWr> wrs;
      for (unsigned i = 0; i < 24; ++i) wrs.push_back(random_request(mr, mtu));
      wrs.push_back(request(mr, WrOpcode::kSend, 1));  // READ and atomics before it complete nothing
      wrs.back().ah.remote_qpn = 2;
      send(mr, init, path, wrs);
    }
    sc_core::wait(Time(5, sc_core::SC_US));
  });
  EXPECT_EQ(end, RunEnd::kDone) << to_string(end);
  expect_right_frames(Judge::kTshark);
}

INSTANTIATE_TEST_SUITE_P(All, MixtureTest, ::testing::ValuesIn(all_mixtures()),
                         [](const auto& info) { return mixture_name(info.param); });

// The judge is not blind: of frames that are right, each one whose expectation differs in one field is refused for it.
TEST(DissectionTest, EachFieldCounts) {
  golden::FrameFields datagram;
  datagram.vlan_tci = 0x6123;
  datagram.ipv6 = golden::Ipv6{{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 1}, {0x20, 1, 0xd, 0xb8}, 0xabcde};
  datagram.bth_opcode = 0x65;  // UD SEND_ONLY with immediate
  datagram.deth = golden::Deth{0x80010203, 17};
  datagram.imm = 0x01020304;
  golden::FrameFields atomic;
  atomic.bth_opcode = 0x13;
  atomic.atomic = golden::AtomicEth{0x1122334455667788, 0x99, 5, 6};
  golden::FrameFields invalidate;
  invalidate.bth_opcode = 0x17;
  invalidate.ieth = 0xa1b2c3d4;
  golden::FrameFields read;
  read.bth_opcode = 0x0c;
  read.reth = golden::Reth{0x7f00'0000'1000, 0x1234, 4096};

  Recorder frames;
  std::string lines;
  unsigned right = 0;
  for (auto* f : {&datagram, &atomic, &invalidate, &read}) {
    f->udp_sport = 0xc123;
    f->dest_qpn = 0x4321;
    f->psn = 77;
    const golden::Bytes payload(f->deth || f->ieth ? 5 : 0, 0xa5);
    const auto put = [&](const std::string& line) {
      FrameRecord r{};
      r.bytes = golden::build_frame(*f, payload);
      frames.frames.push_back(r);
      lines += line;
    };
    const std::string line = dissection(*f, payload.size());
    put(line);
    ++right;
    for (size_t at = line.find('='); at != std::string::npos; at = line.find('=', at + 1)) {
      const size_t end = line.find_first_of(" \n", at);
      const std::string value = line.substr(at + 1, end - at - 1);
      put(line.substr(0, at + 1) + (value.empty() || value == "0x7" ? "0x6" : "0x7") + line.substr(end));
    }
  }
  const Capture capture(frames);
  const std::string expected = capture.path + ".expected";
  std::ofstream(expected) << lines;
  const auto answer = ask_oracle(fmt::format("--expect {} {}", expected, capture.path));
  std::remove(expected.c_str());
  EXPECT_EQ(answer.status, 1);
  EXPECT_THAT(answer.text, ::testing::HasSubstr(fmt::format("{} frames checked, {} problems", frames.frames.size(),
                                                            frames.frames.size() - right)))
      << answer.text;
}

}  // namespace
}  // namespace rnic::test
