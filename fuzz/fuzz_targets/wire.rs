//! Bytes to the decoder of packet headers and their fragments to reassembly: what decodes encodes to the same
//! bytes, and no sequence of fragments does harm.
#![no_main]

use laxity_qos::fragment::Reassembler;
use laxity_qos::wire::{HEADER_LEN, Header};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let mut reassembler = Reassembler::default();
    // Any number of headers without payload, one after the other, then the rest as one packet.
    for packet in data.chunks(HEADER_LEN) {
        if let Ok((header, payload)) = Header::decode(packet) {
            assert_eq!(header.encode(), packet[..HEADER_LEN]);
            assert_eq!(payload.len() as u64, header.payload_length.get());
            reassembler.accept(header.message, header.fragment, header.fragments);
        }
    }
    let _ = Header::decode(data);
});
