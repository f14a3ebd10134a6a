//! The manager with the admission tables of a host in place of exact sums.

use std::collections::{BTreeMap, VecDeque};

use laxity_admission::{Environment, ResourceModel};
use laxity_qos::channel::Block;
use laxity_qos::costs::{HostCosts, LinkCosts};
use laxity_signalling::Manager;
use laxity_signalling::contract::ChannelContract;
use laxity_signalling::event::{OpenRequest, SourceEvent};
use laxity_signalling::identity::{Epoch, GlobalChannelId, NodeId, Owner, Port, Program};
use laxity_signalling::refusal::{Alternative, Denial, NodeResource};
use laxity_signalling::resources::Resources;
use laxity_signalling::settings::Settings;
use laxity_signalling::tables::Tables;
use laxity_units::{Bytes, Span, Time};

fn environment() -> Environment {
    let host = HostCosts {
        context_switch: Span::from_us(20),
        cache_miss: Span::from_us(20),
        first_packet: Span::from_us(80),
        single_packet: Span::from_us(80),
        packet: Span::from_us(30),
        link_scheduling: Span::from_us(10),
        interrupt: Span::from_us(10),
        ..HostCosts::default()
    };
    let link = LinkCosts::new(Span::from_us(10), Span::from_ns(20));
    let packet = Bytes::from_kib(4);
    Environment {
        block_real_time: Block::Packets(4),
        block_best_effort: Block::Packets(4),
        ..Environment::new(host, link, packet, ResourceModel::O1)
    }
}

fn tables(id: u32, nodes: u32) -> Tables {
    let beside = id.checked_sub(1).into_iter().chain((id + 1 < nodes).then_some(id + 1));
    let links = beside.map(|to| (NodeId(to), (environment(), Span::from_us(50))));
    Tables::new(links.collect::<BTreeMap<_, _>>(), 1000).unwrap()
}

/// Managers in a row, with messages that take no time.
struct Row(Vec<Manager<Tables>>);

impl Row {
    fn new(nodes: u32) -> Self {
        let node =
            |id| Manager::new(NodeId(id), Epoch(1), Settings::default(), tables(id, nodes), Box::new(|| 0));
        Self((0..nodes).map(node).collect())
    }

    fn settle(&mut self) {
        let mut waiting = VecDeque::new();
        loop {
            for node in &mut self.0 {
                let from = node.node();
                waiting.extend(
                    std::iter::from_fn(|| node.poll_transmit()).map(|(to, message)| (from, to, message)),
                );
            }
            let Some((from, to, message)) = waiting.pop_front() else { return };
            self.0[to.0 as usize].handle(Time::ZERO, from, message);
        }
    }

    fn open(&mut self, contract: ChannelContract) -> (GlobalChannelId, SourceEvent) {
        let route = (0..self.0.len() as u32).map(NodeId).collect();
        let open = OpenRequest { program: Program(1), owner: Owner(1), port: Port(1), contract, route };
        let channel = self.0[0].open(Time::ZERO, open);
        self.settle();
        (channel, std::iter::from_fn(|| self.0[0].poll_event()).last().unwrap())
    }

    fn close(&mut self, channel: GlobalChannelId) {
        self.0[0].close(Time::ZERO, channel).unwrap();
        self.settle();
        while self.0[0].poll_event().is_some() {}
    }
}

fn contract(number: u64) -> ChannelContract {
    ChannelContract {
        max_message: Bytes::from_kib(4 + number % 5 * 4),
        min_message: Bytes::new(1),
        min_interval: Span::from_ms(20 + number % 3 * 20),
        burst: 1,
        deadline: Span::from_ms(60),
    }
}

/// Channels are established until one is refused. Each bound is within its local deadline, and the
/// deadlines within the end-to-end deadline. Released in another order, they leave every table as
/// it began; a table that admits the rest from scratch is equal.
#[test]
fn tables_keep_what_they_promise_and_are_empty_in_the_end() {
    let mut row = Row::new(4);
    let mut channels = Vec::new();
    for number in 0..200 {
        match row.open(contract(number)) {
            (channel, SourceEvent::Established { .. }) => channels.push((channel, contract(number))),
            (_, SourceEvent::Refused { refused, .. }) => {
                assert!(refused.shortage.missing > 0, "{refused:?}");
                break;
            }
            other => panic!("{other:?}"),
        }
    }
    assert!((5..200).contains(&channels.len()), "{}", channels.len());
    for (node, table) in
        row.0.iter().enumerate().filter_map(|(n, m)| Some((n, m.resources().table(NodeId(n as u32 + 1))?)))
    {
        assert_eq!(table.len(), channels.len(), "{node}");
        assert!(table.bounds().iter().all(|bound| bound.bound <= bound.deadline));
    }
    for (channel, contract) in &channels {
        let taken: Span =
            row.0.iter().flat_map(|m| m.held_of(*channel)).map(|h| h.deadline.unwrap() + h.way).sum();
        assert!(taken <= contract.deadline);
    }
    let kept = channels.split_off(channels.len() / 2);
    for (channel, _) in channels {
        row.close(channel);
    }
    // From scratch: the same local deadlines in the order of establishment.
    for node in &row.0 {
        let mut scratch = tables(node.node().0, 4);
        for (channel, contract) in &kept {
            let held = node.held_of(*channel).next().unwrap();
            let at = node.node().0;
            let place = laxity_signalling::resources::ChannelPlace {
                from: at.checked_sub(1).map(NodeId),
                to: (at < 3).then_some(NodeId(at + 1)),
                port: Port(1),
            };
            let asked = laxity_signalling::resources::NodeRequest {
                contract: *contract,
                place,
                balance: contract.deadline,
                drain: Span::ZERO,
            };
            let offer = scratch.reserve(&asked).unwrap();
            scratch.commit(offer.id, held.deadline.unwrap()).unwrap();
        }
        assert_eq!(scratch.snapshot(), node.resources().snapshot());
    }
    for (channel, _) in kept {
        row.close(channel);
    }
    for node in &row.0 {
        assert_eq!(node.resources().snapshot(), tables(node.node().0, 4).snapshot());
    }
}

/// The contract that a refusal proposes.
fn proposed(asked: ChannelContract, refused: &Denial) -> Option<ChannelContract> {
    match refused.shortage.acceptable {
        Alternative::Deadline(deadline) => Some(ChannelContract { deadline, ..asked }),
        Alternative::Interval(min_interval) => Some(ChannelContract { min_interval, ..asked }),
        Alternative::Burst(burst) => Some(ChannelContract { burst, ..asked }),
        Alternative::Unknown | Alternative::Later => None,
    }
}

impl Row {
    /// The refusal of a contract; a channel that is established is closed again.
    fn refusal(&mut self, contract: ChannelContract) -> Option<Denial> {
        match self.open(contract) {
            (_, SourceEvent::Refused { refused, .. }) => Some(refused),
            (channel, _) => {
                self.close(channel);
                None
            }
        }
    }
}

/// Contracts of all kinds, beside no channel and beside many: no node up to the refusing one refuses what
/// that one proposes, and a request that may do later is accepted beside no other channel.
#[test]
fn a_node_accepts_what_it_proposes() {
    let mut kinds = BTreeMap::new();
    for beside in [0, 20, 200] {
        let mut row = Row::new(3);
        let opened = (0..beside)
            .take_while(|number| matches!(row.open(contract(*number)).1, SourceEvent::Established { .. }));
        assert!(beside == 0 || opened.count() > 0);
        for (size, interval, deadline, burst) in (0..525).map(|at| {
            let us = |at: u64| Span::from_us([100, 1000, 6000, 20_000, 100_000][at as usize % 5]);
            (1 << (at % 7 * 3), us(at / 7), us(at / 35), [1, 3, 1500][at as usize / 175])
        }) {
            let asked = ChannelContract {
                max_message: Bytes::new(size),
                min_message: Bytes::new(1),
                min_interval: interval,
                burst,
                deadline,
            };
            let Some(refused) = row.refusal(asked) else { continue };
            let kind = match refused.shortage.acceptable {
                Alternative::Later => {
                    let alone = Row::new(3).refusal(asked);
                    assert!(alone.is_none_or(|alone| alone.node > refused.node), "{asked:?} {refused:?}");
                    "later"
                }
                Alternative::Unknown => "none",
                Alternative::Deadline(_) => "deadline",
                Alternative::Interval(_) => "interval",
                Alternative::Burst(_) => "burst",
            };
            *kinds.entry(kind).or_insert(0) += 1;
            let Some(other) = proposed(asked, &refused) else { continue };
            if let Some(again) = row.refusal(other) {
                assert!(again.node > refused.node, "{asked:?} {refused:?} {again:?}");
            }
        }
    }
    let found = ["burst", "deadline", "interval", "later"].iter().all(|kind| kinds.contains_key(kind));
    assert!(found, "{kinds:?}");
}

/// A queue of 1000 places, of which no other channel has any, and then 900.
#[test]
fn a_burst_beyond_the_queue_is_not_for_later() {
    let mut row = Row::new(2);
    let asked = ChannelContract {
        burst: 1001,
        max_message: Bytes::new(1),
        min_interval: Span::from_secs(1),
        ..contract(0)
    };
    let refused = |row: &mut Row| {
        row.refusal(asked).map(|refused| (refused.shortage.resource, refused.shortage.acceptable))
    };
    assert_eq!(refused(&mut row), Some((NodeResource::ReceivePlaces, Alternative::Burst(1000))));
    row.open(ChannelContract { burst: 900, ..asked });
    assert_eq!(refused(&mut row), Some((NodeResource::ReceivePlaces, Alternative::Burst(100))));
    row.open(ChannelContract { burst: 100, ..asked });
    assert_eq!(refused(&mut row), Some((NodeResource::ReceivePlaces, Alternative::Unknown)));
    let full = row.refusal(ChannelContract { burst: 1, ..asked }).unwrap();
    assert_eq!(full.shortage.acceptable, Alternative::Later);
}
