// SPDX-License-Identifier: Apache-2.0
// A system with one registered GPU buffer and helpers to send and to look at what left the MAC.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rnic/golden/packetizer.h"
#include "rnic/observe/recorder.h"
#include "rnic/observe/stages.h"
#include "rnic/system/system.h"

namespace rnic::test {

class SystemTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kPd = 1;
  static constexpr uint64_t kVa = 0x7f00'0000'0000;  ///< of the local buffer
  static constexpr uint64_t kRemoteVa = 0x7e00'1234'5678;
  static constexpr uint32_t kRemoteKey = 0x00101234;

  /// Builds the system. Call once, before anything else. With RNICSIM_TEST_TRACE=folder the run of node 0 leaves its
  /// waveform there, named after the test: tests/waves/check_runs.py checks the rules over it.
  System& make(SystemOptions options = {}, const std::vector<std::string>& sets = {},
               const std::string& profile_name = "seed-400g") {
    Profile profile = Profile::load(profile_name);
    if (const char* folder = std::getenv("RNICSIM_TEST_TRACE"); folder != nullptr && options.traces.empty()) {
      std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
      std::replace(name.begin(), name.end(), '/', '_');
      options.traces = {{std::string(folder) + "/" + name + ".fst"}};
    }
    for (const auto& s : sets) profile.set(s);
    system_ = std::make_unique<System>(profile, options);
    system_->observers().add(&recorder);
    return *system_;
  }
  System& system() { return *system_; }
  host::Context& ctx(unsigned node = 0) { return *system_->node(node).ctx; }

  /// Registers a buffer whose bytes are pattern_byte(address, seed) and gives the region.
  host::Mr gpu_buffer(uint64_t length, uint64_t seed = 7, unsigned node = 0, uint64_t skew = 0) {
    auto& n = system_->node(node);
    n.hub->gpu_memory().set_background(seed);
    const uint64_t offset = n.ctx->alloc(host::Space::kGpu, length + skew) + skew;
    return n.ctx->reg_mr(kPd, host::Space::kGpu, offset, length, kVa + skew);
  }

  /// Runs body as a thread of the simulated world, to the end.
  RunEnd run(std::function<void()> body) {
    system_->spawn("test", std::move(body));
    return system_->run();
  }

  /// Waits for n completions and expects them to be good.
  std::vector<host::WorkCompletion> complete(host::Cq* cq, unsigned n, unsigned node = 0) {
    std::vector<host::WorkCompletion> all;
    while (all.size() < n) {
      auto wc = ctx(node).wait_cq(cq, Time(10, sc_core::SC_MS));
      if (!wc) {
        ADD_FAILURE() << "only " << all.size() << " of " << n << " completions came";
        break;
      }
      all.push_back(*wc);
    }
    return all;
  }

  static host::SendWr write(const host::Mr& mr, uint64_t length, uint64_t wr_id = 0) {
    host::SendWr wr;
    wr.wr_id = wr_id;
    wr.addr = mr.addr;
    wr.length = length;
    wr.lkey = mr.lkey;
    wr.remote_addr = kRemoteVa;
    wr.rkey = kRemoteKey;
    return wr;
  }

  Recorder recorder;

 private:
  std::unique_ptr<System> system_;
};

}  // namespace rnic::test
