#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the shell blocks (```sh) of a page in one shell, in an empty folder, and stops at the first command that fails.

  tests/docs/tutorial.py docs/ci.md --work out/ci --source . [--screenshot docs/images/ci-pull-request.png]

The page's $RNICSIM_URL is a copy of the source folder's files as they are now, so that the page is tested with what has not been
committed, too. Afterwards --expect TEXT must be in the output; may be given many times.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys


def sh(command, **more):
    return subprocess.run(command, check=True, text=True, **more)


def snapshot(source, target):
    """A git repository with the source folder's files: tracked ones and new ones."""
    names = sh(["git", "-C", source, "ls-files", "-co", "--exclude-standard", "-z"], capture_output=True).stdout
    for name in filter(None, names.split("\0")):
        if (source / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source / name, target / name)
    git = ["git", "-C", target, "-c", "user.name=test", "-c", "user.email=test@example.org"]
    sh([*git, "init", "-q", "-b", "main"])
    sh([*git, "add", "-A"])
    sh([*git, "commit", "-q", "-m", "snapshot"])


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("page", type=pathlib.Path)
    ap.add_argument("--work", type=pathlib.Path, required=True, help="folder to work in; made anew")
    ap.add_argument("--source", type=pathlib.Path, required=True, help="the project's folder")
    ap.add_argument("--expect", action="append", default=[], help="text that the output must hold")
    ap.add_argument("--report", help="HTML page below the page's folder, for --screenshot")
    ap.add_argument("--screenshot", type=pathlib.Path, help="picture of it, made by chromium")
    a = ap.parse_args()
    page, source, work = a.page.resolve(), a.source.resolve(), a.work.resolve()
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    snapshot(source, work / "rnicsim-url")

    blocks = re.findall(r"^```sh\n(.*?)^```$", page.read_text(), re.M | re.S)
    if not blocks:
        sys.exit(f"{page}: no block of shell commands")
    script = "set -euo pipefail\n" + "\n".join(blocks) + "\npwd > \"$TUTORIAL_END\"\n"
    env = dict(os.environ, RNICSIM_URL=str(work / "rnicsim-url"), TUTORIAL_END=str(work / "end"),
               # a submodule out of a folder is not allowed by default
               GIT_CONFIG_COUNT="1", GIT_CONFIG_KEY_0="protocol.file.allow", GIT_CONFIG_VALUE_0="always")
    done = subprocess.run(["bash", "-c", script], cwd=work, env=env, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    print(done.stdout)
    if done.returncode != 0:
        sys.exit(f"{page}: a command ended with {done.returncode}; the output is above, the folder is {work}")
    missing = [t for t in a.expect if t not in done.stdout]
    if missing:
        sys.exit(f"{page}: not in the output: {missing}")
    if a.screenshot:
        report = pathlib.Path((work / "end").read_text().strip()) / a.report
        sh(["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1280,1150",
            f"--screenshot={a.screenshot.resolve()}", report.as_uri()], stderr=subprocess.DEVNULL)
    print(f"{page.name}: {len(blocks)} blocks run")


if __name__ == "__main__":
    main()
