# SPDX-License-Identifier: Apache-2.0
"""Judges our TLPs by cocotbext-pcie's own Tlp class.

usage: judge_tlps.py [--need KIND[:MIN] ...] [--unanswered N] RUN_DIRECTORY...

Of each run directory it takes the TLPs of capture.pcapng, lets the library take them apart, and compares every field with what
tlp.log says of them in words; the library must pack the very same bytes again and find nothing to object. Byte enables and
lengths must be those that the library makes of the same bytes. The completions of each read must have the byte counts and
lower addresses that follow from it, end with its last byte, and leave none open (--unanswered: so many may stay open). The
payload of each frame must be the bytes that the completions of its packet's reads brought.

--need names a kind of which there must be one (or MIN): MRd32, MRd64, MWr32, MWr64, Cpl, CplD, SC, UR, CRS, CA, tag10 (a tag
above 255), poisoned, relaxed, frames (whose payload was compared), reads (with all their completions). Without any TLP the
check fails in any case.

Exit status: 0 all good, 1 a TLP is wrong or something is lacking, 2 bad usage or input.
"""
import argparse
import collections
import logging
import pathlib
import re
import sys

sys.dont_write_bytecode = True
logging.disable(logging.CRITICAL)
from cocotbext.pcie.core.tlp import CplStatus, Tlp, TlpAttr, TlpType  # noqa: E402
from scapy.utils import RawPcapNgReader  # noqa: E402

PCIE, ETHERNET = 147, 1
KINDS = {TlpType.MEM_READ: "MRd32", TlpType.MEM_READ_64: "MRd64", TlpType.MEM_WRITE: "MWr32", TlpType.MEM_WRITE_64: "MWr64",
         TlpType.CPL: "Cpl", TlpType.CPL_DATA: "CplD"}
LINE = re.compile(r" *(\d+) (nic\d+) (in |out) \| (.*) \| ([0-9a-f ]+) \| (\d+) \| (.*)")
REQUEST = re.compile(r"(M(?:Rd|Wr)(?:32|64)) len (\d+) tag (\d+) from (\w{4}) be (\w)/(\w) addr 0x(\w+)(.*)")
COMPLETION = re.compile(r"(CplD?) len (\d+) tag (\d+) from (\w{4}) to (\w{4}) (SC|UR|CRS|CA) bc (\d+) la 0x(\w+)( bcm)?(.*)")
FLAGS = {"ido": "attr", "ro": "attr", "ns": "attr", "th": "th", "td": "td", "ep": "ep"}
PACKET = re.compile(r"QPN (\d+) WQE (\d+) PSN (\d+)")
UDP_ROCE = 4791
# Bytes of extension headers behind the BTH, by opcode within its transport; DETH apart
EXTENSIONS = {0x03: 4, 0x05: 4, 0x06: 16, 0x09: 4, 0x0a: 16, 0x0b: 20, 0x0c: 16, 0x13: 28, 0x14: 28, 0x16: 4, 0x17: 4}


class InputError(Exception):
    """A run directory cannot be read."""


def rare(text):
    """TC, AT, attributes and flags, as the log names what is not 0."""
    fields = {"tc": 0, "at": 0, "attr": TlpAttr(0), "th": False, "td": False, "ep": False}
    words = text.split()
    while words:
        word = words.pop(0)
        if word in ("tc", "at"):
            fields[word] = int(words.pop(0))
        elif FLAGS[word] == "attr":
            fields["attr"] |= TlpAttr[word.upper()]
        else:
            fields[FLAGS[word]] = True
    return fields


def said(text):
    """Fields as our log has them, under the names of the library's class."""
    if m := REQUEST.fullmatch(text):
        kind, length, tag, requester, first, last, address, rest = m.groups()
        return dict(kind=kind, length=int(length), tag=int(tag), requester_id=int(requester, 16), first_be=int(first, 16),
                    last_be=int(last, 16), address=int(address, 16), **rare(rest))
    if m := COMPLETION.fullmatch(text):
        kind, length, tag, completer, requester, status, count, lower, bcm, rest = m.groups()
        return dict(kind=kind, length=int(length), tag=int(tag), completer_id=int(completer, 16),
                    requester_id=int(requester, 16), status=CplStatus[status], byte_count=int(count),
                    lower_address=int(lower, 16), bcm=bool(bcm), **rare(rest))
    return None


def first_offset(tlp):
    """Of a zero-length read 0; the library has 3 there."""
    return tlp.get_first_be_offset() if tlp.first_be else 0


def read_log(path):
    lines = []
    for n, line in enumerate(path.read_text().splitlines(), 1):
        if line.startswith("#"):
            continue
        m = LINE.fullmatch(line)
        if m is None:
            raise InputError(f"{path}:{n}: not a line of a TLP log")
        lines.append((n, *m.groups()))
    return lines


def read_capture(path):
    """TLPs as (NIC, direction, bytes, packet), frames as (NIC, bytes, packet)."""
    tlps, frames = [], []
    try:
        for data, meta in RawPcapNgReader(str(path)):
            nic = meta.ifname.decode().split("/")[0]
            packet = PACKET.search(meta.comments[0].decode()) if meta.comments else None
            packet = (nic, *packet.groups()) if packet else None
            if meta.linktype == PCIE:
                tlps.append((nic, "in " if meta.direction == 1 else "out", data, packet))
            elif meta.linktype == ETHERNET:
                frames.append((nic, data, packet))
    except (OSError, EOFError) as error:
        raise InputError(f"{path}: {error}") from error
    return tlps, frames


class Judge:
    def __init__(self):
        self.count = collections.Counter()
        self.problems = []

    def wrong(self, where, what):
        self.problems.append(f"{where}: {what}")

    def directory(self, path, unanswered):
        log = read_log(path / "tlp.log")
        tlps, frames = read_capture(path / "capture.pcapng")
        if len(log) != len(tlps):
            self.wrong(path, f"{len(log)} TLPs in tlp.log, {len(tlps)} in capture.pcapng")
        open_reads, brought = {}, collections.defaultdict(list)
        for (n, _, nic, direction, text, header, payload, packet), (c_nic, c_direction, raw, c_packet) in zip(log, tlps):
            where = f"{path / 'tlp.log'}:{n}"
            if (nic, direction) != (c_nic, c_direction):
                self.wrong(where, "capture.pcapng has a TLP of another NIC or direction here")
                continue
            if bytes.fromhex(header) != raw[:len(header.split()) * 4] or len(raw) != len(header.split()) * 4 + int(payload):
                self.wrong(where, f"header and payload size are not those of capture.pcapng: {raw[:16].hex()}, {len(raw)} B")
            try:
                tlp = Tlp.unpack(raw)
            except Exception as error:  # the library raises what comes
                self.wrong(where, f"the library cannot read {raw[:16].hex()}: {error!r}")
                continue
            self.fields(where, text, tlp, raw)
            self.pair(where, nic, direction, tlp, open_reads, brought, c_packet)
        if len(open_reads) > unanswered:
            for read in list(open_reads.values())[:5]:
                self.wrong(path, f"a read was never answered: {read[0]!r}")
        self.frames(path, frames, brought)

    def fields(self, where, text, tlp, raw):
        """What our log says is what the library reads."""
        ours = said(text)
        if ours is None:
            self.wrong(where, f"no words of a memory request or completion: {text}")
            return
        kind = ours.pop("kind")
        if KINDS.get(tlp.fmt_type) != kind:
            self.wrong(where, f"we say {kind}, the library {tlp.fmt_type}")
            return
        for name, value in ours.items():
            theirs = getattr(tlp, name)
            theirs = int(theirs) if name in ("requester_id", "completer_id", "tc", "at") else theirs
            if theirs != value:
                self.wrong(where, f"{name}: we say {value!r}, the library {theirs!r}")
        size = 4 * tlp.length if kind in ("CplD", "MWr32", "MWr64") else 0
        if len(tlp.data) != size:
            self.wrong(where, f"{len(tlp.data)} B of payload with length {tlp.length}")
        if bytes(tlp.pack()) != bytes(raw):
            self.wrong(where, f"the library packs other bytes: {bytes(tlp.pack())[:16].hex()}, not {raw[:16].hex()}")
        if not tlp.check():
            self.wrong(where, "the library objects")
        self.count[kind] += 1
        self.count["tag10"] += tlp.tag > 255
        self.count["poisoned"] += tlp.ep
        self.count["relaxed"] += bool(tlp.attr & TlpAttr.RO)
        if tlp.is_completion():
            self.count[tlp.status.name] += 1
        else:
            self.enables(where, tlp)

    def enables(self, where, tlp):
        if tlp.first_be == 0 and tlp.length == 1:
            if tlp.last_be:
                self.wrong(where, "a zero-length read with a last byte enable")
            return
        again = Tlp()
        again.set_addr_be(tlp.address + first_offset(tlp), tlp.get_be_byte_count())
        if (again.address, again.length, again.first_be, again.last_be) != \
                (tlp.address, tlp.length, tlp.first_be, tlp.last_be):
            self.wrong(where, f"for these bytes the library makes len {again.length} be {again.first_be:x}/{again.last_be:x}")

    def pair(self, where, nic, direction, tlp, open_reads, brought, packet):
        """A read with its completions; the bytes that they bring."""
        if tlp.is_posted():
            return
        if not tlp.is_completion():
            key = (nic, direction, int(tlp.requester_id), tlp.tag)
            if key in open_reads:
                self.wrong(where, "the tag is in use")
            read = [tlp, tlp.get_be_byte_count() if tlp.first_be else 1, b"", packet]
            open_reads[key] = read
            if direction == "out" and tlp.first_be:
                brought[packet].append(read)
            return
        key = (nic, "in " if direction == "out" else "out", int(tlp.requester_id), tlp.tag)
        if key not in open_reads:
            self.wrong(where, "a completion that nobody waits for")
            return
        read = open_reads[key]
        request, left, got, _ = read
        if tlp.status != CplStatus.SC:
            self.count["reads"] += 1
            read[2] = None
            del open_reads[key]
            return
        skip = first_offset(request) if not got else 0
        size = max(1, request.get_be_byte_count() if request.first_be else 1)
        lower = (request.address + first_offset(request) + size - left) & 0x7f
        if tlp.byte_count != left:
            self.wrong(where, f"byte count {tlp.byte_count}, but {left} B are still to come")
        if tlp.lower_address != lower:
            self.wrong(where, f"lower address {tlp.lower_address:#x}, but the next byte is at {lower:#x}")
        data = bytes(tlp.data)[skip:][:left]
        read[1], read[2] = left - len(data), got + data
        if read[1] <= 0:
            self.count["reads"] += 1
            del open_reads[key]

    def frames(self, path, frames, brought):
        for n, (_, frame, packet) in enumerate(frames, 1):
            reads = brought.get(packet)
            at = 12
            while frame[at:at + 2] == b"\x81\x00":
                at += 4
            ip = at + 2
            udp = ip + (40 if frame[at:at + 2] == b"\x86\xdd" else 4 * (frame[ip] & 15))
            if not reads or int.from_bytes(frame[udp + 2:udp + 4], "big") != UDP_ROCE:
                continue
            data = [read[2] for read in reads]
            if None in data:
                self.wrong(path, f"frame {n}: one of its packet's reads was refused")
                continue
            opcode = frame[udp + 8]
            start = udp + 20 + EXTENSIONS.get(opcode & 0x1f, 0) + (8 if opcode >> 5 == 3 else 0)
            payload = frame[start:udp + int.from_bytes(frame[udp + 4:udp + 6], "big") - 4 - (frame[udp + 9] >> 4 & 3)]
            # the read of the WQE itself may stand under the name of its first packet
            while data and sum(map(len, data)) > len(payload):
                data.pop(0)
            if b"".join(data) != payload:
                self.wrong(path, f"frame {n}: its payload is not what the completions of its reads brought")
            self.count["frames"] += 1


def need(text):
    kind, _, least = text.partition(":")
    known = {*KINDS.values(), *CplStatus.__members__, "tag10", "poisoned", "relaxed", "frames", "reads"}
    if kind not in known or (least and not least.isdigit()):
        raise argparse.ArgumentTypeError(f"'{text}' is not one of {', '.join(sorted(known))}, with or without ':MIN'")
    return kind, int(least or 1)


def judge_all(directories, needed=(), unanswered=0):
    """Judges them together, prints the counts, and gives the exit status."""
    judge = Judge()
    for directory in directories:
        judge.directory(directory, unanswered)
    total = sum(judge.count[kind] for kind in KINDS.values())
    for kind, n in sorted(judge.count.items()):
        if n:
            print(f"{kind:<10}{n:>8}")
    print(f"{total} TLPs of {len(directories)} runs judged, {len(judge.problems)} problems", flush=True)
    for problem in judge.problems[:20]:
        print(problem, file=sys.stderr)
    pairs = [need(n) if isinstance(n, str) else n for n in needed]
    lacking = [f"{kind} ({judge.count[kind]} of {least})" for kind, least in pairs if judge.count[kind] < least]
    if lacking:
        print(f"not enough of: {', '.join(lacking)}", file=sys.stderr)
    return 1 if judge.problems or lacking or total == 0 else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS)
    parser.add_argument("--need", type=need, action="extend", nargs="+", default=[])
    parser.add_argument("--unanswered", type=int, default=0)
    parser.add_argument("directories", type=pathlib.Path, nargs="+", metavar="RUN_DIRECTORY")
    args = parser.parse_args()
    try:
        return judge_all(args.directories, args.need, args.unanswered)
    except (InputError, OSError) as error:
        print(f"judge_tlps.py: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
