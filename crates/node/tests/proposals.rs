//! The contract that a node proposes in place of one that it refuses.

mod line;

use laxity_clock::{Drift, Tolerance};
use laxity_node::{Command, Node, NodeConfig};
use laxity_signalling::contract::ChannelContract;
use laxity_signalling::event::SourceEvent;
use laxity_signalling::identity::{NodeId, Owner};
use laxity_signalling::refusal::{Alternative, NodeResource, Shortage};
use laxity_units::{Bytes, Span};
use line::{PORT, PROGRAM, config, us};

/// The refusal of the source itself.
fn refused(config: &NodeConfig, contract: ChannelContract) -> Option<Shortage> {
    let mut node = Node::new(config.clone(), Box::new(|| 0)).unwrap();
    let (owner, route) = (Owner(1), vec![NodeId(0), NodeId(1)]);
    node.command(us(0), PROGRAM, Command::Open { owner, port: PORT, contract, route }).unwrap();
    match node.poll_answer().map(|answer| answer.event) {
        Some(SourceEvent::Refused { refused, .. }) => Some(refused.shortage),
        None => None,
        other => panic!("{other:?}"),
    }
}

fn contract() -> ChannelContract {
    ChannelContract { deadline: Span::from_ms(1), ..line::contract() }
}

/// The tables need 3250 us, and the link 100 us and 500 us of its hosts: the first proposal has all.
#[test]
fn a_proposed_deadline_has_the_time_of_the_link() {
    let mut config = config(0, 2);
    config.links.values_mut().for_each(|link| link.hosts = Span::from_us(500));
    let short = refused(&config, contract()).unwrap();
    assert_eq!(short.acceptable, Alternative::Deadline(Span::from_us(3850)));
    assert_eq!(refused(&config, ChannelContract { deadline: Span::from_us(3850), ..contract() }), None);
    let less = ChannelContract { deadline: Span::from_us(3850) - Span::from_ps(1), ..contract() };
    assert!(refused(&config, less).is_some());
}

/// Four packets of 1072 us in each ms are too many for the processor, and more for the link. An
/// interval that the processor has time for is too short for the link.
#[test]
fn a_proposed_interval_fits_the_link_and_the_processor() {
    let mut config = config(0, 2);
    (config.packet_time, config.memory) = (Span::from_us(300), Bytes::from_kib(1 << 20));
    let fast = ChannelContract {
        max_message: Bytes::new(4000),
        min_interval: Span::from_ms(1),
        deadline: Span::from_secs(1),
        ..contract()
    };
    let short = refused(&config, fast).unwrap();
    let Alternative::Interval(min_interval) = short.acceptable else { panic!("{short:?}") };
    assert_eq!(short.resource, NodeResource::Cpu);
    assert!((Span::from_us(4288)..Span::from_ms(20)).contains(&min_interval), "{min_interval}");
    assert_eq!(refused(&config, ChannelContract { min_interval, ..fast }), None);
    // Neither a longer interval nor a longer deadline is enough alone.
    let both = ChannelContract { deadline: Span::from_ms(1), ..fast };
    assert_eq!(refused(&config, both).unwrap().acceptable, Alternative::Unknown);
}

/// The interval binds, whatever the deadline: a longer deadline is no proposal.
#[test]
fn a_longer_interval_is_proposed_where_the_interval_binds() {
    let mut config = config(0, 2);
    config.memory = Bytes::from_kib(1 << 20);
    config.drift = Tolerance::of(Drift::from_ppb(600_000).unwrap());
    let fast =
        ChannelContract { min_interval: Span::from_us(2000), deadline: Span::from_secs(300), ..contract() };
    let short = refused(&config, fast).unwrap();
    let Alternative::Interval(min_interval) = short.acceptable else { panic!("{short:?}") };
    assert_eq!(refused(&config, ChannelContract { min_interval, ..fast }), None);
}
