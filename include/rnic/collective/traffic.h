// SPDX-License-Identifier: Apache-2.0
// Streams of fragments for the AllReduce engine: whole vectors of groups in several orders, with faults put in, or the
// frames of a capture.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "rnic/collective/data.h"
#include "rnic/collective/driver.h"
#include "rnic/observe/capture.h"

namespace rnic::collective {

/// In which order the contributions to the slots of a group follow one another; what is in flight is never more than
/// the slots hold.
enum class Order {
  kRank,    ///< all fragments of one rank, then of the next: neighbours go to distinct accumulators
  kBurst,   ///< all ranks of one fragment, then of the next: neighbours go to the same accumulators
  kRandom,  ///< shuffled
};

/// Chance of each, for each fragment, from 0 to 1. All are deterministic for a seed, and none keeps the results from
/// being right, but `flip`: its slot's result is lost.
struct Faults {
  double duplicate = 0;  ///< the fragment again
  double late = 0;       ///< the same of the step before
  double early = 0;      ///< the same of the step to come
  double corrupt = 0;    ///< the fragment with a wrong ICRC before it
  double hostile = 0;    ///< a header or length that breaks a rule before it
  double flip = 0;       ///< of each slot's use: a flipped bit of its accumulators
  bool any() const { return duplicate + late + early + corrupt + hostile + flip > 0; }
};

struct TrafficOptions {
  Order order = Order::kRank;
  unsigned steps = 1;
  unsigned gap = 0;  ///< cycles between fragments
  Faults faults;
  uint64_t seed = 1;
};

/// Sends whole vectors of all the driver's groups, of several side by side. In a thread of the simulation.
void send_vectors(Driver& driver, const std::map<unsigned, const Contributions*>& data, const TrafficOptions& options);

/// What a capture held.
struct Replayed {
  uint64_t fragments = 0, acknowledges = 0;
  uint64_t other = 0;                        ///< no AllReduce frames
  uint64_t damaged = 0;                      ///< of the fragments
  uint64_t dropped_acks = 0;                 ///< damaged acknowledges: nobody may act on them
  std::map<std::string, uint64_t> problems;  ///< of damaged frames
};
/// Whether any good acknowledge is among the frames.
bool has_acknowledges(const Capture& capture);
/// Sends the frames in their order.
Replayed send_capture(Driver& driver, const Capture& capture, unsigned gap);

}  // namespace rnic::collective
