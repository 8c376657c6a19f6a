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
constexpr unsigned kDevSta = kPcie + 0x0a;
constexpr unsigned kLinkCap = kPcie + 0x0c;
constexpr unsigned kLinkCtl = kPcie + 0x10;
constexpr unsigned kLinkSta = kPcie + 0x12;
constexpr unsigned kDevCap2 = kPcie + 0x24;
constexpr unsigned kDevCtl2 = kPcie + 0x28;
constexpr unsigned kLinkCap2 = kPcie + 0x2c;
constexpr unsigned kLinkCtl2 = kPcie + 0x30;
constexpr unsigned kAer = 0x100;
constexpr unsigned kUncStatus = kAer + 0x04;
constexpr unsigned kUncMask = kAer + 0x08;
constexpr unsigned kUncSeverity = kAer + 0x0c;
constexpr unsigned kCorStatus = kAer + 0x10;
constexpr unsigned kCorMask = kAer + 0x14;
constexpr unsigned kAerControl = kAer + 0x18;
constexpr unsigned kHeaderLog = kAer + 0x1c;

constexpr uint32_t kMemoryEnable = 1 << 1;
constexpr uint32_t kBusMaster = 1 << 2;
// Memory, bus master, parity error response, SERR, interrupt disable
constexpr uint32_t kCommandWritable = 0x0546;
constexpr uint32_t kParityResponse = 1 << 6;
constexpr uint32_t kSerr = 1 << 8;
// Status: master data parity error; signaled target abort, received target abort, received master abort, signaled
// system error, detected parity error
constexpr uint32_t kMasterDataParity = 1 << 8;
constexpr uint32_t kSignaledTargetAbort = 1 << 11;
constexpr uint32_t kReceivedTargetAbort = 1 << 12;
constexpr uint32_t kReceivedMasterAbort = 1 << 13;
constexpr uint32_t kSignaledSystemError = 1 << 14;
constexpr uint32_t kDetectedParity = 1 << 15;
constexpr uint32_t kStatusClearable = 0xf900;
// Device Status
constexpr uint32_t kCorrectableDetected = 1 << 0;
constexpr uint32_t kNonFatalDetected = 1 << 1;
constexpr uint32_t kFatalDetected = 1 << 2;
constexpr uint32_t kUnsupportedDetected = 1 << 3;
constexpr uint32_t kTransactionsPending = 1 << 5;
constexpr uint32_t kInitiateFlr = 1 << 15;
constexpr uint32_t kFlrCapable = 1 << 28;
constexpr uint32_t kNonFatalEnable = 1 << 1;
constexpr uint32_t kFatalEnable = 1 << 2;
constexpr uint32_t kRelaxedEnable = 1 << 4;
constexpr uint32_t kTimeoutDisable = 1 << 4;
constexpr uint32_t kIdoRequest = 1 << 8;
// AER
constexpr unsigned kAerId = 0x0001;
constexpr uint32_t bit(PcieError e) { return 1u << (static_cast<unsigned>(e) & 0x1f); }
constexpr uint32_t kUncorrectable = bit(PcieError::kDataLink) | bit(PcieError::kPoisoned) |
                                    bit(PcieError::kCplTimeout) | bit(PcieError::kCompleterAbort) |
                                    bit(PcieError::kUnexpectedCpl) | bit(PcieError::kMalformed) |
                                    bit(PcieError::kUnsupported);
constexpr uint32_t kFatalByDefault = bit(PcieError::kDataLink) | bit(PcieError::kMalformed);
constexpr uint32_t kAdvisory = 1 << 13;
constexpr uint32_t kCorrectable = bit(PcieError::kBadTlp) | bit(PcieError::kBadDllp) | bit(PcieError::kReplayRollover) |
                                  bit(PcieError::kReplayTimeout) | kAdvisory;
constexpr uint32_t kMemory64 = 0x4;
constexpr uint32_t kMemory64Prefetchable = 0xc;
constexpr uint32_t kMsixEnable = 0x8000, kMsixFunctionMask = 0x4000;
constexpr uint32_t kMsixBir = 4;  // BAR register, not BAR number: BAR2 is registers 4 and 5
constexpr uint32_t kTag10Completer = 1 << 16;
constexpr uint32_t kTag10Requester = 1 << 17;
constexpr uint32_t kTag10Enable = 1 << 12;  // 10-Bit Tag Requester Enable
constexpr unsigned kMaxCode = 5;            // 4096 B, of MPS and MRRS

/// Completion timeouts: the field's value in Device Control 2, ns. Inside the standard's ranges (7.5.3.16): 50 us to
/// 50 ms for 0; A: 50 to 100 us, 1 to 10 ms; B: 16 to 55 ms, 65 to 210 ms; C: 260 to 900 ms, 1 to 3.5 s.
struct Timeout {
  unsigned code;
  uint32_t ns;
};
constexpr Timeout kTimeouts[] = {{0x1, 75'000},      {0x0, 1'000'000},   {0x2, 5'000'000},    {0x5, 30'000'000},
                                 {0x6, 130'000'000}, {0x9, 500'000'000}, {0xa, 2'000'000'000}};
constexpr uint32_t kTimeoutRanges = 0x7;  // A, B and C

constexpr uint64_t kBarSize[3] = {regs::bar0::kSize, regs::bar1::kSize, regs::bar2::kSize};

bool legal(unsigned offset, unsigned bytes) {
  return (bytes == 1 || bytes == 2 || bytes == 4) && offset % bytes == 0 && offset < 4096 && bytes <= 4096 - offset;
}

}  // namespace

ConfigSpace::ConfigSpace(const Link& link)
    : max_mps_code_(std::min(link.max_mps_code, kMaxCode)), cplh_(link.cplh), cpld_(link.cpld) {
  const auto vendor = static_cast<uint32_t>(regs::bar2::id::kVendor.reset);
  put(kVendorId, 2, vendor);
  put(kDeviceId, 2, static_cast<uint32_t>(regs::bar2::id::kDevice.reset));
  put(kCommand, 2, 0, kCommandWritable);
  put_status(kStatus, 2, 1 << 4, kStatusClearable);  // capability list
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
  put(kMsix + 2, 2, regs::bar2::kMsixCount - 1, kMsixEnable | kMsixFunctionMask);
  put(kMsix + 4, 4, regs::bar2::kMsixAddrLo | kMsixBir);
  put(kMsix + 8, 4, regs::bar2::kMsixPba | kMsixBir);

  const unsigned gen = std::clamp(link.gen, 1u, 6u);
  const unsigned lanes = link.lanes & 0x3f;
  put(kPcie, 4, 0x10 | 0x0002u << 16);                               // version 2, endpoint, last capability
  put(kDevCap, 4, max_mps_code_ | 1 << 5 | 1u << 15 | kFlrCapable);  // 8-bit tags, role-based error reporting
  put(kDevCtl, 2, kRelaxedEnable | 1 << 11 | 2 << 12, 0x79ff);       // no snoop, MRRS 512
  put_status(kDevSta, 2, 0, kCorrectableDetected | kNonFatalDetected | kFatalDetected | kUnsupportedDetected);
  set(kept_, kDevCtl, 2, 7 << 5);                // MPS
  put(kLinkCap, 4, gen | lanes << 4 | 1 << 22);  // ASPM optionality compliance
  put(kLinkCtl, 2, 0, 0x00cb);                   // ASPM control, RCB, common clock, extended synch
  set(kept_, kLinkCtl, 2, 0x00c3);
  put(kLinkSta, 2, gen | lanes << 4 | 1 << 12);  // slot clock
  put(kDevCap2, 4, kTimeoutRanges | kTimeoutDisable | kTag10Completer | kTag10Requester);
  put(kDevCtl2, 2, 0, 0xf | kTimeoutDisable | kIdoRequest | kTag10Enable);
  put(kLinkCap2, 4, ((1u << gen) - 1) << 1);  // all speeds up to gen
  put(kLinkCtl2, 2, gen, 0xf);
  set(kept_, kLinkCtl2, 2, 0xf);

  put(kAer, 4, kAerId | 2u << 16);  // version 2, last
  put_status(kUncStatus, 4, 0, kUncorrectable);
  put(kUncMask, 4, 0, kUncorrectable);
  put(kUncSeverity, 4, kFatalByDefault, kUncorrectable);
  put_status(kCorStatus, 4, 0, kCorrectable);
  put(kCorMask, 4, kAdvisory, kCorrectable);
  for (unsigned at = kUncStatus; at < kHeaderLog + 16; at += 4) set(kept_, at, 4, ~0u);  // sticky
  reset_ = bytes_;
}

void ConfigSpace::put(unsigned offset, unsigned bytes, uint32_t reset, uint32_t writable) {
  for (unsigned i = 0; i < bytes; ++i) {
    bytes_[offset + i] = static_cast<uint8_t>(reset >> 8 * i);
    mask_[offset + i] = static_cast<uint8_t>(writable >> 8 * i);
  }
}

/// Status bits: software clears them by writing 1.
void ConfigSpace::put_status(unsigned offset, unsigned bytes, uint32_t reset, uint32_t clearable) {
  put(offset, bytes, reset);
  set(clearable_, offset, bytes, clearable);
}

void ConfigSpace::set(Bytes& to, unsigned offset, unsigned bytes, uint32_t value) {
  for (unsigned i = 0; i < bytes; ++i) to[offset + i] = static_cast<uint8_t>(value >> 8 * i);
}

void ConfigSpace::raise(unsigned offset, unsigned bytes, uint32_t bits) {
  set(bytes_, offset, bytes, get(offset, bytes) | bits);
}

uint32_t ConfigSpace::get(unsigned offset, unsigned bytes) const {
  uint32_t value = 0;
  for (unsigned i = 0; i < bytes; ++i) value |= uint32_t{bytes_[offset + i]} << 8 * i;
  return value;
}

uint32_t ConfigSpace::read(unsigned offset, unsigned bytes) const {
  if (!legal(offset, bytes) || !present_) return ~0u;
  if (before_read) before_read();
  uint32_t value = get(offset, bytes);
  if (offset <= kDevSta && kDevSta < offset + bytes && transactions_pending && transactions_pending()) {
    value |= kTransactionsPending << 8 * (kDevSta - offset);
  }
  return value;
}

void ConfigSpace::write(unsigned offset, unsigned bytes, uint32_t value) {
  if (!legal(offset, bytes) || !present_) return;
  const auto before = settings().pack();
  const uint32_t msix = get(kMsix + 2, 2);
  if (before_read) before_read();
  const bool flr =
      offset <= kDevCtl + 1 && kDevCtl + 1 < offset + bytes && (value >> 8 * (kDevCtl + 1 - offset) & 0x80);
  const uint8_t power = bytes_[kPmcsr] & 3;
  for (unsigned i = 0; i < bytes; ++i) {
    const uint8_t mask = mask_[offset + i];
    const auto in = static_cast<uint8_t>(value >> 8 * i);
    bytes_[offset + i] = static_cast<uint8_t>((bytes_[offset + i] & ~mask) | (in & mask));
    bytes_[offset + i] = static_cast<uint8_t>(bytes_[offset + i] & ~(in & clearable_[offset + i]));
  }
  // D1 and D2 are not supported: such a write leaves the power state as it is.
  const uint8_t wanted = bytes_[kPmcsr] & 3;
  if (wanted == 1 || wanted == 2) bytes_[kPmcsr] = static_cast<uint8_t>((bytes_[kPmcsr] & ~3) | power);
  if (flr) reset_function();
  resetting_ = flr;
  if (on_change && (settings().pack() != before || get(kMsix + 2, 2) != msix)) on_change();
  if (flr && on_flr) on_flr();
  resetting_ = false;
}

void ConfigSpace::reset_function() {
  for (size_t i = 0; i < bytes_.size(); ++i) {
    bytes_[i] = static_cast<uint8_t>((bytes_[i] & kept_[i]) | (reset_[i] & ~kept_[i]));
  }
}

void ConfigSpace::set_present(bool present) {
  if (present == present_) return;
  present_ = present;
  const auto before = settings().pack();
  const uint32_t msix = get(kMsix + 2, 2);
  bytes_ = reset_;
  bdf_ = 0;
  if (on_change && (settings().pack() != before || get(kMsix + 2, 2) != msix)) on_change();
}

/// The standard's flow of error handling (6.2.5), without the message to the root complex.
void ConfigSpace::report(PcieError error, const std::array<uint32_t, 4>* header, bool non_posted) {
  if (!present_) return;
  const uint32_t b = bit(error);
  if (static_cast<unsigned>(error) & static_cast<unsigned>(PcieError::kCorrectable)) {
    raise(kCorStatus, 4, b);
    return raise(kDevSta, 2, kCorrectableDetected);
  }
  if (error == PcieError::kPoisoned) raise(kStatus, 2, kDetectedParity);
  if (error == PcieError::kCompleterAbort) raise(kStatus, 2, kSignaledTargetAbort);
  if (error == PcieError::kUnsupported) raise(kDevSta, 2, kUnsupportedDetected);
  const bool fatal = (get(kUncSeverity, 4) & b) != 0;
  // Role-based: errors that somebody else handles better, or that do no harm, are advisory (6.2.3.2.4).
  const bool answered = (error == PcieError::kUnsupported || error == PcieError::kCompleterAbort) && non_posted;
  const bool harmless = error == PcieError::kPoisoned || error == PcieError::kUnexpectedCpl;
  const bool advisory = !fatal && (answered || harmless);
  const bool masked = (get(kUncMask, 4) & b) != 0;
  if (advisory) {
    raise(kDevSta, 2, kCorrectableDetected);
    raise(kCorStatus, 4, kAdvisory);
    if (get(kCorMask, 4) & kAdvisory) return;
  } else {
    raise(kDevSta, 2, fatal ? kFatalDetected : kNonFatalDetected);
    const bool serr = (get(kCommand, 2) & kSerr) != 0;
    const bool enabled = serr || (get(kDevCtl, 2) & (fatal ? kFatalEnable : kNonFatalEnable));
    if (serr && enabled && !masked) raise(kStatus, 2, kSignaledSystemError);
  }
  // The first error pointer is valid as long as the bit it points to is set; so long the header log stays.
  const bool first = (get(kUncStatus, 4) >> (get(kAerControl, 4) & 0x1f) & 1) == 0;
  raise(kUncStatus, 4, b);
  if (masked || !first) return;
  set(bytes_, kAerControl, 4, static_cast<unsigned>(error));
  // Byte 0 of the TLP is the highest byte of the first register.
  for (unsigned i = 0; i < 4; ++i) set(bytes_, kHeaderLog + 4 * i, 4, header ? (*header)[i] : 0);
}

void ConfigSpace::received_abort(bool completer_abort) {
  if (present_) raise(kStatus, 2, completer_abort ? kReceivedTargetAbort : kReceivedMasterAbort);
}

void ConfigSpace::received_poisoned_completion(const std::array<uint32_t, 4>* header) {
  if (present_ && (get(kCommand, 2) & kParityResponse)) raise(kStatus, 2, kMasterDataParity);
  report(PcieError::kPoisoned, header);
}

uint32_t ConfigSpace::cpl_timeout_ns(unsigned code) {
  uint32_t usual = 0;
  for (const Timeout& t : kTimeouts) {
    if (t.code == code) return t.ns;
    if (t.code == 0) usual = t.ns;
  }
  return usual;  // a reserved value, or a range that the function has not: as 0
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
  const uint32_t control2 = get(kDevCtl2, 2);
  s.ro_en = (control & kRelaxedEnable) != 0;
  s.ido_en = (control2 & kIdoRequest) != 0;
  s.cplh = static_cast<uint8_t>(cplh_);
  s.cpld = static_cast<uint16_t>(cpld_);
  s.cpl_timeout = control2 & kTimeoutDisable ? 0 : cpl_timeout_ns(control2 & 0xf);
  s.requester_id = bdf_;
  return s;
}

bool ConfigSpace::msix_enabled() const { return get(kMsix + 2, 2) & kMsixEnable; }
bool ConfigSpace::msix_masked() const { return get(kMsix + 2, 2) & kMsixFunctionMask; }

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

unsigned find_capability(const ConfigSpace& config, unsigned id) {
  unsigned at = config.read(kCapPointer, 1) & 0xfc;
  for (unsigned n = 0; n < 48 && at >= 0x40; ++n) {  // a broken list ends, too
    if (config.read(at, 1) == id) return at;
    at = config.read(at + 1, 1) & 0xfc;
  }
  return 0;
}

unsigned find_extended_capability(const ConfigSpace& config, unsigned id) {
  unsigned at = 0x100;
  for (unsigned n = 0; n < 960 && at >= 0x100; ++n) {
    const uint32_t head = config.read(at, 4);
    if (head == 0 || head == ~0u) return 0;
    if ((head & 0xffff) == id) return at;
    at = head >> 20 & 0xffc;
  }
  return 0;
}

void initiate_flr(ConfigSpace& config) {
  const unsigned cap = find_capability(config, 0x10);
  if (cap == 0 || !(config.read(cap + 4, 4) & kFlrCapable)) throw SimError("the device has no function-level reset");
  config.write(cap + 8, 2, config.read(cap + 8, 2) | kInitiateFlr);
}

std::array<uint64_t, 3> enumerate(ConfigSpace& config, unsigned mps, unsigned mrrs, unsigned rcb, unsigned tag_bits,
                                  uint64_t cpl_timeout_ns) {
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
  // PCI Express capability: MPS, MRRS, 8-bit tags, relaxed ordering and error reporting in Device Control, RCB in Link
  // Control, 10-bit tags, ID-based ordering and completion timeout in Device Control 2
  const unsigned cap = find_capability(config, 0x10);
  if (cap == 0) throw SimError("the device has no PCI Express capability");
  config.write(cap + 8, 2, code(mrrs) << 12 | (tag_bits >= 8 ? 1u << 8 : 0) | code(mps) << 5 | kRelaxedEnable | 0xf);
  config.write(cap + 16, 2, rcb == 128 ? 1u << 3 : 0);
  const uint32_t can = config.read(cap + 0x24, 4);
  uint32_t control2 = kIdoRequest;
  if (tag_bits == 10 && (can & kTag10Requester)) control2 |= kTag10Enable;
  if (cpl_timeout_ns == 0) {
    if (can & kTimeoutDisable) control2 |= kTimeoutDisable;
  } else if (can & 0xf) {
    const auto* t = std::find_if(std::begin(kTimeouts), std::end(kTimeouts) - 1,
                                 [&](const Timeout& x) { return x.ns >= cpl_timeout_ns; });
    control2 |= t->code;
  }
  config.write(cap + 0x28, 2, control2);
  if (const unsigned aer = find_extended_capability(config, kAerId)) {
    config.write(aer + 0x14, 4, config.read(aer + 0x14, 4) & ~kAdvisory);
  }
  config.write(4, 2, kMemoryEnable | kBusMaster | kParityResponse);
  return bars;
}

}  // namespace rnic
