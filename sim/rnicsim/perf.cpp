// SPDX-License-Identifier: Apache-2.0
// rnicsim perf: its options, and what is printed as perftest prints it.
#include "perf.h"

#include <fmt/format.h>

#include <algorithm>

#include "rnic/core/error.h"

namespace rnic::cli {
namespace {

constexpr uint64_t kDefaultBytes = 16 << 20;  ///< of payload, from which the default number of messages follows
constexpr uint64_t kDefaultMost = 1000, kDefaultLeast = 5;
constexpr uint64_t kMostMessages = 4'000'000;

const std::map<std::string, host::SqWhere> kPlaces{
    {"device", host::SqWhere::kDevice}, {"bf", host::SqWhere::kBf}, {"host", host::SqWhere::kHost}};
const std::map<std::string, host::Space> kSpaces{{"gpu", host::Space::kGpu}, {"host", host::Space::kHost}};
const std::map<std::string, host::QpType> kTransports{{"RC", host::QpType::kRc}, {"UC", host::QpType::kUc}};

template <class T>
const std::string& name_of(const std::map<std::string, T>& names, T value) {
  return std::find_if(names.begin(), names.end(), [&](const auto& n) { return n.second == value; })->first;
}

uint64_t default_iters(uint64_t size, unsigned qps) {
  return std::clamp(kDefaultBytes / std::max<uint64_t>(size, 1) / qps, kDefaultLeast, kDefaultMost);
}

double mib_per_s(double messages_per_s, uint64_t size) {
  return messages_per_s * static_cast<double>(size) / (1 << 20);
}

}  // namespace

const char* const kPerfRule =
    "---------------------------------------------------------------------------------------\n";

unsigned PerfOptions::wqe_blocks() const {
  host::Qp qp{};
  qp.init.type = transport;
  host::SendWr wr;
  wr.opcode = opcode();
  wr.length = size;
  wr.send_inline = is_inline();
  return host::Context::wqe_blocks(qp, wr);
}

void perf_resolve(PerfOptions& o) {
  const auto refuse = [](const char* option, const std::string& what) { throw InputError("", 0, option, what); };
  if (o.bidirectional) {
    refuse("-b", "a bidirectional test needs a receive side, which this version does not have: leave -b out");
  }
  if (const unsigned most = host::max_inline_data(o.transport, o.opcode()); o.inline_size > most) {
    refuse("-I", fmt::format("{} bytes do not fit a work queue entry; at most {}", o.inline_size, most));
  }
  if (o.size == 0 || o.size > uint64_t{1} << 31) refuse("-s", "a message is of 1 to 2147483648 (2 GiB) bytes");
  if (o.all && o.sensitivity.wanted) refuse("--sensitivity", "goes with one size: leave -a out");
  if (o.all && o.duration_ps != 0) refuse("-D", "goes with one size: leave -a out");
  if (o.iters != 0 && o.duration_ps != 0) refuse("-D", "the run ends after a time or after -n messages, not both");
  if (o.prepost && o.duration_ps != 0) refuse("--prepost", "needs a number of messages: give -n instead of -D");
  if (o.prepost && o.sq == host::SqWhere::kBf) {
    refuse("--prepost", "needs WQEs that wait in a ring for a doorbell; a BlueFlame push is its own: use --sq device");
  }
  if (o.prepost && o.post_list != 1) refuse("--prepost", "posts all WQEs at once: leave -l out");
  if (o.iters == 0 && o.duration_ps == 0) o.iters = default_iters(o.size, o.qps);
  if (o.prepost && o.iters * o.wqe_blocks() > 32768) {
    refuse("-n", fmt::format("with --prepost a ring holds at most {} of these WQEs", 32768 / o.wqe_blocks()));
  }
  if (o.iters > kMostMessages / o.qps) {
    refuse("-n", fmt::format("at most {} messages over all QPs are kept account of: give {} or less", kMostMessages,
                             kMostMessages / o.qps));
  }
  if (!o.prepost && uint64_t{o.tx_depth} * o.wqe_blocks() > 32768) {
    refuse("-t", fmt::format("a ring holds at most {} of these WQEs", 32768 / o.wqe_blocks()));
  }
  if (o.post_list > o.tx_depth) {
    refuse("-l", fmt::format("a list of {} WQEs does not fit in a queue of {} (-t)", o.post_list, o.tx_depth));
  }
  if (o.duration_ps == 0 && !o.prepost) {
    o.tx_depth = static_cast<unsigned>(std::min<uint64_t>(o.tx_depth, o.iters));
    o.post_list = std::min(o.post_list, o.tx_depth);
  }
  if (o.prepost) {
    o.tx_depth = static_cast<unsigned>(o.iters);
    if (o.cq_mod == 0) o.cq_mod = o.iters;
  }
  if (o.cq_mod == 0) o.cq_mod = o.size > 8192 ? 1 : 100;
  // Whole lists, and one completion at least in a full queue: it would never have room again otherwise.
  const uint64_t list = o.post_list;
  o.cq_mod = std::min((o.cq_mod + list - 1) / list * list, o.tx_depth / list * list);
}

std::string perf_row(bool gbits, uint64_t size, uint64_t iterations, double peak_per_s, double average_per_s) {
  const auto bw = [&](double messages) {
    return gbits ? messages * static_cast<double>(size) * 8e-9 : mib_per_s(messages, size);
  };
  return fmt::format(" {:<10} {:<14} {:<18.2f} {:<20.2f} {:<.6f}\n", size, iterations, bw(peak_per_s),
                     bw(average_per_s), average_per_s * 1e-6);
}

void perf_print_header(const PerfOptions& o, const Profile& p) {
  fmt::print("{}{:>20}{} BW Test\n", kPerfRule, "", o.opcode() == host::WrOpcode::kSend ? "Send" : "RDMA_Write");
  const auto line = [](const std::string& a, const std::string& x, const std::string& b, const std::string& y) {
    fmt::print(" {:<16}: {:<16}{:<16}: {}\n", a, x, b, y);
  };
  const auto number = [&](uint64_t n) { return n == 0 ? "by size" : fmt::to_string(n); };
  line("Dual-port", "OFF", "Device", "rnicsim, " + p.name());
  line("Number of qps", number(o.qps), "Transport type", "IB");
  line("Connection type", name_of(kTransports, o.transport), "Using SRQ", "OFF");
  line("TX depth", o.prepost && o.all ? "by size" : number(o.tx_depth), "Post list", number(o.post_list));
  line("CQ Moderation", number(o.cq_mod), "Send queue", name_of(kPlaces, o.sq));
  line("Mtu", fmt::format("{}[B]", o.mtu), "Payload", o.mem == host::Space::kGpu ? "GPU memory" : "host memory");
  line("Link type", "Ethernet", "Posting", o.prepost ? "all before the doorbells" : "one CPU thread");
  line("Max inline data", fmt::format("{}[B]", o.inline_size), "Time", "simulated");
  const char* unit = o.gbits ? "Gb/sec" : "MB/sec";
  fmt::print("{} {:<10} {:<14} {:<18} {:<20} {}\n", kPerfRule, "#bytes", "#iterations",
             fmt::format("BW peak[{}]", unit), fmt::format("BW average[{}]", unit), "MsgRate[Mpps]");
}

nlohmann::json perf_options_json(const PerfOptions& o) {
  return {{"test", o.test},
          {"size_bytes", o.size},
          {"iterations_per_qp", o.iters},
          {"qps", o.qps},
          {"mtu_bytes", o.mtu},
          {"tx_depth", o.tx_depth},
          {"inline_size_bytes", o.inline_size},
          {"cq_mod", o.cq_mod},
          {"post_list", o.post_list},
          {"duration_ps", o.duration_ps},
          {"connection", name_of(kTransports, o.transport)},
          {"sq", name_of(kPlaces, o.sq)},
          {"mem", name_of(kSpaces, o.mem)},
          {"prepost", o.prepost}};
}

std::vector<std::string> perf_arguments(const PerfOptions& o, uint64_t size) {
  std::vector<std::string> args{"--quiet", "perf", o.test, "--json"};
  const auto add = [&](const char* option, const std::string& value) {
    args.emplace_back(option);
    args.push_back(value);
  };
  add("--size", fmt::to_string(size));
  if (o.iters != 0) add("--iters", fmt::to_string(o.iters));
  add("--qp", fmt::to_string(o.qps));
  add("--mtu", fmt::to_string(o.mtu));
  add("--tx-depth", fmt::to_string(o.tx_depth));
  add("--inline_size", fmt::to_string(o.inline_size));
  if (o.cq_mod != 0) add("--cq-mod", fmt::to_string(o.cq_mod));
  add("--post_list", fmt::to_string(o.post_list));
  add("--connection", name_of(kTransports, o.transport));
  add("--sq", name_of(kPlaces, o.sq));
  add("--mem", name_of(kSpaces, o.mem));
  if (o.prepost) args.emplace_back("--prepost");
  add("--profile", o.common.profile);
  for (const auto& s : o.common.set) add("--set", s);
  add("--seed", fmt::to_string(o.common.seed));
  add("--max-sim-time", o.common.max_sim_time);
  add("--max-wall", fmt::to_string(o.common.max_wall_s));
  return args;
}

void add_perf(CLI::App& app, int& status) {
  static PerfOptions o;
  auto* perf =
      app.add_subcommand("perf", "Rates of the sender's side, as perftest measures them, and what bounds them");
  perf->require_subcommand(1);
  perf->footer(
      "Examples:\n"
      "  rnicsim perf write_bw -s 64k --report_gbits     bandwidth of one QP\n"
      "  rnicsim perf write_bw -s 64 -q 16 --prepost     message rate of the NIC alone\n"
      "  rnicsim perf write_bw --help                    all options");
  for (const char* test : {"write_bw", "send_bw"}) {
    auto* sub = perf->add_subcommand(test, std::string(test) == "write_bw" ? "RDMA WRITE bandwidth and message rate"
                                                                           : "SEND bandwidth and message rate");
    add_simulation_options(*sub, o.common);
    const auto group = "Test (as perftest)";
    const auto size = [&](const char* name, uint64_t& value, const char* option, const char* help) {
      return sub
          ->add_option_function<std::string>(
              name, [&value, option](const std::string& s) { value = parse_size(s, option); }, help)
          ->type_name("BYTES")
          ->group(group);
    };
    const auto count = [&](const char* name, auto& value, uint64_t most, const char* help) {
      using T = std::remove_reference_t<decltype(value)>;
      return sub->add_option(name, value, help)
          ->check(quiet_check(CLI::Range(T{1}, static_cast<T>(most))))
          ->type_name(fmt::format("1..{}", most))
          ->group(group);
    };
    size("-s,--size", o.size, "-s", "Bytes of a message; k, M, G may follow [65536]");
    sub->add_flag("-a,--all", o.all, "All sizes from 2 to 8388608 (2^23), each in a simulation of its own")
        ->group(group);
    count("-n,--iters", o.iters, kMostMessages, "Messages of each QP [as many as 16 MiB hold over all QPs, 5 to 1000]");
    count("-q,--qp", o.qps, 1023, "Queue pairs [1]");
    sub->add_option("-m,--mtu", o.mtu, "Path MTU [4096]")
        ->check(quiet_check(CLI::IsMember({256, 512, 1024, 2048, 4096})))
        ->type_name("256|512|1024|2048|4096")
        ->group(group);
    size("-I,--inline_size", o.inline_size, "-I", "Messages up to this size are sent inline, in the WQE [0]");
    count("-t,--tx-depth", o.tx_depth, 32768, "WQEs of a QP under way at a time [128]");
    sub->add_flag("-b,--bidirectional", o.bidirectional, "Refused: there is no receive side")->group(group);
    count("-Q,--cq-mod", o.cq_mod, kMostMessages,
          "A completion for so many messages [100; above 8 KiB 1; with --prepost the last only]");
    count("-l,--post_list", o.post_list, 32768, "WQEs a doorbell [1]");
    sub->add_option_function<std::string>(
           "-D,--duration", [](const std::string& s) { o.duration_ps = parse_time(s, "-D"); },
           "Run for so much simulated time (ns, us, ms) instead of a number of messages")
        ->type_name("TIME")
        ->group(group);
    sub->add_flag("--report_gbits", o.gbits, "Bandwidth in Gb/s instead of MiB/s (perftest's MB)")->group(group);
    const auto choice = [&](const char* name, auto& value, const auto& names, const char* help) {
      std::string shown;
      for (const auto& [text, v] : names) shown += (shown.empty() ? "" : "|") + text;
      std::remove_reference_t<decltype(names)> const* list = &names;
      return sub
          ->add_option_function<std::string>(
              name, [&value, list](const std::string& s) { value = list->at(s); }, help)
          ->check(quiet_check(CLI::IsMember(names)))
          ->type_name(shown);
    };
    choice("-c,--connection", o.transport, kTransports, "Transport service [UC]")->group(group);
    choice("--sq", o.sq, kPlaces, "Where the send queue is [device]")->group("Test (ours)");
    choice("--mem", o.mem, kSpaces, "Where the payload is [gpu]")->group("Test (ours)");
    sub->add_flag("--prepost", o.prepost,
                  "All WQEs stand in the rings before the first doorbell, which rings all QPs: the NIC's own rate, "
                  "without the CPU")
        ->group("Test (ours)");
    add_sensitivity_options(*sub, o.sensitivity, "rates.bw_average_gbps");
    sub->footer(
        "BW average and MsgRate count from the first post to the last completion, as perftest does, in simulated "
        "time;\n"
        "BW peak is the best rate from any post to any completion. The wire's figures are those of the middle three\n"
        "quarters of the frames. Definitions: docs/perf.md.\n\n"
        "Examples:\n"
        "  rnicsim perf write_bw -s 64k --report_gbits\n"
        "  rnicsim perf write_bw -s 64 -q 16 --prepost\n"
        "  rnicsim perf write_bw -a --report_gbits -o out/bw\n"
        "  rnicsim perf write_bw -s 64 -q 16 --prepost --sensitivity\n"
        "  rnicsim perf send_bw -s 4096 -q 4 -l 8 --mem host --profile gen5-measured");
    sub->callback([&status, test] {
      o.test = test;
      status = o.all ? perf_all(o) : perf_one(o);
    });
  }
}

}  // namespace rnic::cli
