// SPDX-License-Identifier: Apache-2.0
#include "rnic/collective/group.h"

#include <fmt/format.h>

#include <algorithm>

#include "rnic/pcie/hub.h"

namespace rnic::collective {
namespace arp = golden::arp;
namespace {

constexpr uint64_t kFirstResult = uint64_t{1} << 20;  ///< offset in GPU memory
constexpr uint64_t kResultAlign = 4096;               ///< and so much stays free behind each
constexpr uint64_t kDefaultChunk = uint64_t{64} << 10;
constexpr uint64_t kDefaultSlots = 64;

bool power_of_two(uint64_t v) { return v != 0 && (v & (v - 1)) == 0; }

unsigned log2_of(uint64_t v) {
  unsigned n = 0;
  while (v >> n != 1) ++n;
  return n;
}

/// First run of `count` entries without owner, at a multiple of nothing.
template <class Owners>
std::optional<unsigned> first_free(const Owners& owners, unsigned count) {
  unsigned run = 0;
  for (unsigned i = 0; i < owners.size(); ++i) {
    run = owners[i] ? 0 : run + 1;
    if (run == count) return i + 1 - count;
  }
  return std::nullopt;
}

template <class Owners>
unsigned place(const Owners& owners, const std::optional<uint64_t>& wanted, unsigned count, const char* key,
               const char* what) {
  if (!wanted) {
    if (const auto at = first_free(owners, count)) return *at;
    throw GroupFault("slots", fmt::format("no {} {} in a row are left of {}: take fewer slots, or smaller fragments",
                                          count, what, owners.size()));
  }
  if (*wanted > owners.size() || *wanted + count > owners.size()) {
    throw GroupFault(key,
                     fmt::format("{} {} from {} on lie beyond the last, {}", count, what, *wanted, owners.size() - 1));
  }
  for (uint64_t i = *wanted; i < *wanted + count; ++i) {
    if (owners[i]) {
      throw GroupFault(
          key, fmt::format("{} {} to {} overlap those of group {}", what, *wanted, *wanted + count - 1, *owners[i]));
    }
  }
  return static_cast<unsigned>(*wanted);
}

}  // namespace

arp::Type parse_type(const std::string& name, bool acc32) {
  static const std::pair<const char*, arp::Type> kNames[] = {
      {"half", arp::Type::kFp16},     {"float16", arp::Type::kFp16}, {"fp16", arp::Type::kFp16},
      {"bfloat16", arp::Type::kBf16}, {"bf16", arp::Type::kBf16},    {"float", arp::Type::kFp32},
      {"float32", arp::Type::kFp32},  {"fp32", arp::Type::kFp32},    {"int32", arp::Type::kInt32},
      {"int", arp::Type::kInt32},     {"int64", arp::Type::kInt64},
  };
  for (const auto& [n, type] : kNames) {
    if (name != n) continue;
    if (!acc32) return type;
    if (type == arp::Type::kFp16) return arp::Type::kFp16Acc32;
    if (type == arp::Type::kBf16) return arp::Type::kBf16Acc32;
    throw GroupFault(
        "type", fmt::format("'{}' has no accumulators of another type; FP32 ones are for half and bfloat16", name));
  }
  throw GroupFault("type",
                   fmt::format("'{}' is not known; allowed: half (float16, fp16), bfloat16 (bf16), float (float32, "
                               "fp32), int32 (int), int64",
                               name));
}

arp::Op parse_op(const std::string& name) {
  for (const auto op : {arp::Op::kSum, arp::Op::kMin, arp::Op::kMax}) {
    if (name == op_name(op)) return op;
  }
  throw GroupFault("op", fmt::format("'{}' is not known; allowed: sum, min, max", name));
}

const char* type_name(arp::Type t) {
  switch (t) {
    case arp::Type::kFp16:
      return "half";
    case arp::Type::kBf16:
      return "bfloat16";
    case arp::Type::kFp32:
      return "float";
    case arp::Type::kInt32:
      return "int32";
    case arp::Type::kInt64:
      return "int64";
    case arp::Type::kFp16Acc32:
      return "half, added up in float";
    case arp::Type::kBf16Acc32:
      return "bfloat16, added up in float";
  }
  return "unknown";
}

const char* op_name(arp::Op o) { return o == arp::Op::kSum ? "sum" : o == arp::Op::kMin ? "min" : "max"; }

const char* kind_name(arp::Kind k) {
  switch (k) {
    case arp::Kind::kWritten:
      return "written";
    case arp::Kind::kParity:
      return "parity";
    case arp::Kind::kDuplicate:
      return "duplicate";
    case arp::Kind::kLate:
      return "late";
    case arp::Kind::kNoSlot:
      return "no_slot";
    case arp::Kind::kBadGroup:
      return "bad_group";
    case arp::Kind::kBadType:
      return "bad_type";
    case arp::Kind::kBadOffset:
      return "bad_offset";
    case arp::Kind::kBadLength:
      return "bad_length";
    case arp::Kind::kBadRank:
      return "bad_rank";
    case arp::Kind::kDamaged:
      return "damaged";
    case arp::Kind::kBadAck:
      return "bad_ack";
    case arp::Kind::kBadContext:
      return "bad_context";
    case arp::Kind::kAccepted:
      return "accepted";
  }
  return "unknown";
}

unsigned PlacedGroup::ranks() const { return static_cast<unsigned>(members().size()); }

std::vector<uint8_t> PlacedGroup::members() const {
  std::vector<uint8_t> all;
  for (uint8_t r = 0; r < arp::kMaxRanks; ++r) {
    if (context.members >> r & 1) all.push_back(r);
  }
  return all;
}

arp::Header PlacedGroup::header(uint64_t fragment, uint8_t rank) const {
  const uint64_t byte = fragment << context.log_frag;
  arp::Header h;
  h.group = static_cast<uint16_t>(spec.group);
  h.chunk = static_cast<uint16_t>(byte >> context.log_chunk);
  h.offset = static_cast<uint32_t>(byte & ((uint64_t{1} << context.log_chunk) - 1));
  h.rank = rank;
  h.dtype = context.dtype;
  h.op = context.op;
  h.len = static_cast<uint16_t>(std::min<uint64_t>(uint64_t{1} << context.log_frag, context.length - byte));
  return h;
}

const PlacedGroup& GroupTable::add(const GroupSpec& spec) {
  if (spec.group >= arp::kNumGroups) {
    throw GroupFault("group", fmt::format("{} is out of range; allowed: 0 to {}", spec.group, arp::kNumGroups - 1));
  }
  if (groups_.count(spec.group) != 0) throw GroupFault("group", fmt::format("there is a group {} already", spec.group));
  PlacedGroup p{spec, {}};
  arp::Group& g = p.context;
  g.dtype = static_cast<uint8_t>(spec.type);
  g.op = static_cast<uint8_t>(spec.op);
  g.wide_out = spec.wide;
  if (spec.wide && !arp::is_acc32(g.dtype)) {
    throw GroupFault("wide", fmt::format("a {} result is as wide as its elements; FP32 results need FP32 accumulators",
                                         type_name(spec.type)));
  }
  if (!power_of_two(spec.fragment) || spec.fragment < 64 || spec.fragment > 4096) {
    throw GroupFault(
        "fragment", fmt::format("{} is no fragment size; allowed: 64, 128, 256, 512, 1024, 2048, 4096", spec.fragment));
  }
  g.log_frag = log2_of(spec.fragment);
  const unsigned size = arp::element_size(g.dtype);
  constexpr uint64_t kMostBytes = (uint64_t{1} << 32) - 1;
  if (spec.count == 0 || spec.count > kMostBytes / size) {
    throw GroupFault("count",
                     fmt::format("{} elements of {} B: allowed are 1 to {}", spec.count, size, kMostBytes / size));
  }
  g.length = static_cast<uint32_t>(spec.count * size);
  uint64_t chunk = spec.chunk.value_or(std::max(kDefaultChunk, spec.fragment));
  if (!power_of_two(chunk) || chunk < spec.fragment || chunk > uint64_t{1} << 32) {
    throw GroupFault("chunk", fmt::format("{} is no chunk size; allowed: powers of two from the fragment's {} to 4 GiB",
                                          chunk, spec.fragment));
  }
  g.log_chunk = log2_of(chunk);
  if ((uint64_t{g.length} - 1) >> g.log_chunk > 0xffff) {
    throw GroupFault(
        "chunk", fmt::format("{} B in chunks of {} B are more than 65536 chunks: take larger ones", g.length, chunk));
  }
  if (spec.members == 0) throw GroupFault("members", "a group needs a member");
  g.members = spec.members;

  const unsigned rows = arp::rows_per_slot(g.dtype, g.log_frag);
  if (spec.slots && (!power_of_two(*spec.slots) || *spec.slots > arp::kNumSlots)) {
    throw GroupFault("slots", fmt::format("{} is no number of slots; allowed: powers of two from 1 to {}", *spec.slots,
                                          arp::kNumSlots));
  }
  if (spec.slots && *spec.slots * rows > arp::kNumRows) {
    throw GroupFault("slots",
                     fmt::format("{} slots of {} rows are more than the {} that there are; at most {} slots of this "
                                 "fragment size",
                                 *spec.slots, rows, arp::kNumRows, arp::kNumRows / rows));
  }
  uint64_t slots = spec.slots.value_or(kDefaultSlots);
  if (!spec.slots) {  // half of what is left at most, so that others find room, too
    const auto free = [](const auto& owners) {
      return static_cast<uint64_t>(std::count(owners.begin(), owners.end(), std::nullopt));
    };
    while (slots > 1 && (2 * slots > free(slot_owner_) || 2 * slots * rows > free(row_owner_) ||
                         !first_free(slot_owner_, static_cast<unsigned>(slots)) ||
                         !first_free(row_owner_, static_cast<unsigned>(slots) * rows))) {
      slots /= 2;
    }
  }
  g.log_slots = log2_of(slots);
  const auto count = static_cast<unsigned>(slots);
  g.slot_base = place(slot_owner_, spec.slot_base, count, "slot_base", "slots");
  g.row_base = place(row_owner_, spec.row_base, count * rows, "row_base", "rows");

  const uint64_t bytes = p.result_bytes();
  if (spec.dst) {
    const uint64_t offset = *spec.dst - pcie::kGpuBase;  // wraps below the base
    if (offset >= pcie::kGpuSize || bytes > pcie::kGpuSize - offset) {
      throw GroupFault("dst", fmt::format("0x{:x} and {} B do not lie in GPU memory, 0x{:x} to 0x{:x}", *spec.dst,
                                          bytes, pcie::kGpuBase, pcie::kGpuBase + pcie::kGpuSize - 1));
    }
    for (const auto& [number, other] : groups_) {
      const uint64_t begin = other.context.dst, end = begin + other.result_bytes();
      if (*spec.dst < end && begin < *spec.dst + bytes) {
        throw GroupFault("dst",
                         fmt::format("0x{:x} and {} B overlap the result of group {}", *spec.dst, bytes, number));
      }
      next_dst_ = std::max(next_dst_, end - pcie::kGpuBase);
    }
    g.dst = *spec.dst;
  } else {
    next_dst_ = std::max(next_dst_, kFirstResult);
    next_dst_ = (next_dst_ + kResultAlign - 1) / kResultAlign * kResultAlign + kResultAlign;
    g.dst = pcie::kGpuBase + next_dst_;
  }
  next_dst_ = std::max(next_dst_, g.dst - pcie::kGpuBase + bytes);
  if (next_dst_ > pcie::kGpuSize) throw GroupFault("count", "the results do not fit into GPU memory");

  if (const char* fault = arp::context_fault(spec.group, g)) throw GroupFault("group", fault);  // said above already
  std::fill_n(slot_owner_.begin() + g.slot_base, count, spec.group);
  std::fill_n(row_owner_.begin() + g.row_base, count * rows, spec.group);
  return groups_.emplace(spec.group, p).first->second;
}

void GroupTable::remove(unsigned group) {
  if (groups_.erase(group) == 0) throw GroupFault("group", fmt::format("there is no group {}", group));
  for (auto& owner : slot_owner_) {
    if (owner == group) owner.reset();
  }
  for (auto& owner : row_owner_) {
    if (owner == group) owner.reset();
  }
}

}  // namespace rnic::collective
