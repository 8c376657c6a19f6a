// SPDX-License-Identifier: Apache-2.0
#include "rnic/wave/reader.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "rnic/core/error.h"

namespace rnic::wave {

void Stretch::start(const std::vector<uint32_t>& widths) {
  columns_.clear();
  columns_.resize(widths.size());
  for (size_t n = 0; n < widths.size(); ++n) columns_[n].stride_ = 1 + size_t{2} * ((widths[n] + 63) / 64);
  clear();
}

void Stretch::clear() {
  times_.clear();
  words_ = 0;
  for (Column& c : columns_) {
    // A column that was long once does not keep its memory for ever.
    if (c.limit_ - c.data_.get() > 8 * (c.end_ - c.data_.get())) c.data_ = nullptr;
    if (c.data_ == nullptr) {
      c.end_ = nullptr;
      grow(c);
    }
    c.end_ = c.data_.get() + c.stride_;
    *c.end_ = kNever;
  }
}

void Stretch::cut(uint64_t step) {
  times_.resize(step);
  for (Column& c : columns_) {
    while (c.end_ != c.begin() && c.end_[-static_cast<std::ptrdiff_t>(c.stride_)] >= step) {
      c.end_ -= c.stride_;
      words_ -= c.stride_;
    }
    *c.end_ = kNever;
  }
}

void Stretch::grow(Column& c) {
  const auto used = static_cast<size_t>(c.end_ - c.data_.get());
  const size_t size = std::max(2 * used, 4 * c.stride_);
  std::unique_ptr<uint64_t[]> data(new uint64_t[size]);
  data[0] = kNever;
  std::copy_n(c.data_.get(), used, data.get());
  c.data_ = std::move(data);
  c.end_ = c.data_.get() + used;
  c.limit_ = c.data_.get() + size - 2 * c.stride_;
}

std::unique_ptr<Reader> Reader::open(const std::string& path) {
  std::error_code ec;
  if (std::filesystem::is_directory(path, ec)) {
    throw InputError(path, 0, "", "is a directory; give a waveform file (FST or VCD)");
  }
  if (std::filesystem::exists(path, ec) && !std::filesystem::is_regular_file(path, ec)) {
    throw InputError(path, 0, "", "is a pipe or a device; a wave is read more than once: write it to a file");
  }
  std::FILE* f = std::fopen(path.c_str(), "rb");
  if (f == nullptr) throw InputError(path, 0, "", std::string("cannot be opened: ") + std::strerror(errno));
  unsigned char head[4096];
  const size_t n = std::fread(head, 1, sizeof head, f);
  std::fclose(f);
  if (n == 0) throw InputError(path, 0, "", "is empty; a waveform (FST or VCD) was expected");
  // FST: a header block of 329 bytes (type 0), or the whole file packed (type 254).
  if (n >= 9 && (head[0] == 0 || head[0] == 254)) {
    uint64_t length = 0;
    for (int i = 1; i <= 8; ++i) length = length << 8 | head[i];
    if (head[0] == 254 || length == 329) return detail::open_fst(path);
  }
  struct Packed {
    const char *magic, *name, *tool;
  };
  static constexpr Packed kPacked[] = {{"\x1f\x8b", "gzip", "gunzip"},
                                       {"BZh", "bzip2", "bunzip2"},
                                       {"\xfd"
                                        "7zXZ",
                                        "xz", "unxz"},
                                       {"\x28\xb5\x2f\xfd", "zstd", "unzstd"}};
  for (const auto& p : kPacked) {
    if (n > std::strlen(p.magic) && std::memcmp(head, p.magic, std::strlen(p.magic)) == 0) {
      throw InputError(path, 0, "",
                       std::string("is compressed with ") + p.name + ": unpack it first (" + p.tool + " -k)");
    }
  }
  size_t i = 0;
  while (i < n && std::isspace(head[i])) ++i;
  if (i < n && head[i] == '$') {
    static constexpr const char* kWords[] = {"$date", "$version", "$timescale",      "$comment",  "$scope",
                                             "$var",  "$upscope", "$enddefinitions", "$attrbegin"};
    for (const char* w : kWords) {
      if (n - i >= std::strlen(w) && std::memcmp(head + i, w, std::strlen(w)) == 0) return detail::open_vcd(path);
    }
  }
  throw InputError(path, 0, "", "is no waveform: neither FST nor VCD (told by its first bytes); convert other formats");
}

namespace detail {

void set_name(Signal& s, const std::string& scope, std::string text) {
  s.msb = static_cast<int32_t>(s.width) - 1;
  s.lsb = 0;
  while (!text.empty() && text.back() == ' ') text.pop_back();
  if (!text.empty() && text.back() == ']') {
    const size_t open = text.rfind('[');
    if (open != std::string::npos && open > 0) {
      const std::string range = text.substr(open + 1, text.size() - open - 2);
      std::string base = text.substr(0, open);
      while (!base.empty() && base.back() == ' ') base.pop_back();
      int msb = 0, lsb = 0, used = 0;
      if (std::sscanf(range.c_str(), "%d:%d%n", &msb, &lsb, &used) == 2 && used == static_cast<int>(range.size()) &&
          static_cast<uint32_t>(std::abs(msb - lsb)) + 1 == s.width) {
        text = base;
        s.msb = msb;
        s.lsb = lsb;
      } else {
        text = base + "[" + range + "]";
      }
    }
  }
  s.name = scope.empty() ? text : scope + "." + text;
}

}  // namespace detail
}  // namespace rnic::wave
