#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails when a page in docs/ names a test or a cover point that does not exist, or a block lacks its test plan.

A test's name is `Suite.Test` anywhere (a suite's name ends with Test), and in a test plan (docs/testplans) each name in the
last column of a table whose header ends with "Tests (`Suite.`)".

A cover point's name is each name in a column of a test plan headed "Points (`block`)": a label of a `cover` in
tests/cover/BLOCK_cover.sv or BLOCK_inner_cover.sv. Every block of rtl/ has a plan docs/testplans/BLOCK.md, and the plan
names every label of the block.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
known = set()
for f in ROOT.glob("tests/**/*_test.cpp"):
    for suite, test in re.findall(r"\bTEST(?:_F|_P)?\(\s*(\w+)\s*,\s*(\w+)\s*\)", f.read_text()):
        known.add(f"{suite}.{test}")
for f in ROOT.glob("tests/**/*_test.py"):
    suite = ""
    for kind, name in re.findall(r"^\s*(class|def)\s+(\w+)", f.read_text(), re.M):
        if kind == "class":
            suite = name
        else:
            known.add(f"{suite}.{name}")

labels = {}  # {block: {label: where}}
for f in sorted(ROOT.glob("tests/cover/*_cover.sv")):
    block = re.sub(r"(_inner)?_cover$", "", f.stem)
    for number, line in enumerate(f.read_text().splitlines(), 1):
        for label in re.findall(r"\b(\w+)\s*:\s*cover\b", line):
            labels.setdefault(block, {})[label] = f"{f.relative_to(ROOT)}:{number}"

faults = []
named = 0
points = {}  # {block: labels that its plan names}
for page in sorted(ROOT.glob("docs/**/*.md")):
    suite = points_at = block = None
    for number, line in enumerate(page.read_text().splitlines(), 1):
        where = f"{page.relative_to(ROOT)}:{number}"
        names = set(re.findall(r"\b[A-Z]\w*Test\.[A-Za-z]\w+", line))
        cells = [c.strip() for c in line.strip().strip("|").split("|")] if line.startswith("|") else []
        rule = re.match(r"^\|[-|: ]+\|$", line)
        header = re.fullmatch(r"Tests \(`(\w+)\.`\)", cells[-1]) if cells else None
        if not cells:
            suite = points_at = block = None
        elif header:
            suite = header[1]
            for at, cell in enumerate(cells):
                m = re.fullmatch(r"Points \(`(\w+)`\)", cell)
                if m:
                    points_at, block = at, m[1]
                    points.setdefault(block, set())
                    if block not in labels:
                        faults.append(f"{where}: names the block {block}, which has no cover points in tests/cover")
        elif suite and not rule:
            for name in re.split(r"[,\s]+", cells[-1].replace("`", "")):
                if name and name != "-":
                    names.add(name if "." in name else f"{suite}.{name}")
            if points_at is not None and points_at < len(cells):
                for name in re.split(r"[,\s]+", cells[points_at].replace("`", "")):
                    if name and name != "-":
                        points[block].add(name)
                        if name not in labels.get(block, {}):
                            faults.append(f"{where}: names the cover point {name} of {block}, which does not exist")
        named += len(names)
        for name in sorted(names - known):
            faults.append(f"{where}: names the test {name}, which does not exist")

blocks = [f.stem for f in sorted(ROOT.glob("rtl/*/*.sv"))
          if f.parent.name not in ("pkg", "regs", "templates") and not f.stem.endswith("_checker")]
for block in blocks:
    if not (ROOT / f"docs/testplans/{block}.md").is_file():
        faults.append(f"docs/testplans/{block}.md: the block {block} has no test plan")
for block in sorted(labels):
    for label, where in labels[block].items():
        if label not in points.get(block, set()):
            faults.append(f"{where}: the cover point {label} stands in no test plan: docs/testplans/{block}.md, column Points (`{block}`)")
for fault in faults:
    print(fault)
count = sum(len(p) for p in points.values())
print(f"{named} names of tests and {count} of cover points in docs; {len(known)} tests, {len(blocks)} blocks")
sys.exit(1 if faults else 0)
