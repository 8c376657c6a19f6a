// SPDX-License-Identifier: Apache-2.0
// VCD as Verilator, Icarus, GTKWave and commercial simulators write it (IEEE 1364, four-state).
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <unordered_map>

#include "pack.h"
#include "rnic/core/error.h"
#include "rnic/wave/reader.h"

namespace rnic::wave::detail {
namespace {

constexpr uint32_t kMaxWidth = 1u << 24;

/// What is no blank, from `p` on. A blank must follow somewhere, and eight bytes behind it be readable.
inline const char* word_end(const char* p) {
  for (int i = 0; i < 8; ++i, ++p) {
    if (static_cast<unsigned char>(*p) <= ' ') return p;
  }
  // Long values, eight characters at once. Bytes from 0x80 on may stop it early: then one by one.
  for (;; p += 8) {
    uint64_t v;
    std::memcpy(&v, p, 8);
    if (((v - 0x2121'2121'2121'2121) & 0x8080'8080'8080'8080) != 0 || (v & 0x8080'8080'8080'8080) != 0) break;
  }
  while (static_cast<unsigned char>(*p) > ' ') ++p;
  return p;
}

/// Words separated by white space, out of a buffer that grows with the longest word only.
class Words {
 public:
  explicit Words(const std::string& path) : path_(path), file_(std::fopen(path.c_str(), "rb")) {
    if (file_ == nullptr) throw InputError(path, 0, "", "cannot be opened");
    std::setvbuf(file_, nullptr, _IONBF, 0);  // the buffer is here
    resize(1 << 18);
  }
  ~Words() { std::fclose(file_); }
  Words(const Words&) = delete;

  /// The next word, valid until the next call; empty at the end of the file.
  std::string_view next() {
    for (;;) {
      const char* p = skip_blanks(at_);
      if (p != end_) {
        const char* stop = word_end(p);
        if (stop < end_) {
          at_ = stop;
          return {p, static_cast<size_t>(stop - p)};
        }
      }
      at_ = p;
      if (fill()) continue;
      // The last word is not followed by a line's end.
      if (at_ != end_) fail("the file ends in the middle of a line: it is cut off");
      return {};
    }
  }
  /// The next two words, both valid until the next call. The first one has been seen: it begins at `from`.
  void pair(const char* from, std::string_view& first, std::string_view& second) {
    at_ = from;
    for (;;) {
      const char* a = word_end(at_);
      if (a < end_) {
        const char* b = skip_blanks(a);
        if (b != end_) {
          const char* stop = word_end(b);
          if (stop < end_) {
            first = {at_, static_cast<size_t>(a - at_)};
            second = {b, static_cast<size_t>(stop - b)};
            at_ = stop;
            return;
          }
        }
      }
      if (!fill()) fail("the file ends too early: it is cut off");
    }
  }
  /// As next(), but the end of the file is an error.
  std::string_view need() {
    const auto w = next();
    if (w.empty()) fail("the file ends too early: it is cut off");
    return w;
  }
  void skip_to_end() {
    while (need() != "$end") {
    }
  }
  /// The line is counted only here.
  [[noreturn]] void fail(const std::string& what) const {
    const uint64_t stop = position();
    unsigned line = 1;
    std::vector<char> piece(1 << 18);
    fseeko(file_, 0, SEEK_SET);
    for (uint64_t done = 0; done < stop;) {
      const size_t n = std::fread(piece.data(), 1, std::min<uint64_t>(piece.size(), stop - done), file_);
      if (n == 0) break;
      line += static_cast<unsigned>(std::count(piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(n), '\n'));
      done += n;
    }
    throw InputError(path_, line, "", what);
  }
  uint64_t position() const { return base_ + static_cast<uint64_t>(at_ - buffer_.data()); }
  void seek(uint64_t position) {
    fseeko(file_, static_cast<off_t>(position), SEEK_SET);
    base_ = position;
    at_ = buffer_.data();
    mark(buffer_.data());
  }

 private:
  static constexpr size_t kBehind = 16;  ///< room for the marks, and for looking eight bytes ahead

  const char* skip_blanks(const char* p) const {
    while (static_cast<unsigned char>(*p) <= ' ') ++p;  // stops at the mark
    return p;
  }
  void resize(size_t n) {
    const size_t at = at_ == nullptr ? 0 : static_cast<size_t>(at_ - buffer_.data());
    const size_t end = end_ == nullptr ? 0 : static_cast<size_t>(end_ - buffer_.data());
    buffer_.resize(n + kBehind);
    at_ = buffer_.data() + at;
    mark(buffer_.data() + end);
  }
  /// What lies behind the end stops every loop: a character that is no blank, then blanks.
  void mark(char* end) {
    end_ = end;
    *end = '!';
    std::memset(end + 1, ' ', kBehind - 1);
  }
  /// Moves what lies from at_ on to the front and reads behind it.
  bool fill() {
    size_t rest = static_cast<size_t>(end_ - at_);
    if (rest + kBehind == buffer_.size()) {
      if (rest > 2 * size_t{kMaxWidth}) fail(fmt::format("a word has more than {} characters", 2 * kMaxWidth));
      resize(2 * rest);
    }
    std::memmove(buffer_.data(), at_, rest);
    base_ += static_cast<uint64_t>(at_ - buffer_.data());
    const size_t n = std::fread(buffer_.data() + rest, 1, buffer_.size() - kBehind - rest, file_);
    at_ = buffer_.data();
    mark(buffer_.data() + rest + n);
    return n != 0;
  }

  const std::string& path_;
  std::vector<char> buffer_;
  std::FILE* file_;
  uint64_t base_ = 0;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
};

class VcdReader : public Reader {
 public:
  explicit VcdReader(const std::string& path) : Reader(path, "VCD"), words_(path_) {
    tick_fs_ = 1'000'000;  // 1 ns where the file doesn't say
    std::vector<size_t> lengths;
    std::string scope;
    for (;;) {
      const auto w = words_.next();
      if (w.empty()) words_.fail("the file ends before $enddefinitions: it is cut off");
      if (w == "$enddefinitions") {
        words_.skip_to_end();
        break;
      } else if (w == "$timescale") {
        std::string text;
        for (auto t = words_.need(); t != "$end" && text.size() < 40; t = words_.need()) text += t;
        timescale(text);
      } else if (w == "$scope") {
        if (words_.need() == "$end") words_.fail("$scope has no type and no name");
        const std::string name(words_.need());
        lengths.push_back(scope.size());
        if (name != "$end") {  // without a name: begin blocks of some simulators
          (scope += scope.empty() ? "" : ".") += name;
          words_.skip_to_end();
        }
      } else if (w == "$upscope") {
        words_.skip_to_end();
        if (lengths.empty()) continue;
        scope.resize(lengths.back());
        lengths.pop_back();
      } else if (w == "$var") {
        variable(scope);
      } else if (w[0] == '$') {  // $date, $version, $comment, $attrbegin and what else there may be
        if (w != "$end") words_.skip_to_end();
      } else {
        words_.fail("'" + std::string(w.substr(0, 40)) + "' is not a declaration of a VCD file");
      }
    }
    body_ = words_.position();
  }

  uint64_t read(const std::vector<uint32_t>& ids, uint64_t from, uint64_t to, Visitor& visitor) override {
    ByTime sink(*this, from, to, visitor);
    const uint64_t end = scan(ids, body_, sink);
    sink.filter.flush();
    return end;
  }
  uint64_t read_stretches(const std::vector<uint32_t>& ids, const Mark& from, StretchVisitor& visitor) override {
    BySignal sink(*this, ids, visitor);
    const uint64_t end = scan(ids, std::max(from.position, body_), sink);
    sink.hand_on({end, words_.position()});
    return end;
  }

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};

  /// What scan() hands changes to: a visitor,
  struct ByTime {
    ByTime(VcdReader& reader, uint64_t from, uint64_t to, Visitor& visitor)
        : r(reader), last(to), filter(reader.id_count_, from, to, visitor) {}
    bool time(uint64_t t, uint64_t /*position*/) {
      now = t;
      return t <= last;
    }
    uint64_t end() const { return std::min(now, last); }
    void bit(uint32_t /*column*/, uint32_t id, char value) { filter.on_change(id, now, &value, 1); }
    void bits(uint32_t /*column*/, uint32_t id, std::string_view value) {
      const uint32_t width = r.widths_[id];
      if (value.size() == width && only_bits(value)) {
        filter.on_change(id, now, value.data(), width);
      } else {
        r.extend(value, width);
        filter.on_change(id, now, r.padded_.data(), width);
      }
    }
    VcdReader& r;
    uint64_t now = 0, last;
    RangeFilter filter;
  };
  /// or stretches.
  struct BySignal {
    BySignal(VcdReader& reader, const std::vector<uint32_t>& ids, StretchVisitor& v) : r(reader), visitor(v) {
      std::vector<uint32_t> widths;
      for (const uint32_t id : ids) widths.push_back(reader.widths_[id]);
      stretch.start(widths);
    }
    bool time(uint64_t t, uint64_t position) {
      if (t != now && stretch.full()) {
        if (!hand_on({t, position})) return false;
      }
      now = t;
      step = Stretch::kNever;
      return true;
    }
    uint64_t end() const { return now; }
    bool hand_on(const Mark& next) {
      if (stretch.times().empty()) return true;
      const bool more = visitor.on_stretch(stretch, next);
      stretch.clear();
      return more;
    }
    uint64_t* put(uint32_t column) {
      if (step == Stretch::kNever) step = stretch.step(now);
      return stretch.put(column, step);
    }
    void bit(uint32_t column, uint32_t /*id*/, char value) {
      uint64_t* p = put(column);
      p[0] = static_cast<uint64_t>(value == '1' || value == 'z');
      p[1] = static_cast<uint64_t>(value > '1');
      stretch.note_unknown(p[1]);
    }
    void bits(uint32_t column, uint32_t id, std::string_view value) {
      const uint32_t width = r.widths_[id], words = (width + 63) / 64;
      uint64_t* p = put(column);
      if (value.size() != width || !pack_known(value.data(), width, p)) {
        r.extend(value, width);
        pack(r.padded_.data(), width, p, p + words);
        for (uint32_t n = 0; n < words; ++n) stretch.note_unknown(p[words + n]);
        return;
      }
      for (uint32_t n = 0; n < words; ++n) p[words + n] = 0;
    }
    VcdReader& r;
    StretchVisitor& visitor;
    Stretch stretch;
    uint64_t now = 0, step = Stretch::kNever;
  };

  template <class Sink>
  uint64_t scan(const std::vector<uint32_t>& ids, uint64_t position, Sink& sink) {
    column_.assign(id_count_, kNone);
    for (size_t n = 0; n < ids.size(); ++n) {
      if (widths_[ids[n]] != 0) column_[ids[n]] = static_cast<uint32_t>(n);
    }
    uint64_t time = 0;
    words_.seek(position);
    for (;;) {
      const auto w = words_.next();
      if (w.empty()) break;
      switch (w[0]) {
        case '#': {
          const uint64_t t = number(w.substr(1));
          if (t < time) words_.fail(fmt::format("time {} lies before #{}", w.substr(0, 40), time));
          time = t;
          if (!sink.time(t, words_.position() - w.size())) return sink.end();
          break;
        }
        case '0':
        case '1':
        case 'x':
        case 'X':
        case 'z':
        case 'Z': {
          const uint32_t id = find(w.substr(1)), column = column_[id];
          if (column == kNone) break;
          const char bit = static_cast<char>(w[0] | (w[0] >= 'X' ? 0x20 : 0));
          if (widths_[id] == 1) {
            sink.bit(column, id, bit);
          } else {
            sink.bits(column, id, std::string_view(&bit, 1));
          }
          break;
        }
        case 'b':
        case 'B': {
          std::string_view value, code;
          words_.pair(w.data(), value, code);
          const uint32_t id = find(code), column = column_[id];
          if (column == kNone) break;
          value.remove_prefix(1);
          sink.bits(column, id, value);
          break;
        }
        case 'r':
        case 'R':
        case 's':
        case 'S': {
          std::string_view value, code;
          words_.pair(w.data(), value, code);
          find(code);
          break;
        }
        case 'p':  // p<value> <strength0> <strength1> <id>
          extended();
        case '$':
          if (w == "$comment") words_.skip_to_end();
          break;  // $dumpvars, $dumpon, $dumpoff, $dumpall stand round values; $end closes them
        default:
          words_.fail("'" + std::string(w.substr(0, 40)) + "' is not a value change of a VCD file");
      }
    }
    return time;
  }

  [[noreturn]] void extended() const {
    words_.fail("this is an extended VCD file (port strengths), which is not supported; write a four-state VCD");
  }

  void timescale(const std::string& text) {
    size_t i = 0;
    while (i < text.size() && std::isdigit(static_cast<unsigned char>(text[i]))) ++i;
    const std::string n = text.substr(0, i), unit = text.substr(i);
    static constexpr std::pair<const char*, uint64_t> kUnits[] = {{"fs", 1},
                                                                  {"ps", 1'000},
                                                                  {"ns", 1'000'000},
                                                                  {"us", 1'000'000'000},
                                                                  {"ms", 1'000'000'000'000},
                                                                  {"s", 1'000'000'000'000'000}};
    for (const auto& [name, fs] : kUnits) {
      if (unit == name && (n == "1" || n == "10" || n == "100")) {
        tick_fs_ = fs * (n == "1" ? 1 : n == "10" ? 10 : 100);
        return;
      }
    }
    words_.fail("$timescale '" + text + "' is not known; allowed: 1, 10 or 100 of fs, ps, ns, us, ms, s");
  }

  void variable(const std::string& scope) {
    const auto part = [this](const char* what) {
      const auto w = words_.need();
      if (w == "$end") words_.fail(fmt::format("$var has no {}", what));
      return std::string(w);
    };
    const std::string type = part("type");
    if (type == "port") extended();
    const std::string width = part("width");
    const std::string code = part("identifier");
    std::string name = part("name");
    for (auto t = words_.need(); t != "$end"; t = words_.need()) {
      name += ' ';
      name += t;
    }
    const uint32_t id = declare(code);
    if (type == "real" || type == "realtime" || type == "shortreal" || type == "string" || type == "event") return;
    Signal s;
    const uint64_t bits = number(width);
    if (bits == 0 || bits > kMaxWidth) {
      words_.fail(
          fmt::format("variable '{}' has a width of {}; allowed: 1 to {}", name, width.substr(0, 40), kMaxWidth));
    }
    s.width = static_cast<uint32_t>(bits);
    s.id = id;
    if (widths_[id] != 0 && widths_[id] != s.width) {
      words_.fail(fmt::format("variable '{}' has {} bits, but its identifier '{}' is that of one with {}", name, bits,
                              code, widths_[id]));
    }
    widths_[id] = s.width;
    set_name(s, scope, name);
    signals_.push_back(std::move(s));
  }

  uint64_t number(std::string_view text) const {
    uint64_t n = 0;
    if (text.empty()) words_.fail("a number is missing");
    for (const char c : text) {
      const auto digit = static_cast<uint64_t>(c - '0');
      if (c < '0' || c > '9') words_.fail(fmt::format("'{}' is not a number", text.substr(0, 40)));
      if (n > (~uint64_t{0} - digit) / 10) words_.fail(fmt::format("{} is too large a number", text.substr(0, 40)));
      n = n * 10 + digit;
    }
    return n;
  }

  // Identifier codes of up to three printable characters, which is what nearly all files have, are looked up in a
  // table.
  static constexpr size_t kDirect = size_t{95} * 95 * 95;
  /// Its place in the table, or kDirect.
  static size_t direct(std::string_view code) {
    const auto digit = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(code[i])) - 32; };
    size_t k = kDirect;
    if (code.size() == 1) {
      k = digit(0);
      if (k >= 95) return kDirect;
    } else if (code.size() == 2) {
      const size_t a = digit(0), b = digit(1);
      if (a >= 95 || b >= 95) return kDirect;
      k = a + 95 * b;
    } else if (code.size() == 3) {
      const size_t a = digit(0), b = digit(1), c = digit(2);
      if (a >= 95 || b >= 95 || c >= 95) return kDirect;
      k = a + 95 * (b + 95 * c);
    }
    return k;
  }

  uint32_t declare(const std::string& code) {
    const size_t k = direct(code);
    if (k != kDirect && direct_.size() <= k) direct_.resize(k + 1, kNone);
    uint32_t& id = k != kDirect ? direct_[k] : others_.try_emplace(code, kNone).first->second;
    if (id == kNone) {
      id = id_count_++;
      widths_.push_back(0);
    }
    return id;
  }
  uint32_t find(std::string_view code) {
    const size_t k = direct(code);
    if (k < direct_.size() && direct_[k] != kNone) return direct_[k];
    if (k == kDirect) {
      code_.assign(code);
      if (const auto it = others_.find(code_); it != others_.end()) return it->second;
    }
    if (code.empty()) words_.fail("the identifier of a variable is missing");
    words_.fail(fmt::format("identifier '{}' is not declared", code.substr(0, 40)));
  }

  static bool only_bits(std::string_view value) {
    const char* p = value.data();
    size_t n = value.size();
    for (; n >= 8; n -= 8, p += 8) {
      uint64_t v;
      std::memcpy(&v, p, 8);
      if ((v & 0xfefe'fefe'fefe'fefe) != 0x3030'3030'3030'3030) return false;
    }
    for (; n > 0; --n, ++p) {
      if ((*p & ~1) != '0') return false;
    }
    return true;
  }

  /// Shorter values are filled at the left: with 0 after 0 or 1, else with the leading x or z.
  void extend(std::string_view bits, uint32_t width) {
    if (bits.empty()) words_.fail("a value has no digits");
    if (bits.size() > width) bits.remove_prefix(bits.size() - width);
    padded_.resize(width);
    char* out = padded_.data() + (width - bits.size());
    for (const char c : bits) {
      const char low = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
      if (low != '0' && low != '1' && low != 'x' && low != 'z') {
        words_.fail(fmt::format("'{}' is not a binary number", bits.substr(0, 40)));
      }
      *out++ = low;
    }
    const size_t missing = width - bits.size();
    const char lead = padded_[missing];
    std::fill_n(padded_.begin(), missing, lead == '1' ? '0' : lead);
  }

  Words words_;
  std::vector<uint32_t> direct_;
  std::unordered_map<std::string, uint32_t> others_;
  std::vector<uint32_t> widths_;
  std::vector<uint32_t> column_;  ///< place in the list of wanted signals, of each id
  std::string padded_, code_;
  uint64_t body_ = 0;
};

}  // namespace

std::unique_ptr<Reader> open_vcd(const std::string& path) { return std::make_unique<VcdReader>(path); }

}  // namespace rnic::wave::detail
