// SPDX-License-Identifier: Apache-2.0
#include "common.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <spdlog/spdlog.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "rnic/core/text.h"
#include "table.h"

extern char** environ;

namespace rnic::cli {
namespace fs = std::filesystem;
namespace {

std::vector<std::string> g_arguments;
volatile std::sig_atomic_t g_interrupted = 0;

void on_signal(int signal) {
  if (g_interrupted) _exit(128 + signal);  // the second time there is no waiting
  g_interrupted = signal;
  System::request_stop();
}

volatile std::sig_atomic_t g_child = 0;

void to_child(int signal) {
  if (g_child != 0) kill(static_cast<pid_t>(g_child), signal);
}

/// SIGINT and SIGTERM go to `handler` while this lives.
class Signals {
 public:
  explicit Signals(void (*handler)(int)) {
    struct sigaction action {};
    action.sa_handler = handler;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, &old_int_);
    sigaction(SIGTERM, &action, &old_term_);
  }
  ~Signals() {
    sigaction(SIGINT, &old_int_, nullptr);
    sigaction(SIGTERM, &old_term_, nullptr);
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

 private:
  struct sigaction old_int_ {
  }, old_term_{};
};

std::string wave_path(const std::string& dir, unsigned node) {
  return (fs::path(dir) / (node == 0 ? std::string("wave.fst") : fmt::format("wave{}.fst", node))).string();
}

/// Files that an earlier run left there: beside those of this run they would pass for its own.
void remove_outputs(const std::string& dir) {
  std::error_code ec;
  for (const char* name : {"result.json", "capture.pcapng", "tlp.log", "report.html", "sensitivity.html"})
    fs::remove(fs::path(dir) / name, ec);
  for (unsigned n = 0; n < 16; ++n) {
    for (const char* kind : {".fst", ".gtkw", ".sucl"})
      fs::remove(fs::path(wave_path(dir, n)).replace_extension(kind), ec);
  }
}

}  // namespace

void set_command_line(int argc, char** argv) { g_arguments.assign(argv, argv + argc); }
const std::vector<std::string>& arguments() { return g_arguments; }

std::string rerun_line() {
  std::string line;
  for (const auto& a : g_arguments) line += (line.empty() ? "" : " ") + quoted(a);
  return line;
}

std::string resume_line(const std::string& subcommand) {
  // Behind the subcommand's name: what stands at the end may be another command's.
  std::string line;
  bool placed = false;
  for (const auto& a : g_arguments) {
    if (a == "--resume" || a == "--fresh") continue;
    line += (line.empty() ? "" : " ") + quoted(a);
    if (!placed && a == subcommand) line += " --resume";
    placed = placed || a == subcommand;
  }
  return line;
}

regress::Shard parse_shard(const std::string& text) {
  regress::Shard s;
  if (text.empty()) return s;
  const size_t slash = text.find('/');
  uint64_t index = 0, count = 0;
  try {
    index = parse_u64(text.substr(0, slash), "");
    count = slash == std::string::npos ? 0 : parse_u64(text.substr(slash + 1), "");
  } catch (const InputError&) {
    count = 0;
  }
  if (count < 1 || count > 100000 || index < 1 || index > count) {
    throw InputError("", 0, "--shard",
                     fmt::format("'{}' is no shard; write I/N with I from 1 to N, for example 2/4", text));
  }
  s.index = static_cast<unsigned>(index);
  s.count = static_cast<unsigned>(count);
  return s;
}

regress::RunnerOptions runner_options(unsigned jobs, const regress::Shard& shard) {
  regress::RunnerOptions o;
  o.jobs = jobs != 0 ? jobs : std::max(1u, std::thread::hardware_concurrency());
  o.shard = shard;
  o.program = g_arguments[0];
  o.quiet = spdlog::get_level() > spdlog::level::info;
  o.terminal = isatty(STDERR_FILENO) != 0;
  return o;
}

void add_profile_options(CLI::App& app, Common& c) {
  app.add_option_function<std::string>(
         "--profile",
         [&c](const std::string& p) {
           c.profile = p;
           c.profile_given = true;
         },
         "Built-in profile by name (rnicsim profile list) or a TOML file [seed-400g]")
      ->type_name("NAME|FILE")
      ->group("Profile");
  app.add_option("--set", c.set, "Set a key of the profile; may be given many times")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false)
      ->group("Profile");
}

void add_simulation_options(CLI::App& app, Common& c) {
  add_profile_options(app, c);
  app.add_option_function<std::string>(
         "--seed",
         [&c](const std::string& n) {
           c.seed = parse_u64(n, "--seed");
           c.seed_given = true;
         },
         "Seed of everything random [1]")
      ->type_name("N")
      ->group("Run");
  app.add_option("-o,--out", c.out,
                 "Run directory: result.json, profile.toml, capture.pcapng, tlp.log, report.html, wave.fst")
      ->type_name("DIR")
      ->group("Run");
  app.add_option(
         "--trace", c.trace,
         "Waveform in the run directory: none, full, FROM:TO (ns), or last:N (when a check fails, run again and "
         "trace the last N cycles)")
      ->type_name("WHAT")
      ->group("Run");
  app.add_flag("--json", c.json, "Print the result as JSON on stdout, and nothing else there")->group("Run");
  app.add_option("--max-sim-time", c.max_sim_time, "End after this simulated time (ns, us, ms, s) [1s]")
      ->type_name("TIME")
      ->group("Run");
  app.add_option("--max-wall", c.max_wall_s, "End after so many seconds of real time [no limit]")
      ->type_name("S")
      ->check(CLI::Validator(
          [](std::string& s) {
            const bool digits = s.find_first_not_of("0123456789.") == std::string::npos;
            return digits && s.find_first_of("0123456789") != std::string::npos && s.size() <= 12
                       ? std::string()
                       : fmt::format("'{}' is not a number of seconds from 0", s);
          },
          ""))
      ->group("Run");
}

Profile load_profile(const Common& c) {
  Profile p = Profile::load(c.profile);
  for (const auto& s : c.set) p.set(s);
  return p;
}

uint64_t parse_time(const std::string& text, const std::string& option) {
  size_t used = 0;
  double v = -1;
  try {
    v = std::stod(text, &used);
  } catch (const std::exception&) {
  }
  const std::string unit = text.substr(std::min(used, text.size()));
  static constexpr std::pair<const char*, double> kUnits[] = {
      {"ps", 1}, {"ns", 1e3}, {"us", 1e6}, {"ms", 1e9}, {"s", 1e12}};
  for (const auto& [name, ps] : kUnits) {
    if (used != 0 && unit == name && v > 0 && v * ps >= 1 && v * ps < 9e18)
      return static_cast<uint64_t>(std::llround(v * ps));
  }
  throw InputError("", 0, option,
                   fmt::format("'{}' is not a time above 0; write a number and ps, ns, us, ms or s: 10us", text));
}

TraceWindow parse_trace(const std::string& text) {
  TraceWindow w;
  const auto bad = [&]() -> InputError {
    return InputError(
        "", 0, "--trace",
        fmt::format("'{}' is not known; allowed: none, full, FROM:TO in ns (100:450.5), last:N in cycles", text));
  };
  if (text == "none") return w;
  if (text == "full") {
    w.mode = TraceWindow::kWhole;
    return w;
  }
  const size_t colon = text.find(':');
  if (colon == std::string::npos) throw bad();
  const std::string a = text.substr(0, colon), b = text.substr(colon + 1);
  const auto number = [&](const std::string& s) {
    size_t used = 0;
    double v = -1;
    try {
      v = std::stod(s, &used);
    } catch (const std::exception&) {
    }
    if (used == 0 || used != s.size() || !(v >= 0 && v < 1e15)) throw bad();
    return v;
  };
  if (a == "last") {
    w.mode = TraceWindow::kLast;
    w.cycles = static_cast<uint64_t>(number(b));
    if (w.cycles == 0) throw bad();
    return w;
  }
  w.mode = TraceWindow::kWindow;
  w.from_ps = static_cast<uint64_t>(std::llround(number(a) * 1000));
  w.to_ps = static_cast<uint64_t>(std::llround(number(b) * 1000));
  if (w.to_ps < w.from_ps) throw bad();
  return w;
}

nlohmann::json to_json(const std::vector<CheckResult>& checks) {
  auto out = nlohmann::json::array();
  for (const auto& c : checks) {
    out.push_back({{"name", c.name}, {"what", c.what}, {"expected", c.expected}, {"got", c.got}, {"passed", c.passed}});
  }
  return out;
}

void write_junit(const std::string& path, const std::string& suite, const std::vector<CheckResult>& checks,
                 const std::string& not_finished) {
  const auto failed = std::count_if(checks.begin(), checks.end(), [](const auto& c) { return !c.passed; });
  std::string s = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"{}\" tests=\"{}\" "
      "failures=\"{}\" errors=\"{}\">\n",
      xml(suite), checks.size() + !not_finished.empty(), failed, int{!not_finished.empty()});
  if (!not_finished.empty()) {
    s += fmt::format("<testcase classname=\"{}\" name=\"the run ends\"><error message=\"{}\"/></testcase>\n",
                     xml(suite), xml(not_finished));
  }
  for (const auto& c : checks) {
    s += fmt::format("<testcase classname=\"{}\" name=\"{}: {}\"", xml(suite), xml(c.name), xml(c.what));
    if (c.passed)
      s += "/>\n";
    else
      s += fmt::format("><failure message=\"expected {}, got {}\"/></testcase>\n", xml(c.expected), xml(c.got));
  }
  write_file(path, s + "</testsuite>\n</testsuites>\n");
}

bool report_checks(const std::vector<CheckResult>& checks) {
  bool good = true;
  for (const auto& c : checks) {
    if (c.passed) continue;
    good = false;
    spdlog::error("check '{}' failed: {}: expected {}, got {}", c.name, c.what, c.expected, c.got);
  }
  return good;
}

Session::Session(const Common& common, Profile profile, const char* default_trace)
    : common_(common), profile_(std::move(profile)) {
  trace_ = parse_trace(common_.trace.empty() ? (has_directory() ? default_trace : "none") : common_.trace);
  if (trace_.mode != TraceWindow::kNone && !has_directory()) {
    throw InputError("", 0, "--trace", "the waveform goes into the run directory: give one with -o DIR");
  }
  if (has_directory()) {
    std::error_code ec;
    fs::create_directories(common_.out, ec);
    if (ec || !fs::is_directory(common_.out)) {
      throw InputError("", 0, "-o", fmt::format("cannot make the directory {}: {}", common_.out, ec.message()));
    }
    remove_outputs(common_.out);
    write_file((fs::path(common_.out) / "profile.toml").string(), profile_.to_toml());
  }
}

SystemOptions Session::system_options(unsigned nodes) {
  nodes_ = nodes;
  SystemOptions o;
  o.nodes = nodes;
  o.seed = common_.seed;
  o.max_sim_time = from_ps(parse_time(common_.max_sim_time, "--max-sim-time"));
  o.max_wall_s = common_.max_wall_s;
  o.progress = isatty(STDERR_FILENO) != 0 && spdlog::get_level() <= spdlog::level::info;
  if (trace_.mode == TraceWindow::kWhole || trace_.mode == TraceWindow::kWindow) {
    for (unsigned n = 0; n < nodes; ++n) o.traces.push_back({wave_path(common_.out, n), trace_.from_ps, trace_.to_ps});
  }
  return o;
}

Exit Session::run(Simulation& simulation) {
  simulation.observers().add(&activity_);
  RunEnd end = RunEnd::kDone;
  {
    const Signals signals(on_signal);
    try {
      end = simulation.run();
    } catch (...) {
      simulation.close();
      throw;
    }
    simulation.close();
  }
  if (const unsigned assertions = simulation.assertion_failures(); assertions != 0) {
    spdlog::error("{} assertion(s) of the RTL failed (messages above)", assertions);
    return kInternal;
  }
  if (g_interrupted) {
    spdlog::warn("interrupted at {} ns; files are closed and hold what came before", ns(activity_.last_ps()));
    return kInterrupted;
  }
  if (end == RunEnd::kDone && simulation.left_over().empty()) return kGood;
  spdlog::error("{} at {} ns: {}", end == RunEnd::kDone ? "left over at the end," : "not finished",
                ns(to_ps(sc_core::sc_time_stamp())), simulation.left_over());
  return kInternal;
}

void Session::finish(Exit status, const nlohmann::json& result, const Outputs& out) {
  if (has_directory()) {
    const fs::path dir(common_.out);
    write_file((dir / "result.json").string(), json_text(result) + "\n");
    write_pcapng((dir / "capture.pcapng").string(), *out.recorder, true);
    write_tlp_log((dir / "tlp.log").string(), *out.recorder);
    ReportInput in;
    in.title = out.title;
    in.command = rerun_line();
    in.profile = &profile_;
    in.recorder = out.recorder;
    in.tables = out.tables;
    in.latencies_ns = out.latencies_ns;
    in.result = result;
    in.sections = out.sections;
    write_report((dir / "report.html").string(), in);
    if (trace_.mode == TraceWindow::kWhole || trace_.mode == TraceWindow::kWindow) {
      for (unsigned n = 0; n < nodes_; ++n) write_viewer_files(wave_path(common_.out, n), out.wave);
    }
    spdlog::info("run directory: {}", common_.out);
  }
  if (common_.json) fmt::print("{}\n", json_text(result));
  if (status == kGood) return;
  if (trace_.mode == TraceWindow::kLast && status != kInterrupted) trace_again(status);
  spdlog::error("to run it again: {}", rerun_line());
}

void Session::trace_again(Exit status) const {
  const uint64_t to = activity_.last_ps();
  const uint64_t length = trace_.cycles * to_ps(profile_.time("clock.core_period"));
  const std::string window = fmt::format("{}:{}", ns(to > length ? to - length : 0), ns(to));
  std::vector<std::string> args(g_arguments.begin() + 1, g_arguments.end());
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i] == "--trace" && i + 1 < args.size()) args[i + 1] = window;
    if (args[i].compare(0, 8, "--trace=") == 0) args[i] = "--trace=" + window;
  }
  spdlog::info("running again with a waveform of the last {} cycles, {} ns", trace_.cycles, window);
  int again = 0;
  run_child(args, again, true);
  if (again == status) {
    spdlog::info("waveform: {}", wave_path(common_.out, 0));
  } else if (again == kInterrupted || again == 128 + SIGTERM) {
    spdlog::warn("interrupted while the run was made again; its waveform holds what came before");
  } else {
    spdlog::error("the second run ended with status {} and not {}: the run is not deterministic", again, int{status});
  }
}

TemporaryFolder::TemporaryFolder() {
  std::error_code ec;
  path_ = (fs::temp_directory_path(ec) / "rnicsim-XXXXXX").string();
  if (ec || mkdtemp(path_.data()) == nullptr)
    throw InputError(path_, 0, "", "cannot be made; set TMPDIR to a folder that can be written");
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ec;
  fs::remove_all(path_, ec);
}

std::string run_child(const std::vector<std::string>& args, int& status, bool mute_errors) {
  int fds[2];
  if (pipe(fds) != 0) throw SimError(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  std::vector<std::string> words{g_arguments.empty() ? "rnicsim" : g_arguments[0]};
  words.insert(words.end(), args.begin(), args.end());
  std::vector<char*> argv;
  for (auto& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, fds[0]);
  posix_spawn_file_actions_addclose(&actions, fds[1]);
  if (mute_errors) posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  // A group of its own, so that a terminal's SIGINT comes to it once: from us. A second one would end it at once.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  const Signals signals(to_child);
  pid_t pid = 0;
  const int failed = posix_spawn(&pid, "/proc/self/exe", &actions, &attributes, argv.data(), environ);
  g_child = failed ? 0 : pid;
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  close(fds[1]);
  if (failed) {
    close(fds[0]);
    throw SimError(fmt::format("cannot start this program again: {}", std::strerror(failed)));
  }
  std::string text;
  char buffer[4096];
  ssize_t n = 0;
  while ((n = read(fds[0], buffer, sizeof buffer)) > 0 || (n < 0 && errno == EINTR)) {
    if (n > 0) text.append(buffer, static_cast<size_t>(n));
  }
  close(fds[0]);
  int raw = 0;
  while (waitpid(pid, &raw, 0) < 0 && errno == EINTR) {
  }
  g_child = 0;
  status = WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw);
  return text;
}

std::string json_text(const nlohmann::json& j) {
  return j.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

uint64_t parse_u64(const std::string& text, const std::string& option) {
  uint64_t v = 0;
  const auto r = std::from_chars(text.data(), text.data() + text.size(), v);
  if (text.empty() || r.ec != std::errc() || r.ptr != text.data() + text.size())
    throw InputError("", 0, option, fmt::format("'{}' is not a whole number from 0 to {}", text, ~uint64_t{0}));
  return v;
}

uint64_t parse_size(const std::string& text, const std::string& option) {
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  std::string unit = text.substr(digits);
  for (char& c : unit) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  while (!unit.empty() && unit.front() == ' ') unit.erase(0, 1);
  static const std::map<std::string, unsigned> kShifts{
      {"", 0},     {"b", 0},  {"k", 10},  {"kb", 10}, {"ki", 10},  {"kib", 10}, {"m", 20},  {"mb", 20}, {"mi", 20},
      {"mib", 20}, {"g", 30}, {"gb", 30}, {"gi", 30}, {"gib", 30}, {"t", 40},   {"tb", 40}, {"ti", 40}, {"tib", 40}};
  const auto it = kShifts.find(unit);
  if (digits == 0 || it == kShifts.end())
    throw InputError("", 0, option, fmt::format("'{}' is not a number of bytes; write 65536, 64k, 16M or 1G", text));
  const uint64_t v = parse_u64(text.substr(0, digits), option);
  if (v > ~uint64_t{0} >> it->second) throw InputError("", 0, option, fmt::format("'{}' is too large", text));
  return v << it->second;
}

std::string printable(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    out += u < 0x20 || u == 0x7f ? fmt::format("\\x{:02x}", u) : std::string(1, c);
  }
  return out;
}

std::optional<double> percentile(std::vector<double> values, double q) {
  const double needed = 1 / (1 - q);
  if (values.empty() || static_cast<double>(values.size()) < needed - 1e-6) return std::nullopt;
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<size_t>(std::ceil(q * static_cast<double>(values.size()) - 1e-9));
  return values[std::max<size_t>(rank, 1) - 1];
}

std::string percentile_text(const std::vector<double>& values, double q) {
  const auto p = percentile(values, q);
  return p ? fmt::format("{:.3f}", *p) : "-";
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream f(path, std::ios::binary);
  f << text;
  f.close();
  if (!f) throw InputError(path, 0, "", fmt::format("cannot be written: {}", std::strerror(errno)));
}

}  // namespace rnic::cli
