// SPDX-License-Identifier: Apache-2.0
#include "rnic/workload/scenario.h"

#include <gtest/gtest.h>

namespace rnic::workload {
namespace {

const std::string kSmall = R"([[region]]
name = "data"
[[qp]]
name = "q"
[[op]]
qp = "q"
)";

/// The message of the InputError that parsing gives; empty when it gives none.
std::string error_of(const std::string& toml) {
  try {
    parse_scenario(toml, "s.toml");
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

testing::AssertionResult names(const std::string& message, const std::vector<std::string>& parts) {
  for (const auto& p : parts) {
    if (message.find(p) == std::string::npos)
      return testing::AssertionFailure() << "'" << p << "' is not in: " << message;
  }
  return testing::AssertionSuccess();
}

// Addresses, VLAN, segments and UD keys arrive where they belong.
TEST(ScenarioTest, WholeTransmitPath) {
  const Scenario s = parse_scenario(R"(
[[region]]
size = 65536
[[qp]]
name = "six"
transport = "rc"
sip = "fd00::1"
dip = "fd00::2"
flow_label = 0x12345
vlan = 100
[[qp]]
name = "dgram"
transport = "ud"
mtu = 1024
dip = "192.168.7.9"
qkey = 0x80000007
dest_qpn = 0x55
udp_sport = 0xc00d
[[op]]
qp = "six"
op = "send_inv"
imm = 0x1234
segments = [[0, 3], [100, 5000], [9000, 1]]
[[op]]
qp = "six"
op = "cmp_swap"
size = 8
compare_add = 11
swap = 22
[[op]]
qp = "dgram"
op = "send_imm"
size = 60
inline = true
solicited = true
remote_qpn = 0x77
)",
                                    "s.toml");
  ASSERT_EQ(s.qps.size(), 2u);
  ASSERT_TRUE(s.qps[0].path.ipv6.has_value());
  EXPECT_EQ(s.qps[0].path.ipv6->sip[0], 0xfd);
  EXPECT_EQ(s.qps[0].path.ipv6->sip[15], 1);
  EXPECT_EQ(s.qps[0].path.ipv6->dip[15], 2);
  EXPECT_EQ(s.qps[0].path.ipv6->flow_label, 0x12345u);
  EXPECT_EQ(s.qps[0].path.vlan_id, 100);
  EXPECT_FALSE(s.qps[1].path.vlan_id.has_value());
  EXPECT_EQ(s.qps[1].init.type, host::QpType::kUd);
  ASSERT_EQ(s.ops.size(), 3u);
  EXPECT_EQ(s.ops[0].opcode, host::WrOpcode::kSendWithInv);
  ASSERT_EQ(s.ops[0].segments.size(), 3u);
  EXPECT_EQ(s.ops[0].segments[1].offset, 100u);
  EXPECT_EQ(s.ops[0].segments[1].size, 5000u);
  EXPECT_EQ(s.ops[0].size, 5004u);
  EXPECT_EQ(s.ops[1].compare_add, 11u);
  EXPECT_EQ(s.ops[1].swap, 22u);
  EXPECT_TRUE(s.ops[2].send_inline);
  EXPECT_TRUE(s.ops[2].solicited);
  EXPECT_EQ(s.ops[2].ah.remote_qpn, 0x77u);
  EXPECT_EQ(s.ops[2].ah.remote_qkey, 0x80000007u);
  EXPECT_EQ(s.ops[2].ah.udp_sport, 0xc00d);
  EXPECT_EQ(s.ops[2].ah.dgid, (std::array<uint8_t, 16>{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 168, 7, 9}));
}

TEST(ScenarioTest, WhatATransportCannotDo) {
  const auto with = [](const std::string& qp, const std::string& op) {
    return error_of("[[region]]\n[[qp]]\n" + qp + "\n[[op]]\n" + op);
  };
  EXPECT_TRUE(names(with("transport = \"uc\"", "op = \"read\""), {"s.toml:5", "op[0].op", "RDMA_READ", "uc"}));
  EXPECT_TRUE(names(with("transport = \"ud\"", "op = \"write\""), {"op[0].op", "RDMA_WRITE", "ud"}));
  EXPECT_TRUE(names(with("transport = \"ud\"\nmtu = 256", "op = \"send\"\nsize = 257"), {"op[0].size", "257", "256"}));
  EXPECT_TRUE(names(with("", "size = 221\ninline = true"), {"op[0].inline", "221", "220"}));
  EXPECT_EQ(with("", "size = 220\ninline = true"), "");
  EXPECT_TRUE(names(with("sip = \"fd00::1\"", ""), {"qp[0].dip", "IPv6"}));
  EXPECT_TRUE(names(with("sip = \"10.0.0.300\"", ""), {"s.toml:3", "qp[0].sip", "10.0.0.300"}));
  EXPECT_TRUE(names(with("flow_label = 3", ""), {"qp[0].flow_label", "IPv6"}));
  EXPECT_TRUE(names(with("vlan = 4096", ""), {"qp[0].vlan", "4095"}));
  EXPECT_TRUE(names(with("", "segments = [[0, 1], [0, 1], [0, 1], [0, 1], [0, 1]]"), {"op[0].segments", "4"}));
  EXPECT_TRUE(names(with("", "segments = [[0, 1, 2]]"), {"op[0].segments", "[[offset, size], ...]"}));
  EXPECT_TRUE(names(with("", "segments = [[0, 1]]\nsize = 3"), {"op[0].segments", "in place of"}));
  EXPECT_TRUE(names(with("", "segments = [[0, 2147483648], [0, 1]]"), {"op[0].segments", "2 GiB"}));
}

// What the file does not say has its default: one node, a 64 B write at once.
TEST(ScenarioTest, Defaults) {
  const Scenario s = parse_scenario(kSmall, "s.toml");
  ASSERT_EQ(s.nodes.size(), 1u);
  ASSERT_EQ(s.ops.size(), 1u);
  EXPECT_EQ(s.ops[0].opcode, host::WrOpcode::kRdmaWrite);
  EXPECT_EQ(s.ops[0].size, 64u);
  EXPECT_EQ(s.ops[0].count, 1u);
  EXPECT_EQ(s.ops[0].at_ns, 0);
  EXPECT_TRUE(s.ops[0].signaled);
  EXPECT_EQ(s.regions[0].space, host::Space::kGpu);
  EXPECT_EQ(s.qps[0].path.mtu, 4096u);
  EXPECT_FALSE(s.seed.has_value());
}

// Every key of an operation arrives where it belongs.
TEST(ScenarioTest, OperationKeys) {
  const Scenario s = parse_scenario(R"(
title = "t"
profile = "gen4-200g"
seed = 7
set = ["gpu.read_latency=80"]
[[node]]
name = "a"
[[node]]
name = "b"
phase_ps = 250
[[region]]
name = "r"
node = "b"
space = "host"
size = 8192
pd = 3
[[qp]]
name = "q"
node = "b"
qpn = 17
transport = "rc"
sq = "bf"
log_sq_size = 3
mtu = 1024
dest_qpn = 0x99
psn = 5
prio = 4
[[op]]
name = "o"
qp = "q"
node = "b"
op = "send_imm"
region = "r"
offset = 64
size = 100
count = 9
batch = 8
at_ns = 12.5
signaled = false
imm = 0xffffffff
lkey = 1
rkey = 2
remote_addr = 0x7000
initiator = "gpu"
)",
                                    "s.toml");
  EXPECT_EQ(s.profile, "gen4-200g");
  EXPECT_EQ(s.seed, 7u);
  EXPECT_EQ(s.set, std::vector<std::string>{"gpu.read_latency=80"});
  EXPECT_EQ(s.nodes[1].phase_ps, 250u);
  EXPECT_EQ(s.regions[0].node, 1u);
  EXPECT_EQ(s.regions[0].pd, 3u);
  EXPECT_EQ(s.qps[0].qpn, 17u);
  EXPECT_EQ(s.qps[0].init.type, host::QpType::kRc);
  EXPECT_EQ(s.qps[0].init.where, host::SqWhere::kBf);
  EXPECT_EQ(s.qps[0].init.log_sq_size, 3u);
  EXPECT_EQ(s.qps[0].path.dest_qpn, 0x99u);
  EXPECT_EQ(s.qps[0].path.prio, 4u);
  const ScenarioOp& o = s.ops[0];
  EXPECT_EQ(o.opcode, host::WrOpcode::kSendImm);
  EXPECT_EQ(o.offset, 64u);
  EXPECT_EQ(o.size, 100u);
  EXPECT_EQ(o.count, 9u);
  EXPECT_EQ(o.batch, 8u);
  EXPECT_EQ(o.at_ns, 12.5);
  EXPECT_FALSE(o.signaled);
  EXPECT_EQ(o.imm, 0xffffffffu);
  EXPECT_EQ(o.lkey, 1u);
  EXPECT_EQ(o.rkey, 2u);
  EXPECT_EQ(o.remote_addr, 0x7000u);
  EXPECT_EQ(o.initiator, pcie::Initiator::kGpu);
}

// [defaults.op] is for what an operation leaves out, and only for that.
TEST(ScenarioTest, DefaultsOfAList) {
  const Scenario s = parse_scenario("[defaults.op]\nsize = 500\ncount = 3\n" + kSmall + "size = 7\n", "s.toml");
  EXPECT_EQ(s.ops[0].size, 7u);
  EXPECT_EQ(s.ops[0].count, 3u);
}

// An error names file, line and key, and what is allowed.
TEST(ScenarioTest, ErrorsNameFileLineAndKey) {
  EXPECT_TRUE(names(error_of(kSmall + "sise = 4\n"), {"s.toml:7", "op[0].sise", "unknown key", "size"}));
  EXPECT_TRUE(names(error_of(kSmall + "size = \"big\"\n"), {"s.toml:7", "op[0].size", "whole number", "a text"}));
  EXPECT_TRUE(names(error_of(kSmall + "size = -1\n"), {"s.toml:7", "op[0].size", "-1", "0 to 2147483648"}));
  EXPECT_TRUE(names(error_of(kSmall + "size = 2147483649\n"), {"op[0].size", "out of range"}));
  EXPECT_TRUE(
      names(error_of(kSmall + "op = \"reed\"\n"), {"s.toml:7", "op[0].op", "'reed'", "write, write_imm, send"}));
  EXPECT_TRUE(names(error_of(kSmall + "region = \"x\"\n"), {"op[0].region", "'x'", "data"}));
  EXPECT_TRUE(names(error_of(kSmall + "signaled = 1\n"), {"op[0].signaled", "true or false"}));
  EXPECT_TRUE(names(error_of(kSmall + "at_ns = -2\n"), {"op[0].at_ns", "out of range"}));
  EXPECT_TRUE(names(error_of(kSmall + "[[qp]]\nmtu = 1500\n"),
                    {"s.toml:8", "qp[1].mtu", "1500", "256, 512, 1024, 2048, 4096"}));
  EXPECT_TRUE(names(error_of(kSmall + "[[qp]]\nname = \"q\"\n"), {"s.toml:8", "qp[1].name", "there already"}));
  EXPECT_TRUE(names(error_of("speed = 1\n" + kSmall), {"s.toml:1", "scenario.speed", "unknown key"}));
  EXPECT_TRUE(names(error_of("[defaults.op]\nsiz = 1\n" + kSmall), {"s.toml:2", "defaults.op.siz", "unknown key"}));
  EXPECT_TRUE(names(error_of("[defaults.check]\n" + kSmall), {"defaults.check"}));
  EXPECT_TRUE(names(error_of("size = = 1\n"), {"s.toml:1", "not valid TOML"}));
  EXPECT_TRUE(names(error_of(""), {"s.toml", "nothing to do"}));
  EXPECT_TRUE(names(error_of("[[op]]\n"), {"s.toml:1", "needs a [[qp]]"}));
  EXPECT_TRUE(names(error_of("[op]\n"), {"s.toml:1", "[[op]]"}));
}

// Faults: kinds, the bytes of a raw WQE, offsets inside the BAR.
TEST(ScenarioTest, Faults) {
  const Scenario s = parse_scenario(
      kSmall + "[[fault]]\nkind = \"raw_wqe\"\nqp = \"q\"\nbytes = \"" + std::string(128, 'a') +
          "\"\n[[fault]]\nkind = \"doorbell\"\n" +
          "qpn = 1023\nvalue = 0xffffffff\n[[fault]]\nkind = \"mmio\"\nbar = 1\noffset = 0xf00000\nvalue = 3\n",
      "s.toml");
  ASSERT_EQ(s.faults.size(), 3u);
  EXPECT_EQ(s.faults[0].bytes, std::vector<uint8_t>(64, 0xaa));
  EXPECT_EQ(s.faults[1].value, 0xffffffffu);
  EXPECT_EQ(s.faults[2].offset, 0xf00000u);
  EXPECT_TRUE(names(error_of(kSmall + "[[fault]]\nkind = \"raw_wqe\"\nqp = \"q\"\nbytes = \"aa\"\n"),
                    {"s.toml:10", "fault[0].bytes"}));
  EXPECT_TRUE(names(error_of(kSmall + "[[fault]]\nkind = \"raw_wqe\"\n"), {"fault[0].qp", "missing"}));
  EXPECT_TRUE(names(error_of(kSmall + "[[fault]]\nkind = \"storm\"\n"), {"'storm'", "doorbell, raw_wqe"}));
  EXPECT_TRUE(names(error_of(kSmall + "[[fault]]\n"), {"fault[0].kind", "missing"}));
  EXPECT_TRUE(
      names(error_of(kSmall + "[[fault]]\nkind = \"mmio\"\nbar = 0\noffset = 0x40000\n"), {"fault[0].offset", "BAR0"}));
  EXPECT_TRUE(names(error_of(kSmall + "[[fault]]\nkind = \"doorbell\"\nqpn = 1024\n"), {"fault[0].qpn", "0 to 1023"}));
}

// Checks: counters by their names, and a check that checks nothing is an error.
TEST(ScenarioTest, Checks) {
  const Scenario s = parse_scenario(kSmall + "[[check]]\nframes = 3\ncounters = { cqe_ok = 1, db_rx = 2 }\n", "s.toml");
  ASSERT_EQ(s.checks.size(), 1u);
  EXPECT_EQ(s.checks[0].frames, 3u);
  EXPECT_EQ(s.checks[0].counters.at("db_rx"), 2u);
  EXPECT_TRUE(names(error_of(kSmall + "[[check]]\n"), {"s.toml:7", "checks nothing"}));
  EXPECT_TRUE(names(error_of(kSmall + "[[check]]\ncounters = { cqe_good = 1 }\n"), {"'cqe_good'", "rnicsim regs"}));
  EXPECT_TRUE(names(error_of(kSmall + "[[check]]\nstatus = \"fine\"\n"), {"check[0].status", "'fine'", "success"}));
}

// What a node counts is not asked of one operation.
TEST(ScenarioTest, NodeCountsAreNotOfAnOperation) {
  const std::string check = kSmall + "name = \"o\"\n[[check]]\nop = \"o\"\n";
  for (const char* key : {"frames = 1", "frame_bytes = 1", "errors_logged = 1", "counters = { cqe_ok = 1 }"}) {
    EXPECT_TRUE(names(error_of(check + key + "\n"), {"s.toml:10", "whole node", "without 'op'"})) << key;
  }
  EXPECT_EQ(parse_scenario(check + "cqes = 1\n", "s.toml").checks[0].cqes, 1u);
}

// Names are something, once each, and one line.
TEST(ScenarioTest, NamesCanBeShown) {
  EXPECT_TRUE(names(error_of(kSmall + "name = \"\"\n"), {"s.toml:7", "op[0].name", "empty"}));
  EXPECT_TRUE(names(error_of(kSmall + "name = \"a\\nb\"\n"), {"op[0].name", "one line"}));
  EXPECT_TRUE(names(error_of(kSmall + "name = \"a\\u001bb\"\n"), {"op[0].name", "control characters"}));
  EXPECT_TRUE(names(error_of("profile = \"a\\u0000b\"\n" + kSmall), {"s.toml:1", "scenario.profile"}));
  EXPECT_TRUE(names(error_of("profile = \"\"\n" + kSmall), {"s.toml:1", "scenario.profile", "empty"}));
}

// Numbers of queue pairs are unique on a node; completion queues have room for what their ring may hold.
TEST(ScenarioTest, QueuePairsThatCanBe) {
  const std::string two = "[[region]]\n[[qp]]\nqpn = 5\n[[qp]]\nname = \"b\"\nqpn = 5\n[[op]]\n";
  EXPECT_TRUE(names(error_of(two), {"s.toml:6", "qp[1].qpn", "'q0'"}));
  EXPECT_EQ(parse_scenario("[[region]]\n[[qp]]\nlog_sq_size = 12\n[[op]]\n", "s.toml").qps[0].log_cq_size, 12u);
  EXPECT_TRUE(names(error_of("[[region]]\n[[qp]]\nlog_cq_size = 1\n[[op]]\nbatch = 4\n"), {"op[0].batch", "1 to 2"}));
}

// A profile's path is relative to the scenario, as `extends` is to the profile.
TEST(ScenarioTest, ProfileBesideTheScenario) {
  EXPECT_EQ(parse_scenario("profile = \"mine.toml\"\n" + kSmall, "a/b/s.toml").profile, "a/b/mine.toml");
  EXPECT_EQ(parse_scenario("profile = \"/x/mine.toml\"\n" + kSmall, "a/b/s.toml").profile, "/x/mine.toml");
  EXPECT_EQ(parse_scenario("profile = \"gen4-200g\"\n" + kSmall, "a/b/s.toml").profile, "gen4-200g");
}

// Regions of scattered pages and with rights of their own.
TEST(ScenarioTest, RegionsOfPagesAndRights) {
  const Scenario s = parse_scenario(
      "[[region]]\nsize = 20000\naccess = [\"local_write\", \"zero_based\"]\n"
      "scattered = true\nlog_page = 13\nholes = [0, 2]\n" +
          kSmall,
      "s.toml");
  EXPECT_EQ(s.regions[0].access, uint32_t{host::kLocalWrite | host::kZeroBased});
  EXPECT_TRUE(s.regions[0].scattered);
  EXPECT_EQ(s.regions[0].log_page, 13u);
  EXPECT_EQ(s.regions[0].holes, (std::vector<uint64_t>{0, 2}));
  EXPECT_EQ(s.regions[1].access, host::kAllRights);
  const auto refused = [](const std::string& keys) {
    return error_of("[[region]]\nsize = 20000\n" + keys + "\n" + kSmall);
  };
  EXPECT_TRUE(names(refused("access = [\"write\"]"), {"s.toml:3", "access", "remote_atomic"}));
  EXPECT_TRUE(names(refused("access = \"local_write\""), {"access", "list of texts"}));
  EXPECT_TRUE(names(refused("holes = [0]"), {"holes", "scattered"}));
  EXPECT_TRUE(names(refused("log_page = 12"), {"log_page", "scattered"}));
  EXPECT_TRUE(names(refused("scattered = true\nlog_page = 11"), {"log_page", "12 to 30"}));
  EXPECT_TRUE(names(refused("scattered = true\nholes = [5]"), {"holes", "below 5"}));
  EXPECT_TRUE(names(refused("scattered = true\nholes = [-1]"), {"holes", "below 5"}));
  EXPECT_TRUE(names(refused("scattered = true\nholes = 1"), {"holes", "list"}));
}

// Faults of the device, and what they need.
TEST(ScenarioTest, FaultsOfTheDevice) {
  const std::string qp = "[[region]]\n[[qp]]\nname = \"q\"\nlog_sq_size = 4\nlog_cq_size = 2\n[[fault]]\n";
  const Scenario s =
      parse_scenario(qp + "kind = \"cq_overrun\"\nqp = \"q\"\n[[fault]]\nkind = \"temperature\"\ncelsius = -3.5\n"
                          "[[fault]]\nkind = \"bus_master_off\"\nfor_ns = 7\n[[fault]]\nkind = \"unpin\"\n",
                     "s.toml");
  EXPECT_EQ(s.faults[0].value, 16u);
  EXPECT_EQ(s.faults[1].celsius, -3.5);
  EXPECT_EQ(s.faults[2].for_ns, 7);
  EXPECT_EQ(s.faults[3].kind, FaultKind::kUnpin);
  const auto refused = [&](const std::string& keys) { return error_of(qp + keys); };
  EXPECT_TRUE(names(refused("kind = \"temperature\""), {"celsius", "missing"}));
  EXPECT_TRUE(names(refused("kind = \"temperature\"\ncelsius = nan"), {"celsius", "-100 to 300"}));
  EXPECT_TRUE(names(refused("kind = \"temperature\"\ncelsius = 1000"), {"celsius", "-100 to 300"}));
  EXPECT_TRUE(names(refused("kind = \"temperature\"\ncelsius = 5\nqp = \"q\""), {"qp", "node"}));
  EXPECT_TRUE(names(refused("kind = \"cq_overrun\""), {"qp", "missing"}));
  EXPECT_TRUE(names(refused("kind = \"cq_overrun\"\nqp = \"q\"\ncount = 4"), {"count", "5 to 16"}));
  EXPECT_TRUE(names(refused("kind = \"cq_overrun\"\nqp = \"q\"\ncount = 17"), {"count", "5 to 16"}));
  EXPECT_TRUE(names(refused("kind = \"unpin\"\nqp = \"q\""), {"qp", "node"}));
  EXPECT_TRUE(names(refused("kind = \"bus_master_off\"\nqp = \"q\""), {"qp", "node"}));
  EXPECT_TRUE(names(error_of("[[region]]\n[[qp]]\nname = \"q\"\n[[fault]]\nkind = \"cq_overrun\"\nqp = \"q\"\n"),
                    {"qp", "log_cq_size"}));
  EXPECT_TRUE(names(refused(""), {"kind", "missing", "unpin", "removal"}));
}

// A diagnosis is a list of causes that there are; an empty one says that the run is clean.
TEST(ScenarioTest, DiagnosisOfANode) {
  const auto check = [](const std::string& keys) { return kSmall + "[[check]]\n" + keys + "\n"; };
  EXPECT_TRUE(parse_scenario(check("diagnosis = []"), "s.toml").checks[0].diagnosis->empty());
  EXPECT_EQ(*parse_scenario(check("diagnosis = [\"mr_key\"]"), "s.toml").checks[0].diagnosis,
            std::vector<std::string>{"mr_key"});
  EXPECT_FALSE(parse_scenario(check("frames = 1"), "s.toml").checks[0].diagnosis);
  EXPECT_TRUE(names(error_of(check("diagnosis = [\"x\"]")), {"diagnosis", "'x'", "--rules"}));
  EXPECT_TRUE(names(error_of(check("diagnosis = \"mr_key\"")), {"diagnosis", "list of texts"}));
}

// The examples can be read.
TEST(ScenarioTest, Examples) {
  for (const char* name : {"two_queues", "faults", "failing_check", "tx_formats", "sharing"}) {
    const Scenario s = load_scenario(std::string(RNICSIM_TEST_DATA "/../sim/scenarios/") + name + ".toml");
    EXPECT_FALSE(s.checks.empty()) << name;
    EXPECT_FALSE(s.title.empty()) << name;
  }
}

// A file that is not there, or a folder, is an error of the user.
TEST(ScenarioTest, FilesThatCannotBeRead) {
  EXPECT_THROW(load_scenario("/no/such/file.toml"), InputError);
  EXPECT_THROW(load_scenario(RNICSIM_TEST_DATA), InputError);
}

}  // namespace
}  // namespace rnic::workload
