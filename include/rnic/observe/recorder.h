// SPDX-License-Identifier: Apache-2.0
// Keeps what a run tells, for tables, files and reports.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rnic/observe/observer.h"

namespace rnic {

struct RecordedTlp {
  unsigned nic;
  bool from_nic;
  uint64_t ps;
  pcie::Tlp tlp;
};

/// Remembers everything, in order of report. `limit` bounds frames and TLPs kept (events are small and always kept);
/// what is beyond it is counted, and the writers say so.
class Recorder : public Observer {
 public:
  explicit Recorder(size_t limit = 1'000'000) : limit_(limit) {}
  void on_event(const Event& e) override { events.push_back(e); }
  void on_frame(const FrameRecord& f) override {
    if (frames.size() < limit_)
      frames.push_back(f);
    else
      ++frames_dropped;
  }
  void on_tlp(const TlpRecord& t) override {
    if (tlps.size() < limit_)
      tlps.push_back({t.nic, t.from_nic, t.ps, *t.tlp});
    else
      ++tlps_dropped;
  }
  void on_error(const ErrorRecord& e) override { errors.push_back(e); }

  std::vector<Event> events;
  std::vector<FrameRecord> frames;
  std::vector<RecordedTlp> tlps;
  std::vector<ErrorRecord> errors;
  uint64_t frames_dropped = 0, tlps_dropped = 0;

 private:
  size_t limit_;
};

}  // namespace rnic
