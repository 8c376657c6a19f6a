// SPDX-License-Identifier: Apache-2.0
#include "text.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "rnic/core/error.h"

namespace rnic::regress {
namespace fs = std::filesystem;

std::string trim(double v, int digits) {
  std::string s = fmt::format("{:.{}f}", v, digits);
  if (s.find('.') != std::string::npos) {
    while (s.back() == '0') s.pop_back();
    if (s.back() == '.') s.pop_back();
  }
  return s == "-0" ? "0" : s;
}

std::string duration(double seconds) {
  if (seconds < 60) return trim(seconds, seconds < 1 ? 2 : 1) + " s";
  const auto whole = static_cast<uint64_t>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
}

std::string fnv(const std::string& s) {
  uint64_t h = 0xcbf29ce484222325;
  for (const char c : s) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return fmt::format("{:016x}", h);
}

std::string read_text(const std::string& path, size_t limit) {
  std::error_code ec;
  // A device or a pipe could be read for ever.
  if (!fs::is_regular_file(path, ec)) {
    throw InputError(path, 0, "", fs::exists(path, ec) ? "is not a regular file" : "cannot be opened: no such file");
  }
  const auto size = fs::file_size(path, ec);
  if (!ec && size > limit) {
    throw InputError(path, 0, "", fmt::format("is too large: {} bytes, allowed are {}", size, limit));
  }
  std::ifstream f(path, std::ios::binary);
  std::string text(ec ? 0 : size, '\0');
  f.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!f && !f.eof()) throw InputError(path, 0, "", fmt::format("cannot be read: {}", std::strerror(errno)));
  text.resize(static_cast<size_t>(f.gcount()));
  return text;
}

void write_whole(const std::string& path, const std::string& text) {
  const std::string draft = path + ".new";
  const auto fail = [&](int fd) {
    const int error = errno;
    if (fd >= 0) close(fd);
    throw InputError(path, 0, "", fmt::format("cannot be written: {}", std::strerror(error)));
  };
  const int fd = open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) fail(fd);
  for (size_t done = 0; done < text.size();) {
    const ssize_t n = write(fd, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail(fd);
    done += static_cast<size_t>(n);
  }
  if (fsync(fd) != 0 && errno != EINVAL) fail(fd);
  if (close(fd) != 0) fail(-1);
  if (rename(draft.c_str(), path.c_str()) != 0) fail(-1);
}

std::string replaced(std::string s, const std::string& what, const std::string& by) {
  if (what.empty()) return s;
  for (size_t at = 0; (at = s.find(what, at)) != std::string::npos; at += by.size()) s.replace(at, what.size(), by);
  return s;
}

}  // namespace rnic::regress
