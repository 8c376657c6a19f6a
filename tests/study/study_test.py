#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sweeps, comparisons and sensitivities as their users see them. CTest gives the program in RNICSIM."""
import csv
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
import xml.etree.ElementTree

PROGRAM = os.environ["RNICSIM"]
SOURCE = os.environ["RNICSIM_SOURCE"]
RECORDED = os.path.join(SOURCE, "tests/data/packetize_one_cycle")


class Base(unittest.TestCase):
    def setUp(self):
        d = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.addCleanup(d.cleanup)
        self.dir = d.name

    def at(self, *parts):
        return os.path.join(self.dir, *parts)

    def run_program(self, *args, status=0, env=None):
        r = subprocess.run([PROGRAM, *args], capture_output=True, text=True, timeout=300, check=False, cwd=self.dir,
                           env={**os.environ, **(env or {})})
        self.assertEqual(r.returncode, status, f"{args}\n{r.stdout}{r.stderr}")
        return r

    def bad(self, part, *args):
        """Bad usage: status 2, one line that says what."""
        r = self.run_program(*args, status=2)
        self.assertIn(part, r.stderr)
        self.assertEqual(r.stdout, "")
        return r.stderr

    def read(self, *parts):
        with open(self.at(*parts), encoding="utf-8") as f:
            return f.read()

    def write(self, name, text):
        with open(self.at(name), "w", encoding="utf-8") as f:
            f.write(text)
        return self.at(name)

    def rows(self, *parts):
        with open(self.at(*parts), encoding="utf-8", newline="") as f:
            return list(csv.DictReader(f))

    def pictures(self, *parts):
        """The SVGs of a page, parsed; the page needs nothing from outside."""
        page = self.read(*parts)
        self.assertNotRegex(page, r"https?://|<script|<link|src=")
        return [xml.etree.ElementTree.fromstring(s) for s in re.findall(r"<svg.*?</svg>", page, re.S)]


def texts(svg):
    return [t.text for t in svg.iter("text")]


class Help(Base):
    def test_help_teaches(self):
        """Help of each command ends with examples."""
        for sub in ("sweep", "compare"):
            self.assertIn("rnicsim " + sub, self.run_program(sub, "--help").stdout.split("Examples:")[1])
        for command in (("stages",), ("perf", "write_bw"), ("perf", "send_bw")):
            self.assertIn("--sensitivity-percent", self.run_program(*command, "--help").stdout)


class Sweep(Base):
    GRID = ("--set", "pcie.nic_link_latency=25:105:40", "--option", "mtu=256,1024,4096")

    def sweep(self, *args, status=0, command=("stages", "--size", "4096")):
        return self.run_program("sweep", *args, "--", *command, status=status)

    def test_grid_is_what_single_runs_give(self):
        """A table with a row a point in the grid's order, whose figures are those of the same command run by hand."""
        out = self.sweep(*self.GRID, "-o", "s").stdout
        rows = self.rows("s/sweep.csv")
        self.assertEqual([(r["pcie.nic_link_latency_ns"], r["mtu_bytes"]) for r in rows],
                         [(a, b) for a in ("25", "65", "105") for b in ("256", "1024", "4096")])
        for r in (rows[1], rows[8]):
            t = json.loads(self.run_program("stages", "--size", "4096", "--json", "--mtu", r["mtu_bytes"], "--set",
                                            "pcie.nic_link_latency=" + r["pcie.nic_link_latency_ns"]).stdout)
            self.assertEqual(r["status"], "passed")
            self.assertEqual(r["error"], "")
            self.assertEqual(float(r["table.doorbell_to_last_bit_ns"]), t["table"]["doorbell_to_last_bit_ns"])
            for s in t["table"]["stages"]:
                self.assertEqual(float(r[f"table.stages.{s['name']}.duration_ns"]), s["duration_ns"])
                self.assertEqual(int(r[f"table.stages.{s['name']}.cycles"]), s["end_cycle"] - s["start_cycle"])
        self.assertIn(rows[4]["table.doorbell_to_last_bit_ns"].rstrip("0"), out)
        self.assertTrue(os.path.exists(self.at("s", rows[0]["run"], "result.json")))
        self.assertFalse(os.path.exists(self.at("s", rows[0]["run"], "tlp.log")))

    def test_plot_can_be_read(self):
        """Axes with units, a tick at every value, a line for each value of the other key, and a legend of them."""
        self.sweep(*self.GRID, "-o", "s", "--plot", "*last_bit_ns")
        first, = self.pictures("s/sweep.html")
        words = texts(first)
        self.assertIn("pcie.nic_link_latency, ns", words)
        self.assertTrue(any(w.startswith("table.doorbell_to_last_bit_ns, ns") for w in words))
        self.assertIn("mtu, B", words)
        for tick in ("25", "65", "105", "256", "1024", "4096"):
            self.assertIn(tick, words)
        self.assertEqual(len(list(first.iter("polyline"))), 3)
        # --x turns it round, without running anything.
        self.run_program("sweep", "report", "s", "--x", "mtu", "--plot", "packetize.duration_ns", status=2)
        self.run_program("sweep", "report", "s", "--x", "mtu", "--plot", "**packetize.duration_ns")
        turned, = self.pictures("s/sweep.html")
        self.assertTrue(any(w.startswith("mtu, B") for w in texts(turned)))

    def test_other_axes(self):
        """Texts as values, factors, three keys, and one point alone: each gives pictures."""
        self.sweep("--option", "mem=gpu,host", "--option", "size=64:4096:x8", "--option", "sq=bf,device", "-o", "s", command=("stages",))
        self.assertEqual(len(self.rows("s/sweep.csv")), 12)
        self.assertEqual([len(list(p.iter("polyline"))) for p in self.pictures("s/sweep.html")], [4, 4])
        self.assertTrue(any(w.endswith("(logarithmic)") for w in texts(self.pictures("s/sweep.html")[0])))
        self.sweep("--option", "mem=gpu,host", "-o", "t", command=("stages",))
        self.assertEqual([len(list(p.iter("polyline"))) for p in self.pictures("t/sweep.html")], [0, 0])
        self.sweep("--option", "size=64", "-o", "u", command=("stages",))
        self.assertEqual(len(self.rows("u/sweep.csv")), 1)

    def test_zip(self):
        """Values go side by side."""
        self.sweep("--zip", "--set", "pcie.generation=3,4,5", "--set", "mac.rate=100,200,400", "-o", "s")
        self.assertEqual([(r["pcie.generation"], r["mac.rate_gbps"]) for r in self.rows("s/sweep.csv")],
                         [("3", "100"), ("4", "200"), ("5", "400")])
        self.bad("has 2 values", "sweep", "--zip", "--set", "pcie.generation=3,4,5", "--set", "mac.rate=100,200", "-o", "t", "--", "stages")

    def test_scenario(self):
        """Any command that leaves a result: a scenario, with its operations' figures."""
        self.sweep("--set", "pcie.lanes=8,16", "-o", "s", "--metric", "operations.writes.gbps", "--metric", "counters.tx_packets_phy",
                   command=("run", os.path.join(SOURCE, "sim/scenarios/two_queues.toml")))
        rows = self.rows("s/sweep.csv")
        self.assertEqual(list(rows[0]), ["pcie.lanes", "status", "operations.writes.gbps", "counters.tx_packets_phy", "error", "run", "sweep_schema"])
        self.assertGreater(float(rows[1]["operations.writes.gbps"]), float(rows[0]["operations.writes.gbps"]))

    def test_rates(self):
        """A command of two words, its options by their short names; what is drawn are its rates."""
        self.sweep("--option", "q=1,4", "-o", "s", command=("perf", "write_bw", "-s", "4096", "-n", "50"))
        rows = self.rows("s/sweep.csv")
        self.assertEqual([r["qp"] for r in rows], ["1", "4"])
        by_hand = json.loads(self.run_program("perf", "write_bw", "-s", "4096", "-n", "50", "-q", "4", "--json").stdout)
        self.assertEqual(float(rows[1]["rates.bw_average_gbps"]), by_hand["rates"]["bw_average_gbps"])
        self.assertEqual([texts(p)[0].split("  ")[0] for p in self.pictures("s/sweep.html")],
                         ["rates.bw_average_gbps, Gb/s", "rates.message_rate_mpps, M/s"])
        self.assertIn("2 points compared: 0 differ", self.run_program("compare", "s", "s").stdout)

    def test_failing_point_is_a_row(self):
        """Whatever becomes of a point, its row says it, and the others are there."""
        r = self.sweep("--set", "mac.rate=400,300", "--option", "max-sim-time=1s,8us", "-o", "s", status=1)
        rows = {(x["mac.rate_gbps"], x["max-sim-time"]): x for x in self.rows("s/sweep.csv")}
        self.assertEqual(len(rows), 4)
        self.assertEqual(rows["400", "1s"]["status"], "passed")
        self.assertEqual(rows["300", "1s"]["status"], "error")
        self.assertIn("300 is not allowed; allowed: 100, 200, 400, 800", rows["300", "1s"]["error"])
        self.assertEqual(rows["400", "8us"]["status"], "error")
        self.assertIn("exit 3", rows["400", "8us"]["error"])
        self.assertIn("3 of 4 points without a good result", r.stderr)
        self.assertIn("300 is not allowed", self.read("s/sweep.html"))
        self.sweep("--option", "repeat=1,1000000", "-o", "t", "--timeout", "2", status=1)
        self.assertIn("timeout after 2 s", self.rows("t/sweep.csv")[1]["error"])
        self.sweep("--option", "size=64,many", "-o", "v", status=1, command=("stages",))
        self.assertIn("--size: ", self.rows("v/sweep.csv")[1]["error"])
        # A check that failed has a result all the same.
        self.sweep("--option", "check=true,false", "-o", "u", status=1)
        checked = self.rows("u/sweep.csv")
        self.assertEqual([x["status"] for x in checked], ["failed", "passed"])
        self.assertEqual(checked[0]["table.doorbell_to_mac_ns"], checked[1]["table.doorbell_to_mac_ns"])

    def test_bad_usage(self):
        """Errors before anything runs say what would be right."""
        near = self.bad("gpu.read_latency", "sweep", "--set", "gpu.raed_latency=1:2:1", "--", "stages")
        self.assertIn("gpu.mmio_latency", near)
        self.bad("--option mtu=256", "sweep", "--set", "mtu=256", "--", "stages")
        self.bad("--set gpu.read_latency=1", "sweep", "--option", "gpu.read_latency=1", "--", "stages")
        self.bad("nearest: size", "sweep", "--option", "sise=1", "--", "stages")
        self.bad("nearest: size", "sweep", "--option", "mtu=256", "--", "stages", "--sise", "64")
        self.bad("nothing to sweep over", "sweep", "--", "stages")
        self.bad("behind --", "sweep", "--set", "mac.rate=100")
        self.bad("leaves no result to sweep over; there are:", "sweep", "--set", "mac.rate=100", "--", "regs")
        self.bad("leaves no result", "sweep", "--set", "mac.rate=100", "--", "sweep", "--", "stages")
        self.bad("1000000000 points", "sweep", "--set", "gpu.read_latency=1:1000:1", "--set", "host.read_latency=1:1000:1",
                 "--set", "mac.tx_latency=1:1000:1", "--", "stages")
        self.bad("swept twice", "sweep", "--set", "mac.rate=100", "--set", "mac.rate=200", "--", "stages")
        self.bad("swept twice", "sweep", "--option", "size=64", "--option", "--size=128", "--", "stages")
        self.bad("the command sets it, too", "sweep", "--set", "mac.rate=100", "--", "stages", "--set", "mac.rate=200")
        self.bad("the command sets it, too", "sweep", "--option", "size=64", "--", "stages", "--size=128")
        self.bad("the sweep's own", "sweep", "--set", "mac.rate=100", "--", "stages", "-o", "x")
        self.bad("not swept over", "sweep", "--set", "mac.rate=100", "--x", "mtu", "--", "stages")
        self.bad("is empty", "sweep", "--set", "gpu.read_latency=2:1:1", "--", "stages")
        self.bad("--shard", "sweep", "--set", "mac.rate=100", "--shard", "3/2", "--", "stages")
        self.assertFalse(os.path.exists(self.at("out")))

    def test_keep_files(self):
        """With --keep-files, and --trace of the command, a point's folder has all that a run leaves."""
        self.sweep("--set", "mac.rate=100", "-o", "s", "--keep-files", command=("stages", "--trace", "full"))
        files = os.listdir(self.at("s", self.rows("s/sweep.csv")[0]["run"]))
        for name in ("result.json", "capture.pcapng", "tlp.log", "report.html", "wave.fst"):
            self.assertIn(name, files)

    def test_list_runs_nothing(self):
        """--list prints commands that a shell takes."""
        lines = self.sweep(*self.GRID, "--list").stdout.splitlines()
        self.assertEqual(len(lines), 9)
        words = shlex.split(lines[5])
        self.assertEqual(words[1:4], ["stages", "--size", "4096"])
        self.assertIn("pcie.nic_link_latency=65", words)
        self.assertIn("--mtu=4096", words)
        self.assertFalse(os.path.exists(self.at("out")))

    def test_resume_after_kill(self):
        """After SIGKILL --resume goes on, and the table is that of a sweep that nobody stopped."""
        args = ["--set", "gpu.read_latency=80:120:0.5", "-o", "s", "-j", "2"]
        p = subprocess.Popen([PROGRAM, "sweep", *args, "--", "stages"], cwd=self.dir, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        journal, done = self.at("s/results.jsonl"), 0
        while done < 5 and p.poll() is None:
            time.sleep(0.005)
            done = self.read("s/results.jsonl").count("\n") if os.path.exists(journal) else 0
        p.kill()
        p.wait()
        kept = self.read("s/results.jsonl").count("\n")
        self.assertTrue(5 <= kept < 81, kept)
        self.bad("holds an unfinished sweep", "sweep", *args, "--", "stages")
        # Half a line, as a power cut leaves it.
        with open(journal, "a", encoding="utf-8") as f:
            f.write('{"run":80,"name":"gpu.re')
        self.bad("in another state", "sweep", "--resume", *args, "--", "stages", "--size", "128")
        r = self.run_program("sweep", "--resume", *args, "--", "stages")
        self.assertIn("resuming", r.stderr)
        self.sweep("--set", "gpu.read_latency=80:120:0.5", "-o", "whole", command=("stages",))
        self.assertEqual(self.read("s/sweep.csv"), self.read("whole/sweep.csv"))
        # A line that is damaged in the middle is an error, not a lost point.
        lines = self.read("s/results.jsonl").splitlines(keepends=True)
        lines[2] = lines[2][:20] + "\n"
        self.write("s/results.jsonl", "".join(lines))
        self.bad("results.jsonl:3", "sweep", "report", "s")

    def test_interrupted(self):
        """SIGINT ends it with what there is and the line that goes on; points not run are rows."""
        p = subprocess.Popen([PROGRAM, "sweep", "--set", "gpu.read_latency=1:1000:1", "-o", "s", "-j", "2", "--", "stages", "--size", "8192"],
                             cwd=self.dir, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        while not os.path.exists(self.at("s/results.jsonl")) or self.read("s/results.jsonl").count("\n") < 3:
            time.sleep(0.005)
            self.assertIsNone(p.poll())
        p.send_signal(signal.SIGINT)
        err = p.communicate(timeout=60)[1]
        self.assertEqual(p.returncode, 130, err)
        line = re.search(r"to go on: (.*)", err).group(1)
        self.assertRegex(line, r" sweep --resume .* -- stages --size 8192$")
        rows = self.rows("s/sweep.csv")
        self.assertEqual(len(rows), 1000)
        self.assertEqual({r["status"] for r in rows}, {"passed", "not_run"})

    def test_shards(self):
        """Shards put together are the whole, byte by byte; one that is missing is named."""
        self.sweep(*self.GRID, "-o", "whole")
        for i in (1, 2):
            self.sweep(*self.GRID, "-o", f"s{i}", "--shard", f"{i}/2")
        self.run_program("sweep", "merge", "s2", "s1", "-o", "all")
        self.assertEqual(self.read("all/sweep.csv"), self.read("whole/sweep.csv"))
        self.assertEqual(self.read("all/sweep.html"), self.read("whole/sweep.html"))
        self.bad("missing: shard 2/2", "sweep", "merge", "s1", "-o", "half")
        self.run_program("sweep", "merge", "s1", "-o", "half", "--partial", status=1)
        self.assertEqual([r["status"] for r in self.rows("half/sweep.csv")], ["passed", "not_run"] * 4 + ["passed"])
        self.sweep("--set", "mac.rate=100,200", "-o", "other", "--shard", "2/2")
        self.bad("of another plan", "sweep", "merge", "s1", "other", "-o", "x")

    def test_folders_are_not_mixed_up(self):
        """A regression's folder, somebody's files, a damaged plan: refused, nothing is removed."""
        self.write("plan.toml", '[plan]\nname = "p"\n[[test]]\nname = "t"\ncommand = ["true"]\n')
        self.run_program("regress", "plan.toml", "-o", "r")
        self.bad("holds a regression", "sweep", "--set", "mac.rate=100", "-o", "r", "--", "stages")
        self.bad("is not a sweep's folder", "sweep", "--set", "mac.rate=100", "-o", "r", "--fresh", "--", "stages")
        self.bad("holds a regression", "sweep", "report", "r")
        self.sweep("--set", "mac.rate=100", "-o", "s")
        self.bad("holds a sweep", "regress", "plan.toml", "-o", "s", "--resume")
        self.bad("is not a regression's folder", "regress", "plan.toml", "-o", "s", "--fresh")
        os.mkdir(self.at("mine"))
        self.write("mine/sweep.csv", "precious")
        self.bad("it is not a sweep's folder", "sweep", "--set", "mac.rate=100", "-o", "mine", "--", "stages")
        self.assertEqual(self.read("mine/sweep.csv"), "precious")
        plan = json.loads(self.read("s/plan.json"))
        plan["extra"]["points"] = plan["extra"]["points"] * 2
        self.write("s/plan.json", json.dumps(plan))
        self.bad("damaged", "sweep", "report", "s")
        self.write("s/plan.json", "{")
        self.bad("cut off or damaged", "sweep", "report", "s")


class Compare(Base):
    def stages(self, name, *args):
        self.run_program("stages", "-q", "--trace", "none", "-o", name, *args)
        return json.loads(self.read(name, "result.json"))

    def edited(self, name, result, pointer, value):
        """A copy of a result with one value changed; None removes it."""
        j = json.loads(json.dumps(result))
        *path, last = pointer
        at = j
        for p in path:
            at = at[p]
        if value is None:
            del at[last]
        else:
            at[last] = value
        return self.write(name, json.dumps(j))

    def test_one_cycle_is_found_and_the_stage_named(self):
        """Two commits, one register more: the stage by name, the rest as what it did, exit 1, in text, JSON, JUnit and HTML."""
        a, b = os.path.join(RECORDED, "before.json"), os.path.join(RECORDED, "after.json")
        r = self.run_program("compare", a, b, "--junit", "c.xml", "--html", "c.html", status=1)
        lines = r.stdout.splitlines()
        self.assertIn("packetize +1 cycle (15 -> 16), +1 ns", lines)
        self.assertIn("all later stages moved by +1 ns with it: MAC TX, CQE write", lines)
        listed = [line for line in lines if "DIFFERS" in line and "table" in line]
        self.assertEqual({line.split()[0] for line in listed}, {"table.doorbell_to_last_bit_ns", "table.doorbell_to_mac_ns"})
        self.assertGreater(self.run_program("compare", a, b, "--all", "--limit", "0", status=1).stdout.count("DIFFERS"), 50)
        j = json.loads(self.run_program("compare", a, b, "--json", status=1).stdout)
        self.assertEqual([s["stage"] for s in j["runs"][0]["stages"]], ["packetize"])
        failed = [c for c in xml.etree.ElementTree.parse(self.at("c.xml")).iter("testcase") if c.find("failure") is not None]
        self.assertEqual(failed[0].get("name"), "packetize: duration")
        self.assertIn("+1 cycle (15 -> 16)", failed[0].find("failure").get("message"))
        self.assertEqual(len(failed), 2)
        self.assertIn("packetize +1 cycle (15 -&gt; 16)", self.read("c.html"))
        self.assertNotRegex(self.read("c.html"), r"https?://|<script")

    def test_same_run_is_the_same(self):
        """Equal but for who made it and where: 0, and what differs there is shown."""
        result = self.stages("a")
        self.stages("b")
        out = self.run_program("compare", "a", "b", "--junit", "c.xml").stdout
        self.assertRegex(out, r"\d{3} figures compared: all equal")
        self.assertIn("-o b", out)
        self.assertNotIn("<failure", self.read("c.xml"))
        other = self.edited("other.json", result, ["versions", "compiler"], "g++ 99")
        self.assertIn("g++ 99", self.run_program("compare", "a", other).stdout)

    def test_what_was_changed_is_named(self):
        """A slower memory shows in its stage, its part, and the profile's key."""
        self.stages("a")
        self.stages("b", "--set", "gpu.read_latency=99")
        out = self.run_program("compare", "a", "b", status=1).stdout
        self.assertRegex(out, r"profile\.keys\.gpu\.read_latency +86 +99\n")
        self.assertRegex(out, r"DMA read \+13 cycles \(\d+ -> \d+\), \+13 ns\n  payload read in memory: 86 -> 99 ns\n")
        self.assertIn("all later stages moved by +13 ns with it: packetize, MAC TX, CQE write", out)
        self.stages("c", "--set", "wire.latency=11")  # changes nothing that is measured
        self.run_program("compare", "a", "c")
        self.run_program("compare", "a", "c", "--same-configuration", status=1)

    def test_tolerances(self):
        """By glob, absolute and in percent; what fits nothing is said."""
        result = self.stages("a")
        b = self.edited("b.json", result, ["store_to_t0_ns"], result["store_to_t0_ns"] + 0.5)
        self.run_program("compare", "a", b, status=1)
        self.run_program("compare", "a", b, "--tolerance", "store_to_t0_ns=0.5")
        self.run_program("compare", "a", b, "--tolerance", "store_to_t0_ns=0.4", status=1)
        self.run_program("compare", "a", b, "--tolerance", "*_ns=1%")
        self.run_program("compare", "a", b, "--ignore", "store_to*")
        r = self.run_program("compare", "a", b, "--tolerance", "nothing=1", status=1)
        self.assertIn("'nothing' fits no figure", r.stderr)
        self.bad("--tolerance", "compare", "a", b, "--tolerance", "x=fast")

    def test_missing_and_extra(self):
        """What one side lacks is a difference, each way."""
        result = self.stages("a")
        less = self.edited("less.json", result, ["counters", "db_rx"], None)
        for x, y, side in (("a", less, "A"), (less, "a", "B")):
            self.assertRegex(self.run_program("compare", x, y, status=1).stdout, rf"counters\.db_rx .*only in {side}")
        checks = self.edited("checks.json", result, ["checks"], [{"name": "n", "what": "w", "expected": "1", "got": "1", "passed": True}])
        broken = self.edited("broken.json", result, ["checks"], [{"name": "n", "what": "w", "expected": "1", "got": "2", "passed": False}])
        self.assertIn("checks.n: w.passed", self.run_program("compare", checks, broken, status=1).stdout)

    def test_bad_input(self):
        """Other schemas, cut files, two of different kinds: what and where, and 2."""
        result = self.stages("a")
        newer = self.edited("newer.json", result, ["schema_version"], 2)
        self.bad("is 2, and this program reads version 1", "compare", "a", newer)
        self.bad("is 2, and this program reads version 1", "compare", newer, newer)
        self.bad("is missing", "compare", "a", self.edited("none.json", result, ["schema_version"], None))
        self.bad("cut.json: is cut off", "compare", "a", self.write("cut.json", json.dumps(result)[:-20]))
        self.bad("is cut off or no JSON", "compare", "a", self.write("huge.json", '{"schema_version": 1, "a": 1e999}'))
        self.bad("is cut off or no JSON", "compare", "a", self.write("deep.json", "[" * 100000))
        self.bad("no result.json", "compare", "a", self.write("list.json", "[1, 2]"))
        self.bad("there is no such", "compare", "a", "nowhere")
        os.mkdir(self.at("empty"))
        self.bad("holds no result.json", "compare", "a", "empty")
        self.run_program("sweep", "--set", "mac.rate=100,200", "-o", "s", "--", "stages")
        self.bad("two of a kind", "compare", "a", "s")
        table = self.read("s/sweep.csv")
        self.bad("is no sweep.csv", "compare", "s", self.write("other.csv", "a,b\n1,2\n"))
        newer = "".join(re.sub(r",1$", ",2", line) + "\n" for line in table.splitlines())
        self.bad("this program reads version 1", "compare", "s", self.write("newer.csv", newer))
        self.bad("short.csv:3", "compare", "s", self.write("short.csv", table[:-30]))
        self.bad("there twice", "compare", "s", self.write("twice.csv", table + table.splitlines()[1] + "\n"))
        shutil.copy(self.at("s/sweep.csv"), self.at("binary.csv"))
        with open(self.at("binary.csv"), "r+b") as f:
            f.write(b"\xff\x00\xfe")
        self.bad("their points can't be matched", "compare", "s", "binary.csv")
        self.run_program("sweep", "--set", "mac.tx_latency=10", "-o", "t", "--", "stages")
        self.bad("their points can't be matched", "compare", "s", "t")
        os.remove(self.at("t/sweep.csv"))
        self.bad("sweep report", "compare", "s", "t")

    def test_sweeps(self):
        """Point by point: the stage that changed, at how many of them; points that one side lacks."""
        grid = ("--option", "size=64,1024,4096")
        self.run_program("sweep", *grid, "-o", "a", "--", "stages")
        self.run_program("sweep", *grid, "-o", "b", "--", "stages")
        self.assertIn("3 points compared: 0 differ", self.run_program("compare", "a", "b").stdout)
        self.run_program("sweep", *grid, "-o", "c", "--", "stages", "--set", "mac.tx_latency=41")
        out = self.run_program("compare", "a", "c/sweep.csv", "--junit", "c.xml", status=1).stdout
        self.assertIn("MAC TX +1 cycle at 3 of 3 points; first: MAC TX +1 cycle (40 -> 41), +1 ns, at size_bytes=64", out)
        self.assertEqual(self.read("c.xml").count("<failure"), 3)
        self.run_program("sweep", "--option", "size=64,1024,256", "-o", "d", "--", "stages")
        out = self.run_program("compare", "a", "d", status=1).stdout
        self.assertIn("only in A: size_bytes=4096", out)
        self.assertIn("only in B: size_bytes=256", out)


class Sensitivity(Base):
    def sensitivity(self, *args, status=0):
        r = self.run_program("stages", "--sensitivity", "--json", *args, status=status, env={"TMPDIR": self.dir})
        return {k["name"]: k for k in json.loads(r.stdout)["sensitivity"]["keys"]}

    def test_each_key_is_what_a_run_by_hand_gives(self):
        """Sorted by effect; each figure that of the same command with the key set; the stage that moved is named."""
        keys = self.sensitivity("--size", "4096")
        effects = [k["effect"] for k in keys.values()]
        self.assertEqual(effects, sorted(effects, reverse=True))
        self.assertGreater(effects[0], 0)
        for name in ("gpu.read_latency", "clock.core_period", "pcie.lanes", "mac.rate", "host.read_latency"):
            for side in ("lo", "hi"):
                s = keys[name][side]
                if s["value"] is None:
                    continue
                t = json.loads(self.run_program("stages", "--size", "4096", "--json", "--set", f"{name}={s['value']}").stdout)["table"]
                self.assertEqual(s["figure"], t["doorbell_to_last_bit_ns"], (name, side))
        gpu = keys["gpu.read_latency"]
        self.assertEqual((gpu["lo"]["value"], gpu["hi"]["value"]), (68.8, 103.2))
        self.assertEqual(list(gpu["hi"]["stages"]), ["DMA read_ns"])
        self.assertEqual(keys["host.read_latency"]["effect"], 0)
        self.assertIn("16 is the largest allowed", keys["pcie.lanes"]["hi"]["note"])
        self.assertEqual(keys["pcie.lanes"]["lo"]["value"], 12)
        self.assertEqual(os.listdir(self.dir), [])

    def test_table_and_picture(self):
        """The largest first, what was clamped is said; the tornado chart has a bar a side."""
        out = self.run_program("stages", "--size", "4096", "--sensitivity", "--sensitivity-percent", "10", "-j", "2", "-o", "s",
                               "--trace", "none").stdout
        self.assertIn("each key of the profile 10 % lower and higher", out)
        self.assertRegex(out, r"gpu\.read_latency +77\.4 +86 +94\.6 +ns .*DMA read -\d+(\.\d+)? / \+\d+(\.\d+)? ns")
        self.assertRegex(out, r"pcie\.lanes .*16 is the largest allowed")
        self.assertRegex(out, r"without effect: [^#]*host\.read_latency")
        picture, = self.pictures("s/sensitivity.html")
        self.assertIn("gpu.read_latency = 86 ns", texts(picture))
        self.assertTrue(any(t == "table.doorbell_to_last_bit_ns, ns" for t in texts(picture)))
        self.assertGreater(len([r for r in picture.iter("rect")]), 10)
        self.assertIn("sensitivity", json.loads(self.read("s/result.json")))
        # A run without it leaves none of an earlier one.
        self.run_program("stages", "-o", "s", "--trace", "none")
        self.assertFalse(os.path.exists(self.at("s/sensitivity.html")))

    def test_other_figure_and_options(self):
        """Of any figure; the message's own options hold in every run."""
        keys = self.sensitivity("--sensitivity-of", "table.stages.WQE fetch.duration_ns", "--sq=device", "--initiator", "gpu", "-oout", "--check")
        self.assertEqual(list(keys)[0], "devmem.read_latency")
        self.assertEqual(keys["gpu.read_latency"]["effect"], 0)
        r = self.run_program("stages", "--sensitivity", "--sensitivity-of", "table.doorbell_to_mac", status=2)
        self.assertIn("nearest: table.doorbell_to_mac_ns", r.stderr)

    def test_rates(self):
        """perf: of the average bandwidth. Each figure is that of the same command with the key set; a rate has no stages."""
        line = ("perf", "write_bw", "-s", "64", "-n", "20", "-q", "2", "--prepost")
        out = self.run_program(*line, "--sensitivity", "-o", "s").stdout
        self.assertRegex(out, r"Sensitivity of rates\.bw_average_gbps = [\d.]+ Gb/s: each key of the profile 20 % lower and higher")
        self.assertNotIn("stages moved", out)
        result = json.loads(self.read("s/result.json"))
        keys = {k["name"]: k for k in result["sensitivity"]["keys"]}
        self.assertEqual(result["sensitivity"]["nominal"], result["rates"]["bw_average_gbps"])
        self.assertGreater(keys["clock.core_period"]["effect"], 0)
        self.assertEqual(keys["host.post_cost"]["effect"], 0)  # posted beforehand
        for name in ("clock.core_period", "gpu.read_latency", "pcie.lanes"):
            value = keys[name]["lo"]["value"]
            rates = json.loads(self.run_program(*line, "--json", "--set", f"{name}={value}").stdout)["rates"]
            self.assertEqual(keys[name]["lo"]["figure"], rates["bw_average_gbps"], name)
        picture, = self.pictures("s/sensitivity.html")
        self.assertIn("rates.bw_average_gbps, Gb/s", texts(picture))
        self.assertNotIn("stages moved", self.read("s/sensitivity.html"))
        other = self.run_program(*line, "--sensitivity", "--sensitivity-of", "latencies.turn_to_last_bit.max_ns", "--json").stdout
        self.assertEqual(json.loads(other)["sensitivity"]["figure"], "latencies.turn_to_last_bit.max_ns")
        self.bad("leave -a out", "perf", "send_bw", "-a", "--sensitivity")
        self.assertIn("nearest: rates.bw_average_gbps", self.run_program(*line, "--sensitivity", "--sensitivity-of", "bw_average_gbps",
                                                                         status=2).stderr)

    def test_failing_run_is_said(self):
        """A value with which the run does not end is a failed cell and status 1; the others are there."""
        short, limit = 1000, 100000  # ns; the shortest simulated time in which the nominal run ends
        while limit - short > 2:
            middle = (short + limit) // 2
            ended = subprocess.run([PROGRAM, "stages", "-q", "--max-sim-time", f"{middle}ns"], capture_output=True, check=False)
            short, limit = (short, middle) if ended.returncode == 0 else (middle, limit)
        keys = self.sensitivity("--max-sim-time", f"{limit}ns", status=1)
        self.assertIn("exit 3", keys["gpu.read_latency"]["hi"]["error"])
        self.assertIn("figure", keys["gpu.read_latency"]["lo"])


if __name__ == "__main__":
    unittest.main()
