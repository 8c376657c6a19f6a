// SPDX-License-Identifier: Apache-2.0
#include "rnic/host/gpu_agent.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "rnic/core/error.h"

namespace rnic::host {
namespace {

constexpr unsigned kFlagBytes = 4;
constexpr auto kModel = DelayQueue::Kind::kModel;

std::array<uint8_t, kFlagBytes> word(uint32_t v) {
  return {static_cast<uint8_t>(v), static_cast<uint8_t>(v >> 8), static_cast<uint8_t>(v >> 16),
          static_cast<uint8_t>(v >> 24)};
}

uint32_t word_at(const Memory& m, uint64_t offset) {
  std::array<uint8_t, kFlagBytes> b{};
  m.read(offset, b.data(), b.size());
  return b[0] | uint32_t{b[1]} << 8 | uint32_t{b[2]} << 16 | uint32_t{b[3]} << 24;
}

bool inside(uint64_t at, uint64_t bytes, uint64_t base, uint64_t size) {
  return at >= base && bytes <= size && at - base <= size - bytes;
}

Serializer pace(double gbps) {
  if (gbps == 0) return Serializer(0, 1);
  return Serializer(8'000'000, std::max<uint64_t>(1, static_cast<uint64_t>(std::llround(gbps * 1000))));
}

void check_flag(uint64_t flag) {
  if (flag % kFlagBytes != 0 || !inside(flag, kFlagBytes, pcie::kHostBase, pcie::kHostSize)) {
    throw InputError(fmt::format("a flag at {:#x}: it must be 4 aligned bytes of host memory", flag));
  }
}

}  // namespace

GpuAgent::GpuAgent(pcie::Hub& hub, const Profile& p, uint64_t doorbell)
    : hub_(hub),
      doorbell_(doorbell),
      signal_(p.time("gpu.signal_latency")),
      start_(p.time("gpu.copy_start_latency")),
      completion_(p.time("gpu.copy_completion_latency")),
      mps_(static_cast<unsigned>(p.integer("pcie.mps"))),
      reads_(pace(p.number("gpu.copy_bandwidth"))) {
  Serializer line = pcie::link_serializer(static_cast<unsigned>(p.integer("pcie.generation")),
                                          static_cast<unsigned>(p.integer("pcie.lanes")));
  retry_ = from_ps(std::max<uint64_t>(1, line.send(0, mps_).end_ps));
  hub_.gpu_pages().pin(doorbell_ - pcie::kGpuBase, kFlagBytes, {});
  hub_.on_gpu_write([this](uint64_t addr, unsigned len) {
    if (addr <= doorbell_ && doorbell_ + kFlagBytes <= addr + len) rung();
  });
  hub_.on_host_write([this](uint64_t addr, unsigned len) { visible(addr, len); });
}

// ---- Kernel ----

void GpuAgent::run(const Kernel& k) {
  if (kernel_) throw InputError("a kernel runs already: wait for its end");
  if (k.store == 0 || k.bytes == 0 || k.bytes % k.store != 0 || !inside(k.at, k.bytes, 0, pcie::kGpuSize)) {
    throw InputError(
        fmt::format("a kernel that stores {} B at a time into {} B from offset {:#x}: the buffer must be "
                    "whole stores, and lie in GPU memory",
                    k.store, k.bytes, k.at));
  }
  if (k.gap == sc_core::SC_ZERO_TIME || k.stores == 0) {
    throw InputError("a kernel makes one store at least, with a gap before each");
  }
  if (k.flag != 0) check_flag(k.flag);
  if (k.gbps != 0) hub_.set_gpu_load(k.gbps);
  kernel_ = k;
  stored_ = 0;
  hub_.queue().after(
      k.gap, [this] { store(); }, kModel);
}

void GpuAgent::store() {
  const Kernel& k = *kernel_;
  const uint64_t n = stored_++, at = k.at + n * k.store % k.bytes;
  std::vector<uint8_t> data(k.store);
  for (unsigned i = 0; i < k.store; ++i) data[i] = pattern_byte(n * k.store + i, k.seed);
  hub_.gpu_memory().write(at, data.data(), data.size());
  if (on_store_) on_store_(n, at, data);
  if (stored_ != k.stores) {
    hub_.queue().after(
        k.gap, [this] { store(); }, kModel);
    return;
  }
  const Kernel ended = k;
  kernel_.reset();
  if (ended.gbps != 0) hub_.set_gpu_load(0);
  if (ended.flag != 0) signal(ended.flag, ended.value);
}

// ---- Signal ----

void GpuAgent::signal(uint64_t flag, uint32_t value) {
  check_flag(flag);
  signal_flag_ = flag;
  signal_store_ps_ = signal_visible_ps_ = 0;
  hub_.queue().after(
      signal_,
      [this, flag, value] {
        signal_store_ps_ = DelayQueue::now_ps();
        hub_.mmio_write(pcie::Initiator::kGpu, flag, word(value).data(), kFlagBytes);
      },
      kModel);
}

void GpuAgent::wait_flag(uint64_t flag, uint32_t value) {
  check_flag(flag);
  while (word_at(hub_.host_memory(), flag - pcie::kHostBase) != value) sc_core::wait(written_);
}

void GpuAgent::visible(uint64_t addr, unsigned len) {
  const uint64_t now = DelayQueue::now_ps();
  const auto covers = [&](uint64_t at) { return addr <= at && at < addr + len; };
  if (signal_visible_ps_ == 0 && signal_store_ps_ != 0 && covers(signal_flag_)) signal_visible_ps_ = now;
  for (auto it = watched_.begin(); it != watched_.end();) {
    CopyTimes& t = times_[it->number];
    const CopyJob& j = it->job;
    // The completion write is the last of its job; data that end where the flag stands are not it.
    if (j.bytes != 0 && t.last_read_ps != 0 && covers(j.to + j.bytes - 1)) t.data_visible_ps = now;
    const bool complete =
        t.flag_out_ps != 0 && covers(j.flag) && word_at(hub_.host_memory(), j.flag - pcie::kHostBase) == j.value;
    if (complete) t.flag_visible_ps = now;
    it = complete ? watched_.erase(it) : it + 1;
  }
  written_.notify(sc_core::SC_ZERO_TIME);
}

// ---- Copy engine ----

uint32_t GpuAgent::copy(const CopyJob& job) {
  check_flag(job.flag);
  if (!inside(job.from, job.bytes, 0, pcie::kGpuSize)) {
    throw InputError(fmt::format("a copy of {} B from offset {:#x} reaches outside GPU memory", job.bytes, job.from));
  }
  if (!inside(job.to, job.bytes, pcie::kHostBase, pcie::kHostSize)) {
    throw InputError(fmt::format("a copy of {} B to {:#x} reaches outside host memory", job.bytes, job.to));
  }
  if (job.flag + kFlagBytes > job.to && job.flag < job.to + job.bytes) {
    throw InputError(fmt::format("the flag of a copy, at {:#x}, lies in the buffer that it fills", job.flag));
  }
  const uint32_t number = ++last_number_;
  submitted_[number] = job;
  times_[number].store_ps = DelayQueue::now_ps();
  hub_.mmio_write(pcie::Initiator::kCpu, doorbell_, word(number).data(), kFlagBytes);
  return number;
}

void GpuAgent::rung() {
  const uint32_t number = word_at(hub_.gpu_memory(), doorbell_ - pcie::kGpuBase);
  const auto it = submitted_.find(number);
  if (it == submitted_.end()) return;  // nobody's: somebody else wrote there
  times_[number].arrived_ps = DelayQueue::now_ps();
  queue_.push_back({number, it->second});
  submitted_.erase(it);
  if (queue_.size() == 1) begin();
}

void GpuAgent::begin() {
  done_bytes_ = 0;
  hub_.queue().after(
      start_,
      [this] {
        const Job& j = queue_.front();
        times_[j.number].started_ps = DelayQueue::now_ps();
        watched_.push_back(j);
        next();
      },
      kModel);
}

/// The next write TLP: up to MPS, never across a multiple of it.
void GpuAgent::next() {
  const CopyJob& j = queue_.front().job;
  if (done_bytes_ == j.bytes) {
    hub_.queue().after(
        completion_, [this] { complete(); }, kModel);
    return;
  }
  const uint64_t to = j.to + done_bytes_;
  const auto bytes = static_cast<unsigned>(std::min<uint64_t>(j.bytes - done_bytes_, mps_ - to % mps_));
  const uint64_t at = hub_.gpu_access_ps(j.from + done_bytes_, bytes, reads_.send(DelayQueue::now_ps(), bytes).end_ps);
  hub_.queue().at(
      from_ps(at), [this, bytes] { send(bytes); }, kModel);
}

/// Reads GPU memory and hands the write over in one instant; a full link puts both off.
void GpuAgent::send(unsigned bytes) {
  const Job& j = queue_.front();
  std::vector<uint8_t> data(bytes);
  hub_.gpu_memory().read(j.job.from + done_bytes_, data.data(), bytes);
  if (!hub_.gpu_write(j.job.to + done_bytes_, data.data(), bytes)) {
    hub_.queue().after(
        retry_, [this, bytes] { send(bytes); }, kModel);
    return;
  }
  CopyTimes& t = times_[j.number];
  const uint64_t now = DelayQueue::now_ps();
  if (done_bytes_ == 0) t.first_read_ps = now;
  done_bytes_ += bytes;
  if (done_bytes_ == j.job.bytes) t.last_read_ps = now;
  next();
}

void GpuAgent::complete() {
  const Job& j = queue_.front();
  if (!hub_.gpu_write(j.job.flag, word(j.job.value).data(), kFlagBytes)) {
    hub_.queue().after(
        retry_, [this] { complete(); }, kModel);
    return;
  }
  times_[j.number].flag_out_ps = DelayQueue::now_ps();
  queue_.pop_front();
  if (!queue_.empty()) begin();
}

}  // namespace rnic::host
