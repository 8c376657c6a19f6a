// SPDX-License-Identifier: Apache-2.0
// Which pages of the GPU's memory its BAR serves: a peer-memory call has pinned them. The shape is
// nvidia_p2p_get_pages, put_pages and its free callback.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

namespace rnic {

class PinnedPages {
 public:
  static constexpr uint64_t kPage = 65536;  ///< bytes; of nvidia_p2p_get_pages

  /// Of a memory of `size` bytes, a multiple of kPage.
  explicit PinnedPages(uint64_t size);

  /// Pins the whole pages round bytes [offset, offset + length): they are served until every pin of theirs is taken
  /// back. `revoked`, which may be empty, is called by revoke(). Returns a handle, from 1. InputError for no bytes, for
  /// bytes outside the memory, and for pages that are being revoked.
  uint64_t pin(uint64_t offset, uint64_t length, std::function<void()> revoked);
  /// Takes a pin back: what still uses it meets unpinned pages. Nothing happens when it was revoked already. InputError
  /// for a handle that pin() never gave.
  void unpin(uint64_t handle);

  /// The owner frees bytes [offset, offset + length): whoever has pinned a page of them is called, in the order of the
  /// pins, and must have stopped the use when it returns; after all of them their pins are gone, whole. A callback may
  /// unpin, and may wait when revoke() is called from a SystemC thread: until it is over no page of the range can be
  /// pinned. InputError as of pin().
  void revoke(uint64_t offset, uint64_t length);

  /// Whether every page that has a byte of [offset, offset + length) is pinned. No bytes are. Never wraps.
  bool covers(uint64_t offset, uint64_t length) const;

  uint64_t pinned_bytes() const;                  ///< in whole pages, each counted once
  uint64_t pins() const { return pins_.size(); }  ///< not taken back

 private:
  struct Range {
    uint64_t first, end;  ///< pages
    bool overlaps(const Range& o) const { return first < o.end && o.first < end; }
  };
  struct Pin {
    Range pages;
    std::function<void()> revoked;
    bool going = false;  ///< its callback has been called
  };
  Range pages(uint64_t offset, uint64_t length) const;
  void count(const Range& r, int by);

  const uint64_t size_;
  uint64_t last_handle_ = 0, last_revoke_ = 0;
  std::map<uint64_t, Pin> pins_;         ///< by handle
  std::map<uint64_t, uint64_t> counts_;  ///< first page -> pins of it and of those behind it, up to the next entry
  std::vector<std::pair<uint64_t, Range>> revoking_;
};

}  // namespace rnic
