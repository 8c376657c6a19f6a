// SPDX-License-Identifier: Apache-2.0
// What all subcommands share: options, exit statuses, the run directory, child runs, interruption.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rnic/observe/recorder.h"
#include "rnic/observe/run_directory.h"
#include "rnic/profile/profile.h"
#include "rnic/regress/runner.h"
#include "rnic/system/system.h"

namespace rnic::cli {

enum Exit : int {
  kGood = 0,
  kCheckFailed = 1,
  kBadInput = 2,
  kInternal = 3,
  kInterrupted = 130,  ///< 128 + SIGINT, as shells count
};

/// The command line as given, quoted for a shell.
void set_command_line(int argc, char** argv);
const std::vector<std::string>& arguments();
/// The line that runs this again. Runs are deterministic, and the seed's default is fixed.
std::string rerun_line();
/// The line that goes on where a regression or a sweep was stopped.
std::string resume_line(const std::string& subcommand);
/// "2/4"; empty: everything. Throws InputError.
regress::Shard parse_shard(const std::string& text);
/// `jobs` 0: one a core.
regress::RunnerOptions runner_options(unsigned jobs, const regress::Shard& shard);

struct Common {
  std::string profile = "seed-400g";
  bool profile_given = false;
  std::vector<std::string> set;
  uint64_t seed = 1;
  bool seed_given = false;
  std::string out;    ///< run directory; empty: none
  std::string trace;  ///< none, full, FROM:TO, last:N; empty: the subcommand's own default
  bool json = false;
  std::string max_sim_time = "1s";
  double max_wall_s = 0;
};

/// Options of every subcommand that loads a profile, and of every one that simulates.
void add_profile_options(CLI::App& app, Common& c);
void add_simulation_options(CLI::App& app, Common& c);

/// The profile with all --set applied. Throws InputError.
Profile load_profile(const Common& c);
/// "10us" in ps. Throws InputError.
uint64_t parse_time(const std::string& text, const std::string& option);

struct TraceWindow {
  enum Mode { kNone, kWhole, kWindow, kLast } mode = kNone;
  uint64_t from_ps = 0, to_ps = ~uint64_t{0};
  uint64_t cycles = 0;  ///< kLast
};
TraceWindow parse_trace(const std::string& text);

/// Keeps a bounded number of events, too.
class BoundedRecorder : public Recorder {
 public:
  explicit BoundedRecorder(size_t limit) : Recorder(limit), limit_(limit) {}
  void on_event(const Event& e) override {
    if (events.size() < limit_)
      Recorder::on_event(e);
    else
      ++events_dropped;
  }
  uint64_t events_dropped = 0;

 private:
  size_t limit_;
};

struct CheckResult {
  std::string name, what;  ///< what was compared: "frames", "budget of DMA read"
  std::string expected, got;
  bool passed = false;
};
nlohmann::json to_json(const std::vector<CheckResult>& checks);
/// One test case a check, and one that is in error when the run was not finished (with the reason; empty: it was).
/// Throws InputError when the file can't be written.
void write_junit(const std::string& path, const std::string& suite, const std::vector<CheckResult>& checks,
                 const std::string& not_finished);
/// Prints the failed ones on stderr; true when all have passed.
bool report_checks(const std::vector<CheckResult>& checks);

/// One simulation of a subcommand: from options to the run directory.
class Session {
 public:
  Session(const Common& common, Profile profile, const char* default_trace);

  const Common& common() const { return common_; }
  const Profile& profile() const { return profile_; }
  bool has_directory() const { return !common_.out.empty(); }
  /// Options with the trace of node 0 (and of the others, as wave1.fst, wave2.fst ...) filled in.
  SystemOptions system_options(unsigned nodes);
  /// Runs; SIGINT and SIGTERM end it early with all waveforms closed. kGood, kInternal or kInterrupted, with the reason
  /// reported.
  Exit run(Simulation& simulation);

  struct Outputs {
    std::string title;
    const Recorder* recorder = nullptr;
    std::vector<StageTable> tables;
    std::vector<std::pair<std::string, std::vector<double>>> latencies_ns;
    std::vector<std::pair<std::string, std::string>> sections;  ///< of the report: heading and HTML
    WaveOf wave = WaveOf::kNic;
  };
  /// Writes the run directory (if asked for) and JSON on stdout (if asked for); for last:N after a failure, runs again
  /// with the window. Prints the line that runs it again when `status` is not kGood.
  void finish(Exit status, const nlohmann::json& result, const Outputs& out);

 private:
  /// Time of the last event, or where no model tells any, of the last frame or TLP: when everything is idle, the
  /// kernel's time is already further.
  struct Activity : Observer {
    void on_event(const Event& e) override { event_ps = std::max(event_ps, e.ps); }
    void on_frame(const FrameRecord& f) override { packet_ps = std::max(packet_ps, f.last_ps); }
    void on_tlp(const TlpRecord& t) override { packet_ps = std::max(packet_ps, t.ps); }
    uint64_t last_ps() const { return event_ps != 0 ? event_ps : packet_ps; }
    uint64_t event_ps = 0, packet_ps = 0;
  };

  void trace_again(Exit status) const;

  Common common_;
  Profile profile_;
  TraceWindow trace_;
  unsigned nodes_ = 1;
  Activity activity_;
};

/// A folder that goes with its owner.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Runs this program again with other arguments; its standard output. status: as waitpid gives it, decoded to the exit
/// status (128 + signal when killed).
std::string run_child(const std::vector<std::string>& args, int& status, bool mute_errors = false);

/// Percentile by nearest rank; nothing when the sample is too small for it: fewer than 1 / (1 - q) values.
std::optional<double> percentile(std::vector<double> values, double q);
std::string percentile_text(const std::vector<double>& values, double q);

void write_file(const std::string& path, const std::string& text);
/// JSON for files and stdout. Bytes that are no UTF-8 (names of files and hosts may hold any) become U+FFFD.
std::string json_text(const nlohmann::json& j);
/// Whole number of an option, 0 to 2^64 - 1: CLI11 wraps negative ones round and cuts large ones. Throws InputError.
uint64_t parse_u64(const std::string& text, const std::string& option);
/// The same with k, M or G behind it (KiB and so on; an i, a b or both may follow).
uint64_t parse_size(const std::string& text, const std::string& option);
/// Control characters written as \x1b, so that a message is one line whatever a file held.
std::string printable(const std::string& text);

/// A check of an option whose type name says already what is allowed.
inline CLI::Validator quiet_check(CLI::Validator v) { return v.description(""); }

/// A result.json, or that of a run directory. Throws InputError.
nlohmann::json load_result(const std::string& path);

// Subcommands; each returns the exit status through `status`.
void add_stages(CLI::App& app, int& status);
void add_perf(CLI::App& app, int& status);
void add_run(CLI::App& app, int& status);
void add_profile(CLI::App& app, int& status);
void add_regs(CLI::App& app, int& status);
void add_version(CLI::App& app, int& status);
void add_wavecheck(CLI::App& app, int& status);
void add_wavediff(CLI::App& app, int& status);
void add_regress(CLI::App& app, int& status);
void add_sweep(CLI::App& app, int& status);
void add_compare(CLI::App& app, int& status);
void add_arp(CLI::App& app, int& status);
void add_pcie_bench(CLI::App& app, int& status);
void add_counters(CLI::App& app, int& status);
void add_diagnose(CLI::App& app, int& status);
void add_load_bench(CLI::App& app, int& status);
void add_ctx_bench(CLI::App& app, int& status);

}  // namespace rnic::cli
