#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every rule of tests/waves is seen to fail.

Takes good waveforms of the simulator. For each rule instance: the signals that it looks at are copied many times, each copy
with one small fault at one instant (a value wrong for a cycle, a pulse lost, late, early or doubled, a change held back),
and `rnicsim wavecheck` runs the rule over all copies at once. The unchanged copy must pass; at least one of the others must
fail, at the instant of its fault, or for rules that wait for something or count until the end, after it.

  self_check.py --rnicsim PROGRAM --dir DIR [--tests FOLDER] [--only TEXT] [-v]

Needs fst2vcd (package gtkwave). Exit status: 0 each rule failed on some fault; 1 a rule is without, or a good wave fails.
"""
import argparse
import bisect
import concurrent.futures
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ET

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
RUNS = {  # waves; the first on which a rule finds something to look at serves it
    "stages": (["stages"], "rnic_top.toml unloaded/*.toml [!r]*.toml generated/*.toml inside/*.toml good/*.toml"),
    "push": (["stages", "--sq", "bf", "--size", "0", "--op", "send"], "unloaded/*.toml [!r]*.toml generated/*.toml inside/*.toml good/*.toml"),
    "mixture": (["run", "tests/wave/runs/mixture.toml", "--set", "pcie.nph_credits=1", "--set", "pcie.ph_credits=1", "--set",
                 "mac.rate=100", "--set", "mac.tx_buffer=9280"], "[!r]*.toml generated/*.toml inside/*.toml good/*.toml"),
    "formats": (["run", "sim/scenarios/tx_formats.toml"], "[!r]*.toml generated/*.toml inside/*.toml good/*.toml"),
    "sharing": (["run", "sim/scenarios/sharing.toml"], "[!r]*.toml generated/*.toml inside/*.toml good/*.toml"),
    "errors": (["run", "tests/wave/runs/errors.toml"], "[!r]*.toml generated/*.toml inside/*.toml good/*.toml"),
}
SYSTEM = [("system/test_bad_input", "BadInputTest.FailedReadAmidAMessageEndsIt"), ("system/test_bad_input", "BadInputTest.OverrunCqLosesOnlyItsOwnCqes"),
          ("system/test_bad_input", "BadInputTest.InvalidCqIsLogged"), ("system/test_bad_input", "BadInputTest.BlueFlamePushIsChecked"),
          ("system/test_doorbells", "DoorbellsTest.OverwrittenBlueFlameEntriesFallBack"),
          ("system/test_doorbells", "DoorbellsTest.SameInstantOnManyQueuePairs"),
          ("system/test_bad_input", "BadInputTest.WithoutBusMasteringNoRequestLeaves"),
          ("wave/test_wave_pushes", "SplitPushTest.EachRingsOnce"), ("wave/test_wave_regions", "RegionsTest.AccessesOfAllKinds")]
EXPRESSIONS = ["expr", "when", "event", "by", "valid", "ready", "payload", "a", "b", "tag_a", "tag_b", "request", "response",
               "tag_request", "tag_response", "in", "out", "in_amount", "out_amount", "push", "pop", "push_amount", "pop_amount",
               "level", "busy", "amount"]
RAW = ["a_change", "b_change"]  # every change counts, at its own time
FUNCTIONS = {"past", "rose", "fell", "changed", "stable", "onehot", "onehot0", "countones", "isunknown", "and", "or", "not"}
AT_ONCE = {"never", "always", "onehot", "range", "stable", "change_only_when", "monotonic", "counter", "handshake"}
COPIES = 48
TOGETHER = 16  # more, with faults of several signals
STALLED = "while it waits"
GAP = 25_000  # cycles, above every limit of a progress rule


class Wave:
    """Values of the wanted signals at each rising edge of TOP.clk_i, as they were before it."""

    def __init__(self, path, names):
        self.width, self.range, self.now = {}, {}, {}
        code_of, users = {}, {}
        scope = []
        text = open(path, encoding="ascii")
        for line in text:
            if line.startswith("$scope"):
                scope.append(line.split()[2])
            elif line.startswith("$upscope"):
                scope.pop()
            elif line.startswith("$var"):
                p = line.split()
                full = ".".join(scope + [p[4]])
                if full in names:
                    code_of[full] = p[3]
                    users.setdefault(p[3], []).append(full)
                    self.width[full] = int(p[2])
                    self.range[full] = p[5] if len(p) > 6 else ""
            elif line.startswith("$enddefinitions"):
                break
        clock = code_of["TOP.clk_i"]
        value = {c: "0" for c in users}
        self.changes = {c: [] for c in users}  # (time, value)
        time, rises, self.edges = 0, False, []
        for line in text:
            first = line[0]
            if first == "#":
                if rises:
                    self.edges.append(time)
                time, rises = int(line[1:]), False
                continue
            if first in "01xz":
                code, v = line[1:].rstrip(), first
            elif first in "bB":
                v, code = line[1:].split()
            else:
                continue
            if code not in value:
                continue
            if code == clock and v == "1" and value[code] == "0":
                rises = True
            if v != value[code] or not self.changes[code]:
                self.changes[code].append((time, v))
                value[code] = v
        if rises:
            self.edges.append(time)
        # Two edges much later, for faults that last: without one, the NIC has been idle in between.
        numbers = self.changes[code_of["TOP.cycle_i"]]
        last = int(numbers[-1][1], 2)
        for k in (1, 2):
            t = self.edges[-1] + GAP * 1000
            self.changes[clock] += [(t - 500, "0"), (t, "1")]
            numbers.append((t - 1, format(last + GAP * k, "b")))
            self.edges.append(t)
        self.end = self.edges[-1] + 1
        self.code = code_of
        self.cache = {}

    def samples(self, name):
        """One value an edge."""
        code = self.code[name]
        if code not in self.cache:
            changes, out, k, v = self.changes[code], [], 0, "0"
            for t in self.edges:
                while k < len(changes) and changes[k][0] < t:
                    v = changes[k][1]
                    k += 1
                out.append(int(v.replace("x", "0").replace("z", "0"), 2))
            self.cache[code] = out
        return self.cache[code]


def glob_regex(pattern):
    out = ""
    for part in re.split(r"(\*\*|\*)", pattern):
        out += "(.*)" if part == "**" else r"([^.]*)" if part == "*" else re.escape(part)
    return re.compile(out + "$")


def names_in(text, parameters):
    text = re.sub(r"\d*'[shbd]+[0-9a-fA-F_]+|0[xb][0-9a-fA-F_]+", " ", text)
    found = re.findall(r"(?<![\w.])([A-Za-z_][\w$]*(?:\.[A-Za-z_][\w$]*)*)", text)
    return [n for n in dict.fromkeys(found) if n not in FUNCTIONS and n not in parameters]


class Instance:
    """A rule in one scope, with the names of its signals."""

    def __init__(self, path, rule, defaults, parameters, scope):
        self.path, self.rule, self.parameters, self.scope = path, dict(rule), parameters, scope
        for key, v in defaults.items():
            self.rule.setdefault(key, v)
        self.title = rule["name"]
        self.spelled, self.raw = [], []
        for key in EXPRESSIONS + RAW:
            v = self.rule.get(key, [])
            for text in v if isinstance(v, list) else [v]:
                for n in names_in(text, parameters):
                    if n not in self.spelled:
                        self.spelled.append(n)
                    if key in RAW:
                        self.raw.append(n)

    def full(self, name, known):
        inside = f"{self.scope}.{name}"
        return inside if self.scope and inside in known else name

    def toml(self):
        out = ["[parameters]"] + [f"{k} = {v}" for k, v in self.parameters.items()]
        out += ["[[rule]]", 'clock = "TOP.clk_i"', 'edge = "rising"', 'reset = "!TOP.rst_ni"', 'cycle = "TOP.cycle_i"', 'scope = "M*"']
        for key, v in self.rule.items():
            if key not in ("clock", "edge", "reset", "cycle", "scope"):
                out.append(f"{key} = {json.dumps(v)}")
        return "\n".join(out) + "\n"


def instances(path, known, scopes):
    root = tomllib.loads(path.read_text())
    defaults, parameters = root.get("defaults", {}), root.get("parameters", {})
    for rule in root["rule"]:
        pattern = rule.get("scope", defaults.get("scope"))
        matches = [""] if pattern is None else [s for s in scopes if glob_regex(pattern).match(s)]
        for scope in matches:
            yield Instance(path, rule, defaults, parameters, scope)


def faults(values, width, i, last):
    """(name, first wrong sample, function that gives {sample: value}) of small faults of one signal at sample i."""
    v, top = values[i], (1 << width) - 1
    before, after = values[max(i - 1, 0)], values[min(i + 1, last)]

    def once(name, at, value):
        if values[at] != value:
            found.append((name, at, lambda: {at: value}))
    found = [("inverted from here on", i, lambda: {j: values[j] ^ 1 for j in range(i, last + 1)}),
             ("stuck from here on", i, lambda: {j: v ^ 1 for j in range(i, last + 1)})]
    once("lowest bit wrong", i, v ^ 1)
    if width > 1:
        once("highest bit wrong", i, v ^ (1 << (width - 1)))
        once("middle bit wrong", i, v ^ (1 << (width // 2)))
        once("one too many", i, (v + 1) & top)
        once("zero", i, 0)
        once("all ones", i, top)
    if v != before:
        found.append(("one cycle late", i, lambda: {i: before, min(i + 1, last): v}))
        once("one cycle early", max(i - 1, 0), v)
        if after != v:
            once("doubled", min(i + 1, last), v)
        k = i
        while k < min(last, i + 400) and values[k] == v:
            k += 1
        if values[k] != v:
            found.append(("lost", i, lambda: {j: before for j in range(i, k)}))
    return found


class Copies:
    """A VCD of one rule's signals, once unchanged and many times with a fault each."""

    def __init__(self, inst, wave, known):
        self.inst, self.wave = inst, wave
        self.signals = {n: inst.full(n, known) for n in inst.spelled}
        self.plans = [None]  # of each copy: (signal, fault, sample or time, {name: changes})

    def add_random(self, rng, together):
        """Faults of one signal each, and of several together."""
        inst, wave = self.inst, self.wave
        last = len(wave.edges) - 1
        size = sum(wave.width[f] * len(wave.changes[wave.code[f]]) for f in self.signals.values())
        copies = max(12, min(COPIES, int(24e6 / (size + 1))))
        per_signal = {}
        for n, f in self.signals.items():
            if n in inst.raw:
                continue
            values = wave.samples(f)
            width = wave.width[f]
            active = self.activity(n, values, last)
            found = []
            for i in active:
                found += [(n, *fault) for fault in faults(values, width, i, last)]
            rng.shuffle(found)
            per_signal[n] = found
        for n in inst.raw:
            changes = wave.changes[wave.code[self.signals[n]]]
            plan = []
            for k in range(1, len(changes)):
                t, v = changes[k]
                rest = [(x, "1" if y == "0" else "0") for x, y in changes[k + 1:]]
                plan += [(n, "lost", t, changes[:k] + rest),
                         (n, "200 ns late", t, changes[:k] + [(t + 200_000, v)] + changes[k + 1:]),
                         (n, "twice", t, changes[:k + 1] + [(t + 500, "1" if v == "0" else "0")] + rest)]
            rng.shuffle(plan)
            per_signal[n] = plan
        while len(self.plans) <= copies and any(per_signal.values()):
            for found in per_signal.values():
                if found:
                    n, name, at, changes = found.pop()
                    self.plans.append((n, name, at, {n: changes() if callable(changes) else changes}))
        sampled = [n for n in self.signals if n not in inst.raw]
        for _ in range(min(together, 8 * copies) if len(sampled) > 1 else 0):
            self.plans.append(self.together(rng, sampled, last))

    def add_stalled(self):
        """Of a stream that waits: valid dropped, and each part of the payload changed. False when it never waits."""
        def bits(text):
            m = re.match(r"([\w.]+)(?:\[(\d+)(?::(\d+))?\])?$", text)
            high = int(m.group(2)) if m.group(2) else 0
            return m.group(1), int(m.group(3)) if m.group(3) else high
        values = {n: self.wave.samples(f) for n, f in self.signals.items()}
        (valid, v), (ready, r) = bits(self.inst.rule["valid"]), bits(self.inst.rule["ready"])
        reset = self.wave.samples("TOP.rst_ni")
        for i in range(len(self.wave.edges) - 4):
            if reset[i] and values[valid][i] >> v & 1 and not values[ready][i] >> r & 1:
                break
        else:
            return False
        self.plans.append((valid, "dropped while it waits", i + 1, {valid: {i + 1: values[valid][i + 1] & ~(1 << v)}}))
        for text in self.inst.rule.get("payload", []):
            name, bit = bits(text)
            self.plans.append((text, "changed while it waits", i + 1, {name: {i + 1: values[name][i + 1] ^ 1 << bit}}))
        return True

    def together(self, rng, names, last):
        """Several signals wrong at one sample, for one cycle or from there on."""
        i = rng.choice(self.active)
        some = rng.sample(names, rng.randint(2, len(names)))
        until = rng.choice([i, i + 1, last])
        changes = {}
        for n in some:
            f = self.signals[n]
            values, top = self.wave.samples(f), (1 << self.wave.width[f]) - 1
            v = rng.choice([0, top, values[i] ^ 1])
            changes[n] = {j: v for j in range(i, min(until, last) + 1)}
        return " and ".join(some), "wrong together", i, changes

    def activity(self, name, values, last):
        """Samples worth a fault: where one of the rule's signals changes, and in reset."""
        if not hasattr(self, "active"):
            marks = {1, 2, 10, last // 2, last - 4}  # in reset, and where nothing happens
            for n, f in self.signals.items():
                changes = self.wave.changes[self.wave.code[f]]
                for t, _ in changes[:400]:
                    i = bisect.bisect_right(self.wave.edges, t)
                    marks.update(j for j in (i, i + 1) if 1 < j <= last)
            self.active = sorted(marks)
            self.rng = random.Random(1)
        near = [i for i in self.active if values[i] != values[i - 1] or values[i] != 0]
        picked = self.rng.sample(near, min(len(near), 40)) + self.rng.sample(self.active, min(len(self.active), 20)) + [2]
        return list(dict.fromkeys(picked))

    def write(self, path):
        w = self.wave
        out = ["$timescale 1ps $end"]
        code = iter(range(1 << 24))

        def var(name, full):
            c = format(next(code), "x")
            parts = name.split(".")
            out.extend(f"$scope module {p} $end" for p in parts[:-1])
            out.append(f"$var wire {w.width[full]} {c} {parts[-1]} {w.range[full]} $end".replace("  ", " "))
            out.extend("$upscope $end" for _ in parts[:-1])
            return c
        events = []
        for full in ("TOP.clk_i", "TOP.rst_ni", "TOP.cycle_i"):
            c = var(full, full)
            events += [(t, c, v, w.width[full]) for t, v in w.changes[w.code[full]]]
        for k, plan in enumerate(self.plans):
            for name, full in self.signals.items():
                c = var(f"M{k}.{name}", full)
                width = w.width[full]
                if name in self.inst.raw:
                    changes = plan[3].get(name) if plan and name in plan[3] else w.changes[w.code[full]]
                    events += [(t, c, v, width) for t, v in changes]
                    continue
                values = w.samples(full)
                at = plan[3].get(name, {}) if plan else {}
                before = None
                for i in (sorted({*self.change_points(full), *at, *(j + 1 for j in at)}) if at else self.change_points(full)):
                    if i >= len(values):
                        continue
                    v = at.get(i, values[i])
                    if v != before:
                        events.append((max(w.edges[i] - 1, 0), c, format(v, "b"), width))
                    before = v
        out.append("$enddefinitions $end")
        events.sort(key=lambda e: e[0])
        now = None
        for t, c, v, width in events:
            if t != now:
                out.append(f"#{t}")
                now = t
            out.append(f"{v}{c}" if width == 1 else f"b{v} {c}")
        out.append(f"#{max(w.end, (now or 0) + 1)}")
        path.write_text("\n".join(out) + "\n")

    def change_points(self, full):
        """Samples at which the value differs from the one before."""
        values = self.wave.samples(full)
        key = ("points", self.wave.code[full])
        if key not in self.wave.cache:
            self.wave.cache[key] = [0] + [i for i in range(1, len(values)) if values[i] != values[i - 1]]
        return self.wave.cache[key]


def run_copies(rnicsim, copies, stem):
    """Copy -> time of its first failure, for those that fail; None when the unchanged one does not pass."""
    rules, vcd, junit = stem.with_suffix(".toml"), stem.with_suffix(".vcd"), stem.with_suffix(".xml")
    rules.write_text(copies.inst.toml())
    copies.write(vcd)
    r = subprocess.run([rnicsim, "wavecheck", rules, vcd, "--junit", junit], capture_output=True, text=True, check=False)
    found, good = {}, False
    if r.returncode in (0, 1):
        for case in ET.parse(junit).iter("testcase"):
            k = int(re.search(r"\[M(\d+)(?:\.[^]]*)?\]$", case.get("name")).group(1))
            bad = case.find("failure")
            if k == 0:
                good = bad is None and case.find("error") is None
            elif bad is not None:
                found[k] = round(float(re.search(r"first at ([\d.]+) ns, cycle", bad.text).group(1)) * 1000)
        junit.unlink()
    rules.unlink()
    vcd.unlink()
    return (found, "") if good else (None, f"the unchanged copy does not pass: {r.stderr}{r.stdout[:1000]}")


def examine(rnicsim, inst, wave, known, folder, number):
    """(verdict, text): 'failed', 'survived', or 'broken' when even the unchanged copy does not pass."""
    stem = folder / f"rule{number}"
    stalled = ""
    if inst.rule["kind"] == "handshake":
        copies = Copies(inst, wave, known)
        if copies.add_stalled():
            found, why = run_copies(rnicsim, copies, stem)
            if found is None:
                return "broken", why
            for k, (signal, fault, i, _) in enumerate(copies.plans[1:], 1):
                if found.get(k) != wave.edges[i]:
                    return "survived", f"{signal}: {fault} at {wave.edges[i] / 1000:.3f} ns"
            stalled = f"; {STALLED}: valid dropped, {len(copies.plans) - 2} parts of the payload changed"
    for attempt in range(4):  # with other faults each time, and more of several signals
        copies = Copies(inst, wave, known)
        copies.add_random(random.Random(f"{inst.title} {attempt}"), TOGETHER << (2 * attempt))
        found, why = run_copies(rnicsim, copies, stem)
        if found is None:
            return "broken", why
        best = None
        for k, fails in found.items():
            signal, fault, i, _ = copies.plans[k]
            when = i if signal in inst.raw else wave.edges[i]
            # samples from the fault to the failure
            distance = bisect.bisect_left(wave.edges, fails) - bisect.bisect_left(wave.edges, when)
            if 0 <= distance <= 2 or (distance > 0 and inst.rule["kind"] not in AT_ONCE):
                cand = (distance, k, f"{signal}: {fault} at {when / 1000:.3f} ns, fails at {fails / 1000:.3f} ns")
                best = min(best, cand) if best else cand
        if best:
            return "failed", ("" if best[0] <= 2 else "later: ") + best[2] + stalled
    return "survived", f"faults of {', '.join(copies.signals)}"


def make_waves(args):
    """Title -> (VCD, files of rules)."""
    made = {}
    for title, (command, rules) in RUNS.items():
        folder = args.dir / title
        r = subprocess.run([args.rnicsim, *command, "--trace", "full", "-o", folder], capture_output=True, text=True, cwd=ROOT, check=False)
        if r.returncode not in (0, 1):
            sys.exit(f"{title}: exit status {r.returncode}\n{r.stderr}")
        made[title] = (folder / "wave.fst", [p for g in rules.split() for p in sorted(HERE.glob(g))])
    for name, test in SYSTEM if args.tests else []:
        r = subprocess.run([args.tests / name, f"--gtest_filter={test}"], capture_output=True, text=True, check=False,
                           env={**os.environ, "RNICSIM_TEST_TRACE": str(args.dir)})
        if r.returncode != 0:
            sys.exit(f"{test}: {r.stdout[-2000:]}")
        made[test] = (args.dir / f"{test.split('.')[1]}.fst", [p for g in RUNS["errors"][1].split() for p in sorted(HERE.glob(g)) if p.parent.name != "good"])
    return made


def triggers_of(rnicsim, rules, wave, junit):
    r = subprocess.run([rnicsim, "wavecheck", *rules, wave, "--junit", junit], capture_output=True, text=True, check=False)
    if r.returncode != 0:
        bad = "\n".join(x for x in r.stdout.splitlines() if not x.startswith("passed "))
        sys.exit(f"{wave}: the rules do not pass on the good wave\n{bad[:3000]}\n{r.stderr}")
    return {(case.get("file"), case.get("name")) for case in ET.parse(junit).iter("testcase")
            if any(p.get("name") == "triggers" and p.get("value") != "0" for p in case.iter("property"))}


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--rnicsim", type=pathlib.Path, required=True)
    ap.add_argument("--dir", type=pathlib.Path, required=True, help="work folder")
    ap.add_argument("--tests", type=pathlib.Path, help="tests/ of the build folder, with the tests' programs: more waves")
    ap.add_argument("--only", default="", help="rules whose name holds this text")
    ap.add_argument("-v", "--verbose", action="store_true", help="also the faults that were found")
    args = ap.parse_args()
    args.rnicsim = args.rnicsim.resolve()
    args.dir = args.dir.resolve()
    if shutil.which("fst2vcd") is None:
        sys.exit("self_check.py: there is no fst2vcd in the PATH: scripts/setup installs it (package gtkwave)")
    shutil.rmtree(args.dir, ignore_errors=True)
    args.dir.mkdir(parents=True)

    open_rules, result, inst_kind = {}, {}, {}
    for title, (fst, rules) in make_waves(args).items():
        seen = triggers_of(args.rnicsim, rules, fst, args.dir / "all.xml")
        vcd = args.dir / "wave.vcd"
        with open(vcd, "w", encoding="ascii") as out:
            subprocess.run(["fst2vcd", fst], stdout=out, stderr=subprocess.DEVNULL, check=True)
        known, scopes, scope = set(), set(), []
        for line in open(vcd, encoding="ascii"):
            if line.startswith("$scope"):
                scope.append(line.split()[2])
            elif line.startswith("$upscope"):
                scope.pop()
            elif line.startswith("$var"):
                full = ".".join(scope + [line.split()[4]])
                known.add(full)
                parts = full.split(".")
                scopes.update(".".join(parts[:k]) for k in range(1, len(parts)))
            elif line.startswith("$enddefinitions"):
                break
        todo = []
        for path in rules:
            for inst in instances(path, known, sorted(scopes)):
                title_ = inst.title + (f" [{inst.scope}]" if inst.scope else "")
                key = (str(path), title_)
                verdict, text = result.get(key, ("", ""))
                if args.only not in title_ or (verdict == "failed" and (inst.rule["kind"] != "handshake" or STALLED in text)):
                    continue
                open_rules[key] = None
                inst_kind[key] = inst.rule["kind"]
                if key in seen:
                    todo.append((key, inst))
        wanted = {"TOP.clk_i", "TOP.rst_ni", "TOP.cycle_i"}
        for _, inst in todo:
            wanted.update(inst.full(n, known) for n in inst.spelled)
        if not todo:
            continue
        wave = Wave(vcd, wanted)
        with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
            runs = {pool.submit(examine, args.rnicsim, inst, wave, known, args.dir, n): key for n, (key, inst) in enumerate(todo)}
            for done in concurrent.futures.as_completed(runs):
                key = runs[done]
                verdict, text = done.result()
                if key not in result or (result[key][0] != "failed" and verdict != "survived") or STALLED in text or (
                        inst_kind[key] == "handshake" and verdict == "survived"):
                    result[key] = (verdict, f"({title}) {text}")
    count = {"failed": 0, "survived": 0, "broken": 0, "nothing to look at": 0}
    for key in open_rules:
        verdict, text = result.get(key, ("nothing to look at", "in these waves"))
        count[verdict] += 1
        if verdict != "failed" or args.verbose:
            print(f"{verdict:<10} {os.path.relpath(key[0], HERE)}: {key[1]}\n           {text}")
    streams = [k for k in open_rules if inst_kind[k] == "handshake"]
    waiting = sum(STALLED in result.get(k, ("", ""))[1] for k in streams)
    print(f"{len(streams)} streams: {waiting} also while they wait; the others never wait in these waves")
    print(f"{len(open_rules)} rule instances: {count['failed']} seen to fail, {count['survived']} survived, {count['broken']} broken, "
          f"{count['nothing to look at']} without anything to look at in these waves")
    return 0 if count["failed"] == len(open_rules) else 1


if __name__ == "__main__":
    sys.exit(main())
