// SPDX-License-Identifier: Apache-2.0
// Samples the signals of a wave at the edges of its clocks, and steps the rules that something has changed for.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rnic/wave/reader.h"
#include "rules.h"

namespace rnic::wave::detail {

constexpr uint64_t kBefore = 5, kAfter = 3;  // samples shown round a failure

struct Instance;

/// A used signal.
struct Slot {
  uint32_t id = 0, width = 0, words = 0;
  std::string name;
  std::vector<uint64_t> now;                ///< v, then x
  const Stretch::Column* column = nullptr;  ///< of the stretch at hand; none: it is not read
};

/// A signal as an instance sees it, at the sample at hand.
struct Input {
  uint32_t slot = 0, words = 0;
  std::unique_ptr<uint64_t[]> now;  ///< v, then x
  std::vector<std::string> watch;   ///< keys whose events its changes are
  bool of_reset = false;

  Bits bits(uint32_t width) const { return {now.get(), now.get() + words, width}; }
};

/// Something beside the wave that may have news for the instances of a domain.
class Feed {
 public:
  virtual ~Feed() = default;
  /// The edges of a stretch, one after the other, ahead of all steps at them. Wakes whom it has news for.
  virtual void advance(const Tick& t) = 0;
  /// All rules have made their steps at these edges.
  virtual void done() {}
};

/// Instances that are sampled at the same edges, and the edges of the stretch at hand.
struct Domain {
  uint32_t clock = 0;
  bool rising = true, falling = false;
  std::optional<uint32_t> cycle;
  uint64_t edges = 0;  ///< so far
  Tick last;           ///< before this stretch
  std::vector<Tick> ticks;
  std::vector<uint64_t> steps;    ///< of the stretch, of each edge
  std::vector<uint32_t> seen_by;  ///< the first edge that samples what a step of the stretch changes
  std::vector<Feed*> feeds;
};

/// A rule, bound.
struct Instance {
  size_t domain = 0;
  std::unique_ptr<Expr> reset;
  Settings settings;
  std::unique_ptr<Rule> rule;
  std::vector<Expr*> all, computed;  ///< computed: more than a name or a number
  std::vector<Input> inputs;         ///< in the order of the rule's text
  unsigned settle = 0, linger = 0;
  /// queued: to be evaluated at the next edge. changed: a signal has, since the last evaluation.
  bool queued = true, changed = true, watches = false, leaps = false, in_reset = true, vacuous_ok = false, no_x = false;
  bool sampled = false;  ///< outside of reset, inside of its window
  const char* trigger = "";
  size_t group = ~size_t{0};  ///< instances with the same one are one verdict; none: its own
  uint64_t from = 0, to = ~uint64_t{0};
  std::vector<uint64_t> news;  ///< samples for which a feed has woken it
  uint64_t target = 0;         ///< sample to record round

  /// Where it keeps the value of a signal.
  Bits input(uint32_t slot, uint32_t width);
  /// The changes of this input are events.
  void watch(uint32_t slot, const std::string& key);
  /// The first sample that has a say in what is shown round the target.
  uint64_t first_shown() const { return target - std::min<uint64_t>(target, kBefore + settle + 1); }
};

/// The state of a sampler where its wave can be taken up again.
struct Checkpoint {
  Mark mark;
  std::vector<uint64_t> edges;   ///< of each domain
  std::vector<uint64_t> values;  ///< of each slot in turn; none: all unknown
};

class Sampler : private StretchVisitor {
 public:
  explicit Sampler(Reader& wave);
  Sampler(const Sampler&) = delete;

  // ---- Binding
  Reader& wave() const { return wave_; }
  /// By its full name; nullptr when there is none.
  const Signal* signal(const std::string& name) const;
  uint32_t slot(const Signal& s);
  const Slot& slot(uint32_t n) const { return slots_[n]; }
  std::vector<std::string> names() const;
  /// The domain of this clock, a new one where there is none yet.
  size_t domain(uint32_t clock, bool rising, bool falling, std::optional<uint32_t> cycle);
  Domain& domain(size_t n) { return domains_[n]; }
  /// Its domain must be set.
  void add(std::unique_ptr<Instance> i);
  std::vector<std::unique_ptr<Instance>>& instances() { return instances_; }

  // ---- Running
  uint64_t run();
  /// Places of the run, a bounded number, the first of them the beginning.
  std::vector<Checkpoint> checkpoints() { return std::move(checkpoints_); }
  /// Fills Around of these instances, whose target is set. To be called on a sampler that has not run.
  void record(const std::vector<size_t>& which, const std::vector<Checkpoint>& from);

  // ---- Afterwards
  bool two_state() const { return !seen_unknown_; }
  Tick end_of(const Instance& i) const;

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};
  /// Where an input stands in its column.
  struct Coming {
    const uint64_t* at;
    uint64_t* now;
    Input* input;
    const uint64_t* landed = nullptr;  ///< where it is to stand after a leap
  };
  class Run;

  uint64_t read(std::vector<uint32_t> slots, const Mark& from);
  bool on_stretch(const Stretch& stretch, const Mark& next) override;
  void find_edges(Domain& d, const Stretch& stretch);
  void evaluate(Instance& i, const Stretch& stretch);
  void coming(Instance& i);
  static bool take(Coming& c);
  void take(Instance& i, uint64_t before);
  void take_events(Instance& i, uint64_t before, const Stretch& stretch);
  static void sample(Instance& i, const Tick& t);
  bool leap(Instance& i, size_t first);
  bool record(Instance& i);
  void show(Instance& i, const Tick& t);
  void keep(const Mark& mark);

  Reader& wave_;
  std::unordered_map<std::string, uint32_t> index_;
  std::vector<uint32_t> slot_of_id_;
  std::vector<Slot> slots_;
  std::vector<Domain> domains_;
  std::vector<std::unique_ptr<Instance>> instances_;
  std::vector<uint32_t> read_;  ///< slots, in the order of the stretch's columns
  std::vector<Coming> coming_;  ///< of the instance at hand
  std::vector<Instance*> recording_;
  std::vector<Checkpoint> checkpoints_;
  uint64_t stretches_ = 0, distance_ = 1;  ///< of checkpoints, in stretches
  uint64_t end_ = 0;
  bool seen_unknown_ = false;
};

}  // namespace rnic::wave::detail
