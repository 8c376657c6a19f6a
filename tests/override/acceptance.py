#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A register in tx_packetizer, put in through the override, shows as one more cycle in the right row and nowhere else; first
undeclared, then declared (docs/howto/override.md).

Undeclared: the stage table is one cycle longer in `packetize`, `wavecheck` fails its window and tells the instant, `wavediff`
names the first signal that moved, and of the suite exactly those tests fail that hold exact cycles, each with the line that
would declare them. Declared: all of them pass.
"""
import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET

# Of the suite. The first holds the block's latency; the others compare golden windows.
EXACT = {"tx_packetizer.TxPacketizerTest.LatencyOf64ByteWrite", "wavecheck_rnic_top", "wavecheck_stages"}
# They look at our RTL only, or at other builds: ctest -LE
OTHERS = "^(long|package|synth|formal|mutation)$"


class Failed(Exception):
    pass


def run(args, want=0, timeout=None, cwd=None):
    r = subprocess.run([str(x) for x in args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                       timeout=timeout, cwd=cwd)
    if want is not None and r.returncode != want:
        raise Failed(f"exit status {r.returncode}, expected {want}: {' '.join(map(str, args))}\n{r.stdout[-8000:]}")
    return r.stdout


def expect(true, what):
    if not true:
        raise Failed(what)
    print(f"  good: {what.splitlines()[0]}", flush=True)


class Acceptance:
    def __init__(self, a):
        self.a = a
        self.work = pathlib.Path(a.work)
        self.mine = self.work / "mine"
        self.build = pathlib.Path(a.build) if a.build else self.work / "build"
        self.rnicsim = self.build / "sim/rnicsim"
        self.rules = pathlib.Path(a.source) / "tests/waves/rnic_top.toml"

    def make(self):
        run([self.a.cmake, "-S", self.a.source, "-B", self.build, "-G", self.a.generator, f"-DCMAKE_BUILD_TYPE={self.a.build_type}",
             f"-DRNICSIM_RTL_OVERRIDE={self.mine / 'files.f'}"])
        run([self.a.cmake, "--build", self.build, "-j", self.a.jobs])

    def stages(self, program, name, *options, want=0):
        folder = self.work / name
        shutil.rmtree(folder, ignore_errors=True)
        run([program, "stages", "--trace", "full", "-q", "-o", folder, *options], want=want)
        return json.loads((folder / "result.json").read_text()), folder / "wave.fst"

    def suite(self):
        """Names and outputs of the tests that fail."""
        report = self.work / "suite.xml"
        report.unlink(missing_ok=True)
        run([self.a.ctest, "--test-dir", self.build, "-LE", OTHERS, "-j", self.a.jobs, "--output-junit", report,
             "--test-output-size-failed", "100000"], want=None)
        cases = ET.parse(report).getroot().findall("testcase")
        expect(len(cases) > 300 and not any(c.get("name").endswith("_NOT_BUILT") for c in cases), f"the suite has {len(cases)} tests")
        # Not run: what needs another test that failed.
        return {c.get("name"): "".join(c.itertext()) for c in cases if c.get("status") == "fail"}

    def undeclared(self):
        ours, our_wave = self.stages(self.a.rnicsim, "ours")
        mine, my_wave = self.stages(self.rnicsim, "undeclared")
        rows = {}
        for a, b in zip(ours["table"]["stages"], mine["table"]["stages"]):
            rows[a["name"]] = (b["end_cycle"] - b["start_cycle"]) - (a["end_cycle"] - a["start_cycle"])
        expect(rows == {"WQE fetch": 0, "DMA read": 0, "packetize": 1, "MAC TX": 0, "CQE write": 0},
               f"stage table: one cycle more in packetize only: {rows}")
        period = mine["table"]["stages"][2]["rtl_ns"] - ours["table"]["stages"][2]["rtl_ns"]
        moved = mine["table"]["doorbell_to_mac_ns"] - ours["table"]["doorbell_to_mac_ns"]
        expect(abs(moved - period) < 1e-6 and period > 0, f"the first bit moves by that cycle, {moved:g} ns")

        run([self.a.rnicsim, "wavecheck", self.rules, our_wave])
        text = run([self.rnicsim, "wavecheck", self.rules, my_wave], want=1)
        failed = re.findall(r"^FAILED.*$", text, re.M)
        expect(len(failed) == 1 and "packetize" in failed[0], f"wavecheck: exactly the packetizer's window fails: {failed}\n{text}")
        probe = mine["table"]["stages"][2]
        instant = f"{probe['start_ps'] / 1000:.3f}"
        expect(instant in text, f"wavecheck: the instant {instant} ns is told\n{text}")

        text = run([self.rnicsim, "wavediff", our_wave, my_wave], want=1)
        print("\n".join("    " + s for s in text.splitlines()[:8]))
        first = json.loads(run([self.rnicsim, "wavediff", "--json", our_wave, my_wave], want=1))["differences"][0]
        # The register is ready before there is anything: the stream it stands in moves first.
        expect(any(n.endswith(("pay_ready", "pay_ready_o", "pay_ready_i")) for n in [first["signal"], *first["aliases"]]),
               f"wavediff: the first signal that moved is the packetizer's payload stream: {first}")
        pins = json.loads(run([self.rnicsim, "wavediff", "--json", "--only", "TOP.probe_o.mac", our_wave, my_wave], want=1))
        moved = [(d["signal"], d["b_later_ns"]) for d in pins["differences"]]
        expect(moved == [("TOP.probe_o.mac", period)], f"wavediff: the frame's end moves by one cycle: {moved}")

        failing = self.suite()
        expect(set(failing) == EXACT, f"of the suite exactly {sorted(EXACT)} fail: {sorted(failing)}")
        text = failing["tx_packetizer.TxPacketizerTest.LatencyOf64ByteWrite"]
        expect("took 14 cycles, expected 13 (golden) + 0 declared" in text and "+latency+tx_packetizer+1" in text,
               f"the latency's test says how to declare it\n{text}")

    def declared(self):
        text = run([self.rnicsim, "stages", "--check"])
        expect(re.search(r"^packetize .* 20 \+ 1 ", text, re.M), f"stages: budget 20 + 1\n{text}")
        expect(re.search(r"tx_packetizer \+1", text), "stages: names the declaration")
        mine, wave = self.stages(self.rnicsim, "declared", "--check")
        row = mine["table"]["stages"][2]
        expect(row["budget_ns"] == 21 and row["extra_cycles"] == 1, "result.json: budget 21 ns, of it 1 extra cycle")
        run([self.rnicsim, "wavecheck", self.rules, wave])
        text = run([self.rnicsim, "version"])
        expect(re.search(r"^tx_packetizer +tx_packetizer.sv$", text, re.M) and re.search(r"^tx_packetizer +\+1$", text, re.M),
               f"version: names module, file and cycles\n{text}")
        failing = self.suite()
        expect(not failing, f"the whole suite passes: {sorted(failing)}")

    def all(self):
        shutil.rmtree(self.mine, ignore_errors=True)
        new = [sys.executable, pathlib.Path(self.a.source) / "scripts/new_override", "tx_packetizer", self.mine, "--register", "pay"]
        print("undeclared", flush=True)
        run(new)
        self.make()
        self.undeclared()
        print("declared", flush=True)
        with (self.mine / "files.f").open("a") as f:
            f.write("+latency+tx_packetizer+1\n")
        self.make()
        self.declared()


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("source", "work", "rnicsim", "cmake", "ctest", "generator", "build-type"):
        p.add_argument(f"--{name}", required=True)
    p.add_argument("--build", help="folder to build in [WORK/build]")
    p.add_argument("--jobs", default="2")
    try:
        Acceptance(p.parse_args()).all()
    except Failed as e:
        print(f"FAILED: {e}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
