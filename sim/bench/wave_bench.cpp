// SPDX-License-Identifier: Apache-2.0
// wave_bench: what `rnicsim wavecheck` costs beside a plain pass of its reader, on waves that it makes itself.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <vector>

#include <fmt/format.h>
#include <gtkwave/fstapi.h>

#include "replay.h"
#include "rnic/core/error.h"
#include "rnic/wave/check.h"

namespace rnic::bench {
namespace {

namespace fs = std::filesystem;

// ---- Making waves -------------------------------------------------------------------------------------------------

/// Where a wave goes to.
class Writer {
 public:
  virtual ~Writer() = default;
  virtual void scope(const std::string& name) = 0;
  virtual void upscope() = 0;
  virtual unsigned variable(const std::string& name, unsigned width) = 0;
  virtual void begin() = 0;
  virtual void time(uint64_t t) = 0;
  virtual void change(unsigned id, unsigned width, uint64_t value) = 0;
  virtual void end() = 0;
  virtual uint64_t bytes() const { return 0; }
};

class VcdWriter : public Writer {
 public:
  explicit VcdWriter(const std::string& path) : file_(std::fopen(path.c_str(), "wb")) {
    if (file_ == nullptr) throw InputError(path, 0, "", "cannot be written");
    text_ = "$timescale 1ns $end\n";
  }
  ~VcdWriter() override {
    if (file_ != nullptr) std::fclose(file_);
  }
  void scope(const std::string& name) override { text_ += "$scope module " + name + " $end\n"; }
  void upscope() override { text_ += "$upscope $end\n"; }
  unsigned variable(const std::string& name, unsigned width) override {
    std::string code;
    for (unsigned n = static_cast<unsigned>(codes_.size());; n /= 94) {
      code += static_cast<char>('!' + n % 94);
      if (n < 94) break;
    }
    const std::string range = width == 1 ? "" : fmt::format(" [{}:0]", width - 1);
    text_ += fmt::format("$var wire {} {} {}{} $end\n", width, code, name, range);
    codes_.push_back(code);
    return static_cast<unsigned>(codes_.size() - 1);
  }
  void begin() override { text_ += "$enddefinitions $end\n"; }
  void time(uint64_t t) override {
    text_ += '#';
    text_ += fmt::format_int(t).c_str();
    text_ += '\n';
    if (text_.size() > (1 << 20)) flush();
  }
  void change(unsigned id, unsigned width, uint64_t value) override {
    if (width == 1) {
      text_ += static_cast<char>('0' + (value & 1));
    } else {
      text_ += 'b';
      for (unsigned i = width; i-- > 0;) text_ += static_cast<char>('0' + (value >> i & 1));
      text_ += ' ';
    }
    text_ += codes_[id];
    text_ += '\n';
  }
  void end() override {
    flush();
    const bool good = std::fclose(file_) == 0;
    file_ = nullptr;
    if (!good) throw InputError("", 0, "", "the disk is full");
  }
  uint64_t bytes() const override { return written_ + text_.size(); }

 private:
  void flush() {
    if (std::fwrite(text_.data(), 1, text_.size(), file_) != text_.size())
      throw InputError("", 0, "", "the disk is full");
    written_ += text_.size();
    text_.clear();
  }
  std::FILE* file_;
  std::string text_;
  std::vector<std::string> codes_;
  uint64_t written_ = 0;
};

class FstWriter : public Writer {
 public:
  explicit FstWriter(const std::string& path) : context_(fstWriterCreate(path.c_str(), 1)) {
    if (context_ == nullptr) throw InputError(path, 0, "", "cannot be written");
    fstWriterSetPackType(context_, FST_WR_PT_LZ4);  // as Verilator does
    fstWriterSetTimescale(context_, -9);
  }
  ~FstWriter() override { end(); }
  void scope(const std::string& name) override {
    fstWriterSetScope(context_, FST_ST_VCD_MODULE, name.c_str(), nullptr);
  }
  void upscope() override { fstWriterSetUpscope(context_); }
  unsigned variable(const std::string& name, unsigned width) override {
    const std::string range = width == 1 ? "" : fmt::format(" [{}:0]", width - 1);
    return fstWriterCreateVar(context_, FST_VT_VCD_WIRE, FST_VD_IMPLICIT, width, (name + range).c_str(), 0);
  }
  void begin() override {}
  void time(uint64_t t) override { fstWriterEmitTimeChange(context_, t); }
  void change(unsigned id, unsigned width, uint64_t value) override {
    fstWriterEmitValueChange64(context_, id, width, value);
  }
  void end() override {
    if (context_ != nullptr) fstWriterClose(context_);
    context_ = nullptr;
  }

 private:
  void* context_;
};

struct Shape {
  unsigned lanes = 64;
  uint64_t cycles = 0;  ///< 0: until the VCD has `bytes`
  uint64_t bytes = 0;
  uint64_t seed = 1;
  unsigned fault_lane = ~0u;  ///< its data changes while it waits for ready,
  uint64_t fault_cycle = 0;   ///< at the first chance from this cycle on
};

struct Made {
  uint64_t cycles = 0, changes = 0;
  uint64_t fault_cycle = 0;  ///< where the fault came to be
};

constexpr unsigned kDepth = 16;
constexpr uint64_t kDrain = 400;  ///< cycles at the end in which nothing comes in

/// Lanes, each a FIFO between two streams. Values of cycle n hold from 10 n ns on, the clock rises at 10 n + 5 ns.
Made make_wave(const Shape& shape, Writer& w) {
  struct Signal {
    unsigned id = 0, width = 0;
    uint64_t value = 0;
    bool fresh = true;
  };
  struct Lane {
    Signal in_valid, in_ready, in_data, out_valid, out_ready, out_data, level, count;
    uint64_t fifo[kDepth] = {};
    unsigned head = 0;
  };
  std::mt19937_64 random(shape.seed);
  uint64_t bits = 0;
  unsigned left = 0;
  const auto chance = [&](unsigned of_16) {  // four random bits
    if (left == 0) {
      bits = random();
      left = 16;
    }
    --left;
    const bool yes = (bits & 15) < of_16;
    bits >>= 4;
    return yes;
  };
  const auto declare = [&](const char* name, unsigned width) {
    return Signal{w.variable(name, width), width, 0, true};
  };
  w.scope("top");
  Signal clk = declare("clk", 1), rst = declare("rst", 1), cycle = declare("cycle", 32);
  std::vector<Lane> lanes(shape.lanes);
  for (unsigned n = 0; n < shape.lanes; ++n) {
    Lane& l = lanes[n];
    w.scope(fmt::format("lane{}", n));
    l.in_valid = declare("in_valid", 1);
    l.in_ready = declare("in_ready", 1);
    l.in_data = declare("in_data", 64);
    l.out_valid = declare("out_valid", 1);
    l.out_ready = declare("out_ready", 1);
    l.out_data = declare("out_data", 64);
    l.level = declare("level", 5);
    l.count = declare("count", 16);
    w.upscope();
  }
  w.upscope();
  w.begin();
  Made made;
  const auto set = [&](Signal& s, uint64_t value) {
    if (s.value == value && !s.fresh) return;
    s.fresh = false;
    s.value = value;
    w.change(s.id, s.width, value);
    ++made.changes;
  };
  uint64_t stop = shape.cycles == 0 ? ~uint64_t{0} : shape.cycles;
  for (uint64_t n = 0; n < stop; ++n) {
    if (stop == ~uint64_t{0} && w.bytes() >= shape.bytes) stop = n + kDrain;
    const bool draining = stop - n <= kDrain;
    w.time(10 * n);
    set(clk, 0);
    set(rst, n < 2);
    set(cycle, n);
    for (unsigned i = 0; i < shape.lanes; ++i) {
      Lane& l = lanes[i];
      const bool running = n >= 3;
      const bool push = running && l.in_valid.value && l.in_ready.value;
      const bool pop = running && l.out_valid.value && l.out_ready.value;
      const bool waits = running && l.in_valid.value && !l.in_ready.value;
      uint64_t level = l.level.value;
      if (push) l.fifo[(l.head + level) % kDepth] = l.in_data.value;
      if (pop) l.head = (l.head + 1) % kDepth;
      level += static_cast<uint64_t>(push) - static_cast<uint64_t>(pop);
      set(l.level, level);
      set(l.count, (l.count.value + pop) & 0xffff);
      set(l.in_ready, n >= 2 && level < kDepth - 1 && chance(12));
      if (!waits) {
        const bool valid = n >= 2 && !draining && chance(5);
        set(l.in_valid, valid);
        if (valid) set(l.in_data, random());
      } else if (i == shape.fault_lane && n >= shape.fault_cycle && made.fault_cycle == 0) {
        made.fault_cycle = n;
        set(l.in_data, l.in_data.value ^ 1);
      }
      set(l.out_valid, level != 0);
      if (level != 0) set(l.out_data, l.fifo[l.head]);
      set(l.out_ready, n >= 2 && chance(10));
    }
    w.time(10 * n + 5);
    set(clk, 1);
    made.cycles = n + 1;
  }
  w.end();
  return made;
}

// ---- Rules --------------------------------------------------------------------------------------------------------

constexpr const char* kDefaults =
    "[defaults]\nclock = \"top.clk\"\nedge = \"rising\"\nreset = \"top.rst\"\ncycle = \"top.cycle\"\n";

/// Thirty rules of ten kinds, each on a lane of its own.
std::string thirty_rules(const Shape& shape) {
  static constexpr const char* kRules[] = {
      R"(kind = "handshake"
valid = "in_valid"
ready = "in_ready"
payload = ["in_data"])",
      R"(kind = "handshake"
valid = "out_valid"
ready = "out_ready"
payload = ["out_data"]
max_stall = 1000)",
      R"(kind = "conservation"
in = "in_valid && in_ready"
out = "out_valid && out_ready")",
      R"(kind = "occupancy"
push = "in_valid && in_ready"
pop = "out_valid && out_ready"
level = "level"
max = 16)",
      R"(kind = "counter"
expr = "count"
event = "out_valid && out_ready")",
      R"(kind = "response"
a = "in_valid && in_ready"
b = "out_valid && out_ready"
hi = 1000)",
      R"(kind = "match"
request = "in_valid && in_ready"
response = "out_valid && out_ready"
max_outstanding = 16)",
      R"(kind = "monotonic"
expr = "count"
wrap = true)",
      R"(kind = "never"
expr = "(out_valid && level == 0) || level > 16")",
      R"(kind = "progress"
event = "out_valid && out_ready"
busy = "level != 0"
max = 1000)"};
  std::string text = kDefaults;
  for (unsigned n = 0; n < 30; ++n) {
    text +=
        fmt::format("[[rule]]\nname = \"rule {}\"\nscope = \"top.lane{}\"\n{}\n", n, n % shape.lanes, kRules[n % 10]);
  }
  return text;
}

std::string lane_rule() {
  return std::string(kDefaults) +
         "[[rule]]\nkind = \"handshake\"\nname = \"lanes\"\nvalid = \"top.*.in_valid\"\nready = \"top.*.in_ready\"\n"
         "payload = [\"top.*.in_data\"]\n";
}

/// The signals that these rules use; nothing in `text` is a glob but the lane.
std::vector<uint32_t> used_signals(const std::string& text, const wave::Reader& reader) {
  std::vector<uint32_t> ids;
  std::istringstream in(text);
  std::string line, scope;
  std::vector<std::pair<std::string, std::string>> used;  // scope, text that names signals
  while (std::getline(in, line)) {
    if (line == "[[rule]]") scope = "top.*";
    if (line.rfind("scope = \"", 0) == 0) scope = line.substr(9, line.size() - 10);
    used.emplace_back(scope, line);
  }
  for (const auto& s : reader.signals()) {
    const size_t dot = s.name.rfind('.');
    const std::string where = s.name.substr(0, dot), name = s.name.substr(dot + 1);
    const bool wanted = std::any_of(used.begin(), used.end(), [&, id = s.id](const auto& u) {
      (void)id;
      if (u.first.empty()) return u.second.find("\"" + s.name + "\"") != std::string::npos;  // [defaults]
      if (u.first != where && u.first != "top.*") return false;
      if (u.second.rfind("name", 0) == 0 || u.second.rfind("kind", 0) == 0) return false;
      for (size_t at = u.second.find(name); at != std::string::npos; at = u.second.find(name, at + 1)) {
        const char before = at == 0 ? ' ' : u.second[at - 1];
        const char after = at + name.size() < u.second.size() ? u.second[at + name.size()] : ' ';
        const bool key = at == 0;
        if (!key && !std::isalnum(static_cast<unsigned char>(before)) && before != '_' &&
            !std::isalnum(static_cast<unsigned char>(after)) && after != '_') {
          return true;
        }
      }
      return false;
    });
    if (wanted) ids.push_back(s.id);
  }
  return ids;
}

// ---- Measuring ----------------------------------------------------------------------------------------------------

struct Result {
  double seconds = 0;  ///< CPU time
  uint64_t changes = 0;
  uint64_t memory = 0;  ///< bytes, at most
  uint64_t passed = 0, failed = 0, other = 0;
  int64_t cycle = -1;  ///< of the first failure
  char where[120] = {};
};

/// Runs fn in a child process, whose memory is its own.
Result in_child(const std::function<void(Result&)>& fn) {
  int fds[2];
  if (pipe(fds) != 0) throw SimError("pipe failed");
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid < 0) throw SimError("fork failed");
  if (pid == 0) {
    close(fds[0]);
    Result r;
    try {
      const double start = cpu_seconds();
      fn(r);
      if (r.seconds == 0) r.seconds = cpu_seconds() - start;
    } catch (const std::exception& e) {
      fmt::print(stderr, "wave_bench: {}\n", e.what());
      _exit(1);
    }
    _exit(write(fds[1], &r, sizeof r) == sizeof r ? 0 : 1);
  }
  close(fds[1]);
  Result r;
  const bool ok = read(fds[0], &r, sizeof r) == sizeof r;
  close(fds[0]);
  int status = 0;
  rusage usage{};
  wait4(pid, &status, 0, &usage);
  if (!ok || status != 0) throw SimError("a part of the benchmark failed");
  r.memory = static_cast<uint64_t>(usage.ru_maxrss) * 1024;
  return r;
}

/// The reader alone, over these signals or over all.
void plain_pass(const std::string& wave, const std::string* rules, Result& r) {
  struct Count : wave::Visitor {
    void on_change(uint32_t, uint64_t, const char*, uint32_t) override { ++n; }
    uint64_t n = 0;
  } count;
  const auto reader = wave::Reader::open(wave);
  std::vector<uint32_t> ids;
  if (rules != nullptr) {
    ids = used_signals(*rules, *reader);
  } else {
    for (const auto& s : reader->signals()) ids.push_back(s.id);
  }
  reader->read(ids, count);
  r.changes = count.n;
}

void check(const std::string& wave, const std::string& rules, Result& r) {
  const auto reader = wave::Reader::open(wave);
  const auto report = wave::check({rules}, *reader);
  for (const auto& v : report.verdicts) {
    switch (v.status) {
      case wave::Status::kPassed:
        ++r.passed;
        break;
      case wave::Status::kFailed:
        ++r.failed;
        if (r.cycle < 0) {
          r.cycle = v.first[0].cycle;
          std::snprintf(r.where, sizeof r.where, "%s", v.instance.c_str());
        }
        break;
      default:
        ++r.other;
        if (r.other == 1) fmt::print(stderr, "{}: {}: {}\n", v.title(), wave::to_string(v.status), v.detail);
    }
  }
}

struct Timed {
  Result check, same, all;  ///< `same`: the reader over the signals that the rules use
};
Timed measure(const std::string& wave, const std::string& rules_path, const std::string& rules, unsigned rounds) {
  Timed best;
  for (unsigned n = 0; n < rounds; ++n) {
    const auto keep = [&](Result& kept, const std::function<void(Result&)>& fn) {
      const Result r = in_child(fn);
      if (n == 0 || r.seconds < kept.seconds) kept = r;
    };
    keep(best.check, [&](Result& r) { check(wave, rules_path, r); });
    keep(best.same, [&](Result& r) { plain_pass(wave, &rules, r); });
    keep(best.all, [&](Result& r) { plain_pass(wave, nullptr, r); });
  }
  return best;
}

double megabytes(const std::string& path) { return static_cast<double>(fs::file_size(path)) / 1e6; }

/// Files in a folder of this run, gone at its end unless they are to be kept.
class Folder {
 public:
  Folder(const std::string& base, bool keep) : keep_(keep), owner_(getpid()) {
    const fs::path at = base.empty() ? fs::temp_directory_path() : fs::path(base);
    std::error_code ec;
    fs::create_directories(at, ec);
    path_ = at / fmt::format("wave_bench_{}", owner_);
    if (!fs::create_directories(path_, ec)) throw InputError(path_.string(), 0, "", "cannot be made");
  }
  ~Folder() {
    std::error_code ec;
    if (!keep_ && getpid() == owner_) fs::remove_all(path_, ec);
  }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  bool keep_;
  pid_t owner_;
  fs::path path_;
};

void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
  if (fs::file_size(path) != text.size()) throw InputError(path, 0, "", "cannot be written");
}

/// The same wave as VCD and as FST; made in a child, so that this process stays small.
Made make_files(const Shape& shape, const Folder& folder, const std::string& name) {
  Made made;
  const auto one = [&](const std::function<std::unique_ptr<Writer>()>& open, const Shape& s) {
    const Result r = in_child([&](Result& out) {
      const Made m = make_wave(s, *open());
      out.changes = m.changes;
      out.passed = m.cycles;
      out.failed = m.fault_cycle;
    });
    made = {r.passed, r.changes, r.failed};
  };
  one([&] { return std::make_unique<VcdWriter>(folder / (name + ".vcd")); }, shape);
  Shape same = shape;
  same.cycles = made.cycles;
  const Made vcd = made;
  one([&] { return std::make_unique<FstWriter>(folder / (name + ".fst")); }, same);
  if (made.changes != vcd.changes) throw SimError("the two files of a wave differ");
  return made;
}

struct Options {
  unsigned lanes = 64, rounds = 3;
  uint64_t cycles = 100000, size = 1000, seed = 1;
  std::string dir, part = "all";
  bool keep = false;
};

/// One fault among many lanes is found where it was put.
bool lanes_part(const Options& o, const Folder& folder) {
  Shape shape;
  shape.lanes = o.lanes;
  shape.cycles = o.cycles;
  shape.seed = o.seed;
  shape.fault_lane = static_cast<unsigned>(std::mt19937_64(o.seed)() % o.lanes);
  shape.fault_cycle = (o.cycles - kDrain) * 9 / 10;
  const Made made = make_files(shape, folder, "lanes");
  if (made.fault_cycle == 0) throw InputError("", 0, "--cycles", "are too few for a fault to come to be");
  const std::string rules = lane_rule(), path = folder / "lanes.toml";
  write_text(path, rules);
  fmt::print("{} lanes, {} cycles, one rule for each lane: lane {} breaks its handshake in cycle {}\n", o.lanes,
             made.cycles, shape.fault_lane, made.fault_cycle);
  fmt::print("{:6} {:>8} {:>10} {:>10} {:>8} {:>10} {:>8}  {}\n", "wave", "MB", "check s", "plain s", "ratio",
             "Mchange/s", "MB RSS", "found");
  bool good = true;
  for (const std::string format : {"vcd", "fst"}) {
    const std::string wave = folder / ("lanes." + format);
    const Timed t = measure(wave, path, rules, o.rounds);
    const bool found = t.check.failed == 1 && t.check.passed == o.lanes - 1 && t.check.other == 0 &&
                       t.check.cycle == static_cast<int64_t>(made.fault_cycle) &&
                       t.check.where == fmt::format("top.lane{}.in_valid", shape.fault_lane);
    fmt::print(
        "{:6} {:8.1f} {:10.3f} {:10.3f} {:8.2f} {:10.1f} {:8.1f}  {}\n", format, megabytes(wave), t.check.seconds,
        t.same.seconds, t.check.seconds / t.same.seconds, static_cast<double>(t.same.changes) / t.check.seconds / 1e6,
        static_cast<double>(t.check.memory) / 1e6,
        found ? "lane and cycle"
              : fmt::format("WRONG: {} failed, first '{}' in cycle {}", t.check.failed, t.check.where, t.check.cycle));
    good = good && found;
  }
  return good;
}

/// Thirty rules over waves of a quarter, a half and the whole of the size.
bool size_part(const Options& o, const Folder& folder) {
  bool good = true;
  fmt::print("30 rules over {} lanes; ratio: to the reader alone over the signals used, and over all\n", o.lanes);
  fmt::print("{:6} {:>8} {:>10} {:>10} {:>8} {:>8} {:>8} {:>10} {:>8}\n", "wave", "MB", "cycles", "check s", "ratio",
             "to all", "MB/s", "Mchange/s", "MB RSS");
  for (const unsigned divisor : {4u, 2u, 1u}) {
    Shape shape;
    shape.lanes = o.lanes;
    shape.bytes = o.size * 1'000'000 / divisor;
    shape.seed = o.seed;
    const Made made = make_files(shape, folder, "size");
    const std::string rules = thirty_rules(shape), path = folder / "size.toml";
    write_text(path, rules);
    for (const std::string format : {"vcd", "fst"}) {
      const std::string wave = folder / ("size." + format);
      const Timed t = measure(wave, path, rules, o.rounds);
      const bool passed = t.check.passed == 30 && t.check.failed == 0 && t.check.other == 0;
      fmt::print(
          "{:6} {:8.1f} {:10} {:10.3f} {:8.2f} {:8.2f} {:8.1f} {:10.1f} {:8.1f}{}\n", format, megabytes(wave),
          made.cycles, t.check.seconds, t.check.seconds / t.same.seconds, t.check.seconds / t.all.seconds,
          megabytes(wave) / t.check.seconds, static_cast<double>(made.changes) / t.check.seconds / 1e6,
          static_cast<double>(t.check.memory) / 1e6,
          passed ? ""
                 : fmt::format("  WRONG: {} of 30 passed, first failure in cycle {}", t.check.passed, t.check.cycle));
      good = good && passed;
    }
  }
  return good;
}

int bench(const Options& o) {
  const Folder folder(o.dir, o.keep);
  bool good = true;
  if (o.part != "size") good = lanes_part(o, folder) && good;
  if (o.part != "lanes") good = size_part(o, folder) && good;
  return good ? 0 : 1;
}

}  // namespace
}  // namespace rnic::bench

int main(int argc, char** argv) {
  CLI::App app{
      "wave_bench: what `rnicsim wavecheck` costs beside a plain pass of its reader. It makes waves, VCD and FST of "
      "the\n"
      "same content, and checks them in processes of their own: one fault among many lanes, which must be found where "
      "it\n"
      "was put; and thirty rules, all of which must pass, over a quarter, a half and the whole of --size. CPU seconds "
      "are\n"
      "counted, the best of --rounds."};
  rnic::bench::Options o;
  app.add_option("--part", o.part, "lanes, size or all")
      ->capture_default_str()
      ->check(CLI::IsMember({"lanes", "size", "all"}));
  app.add_option("--lanes", o.lanes, "lanes of the waves")->capture_default_str()->check(CLI::Range(30, 4096));
  app.add_option("--cycles", o.cycles, "cycles of the part with the fault")
      ->capture_default_str()
      ->check(CLI::Range(1000, 100'000'000));
  app.add_option("--size", o.size, "MB of the largest VCD")->capture_default_str()->check(CLI::Range(4, 100'000));
  app.add_option("--rounds", o.rounds, "how often each part is measured")
      ->capture_default_str()
      ->check(CLI::Range(1, 100));
  app.add_option("--seed", o.seed, "of the waves")->capture_default_str();
  app.add_option("--dir", o.dir, "where the waves are made (default: the folder for temporary files)")
      ->type_name("DIR");
  app.add_flag("--keep", o.keep, "Leave waves and rules there");
  app.footer(
      "Exit status: 0 good; 1 a wrong verdict; 2 bad usage; 3 internal error.\n\n"
      "Examples:\n"
      "  wave_bench --part size --size 1000 --dir /var/tmp\n"
      "  wave_bench --part lanes --lanes 64 --cycles 100000 --keep --dir out/waves");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  try {
    return rnic::bench::bench(o);
  } catch (const rnic::InputError& e) {
    fmt::print(stderr, "wave_bench: {}\n", e.what());
    return 2;
  } catch (const std::exception& e) {
    fmt::print(stderr, "wave_bench: {}\n", e.what());
    return 3;
  }
}
