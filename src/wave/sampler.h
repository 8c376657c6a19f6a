// SPDX-License-Identifier: Apache-2.0
// Samples the signals of a wave at the edges of its clocks, and steps the rules that something has changed for.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rules.h"

namespace rnic::wave::detail {

constexpr uint64_t kBefore = 5, kAfter = 3;  // samples shown round a failure

struct Instance;

/// Current value of a used signal, and the one that this time stamp brings.
struct Slot {
  uint32_t id = 0, width = 0, words = 0;
  std::string name;
  std::unique_ptr<uint64_t[]> now, next;  ///< v, then x
  bool pending = false;
  std::vector<Instance*> users;
  std::vector<std::pair<Instance*, std::string>> watchers;
  std::vector<size_t> domains;  ///< whose clock it is

  Bits bits() const { return {now.get(), now.get() + words, width}; }
};

/// Something beside the wave that may have news for the instances of a domain, asked at each edge.
class Feed {
 public:
  virtual ~Feed() = default;
  /// Everything up to the cycle of this edge; wakes whom it concerns.
  virtual void advance(const Tick& t) = 0;
};

struct Domain {
  uint32_t clock = 0;
  bool rising = true, falling = false;
  std::optional<uint32_t> cycle;
  uint64_t edges = 0;
  uint64_t last_time = 0;
  int64_t label = 0;
  std::vector<Instance*> queue, work;
  std::vector<Instance*> recording;
  std::vector<Feed*> feeds;
};

/// A rule, bound.
struct Instance {
  size_t domain = 0;
  std::unique_ptr<Expr> reset;
  Settings settings;
  std::unique_ptr<Rule> rule;
  std::vector<Expr*> all;
  std::vector<uint32_t> slots;  ///< in the order of the rule's text
  unsigned settle = 0, linger = 0;
  bool queued = false, changed = true, in_reset = true, vacuous_ok = false, no_x = false;
  bool sampled = false;  ///< outside of reset, inside of its window
  const char* trigger = "";
  size_t group = ~size_t{0};  ///< instances with the same one are one verdict; none: its own
  uint64_t from = 0, to = ~uint64_t{0};
  uint64_t target = 0;  ///< sample to record round
};

class Sampler {
 public:
  explicit Sampler(Reader& wave);
  Sampler(const Sampler&) = delete;

  // ---- Binding
  Reader& wave() const { return wave_; }
  /// By its full name; nullptr when there is none.
  const Signal* signal(const std::string& name) const;
  uint32_t slot(const Signal& s);
  Slot& slot(uint32_t n) const { return *slots_[n]; }
  std::vector<std::string> names() const;
  /// The domain of this clock, a new one where there is none yet.
  size_t domain(uint32_t clock, bool rising, bool falling, std::optional<uint32_t> cycle);
  Domain& domain(size_t n) { return domains_[n]; }
  /// `used`: the slots of all its expressions, in the order of the text. Its domain must be set.
  Instance& add(std::unique_ptr<Instance> i, const std::vector<uint32_t>& used);
  std::vector<std::unique_ptr<Instance>>& instances() { return instances_; }

  // ---- Running
  uint64_t run();
  void wake(Instance& i);
  /// Fills Around of these instances (whose target is set), as a pass up to `to` of a sampler that has not run.
  void record(const std::vector<size_t>& which, uint64_t to);

  // ---- Afterwards
  bool two_state() const { return !seen_unknown_; }
  uint64_t average_period() const;
  Tick end_of(const Instance& i) const;

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};

  uint64_t pass(uint64_t to);
  void change(uint32_t id, uint64_t time, const char* bits, uint32_t width);
  void flush();
  void edge(Domain& d);
  void show(Instance& i, const Tick& t);

  Reader& wave_;
  std::unordered_map<std::string, uint32_t> index_;
  std::vector<uint32_t> slot_of_id_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<Domain> domains_;
  std::vector<std::unique_ptr<Instance>> instances_;
  std::vector<uint32_t> dirty_, ids_;
  uint64_t time_ = 0, end_ = 0;
  bool seen_unknown_ = false, recording_ = false;
};

/// Values of a change, one character a bit, as v and x words.
void pack(const char* bits, uint32_t width, uint64_t* v, uint64_t* x);

}  // namespace rnic::wave::detail
