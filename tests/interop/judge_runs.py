# SPDX-License-Identifier: Apache-2.0
"""Makes run directories and lets judge_tlps.py judge their TLPs.

usage: judge_runs.py --corpus PROGRAM --work DIR [--rnicsim PROGRAM] [--many]

--corpus is tlp_corpus, which writes TLPs of every kind; --rnicsim the simulator, which runs tlps.toml here and scenarios of
sim/scenarios over payload sizes, read sizes, completion boundaries and widths of tags. --many takes more of all. The seed is
RNIC_TEST_SEED (default 1). Exit status: 0 all good, 1 a TLP is wrong or a kind is lacking, 3 a program failed.
"""
import argparse
import itertools
import os
import pathlib
import random
import shutil
import subprocess
import sys

import judge_tlps

HERE = pathlib.Path(__file__).resolve().parent
SCENARIOS = HERE.parents[1] / "sim/scenarios"
CORPUS_NEED = ("MRd32:100", "MRd64:100", "MWr32:50", "MWr64:50", "Cpl:20", "CplD:500", "UR", "CRS", "CA", "poisoned", "relaxed",
               "tag10:100", "reads:100")
RUN_NEED = ("MRd64:100", "MWr64:100", "CplD:100", "tag10:10", "frames:50", "reads:100")


def settings(rng, many):
    """Keys of the profile: MPS, MRRS, RCB, bits of a tag. Each value of each comes."""
    sizes = (128, 256, 512, 1024, 2048, 4096)
    every = list(itertools.product(sizes, sizes, (64, 128), (5, 8, 10)))
    chosen = [(256, 512, 64, 10), (128, 4096, 128, 8), (512, 128, 64, 5), (1024, 256, 128, 10)]
    return chosen + rng.sample(every, 30 if many else 2)


def run(command, where):
    where.mkdir(parents=True)
    try:
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=300, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        print(f"{command[0]}: {error}", file=sys.stderr)
        sys.exit(3)
    if done.returncode:
        print(f"{' '.join(str(c) for c in command)} ended with {done.returncode}:\n{done.stderr}", file=sys.stderr)
        sys.exit(3)


def program(text):
    return pathlib.Path(text).resolve()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     usage=argparse.SUPPRESS)
    parser.add_argument("--corpus", type=program, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--rnicsim", type=program)
    parser.add_argument("--many", action="store_true")
    args = parser.parse_args()
    seed = int(os.environ.get("RNIC_TEST_SEED", "1"))
    rng = random.Random(seed)
    shutil.rmtree(args.work, ignore_errors=True)
    print(f"seed {seed}")

    corpora = [args.work / f"corpus{n}" for n in range(10 if args.many else 1)]
    for corpus in corpora:
        run([args.corpus, corpus, rng.randrange(1 << 32), 3000], corpus)
    status = judge_tlps.judge_all(corpora, CORPUS_NEED)

    if args.rnicsim:
        runs = []
        for mps, mrrs, rcb, tag_bits in settings(rng, args.many):
            runs.append(args.work / f"mps{mps}_mrrs{mrrs}_rcb{rcb}_tag{tag_bits}")
            sets = [f"pcie.mps={mps}", f"pcie.mrrs={mrrs}", f"pcie.rcb={rcb}", f"pcie.tag_bits={tag_bits}"]
            run([args.rnicsim, "-q", "run", HERE / "tlps.toml", "--seed", seed, "-o", runs[-1],
                 *itertools.chain.from_iterable(("--set", s) for s in sets)], runs[-1])
        for scenario in ("faults", "tx_formats", "two_queues"):
            runs.append(args.work / scenario)
            run([args.rnicsim, "-q", "run", SCENARIOS / f"{scenario}.toml", "--seed", seed, "-o", runs[-1]], runs[-1])
        status = max(status, judge_tlps.judge_all(runs, RUN_NEED))
    return status


if __name__ == "__main__":
    sys.exit(main())
