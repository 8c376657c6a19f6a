// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "rnic/core/error.h"
#include "rnic/host/paths.h"
#include "rnic/nic/nic.h"

namespace rnic::host {
namespace {

constexpr uint64_t kVa = 0x7f00'0000'0000, kStagingVa = 0x7e00'0000'0000;
constexpr uint64_t kPage = 4096, kCopyFlag = 64;  // flags on lines of their own
constexpr uint64_t kWarm = 64;

uint64_t now() { return to_ps(sc_core::sc_time_stamp()); }

}  // namespace

PathRunner::PathRunner(Context& ctx, pcie::Hub& hub, Nic& nic, const Profile& p, const PathOptions& o)
    : ctx_(ctx),
      hub_(hub),
      nic_(nic),
      options_(o),
      signal_(p.time("gpu.signal_latency")),
      poll_(p.time("host.poll_interval")),
      interrupt_(p.time("host.interrupt_latency")),
      switch_(p.time("host.context_switch")),
      launch_(p.time("host.copy_launch_cost")),
      blocked_(p.text("host.gpu_wait") == "interrupt") {
  const uint64_t length = std::max(o.largest, kPage);
  QpInit init;
  init.type = o.transport;
  init.where = o.sq;
  gpu_ = ctx_.reg_mr(init.pd, Space::kGpu, ctx_.alloc(Space::kGpu, length), length, kVa);
  host_ = ctx_.reg_mr(init.pd, Space::kHost, ctx_.alloc(Space::kHost, length), length, kStagingVa);
  flags_ = pcie::kHostBase + ctx_.alloc(Space::kHost, kPage);
  agent_ = std::make_unique<GpuAgent>(hub_, p, pcie::kGpuBase + ctx_.alloc(Space::kGpu, kPage));
  cq_ = ctx_.create_cq(8);
  qp_ = ctx_.create_qp(cq_, init);
  QpPath path;
  path.mtu = o.mtu;
  ctx_.modify_qp_rts(qp_, path);
  for (const Mr* mr : {&host_, &gpu_}) {  // warms the contexts
    wait_idle();
    // Of a GPU whose BAR refuses reads nothing can be sent.
    if (mr == &gpu_ && p.integer("gpu.bar_reads") == 0) continue;
    send(*mr, kWarm, pcie::Initiator::kCpu);
    complete();
  }
}

void PathRunner::wait_idle() {
  // Consumer-index doorbells may still be on their way: they belong to the message before.
  do sc_core::wait(Time(2, sc_core::SC_US));
  while (!nic_.idle());
}

void PathRunner::send(const Mr& from, uint64_t bytes, pcie::Initiator who) {
  SendWr wr;
  wr.wr_id = turn_;
  wr.opcode = options_.op;
  wr.imm = 0x1234;
  wr.addr = from.addr;
  wr.length = bytes;
  wr.lkey = from.lkey;
  wr.remote_addr = 0x1000'0000;
  wr.rkey = 0x1234;
  ctx_.post_send(qp_, wr, who);
}

void PathRunner::complete() {
  const auto wc = ctx_.wait_cq(cq_, sc_core::sc_max_time());
  if (!wc || wc->status != WcStatus::kSuccess) {
    throw SimError(fmt::format("path: the message completed with '{}'", wc ? to_string(wc->status) : "nothing"));
  }
}

/// A poll that has just missed the flag sees it one interval later.
void PathRunner::wait_gpu(uint64_t flag, uint32_t value, uint64_t& handler_ps, uint64_t& seen_ps) {
  agent_->wait_flag(flag, value);
  if (blocked_) {
    sc_core::wait(interrupt_);
    handler_ps = now();
    sc_core::wait(switch_);
  } else {
    sc_core::wait(poll_);
  }
  seen_ps = now();
}

PathTrace PathRunner::run(Path path, uint64_t bytes, const std::function<void()>& at_ready) {
  if (bytes > options_.largest) {
    throw InputError(fmt::format("a message of {} B; the buffers are of {} B", bytes, options_.largest));
  }
  wait_idle();
  const bool staged = path == Path::kStaged;
  const uint32_t turn = ++turn_;
  PathTrace t;
  t.path = path;
  t.initiator = staged ? pcie::Initiator::kCpu : options_.initiator;
  t.bytes = bytes;
  t.qpn = qp_->qpn;
  t.ready_ps = now();
  if (at_ready) at_ready();
  if (t.initiator == pcie::Initiator::kGpu) {
    sc_core::wait(signal_);
    t.signal_store_ps = t.seen_ps = now();
  } else {
    agent_->signal(flags_, turn);
    if (staged) {
      wait_gpu(flags_, turn, t.handler_ps, t.seen_ps);
    } else {  // a proxy thread that does nothing but poll
      agent_->wait_flag(flags_, turn);
      sc_core::wait(poll_);
      t.seen_ps = now();
    }
    t.signal_store_ps = agent_->signal_store_ps();
    t.signal_visible_ps = agent_->signal_visible_ps();
  }
  if (staged) {
    sc_core::wait(launch_);
    const uint32_t job = agent_->copy({gpu_.offset, pcie::kHostBase + host_.offset, bytes, flags_ + kCopyFlag, turn});
    wait_gpu(flags_ + kCopyFlag, turn, t.copy_handler_ps, t.copy_seen_ps);
    t.copy = agent_->times(job);
  }
  t.wqe = qp_->pi;
  send(staged ? host_ : gpu_, bytes, t.initiator);
  // A ring in host memory has a doorbell record; a push is stored before its own gap.
  t.stores = static_cast<uint16_t>(qp_->pi - t.wqe) + (options_.sq == SqWhere::kHost ? 1u : 0u);
  complete();
  wait_idle();
  return t;
}

}  // namespace rnic::host
