// SPDX-License-Identifier: Apache-2.0
// Saves the coverage counts of a Verilated model that was made with coverage points (VM_COVERAGE); nothing otherwise.
#pragma once

#if VM_COVERAGE
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include <verilated_cov.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <unordered_map>
#endif

namespace rnic {

/// Adds the model's counts to the file `<model>.dat` in the folder that RNICSIM_COVERAGE_DIR names; call it before the
/// model goes. One file a model, whatever the number of processes (they wait for each other), so that a test suite of a
/// thousand processes leaves a few files. In Verilator's format, each instance by itself.
template <class Context>
void save_coverage(Context& context, const char* model) {
#if VM_COVERAGE
  const char* dir = std::getenv("RNICSIM_COVERAGE_DIR");
  if (!dir || !*dir) return;
  const std::string path = std::string(dir) + "/" + model + ".dat";
  const std::string fresh = path + "." + std::to_string(getpid());
  const int lock = open((path + ".lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666);
  if (lock < 0 || flock(lock, LOCK_EX) != 0) {
    std::fprintf(stderr, "RNICSIM_COVERAGE_DIR: cannot write in '%s'; the folder has to exist\n", dir);
    if (lock >= 0) close(lock);
    return;
  }
  std::unordered_map<std::string, uint64_t> counts;
  std::string line;
  for (std::ifstream in(path); std::getline(in, line);) {
    const size_t space = line.rfind(' ');
    if (line[0] == 'C' && space != std::string::npos)
      counts[line.substr(0, space)] = std::strtoull(line.c_str() + space, nullptr, 10);
  }
  context.coveragep()->forcePerInstance(true);
  context.coveragep()->write(fresh.c_str());
  if (!counts.empty()) {
    std::ifstream in(fresh);
    while (std::getline(in, line)) {
      const size_t space = line.rfind(' ');
      if (line[0] == 'C' && space != std::string::npos)
        counts[line.substr(0, space)] += std::strtoull(line.c_str() + space, nullptr, 10);
    }
    std::ofstream out(fresh);
    out << "# SystemC::Coverage-3\n";
    for (const auto& [point, count] : counts) out << point << ' ' << count << '\n';
  }
  std::rename(fresh.c_str(), path.c_str());  // whole or not at all, should this process be killed
  close(lock);
#else
  (void)context;
  (void)model;
#endif
}

}  // namespace rnic
