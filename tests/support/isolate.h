// SPDX-License-Identifier: Apache-2.0
// Runs a simulation in a child process, so that one test can compare several. Call before anything of SystemC is made
// in the parent.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>

#include "rnic/system/simulation.h"

namespace rnic::test {

/// What `body` returns, computed in a fork of this process. An exception, a failed expectation in the child, or a crash
/// fails the calling test.
inline std::string isolated(const std::function<std::string()>& body) {
  int fds[2];
  if (pipe(fds) != 0) {
    ADD_FAILURE() << "pipe failed";
    return {};
  }
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    close(fds[0]);
    int status = 0;
    std::string out;
    try {
      out = body();
      if (!Simulation::fault().empty()) {
        ADD_FAILURE() << "left over at the end of the isolated simulation: " << Simulation::fault();
      }
      status = ::testing::Test::HasFailure() ? 1 : 0;
    } catch (const std::exception& e) {
      std::fprintf(stderr, "isolated simulation threw: %s\n", e.what());
      status = 2;
    }
    for (size_t at = 0; at < out.size();) {
      const ssize_t n = write(fds[1], out.data() + at, out.size() - at);
      if (n <= 0) break;
      at += static_cast<size_t>(n);
    }
    close(fds[1]);
    std::fflush(nullptr);
    _exit(status);
  }
  close(fds[1]);
  std::string out;
  char buffer[65536];
  for (ssize_t n; (n = read(fds[0], buffer, sizeof buffer)) > 0;) out.append(buffer, static_cast<size_t>(n));
  close(fds[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    ADD_FAILURE() << "the isolated simulation failed, status " << status;
  return out;
}

}  // namespace rnic::test
