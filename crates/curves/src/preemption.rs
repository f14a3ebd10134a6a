//! Servers with preemption of frames (IEEE 802.1Qbu): express levels interrupt the levels below them.
//!
//! Let a busy period of levels up to `i` begin at `s`: just before it, none of their frames is there.
//!
//! **An express level** waits for one frame of a lower express level, or for what keeps a frame from
//! being interrupted ([`FramePreemption::wait`]), if that is less than the frame. An interrupted frame
//! goes on only when no express frame is there. The rest is as without preemption.
//!
//! **Another level** waits for one frame below it. If that was interrupted before `s`, what is left
//! of it with a preamble and a gap is shorter than the frame. Each express frame that arrives after
//! `s` takes its own time and interrupts one frame at most, of whatever level. So the service is that
//! of a server without preemption beside the express traffic, and beside as many bytes as an
//! interruption adds for each express frame ([`interruptions`]). A frame that has begun can be
//! interrupted: the bound is the deviation to its end, and its transmission is not left out.
//!
//! **Gates.** The levels that can be interrupted have one gate, and what is left of a frame waits when it
//! closes (hold). An express level has the bound of [`gates`](crate::gates), where a frame that can be
//! interrupted counts as no more than [`FramePreemption::wait`]. None is on the link when a window of
//! express levels alone begins.
//!
//! Another level has a frame on the link, or what is left of one, in each of its windows until no part of
//! a frame fits into the rest: less than `wait`, and an interruption (`overhead`) where the window
//! ends. So a window of length `w` sends `C w − wait − overhead` of its level, of express levels that
//! are open at the same time, and of one frame below, which had begun. An interrupted frame of that
//! kind goes on first. As above each express frame adds `overhead`. A shorter window counts as
//! closed: a part has more bytes than an interruption adds.
//!
//! **Behind the server** two frames can have had a part on the link before a window in which they
//! end: an express one, and the one that it interrupted. So line shaping counts the longest frame of
//! each kind ([`straddles`]).

use laxity_units::{Bytes, Rate};

use crate::arrival::{Arrival, Bucket};
use crate::network::{FramePreemption, QueueNetwork, Visit};
use crate::service::Service;
use crate::total::{Share, Total, longest};

/// The levels at `server`, the most urgent first.
pub(crate) fn shares(
    total: &Total,
    network: &QueueNetwork,
    server: usize,
    preemption: FramePreemption,
) -> Vec<Share> {
    let spec = &network.servers[server];
    let visits = &network.visits[server];
    let is_express = |visit: &Visit| visit.level < preemption.from;
    let express = visits.partition_point(is_express);
    let mut shares = Vec::new();
    let (mut known, mut start) = (true, 0);
    for own in visits.chunk_by(|one, other| one.level == other.level) {
        let end = start + own.len();
        known &= total.known(network, own);
        let lower = longest(network, &visits[end.max(express)..]).max(spec.below);
        let (above, blocking, interrupted) = match is_express(&own[0]) {
            true => {
                let other = longest(network, &visits[end..express]);
                (total.arrivals(network, &visits[..start]), other.max(lower.min(preemption.wait)), None)
            }
            false => {
                let urgent = &visits[..express];
                let more = interruptions(total, network, urgent, preemption.overhead);
                let others = total.arrivals(network, &visits[express..start]);
                (Arrival::sum([&total.arrivals(network, urgent), &more, &others]), lower, Some(spec.rate))
            }
        };
        let left = || Service::left(spec.rate, spec.latency, &above, blocking);
        let service = known.then(left).flatten();
        let share = Share::of(start..end, total.arrivals(network, own), service, longest(network, own));
        shares.push(Share { interrupted, ..share });
        start = end;
    }
    shares
}

/// The curve of `overhead` bytes for each frame of `visits`.
pub(crate) fn interruptions(
    total: &Total,
    network: &QueueNetwork,
    visits: &[Visit],
    overhead: Bytes,
) -> Arrival {
    let of = |visit: &Visit| {
        let flow = &network.flows[visit.flow];
        // For each of the shortest frames, where frames are not counted.
        let share = |amount: u64| {
            let all = u128::from(amount) * u128::from(overhead.get());
            u64::try_from(all.div_ceil(u128::from(flow.shortest.get().max(1)))).unwrap_or(u64::MAX)
        };
        let more = |bucket: Bucket| match bucket {
            Bucket::Fluid { burst, rate } => Bucket::Fluid {
                burst: Bytes::new(share(burst.get())),
                rate: Rate::from_bits_per_sec(share(rate.bits_per_sec())),
            },
            Bucket::Frames { size, burst, interval } => {
                let frames = size.div_ceil(flow.longest);
                Bucket::Frames { size: Bytes::new(frames.saturating_mul(overhead.get())), burst, interval }
            }
        };
        total.changed(network, visit, more)
    };
    Arrival::sum(&visits.iter().map(of).collect::<Vec<_>>())
}

/// The most bytes of `visits`, which come from server `from`, that can have been on its link before a
/// window in which their frames end.
pub(crate) fn straddles(network: &QueueNetwork, from: usize, visits: &[Visit]) -> Bytes {
    let Some(FramePreemption { from: level, .. }) = network.servers[from].preemption else {
        return longest(network, visits);
    };
    let longest = |express: bool| {
        let flows = visits.iter().map(|visit| &network.flows[visit.flow]);
        flows
            .filter(|flow| (flow.level < level) == express)
            .map(|flow| flow.longest)
            .max()
            .unwrap_or_default()
    };
    longest(true) + longest(false)
}

#[cfg(test)]
mod tests {
    use laxity_units::{Bytes, Rate, Span};

    use crate::{Bucket, Effort, Flow, FlowBound, FramePreemption, Gates, QueueNetwork, Server, bounds};

    const LINK: Rate = Rate::from_bits_per_sec(100_000_000);

    /// A link on which a byte takes 0.08 us; level 0 waits for 143 B of others, which it interrupts for 24.
    fn preempting() -> Server {
        let preemption = FramePreemption { from: 1, wait: Bytes::new(143), overhead: Bytes::new(24) };
        Server { below: Bytes::new(1538), preemption: Some(preemption), ..Server::by_level(LINK) }
    }

    /// A flow of messages of `frames` frames of 1000 B each second.
    fn flow(path: &[usize], level: u8, frames: u64) -> Flow {
        let (size, longest) = (Bytes::new(1000 * frames), Bytes::new(1000));
        let source = vec![Bucket::Frames { size, burst: 1, interval: Span::from_secs(1) }];
        Flow { level, ..Flow::of_frames(path.to_vec(), source, longest) }
    }

    /// By flow and hop, in us and rounded to them.
    fn stays(servers: Vec<Server>, flows: Vec<Flow>) -> Vec<Vec<f64>> {
        let network = QueueNetwork::new(servers, flows).expect("a network");
        let us = |bound: Option<FlowBound>| {
            let stays = bound.expect("a bound").stays;
            stays.iter().map(|span| (span.as_ps() as f64 / 1e4).round() / 100.0).collect()
        };
        bounds(&network, Effort::default()).into_iter().map(us).collect()
    }

    /// An express frame takes 80 us and waits for 143 B, or for a shorter frame. Three of them keep another
    /// frame waiting for 240 us and three interruptions of 1.92 us, and one of best effort for 123.04 us.
    #[test]
    fn interruptions_count_for_each_express_frame() {
        let found = stays(vec![preempting()], vec![flow(&[0], 0, 3), flow(&[0], 1, 1)]);
        assert_eq!(found[0], [240.0 + 11.44]);
        let least = 80.0 + 240.0 + 3.0 * 1.92 + 123.04;
        assert!(found[1][0] >= least && found[1][0] < least + 0.2, "{found:?}");
        let short = Server { below: Bytes::new(100), ..preempting() };
        assert_eq!(stays(vec![short], vec![flow(&[0], 0, 1)])[0], [88.0]);
        // An express frame is not interrupted by another.
        let two = FramePreemption { from: 2, ..preempting().preemption.expect("it preempts") };
        let two = Server { preemption: Some(two), ..preempting() };
        let found = stays(vec![two], vec![flow(&[0], 0, 1), flow(&[0], 1, 1)]);
        assert_eq!(found[0], [160.0]);
    }

    /// In each 1000 us level 0 has the first 200 us, the others the rest. An express frame of 80 us
    /// waits for the last 80 us of its window and 800 us, and for no frame of 1538 B: that is cut when
    /// its window begins. A frame of level 1 waits for 167 B (13.36 us) at the end of its window and
    /// 200 us, and for 1538 B (123.04 us). Its windows send 100 Mbit/s for 800 us less 13.36 us, 78.664
    /// Mbit/s on average.
    #[test]
    fn a_window_begins_without_a_frame_that_can_be_cut() {
        let us = |begin: u64, length: u64| vec![(Span::from_us(begin), Span::from_us(length))];
        let open = vec![(0, us(0, 200)), (1, us(200, 800)), (Gates::BELOW, us(200, 800))];
        let gates = Gates { cycle: Span::from_us(1000), open, behind: None };
        let held = Server { gates: Some(gates.clone()), ..preempting() };
        let found = stays(vec![held.clone()], vec![flow(&[0], 0, 1), flow(&[0], 1, 1)]);
        assert_eq!(found[0], [80.0 + 800.0 + 80.0]);
        let least = 13.36 + 200.0 + (123.04 + 80.0) / 0.78664;
        assert!(found[1][0] > least - 0.01 && found[1][0] < least + 0.1, "{found:?} {least}");
        let found = stays(vec![held.clone()], vec![flow(&[0], 1, 10)])[0][0];
        let least = 13.36 + 200.0 + (123.04 + 800.0) / 0.78664;
        assert!(found > least - 0.01 && found < least + 0.1, "{found} {least}");
        // Where the other levels are open from before the window on, an express frame waits for 143 B
        // twice.
        let open = vec![(0, us(0, 200))];
        let open = Server { gates: Some(Gates { open, ..gates }), ..preempting() };
        assert_eq!(stays(vec![open], vec![flow(&[0], 0, 1)])[0], [982.88]);
    }

    /// The last bytes of an interrupted frame can follow the express frame at once, so both can wait for each
    /// other at the next server. Frames of one kind come one after the other.
    #[test]
    fn frames_of_two_kinds_are_no_line() {
        let next = Server { preemption: None, fifo: true, below: Bytes::ZERO, ..preempting() };
        let behind = |levels: [u8; 2]| {
            let flows = levels.map(|level| flow(&[0, 1], level, 1));
            stays(vec![preempting(), next.clone()], flows.to_vec()).remove(0)[1]
        };
        assert_eq!((behind([0, 0]), behind([1, 1]), behind([0, 1])), (80.0, 80.0, 160.0));
    }
}
