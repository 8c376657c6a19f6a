// SPDX-License-Identifier: Apache-2.0
// What tshark has to read from a frame: a line of tests/oracle/check_frames.py --expect.
#pragma once

#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <string>

#include "rnic/golden/packetizer.h"

namespace rnic::test {

/// Every header field of the frame that `fields` ask for, and the extension headers that it must not have.
inline std::string dissection(const golden::FrameFields& f, size_t payload_bytes) {
  std::string line = fmt::format("{} {} {}", f.bth_opcode, f.dest_qpn, f.psn);
  const auto field = [&line](const char* name, bool there, uint64_t value) {
    line += fmt::format(" {}={}", name, there ? fmt::format("0x{:x}", value) : "");
  };
  const auto address = [&line](const char* name, int family, const void* bytes) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    line += fmt::format(" {}={}", name, inet_ntop(family, bytes, text.data(), text.size()));
  };
  line += fmt::format(" eth.dst={:02x} eth.src={:02x}", fmt::join(f.dmac, ":"), fmt::join(f.smac, ":"));
  field("vlan.id", f.vlan_tci.has_value(), f.vlan_tci.value_or(0) & 0xfff);
  field("vlan.priority", f.vlan_tci.has_value(), f.vlan_tci.value_or(0) >> 13);
  if (f.ipv6) {
    field("ipv6.flow", true, f.ipv6->flow_label);
    field("ipv6.tclass", true, f.tos);
    field("ipv6.hlim", true, f.ttl);
    field("ipv6.nxt", true, 17);
    address("ipv6.src", AF_INET6, f.ipv6->src.data());
    address("ipv6.dst", AF_INET6, f.ipv6->dst.data());
  } else {
    field("ip.id", true, f.ip_id);
    field("ip.dsfield", true, f.tos);
    field("ip.ttl", true, f.ttl);
    field("ip.flags.df", true, 1);
    address("ip.src", AF_INET, f.sip.data());
    address("ip.dst", AF_INET, f.dip.data());
  }
  field("udp.srcport", true, f.udp_sport);
  field("udp.dstport", true, 4791);
  field("infiniband.bth.se", true, f.solicited);
  field("infiniband.bth.m", true, f.mig_req);
  field("infiniband.bth.padcnt", true, -payload_bytes & 3);
  field("infiniband.bth.p_key", true, f.pkey);
  field("infiniband.bth.a", true, f.ack_req);
  field("infiniband.deth.q_key", f.deth.has_value(), f.deth ? f.deth->qkey : 0);
  field("infiniband.deth.srcqp", f.deth.has_value(), f.deth ? f.deth->src_qpn : 0);
  field("infiniband.reth.va", f.reth || f.atomic, f.reth ? f.reth->va : f.atomic ? f.atomic->va : 0);
  field("infiniband.reth.r_key", f.reth || f.atomic, f.reth ? f.reth->rkey : f.atomic ? f.atomic->rkey : 0);
  field("infiniband.reth.dmalen", f.reth.has_value(), f.reth ? f.reth->dma_len : 0);
  field("infiniband.atomiceth.swapdt", f.atomic.has_value(), f.atomic ? f.atomic->swap_add : 0);
  field("infiniband.atomiceth.cmpdt", f.atomic.has_value(), f.atomic ? f.atomic->compare : 0);
  // Shown as bytes: hex digits
  line += fmt::format(" infiniband.immdt={} infiniband.ieth={}\n", f.imm ? fmt::format("{:08x}", *f.imm) : "",
                      f.ieth ? fmt::format("{:08x}", *f.ieth) : "");
  return line;
}

}  // namespace rnic::test
