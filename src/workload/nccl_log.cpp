// SPDX-License-Identifier: Apache-2.0
#include "rnic/workload/nccl_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <tuple>

namespace rnic::workload {
namespace {

using std::string_view;

/// Names out of a log go into tables, messages and reports: control characters become '?'.
std::string clean(string_view s) {
  std::string out(s);
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return out;
}

constexpr string_view kMark = "NCCL INFO ";
constexpr unsigned kMaxRanks = 1u << 20;

struct Name {
  string_view text;
  Collective collective;
};
constexpr Name kNames[] = {
    {"AllReduce", Collective::kAllReduce},
    {"AllGather", Collective::kAllGather},
    {"ReduceScatter", Collective::kReduceScatter},
    {"Broadcast", Collective::kBroadcast},
    {"Reduce", Collective::kReduce},
    {"Send", Collective::kSend},
    {"Recv", Collective::kRecv},
    {"AlltoAll", Collective::kAllToAll},
    {"AllToAll", Collective::kAllToAll},
    {"AllToAllPivot", Collective::kAllToAll},  // RCCL
    {"AlltoAllv", Collective::kAllToAllV},
    {"AllToAllv", Collective::kAllToAllV},
    {"Gather", Collective::kGather},
    {"Scatter", Collective::kScatter},
    {"SendRecv", Collective::kSendRecv},
    {"PutSignal", Collective::kPutSignal},
    {"Signal", Collective::kSignal},
    {"WaitSignal", Collective::kWaitSignal},
};

struct Type {
  const char* name;
  unsigned size;
};
constexpr Type kTypes[] = {
    // ncclDataType_t of nccl.h
    {"int8", 1}, {"uint8", 1}, {"int32", 4},  {"uint32", 4},   {"int64", 8},  {"uint64", 8},
    {"half", 2}, {"float", 4}, {"double", 8}, {"bfloat16", 2}, {"f8e4m3", 1}, {"f8e5m2", 1},
};

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

std::vector<string_view> words(string_view s) {
  std::vector<string_view> out;
  size_t at = 0;
  while (at < s.size()) {
    while (at < s.size() && is_space(s[at])) ++at;
    const size_t from = at;
    while (at < s.size() && !is_space(s[at])) ++at;
    if (at > from) out.push_back(s.substr(from, at - from));
  }
  return out;
}

/// The whole of s as an unsigned number.
template <class T>
bool number(string_view s, T& value, int base = 10) {
  if (base == 16 && s.size() > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X')) s.remove_prefix(2);
  const auto r = std::from_chars(s.data(), s.data() + s.size(), value, base);
  return r.ec == std::errc() && r.ptr == s.data() + s.size() && !s.empty();
}

/// Host, process and device of "host:pid:tid [device] ", looked for from the end: anything may stand before.
struct Prefix {
  std::string host;
  uint64_t pid = 0;
  std::optional<unsigned> device;
};

Prefix read_prefix(string_view s) {
  Prefix p;
  auto parts = words(s);
  if (!parts.empty() && parts.back().size() > 2 && parts.back().front() == '[' && parts.back().back() == ']') {
    unsigned d = 0;
    if (number(parts.back().substr(1, parts.back().size() - 2), d)) {
      p.device = d;
      parts.pop_back();
    }
  }
  if (parts.empty()) return p;
  const string_view w = parts.back();
  const size_t second = w.rfind(':');
  const size_t first = second == string_view::npos || second == 0 ? string_view::npos : w.rfind(':', second - 1);
  uint64_t pid = 0, tid = 0;
  if (first == string_view::npos || !number(w.substr(first + 1, second - first - 1), pid) ||
      !number(w.substr(second + 1), tid)) {
    return p;
  }
  p.host = clean(w.substr(0, first));
  p.pid = pid;
  return p;
}

/// The word after `key`.
std::optional<string_view> value_after(const std::vector<string_view>& w, string_view key) {
  for (size_t i = 0; i + 1 < w.size(); ++i) {
    if (w[i] == key) return w[i + 1];
  }
  return std::nullopt;
}

class Reader {
 public:
  explicit Reader(NcclLog& log) : log_(log) {}

  void line(string_view text, unsigned number, bool last_and_open) {
    const size_t mark = text.find(kMark);
    if (mark == string_view::npos) return;
    const string_view body = text.substr(mark + kMark.size());
    if (body.find("opCount") != string_view::npos && body.find(kMark) != string_view::npos) {
      return unreadable(number, "two lines of the log have run together");
    }
    if (read_init(text.substr(0, mark), body)) return;
    const size_t colon = body.find(": opCount");
    if (colon != string_view::npos && body.substr(0, colon).find(' ') == string_view::npos && colon != 0) {
      return record(read_prefix(text.substr(0, mark)), body.substr(0, colon), body.substr(colon + 2), number);
    }
    if (cut_short(body, last_and_open)) unreadable(number, "the line ends inside the record");
  }

  void finish() {
    match();
    number_ranks();
  }

 private:
  void unreadable(unsigned line, std::string why) { log_.unreadable.push_back({line, std::move(why)}); }

  /// A record that stops before its opCount is complete. A bare part of a name counts only at the end of the file.
  static bool cut_short(string_view body, bool last_and_open) {
    constexpr size_t kShortest = 2;  // what is shorter says nothing
    while (!body.empty() && is_space(body.back())) body.remove_suffix(1);
    if (body.empty()) return false;
    return std::any_of(std::begin(kNames), std::end(kNames), [&](const Name& n) {
      const std::string whole = std::string(n.text) + ": opCount";
      return whole.compare(0, body.size(), body) == 0 && body.size() < whole.size() &&
             body.size() > (last_and_open ? kShortest : n.text.size() + 1);
    });
  }

  using Key = std::tuple<std::string, uint64_t, std::string>;  ///< host, process, pointer

  unsigned rank_of(const Prefix& p, const std::string& comm, unsigned nranks) {
    const auto [it, fresh] = latest_.try_emplace(Key{p.host, p.pid, comm}, static_cast<unsigned>(log_.ranks.size()));
    if (fresh || log_.ranks[it->second].nranks != nranks) {  // a pointer is used again for another communicator
      it->second = static_cast<unsigned>(log_.ranks.size());
      NcclRank r;
      r.host = p.host;
      r.pid = p.pid;
      r.device = p.device;
      r.comm = comm;
      r.nranks = nranks;
      log_.ranks.push_back(r);
      calls_of_.emplace_back();
    }
    return it->second;
  }

  /// "... comm 0x55 rank 0 nranks 2 cudaDev 0 ... commId 0x77 - Init START|COMPLETE" and, of other versions, the same
  /// without the id.
  bool read_init(string_view prefix, string_view body) {
    const bool start = body.find("Init START") != string_view::npos;
    if (!start && body.find("Init COMPLETE") == string_view::npos) return false;
    const auto w = words(body);
    const auto comm = value_after(w, "comm"), rank = value_after(w, "rank"), nranks = value_after(w, "nranks");
    unsigned r = 0, n = 0;
    if (!comm || !rank || !nranks || !number(*rank, r) || !number(*nranks, n) || n == 0 || n > kMaxRanks || r >= n) {
      return true;
    }
    const Prefix p = read_prefix(prefix);
    const std::string key = clean(*comm);
    const std::string id = clean(value_after(w, "commId").value_or(""));
    if (const auto it = latest_.find(Key{p.host, p.pid, key}); it != latest_.end()) {
      const NcclRank& old = log_.ranks[it->second];
      if (start || (old.rank_known && old.comm_id != id)) latest_.erase(it);
    }
    NcclRank& mine = log_.ranks[rank_of(p, key, n)];
    mine.rank = r;
    mine.rank_known = true;
    mine.comm_id = id;
    if (!mine.device) mine.device = p.device;
    return true;
  }

  void record(const Prefix& prefix, string_view name, string_view rest, unsigned line) {
    NcclCall c{};
    c.line = line;
    c.name = clean(name);
    c.collective = Collective::kOther;
    for (const Name& n : kNames) {
      if (n.text == name) c.collective = n.collective;
    }
    const auto w = words(rest);
    const auto need = [&](string_view key, auto& value, int base) {
      const auto v = value_after(w, key);
      if (!v) {
        unreadable(line, fmt::format("the record has no '{}': is the line cut short?", key));
        return false;
      }
      if (!number(*v, value, base)) {
        unreadable(line, fmt::format("'{} {}' is not a number that can be", key, clean(*v)));
        return false;
      }
      return true;
    };
    if (!need("opCount", c.op_count, 16) || !need("count", c.count, 10) || !need("datatype", c.datatype, 10)) return;
    // Other libraries of the family print `peer`, and no op, for Send and Recv.
    if (value_after(w, "op") && !need("op", c.redop, 10)) return;
    if (!need(value_after(w, "root") || !value_after(w, "peer") ? "root" : "peer", c.root, 10)) return;
    const auto comm = value_after(w, "comm");
    if (!comm) return unreadable(line, "the record has no 'comm': is the line cut short?");
    unsigned nranks = 0;
    const size_t open = rest.find("[nranks=");
    if (open == string_view::npos) return unreadable(line, "the record has no '[nranks=': is the line cut short?");
    string_view n = rest.substr(open + 8);
    const size_t close = n.find_first_of("],");
    if (close == string_view::npos) return unreadable(line, "the line ends inside '[nranks='");
    n = n.substr(0, close);
    if (!number(n, nranks) || nranks == 0 || nranks > kMaxRanks) {
      return unreadable(line, fmt::format("'nranks={}' is not a number from 1 to {}", clean(n), kMaxRanks));
    }
    c.who = rank_of(prefix, clean(*comm), nranks);
    if (const auto g = value_after(w, "globalrank")) {  // RCCL
      unsigned r = 0;
      NcclRank& mine = log_.ranks[c.who];
      if (!mine.rank_known && number(*g, r) && r < nranks) global_rank_[c.who] = r;
    }
    calls_of_[c.who].push_back(static_cast<unsigned>(log_.calls.size()));
    log_.calls.push_back(std::move(c));
  }

  // ---- Which ranks belong together ----------------------------------------------------------------------------------

  bool collective_call(unsigned call) const {
    switch (log_.calls[call].collective) {
      case Collective::kSend:
      case Collective::kRecv:
      case Collective::kSendRecv:
      case Collective::kPutSignal:
      case Collective::kSignal:
      case Collective::kWaitSignal:
      case Collective::kOther:
        return false;
      default:
        return true;
    }
  }

  /// Whether the calls that all ranks must make alike are the same, as far as both logs go.
  bool same_order(unsigned a, unsigned b) const {
    const auto &ca = calls_of_[a], &cb = calls_of_[b];
    size_t i = 0, j = 0;
    while (true) {
      while (i < ca.size() && !collective_call(ca[i])) ++i;
      while (j < cb.size() && !collective_call(cb[j])) ++j;
      if (i == ca.size() || j == cb.size()) return true;
      const NcclCall &x = log_.calls[ca[i++]], &y = log_.calls[cb[j++]];
      if (x.collective != y.collective || x.count != y.count || x.datatype != y.datatype || x.root != y.root)
        return false;
    }
  }

  bool fits(const std::vector<unsigned>& group, unsigned r) const {
    const NcclRank &first = log_.ranks[group.front()], &mine = log_.ranks[r];
    if (first.nranks != mine.nranks || group.size() == mine.nranks) return false;
    if (first.comm_id != mine.comm_id) return false;
    for (unsigned g : group) {
      const NcclRank& other = log_.ranks[g];
      if (other.rank_known && mine.rank_known && other.rank == mine.rank) return false;
      // One process drives one device once in a communicator.
      if (!mine.host.empty() && other.host == mine.host && other.pid == mine.pid && other.device == mine.device) {
        return false;
      }
    }
    return !mine.comm_id.empty() || same_order(group.front(), r);
  }

  void match() {
    for (unsigned r = 0; r < log_.ranks.size(); ++r) {
      auto& groups = log_.communicators;
      auto it = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return fits(g, r); });
      if (it == groups.end()) it = groups.insert(groups.end(), std::vector<unsigned>{});
      it->push_back(r);
      log_.ranks[r].communicator = static_cast<unsigned>(it - groups.begin());
    }
  }

  void number_ranks() {
    for (auto& group : log_.communicators) {
      std::set<unsigned> used;
      std::vector<unsigned> open;
      const bool all_global = std::all_of(group.begin(), group.end(), [&](unsigned r) {
        return log_.ranks[r].rank_known || global_rank_.count(r) != 0;
      });
      for (unsigned r : group) {
        NcclRank& mine = log_.ranks[r];
        if (!mine.rank_known && all_global && used.count(global_rank_[r]) == 0) {
          mine.rank = global_rank_[r];
          mine.rank_known = true;
        }
        if (mine.rank_known)
          used.insert(mine.rank);
        else
          open.push_back(r);
      }
      // By host in order of appearance, then by device.
      std::map<std::string, size_t> order;
      for (unsigned r : group) order.try_emplace(log_.ranks[r].host, order.size());
      std::stable_sort(open.begin(), open.end(), [&](unsigned a, unsigned b) {
        const NcclRank &x = log_.ranks[a], &y = log_.ranks[b];
        return std::make_pair(order[x.host], x.device.value_or(0)) <
               std::make_pair(order[y.host], y.device.value_or(0));
      });
      unsigned next = 0;
      for (unsigned r : open) {
        while (used.count(next) != 0) ++next;
        log_.ranks[r].rank = next++;
      }
      std::sort(group.begin(), group.end(),
                [&](unsigned a, unsigned b) { return log_.ranks[a].rank < log_.ranks[b].rank; });
    }
  }

  NcclLog& log_;
  std::map<Key, unsigned> latest_;
  std::map<unsigned, unsigned> global_rank_;
  std::vector<std::vector<unsigned>> calls_of_;
};

void add_run(std::vector<RingPlan::Run>& out, uint64_t bytes, uint64_t times) {
  if (bytes == 0 || times == 0) return;
  if (!out.empty() && out.back().bytes == bytes)
    out.back().times += times;
  else
    out.push_back({bytes, times});
}

/// Appends a message, in pieces.
void add_message(std::vector<RingPlan::Run>& out, uint64_t bytes) {
  add_run(out, kMaxPiece, bytes / kMaxPiece);
  add_run(out, bytes % kMaxPiece, 1);
}

}  // namespace

unsigned nccl_type_size(unsigned datatype) { return datatype < std::size(kTypes) ? kTypes[datatype].size : 0; }

std::string nccl_type_name(unsigned datatype) {
  return datatype < std::size(kTypes) ? kTypes[datatype].name : fmt::format("type {}", datatype);
}

std::vector<std::string> NcclLog::hosts() const {
  std::vector<std::string> out;
  for (const auto& r : ranks) {
    if (std::find(out.begin(), out.end(), r.host) == out.end()) out.push_back(r.host);
  }
  return out;
}

NcclLog read_nccl_log(std::istream& in, const std::string& file) {
  NcclLog log;
  log.file = file;
  Reader reader(log);
  std::string text;
  while (std::getline(in, text)) {
    ++log.lines;
    reader.line(text, log.lines, in.eof());
  }
  reader.finish();
  return log;
}

NcclLog load_nccl_log(const std::string& path) {
  std::error_code ec;
  if (std::filesystem::is_directory(path, ec)) throw InputError(path, 0, "", "is a folder, not a log");
  std::ifstream in(path, std::ios::binary);
  if (!in) throw InputError(path, 0, "", fmt::format("cannot be read: {}", std::strerror(errno)));
  NcclLog log = read_nccl_log(in, path);
  if (log.calls.empty() && log.unreadable.empty()) {
    throw InputError(path, 0, "",
                     fmt::format("no collective in {} lines; NCCL logs them when the job runs with NCCL_DEBUG=INFO "
                                 "NCCL_DEBUG_SUBSYS=INIT,COLL in its environment",
                                 log.lines));
  }
  return log;
}

uint64_t RingPlan::bytes() const {
  return std::accumulate(runs.begin(), runs.end(), uint64_t{0},
                         [](uint64_t sum, const Run& r) { return sum + r.bytes * r.times; });
}

uint64_t RingPlan::messages() const {
  return std::accumulate(runs.begin(), runs.end(), uint64_t{0},
                         [](uint64_t sum, const Run& r) { return sum + r.times; });
}

RingPlan plan_ring(const NcclCall& call, unsigned rank, unsigned nranks) {
  RingPlan plan;
  const auto refuse = [&plan](std::string why) {
    plan.note = std::move(why);
    return plan;
  };
  const unsigned size = nccl_type_size(call.datatype);
  if (size == 0)
    return refuse(fmt::format("datatype {} is none of NCCL's (0 to {})", call.datatype, std::size(kTypes) - 1));
  // The sum of all steps stays below 2^62 bytes.
  if (call.count > (uint64_t{1} << 61) / size / nranks)
    return refuse(fmt::format("a count of {} can't be meant", call.count));
  const uint64_t bytes = call.count * size;
  const bool rooted = call.collective == Collective::kBroadcast || call.collective == Collective::kReduce ||
                      call.collective == Collective::kGather || call.collective == Collective::kScatter ||
                      call.collective == Collective::kSend || call.collective == Collective::kRecv;
  if (rooted && call.root >= nranks) {
    return refuse(fmt::format("root or peer {} is not a rank of a communicator of {}", call.root, nranks));
  }
  plan.replayable = true;
  const auto nothing = [&plan](std::string why) {
    plan.note = std::move(why);
    return plan;
  };
  const unsigned next = (rank + 1) % nranks;
  switch (call.collective) {
    case Collective::kPutSignal:
    case Collective::kSignal:
    case Collective::kWaitSignal:
    case Collective::kSendRecv:
    case Collective::kOther:
      plan.replayable = false;
      return refuse(fmt::format("'{}' has no replay: the record does not say what is sent to whom", call.name));
    case Collective::kAllToAllV:
      plan.replayable = false;
      return refuse(fmt::format("'{}' has no replay: its counts per peer are not logged", call.name));
    case Collective::kRecv:
      return nothing("receives only");
    default:
      break;
  }
  if (nranks == 1) return nothing("one rank: nothing on the wire");
  if (call.count == 0) return nothing("count 0: nothing on the wire");
  const uint64_t steps = nranks - 1;
  switch (call.collective) {
    case Collective::kAllReduce: {
      const auto chunk = [&](uint64_t i) {
        i %= nranks;
        return (call.count / nranks + (i < call.count % nranks)) * size;
      };
      // Reduce-scatter: rank r sends chunk r first, then the one it has just reduced; all-gather: chunk r+1 first.
      for (uint64_t s = 0; s < steps; ++s) add_message(plan.runs, chunk(rank + nranks - s));
      for (uint64_t s = 0; s < steps; ++s) add_message(plan.runs, chunk(rank + 1 + nranks - s));
      if (plan.runs.empty()) plan.note = "fewer elements than ranks: this rank's chunks are empty";
      break;
    }
    case Collective::kAllGather:
    case Collective::kReduceScatter:
      for (uint64_t s = 0; s < steps; ++s) add_message(plan.runs, bytes);
      break;
    case Collective::kBroadcast:
      if (next == call.root)
        return nothing(fmt::format("rank {} is the last of the ring from root {}: sends none", rank, call.root));
      add_message(plan.runs, bytes);
      break;
    case Collective::kReduce:
      if (rank == call.root) return nothing(fmt::format("rank {} is the root, where the ring ends: sends none", rank));
      add_message(plan.runs, bytes);
      break;
    case Collective::kSend:
      if (call.root == rank) return nothing("to itself: a copy inside the GPU");
      add_message(plan.runs, bytes);
      break;
    case Collective::kGather:
      if (rank == call.root) return nothing(fmt::format("rank {} is the root: receives only", rank));
      add_message(plan.runs, bytes);
      break;
    case Collective::kScatter:
      if (rank != call.root) return nothing(fmt::format("rank {} is not the root: receives only", rank));
      add_message(plan.runs, bytes);
      if (nranks > 2) plan.note = fmt::format("the ring neighbour's share; {} more ranks get as much", nranks - 2);
      break;
    case Collective::kAllToAll:
      add_message(plan.runs, bytes);
      if (nranks > 2) plan.note = fmt::format("the ring neighbour's share; {} more ranks get as much", nranks - 2);
      break;
    default:
      break;
  }
  return plan;
}

}  // namespace rnic::workload
