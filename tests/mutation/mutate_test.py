#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/mutate itself: what it weaves into the RTL, what it refuses, and how it scores."""
import contextlib
import importlib.machinery
import importlib.util
import io
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MUTATE = ROOT / "scripts/mutate"
loader = importlib.machinery.SourceFileLoader("mutate", str(MUTATE))  # its name has no .py
mutate = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutate", loader))
sys.modules["mutate"] = mutate
loader.exec_module(mutate)

GOOD = """[[mutant]]
id = "own-1"
block = "fifo"
class = "c"
what = "w"
find = "!fill_o[PtrW]"
with = "1'b0"
killed_by = "fifo.*"
"""


class MutateTest(unittest.TestCase):
    def setUp(self):
        tmp = tempfile.TemporaryDirectory()
        self.addCleanup(tmp.cleanup)
        self.dir = pathlib.Path(tmp.name)

    def run_mutate(self, *args, list_=None):
        if list_ is not None:
            (self.dir / "own.toml").write_bytes(list_ if isinstance(list_, bytes) else list_.encode())
            args += ("--mutants", str(self.dir / "own.toml"))
        r = subprocess.run([sys.executable, str(MUTATE), *args], capture_output=True, text=True)
        return r.returncode, r.stdout, r.stderr

    def expect(self, status, text, list_, command="check"):
        code, _, err = self.run_mutate(command, *(["--no-lint"] if command == "check" else []), list_=list_)
        self.assertEqual(code, status, err)
        self.assertIn(text, err)
        self.assertIn("own.toml", err)

    # A list that fits is accepted beside ours.
    def test_own_list_is_taken(self):
        code, out, err = self.run_mutate("list", list_=GOOD)
        self.assertEqual(code, 0, err)
        self.assertIn("own-1", out)

    # A mutant whose text is gone from the RTL, or stands there twice, fails the check with its line.
    def test_text_must_stand_once(self):
        self.expect(1, "own.toml:1: own-1: find: stands 0 times", GOOD.replace("!fill_o[PtrW]", "!fill_o[PtrX]"))
        self.expect(1, "own.toml:1: own-1: find: stands 2 times", GOOD.replace("!fill_o[PtrW]", "wr_valid_i && wr_ready_o"))
        self.expect(1, "in: stands 0 times", GOOD + 'in = "nowhere"\n')

    # Faulty RTL, here a name that there is not, does not pass the check.
    def test_lint_refuses(self):
        code, _, err = self.run_mutate("check", list_=GOOD.replace("1'b0", "no_such_signal"))
        self.assertEqual(code, 1)
        self.assertIn("no_such_signal", err)

    # Bad lists: file, line, key, and what is allowed.
    def test_bad_lists_are_named(self):
        self.expect(2, "colour: unknown key; allowed: block", GOOD + 'colour = "red"\n')
        self.expect(2, "find: is missing", GOOD.replace("find =", "equivalent ="))
        self.expect(2, "kind: 'text' must be expr or statement", GOOD + 'kind = "text"\n')
        self.expect(2, "killed_by: is missing", GOOD.replace("killed_by", "in"))
        self.expect(2, "killed_by: must be CTest names", GOOD.replace('"fifo.*"', "7"))
        self.expect(2, "what: must be a string", GOOD.replace('what = "w"', "what = 7"))
        self.expect(2, "id: 'own-1' stands already at", GOOD + GOOD)
        self.expect(2, "find: must not be empty", GOOD.replace("!fill_o[PtrW]", " "))
        self.expect(2, "with: must not be empty for an expression", GOOD.replace("1'b0", ""))
        self.expect(1, "block: no module 'fofi'", GOOD.replace('"fifo"', '"fofi"'))
        self.expect(2, "unknown key; allowed: mutant, system_tests", "[[mutants]]\n")
        self.expect(2, "own.toml", "[[mutant]\n")
        self.expect(2, "is no UTF-8 text", b"\xff\xfe")
        code, _, err = self.run_mutate("check", "--mutants", str(self.dir / "none.toml"))
        self.assertEqual(code, 2)
        self.assertIn("none.toml: cannot be read", err)

    # Texts that overlap without one holding the other cannot both be woven in.
    def test_overlap_is_refused(self):
        one = GOOD.replace("!fill_o[PtrW]", "wptr_q - rptr_q;\\n  assign wr_ready_o")
        two = GOOD.replace("own-1", "own-2").replace("!fill_o[PtrW]", "wr_ready_o = !fill_o[PtrW]")
        self.expect(1, "overlaps that of", one + two)

    # Unknown mutants and blocks are answered with what there is.
    def test_unknown_choice(self):
        code, _, err = self.run_mutate("show", "fifo-full-ignore")
        self.assertEqual(code, 2)
        self.assertIn("fifo-full-ignored", err)
        code, _, err = self.run_mutate("list", "--block", "nothing")
        self.assertEqual(code, 2)
        self.assertIn("blocks: ", err)

    # Mutants of ours that do not fit a user's own block are left out, and the user's are not.
    def test_user_block(self):
        text = (ROOT / "rtl/common/fifo.sv").read_text().replace("!fill_o[PtrW]", "(fill_o < (PtrW + 1)'(Depth))")
        (self.dir / "fifo.sv").write_text(text)
        (self.dir / "files.f").write_text("fifo.sv\n")
        code, _, err = self.run_mutate("check", "--override", str(self.dir / "files.f"),
                                       list_=GOOD.replace("!fill_o[PtrW]", "fill_o < (PtrW + 1)'(Depth)"))
        self.assertEqual(code, 0, err)
        self.assertIn("fifo-full-ignored does not fit your fifo: left out", err)
        code, _, err = self.run_mutate("check", "--override", str(self.dir / "files.f"), list_=GOOD)
        self.assertEqual(code, 1)
        self.assertIn("own-1: find: stands 0 times", err)

    def mutant(self, name, find, replace, text, kind="expr"):
        m = mutate.Mutant(name, "m", "c", "w", find, replace, "", kind, ["x.*"], "", "", "p", False, 0)
        m.span = (text.index(find), text.index(find) + len(find))
        return m

    # Mutants of one place, and of a place inside another's, sleep beside each other; only the chosen one acts.
    def test_weaving_nests(self):
        text = "module m (\n  input a\n);\n  always begin y = f(a + b); end\nendmodule\n"
        a, b, c, d = (self.mutant("one", "a + b", "a", text), self.mutant("two", "a + b", "b", text),
                      self.mutant("three", "b)", "0)", text), self.mutant("four", "y = f(a + b);", "", text, "statement"))
        self.assertEqual(
            mutate.weave(text, [a, b, d]),
            "module m (\n  input a\n);" + mutate.DECLARE + "\n  always begin "
            f"begin if (rnic_mutant == {d.number}) begin  end else "
            f"y = f(((rnic_mutant == {b.number}) ? (b) : (((rnic_mutant == {a.number}) ? (a) : (a + b))))); end end\nendmodule\n")
        self.assertNotIn("rnic_mutant", mutate.weave(text, []).replace(mutate.DECLARE, ""))
        self.assertIn(f"{c.number}) ? (0))", mutate.weave(text, [c]))

    # A module's head ends behind its ports, whatever brackets and comments stand in it.
    def test_heads(self):
        text = "// module x\nmodule a #(\n  parameter P = (1) // ;)\n) (\n  input [P-1:0] i\n);\nassign y = 1;\nendmodule\nmodule b; endmodule\n"
        heads = mutate.heads(text)
        self.assertEqual([text[lo:hi].split()[1] for lo, hi in heads.values()], ["a", "b;"])
        self.assertTrue(text[heads["a"][1]:].startswith("\nassign"))

    def result(self, **keys):
        return {"id": "i", "block": "b", "status": "killed", "how": "failed", "killer": "t", "meant": True, "killed_by": ["t"],
                "equivalent": "", "survives": "", "tests": 1} | keys

    # The score leaves equivalent mutants out, and counts listed survivors.
    def test_score(self):
        rows, score = mutate.summary([self.result(), self.result(how="timeout"), self.result(status="survived", survives="s"),
                                      self.result(status="survived", equivalent="e")])
        self.assertAlmostEqual(score, 200 / 3)
        self.assertEqual(rows[0], ["b", 4, 2, 1, 1, 1, "67 %"])

    # Killed by another test than the one meant for it, killed though equivalent, and survived unannounced: all three fail.
    def test_faults(self):
        self.assertEqual(mutate.faults([self.result(), self.result(status="survived", equivalent="e"),
                                        self.result(status="survived", survives="s")]), [])
        self.assertIn("not killed by what its killed_by names", mutate.faults([self.result(meant=False)])[0])
        self.assertIn("said to be equivalent, but t kills it", mutate.faults([self.result(equivalent="e")])[0])
        self.assertIn("survived 1 tests", mutate.faults([self.result(status="survived")])[0])

    # A test that hangs, fails, is aborted by an assertion or passes is told apart, and its process does not stay.
    def test_verdicts(self):
        def run(command, limit=20):
            with contextlib.redirect_stderr(io.StringIO()):
                return mutate.run_test(mutate.Test("t", "p", ["sh", "-c", command], {}), 5, limit)

        self.assertEqual(run("test $RNICSIM_MUTANT = 5")[0], "passed")
        self.assertEqual(run("exit 1")[0], "failed")
        verdict, _, detail = run("echo '[1] %Error: a.sv:7: Assertion failed in TOP.a.b: x'; kill -ABRT $$")
        self.assertEqual((verdict, detail), ("aborted", "assertion TOP.a.b"))
        self.assertEqual(run("sleep 60 & sleep 60", 0.3)[0], "timeout")

    # The tests meant for a mutant come first, then its block's, then the whole NIC's, up to the first that fails.
    def test_order_of_tests(self):
        def run(meant, failing):
            m = self.mutant("m", "a", "b", "a")
            m.block, m.killed_by = "blk", [meant]
            tests = [mutate.Test(n, n.split(".")[0], ["sh", "-c", f"test $RNICSIM_MUTANT = {m.number} && exit {int(n == failing)}"], {})
                     for n in ("sys.S.s", "other.O.o", "blk.B.b", "blk.B.a")]
            r = mutate.run_mutant(m, tests, {t.name: 0.0 for t in tests}, {"sys"})
            return r["status"], r["tests"], r.get("killer"), r.get("meant")

        self.assertEqual(run("blk.B.b", "blk.B.b"), ("killed", 1, "blk.B.b", True))
        self.assertEqual(run("blk.*", "blk.B.b")[2:], ("blk.B.b", True))
        self.assertEqual(run("blk.B.b", "blk.B.a"), ("killed", 2, "blk.B.a", False))
        self.assertEqual(run("blk.B.b", "sys.S.s"), ("killed", 3, "sys.S.s", False))
        self.assertEqual(run("blk.B.b", "other.O.o"), ("survived", 3, None, None))


if __name__ == "__main__":
    unittest.main()
