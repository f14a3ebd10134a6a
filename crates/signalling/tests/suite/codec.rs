//! Messages survive bytes, and bytes that are no message do no harm.

use laxity_signalling::Manager;
use laxity_signalling::codec::{LONGEST, Malformed, TooShort, decode, encode, split};
use laxity_signalling::contract::ChannelContract;
use laxity_signalling::division::{Division, Needs};
use laxity_signalling::exact::{Capacity, Exact};
use laxity_signalling::identity::{Epoch, GlobalChannelId, NodeId, Owner, Port, Version};
use laxity_signalling::message::{Ask, Body, ContractMessage, MOST_HOPS};
use laxity_signalling::refusal::{Alternative, Denial, NodeResource, Shortage};
use laxity_signalling::settings::Settings;
use laxity_units::{Bytes, Span, Time};
use proptest::collection::vec;
use proptest::prelude::*;

fn span() -> impl Strategy<Value = Span> {
    any::<u64>().prop_map(Span::from_ps)
}

fn route() -> impl Strategy<Value = Vec<NodeId>> {
    vec((0u32..6).prop_map(NodeId), 0..=MOST_HOPS)
}

fn contract() -> impl Strategy<Value = ChannelContract> {
    (any::<u64>(), any::<u64>(), span(), any::<u32>(), span()).prop_map(
        |(max, min, min_interval, burst, deadline)| ChannelContract {
            max_message: Bytes::new(max),
            min_message: Bytes::new(min),
            min_interval,
            burst,
            deadline,
        },
    )
}

fn ask() -> impl Strategy<Value = Ask> {
    let divisions = [Division::Proportional, Division::Equal, Division::Slowest, Division::Alike];
    let needs = (span(), span()).prop_map(|(least, latest)| Needs { least, latest });
    let numbers = (any::<u32>(), any::<u32>(), 0usize..4, 0u32..4);
    (contract(), numbers, span(), span(), route(), vec(needs, 0..=MOST_HOPS)).prop_map(
        move |(contract, (owner, port, division, current), balance, between, route, hops)| Ask {
            contract,
            owner: Owner(owner),
            port: Port(port),
            division: divisions[division],
            current: (current > 0).then_some(Version(current)),
            balance,
            between,
            route,
            hops,
        },
    )
}

fn body() -> impl Strategy<Value = Body> {
    let acceptable = prop_oneof![
        Just(Alternative::Unknown),
        span().prop_map(Alternative::Deadline),
        span().prop_map(Alternative::Interval),
        any::<u32>().prop_map(Alternative::Burst),
        Just(Alternative::Later),
    ];
    let refusal =
        (0u32..6, any::<u64>(), acceptable, any::<bool>()).prop_map(|(node, missing, acceptable, beyond)| {
            let shortage = Shortage { resource: NodeResource::ReceivePlaces, missing, acceptable };
            Body::Refuse { refused: Denial { node: NodeId(node), shortage }, beyond }
        });
    prop_oneof![
        ask().prop_map(Body::Ask),
        (0u32..4, 0u32..3).prop_map(|(version, life)| Body::Refresh {
            changing: (version > 0).then_some(Version(version)),
            life: Epoch(life)
        }),
        route().prop_map(|route| Body::Release { route }),
        (vec(span(), 0..=MOST_HOPS), 0u32..3)
            .prop_map(|(deadlines, life)| Body::Commit { deadlines, life: Epoch(life) }),
        refusal,
        Just(Body::Refreshed),
        route().prop_map(|route| Body::Released { route }),
        Just(Body::Unknown),
        Just(Body::Left),
    ]
}

fn message() -> impl Strategy<Value = ContractMessage> {
    (0u32..6, 0u32..3, 0u32..3, 0u32..4, any::<u32>(), body()).prop_map(
        |(node, epoch, local, version, sequence, body)| ContractMessage {
            channel: GlobalChannelId { node: NodeId(node), epoch: Epoch(epoch), local },
            version: Version(version),
            sequence,
            body,
        },
    )
}

proptest! {
    /// An encoded message decodes to itself, needs exactly the space that it says, and no more than
    /// the longest.
    #[test]
    fn a_message_survives_its_bytes(message in message()) {
        let mut bytes = [0; LONGEST];
        let length = encode(&message, &mut bytes).unwrap();
        prop_assert_eq!(decode(&bytes[..length]), Ok(message.clone()));
        prop_assert_eq!(encode(&message, &mut bytes[..length - 1]), Err(TooShort(length)));
        let mut exact = vec![0; length];
        prop_assert_eq!(encode(&message, &mut exact), Ok(length));
    }

    /// Messages of one frame are found again, and any bytes are split into parts that are all of them.
    #[test]
    fn messages_behind_one_another_are_split(messages in vec(message(), 1..6), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut frame = Vec::new();
        for message in &messages {
            let mut bytes = [0; LONGEST];
            let length = encode(message, &mut bytes).unwrap();
            frame.extend_from_slice(&bytes[..length]);
        }
        let mut rest = &frame[..];
        for message in messages {
            let (first, behind) = split(rest);
            prop_assert_eq!(decode(first), Ok(message));
            rest = behind;
        }
        prop_assert!(rest.is_empty());
        let at = at.index(frame.len());
        frame[at] = byte;
        let (mut rest, mut whole) = (&frame[..], 0);
        while !rest.is_empty() {
            let (first, behind) = split(rest);
            prop_assert!(!first.is_empty());
            (whole, rest) = (whole + first.len(), behind);
        }
        prop_assert_eq!(whole, frame.len());
    }

    /// Any bytes decode to a message that encodes to them, or to none; a changed byte does no harm.
    #[test]
    fn bytes_that_decode_are_what_is_encoded(message in message(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = [0; LONGEST];
        let length = encode(&message, &mut bytes).unwrap();
        bytes[at.index(length)] = byte;
        if let Ok(changed) = decode(&bytes[..length]) {
            let mut again = [0; LONGEST];
            prop_assert_eq!(encode(&changed, &mut again), Ok(length));
            prop_assert_eq!(&again[..length], &bytes[..length]);
        }
    }

    /// No message, in any order, from any neighbour, makes a manager panic or hold more than it is
    /// set to.
    #[test]
    fn no_message_makes_a_manager_panic(messages in vec((0u32..6, message()), 0..80)) {
        let links = (0..6).map(|node| (NodeId(node), (1_000_000, Span::from_us(1)))).collect();
        let exact = Exact::new(Capacity { links, cpu: Span::from_us(1), buffers: 1000, places: 100 });
        let settings = Settings { entries: 5, remembered: 4, peers: 3, waiting: 8, ..Settings::default() };
        let mut manager = Manager::new(NodeId(1), Epoch(1), settings, exact, Box::new(|| 7));
        for (step, (from, message)) in messages.into_iter().enumerate() {
            let now = Time::ZERO + Span::from_secs(step as u64);
            manager.handle(now, NodeId(from), message);
            manager.handle_timeout(now);
            let [hops, calls, ended, epochs, _, out] = manager.entries();
            prop_assert!(hops <= 5 && calls == 0 && ended <= 4 && epochs <= 3 && out <= 8);
            prop_assert_eq!(manager.held().count(), manager.resources().held().len());
            if step % 2 == 0 {
                while manager.poll_transmit().is_some() {}
            }
        }
    }
}

#[test]
fn bytes_that_are_no_message_say_why() {
    let message = ContractMessage {
        channel: GlobalChannelId { node: NodeId(1), epoch: Epoch(2), local: 3 },
        version: Version(1),
        sequence: 9,
        body: Body::Release { route: vec![NodeId(1), NodeId(2)] },
    };
    let mut bytes = [0; LONGEST];
    let length = encode(&message, &mut bytes).unwrap();
    assert_eq!((length, &bytes[..4]), (33, &[1, 3, 0, 33][..]));
    assert_eq!(decode(&bytes[..length - 1]), Err(Malformed::Length));
    assert_eq!(decode(&[]), Err(Malformed::Length));
    let with = |at: usize, byte: u8| {
        let mut changed = bytes;
        changed[at] = byte;
        decode(&changed[..length])
    };
    assert_eq!(with(0, 2), Err(Malformed::Format));
    assert_eq!(with(1, 99), Err(Malformed::Word));
    assert_eq!(with(24, 33), Err(Malformed::List));
    assert_eq!(with(24, 3), Err(Malformed::Length));
    let body = Body::Release { route: vec![NodeId(0); MOST_HOPS + 1] };
    assert!(encode(&ContractMessage { body, ..message }, &mut bytes).is_err());
}
