//! Bounds of 10 000 flows over 100 switches: a line of switches, each with 10 hosts.
//!
//! `time cargo run --release -p laxity-curves --example large [FLOWS [SWITCHES]]`

use laxity_curves::{Bucket, Effort, Flow, QueueNetwork, Server, bounds};
use laxity_units::{Bytes, Rate, Span};

fn main() {
    let mut arguments = std::env::args().skip(1).filter_map(|argument| argument.parse().ok());
    let (flows, switches) =
        (arguments.next().unwrap_or(10_000), arguments.next().unwrap_or(100_usize).max(2));
    let rate = Rate::from_bits_per_sec(10_000_000_000);
    let link = Server::first_come(rate);
    // For each switch: ten links of hosts, ten links to hosts, the links to the right and to the left.
    let server = |switch: usize, which: usize| switch * 22 + which;
    let mut state = 1_u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let flow = |_| {
        let from = random(switches);
        // Up to five switches further, to either side.
        let to = (from + random(11)).saturating_sub(5).min(switches - 1);
        let mut path = vec![server(from, random(10))];
        let between = if from < to { from..to } else { to + 1..from + 1 };
        let mut trunks: Vec<usize> =
            between.map(|switch| server(switch, if from < to { 20 } else { 21 })).collect();
        if to < from {
            trunks.reverse();
        }
        path.extend(trunks);
        path.push(server(to, 10 + random(10)));
        let size = Bytes::new(84 + 100 * random(15) as u64);
        let interval = Span::from_us(500 << random(5));
        let source = vec![Bucket::Frames { size, burst: 1, interval }];
        Flow::of_frames(path, source, size)
    };
    let flows: Vec<Flow> = (0..flows).map(flow).collect();
    let network = QueueNetwork::new(vec![link; 22 * switches], flows).expect("a network");
    let bounds = bounds(&network, Effort::default());
    let longest = bounds.iter().flatten().map(|bound| bound.delay).max();
    let bounded = bounds.iter().flatten().count();
    println!("{bounded} bounds, the longest {}", longest.unwrap_or_default());
}
