// SPDX-License-Identifier: Apache-2.0
// rnicsim run --nccl-log: each collective of a log as the messages that one rank's NIC sends to its neighbour on the
// ring.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <numeric>

#include "rnic/observe/node_state.h"
#include "rnic/workload/nccl_log.h"
#include "run.h"
#include "table.h"

namespace rnic::cli {
namespace {

using workload::NcclCall;
using workload::NcclLog;
using workload::NcclRank;
using workload::RingPlan;

/// One collective to replay, and what came of it.
struct Job {
  const NcclCall* call;
  unsigned rank, nranks;
  RingPlan plan;
  uint64_t bytes = 0, messages = 0;  ///< simulated
  uint64_t packets = 0, wire_bytes = 0;
  uint64_t t0_ps = 0, last_bit_ps = 0;
  bool capped = false;
  bool finished = false;  ///< all of it has left the NIC
  bool cut_off = false;   ///< the run ended before it or in it
};

/// Instants of the job that runs now; bounded memory, whatever the length.
class Meter : public Observer {
 public:
  void begin(Job* job) { job_ = job, seen_ = false; }
  void on_event(const Event& e) override {
    if (!job_) return;
    if (e.kind == EventKind::kDbPins && !seen_) {
      seen_ = true;
      job_->t0_ps = e.ps;
    }
    if (e.kind == EventKind::kWireLast) job_->last_bit_ps = e.ps;
  }
  void on_frame(const FrameRecord& f) override {
    if (!job_) return;
    ++job_->packets;
    job_->wire_bytes += f.bytes.size();
  }

 private:
  Job* job_ = nullptr;
  bool seen_ = false;
};

/// Whose calls are replayed: one rank of each communicator.
std::vector<unsigned> choose_ranks(const NcclLog& log, const RunOptions& o) {
  std::vector<unsigned> chosen;
  std::vector<unsigned> present;
  for (const auto& group : log.communicators) {
    for (const unsigned r : group) {
      const NcclRank& rank = log.ranks[r];
      if (!o.node.empty() && rank.host != o.node) continue;
      present.push_back(rank.rank);
      if (o.rank >= 0 && rank.rank != static_cast<unsigned>(o.rank)) continue;
      chosen.push_back(r);
      break;  // the lowest
    }
  }
  if (!chosen.empty()) return chosen;
  if (present.empty()) {
    throw InputError(log.file, 0, "--node",
                     fmt::format("no host '{}' in the log; there are: {}", o.node, fmt::join(log.hosts(), ", ")));
  }
  std::sort(present.begin(), present.end());
  present.erase(std::unique(present.begin(), present.end()), present.end());
  throw InputError(log.file, 0, "--rank",
                   fmt::format("no rank {} in the log; there are: {}", o.rank, fmt::join(present, ", ")));
}

/// Simulates the jobs one after the other, each begun when the one before has left the NIC.
void replay(System& system, std::vector<Job>& jobs, const RunOptions& o, Meter& meter) {
  auto& ctx = *system.node().ctx;
  auto& nic = *system.node().nic;
  const uint64_t offset = ctx.alloc(host::Space::kGpu, workload::kMaxPiece);
  host::QpInit init;
  init.log_sq_size = 0;
  while ((1u << init.log_sq_size) < o.depth) ++init.log_sq_size;
  const host::Mr mr = ctx.reg_mr(init.pd, host::Space::kGpu, offset, workload::kMaxPiece, 0x7f00'0000'0000);
  host::Cq* cq = ctx.create_cq(init.log_sq_size + 1);
  host::Qp* qp = ctx.create_qp(cq, init);
  ctx.modify_qp_rts(qp, {});
  for (Job& job : jobs) {
    if (job.messages == 0) continue;
    do sc_core::wait(Time(2, sc_core::SC_US));
    while (!nic.idle());
    meter.begin(&job);
    unsigned in_flight = 0;
    const auto reap = [&] {
      const auto wc = ctx.wait_cq(cq, Time(1, sc_core::SC_SEC));
      if (!wc) throw SimError(fmt::format("line {}: no completion within 1 s of simulated time", job.call->line));
      if (wc->status != host::WcStatus::kSuccess) {
        throw SimError(fmt::format("line {}: completion '{}'", job.call->line, host::to_string(wc->status)));
      }
      --in_flight;
    };
    uint64_t left = job.bytes;
    auto run = job.plan.runs.begin();
    uint64_t done = 0;  // messages of this run
    while (left != 0) {
      while (in_flight == o.depth) reap();
      std::vector<host::SendWr> batch;
      // Half a queue a doorbell, so that the next half is built while the NIC sends; sizes may differ within it.
      while (left != 0 && batch.size() < std::max(1u, o.depth / 2) && in_flight < o.depth) {
        host::SendWr wr;
        wr.addr = mr.addr;
        wr.length = std::min(run->bytes, left);
        wr.lkey = mr.lkey;
        wr.remote_addr = 0x1000'0000;
        wr.rkey = 0x1234;
        left -= wr.length;
        batch.push_back(wr);
        ++in_flight;
        if (++done == run->times) ++run, done = 0;
      }
      ctx.post_send(qp, batch);
    }
    while (in_flight != 0) reap();
    while (nic.mac().busy()) sc_core::wait(Time(100, sc_core::SC_NS));
    job.finished = true;
  }
  meter.begin(nullptr);
}

/// Counts of a log may be anything: many that can be meant each may not be in sum.
uint64_t saturated_sum(uint64_t a, uint64_t b) { return a > ~uint64_t{0} - b ? ~uint64_t{0} : a + b; }

double gbps(uint64_t bytes, uint64_t ps) {
  return ps == 0 ? 0 : static_cast<double>(bytes) * 8000 / static_cast<double>(ps);
}

/// Notes about the log itself.
std::vector<std::string> notes(const NcclLog& log, const std::vector<unsigned>& chosen) {
  std::vector<std::string> out;
  for (const unsigned r : chosen) {
    const NcclRank& rank = log.ranks[r];
    const auto& group = log.communicators[rank.communicator];
    const auto known = std::any_of(group.begin(), group.end(), [&](unsigned g) { return log.ranks[g].rank_known; });
    const bool one_host = group.size() == rank.nranks && std::all_of(group.begin(), group.end(), [&](unsigned g) {
                            return log.ranks[g].host == rank.host;
                          });
    std::string who = fmt::format("communicator {} ({} of {} ranks in the log): rank {}", rank.comm, group.size(),
                                  rank.nranks, rank.rank);
    if (!rank.host.empty()) who += fmt::format(" on {}", rank.host);
    if (rank.device) who += fmt::format(", GPU {}", *rank.device);
    if (!known) who += "; ranks numbered by host and GPU, since the log has no INIT lines";
    out.push_back(who);
    if (one_host && rank.nranks > 1) {
      out.push_back(
          fmt::format("all {} ranks on host {}: in that job this traffic went over NVLink, PCIe peer-to-peer or "
                      "shared memory, not over the NIC; here it is sent as if the neighbour were on another host",
                      rank.nranks, rank.host.empty() ? "(unnamed)" : rank.host));
    }
  }
  out.push_back(
      "a ring's step waits for data of the rank before; one NIC alone is simulated here, so its messages go back to "
      "back, and the times are a lower bound");
  return out;
}

}  // namespace

int run_nccl_log(const RunOptions& o) {
  const NcclLog log = workload::load_nccl_log(o.nccl_log);
  if (!log.unreadable.empty()) {
    constexpr size_t kShown = 20;
    for (size_t i = 0; i < std::min(kShown, log.unreadable.size()); ++i) {
      spdlog::warn("{}:{}: unreadable: {}", log.file, log.unreadable[i].line, log.unreadable[i].why);
    }
    if (log.unreadable.size() > kShown) spdlog::warn("... and {} lines more", log.unreadable.size() - kShown);
    if (!o.skip_unreadable || log.calls.empty()) {
      throw InputError(
          log.file, log.unreadable.front().line, "",
          fmt::format(
              "unreadable: {} ({} such line(s); {})", log.unreadable.front().why, log.unreadable.size(),
              log.calls.empty() ? "no collective is left without them" : "--skip-unreadable goes on without them"));
    }
  }
  const std::vector<unsigned> chosen = choose_ranks(log, o);
  const Profile profile = load_profile(o.common);
  const auto line_rate = profile.number("mac.rate");

  std::vector<Job> jobs;
  uint64_t budget = o.max_bytes == 0 ? ~uint64_t{0} : o.max_bytes;
  for (const NcclCall& call : log.calls) {
    if (std::find(chosen.begin(), chosen.end(), call.who) == chosen.end()) continue;
    const NcclRank& rank = log.ranks[call.who];
    Job job{&call, rank.rank, rank.nranks, workload::plan_ring(call, rank.rank, rank.nranks)};
    uint64_t left = budget;
    for (const auto& run : job.plan.runs) {
      const uint64_t whole = std::min(run.times, left / run.bytes);
      job.messages += whole;
      job.bytes += whole * run.bytes;
      left -= whole * run.bytes;
      if (whole == run.times) continue;
      job.capped = true;
      if (left != 0) ++job.messages;
      job.bytes += left;
      left = 0;
      break;
    }
    budget = left;
    jobs.push_back(std::move(job));
  }

  Session session(o.common, profile, "none");
  BoundedRecorder rec(200'000);
  System system(profile, session.system_options(1));
  Meter meter;
  if (session.has_directory()) system.observers().add(&rec);
  system.observers().add(&meter);
  system.node().hub->gpu_memory().set_background(o.common.seed);
  const bool any = std::any_of(jobs.begin(), jobs.end(), [](const Job& j) { return j.messages != 0; });
  Exit status = kGood;
  if (any) {
    system.spawn("replay", [&] { replay(system, jobs, o, meter); });
    status = session.run(system);
  }

  // Of a run that was ended early only what is known to have left counts.
  for (Job& j : jobs) {
    if (!j.finished && j.messages != 0) j.cut_off = true, j.bytes = 0, j.messages = 0;
  }

  nlohmann::json result = result_header(rerun_line(), profile, o.common.seed);
  result["subcommand"] = "run";
  result["status"] = status == kGood ? "done" : "not finished";
  result["nccl_log"] = {{"file", log.file},
                        {"lines", log.lines},
                        {"calls", log.calls.size()},
                        {"unreadable", log.unreadable.size()},
                        {"hosts", log.hosts()}};
  result.update(node_state(*system.node().nic, *system.node().hub));
  Table table({"line", "<operation", "count", "<type", "ranks", "rank", "bytes", "messages", "packets", "time, us",
               "Gb/s", "of line rate", "<note"});
  nlohmann::json list = nlohmann::json::array();
  uint64_t bytes = 0, messages = 0, packets = 0, wire_bytes = 0, time = 0, planned = 0;
  size_t refused = 0, capped = 0;
  for (const Job& j : jobs) {
    const NcclCall& c = *j.call;
    const uint64_t ps = j.packets == 0 || !j.finished ? 0 : j.last_bit_ps - j.t0_ps;
    const double rate = gbps(j.bytes, ps);
    std::string note = j.plan.note;
    if (!j.plan.replayable) note = "NOT REPLAYED: " + note;
    if (j.cut_off) note += fmt::format("{}NOT FINISHED: the run ended before", note.empty() ? "" : "; ");
    if (j.capped && !j.cut_off) {
      ++capped;
      note += fmt::format("{}{} of {} simulated (--max-bytes)", note.empty() ? "" : "; ",
                          j.bytes == 0 ? "nothing" : bytes_text(j.bytes), bytes_text(j.plan.bytes()));
    }
    refused += !j.plan.replayable;
    bytes += j.bytes, messages += j.messages, packets += j.packets, wire_bytes += j.wire_bytes, time += ps;
    planned = saturated_sum(planned, j.plan.bytes());
    table.row({fmt::to_string(c.line), c.name, fmt::to_string(c.count), workload::nccl_type_name(c.datatype),
               fmt::to_string(j.nranks), fmt::to_string(j.rank), fmt::to_string(j.bytes), fmt::to_string(j.messages),
               fmt::to_string(j.packets), ps == 0 ? "-" : fmt::format("{:.3f}", static_cast<double>(ps) / 1e6),
               ps == 0 ? "-" : fmt::format("{:.2f}", rate),
               ps == 0 ? "-" : fmt::format("{:.1f} %", 100 * rate / line_rate), note});
    list.push_back({{"line", c.line},
                    {"operation", c.name},
                    {"op_count", c.op_count},
                    {"count", c.count},
                    {"type", workload::nccl_type_name(c.datatype)},
                    {"ranks", j.nranks},
                    {"rank", j.rank},
                    {"replayable", j.plan.replayable},
                    {"planned_bytes", j.plan.bytes()},
                    {"planned_messages", j.plan.messages()},
                    {"bytes", j.bytes},
                    {"messages", j.messages},
                    {"packets", j.packets},
                    {"time_ps", ps},
                    {"gbps", rate},
                    {"line_rate_share", rate / line_rate},
                    {"note", note}});
  }
  table.rule();
  const double rate = gbps(bytes, time);
  table.row({"total", fmt::format("{} calls", jobs.size()), "", "", "", "", fmt::to_string(bytes),
             fmt::to_string(messages), fmt::to_string(packets),
             time == 0 ? "-" : fmt::format("{:.3f}", static_cast<double>(time) / 1e6),
             time == 0 ? "-" : fmt::format("{:.2f}", rate),
             time == 0 ? "-" : fmt::format("{:.1f} %", 100 * rate / line_rate), ""});
  auto remarks = notes(log, chosen);
  if (capped != 0) {
    remarks.push_back(
        fmt::format("{} of {} bytes were simulated: --max-bytes is {}; the call that reaches it is cut, later ones "
                    "are left out; --max-bytes 0 simulates all",
                    bytes, planned, o.max_bytes));
  }
  if (refused != 0) remarks.push_back(fmt::format("{} call(s) were not replayed; each says why in its line", refused));
  if (!log.unreadable.empty()) {
    std::vector<unsigned> lines;
    for (size_t i = 0; i < std::min<size_t>(10, log.unreadable.size()); ++i) lines.push_back(log.unreadable[i].line);
    remarks.push_back(fmt::format("{} unreadable line(s) were left out: {}{}", log.unreadable.size(),
                                  fmt::join(lines, ", "), lines.size() < log.unreadable.size() ? ", ..." : ""));
  }
  result["calls"] = list;
  result["notes"] = remarks;
  result["total"] = {
      {"planned_bytes", planned},           {"bytes", bytes},  {"messages", messages}, {"packets", packets},
      {"frame_bytes", wire_bytes},          {"time_ps", time}, {"gbps", rate},         {"line_rate_gbps", line_rate},
      {"line_rate_share", rate / line_rate}};
  if (!o.common.json) {
    fmt::print("{}: {} calls on {} lines; profile {}, {} Gb/s\n", log.file, log.calls.size(), log.lines, profile.name(),
               line_rate);
    if (!profile.fit_note().empty()) fmt::print("{}\n", profile.fit_note());
    fmt::print(
        "UC WRITE out of GPU memory over one queue pair, MTU 4096, messages of at most 1 GiB, {} in the send queue\n\n",
        o.depth);
    fmt::print("{}\ntime: from the first doorbell at the NIC's pins to the last bit on the wire; Gb/s: of payload\n",
               table.text());
    for (const auto& n : remarks) fmt::print("note: {}\n", n);
    std::fflush(stdout);
  }
  Session::Outputs out;
  out.title = "rnicsim run --nccl-log " + o.nccl_log;
  out.recorder = &rec;
  session.finish(status, result, out);
  return status;
}

}  // namespace rnic::cli
