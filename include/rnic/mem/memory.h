// SPDX-License-Identifier: Apache-2.0
// Sparse byte memory. Knows contents and size, not time.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace rnic {

/// Pages come into being when first written; unwritten bytes read as 0. Access outside [0, size) returns false and
/// changes nothing.
class Memory {
 public:
  explicit Memory(uint64_t size) : size_(size) {}
  uint64_t size() const { return size_; }
  bool read(uint64_t addr, uint8_t* out, uint64_t len) const;
  bool write(uint64_t addr, const uint8_t* in, uint64_t len);
  /// Contents that are a function of the address, so that a 2 GiB buffer costs nothing until written:
  /// byte(addr) = pattern(addr, seed). Applies to pages never written. See pattern_byte().
  void set_background(uint64_t seed) { background_ = seed, has_background_ = true; }

 private:
  static constexpr uint64_t kPage = 4096;
  bool inside(uint64_t addr, uint64_t len) const { return len <= size_ && addr <= size_ - len; }
  void background(uint64_t page, uint8_t* out) const;
  uint64_t size_;
  bool has_background_ = false;
  uint64_t background_ = 0;
  std::unordered_map<uint64_t, std::unique_ptr<uint8_t[]>> pages_;
};

/// Byte at addr of the background pattern.
uint8_t pattern_byte(uint64_t addr, uint64_t seed);

}  // namespace rnic
