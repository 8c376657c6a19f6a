// SPDX-License-Identifier: Apache-2.0
// BlueFlame pushes of two pieces that take each other's entry in the buffer: for the rules over waveforms, since no
// scenario pushes two pieces.
#include <map>
#include <utility>
#include <vector>

#include "rnic/golden/wqe.h"
#include "system/fixture.h"

namespace rnic::test {
namespace {

class SplitPushTest : public SystemTest {
 protected:
  /// A QP with one WQE of two blocks in its ring. Nothing sends that long a WQE: it is reported once, when it has been
  /// rung.
  struct Pushed {
    host::Qp* qp;
    std::vector<uint8_t> wqe;
  };

  Pushed pushed(host::Cq* cq, uint32_t qpn) {
    host::QpInit init;
    init.where = host::SqWhere::kBf;
    auto* qp = ctx().create_qp(cq, init, qpn);
    ctx().modify_qp_rts(qp, {});
    golden::Wqe w;
    w.qpn = qpn;
    auto wqe = golden::encode_wqe(w);
    wqe[7] = 6;  // DS: 96 B
    wqe.resize(128);
    ctx().write_raw_wqe(qp, wqe);
    return {qp, wqe};
  }

  void push(const Pushed& p, unsigned piece) {
    system().node().hub->mmio_write(pcie::Initiator::kCpu, ctx().bar(0) + p.qp->qpn * 0x100 + 0x80 + 64 * piece,
                                    p.wqe.data() + 64 * piece, 64);
    sc_core::wait(Time(20, sc_core::SC_NS));
  }
};

// QPs 64 apart share an entry. Whichever piece comes first, each WQE rings once, and is reported once.
TEST_F(SplitPushTest, EachRingsOnce) {
  make();
  std::map<uint32_t, unsigned> reports;
  const auto end = run([&] {
    auto* cq = ctx().create_cq(5);
    const auto a = pushed(cq, 1), b = pushed(cq, 65), c = pushed(cq, 2), d = pushed(cq, 66);
    sc_core::wait(Time(1, sc_core::SC_US));
    const std::vector<std::pair<const Pushed*, unsigned>> order{{&a, 0}, {&b, 0}, {&a, 1}, {&b, 1},
                                                                {&c, 1}, {&d, 1}, {&c, 0}, {&d, 0}};
    for (const auto& [p, piece] : order) {
      push(*p, piece);
    }
    while (const auto wc = ctx().wait_cq(cq, Time(20, sc_core::SC_US))) ++reports[wc->qpn];
  });
  EXPECT_EQ(end, RunEnd::kDone) << to_string(end);
  EXPECT_EQ(reports, (std::map<uint32_t, unsigned>{{1, 1}, {2, 1}, {65, 1}, {66, 1}}));
}

}  // namespace
}  // namespace rnic::test
