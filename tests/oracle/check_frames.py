#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the Ethernet frames of a pcapng capture with oracles from outside the simulator.

usage: check_frames.py [--expect FILE] [--icrc-only] [--count N] [--tshark PROGRAM] CAPTURE

Every frame's ICRC is checked by tests/data/icrc.py (tshark does not check it), and unless --icrc-only is given tshark
must dissect every frame as Ethernet (with or without a tag) / IPv4 or IPv6 / UDP / InfiniBand, with a right IP header
checksum and nothing malformed. --expect names a file with a line a frame, "opcode destination-QPN PSN" in decimal, that
tshark's reading must equal; further words "field=value" name fields of tshark's (infiniband.reth.va=0x1000; bytes as hex
digits), an empty value a field that the frame must not have.
--count says how many frames there must be. A capture without frames is an error.

Exit status: 0 all good, 1 a frame is wrong or tshark is missing, 2 bad usage or input.
"""
import argparse
import ipaddress
import pathlib
import re
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "data"))
import icrc  # noqa: E402

# Sub-dissectors that guess at SEND and WRITE payloads. Random payload bytes may look like one of these and are then
# called malformed ("Malformed RPCoRDMA"); that says nothing about the RoCE part, so they don't take part.
PAYLOAD_PROTOCOLS = ("rpcordma", "smb_direct", "nvme-rdma", "iser", "infiniband_sdp", "infiniband.eoib")
COLUMNS = ("frame.number", "frame.protocols", "infiniband.bth.opcode", "infiniband.bth.destqp", "infiniband.bth.psn",
           "ip.checksum.status", "_ws.malformed", "infiniband.invariant.crc")
ROCE = re.compile("eth:ethertype:(vlan:ethertype:)?(ip|ipv6):udp:infiniband(.*)")
# Behind the headers tshark guesses in any case: a payload whose third and fourth byte are 0 may be taken for a packet of the
# Ethertype before them. Then it says nothing of payload and ICRC. Of so few frames this is let pass, beside one in fifty.
GUESSED = 2


class InputError(Exception):
    """The capture or the expectation cannot be read."""


def ethernet_frames(path):
    """The packets of all Ethernet interfaces of a little-endian pcapng file."""
    data = path.read_bytes()
    if data[:4] != b"\x0a\x0d\x0d\x0a" or data[8:12] != b"\x4d\x3c\x2b\x1a":
        raise InputError(f"{path}: not a little-endian pcapng file")
    frames, links, at = [], [], 0
    while at < len(data):
        if at + 12 > len(data):
            raise InputError(f"{path}: cut off at byte {at}")
        kind, size = struct.unpack_from("<II", data, at)
        if size < 12 or size % 4 or at + size > len(data):
            raise InputError(f"{path}: bad block length at byte {at}")
        if kind == 1:
            links.append(struct.unpack_from("<H", data, at + 8)[0])
        elif kind == 6:
            interface, captured = struct.unpack_from("<I8xI", data, at + 8)
            if links[interface] == 1:
                frames.append(data[at + 28:at + 28 + captured])
        at += size
    return frames


def check_icrc(frames):
    problems = []
    for n, frame in enumerate(frames, 1):
        try:
            good, got, want, trailing = icrc.check(frame)
        except (struct.error, ValueError, IndexError) as error:
            problems.append(f"frame {n}: ICRC can't be found: {error}")
            continue
        if not good:
            problems.append(f"frame {n}: ICRC is {got and got.hex()}, should be {want and want.hex()}")
        elif trailing and len(frame) > 60:
            problems.append(f"frame {n}: {trailing} bytes behind the ICRC")
    return problems


def expectations(path):
    """A line's three numbers and its (field, value) pairs."""
    lines = []
    for n, line in enumerate(path.read_text().splitlines(), 1):
        words = line.split()
        try:
            lines.append(([int(w) for w in words[:3]], [tuple(w.split("=", 1)) for w in words[3:]]))
        except ValueError:
            raise InputError(f"{path}:{n}: '{line}': opcode, destination QPN and PSN must be decimal") from None
        if len(words) < 3 or any("=" not in w for w in words[3:]):
            raise InputError(f"{path}:{n}: '{line}': should be opcode, destination QPN, PSN, then field=value")
    return lines


def number(text):
    """A field's value in the form in which tshark's and the expected one compare."""
    text = {"True": "1", "False": "0"}.get(text, text)
    for read in (lambda: int(text, 0), lambda: ipaddress.ip_address(text)):
        try:
            return read()
        except ValueError:
            pass
    return text.replace(":", "").lower()


def dissect(tshark, path, columns):
    command = [tshark, "-r", str(path), "-n", "-o", "ip.check_checksum:TRUE", "-T", "fields", "-E", "separator=|",
               "-E", "occurrence=a"]
    for protocol in PAYLOAD_PROTOCOLS:
        command += ["--disable-protocol", protocol]
    for column in columns:
        command += ["-e", column]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise SystemExit(f"'{tshark}' is missing. This check needs it: scripts/setup installs it "
                         "(Debian package tshark).") from None
    if done.returncode:
        raise InputError(f"tshark failed with status {done.returncode}: {done.stderr.strip()}")
    return [dict(zip(columns, line.split("|"))) for line in done.stdout.splitlines()]


def check_dissection(rows, expected):
    problems, guessed = [], []
    for n, row in enumerate(rows, 1):
        roce = ROCE.match(row["frame.protocols"])
        if not roce:
            problems.append(f"frame {n}: not dissected as RoCEv2 but as {row['frame.protocols']}")
            continue
        guess = roce[3] not in ("", ":data")
        if guess:
            guessed.append(f"{n} ({roce[3][1:]})")
        if row["_ws.malformed"] and not guess:
            problems.append(f"frame {n}: malformed ({row['_ws.malformed']}, {row['frame.protocols']})")
        if roce[2] == "ip" and row["ip.checksum.status"] not in ("1", "Good"):
            problems.append(f"frame {n}: IP header checksum is wrong")
        if not row["infiniband.invariant.crc"] and not guess:
            problems.append(f"frame {n}: no ICRC found by tshark")
        if expected is None:
            continue
        want, fields = expected[n - 1]
        for name, field, value in zip(("opcode", "destination QPN", "PSN"), COLUMNS[2:5], want):
            if not row[field] or int(row[field], 0) != value:
                problems.append(f"frame {n}: {name} is {row[field]} to tshark, should be {value}")
        for field, value in fields:
            if {number(text) for text in row[field].split(",")} != {number(value)}:    # tshark may show it twice
                problems.append(f"frame {n}: {field} is '{row[field]}' to tshark, should be '{value}'")
    if len(guessed) > GUESSED + len(rows) // 50:
        problems.append(f"tshark takes the payloads of {len(guessed)} frames for other protocols: {', '.join(guessed[:5])}")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("capture", type=pathlib.Path)
    parser.add_argument("--expect", type=pathlib.Path)
    parser.add_argument("--icrc-only", action="store_true")
    parser.add_argument("--count", type=int)
    parser.add_argument("--tshark", default="tshark")
    args = parser.parse_args()

    frames = ethernet_frames(args.capture)
    if not frames:
        raise InputError(f"{args.capture}: no frames to check")
    problems = check_icrc(frames)
    if args.count is not None and len(frames) != args.count:
        problems.append(f"{len(frames)} frames, should be {args.count}")
    if not args.icrc_only:
        expected = None
        if args.expect:
            expected = expectations(args.expect)
            if len(expected) != len(frames):
                raise InputError(f"{args.expect}: {len(expected)} lines for {len(frames)} frames")
        named = {field for _, fields in expected or () for field, _ in fields}
        rows = dissect(args.tshark, args.capture, COLUMNS + tuple(sorted(named - set(COLUMNS))))
        if len(rows) != len(frames):
            problems.append(f"tshark sees {len(rows)} frames of {len(frames)}")
        else:
            problems += check_dissection(rows, expected)
    for problem in problems[:20]:
        print(problem)
    if len(problems) > 20:
        print(f"... and {len(problems) - 20} more")
    print(f"{len(frames)} frames checked, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (InputError, OSError) as error:
        print(error, file=sys.stderr)
        sys.exit(2)
