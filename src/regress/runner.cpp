// SPDX-License-Identifier: Apache-2.0
#include "rnic/regress/runner.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <fstream>
#include <list>
#include <memory>
#include <optional>

#include "process.h"
#include "rnic/core/error.h"
#include "text.h"

namespace rnic::regress {
namespace fs = std::filesystem;
namespace {

constexpr size_t kLogHead = 4 << 20, kLogTail = 1 << 20;  // of a log, what is searched for an error
constexpr size_t kMaxJobs = 1024;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
double wall_clock() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// What the signal handler needs: the groups to kill at a second signal, and where to wake the loop.
std::array<volatile std::sig_atomic_t, kMaxJobs> g_groups;
volatile std::sig_atomic_t g_signal = 0;
int g_wake = -1;

void on_signal(int signal) {
  const int saved = errno;
  if (g_signal != 0) {
    for (const auto& g : g_groups) {
      if (g != 0) kill(-static_cast<pid_t>(g), SIGKILL);
    }
    _exit(130);
  }
  g_signal = signal;
  const char c = 0;
  if (write(g_wake, &c, 1) < 0) {
  }
  errno = saved;
}

/// SIGINT, SIGTERM and SIGHUP wake the loop while this lives.
class Signals {
 public:
  Signals() {
    if (pipe2(pipe_, O_CLOEXEC | O_NONBLOCK) != 0) throw SimError("cannot make a pipe");
    g_signal = 0;
    g_wake = pipe_[1];
    struct sigaction action {};
    action.sa_handler = on_signal;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &action, &old_[i]);
  }
  ~Signals() {
    for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &old_[i], nullptr);
    g_wake = -1;
    close(pipe_[0]);
    close(pipe_[1]);
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  int fd() const { return pipe_[0]; }
  void drain() const {
    char buffer[16];
    while (read(pipe_[0], buffer, sizeof buffer) > 0) {
    }
  }

 private:
  static constexpr std::array<int, 3> kSignals{SIGINT, SIGTERM, SIGHUP};
  int pipe_[2] = {-1, -1};
  std::array<struct sigaction, 3> old_{};
};

/// Head and tail of a log: an endless one must not fill the memory.
std::string read_log(const std::string& path) {
  std::ifstream f(path, std::ios::binary);
  std::string head(kLogHead, '\0');
  f.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<size_t>(f.gcount()));
  if (!f) return head;
  f.seekg(0, std::ios::end);
  const auto size = static_cast<size_t>(f.tellg());
  const size_t from = std::max(head.size(), size > kLogTail ? size - kLogTail : 0);
  f.seekg(static_cast<std::streamoff>(from));
  std::string tail(size - from, '\0');
  f.read(tail.data(), static_cast<std::streamsize>(tail.size()));
  tail.resize(static_cast<size_t>(f.gcount()));
  return head + "\n" + tail;
}

bool is_wave(const fs::path& p) { return p.extension() == ".fst" || p.extension() == ".vcd"; }

/// Waveforms below `dir`, at most a few folders deep, with something in them.
std::vector<std::string> waves_in(const std::string& dir) {
  std::vector<std::string> out;
  std::error_code ec;
  for (fs::recursive_directory_iterator it(dir, ec), end; !ec && it != end; it.increment(ec)) {
    if (it.depth() >= 3) it.disable_recursion_pending();
    std::error_code ignored;
    if (is_wave(it->path()) && it->is_regular_file(ignored) && it->file_size(ignored) > 0)
      out.push_back(it->path().lexically_relative(dir).string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

/// Waveforms and what belongs to them.
void remove_waves(const std::string& dir) {
  for (const auto& w : waves_in(dir)) {
    std::error_code ec;
    auto path = fs::path(dir) / w;
    fs::remove(path, ec);
    fs::remove(path.string() + ".hier", ec);
    for (const char* kind : {".gtkw", ".sucl"}) fs::remove(path.replace_extension(kind), ec);
  }
}

/// The first failed rule of wavecheck's JUnit file.
struct FailedRule {
  std::string name, file, message;
  std::string first;  ///< "at 9089.000 ns, cycle 9089"; empty for rules that never happened
};
std::optional<FailedRule> failed_rule(const std::string& junit) {
  std::string text;
  try {
    text = read_text(junit, 256 << 20);
  } catch (const InputError&) {
    return std::nullopt;
  }
  const auto plain = [](std::string v) {
    for (const auto& [code, c] :
         {std::pair{"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&#39;", "'"}, {"&amp;", "&"}})
      v = replaced(v, code, c);
    return v;
  };
  const auto attribute = [&](const std::string& name, size_t from, size_t to) {
    const size_t at = text.find(" " + name + "=\"", from);
    if (at == std::string::npos || at > to) return std::string();
    const size_t begin = at + name.size() + 3, end = text.find('"', begin);
    return end == std::string::npos ? "" : plain(text.substr(begin, end - begin));
  };
  for (size_t at = text.find("<testcase"); at != std::string::npos;) {
    const size_t next = std::min(text.find("<testcase", at + 1), text.size());
    const size_t bad = std::min(text.find("<failure", at), text.find("<error", at));
    if (bad < next) {
      FailedRule r{attribute("name", at, bad), attribute("file", at, bad), attribute("message", bad, next), ""};
      const size_t first = text.find("first at ", bad), end = text.find(": ", first);
      if (first < next && end < next) r.first = plain(text.substr(first + 6, end - first - 6));
      return r;
    }
    at = next == text.size() ? std::string::npos : next;
  }
  return std::nullopt;
}

/// The instant that a message speaks of, in ns: "at 123.4 ns", or Verilator's "[123400] %Error" in ps.
std::optional<double> instant_of(const Result& r) {
  std::vector<std::string> lines{r.message};
  lines.insert(lines.end(), r.excerpt.begin(), r.excerpt.end());
  for (const auto& l : lines) {
    for (size_t at = l.find("at "); at != std::string::npos; at = l.find("at ", at + 1)) {
      char* end = nullptr;
      const double v = std::strtod(l.c_str() + at + 3, &end);
      if (end != l.c_str() + at + 3 && std::string(end, std::min<size_t>(3, l.c_str() + l.size() - end)) == " ns" &&
          std::isfinite(v) && v >= 0)
        return v;
    }
    const size_t open = l.find('['), shut = l.find("] %Error");
    if (open != std::string::npos && shut != std::string::npos && open < shut) {
      char* end = nullptr;
      const double v = std::strtod(l.c_str() + open + 1, &end);
      if (end == l.c_str() + shut) return v / 1000;
    }
  }
  return std::nullopt;
}

class Runner {
 public:
  Runner(const Plan& plan, const RunnerOptions& options, Journal& journal)
      : plan_(plan), options_(options), journal_(journal) {
    std::array<char, 256> host{};
    gethostname(host.data(), host.size() - 1);
    host_ = host.data();
    std::error_code ec;
    const auto exe = fs::read_symlink("/proc/self/exe", ec);
    program_ = ec ? options.program : exe.string();
  }

  End run();

 private:
  enum class Phase { kMain, kRules, kWave };
  struct Job {
    Run run;
    Result result;
    Phase phase = Phase::kMain;
    std::string trace;
    std::optional<Process> process;
    double begun = 0, deadline = 0;
    bool timed_out = false, killed = false;
    double kill_at = 0;
  };

  const Test& test_of(const Job& j) const { return plan_.test_of(j.run); }
  std::string dir_of(const Job& j) const { return (fs::path(journal_.dir()) / j.run.dir).string(); }
  bool traced_at_once(const Test& t) const { return !t.wave.empty() && (!t.rules.empty() || plan_.waves == "all"); }

  void begin(Job& j);
  void begin_main(Job& j);
  void begin_rules(Job& j);
  void begin_wave(Job& j, const std::string& trace);
  void launch(Job& j, Command c);
  /// True when the job is done.
  bool ended(Job& j);
  bool main_ended(Job& j, const Ended& e);
  bool rules_ended(Job& j, const Ended& e);
  bool wave_ended(Job& j, const Ended& e);
  bool conclude(Job& j);
  void judge(Result& r, const Test& t, const Ended& e, bool timed_out, const std::string& log, const std::string& dir);
  void read_metrics(Job& j);
  void remove_unwanted(const std::string& dir) const;
  /// Without what differs from one machine or folder to another: reports of shards are to be those of one run.
  std::string unplaced(const std::string& text, const std::string& dir) const {
    auto s = replaced(replaced(text, dir, "{dir}"), journal_.dir(), "{out}");
    s = replaced(s, program_, "rnicsim");
    if (plan_.what == "regression") s = replaced(s, plan_.dir + "/", "{plan}/");
    return plan_.cwd == "/" ? s : replaced(s, plan_.cwd + "/", "");
  }

  void say_failed(const Job& j);
  void progress(bool force);
  void clear_line() {
    if (line_shown_) fmt::print(stderr, "\r\x1b[K");
    line_shown_ = false;
  }

  const Plan& plan_;
  const RunnerOptions& options_;
  Journal& journal_;
  std::string host_, program_;
  std::list<Job> running_;
  size_t total_ = 0, done_ = 0, failed_ = 0, done_here_ = 0;
  double begun_ = 0, shown_ = 0;
  bool line_shown_ = false;
};

void Runner::launch(Job& j, Command c) {
  const auto& t = test_of(j);
  c.cwd = plan_.cwd;
  j.begun = now();
  j.deadline = j.begun + t.timeout_s;
  j.timed_out = j.killed = false;
  j.process.emplace(c, [this] { journal_.close_in_child(); });
}

void Runner::begin_main(Job& j) {
  const auto& t = test_of(j);
  const auto dir = dir_of(j);
  std::error_code ec;
  fs::remove_all(dir, ec);  // an attempt that was interrupted
  fs::create_directories(dir, ec);
  if (ec) throw InputError(dir, 0, "", fmt::format("cannot be made: {}", ec.message()));
  j.phase = Phase::kMain;
  j.trace = traced_at_once(t) ? "full" : "none";
  j.result = {};
  j.result.host = host_;
  j.result.started_s = wall_clock();
  begin(j);
}

void Runner::begin(Job& j) {
  const auto& t = test_of(j);
  std::string dir = dir_of(j);
  if (j.phase == Phase::kWave) dir += "/wave";
  const auto words = words_of(plan_, j.run, {dir, j.trace, program_});
  Command c;
  const auto split = words.begin() + static_cast<std::ptrdiff_t>(t.env.size());
  for (auto e = words.begin(); e != split; ++e) {
    const size_t eq = e->find('=');
    c.env.emplace_back(e->substr(0, eq), e->substr(eq + 1));
  }
  c.words.assign(split, words.end());
  c.self = t.command[0] == "rnicsim";
  if (j.run.seed) {
    c.env.emplace_back("RNIC_TEST_SEED", std::to_string(*j.run.seed));
  } else {
    c.unset.emplace_back("RNIC_TEST_SEED");
  }
  if (plan_.coverage && j.phase == Phase::kMain) {
    std::error_code ec;
    fs::create_directories(dir + "/coverage", ec);
    c.env.emplace_back("RNICSIM_COVERAGE_DIR", dir + "/coverage");
  } else if (plan_.coverage) {
    c.unset.emplace_back("RNICSIM_COVERAGE_DIR");  // the second run of a failure counts nothing
  }
  c.log = dir + "/log.txt";
  launch(j, std::move(c));
}

void Runner::begin_rules(Job& j) {
  const auto dir = dir_of(j);
  j.phase = Phase::kRules;
  Command c;
  c.words = {program_, "wavecheck"};
  const auto& rules = test_of(j).rules;
  c.words.insert(c.words.end(), rules.begin(), rules.end());
  c.words.insert(c.words.end(), {dir + "/" + j.result.waves.front(), "--junit", dir + "/wavecheck.xml", "--html",
                                 dir + "/wavecheck.html"});
  if (j.run.seed) c.words.insert(c.words.end(), {"--seed", std::to_string(*j.run.seed)});
  c.self = true;
  c.log = dir + "/wavecheck.txt";
  launch(j, std::move(c));
}

void Runner::begin_wave(Job& j, const std::string& trace) {
  const auto dir = dir_of(j) + "/wave";
  std::error_code ec;
  fs::remove_all(dir, ec);
  fs::create_directories(dir, ec);
  j.phase = Phase::kWave;
  j.trace = trace;
  begin(j);
}

void Runner::judge(Result& r, const Test& t, const Ended& e, bool timed_out, const std::string& log,
                   const std::string& dir) {
  const bool own = t.command[0] == "rnicsim";
  std::string error;
  if (timed_out) {
    r.outcome = "timeout";
    r.reason = fmt::format("timeout after {}", duration(t.timeout_s));
  } else if (!e.known) {
    r.outcome = "crashed";
    r.reason = "killed by SIGKILL";
  } else if (e.exec_error != 0) {
    r.outcome = "error";
    r.reason = "cannot be started";
    error = fmt::format("{}: {}", t.command[0], std::strerror(e.exec_error));
  } else if (WIFSIGNALED(e.status)) {
    r.outcome = "crashed";
    r.reason = "killed by " + signal_name(WTERMSIG(e.status));
  } else if (const int status = WEXITSTATUS(e.status); status == t.expect) {
    r.outcome = "passed";
    return;
  } else {
    r.outcome = own && (status == 2 || status == 3) ? "error" : "failed";
    r.reason = fmt::format("exit {}", status);
    if (own && status == 1) r.reason += ", a check failed";
    if (own && status == 2) r.reason += ", bad usage or input";
    if (own && status == 3) r.reason += ", hang or internal error";
    if (t.expect != 0) r.reason += fmt::format(" ({} was expected)", t.expect);
  }
  const auto found = find_error(unplaced(read_log(log), dir));
  r.message = error.empty() ? found.message : error;
  r.excerpt = found.excerpt;
  // How far a run that was stopped has come says nothing about why.
  r.signature = r.outcome == "timeout" ? fmt::format("{} in {}", r.reason, t.name)
                : r.message.empty()    ? fmt::format("{} in {}, nothing printed", r.reason, t.name)
                                       : fmt::format("{}: {}", r.reason, normalized(r.message));
}

void Runner::read_metrics(Job& j) {
  for (const auto& m : test_of(j).metrics) {
    std::string what;
    try {
      const auto text = read_text((fs::path(dir_of(j)) / m.file).string(), 256 << 20);
      const auto file = nlohmann::json::parse(text);
      const nlohmann::json::json_pointer pointer(m.pointer);
      if (!file.contains(pointer)) {
        what = fmt::format("{} has no {}", m.file, m.pointer);
      } else if (!file.at(pointer).is_number()) {
        what = fmt::format("{} in {} is {} and no number", m.pointer, m.file, file.at(pointer).type_name());
      } else {
        j.result.metrics[m.name] = file.at(pointer);
      }
    } catch (const InputError&) {
      what = fmt::format("the run left no {} in {{dir}}", m.file);
    } catch (const nlohmann::json::exception&) {
      what = fmt::format("{} is no JSON", m.file);
    }
    // What failed by itself may have left none; what it has left is shown.
    if (what.empty() || !j.result.passed()) continue;
    j.result.outcome = "metric";
    j.result.reason = "no value of a metric";
    j.result.message = fmt::format("metric {}: {}", m.name, what);
    j.result.signature = j.result.message;
    return;
  }
}

void Runner::remove_unwanted(const std::string& dir) const {
  if (plan_.keep.empty()) return;
  std::error_code ec;
  std::vector<fs::path> unwanted;
  for (fs::directory_iterator it(dir, ec), end; !ec && it != end; it.increment(ec)) {
    const auto name = it->path().filename().string();
    if (std::find(plan_.keep.begin(), plan_.keep.end(), name) == plan_.keep.end()) unwanted.push_back(it->path());
  }
  for (const auto& u : unwanted) fs::remove_all(u, ec);
}

/// The run has a result: it is recorded, and made again when its waveform is wanted.
bool Runner::conclude(Job& j) {
  auto& r = j.result;
  const auto dir = dir_of(j);
  if (r.passed() || r.outcome == "rule" || r.outcome == "failed") read_metrics(j);
  if (r.passed() && plan_.waves != "all") {
    remove_waves(dir);
    r.waves.clear();
  } else {
    r.waves = waves_in(dir);
  }
  const bool again = !r.passed() && plan_.waves != "none" && !test_of(j).wave.empty() && r.waves.empty();
  r.wave_done = !again;
  if (!r.passed() && !again && r.waves.empty())
    r.wave_note = plan_.waves == "none" ? "the plan wants no waveforms" : "the command has no {trace}";
  journal_.record(j.run, r);
  ++done_;
  ++done_here_;
  if (!r.passed()) {
    ++failed_;
    say_failed(j);
  }
  if (!again) {
    if (r.passed()) remove_unwanted(dir);
    return true;
  }
  begin_wave(j, trace_of(test_of(j).wave, r));
  return false;
}

bool Runner::main_ended(Job& j, const Ended& e) {
  const auto dir = dir_of(j);
  judge(j.result, test_of(j), e, j.timed_out, dir + "/log.txt", dir);
  j.result.wall_s = now() - j.begun;
  if (!j.result.passed() || test_of(j).rules.empty()) return conclude(j);
  j.result.waves = waves_in(dir);
  if (j.result.waves.empty()) {
    j.result.outcome = "rule";
    j.result.reason = "no waveform for the rules";
    j.result.message = "the run left no .fst or .vcd in {dir}: its command needs -o {dir} and --trace {trace}";
    j.result.signature = j.result.message;
    return conclude(j);
  }
  begin_rules(j);
  return false;
}

bool Runner::rules_ended(Job& j, const Ended& e) {
  const auto dir = dir_of(j);
  auto& r = j.result;
  r.wall_s += now() - j.begun;
  const int status = e.known && e.exec_error == 0 && WIFEXITED(e.status) && !j.timed_out ? WEXITSTATUS(e.status) : -1;
  if (status == 0) return conclude(j);
  const auto log = dir + "/wavecheck.txt";
  r.outcome = "rule";
  const auto rule = status == 1 ? failed_rule(dir + "/wavecheck.xml") : std::nullopt;
  if (rule) {
    r.reason = fmt::format("rule of {}", fs::path(rule->file).filename().string());
    r.message = fmt::format("{}: {}{}", rule->name, rule->message, rule->first.empty() ? "" : ", " + rule->first);
    r.signature = fmt::format("{}: {}: {}", r.reason, rule->name, normalized(rule->message));
    // What wavecheck prints about it begins at the rule's own line, and further rules follow.
    const auto text = unplaced(read_log(log), dir);
    size_t at = text.find(rule->name);
    at = at == std::string::npos || text.rfind('\n', at) == std::string::npos ? 0 : text.rfind('\n', at) + 1;
    r.excerpt.clear();
    while (at < text.size() && r.excerpt.size() < 16) {
      const size_t end = std::min(text.find('\n', at), text.size());
      if (!r.excerpt.empty() && text[at] != ' ') break;
      r.excerpt.push_back(clean(text.substr(at, std::min<size_t>(end - at, 400))));
      at = end + 1;
    }
    return conclude(j);
  }
  Result how;
  judge(how, test_of(j), e, j.timed_out, log, dir);
  r.excerpt = how.excerpt;
  r.message = how.message;
  r.reason = fmt::format("wavecheck: {}", how.reason);
  r.signature = fmt::format("{}: {}", r.reason, normalized(how.message));
  return conclude(j);
}

bool Runner::wave_ended(Job& j, const Ended& e) {
  auto& r = j.result;
  const auto dir = dir_of(j), wave_dir = dir + "/wave";
  Result second;
  judge(second, test_of(j), e, j.timed_out, wave_dir + "/log.txt", wave_dir);
  auto waves = waves_in(wave_dir);
  // A crash leaves no chance to write a window afterwards.
  if (waves.empty() && j.trace != "full") {
    begin_wave(j, "full");
    return false;
  }
  for (const auto& w : waves) r.waves.push_back("wave/" + w);
  r.wave_note.clear();
  if (second.outcome != r.outcome || second.reason != r.reason) {
    r.wave_note = fmt::format("the run with the waveform ended otherwise ({}): it is not deterministic",
                              second.passed() ? "passed" : second.reason);
    // With a waveform a run is many times slower: that alone is no difference.
    if (second.outcome == "timeout") r.wave_note = "with a waveform the run reached its time limit first";
  } else if (waves.empty()) {
    r.wave_note = "the command left no waveform";
  }
  r.wave_done = true;
  journal_.record(j.run, r);
  return true;
}

bool Runner::ended(Job& j) {
  const Ended e = j.process->finish();
  j.process.reset();
  switch (j.phase) {
    case Phase::kMain:
      return main_ended(j, e);
    case Phase::kRules:
      return rules_ended(j, e);
    case Phase::kWave:
      return wave_ended(j, e);
  }
  return true;
}

void Runner::say_failed(const Job& j) {
  if (options_.quiet) return;
  clear_line();
  spdlog::error("failed: {}: {}{}{}", j.run.name, j.result.reason, j.result.message.empty() ? "" : ": ",
                clean(j.result.message));
}

void Runner::progress(bool force) {
  if (options_.quiet || total_ == 0) return;
  const double t = now();
  if (options_.terminal) {
    if (!force && t - shown_ < 0.2) return;
  } else if (!(t - shown_ >= 30 ||
               (t - shown_ >= 2 && done_here_ > 0 && done_ * 10 / total_ != (done_ - 1) * 10 / total_))) {
    return;
  }
  shown_ = t;
  std::string eta;
  if (done_here_ > 0 && done_ < total_) {
    eta = fmt::format(", about {} left", duration(std::ceil((t - begun_) / static_cast<double>(done_here_) *
                                                            static_cast<double>(total_ - done_))));
  }
  const auto text = fmt::format("{}/{} runs done, {} failed{}", done_, total_, failed_, eta);
  if (options_.terminal) {
    fmt::print(stderr, "\r\x1b[K{}", text);
    std::fflush(stderr);
    line_shown_ = true;
  } else {
    spdlog::info("{}", text);
  }
}

End Runner::run() {
  struct Todo {
    Run run;
    bool wave;
  };
  std::deque<Todo> todo;
  const auto runs = runs_of(plan_, options_.shard);
  total_ = runs.size();
  for (const auto& r : runs) {
    const auto known = journal_.results().find(r.index);
    if (known == journal_.results().end()) {
      todo.push_back({r, false});
    } else {
      ++done_;
      failed_ += known->second.passed() ? 0 : 1;
      if (!known->second.wave_done) todo.push_back({r, true});
    }
  }
  const size_t jobs = std::min<size_t>(std::max(1u, options_.jobs), kMaxJobs);
  begun_ = shown_ = now();
  const Signals signals;
  bool stopping = false, limited = false;
  const auto publish = [&] {
    size_t i = 0;
    for (const auto& j : running_) g_groups[i++] = j.process ? j.process->group() : 0;
    while (i < g_groups.size() && g_groups[i] != 0) g_groups[i++] = 0;
  };
  for (;;) {
    limited = limited || (options_.max_failures != 0 && failed_ >= options_.max_failures);
    while (!stopping && !limited && running_.size() < jobs && !todo.empty()) {
      auto& j = running_.emplace_back();
      j.run = todo.front().run;
      if (todo.front().wave) {
        j.result = journal_.results().at(j.run.index);
        begin_wave(j, trace_of(test_of(j).wave, j.result));
      } else {
        begin_main(j);
      }
      todo.pop_front();
      publish();
    }
    if (running_.empty()) break;

    std::vector<pollfd> fds{{signals.fd(), POLLIN, 0}};
    double next = now() + (options_.terminal ? 0.25 : 5);
    for (const auto& j : running_) {
      fds.push_back({j.process->fd(), POLLIN, 0});
      if (!j.killed) next = std::min(next, j.timed_out || stopping ? j.kill_at : j.deadline);
    }
    poll(fds.data(), fds.size(), static_cast<int>(std::max(0.0, std::ceil((next - now()) * 1000))));
    if (g_signal != 0 && !stopping) {
      signals.drain();
      stopping = true;
      clear_line();
      spdlog::warn("{}: stopping {} running; what has finished is kept", signal_name(g_signal), running_.size());
      for (auto& j : running_) {
        j.process->signal_group(SIGTERM);
        j.kill_at = now() + plan_.grace_s;
      }
    }
    size_t i = 1;
    for (auto it = running_.begin(); it != running_.end(); ++i) {
      auto& j = *it;
      bool gone = false;
      if ((fds[i].revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
        if (stopping) {
          j.process->finish();  // ended by us, or perhaps: no result
          gone = true;
        } else {
          gone = ended(j);
        }
        progress(true);
      } else if ((j.timed_out || stopping) && !j.killed && now() >= j.kill_at) {
        j.killed = true;
        j.process->signal_group(SIGKILL);
      } else if (!j.timed_out && !stopping && now() >= j.deadline) {
        j.timed_out = true;
        j.kill_at = now() + plan_.grace_s;
        j.process->signal_group(SIGTERM);
      }
      it = gone ? running_.erase(it) : std::next(it);
    }
    publish();
    progress(false);
  }
  clear_line();
  if (stopping) return End::kInterrupted;
  return todo.empty() ? End::kComplete : End::kMaxFailures;
}

}  // namespace

std::string trace_of(const std::string& wave, const Result& r) {
  if (wave.compare(0, 7, "around:") != 0) return wave;
  const auto at = instant_of(r);
  if (!at) return "full";
  const double span = std::strtod(wave.c_str() + 7, nullptr);
  return fmt::format("{}:{}", trim(std::max(0.0, *at - span)), trim(*at + span));
}

End execute(const Plan& plan, const RunnerOptions& options, Journal& journal) {
  return Runner(plan, options, journal).run();
}

}  // namespace rnic::regress
