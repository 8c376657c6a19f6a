#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes everything that follows from the register descriptions in rtl/regs/*.rdl (SystemRDL, read with PeakRDL's compiler):

  include/rnic/regs/regs.h    C++: offsets, fields, enums, and a table of all registers with their descriptions
  rtl/regs/rnic_regs_pkg.sv   the same offsets and fields as SystemVerilog constants
  docs/registers.md           the pages for people

Every run also compares the descriptions with rtl/pkg/rnic_pkg.sv: contexts bit for bit, base addresses, enumerations,
counted pulses. `--check` writes nothing and fails when a file on disk differs. `--html DIR` writes browsable pages.
"""
import argparse
import pathlib
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import gen_ports  # noqa: E402

try:
    from systemrdl import RDLCompiler, RDLCompileError
    from systemrdl.node import AddrmapNode, FieldNode, MemNode, RegfileNode, RegNode
except ImportError:
    sys.exit("gen_regs.py needs systemrdl-compiler: python3 -m venv .venv && .venv/bin/pip install -r requirements.txt, "
             "then run .venv/bin/python scripts/gen_regs.py")

ROOT = pathlib.Path(__file__).resolve().parent.parent
RDL = ROOT / "rtl/regs"
BAR_SIZES = [256 << 10, 256 << 20, 4 << 20]
CONTEXTS = {"qpc": "qpc_t", "cqc": "cqc_t", "mpt": "mpt_t", "query": "query_t"}
BASES = {"qpc": "QpcBase", "cqc": "CqcBase", "mpt": "MptBase", "query": "QueryBase", "free": "DmFreeBase"}
# Source of a counter -> the pulses that it counts
PULSES = {"pulse": "stat_t", "arp": "arp_stat_t"}
# SystemRDL enumeration -> prefix of the constants in rnic_pkg.sv, and members that exist only here
ENUMS = {
    "qp_state_e": ("QpSt", set()),
    "transport_e": ("Trans", set()),
    "sq_where_e": ("Sq", set()),
    "cmd_op_e": ("Cmd", set()),
    "event_kind_e": ("Evt", {"Mmio", "Pcie", "Thermal"}),
}


def camel(text):
    return "".join(p[:1].upper() + p[1:] for p in re.split(r"[_.]", text) if p)


class Register:
    def __init__(self, bar, path, node, offset, dims, fields, memory=False):
        self.bar, self.path, self.node, self.offset, self.dims = bar, path, node, offset, dims
        self.fields, self.memory = fields, memory
        self.bits = node.get_property("memwidth" if memory else "regwidth")
        self.title = node.get_property("name", default="") or ""
        if self.title == node.inst_name:
            self.title = ""
        self.desc = (node.get_property("desc") or "").strip()
        self.source = None if memory else node.get_property("counter_source", default=None)
        self.reset = sum(f.reset << f.lsb for f in fields)
        kinds = {f.access for f in fields}
        self.access = "RW" if memory else kinds.pop() if len(kinds) == 1 else "mixed"

    def text(self):
        title = self.title[:1].upper() + self.title[1:]
        return f"{title}. {self.desc}" if title and not self.source else self.desc


class Field:
    def __init__(self, node: FieldNode):
        self.name, self.lsb, self.width = node.inst_name, node.lsb, node.width
        self.access = {"rw": "RW", "r": "RO", "w": "WO"}[node.get_property("sw").name]
        self.reset = node.get_property("reset") or 0
        self.desc = (node.get_property("desc") or "").strip()
        self.encode = node.get_property("encode")


def defines(consts):
    version = (ROOT / "VERSION").read_text().strip().split(".")
    log2 = {1 << i: i for i in range(64)}
    return {
        "RNIC_NUM_QP": consts["NumQp"], "RNIC_NUM_CQ": consts["NumCq"], "RNIC_NUM_MPT": 1 << consts["MptIdxW"],
        "RNIC_DATA_W": consts["DataW"], "RNIC_NUM_TAGS": consts["NumTags"], "RNIC_MAX_PAYLOAD": consts["MaxPayload"],
        "RNIC_LOG_MPT": consts["MptIdxW"], "RNIC_LOG_DM": log2[BAR_SIZES[1]],
        "RNIC_VERSION_MAJOR": version[0], "RNIC_VERSION_MINOR": version[1], "RNIC_VERSION_PATCH": version[2],
    }


def read_rdl(consts):
    """Returns the three address maps (the BARs) and all registers in order of address."""
    tops, registers = [], []
    compiler = RDLCompiler()
    try:
        for bar in range(3):
            compiler.compile_file(str(RDL / f"bar{bar}.rdl"), defines={k: str(v) for k, v in defines(consts).items()})
        for bar in range(3):
            tops.append(compiler.elaborate(f"bar{bar}").top)
    except RDLCompileError:
        sys.exit("gen_regs.py: the register description has errors, see above")

    def walk(node, bar, path, offset, dims):
        for child in node.children():
            name = path + child.inst_name
            at = offset + child.raw_address_offset
            inner = dims
            if child.is_array:
                if len(child.array_dimensions) != 1:
                    sys.exit(f"gen_regs.py: {name}: arrays of registers have one dimension")
                inner = dims + [(name, child.array_dimensions[0], child.array_stride)]
            if isinstance(child, (RegfileNode, AddrmapNode)):
                walk(child, bar, name + ".", at, inner)
            elif isinstance(child, MemNode):
                inner = inner + [(name, child.get_property("mementries"), child.get_property("memwidth") // 8)]
                registers.append(Register(bar, name, child, at, inner, [], memory=True))
            elif isinstance(child, RegNode):
                if len(inner) > 2:
                    sys.exit(f"gen_regs.py: {name}: at most two nested arrays")
                fields = [Field(f) for f in child.fields()]
                registers.append(Register(bar, name, child, at, inner, fields))
            else:
                sys.exit(f"gen_regs.py: {name}: {type(child).__name__} is not supported")

    for bar, top in enumerate(tops):
        if top.size > BAR_SIZES[bar]:
            sys.exit(f"gen_regs.py: bar{bar}.rdl: 0x{top.size:x} bytes do not fit into BAR{bar}")
        walk(top, bar, "", 0, [])
    return tops, registers


def enums_of(registers):
    found = {}
    for r in registers:
        for f in r.fields:
            if f.encode:
                found.setdefault(f.encode.type_name, f.encode)
    return found


def compare(consts, structs, registers):
    """Every disagreement between the description and rnic_pkg.sv, as a list of sentences."""
    bad = []
    by_path = {(r.bar, r.path): r for r in registers}
    for path, struct in CONTEXTS.items():
        reg, fields, pos = by_path[1, path], {}, sum(w for _, w, _ in structs[struct])
        if reg.bits != pos:
            bad.append(f"{struct} has {pos} bits in rnic_pkg.sv, {reg.bits} in the RDL")
        for name, width, _ in structs[struct]:
            pos -= width
            if not name.startswith("rsvd"):
                fields[name] = (pos, width)
        rdl = {f.name: (f.lsb, f.width) for f in reg.fields}
        for name in sorted(fields.keys() | rdl.keys()):
            a, b = fields.get(name), rdl.get(name)
            if a != b:
                show = lambda x: f"[{x[0] + x[1] - 1}:{x[0]}]" if x else "missing"  # noqa: E731
                bad.append(f"{struct}.{name}: {show(a)} in rnic_pkg.sv, {show(b)} in the RDL")
    for path, name in BASES.items():
        if by_path[1, path].offset != consts[name]:
            bad.append(f"{name} is 0x{consts[name]:x} in rnic_pkg.sv, 0x{by_path[1, path].offset:x} in the RDL")
    if 1 << consts["DmAddrW"] != BAR_SIZES[1]:
        bad.append("DmAddrW does not give the size of BAR1")
    found = enums_of(registers)
    for enum, (prefix, extra) in ENUMS.items():
        rdl = {m.name: m.value for m in found[enum]}
        sv = {n[len(prefix):]: v for n, v in consts.items() if re.match(prefix + "[A-Z]", n)}
        for name in sorted((rdl.keys() | sv.keys()) - extra):
            if rdl.get(name) != sv.get(name):
                bad.append(f"{prefix}{name}: {sv.get(name)} in rnic_pkg.sv, {rdl.get(name)} in the RDL's {enum}")
    for kind, struct in PULSES.items():
        counted = [r.source.partition(":")[2] for r in registers if r.source and r.source.startswith(kind + ":")]
        pulses = [n for n, _, _ in structs[struct]]
        for p in sorted(set(counted) | set(pulses)):
            if counted.count(p) != pulses.count(p):
                bad.append(f"{struct}.{p}: {pulses.count(p)} times in rtl/pkg, counted by {counted.count(p)} registers")
    for r in registers:
        if r.source and not re.match(r"(pulse|arp):\w+$|model$|mac$|pcie$|later$", r.source):
            bad.append(f"{r.path}: counter_source '{r.source}' is none of pulse:<name>, arp:<name>, model, mac, pcie, later")
    return bad


def arrays_of(registers, bar):
    seen = {}
    for r in registers:
        if r.bar == bar and not r.memory:
            for name, count, stride in r.dims:
                seen[name] = (count, stride)
    return seen


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def cpp(registers, structs):
    access = {"RO": "kRead", "WO": "kWrite", "RW": "kReadWrite"}
    out = """// SPDX-License-Identifier: Apache-2.0
// Generated by scripts/gen_regs.py from rtl/regs/*.rdl; do not edit.
// clang-format off
#pragma once

#include <cstdint>

#include "rnic/rtl/bits.h"

namespace rnic::regs {

enum class Access : uint8_t { kRead, kWrite, kReadWrite };

/// A field of a register. Bits are counted from the register's first byte, least significant bit first.
struct Field {
  const char* name;
  uint16_t lsb, width;
  Access access;
  uint64_t reset;
  const char* desc;

  /// In place, for registers of up to 64 bits.
  constexpr uint64_t mask() const { return (width >= 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1) << lsb; }
  constexpr uint64_t get(uint64_t reg) const { return (reg & mask()) >> lsb; }
  constexpr uint64_t set(uint64_t reg, uint64_t value) const { return (reg & ~mask()) | ((value << lsb) & mask()); }
  /// In the little-endian words of a wider register, for fields of up to 64 bits.
  uint64_t get(const uint32_t* words) const { return rtl::peek_bits(words, lsb, width); }
  void put(uint32_t* words, uint64_t value) const { rtl::put_bits(words, lsb, width, value); }
};

/// A register, or an array of them in up to two levels: element (i, j) is at offset + i * stride[0] + j * stride[1].
struct Register {
  const char* name;
  const char* desc;
  uint8_t bar;
  bool memory;           ///< plain memory, without fields
  uint16_t bits;
  uint32_t offset;       ///< in its BAR, of the first element
  uint32_t count[2];
  uint32_t stride[2];    ///< bytes
  const Field* fields;
  uint16_t num_fields;
};

enum class CounterSource : uint8_t {
  kPulse,  ///< counts a pulse of stat_t
  kArp,    ///< counts a pulse of the AllReduce engine's arp_stat_t
  kModel,  ///< counted by the BAR decoder
  kMac,    ///< read from the MAC
  kPcie,   ///< read from the models at the PCIe pins
  kLater,  ///< nobody counts it yet: 0 unless somebody provides it
};

/// A 64-bit counter of BAR2 under its name in ethtool -S or hw_counters.
struct Counter {
  const char* name;
  const char* desc;
  uint32_t offset;
  CounterSource source;
  uint8_t pulse;         ///< kPulse, kArp: bit of stat_t or arp_stat_t
};

""".splitlines()
    for name, enum in enums_of(registers).items():
        out.append(f"enum class {camel(name[:-2])} : uint8_t {{")
        out += [f"  k{m.name} = {m.value},  ///< {m.rdl_desc}" for m in enum]
        out += ["};", ""]
    for bar in range(3):
        out += [f"// ---- BAR{bar} ----", f"namespace bar{bar} {{", f"inline constexpr uint64_t kSize = 0x{BAR_SIZES[bar]:x};"]
        for name, (count, stride) in arrays_of(registers, bar).items():
            out += [f"inline constexpr uint32_t k{camel(name)}Count = {count};",
                    f"inline constexpr uint32_t k{camel(name)}Stride = 0x{stride:x};"]
        for r in (r for r in registers if r.bar == bar):
            out.append(f"inline constexpr uint32_t k{camel(r.path)} = 0x{r.offset:x};")
        for r in (r for r in registers if r.bar == bar and not r.memory):
            out += ["", f"namespace {r.path.replace('.', '_')} {{"]
            for f in r.fields:
                out.append(f"inline constexpr Field k{camel(f.name)}{{\"{f.name}\", {f.lsb}, {f.width}, "
                           f"Access::{access[f.access]}, 0x{f.reset:x}, {quoted(f.desc)}}};")
            out += ["inline constexpr Field kFields[] = {" + ", ".join(f"k{camel(f.name)}" for f in r.fields) + "};", "}"]
        out += [f"}}  // namespace bar{bar}", ""]
    out.append("/// All registers, by BAR and offset.")
    out.append("inline constexpr Register kRegisters[] = {")
    for r in registers:
        dims = (r.dims + [("", 1, 0), ("", 1, 0)])[:2]
        fields = f"bar{r.bar}::{r.path.replace('.', '_')}::kFields, {len(r.fields)}" if r.fields else "nullptr, 0"
        out.append(f"    {{\"{r.path}\", {quoted(r.text())}, {r.bar}, {str(r.memory).lower()}, {r.bits}, 0x{r.offset:x}, "
                   f"{{{dims[0][1]}, {dims[1][1]}}}, {{0x{dims[0][2]:x}, 0x{dims[1][2]:x}}}, {fields}}},")
    out += ["};", "", "/// All counters, by offset; they lie without gaps from kCounterBase on.",
            "inline constexpr Counter kCounters[] = {"]
    counters = [r for r in registers if r.source]
    for i, r in enumerate(counters):
        if r.offset != counters[0].offset + 8 * i:
            sys.exit(f"gen_regs.py: counter {r.path}: counters lie without gaps, 8 bytes each")
        kind, _, pulse = r.source.partition(":")
        pulses = [n for n, _, _ in structs[PULSES[kind]]] if pulse else []
        bit = len(pulses) - 1 - pulses.index(pulse) if pulse in pulses else 0
        out.append(f"    {{\"{r.path}\", {quoted(r.desc)}, 0x{r.offset:x}, CounterSource::k{camel(kind)}, {bit}}},")
    out += ["};", f"inline constexpr uint32_t kCounterBase = 0x{counters[0].offset:x};",
            f"inline constexpr uint32_t kNumCounters = {len(counters)};", "", "}  // namespace rnic::regs", ""]
    return "\n".join(out)


def sv(registers):
    out = ["// SPDX-License-Identifier: Apache-2.0",
           "// Generated by scripts/gen_regs.py from rtl/regs/*.rdl; do not edit.",
           "// Offsets in the BARs, and position (Lsb) and width (W) of the fields that do not fill their register.",
           "package rnic_regs_pkg;", ""]
    for name, enum in enums_of(registers).items():
        width = max(1, max(m.value for m in enum).bit_length())
        out.append(f"  // {name}")
        out += [f"  localparam logic [{width - 1}:0] {camel(name[:-2])}{m.name} = {width}'d{m.value};" for m in enum]
        out.append("")
    for bar in range(3):
        out.append(f"  // ---- BAR{bar} ----")
        out.append(f"  localparam logic [31:0] Bar{bar}Size = 32'h{BAR_SIZES[bar]:08X};")
        for name, (count, stride) in arrays_of(registers, bar).items():
            out += [f"  localparam int unsigned Bar{bar}{camel(name)}Count = {count};",
                    f"  localparam logic [31:0] Bar{bar}{camel(name)}Stride = 32'h{stride:X};"]
        for r in (r for r in registers if r.bar == bar):
            out.append(f"  localparam logic [31:0] Bar{bar}{camel(r.path)} = 32'h{r.offset:08X};")
            for f in r.fields:
                if f.width != r.bits:
                    base = f"Bar{bar}{camel(r.path)}{camel(f.name)}"
                    out += [f"  localparam int unsigned {base}Lsb = {f.lsb};", f"  localparam int unsigned {base}W = {f.width};"]
        out.append("")
    return "\n".join(out + ["endpackage", ""])


def markdown(tops, registers, consts):
    def cell(text):
        return text.replace("|", "\\|")

    def where(r):
        text = f"0x{r.offset:0{width}X}"
        for name, count, stride in r.dims:
            text += f" + 0x{stride:X} * {'ij'[r.dims.index((name, count, stride))]}"
        return text

    def named(r):
        name = r.path
        for i, (array, count, _) in enumerate(r.dims):
            if not r.memory:
                name = name.replace(array, f"{array}[{'ij'[i]}]", 1) if i == 0 else name + f"[{'ij'[i]}]"
        return name

    out = ["<!-- Generated by scripts/gen_regs.py from rtl/regs/*.rdl; do not edit. -->", "# Registers", "",
           "All registers are little-endian. RO: writes have no effect. WO: reads as 0. Bits that are not listed are "
           "reserved: they read as 0 and ignore writes (in the contexts of BAR1, which are plain memory, they are stored "
           "and mean nothing). How the NIC answers requests of every kind stands in "
           "[models/bar_decoder.md](models/bar_decoder.md); the configuration space in "
           "[models/config_space.md](models/config_space.md).", ""]
    used = []
    for bar, top in enumerate(tops):
        width = len(f"{BAR_SIZES[bar] - 1:X}")
        mine = [r for r in registers if r.bar == bar]
        out += [f"## {top.get_property('name')}", "", top.get_property("desc"), ""]
        arrays = {n: c for r in mine if not r.memory for n, c, _ in r.dims}
        if arrays:
            out += ["Arrays: " + ", ".join(f"`{n}` 0..{c - 1}" for n, c in arrays.items()) + ".", ""]
        out += ["| Offset | Register | Bits | Access | Reset | Description |", "|---|---|---|---|---|---|"]
        for r in mine:
            if r.source:
                continue
            bits = f"{r.dims[-1][1] * r.dims[-1][2] >> 20} MiB" if r.memory else r.bits
            at = f"0x{r.offset:0{width}X}" if r.memory else where(r)
            out.append(f"| {at} | `{named(r)}` | {bits} | {r.access} | 0x{r.reset:X} | {cell(r.text())} |")
        out.append("")
        counters = [r for r in mine if r.source]
        if counters:
            out += ["### Counters", "",
                    "64 bits each, read only, cleared together by `counter_ctrl`. Read them with one read of 8 B, or high half, "
                    "low half, high half again. Counted by: *RTL* a pulse of `stat_t`, *AllReduce* a pulse of the engine's "
                    "`arp_stat_t` (allreduce.md; the NIC has no receiver yet, and they read as 0 in it), *model* the BAR "
                    "decoder, *MAC* the MAC, *PCIe* the models at the PCIe pins; "
                    "*later* counters have their place and name, and read as 0 until something counts them.", "",
                    "| Offset | Name | Counted by | Meaning |", "|---|---|---|---|"]
            for r in counters:
                kind, _, pulse = r.source.partition(":")
                by = f"{'RTL' if kind == 'pulse' else 'AllReduce'}, `{pulse}`" if pulse else {"mac": "MAC", "pcie": "PCIe"}.get(kind, kind)
                out.append(f"| 0x{r.offset:0{width}X} | `{r.path}` | {by} | {cell(r.desc)} |")
            out.append("")
        for r in mine:
            if r.memory or r.source or not r.fields:
                continue
            wide = r.bits > 64 and len(r.fields) > 1
            out += [f"### `{named(r)}`", "", f"{'| DW ' if wide else ''}| Bits | Field | Access | Reset | Description |",
                    f"{'|---' if wide else ''}|---|---|---|---|---|"]
            for f in r.fields:
                low, high = f.lsb, f.lsb + f.width - 1
                dw = ""
                if wide:
                    first, last = low // 32, high // 32
                    dw = f"| {first} " if first == last else f"| {first}-{last} "
                bits = f"[{high}:{low}]" if high != low else f"[{low}]"
                desc = f.desc
                if f.encode:
                    desc += f" Values: [{f.encode.type_name[:-2]}](#{f.encode.type_name[:-2]})."
                    if f.encode.type_name not in [e.type_name for e in used]:
                        used.append(f.encode)
                out.append(f"{dw}| {bits} | {f.name} | {f.access} | 0x{f.reset:X} | {cell(desc)} |")
            out.append("")
    out += ["## Enumerations", ""]
    for e in used:
        out += [f"### {e.type_name[:-2]}", "", "| Value | Name | Meaning |", "|---|---|---|"]
        out += [f"| {m.value} | {m.name} | {cell(m.rdl_desc or '')} |" for m in e]
        out.append("")
    return "\n".join(out)


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("--check", action="store_true", help="fail if a committed file is out of date")
    ap.add_argument("--html", metavar="DIR", help="also write browsable pages into DIR (peakrdl-html)")
    args = ap.parse_args()
    _, const_list, struct_list = gen_ports.parse(ROOT / "rtl/pkg/rnic_pkg.sv")
    consts, structs = dict(const_list), dict(struct_list)
    structs["arp_stat_t"] = dict(gen_ports.parse(ROOT / "rtl/pkg/arp_pkg.sv")[2])["arp_stat_t"]
    tops, registers = read_rdl(consts)
    bad = compare(consts, structs, registers)
    if bad:
        sys.exit("rtl/regs/*.rdl and rtl/pkg/rnic_pkg.sv disagree:\n  " + "\n  ".join(bad))
    files = {
        "include/rnic/regs/regs.h": cpp(registers, structs),
        "rtl/regs/rnic_regs_pkg.sv": sv(registers),
        "docs/registers.md": markdown(tops, registers, consts),
    }
    stale = [n for n, text in files.items() if not (ROOT / n).exists() or (ROOT / n).read_text() != text]
    if args.check:
        if stale:
            sys.exit(f"out of date: {', '.join(stale)}; run scripts/gen_regs.py and commit the result")
    else:
        for name in stale:
            (ROOT / name).parent.mkdir(parents=True, exist_ok=True)
            (ROOT / name).write_text(files[name])
    if args.html:
        from peakrdl_html import HTMLExporter
        HTMLExporter(show_signals=False).export(tops, args.html, title="rnicsim registers")


if __name__ == "__main__":
    main()
