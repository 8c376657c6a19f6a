// SPDX-License-Identifier: Apache-2.0
#include "rnic/mem/memory.h"

#include <algorithm>
#include <cstring>

namespace rnic {
namespace {

/// splitmix64's output function: eight background bytes from the index of their 8-byte word.
uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

uint64_t word(uint64_t index, uint64_t seed) { return mix(index ^ mix(seed)); }

/// n bytes of the background from addr on, a word at a time.
void pattern(uint64_t addr, uint8_t* out, uint64_t n, uint64_t seed) {
  while (n != 0) {
    uint64_t w = word(addr >> 3, seed) >> (8 * (addr & 7));
    const uint64_t here = std::min(n, 8 - (addr & 7));
    for (uint64_t i = 0; i < here; ++i, w >>= 8) out[i] = static_cast<uint8_t>(w);
    addr += here, out += here, n -= here;
  }
}

}  // namespace

uint8_t pattern_byte(uint64_t addr, uint64_t seed) {
  return static_cast<uint8_t>(word(addr >> 3, seed) >> (8 * (addr & 7)));
}

void Memory::background(uint64_t page, uint8_t* out) const {
  if (has_background_)
    pattern(page * kPage, out, kPage, background_);
  else
    std::memset(out, 0, kPage);
}

bool Memory::read(uint64_t addr, uint8_t* out, uint64_t len) const {
  if (!inside(addr, len)) return false;
  while (len != 0) {
    const uint64_t offset = addr % kPage;
    const uint64_t n = std::min(len, kPage - offset);
    const auto it = pages_.find(addr / kPage);
    if (it != pages_.end()) {
      std::memcpy(out, it->second.get() + offset, n);
    } else if (has_background_) {
      pattern(addr, out, n, background_);
    } else {
      std::memset(out, 0, n);
    }
    addr += n, out += n, len -= n;
  }
  return true;
}

bool Memory::write(uint64_t addr, const uint8_t* in, uint64_t len) {
  if (!inside(addr, len)) return false;
  while (len != 0) {
    const uint64_t offset = addr % kPage;
    const uint64_t n = std::min(len, kPage - offset);
    auto& page = pages_[addr / kPage];
    if (!page) {
      page = std::make_unique<uint8_t[]>(kPage);
      if (n != kPage) background(addr / kPage, page.get());
    }
    std::memcpy(page.get() + offset, in, n);
    addr += n, in += n, len -= n;
  }
  return true;
}

}  // namespace rnic
