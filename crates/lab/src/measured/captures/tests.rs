//! Captures by hand: what is matched, what is lost, and what is wrong with others.

use laxity_units::{Bytes, Span};

use super::super::{Log, Measurement, Missing, Stretch as Part, Worst, read, read_captures};
use super::*;

/// 2023-11-14, in microseconds.
const START: u64 = 1_700_000_000_000_000;

/// A frame of Ethernet with a datagram to `port`, with `number` in its first 4 bytes.
fn frame(port: u16, number: u32) -> Vec<u8> {
    let mut frame = vec![0; 12];
    frame.extend([0x08, 0x00, 0x45, 0, 0, 32, 0, 0, 0, 0, 64, 17, 0, 0]);
    frame.extend([10, 0, 0, 1, 10, 0, 0, 2, 0x30, 0x39]);
    frame.extend(port.to_be_bytes());
    frame.extend([0, 12, 0, 0]);
    frame.extend(number.to_be_bytes());
    frame
}

/// A capture of microseconds, little endian, of frames at these microseconds after the start.
fn pcap(frames: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let mut file = [0xa1b2_c3d4u32, 0x0004_0002, 0, 0, 65535, 1].map(u32::to_le_bytes).concat();
    for (us, frame) in frames {
        let (at, bytes) = (START + us, frame.len() as u32);
        let head = [(at / 1_000_000) as u32, (at % 1_000_000) as u32, bytes, bytes];
        file.extend(head.map(u32::to_le_bytes).concat());
        file.extend(frame);
    }
    file
}

/// A capture of packets with these times and numbers.
fn capture(packets: &[(u64, u32)]) -> Vec<u8> {
    let frames: Vec<_> = packets.iter().map(|(us, number)| (*us, frame(5004, *number))).collect();
    pcap(&frames)
}

/// The same packets big endian and in nanoseconds, in the order of the list.
fn other(packets: &[(u64, u32)]) -> Vec<u8> {
    let mut file = [0xa1b2_3c4du32, 0x0002_0004, 0, 0, 65535, 1].map(u32::to_be_bytes).concat();
    for (us, number) in packets {
        let (at, frame) = (START + us, frame(5004, *number));
        let head = [at / 1_000_000, at % 1_000_000 * 1000, frame.len() as u64, frame.len() as u64];
        file.extend(head.map(|word| (word as u32).to_be_bytes()).concat());
        file.extend(frame);
    }
    file
}

fn stream(sequence: &str) -> Stream {
    Stream { sequence: sequence.parse().unwrap(), port: None }
}

fn captures(sequence: &str, sent: &[u8], received: &[u8]) -> Result<Captures, String> {
    Captures::read(("s", sent), ("r", received), stream(sequence)).map_err(|error| error.to_string())
}

fn spec(burst: u32, us: u64) -> TrafficSpec {
    let size = Bytes::new(100);
    TrafficSpec { max_message: size, min_message: size, burst, min_interval: Span::from_us(us) }
}

/// The delays of packets, of a contract that covers each of them.
fn delays(sequence: &str, sent: &[(u64, u32)], received: &[(u64, u32)]) -> Measurement {
    captures(sequence, &capture(sent), &capture(received)).unwrap().delays(spec(100, 1)).0
}

#[test]
fn packets_are_matched_by_their_numbers() {
    let sent = [(0, 7), (1000, 8), (2000, 9), (3000, 10), (4000, 11), (5000, 12)];
    // 7 and 12 may have been outside of the capture, and 10 was lost. 9 and 8 changed places.
    let received = [(2030, 9), (2041, 8), (4025, 11)];
    let log = captures("0+4", &capture(&sent), &other(&received)).unwrap();
    assert_eq!(
        log.delays(spec(1, 1000)),
        (
            Measurement {
                stretch: Part::CaptureToCapture,
                received: 3,
                missing: Missing::Between { least: 1, most: 3 },
                worst: Worst::Is(Span::from_us(1041)),
            },
            0
        )
    );
    assert_eq!(
        log.notes(),
        [
            "1 packet was sent before the first that arrived: lost, or the receiver's capture began too late",
            "1 packet was sent after the last that arrived: lost, or the receiver's capture ended too early",
        ]
    );
    // Byte order and unit of time are those of each file.
    assert_eq!(captures("0+4", &other(&sent), &capture(&received)), Ok(log));
}

#[test]
fn captures_are_read_in_the_order_of_time() {
    let sorted = delays("0+4", &[(0, 1), (10, 2), (20, 3)], &[(5, 1), (16, 2), (28, 3)]);
    let mixed = delays("0+4", &[(20, 3), (0, 1), (10, 2)], &[(28, 3), (16, 2), (5, 1)]);
    assert_eq!((mixed, sorted.worst), (sorted, Worst::Is(Span::from_us(8))));
    assert_eq!(sorted.missing, Missing::Between { least: 0, most: 0 });
}

/// A packet that was sent within the bound of the end may be under way. Another one may be lost, and so may
/// one before the first that arrived.
#[test]
fn packets_at_the_ends_of_captures_may_be_lost() {
    let sent = capture(&[(0, 1), (1000, 2), (2000, 3), (3000, 4)]);
    let may = |received: &[(u64, u32)], us| {
        captures("0+4", &sent, &capture(received)).unwrap().may_have_lost(Span::from_us(us))
    };
    let all = [(5, 1), (1005, 2), (2005, 3), (3005, 4)];
    assert_eq!([may(&all, 0), may(&all[..3], 0)], [false, false]);
    assert_eq!([may(&all[..2], 1000), may(&all[..2], 999)], [false, true]);
    assert!(may(&all[1..], 10_000));
    // In between, it is lost for certain.
    assert!(!may(&[all[0], all[3]], 0));
}

/// The second packet of a pair is early: its delay counts from the end of the interval.
#[test]
fn a_delay_counts_from_the_logical_arrival() {
    let log = captures("0+4", &capture(&[(0, 1), (400, 2)]), &capture(&[(50, 1), (1100, 2)])).unwrap();
    let of = |spec| {
        let (measured, beyond) = log.delays(spec);
        (measured.worst, beyond)
    };
    assert_eq!(of(spec(1, 1000)), (Worst::Is(Span::from_us(100)), 0));
    assert_eq!(of(spec(1, 100)), (Worst::Is(Span::from_us(700)), 0));
    // Three at once are more than a burst of one and the packet that may be early.
    let log = captures("0+4", &capture(&[(0, 1), (0, 2), (0, 3)]), &capture(&[(9, 2)])).unwrap();
    assert_eq!(log.delays(spec(1, 1000)).1, 1);
}

/// Numbers of a byte repeat after 256 packets, of which most are the same in each round.
#[test]
fn numbers_that_repeat_are_of_the_nearest_packet() {
    let sent: Vec<(u64, u32)> = (0..700).map(|i| (i * 100, (250 + i as u32) % 256)).collect();
    let lost = |i: &usize| ![100, 300, 699].contains(i);
    let received: Vec<(u64, u32)> =
        (0..sent.len()).filter(lost).map(|i| (sent[i].0 + 40 + i as u64 % 7, sent[i].1)).collect();
    let measured = delays("3+1", &sent, &received);
    assert_eq!(measured.worst, Worst::Is(Span::from_us(46)));
    assert_eq!((measured.received, measured.missing), (697, Missing::Between { least: 2, most: 3 }));
    // The same with clocks that differ by more than the delay.
    let early: Vec<_> = received.iter().skip(300).map(|(us, number)| (us - 100, *number)).collect();
    assert_eq!(delays("3+1", &sent, &early).worst, Worst::Clocks(Span::from_us(60)));
    // A number of 2 bytes across its end, of which one was overtaken at the sender.
    let sent = [(0, 65534), (10, 0), (20, 65535), (30, 1)];
    let received = [(5, 65534), (16, 0), (27, 65535), (38, 1)];
    let measured = delays("2+2", &sent, &received);
    assert_eq!((measured.worst, measured.received), (Worst::Is(Span::from_us(8)), 4));
    // And of 4 bytes.
    let measured = delays("0+4", &[(0, u32::MAX), (10, 0)], &[(3, u32::MAX), (14, 0)]);
    assert_eq!((measured.worst, measured.received), (Worst::Is(Span::from_us(4)), 2));
}

#[test]
fn packets_that_do_not_fit_are_counted() {
    let sent = capture(&[(0, 1), (1000, 2)]);
    let received = capture(&[(10, 1), (15, 1), (20, 9), (1010, 2), (1020, 2), (1030, 2)]);
    let log = captures("0+4", &sent, &received).unwrap();
    let (measured, _) = log.delays(spec(1, 1000));
    assert_eq!((measured.received, measured.worst), (2, Worst::Is(Span::from_us(10))));
    assert_eq!(
        log.notes(),
        [
            "1 packet arrived that the sender's capture does not have",
            "3 packets arrived again: the first arrival counts",
        ]
    );
    // Frames of other protocols, a fragment without a header of UDP, and another port at the receiver.
    let mut fragment = frame(5004, 3);
    fragment[20..22].copy_from_slice(&[0x00, 0x05]);
    let mut arp = frame(5004, 3);
    arp[13] = 6;
    let sent = pcap(&[(0, frame(5004, 1)), (1, arp.clone()), (2, arp), (3, fragment)]);
    let log = captures("0+4", &sent, &pcap(&[(9, frame(6000, 1))])).unwrap();
    assert_eq!(
        log.notes(),
        [
            "s: 2 packets were not of the stream",
            "s: 1 packet was a later fragment of IP, without a number",
            "packets go to port 5004 in s, and 6000 in r",
        ]
    );
    assert_eq!(log.delays(spec(1, 1000)).0.worst, Worst::Is(Span::from_us(9)));
}

#[test]
fn a_port_picks_the_stream() {
    let both = pcap(&[(0, frame(5004, 1)), (1, frame(5005, 8)), (2, frame(5004, 2))]);
    let received = capture(&[(4, 1), (9, 2)]);
    let ports = "s: packets go to ports 5004 and 5005 of UDP; `--port` names that of the stream";
    assert_eq!(captures("0+4", &both, &received).unwrap_err(), ports);
    let stream = Stream { port: Some(5004), ..stream("0+4") };
    let log = Captures::read(("s", &both), ("r", &received), stream).unwrap();
    assert_eq!(
        (log.packets.len(), &log.notes[..]),
        (2, &["s: 1 packet was not of the stream".to_string()][..])
    );
}

#[test]
fn captures_that_do_not_fit_say_why() {
    let [one, two] = [&[(0, 1), (10, 2)], &[(5, 7), (9, 8)]].map(|packets| capture(packets));
    let said = |sequence, sent: &[u8], received: &[u8]| captures(sequence, sent, received).unwrap_err();
    assert_eq!(said("0+4", &one, &two), "s: r shares no number with it: the first are 7 and 1");
    assert_eq!(said("9+4", &one, &two), "s: no packet has the number `9+4`");
    let none = pcap(&[(0, vec![0; 60])]);
    assert_eq!(said("0+4", &one, &none), "s: r has no packet with the number `0+4`");
    let again = "the number 1 has been sent before: a capture is of one stream at one interface, and \
                 `--sequence` is the place of its number";
    // The second packet begins after the header and a packet of 46 bytes.
    let twice = capture(&[(0, 1), (10, 1)]);
    assert_eq!(said("0+4", &twice, &one), format!("s: byte 86: {again}"));
    let constant = capture(&[(0, 1), (10, 2)]);
    assert!(said("0+1", &constant, &one).contains("the number 0 has been sent before"));
    let far = capture(&[(0, 1), (201 * 24 * 3600 * 1_000_000, 2)]);
    assert_eq!(said("0+4", &far, &one), "s: the capture is longer than 200 days");
    // A packet that was cut off, by the capture and by the end of the file.
    let mut short = capture(&[(0, 1), (10, 2)]);
    let length = short.len();
    short.truncate(length - 2);
    short[86 + 8] = 44;
    assert!(said("0+4", &short, &one).starts_with("s: byte 86: 44 of 46 bytes of the packet are captured"));
    assert!(said("0+4", &one[..length - 1], &two).starts_with("s: byte 147: the file ends inside a packet"));
    assert!(said("0+4", &one, &two[..20]).starts_with("r: byte 20: the file ends inside the file header"));
    let mut link = one.clone();
    link[20] = 147;
    let unknown = said("0+4", &link, &one);
    assert!(unknown.starts_with("s: byte 24: the header of link type 147 is not known"), "{unknown}");
    assert!(captures("frame:42+4", &link, &one).is_ok());
}

/// A simple block of pcapng has no time.
#[test]
fn a_packet_needs_a_time() {
    let block = |kind: u32, body: &[u8]| {
        let length = (body.len() as u32 + 12).to_le_bytes();
        [&kind.to_le_bytes()[..], &length, body, &length].concat()
    };
    let section = block(0x0a0d_0d0a, &[&[0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0][..], &[0xff; 8]].concat());
    let interface = block(1, &[1, 0, 0, 0, 0, 0, 0, 0]);
    let mut body = [46u32.to_le_bytes().to_vec(), frame(5004, 1)].concat();
    body.resize(52, 0);
    let file = [section, interface, block(3, &body)].concat();
    assert_eq!(
        captures("0+4", &file, &capture(&[(0, 1)])).unwrap_err(),
        "s: byte 48: the packet has no time"
    );
}

#[test]
fn two_files_are_captures_and_one_is_none() {
    let one = capture(&[(0, 1)]);
    let said = read("s", &one).unwrap_err().to_string();
    assert!(said.starts_with("s: a capture alone has no delays"), "{said}");
    assert!(matches!(read_captures(("s", &one), ("r", &one), stream("0+4")), Ok(Log::Captures(_))));
    let said = read_captures(("s", &one), ("r", b"12\n"), stream("0+4")).unwrap_err().to_string();
    assert!(said.starts_with("r: this is no capture"), "{said}");
}

/// No damage to a byte and no end of the file is a panic.
#[test]
fn damaged_captures_are_read_or_refused() {
    let sent = capture(&[(0, 1), (10, 2), (20, 3)]);
    for at in 0..sent.len() {
        for change in [1, 0x80, 0xff] {
            let mut damaged = sent.clone();
            damaged[at] ^= change;
            for (sent, received) in [(&damaged, &sent), (&sent, &damaged)] {
                if let Ok(log) = captures("0+4", sent, received) {
                    log.delays(spec(1, 10));
                }
            }
        }
        assert!(captures("0+4", &sent[..at], &sent).is_err() || at > 24, "{at}");
    }
}
