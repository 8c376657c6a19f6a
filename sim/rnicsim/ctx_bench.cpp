// SPDX-License-Identifier: Apache-2.0
// rnicsim ctx-bench: what contexts that do not fit on chip cost a message, by the number of active queues.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>

#include "common.h"
#include "rnic/core/error.h"
#include "rnic/regs/regs.h"
#include "rnic/study/axes.h"
#include "rnic/study/chart.h"
#include "rnic/system/system.h"
#include "table.h"

namespace rnic::cli {
namespace {

constexpr size_t kMaxRows = 200;
constexpr size_t kRecorded = 20'000;  ///< TLPs that go into the run directory
constexpr unsigned kBytes = 64;
constexpr double kToleranceNs = 2;  ///< a clock edge at either end
constexpr double kTolerance = 0.01;

/// What has a cache on the NIC.
enum Kind : unsigned { kQp, kMr, kCq, kKinds };
constexpr std::array<const char*, kKinds> kNames{"qp", "mr", "cq"};
constexpr std::array<const char*, kKinds> kCounters{"qpc_miss", "mpt_miss", "cqc_miss"};

struct CtxBenchCommand {
  Common common;
  std::string qps = "16:256:x2,288,320,384,512,768,1024", order = "round";
  std::vector<std::string> own{"qp"};
  uint64_t rounds = 2;
};

double mean(const std::vector<double>& v) {
  return v.empty() ? NAN : std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
}

/// Instants of the message that is under way, and the reads of device memory that it caused.
class Watch : public Observer {
 public:
  explicit Watch(const Profile& p)
      : hit_ps_(to_ps(p.time("devmem.read_latency"))), line_(p.integer("devmem.l2_line")) {}
  void start(uint32_t qpn) { *this = Watch(qpn, hit_ps_, line_); }
  void on_event(const Event& e) override {
    if (e.kind == EventKind::kDmReq) {
      request_ = e;
    } else if (e.kind == EventKind::kDmRsp && e.ps > request_.ps + hit_ps_) {
      const uint32_t at = request_.dm_addr;
      const uint64_t bytes = at < regs::bar1::kCqc ? 128 : 64;
      const bool after = at >= regs::bar1::kCqc && at < regs::bar1::kMpt;
      ++(after ? late_ddr : early_ddr);
      (after ? late_lines : early_lines) += (request_.dm_addr % line_ + bytes + line_ - 1) / line_;
    }
    if (e.op.qpn != qpn_) return;
    if (e.kind == EventKind::kDbPins) pins_ps = e.ps;
    if (e.kind == EventKind::kWireFirst && first_bit_ps == 0) first_bit_ps = e.ps;
    if (e.kind == EventKind::kCqeVisible) cqe_ps = e.ps;
  }
  uint64_t pins_ps = 0, first_bit_ps = 0, cqe_ps = 0;
  uint64_t early_ddr = 0, late_ddr = 0;      ///< reads that went to the DDR: before the frame, for its CQE
  uint64_t early_lines = 0, late_lines = 0;  ///< lines of them

 private:
  Watch(uint32_t qpn, uint64_t hit_ps, uint64_t line) : qpn_(qpn), hit_ps_(hit_ps), line_(line) {}
  uint32_t qpn_ = ~0u;
  uint64_t hit_ps_, line_;
  Event request_{};
};

/// A message's two durations, from the doorbell at the pins.
struct Durations {
  double first_bit_ns = 0, cqe_ns = 0;
};

struct Point {
  uint64_t qps = 0, messages = 0;
  std::array<uint64_t, kKinds> misses{}, predicted{};
  uint64_t early_ddr = 0, ddr = 0, early_lines = 0, lines = 0;
  std::vector<double> first_bit_ns, cqe_ns;
  Durations expected;
  double per_message(uint64_t n) const { return static_cast<double>(n) / static_cast<double>(messages); }
};

struct Measured {
  Durations hit;                       ///< everything on chip
  std::array<Durations, kKinds> miss;  ///< what a miss takes more
  double ddr_ns = 0, line_ns = 0;      ///< what a read that goes to the DDR takes more, and a line of it
  std::array<unsigned, kKinds> entries{};
  std::vector<Point> points;
};

/// Hits and misses of a direct-mapped cache in which every line that comes takes its slot, as ctx_cache's do when no
/// other one is under way.
class Predicted {
 public:
  explicit Predicted(unsigned entries) : slots_(entries, ~0u) {}
  bool miss(uint32_t index) {
    uint32_t& slot = slots_[index % slots_.size()];
    const bool miss = slot != index;
    slot = index;
    return miss;
  }

 private:
  std::vector<uint32_t> slots_;
};

class Bench {
 public:
  Bench(System& system, const CtxBenchCommand& o, const std::vector<uint64_t>& counts, Watch& watch, Measured& out)
      : ctx_(*system.node().ctx),
        nic_(*system.node().nic),
        hub_(*system.node().hub),
        o_(o),
        counts_(counts),
        watch_(watch),
        out_(out) {
    for (unsigned k = 0; k < kKinds; ++k) own_[k] = std::find(o.own.begin(), o.own.end(), kNames[k]) != o.own.end();
    const BuildInfo build = build_info();
    out_.entries = {build.qpc_cache_entries, build.mpt_cache_entries, build.cqc_cache_entries};
    const Profile& p = system.profile();
    out_.ddr_ns = p.number("devmem.ddr_latency");
    const double gbps = p.number("devmem.ddr_bandwidth");
    out_.line_ns = gbps == 0 ? 0 : p.number("devmem.l2_line") * 8 / gbps;
  }

  void run() {
    setup();
    calibrate();
    for (const uint64_t n : counts_) out_.points.push_back(measure(n));
  }

 private:
  void setup() {
    const auto most = static_cast<unsigned>(*std::max_element(counts_.begin(), counts_.end()));
    const uint64_t offset = ctx_.alloc(host::Space::kHost, kBytes);  // GPU memory would go through windows
    const unsigned cqs =
        std::max(own_[kCq] ? most : 1, out_.entries[kCq] + 1);  // one more in slot 0, to drive out with
    for (unsigned i = 0; i < cqs; ++i) cqs_.push_back(ctx_.create_cq(4));
    for (unsigned i = 0; i < (own_[kMr] ? most : 1); ++i) {
      mrs_.push_back(ctx_.reg_mr(1, host::Space::kHost, offset, kBytes, 0x7f00'0000'0000));
    }
    for (unsigned i = 0; i < most; ++i) {
      host::QpInit init;
      init.log_sq_size = 2;
      qps_.push_back(ctx_.create_qp(cqs_[own_[kCq] ? i : 0], init, i));
      ctx_.modify_qp_rts(qps_.back(), {});
    }
  }

  void idle() {
    do sc_core::wait(Time(200, sc_core::SC_NS));
    while (!nic_.idle() || !hub_.idle());
  }

  Durations message(unsigned i) {
    host::Qp* qp = qps_[i];
    host::SendWr wr;
    const host::Mr& mr = mrs_[own_[kMr] ? i : 0];
    wr.addr = mr.addr;
    wr.length = kBytes;
    wr.lkey = mr.lkey;
    idle();
    watch_.start(qp->qpn);
    ctx_.post_send(qp, wr);
    const auto wc = ctx_.wait_cq(qp->cq, sc_core::sc_max_time());
    if (wc->status != host::WcStatus::kSuccess) {
      throw SimError(fmt::format("a message of QP {} ended with '{}'", qp->qpn, host::to_string(wc->status)));
    }
    const auto since = [&](uint64_t ps) { return static_cast<double>(ps - watch_.pins_ps) / 1000; };
    return {since(watch_.first_bit_ps), since(watch_.cqe_ps)};
  }

  /// Of DDR reads that the message of watch_ had.
  Durations ddr() const {
    const auto ns = [&](uint64_t reads, uint64_t lines) {
      return static_cast<double>(reads) * out_.ddr_ns + static_cast<double>(lines) * out_.line_ns;
    };
    return {ns(watch_.early_ddr, watch_.early_lines),
            ns(watch_.early_ddr + watch_.late_ddr, watch_.early_lines + watch_.late_lines)};
  }

  /// One message of QP 0 with everything on chip, and one for each kind of context whose copy is gone. What went to the
  /// DDR is taken off: it is counted by itself.
  void calibrate() {
    const auto of = [&](unsigned i) {
      const Durations d = message(i), less = ddr();
      return Durations{d.first_bit_ns - less.first_bit_ns, d.cqe_ns - less.cqe_ns};
    };
    for (int warm = 0; warm < 2; ++warm) out_.hit = of(0);
    const auto more = [&](const Durations& d, const Durations& base) {
      return Durations{d.first_bit_ns - base.first_bit_ns, d.cqe_ns - base.cqe_ns};
    };
    ctx_.modify_qp_rts(qps_[0], {});
    const Durations qp = of(0);
    out_.miss[kQp] = more(qp, out_.hit);
    ctx_.write32(1, regs::bar1::kCmd, mrs_[0].lkey >> 8 << 8 | rtl::rnic_pkg::CmdMkeyModify);
    out_.miss[kMr] = more(of(0), out_.hit);
    host::Cq* own = qps_[0]->cq;
    qps_[0]->cq = cqs_[out_.entries[kCq]];
    ctx_.modify_qp_rts(qps_[0], {});
    out_.miss[kCq] = more(of(0), qp);
    qps_[0]->cq = own;
    ctx_.modify_qp_rts(qps_[0], {});
  }

  Point measure(uint64_t n) {
    std::mt19937_64 rng(o_.common.seed);
    std::array<Predicted, kKinds> cache{Predicted(out_.entries[kQp]), Predicted(out_.entries[kMr]),
                                        Predicted(out_.entries[kCq])};
    Point p;
    p.qps = n;
    std::array<uint64_t, kKinds> before{};
    for (uint64_t round = 0; round <= o_.rounds; ++round) {
      if (round == 1) {
        for (unsigned k = 0; k < kKinds; ++k) before[k] = nic_.bars().counter(kCounters[k]);
      }
      for (uint64_t j = 0; j < n; ++j) {
        // The first round touches all, so that what earlier rows left does not matter.
        const unsigned i = static_cast<unsigned>(round == 0 || o_.order == "round" ? j : rng() % n);
        const Durations d = message(i);
        const std::array<uint32_t, kKinds> index{i, mrs_[own_[kMr] ? i : 0].lkey >> 8, qps_[i]->cq->cqn};
        for (unsigned k = 0; k < kKinds; ++k) {
          const bool miss = cache[k].miss(index[k]);
          if (round != 0) p.predicted[k] += miss;
        }
        if (round == 0) continue;
        ++p.messages;
        p.first_bit_ns.push_back(d.first_bit_ns);
        p.cqe_ns.push_back(d.cqe_ns);
        p.early_ddr += watch_.early_ddr;
        p.early_lines += watch_.early_lines;
        p.ddr += watch_.early_ddr + watch_.late_ddr;
        p.lines += watch_.early_lines + watch_.late_lines;
      }
    }
    idle();
    p.expected = out_.hit;
    for (unsigned k = 0; k < kKinds; ++k) {
      p.misses[k] = nic_.bars().counter(kCounters[k]) - before[k];
      p.expected.first_bit_ns += p.per_message(p.misses[k]) * out_.miss[k].first_bit_ns;
      p.expected.cqe_ns += p.per_message(p.misses[k]) * out_.miss[k].cqe_ns;
    }
    p.expected.first_bit_ns += p.per_message(p.early_ddr) * out_.ddr_ns + p.per_message(p.early_lines) * out_.line_ns;
    p.expected.cqe_ns += p.per_message(p.ddr) * out_.ddr_ns + p.per_message(p.lines) * out_.line_ns;
    return p;
  }

  host::Context& ctx_;
  Nic& nic_;
  pcie::Hub& hub_;
  const CtxBenchCommand& o_;
  const std::vector<uint64_t>& counts_;
  Watch& watch_;
  Measured& out_;
  std::array<bool, kKinds> own_{};
  std::vector<host::Cq*> cqs_;
  std::vector<host::Mr> mrs_;
  std::vector<host::Qp*> qps_;
};

std::vector<uint64_t> counts_of(const CtxBenchCommand& o) {
  std::vector<uint64_t> out;
  for (const auto& v : study::AxisText(study::Axis::Of::kOption, "qps=" + o.qps, "--qps").list().values) {
    const uint64_t n = parse_size(v, "--qps");
    if (n < 1 || n > rtl::rnic_pkg::NumQp) {
      throw InputError("", 0, "--qps", fmt::format("{} is out of range; allowed: 1 to {}", n, rtl::rnic_pkg::NumQp));
    }
    out.push_back(n);
  }
  if (out.size() > kMaxRows)
    throw InputError("", 0, "--qps", fmt::format("{} rows in one run; allowed: {}", out.size(), kMaxRows));
  return out;
}

nlohmann::json to_json(const Durations& d) { return {{"first_bit_ns", d.first_bit_ns}, {"cqe_ns", d.cqe_ns}}; }

nlohmann::json to_json(const std::vector<double>& v) {
  const auto [min, max] = std::minmax_element(v.begin(), v.end());
  return {{"mean_ns", mean(v)}, {"min_ns", *min}, {"max_ns", *max}};
}

nlohmann::json to_json(const Measured& m) {
  nlohmann::json j{{"hit", to_json(m.hit)}, {"ddr_read_ns", m.ddr_ns}, {"ddr_line_ns", m.line_ns}};
  for (unsigned k = 0; k < kKinds; ++k) {
    j["miss"][kNames[k]] = to_json(m.miss[k]);
    j["entries"][kNames[k]] = m.entries[k];
  }
  j["points"] = nlohmann::json::array();
  for (const Point& p : m.points) {
    nlohmann::json q{{"qps", p.qps},
                     {"messages", p.messages},
                     {"ddr_reads", p.ddr},
                     {"first_bit", to_json(p.first_bit_ns)},
                     {"cqe", to_json(p.cqe_ns)},
                     {"expected", to_json(p.expected)}};
    for (unsigned k = 0; k < kKinds; ++k) {
      q["misses"][kNames[k]] = p.misses[k];
      q["predicted_misses"][kNames[k]] = p.predicted[k];
    }
    j["points"].push_back(q);
  }
  return j;
}

Table times_table(const Measured& m) {
  Table t({"<time, ns", "to first bit", "to CQE", "<entries on chip"});
  const auto row = [&](const std::string& what, const Durations& d, const std::string& entries) {
    t.row({what, fmt::format("{:.3f}", d.first_bit_ns), fmt::format("{:.3f}", d.cqe_ns), entries});
  };
  row("all contexts on chip", m.hit, "");
  row("QP context missed", m.miss[kQp], fmt::to_string(m.entries[kQp]));
  row("memory protection entry missed", m.miss[kMr], fmt::to_string(m.entries[kMr]));
  row("CQ context missed", m.miss[kCq], fmt::to_string(m.entries[kCq]));
  row("a read that goes to the DDR", {m.ddr_ns + m.line_ns, m.ddr_ns + m.line_ns}, "");
  return t;
}

Table points_table(const Measured& m) {
  Table t({"active QPs", "messages", "QP misses", "as predicted", "MR misses", "CQ misses", "DDR reads",
           "first bit, ns", "min", "max", "expected", "error", "CQE, ns", "expected", "error"});
  for (const Point& p : m.points) {
    const auto [min, max] = std::minmax_element(p.first_bit_ns.begin(), p.first_bit_ns.end());
    const auto error = [](double got, double want) { return fmt::format("{:+.2f} %", 100 * (got / want - 1)); };
    const double bit = mean(p.first_bit_ns), cqe = mean(p.cqe_ns);
    t.row({fmt::to_string(p.qps), fmt::to_string(p.messages), fmt::to_string(p.misses[kQp]),
           fmt::to_string(p.predicted[kQp]), fmt::to_string(p.misses[kMr]), fmt::to_string(p.misses[kCq]),
           fmt::to_string(p.ddr), fmt::format("{:.3f}", bit), fmt::format("{:.3f}", *min), fmt::format("{:.3f}", *max),
           fmt::format("{:.3f}", p.expected.first_bit_ns), error(bit, p.expected.first_bit_ns),
           fmt::format("{:.3f}", cqe), fmt::format("{:.3f}", p.expected.cqe_ns), error(cqe, p.expected.cqe_ns)});
  }
  return t;
}

std::string charts(const Measured& m) {
  study::LineChart latency, misses;
  latency.title = "Doorbell to first bit and to CQE, by active queue pairs";
  latency.x_label = misses.x_label = "active queue pairs";
  latency.y_label = "ns";
  latency.series = {{"first bit", {}}, {"first bit, expected", {}}, {"CQE", {}}, {"CQE, expected", {}}};
  misses.title = "Contexts read from device memory";
  misses.y_label = "a message";
  misses.series = {{"QP contexts", {}}, {"memory protection entries", {}}, {"CQ contexts", {}}};
  auto points = m.points;
  std::sort(points.begin(), points.end(), [](const Point& a, const Point& b) { return a.qps < b.qps; });
  for (const Point& p : points) {
    const auto x = static_cast<double>(p.qps);
    const std::array<double, 4> y{mean(p.first_bit_ns), p.expected.first_bit_ns, mean(p.cqe_ns), p.expected.cqe_ns};
    for (size_t i = 0; i < y.size(); ++i) latency.series[i].points.emplace_back(x, y[i]);
    for (unsigned k = 0; k < kKinds; ++k) misses.series[k].points.emplace_back(x, p.per_message(p.misses[k]));
  }
  if (points.size() < 2) return "";
  return "<figure>" + study::svg_of(latency) + "</figure>\n<figure>" + study::svg_of(misses) + "</figure>\n";
}

int run_ctx_bench(CtxBenchCommand& o) {
  const Profile profile = load_profile(o.common);
  const std::vector<uint64_t> counts = counts_of(o);
  Session session(o.common, profile, "none");
  System system(profile, session.system_options(1));
  BoundedRecorder rec(kRecorded);
  if (session.has_directory()) system.observers().add(&rec);
  Watch watch(profile);
  system.observers().add(&watch);
  Measured m;
  system.spawn("ctx-bench", [&] { Bench(system, o, counts, watch, m).run(); });
  Exit status = session.run(system);

  std::vector<CheckResult> checks;
  for (const Point& p : m.points) {
    const auto check = [&](const char* what, double got, double want) {
      checks.push_back({fmt::format("{} QPs", p.qps), what, fmt::format("{:.3f} ns", want),
                        fmt::format("{:.3f} ns", got),
                        std::abs(got - want) <= std::max(kToleranceNs, kTolerance * want)});
    };
    check("doorbell to first bit: hit time + miss times x counts", mean(p.first_bit_ns), p.expected.first_bit_ns);
    check("doorbell to CQE: hit time + miss times x counts", mean(p.cqe_ns), p.expected.cqe_ns);
  }
  const bool good = std::all_of(checks.begin(), checks.end(), [](const auto& c) { return c.passed; });
  if (status == kGood && !good) status = kCheckFailed;

  nlohmann::json result = result_header(rerun_line(), profile, o.common.seed);
  result["subcommand"] = "ctx-bench";
  result["status"] = status == kGood ? "good" : status == kCheckFailed ? "check failed" : "not finished";
  result["checks"] = cli::to_json(checks);
  result["ctx_bench"] = to_json(m);
  result["ctx_bench"]["own"] = o.own;
  result["ctx_bench"]["order"] = o.order;
  const Table times = times_table(m), points = points_table(m);
  if (!o.common.json && !m.points.empty()) {
    fmt::print(
        "profile {}: 64 B UC WRITE, one message at a time, send queue in device memory; each QP has its own {}; "
        "{}\n\n{}\n{}",
        profile.name(), fmt::join(o.own, ", "), o.order == "round" ? "QPs in turn" : "QPs at random", times.text(),
        points.text());
    std::fflush(stdout);
  }
  report_checks(checks);
  Session::Outputs out;
  out.title = "rnicsim ctx-bench";
  out.recorder = &rec;
  out.sections = {{"Times of a hit and of misses", times.html()}, {"By active queue pairs", points.html()}};
  if (const std::string html = charts(m); !html.empty()) out.sections.emplace_back("Plots", html);
  session.finish(status, result, out);
  return status;
}

}  // namespace

void add_ctx_bench(CLI::App& app, int& status) {
  static CtxBenchCommand o;
  auto* sub = app.add_subcommand("ctx-bench", "Latency by the number of active queues: the edge of the context caches");
  add_simulation_options(*sub, o.common);
  const auto of = [](CLI::Option* option, const char* type) { return option->type_name(type)->group("Queues"); };
  of(sub->add_option("--qps", o.qps,
                     "Active queue pairs, 1 to 1024: numbers and ranges [16:256:x2,288,320,384,512,768,1024]"),
     "LIST");
  of(sub->add_option(
            "--own", o.own,
            "What each queue pair has of its own, others share one: qp (always), mr, cq, separated by commas [qp]")
         ->delimiter(','),
     "LIST")
      ->check(quiet_check(CLI::IsMember({"qp", "mr", "cq"})));
  of(sub->add_option("--order", o.order, "Who sends next: round (in turn), random [round]"), "NAME")
      ->check(quiet_check(CLI::IsMember({"round", "random"})));
  of(sub->add_option_function<std::string>(
         "-n,--rounds",
         [](const std::string& n) {
           o.rounds = parse_size(n, "--rounds");
           if (o.rounds < 1 || o.rounds > 10'000)
             throw InputError("", 0, "--rounds", fmt::format("{} is out of range; allowed: 1 to 10000", o.rounds));
         },
         "Messages of each queue pair, behind one that warms up [2]"),
     "N");
  sub->footer(
      "One message at a time, so that each finds the copies that the ones before it left. Three messages before that "
      "tell\n"
      "the time with everything on chip and what each kind of miss takes more; what is expected of a row is that time "
      "and\n"
      "the misses that the NIC's counters show (qpc_miss, mpt_miss, cqc_miss), each with its time. Exit status 1 when "
      "the\n"
      "mean is off by more than 1 % and 2 ns. 'as predicted': QP misses of a direct-mapped cache of the build's size.\n"
      "docs/ctx-bench.md\n\n"
      "Examples:\n"
      "  rnicsim ctx-bench\n"
      "  rnicsim ctx-bench --qps 16:1024:16 -o out/ctx          with plots\n"
      "  rnicsim ctx-bench --own qp,mr,cq --qps 32,64,65,96,128\n"
      "  rnicsim ctx-bench --set devmem.l2_size=65536           contexts and rings in DDR behind a small L2\n"
      "  rnicsim ctx-bench --order random --seed 7");
  sub->callback([&status] { status = run_ctx_bench(o); });
}

}  // namespace rnic::cli
