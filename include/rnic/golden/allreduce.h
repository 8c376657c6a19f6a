// SPDX-License-Identifier: Apache-2.0
// Reference model of the AllReduce engine, written from the rules in docs/allreduce.md: groups, fragments and
// acknowledges go in, results for memory and what became of each item come out. Untimed: a full slot stays full until
// drain() takes its result, so that a bench can do that at the instant at which the RTL does.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <optional>
#include <vector>

#include "rnic/golden/float.h"

namespace rnic::golden::arp {

using Bytes = std::vector<uint8_t>;

inline constexpr unsigned kNumGroups = 64;
inline constexpr unsigned kNumSlots = 1024;
inline constexpr unsigned kNumRows = 4096;  ///< of two banks of 64 bytes
inline constexpr unsigned kMaxRanks = 64;
inline constexpr unsigned kMaxFragment = 4096;
inline constexpr unsigned kBeat = 64;

enum class Type : uint8_t {
  kFp16 = 0,
  kBf16 = 1,
  kFp32 = 2,
  kInt32 = 3,
  kInt64 = 4,
  kFp16Acc32 = 5,  ///< FP16 on the wire, FP32 accumulators
  kBf16Acc32 = 6,
};
enum class Op : uint8_t { kSum = 0, kMin = 1, kMax = 2 };

/// What became of a fragment, an acknowledge, a group or a slot.
enum class Kind : uint8_t {
  kWritten = 0,
  kParity = 1,
  kDuplicate = 2,
  kLate = 3,
  kNoSlot = 4,
  kBadGroup = 5,
  kBadType = 6,
  kBadOffset = 7,
  kBadLength = 8,
  kBadRank = 9,
  kDamaged = 10,
  kBadAck = 11,
  kBadContext = 12,
  kAccepted = 255,  ///< no event
};

/// AllReduce extension header.
struct Header {
  uint16_t group = 0;
  uint16_t step = 0;
  uint16_t chunk = 0;
  uint8_t rank = 0;
  uint32_t offset = 0;  ///< bytes from the chunk's begin
  uint8_t dtype = 0;
  uint8_t op = 0;
  uint16_t len = 0;  ///< payload bytes
  bool operator==(const Header& o) const {
    return group == o.group && step == o.step && chunk == o.chunk && rank == o.rank && offset == o.offset &&
           dtype == o.dtype && op == o.op && len == o.len;
  }
};

struct Ack {
  uint16_t group = 0, step = 0, chunk = 0;
  uint32_t offset = 0;
};

/// Context of a group; without `valid` the group is taken out, and the rest does not matter.
struct Group {
  bool valid = true;
  uint8_t dtype = 0;
  uint8_t op = 0;
  bool wide_out = false;
  unsigned log_frag = 12;
  unsigned log_chunk = 12;
  unsigned log_slots = 0;
  unsigned slot_base = 0;
  unsigned row_base = 0;
  uint64_t members = 0;
  uint32_t length = 0;
  uint64_t dst = 0;
};

enum class State : uint8_t { kFree = 0, kOpen = 1, kFull = 2, kDrain = 3, kDone = 4 };

/// Bytes of an element on the wire; 0 for an unknown type.
inline unsigned element_size(uint8_t dtype) {
  switch (static_cast<Type>(dtype)) {
    case Type::kFp16:
    case Type::kBf16:
    case Type::kFp16Acc32:
    case Type::kBf16Acc32:
      return 2;
    case Type::kFp32:
    case Type::kInt32:
      return 4;
    case Type::kInt64:
      return 8;
  }
  return 0;
}
inline bool is_acc32(uint8_t dtype) {
  return dtype == static_cast<uint8_t>(Type::kFp16Acc32) || dtype == static_cast<uint8_t>(Type::kBf16Acc32);
}
inline bool known_op(uint8_t op) { return op <= static_cast<uint8_t>(Op::kMax); }

/// Rows of the accumulator memory that one slot takes.
inline unsigned rows_per_slot(uint8_t dtype, unsigned log_frag) {
  const unsigned frag = 1u << log_frag;
  return is_acc32(dtype) ? frag / 64 : std::max(1u, frag / 128);
}

/// Whether 16-bit step a is newer than b (serial numbers: half of the circle lies ahead).
inline bool newer_step(uint16_t a, uint16_t b) {
  const auto ahead = static_cast<uint16_t>(a - b);
  return ahead >= 1 && ahead <= 32767;
}

/// The rule that a group's context breaks, or nullptr.
inline const char* context_fault(unsigned number, const Group& g) {
  if (number >= kNumGroups) return "group number";
  if (!g.valid) return nullptr;
  if (element_size(g.dtype) == 0) return "type";
  if (!known_op(g.op)) return "operation";
  if (g.wide_out && !is_acc32(g.dtype)) return "wide result without FP32 accumulators";
  if (g.log_frag < 6 || g.log_frag > 12) return "fragment size";
  if (g.log_chunk < g.log_frag || g.log_chunk > 32) return "chunk size";
  if (g.log_slots > 10) return "number of slots";
  const unsigned slots = 1u << g.log_slots;
  if (g.slot_base + slots > kNumSlots) return "slots beyond the last";
  if (g.row_base + slots * rows_per_slot(g.dtype, g.log_frag) > kNumRows) return "rows beyond the last";
  if (g.members == 0) return "no members";
  if (g.length == 0 || g.length % element_size(g.dtype) != 0) return "length";
  const uint64_t bytes = uint64_t{g.length} << (g.wide_out ? 1 : 0);
  if (g.dst + (bytes - 1) < g.dst) return "destination beyond 2^64";
  return nullptr;
}

// ---- Arithmetic on vectors in memory order -------------------------------------------------------------------------

namespace detail {

template <class T>
T get(const uint8_t* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class T>
void put(uint8_t* p, T v) {
  std::memcpy(p, &v, sizeof v);
}

template <class T>
T apply(uint8_t op, T a, T b, T (*sum)(T, T), T (*min)(T, T), T (*max)(T, T)) {
  return (op == static_cast<uint8_t>(Op::kSum) ? sum : op == static_cast<uint8_t>(Op::kMin) ? min : max)(a, b);
}

/// One element: the accumulator of type A takes a value; `first`: it is the value.
template <class A>
void take(bool first, uint8_t op, uint8_t* acc, A value, A (*sum)(A, A), A (*min)(A, A), A (*max)(A, A)) {
  put(acc, first ? value : apply(op, get<A>(acc), value, sum, min, max));
}

}  // namespace detail

/// Bytes of an element in the accumulator.
inline unsigned accumulator_size(uint8_t dtype) { return is_acc32(dtype) ? 4 : element_size(dtype); }

/// One contribution into the accumulators; `first`: there is nothing in them yet. NaNs come out canonical in any case.
inline void accumulate(uint8_t dtype, uint8_t op, bool first, Bytes& acc, const Bytes& in) {
  const unsigned in_size = element_size(dtype), acc_size = accumulator_size(dtype);
  if (first) acc.assign(in.size() / in_size * acc_size, 0);
  for (size_t i = 0; i < in.size() / in_size; ++i) {
    const uint8_t* x = in.data() + i * in_size;
    uint8_t* a = acc.data() + i * acc_size;
    switch (static_cast<Type>(dtype)) {
      case Type::kFp16:
        detail::take<uint16_t>(first, op, a, fp16_canonical(detail::get<uint16_t>(x)), fp16_add, fp16_min, fp16_max);
        break;
      case Type::kBf16:
        detail::take<uint16_t>(first, op, a, bf16_canonical(detail::get<uint16_t>(x)), bf16_add, bf16_min, bf16_max);
        break;
      case Type::kFp32:
        detail::take<uint32_t>(first, op, a, fp32_canonical(detail::get<uint32_t>(x)), fp32_add, fp32_min, fp32_max);
        break;
      case Type::kFp16Acc32:
        detail::take<uint32_t>(first, op, a, fp16_to_fp32(detail::get<uint16_t>(x)), fp32_add, fp32_min, fp32_max);
        break;
      case Type::kBf16Acc32:
        detail::take<uint32_t>(first, op, a, bf16_to_fp32(detail::get<uint16_t>(x)), fp32_add, fp32_min, fp32_max);
        break;
      case Type::kInt32:
        detail::take<uint32_t>(first, op, a, detail::get<uint32_t>(x), int32_add, int32_min, int32_max);
        break;
      case Type::kInt64:
        detail::take<uint64_t>(first, op, a, detail::get<uint64_t>(x), int64_add, int64_min, int64_max);
        break;
    }
  }
}

/// What leaves for memory: the accumulators, or rounded to the type on the wire.
inline Bytes finish(uint8_t dtype, bool wide_out, const Bytes& acc) {
  if (!is_acc32(dtype) || wide_out) return acc;
  Bytes out(acc.size() / 2);
  for (size_t i = 0; i < acc.size() / 4; ++i) {
    const auto v = detail::get<uint32_t>(acc.data() + 4 * i);
    const bool fp16 = dtype == static_cast<uint8_t>(Type::kFp16Acc32);
    detail::put(out.data() + 2 * i, fp16 ? fp32_to_fp16(v) : fp32_to_bf16(v));
  }
  return out;
}

// ---- The engine ----------------------------------------------------------------------------------------------------

/// As in the RTL's arp_stat_t, without what depends on time (stalls, lost events).
struct Counters {
  uint64_t frag = 0, beat = 0, first = 0, full = 0, written = 0, acked = 0;
  uint64_t parity = 0, duplicate = 0, late = 0, no_slot = 0;
  uint64_t bad_group = 0, bad_type = 0, bad_offset = 0, bad_length = 0, bad_rank = 0;
  uint64_t damaged = 0, bad_ack = 0, bad_context = 0;
};

struct Event {
  Kind kind = Kind::kAccepted;
  Header hdr;  ///< of results and acknowledges: group, step, chunk, offset; of results also len; of contexts: group
  bool operator==(const Event& o) const { return kind == o.kind && hdr == o.hdr; }
};

/// A slot's result, taken out.
struct Result {
  bool written = false;  ///< false: the accumulator was damaged, memory stays as it is
  uint64_t addr = 0;
  Bytes data;
  Header hdr;  ///< group, step, chunk, offset, len
};

class AllReduce {
 public:
  AllReduce() : slots_(kNumSlots) {}

  /// Writes a group's context; kBadContext takes the group out. The engine takes a context only when nothing is in
  /// flight: full slots are to be drained before.
  Kind write_group(uint16_t number, const Group& g) {
    if (number < kNumGroups) {
      const Group& old = groups_[number];
      if (old.valid) clear(old);
      groups_[number].valid = false;
    }
    if (context_fault(number, g) != nullptr) {
      Header h;
      h.group = number;
      return report(Kind::kBadContext, h);
    }
    if (!g.valid) return Kind::kAccepted;
    groups_[number] = g;
    clear(g);
    return Kind::kAccepted;
  }

  /// What is wrong with a fragment whatever its slot holds; kAccepted: nothing, and `slot` is the one that it belongs
  /// to. `data` is what came, `damaged` a frame that must not count whatever it holds; one without any byte of data is
  /// none.
  Kind check(const Header& h, const Bytes& data, bool damaged, unsigned& slot) const {
    if (damaged || data.empty()) return Kind::kDamaged;
    if (data.size() != h.len || data.size() > kMaxFragment) return Kind::kBadLength;
    if (h.group >= kNumGroups || !groups_[h.group].valid) return Kind::kBadGroup;
    const Group& g = groups_[h.group];
    if (h.dtype != g.dtype || h.op != g.op) return Kind::kBadType;
    if (h.rank >= kMaxRanks || (g.members >> h.rank & 1) == 0) return Kind::kBadRank;
    const auto at = place(g, h.chunk, h.offset);
    if (!at) return Kind::kBadOffset;
    if (h.len != std::min<uint64_t>(uint64_t{1} << g.log_frag, g.length - at->byte)) return Kind::kBadLength;
    slot = at->slot;
    return Kind::kAccepted;
  }

  /// A whole fragment.
  Kind fragment(const Header& h, const Bytes& data, bool damaged = false) {
    unsigned slot = 0;
    if (const Kind bad = check(h, data, damaged, slot); bad != Kind::kAccepted) return report(bad, h);
    const Group& g = groups_[h.group];
    const auto at = place(g, h.chunk, h.offset);
    Slot& s = slots_[at->slot];
    const Tag tag{h.step, at->lap};
    if (s.state == State::kFree) {
      if (s.used && !newer(tag, s.tag)) return report(Kind::kLate, h);
    } else if (tag != s.tag) {
      return report(newer(tag, s.tag) ? Kind::kNoSlot : Kind::kLate, h);
    } else if (s.ranks >> h.rank & 1) {
      return report(Kind::kDuplicate, h);
    }
    const bool first = s.state == State::kFree;
    if (first) {
      s = Slot{};
      s.state = State::kOpen;
      s.used = true;
      s.tag = tag;
      s.hdr.group = h.group;
      s.hdr.step = h.step;
      s.hdr.chunk = h.chunk;
      s.hdr.offset = h.offset;
      s.hdr.len = h.len;
      ++counters_.first;
    }
    accumulate(g.dtype, g.op, first, s.acc, data);
    inject_into(s, g, at->slot);
    s.ranks |= uint64_t{1} << h.rank;
    ++counters_.frag;
    counters_.beat += (data.size() + kBeat - 1) / kBeat;
    if (s.ranks == g.members) {
      s.state = State::kFull;
      ++counters_.full;
      full_.push_back(at->slot);
    }
    return Kind::kAccepted;
  }

  Kind acknowledge(const Ack& a) {
    Header h;
    h.group = a.group;
    h.step = a.step;
    h.chunk = a.chunk;
    h.offset = a.offset;
    if (a.group >= kNumGroups || !groups_[a.group].valid) return report(Kind::kBadAck, h);
    const auto at = place(groups_[a.group], a.chunk, a.offset);
    if (!at) return report(Kind::kBadAck, h);
    Slot& s = slots_[at->slot];
    if (s.state != State::kDone || s.tag != Tag{a.step, at->lap}) return report(Kind::kBadAck, h);
    s.state = State::kFree;
    ++counters_.acked;
    return Kind::kAccepted;
  }

  /// Takes the result of the slot that has been full for the longest time; the slot is done then. Nothing: none is
  /// full.
  std::optional<Result> drain() {
    if (full_.empty()) return std::nullopt;
    Slot& s = slots_[full_.front()];
    full_.pop_front();
    s.state = State::kDone;
    const Group& g = groups_[s.hdr.group];
    Result r;
    r.hdr = s.hdr;
    r.written = !s.lost;
    const uint64_t byte = (uint64_t{s.hdr.chunk} << g.log_chunk) + s.hdr.offset;
    r.addr = g.dst + (g.wide_out ? 2 * byte : byte);
    if (r.written) r.data = finish(g.dtype, g.wide_out, s.acc);
    s.acc.clear();
    ++(r.written ? counters_.written : counters_.parity);
    events_.push_back({r.written ? Kind::kWritten : Kind::kParity, s.hdr});
    return r;
  }

  /// Flips one bit of an accumulator row (0..1023, both banks) at the next write to it; the slot is lost then.
  void inject(unsigned row, unsigned bit) { injected_ = {row, bit}; }

  // ---- Looking in ----
  State state(unsigned slot) const { return slots_.at(slot).state; }
  unsigned slots_used() const {
    return count([](const Slot& s) { return s.state != State::kFree; });
  }
  unsigned slots_done() const {
    return count([](const Slot& s) { return s.state == State::kDone; });
  }
  bool has_full() const { return !full_.empty(); }
  const Group& group(unsigned number) const { return groups_.at(number); }
  const Counters& counters() const { return counters_; }
  /// Everything that an unlimited event queue would hold.
  std::vector<Event>& events() { return events_; }

 private:
  struct Tag {
    uint16_t step = 0;
    uint32_t lap = 0;
    bool operator==(const Tag& o) const { return step == o.step && lap == o.lap; }
    bool operator!=(const Tag& o) const { return !(*this == o); }
  };
  struct Slot {
    State state = State::kFree;
    bool used = false;
    bool lost = false;
    Tag tag;
    uint64_t ranks = 0;  ///< that have contributed
    Header hdr;
    Bytes acc;
  };
  struct Place {
    uint64_t byte;  ///< in the vector
    unsigned slot;
    uint32_t lap;
  };
  struct Injection {
    unsigned row, bit;
  };

  static bool newer(const Tag& a, const Tag& b) {
    return newer_step(a.step, b.step) || (a.step == b.step && a.lap > b.lap);
  }

  /// Where in the vector, and which slot; nothing if no fragment begins there.
  static std::optional<Place> place(const Group& g, uint16_t chunk, uint32_t offset) {
    const uint64_t frag = uint64_t{1} << g.log_frag;
    const uint64_t byte = (uint64_t{chunk} << g.log_chunk) + offset;
    if (offset % frag != 0 || offset >= uint64_t{1} << g.log_chunk || byte >= g.length) return std::nullopt;
    const uint64_t number = byte >> g.log_frag;
    const unsigned slots = 1u << g.log_slots;
    return Place{byte, static_cast<unsigned>(g.slot_base + number % slots),
                 static_cast<uint32_t>(number >> g.log_slots)};
  }

  void clear(const Group& g) {
    for (unsigned i = 0; i < 1u << g.log_slots; ++i) slots_[g.slot_base + i] = Slot{};
    full_.erase(std::remove_if(full_.begin(), full_.end(),
                               [&](unsigned s) { return s >= g.slot_base && s < g.slot_base + (1u << g.log_slots); }),
                full_.end());
  }

  /// Whether this contribution has written the injection's row and bank: narrow accumulators use the banks in turn.
  void inject_into(Slot& s, const Group& g, unsigned slot) {
    if (!injected_) return;
    const unsigned rows = rows_per_slot(g.dtype, g.log_frag);
    const unsigned base = g.row_base + (slot - g.slot_base) * rows;
    if (injected_->row < base || injected_->row >= base + rows) return;
    const size_t first_byte = (injected_->row - base) * size_t{128} + injected_->bit / 512 * size_t{64};
    if (first_byte >= s.acc.size()) return;
    s.lost = true;
    injected_.reset();
  }

  Kind report(Kind k, const Header& h) {
    switch (k) {
      case Kind::kDuplicate:
        ++counters_.duplicate;
        break;
      case Kind::kLate:
        ++counters_.late;
        break;
      case Kind::kNoSlot:
        ++counters_.no_slot;
        break;
      case Kind::kBadGroup:
        ++counters_.bad_group;
        break;
      case Kind::kBadType:
        ++counters_.bad_type;
        break;
      case Kind::kBadOffset:
        ++counters_.bad_offset;
        break;
      case Kind::kBadLength:
        ++counters_.bad_length;
        break;
      case Kind::kBadRank:
        ++counters_.bad_rank;
        break;
      case Kind::kDamaged:
        ++counters_.damaged;
        break;
      case Kind::kBadAck:
        ++counters_.bad_ack;
        break;
      case Kind::kBadContext:
        ++counters_.bad_context;
        break;
      default:
        break;
    }
    events_.push_back({k, h});
    return k;
  }

  template <class F>
  unsigned count(F&& want) const {
    return static_cast<unsigned>(std::count_if(slots_.begin(), slots_.end(), want));
  }

  std::array<Group, kNumGroups> groups_ = no_groups();
  std::vector<Slot> slots_;
  std::deque<unsigned> full_;
  std::optional<Injection> injected_;
  Counters counters_;
  std::vector<Event> events_;

  static std::array<Group, kNumGroups> no_groups() {
    std::array<Group, kNumGroups> a;
    for (Group& g : a) g.valid = false;
    return a;
  }
};

}  // namespace rnic::golden::arp
