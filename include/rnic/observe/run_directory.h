// SPDX-License-Identifier: Apache-2.0
// One run's outputs in one directory: result.json, profile.toml (resolved), capture.pcapng, tlp.log, report.html,
// wave.fst with viewer files.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "rnic/observe/recorder.h"
#include "rnic/observe/stages.h"
#include "rnic/profile/profile.h"

namespace rnic {

/// pcapng: one interface a port (Ethernet, ns time stamps equal to the floor of the first bit's time) and, with TLPs,
/// one of LINKTYPE_USER0 per NIC. Packet comments carry QPN, WQE, PSN and the stage instants.
void write_pcapng(const std::string& path, const Recorder& rec, bool with_tlps);
/// Text, a line a TLP: time (ps), NIC, direction, description, header hex, payload length, op.
void write_tlp_log(const std::string& path, const Recorder& rec);
enum class WaveOf { kNic, kArpEngine, kDmaEngine };
/// GTKWave save file and Surfer state beside a waveform, with the signals that matter in groups: of the NIC the TX path
/// by stage.
void write_viewer_files(const std::string& wave_path, WaveOf model = WaveOf::kNic);

struct ReportInput {
  std::string title;
  std::string command;  ///< the line that runs it again
  const Profile* profile;
  const Recorder* recorder;
  std::vector<StageTable> tables;                                         ///< timelines to draw (the first one large)
  std::vector<std::pair<std::string, std::vector<double>>> latencies_ns;  ///< histograms by name
  nlohmann::json result;                                                  ///< shown as summary
  std::vector<std::pair<std::string, std::string>> sections;              ///< heading and HTML; they stand first
};
/// Self-contained HTML with pictures (inline SVG): timeline of measured handshakes beside the budget, split by share,
/// histograms, tables, profile keys with their sources.
void write_report(const std::string& path, const ReportInput& in);

/// Stage table as JSON; times in keys with units (…_ps, …_ns).
nlohmann::json to_json(const StageTable& t, const Profile& p);
/// Of result.json; see docs/outputs.md.
inline constexpr int kResultSchemaVersion = 1;
/// result.json's frame: schema version, tool versions, command, seed, profile, counters. Deterministic: no wall time.
nlohmann::json result_header(const std::string& command, const Profile& p, uint64_t seed);

}  // namespace rnic
