// SPDX-License-Identifier: Apache-2.0
// A recorded stimulus: the inputs of rnic_top at every edge, for running the bare Verilated model over them again.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <type_traits>
#include <vector>

namespace rnic {

/// Passes every input that the NIC's owner drives to `visit`, in a fixed order; wide ones only while they are valid.
/// `visit(port)` returns the port's value (for one-bit ports).
template <class Top, class Visit>
void visit_inputs(Top& top, Visit&& visit) {
  visit(top.rst_ni);
  visit(top.flr_i);
  visit(top.cycle_i);
  visit(top.now_i);
  if (visit(top.db_valid_i)) visit(top.db_i);
  if (visit(top.cmd_valid_i)) visit(top.cmd_i);
  if (visit(top.msix_we_i)) {
    visit(top.msix_idx_i);
    visit(top.msix_reg_i);
    visit(top.msix_wdata_i);
  }
  if (visit(top.win_we_i)) {
    visit(top.win_idx_i);
    visit(top.win_i);
  }
  visit(top.msix_en_i);
  visit(top.msix_mask_i);
  if (visit(top.tlp_rx_valid_i)) visit(top.tlp_rx_i);
  if (visit(top.dm_rsp_valid_i)) visit(top.dm_rsp_i);
  visit(top.tlp_tx_ready_i);
  visit(top.mac_tx_ready_i);
  visit(top.pcie_fc_i);
  visit(top.pcie_cfg_i);
  visit(top.dm_req_ready_i);
  visit(top.evt_ready_i);
}

/// Writes the visited ports as 32-bit words; two for an integer of more than 32 bits.
class StimulusWriter {
 public:
  explicit StimulusWriter(const std::string& path) : out_(path, std::ios::binary) {}
  bool good() const { return out_.good(); }
  template <class Port>
  bool operator()(const Port& p) {
    if constexpr (std::is_integral_v<Port>) {
      put(static_cast<uint32_t>(p));
      if (sizeof(Port) == 8) put(static_cast<uint32_t>(static_cast<uint64_t>(p) >> 32));
      return p != 0;
    } else {
      for (size_t i = 0; i < sizeof(p) / 4; ++i) put(p[i]);
      return true;
    }
  }

 private:
  void put(uint32_t w) { out_.write(reinterpret_cast<const char*>(&w), 4); }
  std::ofstream out_;
};

/// Sets the visited ports from the words of a file, which is read as a whole first.
class StimulusReader {
 public:
  explicit StimulusReader(const std::string& path) {
    std::ifstream in(path, std::ios::binary | std::ios::ate);
    if (!in) return;
    words_.resize(static_cast<size_t>(in.tellg()) / 4);
    in.seekg(0);
    in.read(reinterpret_cast<char*>(words_.data()), static_cast<std::streamsize>(4 * words_.size()));
  }
  bool at_end() const { return next_ >= words_.size(); }
  void rewind() { next_ = 0; }
  template <class Port>
  bool operator()(Port& p) {
    if constexpr (std::is_integral_v<Port>) {
      uint64_t v = take();
      if (sizeof(Port) == 8) v |= uint64_t{take()} << 32;
      p = static_cast<Port>(v);
      return v != 0;
    } else {
      for (size_t i = 0; i < sizeof(p) / 4; ++i) p[i] = take();
      return true;
    }
  }
  uint32_t take() { return words_[next_++]; }

 private:
  std::vector<uint32_t> words_;
  size_t next_ = 0;
};

}  // namespace rnic
