// SPDX-License-Identifier: Apache-2.0
// How much of each resource a run uses: wire, PCIe links, credits, read tags, memories, ports of the RTL, the CPU that
// posts. From counters of the models and from what they report; the cost follows what happens, idle time is free.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "rnic/nic/nic.h"
#include "rnic/observe/observer.h"
#include "rnic/pcie/hub.h"
#include "rnic/profile/profile.h"

namespace rnic {

/// How many of something are there at a time: mean, most, and for how long how many.
class Occupancy {
 public:
  struct Totals {
    uint64_t held_ps = 0;               ///< level, summed over time
    uint64_t begun = 0;                 ///< how many came
    std::vector<uint64_t> at_level_ps;  ///< by level; the last one stands for it and all above
  };
  void up(uint64_t ps) { ++totals_.begun, move(ps, level_ + 1); }
  void down(uint64_t ps) {
    if (level_ != 0) move(ps, level_ - 1);
  }
  unsigned level() const { return level_; }
  /// Up to ps, not before the latest change.
  Totals totals(uint64_t ps) const;
  /// Time at or above a level.
  uint64_t at_least_ps(unsigned level, uint64_t ps) const;
  /// Without the list by level: cheap.
  uint64_t held_ps(uint64_t ps) const { return totals_.held_ps + level_ * (ps - std::min(ps, since_ps_)); }

 private:
  void move(uint64_t ps, unsigned level);
  static constexpr unsigned kLevels = 2048;
  Totals totals_;
  unsigned level_ = 0;
  uint64_t since_ps_ = 0;
};

/// Counters of the models of one node at one time.
struct ModelUsage {
  pcie::Hub::Usage hub;
  NicUsage nic;
  uint64_t cpu_ps = 0;  ///< that the posting thread has spent in the driver
};

/// One line of the table.
struct ResourceRow {
  std::string key;   ///< for JSON: "pcie_down"
  std::string name;  ///< "PCIe link, to the NIC"
  /// Share of what there is, 0..1; nothing where the model has no limit.
  std::optional<double> utilisation;
  double rate = 0;                   ///< per second of simulated time
  std::string rate_unit;             ///< "B/s", "1/s"
  std::optional<double> mean, most;  ///< at a time, for what is held
  std::optional<double> limit;       ///< most that can be held
  std::optional<double> at_limit;    ///< share of the time spent at the limit, or without one at the most seen
  std::string note;
};

/// Cycles and times in which something waited, of the window.
struct StallRow {
  std::string key, name;
  double share = 0;  ///< of the window
  uint64_t cycles = 0;
  std::string note;
};

/// What bounds a run.
struct Bottleneck {
  bool saturated = false;  ///< a resource is used up; else a latency, or nobody asks for more
  std::string key, text;   ///< text: "wire", or "none: latency bound by ..."
};

struct ResourceReport {
  uint64_t from_ps = 0, to_ps = 0;
  uint64_t frames = 0, messages = 0, payload_bytes = 0, wire_bytes = 0;  ///< wire: preamble, FCS and gap included
  double line_gbps = 0;
  double seconds() const { return static_cast<double>(to_ps - from_ps) * 1e-12; }
  double payload_gbps() const { return from_ps == to_ps ? 0 : static_cast<double>(payload_bytes) * 8e-9 / seconds(); }
  /// What these very frames carry when they follow one another without a gap.
  double frames_allow_gbps() const {
    return wire_bytes == 0 ? 0 : line_gbps * static_cast<double>(payload_bytes) / static_cast<double>(wire_bytes);
  }
  double messages_per_s() const { return from_ps == to_ps ? 0 : static_cast<double>(messages) / seconds(); }
  std::vector<ResourceRow> rows;
  std::vector<StallRow> stalls;
  Bottleneck bottleneck;
  const ResourceRow* row(const std::string& key) const;
};

/// Utilisation of some resources over time, in equal steps.
struct ResourceSeries {
  struct Line {
    std::string key, name;
    std::vector<double> share;  ///< 0..1 of each step
  };
  std::vector<double> ns;  ///< ends of the steps, from the start of the monitor; one more than there are shares
  std::vector<Line> lines;
};

class ResourceMonitor : public Observer {
 public:
  /// `read` gives the models' counters at a time that is not in the past.
  ResourceMonitor(const Profile& profile, std::function<ModelUsage(uint64_t ps)> read);

  /// Counting begins. The window whose utilisation is asked for lies between the ends of frame `first` and frame
  /// `last`, counted from here (0: from here on, and up to the latest frame).
  void start(uint64_t ps, uint64_t first_frame, uint64_t last_frame);
  /// The same with times.
  void start_times(uint64_t ps, uint64_t from_ps, uint64_t to_ps);

  void on_event(const Event& e) override;
  void on_frame(const FrameRecord& f) override;
  void on_tlp(const TlpRecord& t) override;

  /// How long all read tags have been taken, from the beginning on.
  uint64_t no_tag_ps(uint64_t ps) const { return tags_.at_least_ps(tags_limit_, ps); }

  ResourceReport report() const;
  ResourceSeries series() const;

 private:
  struct Sample {
    uint64_t ps = 0;
    ModelUsage models;
    uint64_t frames = 0, messages = 0, payload_bytes = 0, wire_bytes = 0, wqes = 0, cqes = 0, doorbells = 0;
    uint64_t contexts = 0, contexts_ps = 0;  ///< read from device memory; time in which one was
    uint64_t tags_held_ps = 0, reads_held_ps = 0;
  };
  struct Mark {
    Sample sample;
    Occupancy::Totals tags, reads;
  };
  struct Turn {  ///< of a QP: from the last read request of a message to the next message's WQE
    uint64_t read_ps = 0, turns = 0, waited_ps = 0, shortest_ps = ~uint64_t{0}, near_shortest = 0;
  };
  Sample sample(uint64_t ps) const;
  Mark mark(uint64_t ps) const;
  void tick(uint64_t ps);
  bool in_window() const { return begun_ && !ended_; }
  Bottleneck bottleneck(const ResourceReport& r) const;

  std::function<ModelUsage(uint64_t)> read_;
  const uint64_t period_ps_, line_gbps_;
  const unsigned tags_limit_;
  bool running_ = false, by_time_ = false, begun_ = false, ended_ = false;
  uint64_t from_ = 0, to_ = 0;  ///< frames or ps
  Sample now_;
  Occupancy tags_, reads_;
  Mark first_, last_;
  std::vector<Sample> samples_;
  uint64_t step_ps_ = 0, next_ps_ = 0;
  uint64_t latest_ps_ = 0;                            ///< of whatever happened
  uint64_t context_from_ps_ = 0, context_to_ps_ = 0;  ///< the latest read of a context: asked for, answered
  std::unordered_map<uint32_t, Turn> turns_;          ///< by QP
};

/// Payload bytes of a RoCEv2 frame over IPv4; 0 for anything else.
uint64_t roce_payload_bytes(const std::vector<uint8_t>& frame);

}  // namespace rnic
