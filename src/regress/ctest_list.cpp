// SPDX-License-Identifier: Apache-2.0
// What tests a CTest build directory has, asked of CTest itself.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "rnic/core/error.h"
#include "rnic/regress/plan.h"
#include "text.h"

namespace rnic::regress {

std::vector<CtestTest> list_ctest(const std::string& build, const std::string& place_file, unsigned place_line) {
  const auto fail = [&](const std::string& what) { throw InputError(place_file, place_line, "ctest.build", what); };
  std::error_code ec;
  if (!std::filesystem::is_regular_file(std::filesystem::path(build) / "CTestTestfile.cmake", ec)) {
    fail(fmt::format(
        "{} is no build directory with tests (it has no CTestTestfile.cmake): build the project there first, "
        "or name another one with --build",
        build));
  }
  FILE* pipe = popen(fmt::format("ctest --test-dir {} --show-only=json-v1 </dev/null", quoted(build)).c_str(), "re");
  if (pipe == nullptr) fail("cannot start ctest");
  std::string text;
  char buffer[65536];
  for (size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) text.append(buffer, n);
  const int status = pclose(pipe);
  if (status != 0) fail(fmt::format("'ctest --test-dir {} --show-only=json-v1' failed", quoted(build)));
  std::vector<CtestTest> out;
  try {
    const auto listed = nlohmann::json::parse(text);
    for (const auto& t : listed.at("tests")) {
      CtestTest test;
      test.name = t.at("name");
      for (const auto& p : t.value("properties", nlohmann::json::array())) {
        if (p.at("name") == "LABELS") test.labels = p.at("value").get<std::vector<std::string>>();
        if (p.at("name") == "TIMEOUT") test.timeout_s = p.at("value");
      }
      out.push_back(std::move(test));
    }
  } catch (const nlohmann::json::exception& e) {
    fail(fmt::format("ctest's list of the tests of {} cannot be read: {}", build, e.what()));
  }
  if (out.empty()) fail(fmt::format("{} has no tests", build));
  return out;
}

}  // namespace rnic::regress
