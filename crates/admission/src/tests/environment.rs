//! Invalid hosts and requests, each at its edge.

use super::*;

fn host() -> Environment {
    mc68040(ResourceModel::O1, 4, Formula::Corrected)
}

fn best_effort(min: u64, max: u64) -> BestEffort {
    BestEffort {
        max_message: Bytes::new(max),
        min_message: Bytes::new(min),
        role: Role::Send,
        elsewhere: false,
        program: Span::ZERO,
    }
}

fn error(environment: Environment) -> Option<EnvironmentError> {
    AdmissionTable::new(environment).err()
}

/// 1 TiB, the largest size that is considered.
const LARGEST: u64 = 1 << 40;

#[test]
fn a_host_is_refused_for_what_is_wrong_with_it() {
    use EnvironmentError::*;
    let work = |interval| Interference {
        above: Above::Interrupt,
        cost: Span::from_us(1),
        adapter: Span::ZERO,
        burst: 0,
        interval: Span::from_ps(interval),
    };
    assert_eq!(error(host()), None);
    assert_eq!(error(Environment { packet: Bytes::ZERO, ..host() }), Some(EmptyPacket));
    assert_eq!(error(Environment { block_real_time: Block::Packets(0), ..host() }), Some(EmptyBlock));
    assert_eq!(error(Environment { block_best_effort: Block::Packets(0), ..host() }), Some(EmptyBlock));
    assert_eq!(error(Environment { block_best_effort: Block::Packets(1), ..host() }), None);
    assert_eq!(error(Environment { depth: 0, ..host() }), Some(NoDepth));
    assert_eq!(error(Environment { levels: Some(0), ..host() }), Some(NoLevel));
    assert_eq!(error(Environment { levels: Some(1), ..host() }), None);
    assert_eq!(error(Environment { interference: vec![work(1), work(0)], ..host() }), Some(ZeroInterval));
    assert_eq!(error(Environment { interference: vec![work(1)], ..host() }), None);
    assert_eq!(error(Environment { best_effort: vec![best_effort(2, 1)], ..host() }), Some(Sizes));
    assert_eq!(error(Environment { best_effort: vec![best_effort(1, 1)], ..host() }), None);
    assert_eq!(error(Environment { best_effort: vec![best_effort(1, LARGEST + 1)], ..host() }), Some(Sizes));
    assert_eq!(error(Environment { best_effort: vec![best_effort(1, LARGEST)], ..host() }), None);
}

#[test]
fn a_packet_is_as_large_as_a_span_can_transmit() {
    let packet = |bytes: u64, startup: u64, per_byte: u64| {
        error(Environment {
            packet: Bytes::new(bytes),
            link: LinkCosts::new(Span::from_ps(startup), Span::from_ps(per_byte)).into(),
            ..host()
        })
    };
    assert_eq!(packet(LARGEST, 0, 1), None);
    assert_eq!(packet(LARGEST + 1, 0, 1), Some(EnvironmentError::Sizes));
    // Of 2^64 − 1 picoseconds a byte takes 2^40, and 2^24 − 1 bytes leave 2^40 − 1 for the start.
    let (bytes, per_byte) = ((1 << 24) - 1, 1 << 40);
    assert_eq!(packet(bytes, (1 << 40) - 1, per_byte), None);
    assert_eq!(packet(bytes, 1 << 40, per_byte), Some(EnvironmentError::Transmission));
}

#[test]
fn each_error_says_what_would_be_valid() {
    use EnvironmentError::*;
    let words = [EmptyPacket, EmptyBlock, NoDepth, ZeroInterval, Sizes, Transmission, NoLevel]
        .map(|error| error.to_string());
    for (error, part) in words.iter().zip([
        "at least 1 B",
        "a block holds no packet",
        "a depth of at least 1",
        "an interval above zero",
        "1 TiB",
        "213 days",
        "at least one level",
    ]) {
        assert!(error.contains(part), "{error}");
    }
    use RequestError::{Sizes as RequestSizes, ZeroBurst, ZeroDeadline};
    for (error, part) in
        [(ZeroDeadline, "a deadline of zero"), (ZeroBurst, "at least 1"), (RequestSizes, "1 TiB")]
    {
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[test]
fn a_request_is_refused_for_what_is_wrong_with_it() {
    let interval = Span::from_ms(10);
    let request = |spec| Request::new(spec, interval).err();
    let sized = |min, max| TrafficSpec {
        min_message: Bytes::new(min),
        max_message: Bytes::new(max),
        ..spec(4, interval)
    };
    assert_eq!(request(TrafficSpec { burst: 0, ..spec(4, interval) }), Some(RequestError::ZeroBurst));
    assert_eq!(request(sized(2, 1)), Some(RequestError::Sizes));
    assert_eq!(request(sized(2, 2)), None);
    assert_eq!(request(sized(2, LARGEST)), None);
    assert_eq!(request(sized(2, LARGEST + 1)), Some(RequestError::Sizes));
}

#[test]
fn a_request_says_what_it_was_made_with() {
    let (spec, deadline) = (spec(4, Span::from_ms(10)), Span::from_ms(20));
    let room = Buffers { messages: 2, packets: 3, waits: false };
    let request = Request::new(spec, deadline).unwrap();
    assert_eq!((request.role(), request.buffers()), (Role::Send, None));
    let relayed = request.at(Role::Relay).with_buffers(room);
    assert_eq!((relayed.role(), relayed.buffers()), (Role::Relay, Some(room)));
    assert_eq!((*relayed.spec(), relayed.deadline()), (spec, deadline));
    // The deadline is all that the loosest request changes.
    let loosest = relayed.loosest();
    assert_eq!(
        (loosest.deadline(), loosest.role(), loosest.buffers()),
        (spec.min_interval, Role::Relay, Some(room))
    );
}
