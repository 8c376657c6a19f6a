#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Regressions as their users see them: plans, results, interruption, shards, reports. CTest gives the program in RNICSIM."""
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
import xml.etree.ElementTree

PROGRAM = os.environ["RNICSIM"]
SOURCE = os.environ["RNICSIM_SOURCE"]


def without_wall(html):
    """A report without what depends on when and where it ran (docs/regress.md says which that is)."""
    return re.sub(r"<!--wall-->.*?<!--/wall-->", "", html, flags=re.S)


def without_wall_junit(text):
    return re.sub(r' (time|timestamp|hostname)="[^"]*"', "", text)


def alive(marker):
    """Processes whose command line holds the marker."""
    found = []
    for pid in os.listdir("/proc"):
        if pid.isdigit() and int(pid) != os.getpid():
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    if marker.encode() in f.read():
                        found.append(int(pid))
            except OSError:
                pass
    return found


class Base(unittest.TestCase):
    def setUp(self):
        d = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.addCleanup(d.cleanup)
        self.dir = d.name

    def at(self, *parts):
        return os.path.join(self.dir, *parts)

    def write(self, name, text):
        with open(self.at(name), "w", encoding="utf-8") as f:
            f.write(text)
        return self.at(name)

    def plan(self, body, head="", name="plan.toml"):
        return self.write(name, f'[plan]\nname = "p"\n{head}\n{body}\n')

    def regress(self, *args, status=0, cwd=None, env=None):
        r = subprocess.run([PROGRAM, "regress", *args], capture_output=True, text=True, timeout=120, check=False,
                           cwd=cwd or self.dir, env={**os.environ, **(env or {})})
        self.assertEqual(r.returncode, status, r.stdout + r.stderr)
        return r

    def read(self, *parts):
        with open(self.at(*parts), encoding="utf-8") as f:
            return f.read()

    def read_source(self, name):
        with open(os.path.join(SOURCE, name), encoding="utf-8") as f:
            return f.read()

    def summary(self, out="out"):
        return json.loads(self.read(out, "summary.json"))

    def outcomes(self, out="out"):
        return {r["run"]: r["outcome"] for r in self.summary(out)["runs"]}

    def junit(self, out="out"):
        root = xml.etree.ElementTree.parse(self.at(out, "junit.xml")).getroot()
        self.assertEqual(root.tag, "testsuites")
        counted = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
        for suite in root:
            self.assertEqual(suite.tag, "testsuite")
            for key, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
                self.assertEqual(int(suite.attrib[key]), len(suite.findall(f"testcase/{tag}")))
                counted[key] += int(suite.attrib[key])
            self.assertEqual(int(suite.attrib["tests"]), len(suite.findall("testcase")))
            counted["tests"] += int(suite.attrib["tests"])
            for case in suite.findall("testcase"):
                self.assertTrue(case.attrib["classname"] and case.attrib["name"])
                float(case.attrib["time"])
        for key, n in counted.items():
            self.assertEqual(int(root.attrib[key]), n)
        return root

    def wait_for(self, what, seconds=20):
        end = time.time() + seconds
        while not what():
            self.assertLess(time.time(), end, "waited too long")
            time.sleep(0.02)


SCRIPT = '["sh", "-c", "{}"]'


class Plans(Base):
    def test_wrong_plans_name_their_place(self):
        """File, line, key, what is wrong and what is allowed, in one line; nothing is run or written."""
        test = '[[test]]\nname = "a"\ncommand = ["true"]\n'
        for body, head, line, parts in (
            (test, "jobz = 1", 3, ("plan.jobz", "allowed:", "jobs")),
            (test, 'jobs = "2"', 3, ("plan.jobs", "whole number", "a text")),
            (test, "jobs = 0", 3, ("plan.jobs", "1 to 1024")),
            (test, "jobs = 2.0", 3, ("plan.jobs", "whole number")),
            (test, "timeout_s = -1", 3, ("plan.timeout_s", "out of range")),
            (test, "timeout_s = nan", 3, ("plan.timeout_s", "out of range")),
            (test, 'waves = "some"', 3, ("plan.waves", "failures, all, none")),
            (test, 'baseline = "no.toml"', 0, ("no.toml", "no such file")),
            (test, 'testplans = ["nothere"]', 0, ("nothere",)),
            (test, 'cwd = "nothere"', 3, ("plan.cwd", "nothere")),
            ("", "", 0, ("no tests",)),
            (test + test, "", 8, ("test.name", "two tests 'a'")),
            ("[[test]]\ncommand = ['true']\n", "", 4, ("no name",)),
            ('[[test]]\nname = "a b"\ncommand = ["true"]\n', "", 5, ("test.name", "allowed")),
            ('[[test]]\nname = "../x"\ncommand = ["true"]\n', "", 5, ("test.name", "allowed")),
            ('[[test]]\nname = "a"\n', "", 4, ("test.command", "missing")),
            ('[[test]]\nname = "a"\ncommand = "true"\n', "", 6, ("test.command", "array of texts")),
            ('[[test]]\nname = "a"\ncommand = ["echo", 1]\n', "", 6, ("test.command", "element 2")),
            (test + "sedes = [1]\n", "", 7, ("test.sedes", "allowed", "seeds")),
            (test + "seeds = []\n", "", 7, ("test.seeds", "empty")),
            (test + "seeds = [1, 1]\n", "", 7, ("test.seeds", "twice")),
            (test + "seeds = [-1]\n", "", 7, ("test.seeds", "out of range")),
            (test + 'seeds = ["x"]\n', "", 7, ("test.seeds", "whole number")),
            (test + "seeds = 7\n", "", 7, ("test.seeds", "random")),
            (test + "seeds = { random = 2, from = 1 }\n", "", 7, ("test.seeds", "random")),
            (test + "seeds = { from = 5 }\n", "", 7, ("test.seeds", "from")),
            (test + "seeds = { from = 5, to = 4 }\n", "", 7, ("test.seeds", "empty")),
            (test + "seeds = { from = 0, to = 9223372036854775807 }\n", "", 7, ("test.seeds", "more than")),
            (test + "seeds = { random = 2000000000 }\n", "", 7, ("random", "out of range")),
            (test + "expect = 256\n", "", 7, ("test.expect", "0 to 255")),
            (test + 'rules = ["no.toml"]\n', "", 7, ("test.rules", "no.toml")),
            (test + 'wave = "full"\n', "", 7, ("test.wave", "{trace}")),
            (test + 'env = { "A B" = "x" }\n', "", 7, ("test.env", "A B")),
            (test + "metrics = { m = 1 }\n", "", 7, ("metrics", "table")),
            (test + 'metrics = { m = { pointer = "x" } }\n', "", 7, ("pointer", "JSON pointer")),
            (test + 'metrics = { m = { pointer = "/x", file = "../../etc/passwd" } }\n', "", 7, ("file", "below")),
            (test + 'metrics = { m = { pointer = "/x", check = "baseline" } }\n', "", 7, ("check", "baseline")),
            (test + 'metrics = { m = { pointer = "/x", better = "more" } }\n', "", 7, ("better", "lower")),
            ('[[test]]\nname = "a"\ncommand = ["x", "{seed}"]\n', "", 6, ("test.command", "no seeds")),
            ('[[test]]\nname = "a"\ncommand = ["x", "{trace}"]\nwave = "last"\n', "", 7, ("test.wave", "allowed")),
            ("[tests]\n", "", 4, ("tests", "[[test]]")),
            ("[test]\n", "", 4, ("test", "[[test]]")),
            ('[[ctest]]\nbuild = "."\n', "", 5, ("ctest.build", "CTestTestfile.cmake")),
            ("[[test", "", 4, ()),
        ):
            path = self.plan(body, head)
            err = self.regress(path, "-o", self.at("out"), status=2).stderr
            self.assertEqual(len(err.splitlines()), 1, err)
            for part in parts + ((f"{path}:{line}",) if line else ()):
                self.assertIn(part, err, body + head)
            self.assertFalse(os.path.exists(self.at("out")), body + head)

    def test_wrong_usage(self):
        """Options that make no sense end with 2."""
        path = self.plan('[[test]]\nname = "a"\nlabels = ["quick"]\ncommand = ["true"]\n')
        for args, part in (
            ((), "PLAN"),
            ((path, "--shard", "3/2"), "--shard"),
            ((path, "--shard", "0/2"), "--shard"),
            ((path, "--shard", "x"), "--shard"),
            ((path, "--only", "("), "regular expression"),
            ((path, "--only", "nothing"), "quick"),
            ((path, "--label", "slow"), "quick"),
            ((path, "--resume", "--fresh"), "--fresh"),
            ((path, "--seed", "-1"), "--seed"),
            ((path, "--write-baseline"), "baseline"),
            ((self.dir,), "regular file"),
            (("/dev/zero",), "regular file"),
            (("merge", self.dir, "-o", self.at("m")), "plan.json"),
            (("report", self.at("nothere")), "no such folder"),
        ):
            self.assertIn(part, self.regress(*args, status=2).stderr, args)

    def test_seeds(self):
        """Lists, ranges and random numbers; random ones depend on the plan's seed and the test's name alone."""
        a = '[[test]]\nname = "a"\ncommand = ["echo", "{seed}"]\nseeds = { random = 5 }\n'
        b = '[[test]]\nname = "b"\ncommand = ["echo", "{seed}"]\nseeds = { from = 3, to = 5 }\n'
        c = '[[test]]\nname = "c"\ncommand = ["echo", "{seed}"]\nseeds = [9, 0]\n'
        def names(body, *args):
            return re.findall(r"^(\w+:\d+):", self.regress(self.plan(body), "--dry-run", *args).stdout, re.M)
        first = names(a + b + c)
        self.assertEqual(first[5:], ["b:3", "b:4", "b:5", "c:9", "c:0"])
        self.assertEqual(len(set(first)), 10)
        self.assertEqual([n for n in names(c + a) if n[0] == "a"], first[:5])
        self.assertNotEqual(names(a, "--seed", "2"), first[:5])
        self.assertEqual(names(a, "--seed", "1"), first[:5])
        other = names(a.replace('"a"', '"other"'))
        self.assertNotEqual([n.split(":")[1] for n in other], [n.split(":")[1] for n in first[:5]])

    def test_selection(self):
        """--only takes names and seeds, --label labels; --list names what would run."""
        path = self.plan('[[test]]\nname = "a"\nlabels = ["x"]\ncommand = ["true"]\nseeds = { from = 1, to = 12 }\n'
                         '[[test]]\nname = "b"\nlabels = ["y", "x"]\ncommand = ["true"]\n')
        self.assertIn("\n1 runs", self.regress(path, "--list", "--only", "a:1$").stdout)
        self.assertIn("\n1 runs", self.regress(path, "--list", "--label", "y").stdout)
        self.assertIn("\n13 runs", self.regress(path, "--list", "--label", "x").stdout)
        self.assertIn("7 runs of 13", self.regress(path, "--list", "--shard", "1/2").stdout)
        self.assertFalse(os.path.exists(self.at("out")))

    def test_placeholders(self):
        """Words and variables get seed, folder and program; a shell's own variables stay."""
        path = self.plan('[[test]]\nname = "a"\ncommand = ["sh", "-c", "echo $V {seed} ${dir} $RNIC_TEST_SEED {plan} > {dir}/o;'
                         ' {rnicsim} --version >> {dir}/o"]\nenv = { V = "v{seed}" }\nseeds = [7]\n'
                         '[[test]]\nname = "b"\ncommand = ["sh", "-c", "echo ${RNIC_TEST_SEED-none} > {dir}/o"]\n')
        self.regress(path, "-o", "out", env={"RNIC_TEST_SEED": "99"})
        o = self.read("out/runs/0000-a-s7/o").split()
        self.assertEqual(o[:4], ["v7", "7", "7", os.path.realpath(self.dir)])
        self.assertRegex(o[4], r"^\d+\.\d+")
        self.assertEqual(self.read("out/runs/0001-b/o"), "none\n")


ENDS = '''
[[test]]
name = "good"
command = ["true"]
[[test]]
name = "exit4"
command = ["sh", "-c", "echo 'error: value 17 is wrong'; exit 4"]
[[test]]
name = "crash"
command = ["sh", "-c", "kill -SEGV $$"]
[[test]]
name = "slow"
command = ["sh", "-c", "echo begin; sleep 100 & sleep 100"]
timeout_s = 0.3
[[test]]
name = "stubborn"
command = ["sh", "-c", "trap '' TERM; sleep 100; sleep 100"]
timeout_s = 0.3
[[test]]
name = "absent"
command = ["./no-such-program"]
[[test]]
name = "expected"
command = ["sh", "-c", "exit 4"]
expect = 4
[[test]]
name = "unexpected"
command = ["true"]
expect = 4
[[test]]
name = "usage"
command = ["rnicsim", "stages", "--size", "x"]
[[test]]
name = "check"
command = ["rnicsim", "stages", "--check", "--set", "gpu.read_latency=120"]
[[test]]
name = "hang"
command = ["rnicsim", "stages", "--max-sim-time", "1us"]
'''


class Ends(Base):
    def test_ends_are_told_apart(self):
        """Exit statuses, signals, time limits and programs that are not there have their own words and JUnit tags."""
        path = self.plan(ENDS, "grace_s = 0.3\njobs = 4")
        r = self.regress(path, "-o", "out", status=1)
        reasons = {f["run"]: f["reason"] for f in self.summary()["failures"]}
        self.assertEqual(reasons, {
            "exit4": "exit 4", "crash": "killed by SIGSEGV", "slow": "timeout after 0.3 s",
            "stubborn": "timeout after 0.3 s", "absent": "cannot be started", "unexpected": "exit 0 (4 was expected)",
            "usage": "exit 2, bad usage or input", "check": "exit 1, a check failed",
            "hang": "exit 3, hang or internal error"})
        self.assertEqual([n for n, o in self.outcomes().items() if o == "passed"], ["good", "expected"])
        root = self.junit()
        tags = {c.attrib["name"]: c[0].tag for c in root.iter("testcase") if len(c)}
        self.assertEqual({n for n, t in tags.items() if t == "failure"}, {"exit4", "unexpected", "check"})
        self.assertEqual(tags["crash"], "error")
        self.assertIn("error: value N is wrong", r.stdout)
        self.assertIn("No such file", r.stdout)

    def test_a_timeout_ends_the_whole_group(self):
        """Children of a run end with it: at its time limit, and those it leaves behind."""
        marker = f"{os.getpid()}271"
        path = self.plan(f'[[test]]\nname = "slow"\ntimeout_s = 0.3\ncommand = ["sh", "-c", "sleep {marker} & sleep {marker}"]\n'
                         f'[[test]]\nname = "left"\ncommand = ["sh", "-c", "sleep {marker} & true"]\n', "grace_s = 0.2")
        self.regress(path, "-o", "out", "--only", "slow", status=1)
        self.assertEqual(alive(marker), [])
        self.regress(path, "-o", "out", "--only", "left")
        self.assertEqual(alive(marker), [])

    def test_a_timeout_leaves_time_to_close_files(self):
        """SIGTERM comes first, to the whole group."""
        path = self.plan('[[test]]\nname = "a"\ntimeout_s = 0.3\ncommand = ["sh", "-c", "trap \'echo closed; exit 0\' TERM; '
                         'sleep 100 & wait"]\n', "grace_s = 30")
        self.regress(path, "-o", "out", status=1)
        self.assertEqual(self.outcomes(), {"a": "timeout"})
        self.assertIn("closed", self.read("out/runs/0000-a/log.txt"))

    def test_failures_are_grouped(self):
        """Failures that differ in numbers only are one group; the largest group comes first, its first failure leads."""
        path = self.plan('[[test]]\nname = "a"\nseeds = { from = 1, to = 6 }\ncommand = ["sh", "-c", '
                         '"test {seed} -le 2 && echo ERROR: {seed} apples && exit 1; test {seed} -le 5 && '
                         'echo ERROR: {seed}.5 pears && exit 1; exit 0"]\n')
        self.regress(path, "-o", "out", status=1)
        groups = self.summary()["groups"]
        self.assertEqual([(g["count"], g["runs"][0]) for g in groups], [(3, "a:3"), (2, "a:1")])
        html = self.read("out/report.html")
        self.assertLess(html.index("pears"), html.index("apples"))

    def test_limits_of_failures(self):
        """--max-failures starts no more; the rest is reported as not run, and can be gone on with."""
        path = self.plan('[[test]]\nname = "a"\nseeds = { from = 1, to = 9 }\ncommand = ["sh", "-c", "exit 1"]\n', "jobs = 1")
        r = self.regress(path, "-o", "out", "--max-failures", "2", status=1)
        self.assertEqual(self.summary()["totals"]["not_run"], 7)
        self.assertIn("--resume", r.stderr)
        self.assertEqual(self.junit().attrib["skipped"], "7")
        self.regress(path, "-o", "out", "--resume", status=1)
        self.assertEqual(self.summary()["totals"]["failed"], 9)

    def test_hostile_output(self):
        """Markup, control characters and bytes that are no text, in output and names, break neither XML nor HTML."""
        path = self.plan('[[test]]\nname = "a"\ncommand = ["sh", "-c", "printf \'error: <script>\\"&\\\\377\\\\033[31m]]>\\\\n\'; '
                         'exit 1", "<b>\\n&"]\n')
        self.regress(path, "-o", "out", status=1)
        self.junit()
        self.assertNotIn("<script", self.read("out/report.html"))
        replay = self.read("out/replay.txt")
        self.assertEqual(len(replay.splitlines()), 1)
        r = subprocess.run(["bash", "-c", replay], capture_output=True, check=False)
        self.assertEqual((r.returncode, r.stdout), (1, b'error: <script>"&\377\033[31m]]>\n'))


class Waves(Base):
    def test_only_failures_have_one(self):
        """A failed run is made again with a waveform, and stays failed."""
        path = self.plan('[[test]]\nname = "a"\nseeds = [1, 2]\ncommand = ["sh", "-c", "echo $1 >> {dir}/../calls-{seed}; '
                         'test $1 = none || echo w > {dir}/w.fst; exit $((2 - {seed}))", "-", "{trace}"]\nwave = "5:10"\n')
        self.regress(path, "-o", "out", status=1)
        self.assertEqual(self.read("out/runs/calls-2"), "none\n")
        self.assertEqual(self.read("out/runs/calls-1") + self.read("out/runs/0000-a-s1/calls-1"), "none\n5:10\n")
        f = self.summary()["failures"]
        self.assertEqual([x["waves"] for x in f], [["runs/0000-a-s1/wave/w.fst"]])
        self.assertTrue(os.path.exists(self.at("out", f[0]["waves"][0])))
        # Interrupted between the failure and its waveform: only that is made up for.
        lines = [x for x in self.read("out/results.jsonl").splitlines(keepends=True) if '"waves"' not in x]
        self.assertEqual(len(lines), 2)
        self.write("out/results.jsonl", "".join(lines))
        shutil.rmtree(self.at("out/runs/0000-a-s1/wave"))
        self.regress(path, "-o", "out", "--resume", status=1)
        self.assertTrue(os.path.exists(self.at("out", self.summary()["failures"][0]["waves"][0])))
        self.assertEqual(self.read("out/runs/calls-1"), "none\n")

    def test_passing_the_second_time_is_no_pass(self):
        """A run that fails once has failed; the report says that it is not deterministic."""
        path = self.plan('[[test]]\nname = "a"\ncommand = ["sh", "-c", "test $0 = none && exit 1; echo > {dir}/w.fst", "{trace}"]\n')
        self.regress(path, "-o", "out", status=1)
        self.assertIn("not deterministic", self.summary()["failures"][0]["wave_note"])
        self.assertEqual(self.outcomes(), {"a": "failed"})

    def test_a_crash_gets_a_whole_wave(self):
        """Where a window could not be written, the run is made again with a whole waveform."""
        path = self.plan('[[test]]\nname = "a"\ncommand = ["sh", "-c", "test $0 = full && echo > {dir}/w.fst; kill -ABRT $$", "{trace}"]\n')
        self.regress(path, "-o", "out", status=1)
        self.assertEqual(self.summary()["failures"][0]["waves"], ["runs/0000-a/wave/w.fst"])

    def test_rules(self):
        """Rules are checked over every run's waveform; the failed rule is the signature, and its wave is kept."""
        rules = self.write("rules.toml", RULES)
        path = self.plan('[[test]]\nname = "a"\ncommand = ["rnicsim", "stages", "-o", "{dir}", "--trace", "{trace}", "--size", '
                         f'"{{seed}}"]\nseeds = [64, 65536]\nrules = ["{rules}"]\n')
        self.regress(path, "-o", "out", status=1)
        s = self.summary()
        self.assertEqual(self.outcomes(), {"a:64": "passed", "a:65536": "rule"})
        self.assertIn("rule of rules.toml: over soon", s["groups"][0]["signature"])
        self.assertEqual(s["failures"][0]["waves"], ["runs/0001-a-s65536/wave.fst"])
        self.assertFalse(os.path.exists(self.at("out/runs/0000-a-s64/wave.fst")))
        self.assertTrue(os.path.exists(self.at("out/runs/0000-a-s64/result.json")))
        replay = self.read("out/replay.txt")
        r = subprocess.run(["bash", "-c", replay], capture_output=True, check=False, cwd=self.dir)
        self.assertEqual(r.returncode, 1)
        self.assertIn(b"failed", r.stdout)

    def test_rules_need_a_wave(self):
        """A run with rules that leaves no waveform fails."""
        rules = self.write("rules.toml", RULES)
        path = self.plan(f'[[test]]\nname = "a"\ncommand = ["true"]\nrules = ["{rules}"]\n')
        self.regress(path, "-o", "out", status=1)
        self.assertEqual(self.outcomes(), {"a": "rule"})


RULES = """
[defaults]
scope = "**rnic_top"
clock = "clk_i"
edge = "rising"
reset = "!rst_ni"
cycle = "TOP.cycle_i"
[[rule]]
kind = "always"
name = "over soon"
expr = "cycle_i < 9000"
"""


class Runs(Base):
    # 12 runs of which the odd ones fail; each is counted where no attempt removes it.
    BODY = ('[[test]]\nname = "a"\nseeds = { from = 1, to = 12 }\ncommand = ["sh", "-c", "echo >> {plan}/count-{seed}; sleep 0.15; '
            'echo error: odd {dir}/a $PWD/b; exit $(({seed} % 2))"]\n')
    QUICK = BODY.replace("sleep 0.15; ", "")

    def same_reports(self, a, b):
        self.assertEqual(without_wall(self.read(a, "report.html")), without_wall(self.read(b, "report.html")))
        self.assertEqual(without_wall_junit(self.read(a, "junit.xml")), without_wall_junit(self.read(b, "junit.xml")))
        self.assertEqual(self.read(a, "replay.txt"), self.read(b, "replay.txt"))
        s, t = self.summary(a), self.summary(b)
        s.pop("wall"), t.pop("wall")
        self.assertEqual(s, t)


class Interruption(Runs):
    def counts(self):
        out = {}
        for f in os.listdir(self.dir):
            if f.startswith("count-"):
                out[int(f[6:])] = self.read(f).count("\n")
        return out

    def interrupted(self, sig, status):
        path = self.plan(self.BODY, "jobs = 2")
        with subprocess.Popen([PROGRAM, "regress", path, "-o", "out"], cwd=self.dir, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as p:
            journal = self.at("out/results.jsonl")
            self.wait_for(lambda: os.path.exists(journal) and self.read("out/results.jsonl").count("\n") >= 4)
            p.send_signal(sig)
            _, err = p.communicate(timeout=30)
        self.assertEqual(p.returncode, status, err)
        kept = [json.loads(line)["name"] for line in self.read("out/results.jsonl").splitlines() if line.endswith("}")]
        self.assertGreaterEqual(len(kept), 4)
        self.assertLess(len(kept), 12)
        return path, kept, err

    def check_resumed(self, path, kept):
        before = self.counts()
        self.regress(path, "-o", "out", "--resume", status=1)
        after = self.counts()
        for name in kept:
            seed = int(name.split(":")[1])
            self.assertEqual(after[seed], before[seed], name)
        self.assertEqual(len(after), 12)
        self.regress(path, "-o", "whole", status=1)
        self.same_reports("out", "whole")

    def test_sigint(self):
        """SIGINT: children are gone, a report of what there is, the line that goes on; the resumed report is whole."""
        path, kept, err = self.interrupted(signal.SIGINT, 130)
        self.assertIn("--resume", err)
        self.assertEqual(self.summary()["totals"]["not_run"], 12 - len(kept))
        self.assertEqual(alive(self.dir), [])
        self.check_resumed(path, kept)

    def test_sigterm(self):
        """SIGTERM is the same."""
        self.check_resumed(*self.interrupted(signal.SIGTERM, 130)[:2])

    def test_kill(self):
        """SIGKILL: no finished result is lost, and no child goes on."""
        path, kept, _ = self.interrupted(signal.SIGKILL, -9)
        self.wait_for(lambda: alive(self.dir) == [], 5)
        self.assertIn("unfinished", self.regress(path, "-o", "out", status=2).stderr)
        self.check_resumed(path, kept)

    def test_orphans_of_a_killed_runner_end(self):
        """What a run has started ends with the runner, whatever ended that."""
        marker = f"{os.getpid()}314"
        path = self.plan(f'[[test]]\nname = "a"\ncommand = ["sh", "-c", "sleep {marker} & sleep {marker}"]\n')
        with subprocess.Popen([PROGRAM, "regress", path, "-o", "out"], cwd=self.dir, stderr=subprocess.DEVNULL) as p:
            self.wait_for(lambda: len(alive(marker)) >= 2)
            p.kill()
            p.wait()
        self.wait_for(lambda: alive(marker) == [], 5)

    def test_second_signal(self):
        """The second signal waits for nothing."""
        marker = f"{os.getpid()}159"
        path = self.plan(f'[[test]]\nname = "a"\ncommand = ["sh", "-c", "trap \'\' TERM; sleep {marker}; sleep {marker}"]\n', "grace_s = 60")
        with subprocess.Popen([PROGRAM, "regress", path, "-o", "out"], cwd=self.dir, stderr=subprocess.PIPE, text=True) as p:
            self.wait_for(lambda: alive(marker))
            p.send_signal(signal.SIGINT)
            self.assertIn("SIGINT", [p.stderr.readline() for _ in range(2)][1])
            p.send_signal(signal.SIGINT)
            p.communicate(timeout=10)
        self.assertEqual(p.returncode, 130)
        self.wait_for(lambda: alive(marker) == [], 5)

    def test_half_a_line(self):
        """Half a line at the journal's end is a run to make again; a damaged line before good ones is named."""
        path = self.plan(self.QUICK)
        self.regress(path, "-o", "out", status=1)
        whole = self.read("out/results.jsonl")
        for tail in ('{"run":3,"name"', "\0" * 100, '{"run": 3}\n'):
            lines = whole.splitlines(keepends=True)
            self.write("out/results.jsonl", "".join(lines[:8]) + tail)
            self.regress(path, "-o", "out", "--resume", status=1)
            self.assertEqual(self.read("out/results.jsonl").count("\n"), 12)
            self.assertEqual(self.summary()["totals"]["not_run"], 0)
        self.write("out/results.jsonl", "garbage\n" + whole)
        self.assertIn("results.jsonl:1", self.regress(path, "-o", "out", "--resume", status=2).stderr)
        self.write("out/plan.json", "{")
        self.assertIn("plan.json", self.regress(path, "-o", "out", "--resume", status=2).stderr)
        self.regress(path, "-o", "out", "--fresh", status=1)

    def test_a_changed_plan_is_not_mixed(self):
        """Results of another plan, seed or selection are not gone on with."""
        path = self.plan(self.BODY)
        self.regress(path, "-o", "out", "--fail-fast", "-j", "1", status=1)
        for args in (("--seed", "2"), ("--only", "a:1"), ("--shard", "1/2")):
            self.assertIn("--fresh", self.regress(path, "-o", "out", "--resume", *args, status=2).stderr)
        path = self.plan(self.BODY.replace("odd", "strange"))
        self.assertIn("--fresh", self.regress(path, "-o", "out", "--resume", status=2).stderr)
        self.regress(path, "-o", "out", "--fresh", status=1)
        # A finished one makes room by itself; somebody else's folder does not.
        self.regress(path, "-o", "out", status=1)
        os.makedirs(self.at("other/runs"))
        self.assertIn("not a regression's folder", self.regress(path, "-o", "other", status=2).stderr)

    def test_one_at_a_time(self):
        """Two regressions do not share a folder."""
        path = self.plan('[[test]]\nname = "a"\ncommand = ["sleep", "100"]\n')
        with subprocess.Popen([PROGRAM, "regress", path, "-o", "out"], cwd=self.dir, stderr=subprocess.DEVNULL) as p:
            self.wait_for(lambda: os.path.exists(self.at("out/results.jsonl")))
            self.assertIn("in use", self.regress(path, "-o", "out", "--resume", status=2).stderr)
            p.terminate()
            self.assertEqual(p.wait(timeout=20), 130)


class Shards(Runs):
    def test_merged_equals_one_run(self):
        """Shards that ran in other folders make the report of one run."""
        path = self.plan(self.QUICK)
        self.regress(path, "-o", "whole", status=1)
        for i in (1, 2, 3):
            machine = self.at(f"machine{i}")
            os.makedirs(machine)
            shutil.copy(path, machine)
            self.regress(os.path.join(machine, "plan.toml"), "--shard", f"{i}/3", "-o", self.at(f"s{i}"), "--seed", "1", status=1,
                         cwd=machine)
        self.assertEqual(sorted(f for i in (1, 2, 3) for f in os.listdir(self.at(f"machine{i}")) if f.startswith("count-")),
                         sorted(f"count-{seed}" for seed in range(1, 13)))
        self.regress("merge", "s3", "s1", "s2", "-o", "out", status=1)
        self.same_reports("out", "whole")
        for f in self.summary()["failures"]:
            self.assertTrue(os.path.exists(self.at("out", f["log"])))
        self.regress("report", "out", status=1)
        self.same_reports("out", "whole")

    def test_shards_that_do_not_fit(self):
        """Missing, doubled, unfinished and foreign shards are refused by name; --partial takes what there is."""
        path = self.plan(self.QUICK)
        for i in (1, 2, 3):
            self.regress(path, "--shard", f"{i}/3", "-o", f"s{i}", status=1)
        self.assertIn("2/3", self.regress("merge", "s1", "s3", "-o", "m", status=2).stderr)
        self.assertIn("so is", self.regress("merge", "s1", "s2", "s3", "s1", "-o", "m", status=2).stderr)
        self.assertIn("-o", self.regress("merge", "s1", "s2", "s3", "-o", "s1", status=2).stderr)
        self.regress(path, "--shard", "2/3", "--seed", "5", "-o", "other", status=1)
        self.assertIn("another plan", self.regress("merge", "s1", "other", "s3", "-o", "m", status=2).stderr)
        self.regress(path, "--shard", "1/2", "-o", "half", status=1)
        self.assertIn("1/2", self.regress("merge", "s1", "half", "-o", "m", status=2).stderr)
        lines = self.read("s2/results.jsonl").splitlines(keepends=True)
        self.write("s2/results.jsonl", "".join(lines[:-1]) + lines[-1][:20])
        self.assertIn("unfinished", self.regress("merge", "s1", "s2", "s3", "-o", "m", status=2).stderr)
        self.assertFalse(os.path.exists(self.at("m")))
        self.regress("merge", "s1", "s2", "--partial", "-o", "m", status=1)
        self.assertEqual(self.summary("m")["totals"]["not_run"], 5)

    def test_more_shards_than_runs(self):
        """A shard without runs is good."""
        path = self.plan('[[test]]\nname = "a"\ncommand = ["true"]\n')
        self.regress(path, "--shard", "1/2", "-o", "s1")
        self.regress(path, "--shard", "2/2", "-o", "s2")
        self.regress("merge", "s1", "s2", "-o", "out")


METRIC = ('[[test]]\nname = "a"\nseeds = [1, 2]\ncommand = ["sh", "-c", "echo {{ \\"x\\": [{value}] }} | tr : , > /dev/null; '
          'printf \'{{\\"x\\": [%s]}}\' $(({value} + {{seed}})) > {{dir}}/result.json"]\n'
          'metrics = {{ lat = {{ pointer = "/x/0", unit = "ns", {more} }} }}\n')


class Metrics(Base):
    def metric(self, value, more, head='baseline = "base.toml"'):
        return self.plan(METRIC.format(value=value, more=more), head)

    def one(self):
        return self.summary()["metrics"][0]

    def test_baseline(self):
        """A value off the baseline fails the regression with a case of its own; the right side of it does not."""
        self.write("base.toml", '"a.lat" = 102\n')
        self.regress(self.metric(100, 'better = "lower"'), "-o", "out")
        self.assertEqual(self.one()["state"], "good")
        self.regress(self.metric(101, 'better = "lower"'), "-o", "out", status=1)
        self.assertEqual((self.one()["state"], self.one()["value"]), ("worse", 103))
        case = [c for c in self.junit().iter("testcase") if c.attrib["classname"] == "p.metrics"]
        self.assertEqual([(c.attrib["name"], c[0].tag) for c in case], [("a.lat", "failure")])
        self.regress(self.metric(90, 'better = "lower"'), "-o", "out")
        self.assertEqual(self.one()["state"], "better")
        self.regress(self.metric(90, 'better = "higher"'), "-o", "out", status=1)
        self.regress(self.metric(101, 'better = "lower", tolerance = 1'), "-o", "out")
        self.regress(self.metric(102, 'better = "lower", tolerance = 1'), "-o", "out", status=1)
        self.regress(self.metric(151, 'better = "lower", tolerance_percent = 50'), "-o", "out")
        self.regress(self.metric(152, 'better = "lower", tolerance_percent = 50'), "-o", "out", status=1)
        self.regress(self.metric(100, 'better = "equal", tolerance = 1'), "-o", "out")
        self.regress(self.metric(100, 'better = "equal"'), "-o", "out", status=1)

    def test_writing_the_baseline(self):
        """--write-baseline writes what the next one is compared with, and only what is right."""
        path = self.metric(100, 'better = "lower"')
        self.assertIn("base.toml", self.regress(path, "-o", "out", status=2).stderr)
        self.regress(path, "-o", "out", "--write-baseline")
        self.assertIn('"a.lat" = 102', self.read("base.toml"))
        self.regress(path, "-o", "out")
        self.write("base.toml", '"a.lta" = 102\n')
        self.assertIn("a.lat", self.regress(path, "-o", "out", status=2).stderr)
        self.write("base.toml", "")
        self.regress(path, "-o", "out", status=1)
        self.assertEqual(self.one()["state"], "missing")

    def test_a_missing_value_fails_the_run(self):
        """No file, no JSON, no such key, no number."""
        for text in ("", "[", "{}", '{"x": ["7"]}'):
            self.write("r.json", text)
            path = self.plan('[[test]]\nname = "a"\ncommand = ["cp", "{plan}/r.json", "{dir}/result.json"]\n'
                             'metrics = { lat = { pointer = "/x/0" } }\n')
            self.regress(path, "-o", "out", status=1)
            self.assertEqual(self.outcomes(), {"a": "metric"}, text)

    def test_history(self):
        """Newly failing, fixed, still failing; a metric that moved since the last good one; trends; others' files."""
        body = '[[test]]\nname = "f"\nseeds = { from = 1, to = 4 }\ncommand = ["sh", "-c", "case {seed} in %s) echo error: %s; exit 1;; esac"]\n'
        def go(failing, word, value, status):
            time.sleep(0.05)
            path = self.plan(body % (failing, word) + METRIC.format(value=value, more='check = "last", better = "lower"'))
            return self.regress(path, "-o", "out", "--history", "h", status=status)
        go("1|2", "old", 100, 1)
        self.write("h/other.json", '{"kind": 3}')
        self.write("h/torn.json", '{"kind": "rnicsim regress summary", "schema_version": 1')
        self.assertIn("torn.json", go("2|3", "old", 100, 1).stderr)
        h = self.summary()["history"]
        self.assertEqual((h["newly_failing"], h["still_failing"], h["fixed"]), (["f:3"], ["f:2"], ["f:1"]))
        go("9", "new", 105, 1)
        self.assertEqual([m["state"] for m in self.summary()["metrics"]], ["worse"])
        h = self.summary()["history"]
        self.assertEqual(h["fixed"], ["f:2", "f:3"])
        self.assertEqual(len(h["signatures_gone"]), 1)
        go("9", "new", 105, 1)  # what was refused is no measure
        go("9", "new", 99, 0)
        self.assertEqual(self.summary()["history"]["regressions"], 4)
        self.assertEqual(self.read("out/report.html").count("<circle"), 5 + 5)
        before = sorted(os.listdir(self.at("h")))
        self.regress("report", "out", "--history", "h")
        self.assertEqual(sorted(os.listdir(self.at("h"))), before)
        self.assertEqual(self.summary()["history"]["regressions"], 4)
        self.regress(self.at("plan.toml"), "-o", "out", "--history", "h", "--no-record")
        self.assertEqual(sorted(os.listdir(self.at("h"))), before)


class Parts(Base):
    def test_test_plans(self):
        """Behaviours whose tests all passed are shown; failed, partly and not run are told apart."""
        self.write("tp.md", "| behaviour | how | tests |\n|---|---|---|\n| A | x | `good` |\n| B | x | `bad` |\n| C | x | `good`, `gone` |\n"
                            "| D | x | `gone` |\n| E | x | |\n")
        path = self.plan('[[test]]\nname = "good"\ncommand = ["true"]\n[[test]]\nname = "bad"\ncommand = ["false"]\n',
                         'testplans = ["tp.md"]')
        self.regress(path, "-o", "out", status=1)
        self.assertEqual([b["state"] for b in self.summary()["testplans"]], ["passed", "failed", "partly", "not run", "no test"])

    def test_coverage(self):
        """Each run has a folder for its counts; the tool gets those that hold some, once; its failure is one."""
        tool = self.write("tool", '#!/bin/sh\necho "$@" > {}\ncat "$1"/*.dat\nexit $FAIL\n'.format(self.at("args")))
        os.chmod(tool, 0o755)
        path = self.plan('[[test]]\nname = "a"\nseeds = [1, 2, 3]\ncommand = ["sh", "-c", "test {seed} = 2 && echo > $RNICSIM_COVERAGE_DIR/x.txt || echo {seed} > $RNICSIM_COVERAGE_DIR/x.dat"]\n',
                         f'coverage = true\ncoverage_tool = "{tool}"')
        self.regress(path, "-o", "out", env={"FAIL": "0"})
        args = self.read("args").split()
        self.assertEqual([os.path.basename(os.path.dirname(a)) for a in args[:2]], ["0000-a-s1", "0002-a-s3"])
        self.assertEqual(args[2:], ["-o", self.at("out", "coverage")])
        r = self.regress(path, "-o", "out", env={"FAIL": "1"}, status=1)
        self.assertEqual(self.junit().attrib["errors"], "1")
        self.assertIn("tool ended with 1", r.stdout)

    def test_ctest(self):
        """Tests of a CTest build directory, each a run of its own, with seeds in the environment."""
        self.write("CTestTestfile.cmake", 'add_test(good "true")\nset_tests_properties(good PROPERTIES LABELS "l1")\n'
                   'add_test("odd (1)" "sh" "-c" "echo error: seed $RNIC_TEST_SEED; exit $((RNIC_TEST_SEED % 2))")\n'
                   'add_test(skipped "false")\nset_tests_properties(skipped PROPERTIES LABELS "l2")\n')
        path = self.plan('[[ctest]]\nbuild = "."\nexclude_label = "l2"\nseeds = [4, 5]\n')
        self.regress(path, "-o", "out", status=1)
        self.assertEqual(self.outcomes(), {"good:4": "passed", "good:5": "passed", "odd (1):4": "passed", "odd (1):5": "failed"})
        replay = self.read("out/replay.txt")
        self.assertIn("RNIC_TEST_SEED=5 ctest", replay)
        r = subprocess.run(["bash", "-c", replay], capture_output=True, check=False, cwd=self.dir)
        self.assertNotEqual(r.returncode, 0)
        self.assertIn(b"error: seed 5", r.stdout)
        self.assertIn("error: seed N", self.summary()["groups"][0]["signature"])
        self.assertIn("no test", self.regress(self.plan('[[ctest]]\nbuild = "."\ninclude = "zzz"\n'), "-o", "out", status=2).stderr)

    def test_our_plans(self):
        """The plans that come with the project can be read, and their tests are there."""
        for name, args in (("ci", ()), ("nightly", ("--build", os.environ["RNICSIM_BUILD"]))):
            self.assertIn(" runs", self.regress(os.path.join(SOURCE, f"sim/plans/{name}.toml"), "--list", *args).stdout)

    def test_our_ci_plan_sees_one_cycle(self):
        """The project's own plan fails when the reference is one cycle longer than its baseline. The baseline is this
        build's: another block's depth is no fault here. CTest's `regress_ci` compares with the committed one."""
        text = self.read_source("sim/plans/ci.toml")
        text = text[: text.index("[[test]]", text.index("[[test]]") + 1)]  # the reference alone
        text = text.replace("baseline = ", 'baseline = "now.toml"  # ')
        text = re.sub(r"^rules = \[.*?\]\n", "", text, flags=re.M | re.S)
        text = text.replace('cwd = "../.."', f'cwd = "{SOURCE}"').replace('"--check", "-o"', '"--set", "mac.tx_latency=40", "-o"')
        self.regress(self.write("now.plan.toml", text), "-o", "out", "--write-baseline")
        before = float(re.search(r'"reference.doorbell_to_mac" = ([\d.]+)', self.read("now.toml"))[1])
        text = text.replace("mac.tx_latency=40", "mac.tx_latency=41")
        r = self.regress(self.write("longer.toml", text), "-o", "out", status=1)
        moved = f"{before + 1:g} ns, expected {before:g}"
        self.assertIn(f"metric reference.doorbell_to_mac: {moved}", r.stdout)
        self.assertIn(moved, self.read("out/report.html"))
        self.assertRegex(self.read("out/replay.txt"), "mac.tx_latency=41 .* --trace full")

class Acceptance(Runs):
    def test_200_runs(self):
        """200 seeded runs on two cores, one made to fail: JUnit, page, replay line and waveform window are right; the same
        from two shards, and after kill -9."""
        path = self.plan('[[test]]\nname = "phases"\nlabels = ["stages"]\nseeds = { from = 1, to = 200 }\ncommand = ["sh", "-c", '
                         '"case {seed} in 137) slow=99;; *) slow=86;; esac; exec {rnicsim} stages --check --phase random '
                         '--seed {seed} --set gpu.read_latency=$slow -o {dir} --trace {trace}"]\nwave = "last:100"\n', "jobs = 2")
        begun = time.time()
        r = self.regress(path, "-o", "out", status=1)
        print(f"200 runs: {time.time() - begun:.1f} s", flush=True)
        s = self.summary()
        self.assertEqual((s["totals"]["runs"], s["totals"]["passed"], s["totals"]["failed"]), (200, 199, 1))
        f = s["failures"][0]
        self.assertEqual((f["run"], f["seed"], f["outcome"]), ("phases:137", 137, "failed"))
        self.assertIn("check 'DMA read' failed", f["message"])
        failed = [c for c in self.junit().iter("testcase") if len(c)]
        self.assertEqual(len(failed), 1)
        self.assertEqual(failed[0].attrib["name"], "phases seed 137")
        for part in ("seed: 137", f["replay"], f["log"], f["waves"][0]):
            self.assertIn(part, failed[0][0].text)
            if part != "seed: 137":
                self.assertIn(part if part != f["replay"] else "seed 137", self.read("out/report.html"))
        self.assertIn(f["replay"], r.stdout)
        # The window is the last 100 cycles, and not the whole run.
        with open(self.at("out", os.path.dirname(f["waves"][0]), "result.json"), encoding="utf-8") as g:
            window = re.search(r"--trace ([\d.]+):([\d.]+)", json.load(g)["command"])
        self.assertAlmostEqual(float(window[2]) - float(window[1]), 100)
        self.assertGreater(os.path.getsize(self.at("out", f["waves"][0])), 1000)
        # The replay line makes the same failure, with the waveform.
        again = subprocess.run(["bash", "-c", f["replay"]], cwd=self.dir, capture_output=True, text=True, check=False)
        self.assertEqual(again.returncode, 1)
        self.assertIn(f["message"], again.stderr)
        self.assertTrue(os.path.exists(self.at("replay/0136-phases-s137/wave.fst")))
        # Killed in the middle and resumed; in two shards, merged.
        with subprocess.Popen([PROGRAM, "regress", path, "-o", "cut"], cwd=self.dir, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as p:
            self.wait_for(lambda: os.path.exists(self.at("cut/results.jsonl")) and self.read("cut/results.jsonl").count("\n") > 60)
            p.kill()
            p.wait()
        kept = self.read("cut/results.jsonl").count("\n")
        self.assertLess(kept, 200)
        r = self.regress(path, "-o", "cut", "--resume", status=1)
        self.assertIn(f"resuming: {kept} of 200", r.stderr)
        self.regress(path, "-o", "s1", "--shard", "1/2", status=1)
        self.regress(path, "-o", "s2", "--shard", "2/2", status=0)
        self.regress("merge", "s1", "s2", "-o", "merged", status=1)
        for other in ("cut", "merged"):
            self.same_reports("out", other)


if __name__ == "__main__":
    unittest.main()
