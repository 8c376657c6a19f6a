// SPDX-License-Identifier: Apache-2.0
#include "rnic/collective/traffic.h"

#include <algorithm>
#include <random>

#include "rnic/golden/allreduce_frame.h"

namespace rnic::collective {
namespace arp = golden::arp;
namespace {

/// One group's way through its vector, a window of slots at a time.
struct Stream {
  const PlacedGroup* group;
  const Contributions* data;
  std::vector<uint8_t> members;
  uint64_t next = 0;  ///< first fragment of the window to come
};

struct Item {
  Stream* stream;
  uint64_t fragment;
  unsigned member;  ///< n-th
  bool first, last;
};

class Sender {
 public:
  Sender(Driver& driver, const TrafficOptions& options) : driver_(driver), options_(options), random_(options.seed) {}

  void send(const Item& i, uint16_t step, unsigned data_step) {
    const PlacedGroup& g = *i.stream->group;
    arp::Header h = g.header(i.fragment, i.stream->members[i.member]);
    h.step = step;
    const arp::Bytes data = i.stream->data->bytes(i.member, data_step, i.fragment << g.context.log_frag, h.len);
    const Faults& f = options_.faults;
    if (i.first && chance(f.flip)) flip(g, i.fragment, h.len);
    if (chance(f.corrupt)) put(h, data, true);
    if (chance(f.hostile)) hostile(h, data);
    put(h, data, false);
    if (i.last) return;  // the slot may be on its way out: what became of a repetition would depend on time
    if (chance(f.duplicate)) put(h, data, false);
    for (const auto& [p, d] : {std::pair{f.late, -1}, {f.early, 1}}) {
      if (!chance(p)) continue;
      arp::Header other = h;
      other.step = static_cast<uint16_t>(h.step + d);
      put(other, data, false);
    }
  }

  std::mt19937_64& random() { return random_; }

 private:
  void put(const arp::Header& h, const arp::Bytes& data, bool damaged) { driver_.send(h, data, damaged, options_.gap); }

  bool chance(double p) { return p > 0 && std::uniform_real_distribution<double>(0, 1)(random_) < p; }
  uint64_t below(uint64_t n) { return std::uniform_int_distribution<uint64_t>(0, n - 1)(random_); }

  /// A bit that this slot's data reaches.
  void flip(const PlacedGroup& g, uint64_t fragment, uint16_t len) {
    const arp::Group& c = g.context;
    const unsigned rows = arp::rows_per_slot(c.dtype, c.log_frag);
    const uint64_t slot = fragment % (uint64_t{1} << c.log_slots);
    const uint64_t bytes = arp::is_acc32(c.dtype) ? 2 * uint64_t{len} : len;
    const uint64_t bit = below(8 * bytes);
    driver_.inject(static_cast<unsigned>(c.row_base + slot * rows + bit / 1024), static_cast<unsigned>(bit % 1024));
  }

  void hostile(arp::Header h, arp::Bytes data) {
    switch (below(9)) {
      case 0:
        h.group = static_cast<uint16_t>(arp::kNumGroups + below(65536 - arp::kNumGroups));
        break;
      case 1:
        h.dtype ^= static_cast<uint8_t>(1 + below(255));
        break;
      case 2:
        h.op ^= static_cast<uint8_t>(1 + below(255));
        break;
      case 3:
        h.rank = static_cast<uint8_t>(arp::kMaxRanks + below(256 - arp::kMaxRanks));
        break;
      case 4:
        h.offset += 1 + static_cast<uint32_t>(below(63));  // not aligned
        break;
      case 5:
        h.chunk = 65535, h.offset = 0xffffffc0;
        break;
      case 6:
        data.resize(1 + below(data.size()));  // a payload that is not as long as the header says, or the header's own
        h.len = static_cast<uint16_t>(h.len + 1 + below(1000));
        break;
      case 7:
        data.resize(data.size() + 1 + below(200), 0xee);
        h.len = static_cast<uint16_t>(data.size());
        break;
      default:
        h.len = static_cast<uint16_t>(h.len / 2);
        data.resize(h.len);
        break;
    }
    put(h, data, false);
  }

  Driver& driver_;
  const TrafficOptions& options_;
  std::mt19937_64 random_;
};

/// The contributions of the window, in order.
std::vector<Item> window_of(Stream& s, Order order, std::mt19937_64& random) {
  const uint64_t end = std::min(s.next + (uint64_t{1} << s.group->context.log_slots), s.group->fragments());
  const auto ranks = static_cast<unsigned>(s.members.size());
  std::vector<Item> items;
  if (order == Order::kBurst) {
    for (uint64_t f = s.next; f < end; ++f) {
      for (unsigned m = 0; m < ranks; ++m) items.push_back({&s, f, m, false, false});
    }
  } else {
    for (unsigned m = 0; m < ranks; ++m) {
      for (uint64_t f = s.next; f < end; ++f) items.push_back({&s, f, m, false, false});
    }
  }
  if (order == Order::kRandom) std::shuffle(items.begin(), items.end(), random);
  std::map<uint64_t, unsigned> seen;
  for (Item& i : items) {
    const unsigned n = seen[i.fragment]++;
    i.first = n == 0;
    i.last = n + 1 == ranks;
  }
  s.next = end;
  return items;
}

}  // namespace

void send_vectors(Driver& driver, const std::map<unsigned, const Contributions*>& data, const TrafficOptions& options) {
  Sender sender(driver, options);
  std::vector<Stream> streams;
  for (const auto& [number, group] : driver.table().groups()) {
    streams.push_back({&group, data.at(number), group.members()});
  }
  for (unsigned step = 0; step < options.steps; ++step) {
    for (Stream& s : streams) s.next = 0;
    while (true) {
      std::vector<std::vector<Item>> windows;
      size_t longest = 0;
      for (Stream& s : streams) {
        if (s.next < s.group->fragments()) windows.push_back(window_of(s, options.order, sender.random()));
        if (!windows.empty()) longest = std::max(longest, windows.back().size());
      }
      if (windows.empty()) break;
      for (size_t i = 0; i < longest; ++i) {
        for (const auto& w : windows) {
          if (i < w.size()) sender.send(w[i], static_cast<uint16_t>(step), step);
        }
      }
    }
  }
  driver.settle();
}

bool has_acknowledges(const Capture& capture) {
  return std::any_of(capture.frames.begin(), capture.frames.end(), [](const CapturedFrame& f) {
    const auto p = arp::parse_allreduce(f.bytes);
    return p.allreduce && p.ack && !p.damaged();
  });
}

Replayed send_capture(Driver& driver, const Capture& capture, unsigned gap) {
  Replayed r;
  for (const CapturedFrame& f : capture.frames) {
    auto p = arp::parse_allreduce(f.bytes);
    if (!p.allreduce) {
      ++r.other;
      continue;
    }
    for (const auto& problem : p.problems) ++r.problems[problem];
    if (!p.ack) {
      ++r.fragments;
      r.damaged += p.damaged();
      driver.send(p.hdr, std::move(p.data), p.damaged(), gap);
    } else if (p.damaged()) {
      ++r.dropped_acks;
    } else {
      ++r.acknowledges;
      driver.acknowledge({p.hdr.group, p.hdr.step, p.hdr.chunk, p.hdr.offset});
    }
  }
  driver.settle();
  return r;
}

}  // namespace rnic::collective
