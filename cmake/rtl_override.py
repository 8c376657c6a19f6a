#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads the list of -DRNICSIM_RTL_OVERRIDE and checks what it names; run by cmake/RnicOverride.cmake while configuring.

Every fault is found before anything is built, and all of them are printed, not only the first: faults of the list, Verilator's
own messages about the files, and each port or parameter that differs from ours. Both versions are read by Verilator
(--xml-only), elaborated with the parameters that the NIC sets, so that widths are real ones. Writes a CMake file with what
the build needs:
  RNICSIM_RTL_OVERRIDE_FILES    source files, absolute, in the list's order
  RNICSIM_RTL_OVERRIDE_ARGS     +incdir+ and +define+
  RNICSIM_RTL_OVERRIDE_MODULES  the modules that the files hold
  RNICSIM_RTL_OVERRIDE_DEPENDS  the sources, included files too
  RNICSIM_RTL_OVERRIDE_LISTS    the list, and those that it reads
  RNICSIM_RTL_OVERRIDE_REPLACED <module>|<file> of each module of ours that is replaced
  RNICSIM_RTL_OVERRIDE_EXTRA    <block>|<cycles> of each +latency+
Exit status: 0 good (warnings on stderr), 1 refused (errors on stderr).
"""
import argparse
import difflib
import os
import pathlib
import re
import shlex
import subprocess
import sys
import xml.etree.ElementTree as ET

ALLOWED = "a file, +incdir+DIR, +define+NAME[=VALUE], +latency+BLOCK+CYCLES, -f LIST"
MAX_EXTRA = 1000  # cycles; a typing error rather than a pipeline beyond it
UNITS = {"package", "interface", "program", "class", "primitive", "checker", "bind", "typedef", "function", "config"}


def nearest(name, names):
    found = difflib.get_close_matches(name, sorted(names), 1, 0.4)
    return found[0] if found else None


class FileList:
    """What the list and the lists in it say."""

    def __init__(self, path, blocks, links):
        self.blocks = blocks
        self.links, self.linked = links, {}  # folder for them; link -> path
        self.errors, self.warnings = [], []
        self.files, self.args, self.lists = [], [], []
        self.named = 0  # files, also missing ones
        self.seen = {}  # path -> list:line
        self.shown = {}  # file -> as the list writes it
        self.where = {}  # file -> list:line
        self.extra, self.extra_where = {}, {}
        self.read(path)

    def read(self, path, trail=()):
        self.lists.append(path)
        try:
            text = path.read_bytes().decode("utf-8")
        except (OSError, UnicodeDecodeError) as e:
            self.errors.append(f"{path}: can't be read as text: {e}")
            return
        for number, line in enumerate(text.splitlines(), 1):
            line = re.sub(r"(^|\s)(#|//).*", "", line).strip()
            if line:
                self.line(path, f"{path}:{number}", line, trail + (path,))

    def line(self, path, at, line, trail):
        # A name with spaces may stand alone on its line, or quoted.
        if not line.startswith(("+", "-", '"', "'")) and (path.parent / line).is_file():
            return self.file(path, at, line)
        m = re.match(r"(\+incdir\+)([^\"']*)$", line)
        if m and (path.parent / m.group(2)).is_dir():
            return self.incdir(path, at, m.group(2))
        try:
            words = shlex.split(line)
        except ValueError:
            return self.errors.append(f"{at}: '{line}' has a quotation mark without its other half.")
        if len(words) > 1 and not any(w.startswith(("+", "-")) or (path.parent / w).is_file() for w in words):
            words = [line]  # a file with spaces that does not exist, rather than several
        words = iter(words)
        for w in words:
            if w in ("-f", "-F"):
                name = next(words, None)
                sub = (path.parent / name).resolve() if name else None
                if not sub or not sub.is_file():
                    self.errors.append(f"{at}: the list '{name or ''}' does not exist.")
                elif sub in trail:
                    self.errors.append(f"{at}: the list '{name}' is read by itself.")
                else:
                    self.read(sub, trail)
            elif w.startswith("+define+"):
                self.args += ["+define+" + d for d in w[8:].split("+") if d]
            elif w.startswith("+incdir+"):
                for d in w[8:].split("+"):
                    if d:
                        self.incdir(path, at, d)
            elif w.startswith("+latency+"):
                self.latency(at, w)
            elif w.startswith(("-", "+")):
                self.errors.append(f"{at}: '{w}' is not understood. Allowed: {ALLOWED}.")
            else:
                self.file(path, at, w)

    def plain(self, path):
        """Verilator 5.006 cuts a path at its first space: such a one gets a link without."""
        if not re.search(r"\s", str(path)):
            return path
        link = self.links / str(len(self.linked)) / re.sub(r"\s", "_", path.name)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(path)
        self.linked[str(link)] = str(path)
        return link

    def real(self, text):
        for link, path in self.linked.items():
            text = text.replace(link, path)
        return text

    def incdir(self, path, at, name):
        d = pathlib.Path(os.path.abspath(path.parent / name))
        if not d.is_dir():
            return self.errors.append(f"{at}: the folder '{name}' does not exist (looked for {d}).")
        self.args.append(f"+incdir+{self.plain(d)}")

    def file(self, path, at, name):
        self.named += 1
        f = pathlib.Path(os.path.abspath(path.parent / name))
        if not f.is_file():
            self.errors.append(f"{at}: the file '{name}' does not exist (looked for {f}).")
        elif ";" in str(f) or '"' in str(f):
            self.errors.append(f"{at}: '{name}': a path with ';' or a quotation mark can't be passed on; rename it.")
        elif f in self.seen:
            self.errors.append(f"{at}: '{name}' stands in {self.seen[f]} already.")
        else:
            self.seen[f] = at
            f = self.plain(f)
            self.files.append(f)
            self.shown[f], self.where[f] = name, at

    def latency(self, at, word):
        m = re.match(r"^\+latency\+([^+]*)\+(.*)$", word)
        if not m:
            return self.errors.append(f"{at}: '{word}' is not understood: write +latency+BLOCK+CYCLES, e.g. +latency+tx_packetizer+1.")
        block, number = m.groups()
        timed = {b for b in self.blocks if b != "rnic_top" and not b.endswith("_checker")}
        if block == "rnic_top":
            return self.errors.append(f"{at}: '{word}': rnic_top holds every stage: declare the block beside which the cycles lie.")
        if block not in timed:
            near = nearest(block, timed)
            return self.errors.append(f"{at}: '{word}': there is no block '{block}'."
                                      + (f" Is '{near}' meant?" if near else "") + f" Blocks: {', '.join(sorted(timed))}.")
        if not re.match(r"^[+-]?\d+$", number) or abs(int(number)) > MAX_EXTRA:
            return self.errors.append(f"{at}: '{word}': '{number}' is no number of cycles: a whole number from -{MAX_EXTRA} to "
                                      f"{MAX_EXTRA}, how many more than ours the block takes.")
        if block in self.extra:
            return self.errors.append(f"{at}: the latency of {block} is declared already in {self.extra_where[block]}.")
        self.extra[block], self.extra_where[block] = int(number), at


class Tool:
    """Verilator, with the flags of the build."""

    def __init__(self, a):
        self.a = a
        self.flags = [f for f in a.flags if not re.match(r"--(cc|sc|trace.*|coverage.*|build|exe)$", f)]
        self.ours = a.packages

    def run(self, args):
        r = subprocess.run([self.a.verilator] + args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           errors="replace", cwd=self.a.work)
        return r.returncode, r.stdout, r.stderr

    def preprocess(self, files, args):
        return self.run(["-E", *args, *self.a.dirs, *self.ours, *map(str, files)])

    def elaborate(self, top, sources, args, lint, packages=True):
        """(Xml or None, messages)"""
        out = pathlib.Path(self.a.work) / "elaborated.xml"
        out.unlink(missing_ok=True)
        # Ports are read without warnings: the lint pass over the whole NIC, with the build's flags, tells them, each once.
        how = self.flags if lint else ["-Wno-lint", "-Wno-style", "-Wno-fatal", "--timescale", "1ps/1ps", "--timescale-override", "1ps/1ps"]
        code, _, err = self.run(["--xml-only", *how, "--top-module", top, "--Mdir", str(self.a.work), "--xml-output", str(out),
                                 *args, *self.a.dirs, self.a.waivers, *(self.ours if packages else []), *map(str, sources)])
        text = messages(err)
        if code != 0 or not out.exists():
            return None, text or f"Verilator ended with status {code}"
        try:
            return Xml(out), text
        except ET.ParseError as e:
            return None, f"Verilator's XML of {top} can't be read: {e}"


def messages(text):
    """Verilator's messages, without what says nothing about the user's file: how it ends, advice, and includes of our files."""
    noise = r"%Error: (Exiting due to|Command Failed)|\s*\.\.\. |.*: \.\.\. note: In file included"
    return "\n".join(s for s in text.splitlines() if s and not re.match(noise, s))


class Port:
    def __init__(self, direction, width, text, layout, at):
        self.direction, self.width, self.text, self.layout, self.at = direction, width, text, layout, at


class Param:
    def __init__(self, value, kind, width, local, at):
        self.value, self.kind, self.width, self.local, self.at = value, kind, width, local, at


def constant(text):
    m = re.match(r"^(?:\d+)?'(s?)h([0-9a-fA-F]+)$", text)
    return int(m.group(2), 16) if m else None


class Xml:
    """Modules of an elaborated design: ports and parameters with their real widths and values."""

    def __init__(self, path):
        root = ET.parse(path).getroot()
        self.files = {f.get("id"): f.get("filename") for f in root.iter("file")}
        self.types = {t.get("id"): t for t in root.find("netlist/typetable")}
        self.modules = {m.get("name"): m for m in root.findall("netlist/module") + root.findall("netlist/iface")}

    def at(self, node):
        f, line = node.get("loc").split(",")[:2]
        return self.files[f], int(line)

    def variants(self, origin):
        return [m for m in self.modules.values() if m.get("origName") == origin]

    def origins(self):
        return {m.get("origName") for m in self.modules.values()}

    def instance(self, parent, name):
        for i in self.modules[parent].iter("instance"):
            if i.get("name") == name:
                return self.modules.get(i.get("defName"))
        return None

    def children(self):
        """origin -> origins that it instantiates"""
        out = {}
        for m in self.modules.values():
            for i in m.iter("instance"):
                child = self.modules.get(i.get("defName"))
                if child is not None:
                    out.setdefault(m.get("origName"), set()).add(child.get("origName"))
        return out

    def type(self, ident):
        """(width or None when it is no packed type, text, layout)"""
        t = self.types[ident]
        if t.tag in ("refdtype", "paramtypedtype", "typedef", "constdtype", "enumdtype", "enumtypedtype"):
            width, text, layout = self.type(t.get("sub_dtype_id"))
            return width, text if t.tag != "enumdtype" else t.get("name") or text, layout
        if t.tag == "basicdtype":
            name = t.get("name")
            if name in ("real", "shortreal", "string", "event", "chandle"):
                return None, name, None
            if t.get("left") is None:
                return 1, name, None
            left, right = int(t.get("left")), int(t.get("right"))
            plain = name in ("int", "integer", "byte", "shortint", "longint", "time")
            return abs(left - right) + 1, name if plain else f"{name} [{left}:{right}]", None
        if t.tag == "packarraydtype":
            width, text, _ = self.type(t.get("sub_dtype_id"))
            left, right = (constant(c.get("name")) for c in t.find("range"))
            return (abs(left - right) + 1) * width if width else None, f"{text} [{left}:{right}]", None
        if t.tag in ("structdtype", "uniondtype"):
            members = [(m.get("name"), self.type(m.get("sub_dtype_id"))[0]) for m in t]
            if any(w is None for _, w in members):
                return None, t.get("name") or "struct", None
            widths = [w for _, w in members]
            # Verilator names an unpacked one the same way; it can't be told from the width, but from the build's own message.
            return (sum(widths) if t.tag == "structdtype" else max(widths)), t.get("name") or "struct", members
        if t.tag == "unpackarraydtype":
            _, text, _ = self.type(t.get("sub_dtype_id"))
            left, right = (constant(c.get("name")) for c in t.find("range"))
            return None, f"unpacked array of {text}, [{left}:{right}]", None
        return None, t.tag.replace("dtype", ""), None

    def ports(self, module):
        out = {}
        for v in module.findall("var"):
            direction = v.get("dir")
            if v.get("vartype") == "ifaceref" and not v.get("name").endswith("__Viftop"):
                direction = "interface"
            if direction:
                width, text, layout = (None, "interface", None) if direction == "interface" else self.type(v.get("dtype_id"))
                out[v.get("origName")] = Port(direction, width, text, layout, self.at(v))
        return out

    def params(self, module):
        out = {}
        for v in module.findall("var"):
            local = v.get("localparam") == "true"
            if local or v.get("param") == "true":
                width, text, _ = self.type(v.get("dtype_id"))
                c = v.find("const")
                out[v.get("origName")] = Param(constant(c.get("name")) if c is not None else None,
                                               text if width is None else "value", width, local, self.at(v))
        return out

    def type_params(self, module):
        """Type parameters are entries of the type table only: those in the module's own lines."""
        file, first = self.at(module)
        last = max([self.at(v)[1] for v in module.iter() if v.get("loc") and self.at(v)[0] == file], default=first)
        return {t.get("name"): self.at(t) for t in self.types.values()
                if t.tag == "paramtypedtype" and self.at(t)[0] == file and first <= self.at(t)[1] <= last}


TOKEN = re.compile(r'`line\s+(\d+)\s+"([^"]*)"[^\n]*|//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\\\S+|[A-Za-z_$][\w$]*|\n|\S', re.S)


def declared(text):
    """Of preprocessed text: module -> (file, line), file -> kinds of design units, packages, and modules that come again."""
    modules, units, packages, again = {}, {}, {}, []
    file, line, awaited, previous = "", 1, None, ""
    for m in TOKEN.finditer(text):
        t = m.group(0)
        if m.group(2) is not None:
            file, line = m.group(2), int(m.group(1)) - 1
            continue
        if t == "\n":
            line += 1
            continue
        if t.startswith(("//", "/*", '"')):
            line += t.count("\n")
            continue
        if awaited:
            if t in ("automatic", "static"):
                continue
            name = t.lstrip("\\")
            if awaited == "package":
                packages[name] = (file, line)
            elif name in modules:
                again.append((name, (file, line)))
            else:
                modules[name] = (file, line)
            awaited = None
        elif t in ("module", "macromodule") and previous != "extern":
            awaited = "module"
            units.setdefault(file, set()).add("module")
        elif t == "package":
            awaited = "package"
            units.setdefault(file, set()).add(t)
        elif t in UNITS:
            units.setdefault(file, set()).add(t)
        previous = t
    return modules, units, packages, again


def headers_only(text):
    """Preprocessed text without the modules' bodies, so that a body that a wrong port upsets hides no other port. A module
    whose ports or parameters are declared in its body keeps it."""
    out, done = [], 0
    depth, start, header_end, imported, tokens = 0, None, None, False, []
    level = 0  # of modules
    for m in TOKEN.finditer(text):
        t = m.group(0)
        if m.group(2) is not None or t == "\n" or t.startswith(("//", "/*", '"')):
            continue
        if t in ("module", "macromodule"):
            level += 1
            if level == 1:
                start, header_end, depth, imported, tokens = m.start(), None, 0, False, []
        elif level and t == "endmodule":
            level -= 1
            ansi = not tokens or {"input", "output", "inout", "ref"} & set(tokens) or "." in tokens
            if level == 0 and header_end is not None and ansi and ("#" in tokens or "parameter" not in text[header_end:m.start()]):
                out += [text[done:header_end], re.sub(r"[^\n]", "", re.sub(r"`line[^\n]*", "", text[header_end:m.start()])) + " "]
                done = m.start()
        elif level and start is not None and header_end is None:
            if t in "([{":
                depth += 1
            elif t in ")]}":
                depth -= 1
            elif t == "import" and depth == 0:
                imported = True
            elif t == ";" and depth == 0:
                if imported:
                    imported = False
                else:
                    header_end = m.end()
            if depth or t in "#.":
                tokens.append(t)
    return "".join(out) + text[done:]


def set_parameters(sources, module):
    """Parameters of `module` that our RTL sets where it instantiates it -> file:line."""
    out = {}
    for f in sources:
        text = pathlib.Path(f).read_text()
        for m in re.finditer(rf"\b{module}\s*#\s*\(", text):
            depth, i = 1, m.end()
            while depth and i < len(text):
                if depth == 1 and text[i] == "." and (p := re.match(r"\.(\w+)", text[i:])):
                    out.setdefault(p.group(1), f"{f}:{text.count(chr(10), 0, i) + 1}")
                depth += {"(": 1, ")": -1}.get(text[i], 0)
                i += 1
    return out


class Check:
    def __init__(self, a):
        self.a = a
        self.tool = Tool(a)
        self.blocks = {pathlib.Path(f).stem: f for f in a.modules}
        self.list = FileList(pathlib.Path(a.list), self.blocks, pathlib.Path(a.work) / "links")
        self.errors, self.warnings = self.list.errors, self.list.warnings
        self.depends = list(self.list.files)
        self.modules = {}
        self.replaced, self.narrow = [], set()
        self.root = pathlib.Path(a.root)

    def show(self, at):
        """file:line; our files relative to the project."""
        p = pathlib.Path(self.a.work) / at[0]
        return f"{p.relative_to(self.root) if self.root / 'rtl' in p.parents else p}:{at[1]}"

    def run(self):
        self.find_modules()
        readable = self.good == self.list.files and len(self.list.files) == self.list.named
        before = len(self.errors)
        self.compare()
        if readable and len(self.errors) == before:
            self.lint()
        elif len(self.errors) > before:  # what a wrong port does to a body says nothing new, a wrong body does
            _, text = self.tool.elaborate("rnic_override_probe", [*self.list.files, self.probe([])], self.list.args, lint=False)
            self.verilator_errors(text, "syntax error")
        self.check_latencies()
        if not self.list.files and not self.errors:
            self.warnings.append(f"{self.a.list}: names no file: nothing is replaced.")

    # ---- Which modules there are --------------------------------------------------------------------------------------
    def find_modules(self):
        good = []
        for f in self.list.files:
            where, name = self.list.where[f], self.list.shown[f]
            code, out, err = self.tool.preprocess([*good, f], self.list.args)
            if code != 0:
                self.errors.append(f"{where}: Verilator can't read '{name}':\n{messages(err)}")
                continue
            modules, units, packages, again = declared(out)
            mine = {m: at for m, at in modules.items() if m not in self.modules and at[0] not in self.tool.ours}
            taken = {m: at for m, at in again if at[0] == str(f) or m not in self.modules}
            self.depends += [u for u in re.findall(r'^`line\s+\d+\s+"([^"]*)"', out, re.M)
                             if os.path.isfile(u) and u not in self.tool.ours]
            spoilt = False
            for p, at in packages.items():
                if at[0] not in self.tool.ours and p in {pathlib.Path(o).stem for o in self.tool.ours}:
                    self.errors.append(f"{self.show(at)}: defines package {p}, but packages stay ours. Rename it, and leave out what is ours.")
                    spoilt = True
            for m, at in taken.items():
                self.errors.append(f"{where}: '{name}' defines module {m}, as a file above does ({self.show(modules[m])}).")
                spoilt = True
            mine_units = {u for g, s in units.items() if g not in self.tool.ours and g not in map(str, good) for u in s}
            if not mine_units:
                self.errors.append(f"{where}: '{name}' holds no module.")
                spoilt = True
            if not spoilt:
                self.modules.update(mine)
                good.append(f)
        self.good = good
        self.replaced = [m for m in self.modules if m in self.blocks]

    # ---- Ports and parameters -----------------------------------------------------------------------------------------
    def probe(self, instances):
        """A module that instantiates (module, {parameter: value}) each."""
        f = pathlib.Path(self.a.work) / "rnic_override_probe.sv"
        rows = []
        for i, (module, values) in enumerate(instances):
            given = ", ".join(f".{k}('h{v:x})" for k, v in values.items())
            rows.append(f"  {module} {f'#({given}) ' if given else ''}u{i} ();")
        f.write_text("module rnic_override_probe;\n" + "\n".join(rows) + "\nendmodule\n")
        return f

    def elaborate_theirs(self, instances):
        """Leaves files out whose errors were reported until the rest elaborates."""
        headers = pathlib.Path(self.a.work) / "headers.sv"
        while instances:
            code, text, err = self.tool.preprocess(self.good, self.list.args)
            headers.write_text(headers_only(text))
            xml, text = self.tool.elaborate("rnic_override_probe", [headers, self.probe(instances)], [], lint=False, packages=False)
            if xml:
                return xml, instances
            self.verilator_errors(text)
            named = {f for f in self.good if any(f"{f}:" in s for s in text.splitlines() if s.startswith("%Error"))}
            if not named:
                return None, []
            self.good = [f for f in self.good if f not in named]
            gone = {m for m, at in self.modules.items() if pathlib.Path(at[0]) in named}
            instances = [i for i in instances if i[0] not in gone]
        return None, []

    def verilator_errors(self, text, only=""):
        """What follows the first few of a file is mostly their consequence."""
        count = {}
        for block in re.split(r"\n(?=%)", text):
            file = (re.match(r"%Error[^:]*: ([^:]*):", block) or [None, ""])[1]
            if block.startswith("%Error") and only in block:
                count[file] = count.get(file, 0) + 1
                if "interface is not found" in block:
                    block += "\nPorts stay ours: none of them is an interface."
                if count[file] <= 5 and block not in self.errors:
                    self.errors.append(block)

    def compare(self):
        if not self.replaced:
            return
        ours_top, text = self.tool.elaborate("rnic_top", [self.blocks["rnic_top"]], [], lint=False)
        defaults, text2 = self.tool.elaborate("rnic_override_probe", [self.probe([(m, {}) for m in self.replaced])], [], lint=False)
        if not ours_top or not defaults:
            sys.exit(f"our own RTL does not elaborate:\n{text}\n{text2}")
        self.hierarchy = ours_top.children()
        ours = {m: defaults.instance("rnic_override_probe", f"u{i}") for i, m in enumerate(self.replaced)}

        xml, instances = self.elaborate_theirs([(m, {}) for m in self.replaced])
        if not xml:
            return
        variants = []
        for i, (m, _) in enumerate(instances):
            theirs = xml.instance("rnic_override_probe", f"u{i}")
            usable = self.compare_params(m, defaults.params(ours[m]), xml.params(theirs), xml.type_params(theirs))
            self.compare_ports(m, defaults.ports(ours[m]), xml.ports(theirs), theirs is not None and xml.at(theirs), "")
            seen = []
            for v in ours_top.variants(m):
                values = {k: p.value for k, p in ours_top.params(v).items() if not p.local and k in usable and p.value is not None}
                if values and values not in seen:
                    seen.append(values)
                    variants.append((m, values, ours_top.ports(v)))
        if not variants or self.errors:
            return
        instances = [(m, values) for m, values, _ in variants]
        xml, left = self.elaborate_theirs(instances)
        if not xml or left != instances:
            return
        for i, (m, values, ports) in enumerate(variants):
            theirs = xml.instance("rnic_override_probe", f"u{i}")
            text = ", ".join(f"{k} = {v}" for k, v in values.items())
            for k, p in xml.params(theirs).items():
                if k in values and p.value != values[k]:
                    self.error(p.at, m, f"parameter '{k}' is too narrow ({p.width} bits): {values[k]}, which the NIC sets, becomes {p.value}. "
                                        f"Declare it as ours, in {self.blocks[m]}.")
            self.compare_ports(m, ports, xml.ports(theirs), xml.at(theirs), f" (with {text})")

    def error(self, at, module, text):
        text = f"{self.show(at)}: module {module}: {text}".replace(str(self.root) + "/rtl/", "rtl/")
        if text not in self.errors:
            self.errors.append(text)

    def compare_params(self, m, ours, theirs, types):
        """Returns the parameters that can be set on both."""
        sets = set_parameters(self.a.modules, m)
        usable = set()
        for name, p in ours.items():
            if p.local:
                continue
            by = sets.get(name)
            t = theirs.get(name)
            remedy = f"Declare it as ours ({self.show(p.at)})."
            if t is None and (found := self.type_parameter(m, name)):
                types = {**types, name: found}
            if name in types:
                self.error(types[name], m, f"parameter '{name}' is a type; ours is a value, and the NIC sets it as one. {remedy}")
            elif t is None:
                if by:
                    near = nearest(name, [k for k in theirs if k not in ours and not theirs[k].local])
                    self.error(self.modules[m], m, f"parameter '{name}' is missing, which {by} sets."
                               + (f" Is '{near}' meant to be it?" if near else "") + f" {remedy}")
            elif t.local:
                if by:
                    self.error(t.at, m, f"parameter '{name}' is a localparam; {by} sets it. {remedy}")
            elif t.kind != "value":
                self.error(t.at, m, f"parameter '{name}' is a {t.kind}; ours is a number. {remedy}")
            else:
                usable.add(name)
        return usable

    def type_parameter(self, m, name):
        """One that no port uses is in no XML."""
        file, line = self.modules[m]
        lines = pathlib.Path(file).read_text(errors="replace").split("\n")
        text = re.sub(r"//[^\n]*", "", "\n".join(lines[line - 1:]))
        found = re.match(rf"[^;]*?\bparameter\s+type\b[^;)]*?\b({name})\b\s*=", text)
        return (file, line + text.count("\n", 0, found.start(1))) if found else None

    def compare_ports(self, m, ours, theirs, at, when):
        extra = [n for n in theirs if n not in ours]
        for name, o in ours.items():
            t = theirs.get(name)
            text = f"{o.direction} {o.text}" + (f", {o.width} bits" if (o.width or 1) != 1 else "") + f", {self.show(o.at)}"
            if t is None:
                near = nearest(name, extra)
                self.error(at, m, f"port '{name}' is missing (ours: {text})."
                           + (f" Is '{near}' meant to be it?" if near else "") + " Add it; ports stay ours.")
            elif t.direction != o.direction:
                self.error(t.at, m, f"port '{name}' has the wrong direction: {t.direction} (ours: {text}). Make it {o.direction}.")
            elif t.width is None:
                self.error(t.at, m, f"port '{name}' has the wrong type: {t.text} (ours: {text}). Declare it as ours.")
            elif t.width != o.width:
                if when and (m, name) in self.narrow:
                    continue  # one set of parameters is enough to say so
                self.narrow.add((m, name))
                self.error(t.at, m, f"port '{name}' has the wrong width{when}: {t.width} bits, {t.text} (ours: {text}). Declare it as ours.")
            elif t.layout and o.layout and t.layout != o.layout:
                field = next((f"{b[0]} ({b[1]} bits) stands where ours has {a[0]} ({a[1]} bits)"
                              for a, b in zip(o.layout, t.layout) if a != b), "another number of fields")
                self.error(t.at, m, f"port '{name}' has the wrong type: {t.text}, where {field} (ours: {text}). Declare it as ours.")
        for name in extra:
            t = theirs[name]
            why = "nothing would read it" if t.direction == "output" else "nothing would drive it"
            self.error(t.at, m, f"port '{name}' ({t.direction}) is not among ours: {why}. Remove it; what two blocks of yours "
                                "exchange can go through a module that holds both.")

    # ---- As the build will see it -------------------------------------------------------------------------------------
    def lint(self):
        top = [] if "rnic_top" in self.replaced else [self.blocks["rnic_top"]]
        xml, text = self.tool.elaborate("rnic_top", [*self.good, *top], [*self.list.args, self.a.vlt], lint=True)
        if not xml:
            self.errors.append("The whole NIC with these files is refused by Verilator (warnings count, as in the build):\n" + text)
            return
        used = xml.origins()
        for m, at in self.modules.items():
            if m in used:
                continue
            if m in self.blocks:
                if m in ours_in(self.hierarchy):
                    self.warnings.append(f"{self.show(at)}: module {m} replaces ours, but nothing in the NIC instantiates it any more.")
            else:
                near = nearest(m, self.blocks)
                self.warnings.append(f"{self.show(at)}: module {m} is none of ours, and nothing instantiates it: it changes nothing."
                                     + (f" Is '{near}' meant?" if near else ""))

    def check_latencies(self):
        below = getattr(self, "hierarchy", {})

        def reach(m, seen=None):
            seen = seen if seen is not None else set()
            for c in below.get(m, ()):
                if c not in seen:
                    seen.add(c)
                    reach(c, seen)
            return seen

        for block, at in self.list.extra_where.items():
            related = {block} | reach(block) | {m for m in self.replaced if block in reach(m)}
            if not related & set(self.replaced):
                self.warnings.append(f"{at}: the latency of {block} is declared, but the list replaces neither it nor a block around or inside it.")


def ours_in(children):
    return set(children) | {c for s in children.values() for c in s}


def quoted(values):
    return " ".join("[==[" + str(v) + "]==]" for v in values)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--list", required=True)
    p.add_argument("--root", required=True, help="the project's folder")
    p.add_argument("--work", required=True, help="folder for scratch files")
    p.add_argument("--out", required=True, help="CMake file to write")
    p.add_argument("--vlt", required=True, help="waiver file to write, for the list's files")
    p.add_argument("--verilator", required=True)
    p.add_argument("--waivers", required=True)
    for name in ("flags", "dirs", "packages", "modules"):
        p.add_argument(f"--{name}", action="append", default=[])
    a = p.parse_args()
    pathlib.Path(a.work).mkdir(parents=True, exist_ok=True)
    check = Check(a)
    # The general waivers of rtl/waivers.vlt, with their reasons; and a user's file may hold several modules.
    rules = ("UNUSEDSIGNAL", "UNUSEDPARAM", "SYNCASYNCNET", "DECLFILENAME")
    vlt = "`verilator_config\n" + "".join(f'lint_off -rule {r} -file "{f}"\n' for f in check.list.files for r in rules)
    pathlib.Path(a.vlt).write_text(vlt)
    check.run()
    for w in check.warnings:
        print(f"warning: {check.list.real(w)}", file=sys.stderr)
    if check.errors:
        print(check.list.real("\n".join(check.errors)), file=sys.stderr)
        print("What a replacement must keep: docs/howto/override.md.", file=sys.stderr)
        return 1
    depends = list(dict.fromkeys(str(d) for d in check.depends))
    replaced = [f"{m}|{check.list.shown.get(pathlib.Path(check.modules[m][0]), check.modules[m][0])}" for m in check.replaced]
    lines = [("FILES", check.list.files), ("ARGS", check.list.args), ("MODULES", check.modules), ("DEPENDS", depends), ("LISTS", check.list.lists),
             ("REPLACED", replaced), ("EXTRA", [f"{b}|{n}" for b, n in check.list.extra.items()])]
    pathlib.Path(a.out).write_text("".join(f"set(RNICSIM_RTL_OVERRIDE_{k} {quoted(v)})\n" for k, v in lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
