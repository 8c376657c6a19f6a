// SPDX-License-Identifier: Apache-2.0
// rnicsim arp: the AllReduce engine alone, fed with generated vectors, files, or the frames of a capture.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>

#include "common.h"
#include "rnic/collective/traffic.h"
#include "rnic/core/error.h"
#include "table.h"

namespace rnic::cli {
namespace {

namespace coll = collective;
namespace arp = golden::arp;

constexpr size_t kRecorded = 20'000;   ///< frames and TLPs that go into the run directory
constexpr size_t kDumped = 1'000'000;  ///< and into a capture of its own

struct ArpCommand {
  Common common;
  unsigned group = 0, ranks = 0, steps = 1;
  uint64_t count = 0;
  std::string type = "float", op = "sum", order = "rank", values = "normal", acks;
  bool acc32 = false, wide = false;
  uint64_t fragment = 4096;
  std::optional<uint64_t> chunk, slots;
  unsigned gap = 0;
  coll::Faults faults;
  std::string data, pcap, groups, result, dump;
};

coll::Order order_of(const std::string& name) {
  return name == "burst" ? coll::Order::kBurst : name == "random" ? coll::Order::kRandom : coll::Order::kRank;
}

coll::Values values_of(const std::string& name) {
  return name == "index" ? coll::Values::kIndex : name == "special" ? coll::Values::kSpecial : coll::Values::kNormal;
}

/// The option that stands for a key of a group.
std::string option_of(const std::string& key) {
  static const std::map<std::string, std::string> kOptions{{"fragment", "--frag"}, {"members", "--ranks"}};
  const auto it = kOptions.find(key);
  return it == kOptions.end() ? "--" + key : it->second;
}

/// What one group adds up, and from where.
struct Job {
  coll::GroupSpec spec;
  std::unique_ptr<coll::Contributions> data;
  const coll::PlacedGroup* placed = nullptr;
};

std::vector<Job> jobs_of(ArpCommand& o) {
  std::vector<Job> jobs;
  if (!o.groups.empty()) {
    for (coll::GroupSpec& s : coll::load_groups(o.groups)) {
      auto data = coll::generated(s.type, values_of(o.values), o.common.seed + s.group);
      jobs.push_back({std::move(s), std::move(data)});
    }
    return jobs;
  }
  Job j;
  try {
    j.spec.type = coll::parse_type(o.type, o.acc32);
    j.spec.op = coll::parse_op(o.op);
  } catch (const coll::GroupFault& fault) {
    throw InputError("", 0, option_of(fault.key), fault.what());
  }
  if (!o.data.empty()) {
    coll::Loaded loaded = coll::load_contributions(o.data, j.spec.type, o.ranks, o.count);
    o.ranks = loaded.members;
    o.count = loaded.count;
    j.data = std::move(loaded.data);
  } else {
    j.data = coll::generated(j.spec.type, values_of(o.values), o.common.seed);
  }
  j.spec.group = o.group;
  j.spec.wide = o.wide;
  j.spec.count = o.count != 0 ? o.count : 65536;
  const unsigned ranks = o.ranks != 0 ? o.ranks : 8;
  j.spec.members = ranks == 64 ? ~uint64_t{0} : (uint64_t{1} << ranks) - 1;
  j.spec.fragment = o.fragment;
  j.spec.chunk = o.chunk;
  j.spec.slots = o.slots;
  try {
    coll::GroupTable().add(j.spec);
  } catch (const coll::GroupFault& fault) {
    throw InputError("", 0, option_of(fault.key), fault.what());
  }
  jobs.push_back(std::move(j));
  return jobs;
}

arp::Bytes result_of(coll::ArpSystem& system, const coll::PlacedGroup& g) {
  arp::Bytes bytes(g.result_bytes());
  system.hub().gpu_memory().read(g.context.dst - pcie::kGpuBase, bytes.data(), bytes.size());
  return bytes;
}

/// How far the result lies from a sum in double precision; of finite elements only. Relative to the sum of the
/// contributions' magnitudes: the sum itself may be near 0.
struct ErrorReport {
  double max_absolute = 0, max_relative = 0;
  uint64_t compared = 0, not_finite = 0;
};

ErrorReport error_of(const Job& j, unsigned step, const arp::Bytes& result) {
  ErrorReport r;
  const unsigned in = j.placed->element();
  const unsigned out = j.spec.wide ? 4 : in;
  const unsigned ranks = j.placed->ranks();
  constexpr uint64_t kBlock = 1 << 14;
  for (uint64_t at = 0; at < j.spec.count; at += kBlock) {
    const uint64_t n = std::min(kBlock, j.spec.count - at);
    std::vector<double> sums(n, 0.0), magnitudes(n, 0.0);
    for (unsigned m = 0; m < ranks; ++m) {
      const arp::Bytes b = j.data->bytes(m, step, at * in, n * in);
      for (uint64_t i = 0; i < n; ++i) {
        const double v = coll::element_value(j.spec.type, false, &b[i * in]);
        sums[i] += v;
        magnitudes[i] += std::fabs(v);
      }
    }
    for (uint64_t i = 0; i < n; ++i) {
      const double got = coll::element_value(j.spec.type, j.spec.wide, &result[(at + i) * out]);
      if (!std::isfinite(got) || !std::isfinite(sums[i])) {
        ++r.not_finite;
        continue;
      }
      ++r.compared;
      const double absolute = std::fabs(got - sums[i]);
      r.max_absolute = std::max(r.max_absolute, absolute);
      if (magnitudes[i] != 0) r.max_relative = std::max(r.max_relative, absolute / magnitudes[i]);
    }
  }
  return r;
}

bool is_float(arp::Type t) { return t != arp::Type::kInt32 && t != arp::Type::kInt64; }

double per_second(uint64_t bytes, uint64_t ps) {
  return ps == 0 ? 0 : static_cast<double>(bytes) * 8000 / static_cast<double>(ps);
}

std::string group_line(const coll::PlacedGroup& g) {
  return fmt::format(
      "group {}: {} ranks, {} elements of {}, {}{}; fragments of {} B, {} slots from {}, rows from {}; result at "
      "0x{:x}",
      g.spec.group, g.ranks(), g.spec.count, coll::type_name(g.spec.type), coll::op_name(g.spec.op),
      g.spec.wide ? ", result in float" : "", 1u << g.context.log_frag, 1u << g.context.log_slots, g.context.slot_base,
      g.context.row_base, g.context.dst);
}

void write_results(coll::ArpSystem& system, const std::vector<Job>& jobs, const std::string& path) {
  for (const Job& j : jobs) {
    std::string name = path;
    if (jobs.size() > 1) {  // before the ending: result.3.npy
      const size_t slash = path.rfind('/'), dot = path.rfind('.');
      const bool ending = dot != std::string::npos && (slash == std::string::npos || dot > slash + 1);
      name.insert(ending ? dot : path.size(), fmt::format(".{}", j.spec.group));
    }
    coll::write_elements(name, j.spec.type, j.spec.wide, result_of(system, *j.placed));
    spdlog::info("result of group {}: {}", j.spec.group, name);
  }
}

int run_arp(ArpCommand& o) {
  const Profile profile = load_profile(o.common);
  std::vector<Job> jobs = jobs_of(o);
  Capture capture;
  if (!o.pcap.empty()) capture = read_capture(o.pcap);
  const bool file_acks = !o.pcap.empty() && (o.acks == "frames" || (o.acks.empty() && coll::has_acknowledges(capture)));
  if (o.pcap.empty() && !o.acks.empty() && o.acks != "auto") {
    throw InputError(
        "", 0, "--acks",
        fmt::format("'{}' is for --pcap: generated results are acknowledged when they are written", o.acks));
  }

  Session session(o.common, profile, "full");
  const SystemOptions limits = session.system_options(1);
  coll::ArpOptions options;
  static_cast<RunLimits&>(options) = limits;
  options.seed = o.common.seed;
  if (!limits.traces.empty()) options.trace = limits.traces[0];
  coll::ArpSystem system(profile, options);
  BoundedRecorder rec(kRecorded);
  Recorder dumped(kDumped);
  struct FramesOnly : Observer {
    explicit FramesOnly(Recorder& to) : to(to) {}
    void on_frame(const FrameRecord& f) override { to.on_frame(f); }
    Recorder& to;
  } frames(dumped);
  if (session.has_directory()) system.observers().add(&rec);
  if (!o.dump.empty()) system.observers().add(&frames);
  coll::DriverOptions driver_options;
  driver_options.acks = file_acks || o.acks == "none" ? coll::Acks::kGiven : coll::Acks::kAuto;
  driver_options.frames = session.has_directory() || !o.dump.empty();
  driver_options.background = o.common.seed;
  coll::Driver driver(system, driver_options);
  std::map<unsigned, const coll::Contributions*> data;
  for (Job& j : jobs) {
    j.placed = &driver.define(j.spec);
    data[j.spec.group] = j.data.get();
  }
  coll::TrafficOptions traffic;
  traffic.order = order_of(o.order);
  traffic.steps = o.steps;
  traffic.gap = o.gap;
  traffic.faults = o.faults;
  traffic.seed = o.common.seed;
  coll::Replayed replayed;
  bool finished = false;
  system.spawn("sender", [&] {
    if (o.pcap.empty()) {
      coll::send_vectors(driver, data, traffic);
    } else {
      replayed = coll::send_capture(driver, capture, o.gap);
    }
    finished = true;
  });
  Exit status = session.run(system);

  // ---- Checks ----
  std::vector<CheckResult> checks;
  const auto check = [&](const std::string& name, const std::string& what, const std::string& expected,
                         const std::string& got) {
    checks.push_back({name, what, expected, got, expected == got});
  };
  const auto& counts = driver.model().counters();
  if (finished) {
    for (const Job& j : jobs) {
      const auto m = driver.check_memory(*j.placed);
      const std::string name = fmt::format("group {}", j.spec.group);
      check(name, "bytes in GPU memory that differ from the reference", "0",
            m.wrong == 0 ? "0" : fmt::format("{}, the first at byte {}", m.wrong, m.first_wrong));
      check(name, "bytes around the result that were changed", "0", fmt::to_string(m.guard_wrong));
    }
    for (const auto& c : driver.counters())
      check("counters", c.name, fmt::to_string(c.model), fmt::to_string(c.engine));
    check("engine", "differences from the reference model", "none",
          driver.differences().empty() ? "none" : fmt::format("{}", fmt::join(driver.differences(), "; ")));
    if (o.pcap.empty()) {
      uint64_t due = 0;
      for (const Job& j : jobs) due += j.placed->fragments() * o.steps;
      check("results", "written or lost", fmt::to_string(due), fmt::to_string(counts.written + counts.parity));
    }
  }
  const bool good = std::all_of(checks.begin(), checks.end(), [](const auto& c) { return c.passed; });
  if (status == kGood && !good) status = kCheckFailed;

  // ---- Figures ----
  const auto& bars = system.engine().bars();
  const auto counter = [&](const char* name) { return bars.counter(std::string("arp_") + name); };
  const coll::EngineUsage usage = system.engine().usage();
  const uint64_t period = system.engine().period_ps();
  const uint64_t feed_ps = usage.beats == 0 ? 0 : usage.last_beat_ps - usage.first_beat_ps + period;
  const uint64_t span_ps =
      usage.beats == 0 ? 0 : std::max(driver.last_result_ps(), usage.last_beat_ps) - usage.first_beat_ps + period;
  const double beats_per_cycle =
      feed_ps == 0 ? 0 : static_cast<double>(usage.beats) * static_cast<double>(period) / static_cast<double>(feed_ps);
  const double mean_slots = span_ps == 0 ? 0 : static_cast<double>(usage.slot_ps) / static_cast<double>(span_ps);

  Table fragments({"<fragments", "count"});
  nlohmann::json refused = nlohmann::json::object();
  uint64_t all = counter("frag");
  fragments.row({"accepted", fmt::to_string(counter("frag"))});
  for (const auto& [name, text] : {std::pair{"duplicate", "duplicate: this rank has contributed"},
                                   {"late", "late: of an older step, or acknowledged already"},
                                   {"no_slot", "no slot: it holds an earlier result"},
                                   {"bad_group", "bad group"},
                                   {"bad_type", "bad type or operation"},
                                   {"bad_rank", "bad rank: no member"},
                                   {"bad_offset", "bad offset"},
                                   {"bad_length", "bad length"},
                                   {"damaged", "damaged frame"}}) {
    refused[name] = counter(name);
    all += counter(name);
    if (counter(name) != 0) fragments.row({text, fmt::to_string(counter(name))});
  }
  fragments.rule();
  fragments.row({"all", fmt::to_string(all)});

  Table results({"<results", "count"});
  results.row({"written to GPU memory", fmt::to_string(counter("written"))});
  if (counter("parity") != 0) results.row({"lost to a parity error", fmt::to_string(counter("parity"))});
  results.row({"acknowledged", fmt::to_string(counter("acked"))});
  if (counter("bad_ack") != 0) results.row({"acknowledges refused", fmt::to_string(counter("bad_ack"))});
  if (system.engine().slots_used() != 0) {
    results.row({"slots still in use", fmt::to_string(system.engine().slots_used())});
    results.row({"of these, done", fmt::to_string(system.engine().slots_done())});
  }
  if (counter("evt_lost") != 0) results.row({"events lost", fmt::to_string(counter("evt_lost"))});

  Table cycles({"<cycles", "count", "of all"});
  const uint64_t feed_cycles = feed_ps / period;
  const auto cycle_row = [&](const std::string& name, uint64_t n) {
    cycles.row({name, fmt::to_string(n),
                feed_cycles == 0
                    ? "-"
                    : fmt::format("{:.1f} %", 100.0 * static_cast<double>(n) / static_cast<double>(feed_cycles))});
  };
  cycle_row("first beat in to last beat in", feed_cycles);
  cycle_row("with a beat", usage.beats);
  cycle_row("a beat waits at the input", usage.wait);
  cycle_row("a beat waits for its address in the adder", counter("stall_hazard"));
  cycle_row("a beat waits for the read port", counter("stall_read"));
  cycle_row("a result waits for the DMA", counter("stall_drain"));

  Table rates({"<figure", "value", "<"});
  rates.row({"input", fmt::format("{:.4f}", beats_per_cycle), "beats of 64 B a cycle"});
  rates.row({"payload accepted", fmt::format("{:.2f}", per_second(driver.payload_bytes(), feed_ps)),
             "Gb/s, while fragments came in"});
  rates.row({"slots in use", fmt::format("{:.1f}", mean_slots), fmt::format("mean; most {}", usage.slots_most)});
  const auto& latencies = driver.latencies_ns();
  const double worst = latencies.empty() ? 0 : *std::max_element(latencies.begin(), latencies.end());
  rates.row({"first fragment to result", percentile_text(latencies, 0.5), "ns, P50"});
  rates.row({"", percentile_text(latencies, 0.99), "ns, P99"});
  rates.row({"", latencies.empty() ? "-" : fmt::format("{:.3f}", worst), "ns, longest"});

  nlohmann::json result = result_header(rerun_line(), profile, o.common.seed);
  result["subcommand"] = "arp";
  result["status"] = status == kGood ? "good" : status == kCheckFailed ? "check failed" : "not finished";
  for (const auto& [name, value] : bars.counters()) {
    if (name.compare(0, 4, "arp_") == 0) result["counters"][name] = value;
  }
  result["checks"] = to_json(checks);
  for (const Job& j : jobs) {
    const auto& c = j.placed->context;
    result["groups"].push_back({{"group", j.spec.group},
                                {"ranks", j.placed->ranks()},
                                {"count", j.spec.count},
                                {"type", coll::type_name(j.spec.type)},
                                {"op", coll::op_name(j.spec.op)},
                                {"wide", j.spec.wide},
                                {"fragment_bytes", 1u << c.log_frag},
                                {"chunk_bytes", uint64_t{1} << c.log_chunk},
                                {"slots", 1u << c.log_slots},
                                {"slot_base", c.slot_base},
                                {"row_base", c.row_base},
                                {"dst", c.dst},
                                {"result_bytes", j.placed->result_bytes()}});
  }
  const auto p = [&](double q) {
    const auto v = percentile(latencies, q);
    return v ? nlohmann::json(*v) : nlohmann::json();
  };
  result["arp"] = {
      {"fragments", {{"all", all}, {"accepted", counter("frag")}, {"refused", refused}}},
      {"beats", usage.beats},
      {"beats_per_cycle", beats_per_cycle},
      {"feed_cycles", feed_cycles},
      {"input_wait_cycles", usage.wait},
      {"stall_cycles",
       {{"hazard", counter("stall_hazard")}, {"read", counter("stall_read")}, {"drain", counter("stall_drain")}}},
      {"payload_gbps", per_second(driver.payload_bytes(), feed_ps)},
      {"slots_mean", mean_slots},
      {"slots_most", usage.slots_most},
      {"slots_open_at_end", system.engine().slots_used() - system.engine().slots_done()},
      {"latency",
       {{"p50_ns", p(0.5)},
        {"p99_ns", p(0.99)},
        {"max_ns", latencies.empty() ? nlohmann::json() : nlohmann::json(worst)}}},
      {"clocked_cycles", system.engine().clocked_cycles()}};

  // ---- Results ----
  std::vector<std::string> lines;
  if (finished) {
    for (const Job& j : jobs) {
      const auto m = driver.check_memory(*j.placed);
      lines.push_back(
          m.wrong == 0 && m.guard_wrong == 0
              ? fmt::format("group {}: {} B of result equal the reference bit for bit", j.spec.group, m.compared)
              : fmt::format("group {}: {} of {} B of result are wrong, {} B around it were changed", j.spec.group,
                            m.wrong, m.compared, m.guard_wrong));
      const bool whole = o.pcap.empty() && counter("parity") == 0;
      if (!whole || j.spec.op != arp::Op::kSum || !is_float(j.spec.type)) continue;
      const ErrorReport e = error_of(j, o.steps - 1, result_of(system, *j.placed));
      lines.push_back(fmt::format(
          "group {}: from sums in double precision: {:.3g} at most, {:.3g} of the sum of magnitudes{}", j.spec.group,
          e.max_absolute, e.max_relative,
          e.not_finite == 0
              ? ""
              : fmt::format("; {} of {} elements are not finite", e.not_finite, e.not_finite + e.compared)));
      result["error"].push_back({{"group", j.spec.group},
                                 {"max_absolute", e.max_absolute},
                                 {"max_relative", e.max_relative},
                                 {"not_finite", e.not_finite}});
    }
    if (!o.result.empty()) write_results(system, jobs, o.result);
  }
  if (!o.pcap.empty()) {
    result["capture"] = {{"file", o.pcap},
                         {"frames", capture.frames.size()},
                         {"fragments", replayed.fragments},
                         {"acknowledges", replayed.acknowledges},
                         {"other", replayed.other},
                         {"damaged", replayed.damaged},
                         {"damaged_acknowledges", replayed.dropped_acks},
                         {"problems", replayed.problems},
                         {"ends_early", capture.ends_early}};
    lines.push_back(fmt::format(
        "{}: {} frames: {} fragments ({} damaged), {} acknowledges, {} damaged acknowledges dropped, {} others", o.pcap,
        capture.frames.size(), replayed.fragments, replayed.damaged, replayed.acknowledges, replayed.dropped_acks,
        replayed.other));
    for (const auto& [problem, n] : replayed.problems)
      lines.push_back(fmt::format("damaged, {} times: {}", n, problem));
    if (capture.ends_early) lines.push_back("the capture ends inside of a packet, which was left out");
  }
  if (!o.dump.empty()) {
    write_pcapng(o.dump, dumped, false);
    if (dumped.frames_dropped != 0) {
      spdlog::warn("{}: {} frames beyond {} are not in it", o.dump, dumped.frames_dropped, kDumped);
    }
  }
  std::string head;
  for (const Job& j : jobs) head += group_line(*j.placed) + "\n";
  if (!o.common.json) {
    fmt::print("{}", head);
    if (o.pcap.empty()) {
      fmt::print("order {}, {} step(s), {} cycles between fragments, seed {}\n", o.order, o.steps, o.gap,
                 o.common.seed);
    }
    fmt::print("\n{}\n{}\n{}\n{}", fragments.text(), results.text(), cycles.text(), rates.text());
    if (!lines.empty()) fmt::print("\n{}\n", fmt::join(lines, "\n"));
    std::fflush(stdout);
  }
  report_checks(checks);
  Session::Outputs out;
  out.title = "rnicsim arp";
  out.recorder = &rec;
  out.wave = WaveOf::kArpEngine;
  if (!latencies.empty()) out.latencies_ns = {{"first fragment to result", latencies}};
  out.sections = {{"What became of the fragments", fragments.html()},
                  {"Results", results.html()},
                  {"Cycles", cycles.html()},
                  {"Figures", rates.html()}};
  session.finish(status, result, out);
  return status;
}

/// "0.01" or "1%".
double parse_chance(const std::string& text, const std::string& option) {
  size_t used = 0;
  double v = -1;
  try {
    v = std::stod(text, &used);
  } catch (const std::exception&) {
  }
  if (used + 1 == text.size() && text.back() == '%') v /= 100, ++used;
  if (used == 0 || used != text.size() || !(v >= 0 && v <= 1)) {
    throw InputError("", 0, option, fmt::format("'{}' is no chance; write a number from 0 to 1, or 0% to 100%", text));
  }
  return v;
}

}  // namespace

void add_arp(CLI::App& app, int& status) {
  static ArpCommand o;
  auto* sub =
      app.add_subcommand("arp", "The AllReduce engine alone: adds up vectors of many ranks, and says what it did");
  add_simulation_options(*sub, o.common);
  const auto vectors = [](CLI::Option* option) { return option->group("Vectors"); };
  const auto size = [&](const char* name, auto& value, const char* text) {
    return sub
        ->add_option_function<std::string>(
            name,
            [&value, name](const std::string& n) {
              const uint64_t v = parse_size(n, name);
              if (v == 0) throw InputError("", 0, name, "0 is out of range; allowed: from 1");
              value = v;
            },
            text)
        ->type_name("N");
  };
  const auto number = [&](const char* name, unsigned& value, unsigned min, unsigned max, const char* text) {
    return sub
        ->add_option_function<std::string>(
            name,
            [&value, name, min, max](const std::string& n) {
              const uint64_t v = parse_u64(n, name);
              if (v < min || v > max) {
                throw InputError("", 0, name, fmt::format("{} is out of range; allowed: {} to {}", v, min, max));
              }
              value = static_cast<unsigned>(v);
            },
            text)
        ->type_name("N");
  };
  const auto choice = [&](const char* name, std::string& value, std::vector<std::string> names, const char* text) {
    return sub->add_option(name, value, text)->type_name("NAME")->check(quiet_check(CLI::IsMember(std::move(names))));
  };
  vectors(number("--ranks", o.ranks, 1, 64, "Ranks that contribute [8, or what --data holds]"));
  vectors(size("--count", o.count,
               "Elements of the vector, with k, M, G for 2^10, 2^20, 2^30 [64k, or what --data holds]"));
  vectors(sub->add_option("--type", o.type,
                          "half (float16, fp16), bfloat16 (bf16), float (float32, fp32), int32 (int), int64 [float]"))
      ->type_name("TYPE");
  vectors(sub->add_option("--op", o.op, "sum, min, max [sum]"))->type_name("OP");
  vectors(sub->add_flag("--acc32", o.acc32, "Add half and bfloat16 up in float, and round once, at the end"));
  vectors(sub->add_flag("--wide", o.wide, "The same, and the result stays float"));
  vectors(size("--frag", o.fragment, "Bytes of a fragment: 64, 128 .. 4096 [4k]"));
  vectors(size("--chunk", o.chunk, "Bytes of a chunk, a power of two [64k]"));
  vectors(size("--slots", o.slots, "Slots of the group, a power of two [64, or what fits into half of the rows]"));
  vectors(number("--group", o.group, 0, 63, "Number of the group [0]"));
  vectors(sub->add_option("--groups", o.groups, "Groups from a file; several run side by side"))
      ->type_name("FILE.toml");
  vectors(sub->add_option(
              "--data", o.data,
              "Vectors from files: a folder with rank0.npy or rank0.bin, rank1 ..., or one file with all ranks"))
      ->type_name("PATH");
  vectors(
      choice("--values", o.values, {"normal", "special", "index"},
             "Generated values: normal, special (zeros, subnormals, infinities, NaNs among them), index (small whole "
             "numbers) [normal]"));

  const auto stream = [](CLI::Option* option) { return option->group("Stream"); };
  stream(choice(
      "--order", o.order, {"rank", "burst", "random"},
      "rank: rank by rank, distinct accumulators; burst: all ranks of a fragment in a row, the same ones; random "
      "[rank]"));
  stream(number("--steps", o.steps, 1, 65535, "How often, one after the other [1]"));
  stream(number("--gap", o.gap, 0, 1000000, "Cycles without a beat between fragments [0]"));
  stream(sub->add_option("--pcap", o.pcap, "Fragments and acknowledges as RoCEv2 frames of a pcap or pcapng file"))
      ->type_name("FILE")
      ->excludes("--data");
  stream(choice(
      "--acks", o.acks, {"auto", "frames", "none"},
      "With --pcap: results are acknowledged by themselves, by the file's frames, or not at all [frames if it holds "
      "any]"));

  const auto fault = [&](const char* name, double& value, const char* text) {
    sub->add_option_function<std::string>(
           name, [&value, name](const std::string& p) { value = parse_chance(p, name); }, text)
        ->type_name("P")
        ->group("Faults: the chance of each, for each fragment");
  };
  fault("--duplicate", o.faults.duplicate, "The fragment again");
  fault("--late", o.faults.late, "The same of the step before");
  fault("--early", o.faults.early, "The same of the step to come, whose slot is not free yet");
  fault("--corrupt", o.faults.corrupt, "A copy with a wrong ICRC before it");
  fault("--hostile", o.faults.hostile, "A copy whose header or length breaks a rule before it");
  fault("--flip", o.faults.flip, "A flipped bit of the accumulators, for each slot's use: its result is lost");

  const auto files = [](CLI::Option* option) { return option->type_name("FILE")->group("Run"); };
  files(sub->add_option("--result", o.result, "Write the result: raw elements, or an array if the name ends in .npy"));
  files(sub->add_option("--dump-frames", o.dump, "Write fragments and acknowledges as RoCEv2 frames (pcapng)"));
  sub->footer(
      "Every result is compared with a reference model bit for bit, and so is every counter; exit status 1 when they\n"
      "differ. Rules and packet format: docs/allreduce.md.\n\n"
      "Examples:\n"
      "  rnicsim arp                                        8 ranks, 64k floats\n"
      "  rnicsim arp --ranks 8 --count 1M --type bf16       2^20 elements\n"
      "  rnicsim arp --type half --acc32 --order burst      same accumulators back to back: what the interlock costs\n"
      "  rnicsim arp --duplicate 5% --late 5% --hostile 5%  refused fragments leave the result as it is\n"
      "  rnicsim arp --data vectors --type half --result sum.npy\n"
      "                                                     vectors/rank0.npy, rank1.npy ... of numpy.float16\n"
      "  rnicsim arp --count 4k --dump-frames arp.pcapng && rnicsim arp --count 4k --pcap arp.pcapng\n"
      "                                                     the same frames again\n"
      "  rnicsim arp --count 16k -o out/arp                 waveform, frames, TLPs, report");
  sub->callback([&status] {
    if (o.wide) o.acc32 = true;
    if (!o.groups.empty() && !o.data.empty()) {
      throw InputError("", 0, "--data", "the groups of --groups get generated values; give one of the two");
    }
    if (!o.pcap.empty() && o.faults.any()) {
      throw InputError("", 0, "--pcap", "faults are for generated vectors: put them into the capture");
    }
    status = run_arp(o);
  });
}

}  // namespace rnic::cli
