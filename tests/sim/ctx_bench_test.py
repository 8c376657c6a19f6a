#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rnicsim ctx-bench from the outside: the edge of each cache, figures that add up, files, bad options."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

RNICSIM = os.environ["RNICSIM"]
ENV = {**os.environ, "RNICSIM_PROFILES": os.environ["RNICSIM_SOURCE"] + "/sim/profiles"}


def run(*args):
    return subprocess.run([RNICSIM, "ctx-bench", *args], capture_output=True, text=True, env=ENV, timeout=300)


def result(test, *args):
    p = run(*args, "--json")
    test.assertEqual(p.returncode, 0, p.stderr)
    return json.loads(p.stdout)["ctx_bench"]


class CtxBench(unittest.TestCase):
    def test_edge_of_the_qp_cache(self):
        r = result(self, "--qps", "16,256,257,320", "-n", "1")
        entries = r["entries"]["qp"]
        self.assertEqual(entries, 256)
        for p in r["points"]:
            n = p["qps"]
            # In turn, those of a slot drive each other out; the others stay.
            want = 2 * max(0, n - entries)
            self.assertEqual(p["misses"], {"qp": want, "mr": 0, "cq": 0})
            self.assertEqual(p["predicted_misses"]["qp"], want)
            mean = r["hit"]["first_bit_ns"] + want / n * r["miss"]["qp"]["first_bit_ns"]
            self.assertAlmostEqual(p["first_bit"]["mean_ns"], mean, delta=2)
            self.assertAlmostEqual(p["expected"]["first_bit_ns"], mean, places=6)
        self.assertGreater(r["miss"]["qp"]["first_bit_ns"], 31)
        self.assertAlmostEqual(r["points"][0]["first_bit"]["max_ns"], r["hit"]["first_bit_ns"], delta=1.5)

    def test_all_kinds_and_random_order(self):
        r = result(self, "--qps", "66", "--own", "qp,mr,cq", "--order", "random", "--seed", "7", "-n", "2")
        p = r["points"][0]
        self.assertEqual(p["messages"], 132)
        self.assertEqual(p["misses"]["qp"], 0)
        self.assertEqual(p["misses"], p["predicted_misses"])
        self.assertGreater(p["misses"]["mr"], 0)
        self.assertGreater(p["misses"]["cq"], 0)
        self.assertAlmostEqual(p["cqe"]["mean_ns"], p["expected"]["cqe_ns"], delta=2)
        # A CQ's context is looked at behind the frame.
        self.assertLess(abs(r["miss"]["cq"]["first_bit_ns"]), 2)
        self.assertGreater(r["miss"]["cq"]["cqe_ns"], 31)

    def test_ddr_behind_a_small_l2(self):
        small = ("--set", "devmem.l2_size=4096", "--set", "devmem.ddr_latency=300")
        r = result(self, "--qps", "1,272", "-n", "1", *small)
        one, many = r["points"]
        self.assertEqual(one["ddr_reads"], 0)
        self.assertEqual(many["misses"]["qp"], 32)
        self.assertGreater(many["ddr_reads"], 16)  # the WQEs between two uses of a context go to some sets only
        self.assertLessEqual(many["ddr_reads"], 32)
        self.assertGreater(many["first_bit"]["max_ns"], one["first_bit"]["mean_ns"] + 300)
        self.assertAlmostEqual(many["first_bit"]["mean_ns"], many["expected"]["first_bit_ns"], delta=2)

    def test_files_and_text(self):
        with tempfile.TemporaryDirectory() as d:
            p = run("--qps", "2,4", "-n", "1", "-o", d)
            self.assertEqual(p.returncode, 0, p.stderr)
            self.assertIn("QP context missed", p.stdout)
            self.assertIn("active QPs", p.stdout)
            self.assertIn("<svg", (pathlib.Path(d) / "report.html").read_text())
            self.assertEqual(len(json.loads((pathlib.Path(d) / "result.json").read_text())["ctx_bench"]["points"]), 2)

    def test_bad_options(self):
        for args, named in ((["--qps", "0"], "--qps"), (["--qps", "1025"], "--qps"), (["--qps", "x"], "qps"), (["--qps", ""], "qps"),
                            (["--own", "xx"], "own"), (["--order", "zigzag"], "order"), (["-n", "0"], "--rounds"),
                            (["--set", "devmem.l2_size=1000"], "devmem.l2_size"), (["--set", "devmem.l2_line=63"], "devmem.l2_line"),
                            (["--set", "devmem.l2_ways=0"], "devmem.l2_ways")):
            p = run(*args)
            self.assertEqual(p.returncode, 2, (args, p.stderr))
            self.assertIn(named, p.stderr)


if __name__ == "__main__":
    unittest.main()
