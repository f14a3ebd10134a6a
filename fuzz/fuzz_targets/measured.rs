//! Logs of measuring programs are rows beside a channel, or are refused. Inputs are made to start like
//! `isochron.dat`, with parts that the file has, or are two captures of packets with numbers.
#![no_main]

use laxity_lab::measured::{ComparedChannel, Log, LogError, Pair, Stream, read, read_captures, rows};
use laxity_qos::traffic::TrafficSpec;
use laxity_units::{Bytes, Span};

/// A header of `packets` packets.
fn header(packets: u32) -> Vec<u8> {
    let (sent, received) = (packets * 48, packets * 32);
    let mut bytes = [&b"ISOCHRON"[..], &4u32.to_be_bytes(), &packets.to_be_bytes(), &[0; 48]].concat();
    bytes.extend(96u64.to_be_bytes());
    bytes.extend((96 + u64::from(sent)).to_be_bytes());
    bytes.extend([sent.to_be_bytes(), received.to_be_bytes(), [0; 4], [0; 4]].concat());
    bytes
}

/// Numbers entries, most of which would have a wrong number; a quarter of them was never written.
fn number(entries: &mut [u8], bytes: usize) {
    for (number, entry) in (1u32..).zip(entries.chunks_exact_mut(bytes)) {
        let number = if entry[0] < 192 { number } else { 0 };
        entry[..4].copy_from_slice(&number.to_be_bytes());
    }
}

/// A capture with a packet for each four bytes: time, number, captured part of the frame, and a byte of it.
fn capture(data: &[u8]) -> Vec<u8> {
    let mut file = [0xa1b2_3c4du32, 0x0004_0002, 0, 0, 65535, 1].map(u32::to_le_bytes).concat();
    let mut at = 0;
    for packet in data.chunks_exact(4) {
        let mut frame = [0; 60];
        frame[12..15].copy_from_slice(&[8, 0, 0x45]);
        frame[23] = 17;
        frame[36..40].copy_from_slice(&[0x13, 0x8c, 0, 26]);
        frame[42] = packet[1];
        frame[usize::from(packet[3] % 60)] ^= packet[3] / 60;
        at = u32::wrapping_add(at, u32::from(packet[0]) << 16);
        let captured = if packet[2] < 200 { 60 } else { packet[2] - 196 };
        let head = [at / 1_000_000_000, at % 1_000_000_000, captured.into(), 60];
        file.extend(head.map(u32::to_le_bytes).concat());
        file.extend(&frame[..captured.into()]);
    }
    file
}

/// Two captures, of packets or of the bytes as they are behind the start of a capture.
fn captures(choice: u8, data: &[u8]) -> Result<Log, LogError> {
    let (sent, received) = data.split_at(data.len() / 2);
    let raw = |data: &[u8]| match choice & 8 {
        0 => [&[0xd4, 0xc3, 0xb2, 0xa1][..], data].concat(),
        _ => [&[0x0a, 0x0d, 0x0d, 0x0a][..], data].concat(),
    };
    let file = |data| if choice & 4 == 0 { capture(data) } else { raw(data) };
    let sequence = ["0+1", "0+2:little", "rtp", "frame:42+1"][usize::from(choice >> 6)].parse().unwrap();
    let stream = Stream { sequence, port: (choice & 16 != 0).then_some(5004) };
    read_captures(("sent", &file(sent)), ("received", &file(received)), stream)
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let (choice, rest) = data.split_first().map_or((1, data), |(choice, rest)| (*choice, rest));
    let file = match data.split_first() {
        Some((choice, entries)) if choice % 2 == 0 => {
            let packets = u32::try_from(entries.len() / 80).unwrap_or(u32::MAX);
            let mut file = [header(packets), entries.to_vec()].concat();
            let (sent, received) = file[96..].split_at_mut(48 * packets as usize);
            number(sent, 48);
            number(received, 32);
            file
        }
        // Text as cyclictest begins it.
        Some((1, text)) => [b"# Histogram\n000000 ", text].concat(),
        Some((5, text)) => [b"T: 0 (9) P:80 I:1000 C: ", text].concat(),
        Some((9, text)) => [b"{\"resolution_in_ns\": 0, \"thread\": {\"0\": {", text].concat(),
        _ => data.to_vec(),
    };
    let size = Bytes::new(100);
    let channel = ComparedChannel {
        name: "a".into(),
        spec: TrafficSpec { max_message: size, min_message: size, burst: 2, min_interval: Span::from_ms(1) },
        bound: Some(Span::from_ms(3)),
        ends_early: data.len() % 3 == 0,
        simulated: None,
        wake_up: Some(Span::from_us(50)),
    };
    let log = match if choice % 4 == 3 { captures(choice, rest) } else { read("fuzz", &file) } {
        Ok(log) => log,
        Err(why) => return assert!(!why.to_string().is_empty()),
    };
    for back in [None, Some(&channel)] {
        let pair = Pair { there: &channel, back, turnaround: Some(Span::MAX) };
        match rows(&log, None, pair) {
            Ok((rows, _)) => assert!(!rows.is_empty()),
            Err(why) => assert!(!why.is_empty()),
        }
    }
});
