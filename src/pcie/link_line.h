// SPDX-License-Identifier: Apache-2.0
// What one direction of a link takes in time: bytes one behind the other (Gen1-5), or places in a steady stream of
// flits (Gen6).
#pragma once

#include <algorithm>
#include <cstdint>

#include "rnic/core/serializer.h"
#include "rnic/pcie/topology.h"

namespace rnic::pcie {

constexpr unsigned kDllpBytes = 8;
constexpr unsigned kFlitBytes = 256, kFlitTlpBytes = 236;
constexpr uint64_t kGen6Mtps = 64000;

class Line {
 public:
  /// `end_ps`: when the other end can have it, but for the flight time.
  using Slot = Serializer::Slot;

  Line(unsigned generation, unsigned lanes)
      : bytes_(generation < 6 ? link_serializer(generation, lanes) : Serializer(0, 1)),
        flits_(generation >= 6),
        num_(8'000'000),
        den_(kGen6Mtps * lanes) {}

  bool flits() const { return flits_; }

  /// Wire bytes of a TLP; in flits it has neither token nor LCRC of its own.
  uint64_t size_of(uint64_t wire_bytes) const { return flits_ ? wire_bytes - 8 : wire_bytes; }

  Slot tlp(uint64_t now_ps, uint64_t size) {
    if (!flits_) return bytes_.send(now_ps, size);
    const uint64_t first = std::max(next_, place(now_ps));
    const uint64_t start = ps_of(first);
    next_ = first + size;
    sent_ps_ += ps_of(next_) - start;
    return {start, flit_end((next_ - 1) / kFlitTlpBytes)};
  }

  Slot dllp(uint64_t now_ps) {
    if (!flits_) return bytes_.send(now_ps, kDllpBytes);
    // One in the DLP bytes of each flit.
    const uint64_t byte = byte_at(now_ps);
    next_dlp_ = std::max(next_dlp_, (byte + kFlitBytes - 1) / kFlitBytes);
    const uint64_t flit = next_dlp_++;
    return {scale(flit * kFlitBytes), flit_end(flit)};
  }

  uint64_t busy_for_ps(uint64_t now_ps) const {
    if (!flits_) return bytes_.busy_for_ps(now_ps);
    const uint64_t until = ps_of(next_), ahead = until > now_ps ? until - now_ps : 0;
    return sent_ps_ > ahead ? sent_ps_ - ahead : 0;
  }

 private:
  uint64_t scale(uint64_t bytes) const {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(bytes) * num_ / den_);
  }
  /// First byte of the stream that does not start before now_ps.
  uint64_t byte_at(uint64_t now_ps) const {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(now_ps) * den_ + num_ - 1) / num_);
  }
  uint64_t flit_end(uint64_t flit) const { return scale((flit + 1) * kFlitBytes); }
  /// Places for TLP bytes are counted through all flits; a TLP starts on a DW.
  uint64_t place(uint64_t now_ps) const {
    const uint64_t byte = byte_at(now_ps), in_flit = (byte % kFlitBytes + 3) / 4 * 4;
    return byte / kFlitBytes * kFlitTlpBytes + std::min<uint64_t>(in_flit, kFlitTlpBytes);
  }
  uint64_t ps_of(uint64_t place) const { return scale(place / kFlitTlpBytes * kFlitBytes + place % kFlitTlpBytes); }

  Serializer bytes_;
  bool flits_;
  uint64_t num_, den_;  ///< a byte of a flit takes num/den ps
  uint64_t next_ = 0, next_dlp_ = 0, sent_ps_ = 0;
};

}  // namespace rnic::pcie
