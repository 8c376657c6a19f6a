// SPDX-License-Identifier: Apache-2.0
// Rules of kind "golden": another wave says what is expected. It is read by a thread of its own, a bounded number of
// changes ahead, so that memory does not grow with either file.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "parameters.h"
#include "sampler.h"

namespace rnic::wave::detail {

/// A text of the rules file and where it stands.
struct Written {
  std::string text;
  Place place;
  bool as_written = false;  ///< names are those of the golden file, and are not translated
};

/// What a rule looks at in the golden file. Kept as text: it is bound once more when a rule needs the file for itself.
struct GoldenSpec {
  std::string file;
  Written clock;
  bool rising = true, falling = false;
  std::optional<Written> cycle, reset, event;
  std::vector<Written> signals;
  std::string scope;
  std::vector<std::string> captures;
  std::optional<std::string> prefix;       ///< takes the place of the scope
  std::map<std::string, std::string> map;  ///< of names and scopes here to those there
  const ParameterValues* parameters = nullptr;
  std::optional<double> from_ns, to_ns;
};

class GoldenStream;
class CycleFeed;
class TransactionFeed;

/// A rule of this kind.
class GoldenRule : public Rule {};

/// The golden files of a run of the sampler.
class GoldenPool {
 public:
  explicit GoldenPool(Sampler& sampler);
  ~GoldenPool();
  GoldenPool(const GoldenPool&) = delete;

  /// For an instance whose rule is a GoldenRule, after Sampler::add. Throws InputError for what the golden file does
  /// not have.
  void attach(Instance& i, GoldenSpec spec);
  /// Begins to read; all instances are attached.
  void start();

  /// Adds what the first signal is in the golden file at the cycles of `around`.
  static void add_row(const Sampler& here, const GoldenSpec& spec, Around& around);

 private:
  Sampler& sampler_;
  std::vector<std::unique_ptr<GoldenSpec>> specs_;
  // Owned by shared_ptr for its deleter: the types are complete in the source alone.
  std::map<std::string, std::shared_ptr<CycleFeed>> by_cycle_;
  std::map<std::string, std::shared_ptr<TransactionFeed>> by_transaction_;
};

}  // namespace rnic::wave::detail
