#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rnicsim command as its users see it: tables, JSON, files, exit statuses. CTest gives the program in RNICSIM."""
import json
import os
import re
import signal
import subprocess
import tempfile
import time
import unittest
import xml.etree.ElementTree

PROGRAM = os.environ["RNICSIM"]
SOURCE = os.environ["RNICSIM_SOURCE"]
LOG = os.path.join(SOURCE, "tests/data/nccl_log_allreduce_2ranks.txt")


def scenario(name):
    return os.path.join(SOURCE, "sim/scenarios", name + ".toml")


def run(*args, timeout=300):
    return subprocess.run([PROGRAM, *args], capture_output=True, text=True, timeout=timeout, check=False)


class Base(unittest.TestCase):
    def good(self, *args):
        r = run(*args)
        self.assertEqual(r.returncode, 0, r.stderr)
        return r.stdout

    def bad(self, status, *args):
        r = run(*args)
        self.assertEqual(r.returncode, status, r.stdout + r.stderr)
        return r.stderr

    def json(self, *args):
        return json.loads(self.good(*args, "--json"))

    def temporary(self, text, suffix=".txt"):
        with tempfile.NamedTemporaryFile("wb", suffix=suffix, delete=False) as f:
            f.write(text if isinstance(text, bytes) else text.encode())
        self.addCleanup(os.unlink, f.name)
        return f.name

    def directory(self):
        d = tempfile.TemporaryDirectory()
        self.addCleanup(d.cleanup)
        return os.path.join(d.name, "run")


class Usage(Base):
    def test_help_teaches(self):
        """Help of every subcommand ends with examples."""
        self.assertIn("Exit status", self.good("--help"))
        for sub in ("stages", "run", "profile", "regs"):
            self.assertIn("rnicsim " + sub, self.good(sub, "--help").split("Examples:")[1])

    def test_report_of_a_scenario(self):
        """The table of operations, and a row a queue pair of what it has of the line."""
        d = self.directory()
        self.good("run", scenario("sharing"), "-o", d)
        with open(os.path.join(d, "report.html"), encoding="utf-8") as f:
            page = f.read()
        for part in ("<h2>Operations</h2>", "<td class='w'>limited writes</td>", "<h2>Shares of the line</h2>", ">other class</text>"):
            self.assertIn(part, page)

    def test_bad_usage_is_status_2(self):
        """Whatever is wrong with the command line names itself and ends with 2."""
        for args, part in (
            ((), "needs a subcommand"), (("perf",), "write_bw, send_bw"), (("perf", "write_bww"), "write_bw, send_bw"),
            (("bogus",), "'bogus'"),
            (("stages", "--size", "x"), "--size"),
            (("stages", "--op", "read"), "--op"),
            (("stages", "--phase", "abc"), "--phase"),
            (("stages", "--trace", "full"), "-o DIR"),
            (("stages", "--trace", "5:1", "-o", self.directory()), "--trace"),
            (("stages", "--profile", "nope"), "nope"),
            (("stages", "--set", "gpu.read_latenci=1"), "gpu.read_latency"),
            (("stages", "--set", "gpu.read_latency"), "key=value"),
            (("stages", "--max-sim-time", "3 parsec"), "--max-sim-time"),
            (("run",), "--nccl-log"),
            (("run", "no/such/file.toml"), "no/such/file.toml"),
            (("run", scenario("faults"), "--nccl-log", LOG), "excludes"),
            (("regs", "--bar", "3"), "--bar"),
            (("regs", "no_such_register"), "no_such_register"),
            (("stages", "--seed", "-1"), "--seed"),
            (("stages", "--seed", "18446744073709551616"), "18446744073709551616"),
            (("stages", "--max-wall", "nan"), "--max-wall"),
            (("profile", "show", "--json", "--toml"), "excludes"),
            (("stages", "--set", "pcie.pd_credits=3"), "4 to 2047"),
            (("run", "--nccl-log", LOG, "--max-bytes", "-1"), "--max-bytes"),
            (("run", "--nccl-log", LOG, "--max-bytes", "99999999999G"), "--max-bytes"),
            (("run", "--nccl-log", LOG, "--junit", "x.xml"), "--junit"),
        ):
            self.assertIn(part, self.bad(2, *args), args)


class Perf(Base):
    """Rates of the sender's side. Columns are perftest's; figures are held against what must be so on any machine."""

    def row(self, out):
        """Figures of the one line below the columns' names."""
        lines = out.splitlines()
        at = next(i for i, line in enumerate(lines) if line.startswith(" #bytes"))
        return lines[at].split(), lines[at + 1].split()

    def resource(self, result, key):
        return next(r for r in result["wire"]["resources"] if r["key"] == key)

    def test_help_teaches(self):
        """Help ends with examples."""
        for args in (("perf",), ("perf", "write_bw"), ("perf", "send_bw")):
            self.assertIn("rnicsim perf", self.good(*args, "--help").split("Examples:")[1])

    def test_columns(self):
        """perftest's columns in its units; both units say the same."""
        names, mib = self.row(self.good("perf", "write_bw", "-s", "4096", "-n", "40"))
        self.assertEqual(names, "#bytes #iterations BW peak[MB/sec] BW average[MB/sec] MsgRate[Mpps]".split())
        names, gbits = self.row(self.good("perf", "write_bw", "-s", "4k", "-n", "40", "--report_gbits"))
        self.assertEqual(names, "#bytes #iterations BW peak[Gb/sec] BW average[Gb/sec] MsgRate[Mpps]".split())
        self.assertEqual(gbits[:2], ["4096", "40"])
        self.assertAlmostEqual(float(mib[3]) * 2**20 * 8e-9, float(gbits[3]), delta=0.02)
        self.assertAlmostEqual(float(gbits[4]) * 4096 * 8e-3, float(gbits[3]), delta=0.02)
        self.assertGreaterEqual(float(gbits[2]), float(gbits[3]))

    def test_average_counts_from_first_post_to_last_completion(self):
        """The average is what its definition says, out of the result's own instants."""
        j = self.json("perf", "send_bw", "-s", "1000", "-n", "30", "-q", "3")
        r = j["rates"]
        self.assertEqual(r["iterations"], 90)
        seconds = (r["last_completion_ps"] - r["first_post_ps"]) * 1e-12
        self.assertAlmostEqual(r["message_rate_mpps"], 90 / seconds / 1e6, places=6)
        self.assertAlmostEqual(r["bw_average_gbps"], 90 * 8000 / seconds / 1e9, places=6)
        self.assertEqual(j["counters"]["tx_packets_phy"], 93)  # one a QP before, to warm the contexts up
        # The first post begins with building the WQE: its doorbell comes as much later as it must.
        j = self.json("perf", "write_bw", "-s", "64", "-n", "5")
        first_bell = min(m["turn_ps"] for m in j["slowest"]["list"])
        way_ns = 100 + 15 + self.json("stages")["store_to_t0_ns"]  # host.post_cost, host.store_gap
        self.assertAlmostEqual((first_bell - j["rates"]["first_post_ps"]) / 1000, way_ns, places=3)

    def test_large_messages_fill_the_wire(self):
        """64 KiB from GPU memory use up the wire, and the table says so; half the line rate is used up, too."""
        for more in ((), ("--set", "mac.rate=200")):
            j = self.json("perf", "write_bw", "-s", "65536", "-n", "16", "-q", "2", *more)
            w = j["wire"]
            self.assertEqual(w["saturated"]["key"], "wire")
            self.assertEqual(w["frames"], 2 * 16 * 16 * 3 / 4)  # the middle three quarters
            self.assertGreater(w["payload_gbps"], 0.97 * w["frames_allow_gbps"])
            self.assertLess(w["payload_gbps"], w["line_rate_gbps"])
            self.assertLessEqual(self.resource(j, "wire")["utilisation_ratio"], 1.0001)

    def test_posting_cpu_is_the_limit(self):
        """One thread posts one WQE in host.post_cost and host.store_gap; that bounds small messages, and is named."""
        j = self.json("perf", "write_bw", "-s", "64", "-n", "100", "-q", "4", "--set", "host.post_cost=185")
        self.assertEqual(j["wire"]["saturated"]["key"], "cpu")
        self.assertAlmostEqual(j["wire"]["messages_per_s"] / 1e6, 1000 / (185 + 15), delta=0.05)

    def test_prepost_takes_the_cpu_out(self):
        """All WQEs in the rings: far more than the CPU could post, one doorbell a QP, one completion a QP."""
        j = self.json("perf", "write_bw", "-s", "64", "-n", "200", "-q", "16", "--prepost")
        self.assertGreater(j["wire"]["messages_per_s"], 100e6)
        self.assertEqual(j["options"]["cq_mod"], 200)
        self.assertEqual(j["latencies"]["post_to_completion"]["count"], 16)
        self.assertEqual(j["counters"]["tx_packets_phy"], 16 * 201)

    def test_one_qp_is_bound_by_its_loop(self):
        """Small messages of one QP: no resource is used up, and the reason is named."""
        w = self.json("perf", "write_bw", "-s", "64", "-n", "200", "--prepost")["wire"]
        self.assertFalse(w["saturated"]["saturated"])
        self.assertEqual(w["saturated"]["key"], "qp_loop")

    def test_credits_bound(self):
        """Few non-posted credits and a long link: they are out most of the time, and that is the bound."""
        j = self.json("perf", "write_bw", "-s", "64", "-n", "200", "-q", "16", "--prepost", "--set",
                      "pcie.nph_credits=4", "--set", "pcie.nic_link_latency=200")
        self.assertEqual(j["wire"]["saturated"]["key"], "credits_nph")
        self.assertEqual(self.resource(j, "credits_nph")["most_in_flight"], 4)  # never more than there are
        self.assertIn("credits", " ".join(m["cause"] for m in j["slowest"]["list"]))

    def test_duration(self):
        """A run of a given time ends then; what was done in it is counted."""
        j = self.json("perf", "write_bw", "-s", "4096", "-D", "20us", "-l", "8")
        self.assertGreater(j["rates"]["iterations"], 50)
        self.assertLessEqual(j["rates"]["last_completion_ps"] - j["rates"]["first_post_ps"], 20_000_000)

    def test_queue_options(self):
        """Lists, moderation and depth in odd relations end, with every message sent."""
        for args in (("-l", "7", "-Q", "3", "-t", "16"), ("-l", "16", "-Q", "100", "-t", "16"), ("-Q", "1", "-t", "1"),
                     ("-l", "5", "-t", "13", "-Q", "9"), ("--sq", "bf", "-Q", "4"), ("-n", "33", "-l", "32"),
                     ("--mem", "host", "-c", "RC", "-m", "256")):
            j = self.json("perf", "send_bw", "-s", "300", *(() if "-n" in args else ("-n", "33")), "-q", "2", *args)
            self.assertEqual(j["rates"]["iterations"], 66, args)

    def test_refused(self):
        """What can't be is refused, with the option's name and what to do."""
        for args, parts in (
            (("-b",), ("-b", "receive side")),
            (("-I", "221"), ("-I", "220")),
            (("-s", "0"), ("-s", "1 to")),
            (("-s", "3G"), ("-s", "2 GiB")),
            (("-q", "0"), ("--qp",)),
            (("-q", "1024"), ("--qp",)),
            (("-m", "1500"), ("--mtu",)),
            (("-l", "200"), ("-l", "128")),
            (("-n", "10", "-D", "1us"), ("-D", "not both")),
            (("-a", "-D", "1us"), ("-D", "-a")),
            (("-D", "5"), ("-D", "ns, us")),
            (("--prepost", "-n", "40000"), ("-n", "32768")),
            (("--prepost", "--sq", "bf"), ("--prepost", "device")),
            (("--prepost", "-D", "1us"), ("--prepost", "-n")),
            (("-c", "UD"), ("--connection",)),
            (("--trace", "full"), ("--trace", "-o DIR")),
            (("-a", "--trace", "full"), ("--trace", "-o DIR")),
        ):
            err = self.bad(2, "perf", "write_bw", *args)
            for part in parts:
                self.assertIn(part, err, args)
        self.bad(2, "perf")
        self.bad(2, "perf", "read_bw")

    def test_run_directory(self):
        """The report shows resources, slowest messages and histograms; equal runs give equal files."""
        a, b = self.directory(), self.directory()
        for d in (a, b):
            self.good("perf", "write_bw", "-s", "256", "-n", "60", "-q", "4", "--prepost", "-o", d)
        with open(os.path.join(a, "report.html"), encoding="utf-8") as f:
            html = f.read()
        for part in ("Resources", "Use over time", "Slowest messages", "Latencies", "<b>Saturated:</b>"):
            self.assertIn(part, html)
        for name in ("capture.pcapng", "tlp.log"):
            with open(os.path.join(a, name), "rb") as x, open(os.path.join(b, name), "rb") as y:
                self.assertEqual(x.read(), y.read(), name)
        with open(os.path.join(a, "result.json"), encoding="utf-8") as f:
            result = json.load(f)
        self.assertEqual(len(result["slowest"]["list"]), 10)
        for m in result["slowest"]["list"]:
            self.assertAlmostEqual(sum(s["duration_ns"] for s in m["stages"]), m["service_ns"], places=2)
            self.assertTrue(m["cause"])

    def test_all_sizes(self):
        """-a: 23 sizes, each what the same command with -s gives; the report has the curves."""
        d = self.directory()
        j = self.json("perf", "write_bw", "-a", "-n", "5", "-m", "4096", "-o", d)
        self.assertEqual([r["size_bytes"] for r in j["sizes"]], [2**k for k in range(1, 24)])
        one = self.json("perf", "write_bw", "-s", "512", "-n", "5", "-m", "4096")
        self.assertEqual(j["sizes"][8]["bw_average_gbps"], one["rates"]["bw_average_gbps"])
        self.assertGreater(j["sizes"][-1]["of_what_frames_allow_ratio"], 0.97)
        with open(os.path.join(d, "report.html"), encoding="utf-8") as f:
            self.assertIn("Bandwidth by message size", f.read())
        self.assertTrue(os.path.exists(os.path.join(d, "size_8388608", "result.json")))


class Hostile(Base):
    """What others wrote: names and files may hold anything, and never break output, files or the status."""

    def scenario(self, text):
        return self.temporary(text, ".toml")

    def refused(self, text, *parts):
        path = self.scenario(text)
        r = run("run", path, "--json")
        self.assertEqual(r.returncode, 2, r.stderr)
        self.assertEqual(r.stdout, "")
        self.assertEqual(len(r.stderr.splitlines()), 1, r.stderr)
        for part in (path, *parts):
            self.assertIn(part, r.stderr)

    def test_queue_pair_without_work(self):
        """A queue pair that no operation uses is no obstacle; names that become one for SystemC neither."""
        path = self.scenario('[[region]]\n[[qp]]\n[[qp]]\nname = "setup"\n[[qp]]\nname = "a b"\n[[qp]]\nname = "a_b"\n'
                             '[[op]]\n[[fault]]\nname = "a.b"\nkind = "mmio"\n')
        self.assertEqual(self.json("run", path)["operations"][0]["sent"], 1)

    def test_given_numbers_are_not_free(self):
        """A queue pair's number that the scenario gives is not handed out to another one before."""
        path = self.scenario('[[region]]\n[[qp]]\n[[qp]]\nqpn = 1\n[[op]]\nqp = "q0"\n[[op]]\nqp = "q1"\n')
        self.assertEqual([o["sent"] for o in self.json("run", path)["operations"]], [1, 1])

    def test_small_completion_queue(self):
        """No more work is posted than a completion queue has room for."""
        path = self.scenario("[[region]]\n[[qp]]\nlog_cq_size = 1\nlog_sq_size = 8\n[[op]]\ncount = 50\n")
        self.assertEqual(self.json("run", path)["operations"][0]["cqes"], 50)

    def test_what_the_driver_refuses_names_its_line(self):
        """Rings that do not fit, too many queue pairs, a profile's error: file, line and key; nothing on stdout."""
        self.refused("[[region]]\n" + "[[qp]]\nlog_sq_size = 15\n" * 200 + "[[op]]\n", "key 'qp q", "device memory is full")
        self.refused("[[region]]\n" + "[[qp]]\nlog_sq_size = 0\n" * 1025 + "[[op]]\n", "key 'qp q", "in use")
        self.refused('set = ["gpu.read_latenci=1"]\n[[region]]\n[[qp]]\n[[op]]\n', ":1: key 'scenario.set'",
                     "gpu.read_latency")
        self.refused('\nprofile = "nope"\n[[region]]\n[[qp]]\n[[op]]\n', ":2: key 'scenario.profile'", "nope")

    def test_names_in_files(self):
        """Markup and characters that XML can't hold stay text in report.html and JUnit."""
        path = self.scenario('title = "<script>\\uFFFE"\n[[region]]\n[[qp]]\n[[op]]\nname = "</td><script>"\n'
                             '[[check]]\nname = "<b>&\\uFFFF"\ncqes = 2\n')
        d, junit = self.directory(), self.temporary("")
        self.bad(1, "run", path, "-o", d, "--junit", junit)
        suite = xml.etree.ElementTree.parse(junit).getroot().find("testsuite")
        self.assertEqual(suite.attrib["failures"], "1")
        with open(os.path.join(d, "report.html"), encoding="utf-8") as f:
            self.assertNotIn("<script", f.read())

    def test_bytes_that_are_no_text(self):
        """Hosts, operations and file names need not be UTF-8: JSON and the report are, and messages are one line."""
        line = "h\udcff0:10:10 [0] NCCL INFO All\x1b[31m: opCount 0 count 4 datatype 7 op 0 root 0 comm 0x1 [nranks=2]\n"
        path = self.temporary(line.encode("utf-8", "surrogateescape"), "\udcff.log")
        d = self.directory()
        j = self.json("run", "--nccl-log", path, "-o", d)
        self.assertEqual(j["calls"][0]["operation"], "All?[31m")
        with open(os.path.join(d, "result.json"), encoding="utf-8") as f:
            self.assertEqual(json.load(f), j)

    def test_full_disk(self):
        """Output that could not be written is not success."""
        with open("/dev/full", "w", encoding="utf-8") as full:
            for args in (("stages",), ("stages", "--json"), ("profile", "list"), ("version",)):
                r = subprocess.run([PROGRAM, *args], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
                self.assertNotEqual(r.returncode, 0, args)
                self.assertIn("rnicsim: error", r.stderr)

    def test_directory_of_an_earlier_run(self):
        """A run directory holds files of one run only."""
        d = self.directory()
        self.good("stages", "-o", d)
        self.good("stages", "-o", d, "--trace", "none")
        self.assertFalse([f for f in os.listdir(d) if f.startswith("wave")])
        self.bad(3, "stages", "-o", d, "--max-sim-time", "1us")
        self.assertTrue(os.path.exists(os.path.join(d, "profile.toml")))

    def test_unfinished_run_in_junit(self):
        """A run that hit a limit is an error in JUnit, whatever its checks say."""
        path = self.scenario("[[region]]\n[[qp]]\n[[op]]\nat_ns = 1e9\n[[check]]\ncqe_errors = 0\n")
        junit = self.temporary("")
        self.bad(3, "run", path, "--max-sim-time", "100us", "--junit", junit)
        self.assertEqual(xml.etree.ElementTree.parse(junit).getroot().find("testsuite").attrib["errors"], "1")

    def test_sigterm_ends_the_second_profile_too(self):
        """A signal to the command reaches the run of --vs: nothing goes on in the background."""
        with subprocess.Popen([PROGRAM, "stages", "--repeat", "100000", "--vs", "gen4-200g"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as p:
            time.sleep(2)
            p.send_signal(signal.SIGTERM)
            _, err = p.communicate(timeout=60)  # ends when the child has closed its stderr, too
        self.assertEqual(p.returncode, 130, err)


class Tables(Base):
    def test_version_names_every_tool(self):
        """All tools and libraries have a version."""
        v = self.json("version")["versions"]
        for name in ("rnicsim", "Verilator", "SystemC", "compiler", "fmt", "spdlog", "CLI11", "nlohmann_json", "toml++"):
            self.assertRegex(v[name], r"\d", name)

    def test_registers(self):
        """Doorbells of 1024 queue pairs lie 0x100 apart in BAR0; counters are in BAR2."""
        r = {x["name"]: x for x in self.json("regs")["registers"]}
        self.assertEqual(r["page.sq_db"]["count"][0], 1024)
        self.assertEqual(r["page.sq_db"]["stride_bytes"][0], 0x100)
        self.assertEqual(r["tx_packets_phy"]["bar"], 2)
        self.assertTrue(all(x["bar"] == 1 for x in self.json("regs", "--bar", "1")["registers"]))
        self.assertIn("dest_qpn", self.good("regs", "qpc"))

    def test_profiles(self):
        """Built-in profiles are listed; a shown one can be read again and then does not differ."""
        names = [p["name"] for p in self.json("profile", "list")["profiles"]]
        self.assertIn("seed-400g", names)
        path = self.temporary(self.good("profile", "show", "seed-400g", "--toml"), ".toml")
        self.assertEqual(self.json("profile", "diff", "seed-400g", path)["differences"], [])
        changed = self.temporary(self.good("profile", "show", "--set", "gpu.read_latency=123", "--toml"), ".toml")
        d = self.json("profile", "diff", "seed-400g", changed)["differences"]
        self.assertEqual([(x["key"], x["b"]) for x in d], [("gpu.read_latency", 123)])


class Stages(Base):
    def test_table_is_gapless(self):
        """Stages follow one another from T0 to the first bit, and parts fill their stage without a gap."""
        t = self.json("stages")["table"]
        at = t["t0_ps"]
        for s in [s for s in t["stages"] if s["name"] != "CQE write"]:
            self.assertEqual(s["start_ps"], at, s["name"])
            for p in s["parts"]:
                self.assertEqual(p["start_ps"], at, p["what"])
                at = p["end_ps"]
            self.assertEqual(s["end_ps"], at, s["name"])
        self.assertEqual(t["first_bit_ps"], at)

    def test_reference_keeps_the_budgets(self):
        """The default message on the default profile stays within the document's budgets, and says how it was fitted."""
        out = self.good("stages", "--check")
        self.assertIn("agreement is by construction", out)
        self.assertIn("the rule for UC", out)
        self.assertIn("the ACK: not modelled yet", self.good("stages", "--transport", "rc"))

    def test_slow_memory_breaks_a_budget(self):
        """A memory slower by 20 ns fails the check of its stage, with 1 and the line that runs it again."""
        e = self.bad(1, "stages", "--check", "--set", "gpu.read_latency=120")
        self.assertIn("DMA read", e)
        self.assertIn("to run it again: ", e)

    def test_memory_latency_moves_its_row_only(self):
        """13 ns more of memory latency are 13 ns in the DMA read, and nowhere else."""
        def durations(extra):
            base = self.json("profile", "show")["keys"]["gpu.read_latency"]["value"]
            t = self.json("stages", "--set", f"gpu.read_latency={base + extra}")["table"]
            return {s["name"]: s["end_ps"] - s["start_ps"] for s in t["stages"]}
        a, b = durations(0), durations(13)
        self.assertEqual({n: b[n] - a[n] for n in a},
                         {"WQE fetch": 0, "DMA read": 13000, "packetize": 0, "MAC TX": 0, "CQE write": 0})

    def test_percentiles_need_their_sample(self):
        """P99 of 99 messages is not given, of 100 it is; the same seed gives the same figures, another one others."""
        def latency(n, seed):
            j = self.json("stages", "--repeat", str(n), "--phase", "random", "--seed", str(seed))
            return j["latencies"]["doorbell_to_first_bit"]
        few, enough = latency(99, 1), latency(100, 1)
        self.assertIsNone(few["p99_ns"])
        self.assertIsNotNone(few["p50_ns"])
        self.assertIsNotNone(enough["p99_ns"])
        self.assertIsNone(enough["p999_ns"])
        self.assertLess(enough["max_ns"] - enough["min_ns"], 1.001)
        self.assertEqual(enough, latency(100, 1))
        self.assertNotEqual(enough, latency(100, 2))

    def test_two_profiles_side_by_side(self):
        """--vs shows the second profile's figures, which are those of a run of its own."""
        j = self.json("stages", "--vs", "gen4-200g")
        alone = self.json("stages", "--profile", "gen4-200g")
        self.assertEqual(j["vs"]["table"], alone["table"])
        self.assertIn("gen4-200g", self.good("stages", "--vs", "gen4-200g"))

    def test_all_kinds_of_message(self):
        """Every operation, place of the queue, memory and initiator gives a table."""
        for args in (("--op", "send"), ("--op", "write_imm"), ("--op", "send_imm"), ("--sq", "bf"), ("--mem", "host"),
                     ("--initiator", "gpu"), ("--transport", "rc"), ("--size", "0"), ("--size", "1"),
                     ("--size", "10000", "--mtu", "1024")):
            t = self.json("stages", *args)["table"]
            self.assertGreater(t["last_bit_ps"], t["first_bit_ps"], args)

    def test_run_directory(self):
        """The run directory holds everything, and two equal runs give equal bytes."""
        a, b = self.directory(), self.directory()
        files = ["capture.pcapng", "profile.toml", "report.html", "result.json", "tlp.log", "wave.fst"]
        content = []
        for d in (a, b):
            out = self.good("stages", "-o", d, "--json")
            self.assertTrue(set(files) <= set(os.listdir(d)), os.listdir(d))
            with open(os.path.join(d, "result.json"), encoding="utf-8") as f:
                self.assertEqual(json.load(f), json.loads(out))
            content.append({})
            for name in files:
                if name not in ("result.json", "report.html"):  # these hold the command line, and so the directory
                    with open(os.path.join(d, name), "rb") as f:
                        content[-1][name] = f.read()
        self.assertEqual(content[0], content[1])

    def test_limit_of_simulated_time(self):
        """A run that does not end in its time is status 3, and says what was still running."""
        e = self.bad(3, "stages", "--max-sim-time", "5us")
        self.assertIn("stages", e)
        self.assertIn("to run it again: ", e)


class Scenarios(Base):
    def test_examples(self):
        """The good examples pass all their checks."""
        for name in ("two_queues", "faults"):
            j = self.json("run", scenario(name))
            self.assertTrue(j["checks"], name)
            self.assertTrue(all(c["passed"] for c in j["checks"]), name)

    def test_failing_check(self):
        """A check that fails is named, is in the JUnit file, and leaves a waveform of the last cycles."""
        d = self.directory()
        junit = self.temporary("")
        e = self.bad(1, "run", scenario("failing_check"), "-o", d, "--trace", "last:500", "--junit", junit)
        self.assertIn("faster than light", e)
        self.assertIn("to run it again: ", e)
        suite = xml.etree.ElementTree.parse(junit).getroot().find("testsuite")
        self.assertEqual(suite.get("failures"), "1")
        self.assertGreater(os.path.getsize(os.path.join(d, "wave.fst")), 1000)
        start, end = map(float, re.search(r"last 500 cycles, ([0-9.]+):([0-9.]+) ns", e).groups())
        self.assertAlmostEqual(end - start, 500)
        with open(os.path.join(d, "result.json"), encoding="utf-8") as f:
            last_bit = json.load(f)["operations"][0]["last_bit_ps"] / 1000
        self.assertTrue(start < last_bit <= end, f"{start} {last_bit} {end}")

    def test_error_in_a_scenario(self):
        """File, line and key of what is wrong, and status 2."""
        path = self.temporary("[[region]]\n[[qp]]\nmtu = 1500\n[[op]]\n", ".toml")
        e = self.bad(2, "run", path)
        self.assertIn(path + ":3: key 'qp[0].mtu'", e)
        self.assertIn("4096", e)

    def test_deterministic(self):
        """The same scenario twice is the same JSON."""
        self.assertEqual(self.good("run", scenario("two_queues"), "--json"), self.good("run", scenario("two_queues"), "--json"))


class NcclLog(Base):
    @staticmethod
    def line(name, count, datatype=7, root=0, nranks=4, prefix="h0:1:1 [0]", comm="0xc0"):
        return (f"{prefix} NCCL INFO {name}: opCount 1f sendbuff 0x1 recvbuff 0x2 count {count} datatype {datatype} op 0 "
                f"root {root} comm {comm} [nranks={nranks}] stream 0x3\n")

    def test_real_log(self):
        """Each AllReduce of two ranks sends its buffer once from each: 2 (n-1) / n of it. Every byte is on the wire."""
        j = self.json("run", "--nccl-log", LOG)
        self.assertEqual([c["line"] for c in j["calls"]], [1, 3, 5, 8])
        self.assertEqual([c["bytes"] for c in j["calls"]], [4 * n for n in (64, 237184, 386560, 8192)])
        packets = sum(2 * -(-n * 2 // 4096) for n in (64, 237184, 386560, 8192))
        self.assertEqual(j["total"]["packets"], packets)
        self.assertEqual(j["counters"]["tx_packets_phy"], packets)
        self.assertEqual(j["total"]["frame_bytes"], 4 * sum((64, 237184, 386560, 8192)) + 58 * packets + 16 * 8)
        self.assertLess(j["total"]["line_rate_share"], 1)
        self.assertGreater(j["calls"][2]["line_rate_share"], 0.9)
        self.assertTrue(any("all 2 ranks on host node1" in n for n in j["notes"]))

    def test_other_rank(self):
        """The other rank's lines are the other ones."""
        j = self.json("run", "--nccl-log", LOG, "--rank", "1")
        self.assertEqual([c["line"] for c in j["calls"]], [2, 4, 6, 7])
        self.assertIn("0, 1", self.bad(2, "run", "--nccl-log", LOG, "--rank", "2"))
        self.assertIn("node1", self.bad(2, "run", "--nccl-log", LOG, "--node", "node2"))

    def test_nothing_is_dropped_silently(self):
        """Every call is in the list: with its bytes, or with the reason why nothing was sent."""
        names = ["AllReduce", "AllGather", "ReduceScatter", "Broadcast", "Reduce", "Send", "Recv", "AlltoAll", "AlltoAllv",
                 "Gather", "Scatter", "SomethingNew"]
        path = self.temporary("".join(self.line(n, 100, root=1) for n in names) + self.line("AllReduce", 100, datatype=12) +
                              self.line("AllReduce", 0))
        calls = self.json("run", "--nccl-log", path)["calls"]
        self.assertEqual([c["operation"] for c in calls], names + ["AllReduce", "AllReduce"])
        for c in calls:
            self.assertTrue(c["bytes"] > 0 or c["note"], c)
        self.assertEqual([c["operation"] for c in calls if not c["replayable"]], ["AlltoAllv", "SomethingNew", "AllReduce"])
        self.assertEqual(calls[0]["bytes"], 6 * 25 * 4)
        self.assertEqual(calls[1]["bytes"], 3 * 400)
        self.assertIn("NOT REPLAYED", self.good("run", "--nccl-log", path))

    def test_huge_counts_are_capped(self):
        """Above --max-bytes the rest is left out, and the note says so."""
        path = self.temporary(self.line("AllGather", 1 << 33) + self.line("AllReduce", 4))
        j = self.json("run", "--nccl-log", path, "--max-bytes", "1048576")
        self.assertEqual(j["total"]["bytes"], 1 << 20)
        self.assertEqual(j["total"]["planned_bytes"], 3 * 4 * (1 << 33) + 6 * 4)
        self.assertTrue(any("--max-bytes" in n for n in j["notes"]))

    def test_unreadable_line(self):
        """A line that is cut short is named with its number and ends with 2; it can be left out on request."""
        path = self.temporary((self.line("AllReduce", 64) * 2)[:-60])
        e = self.bad(2, "run", "--nccl-log", path)
        self.assertIn(path + ":2: unreadable", e)
        j = self.json("run", "--nccl-log", path, "--skip-unreadable")
        self.assertEqual(len(j["calls"]), 1)
        self.assertTrue(any("unreadable" in n for n in j["notes"]))

    def test_log_without_collectives(self):
        """Status 2, with the environment that makes NCCL log them."""
        path = self.temporary("h0:1:1 [0] NCCL INFO Ring 00 : 0 -> 1 -> 0\n")
        self.assertIn("NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=", self.bad(2, "run", "--nccl-log", path))

    def test_carriage_returns_and_garbage(self):
        """CR LF and bytes that are no text are no obstacle."""
        text = b"\xff\x00garbage\r\n" + self.line("AllReduce", 64).encode().replace(b"\n", b"\r\n")
        self.assertEqual(len(self.json("run", "--nccl-log", self.temporary(text))["calls"]), 1)

    def test_interrupted(self):
        """SIGINT ends a long run with 130 and a waveform that is closed."""
        path = self.temporary(self.line("AllGather", 1 << 30))
        d = self.directory()
        with subprocess.Popen([PROGRAM, "run", "--nccl-log", path, "--max-bytes", "0", "-o", d, "--trace", "0:20000"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as p:
            time.sleep(3)
            p.send_signal(signal.SIGINT)
            _, err = p.communicate(timeout=120)
        self.assertEqual(p.returncode, 130, err)
        self.assertIn("interrupted", err)
        self.assertGreater(os.path.getsize(os.path.join(d, "wave.fst")), 1000)
        self.assertFalse(os.path.exists(os.path.join(d, "wave.fst.hier")))


if __name__ == "__main__":
    unittest.main()
