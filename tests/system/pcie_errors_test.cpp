// SPDX-License-Identifier: Apache-2.0
// Reads that PCIe answers wrongly: each kind, at the first, a middle and the last completion, on payload and on WQEs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "rnic/rtl/ports.h"
#include "system/fixture.h"

namespace rnic {
namespace {

const char* const kShortTimeout = "pcie.cpl_timeout=50000";  ///< dropped answers are waited for

using pcie::FaultPlan;
using pcie::ReadFault;
using Where = pcie::Hub::Where;
namespace pkg = rtl::rnic_pkg;

struct Kind {
  const char* name;
  ReadFault fault;
  const char* counter;
  unsigned dma;         ///< DMA status in the vendor syndrome; DmaOk: the read is good all the same
  unsigned aer_bit;     ///< of the Uncorrectable Error Status; 0: none
  uint16_t status_bit;  ///< of Status
  unsigned value = 0;
};

constexpr Kind kKinds[] = {
    {"ur", ReadFault::kUr, "cpl_ur", pkg::DmaUr, 0, 0x2000},
    {"ca", ReadFault::kCa, "cpl_ca", pkg::DmaCa, 0, 0x1000},
    {"poisoned", ReadFault::kPoisoned, "cpl_poisoned", pkg::DmaPoisoned, 12, 0x8100},
    {"dropped", ReadFault::kDropped, "cpl_timeout", pkg::DmaTimeout, 14, 0},
    {"byte_count", ReadFault::kByteCount, "cpl_malformed", pkg::DmaOk, 18, 0, 3},
    {"too_long", ReadFault::kTooLong, "cpl_malformed", pkg::DmaMalformed, 18, 0, 64},
    {"stray", ReadFault::kStray, "cpl_unexpected", pkg::DmaOk, 16, 0, 700},
};

class PcieErrorsTest : public test::SystemTest {
 protected:
  void prepare(host::SqWhere where = host::SqWhere::kDevice) {
    mr = gpu_buffer(1 << 20);
    cq = ctx().create_cq(8);
    host::QpInit init;
    init.where = where;
    qp = ctx().create_qp(cq, init);
    ctx().modify_qp_rts(qp, {});
  }
  uint64_t counter(const char* name) { return system().node().nic->bars().counter(name); }

  /// One message, of which a read fails.
  void expect_fault(const Kind& k, Where where, unsigned piece, uint64_t length) {
    SCOPED_TRACE(fmt::format("{}, piece {}", k.name, piece));
    ConfigSpace& config = system().node().nic->config();
    config.write(0x04, 4, config.read(0x04, 4));
    config.write(0x104, 4, ~0u);
    const uint64_t before = counter(k.counter), logged = system().node().nic->bars().errors_logged();
    FaultPlan plan;
    plan.kind = k.fault;
    plan.piece = piece;
    plan.value = k.value;
    system().node().hub->inject(where, 0, plan);
    ctx().post_send(qp, write(mr, length, 77));
    const auto wc = ctx().wait_cq(cq, Time(1, sc_core::SC_MS));
    ASSERT_TRUE(wc);
    EXPECT_EQ(wc->wr_id, 77u);
    if (k.dma == pkg::DmaOk) {
      EXPECT_EQ(wc->status, host::WcStatus::kSuccess);
    } else {
      EXPECT_EQ(wc->status, host::WcStatus::kLocQpOpErr);
      EXPECT_EQ(wc->vendor_err, pkg::VenDma + k.dma);
    }
    sc_core::wait(Time(200, sc_core::SC_US));  // what still comes, and orphans that end
    EXPECT_GT(counter(k.counter), before);
    EXPECT_GT(system().node().nic->bars().errors_logged(), logged);
    EXPECT_EQ(config.read(0x04, 4) >> 16 & k.status_bit, k.status_bit);
    const uint32_t aer = k.aer_bit == 0 ? 0 : 1u << k.aer_bit;
    EXPECT_EQ(config.read(0x104, 4) & aer, aer);
    EXPECT_FALSE(config.read(0x6a, 2) & 0x20) << "transactions pending";
    if (k.dma != pkg::DmaOk) ctx().modify_qp_rts(qp, {});
  }

  void expect_good(uint64_t length) {
    ctx().post_send(qp, write(mr, length, 88));
    const auto wc = ctx().wait_cq(cq, Time(1, sc_core::SC_MS));
    ASSERT_TRUE(wc);
    EXPECT_EQ(wc->wr_id, 88u);
    EXPECT_EQ(wc->status, host::WcStatus::kSuccess);
  }

  host::Mr mr;
  host::Cq* cq = nullptr;
  host::Qp* qp = nullptr;
};

// Every kind of error, at the first, a middle and the last completion of a payload read; after each the NIC works.
TEST_F(PcieErrorsTest, EveryKindEverywhereOnPayload) {
  make({}, {"completer.cut=rcb", kShortTimeout});
  EXPECT_EQ(run([&] {
              prepare();
              for (const Kind& k : kKinds) {
                for (const unsigned piece : {0u, 3u, FaultPlan::kLast}) {
                  expect_fault(k, Where::kGpu, piece, 512);
                  expect_good(4096);
                }
              }
            }),
            RunEnd::kDone);
}

// The same on the fetch of a WQE from a ring in host memory.
TEST_F(PcieErrorsTest, EveryKindOnWqeFetch) {
  make({}, {kShortTimeout});
  EXPECT_EQ(run([&] {
              prepare(host::SqWhere::kHost);
              for (const Kind& k : kKinds) {
                expect_fault(k, Where::kHost, 0, 512);
                expect_good(4096);
              }
            }),
            RunEnd::kDone);
}

// Four failed reads in a row and then a good one: four error completions of the right kind, and every tag is free.
TEST_F(PcieErrorsTest, FourFailuresAndAGoodOne) {
  make({}, {kShortTimeout});
  EXPECT_EQ(run([&] {
              prepare();
              for (const Kind& k : kKinds) {
                for (unsigned i = 0; i < 4; ++i) expect_fault(k, Where::kGpu, 0, 512);
                expect_good(512);
              }
            }),
            RunEnd::kDone);
}

// Completions for a tag that is retired, or that never was in use, touch nothing.
TEST_F(PcieErrorsTest, StrayCompletionsAreDropped) {
  make({}, {kShortTimeout});
  EXPECT_EQ(run([&] {
              prepare();
              expect_good(4096);
              const uint16_t nic = system().node().nic->config().settings().requester_id;
              for (const unsigned tag : {0u, 1u, 600u, 1023u}) {
                const auto read = pcie::make_mem_read(pcie::kGpuBase, 64, nic, tag);
                system().node().hub->inject_completion(
                    pcie::make_completion(read, pcie::kCpuId, 0, 64, 0, std::vector<uint8_t>(64)));
              }
              sc_core::wait(Time(5, sc_core::SC_US));
              EXPECT_EQ(counter("cpl_unexpected"), 4u);
              expect_good(4096);
            }),
            RunEnd::kDone);
}

// A read that is never answered, without a completion timeout, is left over at the end, and named.
TEST_F(PcieErrorsTest, LeftOversAreNamed) {
  SystemOptions options;
  options.max_sim_time = Time(100, sc_core::SC_US);  // the RTL is not idle as long as a read waits
  make(options, {"pcie.cpl_timeout=0"}).allow_left_over("the read that nobody answers is the test");
  run([&] {
    prepare();
    FaultPlan plan;
    plan.kind = ReadFault::kDropped;
    system().node().hub->inject(Where::kGpu, 0, plan);
    ctx().post_send(qp, write(mr, 512, 1));
    EXPECT_FALSE(ctx().wait_cq(cq, Time(50, sc_core::SC_US)));
  });
  EXPECT_NE(system().left_over().find("tags of 1 reads"), std::string::npos) << system().left_over();
}

// One TLP in ten corrupted in both directions, few tags: all is sent, in order and once.
TEST_F(PcieErrorsTest, CorruptedLinkLosesNothing) {
  make({}, {"pcie.lcrc_error_rate_up=100000", "pcie.lcrc_error_rate_down=100000", "pcie.tag_bits=5", kShortTimeout});
  EXPECT_EQ(run([&] {
              prepare();
              for (unsigned i = 0; i < 32; ++i) {
                ctx().post_send(qp, write(mr, 4096, i));
                const auto wc = ctx().wait_cq(cq, Time(1, sc_core::SC_MS));
                ASSERT_TRUE(wc);
                EXPECT_EQ(wc->wr_id, i);
                EXPECT_EQ(wc->status, host::WcStatus::kSuccess);
              }
              ConfigSpace& config = system().node().nic->config();
              EXPECT_TRUE(config.read(0x110, 4) & 1 << 6) << "bad TLP";
              EXPECT_TRUE(config.read(0x6a, 2) & 1) << "correctable error";
            }),
            RunEnd::kDone);
  EXPECT_EQ(counter("cpl_unexpected") + counter("cpl_timeout") + counter("cpl_malformed"), 0u);
}

// Room for one largest request of each kind and for the completions of one read, and the fewest tags: nothing hangs,
// nothing is lost, completions come in order.
TEST_F(PcieErrorsTest, LeastCreditsAreEnough) {
  SystemOptions options;
  options.max_sim_time = Time(500, sc_core::SC_US);  // what lacks credits waits for ever
  make(options, {"pcie.ph_credits=1", "pcie.pd_credits=32", "pcie.nph_credits=1", "pcie.cplh_credits=9",
                 "pcie.cpld_credits=40", "pcie.tag_bits=5", kShortTimeout});
  EXPECT_EQ(run([&] {
              prepare();
              for (unsigned i = 0; i < 16; ++i) ctx().post_send(qp, write(mr, i % 3 ? 64 : 4096, i));
              for (unsigned i = 0; i < 16; ++i) {
                const auto wc = ctx().wait_cq(cq, Time(1, sc_core::SC_MS));
                ASSERT_TRUE(wc);
                EXPECT_EQ(wc->wr_id, i);
                EXPECT_EQ(wc->status, host::WcStatus::kSuccess);
              }
              // Without reads completions come faster than their credits.
              std::vector<host::Qp*> others;
              for (unsigned i = 0; i < 8; ++i) {
                others.push_back(ctx().create_qp(cq, {}));
                ctx().modify_qp_rts(others.back(), {});
                for (unsigned k = 0; k < 8; ++k) {
                  auto wr = write(mr, 16, 100 * i + k);
                  wr.send_inline = true;
                  ctx().queue_send(others.back(), {wr});
                }
              }
              for (auto* q : others) ctx().ring_doorbell(q->qpn, q->pi);
              std::vector<unsigned> next(8);
              for (unsigned i = 0; i < 64; ++i) {
                const auto wc = ctx().wait_cq(cq, Time(1, sc_core::SC_MS));
                ASSERT_TRUE(wc);
                EXPECT_EQ(wc->wr_id % 100, next.at(wc->wr_id / 100)++);
                EXPECT_EQ(wc->status, host::WcStatus::kSuccess);
              }
            }),
            RunEnd::kDone);
  EXPECT_EQ(counter("cpl_unexpected") + counter("cpl_timeout") + counter("cpl_malformed"), 0u);
}

}  // namespace
}  // namespace rnic
