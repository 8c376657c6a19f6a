// SPDX-License-Identifier: Apache-2.0
// Waveform files (FST, VCD), read as a stream: what is held does not grow with the file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace rnic::wave {

/// A variable of the hierarchy. Variables with the same id are aliases: they share their changes.
struct Signal {
  std::string name;  ///< scopes and name joined by dots, without the bit range
  uint32_t width = 0;
  uint32_t id = 0;
  int32_t msb = 0, lsb = 0;  ///< as declared; width - 1 and 0 where the file doesn't say
};

/// Takes value changes.
class Visitor {
 public:
  virtual ~Visitor() = default;
  /// A signal of `width` bits has a new value from `time` (ticks): one of 0 1 x z for each bit, most significant first.
  /// Calls come in order of time; at one time a signal may change more than once, and the last value holds.
  virtual void on_change(uint32_t id, uint64_t time, const char* bits, uint32_t width) = 0;
};

class Reader {
 public:
  /// Opens an FST or VCD file, told apart by content. Throws InputError for what is neither, or is cut off.
  static std::unique_ptr<Reader> open(const std::string& path);
  virtual ~Reader() = default;
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  const std::string& path() const { return path_; }
  const char* format() const { return format_; }
  /// In the file's order. Real numbers and strings are left out.
  const std::vector<Signal>& signals() const { return signals_; }
  /// Ids are below this.
  uint32_t id_count() const { return id_count_; }
  /// Length of a tick in femtoseconds.
  uint64_t tick_fs() const { return tick_fs_; }
  double ns(uint64_t ticks) const { return static_cast<double>(ticks) * static_cast<double>(tick_fs_) * 1e-6; }

  /// All changes of the signals `ids` with from <= time <= to. Values that hold at `from` come first, with that time.
  /// May be called again. Returns the time of the file's end as far as it was read. Throws InputError where the file is
  /// damaged.
  virtual uint64_t read(const std::vector<uint32_t>& ids, uint64_t from, uint64_t to, Visitor& visitor) = 0;
  uint64_t read(const std::vector<uint32_t>& ids, Visitor& visitor) { return read(ids, 0, ~uint64_t{0}, visitor); }

 protected:
  explicit Reader(std::string path, const char* format) : path_(std::move(path)), format_(format) {}

  std::string path_;
  const char* format_;
  std::vector<Signal> signals_;
  uint32_t id_count_ = 0;
  uint64_t tick_fs_ = 1;
};

namespace detail {

std::unique_ptr<Reader> open_fst(const std::string& path);
std::unique_ptr<Reader> open_vcd(const std::string& path);

/// Splits "name [7:0]" (with or without the space) into name and range; an index alone, "name [3]", stays in the name
/// as "name[3]" when the variable has one bit.
void set_name(Signal& signal, const std::string& scope, std::string text);

/// Keeps what comes before the range and hands it on at the range's start.
class RangeFilter {
 public:
  RangeFilter(uint32_t id_count, uint64_t from, uint64_t to, Visitor& visitor)
      : from_(from), to_(to), visitor_(visitor), early_(from == 0 ? 0 : id_count), open_(from == 0) {}

  void on_change(uint32_t id, uint64_t time, const char* bits, uint32_t width) {
    if (time < from_) {
      if (early_[id].empty()) order_.push_back(id);
      early_[id].assign(bits, width);
      return;
    }
    if (!open_) flush();
    if (time <= to_) visitor_.on_change(id, time, bits, width);
  }
  void flush() {
    if (open_) return;
    open_ = true;
    for (const uint32_t id : order_) {
      visitor_.on_change(id, from_, early_[id].data(), static_cast<uint32_t>(early_[id].size()));
    }
  }

 private:
  uint64_t from_, to_;
  Visitor& visitor_;
  std::vector<std::string> early_;
  std::vector<uint32_t> order_;
  bool open_;
};

}  // namespace detail
}  // namespace rnic::wave
