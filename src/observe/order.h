// SPDX-License-Identifier: Apache-2.0
// The order of records in files: by time, and at equal times by what they are, never by which NIC happened to be
// simulated first. Files of a NIC so don't depend on the others in its process.
#pragma once

#include <algorithm>
#include <tuple>
#include <vector>

#include "rnic/observe/recorder.h"

namespace rnic::detail {

template <class T, class Key>
std::vector<const T*> ordered(const std::vector<T>& records, Key key) {
  std::vector<const T*> out;
  out.reserve(records.size());
  for (const T& r : records) out.push_back(&r);
  std::stable_sort(out.begin(), out.end(), [&](const T* a, const T* b) { return key(*a) < key(*b); });
  return out;
}

/// Time of the first bit, NIC, port.
inline std::vector<const FrameRecord*> ordered(const std::vector<FrameRecord>& frames) {
  return ordered(frames, [](const FrameRecord& f) { return std::make_tuple(f.first_ps, f.nic, f.port); });
}

/// Time, NIC, inbound before outbound.
inline std::vector<const RecordedTlp*> ordered(const std::vector<RecordedTlp>& tlps) {
  return ordered(tlps, [](const RecordedTlp& t) { return std::make_tuple(t.ps, t.nic, t.from_nic); });
}

/// Time, NIC.
inline std::vector<const ErrorRecord*> ordered(const std::vector<ErrorRecord>& errors) {
  return ordered(errors, [](const ErrorRecord& e) { return std::make_tuple(e.ps, e.nic); });
}

}  // namespace rnic::detail
