// SPDX-License-Identifier: Apache-2.0
// Drives the AllReduce engine the way its users would: defines groups, sends fragments, acknowledges results. Beside it
// runs the reference model, fed with the same items in the same order: what becomes of each fragment, every counter and
// every byte of memory is compared.
//
// The model knows no time, so items whose fate depends on it are held back: a fragment whose slot waits for its result
// to be written or acknowledged goes when that has come (with Acks::kAuto), and an acknowledge goes when the engine is
// idle (Acks::kGiven). A fragment of an open slot never has to wait.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <systemc>
#include <vector>

#include "rnic/collective/group.h"
#include "rnic/collective/system.h"
#include "rnic/golden/allreduce.h"

namespace rnic::collective {

enum class Acks {
  kAuto,   ///< each result when it is written
  kGiven,  ///< by acknowledge() only
};

struct DriverOptions {
  Acks acks = Acks::kAuto;
  bool frames = false;      ///< tell the observers each fragment and acknowledge as a RoCEv2 frame
  uint64_t background = 1;  ///< seed of what GPU memory holds where nothing was written
};

class Driver {
 public:
  Driver(ArpSystem& system, const DriverOptions& options);

  /// Before the simulation, or in one of its threads. Throws GroupFault.
  const PlacedGroup& define(const GroupSpec& spec);
  /// In a thread: waits until nothing is in flight.
  void remove(unsigned group);
  const GroupTable& table() const { return table_; }

  // ---- In a thread of the simulation ----
  /// Waits for room at the pins, and for the slot as said above. `hdr.len` and `data` may disagree.
  golden::arp::Kind send(const golden::arp::Header& hdr, golden::arp::Bytes data, bool damaged = false,
                         unsigned gap = 0);
  golden::arp::Kind acknowledge(const golden::arp::Ack& ack);
  /// Flips a bit of an accumulator row at its next write; waits until nothing is in flight before.
  void inject(unsigned row, unsigned bit);
  /// Waits until everything sent has become what it becomes. Slots may still be open.
  void settle();

  // ---- Afterwards ----
  const golden::arp::AllReduce& model() const { return model_; }
  /// Results written, from the first beat of a slot's first fragment to the edge that says so.
  const std::vector<double>& latencies_ns() const { return latencies_ns_; }
  uint64_t last_result_ps() const { return last_result_ps_; }
  uint64_t payload_bytes() const { return payload_bytes_; }  ///< of accepted fragments
  /// Bytes in a group's result and around it that are not what the model says; guard bytes count apart.
  struct MemoryCheck {
    uint64_t compared = 0, wrong = 0, guard_wrong = 0;
    uint64_t first_wrong = 0;  ///< offset in the result
  };
  MemoryCheck check_memory(const PlacedGroup& group);
  /// Every counter of BAR2 that the model has, by name: engine's and model's value.
  struct CounterCheck {
    std::string name;
    uint64_t engine, model;
  };
  std::vector<CounterCheck> counters();
  /// What went otherwise than in the model while it ran; empty: nothing.
  const std::vector<std::string>& differences() const { return differences_; }

 private:
  struct Sent {
    golden::arp::Kind kind;
    unsigned slot;
    bool first;
    std::vector<uint8_t> frame;
  };

  void on_taken(uint64_t first_ps, uint64_t last_ps);
  void on_stat(const rtl::arp_stat_t& stat, uint64_t ps);
  void result(bool written, uint64_t ps);
  void acknowledged(bool good, uint64_t ps);
  void wait_idle();
  void differ(std::string what);
  std::vector<uint8_t> frame_of(const golden::arp::Header& hdr, const golden::arp::Bytes& data, bool damaged, bool ack);

  ArpSystem& system_;
  const DriverOptions options_;
  GroupTable table_;
  std::map<unsigned, uint64_t> pins_;  ///< of the groups' results
  golden::arp::AllReduce model_;
  Memory expected_;
  std::deque<Sent> sent_;  ///< given to the engine, not yet taken
  struct SentAck {
    golden::arp::Ack ack;
    uint8_t rank;
    uint8_t dtype, op;
    uint16_t len;
  };
  std::deque<SentAck> acks_;  ///< given to the engine, no verdict yet
  golden::arp::Kind last_ack_ = golden::arp::Kind::kAccepted;
  uint64_t events_ = 0;
  std::vector<uint64_t> first_ps_;
  std::vector<double> latencies_ns_;
  std::vector<std::string> differences_;
  std::vector<uint32_t> psn_;
  uint64_t last_result_ps_ = 0, payload_bytes_ = 0;
  sc_core::sc_event moved_;
};

}  // namespace rnic::collective
