#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the simulator, and checks all rules of tests/waves over the waveform of every run.

  check_runs.py GROUP --rnicsim PROGRAM --dir DIR [--tests FOLDER]   runs of a group: stages, scenarios, system, arp
  check_runs.py triggered --dir DIR                                  after all groups: no rule has stayed without an event

A rule that finds nothing to look at in one run passes; one that finds nothing in any run is a failure, since nothing would
notice if it were wrong. Exit status: 0 good, 1 a rule or a run failed, 2 bad usage.
"""
import argparse
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ET

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TIMELINE = HERE / "rnic_top.toml"
ANY = sorted(p for p in HERE.glob("*.toml") if p != TIMELINE) + sorted(HERE.glob("generated/*.toml")) + sorted(
    HERE.glob("inside/*.toml"))
UNLOADED = sorted(HERE.glob("unloaded/*.toml"))
GOOD = sorted(HERE.glob("good/*.toml"))
COLLECTIVE = sorted(HERE.glob("collective/*.toml"))  # of the AllReduce engine, which runs alone

# One message at a time, of one packet: latencies hold too. The first is the document's own.
STAGES = [
    "",
    "--repeat 30 --phase random",
    "--sq bf",
    "--sq bf --initiator gpu --op write_imm --repeat 3 --phase random --seed 3",
    "--op send --size 0 --repeat 3",
    "--op send_imm --size 1 --mem host",
    "--op send --size 63 --transport rc",
    "--size 65 --mem host --sq bf",
    "--size 4096 --transport rc",
    "--size 1000 --mtu 1024 --initiator gpu",
    "--profile gen5-measured --repeat 3",
    "--profile gen4-200g --size 512 --sq bf",
]
# Messages of several packets
LONG_STAGES = [
    "--size 65536",
    "--size 65536 --mtu 256 --sq bf --mem host",
    "--size 20001 --mtu 512 --op send_imm --transport rc",
    "--size 8193 --mtu 2048 --profile gen5-measured --repeat 2",
    "--size 40000 --set mac.rate=100 --set mac.tx_buffer=9280",
    "--size 16384 --set pcie.nph_credits=1 --set pcie.ph_credits=1 --set pcie.mrrs=128",
    "--size 16384 --set pcie.mrrs=4096 --set pcie.mps=4096 --set pcie.rcb=128 --set gpu.read_latency=900",
]
SCENARIOS = [
    ("sim/scenarios/faults.toml", ""),
    ("sim/scenarios/failing_check.toml", ""),
    ("sim/scenarios/two_queues.toml", ""),
    ("sim/scenarios/tx_formats.toml", ""),
    ("sim/scenarios/sharing.toml", ""),
    ("tests/wave/runs/mixture.toml", ""),
    ("tests/wave/runs/mixture.toml", "--set mac.rate=100 --set mac.tx_buffer=9280 --seed 2"),
    ("tests/wave/runs/mixture.toml",
     "--set pcie.nph_credits=1 --set pcie.ph_credits=1 --set pcie.pd_credits=32 --set devmem.read_latency=200"),
    ("tests/wave/runs/errors.toml", ""),
    ("tests/wave/runs/two_nodes.toml", ""),
]
ARP = [
    "--ranks 4 --count 8k --steps 2",
    "--ranks 8 --count 2k --type half --wide --frag 256 --order burst --slots 4",
    "--ranks 3 --count 4k --type bf16 --frag 64 --order random --duplicate 5% --late 5% --early 5% --corrupt 5% --hostile 5% --flip 5%",
]
NCCL = "--nccl-log tests/data/nccl_log_allreduce_2ranks.txt --max-bytes 64k"
# Tests of the whole system that do what no scenario can: pushes of two pieces, failed reads, lost CQs, no bus mastering,
# interrupts, queries of contexts, lists of pages and windows
SYSTEM = {
    "system/test_bad_input": [
        "BadInputTest.FailedPayloadReadIsReported", "BadInputTest.FailedReadAmidAMessageEndsIt",
        "BadInputTest.OverrunCqLosesOnlyItsOwnCqes", "BadInputTest.InvalidCqIsLogged", "BadInputTest.BlueFlamePushIsChecked",
        "BadInputTest.SizeFieldIsChecked", "BadInputTest.ErrorAmidAMessageFlushesItOnce",
        "BadInputTest.WithoutBusMasteringNoRequestLeaves",
    ],
    "system/test_doorbells": ["DoorbellsTest.OverwrittenBlueFlameEntriesFallBack", "DoorbellsTest.SameInstantOnManyQueuePairs"],
    "system/test_msix_system": ["MsixTest.ModerationByCountAndTime", "MsixTest.MaskKeepsTheMessagePending"],
    "system/test_contexts": ["ContextsTest.QueryFollowsAMessage", "ContextsTest.QueryOfACq"],
    "wave/test_wave_pushes": ["SplitPushTest.EachRingsOnce"],
    "wave/test_wave_regions": ["RegionsTest.AccessesOfAllKinds"],
}


def program(args, **more):
    return subprocess.run([str(a) for a in args], capture_output=True, text=True, check=False, cwd=ROOT, **more)


# Blocks that stand in another one: with a replaced parent they may be gone.
PARTS = {"dma_read", "dma_write", "tag_allocator", "tlp_splitter", "credit_counter", "icrc", "mr_check"}


def applying(rules, replaced, folder):
    """The files of rules, less those about the inside of blocks that an override replaces."""
    kept = []
    for path in rules:
        if path.parent.name == "inside" and path.stem in replaced:
            continue
        if path.parent.name == "generated" and replaced:  # instances below a replaced block's own ports
            instances = "|".join([f"u_{m}" for m in replaced] + (["u_\\w+_cache"] if "ctx_cache" in replaced else []))
            head, *tables = path.read_text().split("\n[[rule]]\n")
            tables = [t for t in tables if not re.search(rf'scope = "[^"]*\.({instances})[*]*\.', t)]
            path = folder / path.name
            path.write_text("\n[[rule]]\n".join([head, *tables]))
        kept.append(path)
    return kept


class Group:
    def __init__(self, args):
        self.rnicsim, self.tests, self.dir = args.rnicsim, args.tests, args.dir / args.group
        shutil.rmtree(self.dir, ignore_errors=True)
        self.dir.mkdir(parents=True)
        self.replaced = [m for m in args.replaced.split(",") if m]
        self.any = applying(ANY, self.replaced, self.dir)
        self.triggers, self.faults, self.waves = {}, 0, 0

    def fault(self, title, text):
        self.faults += 1
        print(f"FAILED  {title}\n{text}\n", flush=True)

    def check(self, title, wave, rules):
        if not wave.exists():
            return self.fault(title, f"there is no waveform {wave}")
        if self.replaced and self.waves == 0:
            for path in [p for p in self.any if p.parent.name == "inside" or p.stem in PARTS]:
                if program([self.rnicsim, "wavecheck", path, wave]).returncode == 2:
                    print(f"without {path.relative_to(HERE)}: no such signals in this NIC", flush=True)
                    self.any.remove(path)
            rules = [p for p in rules if p in self.any or p in GOOD + UNLOADED + COLLECTIVE or p == TIMELINE]
        self.waves += 1
        junit = wave.with_suffix(".xml")
        command = [self.rnicsim, "wavecheck", *[os.path.relpath(p, ROOT) for p in rules], wave, "--junit", junit]
        began = time.monotonic()
        r = program(command)
        took = time.monotonic() - began
        if r.returncode != 0:
            bad = "\n".join(x for x in r.stdout.splitlines() if not x.startswith("passed "))
            again = " ".join(shlex.quote(str(c)) for c in command)
            return self.fault(title, f"{bad}{r.stderr}\n{again}")
        for case in ET.parse(junit).iter("testcase"):
            path = (ROOT / case.get("file")).resolve()
            path = path.relative_to(HERE) if path.is_relative_to(HERE) else pathlib.Path("generated") / path.name
            key = f"{path}: {case.get('name')}"
            seen = int(next(p.get("value") for p in case.iter("property") if p.get("name") == "triggers"))
            self.triggers[key] = self.triggers.get(key, 0) + seen
        print(f"good    {title}  ({took:.1f} s)", flush=True)
        wave.unlink()

    def simulate(self, title, args, rules, good=(0,)):
        folder = self.dir / f"run{self.waves}"
        r = program([self.rnicsim, *args, "--trace", "full", "-o", folder])
        if r.returncode not in good:
            return self.fault(title, f"exit status {r.returncode}\n{r.stdout[-2000:]}{r.stderr[-2000:]}")
        for wave in sorted(folder.glob("wave*.fst")) or [folder / "wave.fst"]:
            self.check(f"{title} {wave.name}", wave, rules)

    def stages(self):
        for k, options in enumerate(STAGES):
            self.simulate(f"stages {options}", ["stages", *options.split()], self.any + GOOD + UNLOADED + ([TIMELINE] if k == 0 else []))
        for options in LONG_STAGES:
            self.simulate(f"stages {options}", ["stages", *options.split()], self.any + GOOD)

    def scenarios(self):
        for path, options in SCENARIOS:
            # A scenario whose own check fails, or that is cut, is a run all the same.
            self.simulate(f"run {path} {options}", ["run", path, *options.split()], self.any + GOOD, good=(0, 1))
        self.simulate(f"run {NCCL}", ["run", *NCCL.split()], self.any + GOOD)

    def system(self):
        for name, tests in SYSTEM.items():
            for test in tests:
                r = program([self.tests / name, f"--gtest_filter={test}"], env={**os.environ, "RNICSIM_TEST_TRACE": str(self.dir)})
                if r.returncode != 0 or "[  PASSED  ]" not in r.stdout:
                    self.fault(test, r.stdout[-2000:] + r.stderr[-2000:])
                    continue
                self.check(test, self.dir / f"{test.split('.')[1].replace('/', '_')}.fst", self.any)

    def arp(self):
        ours = not any(m.startswith("arp_") for m in self.replaced)
        for options in ARP:
            self.simulate(f"arp {options}", ["arp", *options.split()], [p for p in COLLECTIVE if ours or p.stem != "arp_fsm_inside"])


def triggered(folder):
    """The union over all groups."""
    total = {}
    for group in ("stages", "scenarios", "system", "arp"):
        path = folder / f"{group}.json"
        if not path.exists():
            sys.exit(f"{path} is missing: the group has not run, or has failed")
        for key, n in json.loads(path.read_text()).items():
            total[key] = total.get(key, 0) + n
    never = sorted(k for k, n in total.items() if n == 0)
    print(f"{len(total)} rule instances, {len(never)} without any event in all runs")
    for key in never:
        print(f"  {key}")
    return 1 if never else 0


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("group", choices=["stages", "scenarios", "system", "arp", "triggered"])
    ap.add_argument("--rnicsim", type=pathlib.Path, help="the rnicsim program")
    ap.add_argument("--tests", type=pathlib.Path, help="tests/ of the build folder, with the tests' programs")
    ap.add_argument("--replaced", default="", help="RTL modules that an override replaces, with commas between")
    ap.add_argument("--dir", type=pathlib.Path, required=True, help="work folder")
    args = ap.parse_args()
    args.dir = args.dir.resolve()
    if args.group == "triggered":
        return triggered(args.dir)
    if args.rnicsim is None or (args.group == "system" and args.tests is None):
        ap.error("--rnicsim, and for 'system' --tests, are needed")
    args.rnicsim = args.rnicsim.resolve()
    args.tests = args.tests and args.tests.resolve()
    result = args.dir / f"{args.group}.json"
    result.unlink(missing_ok=True)
    group = Group(args)
    getattr(group, args.group)()
    print(f"{group.waves} waveforms, {group.faults} faults")
    if group.faults:
        return 1
    result.write_text(json.dumps(group.triggers, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
