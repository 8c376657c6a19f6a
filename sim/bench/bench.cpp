// SPDX-License-Identifier: Apache-2.0
// rnic_bench: cycles a second of (a) the bare Verilated NIC, (b) the whole simulation, (c) the stock --sc model, over
// the same stimulus in one run; and the wall time of idle simulated time.
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <vector>

#include <fmt/format.h>

#include "replay.h"
#include "rnic/core/error.h"
#include "rnic/observe/recorder.h"
#include "rnic/system/system.h"

namespace rnic::bench {
namespace {

/// Runs fn in a child process (SystemC elaborates once a process).
Replay in_child(const std::function<Replay()>& fn) {
  int fds[2];
  if (pipe(fds) != 0) throw SimError("pipe failed");
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid < 0) throw SimError("fork failed");
  if (pid == 0) {
    close(fds[0]);
    std::freopen("/dev/null", "w", stderr);  // SystemC's banner
    const Replay r = fn();
    const bool ok = write(fds[1], &r, sizeof r) == sizeof r;
    _exit(ok ? 0 : 1);
  }
  close(fds[1]);
  Replay r;
  const bool ok = read(fds[0], &r, sizeof r) == sizeof r;
  close(fds[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  if (!ok || status != 0) throw SimError("a part of the benchmark failed");
  return r;
}

struct Workload {
  uint64_t size;
  unsigned qps, count;  ///< messages of each QP
};

struct FrameCounter : Observer {
  void on_frame(const FrameRecord&) override { ++frames; }
  uint64_t frames = 0;
};

/// The workload on the whole simulation. kRecorder: with everything kept in memory, as `rnicsim stages` does.
enum class Watch { kCount, kRecorder };
Replay run_system(const Profile& profile, const Workload& w, Watch watch, const std::string& record) {
  SystemOptions options;
  options.record_path = record;
  System sys(profile, options);
  FrameCounter counter;
  Recorder recorder;
  sys.observers().add(&counter);
  if (watch == Watch::kRecorder) sys.observers().add(&recorder);
  auto& ctx = *sys.node().ctx;
  for (unsigned q = 0; q < w.qps; ++q) {
    sys.spawn(fmt::format("qp{}", q), [&, q] {
      const uint64_t offset = ctx.alloc(host::Space::kGpu, w.size);
      const auto mr = ctx.reg_mr(1, host::Space::kGpu, offset, w.size, 0x7f00'0000'0000);
      auto* cq = ctx.create_cq(8);
      host::QpInit init;
      init.log_sq_size = 7;
      auto* qp = ctx.create_qp(cq, init);
      ctx.modify_qp_rts(qp, {});
      unsigned posted = 0, done = 0;
      while (done < w.count) {
        std::vector<host::SendWr> wrs;
        while (posted < w.count && posted - done < 64) {
          host::SendWr wr;
          wr.addr = mr.addr;
          wr.lkey = mr.lkey;
          wr.length = w.size;
          wrs.push_back(wr);
          ++posted;
        }
        if (!wrs.empty()) ctx.post_send(qp, wrs);
        if (!ctx.wait_cq(cq, Time(100, sc_core::SC_MS))) throw SimError("a completion is missing");
        ++done;
      }
    });
  }
  const double start = cpu_seconds();
  if (sys.run() != RunEnd::kDone) throw SimError("the benchmark's run did not end");
  Replay r;
  r.seconds = cpu_seconds() - start;
  r.cycles = sys.node().nic->clocked_cycles();
  r.frames = counter.frames;
  return r;
}

/// Wall time of one simulated second between two doorbells.
Replay run_idle(const Profile& profile) {
  SystemOptions options;
  options.max_sim_time = Time(3, sc_core::SC_SEC);
  System sys(profile, options);
  auto& ctx = *sys.node().ctx;
  Replay r;
  sys.spawn("idle", [&] {
    const uint64_t offset = ctx.alloc(host::Space::kGpu, 4096);
    const auto mr = ctx.reg_mr(1, host::Space::kGpu, offset, 4096, 0);
    auto* cq = ctx.create_cq(4);
    auto* qp = ctx.create_qp(cq, {});
    ctx.modify_qp_rts(qp, {});
    host::SendWr wr;
    wr.lkey = mr.lkey;
    wr.length = 64;
    ctx.post_send(qp, wr);
    ctx.wait_cq(cq, Time(1, sc_core::SC_MS));
    const double start = cpu_seconds();
    const uint64_t cycles = sys.node().nic->clocked_cycles();
    sc_core::wait(Time(1, sc_core::SC_SEC));
    ctx.post_send(qp, wr);
    r.frames = ctx.wait_cq(cq, Time(1, sc_core::SC_MS)) ? 1 : 0;
    r.seconds = cpu_seconds() - start;
    r.cycles = sys.node().nic->clocked_cycles() - cycles;
  });
  sys.run();
  return r;
}

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

/// The recorded stimulus; gone with the process that made it.
struct TemporaryFile {
  const pid_t owner = getpid();
  const std::string path = (std::filesystem::temp_directory_path() / fmt::format("rnic_bench_{}.stim", owner)).string();
  ~TemporaryFile() {
    if (getpid() == owner) std::remove(path.c_str());
  }
};

int bench(const std::string& profile_name, const Workload& w, unsigned rounds, const std::string& only) {
  const Profile profile = Profile::load(profile_name);
  const TemporaryFile file;
  const std::string& stimulus = file.path;
  if (only == "b") {
    const Replay r = in_child([&] { return run_system(profile, w, Watch::kCount, ""); });
    fmt::print("b: {:.1f} k cycles/s\n", static_cast<double>(r.cycles) / r.seconds / 1e3);
    return 0;
  }
  const Replay recorded = in_child([&] { return run_system(profile, w, Watch::kCount, stimulus); });
  fmt::print("workload: {} QPs x {} UC WRITEs of {} B: {} frames, {} clocked cycles, profile {}\n", w.qps, w.count,
             w.size, recorded.frames, recorded.cycles, profile.name());
  struct Part {
    const char* key;
    const char* name;
    std::function<Replay()> run;
    std::vector<double> rates;
  };
  std::vector<Part> parts = {
      {"a", "a  bare Verilated rnic_top, recorded stimulus", [&] { return run_bare_cc(stimulus); }, {}},
      {"b",
       "b  rnicsim, everything attached, no tracing",
       [&] { return run_system(profile, w, Watch::kCount, ""); },
       {}},
      {"b2", "b' the same, all frames and TLPs kept", [&] { return run_system(profile, w, Watch::kRecorder, ""); }, {}},
      {"c", "c  stock --sc model, recorded stimulus", [&] { return run_stock_sc(stimulus); }, {}},
  };
  if (!only.empty()) {
    const auto p = std::find_if(parts.begin(), parts.end(), [&](const Part& x) { return only == x.key; });
    const Replay r = in_child(p->run);
    fmt::print("{:48} {:8.1f} k cycles/s\n", p->name, static_cast<double>(r.cycles) / r.seconds / 1e3);
    return 0;
  }
  for (unsigned round = 0; round < rounds; ++round) {
    for (auto& p : parts) {
      if (isatty(2)) fmt::print(stderr, "\rround {}/{}: {:50}", round + 1, rounds, p.name);
      const Replay r = in_child(p.run);
      if (r.frames != recorded.frames) {
        fmt::print(stderr, "\n{}: {} frames instead of {}\n", p.name, r.frames, recorded.frames);
        return 1;
      }
      p.rates.push_back(static_cast<double>(r.cycles) / r.seconds);
    }
  }
  if (isatty(2)) fmt::print(stderr, "\r{:70}\r", "");
  for (const auto& p : parts) {
    fmt::print("{:48} {:8.1f} k cycles/s (median of {}, {:.1f} .. {:.1f})\n", p.name, median(p.rates) / 1e3, rounds,
               *std::min_element(p.rates.begin(), p.rates.end()) / 1e3,
               *std::max_element(p.rates.begin(), p.rates.end()) / 1e3);
  }
  const double a = median(parts[0].rates), b = median(parts[1].rates), c = median(parts[3].rates);
  fmt::print("b/a {:.3f}   b/c {:.2f}\n", b / a, b / c);
  const Replay idle = in_child([&] { return run_idle(profile); });
  fmt::print("1 s of idle between two doorbells: {:.2f} ms of CPU time, {} cycles clocked{}\n", idle.seconds * 1e3,
             idle.cycles, idle.frames == 1 ? "" : " (the second message did not complete)");
  return idle.frames == 1 ? 0 : 1;
}

}  // namespace
}  // namespace rnic::bench

int sc_main(int argc, char** argv) {
  CLI::App app{
      "rnic_bench: cycles per second of the bare Verilated NIC, of the whole simulation and of a stock --sc model,\n"
      "over one stimulus in one run, so that the ratios hold on any machine."};
  std::string profile = "seed-400g";
  rnic::bench::Workload w{65536, 1, 200};
  unsigned rounds = 3;
  std::string only;
  app.add_option("--profile", profile, "profile")->capture_default_str();
  app.add_option("-s,--size", w.size, "bytes a message")->capture_default_str();
  app.add_option("-q,--qp", w.qps, "queue pairs")->capture_default_str();
  app.add_option("-n,--iters", w.count, "messages a queue pair")->capture_default_str();
  app.add_option("--rounds", rounds, "how often each part is measured")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--only", only, "run one part once, for a profiler: a, b, b2 or c")
      ->check(CLI::IsMember({"a", "b", "b2", "c"}));
  CLI11_PARSE(app, argc, argv);
  try {
    return rnic::bench::bench(profile, w, rounds, only);
  } catch (const rnic::InputError& e) {
    fmt::print(stderr, "rnic_bench: {}\n", e.what());
    return 2;
  } catch (const std::exception& e) {
    fmt::print(stderr, "rnic_bench: {}\n", e.what());
    return 3;
  }
}
