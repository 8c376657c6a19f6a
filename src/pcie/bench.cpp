// SPDX-License-Identifier: Apache-2.0
#include "rnic/pcie/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <random>

#include "rnic/core/error.h"
#include "rnic/golden/tlp.h"

namespace rnic::pcie {
namespace {

constexpr uint64_t kBase = uint64_t{256} << 20;  ///< of the window in its memory
constexpr unsigned kGuard = 4096;                ///< checked before and behind a window
constexpr size_t kTable = 1 << 16;
constexpr unsigned kBufferLines = 1024, kMaxReads = 512;  // dma_engine.sv: BufBytes / 64, MaxReads

/// Random bytes that any stretch of up to kGuard + 64 can be taken from.
class Noise {
 public:
  explicit Noise(uint64_t seed) : bytes_(kTable + 2 * kGuard) {
    std::mt19937_64 rng(seed);
    for (size_t i = 0; i < kTable; ++i) bytes_[i] = static_cast<uint8_t>(rng());
    std::copy_n(bytes_.begin(), 2 * kGuard, bytes_.begin() + kTable);
  }
  const uint8_t* at(uint64_t i) const { return bytes_.data() + i % kTable; }

 private:
  std::vector<uint8_t> bytes_;
};

uint64_t differing(const uint8_t* a, const uint8_t* b, size_t n) {
  if (std::memcmp(a, b, n) == 0) return 0;
  uint64_t count = 0;
  for (size_t i = 0; i < n; ++i) count += a[i] != b[i];
  return count;
}

/// What the transfers of a spec touch: a window of units, and the noise in it.
class Window {
 public:
  Window(Memory& memory, uint64_t bus, uint64_t base, const BenchSpec& s, const Noise& noise)
      : memory_(memory), bus_(bus), base_(base), spec_(s), noise_(noise), last_(s.window / s.unit(), kNever) {
    fill(base_ - kGuard, kGuard);
    fill(base_ + s.window, kGuard);
  }

  /// Bus address of a transfer to unit u. Its unit is filled on first use.
  uint64_t use(uint64_t u) {
    if (last_[u] == kNever) {
      fill(base_ + u * spec_.unit(), spec_.unit());
      last_[u] = kBackground;
    }
    return address(u);
  }
  uint64_t address(uint64_t u) const { return bus_ + base_ + u * spec_.unit() + spec_.offset; }
  uint64_t units() const { return last_.size(); }
  void written(uint64_t u, uint64_t k) { last_[u] = k; }
  const uint8_t* background(uint64_t u) const { return noise_.at(base_ + u * spec_.unit() + spec_.offset); }

  /// Compares what stands at unit u with the data of write k.
  void check_write(uint64_t u, uint64_t k, const Noise& data, BenchResult& r) const {
    std::vector<uint8_t> got(spec_.size);
    memory_.read(base_ + u * spec_.unit() + spec_.offset, got.data(), spec_.size);
    r.compared_bytes += spec_.size;
    r.wrong_bytes += differing(got.data(), data.at(data_of(k)), spec_.size);
  }

  /// Compares all units in use and the guards with what must be there.
  void check(const Noise& data, BenchResult& r) const {
    std::vector<uint8_t> got(std::max<size_t>(spec_.unit(), kGuard));
    const auto guard = [&](uint64_t at, unsigned n) {
      memory_.read(at, got.data(), n);
      r.guard_bytes += n;
      r.guard_wrong += differing(got.data(), noise_.at(at), n);
    };
    guard(base_ - kGuard, kGuard);
    guard(base_ + spec_.window, kGuard);
    for (uint64_t u = 0; u < units(); ++u) {
      if (last_[u] == kNever) continue;
      const uint64_t at = base_ + u * spec_.unit(), end = spec_.offset + spec_.size;
      guard(at, spec_.offset);
      guard(at + end, static_cast<unsigned>(spec_.unit() - end));
      if (last_[u] == kBackground) continue;
      memory_.read(at + spec_.offset, got.data(), spec_.size);
      r.compared_bytes += spec_.size;
      r.wrong_bytes += differing(got.data(), data.at(data_of(last_[u])), spec_.size);
    }
  }

  /// Where in the noise the data of write k stand.
  static uint64_t data_of(uint64_t k) { return k * 2654435761u >> 3; }

 private:
  static constexpr uint64_t kNever = ~uint64_t{0}, kBackground = kNever - 1;
  void fill(uint64_t at, unsigned n) { memory_.write(at, noise_.at(at), n); }

  Memory& memory_;
  const uint64_t bus_, base_;
  const BenchSpec spec_;
  const Noise& noise_;
  std::vector<uint64_t> last_;  ///< write that a unit holds
};

/// One transfer of a latency.
struct Sample {
  uint64_t address = 0;
  DmaTimes write, read;
  uint64_t mem_start = 0, mem_end = 0;
  uint64_t begin() const { return write.accepted != 0 ? write.accepted : read.accepted; }
};

uint64_t byte_ps(const Profile& p, uint64_t bytes) {
  return Serializer(link_serializer(static_cast<unsigned>(p.integer("pcie.generation")),
                                    static_cast<unsigned>(p.integer("pcie.lanes"))))
      .send(0, bytes)
      .end_ps;
}

/// Payload bytes of the completions of one read request, cut as the memories' completers do (completer.h).
std::vector<unsigned> completions(const Profile& p, const golden::Piece& read) {
  const uint64_t rcb = p.integer("pcie.rcb"), most = p.text("completer.cut") == "rcb" ? rcb : p.integer("pcie.mps");
  const uint64_t stop = (read.addr + read.len + 3) & ~uint64_t{3};
  std::vector<unsigned> out;
  for (uint64_t at = read.addr & ~uint64_t{3}; at < stop;) {
    uint64_t end = (at + most) / rcb * rcb;
    if (end >= read.addr + read.len) end = stop;
    out.push_back(static_cast<unsigned>(end - at));
    at = end;
  }
  return out;
}
constexpr unsigned kCplWire = 20;  ///< header, framing and LCRC of a completion

/// The latency of a transfer in parts. The legs are measured; what the profile says of a leg is taken out of it, and
/// the rest of it named.
std::vector<BenchPart> parts_of(const Profile& p, const Hub& hub, const BenchSpec& s, const Sample& x) {
  std::vector<BenchPart> out;
  const auto add = [&](std::string name, uint64_t ps, std::string key = "") {
    if (ps != 0) out.push_back({std::move(name), ps, std::move(key)});
  };
  if (x.write.accepted != 0) {
    add("RTL: write taken to its last TLP out", x.write.done - x.write.accepted, "clock.core_period");
    add("RTL: read handed over", x.read.accepted - x.write.done, "clock.core_period");
  }
  add("RTL: read taken to its first TLP out", x.read.first_out - x.read.accepted, "clock.core_period");
  const auto leg = [&](uint64_t ps, const std::vector<BenchPart>& known, const char* rest) {
    uint64_t sum = 0;
    for (const auto& k : known) sum += k.ps;
    if (sum > ps) return add(rest, ps);  // overlapping TLPs: no part stands alone
    for (const auto& k : known) add(k.name, k.ps, k.key);
    add(rest, ps - sum);
  };
  const Topology::Port memory_port = s.gpu ? Topology::kGpu : Topology::kHost;
  const auto known_hops = [&](uint64_t bytes, bool back) {
    const std::string way = back ? "completion: " : "request: ";
    std::vector<BenchPart> k;
    const auto hops = back ? hub.way(memory_port, Topology::kNic) : hub.way(Topology::kNic, memory_port);
    for (size_t i = 0; i < hops.size(); ++i) {
      const Hop& h = hops[i];
      // A switch that passes it on while it comes in hides the time that it takes on the link before.
      const bool hidden = i + 1 < hops.size() && hops[i + 1].cut_through;
      if (h.link && !hidden) k.push_back({way + "on " + h.name, byte_ps(p, bytes), "pcie.generation, pcie.lanes"});
      k.push_back({way + (h.link ? "flight on " : "") + h.name, to_ps(h.latency), h.key});
    }
    return k;
  };
  leg(x.mem_start - x.read.first_out, known_hops(x.address >> 32 ? 24 : 20, false), "request: waiting");
  const uint64_t in_memory = x.mem_end - x.mem_start;
  const bool remote = !s.gpu && p.integer("host.numa_node") != 0;
  const uint64_t hops = remote ? 2 * to_ps(p.time("host.numa_latency")) : 0;
  const bool cached =
      !s.gpu && p.integer("host.llc_size") != 0 && in_memory < hops + to_ps(p.time("host.read_latency"));
  const char* key = s.gpu ? "gpu.read_latency" : cached ? "host.llc_latency" : "host.read_latency";
  std::vector<BenchPart> memory{{cached ? "last-level cache" : "memory", to_ps(p.time(key)), key}};
  if (remote) memory.push_back({"to the other NUMA node and back", hops, "host.numa_latency"});
  leg(in_memory, memory,
      s.gpu && p.text("gpu.memory") == "hbm" ? "memory: waiting for channels" : "memory: later TLPs, writes before it");
  // A leg of several TLPs, which overlap, is not taken apart.
  const bool flush = s.op == BenchOp::kLatFlush;
  const auto cut = golden::split_request(x.address, flush ? 1 : s.size, static_cast<unsigned>(p.integer("pcie.mrrs")));
  const auto answers = completions(p, cut.front());
  const bool one = cut.size() == 1 && answers.size() == 1;
  if (one) {
    leg(x.read.last_in - x.mem_end, known_hops(kCplWire + answers.front(), true), "completion: waiting");
  } else {
    add("completions", x.read.last_in - x.mem_end);
  }
  add("RTL: last completion to last data", x.read.done - x.read.last_in, "clock.core_period");
  return out;
}

}  // namespace

void check_bench(const BenchSpec& s) {
  const auto range = [](const char* option, uint64_t v, uint64_t lo, uint64_t hi) {
    if (v < lo || v > hi)
      throw InputError("", 0, option, fmt::format("{} is out of range; allowed: {} to {}", v, lo, hi));
  };
  range("--size", s.size, 1, kBenchMaxBytes);
  range("--offset", s.offset, 0, 63);
  range("--window", s.window, 64, kBenchMaxWindow);
  range("--outstanding", s.outstanding, 1, kBenchMaxOutstanding);
  range("--transfers", s.transfers, 1, uint64_t{1} << 24);
  if (s.window < s.unit()) {
    throw InputError("", 0, "--window",
                     fmt::format("{} bytes are less than one transfer of {} at offset {} takes; give {} or more",
                                 s.window, s.size, s.offset, s.unit()));
  }
}

const char* bench_name(BenchOp op) {
  switch (op) {
    case BenchOp::kLatRd:
      return "LAT_RD";
    case BenchOp::kLatWrrd:
      return "LAT_WRRD";
    case BenchOp::kLatFlush:
      return "LAT_FLUSH";
    case BenchOp::kBwRd:
      return "BW_RD";
    case BenchOp::kBwWr:
      return "BW_WR";
    case BenchOp::kBwRdwr:
      return "BW_RDWR";
  }
  return "?";
}

const char* BenchBound::holds() const {
  const double least = gbps();
  if (least == flight_gbps) return "in flight";
  if (least == memory_gbps) return "memory";
  return least == link_gbps() ? "link" : "beat";
}

double link_raw_gbps(unsigned generation, unsigned lanes) {
  static constexpr double kGt[] = {0, 2.5, 5, 8, 16, 32, 64};
  if (generation < 1 || generation > 6) throw SimError(fmt::format("no PCIe generation {}", generation));
  const double code = generation <= 2 ? 0.8 : generation <= 5 ? 128.0 / 130 : 236.0 / 256;
  return kGt[generation] * code * lanes;
}

BenchBound bench_bound(const Profile& p, BenchOp op, bool gpu, const std::vector<uint64_t>& addresses, unsigned size,
                       double extra_up, double extra_down) {
  const auto mps = static_cast<unsigned>(p.integer("pcie.mps")), mrrs = static_cast<unsigned>(p.integer("pcie.mrrs"));
  const auto generation = static_cast<unsigned>(p.integer("pcie.generation"));
  const unsigned flit = generation == 6 ? 8 : 0;  // in flits a TLP has neither token nor LCRC
  const bool reads = op != BenchOp::kBwWr, writes = op == BenchOp::kBwWr || op == BenchOp::kBwRdwr;
  struct Load {
    uint64_t up = 0, down = 0, out = 0, in = 0;
  };
  const auto load_of = [&](uint64_t addr) {
    Load l;
    const auto beats = [](const golden::Tlp& t) { return std::max<uint64_t>(1, (t.payload.size() + 63) / 64); };
    for (const auto& piece : golden::split_request(addr, size, mrrs)) {
      if (!reads) break;
      const auto request = golden::make_read(piece.addr, piece.len, 0, 0);
      l.up += request.wire_bytes() - flit;
      ++l.out;
      for (const unsigned n : completions(p, piece)) l.down += kCplWire - flit + n, l.in += (n + 63) / 64;
    }
    for (const auto& piece : golden::split_request(addr, size, mps)) {
      if (!writes) break;
      const auto t = golden::make_write(piece.addr, std::vector<uint8_t>(piece.len), 0, 0);
      l.up += t.wire_bytes() - flit;
      l.out += beats(t);
    }
    return l;
  };
  std::map<uint64_t, Load> known;  // how a transfer is cut depends on its place in a page, and on a header's length
  Load sum;
  for (const uint64_t a : addresses) {
    const auto [it, fresh] = known.try_emplace(a % 4096 + (a >> 32 == 0 ? 4096 : 0));
    if (fresh) it->second = load_of(a);
    sum.up += it->second.up, sum.down += it->second.down, sum.out += it->second.out, sum.in += it->second.in;
  }
  const double inf = std::numeric_limits<double>::infinity();
  const double payload = static_cast<double>(size) * static_cast<double>(addresses.size());
  const double raw = link_raw_gbps(generation, static_cast<unsigned>(p.integer("pcie.lanes")));
  const double beat = 64 * 8e3 / static_cast<double>(to_ps(p.time("clock.core_period")));  // Gb/s
  const auto share = [&](double rate, double used) { return used == 0 ? inf : rate * payload / used; };
  BenchBound b;
  b.up_gbps = share(raw, static_cast<double>(sum.up) + (sum.up != 0 ? extra_up * payload : 0));
  b.down_gbps = share(raw, static_cast<double>(sum.down) + (sum.down != 0 ? extra_down * payload : 0));
  const std::string memory_name = gpu ? "gpu." : "host.";
  const auto memory_rate = [&](const char* key) {
    const double v = p.number(memory_name + key);
    return v == 0 ? inf : v;
  };
  b.memory_gbps = std::min(reads ? memory_rate("read_bandwidth") : inf, writes ? memory_rate("write_bandwidth") : inf);
  if (gpu && p.text("gpu.memory") == "hbm") {
    b.memory_gbps = std::min(b.memory_gbps, p.number("gpu.hbm_bandwidth") / (reads && writes ? 2 : 1));
  } else if (!gpu && p.integer("host.llc_size") != 0) {
    b.memory_gbps = inf;  // what the cache holds does not ask the memory
  }
  if (!gpu && p.integer("host.numa_node") != 0) b.memory_gbps = std::min(b.memory_gbps, memory_rate("numa_bandwidth"));
  b.out_gbps = share(beat, 64 * static_cast<double>(sum.out));
  b.in_gbps = share(beat, 64 * static_cast<double>(sum.in));
  b.flight_gbps = inf;
  return b;
}

namespace {

/// One measurement in the making.
class Runner {
 public:
  Runner(DmaSystem& system, const BenchSpec& spec)
      : engine_(system.engine()),
        hub_(system.hub()),
        memory_times_(system.memory_times()),
        profile_(system.profile()),
        spec_(spec),
        noise_(spec.seed),
        data_(spec.seed + 0x9e3779b97f4a7c15),
        rng_(spec.seed),
        reads_(memory(system), bus(), base(), spec, noise_),
        writes_(memory(system), bus(), base() + two_windows(), spec, noise_) {
    result_.spec = spec;
  }

  BenchResult run(DmaSystem& system) {
    system.settle();
    const bool latency = is_latency(spec_.op);
    std::vector<uint64_t> pins;
    if (spec_.gpu) {
      for (const uint64_t at : {base(), base() + two_windows()}) {
        pins.push_back(hub_.gpu_pages().pin(at, spec_.window, {}));
      }
    } else {
      hub_.cpu_flush();
      if (spec_.warm) {
        for (const uint64_t at : {base(), base() + two_windows()}) hub_.cpu_touch(at, spec_.window);
      }
    }
    if (!latency) probe(system);
    for (const End from : {kUp, kDown}) {
      const auto c = hub_.nic_link(from, DelayQueue::now_ps());
      other_bytes_[from] = c.dllp_bytes + c.replay_bytes;
    }
    issue_all();
    sc_core::wait(finished_);
    system.settle();
    for (const uint64_t pin : pins) hub_.gpu_pages().unpin(pin);
    if (latency) {
      latencies();
    } else {
      bandwidth();
    }
    if (spec_.op != BenchOp::kBwWr) reads_.check(data_, result_);
    if (has_writes()) writes_.check(data_, result_);
    return std::move(result_);
  }

 private:
  Memory& memory(DmaSystem& s) const { return spec_.gpu ? s.hub().gpu_memory() : s.hub().host_memory(); }
  uint64_t base() const { return kBase + (spec_.gpu ? 0 : numa_base(profile_, kHostSize)); }
  uint64_t bus() const { return spec_.gpu ? kGpuBase : kHostBase; }
  bool has_writes() const { return spec_.op != BenchOp::kLatRd && spec_.op != BenchOp::kBwRd; }
  /// BW_RDWR writes elsewhere than it reads, so that what is read is known. Page-aligned, a guard in between.
  uint64_t two_windows() const {
    return spec_.op == BenchOp::kBwRdwr ? (spec_.window + 3 * uint64_t{kGuard}) / kGuard * kGuard : 0;
  }
  uint64_t unit(uint64_t k, const Window& w) { return spec_.random ? rng_() % w.units() : k % w.units(); }

  /// One transfer of each kind alone: how long it is in flight.
  void probe(DmaSystem& system) {
    sc_core::sc_event done;
    const auto wait = [&] {
      sc_core::wait(done);
      system.settle();
    };
    const unsigned at_once = spec_.outstanding;
    double flight = std::numeric_limits<double>::infinity();
    if (spec_.op != BenchOp::kBwWr) {
      DmaTimes t;
      engine_.read(reads_.use(0), spec_.size, [&](const DmaDone& d) {
        t = d.at;
        done.notify(sc_core::SC_ZERO_TIME);
      });
      wait();
      const unsigned lines = (spec_.size + 63) / 64;
      const double reads = std::min({at_once, kMaxReads, kBufferLines / lines});
      const auto mrrs = static_cast<unsigned>(profile_.integer("pcie.mrrs"));
      const double pieces = static_cast<double>(golden::split_request(reads_.address(0), spec_.size, mrrs).size());
      flight = std::min(rate(reads * spec_.size, t.done - t.accepted),
                        rate(engine_.tags() * spec_.size / pieces, t.first_in - t.first_out));
    }
    if (spec_.op == BenchOp::kBwWr) {
      DmaTimes t;
      writes_.use(0);
      write(0, 0, [&](const DmaDone& d) {
        t = d.at;
        done.notify(sc_core::SC_ZERO_TIME);
      });
      wait();
      flight = rate(static_cast<double>(at_once) * spec_.size, t.done - t.accepted);
    }
    result_.bound.flight_gbps = flight;
  }

  static double rate(double bytes, uint64_t ps) { return bytes * 8000 / static_cast<double>(ps); }

  void write(uint64_t u, uint64_t k, DmaEngine::Callback done) {
    const uint8_t* d = data_.at(Window::data_of(k));
    writes_.written(u, k);
    engine_.write(writes_.address(u), std::vector<uint8_t>(d, d + spec_.size), std::move(done), spec_.attr);
  }

  /// Reads and writes in turns, and neither far ahead of the other: the mix is even all the time, whatever the pins
  /// make of it. A read waits for writes that are done, a write for reads that are issued.
  std::optional<bool> next_kind() const {
    const uint64_t lead = std::clamp(kBenchMaxBytes / spec_.size, 4u, 32u);
    const bool write = of_kind_[1] < of_kind_[0];
    const auto may = [&](bool w) {
      const uint64_t all = (spec_.transfers + !w) / 2;
      return of_kind_[w] < all && of_kind_[w] < lead + (w ? of_kind_[0] : done_[1].size());
    };
    if (may(write)) return write;
    if (may(!write)) return !write;
    return std::nullopt;
  }

  void issue_all() {
    const unsigned limit = is_latency(spec_.op) ? 1 : spec_.outstanding;
    while (posted_ < spec_.transfers && open_ < limit) {
      if (spec_.op == BenchOp::kBwRdwr) {
        const auto write = next_kind();
        if (!write) return;
        const uint64_t k = of_kind_[*write]++;
        ++posted_;
        ++open_;
        *write ? post_write(unit(k, writes_), k) : read(unit(k, reads_));
      } else {
        issue();
      }
    }
  }

  void issue() {
    const uint64_t k = posted_++;
    ++open_;
    switch (spec_.op) {
      case BenchOp::kBwRdwr:
        break;
      case BenchOp::kLatRd:
      case BenchOp::kBwRd:
        return read(unit(k, reads_));
      case BenchOp::kBwWr:
        return post_write(unit(k, writes_), k);
      case BenchOp::kLatFlush:
      case BenchOp::kLatWrrd: {
        const uint64_t u = unit(k, writes_);
        writes_.use(u);
        write(u, k, [this, u, k](const DmaDone& d) {
          written_ = d.at;
          read_back(u, k);
        });
      }
    }
  }

  void post_write(uint64_t u, uint64_t k) {
    addresses_.push_back(writes_.use(u));
    write(u, k, [this](const DmaDone& d) { end(d, true); });
  }

  void read(uint64_t u) {
    const uint64_t address = reads_.use(u);
    if (spec_.op != BenchOp::kBwRdwr) addresses_.push_back(address);
    memory_times_.start_over();
    address_ = address;
    engine_.read(
        address, spec_.size,
        [this, u](const DmaDone& d) {
          compare(d, reads_.background(u));
          end(d, false);
        },
        spec_.attr);
  }

  void read_back(uint64_t u, uint64_t k) {
    memory_times_.start_over();
    address_ = writes_.address(u);
    const bool flush = spec_.op == BenchOp::kLatFlush;
    engine_.read(
        address_, flush ? 0 : spec_.size,
        [this, u, k, flush](const DmaDone& d) {
          if (!flush) {
            compare(d, data_.at(Window::data_of(k)));
          } else if (d.status != rtl::rnic_pkg::DmaOk) {
            ++result_.failed;
          } else {
            writes_.check_write(u, k, data_, result_);
          }
          end(d, false);
        },
        spec_.attr);
  }

  void compare(const DmaDone& d, const uint8_t* wanted) {
    if (d.data.size() != spec_.size) {
      ++result_.failed;
      return;
    }
    result_.compared_bytes += spec_.size;
    result_.wrong_bytes += differing(d.data.data(), wanted, spec_.size);
  }

  void end(const DmaDone& d, bool write) {
    --open_;
    ++ended_;
    if (is_latency(spec_.op)) {
      samples_.push_back({address_, written_, d.at, memory_times_.start, memory_times_.end});
    } else {
      if (first_ps_ == 0) first_ps_ = d.at.accepted;
      done_[write].push_back(d.at.done);
    }
    issue_all();
    if (ended_ == spec_.transfers) finished_.notify(sc_core::SC_ZERO_TIME);
  }

  void latencies() {
    std::vector<size_t> order(samples_.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    const auto length = [&](size_t i) { return samples_[i].read.done - samples_[i].begin(); };
    for (size_t i = 0; i < order.size(); ++i) result_.latencies_ns.push_back(static_cast<double>(length(i)) / 1000);
    const size_t middle = (order.size() - 1) / 2;
    std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(middle), order.end(),
                     [&](size_t a, size_t b) { return std::pair(length(a), a) < std::pair(length(b), b); });
    result_.parts = parts_of(profile_, hub_, spec_, samples_[order[middle]]);
  }

  /// Over the time from the end of the first tenth to the last end of that kind which ends first: neither the first
  /// round trip nor a lone rest counts. Of reads and writes in turns the slower kind counts, from one end to another.
  void bandwidth() {
    uint64_t from = 0, to = ~uint64_t{0};
    for (const auto& d : done_) {
      if (d.empty()) continue;
      from = std::max(from, d.size() < 10 ? first_ps_ : d[d.size() / 10 - 1]);
      to = std::min(to, d.back());
    }
    if (to <= from) {  // a run shorter than a round trip: all of it counts
      from = first_ps_;
      for (const auto& d : done_) to = d.empty() ? to : std::max(to, d.back());
    }
    result_.measured_ps = to > from ? to - from : 0;
    double slowest = std::numeric_limits<double>::infinity();
    unsigned kinds = 0;
    for (const auto& d : done_) {
      if (d.empty()) continue;
      ++kinds;
      auto first = std::upper_bound(d.begin(), d.end(), from);
      const auto last = std::upper_bound(d.begin(), d.end(), to);
      result_.measured_transfers += static_cast<uint64_t>(last - first);
      // Its own ends next to those of the time measured, so that no part of a transfer counts.
      uint64_t start = from;
      if (first != d.begin()) start = *std::prev(first);
      const uint64_t ps = last == first ? 0 : *std::prev(last) - start;
      if (ps != 0) slowest = std::min(slowest, rate(static_cast<double>(last - first) * spec_.size, ps));
    }
    if (std::isfinite(slowest)) result_.gbps = slowest;
    const double flight = result_.bound.flight_gbps;
    // What the link has sent beside TLPs, by byte of payload in one direction
    const double payload = static_cast<double>(spec_.transfers) * spec_.size / kinds;
    const auto extra = [&](End from) {
      const auto now = hub_.nic_link(from, DelayQueue::now_ps());
      return static_cast<double>(now.dllp_bytes + now.replay_bytes - other_bytes_[from]) / payload;
    };
    result_.bound = bench_bound(profile_, spec_.op, spec_.gpu, addresses_, spec_.size, extra(kDown), extra(kUp));
    result_.bound.flight_gbps = flight;
  }

  DmaEngine& engine_;
  Hub& hub_;
  MemoryTimes& memory_times_;
  const Profile& profile_;
  const BenchSpec spec_;
  const Noise noise_, data_;
  std::mt19937_64 rng_;
  Window reads_, writes_;
  BenchResult result_;
  sc_core::sc_event finished_;
  uint64_t of_kind_[2] = {};  ///< issued of BW_RDWR: reads, writes
  uint64_t posted_ = 0, open_ = 0, ended_ = 0, first_ps_ = 0;
  uint64_t address_ = 0;  ///< of the latest read
  DmaTimes written_;      ///< the write before it
  std::vector<Sample> samples_;
  std::array<std::vector<uint64_t>, 2> done_;  ///< reads, writes
  std::vector<uint64_t> addresses_;
  uint64_t other_bytes_[2] = {};  ///< DLLPs and repeated TLPs before, by the end that sent them
};

}  // namespace

BenchResult run_bench(DmaSystem& system, const BenchSpec& spec) {
  check_bench(spec);
  Runner runner(system, spec);
  return runner.run(system);
}

}  // namespace rnic::pcie
