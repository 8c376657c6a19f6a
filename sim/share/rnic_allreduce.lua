-- SPDX-License-Identifier: Apache-2.0
-- Wireshark dissector for AllReduce fragments and acknowledges (docs/allreduce.md): BTH opcodes 0xc0 and 0xc1 of the
-- manufacturers' range. A post-dissector: Wireshark's own InfiniBand dissector stays as it is and shows what is behind
-- the BTH of such a packet as "Vendor Specific or Unknown Header Sequence"; this adds a tree that reads it.
--
--   tshark -X lua_script:rnic_allreduce.lua -r capture.pcapng -Y allreduce
--   wireshark -X lua_script:rnic_allreduce.lua capture.pcapng   (or copy it to the personal Lua plugins folder)

local allreduce = Proto("allreduce", "AllReduce")

local FRAGMENT, ACK = 0xc0, 0xc1
local UDP, BTH, ARETH, ICRC, MAX = 8, 12, 16, 4, 4096

local opcodes = { [FRAGMENT] = "ALLREDUCE FRAGMENT", [ACK] = "ALLREDUCE ACKNOWLEDGE" }
local types = {
  [0] = "FP16", [1] = "BF16", [2] = "FP32", [3] = "INT32", [4] = "INT64", [5] = "FP16 in FP32", [6] = "BF16 in FP32",
}
local sizes = { [0] = 2, [1] = 2, [2] = 4, [3] = 4, [4] = 8, [5] = 2, [6] = 2 }
local operations = { [0] = "sum", [1] = "min", [2] = "max" }

local f = {
  opcode = ProtoField.uint8("allreduce.opcode", "Opcode", base.HEX, opcodes),
  group = ProtoField.uint16("allreduce.group", "Group"),
  step = ProtoField.uint16("allreduce.step", "Step"),
  chunk = ProtoField.uint16("allreduce.chunk", "Chunk"),
  rank = ProtoField.uint8("allreduce.rank", "Rank"),
  reserved = ProtoField.uint8("allreduce.reserved", "Reserved", base.HEX),
  offset = ProtoField.uint32("allreduce.offset", "Offset in the chunk"),
  type = ProtoField.uint8("allreduce.type", "Type", base.DEC, types),
  operation = ProtoField.uint8("allreduce.operation", "Operation", base.DEC, operations),
  length = ProtoField.uint16("allreduce.length", "Length"),
  elements = ProtoField.uint32("allreduce.elements", "Elements"),
  data = ProtoField.bytes("allreduce.data", "Elements, little endian"),
  icrc = ProtoField.bytes("allreduce.icrc", "Invariant CRC"),
}
allreduce.fields = f

local e = {
  short = ProtoExpert.new("allreduce.short", "Too short for what it should hold", expert.group.MALFORMED, expert.severity.ERROR),
  wrong_length = ProtoExpert.new("allreduce.wrong_length", "Length is not that of the payload", expert.group.MALFORMED,
                                 expert.severity.ERROR),
  too_long = ProtoExpert.new("allreduce.too_long", "Fragment above 4096 bytes", expert.group.PROTOCOL,
                             expert.severity.ERROR),
  part = ProtoExpert.new("allreduce.part_of_element", "Length is no whole number of elements", expert.group.PROTOCOL,
                         expert.severity.ERROR),
  unknown_type = ProtoExpert.new("allreduce.unknown_type", "Unknown type", expert.group.PROTOCOL,
                                 expert.severity.WARN),
  unknown_operation = ProtoExpert.new("allreduce.unknown_operation", "Unknown operation", expert.group.PROTOCOL,
                                      expert.severity.WARN),
  bad_rank = ProtoExpert.new("allreduce.bad_rank", "Rank above 63", expert.group.PROTOCOL, expert.severity.WARN),
  reserved = ProtoExpert.new("allreduce.reserved_not_zero", "Reserved byte is not 0", expert.group.PROTOCOL,
                             expert.severity.WARN),
  payload = ProtoExpert.new("allreduce.ack_payload", "Payload behind an acknowledge", expert.group.PROTOCOL,
                            expert.severity.ERROR),
}
allreduce.experts = e

local bth_opcode = Field.new("infiniband.bth.opcode")
local bth_pad = Field.new("infiniband.bth.padcnt")
local udp_length = Field.new("udp.length")

function allreduce.dissector(_, pinfo, tree)
  -- With tunnels there may be several UDP headers; the last one is the packet's own.
  local opcode, lengths = bth_opcode(), { udp_length() }
  if not opcode or not opcodes[opcode.value] or #lengths == 0 then return end
  local frame, begin = opcode.source, opcode.offset + BTH
  local rest = opcode.offset + lengths[#lengths].value - UDP - begin
  local captured = math.min(rest, frame:len() - begin)
  local sub = tree:add(allreduce, captured > 0 and frame(begin, captured) or opcode.range)
  sub:add(f.opcode, opcode.range)
  pinfo.cols.protocol = "AllReduce"
  if captured < rest or rest < ARETH + ICRC then
    sub:add_proto_expert_info(e.short)
    pinfo.cols.info = opcodes[opcode.value] .. ", cut off"
    return
  end

  local b, ack = frame(begin, rest), opcode.value == ACK
  local group, step, chunk, rank = b(0, 2):uint(), b(2, 2):uint(), b(4, 2):uint(), b(6, 1):uint()
  local offset, dtype, operation, length = b(8, 4):uint(), b(12, 1):uint(), b(13, 1):uint(), b(14, 2):uint()
  local pad = bth_pad() and bth_pad().value or 0
  local payload = rest - ARETH - ICRC - pad

  sub:add(f.group, b(0, 2))
  sub:add(f.step, b(2, 2))
  sub:add(f.chunk, b(4, 2))
  local rank_item = sub:add(f.rank, b(6, 1))
  local reserved_item = sub:add(f.reserved, b(7, 1))
  sub:add(f.offset, b(8, 4))
  local type_item = sub:add(f.type, b(12, 1))
  local operation_item = sub:add(f.operation, b(13, 1))
  local length_item = sub:add(f.length, b(14, 2))
  if rank > 63 then rank_item:add_proto_expert_info(e.bad_rank) end
  if b(7, 1):uint() ~= 0 then reserved_item:add_proto_expert_info(e.reserved) end
  if not types[dtype] then type_item:add_proto_expert_info(e.unknown_type) end
  if not operations[operation] then operation_item:add_proto_expert_info(e.unknown_operation) end
  if ack then
    if payload ~= 0 then length_item:add_proto_expert_info(e.payload) end
  else
    if payload ~= length then
      length_item:add_proto_expert_info(e.wrong_length, string.format("Length is %d, payload %d", length, payload))
    end
    if length > MAX then length_item:add_proto_expert_info(e.too_long) end
    if sizes[dtype] and length % sizes[dtype] ~= 0 then length_item:add_proto_expert_info(e.part) end
    if sizes[dtype] then sub:add(f.elements, b(14, 2), math.floor(length / sizes[dtype])):set_generated() end
    if payload > 0 then sub:add(f.data, b(ARETH, payload)) end
  end

  sub:add(f.icrc, b(rest - ICRC, ICRC))
  local where = string.format("group %d step %d chunk %d offset %d", group, step, chunk, offset)
  pinfo.cols.info = string.format("%s %s rank %d %s %s%s", opcodes[opcode.value], where, rank,
                                  types[dtype] or "type " .. dtype, operations[operation] or "operation " .. operation,
                                  ack and "" or string.format(" %d bytes", length))
end

register_postdissector(allreduce)
