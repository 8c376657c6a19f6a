// SPDX-License-Identifier: Apache-2.0
// From the counters of a run to what was wrong in it: a table of causes, each with the signature that it leaves. What a
// cause brings about besides (completions flushed behind an error, answers that come after a reset) is put down to it.
// docs/diagnosis.md holds the same table.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace rnic::diagnose {

enum class Severity : uint8_t {
  kNotice,   ///< somebody wanted it
  kWarning,  ///< nothing was lost, but time
  kError,    ///< requests failed; each was reported
  kFatal,    ///< completions were lost, or the device was
};
const char* to_string(Severity s);

/// What can be wrong.
struct Cause {
  const char* id;
  Severity severity;
  const char* what;       ///< one line
  const char* signature;  ///< in words: which counters show it
  const char* remedy;
  const char* injection;  ///< how to bring it about
};
/// The whole table, the gravest first.
const std::vector<Cause>& causes();

/// Counters and other figures of one node. Names of figures beside the counters: pcie.failed_reads.gpu.ur,
/// pcie.refused.unpinned_read, pcie.credits.nph.none_ps and so on, as their place in result.json.
struct State {
  std::string node;
  std::map<std::string, uint64_t> figures;
  std::string health;  ///< empty: not told
  bool has(const std::string& name) const { return figures.count(name) != 0; }
  uint64_t operator()(const std::string& name) const;  ///< 0 when it is not there
};
/// The nodes of a result.json. Throws InputError, naming `file` and the key, for what is none.
std::vector<State> read_states(const nlohmann::json& result, const std::string& file);

struct Evidence {
  std::string figure;
  uint64_t value;
};
struct Finding {
  const Cause* cause;
  std::string node;
  uint64_t count;  ///< how often; of stalls: per cent of the time
  std::vector<Evidence> evidence;
  std::string where;  ///< "host memory", "GPU memory", ...; may be empty
};
/// Likely causes, the gravest first, then the most frequent. Empty: nothing is wrong.
std::vector<Finding> diagnose(const State& state);

nlohmann::json to_json(const std::vector<Finding>& findings);

}  // namespace rnic::diagnose
