// SPDX-License-Identifier: Apache-2.0
// One record a message with its instants, and from these: which messages were slowest, where, and why.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "rnic/observe/observer.h"
#include "rnic/profile/profile.h"

namespace rnic {

/// How long a message's way was barred so far, at some time. Differences tell it of a stretch.
struct Barred {
  uint64_t no_tag_ps = 0, no_credit_ps = 0, link_busy_ps = 0, mac_not_ready_ps = 0;
};

struct Message {
  uint32_t qpn = 0;
  uint16_t wqe = 0;
  uint32_t packets = 0;
  uint64_t pins_ps = 0;       ///< its doorbell at the NIC's pins; 0: not seen
  uint64_t turn_ps = 0;       ///< first in its queue from here on: the message before it has asked for its last payload
  uint64_t wqe_ps = 0;        ///< decoded
  uint64_t read_ps = 0;       ///< first payload read handed to dma_master; 0: no payload
  uint64_t requested_ps = 0;  ///< last read TLP at the pins
  uint64_t answered_ps = 0;   ///< last completion at the pins
  uint64_t buffered_ps = 0;   ///< last payload byte in the TX buffer
  uint64_t mac_ps = 0;        ///< last beat accepted by the MAC
  uint64_t first_bit_ps = 0, last_bit_ps = 0;
  uint64_t cqe_ps = 0;      ///< CQE visible; 0: unsignaled
  unsigned qpc_misses = 0;  ///< reads of its QP's context while it waited for its turn
  unsigned mpt_misses = 0;  ///< reads of a memory region's entry between its WQE and its first payload read
  unsigned reads_out = 0;   ///< payload reads in flight when it was decoded
  Barred at_turn, at_wqe, at_requested, at_buffered, at_mac;
  bool complete() const { return last_bit_ps != 0; }
};

/// The stages of a message, one after the other, from turn to last bit.
enum class MessageStage : uint8_t { kTurn, kRequest, kMemory, kPacketize, kWire };
constexpr std::array<MessageStage, 5> kMessageStages{MessageStage::kTurn, MessageStage::kRequest, MessageStage::kMemory,
                                                     MessageStage::kPacketize, MessageStage::kWire};
/// "turn and WQE fetch", ...
const char* to_string(MessageStage s);
uint64_t duration_ps(const Message& m, MessageStage s);
/// From the time at which the message was the first of its queue, and its doorbell there, to its last bit.
uint64_t service_ps(const Message& m);
/// Time that it waited behind earlier messages of its own queue.
uint64_t queued_ps(const Message& m);

/// Keeps the records. Needs events only; its cost follows the messages.
class MessageLog : public Observer {
 public:
  /// `barred` (may be empty) is asked at some of a message's instants, at a time that is not in the past.
  explicit MessageLog(std::function<Barred(uint64_t ps)> barred = {}, size_t limit = 4'000'000)
      : barred_(std::move(barred)), limit_(limit) {}
  /// Messages decoded from here on are kept.
  void start() { running_ = true; }
  void on_event(const Event& e) override;
  const std::vector<Message>& all() const { return all_; }
  uint64_t dropped() const { return dropped_; }

 private:
  struct Bell {
    uint16_t pi;
    uint64_t ps;
    Barred at;
  };
  struct Queue {
    std::deque<Bell> bells;
    std::deque<uint32_t> open;  ///< records whose CQE, or that of a later one, has not come
    uint64_t free_ps = 0;       ///< the latest message's last payload read, or its WQE
    Barred at_free;
    unsigned qpc_misses = 0;
  };
  Message* find(const rtl::op_t& op);
  Barred barred(uint64_t ps) const { return barred_ ? barred_(ps) : Barred{}; }

  std::function<Barred(uint64_t)> barred_;
  size_t limit_;
  bool running_ = false;
  std::vector<Message> all_;
  std::unordered_map<uint32_t, Queue> queues_;
  std::vector<uint64_t> mpt_misses_ps_;  ///< of late
  unsigned reads_out_ = 0;
  uint64_t dropped_ = 0;
};

struct SlowMessage {
  size_t index;       ///< in the list given
  std::string cause;  ///< in words
};
struct Slowest {
  size_t messages = 0;  ///< that came to their end
  size_t median = 0;    ///< index of the message whose service time is the median
  std::vector<SlowMessage> list;
};
/// The `count` messages of the longest service time; at equal times the earlier one first.
Slowest slowest(const std::vector<Message>& messages, size_t count = 10);

}  // namespace rnic
