// SPDX-License-Identifier: Apache-2.0
// A hand-made run: the instants of one message as a NIC with a 1 ns clock would report them, its frame and TLPs.
#pragma once

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "rnic/observe/recorder.h"
#include "rnic/observe/stages.h"

namespace rnic::sample {

inline constexpr ClockInfo kClock{0, 1000};
inline constexpr unsigned kQpn = 5;

inline rtl::op_t op(unsigned wqe, unsigned psn, bool last) {
  rtl::op_t o;
  o.qpn = kQpn;
  o.wqe = static_cast<uint16_t>(wqe);
  o.psn = psn;
  o.last = last;
  return o;
}

inline Event event(EventKind kind, uint64_t ps, const rtl::op_t& o = {}) { return {kind, ps, ps / 1000, o, 0, 0}; }

/// Instants of one message of one packet; every one can be moved or left out (0).
struct Message {
  unsigned wqe = 7, psn = 100;
  uint64_t store = 9'900'000, pins = 10'000'300, db = 10'001'000;
  uint64_t dm_req = 10'004'000, dm_rsp = 10'030'000;
  uint64_t wqe_ps = 10'035'000, issue = 10'039'000, rd_pins = 10'043'000;
  uint64_t mem_start = 10'094'381, mem_end = 10'169'381, cpl_pins = 10'221'123, rd_done = 10'226'000;
  uint64_t mac = 10'244'000, first_bit = 10'284'000, last_bit = 10'287'079;
  uint64_t cqe_issue = 10'253'000, cqe_visible = 10'401'444;

  std::vector<Event> events() const {
    rtl::op_t bell = op(wqe + 1, 0, false);  // doorbells carry the producer index
    const rtl::op_t o = op(wqe, psn, true);
    rtl::op_t decoded = op(wqe, psn, false);
    std::vector<Event> all{event(EventKind::kDbStore, store, bell),
                           event(EventKind::kDbPins, pins, bell),
                           event(EventKind::kDb, db, bell),
                           event(EventKind::kDmReq, dm_req),
                           event(EventKind::kDmRsp, dm_rsp),
                           event(EventKind::kWqe, wqe_ps, decoded),
                           event(EventKind::kRdIssue, issue, o),
                           event(EventKind::kRdPins, rd_pins, o),
                           event(EventKind::kMemRdStart, mem_start, o),
                           event(EventKind::kMemRdEnd, mem_end, o),
                           event(EventKind::kCplPins, cpl_pins, o),
                           event(EventKind::kRdDone, rd_done, o),
                           event(EventKind::kMac, mac, o),
                           event(EventKind::kWireFirst, first_bit, o),
                           event(EventKind::kWireLast, last_bit, o),
                           event(EventKind::kCqeIssue, cqe_issue, o),
                           event(EventKind::kCqeVisible, cqe_visible, o)};
    std::vector<Event> kept;
    for (const Event& e : all) {
      if (e.ps != 0) kept.push_back(e);
    }
    return kept;
  }
};

/// Bytes of a frame of tests/data/roce_frames.txt by name.
inline std::vector<uint8_t> frame_bytes(const std::string& name) {
  std::ifstream in(std::string(RNICSIM_TEST_DATA) + "/data/roce_frames.txt");
  for (std::string line; std::getline(in, line);) {
    if (line.find("| " + name + " |") == std::string::npos) continue;
    const std::string hex = line.substr(line.rfind(' ') + 1);
    std::vector<uint8_t> bytes;
    for (size_t i = 0; i + 1 < hex.size(); i += 2) {
      bytes.push_back(static_cast<uint8_t>(std::stoul(hex.substr(i, 2), nullptr, 16)));
    }
    return bytes;
  }
  throw std::runtime_error("no frame " + name + " in tests/data/roce_frames.txt");
}

/// The message above with its frame (UC WRITE) and TLPs.
inline void fill(Recorder& r, const Message& m = {}) {
  for (const Event& e : m.events()) r.on_event(e);
  r.on_frame({0, 0, m.first_bit, m.last_bit, op(m.wqe, m.psn, true), frame_bytes("uc_write_only_8B")});
  pcie::Tlp read = pcie::make_mem_read(0x1000'0000'1000, 64, 0x0100, 3);
  read.op = op(m.wqe, m.psn, true);
  r.on_tlp({0, true, m.rd_pins, &read});
  std::vector<uint8_t> data(64);
  for (unsigned i = 0; i < 64; ++i) data[i] = static_cast<uint8_t>(i);
  const pcie::Tlp completion = pcie::make_completion(read, 0x0200, 0, 64, 0, data);
  r.on_tlp({0, false, m.cpl_pins, &completion});
  pcie::Tlp cqe = pcie::make_mem_write(0x1'0000'2000, data.data(), 64, 0x0100);
  cqe.op = read.op;
  r.on_tlp({0, true, m.cqe_issue, &cqe});
}

inline std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream s;
  s << in.rdbuf();
  return s.str();
}

}  // namespace rnic::sample
