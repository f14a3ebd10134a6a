//! The messages of Perfetto's format, with the fields that are written.
//!
//! Numbers and types are those of `protos/perfetto/trace/` in Perfetto's repository: `trace.proto`,
//! `trace_packet.proto`, `track_event/*.proto` and `interned_data/interned_data.proto`. Names are
//! ours, since names are no part of the file.

use prost::Message;

/// `Trace`; a file of several is one with the packets of all.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Packets {
    #[prost(message, repeated, tag = "1")]
    pub(super) packets: Vec<Packet>,
}

/// `TracePacket`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Packet {
    /// Nanoseconds.
    #[prost(uint64, optional, tag = "8")]
    pub(super) at: Option<u64>,
    #[prost(uint32, tag = "10")]
    pub(super) sequence: u32,
    #[prost(message, optional, tag = "11")]
    pub(super) event: Option<Event>,
    #[prost(message, optional, tag = "12")]
    pub(super) names: Option<Interned>,
    /// 1: names before are void. 2: needs names before.
    #[prost(uint32, optional, tag = "13")]
    pub(super) flags: Option<u32>,
    #[prost(message, optional, tag = "60")]
    pub(super) track: Option<TrackDescriptor>,
}

/// `Trace` with one packet that is compressed.
#[derive(Clone, PartialEq, Message)]
pub(super) struct CompressedPackets {
    #[prost(message, optional, tag = "1")]
    pub(super) packet: Option<Compressed>,
}

/// `TracePacket` that holds others: a `Trace`, compressed by zlib.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Compressed {
    #[prost(bytes = "vec", tag = "50")]
    pub(super) packets: Vec<u8>,
}

/// `TrackEvent`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Event {
    #[prost(message, repeated, tag = "4")]
    pub(super) annotations: Vec<Annotation>,
    #[prost(uint32, tag = "9")]
    pub(super) kind: u32,
    #[prost(uint64, optional, tag = "10")]
    pub(super) name: Option<u64>,
    #[prost(uint64, optional, tag = "11")]
    pub(super) track: Option<u64>,
    #[prost(int64, optional, tag = "30")]
    pub(super) level: Option<i64>,
    #[prost(fixed64, repeated, packed = "false", tag = "47")]
    pub(super) flows: Vec<u64>,
    #[prost(fixed64, repeated, packed = "false", tag = "48")]
    pub(super) ending_flows: Vec<u64>,
}

impl Event {
    pub(super) const BEGIN: u32 = 1;
    pub(super) const END: u32 = 2;
    pub(super) const INSTANT: u32 = 3;
    pub(super) const COUNTER: u32 = 4;
}

/// `DebugAnnotation`: an argument, with a number or a text as its value.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Annotation {
    #[prost(uint64, tag = "1")]
    pub(super) name: u64,
    #[prost(uint64, optional, tag = "3")]
    pub(super) value: Option<u64>,
    #[prost(uint64, optional, tag = "17")]
    pub(super) text: Option<u64>,
}

/// `InternedData`: texts that are referred to by number from now on.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Interned {
    #[prost(message, repeated, tag = "2")]
    pub(super) events: Vec<Name>,
    #[prost(message, repeated, tag = "3")]
    pub(super) arguments: Vec<Name>,
    #[prost(message, repeated, tag = "29")]
    pub(super) texts: Vec<Text>,
}

/// `EventName`, `DebugAnnotationName`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Name {
    #[prost(uint64, tag = "1")]
    pub(super) number: u64,
    #[prost(string, tag = "2")]
    pub(super) name: String,
}

/// `InternedString`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Text {
    #[prost(uint64, tag = "1")]
    pub(super) number: u64,
    #[prost(bytes = "vec", tag = "2")]
    pub(super) text: Vec<u8>,
}

/// `TrackDescriptor`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct TrackDescriptor {
    #[prost(uint64, tag = "1")]
    pub(super) uuid: u64,
    #[prost(string, optional, tag = "2")]
    pub(super) name: Option<String>,
    #[prost(message, optional, tag = "3")]
    pub(super) process: Option<Process>,
    #[prost(uint64, optional, tag = "5")]
    pub(super) parent: Option<u64>,
    /// Of a track of levels.
    #[prost(message, optional, tag = "8")]
    pub(super) counter: Option<CounterDescriptor>,
    #[prost(int32, optional, tag = "11")]
    pub(super) child_ordering: Option<i32>,
    #[prost(int32, optional, tag = "12")]
    pub(super) rank: Option<i32>,
}

/// `ProcessDescriptor`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Process {
    #[prost(int32, tag = "1")]
    pub(super) pid: i32,
    #[prost(string, tag = "6")]
    pub(super) name: String,
}

/// `CounterDescriptor`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct CounterDescriptor {}
