// SPDX-License-Identifier: Apache-2.0
#include "rnic/pcie/link.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <utility>

#include "pcie/link_line.h"
#include "rnic/core/error.h"

namespace rnic::pcie {
namespace {

constexpr auto kModel = DelayQueue::Kind::kModel;
constexpr uint64_t kNever = ~uint64_t{0};
constexpr unsigned kSeqMask = 4095;           ///< sequence numbers have 12 bits (PCI Express 4.0, 3.6.2)
constexpr unsigned kMostUnacked = 2048;       ///< so that old and new can be told apart
constexpr unsigned kReplayNum = 4;            ///< REPLAY_NUM has 2 bits (3.6.2.1)
constexpr unsigned kAhead = 2;                ///< TLPs whose place on the line is settled before they start
constexpr uint64_t kFcRepeatPs = 30'000'000;  ///< UpdateFC at least so often (2.6.1.2)
constexpr unsigned kLargestTlp = 4096 + 24;
constexpr unsigned kTxBytes = 1024;  ///< of the transmit buffer, for TLPs beyond the one on the line
constexpr unsigned kTxTlps = 2;      ///< that it holds at least, however long

enum Class : unsigned { kP, kNp, kCpl, kClasses };

Class class_of(const Tlp& t) {
  if (t.is_completion()) return kCpl;
  const unsigned type = t.fmt_type() & 0x1f;
  return t.is_mem_write() || (type & 0x18) == 0x10 ? kP : kNp;
}

/// Header and data credits, of a TLP, a limit or a running total.
struct Credit {
  uint64_t hdr = 0, data = 0;
  Credit& operator+=(const Credit& o) {
    hdr += o.hdr;
    data += o.data;
    return *this;
  }
};
/// By the Length field: a TLP that was broken off has not all of its data.
Credit need(const Tlp& t) { return {1, t.has_data() ? (t.length_dw() + 3u) / 4 : 0}; }

/// One draw for each thing that the line could corrupt.
class Errors {
 public:
  Errors(double rate, uint64_t seed) : rate_(rate), state_(seed) {}
  bool hit() {
    if (rate_ <= 0) return false;
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53 < rate_;
  }

 private:
  double rate_;
  uint64_t state_;
};

/// Statistics of one kind of credit.
struct Pool {
  unsigned limit = 0, largest = 1;
  uint64_t taken = 0, back = 0;
  uint64_t since_ps = 0;  ///< up to where held_ps and none_ps are counted
  Link::CreditUse use;
  uint64_t away() const { return taken - back; }
  bool none() const { return limit != 0 && away() + largest > limit; }
  void count_to(uint64_t ps) {
    if (ps <= since_ps) return;
    use.held_ps += away() * (ps - since_ps);
    if (away() != 0) use.busy_ps += ps - since_ps;
    if (none()) use.none_ps += ps - since_ps;
    since_ps = ps;
  }
  void set(uint64_t new_taken, uint64_t new_back, uint64_t ps) {
    count_to(ps);
    taken = new_taken;
    back = new_back;
    use.most = std::max(use.most, static_cast<unsigned>(away()));
  }
  Link::CreditUse at(uint64_t ps) const {
    Pool p = *this;
    p.count_to(ps);
    p.use.limit = limit;
    return p.use;
  }
};

void check(const std::string& name, const LinkConfig& c) {
  const auto bad = [&](const std::string& what) { throw SimError(name + ": " + what); };
  if (c.generation < 1 || c.generation > 6) bad(fmt::format("no PCIe generation {}; allowed: 1..6", c.generation));
  constexpr unsigned kLanes[] = {1, 2, 4, 8, 12, 16};
  if (std::find(std::begin(kLanes), std::end(kLanes), c.lanes) == std::end(kLanes)) {
    bad(fmt::format("no PCIe link of {} lanes; allowed: 1, 2, 4, 8, 12, 16", c.lanes));
  }
  for (const auto& rates : {c.lcrc_error_rate, c.dllp_error_rate}) {
    for (const End e : {kUp, kDown}) {
      // Not >=: NaN fails, too.
      if (!(rates[e] >= 0 && rates[e] < 1)) bad("an error rate is from 0 to less than 1: at 1 nothing would ever pass");
    }
  }
  if (c.replay_tlps < 1 || c.replay_tlps > kMostUnacked) {
    bad(fmt::format("a replay buffer of {} TLPs; allowed: 1..{}", c.replay_tlps, kMostUnacked));
  }
}

}  // namespace

struct Link::Impl {
  struct Handed {
    uint64_t order, ps;
    Tlp tlp;
  };
  struct Unacked {
    uint64_t size;
    Tlp tlp;  ///< moved out once the receiver has taken it: what is sent again after that is dropped there
  };
  struct Frame {
    uint64_t arrive;
    uint16_t seq;
    bool bad;
  };
  struct Dllp {
    enum Kind : uint8_t { kAck, kNak, kFc } kind;
    Class cls;
    uint16_t seq;
    bool lost = false;
    Credit total;
    uint64_t arrive = 0;
    Dllp(Kind k, Class c, uint16_t s, Credit t = {}) : kind(k), cls(c), seq(s), total(t) {}
  };
  /// The TLPs that go from one end to the other, with what both ends know of them, and the line that carries them; the
  /// DLLPs about them go the other way, on the other Dir's line.
  struct Dir {
    Dir(const LinkConfig& c, End from)
        : line(c.generation, c.lanes),
          tlp_errors(c.lcrc_error_rate[other(from)], c.seed * 4 + from),
          dllp_errors(c.dllp_error_rate[other(from)], c.seed * 4 + 2 + from) {
      const CreditLimits& l = c.credits[other(from)];
      // Infinite headers or data make posted requests unlimited: the NIC's port has one flag for both.
      if (l.ph != 0 && l.pd != 0) limit[kP] = {l.ph, l.pd};
      limit[kNp] = {l.nph, l.npd};
      limit[kCpl] = {l.cplh, l.cpld};
      pool[0].limit = static_cast<unsigned>(limit[kP].hdr);
      pool[1].limit = static_cast<unsigned>(limit[kP].data);
      pool[2].limit = l.nph;
      pool[1].largest = c.largest_pd;
    }

    // Line
    Line line;
    Errors tlp_errors, dllp_errors;
    std::deque<Frame> flight;
    std::deque<Dllp> dllps;
    uint64_t dllps_gone = 0;  ///< taken out of `dllps` so far
    /// The line as it was before the DLLPs that were put on it at tie_ps: a TLP handed over at that very picosecond
    /// goes before them, whatever the kernel ran first.
    uint64_t tie_ps = kNever, tie_first = 0;
    Line tie_line{1, 1};
    // Sender
    bool gate = true, pumping = false, pump_armed = false;
    std::array<std::deque<Handed>, kClasses> waiting;
    uint64_t next_order = 0;
    struct Start {
      uint64_t handed, start, size;
    };
    std::deque<Start> starts;
    std::deque<Unacked> unacked;
    uint16_t first_seq = 0;  ///< of unacked.front(), or the next one
    bool replaying = false, timer_armed = false;
    size_t resend = 0;
    unsigned replay_num = 0;
    uint64_t deadline = 0, blocked_since = kNever;
    std::array<Credit, kClasses> limit, taken, shown;
    std::array<Credit, kClasses> handed;  ///< by a sender without gate
    struct Shown {
      uint64_t ps;
      std::array<Credit, kClasses> total;
    };
    std::deque<Shown> history;
    std::array<Credit, kClasses> shown_before;  ///< the history
    std::array<Pool, 3> pool;                   ///< ph, pd, nph
    // Receiver
    uint16_t expected = 0;
    bool nak_sent = false, ack_pending = false, ack_armed = false, fc_armed = false;
    std::array<Credit, kClasses> freed, announced;
    std::function<void(Tlp)> receive;
    std::function<void(const Tlp&, const Time&)> on_start;
    Counters c;

    bool limited(Class k) const { return limit[k].hdr != 0 || limit[k].data != 0; }
    bool has_waiting() const { return !waiting[kP].empty() || !waiting[kNp].empty() || !waiting[kCpl].empty(); }
    bool room(Class k, const Credit& n) const {
      if (!gate) return true;
      const Credit &l = limit[k], &t = taken[k], &s = shown[k];
      return (l.hdr == 0 || t.hdr + n.hdr <= l.hdr + s.hdr) && (l.data == 0 || t.data + n.data <= l.data + s.data);
    }
    void count_pools(uint64_t ps) {
      pool[0].set(taken[kP].hdr, limit[kP].hdr ? shown[kP].hdr : taken[kP].hdr, ps);
      pool[1].set(taken[kP].data, limit[kP].data ? shown[kP].data : taken[kP].data, ps);
      pool[2].set(taken[kNp].hdr, limit[kNp].hdr ? shown[kNp].hdr : taken[kNp].hdr, ps);
    }
  };

  Impl(std::string n, const LinkConfig& c, DelayQueue& q)
      : name(std::move(n)), config((check(name, c), c)), queue(q), dir{Dir(c, kUp), Dir(c, kDown)} {
    for (const End e : {kUp, kDown}) lossy |= c.lcrc_error_rate[e] > 0 || c.dllp_error_rate[e] > 0;
    // What a good link can take must not look like a loss: both flights, a late ACK, and it behind what is on the line.
    Line line(c.generation, c.lanes);
    const uint64_t tlps = line.tlp(0, (kAhead + 2) * kLargestTlp).end_ps;
    timeout = std::max(to_ps(c.replay_timeout), 2 * to_ps(c.latency) + to_ps(c.ack_latency) + tlps);
  }

  static uint64_t now() { return DelayQueue::now_ps(); }
  uint64_t latency() const { return to_ps(config.latency); }
  template <class F>
  void later(uint64_t ps, F fn) {
    queue.at(from_ps(std::max(ps, now())), std::move(fn), kModel);
  }

  // ---- Sender ----

  void send(End from, Tlp t, uint64_t edge) {
    if (!up) return;
    Dir& d = dir[from];
    const Class k = class_of(t);
    const Credit n = need(t);
    if (d.gate) {
      const Credit& l = d.limit[k];
      if ((l.hdr != 0 && l.hdr < n.hdr) || (l.data != 0 && l.data < n.data)) {
        throw SimError(
            fmt::format("{}: a TLP that needs {} data credits never fits into the {} that the other end has "
                        "in all; give the receiver more: {}",
                        name, n.data, l.data, t.describe()));
      }
    }
    if (!d.gate && k != kCpl) {  // limits() shows none for completions
      const Credit &l = d.limit[k], &s = d.shown[k], &all = d.handed[k] += n;
      if ((l.hdr != 0 && all.hdr > l.hdr + s.hdr) || (l.data != 0 && all.data > l.data + s.data)) {
        throw SimError(fmt::format("{}: a TLP without the credits for it, headers {} of {}, data {} of {}: {}", name,
                                   all.hdr, l.hdr + s.hdr, all.data, l.data + s.data, t.describe()));
      }
    }
    d.waiting[k].push_back({d.next_order++, edge, std::move(t)});
    pump(from, edge);
  }

  /// Whether a TLP may pass the earlier posted ones that wait (table 2-39, column 2).
  static bool passes_posted(const Dir& d, const Handed& h, Class k) {
    if (d.waiting[kP].empty() || d.waiting[kP].front().order > h.order) return true;
    if (k == kCpl && h.tlp.relaxed()) return true;
    if (!h.tlp.id_based()) return false;
    const auto id = static_cast<uint16_t>(h.tlp.hdr[1] >> 16);  // requester's, or the completer's of a completion
    return std::none_of(d.waiting[kP].begin(), d.waiting[kP].end(),
                        [&](const Handed& p) { return p.order < h.order && p.tlp.requester_id() == id; });
  }

  /// The oldest that may go; kClasses: none.
  static unsigned choose(const Dir& d) {
    unsigned best = kClasses;
    for (const Class k : {kP, kNp, kCpl}) {
      if (d.waiting[k].empty()) continue;
      const Handed& h = d.waiting[k].front();
      if (best != kClasses && d.waiting[best].front().order < h.order) continue;
      if (d.room(k, need(h.tlp)) && (k == kP || passes_posted(d, h, k))) best = k;
    }
    return best;
  }

  void pump(End from, uint64_t t) {
    Dir& d = dir[from];
    if (!up || d.pumping) return;
    d.pumping = true;
    while (up && (d.replaying || d.has_waiting())) {
      if (d.starts.size() >= kAhead) {
        const uint64_t start = d.starts[d.starts.size() - kAhead].start;
        if (start > t) {
          if (!std::exchange(d.pump_armed, true)) {
            later(start, [this, from] {
              dir[from].pump_armed = false;
              pump(from, now());
            });
          }
          break;
        }
      }
      if (d.replaying) {
        Unacked& u = d.unacked[d.resend];
        const uint64_t end = put(from, static_cast<uint16_t>((d.first_seq + d.resend) & kSeqMask), u.size, t, t).end_ps;
        ++d.c.replayed;
        d.c.replay_bytes += u.size;
        d.deadline = end + timeout;
        if (++d.resend == d.unacked.size()) d.replaying = false;
        continue;
      }
      if (d.unacked.size() >= config.replay_tlps) break;
      const unsigned k = choose(d);
      if (k == kClasses) {
        if (d.blocked_since == kNever) d.blocked_since = t;
        break;
      }
      if (d.blocked_since != kNever) {
        d.c.waited_for_credits_ps += t > d.blocked_since ? t - d.blocked_since : 0;
        d.blocked_since = kNever;
      }
      Handed h = std::move(d.waiting[k].front());
      d.waiting[k].pop_front();
      first_time(from, static_cast<Class>(k), std::move(h), t);
    }
    d.pumping = false;
  }

  void first_time(End from, Class k, Handed h, uint64_t t) {
    Dir& d = dir[from];
    d.taken[k] += need(h.tlp);
    d.count_pools(t);
    const uint64_t size = d.line.size_of(h.tlp.wire_bytes());
    const auto slot = put(from, static_cast<uint16_t>((d.first_seq + d.unacked.size()) & kSeqMask), size, h.ps, t);
    ++d.c.tlps;
    d.c.tlp_bytes += size;
    d.c.payload_bytes += h.tlp.data.size();
    if (d.unacked.empty()) d.deadline = slot.end_ps + timeout;
    d.unacked.push_back({size, std::move(h.tlp)});
    arm_replay_timer(from);
    if (d.on_start) d.on_start(d.unacked.back().tlp, from_ps(slot.start_ps));
  }

  Line::Slot put(End from, uint16_t seq, uint64_t size, uint64_t handed, uint64_t t) {
    Dir& d = dir[from];
    const bool tie = d.tie_ps == t && !d.line.flits();
    if (tie) d.line = d.tie_line;
    const auto slot = d.line.tlp(t, size);
    while (!d.starts.empty() && d.starts.front().start < now()) d.starts.pop_front();
    d.starts.push_back({handed, slot.start_ps, size});
    const uint64_t arrive = slot.end_ps + latency();
    const bool same = !d.flight.empty() && d.flight.back().arrive == arrive;
    // A flit is good or bad as a whole.
    const bool bad = same && d.line.flits() ? d.flight.back().bad : d.tlp_errors.hit();
    d.flight.push_back({arrive, seq, bad});
    if (!same) later(arrive, [this, from] { arrived(from); });
    if (tie) {
      for (uint64_t i = d.tie_first - d.dllps_gone; i < d.dllps.size(); ++i) place(from, d.dllps[i], t);
      d.tie_ps = kNever;
    }
    return slot;
  }

  /// Without losses only a wrong timeout could fire: no events for that.
  void arm_replay_timer(End from) {
    Dir& d = dir[from];
    if (!lossy || std::exchange(d.timer_armed, true)) return;
    later(d.deadline, [this, from] {
      Dir& d = dir[from];
      d.timer_armed = false;
      if (!up || d.unacked.empty()) return;
      if (now() >= d.deadline) {
        ++d.c.replay_timeouts;
        replay(from);
      }
      arm_replay_timer(from);
    });
  }

  void replay(End from) {
    Dir& d = dir[from];
    if (++d.replay_num == kReplayNum) {
      ++d.c.replay_rollovers;
      d.replay_num = 0;
    }
    d.replaying = true;
    d.resend = 0;
    d.deadline = now() + timeout;
    pump(from, now());
  }

  void acknowledged(End from, uint16_t seq) {
    Dir& d = dir[from];
    const size_t n = (seq + 1u - d.first_seq) & kSeqMask;
    if (n == 0 || n > d.unacked.size()) return;  // an old one
    d.unacked.erase(d.unacked.begin(), d.unacked.begin() + static_cast<std::ptrdiff_t>(n));
    d.first_seq = static_cast<uint16_t>((d.first_seq + n) & kSeqMask);
    d.resend = d.resend > n ? d.resend - n : 0;
    if (d.resend >= d.unacked.size()) d.replaying = false;
    d.replay_num = 0;
    d.deadline = now() + timeout;
  }

  // ---- Receiver ----

  /// The TLPs that end now at the other end.
  void arrived(End from) {
    Dir& d = dir[from];
    while (up && !d.flight.empty() && d.flight.front().arrive <= now()) {
      const Frame f = d.flight.front();
      d.flight.pop_front();
      if (f.bad) {
        ++d.c.bad_lcrc;
        nak(from);
        continue;
      }
      if (f.seq != d.expected) {
        if (((d.expected - f.seq) & kSeqMask) <= kMostUnacked) {
          ++d.c.duplicates;
          ack(from);
        } else {
          nak(from);
        }
        continue;
      }
      Tlp t = std::move(d.unacked[(f.seq - d.first_seq) & kSeqMask].tlp);
      d.expected = static_cast<uint16_t>((d.expected + 1) & kSeqMask);
      d.nak_sent = false;
      ack(from);
      if (!d.receive) throw SimError(name + ": a TLP for an end at which nobody takes any");
      d.receive(std::move(t));
    }
  }

  uint16_t last_good(End from) const { return static_cast<uint16_t>((dir[from].expected - 1) & kSeqMask); }

  void ack(End from) {
    Dir& d = dir[from];
    d.ack_pending = true;
    if (std::exchange(d.ack_armed, true)) return;
    later(now() + to_ps(config.ack_latency), [this, from] {
      Dir& d = dir[from];
      d.ack_armed = false;
      if (up && std::exchange(d.ack_pending, false)) dllp(other(from), {Dllp::kAck, kP, last_good(from)}, now());
    });
  }

  void nak(End from) {
    Dir& d = dir[from];
    if (std::exchange(d.nak_sent, true)) return;
    d.ack_pending = false;  // it acknowledges, too
    dllp(other(from), {Dllp::kNak, kP, last_good(from)}, now());
  }

  void release(End at, const Tlp& t, uint64_t when) {
    if (!up) return;
    const End from = other(at);
    Dir& d = dir[from];
    const Class k = class_of(t);
    if (!d.limited(k)) return;
    d.freed[k] += need(t);
    // More than ever came: of a TLP that took credits and was broken off.
    d.taken[k].hdr = std::max(d.taken[k].hdr, d.freed[k].hdr);
    d.taken[k].data = std::max(d.taken[k].data, d.freed[k].data);
    d.count_pools(when);
    const auto much = [](uint64_t freed, uint64_t limit) { return limit != 0 && 4 * freed >= limit; };
    if (much(d.freed[k].hdr - d.announced[k].hdr, d.limit[k].hdr) ||
        much(d.freed[k].data - d.announced[k].data, d.limit[k].data)) {
      return announce(from, k, when);
    }
    if (std::exchange(d.fc_armed, true)) return;
    later(when + to_ps(config.fc_latency), [this, from] {
      Dir& d = dir[from];
      d.fc_armed = false;
      for (const Class c : {kP, kNp, kCpl}) {
        if (up && d.announced[c].hdr != d.freed[c].hdr) announce(from, c, now());
      }
    });
  }

  void announce(End from, Class k, uint64_t t) {
    Dir& d = dir[from];
    d.announced[k] = d.freed[k];
    dllp(other(from), {Dllp::kFc, k, 0, d.freed[k]}, t);
  }

  // ---- DLLPs ----

  /// One leaves end `from`, behind what is settled already.
  void dllp(End from, Dllp p, uint64_t t) {
    Dir& d = dir[from];
    if (d.tie_ps != t) {
      d.tie_ps = t;
      d.tie_line = d.line;
      d.tie_first = d.dllps_gone + d.dllps.size();
    }
    ++(p.kind == Dllp::kAck ? d.c.acks : p.kind == Dllp::kNak ? d.c.naks : d.c.fc_updates);
    if (!d.line.flits()) d.c.dllp_bytes += kDllpBytes;
    p.lost = d.dllp_errors.hit();
    d.dllps.push_back(p);
    place(from, d.dllps.back(), t);
  }

  void place(End from, Dllp& p, uint64_t t) {
    p.arrive = dir[from].line.dllp(t).end_ps + latency();
    later(p.arrive, [this, from] { dllps_arrived(from); });
  }

  void dllps_arrived(End from) {
    Dir& d = dir[from];
    while (up && !d.dllps.empty() && d.dllps.front().arrive <= now()) {
      const Dllp p = d.dllps.front();
      d.dllps.pop_front();
      ++d.dllps_gone;
      const End sender = other(from);  // of the TLPs that it is about
      Dir& s = dir[sender];
      if (p.lost) {
        ++d.c.lost_dllps;
        if (p.kind == Dllp::kFc) repeat(sender, p.cls);
        continue;
      }
      if (p.kind == Dllp::kFc) {
        s.shown[p.cls].hdr = std::max(s.shown[p.cls].hdr, p.total.hdr);
        s.shown[p.cls].data = std::max(s.shown[p.cls].data, p.total.data);
        s.count_pools(now());
        settle(s, now());
        s.history.push_back({now(), s.shown});
      } else {
        acknowledged(sender, p.seq);
        if (p.kind == Dllp::kNak && !s.unacked.empty()) {
          replay(sender);
          continue;
        }
      }
      pump(sender, now());
    }
  }

  /// Credits are announced over and over. Those announcements that bring nothing new are left out.
  void repeat(End from, Class k) {
    later(now() + kFcRepeatPs, [this, from, k] {
      const Dir& d = dir[from];
      if (up && d.shown[k].hdr != d.freed[k].hdr && d.announced[k].hdr == d.freed[k].hdr) announce(from, k, now());
    });
  }

  static void settle(Dir& d, uint64_t before_ps) {
    while (!d.history.empty() && d.history.front().ps < before_ps) {
      d.shown_before = d.history.front().total;
      d.history.pop_front();
    }
  }

  // ---- State ----

  void take_down() {
    up = false;
    for (Dir& d : dir) {
      for (auto& w : d.waiting) w.clear();
      d.flight.clear();
      d.dllps.clear();
      d.unacked.clear();
      d.starts.clear();
      d.replaying = d.ack_pending = false;
      d.count_pools(now());
      for (Pool& p : d.pool) p.set(p.taken, p.taken, now());
    }
  }

  std::string pending() const {
    if (!up) return "";
    std::string text;
    for (const End e : {kUp, kDown}) {
      const Dir& d = dir[e];
      const auto add = [&](size_t n, const char* what) {
        if (n == 0) return;
        text += fmt::format("{}{} {} ({})", text.empty() ? name + ": " : ", ", n, what, e == kUp ? "down" : "up");
      };
      add(d.waiting[kP].size() + d.waiting[kNp].size() + d.waiting[kCpl].size(), "TLPs wait for line or credits");
      add(d.unacked.size(), "TLPs not acknowledged");
      add(d.flight.size(), "TLPs on the line");
      add(d.dllps.size() + d.ack_pending, "DLLPs under way");
      for (const Class k : {kP, kNp, kCpl}) {
        constexpr const char* kNames[] = {"posted", "non-posted", "completion"};
        if (!d.limited(k) || d.taken[k].hdr == d.shown[k].hdr) continue;
        add(d.taken[k].hdr - d.shown[k].hdr, fmt::format("{} header credits away", kNames[k]).c_str());
      }
    }
    return text;
  }

  const std::string name;
  const LinkConfig config;
  DelayQueue& queue;
  bool up = true;
  bool lossy = false;
  uint64_t timeout = 0;
  mutable std::array<Dir, 2> dir;  ///< by the end where its TLPs start
};

Link::Link(std::string name, const LinkConfig& config, DelayQueue& queue)
    : impl_(std::make_unique<Impl>(std::move(name), config, queue)) {}
Link::~Link() = default;

void Link::on_receive(End at, std::function<void(Tlp)> fn) { impl_->dir[other(at)].receive = std::move(fn); }
void Link::on_start(End from, std::function<void(const Tlp&, const Time&)> fn) {
  impl_->dir[from].on_start = std::move(fn);
}
void Link::set_gate(End from, bool gate) { impl_->dir[from].gate = gate; }
void Link::send(End from, Tlp tlp, const Time& edge) { impl_->send(from, std::move(tlp), to_ps(edge)); }
void Link::release(End at, const Tlp& tlp, const Time& when) { impl_->release(at, tlp, to_ps(when)); }

bool Link::ready(End from, const Time& edge) const {
  const Impl::Dir& d = impl_->dir[from];
  const uint64_t e = to_ps(edge);
  uint64_t tlps = 0, bytes = 0;
  const auto full = [&] { return tlps >= kTxTlps && bytes >= kTxBytes; };
  for (auto s = d.starts.rbegin(); s != d.starts.rend() && s->start >= e; ++s) {
    if (s->handed < e) ++tlps, bytes += s->size;
  }
  for (const auto& w : d.waiting) {
    for (auto h = w.rbegin(); h != w.rend() && !full(); ++h) {
      if (h->ps < e) ++tlps, bytes += d.line.size_of(h->tlp.wire_bytes());
    }
  }
  return !full();
}

rtl::pcie_fc_t Link::limits(End from, const Time& edge) const {
  Impl::Dir& d = impl_->dir[from];
  Impl::settle(d, DelayQueue::now_ps());
  auto shown = d.shown_before;
  for (const auto& h : d.history) {
    if (h.ps >= to_ps(edge)) break;
    shown = h.total;
  }
  rtl::pcie_fc_t fc;
  fc.p_inf = d.limit[kP].hdr == 0;
  fc.ph = static_cast<uint8_t>(d.limit[kP].hdr + shown[kP].hdr);
  fc.pd = static_cast<uint16_t>((d.limit[kP].data + shown[kP].data) & 0xfff);
  fc.np_inf = d.limit[kNp].hdr == 0;
  fc.nph = static_cast<uint8_t>(d.limit[kNp].hdr + shown[kNp].hdr);
  return fc;
}

void Link::take_down() { impl_->take_down(); }
bool Link::up() const { return impl_->up; }

Link::Counters Link::counters(End from, uint64_t now_ps) const {
  const Impl::Dir& d = impl_->dir[from];
  Counters c = d.c;
  c.busy_ps = d.line.busy_for_ps(now_ps);
  if (d.blocked_since < now_ps) c.waited_for_credits_ps += now_ps - d.blocked_since;
  return c;
}

Link::CreditsUsed Link::credits_used(End from, uint64_t now_ps) const {
  const auto& pool = impl_->dir[from].pool;
  return {pool[0].at(now_ps), pool[1].at(now_ps), pool[2].at(now_ps)};
}

bool Link::idle() const { return impl_->pending().empty(); }
std::string Link::pending() const { return impl_->pending(); }

}  // namespace rnic::pcie
