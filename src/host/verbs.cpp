// SPDX-License-Identifier: Apache-2.0
#include "rnic/host/verbs.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "rnic/core/error.h"
#include "rnic/golden/cqe.h"
#include "rnic/golden/wqe.h"
#include "rnic/nic/nic.h"
#include "rnic/regs/regs.h"
#include "rnic/rtl/ports.h"

namespace rnic::host {
namespace {

using namespace rtl::rnic_pkg;  // constants of the RTL's package

constexpr unsigned kQpcBytes = 128;
constexpr uint32_t kTransactionsPending = 1 << 5;  // Device Status
constexpr unsigned kMsixCapability = 0x11;
constexpr uint32_t kMsixEnable = 0x8000;
constexpr unsigned kCacheLine = 64;
constexpr unsigned kRecordPage = 4096;
constexpr unsigned kSendRecord = 4;  ///< behind the receive queue's index, as in mlx5

unsigned mtu_enum(unsigned mtu) {
  for (unsigned e = 1; e <= 5; ++e) {
    if ((128u << e) == mtu) return e;
  }
  throw InputError(fmt::format("path MTU {} is not one of 256, 512, 1024, 2048, 4096", mtu));
}

template <size_t N>
uint64_t wire_order(const std::array<uint8_t, N>& bytes) {
  uint64_t v = 0;
  for (size_t i = 0; i < N; ++i) v |= uint64_t{bytes[i]} << (8 * i);
  return v;
}

/// IPv4-mapped GID: ten zero bytes, ff ff, the address.
std::array<uint32_t, 4> mapped_gid(const std::array<uint8_t, 4>& ip) {
  return {0, 0, 0xffff0000, static_cast<uint32_t>(wire_order(ip))};
}

template <size_t N>
std::array<uint32_t, N / 4> words_of(const std::array<uint8_t, N>& bytes) {
  std::array<uint32_t, N / 4> words{};
  std::memcpy(words.data(), bytes.data(), N);
  return words;
}

/// Holds a flag, in turns: taking simulated time, one thread at a time.
class Holder {
 public:
  Holder(bool& held, sc_core::sc_event& ended) : held_(held), ended_(ended) {
    while (held_) sc_core::wait(ended_);
    held_ = true;
  }
  ~Holder() {
    held_ = false;
    ended_.notify(sc_core::SC_ZERO_TIME);
  }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;

 private:
  bool& held_;
  sc_core::sc_event& ended_;
};

WcStatus status_of(uint8_t syndrome) {
  switch (syndrome) {
    case 0x00:
      return WcStatus::kSuccess;
    case 0x01:
      return WcStatus::kLocLenErr;
    case 0x02:
      return WcStatus::kLocQpOpErr;
    case 0x04:
      return WcStatus::kLocProtErr;
    case 0x05:
      return WcStatus::kWrFlushErr;
    default:
      return WcStatus::kGeneralErr;
  }
}

}  // namespace

Context::Context(Nic& nic, pcie::Hub& hub, const Profile& profile, Observers& observers, unsigned nic_id)
    : nic_(nic),
      hub_(hub),
      observers_(observers),
      nic_id_(nic_id),
      post_cost_(profile.time("host.post_cost")),
      store_gap_(profile.time("host.store_gap")),
      interrupt_latency_(profile.time("host.interrupt_latency") + profile.time("host.context_switch")),
      mps_(static_cast<unsigned>(profile.integer("pcie.mps"))),
      mrrs_(static_cast<unsigned>(profile.integer("pcie.mrrs"))),
      rcb_(static_cast<unsigned>(profile.integer("pcie.rcb"))),
      tag_bits_(static_cast<unsigned>(profile.integer("pcie.tag_bits"))),
      cpl_timeout_ns_(static_cast<uint64_t>(profile.integer("pcie.cpl_timeout"))),
      next_ring_(DmFreeBase),
      regions_(*this, hub) {
  next_host_ += numa_base(profile, pcie::kHostSize);
  hub_.on_host_write_op([this](uint64_t addr, unsigned, const rtl::op_t& op) {
    auto it = by_ring_.upper_bound(addr);
    if (it == by_ring_.begin()) return;
    Cq& cq = *(--it)->second;
    if (addr - cq.ring >= uint64_t{64} << cq.log_size) return;
    observers_.event({EventKind::kCqeVisible, to_ps(sc_core::sc_time_stamp()), 0, op, nic_id_, 0});
    cq.written.notify(sc_core::SC_ZERO_TIME);
  });
  hub_.on_message(
      [this](uint64_t, uint32_t data) { hub_.queue().after(interrupt_latency_, [this, data] { interrupt(data); }); });
}

void Context::enumerate() { bar_ = rnic::enumerate(nic_.config(), mps_, mrrs_, rcb_, tag_bits_, cpl_timeout_ns_); }

void Context::flr() {
  initiate_flr(nic_.config());
  device_lost();
}

void Context::device_lost() {
  lost_ = true;
  for (auto& cq : cqs_) {
    cq->written.notify(sc_core::SC_ZERO_TIME);
    if (cq->channel) {  // as the device's fatal event does: whoever waits finds the flushed completions
      if (cq->armed) cq->channel->events.push_back(cq.get());
      cq->armed = false;
      cq->channel->arrived.notify(sc_core::SC_ZERO_TIME);
    }
  }
}

void Context::check_alive() const {
  if (lost_) {
    throw SimError("the device is gone (function-level reset, or removal): Context::recover() sets it up again");
  }
}

void Context::recover() {
  if (!lost_) device_lost();
  ConfigSpace& config = nic_.config();
  const unsigned cap = find_capability(config, 0x10);
  if (cap == 0) throw SimError("no device answers to configuration reads: plug it in first (Nic::insert)");
  // What is on its way to memory arrives in the meantime.
  const Time step(5, sc_core::SC_US);
  sc_core::wait(step);
  const uint64_t most = 2 * std::max<uint64_t>(cpl_timeout_ns_, 100'000);
  for (uint64_t ns = 0; ns < most && (config.read(cap + 0xa, 2) & kTransactionsPending); ns += 5'000) {
    sc_core::wait(step);
  }
  enumerate();
  lost_ = false;
  for (auto& cq : cqs_) {
    flush(*cq);
    cq->ci = 0;
    const uint8_t invalid = golden::Cqe::kInvalid << 4 | 1;
    for (uint64_t i = 0; i < uint64_t{1} << cq->log_size; ++i) {
      hub_.host_memory().write(cq->ring - pcie::kHostBase + i * 64 + 63, &invalid, 1);
    }
    write_cqc(*cq);
    if (cq->channel) set_up_vector(cq->vector);
  }
  regions_.restore();
  for (auto& qp : qps_) set_context(qp.get(), {}, CmdQpModify);
}

/// Completes what is outstanding on the CQ's QPs: first what the NIC has completed, visibly.
void Context::flush(Cq& cq) {
  bool known = false;
  while (auto wc = take(cq, &known)) {
    if (known) cq.flushed.push_back(*wc);  // else it comes after its request was flushed
  }
  for (auto& qp : qps_) {
    if (qp->cq != &cq) continue;
    while (qp->outstanding() != 0) {
      Qp::Posted& p = qp->posted[qp->ci % qp->size()];
      const bool head = p.blocks != 0 && p.index == qp->ci;
      WorkCompletion wc{};
      wc.wr_id = head ? p.wr_id : 0;
      wc.status = WcStatus::kWrFlushErr;
      wc.qpn = qp->qpn;
      wc.wqe_counter = qp->ci;
      qp->ci = static_cast<uint16_t>(qp->ci + (head ? std::min<unsigned>(p.blocks, qp->outstanding()) : 1));
      if (head) p.blocks = 0;
      cq.flushed.push_back(wc);
    }
  }
}

uint64_t Context::alloc(Space space, uint64_t length) {
  uint64_t& next = space == Space::kHost ? next_host_ : next_gpu_;
  const uint64_t size = space == Space::kHost ? pcie::kHostSize : pcie::kGpuSize;
  const uint64_t at = next;
  if (length > size - at) throw InputError(fmt::format("out of {} memory", space == Space::kHost ? "host" : "GPU"));
  next = (at + length + 4095) & ~uint64_t{4095};
  return at;
}

void Context::write_block(uint64_t bar1_offset, const uint8_t* bytes, unsigned len) {
  for (unsigned at = 0; at < len; at += kCacheLine) {
    hub_.mmio_write(pcie::Initiator::kCpu, bar_[1] + bar1_offset + at, bytes + at, std::min(kCacheLine, len - at));
    sc_core::wait(store_gap_);
  }
}

/// A read pushes the posted writes before it, so what it finds is this command's result.
regs::CmdResult Context::issue(unsigned op, uint32_t index) {
  namespace bar1 = regs::bar1;
  check_alive();
  write32(1, bar1::kCmd, static_cast<uint32_t>(bar1::cmd::kIndex.set(bar1::cmd::kOp.set(uint64_t{0}, op), index)));
  const uint64_t result = read(1, bar1::kCmdResult, 4);
  check_alive();
  return static_cast<regs::CmdResult>(bar1::cmd_result::kResult.get(result));
}

void Context::command(unsigned op, uint32_t index) { accept(try_command(op, index), op, index); }

regs::CmdResult Context::try_command(unsigned op, uint32_t index) {
  const Holder turn(commanding_, command_ended_);
  return issue(op, index);
}

void Context::accept(regs::CmdResult result, unsigned op, uint32_t index) {
  if (result == regs::CmdResult::kOk) return;
  if (result != regs::CmdResult::kBadState) {
    throw SimError(fmt::format("the NIC does not know command {} of index {}", op, index));
  }
  throw InputError(
      fmt::format("QP {}: the NIC refuses the new state; from RESET it goes to INIT, then RTR, then RTS, and back to "
                  "RESET or to ERR "
                  "from wherever it is (RESET to ERR is none)",
                  index));
}

/// Writes the context and has the NIC take it. If it refuses, what it keeps stands there again.
void Context::set_context(Qp* qp, const rtl::qpc_t& context, unsigned op) {
  write_qpc(*qp, context);
  const regs::CmdResult result = try_command(op, qp->qpn);
  if (result != regs::CmdResult::kOk) {
    qp->context.state = static_cast<uint8_t>(read(1, QpcBase + uint64_t{qp->qpn} * kQpcBytes, 1) & 0xf);
    write_qpc(*qp, qp->context);
    accept(result, op, qp->qpn);
  }
  qp->context = context;
}

uint64_t Context::alloc_device(uint64_t bytes) {
  if (bytes > nic_.device_memory().size() - next_ring_) {
    throw InputError("device memory is full: use smaller send queues, or larger pages");
  }
  const uint64_t at = next_ring_;
  next_ring_ += bytes;
  return at;
}

Cq* Context::create_cq(unsigned log_size, CompChannel* channel, unsigned comp_vector, const Moderation& moderation) {
  if (comp_vector >= regs::bar2::kMsixCount) {
    throw InputError(fmt::format("completion vector {} is not below {}", comp_vector, regs::bar2::kMsixCount));
  }
  if (log_size > 22) throw InputError("a completion queue has at most 2^22 entries");
  if (next_cqn_ >= NumCq) throw InputError("all 1024 completion queues are in use");
  auto cq = std::make_unique<Cq>();
  cq->log_size = log_size;
  const uint64_t entries = uint64_t{1} << log_size;
  const uint64_t offset = alloc(Space::kHost, entries * 64);
  cq->cqn = next_cqn_++;
  cq->ring = pcie::kHostBase + offset;
  cq->channel = channel;
  cq->vector = comp_vector;
  cq->moderation = moderation;
  for (uint64_t i = 0; i < entries; ++i) {  // all entries invalid, as a driver leaves them
    const uint8_t invalid = golden::Cqe::kInvalid << 4 | 1;
    hub_.host_memory().write(offset + i * 64 + 63, &invalid, 1);
  }
  write_cqc(*cq);
  if (channel) set_up_vector(comp_vector);
  by_ring_[cq->ring] = cq.get();
  cqs_.push_back(std::move(cq));
  return cqs_.back().get();
}

void Context::write_cqc(const Cq& cq) {
  rtl::cqc_t c;
  c.valid = true;
  c.log_size = static_cast<uint8_t>(cq.log_size);
  c.base = cq.ring;
  c.irq_en = cq.channel != nullptr;
  c.irq_vector = static_cast<uint8_t>(cq.vector);
  c.irq_count = cq.moderation.count;
  c.irq_period = cq.moderation.period_us;
  const auto words = c.pack();
  write_block(CqcBase + uint64_t{cq.cqn} * 64, reinterpret_cast<const uint8_t*>(words.data()), 64);
  command(CmdCqModify, cq.cqn);
}

// ---- Completion events
// -----------------------------------------------------------------------------------------------

CompChannel* Context::create_comp_channel() {
  channels_.push_back(std::make_unique<CompChannel>());
  return channels_.back().get();
}

/// The message of a vector carries its number. Waits until the NIC has it.
void Context::set_up_vector(unsigned vector) {
  namespace bar2 = regs::bar2;
  ConfigSpace& config = nic_.config();
  const unsigned control = find_capability(config, kMsixCapability) + 2;
  config.write(control, 2, config.read(control, 2) | kMsixEnable);
  const uint64_t entry = uint64_t{vector} * bar2::kMsixStride;
  write32(2, bar2::kMsixAddrLo + entry, pcie::kIrqBase);
  write32(2, bar2::kMsixAddrLo + 4 + entry, 0);
  write32(2, bar2::kMsixData + entry, vector);
  write32(2, bar2::kMsixCtrl + entry, 0);
  read(2, bar2::kMsixCtrl + entry, 4);
}

void Context::req_notify_cq(Cq* cq, bool solicited_only) {
  if (cq->channel == nullptr) throw InputError(fmt::format("CQ {} has no completion channel", cq->cqn));
  cq->armed = true;
  cq->armed_ci = cq->ci;
  if (lost_) return device_lost();
  write32(0, uint64_t{cq->cqn} * regs::bar0::kPageStride + regs::bar0::kPageCqArm,
          cq->ci | (solicited_only ? 1u << 24 : 0));
}

/// A completion of the index that the CQ was armed with, or a later one, has been written.
bool Context::beyond_arm(const Cq& cq) const {
  if (cq.ci != cq.armed_ci) return true;
  const uint32_t entries = 1u << cq.log_size;
  golden::CqeBytes bytes;
  hub_.host_memory().read(cq.ring - pcie::kHostBase + uint64_t{cq.ci % entries} * 64, bytes.data(), 64);
  return golden::cqe_valid(bytes, cq.ci, cq.log_size);
}

/// CQs may share a vector: each looks for itself. One that has nothing yet gets a message of its own later.
void Context::interrupt(unsigned vector) {
  for (auto& cq : cqs_) {
    if (!cq->channel || !cq->armed || cq->vector != vector || !beyond_arm(*cq)) continue;
    cq->armed = false;
    cq->channel->events.push_back(cq.get());
    cq->channel->arrived.notify(sc_core::SC_ZERO_TIME);
  }
}

Cq* Context::get_cq_event(CompChannel* channel, const Time& timeout) {
  const Time start = sc_core::sc_time_stamp();
  const bool forever = timeout >= sc_core::sc_max_time() - start;
  while (channel->events.empty()) {
    const Time waited = sc_core::sc_time_stamp() - start;
    if (!forever && waited >= timeout) return nullptr;
    forever ? sc_core::wait(channel->arrived) : sc_core::wait(timeout - waited, channel->arrived);
  }
  Cq* cq = channel->events.front();
  channel->events.pop_front();
  return cq;
}

Qp* Context::create_qp(Cq* cq, const QpInit& init) {
  while (next_qpn_ < NumQp && by_qpn_.count(next_qpn_) != 0) ++next_qpn_;
  if (next_qpn_ >= NumQp) throw InputError(fmt::format("all {} QP numbers from 1 on are in use", NumQp - 1));
  return create_qp(cq, init, next_qpn_);
}

Qp* Context::create_qp(Cq* cq, const QpInit& init, uint32_t qpn) {
  if (qpn >= NumQp) throw InputError(fmt::format("QP number {} is not below {}", qpn, NumQp));
  if (by_qpn_.count(qpn) != 0) throw InputError(fmt::format("QP {} exists already", qpn));
  if (init.log_sq_size > 15) throw InputError("a send queue has at most 2^15 blocks");
  if (cq == nullptr) throw InputError(fmt::format("QP {} has no completion queue", qpn));
  const uint64_t ring_bytes = uint64_t{64} << init.log_sq_size;
  const bool in_host = init.where == SqWhere::kHost;
  auto qp = std::make_unique<Qp>();
  qp->qpn = qpn;
  qp->init = init;
  qp->cq = cq;
  qp->ring = in_host ? pcie::kHostBase + alloc(Space::kHost, ring_bytes) : alloc_device(ring_bytes);
  qp->posted.resize(qp->size());
  if (in_host) {
    if (next_record_ % kRecordPage == 0) next_record_ = alloc(Space::kHost, kRecordPage);
    qp->db_record = pcie::kHostBase + next_record_ + kSendRecord;
    next_record_ += kCacheLine;
  }
  by_qpn_[qpn] = qp.get();
  qps_.push_back(std::move(qp));
  return qps_.back().get();
}

rtl::qpc_t Context::context_of(const Qp& qp, const QpPath& path, QpState state) const {
  const auto check = [&](const char* what, uint64_t value, uint64_t end) {
    if (value >= end) throw InputError(fmt::format("QP {}: {} {} is not below {}", qp.qpn, what, value, end));
  };
  check("port", path.port, build_info().mac_ports);
  check("priority", path.prio, 8);
  check("destination QP number", path.dest_qpn, 1u << 24);
  check("rate burst", path.rate_burst, 1u << 24);
  check("VLAN", path.vlan_id.value_or(0), 1u << 12);
  check("flow label", path.ipv6 ? path.ipv6->flow_label : 0, 1u << 20);
  check("protection domain", qp.init.pd, 1u << 24);
  rtl::qpc_t c;
  c.state = static_cast<uint8_t>(state);
  c.transport = static_cast<uint8_t>(transport(qp.init.type));
  c.mtu = static_cast<uint8_t>(mtu_enum(path.mtu));
  c.sq_where = qp.init.where == SqWhere::kHost ? SqInHost : SqInDevice;
  c.log_sq_size = static_cast<uint8_t>(qp.init.log_sq_size);
  c.port = path.port;
  c.prio = path.prio;
  c.ip_id_fixed = path.ip_id_fixed;
  c.mig_req = path.mig_req;
  c.cqn = qp.cq->cqn;
  c.pd = qp.init.pd;
  c.dest_qpn = path.dest_qpn;
  c.sq_psn = path.sq_psn & 0xffffff;
  c.sq_ci = qp.pi;
  c.sq_base = qp.ring;
  c.smac = wire_order(path.smac);
  c.dmac = wire_order(path.dmac);
  c.udp_sport = path.udp_sport.value_or(default_udp_sport(qp.qpn, path.dest_qpn));
  c.pkey = path.pkey;
  c.ip_id = path.ip_id;
  c.tos = path.tos;
  c.ttl = path.ttl;
  c.ipv6 = path.ipv6.has_value();
  c.sgid = path.ipv6 ? words_of(path.ipv6->sip) : mapped_gid(path.sip);
  c.dgid = path.ipv6 ? words_of(path.ipv6->dip) : mapped_gid(path.dip);
  c.flow_label = path.ipv6 ? path.ipv6->flow_label : 0;
  c.vlan_en = path.vlan_id.has_value();
  c.vlan_tci = static_cast<uint16_t>(path.prio << 13 | path.vlan_id.value_or(0));
  c.qkey = path.qkey;
  c.weight = path.weight;
  c.rate_en = path.rate_limit_gbps > 0;
  if (c.rate_en) {
    const double gap = 8 / path.rate_limit_gbps * 65536;  // 2^-16 ns a byte
    if (!(gap >= 1 && gap < 4294967296.0)) {
      throw InputError(fmt::format("QP {}: a rate limit of {} Gb/s cannot be set; allowed: 0.000123 to 524288", qp.qpn,
                                   path.rate_limit_gbps));
    }
    c.rate_gap = static_cast<uint32_t>(std::lround(gap));
    c.rate_burst = static_cast<uint16_t>(path.rate_burst / 256);
  }
  return c;
}

void Context::write_qpc(const Qp& qp, const rtl::qpc_t& context) {
  const auto words = context.pack();
  write_block(QpcBase + uint64_t{qp.qpn} * kQpcBytes, reinterpret_cast<const uint8_t*>(words.data()), kQpcBytes);
}

void Context::modify_qp_rts(Qp* qp, const QpPath& path) {
  const rtl::qpc_t c = context_of(*qp, path, QpState::kRts);
  qp->ci = qp->pi;
  store_record(*qp);
  set_context(qp, c, CmdQpCreate);
}

void Context::modify_qp_err(Qp* qp) { command(CmdQp2Err, qp->qpn); }

void Context::modify_qp(Qp* qp, QpState to, const QpPath& path) {
  if (to == QpState::kErr) return modify_qp_err(qp);
  if (to == QpState::kReset) {
    qp->ci = qp->pi;
    store_record(*qp);
    return set_context(qp, {}, CmdQpModify);
  }
  rtl::qpc_t c = context_of(*qp, path, to);
  const QpStatus now = to == QpState::kRts ? query_qp(qp) : QpStatus{};
  if (now.state == QpState::kRts) {
    if (qp->outstanding() != 0) {
      throw InputError(
          fmt::format("QP {}: {} blocks of the send queue wait for a completion: RTS to RTS needs all of "
                      "them completed, since the NIC starts anew from the context",
                      qp->qpn, qp->outstanding()));
    }
    c.sq_psn = now.sq_psn;
    c.ip_id = now.ip_id;
  }
  set_context(qp, c, CmdQpModify);
  if (to == QpState::kRts) qp->ci = qp->pi;  // what was posted before has no place in the context
}

rtl::query_t Context::query(unsigned op, uint32_t index) {
  const Holder turn(commanding_, command_ended_);
  check_alive();
  write32(1, regs::bar1::kQuery, 0);
  if (issue(op, index) != regs::CmdResult::kOk) throw SimError(fmt::format("the NIC refuses to look at {}", index));
  const Time latest = sc_core::sc_time_stamp() + Time(10, sc_core::SC_MS);  // it takes some cycles
  while (sc_core::sc_time_stamp() < latest) {
    const auto bytes = read_bytes(1, regs::bar1::kQuery, rtl::query_t::kWidth / 8);
    check_alive();
    const auto answer = rtl::query_t::unpack_at(reinterpret_cast<const uint32_t*>(bytes.data()), 0);
    if (answer.seq != 0) return answer;
  }
  throw SimError(fmt::format("the NIC does not answer the query of {}", index));
}

QpStatus Context::query_qp(const Qp* qp) {
  const rtl::query_t q = query(CmdQpQuery, qp->qpn);
  auto bytes =
      read_bytes(1, QpcBase + uint64_t{qp->qpn} * kQpcBytes, kCacheLine);  // what is looked at is in its first half
  check_alive();
  bytes.resize(kQpcBytes);
  const auto c = rtl::qpc_t::unpack_at(reinterpret_cast<const uint32_t*>(bytes.data()), 0);
  QpStatus s{};
  s.state = q.error ? QpState::kErr : static_cast<QpState>(c.state);
  s.valid = q.ci_valid;
  s.sq_pi = static_cast<uint16_t>(q.pi_valid ? q.pi : c.sq_ci);
  s.sq_ci = static_cast<uint16_t>(q.ci_valid ? q.ci : c.sq_ci);
  s.sq_psn = q.ci_valid ? q.psn : c.sq_psn;
  s.ip_id = q.ci_valid ? q.ip_id : c.ip_id;
  s.in_message = q.in_msg;
  s.wqe = q.wqe;
  s.offset = q.offset;
  s.length = q.msg_len;
  s.time_ns = q.time_ns;
  return s;
}

CqStatus Context::query_cq(const Cq* cq) {
  const rtl::query_t q = query(CmdCqQuery, cq->cqn);
  const auto bytes = read_bytes(1, CqcBase + uint64_t{cq->cqn} * 64, 64);
  check_alive();
  const auto c = rtl::cqc_t::unpack_at(reinterpret_cast<const uint32_t*>(bytes.data()), 0);
  return {c.valid,
          q.pi_valid ? q.pi : c.ci,
          q.ci_valid ? q.ci : c.ci,
          static_cast<bool>(q.error),
          static_cast<bool>(q.armed),
          static_cast<bool>(q.solicited_only),
          q.time_ns};
}

MrStatus Context::query_mr(const Mr& mr) {
  check_alive();
  const auto bytes = read_bytes(1, MptBase + uint64_t{mr.lkey >> 8} * 64, 64);
  check_alive();
  const auto m = rtl::mpt_t::unpack_at(reinterpret_cast<const uint32_t*>(bytes.data()), 0);
  MrStatus s{};
  s.valid = m.valid && m.variant == (mr.lkey & 0xff);
  if (!s.valid) return s;
  s.addr = m.start;
  s.length = m.length;
  s.pd = m.pd;
  s.access = (m.local_write ? kLocalWrite : 0u) | (m.remote_write ? kRemoteWrite : 0u) |
             (m.remote_read ? kRemoteRead : 0u) | (m.remote_atomic ? kRemoteAtomic : 0u) |
             (m.relaxed ? kRelaxedOrdering : 0u);
  s.paged = m.paged;
  if (m.window_en) s.window = m.window;
  return s;
}

unsigned Context::wqe_blocks(const Qp& qp, const SendWr& wr) {
  golden::Wqe w;
  w.opcode = wqe_opcode(wr.opcode);
  if (qp.init.type == QpType::kUd) w.av = golden::AddressVector{};
  uint64_t length = wr.sg_list.empty() ? wr.length : 0;
  size_t segments = wr.sg_list.empty() && wr.length != 0;
  for (const Sge& s : wr.sg_list) length += s.length, segments += s.length != 0;
  w.is_inline = wr.send_inline && length != 0;
  if (w.is_inline) {
    w.inline_bytes.resize(std::min<uint64_t>(length, max_inline_data(qp.init.type, wr.opcode)));
  } else {
    w.sges.resize(segments);
  }
  return golden::wqe_blocks(golden::wqe_ds(w));
}

golden::Wqe Context::build_wqe(const Qp& qp, const SendWr& wr) const {
  const auto refuse = [&](const std::string& why) {
    throw InputError(fmt::format("QP {}: {} with {}", qp.qpn, to_string(wr.opcode), why));
  };
  golden::Wqe w;
  w.opcode = wqe_opcode(wr.opcode);
  w.qpn = qp.qpn;
  w.signaled = wr.signaled;
  w.solicited = wr.solicited;
  w.imm = wr.imm;
  w.raddr = wr.remote_addr;
  w.rkey = wr.rkey;
  w.swap_add = wr.opcode == WrOpcode::kAtomicCmpAndSwp ? wr.swap : wr.compare_add;
  w.compare = wr.opcode == WrOpcode::kAtomicCmpAndSwp ? wr.compare_add : 0;
  std::vector<Sge> list = wr.sg_list;
  if (list.empty()) list.push_back({wr.addr, wr.length, wr.lkey});
  uint64_t length = 0;
  for (const Sge& s : list) {
    if (s.length > golden::kMaxMessageBytes - length) refuse("data longer than 2 GiB");
    length += s.length;
    if (s.length != 0) w.sges.push_back({s.lkey, s.addr, s.length});
  }
  if (w.sges.size() > golden::kMaxSges)
    refuse(fmt::format("{} data segments; there can be {}", w.sges.size(), golden::kMaxSges));
  if (wr.send_inline && length != 0) {
    const unsigned most = max_inline_data(qp.init.type, wr.opcode);
    if (length > most) refuse(fmt::format("{} bytes inline; at most {} fit its WQE", length, most));
    w.is_inline = true;
    w.inline_bytes.resize(length);
    uint8_t* to = w.inline_bytes.data();
    for (const auto& s : w.sges) {
      regions_.copy(s.addr, s.lkey, to, s.length);
      to += s.length;
    }
    w.sges.clear();
  }
  if (qp.init.type == QpType::kUd) {
    w.av = golden::AddressVector{wr.ah.remote_qkey, wr.ah.remote_qpn, wr.ah.udp_sport,  wr.ah.dmac,
                                 wr.ah.tos,         wr.ah.ttl,        wr.ah.flow_label, wr.ah.dgid};
  }
  return w;
}

void Context::post_send(Qp* qp, const std::vector<SendWr>& wrs, pcie::Initiator who) {
  const Holder turn(qp->posting, qp->posting_ended);
  write_wqes(qp, wrs, who);
  if (qp->init.where != SqWhere::kBf && !wrs.empty()) ring_doorbell(qp->qpn, qp->pi, who);
}

void Context::queue_send(Qp* qp, const std::vector<SendWr>& wrs, pcie::Initiator who) {
  if (qp->init.where == SqWhere::kBf) {
    throw InputError(fmt::format("QP {}: a BlueFlame push is its own doorbell: it cannot wait for one", qp->qpn));
  }
  const Holder turn(qp->posting, qp->posting_ended);
  write_wqes(qp, wrs, who);
}

void Context::write_wqes(Qp* qp, const std::vector<SendWr>& wrs, pcie::Initiator who) {
  std::vector<golden::Wqe> wqes;
  unsigned wanted = 0;
  for (const SendWr& wr : wrs) {
    wqes.push_back(build_wqe(*qp, wr));
    wanted += golden::wqe_blocks(golden::wqe_ds(wqes.back()));
  }
  const unsigned size = qp->size();
  if (wanted > size) {
    throw InputError(fmt::format("QP {}: {} work requests do not fit in a send queue of {}: they take {} blocks",
                                 qp->qpn, wrs.size(), size, wanted));
  }
  if (wanted > size - qp->outstanding()) {
    throw InputError(fmt::format(
        "QP {}: the send queue of {} is full: {} blocks wait for a completion, no room for {} more; poll its "
        "CQ first (unsignaled requests are done with the completion of a later signaled one)",
        qp->qpn, size, qp->outstanding(), wanted));
  }
  for (size_t i = 0; i < wrs.size(); ++i) {
    golden::Wqe& w = wqes[i];
    w.index = qp->pi;
    if (lost_) {
      const auto blocks = static_cast<uint16_t>(golden::wqe_blocks(golden::wqe_ds(w)));
      qp->posted[qp->pi % size] = {wrs[i].wr_id, qp->pi, blocks};
      qp->pi = static_cast<uint16_t>(qp->pi + blocks);
      qp->cq->written.notify(sc_core::SC_ZERO_TIME);
      continue;
    }
    const std::vector<uint8_t> bytes = golden::encode_wqe(w);
    const auto blocks = static_cast<uint16_t>(bytes.size() / golden::kWqeBlockBytes);
    sc_core::wait(post_cost_);
    qp->posted[qp->pi % size] = {wrs[i].wr_id, qp->pi, blocks};
    for (unsigned b = 0; b < blocks; ++b) store_block(*qp, static_cast<uint16_t>(qp->pi + b), &bytes[64 * b], 64, who);
    qp->pi = static_cast<uint16_t>(qp->pi + blocks);
    // The push is the doorbell of its WQE, in pieces of 64 B; one that is too long for it has a doorbell of its own.
    if (qp->init.where != SqWhere::kBf) continue;
    if (blocks > 2) {
      ring_doorbell(qp->qpn, qp->pi, who);
      continue;
    }
    rtl::op_t op;
    op.qpn = static_cast<uint16_t>(qp->qpn);
    op.wqe = qp->pi;
    for (unsigned b = 0; b < blocks; ++b) {
      if (b + 1u == blocks) observers_.event({EventKind::kDbStore, to_ps(sc_core::sc_time_stamp()), 0, op, nic_id_, 0});
      hub_.mmio_write(who, bar_[0] + uint64_t{qp->qpn} * 0x100 + 0x80 + 64 * b, &bytes[64 * b], 64, op);
      sc_core::wait(store_gap_);
    }
  }
  if (!wrs.empty()) store_record(*qp);
}

/// A WQE's block, or the first part of one, into the ring. The doorbell does not overtake it: what stands in host
/// memory is seen by whoever has seen the doorbell.
void Context::store_block(const Qp& qp, uint16_t index, const uint8_t* block, unsigned bytes, pcie::Initiator who) {
  const uint64_t at = qp.ring + uint64_t{index % qp.size()} * 64;
  if (qp.init.where == SqWhere::kHost) {
    hub_.host_memory().write(at - pcie::kHostBase, block, bytes);
    if (who == pcie::Initiator::kCpu) hub_.cpu_touch(at - pcie::kHostBase, bytes);
  } else {
    hub_.mmio_write(who, bar_[1] + at, block, bytes);
  }
  sc_core::wait(store_gap_);
}

/// The producer index beside a ring in host memory, where its WQEs already stand.
void Context::store_record(const Qp& qp) {
  if (qp.db_record == 0) return;
  const std::array<uint8_t, 4> bytes{0, 0, static_cast<uint8_t>(qp.pi >> 8), static_cast<uint8_t>(qp.pi)};
  hub_.host_memory().write(qp.db_record - pcie::kHostBase, bytes.data(), bytes.size());
  sc_core::wait(store_gap_);
}

void Context::write_raw_wqe(Qp* qp, const std::vector<uint8_t>& wqe) {
  const unsigned size = qp->size();
  const auto blocks = static_cast<uint16_t>((wqe.size() + 63) / 64);
  qp->posted[qp->pi % size] = {0, qp->pi, blocks};
  for (size_t at = 0; at < wqe.size(); at += 64) {
    store_block(*qp, qp->pi, wqe.data() + at, static_cast<unsigned>(std::min<size_t>(64, wqe.size() - at)),
                pcie::Initiator::kCpu);
    ++qp->pi;
    if (qp->outstanding() > size) qp->ci = static_cast<uint16_t>(qp->pi - size);  // overwritten: it can't be followed
  }
  store_record(*qp);
}

void Context::ring_doorbell(uint32_t qpn, uint32_t value, pcie::Initiator who) {
  rtl::op_t op;
  op.qpn = static_cast<uint16_t>(qpn & 0x3ff);
  op.wqe = static_cast<uint16_t>(value);
  if (lost_) return;
  const std::array<uint8_t, 4> bytes{static_cast<uint8_t>(value), static_cast<uint8_t>(value >> 8),
                                     static_cast<uint8_t>(value >> 16), static_cast<uint8_t>(value >> 24)};
  observers_.event({EventKind::kDbStore, to_ps(sc_core::sc_time_stamp()), 0, op, nic_id_, 0});
  hub_.mmio_write(who, bar_[0] + uint64_t{qpn} * 0x100, bytes.data(), 4, op);
}

std::optional<WorkCompletion> Context::poll_cq(Cq* cq) {
  if (lost_) flush(*cq);
  if (!cq->flushed.empty()) {
    const WorkCompletion wc = cq->flushed.front();
    cq->flushed.pop_front();
    return wc;
  }
  return take(*cq);
}

/// The next completion in the ring.
std::optional<WorkCompletion> Context::take(Cq& cq, bool* known) {
  const uint32_t entries = 1u << cq.log_size;
  golden::CqeBytes bytes;
  hub_.host_memory().read(cq.ring - pcie::kHostBase + uint64_t{cq.ci % entries} * 64, bytes.data(), 64);
  const golden::Cqe c = golden::decode_cqe(bytes);
  if (c.opcode == golden::Cqe::kInvalid || c.owner != ((cq.ci & entries) != 0)) return std::nullopt;
  WorkCompletion wc{};
  wc.qpn = c.qpn;
  wc.wqe_counter = c.wqe_counter;
  wc.byte_len = c.byte_cnt;
  wc.wqe_opcode = c.wqe_opcode;
  wc.status = c.is_error() ? status_of(c.syndrome) : WcStatus::kSuccess;
  wc.vendor_err = c.vendor_syndrome;
  wc.timestamp_ns = c.is_error() ? 0 : c.timestamp;
  if (auto qp = by_qpn_.find(c.qpn); qp != by_qpn_.end()) {
    const bool ours = retire(*qp->second, wc);
    if (known) *known = ours;
  }
  cq.ci = (cq.ci + 1) & 0xffffff;
  if (lost_) return wc;
  const uint32_t ci = cq.ci;
  const std::array<uint8_t, 4> v{static_cast<uint8_t>(ci), static_cast<uint8_t>(ci >> 8),
                                 static_cast<uint8_t>(ci >> 16), static_cast<uint8_t>(ci >> 24)};
  hub_.mmio_write(pcie::Initiator::kCpu, bar_[0] + uint64_t{cq.cqn} * 0x100 + 0x10, v.data(), 4);
  return wc;
}

bool Context::retire(Qp& qp, WorkCompletion& wc) {
  Qp::Posted& p = qp.posted[wc.wqe_counter % qp.size()];
  if (p.blocks == 0 || p.index != wc.wqe_counter) return false;  // overwritten, or none of ours
  wc.wr_id = p.wr_id;
  const auto from_ci = static_cast<uint16_t>(p.index - qp.ci);
  if (from_ci < qp.outstanding()) {
    qp.ci = static_cast<uint16_t>(qp.ci + std::min<unsigned>(from_ci + p.blocks, qp.outstanding()));
  }
  p.blocks = 0;
  return true;
}

std::optional<WorkCompletion> Context::wait_cq(Cq* cq, const Time& timeout) {
  const Time start = sc_core::sc_time_stamp();
  const bool forever = timeout >= sc_core::sc_max_time() - start;
  while (true) {
    if (auto wc = poll_cq(cq)) return wc;
    const Time waited = sc_core::sc_time_stamp() - start;
    if (forever) {
      sc_core::wait(cq->written);
    } else if (waited < timeout) {
      sc_core::wait(timeout - waited, cq->written);
    } else {
      return std::nullopt;
    }
  }
}

void Context::write32(unsigned bar, uint64_t offset, uint32_t value) {
  const std::array<uint8_t, 4> v{static_cast<uint8_t>(value), static_cast<uint8_t>(value >> 8),
                                 static_cast<uint8_t>(value >> 16), static_cast<uint8_t>(value >> 24)};
  hub_.mmio_write(pcie::Initiator::kCpu, bar_.at(bar) + offset, v.data(), 4);
}

void Context::write64(unsigned bar, uint64_t offset, uint64_t value) {
  std::array<uint8_t, 8> v{};
  for (unsigned b = 0; b < 8; ++b) v[b] = static_cast<uint8_t>(value >> 8 * b);
  hub_.mmio_write(pcie::Initiator::kCpu, bar_.at(bar) + offset, v.data(), 8);
}

uint64_t Context::read(unsigned bar, uint64_t offset, unsigned bytes) {
  if (bytes == 0 || bytes > 8) throw InputError(fmt::format("a register read is of 1 to 8 bytes, not {}", bytes));
  const auto data = read_bytes(bar, offset, bytes);
  uint64_t value = 0;
  std::memcpy(&value, data.data(), bytes);
  return value;
}

/// All ones when the device is lost.
std::vector<uint8_t> Context::read_bytes(unsigned bar, uint64_t offset, unsigned bytes) {
  sc_core::sc_event done;
  std::optional<std::vector<uint8_t>> data;
  hub_.mmio_read(pcie::Initiator::kCpu, bar_.at(bar) + offset, bytes, [&](std::vector<uint8_t> d) {
    data = std::move(d);
    done.notify(sc_core::SC_ZERO_TIME);
  });
  while (!data) sc_core::wait(done);
  if (data->size() < bytes) {
    if (nic_.config().read(0, 4) == ~0u) device_lost();  // a root port answers for a device that is gone: all ones
    if (!lost_) throw SimError(fmt::format("read of BAR{} + {:#x} was not answered with data", bar, offset));
    data->assign(bytes, 0xff);
  }
  return *data;
}

}  // namespace rnic::host
