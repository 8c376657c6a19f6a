// SPDX-License-Identifier: Apache-2.0
// For the benches of arithmetic: beats of 512 bits as lanes, operands worth trying, and a bench of a pipeline without
// backpressure that compares each result with what was expected, and its valid with the number of registers.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <vector>

#include "rnic/golden/float.h"
#include "rtl/bench.h"

namespace rnic::test {

/// Lanes of Bits in 32-bit words.
template <unsigned Bits, size_t Words>
void set_lane(std::array<uint32_t, Words>& beat, size_t lane, uint64_t value) {
  if constexpr (Bits == 64) {
    beat[2 * lane] = static_cast<uint32_t>(value);
    beat[2 * lane + 1] = static_cast<uint32_t>(value >> 32);
  } else {
    const unsigned at = Bits * lane % 32;
    uint32_t& w = beat[Bits * lane / 32];
    w = static_cast<uint32_t>((w & ~(((uint64_t{1} << Bits) - 1) << at)) | value << at);
  }
}
template <unsigned Bits, size_t Words>
uint64_t get_lane(const std::array<uint32_t, Words>& beat, size_t lane) {
  if constexpr (Bits == 64) {
    return beat[2 * lane] | static_cast<uint64_t>(beat[2 * lane + 1]) << 32;
  } else {
    return beat[Bits * lane / 32] >> (Bits * lane % 32) & ((uint64_t{1} << Bits) - 1);
  }
}

/// What arithmetic of a format goes wrong at: zeros, ends of the subnormals and of the normals, 1 and its neighbours,
/// powers of two, infinities, NaNs of several payloads; both signs.
template <class F>
std::vector<uint32_t> special_values() {
  constexpr uint32_t kOne = static_cast<uint32_t>(F::kBias) << F::kMan, kMin = 1u << F::kMan;
  std::vector<uint32_t> v = {0, 1, 2, 3, kMin / 2, kMin - 2, kMin - 1, kMin, kMin + 1, 2 * kMin - 1, 2 * kMin};
  for (uint32_t x : {kOne - 2, kOne - 1, kOne, kOne + 1, kOne + 2, kOne + kMin / 2, kOne + kMin - 1, kOne + kMin})
    v.push_back(x);
  for (unsigned e = 3; e < (1u << F::kExp) - 1; e += 1 + ((1u << F::kExp) / 32)) v.push_back(e << F::kMan);
  for (uint32_t x : {F::kInf - kMin - 1, F::kInf - kMin, F::kInf - 2, F::kInf - 1, F::kInf}) v.push_back(x);
  for (uint32_t payload : {1u, 2u, kMin / 4, kMin / 2 - 1, kMin / 2, kMin / 2 + 1, kMin - 1})
    v.push_back(F::kInf + payload);
  const size_t n = v.size();
  for (size_t i = 0; i < n; ++i) v.push_back(v[i] | F::kSign);
  return v;
}

/// A pipeline with valid_i, valid_o and a fixed number of registers.
template <class Top, size_t Words>
class PipeBench : public Bench<Top> {
 public:
  using Beat = std::array<uint32_t, Words>;
  PipeBench(uint64_t seed, unsigned latency) : Bench<Top>(seed), latency_(latency) {}

  /// An edge with the inputs as they are; `expected` is null without valid.
  template <class Out>
  void step(const Beat* expected, const Out& out) {
    this->top->valid_i = expected != nullptr;
    if (expected != nullptr) due_.push_back({this->cycle + latency_, *expected});
    this->tick();
    const bool due = !due_.empty() && due_.front().at == this->cycle;
    if (!failed_ && this->top->valid_o != due) {
      failed_ = true;  // one message is enough
      ADD_FAILURE() << "valid_o is " << int{this->top->valid_o} << " in cycle " << this->cycle << ", " << latency_
                    << " registers";
    }
    if (!due) return;
    for (size_t w = 0; w < Words && !failed_; ++w) {
      if (out[w] == due_.front().beat[w]) continue;
      failed_ = true;
      ADD_FAILURE() << std::hex << "word " << std::dec << w << " of the result in cycle " << this->cycle << ": "
                    << std::hex << out[w] << " instead of " << due_.front().beat[w];
    }
    due_.pop_front();
    ++beats;
  }

  uint64_t beats = 0;  ///< compared

 protected:
  bool empty() const { return due_.empty(); }

 private:
  struct Due {
    uint64_t at;
    Beat beat;
  };
  std::deque<Due> due_;
  unsigned latency_;
  bool failed_ = false;
};

}  // namespace rnic::test
