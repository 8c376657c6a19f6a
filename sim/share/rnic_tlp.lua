-- SPDX-License-Identifier: Apache-2.0
-- Wireshark dissector for the PCIe TLPs in capture.pcapng (link type USER0): header DWs big-endian, then the payload in
-- memory byte order; no sequence number, LCRC or ECRC.
--
--   tshark -X lua_script:rnic_tlp.lua -r capture.pcapng -Y pcietlp
--   wireshark -X lua_script:rnic_tlp.lua capture.pcapng     (or copy it to the personal Lua plugins folder)

local tlp = Proto("pcietlp", "PCI Express TLP")

local types = {
  [0x00] = "MRd32", [0x20] = "MRd64", [0x01] = "MRdLk32", [0x21] = "MRdLk64", [0x40] = "MWr32", [0x60] = "MWr64",
  [0x02] = "IORd", [0x42] = "IOWr", [0x04] = "CfgRd0", [0x44] = "CfgWr0", [0x05] = "CfgRd1", [0x45] = "CfgWr1",
  [0x0a] = "Cpl", [0x4a] = "CplD", [0x0b] = "CplLk", [0x4b] = "CplDLk",
}
local statuses = { [0] = "SC", [1] = "UR", [2] = "CRS", [4] = "CA" }

local f = {
  fmt_type = ProtoField.uint8("pcietlp.type", "Fmt and Type", base.HEX, types),
  tc = ProtoField.uint8("pcietlp.tc", "Traffic class"),
  td = ProtoField.bool("pcietlp.td", "Digest (TD)"),
  ep = ProtoField.bool("pcietlp.ep", "Poisoned (EP)"),
  ro = ProtoField.bool("pcietlp.ro", "Relaxed ordering"),
  ns = ProtoField.bool("pcietlp.ns", "No snoop"),
  ido = ProtoField.bool("pcietlp.ido", "ID-based ordering"),
  length = ProtoField.uint16("pcietlp.length", "Length (DW)"),
  requester = ProtoField.uint16("pcietlp.requester", "Requester ID", base.HEX),
  tag = ProtoField.uint16("pcietlp.tag", "Tag"),
  last_be = ProtoField.uint8("pcietlp.last_be", "Last DW byte enables", base.HEX),
  first_be = ProtoField.uint8("pcietlp.first_be", "First DW byte enables", base.HEX),
  address = ProtoField.uint64("pcietlp.address", "Address", base.HEX),
  completer = ProtoField.uint16("pcietlp.cpl.completer", "Completer ID", base.HEX),
  status = ProtoField.uint8("pcietlp.cpl.status", "Status", base.DEC, statuses),
  byte_count = ProtoField.uint16("pcietlp.cpl.byte_count", "Byte count"),
  lower_addr = ProtoField.uint8("pcietlp.cpl.lower_addr", "Lower address", base.HEX),
  data = ProtoField.bytes("pcietlp.data", "Payload"),
}
tlp.fields = f

local short = ProtoExpert.new("pcietlp.short", "TLP shorter than its header says", expert.group.MALFORMED,
                              expert.severity.ERROR)
tlp.experts = { short }

local function id(v)
  return string.format("%02x:%02x.%d", math.floor(v / 256), math.floor(v / 8) % 32, v % 8)
end

function tlp.dissector(buffer, pinfo, tree)
  pinfo.cols.protocol = "PCIe TLP"
  local sub = tree:add(tlp, buffer())
  if buffer:len() < 12 then
    sub:add_proto_expert_info(short)
    return buffer:len()
  end

  local fmt_type = buffer(0, 1):uint()
  local name = types[fmt_type] or string.format("TLP type 0x%02x", fmt_type)
  local four_dw = buffer(0, 1):bitfield(2, 1) == 1
  local has_data = buffer(0, 1):bitfield(1, 1) == 1
  local header = four_dw and 16 or 12
  local length = buffer(2, 2):bitfield(6, 10)
  if length == 0 then length = 1024 end
  local high_tag = buffer(1, 1):bitfield(0, 1) * 512 + buffer(1, 1):bitfield(4, 1) * 256

  sub:add(f.fmt_type, buffer(0, 1))
  sub:add(f.tc, buffer(1, 1), buffer(1, 1):bitfield(1, 3))
  sub:add(f.ido, buffer(1, 1), buffer(1, 1):bitfield(5, 1) == 1)
  sub:add(f.td, buffer(2, 1), buffer(2, 1):bitfield(0, 1) == 1)
  sub:add(f.ep, buffer(2, 1), buffer(2, 1):bitfield(1, 1) == 1)
  sub:add(f.ro, buffer(2, 1), buffer(2, 1):bitfield(2, 1) == 1)
  sub:add(f.ns, buffer(2, 1), buffer(2, 1):bitfield(3, 1) == 1)

  local info
  local kind = fmt_type % 32
  if kind == 0x0a or kind == 0x0b then
    local status = buffer(6, 1):bitfield(0, 3)
    local count = buffer(6, 2):bitfield(4, 12)
    if count == 0 then count = 4096 end
    local tag = high_tag + buffer(10, 1):uint()
    if has_data then sub:add(f.length, buffer(2, 2), length) end
    sub:add(f.completer, buffer(4, 2)):append_text(" (" .. id(buffer(4, 2):uint()) .. ")")
    sub:add(f.status, buffer(6, 1), status)
    sub:add(f.byte_count, buffer(6, 2), count)
    sub:add(f.requester, buffer(8, 2)):append_text(" (" .. id(buffer(8, 2):uint()) .. ")")
    sub:add(f.tag, buffer(10, 1), tag)
    sub:add(f.lower_addr, buffer(11, 1), buffer(11, 1):bitfield(1, 7))
    pinfo.cols.src = id(buffer(4, 2):uint())
    pinfo.cols.dst = id(buffer(8, 2):uint())
    info = string.format("%s tag %d %s bytes left %d", name, tag, statuses[status] or "status " .. status, count)
  else
    local tag = high_tag + buffer(6, 1):uint()
    sub:add(f.length, buffer(2, 2), length)
    sub:add(f.requester, buffer(4, 2)):append_text(" (" .. id(buffer(4, 2):uint()) .. ")")
    sub:add(f.tag, buffer(6, 1), tag)
    pinfo.cols.src = id(buffer(4, 2):uint())
    info = string.format("%s tag %d", name, tag)
    if kind == 0x00 or kind == 0x01 then
      sub:add(f.last_be, buffer(7, 1), buffer(7, 1):bitfield(0, 4))
      sub:add(f.first_be, buffer(7, 1), buffer(7, 1):bitfield(4, 4))
      local address
      if four_dw and buffer:len() >= 16 then
        address = UInt64(buffer(12, 4):uint() - buffer(12, 4):uint() % 4, buffer(8, 4):uint())
        sub:add(f.address, buffer(8, 8), address)
      else
        address = UInt64(buffer(8, 4):uint() - buffer(8, 4):uint() % 4, 0)
        sub:add(f.address, buffer(8, 4), address)
      end
      info = string.format("%s addr 0x%s", info, address:tohex():gsub("^0+(%x)", "%1"))
    end
  end
  info = string.format("%s len %d DW", info, has_data and length or (kind == 0 and length or 0))

  if has_data and buffer:len() > header then sub:add(f.data, buffer(header)) end
  if buffer:len() ~= header + (has_data and length * 4 or 0) then sub:add_proto_expert_info(short) end
  pinfo.cols.info = info
  return buffer:len()
end

DissectorTable.get("wtap_encap"):add(wtap.USER0, tlp)
