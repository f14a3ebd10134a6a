//! Real packets beside the counting model of `laxity_qos::fragment`, and bytes that no sender sent.

use laxity_qos::discipline::Class;
use laxity_qos::fragment::{Cut, Fragmentation, Reassembler};
use laxity_transport::{
    FragmentSizes, HEADER_LEN, Ignored, PacketArrival, Reassembly, Reservation, Sender, Timing, TooLong,
    TransportError, TransportHeader, WireChannelId,
};
use laxity_units::{Bytes, Span, Time};
use proptest::prelude::*;

const CHANNEL: WireChannelId = WireChannelId { node: 3, local: 7 };

fn sender(message: u32, packet: u32) -> Sender {
    Sender::new(CHANNEL, 5, Class::RealTime, FragmentSizes { message, packet })
}

fn receiver(message: u32, packet: u32, buffers: u32) -> Reassembly {
    let sizes = FragmentSizes { message, packet };
    Reassembly::new(CHANNEL, 5, Reservation { sizes, buffers, timeout: Span::from_ms(40) })
}

/// A message in which each byte depends on its place and the message.
fn content(number: u64, length: usize) -> Vec<u8> {
    (0..length).map(|at| (at as u64 * 31 + number * 17) as u8).collect()
}

/// The packets of a message as bytes.
fn packets(sender: &mut Sender, message: &[u8]) -> Vec<Vec<u8>> {
    let fragments = sender.send(message, Timing::Remaining(Span::from_us(9))).unwrap();
    let written = fragments.map(|fragment| {
        let mut frame = vec![0xEE; fragment.packet_len() + 3];
        let length = fragment.write(&mut frame).unwrap();
        assert_eq!(frame[length..], [0xEE; 3]);
        frame.truncate(length);
        frame
    });
    written.collect()
}

/// Gives bytes to a receiver, and returns a copy of a message that they complete.
fn deliver(receiver: &mut Reassembly, now: Time, packet: &[u8]) -> Option<Vec<u8>> {
    let (header, payload) = TransportHeader::decode(packet).unwrap();
    match receiver.accept(now, &header, payload) {
        PacketArrival::Whole(message) => Some(message.to_vec()),
        PacketArrival::Complete(buffer) => {
            let message = receiver.message(&buffer).to_vec();
            receiver.release(buffer);
            Some(message)
        }
        PacketArrival::Partial | PacketArrival::Ignored(_) => None,
    }
}

proptest! {
    /// The same fragments with the same sizes as the counting model, and as its pieces where a
    /// message is too long.
    #[test]
    fn packets_are_those_of_the_model(length in 0usize..3000, largest in 1u32..1000, packet in 1u32..400) {
        let message = content(1, length);
        let mut sender = sender(largest, packet);
        let bytes = |n: usize| Bytes::new(n as u64);
        let cut = Cut::new(bytes(length), bytes(largest as usize), bytes(packet as usize));
        let chunks = message.chunks(largest as usize).chain((length == 0).then_some(&message[..]));
        let mut sizes = Vec::new();
        for chunk in chunks {
            let model = Fragmentation::new(bytes(chunk.len()), bytes(packet as usize));
            let fragments = sender.send(chunk, Timing::None).unwrap();
            prop_assert_eq!(fragments.len() as u64, model.packets());
            let sent: Vec<_> = fragments.collect();
            prop_assert_eq!(sent.iter().map(|f| f.header.payload_length).collect::<Vec<_>>(), model.sizes().collect::<Vec<_>>());
            prop_assert_eq!(sent.iter().flat_map(|f| f.payload).copied().collect::<Vec<_>>(), chunk);
            // No copy: payloads lie in the message.
            let inside = chunk.as_ptr_range();
            prop_assert!(sent.iter().all(|f| f.payload.is_empty() || inside.contains(&f.payload.as_ptr())));
            sizes.extend(sent.iter().map(|f| f.header.payload_length));
        }
        prop_assert_eq!(sizes, (0..cut.packets()).map(|i| cut.size(i)).collect::<Vec<_>>());
        let too_long = content(1, largest as usize + 1);
        prop_assert_eq!(sender.send(&too_long, Timing::None).err(), Some(TooLong { length: too_long.len(), largest }));
    }

    /// Packets that are lost, doubled and out of order: the same messages complete as in the
    /// counting model, at the same packets, with the same number given up, and each has the bytes
    /// that were sent.
    #[test]
    fn reassembly_does_what_the_model_does(
        lengths in prop::collection::vec(0usize..700, 1..60),
        picks in prop::collection::vec((any::<prop::sample::Index>(), 0usize..40), 0..400),
        lost in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
    ) {
        let mut sender = sender(700, 100);
        let messages: Vec<_> = lengths.iter().enumerate().map(|(n, length)| content(n as u64, *length)).collect();
        let mut line: Vec<_> = messages.iter().flat_map(|message| packets(&mut sender, message)).collect();
        for index in lost {
            line.remove(index.index(line.len()));
            if line.is_empty() {
                return Ok(());
            }
        }
        for (index, by) in picks {
            let at = index.index(line.len());
            let packet = line[at].clone();
            line.insert((at + by).min(line.len()), packet);
            if by % 2 == 0 {
                line.remove(at);
            }
        }
        let mut real = receiver(700, 100, Reassembler::OPEN as u32);
        let mut model = Reassembler::default();
        let mut given_up = 0;
        for packet in &line {
            let (header, _) = TransportHeader::decode(packet).unwrap();
            let expected = model.accept(header.message, header.fragment, header.fragments);
            given_up += expected.discarded;
            let message = deliver(&mut real, Time::ZERO, packet);
            prop_assert_eq!(message.as_ref(), expected.complete.then(|| &messages[header.message as usize]));
            prop_assert_eq!(real.counts().given_up, given_up);
            prop_assert_eq!(real.in_use() as u64, model.incomplete());
        }
    }

    /// Whatever bytes arrive: no panic, no more than the reservation, and what decodes encodes to
    /// the same bytes.
    #[test]
    fn bytes_of_any_kind_do_no_harm(
        random in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..4),
        harms in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u8>(), any::<bool>()), 0..40),
        lengths in prop::collection::vec(0usize..500, 1..8),
        buffers in 0u32..4,
    ) {
        let mut sender = sender(500, 64);
        let mut line: Vec<_> = lengths.iter().flat_map(|length| packets(&mut sender, &content(0, *length))).collect();
        for (packet, at, byte, cut) in harms {
            let of = packet.index(line.len());
            let packet = &mut line[of];
            if !packet.is_empty() {
                let at = at.index(packet.len());
                packet[at] = byte;
                if cut {
                    packet.truncate(at);
                }
            }
        }
        line.extend(random);
        let mut receiver = receiver(500, 64, buffers);
        let mut held = Vec::new();
        for packet in &mut line {
            let before = packet.clone();
            if let Ok((header, payload)) = TransportHeader::decode(packet) {
                let mut again = vec![0; packet.len()];
                prop_assert_eq!(header.encode(&mut again).unwrap().len(), payload.len());
                prop_assert_eq!(&again[..HEADER_LEN], &packet[..HEADER_LEN]);
                if let PacketArrival::Complete(buffer) = receiver.accept(Time::ZERO, &header, payload) {
                    prop_assert_eq!(receiver.message(&buffer).len() as u64, header.message_length.get());
                    held.push(buffer);
                }
                prop_assert!(receiver.in_use() <= buffers as usize);
                if header.tag.is_none() {
                    TransportHeader::stamp(packet, Time::from_ps(123_456_789)).unwrap();
                    prop_assert!(matches!(TransportHeader::decode(packet), Err(TransportError::Flags(_))));
                    prop_assert_eq!(TransportHeader::take_stamp(packet), Ok(Some(Time::from_ns(123_456))));
                } else {
                    prop_assert_eq!(TransportHeader::stamp(packet, Time::ZERO), Err(TransportError::Tag));
                }
                prop_assert_eq!(&*packet, &before);
                prop_assert_eq!(TransportHeader::take_stamp(packet), Ok(None));
                TransportHeader::set_time(packet, Timing::Deadline(Time::from_ns(77)), Span::from_ns(5)).unwrap();
                let (changed, _) = TransportHeader::decode(packet).unwrap();
                let timing = Timing::Deadline(Time::from_ns(77));
                prop_assert_eq!(changed, TransportHeader { timing, age: Span::from_ns(5), ..header });
            } else {
                // A damaged header may still have its time replaced, but no length of bytes makes
                // it panic.
                let _ = TransportHeader::set_time(packet, Timing::None, Span::ZERO);
                let _ = TransportHeader::take_stamp(packet);
                prop_assert_eq!(packet.len(), before.len());
            }
        }
        prop_assert!(receiver.in_use() >= held.len());
        receiver.handle_timeout(Time::MAX);
        prop_assert_eq!((receiver.in_use(), receiver.poll_timeout()), (held.len(), None));
        for buffer in held {
            receiver.release(buffer);
        }
        prop_assert_eq!(receiver.in_use(), 0);
    }
}

fn header() -> TransportHeader {
    TransportHeader {
        class: Class::BestEffort,
        channel: WireChannelId { node: 0x0102_0304, local: 0x0506_0708 },
        epoch: 0x090A_0B0C,
        message: 0x1112_1314_1516_1718,
        fragment: 1,
        fragments: 3,
        message_length: Bytes::new(5),
        payload_length: Bytes::new(2),
        timing: Timing::Deadline(Time::from_ps(1_000_999)),
        tag: Some([0xAA; 16]),
        age: Span::from_ns(0x0102_0304),
    }
}

#[test]
fn a_header_is_these_bytes() {
    let mut frame = [0; HEADER_LEN + 2];
    assert_eq!(header().encode(&mut frame).unwrap().len(), 2);
    let expected = [
        [b'L', b'X', 2, 0b1101].as_slice(),
        &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
        &[0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18],
        &[0, 0, 0, 1, 0, 0, 0, 3],
        &[0, 0, 0, 5, 0, 0, 0, 2],
        // 1000 ns, the picoseconds cut off.
        &[0, 0, 0, 0, 0, 0, 3, 0xE8],
        &[0xAA; 16],
        &[0, 0, 0, 0, 1, 2, 3, 4],
        &[0, 0],
    ];
    assert_eq!(frame[..], expected.concat());
    let plain = TransportHeader {
        class: Class::RealTime,
        timing: Timing::Remaining(Span::from_ns(258)),
        tag: None,
        age: Span::from_ns(9),
        ..header()
    };
    plain.encode(&mut frame).unwrap();
    assert_eq!(
        (frame[3], &frame[46..]),
        (0b10, [[1, 2].as_slice(), &[0; 23], &[9, 0, 0]].concat().as_slice())
    );
    let before = frame;
    assert_eq!(header().encode(&mut frame[..HEADER_LEN - 1]).err(), Some(TransportError::Short));
    let huge = TransportHeader { message_length: Bytes::new(1 << 32), ..header() };
    assert_eq!((huge.encode(&mut frame).err(), frame), (Some(TransportError::Length), before));
}

#[test]
fn each_fault_has_its_error() {
    let after = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = vec![7; HEADER_LEN + 2];
        header().encode(&mut bytes).unwrap();
        change(&mut bytes);
        TransportHeader::decode(&bytes).map(|(header, _)| header)
    };
    let set = |at: usize, byte: u8| after(&|bytes: &mut Vec<u8>| bytes[at] = byte);
    assert_eq!(
        after(&|_| {}),
        Ok(TransportHeader { timing: Timing::Deadline(Time::from_ns(1000)), ..header() })
    );
    assert_eq!(after(&|bytes| bytes.truncate(HEADER_LEN - 1)), Err(TransportError::Short));
    assert_eq!(set(0, b'l'), Err(TransportError::Magic));
    assert_eq!(set(2, 1), Err(TransportError::Version(1)));
    assert_eq!(set(3, 0b1_1101), Err(TransportError::Flags(0b1_1101)));
    assert_eq!(set(3, 0b1111), Err(TransportError::Flags(0b1111)));
    assert_eq!(set(3, 0b0101), Err(TransportError::Tag));
    assert_eq!(set(3, 0b1001), Err(TransportError::Time), "a time where there is none");
    assert_eq!(set(40, 0xFF), Err(TransportError::Time), "a time that cannot be named");
    assert_eq!(set(27, 3), Err(TransportError::Fragment));
    assert_eq!(set(27, 2).map(|header| header.fragment), Ok(2));
    assert_eq!(set(31, 0), Err(TransportError::Fragment));
    assert_eq!(after(&|bytes| bytes.push(7)), Err(TransportError::Length));
    assert_eq!(after(&|bytes| bytes.truncate(HEADER_LEN + 1)), Err(TransportError::Length));
    assert_eq!(set(35, 1), Err(TransportError::Length), "more payload than message");
    assert_eq!(
        after(&|bytes| (bytes[27], bytes[31]) = (0, 1)),
        Err(TransportError::Length),
        "one packet, half a message"
    );
    let mut short = vec![0; HEADER_LEN - 1];
    assert_eq!(TransportHeader::set_time(&mut short, Timing::None, Span::ZERO), Err(TransportError::Short));
    assert_eq!(TransportHeader::stamp(&mut short, Time::ZERO), Err(TransportError::Short));
    assert_eq!(TransportHeader::take_stamp(&mut short), Err(TransportError::Short));
    let mut unnamed = vec![0; HEADER_LEN];
    TransportHeader::stamp(&mut unnamed, Time::ZERO).unwrap();
    unnamed[48] = 255;
    assert_eq!(TransportHeader::take_stamp(&mut unnamed), Err(TransportError::Time));
    assert_eq!(unnamed, [0; HEADER_LEN]);
    let mut other = vec![0; HEADER_LEN];
    assert_eq!(TransportHeader::set_time(&mut other, Timing::None, Span::ZERO), Err(TransportError::Magic));
    other[..3].copy_from_slice(b"LX\x01");
    assert_eq!(
        TransportHeader::set_time(&mut other, Timing::None, Span::ZERO),
        Err(TransportError::Version(1))
    );
    let errors = [
        TransportError::Short,
        TransportError::Magic,
        TransportError::Fragment,
        TransportError::Length,
        TransportError::Time,
        TransportError::Tag,
    ];
    assert!(errors.iter().all(|error| error.to_string().len() > 10));
    assert_eq!(TransportError::Flags(9).to_string(), "flags 0x09, which no header has");
}

/// Two buffers. Message 0 is partial, 1 completes and is held: 0 is given up. 2 and 3 are partial:
/// 3 takes 2's buffer.
#[test]
fn complete_messages_keep_their_buffers() {
    let (mut sender, mut receiver) = (sender(4, 2), receiver(4, 2, 2));
    let lines: Vec<_> = (0..6u64).map(|n| packets(&mut sender, &content(n, 4))).collect();
    let give = |receiver: &mut Reassembly, message: usize, fragment: usize| {
        let (header, payload) = TransportHeader::decode(&lines[message][fragment]).unwrap();
        match receiver.accept(Time::ZERO, &header, payload) {
            PacketArrival::Complete(buffer) => Ok(buffer),
            PacketArrival::Partial => Err(None),
            PacketArrival::Ignored(reason) => Err(Some(reason)),
            PacketArrival::Whole(_) => unreachable!("two packets"),
        }
    };
    assert_eq!(give(&mut receiver, 0, 1), Err(None));
    assert_eq!(give(&mut receiver, 1, 1), Err(None));
    assert_eq!(give(&mut receiver, 1, 1), Err(Some(Ignored::Duplicate)));
    let first = give(&mut receiver, 1, 0).unwrap();
    assert_eq!(give(&mut receiver, 0, 0), Err(Some(Ignored::Old)));
    assert_eq!(give(&mut receiver, 3, 0), Err(None));
    assert_eq!(give(&mut receiver, 2, 0), Err(Some(Ignored::NoBuffer)), "older than the partial one");
    assert_eq!(give(&mut receiver, 4, 0), Err(None), "3 is given up");
    let second = give(&mut receiver, 4, 1).unwrap();
    assert_eq!(give(&mut receiver, 5, 0), Err(Some(Ignored::NoBuffer)), "both are complete");
    assert_eq!(
        (receiver.message(&first), receiver.message(&second)),
        (&content(1, 4)[..], &content(4, 4)[..])
    );
    receiver.release(first);
    assert_eq!(give(&mut receiver, 5, 0), Err(None));
    let third = give(&mut receiver, 5, 1).unwrap();
    assert_eq!(
        (receiver.message(&second), receiver.message(&third)),
        (&content(4, 4)[..], &content(5, 4)[..])
    );
    let counts = receiver.counts();
    assert_eq!((counts.complete, counts.given_up, counts.timed_out, counts.ignored), (3, 3, 0, 4));
    assert_eq!(receiver.in_use(), 2);
}

/// 40 ms after its first packet a message is given up, and an older one with it; a newer one stays.
#[test]
fn partial_messages_time_out() {
    let (mut sender, mut receiver) = (sender(4, 2), receiver(4, 2, 4));
    let lines: Vec<_> = (0..4u64).map(|n| packets(&mut sender, &content(n, 4))).collect();
    let ms = |ms| Time::ZERO + Span::from_ms(ms);
    assert_eq!(receiver.poll_timeout(), None);
    for (message, at) in [(2, 0), (1, 10), (3, 20)] {
        deliver(&mut receiver, ms(at), &lines[message][0]);
    }
    assert_eq!(receiver.poll_timeout(), Some(ms(40)));
    receiver.handle_timeout(ms(40) - Span::from_ps(1));
    assert_eq!(receiver.in_use(), 3);
    receiver.handle_timeout(ms(40));
    assert_eq!((receiver.in_use(), receiver.poll_timeout()), (1, Some(ms(60))));
    // 0 never arrived, 1 and 2 were partial.
    assert_eq!((receiver.counts().given_up, receiver.counts().timed_out), (3, 2));
    assert_eq!(deliver(&mut receiver, ms(41), &lines[1][1]), None);
    assert_eq!(deliver(&mut receiver, ms(41), &lines[3][1]), Some(content(3, 4)));
}

/// A message of one packet needs no buffer and no copy, even if there are no buffers.
#[test]
fn one_packet_takes_the_fast_path() {
    let (mut sender, mut receiver) = (sender(100, 100), receiver(100, 100, 0));
    let packet = packets(&mut sender, &content(0, 100)).pop().unwrap();
    let (header, payload) = TransportHeader::decode(&packet).unwrap();
    let PacketArrival::Whole(message) = receiver.accept(Time::ZERO, &header, payload) else {
        panic!("one packet")
    };
    assert_eq!((message.as_ptr(), message), (packet[HEADER_LEN..].as_ptr(), &content(0, 100)[..]));
    assert_eq!(receiver.accept(Time::ZERO, &header, payload), PacketArrival::Ignored(Ignored::Old));
    assert_eq!((receiver.counts().whole, receiver.counts().complete, receiver.in_use()), (1, 0, 0));
}

#[test]
fn packets_outside_the_contract_are_ignored() {
    let (mut sender, mut receiver) = (sender(5, 2), receiver(5, 2, 2));
    let packet = packets(&mut sender, &content(0, 5)).swap_remove(1);
    let (header, payload) = TransportHeader::decode(&packet).unwrap();
    let mut ignored =
        |header: TransportHeader, payload: &[u8]| match receiver.accept(Time::ZERO, &header, payload) {
            PacketArrival::Ignored(reason) => Some(reason),
            _ => None,
        };
    let other = WireChannelId { node: 4, ..CHANNEL };
    assert_eq!(ignored(TransportHeader { channel: other, ..header }, payload), Some(Ignored::Channel));
    assert_eq!(ignored(TransportHeader { epoch: 6, ..header }, payload), Some(Ignored::Epoch));
    assert_eq!(
        ignored(TransportHeader { message_length: Bytes::new(6), ..header }, payload),
        Some(Ignored::Sizes)
    );
    assert_eq!(ignored(TransportHeader { fragments: 4, ..header }, payload), Some(Ignored::Sizes));
    assert_eq!(ignored(header, &payload[..1]), Some(Ignored::Sizes));
    assert_eq!(ignored(TransportHeader { fragment: 3, ..header }, payload), Some(Ignored::Sizes));
    assert_eq!(ignored(TransportHeader { message: u64::MAX, ..header }, payload), Some(Ignored::Old));
    assert_eq!(ignored(header, payload), None);
    // The message has five bytes, so it has neither two packets nor one.
    let four = TransportHeader { fragment: 0, message_length: Bytes::new(4), fragments: 2, ..header };
    assert_eq!(ignored(four, payload), Some(Ignored::Sizes));
    let one = TransportHeader { fragment: 0, message_length: Bytes::new(2), fragments: 1, ..header };
    assert_eq!(ignored(one, payload), Some(Ignored::Sizes));
}
