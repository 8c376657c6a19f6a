// SPDX-License-Identifier: Apache-2.0
#include "rnic/observe/messages.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace rnic {
namespace {

using namespace rtl::rnic_pkg;

bool before(uint16_t a, uint16_t b) { return static_cast<int16_t>(static_cast<uint16_t>(a - b)) < 0; }

std::string ns_text(uint64_t ps) { return fmt::format("{:.1f} ns", static_cast<double>(ps) / 1000); }

/// "QP 3", "QPs 3, 5, 7 and 4 more".
std::string qps_text(const std::map<uint32_t, unsigned>& counts) {
  std::vector<std::pair<unsigned, uint32_t>> order;
  for (const auto& [qpn, n] : counts) order.emplace_back(n, qpn);
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  constexpr size_t kNamed = 3;
  std::string s = order.size() == 1 ? "QP" : "QPs";
  for (size_t i = 0; i < std::min(kNamed, order.size()); ++i)
    s += fmt::format("{} {}", i == 0 ? "" : ",", order[i].second);
  if (order.size() > kNamed) s += fmt::format(" and {} more", order.size() - kNamed);
  return s;
}

/// Which messages of others lay on a message's way.
class Traffic {
 public:
  explicit Traffic(const std::vector<Message>& all) : all_(all) {
    by_wqe_ = sorted([](const Message& m) { return m.wqe_ps; });
    by_mac_ = sorted([](const Message& m) { return m.mac_ps; });
  }

  /// Turns that other QPs had in (from, to).
  std::map<uint32_t, unsigned> turns(uint64_t from, uint64_t to, uint32_t qpn) const {
    std::map<uint32_t, unsigned> out;
    auto it = std::upper_bound(by_wqe_.begin(), by_wqe_.end(), from,
                               [&](uint64_t ps, uint32_t i) { return ps < all_[i].wqe_ps; });
    for (; it != by_wqe_.end() && all_[*it].wqe_ps < to; ++it) {
      if (all_[*it].qpn != qpn) ++out[all_[*it].qpn];
    }
    return out;
  }

  /// Messages whose last frame was at the MAC before this one's and not yet sent.
  std::map<uint32_t, unsigned> in_mac(const Message& m) const {
    std::map<uint32_t, unsigned> out;
    auto it = std::lower_bound(by_mac_.begin(), by_mac_.end(), m.mac_ps,
                               [&](uint32_t i, uint64_t ps) { return all_[i].mac_ps < ps; });
    while (it != by_mac_.begin()) {
      const Message& x = all_[*--it];
      if (x.last_bit_ps <= m.mac_ps) break;
      ++out[x.qpn];
    }
    return out;
  }

 private:
  template <class Key>
  std::vector<uint32_t> sorted(Key key) const {
    std::vector<uint32_t> order(all_.size());
    std::iota(order.begin(), order.end(), 0);
    order.erase(std::remove_if(order.begin(), order.end(), [&](uint32_t i) { return !all_[i].complete(); }),
                order.end());
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return key(all_[a]) < key(all_[b]); });
    return order;
  }

  const std::vector<Message>& all_;
  std::vector<uint32_t> by_wqe_, by_mac_;
};

unsigned sum(const std::map<uint32_t, unsigned>& counts) {
  unsigned n = 0;
  for (const auto& [qpn, k] : counts) n += k;
  return n;
}

/// Why a stage of a message took longer than the same one of the median message.
std::string reason(const Message& m, const Message& median, MessageStage stage, uint64_t excess,
                   const Traffic& traffic) {
  // A part of the excess that explains most of it; otherwise the stage is named and nothing is made up.
  const auto explains = [&](uint64_t ps) { return ps * 2 >= excess; };
  switch (stage) {
    case MessageStage::kTurn: {
      if (m.qpc_misses > median.qpc_misses)
        return fmt::format("context miss: QP {}'s context read from device memory", m.qpn);
      const auto turns = traffic.turns(m.turn_ps, m.wqe_ps, m.qpn);
      const auto usual = sum(traffic.turns(median.turn_ps, median.wqe_ps, median.qpn));
      if (sum(turns) > usual) {
        return fmt::format("queued behind {} turn{} of {} (the median message: {})", sum(turns),
                           sum(turns) == 1 ? "" : "s", qps_text(turns), usual);
      }
      const uint64_t no_credit = m.at_wqe.no_credit_ps - m.at_turn.no_credit_ps;
      const uint64_t no_tag = m.at_wqe.no_tag_ps - m.at_turn.no_tag_ps;
      if (no_credit > median.at_wqe.no_credit_ps - median.at_turn.no_credit_ps && explains(no_credit))
        return fmt::format("turns held up by reads without non-posted credits: none left for {}", ns_text(no_credit));
      if (no_tag > median.at_wqe.no_tag_ps - median.at_turn.no_tag_ps && explains(no_tag))
        return fmt::format("turns held up by reads without a tag: none left for {}", ns_text(no_tag));
      return "waited for its turn or its WQE";
    }
    case MessageStage::kRequest: {
      const uint64_t no_tag = m.at_requested.no_tag_ps - m.at_wqe.no_tag_ps;
      const uint64_t no_credit = m.at_requested.no_credit_ps - m.at_wqe.no_credit_ps;
      const uint64_t link = m.at_requested.link_busy_ps - m.at_wqe.link_busy_ps;
      if (m.mpt_misses > median.mpt_misses) return "context miss: a memory region's entry read from device memory";
      if (explains(no_credit))
        return fmt::format("waited for non-posted credits: none left for {}", ns_text(no_credit));
      if (explains(no_tag)) return fmt::format("waited for a read tag: none left for {}", ns_text(no_tag));
      if (explains(link)) return fmt::format("PCIe link from the NIC busy for {}", ns_text(link));
      const uint64_t first = m.read_ps - m.wqe_ps, usual = median.read_ps - std::min(median.read_ps, median.wqe_ps);
      if (m.read_ps != 0 && first > usual && explains(first - usual)) {
        return fmt::format("waited for room among the payload reads and packets in flight ({} reads were out)",
                           m.reads_out);
      }
      return "its reads left late: reads before it";
    }
    case MessageStage::kMemory:
      return m.packets > median.packets ? "more packets to read than the median message"
                                        : "memory, or completions queued on the PCIe link to the NIC";
    case MessageStage::kPacketize: {
      const uint64_t mac = m.at_mac.mac_not_ready_ps - m.at_buffered.mac_not_ready_ps;
      if (explains(mac)) return fmt::format("waited for the MAC: its buffer was full for {}", ns_text(mac));
      return "packets before it in the packetizer";
    }
    case MessageStage::kWire: {
      const auto ahead = traffic.in_mac(m);
      if (!ahead.empty()) {
        return fmt::format("queued behind {} message{} of {} in the MAC: the wire was busy", sum(ahead),
                           sum(ahead) == 1 ? "" : "s", qps_text(ahead));
      }
      return "its own frames on the wire";
    }
  }
  return "";
}

}  // namespace

const char* to_string(MessageStage s) {
  switch (s) {
    case MessageStage::kTurn:
      return "turn and WQE fetch";
    case MessageStage::kRequest:
      return "reads leave";
    case MessageStage::kMemory:
      return "memory and PCIe";
    case MessageStage::kPacketize:
      return "packetize";
    case MessageStage::kWire:
      return "MAC and wire";
  }
  return "";
}

uint64_t duration_ps(const Message& m, MessageStage s) {
  const uint64_t read = m.requested_ps != 0 ? m.requested_ps : m.wqe_ps;
  const uint64_t buffered = m.buffered_ps != 0 ? m.buffered_ps : read;
  const auto from_to = [](uint64_t a, uint64_t b) { return b > a ? b - a : 0; };
  switch (s) {
    case MessageStage::kTurn:
      return from_to(m.turn_ps, m.wqe_ps);
    case MessageStage::kRequest:
      return from_to(m.wqe_ps, read);
    case MessageStage::kMemory:
      return from_to(read, buffered);
    case MessageStage::kPacketize:
      return from_to(buffered, m.mac_ps);
    case MessageStage::kWire:
      return from_to(m.mac_ps, m.last_bit_ps);
  }
  return 0;
}

uint64_t service_ps(const Message& m) { return m.last_bit_ps - std::min(m.last_bit_ps, m.turn_ps); }
uint64_t queued_ps(const Message& m) { return m.pins_ps == 0 ? 0 : m.turn_ps - std::min(m.turn_ps, m.pins_ps); }

// ---- Log ------------------------------------------------------------------------------------------------------------

Message* MessageLog::find(const rtl::op_t& op) {
  const auto q = queues_.find(op.qpn);
  if (q == queues_.end() || q->second.open.empty()) return nullptr;
  const auto& open = q->second.open;
  // A WQE takes one block or more, so it stands no further back than its distance in blocks from the first one.
  const auto distance = static_cast<uint16_t>(op.wqe - all_[open.front()].wqe);
  if (distance >= 0x8000) return nullptr;
  for (size_t i = std::min<size_t>(distance, open.size() - 1);; --i) {
    Message& m = all_[open[i]];
    if (m.wqe == static_cast<uint16_t>(op.wqe)) return &m;
    if (i == 0 || before(m.wqe, static_cast<uint16_t>(op.wqe))) return nullptr;
  }
}

void MessageLog::on_event(const Event& e) {
  const auto qpn = static_cast<uint32_t>(e.op.qpn);
  switch (e.kind) {
    case EventKind::kDbPins:
      queues_[qpn].bells.push_back({static_cast<uint16_t>(e.op.wqe), e.ps, barred(e.ps)});
      return;
    case EventKind::kDmReq:
      if (e.dm_addr < CqcBase) {
        ++queues_[e.dm_addr / 128].qpc_misses;
      } else if (e.dm_addr >= MptBase && e.dm_addr < DmFreeBase) {
        mpt_misses_ps_.push_back(e.ps);
      }
      return;
    case EventKind::kWqe: {
      Queue& q = queues_[qpn];
      const auto wqe = static_cast<uint16_t>(e.op.wqe);
      // The doorbell that let it be sent: the first whose index lies beyond it.
      while (!q.bells.empty() && !before(wqe, q.bells.front().pi)) q.bells.pop_front();
      const uint64_t pins = q.bells.empty() ? 0 : q.bells.front().ps;
      const uint64_t turn = q.free_ps != 0 ? std::max(pins, q.free_ps) : pins != 0 ? pins : e.ps;
      const Barred now = barred(e.ps);
      const Barred at_turn = turn == e.ps ? now : turn == q.free_ps ? q.at_free : q.bells.front().at;
      q.at_free = now;
      const unsigned misses = std::exchange(q.qpc_misses, 0);
      q.free_ps = e.ps;
      if (!running_) return;
      if (all_.size() >= limit_) {
        ++dropped_;
        return;
      }
      Message m;
      m.qpn = qpn;
      m.wqe = wqe;
      m.pins_ps = pins;
      m.turn_ps = std::min(turn, e.ps);
      m.wqe_ps = e.ps;
      m.qpc_misses = misses;
      m.reads_out = reads_out_;
      m.at_turn = at_turn;
      m.at_wqe = m.at_requested = m.at_buffered = m.at_mac = now;
      q.open.push_back(static_cast<uint32_t>(all_.size()));
      all_.push_back(m);
      return;
    }
    case EventKind::kRdIssue:
      ++reads_out_;
      queues_[qpn].free_ps = e.ps;
      queues_[qpn].at_free = barred(e.ps);
      break;
    case EventKind::kRdDone:
      if (reads_out_ != 0) --reads_out_;
      break;
    default:
      break;
  }
  if (!running_) return;
  Message* m = find(e.op);
  // A complete one that still stands here is an old one with the same counter.
  if (m == nullptr || (m->complete() && e.kind != EventKind::kCqeVisible)) return;
  switch (e.kind) {
    case EventKind::kRdIssue:
      if (m->read_ps == 0) {
        m->read_ps = e.ps;
        // Of those since the WQE: whose they were is not said, with one region they are its own.
        for (const uint64_t ps : mpt_misses_ps_) m->mpt_misses += ps >= m->wqe_ps && ps <= e.ps;
        while (mpt_misses_ps_.size() > 256) mpt_misses_ps_.erase(mpt_misses_ps_.begin(), mpt_misses_ps_.end() - 128);
      }
      break;
    case EventKind::kRdPins:
      m->requested_ps = e.ps;
      m->at_requested = barred(e.ps);
      break;
    case EventKind::kCplPins:
      m->answered_ps = e.ps;
      break;
    case EventKind::kRdDone:
      m->buffered_ps = e.ps;
      m->at_buffered = barred(e.ps);
      break;
    case EventKind::kMac:
      ++m->packets;
      m->mac_ps = e.ps;
      if (e.op.last) m->at_mac = barred(e.ps);
      break;
    case EventKind::kWireFirst:
      if (m->first_bit_ps == 0) m->first_bit_ps = e.ps;
      break;
    case EventKind::kWireLast:
      if (e.op.last) m->last_bit_ps = e.ps;
      break;
    case EventKind::kCqeVisible: {
      m->cqe_ps = e.ps;
      // Those before it are done, too; they and their frames may still be on the way to the wire.
      auto& open = queues_[qpn].open;
      while (!open.empty() && all_[open.front()].complete() &&
             !before(static_cast<uint16_t>(e.op.wqe), all_[open.front()].wqe)) {
        open.pop_front();
      }
      break;
    }
    default:
      break;
  }
}

Slowest slowest(const std::vector<Message>& messages, size_t count) {
  Slowest s;
  std::vector<size_t> order;
  for (size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].complete()) order.push_back(i);
  }
  s.messages = order.size();
  if (order.empty()) return s;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return service_ps(messages[a]) > service_ps(messages[b]); });
  s.median = order[order.size() / 2];
  const Message& median = messages[s.median];
  const Traffic traffic(messages);
  for (size_t i = 0; i < std::min(count, order.size()); ++i) {
    const Message& m = messages[order[i]];
    MessageStage worst = MessageStage::kTurn;
    uint64_t excess = 0;
    for (const MessageStage stage : kMessageStages) {
      const uint64_t own = duration_ps(m, stage), usual = duration_ps(median, stage);
      if (own > usual && own - usual > excess) excess = own - usual, worst = stage;
    }
    std::string cause = "within 2 % of the median message";
    if ((service_ps(m) - service_ps(median)) * 50 > service_ps(median)) {
      cause = fmt::format("{} +{}: {}", to_string(worst), ns_text(excess), reason(m, median, worst, excess, traffic));
    }
    s.list.push_back({order[i], std::move(cause)});
  }
  return s;
}

}  // namespace rnic
