# SPDX-License-Identifier: Apache-2.0
"""rnic_top as a device on cocotbext-pcie's link.

cocotbext's Device and Port carry TLPs, credits and acknowledges; Tlp objects become beats at rnic_top's tlp_rx and beats of
its tlp_tx become Tlp objects, by that library's own packing. Behind configuration and memory requests stand the project's
models (endpoint.cpp): nothing that the root complex reads of the device comes from the library's device model. The clock
stands still while rnic_top is idle and nothing waits at its pins, as in the simulator.
"""
import collections
import ctypes
import os
import random

import cocotb
from cocotb.queue import Queue
from cocotb.triggers import Event, First, Timer
from cocotb.utils import get_sim_time
from cocotbext.pcie.core import Device, Endpoint
from cocotbext.pcie.core.tlp import Tlp, TlpType

from structs import STRUCTS

PERIOD_PS = 1000
RESET_CYCLES = 4
DM_CYCLES = 10  # device memory's latency
FLR_CYCLES = 4
FLR_OVER = 2 * DM_CYCLES  # the RTL's reset lasts until device memory has answered
NAMES = {TlpType.MEM_READ: "MRd32", TlpType.MEM_READ_64: "MRd64",
         TlpType.MEM_WRITE: "MWr32", TlpType.MEM_WRITE_64: "MWr64",
         TlpType.CPL: "Cpl", TlpType.CPL_DATA: "CplD", TlpType.CFG_READ_0: "CfgRd0", TlpType.CFG_WRITE_0: "CfgWr0"}


def words_of(number, bits):
    return (ctypes.c_uint32 * ((bits + 31) // 32)).from_buffer_copy(number.to_bytes((bits + 31) // 32 * 4, "little"))


class Models:
    """endpoint.cpp."""

    def __init__(self, gen, lanes):
        lib = ctypes.CDLL(os.environ["RNIC_INTEROP_LIB"])
        for name, result, arguments in (
                ("new", "p", "II"), ("config_read", "I", "pII"), ("config_write", None, "pIII"), ("set_bdf", None, "pI"),
                ("bar", "Q", "pI"), ("bar_size", "Q", "I"), ("settings", "I", "pp"), ("take_flr", "i", "p"), ("set_busy", None, "pi"), ("msix", "I", "pQ"), ("request", "i", "psIQp"),
                ("next", "I", "pp"), ("dm_read", "i", "pQpI"), ("dm_write", "i", "pQsI"), ("count", None, "pp"),
                ("log", None, "ppQ"), ("set_mac", None, "pQQ"), ("register", "q", "sII")):
            types = {"p": ctypes.c_void_p, "I": ctypes.c_uint32, "Q": ctypes.c_uint64, "i": ctypes.c_int32,
                     "q": ctypes.c_int64, "s": ctypes.c_char_p, None: None}
            function = getattr(lib, "rnic_ep_" + name)
            function.restype, function.argtypes = types[result], [types[a] for a in arguments]
            setattr(self, "_" + name, function)
        self._ep = self._new(gen, lanes)
        self._words = (ctypes.c_uint32 * 64)()
        self._bytes = (ctypes.c_uint8 * 4112)()

    def config_read(self, offset, size):
        return self._config_read(self._ep, offset, size)

    def config_write(self, offset, size, value):
        self._config_write(self._ep, offset, size, value)

    def set_bdf(self, bdf):
        self._set_bdf(self._ep, bdf)

    def bar(self, n):
        return self._bar(self._ep, n)

    def bar_size(self, n):
        return self._bar_size(n)

    def _number(self, bits):
        return int.from_bytes(bytes(self._words)[:(bits + 7) // 8], "little")

    def settings(self):
        self._settings(self._ep, self._words)
        return self._number(STRUCTS.pcie_cfg_t.width)

    def msix(self, pending):
        """Whether MSI-X is on, and whether all vectors are masked."""
        bits = self._msix(self._ep, pending)
        return bits & 1, bits >> 1

    def set_busy(self, busy):
        self._set_busy(self._ep, busy)

    def take_flr(self):
        return bool(self._take_flr(self._ep))

    def request(self, tlp_bytes, now_ns):
        """The completion's bytes, or nothing."""
        size = self._request(self._ep, tlp_bytes, len(tlp_bytes), now_ns, self._bytes)
        assert size >= 0, "a cut-off TLP"
        return bytes(self._bytes[:size])

    def next_item(self):
        """("db" or "cmd", the port's number), ("msix", (vector, register, value)), ("win", (index, the port's number)), or
        None."""
        kind = self._next(self._ep, self._words)
        if kind == 0:
            return None
        if kind == 3:
            return "msix", tuple(self._words[:3])
        if kind == 4:
            return "win", (self._words[0], self._number(32 + STRUCTS.window_t.width) >> 32)
        return ("db", self._number(STRUCTS.doorbell_t.width)) if kind == 1 else ("cmd", self._number(STRUCTS.cmd_t.width))

    def dm_read(self, addr, size):
        assert self._dm_read(self._ep, addr, self._bytes, size), f"device memory has no {addr:#x}"
        return bytes(self._bytes[:size])

    def dm_write(self, addr, data):
        assert self._dm_write(self._ep, addr, data, len(data)), f"device memory has no {addr:#x}"

    def count(self, stat):
        self._count(self._ep, words_of(stat, STRUCTS.stat_t.width))

    def log(self, event, now_ns):
        self._log(self._ep, words_of(event, STRUCTS.event_t.width), now_ns)

    def set_mac(self, packets, size):
        self._set_mac(self._ep, packets, size)

    def register(self, name, i=0, j=0):
        """Offset in its BAR, by the name in the register map."""
        at = self._register(name.encode(), i, j)
        assert at >= 0, f"no register '{name}'"
        return at


class RnicFunction(Endpoint):
    """Function 0: configuration space and memory requests go to the models, completions to the RTL."""

    def __init__(self, nic):
        self.nic = nic
        super().__init__()

    @property
    def pcie_id(self):
        return self._pcie_id

    @pcie_id.setter
    def pcie_id(self, value):
        Endpoint.pcie_id.fset(self, value)
        self.nic.models.set_bdf(int(self._pcie_id))

    async def read_config_register(self, reg):
        return self.nic.models.config_read(4 * reg, 4)

    async def write_config_register(self, reg, data, mask):
        self.nic.wake.set()
        if mask == 0xf:
            self.nic.models.config_write(4 * reg, 4, data)
        elif mask in (0x3, 0xc):
            at = 0 if mask == 0x3 else 2
            self.nic.models.config_write(4 * reg + at, 2, data >> 8 * at & 0xffff)
        else:
            for at in range(4):
                if mask >> at & 1:
                    self.nic.models.config_write(4 * reg + at, 1, data >> 8 * at & 0xff)

    def match_tlp(self, tlp):
        # the project's own decoder says what lies in no BAR
        return tlp.fmt_type in (TlpType.MEM_READ, TlpType.MEM_READ_64, TlpType.MEM_WRITE, TlpType.MEM_WRITE_64) or \
            super().match_tlp(tlp)

    async def handle_tlp(self, tlp):
        self.nic.received[NAMES[tlp.fmt_type]] += 1
        if tlp.is_completion():
            tlp.release_fc()
            self.nic.completion(tlp)
        elif tlp.fmt_type in self.rx_tlp_handler:
            await super().handle_tlp(tlp)
        else:
            tlp.release_fc()
            answer = self.nic.models.request(bytes(tlp.pack()), int(get_sim_time("ns")))
            self.nic.wake.set()
            if answer:
                await self.nic.transmit(Tlp.unpack(answer))


class Nic:
    """The pins of rnic_top. `stall` is the share of cycles in which it may not send at tlp_tx and mac_tx."""

    def __init__(self, dut, gen=4, lanes=16, stall=0.0, seed=1):
        self.dut = dut
        self.random = random.Random(seed)
        self.stall = stall
        self.models = Models(gen, lanes)
        self.wake = Event()
        self.received = collections.Counter()  # by kind, from the root complex
        self.sent = collections.Counter()      # by kind, to it
        self.requests = []                     # memory requests of the RTL, in order
        self.frames = Queue()
        self.cycle = 0
        self.clocked = 0
        self.mmio = collections.deque()
        self.rx = collections.deque()
        self.dm = collections.deque()
        self.frame = bytearray()
        self.beats = None
        self.flr_until = self.flr_over = 0
        self.back_headers = self.back_data = 0  # credits of nullified TLPs
        self.mac_packets = self.mac_bytes = 0
        self.shown = {}
        self.p_headers = self.p_data = self.np_headers = 0  # credits that the RTL has used
        self.tx = Queue()
        self.function = RnicFunction(self)
        self.device = Device(eps=self.function)
        self.device.upstream_port.max_link_speed = gen
        self.device.upstream_port.max_link_width = lanes
        for name in ("clk_i", "rst_ni", "flr_i", "cycle_i", "now_i", "pcie_cfg_i", "pcie_fc_i", "tlp_rx_valid_i", "tlp_rx_i",
                     "db_valid_i", "db_i", "cmd_valid_i", "cmd_i", "msix_we_i",
                     "msix_idx_i", "msix_reg_i", "msix_wdata_i", "msix_en_i", "msix_mask_i", "win_we_i", "win_idx_i", "win_i",
                     "dm_rsp_valid_i", "dm_rsp_i"):
            self.drive(name, 0)
        self.drive("tlp_tx_ready_i", 1)
        self.drive("mac_tx_ready_i", 1)
        self.tasks = [cocotb.start_soon(self._clock()), cocotb.start_soon(self._transmit())]

    def stop(self):
        for task in self.tasks:
            task.kill()

    # ---- Towards the root complex ----

    async def transmit(self, tlp):
        self.sent[NAMES[tlp.fmt_type]] += 1
        await self.tx.put(tlp)

    async def _transmit(self):
        while True:
            await self.device.send(await self.tx.get())

    def completion(self, tlp):
        raw = bytes(tlp.pack())
        header, data = raw[:12], raw[12:]
        beats = max(1, (len(data) + 63) // 64)
        for i in range(beats):
            part = data[64 * i:64 * i + 64]
            self.rx.append(STRUCTS.tlp_beat_t.pack(
                sop=i == 0, eop=i + 1 == beats, hdr=int.from_bytes(header + bytes(4), "big"), dws=len(part) // 4,
                data=int.from_bytes(part, "little")))
        self.wake.set()

    # ---- Clock ----

    def drive(self, name, value):
        if self.shown.get(name) != value:
            self.shown[name] = value
            getattr(self.dut, name).value = value

    def level(self, name):
        return getattr(self.dut, name).value.integer

    async def _clock(self):
        half = PERIOD_PS // 2
        while True:
            if self.cycle >= RESET_CYCLES and self.level("idle_o") and not self._pending():
                self.wake.clear()
                if self.level("timer_valid_o"):
                    ends = max(PERIOD_PS, self.level("timer_deadline_o") * 1000 - int(get_sim_time("ps")))
                    await First(self.wake.wait(), Timer(ends, "ps"))
                else:
                    await self.wake.wait()
                now = get_sim_time("ps")  # back to the grid of the clock's edges
                wait = -now % PERIOD_PS or PERIOD_PS
                await Timer(wait, "ps")
                self.cycle = int((now + wait) // PERIOD_PS)
            self._inputs()
            await Timer(half, "ps")
            self._outputs()
            self.drive("clk_i", 1)
            await Timer(half, "ps")
            self.drive("clk_i", 0)
            self.cycle += 1
            self.clocked += 1

    def _pending(self):
        self._take_items()
        self._take_flr()
        return self.cycle <= self.flr_until or self.mmio or self.rx or self.dm or self.level("tlp_tx_valid_o") or \
            self.level("mac_tx_valid_o")

    def _take_items(self):
        while (item := self.models.next_item()) is not None:
            self.mmio.append(item)

    def _take_flr(self):
        if self.models.take_flr():
            self.flr_until = self.cycle + FLR_CYCLES
            self.flr_over = self.flr_until + FLR_OVER
            self.mmio.clear()

    def _end_flr(self):
        """What was under way at the pins was cut off. Completions and answers of device memory still come."""
        self.frame = bytearray()
        if self.beats is not None:  # a nullified TLP uses no credits
            self.back_headers += 1
            self.back_data += ((int.from_bytes(self.beats[2:4], "big") - 1) % 1024 + 4) // 4
            self.beats = None

    def _inputs(self):
        running = self.cycle >= RESET_CYCLES
        self._take_flr()
        if self.flr_until and self.cycle == self.flr_until:
            self._end_flr()
        self.drive("flr_i", self.cycle < self.flr_until)
        self.drive("rst_ni", running)
        self.drive("cycle_i", self.cycle)
        self.drive("now_i", self.cycle * PERIOD_PS // 1000)
        self.drive("pcie_cfg_i", self.models.settings())
        fc = self.device.upstream_port.fc_state[0]
        self.drive("pcie_fc_i", STRUCTS.pcie_fc_t.pack(
            p_inf=fc.ph.tx_is_infinite(), ph=fc.ph.tx_credit_limit + self.back_headers & 0xff,
            pd=fc.pd.tx_credit_limit + self.back_data & 0xfff,
            np_inf=fc.nph.tx_is_infinite(), nph=fc.nph.tx_credit_limit & 0xff))
        self._take_items()
        kind, value = self.mmio[0] if running and self.cycle >= self.flr_over and self.mmio else (None, 0)
        self.drive("db_valid_i", kind == "db")
        self.drive("cmd_valid_i", kind == "cmd")
        self.drive("msix_we_i", kind == "msix")
        self.drive("win_we_i", kind == "win")
        if kind == "msix":
            for name, number in zip(("idx", "reg", "wdata"), value):
                self.drive(f"msix_{name}_i", number)
        elif kind == "win":
            self.drive("win_idx_i", value[0])
            self.drive("win_i", value[1])
        elif kind:
            self.drive(kind + "_i", value)
        enabled, masked = self.models.msix(self.level("msix_pending_o"))
        self.drive("msix_en_i", enabled)
        self.drive("msix_mask_i", masked)
        busy = any(item[0] in ("win", "cmd") for item in self.mmio)
        self.models.set_busy(busy or self.level("win_busy_o"))
        self.drive("tlp_rx_valid_i", running and bool(self.rx))
        if self.rx:
            self.drive("tlp_rx_i", self.rx[0])
        due = bool(self.dm) and self.dm[0][0] <= self.cycle
        self.drive("dm_rsp_valid_i", due)
        if due:
            self.drive("dm_rsp_i", self.dm.popleft()[1])
        if self.stall:
            self.drive("tlp_tx_ready_i", self.random.random() >= self.stall)
            self.drive("mac_tx_ready_i", self.random.random() >= self.stall)

    def _outputs(self):
        """Handshakes of the coming edge."""
        if not self.shown["rst_ni"]:
            return
        if self.shown["db_valid_i"] and self.level("db_ready_o") or self.shown["cmd_valid_i"] and self.level("cmd_ready_o") or \
                self.shown["msix_we_i"] or self.shown["win_we_i"]:
            self.mmio.popleft()
        if self.shown["tlp_rx_valid_i"] and self.level("tlp_rx_ready_o"):
            self.rx.popleft()
        if stat := self.level("stat_o"):
            self.models.count(stat)
        if self.level("evt_valid_o"):
            self.models.log(self.level("evt_o"), self.cycle * PERIOD_PS // 1000)
        if self.level("dm_req_valid_o"):
            self._device_memory(STRUCTS.dm_req_t.unpack(self.level("dm_req_o")))
        if self.level("tlp_tx_valid_o") and self.shown["tlp_tx_ready_i"]:
            self._tlp_beat(STRUCTS.tlp_beat_t.unpack(self.level("tlp_tx_o")))
        if self.level("mac_tx_valid_o") and self.shown["mac_tx_ready_i"]:
            self._mac_beat(STRUCTS.mac_beat_t.unpack(self.level("mac_tx_o")))

    def _device_memory(self, req):
        if req.write:
            data = req.data.to_bytes(64, "little")
            for i in range(64):
                if req.strb >> i & 1:
                    self.models.dm_write(req.addr + i, data[i:i + 1])
            return
        for block in range(2 if req.two else 1):
            data = int.from_bytes(self.models.dm_read(req.addr + 64 * block, 64), "little")
            self.dm.append((self.cycle + DM_CYCLES, STRUCTS.dm_rsp_t.pack(last=block == req.two, data=data)))

    def _tlp_beat(self, beat):
        if beat.sop:
            assert self.beats is None, "a TLP begins within another"
            header = beat.hdr.to_bytes(16, "big")
            self.beats = bytearray(header if header[0] & 0x20 else header[:12])
        assert self.beats is not None, "a beat outside any TLP"
        self.beats += beat.data.to_bytes(64, "little")[:4 * beat.dws]
        if not beat.eop:
            return
        raw, self.beats = bytes(self.beats), None
        tlp = Tlp.unpack(raw)
        assert bytes(tlp.pack()) == raw, f"bits that the library does not know: {raw.hex()}"
        assert tlp.requester_id == self.function.pcie_id, f"a request from {tlp.requester_id}"
        self._credits(tlp)
        self.requests.append(tlp)
        self.sent[NAMES[tlp.fmt_type]] += 1
        self.tx.put_nowait(tlp)

    def _credits(self, tlp):
        """The RTL may not send beyond what the port has been granted."""
        fc = self.device.upstream_port.fc_state[0]
        if tlp.is_posted():
            self.p_headers += 1
            self.p_data += tlp.get_data_credits()
            assert (fc.ph.tx_credit_limit - self.p_headers) & 0xfff < 0x800, "no posted header credit for " + repr(tlp)
            assert (fc.pd.tx_credit_limit - self.p_data) & 0xffff < 0x8000, "no posted data credits for " + repr(tlp)
        else:
            self.np_headers += 1
            assert (fc.nph.tx_credit_limit - self.np_headers) & 0xfff < 0x800, "no non-posted credit for " + repr(tlp)

    def _mac_beat(self, beat):
        assert beat.sop == (not self.frame), "sop out of place"
        self.frame += beat.data.to_bytes(64, "little")[:beat.bytes]
        if beat.eop:
            self.mac_packets += 1
            self.mac_bytes += len(self.frame)
            self.models.set_mac(self.mac_packets, self.mac_bytes)
            self.frames.put_nowait(bytes(self.frame))
            self.frame = bytearray()

    def quiet(self):
        """Nothing is under way at the pins."""
        return self.level("idle_o") and not self._pending() and self.beats is None and not self.frame and self.tx.empty()
