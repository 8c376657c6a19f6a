// SPDX-License-Identifier: Apache-2.0
#include "rnic/collective/driver.h"
#include "rnic/collective/ports.h"

#include <fmt/format.h>

#include <algorithm>

#include "rnic/core/error.h"
#include "rnic/golden/allreduce_frame.h"

namespace rnic::collective {
namespace arp = golden::arp;
namespace {

constexpr size_t kMostQueued = 64;  ///< fragments at the pins
constexpr size_t kRefill = 32;
constexpr size_t kMostDifferences = 20;
constexpr uint64_t kGuard = 4096;

bool waits_for_its_end(arp::State s) {
  return s == arp::State::kFull || s == arp::State::kDrain || s == arp::State::kDone;
}

}  // namespace

Driver::Driver(ArpSystem& system, const DriverOptions& options)
    : system_(system),
      options_(options),
      expected_(pcie::kGpuSize),
      first_ps_(arp::kNumSlots),
      psn_(arp::kMaxRanks + 1) {
  system_.hub().gpu_memory().set_background(options.background);
  expected_.set_background(options.background);
  Engine& e = system_.engine();
  e.on_event = [this](const rtl::arp_evt_t&, uint64_t) { ++events_; };
  e.on_taken = [this](const rtl::areth_t&, uint64_t first_ps, uint64_t last_ps) { on_taken(first_ps, last_ps); };
  e.on_stat = [this](const rtl::arp_stat_t& stat, uint64_t ps) { on_stat(stat, ps); };
}

const PlacedGroup& Driver::define(const GroupSpec& spec) {
  const PlacedGroup& g = table_.add(spec);
  const auto number = static_cast<uint16_t>(spec.group);
  pins_[spec.group] = system_.hub().gpu_pages().pin(g.context.dst - pcie::kGpuBase, g.result_bytes(), {});
  model_.write_group(number, g.context);
  system_.engine().write_group(number, to_rtl(g.context));
  return g;
}

void Driver::remove(unsigned group) {
  settle();
  while (!system_.hub().idle()) sc_core::wait(from_ps(8 * system_.engine().period_ps()));  // its last writes
  table_.remove(group);
  system_.hub().gpu_pages().unpin(pins_.at(group));
  pins_.erase(group);
  arp::Group none;
  none.valid = false;
  model_.write_group(static_cast<uint16_t>(group), none);
  system_.engine().write_group(static_cast<uint16_t>(group), to_rtl(none));
}

arp::Kind Driver::send(const arp::Header& hdr, arp::Bytes data, bool damaged, unsigned gap) {
  while (system_.engine().queued() >= kMostQueued) sc_core::wait(moved_);
  unsigned slot = 0;
  const bool reaches = model_.check(hdr, data, damaged, slot) == arp::Kind::kAccepted;
  if (options_.acks == Acks::kAuto && reaches) {
    while (waits_for_its_end(model_.state(slot))) sc_core::wait(moved_);
  }
  const bool was_free = reaches && model_.state(slot) == arp::State::kFree;
  const arp::Kind kind = model_.fragment(hdr, data, damaged);
  if (kind == arp::Kind::kAccepted) payload_bytes_ += data.size();
  Sent s{kind, slot, was_free && kind == arp::Kind::kAccepted, {}};
  if (options_.frames) s.frame = frame_of(hdr, data, damaged, false);
  sent_.push_back(std::move(s));
  system_.engine().send({to_rtl(hdr), std::move(data), damaged, gap});
  return kind;
}

arp::Kind Driver::acknowledge(const arp::Ack& ack) {
  wait_idle();
  rtl::arp_ack_t a;
  a.group = ack.group;
  a.step = ack.step;
  a.chunk = ack.chunk;
  a.offset = ack.offset;
  acks_.push_back({ack, 0, 0, 0, 0});
  system_.engine().acknowledge(a);
  while (!acks_.empty()) sc_core::wait(moved_);
  return last_ack_;
}

void Driver::inject(unsigned row, unsigned bit) {
  wait_idle();
  model_.inject(row, bit);
  system_.engine().inject(static_cast<uint16_t>(row), static_cast<uint16_t>(bit));
}

void Driver::wait_idle() {
  const Time step = from_ps(8 * system_.engine().period_ps());
  while (!system_.engine().idle()) sc_core::wait(step);
}

void Driver::settle() {
  wait_idle();
  while (!acks_.empty()) {  // a result's acknowledge goes out at the edge that tells of the result
    sc_core::wait(from_ps(8 * system_.engine().period_ps()));
    if (system_.engine().idle() && !acks_.empty()) {
      differ(fmt::format("{} acknowledge(s) without a verdict", acks_.size()));
      break;
    }
  }
  if (!sent_.empty()) differ(fmt::format("{} fragment(s) were not taken", sent_.size()));
  if (model_.has_full()) differ("a full slot was not written");
}

void Driver::on_taken(uint64_t first_ps, uint64_t last_ps) {
  if (sent_.empty()) return differ("a fragment was taken that nobody has sent");
  Sent s = std::move(sent_.front());
  sent_.pop_front();
  if (s.first) first_ps_[s.slot] = first_ps;
  if (options_.frames) {
    FrameRecord f{0, 0, first_ps, last_ps, {}, std::move(s.frame)};
    system_.observers().frame(f);
  }
  if (system_.engine().queued() == kRefill) moved_.notify(sc_core::SC_ZERO_TIME);
}

void Driver::on_stat(const rtl::arp_stat_t& stat, uint64_t ps) {
  if (stat.written) result(true, ps);
  if (stat.parity) result(false, ps);
  if (stat.acked) acknowledged(true, ps);
  if (stat.bad_ack) acknowledged(false, ps);
}

void Driver::result(bool written, uint64_t ps) {
  const auto r = model_.drain();
  if (!r) return differ(fmt::format("a result at {} ps that is not due", ps));
  if (r->written != written) {
    differ(fmt::format("the result of group {} chunk {} offset {} at {} ps is {}, not {}", r->hdr.group, r->hdr.chunk,
                       r->hdr.offset, ps, written ? "written" : "lost", r->written ? "written" : "lost"));
  }
  if (r->written) expected_.write(r->addr - pcie::kGpuBase, r->data.data(), r->data.size());
  const arp::Header& h = r->hdr;
  const arp::Group& g = model_.group(h.group);
  const uint64_t byte = (uint64_t{h.chunk} << g.log_chunk) + h.offset;
  const unsigned slot = g.slot_base + static_cast<unsigned>((byte >> g.log_frag) % (uint64_t{1} << g.log_slots));
  latencies_ns_.push_back(static_cast<double>(ps - first_ps_[slot]) / 1000);
  last_result_ps_ = ps;
  if (options_.acks == Acks::kAuto) {
    rtl::arp_ack_t a;
    a.group = h.group;
    a.step = h.step;
    a.chunk = h.chunk;
    a.offset = h.offset;
    acks_.push_back({{h.group, h.step, h.chunk, h.offset}, 0, g.dtype, g.op, h.len});
    system_.engine().acknowledge(a);
  }
}

void Driver::acknowledged(bool good, uint64_t ps) {
  if (acks_.empty()) return differ(fmt::format("a verdict at {} ps on an acknowledge that nobody has sent", ps));
  const SentAck a = acks_.front();
  acks_.pop_front();
  last_ack_ = model_.acknowledge(a.ack);
  if ((last_ack_ == arp::Kind::kAccepted) != good) {
    differ(fmt::format("the acknowledge of group {} step {} chunk {} offset {} at {} ps is {}", a.ack.group, a.ack.step,
                       a.ack.chunk, a.ack.offset, ps, good ? "taken" : "refused"));
  }
  if (options_.frames) {
    arp::Header h;
    h.group = a.ack.group;
    h.step = a.ack.step;
    h.chunk = a.ack.chunk;
    h.offset = a.ack.offset;
    h.rank = a.rank;
    h.dtype = a.dtype;
    h.op = a.op;
    h.len = a.len;
    system_.observers().frame({0, 0, ps, ps, {}, frame_of(h, {}, false, true)});
  }
  moved_.notify(sc_core::SC_ZERO_TIME);
}

void Driver::differ(std::string what) {
  if (differences_.size() < kMostDifferences) differences_.push_back(std::move(what));
}

std::vector<uint8_t> Driver::frame_of(const arp::Header& hdr, const arp::Bytes& data, bool damaged, bool ack) {
  // Rank n is 10.1.0.n and sends to the engine at 10.0.0.1; its queue pair there has the number 0x100 + n.
  golden::FrameFields f;
  const uint8_t rank = hdr.rank;
  f.dmac = {2, 0, 0, 0, 0, 1};
  f.smac = {2, 0, 1, 0, 0, rank};
  f.sip = {10, 1, 0, rank};
  f.dip = {10, 0, 0, 1};
  f.udp_sport = static_cast<uint16_t>(0xc000 | rank);
  f.dest_qpn = 0x100u + rank;
  uint32_t& psn = psn_[std::min<unsigned>(rank, arp::kMaxRanks)];
  f.psn = psn;
  psn = (psn + 1) & 0xffffff;
  auto frame = ack ? arp::build_ack(f, hdr) : arp::build_fragment(f, hdr, data);
  if (damaged) frame.back() ^= 0x01;  // of the ICRC: none of these frames is padded
  return frame;
}

Driver::MemoryCheck Driver::check_memory(const PlacedGroup& group) {
  MemoryCheck c;
  c.compared = group.result_bytes();
  const uint64_t begin = group.context.dst - pcie::kGpuBase;
  const uint64_t from = begin - std::min(begin, kGuard), to = std::min(begin + c.compared + kGuard, pcie::kGpuSize);
  std::vector<uint8_t> got(4096), want(4096);
  for (uint64_t at = from; at < to; at += got.size()) {
    const uint64_t n = std::min<uint64_t>(got.size(), to - at);
    system_.hub().gpu_memory().read(at, got.data(), n);
    expected_.read(at, want.data(), n);
    if (std::equal(got.begin(), got.begin() + static_cast<std::ptrdiff_t>(n), want.begin())) continue;
    for (uint64_t i = 0; i < n; ++i) {
      if (got[i] == want[i]) continue;
      if (at + i < begin || at + i >= begin + c.compared) {
        ++c.guard_wrong;
      } else if (c.wrong++ == 0) {
        c.first_wrong = at + i - begin;
      }
    }
  }
  return c;
}

std::vector<Driver::CounterCheck> Driver::counters() {
  const arp::Counters& m = model_.counters();
  const std::pair<const char*, uint64_t> all[] = {
      {"frag", m.frag},
      {"beat", m.beat},
      {"first", m.first},
      {"full", m.full},
      {"written", m.written},
      {"acked", m.acked},
      {"parity", m.parity},
      {"duplicate", m.duplicate},
      {"late", m.late},
      {"no_slot", m.no_slot},
      {"bad_group", m.bad_group},
      {"bad_type", m.bad_type},
      {"bad_offset", m.bad_offset},
      {"bad_length", m.bad_length},
      {"bad_rank", m.bad_rank},
      {"damaged", m.damaged},
      {"bad_ack", m.bad_ack},
      {"bad_context", m.bad_context},
  };
  std::vector<CounterCheck> out;
  for (const auto& [name, value] : all) {
    out.push_back({name, system_.engine().bars().counter(std::string("arp_") + name), value});
  }
  out.push_back({"events, lost ones included", events_ + system_.engine().bars().counter("arp_evt_lost"),
                 model_.events().size()});
  return out;
}

}  // namespace rnic::collective
