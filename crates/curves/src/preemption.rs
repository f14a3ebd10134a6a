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
        shares.push(Share {
            visits: start..end,
            arrival: total.arrivals(network, own),
            service: known.then(left).flatten(),
            longest: longest(network, own),
            sent: None,
            steps: None,
            interrupted,
        });
        start = end;
    }
    shares
}

/// The curve of `overhead` bytes for each frame of `visits`.
fn interruptions(total: &Total, network: &QueueNetwork, visits: &[Visit], overhead: Bytes) -> Arrival {
    let of = |visit: &Visit| {
        let flow = &network.flows[visit.flow];
        // For each of the shortest frames, where frames are not counted.
        let share = |amount: u64| {
            let all = u128::from(amount) * u128::from(overhead.get());
            u64::try_from(all.div_ceil(u128::from(flow.shortest.get().max(1)))).unwrap_or(u64::MAX)
        };
        let more = |bucket: &Bucket| match *bucket {
            Bucket::Fluid { burst, rate } => Bucket::Fluid {
                burst: Bytes::new(share(burst.get())),
                rate: Rate::from_bits_per_sec(share(rate.bits_per_sec())),
            },
            Bucket::Frames { size, burst, interval } => {
                let frames = size.div_ceil(flow.longest);
                Bucket::Frames { size: Bytes::new(frames.saturating_mul(overhead.get())), burst, interval }
            }
        };
        let buckets: Vec<Bucket> = network.limits(visit.flow, visit.hop).iter().map(more).collect();
        Arrival::of(&buckets, total.jitter[visit.flow][visit.hop])
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
