// SPDX-License-Identifier: Apache-2.0
// C interface of the models that stand between PCIe and rnic_top's ports, for bridge.py: configuration space, BAR
// decoder, device memory. No clock and no SystemC in here. Structs of the RTL's ports go through as packed words.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <utility>
#include <vector>

#include "rnic/core/error.h"
#include "rnic/nic/bar.h"
#include "rnic/regs/regs.h"

namespace {

using namespace rnic;

constexpr unsigned kLargestMps = 5;  // code of 4096 B

struct Item {
  unsigned kind;  ///< 1: doorbell_t, 2: cmd_t, 3: vector, register, value of the MSI-X table, 4: number and window_t
  std::vector<uint32_t> words;
};

struct Endpoint : BarClient {
  Endpoint(unsigned gen, unsigned lanes) : config({gen, lanes, kLargestMps}) {
    bars.provide("tx_packets_phy", [this] { return packets; });
    bars.provide("tx_bytes_phy", [this] { return bytes; });
    config.on_flr = [this] {
      bars.function_level_reset(0);
      bars.up(0);
      items.clear();
      flr = true;
    };
  }

  template <class T>
  void put(unsigned kind, const T& item) {
    const auto words = item.pack();
    items.push_back({kind, {words.begin(), words.end()}});
  }
  void doorbell(const rtl::doorbell_t& db) override { put(1, db); }
  void command(const rtl::cmd_t& cmd) override { put(2, cmd); }
  void msix_table(unsigned vector, unsigned reg, uint32_t value) override {
    items.push_back({3, {vector, reg, value}});
  }
  uint64_t msix_pending() const override { return pending; }
  void window(unsigned index, const rtl::window_t& window) override {
    put(4, window);
    items.back().words.insert(items.back().words.begin(), index);
  }
  bool windows_busy() const override {
    return busy || std::any_of(items.begin(), items.end(), [](const Item& i) { return i.kind == 4; });
  }

  ConfigSpace config;
  Memory devmem{ConfigSpace::bar_size(1)};
  BarDecoder bars{config, devmem, *this};
  std::deque<Item> items;
  uint64_t packets = 0, bytes = 0, pending = 0;
  bool flr = false, busy = false;
};

Endpoint& self(void* ep) { return *static_cast<Endpoint*>(ep); }

}  // namespace

extern "C" {

void* rnic_ep_new(unsigned gen, unsigned lanes) { return new Endpoint(gen, lanes); }
void rnic_ep_free(void* ep) { delete &self(ep); }

uint32_t rnic_ep_config_read(void* ep, unsigned offset, unsigned bytes) { return self(ep).config.read(offset, bytes); }
void rnic_ep_config_write(void* ep, unsigned offset, unsigned bytes, uint32_t value) {
  self(ep).config.write(offset, bytes, value);
}
void rnic_ep_set_bdf(void* ep, unsigned bdf) { self(ep).config.set_bdf(static_cast<uint16_t>(bdf)); }
uint64_t rnic_ep_bar(void* ep, unsigned n) { return self(ep).config.bar(n); }
uint64_t rnic_ep_bar_size(unsigned n) { return ConfigSpace::bar_size(n); }

/// pcie_cfg_t as the configuration space sets it; returns its words.
unsigned rnic_ep_settings(void* ep, uint32_t* words) {
  const auto packed = self(ep).config.settings().pack();
  std::copy(packed.begin(), packed.end(), words);
  return static_cast<unsigned>(packed.size());
}

/// Bit 0: MSI-X is on, bit 1: all vectors masked. `pending` is what the RTL says.
unsigned rnic_ep_msix(void* ep, uint64_t pending) {
  self(ep).pending = pending;
  return self(ep).config.msix_enabled() | self(ep).config.msix_masked() << 1;
}

/// Whether reads are under way that were let through before a window changed: what the RTL says, and the ports' queue.
void rnic_ep_set_busy(void* ep, int busy) { self(ep).busy = busy != 0; }

/// Whether software has asked for a function-level reset since the last call.
int rnic_ep_take_flr(void* ep) { return std::exchange(self(ep).flr, false); }

/// A memory request as it is on the link; its completion goes to cpl (room for 4112 B). Returns the completion's bytes,
/// 0 if there is none, -1 for what is no whole TLP.
int rnic_ep_request(void* ep, const uint8_t* bytes, unsigned size, uint64_t now_ns, uint8_t* cpl) {
  pcie::Tlp tlp;
  const unsigned header = size != 0 && (bytes[0] & 0x20) ? 16 : 12;
  if (size < header) return -1;
  for (unsigned i = 0; i < header; ++i) tlp.hdr[i / 4] = tlp.hdr[i / 4] << 8 | bytes[i];
  tlp.data.assign(bytes + header, bytes + size);
  const auto answer = self(ep).bars.request(tlp, now_ns);
  if (!answer) return 0;
  const auto out = answer->bytes();
  std::copy(out.begin(), out.end(), cpl);
  return static_cast<int>(out.size());
}

/// The oldest doorbell or command for the RTL's ports, and takes it away. Returns its kind, 0 if there is none.
unsigned rnic_ep_next(void* ep, uint32_t* words) {
  auto& items = self(ep).items;
  if (items.empty()) return 0;
  const Item item = std::move(items.front());
  items.pop_front();
  std::copy(item.words.begin(), item.words.end(), words);
  return item.kind;
}

int rnic_ep_dm_read(void* ep, uint64_t addr, uint8_t* out, unsigned bytes) {
  return self(ep).devmem.read(addr, out, bytes);
}
int rnic_ep_dm_write(void* ep, uint64_t addr, const uint8_t* in, unsigned bytes) {
  return self(ep).devmem.write(addr, in, bytes);
}

void rnic_ep_count(void* ep, const uint32_t* stat) { self(ep).bars.count(rtl::stat_t::unpack_at(stat, 0)); }
void rnic_ep_log(void* ep, const uint32_t* event, uint64_t now_ns) {
  self(ep).bars.log(rtl::event_t::unpack_at(event, 0), now_ns);
}
void rnic_ep_set_mac(void* ep, uint64_t packets, uint64_t bytes) {
  self(ep).packets = packets;
  self(ep).bytes = bytes;
}

/// Offset in its BAR of a register by its name in the register map, and of element [i][j] of an array; -1 for an
/// unknown one.
int64_t rnic_ep_register(const char* name, unsigned i, unsigned j) {
  for (const auto& r : regs::kRegisters) {
    if (std::strcmp(r.name, name) == 0) return int64_t{r.offset} + int64_t{i} * r.stride[0] + int64_t{j} * r.stride[1];
  }
  return -1;
}

}  // extern "C"
