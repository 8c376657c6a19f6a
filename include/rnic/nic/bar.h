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
#include "rnic/pcie/tlp.h"
#include "rnic/rtl/ports.h"

namespace rnic {

/// Type 0 configuration space: identity, BAR sizing, command and status, PCI Express capability (MPS, MRRS, RCB, link
/// status), MSI-X capability. Accesses are of 1, 2 or 4 bytes, naturally aligned; others read as all ones and write
/// nothing.
class ConfigSpace {
 public:
  struct Link {
    unsigned gen, lanes;
    unsigned max_mps_code;  ///< largest payload supported: 0: 128 B .. 5: 4096 B
  };
  explicit ConfigSpace(const Link& link);
  uint32_t read(unsigned offset, unsigned bytes) const;
  void write(unsigned offset, unsigned bytes, uint32_t value);

  /// Settings for the RTL. requester_id is what the last write's bus number gave (set_bdf).
  rtl::pcie_cfg_t settings() const;
  void set_bdf(uint16_t bdf);
  bool memory_enabled() const;
  /// Base address of BAR 0, 1 or 2 (64-bit BARs in register pairs 0/1, 2/3, 4/5).
  uint64_t bar(unsigned n) const;
  static uint64_t bar_size(unsigned n);
  /// Called after each write that changes settings().
  std::function<void()> on_change;

 private:
  void put(unsigned offset, unsigned bytes, uint32_t reset, uint32_t writable = 0);
  uint32_t get(unsigned offset, unsigned bytes) const;
  bool powered() const;  ///< in D0

  std::array<uint8_t, 4096> bytes_{};
  std::array<uint8_t, 4096> mask_{};  ///< bits that software can write
  unsigned max_mps_code_;
  uint16_t bdf_ = 0;
};

/// What an enumerator does with a function: sizes and places its BARs, sets MPS, MRRS, RCB and the width of tags (5, 8
/// or 10 bits, as far as the function can), switches memory space and bus mastering on. Gives the BARs' bus addresses.
/// Throws SimError when nothing answers.
std::array<uint64_t, 3> enumerate(ConfigSpace& config, unsigned mps, unsigned mrrs, unsigned rcb, unsigned tag_bits);

/// What the decoder drives.
class BarClient {
 public:
  virtual ~BarClient() = default;
  virtual void doorbell(const rtl::doorbell_t& db) = 0;
  virtual void command(const rtl::cmd_t& cmd) = 0;
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
  /// Entries logged since the start (not only those still in the log).
  uint64_t errors_logged() const;
  void set_temperature(double celsius);

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
  bool write_registers(uint64_t offset, const pcie::Tlp& tlp);
  uint32_t read_register(uint32_t offset) const;
  void set_register(uint32_t offset, uint32_t value);
  void set_register64(uint32_t offset, uint64_t value);
  void add_log_entry(unsigned kind, const rtl::event_t& event, uint64_t now_ns, uint64_t address);
  uint64_t counter_value(size_t i) const;
  void clear_counters();
  void count_bits(uint32_t bits, const std::vector<int>& counter);

  ConfigSpace& config_;
  Memory& device_memory_;
  BarClient& client_;
  std::unordered_map<uint32_t, Dword> registers_;  ///< BAR2, by offset
  std::vector<uint64_t> counts_;                   ///< in the order of regs::kCounters
  std::vector<std::function<uint64_t()>> provided_;
  std::vector<uint64_t> provided_base_;  ///< value of a provided counter when the counters were last cleared
  std::vector<int> pulse_counter_;       ///< stat_t bit -> counter, -1: none
  std::vector<int> arp_counter_;         ///< the same of arp_stat_t
  size_t mmio_unsupported_, flush_errors_;
  uint64_t errors_logged_ = 0;
  uint32_t commands_ = 0;
};

}  // namespace rnic
