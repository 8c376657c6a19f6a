#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rnicsim pcie-bench from the outside: files, figures, bad options."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

RNICSIM = os.environ["RNICSIM"]
ENV = {**os.environ, "RNICSIM_PROFILES": os.environ["RNICSIM_SOURCE"] + "/sim/profiles"}


def run(*args):
    return subprocess.run([RNICSIM, "pcie-bench", *args], capture_output=True, text=True, env=ENV, timeout=120)


class PcieBench(unittest.TestCase):
    def test_files_and_figures(self):
        with tempfile.TemporaryDirectory() as d:
            p = run("-s", "64,512", "-n", "900", "-o", d)
            self.assertEqual(p.returncode, 0, p.stderr)
            for name in ("result.json", "report.html", "tlp.log", "profile.toml"):
                self.assertTrue((pathlib.Path(d) / name).is_file(), name)
            points = json.loads((pathlib.Path(d) / "result.json").read_text())["pcie_bench"]
        self.assertEqual(len(points), 12)
        self.assertEqual(len({x["name"] for x in points}), 12)
        for x in points:
            if "latency" in x:
                self.assertAlmostEqual(sum(q["duration_ns"] for q in x["parts"]), x["latency"]["p50_ns"], places=6)
                self.assertIsNone(x["latency"]["p999_ns"])  # 900 transfers can't tell
            else:
                self.assertGreater(x["ratio"], 0.9)
                self.assertLess(x["ratio"], 1.05)

    def test_bad_options(self):
        for args, named in ((["FOO"], "FOO"), (["-s", "0"], "--size"), (["-s", "4097"], "--size"), (["-s", "1:4096"], "size"),
                            (["--offset", "64"], "--offset"), (["-n", "0"], "--transfers"), (["--window", "10"], "--window"),
                            (["-s", "4k", "--window", "64"], "--window"), (["--outstanding", "-1"], "--outstanding"),
                            (["--mem", "x"], "mem"), (["--vs", "nope"], "--vs"), (["--topology", "XYZ"], "--topology")):
            p = run(*args)
            self.assertEqual(p.returncode, 2, (args, p.stderr))
            self.assertIn(named, p.stderr)

    def test_distances(self):
        p = run("LAT_RD", "-s", "64", "-n", "5", "--topology", "PIX,SYS", "--json")
        self.assertEqual(p.returncode, 0, p.stderr)
        near, far = json.loads(p.stdout)["topologies"]
        self.assertLess(near["pcie_bench"][0]["latency"]["p50_ns"], far["pcie_bench"][0]["latency"]["p50_ns"])


if __name__ == "__main__":
    unittest.main()
