// SPDX-License-Identifier: Apache-2.0
// Strong types: a number of one kind can't be passed for another.
#pragma once

#include <cstdint>
#include <systemc>

namespace rnic {

using Time = sc_core::sc_time;

/// Simulated time in ps; the kernel's resolution is 1 ps, set nowhere else.
inline uint64_t to_ps(const Time& t) { return t.value(); }
inline Time from_ps(uint64_t ps) { return Time::from_value(ps); }

/// A 64-bit value with its own type. Tag is an empty struct.
template <class Tag, class T = uint64_t>
class Strong {
 public:
  constexpr Strong() = default;
  constexpr explicit Strong(T v) : v_(v) {}
  constexpr T value() const { return v_; }
  friend constexpr bool operator==(Strong a, Strong b) { return a.v_ == b.v_; }
  friend constexpr bool operator!=(Strong a, Strong b) { return a.v_ != b.v_; }
  friend constexpr bool operator<(Strong a, Strong b) { return a.v_ < b.v_; }
  constexpr Strong operator+(T d) const { return Strong(static_cast<T>(v_ + d)); }

 private:
  T v_{};
};

using BusAddr = Strong<struct BusAddrTag>;        ///< address on PCIe
using DeviceAddr = Strong<struct DeviceAddrTag>;  ///< offset in the memory behind BAR1
using GpuAddr = Strong<struct GpuAddrTag>;        ///< offset in GPU memory
using HostAddr = Strong<struct HostAddrTag>;      ///< offset in host memory
using Qpn = Strong<struct QpnTag, uint32_t>;
using Cqn = Strong<struct CqnTag, uint32_t>;

}  // namespace rnic
