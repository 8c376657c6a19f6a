// SPDX-License-Identifier: Apache-2.0
// FST, as GTKWave, Verilator and Icarus write it. Verilator's runtime brings a reader (fstapi), which trusts what it
// reads: a damaged file ends the process or writes past its buffers. Here every length and offset is checked before it
// is used; only the decompressors are taken from there.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtkwave/fastlz.h>
#include <gtkwave/lz4.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>
#include <string_view>

#include "pack.h"
#include "rnic/core/error.h"
#include "rnic/wave/reader.h"

namespace rnic::wave::detail {
namespace {

// Types of blocks.
enum : uint8_t {
  kHeader = 0,
  kChanges = 1,
  kGeometry = 3,
  kHierarchy = 4,  // gzip
  kChangesAlias = 5,
  kHierarchyLz4 = 6,
  kHierarchyLz4Twice = 7,
  kChangesAlias2 = 8,
  kWrapper = 254,  // the whole file, packed with gzip
  kSkip = 255,     // being written
};

// Entries of the hierarchy; below them the types of variables.
enum : uint8_t { kAttributeBegin = 252, kAttributeEnd = 253, kScope = 254, kUpscope = 255 };
enum : uint8_t {
  kEvent = 0,
  kReal = 3,
  kRealParameter = 4,
  kPort = 18,
  kRealTime = 20,
  kString = 21,
  kShortReal = 29,
};

constexpr uint64_t kHeaderLength = 329;
constexpr uint32_t kMaxWidth = 1u << 24;
// What the packers can shrink a text to, at most.
constexpr uint64_t kMaxRatio = 1040;
// A hierarchy, which may be packed twice, does not get larger than this.
constexpr uint64_t kMaxHierarchy = uint64_t{1} << 30;
uint64_t max_hierarchy(uint64_t packed) { return std::min(kMaxHierarchy, (uint64_t{1} << 24) + kMaxRatio * packed); }

struct Damaged {
  std::string what;
};

/// Bytes that are read from the front; what is not there is damage.
class Bytes {
 public:
  Bytes() = default;
  Bytes(const uint8_t* p, size_t n) : at_(p), end_(p + n) {}
  explicit Bytes(const std::vector<uint8_t>& v) : Bytes(v.data(), v.size()) {}

  size_t left() const { return static_cast<size_t>(end_ - at_); }
  const uint8_t* data() const { return at_; }
  const uint8_t* take(uint64_t n) {
    if (n > left()) throw Damaged{"a block ends too early"};
    const uint8_t* p = at_;
    at_ += n;
    return p;
  }
  uint8_t byte() { return *take(1); }
  uint64_t big_endian() {
    const uint8_t* p = take(8);
    uint64_t n = 0;
    for (int i = 0; i < 8; ++i) n = n << 8 | p[i];
    return n;
  }
  /// Seven bits a byte, the low ones first; the top bit says that more follow.
  uint64_t varint() {
    if (at_ != end_ && *at_ < 0x80) return *at_++;
    uint64_t n = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const uint8_t b = byte();
      n |= static_cast<uint64_t>(b & 0x7f) << shift;
      if (b < 0x80) return n;
    }
    throw Damaged{"a number has too many bytes"};
  }
  int64_t signed_varint() {
    uint64_t n = 0;
    for (unsigned shift = 0; shift < 64;) {
      const uint8_t b = byte();
      n |= static_cast<uint64_t>(b & 0x7f) << shift;
      shift += 7;
      if (b >= 0x80) continue;
      if ((b & 0x40) != 0 && shift < 64) n |= ~uint64_t{0} << shift;
      return static_cast<int64_t>(n);
    }
    throw Damaged{"a number has too many bytes"};
  }
  std::string_view text() {
    const void* stop = left() == 0 ? nullptr : std::memchr(at_, 0, left());
    if (stop == nullptr) throw Damaged{"a name has no end"};
    const size_t n = static_cast<size_t>(static_cast<const uint8_t*>(stop) - at_);
    return {reinterpret_cast<const char*>(take(n + 1)), n};
  }

 private:
  const uint8_t* at_ = nullptr;
  const uint8_t* end_ = nullptr;
};

/// Unpacks into `out`, whose size the file claims.
void unpack(char how, const uint8_t* from, uint64_t n, std::vector<uint8_t>& out, uint64_t size) {
  if (size > n * kMaxRatio + 64 || size > uint64_t{1} << 31 || n > uint64_t{1} << 31) {
    throw Damaged{"a packed block claims an impossible size"};
  }
  out.resize(size);
  bool good = false;
  if (how == '4') {
    good = LZ4_decompress_safe(reinterpret_cast<const char*>(from), reinterpret_cast<char*>(out.data()),
                               static_cast<int>(n), static_cast<int>(size)) == static_cast<int>(size);
  } else if (how == 'F') {
    // It checks what it writes and looks a few bytes ahead of what it reads: zeros end every length.
    std::vector<uint8_t> padded(n + 16);
    std::copy_n(from, n, padded.begin());
    good = n != 0 && fastlz_decompress(padded.data(), static_cast<int>(n), out.data(), static_cast<int>(size)) ==
                         static_cast<int>(size);
  } else {
    uLongf got = size;
    good = uncompress(out.data(), &got, from, n) == Z_OK && got == size;
  }
  if (!good) throw Damaged{"a packed block does not unpack"};
}

/// A file read at any place.
class Input {
 public:
  ~Input() {
    if (file_ != nullptr) std::fclose(file_);
  }
  Input() = default;
  Input(const Input&) = delete;

  bool open(const std::string& path) {
    take(std::fopen(path.c_str(), "rb"));
    return file_ != nullptr;
  }
  void take(std::FILE* f) {
    if (file_ != nullptr) std::fclose(file_);
    file_ = f;
    struct stat s {};
    size_ = f != nullptr && fstat(fileno(f), &s) == 0 ? static_cast<uint64_t>(s.st_size) : 0;
  }
  uint64_t size() const { return size_; }
  int fd() const { return fileno(file_); }
  void read(uint64_t at, uint64_t n, std::vector<uint8_t>& out) const {
    if (at > size_ || n > size_ - at) throw Damaged{"a block points outside of the file"};
    out.resize(n);
    for (uint64_t done = 0; done < n;) {
      const ssize_t got = pread(fd(), out.data() + done, n - done, static_cast<off_t>(at + done));
      if (got <= 0) throw Damaged{"the file became shorter while it was read"};
      done += static_cast<uint64_t>(got);
    }
  }

 private:
  std::FILE* file_ = nullptr;
  uint64_t size_ = 0;
};

/// A block of value changes.
struct Block {
  uint8_t type;
  uint64_t at, end;  ///< in the file, behind type and length
  uint64_t from, to;
};

class FstReader : public Reader {
 public:
  explicit FstReader(const std::string& path) : Reader(path, "FST") {
    guarded([&] {
      if (!input_.open(path)) throw InputError(path, 0, "", "cannot be opened");
      killed_.open(path + ".hier");
      unwrap();
      find_blocks();
    });
  }

  uint64_t read(const std::vector<uint32_t>& ids, uint64_t from, uint64_t to, Visitor& visitor) override {
    const auto wanted = wanted_of(ids);
    RangeFilter filter(id_count_, from, to, visitor);
    // Blocks that end before the range are left out; the frame of the next one has what they led to.
    bool first = true;
    uint64_t time = 0;
    guarded([&] {
      for (const Block& b : blocks_) {
        if (b.to < from) continue;
        if (b.from > to) break;
        const Frame f = block(b, wanted, time);
        if (first) frame(f, wanted, filter);
        merge(to, filter);
        first = false;
      }
    });
    filter.flush();
    return std::min(to, blocks_.back().to);
  }

  uint64_t read_stretches(const std::vector<uint32_t>& ids, const Mark& from, StretchVisitor& visitor) override {
    const auto wanted = wanted_of(ids);
    columns_.assign(lengths_.size() + 1, kNone);
    std::vector<uint32_t> widths;
    for (const uint32_t id : ids) {
      columns_[id] = static_cast<uint32_t>(widths.size());
      widths.push_back(lengths_[id - 1].chars);
    }
    bool first = true;
    uint64_t time = 0;
    guarded([&] {
      stretch_.start(widths);
      window_ = 64;
      for (const Block& b : blocks_) {
        if (b.to < from.time) continue;
        const Frame f = block(b, wanted, time);
        if (!split(first ? &f : nullptr, wanted, from.time, visitor)) return;
        first = false;
      }
      if (!stretch_.times().empty()) visitor.on_stretch(stretch_, {blocks_.back().to, 0});
    });
    return blocks_.back().to;
  }

 private:
  struct Length {
    uint32_t chars = 0;   ///< bytes of a value in a frame
    bool vector = false;  ///< four-state bits, not a real number or a string
  };
  /// Where the next change of a signal stands.
  struct Cursor {
    Bytes rest;
    uint32_t id, width;
    uint32_t next = kNone;   ///< of those that change at the same time
    uint64_t head = 0;       ///< number in front of the next change
    uint64_t when = kNever;  ///< number of its time
  };
  /// Packed values of all signals, as they are before a block.
  struct Frame {
    uint64_t at, size, packed, count;
    uint64_t begin;  ///< time of the block
  };
  static constexpr uint64_t kNever = ~uint64_t{0};
  static constexpr char kStates[] = "xz1xx0xx";  // x z h u w l - ?
  static constexpr uint32_t kNone = ~uint32_t{0};

  template <class Fn>
  void guarded(const Fn& fn) const {
    try {
      fn();
    } catch (const Damaged& d) {
      damaged(d);
    } catch (const std::bad_alloc&) {
      damaged({"it claims more memory than there is"});
    }
  }
  std::vector<uint8_t> wanted_of(const std::vector<uint32_t>& ids) const {
    std::vector<uint8_t> wanted(lengths_.size() + 1);
    for (const uint32_t id : ids) wanted[id] = id != 0 && lengths_[id - 1].vector;
    return wanted;
  }
  [[noreturn]] void damaged(const Damaged& d) const {
    throw InputError(path_, 0, "", "FST file is damaged (" + d.what + "): write it again");
  }
  [[noreturn]] void cut_off() const {
    throw InputError(path_, 0, "", "FST file is cut off or was not closed: write it again, closing it at the end");
  }

  /// A file packed as a whole is unpacked into a temporary one.
  void unwrap() {
    std::vector<uint8_t> head;
    if (input_.size() < 17) cut_off();
    input_.read(0, 17, head);
    if (head[0] != kWrapper) return;
    Bytes b(head);
    b.byte();
    if (b.big_endian() + 1 != input_.size()) cut_off();
    const uint64_t size = b.big_endian();
    if (size > input_.size() * kMaxRatio) throw Damaged{"the packed file claims an impossible size"};
    std::FILE* out = std::tmpfile();
    if (out == nullptr) throw InputError(path_, 0, "", "cannot be unpacked: no temporary file can be made");
    const int copy = dup(input_.fd());
    lseek(copy, 17, SEEK_SET);
    gzFile in = gzdopen(copy, "rb");
    std::vector<uint8_t> piece(1 << 18);
    uint64_t done = 0;
    while (in != nullptr && done < size) {
      const int n = gzread(in, piece.data(), static_cast<unsigned>(std::min<uint64_t>(piece.size(), size - done)));
      if (n <= 0 || std::fwrite(piece.data(), 1, static_cast<size_t>(n), out) != static_cast<size_t>(n)) break;
      done += static_cast<uint64_t>(n);
    }
    if (in != nullptr) gzclose(in);
    std::fflush(out);
    input_.take(out);
    if (done != size) throw Damaged{"the packed file does not unpack"};
  }

  void find_blocks() {
    std::vector<uint8_t> data, names;
    bool header = false, hierarchy = false;
    std::pair<uint64_t, uint64_t> geometry{0, 0};
    for (uint64_t at = 0; at < input_.size();) {
      if (input_.size() - at < 9) {
        if (!killed_.size()) cut_off();
        break;
      }
      input_.read(at, std::min<uint64_t>(9 + 16, input_.size() - at), data);
      Bytes b(data);
      const uint8_t type = b.byte();
      const uint64_t length = b.big_endian();
      if (length < 8 || length > input_.size() - at - 1) {
        // The end of what a killed process wrote.
        if (killed_.size() != 0 && header) break;
        cut_off();
      }
      const uint64_t begin = at + 9, end = at + 1 + length;
      if (!header && type != kHeader) throw Damaged{"it does not begin with a header"};
      switch (type) {
        case kHeader:
          if (length < kHeaderLength) throw Damaged{"its header is short"};
          if (!header) timescale(begin);
          header = true;
          break;
        case kChanges:
        case kChangesAlias:
        case kChangesAlias2: {
          Block block{type, begin, end, b.big_endian(), b.big_endian()};
          if (block.to < block.from || (!blocks_.empty() && block.from < blocks_.back().to)) {
            throw Damaged{"the times of its blocks are not in order"};
          }
          blocks_.push_back(block);
          break;
        }
        case kGeometry:
          geometry = {begin, end};
          break;
        case kHierarchy:
        case kHierarchyLz4:
        case kHierarchyLz4Twice:
          hierarchy = true;
          unpack_hierarchy(type, begin, end, names);
          break;
        default:
          break;  // times of $dumpon and $dumpoff, and what may come
      }
      at = end;
    }
    if (killed_.size() != 0 && !hierarchy) {
      if (killed_.size() > kMaxHierarchy) throw Damaged{"the hierarchy is too large"};
      killed_.read(0, killed_.size(), names);
      hierarchy = true;
    } else if (!hierarchy || geometry.second == 0) {
      cut_off();
    }
    read_hierarchy(Bytes(names));
    if (geometry.second != 0) check_lengths(geometry.first, geometry.second);
    if (blocks_.empty()) throw InputError(path_, 0, "", "FST file holds no value change");
  }

  void timescale(uint64_t at) {
    std::vector<uint8_t> data;
    input_.read(at + 8 * 8, 1, data);
    const int exponent = static_cast<int8_t>(data[0]);
    if (exponent < -15 || exponent > 2) {
      throw InputError(path_, 0, "", fmt::format("a tick of 10^{} s is not supported; 1 fs to 100 s are", exponent));
    }
    tick_fs_ = 1;
    for (int e = -15; e < exponent; ++e) tick_fs_ *= 10;
  }

  /// The lengths of signals once more: unlike most hierarchies, they have a checksum.
  void check_lengths(uint64_t at, uint64_t end) const {
    std::vector<uint8_t> packed, plain;
    input_.read(at, end - at, packed);
    Bytes b(packed);
    const uint64_t size = b.big_endian(), count = b.big_endian();
    if (count != lengths_.size() || size > 5 * count) throw Damaged{"two counts of its signals differ"};
    if (b.left() == size) {
      plain.assign(b.data(), b.data() + size);
    } else {
      unpack('Z', b.data(), b.left(), plain, size);
    }
    Bytes lengths(plain);
    for (const auto& l : lengths_) {
      const uint64_t n = lengths.varint();
      if (l.vector ? n != l.chars : n != 0 && n != 0xffff'ffff) throw Damaged{"two lengths of a signal differ"};
    }
  }

  void unpack_hierarchy(uint8_t type, uint64_t at, uint64_t end, std::vector<uint8_t>& names) const {
    std::vector<uint8_t> packed;
    input_.read(at, end - at, packed);
    Bytes b(packed);
    const uint64_t size = b.big_endian();
    if (size > max_hierarchy(b.left())) throw Damaged{"the hierarchy claims an impossible size"};
    if (type == kHierarchyLz4) {
      unpack('4', b.data(), b.left(), names, size);
    } else if (type == kHierarchyLz4Twice) {
      std::vector<uint8_t> once;
      const uint64_t inner = b.varint();
      unpack('4', b.data(), b.left(), once, inner);
      unpack('4', once.data(), once.size(), names, size);
    } else {
      if (size > b.left() * kMaxRatio) throw Damaged{"the hierarchy claims an impossible size"};
      names.resize(size);
      z_stream z{};
      z.next_in = const_cast<uint8_t*>(b.data());
      z.avail_in = static_cast<uInt>(b.left());
      z.next_out = names.data();
      z.avail_out = static_cast<uInt>(size);
      const bool good = inflateInit2(&z, 15 + 16) == Z_OK && (inflate(&z, Z_FINISH), z.avail_out == 0);
      inflateEnd(&z);
      if (!good) throw Damaged{"the hierarchy does not unpack"};
    }
  }

  void read_hierarchy(Bytes b) {
    std::vector<size_t> outer;
    std::string scope;
    uint32_t handle = 0;
    while (b.left() != 0) {
      const uint8_t type = b.byte();
      if (type == kScope) {
        b.byte();
        const auto name = b.text();
        b.text();
        outer.push_back(scope.size());
        if (!name.empty()) (scope += scope.empty() ? "" : ".") += name;
      } else if (type == kUpscope) {
        if (outer.empty()) continue;
        scope.resize(outer.back());
        outer.pop_back();
      } else if (type == kAttributeBegin) {
        b.take(2);
        b.text();
        b.varint();
      } else if (type != kAttributeEnd) {
        if (type > kShortReal) throw Damaged{fmt::format("the hierarchy holds an entry of type {}", type)};
        b.byte();
        const auto name = b.text();
        const uint64_t length = b.varint();
        const uint64_t alias = b.varint();
        const bool real = type == kReal || type == kRealParameter || type == kRealTime || type == kShortReal;
        if (alias == 0) ++handle;
        const uint64_t id = alias == 0 ? handle : alias;
        if (alias > handle) throw Damaged{fmt::format("variable '{}' has no signal", name)};
        if (alias == 0) {
          if (length > kMaxWidth) throw Damaged{fmt::format("variable '{}' has {} bits", name, length)};
          lengths_.push_back({real ? 8 : static_cast<uint32_t>(length), !real && type != kString && length != 0});
        }
        if (real || type == kString || type == kPort || type == kEvent || length == 0) continue;
        const Length& l = lengths_[id - 1];
        if (!l.vector) continue;
        if (l.chars != length) {
          throw Damaged{fmt::format("variable '{}' has {} bits, its signal {}", name, length, l.chars)};
        }
        Signal s;
        s.width = l.chars;
        s.id = static_cast<uint32_t>(id);
        set_name(s, scope, std::string(name));
        signals_.push_back(std::move(s));
      }
    }
    id_count_ = static_cast<uint32_t>(lengths_.size()) + 1;
  }

  /// A block: a frame with the values before it, packed chains of changes for each signal, an index of the chains, and
  /// the times, which the changes count. All but the frame is loaded.
  Frame block(const Block& b, const std::vector<uint8_t>& wanted, uint64_t& time) {
    if (b.end - b.at < 24 + 24 + 8) throw Damaged{"a block of changes is short"};
    std::vector<uint8_t> data;
    input_.read(b.end - 24, 24, data);
    Bytes tail(data);
    const uint64_t times_size = tail.big_endian(), times_packed = tail.big_endian(), times_count = tail.big_endian();
    if (times_packed > b.end - b.at - 24 - 32) throw Damaged{"the times of a block are longer than the block"};
    read_times(b.end - 24 - times_packed, times_size, times_packed, times_count, time);

    // Behind begin, end and the memory that the writer used; three numbers have at most 30 bytes.
    uint64_t at = b.at + 24;
    input_.read(at, std::min<uint64_t>(30, b.end - at), data);
    Bytes front(data);
    const uint64_t frame_size = front.varint(), frame_packed = front.varint(), frame_count = front.varint();
    at += data.size() - front.left();
    if (frame_packed > b.end - at || frame_count > lengths_.size()) throw Damaged{"a frame is longer than its block"};
    const uint64_t frame_at = at;
    at += frame_packed;
    input_.read(at, std::min<uint64_t>(11, b.end - at), data);
    Bytes middle(data);
    const uint64_t count = middle.varint();
    const uint64_t chains = at + data.size() - middle.left();
    const char how = static_cast<char>(middle.byte());
    const uint64_t index_end = b.end - 24 - times_packed - 8;
    if (count > lengths_.size() || index_end < chains) throw Damaged{"the index of a block is not inside of it"};
    input_.read(index_end, 8, data);
    const uint64_t index_size = Bytes(data).big_endian();
    if (index_size > index_end - chains) throw Damaged{"the index of a block is longer than the block"};
    read_index(b.type, index_end - index_size, index_size, count, index_end - index_size - chains);

    load_chains(wanted, chains, how);
    return {frame_at, frame_size, frame_packed, frame_count, b.from};
  }

  void read_times(uint64_t at, uint64_t size, uint64_t packed, uint64_t count, uint64_t& time) {
    std::vector<uint8_t> data, plain;
    input_.read(at, packed, data);
    if (size != packed) {
      unpack('Z', data.data(), packed, plain, size);
      data.swap(plain);
    }
    if (count > data.size()) throw Damaged{"a block claims more times than it has"};
    times_.resize(count);
    Bytes b(data);
    uint64_t t = 0;
    for (auto& x : times_) {
      const uint64_t step = b.varint();
      if (t + step < t || t + step < time) throw Damaged{"its times are not in order"};
      x = t += step;
    }
    if (count != 0) time = t;
  }

  /// Where the chain of each signal begins, and its length. Signals that have always changed alike share one.
  void read_index(uint8_t type, uint64_t at, uint64_t size, uint64_t count, uint64_t chains_size) {
    std::vector<uint8_t> data;
    input_.read(at, size, data);
    chains_.assign(count, {});
    Bytes b(data);
    size_t i = 0, last = 0;
    uint64_t offset = 0;
    const auto start = [&](uint64_t step) {
      if (step > chains_size - offset || i >= count) throw Damaged{"the index of a block points outside of it"};
      if (offset != 0) chains_[last].length = step;
      offset += step;
      chains_[i].offset = offset;
      last = i++;
    };
    const auto share = [&](uint64_t with) {
      if (i >= count || with >= i || chains_[with].offset == 0) throw Damaged{"the index of a block shares nothing"};
      chains_[i++].as = static_cast<uint32_t>(chains_[with].as == kNone ? with : chains_[with].as);
      chains_[i - 1].offset = chains_[with].offset;
    };
    const auto none = [&](uint64_t n) {
      if (n > count - i) throw Damaged{"the index of a block has more entries than signals"};
      i += n;
    };
    uint64_t shared = 0;
    while (b.left() != 0) {
      if (type == kChangesAlias2) {
        if ((*b.data() & 1) == 0) {
          none(b.varint() >> 1);
          continue;
        }
        const int64_t n = b.signed_varint() >> 1;
        if (n > 0) {
          start(static_cast<uint64_t>(n));
        } else {
          if (n < 0) shared = static_cast<uint64_t>(-(n + 1));
          share(shared);
        }
      } else {
        const uint64_t n = b.varint();
        if (n == 0) {
          const uint64_t with = b.varint();
          if (with == 0) throw Damaged{"the index of a block shares nothing"};
          share(with - 1);
        } else if ((n & 1) != 0) {
          if (n >> 1 == 0) throw Damaged{"the index of a block points nowhere"};
          start(n >> 1);
        } else {
          none(n >> 1);
        }
      }
    }
    if (offset != 0) chains_[last].length = chains_size - offset;
  }

  void load_chains(const std::vector<uint8_t>& wanted, uint64_t chains, char how) {
    if (how != '4' && how != 'F' && how != 'Z' && how != '!') {
      throw Damaged{fmt::format("packing '{}' is not known", how)};
    }
    cursors_.clear();
    cursor_of_.assign(chains_.size(), kNone);
    size_t used = 0;
    heads_.assign(times_.size(), kNone);
    std::vector<uint8_t> packed;
    std::vector<size_t> loaded(chains_.size(), ~size_t{0});
    for (size_t i = 0; i < chains_.size(); ++i) {
      if (!wanted[i + 1] || chains_[i].offset == 0) continue;
      const size_t owner = chains_[i].as == kNone ? i : chains_[i].as;
      if (loaded[owner] == ~size_t{0}) {
        const Chain& c = chains_[owner];
        input_.read(chains + c.offset, c.length, packed);
        Bytes b(packed);
        const uint64_t size = b.varint();
        if (used == buffers_.size()) buffers_.emplace_back();
        if (size == 0) {
          buffers_[used].assign(b.data(), b.data() + b.left());
        } else {
          unpack(how, b.data(), b.left(), buffers_[used], size);
        }
        loaded[owner] = used++;
      }
      cursor_of_[i] = static_cast<uint32_t>(cursors_.size());
      cursors_.push_back({Bytes(buffers_[loaded[owner]]), static_cast<uint32_t>(i + 1), lengths_[i].chars, kNone});
      next_change(cursors_.back(), 0);
    }
    buffers_.resize(used);
  }

  /// Looks at what a cursor that stands at time number `now` has next.
  void next_change(Cursor& c, uint64_t now) const {
    if (c.rest.left() == 0) {
      c.when = kNever;
      return;
    }
    c.head = c.rest.varint();
    c.when = now + (c.width != 1 ? c.head >> 1 : (c.head & 1) != 0 ? c.head >> 4 : c.head >> 2);
    if (c.when >= times_.size()) throw Damaged{"a change has no time"};
  }
  void schedule(uint32_t n) {
    Cursor& c = cursors_[n];
    if (c.when == kNever) return;
    c.next = heads_[c.when];
    heads_[c.when] = n;
  }

  /// The values before the first block.
  void frame(const Frame& f, const std::vector<uint8_t>& wanted, RangeFilter& filter) {
    const uint64_t begin = times_.empty() ? f.begin : std::min(f.begin, times_[0]);
    each_value(f, wanted, [&](size_t i, const uint8_t* value) {
      emit_text(static_cast<uint32_t>(i + 1), begin, value, lengths_[i].chars, filter);
    });
  }
  /// Calls fn(number, value) for the signals that do not change at the block's very beginning.
  template <class Fn>
  void each_value(const Frame& f, const std::vector<uint8_t>& wanted, const Fn& fn) {
    std::vector<uint8_t> data, plain;
    input_.read(f.at, f.packed, data);
    if (f.size != f.packed) {
      unpack('Z', data.data(), f.packed, plain, f.size);
      data.swap(plain);
    }
    Bytes b(data);
    for (size_t i = 0; i < f.count; ++i) {
      const uint8_t* value = b.take(lengths_[i].chars);
      const bool changes = i < cursor_of_.size() && cursor_of_[i] != kNone && cursors_[cursor_of_[i]].when == 0;
      if (wanted[i + 1] && !(changes && times_[0] <= f.begin)) fn(i, value);
    }
  }

  void merge(uint64_t to, RangeFilter& filter) {
    heads_.assign(times_.size(), kNone);
    for (size_t n = 0; n < cursors_.size(); ++n) schedule(static_cast<uint32_t>(n));
    for (size_t t = 0; t < times_.size(); ++t) {
      if (times_[t] > to) return;
      for (uint32_t n = heads_[t]; n != kNone;) {
        Cursor& c = cursors_[n];
        const uint32_t next = c.next;
        do {  // more than once at one time, where a writer does not merge changes
          if (c.width == 1) {
            const char bit = (c.head & 1) != 0 ? kStates[c.head >> 1 & 7] : static_cast<char>('0' + (c.head >> 1 & 1));
            filter.on_change(c.id, times_[t], &bit, 1);
          } else if ((c.head & 1) != 0) {
            emit_text(c.id, times_[t], c.rest.take(c.width), c.width, filter);
          } else {
            const uint32_t bytes = (c.width + 7) / 8;
            const uint8_t* p = c.rest.take(bytes);
            if (value_.size() < size_t{8} * bytes) value_.resize(size_t{8} * bytes);
            for (uint32_t i = 0; i < bytes; ++i) std::memcpy(value_.data() + size_t{8} * i, kDigits.of[p[i]], 8);
            filter.on_change(c.id, times_[t], value_.data(), c.width);
          }
          next_change(c, t);
        } while (c.when == t);
        schedule(n);
        n = next;
      }
    }
  }

  /// The block in stretches; what comes before `from` is one step. False when no more is wanted.
  bool split(const Frame* frame, const std::vector<uint8_t>& wanted, uint64_t from, StretchVisitor& visitor) {
    if (frame != nullptr) {
      const uint64_t step = stretch_.step(times_.empty() ? frame->begin : std::min(frame->begin, times_[0]));
      each_value(*frame, wanted,
                 [&](size_t i, const uint8_t* value) { put_text(columns_[i + 1], step, value, lengths_[i].chars); });
    }
    const auto after = std::lower_bound(times_.begin(), times_.end(), from);
    auto t = static_cast<size_t>(after - times_.begin());
    if (t != 0) {
      steps_.assign(t, stretch_.times().empty() ? stretch_.step(times_[0]) : stretch_.times().size() - 1);
      put_changes(0, t);
    }
    while (t < times_.size()) {
      if (stretch_.full() && times_[t] != stretch_.times().back()) {
        if (!visitor.on_stretch(stretch_, {times_[t], 0})) return false;
        stretch_.clear();
      }
      t += window(t);
    }
    return true;
  }

  /// Puts about as many changes as make one stretch, from time number `t` on. Says how many times these were.
  size_t window(size_t t) {
    saved_ = cursors_;
    const size_t steps = stretch_.times().size();
    for (;;) {
      const size_t n = std::min(window_, times_.size() - t);
      steps_.clear();
      for (size_t i = 0; i < n; ++i) steps_.push_back(stretch_.step(times_[t + i]));
      if (put_changes(t, t + n)) {
        if (!stretch_.full()) window_ = std::min(2 * window_, Stretch::kWords);
        return n;
      }
      window_ = std::max<size_t>(1, window_ / 8);
      cursors_ = saved_;
      stretch_.cut(steps);
    }
  }

  /// The changes at the times from number `begin` to below `end`, whose steps are in steps_. False when there are far
  /// too many for one stretch.
  bool put_changes(size_t begin, size_t end) {
    const uint64_t* steps = steps_.data() - begin;
    for (Cursor& c : cursors_) {
      if (c.when >= end) continue;
      const uint32_t column = columns_[c.id];
      do {
        const uint64_t step = steps[c.when];
        if (c.width == 1) {
          put_bit(column, step, c.head);
        } else if ((c.head & 1) != 0) {
          put_text(column, step, c.rest.take(c.width), c.width);
        } else {
          put_bytes(column, step, c.rest.take((c.width + 7) / 8), c.width);
        }
        next_change(c, c.when);
      } while (c.when < end);
      if (stretch_.size() > 4 * Stretch::kWords && end - begin > 1) return false;
    }
    return true;
  }

  void put_bit(uint32_t column, uint64_t step, uint64_t head) {
    uint64_t* p = stretch_.put(column, step);
    p[0] = head >> 1 & 1;
    p[1] = 0;
    if ((head & 1) == 0) return;
    const char c = kStates[head >> 1 & 7];
    pack(&c, 1, p, p + 1);
    stretch_.note_unknown(p[1]);
  }
  void put_text(uint32_t column, uint64_t step, const uint8_t* text, uint32_t width) {
    if (value_.size() < width) value_.resize(width);
    for (uint32_t i = 0; i < width; ++i) value_[i] = four_state(static_cast<char>(text[i]));
    uint64_t* p = stretch_.put(column, step);
    const uint32_t words = (width + 63) / 64;
    pack(value_.data(), width, p, p + words);
    for (uint32_t i = 0; i < words; ++i) stretch_.note_unknown(p[words + i]);
  }
  /// The first bit of a value is the top one of the first byte.
  void put_bytes(uint32_t column, uint64_t step, const uint8_t* bytes, uint32_t width) {
    uint64_t* p = stretch_.put(column, step);
    const uint32_t words = (width + 63) / 64, count = (width + 7) / 8, shift = 8 * count - width;
    const uint8_t* end = bytes + count;
    for (uint32_t w = 0; w < words; ++w, end -= 8) {
      uint64_t v = 0;
      if (end - bytes >= 8) {
        for (const uint8_t* b = end - 8; b != end; ++b) v = v << 8 | *b;
      } else {
        for (const uint8_t* b = bytes; b != end; ++b) v = v << 8 | *b;
      }
      v >>= shift;
      if (shift != 0 && end - bytes > 8) v |= uint64_t{end[-9]} << (64 - shift);
      p[w] = v;
      p[words + w] = 0;
    }
  }

  void emit_text(uint32_t id, uint64_t time, const uint8_t* p, uint32_t width, RangeFilter& filter) {
    if (value_.size() < width) value_.resize(width);
    for (uint32_t i = 0; i < width; ++i) value_[i] = four_state(static_cast<char>(p[i]));
    filter.on_change(id, time, value_.data(), width);
  }
  static char four_state(char c) {
    switch (c) {
      case '0':
      case '1':
      case 'z':
        return c;
      case 'h':
      case 'H':
        return '1';
      case 'l':
      case 'L':
        return '0';
      case 'Z':
        return 'z';
      default:
        return 'x';
    }
  }

  /// The digits of each byte.
  struct Digits {
    char of[256][8];
    Digits() {
      for (unsigned b = 0; b < 256; ++b) {
        for (unsigned i = 0; i < 8; ++i) of[b][i] = static_cast<char>('0' + (b >> (7 - i) & 1));
      }
    }
  };
  static const Digits kDigits;

  struct Chain {
    uint64_t offset = 0, length = 0;  ///< no offset: no change
    uint32_t as = kNone;              ///< the signal whose chain it is
  };

  Input input_, killed_;  // killed_: the hierarchy of a process that did not come to close its file
  std::vector<Length> lengths_;
  std::vector<Block> blocks_;

  // Of the block that is read.
  std::vector<uint64_t> times_;
  std::vector<Chain> chains_;
  std::vector<std::vector<uint8_t>> buffers_;
  std::vector<Cursor> cursors_, saved_;
  std::vector<uint32_t> cursor_of_;  ///< of a signal
  std::vector<uint32_t> heads_;      ///< first cursor that changes at each time
  std::vector<char> value_;

  Stretch stretch_;
  std::vector<uint32_t> columns_;  ///< of the stretch, of each signal
  std::vector<uint64_t> steps_;    ///< of the stretch, of each time of a window
  size_t window_ = 0;              ///< times that give about one stretch
};

const FstReader::Digits FstReader::kDigits;

}  // namespace

std::unique_ptr<Reader> open_fst(const std::string& path) { return std::make_unique<FstReader>(path); }

}  // namespace rnic::wave::detail
