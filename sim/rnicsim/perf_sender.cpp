// SPDX-License-Identifier: Apache-2.0
// The program on the simulated host: one thread, one completion queue, as perftest has them.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>

#include "perf.h"
#include "rnic/core/error.h"

namespace rnic::cli {
namespace {

uint64_t now_ps() { return to_ps(sc_core::sc_time_stamp()); }

/// Everything on its way has arrived, consumer indices included.
void wait_idle(Node& node) {
  do sc_core::wait(Time(2, sc_core::SC_US));
  while (!node.nic->idle() || !node.hub->idle());
}

unsigned log2_up(uint64_t n) {
  unsigned log = 0;
  while ((uint64_t{1} << log) < n) ++log;
  return log;
}

class Sender {
 public:
  Sender(System& system, const PerfOptions& o, ResourceMonitor& monitor, PerfMeasured& out)
      : node_(system.node()), ctx_(*node_.ctx), o_(o), monitor_(monitor), out_(out) {}

  void run(const std::function<void()>& started) {
    setup();
    warm_up();
    if (o_.prepost) fill_rings();
    wait_idle(node_);
    begin();
    started();
    if (o_.prepost)
      ring_all();
    else
      post_what_fits();
    while (!finished()) {
      const auto wc = ctx_.wait_cq(cq_, patience());
      if (wc) {
        take(*wc);
        while (const auto more = ctx_.poll_cq(cq_)) take(*more);
      }
      if (!o_.prepost) post_what_fits();
    }
    out_.done = true;
    wait_idle(node_);
  }

 private:
  struct Queue {
    host::Qp* qp = nullptr;
    host::SendWr wr;
    uint64_t posted = 0, done = 0, since_signal = 0;
    std::deque<std::pair<uint64_t, uint64_t>> signaled;  ///< (messages done with it, ps of its post)
  };

  void setup() {
    const uint64_t each = (std::max<uint64_t>(o_.size, 1) + 4095) / 4096 * 4096;
    const uint64_t offset = ctx_.alloc(o_.mem, each * o_.qps);
    if (o_.mem == host::Space::kHost) node_.hub->host_memory().set_background(o_.common.seed);
    const host::Mr mr = ctx_.reg_mr(1, o_.mem, offset, each * o_.qps, 0x7f00'0000'0000);
    const uint64_t depth = o_.prepost ? o_.iters : o_.tx_depth;
    cq_ = ctx_.create_cq(std::min(22u, std::max(4u, log2_up(depth * o_.qps))));
    queues_.resize(o_.qps);
    for (unsigned q = 0; q < o_.qps; ++q) {
      host::QpInit init;
      init.type = o_.transport;
      init.where = o_.sq;
      Queue& u = queues_[q];
      u.wr.opcode = o_.opcode();
      u.wr.send_inline = o_.is_inline();
      u.wr.length = o_.size;
      init.log_sq_size = log2_up(depth * o_.wqe_blocks());
      u.qp = ctx_.create_qp(cq_, init);
      host::QpPath path;
      path.mtu = o_.mtu;
      path.dest_qpn = 0x100 + q;
      ctx_.modify_qp_rts(u.qp, path);
      by_qpn_[u.qp->qpn] = q;
      u.wr.addr = mr.addr + each * q;
      u.wr.lkey = mr.lkey;
      u.wr.remote_addr = 0x1000'0000 + each * q;
      u.wr.rkey = 0x1234;
    }
  }

  /// One message of each QP, so that its context, the region's and the CQ's are on chip as far as they fit.
  void warm_up() {
    for (Queue& u : queues_) {
      ctx_.post_send(u.qp, u.wr);
      // A slow link takes long for a large message: --max-sim-time is the limit.
      const auto wc = ctx_.wait_cq(cq_, sc_core::sc_max_time());
      check(*wc);
    }
  }

  void fill_rings() {
    for (Queue& u : queues_) {
      for (uint64_t i = 0; i < o_.iters; ++i) {
        u.wr.signaled = signals(u, i);
        ctx_.queue_send(u.qp, {u.wr});
      }
    }
  }

  void ring_all() {
    for (Queue& u : queues_) {
      u.posted = o_.iters;
      // They stand in the rings; what counts as posting is the doorbell.
      out_.posted_ps.insert(out_.posted_ps.end(), o_.iters, now_ps());
      for (auto& s : u.signaled) s.second = now_ps();
      ctx_.ring_doorbell(u.qp->qpn, u.qp->pi);
    }
  }

  /// Whether message i of the queue asks for a completion; keeps account.
  bool signals(Queue& u, uint64_t i) {
    ++u.since_signal;
    const bool last = o_.duration_ps == 0 && i + 1 == o_.iters;
    if (!last && u.since_signal < o_.cq_mod) return false;
    u.since_signal = 0;
    u.signaled.emplace_back(i + 1, 0);
    return true;
  }

  void begin() {
    out_.first_post_ps = now_ps();
    if (o_.duration_ps != 0) {
      end_ps_ = out_.first_post_ps + o_.duration_ps;
      monitor_.start_times(now_ps(), out_.first_post_ps + o_.duration_ps / 8, end_ps_ - o_.duration_ps / 8);
      return;
    }
    // The middle three quarters of the frames, when there are enough for a rate.
    const uint64_t frames = o_.messages() * o_.packets_each();
    const uint64_t edge = frames >= 32 ? frames / 8 : 0;
    monitor_.start(now_ps(), edge, frames - edge);
  }

  bool time_is_up() const { return end_ps_ != 0 && now_ps() >= end_ps_; }

  Time patience() const {
    if (end_ps_ == 0) return sc_core::sc_max_time();
    return time_is_up() ? sc_core::SC_ZERO_TIME : from_ps(end_ps_ - now_ps());
  }

  /// All that the queues' depth allows, one QP after the other.
  void post_what_fits() {
    for (Queue& u : queues_) {
      while (!time_is_up()) {
        const uint64_t left = o_.duration_ps != 0 ? o_.post_list : o_.iters - u.posted;
        const uint64_t n = std::min<uint64_t>(left, o_.post_list);
        if (n == 0 || u.posted - u.done + n > o_.tx_depth) break;
        std::vector<host::SendWr> list(n, u.wr);
        for (uint64_t i = 0; i < n; ++i) {
          list[i].signaled = signals(u, u.posted + i);
          if (list[i].signaled) u.signaled.back().second = now_ps();
          out_.posted_ps.push_back(now_ps());
        }
        u.posted += n;
        if (out_.posted_ps.size() > kMostMessages) {
          throw InputError("", 0, "--duration", "has more messages than are kept: use a shorter one");
        }
        out_.cpu_since_ps = now_ps();
        ctx_.post_send(u.qp, list);
        out_.cpu_ps += now_ps() - out_.cpu_since_ps;
        out_.cpu_since_ps = ~uint64_t{0};
      }
    }
  }

  void check(const host::WorkCompletion& wc) const {
    if (wc.status == host::WcStatus::kSuccess) return;
    throw SimError(fmt::format("WQE {} of QP {} completed with '{}' (vendor syndrome {:#x})", wc.wqe_counter, wc.qpn,
                               host::to_string(wc.status), wc.vendor_err));
  }

  void take(const host::WorkCompletion& wc) {
    check(wc);
    Queue& u = queues_[by_qpn_.at(wc.qpn)];
    const auto [done, posted_ps] = u.signaled.front();
    u.signaled.pop_front();
    total_done_ += done - u.done;
    u.done = done;
    if (end_ps_ != 0 && now_ps() > end_ps_) return;
    out_.completed = total_done_;
    out_.last_completion_ps = now_ps();
    out_.completions.emplace_back(now_ps(), total_done_);
    out_.post_to_completion_ns.push_back(static_cast<double>(now_ps() - posted_ps) / 1000);
  }

  bool finished() const { return end_ps_ != 0 ? time_is_up() : total_done_ == o_.messages(); }

  static constexpr size_t kMostMessages = 4'000'000;
  Node& node_;
  host::Context& ctx_;
  const PerfOptions& o_;
  ResourceMonitor& monitor_;
  PerfMeasured& out_;
  host::Cq* cq_ = nullptr;
  std::vector<Queue> queues_;
  std::map<uint32_t, unsigned> by_qpn_;
  uint64_t total_done_ = 0, end_ps_ = 0;
};

}  // namespace

void perf_sender(System& system, const PerfOptions& o, ResourceMonitor& monitor, const std::function<void()>& started,
                 PerfMeasured& out) {
  Sender(system, o, monitor, out).run(started);
}

double peak_messages_per_s(const PerfMeasured& m) {
  // Every pair of a post and a completion; of very many posts a part, which can only make the peak lower.
  const size_t pairs = m.posted_ps.size() * m.completions.size();
  const size_t step = 1 + pairs / 20'000'000;
  double best = 0;
  for (size_t i = 0; i < m.posted_ps.size(); i += step) {
    for (const auto& [ps, done] : m.completions) {
      if (done <= i || ps <= m.posted_ps[i]) continue;
      best = std::max(best, static_cast<double>(done - i) / static_cast<double>(ps - m.posted_ps[i]));
    }
  }
  return best * 1e12;
}

}  // namespace rnic::cli
