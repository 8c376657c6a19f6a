# SPDX-License-Identifier: Apache-2.0
"""rnicsim profile validate and rnicsim load-bench as their users see them. CTest gives the program in RNICSIM."""

import json
import os
import re
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["RNICSIM"]
SOURCE = os.environ["RNICSIM_SOURCE"]

HEAD = """profile = "mine"
[[source]]
name = "us"
title = "a bench"
where = "here"
hardware = "this"
method = "that"
checked = "primary"
[[run]]
name = "loads"
command = ["load-bench", "-n", "5"]
set = ["pcie.topology=PIX"]
[[run]]
name = "loads, SYS"
command = ["load-bench", "LD_GPU_HOST", "-n", "5"]
set = ["pcie.topology=SYS"]
"""

PROFILE = """name = "mine"
description = "of a test"
extends = "seed-400g"
fitted_to = "a test"
targets = ["load"]
[keys]
"pcie.socket_latency" = { value = 70, unit = "ns", kind = "fitted", source = "a test" }
"""


def figure(name, value, terms, use="held out", unit="ns", more=""):
    ours = ", ".join(f'{{ run = "{r}", figure = "{f}", times = {t} }}' for r, f, t in terms)
    return (f'[[figure]]\nname = "{name}"\nsource = "us"\nwhat = "w"\nunit = "{unit}"\nvalue = {value}\n'
            f'quote = "q"\nuse = "{use}"\n{more}ours = [{ours}]\n')


GPU_HOST = "load_bench.LD_GPU_HOST 64 B.latency.p50_ns"
SOCKET = [("loads, SYS", GPU_HOST, 1), ("loads", GPU_HOST, -1)]


def run(*args):
    return subprocess.run([PROGRAM, *args], capture_output=True, text=True, timeout=500, check=False)


class Own(unittest.TestCase):
    """Published figures of a test, that are known to the picosecond."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        profile = PROFILE
        # What seed-400g was fitted to is nothing to this file.
        for key in ("gpu.read_latency", "gpu.signal_latency", "gpu.copy_start_latency", "host.context_switch",
                    "host.copy_launch_cost", "devmem.read_latency", "mac.tx_latency"):
            profile += f'"{key}" = {{ value = 100, unit = "ns", kind = "assumed", source = "a test" }}\n'
        self.profile = self.write("mine.toml", profile)

    def write(self, name, text):
        path = os.path.join(self.folder.name, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def validate(self, figures, *args):
        return run("profile", "validate", self.profile, "--figures", self.write("f.toml", HEAD + figures), *args)

    def test_known_errors_come_out(self):
        figures = (figure("socket", 140, SOCKET, "fitted", more='keys = ["pcie.socket_latency"]\n') +
                   figure("half of it", 280, SOCKET, more="lo = 200\nhi = 300\n"))
        r = self.validate(figures, "--json", "--check")
        self.assertEqual(r.returncode, 1, r.stdout)  # the link between the sockets takes its time, too
        one, two = json.loads(r.stdout)["validation"]["figures"]
        self.assertGreater(one["ours"], 140)
        self.assertLess(one["ours"], 147)
        self.assertAlmostEqual(one["error_percent"], (one["ours"] / 140 - 1) * 100, 9)
        self.assertAlmostEqual(two["error_percent"], (one["ours"] / 280 - 1) * 100, 9)
        self.assertEqual([one["use"], two["use"]], ["fitted", "held out"])
        self.assertNotIn("inside_published_range", one)
        self.assertFalse(two["inside_published_range"])
        r = self.validate(figures.replace("value = 140", f"value = {one['ours']}"), "--check")
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertIn("pcie.socket_latency = 70 ns", r.stdout)
        self.assertIn("+0.0 %", r.stdout)

    def test_a_key_that_is_tried_out_moves_its_figure(self):
        figures = figure("socket", 140, SOCKET, "fitted", more='keys = ["pcie.socket_latency"]\n')
        a, b = (json.loads(self.validate(figures, "--json", *x).stdout)["validation"]["figures"][0]["ours"]
                for x in ((), ("--set", "pcie.socket_latency=83")))
        self.assertAlmostEqual(b - a, 26, 6)

    def test_runs_that_fail_and_figures_that_are_missing_are_named(self):
        r = self.validate(figure("no such", 1, [("loads", "load_bench.LD_GPU_HOST 65 B.latency.p50_ns", 1)]) +
                          figure("no such run", 1, [("bad", GPU_HOST, 1)]))
        self.assertEqual(r.returncode, 2)  # a run that the file does not have
        figures = ('[[run]]\nname = "bad"\ncommand = ["load-bench", "-s", "65"]\n' +
                   figure("no such", 1, [("loads", "load_bench.LD_GPU_HOST 65 B.latency.p50_ns", 1)]) +
                   figure("failed", 1, [("bad", GPU_HOST, 1)]) +
                   figure("socket", 140, SOCKET, "fitted", more='keys = ["pcie.socket_latency"]\n'))
        r = self.validate(figures, "--json")
        self.assertEqual(r.returncode, 1)
        j = json.loads(r.stdout)["validation"]
        self.assertIn("nearest", j["figures"][0]["error"])
        self.assertIn("out of range", j["figures"][1]["error"])
        self.assertEqual([j["fitted"]["count"], j["held_out"]["count"]], [1, 0])
        self.assertIn("no such", r.stderr)

    def test_bad_files(self):
        good = figure("f", 100, SOCKET, "fitted", more='keys = ["pcie.socket_latency"]\n')
        for text, word in ((good.replace("value = 100", "value = -1"), "value"),
                           (good.replace("value = 100", "value = 1e300"), "value"),
                           (good.replace('quote = "q"\n', ""), "quote"),
                           (good.replace('unit = "ns"', 'unit = "furlong"'), "ns, Gb/s, M/s"),
                           (good.replace("pcie.socket_latency", "pcie.socket_latenzy"), "pcie.socket_latenzy"),
                           (good.replace("pcie.socket_latency", "pcie.root_latency"), "said to be fitted"),
                           (good.replace('"fitted"', '"held out"').replace('keys = ["pcie.socket_latency"]\n', ""),
                            "is fitted, but no figure"),
                           (good[:60], ""), ("", "figure"), ("x = [", "TOML"),
                           ('[[run]]\nname = "r"\ncommand = ["sweep", "--", "stages"]\n' + good, "command"),
                           ('[[run]]\nname = "r"\ncommand = ["stages", "-o", "/tmp/x"]\n' + good, "-o")):
            r = self.validate(text)
            self.assertEqual(r.returncode, 2, (text, r.stderr))
            self.assertIn(word, r.stderr)
            self.assertRegex(r.stderr, r"\.toml:\d+|\.toml: ")
            self.assertEqual(r.stdout, "")
        for args, word in ((("--figures", "/nowhere.toml"), "/nowhere.toml"), (("--only", "zzz"), "no figure"),
                           (("seed-400g",), "no published figures")):
            r = run("profile", "validate", *args)
            self.assertEqual(r.returncode, 2, r.stderr)
            self.assertIn(word, r.stderr)

    def test_another_profile_has_nothing_fitted(self):
        f = self.write("f.toml", HEAD + figure("f", 100, SOCKET, "fitted", more='keys = ["pcie.socket_latency"]\n'))
        r = run("profile", "validate", "seed-400g", "--figures", f, "--json", "--check")
        self.assertEqual(r.returncode, 0, r.stderr)
        j = json.loads(r.stdout)["validation"]
        self.assertEqual([j["fitted"]["count"], j["held_out"]["count"]], [0, 1])

    def test_folder_holds_plot_and_runs(self):
        out = os.path.join(self.folder.name, "out")
        r = self.validate(figure("f", 100, SOCKET, "fitted", more='keys = ["pcie.socket_latency"]\n'), "-o", out)
        self.assertEqual(r.returncode, 0, r.stderr)
        with open(os.path.join(out, "validation.html"), encoding="utf-8") as f:
            html = f.read()
        self.assertIn("<svg", html)
        self.assertIn("a bench", html)
        with open(os.path.join(out, "validation.json"), encoding="utf-8") as f:
            self.assertEqual(json.load(f)["subcommand"], "profile validate")
        self.assertEqual(len(os.listdir(os.path.join(out, "runs"))), 2)


class BuiltIn(unittest.TestCase):
    """The published figures of gen5-measured."""

    def test_every_figure_is_compared_and_the_page_says_what_comes_out(self):
        r = run("profile", "validate", "gen5-measured", "--check", "--json")
        self.assertEqual(r.returncode, 0, r.stderr)
        j = json.loads(r.stdout)["validation"]
        self.assertEqual([f["name"] for f in j["figures"] if f["ours"] is None], [])
        self.assertGreater(j["held_out"]["count"], 3 * j["fitted"]["count"])
        with open(os.path.join(SOURCE, "docs", "calibration.md"), encoding="utf-8") as f:
            page = f.read()
        rows = dict((m[1].strip(), (m[2], float(m[3])))
                    for m in re.finditer(r"^(.+?)  +(fitted|held out)  .*?([+-]\d+\.\d) %", page, re.M))
        self.assertEqual(sorted(rows), sorted(f["name"] for f in j["figures"]))
        for f in j["figures"]:
            use, error = rows[f["name"]]
            self.assertEqual(use, f["use"], f["name"])
            self.assertAlmostEqual(error, f["error_percent"], delta=1, msg=f["name"])

    def test_list_runs_nothing(self):
        r = run("profile", "validate", "--list", "--only", "BW_RD 64 B")
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertEqual(r.stdout.count("\n"), 1)
        self.assertIn("pcie-bench BW_RD", r.stdout)


class Loads(unittest.TestCase):
    def test_parts_add_up(self):
        r = run("load-bench", "--profile", "gen5-measured", "-n", "9", "--json")
        self.assertEqual(r.returncode, 0, r.stderr)
        j = json.loads(r.stdout)
        self.assertEqual([b["op"] for b in j["load_bench"]], ["LD_CPU_GPU", "LD_GPU_HOST", "PINGPONG"])
        for b in j["load_bench"]:
            self.assertAlmostEqual(sum(p["duration_ns"] for p in b["parts"]), b["latency"]["p50_ns"], 3)
            self.assertIn("pcie.switch_latency", [p["key"] for p in b["parts"]])

    def test_refused(self):
        for args, word in ((("-s", "0"), "--size"), (("-s", "65"), "--size"), (("-n", "0"), "--transfers"),
                           (("LD_NIC",), "LD_CPU_GPU"), (("--trace", "full"), "--trace"),
                           (("LD_CPU_GPU", "--set", "gpu.bar_reads=0"), "gpu.bar_reads")):
            r = run("load-bench", *args)
            self.assertEqual(r.returncode, 2, (args, r.stderr))
            self.assertIn(word, r.stderr)
        r = run("load-bench", "--set", "gpu.bar_reads=0", "-n", "2")
        self.assertEqual(r.returncode, 0, r.stderr)


if __name__ == "__main__":
    unittest.main()
