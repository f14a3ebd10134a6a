//! Logs of measuring programs are rows beside a channel, or are refused. Every second input is made to
//! start like `isochron.dat`, with parts that the file has.
#![no_main]

use laxity_lab::measured::{ComparedChannel, Pair, read, rows};
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

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let file = match data.split_first() {
        Some((choice, entries)) if choice % 2 == 0 => {
            let packets = u32::try_from(entries.len() / 80).unwrap_or(u32::MAX);
            let mut file = [header(packets), entries.to_vec()].concat();
            let (sent, received) = file[96..].split_at_mut(48 * packets as usize);
            number(sent, 48);
            number(received, 32);
            file
        }
        _ => data.to_vec(),
    };
    let size = Bytes::new(100);
    let channel = ComparedChannel {
        name: "a".into(),
        spec: TrafficSpec { max_message: size, min_message: size, burst: 2, min_interval: Span::from_ms(1) },
        bound: Some(Span::from_ms(3)),
        ends_early: data.len() % 3 == 0,
        simulated: None,
    };
    let log = match read("fuzz", &file) {
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
