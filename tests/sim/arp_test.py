#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rnicsim arp as its users see it: figures, files, frames, refusals. CTest gives the program in RNICSIM."""
import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.environ["RNICSIM"]
SOURCE = pathlib.Path(os.environ["RNICSIM_SOURCE"])
SCRIPT = SOURCE / "sim/share/rnic_allreduce.lua"

sys.dont_write_bytecode = True
sys.path.insert(0, str(SOURCE / "tests/data"))
sys.path.insert(0, str(SOURCE / "tests/oracle"))
import icrc  # noqa: E402
from check_frames import ethernet_frames  # noqa: E402


def run(*args):
    return subprocess.run([PROGRAM, "arp", *map(str, args)], capture_output=True, text=True, timeout=120, check=False)


def npy(descr, shape, data):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


def pcap(frames):
    out = struct.pack("<IHHIIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1)
    for frame in frames:
        out += struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame
    return out


class Base(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, data):
        path = self.folder / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path

    def good(self, *args):
        r = run(*args)
        self.assertEqual(r.returncode, 0, r.stdout + r.stderr)
        return r.stdout

    def bad(self, status, *args):
        r = run(*args)
        self.assertEqual(r.returncode, status, r.stdout + r.stderr)
        return r.stderr

    def json(self, *args):
        return json.loads(self.good(*args, "--json"))


class Vectors(Base):
    def test_tables_say_what_happened(self):
        """Fragments, results, cycles and figures; the result equals the reference."""
        out = self.good("--ranks", 4, "--count", "2k", "--frag", 512)
        for part in ("group 0: 4 ranks, 2048 elements of float, sum; fragments of 512 B", "accepted", "written to GPU memory",
                     "beats of 64 B a cycle", "8192 B of result equal the reference bit for bit", "double precision"):
            self.assertIn(part, out)

    def test_figures_add_up(self):
        """Counters, beats and rates of a run are those of its size, and distinct accumulators go a beat a cycle."""
        j = self.json("--ranks", 8, "--count", "16k", "--type", "bf16", "--frag", 1024)
        c = j["counters"]
        self.assertEqual((c["arp_frag"], c["arp_beat"], c["arp_first"], c["arp_written"], c["arp_acked"]),
                         (256, 4096, 32, 32, 32))
        self.assertEqual(j["arp"]["beats"], 4096)
        self.assertGreater(j["arp"]["beats_per_cycle"], 0.999)
        self.assertLessEqual(j["arp"]["beats_per_cycle"], 1)
        self.assertLessEqual(j["arp"]["slots_most"], 32)
        self.assertTrue(all(x["passed"] for x in j["checks"]))

    def test_equal_accumulators_stall(self):
        """Fragments of one beat to the same accumulators wait for the adder; to distinct ones they do not."""
        burst, rank = (self.json("--frag", 64, "--count", "1k", "--order", o)["arp"] for o in ("burst", "rank"))
        self.assertEqual(rank["stall_cycles"]["hazard"], 0)
        self.assertGreater(rank["beats_per_cycle"], 0.99)
        self.assertGreater(burst["stall_cycles"]["hazard"], 512)  # a cycle a beat at least
        self.assertLess(burst["beats_per_cycle"], 0.5)

    def test_types_operations_and_orders(self):
        """nccl-tests' names and their aliases; each type with each operation."""
        for name, kind in (("half", "half"), ("fp16", "half"), ("bfloat16", "bfloat16"), ("bf16", "bfloat16"),
                           ("float32", "float"), ("int", "int32"), ("int64", "int64")):
            for op in ("sum", "min", "max"):
                j = self.json("--type", name, "--op", op, "--count", 777, "--ranks", 3, "--order", "random", "--values",
                              "special", "--steps", 2, "--gap", 3)
                self.assertEqual((j["groups"][0]["type"], j["groups"][0]["op"]), (kind, op))

    def test_wide_accumulators_are_more_exact(self):
        """FP32 accumulators come nearer to the sum than FP16 ones, an FP32 result nearer still."""
        errors = [self.json("--type", "half", "--ranks", 32, "--count", "4k", *more)["error"][0]["max_relative"]
                  for more in ((), ("--acc32",), ("--wide",))]
        self.assertEqual(sorted(errors, reverse=True), errors)
        self.assertGreater(errors[0], 2 * errors[1])

    def test_faults_are_refused_and_harmless(self):
        """Each kind of fault is counted under its reason, and the result is right all the same."""
        j = self.json("--ranks", 4, "--count", "32k", "--frag", 512, "--duplicate", "10%", "--late", 0.1, "--early", 0.1,
                      "--corrupt", 0.1, "--hostile", 0.2, "--seed", 5)
        refused = j["arp"]["fragments"]["refused"]
        self.assertEqual([n for n, v in refused.items() if v == 0], [])
        self.assertEqual(j["counters"]["arp_frag"], 4 * 256)
        again = self.json("--ranks", 4, "--count", "32k", "--frag", 512, "--duplicate", "10%", "--late", 0.1, "--early", 0.1,
                          "--corrupt", 0.1, "--hostile", 0.2, "--seed", 5)
        self.assertEqual(j, again)

    def test_flipped_bits_lose_their_result(self):
        """A parity error is found, its result is not written, and the run is good: that is what was asked for."""
        j = self.json("--count", "16k", "--flip", 0.5)
        self.assertGreater(j["counters"]["arp_parity"], 0)
        self.assertEqual(j["counters"]["arp_parity"] + j["counters"]["arp_written"], 16)


class Files(Base):
    def test_data_folder_to_result(self):
        """Vectors of numpy's format are added up; the result is an array again."""
        for rank in range(3):
            self.write(f"rank{rank}.npy", npy("<i4", "(100,)", struct.pack("<100i", *(rank * 1000 + i for i in range(100)))))
        result = self.folder / "sum.npy"
        self.good("--data", self.folder, "--type", "int32", "--result", result)
        data = result.read_bytes()
        self.assertIn(b"'<i4'", data)
        self.assertEqual(struct.unpack("<100i", data[-400:]), tuple(3000 + 3 * i for i in range(100)))

    def test_raw_file(self):
        """One raw file with all ranks; a raw result."""
        data = self.write("all.bin", struct.pack("<8f", 1, 2, 3, 4, 10, 20, 30, 40))
        result = self.folder / "sum.bin"
        self.good("--data", data, "--ranks", 2, "--result", result)
        self.assertEqual(struct.unpack("<4f", result.read_bytes()), (11, 22, 33, 44))

    def test_groups_file(self):
        """Groups of a file run side by side, each with a result of its own."""
        groups = self.write("g.toml", '[[group]]\nranks = 3\ncount = 500\ntype = "half"\nacc32 = true\nwide = true\n'
                                      '[[group]]\ngroup = 5\nmembers = [1, 63]\ncount = 2000\ntype = "int64"\nop = "max"\n'
                                      'fragment = 256\n')
        j = self.json("--groups", groups, "--order", "random", "--result", self.folder / "r.bin")
        self.assertEqual([(g["group"], g["ranks"], g["result_bytes"]) for g in j["groups"]], [(0, 3, 2000), (5, 2, 16000)])
        self.assertEqual([os.path.getsize(self.folder / f"r.{n}.bin") for n in (0, 5)], [2000, 16000])

    def test_run_directory(self):
        """-o leaves the files of every simulation: result, frames and TLPs, waveform, report; equal runs give equal ones."""
        def files(name):
            d = self.folder / name
            self.good("--count", "1k", "--frag", 256, "-o", d)
            return d, {f.name: f.read_bytes() for f in d.iterdir()}
        d, first = files("a")
        self.assertEqual(set(first), {"result.json", "profile.toml", "capture.pcapng", "tlp.log", "report.html", "wave.fst",
                                      "wave.gtkw", "wave.sucl"})
        self.assertIn(b"TOP.arp_engine.frag_valid_i", first["wave.gtkw"])
        self.assertIn(b"What became of the fragments", first["report.html"])
        self.assertIn(b"MWr64", first["tlp.log"])
        self.assertEqual(json.loads(first["result.json"])["status"], "good")
        _, second = files("b")
        for name in ("wave.fst", "capture.pcapng", "tlp.log"):
            self.assertEqual(first[name], second[name], name)


class Frames(Base):
    def dump(self, *args):
        path = self.folder / "arp.pcapng"
        self.good("--count", "1k", "--frag", 256, "--ranks", 2, "--dump-frames", path, *args)
        return path

    def dissect(self, path, *fields):
        command = ["tshark", "-X", f"lua_script:{SCRIPT}", "-r", path, "-T", "fields", "-E", "separator=|"]
        for f in fields:
            command += ["-e", f]
        r = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(r.returncode, 0, r.stderr)
        return [line.split("|") for line in r.stdout.splitlines()]

    def test_oracles_take_the_frames(self):
        """Every frame's ICRC is right, tshark reads what was sent, and nothing is complained of."""
        path = self.dump("--type", "half", "--steps", 2)
        frames = ethernet_frames(path)
        self.assertEqual(len(frames), 2 * (2 * 8 + 8))  # steps x (ranks x fragments + acknowledges)
        self.assertTrue(all(icrc.check(f)[0] for f in frames))
        rows = self.dissect(path, "allreduce.opcode", "allreduce.step", "allreduce.rank", "allreduce.offset", "allreduce.type",
                            "allreduce.length", "_ws.malformed")
        sent = sorted((int(s), int(r), int(o)) for op, s, r, o, *_ in rows if op == "0xc0")
        self.assertEqual(sent, [(s, r, o) for s in range(2) for r in range(2) for o in range(0, 2048, 256)])
        self.assertEqual({tuple(r[4:]) for r in rows}, {("0", "256", "")})

    def test_frames_replay(self):
        """The frames of a run give the same result again, with their acknowledges or with automatic ones."""
        first = self.folder / "first.bin"
        path = self.dump("--result", first, "--duplicate", 0.2, "--late", 0.2, "--corrupt", 0.2, "--hostile", 0.2)
        for more in ((), ("--acks", "auto")):
            again = self.folder / "again.bin"
            j = self.json("--count", "1k", "--frag", 256, "--ranks", 2, "--pcap", path, "--result", again, *more)
            self.assertEqual(first.read_bytes(), again.read_bytes())
            self.assertGreater(j["capture"]["damaged"], 0)
            self.assertEqual(j["counters"]["arp_written"], 16)
        j = self.json("--count", "1k", "--frag", 256, "--ranks", 2, "--slots", 4, "--pcap", path, "--acks", "none")
        self.assertEqual(j["counters"]["arp_written"], 4)
        self.assertGreater(j["counters"]["arp_no_slot"], 0)

    def test_cut_off_and_foreign_frames(self):
        """A frame without its end is damaged, other traffic is left out, a file that ends early is used as far as it goes."""
        frames = ethernet_frames(self.dump())
        cut = [f[:-10] if i == 3 else f for i, f in enumerate(frames)]
        data = pcap([b"\xff" * 60, *cut])
        j = self.json("--count", "1k", "--frag", 256, "--ranks", 2, "--pcap", self.write("x.pcap", data[:-5]))
        self.assertEqual((j["capture"]["other"], j["capture"]["damaged"], j["capture"]["ends_early"]), (1, 1, True))
        self.assertEqual(j["counters"]["arp_damaged"], 1)

    def test_hostile_captures(self):
        """Frames with anything changed never hang or crash the run, and the result is what the reference says."""
        frames = ethernet_frames(self.dump())
        rng = random.Random(3)
        for n in range(8):
            hostile = []
            for f in frames:
                b = bytearray(f)
                for _ in range(rng.randrange(3)):
                    b[rng.randrange(len(b))] = rng.randrange(256)
                if rng.random() < 0.5:  # a right ICRC over what was changed, so that the engine has to judge it
                    o, _ = icrc.l3_offset(f)
                    b[o:] = f[o:o + 28] + b[o + 28:]
                    b[-4:] = icrc.icrc_ip(bytes(b[o:-4]))
                hostile.append(bytes(b))
            rng.shuffle(hostile)
            self.good("--count", "1k", "--frag", 256, "--ranks", 2, "--pcap", self.write(f"{n}.pcap", pcap(hostile)), "--acks",
                      rng.choice(("auto", "frames", "none")))


class Usage(Base):
    def test_help_teaches(self):
        """Help ends with examples, and says what each option takes."""
        out = self.good("--help")
        self.assertIn("rnicsim arp", out.split("Examples:")[1])
        self.assertIn("--duplicate", out)

    def test_bad_input_is_status_2(self):
        """Whatever is wrong names itself and what is allowed."""
        bad_toml = self.write("bad.toml", "[[group]]\nranks = 2\ncount = 5\nfragment = 100\n")
        for args, *parts in (
            (("--ranks", 0), "--ranks", "1 to 64"), (("--ranks", 65), "--ranks", "1 to 64"),
            (("--count", 0), "--count"), (("--count", "5g"), "--count", "allowed"),
            (("--type", "double"), "--type", "bfloat16"), (("--op", "avg"), "--op", "sum, min, max"),
            (("--acc32", "--type", "float"), "--type", "half and bfloat16"),
            (("--frag", 100), "--frag", "64, 128"), (("--frag", "8k"), "--frag"),
            (("--chunk", 64), "--chunk"), (("--slots", 3), "--slots", "powers of two"), (("--slots", 1024), "--slots", "at most"),
            (("--group", 64), "--group", "0 to 63"), (("--order", "up"), "--order", "burst"),
            (("--duplicate", 2), "--duplicate", "0 to 1"), (("--late", "x"), "--late"),
            (("--acks", "none"), "--acks", "--pcap"),
            (("--pcap", self.write("a.pcap", "no capture at all")), "a.pcap", "pcap"),
            (("--pcap", self.folder / "none.pcap"), "none.pcap"),
            (("--pcap", bad_toml, "--flip", 1), "--pcap"),
            (("--groups", bad_toml), "bad.toml:4", "fragment", "64, 128"),
            (("--groups", self.write("c.toml", "[[group]\n")), "c.toml:1"),
            (("--data", self.write("d.npy", npy("<f8", "(1, 1)", bytes(8)))), "d.npy", "<f8", "<f4"),
            (("--data", self.write("e.bin", bytes(12))), "e.bin", "--ranks"),
            (("--data", self.folder / "none"), "none"),
            (("--count", "1k", "--result", self.folder / "no" / "r.bin"), "r.bin", "written"),
            (("--trace", "full"), "-o DIR"),
        ):
            error = self.bad(2, *args)
            for part in parts:
                self.assertIn(part, error, args)

    def test_limits_end_the_run(self):
        """A limit of simulated time ends the run with 3 and the line that runs it again."""
        error = self.bad(3, "--count", "64k", "--max-sim-time", "10us")
        self.assertIn("limit", error)
        self.assertIn("to run it again", error)


if __name__ == "__main__":
    unittest.main()
