//! Bytes to the decoder of version 2 headers and their payloads to reassembly: what decodes encodes
//! to the same bytes, and no sequence of packets exceeds the reservation. The same bytes go to the
//! decoder of clock messages.
#![no_main]

use laxity_clock::{ClockMessage, MESSAGE_LEN};
use laxity_transport::{
    FragmentSizes, HEADER_LEN, PacketArrival, Reassembly, Reservation, TransportHeader, WireChannelId,
};
use laxity_units::{Span, Time};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Ok(message) = ClockMessage::decode(&data[..data.len().min(MESSAGE_LEN)]) {
        assert_eq!(message.encode(), data[..MESSAGE_LEN]);
    }
    let sizes = FragmentSizes { message: 100, packet: 16 };
    let reservation = Reservation { sizes, buffers: 3, timeout: Span::from_us(50) };
    let mut reassembly: Option<Reassembly> = None;
    let (mut rest, mut now, mut held) = (data, Time::ZERO, Vec::new());
    // A byte before each packet is its length behind the header; the first packet names the
    // channel.
    while let Some((length, behind)) = rest.split_first() {
        let end = (HEADER_LEN + usize::from(*length)).min(behind.len());
        let (packet, others) = behind.split_at(end);
        rest = others;
        now += Span::from_us(u64::from(*length));
        let Ok((header, payload)) = TransportHeader::decode(packet) else { continue };
        let mut again = packet.to_vec();
        again[..HEADER_LEN].fill(0);
        header.encode(&mut again).expect("a decoded header has bytes");
        assert_eq!(again, packet);
        let channel: WireChannelId = header.channel;
        let reassembly =
            reassembly.get_or_insert_with(|| Reassembly::new(channel, header.epoch, reservation));
        reassembly.handle_timeout(now);
        if let PacketArrival::Complete(buffer) = reassembly.accept(now, &header, payload) {
            assert_eq!(reassembly.message(&buffer).len() as u64, header.message_length.get());
            held.push(buffer);
        }
        assert!(held.len() <= reassembly.in_use() && reassembly.in_use() <= 3);
        // The program reads some messages at once, others later.
        if *length % 2 == 0
            && let Some(buffer) = held.pop()
        {
            reassembly.release(buffer);
        }
    }
});
