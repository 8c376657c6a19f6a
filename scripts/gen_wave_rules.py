#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/waves/generated/*.toml: the rules that the RTL's ports already say, for `rnicsim wavecheck`.

Verilator elaborates rnic_top and names every instance, port and struct member. From that:

  streams.toml  each X_valid/X_ready pair of rnic_top and of each block in it is a stream: valid stays, and the payload
                (all ports X, X_* of valid's direction) is stable, until ready
  fifos.toml    the same of what stands inside of the blocks; and of each fifo and stream_register the fill level,
                flags, pointers and words against the pushes and pops

`--check` writes nothing and fails when a file on disk differs.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap
import xml.etree.ElementTree as ET

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUT = ROOT / "tests/waves/generated"
TOP = "rnic_top"
AREAS = ["tx", "rx", "pcie", "host", "collective", "common"]
PACKAGES = ["pcie", "roce", "rnic", "crc"]

# Ports that look like a stream and are none yet, with the reason.
NOT_YET = {
    ("rnic_top", "mac_rx"): "tied off: the receive path is not there",
}


def elaborate():
    """Verilator's description of the elaborated design."""
    with tempfile.TemporaryDirectory() as d:
        out = pathlib.Path(d) / "rnic.xml"
        args = ["verilator", "--xml-only", "--xml-output", str(out), "--Mdir", d, "--timescale", "1ps/1ps"]
        for area in AREAS:
            if (ROOT / "rtl" / area).is_dir():
                args += ["-y", str(ROOT / "rtl" / area)]
        args += [f"+incdir+{ROOT / 'rtl/common'}", str(ROOT / "rtl/waivers.vlt")]
        args += [str(ROOT / f"rtl/pkg/{p}_pkg.sv") for p in PACKAGES]
        args += ["--top-module", TOP, str(ROOT / f"rtl/common/{TOP}.sv")]
        try:
            r = subprocess.run(args, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            sys.exit("gen_wave_rules.py: there is no verilator in the PATH: scripts/setup installs it")
        if r.returncode != 0:
            sys.exit(f"gen_wave_rules.py: verilator can't read the RTL:\n{r.stderr}")
        return ET.parse(out).getroot()


class Design:
    def __init__(self, root):
        self.types = {t.get("id"): t for t in root.iter("typetable").__next__()}
        self.modules = {m.get("name"): m for m in root.iter("module")}
        self.instances = []  # (path below the top's scope, module), in the order of the source, each once
        seen = set()
        for cell in root.find("cells").iter("cell"):
            path = re.sub(r"__BRA__(\d+)__KET__", r"[\1]", cell.get("hier"))
            if path not in seen:
                seen.add(path)
                self.instances.append((path, self.modules[cell.get("submodname")]))

    def ports(self, module):
        """Port name -> (direction, id of its type)."""
        return {v.get("name"): (v.get("dir"), v.get("dtype_id")) for v in module.findall("var") if v.get("dir")}

    def parameter(self, module, name):
        for v in module.findall("var"):
            if v.get("name") == name and v.get("param") == "true":
                return int(re.sub(r"^\d+'s?h", "", v.find("const").get("name")), 16)
        sys.exit(f"gen_wave_rules.py: {module.get('origName')} has no parameter {name}")

    def type(self, ident):
        t = self.types[ident]
        while t.tag in ("refdtype", "typedefdtype", "enumdtype"):
            t = self.types[t.get("sub_dtype_id")]
        return t

    def leaves(self, name, ident):
        """The signals that a waveform holds for a port: itself, or the members of its struct."""
        t = self.type(ident)
        if t.tag == "structdtype":
            return [leaf for m in t.findall("memberdtype")
                    for leaf in self.leaves(f"{name}.{m.get('name')}", m.get("sub_dtype_id"))]
        if t.tag != "basicdtype":
            sys.exit(f"gen_wave_rules.py: port {name} is of a kind that is not handled: {t.tag}")
        return [name]

    def width(self, ident):
        t = self.type(ident)
        if t.tag == "structdtype":
            return sum(self.width(m.get("sub_dtype_id")) for m in t.findall("memberdtype"))
        return abs(int(t.get("left", "0")) - int(t.get("right", "0"))) + 1


def streams(design, module):
    """(stream, valid, ready, payload's signals) of a block's ports; several for an array of streams."""
    ports = design.ports(module)
    for name, (direction, ident) in ports.items():
        m = re.match(r"^(\w+)_valid_([io])$", name)
        if not m or (module.get("origName"), m.group(1)) in NOT_YET:
            continue
        stream = m.group(1)
        ready = f"{stream}_ready_{'o' if m.group(2) == 'i' else 'i'}"
        if ready not in ports:
            continue  # always taken
        payload = [(p, t) for p, (d, t) in ports.items() if d == direction and
                   re.match(rf"^{stream}_(?!valid_|ready_)(\w+_)?[io]$", p)]
        lanes = design.width(ident)
        if lanes == 1:
            yield stream, name, ready, [leaf for p, t in payload for leaf in design.leaves(p, t)]
            continue
        for k in range(lanes):
            parts = []
            for p, t in payload:
                w = design.width(t) // lanes
                parts.append(f"{p}[{w * k + w - 1}:{w * k}]")
            yield f"{stream}[{k}]", f"{name}[{k}]", f"{ready}[{k}]", parts


HEAD = """# SPDX-License-Identifier: Apache-2.0
# Generated by scripts/gen_wave_rules.py from the RTL's ports; do not edit.
# {about}
[defaults]
clock = "clk_i"
edge = "rising"
reset = "!rst_ni"
cycle = "TOP.cycle_i"
vacuous = "ok"
"""


def rule(kind, name, scope, keys):
    out = ["", "[[rule]]", f'kind = "{kind}"', f'name = "{name}"', f'scope = "{scope}"']
    for key, value in keys.items():
        if isinstance(value, list):
            text = ", ".join(f'"{v}"' for v in value)
            if len(text) <= 100:
                out.append(f"{key} = [{text}]")
            else:
                out.append(f"{key} = [")
                out += textwrap.wrap(text, 116, initial_indent="  ", subsequent_indent="  ", break_long_words=False)
                out[-1] += "]"
        else:
            out.append(f"{key} = {value}" if isinstance(value, int) else f'{key} = "{value}"')
    return out


def scope_of(path):
    """Stars stand where somebody's version of a block may wrap ours."""
    top, *rest = path.split(".")
    return "**" + ".".join([top, "**.".join(rest)] if rest else [top])


def stream_rules(design, inside):
    out = []
    for path, module in design.instances:
        block = module.get("origName")
        if block.endswith("_checker"):  # for simulation only: observers of the streams
            continue
        if inside != (path.count(".") > 1 or block in ("fifo", "stream_register")):
            continue
        for stream, valid, ready, payload in streams(design, module):
            keys = {"valid": valid, "ready": ready}
            if payload:
                keys["payload"] = payload
            out += rule("handshake", f"{block}: stream {stream}", scope_of(path), keys)
    return out


def fifo_rules(design):
    out = []
    push, pop = "wr_valid_i && wr_ready_o", "rd_valid_o && rd_ready_i"
    for path, module in design.instances:
        scope = scope_of(path)
        if module.get("origName") == "fifo":
            depth = design.parameter(module, "Depth")
            out += rule("occupancy", "fifo: fill level is pushes less pops", scope,
                        {"push": push, "pop": pop, "level": "fill_o", "max": depth})
            out += rule("always", "fifo: takes a word exactly when there is room", scope,
                        {"expr": f"wr_ready_o == (fill_o < {depth})"})
            out += rule("always", "fifo: offers a word exactly when it holds one", scope, {"expr": "rd_valid_o == (fill_o != 0)"})
            out += rule("counter", "fifo: each push moves the write pointer by one", scope,
                        {"expr": "wptr_q", "event": push, "start": 0})
            out += rule("counter", "fifo: each pop moves the read pointer by one", scope,
                        {"expr": "rptr_q", "event": pop, "start": 0})
            out += rule("always", "fifo: a word pushed into the empty FIFO is the next one out", scope,
                        {"expr": "rd_data_o == past(wr_data_i)", "when": f"past({push} && fill_o == 0)"})
            out += rule("change_only_when", "fifo: the word offered changes only with a pop, or when empty", scope,
                        {"expr": "rd_data_o", "when": f"{pop} || fill_o == 0"})
        elif module.get("origName") == "stream_register":
            out += rule("occupancy", "stream_register: holds what was taken and not given on, one at most", scope,
                        {"push": "in_valid_i && in_ready_o", "pop": "out_valid_o && out_ready_i", "level": "out_valid_o", "max": 1})
            out += rule("always", "stream_register: gives on the word that it took", scope,
                        {"expr": "out_data_o == past(in_data_i)", "when": "past(in_valid_i && in_ready_o)"})
            out += rule("change_only_when", "stream_register: its word changes only when it takes one", scope,
                        {"expr": "out_data_o", "when": "in_valid_i && in_ready_o"})
    return out


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("--check", action="store_true", help="fail if a committed file is out of date")
    args = ap.parse_args()
    design = Design(elaborate())
    for name, about, rules in (
        ("streams.toml", "Every valid/ready stream at the ports of the NIC and of its blocks.", stream_rules(design, False)),
        ("fifos.toml", "Streams and FIFOs inside of our blocks; with one of your own they may be other ones.",
         stream_rules(design, True) + fifo_rules(design)),
    ):
        text = "\n".join([HEAD.format(about=about).rstrip("\n"), *rules]) + "\n"
        path = OUT / name
        if args.check:
            if not path.exists() or path.read_text() != text:
                sys.exit(f"{path.relative_to(ROOT)} is out of date: run scripts/gen_wave_rules.py and commit the result")
        else:
            OUT.mkdir(parents=True, exist_ok=True)
            path.write_text(text)


if __name__ == "__main__":
    main()
