# SPDX-License-Identifier: Apache-2.0
"""Packed structs of rtl/pkg as numbers, for cocotb: the parser of scripts/gen_ports.py reads them, so no bit position
stands here."""
import pathlib
import sys
from types import SimpleNamespace

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import gen_ports  # noqa: E402


class Struct:
    """One packed struct: pack(field=value, ...) gives the number on the port, unpack(number) its fields."""

    def __init__(self, fields, known):
        self.fields = [(name, known[kind].width if kind else width, known[kind] if kind else None)
                       for name, width, kind in fields]
        self.width = sum(width for _, width, _ in self.fields)

    def pack(self, **values):
        word = 0
        for name, width, struct in self.fields:
            value = values.pop(name, 0)
            if struct:
                value = struct.pack(**value) if value else 0
            value = int(value)
            if not 0 <= value < 1 << width:
                raise ValueError(f"{name}: {value:#x} does not fit in {width} bits")
            word = word << width | value
        if values:
            raise KeyError(f"no field {', '.join(values)}")
        return word

    def unpack(self, word):
        at, out = self.width, SimpleNamespace()
        for name, width, struct in self.fields:
            at -= width
            value = word >> at & (1 << width) - 1
            setattr(out, name, struct.unpack(value) if struct else value)
        return out

    def to_bytes(self, **values):
        return self.pack(**values).to_bytes((self.width + 7) // 8, "little")


def load():
    """All structs and constants of the packages, by name."""
    structs, constants = {}, {}
    for path in gen_ports.PACKAGES:
        _, values, found = gen_ports.parse(ROOT / path)
        constants.update(values)
        for name, fields in found:
            structs[name] = Struct(fields, structs)
    return SimpleNamespace(**structs), SimpleNamespace(**constants)


STRUCTS, CONST = load()
