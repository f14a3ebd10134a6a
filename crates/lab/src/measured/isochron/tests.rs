//! Files as `isochron send` writes them, by hand, and what is wrong with others.

use laxity_units::Bytes;

use super::super::{Log, Measurement, Missing, Stretch, Worst, read};
use super::*;

/// 2023-11-14, in nanoseconds of TAI.
const START: i64 = 1_700_000_000_000_000_000;

/// A packet: what is 0 was not taken, and a packet without a number was not sent.
#[derive(Default, Clone, Copy)]
struct Entry {
    sent: bool,
    wakeup: i64,
    transmitted: i64,
    arrival: i64,
    received: i64,
}

/// The file of these packets.
fn file(entries: &[Entry]) -> Vec<u8> {
    let (sent, received) = (entries.len() as u32 * 48, entries.len() as u32 * 32);
    let mut bytes = b"ISOCHRON".to_vec();
    bytes.extend(4u32.to_be_bytes());
    bytes.extend((entries.len() as u32).to_be_bytes());
    bytes.extend(64u16.to_be_bytes());
    bytes.extend(2u16.to_be_bytes());
    bytes.extend(0u32.to_be_bytes());
    for time in [START, 500_000, 0, 1_000_000, 0, 96, 96 + i64::from(sent)] {
        bytes.extend(time.to_be_bytes());
    }
    bytes.extend(sent.to_be_bytes());
    bytes.extend(received.to_be_bytes());
    bytes.extend(0u64.to_be_bytes());
    let number = |is: bool, i: usize| if is { i as u32 + 1 } else { 0 };
    for (i, entry) in entries.iter().enumerate() {
        bytes.extend(number(entry.sent, i).to_be_bytes());
        bytes.extend(0u32.to_be_bytes());
        for time in [entry.wakeup + 500_000, entry.wakeup, entry.transmitted, 0, 0] {
            bytes.extend(time.to_be_bytes());
        }
    }
    for (i, entry) in entries.iter().enumerate() {
        bytes.extend(number(entry.arrival != 0, i).to_be_bytes());
        bytes.extend(0u32.to_be_bytes());
        for time in [entry.arrival, entry.received, 0] {
            bytes.extend(time.to_be_bytes());
        }
    }
    bytes
}

/// A packet with these times of wake-up and arrival, in microseconds after the start.
fn entry(wakeup: i64, arrival: i64) -> Entry {
    let at = |us: i64| START + us * 1000;
    Entry { sent: true, wakeup: at(wakeup), arrival: at(arrival), ..Entry::default() }
}

fn parsed(entries: &[Entry]) -> IsochronLog {
    match read("iso.dat", &file(entries)) {
        Ok(Log::Isochron(log)) => log,
        other => panic!("{other:?}"),
    }
}

/// A message each millisecond.
fn spec() -> TrafficSpec {
    let size = Bytes::new(100);
    TrafficSpec { max_message: size, min_message: size, burst: 1, min_interval: Span::from_ms(1) }
}

/// The delays by that contract, which covers all packets.
fn whole(log: &IsochronLog, spec: TrafficSpec) -> Measurement {
    let (measured, beyond) = log.whole(spec);
    assert_eq!(beyond, 0);
    measured
}

fn of(stretch: Stretch, received: u64, missing: Missing, worst: Worst) -> Measurement {
    Measurement { stretch, received, missing, worst }
}

#[test]
fn delays_count_from_the_logical_arrivals() {
    // The second is woken 30 us late and the third 10 us after that cycle: its logical arrival is 20 us
    // behind its wake-up, as the contract says.
    let log = parsed(&[entry(0, 40), entry(1030, 1080), entry(2010, 2075)]);
    let is = |us| Worst::Is(Span::from_us(us));
    assert_eq!(whole(&log, spec()), of(Stretch::WakeupToArrival, 3, Missing::Lost(0), is(50)));
    // Without the contract the third would have taken 65 us.
    let free = TrafficSpec { min_interval: Span::from_us(1), ..spec() };
    assert_eq!(whole(&log, free).worst, is(65));
    assert_eq!((log.between_adapters(), log.notes()), (None, vec![]));
}

#[test]
fn packets_that_did_not_arrive_are_lost_and_count_in_the_contract() {
    let lost = Entry { arrival: 0, ..entry(100, 0) };
    let log = parsed(&[entry(0, 40), lost, entry(1100, 2040)]);
    let worst = Worst::Is(Span::from_us(40));
    assert_eq!(whole(&log, spec()), of(Stretch::WakeupToArrival, 2, Missing::Lost(1), worst));
    let nothing = parsed(&[lost, lost]);
    assert_eq!(whole(&nothing, spec()), of(Stretch::WakeupToArrival, 0, Missing::Lost(2), Worst::None));
}

#[test]
fn packets_that_were_not_sent_are_not_lost() {
    let stray = Entry { sent: false, ..entry(1000, 1040) };
    let log = parsed(&[entry(0, 40), stray, Entry::default()]);
    assert_eq!((log.numbers(), log.strays), (vec![1], 1));
    assert_eq!(whole(&log, spec()).missing, Missing::Lost(0));
    let notes = ["2 of 3 packets were not sent", "1 packets arrived that the sender has no times of"];
    assert_eq!(log.notes(), notes);
}

#[test]
fn packets_beyond_the_contract_are_counted() {
    // Twice as fast as the contract: the fourth would arrive logically 1.5 ms after it is sent.
    let log = parsed(&[entry(0, 40), entry(500, 540), entry(1000, 1040), entry(1500, 1540)]);
    assert_eq!(log.whole(spec()).1, 1);
    assert_eq!(log.whole(TrafficSpec { burst: 2, ..spec() }).1, 0);
    assert_eq!(log.whole(TrafficSpec { min_interval: Span::from_us(500), ..spec() }).1, 0);
}

#[test]
fn adapters_have_a_row_if_both_have_times() {
    let hardware = |entry: Entry, from: i64, to: i64| Entry {
        transmitted: START + from * 1000,
        received: START + to * 1000,
        ..entry
    };
    // The second has no timestamp of the receiver.
    let half = Entry { transmitted: START + 1_010_000, ..entry(1000, 1040) };
    let log = parsed(&[hardware(entry(0, 40), 9, 12), half, hardware(entry(2000, 2040), 2010, 2014)]);
    let worst = Worst::Is(Span::from_us(4));
    let adapters = log.between_adapters();
    assert_eq!(adapters, Some(of(Stretch::AdapterToAdapter, 2, Missing::Unknown, worst)));
    let behind = parsed(&[hardware(entry(0, 40), 9, 12), hardware(entry(1000, 1040), 1013, 1010)]);
    assert_eq!(behind.between_adapters().map(|m| m.worst), Some(Worst::Clocks(Span::from_us(3))));
    assert_eq!(whole(&behind, spec()).worst, Worst::Is(Span::from_us(40)), "its clocks agree");
}

#[test]
fn clocks_that_differ_leave_no_worst() {
    let log = parsed(&[entry(0, 40), entry(1000, 990), entry(2000, 1995)]);
    assert_eq!(whole(&log, spec()).worst, Worst::Clocks(Span::from_us(10)));
    let mut bytes = file(&[entry(0, 40)]);
    bytes[19] = 3;
    let Ok(Log::Isochron(log)) = read("iso.dat", &bytes) else { panic!() };
    assert_eq!(log.notes(), ["the run did not wait until the clocks were synchronised (`--omit-sync`)"]);
    // A delay beyond what a span has is the longest span.
    let far = Entry { arrival: i64::MAX, ..entry(0, 0) };
    assert_eq!(whole(&parsed(&[far]), spec()).worst, Worst::Is(Span::MAX));
}

/// The error of a file with these bytes in place.
fn said(at: usize, put: &[u8]) -> String {
    let mut bytes = file(&[entry(0, 40), entry(1000, 1050)]);
    bytes[at..at + put.len()].copy_from_slice(put);
    read("iso.dat", &bytes).unwrap_err().to_string()
}

#[test]
fn a_wrong_file_is_refused_at_its_byte() {
    let huge = u32::MAX.to_be_bytes();
    let late = (START + 201 * 24 * 3600 * 1_000_000_000).to_be_bytes();
    for (at, put, why) in [
        (8, &3u32.to_be_bytes()[..], "byte 8: this is version 3 of the log; version 4 is read"),
        (12, &huge, "byte 12: 4294967295 packets do not fit the 2 entries of the sender"),
        (80, &huge, "byte 80: 4294967295 bytes of the sender are no whole number of entries of 48 bytes"),
        (80, &(u32::MAX / 48 * 48).to_be_bytes(), "byte 64: the part of the sender ends at byte 4294967376"),
        (84, &0u32.to_be_bytes(), "byte 84: there are no entries of the receiver"),
        (84, &33u32.to_be_bytes(), "byte 84: 33 bytes of the receiver are no whole number"),
        (64, &[0xff; 8], "byte 64: the part of the sender ends at byte 18446744073709551615"),
        (64, &[0; 8], "byte 64: the part of the sender starts at byte 0, inside the header"),
        (72, &[0x7f; 8], "byte 72: the part of the receiver ends at byte"),
        (96 + 48, &7u32.to_be_bytes(), "byte 144: the entry of packet 2 has the number 7"),
        (192 + 32, &1u32.to_be_bytes(), "byte 224: the entry of packet 2 has the number 1"),
        (96 + 48 + 16, &(START - 1).to_be_bytes(), "byte 160: packet 2 is sent before the packet ahead"),
        (96 + 48 + 16, &late, "byte 160: packet 2 is sent more than 200 days after the first"),
        (96 + 48 + 16, &i64::MIN.to_be_bytes(), "byte 160: packet 2 is sent before the packet ahead"),
    ] {
        let said = said(at, put);
        assert!(said.starts_with(&format!("iso.dat: {why}")), "{said}");
    }
}

#[test]
fn a_file_that_is_cut_off_is_refused() {
    let bytes = file(&[entry(0, 40), entry(1000, 1050)]);
    for length in 8..bytes.len() {
        let said = read("iso.dat", &bytes[..length]).unwrap_err().to_string();
        let why = if length < 96 { "cut off" } else { "and the file has" };
        assert!(said.contains(why), "{length}: {said}");
    }
}
