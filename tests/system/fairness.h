// SPDX-License-Identifier: Apache-2.0
// Many QPs that always have work, of equal weight: how far each is from its share at any instant.
#pragma once

#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "system/traffic.h"

namespace rnic::test {

/// Counts frame bytes, Ethernet header to FCS, of QPs 0 .. qps-1. A QP is furthest above the share right behind a frame
/// of its own, furthest below right before one.
struct ShareMeter : Observer {
  explicit ShareMeter(unsigned qps) : bytes(qps), turns(qps) {}
  void on_frame(const FrameRecord& f) override {
    const uint64_t n = f.bytes.size() + 4;
    if (share() >= until) return;
    auto& mine = bytes.at(f.op.qpn);
    note(f.op.qpn, mine);
    mine += n;
    total += n;
    ++turns[f.op.qpn];
    note(f.op.qpn, mine);
    if (first_ps == 0) first_ps = f.first_ps;
    last_ps = f.last_ps;
    if (share() >= until) {
      for (size_t q = 0; q < bytes.size(); ++q) note(q, bytes[q]);
    }
  }
  double share() const { return static_cast<double>(total) / static_cast<double>(bytes.size()); }
  void note(size_t q, uint64_t mine) {
    const double off = static_cast<double>(mine) - share();
    if (off > above) above = off, most = q;
    if (off < below) below = off, least = q;
  }

  double until = 0;  ///< bytes of an equal share at which counting ends
  std::vector<uint64_t> bytes, turns;
  uint64_t total = 0, first_ps = 0, last_ps = 0;
  double above = 0, below = 0;
  size_t most = 0, least = 0;
};

class FairnessTest : public SystemTest {
 protected:
  static constexpr unsigned kMtu = 4096;
  static constexpr double kMtuFrame = kMtu + 74;  // with all headers, ICRC and FCS

  /// `qps` QPs with messages of 64 B to 64 KiB, some of one size, some of all, until each had `share_bytes` on the wire
  /// if all are equal. A pause holds them back until all doorbells are there.
  void no_qp_is_more_than_two_packets_from_its_share(unsigned qps, unsigned share_bytes) {
    const uint64_t seed = test_seed();
    SCOPED_TRACE("RNIC_TEST_SEED=" + std::to_string(seed));
    std::mt19937_64 rng(seed);
    make({});
    ShareMeter meter(qps);
    meter.until = share_bytes;
    EXPECT_EQ(run([&] {
                constexpr uint64_t kRegion = 65536;
                std::vector<host::Mr> regions;
                for (unsigned i = 0; i < 80; ++i) {
                  const uint64_t offset = ctx().alloc(host::Space::kGpu, kRegion);
                  regions.push_back(ctx().reg_mr(kPd, host::Space::kGpu, offset, kRegion, kVa + i * kRegion));
                }
                auto* cq = ctx().create_cq(4);
                host::QpInit init;
                init.type = host::QpType::kUc;
                init.log_sq_size = 10;
                std::vector<host::Qp*> all;
                for (unsigned q = 0; q < qps; ++q) {
                  all.push_back(ctx().create_qp(cq, init, q));
                  ctx().modify_qp_rts(all.back(), {});
                  std::vector<host::SendWr> wrs;
                  const uint64_t sizes[] = {64, 200, 1024, 4096, 4097, 10000, 16384, 65536};
                  // Enough for the share and for what it may be off, with as many again of the wire's smallest headers.
                  for (uint64_t posted = 0; posted < share_bytes + 4 * kMtuFrame;) {
                    const uint64_t length = sizes[q % 16 < 8 ? q % 8 : rng() % 8];
                    wrs.push_back(write(regions[rng() % regions.size()], length));
                    wrs.back().signaled = false;
                    posted += length + 74;
                  }
                  ctx().queue_send(all.back(), wrs);
                }
                sc_core::wait(Time(10, sc_core::SC_US));
                system().observers().add(&meter);
                system().node().nic->mac().pause(host::QpPath{}.prio, Time(40, sc_core::SC_US));
                for (auto* qp : all) ctx().ring_doorbell(qp->qpn, qp->pi);
                while (meter.share() < meter.until) sc_core::wait(Time(1, sc_core::SC_US));
              }),
              RunEnd::kDone);
    EXPECT_EQ(system().node().nic->assertion_failures(), 0u);
    const auto fewest = *std::min_element(meter.turns.begin(), meter.turns.end());
    const double gbps = static_cast<double>(meter.total) * 8000 / static_cast<double>(meter.last_ps - meter.first_ps);
    std::printf(
        "%u QPs, %.1f MB, %llu packets of a QP at least, %.1f Gb/s of frames: at most %.2f MTU packets above the "
        "share (QP %zu), %.2f below (QP %zu)\n",
        qps, static_cast<double>(meter.total) / 1e6, static_cast<unsigned long long>(fewest), gbps,
        meter.above / kMtuFrame, meter.most, -meter.below / kMtuFrame, meter.least);
    EXPECT_LE(meter.above, 2 * kMtuFrame);
    EXPECT_GE(meter.below, -2 * kMtuFrame);
    EXPECT_GE(fewest, 3u);
    EXPECT_GT(meter.above - meter.below, kMtuFrame);  // it did look
  }
};

}  // namespace rnic::test
