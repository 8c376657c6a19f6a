// SPDX-License-Identifier: Apache-2.0
// The reference model's groups and headers as the RTL's ports have them.
#pragma once

#include "rnic/golden/allreduce.h"
#include "rnic/rtl/ports.h"

namespace rnic::collective {

inline rtl::arp_group_t to_rtl(const golden::arp::Group& g) {
  rtl::arp_group_t r;
  r.valid = g.valid;
  r.dtype = g.dtype;
  r.op = g.op;
  r.wide_out = g.wide_out;
  r.log_frag = static_cast<uint8_t>(g.log_frag);
  r.log_chunk = static_cast<uint8_t>(g.log_chunk);
  r.log_slots = static_cast<uint8_t>(g.log_slots);
  r.slot_base = static_cast<uint16_t>(g.slot_base);
  r.row_base = static_cast<uint16_t>(g.row_base);
  r.members = g.members;
  r.length = g.length;
  r.dst = g.dst;
  return r;
}

inline rtl::areth_t to_rtl(const golden::arp::Header& h) {
  rtl::areth_t r;
  r.group = h.group;
  r.step = h.step;
  r.chunk = h.chunk;
  r.rank = h.rank;
  r.offset = h.offset;
  r.dtype = h.dtype;
  r.op = h.op;
  r.len = h.len;
  return r;
}

inline golden::arp::Header from_rtl(const rtl::areth_t& r) {
  golden::arp::Header h;
  h.group = r.group;
  h.step = r.step;
  h.chunk = r.chunk;
  h.rank = r.rank;
  h.offset = r.offset;
  h.dtype = r.dtype;
  h.op = r.op;
  h.len = r.len;
  return h;
}

}  // namespace rnic::collective
