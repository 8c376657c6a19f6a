# SPDX-License-Identifier: Apache-2.0
"""rnicsim stages --path as its users see it. CTest gives the program in RNICSIM."""

import json
import os
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["RNICSIM"]


def run(*args):
    return subprocess.run([PROGRAM, "stages", *args], capture_output=True, text=True, timeout=300, check=False)


class Paths(unittest.TestCase):
    def good(self, *args):
        r = run(*args)
        self.assertEqual(r.returncode, 0, r.stderr)
        return r.stdout

    def test_both_meet_the_document(self):
        out = self.good("--path", "both", "--check")
        for text in ("GPUDirect", "Staged", "copy engine", "context switch", "gpu.copy_start_latency", "fitted",
                     "64 B, ready to wire (F7)", "4 KiB, ready to wire (F7)", "saved (F6)"):
            self.assertIn(text, out)

    def test_json_sums_exactly(self):
        j = json.loads(self.good("--path", "both", "--size", "1000", "--json"))
        self.assertEqual([p["size_bytes"] for p in j["paths"]], [64, 1000, 4096])
        self.assertIn("schema_version", j)
        for pair in j["paths"]:
            for path in (pair["gdr"], pair["staged"]):
                at = 0
                for step in path["steps"]:
                    self.assertEqual(step["start_ps"], at, step["name"])
                    self.assertLessEqual(step["lo_ns"], step["nominal_ns"])
                    self.assertGreaterEqual(step["hi_ns"], step["nominal_ns"])
                    at = step["end_ps"]
                self.assertEqual(at, path["ready_to_wire_ps"])
            self.assertAlmostEqual(pair["saved_ns"], pair["staged"]["copy_engine_ns"] + pair["staged"]["nic_read_ns"]
                                   - pair["gdr"]["nic_read_ns"], 6)

    def test_one_path_alone(self):
        j = json.loads(self.good("--path", "staged", "--json"))
        self.assertNotIn("gdr", j["paths"][0])
        self.assertNotIn("saved_ns", j["paths"][0])

    def test_check_fails_where_the_facts_do_not_hold(self):
        r = run("--path", "both", "--check", "--set", "host.copy_launch_cost=6000")
        self.assertEqual(r.returncode, 1)
        self.assertIn("ready to wire (F7)", r.stderr)

    def test_gen5_has_its_own_numbers(self):
        a = json.loads(self.good("--path", "both", "--json"))
        b = json.loads(self.good("--path", "both", "--json", "--profile", "gen5-measured"))
        self.assertIn("fitted to published measurements", b["fit_note"])
        self.assertNotEqual(a["paths"][0]["gdr"]["ready_to_wire_ps"], b["paths"][0]["gdr"]["ready_to_wire_ps"])

    def test_report_shows_both_timelines(self):
        with tempfile.TemporaryDirectory() as d:
            self.good("--path", "both", "-o", d, "--trace", "none")
            with open(os.path.join(d, "report.html"), encoding="utf-8") as f:
                html = f.read()
            self.assertIn("Both paths from data ready to the wire", html)
            for text in ("GPUDirect, 64 B", "staged, 4 KiB", "copy engine: command decoded"):
                self.assertIn(text, html)

    def test_refused(self):
        for args, word in ((("--path", "over"), "--path"), (("--path", "both", "--mem", "host"), "--mem"),
                           (("--path", "both", "--repeat", "2"), "--repeat"),
                           (("--path", "both", "--size", "0"), "--size"),
                           (("--path", "staged", "--initiator", "gpu"), "--initiator"),
                           (("--path", "gdr", "--set", "gpu.bar_reads=0"), "gpu.bar_reads"),
                           (("--path", "both", "--set", "host.gpu_wait=sleep"), "host.gpu_wait")):
            r = run(*args)
            self.assertEqual(r.returncode, 2, (args, r.stderr))
            self.assertIn(word, r.stderr)
        self.good("--path", "staged", "--set", "gpu.bar_reads=0")


if __name__ == "__main__":
    unittest.main()
