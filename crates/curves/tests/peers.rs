//! Networks that other tools have bounds for: ours are at most 1 % above the least of them.

use std::collections::BTreeMap;

use laxity_curves::{Bucket, Effort, Flow, QueueNetwork, Server, bounds};
use laxity_units::{Bytes, Rate, Span};

const LINK: Rate = Rate::from_bits_per_sec(100_000_000);

/// A network of the data file: its name, flows by name with the least bound in us, and itself.
struct Peer {
    name: String,
    flows: Vec<(String, f64)>,
    network: QueueNetwork,
}

fn peers() -> Vec<Peer> {
    let mut peers = Vec::new();
    for part in include_str!("data/peers.txt").split("network ").skip(1) {
        let mut links: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        let mut servers = Vec::new();
        let (mut names, mut flows) = (Vec::new(), Vec::new());
        let mut lines = part.lines();
        let name = lines.next().expect("a name").to_owned();
        for line in lines {
            let words: Vec<&str> = line.split(' ').collect();
            let ["flow", flow, size, "B", interval, "us", "least", least, "route", ref route @ ..] =
                words[..]
            else {
                panic!("no flow: {line}");
            };
            let path = route.windows(2).map(|pair| {
                *links.entry((pair[0], pair[1])).or_insert_with(|| {
                    servers.push(Server::first_come(LINK));
                    servers.len() - 1
                })
            });
            let path = path.collect();
            let size = Bytes::new(size.parse().expect("a size"));
            let interval = Span::from_us(interval.parse().expect("an interval"));
            let source = vec![Bucket::Frames { size, burst: 1, interval }];
            flows.push(Flow::of_frames(path, source, size));
            names.push((flow.to_owned(), least.parse().expect("a bound")));
        }
        let network = QueueNetwork::new(servers, flows).expect("a network");
        peers.push(Peer { name, flows: names, network });
    }
    peers
}

#[test]
fn bounds_are_at_most_a_hundredth_above_the_least_of_other_tools() {
    let mut late = Vec::new();
    for peer in peers() {
        for ((flow, least), bound) in peer.flows.iter().zip(bounds(&peer.network, Effort::default())) {
            let bound = bound.expect("a bound");
            let us = bound.delay.as_secs_f64() * 1e6;
            if us > least * 1.01 {
                late.push(format!("{} {flow}: {us} above {least}", peer.name));
            }
        }
    }
    assert!(late.is_empty(), "{late:#?}");
}
