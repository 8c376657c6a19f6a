// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>

#include "rnic/core/error.h"
#include "rnic/nic/bar.h"
#include "rnic/regs/regs.h"

namespace rnic {
namespace {

namespace bar0 = regs::bar0;
namespace bar1 = regs::bar1;
namespace bar2 = regs::bar2;
namespace pkg = rtl::rnic_pkg;
namespace pcie_pkg = rtl::pcie_pkg;

constexpr unsigned kPage = 4096;               // no request crosses a multiple of it
constexpr unsigned kMaxRegisterRead = 64;      // BAR0, BAR2
constexpr unsigned kMaxMemoryRead = 128;       // BAR1: one CplD at any MPS
constexpr uint64_t kCommandPage = bar1::kCmd;  // 4 KiB of registers amid BAR1's memory
constexpr unsigned kFullDword = 0xf;
constexpr unsigned kLogEntries = bar2::kErrorLogCount;

uint32_t load32(const uint8_t* p) { return p[0] | p[1] << 8 | p[2] << 16 | uint32_t{p[3]} << 24; }

bool poisoned(const pcie::Tlp& tlp) { return tlp.hdr[0] >> 14 & 1; }

/// Requests that wait for a completion, memory reads aside: I/O, configuration, atomics, locked and deferrable ones.
bool other_non_posted(const pcie::Tlp& tlp) {
  const unsigned type = tlp.fmt_type() & 0x1f;
  switch (type) {
    case 0x00:  // a memory write with one of the reserved formats is none
      return false;
    case 0x01:  // locked read
    case 0x02:  // I/O
    case 0x04:  // configuration type 0
    case 0x05:  // configuration type 1
    case 0x0c:  // fetch and add
    case 0x0d:  // swap
    case 0x0e:  // compare and swap
    case 0x1b:  // deferrable write
      return true;
    default:
      return false;
  }
}

bool byte_enabled(const pcie::Tlp& tlp, unsigned dw, unsigned byte) {
  const unsigned last = tlp.length_dw() - 1;
  const unsigned be = dw == 0 ? tlp.first_be() : dw == last ? tlp.last_be() : kFullDword;
  return be >> byte & 1;
}

/// Every byte of every DW.
bool all_enabled(const pcie::Tlp& tlp) {
  return tlp.first_be() == kFullDword && (tlp.length_dw() == 1 || tlp.last_be() == kFullDword);
}

bool well_formed(const pcie::Tlp& tlp) {
  const unsigned dws = tlp.length_dw();
  if (tlp.address() % kPage + 4 * dws > kPage) return false;
  if (dws == 1 ? tlp.last_be() != 0 : tlp.first_be() == 0 || tlp.last_be() == 0) return false;
  return !tlp.has_data() || (tlp.data.size() == 4 * dws && !poisoned(tlp));
}

/// Steps that ibv_modify_qp takes, as the kernel's ib_modify_qp_is_ok has them; there is no SQD and no SQE.
bool leads_to(uint8_t from, uint8_t to) {
  switch (from) {
    case pkg::QpStReset:
      return to == pkg::QpStReset || to == pkg::QpStInit;
    case pkg::QpStInit:
      return to == pkg::QpStReset || to == pkg::QpStErr || to == pkg::QpStInit || to == pkg::QpStRtr;
    case pkg::QpStRtr:
      return to == pkg::QpStReset || to == pkg::QpStErr || to == pkg::QpStRts;
    case pkg::QpStRts:
      return to == pkg::QpStReset || to == pkg::QpStErr || to == pkg::QpStRts;
    case pkg::QpStErr:
      return to == pkg::QpStReset || to == pkg::QpStErr;
    default:  // a context with a state that does not exist
      return to == pkg::QpStReset || to == pkg::QpStErr;
  }
}

uint64_t context_at(uint32_t qpn) { return bar1::kQpc + uint64_t{qpn} * bar1::kQpcStride; }

size_t index_of(const std::string& counter) {
  for (size_t i = 0; i < regs::kNumCounters; ++i) {
    if (counter == regs::kCounters[i].name) return i;
  }
  throw SimError("no counter '" + counter + "' in the register map (docs/registers.md lists them)");
}

unsigned lowest(unsigned be) { return be & 1 ? 0 : be & 2 ? 1 : be & 4 ? 2 : 3; }
unsigned highest(unsigned be) { return be & 8 ? 3 : be & 4 ? 2 : be & 2 ? 1 : 0; }

/// Bytes from the first to the last enabled one; 1 for a zero-length read, as the standard says.
unsigned byte_count(const pcie::Tlp& tlp) {
  const unsigned dws = tlp.length_dw();
  if (tlp.first_be() == 0) return dws == 1 ? 1 : 4 * dws;
  if (dws == 1) return highest(tlp.first_be()) - lowest(tlp.first_be()) + 1;
  return 4 * dws - lowest(tlp.first_be()) - (3 - highest(tlp.last_be()));
}

unsigned lower_addr(const pcie::Tlp& tlp) {
  return (tlp.address() & 0x7c) | (tlp.first_be() ? lowest(tlp.first_be()) : 0);
}

}  // namespace

BarDecoder::BarDecoder(ConfigSpace& config, Memory& device_memory, BarClient& client)
    : config_(config),
      device_memory_(device_memory),
      client_(client),
      counts_(regs::kNumCounters),
      provided_(regs::kNumCounters),
      provided_base_(regs::kNumCounters),
      pulse_counter_(rtl::stat_t::kWidth, -1),
      arp_counter_(rtl::arp_stat_t::kWidth, -1),
      mmio_unsupported_(index_of("mmio_unsupported")),
      flush_errors_(index_of("req_cqe_flush_error")),
      flr_(index_of("flr")),
      cmd_qp_error_(index_of("cmd_qp_error")),
      mmio_disabled_(index_of("mmio_disabled")),
      cmd_refused_(index_of("cmd_refused")),
      qp_states_(bar1::kQpcCount) {
  // BAR2's behaviour comes from the register map: what can be read, what can be written, what stands there after reset.
  for (const auto& r : regs::kRegisters) {
    if (r.bar != 2) continue;
    std::vector<Dword> one(r.bits / 32);
    for (unsigned f = 0; f < r.num_fields; ++f) {
      const auto& field = r.fields[f];
      for (unsigned b = 0; b < field.width; ++b) {
        Dword& dw = one[(field.lsb + b) / 32];
        const uint32_t bit = 1u << (field.lsb + b) % 32;
        if (b < 64 && (field.reset >> b & 1)) dw.value |= bit;
        if (field.access != regs::Access::kWrite) dw.readable |= bit;
        if (field.access == regs::Access::kReadWrite) dw.writable |= bit;
      }
    }
    for (unsigned i = 0; i < r.count[0]; ++i) {
      for (unsigned j = 0; j < r.count[1]; ++j) {
        for (unsigned d = 0; d < one.size(); ++d) {
          registers_[r.offset + i * r.stride[0] + j * r.stride[1] + 4 * d] = one[d];
        }
      }
    }
  }
  for (const auto& [at, dw] : registers_) {
    if (dw.writable != 0) reset_[at] = dw.value;
  }
  for (size_t i = 0; i < regs::kNumCounters; ++i) {
    const auto& c = regs::kCounters[i];
    if (c.source == regs::CounterSource::kPulse) pulse_counter_[c.pulse] = static_cast<int>(i);
    if (c.source == regs::CounterSource::kArp) arp_counter_[c.pulse] = static_cast<int>(i);
  }
}

std::optional<pcie::Tlp> BarDecoder::request(const pcie::Tlp& tlp, uint64_t now_ns) {
  const bool read = tlp.is_mem_read();
  std::vector<uint8_t> data;
  bool served = false;
  if ((read || tlp.is_mem_write()) && well_formed(tlp) && config_.memory_enabled()) {
    const uint64_t addr = tlp.address();
    for (unsigned bar = 0; bar < 3; ++bar) {
      const uint64_t offset = addr - config_.bar(bar);  // wraps below the base
      if (offset >= ConfigSpace::bar_size(bar)) continue;
      data.resize(read ? 4 * tlp.length_dw() : 0);
      served = read ? serve_read(bar, offset, data) : serve_write(bar, offset, tlp);
      break;
    }
  }
  if (!served) {
    ++counts_[mmio_unsupported_];
    if (!config_.memory_enabled()) ++counts_[mmio_disabled_];
    const bool memory = read || tlp.is_mem_write();
    config_.report(tlp.has_data() && poisoned(tlp) ? PcieError::kPoisoned
                   : memory && !well_formed(tlp)   ? PcieError::kMalformed
                                                   : PcieError::kUnsupported,
                   &tlp.hdr, read || other_non_posted(tlp));
    rtl::event_t event;
    event.vendor = tlp.fmt_type();
    add_log_entry(static_cast<unsigned>(regs::EventKind::kMmio), event, now_ns, tlp.address());
  }
  const uint16_t completer = config_.settings().requester_id;
  if (read && served) {
    return pcie::make_completion(tlp, completer, pcie_pkg::StatusSc, byte_count(tlp), lower_addr(tlp), std::move(data));
  }
  if (read)
    return pcie::make_completion(tlp, completer, pcie_pkg::StatusUr, byte_count(tlp) & 0xfff, lower_addr(tlp), {});
  if (other_non_posted(tlp)) return pcie::make_completion(tlp, completer, pcie_pkg::StatusUr, 4, 0, {});
  return std::nullopt;
}

bool BarDecoder::serve_read(unsigned bar, uint64_t offset, std::vector<uint8_t>& data) const {
  if (data.size() > (bar == 1 ? kMaxMemoryRead : kMaxRegisterRead)) return false;
  if (bar == 0) return true;  // zeros
  if (bar == 1 && offset / kPage != kCommandPage / kPage) {
    client_.device_memory_access(offset, static_cast<unsigned>(data.size()), false);
    return device_memory_.read(offset, data.data(), data.size());
  }
  for (unsigned i = 0; i < data.size(); i += 4) {
    const auto at = static_cast<uint32_t>(offset) + i;
    const uint32_t value = bar == 2                 ? read_register(at)
                           : at == bar1::kCmdStatus ? commands_
                           : at == bar1::kCmdResult ? cmd_result_
                                                    : 0;
    for (unsigned b = 0; b < 4; ++b) data[i + b] = static_cast<uint8_t>(value >> 8 * b);
  }
  return true;
}

bool BarDecoder::serve_write(unsigned bar, uint64_t offset, const pcie::Tlp& tlp) {
  if (bar == 0) return write_doorbell(offset, tlp);
  if (bar == 2) return write_registers(offset, tlp);
  return offset / kPage == kCommandPage / kPage ? write_command(offset, tlp) : write_device_memory(offset, tlp);
}

bool BarDecoder::write_doorbell(uint64_t offset, const pcie::Tlp& tlp) {
  if (!all_enabled(tlp)) return false;
  rtl::doorbell_t db;
  db.qpn = static_cast<uint16_t>(offset / bar0::kPageStride);
  const auto reg = static_cast<uint32_t>(offset % bar0::kPageStride);
  if (reg >= bar0::kPageBf) {
    if (tlp.data.size() != bar0::kPageBfStride || reg % bar0::kPageBfStride != 0) return false;
    db.kind = pkg::DbBf;
    db.piece = (reg - bar0::kPageBf) / bar0::kPageBfStride != 0;
    for (unsigned i = 0; i < db.data.size(); ++i) db.data[i] = load32(&tlp.data[4 * i]);
  } else {
    if (tlp.data.size() > 8) return false;
    uint32_t mask = 0;
    switch (reg) {
      case bar0::kPageSqDb:
        db.kind = pkg::DbSq;
        mask = bar0::page_sq_db::kPi.mask();
        break;
      case bar0::kPageRqDb:
        db.kind = pkg::DbRq;
        mask = bar0::page_rq_db::kPi.mask();
        break;
      case bar0::kPageCqCi:
        db.kind = pkg::DbCqCi;
        mask = bar0::page_cq_ci::kCi.mask();
        break;
      case bar0::kPageCqArm:
        db.kind = pkg::DbCqArm;
        mask = bar0::page_cq_arm::kCi.mask() | bar0::page_cq_arm::kSolicitedOnly.mask();
        break;
      default:
        return false;
    }
    db.value = load32(tlp.data.data()) & mask;
  }
  client_.doorbell(db);
  return true;
}

bool BarDecoder::write_device_memory(uint64_t offset, const pcie::Tlp& tlp) {
  // The bytes between the first and the last DW in one piece, those at the ends by their enables.
  const unsigned dws = tlp.length_dw();
  const bool all = all_enabled(tlp);
  if (all || dws > 1 || tlp.first_be() != 0) {
    const unsigned begin = lowest(tlp.first_be()), end = all || dws > 1 ? 4 * dws : highest(tlp.first_be()) + 1;
    client_.device_memory_access(offset + begin, end - begin - (dws > 1 ? 3 - highest(tlp.last_be()) : 0), true);
  }
  bool ok = true;
  for (unsigned dw = 0; dw < dws; dw += dw == 0 && dws > 1 ? dws - 1 : 1) {
    for (unsigned b = 0; b < 4; ++b) {
      if (byte_enabled(tlp, dw, b)) ok &= device_memory_.write(offset + 4 * dw + b, &tlp.data[4 * dw + b], 1);
    }
  }
  if (dws > 2) ok &= device_memory_.write(offset + 4, &tlp.data[4], 4 * uint64_t{dws - 2});
  return ok;
}

bool BarDecoder::write_command(uint64_t offset, const pcie::Tlp& tlp) {
  if (offset != bar1::kCmd || tlp.length_dw() != 1 || !all_enabled(tlp)) return false;
  const uint64_t value = load32(tlp.data.data());
  rtl::cmd_t cmd;
  cmd.op = static_cast<uint8_t>(bar1::cmd::kOp.get(value));
  cmd.index = static_cast<uint32_t>(bar1::cmd::kIndex.get(value));
  const regs::CmdResult result = check_command(cmd);
  const uint64_t issued = bar1::cmd_result::kCount.get(cmd_result_) + 1;
  uint64_t reg = bar1::cmd_result::kResult.set(uint64_t{0}, static_cast<uint64_t>(result));
  reg = bar1::cmd_result::kOp.set(reg, cmd.op);
  cmd_result_ = static_cast<uint32_t>(bar1::cmd_result::kCount.set(reg, issued));
  if (result != regs::CmdResult::kOk) {
    ++counts_[cmd_refused_];
    unknown_commands_ += result != regs::CmdResult::kBadState;
    return result == regs::CmdResult::kBadState;
  }
  ++commands_;
  if (cmd.op == pkg::CmdQp2Err) ++counts_[cmd_qp_error_];
  client_.command(cmd);
  return true;
}

regs::CmdResult BarDecoder::check_command(const rtl::cmd_t& cmd) {
  uint32_t limit = 0;
  switch (cmd.op) {
    case pkg::CmdQpCreate:
    case pkg::CmdQpModify:
    case pkg::CmdQp2Err:
    case pkg::CmdQpQuery:
      limit = bar1::kQpcCount;
      break;
    case pkg::CmdCqModify:
    case pkg::CmdCqQuery:
      limit = bar1::kCqcCount;
      break;
    case pkg::CmdMkeyModify:
      limit = bar1::kMptCount;
      break;
    default:
      return regs::CmdResult::kBadOp;
  }
  if (cmd.index >= limit) return regs::CmdResult::kBadIndex;
  if (cmd.op == pkg::CmdQpCreate || cmd.op == pkg::CmdQpModify) {
    return change_state(cmd.index, cmd.op == pkg::CmdQpCreate);
  }
  if (cmd.op == pkg::CmdQp2Err) {
    if (!leads_to(qp_states_[cmd.index], pkg::QpStErr)) return regs::CmdResult::kBadState;
    qp_states_[cmd.index] = pkg::QpStErr;
  }
  return regs::CmdResult::kOk;
}

/// To the state in the QP's context. When that is refused the context gets its state back: the NIC reads contexts when
/// it needs them, and must not find this one.
regs::CmdResult BarDecoder::change_state(uint32_t qpn, bool by_reset) {
  uint8_t low = 0;
  device_memory_.read(context_at(qpn), &low, 1);
  const auto to = static_cast<uint8_t>(low & bar1::qpc::kState.mask());
  if (by_reset || leads_to(qp_states_[qpn], to)) {
    qp_states_[qpn] = to;
    return regs::CmdResult::kOk;
  }
  write_state(qpn);
  return regs::CmdResult::kBadState;
}

/// The state that the QP has, into its context.
void BarDecoder::write_state(uint32_t qpn) {
  uint8_t low = 0;
  device_memory_.read(context_at(qpn), &low, 1);
  low = static_cast<uint8_t>((low & ~bar1::qpc::kState.mask()) | qp_states_[qpn]);
  device_memory_.write(context_at(qpn), &low, 1);
}

bool BarDecoder::write_registers(uint64_t offset, const pcie::Tlp& tlp) {
  if (tlp.data.size() > 8) return false;
  for (unsigned dw = 0; dw < tlp.length_dw(); ++dw) {
    const auto at = static_cast<uint32_t>(offset) + 4 * dw;
    uint32_t enabled = 0;
    for (unsigned b = 0; b < 4; ++b) enabled |= byte_enabled(tlp, dw, b) ? 0xffu << 8 * b : 0;
    const uint32_t value = load32(&tlp.data[4 * dw]) & enabled;
    if (at == bar2::kCounterCtrl && bar2::counter_ctrl::kClear.get(uint64_t{value})) clear_counters();
    const auto it = registers_.find(at);
    if (it == registers_.end()) continue;
    Dword& r = it->second;
    r.value = (r.value & ~(r.writable & enabled)) | (value & r.writable);
    const uint32_t entry = at - bar2::kMsixAddrLo;  // wraps below the table
    if (enabled != 0 && entry < bar2::kMsixCount * bar2::kMsixStride) {
      client_.msix_table(entry / bar2::kMsixStride, entry % bar2::kMsixStride / 4, r.value);
    }
    const uint32_t window = at - bar2::kWindowBase;
    if (enabled != 0 && window < bar2::kWindowCount * bar2::kWindowStride &&
        at % bar2::kWindowStride == bar2::kWindowCtrl % bar2::kWindowStride) {
      commit_window(window / bar2::kWindowStride);
    }
  }
  return true;
}

void BarDecoder::commit_window(unsigned index) {
  const auto value = [&](uint32_t offset) {
    const uint32_t at = offset + index * bar2::kWindowStride;
    return registers_.at(at).value | uint64_t{registers_.count(at + 4) ? registers_.at(at + 4).value : 0} << 32;
  };
  const uint64_t ctrl = registers_.at(bar2::kWindowCtrl + index * bar2::kWindowStride).value;
  rtl::window_t w;
  w.base = value(bar2::kWindowBase);
  w.size = value(bar2::kWindowSize);
  w.gpu = value(bar2::kWindowGpu);
  w.read = bar2::window_ctrl::kRead.get(ctrl) != 0;
  w.write = bar2::window_ctrl::kWrite.get(ctrl) != 0;
  w.valid = bar2::window_ctrl::kValid.get(ctrl) != 0;
  client_.window(index, w);
}

uint32_t BarDecoder::read_register(uint32_t offset) const {
  if (offset >= regs::kCounterBase && offset < regs::kCounterBase + 8 * regs::kNumCounters) {
    return static_cast<uint32_t>(counter_value((offset - regs::kCounterBase) / 8) >> (offset % 8 ? 32 : 0));
  }
  if (offset == bar2::kMsixPba) return static_cast<uint32_t>(client_.msix_pending());
  if (offset == bar2::kMsixPba + 4) return static_cast<uint32_t>(client_.msix_pending() >> 32);
  if (offset == bar2::kWindowState) return client_.windows_busy();
  const auto it = registers_.find(offset);
  return it == registers_.end() ? 0 : it->second.value & it->second.readable;
}

void BarDecoder::set_register(uint32_t offset, uint32_t value) { registers_.at(offset).value = value; }

void BarDecoder::set_register64(uint32_t offset, uint64_t value) {
  set_register(offset, static_cast<uint32_t>(value));
  set_register(offset + 4, static_cast<uint32_t>(value >> 32));
}

void BarDecoder::count(const rtl::stat_t& pulses) { count_bits(pulses.pack()[0], pulse_counter_); }
void BarDecoder::count_arp(const rtl::arp_stat_t& pulses) { count_bits(pulses.pack()[0], arp_counter_); }

void BarDecoder::count_bits(uint32_t bits, const std::vector<int>& counter) {
  for (unsigned i = 0; bits != 0; ++i, bits >>= 1) {
    if ((bits & 1) && counter[i] >= 0) ++counts_[static_cast<size_t>(counter[i])];
  }
}

void BarDecoder::set_arp_levels(unsigned slots_used, unsigned slots_done, bool busy) {
  const uint64_t slots = bar2::arp_slots::kUsed.set(uint64_t{0}, slots_used);
  set_register(bar2::kArpSlots, static_cast<uint32_t>(bar2::arp_slots::kDone.set(slots, slots_done)));
  set_register(bar2::kArpState, busy);
}

void BarDecoder::add_log_entry(unsigned kind, const rtl::event_t& event, uint64_t now_ns, uint64_t address) {
  const auto at = static_cast<uint32_t>(errors_logged_ % kLogEntries) * bar2::kErrorLogStride;
  uint64_t wqe = bar2::error_log_wqe::kWqe.set(uint64_t{0}, event.wqe);
  wqe = bar2::error_log_wqe::kSyndrome.set(wqe, event.syndrome);
  wqe = bar2::error_log_wqe::kVendor.set(wqe, event.vendor);
  set_register(bar2::kErrorLogKind + at, kind);
  set_register(bar2::kErrorLogIndex + at, event.index);
  set_register(bar2::kErrorLogWqe + at, static_cast<uint32_t>(wqe));
  set_register64(bar2::kErrorLogTime + at, now_ns);
  set_register64(bar2::kErrorLogAddress + at, address);
  ++errors_logged_;
  set_register(bar2::kLogHead, static_cast<uint32_t>(errors_logged_ % kLogEntries));
  set_register(bar2::kLogCount, static_cast<uint32_t>(errors_logged_));
}

std::vector<BarDecoder::LogEntry> BarDecoder::error_log() const {
  std::vector<LogEntry> all;
  const auto read = [this](uint32_t at) { return registers_.at(at).value; };
  for (uint64_t n = errors_logged_ - std::min<uint64_t>(errors_logged_, kLogEntries); n < errors_logged_; ++n) {
    const auto at = static_cast<uint32_t>(n % kLogEntries) * bar2::kErrorLogStride;
    const uint64_t wqe = read(bar2::kErrorLogWqe + at);
    const auto wide = [&](uint32_t reg) { return read(reg + at) | uint64_t{read(reg + at + 4)} << 32; };
    all.push_back({static_cast<regs::EventKind>(read(bar2::kErrorLogKind + at)), read(bar2::kErrorLogIndex + at),
                   static_cast<uint16_t>(bar2::error_log_wqe::kWqe.get(wqe)),
                   static_cast<uint8_t>(bar2::error_log_wqe::kSyndrome.get(wqe)),
                   static_cast<uint8_t>(bar2::error_log_wqe::kVendor.get(wqe)), wide(bar2::kErrorLogTime),
                   wide(bar2::kErrorLogAddress)});
  }
  return all;
}

/// Why an error CQE was written, or a CQE lost: each reason has its counter, since the log forgets.
void BarDecoder::count_error(const rtl::event_t& event) {
  static const std::map<unsigned, size_t> kByVendor{{pkg::VenOpcode, index_of("wqe_opcode_error")},
                                                    {pkg::VenWqeSize, index_of("wqe_size_error")},
                                                    {pkg::VenWqeQpn, index_of("wqe_qpn_error")},
                                                    {pkg::VenLength, index_of("wqe_length_error")},
                                                    {pkg::VenKey, index_of("mr_key_error")},
                                                    {pkg::VenBounds, index_of("mr_bounds_error")},
                                                    {pkg::VenPd, index_of("mr_pd_error")},
                                                    {pkg::VenRights, index_of("mr_rights_error")},
                                                    {pkg::VenDma + pkg::DmaNoMaster, index_of("dma_no_master_error")},
                                                    {pkg::VenDma + pkg::DmaMalformed, index_of("dma_too_long_error")}};
  static const size_t kSqBounds = index_of("sq_bounds_error"), kCqInvalid = index_of("cq_invalid");
  if (event.kind == pkg::EvtCqInvalid) ++counts_[kCqInvalid];
  if (event.kind != pkg::EvtWqeError) return;
  if (event.syndrome == pkg::SynFlushed) {
    ++counts_[flush_errors_];
  } else if (event.syndrome == pkg::SynLocalQpOp && event.vendor == pkg::VenBounds) {
    ++counts_[kSqBounds];  // no region is looked at for a ring in device memory
  } else if (const auto it = kByVendor.find(event.vendor); it != kByVendor.end()) {
    ++counts_[it->second];
  }
}

void BarDecoder::log(const rtl::event_t& event, uint64_t now_ns) {
  add_log_entry(event.kind, event, now_ns, 0);
  count_error(event);
  // The NIC has put the QP into error itself.
  if (event.kind == pkg::EvtWqeError && event.index < qp_states_.size() && qp_states_[event.index] == pkg::QpStRts) {
    qp_states_[event.index] = pkg::QpStErr;
  }
  const bool fatal = event.kind == pkg::EvtCqOverrun || event.kind == pkg::EvtCqInvalid;
  fatal ? health_.lost(now_ns) : health_.error(now_ns);
  show_health();
  if (!fatal) return;
  uint64_t what = bar2::fatal::kKind.set(uint64_t{0}, event.kind);
  what = bar2::fatal::kSyndrome.set(what, event.syndrome);
  what = bar2::fatal::kVendor.set(what, event.vendor);
  set_register(bar2::kFatal, static_cast<uint32_t>(what));
  set_register(bar2::kFatalIndex, event.index);
  set_register64(bar2::kFatalTime, now_ns);
}

void BarDecoder::provide(const std::string& counter, std::function<uint64_t()> value) {
  const size_t i = index_of(counter);
  provided_[i] = std::move(value);
  provided_base_[i] = 0;
}

uint64_t BarDecoder::counter_value(size_t i) const {
  return provided_[i] ? provided_[i]() - provided_base_[i] : counts_[i];
}

void BarDecoder::clear_counters() {
  for (size_t i = 0; i < regs::kNumCounters; ++i) {
    counts_[i] = 0;
    if (provided_[i]) provided_base_[i] = provided_[i]();
  }
}

uint64_t BarDecoder::counter(const std::string& name) const { return counter_value(index_of(name)); }

std::vector<std::pair<std::string, uint64_t>> BarDecoder::counters() const {
  std::vector<std::pair<std::string, uint64_t>> all;
  for (size_t i = 0; i < regs::kNumCounters; ++i) all.emplace_back(regs::kCounters[i].name, counter_value(i));
  return all;
}

uint64_t BarDecoder::errors_logged() const { return errors_logged_; }

void BarDecoder::reset(uint64_t now_ns) {
  for (const auto& [at, value] : reset_) set_register(at, value);
  commands_ = 0;
  cmd_result_ = 0;
  for (uint32_t qpn = 0; qpn < qp_states_.size(); ++qpn) {
    if (qp_states_[qpn] == pkg::QpStReset) continue;
    qp_states_[qpn] = pkg::QpStReset;
    write_state(qpn);
  }
  health_.down(now_ns);
  show_health();
}

void BarDecoder::function_level_reset(uint64_t now_ns) {
  ++counts_[flr_];
  reset(now_ns);
}

void BarDecoder::power_off(uint64_t now_ns) {
  ++counts_[index_of("surprise_down")];
  reset(now_ns);
}

void BarDecoder::up(uint64_t now_ns) {
  health_.up(now_ns);
  show_health();
}

// ---- Health ----

namespace {

/// As registers hold it.
uint16_t tenths_of(double celsius) {
  return static_cast<uint16_t>(static_cast<int16_t>(std::clamp(std::round(celsius * 10), -32768.0, 32767.0)));
}

}  // namespace

void BarDecoder::show_health() {
  set_register(bar2::kHealth, static_cast<uint32_t>(health_.state()));
  set_register(bar2::kHealthCause, health_.causes());
  set_register(bar2::kHealthChanges, static_cast<uint32_t>(health_.changes()));
}

void BarDecoder::set_thermal_limits(const ThermalLimits& limits) {
  health_.set_limits(limits);
  const uint64_t value = bar2::temperature_limits::kWarning.set(uint64_t{0}, tenths_of(limits.warning));
  set_register(bar2::kTemperatureLimits,
               static_cast<uint32_t>(bar2::temperature_limits::kCritical.set(value, tenths_of(limits.critical))));
}

void BarDecoder::set_temperature(double celsius, uint64_t now_ns) {
  if (std::isnan(celsius)) return;
  set_register(bar2::kTemperature, tenths_of(celsius));
  for (const auto crossing : health_.temperature(celsius, now_ns)) {
    if (crossing == Health::Crossing::kWarning) ++counts_[index_of("temp_warning_events")];
    if (crossing == Health::Crossing::kCritical) ++counts_[index_of("temp_critical_events")];
    rtl::event_t event;
    event.index = tenths_of(celsius);
    event.vendor = static_cast<uint8_t>(crossing);
    add_log_entry(static_cast<unsigned>(regs::EventKind::kThermal), event, now_ns, 0);
  }
  show_health();
}

}  // namespace rnic
