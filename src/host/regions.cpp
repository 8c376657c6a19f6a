// SPDX-License-Identifier: Apache-2.0
#include "rnic/host/regions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <random>
#include <utility>

#include "rnic/core/error.h"
#include "rnic/host/verbs.h"
#include "rnic/rtl/ports.h"

namespace rnic::host {
namespace {

namespace bar2 = regs::bar2;
using rtl::rnic_pkg::CmdMkeyModify;
using rtl::rnic_pkg::MptBase;

constexpr unsigned kEntryBytes = 64;  ///< of the memory protection table
constexpr unsigned kBlock = 64;       ///< a list of pages begins at a multiple of it
constexpr unsigned kMinLogPage = 12, kMaxLogPage = 30;
constexpr unsigned kPinLogPage = 16;  ///< PinnedPages::kPage
constexpr uint64_t kPresent = 1;
constexpr uint64_t kSmallPage = 4096;  ///< every page is a multiple of it
constexpr uint32_t kKnownAccess = kAllRights | kZeroBased | kRelaxedOrdering;

static_assert(PinnedPages::kPage == 1 << kPinLogPage);

uint64_t size_of(Space space) { return space == Space::kHost ? pcie::kHostSize : pcie::kGpuSize; }
uint64_t base_of(Space space) { return space == Space::kHost ? pcie::kHostBase : pcie::kGpuBase; }
const char* name_of(Space space) { return space == Space::kHost ? "host" : "GPU"; }

bool inside(uint64_t offset, uint64_t length, uint64_t size) { return length <= size && offset <= size - length; }
bool wraps(uint64_t start, uint64_t length) { return length != 0 && length - 1 > ~start; }

void check(const MrInit& i) {
  const auto refuse = [](const std::string& why) { throw InputError("memory region: " + why); };
  if (i.pd >> 24 != 0) refuse(fmt::format("protection domain {} is not below 2^24", i.pd));
  if ((i.access & ~kKnownAccess) != 0) {
    refuse(fmt::format("access flags {:#x} are not known; there are {:#x}", i.access & ~kKnownAccess, kKnownAccess));
  }
  if ((i.access & (kRemoteWrite | kRemoteAtomic)) != 0 && (i.access & kLocalWrite) == 0) {
    refuse("remote write or atomic access needs local write access, too");
  }
  const uint64_t va = i.access & kZeroBased ? 0 : i.va;
  if (wraps(va, i.length)) {
    refuse(fmt::format("{:#x} B from address {:#x} on go beyond the end of the address space", i.length, va));
  }
  if (i.window && i.space != Space::kGpu) refuse("a GPUDirect window does not lead to host memory");
  const uint64_t size = size_of(i.space);
  if (i.pages.empty()) {
    if (i.window ? wraps(i.offset, i.length) : !inside(i.offset, i.length, size)) {
      refuse(fmt::format("{:#x} B from offset {:#x} on are not in {}", i.length, i.offset,
                         i.window ? "a window's address space" : fmt::format("{} memory", name_of(i.space))));
    }
    return;
  }
  if (i.log_page < kMinLogPage || i.log_page > kMaxLogPage) {
    refuse(fmt::format("pages of 2^{} B; allowed: 2^{} to 2^{}", i.log_page, kMinLogPage, kMaxLogPage));
  }
  const uint64_t page = uint64_t{1} << i.log_page;
  if (i.pages.size() >> 32 != 0) refuse("a list of 2^32 pages or more");
  if (i.offset >= page) refuse(fmt::format("offset {:#x} is not in the first page of {:#x} B", i.offset, page));
  if (!inside(i.offset, i.length, i.pages.size() * page)) {
    refuse(fmt::format("{} pages of {:#x} B hold no {:#x} B from offset {:#x} of the first one on", i.pages.size(),
                       page, i.length, i.offset));
  }
  for (const uint64_t p : i.pages) {
    if (p == kNoPage) continue;
    if (p % page != 0) refuse(fmt::format("page {:#x} is no multiple of {:#x}", p, page));
    if (!i.window && !inside(p, page, size)) refuse(fmt::format("page {:#x} is not in {} memory", p, name_of(i.space)));
  }
}

}  // namespace

// ---- Keys -----------------------------------------------------------------------------------------------------------

uint32_t Regions::find(uint32_t lkey) const {
  const uint32_t index = lkey >> 8;
  if (index >= keys_.size() || !keys_[index].live || keys_[index].variant != (lkey & 0xff)) {
    throw InputError(fmt::format("no memory region has the key {:#x}: never registered, or taken back already", lkey));
  }
  return index;
}

uint32_t Regions::new_index() {
  const auto next = static_cast<uint32_t>(keys_.size());
  if (next < regs::bar1::kMptCount) {
    keys_.emplace_back();
    keys_.back().variant = static_cast<uint8_t>(0x5a + next);
    return next;
  }
  if (unused_.empty()) {
    throw InputError(fmt::format("all {} memory keys are in use: take some back with dereg_mr", next - 1));
  }
  const uint32_t index = unused_.front();
  unused_.pop_front();
  return index;
}

Mr Regions::reg(const MrInit& init) {
  ctx_.check_alive();
  check(init);
  if (init.window && (*init.window >= kWindows || !windows_[*init.window].open || windows_[*init.window].own)) {
    throw InputError(fmt::format("window {} is not open: open it with set_window first", *init.window));
  }
  const uint32_t index = new_index();
  Key& key = keys_[index];
  const uint32_t number = index << 8 | key.variant;
  key.mr = {number,  number,     init.access & kZeroBased ? 0 : init.va, init.length, init.space, init.offset,
            init.pd, init.access};
  key.live = key.busy = true;
  key.revoked = false;
  try {
    place(key, index, init);
    if (key.own_window) write_window(*key.window);
    write_list(key);
    write_entry(index);
  } catch (...) {
    give_back(key);
    key.live = key.busy = false;
    if (index + 1 == keys_.size() && !ctx_.lost()) {
      keys_.pop_back();  // as if it had never been
    } else {
      unused_.push_front(index);
    }
    changed_.notify(sc_core::SC_ZERO_TIME);
    throw;
  }
  key.busy = false;
  changed_.notify(sc_core::SC_ZERO_TIME);
  return key.mr;
}

/// Finds what the region's addresses are to be on their way to the bus, pins, and takes a window or room for a list.
void Regions::place(Key& key, uint32_t index, const MrInit& i) {
  const uint64_t base = i.window ? 0 : base_of(i.space);
  const bool pinned = i.space == Space::kGpu && !i.window && i.length != 0;
  key.window = i.window;
  key.place = base + i.offset;
  key.log_page = i.log_page;
  if (!i.pages.empty()) {
    key.place = i.offset;
    for (const uint64_t p : i.pages) {
      key.list.push_back(p == kNoPage ? 0 : base + p + kPresent);
      if (pinned && p != kNoPage) key.pins.push_back(pin(key, index, p, uint64_t{1} << i.log_page));
    }
  } else if (pinned) {
    key.pins.push_back(pin(key, index, i.offset, i.length));
    // Users choose from 0 up.
    const auto free = std::find_if(windows_.rbegin(), windows_.rend(),
                                   [](const WindowState& w) { return !w.open && !w.busy && !w.own; });
    if (free != windows_.rend()) {
      key.window = static_cast<unsigned>(windows_.rend() - free) - 1;
      key.own_window = free->own = free->open = true;
      free->window = {i.offset, i.length, i.offset, true, (i.access & kAllRights & ~kRemoteRead) != 0};
      key.place = i.offset;
    } else {
      key.log_page = kPinLogPage;
      key.place = i.offset % PinnedPages::kPage;
      for (uint64_t p = i.offset - key.place; p < i.offset + i.length; p += PinnedPages::kPage) {
        key.list.push_back(base + p + kPresent);
      }
    }
  }
  if (!key.list.empty()) key.list_at = list_alloc(key.list.size() * sizeof(uint64_t));
}

uint64_t Regions::pin(Key& key, uint32_t index, uint64_t offset, uint64_t length) {
  return hub_.gpu_pages().pin(offset, length, [this, index, lkey = key.mr.lkey] {
    if ((index << 8 | keys_[index].variant) == lkey) revoke(index);
  });
}

/// Room for a list of pages, of 64 B at least.
uint64_t Regions::list_alloc(uint64_t bytes) {
  uint64_t size = kBlock;
  while (size < bytes) size *= 2;
  if (const auto it = free_lists_.find(size); it != free_lists_.end()) {
    const uint64_t at = it->second;
    free_lists_.erase(it);
    return at;
  }
  return ctx_.alloc_device(size);
}

/// Everything but the key, once the NIC does not use it any more.
void Regions::give_back(Key& key) {
  for (const uint64_t handle : key.pins) hub_.gpu_pages().unpin(handle);
  key.pins.clear();
  if (key.own_window) windows_[*key.window] = {};
  key.own_window = false;
  key.window.reset();
  if (key.list_at != 0) {
    uint64_t size = kBlock;
    while (size < key.list.size() * sizeof(uint64_t)) size *= 2;
    free_lists_.emplace(size, key.list_at);
  }
  key.list.clear();
  key.list_at = 0;
}

void Regions::dereg(const Mr& mr) {
  while (keys_[find(mr.lkey)].busy) sc_core::wait(changed_);
  const uint32_t index = find(mr.lkey);
  Key& key = keys_[index];
  key.busy = true;
  if (!key.revoked) withdraw(index);
  key.live = key.busy = false;
  ++key.variant;
  unused_.push_back(index);
  changed_.notify(sc_core::SC_ZERO_TIME);
}

/// The owner of pinned memory takes it back: when this returns nothing reads it any more.
void Regions::revoke(uint32_t index) {
  Key& key = keys_[index];
  const uint8_t variant = key.variant;
  while (key.busy) sc_core::wait(changed_);
  if (!key.live || key.revoked || key.variant != variant) return;
  key.busy = key.revoked = true;
  withdraw(index);
  key.busy = false;
  changed_.notify(sc_core::SC_ZERO_TIME);
}

/// Work posted from now on meets an invalid key, a message under way with its next packet; then the reads that were let
/// through end.
void Regions::withdraw(uint32_t index) {
  Key& key = keys_[index];
  alive([&] {
    const std::array<uint8_t, kEntryBytes> zero{};
    ctx_.write_block(MptBase + uint64_t{index} * kEntryBytes, zero.data(), kEntryBytes);
    ctx_.command(CmdMkeyModify, index);
    if (key.own_window) {
      windows_[*key.window].open = false;
      write_ctrl(*key.window);
    }
    drain();
  });
  give_back(key);
}

void Regions::write_list(const Key& key) {
  if (key.list.empty()) return;
  std::vector<uint8_t> bytes((key.list.size() * sizeof(uint64_t) + kBlock - 1) / kBlock * kBlock);
  for (size_t i = 0; i < key.list.size(); ++i) {
    for (unsigned b = 0; b < 8; ++b) bytes[8 * i + b] = static_cast<uint8_t>(key.list[i] >> 8 * b);
  }
  ctx_.write_block(key.list_at, bytes.data(), static_cast<unsigned>(bytes.size()));
}

void Regions::write_entry(uint32_t index) {
  const Key& key = keys_[index];
  rtl::mpt_t m;
  if (key.live && !key.revoked) {
    m.valid = true;
    m.local_write = (key.mr.access & kLocalWrite) != 0;
    m.remote_read = (key.mr.access & kRemoteRead) != 0;
    m.remote_write = (key.mr.access & kRemoteWrite) != 0;
    m.remote_atomic = (key.mr.access & kRemoteAtomic) != 0;
    m.relaxed = (key.mr.access & kRelaxedOrdering) != 0;
    m.variant = key.variant;
    m.pd = key.mr.pd;
    m.start = key.mr.addr;
    m.length = key.mr.length;
    m.iova = key.place;
    m.paged = !key.list.empty();
    m.log_page = static_cast<uint8_t>(key.log_page);
    m.mtt = static_cast<uint32_t>(key.list_at / kBlock);
    m.pages = static_cast<uint32_t>(key.list.size());
    m.window_en = key.window.has_value();
    m.window = static_cast<uint8_t>(key.window.value_or(0));
  }
  const auto words = m.pack();
  ctx_.write_block(MptBase + uint64_t{index} * kEntryBytes, reinterpret_cast<const uint8_t*>(words.data()),
                   kEntryBytes);
  ctx_.command(CmdMkeyModify, index);
}

// ---- Windows --------------------------------------------------------------------------------------------------------

void Regions::set_window(unsigned index, const Window& window) {
  if (index >= kWindows) throw InputError(fmt::format("window {}: there are {}", index, kWindows));
  if (window.size == 0) throw InputError(fmt::format("window {} of no bytes: close it with close_window", index));
  if (wraps(window.base, window.size)) {
    throw InputError(fmt::format("window {}: {:#x} B from {:#x} on go beyond the end of the address space", index,
                                 window.size, window.base));
  }
  ctx_.check_alive();
  WindowState& w = windows_[index];
  while (w.busy) sc_core::wait(changed_);
  if (w.own) {
    throw InputError(
        fmt::format("window {} is in use by a region that was registered without one; those are taken "
                    "from {} down: choose a lower one",
                    index, kWindows - 1));
  }
  const uint64_t opening = ++openings_;
  const uint64_t pin = hub_.gpu_pages().pin(window.offset, window.size, [this, index, opening] {
    WindowState& now = windows_[index];
    while (now.busy) sc_core::wait(changed_);
    if (now.open && now.opening == opening) shut(index);
  });
  if (w.open) shut(index);
  w.busy = w.open = true;
  w.window = window;
  w.pin = pin;
  w.opening = opening;
  alive([&] {
    write_window(index);
    ctx_.read(2, bar2::kWindowCtrl + index * bar2::kWindowStride, 4);  // it has come to the NIC
  });
  w.busy = false;
  changed_.notify(sc_core::SC_ZERO_TIME);
}

void Regions::close_window(unsigned index) {
  if (index >= kWindows || windows_[index].own) throw InputError(fmt::format("window {} is not yours", index));
  while (windows_[index].busy) sc_core::wait(changed_);
  if (!windows_[index].open) throw InputError(fmt::format("window {} is not open", index));
  shut(index);
}

/// No access is let through any more, and the reads that were have ended; then its memory may go.
void Regions::shut(unsigned index) {
  WindowState& w = windows_[index];
  w.busy = true;
  w.open = false;
  alive([&] {
    write_ctrl(index);
    drain();
  });
  hub_.gpu_pages().unpin(w.pin);
  w.pin = 0;
  w.busy = false;
  changed_.notify(sc_core::SC_ZERO_TIME);
}

/// A write of ctrl makes what was written before take effect at once.
void Regions::write_window(unsigned index) {
  const Window& w = windows_[index].window;
  const uint32_t at = index * bar2::kWindowStride;
  ctx_.write64(2, bar2::kWindowBase + at, w.base);
  ctx_.write64(2, bar2::kWindowSize + at, w.size);
  ctx_.write64(2, bar2::kWindowGpu + at, pcie::kGpuBase + w.offset);
  write_ctrl(index);
}

void Regions::write_ctrl(unsigned index) {
  const WindowState& w = windows_[index];
  uint64_t ctrl = 0;
  if (w.open) {
    ctrl = bar2::window_ctrl::kValid.set(ctrl, 1);
    ctrl = bar2::window_ctrl::kRead.set(ctrl, w.window.read);
    ctrl = bar2::window_ctrl::kWrite.set(ctrl, w.window.write);
  }
  ctx_.write32(2, bar2::kWindowCtrl + index * bar2::kWindowStride, static_cast<uint32_t>(ctrl));
}

/// Until no read is under way that was let through before the last change of a window or an entry. Reads end by their
/// completion timeout at the latest.
void Regions::drain() {
  const Time limit = sc_core::sc_time_stamp() + Time(10, sc_core::SC_MS) + from_ps(2000 * ctx_.cpl_timeout_ns_);
  while (bar2::window_state::kBusy.get(ctx_.read(2, bar2::kWindowState, 4)) != 0 && !ctx_.lost()) {
    if (sc_core::sc_time_stamp() > limit) throw SimError("reads of the NIC through GPUDirect windows do not end");
  }
}

/// Steps on a device that may be lost amid them: then nothing of it is used any more, and there is nothing to be done.
void Regions::alive(const std::function<void()>& steps) {
  if (ctx_.lost()) return;
  try {
    steps();
  } catch (const SimError&) {
    if (!ctx_.lost()) throw;
  }
}

void Regions::restore() {
  for (unsigned i = 0; i < kWindows; ++i) {
    if (windows_[i].open) write_window(i);
  }
  for (uint32_t i = 1; i < keys_.size(); ++i) {
    if (keys_[i].live && !keys_[i].revoked) write_list(keys_[i]);
    write_entry(i);  // also of those that went in the meantime
  }
}

// ---- As the NIC reads -----------------------------------------------------------------------------------------------

void Regions::copy(uint64_t addr, uint32_t lkey, uint8_t* to, uint64_t bytes) const {
  const Key& key = keys_[find(lkey)];
  if (key.revoked) throw InputError(fmt::format("the memory of the region with the key {:#x} has been freed", lkey));
  const uint64_t into = addr - key.mr.addr;
  if (addr < key.mr.addr || !inside(into, bytes, key.mr.length)) {
    throw InputError(fmt::format("inline data at {:#x}, {} bytes, reaches outside its memory region", addr, bytes));
  }
  for (uint64_t done = 0, n = 0; done < bytes; done += n) {
    const uint64_t place = key.place + into + done;
    n = std::min(bytes - done, kSmallPage - place % kSmallPage);
    const uint64_t bus = bus_of(key, place, n);
    const Memory& memory = bus < pcie::kGpuBase ? hub_.host_memory() : hub_.gpu_memory();
    memory.read(bus - (bus < pcie::kGpuBase ? pcie::kHostBase : pcie::kGpuBase), to + done, n);
  }
}

/// Bus address of bytes at a place of the region; they don't cross a page.
uint64_t Regions::bus_of(const Key& key, uint64_t place, uint64_t bytes) const {
  if (!key.list.empty()) {
    const uint64_t entry = key.list[place >> key.log_page];
    if ((entry & kPresent) == 0) throw InputError(fmt::format("inline data from a hole of region {:#x}", key.mr.lkey));
    place = entry - kPresent + (place & ((uint64_t{1} << key.log_page) - 1));
  }
  if (!key.window) return place;
  const WindowState& w = windows_[*key.window];
  if (!w.open || !w.window.read || place < w.window.base || !inside(place - w.window.base, bytes, w.window.size)) {
    throw InputError(fmt::format("inline data of region {:#x} lies outside window {}", key.mr.lkey, *key.window));
  }
  return pcie::kGpuBase + w.window.offset + (place - w.window.base);
}

// ---- Scattered memory -----------------------------------------------------------------------------------------------

std::vector<uint64_t> Context::alloc_scattered(Space space, uint64_t length, unsigned log_page) {
  if (log_page < kMinLogPage || log_page > kMaxLogPage) {
    throw InputError(fmt::format("pages of 2^{} B; allowed: 2^{} to 2^{}", log_page, kMinLogPage, kMaxLogPage));
  }
  const uint64_t page = uint64_t{1} << log_page;
  const uint64_t n = length / page + (length % page != 0);
  if (n > size_of(space) / page / 2) throw InputError(fmt::format("out of {} memory", name_of(space)));
  const uint64_t base = (alloc(space, (2 * n + 1) * page) + page - 1) & ~(page - 1);
  std::vector<uint64_t> pages(n);
  for (uint64_t i = 0; i < n; ++i) pages[i] = base + 2 * i * page;  // no two are neighbours
  std::mt19937_64 random(n);
  for (uint64_t i = n; i > 1; --i) std::swap(pages[i - 1], pages[random() % i]);
  return pages;
}

}  // namespace rnic::host
