# SPDX-License-Identifier: Apache-2.0
"""rnicsim diagnose and rnicsim counters against every fault that can be injected: each scenario of
sim/scenarios/diagnosis says which causes must be named, no more and no fewer. CTest gives the program in RNICSIM, the
source folder in RNICSIM_SOURCE; RNICSIM_DIAGNOSE_SEEDS=n tries n seeds of each."""

import concurrent.futures
import json
import os
import re
import subprocess
import tempfile
import tomllib
import unittest

PROGRAM = os.environ["RNICSIM"]
SOURCE = os.environ["RNICSIM_SOURCE"]
SCENARIOS = os.path.join(SOURCE, "sim/scenarios/diagnosis")
SEEDS = int(os.environ.get("RNICSIM_DIAGNOSE_SEEDS", "1"))


def run(*args):
    return subprocess.run([PROGRAM, *args], capture_output=True, text=True, timeout=300, check=False)


def scenarios():
    return sorted(f[:-5] for f in os.listdir(SCENARIOS) if f.endswith(".toml"))


def expected(path):
    with open(path, "rb") as f:
        checks = tomllib.load(f)["check"]
    return sorted(next(c["diagnosis"] for c in checks if "diagnosis" in c))


class Base(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)

    def path(self, name):
        return os.path.join(self.dir.name, name)

    def good(self, *args):
        r = run(*args)
        self.assertEqual(r.returncode, 0, r.stderr + r.stdout)
        return r.stdout

    def named(self, directory):
        j = json.loads(self.good("diagnose", directory, "--json"))
        self.assertEqual(j["clean"], not j["causes"])
        return sorted({c["cause"] for c in j["causes"]})

    def scenario(self, text, name="s"):
        path = self.path(name + ".toml")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path


def one(job):
    name, seed, extra = job
    with tempfile.TemporaryDirectory() as d:
        out = os.path.join(d, "out")
        r = run("run", os.path.join(SCENARIOS, name + ".toml"), "--seed", str(seed), "-o", out, *extra)
        if not os.path.exists(os.path.join(out, "result.json")):
            return job, ["no result"], r.stderr
        d = run("diagnose", out, "--json")
        named = sorted({c["cause"] for c in json.loads(d.stdout)["causes"]}) if d.returncode == 0 else ["no diagnosis"]
        return job, named, r.stderr + d.stderr + (r.stdout if r.returncode else "")


class Injections(Base):
    def check(self, jobs):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for (name, seed, extra), named, log in pool.map(one, jobs):
                with self.subTest(scenario=name, seed=seed, extra=extra):
                    self.assertEqual(named, expected(os.path.join(SCENARIOS, name + ".toml")), log)

    def test_every_injection_is_named(self):
        self.check([(name, 1 + 977 * s, ()) for name in scenarios() for s in range(SEEDS)])

    def test_other_worlds(self):
        """Some of them with other errors of the link, cuts, orders and profiles."""
        spread = ("--set", "completer.cut=rcb", "--set", "completer.latency_spread=uniform", "--set",
                  "completer.latency_width=200", "--set", "completer.reorder=1", "--set", "completer.seed=5")
        self.check([(n, 3, spread) for n in ("clean_busy", "gpu_ca", "gpu_dropped", "host_poisoned", "gpu_too_long",
                                             "gpu_wrong_tag", "gpu_late", "several", "bad_key")])
        self.check([(n, 4, ("--profile", "gen4-200g")) for n in ("clean", "clean_busy", "gpu_ur", "several", "reset")])
        self.check([(n, 5, ("--profile", "gen5-measured")) for n in ("clean", "clean_busy", "gpu_late", "paused")])
        self.check([("link_down", s, ("--set", f"pcie.error_seed={s}")) for s in (11, 12)])
        self.check([("link_up", s, ("--set", f"pcie.error_seed={s}", "--set", "pcie.lcrc_error_rate_up=30000"))
                    for s in (11, 12)])

    def test_every_cause_is_injected(self):
        """What no scenario brings about says so in the table, or is of another command."""
        j = json.loads(self.good("diagnose", "--rules", "--json"))
        named = {cause for name in scenarios() for cause in expected(os.path.join(SCENARIOS, name + ".toml"))}
        left = {c["cause"] for c in j["causes"] if c["cause"] not in named
                and not c["injection"].startswith(("none", "`rnicsim arp"))}
        self.assertEqual(left, {"memory_space_off"})  # a driver has to write to the configuration space

    def test_faults_of_the_allreduce_engine(self):
        for option, causes in (("--flip", ["arp_parity"]), ("--duplicate", ["arp_repeated"]),
                               ("--hostile", ["arp_refused"]), ("--corrupt", ["arp_refused"])):
            out = self.path("arp" + option)
            r = run("arp", "--ranks", "4", "--count", "8k", option, "20%", "-o", out, "--trace", "none")
            self.assertIn(r.returncode, (0, 1), r.stderr)
            self.assertEqual(self.named(out), causes, option)

    def test_other_commands(self):
        out = self.path("stages")
        self.good("stages", "-o", out, "--trace", "none")
        self.assertEqual(self.named(out), [])
        self.good("stages", "-o", out, "--trace", "none", "--set", "pcie.lcrc_error_rate_down=200000", "--repeat", "20",
                  "--set", "health.temperature=107")
        self.assertEqual(self.named(out), ["link_errors_down", "warm"])
        out = self.path("perf")
        self.good("perf", "write_bw", "-s", "4096", "-n", "500", "-o", out, "--trace", "none")
        self.assertEqual(self.named(out), [])


TWO_NODES = """
[[node]]
name = "a"
[[node]]
name = "b"
[[region]]
node = "a"
name = "ra"
[[region]]
node = "b"
name = "rb"
[[qp]]
node = "a"
name = "qa"
[[qp]]
node = "b"
name = "qb"
[[op]]
qp = "qa"
region = "ra"
[[op]]
qp = "qb"
region = "rb"
lkey = 0x777700
"""


class Texts(Base):
    def test_nodes_are_told_apart(self):
        out = self.path("out")
        self.good("run", self.scenario(TWO_NODES), "-o", out)
        text = self.good("diagnose", out)
        for part in ("[mr_key, error]", "node      b", "mr_key_error = 1", "remedy"):
            self.assertIn(part, text)
        self.assertIn("clean", self.good("diagnose", out, "--node", "a"))
        self.assertEqual(run("diagnose", out, "--check").returncode, 1)
        self.assertEqual(run("diagnose", out, "--check", "--node", "a").returncode, 0)
        r = run("diagnose", out, "--node", "c")
        self.assertEqual(r.returncode, 2)
        self.assertIn("a, b", r.stderr)

    def test_where_a_read_failed(self):
        out = self.path("out")
        self.good("run", os.path.join(SCENARIOS, "host_ca.toml"), "-o", out)
        self.assertIn("where     host memory", self.good("diagnose", out))

    def test_what_is_no_result(self):
        cases = {"no such": (self.path("nothing"), "cannot be read"), "empty": (self.dir.name, "result.json")}
        for name, text in (("cut", '{"counters": {"a"'), ("list", "[]"), ("negative", '{"counters": {"cpl_ur": -1}}'),
                           ("deep", '{"counters": ' + '{"a":' * 20000 + "1" + "}" * 20001), ("binary", "\x00\x01")):
            path = self.path(name)
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            cases[name] = (path, path)
        for name, (path, part) in cases.items():
            for command in ("diagnose", "counters"):
                r = run(command, path)
                self.assertEqual(r.returncode, 2, f"{command} {name}: {r.stderr}")
                self.assertIn(part, r.stderr)
                self.assertEqual(r.stdout, "")
        self.assertEqual(run("diagnose").returncode, 2)
        self.assertEqual(run("counters").returncode, 2)

    def test_page_holds_the_table(self):
        with open(os.path.join(SOURCE, "docs/diagnosis.md"), encoding="utf-8") as f:
            self.assertIn(self.good("diagnose", "--rules"), f.read())

    def test_a_wrong_diagnosis_fails_the_run(self):
        r = run("run", self.scenario(TWO_NODES + '[[check]]\nnode = "b"\ndiagnosis = []\n'))
        self.assertEqual(r.returncode, 1)
        self.assertIn("mr_key", r.stderr)
        r = run("run", self.scenario(TWO_NODES + '[[check]]\nnode = "b"\ndiagnosis = ["no_such"]\n'))
        self.assertEqual(r.returncode, 2)
        self.assertIn("--rules", r.stderr)


class Counters(Base):
    def test_form_of_ethtool(self):
        out = self.path("out")
        self.good("run", os.path.join(SOURCE, "sim/scenarios/two_queues.toml"), "-o", out)
        text = self.good("counters", out)
        lines = text.splitlines()
        self.assertEqual(lines[0], "NIC statistics:")
        for line in lines[1:]:
            self.assertRegex(line, r"^     [a-z0-9_]+: \d+$")
        with open(os.path.join(out, "result.json"), encoding="utf-8") as f:
            counters = json.load(f)["counters"]
        self.assertEqual({m[1]: int(m[2]) for m in re.finditer(r"^     (\w+): (\d+)$", text, re.M)}, counters)
        self.assertEqual(counters["tx_vport_rdma_unicast_packets"], counters["tx_packets_phy"])
        self.assertEqual(counters["tx_vport_rdma_unicast_bytes"] + 4 * counters["tx_packets_phy"],
                         counters["tx_bytes_phy"])
        some = self.good("counters", out, "tx_*_phy", "--nonzero")
        self.assertEqual(len(some.splitlines()), 3)
        j = json.loads(self.good("counters", out, "cqe_ok", "--json"))
        self.assertEqual(list(j["nodes"].values())[0]["counters"], {"cqe_ok": counters["cqe_ok"]})

    def test_log_and_health(self):
        out = self.path("out")
        self.good("run", os.path.join(SCENARIOS, "several.toml"), "-o", out)
        text = self.good("counters", out, "--log", "--nonzero", "--all")
        for part in ("Health: degraded, causes [\"warm\"], 110.0 C", "fatal", "down", "Thermal", "CqOverrun", "Mmio", "pcie.failed_reads.gpu.poisoned: 1"):
            self.assertIn(part, text)

    def test_watch_adds_up(self):
        path = os.path.join(SOURCE, "sim/scenarios/two_queues.toml")
        out = self.path("out")
        plain = json.loads(self.good("run", path, "--json"))
        watched = json.loads(self.good("counters", "--watch", path, "--interval", "1us", "--json", "-o", out))
        self.assertEqual(watched["counters"], plain["counters"])
        self.assertEqual(watched["end_ps"], plain["end_ps"])
        sums = {}
        ends = [s["end_ns"] for s in watched["samples"]]
        self.assertEqual(ends, sorted(ends))
        self.assertGreater(len(set(ends)), 2)
        for s in watched["samples"]:
            self.assertEqual(s["end_ns"] % 1000, 0)
            for name, delta in s["deltas"].items():
                self.assertGreater(delta, 0)
                sums[name] = sums.get(name, 0) + delta
        self.assertEqual(sums, {n: v for n, v in plain["counters"].items() if v})
        text = self.good("counters", "--watch", path, "tx_packets_phy", "--interval", "5us")
        self.assertRegex(text, r"^ +\d+\.\d{3} us  tx_packets_phy: \d+ \(\+\d+\)\n")
        self.assertEqual(set(re.findall(r"us  (\w+):", text)), {"tx_packets_phy"})
        for bad in (("--interval", "0ns"), ("--interval", "x")):
            self.assertEqual(run("counters", "--watch", path, *bad).returncode, 2)


if __name__ == "__main__":
    unittest.main()
