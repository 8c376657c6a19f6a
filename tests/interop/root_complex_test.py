# SPDX-License-Identifier: Apache-2.0
"""rnic_top against cocotbext-pcie's root complex: enumeration, then data both ways.

A driver in a few lines stands over the root complex: contexts over BAR1, WQEs in its memory, doorbells over BAR0, CQEs in
its memory, counters over BAR2. Every read that the NIC sends must ask for bytes of a posted WQE or of its payload, no
others, and for all of them.
"""
import collections
import logging
import os
import random
import struct
import sys

import cocotb
from cocotb.triggers import Timer, with_timeout
from cocotbext.axi.address_space import Region
from cocotbext.pcie.core import RootComplex
from cocotbext.pcie.core.caps import PciCapId, PciExtCapId
from cocotbext.pcie.core.utils import PcieId

from bridge import Nic
from structs import CONST, ROOT, STRUCTS

sys.path.insert(0, str(ROOT / "tests/data"))
import icrc  # noqa: E402

SEED = int(os.environ.get("RNIC_TEST_SEED", "1"))
MESSAGES = int(os.environ.get("RNIC_INTEROP_MESSAGES", "60"))
HIGH = 0x1_0000_0000
CQE_ERROR = 0xd
TALLY = collections.Counter()  # TLPs by direction and kind, over all tests


class Host:
    """Root complex, device, and a driver."""

    async def start(self, dut, mps=256, mrrs=512, rcb=64, split=False, tag_bits=8, stall=0.0, seed=SEED):
        logging.getLogger("cocotb.pcie").setLevel(logging.ERROR)
        self.random = random.Random(seed)
        self.nic = Nic(dut, stall=stall, seed=seed)
        self.rc = RootComplex()
        self.rc.log.setLevel(logging.ERROR)
        self.rc.make_port().connect(self.nic.device)
        self.rc.max_payload_size = self.rc.max_payload_size_supported = (mps // 128).bit_length() - 1
        self.rc.split_on_all_rcb = split
        self.rc.read_completion_boundary = rcb == 128
        self.high_pool = self.rc.mem_address_space.create_pool(HIGH, HIGH)
        await self.rc.enumerate()
        self.dev = self.rc.find_device(PcieId(1, 0, 0))
        assert self.dev is not None, "the root complex found no device"
        await self.dev.enable_device()
        await self.dev.set_master()
        await self.dev.set_readrq((mrrs // 128).bit_length() - 1)
        await self.dev.capability_write_word(PciCapId.EXP, 0x10, (rcb == 128) << 3)
        control2 = await self.dev.capability_read_word(PciCapId.EXP, 0x28)
        await self.dev.capability_write_word(PciCapId.EXP, 0x28, control2 | 1 << 8 | (tag_bits == 10) << 12)  # IDO, tags
        self.bar = [self.dev.bar_window[2 * n] for n in range(3)]
        self.commands = 0
        self.keys = 0
        self.allowed = set()   # bytes that the NIC may read
        self.expected = collections.Counter()
        self.regions = []
        return self

    # ---- Driver ----

    def alloc(self, size, high=False):
        region = (self.high_pool if high else self.rc.mem_pool).alloc_region(size)
        return region.get_absolute_address(0), region

    def at(self, register, i=0):
        return self.nic.models.register(register, i)

    async def context(self, table, index, /, **fields):
        data = getattr(STRUCTS, table + "_t").to_bytes(**fields)
        at = self.at(table, index)
        await self.bar[1].write(at, data)
        assert await self.bar[1].read(at, len(data)) == data, "a context reads back differently"

    async def command(self, op, index):
        await self.bar[1].write_dword(self.at("cmd"), index << 8 | op)
        self.commands += 1
        assert await self.bar[1].read_dword(self.at("cmd_status")) == self.commands, "the command was not taken"

    async def region(self, address, size):
        """A memory region whose virtual addresses are the bus addresses, with ordering attributes; gives its lkey."""
        relaxed, id_based = self.random.randrange(2), self.random.randrange(2)
        self.regions = [r for r in self.regions if r[0] != address] + [(address, size, relaxed << 1 | id_based << 2)]
        self.keys += 1
        await self.context("mpt", self.keys, valid=1, local_write=1, variant=0x5a, pd=1,
                           relaxed=relaxed, id_based=id_based,
                           start=address, length=size, iova=address)
        await self.command(CONST.CmdMkeyModify, self.keys)
        return self.keys << 8 | 0x5a

    async def queues(self, qpn, log_size=4, high=False, mtu=5, **irq):
        """A CQ and a UC QP with its ring in the root complex's memory."""
        cq, cq_memory = self.alloc(4096 + (64 << log_size), high)
        sq, sq_memory = self.alloc(64 << log_size, high)
        cq_memory[0:len(cq_memory)] = b"\xa5" * len(cq_memory)
        for i in range(1 << log_size):
            cq_memory[64 * i + 63] = 0xf1
        await self.context("cqc", qpn, valid=1, log_size=log_size, base=cq, **irq)
        await self.command(CONST.CmdCqModify, qpn)
        await self.context("qpc", qpn, state=CONST.QpStRts, transport=CONST.TransUc, mtu=mtu,
                           sq_where=CONST.SqInHost, log_sq_size=log_size, cqn=qpn, pd=1, dest_qpn=0x10000 + qpn,
                           sq_psn=100, sq_base=sq, smac=0x010203040502, dmac=0x060504030202, udp_sport=0xc000,
                           pkey=0xffff, ttl=64, sgid=0x0100000affff << 80, dgid=0x0200000affff << 80)
        await self.command(CONST.CmdQpCreate, qpn)
        return Queue(self, qpn, log_size, sq, sq_memory, cq_memory)

    async def counter(self, name):
        return await self.bar[2].read_qword(self.at(name))

    async def finish(self):
        """Nothing is left over, and the NIC has read what it should have, and nothing else."""
        for _ in range(1000):
            if self.nic.quiet():
                break
            await Timer(100, "ns")
        assert self.nic.quiet(), "the NIC does not come to rest"
        assert self.nic.frames.empty(), "a frame that nobody asked for"
        for kind, n in self.nic.sent.items():
            TALLY["from the NIC", kind] += n
        for kind, n in self.nic.received.items():
            TALLY["to the NIC", kind] += n
        self.judge_reads()
        self.nic.stop()

    def judge_reads(self):
        """By byte enables as the library counts them."""
        asked = collections.Counter()
        mrrs = 128 << (self.nic.models.config_read(self.cap + 8, 2) >> 12 & 7)
        for tlp in self.nic.requests:
            if tlp.is_posted():
                continue
            assert 4 * tlp.length <= mrrs, f"longer than MRRS: {tlp!r}"
            assert tlp.length > 1 or tlp.last_be == 0, f"one DW with a last byte enable: {tlp!r}"
            first = tlp.address + tlp.get_first_be_offset()
            size = tlp.get_be_byte_count()
            again = type(tlp)()
            again.set_addr_be(first, size)
            assert (again.address, again.length, again.first_be, again.last_be) == \
                (tlp.address, tlp.length, tlp.first_be, tlp.last_be), f"other byte enables than the library's: {tlp!r}"
            assert (tlp.address >= HIGH) == (tlp.fmt & 1 == 1), f"wrong form for its address: {tlp!r}"
            asked.update(range(first, first + size))
            for base, length, attr in self.regions:
                assert not base <= tlp.address < base + length or tlp.attr == attr, f"attributes are not {attr}: {tlp!r}"
        strange = {a for a in asked if a not in self.allowed}
        assert not strange, f"the NIC reads bytes that nobody posted, first {min(strange):#x}"
        for address, n in self.expected.items():
            assert asked[address] == n, f"the byte at {address:#x} was read {asked[address]} times, not {n}"

    @property
    def cap(self):
        return self.dev.get_capability_offset(PciCapId.EXP)


class Queue:
    def __init__(self, host, qpn, log_size, base, sq, cq):
        self.host, self.qpn, self.size, self.base, self.sq, self.cq = host, qpn, 1 << log_size, base, sq, cq
        self.posted = self.polled = 0
        self.psn = 100
        host.allowed.update(range(base, base + len(sq)))

    def post(self, lkey, pieces, reads=None):
        """RDMA WRITE of up to four (address, length) pieces of the root complex's memory; `reads`: where they are on the bus."""
        assert len(pieces) <= 4 and pieces
        ds = 2 + len(pieces)
        wqe = struct.pack(">BHBIIIQII", 0, self.posted & 0xffff, 0x08, self.qpn << 8 | ds, 0x08, 0,
                          0x7000_0000_0000 + self.posted * 8192, 0x1234, 0)
        for address, length in pieces:
            wqe += struct.pack(">IIQ", length, lkey, address)
        for address, length in pieces if reads is None else reads:
            self.host.allowed.update(range(address, address + length))
            self.host.expected.update(range(address, address + length))
        blocks = (len(wqe) + 63) // 64
        wqe = wqe.ljust(64 * blocks, b"\0")
        for b in range(blocks):
            at = (self.posted + b) % self.size * 64
            self.sq[at:at + 64] = wqe[64 * b:64 * b + 64]
        self.posted += blocks

    async def ring(self):
        await self.host.bar[0].write_dword(self.host.at("page.sq_db", self.qpn), self.posted)

    async def frame(self, payload):
        """The next frame holds this payload."""
        frame = await with_timeout(self.host.nic.frames.get(), 100, "us")
        good, got, want, _ = icrc.check(frame)
        assert good, f"ICRC {got.hex()}, should be {want.hex()}"
        udp = frame[14 + 20:]
        bth, reth = udp[8:20], udp[20:36]
        assert bth[0] == 0x2a, f"BTH opcode {bth[0]:#x}, not UC WRITE_ONLY"
        assert int.from_bytes(bth[5:8], "big") == 0x10000 + self.qpn, "another queue pair's frame"
        assert int.from_bytes(bth[9:12], "big") == self.psn, "a PSN is missing"
        self.psn += 1
        assert int.from_bytes(reth[12:16], "big") == len(payload), "the RETH names another length"
        pad = bth[1] >> 4 & 3
        size = int.from_bytes(udp[4:6], "big") - 8 - 12 - 16 - 4 - pad
        assert udp[36:36 + size] == payload, "the frame holds other bytes than the root complex's memory"

    async def cqe(self):
        """The next CQE, once it is in the root complex's memory."""
        at = self.polled % self.size * 64
        owner = self.polled // self.size & 1
        for _ in range(1000):
            entry = bytes(self.cq[at:at + 64])
            if entry[63] >> 4 != 0xf and entry[63] & 1 == owner:
                break
            await Timer(100, "ns")
        else:
            raise AssertionError("no CQE")
        self.polled += 1
        await self.host.bar[0].write_dword(self.host.at("page.cq_ci", self.qpn), self.polled)
        assert int.from_bytes(entry[57:60], "big") == self.qpn, "a CQE of another queue pair"
        assert bytes(self.cq[self.size * 64:]) == b"\xa5" * 4096, "bytes behind the ring were written"
        return entry


def sizes(rng, count, limit):
    """Offsets and lengths: the edges of DW, RCB, MPS and page, and random ones."""
    fixed = [(0, 1), (1, 1), (2, 1), (3, 1), (1, 3), (3, 7), (2, 4), (0, 64), (4095, 1), (4092, 8), (60, 256), (16, 512),
             (0, 4096), (4093, 4096), (127, 130), (63, 2)]
    every = fixed + [(rng.randrange(4096), rng.randint(1, limit)) for _ in range(count)]
    return every[:count] if count < len(fixed) else every


async def move(host, high, count, qpn=5):
    """`count` messages of one piece and a quarter as many of several, each a frame and a CQE."""
    rng = host.random
    base, memory = host.alloc(16384, high)
    memory[0:16384] = rng.randbytes(16384)
    lkey = await host.region(base, 16384)
    queue = await host.queues(qpn, log_size=4, high=high)
    messages = [[(base + offset, length)] for offset, length in sizes(rng, count, 4096)]
    for _ in range(count // 4):
        messages.append([(base + rng.randrange(12288), rng.randint(1, 1000)) for _ in range(rng.randint(2, 4))])
    packets = await host.counter("tx_packets_phy")
    strays = {name: await host.counter(name) for name in ("cpl_unexpected", "cpl_malformed")}
    done = 0
    while done < len(messages):
        batch = messages[done:done + rng.randint(1, 6)]
        for pieces in batch:
            queue.post(lkey, pieces)
        await queue.ring()
        for pieces in batch:
            await queue.frame(b"".join(bytes(memory[a - base:a - base + n]) for a, n in pieces))
        for pieces in batch:
            entry = await queue.cqe()
            assert entry[63] >> 4 == 0, f"error CQE, syndrome {entry[55]:#x} vendor {entry[54]:#x}"
            assert int.from_bytes(entry[44:48], "big") == sum(n for _, n in pieces), "the CQE counts other bytes"
        done += len(batch)
    assert await host.counter("tx_packets_phy") == packets + len(messages), "BAR2 counts other frames"
    for name, before in strays.items():
        assert await host.counter(name) == before, f"{name} is {await host.counter(name)}, was {before}"


@cocotb.test()
async def enumeration_sees_our_configuration_space(dut):
    """Identity, BAR sizes, capabilities and settings as config_space.cpp has them, by the root complex's own walk."""
    host = await Host().start(dut, mps=256)
    dev, models = host.dev, host.nic.models
    assert (dev.vendor_id, dev.device_id) == (models.config_read(0, 2), models.config_read(2, 2))
    assert dev.vendor_id not in (0, 0x1234, 0xffff), "the library's own device model answered"
    assert dev.class_code == 0x020000, f"class {dev.class_code:#x}"
    for n, size in enumerate((256 << 10, 256 << 20, 4 << 20)):
        assert dev.bar_size[2 * n] == size == models.bar_size(n), f"BAR{n} is {dev.bar_size[2 * n]:#x} long"
        assert dev.bar_addr[2 * n] == models.bar(n), f"BAR{n} is not where the root complex put it"
    capabilities = [c for c, _ in dev.capabilities]
    assert capabilities == [PciCapId.PM, PciCapId.MSIX, PciCapId.EXP], f"capabilities {capabilities}"
    assert await dev.msix_vec_count() == 64
    assert await dev.get_mps() == 1 and await dev.get_readrq() == 2
    settings = STRUCTS.pcie_cfg_t.unpack(models.settings())
    assert (settings.mps, settings.mrrs, settings.bus_master, settings.ext_tag) == (1, 2, 1, 1)
    assert settings.requester_id == int(PcieId(1, 0, 0))
    assert PciExtCapId.AER in [c for c, _ in dev.ext_capabilities], "no Advanced Error Reporting"
    await host.finish()


@cocotb.test()
async def data_below_4_gib(dut):
    """3-DW requests; the library's largest completions."""
    host = await Host().start(dut, mps=256, mrrs=512)
    await move(host, high=False, count=MESSAGES)
    await host.finish()
    assert host.nic.sent["MRd32"] and host.nic.sent["MWr32"] and not host.nic.sent["MRd64"]


@cocotb.test()
async def data_above_4_gib_cut_at_every_boundary(dut):
    """4-DW requests, completions cut at every 64 B, 10-bit tags."""
    host = await Host().start(dut, mps=512, mrrs=4096, split=True, tag_bits=10)
    await move(host, high=True, count=MESSAGES)
    await host.finish()
    assert host.nic.sent["MRd64"] and host.nic.sent["MWr64"] and not host.nic.sent["MRd32"]


@cocotb.test()
async def every_setting(dut):
    """Payload sizes, read sizes and both boundaries, with pins that are not always ready."""
    rng = random.Random(SEED)
    for mps, mrrs, rcb, split in ((128, 128, 64, False), (128, 4096, 128, True), (512, 256, 128, False), (256, 1024, 64, True),
                                  (1024, 2048, 128, True), (4096, 4096, 64, False)):
        host = await Host().start(dut, mps, mrrs, rcb, split, stall=rng.choice((0.0, 0.3, 0.7)), seed=rng.randrange(1 << 30))
        await move(host, high=rng.random() < 0.5, count=MESSAGES // 5, qpn=rng.randrange(1, 1024))
        await host.finish()


class Refusing(Region):
    """Memory that answers with Completer Abort: the library turns an exception into one."""

    async def _read(self, address, length, **kwargs):
        raise RuntimeError("refused")


@cocotb.test()
async def errors_are_told_apart(dut):
    """Unsupported request and completer abort end in error CQEs of their kind; a good request after them works."""
    host = await Host().start(dut)
    base, memory = host.alloc(4096)
    memory[0:4096] = host.random.randbytes(4096)
    host.rc.mem_address_space.register_region(Refusing(4096), 0x3_0000_0000, 4096)
    counters = {}
    for qpn, address, vendor, counter in ((7, 0x2_8000_0000, CONST.VenDma + CONST.DmaUr, "cpl_ur"),
                                          (8, 0x3_0000_0000, CONST.VenDma + CONST.DmaCa, "cpl_ca")):
        lkey = await host.region(address, 4096)
        queue = await host.queues(qpn)
        queue.post(lkey, [(address + 5, 700)])
        await queue.ring()
        entry = await queue.cqe()
        assert entry[63] >> 4 == CQE_ERROR, "a failed read completed well"
        assert entry[54] == vendor, f"vendor syndrome {entry[54]:#x}, not {vendor:#x}"
        counters[counter] = await host.counter(counter)
    assert all(counters.values()), f"counters {counters}"
    lkey = await host.region(base, 4096)
    queue = await host.queues(9)
    queue.post(lkey, [(base + 100, 1000)])
    await queue.ring()
    await queue.frame(bytes(memory[100:1100]))
    assert (await queue.cqe())[63] >> 4 == 0
    await host.finish()


@cocotb.test()
async def interrupts_reach_their_vectors(dut):
    """MSI-X as the root complex sets it up: an armed CQ raises its vector once its CQE is there, and only its own; a masked
    vector waits in the pending bits."""
    host = await Host().start(dut)
    base, memory = host.alloc(4096)
    memory[0:4096] = host.random.randbytes(4096)
    lkey = await host.region(base, 4096)
    assert await host.dev.alloc_irq_vectors(64, 64) == 64
    raised = collections.Counter()
    for vector in range(64):
        async def count(vector=vector):
            raised[vector] += 1
        host.dev.request_irq(vector, count)
    for qpn, vector in ((3, 0), (4, 63), (5, host.random.randrange(1, 63))):
        queue = await host.queues(qpn, irq_en=1, irq_vector=vector)
        for masked in (False, True):
            raised.clear()
            await host.bar[2].write_dword(host.at("msix.ctrl", vector), masked)
            await host.bar[0].write_dword(host.at("page.cq_arm", qpn), queue.polled)
            for i in range(2):  # armed once: the second raises nothing
                queue.post(lkey, [(base, 64 + i)])
                await queue.ring()
                await queue.frame(bytes(memory[0:64 + i]))
                await queue.cqe()
            await Timer(1, "us")
            pending = await host.bar[2].read_qword(host.at("msix_pba"))
            if masked:
                assert not raised and pending == 1 << vector, f"masked: raised {dict(raised)}, pending {pending:#x}"
                await host.bar[2].write_dword(host.at("msix.ctrl", vector), 0)
                await Timer(1, "us")
                pending = await host.bar[2].read_qword(host.at("msix_pba"))
            assert raised == {vector: 1} and pending == 0, f"vector {vector}: raised {dict(raised)}, pending {pending:#x}"
    assert await host.counter("irq_sent") == 6
    await host.finish()


@cocotb.test()
async def windows_and_lists_lead_to_their_memory(dut):
    """A region through a GPUDirect window, which is moved in the documented order, and one of scattered pages: the NIC reads
    where they lead, and nothing where they do not."""
    host = await Host().start(dut)
    (a, first), (b, second) = host.alloc(8192), host.alloc(8192)
    first[0:8192], second[0:8192] = host.random.randbytes(8192), host.random.randbytes(8192)
    assert a % 4096 == 0 and b % 4096 == 0
    window, base, va, pages = 5, 0x1000, 0x7700_0000_0000, 0x200_0000

    async def set_window(to):
        await host.bar[2].write_dword(host.at("window.ctrl", window), 0)
        while await host.bar[2].read_dword(host.at("window_state")):
            pass
        if to is not None:
            for name, value in (("base", base), ("size", 8192), ("gpu", to)):
                await host.bar[2].write_qword(host.at("window." + name, window), value)
            await host.bar[2].write_dword(host.at("window.ctrl", window), 0x101)

    async def region(**fields):
        host.keys += 1
        await host.context("mpt", host.keys, valid=1, variant=0x5a, pd=1, start=va, length=8192, **fields)
        await host.command(CONST.CmdMkeyModify, host.keys)
        return host.keys << 8 | 0x5a

    async def sends(queue, lkey, at, length, bus, memory, where):
        queue.post(lkey, [(va + at, length)], [(bus + where, length)])
        await queue.ring()
        await queue.frame(bytes(memory[where:where + length]))
        assert (await queue.cqe())[63] >> 4 == 0

    async def refused(queue, lkey, at):
        queue.post(lkey, [(va + at, 64)], [])
        await queue.ring()
        entry = await queue.cqe()
        assert entry[63] >> 4 == 0xd and entry[54] == CONST.VenDma + CONST.DmaDenied, entry.hex()

    lkey = await region(iova=base, window_en=1, window=window)
    queue = await host.queues(30)
    for to, memory in ((a, first), (b, second), (a, first)):
        await set_window(to)
        await sends(queue, lkey, 0, 64, to, memory, 0)
        await sends(queue, lkey, 100, 3000, to, memory, 100)
    await set_window(None)
    await refused(queue, lkey, 0)
    await host.bar[1].write(pages, struct.pack("<QQ", b + 4096 | 1, 0))
    lkey = await region(iova=0, paged=1, log_page=12, mtt=pages >> 6, pages=2)
    queue = await host.queues(31)
    await sends(queue, lkey, 1000, 3096, b, second, 4096 + 1000)
    await refused(queue, lkey, 4096)
    assert await host.counter("gdr_window_denied") == 1 and await host.counter("mtt_absent") == 1
    await host.finish()


@cocotb.test()
async def a_function_level_reset_amid_reads(dut):
    """The root complex resets the function while it answers; late completions do no harm, and set up again all works."""
    host = await Host().start(dut, mps=256, mrrs=256)
    base, memory = host.alloc(16384)
    memory[0:16384] = host.random.randbytes(16384)
    for round_ in range(3):
        lkey = await host.region(base, 16384)
        queue = await host.queues(20 + round_)
        for i in range(4):
            queue.post(lkey, [(base + 4096 * i, 4096)])
        settings = [await host.dev.get_mps(), await host.dev.get_readrq()]
        control = await host.dev.capability_read_word(PciCapId.EXP, 0x8)
        await queue.ring()
        await Timer(host.random.randint(50, 600), "ns")
        await host.dev.capability_write_word(PciCapId.EXP, 0x8, control | 1 << 15)
        await Timer(5, "us")
        assert await host.dev.config_read_word(4) & 6 == 0, "memory space or bus mastering is on after the reset"
        for n in range(3):
            await host.dev.config_write_dword(0x10 + 8 * n, host.dev.bar_addr[2 * n] & 0xffffffff)
            await host.dev.config_write_dword(0x14 + 8 * n, host.dev.bar_addr[2 * n] >> 32)
        await host.dev.enable_resources(0)
        await host.dev.set_master()
        await host.dev.set_mps(settings[0])
        await host.dev.set_readrq(settings[1])
        await host.dev.configure_extended_tags()
        await host.dev.capability_write_word(PciCapId.EXP, 0x28, 1 << 8)
        while not host.nic.frames.empty():
            host.nic.frames.get_nowait()
        host.expected.clear()
        host.nic.requests.clear()
        host.commands = await host.bar[1].read_dword(host.at("cmd_status"))
        await move(host, high=False, count=10, qpn=40 + round_)
    await host.finish()


@cocotb.test(skip="TESTCASE" in os.environ)
async def tlps_of_every_kind_were_judged(dut):
    """Over the tests before."""
    for (direction, kind), n in sorted(TALLY.items()):
        dut._log.info("judged %s: %-6s %6d", direction, kind, n)
    for direction, kinds in (("from the NIC", ("MRd32", "MRd64", "MWr32", "MWr64", "CplD")),
                             ("to the NIC", ("MRd32", "MWr32", "MWr64", "Cpl", "CplD", "CfgRd0", "CfgWr0"))):
        for kind in kinds:
            assert TALLY[direction, kind], f"no {kind} {direction}"
