// SPDX-License-Identifier: Apache-2.0
// One command in a process group of its own.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace rnic::regress {

struct Command {
  std::vector<std::string> words;
  std::vector<std::pair<std::string, std::string>> env;  ///< over the environment of this process
  std::vector<std::string> unset;
  std::string cwd;
  std::string log;    ///< stdout and stderr are appended to it
  bool self = false;  ///< the program is this very one, whatever words[0] says
};

/// How a command ended.
struct Ended {
  bool known = false;  ///< false: it was killed together with its guard
  int exec_error = 0;  ///< errno, when it could not be started
  int status = 0;      ///< as waitpid gives it
};

/// A command that is running. Between it and us stands a guard process, the leader of the group: when we die, and be it
/// of SIGKILL, the guard kills the whole group, so that nothing goes on writing where a resumed regression writes.
class Process {
 public:
  /// `in_child` runs in the guard, to close what it must not keep.
  Process(const Command& command, const std::function<void()>& in_child);
  Process(Process&& other) noexcept : pid_(std::exchange(other.pid_, -1)), fd_(std::exchange(other.fd_, -1)) {}
  Process& operator=(Process&&) = delete;
  /// Kills what is left.
  ~Process();

  pid_t group() const { return pid_; }
  /// Readable when the command has ended.
  int fd() const { return fd_; }
  void signal_group(int signal) const;
  /// Call when fd() is readable. Whatever the command has left in its group is killed.
  Ended finish();

 private:
  pid_t pid_ = -1;
  int fd_ = -1;
};

/// "SIGSEGV"
std::string signal_name(int signal);

}  // namespace rnic::regress
