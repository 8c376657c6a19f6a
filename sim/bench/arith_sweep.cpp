// SPDX-License-Identifier: Apache-2.0
// arith_sweep: the AllReduce engine's arithmetic, arp_alu and arp_narrow as they are in the NIC, against references on
// the host: every pair of operands of the 16-bit formats, every input of the conversions, corners and random pairs of
// the others.
#include "Varp_alu.h"
#include "Varp_narrow.h"

#include <time.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "arith_host.h"
#include "rnic/core/error.h"
#include "rnic/golden/float.h"
#include "rnic/rtl/ports.h"

namespace rnic::bench {
namespace {

namespace arp = rtl::arp_pkg;
using golden::Bf16, golden::Fp16, golden::Fp32;

constexpr size_t kRow = 65536;  // pairs, or inputs, of a block

struct Random {
  uint64_t state;
  uint64_t operator()() {
    uint64_t z = (state += 0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
};

/// One block: kRow operations in beats, and what has to come out. A row of a 16-bit format has one accumulator for all.
struct Block {
  std::vector<uint32_t> acc, in, out;  // words of beats
  bool same_acc = false;
  size_t used = kRow;  // operations that count
};

struct Sweep {
  const char* name;
  const char* what;
  uint64_t dtype, op;
  bool first, narrow;  // narrow: arp_narrow instead of arp_alu
  unsigned bits_acc, bits_in, bits_out;
  uint64_t blocks;  // of all operations
  uint64_t total;   // operations
  std::function<std::string()> judges;
  /// Makes the block; throws SimError when two references differ.
  std::function<void(uint64_t index, uint64_t seed, Block&)> fill;
};

uint64_t get(const std::vector<uint32_t>& v, unsigned bits, size_t i) {
  if (bits == 64) return v[2 * i] | uint64_t{v[2 * i + 1]} << 32;
  if (bits == 32) return v[i];
  return v[i / 2] >> (i % 2 * 16) & 0xffff;
}
void put(std::vector<uint32_t>& v, unsigned bits, size_t i, uint64_t x) {
  if (bits == 64) {
    v[2 * i] = static_cast<uint32_t>(x), v[2 * i + 1] = static_cast<uint32_t>(x >> 32);
  } else if (bits == 32) {
    v[i] = static_cast<uint32_t>(x);
  } else {
    auto* p = reinterpret_cast<uint8_t*>(v.data()) + 2 * i;
    const auto h = static_cast<uint16_t>(x);
    std::memcpy(p, &h, 2);
  }
}

// ---- The RTL
// -----------------------------------------------------------------------------------------------------------

template <class Top>
struct Model {
  VerilatedContext context;
  std::unique_ptr<Top> top;
  Model() {
    Verilated::threadContextp(&context);
    top = std::make_unique<Top>(&context);
    top->rst_ni = 0;
    tick();
    tick();
    top->rst_ni = 1;
  }
  ~Model() {
    Verilated::threadContextp(&context);
    top->final();
    top.reset();
  }
  void tick() {
    top->clk_i = 1;
    top->eval();
    top->clk_i = 0;
    top->eval();
  }
};

/// Both units; one for each worker.
struct Units {
  Model<Varp_alu> alu;
  Model<Varp_narrow> narrow;
};

/// Runs the beats of a block through a unit; calls differs(beat) for each beat that is not as expected. Gives the
/// number of beats that came out.
template <class Top, class Drive, class Out, class Differs>
size_t stream(Model<Top>& m, size_t beats, size_t out_words, const uint32_t* expected, Drive drive, Out out,
              Differs differs) {
  size_t came = 0;
  for (size_t edge = 0; came < beats && edge < beats + 64; ++edge) {
    m.top->valid_i = edge < beats;
    if (edge < beats) drive(edge);
    m.tick();
    if (m.top->valid_o) {
      const uint32_t* words = out();
      if (std::memcmp(words, expected + came * out_words, out_words * 4) != 0) differs(came, words);
      ++came;
    }
  }
  return came;
}

struct Difference {
  uint64_t block;
  size_t at;
  std::string text;
};

struct Result {
  uint64_t compared = 0, differences = 0;
  std::vector<Difference> first;
};

void run_block(Units& units, const Sweep& s, uint64_t index, const Block& b, Result& r) {
  const unsigned lanes_in = s.narrow ? 32 : 512 / s.bits_in, lanes_acc = lanes_in;
  const size_t acc_words = s.bits_acc * lanes_acc / 32, in_words = s.bits_in * lanes_in / 32,
               out_words = s.bits_out * lanes_in / 32;
  const size_t beats = kRow / lanes_in;
  const auto differs = [&](size_t beat, const uint32_t* words) {
    std::vector<uint32_t> got(words, words + out_words);
    for (size_t l = 0; l < lanes_in; ++l) {
      const size_t i = beat * lanes_in + l;
      const uint64_t want = get(b.out, s.bits_out, i), is = get(got, s.bits_out, l);
      if (want == is || i >= b.used) continue;
      ++r.differences;
      if (r.first.size() >= 5) continue;
      const int wa = static_cast<int>(s.bits_acc / 4), wi = static_cast<int>(s.bits_in / 4),
                wo = static_cast<int>(s.bits_out / 4);
      std::string text = fmt::format("{:0{}x}", get(b.in, s.bits_in, i), wi);
      if (s.bits_acc != 0 && !s.first)
        text = fmt::format("{:0{}x} with {}", get(b.acc, s.bits_acc, b.same_acc ? l : i), wa, text);
      r.first.push_back({index, i, fmt::format("{}: {:0{}x} instead of {:0{}x}, lane {}", text, is, wo, want, wo, l)});
    }
  };
  size_t came = 0;
  if (s.narrow) {
    auto& top = *units.narrow.top;
    top.dtype_i = static_cast<uint8_t>(s.dtype);
    came = stream(
        units.narrow, beats, out_words, b.out.data(),
        [&](size_t beat) { std::memcpy(top.in_i.m_storage, &b.in[beat * in_words], in_words * 4); },
        [&] { return top.out_o.m_storage; }, differs);
  } else {
    auto& top = *units.alu.top;
    top.dtype_i = static_cast<uint8_t>(s.dtype);
    top.op_i = static_cast<uint8_t>(s.op);
    top.first_i = s.first;
    if (b.same_acc) std::memcpy(top.acc_i.m_storage, b.acc.data(), acc_words * 4);
    came = stream(
        units.alu, beats, out_words, b.out.data(),
        [&](size_t beat) {
          if (!b.same_acc && acc_words != 0) std::memcpy(top.acc_i.m_storage, &b.acc[beat * acc_words], acc_words * 4);
          std::memcpy(top.in_i.m_storage, &b.in[beat * in_words], in_words * 4);
        },
        [&] { return top.res_o.m_storage; }, differs);
  }
  if (came != beats) {  // the rest has nothing to be compared with
    r.differences += (beats - came) * lanes_in;
    r.first.push_back({index, came * lanes_in, fmt::format("{} of {} beats came out", came, beats)});
  }
  r.compared += b.used;
}

// ---- What is swept
// -----------------------------------------------------------------------------------------------------

/// The k-th row of 2^16: every value once, far apart, so that a few of them are a sample of all.
uint32_t row_of(uint64_t k) { return static_cast<uint32_t>(k * 40503 & 0xffff); }

void iota16(std::vector<uint32_t>& v) {
  v.resize(kRow / 2);
  for (uint32_t i = 0; i < kRow / 2; ++i) v[i] = 2 * i | (2 * i + 1) << 16;
}

/// Two references of the same block must agree: else neither judges.
void agree(const char* name, const std::vector<uint32_t>& a, const std::vector<uint32_t>& b) {
  if (a != b) throw SimError(fmt::format("{}: the references on the host differ from each other", name));
}

/// All pairs of a 16-bit format: a row has one accumulator and every contribution.
template <class F>
Sweep rows(const char* name, const char* what, uint64_t dtype, uint64_t op) {
  Sweep s{name, what, dtype, op, false, false, 16, 16, 16, kRow, uint64_t{kRow} * kRow, {}, {}};
  const bool f16c = host_f16c() && dtype == arp::TypeFp16 && op == arp::OpSum;
  s.judges = [f16c] { return std::string(f16c ? "exact integers and F16C" : "exact integers"); };
  s.fill = [name, op, f16c](uint64_t index, uint64_t, Block& b) {
    const uint32_t a = row_of(index);
    if (b.in.size() != kRow / 2) iota16(b.in);
    b.same_acc = true;
    b.acc.assign(16, a | a << 16);
    b.out.resize(kRow / 2);
    auto* out = reinterpret_cast<uint16_t*>(b.out.data());
    if (op == arp::OpSum) {
      row_add<F>(a, out);
    } else {
      row_minmax<F>(a, op == arp::OpMax, out);
    }
    if (f16c) {
      std::vector<uint32_t> other(kRow / 2);
      row_add_f16c(a, reinterpret_cast<uint16_t*>(other.data()));
      agree(name, b.out, other);
    }
  };
  return s;
}

/// All inputs of a rounding from FP32: a row has one upper half and every lower half.
template <class F>
Sweep roundings(const char* name, const char* what, uint64_t dtype) {
  Sweep s{name, what, dtype, 0, true, true, 0, 32, 16, kRow, uint64_t{kRow} * kRow, {}, {}};
  const bool f16c = host_f16c() && dtype == arp::TypeFp16Acc32;
  s.judges = [f16c] { return std::string(f16c ? "exact integers and F16C" : "exact integers"); };
  s.fill = [name, f16c](uint64_t index, uint64_t, Block& b) {
    const uint32_t high = row_of(index) << 16;
    b.in.resize(kRow);
    for (uint32_t i = 0; i < kRow; ++i) b.in[i] = high | i;
    b.out.resize(kRow / 2);
    row_narrow<F>(high, reinterpret_cast<uint16_t*>(b.out.data()));
    if (f16c) {
      std::vector<uint32_t> other(kRow / 2);
      row_narrow_f16c(high, reinterpret_cast<uint16_t*>(other.data()));
      agree(name, b.out, other);
    }
  };
  return s;
}

Sweep widening(const char* name, const char* what, uint64_t dtype) {
  Sweep s{name, what, dtype, arp::OpSum, true, false, 0, 16, 32, 1, kRow, {}, {}};
  const bool f16c = host_f16c() && dtype == arp::TypeFp16Acc32;
  s.judges = [f16c] { return std::string(f16c ? "exact integers and F16C" : "exact integers"); };
  s.fill = [name, dtype, f16c](uint64_t, uint64_t, Block& b) {
    iota16(b.in);
    b.out.resize(kRow);
    for (uint32_t i = 0; i < kRow; ++i) {
      const auto x = static_cast<uint16_t>(i);
      b.out[i] = dtype == arp::TypeFp16Acc32 ? golden::fp16_to_fp32(x) : golden::bf16_to_fp32(x);
    }
    if (f16c) {
      std::vector<uint32_t> other(kRow);
      row_widen_f16c(other.data());
      agree(name, b.out, other);
    }
  };
  return s;
}

/// Operands of FP32 at which adders go wrong.
std::vector<uint32_t> fp32_corners() {
  std::vector<uint32_t> v = {0x00000000, 0x00000001, 0x00000002, 0x00000003, 0x00400000, 0x007ffffe,
                             0x007fffff, 0x00800000, 0x00800001, 0x00800002, 0x00ffffff, 0x01000000,
                             0x01000001, 0x3f7ffffe, 0x3f7fffff, 0x3f800000, 0x3f800001, 0x3f800002,
                             0x3fffffff, 0x40000000, 0x7f000000, 0x7f7ffffe, 0x7f7fffff, 0x7f800000,
                             0x7f800001, 0x7fa00000, 0x7fbfffff, 0x7fc00000, 0x7fc00001, 0x7fffffff};
  for (uint32_t e = 1; e < 255; e += 3) v.push_back(e << 23), v.push_back((e << 23) - 1), v.push_back(e << 23 | 1);
  const size_t n = v.size();
  for (size_t i = 0; i < n; ++i) v.push_back(v[i] | 0x80000000);
  return v;
}

using Pairs = std::vector<std::pair<uint32_t, uint32_t>>;

/// Corners crossed with each other; every exponent with each that lies up to 27 above it, in both orders and all signs,
/// with fractions at the ends and in the middle.
const Pairs& fp32_corner_pairs() {
  static const Pairs pairs = [] {
    Pairs p;
    const auto v = fp32_corners();
    for (uint32_t a : v) {
      for (uint32_t b : v) p.emplace_back(a, b);
    }
    const uint32_t fractions[] = {0, 1, 2, 0x3fffff, 0x400000, 0x400001, 0x7ffffe, 0x7fffff};
    for (uint32_t e = 0; e < 255; ++e) {
      for (uint32_t d = 0; d <= 27 && e + d < 255; ++d) {
        for (uint32_t fa : fractions) {
          for (uint32_t fb : fractions) {
            const uint32_t a = e << 23 | fa, b = (e + d) << 23 | fb, m = 0x80000000;
            p.emplace_back(a, b), p.emplace_back(a | m, b), p.emplace_back(b, a | m), p.emplace_back(b | m, a | m);
          }
        }
      }
    }
    return p;
  }();
  return pairs;
}

/// Uniform bits; exponents near each other; near cancellation; small numbers.
std::pair<uint32_t, uint32_t> fp32_random_pair(size_t i, Random& random) {
  const uint64_t x = random();
  const auto a = static_cast<uint32_t>(x), b = static_cast<uint32_t>(x >> 32);
  switch (i % 4) {
    case 0:
      return {a, b};
    case 1:
      return {a, (b & 0x807fffff) | ((a + (((b >> 23 & 63) - 32) << 23)) & 0x7f800000)};
    case 2:
      return {a, a ^ 0x80000000 ^ (b & ((2u << (b >> 27)) - 1)) ^ (b >> 26 & 1) << 23};
    default:
      return {a & 0x83ffffff, b & 0x83ffffff};
  }
}

void judge_fp32(const char* name, uint64_t op, Block& b) {
  b.out.resize(kRow);
  for (size_t i = 0; i < kRow; ++i) {
    b.out[i] = op == arp::OpSum   ? golden::fp32_add(b.acc[i], b.in[i])
               : op == arp::OpMin ? golden::fp32_min(b.acc[i], b.in[i])
                                  : golden::fp32_max(b.acc[i], b.in[i]);
  }
  if (op != arp::OpSum) return;
  std::vector<uint32_t> host(kRow);
  host_fp32_add(b.acc.data(), b.in.data(), host.data(), kRow);
  agree(name, b.out, host);
}

Sweep fp32_corners_sweep(const char* name, const char* what, uint64_t op) {
  const uint64_t n = fp32_corner_pairs().size();
  Sweep s{name, what, arp::TypeFp32, op, false, false, 32, 32, 32, (n + kRow - 1) / kRow, n, {}, {}};
  s.judges = [op] { return std::string(op == arp::OpSum ? "exact integers and the host's float" : "exact integers"); };
  s.fill = [name, op](uint64_t index, uint64_t, Block& b) {
    const Pairs& p = fp32_corner_pairs();
    b.acc.resize(kRow), b.in.resize(kRow);
    b.used = std::min(kRow, p.size() - static_cast<size_t>(index) * kRow);
    for (size_t i = 0; i < kRow; ++i) {
      const auto& [x, y] = p[std::min(static_cast<size_t>(index) * kRow + i, p.size() - 1)];
      b.acc[i] = x, b.in[i] = y;
    }
    judge_fp32(name, op, b);
  };
  return s;
}

Sweep fp32_random_sweep(const char* name, const char* what, uint64_t op, uint64_t total) {
  Sweep s{name, what, arp::TypeFp32, op, false, false, 32, 32, 32, (total + kRow - 1) / kRow, total, {}, {}};
  s.judges = [op] { return std::string(op == arp::OpSum ? "exact integers and the host's float" : "exact integers"); };
  s.fill = [name, op, total](uint64_t index, uint64_t seed, Block& b) {
    b.acc.resize(kRow), b.in.resize(kRow);
    b.used = static_cast<size_t>(std::min<uint64_t>(kRow, total - index * kRow));
    Random random{seed * 0x100000001b3 + index};
    for (size_t i = 0; i < kRow; ++i) std::tie(b.acc[i], b.in[i]) = fp32_random_pair(i, random);
    judge_fp32(name, op, b);
  };
  return s;
}

/// Accumulators of FP32, contributions of 16 bits.
Sweep acc32_sweep(const char* name, const char* what, uint64_t dtype, uint64_t total) {
  Sweep s{name, what, dtype, arp::OpSum, false, false, 32, 16, 32, (total + kRow - 1) / kRow, total, {}, {}};
  s.judges = [] { return std::string("exact integers and the host's float"); };
  s.fill = [name, dtype, total](uint64_t index, uint64_t seed, Block& b) {
    b.used = static_cast<size_t>(std::min<uint64_t>(kRow, total - index * kRow));
    b.acc.resize(kRow), b.in.resize(kRow / 2), b.out.resize(kRow);
    std::vector<uint32_t> wide(kRow), host(kRow);
    Random random{seed * 0x100000001b3 + index};
    for (size_t i = 0; i < kRow; ++i) {
      const uint64_t x = random();
      const auto in = static_cast<uint16_t>(x);
      put(b.in, 16, i, in);
      wide[i] = dtype == arp::TypeFp16Acc32 ? golden::fp16_to_fp32(in) : golden::bf16_to_fp32(in);
      // half of the accumulators near the contribution, so that the sum has something of both
      const auto acc = static_cast<uint32_t>(x >> 32);
      b.acc[i] = i % 2 != 0 ? acc : (acc & 0x807fffff) | ((wide[i] + (((acc >> 23 & 63) - 32) << 23)) & 0x7f800000);
      b.out[i] = golden::fp32_add(b.acc[i], wide[i]);
    }
    host_fp32_add(b.acc.data(), wide.data(), host.data(), kRow);
    agree(name, b.out, host);
  };
  return s;
}

Sweep integer_sweep(const char* name, const char* what, uint64_t dtype, uint64_t op, uint64_t total) {
  const unsigned bits = dtype == arp::TypeInt64 ? 64 : 32;
  Sweep s{name, what, dtype, op, false, false, bits, bits, bits, (total + kRow - 1) / kRow, total, {}, {}};
  s.judges = [] { return std::string("the host's integers"); };
  s.fill = [op, bits, total](uint64_t index, uint64_t seed, Block& b) {
    b.used = static_cast<size_t>(std::min<uint64_t>(kRow, total - index * kRow));
    b.acc.resize(kRow * bits / 32), b.in.resize(kRow * bits / 32), b.out.resize(kRow * bits / 32);
    Random random{seed * 0x100000001b3 + index};
    // a power of two, more or less; or any bits
    const auto value = [&]() -> uint64_t {
      const uint64_t x = random();
      if (x % 2 != 0) return random();
      const uint64_t p = (uint64_t{1} << (x >> 8) % bits) + (x >> 16) % 3 - 1;
      return x >> 24 & 1 ? ~p + 1 : p;
    };
    for (size_t i = 0; i < kRow; ++i) {
      const uint64_t x = value(), y = value();
      put(b.acc, bits, i, x), put(b.in, bits, i, y);
      uint64_t r = 0;
      if (bits == 64) {
        r = op == arp::OpSum   ? golden::int64_add(x, y)
            : op == arp::OpMin ? golden::int64_min(x, y)
                               : golden::int64_max(x, y);
      } else {
        const auto a = static_cast<uint32_t>(x), c = static_cast<uint32_t>(y);
        r = op == arp::OpSum   ? golden::int32_add(a, c)
            : op == arp::OpMin ? golden::int32_min(a, c)
                               : golden::int32_max(a, c);
      }
      put(b.out, bits, i, r);
    }
  };
  return s;
}

std::vector<Sweep> all_sweeps() {
  std::vector<Sweep> s;
  const char* all = "all pairs";
  s.push_back(rows<Fp16>("fp16-add", all, arp::TypeFp16, arp::OpSum));
  s.push_back(rows<Bf16>("bf16-add", all, arp::TypeBf16, arp::OpSum));
  s.push_back(rows<Fp16>("fp16-min", all, arp::TypeFp16, arp::OpMin));
  s.push_back(rows<Fp16>("fp16-max", all, arp::TypeFp16, arp::OpMax));
  s.push_back(rows<Bf16>("bf16-min", all, arp::TypeBf16, arp::OpMin));
  s.push_back(rows<Bf16>("bf16-max", all, arp::TypeBf16, arp::OpMax));
  const char* corners = "corners crossed; exponents 0 to 27 apart";
  const char* random = "random: bits, near exponents, cancellation, small";
  s.push_back(fp32_corners_sweep("fp32-add-corners", corners, arp::OpSum));
  s.push_back(fp32_random_sweep("fp32-add-random", random, arp::OpSum, 100'000'000));
  s.push_back(fp32_corners_sweep("fp32-min-corners", corners, arp::OpMin));
  s.push_back(fp32_corners_sweep("fp32-max-corners", corners, arp::OpMax));
  s.push_back(fp32_random_sweep("fp32-min-random", random, arp::OpMin, 10'000'000));
  s.push_back(fp32_random_sweep("fp32-max-random", random, arp::OpMax, 10'000'000));
  s.push_back(widening("fp16-widen", "all inputs", arp::TypeFp16Acc32));
  s.push_back(widening("bf16-widen", "all inputs", arp::TypeBf16Acc32));
  s.push_back(acc32_sweep("fp16-acc32", "FP32 accumulators, random", arp::TypeFp16Acc32, 10'000'000));
  s.push_back(acc32_sweep("bf16-acc32", "FP32 accumulators, random", arp::TypeBf16Acc32, 10'000'000));
  s.push_back(roundings<Fp16>("fp16-narrow", "all FP32 inputs", arp::TypeFp16Acc32));
  s.push_back(roundings<Bf16>("bf16-narrow", "all FP32 inputs", arp::TypeBf16Acc32));
  const char* ints = "random, and powers of two";
  s.push_back(integer_sweep("int32-add", ints, arp::TypeInt32, arp::OpSum, 10'000'000));
  s.push_back(integer_sweep("int32-min", ints, arp::TypeInt32, arp::OpMin, 10'000'000));
  s.push_back(integer_sweep("int32-max", ints, arp::TypeInt32, arp::OpMax, 10'000'000));
  s.push_back(integer_sweep("int64-add", ints, arp::TypeInt64, arp::OpSum, 10'000'000));
  s.push_back(integer_sweep("int64-min", ints, arp::TypeInt64, arp::OpMin, 10'000'000));
  s.push_back(integer_sweep("int64-max", ints, arp::TypeInt64, arp::OpMax, 10'000'000));
  return s;
}

// ---- Running
// -----------------------------------------------------------------------------------------------------------

struct Options {
  std::vector<std::string> names;
  unsigned jobs = std::max(1u, std::thread::hardware_concurrency());
  uint64_t pairs = 0;  ///< of each sweep at most; 0: all
  uint64_t seed = 1;
  std::string shard = "1/1";
  bool list = false, cost = false;
};

/// Blocks of this shard: those whose number is `part` modulo `parts`.
struct Shard {
  uint64_t part = 0, parts = 1;
};
Shard parse_shard(const std::string& text) {
  unsigned long long i = 0, n = 0;
  int used = 0;
  if (std::sscanf(text.c_str(), "%llu/%llu%n", &i, &n, &used) != 2 || static_cast<size_t>(used) != text.size() ||
      n < 1 || n > kRow || i < 1 || i > n || text[0] == '-') {
    throw InputError("", 0, "--shard",
                     fmt::format("'{}' is not i/n with 1 <= i <= n <= {}; 1/4 is the first of four", text, kRow));
  }
  return {i - 1, n};
}

Result run(const Sweep& s, const Options& o, const Shard& shard) {
  uint64_t blocks = s.blocks;
  if (o.pairs != 0) blocks = std::min(blocks, (o.pairs + kRow - 1) / kRow);
  std::atomic<uint64_t> next{shard.part}, done{0};
  std::atomic<bool> stop{false};
  std::mutex mutex;
  Result total;
  std::exception_ptr failure;
  const auto work = [&] {
    try {
      Units units;
      Block block;
      Result mine;
      for (;;) {
        const uint64_t index = next.fetch_add(shard.parts);
        if (index >= blocks || stop) break;
        s.fill(index, o.seed, block);
        run_block(units, s, index, block, mine);
        ++done;
      }
      const std::lock_guard<std::mutex> lock(mutex);
      total.compared += mine.compared;
      total.differences += mine.differences;
      total.first.insert(total.first.end(), mine.first.begin(), mine.first.end());
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex);
      if (!failure) failure = std::current_exception();
      stop = true;
    }
    Verilated::threadContextp(nullptr);
  };
  const uint64_t mine = blocks > shard.part ? (blocks - shard.part + shard.parts - 1) / shard.parts : 0;
  const auto jobs = static_cast<unsigned>(std::max<uint64_t>(1, std::min<uint64_t>(o.jobs, mine)));
  std::vector<std::thread> threads;
  std::atomic<unsigned> running{jobs};
  for (unsigned j = 0; j < jobs; ++j) threads.emplace_back([&] { work(), --running; });
  const bool terminal = isatty(2);
  for (unsigned n = 0; running != 0; ++n) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    if (terminal && n % 40 == 0) fmt::print(stderr, "\r{}: {} of {} blocks ", s.name, done.load(), mine);
  }
  for (auto& t : threads) t.join();
  if (terminal) fmt::print(stderr, "\r{:60}\r", "");
  if (failure) std::rethrow_exception(failure);
  std::sort(total.first.begin(), total.first.end(),
            [](const Difference& a, const Difference& b) { return std::tie(a.block, a.at) < std::tie(b.block, b.at); });
  if (total.first.size() > 5) total.first.resize(5);
  return total;
}

/// The fast references of arith_host.h against golden/float.h, which is written for reading.
void check_references(uint64_t seed) {
  Random random{seed};
  std::vector<uint16_t> row(kRow);
  for (int i = 0; i < 32; ++i) {
    const auto a = static_cast<uint16_t>(random());
    const auto check = [&](const char* what, auto golden) {
      for (uint32_t b = 0; b < kRow; ++b) {
        if (row[b] != golden(static_cast<uint16_t>(b))) {
          throw SimError(fmt::format("reference {} of {:04x} and {:04x} is wrong", what, a, b));
        }
      }
    };
    row_add<Fp16>(a, row.data());
    check("fp16_add", [&](uint16_t b) { return golden::fp16_add(a, b); });
    row_add<Bf16>(a, row.data());
    check("bf16_add", [&](uint16_t b) { return golden::bf16_add(a, b); });
    row_minmax<Fp16>(a, i % 2 != 0, row.data());
    check("fp16_min, fp16_max",
          [&](uint16_t b) { return i % 2 != 0 ? golden::fp16_max(a, b) : golden::fp16_min(a, b); });
    row_minmax<Bf16>(a, i % 2 != 0, row.data());
    check("bf16_min, bf16_max",
          [&](uint16_t b) { return i % 2 != 0 ? golden::bf16_max(a, b) : golden::bf16_min(a, b); });
    row_narrow<Fp16>(uint32_t{a} << 16, row.data());
    check("fp32_to_fp16", [&](uint16_t b) { return golden::fp32_to_fp16(uint32_t{a} << 16 | b); });
    row_narrow<Bf16>(uint32_t{a} << 16, row.data());
    check("fp32_to_bf16", [&](uint16_t b) { return golden::fp32_to_bf16(uint32_t{a} << 16 | b); });
  }
}

/// CPU time of the process so far: what a sweep costs, whatever else the machine does.
double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

int sweep(const Options& o) {
  const Shard shard = parse_shard(o.shard);
  const auto sweeps = all_sweeps();
  if (o.list) {
    for (const auto& s : sweeps) fmt::print("{:18} {:>13}  {}\n", s.name, s.total, s.what);
    return 0;
  }
  std::vector<const Sweep*> chosen;
  for (const auto& name : o.names) {
    const size_t before = chosen.size();
    for (const auto& s : sweeps) {
      if (std::string(s.name).rfind(name, 0) == 0) chosen.push_back(&s);
    }
    if (chosen.size() == before)
      throw InputError("", 0, "SWEEP", fmt::format("no sweep begins with '{}'; --list names them", name));
  }
  if (o.names.empty()) {
    for (const auto& s : sweeps) chosen.push_back(&s);
  }
  check_references(o.seed);
  const auto row = [](const char* name, uint64_t compared, uint64_t differences, double seconds, double cpu) {
    fmt::print("{:16} {:>11} {:>11} {:>7.1f} {:>7.1f}", name, compared, differences, seconds, cpu);
  };
  fmt::print("{:16} {:>11} {:>11} {:>7} {:>7}  {:34} {}\n", "sweep", "compared", "differences", "seconds", "CPU s",
             "judged by", "what");
  uint64_t compared = 0, differences = 0;
  double seconds = 0, cpu = 0;
  for (const Sweep* s : chosen) {
    const auto begin = std::chrono::steady_clock::now();
    const double cpu_begin = cpu_seconds();
    const Result r = run(*s, o, shard);
    const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const double used = cpu_seconds() - cpu_begin;
    row(s->name, r.compared, r.differences, took, used);
    fmt::print("  {:34} {}\n", s->judges(), s->what);
    for (const auto& d : r.first) fmt::print("  {}\n", d.text);
    std::fflush(stdout);
    compared += r.compared;
    differences += r.differences;
    seconds += took;
    cpu += used;
  }
  row("all", compared, differences, seconds, cpu);
  fmt::print("\n");
  return differences == 0 ? 0 : 1;
}

// ---- Cost
// --------------------------------------------------------------------------------------------------------------

double cpu_ns() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

/// CPU time of a cycle of arp_alu in simulation: the least of several rounds.
int cost() {
  Model<Varp_alu> m;
  auto& top = *m.top;
  Random random{1};
  constexpr int kCycles = 20000, kRounds = 15;
  const auto measure = [&](bool valid, bool moving) {
    double best = 1e18;
    top.valid_i = valid;
    for (int r = 0; r < kRounds; ++r) {
      const double begin = cpu_ns();
      for (int i = 0; i < kCycles; ++i) {
        if (moving) {
          const auto x = static_cast<uint32_t>(i) * 0x9e3779b9u;
          for (unsigned w = 0; w < 16; ++w) top.in_i[w] += x;
          for (unsigned w = 0; w < 32; ++w) top.acc_i[w] ^= x + w;
        }
        m.tick();
      }
      best = std::min(best, (cpu_ns() - begin) / kCycles);
    }
    return best;
  };
  for (unsigned w = 0; w < 32; ++w) top.acc_i[w] = static_cast<uint32_t>(random());
  for (unsigned w = 0; w < 16; ++w) top.in_i[w] = static_cast<uint32_t>(random());
  fmt::print("{:32} {:>10}\n", "arp_alu", "ns a cycle");
  fmt::print("{:32} {:>10.0f}\n", "idle, inputs still", measure(false, false));
  fmt::print("{:32} {:>10.0f}\n", "idle, inputs moving", measure(false, true));
  struct Kind {
    const char* name;
    uint64_t dtype, op;
  };
  for (const Kind& k :
       {Kind{"busy, FP16 sum", arp::TypeFp16, arp::OpSum}, Kind{"busy, BF16 sum", arp::TypeBf16, arp::OpSum},
        Kind{"busy, FP32 sum", arp::TypeFp32, arp::OpSum},
        Kind{"busy, FP16 sum in FP32", arp::TypeFp16Acc32, arp::OpSum},
        Kind{"busy, FP16 minimum", arp::TypeFp16, arp::OpMin}, Kind{"busy, INT64 sum", arp::TypeInt64, arp::OpSum}}) {
    top.dtype_i = static_cast<uint8_t>(k.dtype);
    top.op_i = static_cast<uint8_t>(k.op);
    fmt::print("{:32} {:>10.0f}\n", k.name, measure(true, true));
  }
  return 0;
}

}  // namespace
}  // namespace rnic::bench

int main(int argc, char** argv) {
  CLI::App app{
      "arith_sweep: the arithmetic of the AllReduce engine, RTL against references on the host. FP16 and BF16 sums,\n"
      "minima and maxima of all 2^32 pairs of operands; all inputs of the conversions; FP32 corners crossed and 10^8\n"
      "random pairs; integers. 16-bit sums, minima and conversions are judged by exact integer arithmetic, FP16 by "
      "the\n"
      "CPU's F16C instructions, too, where it has them, and FP32 by the CPU's float, too. References that differ from "
      "each\n"
      "other end the run."};
  rnic::bench::Options o;
  app.add_option("SWEEP", o.names, "sweeps by name, or by the begin of their names (default: all; --list)");
  app.add_flag("--list", o.list, "names of the sweeps, and how many operations each has");
  app.add_option("-j,--jobs", o.jobs, "threads, each with its own models")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
  app.add_option("--pairs", o.pairs, "operations of each sweep at most, rounded up to 65536: a sample spread over all")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 32))
      ->type_name("N");
  app.add_option("--shard", o.shard, "i/n: only the i-th of n parts; the n parts together are the whole")
      ->type_name("I/N");
  app.add_option("--seed", o.seed, "of random operands")->capture_default_str();
  app.add_flag("--cost", o.cost, "what a cycle of arp_alu costs to simulate, idle and busy, and nothing else");
  app.footer(
      "Exit status: 0 no difference; 1 a difference; 2 bad usage; 3 internal error, or references that differ.\n\n"
      "Examples:\n"
      "  arith_sweep                              everything: minutes\n"
      "  arith_sweep --pairs 1000000              a sample of everything: seconds\n"
      "  arith_sweep fp16 bf16-add                what begins so\n"
      "  arith_sweep fp16-add --shard 1/4         a quarter, for four machines");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  try {
    return o.cost ? rnic::bench::cost() : rnic::bench::sweep(o);
  } catch (const rnic::InputError& e) {
    fmt::print(stderr, "arith_sweep: {}\n", e.what());
    return 2;
  } catch (const std::exception& e) {
    fmt::print(stderr, "arith_sweep: {}\n", e.what());
    return 3;
  }
}
