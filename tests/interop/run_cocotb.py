# SPDX-License-Identifier: Apache-2.0
"""Runs root_complex_test.py in the Verilated model: cocotb's program does not tell by its exit status whether a test failed.

usage: run_cocotb.py --model PROGRAM --models LIBRARY --libpython LIBRARY --work DIR [--messages N] [--test NAME]

--messages says how many messages each data test moves, --test runs one test only. The seed is RNIC_TEST_SEED (default 1).
Exit status: 0 all good, 1 a test failed or none ran, 3 the program crashed or hung.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import xml.etree.ElementTree

HERE = pathlib.Path(__file__).resolve().parent
TIMEOUT_S = 500


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     usage=argparse.SUPPRESS)
    for name in ("--model", "--models", "--libpython", "--work"):
        parser.add_argument(name, type=pathlib.Path, required=True)
    parser.add_argument("--messages", type=int, default=60)
    parser.add_argument("--test", default="")
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    results = args.work / "results.xml"
    results.unlink(missing_ok=True)
    bin_dir = pathlib.Path(sys.executable).parent
    environment = {**os.environ, "RNIC_INTEROP_LIB": str(args.models), "RNIC_INTEROP_MESSAGES": str(args.messages),
                   "LIBPYTHON_LOC": str(args.libpython), "PYTHONPATH": str(HERE), "PYTHONDONTWRITEBYTECODE": "1",
                   "VIRTUAL_ENV": str(bin_dir.parent), "PATH": f"{bin_dir}{os.pathsep}{os.environ['PATH']}",
                   "MODULE": "root_complex_test", "TOPLEVEL": "interop_top", "TOPLEVEL_LANG": "verilog",
                   "COCOTB_RESULTS_FILE": str(results), "COCOTB_REDUCED_LOG_FMT": "1", "COCOTB_ANSI_OUTPUT": "0"}
    environment.pop("TESTCASE", None)
    if args.test:
        environment["TESTCASE"] = args.test
    try:
        status = subprocess.run([args.model], cwd=args.work, env=environment, timeout=TIMEOUT_S, check=False).returncode
    except (OSError, subprocess.TimeoutExpired) as error:
        print(f"run_cocotb.py: {error}", file=sys.stderr)
        return 3
    if status or not results.exists():
        print(f"run_cocotb.py: {args.model} ended with {status}, results {'there' if results.exists() else 'missing'}",
              file=sys.stderr)
        return 3
    cases = list(xml.etree.ElementTree.parse(results).iter("testcase"))
    failed = [c.get("name") for c in cases if c.find("failure") is not None or c.find("error") is not None]
    ran = len([c for c in cases if c.find("skipped") is None])
    print(f"{ran} tests ran, {len(failed)} failed{': ' if failed else ''}{', '.join(failed)}")
    return 1 if failed or not ran else 0


if __name__ == "__main__":
    sys.exit(main())
