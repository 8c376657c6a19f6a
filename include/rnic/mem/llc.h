// SPDX-License-Identifier: Apache-2.0
// Which lines a CPU's last-level cache holds. Set-associative; the least recently used line goes first. Lines of DMA
// writes (DDIO) are allocated in some of the ways only, as on Intel's servers; the CPU's in all.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace rnic {

struct LlcConfig {
  uint64_t size = 0;       ///< bytes: whole sets
  unsigned ways = 1;       ///< lines of a set
  unsigned ddio_ways = 1;  ///< those that DMA writes are allocated in; 0: none are
};

class Llc {
 public:
  static constexpr unsigned kLine = 64;  ///< bytes

  explicit Llc(const LlcConfig& config);
  bool ddio() const { return config_.ddio_ways != 0; }

  /// Whether the line (address / kLine) is there; it becomes the most recently used.
  bool find(uint64_t line);
  /// Puts a line in that is not there. True when a line has to be written back for it.
  bool put(uint64_t line, bool by_dma, bool dirty);
  void set_dirty(uint64_t line);
  void drop(uint64_t line);
  void drop_all() { slots_.clear(); }

 private:
  struct Slot {
    uint64_t line = 0;
    uint64_t used = 0;  ///< number of its last use; 0: empty
    bool dirty = false;
  };
  Slot* slot(uint64_t line);

  const LlcConfig config_;
  const uint64_t sets_;
  uint64_t uses_ = 0;
  std::unordered_map<uint64_t, std::vector<Slot>> slots_;  ///< by set
};

}  // namespace rnic
