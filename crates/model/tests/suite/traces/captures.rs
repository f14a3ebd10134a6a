//! pcapng block by block: options, places of faults, lengths at their edges.

use laxity_model::source::trace::{Trace, TraceError, TraceLimits, TracePosition, parse};

use super::block;

const LITTLE: fn(u32) -> [u8; 4] = u32::to_le_bytes;

fn section() -> Vec<u8> {
    block(LITTLE, 0x0a0d_0d0a, &[&LITTLE(0x1a2b_3c4d)[..], &LITTLE(1), &[0xff; 8]].concat())
}

/// An interface with these options, each padded to four bytes.
fn interface(options: &[(u16, &[u8])]) -> Vec<u8> {
    let mut body = [LITTLE(1), LITTLE(0)].concat();
    for (code, value) in options {
        body.extend([code.to_le_bytes(), (value.len() as u16).to_le_bytes()].concat());
        body.extend(*value);
        body.resize(body.len().next_multiple_of(4), 0);
    }
    block(LITTLE, 1, &body)
}

/// A packet of `original` bytes of which eight are there and `captured` count.
fn packet(interface: u32, ticks: u64, captured: u32, original: u32) -> Vec<u8> {
    let words = [interface, (ticks >> 32) as u32, ticks as u32, captured, original];
    let mut body: Vec<u8> = words.into_iter().flat_map(LITTLE).collect();
    body.extend([0xee; 8]);
    block(LITTLE, 6, &body)
}

fn read(blocks: &[Vec<u8>]) -> Result<Trace, TraceError> {
    parse("c", &mut blocks.concat().as_slice(), TraceLimits::DEFAULT)
}

fn microseconds(trace: &Trace) -> Vec<u64> {
    trace.frames().iter().map(|frame| frame.at.expect("it has a time").as_ps() / 1_000_000).collect()
}

/// The second interface counts nanoseconds from 5 s on, which it says after its name.
#[test]
fn an_interface_has_a_unit_and_an_offset() {
    let options: [(u16, &[u8]); 3] = [(2, b"eth"), (14, &5u64.to_le_bytes()), (9, &[9])];
    let blocks =
        [section(), interface(&[]), interface(&options), packet(0, 1_000_000, 8, 60), packet(1, 3000, 8, 70)];
    assert_eq!(microseconds(&read(&blocks).unwrap()), [0, 4_000_003]);
}

#[test]
fn what_follows_the_last_option_is_none() {
    let options: [(u16, &[u8]); 2] = [(0, &[]), (9, &[1, 2])];
    assert!(read(&[section(), interface(&options), packet(0, 1, 8, 60)]).is_ok());
}

/// The section is 28 bytes long and an option begins 16 after its block.
#[test]
fn an_option_of_no_length_that_it_has_is_named() {
    for (code, value) in [(9, &[1u8, 2][..]), (14, &[1, 2, 3, 4])] {
        let error = read(&[section(), interface(&[(code, value)])]).unwrap_err();
        assert_eq!((error.file(), error.at()), ("c", TracePosition::Byte(28 + 16)));
        assert!(error.to_string().ends_with(error.valid()) && !error.valid().is_empty(), "{error}");
        assert_eq!(error.reason(), format!("option {code} cannot have {} bytes", value.len()));
    }
}

/// Eight bytes are there: as many may have been captured, or fewer, of a packet of no fewer.
#[test]
fn as_much_was_captured_as_is_there() {
    let start = (section().len() + interface(&[]).len()) as u64;
    let decide = |captured, original| {
        let read = read(&[section(), interface(&[]), packet(0, 1, captured, original)]);
        read.map(|trace| trace.frames().len()).map_err(|error| error.at())
    };
    assert_eq!([decide(8, 60), decide(4, 60), decide(8, 8), decide(0, 1)], [Ok(1), Ok(1), Ok(1), Ok(1)]);
    let lengths = Err(TracePosition::Byte(start + 20));
    assert_eq!([decide(9, 60), decide(8, 7), decide(0, 0)], [lengths; 3]);
}

/// Two interfaces, one of Ethernet and one of raw IP, and a packet with its tag outside the
/// captured part.
#[test]
fn each_interface_has_its_own_link() {
    let raw = block(LITTLE, 1, &[LITTLE(101), LITTLE(0)].concat());
    let blocks =
        [section(), interface(&[]), raw, packet(0, 1, 8, 60), packet(1, 2, 8, 60), packet(0, 3, 0, 9)];
    let trace = read(&blocks).unwrap();
    let frames = |trace: &Trace| trace.frames().iter().map(|frame| frame.size.get()).collect::<Vec<_>>();
    assert_eq!(frames(&trace), [60, 60, 9]);
    let packets = trace.without_link_headers().expect("some have headers");
    assert_eq!((frames(&packets), packets.name()), (vec![46, 60, 1], "c"));
    assert_eq!(packets.without_link_headers(), None);
}

#[test]
fn a_fault_is_where_it_is() {
    let at = |blocks: &[Vec<u8>]| read(blocks).unwrap_err().at();
    // A simple packet of nothing; a block too short for an interface; no byte order.
    let simple = block(LITTLE, 3, &LITTLE(0));
    assert_eq!(at(&[section(), simple]), TracePosition::Byte(28 + 8));
    assert_eq!(at(&[section(), block(LITTLE, 1, &LITTLE(1))]), TracePosition::Byte(28 + 4));
    assert_eq!(at(&[block(LITTLE, 0x0a0d_0d0a, &[7; 16])]), TracePosition::Byte(8));
    assert_eq!(at(&[section(), section(), packet(0, 1, 8, 60)]), TracePosition::Byte(56 + 8));
}
