// SPDX-License-Identifier: Apache-2.0
// What one figure of a run owes to each key of the profile: every key a little lower and a little higher.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rnic/profile/profile.h"
#include "rnic/study/figures.h"
#include "rnic/study/sweep.h"

namespace rnic::study {

struct VariedKey {
  struct Side {
    std::string value;                                   ///< as --set takes it; empty: there is no such value
    std::string note;                                    ///< why it is not what the percentage says
    std::optional<double> figure;                        ///< what came of it
    std::vector<std::pair<std::string, double>> stages;  ///< whose durations moved, by ns; the largest first
    std::string error;                                   ///< the run failed
  };
  std::string name, unit, nominal;
  Side lo, hi;
  /// The larger of both distances from the nominal figure.
  double effect(double nominal_figure) const;
};

/// Every number of the profile that a run can change, `percent` lower and higher: within what is allowed, on the grid
/// of allowed values, or none where there is none.
std::vector<VariedKey> varied_keys(const Profile& p, double percent);

struct Sensitivity {
  std::string figure;  ///< its name
  double percent = 0, nominal = 0;
  std::vector<VariedKey> keys;  ///< the largest effect first

  bool has_stages() const;  ///< some run has a stage that moved
};

/// One job for each value: `words` with the key set last.
std::vector<Job> jobs_of(const std::vector<VariedKey>& keys, const std::vector<std::string>& words);
/// `outcomes` are those of jobs_of(). Throws InputError when the nominal run has no such figure, naming those it has.
Sensitivity sensitivity_of(std::vector<VariedKey> keys, const std::vector<Outcome>& outcomes, const Figures& nominal,
                           const std::string& figure, double percent);

/// "DMA read -10 / +10 ns"
std::string stages_text(const VariedKey& k);
std::string notes_text(const VariedKey& k);
nlohmann::json to_json(const Sensitivity& s);
/// A page with the tornado chart and the table.
std::string page_of(const Sensitivity& s, const std::string& command);

}  // namespace rnic::study
