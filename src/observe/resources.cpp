// SPDX-License-Identifier: Apache-2.0
#include "rnic/observe/resources.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "rnic/core/types.h"
#include "rnic/net/mac.h"

namespace rnic {
namespace {

constexpr uint64_t kFirstStepPs = 100'000;
constexpr size_t kMaxSamples = 512;
constexpr uint64_t kFraming = net::kPreambleBytes + net::kFcsBytes + net::kIfgBytes;
constexpr double kUsedUp = 0.95;  ///< from here on a resource counts as saturated

double ratio(uint64_t a, uint64_t b) { return b == 0 ? 0 : static_cast<double>(a) / static_cast<double>(b); }

}  // namespace

uint64_t roce_payload_bytes(const std::vector<uint8_t>& f) {
  constexpr size_t kIp = 14, kUdp = kIp + 20, kBth = kUdp + 8;
  if (f.size() < kBth + 12 || f[12] != 0x08 || f[13] != 0x00 || f[kIp] != 0x45 || f[kIp + 9] != 17) return 0;
  if ((f[kUdp + 2] << 8 | f[kUdp + 3]) != 4791) return 0;
  const unsigned op = f[kBth] & 0x1f;
  const bool reth = op == 0x06 || op == 0x0a || op == 0x0b;
  const bool imm = op == 0x03 || op == 0x05 || op == 0x09 || op == 0x0b;
  const size_t total = static_cast<size_t>(f[kIp + 2]) << 8 | f[kIp + 3];
  const size_t around = 20 + 8 + 12 + (reth ? 16 : 0) + (imm ? 4 : 0) + 4 + (f[kBth + 1] >> 4 & 3);
  return total > around ? total - around : 0;
}

// ---- Occupancy ------------------------------------------------------------------------------------------------------

void Occupancy::move(uint64_t ps, unsigned level) {
  const uint64_t time = ps - std::min(ps, since_ps_);
  auto& by_level = totals_.at_level_ps;
  const unsigned shown = std::min(level_, kLevels - 1);
  if (shown >= by_level.size()) by_level.resize(shown + 1);
  by_level[shown] += time;
  totals_.held_ps += level_ * time;
  level_ = level;
  since_ps_ = std::max(ps, since_ps_);
}

Occupancy::Totals Occupancy::totals(uint64_t ps) const {
  Occupancy copy(*this);
  copy.move(ps, level_);
  return copy.totals_;
}

uint64_t Occupancy::at_least_ps(unsigned level, uint64_t ps) const {
  const auto& by_level = totals_.at_level_ps;
  uint64_t time = level_ >= level ? ps - std::min(ps, since_ps_) : 0;
  for (size_t i = level; i < by_level.size(); ++i) time += by_level[i];
  return time;
}

// ---- Monitor --------------------------------------------------------------------------------------------------------

ResourceMonitor::ResourceMonitor(const Profile& profile, std::function<ModelUsage(uint64_t)> read)
    : read_(std::move(read)),
      period_ps_(to_ps(profile.time("clock.core_period"))),
      line_gbps_(profile.integer("mac.rate")),
      tags_limit_(static_cast<unsigned>(
          std::min(profile.integer("build.read_tags"), uint64_t{1} << profile.integer("pcie.tag_bits")))) {}

ResourceMonitor::Sample ResourceMonitor::sample(uint64_t ps) const {
  Sample s = now_;
  s.ps = ps;
  s.models = read_(ps);
  s.tags_held_ps = tags_.held_ps(ps);
  s.reads_held_ps = reads_.held_ps(ps);
  return s;
}

ResourceMonitor::Mark ResourceMonitor::mark(uint64_t ps) const {
  return {sample(ps), tags_.totals(ps), reads_.totals(ps)};
}

void ResourceMonitor::start(uint64_t ps, uint64_t first_frame, uint64_t last_frame) {
  running_ = true;
  from_ = first_frame;
  to_ = last_frame;
  now_ = {};
  first_ = last_ = mark(ps);
  begun_ = from_ == 0;
  ended_ = false;
  samples_ = {first_.sample};
  step_ps_ = kFirstStepPs;
  next_ps_ = ps + step_ps_;
}

void ResourceMonitor::start_times(uint64_t ps, uint64_t from_ps, uint64_t to_ps) {
  start(ps, 0, 0);
  by_time_ = true;
  begun_ = false;
  from_ = from_ps;
  to_ = to_ps;
}

/// Something happens at ps: the steps that ended before it, and the window's ends when they are times.
void ResourceMonitor::tick(uint64_t ps) {
  latest_ps_ = std::max(latest_ps_, ps);
  if (ps >= next_ps_) {
    samples_.push_back(sample(ps));
    while (next_ps_ <= ps) next_ps_ += step_ps_;
    if (samples_.size() > kMaxSamples) {
      size_t kept = 0;
      for (size_t i = 0; i < samples_.size(); i += 2) samples_[kept++] = samples_[i];
      samples_.resize(kept);
      next_ps_ += step_ps_;
      step_ps_ *= 2;
    }
  }
  if (!by_time_ || ended_) return;
  if (!begun_ && ps >= from_) begun_ = true, first_ = last_ = mark(ps);
  if (begun_ && ps >= to_) ended_ = true, last_ = mark(ps);
}

void ResourceMonitor::on_event(const Event& e) {
  // What is held is followed from the beginning, so that levels are right at the start. The answer of device memory is
  // told together with the question, ahead of its time.
  if (running_ && e.kind != EventKind::kDmRsp) tick(e.ps);
  switch (e.kind) {
    case EventKind::kRdIssue:
      reads_.up(e.ps);
      if (running_ && e.op.last) turns_[e.op.qpn].read_ps = e.ps;
      break;
    case EventKind::kRdDone:
      reads_.down(e.ps);
      break;
    case EventKind::kWqe: {
      if (!running_) break;
      ++now_.wqes;
      Turn& t = turns_[e.op.qpn];
      if (t.read_ps != 0 && in_window()) {
        const uint64_t waited = e.ps - t.read_ps;
        ++t.turns;
        t.waited_ps += waited;
        if (waited < t.shortest_ps) {
          // What was near a longer one is not near this one.
          if (waited * 11 / 10 < t.shortest_ps) t.near_shortest = 0;
          t.shortest_ps = waited;
        }
        t.near_shortest += waited <= t.shortest_ps * 11 / 10;
      }
      t.read_ps = 0;
      break;
    }
    case EventKind::kDmReq:
      context_from_ps_ = e.dm_addr < rtl::rnic_pkg::DmFreeBase ? e.ps : 0;
      break;
    case EventKind::kDmRsp:
      if (context_from_ps_ == 0 || !running_) break;
      ++now_.contexts;
      // Reads of different caches may overlap.
      now_.contexts_ps += e.ps - std::max(context_from_ps_, std::min(context_to_ps_, e.ps));
      context_to_ps_ = std::max(context_to_ps_, e.ps);
      break;
    case EventKind::kCqeIssue:
      if (running_) ++now_.cqes;
      break;
    case EventKind::kDbPins:
      if (running_) ++now_.doorbells;
      break;
    default:
      break;
  }
}

void ResourceMonitor::on_frame(const FrameRecord& f) {
  if (!running_) return;
  ++now_.frames;
  now_.messages += f.op.last;
  now_.wire_bytes += f.bytes.size() + kFraming;
  now_.payload_bytes += roce_payload_bytes(f.bytes);
  tick(f.last_ps);
  if (by_time_ || ended_) return;
  if (now_.frames == from_) begun_ = true, first_ = mark(f.last_ps);
  if (begun_ && now_.frames == to_) ended_ = true, last_ = mark(f.last_ps);
}

void ResourceMonitor::on_tlp(const TlpRecord& t) {
  if (t.from_nic) {
    if (t.tlp->is_mem_read()) tags_.up(t.ps);
    return;
  }
  if (!t.tlp->is_completion()) return;
  const uint32_t dw1 = t.tlp->hdr[1];
  const unsigned count = (dw1 & 0xfff) != 0 ? dw1 & 0xfff : 4096;
  const bool success = (dw1 >> 13 & 7) == 0 && t.tlp->has_data();
  if (!success || count <= t.tlp->data.size() - (t.tlp->hdr[2] & 3)) tags_.down(t.ps);
}

const ResourceRow* ResourceReport::row(const std::string& key) const {
  for (const auto& r : rows) {
    if (r.key == key) return &r;
  }
  return nullptr;
}

ResourceReport ResourceMonitor::report() const {
  // A run that was cut short has its window up to the latest that was seen.
  const Mark end = ended_ ? last_ : mark(std::max(first_.sample.ps, latest_ps_));
  const Sample &a = first_.sample, &b = end.sample;
  const auto &ha = a.models.hub, &hb = b.models.hub;
  const auto &na = a.models.nic, &nb = b.models.nic;
  ResourceReport r;
  r.from_ps = a.ps;
  r.to_ps = b.ps;
  r.line_gbps = static_cast<double>(line_gbps_);
  r.frames = b.frames - a.frames;
  r.messages = b.messages - a.messages;
  r.payload_bytes = b.payload_bytes - a.payload_bytes;
  r.wire_bytes = b.wire_bytes - a.wire_bytes;
  const uint64_t window = b.ps - a.ps;
  if (window == 0) return r;
  const double cycles = static_cast<double>(window) / static_cast<double>(period_ps_);
  const auto per_s = [&](uint64_t n) { return static_cast<double>(n) / r.seconds(); };

  const auto busy = [&](const char* key, const char* name, double share, uint64_t bytes, std::string note) {
    ResourceRow row;
    row.key = key;
    row.name = name;
    row.utilisation = share;
    row.rate = per_s(bytes);
    row.rate_unit = "B/s";
    row.note = std::move(note);
    r.rows.push_back(std::move(row));
  };
  const auto counted = [&](const char* key, const char* name, uint64_t n, double per_cycle, std::string note) {
    ResourceRow row;
    row.key = key;
    row.name = name;
    if (per_cycle != 0) row.utilisation = static_cast<double>(n) / (cycles * per_cycle);
    row.rate = per_s(n);
    row.rate_unit = "1/s";
    row.note = std::move(note);
    r.rows.push_back(std::move(row));
  };
  const auto link = [&](const char* key, const char* name, const pcie::Hub::Usage::Link& x,
                        const pcie::Hub::Usage::Link& y) {
    busy(key, name, ratio(y.busy_ps - x.busy_ps, window), y.bytes - x.bytes,
         fmt::format("{} TLPs, {:.0f} B each with their framing", y.tlps - x.tlps,
                     ratio(y.bytes - x.bytes, y.tlps - x.tlps)));
  };
  const auto held = [&](const char* key, const char* name, const Occupancy::Totals& x, const Occupancy::Totals& y,
                        std::optional<unsigned> limit, const char* note) {
    ResourceRow row;
    row.key = key;
    row.name = name;
    unsigned most = 0;
    std::vector<uint64_t> time(y.at_level_ps);
    for (size_t i = 0; i < x.at_level_ps.size(); ++i) time[i] -= x.at_level_ps[i];
    for (unsigned i = 0; i < time.size(); ++i) {
      if (time[i] != 0) most = i;
    }
    row.mean = ratio(y.held_ps - x.held_ps, window);
    row.most = most;
    if (limit) row.limit = *limit, row.utilisation = *row.mean / *limit;
    // Within a twentieth of it: one that has just been given back is asked for again some cycles later.
    const unsigned top = limit.value_or(most);
    uint64_t at = 0;
    for (unsigned i = top - top / 20; i < time.size(); ++i) at += time[i];
    row.at_limit = most == 0 ? 0 : ratio(at, window);
    row.rate = per_s(y.begun - x.begun);
    row.rate_unit = "1/s";
    row.note = note;
    r.rows.push_back(std::move(row));
  };
  const auto credits = [&](const char* key, const char* name, const pcie::Hub::Usage::Credits& x,
                           const pcie::Hub::Usage::Credits& y) {
    ResourceRow row;
    row.key = key;
    row.name = name;
    row.mean = ratio(y.held_ps - x.held_ps, window);
    row.most = y.most;
    row.rate_unit = "1/s";
    if (y.limit != 0) {
      row.limit = y.limit;
      row.utilisation = *row.mean / y.limit;
      row.at_limit = ratio(y.none_ps - x.none_ps, window);
    }
    row.note = y.limit == 0 ? "no limit set" : "most: since the start";
    r.rows.push_back(std::move(row));
  };
  const auto memory = [&](const char* key, const char* name, const pcie::Hub::Usage::Reads& x,
                          const pcie::Hub::Usage::Reads& y) {
    ResourceRow row;
    row.key = key;
    row.name = name;
    row.rate = per_s(y.bytes - x.bytes);
    row.rate_unit = "B/s";
    row.mean = ratio(y.held_ps - x.held_ps, window);
    row.note = fmt::format("{} reads; the model has latency and no bandwidth limit", y.count - x.count);
    if (y.count != x.count) r.rows.push_back(std::move(row));
  };

  busy("wire", "wire", static_cast<double>(r.wire_bytes) * 8000 / r.line_gbps / static_cast<double>(window),
       r.wire_bytes, fmt::format("{} frames; preamble, FCS and gap included", r.frames));
  link("pcie_down", "PCIe link, to the NIC", ha.nic_down, hb.nic_down);
  link("pcie_up", "PCIe link, from the NIC", ha.nic_up, hb.nic_up);
  if (hb.gpu_up.tlps != ha.gpu_up.tlps) link("gpu_up", "GPU's link, from the GPU", ha.gpu_up, hb.gpu_up);
  if (hb.gpu_down.tlps != ha.gpu_down.tlps) link("gpu_down", "GPU's link, to the GPU", ha.gpu_down, hb.gpu_down);
  held("read_tags", "read tags", first_.tags, end.tags, tags_limit_, "memory read TLPs between their pins");
  held("reads", "payload reads of dma_master", first_.reads, end.reads, std::nullopt,
       "from the request to its last byte; at limit: within 5 % of the most seen");
  credits("credits_nph", "credits, non-posted headers", ha.nph, hb.nph);
  credits("credits_ph", "credits, posted headers", ha.ph, hb.ph);
  credits("credits_pd", "credits, posted data (16 B)", ha.pd, hb.pd);
  memory("gpu_memory", "GPU memory, reads", ha.gpu, hb.gpu);
  memory("host_memory", "host memory, reads", ha.host, hb.host);
  counted("device_memory", "device memory port", nb.dm_blocks - na.dm_blocks, 1, "blocks of 64 B, one a cycle");
  busy("contexts", "contexts read on a miss", ratio(b.contexts_ps - a.contexts_ps, window), 0,
       fmt::format("{} of QPs, CQs and regions; used: time in which one was read", b.contexts - a.contexts));
  r.rows.back().rate = per_s(b.contexts - a.contexts);
  r.rows.back().rate_unit = "1/s";
  counted("beats_cpl", "data path, completions in", nb.tlp_rx_beats - na.tlp_rx_beats, 1, "beats of 64 B, one a cycle");
  counted("beats_tlp", "data path, TLPs out", nb.tlp_tx_beats - na.tlp_tx_beats, 1, "beats of 64 B, one a cycle");
  counted("beats_mac", "data path, to the MAC", nb.mac_beats - na.mac_beats, 1, "beats of 64 B, one a cycle");
  counted("wqes", "WQEs decoded", b.wqes - a.wqes, 1, "one a cycle");
  counted("cqes", "CQE writes", b.cqes - a.cqes, 0.5, "one in two cycles");
  counted("doorbells", "doorbells and consumer indices", nb.doorbells - na.doorbells, 1,
          fmt::format("{} doorbells; one a cycle", b.doorbells - a.doorbells));
  busy("cpu", "posting CPU", ratio(b.models.cpu_ps - a.models.cpu_ps, window), 0, "time of its thread in post_send");
  r.rows.back().rate_unit.clear();

  const auto stall = [&](const char* key, const char* name, uint64_t n, const char* note) {
    r.stalls.push_back({key, name, static_cast<double>(n) / cycles, n, note});
  };
  const auto none = [&](const char* key, const char* name, uint64_t ps) {
    r.stalls.push_back({key, name, ratio(ps, window), ps / period_ps_,
                        "at the hub; whether a request waited for them is not seen from outside the RTL"});
  };
  stall("mac_not_ready", "MAC not ready", nb.mac_wait - na.mac_wait,
        "a beat was offered and the MAC's buffer was full");
  stall("link_busy", "PCIe link busy", nb.tlp_tx_wait - na.tlp_tx_wait,
        "a TLP was offered while two waited for the link already");
  none("no_credit_nph", "no non-posted credit left", hb.nph.none_ps - ha.nph.none_ps);
  none("no_credit_ph", "no posted header credit left", hb.ph.none_ps - ha.ph.none_ps);
  none("no_credit_pd", "posted data credits below one MPS", hb.pd.none_ps - ha.pd.none_ps);
  stall("doorbell_wait", "doorbell waits at the port", nb.doorbell_wait - na.doorbell_wait,
        "a doorbell or command was offered and not taken");
  const ResourceRow* tags = r.row("read_tags");
  if (tags->most && *tags->most >= tags_limit_) {
    const auto& t = end.tags.at_level_ps;
    const auto& s = first_.tags.at_level_ps;
    uint64_t full = 0;
    for (size_t i = tags_limit_; i < t.size(); ++i) full += t[i] - (i < s.size() ? s[i] : 0);
    r.stalls.push_back({"no_tag", "no read tag left", ratio(full, window), full / period_ps_, "seen at the pins"});
  }
  r.bottleneck = bottleneck(r);
  return r;
}

Bottleneck ResourceMonitor::bottleneck(const ResourceReport& r) const {
  // What is used up for its bytes or cycles first; the one with the largest share.
  const ResourceRow* top = nullptr;
  for (const auto& row : r.rows) {
    if (!row.utilisation || row.limit || row.key == "contexts") continue;
    if (!top || *row.utilisation > *top->utilisation) top = &row;
  }
  if (top && *top->utilisation >= kUsedUp) {
    return {true, top->key, fmt::format("{} ({:.1f} %)", top->name, 100 * *top->utilisation)};
  }
  // Then what can only be held so often: a round trip bounds it.
  for (const char* key : {"credits_nph", "credits_pd", "credits_ph", "read_tags"}) {
    const ResourceRow* row = r.row(key);
    if (!row || !row->limit || !row->at_limit || *row->at_limit < 0.8 || *row->most < 0.95 * *row->limit) continue;
    return {true, key,
            fmt::format("{}: all {:.0f} taken {:.0f} % of the time", row->name, *row->limit, 100 * *row->at_limit)};
  }
  const ResourceRow* reads = r.row("reads");
  if (reads && *reads->most >= 8 && *reads->at_limit >= 0.8) {
    return {false, "reads",
            fmt::format("none: latency bound by the payload reads in flight: {:.0f} of at most {:.0f} on average, each "
                        "{:.0f} ns from its request to its last byte",
                        *reads->mean, *reads->most, *reads->mean / reads->rate * 1e9)};
  }
  const ResourceRow* contexts = r.row("contexts");
  if (contexts && *contexts->utilisation >= 0.7) {
    return {
        false, "contexts",
        fmt::format("none: latency bound by context misses: one was being read {:.0f} % of the time ({:.2f} a message)",
                    100 * *contexts->utilisation, contexts->rate / r.messages_per_s())};
  }
  // Each QP has one WQE at a time in hand: from the last read request to the next WQE the RTL goes once round.
  uint64_t turns = 0, waited = 0, near = 0, shortest = ~uint64_t{0};
  for (const auto& [qpn, t] : turns_) {
    turns += t.turns;
    waited += t.waited_ps;
    near += t.near_shortest;
    if (t.turns != 0) shortest = std::min(shortest, t.shortest_ps);
  }
  const uint64_t window = r.to_ps - r.from_ps;
  if (turns != 0 && near * 10 >= turns * 8 && waited * 10 >= window * turns_.size() * 7) {
    return {false, "qp_loop",
            fmt::format("none: latency bound by the QP's own loop: {:.1f} ns from a message's last read request to the "
                        "next WQE of that QP, of which only one is in hand at a time ({} QP{})",
                        static_cast<double>(shortest) / 1000, turns_.size(), turns_.size() == 1 ? "" : "s")};
  }
  const ResourceRow* cpu = r.row("cpu");
  std::string most = top ? fmt::format("; most used: {} ({:.1f} %)", top->name, 100 * *top->utilisation) : "";
  if (cpu && *cpu->utilisation < 0.05 && reads && *reads->mean < 0.5) {
    return {false, "demand", "none: nothing more was asked for" + most};
  }
  return {false, "latency",
          "none: latency bound by the way from post to completion, with the queue as deep as it is" + most};
}

ResourceSeries ResourceMonitor::series() const {
  ResourceSeries s;
  if (samples_.empty()) return s;
  const auto line = [&](const char* key, const char* name, const std::function<double(const Sample&)>& used) {
    ResourceSeries::Line l{key, name, {}};
    double most = 0;
    for (size_t i = 1; i < samples_.size(); ++i) {
      const auto time = static_cast<double>(samples_[i].ps - samples_[i - 1].ps);
      l.share.push_back(time == 0 ? 0 : std::min(1.0, (used(samples_[i]) - used(samples_[i - 1])) / time));
      most = std::max(most, l.share.back());
    }
    if (most > 0.005) s.lines.push_back(std::move(l));
  };
  for (const auto& x : samples_) s.ns.push_back(static_cast<double>(x.ps - samples_.front().ps) / 1000);
  const auto period = static_cast<double>(period_ps_);
  line("wire", "wire",
       [&](const Sample& x) { return static_cast<double>(x.wire_bytes) * 8000 / static_cast<double>(line_gbps_); });
  line("pcie_down", "PCIe to the NIC",
       [](const Sample& x) { return static_cast<double>(x.models.hub.nic_down.busy_ps); });
  line("pcie_up", "PCIe from the NIC",
       [](const Sample& x) { return static_cast<double>(x.models.hub.nic_up.busy_ps); });
  line("read_tags", "read tags", [&](const Sample& x) { return static_cast<double>(x.tags_held_ps) / tags_limit_; });
  line("device_memory", "device memory port",
       [&](const Sample& x) { return static_cast<double>(x.models.nic.dm_blocks) * period; });
  line("beats_mac", "beats to the MAC",
       [&](const Sample& x) { return static_cast<double>(x.models.nic.mac_beats) * period; });
  line("cqes", "CQE writes", [&](const Sample& x) { return static_cast<double>(x.cqes) * 2 * period; });
  line("cpu", "posting CPU", [](const Sample& x) { return static_cast<double>(x.models.cpu_ps); });
  line("mac_not_ready", "MAC not ready",
       [&](const Sample& x) { return static_cast<double>(x.models.nic.mac_wait) * period; });
  return s;
}

}  // namespace rnic
