// SPDX-License-Identifier: Apache-2.0
// AllReduce groups as a driver keeps them: what a user says of a group, and where its slots, accumulators and result
// lie.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "rnic/golden/allreduce.h"

namespace rnic::collective {

/// A group's description is wrong: which key, and what is allowed. Whoever read the description adds the place.
class GroupFault : public std::runtime_error {
 public:
  GroupFault(std::string key, const std::string& what) : std::runtime_error(what), key(std::move(key)) {}
  std::string key;
};

/// What a user says. Keys of faults are the names of the members.
struct GroupSpec {
  unsigned group = 0;
  golden::arp::Type type = golden::arp::Type::kFp32;
  golden::arp::Op op = golden::arp::Op::kSum;
  bool wide = false;                  ///< result as FP32; only with FP32 accumulators
  uint64_t count = 0;                 ///< elements of the vector
  uint64_t members = 0;               ///< a bit a rank
  uint64_t fragment = 4096;           ///< bytes: 64, 128 .. 4096
  std::optional<uint64_t> chunk;      ///< bytes, a power of two; default: 64 KiB
  std::optional<uint64_t> slots;      ///< a power of two, 1..1024; default: 64, or what fits into half of the free rows
  std::optional<uint64_t> slot_base;  ///< default: the first that are free
  std::optional<uint64_t> row_base;
  std::optional<uint64_t> dst;  ///< bus address; default: in GPU memory
};

/// Type and operation by nccl-tests' names (half, bfloat16, float, int32, int64), and fp16, bf16, fp32 and their like;
/// `acc32`: FP16 and BF16 are added up in FP32. Throw GroupFault ("type", "op").
golden::arp::Type parse_type(const std::string& name, bool acc32);
golden::arp::Op parse_op(const std::string& name);
const char* type_name(golden::arp::Type t);
const char* op_name(golden::arp::Op o);
const char* kind_name(golden::arp::Kind k);

/// A group with its place.
struct PlacedGroup {
  GroupSpec spec;
  golden::arp::Group context;
  /// Bytes of the vector on the wire, of the result in memory, of an element.
  uint64_t length() const { return context.length; }
  uint64_t result_bytes() const { return uint64_t{context.length} << (context.wide_out ? 1 : 0); }
  unsigned element() const { return golden::arp::element_size(context.dtype); }
  unsigned ranks() const;
  std::vector<uint8_t> members() const;
  uint64_t fragments() const { return ((uint64_t{context.length} - 1) >> context.log_frag) + 1; }
  /// Header of a rank's fragment, without the step.
  golden::arp::Header header(uint64_t fragment, uint8_t rank) const;
};

/// Gives groups their slots and rows, and knows who has them.
class GroupTable {
 public:
  /// Throws GroupFault when anything is out of range, does not fit, or belongs to another group.
  const PlacedGroup& add(const GroupSpec& spec);
  void remove(unsigned group);
  const std::map<unsigned, PlacedGroup>& groups() const { return groups_; }

 private:
  std::map<unsigned, PlacedGroup> groups_;
  std::array<std::optional<unsigned>, golden::arp::kNumSlots> slot_owner_;
  std::array<std::optional<unsigned>, golden::arp::kNumRows> row_owner_;
  uint64_t next_dst_ = 0;
};

/// Groups of a TOML file: `[[group]]` tables. Throws InputError with file, line and key.
std::vector<GroupSpec> load_groups(const std::string& path);
std::vector<GroupSpec> parse_groups(const std::string& text, const std::string& file);

}  // namespace rnic::collective
