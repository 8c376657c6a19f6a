// SPDX-License-Identifier: Apache-2.0
#include "rnic/mem/llc.h"

#include <algorithm>

namespace rnic {

Llc::Llc(const LlcConfig& config)
    : config_(config), sets_(std::max<uint64_t>(1, config.size / (uint64_t{config.ways} * kLine))) {}

Llc::Slot* Llc::slot(uint64_t line) {
  const auto set = slots_.find(line % sets_);
  if (set == slots_.end()) return nullptr;
  for (Slot& s : set->second) {
    if (s.used != 0 && s.line == line) return &s;
  }
  return nullptr;
}

bool Llc::find(uint64_t line) {
  Slot* s = slot(line);
  if (s) s->used = ++uses_;
  return s != nullptr;
}

bool Llc::put(uint64_t line, bool by_dma, bool dirty) {
  auto& set = slots_[line % sets_];
  if (set.empty()) set.resize(config_.ways);
  const auto end = set.begin() + (by_dma ? config_.ddio_ways : config_.ways);
  const auto it = std::min_element(set.begin(), end, [](const Slot& a, const Slot& b) { return a.used < b.used; });
  const bool back = it->used != 0 && it->dirty;
  *it = {line, ++uses_, dirty};
  return back;
}

void Llc::set_dirty(uint64_t line) {
  if (Slot* s = slot(line)) s->dirty = true;
}

void Llc::drop(uint64_t line) {
  if (Slot* s = slot(line)) *s = {};
}

}  // namespace rnic
