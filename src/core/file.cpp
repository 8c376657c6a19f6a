// SPDX-License-Identifier: Apache-2.0
#include "rnic/core/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "rnic/core/error.h"

namespace rnic {
namespace fs = std::filesystem;

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

}  // namespace rnic
