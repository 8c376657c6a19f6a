// SPDX-License-Identifier: Apache-2.0
// Reads the collectives out of a log of NCCL (NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,COLL) or RCCL, and says which
// messages one rank's NIC sends for each of them on a ring.
//
// A record is "NCCL INFO <Name>: opCount <hex> ... count <n> datatype <n> op <n> root <n> comm <ptr> [nranks=<n>] ...",
// printed by ncclEnqueueCheck() of NCCL's enqueue.cc once a rank and call, behind any prefix. opCount is hexadecimal
// and may stay 0, and `comm` is a pointer of one process: ranks of one communicator are found by the communicator's id
// where the log has the lines of NCCL_DEBUG_SUBSYS=INIT, and else by the equal order of their calls.
#pragma once

#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <vector>

#include "rnic/core/error.h"

namespace rnic::workload {

/// Calls that NCCL and RCCL log; anything else with an opCount is kOther.
enum class Collective : uint8_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kReduce,
  kSend,
  kRecv,
  kAllToAll,
  kAllToAllV,
  kGather,
  kScatter,
  kSendRecv,
  kPutSignal,
  kSignal,
  kWaitSignal,
  kOther,
};

/// Element size of an ncclDataType_t in bytes; 0 for a number that NCCL does not have.
unsigned nccl_type_size(unsigned datatype);
/// Name as nccl-tests prints it ("float", "bfloat16", "f8e4m3"); "type 17" for an unknown number.
std::string nccl_type_name(unsigned datatype);

/// One rank of one communicator, as far as the log shows it.
struct NcclRank {
  std::string host;  ///< empty: the prefix did not name one
  uint64_t pid = 0;
  std::optional<unsigned> device;
  std::string comm;  ///< the pointer, as printed
  unsigned nranks = 0;
  std::string comm_id;  ///< from the INIT lines; empty: unknown
  unsigned rank = 0;
  bool rank_known = false;    ///< false: ranks are numbered by host, process and device in order of appearance
  unsigned communicator = 0;  ///< index into NcclLog::communicators
};

struct NcclCall {
  unsigned line;
  Collective collective;
  std::string name;  ///< as printed
  uint64_t op_count;
  uint64_t count;  ///< elements, as printed
  unsigned datatype;
  unsigned redop;
  unsigned root;  ///< Send, Recv: the peer
  unsigned who;   ///< index into NcclLog::ranks
};

/// A line that begins a record and can't be read to its end.
struct NcclUnreadable {
  unsigned line;
  std::string why;
};

struct NcclLog {
  std::string file;
  unsigned lines = 0;
  std::vector<NcclCall> calls;  ///< in the order of the file
  std::vector<NcclRank> ranks;
  std::vector<std::vector<unsigned>> communicators;  ///< ranks (indices) of each
  std::vector<NcclUnreadable> unreadable;

  /// Hosts in order of appearance.
  std::vector<std::string> hosts() const;
};

/// Reads a whole log. Never throws on its contents: what can't be read is in `unreadable`.
NcclLog read_nccl_log(std::istream& in, const std::string& file);
/// The same from a file. Throws InputError when the file can't be read, or holds no collective (with the hint which
/// environment variables make NCCL log them).
NcclLog load_nccl_log(const std::string& path);

/// Largest message that is posted as one work request.
inline constexpr uint64_t kMaxPiece = uint64_t{1} << 30;

/// What one rank's NIC sends for one call.
struct RingPlan {
  struct Run {
    uint64_t bytes;  ///< of each message: 1 to kMaxPiece
    uint64_t times;  ///< messages of that size, one after the other
  };
  bool replayable = false;
  std::string note;       ///< why not, or why nothing is sent, or what is left out
  std::vector<Run> runs;  ///< in order
  uint64_t bytes() const;
  uint64_t messages() const;
};

/// Rank `rank` of `nranks` on the ring 0 -> 1 -> ... -> nranks-1 -> 0. Every step of a ring is one message to the next
/// rank. AllReduce: the count is split into nranks chunks as evenly as possible, nranks-1 steps of reduce-scatter and
/// nranks-1 of all-gather, 2 (nranks-1) count in sum over all ranks. AllGather: nranks-1 steps of count. ReduceScatter:
/// the same, count being what one rank receives.
RingPlan plan_ring(const NcclCall& call, unsigned rank, unsigned nranks);

}  // namespace rnic::workload
