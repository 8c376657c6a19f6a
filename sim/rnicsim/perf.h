// SPDX-License-Identifier: Apache-2.0
// rnicsim perf: what its parts share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common.h"
#include "rnic/host/verbs.h"
#include "rnic/observe/messages.h"
#include "rnic/observe/resources.h"
#include "sensitivity.h"

namespace rnic::cli {

struct PerfOptions {
  Common common;
  SensitivityOptions sensitivity;
  std::string test;  ///< write_bw, send_bw
  uint64_t size = 65536;
  bool all = false;
  uint64_t iters = 0;  ///< of each QP; 0: as many as kDefaultBytes hold
  unsigned qps = 1;
  unsigned mtu = 4096;
  uint64_t inline_size = 0;
  unsigned tx_depth = 128;
  uint64_t cq_mod = 0;  ///< a completion for every so many messages; 0: not given
  unsigned post_list = 1;
  uint64_t duration_ps = 0;
  bool bidirectional = false, gbits = false, prepost = false;
  host::QpType transport = host::QpType::kUc;
  host::SqWhere sq = host::SqWhere::kDevice;
  host::Space mem = host::Space::kGpu;

  host::WrOpcode opcode() const { return test == "send_bw" ? host::WrOpcode::kSend : host::WrOpcode::kRdmaWrite; }
  bool is_inline() const { return size <= inline_size; }
  /// Blocks of the ring that a message's WQE takes.
  unsigned wqe_blocks() const;
  uint64_t messages() const { return iters * qps; }
  uint64_t packets_each() const { return size == 0 ? 1 : (size + mtu - 1) / mtu; }
};

/// Fills in what was not given, and refuses what does not go together.
void perf_resolve(PerfOptions& o);

/// What the run has shown, in simulated time.
struct PerfMeasured {
  uint64_t first_post_ps = 0, last_completion_ps = 0;
  uint64_t completed = 0;           ///< messages, up to the last completion; with a duration those within it
  std::vector<uint64_t> posted_ps;  ///< of each message, in order of posting
  std::vector<std::pair<uint64_t, uint64_t>> completions;  ///< when, and how many messages were done then
  std::vector<double> post_to_completion_ns;               ///< of the signaled messages
  uint64_t cpu_ps = 0, cpu_since_ps = ~uint64_t{0};        ///< time in the driver; the call that is running
  bool done = false;
};

/// The sender's program: sets up, warms the contexts up, posts and polls as perftest does. For System::spawn.
void perf_sender(System& system, const PerfOptions& o, ResourceMonitor& monitor, const std::function<void()>& started,
                 PerfMeasured& out);

/// One simulation. All sizes: a simulation each, and what they give together.
int perf_one(PerfOptions o);
int perf_all(const PerfOptions& o);

/// perftest's parts: header up to the columns' names, a line, the rule between.
void perf_print_header(const PerfOptions& o, const Profile& p);
std::string perf_row(bool gbits, uint64_t size, uint64_t iterations, double peak_per_s, double average_per_s);
extern const char* const kPerfRule;
/// Options as JSON, and as the arguments of a run of one size.
nlohmann::json perf_options_json(const PerfOptions& o);
std::vector<std::string> perf_arguments(const PerfOptions& o, uint64_t size);

/// The best rate from any post to any completion, as perftest's peak: messages a second.
double peak_messages_per_s(const PerfMeasured& m);

}  // namespace rnic::cli
