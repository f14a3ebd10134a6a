//! The bytes of frames.

use laxity_qos::discipline::Class;
use laxity_transport::{HEADER_LEN, Timing, TransportHeader, WireChannelId as Wire};
use laxity_units::{Bytes, Span};

use crate::config::NodeConfig;

/// A frame of one packet that belongs to no channel, with a payload of `parts`.
pub(crate) fn one_packet(config: &NodeConfig, local: u32, class: Class, parts: &[&[u8]]) -> Vec<u8> {
    let length = Bytes::new(parts.iter().map(|part| part.len() as u64).sum());
    let header = TransportHeader {
        class,
        channel: Wire { node: config.node.0, local },
        epoch: config.epoch.0,
        message: 0,
        fragment: 0,
        fragments: 1,
        message_length: length,
        payload_length: length,
        timing: Timing::None,
        tag: None,
        age: Span::ZERO,
    };
    encoded(&header, parts)
}

/// The bytes of a frame.
pub(crate) fn encoded(header: &TransportHeader, parts: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER_LEN + header.payload_length.get() as usize);
    bytes.resize(HEADER_LEN, 0);
    header.encode(&mut bytes).expect("a packet is below 4 GiB and has its space");
    parts.iter().for_each(|part| bytes.extend_from_slice(part));
    bytes
}
