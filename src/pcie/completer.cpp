// SPDX-License-Identifier: Apache-2.0
#include "rnic/pcie/completer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "rnic/pcie/topology.h"

namespace rnic::pcie {
namespace {

constexpr auto kModel = DelayQueue::Kind::kModel;
constexpr double kLongestTail = 20;  ///< times the mean: a read must not be late for ever

bool byte_enabled(const Tlp& t, unsigned i) {
  const unsigned dw = i / 4;
  unsigned be = 0xf;
  if (dw == 0) {
    be = t.first_be();
  } else if (dw + 1 == t.length_dw()) {
    be = t.last_be();
  }
  return be >> (i & 3) & 1;
}

void set_tag(Tlp& cpl, unsigned tag) {
  cpl.hdr[0] = (cpl.hdr[0] & ~(1u << 19 | 1u << 23)) | (tag >> 8 & 1) << 19 | (tag >> 9 & 1) << 23;
  cpl.hdr[2] = (cpl.hdr[2] & ~0xff00u) | (tag & 0xff) << 8;
}

}  // namespace

Span enabled(const Tlp& t) {
  const unsigned n = t.length_dw();
  const unsigned tail = n == 1 ? t.first_be() : t.last_be();
  if (t.first_be() == 0 || tail == 0) return {0, 0};
  unsigned first = 0;
  while (!(t.first_be() >> first & 1)) ++first;
  unsigned last = 3;
  while (!(tail >> last & 1)) --last;
  return {first, (n - 1) * 4 + last + 1};
}

unsigned byte_count(const Tlp& read) {
  const Span s = enabled(read);
  return s.end > s.first ? s.end - s.first : 1;
}

CompleterConfig completer_config(const Profile& p, bool gpu) {
  CompleterConfig c;
  c.mps = static_cast<unsigned>(p.integer("pcie.mps"));
  c.rcb = static_cast<unsigned>(p.integer("pcie.rcb"));
  c.cut_at_rcb = p.text("completer.cut") == "rcb";
  c.interleave = static_cast<unsigned>(p.integer("completer.interleave"));
  c.delay = p.time("completer.delay");
  c.reorder = p.integer("completer.reorder") != 0;
  const std::string& spread = p.text("completer.latency_spread");
  c.spread = spread == "uniform" ? Spread::kUniform : spread == "exponential" ? Spread::kExponential : Spread::kFixed;
  c.width = p.time("completer.latency_width");
  c.seed = p.integer("completer.seed");
  if (gpu) c.reads = p.integer("gpu.bar_reads") != 0;
  c.line = link_serializer(static_cast<unsigned>(p.integer("pcie.generation")),
                           static_cast<unsigned>(p.integer("pcie.lanes")));
  return c;
}

Completer::Completer(std::string name, const CompleterConfig& config, Memory& memory, MemoryTiming& timing,
                     DelayQueue& queue)
    : name_(std::move(name)),
      config_(config),
      memory_(memory),
      timing_(timing),
      queue_(queue),
      random_(config.seed),
      turn_(answers_.end()) {}

// ---- What is served ----

bool Completer::beyond(const Tlp& t) const {
  const uint64_t at = t.address() - config_.base, bytes = t.length_dw() * 4;
  return at >= memory_.size() || bytes > memory_.size() - at;
}

/// At the instant at which data are read or written: a pin may go while a request is under way.
bool Completer::pinned(const Tlp& t) const {
  return !config_.pinned || t.requester_id() == config_.id ||
         config_.pinned->covers(t.address() - config_.base, t.length_dw() * 4);
}

// ---- Order ----

Time Completer::visible_of(uint16_t requester) const {
  const auto it = visible_by_.find(requester);
  return it == visible_by_.end() ? Time{} : it->second;
}

Time Completer::pushed_by_read(const Tlp& read) const {
  return read.id_based() ? visible_of(read.requester_id()) : visible_;
}

Time Completer::pushed_by_completion(const Tlp& completion) const {
  if (completion.relaxed()) return Time{};
  return completion.id_based() ? visible_of(static_cast<uint16_t>(completion.hdr[1] >> 16)) : visible_;
}

// ---- Writes ----

Completer::Access Completer::write(Tlp t, const Time& arrival) {
  const bool inside = !beyond(t) && pinned(t);
  // What is refused moves no bytes.
  const Span span = enabled(t);
  const uint64_t offset = t.address() + span.first - config_.base;
  const auto access = timing_.write(to_ps(arrival), inside ? offset : 0, inside ? span.end - span.first : 0);
  const Time taken = from_ps(access.taken_ps), done = std::max(visible_, from_ps(access.done_ps));
  visible_ = done;
  visible_by_[t.requester_id()] = done;
  if (done == DelayQueue::now() && !config_.exact_writes) {
    store(t);
  } else {
    ++writes_;
    queue_.at(
        done,
        [this, t = std::move(t)] {
          --writes_;
          store(t);
        },
        config_.exact_writes ? DelayQueue::Kind::kExact : kModel);
  }
  return {taken, done, inside};
}

void Completer::store(const Tlp& t) {
  if (beyond(t)) {
    ++counters_.unsupported_write;
    return;
  }
  if (!pinned(t)) {
    ++counters_.unpinned_write;
    return;
  }
  const uint64_t at = t.address() - config_.base;
  const Span span = enabled(t);
  // Runs of enabled bytes; mostly one.
  for (unsigned i = span.first; i < span.end;) {
    unsigned end = i;
    while (end < span.end && byte_enabled(t, end)) ++end;
    memory_.write(at + i, t.data.data() + i, end - i);
    for (i = end; i < span.end && !byte_enabled(t, i); ++i) {
    }
  }
  if (on_write_ && span.end > span.first) on_write_(t.address() + span.first, span.end - span.first, t.op);
}

// ---- Reads ----

Time Completer::draw() {
  if (config_.spread == Spread::kFixed || config_.width == sc_core::SC_ZERO_TIME) return {};
  const double u = static_cast<double>(random_() >> 11) * 0x1p-53;  // [0, 1)
  const double share = config_.spread == Spread::kUniform ? u : std::min(kLongestTail, -std::log1p(-u));
  return from_ps(static_cast<uint64_t>(share * static_cast<double>(to_ps(config_.width))));
}

Completer::Access Completer::read(Tlp t, const Time& arrival) {
  const bool inside = config_.reads && !beyond(t) && pinned(t);
  const uint64_t offset = t.address() + enabled(t).first - config_.base;
  const auto access = timing_.read(to_ps(arrival), inside ? offset : 0, inside ? byte_count(t) : 0);
  const Time taken = from_ps(access.taken_ps);
  Time done = std::max(from_ps(access.done_ps) + draw(), pushed_by_read(t));
  if (!config_.reorder) done = last_done_ = std::max(done, last_done_);
  const FaultPlan plan = fault_ ? fault_(t) : FaultPlan{};
  ++reads_;
  queue_.at(
      done, [this, t = std::move(t), plan] { ready(t, plan); }, kModel);
  return {taken, done, inside};
}

/// Cuts an answer into pieces that end on RCB boundaries.
std::vector<Tlp> Completer::cut(const Tlp& t) const {
  std::vector<Tlp> out;
  uint64_t at = t.address() + enabled(t).first;
  unsigned left = byte_count(t);
  while (left != 0) {
    const uint64_t start = at & ~uint64_t{3};
    uint64_t end = (config_.cut_at_rcb ? start + config_.rcb : start + config_.mps) / config_.rcb * config_.rcb;
    if (end >= at + left) end = at + left;
    const uint64_t stop = (end + 3) & ~uint64_t{3};
    std::vector<uint8_t> data(stop - start);
    memory_.read(start - config_.base, data.data(), data.size());
    out.push_back(make_completion(t, config_.id, rtl::pcie_pkg::StatusSc, left, at & 0x7f, std::move(data)));
    left -= static_cast<unsigned>(end - at);
    at = end;
  }
  return out;
}

void Completer::ready(const Tlp& t, FaultPlan plan) {
  Answer answer;
  const bool refused = !config_.reads || beyond(t);
  if (refused || !pinned(t)) {
    ++(refused ? counters_.unsupported_read : counters_.unpinned_read);
    answer.pieces.push_back(make_completion(t, config_.id, rtl::pcie_pkg::StatusUr, byte_count(t), 0, {}));
    return emit(std::move(answer));
  }
  if (on_sample_) on_sample_(t);
  std::vector<Tlp> pieces = cut(t);
  if (plan.kind != ReadFault::kNone) {
    ++counters_.faults;
    const size_t k = std::min<size_t>(plan.piece, pieces.size() - 1);
    Tlp& hit = pieces[k];
    switch (plan.kind) {
      case ReadFault::kNone:
        break;
      case ReadFault::kUr:
      case ReadFault::kCa: {
        const unsigned status = plan.kind == ReadFault::kUr ? rtl::pcie_pkg::StatusUr : rtl::pcie_pkg::StatusCa;
        const unsigned left = hit.hdr[1] & 0xfff;
        hit = make_completion(t, config_.id, status, left == 0 ? 4096 : left, 0, {});
        pieces.resize(k + 1);
        break;
      }
      case ReadFault::kPoisoned:
        hit.hdr[0] |= 1u << 14;
        break;
      case ReadFault::kDropped:
        pieces.resize(k);
        break;
      case ReadFault::kByteCount:
        hit.hdr[1] = (hit.hdr[1] & ~0xfffu) | (plan.value & 0xfff);
        break;
      case ReadFault::kWrongTag:
        set_tag(hit, plan.value);
        break;
      case ReadFault::kStray: {
        Tlp copy = hit;
        set_tag(copy, plan.value);
        pieces.insert(pieces.begin() + static_cast<std::ptrdiff_t>(k), std::move(copy));
        break;
      }
      case ReadFault::kDuplicate:
        answer.again.push_back(hit);
        answer.again_after = plan.delay;
        break;
      case ReadFault::kTooLong: {
        const size_t more = std::min<size_t>((plan.value + 3) / 4 * 4, 4096 - hit.data.size());
        hit.data.resize(hit.data.size() + more, 0xee);
        hit.hdr[0] = (hit.hdr[0] & ~0x3ffu) | (hit.data.size() / 4 & 0x3ff);
        break;
      }
      case ReadFault::kLate:
        answer.again.assign(pieces.begin() + static_cast<std::ptrdiff_t>(k), pieces.end());
        answer.again_after = plan.delay;
        pieces.resize(k);
        break;
    }
  }
  answer.pieces.assign(std::make_move_iterator(pieces.begin()), std::make_move_iterator(pieces.end()));
  emit(std::move(answer));
}

// ---- Completions ----

void Completer::emit(Answer answer) {
  const bool at_once = config_.interleave == 1 && config_.delay == sc_core::SC_ZERO_TIME;
  if (at_once || answer.pieces.empty()) {
    for (Tlp& t : answer.pieces) respond_(std::move(t));
    return finish(answer);
  }
  const bool wrapped = turn_ == answers_.end();
  answers_.push_back(std::move(answer));
  if (wrapped) turn_ = std::prev(answers_.end());  // after the one that came last, before the first again
  pump();
}

/// The last piece is out.
void Completer::finish(Answer& answer) {
  if (answer.again.empty()) {
    --reads_;
    return;
  }
  queue_.after(
      answer.again_after,
      [this, again = std::move(answer.again)]() mutable {
        for (Tlp& t : again) respond_(std::move(t));
        --reads_;
      },
      kModel);
}

/// One piece at a time, as fast as the link takes them: of the first `interleave` reads that are ready, the next one in
/// turn whose gap is over.
void Completer::pump() {
  while (!answers_.empty()) {
    const Time now = DelayQueue::now();
    if (line_free_ > now) return wake(line_free_);
    Time soonest{};
    bool found = false;
    std::list<Answer>::iterator pick;
    // Round from the one whose turn it is, over those that take part.
    const size_t n = std::min<size_t>(config_.interleave, answers_.size());
    auto it = turn_;
    size_t place = static_cast<size_t>(std::distance(answers_.begin(), turn_));
    for (size_t i = 0; i < n; ++i) {
      if (place >= n) it = answers_.begin(), place = 0;
      if (it->next <= now) {
        pick = it;
        found = true;
        break;
      }
      if (i == 0 || it->next < soonest) soonest = it->next;
      ++it, ++place;
    }
    if (!found) return wake(soonest);
    Tlp t = std::move(pick->pieces.front());
    pick->pieces.pop_front();
    line_free_ = from_ps(config_.line.send(to_ps(now), t.wire_bytes()).end_ps);
    pick->next = line_free_;
    if (config_.delay != sc_core::SC_ZERO_TIME) pick->next += from_ps(random_() % (to_ps(config_.delay) + 1));
    turn_ = std::next(pick);
    const bool last = pick->pieces.empty();
    Answer done;
    if (last) {
      done = std::move(*pick);
      answers_.erase(pick);
    }
    respond_(std::move(t));
    if (last) finish(done);
  }
  turn_ = answers_.end();
}

void Completer::wake(const Time& at) {
  if (wake_pending_ && wake_at_ <= at) return;
  wake_pending_ = true;
  wake_at_ = at;
  queue_.at(
      at,
      [this, at] {
        if (!wake_pending_ || wake_at_ != at) return;  // an earlier one has done its work
        wake_pending_ = false;
        pump();
      },
      kModel);
}

std::string Completer::pending() const {
  if (idle()) return {};
  return fmt::format("{}: {} reads not answered, {} writes not visible", name_, reads_, writes_);
}

}  // namespace rnic::pcie
