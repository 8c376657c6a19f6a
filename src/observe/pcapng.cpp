// SPDX-License-Identifier: Apache-2.0
// A writer of pcapng of our own: Debian has no C++ library that writes it, and the five block types needed are small.
// Format: draft-ietf-opsawg-pcapng. Little-endian throughout; time stamps in ns (if_tsresol 9).
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "order.h"
#include "rnic/core/error.h"
#include "rnic/observe/run_directory.h"

namespace rnic {
namespace {

constexpr uint16_t kLinkEthernet = 1;
constexpr uint16_t kLinkUser0 = 147;
constexpr uint32_t kInbound = 1, kOutbound = 2;

/// One block: type, body, and its length before and after it.
class Block {
 public:
  explicit Block(uint32_t type) {
    u32(type);
    u32(0);  // length, filled in by end()
  }
  void u16(uint16_t v) {
    for (int i = 0; i < 2; ++i) out_.push_back(static_cast<char>(v >> 8 * i));
  }
  void u32(uint32_t v) {
    for (int i = 0; i < 4; ++i) out_.push_back(static_cast<char>(v >> 8 * i));
  }
  void bytes(const void* p, size_t n) {
    out_.append(static_cast<const char*>(p), n);
    out_.append((4 - n % 4) % 4, '\0');
  }
  void option(uint16_t code, const std::string& text) {
    const auto n = std::min<size_t>(text.size(), 0xffff);
    u16(code);
    u16(static_cast<uint16_t>(n));
    bytes(text.data(), n);
  }
  void option_u8(uint16_t code, uint8_t v) {
    u16(code);
    u16(1);
    bytes(&v, 1);
  }
  void option_u32(uint16_t code, uint32_t v) {
    u16(code);
    u16(4);
    u32(v);
  }
  void end_of_options() { u32(0); }
  const std::string& end() {
    const auto n = static_cast<uint32_t>(out_.size() + 4);
    for (int i = 0; i < 4; ++i) out_[4 + i] = static_cast<char>(n >> 8 * i);
    u32(n);
    return out_;
  }

 private:
  std::string out_;
};

std::string section_header(const Recorder& rec) {
  Block b(0x0a0d0d0a);
  b.u32(0x1a2b3c4d);
  b.u16(1);
  b.u16(0);
  b.u32(0xffffffff);  // section length not given
  b.u32(0xffffffff);
  if (rec.frames_dropped != 0 || rec.tlps_dropped != 0) {
    b.option(1, fmt::format("{} frames and {} TLPs beyond the recorder's limit are not in this file",
                            rec.frames_dropped, rec.tlps_dropped));
  }
  b.option(4, "rnicsim");  // shb_userappl
  b.end_of_options();
  return b.end();
}

std::string interface(uint16_t link, const std::string& name, const std::string& description) {
  Block b(1);
  b.u16(link);
  b.u16(0);
  b.u32(0);  // no snap length
  b.option(2, name);
  b.option(3, description);
  b.option_u8(9, 9);  // if_tsresol: ns
  b.end_of_options();
  return b.end();
}

std::string packet(uint32_t interface, uint64_t ns, const std::vector<uint8_t>& data, const std::string& comment,
                   uint32_t direction) {
  Block b(6);
  b.u32(interface);
  b.u32(static_cast<uint32_t>(ns >> 32));
  b.u32(static_cast<uint32_t>(ns));
  b.u32(static_cast<uint32_t>(data.size()));
  b.u32(static_cast<uint32_t>(data.size()));
  b.bytes(data.data(), data.size());
  b.option(1, comment);
  b.option_u32(2, direction);  // epb_flags
  b.end_of_options();
  return b.end();
}

std::string ns_text(uint64_t ps) { return fmt::format("{}.{:03}", ps / 1000, ps % 1000); }

std::string describe(const rtl::op_t& op) {
  return fmt::format("QPN {} WQE {} PSN {}{}", static_cast<unsigned>(op.qpn), static_cast<unsigned>(op.wqe),
                     static_cast<unsigned>(op.psn), op.last ? " last" : "");
}

/// Instants of each packet, from its WQE to the wire.
class Instants {
 public:
  explicit Instants(const std::vector<Event>& events) {
    for (const Event& e : events) {
      switch (e.kind) {
        case EventKind::kDbStore:
        case EventKind::kDbPins:
        case EventKind::kDb:
        case EventKind::kCqeIssue:
        case EventKind::kCqeVisible:
        case EventKind::kDmReq:
        case EventKind::kDmRsp:
          continue;
        default:
          by_packet_[key(e.nic, e.op)].events.push_back(&e);
      }
    }
    for (auto& [k, p] : by_packet_) {
      std::stable_sort(p.events.begin(), p.events.end(), [](const Event* a, const Event* b) {
        return std::make_tuple(a->ps, a->kind) < std::make_tuple(b->ps, b->kind);
      });
    }
  }

  /// Those of a frame. Frames of one key come in order of time: each takes what lies before its end and is not taken
  /// yet.
  std::string of(const FrameRecord& f) {
    std::string text;
    const auto it = by_packet_.find(key(f.nic, f.op));
    if (it == by_packet_.end()) return text;
    Packet& p = it->second;
    for (; p.next < p.events.size() && p.events[p.next]->ps <= f.last_ps; ++p.next) {
      const Event& e = *p.events[p.next];
      text +=
          fmt::format("{}{} {} ns (cycle {})", text.empty() ? "" : ", ", event_name(e.kind), ns_text(e.ps), e.cycle);
    }
    return text;
  }

 private:
  using Key = std::tuple<unsigned, unsigned, unsigned, unsigned>;
  static Key key(unsigned nic, const rtl::op_t& op) { return {nic, op.qpn, op.wqe, op.psn}; }
  struct Packet {
    std::vector<const Event*> events;
    size_t next = 0;
  };
  std::map<Key, Packet> by_packet_;
};

}  // namespace

void write_pcapng(const std::string& path, const Recorder& rec, bool with_tlps) {
  std::ofstream out(path, std::ios::binary);
  const auto put = [&](const std::string& block) {
    out.write(block.data(), static_cast<std::streamsize>(block.size()));
  };
  put(section_header(rec));

  std::set<std::pair<unsigned, unsigned>> ports;
  std::set<unsigned> nics;
  for (const auto& f : rec.frames) ports.insert({f.nic, f.port});
  if (with_tlps) {
    for (const auto& t : rec.tlps) nics.insert(t.nic);
  }
  if (ports.empty()) ports.insert({0, 0});
  uint32_t next = 0;
  std::map<std::pair<unsigned, unsigned>, uint32_t> port_id;
  std::map<unsigned, uint32_t> nic_id;
  for (const auto& p : ports) {
    put(interface(kLinkEthernet, fmt::format("nic{}/port{}", p.first, p.second),
                  fmt::format("Ethernet port {} of NIC {}, without FCS; time of the first bit", p.second, p.first)));
    port_id[p] = next++;
  }
  for (unsigned n : nics) {
    put(interface(kLinkUser0, fmt::format("nic{}/pcie", n),
                  fmt::format("PCIe TLPs at the pins of NIC {}; outbound: from the NIC", n)));
    nic_id[n] = next++;
  }

  // Frames are reported when they end, TLPs when they pass: put in order of their time stamps, frames first.
  struct Item {
    uint64_t ps;
    const FrameRecord* frame;
    const RecordedTlp* tlp;
  };
  std::vector<Item> items;
  for (const auto* f : detail::ordered(rec.frames)) items.push_back({f->first_ps, f, nullptr});
  if (with_tlps) {
    for (const auto* t : detail::ordered(rec.tlps)) items.push_back({t->ps, nullptr, t});
  }
  std::stable_sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.ps < b.ps; });

  Instants instants(rec.events);
  for (const Item& i : items) {
    if (i.frame) {
      const FrameRecord& f = *i.frame;
      std::string text =
          fmt::format("{}; first bit {} ns, last bit {} ns", describe(f.op), ns_text(f.first_ps), ns_text(f.last_ps));
      const std::string stages = instants.of(f);
      if (!stages.empty()) text += "; " + stages;
      put(packet(port_id.at({f.nic, f.port}), f.first_ps / 1000, f.bytes, text, kOutbound));
    } else {
      const RecordedTlp& t = *i.tlp;
      const std::string text = fmt::format("{}; {}; {} ns", t.tlp.describe(), describe(t.tlp.op), ns_text(t.ps));
      put(packet(nic_id.at(t.nic), t.ps / 1000, t.tlp.bytes(), text, t.from_nic ? kOutbound : kInbound));
    }
  }
  out.close();
  if (!out) throw InputError(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
}

}  // namespace rnic
