// SPDX-License-Identifier: Apache-2.0
// VCD as Verilator, Icarus, GTKWave and commercial simulators write it (IEEE 1364, four-state).
#include <cctype>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <unordered_map>

#include "rnic/core/error.h"
#include "rnic/wave/reader.h"

namespace rnic::wave::detail {
namespace {

/// Words separated by white space, out of a buffer of fixed size.
class Words {
 public:
  explicit Words(const std::string& path) : path_(path), buffer_(1 << 18), file_(std::fopen(path.c_str(), "rb")) {
    if (file_ == nullptr) throw InputError(path, 0, "", "cannot be opened");
  }
  ~Words() { std::fclose(file_); }
  Words(const Words&) = delete;

  /// The next word, valid until the next call; empty at the end of the file.
  std::string_view next() {
    for (;;) {
      while (at_ < end_ && static_cast<unsigned char>(buffer_[at_]) <= ' ') {
        line_ += buffer_[at_] == '\n';
        ++at_;
      }
      if (at_ < end_ || !fill(at_)) break;
    }
    size_t stop = at_;
    for (;;) {
      while (stop<end_&& static_cast<unsigned char>(buffer_[stop])> ' ') ++stop;
      if (stop < end_) break;
      const size_t length = stop - at_;
      if (!fill(at_)) {
        // The last word is not followed by a line's end.
        if (length != 0) fail("the file ends in the middle of a line: it is cut off");
        break;
      }
      stop = at_ + length;
    }
    const std::string_view word(buffer_.data() + at_, stop - at_);
    at_ = stop;
    return word;
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
  [[noreturn]] void fail(const std::string& what) const { throw InputError(path_, line_, "", what); }
  uint64_t position() const { return base_ + at_; }
  unsigned line() const { return line_; }
  void seek(uint64_t position, unsigned line) {
    fseeko(file_, static_cast<off_t>(position), SEEK_SET);
    base_ = position;
    at_ = end_ = 0;
    line_ = line;
  }

 private:
  /// Moves what lies from `keep` to the front and reads behind it.
  bool fill(size_t keep) {
    const size_t rest = end_ - keep;
    if (rest == buffer_.size()) buffer_.resize(2 * buffer_.size());
    std::memmove(buffer_.data(), buffer_.data() + keep, rest);
    base_ += keep;
    const size_t n = std::fread(buffer_.data() + rest, 1, buffer_.size() - rest, file_);
    at_ = 0;
    end_ = rest + n;
    return n != 0;
  }

  const std::string& path_;
  std::vector<char> buffer_;
  std::FILE* file_;
  uint64_t base_ = 0;
  size_t at_ = 0, end_ = 0;
  unsigned line_ = 1;
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
        for (auto t = words_.need(); t != "$end"; t = words_.need()) text += t;
        timescale(text);
      } else if (w == "$scope") {
        words_.need();
        const std::string name(words_.need());
        lengths.push_back(scope.size());
        if (name != "$end") {
          scope += (scope.empty() ? "" : ".") + name;
          words_.skip_to_end();
        }
      } else if (w == "$upscope") {
        words_.skip_to_end();
        if (!lengths.empty()) {
          scope.resize(lengths.back());
          lengths.pop_back();
        }
      } else if (w == "$var") {
        variable(scope);
      } else if (w[0] == '$') {  // $date, $version, $comment, $attrbegin and what else there may be
        words_.skip_to_end();
      } else {
        words_.fail("'" + std::string(w.substr(0, 40)) + "' is not a declaration of a VCD file");
      }
    }
    body_ = words_.position();
    body_line_ = words_.line();
  }

  uint64_t read(const std::vector<uint32_t>& ids, uint64_t from, uint64_t to, Visitor& visitor) override {
    std::vector<char> wanted(id_count_);
    for (const uint32_t id : ids) wanted[id] = 1;
    RangeFilter filter(id_count_, from, to, visitor);
    std::string padded;
    uint64_t time = 0;
    words_.seek(body_, body_line_);
    for (;;) {
      const auto w = words_.next();
      if (w.empty()) break;
      switch (w[0]) {
        case '#': {
          const uint64_t t = number(w.substr(1));
          if (t < time) words_.fail("time " + std::string(w) + " lies before #" + std::to_string(time));
          time = t;
          if (time > to) {
            filter.flush();
            return to;
          }
          break;
        }
        case '0':
        case '1':
        case 'x':
        case 'X':
        case 'z':
        case 'Z': {
          const uint32_t id = find(w.substr(1));
          if (!wanted[id]) break;
          const char bit = static_cast<char>(std::tolower(w[0]));
          if (widths_[id] == 1) {
            filter.on_change(id, time, &bit, 1);
          } else {
            extend(std::string_view(&bit, 1), widths_[id], padded);
            filter.on_change(id, time, padded.data(), widths_[id]);
          }
          break;
        }
        case 'b':
        case 'B': {
          bits_.assign(w.data() + 1, w.size() - 1);
          const uint32_t id = find(words_.need());
          if (!wanted[id]) break;
          for (char& c : bits_) {
            if (c == '0' || c == '1') continue;
            c = static_cast<char>(std::tolower(c));
            if (c != 'x' && c != 'z') words_.fail("'" + bits_.substr(0, 40) + "' is not a binary number");
          }
          extend(bits_, widths_[id], padded);
          filter.on_change(id, time, padded.data(), widths_[id]);
          break;
        }
        case 'r':
        case 'R':
        case 's':
        case 'S':
          words_.need();
          break;
        case 'p':  // extended VCD: p<value> <strength0> <strength1> <id>
          words_.fail("this is an extended VCD file (port strengths), which is not supported; write a four-state VCD");
        case '$':
          if (w == "$comment") words_.skip_to_end();
          break;  // $dumpvars, $dumpon, $dumpoff, $dumpall stand round values; $end closes them
        default:
          words_.fail("'" + std::string(w.substr(0, 40)) + "' is not a value change of a VCD file");
      }
    }
    filter.flush();
    return time;
  }

 private:
  void timescale(const std::string& text) {
    size_t i = 0;
    uint64_t n = 0;
    while (i < text.size() && std::isdigit(static_cast<unsigned char>(text[i]))) n = n * 10 + (text[i++] - '0');
    const std::string unit = text.substr(i);
    static constexpr std::pair<const char*, uint64_t> kUnits[] = {{"fs", 1},
                                                                  {"ps", 1'000},
                                                                  {"ns", 1'000'000},
                                                                  {"us", 1'000'000'000},
                                                                  {"ms", 1'000'000'000'000},
                                                                  {"s", 1'000'000'000'000'000}};
    for (const auto& [name, fs] : kUnits) {
      if (unit == name && (n == 1 || n == 10 || n == 100)) {
        tick_fs_ = n * fs;
        return;
      }
    }
    words_.fail("$timescale '" + text + "' is not known; allowed: 1, 10 or 100 of fs, ps, ns, us, ms, s");
  }

  void variable(const std::string& scope) {
    const std::string type(words_.need());
    const std::string width(words_.need());
    const std::string code(words_.need());
    std::string name;
    for (auto t = words_.need(); t != "$end"; t = words_.need()) {
      if (!name.empty()) name += ' ';
      name += t;
    }
    const auto [it, fresh] = ids_.try_emplace(key(code), id_count_);
    if (fresh) {
      ++id_count_;
      widths_.push_back(0);
      if (it->first < kDirect) {
        if (direct_.size() <= it->first) direct_.resize(it->first + 1, kNone);
        direct_[it->first] = it->second;
      }
    }
    if (type == "real" || type == "realtime" || type == "string" || type == "event") return;
    Signal s;
    s.width = static_cast<uint32_t>(number(width));
    if (s.width == 0 || s.width > (1u << 24)) words_.fail("variable '" + name + "' has a width of " + width);
    s.id = it->second;
    widths_[s.id] = s.width;
    set_name(s, scope, name);
    signals_.push_back(std::move(s));
  }

  uint64_t number(std::string_view text) const {
    uint64_t n = 0;
    if (text.empty()) words_.fail("a number is missing");
    for (const char c : text) {
      if (c < '0' || c > '9') words_.fail("'" + std::string(text.substr(0, 40)) + "' is not a number");
      n = n * 10 + static_cast<uint64_t>(c - '0');
    }
    return n;
  }

  /// Identifier codes are numbers to the base of 94, in all writers seen; 9 characters fit.
  uint64_t key(std::string_view code) const {
    if (code.empty()) words_.fail("the identifier of a variable is missing");
    if (code.size() > 9)
      words_.fail("identifier '" + std::string(code.substr(0, 40)) + "' is longer than 9 characters");
    uint64_t k = 0;
    for (size_t i = code.size(); i-- > 0;) k = k * 95 + static_cast<uint64_t>(static_cast<unsigned char>(code[i]) - 32);
    return k;
  }

  uint32_t find(std::string_view code) const {
    const uint64_t k = key(code);
    if (k < direct_.size()) {
      if (direct_[k] != kNone) return direct_[k];
    } else if (const auto it = ids_.find(k); it != ids_.end()) {
      return it->second;
    }
    words_.fail("identifier '" + std::string(code) + "' is not declared");
  }

  /// Shorter values are filled at the left: with 0 after 0 or 1, else with the leading x or z.
  static void extend(std::string_view bits, uint32_t width, std::string& out) {
    if (bits.size() >= width) {
      out.assign(bits.substr(bits.size() - width));
      return;
    }
    const char lead = bits.empty() ? 'x' : bits[0];
    out.assign(width - bits.size(), lead == '1' ? '0' : lead);
    out.append(bits);
  }

  static constexpr uint64_t kDirect = 1 << 22;
  static constexpr uint32_t kNone = ~uint32_t{0};

  Words words_;
  std::unordered_map<uint64_t, uint32_t> ids_;
  std::vector<uint32_t> direct_;
  std::vector<uint32_t> widths_;
  std::string bits_;
  uint64_t body_ = 0;
  unsigned body_line_ = 1;
};

}  // namespace

std::unique_ptr<Reader> open_vcd(const std::string& path) { return std::make_unique<VcdReader>(path); }

}  // namespace rnic::wave::detail
