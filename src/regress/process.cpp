// SPDX-License-Identifier: Apache-2.0
#include "process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>

#include "rnic/core/error.h"

extern char** environ;

namespace rnic::regress {
namespace {

struct Report {
  int exec_error;
  int status;
};

void kill_own_group(int /*signal*/) { kill(0, SIGKILL); }

void set_handler(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

void send(int fd, Report r) {
  while (write(fd, &r, sizeof r) < 0 && errno == EINTR) {
  }
}

/// The command itself, in the group of its guard.
[[noreturn]] void become(const Command& c, char* const* argv, char* const* envp, int report) {
  for (const int s : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGUSR2}) set_handler(s, SIG_DFL);
  const int log = open(c.log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
  const int null = open("/dev/null", O_RDONLY);
  const bool good = log >= 0 && null >= 0 && dup2(null, STDIN_FILENO) >= 0 && dup2(log, STDOUT_FILENO) >= 0 &&
                    dup2(log, STDERR_FILENO) >= 0 && chdir(c.cwd.c_str()) == 0;
  if (good) {
    if (log > STDERR_FILENO) close(log);
    if (null > STDERR_FILENO) close(null);
    if (c.self) {
      execve("/proc/self/exe", argv, envp);
    } else {
      execvpe(argv[0], argv, envp);
    }
  }
  send(report, {errno, 0});
  _exit(127);
}

[[noreturn]] void guard(const Command& c, char* const* argv, char* const* envp, int report, pid_t parent) {
  setpgid(0, 0);
  for (const int s : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) set_handler(s, SIG_IGN);
  set_handler(SIGUSR2, kill_own_group);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  prctl(PR_SET_PDEATHSIG, SIGUSR2);
  if (getppid() != parent) _exit(127);  // it died before the line above
  const pid_t pid = fork();
  if (pid == 0) become(c, argv, envp, report);
  if (pid < 0) {
    send(report, {errno, 0});
    _exit(127);
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  send(report, {0, status});
  _exit(0);
}

}  // namespace

Process::Process(const Command& command, const std::function<void()>& in_child) {
  // Everything that needs memory is made before the fork.
  std::map<std::string, std::string> env;
  for (char** e = environ; *e != nullptr; ++e) {
    const char* eq = std::strchr(*e, '=');
    if (eq != nullptr) env.emplace(std::string(*e, static_cast<size_t>(eq - *e)), eq + 1);
  }
  for (const auto& k : command.unset) env.erase(k);
  for (const auto& [k, v] : command.env) env[k] = v;
  std::vector<std::string> lines;
  for (const auto& [k, v] : env) lines.push_back(fmt::format("{}={}", k, v));
  std::vector<char*> envp, argv;
  for (auto& l : lines) envp.push_back(l.data());
  envp.push_back(nullptr);
  auto words = command.words;
  for (auto& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);

  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) throw SimError(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) {
    close(fds[0]);
    in_child();
    guard(command, argv.data(), envp.data(), fds[1], parent);
  }
  const int error = errno;
  close(fds[1]);
  if (pid < 0) {
    close(fds[0]);
    throw SimError(fmt::format("cannot start a process: {}", std::strerror(error)));
  }
  setpgid(pid, pid);  // here, too: whoever comes first
  pid_ = pid;
  fd_ = fds[0];
}

Process::~Process() {
  if (pid_ < 0) return;
  signal_group(SIGKILL);
  finish();
}

void Process::signal_group(int signal) const {
  if (pid_ > 0) kill(-pid_, signal);
}

Ended Process::finish() {
  Ended e;
  Report r{};
  ssize_t n = 0;
  while ((n = read(fd_, &r, sizeof r)) < 0 && errno == EINTR) {
  }
  if (n == static_cast<ssize_t>(sizeof r)) e = {true, r.exec_error, r.status};
  close(fd_);
  // Before the leader is waited for: until then the group's number belongs to it.
  kill(-pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = fd_ = -1;
  return e;
}

std::string signal_name(int signal) {
  const char* name = sigabbrev_np(signal);
  return name ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

}  // namespace rnic::regress
