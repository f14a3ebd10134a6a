//! Stages that serve several packets at once, and wait before they use a shared resource.
//!
//! A stage that reads the memory of its host waits for each answer, with many reads under way.
//! [`super::window`] takes such a stage for one server, which is valid, but charges each packet for
//! a wait that other packets have at the same time. Here is a smaller charge for a cluster of such
//! stages.
//!
//! # The stages
//!
//! Stage `k` of the cluster has `m_k` servers. A server first waits for `δ_k`, the same for every
//! packet or batch. Then it holds resources for `r_k(n)`, or for no time. All queues have slots for
//! a window, and a server that could serve does serve. Packets leave a stage in the order in which
//! it took them. A batch waits once and holds the resources no longer than its packets would one
//! after the other. *Work* is time in which a phase of the cluster holds a resource.
//!
//! # By number
//!
//! Stage `k` has its `j`-th arrival at `A_k(j)`, in any order of packets. Its `j`-th start is at
//! `S_k(j)`, its `j`-th request for resources at `Z_k(j)`, and its `j`-th departure at `D_k(j)`. Then
//!
//! ```text
//! Z_k(j) = S_k(j) + δ_k,        S_k(j) = A_k(j)  or  S_k(j) = D_k(i) for an i ≤ j − m_k.   (1)
//! ```
//!
//! For if a server was free, no packet waited, and the start is at an arrival. Otherwise a server
//! became free at `S_k(j)` by a departure, and the other `m_k − 1` servers have one packet each at
//! least. For batches `j` is the first packet of its batch.
//!
//! Follow the path of [`super::window`] backwards in the cluster, from the departure of number `J`
//! at its last stage. From `D_k(j)` go back to `Z_k(i)`, with `i ≤ j` the last request that came
//! when no earlier one of the stage was left. In between a request waits or is served, so there is
//! work all the time. Then go back by `δ_k` to `S_k(i)`. By (1) that is a departure of a number less
//! by `m_k` or more, a *jump*, or the arrival of `i`, which is a departure of the stage before.
//!
//! At the first stage the path could leave the cluster at the arrival of a number `y`. It does so if
//! at most `M` packets ahead of `y` are in the cluster. Otherwise it goes on with the foremost of
//! them where that is, a *change* by more than `M`. The foremost packet waits for `δ_k`, or requests
//! resources, because the first packet in a stage has a server.
//!
//! A path that leaves with number `y` has spent `Σ_k δ_k` for its first pass, as much for each
//! change, and `δ_k` for each jump. Changes and jumps take `J − y` numbers in all, so with
//!
//! ```text
//! w = max(Σ_k δ_k / M,  max_k δ_k / m_k)                                                   (2)
//! ```
//!
//! the waits are at most `Σ_k δ_k + (J − y) w`. Without changes, for `M ≥ D − 1`, `w` has no first
//! part. The rest of the time is work. When the path leaves, at most `M` packets ahead of `y` have
//! work left. At its end, stages before the last may have worked on `D − 1` packets behind `J`, and
//! a stage on `b_k − 1` packets behind `J` in its batch. So the cluster takes
//!
//! ```text
//! c(n) = Σ_k r_k(n) + w,    and once    Σ_k δ_k + M Σ_k r_k(S) + (D − 1) Z(S) + Σ_k (b_k − 1) r_k(S),
//! ```
//!
//! which the path of [`super::window`] takes like those of any other cluster. `M` is free, and the
//! one that charges least is used.
//!
//! # Where packets overtake each other
//!
//! [`super::overtaking`] needs that the path reaches no stage later than the packet `m` that it is
//! about. Let the path reach stage `k` at a departure that is no later than that of `m`. Departures
//! are in the order of starts, so the path continues with starts no later than the start of `m`. The
//! path leaves the stage at an arrival only if that packet is served at once, and then no packet
//! waits. So `m` either started before that packet, a contradiction, or arrives no earlier. A change
//! leads to a packet that is in the cluster already, which is back in time.

use laxity_units::Bytes;

use super::{StationPhase, StationStage, StationTells, ps};

/// A cluster of stages that wait and then use resources.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parallel<'a> {
    stages: &'a [StationStage],
    depth: u32,
}

impl<'a> Parallel<'a> {
    /// `stages` behind a window of `depth`, if they are such a cluster and that could help.
    pub(super) fn of(stages: &'a [StationStage], depth: u32) -> Option<Self> {
        let several = stages.len() > 1 || stages.iter().any(|stage| stage.servers > 1);
        let all = stages.iter().all(|stage| waits_first(stage, depth));
        (several && all).then_some(Self { stages, depth })
    }

    /// `Σ_k δ_k`, in picoseconds.
    pub(super) fn waits(&self) -> u128 {
        self.stages.iter().map(wait).sum()
    }

    /// `w` of (2) for an `M` of `ahead`, in picoseconds and rounded up.
    pub(super) fn share(&self, ahead: u32) -> u128 {
        let jump = |stage| wait(stage).div_ceil(u128::from(stage.servers));
        let jumps = self.stages.iter().map(jump).max().unwrap_or(0);
        match ahead < self.depth - 1 {
            true => jumps.max(self.waits().div_ceil(u128::from(ahead))),
            false => jumps,
        }
    }

    /// `Σ_k r_k` of a packet of `size`, in picoseconds.
    pub(super) fn work(&self, size: Bytes) -> u128 {
        self.stages.iter().map(|stage| work(stage, size)).sum()
    }
}

/// The phases of `stage` before the one with resources, and that one if there is one.
fn split(stage: &StationStage) -> (&[StationPhase], Option<&StationPhase>) {
    match stage.phases.split_last() {
        Some((last, before)) if !last.holds.is_empty() => (before, Some(last)),
        _ => (&stage.phases, None),
    }
}

/// `δ_k`.
fn wait(stage: &StationStage) -> u128 {
    let (waits, _) = split(stage);
    waits.iter().map(|phase| ps(phase.delay.of(Bytes::ZERO))).sum()
}

/// `r_k` of a packet of `size`.
pub(super) fn work(stage: &StationStage, size: Bytes) -> u128 {
    let (_, works) = split(stage);
    works.map_or(0, |phase| ps(phase.delay.of(size)))
}

/// Whether `stage` is one of those, with slots for a window of `depth`.
fn waits_first(stage: &StationStage, depth: u32) -> bool {
    let (waits, works) = split(stage);
    let alike = |phase: &StationPhase| {
        let delay = &phase.delay;
        let grows = !delay.per_byte.is_zero()
            || !delay.per_byte_past.is_zero()
            || !delay.per_segment.is_zero()
            || stage.batch > 1 && !delay.per_packet.is_zero();
        phase.holds.is_empty() && !grows
    };
    let plain = |phase: &StationPhase| {
        let for_all = phase.from <= Bytes::new(1) && phase.up_to.is_none() && !phase.optional;
        for_all && !phase.since_service && phase.tells == StationTells::Nothing && !phase.medium
    };
    stage.linger.is_zero()
        && stage.places.is_none_or(|places| places >= depth)
        && waits.iter().all(|phase| alike(phase) && plain(phase))
        && works.is_none_or(plain)
}
