// SPDX-License-Identifier: Apache-2.0
// Memory regions and GPUDirect windows: what a program asks for, and the driver's part that keeps table entries, page
// lists, windows and pins of GPU memory together. Used through Context (verbs.h).
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "rnic/pcie/hub.h"
#include "rnic/regs/regs.h"

namespace rnic::host {

class Context;

enum class Space : uint8_t { kHost, kGpu };

/// Rights and kinds of a region, numbers of ibv_access_flags. Sending from a region needs none of them.
enum Access : uint32_t {
  kLocalWrite = 1 << 0,
  kRemoteWrite = 1 << 1,  ///< needs kLocalWrite
  kRemoteRead = 1 << 2,
  kRemoteAtomic = 1 << 3,  ///< needs kLocalWrite
  kZeroBased = 1 << 5,     ///< its first byte has address 0
  kRelaxedOrdering = 1 << 20,
};
inline constexpr uint32_t kAllRights = kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic;

inline constexpr uint64_t kNoPage = ~uint64_t{0};  ///< in a list of pages: a hole, whose use is an error

/// What a region is made of.
struct MrInit {
  uint32_t pd = 1;  ///< 24 bits
  Space space = Space::kHost;
  uint64_t offset = 0;  ///< of the first byte in its memory; in the first page of a list; in a window's addresses
  uint64_t length = 0;  ///< bytes
  uint64_t va = 0;      ///< address of the first byte; with kZeroBased 0
  uint32_t access = kAllRights;
  /// Scattered pages: their offsets in the memory, multiples of the page, or kNoPage. Empty: [offset, offset + length).
  std::vector<uint64_t> pages;
  unsigned log_page = 12;  ///< pages of 2^12 .. 2^30 B
  /// Through this window, which is open; addresses and pages are the window's. Nothing: of the driver's choice.
  std::optional<unsigned> window;
};

/// A registered memory region.
struct Mr {
  uint32_t lkey, rkey;
  uint64_t addr;    ///< virtual address of the first byte
  uint64_t length;  ///< bytes
  Space space;
  uint64_t offset;  ///< as in MrInit
  uint32_t pd;
  uint32_t access = kAllRights;
};

/// A GPUDirect window: addresses [base, base + size) of the regions that use it stand for GPU memory from `offset` on.
struct Window {
  uint64_t base = 0;
  uint64_t size = 0;    ///< bytes, at least 1
  uint64_t offset = 0;  ///< in GPU memory
  bool read = true;     ///< the NIC may
  bool write = true;
};

/// The driver's book of regions and windows. Every call but find() and copy() takes simulated time.
class Regions {
 public:
  static constexpr unsigned kWindows = regs::bar2::kWindowCount;

  Regions(Context& ctx, pcie::Hub& hub) : ctx_(ctx), hub_(hub) {}

  Mr reg(const MrInit& init);
  void dereg(const Mr& mr);
  /// The owner of its GPU memory has taken that back.
  bool revoked(const Mr& mr) const { return keys_[find(mr.lkey)].revoked; }
  void set_window(unsigned index, const Window& window);
  void close_window(unsigned index);
  bool window_open(unsigned index) const { return windows_.at(index).open; }

  /// Bytes of a region, as the NIC would read them; nothing is timed. InputError for a key that no region has, for
  /// bytes outside it, and for holes.
  void copy(uint64_t addr, uint32_t lkey, uint8_t* to, uint64_t bytes) const;
  /// After a reset: windows, lists and entries are written again.
  void restore();

 private:
  struct Key {
    bool live = false;
    bool busy = false;  ///< a thread is changing it
    bool revoked = false;
    uint8_t variant = 0;  ///< low byte of the key; another one at each use of an index
    uint64_t place = 0;   ///< of its first byte: bus address, place in the list, address of the window
    unsigned log_page = 12;
    std::vector<uint64_t> list;      ///< entries as in device memory
    uint64_t list_at = 0;            ///< there
    std::optional<unsigned> window;  ///< which it goes through
    bool own_window = false;
    std::vector<uint64_t> pins;
    Mr mr{};
  };
  struct WindowState {
    bool open = false, busy = false;
    bool own = false;  ///< a region's
    Window window;
    uint64_t pin = 0;
    uint64_t opening = 0;  ///< the how many-th set_window
  };

  uint32_t find(uint32_t lkey) const;
  uint32_t new_index();
  void place(Key& key, uint32_t index, const MrInit& init);
  uint64_t pin(Key& key, uint32_t index, uint64_t offset, uint64_t length);
  void give_back(Key& key);
  void write_list(const Key& key);
  void write_entry(uint32_t index);
  void withdraw(uint32_t index);
  void revoke(uint32_t index);
  void shut(unsigned index);
  void write_window(unsigned index);
  void write_ctrl(unsigned index);
  void drain();
  uint64_t list_alloc(uint64_t bytes);
  uint64_t bus_of(const Key& key, uint64_t place, uint64_t bytes) const;
  void alive(const std::function<void()>& steps);

  Context& ctx_;
  pcie::Hub& hub_;
  std::deque<Key> keys_ = std::deque<Key>(1);  ///< by index; 0 is never given
  std::deque<uint32_t> unused_;                ///< indices taken back, oldest first; used when there are no new ones
  std::array<WindowState, kWindows> windows_;
  std::multimap<uint64_t, uint64_t> free_lists_;  ///< size, a power of two -> offset in device memory
  uint64_t openings_ = 0;
  sc_core::sc_event changed_;
};

}  // namespace rnic::host
