// SPDX-License-Identifier: Apache-2.0
#include "rnic/regress/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <utility>

#include "rnic/core/error.h"
#include "text.h"

namespace rnic::regress {
namespace fs = std::filesystem;
namespace {

constexpr size_t kMaxState = size_t{1} << 30;
constexpr const char* kLockFile = ".lock";
/// Everything that a regression writes.
constexpr const char* kOurs[] = {"runs",         kPlanFile,    kJournalFile, "report.html", "junit.xml",
                                 "summary.json", "replay.txt", "coverage",   kSweepCsv,     kSweepPage};

nlohmann::json to_json(const Run& run, const Result& r) {
  nlohmann::json j{{"run", run.index},         {"name", run.name},    {"outcome", r.outcome},
                   {"wave_done", r.wave_done}, {"wall_s", r.wall_s},  {"started_s", r.started_s},
                   {"host", clean(r.host)},    {"metrics", r.metrics}};
  if (!r.passed()) {
    j["reason"] = clean(r.reason);
    j["message"] = clean(r.message);
    j["signature"] = clean(r.signature);
    std::vector<std::string> excerpt;
    for (const auto& l : r.excerpt) excerpt.push_back(clean(l));
    j["excerpt"] = std::move(excerpt);
    j["wave_note"] = clean(r.wave_note);
  }
  std::vector<std::string> waves;
  for (const auto& w : r.waves) waves.push_back(clean(w));
  if (!waves.empty()) j["waves"] = std::move(waves);
  return j;
}

Result from_json(const nlohmann::json& j) {
  static const std::vector<std::string> kOutcomes{"passed", "failed", "rule", "metric", "crashed", "timeout", "error"};
  Result r;
  r.outcome = j.at("outcome");
  if (std::find(kOutcomes.begin(), kOutcomes.end(), r.outcome) == kOutcomes.end())
    throw std::runtime_error(fmt::format("unknown outcome '{}'", r.outcome));
  r.wave_done = j.at("wave_done");
  r.wall_s = j.at("wall_s");
  r.started_s = j.at("started_s");
  r.host = j.at("host");
  r.metrics = j.at("metrics").get<std::map<std::string, double>>();
  r.reason = j.value("reason", "");
  r.message = j.value("message", "");
  r.signature = j.value("signature", "");
  r.wave_note = j.value("wave_note", "");
  r.excerpt = j.value("excerpt", std::vector<std::string>());
  r.waves = j.value("waves", std::vector<std::string>());
  return r;
}

/// Results of a journal, and how much of it is whole: a process that was killed may have left half a line, or a disk
/// that went away a block of zeros.
std::pair<Results, size_t> read_journal(const std::string& path, const Plan& plan) {
  std::map<size_t, const Run*> runs;
  for (const auto& r : plan.runs) runs[r.index] = &r;
  const std::string text = read_text(path, kMaxState);
  Results out;
  size_t whole = 0, bad_line = 0;
  std::string bad;
  size_t number = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    if (end == std::string::npos) break;
    ++number;
    try {
      const auto j = nlohmann::json::parse(text.begin() + static_cast<std::ptrdiff_t>(at),
                                           text.begin() + static_cast<std::ptrdiff_t>(end));
      const auto run = runs.find(j.at("run").get<size_t>());
      if (run == runs.end() || j.at("name") != run->second->name)
        throw std::runtime_error("is the result of a run that the plan does not have");
      if (bad_line != 0) throw InputError(path, static_cast<unsigned>(bad_line), "", bad);
      out[run->first] = from_json(j);
      whole = end + 1;
    } catch (const InputError&) {
      throw;
    } catch (const std::exception& e) {
      if (bad_line == 0) {
        bad_line = number;
        bad =
            fmt::format("is damaged, and good lines follow: {}; remove the line, and its run is made again", e.what());
      }
    }
    at = end + 1;
  }
  return {std::move(out), whole};
}

std::string join(const std::string& dir, const char* name) { return (fs::path(dir) / name).string(); }

nlohmann::json read_plan_json(const std::string& dir) {
  const auto path = join(dir, kPlanFile);
  try {
    auto j = nlohmann::json::parse(read_text(path, kMaxState));
    if (!j.is_object()) throw InputError(path, 0, "", "is not a plan that rnicsim has written");
    return j;
  } catch (const nlohmann::json::exception& e) {
    throw InputError(path, 0, "", fmt::format("is cut off or damaged: {}", e.what()));
  }
}

void sync_directory(const std::string& dir) {
  const int fd = open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  fsync(fd);
  close(fd);
}

void remove_ours(const std::string& dir) {
  // The plan goes last: without it the rest would pass for somebody else's.
  for (const char* name : kOurs) {
    std::error_code ec;
    if (std::strcmp(name, kPlanFile) != 0) fs::remove_all(fs::path(dir) / name, ec);
    if (ec) throw InputError(join(dir, name), 0, "", fmt::format("cannot be removed: {}", ec.message()));
  }
  std::error_code ec;
  fs::remove(fs::path(dir) / kPlanFile, ec);
}

/// Locks `dir`, which is made if it is not there.
int lock(const std::string& dir, const std::string& what) {
  std::error_code ec;
  fs::create_directories(dir, ec);
  if (!fs::is_directory(dir, ec))
    throw InputError(dir, 0, "", fmt::format("cannot be made a folder: {}", ec.message()));
  const auto path = join(dir, kLockFile);
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) throw InputError(path, 0, "", fmt::format("cannot be written: {}", std::strerror(errno)));
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    close(fd);
    throw InputError(dir, 0, "",
                     fmt::format("is in use by another {} that is running; wait for it, or give another -o DIR", what));
  }
  return fd;
}

/// Throws when there is something of our names that is not ours.
void refuse_foreign(const std::string& dir, const std::string& what) {
  for (const char* name : kOurs) {
    std::error_code ec;
    if (fs::exists(fs::path(dir) / name, ec)) {
      throw InputError(
          dir, 0, "",
          fmt::format("holds {}, but no {}: it is not a {}'s folder; give another -o DIR", name, kPlanFile, what));
    }
  }
}

void refuse_other(const std::string& dir, const Plan& kept, const std::string& what) {
  if (kept.what == what) return;
  throw InputError(dir, 0, "", fmt::format("holds a {}, and not a {}; give another folder", kept.what, what));
}

nlohmann::json shard_json(const Shard& s) { return {{"index", s.index}, {"count", s.count}}; }

Shard shard_from(const nlohmann::json& j, const std::string& path) {
  try {
    Shard s{j.at("shard").at("index").get<unsigned>(), j.at("shard").at("count").get<unsigned>()};
    if (s.index < 1 || s.index > s.count) throw InputError(path, 0, "shard", "is out of range");
    return s;
  } catch (const nlohmann::json::exception& e) {
    throw InputError(path, 0, "shard", fmt::format("is damaged: {}", e.what()));
  }
}

}  // namespace

std::vector<Run> runs_of(const Plan& plan, const Shard& shard) {
  std::vector<Run> out;
  for (size_t i = 0; i < plan.runs.size(); ++i) {
    if (i % shard.count == shard.index - 1) out.push_back(plan.runs[i]);
  }
  return out;
}

Journal::Journal(const std::string& dir, const Plan& plan, const Shard& shard, Mode mode)
    : dir_(fs::absolute(dir).lexically_normal().string()) {
  lock_ = lock(dir_, plan.what);
  try {
    const auto plan_path = join(dir_, kPlanFile), journal_path = join(dir_, kJournalFile);
    bool fresh = true;
    std::error_code ec;
    if (!fs::exists(plan_path, ec)) {
      refuse_foreign(dir_, plan.what);
    } else if (mode == Mode::kFresh) {
      const auto j = nlohmann::json::parse(read_text(plan_path, kMaxState), nullptr, false);
      const auto kind = j.is_object() ? j.value("kind", nlohmann::json()) : nlohmann::json();
      if (kind.is_string() && kind != to_json(plan)["kind"])  // what is damaged is replaced
        throw InputError(dir_, 0, "", fmt::format("is not a {}'s folder: its plan is a {}", plan.what, kind.dump()));
    } else {
      const auto j = read_plan_json(dir_);
      const Plan kept = plan_from_json(j, plan_path);
      refuse_other(dir_, kept, plan.what);
      const Shard kept_shard = shard_from(j, plan_path);
      Results results;
      size_t whole = 0;
      if (fs::exists(journal_path, ec)) std::tie(results, whole) = read_journal(journal_path, kept);
      const size_t wanted = runs_of(kept, kept_shard).size();
      const bool same = kept.hash == plan.hash && kept_shard.index == shard.index && kept_shard.count == shard.count;
      if (mode == Mode::kResume) {
        if (!same) {
          throw InputError(
              dir_, 0, "",
              fmt::format("holds shard {}/{} of plan {} in another state (hash {}, now {}): results of two "
                          "plans are not mixed. Resume with the {} "
                          "that it was begun with, or start anew with --fresh",
                          kept_shard.index, kept_shard.count, kept.name, kept.hash, plan.hash,
                          plan.what == "regression" ? "plan, --seed, --only, --label and --shard"
                                                    : "values, command and --shard"));
        }
        if (fs::exists(journal_path, ec) && truncate(journal_path.c_str(), static_cast<off_t>(whole)) != 0)
          throw InputError(journal_path, 0, "", fmt::format("cannot be cut: {}", std::strerror(errno)));
        results_ = std::move(results);
        other_program_ = kept.program != plan.program;
        fresh = false;
      } else if (results.size() < wanted) {
        throw InputError(dir_, 0, "",
                         fmt::format("holds an unfinished {}, {} of {} runs done: go on with --resume, or start "
                                     "anew with --fresh",
                                     kept.what, results.size(), wanted));
      }
    }
    if (fresh) {
      remove_ours(dir_);
      auto j = to_json(plan);
      j["shard"] = shard_json(shard);
      write_whole(plan_path, j.dump(1) + "\n");
    }
    file_ = open(journal_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (file_ < 0) throw InputError(journal_path, 0, "", fmt::format("cannot be written: {}", std::strerror(errno)));
    sync_directory(dir_);
  } catch (...) {
    if (file_ >= 0) close(file_);
    close(lock_);
    throw;
  }
}

Journal::~Journal() {
  if (file_ >= 0) close(file_);
  if (lock_ >= 0) close(lock_);
}

void Journal::close_in_child() const {
  close(lock_);
  close(file_);
}

void Journal::record(const Run& run, const Result& result) {
  const std::string line = to_json(run, result).dump() + "\n";
  for (size_t done = 0; done < line.size();) {
    const ssize_t n = write(file_, line.data() + done, line.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0)
      throw InputError(join(dir_, kJournalFile), 0, "", fmt::format("cannot be written: {}", std::strerror(errno)));
    done += static_cast<size_t>(n);
  }
  fsync(file_);
  results_[run.index] = result;
}

Kept read_directory(const std::string& dir, const std::string& what) {
  std::error_code ec;
  if (!fs::is_directory(dir, ec)) throw InputError(dir, 0, "", "there is no such folder");
  const auto path = join(dir, kPlanFile);
  if (!fs::exists(path, ec)) {
    throw InputError(dir, 0, "", fmt::format("is not a {}'s folder: it has no {}", what, kPlanFile));
  }
  const auto j = read_plan_json(dir);
  Kept k{dir, plan_from_json(j, path), shard_from(j, path), {}};
  refuse_other(dir, k.plan, what);
  const auto journal = join(dir, kJournalFile);
  if (fs::exists(journal, ec)) k.results = read_journal(journal, k.plan).first;
  return k;
}

Kept merge(const std::vector<std::string>& dirs, const std::string& out, bool partial, bool replace,
           const std::string& what) {
  std::vector<Kept> shards;
  for (const auto& d : dirs) {
    std::error_code ec;
    if (fs::exists(out, ec) && fs::equivalent(d, out, ec))
      throw InputError(out, 0, "-o", "is one of the shards' folders");
    shards.push_back(read_directory(d, what));
  }
  const Kept& first = shards.front();
  const unsigned count = first.shard.count;
  std::map<unsigned, std::string> seen;
  for (const auto& s : shards) {
    if (s.plan.hash != first.plan.hash) {
      throw InputError(
          s.dir, 0, "",
          fmt::format("is of another plan than {}: {} with hash {}, not {} with hash {}; all shards need the same {}",
                      first.dir, s.plan.name, s.plan.hash, first.plan.name, first.plan.hash,
                      what == "regression" ? "plan, --seed, --only and --label" : "values and command"));
    }
    if (s.shard.count != count) {
      throw InputError(s.dir, 0, "",
                       fmt::format("is shard {}/{}, and {} is shard {}/{}: they are not of one division", s.shard.index,
                                   s.shard.count, first.dir, first.shard.index, count));
    }
    if (!seen.emplace(s.shard.index, s.dir).second) {
      throw InputError(s.dir, 0, "",
                       fmt::format("is shard {}/{}, and so is {}", s.shard.index, count, seen[s.shard.index]));
    }
    const size_t wanted = runs_of(s.plan, s.shard).size();
    if (!partial && s.results.size() < wanted) {
      throw InputError(
          s.dir, 0, "",
          fmt::format("shard {}/{} is unfinished, {} of {} runs done: resume it, or merge what there is with "
                      "--partial",
                      s.shard.index, count, s.results.size(), wanted));
    }
  }
  if (!partial && seen.size() != count) {
    std::vector<std::string> missing;
    for (unsigned i = 1; i <= count; ++i) {
      if (seen.count(i) == 0) missing.push_back(fmt::format("{}/{}", i, count));
    }
    throw InputError("", 0, "",
                     fmt::format("missing: shard {}; give all folders, or merge what there is with --partial",
                                 fmt::join(missing, ", ")));
  }

  std::sort(shards.begin(), shards.end(), [](const Kept& a, const Kept& b) { return a.shard.index < b.shard.index; });
  // Opened as if it were to be run: the same lock, the same refusal of what is not ours.
  Journal journal(out, first.plan, Shard{}, replace ? Journal::Mode::kFresh : Journal::Mode::kNew);
  std::error_code ec;
  {
    // The first shard's plan as it is: what was relative to its start stays so.
    auto j = read_plan_json(first.dir);
    j["shard"] = shard_json(Shard{});
    write_whole(join(out, kPlanFile), j.dump(1) + "\n");
  }
  for (const auto& s : shards) {
    for (const auto& run : runs_of(s.plan, s.shard)) {
      const auto r = s.results.find(run.index);
      if (r == s.results.end()) continue;
      const auto from = fs::path(s.dir) / run.dir, to = fs::path(out) / run.dir;
      fs::create_directories(to, ec);
      // Linked where that works: waveforms and coverage can be large.
      fs::copy(from, to, fs::copy_options::recursive | fs::copy_options::create_hard_links, ec);
      if (ec) {
        ec.clear();
        fs::remove_all(to, ec);
        fs::create_directories(to, ec);
        fs::copy(from, to, fs::copy_options::recursive | fs::copy_options::copy_symlinks, ec);
      }
      if (ec)
        throw InputError(from.string(), 0, "", fmt::format("cannot be copied to {}: {}", to.string(), ec.message()));
      journal.record(run, r->second);
    }
  }
  return {out, first.plan, Shard{}, journal.results()};
}

}  // namespace rnic::regress
