// SPDX-License-Identifier: Apache-2.0
// What an access of the NIC to memory may do and where it goes: memory regions (docs/blocks/mr_check.md), lists of
// pages and GPUDirect windows (docs/blocks/dma_translate.md). Written from the rules of those pages, with numbers that
// do not wrap.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "rnic/golden/wqe.h"

namespace rnic::golden {

/// Rights of a region; what an access needs. Reading for a send needs none.
enum Right : unsigned { kLocalWrite = 1, kRemoteRead = 2, kRemoteWrite = 4, kRemoteAtomic = 8 };

/// A region of registered memory, as in the memory protection table.
struct Region {
  bool valid = true;
  uint8_t variant = 0;  ///< low byte of the key
  uint32_t pd = 0;
  uint64_t start = 0;  ///< virtual address
  uint64_t length = 0;
  uint64_t iova = 0;       ///< place of the first byte: bus address, or where in the list of pages
  unsigned rights = 0;     ///< Right bits
  bool paged = false;      ///< the place is one in a list of pages
  unsigned log_page = 12;  ///< pages of 2^log_page B; others than 12..30 count as 12
  uint32_t mtt = 0;        ///< where the list begins in device memory, in 64 B
  uint32_t pages = 0;      ///< in the list
  bool window_en = false;  ///< through a GPUDirect window
  unsigned window = 0;
};

struct Window {
  bool valid = false;
  bool read = false;  ///< by the NIC
  bool write = false;
  uint64_t base = 0;
  uint64_t size = 0;
  uint64_t gpu = 0;  ///< bus address that stands for base
};

namespace detail {
using Wide = unsigned __int128;
constexpr Wide kEnd = Wide{1} << 64;  ///< first address that there is not
}  // namespace detail

/// Checks an access to `length` > 0 bytes at `addr` under key `key`; `region` is the table's entry key >> 8.
/// Nothing on success; else which check refused, the first in the order key, protection domain, rights, bounds.
inline std::optional<Vendor> check_access(const Region& region, uint32_t pd, uint32_t key, uint64_t addr,
                                          uint64_t length, unsigned needs = 0) {
  using detail::Wide;
  if ((key >> 8) >= 65536 || !region.valid || region.variant != (key & 0xff)) return Vendor::kKey;
  if (region.pd != pd) return Vendor::kPd;
  if ((needs & ~region.rights) != 0) return Vendor::kRights;
  const Wide end = Wide{addr} + length;
  if (addr < region.start || end > Wide{region.start} + region.length || end > detail::kEnd) return Vendor::kBounds;
  if (Wide{region.iova} + (addr - region.start) + length > detail::kEnd) return Vendor::kBounds;
  return std::nullopt;
}

/// Where byte `addr` of a region stands; of an access that check_access allows.
inline uint64_t place_of(const Region& region, uint64_t addr) { return region.iova + (addr - region.start); }

/// Eight bytes of device memory at an offset that is a multiple of 8, below 256 MiB.
using DeviceWords = std::function<uint64_t(uint64_t offset)>;

enum class Denial { kNone, kAbsent, kWindow };

/// A part of an access that goes to the bus as one.
struct BusPiece {
  Denial denied = Denial::kNone;
  uint64_t addr = 0;  ///< on the bus; of an allowed one
  uint32_t length = 0;
};

/// Bus address of `length` bytes at `addr` through a window; nothing when it does not grant that.
inline std::optional<uint64_t> through(const Window& w, uint64_t addr, uint64_t length, bool write) {
  using detail::Wide;
  if (!w.valid || !(write ? w.write : w.read)) return std::nullopt;
  if (addr < w.base || Wide{addr} + length > Wide{w.base} + w.size || Wide{addr} + length > detail::kEnd)
    return std::nullopt;
  const Wide image = Wide{w.gpu} + (addr - w.base);
  if (image + length > detail::kEnd) return std::nullopt;
  return static_cast<uint64_t>(image);
}

/// Bus address of page `n` of a list; nothing when there is none.
inline std::optional<uint64_t> page_of(const Region& region, uint64_t n, const DeviceWords& memory) {
  if (n >= region.pages) return std::nullopt;
  const uint64_t at = uint64_t{region.mtt} * 64 + 8 * n;
  if (at >= uint64_t{1} << 28) return std::nullopt;
  const uint64_t entry = memory(at);
  if ((entry & 1) == 0) return std::nullopt;
  const unsigned log_page = region.log_page < 12 || region.log_page > 30 ? 12 : region.log_page;
  return entry >> log_page << log_page;
}

/// The pieces of one read or write of `length` bytes, 1..4096, at `place` (place_of). Each is allowed or denied for
/// itself: a page that is missing or a window that ends denies the piece that lies there.
inline std::vector<BusPiece> translate(const Region& region, uint64_t place, uint32_t length,
                                       const std::vector<Window>& windows, const DeviceWords& memory,
                                       bool write = false) {
  std::vector<BusPiece> pieces;
  const auto add = [&](std::optional<uint64_t> addr, uint32_t bytes) {
    if (!addr) {
      pieces.push_back({Denial::kAbsent, 0, bytes});
      return;
    }
    if (region.window_en) addr = through(windows.at(region.window), *addr, bytes, write);
    pieces.push_back({addr ? Denial::kNone : Denial::kWindow, addr.value_or(0), bytes});
  };
  if (!region.paged) {
    add(place, length);
    return pieces;
  }
  const uint64_t page = uint64_t{1} << (region.log_page < 12 || region.log_page > 30 ? 12 : region.log_page);
  while (length != 0) {
    const uint64_t inside = place % page;
    const auto bytes = static_cast<uint32_t>(std::min<uint64_t>(length, page - inside));
    const auto at = page_of(region, place / page, memory);
    add(at ? std::optional(*at + inside) : std::nullopt, bytes);
    place += bytes;
    length -= bytes;
  }
  return pieces;
}

}  // namespace rnic::golden
