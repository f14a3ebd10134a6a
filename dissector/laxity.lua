-- Laxity's packets in Wireshark and tshark, behind UDP: the header of 48 bytes of simulated packets that crates/qos/src/wire.rs
-- lays down, and that of 72 bytes of the running service (crates/transport/src/header.rs). A packet that is shorter than the
-- headers has as much of the first one as fits.
--
--   wireshark -X lua_script:dissector/laxity.lua camera.pcapng
--   tshark -X lua_script:dissector/laxity.lua -r camera.pcapng -Y "laxity.laxity < 0"
--
-- Times of a run count from the beginning of 1970, as the capture's do, so the laxity that a packet had left when it was sent can
-- be said for each: deadline less time of capture.

local laxity = Proto("laxity", "Laxity real-time channel")

local classes = { [0] = "real time", [1] = "best effort" }
local never = UInt64.new(0xffffffff, 0xffffffff)

local fields = laxity.fields
fields.version = ProtoField.uint8("laxity.version", "Version")
fields.class = ProtoField.uint8("laxity.class", "Class", base.DEC, classes)
fields.channel = ProtoField.uint32("laxity.channel", "Channel")
fields.message = ProtoField.uint64("laxity.message", "Message")
fields.fragment = ProtoField.uint32("laxity.fragment", "Fragment")
fields.fragments = ProtoField.uint32("laxity.fragments", "Fragments")
fields.message_length = ProtoField.uint32("laxity.message_length", "Message length", base.UNIT_STRING, { " B" })
fields.payload_length = ProtoField.uint32("laxity.payload_length", "Payload length", base.UNIT_STRING, { " B" })
fields.logical_arrival = ProtoField.uint64("laxity.logical_arrival", "Logical arrival", base.UNIT_STRING, { " ns" })
fields.deadline = ProtoField.uint64("laxity.deadline", "Deadline", base.UNIT_STRING, { " ns" })
fields.laxity = ProtoField.double("laxity.laxity", "Laxity when sent, seconds")
fields.node = ProtoField.uint32("laxity.node", "Node")
fields.epoch = ProtoField.uint32("laxity.epoch", "Epoch")
fields.remaining = ProtoField.uint64("laxity.remaining", "Remaining", base.UNIT_STRING, { " ns" })
fields.age = ProtoField.uint64("laxity.age", "Age", base.UNIT_STRING, { " ns" })
fields.late = ProtoField.bool("laxity.late", "Late")

local malformed = ProtoExpert.new("laxity.malformed", "Not a header of Laxity", expert.group.MALFORMED, expert.severity.ERROR)
local late = ProtoExpert.new("laxity.past", "Sent after its deadline", expert.group.SEQUENCE, expert.severity.WARN)
laxity.experts = { malformed, late }

-- Nanoseconds of a 64-bit number as seconds, without losing those that a double cannot hold beside years.
local function seconds(ns)
  return (ns / 1000000000):tonumber() + (ns % 1000000000):tonumber() * 1e-9
end

local kinds = { [0xffffffff] = "signalling", [0xfffffffe] = "datagram" }

-- The header of the running service. Its flags: 1 best effort, 2 a remaining time, 4 a deadline, 8 a tag.
local function service(buffer, packet, tree)
  local flags, channel = buffer(3, 1):uint(), buffer(8, 4):uint()
  tree:add(fields.class, buffer(3, 1), flags % 2)
  tree:add(fields.node, buffer(4, 4))
  tree:add(fields.channel, buffer(8, 4))
  tree:add(fields.epoch, buffer(12, 4))
  tree:add(fields.message, buffer(16, 8))
  tree:add(fields.fragment, buffer(24, 4))
  tree:add(fields.fragments, buffer(28, 4))
  tree:add(fields.message_length, buffer(32, 4))
  tree:add(fields.payload_length, buffer(36, 4))
  local text = kinds[channel] and string.format("%s, node %d", kinds[channel], buffer(4, 4):uint())
    or string.format("%s, channel %d.%d.%d, message %d, fragment %d of %d", classes[flags % 2], buffer(4, 4):uint(),
      buffer(12, 4):uint(), channel, buffer(20, 4):uint(), buffer(24, 4):uint() + 1, buffer(28, 4):uint())
  if math.floor(flags / 2) % 4 == 1 then
    tree:add(fields.remaining, buffer(40, 8))
    local left = seconds(buffer(40, 8):uint64())
    if left == 0 then tree:add_proto_expert_info(late) end
    text = string.format("%s, remaining %.3f ms", text, left * 1e3)
  end
  tree:add(fields.age, buffer(64, 8))
  tree:append_text(": " .. text)
  packet.cols.info = text
  return buffer:len()
end

function laxity.dissector(buffer, packet, root)
  local length = buffer:len()
  if length < 16 or buffer(0, 2):string() ~= "LX" then return 0 end
  packet.cols.protocol = "LAXITY"
  local tree = root:add(laxity, buffer(0, math.min(length, 48)))
  tree:add(fields.version, buffer(2, 1))
  if buffer(2, 1):uint() == 2 and length >= 72 then return service(buffer, packet, tree) end
  if buffer(2, 1):uint() ~= 1 or buffer(3, 1):uint() > 1 then
    tree:add_proto_expert_info(malformed)
    return buffer:len()
  end
  tree:add(fields.class, buffer(3, 1))
  tree:add(fields.channel, buffer(4, 4))
  tree:add(fields.message, buffer(8, 8))
  if length < 48 then
    local text = string.format("%s, channel %d, message %s, header cut off", classes[buffer(3, 1):uint()],
      buffer(4, 4):uint(), tostring(buffer(8, 8):uint64()))
    tree:append_text(": " .. text)
    packet.cols.info = text
    return length
  end
  tree:add(fields.fragment, buffer(16, 4))
  tree:add(fields.fragments, buffer(20, 4))
  tree:add(fields.message_length, buffer(24, 4))
  tree:add(fields.payload_length, buffer(28, 4))
  tree:add(fields.logical_arrival, buffer(32, 8))
  local fragment, fragments = buffer(16, 4):uint(), buffer(20, 4):uint()
  local deadline = buffer(40, 8):uint64()
  local text = string.format("%s, channel %d, message %s, fragment %d of %d", classes[buffer(3, 1):uint()],
    buffer(4, 4):uint(), tostring(buffer(8, 8):uint64()), fragment + 1, fragments)
  if deadline ~= never then
    tree:add(fields.deadline, buffer(40, 8))
    local left = seconds(deadline) - packet.abs_ts
    tree:add(fields.laxity, left):set_generated()
    tree:add(fields.late, left < 0):set_generated()
    if left < 0 then tree:add_proto_expert_info(late) end
    text = string.format("%s, laxity %.3f ms", text, left * 1e3)
  end
  tree:append_text(": " .. text)
  packet.cols.info = text
  return buffer:len()
end

DissectorTable.get("udp.port"):add(0x4C58, laxity)
-- Frames of nodes with signalling, in simulation: the type for local experiments.
DissectorTable.get("ethertype"):add(0x88B5, laxity)
