// SPDX-License-Identifier: Apache-2.0
#include "rnic/workload/scenario.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <utility>

#include "core/toml_table.h"
#include "rnic/nic/bar.h"
#include "rnic/observe/diagnose.h"
#include "rnic/regs/regs.h"

namespace rnic::workload {
namespace {

constexpr uint64_t kU32 = 0xffffffff;
constexpr uint64_t kMaxMessage = uint64_t{1} << 31;
constexpr double kMaxNs = 1e12;  // 1000 s

using detail::line_of;
using detail::type_name;
using Table = detail::TomlTable;

using host::QpType;
using host::Space;
using host::SqWhere;
using host::WrOpcode;
using pcie::Initiator;

constexpr std::array<std::pair<const char*, Space>, 2> kSpaces{{{"gpu", Space::kGpu}, {"host", Space::kHost}}};
constexpr std::array<std::pair<const char*, QpType>, 3> kTransports{
    {{"uc", QpType::kUc}, {"rc", QpType::kRc}, {"ud", QpType::kUd}}};
constexpr std::array<std::pair<const char*, SqWhere>, 3> kPlaces{
    {{"device", SqWhere::kDevice}, {"bf", SqWhere::kBf}, {"host", SqWhere::kHost}}};
constexpr std::array<std::pair<const char*, WrOpcode>, 8> kOps{{{"write", WrOpcode::kRdmaWrite},
                                                                {"write_imm", WrOpcode::kRdmaWriteImm},
                                                                {"send", WrOpcode::kSend},
                                                                {"send_imm", WrOpcode::kSendImm},
                                                                {"send_inv", WrOpcode::kSendWithInv},
                                                                {"read", WrOpcode::kRdmaRead},
                                                                {"cmp_swap", WrOpcode::kAtomicCmpAndSwp},
                                                                {"fetch_add", WrOpcode::kAtomicFetchAndAdd}}};
constexpr std::array<std::pair<const char*, Initiator>, 2> kInitiators{
    {{"cpu", Initiator::kCpu}, {"gpu", Initiator::kGpu}}};
constexpr std::array<std::pair<const char*, pcie::ReadFault>, 10> kAnswers{{{"ur", pcie::ReadFault::kUr},
                                                                            {"ca", pcie::ReadFault::kCa},
                                                                            {"poisoned", pcie::ReadFault::kPoisoned},
                                                                            {"dropped", pcie::ReadFault::kDropped},
                                                                            {"byte_count", pcie::ReadFault::kByteCount},
                                                                            {"wrong_tag", pcie::ReadFault::kWrongTag},
                                                                            {"stray", pcie::ReadFault::kStray},
                                                                            {"duplicate", pcie::ReadFault::kDuplicate},
                                                                            {"too_long", pcie::ReadFault::kTooLong},
                                                                            {"late", pcie::ReadFault::kLate}}};
constexpr std::array<std::pair<const char*, FaultKind>, 13> kFaults{{{"doorbell", FaultKind::kDoorbell},
                                                                     {"raw_wqe", FaultKind::kRawWqe},
                                                                     {"mmio", FaultKind::kMmio},
                                                                     {"qp_error", FaultKind::kQpError},
                                                                     {"pause", FaultKind::kPause},
                                                                     {"read", FaultKind::kRead},
                                                                     {"stray_completion", FaultKind::kStray},
                                                                     {"flr", FaultKind::kFlr},
                                                                     {"removal", FaultKind::kRemoval},
                                                                     {"temperature", FaultKind::kTemperature},
                                                                     {"cq_overrun", FaultKind::kCqOverrun},
                                                                     {"bus_master_off", FaultKind::kBusMasterOff},
                                                                     {"unpin", FaultKind::kUnpin}}};
constexpr std::array<std::pair<const char*, uint32_t>, 6> kAccess{{{"local_write", host::kLocalWrite},
                                                                   {"remote_write", host::kRemoteWrite},
                                                                   {"remote_read", host::kRemoteRead},
                                                                   {"remote_atomic", host::kRemoteAtomic},
                                                                   {"zero_based", host::kZeroBased},
                                                                   {"relaxed_ordering", host::kRelaxedOrdering}}};
constexpr std::array<const char*, 6> kStatuses{"success",
                                               "local length error",
                                               "local QP operation error",
                                               "local protection error",
                                               "Work Request Flushed Error",
                                               "general error"};

/// An IP address as GID: IPv4 as ::ffff:a.b.c.d.
std::optional<std::array<uint8_t, 16>> parse_ip(const std::string& text, bool& v6) {
  std::array<uint8_t, 16> gid{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  v6 = text.find(':') != std::string::npos;
  if (inet_pton(v6 ? AF_INET6 : AF_INET, text.c_str(), v6 ? gid.data() : gid.data() + 12) != 1) return std::nullopt;
  return gid;
}

class Reader {
 public:
  Reader(const toml::table& root, const std::string& file) : root_(root) { s_.file = file; }

  Scenario read() {
    Table top(s_.file, "scenario", root_, nullptr);
    top.word("title", s_.title);
    if (const auto* n = top.raw("profile")) {
      std::string profile;
      top.word("profile", profile);
      if (profile.empty()) top.fail("profile", "is empty: give a built-in profile's name or a path");
      // As `extends` of a profile: relative to the file that names it.
      namespace fs = std::filesystem;
      const bool is_path = profile.find('/') != std::string::npos || fs::path(profile).extension() == ".toml";
      s_.profile = is_path ? (fs::path(s_.file).parent_path() / profile).string() : profile;
      s_.profile_line = line_of(*n);
    }
    top.integer("seed", s_.seed, 0, ~uint64_t{0} >> 1);
    if (const auto* set = top.raw("set")) {
      if (!set->is_array()) top.fail("set", "must be an array of \"key=value\" texts");
      for (const auto& e : *set->as_array()) {
        const auto v = e.value_exact<std::string>();
        if (!v) top.fail("set", "must be an array of \"key=value\" texts");
        s_.set.push_back(*v);
      }
      s_.set_line = line_of(*set);
    }
    if (const auto* d = top.raw("defaults")) {
      if (!d->is_table()) top.fail("defaults", "must be a table with tables of the name of a list: [defaults.op]");
      for (auto&& [key, node] : *d->as_table()) {
        static constexpr std::array<const char*, 3> kLists{"region", "qp", "op"};
        if (std::find(kLists.begin(), kLists.end(), key.str()) == kLists.end() || !node.is_table()) {
          throw InputError(s_.file, line_of(node), fmt::format("defaults.{}", key.str()),
                           fmt::format("defaults exist for: {}", fmt::join(kLists, ", ")));
        }
        defaults_[std::string(key.str())] = node.as_table();
      }
    }
    list(top, "node", [this](Table& t) { node(t); });
    if (s_.nodes.empty()) s_.nodes.push_back({"n0", 0});
    list(top, "region", [this](Table& t) { region(t); });
    list(top, "qp", [this](Table& t) { qp(t); });
    list(top, "op", [this](Table& t) { op(t); });
    list(top, "fault", [this](Table& t) { fault(t); });
    list(top, "check", [this](Table& t) { check(t); });
    top.done();
    if (s_.ops.empty() && s_.faults.empty()) top.fail("", "nothing to do: there is no [[op]] and no [[fault]]");
    return std::move(s_);
  }

 private:
  template <class Fn>
  void list(Table& top, const std::string& name, Fn fn) {
    const auto* n = top.raw(name);
    if (!n) return;
    const auto* array = n->as_array();
    if (!array) top.fail(name, fmt::format("must be a list of tables, each begun with [[{}]]", name));
    unsigned i = 0;
    for (const auto& e : *array) {
      const auto* table = e.as_table();
      if (!table) top.fail(name, fmt::format("must be a list of tables, each begun with [[{}]]", name));
      const auto d = defaults_.find(name);
      Table t(s_.file, fmt::format("{}[{}]", name, i++), *table, d == defaults_.end() ? nullptr : d->second);
      fn(t);
      t.done();
    }
  }

  /// The entry's name, or one made from the list's; must be new.
  template <class List>
  std::string name(Table& t, const List& list, const char* prefix) {
    std::string n = fmt::format("{}{}", prefix, list.size());
    t.word("name", n);
    if (n.empty()) t.fail("name", "is empty");
    if (!names_.insert({prefix, n}).second) t.fail("name", fmt::format("'{}' is there already", n));
    return n;
  }

  void node(Table& t) {
    ScenarioNode n;
    n.name = name(t, s_.nodes, "n");
    t.integer("phase_ps", n.phase_ps, 0, 1'000'000);
    if (s_.nodes.size() == 16) t.fail("", "at most 16 nodes");
    s_.nodes.push_back(n);
  }

  void region(Table& t) {
    ScenarioRegion r;
    r.name = name(t, s_.regions, "r");
    r.line = t.line();
    t.reference("node", s_.nodes, "node", r.node);
    t.choice("space", r.space, kSpaces);
    t.integer("size", r.size, 1, uint64_t{16} << 30);
    t.integer("pd", r.pd, 0, 0xffffff);
    if (t.raw("access")) {
      r.access = 0;
      for (const std::string& flag : texts(t, "access")) {
        const auto* known =
            std::find_if(kAccess.begin(), kAccess.end(), [&](const auto& a) { return flag == a.first; });
        if (known == kAccess.end()) {
          std::vector<const char*> names;
          for (const auto& a : kAccess) names.push_back(a.first);
          t.fail("access", fmt::format("'{}' is not known; allowed: {}", flag, fmt::join(names, ", ")));
        }
        r.access |= known->second;
      }
    }
    t.boolean("scattered", r.scattered);
    t.integer("log_page", r.log_page, 12, 30);
    if (t.has("log_page") && !r.scattered) t.fail("log_page", "is of scattered pages: add scattered = true");
    holes(t, r);
    s_.regions.push_back(r);
  }

  /// Pages that the list of a scattered region lacks.
  void holes(Table& t, ScenarioRegion& r) {
    const auto* n = t.raw("holes");
    if (!n) return;
    const uint64_t pages = ((r.size - 1) >> r.log_page) + 1;
    if (!r.scattered) t.fail("holes", "are pages that a list lacks: add scattered = true");
    if (!n->is_array()) t.fail("holes", "must be a list of page numbers");
    for (const auto& e : *n->as_array()) {
      const auto page = e.value_exact<int64_t>();
      if (!page || *page < 0 || static_cast<uint64_t>(*page) >= pages)
        t.fail("holes", fmt::format("must be whole numbers below {}, the region's pages", pages));
      r.holes.push_back(static_cast<uint64_t>(*page));
    }
  }

  /// A list of texts.
  std::vector<std::string> texts(Table& t, const std::string& key) {
    const auto* n = t.raw(key);
    const char* form = "must be a list of texts";
    if (!n->is_array()) t.fail(key, form);
    std::vector<std::string> out;
    for (const auto& e : *n->as_array()) {
      const auto v = e.value_exact<std::string>();
      if (!v) t.fail(key, form);
      out.push_back(*v);
    }
    return out;
  }

  void qp(Table& t) {
    ScenarioQp q;
    q.name = name(t, s_.qps, "q");
    q.line = t.line();
    t.reference("node", s_.nodes, "node", q.node);
    t.integer("qpn", q.qpn, 0, regs::bar0::kPageCount - 1);
    for (const auto& other : s_.qps) {
      if (q.qpn && other.qpn == q.qpn && other.node == q.node)
        t.fail("qpn", fmt::format("{} is that of queue pair '{}' already", *q.qpn, other.name));
    }
    t.choice("transport", q.init.type, kTransports);
    t.choice("sq", q.init.where, kPlaces);
    t.integer("log_sq_size", q.init.log_sq_size, 0, 15);
    t.integer("pd", q.init.pd, 0, 0xffffff);
    q.log_cq_size = std::max(q.log_cq_size, q.init.log_sq_size);
    t.integer("log_cq_size", q.log_cq_size, 0, 22);
    t.integer("mtu", q.path.mtu, 256, 4096);
    static constexpr std::array<unsigned, 5> kMtus{256, 512, 1024, 2048, 4096};
    if (std::find(kMtus.begin(), kMtus.end(), q.path.mtu) == kMtus.end()) {
      t.fail("mtu", fmt::format("{} is not a path MTU; allowed: {}", q.path.mtu, fmt::join(kMtus, ", ")));
    }
    t.integer("dest_qpn", q.path.dest_qpn, 0, 0xffffff);
    t.integer("psn", q.path.sq_psn, 0, 0xffffff);
    t.integer("tos", q.path.tos, 0, 255);
    t.integer("ttl", q.path.ttl, 0, 255);
    t.integer("prio", q.path.prio, 0, 7);
    t.integer("pkey", q.path.pkey, 0, 0xffff);
    t.integer("udp_sport", q.path.udp_sport, 0, 0xffff);
    t.integer("vlan", q.path.vlan_id, 0, 0xfff);
    t.integer("qkey", q.path.qkey, 0, kU32);
    t.integer("weight", q.path.weight, 1, 255);
    t.number("rate_gbps", q.path.rate_limit_gbps, 1e5);
    t.integer("rate_burst", q.path.rate_burst, 0, (1u << 24) - 1);
    addresses(t, q);
    s_.qps.push_back(q);
  }

  /// Source and destination, both of one IP version.
  void addresses(Table& t, ScenarioQp& q) {
    std::array<std::array<uint8_t, 16>, 2> gids{};
    std::array<bool, 2> v6{};
    const std::array<const char*, 2> keys{"sip", "dip"};
    for (unsigned i = 0; i < 2; ++i) {
      if (!t.has(keys[i])) continue;
      std::string text;
      t.word(keys[i], text);
      const auto gid = parse_ip(text, v6[i]);
      if (!gid) t.fail(keys[i], fmt::format("'{}' is no IP address, such as 10.0.0.1 or fd00::1", text));
      gids[i] = *gid;
      auto& v4 = i == 0 ? q.path.sip : q.path.dip;
      if (!v6[i]) std::copy(gid->begin() + 12, gid->end(), v4.begin());
    }
    if (v6[0] != v6[1])
      t.fail(v6[0] ? "dip" : "sip", "must be an IPv6 address, too: source and destination go together");
    if (v6[0]) q.path.ipv6 = host::Ipv6Path{gids[0], gids[1], 0};
    uint32_t label = 0;
    t.integer("flow_label", label, 0, 0xfffff);
    if (q.path.ipv6)
      q.path.ipv6->flow_label = label;
    else if (t.has("flow_label"))
      t.fail("flow_label", "is for IPv6: give sip and dip as IPv6 addresses");
  }

  void op(Table& t) {
    ScenarioOp o;
    o.name = name(t, s_.ops, "op");
    o.line = t.line();
    if (s_.qps.empty()) t.fail("", "an operation needs a [[qp]]");
    t.reference("qp", s_.qps, "queue pair", o.qp);
    const unsigned node = s_.qps[o.qp].node;
    unsigned where = node;
    if (t.reference("node", s_.nodes, "node", where) && where != node) {
      t.fail("node", fmt::format("queue pair '{}' is on node '{}'", s_.qps[o.qp].name, s_.nodes[node].name));
    }
    t.choice("op", o.opcode, kOps);
    t.integer("size", o.size, 0, kMaxMessage);
    t.integer("count", o.count, 1, 1'000'000'000);
    // Each work request may end in a completion, and a completion queue must not run over.
    t.integer("batch", o.batch, 1, 1u << std::min(s_.qps[o.qp].init.log_sq_size, s_.qps[o.qp].log_cq_size));
    t.number("at_ns", o.at_ns, kMaxNs);
    t.boolean("signaled", o.signaled);
    t.integer("imm", o.imm, 0, kU32);
    t.integer("lkey", o.lkey, 0, kU32);
    t.integer("rkey", o.rkey, 0, kU32);
    t.integer("remote_addr", o.remote_addr, 0, ~uint64_t{0} >> 1);
    t.choice("initiator", o.initiator, kInitiators);
    t.integer("offset", o.offset, 0, ~uint64_t{0} >> 1);
    t.boolean("solicited", o.solicited);
    t.boolean("inline", o.send_inline);
    t.integer("compare_add", o.compare_add, 0, ~uint64_t{0} >> 1);
    t.integer("swap", o.swap, 0, ~uint64_t{0} >> 1);
    segments(t, o);
    const QpType type = s_.qps[o.qp].init.type;
    if (!golden::allowed(host::transport(type), host::wqe_opcode(o.opcode))) {
      t.fail("op", fmt::format("{} is not for a queue pair of transport {}", host::to_string(o.opcode),
                               type == QpType::kUd ? "ud" : "uc"));
    }
    if (type == QpType::kUd) remote(t, o);
    if (o.send_inline && o.size > host::max_inline_data(type, o.opcode)) {
      t.fail("inline", fmt::format("{} bytes; at most {} fit the work queue entry", o.size,
                                   host::max_inline_data(type, o.opcode)));
    }
    if (!t.reference("region", s_.regions, "region", o.region)) {
      const auto it = std::find_if(s_.regions.begin(), s_.regions.end(), [&](const auto& r) { return r.node == node; });
      if (it == s_.regions.end()) t.fail("region", fmt::format("node '{}' has no [[region]]", s_.nodes[node].name));
      o.region = static_cast<unsigned>(it - s_.regions.begin());
    }
    if (s_.regions[o.region].node != node) {
      t.fail("region", fmt::format("region '{}' is on node '{}', queue pair '{}' on '{}'", s_.regions[o.region].name,
                                   s_.nodes[s_.regions[o.region].node].name, s_.qps[o.qp].name, s_.nodes[node].name));
    }
    s_.ops.push_back(o);
  }

  /// Pieces of the region that make up the message.
  void segments(Table& t, ScenarioOp& o) {
    const auto* n = t.raw("segments");
    if (!n) return;
    const char* form = "must be a list of up to 4 pairs: [[offset, size], ...]";
    const auto* array = n->as_array();
    if (!array || array->empty() || array->size() > golden::kMaxSges) t.fail("segments", form);
    if (t.has("size") || t.has("offset")) t.fail("segments", "stands in place of size and offset");
    o.size = 0;
    for (const auto& e : *array) {
      const auto* pair = e.as_array();
      if (!pair || pair->size() != 2) t.fail("segments", form);
      const auto offset = (*pair)[0].value_exact<int64_t>(), size = (*pair)[1].value_exact<int64_t>();
      if (!offset || !size || *offset < 0 || *size < 0) t.fail("segments", form);
      if (static_cast<uint64_t>(*size) > kMaxMessage - o.size) t.fail("segments", "are longer than 2 GiB together");
      o.segments.push_back({static_cast<uint64_t>(*offset), static_cast<uint64_t>(*size)});
      o.size += static_cast<uint64_t>(*size);
    }
  }

  /// Where a UD send goes: by default where the queue pair's path points.
  void remote(Table& t, ScenarioOp& o) {
    const host::QpPath& path = s_.qps[o.qp].path;
    o.ah.remote_qpn = path.dest_qpn;
    o.ah.remote_qkey = path.qkey;
    o.ah.dmac = path.dmac;
    o.ah.tos = path.tos;
    o.ah.ttl = path.ttl;
    o.ah.udp_sport = path.udp_sport.value_or(o.ah.udp_sport);
    std::copy(path.dip.begin(), path.dip.end(), o.ah.dgid.begin() + 12);
    if (path.ipv6) {
      o.ah.dgid = path.ipv6->dip;
      o.ah.flow_label = path.ipv6->flow_label;
    }
    t.integer("remote_qpn", o.ah.remote_qpn, 0, 0xffffff);
    t.integer("remote_qkey", o.ah.remote_qkey, 0, kU32);
    if (o.size > path.mtu)
      t.fail("size", fmt::format("{} bytes; a UD message fits the path MTU, {}", o.size, path.mtu));
  }

  void fault(Table& t) {
    ScenarioFault f;
    f.name = name(t, s_.faults, "fault");
    f.line = t.line();
    if (!t.has("kind")) {
      std::vector<const char*> kinds;
      for (const auto& k : kFaults) kinds.push_back(k.first);
      t.fail("kind", fmt::format("missing; allowed: {}", fmt::join(kinds, ", ")));
    }
    t.choice("kind", f.kind, kFaults);
    t.reference("node", s_.nodes, "node", f.node);
    unsigned qp = 0;
    if (t.reference("qp", s_.qps, "queue pair", qp)) {
      f.qp = qp;
      f.node = s_.qps[qp].node;
    }
    t.number("at_ns", f.at_ns, kMaxNs);
    switch (f.kind) {
      case FaultKind::kDoorbell:
        t.integer("qpn", f.qpn, 0, regs::bar0::kPageCount - 1);
        t.integer("value", f.value, 0, kU32);
        t.choice("initiator", f.initiator, kInitiators);
        break;
      case FaultKind::kRawWqe:
        if (!f.qp) t.fail("qp", "missing: the queue pair into whose ring the bytes go");
        bytes(t, f);
        break;
      case FaultKind::kMmio:
        t.integer("bar", f.bar, 0, 2);
        t.integer("offset", f.offset, 0, regs::bar1::kSize - 4);
        t.integer("value", f.value, 0, kU32);
        if (f.offset % 4 != 0) t.fail("offset", "must be a multiple of 4");
        if (const uint64_t size = ConfigSpace::bar_size(f.bar); f.offset >= size) {
          t.fail("offset", fmt::format("{:#x} is outside BAR{}, which has {:#x} bytes", f.offset, f.bar, size));
        }
        break;
      case FaultKind::kQpError:
        if (!f.qp) t.fail("qp", "missing: the queue pair that goes to the error state");
        break;
      case FaultKind::kPause:
        t.integer("prio", f.prio, 0, 7);
        t.number("for_ns", f.for_ns, kMaxNs);
        break;
      case FaultKind::kRead:
        read_fault(t, f);
        break;
      case FaultKind::kStray:
        t.integer("tag", f.value, 0, 1023);
        break;
      case FaultKind::kFlr:
      case FaultKind::kRemoval:
        if (f.qp) t.fail("qp", "a reset or removal is of a whole node: give node");
        if (f.kind == FaultKind::kRemoval) t.number("for_ns", f.for_ns, kMaxNs);
        break;
      case FaultKind::kTemperature:
        if (f.qp) t.fail("qp", "the temperature is of a whole node: give node");
        if (!t.has("celsius")) t.fail("celsius", "missing: the temperature from at_ns on");
        t.decimal("celsius", f.celsius, -100, 300);
        break;
      case FaultKind::kCqOverrun:
        if (!f.qp) t.fail("qp", "missing: the queue pair whose completion queue is to overrun");
        cq_overrun(t, f);
        break;
      case FaultKind::kBusMasterOff:
        if (f.qp) t.fail("qp", "bus mastering is of a whole node: give node");
        t.number("for_ns", f.for_ns, kMaxNs);
        break;
      case FaultKind::kUnpin:
        if (f.qp) t.fail("qp", "pins are of a whole node: give node");
        break;
    }
    s_.faults.push_back(f);
  }

  void cq_overrun(Table& t, ScenarioFault& f) {
    const ScenarioQp& q = s_.qps[*f.qp];
    if (q.init.type == QpType::kUd) t.fail("qp", "is a UD one; allowed: uc and rc");
    const uint64_t room = uint64_t{1} << q.log_cq_size, most = uint64_t{1} << q.init.log_sq_size;
    if (most <= room) {
      t.fail("qp", fmt::format("'{}' has {} entries in its completion queue and {} blocks in its send queue: give it a "
                               "log_cq_size below log_sq_size",
                               q.name, room, most));
    }
    f.value = static_cast<uint32_t>(most);
    t.integer("count", f.value, room + 1, most);
  }

  void read_fault(Table& t, ScenarioFault& f) {
    if (!t.has("answer")) {
      t.fail("answer",
             "missing; allowed: ur, ca, poisoned, dropped, byte_count, wrong_tag, stray, duplicate, too_long, late");
    }
    t.choice("answer", f.plan.kind, kAnswers);
    t.choice("memory", f.memory, kSpaces);
    t.integer("nth", f.nth, 0, ~uint64_t{0} >> 1);
    t.integer("piece", f.plan.piece, 0, kU32);
    t.integer("value", f.plan.value, 0, 4096);
    double delay_ns = 0;
    t.number("delay_ns", delay_ns, kMaxNs);
    f.plan.delay = Time(delay_ns, sc_core::SC_NS);
  }

  void bytes(Table& t, ScenarioFault& f) {
    std::string hex;
    t.text("bytes", hex);
    std::string digits;
    for (const char c : hex) {
      if (c == ' ' || c == '\n' || c == '\t' || c == '_') continue;
      if (!std::isxdigit(static_cast<unsigned char>(c)))
        t.fail("bytes", fmt::format("'{}' is no hexadecimal digit", c));
      digits += c;
    }
    if (digits.empty() || digits.size() % 128 != 0 || digits.size() > 512) {
      t.fail("bytes", fmt::format("must be 64, 128, 192 or 256 bytes in hexadecimal, not {} digits", digits.size()));
    }
    for (size_t i = 0; i < digits.size(); i += 2) {
      f.bytes.push_back(static_cast<uint8_t>(std::stoul(digits.substr(i, 2), nullptr, 16)));
    }
  }

  void check(Table& t) {
    ScenarioCheck c;
    c.name = name(t, s_.checks, "check");
    c.line = t.line();
    t.reference("node", s_.nodes, "node", c.node);
    unsigned op = 0;
    if (t.reference("op", s_.ops, "operation", op)) {
      c.op = op;
      c.node = s_.qps[s_.ops[op].qp].node;
    }
    constexpr uint64_t kMax = ~uint64_t{0} >> 1;
    t.integer("frames", c.frames, 0, kMax);
    t.integer("frame_bytes", c.frame_bytes, 0, kMax);
    t.integer("cqes", c.cqes, 0, kMax);
    t.integer("cqe_errors", c.cqe_errors, 0, kMax);
    t.integer("errors_logged", c.errors_logged, 0, kMax);
    if (c.op) {
      for (const char* key : {"frames", "frame_bytes", "errors_logged", "counters", "diagnosis"}) {
        if (t.has(key))
          t.fail(key, "is counted for a whole node, not for one operation: give it a [[check]] without 'op'");
      }
    }
    if (t.has("status")) {
      std::string status;
      t.word("status", status);
      if (std::find(kStatuses.begin(), kStatuses.end(), status) == kStatuses.end()) {
        t.fail("status", fmt::format("'{}' is not known; allowed: {}", status, fmt::join(kStatuses, ", ")));
      }
      c.status = status;
    }
    if (t.has("max_latency_ns")) {
      double v = 0;
      t.number("max_latency_ns", v, kMaxNs);
      c.max_latency_ns = v;
    }
    if (const auto* n = t.raw("counters")) {
      if (!n->is_table()) t.fail("counters", "must be a table: { cqe_ok = 1 }");
      for (auto&& [key, node] : *n->as_table()) {
        const std::string counter(key.str());
        const bool known = std::any_of(std::begin(regs::kCounters), std::end(regs::kCounters),
                                       [&](const regs::Counter& r) { return counter == r.name; });
        if (!known)
          t.fail("counters", fmt::format("there is no counter '{}'; 'rnicsim regs --bar 2' lists them", counter));
        const auto v = node.value_exact<int64_t>();
        if (!v || *v < 0) t.fail("counters", fmt::format("'{}' must be a whole number from 0", counter));
        c.counters[counter] = static_cast<uint64_t>(*v);
      }
    }
    if (t.raw("diagnosis")) {
      c.diagnosis = texts(t, "diagnosis");
      for (const std::string& id : *c.diagnosis) {
        const auto& all = diagnose::causes();
        if (std::none_of(all.begin(), all.end(), [&](const auto& cause) { return id == cause.id; }))
          t.fail("diagnosis", fmt::format("there is no cause '{}'; 'rnicsim diagnose --rules' lists them", id));
      }
    }
    if (!c.frames && !c.frame_bytes && !c.cqes && !c.cqe_errors && !c.errors_logged && !c.status && !c.max_latency_ns &&
        c.counters.empty() && !c.diagnosis) {
      t.fail("",
             "checks nothing: give one of frames, frame_bytes, cqes, cqe_errors, status, max_latency_ns, "
             "errors_logged, counters, diagnosis");
    }
    s_.checks.push_back(c);
  }

  const toml::table& root_;
  std::map<std::string, const toml::table*> defaults_;
  std::set<std::pair<std::string, std::string>> names_;  ///< kind of entry, name
  Scenario s_;
};

}  // namespace

Scenario parse_scenario(const std::string& text, const std::string& file) {
  const toml::table root = detail::parse_toml(text, file);
  return Reader(root, file).read();
}

Scenario load_scenario(const std::string& path) {
  std::error_code ec;
  if (std::filesystem::is_directory(path, ec)) throw InputError(path, 0, "", "is a folder, not a scenario");
  std::ifstream in(path, std::ios::binary);
  if (!in) throw InputError(path, 0, "", fmt::format("cannot be read: {}", std::strerror(errno)));
  std::ostringstream text;
  text << in.rdbuf();
  return parse_scenario(text.str(), path);
}

}  // namespace rnic::workload
