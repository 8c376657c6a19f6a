// SPDX-License-Identifier: Apache-2.0
// BAR decoder: what the NIC does with a memory request from PCIe. Doorbells and commands go on to the RTL, contexts and
// rings to device memory, health, counters and windows are registers here.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rnic/mem/memory.h"
#include "rnic/nic/health.h"
#include "rnic/pcie/tlp.h"
#include "rnic/regs/regs.h"
#include "rnic/rtl/ports.h"

namespace rnic {

/// Errors that a function detects, by their bit in the AER status registers (PCI Express 4.0, 7.8.4); kCorrectable more
/// for those of the Correctable Error Status register.
enum class PcieError : uint8_t {
  kDataLink = 4,  ///< data link protocol error
  kPoisoned = 12,
  kCplTimeout = 14,
  kCompleterAbort = 15,  ///< by this function as the completer
  kUnexpectedCpl = 16,
  kMalformed = 18,
  kUnsupported = 20,  ///< a request that this function does not take
  kCorrectable = 0x80,
  kBadTlp = kCorrectable | 6,
  kBadDllp = kCorrectable | 7,
  kReplayRollover = kCorrectable | 8,
  kReplayTimeout = kCorrectable | 12,
};

/// Type 0 configuration space: identity, BAR sizing, command and status, PCI Express capability (MPS, MRRS, RCB,
/// completion timeout, function-level reset, link status), MSI-X capability, Advanced Error Reporting. Accesses are of
/// 1, 2 or 4 bytes, naturally aligned; others read as all ones and write nothing. A function that is not there
/// (set_present) reads as all ones.
class ConfigSpace {
 public:
  struct Link {
    unsigned gen, lanes;
    unsigned max_mps_code;        ///< largest payload supported: 0: 128 B .. 5: 4096 B
    unsigned cplh = 0, cpld = 0;  ///< receive buffer for completions: headers, data in 16 B; 0: no limit
  };
  explicit ConfigSpace(const Link& link);
  uint32_t read(unsigned offset, unsigned bytes) const;
  void write(unsigned offset, unsigned bytes, uint32_t value);

  // ---- Error reporting (6.2) ----
  /// Enters an error into AER, Device Status and Status. `header`: of the TLP to blame, null when there is none (then
  /// the header log becomes 0). `non_posted`: the TLP was a request that is answered.
  void report(PcieError error, const std::array<uint32_t, 4>* header = nullptr, bool non_posted = false);
  /// A read was answered with UR or CA: Received Master Abort or Received Target Abort in Status. No AER bit: those
  /// belong to the completer.
  void received_abort(bool completer_abort);
  /// A completion with poisoned data: Master Data Parity Error where enabled, beside what report() does.
  void received_poisoned_completion(const std::array<uint32_t, 4>* header);
  /// Device Status, Transactions Pending: what is read there.
  std::function<bool()> transactions_pending;
  /// Called before each read of a register: whoever has something to report does so.
  std::function<void()> before_read;

  // ---- Resets ----
  /// Software has written Initiate Function Level Reset. The space is back to its reset values by then, but for sticky
  /// bits (AER, target link speed), MPS, ASPM, common clock and extended synch (6.6.2), and the bus number.
  std::function<void()> on_flr;
  /// Inside such a write.
  bool resetting() const { return resetting_; }
  /// Removed, or plugged in with all registers at their reset values.
  void set_present(bool present);
  bool present() const { return present_; }

  /// Settings for the RTL. requester_id is what the last write's bus number gave (set_bdf).
  rtl::pcie_cfg_t settings() const;
  void set_bdf(uint16_t bdf);
  /// MSI-X Enable and Function Mask.
  bool msix_enabled() const;
  bool msix_masked() const;
  bool memory_enabled() const;
  /// Base address of BAR 0, 1 or 2 (64-bit BARs in register pairs 0/1, 2/3, 4/5).
  uint64_t bar(unsigned n) const;
  static uint64_t bar_size(unsigned n);
  /// Time in ns that a completion may take, for a value of the field in Device Control 2: one inside its range.
  static uint32_t cpl_timeout_ns(unsigned code);
  /// Called after each write that changes settings() or MSI-X control.
  std::function<void()> on_change;

 private:
  using Bytes = std::array<uint8_t, 4096>;
  void put(unsigned offset, unsigned bytes, uint32_t reset, uint32_t writable = 0);
  void put_status(unsigned offset, unsigned bytes, uint32_t reset, uint32_t clearable);
  static void set(Bytes& to, unsigned offset, unsigned bytes, uint32_t value);
  uint32_t get(unsigned offset, unsigned bytes) const;
  void raise(unsigned offset, unsigned bytes, uint32_t bits);
  void reset_function();
  bool powered() const;  ///< in D0

  Bytes bytes_{};
  Bytes reset_{};
  Bytes mask_{};       ///< bits that software can write
  Bytes clearable_{};  ///< bits that software clears by writing 1
  Bytes kept_{};       ///< bits that a function-level reset leaves
  bool present_ = true, resetting_ = false;
  unsigned max_mps_code_;
  unsigned cplh_, cpld_;
  uint16_t bdf_ = 0;
};

/// What an enumerator does with a function: sizes and places its BARs, sets MPS, MRRS, RCB, the width of tags (5, 8 or
/// 10 bits, as far as the function can) and the shortest completion timeout that is not below `cpl_timeout_ns` (0:
/// none; beyond the longest: that one), allows relaxed and ID-based ordering, reports errors, advisory ones included,
/// switches memory space and bus mastering on. Gives the BARs' bus addresses. Throws SimError when nothing answers.
std::array<uint64_t, 3> enumerate(ConfigSpace& config, unsigned mps, unsigned mrrs, unsigned rcb, unsigned tag_bits,
                                  uint64_t cpl_timeout_ns = 1'000'000);
/// Offset of a capability, of an extended one (from 0x100 on); 0: the function has none.
unsigned find_capability(const ConfigSpace& config, unsigned id);
unsigned find_extended_capability(const ConfigSpace& config, unsigned id);
/// Sets Initiate Function Level Reset, if the function can do it (SimError otherwise).
void initiate_flr(ConfigSpace& config);

/// What the decoder drives.
class BarClient {
 public:
  virtual ~BarClient() = default;
  virtual void doorbell(const rtl::doorbell_t& db) = 0;
  virtual void command(const rtl::cmd_t& cmd) = 0;
  /// 32 bits of the MSI-X table have been written: register 0..3 of a vector's entry, with its value now.
  virtual void msix_table(unsigned vector, unsigned reg, uint32_t value) { (void)vector, (void)reg, (void)value; }
  /// Pending bits.
  virtual uint64_t msix_pending() const { return 0; }
  /// A GPUDirect window is this from now on.
  virtual void window(unsigned index, const rtl::window_t& window) { (void)index, (void)window; }
  /// Reads are under way that were let through before a window changed the last time.
  virtual bool windows_busy() const { return false; }
  /// A request through BAR1 reads or writes these bytes of device memory now.
  virtual void device_memory_access(uint64_t offset, unsigned bytes, bool write) {
    (void)offset, (void)bytes, (void)write;
  }
};

class BarDecoder {
 public:
  BarDecoder(ConfigSpace& config, Memory& device_memory, BarClient& client);

  /// A memory write or read request whose last byte has arrived. Returns the completion for a read (UR status when the
  /// request cannot be served), nothing for a write. Any address, length and byte enables are safe: what cannot be
  /// served is dropped, counted (mmio_unsupported) and logged.
  std::optional<pcie::Tlp> request(const pcie::Tlp& tlp, uint64_t now_ns);

  /// Counts the RTL's pulses (bits as in stat_t).
  void count(const rtl::stat_t& pulses);
  /// The same of the AllReduce engine's pulses, and its levels.
  void count_arp(const rtl::arp_stat_t& pulses);
  void set_arp_levels(unsigned slots_used, unsigned slots_done, bool busy);
  /// Puts an entry into BAR2's error log (oldest are overwritten) and updates the health registers.
  void log(const rtl::event_t& event, uint64_t now_ns);
  /// Counters that live elsewhere (MAC), read through on demand: name as in the register map.
  void provide(const std::string& counter, std::function<uint64_t()> value);
  /// Value by the name of ethtool -S / hw_counters; throws SimError for an unknown one.
  uint64_t counter(const std::string& name) const;
  std::vector<std::pair<std::string, uint64_t>> counters() const;
  /// Requests in mmio_unsupported that were commands: no such operation or index.
  uint64_t unknown_commands() const { return unknown_commands_; }
  /// Entries logged since the start (not only those still in the log).
  uint64_t errors_logged() const;
  /// The latest 16 of them, oldest first.
  struct LogEntry {
    regs::EventKind kind;
    uint32_t index;
    uint16_t wqe;
    uint8_t syndrome, vendor;
    uint64_t ns, address;
  };
  std::vector<LogEntry> error_log() const;

  const Health& health() const { return health_; }
  /// From the profile; see ThermalLimits.
  void set_thermal_limits(const ThermalLimits& limits);
  /// Degrees Celsius; NaN changes nothing, and what the register cannot hold is the nearest that it can.
  void set_temperature(double celsius, uint64_t now_ns = 0);

  /// A function-level reset: registers at their reset values but counters, error log and the record of the last fatal
  /// error. The health is Down until up().
  void function_level_reset(uint64_t now_ns);
  /// The same for power that is taken away.
  void power_off(uint64_t now_ns);
  void up(uint64_t now_ns);

 private:
  /// 32 bits of BAR2 as the register map describes them.
  struct Dword {
    uint32_t value, writable, readable;
  };

  bool serve_write(unsigned bar, uint64_t offset, const pcie::Tlp& tlp);
  bool serve_read(unsigned bar, uint64_t offset, std::vector<uint8_t>& data) const;
  bool write_doorbell(uint64_t offset, const pcie::Tlp& tlp);
  bool write_device_memory(uint64_t offset, const pcie::Tlp& tlp);
  bool write_command(uint64_t offset, const pcie::Tlp& tlp);
  regs::CmdResult check_command(const rtl::cmd_t& cmd);
  regs::CmdResult change_state(uint32_t qpn, bool by_reset);
  void write_state(uint32_t qpn);
  bool write_registers(uint64_t offset, const pcie::Tlp& tlp);
  void commit_window(unsigned index);
  uint32_t read_register(uint32_t offset) const;
  void set_register(uint32_t offset, uint32_t value);
  void set_register64(uint32_t offset, uint64_t value);
  void reset(uint64_t now_ns);
  void show_health();
  void count_error(const rtl::event_t& event);
  void add_log_entry(unsigned kind, const rtl::event_t& event, uint64_t now_ns, uint64_t address);
  uint64_t counter_value(size_t i) const;
  void clear_counters();
  void count_bits(uint32_t bits, const std::vector<int>& counter);

  ConfigSpace& config_;
  Memory& device_memory_;
  BarClient& client_;
  std::unordered_map<uint32_t, Dword> registers_;  ///< BAR2, by offset
  std::unordered_map<uint32_t, uint32_t> reset_;   ///< of those that software can write
  std::vector<uint64_t> counts_;                   ///< in the order of regs::kCounters
  std::vector<std::function<uint64_t()>> provided_;
  std::vector<uint64_t> provided_base_;  ///< value of a provided counter when the counters were last cleared
  std::vector<int> pulse_counter_;       ///< stat_t bit -> counter, -1: none
  std::vector<int> arp_counter_;         ///< the same of arp_stat_t
  Health health_;
  size_t mmio_unsupported_, flush_errors_, flr_, cmd_qp_error_, mmio_disabled_, cmd_refused_;
  uint64_t errors_logged_ = 0, unknown_commands_ = 0;
  uint32_t commands_ = 0;
  uint32_t cmd_result_ = 0;         ///< the register
  std::vector<uint8_t> qp_states_;  ///< of each QP as its latest command left it
};

}  // namespace rnic
