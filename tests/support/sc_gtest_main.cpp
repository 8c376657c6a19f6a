// SPDX-License-Identifier: Apache-2.0
// GoogleTest from sc_main, each test in a process of its own: SystemC allows one elaboration a process. Any SystemC
// warning or error fails the test that caused it.
//
// A run that selects exactly one test runs it here; any other run starts this program again for each test and sums up.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <systemc>
#include <vector>

#include "rnic/system/simulation.h"

extern char** environ;

namespace {

/// Fails the running test at a SystemC report above information.
void on_report(const sc_core::sc_report& report, const sc_core::sc_actions& actions) {
  if (report.get_severity() >= sc_core::SC_WARNING) {
    ADD_FAILURE() << "SystemC " << report.get_msg_type() << ": " << report.get_msg() << " ("
                  << (report.get_process_name() ? report.get_process_name() : "no process") << ", "
                  << report.get_file_name() << ":" << report.get_line_number() << ")"
                  << (report.get_id() == 529 ? "\nSystemC allows one elaboration a process: models can't be made once "
                                               "the simulation has started. Run each test in a process of its own, "
                                               "without --gtest_repeat."
                                             : "");
  }
  sc_core::sc_report_handler::default_handler(report, actions);
}

/// Fails a test whose simulation left something over: a TLP that nobody consumed, a credit or tag that was not
/// returned, work that was not finished. A test that cuts its run off on purpose says so (Simulation::allow_left_over).
class LeftOvers : public testing::EmptyTestEventListener {
  void OnTestEnd(const testing::TestInfo& /*test*/) override {
    if (!rnic::Simulation::fault().empty()) ADD_FAILURE() << "left over at the end: " << rnic::Simulation::fault();
  }
};

/// GoogleTest's own pattern rule: '*', '?', ':' between patterns, '-' before the excluded ones.
bool matches(const char* pattern, const char* end, const char* text) {
  if (pattern == end) return *text == 0;
  if (*pattern == '*') return matches(pattern + 1, end, text) || (*text && matches(pattern, end, text + 1));
  return *text && (*pattern == '?' || *pattern == *text) && matches(pattern + 1, end, text + 1);
}

bool any(const std::string& patterns, const std::string& name) {
  size_t from = 0;
  while (from <= patterns.size()) {
    const size_t to = std::min(patterns.find(':', from), patterns.size());
    if (to > from && matches(patterns.data() + from, patterns.data() + to, name.c_str())) return true;
    from = to + 1;
  }
  return false;
}

bool selected(const std::string& name) {
  std::string filter = GTEST_FLAG_GET(filter);
  std::string out;
  const size_t dash = filter.find('-');
  if (dash != std::string::npos) {
    out = filter.substr(dash + 1);
    filter.resize(dash);
  }
  if (filter.empty()) filter = "*";
  return any(filter, name) && !any(out, name);
}

std::vector<std::string> selection() {
  std::vector<std::string> names;
  const auto& unit = *testing::UnitTest::GetInstance();
  for (int s = 0; s < unit.total_test_suite_count(); ++s) {
    const auto& suite = *unit.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t) {
      const std::string name = std::string(suite.name()) + "." + suite.GetTestInfo(t)->name();
      const bool disabled = name.find("DISABLED_") != std::string::npos && !GTEST_FLAG_GET(also_run_disabled_tests);
      if (!disabled && selected(name)) names.push_back(name);
    }
  }
  return names;
}

/// Runs one test in a process of its own; true when it passed.
bool run_apart(char** argv, const std::string& name) {
  const std::string filter = "--gtest_filter=" + name;
  std::vector<char*> args{argv[0], const_cast<char*>(filter.c_str()), const_cast<char*>("--gtest_brief=1")};
  if (GTEST_FLAG_GET(also_run_disabled_tests)) args.push_back(const_cast<char*>("--gtest_also_run_disabled_tests"));
  for (char** a = argv + 1; *a; ++a) args.push_back(*a);  // GoogleTest has taken its own flags out
  args.push_back(nullptr);
  pid_t pid = 0;
  const int failed = posix_spawn(&pid, "/proc/self/exe", nullptr, nullptr, args.data(), environ);
  if (failed) {
    fmt::print(stderr, "cannot start {} again: {}\n", argv[0], std::strerror(failed));
    return false;
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) fmt::print(stderr, "{}: killed by signal {}\n", name, WTERMSIG(status));
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

int sc_main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  sc_core::sc_report_handler::set_handler(on_report);
  testing::UnitTest::GetInstance()->listeners().Append(new LeftOvers);
  if (GTEST_FLAG_GET(list_tests)) return RUN_ALL_TESTS();
  const std::vector<std::string> names = selection();
  if (names.size() == 1) return RUN_ALL_TESTS();
  if (names.empty()) {
    fmt::print(stderr, "no test matches --gtest_filter={}\n", GTEST_FLAG_GET(filter));
    return 1;
  }
  unsigned failed = 0;
  for (const auto& name : names) {
    const bool good = run_apart(argv, name);
    fmt::print("{} {}\n", good ? "[       OK ]" : "[  FAILED  ]", name);
    std::fflush(stdout);
    failed += !good;
  }
  fmt::print("{} tests, each in a process of its own: {} passed, {} failed\n", names.size(), names.size() - failed,
             failed);
  return failed ? 1 : 0;
}
