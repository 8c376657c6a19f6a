#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails when a page in docs/ names a test that does not exist.

A name is `Suite.Test` anywhere (a suite's name ends with Test), and in a test plan (docs/testplans) each name in the last
column of a table whose header ends with "Tests (`Suite.`)".
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

status = 0
named = 0
for page in sorted(ROOT.glob("docs/**/*.md")):
    suite = None
    for number, line in enumerate(page.read_text().splitlines(), 1):
        names = set(re.findall(r"\b[A-Z]\w*Test\.[A-Za-z]\w+", line))
        header = re.search(r"\|\s*Tests \(`(\w+)\.`\)\s*\|\s*$", line)
        if header:
            suite = header.group(1)
        elif not line.startswith("|"):
            suite = None
        elif suite and not re.match(r"^\|[-|: ]+\|$", line):
            for name in re.split(r"[,\s]+", line.rstrip().rstrip("|").split("|")[-1].strip()):
                if name:
                    names.add(name if "." in name else f"{suite}.{name}")
        named += len(names)
        for name in sorted(names - known):
            print(f"{page.relative_to(ROOT)}:{number}: names the test {name}, which does not exist")
            status = 1
print(f"{named} names of tests in docs, {len(known)} tests")
sys.exit(status)
