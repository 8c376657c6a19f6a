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

/// Changes of some signals over a stretch of time, sorted by signal. A step is a time at which one of them changes; all
/// changes of a step are in the same stretch.
class Stretch {
 public:
  static constexpr uint64_t kNever = ~uint64_t{0};

  /// Of one signal: number of the step, v words, x words, and so on (see Bits), and behind the end kNever.
  class Column {
   public:
    uint32_t words() const { return static_cast<uint32_t>(stride_ / 2); }
    size_t stride() const { return stride_; }
    const uint64_t* begin() const { return data_.get() + stride_; }
    const uint64_t* end() const { return end_; }

   private:
    friend class Stretch;
    size_t stride_ = 0;
    std::unique_ptr<uint64_t[]> data_;            ///< in front stands an entry without a change, whose step is kNever
    uint64_t *end_ = nullptr, *limit_ = nullptr;  ///< limit: the last place for an entry
  };

  const std::vector<uint64_t>& times() const { return times_; }
  /// In the order of the ids that were asked for.
  const std::vector<Column>& columns() const { return columns_; }
  bool unknown() const { return unknown_ != 0; }  ///< some value has an x or z

  // ---- For readers
  void start(const std::vector<uint32_t>& widths);
  void clear();
  bool full() const { return words_ >= kWords || times_.size() >= kWords; }
  /// The number of the step at this time, which is the latest one or later.
  uint64_t step(uint64_t time) {
    if (times_.empty() || times_.back() != time) times_.push_back(time);
    return times_.size() - 1;
  }
  /// Room for v and x of a change. A second one at the same step takes the place of the first.
  uint64_t* put(uint32_t column, uint64_t step) {
    Column& c = columns_[column];
    uint64_t* p = c.end_ - c.stride_;
    if (*p != step) {
      if (c.end_ >= c.limit_) grow(c);
      p = c.end_;
      *p = step;
      c.end_ = p + c.stride_;
      *c.end_ = kNever;
      words_ += c.stride_;
    }
    return p + 1;
  }
  void note_unknown(uint64_t x) { unknown_ |= x; }
  size_t size() const { return words_; }
  /// Takes back this step and all behind it.
  void cut(uint64_t step);
  static constexpr size_t kWords = size_t{1} << 15;  ///< of a full one: more than that, and caches no longer hold it

 private:
  static void grow(Column& c);

  std::vector<uint64_t> times_;
  std::vector<Column> columns_;
  size_t words_ = 0;
  uint64_t unknown_ = 0;
};

/// Where a wave can be taken up again.
struct Mark {
  uint64_t time = 0;      ///< from here on
  uint64_t position = 0;  ///< in the file
};

/// Takes stretches.
class StretchVisitor {
 public:
  virtual ~StretchVisitor() = default;
  /// `next`: where the rest begins. False ends the reading.
  virtual bool on_stretch(const Stretch& stretch, const Mark& next) = 0;
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

  /// All changes of the signals `ids`, each once in the list, from `from` on: the beginning, or what a visitor of this
  /// reader was given. Values that hold at a mark may come again, at a step before it. Returns the time of the file's
  /// end.
  virtual uint64_t read_stretches(const std::vector<uint32_t>& ids, const Mark& from, StretchVisitor& visitor) = 0;

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
