// SPDX-License-Identifier: Apache-2.0
#include "rnic/workload/nccl_log.h"

#include <gtest/gtest.h>

#include <sstream>

namespace rnic::workload {
namespace {

NcclLog read(const std::string& text) {
  std::istringstream in(text);
  return read_nccl_log(in, "log.txt");
}

/// A record as NCCL prints it.
std::string record(const std::string& name, uint64_t count, unsigned type, unsigned root, unsigned nranks,
                   const std::string& prefix = "n0:100:101 [0]", const std::string& comm = "0xc0") {
  std::ostringstream s;
  s << prefix << " NCCL INFO " << name << ": opCount 1a sendbuff 0x10 recvbuff (nil) count " << count << " datatype "
    << type << " op 0 root " << root << " comm " << comm << " [nranks=" << nranks << "] stream 0x7f\n";
  return s.str();
}

NcclCall call(Collective c, uint64_t count, unsigned type = 7, unsigned root = 0) {
  NcclCall out{};
  out.collective = c;
  out.count = count;
  out.datatype = type;
  out.root = root;
  return out;
}

// A real log: every record is there with its hexadecimal opCount, and the two ranks are one communicator.
TEST(NcclLogTest, RealLogOfTwoRanks) {
  const NcclLog log = load_nccl_log(RNICSIM_TEST_DATA "/data/nccl_log_allreduce_2ranks.txt");
  ASSERT_EQ(log.calls.size(), 8u);
  EXPECT_TRUE(log.unreadable.empty());
  EXPECT_EQ(log.calls[0].op_count, 0x1au);
  EXPECT_EQ(log.calls[2].count, 237184u);
  EXPECT_EQ(log.calls[7].op_count, 0x1du);
  ASSERT_EQ(log.communicators.size(), 1u);
  ASSERT_EQ(log.communicators[0].size(), 2u);
  const NcclRank& first = log.ranks[log.communicators[0][0]];
  EXPECT_EQ(first.host, "node1");
  EXPECT_EQ(first.pid, 13135u);
  EXPECT_EQ(first.device, 0u);
  EXPECT_EQ(first.rank, 0u);
  EXPECT_FALSE(first.rank_known);
  EXPECT_EQ(log.ranks[log.communicators[0][1]].rank, 1u);
}

// The names of all calls that NCCL logs are known.
TEST(NcclLogTest, EveryCollectiveIsKnown) {
  for (const char* name :
       {"AllReduce", "AllGather", "ReduceScatter", "Broadcast", "Reduce", "Send", "Recv", "AlltoAll", "AllToAll",
        "AlltoAllv", "Gather", "Scatter", "SendRecv", "PutSignal", "Signal", "WaitSignal"}) {
    const NcclLog log = read(record(name, 4, 7, 0, 2));
    ASSERT_EQ(log.calls.size(), 1u) << name;
    EXPECT_NE(log.calls[0].collective, Collective::kOther) << name;
    EXPECT_EQ(log.calls[0].name, name);
  }
}

// A call that nobody knows is kept, and its plan says that it can't be replayed.
TEST(NcclLogTest, UnknownCollectiveIsKeptAndRefused) {
  const NcclLog log = read(record("AllReduceTwice", 4, 7, 0, 2));
  ASSERT_EQ(log.calls.size(), 1u);
  const RingPlan p = plan_ring(log.calls[0], 0, 2);
  EXPECT_FALSE(p.replayable);
  EXPECT_NE(p.note.find("AllReduceTwice"), std::string::npos);
}

// The sizes of all data types are those of nccl.h.
TEST(NcclLogTest, EveryDataTypeHasItsSize) {
  const unsigned sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  for (unsigned t = 0; t < 12; ++t) EXPECT_EQ(nccl_type_size(t), sizes[t]) << t;
  EXPECT_EQ(nccl_type_size(12), 0u);
  const RingPlan p = plan_ring(call(Collective::kAllReduce, 4, 12), 0, 2);
  EXPECT_FALSE(p.replayable);
  EXPECT_NE(p.note.find("datatype 12"), std::string::npos);
}

// Anything may stand before NCCL INFO.
TEST(NcclLogTest, AnyPrefix) {
  for (const char* prefix : {"n0:100:101 [0]", "3: n0:100:101 [0]", "[2026-03-12 13:57:45] n0:100:101 [0]",
                             "(RayWorker pid=7) n0:100:101 [0]", "\x1b[36mtask0\x1b[0m n0:100:101 [0]"}) {
    const NcclLog log = read(record("AllReduce", 4, 7, 0, 2, prefix));
    ASSERT_EQ(log.calls.size(), 1u) << prefix;
    EXPECT_EQ(log.ranks[0].host, "n0") << prefix;
    EXPECT_EQ(log.ranks[0].pid, 100u) << prefix;
    EXPECT_EQ(log.ranks[0].device, 0u) << prefix;
  }
  for (const char* prefix : {"", "[7]", "no colon here"}) {
    const NcclLog log = read(record("AllReduce", 4, 7, 0, 2, prefix));
    ASSERT_EQ(log.calls.size(), 1u) << prefix;
    EXPECT_EQ(log.ranks[0].host, "") << prefix;
  }
}

// Lines of RCCL and of libraries that print a peer are read, too.
TEST(NcclLogTest, RelativesOfNccl) {
  const NcclLog log = read(
      "f1:9:9 [0] NCCL INFO AllGather: opCount 2 sendbuff 0x7f recvbuff 0x7e acc (nil) count 131072 datatype 9 op 0 "
      "root 0 "
      "comm 0x9bbf3b0 [nranks=4096] stream 0x90013c0 task 0 globalrank 17\n"
      "f1:9:9 [0] NCCL INFO Send: opCount 2 sendbuff 0x7f recvbuff (nil) count 5 datatype 9 peer 3 comm 1234 "
      "[nranks=8, "
      "localRanks=8] stream=(nil)\n");
  ASSERT_EQ(log.calls.size(), 2u);
  EXPECT_EQ(log.ranks[log.calls[0].who].rank, 17u);
  EXPECT_TRUE(log.ranks[log.calls[0].who].rank_known);
  EXPECT_EQ(log.calls[1].root, 3u);
  EXPECT_EQ(log.ranks[log.calls[1].who].nranks, 8u);
}

// Other lines that name a collective are no records.
TEST(NcclLogTest, TuningLinesAreNoRecords) {
  const NcclLog log = read(
      "2: node-0:309:309 [0] NCCL INFO AllGather: 37756928 Bytes -> Algo 1 proto 2 time 2860.208008\n"
      "n0:1:1 [0] NCCL INFO Ring 00 : 0 -> 1 -> 2 -> 3 -> 0\n");
  EXPECT_TRUE(log.calls.empty());
  EXPECT_TRUE(log.unreadable.empty());
  EXPECT_EQ(log.lines, 2u);
}

// The end of a line may be CR LF, and bytes that are no text do no harm.
TEST(NcclLogTest, CarriageReturnsAndGarbage) {
  std::string text = record("AllReduce", 4, 7, 0, 2);
  text.insert(text.size() - 1, "\r");
  text += std::string("\0\xff\xfe garbage \x80\n", 14);
  text += record("AllReduce", 5, 7, 0, 2);
  const NcclLog log = read(text);
  ASSERT_EQ(log.calls.size(), 2u);
  EXPECT_TRUE(log.unreadable.empty());
  EXPECT_EQ(log.calls[1].line, 3u);
}

// Wherever a record is cut off before its communicator's size is complete, its line is reported as unreadable.
TEST(NcclLogTest, CutRecordIsUnreadableWithItsLine) {
  const std::string whole = record("AllReduce", 64, 7, 0, 12);
  const size_t begins = whole.find("AllReduce"), complete = whole.find(']', begins);
  for (size_t n = begins + 3; n <= complete; ++n) {
    const NcclLog log = read(whole + whole.substr(0, n));
    ASSERT_EQ(log.calls.size(), 1u) << whole.substr(0, n);
    ASSERT_EQ(log.unreadable.size(), 1u) << whole.substr(0, n);
    EXPECT_EQ(log.unreadable[0].line, 2u);
  }
}

// Two records on one line are not taken for one.
TEST(NcclLogTest, LinesRunTogetherAreUnreadable) {
  std::string text = record("AllReduce", 4, 7, 0, 2);
  text.pop_back();
  const NcclLog log = read(text + record("AllReduce", 4, 7, 0, 2));
  EXPECT_TRUE(log.calls.empty());
  ASSERT_EQ(log.unreadable.size(), 1u);
}

// Numbers that can't be are unreadable, not wrapped.
TEST(NcclLogTest, ImpossibleNumbers) {
  for (const char* bad : {"count -1", "count 99999999999999999999", "count 4x"}) {
    std::string text = record("AllReduce", 4, 7, 0, 2);
    text.replace(text.find("count 4"), 7, bad);
    const NcclLog log = read(text);
    EXPECT_TRUE(log.calls.empty()) << bad;
    EXPECT_EQ(log.unreadable.size(), 1u) << bad;
  }
  EXPECT_EQ(read(record("AllReduce", 4, 7, 0, 0)).unreadable.size(), 1u);
}

// INIT lines give ranks and the communicator's id, over processes whose pointers say nothing.
TEST(NcclLogTest, InitLinesGiveRanks) {
  const auto init = [](const std::string& prefix, const std::string& comm, unsigned rank, const std::string& id) {
    return prefix + " NCCL INFO ncclCommInitRank comm " + comm + " rank " + std::to_string(rank) +
           " nranks 2 cudaDev 0 nvmlDev 0 busId 1000 commId " + id + " - Init COMPLETE\n";
  };
  const NcclLog log =
      read(init("b:1:1 [0]", "0x1", 1, "0xaa") + init("a:1:1 [0]", "0x1", 0, "0xaa") +
           init("a:1:1 [0]", "0x2", 1, "0xbb") + init("b:1:1 [0]", "0x3", 0, "0xbb") +
           record("AllReduce", 4, 7, 0, 2, "b:1:1 [0]", "0x1") + record("AllReduce", 4, 7, 0, 2, "b:1:1 [0]", "0x3"));
  ASSERT_EQ(log.communicators.size(), 2u);
  ASSERT_EQ(log.calls.size(), 2u);
  EXPECT_EQ(log.ranks[log.calls[0].who].rank, 1u);
  EXPECT_TRUE(log.ranks[log.calls[0].who].rank_known);
  EXPECT_EQ(log.ranks[log.calls[1].who].rank, 0u);
  EXPECT_NE(log.ranks[log.calls[0].who].communicator, log.ranks[log.calls[1].who].communicator);
}

// Without INIT lines, ranks whose calls differ in order are not of one communicator.
TEST(NcclLogTest, DifferentOrderIsAnotherCommunicator) {
  const NcclLog log =
      read(record("AllReduce", 4, 7, 0, 2, "a:1:1 [0]", "0x1") + record("AllReduce", 9, 7, 0, 2, "b:1:1 [0]", "0x2") +
           record("AllReduce", 4, 7, 0, 2, "c:1:1 [0]", "0x3"));
  ASSERT_EQ(log.communicators.size(), 2u);
  EXPECT_EQ(log.communicators[0].size(), 2u);
  EXPECT_EQ(log.ranks[2].communicator, log.ranks[0].communicator);
}

// Over all ranks of a ring AllReduce, the bytes sent are 2 (n-1) times those of the buffer, for counts that do not
// divide.
TEST(NcclLogTest, AllReduceSendsTwiceTheBufferLessOneChunk) {
  for (unsigned n : {2u, 3u, 4u, 7u, 8u}) {
    for (uint64_t count : {1ull, 2ull, 5ull, 64ull, 237184ull, 3000000001ull}) {
      for (unsigned type : {1u, 6u, 7u, 8u}) {
        uint64_t sum = 0;
        for (unsigned r = 0; r < n; ++r) {
          const RingPlan p = plan_ring(call(Collective::kAllReduce, count, type), r, n);
          ASSERT_TRUE(p.replayable);
          sum += p.bytes();
        }
        EXPECT_EQ(sum, 2 * (n - 1) * count * nccl_type_size(type))
            << n << " ranks, count " << count << ", type " << type;
      }
    }
  }
}

// 2 (n-1) messages of a chunk each when the count divides.
TEST(NcclLogTest, AllReduceHasTwoStepsPerNeighbour) {
  const RingPlan p = plan_ring(call(Collective::kAllReduce, 237184), 1, 4);
  EXPECT_EQ(p.messages(), 6u);
  ASSERT_EQ(p.runs.size(), 1u);
  EXPECT_EQ(p.runs[0].bytes, 237184u);
}

// AllGather's count is what one rank sends, ReduceScatter's what one receives: n-1 steps of it.
TEST(NcclLogTest, GatherAndScatterSteps) {
  for (const Collective c : {Collective::kAllGather, Collective::kReduceScatter}) {
    const RingPlan p = plan_ring(call(c, 100, 9), 2, 8);
    EXPECT_EQ(p.messages(), 7u);
    EXPECT_EQ(p.bytes(), 7u * 100 * 2);
  }
}

// The last rank of a broadcast's ring and the root of a reduction send nothing, and the plan says so.
TEST(NcclLogTest, RingsWithAnEnd) {
  for (unsigned r = 0; r < 4; ++r) {
    const RingPlan b = plan_ring(call(Collective::kBroadcast, 10, 7, 2), r, 4);
    EXPECT_EQ(b.bytes(), r == 1 ? 0u : 40u) << r;
    EXPECT_EQ(b.note.empty(), r != 1) << r;
    const RingPlan d = plan_ring(call(Collective::kReduce, 10, 7, 2), r, 4);
    EXPECT_EQ(d.bytes(), r == 2 ? 0u : 40u) << r;
    EXPECT_EQ(d.note.empty(), r != 2) << r;
  }
}

// Only the sender of a point-to-point pair sends.
TEST(NcclLogTest, PointToPoint) {
  EXPECT_EQ(plan_ring(call(Collective::kSend, 10, 7, 3), 0, 4).bytes(), 40u);
  EXPECT_EQ(plan_ring(call(Collective::kRecv, 10, 7, 3), 0, 4).bytes(), 0u);
  EXPECT_EQ(plan_ring(call(Collective::kSend, 10, 7, 0), 0, 4).bytes(), 0u);
  EXPECT_FALSE(plan_ring(call(Collective::kSend, 10, 7, 4), 0, 4).replayable);
}

// Messages above 1 GiB are cut, whatever the size, without a list that grows with it.
TEST(NcclLogTest, HugeMessagesAreCut) {
  const RingPlan p = plan_ring(call(Collective::kAllGather, (uint64_t{5} << 30) + 3, 1), 0, 2);
  EXPECT_EQ(p.messages(), 6u);
  EXPECT_EQ(p.bytes(), (uint64_t{5} << 30) + 3);
  ASSERT_EQ(p.runs.size(), 2u);
  EXPECT_EQ(p.runs[0].bytes, kMaxPiece);
  EXPECT_EQ(p.runs[1].bytes, 3u);
  EXPECT_TRUE(plan_ring(call(Collective::kAllReduce, uint64_t{1} << 58, 1), 0, 2).replayable);
  EXPECT_FALSE(plan_ring(call(Collective::kAllReduce, ~uint64_t{0}, 8), 0, 2).replayable);
}

// Nothing is sent for a count of 0, for one rank alone, or for a chunk that is empty.
TEST(NcclLogTest, NothingToSend) {
  EXPECT_EQ(plan_ring(call(Collective::kAllReduce, 0), 0, 4).bytes(), 0u);
  EXPECT_EQ(plan_ring(call(Collective::kAllReduce, 10), 0, 1).bytes(), 0u);
  EXPECT_FALSE(plan_ring(call(Collective::kAllReduce, 10), 0, 1).note.empty());
}

// A log without collectives is an error that says how to get them.
TEST(NcclLogTest, NoCollectivesSaysHowToLogThem) {
  try {
    load_nccl_log(RNICSIM_TEST_DATA "/data/roce_frames.txt");
    FAIL();
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("NCCL_DEBUG_SUBSYS=INIT,COLL"), std::string::npos);
  }
  EXPECT_THROW(load_nccl_log("/no/such/log"), InputError);
}

}  // namespace
}  // namespace rnic::workload
