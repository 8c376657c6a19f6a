# SPDX-License-Identifier: Apache-2.0
"""Every kind of rule on waves that the tools themselves wrote.

  kinds.py make DIR --verilated-fst PROGRAM --verilated-vcd PROGRAM --iverilog TOOL --vvp TOOL --vcd2fst TOOL
      writes the waves of kinds.v: a good and a bad one in each format
  kinds.py check DIR FORMAT KIND --rnicsim PROGRAM
      one kind in one format: it passes, fails in the right cycle, is vacuous, and its mistakes are named
  kinds.py refused DIR --rnicsim PROGRAM
      files that are no waves, or no longer
"""
import argparse
import gzip
import os
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as xml

HERE = pathlib.Path(__file__).parent
FORMATS = {"verilator_fst": "fst", "verilator_vcd": "vcd", "icarus_vcd": "vcd", "gtkwave_fst": "fst"}

DEFAULTS = """[defaults]
clock = "TOP.clk"
edge = "rising"
reset = "rst"
scope = "TOP.kinds"
[[rule]]
name = "the rule"
"""


class Case:
    """A rule; what makes it vacuous (a text to add, or signals to replace by one that is never true); the cycle of its
    first failure in the bad wave, and a part of the message."""

    def __init__(self, rule, vacuous, cycle, says):
        self.rule, self.cycle, self.says = rule, cycle, says
        self.vacuous = rule + vacuous if isinstance(vacuous, str) else rule
        for old in [] if isinstance(vacuous, str) else vacuous:
            assert f'"{old}"' in rule
            self.vacuous = self.vacuous.replace(f'"{old}"', '"nothing"')


NEVER = 'when = "nothing"\n'
CASES = {
    "never": Case('kind = "never"\nexpr = "nv"\n', NEVER, 50, "nv = 1"),
    "always": Case('kind = "always"\nexpr = "al"\n', NEVER, 51, "al = 0"),
    "onehot": Case('kind = "onehot"\nexpr = "oh"\n', NEVER, 52, "oh = 6"),
    "no_x": Case('kind = "no_x"\nexpr = "nx"\n', NEVER, 53, "nx = 'b1xz0"),
    "range": Case('kind = "range"\nexpr = "rg"\nmin = 10\nmax = 25\n', NEVER, 54, "rg = 1a"),
    "stable": Case('kind = "stable"\nexpr = "st"\nwhen = "st_when"\n', ["st_when"], 56,
                   "st changed from 3 to ffffffffffffffffffff"),
    "change_only_when": Case('kind = "change_only_when"\nexpr = "co"\nwhen = "co_when"\n', ["co"], 60,
                             "co changed from 4 to 84"),
    "monotonic": Case('kind = "monotonic"\nexpr = "mo"\n', NEVER, 62, "mo went from f to 3"),
    "counter": Case('kind = "counter"\nexpr = "cc"\nevent = "ce"\n', ["cc", "ce"], 65, "cc is 10, expected f"),
    "handshake": Case('kind = "handshake"\nvalid = "hv"\nready = "hr"\npayload = ["hp"]\n', ["hv"], 68, "hp"),
    "response": Case('kind = "response"\na = "ra"\nb = "rb"\nlo = 5\nhi = 6\n', ["ra", "rb"], 75,
                     "no rb within 6 cycles of ra at 685.000 ns, cycle 68"),
    "latency": Case('kind = "latency"\na = "la"\nb = "lb"\nmax = 6\n', ["la", "lb"], 75, "7"),
    "match": Case('kind = "match"\nrequest = "mq"\nresponse = "mp"\n', ["mq", "mp"], 76, "mp without mq"),
    "conservation": Case('kind = "conservation"\nin = "ci"\nout = "cq"\n', ["ci", "cq"], 79, "10 in, 11 out"),
    "occupancy": Case('kind = "occupancy"\npush = "op"\npop = "oq"\nmax = 1\n', ["op", "oq"], 84, "2 are inside"),
    "progress": Case('kind = "progress"\nevent = "pe"\nbusy = "!rst"\nmax = 8\n', ["!rst"], 89, "no pe"),
    "throughput": Case('kind = "throughput"\nevent = "te"\nwindow = 10\nat_most = 0.5\n', ["te"], 89, "0.6"),
    "golden": Case('kind = "golden"\nsignals = ["cc"]\ngolden = "@GOLDEN@"\n', "from_ns = 5000\n", 65,
                   "cc became 10, expected f (golden: since cycle 63, 635.000 ns)"),
}
# What the golden wave is: of another tool, and of the other format.
GOLDEN = {"verilator_fst": "icarus_vcd", "verilator_vcd": "gtkwave_fst", "icarus_vcd": "verilator_fst",
          "gtkwave_fst": "verilator_vcd"}


def run(args, **options):
    done = subprocess.run([str(a) for a in args], capture_output=True, text=True, timeout=60, **options)
    return done.returncode, done.stdout, done.stderr


def must(args):
    status, out, err = run(args)
    if status != 0:
        sys.exit(f"{args[0]} ended with {status}:\n{out}{err}")


def make(a):
    a.dir.mkdir(parents=True, exist_ok=True)
    must([a.iverilog, "-g2005", "-o", a.dir / "kinds.vvp", HERE / "icarus.v", HERE / "kinds.v"])
    must([a.vvp, "-n", a.dir / "kinds.vvp", f"+dump={a.dir}/shallow.icarus_vcd", "+shallow"])
    for which, bad in (("good", []), ("bad", ["+bad"])):
        must([a.verilated_fst, a.dir / f"{which}.verilator_fst", *bad])
        must([a.verilated_vcd, a.dir / f"{which}.verilator_vcd", *bad])
        must([a.vvp, "-n", a.dir / "kinds.vvp", f"+dump={a.dir / which}.icarus_vcd", *bad])
        must([a.vcd2fst, a.dir / f"{which}.icarus_vcd", a.dir / f"{which}.gtkwave_fst"])


class Check:
    def __init__(self, a):
        self.a = a
        self.work = a.dir / f"{a.format}.{a.kind}"
        self.work.mkdir(parents=True, exist_ok=True)
        self.faults = []

    def wavecheck(self, rule, which):
        """Exit status, the test case of the JUnit file (or nothing), and what was written to stderr."""
        rules, junit = self.work / "rules.toml", self.work / "junit.xml"
        golden = self.a.dir.resolve() / f"good.{GOLDEN[self.a.format]}"
        rules.write_text(DEFAULTS + rule.replace("@GOLDEN@", str(golden)))
        junit.unlink(missing_ok=True)
        status, out, err = run([self.a.rnicsim, "wavecheck", rules, self.a.dir / f"{which}.{self.a.format}",
                                "--junit", junit])
        case = next(xml.parse(junit).iter("testcase")) if junit.exists() else None
        return status, case, out, err

    def expect(self, what, yes, shown):
        if not yes:
            self.faults.append(f"{what}\n{shown}")

    def run(self):
        kind, case = self.a.kind, CASES[self.a.kind]
        two_state = kind == "no_x" and self.a.format.startswith("verilator")

        status, test, out, err = self.wavecheck(case.rule, "good")
        if two_state:
            # A dump without x can't break the rule, in either wave.
            self.expect("a two-state dump must not pass", status in (1, 2) and "two-state" in out + err, out + err)
            status, test, out, err = self.wavecheck(case.rule, "bad")
            self.expect("a two-state dump must not pass", status in (1, 2) and "two-state" in out + err, out + err)
        else:
            self.expect("the good wave must pass", status == 0 and test is not None and len(test.findall("failure")) == 0,
                        out + err)
            status, test, out, err = self.wavecheck(case.rule, "bad")
            failure = test.find("failure") if test is not None else None
            self.expect("the bad wave must fail", status == 1 and failure is not None, out + err)
            text = out if failure is None else failure.get("message", "") + out
            where = re.search(r"first at ([0-9.]+) ns, cycle (\d+): (.*)", text)
            want = (f"{10 * case.cycle + 5}.000", str(case.cycle))
            self.expect(f"it must fail first in cycle {case.cycle}", where and where.group(1, 2) == want, text)
            self.expect(f"the message must have '{case.says}'", where and case.says in where.group(3), text)

        # Nothing to look at: an error, unless the rule allows it.
        status, test, out, err = self.wavecheck(case.vacuous, "good")
        self.expect("it must be vacuous", status == 1 and "VACUOUS" in out, out + err)
        status, test, out, err = self.wavecheck(case.vacuous + 'vacuous = "ok"\n', "good")
        self.expect("a vacuous rule must pass where that is allowed, which a two-state dump never is for no_x",
                    status == (1 if two_state else 0), out + err)

        # The first expression with a name that is not there, and with an operator too many.
        key, name = re.search(r'^(?!kind)(\w+) = \[?"(\w+)"', case.rule, re.M).group(1, 2)
        lines = (DEFAULTS + case.rule).splitlines()
        line = next(n for n, text in enumerate(lines, 1) if text.startswith(f"{key} = ") and f'"{name}"' in text)
        column = lines[line - 1].index(f'"{name}"') + 2
        status, test, out, err = self.wavecheck(case.rule.replace(f'"{name}"', f'"{name}q0"', 1), "good")
        self.expect("an unknown signal must be named, with the place and the nearest ones",
                    status == 2 and f"rules.toml:{line}:{column}: key '{key}'" in err and f"TOP.kinds.{name}q0'" in err
                    and f"TOP.kinds.{name}" in err.split("nearest:")[-1], err)
        status, test, out, err = self.wavecheck(case.rule.replace(f'"{name}"', f'"{name} &&"', 1), "good")
        self.expect("a broken expression must be named, with line and column",
                    status == 2 and re.search(rf"rules\.toml:{line}:(\d+): key '{key}'", err) is not None
                    and "Traceback" not in err, err)
        status, test, out, err = self.wavecheck(case.rule + "surprise = 1\n", "good")
        self.expect("an unknown key must be named, with what is allowed",
                    status == 2 and "surprise" in err and "allowed" in err and key in err.split("allowed")[-1], err)
        if self.faults:
            sys.exit(f"{self.a.format}, {kind}:\n" + "\n".join(self.faults))


def refused(a):
    """Files that are no waves, or were: exit status 2 and a message, whatever they hold."""
    work = a.dir / "refused"
    work.mkdir(parents=True, exist_ok=True)
    rules = work / "rules.toml"
    rules.write_text(DEFAULTS + CASES["never"].rule)
    faults = []

    def expect(name, data, says):
        path = work / name
        if data is not None:
            path.write_bytes(data)
        status, out, err = run([a.rnicsim, "wavecheck", rules, path])
        if status != 2 or says not in err or str(path) not in err or len(err.splitlines()) != 1:
            faults.append(f"{name}: exit status {status}, expected 2 and '{says}'\n{out}{err}")

    fst, vcd = ((a.dir / f"good.{f}").read_bytes() for f in ("verilator_fst", "icarus_vcd"))
    (work / "folder.vcd").mkdir(exist_ok=True)
    if not (work / "pipe.vcd").exists():
        os.mkfifo(work / "pipe.vcd")
    expect("nothing.vcd", None, "cannot be opened")
    expect("folder.vcd", None, "is a directory")
    expect("pipe.vcd", None, "is a pipe")
    expect("empty.vcd", b"", "is empty")
    expect("text.vcd", b"not a wave\n", "neither FST nor VCD")
    expect("packed.vcd.gz", gzip.compress(vcd), "gunzip")
    for part in (4, 3, 2):
        expect(f"cut{part}.fst", fst[:len(fst) // part], "cut off")
    expect("cut.fst", fst[:-1], "cut off")
    expect("header.vcd", vcd[:vcd.index(b"$enddefinitions") - 20], "cut off")
    expect("line.vcd", vcd[:vcd.rindex(b"b") + 3], "cut off")
    expect("time.vcd", vcd[:vcd.rindex(b"#") + 3], "cut off")
    expect("zeros.fst", fst[:400] + bytes(len(fst) - 400), "FST file")
    expect("undeclared.vcd", vcd + b"1~~~~~\n", "is not declared")
    expect("backward.vcd", vcd + b"#7\n", "lies before")
    # $dumpvars(1): the signals of the top alone, which is no fault of the file.
    shallow = a.dir / "shallow.icarus_vcd"
    status, out, err = run([a.rnicsim, "wavecheck", rules, shallow])
    if status != 2 or "no scope matches 'TOP.kinds'; nearest: TOP" not in err:
        faults.append(f"{shallow}: exit status {status}\n{out}{err}")
    if faults:
        sys.exit("\n".join(faults))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    p = commands.add_parser("make")
    p.add_argument("dir", type=pathlib.Path)
    for tool in ("verilated-fst", "verilated-vcd", "iverilog", "vvp", "vcd2fst"):
        p.add_argument(f"--{tool}", required=True)
    p = commands.add_parser("check")
    p.add_argument("dir", type=pathlib.Path)
    p.add_argument("format", choices=FORMATS)
    p.add_argument("kind", choices=CASES)
    p.add_argument("--rnicsim", required=True)
    p = commands.add_parser("refused")
    p.add_argument("dir", type=pathlib.Path)
    p.add_argument("--rnicsim", required=True)
    a = parser.parse_args()
    if a.command == "make":
        make(a)
    elif a.command == "refused":
        refused(a)
    else:
        Check(a).run()


if __name__ == "__main__":
    main()
