# SPDX-License-Identifier: Apache-2.0
"""scripts/coverage over small data made here."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FIFO = str(ROOT / "rtl/common/fifo.sv")
COVER = str(ROOT / "tests/cover/icrc_cover.sv")


def point(count, file=FIFO, line=29, column=5, page="v_branch/fifo", comment="if", lines="29-31", hier="TOP.fifo"):
    fields = [("f", file), ("l", line), ("n", column), ("page", page), ("o", comment)]
    if lines:
        fields.append(("S", lines))
    fields.append(("h", hier))
    return "C '" + "".join(f"\x01{k}\x02{v}" for k, v in fields) + f"' {count}\n"


def functional(count, name="frame_of_one_beat", scope="", hier="TOP.icrc"):
    return point(count, file=COVER, line=43, page="v_user/icrc_cover", comment=name, lines="", hier=f"{hier}.u_cover.{scope}{name}")


class CoverageTest(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.dir.name)
        self.write("exclusions.toml", "")

    def tearDown(self):
        self.dir.cleanup()

    def write(self, name, text):
        (self.path / name).parent.mkdir(exist_ok=True)
        (self.path / name).write_text(text)

    def data(self, *lines, name="a/V.dat"):
        self.write(name, "# SystemC::Coverage-3\n" + "".join(lines))

    def run_it(self, *args, status=0, exclusions=True):
        if exclusions:
            args += ("--exclusions", "exclusions.toml")
        env = dict(os.environ, PYTHONIOENCODING="utf-8")
        r = subprocess.run([sys.executable, ROOT / "scripts/coverage", *args], cwd=self.path, env=env, capture_output=True, text=True)
        self.assertEqual(r.returncode, status, r.stdout + r.stderr)
        return r

    def blocks(self, *args, **kw):
        return json.loads(self.run_it("a", "--json", *args, **kw).stdout)["blocks"]

    # Counts of one source line and side are one point, whatever the instance, parameters, test or folder.
    def test_instances_are_summed(self):
        self.data(point(0), point(0, hier="TOP.x.u_fifo", page="v_branch/fifo__D8"))
        self.data(point(2, file="/another/place/rtl/common/fifo.sv"), name="a/W.dat")
        b = self.blocks()["fifo"]
        self.assertEqual(b["branch"], {"hit": 1, "total": 1, "percent": 100.0})
        self.assertEqual(b["line"]["hit"], 3)

    # Two sides of an if, and two ifs of a line, are told apart.
    def test_sides_are_apart(self):
        self.data(point(1), point(0, column=6, comment="else", lines=""), point(0, column=40))
        b = self.blocks()["fifo"]
        self.assertEqual((b["branch"]["hit"], b["branch"]["total"]), (1, 3))
        self.assertEqual(b["line"]["percent"], 100.0)

    # A functional point is named by its label and what it runs over; a hole is listed and costs its share.
    def test_functional_points_are_named(self):
        self.data(functional(3), functional(0, "fill_taken_back", "zero_dws__BRA__7__KET__."),
                  functional(1, "fill_taken_back", "zero_dws__BRA__8__KET__."))
        b = self.blocks()["icrc"]
        self.assertEqual(b["holes"], ["fill_taken_back{zero_dws=7}"])
        self.assertEqual(b["functional"], {"hit": 2, "total": 3, "percent": 66.7})

    # Names of a cover module's `names(dim)` stand for the numbers.
    def test_numbers_get_their_names(self):
        cover = str(ROOT / "tests/cover/tx_qp_state_cover.sv")
        self.data(point(0, file=cover, line=39, page="v_user/x", comment="read", lines="",
                        hier="TOP.tx_qp_state.u_cover.valid__BRA__0__KET__.err__BRA__1__KET__.read"))
        self.assertEqual(self.blocks()["tx_qp_state"]["holes"], ["read{valid=unknown,err=error}"])

    # Never 100 unless all is hit.
    def test_nearly_all_is_not_all(self):
        self.data(*[functional(1, f"p{i}") for i in range(5000)], functional(0, "last"))
        self.assertEqual(self.blocks()["icrc"]["functional"]["percent"], 99.9)

    # An exclusion takes a hole out, with its reason on the page; a hit one is stale, and so is one that names nothing.
    def test_exclusions(self):
        self.data(functional(0), functional(1, "gap_inside_frame"), point(0, line=34, lines="34"))
        self.write("exclusions.toml", '[[exclude]]\nblock="icrc"\npoint="frame_*"\nreason="because <so>"\n'
                   '[[exclude]]\nblock="fifo"\nsource="rd_ready_i) rptr_q"\nside="if"\nreason="it is so"\n')
        r = self.run_it("a", "-o", "out")
        self.assertNotIn("stale", r.stderr)
        summary = json.loads((self.path / "out/summary.json").read_text())
        self.assertEqual(summary["blocks"]["icrc"]["functional"]["percent"], 100.0)
        self.assertEqual(summary["blocks"]["icrc"]["excluded"], 1)
        self.assertEqual(summary["blocks"]["fifo"]["line"]["total"], 0)
        self.assertIn("because &lt;so&gt;", (self.path / "out/index.html").read_text())
        self.write("exclusions.toml", '[[exclude]]\nblock="icrc"\npoint="gap_inside_frame"\nreason="r"\n'
                   '[[exclude]]\nblock="icrc"\npoint="no_such"\nreason="r"\n')
        self.write("floors.toml", "")
        r = self.run_it("a", "--floors", "floors.toml", status=1)
        self.assertIn("names a point that is hit", r.stderr)
        self.assertIn("names a point that does not exist", r.stderr)

    # A block below its floor, or gone from the data, is a failure that names what is not reached.
    def test_floors(self):
        self.data(functional(0), functional(1, "gap_inside_frame"))
        self.write("floors.toml", "[icrc]\nfunctional = 50\n")
        self.run_it("a", "--floors", "floors.toml")
        self.write("floors.toml", "")
        self.assertIn("icrc: has points and no floor", self.run_it("a", "--floors", "floors.toml", status=1).stderr)
        self.write("floors.toml", "[icrc]\nfunctional = 51\n[fifo]\nline = 1\n")
        r = self.run_it("a", "--floors", "floors.toml", status=1)
        self.assertIn("icrc: functional coverage is 50.0 %, below its floor of 51 %", r.stderr)
        self.assertIn("not reached: frame_of_one_beat", r.stderr)
        self.assertIn("fifo: line coverage is - %", r.stderr)
        self.run_it("a", "--min", "icrc=50")
        self.run_it("a", "--min", "icrc=50.5", status=1)
        self.run_it("a", "--min", "icrc.line=1", status=1)

    # A block that is not the project's (an override, its file of any name) has its row; floors and exclusions are not for it.
    def test_replaced_block(self):
        self.data(point(0, file="/elsewhere/mine.sv", page="v_branch/fifo__D8"))
        self.write("floors.toml", "[fifo]\nline = 100\n")
        self.write("exclusions.toml", '[[exclude]]\nblock="fifo"\nsource="not there"\nreason="r"\n')
        r = self.run_it("a", "--floors", "floors.toml")
        self.assertIn("fifo is not the project's", r.stderr)
        self.assertEqual(self.blocks()["fifo"]["branch"]["total"], 1)

    # What was merged is read again with the same result.
    def test_merge_round_trip(self):
        self.data(functional(1), point(4))
        self.data(functional(2), name="b/V.dat")
        self.run_it("a", "b", "--merge", "all.dat")
        self.assertIn("' 3\n", (self.path / "all.dat").read_text())
        first, second = (self.run_it(*d, "--json").stdout for d in (("a", "b"), ("all.dat",)))
        self.assertEqual(first, second)

    # Bad input ends with 2 and says where and what.
    def test_bad_input(self):
        (self.path / "empty").mkdir()
        for args, text in ((("empty",), "holds no .dat file"), (("none",), "no such file"), (("a", "--min", "nothing=1"), "blocks are")):
            self.data(functional(1))
            self.assertIn(text, self.run_it(*args, status=2).stderr)
        for text, what in (("junk\n", ":1: is not Verilator's"), ("# SystemC::Coverage-3\nC 'abc", ":2: is not of the form"),
                           ("# SystemC::Coverage-3\nC '\x01f\x02x' 3\n", "lacks a field"),
                           ("# SystemC::Coverage-3\n" + functional(1)[:-2] + "\xb2\n", ":2: is not of the form")):
            self.write("a/V.dat", text)
            self.assertIn(what, self.run_it("a", status=2).stderr)
        (self.path / "a/V.dat").write_bytes(b"\xff\xfe\x00")
        self.assertIn("cannot be read", self.run_it("a", status=2).stderr)
        self.data(functional(1))
        for text in ('[[exclude]]\nblock="icrc"\npoint="x"\n', '[[exclude]]\nblock="icrc"\nreason="x"\n', "[["):
            self.write("exclusions.toml", text)
            self.assertIn("exclusions.toml", self.run_it("a", status=2).stderr)
        self.write("exclusions.toml", "")
        self.write("floors.toml", '[icrc]\nfunctoinal = 3\n')
        self.assertIn("a floor has numbers for", self.run_it("a", "--floors", "floors.toml", status=2).stderr)


if __name__ == "__main__":
    unittest.main()
