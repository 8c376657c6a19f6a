// SPDX-License-Identifier: Apache-2.0
// A memory behind PCIe: takes writes, answers reads. How it cuts its completions, lets them take turns, delays and
// reorders them is a matter of configuration; what is random is seeded. A read can be answered wrongly on purpose.
//
// Completions of one read always come in address order. Rules on lengths, byte counts and cuts: PCI Express Base
// Specification 4.0, 2.3.1.1.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "rnic/core/delay_queue.h"
#include "rnic/core/serializer.h"
#include "rnic/mem/memory.h"
#include "rnic/mem/pinned_pages.h"
#include "rnic/mem/timing.h"
#include "rnic/pcie/tlp.h"
#include "rnic/profile/profile.h"

namespace rnic::pcie {

/// Bytes [first, end) of a request's DWs between its first and last enabled byte. Empty when none is enabled.
struct Span {
  unsigned first, end;
};
Span enabled(const Tlp& t);
/// Bytes that a read asks for, 1..4096; a zero-length read counts one.
unsigned byte_count(const Tlp& read);

enum class ReadFault : uint8_t {
  kNone,
  kUr,         ///< instead of the piece, and of all after it, a completion of status UR
  kCa,         ///< the same with CA
  kPoisoned,   ///< the piece has EP set
  kDropped,    ///< the piece and all after it never come
  kByteCount,  ///< the piece says `value` bytes are to come (modulo 4096)
  kWrongTag,   ///< the piece carries tag `value`
  kStray,      ///< before the piece comes a copy of it with tag `value`
  kDuplicate,  ///< the piece comes once more, `delay` after the last one
  kTooLong,    ///< the piece has `value` bytes more than were asked for (whole DWs, at most one page in all)
  kLate,       ///< the piece and all after it come `delay` later
};

/// How one read is answered.
struct FaultPlan {
  static constexpr unsigned kLast = ~0u;
  ReadFault kind = ReadFault::kNone;
  unsigned piece = 0;  ///< completion of the read, counting from 0; beyond the last, or kLast: the last
  unsigned value = 0;
  Time delay{};
};

enum class Spread : uint8_t { kFixed, kUniform, kExponential };

struct CompleterConfig {
  uint16_t id = 0;    ///< completer ID
  uint64_t base = 0;  ///< bus address of the memory's first byte
  unsigned mps = 256, rcb = 64;
  bool cut_at_rcb = false;  ///< every completion ends at the next RCB boundary; else the largest pieces up to mps
  unsigned interleave = 1;  ///< reads whose completions take turns
  Time delay{};             ///< a completion follows the one before it of its read by up to this more
  bool reorder = false;     ///< reads are answered as they are ready; else in order of arrival
  Spread spread = Spread::kFixed;  ///< of the read latency: nothing, or [0, width], or exponential of mean width
  Time width{};
  uint64_t seed = 1;
  bool reads = true;                    ///< false: reads are answered with UR
  const PinnedPages* pinned = nullptr;  ///< pages that it serves to others than `id`; nullptr: all
  bool exact_writes = false;            ///< writes become visible at their kernel time, as users' callbacks need it
  Serializer line{1, 1};                ///< of the link behind which it stands: paces completions that take turns
};

/// Keys completer.*, pcie.* and gpu.bar_reads; id, base, exact_writes and the seed's share are left to the caller.
CompleterConfig completer_config(const Profile& p, bool gpu);

class Completer {
 public:
  struct Counters {
    uint64_t unsupported_read = 0;   ///< beyond the memory, or reads refused: answered with UR
    uint64_t unsupported_write = 0;  ///< beyond the memory: dropped
    uint64_t unpinned_read = 0;      ///< in the memory, of pages that are not pinned: answered with UR
    uint64_t unpinned_write = 0;     ///< the same: dropped
    uint64_t faults = 0;             ///< reads answered wrongly on purpose
  };

  /// `name` for messages; contents and times of the memory. `queue` takes what happens later.
  Completer(std::string name, const CompleterConfig& config, Memory& memory, MemoryTiming& timing, DelayQueue& queue);

  void on_completion(std::function<void(Tlp)> fn) { respond_ = std::move(fn); }
  /// A write has become visible: bus address of the first byte enabled, length up to the last one, and what it served.
  void on_write(std::function<void(uint64_t addr, unsigned len, const rtl::op_t& op)> fn) { on_write_ = std::move(fn); }
  /// The data of a read inside the memory have been taken: at that instant, before its completions leave.
  void on_sample(std::function<void(const Tlp& read)> fn) { on_sample_ = std::move(fn); }
  /// Asked for every read that arrives.
  void on_fault(std::function<FaultPlan(const Tlp& read)> fn) { fault_ = std::move(fn); }

  /// When the memory takes a request out of its receive buffer, and when it is done with it.
  struct Access {
    Time taken, done;
    bool inside;  ///< the request lies in the memory, and in pages that are pinned now
  };
  /// A well-formed request that arrives at `arrival`, now or later. To be told in order of arrival.
  Access write(Tlp t, const Time& arrival);
  Access read(Tlp t, const Time& arrival);

  /// Writes that something must wait for are visible: for a read, or a completion of `completer` on its way to what
  /// reads the memory. Relaxed ordering lets a completion pass, ID-based ordering whatever is of another requester.
  Time pushed_by_read(const Tlp& read) const;
  Time pushed_by_completion(const Tlp& completion) const;

  const Counters& counters() const { return counters_; }
  bool idle() const { return reads_ == 0 && writes_ == 0; }
  /// What keeps it from being idle; empty when idle.
  std::string pending() const;

 private:
  struct Answer {
    std::deque<Tlp> pieces;
    std::vector<Tlp> again;  ///< after the last piece
    Time again_after{};
    Time next{};  ///< the next piece not before
  };
  Time draw();
  bool beyond(const Tlp& t) const;
  bool pinned(const Tlp& t) const;
  Time visible_of(uint16_t requester) const;
  void store(const Tlp& t);
  void ready(const Tlp& t, FaultPlan plan);
  std::vector<Tlp> cut(const Tlp& t) const;
  void emit(Answer answer);
  void finish(Answer& answer);
  void pump();
  void wake(const Time& at);

  const std::string name_;
  CompleterConfig config_;
  Memory& memory_;
  MemoryTiming& timing_;
  DelayQueue& queue_;
  std::function<void(Tlp)> respond_;
  std::function<void(uint64_t, unsigned, const rtl::op_t&)> on_write_;
  std::function<void(const Tlp&)> on_sample_;
  std::function<FaultPlan(const Tlp&)> fault_;
  std::mt19937_64 random_;
  Time last_done_{};                               ///< of the reads so far, when they are kept in order
  Time visible_{};                                 ///< when the latest write so far is visible
  std::unordered_map<uint16_t, Time> visible_by_;  ///< the same by requester
  std::list<Answer> answers_;                      ///< ready, in the order in which they became so
  std::list<Answer>::iterator turn_;               ///< whose turn it is
  Time line_free_{};
  Time wake_at_{};
  bool wake_pending_ = false;
  uint64_t reads_ = 0, writes_ = 0;  ///< under way
  Counters counters_;
};

}  // namespace rnic::pcie
