// SPDX-License-Identifier: Apache-2.0
#include "rnic/mem/pinned_pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <iterator>

#include "rnic/core/error.h"

namespace rnic {

PinnedPages::PinnedPages(uint64_t size) : size_(size) { counts_[0] = 0; }

PinnedPages::Range PinnedPages::pages(uint64_t offset, uint64_t length) const {
  if (length == 0)
    throw InputError(fmt::format("no bytes at offset {:#x} of GPU memory: a pin is of one at least", offset));
  if (length > size_ || offset > size_ - length) {
    throw InputError(
        fmt::format("{:#x} B from offset {:#x} reach outside GPU memory, which has {:#x} B", length, offset, size_));
  }
  return {offset / kPage, (offset + length - 1) / kPage + 1};
}

/// Adds to the count of each page, and joins stretches that are alike again.
void PinnedPages::count(const Range& r, int by) {
  const auto split = [this](uint64_t at) {
    const auto before = std::prev(counts_.upper_bound(at));
    return before->first == at ? before : counts_.emplace_hint(std::next(before), at, before->second);
  };
  const auto first = split(r.first), end = split(r.end);
  for (auto it = first; it != end; ++it) it->second += static_cast<uint64_t>(static_cast<int64_t>(by));
  if (end->second == std::prev(end)->second) counts_.erase(end);
  if (first != counts_.begin() && first->second == std::prev(first)->second) counts_.erase(first);
}

uint64_t PinnedPages::pin(uint64_t offset, uint64_t length, std::function<void()> revoked) {
  const Range r = pages(offset, length);
  for (const auto& [id, going] : revoking_) {
    if (going.overlaps(r)) {
      throw InputError(
          fmt::format("{:#x} B from offset {:#x} of GPU memory are being freed by their owner: pin them "
                      "when they have been allocated again",
                      length, offset));
    }
  }
  count(r, 1);
  pins_[++last_handle_] = {r, std::move(revoked)};
  return last_handle_;
}

void PinnedPages::unpin(uint64_t handle) {
  const auto it = pins_.find(handle);
  if (it == pins_.end()) {
    if (handle == 0 || handle > last_handle_) {
      throw InputError(fmt::format("no pin of GPU memory has the handle {}", handle));
    }
    return;
  }
  count(it->second.pages, -1);
  pins_.erase(it);
}

void PinnedPages::revoke(uint64_t offset, uint64_t length) {
  const Range r = pages(offset, length);
  std::vector<uint64_t> hit;
  for (auto& [handle, pin] : pins_) {
    if (!pin.going && pin.pages.overlaps(r)) hit.push_back(handle), pin.going = true;
  }
  const uint64_t id = ++last_revoke_;
  revoking_.emplace_back(id, r);
  std::exception_ptr failed;  // the memory goes, whatever happens to its users
  for (const uint64_t handle : hit) {
    const auto it = pins_.find(handle);
    if (it == pins_.end() || !it->second.revoked) continue;  // unpinned by a callback before
    const auto revoked = it->second.revoked;                 // a copy: it may unpin itself
    try {
      revoked();
    } catch (...) {
      if (!failed) failed = std::current_exception();
    }
  }
  for (const uint64_t handle : hit) unpin(handle);
  revoking_.erase(std::find_if(revoking_.begin(), revoking_.end(), [&](const auto& e) { return e.first == id; }));
  if (failed) std::rethrow_exception(failed);
}

bool PinnedPages::covers(uint64_t offset, uint64_t length) const {
  if (length == 0) return true;
  if (length > size_ || offset > size_ - length) return false;
  const uint64_t end = (offset + length - 1) / kPage + 1;
  for (auto it = std::prev(counts_.upper_bound(offset / kPage)); it != counts_.end() && it->first < end; ++it) {
    if (it->second == 0) return false;
  }
  return true;
}

uint64_t PinnedPages::pinned_bytes() const {
  uint64_t n = 0;
  for (auto it = counts_.begin(); std::next(it) != counts_.end(); ++it) {
    if (it->second != 0) n += (std::next(it)->first - it->first) * kPage;
  }
  return n;
}

}  // namespace rnic
