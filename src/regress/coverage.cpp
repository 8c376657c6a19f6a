// SPDX-License-Identifier: Apache-2.0
#include "rnic/regress/coverage.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "process.h"
#include "text.h"

namespace rnic::regress {
namespace fs = std::filesystem;

void merge_coverage(const std::string& given_dir, Summary& s) {
  if (!s.plan->coverage) return;
  const auto dir = fs::absolute(given_dir).lexically_normal().string();
  Command c;
  c.words = {s.plan->coverage_tool};
  for (const auto& e : s.runs) {
    const auto path = fs::path(dir) / e.run.dir / "coverage";
    std::error_code ec;
    for (fs::recursive_directory_iterator it(path, ec), end; !ec && it != end; it.increment(ec)) {
      if (it->path().extension() != ".dat") continue;
      c.words.push_back(path.string());
      break;
    }
  }
  const size_t folders = c.words.size() - 1;
  if (folders == 0) {
    // A build without coverage points is no reason to fail a regression that asks for nothing else.
    s.coverage = "no run left counts: build with RNICSIM_RTL_COVERAGE=TESTS for them";
    return;
  }
  const auto out = fs::path(dir) / "coverage";
  std::error_code ec;
  fs::remove_all(out, ec);
  fs::create_directories(out, ec);
  c.words.insert(c.words.end(), {"-o", out.string()});
  c.cwd = dir;
  c.log = (out / "log.txt").string();
  Process p(c, [] {});
  pollfd ready{p.fd(), POLLIN, 0};
  while (poll(&ready, 1, -1) < 0 && errno == EINTR) {
  }
  const Ended e = p.finish();
  s.coverage_bad = !e.known || e.exec_error != 0 || e.status != 0;
  if (s.coverage_bad) {
    const auto tool = fs::path(s.plan->coverage_tool).filename().string();
    s.coverage = fmt::format("merging failed, see coverage/log.txt: {}",
                             e.exec_error != 0     ? fmt::format("{}: {}", tool, std::strerror(e.exec_error))
                             : WIFEXITED(e.status) ? fmt::format("{} ended with {}", tool, WEXITSTATUS(e.status))
                                                   : fmt::format("{} was killed", tool));
    return;
  }
  s.coverage = fmt::format("merged over {} run{}", folders, folders == 1 ? "" : "s");
  try {  // what scripts/coverage writes; another tool may not
    const auto total = nlohmann::json::parse(read_text((out / "summary.json").string(), 64 << 20)).at("total");
    for (const auto& [kind, figures] : total.items()) {
      if (figures.at("percent").is_number())
        s.coverage += fmt::format(", {} {:.1f} %", kind, figures.at("percent").get<double>());
    }
  } catch (const std::exception&) {
  }
  for (const char* page : {"index.html", "coverage.html", "report.html"}) {
    if (s.coverage_file.empty() && fs::exists(out / page, ec)) s.coverage_file = fmt::format("coverage/{}", page);
  }
}

}  // namespace rnic::regress
