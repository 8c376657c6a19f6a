// SPDX-License-Identifier: Apache-2.0
// Random FST files: signals of many widths, aliases, signals that change alike, real numbers and strings, several
// blocks.
#pragma once

#include <fmt/format.h>
#include <gtkwave/fstapi.h>

#include <random>
#include <string>
#include <vector>

namespace rnic::test {

constexpr int kFstPackings = 4;
constexpr const char* kFstPackingNames[] = {"Lz4", "Fastlz", "Zlib", "WholeFile"};

/// Returns the last time.
inline uint64_t write_random_fst(const std::string& path, int packing, uint64_t seed, unsigned steps = 300) {
  std::mt19937_64 random(seed);
  void* w = fstWriterCreate(path.c_str(), 1);
  fstWriterSetPackType(w, packing == 1 ? FST_WR_PT_FASTLZ : packing == 2 ? FST_WR_PT_ZLIB : FST_WR_PT_LZ4);
  if (packing == 3) fstWriterSetRepackOnClose(w, 1);
  fstWriterSetTimescale(w, -12);
  struct Signal {
    fstHandle handle;
    uint32_t width;
  };
  std::vector<Signal> signals;
  fstWriterSetScope(w, FST_ST_VCD_MODULE, "top", nullptr);
  fstWriterSetAttrBegin(w, FST_AT_MISC, FST_MT_COMMENT, "a comment", 7);
  unsigned n = 0;
  for (const uint32_t width : {1, 1, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 512, 1000}) {
    if (n % 5 == 4) fstWriterSetScope(w, FST_ST_VCD_MODULE, fmt::format("m{}", n).c_str(), "of");
    const auto name = fmt::format("s{} [{}:0]", n++, width - 1);
    const auto h = fstWriterCreateVar(w, FST_VT_VCD_WIRE, FST_VD_IMPLICIT, width, name.c_str(), 0);
    fstWriterCreateVar(w, FST_VT_SV_LOGIC, FST_VD_INPUT, width, (name + "_alias").c_str(), h);
    signals.push_back({h, width});
    if (n % 5 == 0) fstWriterSetUpscope(w);
  }
  const auto real = fstWriterCreateVar(w, FST_VT_VCD_REAL, FST_VD_IMPLICIT, 64, "real", 0);
  const auto text = fstWriterCreateVar(w, FST_VT_GEN_STRING, FST_VD_IMPLICIT, 0, "text", 0);
  for (const uint32_t width : {1, 40}) {  // these change as s0 and a neighbour do
    for (int copy = 0; copy < 3; ++copy) {
      const auto name = fmt::format("same{}", n++);
      signals.push_back({fstWriterCreateVar(w, FST_VT_VCD_REG, FST_VD_IMPLICIT, width, name.c_str(), 0), width});
    }
  }
  fstWriterSetUpscope(w);
  const auto bits = [&](uint32_t width) {
    std::string s(width, '0');
    const bool unknown = random() % 4 == 0;
    for (auto& c : s) c = "01xz"[random() % (unknown ? 4 : 2)];
    return s;
  };
  uint64_t t = random() % 3 * 5;
  for (unsigned step = 0; step < steps; ++step, t += 1 + random() % 300) {
    fstWriterEmitTimeChange(w, t);
    const std::string alike[] = {bits(1), bits(40)};
    for (size_t i = 0; i < signals.size(); ++i) {
      const bool same = i + 6 >= signals.size();
      if (same ? step % 3 != 0 : random() % 4 != 0) continue;
      const std::string value = same ? alike[i + 3 >= signals.size()] : bits(signals[i].width);
      fstWriterEmitValueChange(w, signals[i].handle, value.c_str());
    }
    const double x = static_cast<double>(random()) * 1e-9;
    fstWriterEmitValueChange(w, real, &x);
    if (step % 7 == 0) fstWriterEmitVariableLengthValueChange(w, text, "hello", 1 + step % 5);
    if (step % 97 == 96) fstWriterFlushContext(w);  // a block ends
  }
  fstWriterEmitTimeChange(w, t);
  fstWriterClose(w);
  return t;
}

}  // namespace rnic::test
