// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "rnic/core/error.h"
#include "rnic/nic/bar.h"
#include "rnic/regs/regs.h"

namespace rnic {
namespace {

// Header
constexpr unsigned kVendorId = 0x00;
constexpr unsigned kDeviceId = 0x02;
constexpr unsigned kCommand = 0x04;
constexpr unsigned kStatus = 0x06;
constexpr unsigned kRevision = 0x08;
constexpr unsigned kClassCode = 0x09;
constexpr unsigned kCacheLine = 0x0c;
constexpr unsigned kBar0 = 0x10;
constexpr unsigned kSubsystemVendor = 0x2c;
constexpr unsigned kSubsystem = 0x2e;
constexpr unsigned kCapPointer = 0x34;
constexpr unsigned kInterruptLine = 0x3c;
// Capabilities
constexpr unsigned kPm = 0x40;
constexpr unsigned kPmcsr = kPm + 4;
constexpr unsigned kMsix = 0x50;
constexpr unsigned kPcie = 0x60;
constexpr unsigned kDevCap = kPcie + 0x04;
constexpr unsigned kDevCtl = kPcie + 0x08;
constexpr unsigned kLinkCap = kPcie + 0x0c;
constexpr unsigned kLinkCtl = kPcie + 0x10;
constexpr unsigned kLinkSta = kPcie + 0x12;
constexpr unsigned kDevCap2 = kPcie + 0x24;
constexpr unsigned kDevCtl2 = kPcie + 0x28;
constexpr unsigned kLinkCap2 = kPcie + 0x2c;
constexpr unsigned kLinkCtl2 = kPcie + 0x30;

constexpr uint32_t kMemoryEnable = 1 << 1;
constexpr uint32_t kBusMaster = 1 << 2;
// Memory, bus master, parity error response, SERR, interrupt disable
constexpr uint32_t kCommandWritable = 0x0546;
constexpr uint32_t kMemory64 = 0x4;
constexpr uint32_t kMemory64Prefetchable = 0xc;
constexpr uint32_t kMsixBir = 4;  // BAR register, not BAR number: BAR2 is registers 4 and 5
constexpr uint32_t kTag10Completer = 1 << 16;
constexpr uint32_t kTag10Requester = 1 << 17;
constexpr uint32_t kTag10Enable = 1 << 12;  // 10-Bit Tag Requester Enable
constexpr unsigned kMaxCode = 5;            // 4096 B, of MPS and MRRS

constexpr uint64_t kBarSize[3] = {regs::bar0::kSize, regs::bar1::kSize, regs::bar2::kSize};

bool legal(unsigned offset, unsigned bytes) {
  return (bytes == 1 || bytes == 2 || bytes == 4) && offset % bytes == 0 && offset < 4096 && bytes <= 4096 - offset;
}

}  // namespace

ConfigSpace::ConfigSpace(const Link& link) : max_mps_code_(std::min(link.max_mps_code, kMaxCode)) {
  const auto vendor = static_cast<uint32_t>(regs::bar2::id::kVendor.reset);
  put(kVendorId, 2, vendor);
  put(kDeviceId, 2, static_cast<uint32_t>(regs::bar2::id::kDevice.reset));
  put(kCommand, 2, 0, kCommandWritable);
  put(kStatus, 2, 1 << 4);  // capability list
  put(kRevision, 1, 0x01);
  put(kClassCode, 1, 0x00);
  put(kClassCode + 1, 2, 0x0200);  // network controller, Ethernet
  put(kCacheLine, 1, 0, 0xff);
  for (unsigned n = 0; n < 3; ++n) {
    const uint64_t writable = ~(kBarSize[n] - 1);
    put(kBar0 + 8 * n, 4, n == 1 ? kMemory64Prefetchable : kMemory64, static_cast<uint32_t>(writable));
    put(kBar0 + 8 * n + 4, 4, 0, static_cast<uint32_t>(writable >> 32));
  }
  put(kSubsystemVendor, 2, vendor);
  put(kSubsystem, 2, 0x0001);
  put(kCapPointer, 1, kPm);
  put(kInterruptLine, 1, 0, 0xff);  // pin 0: MSI-X only

  put(kPm, 4, 0x01 | kMsix << 8 | 0x0003u << 16);  // version 3; D0 and D3hot only, no PME
  put(kPmcsr, 4, 1 << 3, 0x3);                     // no soft reset

  put(kMsix, 2, 0x11 | kPcie << 8);
  put(kMsix + 2, 2, regs::bar2::kMsixCount - 1, 0xc000);  // enable, function mask
  put(kMsix + 4, 4, regs::bar2::kMsixAddrLo | kMsixBir);
  put(kMsix + 8, 4, regs::bar2::kMsixPba | kMsixBir);

  const unsigned gen = std::clamp(link.gen, 1u, 6u);
  const unsigned lanes = link.lanes & 0x3f;
  put(kPcie, 4, 0x10 | 0x0002u << 16);                  // version 2, endpoint, last capability
  put(kDevCap, 4, max_mps_code_ | 1 << 5 | 1u << 15);   // 8-bit tags, role-based error reporting
  put(kDevCtl, 2, 1 << 4 | 1 << 11 | 2 << 12, 0x79ff);  // relaxed ordering, no snoop, MRRS 512
  put(kLinkCap, 4, gen | lanes << 4 | 1 << 22);         // ASPM optionality compliance
  put(kLinkCtl, 2, 0, 0x00cb);                          // ASPM control, RCB, common clock, extended synch
  put(kLinkSta, 2, gen | lanes << 4 | 1 << 12);         // slot clock
  // Completion timeout can be disabled; 10-bit tags as completer and as requester.
  put(kDevCap2, 4, 1 << 4 | kTag10Completer | kTag10Requester);
  put(kDevCtl2, 2, 0, 1 << 4 | kTag10Enable);
  put(kLinkCap2, 4, ((1u << gen) - 1) << 1);  // all speeds up to gen
  put(kLinkCtl2, 2, gen, 0xf);
}

void ConfigSpace::put(unsigned offset, unsigned bytes, uint32_t reset, uint32_t writable) {
  for (unsigned i = 0; i < bytes; ++i) {
    bytes_[offset + i] = static_cast<uint8_t>(reset >> 8 * i);
    mask_[offset + i] = static_cast<uint8_t>(writable >> 8 * i);
  }
}

uint32_t ConfigSpace::get(unsigned offset, unsigned bytes) const {
  uint32_t value = 0;
  for (unsigned i = 0; i < bytes; ++i) value |= uint32_t{bytes_[offset + i]} << 8 * i;
  return value;
}

uint32_t ConfigSpace::read(unsigned offset, unsigned bytes) const {
  return legal(offset, bytes) ? get(offset, bytes) : ~0u;
}

void ConfigSpace::write(unsigned offset, unsigned bytes, uint32_t value) {
  if (!legal(offset, bytes)) return;
  const auto before = settings().pack();
  const uint8_t power = bytes_[kPmcsr] & 3;
  for (unsigned i = 0; i < bytes; ++i) {
    const uint8_t mask = mask_[offset + i];
    const auto in = static_cast<uint8_t>(value >> 8 * i);
    bytes_[offset + i] = static_cast<uint8_t>((bytes_[offset + i] & ~mask) | (in & mask));
  }
  // D1 and D2 are not supported: such a write leaves the power state as it is.
  const uint8_t wanted = bytes_[kPmcsr] & 3;
  if (wanted == 1 || wanted == 2) bytes_[kPmcsr] = static_cast<uint8_t>((bytes_[kPmcsr] & ~3) | power);
  if (on_change && settings().pack() != before) on_change();
}

bool ConfigSpace::powered() const { return (bytes_[kPmcsr] & 3) == 0; }

rtl::pcie_cfg_t ConfigSpace::settings() const {
  const uint32_t control = get(kDevCtl, 2);
  rtl::pcie_cfg_t s;
  s.bus_master = powered() && (get(kCommand, 2) & kBusMaster);
  s.ext_tag = control >> 8 & 1;
  s.tag10 = (get(kDevCtl2, 2) & kTag10Enable) != 0;
  // Larger than supported is software's fault; the largest supported size is used then.
  s.mps = static_cast<uint8_t>(std::min(control >> 5 & 7, max_mps_code_));
  s.mrrs = static_cast<uint8_t>(std::min(control >> 12 & 7, kMaxCode));
  s.rcb = get(kLinkCtl, 2) >> 3 & 1;
  s.requester_id = bdf_;
  return s;
}

void ConfigSpace::set_bdf(uint16_t bdf) {
  if (bdf == bdf_) return;
  bdf_ = bdf;
  if (on_change) on_change();
}

bool ConfigSpace::memory_enabled() const { return powered() && (get(kCommand, 2) & kMemoryEnable); }

uint64_t ConfigSpace::bar(unsigned n) const {
  const uint64_t size = bar_size(n);  // checks n
  return (uint64_t{get(kBar0 + 8 * n + 4, 4)} << 32 | get(kBar0 + 8 * n, 4)) & ~(size - 1);
}

uint64_t ConfigSpace::bar_size(unsigned n) {
  if (n >= 3) throw SimError("the NIC has BAR0, BAR1 and BAR2, not BAR" + std::to_string(n));
  return kBarSize[n];
}

std::array<uint64_t, 3> enumerate(ConfigSpace& config, unsigned mps, unsigned mrrs, unsigned rcb, unsigned tag_bits) {
  constexpr uint64_t kBarBase = 0x0000'2000'0000'0000;
  constexpr uint16_t kNicBdf = 0x0100;
  const auto code = [](unsigned bytes) {  // 128 -> 0 .. 4096 -> 5
    unsigned c = 0;
    while ((128u << c) < bytes) ++c;
    return c;
  };
  if ((config.read(0, 2) & 0xffff) == 0xffff) throw SimError("no device answers to configuration reads");
  config.set_bdf(kNicBdf);
  std::array<uint64_t, 3> bars{};
  uint64_t next = kBarBase;
  for (unsigned n = 0; n < 3; ++n) {
    const unsigned reg = 0x10 + 8 * n;
    config.write(reg, 4, 0xffffffff);
    config.write(reg + 4, 4, 0xffffffff);
    const uint64_t sized = uint64_t{config.read(reg + 4, 4)} << 32 | (config.read(reg, 4) & ~0xfu);
    const uint64_t size = ~sized + 1;
    next = (next + size - 1) / size * size;
    bars[n] = next;
    config.write(reg, 4, static_cast<uint32_t>(next));
    config.write(reg + 4, 4, static_cast<uint32_t>(next >> 32));
    next += size;
  }
  // PCI Express capability: MPS, MRRS and 8-bit tags in Device Control, RCB in Link Control, 10-bit tags in Device
  // Control 2
  unsigned cap = config.read(0x34, 1);
  while (cap != 0 && (config.read(cap, 1) & 0xff) != 0x10) cap = config.read(cap + 1, 1) & 0xff;
  if (cap == 0) throw SimError("the device has no PCI Express capability");
  config.write(cap + 8, 2, code(mrrs) << 12 | (tag_bits >= 8 ? 1u << 8 : 0) | code(mps) << 5);
  config.write(cap + 16, 2, rcb == 128 ? 1u << 3 : 0);
  if (tag_bits == 10 && (config.read(cap + 0x24, 4) & kTag10Requester)) config.write(cap + 0x28, 2, kTag10Enable);
  config.write(4, 2, 0x0006);  // memory space, bus master
  return bars;
}

}  // namespace rnic
